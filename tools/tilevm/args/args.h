/* Arguments of `tilevm run`: from what the user writes to arrays in memory, and back to files and reports.

     array.c         memory with guard zones, element access
     strip.c         elements as doubles, many at a time; several processors
     summary.c       checksums, smallest, largest, mean
     spec.c          the text of an argument: x.npy, 'randn(f32,[4,4],seed=7)', 5, [x.npy, y.npy], @a
     make.c          specs to arrays and scalars
     fill.c          generators
     bind.c          which spec belongs to which parameter
     json.c          the same from a JSON file
     synth.c         arguments made up where none are given
     compare.c       results against expected ones
     save.c          results to files
   Nothing here prints; what went wrong goes to an io_error. docs/reference/run.md describes what users see. */
#ifndef TILEVM_TOOLS_ARGS_ARGS_H
#define TILEVM_TOOLS_ARGS_ARGS_H

#include "bytecode/base/arena.h"
#include "bytecode/dtype.h"
#include "tilevm/tilevm.h"
#include "tools/tilevm/io/io.h"

/* ---- arrays ---- */

/* What the arrays of a run may take together. */
typedef struct arg_budget {
    uint64_t limit, used; /* bytes; limit 0: any */
} arg_budget;
/* Half of the memory that is available now. */
uint64_t arg_memory_limit(void);

/* Memory with a guard zone on either side. Arrays that alias share one. */
typedef struct arg_storage {
    unsigned char *block;
    size_t block_size;
    unsigned char *data; /* between the guard zones */
    size_t size;
    unsigned users;
    arg_budget *budget; /* borrowed; NULL: none */
} arg_storage;

typedef struct arg_array {
    arg_storage *storage; /* NULL: a null pointer */
    tv_dtype dtype;
    unsigned item; /* bytes of an element */
    uint32_t ndim;
    int64_t shape[TV_MAX_RANK], strides[TV_MAX_RANK]; /* elements */
    unsigned char *first;                             /* element (0, ..., 0) */
    uint64_t count;
    bool packed; /* row-major without gaps */
} arg_array;

enum {
    ARG_GUARD = 4096, /* bytes of a guard zone; also the alignment of the data */
    ARG_GAP = 0xa5    /* what gaps and guard zones hold */
};

/* How an array lies in memory. */
typedef struct arg_layout {
    bool fortran;           /* first axis fastest; when strides are not given */
    const int64_t *strides; /* NULL: packed */
    uint64_t offset;        /* elements between the beginning of the memory and the lowest element */
    arg_budget *budget;     /* NULL: no limit */
} arg_layout;

/* Allocates an array. Its elements hold anything, gaps between them ARG_GAP. shape is copied. */
bool arg_array_new(tv_dtype dtype, uint32_t ndim, const int64_t *shape, const arg_layout *layout, arg_array *out,
                   io_error *error);
/* Another view of the memory of an array. */
bool arg_array_alias(const arg_array *of, tv_dtype dtype, uint32_t ndim, const int64_t *shape, const arg_layout *layout,
                     arg_array *out, io_error *error);
void arg_array_free(arg_array *array);
tv_array arg_array_view(const arg_array *array);

/* Walks the elements in row-major order of the indices, in runs of equal steps. */
typedef struct arg_walk {
    const arg_array *array;
    unsigned char *at; /* first element of the run */
    int64_t step;      /* bytes to the next one */
    uint64_t run;      /* elements in the run */
    uint64_t done;     /* elements in earlier runs */
    int64_t index[TV_MAX_RANK];
} arg_walk;
void arg_walk_start(arg_walk *walk, const arg_array *array);
bool arg_walk_next(arg_walk *walk); /* false after the last run */

/* Pattern of an element, zero-extended. */
uint64_t arg_load(const unsigned char *at, unsigned item);
void arg_store(unsigned char *at, unsigned item, uint64_t bits);
/* Value as a double: exact but for 64-bit integers above 2^53. */
double arg_value_of(tv_dtype dtype, uint64_t bits);
/* n elements, step bytes apart, as doubles; and back, rounded once to nearest even. Writing is for float types only. */
void arg_get_reals(tv_dtype dtype, const unsigned char *at, int64_t step, size_t n, double *out);
void arg_put_reals(tv_dtype dtype, unsigned char *at, int64_t step, size_t n, const double *in);
/* Calls step for 0 to count - 1, on all processors. */
void arg_parallel(uint64_t count, void (*step)(void *user, uint64_t index), void *user);
/* Appends the value as people write it. */
void arg_print_value(bc_text *out, tv_dtype dtype, uint64_t bits);

