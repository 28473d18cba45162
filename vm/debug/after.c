/* Examines, after an op has run, watched memory, and results that are NaN or infinite. */
#include <stdio.h>
#include <string.h>

#include "vm/debug/state.h"

void dbg_before_op(vm_debug *d, uint8_t marks)
{
    for (size_t i = 0; (marks & DBG_WRITES) && i < d->stop_count; i++) {
        const dbg_watch_range *r = &d->stops[i]->range;
        if (d->stops[i]->kind == VM_DEBUG_IS_WATCH)
            memcpy(r->before, (const void *)(uintptr_t)r->address, r->bytes);
    }
}

/* ---- memory ---- */

static uint64_t old_pattern(const dbg_watch_range *r, uint64_t address, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, r->before + (address - r->address), bytes);
    return x;
}

/* "element [3, 4] of 'a', f32[8, 8], was 1 and is 2" */
static void tell_change(const vm_debug *d, const dbg_watch_range *r, size_t byte, vm_debug_event *out)
{
    uint64_t address = r->address + byte;
    bc_text text;
    vm_debug_value v;
    bc_text_init(&text, NULL);
    vm_print_place(&text, &d->run, address);
    const vm_array *a = r->array;
    unsigned item = a && a->item_bits >= 8 ? a->item_bits / 8 : 0;
    uint64_t start = item ? address - (address - a->base) % item : address;
    if (item && start >= r->address && start + item <= r->address + r->bytes) {
        uint64_t now = 0;
        memcpy(&now, (const void *)(uintptr_t)start, item);
        dbg_array_value(a, &v);
        bc_text_puts(&text, " was ");
        vm_debug_print_element(d, &v, old_pattern(r, start, item), &text);
        bc_text_puts(&text, " and is ");
        vm_debug_print_element(d, &v, now, &text);
    } else {
        bc_text_printf(&text, " was 0x%02x and is 0x%02x", r->before[byte], *(const unsigned char *)(uintptr_t)address);
    }
    snprintf(out->text, sizeof out->text, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

static bool memory_stops(vm_debug *d, vm_debug_event *out)
{
    for (size_t i = 0; i < d->stop_count; i++) {
        dbg_stop *stop = d->stops[i];
        const dbg_watch_range *r = &stop->range;
        const unsigned char *now = (const unsigned char *)(uintptr_t)r->address;
        if (stop->kind != VM_DEBUG_IS_WATCH || !stop->on || memcmp(r->before, now, r->bytes) == 0
            || !dbg_takes(d, stop))
            continue;
        size_t byte = 0;
        while (r->before[byte] == now[byte])
            byte++;
        out->why = VM_DEBUG_WATCHPOINT;
        out->number = stop->number;
        tell_change(d, r, byte, out);
        return true;
    }
    return false;
}

/* ---- floats ---- */

static bool any_has(const vm_debug *d, const vm_started *s, bc_value *const *values, uint32_t count, bool nan)
{
    vm_debug_value v;
    for (uint32_t i = 0; i < count; i++)
        if (dbg_locate(d, s, values[i], &v) && v.form == VM_DEBUG_DATA && dbg_has(&v, nan))
            return true;
    return false;
}

/* The op produced it: a result has it, and no operand does. */
static bool made(const vm_debug *d, const vm_started *s, const bc_op *op, bool nan, const bc_value **out)
{
    for (uint32_t i = 0; i < op->result_count; i++) {
        bc_value *v = &bc_results(op)[i];
        if (!any_has(d, s, &v, 1, nan))
            continue;
        *out = v;
        return !any_has(d, s, bc_operands(op), op->operand_count, nan);
    }
    return false;
}

/* "%3 has 2 NaNs, the first is element [0, 4]" */
static void tell_special(const vm_debug *d, const vm_started *s, const bc_value *value, bool nan, vm_debug_event *out)
{
    vm_debug_value v;
    uint64_t nans, infs;
    bc_text text;
    if (!dbg_locate(d, s, value, &v))
        return;
    bc_text_init(&text, NULL);
    dbg_counts(&v, &nans, &infs);
    uint64_t count = nan ? nans : infs, first = 0;
    vm_debug_print_value_name(d, value, &text);
    if (v.rank) {
        vm_debug_value one = v;
        one.rank = 0;
        one.count = 1;
        for (; first + 1 < v.count; first++) {
            one.offset = (int64_t)first;
            if (dbg_has(&one, nan))
                break;
        }
        const char *noun = nan ? (count == 1 ? "NaN" : "NaNs") : count == 1 ? "infinity" : "infinities";
        bc_text_printf(&text, " has %llu %s, first in ", (unsigned long long)count, noun);
        vm_print_element(&text, value->type, (size_t)first);
    } else {
        bc_text_puts(&text, nan ? " is NaN" : " is infinite");
    }
    snprintf(out->text, sizeof out->text, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

static bool floats_stop(vm_debug *d, const vm_started *s, uint32_t position, vm_debug_event *out)
{
    const bc_op *op = d->ops[position];
    const bc_value *value = NULL;
    for (size_t i = 0; i < d->stop_count; i++) {
        dbg_stop *stop = d->stops[i];
        bool nan = stop->on && stop->nan && made(d, s, op, true, &value);
        bool inf = !nan && stop->on && stop->inf && made(d, s, op, false, &value);
        if (!(nan || inf) || !dbg_takes(d, stop))
            continue;
        out->why = VM_DEBUG_CAUGHT;
        out->number = stop->number;
        tell_special(d, s, value, nan, out);
        return true;
    }
    return false;
}

bool dbg_after_op(vm_debug *d, const vm_started *s, uint32_t position, uint8_t marks, vm_debug_event *out)
{
    *out = (vm_debug_event){.after = true, .position = position};
    return ((marks & DBG_WRITES) && memory_stops(d, out)) || ((marks & DBG_FLOATS) && floats_stop(d, s, position, out));
}
