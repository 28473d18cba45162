/* The module in memory: types, values, ops, blocks, functions. The reader and the text parser build it, every other
   stage reads it. All of it lives in the module's arena; nothing is freed on its own.

   Invariants after reading, before verifying (the trust line): pointers are valid, counts match their arrays, every
   operand is a value that was visible where the op stands, enumerations hold known numbers, regions hold at most one
   block, nesting is at most BC_MAX_DEPTH, and an op has at least as many operands as its table row fixes. Nothing
   else: types may be ill-formed (a tile of tiles, a shape of -3), and result counts may differ from the table. */
#ifndef TILEVM_BYTECODE_MODULE_H
#define TILEVM_BYTECODE_MODULE_H

#include <string.h>

#include "bytecode/base/arena.h"
#include "bytecode/op.h"

enum {
    BC_MAX_DEPTH = 200,          /* nested regions */
    BC_MAX_RANK = 64,            /* dimensions of a type; a rule of the verifier (T-11) */
    BC_MAX_TYPE_DEPTH = 16,      /* types inside types; a real one needs 4 */
    BC_MAX_TYPE_PARTS = 1 << 20, /* types in the text of one; a function with all its parameters needs 400,000 */
    BC_MAX_ATTR_DEPTH = 16,      /* attributes inside attributes */
    BC_MAX_OPERANDS = 65535      /* operands of one op; likewise results and block arguments */
};

#define BC_DYNAMIC INT64_MIN /* a dynamic size or stride of a tensor_view */
#define BC_NO_PADDING 0xff   /* bc_type.padding of a view without padding_value */
#define BC_NO_PTR_ATTR 0xff  /* bc_type.ptr_attr */

typedef struct bc_type bc_type;
typedef struct bc_value bc_value;
typedef struct bc_op bc_op;
typedef struct bc_block bc_block;
typedef struct bc_tagged bc_tagged;

/* ---- types: interned, so pointer equality is type equality ---- */

struct bc_type {
    uint8_t kind;           /* bc_kind */
    uint8_t padding;        /* tile views: bc_PaddingValue or BC_NO_PADDING */
    uint8_t ptr_attr;       /* ptr, tensor_view: bc_PtrAttr or BC_NO_PTR_ATTR */
    uint8_t depth;          /* of the types inside it; 0: there are none. Set by bc_type_add, like parts and index */
    uint32_t parts;         /* types in its text, with itself, each as often as it stands there */
    uint32_t rank;          /* tile, tensor_view, tile views; function: number of inputs */
    uint32_t result_count;  /* function; tensor_view: number of strides; dim_map length of tile views */
    uint32_t stride_count;  /* strided_view: number of traversal strides */
    uint32_t sparse_dim;    /* gather_scatter_view */
    uint32_t index;         /* place in the module's type table */
    const bc_type *elem;    /* ptr: pointee; tile, tensor_view: element; tile views: the tensor_view */
    const int64_t *shape;   /* tile, tensor_view: sizes; tile views: tile_shape */
    const int64_t *strides; /* tensor_view: strides; strided_view: traversal strides */
    const int64_t *dim_map; /* partition_view, strided_view */
    const bc_type *const *members; /* function: inputs, then results */
};

static inline bool bc_is_tile(const bc_type *t)
{
    return t->kind == BC_TILE;
}
static inline bool bc_is_tile_view(const bc_type *t)
{
    return t->kind == BC_PARTITION_VIEW || t->kind == BC_STRIDED_VIEW || t->kind == BC_GATHER_SCATTER_VIEW;
}
/* Element kind of a tile; BC_KIND_COUNT for anything else. */
static inline bc_kind bc_elem_kind(const bc_type *t)
{
    return bc_is_tile(t) ? (bc_kind)t->elem->kind : BC_KIND_COUNT;
}
/* Have both the same dimensions? */
static inline bool bc_same_shape(const bc_type *a, const bc_type *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}
/* Is t what a results' or operands' row of the op table admits? */
bool bc_type_fits(const bc_type *t, const bc_constraint_info *c);
/* Elements of a tile shape; -1 when a size is not positive or the product passes 2^24. */
int64_t bc_shape_elems(const int64_t *shape, uint32_t rank);

/* ---- attributes ---- */

typedef struct bc_blob { /* a constant record */
    const uint8_t *ptr;
    size_t len;
    uint32_t index; /* place in the module's constant table; BC_IN_NO_TABLE */
} bc_blob;

#define BC_IN_NO_TABLE UINT32_MAX

