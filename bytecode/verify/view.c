/* Rules of ops on views. The types of views are checked in types.c.
   Source: memory operation reference, sections 2, 3, 5.3, 8 and 10. */
#include "bytecode/verify/memory.h"

/* ---- making views ---- */

/* A dynamic operand list is as long as the type has dynamic entries. */
static bool check_dynamic_count(bc_verifier *v, const bc_op *op, int row, const int64_t *entries, uint32_t rank,
                                bc_rule rule)
{
    uint32_t dynamic = 0, given = bc_operand_range(op, row).count;
    for (uint32_t d = 0; d < rank; d++)
        dynamic += entries[d] == BC_DYNAMIC;
    if (TV_LIKELY(dynamic == given))
        return true;
    const char *noun = row == F_make_tensor_view_dynamic_shape ? "size" : "stride";
    return bc_wrong(v, op, F_make_tensor_view_result, 0, rule, "is %s with %u dynamic %s%s, but %u %s given",
                    bc_type_words(v, bc_type_of(op, F_make_tensor_view_result)), dynamic, noun, dynamic == 1 ? "" : "s",
                    given, given == 1 ? "is" : "are");
}

static void check_dynamic_types(bc_verifier *v, const bc_op *op)
{
    static const int rows[] = {F_make_tensor_view_dynamic_shape, F_make_tensor_view_dynamic_strides};
    const bc_type *first = NULL;
    for (unsigned r = 0; r < 2; r++) {
        uint32_t count = bc_operand_range(op, rows[r]).count;
        for (uint32_t i = 0; i < count; i++) {
            const bc_type *type = bc_operand_of(op, rows[r], i)->type;
            if (first && type != first) {
                bc_wrong(v, op, rows[r], i, BC_RULE_V_MTV_06, "is %s, but the first dynamic operand is %s",
                         bc_type_words(v, type), bc_type_words(v, first));
                return;
            }
            first = type;
        }
    }
}

static const char *ptr_attr_words(uint8_t attr)
{
    return attr == BC_NO_PTR_ATTR ? "no classification" : bc_enum_text(BC_ENUM_PtrAttr, attr);
}

void verify_make_tensor_view(bc_verifier *v, const bc_op *op)
{
    const bc_type *view = bc_type_of(op, F_make_tensor_view_result);
    const bc_type *base = bc_type_of(op, F_make_tensor_view_base);
    if (base->elem->elem != view->elem)
        bc_wrong(v, op, F_make_tensor_view_base, 0, BC_RULE_V_MTV_02, "is %s, but the view %s has elements of type %s",
                 bc_type_words(v, base), bc_type_words(v, view), bc_type_words(v, view->elem));
    if (base->elem->ptr_attr != view->ptr_attr)
        bc_wrong(v, op, F_make_tensor_view_base, 0, BC_RULE_V_PTRATTR_01, "has %s, but the view has %s",
                 ptr_attr_words(base->elem->ptr_attr), ptr_attr_words(view->ptr_attr));
    check_dynamic_count(v, op, F_make_tensor_view_dynamic_shape, view->shape, view->rank, BC_RULE_V_MTV_03);
    check_dynamic_count(v, op, F_make_tensor_view_dynamic_strides, view->strides, view->rank, BC_RULE_V_MTV_04);
    check_dynamic_types(v, op);
}

static void check_made_view(bc_verifier *v, const bc_op *op, int result, int operand, bc_rule rule)
{
    const bc_type *view = bc_type_of(op, result), *tensor = bc_type_of(op, operand);
    if (TV_UNLIKELY(view->elem != tensor))
        bc_wrong(v, op, result, 0, rule, "is a view of %s, but %s is %s", bc_type_words(v, view->elem),
                 bc_field_words(v, op, operand, 0), bc_type_words(v, tensor));
}

void verify_make_partition_view(bc_verifier *v, const bc_op *op)
{
    check_made_view(v, op, F_make_partition_view_result, F_make_partition_view_tensor_view, BC_RULE_V_MPV_01);
}

void verify_make_strided_view(bc_verifier *v, const bc_op *op)
{
    check_made_view(v, op, F_make_strided_view_result, F_make_strided_view_tensor_view, BC_RULE_V_MSV_01);
}

void verify_make_gather_scatter_view(bc_verifier *v, const bc_op *op)
{
    check_made_view(v, op, F_make_gather_scatter_view_result, F_make_gather_scatter_view_tensor_view, BC_RULE_V_MGV_01);
}

/* ---- asking views ---- */

