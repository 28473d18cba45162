/* Compares the plans of a kernel; see the header. It first tries each single choice instead of a decision, then
   promises that the kernel lacks, then each choice combined with the best one: a coordinate search. Plans with the
   same outcome count once. */
#include "codegen/explain.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/weigh.h"

#define GAIN 0.99 /* of the cost: smaller differences are within the error of the model */

/* ---- comparing ---- */

static double cost_of(const cg_candidate *plan, bool by_time)
{
    return by_time ? plan->us : plan->cycles;
}

/* Is the time of all plans known? */
static bool is_timed(const cg_explanation *e)
{
    for (uint32_t i = 0; i < e->plan_count; i++)
        if (e->plans[i].us < 0)
            return false;
    return true;
}

static bool is_same_loop(const cg_loop_candidate *a, const cg_loop_candidate *b)
{
    bool multiplies = a->product && b->product;
    return strcmp(a->route, b->route) == 0 && a->stages == b->stages && a->in_flight == b->in_flight
           && a->ahead == b->ahead && a->cycles == b->cycles
           && (multiplies ? strcmp(a->product, b->product) == 0 : a->product == b->product);
}

static bool is_same(const cg_candidate *a, const cg_candidate *b)
{
    bool same = a->threads == b->threads && a->producers == b->producers && a->registers == b->registers
                && a->shared == b->shared && a->blocks == b->blocks && a->cluster == b->cluster
                && a->persistent == b->persistent && a->us == b->us && a->cycles == b->cycles;
    for (uint32_t i = 0; same && i < a->loop_count; i++)
        same = is_same_loop(&a->loops[i], &b->loops[i]);
    return same;
}

/* ---- names ---- */

static void put(bc_text *out, const char *words)
{
    bc_text_printf(out, "%s%s", out->len ? ", " : "", words);
}

static void put_count(bc_text *out, uint32_t count, const char *one, const char *many)
{
    if (count)
        bc_text_printf(out, "%s%u %s", out->len ? ", " : "", count, count == 1 ? one : many);
}

static void put_name(const cg_choices *c, bc_text *out)
{
    put_count(out, c->warps, "warp", "warps");
    put_count(out, c->occupancy, "block on a multiprocessor", "blocks on a multiprocessor");
    put_count(out, c->cluster, "block in a cluster", "blocks in a cluster");
    put_count(out, c->stages, "stage at most", "stages at most");
    if (c->groups == CG_NEVER)
        put(out, "no warp specialisation");
    if (c->maps)
        put(out, c->maps == CG_NEVER ? "no TMA" : "TMA");
    if (c->persistent == CG_NEVER)
        put(out, "not persistent");
    if (c->swap == CG_NEVER)
        put(out, "operands not swapped");
    if (c->pair == CG_NEVER)
        put(out, "no pairs of blocks");
    if (c->slices == CG_NEVER)
        put(out, "no slices of K");
    if (c->registers)
        put(out, c->registers == CG_NEVER ? "no loads ahead into registers" : "short loads ahead into registers");
    if (c->bytes)
        put(out, "bytes as f32 by additions");
    if (c->assumed_count)
        put(out, "with promises");
}

static void put_needs(const cg_weighing *x, const cg_choices *c, bc_text *out)
{
    for (uint32_t i = 0; i < c->assumed_count; i++) {
        const cg_assumption *a = &c->assumed[i];
        bool is_pointer = bc_elem_kind(x->f->body->args[a->parameter].type) == BC_PTR;
        bc_text_printf(out, "%sparameter %u is", i ? "; " : "", a->parameter);
        if (a->multiple)
            bc_text_puts(out, is_pointer ? " aligned to 16 bytes" : " a multiple of 16");
        if (a->non_negative)
            bc_text_puts(out, a->multiple ? " and not negative" : " not negative");
    }
}

static bool name_plan(cg_weighing *x, cg_candidate *plan)
{
    bc_text text;
    bc_text_init(&text, &x->out->arena.allocator);
    put_name(&plan->choices, &text);
    plan->name = text.len ? cg_weighed_text(x, bc_text_get(&text)) : "as compiled";
    bc_text_clear(&text);
    put_needs(x, &plan->choices, &text);
    plan->needs = text.len ? cg_weighed_text(x, bc_text_get(&text)) : NULL;
    bool fine = !text.failed && plan->name && (plan->needs || !plan->choices.assumed_count);
    bc_text_release(&text);
    return fine;
}

