/* Breakpoints, watchpoints and catches: the list of them, and which ops they mark. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/debug/state.h"

/* A watched range is copied before every op that writes. */
enum { MOST_WATCHED = 1 << 20, MOST_STOPS = 1000 };

/* ---- the list ---- */

dbg_stop *dbg_new_stop(vm_debug *d, vm_debug_kind kind, tv_str text, vm_debug_error *error)
{
    const tv_allocator *a = &d->normal;
    error->text[0] = 0;
    if (d->stop_count >= MOST_STOPS) {
        dbg_fail(error, "there are %d stops; delete some", MOST_STOPS);
        return NULL;
    }
    dbg_stop **stops = bc_grow(&d->arena, d->stops, d->stop_count, &d->stop_capacity, dbg_stop *);
    dbg_stop *stop = stops ? a->alloc(a->user, sizeof *stop) : NULL;
    if (!stop) {
        dbg_fail(error, "out of memory");
        return NULL;
    }
    d->stops = stops;
    *stop = (dbg_stop){.kind = kind, .on = true};
    bc_arena_init(&stop->arena, a, 0);
    stop->text = (char *)(uintptr_t)bc_arena_dup(&stop->arena, text).ptr;
    if (!stop->text) {
        dbg_fail(error, "out of memory");
        bc_arena_release(&stop->arena);
        a->release(a->user, stop, sizeof *stop);
        return NULL;
    }
    return stop;
}

static void free_stop(vm_debug *d, dbg_stop *stop)
{
    bc_arena_release(&stop->arena);
    d->normal.release(d->normal.user, stop, sizeof *stop);
}

/* Puts the finished stop into the list; gives its number. */
static unsigned add(vm_debug *d, dbg_stop *stop)
{
    stop->number = d->next_number++;
    d->stops[d->stop_count++] = stop;
    dbg_mark_all(d);
    return stop->number;
}

void dbg_drop_stop(vm_debug *d, size_t index)
{
    free_stop(d, d->stops[index]);
    memmove(&d->stops[index], &d->stops[index + 1], (--d->stop_count - index) * sizeof *d->stops);
    dbg_mark_all(d);
}

void dbg_stops_close(vm_debug *d)
{
    for (size_t i = 0; i < d->stop_count; i++)
        free_stop(d, d->stops[i]);
    d->stop_count = 0;
}

static dbg_stop *find(const vm_debug *d, unsigned number, size_t *out_index)
{
    for (size_t i = 0; i < d->stop_count; i++)
        if (d->stops[i]->number == number) {
            *out_index = i;
            return d->stops[i];
        }
    return NULL;
}

bool vm_debug_delete(vm_debug *d, unsigned number)
{
    size_t i;
    if (!find(d, number, &i))
        return false;
    dbg_drop_stop(d, i);
    return true;
}

bool vm_debug_enable(vm_debug *d, unsigned number, bool on)
{
    size_t i;
    dbg_stop *stop = find(d, number, &i);
    if (stop)
        stop->on = on;
    dbg_mark_all(d);
    return stop != NULL;
}

bool vm_debug_ignore(vm_debug *d, unsigned number, uint64_t times)
{
    size_t i;
    dbg_stop *stop = find(d, number, &i);
    if (stop)
        stop->ignore = times;
    return stop != NULL;
}

bool vm_debug_stop_at(const vm_debug *d, size_t index, vm_debug_stop *out)
{
    if (index >= d->stop_count)
        return false;
    const dbg_stop *s = d->stops[index];
    *out = (vm_debug_stop){.kind = s->kind,
                           .number = s->number,
                           .on = s->on,
                           .once = s->once,
                           .hits = s->hits,
                           .ignore = s->ignore,
                           .text = s->text,
                           .position = s->position_count ? s->positions[0] : DBG_NONE,
                           .ops = s->position_count};
    return true;
}

/* ---- marks ---- */

static bool makes_floats(const bc_op *op)
{
    if (op->opcode == OP_constant || op->region_count)
        return false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        bc_kind kind = bc_elem_kind(bc_results(op)[i].type);
        if (kind < BC_KIND_COUNT && bc_kinds[kind].kind_class == BC_CLASS_FLOAT)
            return true;
    }
    return false;
}

static bool writes_memory(const bc_op *op)
{
    return (bc_info(op)->effects & BC_WRITES) != 0;
}

static void mark_where(vm_debug *d, bool (*what)(const bc_op *op), uint8_t mark)
{
    for (uint32_t p = 0; p < d->op_count; p++)
        if (d->code.probes[p] && what(d->ops[p]))
            d->marks[p] |= mark;
}

void dbg_mark_all(vm_debug *d)
{
    memset(d->marks, 0, d->op_count);
    for (size_t i = 0; i < d->stop_count; i++) {
        const dbg_stop *s = d->stops[i];
        for (size_t k = 0; s->on && k < s->position_count; k++)
            d->marks[s->positions[k]] |= DBG_BREAK;
        if (s->on && s->kind == VM_DEBUG_IS_WATCH)
            mark_where(d, writes_memory, DBG_WRITES);
        if (s->on && (s->nan || s->inf))
            mark_where(d, makes_floats, DBG_FLOATS);
    }
}

