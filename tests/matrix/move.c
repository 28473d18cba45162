/* Ops that make tiles and move their elements: constant, iota, reshape, broadcast, permute, cat, extract, insert.
   Chains of them are drawn at random, and followed on an array of patterns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

enum { MAX_ELEMENTS = 1024, MAX_STEPS = 6 };

static const bc_kind kinds[] = {BC_I1,       BC_I4,        BC_I8,       BC_I16,         BC_I32,  BC_I64,
                                BC_F64,      BC_F32,       BC_TF32,     BC_F16,         BC_BF16, BC_F8E5M2,
                                BC_F8E4M3FN, BC_F8E8M0FNU, BC_F4E2M1FN, BC_FNV8E5M3FNU, BC_PTR};

/* A tile: its value in the kernel and what it holds. */
typedef struct tile {
    mx_shape shape;
    unsigned value;
    uint64_t element[MAX_ELEMENTS];
} tile;

typedef struct chain {
    mx_kernel k;
    bc_kind kind;
    uint64_t seed;
    tile now;
    unsigned index[MX_MAX_RANK]; /* values that hold the indices of an extract or insert */
} chain;

static uint64_t draw(chain *c, uint64_t below)
{
    c->seed = mx_random(c->seed);
    return (c->seed >> 16) % below;
}

static void split(mx_shape shape, size_t i, uint32_t *at)
{
    for (unsigned d = shape.rank; d-- > 0;) {
        at[d] = (uint32_t)(i % shape.dim[d]);
        i /= shape.dim[d];
    }
}

static size_t join(mx_shape shape, const uint32_t *at)
{
    size_t i = 0;
    for (unsigned d = 0; d < shape.rank; d++)
        i = i * shape.dim[d] + at[d];
    return i;
}

/* ---- the ops ---- */

static mx_shape draw_shape(chain *c, size_t count)
{
    mx_shape s = {.rank = (unsigned)draw(c, MX_MAX_RANK)};
    if (s.rank == 0 && count > 1)
        s.rank = 1;
    for (unsigned d = 0; d < s.rank; d++)
        s.dim[d] = 1;
    for (; count > 1; count /= 2)
        s.dim[draw(c, s.rank)] *= 2;
    return s;
}

static void do_reshape(chain *c)
{
    mx_shape to = draw_shape(c, mx_count(c->now.shape));
    unsigned v = mx_new(&c->k);
    mx_op(&c->k, "%%v%u = reshape %%v%u : %s -> %s", v, c->now.value, mx_tile(c->now.shape, c->kind),
          mx_tile(to, c->kind));
    c->now.value = v;
    c->now.shape = to;
}

static void do_broadcast(chain *c)
{
    tile *t = &c->now, from = *t;
    for (unsigned d = 0; d < t->shape.rank; d++)
        if (t->shape.dim[d] == 1 && mx_count(t->shape) <= MAX_ELEMENTS / 4)
            t->shape.dim[d] = 1u << draw(c, 3);
    t->value = mx_new(&c->k);
    mx_op(&c->k, "%%v%u = broadcast %%v%u : %s -> %s", t->value, from.value, mx_tile(from.shape, c->kind),
          mx_tile(t->shape, c->kind));
    for (size_t i = 0; i < mx_count(t->shape); i++) {
        uint32_t at[MX_MAX_RANK];
        split(t->shape, i, at);
        for (unsigned d = 0; d < t->shape.rank; d++)
            at[d] %= from.shape.dim[d];
        t->element[i] = from.element[join(from.shape, at)];
    }
}

