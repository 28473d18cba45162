/* Reading cases.txt is one pass over its lines; each keyword has a row in a table. */
#include "tests/common/cases.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "tests/common/files.h"

enum { GAP = 0xA5 };

static const case_dtype dtypes[] = {
    {"i1", BC_I1, true},          {"i8", BC_I8, false},
    {"i16", BC_I16, false},       {"i32", BC_I32, false},
    {"i64", BC_I64, false},       {"u8", BC_I8, true},
    {"u16", BC_I16, true},        {"u32", BC_I32, true},
    {"u64", BC_I64, true},        {"f16", BC_F16, false},
    {"bf16", BC_BF16, false},     {"f32", BC_F32, false},
    {"f64", BC_F64, false},       {"f8e4m3fn", BC_F8E4M3FN, false},
    {"f8e5m2", BC_F8E5M2, false}, {"f8e8m0fnu", BC_F8E8M0FNU, true},
};

/* ---- reading ---- */

typedef struct reader {
    corpus_cases *out;
    corpus_case *now; /* NULL between cases */
    const char *path;
    unsigned line;
    bool failed;
} reader;

static void *keep(reader *r, void *memory)
{
    corpus_cases *c = r->out;
    if ((c->owned_count & (c->owned_count + 1)) == 0) {
        void **larger = realloc(c->owned, (c->owned_count + 1) * 2 * sizeof *larger);
        if (!larger)
            abort();
        c->owned = larger;
    }
    if (!memory)
        abort();
    return c->owned[c->owned_count++] = memory;
}

static void complain(reader *r, const char *what, const char *word)
{
    fprintf(stderr, "%s:%u: %s '%s'\n", r->path, r->line, what, word);
    r->failed = true;
}

/* The i-th word; an empty one past the end, which is reported. */
static const char *word(reader *r, const case_words *w, size_t i)
{
    if (i < w->count)
        return w->word[i];
    complain(r, "line is too short", w->count ? w->word[0] : "");
    return "";
}

static int64_t number(reader *r, const case_words *w, size_t i)
{
    const char *s = word(r, w, i);
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 0);
    if (errno || *end || end == s)
        complain(r, "not a number:", s);
    return n;
}

static const case_dtype *dtype_of(reader *r, const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    complain(r, "unknown type", name);
    return &dtypes[0];
}

static size_t array_index(reader *r, const char *name)
{
    for (size_t i = 0; i < r->now->array_count; i++)
        if (strcmp(r->now->arrays[i].name, name) == 0)
            return i;
    complain(r, "unknown array", name);
    return 0;
}

/* The array a line is about; a spare one when there is none. */
static case_array *array_of(reader *r, const case_words *w)
{
    static case_array spare;
    const char *name = word(r, w, 1);
    size_t i = array_index(r, name);
    return i < r->now->array_count ? &r->now->arrays[i] : &spare;
}

/* A new element at the end of an array that belongs to the current case. */
static void *append(void **items, size_t *count, size_t size)
{
    char *larger = realloc(*items, (*count + 1) * size);
    if (!larger)
        abort();
    *items = larger;
    return memset(larger + (*count)++ * size, 0, size);
}

static void read_case(reader *r, const case_words *w)
{
    r->now = append((void **)&r->out->cases, &r->out->count, sizeof *r->now);
    r->now->name = word(r, w, 1);
}

static void read_info(reader *r, const case_words *w)
{
    const char *outcome = word(r, w, 3);
    r->now->group = word(r, w, 1);
    r->now->perf = strcmp(word(r, w, 2), "perf") == 0;
    r->now->outcome = strcmp(outcome, "trap") == 0      ? CASE_TRAPS
                      : strcmp(outcome, "invalid") == 0 ? CASE_INVALID
                                                        : CASE_RUNS;
}

static void read_symbol(reader *r, const case_words *w)
{
    r->now->symbol = word(r, w, 1);
}

static void read_grid(reader *r, const case_words *w)
{
    for (size_t i = 0; i < 3; i++)
        r->now->grid[i] = (uint32_t)number(r, w, i + 1);
}

