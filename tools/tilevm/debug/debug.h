/* tilevm debug: the front ends of the debugger. The engine is vm/debug.

     session.c    opens the kernel, ^C
     source.c     lines of source files
     listing.c    where the run is, in words; listings
     value.c      values as text: whole, statistics, compared with a file
     answer.c     what commands say as JSON, for --json; answer_lists.c: what `info` lists
     picture.c    values as pictures
     info.c       what `info` lists
     words.c      words and numbers of command lines
     command.c    the table of commands, and finding one
     control.c    commands that run the kernel
     stops.c      commands about breakpoints, watchpoints and catches
     data.c       commands that show something
     input.c      where command lines come from
     dap/         the Debug Adapter Protocol */
#ifndef TILEVM_TOOLS_DEBUG_DEBUG_H
#define TILEVM_TOOLS_DEBUG_DEBUG_H

#include "tools/tilevm/run/run.h"
#include "vm/debug/debug.h"

enum { DEBUG_LINE = 4096, DEBUG_MAX_SOURCE_DEPTH = 16, DEBUG_DISPLAYS = 16, DEBUG_MAX_FILE = 16 << 20 };

/* A source file, read when it is first wanted. */
typedef struct debug_source {
    char *name; /* as the module has it */
    char *text; /* NULL: not found */
    size_t size;
    size_t *lines; /* where each starts */
    size_t line_count;
} debug_source;

typedef struct debug_session debug_session;

struct debug_session {
    run_job *job;
    vm_debug *d;
    const char *folder; /* --source: another folder with source files; NULL */
    size_t snapshot_bytes;
    debug_source *sources;
    size_t source_count;
    bool color;        /* of standard output */
    unsigned width;    /* of the terminal, in columns */
    bool quit, failed; /* a command ended the session; a command failed */
    bool interactive;
    bool json;        /* answers are JSON */
    json_doc *answer; /* of the command that runs, with --json; else NULL */
    unsigned depth;   /* of `source` files */
    char *displays[DEBUG_DISPLAYS];
    char last[DEBUG_LINE];       /* the command that an empty line repeats */
    uint32_t listed;             /* position or line from which `list` continues; UINT32_MAX: where the run is */
    bool (*waiting)(void *user); /* true: input is waiting, so the kernel stops; NULL: never */
    void *waiting_user;
    bool (*source)(debug_session *s, const char *path, vm_debug_error *error); /* executes a file of commands */
};

/* ---- session.c ---- */

/* Opens the kernel of the job. Gives CLI_OK or the exit code after a message. */
int debug_open(debug_session *s);
void debug_close(debug_session *s);

/* ---- source.c ---- */

/* The line without its newline; false: the file was not found, or is shorter. */
bool debug_source_line(debug_session *s, tv_str file, uint32_t line, tv_str *out);
/* Where the file was found, for editors; NULL. Owned by the caller. */
char *debug_source_path(const debug_session *s, tv_str file);
void debug_sources_free(debug_session *s);

/* ---- listing.c ---- */

/* "add.py:14", or nothing */
void debug_put_line(const debug_session *s, uint32_t position, bc_text *out);
/* "(3, 0, 0)" */
void debug_put_block(const uint32_t block[3], bc_text *out);
/* Why the run stopped and where it is, as lines. */
void debug_put_event(debug_session *s, const vm_debug_event *event, bc_text *out);
void debug_put_where(debug_session *s, bc_text *out);
/* Source lines or ops around the place. from: UINT32_MAX for where the run is. Returns where to continue. */
uint32_t debug_put_listing(debug_session *s, uint32_t from, bool ops, bc_text *out);
/* An op with its number, indented by its depth. */
void debug_put_op(const debug_session *s, uint32_t position, bool here, bc_text *out);

/* ---- value.c, picture.c ---- */

/* "%acc = f32[4] [1, 2, 3, 4]"; all: however many. */
void debug_put_value(debug_session *s, const vm_debug_value *value, bool all, bc_text *out);
/* On one line, with a limit on the columns. */
void debug_put_short(debug_session *s, const vm_debug_value *value, bc_text *out);
void debug_put_stats(debug_session *s, const vm_debug_value *value, bc_text *out);
bool debug_put_picture(debug_session *s, const vm_debug_value *value, bc_text *out, vm_debug_error *error);
/* Compares with an array from a file or a generator. *same: no element differs. */
bool debug_put_comparison(debug_session *s, const vm_debug_value *value, const char *name, tv_str spec, bool *same,
                          bc_text *out, vm_debug_error *error);
bool debug_array(const vm_debug_value *value, arg_array *out, vm_debug_error *error);

/* ---- info.c ---- */

bool debug_info(debug_session *s, tv_str what, bc_text *out, vm_debug_error *error);
extern const char *const debug_info_words[];

/* ---- command.c ---- */

/* Output goes to out; false: error says why the command failed. */
typedef bool debug_run(debug_session *s, tv_str rest, bc_text *out, vm_debug_error *error);

typedef struct debug_command {
    const char *name, *letters; /* letters: a short form, or "" */
    const char *operands;
    const char *summary;
    const char *text; /* more lines of help, or "" */
    debug_run *run;
    bool repeats; /* an empty line repeats it */
} debug_command;

extern const debug_command debug_commands[];
extern const size_t debug_command_count;

/* Finds a command by its name, its short form, or an unambiguous prefix. NULL: error says why. */
const debug_command *debug_find_command(tv_str word, vm_debug_error *error);
/* Executes one line. False: it failed, and error says why. */
bool debug_do(debug_session *s, tv_str line, bc_text *out, vm_debug_error *error);
/* Is it no command: empty, or a comment? */
bool debug_is_blank(tv_str line);
/* The first word of s, which is moved past the word and the blanks after it. */
tv_str debug_word(tv_str *s);
tv_str debug_trim(tv_str s);
bool debug_fail(vm_debug_error *error, const char *format, ...) TV_PRINTF(2, 3);
/* A number of at least min; an empty text means `missing`. */
bool debug_number(tv_str text, uint64_t min, uint64_t missing, uint64_t *out, vm_debug_error *error);
/* An event as text, and the values that are displayed at every stop. */
void debug_stopped(debug_session *s, const vm_debug_event *event, bc_text *out);
void debug_put_displays(debug_session *s, bc_text *out);
/* Executes the commands of a file. False: it cannot be read, or a command failed. */
bool debug_source_file(debug_session *s, const char *path, vm_debug_error *error);

#define DEBUG_COMMAND(name) bool debug_##name(debug_session *s, tv_str rest, bc_text *out, vm_debug_error *error)

/* ---- input.c ---- */

/* Reads and executes commands until the end. */
void debug_loop(debug_session *s);
/* Executes a line and prints its output; shown: after the line itself. */
void debug_do_line(debug_session *s, const char *line);
void debug_do_shown_line(debug_session *s, const char *line);

#endif
