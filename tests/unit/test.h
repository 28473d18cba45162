/* The smallest test harness: CHECK counts, TEST_END reports and gives the exit status. One program a file. */
#ifndef TILEVM_TESTS_UNIT_TEST_H
#define TILEVM_TESTS_UNIT_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/part.h"

static int test_passed, test_failed;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (condition) {                                                            \
            test_passed++;                                                          \
        } else {                                                                    \
            test_failed++;                                                          \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                           \
    } while (0)

/* The same, with a message for the values involved. */
#define CHECK_MSG(condition, ...)                                                   \
    do {                                                                            \
        if (condition) {                                                            \
            test_passed++;                                                          \
        } else {                                                                    \
            test_failed++;                                                          \
            fprintf(stderr, "%s:%d: failed: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                           \
            fputc('\n', stderr);                                                    \
        }                                                                           \
    } while (0)

/* Has one of the things that take long its turn? Those of the part TEST_TURNS have, all by default. */
static inline bool test_turn(void)
{
    static size_t turn;
    const char *text = getenv("TEST_TURNS");
    test_part p;
    return !text || !part_read(text, &p) || part_has(p, turn++);
}

#define TEST_END(name) (printf("%s: %d passed, %d failed\n", (name), test_passed, test_failed), test_failed != 0)

#endif
