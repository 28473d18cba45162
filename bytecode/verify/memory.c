/* Rules of pointers, alloca, loads and stores through pointers, atomics. Views are in view.c.
   Source: memory operation reference, sections 1, 3, 5 and 10. */
#include "bytecode/verify/memory.h"

/* ---- shared ---- */

static void check_scope(bc_verifier *v, const bc_op *op, int order_row, int scope_row)
{
    bool weak = bc_attr_u(op, order_row) == BC_MemoryOrderingSemantics_weak;
    uint64_t scope = bc_attr_u(op, scope_row);
    if (weak && scope != BC_ABSENT)
        bc_wrong(v, op, scope_row, 0, BC_RULE_V_MEM_03, "is %s, but a weak access has no scope",
                 bc_enum_text(BC_ENUM_MemoryScope, scope));
    if (!weak && scope == BC_ABSENT)
        bc_wrong(v, op, scope_row, 0, BC_RULE_V_MEM_04, "is missing; ordering %s needs a scope",
                 bc_enum_text(BC_ENUM_MemoryOrderingSemantics, bc_attr_u(op, order_row)));
}

void bc_check_memory_order(bc_verifier *v, const bc_op *op, int order_row, int scope_row, uint32_t allowed,
                           bc_rule rule)
{
    if (bc_need_enum(v, op, order_row, allowed, rule))
        check_scope(v, op, order_row, scope_row);
}

bool bc_check_atomic_mode(bc_verifier *v, const bc_op *op, int mode_row, const bc_type *element, bc_rule rule)
{
    enum { WORDS = BC_SET(I32) | BC_SET(I64), FLOATS = BC_SET(F16) | BC_SET(BF16) | BC_SET(F32) | BC_SET(F64) };
    uint64_t mode = bc_attr_u(op, mode_row);
    bc_kind_set allowed = WORDS;
    const char *help =
        element->kind < BC_F16 ? "use pointers to i32 or i64, and move the smaller element inside the word" : NULL;
    if (mode == BC_AtomicRMWMode_addf) {
        allowed = FLOATS;
        help = bc_kind_in((bc_kind)element->kind, WORDS) ? "use add for integers" : NULL;
    } else if (mode == BC_AtomicRMWMode_xchg) {
        allowed = WORDS | BC_SET(F32) | BC_SET(F64);
    }
    if (TV_LIKELY(bc_kind_in((bc_kind)element->kind, allowed)))
        return true;
    const char *words = allowed == FLOATS  ? "f16, bf16, f32 and f64"
                        : allowed == WORDS ? "i32 and i64"
                                           : "i32, i64, f32 and f64";
    return bc_wrong_help(v, op, mode_row, 0, rule, help, "is %s, which works on %s; the elements here are %s",
                         bc_enum_text(BC_ENUM_AtomicRMWMode, mode), words, bc_type_words(v, element));
}

/* The tile in `row` holds what the pointers in `pointers` point to. */
static bool check_pointee(bc_verifier *v, const bc_op *op, int row, int pointers, bc_rule rule)
{
    const bc_type *value = bc_type_of(op, row), *pointer = bc_type_of(op, pointers);
    const bc_type *pointee = pointer->elem->elem;
    if (TV_LIKELY(value->elem == pointee))
        return true;
    return bc_wrong(v, op, row, 0, rule, "is %s, but %s points to %s", bc_type_words(v, value),
                    bc_field_words(v, op, pointers, 0), bc_type_words(v, pointee));
}

bool bc_refuse_multicast(bc_verifier *v, const bc_op *op, int row, const bc_type *pointer)
{
    if (TV_LIKELY(pointer->ptr_attr != BC_PtrAttr_multicast))
        return true;
    return bc_wrong(v, op, row, 0, BC_RULE_V_PTRATTR_03,
                    "is %s, a multicast address, which only multimem ops may access",
                    bc_type_words(v, bc_type_of(op, row)));
}

static bool refuse_multicast_pointers(bc_verifier *v, const bc_op *op, int row)
{
    return bc_refuse_multicast(v, op, row, bc_type_of(op, row)->elem);
}

