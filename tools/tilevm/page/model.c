/* A compiled kernel as JSON. */
#include <string.h>

#include "bytecode/print/print.h"
#include "tools/tilevm/page/page.h"

static const char *const resources[CG_RESOURCES] = {
    [CG_TENSOR_CORES] = "tensor", [CG_SHARED_MEMORY] = "shared", [CG_ISSUE] = "issue",
    [CG_HALF] = "half",           [CG_SPECIAL] = "special",      [CG_L2] = "l2",
    [CG_DRAM] = "dram",           [CG_ATOMICS] = "atomics"};

/* Omits the member if there is none. */
static void add_index(json_doc *doc, cJSON *parent, const char *key, uint32_t index)
{
    if (index != CG_NO_INDEX)
        json_uint(doc, parent, key, index);
}

static void add_numbers(json_doc *doc, cJSON *parent, const char *key, const uint32_t *numbers, uint32_t count)
{
    cJSON *list = json_array(doc, parent, key);
    for (uint32_t i = 0; i < count; i++)
        json_uint(doc, list, NULL, numbers[i]);
}

static void add_part(json_doc *doc, cJSON *parent, const char *key, const cg_model *m, cg_part part)
{
    if (part.count)
        add_numbers(doc, parent, key, m->lists + part.first, part.count);
}

static void add_place(json_doc *doc, cJSON *item, tv_str file, uint32_t line, uint32_t column)
{
    if (!line)
        return;
    json_str(doc, item, "file", file);
    json_uint(doc, item, "line", line);
    json_uint(doc, item, "column", column);
}

static void add_cycles(json_doc *doc, cJSON *parent, const double *cycles)
{
    cJSON *item = json_object(doc, parent, "cycles");
    for (uint32_t r = 0; r < CG_RESOURCES; r++)
        if (cycles[r] > 0)
            json_real(doc, item, resources[r], cycles[r]);
}

/* ---- the ops of the function ---- */

static uint32_t depth_of(const bc_op *op)
{
    uint32_t depth = 0;
    for (const bc_block *block = op->block; block && block->parent; block = block->parent->block)
        depth++;
    return depth;
}

void page_add_code(json_doc *doc, cJSON *kernel, const bc_module *m, const bc_function *f)
{
    cJSON *list = json_array(doc, kernel, "code");
    bc_op_printer *printer = bc_op_printer_new(m, f);
    uint32_t count = 0, line, column;
    tv_str file;
    bc_text text;
    bc_text_init(&text, NULL);
    doc->failed |= !printer;
    for (const bc_op *op = f->body->first; op && printer; op = bc_next_op(op, f->body)) {
        if (count++ >= PAGE_MOST_OPS)
            continue;
        cJSON *item = json_object(doc, list, NULL);
        bc_op_printer_print(printer, op, &text);
        json_made(doc, item, "text", &text);
        json_uint(doc, item, "offset", op->offset);
        json_uint(doc, item, "depth", depth_of(op));
        if (bc_source_place(m, op->loc, &file, &line, &column))
            add_place(doc, item, file, line, column);
    }
    if (count > PAGE_MOST_OPS)
        json_uint(doc, kernel, "code_left_out", count - PAGE_MOST_OPS);
    bc_text_release(&text);
    bc_op_printer_free(printer);
}

/* ---- ops, values, layouts ---- */

/* Is the op in the document? If not, its values, spans and lines are not, either. */
static bool is_listed(uint32_t op)
{
    return op < PAGE_MOST_OPS;
}

