/* The parts that printers of passes have in common, and the printer of the last pass. */
#include "codegen/analysis/boxes.h"
#include "codegen/analysis/tensor.h"
#include "codegen/kernel/groups.h"
#include "codegen/plan/early.h"
#include "codegen/check/check.h"
#include "codegen/tile/print.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

typedef struct dumping {
    cg_func *c;
    cg_describe_fn *describe;
} dumping;

/* ---- the detail of an op ---- */

static void say_ring(const cg_ring *ring, bc_text *out)
{
    bc_text_printf(out, "%u slots of %u bytes for %u loads", ring->slots, ring->slot_bytes, ring->load_count);
    if (ring->parts)
        bc_text_printf(out, ", %u parts of K", 1u << ring->parts);
    bc_text_puts(out, ring->async ? ", read asynchronously" : "");
    bc_text_puts(out, ring->end == CG_FREE_ITERATION_LATER   ? ", released an iteration later"
                      : ring->end == CG_FREE_WHEN_MULTIPLIED ? ", released by the product"
                                                             : "");
    bc_text_puts(out, ring->role == CG_RING_OF_THREADS ? ", each thread reads what it copied" : "");
    bc_text_puts(out, ring->again ? ", or what an earlier loop has" : "");
    bc_text_puts(out, cg_is_between_groups(ring) ? ", between groups" : "");
    bc_text_puts(out, ring->role == CG_RING_OF_MAPS ? ", by tensor maps" : "");
    bc_text_puts(out, ring->role == CG_RING_OF_MAPS && cg_ring_is_of_threads(ring) ? ", some tiles by threads" : "");
    if (ring->at_start)
        bc_text_printf(out, ", the first %u by threads", ring->at_start);
    bc_text_puts(out, cg_ring_to_all(ring) ? ", for all blocks" : "");
    if (ring->slice.source_count)
        bc_text_printf(out, ", addressed by %u loads", ring->slice.source_count);
}

/* Prints the plan of a loop, whether its ops exist already or not. */
static void say_plan(const cg_plan *plan, bc_text *out)
{
    bool first = plan->ring->load_count;
    bc_text_puts(out, "loads run ahead: ");
    if (first)
        say_ring(plan->ring, out);
    if (plan->beside) {
        bc_text_puts(out, first ? "; " : "");
        say_ring(plan->beside, out);
    }
    bc_text_puts(out, plan->not_for_one ? ", unless there is one iteration" : "");
}

/* Of a load that has no ring. */
static void say_early(const cg_early_plan *p, bc_text *out)
{
    bc_text_printf(out, "runs ahead: iterations %u, registers %u%s", p->distance, p->registers,
                   p->takes_source ? ", behind the load of its address" : "");
}

static void say_load(const cg_ring_load *load, bc_text *out)
{
    bc_text_printf(out, "%u bytes at %u%s", cg_ring_load_bytes(load), load->offset,
                   cg_is_transposed(load) ? ", transposed" : "");
}

static void say_copy(const ct_op *op, const cg_ring_copy *copy, bc_text *out)
{
    say_load(copy->load, out);
    if (cg_ring_of(op, op->from->operand_count)->parts)
        bc_text_printf(out, ", part %u", copy->part);
    if (copy->trips)
        bc_text_printf(out, ", of %u trips later%s", copy->trips, copy->wraps ? ", from the first one on again" : "");
}

static void say_maps(const cg_tensor_maps *maps, bc_text *out)
{
    for (uint32_t i = 0; i < maps->count; i++) {
        const cg_boxes *b = &maps->maps[i].boxes;
        bc_text_puts(out, i ? "; " : "");
        for (uint32_t d = b->rank; d-- > 0;)
            bc_text_printf(out, "%u%s", b->size[d], d ? "x" : "");
        if (b->panels > 1)
            bc_text_printf(out, ", %u boxes", b->panels);
        bc_text_puts(out, b->rounds ? ", to tf32" : "");
        if (b->blocks > 1)
            bc_text_printf(out, ", the share of one of %u blocks", b->blocks);
    }
}

static void say_groups(const cg_groups *groups, bc_text *out)
{
    if (groups->launched)
        bc_text_printf(out, "registers of a thread: %u, then %u and %u", groups->launched, groups->consumers,
                       groups->producers);
    if (groups->correctors)
        bc_text_printf(out, ", %u of correctors", groups->correctors);
}

static void say_product(const ct_op *op, const cg_k_part *part, bc_text *out)
{
    if (part)
        bc_text_printf(out, "part %u of %u of K", part->number, 1u << part->bits);
    if (op->in_flight)
        bc_text_printf(out, "%sin flight%s", out->len ? ", " : "", op->ahead ? ", an iteration ahead" : "");
    if (op->in_place)
        bc_text_printf(out, "%sin place", out->len ? ", " : "");
    if (op->paired)
        bc_text_printf(out, "%sof a pair", out->len ? ", " : "");
    if (op->turn)
        bc_text_printf(out, "%s%s", out->len ? ", " : "",
                       op->turn == CT_TAKES_TURN ? "takes its turn" : "gives the turn");
    if (op->falling)
        bc_text_printf(out, "%sparts of K from the last one of %u on", out->len ? ", " : "", 1u << op->falling);
    static const char *const ways[] = {[CT_DIRECT] = "read in place",
                                       [CT_TURNED] = "transposed",
                                       [CT_FRAGMENTS] = "fragments made of the ring",
                                       [CT_REORDERED] = "reordered"};
    if (op->way != CT_AS_IT_IS)
        bc_text_printf(out, "%s%s", out->len ? ", " : "", ways[op->way]);
}

