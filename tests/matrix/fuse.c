/* Random straight-line programs of element-wise ops on tiles large enough for several strips: values of several types
   and layouts, shared operands, reductions in between, loads and stores of the same memory in every order, each after
   the last access to it by its token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

enum { MAX_VALUES = 48, INPUTS = 4, OUTPUTS = 4, BLOCKS = 2 };

static const bc_kind kinds[] = {BC_I8, BC_I32, BC_I64, BC_F32};

typedef struct value {
    bc_kind kind;
    unsigned number;
    uint64_t *element; /* of all blocks */
} value;

typedef struct program {
    mx_kernel k;
    uint64_t seed;
    mx_shape shape;
    size_t n, total;
    value values[MAX_VALUES];
    unsigned count;
    uint64_t *memory[INPUTS + OUTPUTS]; /* as it must be, by buffer */
} program;

static uint64_t draw(program *p, uint64_t below)
{
    p->seed = mx_random(p->seed);
    return (p->seed >> 24) % below;
}

static value *new_value(program *p, bc_kind kind)
{
    value *v = &p->values[p->count++];
    *v = (value){kind, mx_new(&p->k), malloc(p->total * sizeof *v->element)};
    if (!v->element)
        abort();
    return v;
}

/* A value of the kind, or NULL. */
static const value *some(program *p, bc_kind kind)
{
    unsigned first = (unsigned)draw(p, p->count);
    for (unsigned i = 0; i < p->count; i++) {
        const value *v = &p->values[(first + i) % p->count];
        if (v->kind == kind)
            return v;
    }
    return NULL;
}

/* ---- ops ---- */

static float float_of(uint64_t pattern)
{
    return (float)exact_value(BC_F32, pattern);
}

static uint64_t pattern_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t combine(bc_kind kind, unsigned op, uint64_t a, uint64_t b)
{
    if (kind == BC_F32) {
        float x = float_of(a), y = float_of(b);
        return pattern_of(op % 3 == 0 ? x + y : op % 3 == 1 ? x - y : x * y);
    }
    uint64_t r = op == 0 ? a + b : op == 1 ? a - b : op == 2 ? a * b : op == 3 ? a ^ b : op == 4 ? a & b : a | b;
    return r & exact_mask(exact_bits(kind));
}

static void do_binary(program *p)
{
    static const char *const ints[] = {"addi", "subi", "muli", "xori", "andi", "ori"};
    static const char *const floats[] = {"addf", "subf", "mulf"};
    bc_kind kind = kinds[draw(p, TV_COUNT(kinds))];
    const value *a = some(p, kind), *b = some(p, kind);
    unsigned op = (unsigned)draw(p, 6);
    if (!a || !b)
        return;
    value *v = new_value(p, kind);
    mx_op(&p->k, "%%v%u = %s %%v%u, %%v%u : %s", v->number, kind == BC_F32 ? floats[op % 3] : ints[op], a->number,
          b->number, mx_tile(p->shape, kind));
    for (size_t i = 0; i < p->total; i++)
        v->element[i] = combine(kind, op, a->element[i], b->element[i]);
}

static void do_convert(program *p)
{
    bc_kind from = kinds[draw(p, 3)], to = kinds[draw(p, TV_COUNT(kinds))];
    const value *a = some(p, from);
    if (!a || from == to || (to == BC_F32 && from == BC_I64))
        return;
    value *v = new_value(p, to);
    const char *op = to == BC_F32 ? "itof" : exact_bits(to) > exact_bits(from) ? "exti" : "trunci";
    mx_op(&p->k, "%%v%u = %s %%v%u%s : %s -> %s", v->number, op, a->number, op[0] == 't' ? "" : " signed",
          mx_tile(p->shape, from), mx_tile(p->shape, to));
    for (size_t i = 0; i < p->total; i++) {
        int64_t x = exact_signed(a->element[i], exact_bits(from));
        v->element[i] = to == BC_F32 ? pattern_of((float)x) : (uint64_t)x & exact_mask(exact_bits(to));
    }
}

