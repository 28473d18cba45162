/* Reads and changes the tile IR; see the header. */
#include "codegen/tile/ir.h"

const bc_type ct_own_type = {.kind = BC_KIND_COUNT};

/* ---- reading ---- */

ct_op *ct_next_around(const ct_op *op, const ct_block *root)
{
    for (unsigned i = 0; i < op->region_count; i++)
        if (op->regions[i] && op->regions[i]->first)
            return op->regions[i]->first;
    for (;;) {
        if (op->next)
            return op->next;
        const ct_block *block = op->block;
        if (block == root || !block->parent)
            return NULL;
        const ct_op *parent = block->parent;
        unsigned i = 0; /* the regions after the one that has ended */
        while (i < parent->region_count && parent->regions[i] != block)
            i++;
        for (i++; i < parent->region_count; i++)
            if (parent->regions[i] && parent->regions[i]->first)
                return parent->regions[i]->first;
        op = parent;
    }
}

uint32_t ct_first_carried(const ct_op *loop)
{
    return loop->opcode == OP_for ? ct_for_inits(loop).first : 0;
}

/* The arguments that one iteration passes to the next. */
static ct_value *carried_arguments(const ct_op *loop, uint32_t *out_count)
{
    const ct_block *body = loop->regions[0];
    uint32_t first = loop->opcode == OP_for;
    *out_count = body->arg_count - first;
    return body->args + first;
}

static ct_value *results_of(const ct_op *op, uint32_t *out_count)
{
    *out_count = op->result_count;
    return op->results;
}

bool ct_is_inside(const ct_block *block, const ct_block *outer)
{
    while (block != outer && block->parent)
        block = block->parent->block;
    return block == outer;
}

bool ct_is_within(const ct_op *op, const ct_op *outer)
{
    while (op && op != outer)
        op = op->block->parent;
    return op;
}

bool ct_is_from_outside(const ct_op *op, const ct_block *block)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (ct_is_inside(op->operands[i]->block, block))
            return false;
    return true;
}

bool ct_gives_no_tiles(const ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (bc_is_tile(op->results[i].type) && op->results[i].type->rank)
            return false;
    return true;
}

const ct_op *ct_loop_around(const ct_op *op)
{
    const ct_op *parent = op->block->parent;
    while (parent && !ct_is_loop(parent))
        parent = parent->block->parent;
    return parent;
}

bool ct_is_before(const ct_op *op, const ct_op *other)
{
    while (op && op != other)
        op = op->next;
    return op;
}

ct_op *ct_in_block(ct_op *op, const ct_block *block)
{
    while (op && op->block != block)
        op = op->block->parent;
    return op;
}

ct_op *ct_first_reader(const ct_value *v, const ct_block *block)
{
    ct_op *first = NULL;
    for (const ct_use *use = v->uses; use; use = use->next) {
        ct_op *op = ct_in_block(use->op, block);
        first = !first || ct_is_before(op, first) ? op : first;
    }
    return first;
}

bool ct_ends_in_one_place(const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == OP_continue && op != body->last && ct_loop_around(op) == loop)
            return false;
    return body->last->opcode == OP_continue;
}

ct_value *ct_targets(const ct_op *op, uint32_t *out_count)
{
    const ct_op *parent = op->block->parent;
    if (op->opcode == OP_yield)
        return parent && parent->opcode == OP_if ? results_of(parent, out_count) : NULL;
    if (op->opcode == CT_keep)
        return parent && parent->opcode == CT_strips ? results_of(parent, out_count) : NULL;
    if (op->opcode != OP_continue && op->opcode != OP_break)
        return NULL;
    parent = ct_loop_around(op);
    if (!parent)
        return NULL;
    return op->opcode == OP_break ? results_of(parent, out_count) : carried_arguments(parent, out_count);
}

