/* The program of a session: its ops by position, their lines, its values. */
#include <stdio.h>
#include <string.h>

#include "vm/debug/state.h"

bool dbg_fail(vm_debug_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return false;
}

/* ---- the program ---- */

static void number_block(vm_debug *d, const bc_block *block, uint32_t parent, uint32_t depth)
{
    for (uint32_t i = 0; i < block->arg_count; i++) {
        d->values[block->args[i].id] = &block->args[i];
        d->homes[block->args[i].id] = parent;
    }
    for (const bc_op *op = block->first; op; op = op->next) {
        uint32_t p = d->op_count++;
        d->ops[p] = op;
        d->parents[p] = parent;
        d->depths[p] = depth;
        for (uint32_t i = 0; i < op->result_count; i++) {
            d->values[bc_results(op)[i].id] = &bc_results(op)[i];
            d->homes[bc_results(op)[i].id] = p;
        }
        for (unsigned r = 0; r < op->region_count; r++)
            if (bc_regions(op)[r])
                number_block(d, bc_regions(op)[r], p, depth + 1);
        d->ends[p] = d->op_count;
    }
}

static bool same_line(const dbg_line *a, const dbg_line *b)
{
    return a->line == b->line && bc_str_eq(a->file, b->file);
}

static bool is_terminator(const bc_op *op)
{
    return (bc_info(op)->traits & BC_TERMINATOR) != 0;
}

/* The slot of the op's line in a table of the lines found so far, by block of ops; DBG_NONE marks a free slot. */
static size_t find_slot(const vm_debug *d, const uint32_t *met, size_t mask, uint32_t p)
{
    const dbg_line *line = &d->lines[p];
    uint64_t h = ((uint64_t)(uintptr_t)d->ops[p]->block >> 4) * UINT64_C(0x9e3779b97f4a7c15) + line->line;
    size_t i = (size_t)((h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 20) & mask;
    while (met[i] != DBG_NONE && !(d->ops[met[i]]->block == d->ops[p]->block && same_line(&d->lines[met[i]], line)))
        i = (i + 1) & mask;
    return i;
}

/* A line starts at its first op in a block of ops; without line information, every op is a line. */
static bool make_lines(vm_debug *d)
{
    uint32_t column;
    size_t size = 16;
    while (size < 2 * (size_t)d->op_count)
        size *= 2;
    uint32_t *met = bc_new(&d->arena, uint32_t, size);
    if (!met)
        return false;
    memset(met, 0xff, size * sizeof *met); /* DBG_NONE */
    for (uint32_t p = 0; p < d->op_count; p++) {
        dbg_line *line = &d->lines[p];
        bc_source_place(d->vm->module, d->ops[p]->loc, &line->file, &line->line, &column);
        line->starts = d->code.probes[p] && !line->line;
        if (!line->line || is_terminator(d->ops[p]) || !d->code.probes[p])
            continue;
        size_t slot = find_slot(d, met, size - 1, p);
        line->starts = met[slot] == DBG_NONE;
        if (line->starts)
            met[slot] = p;
    }
    return true;
}

bool dbg_make_tables(vm_debug *d)
{
    const bc_function *f = d->function;
    size_t ops = f->op_count + 1u, values = f->value_count + 1u;
    d->ops = bc_new(&d->arena, const bc_op *, ops);
    d->ends = bc_new(&d->arena, uint32_t, ops);
    d->parents = bc_new(&d->arena, uint32_t, ops);
    d->depths = bc_new(&d->arena, uint32_t, ops);
    d->lines = bc_new(&d->arena, dbg_line, ops);
    d->marks = bc_new(&d->arena, uint8_t, ops);
    d->cold = bc_new(&d->arena, uint8_t, ops);
    d->values = bc_new(&d->arena, const bc_value *, values);
    d->homes = bc_new(&d->arena, uint32_t, values);
    if (d->arena.failed)
        return false;
    number_block(d, f->body, DBG_NONE, 0);
    d->printer = bc_op_printer_new(d->vm->module, f);
    return d->printer && make_lines(d);
}

const bc_function *vm_debug_function(const vm_debug *d)
{
    return d->function;
}

const bc_op *vm_debug_op(const vm_debug *d, uint32_t position)
{
    return position < d->op_count ? d->ops[position] : NULL;
}

uint32_t vm_debug_depth(const vm_debug *d, uint32_t position)
{
    return d->depths[position];
}

uint32_t vm_debug_parent(const vm_debug *d, uint32_t position)
{
    return d->parents[position];
}

void vm_debug_print_op(const vm_debug *d, uint32_t position, bc_text *out)
{
    bc_op_printer_print(d->printer, d->ops[position], out);
}

bool vm_debug_line(const vm_debug *d, uint32_t position, tv_str *out_file, uint32_t *out_line)
{
    if (position >= d->op_count || !d->lines[position].line)
        return false;
    *out_file = d->lines[position].file;
    *out_line = d->lines[position].line;
    return true;
}

void vm_debug_print_value_name(const vm_debug *d, const bc_value *value, bc_text *out)
{
    bc_op_printer_value(d->printer, value, out);
}

void vm_debug_grid(const vm_debug *d, uint32_t out[3])
{
    memcpy(out, d->run.grid, sizeof d->run.grid);
}
