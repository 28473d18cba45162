/* Tiles of views: what types and facts say about their addresses, and the possible width of accesses. Source: memory
   reference, section 2. */
#include "codegen/analysis/view.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/print/print.h"
#include "codegen/analysis/spread.h"
#include "codegen/kernel/remarks.h"

cg_view_op cg_view_op_of(const ct_op *op)
{
    cg_view_op v = {0};
    bc_range index;
    switch ((int)op->opcode) {
    case CT_copy:
    case CT_prefetch:
    case CT_cursor:
    case CT_staged:
    case OP_load_view_tko:
        v.view = ct_operand(op, F_load_view_tko_view);
        v.tile = op->result_count && op->opcode != CT_cursor ? cg_result(op, 0) : NULL;
        v.tile_type = bc_results(op->from)[0].type;
        index = ct_operand_range(op, F_load_view_tko_index);
        v.inbounds = ct_attr_of(op, F_load_view_tko_inbounds)->ints;
        break;
    case OP_store_view_tko:
        v.view = ct_operand(op, F_store_view_tko_view);
        v.tile = ct_operand(op, F_store_view_tko_tile);
        index = ct_operand_range(op, F_store_view_tko_index);
        v.inbounds = ct_attr_of(op, F_store_view_tko_inbounds)->ints;
        v.owned = true;
        break;
    default: /* atomic_red_view_tko */
        v.view = ct_operand(op, F_atomic_red_view_tko_view);
        v.tile = ct_operand(op, F_atomic_red_view_tko_value);
        index = ct_operand_range(op, F_atomic_red_view_tko_index);
        v.inbounds = ct_attr_of(op, F_atomic_red_view_tko_inbounds)->ints;
        v.owned = true;
        break;
    }
    v.index = ct_operands(op) + index.first;
    v.index_count = index.count;
    v.tile_type = v.tile ? v.tile->type : v.tile_type;
    return v;
}

uint32_t cg_view_dim(const bc_type *view, uint32_t t)
{
    return view->kind == BC_GATHER_SCATTER_VIEW ? t : (uint32_t)view->dim_map[t];
}

/* ---- what alignment allows ---- */

/* The divisor of a size or stride that the type states, or else of the operand that gives it. */
static uint8_t divisor_of_size(int64_t stated, const ct_value *dynamic)
{
    return stated == BC_DYNAMIC ? dynamic->fact->divisor : cg_divisor_of((uint64_t)stated);
}

int64_t cg_view_step(const bc_type *view, uint32_t t)
{
    return view->kind == BC_GATHER_SCATTER_VIEW ? 1 : view->kind == BC_STRIDED_VIEW ? view->strides[t] : view->shape[t];
}

/* The divisor of the tile's first coordinate along tile dimension t. */
static uint8_t divisor_of_start(const cg_view_op *v, uint32_t t)
{
    uint8_t index = v->index[t]->fact->divisor, step = cg_divisor_of((uint64_t)cg_view_step(v->view->type, t));
    return (uint8_t)(index + step < CG_DIVISOR_OF_ZERO ? index + step : CG_DIVISOR_OF_ZERO);
}

static bool is_inbounds(const cg_view_op *v, uint32_t t)
{
    return v->inbounds && t < v->inbounds->count && v->inbounds->ptr[t];
}

bool cg_view_start(const cg_view_op *v, uint32_t t, cg_range *out_range)
{
    int64_t step = cg_view_step(v->view->type, t), most = (int64_t)UINT32_MAX + 1 - v->tile_type->shape[t];
    cg_range index;
    if (!cg_size_range(BC_DYNAMIC, v->index[t], &index) || index.high > most / step)
        return false;
    *out_range = (cg_range){index.low * step, index.high * step};
    return true;
}

bool cg_view_extent(const cg_view_op *v, uint32_t t, cg_range *out_range)
{
    const cg_view *tensor = v->view->view;
    uint32_t d = cg_view_dim(v->view->type, t);
    return cg_size_range(tensor->tensor->shape[d], tensor->extents[d], out_range) && out_range->high <= UINT32_MAX;
}

bool cg_view_may_leave(const cg_view_op *v, uint32_t t)
{
    const bc_type *type = v->view->type;
    cg_range start, extent;
    if (type->kind == BC_GATHER_SCATTER_VIEW && type->sparse_dim == t)
        return true;
    return !is_inbounds(v, t)
           && !(cg_view_start(v, t, &start) && cg_view_extent(v, t, &extent)
                && start.high + v->tile_type->shape[t] <= extent.low);
}

