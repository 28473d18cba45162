/* The walk over the ops of an entry: every integer is followed as a range, or as an offset from a pointer parameter,
   for one grid. The walk follows program order; of the values that loops carry, it knows only the array into which they
   point. Besides the ranges, it records which values depend on made-up arguments. */
#include <math.h>
#include <string.h>

#include "tools/tilevm/args/study.h"

static arg_range *of(arg_student *s, const bc_value *v)
{
    return &s->study->ranges[v->id];
}

static uint8_t *origin(arg_student *s, const bc_value *v)
{
    return &s->study->origins[v->id];
}

static arg_demand *demand_of(arg_student *s, const arg_range *address)
{
    return address->root && address->root <= s->study->count ? &s->study->demands[address->root - 1] : NULL;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static arg_want at_least(int64_t n)
{
    arg_want want = ARG_ANYTHING;
    want.least = n;
    return want;
}

/* ---- addresses ---- */

/* A value is used in an address. If it comes from an array, the elements of the array should be below the limit. */
static void note_place(arg_student *s, const bc_value *v, int64_t limit)
{
    uint32_t from = of(s, v)->from;
    if (!from)
        return;
    int64_t *place = &s->study->places[from - 1];
    *place = *place ? smaller(*place, limit) : limit;
}

/* The result of a load. Elements that are used as indices were made as such. */
static void note_loaded(arg_student *s, const bc_op *op, const bc_value *memory)
{
    uint32_t root = of(s, memory)->root;
    const bc_value *result = bc_results(op), *local = arg_local_load(s->study, of(s, memory), result->type);
    *origin(s, result) |= *origin(s, memory);
    if (local) {
        *of(s, result) = *of(s, local);
        *origin(s, result) |= *origin(s, local);
    }
    if (!root || root > s->study->count)
        return;
    const arg_slot *slot = &s->slots[root - 1];
    if (slot->made && s->study->places[root - 1])
        *of(s, result) = arg_range_between(0, s->study->places[root - 1] - 1);
    of(s, result)->from = root;
    *origin(s, result) |= slot->made;
}

/* Results come from the same array as an operand, and depend on what operands depend on. */
static void pass_on(arg_student *s, const bc_op *op)
{
    uint32_t from = 0;
    uint8_t made = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        from = from ? from : of(s, bc_operands(op)[i])->from;
        made |= *origin(s, bc_operands(op)[i]);
    }
    for (uint32_t i = 0; i < op->result_count; i++) {
        arg_range *r = of(s, &bc_results(op)[i]);
        r->from = r->root || r->from ? r->from : from;
        *origin(s, &bc_results(op)[i]) |= made;
    }
}

static arg_range offset(arg_student *s, const bc_op *op)
{
    arg_range by = *of(s, bc_operand(op, F_offset_offset));
    unsigned bytes = bc_kind_memory_bytes((bc_kind)bc_results(op)->type->elem->elem->kind);
    note_place(s, bc_operand(op, F_offset_offset), ARG_DEFAULT_EXTENT);
    by.from = 0;
    return arg_range_add(*of(s, bc_operand(op, F_offset_ptr)), arg_range_multiply(by, arg_range_between(bytes, bytes)));
}

/* Numbers times something that moves, as in block * n + i: a step that is large enough leads past all the others. Later
   parameters are the inner ones, as in f(..., stride0, stride1). */
static void note_steps(arg_student *s, const arg_range *p, int64_t bytes)
{
    int64_t room = p->high - p->low + bytes;
    for (uint32_t i = p->term_count; i-- > 0;) {
        const arg_term *t = &p->terms[i];
        int64_t step = (room + bytes - 1) / bytes, range = (t->high - t->low) / bytes;
        if (range <= 0)
            continue;
        arg_student_wants(s, &s->f->body->args[t->slot], at_least(step));
        if (step > ARG_FAR / bytes / range)
            return;
        room += step * range * bytes;
    }
}

static void touch(arg_student *s, const bc_value *pointer, bool shared)
{
    const arg_range *p = of(s, pointer);
    arg_demand *d = demand_of(s, p);
    if (!d)
        return;
    int64_t bytes = larger(bc_kind_memory_bytes((bc_kind)pointer->type->elem->elem->kind), 1);
    d->shared = d->shared || shared;
    d->bytes_open = d->bytes_open || !p->known || p->term_count;
    if (!p->known)
        return;
    d->bytes = larger(d->bytes, p->high + bytes);
    if (s->first)
        note_steps(s, p, bytes);
}

