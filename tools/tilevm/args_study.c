/* What the accesses of a kernel tell about the extents of its arrays: every value is followed as a range of integers,
   or as an offset from a pointer parameter, for one grid. One pass over the ops in order; what loops carry is unknown.
   The result is advice for made-up arguments, never a proof. The module has been verified. */
#include <string.h>

#include "bytecode/module.h"
#include "tools/tilevm/args.h"

/* An integer (or all elements of a tile of them) in [low, high]; or an address: bytes in [low, high] from a parameter.
 */
typedef struct range {
    bool known;
    int64_t low, high;
    uint32_t root; /* slot of the pointer parameter, plus 1; 0: an integer */
    uint32_t from; /* an integer: slot, plus 1, of the array that it was read from or made of; 0: none */
} range;

typedef struct student {
    const bc_function *f;
    const uint32_t *grid;
    range *ranges; /* by value id */
    arg_study *study;
} student;

static const int64_t far = (int64_t)1 << 40; /* beyond this a range says nothing */

static range unknown(void)
{
    return (range){0};
}

static range between(int64_t low, int64_t high)
{
    bool sane = low >= -far && high <= far && low <= high;
    return sane ? (range){.known = true, .low = low, .high = high} : unknown();
}

static range *of(student *s, const bc_value *v)
{
    return &s->ranges[v->id];
}

/* ---- integers ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Elements of a constant of integers; little-endian, as wide as the type. */
static range constant(const bc_type *type, const bc_blob *blob)
{
    bc_kind kind = bc_elem_kind(type);
    if (kind == BC_KIND_COUNT || !bc_kind_in(kind, BC_SET_INT) || !blob)
        return unknown();
    unsigned bytes = bc_kind_constant_bytes(kind), bits = bc_kind_bits(kind);
    range r = unknown();
    for (size_t at = 0; at + bytes <= blob->len; at += bytes) {
        uint64_t value = 0;
        for (unsigned b = 0; b < bytes; b++)
            value |= (uint64_t)blob->ptr[at + b] << 8 * b;
        int64_t n = bits == 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
        r = r.known ? between(smaller(r.low, n), larger(r.high, n)) : between(n, n);
        if (!r.known)
            break;
    }
    return r;
}

static range product(range a, range b)
{
    /* Both lie within 2^40, so 128 bits are not needed when one is small. */
    const int64_t limit = (int64_t)1 << 22;
    if (larger(-a.low, a.high) > limit && larger(-b.low, b.high) > limit)
        return unknown();
    int64_t p[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return between(smaller(smaller(p[0], p[1]), smaller(p[2], p[3])), larger(larger(p[0], p[1]), larger(p[2], p[3])));
}

static range arithmetic(bc_opcode opcode, range a, range b)
{
    if (!a.known || !b.known || a.root || b.root)
        return unknown();
    switch ((int)opcode) {
    case OP_addi: return between(a.low + b.low, a.high + b.high);
    case OP_subi: return between(a.low - b.high, a.high - b.low);
    case OP_muli: return product(a, b);
    case OP_divi: /* one more for those that round up */
        return a.low >= 0 && b.low > 0 ? between(a.low / b.high, a.high / b.low + (a.high % b.low != 0)) : unknown();
    case OP_remi: return a.low >= 0 && b.low > 0 ? between(0, smaller(a.high, b.high - 1)) : unknown();
    case OP_mini: return between(smaller(a.low, b.low), smaller(a.high, b.high));
    case OP_maxi: return between(larger(a.low, b.low), larger(a.high, b.high));
    default: return unknown();
    }
}

/* ---- addresses ---- */

/* A value says where memory is: does it come from an array? */
static void note_place(student *s, const bc_value *v)
{
    uint32_t from = of(s, v)->from;
    if (from)
        s->study->demands[from - 1].places = true;
}

/* What a load gives. */
static void note_loaded(student *s, const bc_op *op, const bc_value *memory)
{
    of(s, bc_results(op))->from = of(s, memory)->root;
}

/* Integers are made of the same array as an operand. */
static void pass_on(student *s, const bc_op *op)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        from = from ? from : of(s, bc_operands(op)[i])->from;
    for (uint32_t i = 0; from && i < op->result_count; i++)
        if (!of(s, &bc_results(op)[i])->root)
            of(s, &bc_results(op)[i])->from = from;
}

static range offset(student *s, const bc_op *op)
{
    range p = *of(s, bc_operand(op, F_offset_ptr)), by = *of(s, bc_operand(op, F_offset_offset));
    unsigned bytes = bc_kind_memory_bytes((bc_kind)bc_results(op)->type->elem->elem->kind);
    note_place(s, bc_operand(op, F_offset_offset));
    if (!p.root)
        return unknown();
    if (!p.known || !by.known || by.root)
        return (range){.root = p.root};
    range sum = between(p.low + by.low * (int64_t)bytes, p.high + by.high * (int64_t)bytes);
    sum.root = p.root;
    return sum;
}

