/* Control flow: random structured programs (for, loop, if; break, continue, return at any depth) on tiles of i32, run
   here as trees and there as kernels; the ranges of for in every type; values of every type carried round loops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

enum {
    N = 8,
    MAX_VALUES = 256,
    MAX_STATEMENTS = 128,
    MAX_CARRIED = 3,
    MAX_DEPTH = 4,
    BLOCKS = 4,
    MAX_STORES = MX_MAX_BUFFERS - 2
};

typedef enum verb { ADD, XOR, MUL, LESS_SELECT, TURN, SUM, IF, FOR, LOOP, YIELD, CONTINUE, BREAK, RETURN, STORE } verb;

/* A statement; those of a body form a list. Values are numbers; a value is a tile of N elements. */
typedef struct statement {
    verb verb;
    int result, a, b; /* ops: values */
    int condition;    /* IF: element 0 of this value is odd; LOOP: index of its counter */
    uint32_t count;   /* FOR: trips; STORE: where */
    unsigned carried;
    int in[MAX_CARRIED], argument[MAX_CARRIED], out[MAX_CARRIED]; /* out: results; of terminators: operands */
    int first, otherwise, next;                                   /* bodies and the next statement; -1: none */
} statement;

typedef struct program {
    mx_kernel k;
    uint64_t seed;
    statement s[MAX_STATEMENTS];
    int statements, values;
    unsigned stores;
    uint32_t value[MAX_VALUES][N];
    uint32_t memory[MAX_STORES][N];
} program;

static uint64_t draw(program *p, uint64_t below)
{
    p->seed = mx_random(p->seed);
    return (p->seed >> 24) % below;
}

/* ---- making a program ---- */

typedef struct scope {
    int visible[MAX_VALUES], count;
    bool in_for, in_loop, in_if;
    int depth;
    unsigned results; /* of the loop or if around: what a terminator gives */
    unsigned loop_results;
} scope;

static int any_value(program *p, const scope *c)
{
    /* new ones more often */
    int back = (int)draw(p, draw(p, 2) ? 4 : (uint64_t)c->count);
    return c->visible[c->count - 1 - (back < c->count ? back : 0)];
}

static int new_value(program *p)
{
    return p->values++;
}

static bool has_room(const program *p)
{
    return p->statements < MAX_STATEMENTS - 12 && p->values < MAX_VALUES - 40;
}

static int new_statement(program *p, verb v)
{
    p->s[p->statements] = (statement){.verb = v, .result = -1, .first = -1, .otherwise = -1, .next = -1};
    return p->statements++;
}

static int make_body(program *p, scope *c, verb end, unsigned operands);

static void make_results(program *p, scope *c, statement *s)
{
    for (unsigned i = 0; i < s->carried; i++) {
        s->out[i] = new_value(p);
        c->visible[c->count++] = s->out[i];
    }
}

static int make_if(program *p, scope *c)
{
    int id = new_statement(p, IF);
    statement *s = &p->s[id];
    s->carried = (unsigned)draw(p, MAX_CARRIED + 1);
    s->condition = any_value(p, c);
    scope inner = *c;
    inner.depth++;
    inner.in_if = true;
    s->first = make_body(p, &inner, YIELD, s->carried);
    if (s->carried || draw(p, 2)) {
        scope other = *c;
        other.depth++;
        other.in_if = true;
        s->otherwise = make_body(p, &other, YIELD, s->carried);
    }
    make_results(p, c, s);
    return id;
}

static int make_loop(program *p, scope *c, verb v)
{
    int id = new_statement(p, v);
    statement *s = &p->s[id];
    scope inner = *c;
    s->carried = 1 + (unsigned)draw(p, MAX_CARRIED);
    s->count = (uint32_t)draw(p, 4);
    for (unsigned i = 0; i < s->carried; i++) {
        s->in[i] = any_value(p, c);
        s->argument[i] = new_value(p);
        inner.visible[inner.count++] = s->argument[i];
    }
    inner.depth++;
    inner.in_for |= v == FOR;
    inner.in_loop = v == LOOP;
    inner.in_if = false;
    inner.loop_results = s->carried;
    s->first = make_body(p, &inner, CONTINUE, s->carried);
    make_results(p, c, s);
    return id;
}

static int make_op(program *p, scope *c)
{
    int id = new_statement(p, (verb)draw(p, SUM + 1));
    p->s[id].a = any_value(p, c);
    p->s[id].b = any_value(p, c);
    p->s[id].result = new_value(p);
    c->visible[c->count++] = p->s[id].result;
    return id;
}

