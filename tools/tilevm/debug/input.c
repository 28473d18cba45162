/* Where command lines come from: a terminal, edited by libedit where it is installed; a pipe; files. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tilevm/debug/answer.h"

#define PROMPT "(tilevm) "
enum { HISTORY = 1000 };

/* ---- doing a line ---- */

static void show(debug_session *s, bc_text *out)
{
    cli_show(stdout, out->failed ? bc_str("out of memory\n") : bc_text_get(out), s->color);
    fflush(stdout);
}

void debug_do_line(debug_session *s, const char *line)
{
    bc_text out;
    vm_debug_error error;
    bc_text_init(&out, NULL);
    bool good = debug_do(s, bc_str(line), &out, &error);
    if (!good) {
        bc_text_printf(&out, "%serror: ", s->color ? "\033[31m" : "");
        bc_text_puts(&out, error.text);
        bc_text_printf(&out, "%s\n", s->color ? "\033[0m" : "");
        s->failed = true;
    }
    show(s, &out);
    bc_text_release(&out);
}

/* Prints an object for a line, but for an empty one or a comment. */
static void answer_line(debug_session *s, const char *line)
{
    json_doc doc, *outer = s->answer;
    bc_text text;
    vm_debug_error error;
    if (debug_is_blank(debug_trim(bc_str(line))))
        return;
    bc_text_init(&text, NULL);
    debug_answer_begin(s, &doc);
    json_text(&doc, doc.root, "command", line);
    bool good = debug_do(s, bc_str(line), &text, &error);
    debug_answer_end(s, good ? NULL : error.text, &text);
    bc_text_release(&text);
    s->answer = outer;
    s->failed |= !good;
}

/* Lines from a file or a pipe are shown, so that the output can be read by itself. */
void debug_do_shown_line(debug_session *s, const char *line)
{
    if (s->json) {
        answer_line(s, line);
        return;
    }
    cli_print(stdout, PROMPT "%s\n", line);
    debug_do_line(s, line);
}

/* ---- files and pipes ---- */

static void read_lines(debug_session *s, FILE *file)
{
    char line[DEBUG_LINE];
    while (!s->quit && fgets(line, sizeof line, file)) {
        size_t len = strcspn(line, "\r\n");
        if (!line[len] && len + 1 == sizeof line)
            for (int c; (c = fgetc(file)) != EOF && c != '\n';) /* the rest of a line that is too long */
                ;
        line[len] = 0;
        debug_do_shown_line(s, line);
    }
}

bool debug_source_file(debug_session *s, const char *path, vm_debug_error *error)
{
    if (s->depth == DEBUG_MAX_SOURCE_DEPTH)
        return debug_fail(error, "files of commands are nested %d deep", DEBUG_MAX_SOURCE_DEPTH);
    FILE *file = fopen(path, "r");
    if (!file)
        return debug_fail(error, "%.200s: %s", path, cli_errno());
    bool interactive = s->interactive;
    s->interactive = false;
    s->depth++;
    read_lines(s, file);
    s->depth--;
    s->interactive = interactive;
    fclose(file);
    return true;
}

/* ---- a terminal ---- */

/* The part of libedit with readline's interface; it is loaded if it is installed, and nothing depends on it. */
typedef char **complete_fn(const char *text, int start, int end);
typedef struct editor {
    void *library;
    char *(*readline)(const char *prompt);
    int (*add_history)(const char *line);
    int (*read_history)(const char *path);
    int (*write_history)(const char *path);
    void (*stifle_history)(int most);
    char **(*matches)(const char *text, char *(*next)(const char *text, int state));
    complete_fn **complete;
} editor;

/* libedit calls back without a user pointer. Only the thread that reads lines touches it, while it reads one. */
static debug_session *completing;
static size_t completed;
static bool at_command;

static char *copied(const char *word)
{
    size_t size = strlen(word) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, word, size) : NULL;
}