static void do_permute(chain *c)
{
    tile *t = &c->now, from = *t;
    unsigned p[MX_MAX_RANK] = {0};
    if (t->shape.rank < 2)
        return;
    for (unsigned d = 0; d < t->shape.rank; d++) {
        unsigned other = (unsigned)draw(c, d + 1);
        p[d] = p[other];
        p[other] = d;
    }
    t->value = mx_new(&c->k);
    bc_text_printf(&c->k.body, "  %%v%u = permute %%v%u [", t->value, from.value);
    for (unsigned d = 0; d < t->shape.rank; d++) {
        bc_text_printf(&c->k.body, "%s%u", d ? ", " : "", p[d]);
        t->shape.dim[d] = from.shape.dim[p[d]];
    }
    bc_text_printf(&c->k.body, "] : %s -> %s\n", mx_tile(from.shape, c->kind), mx_tile(t->shape, c->kind));
    for (size_t i = 0; i < mx_count(t->shape); i++) {
        uint32_t at[MX_MAX_RANK], source[MX_MAX_RANK] = {0};
        split(t->shape, i, at);
        for (unsigned d = 0; d < t->shape.rank; d++)
            source[p[d]] = at[d];
        t->element[i] = from.element[join(from.shape, source)];
    }
}

/* other has the shape of the tile. */
static void do_cat(chain *c, const tile *other)
{
    tile *t = &c->now, from = *t;
    if (t->shape.rank == 0 || mx_count(t->shape) > MAX_ELEMENTS / 2)
        return;
    unsigned dim = (unsigned)draw(c, t->shape.rank);
    const tile *sides[2] = {&from, other};
    t->shape.dim[dim] *= 2;
    t->value = mx_new(&c->k);
    mx_op(&c->k, "%%v%u = cat %%v%u, %%v%u dim = %u : %s, %s -> %s", t->value, from.value, other->value, dim,
          mx_tile(from.shape, c->kind), mx_tile(from.shape, c->kind), mx_tile(t->shape, c->kind));
    for (size_t i = 0; i < mx_count(t->shape); i++) {
        uint32_t at[MX_MAX_RANK];
        split(t->shape, i, at);
        const tile *side = sides[at[dim] >= from.shape.dim[dim]];
        at[dim] %= from.shape.dim[dim];
        t->element[i] = side->element[join(from.shape, at)];
    }
}

/* A slice that the shape is made of: its shape, and which one along each dimension. */
static mx_shape draw_slice(chain *c, mx_shape shape, uint32_t *which)
{
    mx_shape part = shape;
    for (unsigned d = 0; d < shape.rank; d++) {
        while (part.dim[d] > 1 && draw(c, 2) && (c->kind != BC_F4E2M1FN || mx_count(part) > 2))
            part.dim[d] /= 2;
        which[d] = (uint32_t)draw(c, shape.dim[d] / part.dim[d]);
        c->index[d] = mx_new(&c->k);
        mx_op(&c->k, "%%v%u = constant <i32: %u> : tile<i32>", c->index[d], which[d]);
    }
    return part;
}

static void put_indices(chain *c, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        bc_text_printf(&c->k.body, "%s%%v%u", d ? ", " : "", c->index[d]);
}

static size_t element_of_slice(mx_shape whole, mx_shape part, const uint32_t *which, size_t i)
{
    uint32_t at[MX_MAX_RANK];
    split(part, i, at);
    for (unsigned d = 0; d < part.rank; d++)
        at[d] += which[d] * part.dim[d];
    return join(whole, at);
}

static void take_slice(chain *c, const tile *from, tile *out, uint32_t *which)
{
    mx_shape part = draw_slice(c, from->shape, which);
    *out = *from;
    out->shape = part;
    out->value = mx_new(&c->k);
    bc_text_printf(&c->k.body, "  %%v%u = extract %%v%u[", out->value, from->value);
    put_indices(c, part.rank);
    bc_text_printf(&c->k.body, "] : %s -> %s\n", mx_tile(from->shape, c->kind), mx_tile(part, c->kind));
    for (size_t i = 0; i < mx_count(part); i++)
        out->element[i] = from->element[element_of_slice(from->shape, part, which, i)];
}

static void do_extract(chain *c)
{
    uint32_t which[MX_MAX_RANK];
    tile from = c->now;
    take_slice(c, &from, &c->now, which);
}

