/* A custom mutator for bytecode: takes the file apart, mutates one section or one function body as bytes, and lays the
   file out again with true lengths and paddings; or changes what kernels are to the outside (entry_mutator.h). Included
   by the one file of a fuzz target. */
#ifndef TILEVM_TESTS_FUZZ_BODY_MUTATOR_H
#define TILEVM_TESTS_FUZZ_BODY_MUTATOR_H
#ifndef FUZZ_REPLAY

#include <stdint.h>
#include <string.h>

#include "tests/fuzz/entry_mutator.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { HEADER = 12, MAX_SECTIONS = 8, FUNC = 2, MAX_PAYLOAD = 1 << 16 };

typedef struct section {
    uint8_t id, align;
    size_t size;
    uint8_t bytes[MAX_PAYLOAD];
} section;

static size_t get_varint(const uint8_t **p, const uint8_t *end)
{
    size_t v = 0;
    for (unsigned shift = 0; *p < end && shift < 32; shift += 7) {
        uint8_t byte = *(*p)++;
        v |= (size_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return v;
}

static void put_varint(uint8_t *out, size_t *at, size_t v)
{
    for (; v > 0x7f; v >>= 7)
        out[(*at)++] = (uint8_t)(v | 0x80);
    out[(*at)++] = (uint8_t)v;
}

/* Splits a file into its sections; 0 when it does not look like one. */
static unsigned split(const uint8_t *data, size_t size, section *sections)
{
    const uint8_t *p = data + HEADER, *end = data + size;
    unsigned count = 0;
    while (p < end && *p && count < MAX_SECTIONS) {
        section *s = &sections[count++];
        s->id = *p++;
        s->size = get_varint(&p, end);
        s->align = 1;
        if (s->id & 0x80) {
            size_t align = get_varint(&p, end);
            if (align == 0 || align > 64)
                return 0;
            s->align = (uint8_t)align;
            while (p < end && (size_t)(p - data) % align)
                p++;
        }
        if (s->size > (size_t)(end - p) || s->size > MAX_PAYLOAD / 2)
            return 0;
        memcpy(s->bytes, p, s->size);
        p += s->size;
    }
    return p < end ? count : 0;
}

static size_t join(const uint8_t *header, const section *sections, unsigned count, uint8_t *out, size_t max_size)
{
    size_t at = HEADER;
    memmove(out, header, HEADER);
    for (unsigned i = 0; i < count; i++) {
        if (at + sections[i].size + 80 > max_size)
            return 0;
        out[at++] = sections[i].id;
        put_varint(out, &at, sections[i].size);
        if (sections[i].id & 0x80) {
            put_varint(out, &at, sections[i].align);
            while (at % sections[i].align)
                out[at++] = 0xcb;
        }
        memcpy(out + at, sections[i].bytes, sections[i].size);
        at += sections[i].size;
    }
    out[at++] = 0;
    return at;
}

/* Mutates the body of the first function of a 13.1 to 13.4 function section without hints, keeping its length true. */
static void mutate_body(section *s, unsigned seed)
{
    const uint8_t *p = s->bytes, *end = s->bytes + s->size;
    get_varint(&p, end);      /* functions */
    get_varint(&p, end);      /* name */
    get_varint(&p, end);      /* signature */
    if (p >= end || *p++ & 4) /* flags: hints follow */
        return;
    get_varint(&p, end); /* debug index */
    size_t head = (size_t)(p - s->bytes);
    size_t length = get_varint(&p, end);
    if (length > (size_t)(end - p))
        return;
    static uint8_t body[MAX_PAYLOAD], rest[MAX_PAYLOAD];
    size_t rest_size = (size_t)(end - p) - length;
    memcpy(body, p, length);
    memcpy(rest, p + length, rest_size);
    if (seed & 1 && length) /* a small number in place: another value, type or attribute */
        body[seed / 2 % length] = (uint8_t)(seed >> 16 & 0x3f);
    else
        length = LLVMFuzzerMutate(body, length, length + 16 < MAX_PAYLOAD / 2 ? length + 16 : length);
    put_varint(s->bytes, &head, length);
    memcpy(s->bytes + head, body, length);
    memcpy(s->bytes + head + length, rest, rest_size);
    s->size = head + length + rest_size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static section sections[MAX_SECTIONS];
    size_t changed = seed % 8 == 0 ? mutate_entry(data, size, max_size, seed / 8) : 0;
    if (changed)
        return changed;
    unsigned count = size > HEADER ? split(data, size, sections) : 0;
    if (!count)
        return LLVMFuzzerMutate(data, size, max_size);
    section *s = &sections[seed % count];
    seed /= count;
    if ((s->id & 0x7f) == FUNC)
        mutate_body(s, seed);
    else if (seed & 1 && s->size)
        s->bytes[seed / 2 % s->size] = (uint8_t)(seed >> 16 & 0x1f);
    else
        s->size = LLVMFuzzerMutate(s->bytes, s->size, s->size + 16);
    size_t joined = join(data, sections, count, data, max_size);
    return joined ? joined : LLVMFuzzerMutate(data, size, max_size);
}

#endif
#endif