static void check_result_per_dimension(bc_verifier *v, const bc_op *op, const bc_type *src, bc_rule rule)
{
    if (TV_UNLIKELY(op->result_count != src->rank))
        bc_wrong(v, op, BC_NO_ROW, 0, rule, "has %u results, but %s has rank %u", op->result_count,
                 bc_type_words(v, src), src->rank);
}

void verify_get_tensor_shape(bc_verifier *v, const bc_op *op)
{
    check_result_per_dimension(v, op, bc_type_of(op, F_get_tensor_shape_src), BC_RULE_V_GTS_02);
}

void verify_get_index_space_shape(bc_verifier *v, const bc_op *op)
{
    check_result_per_dimension(v, op, bc_type_of(op, F_get_index_space_shape_src), BC_RULE_V_GIS_02);
}

/* ---- loads and stores: one set of rules under two sets of ids ---- */

typedef struct access_rules {
    bc_rule index_count, tile_type, scalar_index, index_type, sparse_rank, sparse_length, dense_rank, dense_type,
        inbounds;
} access_rules;

static const access_rules load_rules = {BC_RULE_V_LDV_02, BC_RULE_V_LDV_03, BC_RULE_V_LDV_04,
                                        BC_RULE_V_LDV_05, BC_RULE_V_LDV_06, BC_RULE_V_LDV_07,
                                        BC_RULE_V_LDV_08, BC_RULE_V_LDV_09, BC_RULE_V_LDV_12};
static const access_rules store_rules = {BC_RULE_V_STV_02, BC_RULE_V_STV_03, BC_RULE_V_STV_04,
                                         BC_RULE_V_STV_05, BC_RULE_V_STV_06, BC_RULE_V_STV_07,
                                         BC_RULE_V_STV_08, BC_RULE_V_STV_09, BC_RULE_V_STV_12};
static const access_rules multimem_rules = {.index_count = BC_RULE_V_MML_02,
                                            .tile_type = BC_RULE_V_MML_03,
                                            .scalar_index = BC_RULE_V_MML_02,
                                            .index_type = BC_RULE_V_MML_02,
                                            .inbounds = BC_RULE_V_MML_07};

/* The rows of an op that moves a tile through a view. */
typedef struct access {
    int view, tile, index, inbounds;
    const access_rules *rules;
} access;

static bool check_index_count(bc_verifier *v, const bc_op *op, int view_row, int index_row, bc_rule rule)
{
    const bc_type *view = bc_type_of(op, view_row);
    uint32_t count = bc_operand_range(op, index_row).count;
    if (TV_LIKELY(count == view->rank))
        return true;
    return bc_wrong(v, op, view_row, 0, rule, "is %s, which takes %u %s, but %u %s given", bc_type_words(v, view),
                    view->rank, view->rank == 1 ? "index" : "indices", count, count == 1 ? "is" : "are");
}

/* inbounds is absent when all false. */
static bool check_inbounds(bc_verifier *v, const bc_op *op, int inbounds_row, int index_row, bc_rule rule)
{
    const bc_ints *inbounds = bc_attr_of(op, inbounds_row)->ints;
    uint32_t count = bc_operand_range(op, index_row).count;
    if (TV_LIKELY(!inbounds || inbounds->count == count))
        return true;
    return bc_wrong(v, op, inbounds_row, 0, rule, "has %u %s for %u %s", inbounds->count,
                    inbounds->count == 1 ? "entry" : "entries", count, count == 1 ? "index" : "indices");
}

/* The tile has the element type and the tile shape of the view. */
static bool check_tile(bc_verifier *v, const bc_op *op, int tile_row, int view_row, bc_rule rule)
{
    const bc_type *tile = bc_type_of(op, tile_row), *view = bc_type_of(op, view_row);
    if (TV_LIKELY(tile->elem == view->elem->elem && bc_same_shape(tile, view)))
        return true;
    return bc_wrong(v, op, tile_row, 0, rule, "is %s, but %s is %s with tiles of shape %s and elements of type %s",
                    bc_type_words(v, tile), bc_field_words(v, op, view_row, 0), bc_type_words(v, view),
                    bc_shape_words(v, view), bc_type_words(v, view->elem->elem));
}

/* All indices but the sparse one (none: UINT32_MAX) are scalars of one type. */
static bool check_scalar_indices(bc_verifier *v, const bc_op *op, const access *a, uint32_t sparse, bc_rule rank_rule,
                                 bc_rule type_rule)
{
    uint32_t count = bc_operand_range(op, a->index).count;
    const bc_type *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (i == sparse)
            continue;
        const bc_type *type = bc_operand_of(op, a->index, i)->type;
        if (TV_UNLIKELY(type->rank != 0))
            return bc_wrong(v, op, a->index, i, rank_rule, "is %s; it must be a scalar", bc_type_words(v, type));
        if (TV_UNLIKELY(first && type != first))
            return bc_wrong(v, op, a->index, i, type_rule, "is %s, but the first scalar index is %s",
                            bc_type_words(v, type), bc_type_words(v, first));
        first = type;
    }
    return true;
}