/* Is the value loaded, in this iteration or in an earlier one, or by a branch? */
static bool is_loaded(const ct_value *v, uint32_t depth)
{
    const ct_op *op = v->op ? v->op : v->block->parent;
    if (!op || !depth || ct_is_load(op))
        return op && depth;
    if (op->opcode == OP_if && v->op && op->regions[0]->last->opcode == OP_yield)
        return is_loaded(op->regions[0]->last->operands[v->number], depth - 1);
    bool carried = op->opcode == OP_for && !v->op && v->number > 0;
    return carried && is_loaded(op->operands[ct_for_inits(op).first + v->number - 1], depth - 1);
}

bool cg_view_cuts_index(const cg_view_op *v, uint32_t t)
{
    enum { MOST_OPS = 8 }; /* that pass on a loaded value */
    cg_range extent;
    uint64_t step = (uint64_t)cg_view_step(v->view->type, t);
    return is_loaded(v->index[t], MOST_OPS) && cg_view_may_leave(v, t) && cg_view_extent(v, t, &extent)
           && extent.high <= INT32_MAX && step <= INT32_MAX && !(step & (step - 1));
}

bool cg_view_contiguous(const cg_view_op *v, uint32_t *out_dim)
{
    const bc_type *type = v->view->type;
    const cg_view *tensor = v->view->view;
    for (uint32_t t = 0; t < v->index_count; t++)
        if (tensor->tensor->strides[cg_view_dim(type, t)] == 1
            && !(type->kind == BC_GATHER_SCATTER_VIEW && type->sparse_dim == t)) {
            *out_dim = t;
            return true;
        }
    return false;
}

/* log2 of the elements along tile dimension `fast` that one access may have if all of them are inside the tensor.
   out_limit (may be NULL): the reason why there are not more; NULL if there is none. */
static uint32_t aligned_bits(cg_func *c, const cg_view_op *v, uint32_t fast, const char **out_limit)
{
    const bc_type *type = v->view->type;
    const cg_view *tensor = v->view->view;
    int size = cg_pointee_shift(tensor->base->type), base = tensor->base->fact->divisor - size;
    int widest = cg_widest_access(c) - size, most = base < widest ? base : widest;
    const char *limit = base < widest ? "the alignment of the base" : NULL;
    for (uint32_t t = 0; t < v->index_count; t++) {
        uint32_t d = cg_view_dim(type, t);
        int divisor = t == fast ? divisor_of_start(v, t)
                                : divisor_of_size(tensor->tensor->strides[d], tensor->strides[d]);
        if (divisor < most) {
            most = divisor;
            limit = t == fast ? "the divisor of the index" : "the divisor of a stride";
        }
    }
    if (out_limit)
        *out_limit = limit;
    return most < 0 ? 0 : (uint32_t)most;
}

uint32_t cg_view_vector(cg_func *c, const cg_view_op *v, uint32_t fast)
{
    const cg_view *tensor = v->view->view;
    uint32_t d = cg_view_dim(v->view->type, fast), aligned = aligned_bits(c, v, fast, NULL);
    uint32_t extent = divisor_of_size(tensor->tensor->shape[d], tensor->extents[d]);
    return is_inbounds(v, fast) || aligned < extent ? aligned : extent;
}

bool cg_view_is_half(const cg_view_op *v)
{
    return bc_kind_memory_bytes(bc_elem_kind(v->tile_type)) == 0;
}

cg_layout cg_view_layout(cg_func *c, const cg_view_op *v)
{
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t fast = s.rank - 1, bits = 0;
    if (cg_view_contiguous(v, &fast))
        bits = aligned_bits(c, v, fast, NULL);
    const cg_reach r = {.shape = s,
                        .fast = fast,
                        .bytes = cg_memory_bytes(bc_elem_kind(v->tile_type)),
                        .vector_bits = bits,
                        .least_bits = cg_view_is_half(v),
                        .load = v->tile && !v->owned ? v->tile->op : NULL};
    return cg_spread(c, &r);
}

/* log2 of the elements that an access has at most: as many as are aligned, but no more than a row of the tile has,
   since a thread's next registers may belong to the next row, which lies elsewhere in memory. */
