/* tileiras: takes the place of NVIDIA's command of that name, for programs that call it. The same options, exit codes
   and forms of messages; docs/guides/drop-in.md has what cuTile Python relies on. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytecode/rules.h"
#include "bytecode/base/demangle.h"
#include "bytecode/verify/verify.h"
#include "tools/tilevm/compile/assemble.h"
#include "tools/tilevm/cli/cli.h"
#include "tools/tilevm/compile/remarks.h"

/* NVIDIA's exit codes, found by trying release 13.5. */
enum { EXIT_DONE = 0, EXIT_USAGE = 1, EXIT_OPTIONS = 2, EXIT_BYTECODE = 3, EXIT_COMPILE = 5 };

typedef enum option_id {
    GPU,
    OUTPUT,
    LEVEL,
    LINES,
    DEBUG,
    VERSIONS,
    VERSION,
    HELP,
    IGNORED,
    HOST,
    FORMAT,
    REMARKS,
    REMARKS_PASSED,
    REMARKS_MISSED,
    REMARKS_ANALYSIS,
    REMARKS_FILE,
    LIBRARY,
    CONTROLS
} option_id;
typedef enum option_kind { FLAG, VALUE, CHOICE, PREFIX, TARGET } option_kind;

static const struct option {
    option_id id;
    const char *name;
    option_kind kind;
    const char *values, *help;
} options[] = {
#define OPTION(id, name, kind, values, help) {id, name, kind, values, help},
#include "tools/tileiras/options.def"
};

typedef struct settings {
    const char *input, *output, *remarks_file;
    char target[16]; /* empty: none was given */
    unsigned opt_level;
    bool line_info, debug, has_library, has_controls;
    bool for_nvcc;    /* which puts a cubin into a fat binary, and knows no PTX there */
    option_id action; /* HELP, VERSION, VERSIONS; else GPU */
    remarks remarks;
    bool has_remarks; /* some are wanted */
} settings;

/* ---- options ---- */

static void print_help(FILE *out)
{
    fputs("usage: tileiras [options] FILE\n\ntileiras compiles Tile IR bytecode, versions 13.1 to 13.5, for a GPU: "
          "to a cubin if ptxas is found (TILEVM_PTXAS,\nbeside this program, CUDA_HOME, PATH), else to PTX, which "
          "the driver loads as well. It replaces NVIDIA's\ncommand of the same name.\n\noptions:\n",
          out);
    for (size_t i = 0; i < TV_COUNT(options); i++) {
        const struct option *o = &options[i];
        char form[64];
        snprintf(form, sizeof form, "%s%s%s%s", o->name[1] ? "--" : "-", o->name,
                 o->kind == FLAG || o->kind == PREFIX ? ""
                 : o->name[1]                         ? "="
                                                      : " ",
                 o->kind == CHOICE ? "" : o->values);
        fprintf(out, "  %-24s %s%s%s%s\n", form, o->help, o->kind == CHOICE ? " (" : "",
                o->kind == CHOICE ? o->values : "", o->kind == CHOICE ? ")" : "");
    }
    fputs("\ntargets:", out);
    for (size_t i = 0; bc_target_at(i); i++)
        fprintf(out, " sm_%u", bc_target_at(i));
    fputs("\nexit codes: 0 success, 1 wrong usage or unreadable input, 2 wrong options, 3 invalid bytecode, 5 not "
          "compilable\n",
          out);
}

static bool is_choice(const char *value, const char *choices)
{
    size_t len = strlen(value);
    for (const char *p = choices;; p++) {
        size_t part = strcspn(p, "|");
        if (part == len && memcmp(p, value, len) == 0)
            return true;
        p += part;
        if (!*p)
            return false;
    }
}

static bool is_target(const char *value)
{
    char name[16];
    for (size_t i = 0; bc_target_at(i); i++) {
        snprintf(name, sizeof name, "sm_%u", bc_target_at(i));
        if (strcmp(name, value) == 0)
            return true;
    }
    return false;
}

