/* Tiles of the first tile block, as they were last: for heat maps of what ops compute. */
#include <stdlib.h>

#include "bytecode/module.h"
#include "tools/tilevm/page/page.h"

enum { CELLS = 32 };

static bool is_wanted_value(const bc_value *v)
{
    return bc_is_tile(v->type) && v->type->rank && bc_elem_kind(v->type) != BC_PTR;
}

static bool is_wanted(void *user, tv_str op, uint32_t op_index)
{
    const page_tiles *t = user;
    (void)op;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->items[i].op == op_index)
            return true;
    return false;
}

static void take(void *user, const tv_trace *trace)
{
    page_tiles *t = user;
    io_error error;
    if (trace->block[0] || trace->block[1] || trace->block[2])
        return;
    for (uint32_t i = 0; i < t->count; i++) {
        struct page_tile *item = &t->items[i];
        if (item->op != trace->op_index || item->result != trace->result)
            continue;
        arg_array_free(&item->tile);
        item->tile = (arg_array){0};
        item->element = trace->tile.element;
        if (!run_tile_array(&trace->tile, run_dtype_of(trace->tile.element), &item->tile, &error))
            item->tile = (arg_array){0}; /* without memory, one picture is left out */
        return;
    }
}

bool page_tiles_begin(page_tiles *tiles, tv_vm_options *options)
{
    const bc_block *body = bc_entry_at(tiles->job.module, tiles->job.entry)->body;
    uint32_t position = 0;
    tiles->items = calloc(PAGE_MOST_TILES, sizeof *tiles->items);
    for (const bc_op *op = body->first; op && tiles->items; op = bc_next_op(op, body), position++)
        for (uint32_t i = 0; i < op->result_count && tiles->count < PAGE_MOST_TILES; i++)
            if (is_wanted_value(&bc_results(op)[i]) && op->opcode != OP_constant)
                tiles->items[tiles->count++] = (struct page_tile){.op = position, .result = i};
    options->trace = take;
    options->trace_op = is_wanted;
    return tiles->items != NULL;
}

void page_tiles_add(json_doc *doc, cJSON *run, const page_tiles *tiles)
{
    cJSON *list = json_array(doc, run, "tiles");
    for (uint32_t i = 0; i < tiles->count; i++) {
        const struct page_tile *t = &tiles->items[i];
        if (!t->tile.storage)
            continue;
        cJSON *item = json_object(doc, list, NULL);
        json_uint(doc, item, "op", t->op);
        json_uint(doc, item, "result", t->result);
        json_text(doc, item, "element", t->element);
        page_add_heat(doc, item, &t->tile, CELLS);
    }
}

void page_tiles_release(page_tiles *tiles)
{
    for (uint32_t i = 0; i < tiles->count; i++)
        arg_array_free(&tiles->items[i].tile);
    free(tiles->items);
}
