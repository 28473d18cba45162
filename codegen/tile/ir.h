/* The tile IR: a kernel's ops as passes rewrite them. It is a copy of a verified function (codegen/tile/import.c), with
   the same ops, values and blocks, and with ops of its own (codegen/tile/ops.def). The function itself is never
   changed.

   Ops are in blocks; values are results of ops or arguments of blocks, and a value knows its uses. Everything is in
   the arena of the function, which releases nothing before its end: a removed op is not reused. Operands are changed
   only by the functions below, which maintain the lists of uses. Functions that create something return NULL if
   memory runs out. */
#ifndef TILEVM_CODEGEN_TILE_IR_H
#define TILEVM_CODEGEN_TILE_IR_H

#include "bytecode/module.h"

typedef enum ct_opcode {
    CT_BEFORE_FIRST = OP_LIMIT - 1,
#define TOP(name, ring, operands, more, results, text) CT_##name,
#include "codegen/tile/ops.def"
    CT_LIMIT
} ct_opcode;

typedef struct ct_op ct_op;
typedef struct ct_block ct_block;
typedef struct ct_value ct_value;
typedef struct ct_use ct_use;

/* An operand: op->operands[index], in the list of the value's uses. */
struct ct_use {
    ct_op *op;
    uint32_t index;
    uint16_t read; /* its layout: 1 + the index in cg_value.copies; 0: not known yet; CT_READ_IN_SEVERAL */
    ct_use *next, **link;
};
enum { CT_READ_IN_SEVERAL = UINT16_MAX };

/* How passes have a product computed. */
typedef enum ct_way {
    CT_AS_IT_IS,  /* by what its shape and types allow */
    CT_DIRECT,    /* by loads: asynchronously, from its bytes or tf32 where the ring has them */
    CT_TURNED,    /* by loads: asynchronously, transposed (codegen/ops/mma_turned.c) */
    CT_FRAGMENTS, /* by loads: by mma.sync, whose fragments are made of tiles in the ring (codegen/plan/fragments.c) */
    CT_REORDERED, /* by flip: K and rows counted as threads hold the left operand (codegen/analysis/reordered.h) */
} ct_way;

/* Turns of two consumer warpgroups at the products of a loop (codegen/ops/alternate.h). */
typedef enum ct_turn {
    CT_NO_TURNS,
    CT_HAS_TURNS,  /* the loop */
    CT_TAKES_TURN, /* its first product */
    CT_GIVES_TURN, /* its last product */
} ct_turn;

struct ct_value {
    const bc_type *type; /* ct_own_type: of a kind that only passes use (ops.def) */
    ct_op *op;           /* that computes it; NULL: it is an argument of `block` */
    ct_block *block;     /* in which it is defined */
    ct_use *uses;
    struct cg_view *view; /* of a view: the tensor's address and extents (codegen/analysis/view.h) */
    struct cg_fact *fact; /* codegen/facts/facts.h; NULL: not computed yet */
    uint32_t id;          /* unique in the function, below value_count */
    uint16_t number;      /* index of the result or argument */
    bool in_tensor;       /* by tensor: a sum that is in tensor memory and not in registers */
    bool apart;           /* passed on with each element in a register of its own, even if two would fit in one */
    uint8_t in_word; /* log2 of the elements of 1 or 2 bytes that share a word as they are loaded, and then passed on */
};