static bool check_sparse_index(bc_verifier *v, const bc_op *op, const access *a, const bc_type *view)
{
    const bc_type *index = bc_operand_of(op, a->index, view->sparse_dim)->type;
    int64_t length = view->shape[view->sparse_dim];
    if (index->rank != 1)
        return bc_wrong(v, op, a->index, view->sparse_dim, a->rules->sparse_rank,
                        "is %s of rank %u, but sparse_dim is %u: it must list %lld positions", bc_type_words(v, index),
                        index->rank, view->sparse_dim, (long long)length);
    if (index->shape[0] != length)
        return bc_wrong(v, op, a->index, view->sparse_dim, a->rules->sparse_length,
                        "is %s, but the tile has size %lld in dimension %u", bc_type_words(v, index), (long long)length,
                        view->sparse_dim);
    return true;
}

/* How many dimensions of a tensor_view have the static stride 1; *out_dim: the last of them. */
static uint32_t count_unit_strides(const bc_type *tensor, uint32_t *out_dim)
{
    uint32_t count = 0;
    *out_dim = 0;
    for (uint32_t d = 0; d < tensor->rank; d++)
        if (tensor->strides[d] == 1) {
            *out_dim = d;
            count++;
        }
    return count;
}

/* Two f4E2M1FN share a byte. Which two, the one dimension with stride 1 says. */
static bool check_f4_packing(bc_verifier *v, const bc_op *op, int view_row)
{
    const bc_type *view = bc_type_of(op, view_row), *tensor = view->elem;
    if (TV_LIKELY(tensor->elem->kind != BC_F4E2M1FN))
        return true;
    uint32_t packing, count = count_unit_strides(tensor, &packing);
    if (count != 1)
        return bc_wrong(v, op, view_row, 0, BC_RULE_V_F4_01,
                        "is %s, which has %u dimensions of static stride 1; packed elements need one",
                        bc_type_words(v, view), count);
    if (view->kind == BC_GATHER_SCATTER_VIEW && view->sparse_dim == packing)
        return bc_wrong(v, op, view_row, 0, BC_RULE_V_F4_02,
                        "is %s, whose sparse dimension %u is the one with stride 1", bc_type_words(v, view), packing);
    return true;
}

static void check_access(bc_verifier *v, const bc_op *op, const access *a)
{
    const bc_type *view = bc_type_of(op, a->view);
    const access_rules *rules = a->rules;
    check_tile(v, op, a->tile, a->view, rules->tile_type);
    check_f4_packing(v, op, a->view);
    if (rules != &multimem_rules)
        bc_refuse_multicast(v, op, a->view, view->elem);
    if (!check_index_count(v, op, a->view, a->index, rules->index_count))
        return;
    if (view->kind != BC_GATHER_SCATTER_VIEW)
        check_scalar_indices(v, op, a, UINT32_MAX, rules->scalar_index, rules->index_type);
    else if (check_sparse_index(v, op, a, view))
        check_scalar_indices(v, op, a, view->sparse_dim, rules->dense_rank, rules->dense_type);
    check_inbounds(v, op, a->inbounds, a->index, rules->inbounds);
}

void verify_load_view_tko(bc_verifier *v, const bc_op *op)
{
    static const access a = {F_load_view_tko_view, F_load_view_tko_tile, F_load_view_tko_index,
                             F_load_view_tko_inbounds, &load_rules};
    check_access(v, op, &a);
    bc_check_memory_order(v, op, F_load_view_tko_memory_ordering_semantics, F_load_view_tko_memory_scope,
                          BC_LOAD_ORDERS, BC_RULE_V_MEM_01);
    bc_check_op_hints(v, op, F_load_view_tko_optimization_hints);
}

void verify_store_view_tko(bc_verifier *v, const bc_op *op)
{
    static const access a = {F_store_view_tko_view, F_store_view_tko_tile, F_store_view_tko_index,
                             F_store_view_tko_inbounds, &store_rules};
    check_access(v, op, &a);
    bc_check_memory_order(v, op, F_store_view_tko_memory_ordering_semantics, F_store_view_tko_memory_scope,
                          BC_STORE_ORDERS, BC_RULE_V_MEM_02);
    bc_check_op_hints(v, op, F_store_view_tko_optimization_hints);
}

