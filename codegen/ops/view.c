/* Views and the ops that move tiles through them. */
#include "bytecode/number/number.h"
#include "codegen/access/view_vectors.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/reordered.h"
#include "codegen/analysis/transposed.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/map.h"
#include "codegen/ops/paired.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/excerpts.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* ---- making views ---- */

/* What the type says, or the next of the operands that say it otherwise. */
static cg_val dimension(cg_func *c, const ct_op *op, int64_t fixed, uint32_t *next)
{
    if (fixed != BC_DYNAMIC)
        return cg_const(CG_B64, (uint64_t)fixed);
    const ct_value *dynamic = ct_operands(op)[(*next)++];
    return cg_to_b64(c, bc_elem_kind(dynamic->type), false, cg_scalar(c, dynamic));
}

/* The view is the same in the programs of all groups of warps; each has registers of its own for it. */
void cg_lower_make_tensor_view(cg_func *c, const ct_op *op)
{
    cg_view *view = cg_result(op, 0)->view;
    uint32_t extent = ct_operand_range(op, F_make_tensor_view_dynamic_shape).first,
             stride = ct_operand_range(op, F_make_tensor_view_dynamic_strides).first;
    view->address = cg_scalar(c, ct_operand(op, F_make_tensor_view_base));
    for (uint32_t d = 0; d < view->tensor->rank; d++) {
        view->extent[d] = dimension(c, op, view->tensor->shape[d], &extent);
        view->stride[d] = dimension(c, op, view->tensor->strides[d], &stride);
    }
}

#define VIEW(name)                                     \
    void cg_assign_##name(cg_func *c, const ct_op *op) \
    {                                                  \
        (void)c, (void)op; /* it is no tile */         \
    }
VIEW(make_tensor_view)
VIEW(make_partition_view)
VIEW(make_strided_view)
VIEW(make_gather_scatter_view)

#define TILE_VIEW(name)                                                \
    void cg_lower_##name(cg_func *c, const ct_op *op)                  \
    {                                                                  \
        (void)c, (void)op; /* the tensor's registers are the view's */ \
    }
TILE_VIEW(make_partition_view)
TILE_VIEW(make_strided_view)
TILE_VIEW(make_gather_scatter_view)

/* ---- asking for sizes ---- */