/* The elements packed in row-major order. NULL: out of memory. Owned by the caller (free). */
unsigned char *arg_array_packed(const arg_array *array);

/* True when the kernel wrote only to elements. Otherwise where: bytes from the first element on. */
bool arg_array_guards(const arg_array *array, int64_t *out_offset, io_error *error);

typedef struct arg_summary {
    uint64_t checksum; /* 64-bit FNV-1a of the packed elements */
    uint64_t nan_count, inf_count;
    bool has_range;    /* some element is a number */
    uint64_t min, max; /* patterns */
    double mean;       /* of the finite elements */
} arg_summary;
void arg_array_summary(const arg_array *array, arg_summary *out);
uint64_t arg_array_checksum(const arg_array *array);

/* ---- specs ---- */

typedef enum arg_key {
#define KEY(name, text) ARG_KEY_##name,
#include "tools/tilevm/args/keys.def"
    ARG_KEY_COUNT
} arg_key;

typedef enum arg_form { ARG_NUMBER, ARG_NULL, ARG_FILE, ARG_CALL, ARG_ALIAS, ARG_AUTO, ARG_LIST } arg_form;

typedef enum arg_maker {
#define MAKER(name, text, keys, summary) ARG_MAKE_##name,
#include "tools/tilevm/args/keys.def"
    ARG_MAKER_COUNT
} arg_maker;

/* The text of an argument, taken apart. Strings point into the text; it must live as long. */
typedef struct arg_spec {
    arg_form form;
    tv_str text;    /* all of it */
    bool has_dtype; /* prefix "bf16:" */
    tv_dtype dtype;
    bool pointer;                 /* prefix "ptr:" */
    tv_str word;                  /* NUMBER: the digits; FILE: the path; ALIAS: the name */
    tv_str member;                /* FILE: after ".npz:" */
    arg_maker maker;              /* CALL */
    tv_str keys[ARG_KEY_COUNT];   /* CALL, ALIAS: values by name; ptr NULL when not given */
    const struct arg_spec *items; /* LIST */
    size_t item_count;
} arg_spec;

bool arg_spec_parse(bc_arena *arena, tv_str text, arg_spec *out, io_error *error);
/* Splits "[a, b, c]" or "a, b, c" at top-level commas; brackets and quotes protect. NULL, error set: unbalanced, or out
   of memory. */
tv_str *arg_split(bc_arena *arena, tv_str text, size_t *out_count, io_error *error);
/* Lists the generators and loaders with their keys, for the help text: "randn(dtype, shape, seed=, mean=, std=)". */
const char *arg_maker_text(arg_maker maker);
const char *arg_maker_keys(arg_maker maker);
const char *arg_maker_summary(arg_maker maker);

/* ---- making ---- */

typedef struct arg_context {
    bc_arena *arena;
    uint64_t seed;      /* --seed: added to the seed of every generator */
    const char *folder; /* paths in specs are relative to it; NULL: the current one */
    arg_budget *budget; /* of all arrays; must outlive them; NULL: no limit */
} arg_context;

/* What a kernel gets for one leaf of its signature. */
typedef struct arg_value {
    const tv_param *leaf;
    const char *name; /* as the user calls it */
    bool given;
    arg_spec spec;
    const char *folder; /* of the file the spec stood in; NULL: the current one */
    arg_array *arrays;  /* ARRAY, POINTER: one; LIST: some */
    size_t array_count;
    tv_dtype dtype; /* SCALAR */
    uint64_t bits;
    uint64_t before; /* fingerprint when the kernel started */
} arg_value;

/* An array from a spec. wanted: the element type if the spec names none; TV_DTYPE_COUNT: the spec must name one.
   ordinal: the index of the argument, so that generators without a seed differ. */
bool arg_make_array(const arg_context *context, const arg_spec *spec, tv_dtype wanted, unsigned ordinal, arg_array *out,
                    io_error *error);