static int make_store(program *p, const scope *c)
{
    int id = new_statement(p, STORE);
    p->s[id].a = any_value(p, c);
    p->s[id].count = p->stores++;
    return id;
}

static int make_end(program *p, const scope *c, verb end, unsigned operands)
{
    if (c->in_if && draw(p, 5) == 0) {
        if ((c->in_loop || c->in_for) && draw(p, 2))
            end = CONTINUE;
        else if (c->in_loop && !c->in_for)
            end = BREAK;
        else if (!c->in_for && draw(p, 2))
            end = RETURN;
        operands = end == RETURN ? 0 : end == YIELD ? operands : c->loop_results;
    }
    int id = new_statement(p, end);
    p->s[id].carried = operands;
    for (unsigned i = 0; i < operands; i++)
        p->s[id].out[i] = any_value(p, c);
    return id;
}

static int make_body(program *p, scope *c, verb end, unsigned operands)
{
    int first = -1, last = -1;
    for (unsigned n = 1 + (unsigned)draw(p, 5); n > 0; n--) {
        uint64_t pick = draw(p, 10);
        int id;
        if (pick < 3 && c->depth < MAX_DEPTH && has_room(p))
            id = pick == 0 ? make_if(p, c) : make_loop(p, c, pick == 1 ? FOR : LOOP);
        else if (pick == 3 && p->stores < MAX_STORES && has_room(p))
            id = make_store(p, c);
        else if (has_room(p))
            id = make_op(p, c);
        else
            break;
        if (last >= 0)
            p->s[last].next = id;
        first = first < 0 ? id : first;
        last = id;
    }
    int id = make_end(p, c, end, operands);
    if (last >= 0)
        p->s[last].next = id;
    return first < 0 ? id : first;
}

/* ---- running it here ---- */

static void compute(program *p, const statement *s)
{
    const uint32_t *a = p->value[s->a], *b = p->value[s->b];
    uint32_t r[N], sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i];
    for (int i = 0; i < N; i++) {
        r[i] = s->verb == ADD           ? a[i] + b[i]
               : s->verb == XOR         ? a[i] ^ b[i]
               : s->verb == MUL         ? a[i] * b[i]
               : s->verb == LESS_SELECT ? (a[i] < b[i] ? a[i] : b[i])
               : s->verb == TURN        ? a[i % 4 * 2 + i / 4]
                                        : sum;
    }
    memcpy(p->value[s->result], r, sizeof r);
}

static void copy_values(program *p, const int *to, const int *from, unsigned count)
{
    uint32_t all[MAX_CARRIED][N];
    for (unsigned i = 0; i < count; i++)
        memcpy(all[i], p->value[from[i]], sizeof all[i]);
    for (unsigned i = 0; i < count; i++)
        memcpy(p->value[to[i]], all[i], sizeof all[i]);
}

static const statement *run_list(program *p, int first);

/* The terminator that left the body for an enclosing one, or NULL. */
static const statement *run_nested(program *p, const statement *s)
{
    const statement *end;
    if (s->verb == IF) {
        int body = p->value[s->condition][0] & 1 ? s->first : s->otherwise;
        end = body < 0 ? NULL : run_list(p, body);
        if (!end || end->verb != YIELD)
            return end;
        copy_values(p, s->out, end->out, s->carried);
        return NULL;
    }
    copy_values(p, s->argument, s->in, s->carried);
    for (uint32_t i = 0; s->verb == LOOP || i < s->count; i++) {
        if (s->verb == LOOP && i == s->count) {
            copy_values(p, s->out, s->argument, s->carried);
            return NULL;
        }
        end = run_list(p, s->first);
        if (end->verb == RETURN)
            return end;
        if (end->verb == BREAK) {
            copy_values(p, s->out, end->out, s->carried);
            return NULL;
        }
        copy_values(p, s->argument, end->out, s->carried);
    }
    copy_values(p, s->out, s->argument, s->carried);
    return NULL;
}

static const statement *run_list(program *p, int first)
{
    for (int id = first; id >= 0; id = p->s[id].next) {
        const statement *s = &p->s[id], *end = NULL;
        if (s->verb <= SUM)
            compute(p, s);
        else if (s->verb == STORE)
            memcpy(p->memory[s->count], p->value[s->a], sizeof p->memory[0]);
        else if (s->verb == IF || s->verb == FOR || s->verb == LOOP)
            end = run_nested(p, s);
        else
            return s;
        if (end)
            return end;
    }
    return NULL;
}