typedef struct bc_string { /* an entry of the string table */
    tv_str s;
    uint32_t index;
} bc_string;

typedef struct bc_ints { /* I32S, BOOLS (widened), SameElements */
    const int64_t *ptr;
    uint32_t count;
} bc_ints;

typedef enum bc_tag {
    BC_TAG_INTEGER = 1,
    BC_TAG_FLOAT,
    BC_TAG_BOOL,
    BC_TAG_TYPE,
    BC_TAG_STRING,
    BC_TAG_ARRAY,
    BC_TAG_DENSE,
    BC_TAG_DIV_BY,
    BC_TAG_SAME_ELEMENTS,
    BC_TAG_DICTIONARY,
    BC_TAG_HINTS,
    BC_TAG_BOUNDED
} bc_tag;

typedef struct bc_entry bc_entry;

typedef struct bc_list {
    const bc_tagged *items;
    uint32_t count;
} bc_list;

typedef struct bc_dict {
    const bc_entry *entries;
    uint32_t count;
} bc_dict;

struct bc_tagged {
    uint8_t tag;         /* bc_tag */
    bool has_a, has_b;   /* DivBy: every, along; Bounded: lower, upper */
    bool lost_sign;      /* Float f64: the file wrote a 65-bit pattern whose sign all readers drop (defect D1) */
    const bc_type *type; /* Integer, Float, Type */
    union {
        uint64_t bits; /* Integer (zero-extended), Float (the pattern), Bool, DivBy (divisor) */
        const bc_string *string;
        bc_list array;
        bc_dict dict; /* Dictionary, OptimizationHints */
        bc_ints ints; /* SameElements */
    } u;
    int64_t a, b; /* DivBy: every, along; Bounded: lower, upper */
};

struct bc_entry {
    const bc_string *key;
    bc_tagged value;
};

/* One attribute slot of an op; which member holds is given by the row's encoding. */
typedef union bc_attr {
    uint64_t u; /* UNIT, ENUM, VARINT, BOOL; BC_ABSENT for an absent optional */
    const bc_string *string;
    const bc_blob *blob;     /* CONST */
    const bc_tagged *tagged; /* TAGGED; HINTS: tag BC_TAG_HINTS, NULL when absent; ATTRS: tag BC_TAG_ARRAY */
    const bc_ints *ints;     /* I32S, BOOLS; NULL for an absent `inbounds` (all false) */
} bc_attr;

#define BC_ABSENT UINT64_MAX

/* Hidden last attribute slot of SEGMENTED ops: how the operands divide. */
typedef struct bc_segments {
    uint16_t present;  /* bit r: operand row r is there (optional rows) */
    uint16_t count[3]; /* sizes of the variadic rows, in order */
} bc_segments;

/* ---- values, ops, blocks ---- */

struct bc_value {
    const bc_type *type;
    bc_op *op;       /* defining op; NULL for a block argument */
    uint32_t id;     /* unique in the function, from 0 in order of definition */
    uint16_t number; /* which result or argument */
};

/* An op is one allocation: this header, then results, attribute slots, operands, regions. */
struct bc_op {
    bc_op *next;     /* in the block; NULL for the last */
    bc_block *block; /* the block it stands in */
    uint32_t offset; /* file-absolute byte offset of the record; in parsed text the byte of its mnemonic */
    uint32_t loc;    /* debug reference: 0 unknown, v is module->debug[v - 1] */
    uint8_t opcode;
    uint8_t attr_slots; /* attribute rows, and one more if SEGMENTED */
    uint8_t region_count;
    uint8_t unused;
    uint16_t result_count, operand_count;
};

struct bc_block {
    bc_op *first, *last;
    bc_op *parent; /* op whose region it is; NULL for a function body */
    bc_value *args;
    uint32_t arg_count, op_count;
};

static inline const bc_op_info *bc_info(const bc_op *op)
{
    return &bc_ops[op->opcode];
}
static inline bc_value *bc_results(const bc_op *op)
{
    return (bc_value *)(uintptr_t)(op + 1);
}
static inline bc_attr *bc_attrs(const bc_op *op)
{
    return (bc_attr *)(void *)(bc_results(op) + op->result_count);
}
static inline bc_value **bc_operands(const bc_op *op)
{
    return (bc_value **)(void *)(bc_attrs(op) + op->attr_slots);
}
/* Regions: the one block of each, NULL for an empty region. */
static inline bc_block **bc_regions(const bc_op *op)
{
    return (bc_block **)(void *)(bc_operands(op) + op->operand_count);
}