struct ct_op {
    ct_op *prev, *next;
    ct_block *block;
    const bc_op *from; /* for attributes and source location; created ops have that of the op that they serve */
    uint32_t number;   /* index of `from` in the disassembly, from 0 */
    uint8_t opcode;    /* bc_opcode, or ct_opcode */
    uint8_t region_count;
    /* Of a product. Passes that create its ring set these for later passes and for lowering: */
    bool in_flight; /* by groups, skew, expand: its result is available after mma_await only */
    bool ahead;     /* by skew: it is started an iteration before its result is awaited */
    bool handed;    /* by tensor: another program computes its left operand, and puts it into tensor memory */
    bool in_place;  /* by groups, skew: it adds to the registers of its accumulator, which nothing else reads */
    bool as_words;  /* by groups, overlap: its left operand, which does not change in the loop, is taken as the words in
                       which it is */
    bool paired;  /* by cluster: its right operand has only this thread block's half of the columns; the other block of
                      the pair has the other half */
    uint8_t turn; /* ct_turn: by skew; of a product, or of the loop whose products have turns */
    uint8_t held; /* by loads: bits of the operands that threads compute as fragments from tiles of the ring */
    uint8_t falling; /* by cut: log2 of the parts of K that are multiplied from the last one to the first */
    uint8_t way;     /* ct_way: by loads, flip; of an ftof, CT_TURNED: left to a product or to copies */
    /* Of a `staged`, by expand, ahead: */
    bool in_registers; /* it loads its tile to registers, where other ops read it */
    bool unrolled;     /* of a loop, by loads: it executes several iterations together, or those that are left */
    bool plain;  /* of a loop, by lift: another version of it probably runs, so that nothing is prefetched in it */
    bool likely; /* of the second version's loop, by lift: not in a loop, and as likely to run as the other version */
    uint8_t afresh;  /* ct_afresh: by lower */
    uint8_t stretch; /* ct_stretch: by lower */
    uint16_t operand_count, result_count;
    ct_value **operands, *results;
    ct_use *uses;       /* by operand */
    ct_block **regions; /* NULL: empty */
    void *detail;       /* information of passes about ops of the tile IR */
    struct cg_effects
        *effects; /* by shared: effects on memory that other threads can see (codegen/values/effects.h); NULL: none */
};

/* Ops that are executed store by store (codegen/plan/late.h). */
typedef enum ct_stretch {
    CT_STRETCH_NONE,
    CT_STRETCH_BEGINS, /* with this op */
    CT_STRETCH_ENDS
} ct_stretch;

/* Ops for nothing but masks and addresses of stores, so that these are not the ones of loads for ptxas
   (codegen/plan/afresh.h). */
typedef enum ct_afresh {
    CT_USUAL,
    CT_APART, /* its comparisons have another form */
    CT_AFRESH /* it begins with a second copy of the thread's number */
} ct_afresh;

struct ct_block {
    const bc_block *from;
    ct_op *first, *last;
    ct_op *parent; /* the op that has the block as a region; NULL: it is the function's body */
    ct_value *args;
    uint32_t arg_count;
};

typedef struct ct_func {
    const bc_function *from;
    bc_arena *arena; /* borrowed */
    ct_block *body;
    uint32_t value_count;
} ct_func;

/* The type of values that only passes use. */
extern const bc_type ct_own_type;

/* ---- creating and changing ---- */

/* A copy of the function's ops. */
ct_func *ct_import(const bc_function *f, bc_arena *arena);

/* An op of the tile IR that serves `from`, in no block yet. The caller sets operands and the types of results. */
ct_op *ct_op_new(ct_func *f, ct_opcode opcode, const ct_op *from, uint32_t operand_count, uint32_t result_count);
/* An empty block. The caller sets the types of arguments. */
ct_block *ct_block_new(ct_func *f, uint32_t arg_count);
/* An op of the bytecode that serves `from`, and has its attributes. */
ct_op *ct_op_like(ct_func *f, bc_opcode opcode, const ct_op *from, uint32_t operand_count, uint32_t result_count,
                  uint32_t region_count);
/* An op with one result that serves `like`, with default attributes. */
ct_op *ct_made_new(ct_func *f, bc_opcode opcode, const ct_op *like, const bc_type *type, ct_value *const *operands,
                   uint32_t count);
/* Creates views: of the tensor at `base`, whose extents and strides are 64-bit numbers of elements, by dimension;
   and of its tiles, which start at multiples of `steps` along each dimension. padding: a bc_PaddingValue or
   BC_NO_PADDING. */
