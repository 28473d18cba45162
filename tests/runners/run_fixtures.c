/* Runs fixture files against a tilevm binary and compares what it prints with what the fixture expects.

     run_fixtures --tool PATH --work FOLDER [--rules FOLDER] [--part I/N] [--update] [-j N] PATH...

   PATH is a .test file or a folder that is searched for them. A fixture in a folder named `rules` shows one rule, any
   other is general; tests/README.md has both formats. Each fixture runs in a folder of its own below --work, so that
   the tool sees short, stable names; the fixtures run side by side in N threads.

   --rules    also check that every rule of the rule table has a fixture in this folder, or a line in its file
              UNREACHABLE.txt; every rule without one counts as failed
   --part     every Nth of the fixtures, from the one with number I on
   --update   rewrite the expected outputs of fixtures that differ; exit codes and rule ids must still be right

   The last line is `fixtures: N passed, N failed`. Exit status 0 when all passed, 1 when not, 2 for wrong usage. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/files.h"
#include "tests/common/fixture_files.h"
#include "tests/common/part.h"
#include "tests/common/process.h"
#include "tilevm/tilevm.h"

enum { TIMEOUT_SECONDS = 120, MOST_MIB = 1024, MESSAGE_SIZE = 8192 };

typedef struct options {
    char tool[4096]; /* absolute: the tool runs in other folders */
    const char *work;
    const char *rules;
    bool update;
    test_part part;
    unsigned threads;
} options;

/* One fixture being run. */
typedef struct test {
    const char *path;
    const options *options;
    char folder[1024]; /* where it runs */
    fixture fixture;
    bool failed, changed;
    char message[MESSAGE_SIZE];
    size_t message_len;
} test;

typedef struct queue {
    test *tests;
    size_t count;
    atomic_size_t next;
} queue;

/* ---- messages ---- */

static void say(test *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->message + t->message_len, MESSAGE_SIZE - t->message_len, format, args);
    va_end(args);
    if (n > 0)
        t->message_len += (size_t)n < MESSAGE_SIZE - t->message_len ? (size_t)n : MESSAGE_SIZE - t->message_len - 1;
}

/* ---- comparing ---- */

/* Does text match pattern, where {*} stands for any characters up to the end of a line? A last newline that only the
   pattern has is ignored, because a section always ends in one. */
static bool matches(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
    const char *p = pattern, *p_end = pattern + pattern_len, *s = text, *s_end = text + text_len;
    const char *retry_p = NULL, *retry_s = NULL;
    for (;;) {
        if (p_end - p >= 3 && memcmp(p, "{*}", 3) == 0) {
            p += 3;
            retry_p = p;
            retry_s = s;
        } else if (p < p_end && s < s_end && *p == *s) {
            p++;
            s++;
        } else if (s == s_end && (p == p_end || (p + 1 == p_end && *p == '\n'))) {
            return true;
        } else if (retry_p && retry_s < s_end && *retry_s != '\n') {
            p = retry_p;
            s = ++retry_s;
        } else {
            return false;
        }
    }
}

/* Shows the first line in which found differs from expected. */
static void say_difference(test *t, const char *what, const char *expected, size_t expected_len, const char *found,
                           size_t found_len)
{
    size_t line_start = 0, line = 1, i = 0;
    for (; i < expected_len && i < found_len && expected[i] == found[i]; i++)
        if (expected[i] == '\n') {
            line_start = i + 1;
            line++;
        }
    const char *e_stop = memchr(expected + line_start, '\n', expected_len - line_start);
    const char *f_stop = memchr(found + line_start, '\n', found_len - line_start);
    size_t e = e_stop ? (size_t)(e_stop - expected) : expected_len, f = f_stop ? (size_t)(f_stop - found) : found_len;
    say(t, "  %s differs, first in line %zu\n    expected: %.*s\n    found:    %.*s\n", what, line,
        (int)(e - line_start), expected + line_start, (int)(f - line_start), found + line_start);
}

/* Compares an output with section number `section` (-1: expected empty); with --update takes it over. Gives the
   section's index, which is `at` for one that was added. */
