/* The tables, spelled out from the .def files, and look-ups over them. */
#include "bytecode/op.h"

#include <stddef.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"

#define BC_CLASS(kind) BC_CLASS_##kind

const bc_kind_info bc_kinds[BC_KIND_COUNT] = {
#define TYPE(name, tag_, text_, kind_, bits_, since_) \
    [BC_##name] = {.text = text_, .tag = tag_, .bits = bits_, .since = BC_##since_, .kind_class = BC_CLASS_##kind_},
#include "bytecode/types.def"
};

_Static_assert(BC_KIND_COUNT <= 32, "bc_kind_set holds 32 kinds");

unsigned bc_kind_memory_bytes(bc_kind kind)
{
    if (kind == BC_TF32)
        return 4;
    if (kind == BC_PTR)
        return 8;
    if (kind == BC_I1)
        return 1;
    return bc_kinds[kind].bits / 8;
}

unsigned bc_kind_constant_bytes(bc_kind kind)
{
    return (bc_kinds[kind].bits + 7u) / 8u;
}

/* ---- enumerations ---- */

#define ENUM(name) static const bc_enum_value values_##name[] = {
#define VALUE(enum_name, name, number_, text_, since_) {.text = text_, .number = number_, .since = BC_##since_},
#define END_ENUM(name) \
    }                  \
    ;
#include "bytecode/enums.def"

static const struct {
    const char *name;
    const bc_enum_value *values;
    unsigned count;
} enums[BC_ENUM_COUNT] = {
#define ENUM(name) {#name, values_##name, TV_COUNT(values_##name)},
#include "bytecode/enums.def"
};

const bc_enum_value *bc_enum_at(bc_enum_id id, unsigned index)
{
    return index < enums[id].count ? &enums[id].values[index] : NULL;
}

const bc_enum_value *bc_enum_find(bc_enum_id id, uint64_t number)
{
    /* numbers of every enum are 0, 1, 2, ... (checked by the unit tests) */
    return number < enums[id].count ? &enums[id].values[number] : NULL;
}

const bc_enum_value *bc_enum_parse(bc_enum_id id, tv_str text)
{
    for (unsigned i = 0; i < enums[id].count; i++)
        if (bc_str_is(text, enums[id].values[i].text))
            return &enums[id].values[i];
    return NULL;
}

const char *bc_enum_name(bc_enum_id id)
{
    return enums[id].name;
}

const char *bc_enum_text(bc_enum_id id, uint64_t number)
{
    const bc_enum_value *value = bc_enum_find(id, number);
    return value ? value->text : "?";
}

/* ---- constraints ---- */