typedef struct ct_extent {
    int64_t number;  /* BC_DYNAMIC: known only at run time, as */
    ct_value *value; /* this value; else NULL */
} ct_extent;
ct_op *ct_tensor_view_new(ct_func *f, const ct_op *like, ct_value *base, uint32_t rank, const ct_extent *extents,
                          const ct_extent *strides);
/* The extent of the tensor of a make_tensor_view of at most eight dimensions; and the view of such a tensor with
   another extent. */
ct_extent ct_extent_of(const ct_op *tensor, uint32_t dim);
ct_op *ct_tensor_view_like(ct_func *f, const ct_op *tensor, uint32_t dim, ct_extent extent);
ct_op *ct_tile_view_new(ct_func *f, const ct_op *like, ct_value *tensor, const int64_t *shape, const int64_t *steps,
                        uint8_t padding);
/* A load of the view's tile at an index. It follows the token, unless that is NULL. inside: by dimension, whether
   the tile is promised to be inside the tensor. The results are the tile, and a token of that type. */
ct_op *ct_load_view_new(ct_func *f, const ct_op *like, ct_value *view, ct_value *const *index, const int64_t *inside,
                        ct_value *token, const bc_type *token_type);
/* A constant of integers, all of them `value`. */
ct_op *ct_constant_new(ct_func *f, const ct_op *like, const bc_type *type, int64_t value);
/* Types of tiles: with such elements and one dimension of that size, or none; of a scalar; and of a part of a tile
   or view that is divided into `parts` along a dimension. */
const bc_type *ct_tile_type(ct_func *f, const bc_type *elem, uint32_t rank, int64_t size);
const bc_type *ct_scalar_type(ct_func *f, bc_kind kind);
/* A tile with elements of that kind (not pointers) in the shape of another tile; or with as many dimensions, all of
   size 1; or like another tile or view, of that size along a dimension. */
const bc_type *ct_shaped_type(ct_func *f, const bc_type *tile, bc_kind kind);
const bc_type *ct_ones_type(ct_func *f, const bc_type *tile, bc_kind kind);
const bc_type *ct_sized_type(ct_func *f, const bc_type *like, uint32_t axis, int64_t size);
const bc_type *ct_part_type(ct_func *f, const bc_type *whole, uint32_t axis, uint32_t parts);
const bc_type *ct_transposed_type(ct_func *f, const bc_type *tile); /* of a two-dimensional one */
/* Adapts op->from after the type of the op's first result has changed, because copies and cursors use its type. */
bool ct_renew_from(ct_func *f, ct_op *op);
/* The transpose of a two-dimensional tile, in no block yet. */
ct_op *ct_transpose_new(ct_func *f, const ct_op *like, ct_value *v);
/* An `if` with two empty regions, in no block yet. The caller sets the types of results. */
ct_op *ct_if_new(ct_func *f, const ct_op *from, ct_value *condition, uint32_t result_count);
/* Ends a region. NULL: out of memory. */
ct_op *ct_yield_new(ct_func *f, ct_block *block, const ct_op *from, ct_value *const *values, uint32_t count);
/* A loop that carries nothing, in no block yet, with the signed bounds from, to and step. Its empty body must get an
   OP_continue. */
ct_op *ct_for_new(ct_func *f, const ct_op *like, ct_value *const bounds[3]);
/* The same for a loop that carries values, which start as `first`. */
ct_op *ct_carrying_for_new(ct_func *f, const ct_op *like, ct_value *const bounds[3], ct_value *const *first,
                           uint32_t count);
/* A `for` like another one, in no block yet, with an empty body: with the same bounds and initial values, and with
   `more` carried values besides, behind those; these are to get initial values and types. */