const ct_value *ct_unconverted(const ct_value *v)
{
    for (;;) {
        const ct_op *op = v->op;
        if (op && op->opcode == CT_convert)
            v = op->operands[0];
        else if (op && op->opcode == CT_strips)
            v = op->regions[0]->last->operands[v->number];
        else
            return v;
    }
}

const bc_op_info *ct_info(const ct_op *op)
{
    static const bc_op_info own = {.effects = BC_READS | BC_WRITES | BC_ORDERS},
                            number = {.effects = 0}; /* accesses that rely on it have its result as an index */
    return op->opcode < OP_LIMIT ? &bc_ops[op->opcode] : op->opcode == CT_within ? &number : &own;
}

const char *ct_op_name(const ct_op *op)
{
    static const char *const own[] = {
#define TOP(name, ring, operands, more, results, text) [CT_##name - OP_LIMIT] = #name,
#include "codegen/tile/ops.def"
    };
    return op->opcode < OP_LIMIT ? bc_ops[op->opcode].name : own[op->opcode - OP_LIMIT];
}

/* ---- operands ---- */

static void unlink_use(ct_use *use)
{
    *use->link = use->next;
    if (use->next)
        use->next->link = use->link;
}

static void link_use(ct_use *use, ct_op *op, uint32_t index, ct_value *v)
{
    *use = (ct_use){.op = op, .index = index, .next = v->uses, .link = &v->uses};
    if (v->uses)
        v->uses->link = &use->next;
    v->uses = use;
}

void ct_set_operand(ct_op *op, uint32_t index, ct_value *v)
{
    if (op->operands[index])
        unlink_use(&op->uses[index]);
    op->operands[index] = v;
    link_use(&op->uses[index], op, index, v);
}

static void drop_operands(ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op->operands[i])
            unlink_use(&op->uses[i]);
}

bool ct_add_operands(ct_func *f, ct_op *op, ct_value *const *values, uint32_t count)
{
    uint32_t had = op->operand_count, all = had + count;
    ct_value **operands = bc_new(f->arena, ct_value *, all + 1u), **old = op->operands;
    ct_use *uses = bc_new(f->arena, ct_use, all + 1u);
    if (!operands || !uses)
        return false;
    drop_operands(op);
    op->operands = operands;
    op->uses = uses;
    op->operand_count = (uint16_t)all;
    for (uint32_t i = 0; i < all; i++)
        ct_set_operand(op, i, i < had ? old[i] : values[i - had]);
    return true;
}

void ct_replace_uses(ct_value *v, ct_value *by)
{
    while (v->uses)
        ct_set_operand(v->uses->op, v->uses->index, by);
}

static void drop_operand(ct_op *op, uint32_t index)
{
    for (uint32_t i = index; i + 1u < op->operand_count; i++)
        ct_set_operand(op, i, op->operands[i + 1]);
    unlink_use(&op->uses[--op->operand_count]);
}

/* Moves the values after a removed one, which has no uses, down by one index. */
static void drop_value(ct_value *values, uint32_t count, uint32_t index)
{
    for (uint32_t i = index; i + 1 < count; i++) {
        ct_value *next = &values[i + 1];
        values[i].type = next->type;
        values[i].view = next->view;
        values[i].fact = next->fact;
        values[i].id = next->id;
        values[i].apart = next->apart;
        values[i].in_word = next->in_word;
        values[i].in_tensor = next->in_tensor;
        ct_replace_uses(next, &values[i]);
    }
}

void ct_drop_carried(ct_op *loop, uint32_t index)
{
    ct_block *body = loop->regions[0];
    drop_operand(loop, ct_first_carried(loop) + index);
    drop_operand(body->last, index);
    drop_value(body->args, body->arg_count--, index + 1);
    drop_value(loop->results, loop->result_count--, index);
}

void ct_replace_uses_outside(ct_value *v, ct_value *by, const ct_block *block)
{
    for (ct_use *use = v->uses, *next; use; use = next) {
        uint16_t read = use->read;
        next = use->next;
        if (ct_is_inside(use->op->block, block))
            continue;
        ct_set_operand(use->op, use->index, by);
        use->read = read;
    }
}

