/* Takes the formats of ops.def apart; format.h describes the language. The table is ours, so mistakes in it are found
   by a unit test that looks at `error` for every op, not by users. */
#include "bytecode/print/format.h"

#include <string.h>

#include "bytecode/base/text.h"

typedef struct scanner {
    const char *p, *end;
    const bc_op_info *info;
    bc_format *format;
    bc_piece *pieces;
    unsigned count;
    unsigned open[BC_MAX_GROUP_DEPTH]; /* index of the GROUP or ELSE of each open group */
    unsigned depth;
} scanner;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_loosely(tv_str a, const char *b)
{
    size_t i = 0;
    for (; *b; b++) {
        if (*b == '_')
            continue;
        while (i < a.len && a.ptr[i] == '_')
            i++;
        if (i == a.len || lower(a.ptr[i]) != lower(*b))
            return false;
        i++;
    }
    while (i < a.len && a.ptr[i] == '_')
        i++;
    return i == a.len;
}

int bc_row_find(const bc_op_info *info, tv_str name, bool loose)
{
    unsigned count = (unsigned)info->result_rows + info->attr_rows + info->operand_rows + info->region_rows;
    for (unsigned i = 0; i < count; i++) {
        const char *row = bc_rows[info->first_row + i].name;
        if (loose ? same_loosely(name, row) : bc_str_is(name, row))
            return info->first_row + (int)i;
    }
    return -1;
}

static void complain(scanner *s, const char *error)
{
    if (!s->format->error)
        s->format->error = error;
}

static char peek(const scanner *s)
{
    return s->p < s->end ? *s->p : '\0';
}

static bool take(scanner *s, char c)
{
    if (peek(s) != c)
        return false;
    s->p++;
    return true;
}

static tv_str take_word(scanner *s)
{
    const char *start = s->p;
    while (s->p < s->end && is_word(*s->p))
        s->p++;
    return (tv_str){start, (size_t)(s->p - start)};
}

static int16_t take_row(scanner *s)
{
    int row = bc_row_find(s->info, take_word(s), false);
    if (row < 0)
        complain(s, "no such row");
    return (int16_t)(row < 0 ? s->info->first_row : row);
}

/* ---- names ---- */

static void scan_result_name(scanner *s, bc_format *f)
{
    unsigned i = f->result_names;
    if (i == BC_MAX_NAMES) {
        complain(s, "too many result names");
        return;
    }
    if (take(s, '=')) {
        f->name_form[i] = BC_NAME_CONSTANT;
        f->name_row[i] = take_row(s);
    } else {
        f->result_name[i] = take_word(s);
        if (take(s, '+')) {
            f->name_form[i] = BC_NAME_OF_OPERAND;
            f->name_row[i] = take_row(s);
        }
    }
    f->result_names++;
}

static void scan_arg_name(scanner *s, bc_format *f)
{
    unsigned i = f->arg_names;
    if (i == BC_MAX_NAMES) {
        complain(s, "too many argument names");
        return;
    }
    f->arg_name[i] = take_word(s);
    f->arg_repeat[i] = take(s, '#') ? BC_REPEAT_COUNTED : take(s, '?') ? BC_REPEAT_COUNTED_IF_MANY : BC_REPEAT_NO;
    f->arg_names++;
}

/* The part before a "|" that nothing but names can precede. */
static void scan_names(scanner *s, const char *column)
{
    size_t len = strcspn(column, "| ${&%*@^!");
    s->p = column;
    s->end = column + strlen(column);
    if (column[len] != '|')
        return;
    bc_format *f = s->format;
    f->names_results = true;
    while (peek(s) != '|' && peek(s) != '(' && !f->error) {
        scan_result_name(s, f);
        take(s, ',');
    }
    if (take(s, '(')) {
        while (peek(s) != ')' && !f->error) {
            scan_arg_name(s, f);
            take(s, ',');
        }
        take(s, ')');
    }
    if (!take(s, '|'))
        complain(s, "names do not end at the '|'");
}

/* ---- pieces ---- */