static bool check_mask(bc_verifier *v, const bc_op *op, int mask, int pointers, bc_rule rule)
{
    return !bc_operand(op, mask) || bc_need_same_shape(v, op, mask, pointers, rule);
}

/* ---- pointers ---- */

void verify_offset(bc_verifier *v, const bc_op *op)
{
    if (bc_need_same_shape(v, op, F_offset_offset, F_offset_ptr, BC_RULE_V_OFF_03))
        bc_need_same_type(v, op, F_offset_result, F_offset_ptr, BC_RULE_V_OFF_04);
}

void verify_ptr_to_int(bc_verifier *v, const bc_op *op)
{
    bc_need_same_shape(v, op, F_ptr_to_int_result, F_ptr_to_int_source, BC_RULE_V_PTI_01);
}

void verify_int_to_ptr(bc_verifier *v, const bc_op *op)
{
    bc_need_same_shape(v, op, F_int_to_ptr_result, F_int_to_ptr_source, BC_RULE_V_ITP_01);
}

void verify_ptr_to_ptr(bc_verifier *v, const bc_op *op)
{
    bc_need_same_shape(v, op, F_ptr_to_ptr_result, F_ptr_to_ptr_source, BC_RULE_V_PTP_01);
}

static void check_alloca_size(bc_verifier *v, const bc_op *op, uint64_t alignment)
{
    const bc_type *element = bc_type_of(op, F_alloca_result)->elem->elem;
    unsigned needed = bc_kind_memory_bytes((bc_kind)element->kind);
    if (alignment < needed)
        bc_wrong(v, op, F_alloca_alignment, 0, BC_RULE_V_ALC_03, "is %llu, but each %s takes %u bytes",
                 (unsigned long long)alignment, bc_type_words(v, element), needed);
}

void verify_alloca(bc_verifier *v, const bc_op *op)
{
    int64_t count = (int64_t)bc_attr_u(op, F_alloca_num_elem), alignment = (int64_t)bc_attr_u(op, F_alloca_alignment);
    if (count < 0)
        bc_wrong(v, op, F_alloca_num_elem, 0, BC_RULE_V_ALC_01, "is %lld, which is negative", (long long)count);
    if (alignment < 0)
        bc_wrong(v, op, F_alloca_alignment, 0, BC_RULE_V_ALC_01, "is %lld, which is negative", (long long)alignment);
    else if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        bc_wrong(v, op, F_alloca_alignment, 0, BC_RULE_V_ALC_02, "is %lld, which is not a power of two",
                 (long long)alignment);
    else
        check_alloca_size(v, op, (uint64_t)alignment);
}

/* ---- loads and stores ---- */

void verify_load_ptr_tko(bc_verifier *v, const bc_op *op)
{
    if (bc_need_same_shape(v, op, F_load_ptr_tko_result, F_load_ptr_tko_source, BC_RULE_V_LDP_02)
        && check_pointee(v, op, F_load_ptr_tko_result, F_load_ptr_tko_source, BC_RULE_V_LDP_02)
        && bc_operand(op, F_load_ptr_tko_padding_value))
        bc_need_same_type(v, op, F_load_ptr_tko_padding_value, F_load_ptr_tko_result, BC_RULE_V_LDP_05);
    refuse_multicast_pointers(v, op, F_load_ptr_tko_source);
    check_mask(v, op, F_load_ptr_tko_mask, F_load_ptr_tko_source, BC_RULE_V_LDP_04);
    bc_check_memory_order(v, op, F_load_ptr_tko_memory_ordering_semantics, F_load_ptr_tko_memory_scope, BC_LOAD_ORDERS,
                          BC_RULE_V_MEM_01);
    bc_check_op_hints(v, op, F_load_ptr_tko_optimization_hints);
}

