/* Element-wise ops against their reference. */
#ifndef TILEVM_TESTS_MATRIX_MAP_H
#define TILEVM_TESTS_MATRIX_MAP_H

#include "tests/matrix/exact.h"
#include "tests/matrix/kernel.h"

/* One op on certain types with certain attributes. */
typedef struct mx_map {
    char text[160]; /* the op: $0 to $2 are the operands, #0 to #2 their types, #r the result's */
    unsigned operands;
    bc_kind in[3], out;
    /* What an element must be: a pattern, or a function's value. With ulps above 0 a result may be that far from it. */
    uint64_t (*expected)(const struct mx_map *map, const uint64_t *x);
    long double (*function)(long double x, long double y);
    double ulps;
    /* In PTX: operands for which anything may come out. */
    bool (*undefined)(const struct mx_map *map, const uint64_t *x);
    /* For `expected`. */
    int what;
    bc_RoundingMode mode;
    bool is_signed, flush, flag;
} mx_map;

/* The op on tiles of one shape; operand k comes in form[k], block by block of a grid of `blocks`. Elements come from
   `make` (NULL: mx_sample), by number. */
typedef struct mx_map_run {
    mx_shape shape;
    mx_form form[3];
    uint32_t blocks;
    uint64_t seed;
    void (*make)(const mx_map *map, uint64_t number, uint64_t *x);
    double *worst; /* the largest distance found, with ulps; may be NULL */
} mx_map_run;

/* Counts one pass or one failure. */
void mx_map_check(mx_report *r, const mx_map *map, const mx_map_run *run);

/* The op on every shape, in forms drawn from the seed. */
void mx_map_shapes(mx_report *r, const mx_map *map, mx_effort effort, uint64_t seed);

/* The op on `count` made-up elements, or on all patterns of its one operand where those are fewer. */
void mx_map_deep(mx_report *r, const mx_map *map, uint64_t count, uint64_t seed);

/* Most operands of arithmetic: samples, among them ones close to each other. */
void mx_map_make(const mx_map *map, uint64_t number, uint64_t *x);

#endif