/* ---- views ---- */

/* The number, where it is one. */
static int64_t known_number(arg_student *s, int64_t fixed, const bc_value *operand)
{
    const arg_range *r = operand ? of(s, operand) : NULL;
    return !r ? fixed : arg_range_is_plain(r) && r->high >= 0 ? r->high : BC_DYNAMIC;
}

static int64_t extent_of(arg_student *s, const bc_op *tensor, uint32_t i)
{
    return known_number(s, bc_results(tensor)->type->shape[i], arg_tensor_extent(tensor, i));
}

/* Elements from the first to the last of a view; -1: not known. */
static int64_t span_of(const int64_t *size, const int64_t *stride, uint32_t rank)
{
    int64_t span = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (size[i] < 0 || stride[i] < 0 || (size[i] > 1 && stride[i] > ARG_FAR / size[i]))
            return -1;
        span += size[i] > 1 ? (size[i] - 1) * stride[i] : 0;
        if (span > ARG_FAR)
            return -1;
    }
    return span;
}

/* Rows must not overlap: a stride is at least the extent of the axes inside it. The innermost axis is the last one,
   unless another one has a stride of 1. */
static void note_strides(arg_student *s, const bc_op *tensor, const int64_t *size, const int64_t *stride)
{
    int64_t room = 1;
    const bc_type *type = bc_results(tensor)->type;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = type->rank; i-- > 0;) {
            const bc_value *operand = arg_tensor_stride(tensor, i);
            if ((type->strides[i] == 1) != (pass == 0))
                continue;
            if (operand)
                arg_student_wants(s, operand, at_least(room));
            int64_t step = larger(room, stride[i]);
            if (size[i] > 1 && step <= ARG_FAR / size[i])
                room = larger(room, step * size[i]);
        }
}

static void see_tensor(arg_student *s, const bc_op *op)
{
    const bc_type *type = bc_results(op)->type;
    const arg_range *base = of(s, bc_operand(op, F_make_tensor_view_base));
    int64_t size[TV_MAX_RANK], stride[TV_MAX_RANK];
    arg_demand *d = demand_of(s, base);
    bool sliced = !base->known || base->low != 0 || base->high != 0 || base->term_count;
    arg_range *result = of(s, bc_results(op));
    *result = (arg_range){.known = true, .root = base->root};
    for (uint32_t i = 1; i < op->operand_count; i++)
        note_place(s, bc_operands(op)[i], ARG_DEFAULT_EXTENT);
    if (!d || type->rank > TV_MAX_RANK)
        return;
    for (uint32_t i = 0; i < type->rank; i++) {
        const bc_value *extent = arg_tensor_extent(op, i), *step = arg_tensor_stride(op, i);
        size[i] = extent_of(s, op, i);
        stride[i] = known_number(s, type->strides[i], step);
        if (extent && s->first)
            arg_student_marks(s, extent, true, false);
        if (step && s->first)
            arg_student_marks(s, step, true, false);
    }
    if (!s->first)
        note_strides(s, op, size, stride);
    int64_t span = span_of(size, stride, type->rank), bytes = bc_kind_memory_bytes((bc_kind)type->elem->kind);
    bool measured = span >= 0 && base->known && !base->term_count;
    if (measured)
        d->bytes = larger(d->bytes, base->high + span * larger(bytes, 1));
    d->sliced = d->sliced || sliced;
    d->bytes_open = d->bytes_open || (sliced && !measured);
    result->known = !sliced; /* a view of some part of the array, whose position is unknown */
    if (sliced || d->ndim)
        return;
    d->ndim = type->rank;
    memcpy(d->size, size, sizeof size);
    memcpy(d->stride, stride, sizeof stride);
}

/* One past the largest coordinate that an access at these indices touches along tile dimension t; 0: not known. */
static int64_t reach(const bc_type *view, uint32_t t, arg_range index)
{
    if (!arg_range_is_plain(&index) || index.low < 0)
        return 0;
    int64_t tile = view->shape[t];
    switch ((int)view->kind) {
    case BC_PARTITION_VIEW: return (index.high + 1) * tile;
    case BC_STRIDED_VIEW: return index.high * view->strides[t] + tile;
    default: return index.high + (t == view->sparse_dim ? 1 : tile);
    }
}