/* The i-th possible completion; false past the last. */
static bool word_at(size_t i, char *out, size_t size)
{
    const bc_value *value;
    vm_debug_value array;
    if (at_command) {
        if (i < debug_command_count)
            snprintf(out, size, "%s", debug_commands[i].name);
        return i < debug_command_count;
    }
    if ((value = vm_debug_local_at(completing->d, i)) != NULL) {
        bc_text name;
        bc_text_init(&name, NULL);
        vm_debug_print_value_name(completing->d, value, &name);
        snprintf(out, size, "%s", bc_text_words(&name));
        bc_text_release(&name);
        return true;
    }
    size_t locals = 0;
    while (vm_debug_local_at(completing->d, locals))
        locals++;
    if (vm_debug_array_at(completing->d, i - locals, &array)) {
        snprintf(out, size, "%s", vm_debug_array_name(&array));
        return true;
    }
    size_t arrays = 0;
    while (vm_debug_array_at(completing->d, arrays, &array))
        arrays++;
    i -= locals + arrays;
    for (size_t k = 0; debug_info_words[k]; k++)
        if (k == i) {
            snprintf(out, size, "%s", debug_info_words[k]);
            return true;
        }
    return false;
}

static char *next_match(const char *text, int state)
{
    char word[128];
    if (state == 0)
        completed = 0;
    while (word_at(completed, word, sizeof word)) {
        completed++;
        if (strncmp(word, text, strlen(text)) == 0)
            return copied(word);
    }
    return NULL;
}

static editor *current_editor;

static char **complete(const char *text, int start, int end)
{
    (void)end;
    at_command = start == 0;
    return current_editor->matches(text, next_match);
}

static bool open_editor(editor *e)
{
    *e = (editor){.library = dlopen("libedit.so.2", RTLD_LAZY | RTLD_LOCAL)};
    if (!e->library)
        return false;
    *(void **)&e->readline = dlsym(e->library, "readline");
    *(void **)&e->add_history = dlsym(e->library, "add_history");
    *(void **)&e->read_history = dlsym(e->library, "read_history");
    *(void **)&e->write_history = dlsym(e->library, "write_history");
    *(void **)&e->stifle_history = dlsym(e->library, "stifle_history");
    *(void **)&e->matches = dlsym(e->library, "rl_completion_matches");
    *(void **)&e->complete = dlsym(e->library, "rl_attempted_completion_function");
    return e->readline && e->add_history;
}

/* The history file, which TILEVM_HISTORY names. False: there is none, because the variable is empty or there is no home
   folder. */
static bool history_path(char *out, size_t size)
{
    const char *given = getenv("TILEVM_HISTORY"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (given)
        snprintf(out, size, "%s", given);
    else if (state && *state)
        snprintf(out, size, "%s/tilevm_history", state);
    else
        snprintf(out, size, "%s/.tilevm_history", home ? home : "");
    return given ? *given != 0 : (state && *state) || (home && *home);
}

static void edit_lines(debug_session *s, editor *e)
{
    char path[1024], *line;
    bool kept = history_path(path, sizeof path) && e->read_history && e->write_history;
    completing = s;
    current_editor = e;
    if (e->complete && e->matches)
        *e->complete = complete;
    if (e->stifle_history)
        e->stifle_history(HISTORY);
    if (kept)
        e->read_history(path);
    while (!s->quit && (line = e->readline(PROMPT)) != NULL) {
        if (*line)
            e->add_history(line);
        debug_do_line(s, line);
        free(line);
    }
    if (kept)
        e->write_history(path);
    completing = NULL;
    current_editor = NULL;
}

static void prompt_lines(debug_session *s)
{
    char line[DEBUG_LINE];
    while (!s->quit) {
        cli_print(stdout, PROMPT);
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
            break;
        line[strcspn(line, "\r\n")] = 0;
        debug_do_line(s, line);
    }
}

void debug_loop(debug_session *s)
{
    editor e;
    s->interactive = !s->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!s->interactive) {
        read_lines(s, stdin);
        return;
    }
    if (open_editor(&e))
        edit_lines(s, &e);
    else
        prompt_lines(s);
    if (!s->quit)
        cli_print(stdout, "\n");
    if (e.library)
        dlclose(e.library);
}