/* A view of the memory of another array, with dtype, shape, strides and offset of its own if the spec gives them. */
bool arg_make_alias(const arg_context *context, const arg_spec *spec, const arg_array *of, arg_array *out,
                    io_error *error);
bool arg_make_scalar(const arg_spec *spec, tv_dtype dtype, uint64_t *out_bits, io_error *error);

/* A number as users write it (5, -1.5e3, nan, true, 0x7fc0 for a pattern) as bits in memory. */
bool arg_parse_value(tv_str text, tv_dtype dtype, uint64_t *out_bits, io_error *error);

/* What fills an array: element i (in row-major order of the indices) is
     FILL      bits
     ARANGE    start + step * i, or of i % mod where mod > 0; in doubles for floats, else in integers modulo 2^64
     UNIFORM   low + (high - low) * u(i), u = (h(i) >> 8) / 2^24
     RANDINT   (int_low + h(i) mod (int_high - int_low)) / den; integers are not divided
     RANDN     mean + std * (the normal distribution's quantile of u(i) + 2^-25)
     BITS      the low bits of h(2i) + 2^32 h(2i + 1)
   with h(i) = h(seed, i) below. Values are rounded once to the type. The results depend on nothing else: not on the
   machine, its mathematical library or the number of threads. */
typedef enum arg_fill_kind {
    ARG_FILL_BITS,
    ARG_FILL_ARANGE,
    ARG_FILL_UNIFORM,
    ARG_FILL_RANDINT,
    ARG_FILL_RANDN,
    ARG_FILL_RANDOM_BITS
} arg_fill_kind;
typedef struct arg_filler {
    arg_fill_kind kind;
    uint32_t seed;
    uint64_t bits;      /* FILL */
    double start, step; /* ARANGE, for floats */
    int64_t int_start, int_step, mod;
    double low, high;          /* UNIFORM */
    int64_t int_low, int_high; /* RANDINT; int_low < int_high */
    double den;
    double mean, std; /* RANDN */
} arg_filler;
uint32_t arg_hash(uint32_t seed, uint64_t i);
void arg_fill(arg_array *array, const arg_filler *filler);

/* ---- binding ---- */

typedef struct arg_set {
    bc_arena *arena;
    const tv_signature *signature;
    tv_str *names; /* of the parameters, by --names */
    size_t name_count;
    arg_value *values; /* one a leaf */
    size_t count;
    size_t next; /* parameter that the next argument without a name is for */
    bool any;    /* an argument was given */
} arg_set;

bool arg_set_init(arg_set *set, bc_arena *arena, const tv_signature *signature, io_error *error);
void arg_set_release(arg_set *set);
/* "x,y,out,n": names for the parameters, in order. */
bool arg_set_names(arg_set *set, tv_str names, io_error *error);
/* Gives an argument. target: the name or number of a parameter, "b.1" in tuples; empty: the next one. override: a
   parameter may have been given before. */
bool arg_set_give(arg_set *set, tv_str target, tv_str text, const char *folder, bool override, io_error *error);
/* "c=x.npy" to target and text; without "=", target is empty. */
void arg_cut_target(tv_str text, tv_str *out_target, tv_str *out_rest);
/* The value that a target names, and which array of it: "c", "xs[1]". */
bool arg_set_find(const arg_set *set, tv_str target, arg_value **out_value, size_t *out_array, io_error *error);
/* Makes arrays and scalars of everything given but ARG_AUTO. */
bool arg_set_make(arg_set *set, const arg_context *context, io_error *error);
/* Over the memory of all arrays of a value; changes when a kernel changes something. */
uint64_t arg_value_fingerprint(const arg_value *value);
/* The first leaf that was not given anything; NULL. */
const arg_value *arg_set_missing(const arg_set *set);

/* ---- comparing ---- */

typedef enum arg_mode {
    ARG_CLOSE, /* |got - want| <= atol + rtol * |want|; NaN matches NaN, infinities must be equal */
    ARG_EQUAL, /* the same number; NaN matches NaN, -0 matches 0 */
    ARG_SAME,  /* the same bits */
    ARG_SORTED /* equal after sorting both */
} arg_mode;