static void touch_axis(arg_student *s, const bc_op *tensor, uint32_t dim, int64_t end, bool promised)
{
    arg_range view = *of(s, bc_results(tensor));
    const bc_value *extent = arg_tensor_extent(tensor, dim);
    arg_demand *d = view.known ? demand_of(s, &view) : NULL;
    bool good = end > 0 && end < ARG_FAR;
    if (extent && good && (s->first || promised))
        arg_student_wants(s, extent, at_least(end));
    else if (extent && s->first)
        arg_student_marks(s, extent, false, true);
    if (!d || dim >= d->ndim)
        return;
    d->reach[dim] = good ? larger(d->reach[dim], end) : d->reach[dim];
    d->open[dim] = d->open[dim] || !good;
}

static void touch_view(arg_student *s, const bc_op *op, int view_row, int index_row, int inbounds_row)
{
    const bc_value *view = bc_operand(op, view_row);
    const bc_ints *inbounds = bc_attr_of(op, inbounds_row)->ints;
    bc_range indices = bc_operand_range(op, index_row);
    const bc_type *type = view->type;
    const bc_op *tensor = arg_view_tensor(view);
    for (uint32_t t = 0; tensor && t < type->rank && t < indices.count; t++) {
        const bc_value *index = bc_operands(op)[indices.first + t];
        int64_t dim = type->kind == BC_GATHER_SCATTER_VIEW ? (int64_t)t : type->dim_map[t];
        if (dim < 0 || dim >= (int64_t)bc_results(tensor)->type->rank)
            return;
        int64_t extent = extent_of(s, tensor, (uint32_t)dim);
        note_place(s, index, extent > 0 ? extent : ARG_DEFAULT_EXTENT);
        touch_axis(s, tensor, (uint32_t)dim, reach(type, t, *of(s, index)),
                   inbounds && t < inbounds->count && inbounds->ptr[t]);
    }
}

/* Extents of a view, or how many tiles there are. */
static void see_shape(arg_student *s, const bc_op *op)
{
    const bc_op *tensor = arg_view_tensor(bc_operands(op)[0]);
    uint32_t dim;
    int64_t tile;
    for (uint32_t i = 0; tensor && i < op->result_count; i++) {
        int64_t extent = arg_shape_axis(op, i, &dim, &tile) ? extent_of(s, tensor, dim) : BC_DYNAMIC;
        if (extent >= 0)
            *of(s, &bc_results(op)[i]) = arg_range_between((extent + tile - 1) / tile, (extent + tile - 1) / tile);
    }
}

/* ---- control ---- */

/* The counter of a loop; of carried values, only the start is known. */
static void see_for(arg_student *s, const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    arg_range low = *of(s, bc_operand(op, F_for_lower_bound)), high = *of(s, bc_operand(op, F_for_upper_bound));
    bc_range init = bc_operand_range(op, F_for_init_values);
    if (!body || body->arg_count == 0)
        return;
    bool known = arg_range_is_plain(&low) && arg_range_is_plain(&high);
    *of(s, &body->args[0]) = known ? arg_range_between(low.low, larger(low.low, high.high - 1)) : (arg_range){0};
    *origin(s, &body->args[0]) |= *origin(s, bc_operand(op, F_for_lower_bound));
    *origin(s, &body->args[0]) |= *origin(s, bc_operand(op, F_for_upper_bound));
    for (uint32_t i = 1; i < body->arg_count && i - 1 < init.count; i++) {
        of(s, &body->args[i])->root = of(s, bc_operands(op)[init.first + i - 1])->root;
        *origin(s, &body->args[i]) |= *origin(s, bc_operands(op)[init.first + i - 1]);
    }
}

static void see_loop(arg_student *s, const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    for (uint32_t i = 0; body && i < body->arg_count && i < op->operand_count; i++) {
        of(s, &body->args[i])->root = of(s, bc_operands(op)[i])->root;
        *origin(s, &body->args[i]) |= *origin(s, bc_operands(op)[i]);
    }
}

