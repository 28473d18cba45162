/* The tree of an expression.

     or      and ("or" and)*                        "||" too
     and     not ("and" not)*                       "&&"
     not     "not" not | compare                    "!"
     compare sum (("==" | "!=" | "<" | "<=" | ">" | ">=") sum | "has" ("nan" | "inf"))?
     sum     product (("+" | "-") product)*
     product unary (("*" | "/" | "%") unary)*
     unary   "-" unary | item ("[" index ("," index)* "]")*
     item    number | "nan" | "inf" | "bid" ("." ("x" | "y" | "z"))? | "time" | "op" | "%" name | array name
             | function "(" or ")" | "(" or ("," or "," or)? ")"
     index   or? (":" or?)? */
#ifndef TILEVM_VM_DEBUG_EXPR_H
#define TILEVM_VM_DEBUG_EXPR_H

#include "vm/debug/state.h"

enum { DBG_MAX_DEPTH = 64, DBG_MAX_NODES = 512 };

typedef enum dbg_node {
    DBG_NUMBER,
    DBG_BID,
    DBG_BID_AXIS,
    DBG_TIME,
    DBG_OP,
    DBG_VALUE,
    DBG_ARRAY,
    DBG_INDEX,
    DBG_TUPLE,
    DBG_NOT,
    DBG_NEGATE,
    DBG_HAS,
    DBG_CALL,
    DBG_OR,
    DBG_AND,
    DBG_EQ,
    DBG_NE,
    DBG_LT,
    DBG_LE,
    DBG_GT,
    DBG_GE,
    DBG_ADD,
    DBG_SUB,
    DBG_MUL,
    DBG_DIV,
    DBG_MOD
} dbg_node;

typedef enum dbg_function { DBG_MIN, DBG_MAX, DBG_MEAN, DBG_SUM, DBG_NANS, DBG_INFS, DBG_COUNT, DBG_ABS } dbg_function;

/* "3", "1:5", ":" */
typedef struct dbg_index {
    dbg_expr *from, *to; /* NULL: from the first, to the last */
    bool range;
} dbg_index;

struct dbg_expr {
    dbg_node node;
    uint8_t which; /* BID_AXIS: 0 to 2; HAS: 1 nan, 0 inf; CALL: dbg_function */
    bool is_int;
    int64_t i;
    double d;
    const bc_value *value;
    const vm_array *array;
    dbg_expr *kids[3];
    dbg_index *indices; /* INDEX */
    uint32_t index_count;
};

#endif