static void add_op(json_doc *doc, cJSON *list, const cg_model *m, const cg_model_op *op)
{
    static const char *const roles[] = {[CG_ROLE_ALL] = NULL,
                                        [CG_ROLE_CONSUMERS] = "consumers",
                                        [CG_ROLE_PRODUCERS] = "producers",
                                        [CG_ROLE_STARTERS] = "starters",
                                        [CG_ROLE_ISSUER] = "issuer",
                                        [CG_ROLE_CORRECTORS] = "correctors"};
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "name", op->name);
    json_uint(doc, item, "number", op->number);
    json_str(doc, item, "text", op->text);
    if (op->detail.len)
        json_str(doc, item, "detail", op->detail);
    add_index(doc, item, "parent", op->parent);
    add_index(doc, item, "ring", op->ring);
    if (roles[op->role])
        json_text(doc, item, "role", roles[op->role]);
    add_part(doc, item, "operands", m, op->operands);
    add_part(doc, item, "results", m, op->results);
    add_part(doc, item, "arguments", m, op->arguments);
    json_uint(doc, item, "registers", op->registers);
    if (op->flops > 0)
        json_real(doc, item, "flops", op->flops);
    if (op->bytes > 0)
        json_real(doc, item, "bytes", op->bytes);
    add_cycles(doc, item, op->work.cycles);
}

static void add_value(json_doc *doc, cJSON *list, const cg_model *m, const cg_model_value *v)
{
    cJSON *item = json_object(doc, list, NULL);
    bc_text type;
    bc_text_init(&type, NULL);
    json_str(doc, item, "name", v->name);
    if (v->type)
        bc_print_type(&type, v->type, false);
    json_made(doc, item, "type", &type);
    bc_text_release(&type);
    add_index(doc, item, "op", v->op);
    if (!v->layouts.count)
        return;
    cJSON *shape = json_array(doc, item, "shape");
    for (uint32_t d = 0; d < v->type->rank; d++)
        json_int(doc, shape, NULL, v->type->shape[d]);
    if (v->in_shared)
        json_bool(doc, item, "in_shared_memory", true);
    json_uint(doc, item, "bits", cg_class_bits(cg_elem_class(v->type)));
    if (v->form == CG_LAZY)
        json_bool(doc, item, "recomputed", true);
    add_part(doc, item, "layouts", m, v->layouts);
}

static void add_layout(json_doc *doc, cJSON *list, const cg_layout *l)
{
    cJSON *item = json_object(doc, list, NULL);
    json_uint(doc, item, "tile_bits", l->tile_bits);
    add_numbers(doc, item, "register", l->reg, l->reg_bits);
    add_numbers(doc, item, "lane", l->lane, CG_LANE_BITS);
    add_numbers(doc, item, "warp", l->warp, l->warp_bits);
}

static void add_ops(json_doc *doc, cJSON *kernel, const cg_model *m)
{
    cJSON *ops = json_array(doc, kernel, "ops"), *values = json_array(doc, kernel, "values"),
          *layouts = json_array(doc, kernel, "layouts");
    uint32_t count = m->op_count < PAGE_MOST_OPS ? m->op_count : PAGE_MOST_OPS;
    for (uint32_t i = 0; i < count; i++)
        add_op(doc, ops, m, &m->ops[i]);
    if (count < m->op_count)
        json_uint(doc, kernel, "ops_left_out", m->op_count - count);
    for (uint32_t i = 0; i < m->value_count && (m->values[i].op == CG_NO_INDEX || is_listed(m->values[i].op)); i++)
        add_value(doc, values, m, &m->values[i]);
    for (uint32_t i = 0; i < m->layout_count; i++)
        add_layout(doc, layouts, m->layouts[i]);
}

/* ---- shared memory ---- */

static void add_ring(json_doc *doc, cJSON *list, const cg_model *m, const cg_model_ring *r)
{
    cJSON *item = json_object(doc, list, NULL);
    json_uint(doc, item, "op", r->op);
    json_uint(doc, item, "from", r->from);
    json_uint(doc, item, "slots", r->slots);
    json_uint(doc, item, "slot_bytes", r->slot_bytes);
    json_uint(doc, item, "ahead", r->ahead);
    json_text(doc, item, "copied_by", r->copied);
    json_bool(doc, item, "between_groups", r->by_groups);
    json_bool(doc, item, "read_by_wgmma", r->is_async);
    json_bool(doc, item, "freed_later", r->freed_later);
    if (r->why)
        json_text(doc, item, "why", r->why);
    json_str(doc, item, "text", m->ops[r->op].detail);
    cJSON *loads = json_array(doc, item, "loads");
    for (uint32_t i = 0; i < r->load_count; i++) {
        cJSON *load = json_object(doc, loads, NULL);
        add_index(doc, load, "number", r->loads[i].number);
        json_uint(doc, load, "bytes", r->loads[i].bytes);
        json_uint(doc, load, "offset", r->loads[i].offset);
    }
}

