/* Reports the compared plans as remarks. */
#include "codegen/explain.h"
#include "codegen/kernel/remarks.h"

typedef struct reporting {
    const cg_explanation *x;
    tv_remark_sink sink;
} reporting;

/* Sends a remark about the op at that offset. */
static void report(const reporting *r, uint64_t offset, cg_remark_id id, tv_remark_kind kind, bc_text *text)
{
    cg_remark_place place = {.m = r->x->m, .function = r->x->kernel, .offset = offset, .loc = r->x->loc};
    for (uint32_t i = 0; i < r->x->op_count; i++)
        if (r->x->ops[i].offset == offset) {
            place.op = r->x->ops[i].op;
            place.loc = r->x->ops[i].loc;
        }
    cg_remark_at(&place, id, kind, r->sink, text);
}

/* "TMA, 6 stages" ... */
static void put_loop(const cg_loop_candidate *loop, bc_text *out)
{
    bc_text_puts(out, loop->route);
    if (loop->stages)
        bc_text_printf(out, ", %u stage%s", loop->stages, loop->stages == 1 ? "" : "s");
    if (loop->loads && loop->ahead < loop->loads)
        bc_text_printf(out, ", %u of %u loads ahead", loop->ahead, loop->loads);
    if (loop->product)
        bc_text_printf(out, ", %s", loop->product);
}

static void put_kernel(const cg_candidate *plan, bc_text *out)
{
    uint32_t warps = (plan->threads - plan->producers) / 32;
    bc_text_printf(out, "%u warp%s", warps, warps == 1 ? "" : "s");
    if (plan->producers)
        bc_text_printf(out, " and %u that copy", plan->producers / 32);
    bc_text_printf(out, ", %u block%s on a multiprocessor", plan->blocks, plan->blocks == 1 ? "" : "s");
    if (plan->cluster > 1)
        bc_text_printf(out, ", %u in a cluster", plan->cluster);
    if (plan->persistent)
        bc_text_puts(out, ", persistent");
}

static void put_rank(const cg_candidate *plan, uint32_t rank, bc_text *out)
{
    const char *state = plan->chosen ? "taken" : plan->needs ? "not legal" : "legal";
    bc_text_printf(out, "plan {Rank=%u} ({Name=%s}, {State=%s}): ", rank, plan->name, state);
}

static void put_needs(const cg_candidate *plan, bc_text *out)
{
    if (plan->needs)
        bc_text_printf(out, "; legal if {Needs=%s}", plan->needs);
}

static void report_kernel_plan(const reporting *r, const cg_candidate *plan, uint32_t rank, bc_text *text)
{
    bc_text_clear(text);
    put_rank(plan, rank, text);
    bc_text_puts(text, "{Plan=");
    put_kernel(plan, text);
    bc_text_puts(text, "}");
    if (plan->us >= 0)
        bc_text_printf(text, "; {Microseconds=%.1f} us", plan->us);
    else
        bc_text_printf(text, "; {Cycles=%.0f} cycles per block", plan->cycles);
    bc_text_printf(text, ", bound by {Bound=%s}", plan->bound);
    put_needs(plan, text);
    report(r, TV_NO_OFFSET, CG_REMARK_Plan, TV_REMARK_ANALYSIS, text);
}

static void report_loop_plan(const reporting *r, const cg_candidate *plan, const cg_loop_candidate *loop, uint32_t rank,
                             bc_text *text)
{
    bc_text_clear(text);
    put_rank(plan, rank, text);
    bc_text_puts(text, "{Plan=");
    put_loop(loop, text);
    bc_text_printf(text, "}; {Cycles=%.0f} cycles per iteration of a block, bound by {Bound=%s}", loop->cycles,
                   loop->bound);
    put_needs(plan, text);
    report(r, loop->offset, CG_REMARK_LoopPlan, TV_REMARK_ANALYSIS, text);
}

/* Reports the best plans, and the chosen one if it is not among them. */
static void report_kernel(const reporting *r, bc_text *text)
{
    for (uint32_t i = 0; i < r->x->plan_count; i++)
        if (i < CG_BEST_PLANS || r->x->plans[i].chosen)
            report_kernel_plan(r, &r->x->plans[i], i + 1, text);
}

static bool has_products(const cg_candidate *plan)
{
    bool found = false;
    for (uint32_t i = 0; i < plan->loop_count; i++)
        found = found || plan->loops[i].product;
    return found;
}

static void put_rule(bool differs, const char *rule, const char **between, bc_text *out)
{
    if (!differs)
        return;
    bc_text_printf(out, "%s%s", *between, rule);
    *between = "; ";
}

/* Says why the plan that is predicted to be the fastest one is not taken. */
static void report_not_taken(const reporting *r, bc_text *text)
{
    double gain;
    const char *between = "";
    const cg_candidate *plan = cg_better_plan(r->x, &gain);
    if (!plan)
        return;
    const cg_choices *other = &plan->choices;
    const bool multiplies = has_products(plan);
    bc_text_clear(text);
    bc_text_printf(text,
                   "plan {Rank=%u} is predicted to be {Gain=%.2f} times as fast as the one that is taken, but rules "
                   "decide here, not the model: {Rule=",
                   (uint32_t)(plan - r->x->plans) + 1, gain);
#define DECIDER(choice, when, rule) put_rule(other->choice && (when), rule, &between, text);
#include "codegen/deciders.def"
    bc_text_puts(text, "}");
    report(r, TV_NO_OFFSET, CG_REMARK_NotTaken, TV_REMARK_ANALYSIS, text);
}

static void report_loop(const reporting *r, uint32_t position, bc_text *text)
{
    uint64_t offset = r->x->plans[0].loops[position].offset;
    uint32_t best[CG_MOST_PLANS], count = cg_best_of_loop(r->x, offset, CG_MOST_PLANS, best);
    for (uint32_t i = 0; i < count; i++) {
        const cg_candidate *plan = &r->x->plans[best[i]];
        if (i < CG_BEST_PLANS || plan->chosen)
            report_loop_plan(r, plan, &plan->loops[position], i + 1, text);
    }
}

static void report_obstacle(const reporting *r, const cg_obstacle *o, bc_text *text)
{
    bc_text_clear(text);
    bc_text_printf(text, "{Form=%s}: {Why=%s}; remedy: {Remedy=%s}", o->remark, o->why, o->remedy);
    report(r, o->offset, CG_REMARK_Remedy, TV_REMARK_MISSED, text);
}

void cg_report_explanation(const cg_explanation *x, tv_remark_sink sink)
{
    const reporting r = {x, sink};
    bc_text text;
    if (!sink.report || !x->plan_count)
        return;
    bc_text_init(&text, &x->arena.allocator);
    report_kernel(&r, &text);
    report_not_taken(&r, &text);
    for (uint32_t i = 0; i < x->plans[0].loop_count; i++)
        report_loop(&r, i, &text);
    for (uint32_t i = 0; i < x->obstacle_count; i++)
        if (x->obstacles[i].remedy)
            report_obstacle(&r, &x->obstacles[i], &text);
    bc_text_release(&text);
}
