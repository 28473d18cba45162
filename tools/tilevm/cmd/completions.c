/* tilevm completions: completion scripts for shells, made from the same tables as --help. */
#include <ctype.h>
#include <string.h>

#include "bytecode/verify/verify.h"
#include "tools/tilevm/cli/cli.h"

enum { SHELL_BASH, SHELL_ZSH, SHELL_FISH };
#define SHELLS "bash|zsh|fish"
#define PROGRAMS "tilevm|tileiras"
enum { PROGRAM_TILEVM, PROGRAM_TILEIRAS };

static const cli_option options[] = {{0}};

static int run(cli_args *args);

const cli_command command_completions = {
    "completions",
    SHELLS " [" PROGRAMS "]",
    "print a completion script for a shell",
    "tilevm completions prints a script that completes commands, options and their values, for tilevm or\n"
    "for tileiras. For the running shell:\n"
    "  bash:  source <(tilevm completions bash)\n"
    "  zsh:   source <(tilevm completions zsh)\n"
    "  fish:  tilevm completions fish | source\n"
    "'make install' puts the scripts where the shells look for them.",
    options,
    run};

/* Values that are a choice, "a|b|c", are completed as words; others, like "FILE|DIR", as file names. */
static bool is_choice(const char *value)
{
    return value && strchr(value, '|') && islower((unsigned char)value[0]);
}

/* Operands that are a choice and then files: "a|b|c FILE...". */
static bool has_files(const char *operands)
{
    return strchr(operands, ' ') != NULL;
}

static void put_words(const char *choices, const char *separator)
{
    for (const char *p = choices;;) {
        size_t len = strcspn(p, "| ");
        printf("%.*s", (int)len, p);
        if (p[len] != '|')
            break;
        fputs(separator, stdout);
        p += len + 1;
    }
}

/* The words that can stand for an operand: those of a choice, the ids of rules. False: file names. */
static bool has_words(const cli_command *command)
{
    return is_choice(command->operands) || strcmp(command->operands, "RULE...") == 0;
}

static void put_operands(const cli_command *command, const char *separator)
{
    const tv_rule *rule;
    char words[64];
    if (is_choice(command->operands)) {
        snprintf(words, sizeof words, "%.*s", (int)strcspn(command->operands, " "), command->operands);
        put_words(words, separator);
        return;
    }
    for (size_t i = 0; (rule = tv_rule_at(i)) != NULL; i++)
        printf("%s%s", i ? separator : "", rule->id);
}

/* The first line of a text, for inside single quotes; bash, zsh and fish all read '\'' as one quote. */
static void put_quoted(const char *text)
{
    for (; *text && *text != '\n'; text++)
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, 0}, stdout);
}

/* ---- bash ---- */

static void put_bash_command(const cli_command *command)
{
    const cli_option *option;
    printf("    %s)\n        case $before in\n", command->name);
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        if (!is_choice(option->value))
            continue;
        printf("        --%s", option->name);
        if (option->letter)
            printf("|-%c", option->letter);
        fputs(") words='", stdout);
        put_words(option->value, " ");
        fputs("' ;;\n", stdout);
    }
    fputs("        *) [[ $word == -* ]] && words='", stdout);
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        printf("%s--%s", i ? " " : "", option->name);
    fputs("'", stdout);
    if (has_words(command)) {
        printf(" ||%s words='", has_files(command->operands) ? " [[ $COMP_CWORD != 2 ]] ||" : "");
        put_operands(command, " ");
        fputs("'", stdout);
    }
    fputs(" ;;\n        esac ;;\n", stdout);
}

static void put_bash(const cli_args *args)
{
    fputs("# bash completion for tilevm\n"
          "_tilevm()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
          "    COMPREPLY=()\n"
          "    if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
          "    if [[ $word == = ]]; then word=; fi\n"
          "    if [[ $COMP_CWORD == 1 || ( $COMP_CWORD == 2 && $before == help ) ]]; then\n"
          "        words='",
          stdout);
    const cli_command *command;
    for (size_t i = 0; (command = args->commands(i)) != NULL; i++)
        printf("%s ", command->name);
    fputs("help --help --version'\n        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (size_t i = 0; (command = args->commands(i)) != NULL; i++)
        put_bash_command(command);
    fputs("    esac\n"
          "    if [[ $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
          "}\ncomplete -o filenames -F _tilevm tilevm\n",
          stdout);
}

/* ---- zsh ---- */

/* In descriptions of _arguments, colons and brackets have a meaning. */
static void put_zsh_text(const char *text)
{
    for (; *text && *text != '\n'; text++) {
        if (strchr(":[]\\", *text))
            putchar('\\');
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, 0}, stdout);
    }
}