static uint32_t row_bits(cg_func *c, const cg_view_op *v, const cg_shape *s, uint32_t fast, const char **out_limit)
{
    uint32_t aligned = aligned_bits(c, v, fast, out_limit);
    return aligned < s->bits[fast] ? aligned : s->bits[fast];
}

/* log2 of the contiguous elements that a thread accesses at once in this layout, and of those that adjacent lanes,
   or the thread's next registers, have. False: the elements have 4 bits, or are not contiguous. */
static bool vector_of(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t *out_vector, uint32_t *out_lanes,
                      uint32_t *out_regs)
{
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t fast;
    uint8_t reg_bit[8];
    if (cg_view_is_half(v) || !cg_view_contiguous(v, &fast))
        return false;
    *out_vector = cg_layout_vector(l, s.shift[fast], row_bits(c, v, &s, fast, NULL), reg_bit);
    *out_lanes = cg_layout_beside(l, s.shift[fast], s.bits[fast], *out_vector);
    *out_regs = cg_layout_vector(l, s.shift[fast], s.bits[fast] < 8 ? s.bits[fast] : 8, reg_bit);
    return true;
}

static bool fills_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l)
{
    enum { LEAST_BYTES = 4 };
    uint32_t vector, lanes, regs, bytes = cg_memory_bytes(bc_elem_kind(v->tile_type));
    return vector_of(c, v, l, &vector, &lanes, &regs) && bytes << vector >= LEAST_BYTES
           && bytes << lanes >= CG_SECTOR_BYTES;
}

bool cg_view_fills_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l)
{
    return !cg_layout_has_replicas(l) && fills_sectors(c, v, l);
}

bool cg_view_stores_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l)
{
    cg_layout own = cg_view_layout(c, v);
    return (!cg_layout_has_replicas(l) || cg_layout_has_replicas(&own)) && fills_sectors(c, v, l);
}

bool cg_view_reads_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l)
{
    enum { VECTOR_BYTES = 16 };
    uint32_t vector, lanes, regs, bytes = cg_memory_bytes(bc_elem_kind(v->tile_type));
    return !cg_layout_has_replicas(l) && vector_of(c, v, l, &vector, &lanes, &regs) && bytes << vector == VECTOR_BYTES
           && (bytes << lanes >= CG_SECTOR_BYTES || bytes << regs == CG_SECTOR_BYTES);
}

bool cg_view_loads_as_well(cg_func *c, const cg_view_op *v, const cg_layout *l)
{
    cg_shape s = cg_shape_of(v->tile_type);
    cg_layout own = cg_view_layout(c, v);
    uint32_t fast;
    uint8_t reg_bit[8];
    if (!cg_view_fills_sectors(c, v, l) || !cg_view_contiguous(v, &fast))
        return false;
    uint32_t most = row_bits(c, v, &s, fast, NULL), from = s.shift[fast];
    return cg_layout_vector(l, from, most, reg_bit) >= cg_layout_vector(&own, from, most, reg_bit);
}

uint32_t cg_view_access_bits(cg_func *c, const cg_view_op *v, const cg_layout *l)
{
    return cg_view_lengths_of(c, v, l, CG_MAX_VECTOR_BITS).edge;
}

bool cg_view_rows_of_warps(cg_func *c, const cg_view_op *v, const cg_layout *l, cg_layout *out)
{
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t fast;
    return !cg_view_is_half(v) && cg_view_contiguous(v, &fast)
           && cg_layout_rows_of_warps(l, &s, fast, aligned_bits(c, v, fast, NULL),
                                      cg_memory_bytes(bc_elem_kind(v->tile_type)), out);
}

cg_layout cg_view_sparse_layout(const cg_view_op *v, const cg_layout *l)
{
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t others = (uint32_t)(((uint64_t)1 << s.tile_bits) - 1) & ~cg_dim_mask(&s, v->view->type->sparse_dim);
    cg_layout part = cg_layout_clear(l, others);
    part = cg_layout_squeeze(&part, others);
    return cg_layout_drop_replicas(&part, NULL);
}

