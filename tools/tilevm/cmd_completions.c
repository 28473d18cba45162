/* tilevm completions: completion scripts for shells, made from the same tables as --help. */
#include <string.h>

#include "tools/tilevm/cli.h"

enum { SHELL_BASH, SHELL_ZSH, SHELL_FISH };
#define SHELLS "bash|zsh|fish"

static const cli_option options[] = {{0}};

static int run(cli_args *args);

const cli_command command_completions = {
    "completions",
    SHELLS,
    "print a completion script for a shell",
    "Prints a script that completes commands, options and their values. For the running shell:\n"
    "  bash:  source <(tilevm completions bash)\n"
    "  zsh:   source <(tilevm completions zsh)\n"
    "  fish:  tilevm completions fish | source\n"
    "'make install' puts them where the shells look.",
    options,
    run};

/* Values that are a choice, "a|b|c", are completed as words; others as file names. */
static bool is_choice(const char *value)
{
    return value && strchr(value, '|');
}

static void put_words(const char *choices, const char *separator)
{
    for (const char *p = choices;;) {
        size_t len = strcspn(p, "|");
        printf("%.*s", (int)len, p);
        if (!p[len])
            break;
        fputs(separator, stdout);
        p += len + 1;
    }
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
    if (is_choice(command->operands)) {
        fputs(" || words='", stdout);
        put_words(command->operands, " ");
        fputs("'", stdout);
    }
    fputs(" ;;\n        esac ;;\n", stdout);
}

static void put_bash(void)
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
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
        printf("%s ", command->name);
    fputs("help --help --version'\n        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
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
    fputs("            '*:", stdout);
    if (is_choice(command->operands)) {
        fputs("choice:(", stdout);
        put_words(command->operands, " ");
        fputs(")' ;;\n", stdout);
    } else {
        fputs("file:_files' ;;\n", stdout);
    }
}

static void put_zsh(void)
{
    fputs("#compdef tilevm\n_tilevm()\n{\n    local -a commands\n    commands=(\n", stdout);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        printf("        '%s:", command->name);
        put_quoted(command->summary);
        fputs("'\n", stdout);
    }
    fputs("        'help:show the options of a command'\n    )\n"
          "    if (( CURRENT == 2 )) || [[ $CURRENT == 3 && $words[2] == help ]]; then\n"
          "        _describe command commands\n        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n",
          stdout);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
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
    if (is_choice(command->operands)) {
        printf("complete -c tilevm -n '__fish_seen_subcommand_from %s' -f -a '", command->name);
        put_words(command->operands, " ");
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

static void put_fish(void)
{
    const cli_command *command;
    puts("# fish completion for tilevm");
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
        put_fish_command(command);
    puts("complete -c tilevm -n __fish_use_subcommand -f -a help -d 'show the options of a command'");
}

static int run(cli_args *args)
{
    const char *value, *shell = NULL;
    unsigned choice = 0;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id != CLI_OPERAND)
            return args->exit_code;
        shell = value;
    }
    if (!shell)
        return cli_usage(args, "which shell? one of %s", SHELLS);
    if (!cli_choice(args, "shell", shell, SHELLS, &choice))
        return args->exit_code;
    if (choice == SHELL_BASH)
        put_bash();
    else if (choice == SHELL_ZSH)
        put_zsh();
    else
        put_fish();
    return CLI_OK;
}
