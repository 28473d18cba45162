/* Matrix products without an instruction: tiles smaller than a fragment, including f32 and f64; larger f32 and f64
   tiles are computed in blocks (codegen/ops/mma_blocks.c). Every thread computes its elements in a loop over K, from
   operands in shared memory that are not swizzled. Sums are fused; the accumulator is added last, but first for f64.
   Bytes are multiplied four at a time (dp4a); for this, B is stored in words of four elements of a column. Source:
   memory reference, section 7. */
#include "codegen/ops/map.h"
#include "codegen/ops/mma.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* One operand. A "line" is a row of A or a column of B of which the thread needs all elements. */
typedef struct side {
    bool left;
    uint32_t pitch, step; /* bytes from line to line, from k to k + 1 */
    uint32_t batch_pitch; /* bytes of one matrix of B; A's lines are numbered through all batches */
    cg_val base;
    uint32_t count;     /* lines of a thread */
    uint32_t *key, *of; /* by line: the bits that identify it; by register of the result: its line */
    cg_val *at, *x;     /* by line: address of its next element; the element */
    /* For a scaled product: the same for its scales, along blocks of K. */
    uint32_t scale_pitch, scale_step, scale_batch_pitch;
    cg_val scale_base;
    cg_val *scale_at, *scale;
} side;

typedef struct plain {
    const ct_op *op;
    const cg_product *p;
    const cg_layout *layout; /* of the result */
    bc_kind scale_kind;
    uint32_t block;   /* log2 of the elements that share a scale */
    cg_class cls;     /* of the sums */
    uint32_t at_once; /* elements of K in one step: 4 bytes, else 1 */
    uint32_t parts;   /* bits of K that number the slices in which the operands are stored to scratch */
    side sides[2];    /* lhs, rhs */
    cg_val *sum;
} plain;

cg_layout cg_plain_layout(const cg_func *c, const cg_product *p)
{
    /* A thread's registers get up to 4 columns and then rows; the remaining bits are assigned in order. */
    uint32_t total = p->m + p->n + p->batch, threads = CG_LANE_BITS + c->warp_bits;
    uint32_t regs = total > threads ? total - threads : 0, count = 0;
    uint32_t columns = regs / 2 + regs % 2 < p->n ? regs / 2 + regs % 2 : p->n;
    uint32_t rows = regs - columns < p->m ? regs - columns : p->m;
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t i = 0; i < columns; i++)
        order[count++] = (uint8_t)i;
    for (uint32_t i = 0; i < rows; i++)
        order[count++] = (uint8_t)(p->n + i);
    for (uint32_t i = columns; i < p->n; i++)
        order[count++] = (uint8_t)i;
    for (uint32_t i = rows; i < p->m + p->batch; i++)
        order[count++] = (uint8_t)(p->n + i);
    return cg_layout_ordered(order, total, columns + rows, c->warp_bits);
}

/* ---- operands in shared memory ---- */

static uint32_t padded_bytes(bc_kind kind, const ct_value *v)
{
    return ((cg_memory_bytes(kind) << cg_shape_of(v->type).tile_bits) + 15) & ~15u;
}

/* Bytes of scratch for a K slice of the operands; the scales are stored whole. */
static uint32_t bytes_of(const plain *m, uint32_t parts)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < m->op->operand_count; i++)
        if (i != 2)
            all += i < 2 ? ((padded_bytes(m->p->in, ct_operands(m->op)[i]) >> parts) + 15) & ~15u
                         : padded_bytes(m->scale_kind, ct_operands(m->op)[i]);
    return all;
}

/* The place of an element of B if four elements of a column form a word. */
static uint32_t place_in_words(const void *product, uint32_t element)
{
    const cg_product *p = product;
    uint32_t column = element & (((uint32_t)1 << p->n) - 1), k = element >> p->n & (((uint32_t)1 << p->k) - 1);
    return (k & 3) | column << 2 | k >> 2 << (p->n + 2) | element >> (p->n + p->k) << (p->n + p->k);
}

static cg_layout in_words(const cg_product *p, const cg_layout *l)
{
    return cg_layout_map(l, l->tile_bits, place_in_words, p);
}

/* Stores a slice of operand `index` of the op, out of 1 << parts along K, behind the first *offset bytes of the
   scratch. */
