/* Launch records from PTX. This reads the heads of the entries, not their bodies: words, numbers and brackets between
   `.entry` and `{`. Source: PTX ISA, "Kernel function parameters" and "Performance-tuning directives". */
#include "loader/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- words ---- */

typedef struct scanner {
    const char *p, *end;
    tv_str word; /* the last one: a name or directive with its dot, a number, a string,
                    or one character */
} scanner;

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'
           || c == '%' || c == '.';
}

static void skip_to(scanner *s, const char *text)
{
    size_t len = strlen(text);
    const char *found = memmem(s->p, (size_t)(s->end - s->p), text, len);
    s->p = found ? found + len : s->end;
}

static void skip_space(scanner *s)
{
    while (s->p < s->end) {
        bool pair = s->end - s->p >= 2;
        if (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r')
            s->p++;
        else if (pair && memcmp(s->p, "//", 2) == 0)
            skip_to(s, "\n");
        else if (pair && memcmp(s->p, "/*", 2) == 0)
            skip_to(s, "*/");
        else
            return;
    }
}

/* False at the end. */
static bool next(scanner *s)
{
    skip_space(s);
    const char *start = s->p;
    while (s->p < s->end && is_word(*s->p))
        s->p++;
    if (s->p == start && s->p < s->end && *s->p++ == '"')
        skip_to(s, "\"");
    s->word = (tv_str){.ptr = start, .len = (size_t)(s->p - start)};
    return s->word.len != 0;
}

static bool is(const scanner *s, const char *text)
{
    return bc_str_is(s->word, text);
}

static bool number(tv_str word, uint32_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '9' || value > UINT32_MAX / 10)
            return false;
        value = value * 10 + (uint64_t)(word.ptr[i] - '0');
    }
    *out = (uint32_t)value;
    return word.len != 0 && value <= UINT32_MAX;
}

/* ---- entries ---- */

/* Bytes of ".u64" and the like; 0 for another word. */
static uint32_t type_bytes(tv_str word)
{
    uint32_t bits = 0;
    if (word.len < 3 || word.ptr[0] != '.' || !memchr("bsuf", word.ptr[1], 4)
        || !number((tv_str){.ptr = word.ptr + 2, .len = word.len - 2}, &bits))
        return 0;
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? bits / 8 : 0;
}

/* One parameter, from after ".param" to "," or ")": .align 16 .b8 name[128], .u64 .ptr .global .align 16 name. */
static bool read_param(scanner *s, ld_record *record)
{
    uint32_t element = 0, align = 0, count = 1;
    do {
        if (is(s, ",") || is(s, ")")) {
            uint64_t start = align > element ? align : element, bytes = (uint64_t)element * count;
            if (!start || (start & (start - 1)))
                return false;
            start = (record->param_bytes + start - 1) / start * start;
            if (start + bytes > UINT16_MAX) /* parameters take 32764 bytes at most */
                return false;
            record->param_bytes = (uint32_t)(start + bytes);
            record->param_count++;
            return true;
        }
        if (is(s, ".ptr")) { /* what follows is about the memory it points to */
            while (next(s) && !is(s, ",") && !is(s, ")"))
                continue;
            continue;
        }
        if (is(s, ".align")) {
            if (!next(s) || !number(s->word, &align))
                return false;
        } else if (is(s, "[")) {
            if (!next(s) || !number(s->word, &count))
                return false;
        } else if (type_bytes(s->word)) {
            element = type_bytes(s->word);
        }
        if (!next(s))
            return false;
    } while (true);
}

static bool read_params(scanner *s, ld_record *record)
{
    if (!next(s))
        return false;
    if (is(s, ")"))
        return true;
    while (is(s, ".param") && next(s) && read_param(s, record)) {
        if (is(s, ")"))
            return true;
        if (!next(s)) /* a comma */
            return false;
    }
    return false;
}

static bool read_block(scanner *s, uint32_t block[3])
{
    block[0] = block[1] = block[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        if (!next(s) || !number(s->word, &block[i]) || !block[i])
            return false;
        scanner ahead = *s;
        if (!next(&ahead) || !is(&ahead, ","))
            return true;
        *s = ahead;
    }
    return false; /* a comma after the third number */
}