static void read_file(reader *r, const case_words *w)
{
    const char *version = word(r, w, 1);
    int minor = strncmp(version, "13.", 3) == 0 ? atoi(version + 3) : 0;
    if (minor < 1 || minor > CASE_VERSIONS)
        complain(r, "unknown version", version);
    else
        r->now->file[minor - 1] = word(r, w, 2);
}

static void read_array(reader *r, const case_words *w)
{
    case_array *a = append((void **)&r->now->arrays, &r->now->array_count, sizeof *a);
    const char *role = word(r, w, 2);
    a->name = word(r, w, 1);
    a->role = strcmp(role, "in") == 0 ? CASE_IN : strcmp(role, "out") == 0 ? CASE_OUT : CASE_INOUT;
    a->dtype = dtype_of(r, word(r, w, 3));
    a->rank = (unsigned)number(r, w, 5);
    a->elements = 1;
    if (a->rank > CASE_MAX_RANK) {
        complain(r, "too many dimensions in", a->name);
        a->rank = 0;
    }
    for (size_t d = 0; d < a->rank; d++) {
        a->shape[d] = number(r, w, 6 + d);
        a->stride[d] = number(r, w, 6 + a->rank + d);
        a->elements *= (size_t)a->shape[d];
    }
    a->offset = number(r, w, 6 + 2 * a->rank);
    a->allocated = number(r, w, 7 + 2 * a->rank);
}

static void read_generator(reader *r, const case_words *w)
{
    case_array *a = array_of(r, w);
    a->generator.word = keep(r, malloc((w->count + 1) * sizeof *w->word));
    a->generator.count = w->count > 2 ? w->count - 2 : 0;
    memcpy(a->generator.word, w->word + 2, a->generator.count * sizeof *w->word);
}

static void read_checksum(reader *r, const case_words *w)
{
    case_array *a = array_of(r, w);
    a->has_checksum = true;
    a->checksum = strtoull(word(r, w, 2), NULL, 16);
}

static void read_tolerance(reader *r, const case_words *w)
{
    static const char *const names[] = {"bits", "equal", "close", "sorted"};
    case_array *a = array_of(r, w);
    const char *name = word(r, w, 2);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            a->compare = (case_compare)i;
    if (a->compare == CASE_CLOSE) {
        a->rtol = strtod(word(r, w, 3), NULL);
        a->atol = strtod(word(r, w, 4), NULL);
    }
}

static void read_expected(reader *r, const case_words *w)
{
    case_array *a = array_of(r, w);
    const char *kind = word(r, w, 2);
    if (strcmp(kind, "file") == 0)
        a->expected = word(r, w, 3);
    else if (strcmp(kind, "none") != 0)
        complain(r, "cannot compare with", kind);
}

static void read_list(reader *r, const case_words *w)
{
    case_list *l = append((void **)&r->now->lists, &r->now->list_count, sizeof *l);
    l->name = word(r, w, 1);
    l->count = (size_t)number(r, w, 2);
    l->arrays = keep(r, calloc(w->count + 1, sizeof *l->arrays));
    for (size_t i = 0; i < l->count && i < w->count; i++)
        l->arrays[i] = array_index(r, word(r, w, 3 + i));
}

static void read_param(reader *r, const case_words *w)
{
    case_param *p = append((void **)&r->now->params, &r->now->param_count, sizeof *p);
    const char *kind = word(r, w, 1);
    if (strcmp(kind, "ptr") == 0) {
        p->kind = CASE_POINTER;
        p->index = array_index(r, word(r, w, 2));
    } else if (strcmp(kind, "list") == 0) {
        p->kind = CASE_LIST;
        for (size_t i = 0; i < r->now->list_count; i++)
            if (strcmp(r->now->lists[i].name, word(r, w, 2)) == 0)
                p->index = i;
    } else {
        p->kind = CASE_SCALAR;
        p->bits = w->count > 3 ? strtoull(word(r, w, 3), NULL, 16) : (uint64_t)number(r, w, 2);
        dtype_of(r, kind);
    }
}

