/* The option parser of all commands, and the help that is generated from the same tables. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/words.h"
#include "tools/tilevm/cli/cli.h"

enum { OPTION_HELP = 1000, OPTION_COLOR };

/* Every command has these. */
static const cli_option common_options[] = {{OPTION_COLOR, 0, "color", "auto|always|never",
                                             "colour the output (default auto: on a terminal)"},
                                            {OPTION_HELP, 'h', "help", NULL, "show this help"},
                                            {0}};

/* ---- suggestions ---- */

const char *cli_closest(const char *word, const char *(*next)(const void *user, size_t i), const void *user)
{
    const char *closest = NULL;
    size_t len = strlen(word);
    unsigned best = bc_word_reach(len);
    const char *candidate;
    for (size_t i = 0; (candidate = next(user, i)) != NULL; i++) {
        unsigned d = bc_word_distance(bc_str(word), bc_str(candidate));
        /* A word that the candidate begins with is closer than its length says. */
        if (d >= best && len >= 3 && strncmp(word, candidate, len) == 0 && !closest)
            closest = candidate;
        if (d < best) {
            best = d;
            closest = candidate;
        }
    }
    return closest;
}

/* ---- parsing ---- */

const cli_option *cli_option_at(const cli_command *command, size_t index)
{
    size_t own = 0;
    while (command->options && command->options[own].id)
        own++;
    if (index < own)
        return &command->options[index];
    index -= own;
    return index < TV_COUNT(common_options) - 1 ? &common_options[index] : NULL;
}

static const char *option_name_at(const void *user, size_t index)
{
    const cli_option *option = cli_option_at(user, index);
    return option ? option->name : NULL;
}

static const cli_option *find_long(const cli_command *command, const char *name, size_t len)
{
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        if (strlen(option->name) == len && memcmp(option->name, name, len) == 0)
            return option;
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static int stop(cli_args *args, int exit_code)
{
    args->exit_code = exit_code;
    return CLI_STOP;
}

enum { OTHERS_SHOWN = 4 };

/* Commands that have an option which this one lacks; OTHERS_SHOWN + 1 for more than OTHERS_SHOWN. */
static size_t find_others(const cli_args *args, const char *name, const char *words[OTHERS_SHOWN + 1])
{
    size_t count = 0;
    const cli_command *command;
    for (size_t i = 0; count <= OTHERS_SHOWN && (command = args->commands(i)) != NULL; i++)
        if (find_long(command, name, strlen(name)))
            words[count++] = command->name;
    return count;
}

static int unknown_option(cli_args *args, const char *name, size_t len)
{
    char word[BC_WORD_LIMIT + 1];
    snprintf(word, sizeof word, "%.*s", (int)(len < BC_WORD_LIMIT ? len : BC_WORD_LIMIT), name);
    const char *closest = cli_closest(word, option_name_at, args->command);
    const char *others[OTHERS_SHOWN + 1];
    size_t count = find_others(args, word, others);
    bc_text hint;
    bc_text_init(&hint, NULL);
    if (closest) {
        bc_text_printf(&hint, "; did you mean '--%s'?", closest);
    } else if (count && count <= OTHERS_SHOWN) {
        bc_text_printf(&hint, "; it is an option of ");
        cli_put_words(&hint, others, count);
    }
    cli_usage(args, "unknown option '--%s'%s", word, hint.len ? bc_text_words(&hint) : "");
    bc_text_release(&hint);
    return CLI_STOP;
}

/* The options that the parser itself answers; others give their id. */
static int take(cli_args *args, const cli_option *option, const char *value)
{
    unsigned choice;
    if (option->id == OPTION_HELP) {
        cli_print_help(args->command, stdout);
        return stop(args, CLI_OK);
    }
    if (option->id == OPTION_COLOR) {
        if (!cli_choice(args, "--color", value, option->value, &choice))
            return CLI_STOP;
        args->color = (cli_when)choice;
        return 0;
    }
    return option->id;
}

/* argv[next] when it is there to be the value of the option. */
static const char *value_argument(cli_args *args)
{
    return args->next < args->argc ? args->argv[args->next++] : NULL;
}

static int parse_long(cli_args *args, const char *text, const char **out_value)
{
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    const cli_option *option = find_long(args->command, text, len);
    if (!option)
        return unknown_option(args, text, len);
    if (!option->value && equals) {
        cli_usage(args, "option '--%s' takes no value", option->name);
        return CLI_STOP;
    }
    *out_value = !option->value ? NULL : equals ? equals + 1 : value_argument(args);
    if (option->value && !*out_value) {
        cli_usage(args, "option '--%s' needs a value: --%s %s", option->name, option->name, option->value);
        return CLI_STOP;
    }
    return take(args, option, *out_value);
}

static int parse_letter(cli_args *args, const char **out_value)
{
    char letter = *args->cluster++;
    const cli_option *option = find_letter(args->command, letter);
    if (!option) {
        cli_usage(args, "unknown option '-%c'", letter);
        return CLI_STOP;
    }
    *out_value = NULL;
    if (option->value) {
        *out_value = *args->cluster ? args->cluster : value_argument(args);
        args->cluster = NULL;
        if (!*out_value) {
            cli_usage(args, "option '-%c' needs a value: -%c %s", letter, letter, option->value);
            return CLI_STOP;
        }
    }
    return take(args, option, *out_value);
}

/* "-5" and "-.5" are values: no option has a digit for a letter. */
static bool is_number(const char *text)
{
    return isdigit((unsigned char)text[1]) || (text[1] == '.' && isdigit((unsigned char)text[2]));
}

int cli_next(cli_args *args, const char **out_value)
{
    int id = 0;
    for (;;) {
        if (args->cluster && *args->cluster) {
            id = parse_letter(args, out_value);
        } else if (args->next >= args->argc) {
            return CLI_END;
        } else {
            const char *text = args->argv[args->next++];
            if (args->only_operands || text[0] != '-' || text[1] == 0 || is_number(text)) {
                *out_value = text;
                return CLI_OPERAND;
            }
            if (strcmp(text, "--") == 0) {
                args->only_operands = true;
                continue;
            }
            if (text[1] == '-') {
                id = parse_long(args, text + 2, out_value);
            } else {
                args->cluster = text + 1;
                continue;
            }
        }
        if (id != 0)
            return id;
    }
}

/* ---- values ---- */

bool cli_number(cli_args *args, const char *what, const char *value, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 0);
    if (!isdigit((unsigned char)value[0]) || *end || errno || number < min || number > max) {
        cli_usage(args, "%s: '%s' is not a number from %llu to %llu", what, value, (unsigned long long)min,
                  (unsigned long long)max);
        return false;
    }
    *out = number;
    return true;
}