/* Attribute slot of a FLAG or ATTR row, F_<op>_<name>. */
static inline bc_attr *bc_attr_of(const bc_op *op, int row)
{
    const bc_op_info *info = bc_info(op);
    return &bc_attrs(op)[row - info->first_row - info->result_rows];
}
static inline uint64_t bc_attr_u(const bc_op *op, int row)
{
    return bc_attr_of(op, row)->u;
}
/* Does the attribute say anything? Optional ones are there or not, flags are set or not; inbounds that are all false
   say as little as none. */
bool bc_attr_is_there(const bc_row *row, const bc_attr *a);
bc_segments bc_get_segments(const bc_op *op);

/* Operands of a row: how many, and where the first stands in bc_operands(op). */
typedef struct bc_range {
    uint32_t first, count;
} bc_range;
bc_range bc_operand_range(const bc_op *op, int row);
/* The operand of a ONE or OPTIONAL row; NULL when absent. */
bc_value *bc_operand(const bc_op *op, int row);
/* The same by position among the operand rows of the op, for code that is driven by the table. */
bc_range bc_operand_range_at(const bc_op *op, unsigned operand_row);

/* ---- functions, globals, debug, module ---- */

typedef struct bc_function {
    const bc_string *name;
    const bc_type *type;        /* a function type */
    bc_block *body;             /* arguments are the inputs of the type */
    const bc_tagged *hints;     /* NULL, or tag BC_TAG_HINTS */
    const bc_tagged *arg_attrs; /* 13.5: NULL, or tag BC_TAG_ARRAY */
    uint32_t offset;            /* file-absolute byte offset of the record */
    uint32_t loc;               /* debug reference of the function itself */
    uint32_t value_count;       /* ids of values are below this */
    uint32_t op_count;          /* ops at all depths */
    uint8_t flags;              /* wire flags: bit 0 private, bit 1 kernel */
    bool has_debug;             /* has a slot in the debug section */
} bc_function;

enum { BC_FUNC_PRIVATE = 1, BC_FUNC_KERNEL = 2, BC_FUNC_HINTS = 4 };

typedef struct bc_global {
    const bc_string *name;
    const bc_type *type;
    const bc_blob *value;
    uint64_t alignment;
    uint32_t offset;
    uint8_t visibility; /* bc_SymbolVisibility */
    bool constant;
} bc_global;

typedef enum bc_di_tag {
    BC_DI_UNKNOWN,
    BC_DI_COMPILE_UNIT,
    BC_DI_FILE,
    BC_DI_LEXICAL_BLOCK,
    BC_DI_LOC,
    BC_DI_SUBPROGRAM,
    BC_DI_CALL_SITE,
    BC_DI_TAG_COUNT
} bc_di_tag;

/* A debug attribute. References are 0 for unknown, v for module->debug[v - 1]. */
typedef struct bc_di {
    uint8_t tag;
    uint32_t offset;
    uint32_t a;             /* CompileUnit, Subprogram: file; LexicalBlock, Loc: scope; CallSite: callee */
    uint32_t b;             /* LexicalBlock: file; Subprogram: compile unit; CallSite: caller */
    const bc_string *name;  /* File: name; Loc: file name; Subprogram: name */
    const bc_string *other; /* File: directory; Subprogram: linkage name */
    uint32_t line, column;  /* Subprogram: column holds the scope line */
    uint32_t flags;         /* Subprogram, 13.5: bit 0 is a declaration; the 13.5 tools refuse others */
} bc_di;

enum { BC_DI_DECLARATION = 1 };

/* Sections in the order of the file, so that writing gives the same bytes. */
enum {
    BC_SECTION_END,
    BC_SECTION_STRING,
    BC_SECTION_FUNC,
    BC_SECTION_DEBUG,
    BC_SECTION_CONSTANT,
    BC_SECTION_TYPE,
    BC_SECTION_GLOBAL,
    BC_SECTION_PRODUCER,
    BC_SECTION_COUNT
};

struct tv_module {
    bc_arena arena;
    bc_version version;
    bool strict;
    bool verified;
    bool from_text;       /* offsets are bytes of assembly text */
    const uint8_t *bytes; /* the file; borrowed */
    size_t size;

    /* Tables, in file order. Grow through bc_string_add and friends. */
    bc_string **strings;
    bc_type **types;
    bc_blob **constants;
    bc_di *debug;
    bc_global *globals;
    bc_function *functions;
    size_t string_count, type_count, constant_count, debug_count, global_count, function_count;
    size_t string_capacity, type_capacity, constant_capacity, debug_capacity, global_capacity, function_capacity;