/* ---- weighing ---- */

/* Adds the plan that results from the choices if it differs from the earlier ones. If the kernel cannot be compiled
   with these choices, there is no plan. *out_cost: the cost of the plan; 0: there is none. */
static tv_status weigh(cg_weighing *x, const cg_choices *choices, double *out_cost)
{
    cg_explanation *e = x->out;
    cg_candidate plan = {.choices = *choices};
    *out_cost = 0;
    if (e->weighed >= CG_MOST_PLANS)
        return TV_OK;
    tv_status status = cg_weigh_plan(x, &plan);
    e->weighed++;
    if (status == TV_NO_MEMORY || (status != TV_OK && x->first))
        return status;
    if (status != TV_OK)
        return TV_OK;
    *out_cost = cost_of(&plan, e->plan_count ? e->plans[0].us >= 0 : plan.us >= 0);
    for (uint32_t i = 0; i < e->plan_count; i++)
        if (is_same(&plan, &e->plans[i]))
            return TV_OK;
    if (!name_plan(x, &plan))
        return TV_NO_MEMORY;
    e->plans[e->plan_count++] = plan;
    return TV_OK;
}

/* Choices that each change one decision. */
static const cg_choices singles[] = {
    {.warps = 1},
    {.warps = 2},
    {.warps = 4},
    {.warps = 8},
    {.warps = 16},
    {.occupancy = 1},
    {.occupancy = 2},
    {.occupancy = 4},
    {.occupancy = 8},
    {.cluster = 2},
    {.cluster = 4},
    {.stages = 1},
    {.stages = 2},
    {.stages = 3},
    {.stages = 4},
    {.groups = CG_NEVER},
    {.maps = CG_NEVER},
    {.maps = CG_IF_LEGAL},
    {.swap = CG_NEVER},
    {.persistent = CG_NEVER},
    {.registers = CG_NEVER},
    {.pair = CG_NEVER},
    {.slices = CG_NEVER},
    {.bytes = CG_IF_LEGAL},
};

/* Choices that are not weighed: what they change is seldom legal, or not counted by the model. */
static const cg_choices others[] = {
    {.swap = CG_IF_LEGAL},   {.registers = CG_IF_LEGAL},  {.pieces = CG_IF_LEGAL}, {.keys = CG_IF_LEGAL},
    {.strips = CG_IF_LEGAL}, {.correction = CG_IF_LEGAL}, {.spread = CG_NEVER},    {.halves = CG_NEVER},
};

const cg_choices *cg_choice_at(uint32_t i)
{
    if (i < TV_COUNT(singles))
        return &singles[i];
    i -= (uint32_t)TV_COUNT(singles);
    return i < TV_COUNT(others) ? &others[i] : NULL;
}

/* Combines two choices if they are about different decisions. */
static bool join(const cg_choices *a, const cg_choices *b, cg_choices *out)
{
    *out = *a;
#define JOIN(what)          \
    if (a->what && b->what) \
        return false;       \
    out->what = a->what ? a->what : b->what;
    JOIN(warps)
    JOIN(occupancy)
    JOIN(cluster)
    JOIN(pair)
    JOIN(stages)
    JOIN(groups)
    JOIN(maps)
    JOIN(persistent)
    JOIN(swap)
    JOIN(slices)
    JOIN(registers)
    JOIN(bytes)
#undef JOIN
    return true;
}

static const cg_candidate *cheapest(const cg_explanation *e, bool legal)
{
    const cg_candidate *best = NULL;
    bool by_time = is_timed(e);
    for (uint32_t i = 0; i < e->plan_count; i++)
        if (!(legal && e->plans[i].needs) && (!best || cost_of(&e->plans[i], by_time) < cost_of(best, by_time)))
            best = &e->plans[i];
    return best;
}

/* Tries each choice in addition to those of a plan. */
static tv_status weigh_beside(cg_weighing *x, const cg_choices *plan)
{
    for (uint32_t i = 0; i < TV_COUNT(singles); i++) {
        cg_choices both;
        double cost;
        if (join(plan, &singles[i], &both))
            TV_TRY(weigh(x, &both, &cost));
    }
    return TV_OK;
}

