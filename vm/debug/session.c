/* Opening and closing a session; the program; where the run is. */
#include <stdio.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "vm/compile/compile.h"
#include "vm/debug/state.h"

#define DEFAULT_SNAPSHOTS ((size_t)256 << 20)

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

static bool make_tables(vm_debug *d)
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
    return d->printer && dbg_make_lines(d);
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

/* ---- where it is ---- */

static int64_t integer_of(const vm_debug *d, const vm_started *s, const bc_value *value)
{
    vm_debug_value v;
    if (!dbg_locate(d, s, value, &v))
        return 0;
    uint64_t bits = vm_debug_element(&v, 0);
    return bc_int_sign_extend(bits, bc_kind_bits(v.kind));
}

/* Of the innermost `for` around the op that comes next. */
static void find_round(const vm_debug *d, const vm_started *s, vm_debug_place *out)
{
    uint32_t p = out->position;
    while (p != DBG_NONE && (d->parents[p] == DBG_NONE || d->ops[d->parents[p]]->opcode != OP_for))
        p = d->parents[p];
    if (p == DBG_NONE)
        return;
    const bc_op *loop = d->ops[d->parents[p]];
    bc_value **bounds = bc_operands(loop);
    int64_t at = integer_of(d, s, &bc_regions(loop)[0]->args[0]), from = integer_of(d, s, bounds[0]);
    int64_t step = integer_of(d, s, bounds[2]);
    out->in_for = step != 0;
    out->rounds = step ? ((uint64_t)at - (uint64_t)from) / (uint64_t)step : 0;
}

void vm_debug_where(const vm_debug *d, vm_debug_place *out)
{
    const vm_started *s = dbg_shown(d);
    const vm_probe *probe = s ? dbg_probe_of(s) : NULL;
    *out = (vm_debug_place){.state = d->trapped ? VM_DEBUG_TRAPPED
                                     : s        ? VM_DEBUG_STOPPED
                                                : VM_DEBUG_ENDED,
                            .time = d->probes.count,
                            .position = probe ? probe->position : DBG_NONE};
    if (!s)
        return;
    memcpy(out->block, s->worker.frame.block, sizeof out->block);
    find_round(d, s, out);
}

bool vm_debug_block_at(const vm_debug *d, size_t index, vm_debug_block *out)
{
    const vm_started *s = d->current;
    size_t first = s ? 1 : 0;
    if (!s || index >= first) {
        s = d->turns.first;
        for (size_t i = first; s && i < index; i++)
            s = s->later;
    }
    if (!s)
        return false;
    const vm_probe *probe = dbg_probe_of(s);
    *out = (vm_debug_block){.position = probe ? probe->position : DBG_NONE,
                            .runs = s == d->current,
                            .chosen = s == dbg_shown(d)};
    memcpy(out->block, s->worker.frame.block, sizeof out->block);
    return true;
}

void vm_debug_block_counts(const vm_debug *d, uint64_t *ended, uint64_t *all, uint64_t *under_way)
{
    *ended = d->run.blocks_done;
    *all = d->run.blocks;
    *under_way = d->turns.under_way;
}

bool vm_debug_choose(vm_debug *d, const uint32_t block[3])
{
    vm_started *s = d->current;
    if (s && memcmp(s->worker.frame.block, block, sizeof s->worker.frame.block) == 0) {
        d->chosen = NULL;
        return true;
    }
    for (s = d->turns.first; s; s = s->later)
        if (memcmp(s->worker.frame.block, block, sizeof s->worker.frame.block) == 0) {
            d->chosen = s;
            return true;
        }
    return false;
}

void vm_debug_snapshots(const vm_debug *d, size_t *count, size_t *bytes)
{
    *count = d->snapshot_count;
    *bytes = d->pages.held + d->snapshot_bytes;
}

/* ---- opening ---- */

static tv_status compile(vm_debug *d, tv_sink sink)
{
    d->vm->probed = true;
    tv_status status = vm_compile_entry(d->vm, d->function, sink, &d->code);
    d->vm->probed = false;
    if (status != TV_OK)
        d->code = (vm_code){0};
    return status;
}

static tv_status open_session(vm_debug *d, const uint32_t grid[3], tv_sink sink)
{
    TV_TRY(compile(d, sink));
    if (!make_tables(d))
        return TV_NO_MEMORY;
    if (d->code.allocas && !(d->allocas = dbg_arena_new(&d->normal)))
        return TV_NO_MEMORY;
    d->probes.hot = d->cold;
    if (!dbg_machine_open(d, grid))
        return TV_NO_MEMORY;
    size_t frame = vm_worker_bytes(&d->code, false);
    if (frame > d->vm->memory_limit)
        return vm_no_frame(&d->run, frame, sink);
    if (!dbg_pages_open(d) || !dbg_snapshot_take(d))
        return TV_NO_MEMORY;
    dbg_run(d, 0, d->cold);
    return d->starved ? vm_no_frame(&d->run, frame, sink) : TV_OK;
}

tv_status vm_debug_open(tv_vm *vm, const char *entry, const uint32_t grid[3], const void *const *params, size_t count,
                        const vm_debug_options *options, tv_sink sink, vm_debug **out)
{
    const tv_allocator a = vm->allocator;
    const bc_function *f = NULL;
    TV_TRY(vm_find_call(vm, entry, grid, count, sink, &f));
    vm_debug *d = a.alloc(a.user, sizeof *d);
    if (!d)
        return TV_NO_MEMORY;
    memset(d, 0, sizeof *d);
    d->vm = vm;
    d->normal = a;
    d->function = f;
    d->params = params;
    if (options)
        d->options = *options;
    if (!d->options.snapshot_bytes)
        d->options.snapshot_bytes = DEFAULT_SNAPSHOTS;
    d->snapshot_gap = 0.02;
    d->next_number = 1;
    bc_arena_init(&d->arena, &a, 0);
    bc_arena_init(&d->finding_arena, &a, 0);
    tv_status status = open_session(d, grid, sink);
    if (status != TV_OK) {
        vm_debug_close(d);
        return status;
    }
    *out = d;
    return TV_OK;
}

void vm_debug_close(vm_debug *d)
{
    if (!d)
        return;
    const tv_allocator a = d->normal;
    dbg_stops_close(d);
    if (d->snapshots)
        dbg_snapshots_close(d);
    dbg_machine_close(d);
    dbg_pages_close(d);
    if (!d->allocas)
        vm_regions_release(&d->run.allocas, &a);
    dbg_arena_free(d->allocas, &a);
    bc_op_printer_free(d->printer);
    if (d->code.arena.blocks)
        bc_arena_release(&d->code.arena);
    bc_arena_release(&d->finding_arena);
    bc_arena_release(&d->arena);
    a.release(a.user, d, sizeof *d);
}
