/* Every kernel of the corpus for every target of codegen/kernel/targets.def, through ptxas. Targets that ptxas lists
   and the table does not have get the code that a device of theirs would get: that for the latest target before them.

     assemble FOLDER NEEDS [--part I/N] [--jobs N] [--filter TEXT] [--target NAME]

   FOLDER is the unpacked corpus; NEEDS lists the lowest targets that have what a case needs
   (tests/corpus/unsupported.txt). For those below, the compiler must say that the target has not got it; for all others
   it must give PTX that ptxas takes.
   --part takes every Nth pair of kernel and target, from the one with number I on, --filter cases whose name holds the
   text, --target one target; --jobs is the number of threads. ptxas takes milliseconds to start, so kernels whose names
   differ go to it as one module, and one by one when it refuses that. Ends with `ptxas: N passed, N failed`, or with
   `ptxas: skipped, there is no ptxas`. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "codegen/kernel/kernel.h"
#include "tests/common/cases.h"
#include "tests/common/files.h"
#include "tests/common/part.h"
#include "tests/ptxsim/harness.h"
#include "tilevm/tilevm.h"

enum { CHUNK = 100, MAX_JOBS = 64, MINOR = 5, MAX_NAMES = 4096, MOST_TARGETS = 128 };

/* What ptxas assembles for, and the target that it gets the code of. */
typedef struct aim {
    harness_target arch;
    const cg_target *target;
} aim;

typedef struct driver {
    const char *folder, *filter, *only;
    test_part part;
    unsigned jobs;
    corpus_cases cases;
    aim aims[MOST_TARGETS];
    size_t aim_count, chunks;
    atomic_size_t next; /* unit of work: a chunk of the cases for a target */
    atomic_uint passed, failed;
} driver;

/* Kernels that go to ptxas together. */
typedef struct bundle {
    bc_text text;           /* without directives that stand once in a module */
    char *names[MAX_NAMES]; /* what it defines */
    size_t name_count;
    unsigned version; /* highest .version of them, as major * 10 + minor */
    size_t cases[CHUNK];
    bc_text texts[CHUNK]; /* of each by itself */
    size_t count;
} bundle;

static void keep_finding(void *user, const tv_diag *diag)
{
    if (diag->severity == TV_ERROR) {
        bc_text_str(user, diag->message);
        bc_text_char(user, '\n');
    }
}

static void fail(driver *d, const corpus_case *c, const char *target, const char *what)
{
    atomic_fetch_add(&d->failed, 1);
    printf("FAILED %s for %s: %s\n", c->name, target, what);
}

/* The PTX of a case. False: there is none, which is what the list says or has been counted as a failure. */
static bool compile(driver *d, const corpus_case *c, const cg_target *target, bc_text *out)
{
    char path[1024], what[600];
    size_t size;
    bc_text words;
    bc_text_init(&words, NULL);
    tv_sink sink = {.user = &words, .report = keep_finding};
    snprintf(path, sizeof path, "%s/%s", d->folder, c->file[MINOR - 1]);
    char *bytes = files_read(path, &size);
    tv_module *m = NULL;
    tv_status status = bytes ? tv_module_open(bytes, size, NULL, sink, &m) : TV_IO;
    if (status == TV_OK)
        status = tv_module_verify(m, &(tv_verify_options){.max_errors = 1}, sink);
    if (status == TV_OK)
        status = tv_compile_ptx(m, &(tv_compile_options){.target = target->name, .opt_level = 3, .verify_each = true},
                                sink, (tv_writer){.user = out, .write = bc_text_append});
    tv_module_close(m);
    free(bytes);
    bool may = target->sm >= c->needs_sm;
    if (status != TV_OK && (may || status != TV_UNSUPPORTED)) {
        snprintf(what, sizeof what, "%.*s", (int)words.len - (words.len > 0), words.ptr ? words.ptr : "cannot be read");
        fail(d, c, target->name, what);
    } else if (!may && status == TV_OK) {
        fail(d, c, target->name, "it compiles, although the list says that the target cannot have it");
    } else if (!may && !strstr(words.ptr, target->name)) {
        fail(d, c, target->name, "the message does not name the target");
    } else if (!may) {
        atomic_fetch_add(&d->passed, 1);
    }
    bc_text_release(&words);
    return may && status == TV_OK;
}

/* ---- bundles ---- */