/* ---- its text ---- */

static void put_values(program *p, const int *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bc_text_printf(&p->k.body, "%s%%x%d", i ? ", " : "", values[i]);
}

static void put_types(program *p, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bc_text_puts(&p->k.body, i ? ", tile<8xi32>" : "tile<8xi32>");
}

static void put_op(program *p, const statement *s)
{
    static const char *const names[] = {"addi", "xori", "muli"};
    int r = s->result, a = s->a, b = s->b;
    if (s->verb <= MUL) {
        mx_op(&p->k, "%%x%d = %s %%x%d, %%x%d : tile<8xi32>", r, names[s->verb], a, b);
    } else if (s->verb == LESS_SELECT) {
        mx_op(&p->k, "%%c%d = cmpi less_than %%x%d, %%x%d, unsigned : tile<8xi32> -> tile<8xi1>", r, a, b);
        mx_op(&p->k, "%%x%d = select %%c%d, %%x%d, %%x%d : tile<8xi1>, tile<8xi32>", r, r, a, b);
    } else if (s->verb == TURN) {
        mx_op(&p->k, "%%c%d = reshape %%x%d : tile<8xi32> -> tile<4x2xi32>", r, a);
        mx_op(&p->k, "%%d%d = permute %%c%d [1, 0] : tile<4x2xi32> -> tile<2x4xi32>", r, r);
        mx_op(&p->k, "%%x%d = reshape %%d%d : tile<2x4xi32> -> tile<8xi32>", r, r);
    } else {
        mx_op(&p->k,
              "%%c%d = reduce %%x%d dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>"
              " (%%p: tile<i32>, %%q: tile<i32>) {"
              " %%r = addi %%p, %%q : tile<i32> yield %%r : tile<i32> }",
              r, a);
        mx_op(&p->k, "%%d%d = reshape %%c%d : tile<i32> -> tile<1xi32>", r, r);
        mx_op(&p->k, "%%x%d = broadcast %%d%d : tile<1xi32> -> tile<8xi32>", r, r);
    }
}

static void put_list(program *p, int first, bool top);

static void put_if(program *p, const statement *s, int id)
{
    mx_op(&p->k, "%%o%d = extract %%x%d[%%zero] : tile<8xi32> -> tile<1xi32>", id, s->condition);
    mx_op(&p->k, "%%b%d = trunci %%o%d : tile<1xi32> -> tile<1xi1>", id, id);
    mx_op(&p->k, "%%odd%d = reshape %%b%d : tile<1xi1> -> tile<i1>", id, id);
    put_values(p, s->out, s->carried);
    bc_text_printf(&p->k.body, "%sif %%odd%d%s", s->carried ? " = " : "", id, s->carried ? " -> (" : "");
    put_types(p, s->carried);
    bc_text_printf(&p->k.body, "%s {\n", s->carried ? ")" : "");
    put_list(p, s->first, false);
    if (s->otherwise >= 0) {
        bc_text_puts(&p->k.body, "} else {\n");
        put_list(p, s->otherwise, false);
    }
    bc_text_puts(&p->k.body, "}\n");
}

static void put_carried(program *p, const statement *s)
{
    for (unsigned i = 0; i < s->carried; i++)
        bc_text_printf(&p->k.body, "%s%%x%d = %%x%d", i ? ", " : "", s->argument[i], s->in[i]);
}

static void put_for(program *p, const statement *s, int id)
{
    mx_op(&p->k, "%%hi%d = constant <i32: %u> : tile<i32>", id, s->count);
    put_values(p, s->out, s->carried);
    bc_text_printf(&p->k.body, " = for %%i%d in (%%zero to %%hi%d, step %%one) : tile<i32> iter_values(", id, id);
    put_carried(p, s);
    bc_text_puts(&p->k.body, ") -> (");
    put_types(p, s->carried);
    bc_text_puts(&p->k.body, ") {\n");
    put_list(p, s->first, false);
    bc_text_puts(&p->k.body, "}\n");
}

