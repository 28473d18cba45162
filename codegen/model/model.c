/* Makes models; see the header. */
#include "codegen/model/model.h"

#include <string.h>

#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/model/build.h"
#include "codegen/passes/pass.h"
#include "codegen/tile/print.h"
#include "codegen/values/effects.h"
#include "codegen/values/values.h"

/* ---- lists ---- */

static void list(cg_building *b, uint32_t number)
{
    uint32_t *grown = bc_grow(&b->c->arena, b->lists, b->list_count, &b->list_capacity, uint32_t);
    b->failed = b->failed || !grown;
    if (b->failed)
        return;
    b->lists = grown;
    b->lists[b->list_count++] = number;
}

/* ---- values ---- */

static uint32_t layout_number(cg_building *b, const cg_layout *l)
{
    for (uint32_t i = 0; i < b->model.layout_count; i++)
        if (cg_layout_equal(b->layouts[i], l))
            return i;
    const cg_layout **grown =
        bc_grow(&b->c->arena, b->layouts, b->model.layout_count, &b->layout_capacity, const cg_layout *);
    b->failed = b->failed || !grown;
    if (b->failed)
        return CG_NO_INDEX;
    b->layouts = grown;
    b->layouts[b->model.layout_count] = l;
    return b->model.layout_count++;
}

static cg_part layouts_of(cg_building *b, const ct_value *v, const cg_value *x)
{
    cg_part part = {.first = (uint32_t)b->list_count};
    if (!bc_is_tile(v->type) || !v->type->rank)
        return part;
    if (x->form == CG_TILE)
        list(b, layout_number(b, x->home));
    for (const cg_variant *variant = x->form == CG_LAZY ? x->variants : NULL; variant; variant = variant->next)
        list(b, layout_number(b, variant->layout));
    part.count = (uint32_t)b->list_count - part.first;
    return part;
}

/* The number of a value, which is assigned when the value is first met. */
static uint32_t value_number(cg_building *b, const ct_printer *p, const ct_value *v)
{
    uint32_t *number = &b->value_numbers[v->id];
    if (*number)
        return *number - 1;
    cg_model_value *out = &b->values[b->model.value_count++];
    *number = b->model.value_count;
    const cg_value *x = cg_value_of(b->c, v);
    bc_text name;
    bc_text_init(&name, &b->c->m->arena.allocator);
    ct_print_name(p, v, &name);
    tv_str copy = bc_arena_dup(&b->c->arena, bc_text_get(&name));
    b->failed = b->failed || name.failed || !copy.ptr;
    bc_text_release(&name);
    *out = (cg_model_value){.name = copy,
                            .type = v->type == &ct_own_type ? NULL : v->type,
                            .op = cg_number_of(b, ct_maker_of(v)),
                            .form = x->form,
                            .in_shared = cg_encoding_of(v) != NULL,
                            .layouts = v->type == &ct_own_type ? (cg_part){0} : layouts_of(b, v, x)};
    return *number - 1;
}

/* Numbers an op's values before its lists are written, because each value may list its layouts. */
static void meet(cg_building *b, const ct_printer *p, const ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        value_number(b, p, op->operands[i]);
    for (uint32_t i = 0; i < op->result_count; i++)
        value_number(b, p, &op->results[i]);
    for (uint32_t r = 0; r < op->region_count; r++)
        for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->arg_count; i++)
            value_number(b, p, &op->regions[r]->args[i]);
}

static cg_part ends_part(const cg_building *b, uint32_t first)
{
    return (cg_part){first, (uint32_t)b->list_count - first};
}

static void list_values(cg_building *b, const ct_printer *p, const ct_op *op, cg_model_op *out)
{
    uint32_t first = (uint32_t)b->list_count;
    for (uint32_t i = 0; i < op->operand_count; i++)
        list(b, value_number(b, p, op->operands[i]));
    out->operands = ends_part(b, first);
    first = (uint32_t)b->list_count;
    for (uint32_t i = 0; i < op->result_count; i++)
        list(b, value_number(b, p, &op->results[i]));
    out->results = ends_part(b, first);
    first = (uint32_t)b->list_count;
    for (uint32_t r = 0; r < op->region_count; r++)
        for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->arg_count; i++)
            list(b, value_number(b, p, &op->regions[r]->args[i]));
    out->arguments = ends_part(b, first);
}

/* ---- ops ---- */

static uint8_t role_of(const ct_op *op)
{
    static const uint8_t roles[CG_GROUPS] = {[CG_CONSUMERS] = CG_ROLE_CONSUMERS,
                                             [CG_PRODUCERS] = CG_ROLE_PRODUCERS,
                                             [CG_STARTERS] = CG_ROLE_STARTERS,
                                             [CG_ISSUER] = CG_ROLE_ISSUER,
                                             [CG_CORRECTORS] = CG_ROLE_CORRECTORS};
    const ct_block *block = op->block;
    while (block->parent && block->parent->opcode != CT_groups)
        block = block->parent->block;
    for (uint32_t r = 0; block->parent && r < block->parent->region_count && r < TV_COUNT(roles); r++)
        if (block->parent->regions[r] == block)
            return roles[r];
    return CG_ROLE_ALL;
}

static void say_detail(cg_building *b, const ct_op *op, cg_model_op *out)
{
    bc_text detail;
    bc_text_init(&detail, &b->c->m->arena.allocator);
    cg_say_op(b->c, op, &detail);
    if (detail.len)
        out->detail = bc_arena_dup(&b->c->arena, bc_text_get(&detail));
    b->failed = b->failed || detail.failed || (detail.len && !out->detail.ptr);
    bc_text_release(&detail);
}

