/* Records and counts the findings of many files. */
#include "tools/tilevm/report/report.h"

#include <stdlib.h>

void report_file_init(report_file *file, const char *path)
{
    *file = (report_file){.path = path};
    bc_arena_init(&file->arena, NULL, 0);
}

void report_file_release(report_file *file)
{
    bc_arena_release(&file->arena);
    free(file->problem);
    free(file->output);
}

static void copy_diag(bc_arena *arena, const tv_diag *diag, tv_diag *copy)
{
    *copy = *diag; /* the rule id is a constant */
    copy->message = bc_arena_dup(arena, diag->message);
    copy->function = bc_arena_dup(arena, diag->function);
    copy->op = bc_arena_dup(arena, diag->op);
    copy->file = bc_arena_dup(arena, diag->file);
    copy->inlined_file = bc_arena_dup(arena, diag->inlined_file);
    copy->op_text = bc_arena_dup(arena, diag->op_text);
    copy->help = bc_arena_dup(arena, diag->help);
    copy->other = NULL;
}

static void keep(void *user, const tv_diag *diag)
{
    report_file *file = user;
    bc_arena *arena = &file->arena;
    suppression *s = file->suppressions ? suppress_find(file->suppressions, diag) : NULL;
    file->errors += !s && diag->severity == TV_ERROR;
    file->warnings += !s && diag->severity == TV_WARNING;
    file->suppressed += s != NULL;
    if (!s && file->told.report)
        file->told.report(file->told.user, diag);
    tv_diag *diags = bc_grow(arena, file->diags, file->count, &file->capacity, tv_diag);
    suppression **by = bc_grow(arena, file->by, file->count, &file->by_capacity, suppression *);
    if (!diags || !by) {
        file->lost = true;
        return;
    }
    file->diags = diags;
    file->by = by;
    by[file->count] = s;
    tv_diag *copy = &diags[file->count++];
    copy_diag(arena, diag, copy);
    if (diag->other) {
        tv_diag *other = bc_new(arena, tv_diag, 1);
        copy->other = other;
        if (other)
            copy_diag(arena, diag->other, other);
    }
    file->lost |= arena->failed;
}

void report_unsuppress(report_file *file)
{
    size_t i = file->count;
    while (i-- > 0)
        if (file->diags[i].severity == TV_ERROR) {
            suppression *s = file->by[i];
            if (!s)
                return;
            s->uses--;
            file->suppressed--;
            file->errors++;
            file->by[i] = NULL;
            if (file->told.report)
                file->told.report(file->told.user, &file->diags[i]);
            return;
        }
}

tv_sink report_file_sink(report_file *file)
{
    return (tv_sink){.user = file, .report = keep};
}

void report_count(const report_file *files, size_t count, report_totals *out)
{
    report_totals totals = {.files = count};
    for (size_t i = 0; i < count; i++) {
        totals.images += files[i].image;
        totals.valid += files[i].outcome == REPORT_VALID;
        totals.invalid += files[i].outcome == REPORT_INVALID;
        totals.unreadable += files[i].outcome == REPORT_UNREADABLE;
        totals.errors += files[i].errors;
        totals.warnings += files[i].warnings;
    }
    *out = totals;
}

const char *report_problem(const report_file *file)
{
    return file->outcome != REPORT_UNREADABLE ? NULL : file->problem ? file->problem : "out of memory";
}

const char *report_severity(tv_severity severity)
{
    static const char *const names[] = {[TV_ERROR] = "error", [TV_WARNING] = "warning", [TV_NOTE] = "note"};
    return names[severity];
}

const char *report_outcome_name(report_outcome outcome)
{
    static const char *const names[] = {
        [REPORT_VALID] = "valid", [REPORT_INVALID] = "invalid", [REPORT_UNREADABLE] = "unreadable"};
    return names[outcome];
}