void cg_assign_get_tensor_shape(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_assign_get_index_space_shape(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

/* A 64-bit number as the integer scalar v. */
static void set_size(cg_func *c, const ct_value *v, cg_val size)
{
    bc_kind kind = bc_elem_kind(v->type);
    cg_val *regs = cg_vals(c, 1);
    if (!regs)
        return;
    regs[0] = size;
    if (kind != BC_I64) {
        cg_val low = cg_new(c, CG_B32);
        cg_ins(c, "cvt.u32.u64 %v, %r", low, size);
        regs[0] = cg_from_b32(c, kind, low);
    }
    cg_set(c, v, regs);
}

void cg_lower_get_tensor_shape(cg_func *c, const ct_op *op)
{
    const cg_view *view = ct_operands(op)[0]->view;
    for (uint32_t d = 0; d < op->result_count; d++)
        set_size(c, cg_result(op, d), view->extent[d]);
}

void cg_lower_get_index_space_shape(cg_func *c, const ct_op *op)
{
    const bc_type *type = ct_operands(op)[0]->type;
    const cg_view *view = ct_operands(op)[0]->view;
    for (uint32_t t = 0; t < op->result_count; t++) {
        bool gather = type->kind == BC_GATHER_SCATTER_VIEW;
        cg_val extent = view->extent[gather ? t : (uint32_t)type->dim_map[t]];
        uint64_t step = gather ? 1 : (uint64_t)(type->kind == BC_STRIDED_VIEW ? type->strides[t] : type->shape[t]);
        if (extent.known) {
            extent.bits = extent.bits / step + (extent.bits % step != 0);
        } else if (step > 1) {
            cg_val up = cg_new(c, CG_B64), count = cg_new(c, CG_B64);
            cg_ins(c, "add.s64 %v, %v, %q", up, extent, step - 1);
            if (step & (step - 1))
                cg_ins(c, "div.u64 %v, %v, %q", count, up, step);
            else /* ptxas calls a function, of any divisor */
                cg_ins(c, "shr.u64 %v, %v, %u", count, up, tv_trailing_zeros((uint32_t)step));
            extent = count;
        }
        set_size(c, cg_result(op, t), extent);
    }
}

/* ---- loads and stores ---- */

static void want_indices(cg_func *c, const cg_view_op *v, const cg_layout *l)
{
    if (v->view->type->kind != BC_GATHER_SCATTER_VIEW)
        return;
    cg_layout sparse = cg_view_sparse_layout(v, l);
    cg_want(c, v->index[v->view->type->sparse_dim], &sparse);
}

/* The bytes of the narrowest elements of operands of products that v becomes, unchanged or element by element. 0: it
   becomes something else, too, behind more than `depth` ops, or by more uses than *budget. */
static uint32_t bytes_to_products(const ct_value *v, uint32_t depth, uint32_t *budget)
{
    uint32_t least = UINT32_MAX;
    for (const ct_use *use = v->uses; use && least; use = use->next) {
        const ct_op *op = use->op;
        bool arrives = cg_is_product(op) && use->index < 2,
             goes_on = depth && *budget && op->result_count == 1 && (cg_is_seen(op) || ct_is_map(op));
        *budget -= *budget ? 1 : 0;
        uint32_t bytes = arrives   ? cg_memory_bytes(bc_elem_kind(v->type))
                         : goes_on ? bytes_to_products(cg_result(op, 0), depth - 1, budget)
                                   : 0;
        least = bytes < least ? bytes : least;
    }
    return v->uses ? least : 0;
}

/* What goes to a product by shared memory gets there by words: a thread has a word of neighbours, even where it loads
   them one by one, if there are as many for each thread. As with other short accesses, a warp goes on along its row
   (codegen/analysis/spread.c), so that a thread has fewer rows, with an address and a bound each: 310 instructions of
   an iteration become 236 (64x256x64 of f16). On an H200, 46 products are 0.84 to 1.16 times as fast with it, 1.01 in
   the geometric mean. */
static cg_layout layout_of_words(cg_func *c, const cg_view_op *v)
{
    enum { WORD = 4 /* bytes */, MOST_OPS = 8, MOST_USES = 64 };
    uint32_t budget = MOST_USES;
    cg_shape s = cg_shape_of(v->tile_type);
    cg_layout l = cg_view_layout(c, v);
    uint32_t fast, own = cg_memory_bytes(bc_elem_kind(v->tile_type)),
                   then = bytes_to_products(v->tile, MOST_OPS, &budget), bytes = own < then ? own : then, bits = 0;
    uint8_t reg_bit[CG_MAX_VECTOR_BITS];
    while (bytes && bytes << bits < WORD)
        bits++;
    if (cg_view_is_half(v) || !cg_view_contiguous(v, &fast) || s.bits[fast] < bits
        || s.tile_bits < bits + CG_LANE_BITS + c->warp_bits
        || cg_layout_vector(&l, s.shift[fast], bits, reg_bit) >= bits)
        return l;
    return cg_layout_memory_by_rows(&s, fast, bits, 0, c->warp_bits);
}

/* As a product takes it; where only excerpts are read, each of them in registers of its own. */
static cg_layout layout_to_load(cg_func *c, const ct_op *op, const cg_view_op *v)
{
    enum { MOST_CHOICES = 3 }; /* log2 of the excerpts */
    cg_shape s = cg_shape_of(v->tile_type);
    cg_layout l;
    uint32_t cut = cg_cut_bits(v->tile), fast;
    if (cg_reordered_home(c, op, &l)
        || (cg_view_contiguous(v, &fast)
            && (cg_transposing_home(c, op, fast, cg_view_vector(c, v, fast), &l)
                || cg_transposing_copy(c, op, fast, cg_view_vector(c, v, fast), &l))))
        return l;
    l = layout_of_words(c, v);
    uint8_t reg_bit[CG_MAX_VECTOR_BITS];
    if (!(cut & cg_layout_thread_images(&l)) || cg_count_bits(cut) > MOST_CHOICES || c->strip_bits
        || !cg_is_weak_access(op) || cg_view_is_half(v) || v->view->type->kind == BC_GATHER_SCATTER_VIEW)
        return l;
    uint32_t vector = cg_view_contiguous(v, &fast) ? cg_layout_vector(&l, s.shift[fast], CG_MAX_VECTOR_BITS, reg_bit)
                                                   : 0;
    return cg_layout_beside_cut(&l, vector, cut);
}

void cg_assign_load_view_tko(cg_func *c, const ct_op *op)
{
    cg_view_op v = cg_view_op_of(op);
    const cg_layout *decided = c->homes->decided[v.tile->id];
    if (c->homes->remakes && cg_shape_of(v.tile_type).tile_bits) { /* a list of rows */
        cg_set_lazy(c, v.tile);
        return;
    }
    cg_layout l = decided ? *decided : layout_to_load(c, op, &v);
    cg_set_home(c, v.tile, &l, CG_WEIGHT_MEMORY);
    want_indices(c, &v, &l);
}

/* Where the tile would go out well as it is, no way to another layout is needed; where it would within its warps, they
   need not wait for each other. */
static cg_layout layout_to_write(cg_func *c, const ct_op *op, const cg_view_op *v)
{
    cg_layout wish, rows;
    uint32_t weight;
    if (cg_wish(c, v->tile, &wish, &weight)) {
        if (op->opcode == OP_store_view_tko ? cg_view_stores_sectors(c, v, &wish) : weight >= CG_WEIGHT_MMA)
            return wish;
        if (op->opcode == OP_store_view_tko && cg_view_rows_of_warps(c, v, &wish, &rows))
            return rows;
    }
    return cg_view_layout(c, v);
}

void cg_assign_view_write(cg_func *c, const ct_op *op)
{
    cg_view_op v = cg_view_op_of(op);
    cg_layout l = layout_to_write(c, op, &v);
    cg_value_of(c, cg_result(op, 0))->home = cg_intern(c, &l);
    cg_want(c, v.tile, &l);
    want_indices(c, &v, &l);
}

void cg_assign_store_view_tko(cg_func *c, const ct_op *op)
{
    cg_assign_view_write(c, op);
}

typedef struct move {
    bc_kind kind;
    const char *order;
    bool wide;
    cg_val *regs;
    cg_val padding;
} move;

static cg_access access_of(const move *m, const cg_tile_vector *vector)
{
    return (cg_access){.kind = m->kind,
                       .space = "global",
                       .packed = true,
                       .order = m->order,
                       .wide = m->wide,
                       .address = vector->address,
                       .offset = vector->offset,
                       .predicate = vector->inside};
}

/* What lies behind the tensor's end in every thread is padding, and not left to the assembler to find out: where it
   does, ptxas (13.0 to 13.5) takes another number for the upper half of a zero that it converts from f8. */
static void load_vector(cg_func *c, void *user, const cg_tile_vector *vector)
{
    move *m = user;
    cg_access access = access_of(m, vector);
    cg_val loaded[CG_MAX_VECTOR], padding[CG_MAX_VECTOR];
    for (uint32_t i = 0; i < vector->count; i++)
        padding[i] = loaded[i] = m->padding;
    if (!vector->outside)
        cg_load_vector(c, &access, vector->count, padding, loaded);
    for (uint32_t i = 0; i < vector->count; i++)
        m->regs[vector->reg[i]] = loaded[i];
}

static void store_vector(cg_func *c, void *user, const cg_tile_vector *vector)
{
    move *m = user;
    cg_access access = access_of(m, vector);
    cg_val stored[CG_MAX_VECTOR];
    for (uint32_t i = 0; i < vector->count; i++)
        stored[i] = m->regs[vector->reg[i]];
    access.passes = c->again_bytes != 0;
    cg_store_vector(c, &access, vector->count, stored);
}

/* wide: each element in a register of 32 bits. */
static cg_val *load_regs(cg_func *c, const ct_op *op, const cg_view_op *view, const cg_layout *l, bool wide)
{
    cg_view_op v = *view;
    bc_kind kind = bc_elem_kind(v.tile_type);
    uint64_t order = ct_attr_u(op, F_load_view_tko_memory_ordering_semantics);
    move m = {.kind = kind,
              .order = cg_order_suffix(order, ct_attr_u(op, F_load_view_tko_memory_scope)),
              .wide = wide,
              .regs = cg_vals(c, cg_layout_regs(l)),
              .padding = cg_const(cg_class_of(kind), bc_padding_pattern(kind, v.view->type->padding))};
    if (!m.regs)
        return NULL;
    bool weak = order == BC_MemoryOrderingSemantics_weak;
    v.owned = !weak; /* another thread could see another value */
    cg_view_remark(c, op, &v, l, weak ? CG_MAX_VECTOR_BITS : 0);
    cg_view_vectors(c, &v, l, weak ? CG_MAX_VECTOR_BITS : 0, m.regs, &m, load_vector);
    bool shared = !weak && cg_share(c, op, kind, l, m.regs);
    if (order == BC_MemoryOrderingSemantics_acquire && !shared)
        cg_take_effect(c, op, CG_MEETS);
    return m.regs;
}

cg_val *cg_load_view_regs(cg_func *c, const ct_op *op, const cg_layout *l)
{
    cg_view_op v = cg_view_op_of(op);
    return load_regs(c, op, &v, l, false);
}

void cg_lower_load_view_tko(cg_func *c, const ct_op *op)
{
    const cg_view_op v = cg_view_op_of(op);
    const cg_layout *l = cg_value_of(c, v.tile)->home;
    uint32_t fast;
    bool paired = cg_is_weak_access(op) && cg_view_contiguous(&v, &fast) && cg_are_paired(v.tile, l, fast)
                  && !cg_view_lengths_of(c, &v, l, CG_MAX_VECTOR_BITS).inside;
    cg_take_access(c, op);
    cg_val *regs = load_regs(c, op, &v, l, paired);
    if (!regs || c->failed)
        return;
    if (paired)
        cg_pair_elements(c, bc_elem_kind(v.tile_type), regs, cg_layout_regs(l));
    cg_set(c, v.tile, regs);
}

void cg_lower_store_view_tko(cg_func *c, const ct_op *op)
{
    cg_view_op v = cg_view_op_of(op);
    const cg_layout *l = cg_value_of(c, cg_result(op, 0))->home;
    uint64_t order = ct_attr_u(op, F_store_view_tko_memory_ordering_semantics);
    move m = {.kind = bc_elem_kind(v.tile_type),
              .order = cg_order_suffix(order, ct_attr_u(op, F_store_view_tko_memory_scope)),
              .regs = cg_get(c, v.tile, l)};
    if (!m.regs)
        return;
    if (order == BC_MemoryOrderingSemantics_release)
        cg_take_effect(c, op, CG_MEETS);
    bool weak = order == BC_MemoryOrderingSemantics_weak;
    cg_take_access(c, op);
    cg_view_remark(c, op, &v, l, weak ? CG_MAX_VECTOR_BITS : 0);
    cg_view_vectors(c, &v, l, weak ? CG_MAX_VECTOR_BITS : 0, NULL, &m, store_vector);
}
