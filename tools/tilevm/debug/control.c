/* Commands that run the kernel, forwards and back. */
#include <stdio.h>

#include "tools/tilevm/debug/commands.h"

void debug_stopped(debug_session *s, const vm_debug_event *event, bc_text *out)
{
    s->listed = UINT32_MAX;
    debug_put_event(s, event, out);
    debug_put_displays(s, out);
}

static bool no_operand(tv_str rest, vm_debug_error *error)
{
    return !rest.len || debug_fail(error, "'%.*s' is too much", rest.len < 60 ? (int)rest.len : 60, rest.ptr);
}

static bool run_on(debug_session *s, tv_str rest, bool back, bc_text *out, vm_debug_error *error)
{
    vm_debug_event event;
    if (!no_operand(rest, error))
        return false;
    vm_debug_continue(s->d, back, &event);
    debug_stopped(s, &event, out);
    return true;
}

DEBUG_COMMAND(continue)
{
    return run_on(s, rest, false, out, error);
}

DEBUG_COMMAND(reverse_continue)
{
    return run_on(s, rest, true, out, error);
}

/* Takes several steps; a stop on the way ends them. */
static bool steps(debug_session *s, tv_str rest, vm_debug_step step, bool back, bc_text *out, vm_debug_error *error)
{
    uint64_t n;
    vm_debug_event event = {.why = VM_DEBUG_REACHED};
    if (!debug_number(rest, 1, 1, &n, error))
        return false;
    for (; n && event.why == VM_DEBUG_REACHED; n--)
        if (!vm_debug_step_to(s->d, step, back, &event, error))
            return false;
    debug_stopped(s, &event, out);
    return true;
}

DEBUG_COMMAND(step)
{
    return steps(s, rest, VM_DEBUG_LINE, false, out, error);
}

DEBUG_COMMAND(next)
{
    return steps(s, rest, VM_DEBUG_OVER, false, out, error);
}

DEBUG_COMMAND(stepi)
{
    return steps(s, rest, VM_DEBUG_OP, false, out, error);
}

DEBUG_COMMAND(iter)
{
    return steps(s, rest, VM_DEBUG_ITERATION, false, out, error);
}

DEBUG_COMMAND(finish)
{
    return steps(s, rest, VM_DEBUG_OUT, false, out, error);
}

DEBUG_COMMAND(reverse_step)
{
    return steps(s, rest, VM_DEBUG_LINE, true, out, error);
}

DEBUG_COMMAND(reverse_next)
{
    return steps(s, rest, VM_DEBUG_OVER, true, out, error);
}

DEBUG_COMMAND(reverse_stepi)
{
    return steps(s, rest, VM_DEBUG_OP, true, out, error);
}

DEBUG_COMMAND(reverse_iter)
{
    return steps(s, rest, VM_DEBUG_ITERATION, true, out, error);
}

DEBUG_COMMAND(reverse_finish)
{
    return steps(s, rest, VM_DEBUG_OUT, true, out, error);
}

static bool go_to(debug_session *s, uint64_t time, bc_text *out)
{
    vm_debug_event event;
    vm_debug_goto(s->d, time, &event);
    if (time == 0)
        event.why = VM_DEBUG_BEGIN;
    debug_stopped(s, &event, out);
    return true;
}

DEBUG_COMMAND(back)
{
    uint64_t n;
    vm_debug_place at;
    if (!debug_number(rest, 1, 1, &n, error))
        return false;
    vm_debug_where(s->d, &at);
    return go_to(s, at.time > n ? at.time - n : 0, out);
}

DEBUG_COMMAND(goto)
{
    uint64_t time = UINT64_MAX;
    if (!rest.len)
        return debug_fail(error, "which time? A number of ops, or end");
    if (!bc_str_is(rest, "end") && !debug_number(rest, 0, 0, &time, error))
        return false;
    return go_to(s, time, out);
}

DEBUG_COMMAND(restart)
{
    return no_operand(rest, error) && go_to(s, 0, out);
}

DEBUG_COMMAND(block)
{
    uint32_t block[3];
    vm_debug_event event;
    char place[DEBUG_LINE + 8];
    if (!rest.len)
        return debug_info(s, bc_str("blocks"), out, error);
    if (!vm_debug_parse_block(s->d, rest, block, error))
        return false;
    if (vm_debug_choose(s->d, block)) {
        debug_put_where(s, out);
        return true;
    }
    snprintf(place, sizeof place, "block %u,%u,%u", block[0], block[1], block[2]);
    unsigned number = vm_debug_break(s->d, bc_str(place), true, error);
    if (!number)
        return false;
    vm_debug_continue(s->d, false, &event);
    vm_debug_delete(s->d, number);
    if (event.why == VM_DEBUG_BREAKPOINT && event.number == number)
        event.why = VM_DEBUG_REACHED;
    debug_stopped(s, &event, out);
    return true;
}