/* ---- conditions ---- */

/* The last " if " that is not in brackets. */
static size_t find_if(tv_str text)
{
    int depth = 0;
    for (size_t i = 0; i + 3 < text.len; i++) {
        char c = text.ptr[i];
        depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
        if (depth == 0 && memcmp(text.ptr + i, " if ", 4) == 0)
            return i;
    }
    return text.len;
}

bool dbg_take_condition(vm_debug *d, dbg_stop *stop, tv_str *text, uint32_t position, vm_debug_error *error)
{
    size_t at = find_if(*text);
    tv_str condition = {text->ptr + at, text->len - at};
    text->len = at;
    if (!condition.len)
        return true;
    condition = bc_arena_dup(&stop->arena, (tv_str){condition.ptr + 4, condition.len - 4});
    stop->condition = condition.ptr ? dbg_parse(d, &stop->arena, condition, position, error) : NULL;
    return stop->condition != NULL;
}

bool dbg_takes(vm_debug *d, dbg_stop *stop)
{
    if (!stop->on || (stop->condition && !dbg_holds(d, stop->condition)))
        return false;
    stop->hits++;
    if (!stop->ignore)
        return true;
    stop->ignore--;
    return false;
}

/* ---- breakpoints ---- */

static bool set_break(vm_debug *d, dbg_stop *stop, tv_str text, vm_debug_error *error)
{
    tv_str place = {text.ptr, find_if(text)};
    if (!dbg_find_place(d, place, stop, error))
        return false;
    if (!dbg_take_condition(d, stop, &text, stop->positions[0], error))
        return false;
    for (size_t i = 0; i < stop->position_count; i++)
        if (!dbg_check_scope(d, stop->condition, stop->positions[i], error))
            return false;
    return true;
}

unsigned vm_debug_break(vm_debug *d, tv_str text, bool once, vm_debug_error *error)
{
    dbg_stop *stop = dbg_new_stop(d, VM_DEBUG_IS_BREAK, text, error);
    if (!stop)
        return 0;
    stop->once = once;
    if (set_break(d, stop, text, error))
        return add(d, stop);
    free_stop(d, stop);
    return 0;
}

static bool is_block(const vm_debug *d, const dbg_stop *stop)
{
    return !stop->has_block || memcmp(d->current->worker.frame.block, stop->block, sizeof stop->block) == 0;
}

static bool is_at(const dbg_stop *stop, uint32_t position)
{
    for (size_t i = 0; i < stop->position_count; i++)
        if (stop->positions[i] == position)
            return true;
    return false;
}

/* ---- findings ---- */

static uint32_t check_of(const char *rule)
{
    static const struct {
        const char *prefix;
        uint32_t check;
    } rules[] = {{"X-RAC", TV_CHECK_RACES},  {"X-TOK", TV_CHECK_TOKENS}, {"X-INI", TV_CHECK_UNINIT},
                 {"X-MEM", TV_CHECK_BOUNDS}, {"X-IDX", TV_CHECK_BOUNDS}, {"X-ASM", TV_CHECK_ASSUME}};
    for (size_t i = 0; i < TV_COUNT(rules); i++)
        if (strncmp(rule, rules[i].prefix, strlen(rules[i].prefix)) == 0)
            return rules[i].check;
    return TV_CHECK_VALUES;
}

/* The catch that is about the finding, or NULL. */
static dbg_stop *catch_of(const vm_debug *d, const vm_debug_finding *finding)
{
    for (size_t i = 0; i < d->stop_count; i++)
        if (d->stops[i]->on && (d->stops[i]->checks & check_of(finding->rule)))
            return d->stops[i];
    return NULL;
}

uint64_t dbg_next_finding(const vm_debug *d, uint64_t from)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < d->finding_count; i++)
        if (d->findings[i].time >= from && d->findings[i].time < next && catch_of(d, &d->findings[i]))
            next = d->findings[i].time;
    return next;
}

static bool finding_stops(vm_debug *d, vm_debug_event *out)
{
    for (size_t i = 0; i < d->finding_count; i++) {
        const vm_debug_finding *f = &d->findings[i];
        dbg_stop *stop = f->time == d->probes.count ? catch_of(d, f) : NULL;
        if (!stop || !dbg_takes(d, stop))
            continue;
        *out = (vm_debug_event){.why = VM_DEBUG_CAUGHT, .number = stop->number, .position = f->position};
        snprintf(out->text, sizeof out->text, "%s: %s", f->rule, f->text);
        return true;
    }
    return false;
}

bool dbg_stops_here(vm_debug *d, vm_debug_event *out)
{
    uint32_t position = dbg_position(d);
    if (d->finding_count && finding_stops(d, out))
        return true;
    if (position == DBG_NONE || !(d->marks[position] & DBG_BREAK))
        return false;
    for (size_t i = 0; i < d->stop_count; i++) {
        dbg_stop *stop = d->stops[i];
        if (!is_at(stop, position) || !is_block(d, stop) || !dbg_takes(d, stop))
            continue;
        *out = (vm_debug_event){.why = VM_DEBUG_BREAKPOINT, .number = stop->number, .position = position};
        return true;
    }
    return false;
}

