/* The tile IR: a kernel's ops as passes rewrite them. It is made from a verified function (codegen/tile/import.c) and
   has that function's ops, values and blocks, and further ops of its own (codegen/tile/ops.def); what it is made from
   stays as it was.

   Ops stand in blocks, values are results of ops or arguments of blocks, and a value knows its uses. All of it lies in
   the arena of the function, which is never given back in part: an op that was removed is not reused.
   Whoever changes operands does so through the functions below, which keep the uses true. Functions that make something
   give NULL when memory is out. */
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
    uint16_t read; /* in which layout: its place in cg_value.copies, from 1; 0: nobody has said; CT_READ_IN_SEVERAL */
    ct_use *next, **link;
};
enum { CT_READ_IN_SEVERAL = UINT16_MAX };

/* How passes have a product computed. */
typedef enum ct_way {
    CT_AS_IT_IS,  /* by what its shape and types allow */
    CT_DIRECT,    /* by loads: wgmma reads its bytes or tf32 where the ring has them */
    CT_TURNED,    /* by loads: by wgmma, transposed (codegen/ops/mma_turned.c) */
    CT_REORDERED, /* by flip: K and rows counted as threads hold the left operand (codegen/analysis/reordered.h) */
} ct_way;

struct ct_value {
    const bc_type *type; /* ct_own_type: of a kind that Tile IR has not got (ops.def) */
    ct_op *op;           /* what makes it; NULL: an argument of `block` */
    ct_block *block;     /* where it is defined */
    ct_use *uses;
    struct cg_view *view; /* of a view: where its tensor lies (codegen/analysis/view.h) */
    struct cg_fact *fact; /* what is known of it (codegen/facts/facts.h); NULL: nobody has looked */
    uint32_t id;          /* unique in the function, below value_count */
    uint16_t number;      /* which result or argument */
    bool apart;           /* handed on with each element in a register of its own, even where two would go in one */
};

struct ct_op {
    ct_op *prev, *next;
    ct_block *block;
    const bc_op *from; /* attributes and place in the source; ops that were made for another share its */
    uint32_t number;   /* of `from`: as the disassembler counts, from 0 */
    uint8_t opcode;    /* bc_opcode, or ct_opcode */
    uint8_t region_count;
    /* Of a product, said by passes that make a ring for it, for those behind them and for its lowering: */
    bool in_flight; /* by groups, skew, expand: its result is there only after mma_await */
    bool in_place;  /* by groups, skew: it adds to the registers of its accumulator, which nobody reads any more */
    uint8_t way;    /* ct_way: by loads, flip; of an ftof, CT_TURNED: left to a product that is */
    /* Of a `staged`, by expand, ahead: */
    bool in_registers; /* it reads its tile, which others read in registers */
    bool plain;  /* of a loop, by lift: another version of it is expected to run, so that nothing runs ahead in it */
    bool likely; /* of a plain loop, by lift: it may run as well as the other one, in no loop */
    uint16_t operand_count, result_count;
    ct_value **operands, *results;
    ct_use *uses;               /* by operand */
    ct_block **regions;         /* NULL for an empty one */
    void *detail;               /* what the passes have found out about an op of theirs */
    struct cg_effects *effects; /* by shared: on memory that other threads see (codegen/values/effects.h); NULL: none */
};

struct ct_block {
    const bc_block *from;
    ct_op *first, *last;
    ct_op *parent; /* op whose region it is; NULL for the function's body */
    ct_value *args;
    uint32_t arg_count;
};

typedef struct ct_func {
    const bc_function *from;
    bc_arena *arena; /* borrowed */
    ct_block *body;
    uint32_t value_count;
} ct_func;

/* Of no kind that others know. */
extern const bc_type ct_own_type;

/* ---- making and changing ---- */

/* A copy of the function's ops. */
ct_func *ct_import(const bc_function *f, bc_arena *arena);

/* An op of the tile IR for the sake of `from`, in no block yet. Its operands are to be set, its results to get types.
 */
ct_op *ct_op_new(ct_func *f, ct_opcode opcode, const ct_op *from, uint32_t operand_count, uint32_t result_count);
/* An empty block; its arguments are to get types. */
ct_block *ct_block_new(ct_func *f, uint32_t arg_count);
/* An op of the bytecode's for the sake of `from`; what it has besides operands and results is that op's. */
ct_op *ct_op_like(ct_func *f, bc_opcode opcode, const ct_op *from, uint32_t operand_count, uint32_t result_count,
                  uint32_t region_count);
