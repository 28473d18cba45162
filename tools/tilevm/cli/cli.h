/* What the subcommands of `tilevm` share: options, files, colours, diagnostics.

   A command is one file, cmd/<name>.c, with one `const cli_command command_<name>` and a line in commands.def. Its
   options are a table, from which the parser, `--help` and the shell completions all come. Exit codes are those of
   cli_exit for every command. Tools may print, exit codes come from return values only. */
#ifndef TILEVM_TOOLS_CLI_CLI_H
#define TILEVM_TOOLS_CLI_CLI_H

#include <stdio.h>

#include "bytecode/base/text.h"
#include "tilevm/tilevm.h"

typedef enum cli_exit {
    CLI_OK = 0,           /* valid; the same; done */
    CLI_FAILED = 1,       /* invalid; different; an expectation that did not hold */
    CLI_ERROR = 2,        /* wrong usage, or a file that cannot be read or written */
    CLI_INTERRUPTED = 130 /* by ^C, as shells have it */
} cli_exit;

/* ---- options ---- */

typedef struct cli_option {
    int id;            /* what cli_next returns; above 0 and below 1000 */
    char letter;       /* short form, or 0 */
    const char *name;  /* long form, without dashes */
    const char *value; /* NULL: takes none. A placeholder such as "FILE" or "N", or the choices: "text|json" */
    const char *help;  /* one line; "\n" starts a continuation line */
} cli_option;

struct cli_args;

typedef struct cli_command {
    const char *name;
    const char *operands;              /* as in the usage line: "FILE|DIR..." */
    const char *summary;               /* a few words, lower case, for the list of commands */
    const char *text;                  /* the paragraph of `tilevm help NAME`; lines up to 100 columns; may be "" */
    const cli_option *options;         /* up to an entry with id 0 */
    int (*run)(struct cli_args *args); /* gives the exit code */
} cli_command;

typedef enum cli_when { CLI_AUTO, CLI_ALWAYS, CLI_NEVER } cli_when;

typedef struct cli_args {
    const cli_command *command;
    const cli_command *(*commands)(size_t index); /* all there are, NULL past the end */
    int argc;
    char **argv;
    int next;            /* argv index to look at next */
    const char *cluster; /* rest of "-abc" */
    bool only_operands;  /* after "--" */
    cli_when color;      /* --color */
    int exit_code;       /* after CLI_STOP */
} cli_args;

enum { CLI_OPERAND = 0, CLI_END = -1, CLI_STOP = -2 };

/* The id of the next option, with out_value its value (NULL for none); CLI_OPERAND with out_value the operand; CLI_END
   after the last; CLI_STOP when the command should return args->exit_code at once (--help was shown, or a mistake was
   reported). --help and --color are dealt with here. */
int cli_next(cli_args *args, const char **out_value);

/* Values of options. False: a message was printed and args->exit_code set; return it. */
bool cli_number(cli_args *args, const char *what, const char *value, uint64_t min, uint64_t max, uint64_t *out);
/* Position of value among the choices "text|json|...". */
bool cli_choice(cli_args *args, const char *what, const char *value, const char *choices, unsigned *out);
/* 90 for "sm_90" (or "sm_90a", or "90"). */
bool cli_target(cli_args *args, const char *value, unsigned *out);
/* Adds the targets of a list as "sm_80,sm_90a". */
enum { CLI_MAX_TARGETS = 16 };
typedef struct cli_targets {
    char names[CLI_MAX_TARGETS][16]; /* "sm_90a" */
    size_t count;
} cli_targets;
bool cli_target_list(cli_args *args, const char *list, cli_targets *targets);
/* Minor number of "13.4". */
bool cli_version(cli_args *args, const char *value, unsigned *out);
/* The operand of a command that takes only one, NULL before; a second is told the rule: "one file at a time". */
bool cli_take_operand(cli_args *args, const char *rule, const char *value, const char **operand);

/* Prints "tilevm NAME: message" and the hint at --help; gives CLI_ERROR and sets args->exit_code. */
int cli_usage(cli_args *args, const char *format, ...) TV_PRINTF(2, 3);
/* Prints "tilevm: message" to stderr; gives CLI_ERROR. */
int cli_error(const char *format, ...) TV_PRINTF(1, 2);
/* "a", "a and b", "a, b and c" */
void cli_put_words(bc_text *out, const char *const *words, size_t count);
/* What errno says, for messages; the text lives until the thread's next call. */
const char *cli_errno(void);

void cli_print_help(const cli_command *command, FILE *out);
/* The commit that the command was built from: "c1cf712ab123", "...-modified" or "unknown". */
extern const char cli_commit[];
/* The i-th command, or NULL past the end; and by name. */
const cli_command *cli_command_at(size_t index);
const cli_command *cli_command_find(const char *name);
/* The i-th option of a command, its own first, then those that every command has; NULL past the end. */
const cli_option *cli_option_at(const cli_command *command, size_t index);

