/* Runs the commands of fixtures over and over, each time with another allocation failing (oom/allocations.c is linked
   into the tool). Each run must come to what it comes to otherwise, or say "out of memory" with the exit code for that;
   the files that it leaves are whole, and no others.

     oom --tool PATH --work FOLDER [--exit N] [--most N] PATH...

   --exit   the exit code of running out of memory, 2 by default
   --most   try at most so many allocations of a command, of those with different callers, one half alone and one half
            with all that follow. Without it every allocation is tried in both ways.

   PATH is a .test file or a folder that is searched for them; what they expect is not looked at. The last line is
   `oom: N passed, N failed`. Exit status 0 when all passed, 1 when not, 2 for wrong usage. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/files.h"
#include "tests/common/fixture_files.h"
#include "tests/common/process.h"

enum { TIMEOUT_SECONDS = 120, MOST_SHOWN = 1500 };

typedef struct options {
    char *tool; /* absolute */
    char *work;
    int exit_code;
    size_t most; /* 0: every allocation, in both ways */
} options;

typedef struct stored_file {
    char *path, *bytes;
    size_t size;
} stored_file;

/* The files of a folder. */
typedef struct state {
    stored_file *files;
    size_t count;
} state;

/* One command: what it comes to when nothing fails, and the files before and after. */
typedef struct command {
    const options *options;
    const char *fixture, *folder, *stdin_name;
    char *argv[FIXTURE_MAX_ARGS + 2];
    process_result expected;
    state before, after;
} command;

static unsigned passed, failed;

static void *needed(void *memory)
{
    if (memory)
        return memory;
    fputs("oom: out of memory\n", stderr);
    exit(2);
}

/* ---- the folder ---- */

static state state_take(const char *folder)
{
    state s = {0};
    char **paths = NULL;
    size_t count = 0;
    files_find(folder, "", &paths, &count);
    s.files = needed(calloc(count + 1, sizeof *s.files));
    for (size_t i = 0; i < count; i++) {
        stored_file *file = &s.files[s.count];
        file->path = paths[i];
        file->bytes = files_read(paths[i], &file->size);
        s.count += file->bytes != NULL;
    }
    free(paths);
    return s;
}

static void state_release(state *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->files[i].path);
        free(s->files[i].bytes);
    }
    free(s->files);
    *s = (state){0};
}

static const stored_file *state_find(const state *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->files[i].path, path) == 0)
            return &s->files[i];
    return NULL;
}

static bool holds(const state *s, const stored_file *file)
{
    const stored_file *other = state_find(s, file->path);
    return other && other->size == file->size && memcmp(other->bytes, file->bytes, file->size) == 0;
}

/* Are all files written, and those that go gone? The cache may lack an entry: a run does without one. */
static bool is_done(const state *now, const state *after)
{
    size_t found = 0;
    for (size_t i = 0; i < after->count; i++)
        if (holds(now, &after->files[i]))
            found++;
        else if (!strstr(after->files[i].path, "/cache/"))
            return false;
    return found == now->count;
}

/* Writes a file again, and the folder of its own that it may have been in. */
static void put_back(const stored_file *file)
{
    char *slash = strrchr(file->path, '/');
    if (slash) {
        *slash = 0;
        mkdir(file->path, 0700);
        *slash = '/';
    }
    if (!files_write(file->path, file->bytes, file->size))
        fprintf(stderr, "%s: cannot be put back: %s\n", file->path, strerror(errno));
}

/* Makes the folder, which is as in now, what it is in wanted. */
static void state_restore(const state *wanted, const state *now)
{
    for (size_t i = 0; i < now->count; i++)
        if (!state_find(wanted, now->files[i].path))
            unlink(now->files[i].path);
    for (size_t i = 0; i < wanted->count; i++)
        if (!holds(now, &wanted->files[i]))
            put_back(&wanted->files[i]);
}

static bool says_so(const char *text)
{
    return strstr(text, "out of memory") || strstr(text, "OUT_OF_MEMORY");
}

/* A file that is neither as it was nor as it is to be must say why; or, where the run failed and said why itself, be
   the document of a command that got nothing done. */
static bool is_refusal(const char *bytes, const process_result *r)
{
    return says_so(bytes) || (r->exit_code != 0 && says_so(r->err) && bytes && strstr(bytes, "\"problem\":"));
}