static int bad_value(const struct option *o, const char *format, const char *value)
{
    cli_print(stderr, "tileiras: for the %s%s option: %s%s%s\n", o->name[1] ? "--" : "-", o->name, format,
              value ? value : "", value ? "'" : "");
    return EXIT_USAGE;
}

/* Remarks of a category, "none", "all" or a name, of the kinds from first to last. */
static void choose_remarks(settings *s, const char *category, tv_remark_kind first, tv_remark_kind last)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } categories[] = {{"none", 0},
                      {"all", REMARK_ALL},
                      {"memory", (uint32_t)1 << REMARK_memory},
                      {"tensorcore", (uint32_t)1 << REMARK_tensorcore}};
    for (size_t i = 0; i < TV_COUNT(categories); i++)
        for (tv_remark_kind kind = first; strcmp(category, categories[i].name) == 0 && kind <= last; kind++)
            s->remarks.wanted[kind] = categories[i].bits;
    s->has_remarks = false;
    for (int kind = 0; kind < TV_REMARK_KIND_COUNT; kind++)
        s->has_remarks = s->has_remarks || s->remarks.wanted[kind];
}

/* Takes an option in; gives an exit code, or EXIT_DONE to go on. */
static int apply(settings *s, const struct option *o, const char *value)
{
    char *end;
    if (o->kind == CHOICE && !is_choice(value, o->values))
        return bad_value(o, "Cannot find option named '", value);
    if (o->kind == TARGET && !is_target(value))
        return bad_value(o, "Cannot find option named '", value);
    switch (o->id) {
    case GPU: snprintf(s->target, sizeof s->target, "%s", value); break;
    case OUTPUT: s->output = value; break;
    case LEVEL:
        s->opt_level = (unsigned)strtoul(value, &end, 10);
        if (!isdigit((unsigned char)value[0]) || *end)
            return bad_value(o, "not a number: '", value);
        break;
    case LINES: s->line_info = true; break;
    case DEBUG: s->debug = true; break;
    case FORMAT: s->remarks.yaml = strcmp(value, "yaml") == 0; break;
    case REMARKS: choose_remarks(s, value, 0, TV_REMARK_KIND_COUNT - 1); break;
    case REMARKS_PASSED: choose_remarks(s, value, TV_REMARK_PASSED, TV_REMARK_PASSED); break;
    case REMARKS_MISSED: choose_remarks(s, value, TV_REMARK_MISSED, TV_REMARK_MISSED); break;
    case REMARKS_ANALYSIS: choose_remarks(s, value, TV_REMARK_ANALYSIS, TV_REMARK_ANALYSIS); break;
    case REMARKS_FILE: s->remarks_file = value; break;
    case LIBRARY: s->has_library = true; break;
    case CONTROLS: s->has_controls = true; break;
    case VERSIONS:
    case VERSION:
    case HELP: s->action = o->id; break;
    case HOST: s->for_nvcc = true; break;
    case IGNORED: break;
    }
    return EXIT_DONE;
}

/* The option that a word without its dashes begins with; *out_value what is attached to it, or NULL. */
static const struct option *find_option(const char *word, const char **out_value)
{
    size_t len = strcspn(word, "=");
    *out_value = word[len] ? word + len + 1 : NULL;
    for (size_t i = 0; i < TV_COUNT(options); i++)
        if (strlen(options[i].name) == len && memcmp(options[i].name, word, len) == 0)
            return &options[i];
    for (size_t i = 0; i < TV_COUNT(options); i++) /* -O3 */
        if (options[i].kind == PREFIX && strncmp(word, options[i].name, strlen(options[i].name)) == 0) {
            *out_value = word + strlen(options[i].name);
            return &options[i];
        }
    return NULL;
}

static const char *option_at(const void *user, size_t index)
{
    (void)user;
    return index < TV_COUNT(options) ? options[index].name : NULL;
}