static int check_text(test *t, int section, const char *kind, int at, const char *found, size_t found_len)
{
    fixture *f = &t->fixture;
    const char *expected = section >= 0 ? f->sections[section].text : "";
    size_t expected_len = section >= 0 ? f->sections[section].len : 0;
    if (strlen(found) != found_len) {
        t->failed = true;
        say(t, "  %s holds zero bytes\n", kind);
        return section;
    }
    if (matches(expected, expected_len, found, found_len))
        return section;
    if (!t->options->update) {
        t->failed = true;
        say_difference(t, kind, expected, expected_len, found, found_len);
        return section;
    }
    char *text = malloc(found_len + 2);
    bool newline = found_len && found[found_len - 1] != '\n';
    if (text) {
        memcpy(text, found, found_len);
        memcpy(text + found_len, newline ? "\n" : "", newline ? 2 : 1);
    }
    if (!text || !fixture_replace(f, section, kind, at, text)) {
        t->failed = true;
        say(t, "  no room for a new %s\n", kind);
    } else {
        t->changed = true;
        section = section < 0 ? at : section;
    }
    free(text);
    return section;
}

/* ---- running the tool ---- */

/* Runs the tool; false (with a message) when it did not end by itself, not with status `expect` (-1: any), or took too
   much memory. */
static bool run_tool(test *t, char *const args[], int arg_count, const char *stdin_name, int expect,
                     process_result *out_result)
{
    char *argv[FIXTURE_MAX_ARGS + 8] = {(char *)(uintptr_t)t->options->tool};
    for (int i = 0; i < arg_count; i++)
        argv[i + 1] = args[i];
    if (!process_run(t->folder, argv, stdin_name, TIMEOUT_SECONDS, out_result)) {
        say(t, "  cannot run %s: %s\n", argv[0], strerror(errno));
        t->failed = true;
        return false;
    }
    bool too_large = out_result->peak_kib / 1024 > MOST_MIB;
    if (!too_large && out_result->exit_code >= 0 && (expect < 0 || out_result->exit_code == expect))
        return true;
    t->failed = true;
    say(t, "  tilevm");
    for (int i = 0; i < arg_count; i++)
        say(t, " %s", args[i]);
    if (too_large)
        say(t, ": took %ld MiB of memory, and %d are allowed", out_result->peak_kib / 1024, MOST_MIB);
    else if (out_result->signal)
        say(t, ": ended by signal %d%s", out_result->signal, out_result->signal == 14 ? " (out of time)" : "");
    else
        say(t, ": exit status %d, expected %d", out_result->exit_code, expect);
    say(t, "\n%.1500s%.1500s", out_result->out, out_result->err);
    return false;
}

/* ---- files of a fixture ---- */

/* ok, or the message of the fixture's error. */
static bool wrote(test *t, bool ok)
{
    if (ok)
        return true;
    say(t, "  %s\n", t->fixture.error);
    t->failed = true;
    return false;
}

static bool make_folder(test *t)
{
    if (fixture_make_folder(t->options->work, t->path, t->folder, sizeof t->folder))
        return true;
    say(t, "  cannot make the folder %s: %s\n", t->folder, strerror(errno));
    t->failed = true;
    return false;
}

/* ---- general fixtures ---- */

/* Appends; NULL when out of memory (and frees). */
static char *append(char *text, size_t *len, const char *more, size_t more_len)
{
    char *larger = realloc(text, *len + more_len + 1);
    if (!larger) {
        free(text);
        return NULL;
    }
    if (more_len)
        memcpy(larger + *len, more, more_len);
    *len += more_len;
    larger[*len] = 0;
    return larger;
}

static void check_output_files(test *t)
{
    fixture *f = &t->fixture;
    for (int i = fixture_find(f, "output", 0); i >= 0; i = fixture_find(f, "output", i + 1)) {
        char path[1280];
        size_t len;
        snprintf(path, sizeof path, "%s/%s", t->folder, f->sections[i].name);
        char *text = files_read(path, &len);
        if (!text) {
            t->failed = true;
            say(t, "  output file %s: %s\n", f->sections[i].name, strerror(errno));
            continue;
        }
        check_text(t, i, "output", i, text, len);
        free(text);
    }
}

