/* Damaged files: whatever the bytes, the library must end with a status and a diagnostic, never crash, hang or leak.
   Most of its worth shows with sanitizers (make SAN=1 check-malformed).

     malformed CORPUS FOLDER [I/N]      the unpacked corpus; small files as annotated bytes (*.mkbc); every Nth of both,
                                        from the one with number I on

   Damage: every prefix; every change of one byte; sections twice, missing, in another order; random changes; and the
   n-th allocation failing for every n. The text of a file is damaged likewise, for the parser. Ends with a line
   `malformed: N passed, N failed`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/common/files.h"
#include "tests/common/mkbc.h"
#include "tests/common/part.h"
#include "tilevm/tilevm.h"

enum {
    MAX_SHOWN = 20,
    RANDOM_SEED = 20240607,
    RANDOM_ROUNDS = 60,
    MAX_SECTIONS = 8,
    HEADER_SIZE = 12,
    STRIDE = 97 /* every so many-th file of the corpus; prime, so that all versions and groups have their turn */
};

static unsigned passed, failed;

static void check(bool ok, const char *file, const char *damage, size_t at, const char *what)
{
    if (ok)
        passed++;
    else if (failed++ < MAX_SHOWN)
        printf("FAILED %s, %s %zu: %s\n", file, damage, at, what);
}

/* ---- what the library says about some bytes ---- */

typedef struct findings {
    unsigned errors, unknown_rules, empty_messages, wild_offsets;
    uint64_t size;
    char first_rule[16];
} findings;

static void take(void *user, const tv_diag *diag)
{
    findings *f = user;
    if (diag->severity == TV_ERROR && f->errors++ == 0)
        snprintf(f->first_rule, sizeof f->first_rule, "%s", diag->rule);
    f->unknown_rules += tv_rule_find(diag->rule) == NULL;
    f->empty_messages += diag->message.len == 0;
    f->wild_offsets += diag->offset != TV_NO_OFFSET && diag->offset > f->size;
}

static bool discard(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)user += size;
    return true;
}

/* Reader, printer, verifier and writer; gives what is wrong with their behaviour, or NULL. */
static const char *behaviour(const void *bytes, size_t size, bool strict, findings *f, tv_status *out_status)
{
    tv_sink sink = {.user = f, .report = take};
    tv_open_options options = {.strict = strict};
    tv_module *module = NULL;
    size_t written = 0;
    const char *wrong = NULL;
    *out_status = tv_module_open(bytes, size, &options, sink, &module);
    if (*out_status != TV_OK)
        return *out_status != TV_INVALID ? "opening ends with neither success nor an error"
               : f->errors != 1          ? "not exactly one error"
                                         : NULL;
    if (f->errors)
        wrong = "opening reports an error and succeeds";
    if (tv_module_print(module, &(tv_print_options){.debug_info = true},
                        (tv_writer){.user = &written, .write = discard})
            != TV_OK
        && !wrong)
        wrong = "what opens cannot be printed";
    written = 0;
    *out_status = tv_module_verify(module, NULL, sink);
    if (!wrong && (*out_status == TV_OK) != (f->errors == 0))
        wrong = "status and errors of the verifier disagree";
    if (*out_status == TV_OK && !wrong
        && (tv_module_write(module, sink, (tv_writer){.user = &written, .write = discard}) != TV_OK || !written))
        wrong = "a valid module cannot be written";
    tv_module_close(module);
    return wrong;
}

/* Puts bytes through the library, and counts one check; gives the status of the first part that refused them, and the
   first rule. The bytes are copied into a block of their exact size, so that a sanitizer sees every read past the end.
 */