/* Carries a counter as well: a tile too, so that break and continue need one list of types. It ends the loop. */
static void put_loop(program *p, const statement *s, int id)
{
    mx_op(&p->k, "%%counter%d = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>", id);
    mx_op(&p->k, "%%start%d = store_ptr_tko weak %%counter%d, %%zero : tile<ptr<i32>>, tile<i32> -> token", id, id);
    mx_op(&p->k, "%%hi%d = constant <i32: %u> : tile<i32>", id, s->count);
    put_values(p, s->out, s->carried);
    bc_text_puts(&p->k.body, " = loop iter_values(");
    put_carried(p, s);
    bc_text_puts(&p->k.body, ") : ");
    put_types(p, s->carried);
    bc_text_puts(&p->k.body, " -> ");
    put_types(p, s->carried);
    bc_text_puts(&p->k.body, " {\n");
    mx_op(&p->k, "%%n%d, %%nt%d = load_ptr_tko weak %%counter%d : tile<ptr<i32>> -> tile<i32>, token", id, id, id);
    mx_op(&p->k, "%%done%d = cmpi equal %%n%d, %%hi%d, signed : tile<i32> -> tile<i1>", id, id, id);
    bc_text_printf(&p->k.body, "if %%done%d {\n  break ", id);
    put_values(p, s->argument, s->carried);
    bc_text_puts(&p->k.body, " : ");
    put_types(p, s->carried);
    bc_text_puts(&p->k.body, "\n}\n");
    mx_op(&p->k, "%%m%d = addi %%n%d, %%one : tile<i32>", id, id);
    mx_op(&p->k, "%%mt%d = store_ptr_tko weak %%counter%d, %%m%d token=%%nt%d : tile<ptr<i32>>, tile<i32> -> token", id,
          id, id, id);
    put_list(p, s->first, false);
    bc_text_puts(&p->k.body, "}\n");
}

static void put_end(program *p, const statement *s)
{
    static const char *const names[] = {"yield", "continue", "break", "return"};
    bc_text_printf(&p->k.body, "  %s ", names[s->verb - YIELD]);
    put_values(p, s->out, s->carried);
    bc_text_puts(&p->k.body, s->carried ? " : " : "");
    put_types(p, s->carried);
    bc_text_char(&p->k.body, '\n');
}

static void put_store(program *p, const statement *s)
{
    unsigned v = mx_new(&p->k);
    mx_op(&p->k, "%%v%u = reshape %%x%d : tile<8xi32> -> tile<8xi32>", v, s->a);
    mx_store(&p->k, s->count + 2, mx_vector(N), v);
}

static void put_list(program *p, int first, bool top)
{
    for (int id = first; id >= 0; id = p->s[id].next) {
        const statement *s = &p->s[id];
        if (s->verb <= SUM)
            put_op(p, s);
        else if (s->verb == IF)
            put_if(p, s, id);
        else if (s->verb == FOR)
            put_for(p, s, id);
        else if (s->verb == LOOP)
            put_loop(p, s, id);
        else if (s->verb == STORE)
            put_store(p, s);
        else if (s->verb != RETURN || !top)
            put_end(p, s); /* the kernel's own return is there already */
    }
}

static void put_program(program *p, int first, const uint64_t *inputs)
{
    mx_begin(&p->k);
    p->k.grid[0] = BLOCKS;
    for (unsigned i = 0; i < 2; i++)
        mx_input(&p->k, BC_I32, inputs + i * N * BLOCKS, N * BLOCKS);
    for (unsigned i = 0; i < p->stores; i++)
        mx_output(&p->k, BC_I32, N * BLOCKS);
    mx_op(&p->k, "%%zero = constant <i32: 0> : tile<i32>");
    mx_op(&p->k, "%%one = constant <i32: 1> : tile<i32>");
    for (unsigned i = 0; i < 2; i++) {
        unsigned v = mx_load(&p->k, i, mx_vector(N), MX_PLAIN);
        mx_op(&p->k, "%%x%u = reshape %%v%u : tile<8xi32> -> tile<8xi32>", i, v);
    }
    put_list(p, first, true);
}

