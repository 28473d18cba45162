/* The G rules: can the module run on the target that was asked for? Without `reference`, what no program could make
   up for on that chip is refused; with it, also what NVIDIA's compiler does not accept there.
   Source: core operation reference, 1.1; memory operation reference, T marks and sections 2.3, 3.3, 5.1, 6, 7, 8;
   where versions of the compiler differ, 13.5: it takes every padding value and `inbounds` together with padding. */
#include "bytecode/verify/verify.h"

/* ---- targets ---- */

#define PLAIN_KINDS (BC_SET_INT | BC_SET(I4) | BC_SET_BASE_FLOAT | BC_SET(TF32) | BC_SET(PTR))
#define F8_KINDS (BC_SET(F8E4M3FN) | BC_SET(F8E5M2))
#define SMALL_KINDS (BC_SET(F8E8M0FNU) | BC_SET(F4E2M1FN))

/* A chip, and what NVIDIA's compiler has for it. */
typedef struct target {
    unsigned sm;
    bool compiled;     /* NVIDIA's compiler has the chip */
    bc_kind_set kinds; /* element types that ops may handle */
    bool bf16_atomics;
    bool multimem;
    bool multimem_chip; /* the chip has the instructions, whatever the compiler says */
    bool clusters;      /* blocks can be joined: num_cta_in_cga above 1 */
} target;

static const target targets[] = {
    {75, false, PLAIN_KINDS, false, false, false, false},
    {80, true, PLAIN_KINDS, false, false, false, false},
    {86, true, PLAIN_KINDS, false, false, false, false},
    {87, true, PLAIN_KINDS, false, false, false, false},
    {88, true, PLAIN_KINDS, false, false, false, false},
    {89, true, PLAIN_KINDS | F8_KINDS, true, false, false, false},
    {90, true, PLAIN_KINDS | F8_KINDS, true, false, true, true},
    {100, true, PLAIN_KINDS | F8_KINDS | SMALL_KINDS, true, true, true, true},
    {103, true, PLAIN_KINDS | F8_KINDS | SMALL_KINDS, true, true, true, true},
    {107, true, PLAIN_KINDS | F8_KINDS | SMALL_KINDS | BC_SET(FNV8E5M3FNU), true, true, true, true},
    {110, true, PLAIN_KINDS | F8_KINDS | SMALL_KINDS, true, false, true, true},
    {120, true, PLAIN_KINDS | F8_KINDS | SMALL_KINDS, true, false, true, true},
    {121, true, PLAIN_KINDS | F8_KINDS | SMALL_KINDS, true, false, true, true},
};

static const target *find_target(unsigned sm)
{
    for (unsigned i = 0; i < TV_COUNT(targets); i++)
        if (targets[i].sm == sm)
            return &targets[i];
    return NULL;
}

unsigned bc_target_at(size_t index)
{
    return index < TV_COUNT(targets) ? targets[index].sm : 0;
}

bool bc_is_target(unsigned sm)
{
    return find_target(sm) != NULL;
}

bool bc_target_has_clusters(unsigned sm)
{
    const target *t = find_target(sm);
    return t && t->clusters;
}

void bc_check_target_name(bc_verifier *v)
{
    const target *t = find_target(v->target);
    if (!v->target || (t && (t->compiled || !v->reference)))
        return;
    bc_text known;
    bc_text_init(&known, &v->allocator);
    for (unsigned i = 0; i < TV_COUNT(targets); i++)
        if (targets[i].compiled || !v->reference)
            bc_text_printf(&known, known.len ? ", sm_%u" : "sm_%u", targets[i].sm);
    bc_wrong_at(v, TV_NO_OFFSET, BC_RULE_G_TGT_01, TV_ERROR, "sm_%u is no known target; known are %s", v->target,
                bc_text_words(&known));
    bc_text_release(&known);
    v->target = 0;
}

/* The nearest targets that have it, in words: "sm_100 and up" where that is so. */
static const char *who_has(bc_text *text, bool (*has)(const target *, bc_kind), bc_kind kind)
{
    unsigned first = 0;
    while (first < TV_COUNT(targets) && !has(&targets[first], kind))
        first++;
    unsigned last = first;
    while (last < TV_COUNT(targets) && has(&targets[last], kind))
        last++;
    if (last == TV_COUNT(targets) && first < last) {
        bc_text_printf(text, "sm_%u and later have it", targets[first].sm);
    } else {
        for (unsigned i = first; i < TV_COUNT(targets); i++)
            if (has(&targets[i], kind))
                bc_text_printf(text, i > first ? ", sm_%u" : "sm_%u", targets[i].sm);
        bc_text_puts(text, last > first + 1 ? " have it" : " has it");
    }
    return bc_text_words(text);
}

