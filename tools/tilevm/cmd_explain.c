/* tilevm explain: what a rule is for, with a failing and a passing example. */
#include <string.h>
#include <strings.h>

#include "tools/tilevm/cli.h"

enum { OPT_LIST = 1 };

static const cli_option options[] = {
    {OPT_LIST, 'l', "list", NULL, "list every rule with its title"},
    {0}};

static int run(cli_args *args);

const cli_command command_explain = {
    "explain", "RULE...", "say what a rule is for, with examples",
    "Prints what a rule of the verifier is for, what usually mends it, and examples. RULE is an id as\n"
    "printed in brackets by other commands, in upper or lower case.",
    options, run};

static const char *rule_id_at(const void *user, size_t i)
{
    (void)user;
    const tv_rule *rule = tv_rule_at(i);
    return rule ? rule->id : NULL;
}

static const tv_rule *find_rule(const char *id)
{
    const tv_rule *rule;
    for (size_t i = 0; (rule = tv_rule_at(i)) != NULL; i++)
        if (strcasecmp(rule->id, id) == 0)
            return rule;
    return NULL;
}

static void explain(const tv_rule *rule)
{
    static const char *const severities[] = {[TV_ERROR] = "error", [TV_WARNING] = "warning", [TV_NOTE] = "note"};
    printf("%s (%s): %s\n", rule->id, severities[rule->severity], rule->title);
    if (rule->text[0])
        printf("\n%s\n", rule->text);
    if (rule->help[0])
        printf("\nhelp: %s\n", rule->help);
}

static int run(cli_args *args)
{
    const char *value;
    unsigned shown = 0;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id == CLI_STOP)
            return args->exit_code;
        if (id == OPT_LIST) {
            const tv_rule *rule;
            for (size_t i = 0; (rule = tv_rule_at(i)) != NULL; i++)
                printf("%-12s%s\n", rule->id, rule->title);
            return CLI_OK;
        }
        const tv_rule *rule = find_rule(value);
        if (!rule) {
            const char *closest = cli_closest(value, rule_id_at, NULL);
            return closest ? cli_usage(args, "no rule '%s'; did you mean %s?", value, closest)
                           : cli_usage(args, "no rule '%s'; 'tilevm explain --list' lists them", value);
        }
        if (shown++)
            putchar('\n');
        explain(rule);
    }
    return shown ? CLI_OK : cli_usage(args, "which rule? 'tilevm explain --list' lists them");
}