static cg_val put_operand(cg_func *c, const plain *m, uint32_t index, const cg_layout *read, uint32_t parts,
                          uint32_t part, cg_val scratch, uint32_t *offset)
{
    const ct_value *v = ct_operands(m->op)[index];
    bc_kind kind = index < 2 ? m->p->in : m->scale_kind;
    const cg_val *regs = cg_get(c, v, read);
    uint32_t bits = cg_shape_of(v->type).tile_bits, first = m->p->k - parts + (index == 1 ? m->p->n : 0);
    cg_layout stored = index == 1 && m->at_once > 1 ? in_words(m->p, read) : *read;
    cg_val base = cg_new(c, CG_B32);
    cg_encoding place = {.columns = bits - parts, .bytes = cg_memory_bytes(kind)};
    cg_ins(c, "add.u32 %v, %v, %u", base, scratch, *offset);
    if (regs)
        cg_encode(c, &place, base, kind, &stored, regs, (((uint32_t)1 << parts) - 1) << first, part);
    *offset += ((padded_bytes(kind, v) >> parts) + 15) & ~15u;
    return base;
}

static void put_operands(cg_func *c, plain *m, const cg_layout *read, uint32_t part)
{
    uint32_t offset = 0;
    cg_val scratch = cg_scratch(c, m->op, bytes_of(m, m->parts));
    for (uint32_t i = 0; i < 2; i++)
        m->sides[i].base = put_operand(c, m, i, &read[i], m->parts, part, scratch, &offset);
    for (uint32_t i = 0; m->p->scaled && i < 2; i++)
        m->sides[i].scale_base = put_operand(c, m, 3 + i, &read[2 + i], 0, 0, scratch, &offset);
    cg_barrier(c);
}

/* ---- lines ---- */

static void describe_scales(plain *m)
{
    const bc_type *type = ct_operands(m->op)[3]->type;
    uint32_t k = (uint32_t)tv_trailing_zeros((uint32_t)type->shape[type->rank - 1]);
    m->scale_kind = bc_elem_kind(type);
    m->block = m->p->k - k;
    uint32_t bytes = cg_memory_bytes(m->scale_kind);
    m->sides[0].scale_pitch = bytes << k;
    m->sides[0].scale_step = bytes;
    m->sides[1].scale_pitch = bytes;
    m->sides[1].scale_step = bytes << m->p->n;
    m->sides[1].scale_batch_pitch = bytes << (m->p->n + k);
}

static void find_parts(const cg_func *c, plain *m)
{
    if (m->p->scaled)
        describe_scales(m);
    while (m->parts < m->p->k && bytes_of(m, m->parts) > cg_scratch_room(c, m->op))
        m->parts++;
}

void cg_effects_plain(cg_func *c, ct_op *op, const cg_product *p)
{
    plain m = {.op = op, .p = p};
    find_parts(c, &m);
    for (uint32_t part = 0; part < (uint32_t)1 << m.parts; part++)
        cg_add_scratch(c, op, bytes_of(&m, m.parts));
}

static void describe_sides(const cg_func *c, plain *m)
{
    const cg_product *p = m->p;
    find_parts(c, m);
    uint32_t bytes = cg_memory_bytes(p->in), k = p->k - m->parts;
    m->sides[0].left = true;
    m->sides[0].pitch = bytes << k;
    m->sides[0].step = bytes;
    m->sides[1].pitch = bytes;
    m->sides[1].step = bytes << p->n;
    m->sides[1].batch_pitch = bytes << (p->n + k);
    m->at_once = p->in == BC_I8 && k >= 2 ? 4 : 1;
    if (m->at_once > 1) {
        m->sides[0].step = 4;
        m->sides[1].pitch = 4;
        m->sides[1].step = (uint32_t)4 << p->n;
    }
}

/* base + line * pitch + batch * batch_pitch */
static cg_val line_address(cg_func *c, cg_val base, cg_val line, uint32_t pitch, cg_val batch, uint32_t batch_pitch)
{
    cg_val at = cg_new(c, CG_B32), start = base;
    if (batch_pitch) {
        start = cg_new(c, CG_B32);
        cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", start, batch, batch_pitch, base);
    }
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", at, line, pitch, start);
    return at;
}

/* The register's contribution to the number of a line and its batch; both are XORed with the thread's own. */
typedef struct line {
    uint32_t number, batch;
} line;

static line line_of(const cg_product *p, const side *s, uint32_t element)
{
    if (s->left)
        return (line){.number = element >> p->n};
    return (line){.number = element & (((uint32_t)1 << p->n) - 1), .batch = element >> (p->n + p->m)};
}