static void put_zsh_value(const cli_option *option)
{
    if (!option->value)
        return;
    fputs(":", stdout);
    put_zsh_text(is_choice(option->value) ? "choice" : option->value);
    if (is_choice(option->value)) {
        fputs(":(", stdout);
        put_words(option->value, " ");
        fputs(")", stdout);
    } else {
        fputs(":_files", stdout);
    }
}

static void put_zsh_command(const cli_command *command)
{
    const cli_option *option;
    printf("    %s)\n        _arguments -s \\\n", command->name);
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        if (option->letter) {
            printf("            '*-%c[", option->letter);
            put_zsh_text(option->help);
            fputs("]", stdout);
            put_zsh_value(option);
            fputs("' \\\n", stdout);
        }
        printf("            '*--%s%s[", option->name, option->value ? "=" : "");
        put_zsh_text(option->help);
        fputs("]", stdout);
        put_zsh_value(option);
        fputs("' \\\n", stdout);
    }
    bool files = has_files(command->operands);
    if (has_words(command)) {
        printf("            '%s:choice:(", files ? "1" : "*");
        put_operands(command, " ");
        fputs(files ? ")' \\\n" : ")' ;;\n", stdout);
    }
    if (files || !has_words(command))
        fputs("            '*:file:_files' ;;\n", stdout);
}

static void put_zsh(const cli_args *args)
{
    fputs("#compdef tilevm\n_tilevm()\n{\n    local -a commands\n    commands=(\n", stdout);
    const cli_command *command;
    for (size_t i = 0; (command = args->commands(i)) != NULL; i++) {
        printf("        '%s:", command->name);
        put_quoted(command->summary);
        fputs("'\n", stdout);
    }
    fputs("        'help:show the options of a command'\n    )\n"
          "    if (( CURRENT == 2 )) || [[ $CURRENT == 3 && $words[2] == help ]]; then\n"
          "        _describe command commands\n        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n",
          stdout);
    for (size_t i = 0; (command = args->commands(i)) != NULL; i++)
        put_zsh_command(command);
    fputs("    esac\n}\nif [[ $funcstack[1] == _tilevm ]]; then _tilevm \"$@\"; else compdef _tilevm tilevm; fi\n",
          stdout);
}

/* ---- fish ---- */

static void put_fish_command(const cli_command *command)
{
    const cli_option *option;
    printf("complete -c tilevm -n __fish_use_subcommand -f -a %s -d '", command->name);
    put_quoted(command->summary);
    fputs("'\n", stdout);
    if (has_words(command)) {
        printf("complete -c tilevm -n '__fish_seen_subcommand_from %s'%s -a '", command->name,
               has_files(command->operands) ? "" : " -f");
        put_operands(command, " ");
        fputs("'\n", stdout);
    }
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        printf("complete -c tilevm -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
        if (option->letter)
            printf(" -s %c", option->letter);
        if (is_choice(option->value)) {
            fputs(" -x -a '", stdout);
            put_words(option->value, " ");
            fputs("'", stdout);
        } else if (option->value) {
            fputs(" -r", stdout);
        }
        fputs(" -d '", stdout);
        put_quoted(option->help);
        fputs("'\n", stdout);
    }
}

static void put_fish(const cli_args *args)
{
    const cli_command *command;
    puts("# fish completion for tilevm");
    for (size_t i = 0; (command = args->commands(i)) != NULL; i++)
        put_fish_command(command);
    puts("complete -c tilevm -n __fish_use_subcommand -f -a help -d 'show the options of a command'");
}

/* ---- tileiras ---- */

/* Long options with "--name=value", those of one letter with a value of their own. TARGET has the targets as words. */
typedef enum tileiras_kind { FLAG, VALUE, CHOICE, PREFIX, TARGET } tileiras_kind;

static const struct tileiras_option {
    const char *name;
    tileiras_kind kind;
    const char *values, *help;
} tileiras_options[] = {
#define OPTION(id, name, kind, values, help) {name, kind, values, help},
#include "tools/tileiras/options.def"
};