/* "--gpu-nam=sm_90", and the option that is nearest to it, with the value that was given. */
static int say_unknown(const char *word)
{
    char name[64];
    const char *bare = word + strspn(word, "-");
    size_t len = strcspn(bare, "=");
    snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name - 1), bare);
    const char *closest = cli_closest(name, option_at, NULL);
    cli_print(stderr, "tileiras: Unknown command line argument '%s'.  Try: 'tileiras --help'\n", word);
    if (closest)
        cli_print(stderr, "tileiras: Did you mean '%s%s%s'?\n", closest[1] ? "--" : "-", closest, bare + len);
    return EXIT_USAGE;
}

static int parse(settings *s, int argc, char **argv)
{
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value;
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            continue;
        }
        if (only_operands || word[0] != '-' || !word[1]) {
            if (s->input) {
                fputs("tileiras: Too many positional arguments specified!\n", stderr);
                return EXIT_USAGE;
            }
            s->input = word;
            continue;
        }
        const struct option *o = find_option(word + (word[1] == '-' ? 2 : 1), &value);
        if (!o)
            return say_unknown(word);
        if (o->kind == FLAG && value && strcmp(value, "false") == 0)
            continue;
        if (o->kind == FLAG && value && strcmp(value, "true") != 0)
            return bad_value(o, "it takes no value: '", value);
        if (o->kind != FLAG && o->kind != PREFIX && !value)
            value = i + 1 < argc ? argv[++i] : NULL;
        if (o->kind != FLAG && !value)
            return bad_value(o, "requires a value!", NULL);
        int code = apply(s, o, value);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

/* ---- messages ---- */

static int say(int code, const char *format, ...) TV_PRINTF(2, 3);
static int say(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cli_print(stderr, "error: ");
    cli_vprint(stderr, format, args);
    cli_print(stderr, "\n");
    va_end(args);
    return code;
}

static int no_memory(void)
{
    return say(EXIT_COMPILE, "out of memory");
}

/* "file:line:column: error: ..." is what callers show as it is. (MLIR's `loc("file":line:column): error:` is taken
   apart by cuTile Python, which then fails to print it: docs/guides/drop-in.md.) What has no place in a source is
   placed in the input of the settings, which user is. */
static void print_diag(void *user, const tv_diag *diag)
{
    static const char *const names[] = {[TV_ERROR] = "error", [TV_WARNING] = "warning", [TV_NOTE] = "note"};
    bc_text text;
    bc_text_init(&text, NULL);
    if (diag->line)
        bc_text_printf(&text, "%.*s:%u:%u: ", (int)diag->file.len, diag->file.ptr, (unsigned)diag->line,
                       (unsigned)diag->column);
    else if (diag->offset != TV_NO_OFFSET)
        bc_text_printf(&text, "%s:0x%04llx: ", ((const settings *)user)->input, (unsigned long long)diag->offset);
    bc_text_printf(&text, "%s: [%s] %.*s", names[diag->severity], diag->rule, (int)diag->message.len,
                   diag->message.ptr);
    if (diag->function.len) {
        bc_text_puts(&text, "\n   in @");
        bc_text_function(&text, diag->function);
        bc_text_printf(&text, "%s%.*s", diag->op_text.len ? ": " : "", (int)diag->op_text.len, diag->op_text.ptr);
    }
    if (diag->help.len)
        bc_text_printf(&text, "\n   help: %.*s", (int)diag->help.len, diag->help.ptr);
    bc_text_char(&text, '\n');
    if (text.failed)
        cli_print(stderr, "%s: [%s] out of memory\n", names[diag->severity], diag->rule);
    else
        cli_show(stderr, bc_text_get(&text), false);
    bc_text_release(&text);
}

/* For the second look at a module, after the warnings have been shown. */
static void print_error(void *user, const tv_diag *diag)
{
    if (diag->severity == TV_ERROR)
        print_diag(user, diag);
}

/* ---- work ---- */