static bool has_kind(const target *t, bc_kind kind)
{
    return bc_kind_in(kind, t->kinds);
}

static bool has_bf16_atomics(const target *t, bc_kind kind)
{
    (void)kind;
    return t->bf16_atomics;
}

static bool has_multimem(const target *t, bc_kind kind)
{
    (void)kind;
    return t->multimem;
}

static bool has_multimem_chip(const target *t, bc_kind kind)
{
    (void)kind;
    return t->multimem_chip;
}

static void not_on_target(bc_verifier *v, const bc_op *op, int row, bc_rule rule, const char *what,
                          bool (*has)(const target *, bc_kind), bc_kind kind)
{
    bc_text text;
    bc_text_init(&text, &v->allocator);
    bc_wrong(v, op, row, 0, rule, "%s on sm_%u; %s", what, v->target, who_has(&text, has, kind));
    bc_text_release(&text);
}

/* ---- element types ---- */

/* The number that a type is made of, also the one that is pointed to or viewed: an op that handles no more than the
   address is refused as well. */
static bc_kind number_of(const bc_type *t)
{
    while (t->elem)
        t = t->elem;
    return bc_kind_in((bc_kind)t->kind, BC_SET_NUMBER) ? (bc_kind)t->kind : BC_I1;
}

static void check_kind(bc_verifier *v, const bc_op *op, const target *t, bc_kind kind)
{
    if (TV_LIKELY(bc_kind_in(kind, t->kinds | v->refused)))
        return;
    v->refused |= (bc_kind_set)1 << kind; /* one report for a function */
    bc_text text;
    bc_text_init(&text, &v->allocator);
    bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_G_TYP_01, "handles %s, which is not supported on sm_%u; %s",
             bc_kinds[kind].text, v->target, who_has(&text, has_kind, kind));
    bc_text_release(&text);
}

static void check_kinds(bc_verifier *v, const bc_op *op, const target *t)
{
    for (unsigned i = 0; i < op->result_count; i++)
        check_kind(v, op, t, number_of(bc_results(op)[i].type));
    for (unsigned i = 0; i < op->operand_count; i++)
        check_kind(v, op, t, number_of(bc_operands(op)[i]->type));
}

/* ---- pointer classification (reference) ---- */

static uint8_t ptr_attr_of(const bc_type *t)
{
    if (bc_is_tile(t) && t->elem->kind == BC_PTR)
        return t->elem->ptr_attr;
    if (bc_is_tile_view(t))
        t = t->elem;
    return t->kind == BC_TENSOR_VIEW ? t->ptr_attr : BC_NO_PTR_ATTR;
}

static void check_ptr_attr(bc_verifier *v, const bc_op *op, const bc_type *type)
{
    uint8_t attr = ptr_attr_of(type);
    if (TV_LIKELY(attr == BC_NO_PTR_ATTR || attr == BC_PtrAttr_none) || bc_kind_in(BC_PTR, v->refused))
        return;
    v->refused |= BC_SET(PTR); /* one report for a function */
    bc_text text;
    bc_text_init(&text, &v->allocator);
    bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_G_MML_02, "handles %s addresses, which is not supported on sm_%u; %s",
             bc_enum_text(BC_ENUM_PtrAttr, attr), v->target, who_has(&text, has_multimem, BC_PTR));
    bc_text_release(&text);
}

static void check_ptr_attrs(bc_verifier *v, const bc_op *op)
{
    for (unsigned i = 0; i < op->result_count; i++)
        check_ptr_attr(v, op, bc_results(op)[i].type);
    for (unsigned i = 0; i < op->operand_count; i++)
        check_ptr_attr(v, op, bc_operands(op)[i]->type);
}

/* ---- ops with limits of their own (reference) ---- */

static void check_atomic(bc_verifier *v, const bc_op *op, const target *t, int mode_row, int value_row)
{
    if (bc_attr_u(op, mode_row) == BC_AtomicRMWMode_addf && !t->bf16_atomics
        && bc_elem_kind(bc_type_of(op, value_row)) == BC_BF16)
        not_on_target(v, op, mode_row, BC_RULE_G_ATO_01, "is addf of bf16, which is not compiled", has_bf16_atomics,
                      BC_BF16);
}

/* Rows of f4E2M1FN start at a byte: every stride but the one of the packing dimension is even. Unknown ones may be. */
static void check_f4_strides(bc_verifier *v, const bc_op *op, int view_row)
{
    const bc_type *tensor = bc_type_of(op, view_row)->elem;
    for (uint32_t d = 0; tensor->elem->kind == BC_F4E2M1FN && d < tensor->rank; d++)
        if (tensor->strides[d] != 1 && tensor->strides[d] % 2 != 0)
            bc_wrong(v, op, view_row, 0, BC_RULE_G_F4_01, "is a view of %s, whose stride %u is odd",
                     bc_type_words(v, tensor), d);
}

