/* Which of the two forms an op is printed in. The assembly form of an op leaves out what follows from the rest (a
   result that has the type of an operand, the arguments of a loop); where that does not hold, as in a module that is
   being diagnosed, the generic form says everything. So reading the text back always gives the same module. */
#include "bytecode/print/op.h"

/* Rows by their place in the op. */
typedef uint32_t row_set;

typedef struct fit {
    const bc_module *m;
    const bc_op *op;
    const bc_op_info *info;
    row_set said;       /* rows whose values or regions the text shows */
    row_set typed;      /* results whose types it states */
    uint32_t args_said; /* arguments of the first region that it shows */
    bool bad;
} fit;

static row_set row_bit(const fit *f, int row)
{
    return (row_set)1 << (row - f->info->first_row);
}

/* ---- what is there ---- */

/* Results of a row: a fixed one each, the variadic row takes the rest. */
static bc_range result_range(const bc_op *op, int row)
{
    const bc_op_info *info = bc_info(op);
    uint32_t i = (uint32_t)(row - info->first_row);
    if (bc_rows[row].arity == BC_VARIADIC)
        return (bc_range){i, op->result_count > i ? op->result_count - i : 0};
    return (bc_range){i, i < op->result_count};
}

uint32_t bc_ref_count(const bc_op *op, bc_ref ref)
{
    if (ref.row == BC_REF_ARGS) {
        const bc_block *block = op->region_count ? bc_regions(op)[0] : NULL;
        uint32_t args = block && block->arg_count > ref.arg ? block->arg_count - ref.arg : 0;
        return ref.rest || !args ? args : 1;
    }
    return bc_rows[ref.row].kind == BC_RESULT ? result_range(op, ref.row).count : bc_operand_range(op, ref.row).count;
}

const bc_value *bc_ref_value(const bc_op *op, bc_ref ref, uint32_t i)
{
    if (ref.row == BC_REF_ARGS)
        return &bc_regions(op)[0]->args[ref.arg + i];
    if (bc_rows[ref.row].kind == BC_RESULT)
        return &bc_results(op)[result_range(op, ref.row).first + i];
    return bc_operands(op)[bc_operand_range(op, ref.row).first + i];
}

static bool row_is_there(const bc_op *op, const bc_piece *group, int row)
{
    const bc_row *r = &bc_rows[row];
    if (r->kind == BC_RESULT || r->kind == BC_OPERAND)
        return bc_ref_count(op, (bc_ref){.row = (int16_t)row}) > 0;
    if (r->kind == BC_REGION)
        return bc_regions(op)[row - (bc_region_rows(bc_info(op)) - bc_rows)] != NULL;
    const bc_attr *attr = bc_attr_of(op, row);
    return group->has_word ? attr->u != group->word : bc_attr_is_there(r, attr);
}

/* A scalar pointer without attribute to the element type of result 0. */
static bool is_implied_pointer(const bc_op *op, const bc_type *t)
{
    const bc_type *result = op->result_count ? bc_results(op)[0].type : NULL;
    return result && bc_is_tile(t) && t->rank == 0 && t->elem->kind == BC_PTR && t->elem->ptr_attr == BC_NO_PTR_ATTR
           && t->elem->elem == result->elem;
}

bool bc_group_is_there(const bc_piece *group, const bc_op *op)
{
    if (group->unless_implied)
        return !is_implied_pointer(op, bc_ref_value(op, group->refs[0], 0)->type);
    for (unsigned i = 0; i < group->ref_count; i++)
        if (row_is_there(op, group, group->refs[i].row))
            return true;
    return false;
}

bool bc_can_leave_out(const bc_block *block, uint8_t opcode, bool debug_info)
{
    const bc_op *last = block->last;
    bool silent = last && last->opcode == opcode && last->result_count == 0 && last->operand_count == 0;
    return silent && (!debug_info || last->loc == block->parent->loc);
}

/* ---- what is said ---- */