static bc_piece *add(scanner *s, bc_piece_kind kind)
{
    bc_piece *piece = &s->pieces[s->count++];
    *piece = (bc_piece){.kind = (uint8_t)kind, .opcode = OP_LIMIT};
    return piece;
}

static void add_ref(scanner *s, bc_piece *piece, bc_ref ref)
{
    if (piece->ref_count == BC_MAX_REFS)
        complain(s, "too many rows in one piece");
    else
        piece->refs[piece->ref_count++] = ref;
}

/* N or N*, after the % */
static bc_ref take_args(scanner *s)
{
    bc_ref ref = {.row = BC_REF_ARGS};
    if (peek(s) < '0' || peek(s) > '9')
        complain(s, "'%' without a number");
    else
        ref.arg = (uint8_t)(*s->p++ - '0');
    ref.rest = take(s, '*');
    return ref;
}

static bc_ref take_ref(scanner *s)
{
    return take(s, '%') ? take_args(s) : (bc_ref){.row = take_row(s)};
}

static void scan_types(scanner *s)
{
    bc_piece *piece = add(s, BC_PIECE_TYPES);
    add_ref(s, piece, take_ref(s));
    while (peek(s) == '=' || peek(s) == '|') {
        piece->either = *s->p++ == '|';
        add_ref(s, piece, take_ref(s));
    }
    piece->splat = take(s, '~');
}

static void scan_args(scanner *s)
{
    bc_piece *piece = add(s, BC_PIECE_ARGS);
    add_ref(s, piece, take_args(s));
    if (take(s, ':')) {
        piece->kind = BC_PIECE_ASSIGN;
        add_ref(s, piece, (bc_ref){.row = take_row(s)});
    }
}

static void scan_sizes(scanner *s)
{
    bc_piece *piece = add(s, BC_PIECE_SIZES);
    tv_str which = take_word(s);
    piece->strides = bc_str_is(which, "strides");
    if (!piece->strides && !bc_str_is(which, "shape"))
        complain(s, "'*' wants shape or strides");
    if (!take(s, ':'))
        complain(s, "'*' without a row");
    add_ref(s, piece, (bc_ref){.row = take_row(s)});
}

static void scan_row_piece(scanner *s, bc_piece_kind kind)
{
    bc_piece *piece = add(s, kind);
    add_ref(s, piece, (bc_ref){.row = take_row(s)});
    if (kind != BC_PIECE_REGION || !take(s, '/'))
        return;
    bc_opcode opcode = OP_LIMIT;
    if (!bc_op_find(take_word(s), &opcode))
        complain(s, "no such terminator");
    piece->opcode = (uint8_t)opcode;
}

/* =word, a value of the enumeration of the piece's row */
static void scan_word(scanner *s, bc_piece *piece)
{
    const bc_row *row = &bc_rows[piece->refs[0].row];
    const bc_enum_value *value = bc_enum_parse((bc_enum_id)row->enum_id, take_word(s));
    if (row->encoding != BC_ENC_ENUM || !value)
        complain(s, "no such value of the enumeration");
    piece->has_word = true;
    piece->word = value ? value->number : 0;
}

static void scan_dict(scanner *s)
{
    bc_piece *piece = add(s, BC_PIECE_DICT);
    add_ref(s, piece, (bc_ref){.row = take_row(s)});
    if (take(s, '='))
        scan_word(s, piece);
    else
        complain(s, "'+' without a default");
}

static void scan_group_open(scanner *s)
{
    if (s->depth == BC_MAX_GROUP_DEPTH) {
        complain(s, "groups are nested too deep");
        return;
    }
    s->open[s->depth++] = s->count;
    bc_piece *piece = add(s, BC_PIECE_GROUP);
    piece->unless_implied = take(s, '*');
    add_ref(s, piece, (bc_ref){.row = take_row(s)});
    if (take(s, '='))
        scan_word(s, piece);
    while (take(s, '|')) {
        piece->either = true;
        add_ref(s, piece, (bc_ref){.row = take_row(s)});
    }
    if (!take(s, '?'))
        complain(s, "a group wants '?' after its row");
}