/* ---- ops ---- */

static void new_values(ct_func *f, ct_value *values, uint32_t count, ct_op *op, ct_block *block)
{
    for (uint32_t i = 0; i < count; i++)
        values[i] =
            (ct_value){.type = &ct_own_type, .op = op, .block = block, .id = f->value_count++, .number = (uint16_t)i};
}

/* Allocates an op with room for operands, results and regions, which are empty. */
static ct_op *allocate(ct_func *f, const ct_op *like, uint32_t operand_count, uint32_t result_count,
                       uint32_t region_count)
{
    ct_op *op = bc_new(f->arena, ct_op, 1);
    if (!op)
        return NULL;
    *op = (ct_op){.from = like->from,
                  .number = like->number,
                  .opcode = like->opcode,
                  .region_count = (uint8_t)region_count,
                  .in_flight = like->in_flight,
                  .ahead = like->ahead,
                  .handed = like->handed,
                  .in_place = like->in_place,
                  .as_words = like->as_words,
                  .paired = like->paired,
                  .falling = like->falling,
                  .turn = like->turn,
                  .way = like->way,
                  .in_registers = like->in_registers,
                  .unrolled = like->unrolled,
                  .plain = like->plain,
                  .likely = like->likely,
                  .operand_count = (uint16_t)operand_count,
                  .result_count = (uint16_t)result_count,
                  .operands = bc_new(f->arena, ct_value *, operand_count + 1u),
                  .results = bc_new(f->arena, ct_value, result_count + 1u),
                  .uses = bc_new(f->arena, ct_use, operand_count + 1u),
                  .regions = bc_new(f->arena, ct_block *, region_count + 1u)};
    if (!op->operands || !op->results || !op->uses || !op->regions)
        return NULL;
    new_values(f, op->results, result_count, op, NULL);
    return op;
}

ct_op *ct_op_new(ct_func *f, ct_opcode opcode, const ct_op *from, uint32_t operand_count, uint32_t result_count)
{
    ct_op *op = allocate(f, from, operand_count, result_count, 0);
    if (op) {
        op->opcode = (uint8_t)opcode;
        op->way = CT_AS_IT_IS;
        op->held = 0;
        op->falling = op->turn = 0;
        op->in_flight = op->ahead = op->in_place = op->as_words = op->in_registers = op->plain = op->likely = false;
        op->paired = op->unrolled = false;
    }
    return op;
}

ct_op *ct_op_like(ct_func *f, bc_opcode opcode, const ct_op *from, uint32_t operand_count, uint32_t result_count,
                  uint32_t region_count)
{
    ct_op *op = allocate(f, from, operand_count, result_count, region_count);
    if (op) {
        op->opcode = (uint8_t)opcode;
        op->way = CT_AS_IT_IS;
        op->held = 0;
        op->falling = op->turn = 0;
        op->in_flight = op->ahead = op->in_place = op->as_words = op->in_registers = op->plain = op->likely = false;
        op->paired = op->unrolled = false;
    }
    return op;
}

static void set_block(ct_op *op, ct_block *block)
{
    op->block = block;
    for (uint32_t i = 0; i < op->result_count; i++)
        op->results[i].block = block;
}

void ct_insert_before(ct_op *op, ct_op *place)
{
    set_block(op, place->block);
    op->prev = place->prev;
    op->next = place;
    *(place->prev ? &place->prev->next : &place->block->first) = op;
    place->prev = op;
}

void ct_insert_after(ct_op *op, ct_op *place)
{
    set_block(op, place->block);
    op->prev = place;
    op->next = place->next;
    *(place->next ? &place->next->prev : &place->block->last) = op;
    place->next = op;
}

void ct_append(ct_block *block, ct_op *op)
{
    set_block(op, block);
    op->prev = block->last;
    op->next = NULL;
    *(block->last ? &block->last->next : &block->first) = op;
    block->last = op;
}