bool cli_choice(cli_args *args, const char *what, const char *value, const char *choices, unsigned *out)
{
    unsigned index = 0;
    for (const char *p = choices;; index++) {
        size_t len = strcspn(p, "|");
        if (strlen(value) == len && memcmp(p, value, len) == 0) {
            *out = index;
            return true;
        }
        if (!p[len])
            break;
        p += len + 1;
    }
    cli_usage(args, "%s: '%s' is not one of %s", what, value, choices);
    return false;
}

bool cli_target(cli_args *args, const char *value, unsigned *out)
{
    const char *digits = strncmp(value, "sm_", 3) == 0 ? value + 3 : value;
    char *end = NULL;
    unsigned long number = isdigit((unsigned char)digits[0]) ? strtoul(digits, &end, 10) : 0;
    if (number < 10 || number > 999 || (*end && strcmp(end, "a") != 0 && strcmp(end, "f") != 0)) {
        cli_usage(args, "'%s' is not a target; write it like sm_90", value);
        return false;
    }
    *out = (unsigned)number;
    return true;
}

bool cli_target_list(cli_args *args, const char *list, cli_targets *targets)
{
    for (;;) {
        size_t len = strcspn(list, ",");
        char word[32];
        unsigned number;
        snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), list);
        if (!cli_target(args, word, &number))
            return false;
        if (targets->count == CLI_MAX_TARGETS) {
            cli_usage(args, "at most %d targets at a time", CLI_MAX_TARGETS);
            return false;
        }
        snprintf(targets->names[targets->count++], sizeof *targets->names, "sm_%.10s",
                 word + (strncmp(word, "sm_", 3) == 0 ? 3 : 0));
        if (!list[len])
            return true;
        list += len + 1;
    }
}

bool cli_version(cli_args *args, const char *value, unsigned *out)
{
    if (strncmp(value, "13.", 3) != 0 || value[3] < '1' || value[3] > '5' || value[4]) {
        cli_usage(args, "'%s' is not a bytecode version; known are 13.1 to 13.5", value);
        return false;
    }
    *out = (unsigned)(value[3] - '0');
    return true;
}

bool cli_take_operand(cli_args *args, const char *rule, const char *value, const char **operand)
{
    if (*operand) {
        cli_usage(args, "%s; '%s' is the second", rule, value);
        return false;
    }
    *operand = value;
    return true;
}

/* ---- help ---- */

enum { HELP_COLUMN = 30 };

static void print_option(const cli_option *option, FILE *out)
{
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int width = fprintf(out, "  %s--%s%s%s", letter, option->name, option->value ? " " : "",
                        option->value ? option->value : "");
    if (width > HELP_COLUMN - 2) {
        fputc('\n', out);
        width = 0;
    }
    for (const char *line = option->help; line; width = 0) {
        const char *end = strchr(line, '\n');
        int len = end ? (int)(end - line) : (int)strlen(line);
        fprintf(out, "%*s%.*s\n", HELP_COLUMN - width, "", len, line);
        line = end ? end + 1 : NULL;
    }
}

void cli_print_help(const cli_command *command, FILE *out)
{
    fprintf(out, "usage: tilevm %s [options]%s%s\n\n", command->name, command->operands[0] ? " " : "",
            command->operands);
    if (command->text && command->text[0])
        fprintf(out, "%s\n\n", command->text);
    fputs("options:\n", out);
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        print_option(option, out);
}
