/* The cases of the corpus: cases.txt read, inputs generated, outputs compared. */
#ifndef TILEVM_TESTS_COMMON_CASES_H
#define TILEVM_TESTS_COMMON_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/op.h"

enum { CASE_VERSIONS = 5, CASE_MAX_RANK = 8 };

typedef enum case_outcome { CASE_RUNS, CASE_TRAPS, CASE_INVALID } case_outcome;
typedef enum case_role { CASE_IN, CASE_OUT, CASE_INOUT } case_role;
typedef enum case_compare { CASE_BITS, CASE_EQUAL, CASE_CLOSE, CASE_SORTED } case_compare;

/* An element type of arrays and scalars. */
typedef struct case_dtype {
    const char *name;
    bc_kind kind;
    bool is_unsigned;
} case_dtype;

/* Words of a line, borrowed from the file's text. */
typedef struct case_words {
    char **word;
    size_t count;
} case_words;

typedef struct case_array {
    const char *name;
    case_role role;
    const case_dtype *dtype;
    unsigned rank;
    int64_t shape[CASE_MAX_RANK], stride[CASE_MAX_RANK], offset, allocated; /* elements */
    size_t elements;
    case_words generator; /* kind, then its fields */
    bool has_checksum;
    uint64_t checksum; /* FNV-1a of the elements in logical order */
    case_compare compare;
    double rtol, atol;
    const char *expected; /* path below the folder; NULL: not compared */
} case_array;

typedef struct case_list {
    const char *name;
    size_t count, *arrays; /* indices */
} case_list;

typedef enum case_param_kind { CASE_POINTER, CASE_LIST, CASE_SCALAR } case_param_kind;

typedef struct case_param {
    case_param_kind kind;
    size_t index;  /* of the array or list */
    uint64_t bits; /* of the scalar */
} case_param;

typedef struct corpus_case {
    const char *name, *group, *symbol;
    bool perf;
    case_outcome outcome;
    unsigned needs_sm; /* targets below have not got what the kernel needs (cases_read_needs); 0: all have */
    uint32_t grid[3];
    const char *file[CASE_VERSIONS]; /* by minor - 1; NULL: that version cannot express it */
    case_array *arrays;
    case_list *lists;
    case_param *params;
    size_t array_count, list_count, param_count;
    const char *output; /* text it prints, with escapes resolved; NULL: none */
} corpus_case;

typedef struct corpus_cases {
    corpus_case *cases;
    size_t count;
    char *text;   /* of the file; everything above points into it */
    void **owned; /* other allocations */
    size_t owned_count;
} corpus_cases;

/* Reads FOLDER/cases.txt. False, with a message on stderr, when it cannot be read or does not make sense. */
bool cases_read(const char *folder, corpus_cases *out);
/* Reads a list of lines `case sm_NN`, the lowest target that has what the case needs; # begins a comment. False, with a
   message on stderr, when it cannot be read or names what is not there. */
bool cases_read_needs(const char *path, corpus_cases *cases);
void cases_release(corpus_cases *cases);

/* Bytes of one element in memory. */
size_t case_bytes(const case_dtype *dtype);

/* Pattern of the element with that logical index. */
uint64_t case_element(const case_array *array, size_t index);

/* Place of a logical index in the allocation, in elements. */
size_t case_place(const case_array *array, size_t index);

/* Fills the allocation: a pattern everywhere, and the elements unless the array is a pure output. False: the elements
   are not those that the checksum says. */
bool case_fill(const case_array *array, unsigned char *memory);

/* Elements of the allocation that differ from `expected` (logical order, packed), or gaps that were written. The first
   few are described in `report` (size bytes, terminated). */
size_t case_check(const case_array *array, const unsigned char *memory, const unsigned char *expected, char *report,
                  size_t size);

#endif