static void run_general(test *t)
{
    fixture *f = &t->fixture;
    if (f->run_count == 0) {
        t->failed = true;
        say(t, "  no line '# RUN ... EXPECT status'\n");
        return;
    }
    const char *stdin_name;
    if (!wrote(t, fixture_write_inputs(f, t->folder, &stdin_name)))
        return;
    char *out = calloc(1, 1), *err = calloc(1, 1);
    size_t out_len = 0, err_len = 0;
    for (int i = 0; i < f->run_count && out && err; i++) {
        process_result r;
        const fixture_run *run = &f->runs[i];
        if (run_tool(t, run->args, run->arg_count, stdin_name, run->exit_code < 0 ? 0 : run->exit_code, &r)) {
            out = append(out, &out_len, r.out, r.out_len);
            err = append(err, &err_len, r.err, r.err_len);
        }
        process_release(&r);
    }
    if (!t->failed && out && err) {
        check_text(t, fixture_find(f, "stdout", 0), "stdout", f->section_count, out, out_len);
        check_text(t, fixture_find(f, "stderr", 0), "stderr", f->section_count, err, err_len);
        check_output_files(t);
    }
    free(out);
    free(err);
}

/* ---- rule fixtures ---- */

/* The id of the first finding in a diagnostic text: what stands between `error[` or `warning[` and `]`. */
static void first_rule(const char *text, char *out, size_t out_size)
{
    const char *error = strstr(text, ": error["), *warning = strstr(text, ": warning[");
    const char *p = !error || (warning && warning < error) ? warning : error;
    out[0] = 0;
    if (!p)
        return;
    p = strchr(p, '[') + 1;
    size_t len = strcspn(p, "]\n");
    snprintf(out, out_size, "%.*s", (int)len, p);
}

/* Arguments of the command that checks an example: the fixture's RUN line or the usual command for the letter of
   the rule, the section's flags, the file. A word % stands for the file, which otherwise comes last. */
static int example_command(const test *t, const fixture_section *s, fixture_run *flags, char *file, char **out_args)
{
    const fixture *f = &t->fixture;
    int n = 0;
    bool placed = false;
    if (f->run_count == 0) {
        out_args[n++] = (char *)(uintptr_t) "verify";
    } else {
        for (int i = 0; i < f->runs[0].arg_count; i++) {
            bool here = strcmp(f->runs[0].args[i], "%") == 0;
            out_args[n++] = here ? file : f->runs[0].args[i];
            placed |= here;
        }
    }
    if (fixture_split(s->flags, strlen(s->flags), flags))
        for (int i = 0; i < flags->arg_count && n < FIXTURE_MAX_ARGS - 1; i++)
            out_args[n++] = flags->args[i];
    if (!placed)
        out_args[n++] = file;
    return n;
}

/* Is the example given to the command as text, not as bytecode? So for rules about the text itself. */
static bool is_text_rule(const char *id)
{
    return id[0] == 'A';
}

/* Writes the example's file and gives its name. Text is assembled first, unless the rule is about text. */
static bool prepare_example(test *t, const fixture_section *s, const char *id, char *file, size_t file_size)
{
    const char *stem = s->name[0] ? s->name : s->kind;
    char source[128];
    snprintf(source, sizeof source, "%s.%s", stem, s->is_bytes ? "tbc" : "tir");
    if (!wrote(t, fixture_write_section(&t->fixture, s, t->folder, source)))
        return false;
    snprintf(file, file_size, "%s", source);
    if (s->is_bytes || is_text_rule(id))
        return true;
    snprintf(file, file_size, "%s.tbc", stem);
    char to[24];
    snprintf(to, sizeof to, "%s", s->to);
    char *args[] = {(char *)(uintptr_t) "asm", source, (char *)(uintptr_t) "-o", file, (char *)(uintptr_t) "--to", to};
    process_result r;
    bool ok = run_tool(t, args, to[0] ? 6 : 4, NULL, 0, &r);
    process_release(&r);
    return ok;
}

static bool is_warning_rule(const char *id)
{
    const tv_rule *rule = tv_rule_find(id);
    return rule && rule->severity != TV_ERROR;
}

