/* Ranges of integers (codegen/facts/ranges.c) against every pair of values: of i8, for operands that are assumed to lie
   between bounds. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "codegen/facts/facts.h"
#include "tests/unit/test.h"

static const int bounds[][2] = {{-128, 127}, {0, 127},   {0, 15}, {15, 20}, {1, 7}, {-5, 3},
                                {-128, -1},  {100, 127}, {0, 0},  {8, 8},   {-1, 1}};

enum { UNDEFINED = 1000 };

static int wrapped(int x)
{
    return (int8_t)(uint8_t)(unsigned)x;
}

static int add(int a, int b)
{
    return wrapped(a + b);
}
static int subtract(int a, int b)
{
    return wrapped(a - b);
}
static int multiply(int a, int b)
{
    return wrapped(a * b);
}
static int both(int a, int b)
{
    return a & b;
}
static int either(int a, int b)
{
    return a | b;
}
static int one(int a, int b)
{
    return a ^ b;
}
static int largest(int a, int b)
{
    return a > b ? a : b;
}
static int smallest(int a, int b)
{
    return a < b ? a : b;
}
static int largest_u(int a, int b)
{
    return (a & 255) > (b & 255) ? a : b;
}
static int smallest_u(int a, int b)
{
    return (a & 255) < (b & 255) ? a : b;
}
static int to_left(int a, int b)
{
    return b < 0 || b > 7 ? UNDEFINED : wrapped(a * (1 << b));
}
static int to_right(int a, int b)
{
    return b < 0 || b > 7 ? UNDEFINED : (a - (a & ((1 << b) - 1))) / (1 << b);
}
static int to_right_u(int a, int b)
{
    return b < 0 || b > 7 ? UNDEFINED : wrapped((a & 255) >> b);
}
static int remainder_of(int a, int b)
{
    return b ? a % b : UNDEFINED;
}
static int remainder_u(int a, int b)
{
    return b ? wrapped((a & 255) % (b & 255)) : UNDEFINED;
}
static int divide(int a, int b)
{
    return b && a / b < 128 ? a / b : UNDEFINED;
}
static int divide_u(int a, int b)
{
    return b ? wrapped((a & 255) / (b & 255)) : UNDEFINED;
}
static int divide_down(int a, int b)
{
    int q = divide(a, b);
    return q == UNDEFINED ? q : q - (a % b != 0 && (a < 0) != (b < 0));
}
static int divide_up(int a, int b)
{
    int q = divide(a, b);
    return q == UNDEFINED ? q : q + (a % b != 0 && (a < 0) == (b < 0));
}
static int divide_up_u(int a, int b)
{
    return b ? wrapped(((a & 255) + (b & 255) - 1) / (b & 255)) : UNDEFINED;
}
static int is_less(int a, int b)
{
    return a < b ? -1 : 0;
}
static int is_less_u(int a, int b)
{
    return (a & 255) < (b & 255) ? -1 : 0;
}
static int is_at_most(int a, int b)
{
    return a <= b ? -1 : 0;
}
static int is_more(int a, int b)
{
    return a > b ? -1 : 0;
}
static int is_at_least(int a, int b)
{
    return a >= b ? -1 : 0;
}
static int is_same(int a, int b)
{
    return a == b ? -1 : 0;
}
static int is_other(int a, int b)
{
    return a != b ? -1 : 0;
}
static int widen(int a, int b)
{
    return b ? a : a;
}
static int widen_u(int a, int b)
{
    return b ? a & 255 : a & 255;
}

static const struct {
    const char *text; /* after "%r = " */
    int (*result)(int a, int b);
} ops[] = {
    {"addi %a, %b : tile<i8>", add},
    {"subi %a, %b : tile<i8>", subtract},
    {"muli %a, %b : tile<i8>", multiply},
    {"andi %a, %b : tile<i8>", both},
    {"ori %a, %b : tile<i8>", either},
    {"xori %a, %b : tile<i8>", one},
    {"maxi %a, %b signed : tile<i8>", largest},
    {"maxi %a, %b unsigned : tile<i8>", largest_u},
    {"mini %a, %b signed : tile<i8>", smallest},
    {"mini %a, %b unsigned : tile<i8>", smallest_u},
    {"shli %a, %b : tile<i8>", to_left},
    {"shri %a, %b signed : tile<i8>", to_right},
    {"shri %a, %b unsigned : tile<i8>", to_right_u},
    {"remi %a, %b signed : tile<i8>", remainder_of},
    {"remi %a, %b unsigned : tile<i8>", remainder_u},
    {"divi %a, %b signed : tile<i8>", divide},
    {"divi %a, %b signed rounding<negative_inf> : tile<i8>", divide_down},
    {"divi %a, %b signed rounding<positive_inf> : tile<i8>", divide_up},
    {"divi %a, %b unsigned : tile<i8>", divide_u},
    {"divi %a, %b unsigned rounding<positive_inf> : tile<i8>", divide_up_u},
    {"cmpi less_than %a, %b, signed : tile<i8> -> tile<i1>", is_less},
    {"cmpi less_than %a, %b, unsigned : tile<i8> -> tile<i1>", is_less_u},
    {"cmpi less_than_or_equal %a, %b, signed : tile<i8> -> tile<i1>", is_at_most},
    {"cmpi greater_than %a, %b, signed : tile<i8> -> tile<i1>", is_more},
    {"cmpi greater_than_or_equal %a, %b, signed : tile<i8> -> tile<i1>", is_at_least},
    {"cmpi equal %a, %b, signed : tile<i8> -> tile<i1>", is_same},
    {"cmpi not_equal %a, %b, signed : tile<i8> -> tile<i1>", is_other},
    {"exti %a signed : tile<i8> -> tile<i32>", widen},
    {"exti %a unsigned : tile<i8> -> tile<i32>", widen_u},
};