cg_view_lengths cg_view_lengths_of(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits)
{
    cg_view_lengths n = {.limit = most_bits ? "strides, none of which is known to be 1" : "access by single elements"};
    uint8_t reg_bit[8];
    if (cg_view_is_half(v) && !most_bits)
        most_bits = 1;
    if (!most_bits || !cg_view_contiguous(v, &n.fast))
        return n;
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t aligned = row_bits(c, v, &s, n.fast, &n.limit), edge = cg_view_vector(c, v, n.fast);
    n.inside = cg_layout_vector(l, s.shift[n.fast], aligned < most_bits ? aligned : most_bits, reg_bit);
    n.edge = edge < n.inside ? edge : n.inside;
    if (n.inside < aligned)
        n.limit = "the elements that a thread holds";
    return n;
}

void cg_view_remark(cg_func *c, const ct_op *op, const cg_view_op *v, const cg_layout *l, uint32_t most_bits)
{
    if (!cg_remarks_wanted(c))
        return;
    cg_view_lengths n = cg_view_lengths_of(c, v, l, most_bits);
    uint32_t half = cg_view_is_half(v), bytes = half ? 1 : cg_memory_bytes(bc_elem_kind(v->tile_type));
    bc_text type, checks;
    bc_text_init(&type, &c->m->arena.allocator);
    bc_text_init(&checks, &c->m->arena.allocator);
    bc_print_type(&type, v->tile_type, false);
    uint32_t start_bits = 32;
    for (uint32_t t = 0; t < v->index_count; t++) {
        cg_range start;
        if (cg_view_may_leave(v, t))
            bc_text_printf(&checks, "%s%u", checks.len ? ", " : "of dim ", t);
        if (!cg_view_start(v, t, &start) && !cg_view_cuts_index(v, t))
            start_bits = 64;
    }
    cg_layout own = cg_layout_drop_replicas(l, NULL);
    char edge[64] = "", limit[96] = "";
    if (n.edge < n.inside)
        snprintf(edge, sizeof edge, ", x {EdgeBytes=%u} at the tensor's end", bytes << n.edge >> half);
    if (n.limit)
        snprintf(limit, sizeof limit, "; limited by {Limit=%s}", n.limit);
    cg_remark(c, op, CG_REMARK_VectorAccess, bytes << n.inside >> half >= 16 ? TV_REMARK_PASSED : TV_REMARK_MISSED,
              "{Type=%s}: {Count=%u} x {Bytes=%u} bytes a thread%s; start in {StartBits=%u} bits; bounds checked: "
              "{Checks=%s}%s",
              bc_text_words(&type), cg_layout_regs(&own) >> n.inside, bytes << n.inside >> half, edge, start_bits,
              checks.len || checks.failed ? bc_text_words(&checks) : "none", limit);
    bc_text_release(&type);
    bc_text_release(&checks);
}

/* ---- all views of a function ---- */

static cg_view *new_view(ct_func *f, const ct_op *op)
{
    const bc_type *type = op->results[0].type;
    uint32_t rank = type->rank;
    bc_range extents = ct_operand_range(op, F_make_tensor_view_dynamic_shape);
    bc_range strides = ct_operand_range(op, F_make_tensor_view_dynamic_strides);
    cg_view *view = bc_new(f->arena, cg_view, 1);
    const ct_value **values = bc_new(f->arena, const ct_value *, 2 * rank + 1u);
    cg_val *regs = bc_new(f->arena, cg_val, 2 * rank + 1u);
    if (!view || !values || !regs)
        return NULL;
    *view = (cg_view){.tensor = type,
                      .maker = op,
                      .base = ct_operand(op, F_make_tensor_view_base),
                      .extents = values,
                      .strides = values + rank,
                      .extent = regs,
                      .stride = regs + rank};
    for (uint32_t d = 0, e = 0, s = 0; d < rank; d++) {
        if (type->shape[d] == BC_DYNAMIC)
            view->extents[d] = ct_operands(op)[extents.first + e++];
        if (type->strides[d] == BC_DYNAMIC)
            view->strides[d] = ct_operands(op)[strides.first + s++];
    }
    return view;
}

bool cg_find_views(ct_func *f)
{
    for (ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        switch ((int)op->opcode) {
        case OP_make_tensor_view:
            if (!(op->results[0].view = new_view(f, op)))
                return false;
            break;
        case OP_make_partition_view:
        case OP_make_strided_view:
        case OP_make_gather_scatter_view: op->results[0].view = op->operands[0]->view; break;
        case OP_assume: op->results[0].view = ct_operand(op, F_assume_value)->view; break;
        default: break;
        }
    return true;
}