static void say_types(fit *f, const bc_piece *piece)
{
    const bc_type *first = NULL;
    uint32_t total = 0;
    for (unsigned r = 0; r < piece->ref_count; r++) {
        bc_ref ref = piece->refs[r];
        uint32_t count = bc_ref_count(f->op, ref);
        if (r && !piece->either && count != bc_ref_count(f->op, piece->refs[0])) {
            f->bad = true;
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            const bc_type *type = bc_ref_value(f->op, ref, i)->type;
            if (!first)
                first = type;
            f->bad |= piece->splat && type->kind == BC_TOKEN
                      && bc_rows[ref.row].kind == BC_OPERAND; /* ", token" may follow */
            const bc_type *like = piece->splat || piece->either ? first : bc_ref_value(f->op, piece->refs[0], i)->type;
            if (type != like && !(piece->splat && !piece->either && bc_rows[ref.row].kind == BC_OPERAND))
                f->bad = true;
        }
        total += count;
        if (ref.row != BC_REF_ARGS && bc_rows[ref.row].kind == BC_RESULT)
            f->typed |= row_bit(f, ref.row);
    }
    if (total == 0) /* nothing cannot be read back; and results that the version cannot write are there after all */
        f->bad |= !bc_unwritten_result(f->m, f->op);
}

static void say_args(fit *f, const bc_piece *piece)
{
    bc_ref ref = piece->refs[0];
    uint32_t count = bc_ref_count(f->op, ref);
    if (count == 0 && !ref.rest)
        f->bad = true;
    if (piece->kind == BC_PIECE_ASSIGN) {
        f->bad |= bc_ref_count(f->op, piece->refs[1]) != count;
        f->said |= row_bit(f, piece->refs[1].row);
    }
    if (ref.arg + count > f->args_said)
        f->args_said = ref.arg + count;
}

static void say_sizes(fit *f, const bc_piece *piece)
{
    f->said |= row_bit(f, piece->refs[0].row);
    const bc_type *type = f->op->result_count ? bc_results(f->op)[0].type : NULL;
    if (!type || type->kind != BC_TENSOR_VIEW) {
        f->bad = true;
        return;
    }
    const int64_t *sizes = piece->strides ? type->strides : type->shape;
    uint32_t count = piece->strides ? type->result_count : type->rank, dynamic = 0;
    for (uint32_t i = 0; i < count; i++)
        dynamic += sizes[i] == BC_DYNAMIC;
    f->bad |= dynamic != bc_ref_count(f->op, piece->refs[0]);
}

static void say_region(fit *f, const bc_piece *piece)
{
    int row = piece->refs[0].row;
    const bc_block *block = bc_regions(f->op)[row - (bc_region_rows(f->info) - bc_rows)];
    f->said |= row_bit(f, row);
    bool terminated = block && block->last && bc_info(block->last)->traits & BC_TERMINATOR;
    f->bad |= !terminated || block->arg_count != f->args_said;
}

static void say_piece(fit *f, const bc_piece *piece)
{
    switch ((bc_piece_kind)piece->kind) {
    case BC_PIECE_VALUE:
    case BC_PIECE_SYMBOL: f->said |= row_bit(f, piece->refs[0].row); break;
    case BC_PIECE_DICT: f->said |= row_bit(f, piece->refs[0].row); break;
    case BC_PIECE_TYPES: say_types(f, piece); break;
    case BC_PIECE_TOKEN:
        f->typed |= row_bit(f, piece->refs[0].row);
        f->bad |= bc_ref_count(f->op, piece->refs[0]) != 1
                  || bc_ref_value(f->op, piece->refs[0], 0)->type->kind != BC_TOKEN;
        break;
    case BC_PIECE_ARGS:
    case BC_PIECE_ASSIGN: say_args(f, piece); break;
    case BC_PIECE_SIZES: say_sizes(f, piece); break;
    case BC_PIECE_ARG_LIST: f->args_said = bc_ref_count(f->op, (bc_ref){.row = BC_REF_ARGS, .rest = true}); break;
    case BC_PIECE_REGION: say_region(f, piece); break;
    case BC_PIECE_END:
    case BC_PIECE_TEXT:
    case BC_PIECE_GROUP:
    case BC_PIECE_ELSE:
    case BC_PIECE_CLOSE: break;
    }
}

