/* Findings that made-up arguments may have caused: reported as such, and not counted as errors of the kernel. */
#include "tools/tilevm/run/run.h"

static void report(void *user, const tv_diag *diag)
{
    run_job *job = user;
    bc_text text;
    tv_diag excused;
    bc_text_init(&text, NULL);
    if (arg_study_excuse(&job->study, bc_entry_at(job->module, job->entry), diag, job->excused != 0, &text, &excused)) {
        excused.severity = job->options.vm.checks ? TV_NOTE : diag->severity;
        job->excused++;
        job->told.report(job->told.user, &excused);
    } else {
        job->blamed += diag->severity == TV_ERROR;
        job->told.report(job->told.user, diag);
    }
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
