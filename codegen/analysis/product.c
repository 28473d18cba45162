/* The operands of a product, its instruction, and the other products that use its result. Sources: memory reference,
   section 7; PTX ISA, "Warp-level matrix instructions". */
#include "codegen/analysis/product.h"

#include <string.h>

#include "codegen/analysis/scaling.h"
#include "codegen/analysis/tcgen05.h"
#include "codegen/analysis/tcgen05_scales.h"
#include "codegen/kernel/limits.h"

/* Bytes of shared memory for one step of the instruction along K of an operand, including alignment. */
static uint64_t step_bytes(const cg_product *p, bool left)
{
    enum { ALIGN = 16 };
    return ((uint64_t)cg_memory_bytes(p->in) << ((left ? p->m : p->n) + p->batch + p->atom.k_bits)) + ALIGN;
}

bool cg_step_fits(const cg_func *c, const cg_product *p)
{
    return step_bytes(p, true) + step_bytes(p, false) <= cg_shared_most(c);
}

/* Can a step be multiplied at all, either from shared memory or with A in registers, which 16-bit fragments allow? */
static bool may_step(const cg_func *c, const cg_product *p)
{
    return cg_step_fits(c, p)
           || (p->atom.element_bits == 1 && !p->scaled && p->m >= CG_ATOM_ROW_BITS
               && step_bytes(p, false) <= cg_shared_most(c));
}

/* If the target has no instruction as long as the atom, takes those with half of its K, or also half of its rows, whose
   fragments are the same registers. False: there are none. */
static bool shorten_atom(const cg_func *c, cg_product *p)
{
    static const struct {
        const char *atom, *shorter;
        bool rows, k;
    } all[] = {
        {"m16n8k16.row.col.f32.f16.f16.f32", "m16n8k8.row.col.f32.f16.f16.f32", false, true},
        {"m16n8k16.row.col.f16.f16.f16.f16", "m16n8k8.row.col.f16.f16.f16.f16", false, true},
        {"m16n8k32.row.col.s32.u8.u8.s32", "m8n8k16.row.col.s32.u8.u8.s32", true, true},
        {"m16n8k32.row.col.s32.u8.s8.s32", "m8n8k16.row.col.s32.u8.s8.s32", true, true},
        {"m16n8k32.row.col.s32.s8.u8.s32", "m8n8k16.row.col.s32.s8.u8.s32", true, true},
        {"m16n8k32.row.col.s32.s8.s8.s32", "m8n8k16.row.col.s32.s8.s8.s32", true, true},
    };
    size_t i = 0;
    if (c->target->features & CG_HAS_LONG_MMA)
        return true;
    while (i < TV_COUNT(all) && strcmp(p->atom.text, all[i].atom) != 0)
        i++;
    if (i == TV_COUNT(all))
        return false;
    p->atom.text = all[i].shorter;
    p->halves_rows = all[i].rows;
    p->halves_k = all[i].k;
    return true;
}

