/* Constants: the elements of a literal, packed as the type asks. A literal is skipped at first, since its type may come
   after it. */
#include <string.h>

#include "bytecode/number/dense.h"
#include "bytecode/number/number.h"
#include "bytecode/parse/parse.h"

/* From behind an opening bracket to behind the one that closes it. */
static bool skip_elements(bc_parser *p)
{
    while (!bc_is_punct(p, '>')) {
        bool fits = p->tok.kind == BC_TOK_INT || p->tok.kind == BC_TOK_FLOAT || p->tok.kind == BC_TOK_STRING
                    || p->tok.kind == BC_TOK_WORD || (p->tok.kind == BC_TOK_PUNCT && strchr("[],-+", p->tok.c));
        if (!fits)
            return bc_expected(p, "an element");
        bc_next(p);
    }
    bc_next(p);
    return true;
}

bool bc_skip_literal(bc_parser *p, bc_literal *out)
{
    if (!bc_is_punct(p, '<'))
        return bc_expected(p, "'<', an element type and the elements: <f32: 1.0>");
    *out = (bc_literal){.start = p->tok};
    const bc_type *type;
    bc_next(p);
    return bc_parse_type(p, &type) && bc_expect_punct(p, ':') && skip_elements(p);
}

bool bc_parse_constant_attr(bc_parser *p, bc_literal *out)
{
    tv_str word;
    if (bc_is_punct(p, '<'))
        return bc_skip_literal(p, out);
    const bc_type *type;
    if (bc_at_dialect_attr(p, &word) && bc_str_is(word, "constant")) {
        bc_next(p);
        *out = (bc_literal){.raw = true};
        if (!bc_expect_punct(p, '<'))
            return false;
        out->start = p->tok;
        if (p->tok.kind != BC_TOK_STRING)
            return bc_expected(p, "a string");
        bc_next(p);
        return bc_expect_punct(p, '>');
    }
    if (!bc_is_word(p, "dense"))
        return bc_expected(p, "'dense<' and the elements");
    *out = (bc_literal){.start = p->tok};
    bc_next(p);
    return bc_expect_punct(p, '<') && skip_elements(p) && (!bc_take_punct(p, ':') || bc_parse_type(p, &type));
}

/* Elements on their way to bytes. */
typedef struct packer {
    const bc_type *type;
    bc_kind kind;
    uint8_t *bytes;
    uint64_t count; /* elements of the type */
    uint64_t done;
} packer;

static void put_element(packer *k, uint64_t index, uint64_t bits)
{
    if (k->kind == BC_I1) {
        k->bytes[index / 8] = (uint8_t)(k->bytes[index / 8] | (bits & 1) << index % 8);
        return;
    }
    size_t size = bc_kind_constant_bytes(k->kind);
    for (size_t i = 0; i < size; i++)
        k->bytes[index * size + i] = (uint8_t)(bits >> 8 * i);
}

static bool parse_element(bc_parser *p, bc_kind kind, uint64_t *out)
{
    bc_token number = p->tok;
    if (bc_is_word(p, "true") || bc_is_word(p, "false"))
        bc_next(p);
    else if (!bc_take_number(p, &number))
        return false;
    return bc_number_bits(p, &number, kind, out);
}

/* The entries of dimension d, as deep as the type has dimensions. */
static bool pack_list(bc_parser *p, packer *k, uint32_t d)
{
    bc_token at = p->tok;
    int64_t found = 0, size = k->type->shape[d];
    if (!bc_expect_punct(p, '['))
        return false;
    do {
        uint64_t bits;
        if (found++ == size)
            break;
        if (d + 1 < k->type->rank) {
            if (!pack_list(p, k, d + 1))
                return false;
        } else {
            if (!parse_element(p, k->kind, &bits))
                return false;
            put_element(k, k->done++, bits);
        }
    } while (bc_take_punct(p, ','));
    if (found != size)
        return bc_parse_fail(p, BC_RULE_A_009, &at, "%s%lld listed; dimension %u of the type has %lld elements",
                             found > size ? "more than " : "", (long long)(found > size ? size : found), d,
                             (long long)size);
    return bc_expect_punct(p, ']');
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* Elements of i1 written as a byte each, 00 or 01: the record has a bit for each. Gives the length of the record. */
static size_t pack_bits(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bit = (uint8_t)((bytes[i] & 1) << i % 8);
        bytes[i / 8] = i % 8 ? bytes[i / 8] | bit : bit;
    }
    return (count + 7) / 8;
}

static bool are_bits(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] > 1)
            return false;
    return true;
}

/* "0x00FF": the bytes of the record; of i1, of which a record holds eight in a byte, also one byte an element. bits is
   how many elements of i1 there are, 0 for other types. */
