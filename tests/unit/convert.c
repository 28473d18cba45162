/* Changing versions: what the code assumes of the tables, and the lowest version of modules made by hand. */
#include "bytecode/write/convert.h"

#include <string.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"

/* convert.c takes it that an op whose listed result is newer than the op itself has no other result, and that the
   result is a token. */
static bc_version lowest(const bc_module *m)
{
    bc_version version = BC_NEWEST;
    CHECK(bc_lowest_version(m, &version) == TV_OK);
    return version;
}

static void check_newer_results(void)
{
    unsigned found = 0;
    for (unsigned code = 0; code < OP_LIMIT; code++) {
        const bc_op_info *info = &bc_ops[code];
        for (unsigned r = 0; info->name && r < info->result_rows; r++) {
            const bc_row *row = &bc_result_rows(info)[r];
            if (row->since <= info->since)
                continue;
            found++;
            CHECK_MSG(info->result_rows == 1 && row->constraint == BC_IS_token && row->arity == BC_ONE, "%s",
                      info->name);
            CHECK_MSG(info->region_rows == 0, "%s", info->name);
        }
    }
    CHECK(found == 1); /* print_tko */
}

static void count_report(void *user, const tv_diag *diag)
{
    (void)diag;
    ++*(unsigned *)user;
}

/* entry k() { <ops> return }; gives the block to put ops into. */
static bc_block *new_entry(bc_module *m)
{
    const bc_type *type =
        bc_type_add(m, &(bc_type){.kind = BC_FUNCTION, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR});
    m->functions = bc_new(&m->arena, bc_function, 1);
    m->function_count = 1;
    m->functions[0] =
        (bc_function){.name = bc_string_add(m, bc_str("k"), false), .type = type, .flags = BC_FUNC_KERNEL};
    return m->functions[0].body = bc_block_new(m, NULL, 0);
}

static bc_op *add_op(bc_module *m, bc_block *block, bc_opcode opcode, uint32_t results, uint32_t operands)
{
    bc_op *op = bc_op_new(m, opcode, results, operands);
    bc_op_defaults(op);
    bc_block_append(block, op);
    return op;
}

static void check_print_token(void)
{
    unsigned reports = 0;
    tv_sink sink = {.user = &reports, .report = count_report};
    bc_module *m = bc_module_new(NULL, BC_13_2);
    bc_block *block = new_entry(m);
    bc_op *first = add_op(m, block, OP_print_tko, 1, 0);
    bc_attr_of(first, F_print_tko_str)->string = bc_string_add(m, bc_str("a\n"), false);
    bc_results(first)->type = bc_type_scalar(m, BC_TOKEN);
    bc_op *last = add_op(m, block, OP_return, 0, 0);
    bc_function_number(&m->functions[0]);
    CHECK(m->functions[0].value_count == 1);
    CHECK(lowest(m) == BC_13_1);

    CHECK(tv_module_convert(m, 1, sink) == TV_OK && reports == 0);
    CHECK(tv_module_minor(m) == 1);
    CHECK(block->first->opcode == OP_print_tko && block->first->result_count == 0 && block->first->next == last);
    CHECK(m->functions[0].value_count == 0 && block->last == last);
    CHECK(m->type_count == 3); /* i1, i32 and the signature: the token type went */

    CHECK(tv_module_convert(m, 5, sink) == TV_OK && reports == 0);
    CHECK(block->first->result_count == 1 && bc_results(block->first)->type->kind == BC_TOKEN);
    CHECK(m->functions[0].value_count == 1);

    /* a second print that takes the token of the first: nothing older than 13.2 can say that */
    bc_op *second = bc_op_new(m, OP_print_tko, 1, 1);
    bc_attr_of(second, F_print_tko_str)->string = bc_attr_of(block->first, F_print_tko_str)->string;
    bc_results(second)->type = bc_results(block->first)->type;
    bc_operands(second)[0] = bc_results(block->first);
    bc_segments segments = {.present = 1u << 1};
    memcpy(&bc_attrs(second)[second->attr_slots - 1], &segments, sizeof segments);
    second->block = block;
    second->next = last;
    block->first->next = second;
    block->op_count++;
    bc_function_number(&m->functions[0]);
    CHECK(bc_operand(second, F_print_tko_token) == bc_results(block->first));
    CHECK(lowest(m) == BC_13_2);
    CHECK(tv_module_convert(m, 1, sink) == TV_INVALID && reports == 2);
    CHECK(tv_module_minor(m) == 5);
    tv_module_close(m);
}

static void check_properties(void)
{
    unsigned reports = 0;
    tv_sink sink = {.user = &reports, .report = count_report};
    bc_module *m = bc_module_new(NULL, BC_13_5);
    bc_block *block = new_entry(m);
    add_op(m, block, OP_return, 0, 0);
    m->functions[0].arg_attrs = &(bc_tagged){.tag = BC_TAG_ARRAY};
    m->functions[0].hints = &(bc_tagged){.tag = BC_TAG_HINTS};
    m->producer = bc_string_add(m, bc_str("someone"), false);
    CHECK(lowest(m) == BC_13_1);
    CHECK(tv_module_convert(m, 3, sink) == TV_OK && reports == 0 && m->producer);
    CHECK(!m->functions[0].arg_attrs && !m->functions[0].hints);
    CHECK(tv_module_convert(m, 2, sink) == TV_OK && reports == 1 && !m->producer); /* a warning */
    CHECK(tv_module_convert(m, 0, sink) == TV_USAGE && tv_module_convert(m, 6, sink) == TV_USAGE && reports == 3);

    bc_global *g = m->globals = bc_new(&m->arena, bc_global, 1);
    m->global_count = 1;
    *g = (bc_global){.name = bc_string_add(m, bc_str("g"), false),
                     .type = bc_type_scalar(m, BC_I32),
                     .value = bc_blob_add(m, "\0\0\0", 4, false),
                     .constant = true};
    CHECK(lowest(m) == BC_13_3);
    g->constant = false;
    CHECK(lowest(m) == BC_13_1);
    const bc_type *number = bc_type_scalar(m, BC_F32);
    g->type = bc_type_add(
        m, &(bc_type){.kind = BC_PTR, .padding = BC_NO_PADDING, .ptr_attr = BC_PtrAttr_multicast, .elem = number});
    CHECK(lowest(m) == BC_13_5);
    bc_type_scalar(m, BC_FNV8E5M3FNU); /* in the table, but nothing uses it */
    g->type = number;
    CHECK(lowest(m) == BC_13_1);
    CHECK(tv_module_convert(m, 1, sink) == TV_OK && m->type_count == 4); /* i1, i32, f32, signature */
    tv_module_close(m);
}

int main(void)
{
    check_newer_results();
    check_print_token();
    check_properties();
    return TEST_END("convert");
}
