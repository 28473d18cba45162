/* Bounded reads over untrusted bytes. After a short read the cursor stays failed and yields zeros, so callers check
   once per record; `fault` says which rule broke first and `fault_at` where. */
#ifndef TILEVM_BYTECODE_READ_CURSOR_H
#define TILEVM_BYTECODE_READ_CURSOR_H

#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/rules.h"

/* Odd but readable numbers: where the first one stands; NULL while there is none. Only strict reading reports them. */
typedef struct bc_oddities {
    const uint8_t *overlong; /* not the shortest form */
    const uint8_t *high;     /* has bits above 63, which are dropped */
} bc_oddities;

typedef struct bc_cursor {
    const uint8_t *p, *end;
    const uint8_t *file; /* start of the file, for offsets */
    bc_oddities *odd;
    const char *noun; /* what was being read when it failed */
    const uint8_t *fault_at;
    uint64_t found, limit; /* the number that was too large, and the first one that would be; limit 0: no such number,
                              or an empty table */
    bc_rule fault;
    bool failed;
} bc_cursor;

static inline uint64_t bc_cursor_offset(const bc_cursor *c)
{
    return (uint64_t)(c->p - c->file);
}

static inline size_t bc_cursor_left(const bc_cursor *c)
{
    return (size_t)(c->end - c->p);
}

TV_NOINLINE static void bc_cursor_fail(bc_cursor *c, bc_rule rule, const char *noun)
{
    if (!c->failed) {
        c->failed = true;
        c->fault = rule;
        c->fault_at = c->p;
        c->noun = noun;
    }
    c->p = c->end;
}

static inline uint8_t bc_u8(bc_cursor *c, const char *noun)
{
    if (TV_UNLIKELY(c->p == c->end)) {
        bc_cursor_fail(c, BC_RULE_F_090, noun);
        return 0;
    }
    return *c->p++;
}

/* count bytes, or NULL. */
static inline const uint8_t *bc_take(bc_cursor *c, size_t count, const char *noun)
{
    if (TV_UNLIKELY(count > bc_cursor_left(c))) {
        bc_cursor_fail(c, BC_RULE_F_090, noun);
        return NULL;
    }
    const uint8_t *start = c->p;
    c->p += count;
    return start;
}

static inline uint64_t bc_le(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* The long form of a varint; out_high receives the bits above 63. */
TV_NOINLINE static uint64_t bc_varint_slow(bc_cursor *c, const char *noun, unsigned *out_high)
{
    uint64_t v = 0;
    const uint8_t *start = c->p;
    for (unsigned shift = 0;; shift += 7) {
        if (c->p == c->end || shift > 63) {
            c->p = start;
            bc_cursor_fail(c, BC_RULE_F_021, noun);
            return 0;
        }
        uint8_t byte = *c->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (shift == 63)
            *out_high = (byte & 0x7fu) >> 1;
        if (!(byte & 0x80)) {
            if (byte == 0 && shift && !c->odd->overlong)
                c->odd->overlong = start;
            return v;
        }
    }
}

TV_NOINLINE static uint64_t bc_varint_long(bc_cursor *c, const char *noun)
{
    unsigned high = 0;
    const uint8_t *start = c->p;
    uint64_t v = bc_varint_slow(c, noun, &high);
    if (high && !c->odd->high)
        c->odd->high = start;
    return v;
}

/* Unsigned LEB128; bits above 63 are dropped as all known readers do. */
static inline uint64_t bc_varint(bc_cursor *c, const char *noun)
{
    if (TV_LIKELY(c->p != c->end && *c->p < 0x80))
        return *c->p++;
    return bc_varint_long(c, noun);
}

/* Fails at start, where the number that is too large stands. */
TV_NOINLINE static void bc_cursor_too_large(bc_cursor *c, bc_rule rule, const char *noun, const uint8_t *start,
                                            uint64_t found, uint64_t limit)
{
    if (!c->failed) {
        c->p = start;
        c->found = found;
        c->limit = limit;
    }
    bc_cursor_fail(c, rule, noun);
}

/* A varint that must be below limit; rule says what is broken otherwise. */
static inline uint64_t bc_index(bc_cursor *c, uint64_t limit, bc_rule rule, const char *noun)
{
    const uint8_t *start = c->p;
    uint64_t v = bc_varint(c, noun);
    if (TV_UNLIKELY(v >= limit)) {
        bc_cursor_too_large(c, rule, noun, start, v, limit);
        return 0;
    }
    return v;
}

/* A count of things that take at least min_bytes each: checked against what is left before anything is allocated. */
static inline size_t bc_count(bc_cursor *c, size_t min_bytes, bc_rule rule, const char *noun)
{
    const uint8_t *start = c->p;
    uint64_t n = bc_varint(c, noun);
    if (TV_UNLIKELY(n > bc_cursor_left(c) / min_bytes)) {
        bc_cursor_too_large(c, rule, noun, start, n, bc_cursor_left(c) / min_bytes + 1);
        return 0;
    }
    return (size_t)n;
}

static inline int64_t bc_zigzag(uint64_t r)
{
    return (int64_t)((r >> 1) ^ (0 - (r & 1)));
}

static inline int64_t bc_svarint(bc_cursor *c, const char *noun)
{
    return bc_zigzag(bc_varint(c, noun));
}

#endif
