/* The ops of a body: walks every op once, checks what the tables say about it, then calls its hook (verify.h says what
   a hook may rely on). Time is linear in the size of the body. */
#include "bytecode/verify/verify.h"

/* ---- tables ---- */

static bc_verify_fn *const hooks[OP_LIMIT] = {
#define OP(name, ...) [OP_##name] = verify_##name,
#include "bytecode/ops.def"
};

/* The rule behind the constraint of a result or operand row: the row's own, or that of its op. */
enum {
#define OP_RULE(op, rule) OP_RULE_##op = BC_RULE_##rule,
#include "bytecode/verify/verify.def"
};
static const uint16_t op_rules[OP_LIMIT] = {
#define OP(name, ...) [OP_##name] = OP_RULE_##name,
#include "bytecode/ops.def"
};
static const uint16_t row_rules[BC_ROW_COUNT] = {
#define ROW_RULE(op, row, rule) [F_##op##_##row] = BC_RULE_##rule,
#include "bytecode/verify/verify.def"
};

static bc_rule rule_of_row(const bc_op *op, const bc_row *row)
{
    unsigned own = row_rules[row - bc_rows]; /* 0, the first F rule, is never a row's */
    return (bc_rule)(own ? own : op_rules[op->opcode]);
}

/* ---- results and operands against their rows ---- */

/* Fields of one op that share a wrong type are one problem: only the first is reported. */
static bool misfit(bc_verifier *v, const bc_op *op, const bc_row *row, unsigned index, const bc_type *t)
{
    if (v->misfit == t)
        return false;
    v->misfit = t;
    if (t->kind == BC_FUNCTION && bc_constraints[row->constraint].form == BC_FORM_ANY)
        return bc_wrong(v, op, (int)(row - bc_rows), index, BC_RULE_V_YLD_03, "is %s, which is no type of a value",
                        bc_type_words(v, t));
    return bc_wrong(v, op, (int)(row - bc_rows), index, rule_of_row(op, row), "is %s; it must be %s",
                    bc_type_words(v, t), bc_constraints[row->constraint].text);
}

static bool check_fit(bc_verifier *v, const bc_op *op, const bc_row *row, unsigned index, const bc_type *t)
{
    return TV_LIKELY(bc_type_fits(t, &bc_constraints[row->constraint])) || misfit(v, op, row, index, t);
}

static bool wrong_result_count(bc_verifier *v, const bc_op *op, unsigned least, bool more)
{
    if (op->result_count < least || !more)
        return bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_F_077, "has %u result%s; it gives %s%u", op->result_count,
                        bc_plural(op->result_count), more ? "at least " : "", least);
    return true;
}

static bool check_results(bc_verifier *v, const bc_op *op, const bc_op_info *info)
{
    const bc_row *rows = bc_result_rows(info);
    unsigned row_count = info->result_rows;
    while (row_count && rows[row_count - 1].since > v->m->version) /* newer results are not there (print_tko) */
        row_count--;
    bool more = row_count && rows[row_count - 1].arity == BC_VARIADIC;
    unsigned least = row_count - more;
    if (TV_UNLIKELY(op->result_count != least) && !wrong_result_count(v, op, least, more))
        return false;
    const bc_value *results = bc_results(op);
    bool fine = true;
    for (unsigned i = 0; i < op->result_count; i++) {
        unsigned r = i < row_count ? i : row_count - 1;
        int row = (int)(&rows[r] - bc_rows);
        if (!bc_check_type(v, op, row, i - r, results[i].type)) {
            v->op_bad = true; /* reported now or before */
            fine = false;
        } else if (!check_fit(v, op, &rows[r], i - r, results[i].type)) {
            fine = false;
        }
    }
    return fine;
}

static bool check_range(bc_verifier *v, const bc_op *op, const bc_row *row, unsigned first, unsigned count)
{
    bool fine = true;
    for (unsigned i = 0; i < count; i++) {
        const bc_type *t = bc_operands(op)[first + i]->type;
        if (TV_UNLIKELY(v->type_state[t->index] == BC_TYPE_WRONG))
            fine = false;
        else if (!check_fit(v, op, row, i, t))
            fine = false;
    }
    return fine;
}