const bc_constraint_info bc_constraints[BC_CONSTRAINT_COUNT] = {
#define CONSTRAINT(name, form_, elements_, rank_, text_) \
    [BC_IS_##name] = {.text = text_, .elements = elements_, .form = BC_FORM_##form_, .rank = rank_},
#include "bytecode/constraints.def"
};

/* ---- ops ---- */

/* What a row's `what` column means depends on its kind: one macro per kind picks the right fields. */
#define ROW_RESULT(what) .constraint = BC_IS_##what
#define ROW_OPERAND(what) .constraint = BC_IS_##what
#define ROW_REGION(what) .constraint = 0
#define ROW_FLAG(what) .encoding = BC_ENC_UNIT
#define ROW_ATTR(what) .encoding = ENCODING_##what, .enum_id = ENUM_ID_##what

#define ENCODING_VARINT32 BC_ENC_VARINT32
#define ENCODING_VARINT64 BC_ENC_VARINT64
#define ENCODING_BOOL BC_ENC_BOOL
#define ENCODING_STRING BC_ENC_STRING
#define ENCODING_CONST BC_ENC_CONST
#define ENCODING_TAGGED BC_ENC_TAGGED
#define ENCODING_HINTS BC_ENC_HINTS
#define ENCODING_ATTRS BC_ENC_ATTRS
#define ENCODING_I32S BC_ENC_I32S
#define ENCODING_BOOLS BC_ENC_BOOLS
enum {
    ENUM_ID_VARINT32 = 0,
    ENUM_ID_VARINT64 = 0,
    ENUM_ID_BOOL = 0,
    ENUM_ID_STRING = 0,
    ENUM_ID_CONST = 0,
    ENUM_ID_TAGGED = 0,
    ENUM_ID_HINTS = 0,
    ENUM_ID_ATTRS = 0,
    ENUM_ID_I32S = 0,
    ENUM_ID_BOOLS = 0,
#define ENUM(name) ENUM_ID_ENUM_##name = BC_ENUM_##name,
#include "bytecode/enums.def"
};
enum {
    ENCODING_FIRST = 0,
#define ENUM(name) ENCODING_ENUM_##name = BC_ENC_ENUM,
#include "bytecode/enums.def"
};

const bc_row bc_rows[BC_ROW_COUNT] = {
#define ROW(op, name_, kind_, arity_, what_, since_, bit_, older_) \
    [F_##op##_##name_] = {.name = #name_,                          \
                          .kind = BC_##kind_,                      \
                          .arity = BC_##arity_,                    \
                          ROW_##kind_(what_),                      \
                          .since = BC_##since_,                    \
                          .bit = BIT_##bit_,                       \
                          .older = older_},
#define BIT_NO_BIT BC_NO_BIT
#define BIT_0 0
#define BIT_1 1
#define BIT_2 2
#define BIT_3 3
#define BIT_4 4
#include "bytecode/ops.def"
};

/* Rows of each kind, counted at compile time. */
enum {
#define OP(name, ...) RESULT_ROWS_##name = 0
#define ROW(op, name, kind, arity, what, since, bit, older) +(BC_##kind == BC_RESULT)
#define END(op) ,
#include "bytecode/ops.def"
#define OP(name, ...) ATTR_ROWS_##name = 0
#define ROW(op, name, kind, arity, what, since, bit, older) +(BC_##kind == BC_FLAG || BC_##kind == BC_ATTR)
#define END(op) ,
#include "bytecode/ops.def"
#define OP(name, ...) OPERAND_ROWS_##name = 0
#define ROW(op, name, kind, arity, what, since, bit, older) +(BC_##kind == BC_OPERAND)
#define END(op) ,
#include "bytecode/ops.def"
#define OP(name, ...) REGION_ROWS_##name = 0
#define ROW(op, name, kind, arity, what, since, bit, older) +(BC_##kind == BC_REGION)
#define END(op) ,
#include "bytecode/ops.def"
};

enum {
#define OP(name, ...) F_##name##_none = 0, /* no `address` */
#include "bytecode/ops.def"
};

const bc_op_info bc_ops[OP_LIMIT] = {
#define OP(name_, opcode, since_, operands, traits_, flags_since_, class_, effects_, address_, format_) \
    [OP_##name_] = {.name = #name_,                                                                     \
                    .format = format_,                                                                  \
                    .first_row = FIRST_##name_,                                                         \
                    .since = BC_##since_,                                                               \
                    .mode = BC_MODE_##operands,                                                         \
                    .traits = traits_,                                                                  \
                    .flags_since = BC_##flags_since_,                                                   \
                    .effects = effects_,                                                                \
                    .address = F_##name_##_##address_,                                                  \
                    .result_rows = RESULT_ROWS_##name_,                                                 \
                    .attr_rows = ATTR_ROWS_##name_,                                                     \
                    .operand_rows = OPERAND_ROWS_##name_,                                               \
                    .region_rows = REGION_ROWS_##name_},
#include "bytecode/ops.def"
};

const uint8_t bc_op_class_of[UINT8_MAX + 1] = {
#define OP(name, opcode, since, operands, traits, flags_since, class, ...) [OP_##name] = BC_OP_##class,
#include "bytecode/ops.def"
};

int bc_order_row(const bc_op_info *info)
{
    const bc_row *rows = bc_attr_rows(info);
    for (unsigned i = 0; i < info->attr_rows; i++)
        if (rows[i].encoding == BC_ENC_ENUM && rows[i].enum_id == BC_ENUM_MemoryOrderingSemantics)
            return info->first_row + info->result_rows + (int)i;
    return 0;
}

const bc_op_info *bc_op_find(tv_str mnemonic, bc_opcode *out_opcode)
{
    if (bc_str_is(mnemonic, "pow")) /* until 13.3 */
        mnemonic = bc_str("fpowf");
    if (bc_str_is(mnemonic, "print")) /* 13.1 */
        mnemonic = bc_str("print_tko");
    for (unsigned code = 0; code < OP_LIMIT; code++) {
        if (bc_ops[code].name && bc_str_is(mnemonic, bc_ops[code].name)) {
            if (out_opcode)
                *out_opcode = (bc_opcode)code;
            return &bc_ops[code];
        }
    }
    return NULL;
}

unsigned bc_max_opcode(bc_version version)
{
    unsigned max = 0;
    for (unsigned code = 0; code < OP_LIMIT; code++)
        if (bc_ops[code].name && bc_ops[code].since <= version)
            max = code;
    return max;
}