static void do_select(program *p)
{
    bc_kind kind = kinds[draw(p, TV_COUNT(kinds))], tested = kinds[draw(p, 3)];
    const value *a = some(p, kind), *b = some(p, kind), *x = some(p, tested), *y = some(p, tested);
    if (!a || !b || !x || !y)
        return;
    unsigned condition = mx_new(&p->k);
    value *v = new_value(p, kind);
    mx_op(&p->k, "%%v%u = cmpi less_than %%v%u, %%v%u, unsigned : %s -> %s", condition, x->number, y->number,
          mx_tile(p->shape, tested), mx_tile(p->shape, BC_I1));
    mx_op(&p->k, "%%v%u = select %%v%u, %%v%u, %%v%u : %s, %s", v->number, condition, a->number, b->number,
          mx_tile(p->shape, BC_I1), mx_tile(p->shape, kind));
    for (size_t i = 0; i < p->total; i++)
        v->element[i] = x->element[i] < y->element[i] ? a->element[i] : b->element[i];
}

/* Another order of the same elements: the transposed tile read as one of the old shape. */
static void do_turn(program *p)
{
    bc_kind kind = kinds[draw(p, TV_COUNT(kinds))];
    const value *a = some(p, kind);
    uint32_t rows = p->shape.dim[0], columns = (uint32_t)(p->n / rows);
    mx_shape flat = {2, {rows, columns}}, turned = {2, {columns, rows}};
    if (!a)
        return;
    unsigned matrix = mx_new(&p->k), permuted = mx_new(&p->k);
    value *v = new_value(p, kind);
    mx_op(&p->k, "%%v%u = reshape %%v%u : %s -> %s", matrix, a->number, mx_tile(p->shape, kind), mx_tile(flat, kind));
    mx_op(&p->k, "%%v%u = permute %%v%u [1, 0] : %s -> %s", permuted, matrix, mx_tile(flat, kind),
          mx_tile(turned, kind));
    mx_op(&p->k, "%%v%u = reshape %%v%u : %s -> %s", v->number, permuted, mx_tile(turned, kind),
          mx_tile(p->shape, kind));
    for (size_t i = 0; i < p->total; i++) {
        size_t e = i % p->n;
        v->element[i] = a->element[i - e + e % rows * columns + e / rows];
    }
}

/* Sums along the first dimension, in every row. */
static void do_sum(program *p)
{
    const value *a = some(p, BC_I32);
    uint32_t rows = p->shape.dim[0], columns = (uint32_t)(p->n / rows);
    mx_shape flat = {2, {rows, columns}}, row = {2, {1, columns}};
    if (!a)
        return;
    unsigned matrix = mx_new(&p->k), sum = mx_new(&p->k), one = mx_new(&p->k), all = mx_new(&p->k);
    value *v = new_value(p, BC_I32);
    mx_op(&p->k, "%%v%u = reshape %%v%u : %s -> %s", matrix, a->number, mx_tile(p->shape, BC_I32),
          mx_tile(flat, BC_I32));
    mx_op(&p->k, "%%v%u = reduce %%v%u dim=0 identities=[0 : i32] : %s -> %s (%%a: tile<i32>, %%b: tile<i32>) {", sum,
          matrix, mx_tile(flat, BC_I32), mx_tile(mx_vector(columns), BC_I32));
    mx_op(&p->k, "%%c = addi %%a, %%b : tile<i32>\n  yield %%c : tile<i32>\n  }");
    mx_op(&p->k, "%%v%u = reshape %%v%u : %s -> %s", one, sum, mx_tile(mx_vector(columns), BC_I32),
          mx_tile(row, BC_I32));
    mx_op(&p->k, "%%v%u = broadcast %%v%u : %s -> %s", all, one, mx_tile(row, BC_I32), mx_tile(flat, BC_I32));
    mx_op(&p->k, "%%v%u = reshape %%v%u : %s -> %s", v->number, all, mx_tile(flat, BC_I32), mx_tile(p->shape, BC_I32));
    for (size_t i = 0; i < p->total; i++) {
        size_t e = i % p->n;
        uint64_t total = 0;
        for (uint32_t j = 0; j < rows; j++)
            total += a->element[i - e + j * columns + e % columns];
        v->element[i] = total & UINT32_MAX;
    }
}

/* ---- memory ---- */

