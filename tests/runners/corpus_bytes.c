/* Every file of the corpus, in every version: opens, verifies as cases.txt says, comes back as the same bytes, keeps to
   its memory, converts to every other version that can express it and back.

     corpus_bytes FOLDER [I/N]      the unpacked corpus; every Nth file, from the one with number I on

   Ends with a line `corpus files: N passed, N failed`, where each check of each file counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "tests/common/files.h"
#include "tests/common/part.h"
#include "tilevm/tilevm.h"

enum { FIRST_MINOR = 1, LAST_MINOR = 5, MAX_SHOWN = 20 };

/* What README promises about memory: peak <= 64 KiB + 30 x file size, with the file itself. */
enum { MEMORY_BASE = 65536, MEMORY_FACTOR = 30 };

typedef struct corpus {
    const char *folder;
    test_part part;
    unsigned passed, failed;
    unsigned files, exact_texts; /* how many came back from text as exactly the same bytes */
} corpus;

/* One file being checked. */
typedef struct subject {
    corpus *corpus;
    const char *path; /* below the folder */
    bool must_verify;
    char *bytes;
    size_t size;
    bc_text findings; /* of the check under way */
} subject;

static void keep_finding(void *user, const tv_diag *diag)
{
    bc_text *text = user;
    if (diag->severity != TV_ERROR || text->len > 4096)
        return;
    bc_text_printf(text, "    0x%llx %s: ", (unsigned long long)diag->offset, diag->rule);
    bc_text_str(text, diag->message);
    bc_text_char(text, '\n');
}

static tv_sink sink_of(subject *s)
{
    bc_text_clear(&s->findings);
    return (tv_sink){.user = &s->findings, .report = keep_finding};
}

static void count(subject *s, bool ok, const char *check)
{
    corpus *c = s->corpus;
    if (ok) {
        c->passed++;
    } else if (c->failed++ < MAX_SHOWN) {
        tv_str findings = bc_text_get(&s->findings);
        printf("FAILED %s: %s\n%.*s", s->path, check, (int)findings.len, findings.ptr ? findings.ptr : "");
    }
}

/* ---- checks ---- */

static bool append(void *user, const void *bytes, size_t size)
{
    bc_text *out = user;
    bc_text_bytes(out, bytes, size);
    return !out->failed;
}

/* Writes the module; out is released by the caller. */
static bool write_module(subject *s, const tv_module *module, bc_text *out)
{
    bc_text_init(out, NULL);
    return tv_module_write(module, sink_of(s), (tv_writer){.user = out, .write = append}) == TV_OK;
}

static bool same_bytes(const bc_text *a, const void *bytes, size_t size)
{
    return a->len == size && memcmp(a->ptr, bytes, size) == 0;
}

static void check_write(subject *s, const tv_module *module)
{
    bc_text out;
    bool ok = write_module(s, module, &out);
    count(s, ok && same_bytes(&out, s->bytes, s->size), "writing gives other bytes");
    bc_text_release(&out);
}

static void check_memory(subject *s, const tv_module *module)
{
    size_t now, peak;
    tv_module_memory(module, &now, &peak);
    count(s, peak + s->size <= MEMORY_BASE + MEMORY_FACTOR * s->size && now <= peak, "takes too much memory");
}

/* Is the module, with its tables rebuilt, what `bytes` becomes when its own are? Where a conversion adds or drops
   results (print_tko of 13.1) tables are rebuilt in the usual order, which not every exporter keeps. */
static bool same_rebuilt(subject *s, const bc_text *bytes)
{
    bc_text texts[2];
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        tv_module *module = NULL;
        bc_text_init(&texts[i], NULL);
        ok = ok
             && tv_module_open(i ? bytes->ptr : s->bytes, i ? bytes->len : s->size, NULL, sink_of(s), &module) == TV_OK
             && bc_module_compact(module) == TV_OK && write_module(s, module, &texts[i]);
        tv_module_close(module);
    }
    ok = ok && same_bytes(&texts[0], texts[1].ptr, texts[1].len);
    bc_text_release(&texts[0]);
    bc_text_release(&texts[1]);
    return ok;
}

static bool print_module(const tv_module *module, bool debug_info, bc_text *out)
{
    tv_print_options options = {.debug_info = debug_info};
    bc_text_init(out, NULL);
    return tv_module_print(module, &options, (tv_writer){.user = out, .write = append}) == TV_OK && out->len;
}