static void scan_group_part(scanner *s, bc_piece_kind kind)
{
    unsigned at = s->count;
    add(s, kind);
    if (s->depth == 0) {
        complain(s, "the end of a group that was not opened");
        return;
    }
    s->pieces[s->open[s->depth - 1]].jump = (uint16_t)at;
    if (kind == BC_PIECE_ELSE)
        s->open[s->depth - 1] = at;
    else
        s->depth--;
}

static void scan_text(scanner *s)
{
    const char *start = s->p;
    while (s->p < s->end && !strchr("$&#%*@^!+{}", *s->p) && !(s->depth && *s->p == ';'))
        s->p++;
    bc_piece *piece = add(s, BC_PIECE_TEXT);
    piece->text = (tv_str){start, (size_t)(s->p - start)};
}

static void scan_piece(scanner *s)
{
    char c = *s->p;
    if (!strchr("$&#%*@^!+{}", c) && !(s->depth && c == ';')) {
        scan_text(s);
        return;
    }
    s->p++;
    switch (c) {
    case '$': scan_row_piece(s, BC_PIECE_VALUE); break;
    case '&': scan_row_piece(s, BC_PIECE_SYMBOL); break;
    case '@': scan_row_piece(s, BC_PIECE_ARG_LIST); break;
    case '^': scan_row_piece(s, BC_PIECE_REGION); break;
    case '!': scan_row_piece(s, BC_PIECE_TOKEN); break;
    case '+': scan_dict(s); break;
    case '#': scan_types(s); break;
    case '%': scan_args(s); break;
    case '*': scan_sizes(s); break;
    case '{': scan_group_open(s); break;
    case ';': scan_group_part(s, BC_PIECE_ELSE); break;
    default: scan_group_part(s, BC_PIECE_CLOSE); break;
    }
}

const bc_format *bc_format_of(bc_formats *formats, bc_opcode opcode)
{
    if (formats->of[opcode])
        return formats->of[opcode];
    const bc_op_info *info = &bc_ops[opcode];
    size_t len = strlen(info->format);
    bc_format *f = bc_new(formats->arena, bc_format, 1);
    bc_piece *pieces = bc_new(formats->arena, bc_piece, len + 1); /* a piece takes at least one character */
    if (!f || !pieces)
        return NULL;
    scanner s = {.info = info, .format = f, .pieces = pieces};
    scan_names(&s, info->format);
    while (s.p < s.end && !f->error)
        scan_piece(&s);
    if (s.depth)
        complain(&s, "a group is not closed");
    f->pieces = pieces;
    f->piece_count = s.count;
    pieces[s.count] = (bc_piece){.kind = BC_PIECE_END};
    return formats->of[opcode] = f;
}

/* ---- groups ---- */

unsigned bc_group_end(const bc_format *f, unsigned group)
{
    unsigned at = f->pieces[group].jump;
    return (f->pieces[at].kind == BC_PIECE_ELSE ? f->pieces[at].jump : at) + 1;
}

int bc_group_operand(const bc_format *f, unsigned group)
{
    if (f->pieces[group + 1].kind != BC_PIECE_TEXT || f->pieces[group + 2].kind != BC_PIECE_VALUE)
        return -1;
    int row = f->pieces[group + 2].refs[0].row;
    return bc_rows[row].kind == BC_OPERAND ? row : -1;
}

static bool takes(int row, const bc_type *type)
{
    const bc_constraint_info *c = &bc_constraints[bc_rows[row].constraint];
    return c->form != BC_FORM_TILE || (bc_is_tile(type) && bc_kind_in(bc_elem_kind(type), c->elements));
}

unsigned bc_choose_group(const bc_format *f, unsigned first, uint32_t used, unsigned of, const bc_type *type)
{
    unsigned fallback = of, at = first;
    bool found = false;
    for (unsigned k = 0; f->pieces[at].kind == BC_PIECE_GROUP; k++, at = bc_group_end(f, at)) {
        int row = bc_group_operand(f, at);
        if (row < 0 || used >> k & 1 || !bc_str_eq(f->pieces[at + 1].text, f->pieces[of + 1].text))
            continue;
        if (takes(row, type))
            return at;
        if (!found)
            fallback = at;
        found = true;
    }
    return fallback;
}
