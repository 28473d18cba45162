/* A run on the virtual machine in the document: what it did, the arrays, the order of accesses, and findings. */
#include "bytecode/module.h"
#include "tools/tilevm/page/page.h"

static void add_block(json_doc *doc, cJSON *parent, const uint32_t block[3])
{
    cJSON *list = json_array(doc, parent, "block");
    for (unsigned i = 0; i < 3; i++)
        json_uint(doc, list, NULL, block[i]);
}

/* ---- figures ---- */

static void add_stats(json_doc *doc, cJSON *run, const run_job *job)
{
    const tv_vm_stats *s = &job->stats;
    cJSON *item = json_object(doc, run, "stats"), *grid = json_array(doc, run, "grid");
    for (unsigned i = 0; i < 3; i++)
        json_uint(doc, grid, NULL, job->options.grid[i]);
    json_bool(doc, run, "made_up", job->synthesised);
    json_uint(doc, item, "blocks", s->blocks);
    json_uint(doc, item, "ops", s->ops);
    json_uint(doc, item, "bytes_loaded", s->bytes_loaded);
    json_uint(doc, item, "bytes_stored", s->bytes_stored);
    json_uint(doc, item, "flops", s->flops);
    json_real(doc, item, "seconds", s->seconds);
}

static void add_counts(json_doc *doc, cJSON *run, const run_job *job)
{
    cJSON *list = json_array(doc, run, "counts");
    uint64_t runs;
    for (uint32_t i = 0; i < PAGE_MOST_OPS && tv_vm_op_runs_at(job->vm, i, &runs); i++)
        json_uint(doc, list, NULL, runs);
}

static void add_arrays(json_doc *doc, cJSON *run, const run_job *job)
{
    enum { MOST_ARRAYS = 64 };
    cJSON *list = json_array(doc, run, "arrays");
    size_t count = 0;
    for (size_t i = 0; i < job->set.count; i++) {
        const arg_value *value = &job->set.values[i];
        bool written = value->array_count && arg_value_fingerprint(value) != value->before;
        for (size_t k = 0; k < value->array_count && count < MOST_ARRAYS; k++, count++) {
            char name[128];
            cJSON *item = json_object(doc, list, NULL);
            run_array_name(value, k, name, sizeof name);
            json_text(doc, item, "name", name);
            json_text(doc, item, "element", tv_dtype_name(value->arrays[k].dtype));
            json_bool(doc, item, "written", written);
            page_add_heat(doc, item, &value->arrays[k], PAGE_MOST_CELLS);
        }
    }
}

/* ---- order ---- */

/* By id, the op that gives a value, or in whose region it is an argument, by position; NULL: out of memory. */
static uint32_t *find_makers(bc_arena *arena, const bc_function *f)
{
    uint32_t *makers = bc_new(arena, uint32_t, f->value_count + 1u), position = 0;
    for (const bc_op *op = f->body->first; op && makers; op = bc_next_op(op, f->body), position++) {
        for (uint32_t i = 0; i < op->result_count; i++)
            makers[bc_results(op)[i].id] = position;
        for (uint32_t r = 0; r < op->region_count; r++)
            for (uint32_t i = 0; bc_regions(op)[r] && i < bc_regions(op)[r]->arg_count; i++)
                makers[bc_regions(op)[r]->args[i].id] = position;
    }
    return makers;
}

/* Which ops each op follows by a token. */
static void add_tokens(json_doc *doc, cJSON *run, run_job *job)
{
    const bc_function *f = bc_entry_at(job->module, job->entry);
    const uint32_t *makers = find_makers(&job->arena, f);
    cJSON *list = json_array(doc, run, "tokens");
    uint32_t position = 0;
    doc->failed |= !makers;
    for (const bc_op *op = f->body->first; op && makers; op = bc_next_op(op, f->body), position++)
        for (uint32_t i = 0; i < op->operand_count && position < PAGE_MOST_OPS; i++) {
            const bc_value *v = bc_operands(op)[i];
            if (v->type->kind != BC_TOKEN)
                continue;
            cJSON *pair = json_array(doc, list, NULL);
            json_uint(doc, pair, NULL, makers[v->id]);
            json_uint(doc, pair, NULL, position);
        }
}

static void add_access(json_doc *doc, cJSON *parent, const char *key, const vm_access_of *access)
{
    cJSON *item = json_object(doc, parent, key);
    add_block(doc, item, access->block);
    json_uint(doc, item, "op", access->op);
    json_uint(doc, item, "time", access->time);
    json_text(doc, item, "does", access->reads && access->writes ? "updates" : access->writes ? "writes" : "reads");
}

static void add_conflict(json_doc *doc, cJSON *list, const vm_conflict *c)
{
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "rule", c->rule);
    json_text(doc, item, "place", c->place);
    add_access(doc, item, "first", &c->first);
    add_access(doc, item, "second", &c->second);
    cJSON *steps = json_array(doc, item, "schedule");
    for (size_t i = 0; i < c->step_count; i++) {
        cJSON *step = json_object(doc, steps, NULL);
        add_block(doc, step, c->steps[i].block);
        json_uint(doc, step, "op", c->steps[i].op);
        json_uint(doc, step, "times", c->steps[i].times);
    }
    json_bool(doc, item, "first_ran", c->first_ran);
    if (c->cut)
        json_bool(doc, item, "schedule_cut", true);
}

static void add_watched(json_doc *doc, cJSON *run, const page_watch *watch)
{
    cJSON *races = json_array(doc, run, "races"), *seen = json_array(doc, run, "seen");
    for (size_t i = 0; i < watch->conflict_count; i++)
        add_conflict(doc, races, &watch->conflicts[i]);
    for (size_t i = 0; i < watch->seen_count; i++) {
        cJSON *item = json_object(doc, seen, NULL);
        add_access(doc, item, "release", &watch->seen[i].release);
        add_access(doc, item, "acquire", &watch->seen[i].acquire);
    }
    if (watch->seen_cut)
        json_bool(doc, run, "seen_cut", true);
    doc->failed |= watch->failed;
}

cJSON *page_add_run(json_doc *doc, cJSON *root, run_job *job, const page_watch *watch)
{
    cJSON *run = json_object(doc, root, "run");
    json_text(doc, run, "kernel", job->symbol);
    add_stats(doc, run, job);
    add_counts(doc, run, job);
    add_arrays(doc, run, job);
    add_tokens(doc, run, job);
    add_watched(doc, run, watch);
    report_json_diags(doc, run, &job->report);
    doc->failed |= job->report.lost;
    return run;
}
