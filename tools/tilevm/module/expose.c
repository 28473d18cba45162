/* Ops that write a log, put between the ops of a kernel. */
#include "tools/tilevm/module/expose.h"

#include <string.h>

#include "bytecode/dtype.h"

/* ---- building ops ---- */

/* Where new ops go: after `after`, or at the front of the block. */
typedef struct builder {
    bc_module *m;
    bc_block *block;
    bc_op *after;
    bool failed; /* out of memory */
} builder;

static bc_op *place(builder *b, bc_opcode opcode, uint32_t results, bc_value *const *operands, uint32_t count)
{
    bc_op *op = bc_op_new(b->m, opcode, results, count);
    if (!op) {
        b->failed = true;
        return NULL;
    }
    bc_op_defaults(op);
    for (uint32_t i = 0; i < count; i++) {
        bc_operands(op)[i] = operands[i];
        b->failed |= !operands[i];
    }
    op->block = b->block;
    op->next = b->after ? b->after->next : b->block->first;
    if (b->after)
        b->after->next = op;
    else
        b->block->first = op;
    if (!op->next)
        b->block->last = op;
    b->block->op_count++;
    b->after = op;
    return op;
}

/* An op of one result; NULL after running out of memory. */
static bc_value *make(builder *b, bc_opcode opcode, const bc_type *type, bc_value *x, bc_value *y)
{
    bc_value *const operands[] = {x, y};
    bc_op *op = place(b, opcode, 1, operands, x ? y ? 2 : 1 : 0);
    if (!op || !type) {
        b->failed = true;
        return NULL;
    }
    bc_results(op)->type = type;
    return bc_results(op);
}

static const bc_type *tile_of(builder *b, const bc_type *elem, const int64_t *shape, uint32_t rank)
{
    return elem ? bc_type_tile(b->m, elem, shape, rank) : NULL;
}

static const bc_type *scalar_of(builder *b, bc_kind kind)
{
    return tile_of(b, bc_type_scalar(b->m, kind), NULL, 0);
}

static const bc_type *ptr_to(builder *b, bc_kind kind)
{
    const bc_type *elem = bc_type_scalar(b->m, kind);
    return elem ? bc_type_add(
               b->m, &(bc_type){.kind = BC_PTR, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR, .elem = elem})
                : NULL;
}

static bc_value *number(builder *b, bc_kind kind, uint64_t value)
{
    uint8_t bytes[8];
    unsigned size = bc_kind_bits(kind) / 8;
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    bc_value *out = make(b, OP_constant, scalar_of(b, kind), NULL, NULL);
    const bc_blob *blob = bc_blob_add(b->m, bytes, size, true);
    b->failed |= !blob;
    if (out)
        bc_attr_of(out->op, F_constant_value)->blob = blob;
    return out;
}

static bc_value *below(builder *b, bc_value *x, bc_value *y, bc_ComparisonPredicate predicate)
{
    bc_value *out = make(b, OP_cmpi, scalar_of(b, BC_I1), x, y);
    if (out) {
        bc_attr_of(out->op, F_cmpi_comparison_predicate)->u = predicate;
        bc_attr_of(out->op, F_cmpi_signedness)->u = BC_Signedness_unsigned;
    }
    return out;
}

static bc_value *extended(builder *b, bc_value *x, const bc_type *type, bc_Signedness sign)
{
    bc_value *out = make(b, OP_exti, type, x, NULL);
    if (out)
        bc_attr_of(out->op, F_exti_signedness)->u = sign;
    return out;
}

/* The address `bytes` after p, a pointer to i8. */
static bc_value *forward(builder *b, bc_value *p, bc_value *bytes)
{
    return make(b, OP_offset, p ? p->type : NULL, p, bytes);
}

static bc_value *as_ptr_to(builder *b, bc_value *p, bc_kind kind)
{
    return make(b, OP_ptr_to_ptr, tile_of(b, ptr_to(b, kind), NULL, 0), p, NULL);
}

static void store(builder *b, bc_value *to, bc_value *value, bc_value *mask)
{
    bc_value *const operands[] = {to, value, mask};
    bc_op *op = place(b, OP_store_ptr_tko, 1, operands, 3);
    if (!op)
        return;
    bc_attr_of(op, F_store_ptr_tko_memory_ordering_semantics)->u = BC_MemoryOrderingSemantics_weak;
    const bc_segments segments = {.present = 1u << (F_store_ptr_tko_mask - F_store_ptr_tko_destination)};
    memcpy(&bc_attrs(op)[op->attr_slots - 1], &segments, sizeof segments);
    bc_results(op)->type = bc_type_scalar(b->m, BC_TOKEN);
    b->failed |= !bc_results(op)->type;
}