static tv_status digest(const char *file, const char *damage, size_t at, const void *bytes, size_t size, char *out_rule)
{
    void *exact = malloc(size ? size : 1);
    if (!exact)
        exit(2);
    memcpy(exact, bytes, size);
    findings f = {.size = size};
    tv_status status;
    const char *wrong = behaviour(exact, size, at & 1, &f, &status);
    if (!wrong && (f.unknown_rules || f.empty_messages || f.wild_offsets))
        wrong = "a diagnostic without a known rule, a message, or a place in the file";
    check(!wrong, file, damage, at, wrong);
    if (out_rule)
        memcpy(out_rule, f.first_rule, sizeof f.first_rule);
    free(exact);
    return status;
}

/* ---- the damages ---- */

static void check_prefixes(const char *file, const unsigned char *bytes, size_t size)
{
    for (size_t n = 0; n < size; n++)
        if (digest(file, "prefix of", n, bytes, n, NULL) != TV_INVALID)
            check(false, file, "prefix of", n, "is not refused");
}

static void check_byte_changes(const char *file, unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char old = bytes[i];
        for (unsigned change = 1; change < 256; change++) {
            bytes[i] = (unsigned char)(old ^ change);
            digest(file, "changed byte", i, bytes, size, NULL);
        }
        bytes[i] = old;
    }
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A few bytes changed, removed or repeated at once; the seed and the round repeat it. */
static void check_random(const char *file, const unsigned char *bytes, size_t size, unsigned rounds)
{
    unsigned char *copy = malloc(size * 2);
    uint64_t state = RANDOM_SEED;
    for (unsigned round = 0; copy && round < rounds; round++) {
        size_t len = size;
        memcpy(copy, bytes, size);
        for (uint64_t changes = random_next(&state) % 4 + 1; changes > 0; changes--) {
            size_t at = (size_t)(random_next(&state) % len), span = (size_t)(random_next(&state) % 8) + 1;
            if (span > len - at)
                span = len - at;
            unsigned kind = (unsigned)(random_next(&state) % 4);
            if (kind == 0 && len + span <= size * 2) {
                memmove(copy + at + span, copy + at, len - at);
                len += span;
            } else if (kind == 1 && len > span + HEADER_SIZE) {
                memmove(copy + at, copy + at + span, len - at - span);
                len -= span;
            } else if (kind == 2) {
                copy[at] = (unsigned char)random_next(&state);
            } else {
                copy[at] ^= (unsigned char)(1u << random_next(&state) % 8);
            }
        }
        digest(file, "random change", round, copy, len, NULL);
    }
    free(copy);
}

/* ---- sections moved around ---- */

typedef struct section {
    unsigned id;
    size_t align, payload, length; /* payload: offset in the file */
} section;

static size_t read_varint(const unsigned char *bytes, size_t *at)
{
    size_t value = 0;
    unsigned shift = 0;
    do
        value |= (size_t)(bytes[*at] & 0x7f) << shift, shift += 7;
    while (bytes[(*at)++] & 0x80);
    return value;
}

/* Sections of a valid file. */
static unsigned find_sections(const unsigned char *bytes, section *out)
{
    unsigned count = 0;
    for (size_t at = HEADER_SIZE; bytes[at] && count < MAX_SECTIONS; count++) {
        section *s = &out[count];
        unsigned id = bytes[at++];
        s->id = id & 0x7f;
        s->length = read_varint(bytes, &at);
        s->align = id & 0x80 ? read_varint(bytes, &at) : 1;
        at = (at + s->align - 1) / s->align * s->align;
        s->payload = at;
        at += s->length;
    }
    return count;
}

static void put_varint(bc_text *out, size_t value)
{
    for (; value >= 0x80; value >>= 7)
        bc_text_char(out, (char)(value | 0x80));
    bc_text_char(out, (char)value);
}