/* From after ".entry" to "{". A declaration ends in ";" and gives nothing. */
static bool read_entry(scanner *s, bc_arena *arena, ld_record *out, bool *out_defined)
{
    *out = (ld_record){0};
    if (!next(s))
        return false;
    out->name = bc_arena_dup(arena, s->word).ptr;
    while (next(s)) {
        if (is(s, "{") || is(s, ";")) {
            *out_defined = is(s, "{");
            return out->name != NULL;
        }
        if (is(s, "(") && !read_params(s, out))
            return false;
        if (is(s, ".reqntid") && !read_block(s, out->block))
            return false;
    }
    return false;
}

/* "// launch NAME shared BYTES" */
static void read_shared(tv_str ptx, ld_record *record)
{
    bc_text wanted;
    bc_text_init(&wanted, NULL);
    bc_text_printf(&wanted, "// launch %s shared ", record->name);
    const char *found = wanted.ptr ? memmem(ptx.ptr, ptx.len, wanted.ptr, wanted.len) : NULL;
    if (found) {
        const char *digits = found + wanted.len, *end = ptx.ptr + ptx.len, *p = digits;
        while (p < end && *p >= '0' && *p <= '9')
            p++;
        if (!number((tv_str){.ptr = digits, .len = (size_t)(p - digits)}, &record->shared_bytes))
            record->shared_bytes = 0;
    }
    bc_text_release(&wanted);
}

bool ld_records_from_ptx(bc_arena *arena, tv_str ptx, ld_record **out_records, size_t *out_count)
{
    scanner s = {.p = ptx.ptr, .end = ptx.ptr + ptx.len};
    ld_record *records = NULL;
    size_t count = 0, capacity = 0;
    while (next(&s)) {
        if (!is(&s, ".entry"))
            continue;
        bool defined;
        ld_record record;
        if (!read_entry(&s, arena, &record, &defined))
            return false;
        if (!defined)
            continue;
        records = bc_grow(arena, records, count, &capacity, ld_record);
        if (!records)
            return false;
        read_shared(ptx, &record);
        records[count++] = record;
    }
    *out_records = records;
    *out_count = count;
    return true;
}

/* ---- as text ---- */

void ld_records_print(const ld_record *records, size_t count, bc_text *out)
{
    for (size_t i = 0; i < count; i++) {
        const ld_record *r = &records[i];
        bc_text_printf(out, "%s %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", r->name,
                       r->block[0], r->block[1], r->block[2], r->param_count, r->param_bytes, r->shared_bytes);
    }
}

bool ld_records_parse(bc_arena *arena, tv_str text, ld_record **out_records, size_t *out_count)
{
    scanner s = {.p = text.ptr, .end = text.ptr + text.len};
    ld_record *records = NULL;
    size_t count = 0, capacity = 0;
    while (next(&s)) {
        records = bc_grow(arena, records, count, &capacity, ld_record);
        if (!records)
            return false;
        ld_record *r = &records[count++];
        *r = (ld_record){.name = bc_arena_dup(arena, s.word).ptr};
        uint32_t *const fields[] = {&r->block[0],    &r->block[1],    &r->block[2],
                                    &r->param_count, &r->param_bytes, &r->shared_bytes};
        for (size_t i = 0; i < TV_COUNT(fields); i++)
            if (!next(&s) || !number(s.word, fields[i]))
                return false;
        if (!r->name)
            return false;
    }
    *out_records = records;
    *out_count = count;
    return true;
}

/* ---- for messages ---- */

tv_str ld_ptx_origin(tv_str ptx, unsigned line)
{
    tv_str origin = {.ptr = "", .len = 0};
    const char *p = ptx.ptr, *end = ptx.ptr + ptx.len;
    for (unsigned at = 1; at <= line && p < end; at++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        const char *text = p;
        while (text < stop && (*text == ' ' || *text == '\t'))
            text++;
        if (stop - text > 6 && memcmp(text, "// op ", 6) == 0)
            origin = (tv_str){.ptr = text + 3, .len = (size_t)(stop - text) - 3};
        p = stop < end ? stop + 1 : end;
    }
    return origin;
}

tv_str ld_ptx_target(tv_str ptx)
{
    scanner s = {.p = ptx.ptr, .end = ptx.ptr + ptx.len};
    while (next(&s))
        if (is(&s, ".target"))
            return next(&s) ? s.word : (tv_str){.ptr = "", .len = 0};
        else if (is(&s, ".entry") || is(&s, ".func"))
            break;
    return (tv_str){.ptr = "", .len = 0};
}
