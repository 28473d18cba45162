/* The places of breakpoints: ops by number and by name, lines of the source, tile blocks. */
#include <stdlib.h>
#include <string.h>

#include "vm/debug/state.h"

static bool add(dbg_stop *stop, uint32_t p)
{
    stop->positions[stop->position_count++] = p;
    return true;
}

static tv_str trimmed(tv_str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = (tv_str){s.ptr + 1, s.len - 1};
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static bool take_number(tv_str *s, uint64_t *out)
{
    size_t i = 0;
    uint64_t n = 0;
    for (; i < s->len && s->ptr[i] >= '0' && s->ptr[i] <= '9' && n < UINT32_MAX; i++)
        n = n * 10 + (uint64_t)(s->ptr[i] - '0');
    *s = (tv_str){s->ptr + i, s->len - i};
    *out = n;
    return i > 0;
}

bool vm_debug_parse_block(const vm_debug *d, tv_str text, uint32_t out[3], vm_debug_error *error)
{
    tv_str s = trimmed(text);
    out[0] = out[1] = out[2] = 0;
    if (s.len > 1 && s.ptr[0] == '(' && s.ptr[s.len - 1] == ')')
        s = (tv_str){s.ptr + 1, s.len - 2};
    for (unsigned axis = 0; axis < 3; axis++) {
        uint64_t n;
        s = trimmed(s);
        if (!take_number(&s, &n))
            return dbg_fail(error, "'%.*s' is not a tile block: write X[,Y[,Z]]", (int)text.len, text.ptr);
        if (n >= d->run.grid[axis])
            return dbg_fail(error, "the grid has tile blocks 0 to %u in %c", d->run.grid[axis] - 1, "xyz"[axis]);
        out[axis] = (uint32_t)n;
        s = trimmed(s);
        if (!s.len)
            break;
        if (s.ptr[0] != ',' || axis == 2)
            return dbg_fail(error, "'%.*s' is not a tile block: write X[,Y[,Z]]", (int)text.len, text.ptr);
        s = (tv_str){s.ptr + 1, s.len - 1};
    }
    return true;
}

static bool find_block(const vm_debug *d, tv_str text, dbg_stop *stop, vm_debug_error *error)
{
    stop->has_block = vm_debug_parse_block(d, text, stop->block, error);
    return stop->has_block && d->op_count && add(stop, 0);
}

/* Does the given name mean this file? It may be the whole name, or the end of it after a slash. */
static bool is_file(tv_str whole, tv_str given)
{
    if (!given.len)
        return true;
    if (given.len > whole.len || memcmp(whole.ptr + whole.len - given.len, given.ptr, given.len) != 0)
        return false;
    return given.len == whole.len || whole.ptr[whole.len - given.len - 1] == '/';
}

/* The line itself, or the next one that has ops. */
static bool find_line(const vm_debug *d, tv_str file, uint64_t line, dbg_stop *stop, vm_debug_error *error)
{
    uint64_t best = UINT64_MAX;
    bool any = false;
    for (uint32_t p = 0; p < d->op_count; p++) {
        const dbg_line *l = &d->lines[p];
        any |= l->line && is_file(l->file, file);
        if (l->starts && l->line >= line && l->line && is_file(l->file, file) && l->line < best)
            best = l->line;
    }
    if (best == UINT64_MAX)
        return dbg_fail(error,
                        any ? "line %llu and those after it have no ops"
                            : "no op comes from that file, so line %llu cannot be found; 'info lines' lists those "
                              "there are",
                        (unsigned long long)line);
    for (uint32_t p = 0; p < d->op_count; p++)
        if (d->lines[p].starts && d->lines[p].line == best && is_file(d->lines[p].file, file))
            add(stop, p);
    return true;
}

static bool find_name(const vm_debug *d, tv_str name, dbg_stop *stop, vm_debug_error *error)
{
    bool inside = false;
    for (uint32_t p = 0; p < d->op_count; p++)
        if (bc_str_is(name, bc_info(d->ops[p])->name)) {
            inside |= !d->code.probes[p];
            if (d->code.probes[p])
                add(stop, p);
        }
    if (!stop->position_count && inside)
        return dbg_fail(error, "'%.*s' stands in the body of a reduction only, which runs as one op", (int)name.len,
                        name.ptr);
    return stop->position_count
           || dbg_fail(error,
                       "the kernel has no op '%.*s'; a place is an op number, an op name, FILE:LINE, :LINE or "
                       "block X,Y,Z",
                       name.len < 60 ? (int)name.len : 60, name.ptr);
}

static bool find_number(const vm_debug *d, uint64_t n, dbg_stop *stop, vm_debug_error *error)
{
    if (n >= d->op_count)
        return dbg_fail(error, "the kernel has ops 0 to %u", d->op_count - 1);
    if (!d->code.probes[n])
        return dbg_fail(error, "op %u stands in the body of a reduction, which runs as one op", (unsigned)n);
    return add(stop, (uint32_t)n);
}

bool dbg_find_place(vm_debug *d, tv_str text, dbg_stop *stop, vm_debug_error *error)
{
    tv_str s = trimmed(text), rest = s;
    uint64_t n;
    stop->positions = bc_new(&stop->arena, uint32_t, d->op_count + 1u);
    if (!stop->positions)
        return dbg_fail(error, "out of memory");
    if (s.len > 6 && memcmp(s.ptr, "block ", 6) == 0)
        return find_block(d, (tv_str){s.ptr + 6, s.len - 6}, stop, error);
    if (s.len > 6 && memcmp(s.ptr, "block(", 6) == 0)
        return find_block(d, (tv_str){s.ptr + 5, s.len - 5}, stop, error);
    if (take_number(&rest, &n) && !rest.len)
        return find_number(d, n, stop, error);
    size_t colon = s.len;
    while (colon > 0 && s.ptr[colon - 1] != ':')
        colon--;
    rest = (tv_str){s.ptr + colon, s.len - colon};
    if (colon && take_number(&rest, &n) && !rest.len)
        return find_line(d, (tv_str){s.ptr, colon - 1}, n, stop, error);
    return find_name(d, s, stop, error);
}
