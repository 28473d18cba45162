/* Branches, calls, barriers, fences. PTX ISA, "Control Flow" and "Parallel Synchronization and Communication". */
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/decode.h"

/* ---- decoding ---- */

static void want_label(ps_decoder *d, unsigned index)
{
    if (d->in->operands[index].kind != PS_LABEL)
        ps_decode_fail(d, "operand %u must be a label", index + 1);
}

void ps_decode_bra(ps_decoder *d)
{
    ps_take(d, "uni");
    d->in->exec = ps_exec_bra;
    ps_want_count(d, 1, 1);
    if (!d->error[0])
        want_label(d, 0);
}

void ps_decode_brx(ps_decoder *d)
{
    ps_take(d, "uni");
    d->in->exec = ps_exec_brx;
    ps_want_count(d, 2, 2);
    ps_want(d, 0, PS_U32, false);
    if (!d->error[0])
        want_label(d, 1);
}

/* call (result), name, (arguments) with the lists left out where they are empty. */
void ps_decode_call(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_operand none = {.kind = PS_VECTOR};
    unsigned i = 0;
    ps_take(d, "uni");
    ps_operand result = none, arguments = none;
    if (i < in->count && in->operands[i].kind == PS_VECTOR)
        result = in->operands[i++];
    if (i == in->count || in->operands[i].kind != PS_FUNCTION) {
        ps_decode_fail(d, "only calls of a function by its name are supported");
        return;
    }
    in->target = in->operands[i++].slot;
    if (i < in->count && in->operands[i].kind == PS_VECTOR)
        arguments = in->operands[i++];
    if (i != in->count)
        ps_decode_fail(d, "operands after the arguments");
    in->operands = bc_new(&d->m->arena, ps_operand, 2);
    in->operands[0] = result;
    in->operands[1] = arguments;
    in->count = 2;
    in->exec = ps_exec_call;
}

void ps_decode_ret(ps_decoder *d)
{
    ps_take(d, "uni");
    d->in->mode = d->row->mode;
    d->in->exec = d->row->exec;
    ps_want_count(d, 0, 0);
}

/* Instructions that do not matter here; row mode 1: with a result, which becomes 0. */
void ps_decode_ignored(ps_decoder *d)
{
    for (unsigned i = 0; i < d->count; i++)
        d->used[i] = true;
    d->in->exec = ps_exec_nop;
    if (d->row->mode == 1 && d->in->count) {
        static const uint64_t zero[PS_LANES];
        d->in->operands[d->in->count - 1] = (ps_operand){.kind = PS_VARIABLE, .row = zero};
        d->in->operands[1] = d->in->operands[d->in->count - 1];
        d->in->count = 2;
        d->in->type = PS_B64;
        d->in->exec = ps_exec_mov;
    }
}

enum { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };

/* bar is barrier.aligned; bar without .sync and so on does not exist. */
void ps_decode_bar(ps_decoder *d)
{
    static const char *const words[] = {"sync", "arrive", "popc", "and", "or", NULL};
    ps_insn *in = d->in;
    ps_take(d, "cta");
    bool reduces = ps_take(d, "red");
    int mode = ps_take_one(d, words);
    in->aligned = ps_take(d, "aligned") || d->row->mode;
    in->mode = (uint8_t)mode;
    in->exec = ps_exec_bar;
    if (mode < 0 || reduces != (mode >= BAR_POPC)) {
        ps_decode_fail(d, "no such barrier");
        return;
    }
    unsigned first = 0;
    if (reduces) {
        ps_type type = ps_take_type(d);
        if (type != (mode == BAR_POPC ? PS_U32 : PS_PRED))
            ps_decode_fail(d, "the result is .u32 for .popc, .pred for .and and .or");
        in->type = (uint8_t)type;
        in->first_source = 1;
        ps_want_count(d, 3, 4);
        ps_want(d, 0, type, false);
        ps_want(d, in->count - 1u, PS_PRED, false);
        first = 1;
    } else {
        ps_want_count(d, mode == BAR_ARRIVE ? 2 : 1, 2);
    }
    ps_want(d, first, PS_U32, false);
    if (in->count - first - reduces == 2)
        ps_want(d, first + 1, PS_U32, false);
}

void ps_decode_warp_bar(ps_decoder *d)
{
    d->in->exec = ps_exec_warp_bar;
    ps_want_count(d, 1, 1);
    ps_want(d, 0, PS_B32, false);
}