/* Adds to the clock, and gives what it was. */
static bc_value *tick(builder *b, bc_value *clock, bc_value *bytes)
{
    bc_value *const operands[] = {clock, bytes};
    bc_op *op = place(b, OP_atomic_rmw_tko, 2, operands, 2);
    if (!op)
        return NULL;
    bc_attr_of(op, F_atomic_rmw_tko_memory_ordering_semantics)->u = BC_MemoryOrderingSemantics_relaxed;
    bc_attr_of(op, F_atomic_rmw_tko_memory_scope)->u = BC_MemoryScope_device;
    bc_attr_of(op, F_atomic_rmw_tko_mode)->u = BC_AtomicRMWMode_add;
    bc_results(op)[0].type = scalar_of(b, BC_I64);
    bc_results(op)[1].type = bc_type_scalar(b->m, BC_TOKEN);
    b->failed |= !bc_results(op)[0].type || !bc_results(op)[1].type;
    return bc_results(op);
}

/* ---- what is exposed ---- */

bool expose_is_possible(const bc_op *op)
{
    if (bc_info(op)->traits & BC_TERMINATOR)
        return false;
    for (const bc_op *around = op->block->parent; around; around = around->block->parent)
        if (!bc_is_loop(around->opcode) && around->opcode != OP_if)
            return false;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (bc_is_tile(bc_results(op)[i].type))
            return true;
    return false;
}

/* The kind of number in the log for an element. */
static bc_kind logged_kind(bc_kind kind)
{
    return kind == BC_I1 || kind == BC_I4 ? BC_I8 : kind == BC_F4E2M1FN ? BC_F32 : kind == BC_PTR ? BC_I64 : kind;
}

bool expose_describe(const bc_op *op, uint32_t result, expose_source *out)
{
    const bc_type *type = bc_results(op)[result].type;
    if (!bc_is_tile(type) || type->rank > TV_MAX_RANK)
        return false;
    bc_kind kind = bc_elem_kind(type);
    *out = (expose_source){.result = result,
                           .is_pointer = kind == BC_PTR,
                           .rank = type->rank,
                           .shape = type->shape,
                           .count = (uint64_t)bc_shape_elems(type->shape, type->rank)};
    if (!bc_dtype_from_kind(logged_kind(kind), &out->dtype))
        return false;
    uint64_t bytes = EXPOSE_HEAD + out->count * bc_kind_memory_bytes(logged_kind(kind));
    out->bytes = (bytes + EXPOSE_ALIGN - 1) / EXPOSE_ALIGN * EXPOSE_ALIGN;
    return true;
}

/* The value as it goes into the log. */
static bc_value *logged(builder *b, bc_value *value)
{
    const bc_type *t = value->type;
    bc_kind kind = bc_elem_kind(t), to = logged_kind(kind);
    const bc_type *type = tile_of(b, bc_type_scalar(b->m, to), t->shape, t->rank);
    if (kind == to)
        return value;
    if (kind == BC_PTR)
        return make(b, OP_ptr_to_int, type, value, NULL);
    if (kind != BC_F4E2M1FN)
        return extended(b, value, type, kind == BC_I1 ? BC_Signedness_unsigned : BC_Signedness_signed);
    return make(b, OP_ftof, type, value, NULL);
}

/* ---- records ---- */

/* Values that the beginning of the kernel computes for all records. */
typedef struct log_values {
    bc_value *inside;  /* i1: the tile block is one of the window */
    bc_value *clock;   /* ptr<i64> */
    bc_value *stretch; /* ptr<i8> */
    const expose_window *window;
} log_values;

/* A scalar, as a tile of that shape. */
static bc_value *spread(builder *b, bc_value *scalar, const bc_type *like)
{
    int64_t ones[TV_MAX_RANK];
    for (uint32_t i = 0; i < like->rank; i++)
        ones[i] = 1;
    if (!scalar || like->rank == 0)
        return scalar;
    bc_value *one = make(b, OP_reshape, tile_of(b, scalar->type->elem, ones, like->rank), scalar, NULL);
    return make(b, OP_broadcast, tile_of(b, scalar->type->elem, like->shape, like->rank), one, NULL);
}