/* The range of the op named r: the last but one of the entry. */
static bool find_range(const char *op, const int *a, const int *b, cg_range *out_range)
{
    bc_text source;
    tv_module *m = NULL;
    bc_arena arena;
    bc_text_init(&source, NULL);
    bc_text_printf(&source,
                   "entry @k(%%x: tile<i8>, %%y: tile<i8>) {\n  %%a = assume bounded<%d, %d>, %%x : tile<i8>\n"
                   "  %%b = assume bounded<%d, %d>, %%y : tile<i8>\n  %%r = %s\n  return\n}\n",
                   a[0], a[1], b[0], b[1], op);
    bool fine = tv_module_parse(source.ptr, source.len, 0, NULL, (tv_sink){0}, &m) == TV_OK
                && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK;
    bc_arena_init(&arena, NULL, 0);
    ct_func *f = fine ? ct_import(&m->functions[0], &arena) : NULL;
    fine = f && cg_find_facts(f);
    if (fine)
        *out_range = cg_range_of(&f->body->last->prev->results[0]);
    bc_arena_release(&arena);
    tv_module_close(m);
    bc_text_release(&source);
    return fine;
}

static void check_op(size_t i)
{
    for (size_t x = 0; x < TV_COUNT(bounds); x++)
        for (size_t y = 0; y < TV_COUNT(bounds); y++) {
            cg_range range;
            if (!find_range(ops[i].text, bounds[x], bounds[y], &range)) {
                CHECK_MSG(false, "%s", ops[i].text);
                return;
            }
            bool fine = true;
            for (int a = bounds[x][0]; a <= bounds[x][1]; a++)
                for (int b = bounds[y][0]; b <= bounds[y][1]; b++) {
                    int r = ops[i].result(a, b);
                    fine = fine && (r == UNDEFINED || (r >= range.low && r <= range.high));
                }
            CHECK_MSG(fine, "%s: %d..%d, %d..%d: %lld..%lld", ops[i].text, bounds[x][0], bounds[x][1], bounds[y][0],
                      bounds[y][1], (long long)range.low, (long long)range.high);
        }
}

/* Tight where it matters: both operands at least 0, no wrapping. */
static void check_range(size_t op, const int *a, const int *b, int low, int high)
{
    cg_range range;
    CHECK_MSG(find_range(ops[op].text, a, b, &range) && range.low == low && range.high == high, "%s: %lld..%lld",
              ops[op].text, (long long)range.low, (long long)range.high);
}

static void check_tight(size_t op, int low, int high)
{
    check_range(op, (const int[]){0, 15}, (const int[]){1, 7}, low, high);
}

int main(void)
{
    for (size_t i = 0; i < TV_COUNT(ops); i++)
        check_op(i);
    check_tight(0, 1, 22);                                              /* addi */
    check_tight(1, -7, 14);                                             /* subi */
    check_tight(2, 0, 105);                                             /* muli */
    check_tight(3, 0, 7);                                               /* andi */
    check_tight(6, 1, 15);                                              /* maxi */
    check_tight(13, 0, 6);                                              /* remi */
    check_range(13, (const int[]){0, 15}, (const int[]){0, 7}, 0, 15);  /* of a divisor that may be zero, */
    check_range(13, (const int[]){0, 15}, (const int[]){-7, 7}, 0, 15); /* or below it */
    check_tight(15, 0, 15);                                             /* divi */
    return TEST_END("ranges");
}