void ps_decode_cluster_bar(ps_decoder *d)
{
    ps_insn *in = d->in;
    bool arrive = ps_take(d, "arrive"), wait = ps_take(d, "wait");
    if (!ps_take(d, "release"))
        ps_take(d, "relaxed");
    ps_take(d, "acquire");
    in->aligned = ps_take(d, "aligned");
    in->mode = wait;
    in->exec = ps_exec_cluster_bar;
    ps_want_count(d, 0, 0);
    if (arrive == wait)
        ps_decode_fail(d, "wants .arrive or .wait");
}

/* Every fence orders everything here; mode 1: with the asynchronous proxy too. */
void ps_decode_fence(ps_decoder *d)
{
    d->in->mode = ps_take(d, "proxy::async") || strstr(d->opcode, "proxy.async") != NULL;
    for (unsigned i = 0; i < d->count; i++)
        d->used[i] = true;
    d->in->exec = ps_exec_fence;
}

/* ---- branches ---- */

ps_flow ps_exec_bra(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_split(w, active, in->target);
    return PS_JUMPED;
}

ps_flow ps_exec_brx(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[PS_LANES];
    const uint64_t *index = ps_source(w, in, &in->operands[0], active, scratch);
    for (uint32_t left = active; left;) {
        unsigned lane = 0;
        while (!(left >> lane & 1))
            lane++;
        uint64_t which = index[lane];
        uint32_t together = 0;
        PS_FOR_LANES(l, left)
        if (index[l] == which)
            together |= (uint32_t)1 << l;
        left &= ~together;
        if (which < in->target_count) {
            ps_split(w, together, in->targets[which]);
        } else {
            ps_report(w, in, (int)lane, PTXSIM_BAD_VALUE, "'%s': index %llu, the list has %u labels", in->opcode,
                      (unsigned long long)which, (unsigned)in->target_count);
            ps_exit_lanes(w, together);
        }
    }
    return PS_JUMPED;
}

/* ---- calls ---- */

/* Copies a value between the caller's operand and the function's formal: both registers, or both .param variables. */
static void pass(ps_warp *w, const ps_insn *in, const ps_operand *to, const ps_operand *from, uint32_t active)
{
    uint64_t scratch[PS_LANES];
    if (to->kind == PS_VARIABLE && from->kind == PS_VARIABLE) {
        uint64_t size = to->var->size < from->var->size ? to->var->size : from->var->size;
        uint64_t local = w->sim->module.local_bytes;
        PS_FOR_LANES(l, active)
        memmove(w->local + l * local + (to->var->address - PS_LOCAL_START),
                w->local + l * local + (from->var->address - PS_LOCAL_START), (size_t)size);
    } else if (to->kind == PS_REG || to->kind == PS_PREDICATE) {
        ps_result(w, to, (ps_type)to->type, active, ps_source(w, in, from, active, scratch));
    } else if (from->kind == PS_REG || from->kind == PS_IMMEDIATE) {
        const uint64_t *row = ps_source(w, in, from, active, scratch);
        PS_FOR_LANES(l, active)
        memcpy(w->local + l * w->sim->module.local_bytes + (to->var->address - PS_LOCAL_START), &row[l],
               to->var->size < 8 ? (size_t)to->var->size : 8);
    }
}

/* One conversion of a format, whose argument lies at *place in the buffer. */
static void print_argument(ptxsim *sim, const char *spec, char conversion, const uint8_t *arguments, uint64_t *place,
                           uint64_t limit, const char *string)
{
    char format[32];
    bool wide = strchr(spec, 'l') != NULL || strchr("eEfFgGaAps", conversion) != NULL;
    uint64_t size = wide ? 8 : 4, bits = 0;
    *place = (*place + size - 1) / size * size;
    if (*place + size > limit)
        return;
    memcpy(&bits, arguments + *place, (size_t)size);
    *place += size;
    size_t length = 0;
    for (const char *c = spec; *c && length < 20; c++)
        if (*c != 'l' && *c != 'h' && *c != 'z' && *c != 'j')
            format[length++] = *c;
    if (strchr("dixXuo", conversion)) {
        memcpy(format + length, "ll", 2);
        length += 2;
    }
    format[length++] = conversion;
    format[length] = '\0';
    double number;
    memcpy(&number, &bits, 8);
    if (number != number)
        number = (double)NAN; /* a GPU shows no sign of it */
    if (conversion == 's')
        bc_text_printf(&sim->output, format, string);
    else if (conversion == 'd' || conversion == 'i')
        bc_text_printf(&sim->output, format, (long long)(wide ? (int64_t)bits : (int32_t)bits));
    else if (conversion == 'c')
        bc_text_printf(&sim->output, format, (int)bits);
    else if (conversion == 'p')
        bc_text_printf(&sim->output, bits ? "0x%llx" : "(nil)", (unsigned long long)bits);
    else if (strchr("xXuo", conversion))
        bc_text_printf(&sim->output, format, (unsigned long long)bits);
    else
        bc_text_printf(&sim->output, format, number);
}