/* Records where the op's line begins; lines are cut out once all of them are written. */
static void begin_op(void *user, const ct_printer *p, const ct_op *op, const bc_text *out)
{
    cg_building *b = user;
    uint32_t number = cg_number_of(b, op), parent = cg_number_of(b, op->block->parent);
    if (b->failed || number == CG_NO_INDEX)
        return;
    cg_model_op *o = &b->ops[number];
    const ct_value *memory;
    *o = (cg_model_op){.name = ct_op_name(op),
                       .number = op->number,
                       .offset = op->from->offset,
                       .text = {.len = out->len},
                       .parent = parent,
                       .depth = parent == CG_NO_INDEX ? 0 : b->ops[parent].depth + 1,
                       .ring = cg_ring_number(b, op),
                       .role = role_of(op),
                       .flops = cg_flops_of(b->c, op),
                       .bytes = op->region_count ? 0 : cg_bytes_moved(op, &memory)};
    bc_source_place(b->c->m, op->from->loc, &o->file, &o->line, &o->column);
    if (!op->region_count)
        o->work = cg_work_of(b->c, b->model.cost->machine, op);
    meet(b, p, op);
    list_values(b, p, op, o);
    say_detail(b, op, o);
}

static void cut_out(cg_building *b)
{
    for (uint32_t i = 0; i < b->model.op_count && !b->failed; i++) {
        const char *line = b->text.ptr + b->ops[i].text.len, *end = strchr(line, '\n');
        line += strspn(line, " ");
        b->ops[i].text = bc_arena_dup(&b->c->arena, (tv_str){line, (size_t)(end - line)});
        b->failed = !b->ops[i].text.ptr;
    }
}

static void hold(void *user, const ct_op *op, uint32_t registers)
{
    const cg_building *b = user;
    uint32_t number = cg_number_of(b, op);
    if (number != CG_NO_INDEX)
        b->ops[number].registers = registers;
}

static void build_ops(cg_building *b)
{
    ct_comments comments = {.user = b, .begin = begin_op};
    cg_build_rings(b);
    if (b->failed)
        return;
    ct_print(b->c->m, b->c->ir, &comments, &b->text);
    b->failed = b->failed || b->text.failed || !cg_registers_along(b->c, hold, b, &b->model.registers_held);
    cut_out(b);
}

/* ---- loops ---- */

static void build_loops(cg_building *b)
{
    const cg_kernel_cost *cost = b->model.cost;
    cg_model_loop *loops = bc_new(&b->c->arena, cg_model_loop, cost->loop_count + 1u);
    b->failed = b->failed || !loops;
    for (uint32_t i = 0; i < cost->loop_count && loops; i++)
        loops[i] = (cg_model_loop){cg_number_of(b, cost->loops[i].loop), &cost->loops[i]};
    b->model.loops = loops;
    b->model.loop_count = cost->loop_count;
}

/* ---- all of it ---- */

static const char *order_of_blocks(const cg_func *c)
{
    static const char *const orders[] = {[CG_BY_NUMBER] = "by number",
                                         [CG_LONGEST_FIRST] = "longest first",
                                         [CG_SIDE_BY_SIDE] = "clusters of a GPC side by side",
                                         [CG_IN_BANDS] = "in bands of rows",
                                         [CG_IN_WIDE_BANDS] = "in bands of columns",
                                         [CG_DIGIT_LAST] = "with the first digit last"};
    return orders[c->block_order];
}

static void build_kernel(cg_building *b)
{
    cg_func *c = b->c;
    const ct_op *product = cg_largest_product(c->ir);
    cg_model *m = &b->model;
    m->m = c->m;
    m->f = c->f;
    m->target = c->target;
    m->block_order = order_of_blocks(c);
    m->threads = cg_all_threads(c);
    m->consumers = c->groups ? cg_threads(c) : 0;
    m->producers = c->groups ? CG_PRODUCER_THREADS : 0;
    m->strip_bits = c->strip_bits;
    m->shared_bytes = cg_shared_bytes(c);
    m->scratch_bytes = c->sharing->scratch_bytes;
    m->local_bytes = c->local_bytes;
    m->barriers = cg_barrier_count(c);
    m->cluster = c->cluster;
    m->is_persistent = c->takes_over;
    m->cost = cg_predict(c);
    m->flops_peak = m->cost && product ? cg_flops_peak(c, m->cost->machine, product) : 0;
    b->failed = !m->cost || !cg_number_ops(b);
}

static void refuse(cg_func *c)
{
    c->failed = true;
    c->status = TV_IO;
}

void cg_show_model(cg_func *c)
{
    cg_building b = {.c = c};
    bc_text ptx;
    bc_text_init(&b.text, &c->m->arena.allocator);
    bc_text_init(&ptx, &c->m->arena.allocator);
    build_kernel(&b);
    if (!b.failed) {
        build_ops(&b);
        build_loops(&b);
        cg_build_spans(&b);
        cg_build_lines(&b, &ptx);
    }
    b.model.ops = b.ops;
    b.model.values = b.values;
    b.model.layouts = b.layouts;
    b.model.lists = b.lists;
    if (b.failed)
        cg_no_memory(c);
    else if (!c->witness->see(c->witness->user, &b.model))
        refuse(c);
    bc_text_release(&b.text);
    bc_text_release(&ptx);
}
