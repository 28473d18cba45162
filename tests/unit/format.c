/* The formats of ops.def (bytecode/print/format.h): each can be taken apart and says everything about its op; and each
   op stands in its own form in a fixture of tests/text. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/print/format.h"
#include "tests/common/files.h"
#include "tests/unit/test.h"

static bool speaks_of(const bc_format *f, int row, bool types_only)
{
    for (unsigned i = 0; i < f->piece_count; i++) {
        const bc_piece *piece = &f->pieces[i];
        bool states = piece->kind == BC_PIECE_TYPES || piece->kind == BC_PIECE_TOKEN;
        for (unsigned r = 0; r < piece->ref_count; r++)
            if (piece->refs[r].row == row && (states || !types_only))
                return true;
    }
    return false;
}

static void test_formats(void)
{
    bc_arena arena;
    bc_arena_init(&arena, NULL, 0);
    bc_formats formats = {.arena = &arena};
    for (unsigned code = 0; code < OP_LIMIT; code++) {
        const bc_op_info *info = &bc_ops[code];
        if (!info->name)
            continue;
        const bc_format *f = bc_format_of(&formats, (bc_opcode)code);
        CHECK_MSG(f && !f->error, "%s: %s", info->name, f ? f->error : "out of memory");
        if (!f || f->error)
            continue;
        unsigned rows = 0u + info->result_rows + info->attr_rows + info->operand_rows + info->region_rows;
        for (unsigned i = 0; i < rows; i++) {
            int row = info->first_row + (int)i;
            CHECK_MSG(speaks_of(f, row, bc_rows[row].kind == BC_RESULT), "%s: nothing says %s", info->name,
                      bc_rows[row].name);
        }
    }
    bc_arena_release(&arena);
}

/* ---- fixtures ---- */

/* Is there a line `%x = NAME ...` or `NAME ...` that disasm printed? */
static bool prints(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = strstr(text, "\n--- stdout"); at && (at = strstr(at + 1, name));) {
        bool begins = at[-1] == ' ' && (at[-2] == ' ' || at[-2] == '=');
        if (begins && strchr(" \n{", at[len]))
            return true;
    }
    return false;
}

static void test_fixtures(void)
{
    char **paths = NULL;
    size_t count = 0;
    CHECK(files_find("tests/text", ".test", &paths, &count) && count > 0);
    bool printed[OP_LIMIT] = {false};
    for (size_t i = 0; i < count; i++) {
        size_t size;
        char *text = files_read(paths[i], &size);
        for (unsigned code = 0; text && code < OP_LIMIT; code++)
            printed[code] |= bc_ops[code].name && prints(text, bc_ops[code].name);
        free(text);
        free(paths[i]);
    }
    free(paths);
    for (unsigned code = 0; code < OP_LIMIT; code++)
        CHECK_MSG(!bc_ops[code].name || printed[code], "no fixture of tests/text prints %s", bc_ops[code].name);
}

int main(void)
{
    test_formats();
    test_fixtures();
    return TEST_END("format");
}