/* A string in global or constant memory, "" where there is none. */
static const char *string_at(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address)
{
    uint64_t length = 0;
    const uint8_t *start = ps_place(w, in, lane, PS_GENERIC, address, 1, 1, PS_LOADS | PS_UNCHECKED);
    if (!start)
        return "";
    while (start[length])
        if (!ps_place(w, in, lane, PS_GENERIC, address + ++length, 1, 1, PS_LOADS | PS_UNCHECKED))
            return "";
    return (const char *)start;
}

static void print_lane(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t format_address, uint64_t buffer)
{
    const uint8_t *arguments = NULL;
    uint64_t limit = 0, place = 0;
    if (buffer - PS_LOCAL_WINDOW < PS_WINDOW_BYTES) {
        arguments = ps_place(w, in, lane, PS_GENERIC, buffer, 1, 1, PS_LOADS);
        limit = w->sim->module.local_bytes - (buffer - PS_LOCAL_WINDOW - PS_LOCAL_START);
    }
    for (const char *c = string_at(w, in, lane, format_address); *c; c++) {
        char spec[20];
        size_t length = strspn(c + 1, "-+ #0123456789.lhzj") + 1;
        if (*c != '%' || length + 1 >= sizeof spec || !c[length]) {
            bc_text_char(&w->sim->output, *c);
            continue;
        }
        if (c[length] == '%') {
            bc_text_char(&w->sim->output, '%');
        } else if (arguments && strchr("diuxXocspeEfFgGaA", c[length])) {
            memcpy(spec, c, length);
            spec[length] = '\0';
            uint64_t pointer = 0, at = (place + 7) / 8 * 8;
            if (c[length] == 's' && at + 8 <= limit)
                memcpy(&pointer, arguments + at, 8);
            print_argument(w->sim, spec, c[length], arguments, &place, limit,
                           c[length] == 's' ? string_at(w, in, lane, pointer) : "");
        }
        c += length;
    }
}

static void call_vprintf(ps_warp *w, const ps_insn *in, uint32_t active)
{
    const ps_operand *arguments = &in->operands[1], *result = &in->operands[0];
    uint64_t local = w->sim->module.local_bytes;
    if (arguments->count != 2 || arguments->sub[0].kind != PS_VARIABLE || arguments->sub[1].kind != PS_VARIABLE) {
        ps_report(w, in, -1, PTXSIM_BAD_VALUE, "vprintf wants two .param arguments");
        return;
    }
    PS_FOR_LANES(l, active)
    {
        uint64_t format, buffer;
        memcpy(&format, w->local + l * local + (arguments->sub[0].var->address - PS_LOCAL_START), 8);
        memcpy(&buffer, w->local + l * local + (arguments->sub[1].var->address - PS_LOCAL_START), 8);
        print_lane(w, in, l, format, buffer);
        if (result->count && result->sub[0].kind == PS_VARIABLE)
            memset(w->local + l * local + (result->sub[0].var->address - PS_LOCAL_START), 0,
                   (size_t)result->sub[0].var->size);
    }
}

/* The .param variable of a call, for one lane; NULL after a report. */
static uint8_t *call_param(ps_warp *w, const ps_insn *in, const ps_operand *list, unsigned lane)
{
    if (list->count == 1 && list->sub[0].kind == PS_VARIABLE && list->sub[0].var->size == 8)
        return w->local + lane * w->sim->module.local_bytes + (list->sub[0].var->address - PS_LOCAL_START);
    ps_report(w, in, (int)lane, PTXSIM_BAD_VALUE, "malloc and free want one .param of 64 bits");
    return NULL;
}

