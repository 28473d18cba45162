/* Inside the verifier: its state, how a rule reports, and one hook per op.

   The driver (verify.c) checks everything the tables say. A hook checks what they cannot: how the fields of one op go
   together. When verify_<op>(v, op) is called, all of this already holds for op:
     - it is not newer than the module's version;
     - results and operands are there in the right number, and each is what its row's constraint asks for (so a
       `float_tile` is a tile and its element a float); their types are well formed (T rules);
     - regions are there, each non-optional one has its block, and blocks end in a terminator;
     - enumerations hold known numbers; attributes that the table calls ONE are not NULL (but `inbounds` is NULL when
       all false).
   Ops whose table checks failed never reach their hook.

   No cascades: an op that broke a rule makes its results suspect, and an op with a suspect operand reports nothing.
   Reporting builds text; checking must not allocate or build text before it knows that something is wrong. */
#ifndef TILEVM_BYTECODE_VERIFY_VERIFY_H
#define TILEVM_BYTECODE_VERIFY_VERIFY_H

#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "bytecode/print/report.h"

enum { BC_WORDS = 6 }; /* texts that one message can hold: types, shapes, fields */

/* An op whose region is being walked. */
typedef struct bc_frame {
    const bc_op *op;
    bool bad; /* the op broke a rule: what its region says about it may be a consequence */
} bc_frame;

typedef struct bc_verifier {
    bc_module *m;
    tv_sink sink;
    tv_allocator allocator;
    bool strict, reference;
    unsigned target; /* 0: any */
    unsigned errors, warnings, max;
    const bc_function *function; /* NULL outside */
    bool op_bad;                 /* the op being checked broke a rule */
    const bc_type *misfit;       /* type for which the op was found not to fit its table row */
    bool done;                   /* max errors reached */
    bool no_memory;
    uint8_t *type_state; /* per type: bc_type_state */
    uint8_t *suspect;    /* bit per value id of the function; NULL until something is wrong */
    size_t suspect_size;
    size_t type_state_size;
    uint8_t newer[OP_LIMIT]; /* has the op something newer than the module's version? */
    bc_frame frames[BC_MAX_DEPTH + 1];
    unsigned depth;
    unsigned pure;     /* reduce and scan bodies around the op */
    uint32_t *symbols; /* names of globals and functions: module.c */
    size_t symbol_slots;
    uint32_t *scopes; /* subprograms of debug attributes: debug.c */
    size_t scope_count;
    uint32_t subprogram; /* of the function */
    bool skip_scopes;
    bc_kind_set refused;     /* element types already reported for the target in this function */
    bc_text words[BC_WORDS]; /* bc_type_words */
    unsigned next_word;
} bc_verifier;

/* ---- reporting ---- */

/* Reports that op breaks rule in the field row (F_<op>_<name>), index-th of a variadic row. The message starts with
   the op and the field, as in "'addf' operand 1 (rhs) "; format goes on with the verb: "is %s, but lhs is %s". Row
   BC_NO_ROW: only the op is named; a REGION row with index n > 0: the region's argument n - 1. Severity and help are
   the rule's. Always returns false. */
bool bc_wrong(bc_verifier *v, const bc_op *op, int row, unsigned index, bc_rule rule, const char *format, ...)
    TV_PRINTF(6, 7);

/* The same with another help line than the rule's. */
bool bc_wrong_help(bc_verifier *v, const bc_op *op, int row, unsigned index, bc_rule rule, const char *help,
                   const char *format, ...) TV_PRINTF(7, 8);

/* The same for what known tools tolerate: an error when strict, else a warning. */
bool bc_tolerated(bc_verifier *v, const bc_op *op, int row, unsigned index, bc_rule rule, const char *format, ...)
    TV_PRINTF(6, 7);

/* About the function being checked, and about a place in the file (TV_NO_OFFSET: none). */
bool bc_wrong_function(bc_verifier *v, bc_rule rule, tv_severity severity, const char *format, ...) TV_PRINTF(4, 5);
bool bc_wrong_at(bc_verifier *v, uint64_t offset, bc_rule rule, tv_severity severity, const char *format, ...)
    TV_PRINTF(5, 6);

/* Text of a type for a message, good until the message is reported; at most BC_WORDS of them in one message. */
const char *bc_type_words(bc_verifier *v, const bc_type *type);
/* Text of a shape: "64x32", "scalar". */
const char *bc_shape_words(bc_verifier *v, const bc_type *tile);
/* Text made from a format. */
const char *bc_why_words(bc_verifier *v, const char *format, va_list args) TV_PRINTF(2, 0);
/* Text of a field: "operand 1 (rhs)", "result", "rounding_mode". */
const char *bc_field_words(bc_verifier *v, const bc_op *op, int row, unsigned index);