/* What a branch or a loop passes to the enclosing op, and a loop to its next iteration. */
static void see_exit(arg_student *s, const bc_op *op)
{
    const bc_op *around = op->block->parent;
    bool again = op->opcode == OP_continue;
    while (around && op->opcode != OP_yield && !bc_is_loop(around->opcode))
        around = around->block->parent;
    if (!around || (op->opcode == OP_yield && around->opcode != OP_if))
        return;
    for (uint32_t i = 0; i < op->operand_count && i < around->result_count; i++) {
        arg_range value = *of(s, bc_operands(op)[i]), *result = of(s, &bc_results(around)[i]);
        if (op->opcode != OP_yield)
            value = (arg_range){.root = value.root};
        *result = result->set ? arg_range_unite(*result, value) : value;
        result->set = true;
        *origin(s, &bc_results(around)[i]) |= *origin(s, bc_operands(op)[i]);
    }
    const bc_block *body = again ? bc_regions(around)[0] : NULL;
    uint32_t first = around->opcode == OP_for;
    for (uint32_t i = 0; body && i < op->operand_count && first + i < body->arg_count; i++)
        *origin(s, &body->args[first + i]) |= *origin(s, bc_operands(op)[i]);
}

/* ---- promises ---- */

/* n < something: n parameters, the other side known. True: it was one. */
static bool see_bound(arg_student *s, const bc_value *side, const bc_value *other)
{
    const arg_range *n = of(s, side), *m = of(s, other);
    bool single = n->known && !n->root && n->term_count == 1 && n->terms[0].low == n->terms[0].high;
    if (!single || n->terms[0].low <= 0)
        return false;
    const bc_value *param = &s->f->body->args[n->terms[0].slot];
    if (arg_range_is_plain(m) && m->high - n->low < ARG_FAR)
        arg_student_wants(s, param, at_least((m->high - n->low) / n->terms[0].low + 1));
    else if (!m->term_count)
        s->study->numbers[n->terms[0].slot].compared = true;
    return true;
}

static void see_compare(arg_student *s, const bc_op *op)
{
    const bc_value *lhs = bc_operands(op)[0], *rhs = bc_operands(op)[1];
    if (s->first && !see_bound(s, lhs, rhs))
        see_bound(s, rhs, lhs);
    *of(s, bc_results(op)) = arg_range_compare(op, *of(s, lhs), *of(s, rhs));
}

static void see_assume(arg_student *s, const bc_op *op)
{
    const bc_tagged *fact = bc_attr_of(op, F_assume_predicate)->tagged;
    arg_want want = ARG_ANYTHING;
    *of(s, bc_results(op)) = *of(s, bc_operands(op)[0]);
    if (fact->tag == BC_TAG_DIV_BY && fact->u.bits > 0 && fact->u.bits <= (uint64_t)ARG_FAR)
        want.divisor = (int64_t)fact->u.bits;
    if (fact->tag == BC_TAG_BOUNDED && fact->has_a)
        want.least = fact->a;
    if (fact->tag == BC_TAG_BOUNDED && fact->has_b)
        want.most = fact->b;
    arg_student_wants(s, bc_operands(op)[0], want);
}

static void see_scales(arg_student *s, const bc_op *op)
{
    const bc_value *scales[2] = {bc_operand(op, F_mmaf_scaled_lhs_scale), bc_operand(op, F_mmaf_scaled_rhs_scale)};
    for (unsigned i = 0; i < 2; i++)
        if (of(s, scales[i])->from)
            s->study->demands[of(s, scales[i])->from - 1].scale = true;
}

/* ---- ops ---- */