static bool check_operands(bc_verifier *v, const bc_op *op, const bc_op_info *info)
{
    const bc_row *rows = bc_operand_rows(info);
    bool segmented = info->mode == BC_MODE_SEGMENTED, fine = true;
    bc_segments segments = {0};
    if (segmented)
        segments = bc_get_segments(op);
    unsigned at = 0, variadic = 0;
    for (unsigned r = 0; r < info->operand_rows; r++) {
        unsigned count = 1;
        if (rows[r].arity == BC_OPTIONAL)
            count = segmented ? (unsigned)segments.present >> r & 1 : op->operand_count > at;
        else if (rows[r].arity == BC_VARIADIC)
            count = segmented ? segments.count[variadic++] : op->operand_count - at;
        fine = check_range(v, op, &rows[r], at, count) && fine;
        at += count;
    }
    return fine;
}

/* ---- versions ---- */

/* Is the attribute something that the version can only express by leaving it out? */
static bool is_default(const bc_op *op, const bc_row *row, bc_attr attr)
{
    (void)op;
    if (row->kind == BC_FLAG)
        return attr.u == 0;
    if (row->encoding == BC_ENC_BOOLS) {
        for (uint32_t i = 0; attr.ints && i < attr.ints->count; i++)
            if (attr.ints->ptr[i])
                return false;
        return true;
    }
    return attr.u == row->older;
}

static bool check_attr_version(bc_verifier *v, const bc_op *op, const bc_row *row, bc_attr attr)
{
    if (row->since > v->m->version && !is_default(op, row, attr))
        return bc_wrong(v, op, (int)(row - bc_rows), 0, BC_RULE_W_01, "needs version 13.%d; the module is 13.%d",
                        row->since, v->m->version);
    if (row->encoding != BC_ENC_ENUM || attr.u == BC_ABSENT)
        return true;
    const bc_enum_value *value = bc_enum_find((bc_enum_id)row->enum_id, attr.u);
    if (!value || value->since <= v->m->version)
        return true;
    return bc_wrong(v, op, (int)(row - bc_rows), 0, BC_RULE_F_080, "'%s' needs version 13.%d; the module is 13.%d",
                    value->text, value->since, v->m->version);
}

static bool check_operand_versions(bc_verifier *v, const bc_op *op, const bc_op_info *info)
{
    for (unsigned r = 0; r < info->operand_rows; r++) {
        const bc_row *row = &bc_operand_rows(info)[r];
        if (row->since > v->m->version && bc_operand_range_at(op, r).count)
            return bc_wrong(v, op, (int)(row - bc_rows), 0, BC_RULE_W_01, "needs version 13.%d; the module is 13.%d",
                            row->since, v->m->version);
    }
    return true;
}

/* Older modules: nothing in the op may be newer. */
static bool check_versions(bc_verifier *v, const bc_op *op, const bc_op_info *info)
{
    if (info->since > v->m->version)
        return bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_W_01, "needs version 13.%d; the module is 13.%d", info->since,
                        v->m->version);
    for (unsigned i = 0; i < info->attr_rows; i++)
        if (!check_attr_version(v, op, &bc_attr_rows(info)[i], bc_attrs(op)[i]))
            return false;
    return check_operand_versions(v, op, info);
}

static bool has_newer_field(const bc_op_info *info, bc_version version)
{
    unsigned count = (unsigned)info->result_rows + info->attr_rows + info->operand_rows;
    for (unsigned i = 0; i < count; i++) {
        const bc_row *row = &bc_rows[info->first_row + i];
        if (row->since > version)
            return true;
        for (unsigned e = 0; row->encoding == BC_ENC_ENUM && bc_enum_at((bc_enum_id)row->enum_id, e); e++)
            if (bc_enum_at((bc_enum_id)row->enum_id, e)->since > version)
                return true;
    }
    return info->since > version;
}