static int usual_exit(const fixture_section *s, const char *id, bool bad)
{
    if (s->exit_code >= 0)
        return s->exit_code;
    return bad && !is_warning_rule(id) ? 1 : 0;
}

/* What the tool reported: its standard error. The line that counts goes to standard output. NULL when out of memory. */
static char *report_of(const process_result *r)
{
    size_t len = 0;
    return append(NULL, &len, r->err, r->err_len);
}

static void check_report(test *t, int section, const char *id, bool bad, const char *report)
{
    fixture *f = &t->fixture;
    char found[64], quoted[80];
    first_rule(report, found, sizeof found);
    snprintf(quoted, sizeof quoted, "[%s]", id);
    if (bad && strcmp(found, id) != 0) {
        t->failed = true;
        say(t, "  %s: reports %s first, expected %s\n%.1500s", f->sections[section].kind, found[0] ? found : "no rule",
            id, report);
    } else if (!bad && strstr(report, quoted)) {
        t->failed = true;
        say(t, "  the good example breaks the rule\n%.1500s", report);
    } else if (bad) {
        int next = section + 1;
        bool has = next < f->section_count && strcmp(f->sections[next].kind, "report") == 0;
        check_text(t, has ? next : -1, "report", next, report, strlen(report));
    }
}

/* A bad example must end with status 1, report its rule first, and print the text that follows it. A good one must
   end with status 0 and not mention the rule. */
static void run_example(test *t, int section, const char *id, bool bad)
{
    const fixture_section s = t->fixture.sections[section];
    char file[128], *args[FIXTURE_MAX_ARGS * 2];
    if (!prepare_example(t, &s, id, file, sizeof file))
        return;
    fixture_run flags = {0};
    int arg_count = example_command(t, &s, &flags, file, args);
    process_result r;
    if (run_tool(t, args, arg_count, NULL, usual_exit(&s, id, bad), &r)) {
        char *report = report_of(&r);
        if (report)
            check_report(t, section, id, bad, report);
        free(report);
    }
    process_release(&r);
    for (int i = 0; i < flags.arg_count; i++)
        free(flags.args[i]);
}

/* The rule a fixture is about: its file name without the suffix. */
static void rule_of_path(const char *path, char *out, size_t out_size)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, out_size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(out, '.');
    if (dot)
        *dot = 0;
}

static void run_rule(test *t)
{
    char id[64];
    rule_of_path(t->path, id, sizeof id);
    if (!tv_rule_find(id)) {
        t->failed = true;
        say(t, "  there is no rule %s\n", id);
        return;
    }
    int bad = 0, good = 0;
    for (int i = 0; i < t->fixture.section_count; i++) {
        bool is_bad = strcmp(t->fixture.sections[i].kind, "bad") == 0;
        bool is_good = strcmp(t->fixture.sections[i].kind, "good") == 0;
        bad += is_bad;
        good += is_good;
        if (is_bad || is_good)
            run_example(t, i, id, is_bad);
    }
    if (!bad || !good) {
        t->failed = true;
        say(t, "  needs at least one '--- bad' and one '--- good' section\n");
    }
}

/* ---- all of them ---- */

static bool in_rules_folder(const char *path)
{
    return strstr(path, "/rules/") || strncmp(path, "rules/", 6) == 0;
}

static void run_test(test *t)
{
    if (!fixture_open(t->path, &t->fixture)) {
        t->failed = true;
        say(t, "  %s\n", t->fixture.error);
    } else if (make_folder(t)) {
        if (in_rules_folder(t->path))
            run_rule(t);
        else
            run_general(t);
        if (t->changed && !t->failed && !fixture_save(&t->fixture, t->path)) {
            t->failed = true;
            say(t, "  cannot be written: %s\n", strerror(errno));
        }
    }
    fixture_release(&t->fixture);
}

static void *worker(void *arg)
{
    queue *q = arg;
    for (size_t i; (i = atomic_fetch_add(&q->next, 1)) < q->count;)
        run_test(&q->tests[i]);
    return NULL;
}

