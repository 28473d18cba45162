/* Inside the generator: its state, and what its files share. */
#ifndef TILEVM_TOOLS_GEN_INSIDE_H
#define TILEVM_TOOLS_GEN_INSIDE_H

#include "tools/tilevm/gen/gen.h"

enum { GEN_MAX_VISIBLE = 4096 };

typedef struct generator {
    bc_module *m;
    const gen_options *options;
    uint64_t state;
    bc_block *block;                    /* where the next op goes */
    bc_value *visible[GEN_MAX_VISIBLE]; /* values that the next op may take */
    uint32_t visible_count;
    unsigned depth;
    bool debug; /* functions have debug information: all of a module, or none */
    const bc_type *token, *i32, *i1;
} generator;

/* ---- random choices: values.c ---- */

uint64_t gen_draw(generator *g);
unsigned gen_below(generator *g, unsigned n);
bool gen_chance(generator *g, unsigned percent);

/* ---- types ---- */

const bc_type *gen_scalar_type(generator *g, bc_kind kind);
/* A pointer; ptr_attr is a bc_PtrAttr or BC_NO_PTR_ATTR. */
const bc_type *gen_ptr_type(generator *g, const bc_type *pointee, uint8_t ptr_attr);
/* A kind of the set that the version has; i32 when there is none. */
bc_kind gen_draw_kind(generator *g, bc_kind_set set);
/* A tile; rank 0: a scalar, -1: any. */
const bc_type *gen_draw_tile(generator *g, bc_kind_set elements, int rank);
const bc_type *gen_with_elem(generator *g, const bc_type *tile, const bc_type *elem);
/* A shape near another one: what reshape, reduce, cat, broadcast, extract and the like make of it. */
const bc_type *gen_near_shape(generator *g, const bc_type *t);

/* ---- values; NULL: there is none ---- */

void gen_show(generator *g, bc_value *value);
/* Appends the op to the block; its results are visible from now on. */
void gen_place(generator *g, bc_op *op);
/* A visible value of exactly that type, late ones more often. */
bc_value *gen_find_value(generator *g, const bc_type *type);
/* A visible value that fits; an address, or a view of one, is multicast or is not. */
bc_value *gen_find_fitting(generator *g, const bc_constraint_info *c, bool multicast);
const bc_blob *gen_draw_blob(generator *g, const bc_type *tile);
/* A value of the type: a visible one, or a fresh constant or token. */
bc_value *gen_value_of(generator *g, const bc_type *type);
/* A new constant, all elements of which have that pattern. */
bc_value *gen_constant(generator *g, const bc_type *type, uint64_t bits);
/* A small number of the kind. */
uint64_t gen_small(generator *g, bc_kind kind);

/* ---- ops: guess.c ---- */

/* An op without regions that stands nowhere yet, probably wrong; NULL when something it needs is not there. Constants
   and views that it made stay. */
bc_op *gen_guess(generator *g, bc_opcode opcode);

/* ---- what a module and its entries are to the outside: entry.c ---- */

enum { GEN_MAX_GLOBALS = 4 };

/* Hints for an op or, opcode being OP_LIMIT, an entry. */
const bc_tagged *gen_hints(generator *g, unsigned opcode);
uint32_t gen_draw_param_count(generator *g);
/* The type of parameter i. */
const bc_type *gen_draw_param(generator *g, uint32_t i);
/* The name of an entry or, with that prefix, a global; different for every number. NULL: out of memory. */
const bc_string *gen_draw_name(generator *g, const char *prefix, unsigned number);
bool gen_global(generator *g, unsigned number);

#endif
