/* The PTX in a model, and which lines belong to which op. The lower pass has marked where an op begins, and where
   the surrounding op continues. */
#include <string.h>

#include "codegen/model/build.h"
#include "codegen/text/kernel.h"
#include "codegen/ptx/emit.h"

static uint32_t count_lines(const char *text, size_t from, size_t to)
{
    uint32_t count = 0;
    for (const char *p = text + from, *end = text + to; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        count++;
    return count;
}

/* Adds a mark. It replaces an earlier mark at the same line, and is dropped if the previous mark is for the same op. */
static void add_line(cg_building *b, cg_model_line *lines, uint32_t line, uint32_t op)
{
    uint32_t *count = &b->model.line_count;
    if (*count && lines[*count - 1].line == line)
        (*count)--;
    if (!*count || lines[*count - 1].op != op)
        lines[(*count)++] = (cg_model_line){line, op};
}

void cg_build_lines(cg_building *b, bc_text *ptx)
{
    static const char end[] = "}\n\n"; /* the end of the body */
    const cg_emit *e = b->c->emit;
    cg_put_kernel(b->c, ptx);
    cg_model_line *lines = bc_new(&b->c->arena, cg_model_line, e->mark_count + 2u);
    b->failed = b->failed || !lines || ptx->failed;
    if (b->failed)
        return;
    size_t body = ptx->len - (sizeof end - 1) - e->body.len, at = 0;
    uint32_t line = 1 + count_lines(ptx->ptr, 0, body);
    for (size_t i = 0; i < e->mark_count; i++) {
        line += count_lines(ptx->ptr + body, at, e->marks[i].at);
        at = e->marks[i].at;
        add_line(b, lines, line, cg_number_of(b, e->marks[i].op));
    }
    line += count_lines(ptx->ptr + body, at, e->body.len);
    add_line(b, lines, line, CG_NO_INDEX);
    b->model.lines = lines;
    b->model.ptx = bc_text_get(ptx);
}