static void call_malloc(ps_warp *w, const ps_insn *in, uint32_t active)
{
    PS_FOR_LANES(l, active)
    {
        uint8_t *size_at = call_param(w, in, &in->operands[1], l), *result_at = call_param(w, in, &in->operands[0], l);
        if (!size_at || !result_at)
            return;
        uint64_t size, address;
        memcpy(&size, size_at, 8);
        address = ps_heap_new(w->sim, size);
        memcpy(result_at, &address, 8);
    }
}

static void call_free(ps_warp *w, const ps_insn *in, uint32_t active)
{
    PS_FOR_LANES(l, active)
    {
        uint8_t *at = call_param(w, in, &in->operands[1], l);
        uint64_t address;
        if (!at)
            return;
        memcpy(&address, at, 8);
        if (address && !ps_heap_delete(w->sim, address))
            ps_report(w, in, (int)l, PTXSIM_BAD_VALUE,
                      "free of 0x%llx, which malloc did not give, or which is free already",
                      (unsigned long long)address);
    }
}

ps_flow ps_exec_call(ps_warp *w, const ps_insn *in, uint32_t active)
{
    const ps_function *f = w->sim->module.functions[in->target];
    if (!f->is_defined) {
        if (strcmp(f->name, "vprintf") == 0)
            call_vprintf(w, in, active);
        else if (strcmp(f->name, "malloc") == 0)
            call_malloc(w, in, active);
        else if (strcmp(f->name, "free") == 0)
            call_free(w, in, active);
        else
            ps_report(w, in, -1, PTXSIM_BAD_VALUE, "'%s' has no body", f->name);
        return PS_NEXT;
    }
    const ps_operand *arguments = &in->operands[1];
    if (arguments->count != f->param_count || in->operands[0].count != f->result_count) {
        ps_report(w, in, -1, PTXSIM_BAD_VALUE, "'%s' takes %u arguments and gives %u results", f->name,
                  (unsigned)f->param_count, (unsigned)f->result_count);
        return PS_NEXT;
    }
    for (uint32_t i = 0; i < f->param_count; i++)
        pass(w, in, &f->params[i], &arguments->sub[i], active);
    uint32_t pc = ps_current(w)->pc;
    PS_FOR_LANES(l, active)
    {
        if (w->return_pc[f->index][l]) {
            ps_report(w, in, (int)l, PTXSIM_BAD_VALUE, "'%s' calls itself, which the simulator does not support",
                      f->name);
            ps_exit_lanes(w, active);
            return PS_JUMPED;
        }
        w->return_pc[f->index][l] = pc + 1;
    }
    ps_split(w, active, f->entry);
    return PS_JUMPED;
}

/* The function that holds an instruction: the last that starts at or before it. */
static const ps_function *function_of(const ps_module *m, uint32_t pc)
{
    const ps_function *found = NULL;
    for (size_t i = 0; i < m->function_count; i++) {
        const ps_function *f = m->functions[i];
        if (f->is_defined && f->entry <= pc && (!found || f->entry > found->entry))
            found = f;
    }
    return found;
}

ps_flow ps_exec_ret(ps_warp *w, const ps_insn *in, uint32_t active)
{
    const ps_module *m = &w->sim->module;
    const ps_function *f = function_of(m, ps_current(w)->pc);
    if (f->is_entry) {
        ps_exit_lanes(w, active);
        return PS_JUMPED;
    }
    for (uint32_t left = active; left;) {
        unsigned lane = 0;
        while (!(left >> lane & 1))
            lane++;
        uint32_t back = w->return_pc[f->index][lane], together = 0;
        PS_FOR_LANES(l, left)
        if (w->return_pc[f->index][l] == back)
            together |= (uint32_t)1 << l;
        PS_FOR_LANES(l, together)
        w->return_pc[f->index][l] = 0;
        left &= ~together;
        const ps_insn *call = &m->code[back - 1];
        for (uint32_t i = 0; i < f->result_count; i++)
            pass(w, in, &call->operands[0].sub[i], &f->results[i], together);
        ps_split(w, together, back);
    }
    return PS_JUMPED;
}

ps_flow ps_exec_exit(ps_warp *w, const ps_insn *in, uint32_t active)
{
    (void)in;
    ps_exit_lanes(w, active);
    return PS_JUMPED;
}

