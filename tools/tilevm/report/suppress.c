/* Reads the entries of tilevm.toml, and finds the entry for a finding. */
#include "tools/tilevm/report/suppress.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/demangle.h"
#include "bytecode/base/text.h"
#include "tools/tilevm/report/toml.h"

enum { MOST_NAME = 2048 };

typedef struct parse_state {
    suppressions *s;
    toml_reader reader;
    char *error;
    size_t error_size;
} parse_state;

static bool refuse(parse_state *p, const char *format, ...) TV_PRINTF(2, 3);

static bool refuse(parse_state *p, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (p->s->count)
        snprintf(p->error, p->error_size, "%s: suppress %zu: %s", p->s->path, p->s->count, what);
    else
        snprintf(p->error, p->error_size, "%s: %s", p->s->path, what);
    return false;
}

/* ---- reading ---- */

/* The number of characters in valid UTF-8. */
static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static const char **text_of(suppression *s, const char *key)
{
    return strcmp(key, "rule") == 0     ? &s->rule
           : strcmp(key, "reason") == 0 ? &s->reason
           : strcmp(key, "kernel") == 0 ? &s->kernel
           : strcmp(key, "file") == 0   ? &s->file
                                        : NULL;
}

static bool take_entry(parse_state *p, toml_event event)
{
    const toml_reader *r = &p->reader;
    suppression *s = p->s->count ? &p->s->entries[p->s->count - 1] : NULL;
    const char **text = s ? text_of(s, r->key) : NULL;
    if (!s)
        return refuse(p, "'%s' is not known; there is [[suppress]]", r->key);
    if (strcmp(r->key, "line") == 0) {
        s->line = r->integer;
        if (event != TOML_INTEGER)
            return refuse(p, "'line' is not a number");
        return s->line >= 1 || refuse(p, "a line is a number from 1 on, of a file");
    }
    if (!text)
        return refuse(p, "'%s' is not known; there are rule, reason, kernel, file, line", r->key);
    if (event != TOML_STRING || !r->length || characters(r->string) > SUPPRESS_MOST_CHARACTERS)
        return refuse(p, "'%s' is not a text of 1 to %d characters", r->key, SUPPRESS_MOST_CHARACTERS);
    tv_str copy = bc_arena_dup(&p->s->arena, (tv_str){r->string, r->length + 1});
    *text = copy.ptr;
    return copy.ptr || refuse(p, "out of memory");
}

static bool is_rule(const char *rule)
{
    static const char form[] = "X-AAA-00";
    if (!rule || strlen(rule) != sizeof form - 1)
        return false;
    for (size_t i = 0; form[i]; i++) {
        unsigned char c = (unsigned char)rule[i];
        if (form[i] == 'A' ? !isupper(c) : form[i] == '0' ? !isdigit(c) : c != form[i])
            return false;
    }
    return true;
}

static bool check_entry(parse_state *p)
{
    const suppression *s = p->s->count ? &p->s->entries[p->s->count - 1] : NULL;
    if (!s)
        return true;
    if (!s->reason || !s->reason[strspn(s->reason, " \t\n\r\f\v")])
        return refuse(p, "a reason is missing");
    if (!is_rule(s->rule))
        return refuse(p, "the rule is missing, or not one of a check, as 'X-RAC-01' is");
    return !s->line || s->file || refuse(p, "a line is a number from 1 on, of a file");
}

static bool begin_entry(parse_state *p, toml_event event)
{
    suppressions *s = p->s;
    if (!check_entry(p))
        return false;
    if (event != TOML_ITEM || strcmp(p->reader.key, "suppress") != 0)
        return refuse(p, "'%s' is not known; there is [[suppress]]", p->reader.key);
    if (s->count == SUPPRESS_MOST_ENTRIES)
        return refuse(p, "more than %d entries", SUPPRESS_MOST_ENTRIES);
    suppression *entries = bc_grow(&s->arena, s->entries, s->count, &s->capacity, suppression);
    if (!entries)
        return refuse(p, "out of memory");
    s->entries = entries;
    entries[s->count++] = (suppression){0};
    return true;
}

bool suppress_parse(suppressions *s, const char *path, const char *text, size_t size, char *error, size_t error_size)
{
    parse_state p = {.s = s, .error = error, .error_size = error_size};
    *s = (suppressions){.path = path};
    bc_arena_init(&s->arena, NULL, 0);
    if (size > SUPPRESS_MOST_BYTES)
        return refuse(&p, "larger than %d bytes", SUPPRESS_MOST_BYTES);
    toml_open(&p.reader, text, size);
    for (toml_event event; (event = toml_next(&p.reader)) != TOML_END;) {
        if (event == TOML_ERROR) {
            snprintf(error, error_size, "%s: %s", path, p.reader.error);
            return false;
        }
        bool is_header = event == TOML_TABLE || event == TOML_ITEM;
        if (is_header ? !begin_entry(&p, event) : !take_entry(&p, event))
            return false;
    }
    return check_entry(&p);
}

void suppress_release(suppressions *s)
{
    bc_arena_release(&s->arena);
}

/* ---- matching ---- */

/* As Python's fnmatch.fnmatchcase: * and ? also match a slash. */
static bool matches(const char *pattern, tv_str text, const char *before)
{
    char name[MOST_NAME], whole[SUPPRESS_MOST_CHARACTERS * 4 + 8];
    if (text.len >= sizeof name)
        return false;
    memcpy(name, text.len ? text.ptr : "", text.len);
    name[text.len] = 0;
    snprintf(whole, sizeof whole, "%s%s", before, pattern);
    return fnmatch(whole, name, FNM_NOESCAPE) == 0;
}

static bool is_in(const suppression *s, const tv_diag *d)
{
    if (!s->file)
        return true;
    bool file = d->file.len && (matches(s->file, d->file, "") || matches(s->file, d->file, "*/"));
    return file && (!s->line || (int64_t)d->line == s->line);
}

static bool is_kernel(const suppression *s, tv_str symbol)
{
    bc_cxx_name name;
    return !s->kernel || matches(s->kernel, symbol, "")
           || (bc_demangle(symbol, &name) && matches(s->kernel, name.function, ""));
}

suppression *suppress_find(suppressions *s, const tv_diag *d)
{
    for (size_t i = 0; i < s->count; i++) {
        suppression *one = &s->entries[i];
        if (strcmp(one->rule, d->rule) == 0 && is_kernel(one, d->function)
            && (is_in(one, d) || (d->other && is_in(one, d->other)))) {
            one->uses++;
            return one;
        }
    }
    return NULL;
}

void suppress_describe(const suppression *s, char *out, size_t size)
{
    int n = snprintf(out, size, "rule = '%s'", s->rule);
    if (s->kernel && n >= 0 && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, ", kernel = '%s'", s->kernel);
    if (s->file && n >= 0 && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, ", file = '%s'", s->file);
    if (s->line && n >= 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, ", line = %lld", (long long)s->line);
}
