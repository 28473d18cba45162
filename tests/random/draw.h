/* Declarations for the parts of the generator of random kernels (kernel.h). */
#ifndef TILEVM_TESTS_RANDOM_DRAW_H
#define TILEVM_TESTS_RANDOM_DRAW_H

#include "tests/random/kernel.h"

enum {
    DRAW_ARRAYS = 3,
    DRAW_VIEWS = 24,
    DRAW_COUNTERS = 12,
    DRAW_VALUES = 24,
    DRAW_LOADS = 24, /* tokens of loads that are not joined yet */
    DRAW_DIMS = 3,
    DRAW_NAME = 16,
    DRAW_TYPE = 200,
    DRAW_RANGE = 4 * DRAW_NAME
};

typedef struct draw_shape {
    unsigned rank;
    uint32_t dims[DRAW_DIMS];
} draw_shape;

typedef enum draw_view_kind { DRAW_PARTITION, DRAW_STRIDED, DRAW_GATHER } draw_view_kind;

typedef struct draw_view {
    char name[DRAW_NAME], type[DRAW_TYPE];
    unsigned array;
    draw_view_kind kind;
    draw_shape tile;
    uint32_t counts[DRAW_DIMS]; /* of tiles along each dimension; DRAW_GATHER: of rows in dimension 0 */
    char tensor[DRAW_NAME], tensor_type[DRAW_TYPE];
    draw_shape extents;   /* of the tensor */
    bool bent[DRAW_DIMS]; /* rows along that dimension overlap */
} draw_view;

/* An i32 in scope that is at least 0 and less than `bound`. */
typedef struct draw_counter {
    char name[DRAW_NAME];
    uint32_t bound;
} draw_counter;

/* A tile in scope, of the kernel's kind and number of elements. */
typedef struct draw_value {
    char name[DRAW_NAME];
    draw_shape shape;
} draw_value;

/* The order of accesses. */
typedef enum draw_order {
    DRAW_CHAIN, /* each follows the previous one */
    DRAW_FORK,  /* loads are unordered; a store follows all of them */
    DRAW_EACH,  /* the same for each array separately */
    DRAW_LOOSE  /* as DRAW_FORK, but some tokens are dropped */
} draw_order;

/* The contents of a kernel. */
typedef enum draw_theme {
    DRAW_MIXED,
    DRAW_MANY_LOADS, /* loops have many loads, some of them conditional */
    DRAW_ONLY_LOADS, /* loops only load tiles, with and without conditions, and add them up */
    DRAW_IN_PLACE,   /* loops change tiles in place, and do little else */
    DRAW_ROWS,       /* consecutive loops over the same range load tiles */
    DRAW_PERSISTENT  /* the kernel is one loop whose iterations the tile blocks share */
} draw_theme;

typedef struct draw_tokens {
    char last[DRAW_NAME]; /* the token for the next access */
    char loads[DRAW_LOADS][DRAW_NAME];
    unsigned load_count;
} draw_tokens;

/* An array of the kernel: an argument, at an offset that may follow the tile block. */
typedef struct draw_array {
    char name[DRAW_NAME];
    bool stored; /* somewhere in the kernel */
} draw_array;

typedef struct draw {
    bc_text *out;
    uint64_t state;
    unsigned indent, names;
    bc_kind kind; /* of elements */
    bool products;
    uint32_t elements; /* per tile; a power of two */
    draw_array arrays[DRAW_ARRAYS];
    unsigned array_count;
    draw_view views[DRAW_VIEWS];
    unsigned view_count;
    draw_counter counters[DRAW_COUNTERS];
    unsigned counter_count;
    draw_value values[DRAW_VALUES];
    unsigned value_count;
    bool alone; /* there is one tile block */
    draw_theme theme;
    bool has_atomics; /* on elements of this kind */
    /* the counter of a loop whose iterations the tile blocks share; "": none */
    char shared_counter[DRAW_NAME];
    uint32_t shared_bound;
    /* the range of the last loop in this region; "": none */
    char range[DRAW_RANGE];
    uint32_t range_bound;
    draw_order order;
    draw_tokens tokens[DRAW_ARRAYS]; /* one for all arrays, except with DRAW_EACH */
    unsigned budget;                 /* statements that may still be generated */
    unsigned depth;                  /* number of enclosing loops */
    unsigned branches;               /* number of enclosing branches */
} draw;

/* ---- draw.c: random choices and text ---- */

