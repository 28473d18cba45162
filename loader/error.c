/* The error codes of the driver: their names, the usual remedies, and the rules that they stand for. */
#include "loader/driver.h"

#include <stddef.h>

static const struct {
    tvResult code;
    ld_rule rule;
    const char *name, *help;
} errors[] = {
#define ERROR(name, code, rule, help) {(tvResult)(code), LD_RULE_##rule, #name, help},
#include "loader/cuda_errors.def"
};

const char *ld_cuda_error_name(tvResult code)
{
    for (size_t i = 0; i < TV_COUNT(errors); i++)
        if (errors[i].code == code)
            return errors[i].name;
    return NULL;
}

const char *ld_cuda_error_help(tvResult code)
{
    for (size_t i = 0; i < TV_COUNT(errors); i++)
        if (errors[i].code == code)
            return errors[i].help;
    return "";
}

ld_rule ld_cuda_error_rule(tvResult code)
{
    for (size_t i = 0; i < TV_COUNT(errors); i++)
        if (errors[i].code == code)
            return errors[i].rule;
    return LD_RULE_NONE;
}
