/* --coverage: which ops of the kernel ran, into a file. */
#include "bytecode/module.h"
#include "tools/tilevm/report/coverage.h"
#include "tools/tilevm/run/run.h"

/* False: out of memory. */
static bool collect(const run_job *job, coverage *all)
{
    const bc_function *f = bc_entry_at(job->module, job->entry);
    const bc_block *body = f->body;
    coverage_kernel *kernel =
        coverage_kernel_of(all, bc_str(cli_shown_path(job->options.path)), bc_str(job->symbol), f->op_count);
    uint32_t index = 0;
    for (const bc_op *op = kernel ? body->first : NULL; op; op = bc_next_op(op, body), index++) {
        coverage_op *covered = &kernel->ops[index];
        covered->name = bc_str(bc_info(op)->name);
        tv_vm_op_runs_at(job->vm, index, &covered->runs);
        bc_source_place(job->module, op->loc, &covered->file, &covered->line, &covered->column);
    }
    return kernel != NULL;
}

int run_coverage_write(const run_job *job)
{
    coverage all;
    coverage_init(&all);
    int code = collect(job, &all) ? coverage_write(&all, job->options.coverage) : cli_error("out of memory");
    coverage_release(&all);
    return code;
}