static void store_elements(builder *b, bc_value *at, bc_value *value, bc_value *fits)
{
    bc_value *shown = logged(b, value);
    if (!shown)
        return;
    const bc_type *t = shown->type;
    bc_value *first = as_ptr_to(b, forward(b, at, number(b, BC_I64, EXPOSE_HEAD)), bc_elem_kind(t));
    bc_value *to = spread(b, first, t), *mask = spread(b, fits, t);
    if (t->rank && to) {
        const int64_t count = bc_shape_elems(t->shape, t->rank);
        const bc_type *i32 = bc_type_scalar(b->m, BC_I32);
        bc_value *places = make(b, OP_iota, tile_of(b, i32, &count, 1), NULL, NULL);
        if (t->rank != 1)
            places = make(b, OP_reshape, tile_of(b, i32, t->shape, t->rank), places, NULL);
        to = make(b, OP_offset, to->type, to, places);
    }
    store(b, to, shown, mask);
}

/* One record after b->after; value NULL: a round of a loop. */
static void put_record(builder *b, const log_values *log, uint32_t number_of_source, const expose_source *source,
                       bc_value *value)
{
    bc_value *const condition[] = {log->inside};
    bc_op *branch = place(b, OP_if, 0, condition, 1);
    bc_block *body = branch ? bc_block_new(b->m, branch, 0) : NULL;
    if (!body) {
        b->failed = true;
        return;
    }
    bc_regions(branch)[0] = body;
    builder in = {.m = b->m, .block = body};
    bc_value *at = tick(&in, log->clock, number(&in, BC_I64, source->bytes));
    bc_value *from = make(&in, OP_subi, scalar_of(&in, BC_I64), at, number(&in, BC_I64, log->window->skip));
    bc_value *last = number(&in, BC_I64, log->window->capacity - source->bytes);
    bc_value *fits = below(&in, from, last, BC_ComparisonPredicate_less_than_or_equal);
    bc_value *to = forward(&in, log->stretch, from);
    store(&in, as_ptr_to(&in, to, BC_I32), number(&in, BC_I32, number_of_source), fits);
    if (value)
        store_elements(&in, to, value, fits);
    place(&in, OP_yield, 0, NULL, 0);
    b->failed |= in.failed;
}

/* ---- the entry ---- */

/* The attributes of arguments, with none for one more. NULL: out of memory. */
static const bc_tagged *with_empty_item(bc_module *m, const bc_tagged *array)
{
    uint32_t count = array->u.array.count;
    bc_tagged *items = bc_new(&m->arena, bc_tagged, count + 1), *out = bc_new(&m->arena, bc_tagged, 1);
    if (!items || !out)
        return NULL;
    if (count)
        memcpy(items, array->u.array.items, count * sizeof *items);
    items[count].tag = BC_TAG_DICTIONARY;
    *out = *array;
    out->u.array = (bc_list){items, count + 1};
    return out;
}

/* A parameter more, of type ptr<i8>: the function's type, its body's arguments and their attributes. */
static bc_value *add_param(builder *b, bc_function *f)
{
    bc_module *m = b->m;
    uint32_t count = f->body->arg_count, results = f->type->result_count;
    bc_type type = *f->type;
    const bc_type **members = bc_new(&m->arena, const bc_type *, count + results + 1);
    bc_value *args = bc_new(&m->arena, bc_value, count + 1);
    const bc_type *log = tile_of(b, ptr_to(b, BC_I8), NULL, 0);
    if (!members || !args || !log)
        return NULL;
    memcpy(members, type.members, count * sizeof *members);
    members[count] = log;
    memcpy(members + count + 1, type.members + count, results * sizeof *members);
    type.rank++;
    type.members = members;
    f->type = bc_type_add(m, &type);
    memcpy(args, f->body->args, count * sizeof *args);
    args[count] = (bc_value){.type = log, .number = (uint16_t)count};
    for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        for (uint32_t i = 0; i < op->operand_count; i++) {
            bc_value **operand = &bc_operands(op)[i];
            if (*operand >= f->body->args && *operand < f->body->args + count)
                *operand = args + (*operand - f->body->args);
        }
    f->body->args = args;
    f->body->arg_count++;
    if (f->arg_attrs && !(f->arg_attrs = with_empty_item(m, f->arg_attrs)))
        return NULL;
    return f->type ? &args[count] : NULL;
}

static bc_op *three(builder *b, bc_opcode opcode)
{
    bc_op *op = place(b, opcode, 3, NULL, 0);
    const bc_type *i32 = scalar_of(b, BC_I32);
    for (uint32_t i = 0; op && i < 3; i++)
        bc_results(op)[i].type = i32;
    return op;
}