/* Text in quotes with \n and the like; the words of the line were split at spaces, which are put back. */
static void read_output(reader *r, const case_words *w)
{
    const char *first = word(r, w, 1), *last = word(r, w, w->count - 1);
    size_t len = (size_t)(last + strlen(last) - first);
    char *text = keep(r, malloc(len + 1)), *to = text;
    for (size_t i = 1; i + 1 < len; i++) { /* between the quotes */
        char c = first[i] ? first[i] : ' ';
        if (c == '\\' && i + 2 < len) {
            c = first[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        *to++ = c;
    }
    *to = 0;
    r->now->output = text;
}

static const struct {
    const char *keyword;
    void (*read)(reader *, const case_words *);
} lines[] = {
    {"case", read_case},     {"info", read_info},       {"symbol", read_symbol}, {"grid", read_grid},
    {"file", read_file},     {"array", read_array},     {"gen", read_generator}, {"fnv", read_checksum},
    {"tol", read_tolerance}, {"expect", read_expected}, {"list", read_list},     {"param", read_param},
    {"stdout", read_output},
};

static void read_line(reader *r, const case_words *w)
{
    if (strcmp(w->word[0], "end") == 0) {
        r->now = NULL;
        return;
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(lines[i].keyword, w->word[0]) == 0) {
            if (!r->now && strcmp(w->word[0], "case") != 0)
                complain(r, "outside a case:", w->word[0]);
            else
                lines[i].read(r, w);
            return;
        }
    complain(r, "unknown keyword", w->word[0]);
}

/* Splits a line in place. */
static void split(char *line, case_words *w, size_t *capacity)
{
    w->count = 0;
    for (char *p = strtok(line, " "); p; p = strtok(NULL, " ")) {
        if (w->count == *capacity) {
            *capacity = *capacity ? *capacity * 2 : 64;
            w->word = realloc(w->word, *capacity * sizeof *w->word);
            if (!w->word)
                abort();
        }
        w->word[w->count++] = p;
    }
}

bool cases_read(const char *folder, corpus_cases *out)
{
    char path[1024];
    size_t size, capacity = 0;
    case_words w = {0};
    *out = (corpus_cases){0};
    snprintf(path, sizeof path, "%s/cases.txt", folder);
    reader r = {.out = out, .path = path};
    out->text = files_read(path, &size);
    if (!out->text) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    for (char *p = out->text; *p && !r.failed;) {
        char *end = strchr(p, '\n'), *next = end ? end + 1 : p + strlen(p);
        if (end)
            *end = 0;
        r.line++;
        split(p, &w, &capacity);
        if (w.count)
            read_line(&r, &w);
        p = next;
    }
    free(w.word);
    if (r.failed)
        cases_release(out);
    return !r.failed;
}

bool cases_read_needs(const char *path, corpus_cases *cases)
{
    size_t size;
    char *text = files_read(path, &size);
    if (!text) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t name = strcspn(line, " \n"), i = 0;
        if (line[0] == '#')
            continue;
        while (i < cases->count && (strncmp(cases->cases[i].name, line, name) != 0 || cases->cases[i].name[name]))
            i++;
        if (i == cases->count || strncmp(line + name, " sm_", 4) != 0) {
            fprintf(stderr, "%s: %.*s: no such case, or no target\n", path, (int)name, line);
            free(text);
            return false;
        }
        cases->cases[i].needs_sm = (unsigned)strtoul(line + name + 4, NULL, 10);
    }
    free(text);
    return true;
}

void cases_release(corpus_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        free(cases->cases[i].arrays);
        free(cases->cases[i].lists);
        free(cases->cases[i].params);
    }
    for (size_t i = 0; i < cases->owned_count; i++)
        free(cases->owned[i]);
    free(cases->owned);
    free(cases->cases);
    free(cases->text);
    *cases = (corpus_cases){0};
}

/* ---- inputs ---- */

static uint32_t hash(uint32_t seed, uint32_t i)
{
    uint32_t x = i * 0x9E3779B9u + (seed * 0x85EBCA6Bu + 0x165667B1u);
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    return x ^ x >> 16;
}