ps_flow ps_exec_trap(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_report(w, in, -1, PTXSIM_TRAP, "'%s'", in->opcode);
    w->sim->stopped = w->sim->stopped || !in->mode;
    (void)active;
    return PS_NEXT;
}

/* ---- barriers of the block ---- */

static unsigned bit_count(uint32_t x)
{
    unsigned count = 0;
    for (; x; x &= x - 1)
        count++;
    return count;
}

/* Threads that must arrive when the instruction gives no number: all that are still there, in whole warps. */
static uint32_t threads_left(const ps_block *block)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < block->warp_count; i++)
        if (block->warps[i].live)
            count += PS_LANES;
    return count;
}

/* All have arrived: those who wait may go on. */
static void complete(ps_block *block, unsigned id)
{
    ps_barrier *b = &block->barriers[id];
    b->result[0] = b->popc;
    b->result[1] = b->all;
    b->result[2] = b->any;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        ps_warp *w = &block->warps[i];
        bool waits = false;
        for (uint32_t g = 0; g < w->group_count; g++) {
            ps_group *group = &w->groups[g];
            if (group->state == PS_AT_BARRIER && group->barrier == id) {
                group->state = PS_RUN;
                group->released = true;
                waits = true;
            }
        }
        if (waits)
            ps_acquire(w, b->times);
    }
    b->expected = b->arrived = 0;
    b->popc = b->any = 0;
    b->all = 1;
    memset(b->times, 0, block->cluster->warp_count * sizeof *b->times);
}

/* The barrier's number and count, which all lanes must agree on. */
static bool barrier_operands(ps_warp *w, const ps_insn *in, uint32_t active, unsigned *id, uint32_t *count,
                             bool *has_count)
{
    unsigned first = in->mode >= BAR_POPC ? 1 : 0, given = in->count - first - (in->mode >= BAR_POPC ? 1u : 0u);
    uint64_t values[2] = {0, 0};
    for (unsigned i = 0; i < given; i++) {
        uint64_t scratch[PS_LANES];
        const uint64_t *row = ps_source(w, in, &in->operands[first + i], active, scratch);
        bool seen = false;
        PS_FOR_LANES(l, active)
        {
            if (seen && row[l] != values[i]) {
                ps_report(w, in, (int)l, PTXSIM_BARRIER, "'%s': lanes of a warp give different numbers", in->opcode);
                return false;
            }
            values[i] = row[l];
            seen = true;
        }
    }
    *id = (unsigned)values[0];
    *count = (uint32_t)values[1];
    *has_count = given == 2;
    if (values[0] >= PS_BARRIERS || (*has_count && (values[1] == 0 || values[1] % PS_LANES || values[1] > 1024))) {
        ps_report(w, in, -1, PTXSIM_BARRIER, "'%s': barrier %llu for %llu threads: wants 0 to 15, and a multiple of 32",
                  in->opcode, (unsigned long long)values[0], (unsigned long long)values[1]);
        return false;
    }
    return true;
}

static void barrier_result(ps_warp *w, const ps_insn *in, uint32_t active, const ps_barrier *b)
{
    if (in->mode == BAR_POPC) {
        uint64_t out[PS_LANES];
        for (unsigned l = 0; l < PS_LANES; l++)
            out[l] = b->result[0];
        ps_result(w, &in->operands[0], PS_U32, active, out);
    } else if (in->mode > BAR_POPC) {
        ps_result_mask(w, &in->operands[0], active, b->result[in->mode == BAR_AND ? 1 : 2] ? PS_ALL : 0);
    }
}

/* Adds this warp's predicate. */
static void barrier_reduce(ps_warp *w, const ps_insn *in, uint32_t active, ps_barrier *b)
{
    if (in->mode < BAR_POPC)
        return;
    uint32_t holds = ps_predicate(w, in, &in->operands[in->count - 1], active) & active;
    b->popc += bit_count(holds);
    b->any |= holds != 0;
    b->all &= holds == active;
}