/* Every file as it was or as it is to be, or a report that tells, none gone that stays. */
static bool files_are_whole(const command *c, const process_result *r, const state *now)
{
    for (size_t i = 0; i < now->count; i++)
        if (!holds(&c->before, &now->files[i]) && !holds(&c->after, &now->files[i])
            && !is_refusal(now->files[i].bytes, r))
            return false;
    for (size_t i = 0; i < c->before.count; i++) {
        const char *path = c->before.files[i].path;
        if (!state_find(now, path) && state_find(&c->after, path))
            return false;
    }
    return true;
}

/* ---- what a run came to ---- */

/* The length of what another run has otherwise at the start of s: a time such as "12.5 ms", an address, a number that
   is as long as one, how many threads there was memory for and what these took, how much of the cache is in use; 0:
   there is none. */
static size_t chance_at(const char *s)
{
    enum { ADDRESS_DIGITS = 12 };
    size_t n = strspn(s, "0123456789."), digits = strncmp(s, "0x", 2) == 0 ? strspn(s + 2, "0123456789abcdef") : 0;
    if (digits >= ADDRESS_DIGITS)
        return digits + 2;
    if (!n || n >= ADDRESS_DIGITS || strncmp(s + n, " threads", 8) == 0 || strncmp(s + n, " bytes in all", 13) == 0
        || strncmp(s + n, " of ", 4) == 0)
        return n;
    if (strncmp(s + n, " entr", 5) == 0) /* entry, entries */
        return n + 1 + strspn(s + n + 1, "entriesy");
    n += s[n] == ' ';
    n += strchr("mun", s[n]) && s[n] ? 1 : 0;
    return s[n] == 's' && !isalnum((unsigned char)s[n + 1]) ? n + 1 : 0;
}

/* Are the texts the same but for that? */
static bool same_text(const char *a, const char *b)
{
    while (*a && *b) {
        size_t in_a = chance_at(a), in_b = chance_at(b);
        if (!(in_a && in_b) && *a != *b)
            return false;
        a += in_a && in_b ? in_a : 1;
        b += in_a && in_b ? in_b : 1;
    }
    return *a == *b;
}

/* NULL, or what is wrong with a run and the files that it left. */
static const char *judge(const command *c, const process_result *r, const state *now)
{
    bool says = says_so(r->err) || says_so(r->out);
    for (size_t i = 0; i < now->count; i++)
        says = says || says_so(now->files[i].bytes);
    if (r->signal)
        return r->signal == 14 ? "out of time" : "ended by a signal";
    if (!files_are_whole(c, r, now))
        return "left a file that is not whole";
    if (says && r->exit_code == c->options->exit_code)
        return NULL;
    if (r->exit_code != c->expected.exit_code)
        return says ? "another exit code than that of running out of memory" : "does not say why it failed";
    if (!same_text(r->out, c->expected.out) && !says_so(r->out) && !(says && r->exit_code != 0))
        return "prints something else, as if that was all";
    if (!says && !same_text(r->err, c->expected.err))
        return "says something else";
    return says || is_done(now, &c->after) ? NULL : "did not write its files, as if it had";
}

static void say_wrong(const command *c, const char *which, const char *problem, const process_result *r)
{
    fprintf(stderr, "%s: allocation %s:", c->fixture, which);
    for (size_t i = 1; c->argv[i]; i++)
        fprintf(stderr, " %s", c->argv[i]);
    fprintf(stderr, "\n  %s: exit status %d (%d expected), signal %d\n", problem, r->exit_code, c->expected.exit_code,
            r->signal);
    fprintf(stderr, "%.*s%.*s", MOST_SHOWN, r->out, MOST_SHOWN, r->err);
}

static bool start(const command *c, process_result *out_result)
{
    if (process_run(c->folder, c->argv, c->stdin_name, TIMEOUT_SECONDS, out_result))
        return true;
    fprintf(stderr, "%s: cannot run %s: %s\n", c->fixture, c->argv[0], strerror(errno));
    failed++;
    return false;
}

static void try_one(const command *c, size_t n, bool onwards)
{
    char which[32];
    process_result result;
    snprintf(which, sizeof which, "%zu%s", n, onwards ? "+" : "");
    setenv("FAIL_ALLOCATION", which, 1);
    if (start(c, &result)) {
        state now = state_take(c->folder);
        const char *problem = judge(c, &result, &now);
        if (problem) {
            say_wrong(c, which, problem, &result);
            failed++;
        } else {
            passed++;
        }
        state_restore(&c->before, &now);
        state_release(&now);
        process_release(&result);
    }
    unsetenv("FAIL_ALLOCATION");
}

/* ---- which allocations ---- */