/* The index along the sparse dimension of a gather_scatter_view. */
static void check_sparse_index(bc_verifier *v, const bc_op *op, int view_row, int index_row)
{
    const bc_type *view = bc_type_of(op, view_row);
    if (view->kind != BC_GATHER_SCATTER_VIEW)
        return;
    bc_kind sparse = bc_elem_kind(bc_operand_of(op, index_row, view->sparse_dim)->type);
    if (bc_kind_bits(sparse) < 32)
        bc_wrong(v, op, index_row, view->sparse_dim, BC_RULE_G_GSI_01, "has elements of %s; i32 and i64 are compiled",
                 bc_kinds[sparse].text);
}

static void check_aggregate(bc_verifier *v, const bc_op *op)
{
    for (unsigned i = 0; i < op->operand_count; i++) {
        bc_kind kind = bc_elem_kind(bc_operands(op)[i]->type);
        if (bc_kind_in(kind, BC_SET_FLOAT & ~BC_SET_BASE_FLOAT)) {
            bc_wrong(v, op, bc_info(op)->first_row + bc_info(op)->result_rows + bc_info(op)->attr_rows, i,
                     BC_RULE_G_AGG_01, "has elements of %s; f16, bf16, f32 and f64 are compiled", bc_kinds[kind].text);
            return;
        }
    }
}

static void check_reference(bc_verifier *v, const bc_op *op, const target *t)
{
    switch (op->opcode) {
    case OP_atomic_rmw_tko: check_atomic(v, op, t, F_atomic_rmw_tko_mode, F_atomic_rmw_tko_arg); return;
    case OP_atomic_red_view_tko:
        check_atomic(v, op, t, F_atomic_red_view_tko_mode, F_atomic_red_view_tko_value);
        return;
    case OP_load_view_tko:
        check_sparse_index(v, op, F_load_view_tko_view, F_load_view_tko_index);
        check_f4_strides(v, op, F_load_view_tko_view);
        return;
    case OP_store_view_tko:
        check_sparse_index(v, op, F_store_view_tko_view, F_store_view_tko_index);
        check_f4_strides(v, op, F_store_view_tko_view);
        return;
    case OP_reduce:
    case OP_scan: check_aggregate(v, op); return;
    default: return;
    }
}

/* ---- what the chip itself cannot do ---- */

/* Padding that the element type has no bits for. */
static bool padding_exists(bc_PaddingValue padding, bc_kind kind)
{
    if (kind == BC_F4E2M1FN || kind == BC_F8E8M0FNU || kind == BC_FNV8E5M3FNU || kind == BC_F8E4M3FN)
        return padding == BC_PaddingValue_zero || (padding == BC_PaddingValue_nan && kind != BC_F4E2M1FN)
               || (padding == BC_PaddingValue_neg_zero && (kind == BC_F8E4M3FN || kind == BC_F4E2M1FN));
    return true;
}

static void check_padding(bc_verifier *v, const bc_op *op)
{
    const bc_type *view = bc_type_of(op, F_load_view_tko_view);
    if (view->padding != BC_NO_PADDING
        && !padding_exists((bc_PaddingValue)view->padding, (bc_kind)view->elem->elem->kind))
        bc_wrong(v, op, F_load_view_tko_view, 0, BC_RULE_G_PAD_01, "pads with %s, which %s does not have",
                 bc_enum_text(BC_ENUM_PaddingValue, view->padding), bc_type_words(v, view->elem->elem));
}

static void check_chip(bc_verifier *v, const bc_op *op, const target *t)
{
    switch (op->opcode) {
    case OP_load_view_tko: check_padding(v, op); return;
    case OP_multimem_load_reduce_view_tko:
    case OP_multimem_reduce_view_tko:
    case OP_multimem_store_view_tko:
        if (!t->multimem_chip)
            not_on_target(v, op, BC_NO_ROW, BC_RULE_G_MML_01, "needs memory that a switch shares, which is not there",
                          has_multimem_chip, BC_F32);
        return;
    default: return;
    }
}

/* ---- entry points ---- */

void bc_check_target(bc_verifier *v, const bc_op *op)
{
    const target *t = find_target(v->target);
    if (!v->reference) {
        check_chip(v, op, t);
        return;
    }
    check_kinds(v, op, t);
    if (!t->multimem)
        check_ptr_attrs(v, op);
    if (!v->op_bad)
        check_reference(v, op, t);
}