static bool is_float(const case_dtype *t)
{
    return bc_kinds[t->kind].kind_class == BC_CLASS_FLOAT;
}

size_t case_bytes(const case_dtype *dtype)
{
    return bc_kind_memory_bytes(dtype->kind);
}

static uint64_t of_double(const case_dtype *t, double x)
{
    /* e8m0 takes powers of two only here, which all its modes give */
    return bc_float_round(t->kind, x, t->kind == BC_F8E8M0FNU ? BC_RoundingMode_zero : BC_RoundingMode_nearest_even);
}

static uint64_t of_int(const case_dtype *t, int64_t n)
{
    if (t->kind == BC_I1)
        return (uint64_t)n & 1;
    return (uint64_t)n & bc_int_mask(bc_kind_bits(t->kind));
}

static double field(const case_array *a, size_t i)
{
    return i < a->generator.count ? strtod(a->generator.word[i], NULL) : 0;
}
static int64_t int_field(const case_array *a, size_t i)
{
    return i < a->generator.count ? strtoll(a->generator.word[i], NULL, 0) : 0;
}

/* words and values: a count, then that many, repeated */
static const char *listed(const case_array *a, size_t index)
{
    size_t count = (size_t)int_field(a, 1);
    return count && count + 2 <= a->generator.count ? a->generator.word[2 + index % count] : "0";
}

uint64_t case_element(const case_array *a, size_t index)
{
    const case_dtype *t = a->dtype;
    const char *kind = a->generator.count ? a->generator.word[0] : "zeros";
    uint32_t i = (uint32_t)index;
    if (strcmp(kind, "fill") == 0)
        return is_float(t) ? of_double(t, field(a, 1)) : of_int(t, int_field(a, 1));
    if (strcmp(kind, "iota") == 0) {
        int64_t mod = int_field(a, 3), k = mod > 0 ? (int64_t)index % mod : (int64_t)index;
        return is_float(t) ? of_double(t, field(a, 1) + field(a, 2) * (double)k)
                           : of_int(t, int_field(a, 1) + int_field(a, 2) * k);
    }
    if (strcmp(kind, "grid") == 0) {
        int64_t low = int_field(a, 2), high = int_field(a, 3);
        int64_t n = low + (int64_t)hash((uint32_t)int_field(a, 1), i) % (high - low + 1);
        return is_float(t) ? of_double(t, (double)n / field(a, 4)) : of_int(t, n);
    }
    if (strcmp(kind, "unif") == 0) {
        double low = field(a, 2), high = field(a, 3);
        double u = (double)(hash((uint32_t)int_field(a, 1), i) >> 8) / 16777216.0;
        return of_double(t, low + (high - low) * u);
    }
    if (strcmp(kind, "bits") == 0) {
        uint32_t seed = (uint32_t)int_field(a, 1);
        uint64_t bits = hash(seed, 2 * i) | (uint64_t)hash(seed, 2 * i + 1) << 32;
        return bits & bc_int_mask(t->kind == BC_I1 ? 1 : bc_kind_bits(t->kind));
    }
    if (strcmp(kind, "affine") == 0) {
        int64_t n = int_field(a, 3), v = (int_field(a, 1) * (int64_t)index + int_field(a, 2)) % n;
        v = v < 0 ? v + n : v;
        return is_float(t) ? of_double(t, (double)v) : of_int(t, v);
    }
    if (strcmp(kind, "words") == 0)
        return strtoull(listed(a, index), NULL, 16);
    if (strcmp(kind, "values") == 0)
        return is_float(t) ? of_double(t, strtod(listed(a, index), NULL))
                           : of_int(t, strtoll(listed(a, index), NULL, 10));
    return is_float(t) ? of_double(t, 0) : 0;
}

size_t case_place(const case_array *a, size_t index)
{
    int64_t at = a->offset;
    for (unsigned d = a->rank; d-- > 0;) {
        at += (int64_t)(index % (size_t)a->shape[d]) * a->stride[d];
        index /= (size_t)a->shape[d];
    }
    return (size_t)at;
}