static void random_program(mx_report *r, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    program *p = calloc(1, sizeof *p);
    uint64_t inputs[2 * N * BLOCKS];
    size_t bad = 0;
    if (!p)
        abort();
    p->seed = mx_random(seed);
    p->values = 2;
    scope top = {.visible = {0, 1}, .count = 2};
    for (size_t i = 0; i < TV_COUNT(inputs); i++)
        inputs[i] = mx_sample(BC_I32, p->seed + i);
    int first = make_body(p, &top, RETURN, 0);
    put_program(p, first, inputs);
    tv_status status = mx_run(&p->k, NULL);
    for (unsigned b = 0; b < BLOCKS && status == TV_OK; b++) {
        memset(p->memory, 0xFF, sizeof p->memory);
        for (unsigned i = 0; i < 2; i++)
            for (unsigned e = 0; e < N; e++)
                p->value[i][e] = (uint32_t)inputs[(i * BLOCKS + b) * N + e];
        run_list(p, first);
        for (unsigned s = 0; s < p->stores; s++)
            for (unsigned e = 0; e < N; e++)
                bad += mx_result(&p->k, s + 2, b * N + e) != p->memory[s][e];
    }
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &p->k, "random program %llu: status %d, %zu wrong", (unsigned long long)seed, (int)status, bad);
    mx_end(&p->k);
    free(p);
}

/* ---- for: which values it runs through ---- */

static void for_range(mx_report *r, bc_kind kind, int64_t low, int64_t high, uint64_t step, bool is_unsigned)
{
    if (!mx_is_turn(r))
        return;
    unsigned width = exact_bits(kind);
    uint64_t lo = (uint64_t)low & exact_mask(width), hi = (uint64_t)high & exact_mask(width), want = 0, steps = 0;
    mx_kernel k;
    mx_begin(&k);
    uint64_t bounds[3] = {lo, hi, step};
    for (unsigned i = 0; i < 3; i++)
        mx_input(&k, kind, &bounds[i], 1);
    unsigned out = mx_output(&k, BC_I64, 1), v[3], result;
    for (unsigned i = 0; i < 3; i++)
        v[i] = mx_load(&k, i, (mx_shape){0, {0}}, MX_PLAIN);
    mx_op(&k, "%%start = constant <i64: 1> : tile<i64>");
    mx_op(&k, "%%m = constant <i64: 1000003> : tile<i64>");
    result = mx_new(&k);
    mx_op(&k,
          "%%v%u = for%s %%i in (%%v%u to %%v%u, step %%v%u) : tile<%s> iter_values(%%h = %%start) -> (tile<i64>) {",
          result, is_unsigned ? " unsigned" : "", v[0], v[1], v[2], mx_kind(kind));
    if (kind == BC_I64)
        mx_op(&k, "%%w = addi %%i, %%start : tile<i64>");
    else
        mx_op(&k, "%%w0 = exti %%i unsigned : tile<%s> -> tile<i64>\n  %%w = addi %%w0, %%start : tile<i64>",
              mx_kind(kind));
    mx_op(&k, "%%g = muli %%h, %%m : tile<i64>\n  %%n = addi %%g, %%w : tile<i64>\n  continue %%n : tile<i64>\n  }");
    mx_store(&k, out, (mx_shape){0, {0}}, result);
    tv_status status = mx_run(&k, NULL);
    want = 1;
    bool overflows = false;
    for (uint64_t i = lo; steps < 1000; steps++) {
        bool goes_on = is_unsigned ? i < hi : exact_signed(i, width) < exact_signed(hi, width);
        if (!goes_on)
            break;
        want = want * 1000003 + i + 1;
        uint64_t next = (i + step) & exact_mask(width);
        overflows = is_unsigned ? next < i : exact_signed(next, width) < exact_signed(i, width);
        if (overflows)
            break; /* the range ends, by its definition */
        i = next;
    }
    if ((status == TV_OK && mx_result(&k, out, 0) == want) || (overflows && status == TV_TRAP))
        mx_pass(r);
    else
        mx_fail(r, &k, "for %lld to %lld step %llu%s: status %d", (long long)low, (long long)high,
                (unsigned long long)step, is_unsigned ? " unsigned" : "", (int)status);
    mx_end(&k);
}

static void for_ranges(mx_report *r)
{
    static const bc_kind kinds[] = {BC_I8, BC_I16, BC_I32, BC_I64};
    static const struct {
        int64_t low, high;
        uint64_t step;
    } ranges[] = {{0, 100, 50}, {100, 200, 60}, {5, 5, 1},   {7, 3, 1},       {-5, 5, 3},  {0, 10, 3},
                  {-3, -1, 1},  {-1, 1, 1},     {0, -1, 60}, {-100, 100, 60}, {3, 4, 100}, {-128, -120, 2}};
    for (size_t k = 0; k < TV_COUNT(kinds); k++)
        for (size_t i = 0; i < TV_COUNT(ranges); i++)
            for (int u = 0; u < 2; u++)
                if (!u || kinds[k] == BC_I8
                    || (uint64_t)ranges[i].high < 1000) /* not four thousand million times round */
                    for_range(r, kinds[k], ranges[i].low, ranges[i].high, ranges[i].step, u);
    for_range(r, BC_I1, 0, 1, 1, true);
    for_range(r, BC_I1, 0, 0, 1, true);
}