static void say_conversion(cg_func *c, const ct_op *op, bc_text *out)
{
    const ct_value *from = op->operands[0];
    cg_conversion conversion = cg_conversion_of(c, op, bc_elem_kind(from->type), cg_value_of(c, from)->home,
                                                cg_value_of(c, cg_result(op, 0))->home);
    cg_conversion_text(out, &conversion);
}

static void say_trips(const cg_func *c, const cg_trips *trips, bc_text *out)
{
    bc_text_printf(out, "%u strips", 1u << cg_count_bits(trips->mask));
    if (trips->mask != cg_all_strips(c))
        bc_text_printf(out, ", by bits 0x%x of their number", trips->mask);
    if (trips->first)
        bc_text_printf(out, ", the first %u", trips->first);
    bc_text_puts(out, trips->descending ? ", from the last one on" : "");
}

/* Where a sum is in tensor memory, or how much of that the kernel allocates. */
static void say_tensor(const cg_func *c, const ct_op *op, bc_text *out)
{
    const cg_sum *sum = cg_sum_of(c, op);
    if (sum && op != sum->taken)
        bc_text_printf(out, "%s%u columns from %u on%s", out->len ? ", " : "", sum->columns, sum->column,
                       c->tensor->in_turn ? ", or behind them" : "");
    if (sum && op == sum->product && sum->left_columns)
        bc_text_printf(out, ", the left operand in %u from %u on", sum->left_columns, sum->left);
    if (c->tensor && op->opcode == CT_tensor)
        bc_text_printf(out, "%u columns", c->tensor->columns);
}

static void say_detail(cg_func *c, const ct_op *op, bc_text *out)
{
    if (cg_is_product(op))
        say_product(op, op->detail, out);
    else if (op->opcode == CT_convert)
        say_conversion(c, op, out);
    say_tensor(c, op, out);
    if (!op->detail)
        return;
    switch ((int)op->opcode) {
    case OP_for: say_plan(op->detail, out); break;
    case OP_load_view_tko:
    case OP_load_ptr_tko: say_early(op->detail, out); break;
    case CT_ring: say_ring(op->detail, out); break;
    case CT_later: bc_text_printf(out, "by %u", ((const cg_distance *)op->detail)->iterations); break;
    case CT_copy:
    case CT_prefetch: say_copy(op, op->detail, out); break;
    case CT_staged: say_load(op->detail, out); break;
    case CT_mma_await: bc_text_printf(out, "%u later ones may go on", ((const cg_pending *)op->detail)->others); break;
    case CT_maps: say_maps(op->detail, out); break;
    case CT_groups: say_groups(op->detail, out); break;
    case CT_strips: say_trips(c, op->detail, out); break;
    default: break;
    }
}

void cg_say_op(cg_func *c, const ct_op *op, bc_text *out)
{
    say_detail(c, op, out);
    cg_say_effects(c, op, out);
}

static void say_op(void *user, const ct_op *op, bc_text *out)
{
    cg_say_op(((const dumping *)user)->c, op, out);
}

/* ---- the kernel ---- */

void cg_say_kernel(const cg_func *c, bc_text *out)
{
    static const char *const orders[] = {[CG_BY_NUMBER] = "",
                                         [CG_LONGEST_FIRST] = ", the longest blocks first",
                                         [CG_SIDE_BY_SIDE] = ", clusters side by side",
                                         [CG_IN_BANDS] = ", blocks in bands",
                                         [CG_IN_WIDE_BANDS] = ", blocks in wide bands",
                                         [CG_DIGIT_LAST] = ", blocks with the first digit last"};
    bc_text_printf(out, ", %u threads", cg_all_threads(c));
    if (c->cluster)
        bc_text_printf(out, ", clusters of %u", c->cluster);
    bc_text_puts(out, orders[c->block_order]);
    bc_text_puts(out, c->takes_over ? ", persistent" : "");
    bc_text_puts(out, c->is_versioned ? ", in two versions" : "");
}

/* ---- values ---- */

static void say_value(void *user, const ct_value *v, bc_text *out)
{
    const dumping *d = user;
    if (v->type != &ct_own_type)
        d->describe(d->c, v, out);
}

void cg_dump_values(cg_func *c, cg_describe_fn *describe, bc_text *out)
{
    dumping d = {.c = c, .describe = describe};
    ct_print(c->m, c->ir, &(ct_comments){.user = &d, .value = describe ? say_value : NULL, .op = say_op}, out);
}

void cg_dump_ops(cg_func *c, bc_text *out)
{
    cg_dump_values(c, NULL, out);
}