ct_op *ct_for_like(ct_func *f, const ct_op *loop, uint32_t more);
/* What is said of a value holds for another one. */
void ct_be_like(ct_value *to, const ct_value *from);
/* A token that orders nothing. */
ct_op *ct_token_new(ct_func *f, const ct_op *like, const bc_type *type);
/* For an op that is in no block. */
void ct_append(ct_block *block, ct_op *op);
void ct_insert_before(ct_op *op, ct_op *place);
void ct_insert_after(ct_op *op, ct_op *place);
/* Moves an op that is in a block. */
void ct_move_before(ct_op *op, ct_op *place);
/* Moves all ops of a block to another one, which is a region of `parent`. */
void ct_move_all(ct_block *from, ct_block *to, ct_op *parent);
/* Removes the op from its block, with its operands. Its results must not be used. */
void ct_remove(ct_op *op);
void ct_set_operand(ct_op *op, uint32_t index, ct_value *v);
/* Adds operands after the existing ones. */
bool ct_add_operands(ct_func *f, ct_op *op, ct_value *const *values, uint32_t count);
/* Stops carrying the value with that index. The body of the `for` must end in its only `continue`, and neither the
   argument nor the result may have uses. */
void ct_drop_carried(ct_op *loop, uint32_t index);
/* All uses of v become uses of `by`. */
void ct_replace_uses(ct_value *v, ct_value *by);
/* The same for uses outside of the block, which keep the layout in which they read it. */
void ct_replace_uses_outside(ct_value *v, ct_value *by, const ct_block *block);

/* The value that replaces each value in a copy, by id. Values without an entry stay the same. */
typedef struct ct_map {
    ct_value **to;
    uint32_t count;
} ct_map;
bool ct_map_new(ct_func *f, ct_map *out); /* for the values that exist now */
void ct_map_set(ct_map *map, const ct_value *v, ct_value *to);
ct_value *ct_mapped(const ct_map *map, ct_value *v);
/* A copy of the op and its regions, in no block. Operands are replaced according to the map, and results are added
   to it. */
ct_op *ct_clone(ct_func *f, const ct_op *op, ct_map *map);
/* A copy of a block, as a region of `parent`. */
ct_block *ct_clone_block(ct_func *f, const ct_block *from, ct_op *parent, ct_map *map);

/* Removes the ops that the roots in the block do not need (codegen/tile/prune.c). `nothing`, of ct_own_type,
   replaces values that loops and branches pass on without need. */
typedef bool ct_is_root(const ct_op *op);
bool ct_prune(ct_func *f, ct_block *block, ct_is_root *is_root, ct_value *nothing);

/* ---- reading ---- */

static inline ct_value *ct_results(const ct_op *op)
{
    return op->results;
}
static inline ct_value **ct_operands(const ct_op *op)
{
    return op->operands;
}
static inline ct_block **ct_regions(const ct_op *op)
{
    return op->regions;
}
/* The op after this one in pre-order, within `root`. NULL: it was the last one. */
ct_op *ct_next_around(const ct_op *op, const ct_block *root);
/* The same. Most ops have no regions, and one behind them. */
static inline ct_op *ct_next_op(const ct_op *op, const ct_block *root)
{
    return op->next && !op->region_count ? op->next : ct_next_around(op, root);
}
/* The op after this one in pre-order, among `outer` and the ops in its regions. NULL: it was the last one. */
static inline ct_op *ct_next_within(const ct_op *op, const ct_op *outer)
{
    ct_op *next = outer->region_count ? ct_next_op(op, outer->block) : NULL;
    return next && next->block != outer->block ? next : NULL;
}
/* Is the op in front of the other one, in the same block, or the same? */
bool ct_is_before(const ct_op *op, const ct_op *other);
/* The op of the block that is `op` or contains it. NULL: there is none. */
ct_op *ct_in_block(ct_op *op, const ct_block *block);
/* The first op of the block that reads v, directly or in its regions. NULL: none does. All readers are in the block. */
ct_op *ct_first_reader(const ct_value *v, const ct_block *block);
/* Is the block inside the other one, or the same? */
bool ct_is_inside(const ct_block *block, const ct_block *outer);
/* Is it the other op, or in a region of it? */
bool ct_is_within(const ct_op *op, const ct_op *outer);
/* Are all of its operands defined outside the block? */
bool ct_is_from_outside(const ct_op *op, const ct_block *block);
/* Does it produce no tile with more than one element? Such a tile takes registers. */
bool ct_gives_no_tiles(const ct_op *op);
/* The values that a terminator's operands become, in order: arguments of its loop, or results of the op whose region
   it ends. NULL: there are none. */