/* code: the exit code when that fails. */
static int write_output(const char *path, tv_str bytes, int code)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdout : fopen(path, "wb");
    bool written = file && fwrite(bytes.ptr, 1, bytes.len, file) == bytes.len && fflush(file) == 0;
    int error = errno;
    if (file && !standard && fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    struct stat info;
    if (!written && file && !standard && lstat(path, &info) == 0 && S_ISREG(info.st_mode))
        unlink(path); /* half a file is useless; devices are kept */
    if (!written && error == ENOMEM)
        return no_memory();
    return written ? EXIT_DONE : say(code, "cannot write '%s': %s", path, strerror(error));
}

/* PTX, or the cubin that ptxas makes of it, to the output. */
static int finish(settings *s, bc_text *ptx)
{
    const char *path = s->output ? s->output : "elf.o";
    char buffer[ASSEMBLE_PATH];
    const char *ptxas = assemble_find_ptxas(buffer);
    if (!ptxas && s->for_nvcc)
        return say(EXIT_COMPILE, "nvcc wants a cubin, and no ptxas is found: set CUDA_HOME to the toolkit (%s)",
                   "or TILEVM_PTXAS to its ptxas");
    if (!ptxas) {
        bc_text_char(ptx, 0); /* cuLibraryLoadData takes text with a zero at its end */
        return ptx->failed ? no_memory() : write_output(path, bc_text_get(ptx), EXIT_OPTIONS);
    }
    bc_text cubin, log;
    bc_text_init(&cubin, NULL);
    bc_text_init(&log, NULL);
    assemble_options how = {.opt_level = s->opt_level,
                            .line_info = s->line_info || s->debug,
                            .figures = s->has_remarks};
    bool fine = assemble_with_ptxas(ptxas, bc_text_get(ptx), &how, &cubin, &log);
    int code = fine ? write_output(path, bc_text_get(&cubin), EXIT_OPTIONS)
                    : say(EXIT_COMPILE, "[%s] %s does not assemble the kernel:\n%.*s", bc_rules[BC_RULE_L_ASM_01].id,
                          ptxas, (int)log.len - (log.len > 0), log.len ? log.ptr : "");
    if (code == EXIT_DONE && how.figures)
        remarks_of_ptxas(bc_text_get(&log), remarks_sink(&s->remarks));
    bc_text_release(&cubin);
    bc_text_release(&log);
    return code;
}

/* Remarks to the file, which the client reads whatever is in it, or to standard error. */
static int write_remarks(const settings *s, const bc_text *text)
{
    if (text->failed)
        return no_memory();
    if (s->remarks.yaml)
        return write_output(s->remarks_file ? s->remarks_file : "tileir_remarks.yaml", bc_text_get(text),
                            EXIT_BYTECODE);
    cli_show(stderr, bc_text_get(text), false);
    return EXIT_DONE;
}

static int compile_module(settings *s, tv_module *module, tv_sink sink)
{
    tv_verify_options verify = {0};
    tv_status status = tv_module_verify(module, &verify, sink);
    if (status != TV_OK)
        return status == TV_NO_MEMORY ? no_memory()
                                      : say(EXIT_BYTECODE, "input does not correspond to Tile IR bytecode");
    verify.target = (unsigned)strtoul(s->target + 3, NULL, 10);
    tv_compile_options how = {.target = tv_target_exact(s->target),
                              .opt_level = TV_OPT_LEVEL(s->opt_level),
                              .line_info = s->line_info || s->debug};
    bc_text ptx, remark_text;
    bc_text_init(&ptx, NULL);
    bc_text_init(&remark_text, NULL);
    s->remarks.path = s->input;
    s->remarks.out = s->has_remarks ? &remark_text : NULL;
    how.remarks = remarks_sink(&s->remarks);
    int code = EXIT_DONE;
    status = tv_module_verify(module, &verify, (tv_sink){s, print_error});
    if (status == TV_OK)
        status = tv_compile_ptx(module, &how, sink, (tv_writer){.user = &ptx, .write = bc_text_append});
    if (status == TV_NO_MEMORY || ptx.failed)
        code = no_memory();
    else if (status != TV_OK)
        code = say(EXIT_COMPILE, "failed to compile Tile IR program");
    if (code == EXIT_DONE)
        code = finish(s, &ptx);
    if (code == EXIT_DONE && s->has_remarks)
        code = write_remarks(s, &remark_text);
    bc_text_release(&remark_text);
    bc_text_release(&ptx);
    return code;
}

