/* Finds out what compiling a kernel with given choices results in. The sources are the passes' remarks, which say
   what became of each op of the source, and the predictions of the cost pass. */
#include "codegen/weigh.h"

#include <string.h>

#include "codegen/analysis/product.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/remarks.h"

/* ---- the source ---- */

static bool is_weighed(const ct_op *op)
{
    return op->opcode == OP_load_view_tko || op->opcode == OP_load_ptr_tko || cg_is_product(op);
}

/* The innermost loop around the op. */
static const ct_op *loop_around(const ct_op *op)
{
    while (op && !ct_is_loop(op))
        op = op->block->parent;
    return op;
}

static uint32_t loop_at(cg_weighing *x, const ct_op *loop)
{
    uint32_t i = 0;
    while (i < x->loop_count && x->loops[i].offset != loop->from->offset)
        i++;
    if (i == x->loop_count)
        x->loops[x->loop_count++] = (cg_weighed_loop){.offset = loop->from->offset, .op = ct_op_name(loop)};
    return i;
}

bool cg_find_weighed(cg_weighing *x)
{
    bc_arena *arena = &x->out->arena;
    ct_func *f = ct_import(x->f, arena);
    uint32_t loops = 0, ops = 0, all = 0;
    for (const ct_op *op = f ? f->body->first : NULL; op; op = ct_next_op(op, f->body)) {
        loops += ct_is_loop(op);
        ops += is_weighed(op);
        all++;
    }
    x->loops = bc_new(arena, cg_weighed_loop, loops + 1u);
    x->ops = bc_new(arena, cg_weighed_op, ops + 1u);
    x->seen = bc_new(arena, bool, ops + 1u);
    x->out->ops = bc_new(arena, cg_source_op, all + 1u);
    if (!f || !x->loops || !x->ops || !x->seen || !x->out->ops)
        return false;
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        x->out->ops[x->out->op_count++] = (cg_source_op){op->from->offset, ct_op_name(op), op->from->loc};
        const ct_op *loop = is_weighed(op) ? loop_around(op) : NULL;
        if (!loop)
            continue;
        cg_weighed_op *own = &x->ops[x->op_count++];
        *own = (cg_weighed_op){op->from->offset, loop_at(x, loop)};
        x->loops[own->loop].loads += !cg_is_product(op);
    }
    return true;
}

const char *cg_weighed_text(cg_weighing *x, tv_str text)
{
    return bc_arena_dup(&x->out->arena, text).ptr;
}

/* ---- what remarks say ---- */

static tv_str arg_of(const tv_remark *remark, const char *key)
{
    for (size_t i = 0; i < remark->arg_count; i++)
        if (bc_str_is(remark->args[i].key, key))
            return remark->args[i].value;
    return (tv_str){NULL, 0};
}

static uint32_t number_of(const tv_remark *remark, const char *key)
{
    tv_str digits = arg_of(remark, key);
    uint32_t number = 0;
    for (size_t i = 0; i < digits.len && digits.ptr[i] >= '0' && digits.ptr[i] <= '9'; i++)
        number = number * 10 + (uint32_t)(digits.ptr[i] - '0');
    return number;
}

/* The position of an op that loads or multiplies in a loop; op_count: there is no such op. */
static uint32_t op_of(const cg_weighing *x, uint64_t offset)
{
    uint32_t i = 0;
    while (i < x->op_count && x->ops[i].offset != offset)
        i++;
    return i;
}

static void take_ahead(cg_weighing *x, const tv_remark *remark)
{
    uint32_t at = op_of(x, remark->offset);
    if (at == x->op_count || x->seen[at])
        return;
    cg_loop_candidate *loop = &x->now->loops[x->ops[at].loop];
    tv_str by = arg_of(remark, "By");
    x->seen[at] = true;
    loop->ahead++;
    loop->route = by.ptr ? cg_weighed_text(x, by) : loop->ahead > 1 ? loop->route : "registers";
}

static void take_ring(cg_weighing *x, const tv_remark *remark)
{
    for (uint32_t i = 0; i < x->loop_count; i++) {
        cg_loop_candidate *loop = &x->now->loops[i];
        uint32_t stages = number_of(remark, "Stages"), bytes = number_of(remark, "InFlight");
        if (loop->offset != remark->offset)
            continue;
        loop->stages = stages > loop->stages ? stages : loop->stages;
        loop->in_flight = bytes > loop->in_flight ? bytes : loop->in_flight;
    }
}

/* "mma.sync.m16n8k16..." and so on: if a loop has several versions, the instruction of the best one, which is the last
   in the table. */
static void take_product(cg_weighing *x, const tv_remark *remark)
{
    static const char *const names[] = {
#define INSTRUCTION(name, text, rows, columns, warps, align, traits) text,
#include "codegen/analysis/instructions.def"
    };
    uint32_t at = op_of(x, remark->offset), now = 0, best = 0;
    if (at == x->op_count)
        return;
    cg_loop_candidate *loop = &x->now->loops[x->ops[at].loop];
    for (uint32_t i = 1; i < TV_COUNT(names); i++) {
        size_t length = strlen(names[i]);
        if (remark->message.len >= length && memcmp(remark->message.ptr, names[i], length) == 0)
            best = i;
        now = loop->product && strcmp(loop->product, names[i]) == 0 ? i : now;
    }
    loop->product = names[best > now ? best : now];
}

