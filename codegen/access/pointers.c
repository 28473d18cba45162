/* Tiles of pointers; see the header. Elements go to one access where facts say that their pointers follow each
   other, the first is aligned for all, and the mask takes all or none: it reaches what one access for each would. */
#include "codegen/access/pointers.h"

#include <stdio.h>

#include "bytecode/print/print.h"
#include "codegen/analysis/spread.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* Rows of the same name in the four ops. */
#define PTR_OP(name, where, what, single_)                                                                             \
    (cg_ptr_op)                                                                                                        \
    {                                                                                                                  \
        .pointers = ct_operand(op, F_##name##_##where), .value = what, .mask = ct_operand(op, F_##name##_mask),        \
        .single = single_, .order = ct_attr_u(op, F_##name##_memory_ordering_semantics),                               \
        .scope = ct_attr_u(op, F_##name##_memory_scope),                                                               \
        .most_bits = (single_)                                                                                         \
                             || ct_attr_u(op, F_##name##_memory_ordering_semantics) != BC_MemoryOrderingSemantics_weak \
                         ? 0                                                                                           \
                         : CG_MAX_VECTOR_BITS                                                                          \
    }

cg_ptr_op cg_ptr_op_of(const ct_op *op)
{
    cg_ptr_op load;
    switch (op->opcode < OP_LIMIT ? (int)op->opcode : (int)op->from->opcode) { /* copies are like their loads */
    case OP_load_ptr_tko:
        load = PTR_OP(load_ptr_tko, source, NULL, false);
        load.load = op->opcode == OP_load_ptr_tko || op->opcode == CT_staged ? op : NULL;
        return load;
    case OP_store_ptr_tko: return PTR_OP(store_ptr_tko, destination, ct_operand(op, F_store_ptr_tko_value), false);
    case OP_atomic_rmw_tko: return PTR_OP(atomic_rmw_tko, pointers, ct_operand(op, F_atomic_rmw_tko_arg), true);
    default: /* atomic_cas_tko */ return PTR_OP(atomic_cas_tko, pointers, ct_operand(op, F_atomic_cas_tko_val), true);
    }
}

/* ---- vectors ---- */

/* log2 of the elements that one access along dimension d may have; out_limit, when given: what keeps them from more,
   NULL for nothing. */
static uint32_t vector_bits(cg_func *c, const cg_ptr_op *p, uint32_t d, const char **out_limit)
{
    const cg_fact *pointers = p->pointers->fact, *mask = p->mask ? p->mask->fact : NULL;
    int unit = cg_pointee_shift(p->pointers->type), bits = cg_widest_access(c) - unit;
    const char *limit = NULL;
    if (!pointers->axes || !p->most_bits || (mask && !mask->axes)) {
        limit = !pointers->axes       ? "pointers that are not known to be consecutive"
                : mask && !mask->axes ? "a mask about which nothing is known"
                                      : "access by single elements";
        bits = 0;
    } else {
        cg_axis axis = pointers->axes[d];
        const struct {
            int bits;
            const char *limit;
        } limits[] = {{axis.run, "pointers that are not known to be consecutive"},
                      {axis.start - unit, "the alignment of the pointers"},
                      {mask ? mask->axes[d].same : bits, "a mask that may differ between neighbouring elements"},
                      {(int)p->most_bits, "the width of an instruction"}};
        for (size_t i = 0; i < TV_COUNT(limits); i++)
            if (limits[i].bits < bits) {
                bits = limits[i].bits;
                limit = limits[i].limit;
            }
    }
    if (out_limit)
        *out_limit = limit;
    return bits < 0 ? 0 : (uint32_t)bits;
}

/* The dimension along which accesses are longest; then the one along which pointers are likely to run longest, then
   the last. */
static uint32_t fast_dim(cg_func *c, const cg_ptr_op *p, uint32_t *out_bits)
{
    const cg_axis *axes = p->pointers->fact->axes;
    uint32_t rank = p->pointers->type->rank, best = rank ? rank - 1 : 0;
    *out_bits = rank ? vector_bits(c, p, best, NULL) : 0;
    for (uint32_t d = rank; axes && d-- > 0;) {
        uint32_t bits = vector_bits(c, p, d, NULL);
        if (bits > *out_bits || (bits == *out_bits && axes[d].likely > axes[best].likely)) {
            best = d;
            *out_bits = bits;
        }
    }
    return best;
}

uint32_t cg_pointer_vector(cg_func *c, const cg_ptr_op *p, uint32_t *out_dim)
{
    uint32_t bits;
    *out_dim = fast_dim(c, p, &bits);
    return bits;
}

/* The layout in which a product's result is accessed. If the product's own layout has shorter accesses than memory
   allows, warps exchange elements first and access whole rows, except for stores of which four lanes, which hold
   neighbouring elements, fill a sector. So do stores and atomics of single elements if their pointers are likely to be
   consecutive: each instruction of a warp then reaches one or two cache lines, instead of one in each of eight rows
   (f16, 128x128 with rows of odd length: 409 and 163 microseconds on an H200), and L2 updates each sector once, instead
   of once for every second element of it. */
static cg_layout layout_of_product(const cg_ptr_op *p, const cg_layout *wish, uint32_t fast, uint32_t bits)
{
    enum { LANES = 4 };
    cg_shape s = cg_shape_of(p->pointers->type);
    cg_layout rows;
    uint8_t reg_bit[8];
    const cg_axis *axes = p->pointers->fact->axes;
    uint32_t bytes = cg_memory_bytes((bc_kind)p->pointers->type->elem->elem->kind),
             vector = cg_layout_vector(wish, s.shift[fast], bits, reg_bit);
    bool fills = (bytes << vector) * LANES >= CG_SECTOR_BYTES,
         scattered = p->value && axes && axes[fast].likely == s.bits[fast] && !fills;
    if (cg_pointee_shift(p->pointers->type) >= 0 && (vector < bits || scattered) && (p->single || !fills)
        && cg_layout_rows_of_warps(wish, &s, fast, bits, bytes, &rows))
        return rows;
    return cg_layout_drop_replicas(wish, NULL);
}

/* In which they are reached best, whatever is stored there. */
static cg_layout layout_of_memory(cg_func *c, const cg_ptr_op *p)
{
    uint32_t bits, fast = fast_dim(c, p, &bits);
    const cg_reach r = {.shape = cg_shape_of(p->pointers->type),
                        .fast = fast,
                        .bytes = cg_memory_bytes((bc_kind)p->pointers->type->elem->elem->kind),
                        .vector_bits = bits,
                        .least_bits = cg_pointee_shift(p->pointers->type) < 0,
                        .load = p->load};
    return cg_spread(c, &r);
}

/* A sector that a thread reads by two accesses, one after the other, comes from memory once. */
bool cg_pointers_go_as_well(cg_func *c, const cg_ptr_op *p, const cg_layout *l)
{
    cg_shape s = cg_shape_of(p->pointers->type);
    cg_layout own = layout_of_memory(c, p);
    const cg_axis *axes = p->pointers->fact->axes;
    uint32_t most, fast = fast_dim(c, p, &most), from = s.shift[fast],
                   bytes = cg_memory_bytes((bc_kind)p->pointers->type->elem->elem->kind);
    uint8_t reg_bit[CG_MAX_REG_BITS];
    if (!s.rank || cg_pointee_shift(p->pointers->type) < 0 || !axes || !axes[fast].run
        || (cg_layout_has_replicas(l) && !cg_layout_has_replicas(&own)))
        return false;
    uint32_t vector = cg_layout_vector(l, from, most, reg_bit), regs = cg_layout_vector(l, from, s.bits[fast], reg_bit);
    bool in_two = !p->value && !cg_layout_has_replicas(l) && bytes << vector == CG_ACCESS_BYTES
                  && bytes << regs == CG_SECTOR_BYTES;
    return vector >= cg_layout_vector(&own, from, most, reg_bit)
           && (in_two || bytes << cg_layout_beside(l, from, s.bits[fast], vector) >= CG_SECTOR_BYTES);
}

/* Would each lane of a warp that stores in this layout reach another sector, although elements that are likely to be
   consecutive lie in one? Sectors that are filled piece by piece take longer than a conversion through shared
   memory. */
static bool scatters(const cg_ptr_op *p, const cg_layout *l, uint32_t fast)
{
    cg_shape s = cg_shape_of(p->pointers->type);
    const cg_axis *axes = p->pointers->fact->axes;
    uint32_t bytes = cg_memory_bytes((bc_kind)p->pointers->type->elem->elem->kind);
    if (!p->value || p->single || !axes || bytes << axes[fast].likely < CG_SECTOR_BYTES)
        return false;
    uint32_t inside = (CG_SECTOR_BYTES / bytes - 1) << s.shift[fast], apart = 0;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        apart += l->lane[i] && !(l->lane[i] & inside);
    return apart == CG_LANE_BITS && l->reg_bits;
}

/* Would an access of a warp that stores single elements in this layout fill only parts of its sectors, although their
   neighbours are likely to lie in them? If so, and if warps can exchange elements to store along rows: that layout. */
static bool rows_instead(const cg_ptr_op *p, const cg_layout *l, uint32_t fast, cg_layout *out)
{
    cg_shape s = cg_shape_of(p->pointers->type);
    const cg_axis *axes = p->pointers->fact->axes;
    uint32_t bytes = cg_memory_bytes((bc_kind)p->pointers->type->elem->elem->kind);
    return p->value && !p->single && axes && axes[fast].likely == s.bits[fast] && !axes[fast].run
           && bytes << cg_layout_beside(l, s.shift[fast], s.bits[fast], 0) < CG_SECTOR_BYTES
           && cg_layout_rows_of_warps(l, &s, fast, 0, bytes, out);
}

cg_layout cg_pointer_layout(cg_func *c, const cg_ptr_op *p)
{
    cg_shape s = cg_shape_of(p->pointers->type);
    cg_layout wish, rows;
    uint32_t bits, weight, fast = fast_dim(c, p, &bits);
    const cg_axis *axes = p->pointers->fact->axes;
    bool ordered = p->single || p->order != BC_MemoryOrderingSemantics_weak;
    if (c->strip_bits && ordered) /* no replicas among threads, which could not be shared strip by strip */
        return cg_layout_memory(&s, fast, 0, cg_pointee_shift(p->pointers->type) < 0, c->warp_bits);
    if (p->value && cg_wish(c, p->value, &wish, &weight)) {
        if (weight >= CG_WEIGHT_MMA)
            return layout_of_product(p, &wish, fast, bits);
        if (!p->single && !c->strip_bits && cg_pointers_go_as_well(c, p, &wish)) /* nothing is converted */
            return wish;
        if (!c->strip_bits && weight > CG_WEIGHT_FREE && rows_instead(p, &wish, fast, &rows))
            return rows;
    }
    if (s.rank && (!axes || !axes[fast].run)
        && (cg_wish(c, p->pointers, &wish, &weight) || (p->value && cg_wish(c, p->value, &wish, &weight)))
        && (weight > CG_WEIGHT_FREE || !axes || !axes[fast].likely) && !scatters(p, &wish, fast))
        return cg_layout_drop_replicas(&wish, NULL);
    return layout_of_memory(c, p);
}

uint32_t cg_pointer_accesses(cg_func *c, const cg_ptr_op *p, const cg_layout *l, bool *out_fills)
{
    cg_shape s = cg_shape_of(p->pointers->type);
    uint32_t bits, bytes = cg_memory_bytes((bc_kind)p->pointers->type->elem->elem->kind), fast = fast_dim(c, p, &bits);
    uint8_t reg_bit[8];
    if (!s.rank || !p->pointers->fact->axes)
        return UINT32_MAX;
    uint32_t vector = cg_layout_vector(l, s.shift[fast], bits, reg_bit);
    uint32_t beside = cg_layout_beside(l, s.shift[fast], s.bits[fast], vector);
    if (beside > p->pointers->fact->axes[fast].likely)
        beside = p->pointers->fact->axes[fast].likely;
    *out_fills = bytes << beside >= CG_SECTOR_BYTES || beside == s.bits[fast];
    return cg_layout_regs(l) >> vector;
}

void cg_want_pointers(cg_func *c, const cg_ptr_op *p, const cg_layout *l)
{
    cg_want(c, p->pointers, l);
    if (p->value)
        cg_want(c, p->value, l);
    if (p->mask)
        cg_want(c, p->mask, l);
}

void cg_pointer_remark(cg_func *c, const ct_op *op, const cg_ptr_op *p, const cg_layout *l)
{
    if (!cg_remarks_wanted(c))
        return;
    cg_shape s = cg_shape_of(p->pointers->type);
    const char *limit = "a single element";
    uint32_t bits, fast = fast_dim(c, p, &bits), most = bits,
                   bytes = cg_memory_bytes((bc_kind)p->pointers->type->elem->elem->kind);
    uint32_t half = cg_pointee_shift(p->pointers->type) < 0;
    uint8_t reg_bit[8];
    if (s.rank) {
        bits = vector_bits(c, p, fast, &limit);
        bits = cg_layout_vector(l, s.shift[fast], bits, reg_bit);
    }
    if (bits < most)
        limit = "the elements that a thread holds";
    bc_text type;
    bc_text_init(&type, &c->m->arena.allocator);
    bc_print_type(&type, p->pointers->type, false);
    cg_layout own = cg_layout_drop_replicas(l, NULL);
    char words[96] = "";
    if (limit)
        snprintf(words, sizeof words, "; limited by {Limit=%s}", limit);
    cg_remark(c, op, CG_REMARK_VectorAccess, bytes << bits >> half >= 16 ? TV_REMARK_PASSED : TV_REMARK_MISSED,
              "{Type=%s}: {Count=%u} x {Bytes=%u} bytes a thread, {Mask=%s}%s", bc_text_words(&type),
              cg_layout_regs(&own) >> bits, bytes << bits >> half, p->mask ? "masked" : "not masked", words);
    bc_text_release(&type);
}

/* ---- addresses ---- */

/* Registers whose pointers are those of others plus a constant: a bit of their numbers each, and its bytes. */
typedef struct neighbours {
    uint32_t bits;
    int64_t bytes[CG_MAX_REG_BITS];
} neighbours;

/* In an aligned block of 2^run elements pointers grow by what they point to, so that a bit of the index below that adds
   a constant wherever it is a register's alone: then no XOR clears it. An instruction takes offsets of 24 bits, which
   is what the largest sum of them stays below. */
static neighbours neighbours_of(const cg_ptr_op *p, const cg_layout *l)
{
    enum { MOST_BITS = 22 };
    neighbours n = {.bits = 0};
    const cg_axis *axes = p->pointers->fact->axes;
    cg_shape s = cg_shape_of(p->pointers->type);
    int unit = cg_pointee_shift(p->pointers->type);
    for (uint32_t d = 0; d < s.rank && axes && unit >= 0; d++)
        for (uint32_t i = 0; i < l->reg_bits; i++) {
            uint32_t image = l->reg[i], others = cg_layout_thread_images(l);
            for (uint32_t k = 0; k < l->reg_bits; k++)
                others |= k == i ? 0 : l->reg[k];
            uint32_t within = (image & cg_dim_mask(&s, d)) == image ? image >> s.shift[d] : 0;
            if (within && !(image & (image - 1)) && !(image & others) && !(within >> axes[d].run)
                && cg_log2_up(within) + (uint32_t)unit < MOST_BITS) {
                n.bits |= (uint32_t)1 << i;
                n.bytes[i] = (int64_t)within << unit;
            }
        }
    return n;
}

static int64_t bytes_to(const neighbours *n, uint32_t r)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < CG_MAX_REG_BITS; i++)
        sum += r & n->bits & (uint32_t)1 << i ? n->bytes[i] : 0;
    return sum;
}

/* log2 of the elements of an access; reg_bit: the bits of a register's number that count them. */
static uint32_t find_members(cg_func *c, const cg_ptr_op *p, const cg_layout *l, uint8_t *reg_bit,
                             uint32_t *out_members)
{
    cg_shape s = cg_shape_of(p->pointers->type);
    uint32_t bits, fast = fast_dim(c, p, &bits);
    if (bits)
        bits = cg_layout_vector(l, s.shift[fast], bits, reg_bit);
    *out_members = 0;
    for (uint32_t k = 0; k < bits; k++)
        *out_members |= (uint32_t)1 << reg_bit[k];
    return bits;
}

uint32_t cg_equal_registers(const ct_value *v, const cg_layout *l)
{
    cg_shape s = cg_shape_of(v->type);
    uint32_t equal = 0, at = 0;
    for (uint32_t d = 0; v->fact->axes && d < s.rank; d++)
        at |= (((uint32_t)1 << (v->fact->axes[d].same < s.bits[d] ? v->fact->axes[d].same : s.bits[d])) - 1)
              << s.shift[d];
    for (uint32_t i = 0; i < l->reg_bits; i++)
        equal |= l->reg[i] & ~at ? 0 : (uint32_t)1 << i;
    return equal;
}

uint32_t cg_pointer_members(cg_func *c, const cg_ptr_op *p, const cg_layout *l, uint32_t *out_pointers)
{
    uint8_t reg_bit[CG_MAX_REG_BITS];
    uint32_t members;
    find_members(c, p, l, reg_bit, &members);
    *out_pointers = members | neighbours_of(p, l).bits;
    return members;
}

void cg_pointer_parts(cg_func *c, const cg_ptr_op *p, const cg_layout *l, bool owned, void *user, cg_pointer_fn *found)
{
    uint8_t reg_bit[CG_MAX_REG_BITS];
    uint32_t members, bits = find_members(c, p, l, reg_bit, &members);
    if (!bits && cg_pointee_shift(p->pointers->type) < 0)
        cg_unsupported(c, cg_lowered(c),
                       "4-bit elements are accessed in pairs: along some dimension, two neighbours need consecutive "
                       "pointers, the first of them to a whole byte");
    const cg_val *addresses = cg_get(c, p->pointers, l), *mask = p->mask ? cg_get(c, p->mask, l) : NULL;
    cg_val owner = owned ? cg_is_owner(c, l) : cg_const(CG_PRED, 1);
    neighbours near = neighbours_of(p, l);
    for (uint32_t r = 0; addresses && r < cg_layout_regs(l) && !c->failed; r++) {
        if (r & members)
            continue;
        cg_pointer_part part = {.count = (uint32_t)1 << bits};
        for (uint32_t i = 0; i < part.count; i++)
            part.reg[i] = r | cg_layout_member(reg_bit, bits, i);
        part.access = (cg_access){.kind = (bc_kind)p->pointers->type->elem->elem->kind,
                                  .space = "global",
                                  .packed = true,
                                  .order = cg_order_suffix(p->order, p->scope),
                                  .address = cg_reg(c, addresses[r & ~near.bits]),
                                  .offset = bytes_to(&near, r)};
        part.access.predicate = mask ? cg_and(c, mask[r], owner) : owner;
        found(c, user, &part);
    }
}