/* Computes the address of the first element of each of the thread's lines of a side. */
static void find_lines(cg_func *c, const plain *m, side *s)
{
    const cg_product *p = m->p;
    uint32_t count = cg_layout_regs(m->layout), columns = ((uint32_t)1 << p->n) - 1;
    uint32_t rows = (((uint32_t)1 << (p->m + p->batch)) - 1) << p->n, batches = (((uint32_t)1 << p->batch) - 1)
                                                                                << (p->n + p->m);
    cg_val number = s->left ? cg_thread_index(c, m->layout, rows, p->n) : cg_thread_index(c, m->layout, columns, 0);
    cg_val batch = s->left ? cg_const(CG_B32, 0) : cg_thread_index(c, m->layout, batches, p->n + p->m);
    s->count = 0;
    s->key = bc_new(&c->arena, uint32_t, count);
    s->of = bc_new(&c->arena, uint32_t, count);
    s->at = cg_vals(c, count);
    s->scale_at = cg_vals(c, count);
    s->x = cg_vals(c, count);
    s->scale = cg_vals(c, count);
    for (uint32_t r = 0; r < count && !c->failed; r++) {
        line l = line_of(p, s, cg_layout_reg(m->layout, r));
        uint32_t key = l.number | l.batch << p->n, i = 0;
        while (i < s->count && s->key[i] != key)
            i++;
        s->of[r] = i;
        if (i < s->count)
            continue;
        s->key[s->count++] = key;
        cg_val own = cg_new(c, CG_B32), own_batch = cg_new(c, CG_B32);
        cg_ins(c, "xor.b32 %v, %r, %u", own, number, l.number);
        if (s->batch_pitch)
            cg_ins(c, "xor.b32 %v, %r, %u", own_batch, batch, l.batch);
        s->at[i] = line_address(c, s->base, own, s->pitch, own_batch, s->batch_pitch);
        if (m->p->scaled)
            s->scale_at[i] = line_address(c, s->scale_base, own, s->scale_pitch, own_batch, s->scale_batch_pitch);
    }
}

/* ---- one k ---- */

static bool is_signed_side(const plain *m, const side *s)
{
    return ct_attr_u(m->op, s->left ? F_mmai_signedness_lhs : F_mmai_signedness_rhs) == BC_Signedness_signed;
}

/* Loads the element at the address, or as many elements as one step takes. */
static cg_val load_element(cg_func *c, const plain *m, const side *s, cg_val address)
{
    bc_kind in = m->at_once > 1 ? BC_I32 : m->p->in;
    cg_access a = {.kind = in, .space = "shared", .order = "", .address = address, .predicate = cg_const(CG_PRED, 1)};
    cg_val x;
    cg_load_vector(c, &a, 1, NULL, &x);
    if (in == BC_I8)
        return cg_to_b32(c, BC_I8, is_signed_side(m, s), x);
    if (in == BC_TF32) {
        cg_val cut = cg_new(c, CG_B32);
        cg_ins(c, "and.b32 %v, %v, 0xffffe000", cut, x);
        return cut;
    }
    return in == BC_F64 || in == BC_I32 ? x : cg_any_to_f32(c, in, x);
}

/* Loads an element of each line, advances its address, and loads its scale. */
static void load_lines(cg_func *c, const plain *m, side *s, cg_val k)
{
    for (uint32_t i = 0; i < s->count; i++) {
        s->x[i] = load_element(c, m, s, s->at[i]);
        cg_ins(c, "add.u32 %v, %v, %u", s->at[i], s->at[i], s->step);
    }
    if (!m->p->scaled)
        return;
    cg_val block = cg_new(c, CG_B32), along = cg_new(c, CG_B32);
    cg_ins(c, "shr.u32 %v, %v, %u", block, k, m->block);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", along, block, s->scale_step);
    for (uint32_t i = 0; i < s->count; i++) {
        cg_access a = {.kind = m->scale_kind,
                       .space = "shared",
                       .order = "",
                       .address = cg_new(c, CG_B32),
                       .predicate = cg_const(CG_PRED, 1)};
        cg_val x;
        cg_ins(c, "add.u32 %v, %v, %v", a.address, s->scale_at[i], along);
        cg_load_vector(c, &a, 1, NULL, &x);
        s->scale[i] = cg_any_to_f32(c, m->scale_kind, x);
    }
}

