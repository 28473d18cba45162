/* The text of an argument, taken apart. Nothing is looked up or read here. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "tools/tilevm/args/args.h"

enum { MAX_LIST_DEPTH = 32 };

static const char *const key_texts[ARG_KEY_COUNT] = {
#define KEY(name, text) [ARG_KEY_##name] = text,
#include "tools/tilevm/args/keys.def"
};

static const struct {
    const char *text, *keys, *summary;
} makers[ARG_MAKER_COUNT] = {
#define MAKER(name, text_, keys_, summary_) [ARG_MAKE_##name] = {.text = text_, .keys = keys_, .summary = summary_},
#include "tools/tilevm/args/keys.def"
};

const char *arg_maker_text(arg_maker maker)
{
    return makers[maker].text;
}
const char *arg_maker_keys(arg_maker maker)
{
    return makers[maker].keys;
}
const char *arg_maker_summary(arg_maker maker)
{
    return makers[maker].summary;
}

/* ---- pieces of text ---- */

static tv_str trim(tv_str s)
{
    while (s.len && isspace((unsigned char)s.ptr[0]))
        s.ptr++, s.len--;
    while (s.len && isspace((unsigned char)s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static int shown(tv_str s)
{
    return s.len < 80 ? (int)s.len : 80;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Length of the word at the beginning. */
static size_t word_len(tv_str s)
{
    size_t n = 0;
    while (n < s.len && is_word_char(s.ptr[n]))
        n++;
    return n;
}

/* Without the quotes around it. */
static tv_str unquote(tv_str s)
{
    if (s.len >= 2 && (s.ptr[0] == '\'' || s.ptr[0] == '"') && s.ptr[s.len - 1] == s.ptr[0])
        return (tv_str){s.ptr + 1, s.len - 2};
    return s;
}

/* Calls each piece between top-level commas. */
static bool next_piece(tv_str s, size_t *at, tv_str *out, io_error *error)
{
    size_t start = *at, depth = 0;
    char quote = 0;
    for (; *at < s.len; ++*at) {
        char c = s.ptr[*at];
        if (quote) {
            quote = c == quote ? 0 : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '(' || c == '[') {
            depth++;
        } else if (c == ')' || c == ']') {
            if (depth-- == 0)
                return io_fail(error, "'%.*s' has a closing bracket too many", shown(s), s.ptr);
        } else if (c == ',' && depth == 0) {
            break;
        }
    }
    if (depth || quote)
        return io_fail(error, "'%.*s' lacks a closing %s", shown(s), s.ptr, quote ? "quote" : "bracket");
    *out = trim((tv_str){s.ptr + start, *at - start});
    ++*at;
    return true;
}

static tv_str unbracket(tv_str s)
{
    s = trim(s);
    if (s.len >= 2 && ((s.ptr[0] == '[' && s.ptr[s.len - 1] == ']') || (s.ptr[0] == '(' && s.ptr[s.len - 1] == ')')))
        return trim((tv_str){s.ptr + 1, s.len - 2});
    return s;
}

tv_str *arg_split(bc_arena *arena, tv_str text, size_t *out_count, io_error *error)
{
    size_t capacity = 0, count = 0, at = 0;
    tv_str *pieces = bc_new(arena, tv_str, 0), piece;
    text = unbracket(text);
    error->text[0] = 0;
    while (pieces && at < text.len) {
        if (!next_piece(text, &at, &piece, error))
            return NULL;
        pieces = bc_grow(arena, pieces, count, &capacity, tv_str);
        if (pieces)
            pieces[count++] = piece;
    }
    *out_count = count;
    if (!pieces)
        io_fail(error, "out of memory");
    return pieces;
}

/* ---- calls ---- */

static bool find_key(tv_str word, arg_key *out)
{
    for (int i = 0; i < ARG_KEY_COUNT; i++)
        if (bc_str_is(word, key_texts[i])) {
            *out = (arg_key)i;
            return true;
        }
    return false;
}

/* The index-th key in a list of words. */
static bool key_at(const char *keys, unsigned index, arg_key *out)
{
    for (const char *p = keys; *p;) {
        size_t len = strcspn(p, " ");
        if (index-- == 0)
            return find_key((tv_str){p, len}, out);
        p += len + (p[len] != 0);
    }
    return false;
}

static bool has_key(const char *keys, arg_key key)
{
    arg_key k;
    for (unsigned i = 0; key_at(keys, i, &k); i++)
        if (k == key)
            return true;
    return false;
}

/* Keys that go with everything that makes memory, and with expected results. */
static bool is_common_key(arg_key key)
{
    return key == ARG_KEY_STRIDES || key == ARG_KEY_OFFSET || key == ARG_KEY_ORDER || key == ARG_KEY_RTOL
           || key == ARG_KEY_ATOL || key == ARG_KEY_MODE;
}

static bool set_key(arg_spec *out, arg_key key, tv_str value, io_error *error)
{
    if (out->keys[key].ptr)
        return io_fail(error, "'%.*s' gives %s twice", shown(out->text), out->text.ptr, key_texts[key]);
    out->keys[key] = unquote(value);
    return true;
}

/* A leading dtype may be left out: the parameter knows it. What follows is a number or a list. */
static bool skips_dtype(const char *keys, unsigned index, tv_str piece)
{
    arg_key key;
    return index == 0 && key_at(keys, 0, &key) && key == ARG_KEY_DTYPE && piece.len
           && !isalpha((unsigned char)piece.ptr[0]);
}

/* "2, 3": the extents of a shape that was written without brackets and left `surplus` values over. Empty if it was
   written with brackets. */
static tv_str bare_shape(tv_str inside, tv_str shape, unsigned surplus)
{
    tv_str piece = shape;
    io_error ignored;
    size_t at = shape.ptr ? (size_t)(shape.ptr - inside.ptr) : inside.len;
    for (unsigned i = 0; i <= surplus; i++) {
        if (at >= inside.len || !next_piece(inside, &at, &piece, &ignored) || !piece.len)
            return (tv_str){0};
        for (size_t k = 0; k < piece.len; k++)
            if (!isdigit((unsigned char)piece.ptr[k]))
                return (tv_str){0};
    }
    return (tv_str){shape.ptr, (size_t)(piece.ptr + piece.len - shape.ptr)};
}

/* The value before `at` is one too many, and so are the values after it. */
static bool too_many(tv_str inside, size_t at, const char *keys, const arg_spec *out, io_error *error)
{
    unsigned surplus = 1;
    tv_str piece;
    for (; at < inside.len; surplus++)
        if (!next_piece(inside, &at, &piece, error))
            return false;
    tv_str shape = bare_shape(inside, out->keys[ARG_KEY_SHAPE], surplus);
    if (shape.len)
        return io_fail(error, "'%.*s' has too many values; write the shape as [%.*s]", shown(out->text), out->text.ptr,
                       shown(shape), shape.ptr);
    return io_fail(error, "'%.*s' has too many values; it takes %s", shown(out->text), out->text.ptr,
                   keys[0] ? keys : "none");
}

/* Values in parentheses: those without a name take the keys in order. */
static bool parse_keys(tv_str inside, const char *keys, arg_spec *out, io_error *error)
{
    unsigned index = 0;
    tv_str piece;
    for (size_t at = 0; at < inside.len;) {
        if (!next_piece(inside, &at, &piece, error))
            return false;
        size_t word = word_len(piece);
        arg_key key;
        if (word && word < piece.len && piece.ptr[word] == '=' && find_key((tv_str){piece.ptr, word}, &key)) {
            if (!has_key(keys, key) && !is_common_key(key))
                return io_fail(error, "'%.*s' takes no %s", shown(out->text), out->text.ptr, key_texts[key]);
            if (!set_key(out, key, trim((tv_str){piece.ptr + word + 1, piece.len - word - 1}), error))
                return false;
            continue;
        }
        if (skips_dtype(keys, index, piece))
            index++;
        if (!key_at(keys, index++, &key))
            return too_many(inside, at, keys, out, error);
        if (!set_key(out, key, piece, error))
            return false;
    }
    return true;
}

static const char *maker_at(const void *user, size_t i)
{
    (void)user;
    return i < ARG_MAKER_COUNT ? makers[i].text : NULL;
}

static bool unknown_maker(tv_str word, io_error *error)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", word.len < 31 ? (int)word.len : 31, word.ptr);
    const char *closest = cli_closest(name, maker_at, NULL);
    return io_fail(error, "there is no generator '%s'%s%s%s", name, closest ? "; did you mean '" : "",
                   closest ? closest : "", closest ? "'?" : "");
}

/* word(...), which fills the whole text. */
static bool parse_call(tv_str s, size_t word, arg_spec *out, io_error *error)
{
    tv_str name = {s.ptr, word};
    for (int i = 0; i < ARG_MAKER_COUNT; i++)
        if (bc_str_is(name, makers[i].text)) {
            out->form = ARG_CALL;
            out->maker = (arg_maker)i;
            return parse_keys((tv_str){s.ptr + word + 1, s.len - word - 2}, makers[i].keys, out, error);
        }
    return unknown_maker(name, error);
}

/* ---- files, names, numbers ---- */

/* path, or path.npz:member */
static bool parse_file(tv_str s, arg_spec *out)
{
    if (io_format_of(s.ptr, s.len) != IO_UNKNOWN) {
        out->form = ARG_FILE;
        out->word = s;
        return true;
    }
    for (size_t i = s.len; i-- > 1;) {
        io_format format = s.ptr[i] == ':' ? io_format_of(s.ptr, i) : IO_UNKNOWN;
        if (format != IO_NPZ && format != IO_TENSORS)
            continue;
        out->form = ARG_FILE;
        out->word = (tv_str){s.ptr, i};
        out->member = (tv_str){s.ptr + i + 1, s.len - i - 1};
        return true;
    }
    return false;
}

/* @name or @name(dtype, shape, strides=...) */
static bool parse_alias(tv_str s, arg_spec *out, io_error *error)
{
    out->form = ARG_ALIAS;
    out->word = trim((tv_str){s.ptr + 1, s.len - 1});
    const char *open = memchr(s.ptr, '(', s.len);
    if (!open)
        return true;
    if (s.ptr[s.len - 1] != ')')
        return io_fail(error, "'%.*s' lacks a closing bracket", shown(s), s.ptr);
    size_t at = (size_t)(open - s.ptr);
    out->word = trim((tv_str){s.ptr + 1, at - 1});
    return parse_keys((tv_str){open + 1, s.len - at - 2}, "dtype shape", out, error);
}

static bool looks_like_number(tv_str s)
{
    static const char *const words[] = {"true", "false", "nan", "inf", "-inf", "+inf", "-nan"};
    for (size_t i = 0; i < TV_COUNT(words); i++)
        if (s.len == strlen(words[i]) && strncasecmp(s.ptr, words[i], s.len) == 0)
            return true;
    size_t at = s.ptr[0] == '-' || s.ptr[0] == '+';
    if (at < s.len && s.ptr[at] == '.')
        at++;
    if (at >= s.len || !isdigit((unsigned char)s.ptr[at]))
        return false;
    for (; at < s.len; at++)
        if (!isxdigit((unsigned char)s.ptr[at]) && !memchr(".xXpP+-_", s.ptr[at], 8))
            return false;
    return true;
}

static bool parse_spec(bc_arena *arena, tv_str text, unsigned depth, arg_spec *out, io_error *error);

static bool parse_list(bc_arena *arena, tv_str s, unsigned depth, arg_spec *out, io_error *error)
{
    size_t count = 0;
    if (depth == MAX_LIST_DEPTH)
        return io_fail(error, "lists are nested deeper than %d", MAX_LIST_DEPTH);
    tv_str *pieces = arg_split(arena, s, &count, error);
    arg_spec *items = pieces ? bc_new(arena, arg_spec, count) : NULL;
    if (!items)
        return error->text[0] ? false : io_fail(error, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (!parse_spec(arena, pieces[i], depth + 1, &items[i], error))
            return false;
    out->form = ARG_LIST;
    out->items = items;
    out->item_count = count;
    return true;
}

/* Takes "ptr:" and "f32:" from the front. */
static tv_str parse_prefixes(tv_str s, arg_spec *out)
{
    for (;;) {
        size_t word = word_len(s);
        if (!word || word >= s.len || s.ptr[word] != ':')
            return s;
        tv_str name = {s.ptr, word};
        if (!out->pointer && !out->has_dtype && bc_str_is(name, "ptr"))
            out->pointer = true;
        else if (!out->has_dtype && tv_dtype_parse(name, &out->dtype))
            out->has_dtype = true;
        else
            return s;
        s = trim((tv_str){s.ptr + word + 1, s.len - word - 1});
    }
}

static bool parse_spec(bc_arena *arena, tv_str text, unsigned depth, arg_spec *out, io_error *error)
{
    *out = (arg_spec){.text = trim(text)};
    tv_str s = parse_prefixes(out->text, out);
    if (!s.len)
        return io_fail(error, "'%.*s' is no value", shown(out->text), out->text.ptr ? out->text.ptr : "");
    char first = s.ptr[0], last = s.ptr[s.len - 1];
    size_t word = word_len(s);
    if (first == '@')
        return parse_alias(s, out, error);
    if ((first == '[' && last == ']') || (first == '(' && last == ')'))
        return parse_list(arena, s, depth, out, error);
    if (word && word < s.len && s.ptr[word] == '(' && last == ')' && !isdigit((unsigned char)first))
        return parse_call(s, word, out, error);
    if (parse_file(unquote(s), out))
        return true;
    out->word = s;
    out->form = ARG_NUMBER;
    if (looks_like_number(s))
        return true;
    out->form = bc_str_is(s, "auto") ? ARG_AUTO : ARG_NULL;
    if (bc_str_is(s, "auto") || bc_str_is(s, "null"))
        return true;
    if (memchr(s.ptr, '.', s.len) || memchr(s.ptr, '/', s.len))
        return io_fail(error,
                       "'%.*s': known are files named .npy, .npz, .safetensors and .bin; for others say "
                       "bin(DTYPE, SHAPE, PATH)",
                       shown(s), s.ptr);
    return io_fail(error, "'%.*s' is neither a number, a file nor a generator such as zeros(f32,[4,4])", shown(s),
                   s.ptr);
}

bool arg_spec_parse(bc_arena *arena, tv_str text, arg_spec *out, io_error *error)
{
    return parse_spec(arena, text, 0, out, error);
}

void arg_cut_target(tv_str text, tv_str *out_target, tv_str *out_rest)
{
    size_t n = 0;
    while (n < text.len
           && (is_word_char(text.ptr[n]) || text.ptr[n] == '.' || (n && (text.ptr[n] == '[' || text.ptr[n] == ']'))))
        n++;
    bool named = n > 0 && n < text.len && text.ptr[n] == '=';
    *out_target = named ? (tv_str){text.ptr, n} : (tv_str){text.ptr, 0};
    *out_rest = named ? (tv_str){text.ptr + n + 1, text.len - n - 1} : text;
}