ps_flow ps_exec_bar(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_block *block = w->block;
    ps_group *group = ps_current(w);
    unsigned id;
    uint32_t count;
    bool has_count;
    if (group->released) { /* the second time here: the barrier has completed */
        group->released = false;
        barrier_result(w, in, active, &block->barriers[group->barrier]);
        return PS_NEXT;
    }
    if (in->aligned)
        ps_check_aligned(w, in, active);
    if (!barrier_operands(w, in, active, &id, &count, &has_count))
        return PS_NEXT;
    ps_barrier *b = &block->barriers[id];
    uint32_t expected = has_count ? count : UINT32_MAX;
    if (b->expected && b->expected != expected)
        ps_report(w, in, -1, PTXSIM_BARRIER, "'%s': barrier %u is used with another number of threads at line %u",
                  in->opcode, id, (unsigned)b->line);
    b->expected = expected;
    b->line = in->line;
    /* An aligned barrier counts whole warps. */
    b->arrived += in->aligned || active == w->live ? PS_LANES : bit_count(active);
    barrier_reduce(w, in, active, b);
    ps_release(w, b->times);
    bool waits = in->mode != BAR_ARRIVE;
    if (waits) {
        group->state = PS_AT_BARRIER;
        group->barrier = (uint8_t)id;
        if (active != group->mask) { /* the others go their way; these come back to this instruction */
            uint32_t pc = group->pc;
            ps_split(w, group->mask & ~active, pc + 1);
            group = ps_current(w);
            for (uint32_t g = 0; g < w->group_count; g++)
                if (w->groups[g].mask == active)
                    group = &w->groups[g];
            group->state = PS_AT_BARRIER;
            group->barrier = (uint8_t)id;
        }
    }
    if (b->arrived >= (has_count ? count : threads_left(block)))
        complete(block, id);
    if (!waits)
        return PS_NEXT;
    return PS_WAIT;
}

/* After threads have exited, a barrier without a number may have all it waits for. */
void ps_barriers_recheck(ps_block *block)
{
    for (unsigned id = 0; id < PS_BARRIERS; id++) {
        ps_barrier *b = &block->barriers[id];
        if (b->expected == UINT32_MAX && b->arrived && b->arrived >= threads_left(block))
            complete(block, id);
    }
}

/* ---- barrier of the cluster ---- */

/* Threads that have exited are not waited for. */
void ps_cluster_recheck(ps_cluster *cluster)
{
    ps_barrier *b = &cluster->barrier;
    uint32_t live = 0;
    for (uint32_t i = 0; i < cluster->size; i++)
        live += cluster->blocks[i].live_warps;
    if (b->arrived && b->arrived >= live) {
        b->arrived = 0;
        b->result[0]++;
    }
}

/* mode 0 arrives, mode 1 waits. result[0] counts the completed phases; a warp has taken part in w->cluster_phase. */
ps_flow ps_exec_cluster_bar(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_cluster *cluster = w->block->cluster;
    ps_barrier *b = &cluster->barrier;
    if (in->aligned)
        ps_check_aligned(w, in, active);
    if (in->mode == 0) {
        if (w->cluster_phase > b->result[0])
            ps_report(w, in, -1, PTXSIM_BARRIER, "'%s': the warp has arrived already and must wait first", in->opcode);
        w->cluster_phase = b->result[0] + 1;
        ps_release(w, b->times);
        b->arrived++;
        ps_cluster_recheck(cluster);
        return PS_NEXT;
    }
    if (w->cluster_phase > b->result[0]) {
        w->yielded = true;
        return PS_WAIT;
    }
    ps_acquire(w, b->times);
    return PS_NEXT;
}

/* ---- others ---- */

ps_flow ps_exec_warp_bar(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[PS_LANES];
    const uint64_t *mask = ps_source(w, in, &in->operands[0], active, scratch);
    uint32_t all = 0;
    PS_FOR_LANES(l, active)
    all |= (uint32_t)mask[l];
    if (!ps_converged(w, in, active, all & w->live))
        return PS_WAIT;
    ps_tick(w);
    return PS_NEXT;
}

/* What the warp knows has been written is there for the asynchronous proxy, also for accesses of warps to which this
   one hands on what it knows. */
static void note_proxy_fence(ps_warp *w)
{
    uint32_t n = w->block->cluster->warp_count;
    memcpy(w->proxied, w->times, n * sizeof *w->proxied);
    if (w->sim->module.has_tensor_memory)
        memcpy(w->times + (size_t)3 * n, w->times, n * sizeof *w->times);
}

ps_flow ps_exec_fence(ps_warp *w, const ps_insn *in, uint32_t active)
{
    (void)active;
    ps_fence(w);
    if (in->mode)
        note_proxy_fence(w);
    return PS_NEXT;
}