/* ---- watchpoints ---- */

/* "0x7f12, 64" */
static bool take_addresses(tv_str text, uint64_t *address, uint64_t *bytes)
{
    char buffer[64], *end;
    if (text.len >= sizeof buffer || text.len < 4 || memcmp(text.ptr, "0x", 2) != 0)
        return false;
    memcpy(buffer, text.ptr, text.len);
    buffer[text.len] = 0;
    *address = strtoull(buffer, &end, 16);
    if (*end != ',')
        return false;
    *bytes = strtoull(end + 1, &end, 0);
    return !*end;
}

static bool set_range(vm_debug *d, dbg_stop *stop, tv_str text, vm_debug_error *error)
{
    uint64_t address, bytes;
    dbg_watch_range *r = &stop->range;
    vm_debug_value v;
    if (take_addresses(text, &address, &bytes)) {
        if (!bytes || !vm_regions_find(&d->vm->regions, address, bytes))
            return dbg_fail(error, "that range is not in one of the kernel's buffers");
        *r = (dbg_watch_range){.address = address, .bytes = bytes};
    } else {
        if (!vm_debug_evaluate(d, text, &v, error))
            return false;
        if (v.form != VM_DEBUG_DATA || !v.array || !v.count)
            return dbg_fail(error, "only elements of arrays can be watched: memory that the kernel may write");
        uint64_t low = UINT64_MAX, high = 0;
        for (uint64_t i = 0; i < (uint64_t)1 << v.rank && v.rank < 16; i++) { /* the corners */
            uint64_t place = 0;
            for (uint32_t k = 0; k < v.rank; k++)
                place = place * (uint64_t)v.shape[k] + (i >> k & 1 ? (uint64_t)v.shape[k] - 1 : 0);
            uint64_t at = dbg_address(&v, place);
            low = at < low ? at : low;
            high = at + vm_debug_item(&v) > high ? at + vm_debug_item(&v) : high;
        }
        *r = (dbg_watch_range){.address = low, .bytes = high - low, .array = v.array};
    }
    if (r->bytes > MOST_WATCHED)
        return dbg_fail(error, "%zu bytes are too many to watch; %d is the limit", r->bytes, MOST_WATCHED);
    r->before = bc_new(&stop->arena, unsigned char, r->bytes);
    return r->before || dbg_fail(error, "out of memory");
}

unsigned vm_debug_watch(vm_debug *d, tv_str text, vm_debug_error *error)
{
    dbg_stop *stop = dbg_new_stop(d, VM_DEBUG_IS_WATCH, text, error);
    if (!stop)
        return 0;
    if (dbg_take_condition(d, stop, &text, dbg_position(d), error) && set_range(d, stop, text, error))
        return add(d, stop);
    free_stop(d, stop);
    return 0;
}

/* ---- catches ---- */

static bool set_catch(vm_debug *d, dbg_stop *stop, tv_str text, vm_debug_error *error)
{
    for (size_t at = 0; at <= text.len;) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != ',' && text.ptr[end] != ' ')
            end++;
        tv_str word = {text.ptr + at, end - at};
        const tv_check_info *info;
        uint32_t check = bc_str_is(word, "all") ? TV_CHECK_ALL & ~(uint32_t)TV_CHECK_ORDER : 0;
        for (size_t i = 0; (info = tv_check_at(i)) != NULL; i++)
            if (bc_str_is(word, info->name) && info->check != TV_CHECK_ORDER)
                check |= info->check;
        check |= bc_str_is(word, "race") ? TV_CHECK_RACES : bc_str_is(word, "oob") ? TV_CHECK_BOUNDS : 0;
        stop->nan |= bc_str_is(word, "nan");
        stop->inf |= bc_str_is(word, "inf");
        stop->checks |= check;
        if (word.len && !check && !bc_str_is(word, "nan") && !bc_str_is(word, "inf"))
            return dbg_fail(error,
                            "'%.*s' cannot be caught; nan, inf, races, bounds, uninit, tokens, assume, values and "
                            "all can",
                            word.len < 60 ? (int)word.len : 60, word.ptr);
        at = end + 1;
    }
    if (!stop->nan && !stop->inf && !stop->checks)
        return dbg_fail(error, "what is to be caught? nan, inf, races, bounds, uninit, tokens, assume, values or all");
    return !stop->checks || dbg_find_all(d, stop->checks, error);
}

unsigned vm_debug_catch(vm_debug *d, tv_str text, vm_debug_error *error)
{
    dbg_stop *stop = dbg_new_stop(d, VM_DEBUG_IS_CATCH, text, error);
    if (!stop)
        return 0;
    if (dbg_take_condition(d, stop, &text, dbg_position(d), error) && set_catch(d, stop, text, error))
        return add(d, stop);
    free_stop(d, stop);
    return 0;
}