/* ---- atomic_red_view_tko ---- */

static bool check_red_view(bc_verifier *v, const bc_op *op)
{
    const bc_type *view = bc_type_of(op, F_atomic_red_view_tko_view);
    if (view->padding != BC_NO_PADDING) /* refused up to 13.4, ignored by the 13.5 tools in files of every version */
        bc_tolerated(v, op, F_atomic_red_view_tko_view, 0, BC_RULE_V_RED_03,
                     "is %s, whose padding value means nothing here", bc_type_words(v, view));
    return bc_refuse_multicast(v, op, F_atomic_red_view_tko_view, view->elem);
}

static bool check_red_value(bc_verifier *v, const bc_op *op)
{
    const bc_type *view = bc_type_of(op, F_atomic_red_view_tko_view),
                  *value = bc_type_of(op, F_atomic_red_view_tko_value);
    if (value->elem != view->elem->elem)
        return bc_wrong(v, op, F_atomic_red_view_tko_value, 0, BC_RULE_V_RED_04,
                        "is %s, but the elements of the view are %s", bc_type_words(v, value),
                        bc_type_words(v, view->elem->elem));
    if (!bc_same_shape(value, view))
        return bc_wrong(v, op, F_atomic_red_view_tko_value, 0, BC_RULE_V_RED_05,
                        "is %s, but the tiles of the view have shape %s", bc_type_words(v, value),
                        bc_shape_words(v, view));
    return true;
}

static void check_red_indices(bc_verifier *v, const bc_op *op)
{
    if (!check_index_count(v, op, F_atomic_red_view_tko_view, F_atomic_red_view_tko_index, BC_RULE_V_RED_10))
        return;
    uint32_t count = bc_operand_range(op, F_atomic_red_view_tko_index).count;
    for (uint32_t i = 0; i < count; i++) {
        const bc_type *type = bc_operand_of(op, F_atomic_red_view_tko_index, i)->type;
        if (type->rank != 0) {
            bc_wrong(v, op, F_atomic_red_view_tko_index, i, BC_RULE_V_RED_11, "is %s; it must be a scalar",
                     bc_type_words(v, type));
            return;
        }
    }
    check_inbounds(v, op, F_atomic_red_view_tko_inbounds, F_atomic_red_view_tko_index, BC_RULE_V_RED_12);
}

static void check_red_mode(bc_verifier *v, const bc_op *op)
{
    if (bc_attr_u(op, F_atomic_red_view_tko_mode) == BC_AtomicRMWMode_xchg)
        bc_wrong(v, op, F_atomic_red_view_tko_mode, 0, BC_RULE_V_RED_06, "is xchg, which a view reduction cannot do");
    else
        bc_check_atomic_mode(v, op, F_atomic_red_view_tko_mode, bc_type_of(op, F_atomic_red_view_tko_value)->elem,
                             BC_RULE_V_RED_07);
}

void verify_atomic_red_view_tko(bc_verifier *v, const bc_op *op)
{
    enum { SCOPES = 1u << BC_MemoryScope_tl_blk | 1u << BC_MemoryScope_device };
    const bc_type *view = bc_type_of(op, F_atomic_red_view_tko_view);
    if (view->kind == BC_GATHER_SCATTER_VIEW) {
        bc_wrong(v, op, F_atomic_red_view_tko_view, 0, BC_RULE_V_RED_02,
                 "is %s; it must be a partition_view or strided_view", bc_type_words(v, view));
        return;
    }
    if (check_red_view(v, op) && check_red_value(v, op))
        check_red_mode(v, op);
    check_red_indices(v, op);
    bc_need_enum(v, op, F_atomic_red_view_tko_memory_ordering_semantics, BC_ORDER(relaxed), BC_RULE_V_RED_08);
    bc_need_enum(v, op, F_atomic_red_view_tko_memory_scope, SCOPES, BC_RULE_V_RED_09);
}

/* ---- multimem ---- */

/* f16 and bf16 move in pairs. Source: what the 13.5 tools refuse. */
static bool check_multimem_pairs(bc_verifier *v, const bc_op *op, int view_row)
{
    const bc_type *view = bc_type_of(op, view_row), *tensor = view->elem;
    if (!bc_kind_in((bc_kind)tensor->elem->kind, BC_SET(F16) | BC_SET(BF16)))
        return true;
    uint32_t dim, count = count_unit_strides(tensor, &dim);
    if (count != 1)
        return bc_wrong(v, op, view_row, 0, BC_RULE_V_MML_08,
                        "is %s, which has %u dimensions of static stride 1; pairs of %s need one",
                        bc_type_words(v, view), count, bc_type_words(v, tensor->elem));
    if (bc_shape_elems(view->shape, view->rank) == 1)
        return bc_wrong(v, op, view_row, 0, BC_RULE_V_MML_09,
                        "is %s, whose tiles take 2 bytes; it must be a multiple of 4", bc_type_words(v, view));
    return true;
}

