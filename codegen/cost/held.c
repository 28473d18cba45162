/* Finds the largest number of a thread's registers that hold tiles. It visits ops from the last to the first; a tile
   is held from the op that computes it to its last use, and a tile from outside a loop is held to the loop's end.
   The other registers that ptxas needs are not known. Then: how many blocks share a multiprocessor. */
#include "codegen/cost/cost.h"

#include "codegen/access/pointers.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/values/effects.h"

typedef struct holding {
    cg_func *c;
    bool *held;          /* by value id */
    bool *anew;          /* by value id: it is recomputed at each use; NULL: layouts exist, and say so */
    uint32_t *addresses; /* by value id: the pointers of the tile that a thread keeps in a loop; or NULL */
    uint64_t bits, most;
    cg_held_fn *tell; /* NULL: only the maximum is needed */
    void *user;
} holding;

/* The bits of an element. Of a tile that is loaded, or a view of it, they are those in memory, but those of a register
   if accesses are shorter than that. */
static uint64_t element_bits(const holding *x, const ct_value *v)
{
    enum { REGISTER_BYTES = 4, BYTE_BITS = 8 };
    const ct_value *tile = cg_source_of(v);
    uint64_t bits = cg_class_bits(cg_elem_class(v->type)), bytes = cg_memory_bytes(bc_elem_kind(v->type));
    if (!tile->op || !ct_is_load(tile->op) || bytes >= REGISTER_BYTES)
        return bits;
    bool alone = cg_access_bytes(x->c, tile->op, tile->type, cg_value_of(x->c, tile)->home) < REGISTER_BYTES;
    return BYTE_BITS * (alone ? REGISTER_BYTES : bytes);
}

/* Do products read the tile where copies put it? */
static bool is_in_slot(const ct_value *v)
{
    const ct_op *op = cg_source_of(v)->op;
    return op && op->opcode == CT_staged && !op->in_registers;
}

/* The bits of a value in a thread; without layouts, in all threads. Tiles that products read are in shared memory, as
   far as can be known before it is divided. */
static uint64_t bits_of(const holding *x, const ct_value *v)
{
    if (!bc_is_tile(v->type) || !v->type->rank || (x->anew && cg_is_loaded_operand(v)))
        return 0;
    if (x->anew)
        return x->anew[v->id] ? 0 : (uint64_t)cg_class_bits(cg_elem_class(v->type)) << cg_shape_of(v->type).tile_bits;
    const cg_value *value = cg_value_of(x->c, v);
    bool is_read = is_in_slot(v) || cg_encoding_of(v); /* by products, from shared memory */
    if (value->form == CG_LAZY && x->addresses)
        return (uint64_t)cg_class_bits(cg_elem_class(v->type)) * x->addresses[v->id];
    return value->form == CG_TILE && !is_read ? element_bits(x, v) << value->home->reg_bits : 0;
}

/* The bits of what a scan holds beside its tiles: of each piece of adjacent elements, the total and what is in front of
   it (codegen/ops/scan.c). */
static uint64_t bits_of_scan(const holding *x, const ct_op *op)
{
    uint8_t reg_bit[CG_MAX_REG_BITS];
    uint64_t bits = 0;
    if (x->anew || op->opcode != OP_scan)
        return 0;
    const cg_layout *l = cg_value_of(x->c, cg_result(op, 0))->home;
    cg_shape s = cg_shape_of(op->operands[0]->type);
    uint32_t d = (uint32_t)ct_attr_u(op, F_scan_dim), own = cg_layout_vector(l, s.shift[d], s.bits[d], reg_bit);
    for (uint32_t i = 0; i < op->operand_count; i++)
        bits += (uint64_t)2 * cg_class_bits(cg_elem_class(op->operands[i]->type)) << (l->reg_bits - own);
    return bits;
}

static void hold(holding *x, const ct_value *v)
{
    if (x->held[v->id])
        return;
    x->held[v->id] = true;
    x->bits += bits_of(x, v);
    x->most = x->bits > x->most ? x->bits : x->most;
}

static void drop(holding *x, const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (x->held[values[i].id]) {
            x->held[values[i].id] = false;
            x->bits -= bits_of(x, &values[i]);
        }
}

/* Holds the values from outside that the loop needs in each iteration. */
static void hold_for(holding *x, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        for (uint32_t i = 0; i < op->operand_count; i++)
            if (!ct_is_inside(op->operands[i]->block, body))
                hold(x, op->operands[i]);
}

/* Of a product that stores some of its operands while others are loaded: the registers for those on their way. */
static uint32_t loads_by_turns(const ct_op *op)
{
    const cg_effect *e = cg_is_product(op) && op->effects ? op->effects->first : NULL;
    return e && e->kind == CG_USES_SCRATCH && e->by_turns ? e->loads : 0;
}