void verify_store_ptr_tko(bc_verifier *v, const bc_op *op)
{
    if (bc_need_same_shape(v, op, F_store_ptr_tko_value, F_store_ptr_tko_destination, BC_RULE_V_STP_02))
        check_pointee(v, op, F_store_ptr_tko_value, F_store_ptr_tko_destination, BC_RULE_V_STP_02);
    refuse_multicast_pointers(v, op, F_store_ptr_tko_destination);
    check_mask(v, op, F_store_ptr_tko_mask, F_store_ptr_tko_destination, BC_RULE_V_STP_04);
    bc_check_memory_order(v, op, F_store_ptr_tko_memory_ordering_semantics, F_store_ptr_tko_memory_scope,
                          BC_STORE_ORDERS, BC_RULE_V_MEM_02);
    bc_check_op_hints(v, op, F_store_ptr_tko_optimization_hints);
}

/* ---- atomics ---- */

static void check_atomic_order(bc_verifier *v, const bc_op *op, int row, bc_rule rule)
{
    bc_need_enum(v, op, row, BC_ORDER(relaxed) | BC_ORDER(acquire) | BC_ORDER(release) | BC_ORDER(acq_rel), rule);
}

void verify_atomic_rmw_tko(bc_verifier *v, const bc_op *op)
{
    if (bc_need_same_shape(v, op, F_atomic_rmw_tko_arg, F_atomic_rmw_tko_pointers, BC_RULE_V_RMW_02)
        && check_pointee(v, op, F_atomic_rmw_tko_arg, F_atomic_rmw_tko_pointers, BC_RULE_V_RMW_01)
        && bc_need_same_shape(v, op, F_atomic_rmw_tko_result, F_atomic_rmw_tko_arg, BC_RULE_V_RMW_02)
        && bc_need_same_type(v, op, F_atomic_rmw_tko_result, F_atomic_rmw_tko_arg, BC_RULE_V_RMW_03))
        bc_check_atomic_mode(v, op, F_atomic_rmw_tko_mode, bc_type_of(op, F_atomic_rmw_tko_arg)->elem,
                             BC_RULE_V_RMW_05);
    refuse_multicast_pointers(v, op, F_atomic_rmw_tko_pointers);
    check_mask(v, op, F_atomic_rmw_tko_mask, F_atomic_rmw_tko_pointers, BC_RULE_V_RMW_04);
    check_atomic_order(v, op, F_atomic_rmw_tko_memory_ordering_semantics, BC_RULE_V_RMW_06);
}

static bool check_cas_element(bc_verifier *v, const bc_op *op)
{
    const bc_type *val = bc_type_of(op, F_atomic_cas_tko_val);
    if (bc_kind_in((bc_kind)val->elem->kind, BC_SET(I32) | BC_SET(I64) | BC_SET(F32) | BC_SET(F64)))
        return true;
    return bc_wrong(v, op, F_atomic_cas_tko_val, 0, BC_RULE_V_CAS_04, "is %s, but elements are i32, i64, f32 or f64",
                    bc_type_words(v, val));
}

void verify_atomic_cas_tko(bc_verifier *v, const bc_op *op)
{
    if (bc_need_same_shape(v, op, F_atomic_cas_tko_val, F_atomic_cas_tko_pointers, BC_RULE_V_CAS_02)
        && check_pointee(v, op, F_atomic_cas_tko_val, F_atomic_cas_tko_pointers, BC_RULE_V_CAS_01)
        && check_cas_element(v, op)
        && bc_need_same_shape(v, op, F_atomic_cas_tko_cmp, F_atomic_cas_tko_val, BC_RULE_V_CAS_02)
        && bc_need_same_type(v, op, F_atomic_cas_tko_cmp, F_atomic_cas_tko_val, BC_RULE_V_CAS_03)
        && bc_need_same_shape(v, op, F_atomic_cas_tko_result, F_atomic_cas_tko_val, BC_RULE_V_CAS_02))
        bc_need_same_type(v, op, F_atomic_cas_tko_result, F_atomic_cas_tko_val, BC_RULE_V_CAS_03);
    refuse_multicast_pointers(v, op, F_atomic_cas_tko_pointers);
    check_mask(v, op, F_atomic_cas_tko_mask, F_atomic_cas_tko_pointers, BC_RULE_V_CAS_05);
    check_atomic_order(v, op, F_atomic_cas_tko_memory_ordering_semantics, BC_RULE_V_CAS_06);
}