/* One slice of the tile in the place of another. */
static void do_insert(chain *c)
{
    tile *t = &c->now, slice;
    uint32_t which[MX_MAX_RANK];
    take_slice(c, t, &slice, which);
    for (unsigned d = 0; d < t->shape.rank; d++) {
        which[d] = (uint32_t)draw(c, t->shape.dim[d] / slice.shape.dim[d]);
        c->index[d] = mx_new(&c->k);
        mx_op(&c->k, "%%v%u = constant <i32: %u> : tile<i32>", c->index[d], which[d]);
    }
    unsigned v = mx_new(&c->k);
    bc_text_printf(&c->k.body, "  %%v%u = insert %%v%u, %%v%u[", v, slice.value, t->value);
    put_indices(c, t->shape.rank);
    bc_text_printf(&c->k.body, "] : %s, %s\n", mx_tile(slice.shape, c->kind), mx_tile(t->shape, c->kind));
    t->value = v;
    for (size_t i = 0; i < mx_count(slice.shape); i++)
        t->element[element_of_slice(t->shape, slice.shape, which, i)] = slice.element[i];
}

/* An element-wise op in between: the elements of other where a constant says so. */
static void do_select(chain *c, const tile *other)
{
    tile *t = &c->now;
    size_t n = mx_count(t->shape);
    if (c->kind == BC_F4E2M1FN || n > 64)
        return;
    unsigned bits = mx_new(&c->k), condition = mx_new(&c->k), v = mx_new(&c->k);
    bc_text_printf(&c->k.body, "  %%v%u = constant <i1: [", bits);
    for (size_t i = 0; i < n; i++) {
        bool keep = draw(c, 2);
        bc_text_printf(&c->k.body, "%s%s", i ? ", " : "", keep ? "true" : "false");
        t->element[i] = keep ? t->element[i] : other->element[i];
    }
    bc_text_printf(&c->k.body, "]> : tile<%zuxi1>\n", n);
    mx_op(&c->k, "%%v%u = reshape %%v%u : tile<%zuxi1> -> %s", condition, bits, n, mx_tile(t->shape, BC_I1));
    mx_op(&c->k, "%%v%u = select %%v%u, %%v%u, %%v%u : %s, %s", v, condition, t->value, other->value,
          mx_tile(t->shape, BC_I1), mx_tile(t->shape, c->kind));
    t->value = v;
}

/* ---- chains ---- */

/* A tile of the shape from the second input. */
static void load_other(chain *c, tile *out)
{
    uint64_t patterns[MAX_ELEMENTS];
    size_t n = mx_count(c->now.shape);
    out->shape = c->now.shape;
    for (size_t i = 0; i < n; i++)
        patterns[i] = out->element[i] = mx_sample(c->kind, c->seed + i);
    out->value = mx_load(&c->k, mx_input(&c->k, c->kind, patterns, n), out->shape, draw(c, 2) ? MX_PLAIN : MX_VIEW);
}

static void do_step(chain *c, unsigned op)
{
    tile *other = calloc(1, sizeof *other);
    if (!other)
        abort();
    switch (op) {
    case 0: do_reshape(c); break;
    case 1: do_broadcast(c); break;
    case 2: do_permute(c); break;
    case 3:
    case 6:
        load_other(c, other);
        if (op == 3)
            do_cat(c, other);
        else
            do_select(c, other);
        break;
    case 4: do_extract(c); break;
    default: do_insert(c); break;
    }
    free(other);
}