static void go_back(holding *x, const ct_block *block)
{
    enum { REGISTER_BITS = 32, SUM = 2 };
    for (const ct_op *op = block->last; op; op = op->prev) {
        uint64_t behind = x->bits;
        const bool by_parts = op->result_count == 1 && !x->held[op->results[0].id] && (cg_is_seen(op) || ct_is_map(op));
        drop(x, op->results, op->result_count);
        if (by_parts) /* of an operand that such a product stores while parts of it are loaded */
            continue;
        if (ct_is_loop(op) && op->regions[0])
            hold_for(x, op);
        uint32_t regions = op->opcode == CT_groups ? 1 : op->region_count; /* producers hold almost nothing */
        for (uint32_t r = 0; r < regions; r++)
            if (op->regions[r]) {
                go_back(x, op->regions[r]);
                drop(x, op->regions[r]->args, op->regions[r]->arg_count);
            }
        const uint32_t loads = loads_by_turns(op);
        for (uint32_t i = loads ? SUM : 0; i < op->operand_count; i++)
            hold(x, op->operands[i]);
        uint64_t here = (behind > x->bits ? behind : x->bits) + bits_of_scan(x, op) + (uint64_t)REGISTER_BITS * loads;
        x->most = here > x->most ? here : x->most;
        if (x->tell)
            x->tell(x->user, op, (uint32_t)(here + 31) / 32);
    }
}

/* The pointers in front of the loop of which those of an access in it are sums. NULL: there are none. */
static const ct_value *pointers_in_front(const ct_value *pointers, const ct_op *loop)
{
    while (pointers->op && pointers->op->opcode == OP_offset && ct_is_inside(pointers->op->block, loop->regions[0]))
        pointers = ct_operand(pointers->op, F_offset_ptr);
    return pointers->op && !ct_is_inside(pointers->op->block, loop->regions[0]) ? pointers : NULL;
}

/* Finds the pointers in front of loops that a thread keeps, to which it adds in each iteration: ptxas keeps one for
   each access whose address is not another one and a constant. Loops that carry nothing store what they compute: then,
   ptxas computes most of them anew. */
static void find_addresses(holding *x)
{
    for (const ct_op *op = x->c->ir->body->first; op; op = ct_next_op(op, x->c->ir->body)) {
        const ct_op *loop = op->opcode == OP_load_ptr_tko ? ct_loop_around(op) : NULL;
        if (!loop || loop->opcode != OP_for || loop->operand_count == ct_first_carried(loop))
            continue;
        const cg_ptr_op p = cg_ptr_op_of(op);
        const ct_value *front = pointers_in_front(p.pointers, loop);
        const cg_layout *l = cg_value_of(x->c, cg_result(op, 0))->home;
        uint32_t together;
        if (!front || !front->type->rank || !l)
            continue;
        cg_pointer_members(x->c, &p, l, &together);
        const uint32_t kept = cg_layout_regs(l) >> cg_count_bits(together | cg_equal_registers(front, l));
        if (kept > x->addresses[front->id])
            x->addresses[front->id] = kept;
    }
}

/* Pointers that a loop carries are recomputed: the canonical pass derives them from the counter. */
static void find_anew_pointers(const holding *x, const ct_op *loop)
{
    uint32_t first = ct_first_carried(loop);
    for (uint32_t i = first; i < loop->operand_count; i++) {
        const ct_value *start = loop->operands[i], *arg = &loop->regions[0]->args[i - first + 1];
        x->anew[arg->id] = x->anew[start->id] && bc_is_tile(start->type) && bc_elem_kind(start->type) == BC_PTR;
    }
}

/* Values that depend only on indices and scalars are not held: the layouts pass recomputes them. */
static void find_anew(holding *x)
{
    for (const ct_op *op = x->c->ir->body->first; op; op = ct_next_op(op, x->c->ir->body)) {
        bool anew = bc_op_in(op->opcode, BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                                             | BC_OPS(MOVE));
        for (uint32_t i = 0; i < op->operand_count; i++)
            anew = anew && (!op->operands[i]->type->rank || x->anew[op->operands[i]->id]);
        for (uint32_t i = 0; i < op->result_count; i++)
            x->anew[op->results[i].id] = anew;
        if (op->opcode == OP_for)
            find_anew_pointers(x, op);
    }
}

bool cg_bits_held(cg_func *c, uint64_t *out_bits)
{
    holding x = {.c = c,
                 .held = bc_new(&c->arena, bool, c->ir->value_count + 1u),
                 .anew = bc_new(&c->arena, bool, c->ir->value_count + 1u)};
    if (!x.held || !x.anew)
        return false;
    find_anew(&x);
    go_back(&x, c->ir->body);
    *out_bits = x.most;
    return true;
}

/* Beside products, the usual number of other registers contains addresses. In strips, they are not looked for. */
static bool find_held(holding *x)
{
    cg_func *c = x->c;
    x->held = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    x->addresses = bc_new(&c->arena, uint32_t, c->ir->value_count + 1u);
    if (!x->held || !x->addresses)
        return false;
    if (!c->strip_bits && !cg_has_products(c->ir->body))
        find_addresses(x);
    go_back(x, c->ir->body);
    return true;
}