/* The numbers of allocations, from 1, whose callers are none of an earlier one's; out_all counts all. */
static size_t *find_distinct(const char *list, size_t *out_count, size_t *out_all)
{
    enum { TABLE = 1 << 14 }; /* what is beyond counts as seen */
    unsigned long long *seen = needed(calloc(TABLE, sizeof *seen));
    size_t *distinct = needed(calloc(TABLE, sizeof *distinct)), count = 0, n = 0;
    for (char *end; *list; list = end + (*end == '\n')) {
        unsigned long long callers = strtoull(list, &end, 16);
        if (end == list)
            break;
        n++;
        size_t at = 0;
        while (at < count && seen[at] != callers)
            at++;
        if (at < count || count == TABLE)
            continue;
        seen[count] = callers;
        distinct[count++] = n;
    }
    free(seen);
    *out_count = count;
    *out_all = n;
    return distinct;
}

static void try_each(const command *c, const char *list)
{
    size_t count, all, most = c->options->most;
    size_t *distinct = find_distinct(list, &count, &all);
    for (size_t n = 1; most == 0 && n <= all; n++) {
        try_one(c, n, false);
        try_one(c, n, true);
    }
    size_t tried = count < most ? count : most;
    for (size_t i = 0; i < tried; i++)
        try_one(c, distinct[i * count / tried], i % 2 != 0);
    free(distinct);
}

/* ---- fixtures ---- */

static void run_command(command *c)
{
    char list_path[4200];
    size_t size;
    snprintf(list_path, sizeof list_path, "%s/.allocations", c->folder);
    unlink(list_path);
    setenv("LIST_ALLOCATIONS", ".allocations", 1);
    c->before = state_take(c->folder);
    bool started = start(c, &c->expected);
    unsetenv("LIST_ALLOCATIONS");
    if (!started)
        return;
    c->after = state_take(c->folder);
    char *list = files_read(list_path, &size);
    if (list) {
        state_restore(&c->before, &c->after);
        try_each(c, list);
        state_restore(&c->after, &c->before);
    } else {
        fprintf(stderr, "%s: the tool does not list its allocations\n", c->fixture);
        failed++;
    }
    free(list);
    state_release(&c->before);
    state_release(&c->after);
    process_release(&c->expected);
}

static void run_fixture(const options *o, const char *path)
{
    fixture f;
    char folder[1024], place[1100];
    const char *stdin_name = NULL;
    if (!fixture_open(path, &f) || !fixture_make_folder(o->work, path, folder, sizeof folder)
        || !fixture_write_inputs(&f, folder, &stdin_name)) {
        fprintf(stderr, "%s: %s\n", path, f.error[0] ? f.error : strerror(errno));
        failed++;
        f.run_count = 0;
    }
    snprintf(place, sizeof place, "%s/cache", folder);
    setenv("TILEVM_CACHE_DIR", place, 1);
    setenv("HOME", folder, 1);
    for (int i = 0; i < f.run_count; i++) {
        command c = {.options = o, .fixture = path, .folder = folder, .stdin_name = stdin_name};
        c.argv[0] = (char *)(uintptr_t)o->tool;
        memcpy(&c.argv[1], f.runs[i].args, (size_t)f.runs[i].arg_count * sizeof c.argv[0]);
        run_command(&c);
    }
    fixture_release(&f);
}

static int usage(void)
{
    fputs("usage: oom --tool PATH --work FOLDER [--exit N] [--most N] PATH...\n", stderr);
    return 2;
}

/* The absolute path: commands run in other folders. */
static char *absolute(const char *path)
{
    char *whole = realpath(path, NULL);
    if (!whole)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return whole;
}

int main(int argc, char **argv)
{
    options o = {.exit_code = 2};
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--tool") == 0)
            o.tool = absolute(argv[i + 1]);
        else if (strcmp(argv[i], "--work") == 0)
            o.work = absolute(argv[i + 1]);
        else if (strcmp(argv[i], "--exit") == 0)
            o.exit_code = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--most") == 0)
            o.most = strtoul(argv[i + 1], NULL, 10);
        else
            return usage();
    }
    if (!o.tool || !o.work || i == argc)
        return usage();
    char **paths = NULL;
    size_t count = 0;
    for (; i < argc; i++)
        if (!files_find(argv[i], ".test", &paths, &count)) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 2;
        }
    process_mark_sanitizers();
    for (size_t k = 0; k < count; k++) {
        run_fixture(&o, paths[k]);
        free(paths[k]);
    }
    free(paths);
    free(o.tool);
    free(o.work);
    printf("oom: %u passed, %u failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