/* steps ops; the first is the given one. */
static void run_chain(mx_report *r, bc_kind kind, unsigned first, unsigned steps, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    chain *c = calloc(1, sizeof *c);
    uint64_t patterns[MAX_ELEMENTS];
    size_t bad = 0;
    if (!c)
        abort();
    c->kind = kind;
    c->seed = mx_random(seed);
    mx_begin(&c->k);
    c->now.shape = draw_shape(c, (size_t)1 << draw(c, 9));
    if (kind == BC_F4E2M1FN && mx_count(c->now.shape) < 2)
        c->now.shape = mx_vector(2);
    size_t n = mx_count(c->now.shape);
    for (size_t i = 0; i < n; i++)
        patterns[i] = c->now.element[i] = mx_sample(kind, c->seed + i);
    bool half = kind == BC_I4 || kind == BC_F4E2M1FN, constant = kind != BC_PTR && kind != BC_I4 && draw(c, 4) == 0;
    mx_form form = constant ? MX_CONSTANT : half || draw(c, 2) ? MX_PLAIN : MX_PERMUTED;
    c->now.value = mx_load(&c->k, mx_input(&c->k, kind, patterns, n), c->now.shape, form);
    do_step(c, first);
    for (unsigned s = 1; s < steps; s++)
        do_step(c, (unsigned)draw(c, 7));
    n = mx_count(c->now.shape);
    unsigned out = mx_output(&c->k, kind, n);
    mx_store(&c->k, out, c->now.shape, c->now.value);
    tv_status status = mx_run(&c->k, NULL);
    for (size_t i = 0; i < n && status == TV_OK; i++)
        bad += mx_result(&c->k, out, i) != c->now.element[i];
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &c->k, "ops on %s that move elements: status %d, %zu of %zu wrong", mx_kind(kind), (int)status, bad,
                n);
    mx_end(&c->k);
    free(c);
}

/* ---- constants and iota ---- */

static void splat(mx_report *r, bc_kind kind, mx_shape shape, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    size_t n = mx_count(shape), bad = 0;
    uint64_t x = mx_sample(kind, seed), shown = kind == BC_TF32 ? x >> 13 : x;
    mx_begin(&k);
    unsigned out = mx_output(&k, kind, n), v = mx_new(&k);
    if (exact_is_float(kind))
        mx_op(&k, "%%v%u = constant <%s: 0x%llx> : %s", v, mx_kind(kind), (unsigned long long)shown,
              mx_tile(shape, kind));
    else
        mx_op(&k, "%%v%u = constant <%s: %lld> : %s", v, mx_kind(kind), (long long)exact_signed(x, exact_bits(kind)),
              mx_tile(shape, kind));
    mx_store(&k, out, shape, v);
    tv_status status = mx_run(&k, NULL);
    for (size_t i = 0; i < n && status == TV_OK; i++)
        bad += mx_result(&k, out, i) != x;
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &k, "constant %s: status %d, %zu of %zu wrong", mx_tile(shape, kind), (int)status, bad, n);
    mx_end(&k);
}

static void iota(mx_report *r, bc_kind kind, size_t n)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    size_t bad = 0;
    mx_begin(&k);
    unsigned out = mx_output(&k, kind, n), v = mx_new(&k);
    mx_op(&k, "%%v%u = iota : %s", v, mx_tile(mx_vector(n), kind));
    mx_store(&k, out, mx_vector(n), v);
    tv_status status = mx_run(&k, NULL);
    for (size_t i = 0; i < n && status == TV_OK; i++)
        bad += mx_result(&k, out, i) != i;
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &k, "iota %s: status %d, %zu wrong", mx_tile(mx_vector(n), kind), (int)status, bad);
    mx_end(&k);
}

void mx_move(mx_report *r, mx_effort effort)
{
    unsigned chains = effort.quick ? 3 : 40;
    for (size_t i = 0; i < TV_COUNT(kinds); i++) {
        for (unsigned op = 0; op < 7; op++)
            for (unsigned n = 0; n < chains; n++)
                run_chain(r, kinds[i], op, n < chains / 4 ? 1 : n % MAX_STEPS + 1, n * 100 + op + i * 10000);
        for (size_t s = 0; s < mx_shape_count && kinds[i] != BC_I4 && kinds[i] != BC_PTR; s++)
            if (kinds[i] != BC_F4E2M1FN || mx_count(mx_shapes[s]) > 1)
                splat(r, kinds[i], mx_shapes[s], s);
        if (!exact_is_float(kinds[i]) && kinds[i] != BC_PTR && kinds[i] != BC_I4)
            for (size_t n = 1; n <= 512 && (exact_bits(kinds[i]) > 8 || n <= (size_t)1 << exact_bits(kinds[i])); n *= 2)
                iota(r, kinds[i], n);
    }
}
