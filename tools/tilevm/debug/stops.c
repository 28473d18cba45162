/* Commands about breakpoints, watchpoints and catches. */
#include <stdlib.h>

#include "tools/tilevm/debug/answer.h"
#include "tools/tilevm/debug/commands.h"

/* Describes a new stop on one line. */
static bool told(debug_session *s, unsigned number, bc_text *out)
{
    vm_debug_stop stop;
    static const char *const kinds[] = {"breakpoint", "watchpoint", "catch"};
    size_t i = 0;
    if (!number)
        return false;
    while (vm_debug_stop_at(s->d, i, &stop) && stop.number != number)
        i++;
    if (s->answer)
        debug_add_stop(s, s->answer, json_object(s->answer, s->answer->root, "set"), &stop);
    bc_text_printf(out, "%s %u", kinds[stop.kind], number);
    if (stop.kind == VM_DEBUG_IS_BREAK) {
        bc_text_printf(out, ": op %u", stop.position);
        if (stop.ops > 1)
            bc_text_printf(out, " and %zu more", stop.ops - 1);
        tv_str file;
        uint32_t line;
        if (vm_debug_line(s->d, stop.position, &file, &line)) {
            bc_text_puts(out, ", ");
            debug_put_line(s, stop.position, out);
        }
    }
    bc_text_char(out, '\n');
    return true;
}

DEBUG_COMMAND(break)
{
    char place[32];
    vm_debug_place at;
    if (!rest.len) { /* here */
        vm_debug_where(s->d, &at);
        if (at.state == VM_DEBUG_ENDED)
            return debug_fail(error, "the run has ended; say where to stop");
        snprintf(place, sizeof place, "%u", at.position);
        rest = bc_str(place);
    }
    return told(s, vm_debug_break(s->d, rest, false, error), out);
}

DEBUG_COMMAND(tbreak)
{
    return told(s, vm_debug_break(s->d, rest, true, error), out);
}

DEBUG_COMMAND(watch)
{
    return told(s, vm_debug_watch(s->d, rest, error), out);
}

DEBUG_COMMAND(catch)
{
    vm_debug_finding finding;
    size_t n = 0;
    if (!told(s, vm_debug_catch(s->d, rest, error), out))
        return false;
    while (vm_debug_finding_at(s->d, n, &finding))
        n++;
    if (n && s->answer)
        debug_tell_info(s, "findings");
    if (n)
        bc_text_printf(out, "%zu finding%s; 'info findings' lists them\n", n, n == 1 ? "" : "s");
    return true;
}

/* Calls a function for every number; false at the first that is not the number of a stop. */
static bool each(debug_session *s, tv_str rest, bool (*what)(vm_debug *d, unsigned number), vm_debug_error *error)
{
    if (!rest.len)
        return debug_fail(error, "which? 'info breaks' lists them");
    while (rest.len) {
        uint64_t n;
        if (!debug_number(debug_word(&rest), 1, 0, &n, error))
            return false;
        if (n > UINT32_MAX || !what(s->d, (unsigned)n))
            return debug_fail(error, "there is no breakpoint, watchpoint or catch %llu", (unsigned long long)n);
    }
    return true;
}

static bool turn_on(vm_debug *d, unsigned number)
{
    return vm_debug_enable(d, number, true);
}

static bool turn_off(vm_debug *d, unsigned number)
{
    return vm_debug_enable(d, number, false);
}

DEBUG_COMMAND(delete)
{
    vm_debug_stop stop;
    (void)out;
    if (rest.len)
        return each(s, rest, vm_debug_delete, error);
    while (vm_debug_stop_at(s->d, 0, &stop))
        vm_debug_delete(s->d, stop.number);
    return true;
}

DEBUG_COMMAND(enable)
{
    (void)out;
    return each(s, rest, turn_on, error);
}

DEBUG_COMMAND(disable)
{
    (void)out;
    return each(s, rest, turn_off, error);
}

DEBUG_COMMAND(ignore)
{
    uint64_t number, times;
    (void)out;
    if (!debug_number(debug_word(&rest), 1, 0, &number, error) || !debug_number(rest, 0, 0, &times, error))
        return false;
    return (number <= UINT32_MAX && vm_debug_ignore(s->d, (unsigned)number, times))
           || debug_fail(error, "there is no breakpoint, watchpoint or catch %llu", (unsigned long long)number);
}