static void touch(student *s, const bc_value *pointer, bool shared)
{
    const range *p = of(s, pointer);
    if (!p->root)
        return;
    arg_demand *d = &s->study->demands[p->root - 1];
    d->shared = d->shared || shared;
    unsigned bytes = bc_kind_memory_bytes((bc_kind)pointer->type->elem->elem->kind);
    if (p->known && p->low >= 0)
        d->bytes = larger(d->bytes, p->high + (bytes ? bytes : 1));
    else
        d->bytes_open = true;
}

/* ---- views ---- */

static uint32_t slot_of(student *s, const bc_value *v)
{
    /* Promises and width changes stand between a parameter and its use. */
    while (v->op && (v->op->opcode == OP_assume || v->op->opcode == OP_exti || v->op->opcode == OP_trunci))
        v = bc_operands(v->op)[0];
    bool is_param = !v->op && v->number < s->study->count && &s->f->body->args[v->number] == v;
    return is_param ? v->number : ARG_NO_SLOT;
}

static void see_view(student *s, const bc_op *op)
{
    const bc_type *type = bc_results(op)->type;
    const range *base = of(s, bc_operand(op, F_make_tensor_view_base));
    bc_range sizes = bc_operand_range(op, F_make_tensor_view_dynamic_shape);
    bc_range strides = bc_operand_range(op, F_make_tensor_view_dynamic_strides);
    for (uint32_t i = 0; i < sizes.count; i++)
        note_place(s, bc_operands(op)[sizes.first + i]);
    for (uint32_t i = 0; i < strides.count; i++)
        note_place(s, bc_operands(op)[strides.first + i]);
    *of(s, bc_results(op)) = *base;
    if (!base->root || type->rank > TV_MAX_RANK)
        return;
    arg_demand *d = &s->study->demands[base->root - 1];
    if (!base->known || base->low != 0 || base->high != 0) {
        d->sliced = d->bytes_open = true; /* a view of some part of the array */
        of(s, bc_results(op))->root = 0;
        return;
    }
    if (d->ndim != 0 && d->ndim != type->rank)
        return;
    d->ndim = type->rank;
    uint32_t size = 0, stride = 0;
    for (uint32_t i = 0; i < type->rank; i++) {
        d->size[i] = type->shape[i];
        d->stride[i] = type->strides[i];
        d->size_slot[i] = d->stride_slot[i] = ARG_NO_SLOT;
        if (type->shape[i] == BC_DYNAMIC)
            d->size_slot[i] = slot_of(s, bc_operands(op)[sizes.first + size++]);
        if (type->strides[i] == BC_DYNAMIC)
            d->stride_slot[i] = slot_of(s, bc_operands(op)[strides.first + stride++]);
    }
}

/* One past the largest coordinate that an access at these indices touches along tile dimension t; 0: not known. */
static int64_t reach(const bc_type *view, uint32_t t, range index)
{
    if (!index.known || index.root || index.low < 0)
        return 0;
    int64_t tile = view->shape[t];
    switch ((int)view->kind) {
    case BC_PARTITION_VIEW: return (index.high + 1) * tile;
    case BC_STRIDED_VIEW: return index.high * view->strides[t] + tile;
    default: return index.high + (t == view->sparse_dim ? 1 : tile);
    }
}

static void touch_view(student *s, const bc_op *op, const bc_value *view, bc_range indices)
{
    const bc_type *type = view->type;
    const range *base = of(s, view);
    for (uint32_t i = 0; i < indices.count; i++)
        note_place(s, bc_operands(op)[indices.first + i]);
    if (!base->root)
        return;
    arg_demand *d = &s->study->demands[base->root - 1];
    for (uint32_t t = 0; t < type->rank && t < indices.count; t++) {
        int64_t dim = type->kind == BC_GATHER_SCATTER_VIEW ? (int64_t)t : type->dim_map[t];
        if (dim < 0 || dim >= (int64_t)d->ndim)
            return;
        int64_t end = reach(type, t, *of(s, bc_operands(op)[indices.first + t]));
        if (end > 0 && end < far)
            d->reach[dim] = larger(d->reach[dim], end);
        else
            d->open[dim] = true;
    }
}

/* ---- ops ---- */

static range united(range a, range b)
{
    if (a.root != b.root)
        return unknown();
    if (!a.known || !b.known)
        return (range){.root = a.root};
    range r = between(smaller(a.low, b.low), larger(a.high, b.high));
    r.root = a.root;
    return r;
}

/* The counter of a loop; what it carries is only known to start somewhere. */
static void see_for(student *s, const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    range low = *of(s, bc_operand(op, F_for_lower_bound)), high = *of(s, bc_operand(op, F_for_upper_bound));
    bc_range init = bc_operand_range(op, F_for_init_values);
    if (!body || body->arg_count == 0)
        return;
    bool known = low.known && high.known && !low.root && !high.root;
    *of(s, &body->args[0]) = known ? between(low.low, larger(low.low, high.high - 1)) : unknown();
    for (uint32_t i = 1; i < body->arg_count && i - 1 < init.count; i++)
        of(s, &body->args[i])->root = of(s, bc_operands(op)[init.first + i - 1])->root;
}

static void see_loop(student *s, const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    for (uint32_t i = 0; body && i < body->arg_count && i < op->operand_count; i++)
        of(s, &body->args[i])->root = of(s, bc_operands(op)[i])->root;
}