static bool pack_raw(bc_parser *p, uint64_t bits, const bc_blob **out)
{
    tv_str hex = p->tok.name;
    if (hex.len < 2 || hex.len % 2 || hex.ptr[0] != '0' || hex.ptr[1] != 'x')
        return bc_parse_fail(p, BC_RULE_A_010, &p->tok,
                             "the bytes of a constant are written as \"0x\" and pairs of digits");
    size_t len = hex.len / 2 - 1;
    uint8_t *bytes = bc_new(&p->scratch, uint8_t, len);
    if (!bytes)
        return bc_parse_no_memory(p);
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(hex.ptr[2 + 2 * i]), low = hex_digit(hex.ptr[3 + 2 * i]);
        if (high < 0 || low < 0)
            return bc_parse_fail(p, BC_RULE_A_010, &p->tok, "'%.2s' is not a byte", &hex.ptr[2 + 2 * i]);
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    if (len > 1 && len == bits && are_bits(bytes, len))
        len = pack_bits(bytes, len);
    *out = bc_blob_add(p->m, bytes, len, true);
    bc_next(p);
    return *out || bc_parse_no_memory(p);
}

/* Does the list hold the same element throughout? Then one stands for all, as in what exporters write. */
static bool all_same(const packer *k, size_t len)
{
    bc_blob blob = {.ptr = k->bytes, .len = len};
    return bc_dense_of(&(bc_dense_cache){0}, k->type, &blob).splat;
}

static bool pack_elements(bc_parser *p, packer *k, const bc_blob **out)
{
    uint64_t bits = 0;
    if (p->tok.kind == BC_TOK_STRING)
        return pack_raw(p, k->kind == BC_I1 ? k->count : 0, out);
    size_t size = bc_kind_constant_bytes(k->kind);
    bool list = bc_is_punct(p, '[');
    size_t len = !list ? size : k->kind == BC_I1 ? (size_t)(k->count + 7) / 8 : (size_t)k->count * size;
    /* every element of a list takes two bytes of text, so the text bounds what is allocated */
    if (list && k->count > (uint64_t)(p->end - p->tok.ptr))
        return bc_parse_fail(p, BC_RULE_A_009, &p->tok, "the type has %llu elements; the text ends before so many",
                             (unsigned long long)k->count);
    k->bytes = bc_new(&p->scratch, uint8_t, len);
    if (!k->bytes)
        return bc_parse_no_memory(p);
    if (list && k->type->rank == 0)
        return bc_parse_fail(p, BC_RULE_A_009, &p->tok, "a list of elements for a scalar");
    if (list && k->type->rank > BC_MAX_RANK)
        return bc_parse_fail(p, BC_RULE_A_012, &p->tok,
                             "elements in more than %d dimensions; write the bytes, \"0x...\"", BC_MAX_RANK);
    if (list ? !pack_list(p, k, 0) : !parse_element(p, k->kind, &bits))
        return false;
    bool one = !list || all_same(k, len);
    if (!list)
        put_element(k, 0, bits);
    if (one && k->kind == BC_I1)
        k->bytes[0] = k->bytes[0] & 1 ? 0xff : 0;
    if (one)
        len = size;
    *out = bc_blob_add(p->m, k->bytes, len, true);
    return *out || bc_parse_no_memory(p);
}

static bool check_element_type(bc_parser *p, const bc_type *type)
{
    bc_token at = p->tok;
    const bc_type *element, *wanted = bc_is_tile(type) ? type->elem : type;
    if (!bc_parse_type(p, &element) || !bc_expect_punct(p, ':'))
        return false;
    if (element != wanted)
        return bc_parse_fail(p, BC_RULE_A_008, &at, "elements of type %s for a value made of %s",
                             bc_kinds[element->kind].text, bc_kinds[wanted->kind].text);
    return true;
}

static bool pack_at(bc_parser *p, const bc_literal *literal, const bc_type *type, const bc_blob **out)
{
    if (literal->raw)
        return pack_raw(p, 0, out);
    bool dense = p->tok.kind == BC_TOK_WORD;
    if (dense)
        bc_next(p);
    bc_next(p);
    bc_token at = p->tok;
    if (!dense && !check_element_type(p, type))
        return false;
    packer k = {.type = type, .kind = bc_elem_kind(type)};
    int64_t count = bc_is_tile(type) ? bc_shape_elems(type->shape, type->rank) : -1;
    if (p->tok.kind != BC_TOK_STRING && (count < 0 || !bc_kind_in(k.kind, BC_SET_NUMBER)))
        return bc_parse_fail(p, BC_RULE_A_013, &at,
                             "a constant of this type can only be written as its bytes, \"0x...\"");
    k.count = count < 0 ? 0 : (uint64_t)count;
    return pack_elements(p, &k, out) && (bc_is_punct(p, '>') || bc_expected(p, "'>'"));
}

bool bc_pack_literal(bc_parser *p, const bc_literal *literal, const bc_type *type, const bc_blob **out)
{
    const char *back = p->tok.ptr;
    bc_go_to(p, literal->start.ptr);
    bool good = pack_at(p, literal, type, out);
    bc_go_to(p, back);
    return good;
}