static void run_all(queue *q, unsigned threads)
{
    pthread_t ids[64];
    unsigned started = 0;
    while (started + 1 < threads && pthread_create(&ids[started], NULL, worker, q) == 0)
        started++;
    worker(q);
    for (unsigned i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
}

/* Is there a line in UNREACHABLE.txt that starts with the id, followed by a reason? */
static bool is_unreachable(const char *list, const char *id)
{
    size_t len = strlen(id);
    for (const char *line = list; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, id, len) == 0 && line[len] == ' ' && strcspn(line + len, "\n") > 10)
            return true;
    return false;
}

/* Every rule has a fixture or a reason for having none, and not both. Gives the number of rules without. */
static size_t check_rules(const options *o)
{
    char path[1024];
    size_t missing = 0, len;
    snprintf(path, sizeof path, "%s/UNREACHABLE.txt", o->rules);
    char *list = files_read(path, &len);
    for (size_t i = 0; tv_rule_at(i); i++) {
        const char *id = tv_rule_at(i)->id;
        snprintf(path, sizeof path, "%s/%s.test", o->rules, id);
        bool has = access(path, R_OK) == 0, listed = list && is_unreachable(list, id);
        if (has != listed)
            continue;
        if (missing++ == 0)
            printf("FAILED %s: rules without a fixture, or with one and listed in UNREACHABLE.txt:\n ", o->rules);
        printf(" %s", id);
    }
    if (missing)
        putchar('\n');
    free(list);
    return missing;
}

static int report(const queue *q, size_t missing)
{
    size_t failed = missing, changed = 0;
    for (size_t i = 0; i < q->count; i++) {
        const test *t = &q->tests[i];
        failed += t->failed;
        changed += t->changed && !t->failed;
        if (t->failed)
            printf("FAILED %s\n%s", t->path, t->message);
        else if (t->changed)
            printf("updated %s\n", t->path);
    }
    if (changed)
        printf("%zu fixtures have new expectations: read the difference before you commit it\n", changed);
    printf("fixtures: %zu passed, %zu failed\n", q->count + missing - failed, failed);
    return failed != 0;
}

static int usage(void)
{
    fputs("usage: run_fixtures --tool PATH --work FOLDER [--rules FOLDER] [--part I/N] [--update] [-j N] PATH...\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    options o = {.part = PART_ALL, .threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
    char **paths = NULL;
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--tool") == 0 && more) {
            char *full = realpath(argv[++i], NULL);
            if (!full || strlen(full) >= sizeof o.tool)
                return perror(argv[i]), 2;
            memcpy(o.tool, full, strlen(full) + 1);
            free(full);
        } else if (strcmp(argv[i], "--work") == 0 && more) {
            o.work = argv[++i];
        } else if (strcmp(argv[i], "--rules") == 0 && more) {
            o.rules = argv[++i];
        } else if (strcmp(argv[i], "--update") == 0) {
            o.update = true;
        } else if (strcmp(argv[i], "--part") == 0 && more) {
            if (!part_read(argv[++i], &o.part))
                return usage();
        } else if (strcmp(argv[i], "-j") == 0 && more) {
            o.threads = (unsigned)atoi(argv[++i]);
        } else if (argv[i][0] == '-') {
            return usage();
        } else if (!files_find(argv[i], ".test", &paths, &count)) {
            return perror(argv[i]), 2;
        }
    }
    if (!o.tool[0] || !o.work || !count)
        return usage();
    if (mkdir(o.work, 0777) != 0 && errno != EEXIST)
        return perror(o.work), 2;
    process_mark_sanitizers();
    setenv("CUDA_VISIBLE_DEVICES", "", 1); /* `tilevm run` shall not take a GPU that happens to be there */
    o.threads = o.threads < 1 ? 1 : o.threads > 64 ? 64 : o.threads;
    queue q = {.tests = calloc(count, sizeof(test)), .count = count};
    if (!q.tests)
        return perror("run_fixtures"), 2;
    q.count = 0;
    for (size_t i = 0; i < count; i++)
        if (part_has(o.part, i))
            q.tests[q.count++] = (test){.path = paths[i], .options = &o};
    run_all(&q, o.threads);
    int status = report(&q, o.rules ? check_rules(&o) : 0);
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    free(q.tests);
    return status;
}