typedef struct arg_tolerance {
    arg_mode mode;
    double rtol, atol;
    double sums;        /* CLOSE: for the order of sums, relative to the largest magnitude in both */
    double terms;       /* of the longest of them */
    tv_dtype sum_dtype; /* that it is made in */
} arg_tolerance;

/* Integers must be equal, floats close by the precision of their type. */
arg_tolerance arg_tolerance_default(tv_dtype dtype);
/* rtol=, atol=, mode=close|equal|bits|sorted among the keys of a spec. */
bool arg_tolerance_keys(const arg_spec *spec, arg_tolerance *tolerance, io_error *error);
const char *arg_mode_name(arg_mode mode);

enum { ARG_WORST = 5 };

typedef struct arg_difference {
    uint64_t place;     /* of the element in row-major order */
    uint64_t got, want; /* patterns, of the type of the result */
    double excess;      /* |got - want| over what is allowed; infinite for NaN and infinities */
    uint64_t ulp;       /* steps between the two; UINT64_MAX if that has no meaning */
} arg_difference;

typedef struct arg_comparison {
    arg_tolerance tolerance;
    double slack; /* absolute tolerance for the order of sums */
    uint64_t count, wrong;
    arg_difference first; /* in row-major order, when some are wrong */
    arg_difference worst[ARG_WORST];
    unsigned worst_count;
    unsigned char *wrong_bits; /* bit per element; owned */
} arg_comparison;

/* The shapes must agree, and the types must both be floats, or the same. A want of another float type is rounded. */
bool arg_comparable(const arg_array *got, const arg_array *want, const arg_tolerance *tolerance, io_error *error);
bool arg_compare(const arg_array *got, const arg_array *want, const arg_tolerance *tolerance, arg_comparison *out,
                 io_error *error);
void arg_comparison_free(arg_comparison *comparison);
/* Appends "rtol 1.3e-06, atol 1e-05, and 0.0016 for sums of 1024 terms in f32", or the mode. */
void arg_comparison_print_tolerance(bc_text *out, const arg_comparison *comparison);
/* Appends the mismatch report: counts, worst elements, a picture of where they lie. */
void arg_comparison_print(bc_text *out, const char *name, const arg_array *got, const arg_comparison *comparison);
/* Indices of an element from its place in row-major order; ndim of them. */
void arg_index_of(const arg_array *array, uint64_t place, int64_t *out_index);
/* Appends "[3, 17]  got 1  want 2  (0x3f800000, 0x40000000)  off by 1, 8388608 ulp", with the words given for got and
   want. */
void arg_print_difference(bc_text *out, const arg_array *array, const arg_difference *d, const char *got,
                          const char *want);
/* "[3, 17]" */
void arg_print_index(bc_text *out, const arg_array *array, uint64_t place);
/* "f32[64, 64]" */
void arg_print_type(bc_text *out, const arg_array *array);

/* ---- saving ---- */

typedef struct arg_save {
    const char *name; /* of the array, and in the file unless member tells another */
    const arg_array *array;
    tv_str path; /* x.npy, x.npz[:member], x.safetensors[:member] or x.bin */
} arg_save;

/* Checks before the run that the kinds of files are known, that their folders exist, and that no two arrays go to one
   place. */
bool arg_save_check(const arg_save *saves, size_t count, io_error *error);
/* Writes all files, then renames them: none appears unless all could be written. */
bool arg_save_all(const arg_save *saves, size_t count, io_error *error);

/* ---- argument files ---- */

typedef struct arg_pair {
    tv_str target, text;
} arg_pair;

/* The contents of a file given to --args; strings live in the arena. docs/reference/run.md describes the form. */
typedef struct arg_file {
    const char *folder;  /* of the file; NULL: the current one */
    tv_str entry, names; /* empty when not given */
    bool has_grid, has_rtol, has_atol, has_seed;
    bool allow_sharing; /* of memory, against the promises of the symbol */
    uint32_t grid[3];
    double rtol, atol;
    uint64_t seed;
    arg_pair *args, *expects, *saves;
    size_t arg_count, expect_count, save_count;
} arg_file;

bool arg_file_read(bc_arena *arena, const char *path, arg_file *out, io_error *error);
/* "X[,Y[,Z]]"; each 1 to 2^24 - 1. */
bool arg_parse_grid(tv_str text, uint32_t out[3], io_error *error);

#endif