/* What all records need, at the front of the kernel. */
static bool begin(builder *b, bc_value *param, const expose_window *w, log_values *out)
{
    const bc_type *i32 = scalar_of(b, BC_I32), *i64 = scalar_of(b, BC_I64);
    bc_op *id = three(b, OP_get_tile_block_id), *grid = three(b, OP_get_num_tile_blocks);
    if (!id || !grid)
        return false;
    bc_value *i = bc_results(id), *n = bc_results(grid);
    bc_value *rows = make(b, OP_addi, i32, &i[1], make(b, OP_muli, i32, &n[1], &i[2]));
    bc_value *block = make(b, OP_addi, i32, &i[0], make(b, OP_muli, i32, &n[0], rows));
    bc_value *place_32 = make(b, OP_subi, i32, block, number(b, BC_I32, w->first));
    bc_value *inside = below(b, place_32, number(b, BC_I32, w->count), BC_ComparisonPredicate_less_than);
    bc_value *at = extended(b, place_32, i64, BC_Signedness_unsigned);
    bc_value *clock = forward(b, param, make(b, OP_muli, i64, at, number(b, BC_I64, sizeof(uint64_t))));
    bc_value *offset = make(b, OP_muli, i64, at, number(b, BC_I64, w->capacity));
    bc_value *stretch = forward(b, forward(b, param, number(b, BC_I64, expose_log_start(w))), offset);
    *out = (log_values){.inside = inside, .clock = as_ptr_to(b, clock, BC_I64), .stretch = stretch, .window = w};
    return !b->failed;
}

size_t expose_log_start(const expose_window *w)
{
    return (w->count * sizeof(uint64_t) + EXPOSE_ALIGN - 1) / EXPOSE_ALIGN * EXPOSE_ALIGN;
}

size_t expose_log_size(const expose_window *w)
{
    return expose_log_start(w) + w->count * (size_t)w->capacity;
}

/* ---- all of it ---- */

/* An op to be exposed, or a loop. */
typedef struct chosen_op {
    bc_op *op;
    uint32_t index;
    bool exposed;
} chosen_op;

static size_t choose(const bc_function *f, const uint32_t *ops, size_t op_count, chosen_op *out, size_t *out_sources)
{
    size_t count = 0, next = 0, sources = 0;
    uint32_t index = 0;
    for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body), index++) {
        bool wanted = next < op_count && ops[next] == index, is_loop = bc_is_loop(op->opcode);
        next += wanted;
        if (!(wanted && expose_is_possible(op)) && !is_loop)
            continue;
        out[count++] = (chosen_op){op, index, wanted && expose_is_possible(op)};
        sources += op->result_count + 1u;
    }
    *out_sources = sources;
    return count;
}

static void expose_results(builder *b, const log_values *log, const chosen_op *c, expose_source *sources, size_t *count)
{
    b->block = c->op->block;
    b->after = c->op;
    for (uint32_t i = 0; i < c->op->result_count; i++) {
        expose_source *s = &sources[*count];
        if (!expose_describe(c->op, i, s))
            continue;
        s->op_index = c->index;
        put_record(b, log, (uint32_t)++ * count, s, &bc_results(c->op)[i]);
    }
}

static void expose_round(builder *b, const log_values *log, const chosen_op *c, expose_source *sources, size_t *count)
{
    sources[*count] = (expose_source){.op_index = c->index, .is_round = true, .bytes = EXPOSE_HEAD};
    b->block = bc_regions(c->op)[0];
    b->after = NULL;
    ++*count;
    put_record(b, log, (uint32_t)*count, &sources[*count - 1], NULL);
}

bool expose_ops(bc_module *m, size_t function, const uint32_t *ops, size_t op_count, const expose_window *window,
                const expose_source **out_sources, size_t *out_count)
{
    bc_function *f = &m->functions[function];
    builder b = {.m = m, .block = f->body};
    chosen_op *chosen = bc_new(&m->arena, chosen_op, f->op_count + 1u);
    size_t room = 0, count = 0, chosen_count = chosen ? choose(f, ops, op_count, chosen, &room) : 0;
    expose_source *sources = bc_new(&m->arena, expose_source, room + 1);
    bc_value *param = add_param(&b, f);
    log_values log;
    if (!chosen || !sources || !param || !begin(&b, param, window, &log))
        return false;
    for (size_t i = 0; i < chosen_count && !b.failed; i++) {
        bool is_loop = bc_is_loop(chosen[i].op->opcode);
        if (is_loop)
            expose_round(&b, &log, &chosen[i], sources, &count);
        if (chosen[i].exposed)
            expose_results(&b, &log, &chosen[i], sources, &count);
    }
    bc_function_number(f);
    m->verified = false;
    *out_sources = sources;
    *out_count = count;
    return !b.failed;
}