ct_value *ct_targets(const ct_op *op, uint32_t *out_count);
/* The index of the first operand that the loop carries. Its arguments begin with the counter, if it has one. */
uint32_t ct_first_carried(const ct_op *loop);
/* Does it load a tile, through a view or pointers? */
static inline bool ct_is_load(const ct_op *op)
{
    return op->opcode == OP_load_view_tko || op->opcode == OP_load_ptr_tko;
}
/* Loops of the bytecode only, not loops over strips. */
static inline bool ct_is_loop(const ct_op *op)
{
    return bc_is_loop(op->opcode);
}
/* The innermost loop around the op. NULL: there is none. */
const ct_op *ct_loop_around(const ct_op *op);
/* Does the loop's body end in its only `continue`? */
bool ct_ends_in_one_place(const ct_op *loop);
/* Is it computed element by element, from operands of its own shape or from the index? */
static inline bool ct_is_map(const ct_op *op)
{
    return bc_op_in(op->opcode, BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST));
}
/* The integer that all elements of an OP_constant are, sign-extended. False: they differ, or are no integers. */
bool ct_constant_value(const ct_op *constant, int64_t *out_value);
/* Does such an op make the value? NULL is none. */
bool ct_is_constant(const ct_value *v, int64_t *out_value);
/* Are all elements known to be equal, of whatever kind? */
bool ct_is_splat(const ct_op *constant);
/* The same, and is that one number what its value has, so that it is one for a tile of any shape, too? */
bool ct_is_one_number(const ct_op *constant);
/* Is every byte of the elements zero? */
bool ct_is_zero(const ct_op *constant);
/* The same of a value that such a constant has become by ops that move or repeat elements. */
bool ct_is_all_zero(const ct_value *v);
/* The operand that is a ring, according to ops.def. NULL: there is none. */
const ct_value *ct_ring_of(const ct_op *op);
/* The op that defines v, or in whose region v is an argument. NULL: v is a parameter of the kernel. */
static inline const ct_op *ct_maker_of(const ct_value *v)
{
    return v->op ? v->op : v->block->parent;
}
/* The value of which v is a conversion, or the value inside the loop over strips that gives v; otherwise v itself. */
const ct_value *ct_unconverted(const ct_value *v);
/* Its name in messages and dumps. */
const char *ct_op_name(const ct_op *op);
/* The properties of its opcode. Ops of passes have no class, and count as having every effect. */
const bc_op_info *ct_info(const ct_op *op);

/* Does it nothing but give its results, the same ones to whoever asks in the block, and could be left out? */
static inline bool ct_is_pure(const ct_op *op)
{
    const bc_op_info *info = ct_info(op);
    return !(info->effects & ~(BC_PARTIAL | BC_OF_BLOCK)) && !(info->traits & BC_TERMINATOR) && !op->region_count;
}

/* Attribute of a FLAG or ATTR row of the op's own kind. */
static inline const bc_attr *ct_attr_of(const ct_op *op, int row)
{
    return bc_attr_of(op->from, row);
}
static inline uint64_t ct_attr_u(const ct_op *op, int row)
{
    return bc_attr_u(op->from, row);
}
/* Operands of a row: where they stand; and the operand of a ONE or OPTIONAL row, NULL when absent. */
static inline bc_range ct_operand_range(const ct_op *op, int row)
{
    return bc_operand_range(op->from, row);
}
static inline ct_value *ct_operand(const ct_op *op, int row)
{
    bc_range range = bc_operand_range(op->from, row);
    return range.count ? op->operands[range.first] : NULL;
}

/* The initial values of a `for`, which may have more of them than what it is made from. */
static inline bc_range ct_for_inits(const ct_op *op)
{
    uint32_t first = ct_operand_range(op, F_for_init_values).first;
    return (bc_range){.first = first, .count = op->operand_count - first};
}

#endif