bool cg_registers_along(cg_func *c, cg_held_fn *tell, void *user, uint32_t *out_most)
{
    holding x = {.c = c, .tell = tell, .user = user};
    if (!find_held(&x))
        return false;
    *out_most = (uint32_t)((x.most + 31) / 32);
    return true;
}

bool cg_keeps_addresses(cg_func *c)
{
    holding x = {.c = c};
    bool keeps = false;
    if (!find_held(&x))
        cg_no_memory(c);
    for (uint32_t i = 0; x.addresses && i < c->ir->value_count; i++)
        keeps = keeps || x.addresses[i] > 1;
    return keeps;
}

bool cg_registers_held(cg_func *c, uint32_t *out_registers)
{
    return cg_registers_along(c, NULL, NULL, out_registers);
}

/* The registers that the loop's tiles take in any case: carried ones, and those of all its loads that are in flight
   together, but for operands of products, which are stored at once. */
static uint64_t registers_in_loop(cg_func *c, const ct_op *loop)
{
    const holding x = {.c = c};
    const ct_block *body = loop->regions[0];
    uint64_t bits = 0;
    for (uint32_t i = 0; i < body->arg_count; i++)
        bits += bits_of(&x, &body->args[i]);
    for (const ct_op *op = body->first; op; op = op->next)
        if (ct_is_load(op) && !cg_is_loaded_operand(&op->results[0]))
            bits += bits_of(&x, &op->results[0]);
    return bits / 32;
}

bool cg_block_is_alone(cg_func *c)
{
    const cg_machine *m = cg_machine_of(c->target);
    bool alone = false;
    for (const ct_op *op = c->ir->body->first; op && !alone; op = ct_next_op(op, c->ir->body))
        alone = op->opcode == OP_for && (double)(2 * registers_in_loop(c, op) * cg_all_threads(c)) >= m->registers;
    return alone;
}

uint32_t cg_registers_wanted(const cg_func *c, uint32_t held)
{
    const cg_machine *m = cg_machine_of(c->target);
    return held + (uint32_t)(cg_has_products(c->ir->body) ? m->registers_usual : m->registers_few);
}

uint32_t cg_registers_of_masked(cg_func *c)
{
    uint32_t most = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (op->opcode != OP_load_ptr_tko && op->opcode != OP_store_ptr_tko)
            continue;
        cg_ptr_op p = cg_ptr_op_of(op);
        uint32_t fast, bits = cg_shape_of(p.pointers->type).tile_bits, vector = cg_pointer_vector(c, &p, &fast);
        uint32_t accesses = p.mask && bits > vector ? ((uint32_t)1 << (bits - vector)) / cg_threads(c) : 0;
        most = accesses > most ? accesses : most;
    }
    return most;
}

uint32_t cg_blocks_hinted(const cg_func *c, uint32_t wanted)
{
    enum { TWO = 2 };
    int64_t hint = cg_hint_of(c, CG_HINT_OCCUPANCY), most = c->target->threads / cg_all_threads(c);
    if (!hint)
        return 0;
    const cg_machine *m = cg_machine_of(c->target);
    double worth = cg_has_products(c->ir->body) ? cg_worth_spilling(m) : 1;
    double room = m->registers / cg_all_threads(c) / wanted;
    int64_t blocks = hint < most ? hint : most;
    if (blocks > 1 && room < (double)blocks)
        blocks = room >= TWO ? (int64_t)room : room * worth >= TWO ? TWO : 0;
    return (uint32_t)blocks;
}

/* ---- what shares a multiprocessor ---- */

static uint32_t registers_of(const cg_func *c, const cg_machine *m, uint32_t wanted)
{
    double threads = cg_all_threads(c), registers = wanted < m->registers_most ? wanted : m->registers_most;
    uint32_t blocks = cg_blocks_hinted(c, wanted);
    if (c->groups)
        registers = c->groups->launched ? c->groups->launched : m->registers_most;
    else if (blocks && m->registers / threads / blocks < registers)
        registers = m->registers / threads / blocks;
    return (uint32_t)(m->registers / threads < registers ? m->registers / threads : registers);
}

void cg_fit(cg_func *c, cg_kernel_cost *k, uint32_t held)
{
    const cg_machine *m = k->machine;
    k->threads = cg_all_threads(c);
    k->registers = registers_of(c, m, cg_registers_wanted(c, held));
    double room[] = {m->shared_kib / (k->shared / 1024.0 + 1), m->registers / k->registers / k->threads,
                     (double)c->target->threads / k->threads, m->most_blocks};
    double least = m->most_blocks;
    for (uint32_t i = 0; i < TV_COUNT(room); i++)
        least = room[i] < least ? room[i] : least;
    k->blocks = least < 1 ? 1 : (uint32_t)least;
    k->shares = k->blocks * cg_slices(c);
}