/* ---- obstacles ---- */

enum { MOST_OBSTACLES = 256 };

static bool is_told(const cg_explanation *e, const tv_remark *remark, tv_str why)
{
    for (uint32_t i = 0; i < e->obstacle_count; i++)
        if (e->obstacles[i].offset == remark->offset && bc_str_is(why, e->obstacles[i].why)
            && strcmp(e->obstacles[i].remark, remark->name) == 0)
            return true;
    return false;
}

static void take_obstacle(cg_weighing *x, const tv_remark *remark)
{
    cg_explanation *e = x->out;
    tv_str why = arg_of(remark, "Why");
    why = why.ptr ? why : arg_of(remark, "Limit");
    if (!x->first || remark->kind != TV_REMARK_MISSED || !why.len || e->obstacle_count == MOST_OBSTACLES
        || is_told(e, remark, why))
        return;
    e->obstacles = e->obstacles ? e->obstacles : bc_new(&e->arena, cg_obstacle, MOST_OBSTACLES);
    if (!e->obstacles)
        return;
    uint32_t at = op_of(x, remark->offset);
    uint64_t loop = at < x->op_count ? x->loops[x->ops[at].loop].offset : TV_NO_OFFSET;
    for (uint32_t i = 0; i < x->loop_count; i++)
        loop = x->loops[i].offset == remark->offset ? remark->offset : loop;
    e->obstacles[e->obstacle_count++] = (cg_obstacle){.offset = remark->offset,
                                                      .loop = loop,
                                                      .op = remark->op.len ? cg_weighed_text(x, remark->op) : NULL,
                                                      .remark = remark->name,
                                                      .why = cg_weighed_text(x, why),
                                                      .remedy = cg_remedy_of(why)};
}

static bool is_named(const tv_remark *remark, const char *name)
{
    return strcmp(remark->name, name) == 0;
}

static void hear(void *user, const tv_remark *remark)
{
    cg_weighing *x = user;
    bc_text none = {.failed = true};
    x->lost = x->lost || bc_str_is(remark->message, bc_text_words(&none));
    if (is_named(remark, "LoadAhead"))
        take_ahead(x, remark);
    else if (is_named(remark, "Pipelined"))
        take_ring(x, remark);
    else if (is_named(remark, "MatrixProduct"))
        take_product(x, remark);
    take_obstacle(x, remark);
}

/* ---- what came of it ---- */

/* Records the predicted version of a loop. */
static void take_cost(cg_loop_candidate *loop, const cg_kernel_cost *cost)
{
    for (uint32_t i = 0; i < cost->loop_count; i++) {
        const cg_loop_cost *own = &cost->loops[i];
        if (own->loop->from->offset != loop->offset || (loop->bound && own->loop->plain))
            continue;
        loop->iterations = own->iterations;
        loop->cycles = own->taken / cost->blocks;
        loop->bound = own->bound;
    }
}

static void look(void *user, cg_func *c)
{
    cg_weighing *x = user;
    cg_candidate *plan = x->now;
    const cg_kernel_cost *cost = c->cost;
    if (!cost)
        return;
    plan->threads = cost->threads;
    plan->producers = cost->threads - cg_slices(c) * cg_threads(c);
    plan->registers = cost->registers;
    plan->shared = cost->shared;
    plan->blocks = cost->blocks;
    plan->cluster = c->cluster ? c->cluster : 1;
    plan->persistent = c->takes_over;
    plan->us = cost->us;
    plan->cycles = cost->cycles;
    plan->bound = cost->bound;
    for (uint32_t i = 0; i < plan->loop_count; i++)
        take_cost(&plan->loops[i], cost);
}

static bool swallow(void *user, const void *bytes, size_t count)
{
    (void)user;
    (void)bytes;
    (void)count;
    return true;
}

tv_status cg_weigh_plan(cg_weighing *x, cg_candidate *plan)
{
    tv_compile_options options = x->options ? *x->options : (tv_compile_options){.target = NULL};
    options.remarks = (tv_remark_sink){.user = x, .report = hear};
    options.dump_after = options.stop_after = NULL;
    options.time_passes = options.verify_each = false;
    plan->loops = bc_new(&x->out->arena, cg_loop_candidate, x->loop_count + 1u);
    if (!plan->loops)
        return TV_NO_MEMORY;
    plan->loop_count = x->loop_count;
    plan->us = -1;
    for (uint32_t i = 0; i < x->loop_count; i++)
        plan->loops[i] = (cg_loop_candidate){.offset = x->loops[i].offset,
                                             .op = x->loops[i].op,
                                             .route = x->loops[i].loads ? "plain loads" : "no loads",
                                             .loads = x->loops[i].loads,
                                             .iterations = -1};
    memset(x->seen, 0, sizeof *x->seen * x->op_count);
    x->now = plan;
    cg_request request = {.launch = x->launch, .choices = &plan->choices, .only = x->f, .user = x, .compiled = look};
    tv_status status =
        cg_compile_with(x->m, &options, &request, x->first ? x->sink : (tv_sink){0}, (tv_writer){.write = swallow});
    return status == TV_OK && (!plan->bound || x->lost) ? TV_NO_MEMORY : status;
}