uint32_t draw_below(draw *d, uint32_t bound);
bool draw_chance(draw *d, uint32_t one_in);
/* A line of the kernel. */
void draw_line(draw *d, const char *format, ...) TV_PRINTF(2, 3);
/* A fresh name, without its `%`. */
void draw_name(draw *d, char out[DRAW_NAME]);
void draw_open(draw *d);
void draw_close(draw *d, const char *line);

/* "16x64xf32" */
void draw_elements(const draw *d, draw_shape shape, const char *kind, char out[DRAW_TYPE]);
/* "tile<16x64xf32>" of the kernel's kind. */
void draw_tile(const draw *d, draw_shape shape, char out[DRAW_TYPE]);
const char *draw_kind(const draw *d);
uint64_t draw_count(draw_shape shape);
bool draw_same_shape(draw_shape a, draw_shape b);
/* Powers of two whose product is `elements`. */
draw_shape draw_any_shape(draw *d, uint32_t elements, unsigned rank);
/* A tile in scope, with that shape. */
draw_value draw_reshape(draw *d, draw_value v, draw_shape shape);
/* Computes an i32 less than `bound` from values in scope; out: its name. */
void draw_index(draw *d, uint32_t bound, char out[DRAW_NAME]);
/* Compares an i32 with a small constant; out: the i1. */
void draw_comparison(draw *d, const char *number, char out[DRAW_NAME]);
/* Computes an i1 from values in scope. */
void draw_condition(draw *d, char out[DRAW_NAME]);
/* Computes a tile from one or two in scope. */
draw_value draw_compute(draw *d);
void draw_keep(draw *d, draw_value v);
draw_value draw_any_value(draw *d);
/* The number of elements that a view may span. */
uint32_t draw_room(const draw *d);

/* Their sum. */
draw_value draw_sum(draw *d, draw_value x, draw_value y);
void draw_add_counter(draw *d, const char *name, uint32_t bound);

/* ---- draw_tokens.c ---- */

enum { DRAW_WORDS = DRAW_NAME + 8 };
draw_tokens *draw_tokens_of(draw *d, unsigned array);
/* The text that names the token for an access: " token=%t3", or "". */
void draw_before(draw *d, unsigned array, bool stores, char out[DRAW_WORDS]);
/* Records the token that the access produced. */
void draw_after(draw *d, unsigned array, bool stores, const char *token);
/* Joins all tokens of each array into one, so that a region can carry it. */
void draw_join(draw *d);
unsigned draw_token_count(const draw *d);

/* ---- draw_access.c: views, loads, stores ---- */

/* Creates a view, if there is room for one. */
void draw_make_view(draw *d);
/* Generates a load, store or atomic. */
void draw_access(draw *d);
/* Loads a tile through a view; the tile is in scope afterwards. */
void draw_load(draw *d);
void draw_store(draw *d);
/* Loads a tile through a new view. */
void draw_operand(draw *d, draw_shape tile, char out[DRAW_NAME]);

/* The index of a tile in a view. */
typedef struct draw_place {
    unsigned view;
    char index[DRAW_TYPE]; /* with commas */
} draw_place;
/* Chooses a tile. stores: one that may be stored to. False: there is none. */
bool draw_a_place(draw *d, bool stores, draw_place *out);
void draw_another_index(draw *d, draw_place *p);
unsigned draw_array_of(const draw *d, const draw_place *p);
draw_value draw_load_at(draw *d, const draw_place *p);
void draw_store_at(draw *d, const draw_place *p, draw_value v);

/* ---- draw_idioms.c ---- */

void draw_idiom(draw *d);
/* Loads a number, and tests whether it is odd; out: the i1. False: elements are not integers. */
bool draw_memory_condition(draw *d, char out[DRAW_NAME]);
/* Loads a tile and stores a value computed from it at the same index, or nearly the same, in either order. */
void draw_in_place(draw *d);

/* ---- draw_regions.c ---- */

enum { DRAW_CARRIED = DRAW_ARRAYS + 3 };

/* The values that a region carries in and out: tokens, then tiles and numbers. */
typedef struct draw_carried {
    char before[DRAW_NAME], inside[DRAW_NAME], after[DRAW_NAME], type[DRAW_TYPE];
} draw_carried;

typedef struct draw_region {
    draw_carried list[DRAW_CARRIED];
    unsigned count;
    unsigned views, counters, values; /* in scope outside the region */
    draw_value outside[DRAW_VALUES];  /* values outside, because new ones replace old ones */
    bool has_value;                   /* a tile of the kernel's kind follows the tokens */
    draw_shape shape;                 /* its shape */
} draw_region;