/* ---- promises ---- */

/* Can the launch keep the promise, as far as the launch is known? */
static bool is_possible(const cg_weighing *x, uint32_t parameter, bool multiple)
{
    enum { MULTIPLE = 16 };
    if (!x->launch || !x->launch->params || parameter >= x->launch->param_count)
        return true;
    int64_t number = x->launch->params[parameter];
    return multiple ? number % MULTIPLE == 0 : number >= 0;
}

/* Finds all promises that the launch allows: aligned pointers, and 32- and 64-bit integers that are multiples of 16
   and not negative. */
static uint32_t find_promises(const cg_weighing *x, cg_assumption *out)
{
    uint32_t count = 0;
    const bc_block *body = x->f->body;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        const bc_type *type = body->args[i].type;
        if (!bc_is_tile(type) || type->rank)
            continue;
        bc_kind kind = bc_elem_kind(type);
        bool is_pointer = kind == BC_PTR, is_size = bc_kind_in(kind, BC_SET_INT) && bc_kind_bits(kind) >= 32;
        cg_assumption a = {.parameter = i,
                           .multiple = is_pointer || (is_size && is_possible(x, i, true)),
                           .non_negative = is_size && is_possible(x, i, false)};
        if (a.multiple || a.non_negative)
            out[count++] = a;
    }
    return count;
}

/* Drops promises that change nothing. */
static tv_status drop_needless(cg_weighing *x, cg_choices *choices, cg_assumption *kept, double best)
{
    for (uint32_t i = choices->assumed_count; i-- > 0 && x->out->weighed < CG_MOST_PLANS;) {
        cg_assumption without = kept[i];
        double cost;
        memmove(&kept[i], &kept[i + 1], sizeof *kept * (choices->assumed_count - i - 1));
        choices->assumed_count--;
        cg_candidate plan = {.choices = *choices};
        tv_status status = cg_weigh_plan(x, &plan);
        x->out->weighed++;
        if (status == TV_NO_MEMORY)
            return status;
        cost = status == TV_OK ? cost_of(&plan, x->out->plans[0].us >= 0) : best / GAIN;
        if (cost * GAIN < best)
            continue;
        memmove(&kept[i + 1], &kept[i], sizeof *kept * (choices->assumed_count - i));
        kept[i] = without;
        choices->assumed_count++;
    }
    return TV_OK;
}

/* Finds promises that the kernel does not make and that would make it faster. */
static tv_status weigh_promises(cg_weighing *x)
{
    enum { MOST_PARAMETERS = 20 };
    cg_assumption *all = bc_new(&x->out->arena, cg_assumption, x->f->body->arg_count + 1u);
    if (!all)
        return TV_NO_MEMORY;
    cg_choices choices = {.assumed = all, .assumed_count = find_promises(x, all)};
    cg_candidate plan = {.choices = choices};
    if (!choices.assumed_count || choices.assumed_count > MOST_PARAMETERS)
        return TV_OK;
    tv_status status = cg_weigh_plan(x, &plan);
    x->out->weighed++;
    if (status != TV_OK)
        return status == TV_NO_MEMORY ? status : TV_OK;
    bool by_time = x->out->plans[0].us >= 0;
    double cost = cost_of(&plan, by_time);
    if (cost >= cost_of(&x->out->plans[0], by_time) * GAIN)
        return TV_OK;
    TV_TRY(drop_needless(x, &choices, all, cost));
    return weigh(x, &choices, &cost);
}

/* ---- all of it ---- */

static int by_time(const void *a, const void *b)
{
    double left = ((const cg_candidate *)a)->us, right = ((const cg_candidate *)b)->us;
    return (left > right) - (left < right);
}

static int by_cycles(const void *a, const void *b)
{
    double left = ((const cg_candidate *)a)->cycles, right = ((const cg_candidate *)b)->cycles;
    return (left > right) - (left < right);
}

static uint32_t position_of_taken(const cg_explanation *e)
{
    uint32_t at = 0;
    while (!e->plans[at].chosen)
        at++;
    return at;
}