    /* Interning: open addressing over the tables, rebuilt as they grow. */
    uint32_t *type_hash, *string_hash, *constant_hash, *debug_hash;
    size_t type_hash_size, string_hash_size, constant_hash_size, debug_hash_size; /* powers of two, or 0 */

    const bc_string *producer; /* NULL when absent */
    bool has_debug_section;
    uint8_t section_order[BC_SECTION_COUNT]; /* ids in file order, 0 ends; all 0: the order of cuTile Python */
};

typedef struct tv_module bc_module;

/* Makes an empty module. NULL when out of memory. */
bc_module *bc_module_new(const tv_open_options *options, bc_version version);

/* Adding to the tables gives the entry that is there already, if any. NULL: out of memory. Strings and blobs are
   borrowed unless copy is set. */
const bc_string *bc_string_add(bc_module *m, tv_str s, bool copy);
const bc_blob *bc_blob_add(bc_module *m, const void *ptr, size_t len, bool copy);
/* proto: a type filled in by the caller (index, depth and parts ignored); its arrays are copied. The caller has asked
   bc_type_problem, or knows how deep the type is. */
const bc_type *bc_type_add(bc_module *m, const bc_type *proto);
/* Why a type is refused: it is nested too deep, or its text would be too long. NULL: it is not. Whoever takes types
   from files or texts asks, since types that are known by then can be put into each other without end. */
const char *bc_type_problem(const bc_type *proto);
/* A debug attribute equal to proto (offset ignored); gives its reference (1 and up), 0 when out of memory. */
uint32_t bc_di_add(bc_module *m, const bc_di *proto);
/* Shorthands. */
const bc_type *bc_type_scalar(bc_module *m, bc_kind kind); /* numbers and token */
const bc_type *bc_type_tile(bc_module *m, const bc_type *elem, const int64_t *shape, uint32_t rank);

/* A new op that stands nowhere yet: results typed but without ids, operands and regions NULL, attributes zero (so
   optional pointers are absent; optional scalars must be set to BC_ABSENT by the caller where absent). */
bc_op *bc_op_new(bc_module *m, bc_opcode opcode, uint32_t result_count, uint32_t operand_count);
/* The same in memory of the caller's. */
bc_op *bc_op_new_in(bc_arena *arena, bc_opcode opcode, uint32_t result_count, uint32_t operand_count);
/* Sets every attribute slot to what an absent field means: defaults of the table, BC_ABSENT, NULL. */
void bc_op_defaults(bc_op *op);
void bc_block_append(bc_block *block, bc_op *op);
bc_block *bc_block_new(bc_module *m, bc_op *parent, uint32_t arg_count);
/* Gives every value of the function its id and sets value_count and op_count. */
void bc_function_number(bc_function *f);

/* The i-th function that can be launched, or NULL. */
const bc_function *bc_entry_at(const bc_module *m, size_t entry);
/* What the caller of an entry gives for a parameter of that type. */
tv_entry_param bc_entry_param_of_type(const bc_type *type);

/* Walks every op of a block in pre-order (an op before the ops of its regions). NULL at the end. */
bc_op *bc_next_op(const bc_op *op, const bc_block *root);

/* The places of a debug reference, the innermost first: where the op was written, then, for what was inlined, the calls
   that lead there, up to the kernel's own code. Gives how many there are, at most most; 0 when unknown. */
typedef struct bc_source {
    tv_str file;
    uint32_t line, column;
    tv_str function; /* linkage name of the function that it lies in; empty when not told */
} bc_source;
enum { BC_MAX_INLINED = 8 };
size_t bc_source_chain(const bc_module *m, uint32_t loc, bc_source *out, size_t most);
/* The first of those that lies in the file of the last: the user's own line, not that of a header. */
size_t bc_source_own(const bc_source *chain, size_t count);
/* That place alone. False when unknown. */
bool bc_source_place(const bc_module *m, uint32_t loc, tv_str *out_file, uint32_t *out_line, uint32_t *out_column);

/* Rebuilds the tables so that they hold just what is used, in the order a cuTile Python export would make them. */
tv_status bc_module_compact(bc_module *m);
/* Removes every location; with strip, also what nothing uses then. */
void bc_module_drop_debug(bc_module *m);
tv_status bc_module_strip(bc_module *m);

#endif
