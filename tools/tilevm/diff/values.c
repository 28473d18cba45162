/* Texts of attribute slots. */
#include "tools/tilevm/diff/values.h"

#include "bytecode/print/print.h"

void value_blob_text(bc_text *out, const bc_blob *blob, size_t from)
{
    enum { SHOWN = 8 };
    size_t start = from < SHOWN ? 0 : from;
    bc_text_printf(out, "%zu byte%s", blob->len, blob->len == 1 ? "" : "s");
    if (start && start < blob->len)
        bc_text_printf(out, ", from byte %zu", start);
    for (size_t i = start; i < blob->len && i - start < SHOWN; i++)
        bc_text_printf(out, "%s%02x", i > start ? " " : ": ", blob->ptr[i]);
    if (blob->len > SHOWN && start < blob->len - SHOWN)
        bc_text_puts(out, " ...");
}

/* Numbers, enumerations and flags, which share the word that means absent. */
static void put_scalar(bc_text *out, const bc_row *row, uint64_t value)
{
    if (value == BC_ABSENT)
        bc_text_puts(out, "absent");
    else if (row->encoding == BC_ENC_ENUM)
        bc_text_puts(out, bc_enum_text((bc_enum_id)row->enum_id, value));
    else if (row->encoding == BC_ENC_UNIT || row->encoding == BC_ENC_BOOL)
        bc_text_puts(out, value ? "true" : "false");
    else
        bc_text_printf(out, "%llu", (unsigned long long)value);
}

void value_attr_text(bc_text *out, const bc_row *row, const bc_attr *a)
{
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_UNIT:
    case BC_ENC_BOOL:
    case BC_ENC_ENUM:
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64: put_scalar(out, row, a->u); break;
    case BC_ENC_STRING: bc_print_string(out, a->string->s); break;
    case BC_ENC_CONST: value_blob_text(out, a->blob, 0); break;
    case BC_ENC_TAGGED:
    case BC_ENC_ATTRS: bc_print_tagged(out, a->tagged); break;
    case BC_ENC_HINTS:
        if (a->tagged)
            bc_print_hints(out, a->tagged);
        else
            bc_text_puts(out, "absent");
        break;
    case BC_ENC_I32S:
    case BC_ENC_BOOLS:
        bc_text_char(out, '[');
        bc_print_elements(out, (bc_encoding)row->encoding, a->ints);
        bc_text_puts(out, a->ints ? "]" : "all false]");
        break;
    case BC_ENC_NONE: break;
    }
}
