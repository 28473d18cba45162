/* A part of what repeats: of N alike parts the one with number I, given as "I/N" (tests/README.md#rounds). */
#ifndef TILEVM_TESTS_COMMON_PART_H
#define TILEVM_TESTS_COMMON_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct test_part {
    unsigned number, of;
} test_part;

/* What is taken where nothing else is asked for. */
#define PART_ALL ((test_part){0, 1})

/* False: no part, as "2/2" and "1". */
static inline bool part_read(const char *text, test_part *out)
{
    char end;
    return sscanf(text, "%u/%u%c", &out->number, &out->of, &end) == 2 && out->number < out->of;
}

/* Is the i-th thing in it? */
static inline bool part_has(test_part p, size_t i)
{
    return i % p.of == p.number;
}

#endif