/* Accesses through views and pointers; false for other ops. */
static bool see_access(arg_student *s, const bc_op *op)
{
    const uint64_t weak = BC_MemoryOrderingSemantics_weak;
    switch ((int)op->opcode) {
    case OP_load_view_tko:
        touch_view(s, op, F_load_view_tko_view, F_load_view_tko_index, F_load_view_tko_inbounds);
        note_loaded(s, op, bc_operand(op, F_load_view_tko_view));
        return true;
    case OP_store_view_tko:
        touch_view(s, op, F_store_view_tko_view, F_store_view_tko_index, F_store_view_tko_inbounds);
        return true;
    case OP_atomic_red_view_tko:
        touch_view(s, op, F_atomic_red_view_tko_view, F_atomic_red_view_tko_index, F_atomic_red_view_tko_inbounds);
        return true;
    case OP_load_ptr_tko:
        touch(s, bc_operand(op, F_load_ptr_tko_source),
              bc_attr_u(op, F_load_ptr_tko_memory_ordering_semantics) != weak);
        note_loaded(s, op, bc_operand(op, F_load_ptr_tko_source));
        return true;
    case OP_store_ptr_tko:
        touch(s, bc_operand(op, F_store_ptr_tko_destination),
              bc_attr_u(op, F_store_ptr_tko_memory_ordering_semantics) != weak);
        arg_local_store(s->study, of(s, bc_operand(op, F_store_ptr_tko_destination)), op,
                        bc_operand(op, F_store_ptr_tko_value));
        return true;
    case OP_atomic_rmw_tko:
        touch(s, bc_operand(op, F_atomic_rmw_tko_pointers), true);
        note_loaded(s, op, bc_operand(op, F_atomic_rmw_tko_pointers));
        return true;
    case OP_atomic_cas_tko:
        touch(s, bc_operand(op, F_atomic_cas_tko_pointers), true);
        note_loaded(s, op, bc_operand(op, F_atomic_cas_tko_pointers));
        return true;
    default: return false;
    }
}

/* Ops that leave integers and addresses as they are. */
static bool is_copy(const bc_op *op)
{
    return bc_op_in(op->opcode, BC_OPS(CAST) | BC_OPS(RESHAPE) | BC_OPS(MOVE) | BC_OPS(VIEW))
           && op->opcode != OP_bitcast && op->opcode != OP_make_tensor_view;
}

static void see_ids(arg_student *s, const bc_op *op)
{
    for (unsigned i = 0; i < 3 && i < op->result_count; i++) {
        int64_t n = s->grid[i], low = s->block ? s->block[i] : 0, high = s->block ? s->block[i] : n - 1;
        *of(s, &bc_results(op)[i]) = op->opcode == OP_get_tile_block_id ? arg_range_between(low, high)
                                                                        : arg_range_between(n, n);
    }
}

static void see_select(arg_student *s, const bc_op *op)
{
    const arg_range *chosen = of(s, bc_operands(op)[0]);
    arg_range yes = *of(s, bc_operands(op)[1]), no = *of(s, bc_operands(op)[2]);
    *of(s, bc_results(op)) = !arg_range_is_number(chosen) ? arg_range_unite(yes, no) : chosen->low ? yes : no;
}

/* Ops that make integers and addresses. */
static void see_value(arg_student *s, const bc_op *op)
{
    bc_value *result = bc_results(op), **operands = bc_operands(op);
    switch ((int)op->opcode) {
    case OP_get_tile_block_id:
    case OP_get_num_tile_blocks: see_ids(s, op); break;
    case OP_constant: *of(s, result) = arg_range_constant(result->type, bc_attr_of(op, F_constant_value)->blob); break;
    case OP_iota:
        *of(s, result) = arg_range_between(0, bc_shape_elems(result->type->shape, result->type->rank) - 1);
        break;
    case OP_exti:
    case OP_trunci: *of(s, result) = arg_range_cast(op, *of(s, operands[0])); break;
    case OP_addi:
    case OP_subi:
    case OP_muli:
    case OP_divi:
    case OP_remi:
    case OP_mini:
    case OP_maxi:
    case OP_andi:
    case OP_ori:
    case OP_xori:
    case OP_shli:
    case OP_shri: *of(s, result) = arg_range_binary(op, *of(s, operands[0]), *of(s, operands[1])); break;
    case OP_select: see_select(s, op); break;
    case OP_offset: *of(s, result) = offset(s, op); break;
    case OP_alloca:
        *of(s, result) = (arg_range){.known = true, .root = (uint32_t)s->study->count + 1 + result->id};
        break;
    case OP_get_tensor_shape:
    case OP_get_index_space_shape: see_shape(s, op); break;
    default: break;
    }
}

static void see(arg_student *s, const bc_op *op)
{
    if (see_access(s, op))
        return;
    if (is_copy(op))
        *of(s, bc_results(op)) = *of(s, bc_operands(op)[0]);
    switch ((int)op->opcode) {
    case OP_make_tensor_view: see_tensor(s, op); break;
    case OP_for: see_for(s, op); break;
    case OP_loop: see_loop(s, op); break;
    case OP_continue:
    case OP_break:
    case OP_yield: see_exit(s, op); break;
    case OP_cmpi: see_compare(s, op); break;
    case OP_assume: see_assume(s, op); break;
    case OP_mmaf_scaled: see_scales(s, op); break;
    default: see_value(s, op);
    }
    pass_on(s, op);
}