/* sum += a * b */
static void multiply_add(cg_func *c, const plain *m, cg_val sum, cg_val a, cg_val b)
{
    if (m->at_once > 1) {
        cg_ins(c, "dp4a.%s32.%s32 %v, %v, %v, %v", is_signed_side(m, &m->sides[0]) ? "s" : "u",
               is_signed_side(m, &m->sides[1]) ? "s" : "u", sum, a, b, sum);
        return;
    }
    if (m->p->acc == BC_I32) {
        cg_ins(c, "mad.lo.s32 %v, %v, %v, %v", sum, a, b, sum);
        return;
    }
    cg_ins(c, "fma.rn.%s %v, %v, %v, %v", m->p->acc == BC_F64 ? "f64" : "f32", sum, a, b, sum);
}

static void add_products(cg_func *c, const plain *m)
{
    const side *a = &m->sides[0], *b = &m->sides[1];
    for (uint32_t r = 0; r < cg_layout_regs(m->layout) && !c->failed; r++) {
        cg_val left = a->x[a->of[r]], right = b->x[b->of[r]];
        if (m->p->scaled) { /* the product of two small floats is exact, and usually remains exact with both scales */
            cg_val both = cg_new(c, CG_B32), scale = cg_new(c, CG_B32);
            cg_ins(c, "mul.rn.f32 %v, %v, %v", both, left, right);
            cg_ins(c, "mul.rn.f32 %v, %v, %v", scale, a->scale[a->of[r]], b->scale[b->of[r]]);
            left = both;
            right = scale;
        }
        multiply_add(c, m, m->sum[r], left, right);
    }
}

/* ---- all ---- */

/* Sets the initial sums: those of f64 start from the accumulator (docs/reference/numerics.md). */
static void begin_sums(cg_func *c, const plain *m, const cg_val *acc)
{
    for (uint32_t r = 0; r < cg_layout_regs(m->layout); r++) {
        m->sum[r] = cg_new(c, m->cls);
        if (m->p->acc == BC_F64)
            cg_ins(c, "mov.b64 %v, %r", m->sum[r], acc[r]);
        else
            cg_ins(c, "mov.b32 %v, 0", m->sum[r]);
    }
}

static void end_sums(cg_func *c, const plain *m, cg_val *acc)
{
    bc_kind kind = m->p->acc;
    const char *add = kind == BC_I32 ? "add.s32" : "add.rn.f32";
    for (uint32_t r = 0; r < cg_layout_regs(m->layout); r++) {
        if (kind == BC_F64) {
            acc[r] = m->sum[r];
            continue;
        }
        cg_val start = cg_reg(c, kind == BC_F16 ? cg_to_f32(c, BC_F16, acc[r]) : acc[r]), result = cg_new(c, m->cls);
        cg_ins(c, "%s %v, %v, %v", add, result, m->sum[r], start);
        acc[r] = kind == BC_F16 ? cg_from_f32(c, BC_F16, "rn", result) : result;
    }
}

/* Emits a loop over k, up to `last`, through the slice of the operands in scratch. */
static void add_part(cg_func *c, plain *m, cg_val k, uint32_t last)
{
    uint32_t head = cg_label(c);
    cg_val again = cg_new(c, CG_PRED);
    for (int i = 0; i < 2; i++)
        find_lines(c, m, &m->sides[i]);
    cg_place_label(c, head);
    for (int i = 0; i < 2 && !c->failed; i++)
        load_lines(c, m, &m->sides[i], k);
    add_products(c, m);
    cg_ins(c, "add.u32 %v, %v, %u", k, k, m->at_once);
    cg_ins(c, "setp.lt.u32 %v, %v, %u", again, k, last);
    cg_ins(c, "@%v bra %l", again, head);
}

void cg_multiply_plain(cg_func *c, const ct_op *op, const cg_product *p, const cg_layout *read, cg_val *acc)
{
    plain m = {.op = op, .p = p, .layout = cg_value_of(c, p->result)->home, .cls = p->acc == BC_F64 ? CG_B64 : CG_B32};
    uint32_t count = cg_layout_regs(m.layout);
    cg_val k = cg_new(c, CG_B32);
    describe_sides(c, &m);
    m.sum = cg_vals(c, count);
    if (c->failed)
        return;
    begin_sums(c, &m, acc);
    cg_ins(c, "mov.u32 %v, 0", k);
    for (uint32_t part = 0; part < (uint32_t)1 << m.parts && !c->failed; part++) {
        put_operands(c, &m, read, part);
        add_part(c, &m, k, (part + 1) << (p->k - m.parts));
    }
    if (!c->failed)
        end_sums(c, &m, acc);
}