/* An op of one result for the sake of another one, with the attributes that it has unless it says otherwise. */
ct_op *ct_made_new(ct_func *f, bc_opcode opcode, const ct_op *like, const bc_type *type, ct_value *const *operands,
                   uint32_t count);
/* Views: of the tensor at `base`, whose extents and strides, in elements, are numbers of 64 bits, by dimension; and of
   its tiles, which start at multiples of `steps` along its dimensions; padding: a bc_PaddingValue or BC_NO_PADDING. */
typedef struct ct_extent {
    int64_t number;  /* BC_DYNAMIC: */
    ct_value *value; /* it is this */
} ct_extent;
ct_op *ct_tensor_view_new(ct_func *f, const ct_op *like, ct_value *base, uint32_t rank, const ct_extent *extents,
                          const ct_extent *strides);
ct_op *ct_tile_view_new(ct_func *f, const ct_op *like, ct_value *tensor, const int64_t *shape, const int64_t *steps,
                        uint8_t padding);
/* A load of a tile of the view, at an index; ordered behind the token unless that is NULL. inside: by dimension,
   whether it is promised to lie inside. Its results are the tile and a token, of that type. */
ct_op *ct_load_view_new(ct_func *f, const ct_op *like, ct_value *view, ct_value *const *index, const int64_t *inside,
                        ct_value *token, const bc_type *token_type);
/* A constant of integers, all `value`, for the sake of an op. */
ct_op *ct_constant_new(ct_func *f, const ct_op *like, const bc_type *type, int64_t value);
/* Types of tiles: of such elements, which has one dimension of that size or none; of one number; and of a tile or view
   that has as many parts of another one along a dimension. */
const bc_type *ct_tile_type(ct_func *f, const bc_type *elem, uint32_t rank, int64_t size);
const bc_type *ct_scalar_type(ct_func *f, bc_kind kind);
/* A tile of elements of that kind, not pointers, in the shape of another tile, or with as many dimensions of size 1. */
const bc_type *ct_shaped_type(ct_func *f, const bc_type *tile, bc_kind kind);
const bc_type *ct_ones_type(ct_func *f, const bc_type *tile, bc_kind kind);
const bc_type *ct_part_type(ct_func *f, const bc_type *whole, uint32_t axis, uint32_t parts);
const bc_type *ct_transposed_type(ct_func *f, const bc_type *tile); /* of two dimensions */
/* The op's first result has another type now, which copies and cursors ask of what the op is from. */
bool ct_renew_from(ct_func *f, ct_op *op);
/* A tile of two dimensions with the other one first, for the sake of an op, in no block yet. */
ct_op *ct_transpose_new(ct_func *f, const ct_op *like, ct_value *v);
/* An `if` for the sake of an op, in no block yet, with two empty regions; its results are to get types. */
ct_op *ct_if_new(ct_func *f, const ct_op *from, ct_value *condition, uint32_t result_count);
/* Ends a region, for the sake of an op. NULL: no memory. */
ct_op *ct_yield_new(ct_func *f, ct_block *block, const ct_op *from, ct_value *const *values, uint32_t count);
/* A loop that carries nothing, for the sake of an op, in no block yet: from, to and step, signed; its empty body is to
   end with OP_continue. */
ct_op *ct_for_new(ct_func *f, const ct_op *like, ct_value *const bounds[3]);
/* The same of one that carries values, which start with `first`. */
ct_op *ct_carrying_for_new(ct_func *f, const ct_op *like, ct_value *const bounds[3], ct_value *const *first,
                           uint32_t count);
/* A token that orders nothing. */
ct_op *ct_token_new(ct_func *f, const ct_op *like, const bc_type *type);
/* For an op in no block. */
void ct_append(ct_block *block, ct_op *op);
void ct_insert_before(ct_op *op, ct_op *place);
void ct_insert_after(ct_op *op, ct_op *place);
/* An op that stands in a block, to another place. */
void ct_move_before(ct_op *op, ct_op *place);
/* All ops of a block to another one, which is a region of `parent`. */
void ct_move_all(ct_block *from, ct_block *to, ct_op *parent);
/* Out of its block, with its operands; nobody uses its results. */
void ct_remove(ct_op *op);
void ct_set_operand(ct_op *op, uint32_t index, ct_value *v);
/* More operands, behind those that are there. */
bool ct_add_operands(ct_func *f, ct_op *op, ct_value *const *values, uint32_t count);
/* A `for` whose body ends in its only `continue` no longer carries the index-th of its values, of which neither the
   argument nor the result has uses. */
