/* The plans of a kernel that were weighed, and why better forms were not taken, as JSON. */
#include "tools/tilevm/page/page.h"

static void add_loop(json_doc *doc, cJSON *list, const cg_loop_candidate *loop)
{
    cJSON *item = json_object(doc, list, NULL);
    json_uint(doc, item, "offset", loop->offset);
    json_text(doc, item, "op", loop->op);
    json_text(doc, item, "route", loop->route);
    if (loop->product)
        json_text(doc, item, "product", loop->product);
    json_uint(doc, item, "loads", loop->loads);
    json_uint(doc, item, "ahead", loop->ahead);
    json_uint(doc, item, "stages", loop->stages);
    json_uint(doc, item, "bytes_in_flight", loop->in_flight);
    json_real(doc, item, "cycles", loop->cycles);
    if (loop->iterations >= 0)
        json_real(doc, item, "iterations", loop->iterations);
    json_text(doc, item, "bound", loop->bound);
}

static void add_plan(json_doc *doc, cJSON *list, const cg_candidate *plan)
{
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "name", plan->name);
    json_bool(doc, item, "taken", plan->chosen);
    if (plan->needs)
        json_text(doc, item, "needs", plan->needs);
    json_uint(doc, item, "threads", plan->threads);
    json_uint(doc, item, "producers", plan->producers);
    json_uint(doc, item, "registers", plan->registers);
    json_uint(doc, item, "shared_bytes", plan->shared);
    json_uint(doc, item, "blocks", plan->blocks);
    json_uint(doc, item, "cluster", plan->cluster);
    json_bool(doc, item, "persistent", plan->persistent);
    if (plan->us >= 0)
        json_real(doc, item, "microseconds", plan->us);
    json_real(doc, item, "cycles", plan->cycles);
    json_text(doc, item, "bound", plan->bound);
    cJSON *loops = json_array(doc, item, "loops");
    for (uint32_t i = 0; i < plan->loop_count; i++)
        add_loop(doc, loops, &plan->loops[i]);
}

static void add_obstacle(json_doc *doc, cJSON *list, const cg_obstacle *obstacle)
{
    cJSON *item = json_object(doc, list, NULL);
    if (obstacle->offset != TV_NO_OFFSET)
        json_uint(doc, item, "offset", obstacle->offset);
    if (obstacle->op)
        json_text(doc, item, "op", obstacle->op);
    json_text(doc, item, "remark", obstacle->remark);
    json_text(doc, item, "why", obstacle->why);
    if (obstacle->remedy)
        json_text(doc, item, "remedy", obstacle->remedy);
}

void page_add_plans(json_doc *doc, cJSON *kernel, const cg_explanation *explanation)
{
    cJSON *plans = json_array(doc, kernel, "plans"), *obstacles = json_array(doc, kernel, "obstacles");
    for (uint32_t i = 0; i < explanation->plan_count; i++)
        add_plan(doc, plans, &explanation->plans[i]);
    for (uint32_t i = 0; i < explanation->obstacle_count; i++)
        add_obstacle(doc, obstacles, &explanation->obstacles[i]);
}
