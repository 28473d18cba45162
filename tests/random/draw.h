/* What the parts of the generator of kernels share (kernel.h). */
#ifndef TILEVM_TESTS_RANDOM_DRAW_H
#define TILEVM_TESTS_RANDOM_DRAW_H

#include "tests/random/kernel.h"

enum {
    DRAW_ARRAYS = RANDOM_KERNEL_ARRAYS,
    DRAW_VIEWS = 24,
    DRAW_COUNTERS = 12,
    DRAW_VALUES = 24,
    DRAW_LOADS = 24, /* tokens of loads that nothing has joined yet */
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
    uint32_t counts[DRAW_DIMS]; /* of tiles; DRAW_GATHER: of rows in dimension 0 */
    char tensor[DRAW_NAME], tensor_type[DRAW_TYPE];
    draw_shape extents;   /* of the tensor */
    bool bent[DRAW_DIMS]; /* its rows along that dimension overlap */
} draw_view;

/* An i32 in scope, and what it is less than. It is not negative. */
typedef struct draw_counter {
    char name[DRAW_NAME];
    uint32_t bound;
} draw_counter;

/* A tile in scope, of the kernel's kind and number of elements. */
typedef struct draw_value {
    char name[DRAW_NAME];
    draw_shape shape;
} draw_value;

/* How accesses are ordered. */
typedef enum draw_order {
    DRAW_CHAIN, /* each after the one before */
    DRAW_FORK,  /* loads side by side, a store after all of them */
    DRAW_EACH,  /* so for each array alone */
    DRAW_LOOSE  /* as DRAW_FORK, and now and then a token is dropped */
} draw_order;

/* What a kernel consists of. */
typedef enum draw_theme {
    DRAW_MIXED,
    DRAW_MANY_LOADS, /* loops have many of them, also under conditions */
    DRAW_IN_PLACE,   /* loops that change tiles in place, and little else */
    DRAW_ROWS,       /* loops over the same range that load, one after the other */
    DRAW_PERSISTENT  /* a loop whose iterations the tile blocks share, and nothing else */
} draw_theme;

typedef struct draw_tokens {
    char last[DRAW_NAME]; /* what the next access comes after */
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
    uint32_t elements; /* of a tile; a power of two */
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
    /* The counter of a loop whose iterations the tile blocks share; "": none */
    char shared_counter[DRAW_NAME];
    uint32_t shared_bound;
    /* What the last loop in this region ran over; "": none */
    char range[DRAW_RANGE];
    uint32_t range_bound;
    draw_order order;
    draw_tokens tokens[DRAW_ARRAYS]; /* one for all, but with DRAW_EACH */
    unsigned budget;                 /* statements that may still come */
    unsigned depth;                  /* of loops */
} draw;

/* ---- draw.c: chance and text ---- */

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
/* An i32 less than `bound`, made of what is in scope; its name. */
void draw_index(draw *d, uint32_t bound, char out[DRAW_NAME]);
/* An i1, made of what is in scope. */
void draw_condition(draw *d, char out[DRAW_NAME]);
/* A tile made of one or two in scope. */
draw_value draw_compute(draw *d);
void draw_keep(draw *d, draw_value v);
draw_value draw_any_value(draw *d);
/* Elements that a view may reach, from its first to its last. */
uint32_t draw_room(const draw *d);

/* Their sum. */
draw_value draw_sum(draw *d, draw_value x, draw_value y);
void draw_add_counter(draw *d, const char *name, uint32_t bound);

/* ---- draw_tokens.c ---- */

enum { DRAW_WORDS = DRAW_NAME + 8 };
draw_tokens *draw_tokens_of(draw *d, unsigned array);
/* The words that name the token an access comes after: " token=%t3", or "". */
void draw_before(draw *d, unsigned array, bool stores, char out[DRAW_WORDS]);
/* The access has given that token. */
void draw_after(draw *d, unsigned array, bool stores, const char *token);
/* Makes one token of all that each array has, so that a region can carry it. */
void draw_join(draw *d);
unsigned draw_token_count(const draw *d);

/* ---- draw_access.c: views, loads, stores ---- */

/* Makes a view, if there is room for one. */
void draw_make_view(draw *d);
/* A load, store or atomic. */
void draw_access(draw *d);
/* A load through a view; the tile is in scope. */
void draw_load(draw *d);
void draw_store(draw *d);
/* Loads a tile through a view of its own. */
void draw_operand(draw *d, draw_shape tile, char out[DRAW_NAME]);

/* A tile of a view. */
typedef struct draw_place {
    unsigned view;
    char index[DRAW_TYPE]; /* with commas */
} draw_place;
/* A place that may be stored to, if stores; false: there is none. */
bool draw_a_place(draw *d, bool stores, draw_place *out);
void draw_another_index(draw *d, draw_place *p);
unsigned draw_array_of(const draw *d, const draw_place *p);
draw_value draw_load_at(draw *d, const draw_place *p);
void draw_store_at(draw *d, const draw_place *p, draw_value v);

/* ---- draw_idioms.c ---- */

void draw_idiom(draw *d);
/* A tile is loaded and what it has become is stored there, or nearly there, in either order. */
void draw_in_place(draw *d);

/* ---- draw_regions.c ---- */

enum { DRAW_CARRIED = DRAW_ARRAYS + 3 };

/* What a region carries in and out: tokens, then tiles and numbers. */
typedef struct draw_carried {
    char before[DRAW_NAME], inside[DRAW_NAME], after[DRAW_NAME], type[DRAW_TYPE];
} draw_carried;

typedef struct draw_region {
    draw_carried list[DRAW_CARRIED];
    unsigned count;
    unsigned views, counters, values; /* in scope outside of it */
    draw_value outside[DRAW_VALUES];  /* those values: new ones take the place of old ones */
    bool has_value;                   /* a tile of the kernel's kind comes behind the tokens */
    draw_shape shape;                 /* its shape */
} draw_region;

typedef enum draw_word { DRAW_BEFORE, DRAW_INSIDE, DRAW_AFTER, DRAW_TYPES, DRAW_ENTERS } draw_word;

/* A region that carries the tokens, and a tile where it is to. */
draw_region draw_region_of(draw *d, bool has_value);
void draw_carry(draw *d, draw_region *r, const char *name, const char *type);
/* The names or types of what a region carries, with commas. */
void draw_words(const draw_region *r, draw_word which, bc_text *out);
/* The head of a branch: "... = if %c -> (...) {". */
draw_region draw_branch(draw *d, const char *condition, bool has_value);
/* The region's own names are in scope. */
void draw_enter(draw *d, const draw_region *r);
/* Its end: "continue %t, %v : token, tile<...>". last: what has become of what it carries last, behind tokens and tile;
   NULL: it carries no more. */
void draw_leave(draw *d, const draw_region *r, const char *op, const char *last);
/* What the region gives is in scope. */
void draw_behind(draw *d, const draw_region *r);

/* ---- draw_pointers.c ---- */

/* The whole text of a kernel that multiplies what pointers lead to; its arrays are of f16. */
void draw_pointer_product(draw *d, random_kernel *out);

#endif
