/* The tables as C: versions, type kinds, enumerations, opcodes, field rows, and look-ups over them. Everything here
   is constant data; no function allocates. */
#ifndef TILEVM_BYTECODE_OP_H
#define TILEVM_BYTECODE_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "tilevm/tilevm.h"

/* Minor number of a bytecode version 13.x. NEVER compares newer than all. */
typedef enum bc_version { BC_13_1 = 1, BC_13_2, BC_13_3, BC_13_4, BC_13_5, BC_NEVER = 255 } bc_version;
#define BC_NEWEST BC_13_5

/* ---- type kinds (types.def) ---- */

typedef enum bc_kind {
#define TYPE(name, tag, text, kind, bits, since) BC_##name,
#include "bytecode/types.def"
    BC_KIND_COUNT
} bc_kind;

typedef enum bc_kind_class { BC_CLASS_INTEGER, BC_CLASS_FLOAT, BC_CLASS_COMPOSITE, BC_CLASS_TOKEN } bc_kind_class;

typedef struct bc_kind_info {
    const char *text;
    uint8_t tag, bits, since, kind_class;
} bc_kind_info;

extern const bc_kind_info bc_kinds[BC_KIND_COUNT];

/* Sets of kinds. */
typedef uint32_t bc_kind_set;
#define BC_SET(kind) ((bc_kind_set)1 << BC_##kind)
#define BC_SET_INT (BC_SET(I1) | BC_SET(I8) | BC_SET(I16) | BC_SET(I32) | BC_SET(I64))
#define BC_SET_BASE_FLOAT (BC_SET(F16) | BC_SET(BF16) | BC_SET(F32) | BC_SET(F64))
#define BC_SET_FLOAT                                                                                             \
    (BC_SET_BASE_FLOAT | BC_SET(TF32) | BC_SET(F8E4M3FN) | BC_SET(F8E5M2) | BC_SET(F8E8M0FNU) | BC_SET(F4E2M1FN) \
     | BC_SET(FNV8E5M3FNU))
#define BC_SET_NUMBER (BC_SET_INT | BC_SET_FLOAT)

static inline bool bc_kind_in(bc_kind kind, bc_kind_set set)
{
    return (set >> kind) & 1;
}

/* Bits of a number as the IR counts them (tf32: 19). */
static inline unsigned bc_kind_bits(bc_kind kind)
{
    return bc_kinds[kind].bits;
}

/* Bytes of one element in global memory (i1 1, tf32 4, pointers 8); f4E2M1FN and i4 share bytes and give 0. */
unsigned bc_kind_memory_bytes(bc_kind kind);
/* Bytes of one element in a constant record (tf32 3, f4 1). */
unsigned bc_kind_constant_bytes(bc_kind kind);

/* ---- enumerations (enums.def): BC_RoundingMode_zero, ... ---- */

#define ENUM(name)         \
    typedef enum bc_##name \
    {
#define VALUE(enum_name, name, number, text, since) BC_##enum_name##_##name = (number),
#define END_ENUM(name) \
    }                  \
    bc_##name;
#include "bytecode/enums.def"

typedef enum bc_enum_id {
#define ENUM(name) BC_ENUM_##name,
#include "bytecode/enums.def"
    BC_ENUM_COUNT
} bc_enum_id;

typedef struct bc_enum_value {
    const char *text;
    uint8_t number, since;
} bc_enum_value;

/* Value with that number, or NULL. */
const bc_enum_value *bc_enum_find(bc_enum_id id, uint64_t number);
/* Value with that text, or NULL. */
const bc_enum_value *bc_enum_parse(bc_enum_id id, tv_str text);
/* The i-th value, or NULL past the end. */
const bc_enum_value *bc_enum_at(bc_enum_id id, unsigned index);
const char *bc_enum_name(bc_enum_id id);
/* Text of a number; "?" when it has none. */
const char *bc_enum_text(bc_enum_id id, uint64_t number);

/* ---- constraints (constraints.def) ---- */

typedef enum bc_form {
    BC_FORM_ANY,
    BC_FORM_TILE,
    BC_FORM_TOKEN,
    BC_FORM_TENSOR_VIEW,
    BC_FORM_PARTITION_VIEW,
    BC_FORM_STRIDED_VIEW,
    BC_FORM_GATHER_SCATTER_VIEW,
    BC_FORM_TILE_VIEW
} bc_form;

typedef enum bc_constraint {
#define CONSTRAINT(name, form, elements, rank, text) BC_IS_##name,
#include "bytecode/constraints.def"
    BC_CONSTRAINT_COUNT
} bc_constraint;

typedef struct bc_constraint_info {
    const char *text;
    bc_kind_set elements;
    uint8_t form;
    int8_t rank;
} bc_constraint_info;

extern const bc_constraint_info bc_constraints[BC_CONSTRAINT_COUNT];

/* ---- ops (ops.def) ---- */

typedef enum bc_opcode {
#define OP(name, opcode, ...) OP_##name = (opcode),
#include "bytecode/ops.def"
    OP_LIMIT = 0x80 /* tables are indexed by opcode */
} bc_opcode;