bool case_fill(const case_array *a, unsigned char *memory)
{
    size_t bytes = case_bytes(a->dtype);
    uint64_t sum = 0xcbf29ce484222325u;
    memset(memory, GAP, (size_t)a->allocated * bytes);
    for (size_t i = 0; i < a->elements; i++) {
        uint64_t x = case_element(a, i);
        unsigned char out[8];
        memcpy(out, &x, sizeof out);
        for (size_t b = 0; b < bytes; b++)
            sum = (sum ^ out[b]) * 0x100000001b3u;
        if (a->role != CASE_OUT)
            memcpy(memory + case_place(a, i) * bytes, out, bytes);
    }
    return !a->has_checksum || sum == a->checksum;
}

/* ---- outputs ---- */

static uint64_t pattern(const unsigned char *memory, size_t at, size_t bytes)
{
    uint64_t x = 0;
    memcpy(&x, memory + at * bytes, bytes);
    return x;
}

static double value_of(const case_dtype *t, uint64_t bits)
{
    if (is_float(t))
        return bc_float_value(t->kind, bits);
    if (t->is_unsigned)
        return (double)bits;
    return (double)bc_int_sign_extend(bits, bc_kind_bits(t->kind));
}

static bool matches(const case_array *a, uint64_t got, uint64_t want)
{
    if (got == want)
        return true;
    if (a->compare == CASE_BITS || !is_float(a->dtype))
        return false;
    double x = value_of(a->dtype, got), y = value_of(a->dtype, want);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y) || a->compare != CASE_CLOSE)
        return x == y;
    return fabs(x - y) <= a->atol + a->rtol * fabs(y);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static size_t check_sorted(const case_array *a, const unsigned char *memory, const unsigned char *expected)
{
    size_t bytes = case_bytes(a->dtype), bad = 0;
    double *values = malloc((a->elements + 1) * 2 * sizeof *values), *wanted = values + a->elements;
    if (!values)
        abort();
    for (size_t i = 0; i < a->elements; i++) {
        values[i] = value_of(a->dtype, pattern(memory, case_place(a, i), bytes));
        wanted[i] = value_of(a->dtype, pattern(expected, i, bytes));
    }
    qsort(values, a->elements, sizeof *values, by_value);
    qsort(wanted, a->elements, sizeof *wanted, by_value);
    for (size_t i = 0; i < a->elements; i++)
        bad += values[i] != wanted[i];
    free(values);
    return bad;
}

static size_t count_written_gaps(const case_array *a, const unsigned char *memory)
{
    size_t bytes = case_bytes(a->dtype), bad = 0;
    unsigned char *belongs = calloc((size_t)a->allocated + 1, 1);
    if (!belongs)
        abort();
    for (size_t i = 0; i < a->elements; i++)
        belongs[case_place(a, i)] = 1;
    for (size_t i = 0; i < (size_t)a->allocated; i++)
        for (size_t b = 0; !belongs[i] && b < bytes; b++)
            bad += memory[i * bytes + b] != GAP;
    free(belongs);
    return bad;
}

size_t case_check(const case_array *a, const unsigned char *memory, const unsigned char *expected, char *report,
                  size_t size)
{
    size_t bytes = case_bytes(a->dtype), bad = 0, used = 0;
    size_t gaps = count_written_gaps(a, memory);
    *report = 0;
    if (gaps)
        used += (size_t)snprintf(report, size, "    %s: %zu bytes outside the elements were written\n", a->name, gaps);
    if (!expected)
        return gaps;
    if (a->compare == CASE_SORTED)
        return gaps + check_sorted(a, memory, expected);
    for (size_t i = 0; i < a->elements; i++) {
        uint64_t got = pattern(memory, case_place(a, i), bytes), want = pattern(expected, i, bytes);
        if (matches(a, got, want))
            continue;
        if (bad++ < 3 && used < size)
            used += (size_t)snprintf(report + used, size - used,
                                     "    %s[%zu]: got %.9g (0x%" PRIx64 "), expected %.9g (0x%" PRIx64 ")\n", a->name,
                                     i, value_of(a->dtype, got), got, value_of(a->dtype, want), want);
    }
    return gaps + bad;
}
