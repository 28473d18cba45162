/* What every part of the reader uses: its errors, cursors over the file, offset tables and strings. Trusts nothing. */
#include "bytecode/read/read.h"

/* ---- errors ---- */

tv_status bc_fail(bc_reader *r, bc_rule rule, uint64_t offset, const char *format, ...)
{
    if (r->status != TV_OK)
        return r->status;
    r->status = TV_INVALID;
    va_list args;
    va_start(args, format);
    bc_place place = {.offset = offset, .function = r->function, .row = BC_NO_ROW, .reading = r->reading};
    bc_report_as(r->m, r->sink, &place, rule, TV_ERROR, NULL, format, args);
    va_end(args);
    return r->status;
}

tv_status bc_no_memory(bc_reader *r)
{
    if (r->status == TV_OK)
        r->status = TV_NO_MEMORY;
    return r->status;
}

tv_status bc_check(bc_reader *r, const bc_cursor *c)
{
    if (TV_LIKELY(!c->failed))
        return r->status;
    uint64_t at = (uint64_t)(c->fault_at - c->file);
    unsigned long long found = c->found, limit = c->limit;
    switch ((int)c->fault) {
    case BC_RULE_F_021:
        return bc_fail(r, c->fault, at, "cannot read the %s: the number runs past its bytes, or takes more than ten",
                       c->noun);
    case BC_RULE_F_090:
    case BC_RULE_F_027: return bc_fail(r, c->fault, at, "the bytes end inside the %s", c->noun);
    case BC_RULE_F_030:
    case BC_RULE_F_031:
    case BC_RULE_F_032:
    case BC_RULE_F_083:
        if (limit == 0)
            return bc_fail(r, c->fault, at, "the index of the %s is %llu, but its table is empty", c->noun, found);
        return bc_fail(r, c->fault, at, "the index of the %s is %llu; the last one is %llu", c->noun, found, limit - 1);
    case BC_RULE_F_041:
    case BC_RULE_F_097:
        return bc_fail(r, c->fault, at, "bad %s: found %llu, the largest is %llu", c->noun, found, limit - 1);
    default:
        if (limit == 0)
            return bc_fail(r, c->fault, at, "cannot read the %s", c->noun);
        return bc_fail(r, c->fault, at, "bad %s: found %llu, room for %llu", c->noun, found, limit - 1);
    }
}

bc_cursor bc_cursor_at(bc_reader *r, const uint8_t *ptr, size_t size)
{
    return (bc_cursor){.p = ptr, .end = ptr + size, .file = r->m->bytes, .odd = &r->odd};
}

void bc_skip_padding(bc_reader *r, bc_cursor *c, const uint8_t *base, size_t align, bc_rule rule)
{
    size_t pad = (size_t)(base - c->p) & (align - 1);
    if (pad > bc_cursor_left(c)) {
        bc_cursor_fail(c, rule, "padding");
        return;
    }
    if (r->m->strict)
        for (size_t i = 0; i < pad; i++)
            if (c->p[i] != 0xcb) {
                bc_report(r->m, r->sink, &(bc_place){.offset = bc_cursor_offset(c) + i, .row = BC_NO_ROW},
                          BC_RULE_F_017, "padding byte 0x%02x; writers put 0xcb", c->p[i]);
                break;
            }
    c->p += pad;
}

/* ---- tables ---- */

tv_status bc_read_table(bc_reader *r, bc_cursor *c, const uint8_t *base, unsigned width, const char *noun,
                        bc_table *out)
{
    size_t count = bc_count(c, width, BC_RULE_F_026, noun);
    if (count)
        bc_skip_padding(r, c, base, width, BC_RULE_F_027);
    if (!c->failed && count > bc_cursor_left(c) / width)
        bc_cursor_fail(c, BC_RULE_F_027, noun);
    TV_TRY(bc_check(r, c));
    *out = (bc_table){.offsets = c->p, .data = c->p + count * width, .count = count, .width = width};
    out->data_size = bc_cursor_left(c) - count * width;
    if (r->m->strict && count && bc_le(c->p, width) != 0)
        return bc_fail(r, BC_RULE_F_029, bc_cursor_offset(c), "the first entry of the %s starts at %llu, not at 0",
                       noun, (unsigned long long)bc_le(c->p, width));
    return TV_OK;
}

tv_status bc_table_item(bc_reader *r, const bc_table *t, size_t i, const char *noun, bc_cursor *out)
{
    const uint8_t *at = t->offsets + i * t->width;
    uint64_t start = bc_le(at, t->width);
    uint64_t end = i + 1 < t->count ? bc_le(at + t->width, t->width) : t->data_size;
    if (start > end || end > t->data_size)
        return bc_fail(r, BC_RULE_F_028, (uint64_t)(at - r->m->bytes), "%s %zu spans bytes %llu to %llu of %zu", noun,
                       i, (unsigned long long)start, (unsigned long long)end, t->data_size);
    *out = bc_cursor_at(r, t->data + start, (size_t)(end - start));
    return TV_OK;
}

/* ---- strings ---- */

tv_status bc_read_string(bc_reader *r, bc_cursor *c, const char *noun, const bc_string **out)
{
    uint64_t i = bc_index(c, r->m->string_count, BC_RULE_F_030, noun);
    TV_TRY(bc_check(r, c));
    *out = r->m->strings[i];
    return TV_OK;
}