static void see_compare(student *s, const bc_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const bc_value *v = bc_operands(op)[i];
        while (v->op && (v->op->opcode == OP_reshape || v->op->opcode == OP_broadcast))
            v = bc_operands(v->op)[0];
        uint32_t slot = slot_of(s, v);
        if (slot != ARG_NO_SLOT)
            s->study->compared[slot] = true;
    }
}

/* Accesses through views and pointers; false for other ops. */
static bool see_access(student *s, const bc_op *op)
{
    const uint64_t weak = BC_MemoryOrderingSemantics_weak;
    switch ((int)op->opcode) {
    case OP_load_view_tko:
        touch_view(s, op, bc_operand(op, F_load_view_tko_view), bc_operand_range(op, F_load_view_tko_index));
        note_loaded(s, op, bc_operand(op, F_load_view_tko_view));
        return true;
    case OP_store_view_tko:
        touch_view(s, op, bc_operand(op, F_store_view_tko_view), bc_operand_range(op, F_store_view_tko_index));
        return true;
    case OP_atomic_red_view_tko:
        touch_view(s, op, bc_operand(op, F_atomic_red_view_tko_view),
                   bc_operand_range(op, F_atomic_red_view_tko_index));
        return true;
    case OP_load_ptr_tko:
        touch(s, bc_operand(op, F_load_ptr_tko_source),
              bc_attr_u(op, F_load_ptr_tko_memory_ordering_semantics) != weak);
        note_loaded(s, op, bc_operand(op, F_load_ptr_tko_source));
        return true;
    case OP_store_ptr_tko:
        touch(s, bc_operand(op, F_store_ptr_tko_destination),
              bc_attr_u(op, F_store_ptr_tko_memory_ordering_semantics) != weak);
        return true;
    case OP_atomic_rmw_tko: touch(s, bc_operand(op, F_atomic_rmw_tko_pointers), true); return true;
    case OP_atomic_cas_tko: touch(s, bc_operand(op, F_atomic_cas_tko_pointers), true); return true;
    default: return false;
    }
}

static void see(student *s, const bc_op *op)
{
    bc_value *results = bc_results(op), **operands = bc_operands(op);
    if (see_access(s, op))
        return;
    switch ((int)op->opcode) {
    case OP_get_tile_block_id:
    case OP_get_num_tile_blocks:
        for (unsigned i = 0; i < 3 && i < op->result_count; i++) {
            int64_t n = s->grid[i];
            *of(s, &results[i]) = op->opcode == OP_get_tile_block_id ? between(0, n - 1) : between(n, n);
        }
        break;
    case OP_constant: *of(s, results) = constant(results->type, bc_attr_of(op, F_constant_value)->blob); break;
    case OP_iota: *of(s, results) = between(0, bc_shape_elems(results->type->shape, results->type->rank) - 1); break;
    case OP_assume:
    case OP_exti:
    case OP_trunci:
    case OP_reshape:
    case OP_broadcast:
    case OP_permute:
    case OP_ptr_to_ptr:
    case OP_make_partition_view:
    case OP_make_strided_view:
    case OP_make_gather_scatter_view: *of(s, results) = *of(s, operands[0]); break;
    case OP_addi:
    case OP_subi:
    case OP_muli:
    case OP_divi:
    case OP_remi:
    case OP_mini:
    case OP_maxi: *of(s, results) = arithmetic((bc_opcode)op->opcode, *of(s, operands[0]), *of(s, operands[1])); break;
    case OP_select: *of(s, results) = united(*of(s, operands[1]), *of(s, operands[2])); break;
    case OP_offset: *of(s, results) = offset(s, op); break;
    case OP_make_tensor_view: see_view(s, op); break;
    case OP_for: see_for(s, op); break;
    case OP_loop: see_loop(s, op); break;
    case OP_cmpi: see_compare(s, op); break;
    default: break;
    }
    pass_on(s, op);
}

bool arg_study_entry(bc_arena *arena, const tv_module *module, size_t entry, const uint32_t grid[3],
                     const int64_t *values, const bool *known, arg_study *out)
{
    student s = {.f = bc_entry_at(module, entry), .grid = grid, .study = out};
    size_t count = s.f->type->rank;
    *out = (arg_study){.count = count,
                       .demands = bc_new(arena, arg_demand, count),
                       .compared = bc_new(arena, bool, count)};
    s.ranges = bc_new(arena, range, s.f->value_count);
    if (!out->demands || !out->compared || !s.ranges)
        return false;
    for (uint32_t i = 0; i < count && i < s.f->body->arg_count; i++) {
        const bc_value *v = &s.f->body->args[i];
        bool pointer = bc_is_tile(v->type) && v->type->elem->kind == BC_PTR;
        if (pointer)
            *of(&s, v) = (range){.known = true, .root = i + 1};
        else if (known[i])
            *of(&s, v) = between(values[i], values[i]);
    }
    for (const bc_op *op = s.f->body->first; op; op = bc_next_op(op, s.f->body))
        see(&s, op);
    return true;
}
