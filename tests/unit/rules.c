/* The rule table as a document: ids are well formed and distinct, texts are there and in one form. */
#include <ctype.h>
#include <string.h>

#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

/* A letter, then groups of letters or digits after dashes: F-001, V-FLT-02. */
static bool is_id(const char *id)
{
    size_t groups = 0;
    if (!isupper((unsigned char)*id++))
        return false;
    while (*id == '-') {
        const char *group = ++id;
        while (isupper((unsigned char)*id) || isdigit((unsigned char)*id))
            id++;
        if (id == group)
            return false;
        groups++;
    }
    return *id == 0 && groups >= 1 && isdigit((unsigned char)id[-1]);
}

static bool ends_with(const char *s, char c)
{
    size_t len = strlen(s);
    return len && s[len - 1] == c;
}

int main(void)
{
    size_t count = 0;
    for (const tv_rule *rule; (rule = tv_rule_at(count)) != NULL; count++) {
        CHECK_MSG(is_id(rule->id), "%s", rule->id);
        CHECK_MSG(tv_rule_find(rule->id) == rule, "%s stands twice", rule->id);
        CHECK_MSG(rule->title[0] && strlen(rule->title) <= 80 && !ends_with(rule->title, '.'), "%s: title", rule->id);
        CHECK_MSG(ends_with(rule->text, '.'), "%s: text", rule->id);
        CHECK_MSG(!ends_with(rule->help, '.') && !isupper((unsigned char)rule->help[0]), "%s: help", rule->id);
    }
    size_t others = 0;
    const tv_rule *rule;
    for (const char *id; (id = tv_rule_alias_at(others, &rule)) != NULL; others++) {
        CHECK_MSG(is_id(id), "%s", id);
        CHECK_MSG(tv_rule_find(id) == rule, "%s is another rule", id);
        CHECK_MSG(strcmp(id, rule->id) != 0, "%s stands for itself", id);
    }
    CHECK_MSG(others > 20, "%zu other ids", others);
    CHECK_MSG(count > 100, "%zu rules", count);
    CHECK(tv_rule_find("F-000") == NULL && tv_rule_find("") == NULL);
    return TEST_END("rules");
}