/* What the line of a module's scope defines: the word before the first bracket that opens parameters or a size. False:
   nothing. */
static bool defined_name(const char *line, size_t len, const char **out_name, size_t *out_len)
{
    static const char *const words[] = {".visible ", ".global ", ".const ", ".func ", ".extern "};
    bool defines = false;
    for (size_t i = 0; i < TV_COUNT(words); i++)
        defines = defines || (len > strlen(words[i]) && memcmp(line, words[i], strlen(words[i])) == 0);
    if (!defines)
        return false;
    const char *end = line + len, *p = line;
    if (memcmp(line, ".func (", 7) == 0 || memcmp(line, ".extern .func (", 15) == 0) { /* the result comes first */
        p = memchr(line, ')', len);
        p = p ? p + 1 + strspn(p + 1, " ") : line;
    }
    const char *stop = p + 1;
    while (stop < end && !strchr("([;={", *stop))
        stop++;
    while (stop > p && stop[-1] == ' ')
        stop--;
    const char *start = stop;
    while (start > p && start[-1] != ' ')
        start--;
    *out_name = start;
    *out_len = (size_t)(stop - start);
    return true;
}

static bool is_defined(const bundle *b, const char *name, size_t len)
{
    for (size_t i = 0; i < b->name_count; i++)
        if (strlen(b->names[i]) == len && memcmp(b->names[i], name, len) == 0)
            return true;
    return false;
}

static size_t line_length(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop ? (size_t)(stop - at) + 1 : (size_t)(end - at);
}

/* Takes the text (owned then), unless a name of it is taken or there is no room. */
static bool add_to_bundle(bundle *b, size_t index, bc_text *text)
{
    const char *end = text->ptr + text->len, *name;
    size_t len, count = 0;
    for (const char *at = text->ptr; at < end; at += line_length(at, end))
        if (defined_name(at, line_length(at, end), &name, &len)) {
            if (is_defined(b, name, len))
                return false;
            count++;
        }
    if (b->count == CHUNK || b->name_count + count > MAX_NAMES)
        return false;
    for (const char *at = text->ptr; at < end; at += line_length(at, end)) {
        size_t line = line_length(at, end);
        unsigned major, minor;
        if (defined_name(at, line, &name, &len))
            b->names[b->name_count++] = strndup(name, len);
        if (sscanf(at, ".version %u.%u", &major, &minor) == 2)
            b->version = major * 10 + minor > b->version ? major * 10 + minor : b->version;
        else if (strncmp(at, ".target", 7) != 0 && strncmp(at, ".address_size", 13) != 0)
            bc_text_bytes(&b->text, at, line);
    }
    b->cases[b->count] = index;
    b->texts[b->count++] = *text;
    return true;
}

static void assemble_bundle(driver *d, bundle *b, const aim *to)
{
    bc_text whole;
    bc_text_init(&whole, NULL);
    bc_text_printf(&whole, ".version %u.%u\n.target %s\n.address_size 64\n", b->version / 10, b->version % 10,
                   to->target->name);
    bc_text_str(&whole, bc_text_get(&b->text));
    bool together = !whole.failed && harness_ptxas_quietly(whole.ptr, whole.len, to->arch);
    for (size_t i = 0; i < b->count; i++) {
        if (together || harness_ptxas(b->texts[i].ptr, b->texts[i].len, to->arch))
            atomic_fetch_add(&d->passed, 1);
        else
            fail(d, &d->cases.cases[b->cases[i]], to->arch, "ptxas does not take it");
        bc_text_release(&b->texts[i]);
    }
    for (size_t i = 0; i < b->name_count; i++)
        free(b->names[i]);
    bc_text_release(&b->text);
    bc_text_release(&whole);
    b->count = b->name_count = b->version = 0;
    bc_text_init(&b->text, NULL);
}

