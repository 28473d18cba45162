/* The columns of ops.def that say what is true of an op agree with its rows: results, operands, attributes, regions.
   What they say beyond that is in the operation reference, from which the column was filled in. */
#include "bytecode/op.h"
#include "tests/unit/test.h"

typedef struct subject {
    const bc_op_info *info;
    bc_opcode opcode;
} subject;

static bool is_in(subject s, bc_op_classes classes)
{
    return bc_op_in((uint8_t)s.opcode, classes);
}

static const bc_constraint_info *constraint_of(const bc_row *row)
{
    return &bc_constraints[row->constraint];
}

static bool is_view(const bc_row *row)
{
    return constraint_of(row)->form >= BC_FORM_TENSOR_VIEW;
}

static bool may_be_pointer(const bc_row *row)
{
    return row->arity == BC_ONE
           && (constraint_of(row)->form == BC_FORM_ANY || is_view(row) || constraint_of(row)->elements & BC_SET(PTR));
}

/* Of any shape. */
static bool is_tile(const bc_row *row)
{
    return row->arity == BC_ONE && constraint_of(row)->form == BC_FORM_TILE && constraint_of(row)->rank < 0;
}

/* How many of the rows are so? */
static unsigned count(const bc_row *rows, unsigned n, bool (*is)(const bc_row *))
{
    unsigned found = 0;
    for (unsigned i = 0; i < n; i++)
        found += is(&rows[i]);
    return found;
}

static unsigned operands_that(subject s, bool (*is)(const bc_row *))
{
    return count(bc_operand_rows(s.info), s.info->operand_rows, is);
}

static unsigned results_that(subject s, bool (*is)(const bc_row *))
{
    return count(bc_result_rows(s.info), s.info->result_rows, is);
}

static bool is_any_tile(const bc_row *row)
{
    return row->constraint == BC_IS_any_tile;
}

static bool is_token(const bc_row *row)
{
    return row->constraint == BC_IS_token;
}

static bool is_scalar(const bc_row *row)
{
    return constraint_of(row)->form == BC_FORM_TILE && constraint_of(row)->rank == 0;
}

/* ---- classes ---- */

static void test_elements(subject s)
{
    bool by_element = is_in(s, BC_OPS(MAP) | BC_OPS(CAST));
    bool shapes = s.info->operand_rows && operands_that(s, is_tile) == s.info->operand_rows && s.info->result_rows == 1
                  && results_that(s, is_tile) == 1 && !s.info->region_rows;
    bool others = is_in(s, BC_OPS(RESHAPE) | BC_OPS(MOVE) | BC_OPS(PART) | BC_OPS(PRODUCT));
    CHECK_MSG(by_element ? shapes : !shapes || others, "%s", s.info->name);
    CHECK_MSG(!is_in(s, BC_OPS(CAST)) || (s.info->operand_rows == 1 && !s.info->attr_rows), "%s", s.info->name);
    CHECK_MSG(is_in(s, BC_OPS(GIVEN)) == (!s.info->operand_rows && results_that(s, is_tile)), "%s", s.info->name);
    CHECK_MSG(!(s.info->traits & BC_CHEAP) || by_element, "%s", s.info->name);
}

static void test_others(subject s)
{
    const char *name = s.info->name;
    CHECK_MSG(is_in(s, BC_OPS(EXIT)) == !!(s.info->traits & BC_TERMINATOR), "%s", name);
    CHECK_MSG(is_in(s, BC_OPS(VIEW)) == !!results_that(s, is_view), "%s", name);
    CHECK_MSG(is_in(s, BC_OPS(LOOP) | BC_OPS(BRANCH) | BC_OPS(FOLD)) == !!s.info->region_rows, "%s", name);
    CHECK_MSG(is_in(s, BC_OPS(ACCESS)) == !!bc_order_row(s.info), "%s", name);
    CHECK_MSG(is_in(s, BC_OPS(TOKEN))
                  == (s.info->result_rows && results_that(s, is_token) == s.info->result_rows && !s.info->attr_rows
                      && operands_that(s, is_token) == s.info->operand_rows),
              "%s", name);
    CHECK_MSG(!is_in(s, BC_OPS(QUERY))
                  || (results_that(s, is_scalar) == s.info->result_rows
                      && operands_that(s, is_view) == s.info->operand_rows),
              "%s", name);
}

/* ---- effects ---- */

static void test_effects(subject s)
{
    bool access = is_in(s, BC_OPS(ACCESS));
    uint8_t effects = s.info->effects, harmless = BC_PARTIAL | BC_OF_BLOCK;
    CHECK_MSG(access == !!(effects & (BC_READS | BC_WRITES)), "%s", s.info->name);
    CHECK_MSG(!access || !results_that(s, is_any_tile) || effects & BC_READS, "%s gives what it has read",
              s.info->name);
    CHECK_MSG(!access || !!operands_that(s, is_any_tile) == !!(effects & BC_WRITES), "%s", s.info->name);
    CHECK_MSG(!(effects & ~harmless) || s.info->traits & BC_EFFECTS, "%s is allowed in bodies of folds", s.info->name);
    CHECK_MSG(effects || !(s.info->traits & BC_EFFECTS) || is_in(s, BC_OPS(SAME) | BC_OPS(LOOP)), "%s has no effect",
              s.info->name);
}

/* ---- addresses ---- */

static void test_address(subject s)
{
    const bc_op_info *info = s.info;
    const bc_row *address = &bc_rows[info->address], *operands = bc_operand_rows(info);
    if (info->address)
        CHECK_MSG(address >= operands && address < operands + info->operand_rows && may_be_pointer(address), "%s.%s",
                  info->name, address->name);
    bool points = is_in(s, BC_OPS(ACCESS)) || results_that(s, may_be_pointer);
    const bc_row *only = NULL; /* an access has values beside: they are of any kind, its address is of one */
    for (unsigned i = 0; i < info->operand_rows; i++)
        if (may_be_pointer(&operands[i]) && !(is_in(s, BC_OPS(ACCESS)) && is_any_tile(&operands[i])))
            only = only ? &bc_rows[0] : &operands[i];
    if (!points || !only)
        only = &bc_rows[0];
    CHECK_MSG(address == only, "%s: %s, not %s", info->name, info->address ? address->name : "none",
              only == bc_rows ? "none" : only->name);
}

int main(void)
{
    for (unsigned code = 0; code < OP_LIMIT; code++) {
        subject s = {&bc_ops[code], (bc_opcode)code};
        CHECK_MSG((bc_op_class_of[code] != BC_OP_NONE) == (s.info->name != NULL), "0x%02x", code);
        if (!s.info->name)
            continue;
        test_elements(s);
        test_others(s);
        test_effects(s);
        test_address(s);
    }
    return TEST_END("traits");
}