/* What a text cannot tell besides, by file: the order of keys, which the text sorts, and the sign of a number written
   in 65 bits (defect D1 of the format). Their bytes differ, but they are as many. */
static bool loses_something(const subject *s)
{
    static const char *const known[] = {"/hint_by_target.tbc", "/arch_independent.tbc", "/reduce_rows_f64.tbc"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(s->path, known[i]))
            return true;
    return false;
}

/* The file as `tilevm strip` writes it; out is released by the caller. */
static bool write_stripped(subject *s, bc_text *out)
{
    tv_module *module = NULL;
    bc_text_init(out, NULL);
    bool ok = tv_module_open(s->bytes, s->size, NULL, sink_of(s), &module) == TV_OK && bc_module_strip(module) == TV_OK
              && write_module(s, module, out);
    tv_module_close(module);
    return ok;
}

/* Are these the bytes of the file: those of the file itself, or, where it holds debug attributes that nothing refers to
   or tables that are not in the order of first use, of the file with its tables rebuilt? A debug section that knows
   nothing is not in the text either. */
static bool same_module(subject *s, const bc_text *out)
{
    if (loses_something(s))
        return out->len == s->size;
    if (same_bytes(out, s->bytes, s->size) || same_rebuilt(s, out))
        return true;
    if (!strstr(s->path, "/no_debug_info.tbc"))
        return false;
    bc_text stripped;
    bool same = write_stripped(s, &stripped) && same_bytes(out, stripped.ptr, stripped.len);
    bc_text_release(&stripped);
    return same;
}

/* Printed without locations and parsed again, the module is the stripped one. */
static void check_plain_text(subject *s, const tv_module *module)
{
    bc_text text, out, stripped;
    tv_module *parsed = NULL;
    bool ok = write_stripped(s, &stripped);
    ok = print_module(module, false, &text) && ok
         && tv_module_parse(text.ptr, text.len, tv_module_minor(module), NULL, sink_of(s), &parsed) == TV_OK;
    bc_text_init(&out, NULL);
    ok = ok && write_module(s, parsed, &out)
         && (loses_something(s) ? out.len == stripped.len : same_bytes(&out, stripped.ptr, stripped.len));
    count(s, ok, "comes back from text without locations as another module than the stripped one");
    tv_module_close(parsed);
    bc_text_release(&text);
    bc_text_release(&out);
    bc_text_release(&stripped);
}

/* Printed with locations and parsed again, the module prints the same text and is written as the same bytes. */
static void check_text(subject *s, const tv_module *module)
{
    bc_text text, again, out;
    tv_module *parsed = NULL;
    bool printed = print_module(module, true, &text);
    count(s, printed, "cannot be printed");
    bool ok = printed
              && tv_module_parse(text.ptr, text.len, tv_module_minor(module), NULL, sink_of(s), &parsed) == TV_OK;
    count(s, ok, "its text cannot be parsed");
    if (ok) {
        ok = print_module(parsed, true, &again);
        count(s, ok && same_bytes(&again, text.ptr, text.len), "comes back from text with another text");
        ok = write_module(s, parsed, &out);
        s->corpus->exact_texts += ok && same_bytes(&out, s->bytes, s->size);
        count(s, ok && same_module(s, &out), "comes back from text with other bytes");
        bc_text_release(&again);
        bc_text_release(&out);
    }
    tv_module_close(parsed);
    bc_text_release(&text);
}

/* To a newer version, which can express everything: still valid there, and after the way back the same bytes. */
static void check_newer(subject *s, unsigned minor)
{
    tv_module *module = NULL, *newer = NULL;
    bc_text out, back;
    bc_text_init(&back, NULL);
    if (tv_module_open(s->bytes, s->size, NULL, sink_of(s), &module) != TV_OK)
        return;
    unsigned own = tv_module_minor(module);
    bool ok = tv_module_convert(module, minor, sink_of(s)) == TV_OK;
    ok = write_module(s, module, &out) && ok;
    tv_module_close(module);
    count(s, ok, "cannot be converted to a newer version");
    if (ok) {
        ok = tv_module_open(out.ptr, out.len, NULL, sink_of(s), &newer) == TV_OK
             && tv_module_verify(newer, NULL, sink_of(s)) == TV_OK;
        count(s, ok == s->must_verify, "is not the same in a newer version");
    }
    if (newer) {
        ok = tv_module_convert(newer, own, sink_of(s)) == TV_OK;
        bc_text_release(&back);
        ok = write_module(s, newer, &back) && ok;
        count(s, ok && (same_bytes(&back, s->bytes, s->size) || same_rebuilt(s, &back)),
              "comes back from a newer version with other bytes");
        tv_module_close(newer);
    }
    bc_text_release(&out);
    bc_text_release(&back);
}