void ct_drop_carried(ct_op *loop, uint32_t index);
/* All uses of v become uses of `by`. */
void ct_replace_uses(ct_value *v, ct_value *by);
/* Those that stand outside of the block, which read it in the layout that they did. */
void ct_replace_uses_outside(ct_value *v, ct_value *by, const ct_block *block);

/* What stands for a value in a copy, by id; values without an entry stand for themselves. */
typedef struct ct_map {
    ct_value **to;
    uint32_t count;
} ct_map;
bool ct_map_new(ct_func *f, ct_map *out); /* for the values that there are now */
void ct_map_set(ct_map *map, const ct_value *v, ct_value *to);
/* A copy of the op and its regions, in no block, whose operands are looked up in the map, which learns its results. */
ct_op *ct_clone(ct_func *f, const ct_op *op, ct_map *map);
/* A copy of a block for the op `parent`. */
ct_block *ct_clone_block(ct_func *f, const ct_block *from, ct_op *parent, ct_map *map);

/* Drops what the roots in the block do not need (codegen/tile/prune.c). `nothing`, of ct_own_type, takes the place of
   what loops and branches hand on without need. */
typedef bool ct_is_root(const ct_op *op);
bool ct_prune(ct_func *f, ct_block *block, ct_is_root *is_root, ct_value *nothing);

/* ---- looking ---- */

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
/* The op after this one in pre-order, within `root`; NULL: it was the last. */
ct_op *ct_next_op(const ct_op *op, const ct_block *root);
/* Does the block stand in the other one, or is it that one? */
bool ct_is_inside(const ct_block *block, const ct_block *outer);
/* Is none of its operands made in the block, or in one in it? */
bool ct_is_from_outside(const ct_op *op, const ct_block *block);
/* Is none of its results a tile of more than one element, which takes registers? */
bool ct_gives_no_tiles(const ct_op *op);
/* Of a terminator: what its operands become, in their order, which are arguments of its loop or results of the op that
   it ends a region of. NULL: they become none of either, or there is no such op. */
ct_value *ct_targets(const ct_op *op, uint32_t *out_count);
/* Of a loop: which operand is the first that it carries. Its arguments begin with the counter if it has one. */
uint32_t ct_first_carried(const ct_op *loop);
/* In the function's own terms; loops over strips are none. */
static inline bool ct_is_loop(const ct_op *op)
{
    return bc_is_loop(op->opcode);
}
/* The innermost loop around the op; NULL: none. */
const ct_op *ct_loop_around(const ct_op *op);
/* Does every iteration of the loop end at the end of its body, by one `continue`? */
bool ct_ends_in_one_place(const ct_op *loop);
/* Is it computed element by element, from operands of its own shape or from the index? */
static inline bool ct_is_map(const ct_op *op)
{
    return bc_op_in(op->opcode, BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST));
}
/* Of an OP_constant: the integer that all of its elements are, sign-extended. False: they are not alike, or others. */
bool ct_constant_value(const ct_op *constant, int64_t *out_value);
/* Are they known to be alike, of whatever kind? */
bool ct_is_splat(const ct_op *constant);
/* Is every byte of its elements zero? */
bool ct_is_zero(const ct_op *constant);
/* The operand that ops.def says to be a ring; NULL: the op has none. */
const ct_value *ct_ring_of(const ct_op *op);
/* What makes v, or the op in whose region it is an argument; NULL: a parameter of the kernel. */
static inline const ct_op *ct_maker_of(const ct_value *v)
{
    return v->op ? v->op : v->block->parent;
}
/* What v is in another layout, or was in the loop over strips that gives it; v itself where it is neither. */
const ct_value *ct_unconverted(const ct_value *v);
/* Its name in texts. */
const char *ct_op_name(const ct_op *op);
/* What is true of all ops of its kind. Ops of the passes are of no class, and may do anything. */
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
