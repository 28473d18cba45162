/* Findings that made-up arguments may have led to: told as such, and not held against the kernel. */
#include <string.h>

#include "tools/tilevm/run/run.h"

/* What follows from another finding has no op: such a result is excused by the finding. */
static bool is_excused(const run_job *job, const tv_diag *diag)
{
    bool about_kernel = diag->op.len && diag->op_index < bc_entry_at(job->module, job->entry)->op_count;
    if (!about_kernel)
        return job->excused && (strcmp(diag->rule, "X-ORD-01") == 0 || strcmp(diag->rule, "X-OPN-01") == 0);
    return arg_study_excuses(&job->study, diag->rule, diag->op_index)
           || (diag->other && arg_study_excuses(&job->study, diag->rule, diag->other->op_index));
}

static void report(void *user, const tv_diag *diag)
{
    run_job *job = user;
    bc_text text;
    if (!is_excused(job, diag)) {
        job->blamed += diag->severity == TV_ERROR;
        job->told.report(job->told.user, diag);
        return;
    }
    bc_text_init(&text, NULL);
    bc_text_str(&text, diag->message);
    bc_text_puts(&text, "; the arguments were generated");
    tv_diag excused = *diag;
    excused.message = text.failed ? diag->message : bc_text_get(&text);
    excused.help = bc_str(text.failed ? "out of memory"
                                      : "generated arguments may be the cause: pass arguments that the kernel expects");
    excused.severity = job->options.vm.checks ? TV_NOTE : diag->severity;
    job->excused++;
    job->told.report(job->told.user, &excused);
    bc_text_release(&text);
}

void run_made_up_listen(run_job *job)
{
    job->told = job->sink;
    job->sink = (tv_sink){.user = job, .report = report};
}

tv_status run_made_up_status(run_job *job, tv_status status)
{
    job->broke_off = status == TV_TRAP && job->excused && !job->blamed;
    return status == TV_INVALID && job->excused && !job->blamed ? TV_OK : status;
}