/* To an older version: either an error that leaves the module as it was, or a valid module. */
static void check_older(subject *s, unsigned minor)
{
    tv_module *module = NULL, *older = NULL;
    if (tv_module_open(s->bytes, s->size, NULL, sink_of(s), &module) != TV_OK)
        return;
    bool lowered = tv_module_convert(module, minor, sink_of(s)) == TV_OK;
    if (!lowered)
        count(s, s->findings.len != 0, "was not converted, without a reason");
    bc_text out;
    bool ok = write_module(s, module, &out);
    if (!lowered) {
        count(s, ok && same_bytes(&out, s->bytes, s->size), "was changed by a conversion that failed");
    } else if (ok) {
        ok = tv_module_open(out.ptr, out.len, NULL, sink_of(s), &older) == TV_OK && tv_module_minor(older) == minor
             && tv_module_verify(older, NULL, sink_of(s)) == TV_OK;
        count(s, ok == s->must_verify, "is not the same in an older version");
        tv_module_close(older);
    } else {
        count(s, false, "cannot be written in an older version");
    }
    bc_text_release(&out);
    tv_module_close(module);
}

static void check_file(corpus *c, const char *path, bool must_verify)
{
    subject s = {.corpus = c, .path = path, .must_verify = must_verify};
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", c->folder, path);
    bc_text_init(&s.findings, NULL);
    s.bytes = files_read(full, &s.size);
    if (!s.bytes) {
        count(&s, false, "cannot be read");
        return;
    }
    c->files++;
    tv_module *module = NULL;
    bool opened = tv_module_open(s.bytes, s.size, NULL, sink_of(&s), &module) == TV_OK;
    count(&s, opened, "does not open");
    if (opened) {
        bool valid = tv_module_verify(module, NULL, sink_of(&s)) == TV_OK;
        count(&s, valid == must_verify, must_verify ? "does not verify" : "verifies, but is invalid");
        check_memory(&s, module);
        check_write(&s, module);
        check_text(&s, module);
        check_plain_text(&s, module);
        unsigned minor = tv_module_minor(module);
        tv_module_close(module);
        for (unsigned other = FIRST_MINOR; other <= LAST_MINOR; other++) {
            if (other > minor)
                check_newer(&s, other);
            else if (other < minor)
                check_older(&s, other);
        }
    }
    bc_text_release(&s.findings);
    free(s.bytes);
}

/* ---- cases.txt ---- */

/* Walks the case table: the file lines of each case follow its info line. */
static void check_cases(corpus *c, char *table)
{
    bool must_verify = true;
    size_t number = 0;
    for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n")) {
        char kind[16], path[1024];
        if (sscanf(line, "info %*s %*s %15s", kind) == 1)
            must_verify = strcmp(kind, "invalid") != 0;
        else if (sscanf(line, "file %*s %1023s", path) == 1 && part_has(c->part, number++))
            check_file(c, path, must_verify);
    }
}

int main(int argc, char **argv)
{
    corpus c = {.folder = argc > 1 ? argv[1] : NULL, .part = PART_ALL};
    if (argc < 2 || argc > 3 || (argc == 3 && !part_read(argv[2], &c.part))) {
        fputs("usage: corpus_bytes FOLDER [I/N]\n", stderr);
        return 2;
    }
    char path[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/cases.txt", argv[1]);
    char *table = files_read(path, &size);
    if (!table)
        return perror(path), 2;
    check_cases(&c, table);
    free(table);
    if (c.failed > MAX_SHOWN)
        printf("(%u more)\n", c.failed - MAX_SHOWN);
    if (c.passed == 0)
        c.failed++; /* an empty table must not pass */
    printf("%u of %u files came back from text as the same bytes\n", c.exact_texts, c.files);
    printf("corpus files: %u passed, %u failed\n", c.passed, c.failed);
    return c.failed != 0;
}