static bool check_multimem_view(bc_verifier *v, const bc_op *op, int view_row)
{
    enum { KINDS = BC_SET(I32) | BC_SET(I64) | BC_SET(F16) | BC_SET(BF16) | BC_SET(F32) | BC_SET(F64) };
    const bc_type *view = bc_type_of(op, view_row);
    if (!bc_kind_in((bc_kind)view->elem->elem->kind, KINDS))
        return bc_wrong(v, op, view_row, 0, BC_RULE_V_MML_04, "is %s; elements must be i32, i64, f16, bf16, f32 or f64",
                        bc_type_words(v, view));
    if (view->elem->ptr_attr != BC_PtrAttr_multicast)
        return bc_wrong(v, op, view_row, 0, BC_RULE_V_PTRATTR_02, "is %s with %s; the address must be multicast",
                        bc_type_words(v, view), ptr_attr_words(view->elem->ptr_attr));
    return check_multimem_pairs(v, op, view_row);
}

#define MODE(name) (1u << BC_MultimemReductionKind_##name)

/* Integers combine in every way. A load of f16 or bf16 can also take the least or greatest; other floats only add. */
static void check_multimem_reduction(bc_verifier *v, const bc_op *op, int row, int view_row)
{
    const bc_type *elem = bc_type_of(op, view_row)->elem->elem;
    uint64_t mode = bc_attr_u(op, row);
    bool half_load = op->opcode == OP_multimem_load_reduce_view_tko
                     && bc_kind_in((bc_kind)elem->kind, BC_SET(F16) | BC_SET(BF16));
    uint32_t allowed = half_load ? MODE(add) | MODE(min) | MODE(max) : MODE(add);
    if (bc_kind_in((bc_kind)elem->kind, BC_SET_FLOAT) && !(allowed >> mode & 1))
        bc_wrong(v, op, row, 0, BC_RULE_V_MML_05, "is %s; with elements of type %s it must be %s",
                 bc_enum_text(BC_ENUM_MultimemReductionKind, mode), bc_type_words(v, elem),
                 half_load ? "add, min or max" : "add");
}

void verify_multimem_load_reduce_view_tko(bc_verifier *v, const bc_op *op)
{
    static const access a = {F_multimem_load_reduce_view_tko_view, F_multimem_load_reduce_view_tko_reduced_values,
                             F_multimem_load_reduce_view_tko_index, F_multimem_load_reduce_view_tko_inbounds,
                             &multimem_rules};
    if (check_multimem_view(v, op, a.view))
        check_multimem_reduction(v, op, F_multimem_load_reduce_view_tko_reduction, a.view);
    check_access(v, op, &a);
    bc_check_memory_order(v, op, F_multimem_load_reduce_view_tko_memory_ordering_semantics,
                          F_multimem_load_reduce_view_tko_memory_scope, BC_LOAD_ORDERS, BC_RULE_V_MML_06);
}

void verify_multimem_reduce_view_tko(bc_verifier *v, const bc_op *op)
{
    static const access a = {F_multimem_reduce_view_tko_view, F_multimem_reduce_view_tko_tile,
                             F_multimem_reduce_view_tko_index, F_multimem_reduce_view_tko_inbounds, &multimem_rules};
    if (check_multimem_view(v, op, a.view))
        check_multimem_reduction(v, op, F_multimem_reduce_view_tko_reduction, a.view);
    check_access(v, op, &a);
    bc_need_enum(v, op, F_multimem_reduce_view_tko_memory_ordering_semantics, BC_ORDER(relaxed) | BC_ORDER(release),
                 BC_RULE_V_MML_06);
}

void verify_multimem_store_view_tko(bc_verifier *v, const bc_op *op)
{
    static const access a = {F_multimem_store_view_tko_view, F_multimem_store_view_tko_tile,
                             F_multimem_store_view_tko_index, F_multimem_store_view_tko_inbounds, &multimem_rules};
    check_multimem_view(v, op, a.view);
    check_access(v, op, &a);
    bc_check_memory_order(v, op, F_multimem_store_view_tko_memory_ordering_semantics,
                          F_multimem_store_view_tko_memory_scope, BC_STORE_ORDERS, BC_RULE_V_MML_06);
}