/* Puts the chosen plan first if its cost cannot be distinguished from that of the cheapest one. */
static void prefer_taken(cg_explanation *e)
{
    uint32_t at = position_of_taken(e);
    bool timed = is_timed(e);
    if (cost_of(&e->plans[at], timed) * GAIN > cost_of(&e->plans[0], timed))
        return;
    cg_candidate taken = e->plans[at];
    memmove(&e->plans[1], &e->plans[0], sizeof taken * at);
    e->plans[0] = taken;
}

static tv_status weigh_all(cg_weighing *x)
{
    cg_explanation *e = x->out;
    double cost;
    e->plans = bc_new(&e->arena, cg_candidate, CG_MOST_PLANS);
    if (!e->plans || !cg_find_weighed(x))
        return TV_NO_MEMORY;
    x->first = true;
    TV_TRY(weigh(x, &(cg_choices){.warps = 0}, &cost));
    x->first = false;
    e->plans[0].chosen = true;
    TV_TRY(weigh_beside(x, &(cg_choices){.warps = 0}));
    TV_TRY(weigh_promises(x));
    const cg_candidate *best = cheapest(e, true);
    if (!best->chosen) {
        cg_choices choices = best->choices;
        TV_TRY(weigh_beside(x, &choices));
    }
    qsort(e->plans, e->plan_count, sizeof *e->plans, is_timed(e) ? by_time : by_cycles);
    prefer_taken(e);
    return TV_OK;
}

tv_status cg_explain(const tv_module *m, size_t entry, const tv_compile_options *options, const cg_launch *launch,
                     tv_sink sink, cg_explanation *out)
{
    *out = (cg_explanation){.m = m, .kernel = tv_module_entry_name(m, entry), .loc = bc_entry_at(m, entry)->loc};
    bc_arena_init(&out->arena, &m->arena.allocator, 0);
    cg_weighing x = {
        .m = m, .f = bc_entry_at(m, entry), .options = options, .launch = launch, .sink = sink, .out = out};
    tv_status status = weigh_all(&x);
    if (status == TV_OK && out->arena.failed)
        status = TV_NO_MEMORY;
    if (status != TV_OK)
        cg_explanation_release(out);
    return status;
}

void cg_explanation_release(cg_explanation *x)
{
    bc_arena_release(&x->arena);
    *x = (cg_explanation){.plan_count = 0};
}

const cg_candidate *cg_better_plan(const cg_explanation *x, double *out_gain)
{
    const cg_candidate *taken = &x->plans[position_of_taken(x)], *best = cheapest(x, true);
    bool by_time = is_timed(x);
    *out_gain = cost_of(taken, by_time) / cost_of(best, by_time);
    return cost_of(best, by_time) < cost_of(taken, by_time) * GAIN ? best : NULL;
}

/* ---- the best plans of a loop ---- */

static const cg_loop_candidate *loop_of(const cg_candidate *plan, uint64_t offset)
{
    for (uint32_t i = 0; i < plan->loop_count; i++)
        if (plan->loops[i].offset == offset)
            return plan->loops[i].bound ? &plan->loops[i] : NULL;
    return NULL;
}

/* The cost of a plan's loop. The cost of the chosen plan is reduced slightly, so that it comes first if the costs
   cannot be distinguished. */
static double rank_of(const cg_explanation *x, uint32_t plan, uint64_t offset)
{
    return loop_of(&x->plans[plan], offset)->cycles * (x->plans[plan].chosen ? GAIN : 1);
}

uint32_t cg_best_of_loop(const cg_explanation *x, uint64_t offset, uint32_t most, uint32_t *out)
{
    uint32_t count = 0, all[CG_MOST_PLANS];
    for (uint32_t i = 0; i < x->plan_count; i++) {
        const cg_loop_candidate *loop = loop_of(&x->plans[i], offset);
        bool anew = loop != NULL;
        for (uint32_t k = 0; anew && k < count; k++)
            anew = !is_same_loop(loop, loop_of(&x->plans[all[k]], offset));
        if (!anew)
            continue;
        uint32_t at = count++;
        for (; at > 0 && rank_of(x, i, offset) < rank_of(x, all[at - 1], offset); at--)
            all[at] = all[at - 1];
        all[at] = i;
    }
    count = count < most ? count : most;
    memcpy(out, all, sizeof *out * count);
    return count;
}