/* Found out once for each op that occurs. */
static bool needs_version_check(bc_verifier *v, const bc_op *op, const bc_op_info *info)
{
    enum { NOT_ASKED, YES, NO };
    uint8_t *newer = &v->newer[op->opcode];
    if (*newer == NOT_ASKED)
        *newer = has_newer_field(info, v->m->version) ? YES : NO;
    return *newer == YES;
}

/* ---- blocks ---- */

static bool check_block(bc_verifier *v, const bc_op *op, int row, const bc_block *block)
{
    if (!block->last || !(bc_info(block->last)->traits & BC_TERMINATOR))
        return bc_wrong(v, op, row, 0, BC_RULE_F_087, "must end with yield, break, continue or return");
    for (uint32_t i = 0; i < block->arg_count; i++) {
        const bc_type *t = block->args[i].type;
        if (!bc_check_type(v, op, row, i + 1, t)) {
            v->op_bad = true;
            return false;
        }
        if (t->kind == BC_FUNCTION)
            return bc_wrong(v, op, row, i + 1, BC_RULE_V_YLD_03, "is %s, which is no type of a value",
                            bc_type_words(v, t));
    }
    return true;
}

static bool check_regions(bc_verifier *v, const bc_op *op, const bc_op_info *info)
{
    bool fine = true;
    for (unsigned i = 0; i < info->region_rows; i++) {
        const bc_row *row = &bc_region_rows(info)[i];
        const bc_block *block = bc_regions(op)[i];
        int at = (int)(row - bc_rows);
        if (block)
            fine = check_block(v, op, at, block) && fine;
        else if (row->arity != BC_OPTIONAL)
            fine = bc_wrong(v, op, at, 0, BC_RULE_F_088, "is missing");
    }
    return fine;
}

/* ---- ops ---- */

static bool check_table(bc_verifier *v, const bc_op *op, const bc_op_info *info)
{
    if (needs_version_check(v, op, info) && !check_versions(v, op, info))
        return false;
    bool fine = check_operands(v, op, info);
    fine = check_results(v, op, info) && fine;
    if (info->region_rows)
        fine = check_regions(v, op, info) && fine;
    return fine;
}

static void check_op(bc_verifier *v, const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    v->op_bad = false;
    v->misfit = NULL;
    if (info->traits & BC_TERMINATOR && op->next)
        bc_wrong(v, op->next, BC_NO_ROW, 0, BC_RULE_V_STR_02, "follows '%s', which ends the block", info->name);
    if (info->traits & BC_EFFECTS && v->pure)
        bc_check_effects(v, op);
    bool fits_table = check_table(v, op, info);
    if (TV_LIKELY(fits_table))
        hooks[op->opcode](v, op);
    if (op->loc && v->m->debug_count)
        bc_check_debug_scope(v, op);
    if (v->target && fits_table && !v->op_bad)
        bc_check_target(v, op);
    if (TV_UNLIKELY(v->op_bad))
        bc_suspect(v, op);
}

static void check_ops(bc_verifier *v, const bc_block *block);

static void enter_regions(bc_verifier *v, const bc_op *op)
{
    if (v->depth == TV_COUNT(v->frames))
        return; /* the reader and the parser keep below that */
    bool is_pure = bc_op_in(op->opcode, BC_OPS(FOLD));
    v->frames[v->depth++] = (bc_frame){op, v->op_bad};
    v->pure += is_pure;
    for (unsigned i = 0; i < op->region_count; i++)
        if (bc_regions(op)[i])
            check_ops(v, bc_regions(op)[i]);
    v->pure -= is_pure;
    v->depth--;
}

static void check_ops(bc_verifier *v, const bc_block *block)
{
    for (const bc_op *op = block->first; op && !v->done; op = op->next) {
        check_op(v, op);
        if (op->region_count)
            enter_regions(v, op);
    }
}

void bc_check_op(bc_verifier *v, const bc_op *op)
{
    check_op(v, op);
    enter_regions(v, op);
}

void bc_check_body(bc_verifier *v, const bc_function *f)
{
    if (f->body)
        check_ops(v, f->body);
    if (v->suspect)
        memset(v->suspect, 0, v->suspect_size);
}