/* A file of these sections of `bytes`, in the order of `order`. */
static void assemble(bc_text *out, const unsigned char *bytes, const section *sections, const unsigned *order,
                     unsigned count)
{
    bc_text_init(out, NULL);
    bc_text_bytes(out, bytes, HEADER_SIZE);
    for (unsigned i = 0; i < count; i++) {
        const section *s = &sections[order[i]];
        bc_text_char(out, (char)(s->id | (s->align > 1 ? 0x80u : 0)));
        put_varint(out, s->length);
        if (s->align > 1)
            put_varint(out, s->align);
        while (s->align > 1 && out->len % s->align)
            bc_text_char(out, (char)0xcb);
        bc_text_bytes(out, bytes + s->payload, s->length);
    }
    bc_text_char(out, 0);
}

static void try_order(const char *file, const unsigned char *bytes, const section *sections, const unsigned *order,
                      unsigned count, const char *damage, size_t at, const char *expected_rule)
{
    bc_text out;
    char rule[16];
    assemble(&out, bytes, sections, order, count);
    digest(file, damage, at, out.ptr, out.len, rule);
    check(!expected_rule || strcmp(rule, expected_rule) == 0, file, damage, at,
          expected_rule && expected_rule[0] ? "not the rule for it" : "is refused");
    bc_text_release(&out);
}

static void check_sections(const char *file, const unsigned char *bytes)
{
    section sections[MAX_SECTIONS];
    unsigned count = find_sections(bytes, sections), order[MAX_SECTIONS + 1];
    for (unsigned i = 0; i < count; i++) { /* every section first: any order is valid */
        for (unsigned k = 0; k < count; k++)
            order[k] = (i + k) % count;
        try_order(file, bytes, sections, order, count, "rotated by", i, "");
        for (unsigned k = 0; k < count / 2; k++) {
            unsigned other = order[k];
            order[k] = order[count - 1 - k];
            order[count - 1 - k] = other;
        }
        try_order(file, bytes, sections, order, count, "reversed and rotated by", i, "");
    }
    for (unsigned i = 0; i < count && count < MAX_SECTIONS; i++) {
        for (unsigned k = 0; k < count; k++)
            order[k] = k;
        order[count] = i;
        try_order(file, bytes, sections, order, count + 1, "twice section", i, "F-016");
        for (unsigned k = i; k + 1 < count; k++)
            order[k] = k + 1;
        const char *rule = sections[i].id == 1 ? "F-014" : sections[i].id == 2 ? "F-015" : NULL;
        try_order(file, bytes, sections, order, count - 1, "without section", i, rule);
    }
}

/* ---- memory that runs out ---- */

typedef struct stingy {
    size_t left; /* allocations that still succeed */
    size_t held; /* bytes not yet released */
} stingy;

static void *stingy_alloc(void *user, size_t size)
{
    stingy *s = user;
    if (s->left == 0)
        return NULL;
    void *memory = malloc(size);
    if (memory) {
        s->left--;
        s->held += size;
    }
    return memory;
}

static void stingy_release(void *user, void *memory, size_t size)
{
    stingy *s = user;
    if (memory)
        s->held -= size;
    free(memory);
}

/* Opens, verifies, prints, converts and writes with `budget` allocations; true when that was enough. */
static bool with_budget(const char *file, const unsigned char *bytes, size_t size, size_t budget)
{
    stingy s = {.left = budget};
    tv_allocator allocator = {.user = &s, .alloc = stingy_alloc, .release = stingy_release};
    findings f = {.size = size};
    tv_sink sink = {.user = &f, .report = take};
    tv_module *module = NULL;
    size_t written = 0;
    tv_status status = tv_module_open(bytes, size, &(tv_open_options){.allocator = &allocator}, sink, &module);
    if (status == TV_OK)
        status = tv_module_verify(module, NULL, sink);
    if (status == TV_OK)
        status = tv_module_print(module, NULL, (tv_writer){.user = &written, .write = discard});
    if (status == TV_OK)
        status = tv_module_convert(module, 5, sink);
    if (status == TV_OK)
        status = tv_module_write(module, sink, (tv_writer){.user = &written, .write = discard});
    tv_module_close(module);
    check(status == TV_OK || status == TV_NO_MEMORY, file, "allocations", budget,
          "running out of memory is called otherwise");
    check(s.held == 0, file, "allocations", budget, "memory is not released");
    return status == TV_OK;
}