static void do_load(program *p, unsigned buffer)
{
    static const mx_form forms[] = {MX_PLAIN, MX_VIEW, MX_VIEW, MX_PERMUTED, MX_ROW, MX_COLUMN, MX_SPLAT};
    mx_form form = forms[draw(p, TV_COUNT(forms))];
    value *v = new_value(p, p->k.buffers[buffer].kind);
    v->number = mx_load(&p->k, buffer, p->shape, form);
    for (size_t i = 0; i < p->total; i++)
        v->element[i] = p->memory[buffer][i - i % p->n + mx_source(form, p->shape, i % p->n)];
}

static void do_store(program *p)
{
    unsigned buffer = (unsigned)draw(p, draw(p, 2) ? 2 : INPUTS + OUTPUTS); /* often the same */
    const value *a = some(p, p->k.buffers[buffer].kind);
    if (!a)
        return;
    if (draw(p, 3))
        mx_store_view(&p->k, buffer, p->shape, a->number);
    else
        mx_store(&p->k, buffer, p->shape, a->number);
    memcpy(p->memory[buffer], a->element, p->total * sizeof *a->element);
}

/* ---- a program ---- */

static void begin(program *p)
{
    static const mx_shape shapes[] = {{1, {2048}}, {2, {64, 32}},  {2, {4, 256}},  {3, {8, 4, 64}},
                                      {1, {16}},   {2, {128, 16}}, {3, {2, 2, 2}}, {2, {1, 512}}};
    p->shape = shapes[draw(p, TV_COUNT(shapes))];
    p->n = mx_count(p->shape);
    p->total = p->n * BLOCKS;
    mx_begin(&p->k);
    p->k.grid[0] = BLOCKS;
    p->k.in_order = true; /* a buffer is loaded again after a store: without tokens, the load might read either */
    for (unsigned b = 0; b < INPUTS + OUTPUTS; b++) {
        bc_kind kind = kinds[b % TV_COUNT(kinds)];
        p->memory[b] = malloc(p->total * sizeof *p->memory[b]);
        if (!p->memory[b])
            abort();
        for (size_t i = 0; i < p->total; i++)
            p->memory[b][i] = kind == BC_F32 ? pattern_of((float)exact_signed(mx_random(p->seed + i), 20) / 64)
                                             : mx_sample(kind, p->seed + i * 8 + b);
        mx_input(&p->k, kind, p->memory[b], p->total);
    }
    for (unsigned b = 0; b < INPUTS; b++)
        do_load(p, b);
}

static void random_program(mx_report *r, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    program *p = calloc(1, sizeof *p);
    size_t bad = 0;
    if (!p)
        abort();
    p->seed = mx_random(seed);
    begin(p);
    for (uint64_t steps = 4 + draw(p, 30); steps > 0 && p->count < MAX_VALUES - 1; steps--) {
        uint64_t pick = draw(p, 16);
        if (pick < 6)
            do_binary(p);
        else if (pick < 8)
            do_convert(p);
        else if (pick < 10)
            do_select(p);
        else if (pick == 10)
            do_turn(p);
        else if (pick == 11)
            do_sum(p);
        else if (pick == 12)
            do_load(p, (unsigned)draw(p, INPUTS + OUTPUTS));
        else
            do_store(p);
    }
    do_store(p);
    tv_status status = mx_run(&p->k, NULL);
    for (unsigned b = 0; b < INPUTS + OUTPUTS && status == TV_OK; b++)
        for (size_t i = 0; i < p->total; i++)
            bad += !mx_same(p->k.buffers[b].kind, mx_result(&p->k, b, i), p->memory[b][i]);
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &p->k, "program %llu: status %d, %zu wrong", (unsigned long long)seed, (int)status, bad);
    for (unsigned b = 0; b < INPUTS + OUTPUTS; b++)
        free(p->memory[b]);
    for (unsigned i = 0; i < p->count; i++)
        free(p->values[i].element);
    mx_end(&p->k);
    free(p);
}

void mx_fuse(mx_report *r, mx_effort effort)
{
    for (uint64_t seed = 0; seed < (effort.quick ? 60 : 1000); seed++)
        random_program(r, seed);
}