/* ---- values of every type go round a loop, and change places ---- */

static void carried(mx_report *r, bc_kind kind, mx_shape shape, unsigned trips, bool as_loop)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    size_t n = mx_count(shape), bad = 0;
    uint64_t x[3][64];
    unsigned v[3], out[3], result[3];
    const char *type;
    mx_begin(&k);
    for (unsigned j = 0; j < 3; j++) {
        for (size_t i = 0; i < n; i++)
            x[j][i] = mx_sample(kind, i + j * 1000 + n);
        v[j] = mx_load(&k, mx_input(&k, kind, x[j], n), shape, MX_PLAIN);
    }
    for (unsigned j = 0; j < 3; j++) {
        out[j] = mx_output(&k, kind, n);
        result[j] = mx_new(&k);
    }
    type = mx_tile(shape, kind);
    mx_op(&k, "%%zero = constant <i32: 0> : tile<i32>\n  %%one = constant <i32: 1> : tile<i32>");
    mx_op(&k, "%%hi = constant <i32: %u> : tile<i32>", trips);
    if (as_loop) { /* the counter goes round with them and does not come out */
        mx_op(
            &k,
            "%%v%u, %%v%u, %%v%u = loop iter_values(%%a = %%v%u, %%b = %%v%u, %%c = %%v%u, %%n = %%zero) : %s, %s, %s,"
            " tile<i32>"
            " -> %s, %s, %s {",
            result[0], result[1], result[2], v[0], v[1], v[2], type, type, type, type, type, type);
        mx_op(&k, "%%done = cmpi equal %%n, %%hi, signed : tile<i32> -> tile<i1>");
        mx_op(&k, "if %%done { break %%a, %%b, %%c : %s, %s, %s }", type, type, type);
        mx_op(&k, "%%m = addi %%n, %%one : tile<i32>");
        mx_op(&k, "continue %%b, %%c, %%a, %%m : %s, %s, %s, tile<i32>\n  }", type, type, type);
    } else {
        mx_op(&k,
              "%%v%u, %%v%u, %%v%u = for %%i in (%%zero to %%hi, step %%one) : tile<i32> iter_values(%%a = %%v%u,"
              " %%b = %%v%u,"
              " %%c = %%v%u) -> (%s, %s, %s) {",
              result[0], result[1], result[2], v[0], v[1], v[2], type, type, type);
        mx_op(&k, "continue %%b, %%c, %%a : %s, %s, %s\n  }", type, type, type);
    }
    for (unsigned j = 0; j < 3; j++)
        mx_store(&k, out[j], shape, result[j]);
    tv_status status = mx_run(&k, NULL);
    for (unsigned j = 0; j < 3 && status == TV_OK; j++)
        for (size_t i = 0; i < n; i++)
            bad += mx_result(&k, out[j], i) != x[(j + trips) % 3][i];
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &k, "carried %s: status %d, %zu wrong", mx_tile(shape, kind), (int)status, bad);
    mx_end(&k);
}

static void all_carried(mx_report *r, mx_effort effort)
{
    for (int kind = 0; kind < BC_KIND_COUNT; kind++) {
        bool number = bc_kinds[kind].kind_class == BC_CLASS_INTEGER || bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
        for (size_t s = 0; s < mx_shape_count && (number || kind == BC_PTR); s++) {
            if (mx_count(mx_shapes[s]) > 64 || (kind == BC_F4E2M1FN && mx_count(mx_shapes[s]) < 2))
                continue;
            for (unsigned trips = 0; trips < 6; trips++)
                if (!effort.quick || (trips + s) % 5 == 0)
                    carried(r, (bc_kind)kind, mx_shapes[s], trips, (trips + s) % 2);
        }
    }
}

void mx_control(mx_report *r, mx_effort effort)
{
    for (uint64_t seed = 0; seed < (effort.quick ? 100 : 1500); seed++)
        random_program(r, seed);
    for_ranges(r);
    all_carried(r, effort);
}