/* "s" for counts but 1. */
static inline const char *bc_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Was the op (one of v->frames) found wrong? Then terminators in its region have nothing to compare with. */
bool bc_is_bad_parent(const bc_verifier *v, const bc_op *parent);
/* From now on the value is suspect, or all results and block arguments of op. */
void bc_suspect_value(bc_verifier *v, const bc_value *value);
void bc_suspect(bc_verifier *v, const bc_op *op);

/* ---- fields ---- */

/* The one result of a ONE row. */
static inline bc_value *bc_result(const bc_op *op, int row)
{
    return &bc_results(op)[row - bc_info(op)->first_row];
}
/* Type of the value of a ONE or OPTIONAL row, result or operand; NULL when an optional operand is absent. */
static inline const bc_type *bc_type_of(const bc_op *op, int row)
{
    if (bc_rows[row].kind == BC_RESULT)
        return bc_result(op, row)->type;
    const bc_value *value = bc_operand(op, row);
    return value ? value->type : NULL;
}
/* The index-th value of a VARIADIC operand row. */
static inline const bc_value *bc_operand_of(const bc_op *op, int row, unsigned index)
{
    return bc_operands(op)[bc_operand_range(op, row).first + index];
}

/* ---- comparing: all take tiles ---- */

static inline bool bc_is_scalar(const bc_type *t)
{
    return bc_is_tile(t) && t->rank == 0;
}

/* ---- checks that report and give false; rows are ONE or OPTIONAL rows of op that are present ---- */

/* One type in both fields. */
bool bc_need_same_type(bc_verifier *v, const bc_op *op, int row, int other, bc_rule rule);
/* One shape in both fields (tiles). */
bool bc_need_same_shape(bc_verifier *v, const bc_op *op, int row, int other, bc_rule rule);
/* One element type in both fields (tiles). */
bool bc_need_same_element(bc_verifier *v, const bc_op *op, int row, int other, bc_rule rule);
/* An enumeration attribute is one of the values whose bit is set. */
bool bc_need_enum(bc_verifier *v, const bc_op *op, int row, uint32_t allowed, bc_rule rule);

/* ---- types: types.c ---- */

typedef enum bc_type_state { BC_TYPE_UNKNOWN, BC_TYPE_FINE, BC_TYPE_WRONG } bc_type_state;

/* Is the type well formed? The first to ask reports it: against the field of op, or without op against parameter
   `index` of the function. */
bool bc_check_type(bc_verifier *v, const bc_op *op, int row, unsigned index, const bc_type *type);
bool bc_check_global_type(bc_verifier *v, const bc_global *global);
/* Types that nothing has used so far: known readers do not look at them. */
void bc_check_unused_types(bc_verifier *v);

/* ---- the other parts ---- */

void bc_check_module(bc_verifier *v);                               /* module.c */
void bc_check_body(bc_verifier *v, const bc_function *f);           /* body.c */
void bc_check_op(bc_verifier *v, const bc_op *op);                  /* with its regions */
void bc_check_debug_function(bc_verifier *v, const bc_function *f); /* debug.c */
void bc_check_debug_scope(bc_verifier *v, const bc_op *op);
bool bc_check_effects(bc_verifier *v, const bc_op *op);            /* aggregate.c */
bool bc_check_aggregate_yield(bc_verifier *v, const bc_op *yield); /* false: not in reduce or scan */
void bc_check_tokens(bc_verifier *v, const bc_function *f);        /* tokens.c */
void bc_check_entry_hints(bc_verifier *v, const bc_function *f);   /* hints.c */
unsigned bc_target_at(size_t index);                               /* the chips we know in order; 0 past the end */
bool bc_is_target(unsigned sm);                                    /* target.c: a chip we know */
bool bc_target_has_clusters(unsigned sm);
void bc_check_target_name(bc_verifier *v);
void bc_check_target(bc_verifier *v, const bc_op *op);
/* Names of globals and functions, which get_global looks up: symbols.c. False: out of memory. */
bool bc_add_symbols(bc_verifier *v);
void bc_release_symbols(bc_verifier *v);
void bc_release_scopes(bc_verifier *v);

/* May a constant record of that size be the value of the tile? The type is well formed. */
bool bc_constant_size_fits(const bc_type *tile, size_t size);
/* How many bytes it takes, in words: "16 or 64". text owns them. */
const char *bc_constant_size_words(bc_text *text, const bc_type *tile);

/* ---- for whoever builds modules ---- */

/* Does the op, with its regions, keep the rules, as far as they do not depend on where it stands? It need not be placed
   in a block yet. Reports nothing; false with m->arena.failed: out of memory. */
bool bc_op_is_valid(bc_module *m, const bc_op *op);

/* ---- one hook per op; a missing one fails at link time ---- */

typedef void bc_verify_fn(bc_verifier *v, const bc_op *op);
#define OP(name, ...) bc_verify_fn verify_##name;
#include "bytecode/ops.def"

/* For ops about which the table says everything. */
#define BC_VERIFY_NOTHING(name)                         \
    void verify_##name(bc_verifier *v, const bc_op *op) \
    {                                                   \
        (void)v;                                        \
        (void)op;                                       \
    }

#endif