/* ---- the walk ---- */

bool arg_study_init(bc_arena *arena, const bc_function *f, arg_study *out)
{
    size_t count = f->type->rank;
    *out = (arg_study){.count = count,
                       .demands = bc_new(arena, arg_demand, count),
                       .numbers = bc_new(arena, arg_number, count),
                       .places = bc_new(arena, int64_t, count),
                       .made = bc_new(arena, uint8_t, f->op_count),
                       .ranges = bc_new(arena, arg_range, f->value_count),
                       .origins = bc_new(arena, uint8_t, f->value_count),
                       .followed = bc_new(arena, bool, f->value_count),
                       .owners = bc_new(arena, const bc_op *, f->value_count),
                       .locals = bc_new(arena, arg_local, ARG_LOCALS)};
    if (!out->demands || !out->numbers || !out->places || !out->made || !out->ranges || !out->origins || !out->followed
        || !out->owners || !out->locals)
        return false;
    for (size_t i = 0; i < count; i++)
        out->numbers[i].want = ARG_ANYTHING;
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        for (unsigned r = 0; r < op->region_count; r++)
            for (uint32_t i = 0; bc_regions(op)[r] && i < bc_regions(op)[r]->arg_count; i++)
                out->owners[bc_regions(op)[r]->args[i].id] = op;
    return true;
}

static void see_params(arg_student *s)
{
    const bc_block *body = s->f->body;
    for (uint32_t i = 0; i < s->study->count && i < body->arg_count; i++) {
        const bc_value *v = &body->args[i];
        bool is_int = bc_is_tile(v->type) && bc_kind_in((bc_kind)v->type->elem->kind, BC_SET_INT);
        if (bc_is_tile(v->type) && v->type->elem->kind == BC_PTR)
            *of(s, v) = (arg_range){.known = true, .root = i + 1};
        else if (s->slots[i].known)
            *of(s, v) = arg_range_between(s->slots[i].value, s->slots[i].value);
        else if (is_int)
            *of(s, v) = arg_range_param(i);
        *origin(s, v) = of(s, v)->root ? 0 : s->slots[i].made;
    }
}

static void walk_once(arg_student *s)
{
    memset(s->study->ranges, 0, s->f->value_count * sizeof *s->study->ranges);
    see_params(s);
    for (const bc_op *op = s->f->body->first; op; op = bc_next_op(op, s->f->body))
        see(s, op);
}

/* The values that loops carry also depend on the operands of their last op; the number of repetitions that find all of
   this is limited. */
void arg_study_walk(arg_study *study, const bc_function *f, const uint32_t grid[3], const arg_slot *slots, bool first)
{
    enum { ROUNDS = 3 };
    arg_student s = {.f = f, .grid = grid, .slots = slots, .first = first, .study = study};
    for (size_t i = 0; i < study->count; i++)
        study->demands[i] = (arg_demand){.elements = {.want = ARG_ANYTHING}, .align = 1};
    memset(study->origins, 0, f->value_count);
    for (unsigned i = 0; i < ROUNDS; i++)
        walk_once(&s);
    arg_student_origins(&s);
}

void arg_study_block(arg_study *study, const bc_function *f, const uint32_t grid[3], const uint32_t block[3])
{
    arg_student s = {.f = f, .grid = grid, .block = block, .slots = study->slots, .study = study};
    walk_once(&s);
}

double arg_study_rounds(const arg_study *study, const bc_op *loop)
{
    double bounds[3];
    static const int rows[] = {F_for_lower_bound, F_for_upper_bound, F_for_step};
    for (unsigned i = 0; i < TV_COUNT(rows); i++) {
        const arg_range *r = loop->opcode == OP_for ? &study->ranges[bc_operand(loop, rows[i])->id] : NULL;
        if (!r || !arg_range_is_plain(r))
            return -1;
        bounds[i] = ((double)r->low + (double)r->high) / 2;
    }
    double rounds = bounds[2] > 0 ? ceil((bounds[1] - bounds[0]) / bounds[2]) : -1;
    return bounds[2] > 0 && rounds < 0 ? 0 : rounds;
}