static void add_memory(json_doc *doc, cJSON *kernel, const cg_model *m)
{
    cJSON *rings = json_array(doc, kernel, "rings"), *spans = json_array(doc, kernel, "shared"),
          *meetings = json_array(doc, kernel, "barriers");
    for (uint32_t i = 0; i < m->ring_count; i++)
        add_ring(doc, rings, m, &m->rings[i]);
    for (uint32_t i = 0; i < m->span_count; i++) {
        const cg_model_span *s = &m->spans[i];
        if (!is_listed(s->first))
            continue;
        cJSON *item = json_object(doc, spans, NULL);
        json_uint(doc, item, "first", s->first);
        json_uint(doc, item, "last", is_listed(s->last) ? s->last : PAGE_MOST_OPS - 1);
        json_uint(doc, item, "from", s->from);
        json_uint(doc, item, "to", s->to);
        add_index(doc, item, "ring", s->ring);
        if (s->of_warp)
            json_uint(doc, item, "of_warp", s->of_warp);
    }
    for (uint32_t i = 0; i < m->meeting_count; i++) {
        if (!is_listed(m->meetings[i].op))
            continue;
        cJSON *item = json_object(doc, meetings, NULL);
        json_uint(doc, item, "op", m->meetings[i].op);
        json_text(doc, item, "of", m->meetings[i].by_warp ? "warp" : "block");
    }
}

/* ---- figures ---- */

static void add_loops(json_doc *doc, cJSON *kernel, const cg_model *m)
{
    cJSON *list = json_array(doc, kernel, "loops");
    for (uint32_t i = 0; i < m->loop_count; i++) {
        const cg_loop_cost *cost = m->loops[i].cost;
        if (!is_listed(m->loops[i].op))
            continue;
        cJSON *item = json_object(doc, list, NULL);
        json_uint(doc, item, "op", m->loops[i].op);
        json_uint(doc, item, "stages", cost->stages);
        json_uint(doc, item, "bytes_in_flight", cost->in_flight);
        add_cycles(doc, item, cost->cycles);
        json_real(doc, item, "alone", cost->alone);
        json_real(doc, item, "taken", cost->taken);
        if (cost->iterations >= 0)
            json_real(doc, item, "iterations", cost->iterations);
        json_text(doc, item, "bound", cost->bound);
    }
}

static void add_figures(json_doc *doc, cJSON *kernel, const cg_model *m)
{
    const cg_kernel_cost *cost = m->cost;
    cJSON *item = json_object(doc, kernel, "cost"), *machine = json_object(doc, kernel, "machine");
    json_uint(doc, item, "registers", cost->registers);
    json_uint(doc, item, "blocks", cost->blocks);
    if (cost->us >= 0) {
        json_real(doc, item, "microseconds", cost->us);
        json_text(doc, item, "bound", cost->bound);
    }
    json_text(doc, machine, "name", cost->machine->name);
    json_real(doc, machine, "multiprocessors", cost->machine->multiprocessors);
    json_real(doc, machine, "ghz", cost->machine->clock_ghz);
    json_real(doc, machine, "dram_bytes_per_second", cost->machine->dram_tb * 1e12);
    json_real(doc, machine, "l2_bytes_per_second",
              cost->machine->l2_bytes * cost->machine->multiprocessors * cost->machine->clock_ghz * 1e9);
    json_real(doc, machine, "l2_latency", cost->machine->l2_latency);
    json_real(doc, machine, "dram_latency", cost->machine->dram_latency);
    /* An instruction of a warp counts as 32 operations, a fused one as twice as many. */
    json_real(doc, machine, "f32_flops_per_second",
              cost->machine->issue * 32 * 2 * cost->machine->multiprocessors * cost->machine->clock_ghz * 1e9);
    if (m->flops_peak > 0)
        json_real(doc, machine, "tensor_flops_per_second", m->flops_peak);
}