typedef enum draw_word { DRAW_BEFORE, DRAW_INSIDE, DRAW_AFTER, DRAW_TYPES, DRAW_ENTERS } draw_word;

/* A region that carries the tokens, and with has_value a tile. */
draw_region draw_region_of(draw *d, bool has_value);
void draw_carry(draw *d, draw_region *r, const char *name, const char *type);
/* The names or types of what a region carries, with commas. */
void draw_words(const draw_region *r, draw_word which, bc_text *out);
/* The head of a loop: "... = for %i in (range) : tile<i32> iter_values(...) -> (...) {". compare: "" or "unsigned ". */
void draw_head(draw *d, const draw_region *r, const char *counter, const char *range, const char *compare,
               const char *type);
/* The head of a branch: "... = if %c -> (...) {". */
draw_region draw_branch(draw *d, const char *condition, bool has_value);
/* Brings the region's own names into scope. */
void draw_enter(draw *d, const draw_region *r);
/* Writes the end of the region: "continue %t, %v : token, tile<...>". last: the new value of the last carried value,
   after tokens and tile. NULL: there is none. */
void draw_leave(draw *d, const draw_region *r, const char *op, const char *last);
/* Brings the results of the region into scope. */
void draw_behind(draw *d, const draw_region *r);

/* ---- draw_pointers.c ---- */

/* Generates the whole text of a kernel of `grid` tile blocks that multiplies tiles loaded through pointers. Its arrays
   are f16. Returns their bytes. */
size_t draw_pointer_product(draw *d, uint32_t grid);

/* ---- draw_tiles.c: ops on tiles of any type ---- */

const char *draw_kind_text(bc_kind kind);
bool draw_is_real(bc_kind kind);
/* "tile<16x64xf32>" */
void draw_typed(draw_shape shape, const char *kind, char out[DRAW_TYPE]);
/* Writes an op, and gives its result a fresh name, which may replace that of an operand. */
void draw_set(draw *d, char out[DRAW_NAME], const char *format, ...) TV_PRINTF(3, 4);
/* fraction: of a float, ".0" or ".5". */
void draw_constant(draw *d, draw_shape shape, bc_kind kind, int number, const char *fraction, char out[DRAW_NAME]);
void draw_scalar(draw *d, uint32_t number, char out[DRAW_NAME]);
/* Exchanges the last two dimensions. */
draw_shape draw_turned(draw_shape shape);
void draw_turn(draw *d, draw_shape shape, const char *kind, char name[DRAW_NAME]);
/* A tile with one number for each index of a dimension becomes one of the shape. */
void draw_spread(draw *d, draw_shape shape, unsigned dim, const char *kind, char name[DRAW_NAME]);
/* Whether the index along a dimension is less than a bound: an i1 for each element. */
void draw_mask(draw *d, draw_shape shape, unsigned dim, uint32_t bound, char out[DRAW_NAME]);
void draw_select(draw *d, draw_shape shape, bc_kind kind, const char *condition, const char *yes, const char *no,
                 char out[DRAW_NAME]);
/* Into the range from low to high. */
void draw_clamp(draw *d, draw_shape shape, bc_kind kind, int low, int high, char name[DRAW_NAME]);
void draw_convert(draw *d, draw_shape shape, bc_kind from, bc_kind to, char name[DRAW_NAME]);

/* ---- draw_operands.c: tiles of matrices ---- */

/* A matrix, or several, in an array of its own, divided into tiles. */
typedef struct draw_matrix {
    const char *array, *kind;
    draw_shape tile;            /* as it is stored */
    uint32_t counts[DRAW_DIMS]; /* of tiles */
    bool turned;                /* tiles are used with their last two dimensions exchanged */
    bool even;                  /* all rows start at multiples of 16 bytes, as tensor maps need */
    char view[DRAW_NAME], type[DRAW_TYPE];
    size_t elements; /* that the array must have */
} draw_matrix;

/* Writes the view; array, kind, tile, counts and even are given. ragged: extents may end inside a tile. */
void draw_matrix_view(draw *d, draw_matrix *m, bool ragged);
/* Loads the tile of a row and a column of tiles (as they are used, not as they are stored). */
void draw_matrix_load(draw *d, const draw_matrix *m, const char *row, const char *column, const char *token,
                      char out[DRAW_NAME], char out_token[DRAW_NAME]);
void draw_matrix_store(draw *d, const draw_matrix *m, const char *row, const char *column, const char *value,
                       const char *token);
#endif