/* The candidate closest to word by edit distance, or NULL when none is close. next gives the i-th, NULL at the end. */
const char *cli_closest(const char *word, const char *(*next)(const void *user, size_t i), const void *user);

/* ---- files ---- */

typedef struct cli_file {
    unsigned char *bytes; /* size bytes and a zero byte */
    size_t size;
    char *name;    /* owned: what messages call it, "app: image 3 (sm_90)"; NULL: its path */
    bool borrowed; /* the bytes are another's, and without a zero */
} cli_file;

#define CLI_MAX_FILE ((size_t)1 << 30)

/* Reads a whole file, or standard input for "-". On failure gives false and, in out_error (if not NULL), a message that
   begins with the name; it lives until free(). The message is NULL when not even it fits into memory. Prints nothing.
 */
bool cli_read(const char *path, cli_file *out, char **out_error);
/* Gives such a message about a file, in out_error (if not NULL), and false. */
bool cli_problem(const char *path, const char *what, char **out_error);
/* Prints and releases such a message (NULL: out of memory); gives false. */
bool cli_say_problem(char *problem);
/* Reads, but prints the message. */
bool cli_read_or_say(const char *path, cli_file *out);
void cli_file_free(cli_file *file);
/* The name in messages: "<stdin>" for "-". */
const char *cli_shown_path(const char *path);
/* What messages call the file that was read from path. */
const char *cli_file_name(const cli_file *file, const char *path);
/* True when the bytes begin like bytecode. */
bool cli_is_bytecode(const void *bytes, size_t size);

/* Output that appears whole or not at all: a regular file is written under a temporary name beside it and renamed by
   cli_out_commit. Permissions stay as they are; a link stays, and what it leads to is replaced. NULL or "-" is standard
   output. */
typedef struct cli_out {
    FILE *file;
    char *path, *temporary; /* owned; NULL for standard output and for what is not a regular file */
    bool failed;
    int error; /* errno of what failed first */
} cli_out;

bool cli_out_open(cli_out *out, const char *path);
/* Why there can be no output of that name: a file that is read-only, a link that leads nowhere. NULL: there can. */
const char *cli_out_refusal(const char *path);
tv_writer cli_out_writer(cli_out *out);
void cli_out_write(cli_out *out, const void *bytes, size_t size);
/* Notes that it failed, unless it has before; error: an errno, which cli_out_commit reports. */
void cli_out_fail(cli_out *out, int error);
/* Writes and releases a text; one that is not whole fails the output. */
void cli_out_text(cli_out *out, bc_text *text, bool color);
/* Flushes, renames. False: a message was printed, and no file was left behind. */
bool cli_out_commit(cli_out *out);
/* Gives up: removes the temporary file. */
void cli_out_abort(cli_out *out);

/* ---- text for people ---- */

/* All text goes to a stream or a file through these, so that control characters of untrusted files never get there:
   they become visible (\xNN), but for newlines and tabs. color: sequences that set colours pass, too; what is untrusted
   in such a text was made visible where the text was built (bc_text_visible). False: it could not be written. */
bool cli_show(FILE *stream, tv_str text, bool color);
void cli_out_show(cli_out *out, tv_str text, bool color);
void cli_print(FILE *stream, const char *format, ...) TV_PRINTF(2, 3);
void cli_vprint(FILE *stream, const char *format, va_list args) TV_PRINTF(2, 0);
tv_writer cli_showing_writer(FILE *stream);

/* ---- modules and diagnostics ---- */

/* Whether to colour what goes to the stream: --color, then NO_COLOR, FORCE_COLOR (0: never), TERM=dumb, and whether
   it is a terminal. */
bool cli_use_color(cli_when when, FILE *stream);

/* Appends a diagnostic as text: the line that stands alone, then the op with a caret, the source place and the help. */
void cli_diag_text(bc_text *out, const char *path, const tv_diag *diag, bool color);

/* A sink that prints to stderr at once. */
typedef struct cli_printer {
    const char *path;
    bool color;
    unsigned errors, warnings;
} cli_printer;
tv_sink cli_printing_sink(cli_printer *printer, const char *path, cli_when color);

/* Reads a file, or the only image of Tile IR in it, and opens it as a module. NULL: everything has been said on stderr,
   and out_exit tells how to end. The bytes are owned by *file and must outlive the module. */
tv_module *cli_open_module(cli_args *args, const char *path, const tv_open_options *options, cli_file *file,
                           int *out_exit);

/* The exit code for a status; says what the sink did not (out of memory). */
int cli_exit_of(tv_status status, const char *path);

/* Writes the module as bytecode to output (NULL or "-": standard output, unless that is a terminal). */
int cli_write_module(const tv_module *module, const char *path, tv_sink sink, const char *output);

/* Opens the module in a file, changes it and writes it to output, as the two above do; gives the exit code. */
typedef tv_status cli_change(void *user, tv_module *module, tv_sink sink);
int cli_change_module(cli_args *args, const char *path, cli_change *change, void *user, const char *output);

#endif