static void check_memory(const char *file, const unsigned char *bytes, size_t size)
{
    enum { MAX_BUDGET = 100000 };
    size_t budget = 0;
    while (budget < MAX_BUDGET && !with_budget(file, bytes, size, budget))
        budget++;
    check(budget < MAX_BUDGET, file, "allocations", budget, "never enough");
}

/* ---- text ---- */

/* Parses a text; what parses must print, verify (or not) and be written. Counts one check. */
static tv_status digest_text(const char *file, const char *damage, size_t at, const char *text, size_t size)
{
    char *exact = malloc(size ? size : 1);
    if (!exact)
        exit(2);
    memcpy(exact, text, size);
    findings f = {.size = size};
    tv_sink sink = {.user = &f, .report = take};
    tv_module *module = NULL;
    size_t written = 0;
    tv_writer out = {.user = &written, .write = discard};
    const char *wrong = NULL;
    tv_status status = tv_module_parse(exact, size, 4, NULL, sink, &module);
    if (status != TV_OK && (status != TV_INVALID || f.errors == 0 || f.errors > 20))
        wrong = "parsing ends with neither success nor a few errors";
    if (status == TV_OK) {
        f.size = TV_NO_OFFSET; /* bytes of the file to be written, from here on */
        if (f.errors)
            wrong = "parsing reports an error and succeeds";
        else if (tv_module_print(module, NULL, out) != TV_OK)
            wrong = "what parses cannot be printed";
        else if (tv_module_verify(module, NULL, sink) == TV_OK && tv_module_write(module, sink, out) != TV_OK)
            wrong = "a valid module cannot be written";
        tv_module_close(module);
    }
    if (!wrong && (f.unknown_rules || f.empty_messages || f.wild_offsets))
        wrong = "a diagnostic without a known rule, a message, or a place in the text";
    check(!wrong, file, damage, at, wrong);
    free(exact);
    return status;
}

/* Prefixes, changed characters, and lines twice or missing. */
static void check_text(const char *file, char *text, size_t size)
{
    static const char odd[] = {0,   '\n', ' ', '"', '(', ')', '{', '<', '>',
                               '%', '#',  ',', '=', ':', '-', '9', 'x', '\xff'};
    check(digest_text(file, "text", 0, text, size) == TV_OK, file, "text", 0, "does not parse");
    for (size_t n = 0; n < size; n++)
        digest_text(file, "text, prefix of", n, text, n);
    for (size_t i = 0; i < size; i++) {
        char old = text[i];
        for (size_t k = 0; k < sizeof odd; k++) {
            text[i] = odd[k];
            digest_text(file, "text, changed character", i, text, size);
        }
        text[i] = old;
    }
    char *copy = malloc(size * 2);
    for (size_t at = 0; copy && at < size;) {
        const char *stop = memchr(text + at, '\n', size - at);
        size_t line = stop ? (size_t)(stop - text) + 1 - at : size - at;
        memcpy(copy, text, at + line);
        memcpy(copy + at + line, text + at, size - at);
        digest_text(file, "text, twice the line at", at, copy, size + line);
        memcpy(copy + at, text + at + line, size - at - line);
        digest_text(file, "text, without the line at", at, copy, size - line);
        at += line;
    }
    free(copy);
}

/* Parsing with every number of allocations that succeed, up to enough. */
static void check_text_memory(const char *file, const char *text, size_t size)
{
    tv_status status = TV_NO_MEMORY;
    for (size_t budget = 0; status == TV_NO_MEMORY; budget++) {
        stingy s = {.left = budget};
        tv_allocator allocator = {.user = &s, .alloc = stingy_alloc, .release = stingy_release};
        tv_module *module = NULL;
        status = tv_module_parse(text, size, 4, &(tv_open_options){.allocator = &allocator}, (tv_sink){0}, &module);
        tv_module_close(module);
        check(status == TV_OK || status == TV_NO_MEMORY, file, "text, allocations", budget,
              "running out of memory is called otherwise");
        check(s.held == 0, file, "text, allocations", budget, "memory is not released");
    }
}

