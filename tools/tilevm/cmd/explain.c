/* tilevm explain: describes a rule, with a failing and a passing example; also writes docs/reference/rules.md. */
#include <string.h>
#include <strings.h>

#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/cmd/rule_examples.h"

enum { OPT_LIST = 1, OPT_ALL, OPT_FORMAT, OPT_JSON, OPT_OUTPUT };
enum { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON };

#define FORMATS "text|markdown|json"

static const cli_option options[] = {{OPT_LIST, 'l', "list", NULL, "list every rule with its title"},
                                     {OPT_ALL, 'a', "all", NULL, "explain every rule"},
                                     {OPT_FORMAT, 'f', "format", FORMATS, "form of the explanation (default text)"},
                                     {OPT_JSON, 'J', "json", NULL, "the same as --format json"},
                                     {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_explain = {
    "explain",
    "RULE...",
    "explain a rule, with examples",
    "tilevm explain says what a rule is for and how violations are usually fixed, with an example that\n"
    "breaks the rule and one that does not. RULE is an id as other commands print it in brackets, in\n"
    "upper or lower case.",
    options,
    run};

/* ---- finding ---- */

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
    const char *alias;
    for (size_t i = 0; (alias = tv_rule_alias_at(i, &rule)) != NULL; i++)
        if (strcasecmp(alias, id) == 0)
            return rule;
    return NULL;
}

static int no_such_rule(cli_args *args, const char *id)
{
    const char *closest = cli_closest(id, rule_id_at, NULL);
    return closest ? cli_usage(args, "no rule '%s'; did you mean %s?", id, closest)
                   : cli_usage(args, "no rule '%s'; 'tilevm explain --list' lists them", id);
}

typedef struct rule_example {
    const char *field[EXAMPLE_FIELDS];
} rule_example;

static bool find_example(const tv_rule *rule, rule_example *out_example)
{
    for (const char *next = rule_examples; *next;) {
        for (int i = 0; i < EXAMPLE_FIELDS; i++, next += strlen(next) + 1)
            out_example->field[i] = next;
        if (strcmp(out_example->field[EXAMPLE_RULE], rule->id) == 0)
            return true;
    }
    return false;
}

static const char *form_name(const rule_example *example, rule_field form)
{
    return example->field[form][0] ? "annotated bytes" : "assembly";
}

static const char *severity_name(const tv_rule *rule)
{
    static const char *const names[] = {[TV_ERROR] = "error", [TV_WARNING] = "warning", [TV_NOTE] = "note"};
    return names[rule->severity];
}

/* ---- text ---- */

static void put_indented(bc_text *out, const char *text)
{
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        bc_text_printf(out, "%s%.*s\n", len ? "  " : "", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

enum { TERMINAL_COLUMNS = 100, MARKDOWN_COLUMNS = 120 };

/* Wrapped at spaces to a number of columns, of which some are taken; end: what follows the last word. */
static void put_wrapped(bc_text *out, const char *text, size_t columns, size_t column, const char *end)
{
    for (const char *word = text; *word;) {
        size_t len = strcspn(word, " ");
        if (column && column + 1 + len > columns) {
            bc_text_char(out, '\n');
            column = 0;
        }
        bc_text_printf(out, "%s%.*s", column ? " " : "", (int)len, word);
        column += len + (column != 0);
        word += len + (word[len] == ' ');
    }
    bc_text_puts(out, end);
}

static void put_example_text(bc_text *out, const rule_example *example)
{
    bc_text_printf(out, "\nFails (%s):\n\n", form_name(example, EXAMPLE_BAD_FORM));
    put_indented(out, example->field[EXAMPLE_BAD]);
    if (example->field[EXAMPLE_MESSAGE][0]) {
        bc_text_puts(out, "\nand is reported as:\n\n");
        put_indented(out, example->field[EXAMPLE_MESSAGE]);
    }
    bc_text_printf(out, "\nPasses (%s):\n\n", form_name(example, EXAMPLE_GOOD_FORM));
    put_indented(out, example->field[EXAMPLE_GOOD]);
}

static void put_text(bc_text *out, const tv_rule *rule, bool color)
{
    rule_example example;
    bool has_example = find_example(rule, &example);
    bc_text_printf(out, "%s%s%s (%s): %s\n", color ? "\033[1m" : "", rule->id, color ? "\033[0m" : "",
                   severity_name(rule), rule->title);
    if (rule->text[0]) {
        bc_text_char(out, '\n');
        put_wrapped(out, rule->text, TERMINAL_COLUMNS, 0, "\n");
    }
    if (rule->help[0])
        bc_text_printf(out, "\nhelp: %s\n", rule->help);
    if (has_example)
        put_example_text(out, &example);
}

/* ---- markdown ---- */

static const char *group_name(char letter)
{
    switch (letter) {
    case 'F': return "F: container and encoding";
    case 'T': return "T: types";
    case 'V': return "V: operations";
    case 'G': return "G: targets";
    case 'W': return "W: writing and converting";
    case 'X': return "X: stops while running";
    case 'C': return "C: calls";
    case 'L': return "L: driver, cache and launches";
    case 'A': return "A: assembly text";
    default: return "Other";
    }
}

static void put_code(bc_text *out, const char *title, bool is_bytes, const char *text)
{
    bc_text_printf(out, "\n%s%s:\n\n```%s\n%s```\n", title, is_bytes ? " (annotated bytes)" : "",
                   is_bytes ? "text" : "mlir", text);
}

static void put_markdown(bc_text *out, const tv_rule *rule)
{
    rule_example example;
    bool has_example = find_example(rule, &example);
    bc_text_printf(out, "### %s\n\n**%s** (%s)\n", rule->id, rule->title, severity_name(rule));
    if (rule->text[0]) {
        bc_text_char(out, '\n');
        put_wrapped(out, rule->text, MARKDOWN_COLUMNS, 0, "\n");
    }
    if (rule->help[0]) {
        bc_text_puts(out, "\nHelp:");
        put_wrapped(out, rule->help, MARKDOWN_COLUMNS - 1, strlen("Help:"), ".\n");
    }
    if (!has_example)
        return;
    put_code(out, "Fails", example.field[EXAMPLE_BAD_FORM][0] != 0, example.field[EXAMPLE_BAD]);
    if (example.field[EXAMPLE_MESSAGE][0])
        bc_text_printf(out, "\n```text\n%s```\n", example.field[EXAMPLE_MESSAGE]);
    put_code(out, "Passes", example.field[EXAMPLE_GOOD_FORM][0] != 0, example.field[EXAMPLE_GOOD]);
}

/* Ids of the references that stand for a fact which has another id here. */
static void put_aliases_markdown(bc_text *out)
{
    const tv_rule *rule;
    const char *alias;
    bc_text_puts(out, "\n## Other ids\n\nThe references state some facts more than once; here each has one id.\n\n"
                      "| id | see |\n| --- | --- |\n");
    for (size_t i = 0; (alias = tv_rule_alias_at(i, &rule)) != NULL; i++)
        bc_text_printf(out, "| %s | %s |\n", alias, rule->id);
}

static void put_all_markdown(bc_text *out)
{
    bc_text_puts(out, "# Rules\n\nMade by `make docs` from `bytecode/rules.def` and `tests/rules/`; do not edit.\n"
                      "`tilevm explain RULE` shows the same on a terminal.\n");
    static const char letters[] = "FTVGWXCLA";
    for (const char *letter = letters; *letter; letter++) {
        const tv_rule *rule;
        bool first = true;
        for (size_t i = 0; (rule = tv_rule_at(i)) != NULL; i++) {
            if (rule->id[0] != *letter)
                continue;
            if (first)
                bc_text_printf(out, "\n## %s\n", group_name(*letter));
            first = false;
            bc_text_char(out, '\n');
            put_markdown(out, rule);
        }
    }
    put_aliases_markdown(out);
}

/* ---- JSON ---- */

static void json_example(json_doc *doc, cJSON *item, const rule_example *example, const char *key, rule_field form,
                         rule_field text)
{
    cJSON *part = json_object(doc, item, key);
    json_text(doc, part, "form", example->field[form][0] ? "bytes" : "assembly");
    json_text(doc, part, "text", example->field[text]);
}

static void json_rule(json_doc *doc, cJSON *rules, const tv_rule *rule, bool brief)
{
    rule_example example;
    cJSON *item = json_object(doc, rules, NULL);
    json_text(doc, item, "id", rule->id);
    json_text(doc, item, "severity", severity_name(rule));
    json_text(doc, item, "title", rule->title);
    if (brief)
        return;
    json_text(doc, item, "text", rule->text);
    if (rule->help[0])
        json_text(doc, item, "help", rule->help);
    if (!find_example(rule, &example))
        return;
    json_example(doc, item, &example, "fails", EXAMPLE_BAD_FORM, EXAMPLE_BAD);
    if (example.field[EXAMPLE_MESSAGE][0])
        json_text(doc, item, "report", example.field[EXAMPLE_MESSAGE]);
    json_example(doc, item, &example, "passes", EXAMPLE_GOOD_FORM, EXAMPLE_GOOD);
}

/* ---- the command ---- */

static void put_list(bc_text *out)
{
    const tv_rule *rule;
    for (size_t i = 0; (rule = tv_rule_at(i)) != NULL; i++)
        bc_text_printf(out, "%-12s%s\n", rule->id, rule->title);
}

static void put_rule(bc_text *out, const tv_rule *rule, unsigned format, bool color)
{
    if (out->len)
        bc_text_char(out, '\n');
    if (format == FORMAT_MARKDOWN)
        put_markdown(out, rule);
    else
        put_text(out, rule, color);
}

static int write_text(const bc_text *text, const char *path, bool color)
{
    cli_out out;
    if (text->failed)
        return cli_error("out of memory");
    if (!cli_out_open(&out, path))
        return CLI_ERROR;
    cli_out_show(&out, bc_text_get(text), color);
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

typedef struct explain_settings {
    bool list, all;
    unsigned format;
    const char *output;
} explain_settings;

static int explain_json(const explain_settings *settings, char **ids, int id_count)
{
    json_doc doc = {0};
    cli_out out;
    cJSON *rules = json_array(&doc, json_document(&doc, "explain"), "rules");
    const tv_rule *rule = NULL;
    bool every = settings->list || settings->all;
    for (size_t i = 0; every && (rule = tv_rule_at(i)) != NULL; i++)
        json_rule(&doc, rules, rule, !settings->all);
    for (int i = 0; !every && i < id_count && (rule = find_rule(ids[i])) != NULL; i++)
        json_rule(&doc, rules, rule, false);
    if (!cli_out_open(&out, settings->output))
        return CLI_ERROR;
    if (json_finish(&doc, &out))
        return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
    cli_out_abort(&out);
    return cli_error("out of memory");
}

/* Are there ids, and are all of them known? */
static int check_ids(cli_args *args, const explain_settings *settings, char **ids, int id_count)
{
    if (settings->list || settings->all)
        return CLI_OK;
    for (int i = 0; i < id_count; i++)
        if (!find_rule(ids[i]))
            return no_such_rule(args, ids[i]);
    return id_count ? CLI_OK : cli_usage(args, "no rule was given; 'tilevm explain --list' lists them");
}

static int explain(cli_args *args, const explain_settings *settings, char **ids, int id_count, bc_text *text)
{
    bool color = !settings->output && cli_use_color(args->color, stdout);
    const tv_rule *rule;
    if (settings->list) {
        put_list(text);
    } else if (settings->all && settings->format == FORMAT_MARKDOWN) {
        put_all_markdown(text);
    } else if (settings->all) {
        for (size_t i = 0; (rule = tv_rule_at(i)) != NULL; i++)
            put_rule(text, rule, settings->format, color);
    } else {
        for (int i = 0; i < id_count; i++)
            put_rule(text, find_rule(ids[i]), settings->format, color);
    }
    return write_text(text, settings->output, color);
}

static int run(cli_args *args)
{
    explain_settings settings = {0};
    char **ids = args->argv; /* operands are moved to the front: they never outnumber what was read */
    int id_count = 0;
    const char *value;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        switch (id) {
        case OPT_LIST: settings.list = true; break;
        case OPT_ALL: settings.all = true; break;
        case OPT_FORMAT:
            if (!cli_choice(args, "--format", value, FORMATS, &settings.format))
                return args->exit_code;
            break;
        case OPT_JSON: settings.format = FORMAT_JSON; break;
        case OPT_OUTPUT: settings.output = value; break;
        case CLI_OPERAND: ids[id_count++] = args->argv[args->next - 1]; break;
        default: return args->exit_code;
        }
    }
    int code = check_ids(args, &settings, ids, id_count);
    if (code != CLI_OK)
        return code;
    if (settings.format == FORMAT_JSON)
        return explain_json(&settings, ids, id_count);
    bc_text text;
    bc_text_init(&text, NULL);
    code = explain(args, &settings, ids, id_count, &text);
    bc_text_release(&text);
    return code;
}