static void run_unit(driver *d, size_t aim_index, size_t first)
{
    enum { OPEN = 4 };
    const aim *to = &d->aims[aim_index];
    bundle *open = calloc(OPEN, sizeof *open);
    for (size_t k = 0; open && k < OPEN; k++)
        bc_text_init(&open[k].text, NULL);
    for (size_t i = first; open && i < first + CHUNK && i < d->cases.count; i++) {
        const corpus_case *c = &d->cases.cases[i];
        if (c->outcome == CASE_INVALID || !c->file[MINOR - 1] || !part_has(d->part, i + aim_index)
            || (d->filter && !strstr(c->name, d->filter)))
            continue;
        bc_text text;
        bc_text_init(&text, NULL);
        if (!compile(d, c, to->target, &text)) {
            bc_text_release(&text);
            continue;
        }
        size_t k = 0;
        while (k < OPEN && !add_to_bundle(&open[k], i, &text))
            k++;
        if (k == OPEN) { /* each has one of its names: the first makes room */
            assemble_bundle(d, &open[0], to);
            add_to_bundle(&open[0], i, &text);
        }
    }
    for (size_t k = 0; open && k < OPEN; k++)
        if (open[k].count)
            assemble_bundle(d, &open[k], to);
    free(open);
}

static void *work(void *user)
{
    driver *d = user;
    for (size_t unit; (unit = atomic_fetch_add(&d->next, 1)) < d->aim_count * d->chunks;)
        run_unit(d, unit % d->aim_count, unit / d->aim_count * CHUNK);
    return NULL;
}

/* Does this ptxas take modules for the target in the PTX version that the table gives it? */
static bool takes_target(const cg_target *t)
{
    char empty[100];
    int len = snprintf(empty, sizeof empty, ".version %u.%u\n.target %s\n.address_size 64\n", t->ptx / 10u,
                       t->ptx % 10u, t->name);
    return harness_ptxas_quietly(empty, (size_t)len, t->name);
}

static void add_aim(driver *d, const char *arch, const cg_target *target)
{
    if ((d->only && strcmp(d->only, arch) != 0) || d->aim_count == MOST_TARGETS)
        return;
    aim *to = &d->aims[d->aim_count++];
    to->target = target;
    snprintf(to->arch, sizeof to->arch, "%s", arch);
}

static void find_aims(driver *d)
{
    harness_target listed[MOST_TARGETS];
    size_t count = harness_ptxas_targets(listed, MOST_TARGETS);
    for (size_t i = 0; cg_target_at(i); i++) {
        const cg_target *t = cg_target_at(i);
        if (takes_target(t))
            add_aim(d, t->name, t);
        else
            printf("%s with PTX %u.%u is not known to this ptxas\n", t->name, t->ptx / 10u, t->ptx % 10u);
    }
    for (size_t i = 0; i < count; i++) {
        const char *nearest = tv_target_for((unsigned)strtoul(listed[i] + 3, NULL, 10), false, 0);
        if (!nearest || cg_target_find(bc_str(listed[i])))
            continue;
        printf("%s is not in the table: it gets the code of %s\n", listed[i], nearest);
        add_aim(d, listed[i], cg_target_find(bc_str(nearest)));
    }
}

static bool parse(driver *d, int argc, char **argv)
{
    int i = 3;
    if (argc < 3)
        return false;
    d->folder = argv[1];
    for (; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--part") == 0) {
            if (!part_read(argv[i + 1], &d->part))
                return false;
        } else if (strcmp(argv[i], "--jobs") == 0)
            d->jobs = (unsigned)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--filter") == 0)
            d->filter = argv[i + 1];
        else if (strcmp(argv[i], "--target") == 0)
            d->only = argv[i + 1];
        else
            return false;
    return i == argc && d->jobs >= 1 && d->jobs <= MAX_JOBS;
}

int main(int argc, char **argv)
{
    driver d = {.part = PART_ALL, .jobs = 1};
    if (!parse(&d, argc, argv)) {
        fprintf(stderr, "usage: assemble FOLDER NEEDS [--part I/N] [--jobs N] [--filter TEXT] [--target NAME]\n");
        return 2;
    }
    if (!harness_has_ptxas()) {
        printf("ptxas: skipped, there is no ptxas\n");
        return 0;
    }
    if (!cases_read(d.folder, &d.cases) || !cases_read_needs(argv[2], &d.cases))
        return 2;
    find_aims(&d);
    d.chunks = (d.cases.count + CHUNK - 1) / CHUNK;
    pthread_t threads[MAX_JOBS];
    unsigned started = 0;
    while (started + 1 < d.jobs && pthread_create(&threads[started], NULL, work, &d) == 0)
        started++;
    work(&d);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    unsigned passed = atomic_load(&d.passed), failed = atomic_load(&d.failed);
    cases_release(&d.cases);
    printf("ptxas: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