void ct_move_all(ct_block *from, ct_block *to, ct_op *parent)
{
    to->parent = parent;
    for (ct_op *op = from->first, *next; op; op = next) {
        next = op->next;
        ct_append(to, op);
    }
    from->first = from->last = NULL;
}

static void unlink_op(ct_op *op)
{
    *(op->prev ? &op->prev->next : &op->block->first) = op->next;
    *(op->next ? &op->next->prev : &op->block->last) = op->prev;
}

void ct_move_before(ct_op *op, ct_op *place)
{
    unlink_op(op);
    ct_insert_before(op, place);
}

void ct_remove(ct_op *op)
{
    for (ct_op *in = op; in; in = ct_next_within(in, op))
        drop_operands(in);
    unlink_op(op);
}

/* ---- copies ---- */

bool ct_map_new(ct_func *f, ct_map *out)
{
    *out = (ct_map){.to = bc_new(f->arena, ct_value *, f->value_count + 1u), .count = f->value_count};
    return out->to;
}

void ct_map_set(ct_map *map, const ct_value *v, ct_value *to)
{
    map->to[v->id] = to;
}

ct_value *ct_mapped(const ct_map *map, ct_value *v)
{
    return v->id < map->count && map->to[v->id] ? map->to[v->id] : v;
}

/* Sets the values of a copy, with the same types and facts. */
static void copy_values(ct_map *map, const ct_value *from, ct_value *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i].type = from[i].type;
        to[i].fact = from[i].fact;
        to[i].view = from[i].view;
        to[i].apart = from[i].apart;
        to[i].in_word = from[i].in_word;
        ct_map_set(map, &from[i], &to[i]);
    }
}

ct_block *ct_block_new(ct_func *f, uint32_t arg_count)
{
    ct_block *block = bc_new(f->arena, ct_block, 1);
    if (!block || !(block->args = bc_new(f->arena, ct_value, arg_count + 1u)))
        return NULL;
    block->arg_count = arg_count;
    new_values(f, block->args, arg_count, NULL, block);
    return block;
}

ct_block *ct_clone_block(ct_func *f, const ct_block *from, ct_op *parent, ct_map *map)
{
    ct_block *block = ct_block_new(f, from->arg_count);
    if (!block)
        return NULL;
    block->from = from->from;
    block->parent = parent;
    copy_values(map, from->args, block->args, from->arg_count);
    for (const ct_op *op = from->first; op; op = op->next) {
        ct_op *copy = ct_clone(f, op, map);
        if (!copy)
            return NULL;
        ct_append(block, copy);
    }
    return block;
}

ct_op *ct_clone(ct_func *f, const ct_op *op, ct_map *map)
{
    ct_op *copy = allocate(f, op, op->operand_count, op->result_count, op->region_count);
    if (!copy)
        return NULL;
    copy->detail = op->detail;
    for (uint32_t i = 0; i < op->operand_count; i++)
        ct_set_operand(copy, i, ct_mapped(map, op->operands[i]));
    copy_values(map, op->results, copy->results, op->result_count);
    for (uint32_t r = 0; r < op->region_count; r++)
        if (op->regions[r] && !(copy->regions[r] = ct_clone_block(f, op->regions[r], copy, map)))
            return NULL;
    return copy;
}

const ct_value *ct_ring_of(const ct_op *op)
{
    enum { NONE, FIRST, LAST };
    static const uint8_t ring[] = {
#define TOP(name, ring, operands, more, results, text) [CT_##name - OP_LIMIT] = ring,
#include "codegen/tile/ops.def"
    };
    uint8_t where = op->opcode >= OP_LIMIT && op->opcode < CT_LIMIT ? ring[op->opcode - OP_LIMIT] : NONE;
    if (where == NONE || !op->operand_count)
        return NULL;
    return op->operands[where == FIRST ? 0 : op->from->operand_count];
}