/* Checks the options before the input is read. */
static int check_settings(const settings *s)
{
    if (s->opt_level > 3)
        return say(EXIT_OPTIONS, "invalid optimization level: %u", s->opt_level);
    if (!s->target[0])
        return say(EXIT_OPTIONS, "no GPU architecture was given: use --gpu-name sm_XX");
    if (s->debug && s->opt_level)
        return say(EXIT_OPTIONS,
                   "optimized debugging is currently not supported, change the optimization level to 0 or disable "
                   "full debug info");
    if (s->has_controls)
        return say(EXIT_OPTIONS, "--apply-controls is for NVIDIA's compiler only");
    if (s->has_library)
        return say(EXIT_COMPILE, "libraries (-l) are a preview feature, which is not supported");
    return EXIT_DONE;
}

static int compile(settings *s)
{
    cli_file file;
    char *problem = NULL;
    if (!s->input) {
        say(EXIT_USAGE, "no input file provided\n");
        print_help(stderr);
        return EXIT_USAGE;
    }
    errno = 0;
    if (strcmp(s->input, "-") == 0 || !cli_read(s->input, &file, &problem)) {
        bool starved = errno == ENOMEM;
        if (starved)
            no_memory();
        else
            say(EXIT_USAGE, "unable to read input file: %s", problem ? problem : "standard input is not supported");
        free(problem);
        return starved ? EXIT_COMPILE : EXIT_USAGE;
    }
    int code = check_settings(s);
    tv_module *module = NULL;
    tv_sink sink = {s, print_diag};
    tv_status status = code == EXIT_DONE ? tv_module_open(file.bytes, file.size, NULL, sink, &module) : TV_OK;
    if (status == TV_NO_MEMORY)
        code = no_memory();
    else if (status != TV_OK)
        code = say(EXIT_BYTECODE, "input does not correspond to Tile IR bytecode");
    else if (code == EXIT_DONE)
        code = compile_module(s, module, sink);
    tv_module_close(module);
    cli_file_free(&file);
    return code;
}

/* Callers keep compiled kernels by this text, so it changes with whatever changes the output.

   Programs that look for a toolkit search the text for "release X.Y" or "V" and three numbers, and take the first that
   they find. The third line has both: the release whose options and bytecode this program was compared with. It comes
   before the path of the assembler, which may look like either. */
static void print_version(void)
{
    char buffer[ASSEMBLE_PATH];
    const char *ptxas = assemble_find_ptxas(buffer);
    printf("tileiras: tilevm %s, build %s\n"
           "Bytecode 13.1 to 13.%u\n"
           "Compatible with NVIDIA's tileiras of Cuda compilation tools, release 13.5, V13.5.37\n"
           "Assembler: %s\n",
           TV_VERSION, tv_build_id(), (unsigned)BC_NEWEST, ptxas ? ptxas : "none; writes PTX");
}

int main(int argc, char **argv)
{
    settings s = {.opt_level = 3, .action = GPU};
    int code = parse(&s, argc, argv);
    if (code != EXIT_DONE)
        return code;
    if (s.action == HELP)
        print_help(stdout);
    else if (s.action == VERSION)
        print_version();
    else if (s.action == VERSIONS)
        for (unsigned minor = 1; minor <= BC_NEWEST; minor++)
            printf("13.%u\n", minor);
    else
        return compile(&s);
    return fflush(stdout) == 0 ? EXIT_DONE : EXIT_OPTIONS;
}