/* The printed forms of a file. */
static void check_texts(const char *file, const unsigned char *bytes, size_t size)
{
    static const tv_print_options forms[] = {{0}, {.debug_info = true, .prefix = true}};
    tv_module *module = NULL;
    if (tv_module_open(bytes, size, NULL, (tv_sink){0}, &module) != TV_OK)
        return;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        bc_text text;
        bc_text_init(&text, NULL);
        bool ok = tv_module_print(module, &forms[i], (tv_writer){.user = &text, .write = bc_text_append}) == TV_OK
                  && !text.failed;
        check(ok, file, "text", i, "cannot be printed");
        if (ok) {
            check_text(file, text.ptr, text.len);
            check_text_memory(file, text.ptr, text.len);
        }
        bc_text_release(&text);
    }
    tv_module_close(module);
}

/* ---- files ---- */

/* Everything at once: for files of a few hundred bytes. */
static void check_small(const char *path)
{
    size_t size;
    char *text = files_read(path, &size);
    mkbc_result r = {0};
    if (!text || !mkbc_assemble(text, size, &r)) {
        check(false, path, "line", r.line, text ? r.error : "cannot be read");
        free(text);
        return;
    }
    check(digest(path, "untouched", 0, r.bytes, r.size, NULL) == TV_OK, path, "untouched", 0, "is not valid");
    check_prefixes(path, r.bytes, r.size);
    check_byte_changes(path, r.bytes, r.size);
    check_sections(path, r.bytes);
    check_random(path, r.bytes, r.size, 100 * RANDOM_ROUNDS);
    check_memory(path, r.bytes, r.size);
    check_texts(path, r.bytes, r.size);
    free(r.bytes);
    free(text);
}

/* A file of the corpus: what takes time in proportion to its size is left to the smaller ones. */
static void check_corpus_file(const char *path)
{
    enum { SMALL = 4096 };
    size_t size;
    char *bytes = files_read(path, &size);
    if (!bytes || size <= HEADER_SIZE) {
        check(false, path, "file", 0, "cannot be read");
        free(bytes);
        return;
    }
    unsigned char *file = (unsigned char *)bytes;
    bool valid = digest(path, "untouched", 0, file, size, NULL) == TV_OK;
    check_random(path, file, size, RANDOM_ROUNDS);
    if (valid)
        check_sections(path, file);
    if (valid && size < SMALL) {
        check_prefixes(path, file, size);
        check_memory(path, file, size);
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    test_part part = PART_ALL;
    if (argc < 3 || argc > 4 || (argc == 4 && !part_read(argv[3], &part))) {
        fputs("usage: malformed CORPUS FOLDER [I/N]\n", stderr);
        return 2;
    }
    char **small = NULL, **real = NULL;
    size_t small_count = 0, real_count = 0;
    if (!files_find(argv[2], ".mkbc", &small, &small_count))
        return perror(argv[2]), 2;
    if (!files_find(argv[1], ".tbc", &real, &real_count))
        return perror(argv[1]), 2;
    for (size_t i = 0; i < small_count; i++)
        if (part_has(part, i))
            check_small(small[i]);
    for (size_t i = 0; i * STRIDE < real_count; i++)
        if (part_has(part, i))
            check_corpus_file(real[i * STRIDE]);
    for (size_t i = 0; i < small_count; i++)
        free(small[i]);
    for (size_t i = 0; i < real_count; i++)
        free(real[i]);
    free(small);
    free(real);
    if (!small_count || !real_count)
        failed++;
    if (failed > MAX_SHOWN)
        printf("(%u more)\n", failed - MAX_SHOWN);
    printf("malformed: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