/* Anchors of groups: a flag has nothing else to show, and an absent row or a default is said by the missing text. */
static void say_anchor(fit *f, const bc_piece *group, bool there)
{
    for (unsigned i = 0; i < group->ref_count; i++) {
        int row = group->refs[i].row;
        if (bc_rows[row].kind == BC_FLAG || (group->has_word && !there))
            f->said |= row_bit(f, row);
    }
}

/* Would the parser give each operand of a run of groups to the row that it belongs to? */
static void check_run(fit *f, const bc_format *format, unsigned first)
{
    uint32_t used = 0;
    unsigned at = first;
    for (unsigned k = 0; format->pieces[at].kind == BC_PIECE_GROUP; k++, at = bc_group_end(format, at)) {
        int row = bc_group_operand(format, at);
        if (row < 0 || !bc_group_is_there(&format->pieces[at], f->op))
            continue;
        const bc_type *type = bc_ref_value(f->op, (bc_ref){.row = (int16_t)row}, 0)->type;
        f->bad |= bc_choose_group(format, first, used, at, type) != at;
        used |= 1u << k;
    }
}

/* A type that is stated only when it is not implied must not be taken for the one that follows. */
static void check_unless_implied(fit *f, const bc_piece *group)
{
    bc_range range = bc_operand_range(f->op, group->refs[0].row);
    const bc_type *type = bc_operands(f->op)[range.first]->type;
    for (uint32_t i = 0; i < f->op->operand_count; i++)
        f->bad |= i != range.first && bc_operands(f->op)[i]->type == type;
}

static bool everything_said(const fit *f)
{
    const bc_op_info *info = f->info;
    const bc_row *rows = &bc_rows[info->first_row];
    unsigned count = (unsigned)info->result_rows + info->attr_rows + info->operand_rows + info->region_rows;
    for (unsigned i = 0; i < count; i++) {
        int row = info->first_row + (int)i;
        bc_piece there = {.kind = BC_PIECE_GROUP};
        if (rows[i].kind == BC_RESULT && !(f->typed >> i & 1) && bc_ref_count(f->op, (bc_ref){.row = (int16_t)row}))
            return false;
        if (rows[i].kind != BC_RESULT && !(f->said >> i & 1) && row_is_there(f->op, &there, row))
            return false;
    }
    return true;
}

static bool has_the_results(const fit *f)
{
    const bc_row *rows = bc_result_rows(f->info);
    uint32_t fixed = 0;
    bool variadic = false;
    for (unsigned i = 0; i < f->info->result_rows; i++) {
        fixed += rows[i].arity == BC_ONE;
        variadic |= rows[i].arity == BC_VARIADIC;
    }
    uint32_t count = f->op->result_count;
    return count == fixed || (variadic && count > fixed) || bc_unwritten_result(f->m, f->op);
}

bool bc_fits_format(const bc_format *format, const bc_module *m, const bc_op *op)
{
    fit f = {.m = m, .op = op, .info = bc_info(op)};
    if (!has_the_results(&f))
        return false;
    for (unsigned i = 0; i < format->piece_count && !f.bad; i++) {
        const bc_piece *piece = &format->pieces[i];
        if (piece->kind == BC_PIECE_GROUP) {
            if (i == 0 || piece[-1].kind != BC_PIECE_CLOSE)
                check_run(&f, format, i);
            if (piece->unless_implied)
                check_unless_implied(&f, piece);
            bool there = bc_group_is_there(piece, op);
            say_anchor(&f, piece, there);
            if (!there)
                i = piece->jump;
        } else if (piece->kind == BC_PIECE_ELSE) {
            i = piece->jump;
        } else {
            say_piece(&f, piece);
        }
    }
    return !f.bad && everything_said(&f);
}