static bool find_atom(const cg_func *c, const ct_op *op, cg_product *p)
{
    static const cg_atom f16_f32 = {"m16n8k16.row.col.f32.f16.f16.f32", 4, 1, false, NULL};
    static const cg_atom f16_f16 = {"m16n8k16.row.col.f16.f16.f16.f16", 4, 1, true, NULL};
    static const cg_atom bf16_f32 = {"m16n8k16.row.col.f32.bf16.bf16.f32", 4, 1, false, NULL};
    static const cg_atom tf32_f32 = {"m16n8k8.row.col.f32.tf32.tf32.f32", 3, 0, false, NULL};
    static const cg_atom f8_f32[2][2] = {
        /* [instruction of its own][e5m2] */
        {{"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, "e4m3x2"},
         {"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, "e5m2x2"}},
        {{"m16n8k32.row.col.f32.e4m3.e4m3.f32", 5, 2, false, NULL},
         {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 5, 2, false, NULL}},
    };
    static const cg_atom integer[2][2] = {
        {{"m16n8k32.row.col.s32.u8.u8.s32", 5, 2, false, NULL}, {"m16n8k32.row.col.s32.u8.s8.s32", 5, 2, false, NULL}},
        {{"m16n8k32.row.col.s32.s8.u8.s32", 5, 2, false, NULL}, {"m16n8k32.row.col.s32.s8.s8.s32", 5, 2, false, NULL}},
    };
    static const cg_atom f64_f64[2] = {
        {"m8n8k4.row.col.f64.f64.f64.f64", 3, 0, false, NULL},
        {"m16n8k8.row.col.f64.f64.f64.f64", 3, 0, false, NULL},
    };
    const cg_atom *a = NULL;
    uint32_t has = c->target->features;
    p->scaling = p->scaled ? cg_find_scaling(c, op, p) : NULL;
    if (p->scaled)
        a = p->scaling ? &p->scaling->atom : NULL;
    else if (p->in == BC_F16)
        a = p->acc == BC_F16 ? &f16_f16 : &f16_f32;
    else if (p->in == BC_BF16)
        a = &bf16_f32;
    else if (p->in == BC_TF32)
        a = &tf32_f32;
    else if (p->in == BC_F8E4M3FN || p->in == BC_F8E5M2) /* f16 accumulators are widened */
        a = &f8_f32[(has & CG_HAS_F8_MMA) != 0][p->in == BC_F8E5M2];
    else if (p->in == BC_F64)
        a = &f64_f64[c->target->sm >= 90];
    else if (op->opcode == OP_mmai)
        a = &integer[ct_attr_u(op, F_mmai_signedness_lhs) == BC_Signedness_signed]
                    [ct_attr_u(op, F_mmai_signedness_rhs) == BC_Signedness_signed];
    uint32_t packed = p->scaling ? p->scaling->packed : 0;
    bool all_rows = p->scaled || p->in == BC_F64;
    if (!a || (all_rows && p->m < CG_ATOM_ROW_BITS) || p->n < 3 || p->n > 10 || p->k < a->k_bits + packed)
        return false;
    p->atom = *a;
    p->halves_rows = p->halves_k = a == &f64_f64[0];
    p->packed = packed;
    p->k -= packed;
    return shorten_atom(c, p) && may_step(c, p);
}

/* ---- products that feed products ---- */

/* The sum that is awaited: of a product that runs ahead, what the loop starts with, from the branch that tests whether
   there is an iteration. */
static const ct_value *awaited_sum(const ct_op *await)
{
    const ct_value *sum = await->operands[0];
    const ct_op *loop = sum->op ? NULL : sum->block->parent;
    if (loop && loop->opcode == OP_for && sum->number)
        sum = loop->operands[ct_first_carried(loop) + sum->number - 1];
    return sum->op && sum->op->opcode == OP_if ? sum->op->regions[0]->last->operands[sum->number] : sum;
}

const ct_op *cg_maker_of(const ct_value *v)
{
    return v->op && v->op->opcode == CT_mma_await ? awaited_sum(v->op)->op : v->op;
}

bool cg_is_product(const ct_op *op)
{
    return op && bc_op_in(op->opcode, BC_OPS(PRODUCT));
}

bool cg_has_products(const ct_block *block)
{
    for (const ct_op *op = block->first; op; op = ct_next_op(op, block))
        if (cg_is_product(op))
            return true;
    return false;
}

ct_op *cg_product_in(const ct_block *block)
{
    ct_op *op = block->first;
    while (op && !cg_is_product(op))
        op = op->next;
    return op;
}

ct_op *cg_only_product(const ct_block *block)
{
    ct_op *found = NULL;
    for (ct_op *op = block->first; op; op = ct_next_op(op, block))
        if (cg_is_product(op)) {
            if (found || op->block != block)
                return NULL;
            found = op;
        }
    return found;
}

/* Does the use read its value before the product of the same block starts, into registers of its own, or is it the
   product's addend? */
static bool is_read_by_then(const ct_use *use, const ct_op *product)
{
    if (use->op == product)
        return product->operands[use->index] == cg_addend_of(product);
    return use->op->block == product->block && ct_is_map(use->op) && ct_is_before(use->op, product);
}

const ct_value *cg_carried_sum(const ct_op *product)
{
    const ct_block *body = product->block;
    const ct_value *sum = &product->results[0];
    if (sum->uses && sum->uses->op->opcode == CT_mma_await)
        sum = &sum->uses->op->results[0];
    const ct_use *next = sum->uses;
    if (!body->parent || body->parent->opcode != OP_for || !next || next->next || next->op != body->last)
        return NULL;
    const ct_value *arg = &body->args[next->index + 1];
    for (const ct_use *use = arg->uses; use; use = use->next)
        if (!is_read_by_then(use, product))
            return NULL;
    return arg;
}

bool cg_goes_on(const cg_func *c, const ct_op *product)
{
    return !c->groups && product->in_flight && product->in_place && cg_is_product(product)
           && cg_product_of(c, product).instruction == CG_BY_WGMMA;
}

const ct_op *cg_largest_product(const ct_func *f)
{
    const ct_op *found = NULL;
    int64_t most = 0;
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        const bc_type *type = cg_is_product(op) ? op->results[0].type : NULL;
        int64_t elements = type ? bc_shape_elems(type->shape, type->rank) : 0;
        found = elements > most ? op : found;
        most = elements > most ? elements : most;
    }
    return found;
}

bool cg_is_loaded_operand(const ct_value *v)
{
    const ct_value *load = cg_source_of(v);
    if (!load->op || load->op->opcode != OP_load_view_tko || !v->uses)
        return false;
    for (const ct_use *use = v->uses; use; use = use->next)
        if (!(cg_is_product(use->op) && use->index < 2)
            && !(cg_is_seen(use->op) && cg_is_loaded_operand(&use->op->results[0])))
            return false;
    return true;
}

static const ct_op *product_behind(const ct_value *v, uint32_t *budget);

/* The same for the results of an `if`, from its branches. */
static const ct_op *product_in_branches(const ct_op *op, uint32_t result, uint32_t *budget)
{
    const ct_op *found = NULL;
    for (uint32_t r = 0; r < op->region_count && !found; r++)
        if (op->regions[r] && op->regions[r]->last->opcode == OP_yield)
            found = product_behind(op->regions[r]->last->operands[result], budget);
    return found;
}

/* The product that v is computed from, element by element; NULL: none was found by looking at *budget ops. */
static const ct_op *product_behind(const ct_value *v, uint32_t *budget)
{
    const ct_op *op = cg_maker_of(v);
    if (cg_is_product(op) || !op || *budget == 0)
        return cg_is_product(op) ? op : NULL;
    --*budget;
    if (op->opcode == OP_if)
        return product_in_branches(op, v->number, budget);
    if (!ct_is_map(op))
        return NULL;
    const ct_op *found = NULL;
    for (uint32_t i = 0; i < op->operand_count && !found; i++)
        found = product_behind(ct_operands(op)[i], budget);
    return found;
}

const ct_op *cg_product_before(const ct_op *op)
{
    uint32_t budget = 64;
    return product_behind(ct_operands(op)[0], &budget);
}

static bool is_chained(const ct_op *op)
{
    enum { MOST_OPS = 256 }; /* that are searched for one that uses the result */
    if (op->ahead || op->handed || cg_product_before(op))
        return true;
    uint32_t count = 0;
    for (const ct_op *next = op->next; next && count < MOST_OPS; next = next->next, count++)
        if (cg_is_product(next) && cg_product_before(next) == op)
            return true;
    return false;
}

uint32_t cg_sums_held(const ct_block *block)
{
    enum { MOST = 1 << 20 };
    uint32_t sum = 0;
    for (const ct_op *op = block->first; op && sum < MOST; op = op->next)
        if (cg_is_product(op) && !cg_is_product(cg_maker_of(cg_source_of(op->operands[2]))))
            sum += (uint32_t)1 << cg_shape_of(op->results[0].type).tile_bits;
    return sum;
}

uint32_t cg_warps_of_rows(const ct_block *body)
{
    uint32_t fewest = CG_MAX_TILE_BITS;
    for (const ct_op *op = body->first; op; op = op->next) {
        const bc_type *type = cg_is_product(op) ? op->results[0].type : NULL;
        uint32_t bits = type ? cg_log2_up((uint64_t)type->shape[type->rank - 2]) : fewest;
        fewest = bits < fewest ? bits : fewest;
    }
    uint32_t warps = fewest - CG_ATOM_ROW_BITS;
    return cg_sums_held(body) >> warps > CG_SUMS_OF_A_WARP ? UINT32_MAX : warps;
}

uint32_t cg_mma_chain_warps(const cg_func *c)
{
    /* of which the accumulators that four warps hold beside fragments take half of the registers, whatever a hint
       says */
    enum { BLOCKS = 2 };
    const uint32_t most = CG_REGISTERS / 2 / BLOCKS;
    const ct_func *f = c->ir;
    uint32_t warps = 0, chosen = cg_choices_of(c)->warps;
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        const ct_op *before = cg_is_product(op) ? cg_product_before(op) : NULL;
        if (!before || cg_memory_bytes(bc_elem_kind(ct_operands(op)[0]->type)) != 2)
            continue;
        const bc_type *result = cg_result(op, 0)->type, *other = cg_result(before, 0)->type;
        uint32_t m = cg_log2_up((uint64_t)result->shape[result->rank - 2]);
        uint32_t held = cg_sums_held(op->block),
                 pair = ((uint32_t)1 << cg_shape_of(result).tile_bits) + ((uint32_t)1 << cg_shape_of(other).tile_bits);
        held = held > pair ? held : pair;
        uint32_t wanted = chosen ? cg_log2_up(chosen) : held > most ? 3 : 2;
        uint32_t rows = m < 4 ? 0 : wanted < m - 4 ? wanted : m - 4;
        wanted = rows >= CG_WARPGROUP_BITS && held >> rows > CG_SUMS_OF_A_WARP ? wanted : rows;
        warps = wanted > warps ? wanted : warps;
    }
    return warps < 2 ? 0 : warps;
}

/* ---- all of it ---- */

bool cg_multiplies_bytes(const ct_op *op)
{
    const bc_kind in = op->opcode == OP_mmaf ? bc_elem_kind(op->operands[0]->type) : BC_F32;
    return in == BC_F8E4M3FN || in == BC_F8E5M2;
}

/* Does the product start at zero, and end where wgmma would begin another sum? */
static bool is_in_one_part(const cg_func *c, const ct_op *op)
{
    const ct_op *start = cg_addend_of(op)->op;
    const bc_type *left = op->operands[0]->type;
    return c->target->features & CG_HAS_WGMMA && left->shape[left->rank - 1] <= 1 << CG_ADD_UP_K_BITS && start
           && start->opcode == OP_constant && ct_is_zero(start);
}

bool cg_cuts_sums(const cg_func *c, const ct_op *op)
{
    return c->target->features & CG_CUTS_F8_SUMS && cg_multiplies_bytes(op)
           && bc_elem_kind(op->results[0].type) == BC_F32 && !ct_attr_u(op, F_mmaf_fast_acc) && !is_in_one_part(c, op);
}

/* Is it a product of f32 or f64 with enough elements for each thread? Otherwise, each element is computed separately
   (codegen/ops/mma_plain.c). */
static bool is_blocked(const cg_func *c, cg_product *p)
{
    if (p->scaled || p->in != p->acc || (p->in != BC_F32 && p->in != BC_F64) || p->k < CG_BLOCK_K_BITS
        || p->m + p->n + p->batch < CG_LANE_BITS + c->warp_bits + CG_BLOCK_LEAST_BITS)
        return false;
    p->atom.k_bits = CG_BLOCK_K_BITS;
    return cg_step_fits(c, p);
}

const cg_traits *cg_traits_of(cg_instruction instruction)
{
    static const cg_traits rows[] = {
#define INSTRUCTION(name, text, rows, columns, warps, align, traits) {text, rows, columns, warps, align, traits},
#include "codegen/analysis/instructions.def"
    };
    return &rows[instruction];
}

/* Does the product have what the table asks of products by the instruction? */
static bool fits_row(const cg_product *p, cg_instruction instruction)
{
    const cg_traits *t = cg_traits_of(instruction);
    return (!p->batch || t->traits & CG_IN_TENSOR) && p->m >= t->rows && p->n >= t->columns;
}

bool cg_async_fits(const cg_product *p)
{
    return fits_row(p, CG_BY_WGMMA);
}

/* Does wgmma multiply tf32 from scratch in less time than mma.sync? It reads the left operand from shared memory for
   each step along K, which takes as long as 32 columns do, while mma.sync rounds what it reads from the ring. Beside a
   loop that is divided into groups, another loop has one block on a multiprocessor, which waits longer for it if rows
   along K are shorter than a line. */
static bool suits_scratch(const cg_func *c, const cg_product *p)
{
    enum { COLUMNS = 5 /* log2 */ };
    return p->in == BC_TF32 && p->n >= COLUMNS && (!c->groups || cg_memory_bytes(p->in) << p->k >= CG_LINE_BYTES);
}

/* Can an asynchronous instruction compute the product, which has an atom? */
static bool is_async(const cg_func *c, const ct_op *op, const cg_product *p)
{
    bool takes = op->way == CT_DIRECT
                 || ((c->target->features & CG_HAS_WGMMA) && (p->atom.element_bits == 1 || suits_scratch(c, p))
                     && p->acc == BC_F32);
    return takes && cg_async_fits(p) && c->warp_bits >= cg_traits_of(CG_BY_WGMMA)->warps;
}

static cg_instruction instruction_of(const cg_func *c, const ct_op *op, cg_product *p)
{
    if (!find_atom(c, op, p))
        return is_blocked(c, p) ? CG_BY_BLOCKS : CG_BY_ELEMENT;
    if (op->paired)
        return fits_row(p, CG_BY_TCGEN05) && !cg_tcgen05_obstacle(c, p) ? CG_BY_TCGEN05 : CG_BY_MMA;
    return op->way == CT_TURNED                                       ? CG_BY_TURNED_WGMMA
           : op->way == CT_REORDERED                                  ? CG_BY_REORDERED_MMA
           : op->way == CT_FRAGMENTS                                  ? CG_BY_MMA
           : is_async(c, op, p)                                       ? CG_BY_WGMMA
           : fits_row(p, CG_BY_TCGEN05) && !cg_tcgen05_obstacle(c, p) ? CG_BY_TCGEN05
                                                                      : CG_BY_MMA;
}

cg_product cg_product_of(const cg_func *c, const ct_op *op)
{
    ct_value **operands = ct_operands(op);
    const bc_type *a = operands[0]->type, *b = operands[1]->type;
    uint32_t r = a->rank;
    cg_product p = {.m = cg_log2_up((uint64_t)a->shape[r - 2]),
                    .k = cg_log2_up((uint64_t)a->shape[r - 1]),
                    .n = cg_log2_up((uint64_t)b->shape[r - 1]),
                    .batch = r == 3 ? cg_log2_up((uint64_t)a->shape[0]) : 0,
                    .in = bc_elem_kind(a),
                    .lhs = operands[0],
                    .rhs = operands[1],
                    .c = operands[2],
                    .result = cg_result(op, 0),
                    .falling = op->falling,
                    .paired = op->paired,
                    .held = op->held};
    const bool rounds = op->way == CT_TURNED || op->way == CT_DIRECT || op->way == CT_FRAGMENTS;
    if (rounds && p.in == BC_F32) /* by the product, or before it */
        p.in = BC_TF32;
    p.acc = bc_elem_kind(p.c->type);
    p.scaled = op->opcode == OP_mmaf_scaled;
    p.scale_kind = p.scaled ? bc_elem_kind(operands[3]->type) : p.in;
    p.instruction = instruction_of(c, op, &p);
    if (p.scaled && p.instruction == CG_BY_TCGEN05)
        p.scaling = cg_tcgen05_scaling(c, &p);
    p.chained = cg_has_atom(&p) && is_chained(op);
    p.adds_up = cg_cuts_sums(c, op) && (cg_has_trait(&p, CG_ASYNCHRONOUS) || (cg_has_atom(&p) && !p.atom.widened));
    return p;
}

uint32_t cg_mma_part_bits(const cg_func *c, const ct_op *op, uint32_t *out_k)
{
    cg_product p = cg_product_of(c, op);
    *out_k = p.k + p.packed;
    return cg_has_atom(&p) ? p.k - p.atom.k_bits : 0;
}

bool cg_sums_in_tensor(const cg_func *c, const ct_op *op)
{
    return cg_is_product(op) && cg_traits_of(cg_product_of(c, op).instruction)->traits & CG_IN_TENSOR;
}

bool cg_mma_is_async(const cg_func *c, const ct_op *op)
{
    return cg_is_product(op) && cg_traits_of(cg_product_of(c, op).instruction)->traits & CG_ASYNCHRONOUS;
}

/* ---- asynchronous products ---- */

bool cg_is_mixed_product(const ct_op *op)
{
    return op->opcode == OP_mmai && ct_attr_u(op, F_mmai_signedness_lhs) != ct_attr_u(op, F_mmai_signedness_rhs);
}

bool cg_async_takes(const cg_func *c, const ct_op *op, const cg_product *p)
{
    bool small = p->in == BC_TF32 || p->in == BC_F8E4M3FN || p->in == BC_F8E5M2 || p->in == BC_I8;
    const bool may = !p->chained || (cg_multiplies_bytes(op) && !cg_product_before(op));
    return (c->target->features & CG_HAS_WGMMA) && small && cg_has_atom(p) && !p->scaled && may && !p->batch
           && p->acc != BC_F16 && !c->strip_bits && c->warp_bits >= cg_traits_of(CG_BY_WGMMA)->warps
           && (!cg_is_mixed_product(op) || cg_may_use_ptx(c, CG_PTX_OF_MIXED));
}

bool cg_has_few_rows(const ct_op *product)
{
    const bc_type *type = product->results[0].type;
    bc_kind in = bc_elem_kind(product->operands[0]->type);
    return product->opcode == OP_mmaf && type->rank == 2 && type->shape[0] >= CG_ASYNC_COLUMNS
           && type->shape[0] < CG_WARPGROUP_ROWS && type->shape[1] >= CG_WARPGROUP_ROWS && bc_elem_kind(type) == BC_F32
           && (in == BC_F16 || in == BC_BF16);
}