/* The name that its author knows it by. */
static void add_function(json_doc *doc, cJSON *kernel, tv_str symbol)
{
    tv_signature *signature;
    tv_status status = tv_signature_open(symbol, NULL, (tv_sink){0}, &signature);
    doc->failed |= status == TV_NO_MEMORY;
    if (status != TV_OK)
        return;
    json_function(doc, kernel, "function", "function_name", tv_signature_function(signature));
    tv_signature_close(signature);
}

static void add_shape(json_doc *doc, cJSON *kernel, const cg_model *m)
{
    json_str(doc, kernel, "name", m->f->name->s);
    add_function(doc, kernel, m->f->name->s);
    json_text(doc, kernel, "target", m->target->name);
    json_uint(doc, kernel, "threads", m->threads);
    if (m->consumers) {
        json_uint(doc, kernel, "consumers", m->consumers);
        json_uint(doc, kernel, "producers", m->producers);
    }
    if (m->strip_bits)
        json_uint(doc, kernel, "strip_bits", m->strip_bits);
    json_uint(doc, kernel, "shared_bytes", m->shared_bytes);
    json_uint(doc, kernel, "scratch_bytes", m->scratch_bytes);
    json_uint(doc, kernel, "local_bytes", m->local_bytes);
    json_uint(doc, kernel, "barrier_count", m->barriers);
    if (m->cluster)
        json_uint(doc, kernel, "cluster", m->cluster);
    json_text(doc, kernel, "block_order", m->block_order);
    json_bool(doc, kernel, "persistent", m->is_persistent);
    json_uint(doc, kernel, "registers_held", m->registers_held);
}

/* As many whole lines as there is room for. */
static tv_str shown_ptx(tv_str ptx)
{
    size_t end = ptx.len < PAGE_MOST_PTX_BYTES ? ptx.len : PAGE_MOST_PTX_BYTES;
    while (end < ptx.len && end && ptx.ptr[end - 1] != '\n')
        end--;
    return (tv_str){ptx.ptr, end};
}

static uint32_t count_lines(const char *text, size_t size)
{
    uint32_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    return count;
}

static void add_ptx(json_doc *doc, cJSON *kernel, const cg_model *m)
{
    tv_str shown = shown_ptx(m->ptx);
    uint32_t last = count_lines(shown.ptr, shown.len),
             left = count_lines(shown.ptr + shown.len, m->ptx.len - shown.len);
    cJSON *lines = json_array(doc, kernel, "lines");
    for (uint32_t i = 0; i < m->line_count && m->lines[i].line <= last; i++) {
        cJSON *pair = json_array(doc, lines, NULL);
        json_uint(doc, pair, NULL, m->lines[i].line);
        json_int(doc, pair, NULL, is_listed(m->lines[i].op) ? (int64_t)m->lines[i].op : -1);
    }
    json_str(doc, kernel, "ptx", shown);
    if (left)
        json_uint(doc, kernel, "ptx_left_out", left);
}

cJSON *page_add_kernel(json_doc *doc, cJSON *kernels, const cg_model *model)
{
    cJSON *kernel = json_object(doc, kernels, NULL);
    add_shape(doc, kernel, model);
    add_figures(doc, kernel, model);
    page_add_code(doc, kernel, model->m, model->f);
    add_ops(doc, kernel, model);
    add_memory(doc, kernel, model);
    add_loops(doc, kernel, model);
    add_ptx(doc, kernel, model);
    return kernel;
}
