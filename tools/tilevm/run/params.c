/* The parameters of kernels as text, for `tilevm run` without arguments. */
#include "bytecode/base/visible.h"
#include "tools/tilevm/run/run.h"

static void put_param(bc_text *out, const tv_param *param, unsigned depth)
{
    bc_text_printf(out, "%*s%s  ", (int)(2 + 2 * depth), "", param->name);
    if (tv_param_print(param, (tv_writer){.user = out, .write = bc_text_append}) != TV_OK)
        out->failed = true;
    bc_text_char(out, '\n');
    if (param->kind == TV_PARAM_TUPLE || param->kind == TV_PARAM_STRUCT)
        for (size_t i = 0; i < param->item_count; i++)
            put_param(out, &param->items[i], depth + 1);
}

static tv_status put_entry(const run_job *job, size_t entry, bc_text *out)
{
    tv_signature *signature;
    tv_str symbol = tv_module_entry_name(job->module, entry);
    TV_TRY(tv_signature_of_entry(job->module, entry, job->sink, &signature));
    tv_str function = tv_signature_function(signature);
    bc_text_visible(out, function, "");
    if (!bc_str_eq(function, symbol)) {
        bc_text_puts(out, "  ");
        bc_text_visible(out, symbol, "");
    }
    bc_text_char(out, '\n');
    for (size_t i = 0; i < tv_signature_param_count(signature); i++)
        put_param(out, tv_signature_param(signature, i), 0);
    tv_signature_close(signature);
    return TV_OK;
}

int run_print_params(const run_job *job, size_t entry)
{
    bc_text text;
    tv_status status = TV_OK;
    bc_text_init(&text, NULL);
    for (size_t i = 0; i < tv_module_entry_count(job->module) && status == TV_OK; i++)
        if (entry == SIZE_MAX || i == entry)
            status = put_entry(job, i, &text);
    if (status == TV_OK && text.failed)
        status = TV_NO_MEMORY;
    if (status == TV_OK)
        cli_show(stdout, bc_text_get(&text), false);
    bc_text_release(&text);
    return cli_exit_of(status, job->options.path);
}