static bool put_tileiras_words(const struct tileiras_option *o)
{
    if (o->kind == CHOICE)
        put_words(o->values, " ");
    for (size_t i = 0; o->kind == TARGET && bc_target_at(i); i++)
        printf("%ssm_%u", i ? " " : "", bc_target_at(i));
    return o->kind == CHOICE || o->kind == TARGET;
}

static const char *dashes(const struct tileiras_option *o)
{
    return o->name[1] ? "--" : "-";
}

static void put_bash_tileiras(void)
{
    fputs("# bash completion for tileiras\n"
          "_tileiras()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
          "    COMPREPLY=()\n"
          "    if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
          "    if [[ $word == = ]]; then word=; fi\n"
          "    case $before in\n",
          stdout);
    for (size_t i = 0; i < TV_COUNT(tileiras_options); i++) {
        const struct tileiras_option *o = &tileiras_options[i];
        if (o->kind != CHOICE && o->kind != TARGET)
            continue;
        printf("    %s%s) words='", dashes(o), o->name);
        put_tileiras_words(o);
        fputs("' ;;\n", stdout);
    }
    fputs("    *) [[ $word == -* ]] && words='", stdout);
    for (size_t i = 0; i < TV_COUNT(tileiras_options); i++)
        printf("%s%s%s", i ? " " : "", dashes(&tileiras_options[i]), tileiras_options[i].name);
    fputs("' ;;\n    esac\n"
          "    if [[ $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
          "}\ncomplete -o filenames -F _tileiras tileiras\n",
          stdout);
}

static void put_zsh_tileiras(void)
{
    fputs("#compdef tileiras\n_tileiras()\n{\n    _arguments \\\n", stdout);
    for (size_t i = 0; i < TV_COUNT(tileiras_options); i++) {
        const struct tileiras_option *o = &tileiras_options[i];
        bool is_long = o->name[1] != 0, takes = o->kind != FLAG;
        printf("        '*%s%s%s[", dashes(o), o->name, !takes ? "" : is_long ? "=" : o->kind == PREFIX ? "-" : "");
        put_zsh_text(o->help);
        fputs("]", stdout);
        if (takes)
            printf(":value:");
        if (o->kind == CHOICE || o->kind == TARGET) {
            fputs("(", stdout);
            put_tileiras_words(o);
            fputs(")", stdout);
        } else if (takes) {
            fputs("_files", stdout);
        }
        fputs("' \\\n", stdout);
    }
    fputs("        '*:file:_files'\n}\n"
          "if [[ $funcstack[1] == _tileiras ]]; then _tileiras \"$@\"; else compdef _tileiras tileiras; fi\n",
          stdout);
}

static void put_fish_tileiras(void)
{
    puts("# fish completion for tileiras");
    for (size_t i = 0; i < TV_COUNT(tileiras_options); i++) {
        const struct tileiras_option *o = &tileiras_options[i];
        printf("complete -c tileiras %s %s", o->name[1] ? "-l" : "-s", o->name);
        if (o->kind == CHOICE || o->kind == TARGET) {
            fputs(" -x -a '", stdout);
            put_tileiras_words(o);
            fputs("'", stdout);
        } else if (o->kind != FLAG) {
            fputs(" -r", stdout);
        }
        fputs(" -d '", stdout);
        put_quoted(o->help);
        fputs("'\n", stdout);
    }
}

/* ---- the command ---- */

static void put_tilevm(const cli_args *args, unsigned shell)
{
    switch (shell) {
    case SHELL_BASH: put_bash(args); break;
    case SHELL_ZSH: put_zsh(args); break;
    default: put_fish(args);
    }
}

static int run(cli_args *args)
{
    static void (*const tileiras[])(void) = {put_bash_tileiras, put_zsh_tileiras, put_fish_tileiras};
    const char *value, *words[2] = {NULL, "tilevm"};
    unsigned shell = 0, program = 0, given = 0;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id != CLI_OPERAND)
            return args->exit_code;
        if (given == TV_COUNT(words))
            return cli_usage(args, "unexpected operand '%s'; give one shell and one program", value);
        words[given++] = value;
    }
    if (!given)
        return cli_usage(args, "no shell was given; the shells are %s", SHELLS);
    if (!cli_choice(args, "shell", words[0], SHELLS, &shell)
        || !cli_choice(args, "program", words[1], PROGRAMS, &program))
        return args->exit_code;
    if (program == PROGRAM_TILEVM)
        put_tilevm(args, shell);
    else
        tileiras[shell]();
    return CLI_OK;
}