/* F_addf_lhs: index of a row in bc_rows. FIRST_addf .. LIMIT_addf: the rows of addf. */
enum {
#define OP(name, ...) FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define ROW(op, name, kind, arity, what, since, bit, older) F_##op##_##name,
#define END(op) LIMIT_##op, LAST_##op = LIMIT_##op - 1,
#include "bytecode/ops.def"
    BC_ROW_COUNT
};

/* Columns of ops.def, where they are explained: traits, class, effects. */
enum { BC_TERMINATOR = 1, BC_COUNTED = 2, BC_EFFECTS = 4, BC_CHEAP = 8 };

typedef enum bc_op_class {
    BC_OP_NONE, /* not an op of the table */
    BC_OP_GIVEN,
    BC_OP_MAP,
    BC_OP_CAST,
    BC_OP_SAME,
    BC_OP_RESHAPE,
    BC_OP_MOVE,
    BC_OP_PART,
    BC_OP_PRODUCT,
    BC_OP_FOLD,
    BC_OP_ACCESS,
    BC_OP_VIEW,
    BC_OP_QUERY,
    BC_OP_TOKEN,
    BC_OP_SERVICE,
    BC_OP_LOOP,
    BC_OP_BRANCH,
    BC_OP_EXIT
} bc_op_class;

typedef uint32_t bc_op_classes; /* a set */
#define BC_OPS(class) ((bc_op_classes)1 << BC_OP_##class)

enum {
    BC_READS = 1,
    BC_WRITES = 2,
    BC_ORDERS = 4,
    BC_REPORTS = 8,
    BC_ALLOCATES = 16,
    BC_PARTIAL = 32,
    BC_OF_BLOCK = 64
};

typedef enum bc_operand_mode { BC_MODE_NONE, BC_MODE_PLAIN, BC_MODE_COUNTED, BC_MODE_SEGMENTED } bc_operand_mode;
typedef enum bc_row_kind { BC_RESULT, BC_FLAG, BC_ATTR, BC_OPERAND, BC_REGION } bc_row_kind;
typedef enum bc_arity { BC_ONE, BC_OPTIONAL, BC_VARIADIC } bc_arity;

/* Encodings of attributes. An enum attribute has BC_ENC_ENUM and the enum's id in row->enum_id. */
typedef enum bc_encoding {
    BC_ENC_NONE,
    BC_ENC_UNIT,
    BC_ENC_ENUM,
    BC_ENC_VARINT32,
    BC_ENC_VARINT64,
    BC_ENC_BOOL,
    BC_ENC_STRING,
    BC_ENC_CONST,
    BC_ENC_TAGGED,
    BC_ENC_HINTS,
    BC_ENC_ATTRS,
    BC_ENC_I32S,
    BC_ENC_BOOLS
} bc_encoding;

#define BC_NO_BIT (-1)
#define BC_ALL_FALSE 0 /* default of inbounds: as many false as there are indices */

typedef struct bc_row {
    const char *name;
    uint8_t kind;       /* bc_row_kind */
    uint8_t arity;      /* bc_arity */
    uint8_t constraint; /* results and operands */
    uint8_t encoding;   /* FLAG and ATTR: bc_encoding */
    uint8_t enum_id;    /* BC_ENC_ENUM */
    uint8_t since;
    int8_t bit;
    uint8_t older;
} bc_row;

typedef struct bc_op_info {
    const char *name;   /* mnemonic; NULL for a hole in the table */
    const char *format; /* assembly after the mnemonic */
    uint16_t first_row;
    uint16_t address; /* a row; 0, which is a result, for none */
    uint8_t since, mode, traits, flags_since;
    uint8_t effects;
    uint8_t result_rows, attr_rows, operand_rows, region_rows; /* attr_rows counts FLAG and ATTR */
} bc_op_info;

extern const bc_row bc_rows[BC_ROW_COUNT];
extern const bc_op_info bc_ops[OP_LIMIT];

/* bc_op_class by opcode; BC_OP_NONE for those beyond the table, which the code generator has for its own. */
extern const uint8_t bc_op_class_of[UINT8_MAX + 1];

/* Is the op of one of these classes? */
static inline bool bc_op_in(uint8_t opcode, bc_op_classes classes)
{
    return classes >> bc_op_class_of[opcode] & 1;
}
static inline bool bc_is_loop(uint8_t opcode)
{
    return bc_op_in(opcode, BC_OPS(LOOP));
}

/* Rows of one kind of an op. */
static inline const bc_row *bc_result_rows(const bc_op_info *info)
{
    return &bc_rows[info->first_row];
}
static inline const bc_row *bc_attr_rows(const bc_op_info *info)
{
    return &bc_rows[info->first_row + info->result_rows];
}
static inline const bc_row *bc_operand_rows(const bc_op_info *info)
{
    return &bc_rows[info->first_row + info->result_rows + info->attr_rows];
}
static inline const bc_row *bc_region_rows(const bc_op_info *info)
{
    return &bc_rows[info->first_row + info->result_rows + info->attr_rows + info->operand_rows];
}

/* The row of an access that says how it is ordered; 0, a result, where there is none. */
int bc_order_row(const bc_op_info *info);

/* Info of the op with that mnemonic, or NULL; out_opcode may be NULL. Old names (pow, print) are known too. */
const bc_op_info *bc_op_find(tv_str mnemonic, bc_opcode *out_opcode);

/* Largest opcode a file of that version may hold. */
unsigned bc_max_opcode(bc_version version);

#endif
