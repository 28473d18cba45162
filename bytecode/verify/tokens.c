/* Token chains. Tokens are the only order between memory ops: without a path of tokens from one op to a later one a
   compiler may exchange them. The format lets any op stand outside any chain, so everything here is a warning, and
   only what cannot be meant is reported:
     V-CHN-01  two accesses to surely the same elements, one a write, with no path between them
     V-CHN-02  an acquire whose token orders nothing after it
     V-CHN-03  a release without a token, which orders nothing before it
     V-CHN-04  a write in a branch or loop that hands on a token that accesses wait for, whose own token is dropped
   "Surely the same" is: the same pointers or view and the same indices, as values, seen through assume, the view
   constructors and equal constants. Runs on functions without errors; linear but for searches with a budget.
   Source: memory operation reference, sections 3.4 and 4. */
#include "bytecode/verify/verify.h"

/* ---- which op touches memory how ---- */

typedef enum touch { TOUCH_NOT, TOUCH_LOAD, TOUCH_STORE, TOUCH_ATOMIC } touch;

/* Rows of an access; BC_NO_ROW where it has none. */
typedef struct access_rows {
    touch touch;
    int16_t place, index, mask, order, token, out;
} access_rows;

#define POINTERS(name, touch, place)                     \
    [OP_##name] = {touch,                                \
                   F_##name##_##place,                   \
                   BC_NO_ROW,                            \
                   F_##name##_mask,                      \
                   F_##name##_memory_ordering_semantics, \
                   F_##name##_token,                     \
                   F_##name##_result_token}
#define VIEW(name, touch)                                \
    [OP_##name] = {touch,                                \
                   F_##name##_view,                      \
                   F_##name##_index,                     \
                   BC_NO_ROW,                            \
                   F_##name##_memory_ordering_semantics, \
                   F_##name##_token,                     \
                   F_##name##_result_token}

static const access_rows accesses[OP_LIMIT] = {
    POINTERS(load_ptr_tko, TOUCH_LOAD, source),
    POINTERS(store_ptr_tko, TOUCH_STORE, destination),
    POINTERS(atomic_rmw_tko, TOUCH_ATOMIC, pointers),
    POINTERS(atomic_cas_tko, TOUCH_ATOMIC, pointers),
    VIEW(load_view_tko, TOUCH_LOAD),
    VIEW(store_view_tko, TOUCH_STORE),
    VIEW(atomic_red_view_tko, TOUCH_ATOMIC),
    VIEW(multimem_load_reduce_view_tko, TOUCH_LOAD),
    VIEW(multimem_reduce_view_tko, TOUCH_ATOMIC),
    VIEW(multimem_store_view_tko, TOUCH_STORE),
};

static bc_MemoryOrderingSemantics order_of(const bc_op *op)
{
    return (bc_MemoryOrderingSemantics)bc_attr_u(op, accesses[op->opcode].order);
}

/* ---- state of one function ---- */

typedef struct edge {
    uint32_t to, next; /* a token that this one waits for; next edge + 1 */
} edge;

/* Accesses to one place: the last write and the reads since, newest first. */
typedef struct access {
    const bc_op *op;
    uint32_t before; /* previous access to the place + 1, back to the last write */
} access;

/* A for or loop that the walk is in. */
typedef struct loop_frame {
    const bc_op *op;
    uint32_t first_value; /* values with smaller ids come from outside */
    const struct loop_frame *outer;
} loop_frame;

typedef struct tokens {
    bc_verifier *v;
    uint32_t *head;  /* per value: first edge + 1 */
    uint32_t *seen;  /* per value: number of the last search that met it */
    uint32_t *stack; /* of a search */
    uint8_t *used;   /* per value: a token that is handed to something */
    uint8_t *waited; /* per value: a token that an op waits for, however many joins, branches and loops are between */
    edge *edges;
    access *list;
    uint32_t *table; /* places: newest access + 1 */
    size_t edge_count, edge_capacity, access_count, access_capacity, table_mask;
    uint32_t search;
    size_t budget;          /* edges that searches may still follow */
    const loop_frame *loop; /* the innermost */
    bool wrote;
} tokens;

static void add_edge(tokens *t, const bc_value *from, const bc_value *to)
{
    if (from->type->kind != BC_TOKEN || t->edge_count == t->edge_capacity)
        return;
    t->edges[t->edge_count] = (edge){to->id, t->head[from->id]};
    t->head[from->id] = (uint32_t)++t->edge_count;
    t->used[to->id] = 1;
}

/* Is there a path from a token back to `goal`? Says yes when the budget is used up. */
static bool waits_for(tokens *t, const bc_value *from, const bc_value *goal)
{
    size_t depth = 0;
    t->search++;
    t->stack[depth++] = from->id;
    t->seen[from->id] = t->search;
    while (depth) {
        uint32_t at = t->stack[--depth];
        if (at == goal->id)
            return true;
        for (uint32_t e = t->head[at]; e; e = t->edges[e - 1].next) {
            uint32_t to = t->edges[e - 1].to;
            if (t->budget == 0)
                return true;
            t->budget--;
            if (t->seen[to] != t->search) {
                t->seen[to] = t->search;
                t->stack[depth++] = to; /* each value once: the stack has room for all */
            }
        }
    }
    return false;
}

/* Marks a token that an op waits for, and all that it waits for in turn. Each value is marked once. */
static void mark_waited(tokens *t, const bc_value *token)
{
    size_t depth = 0;
    if (!t->waited[token->id])
        t->stack[depth++] = token->id;
    t->waited[token->id] = 1;
    while (depth)
        for (uint32_t e = t->head[t->stack[--depth]]; e; e = t->edges[e - 1].next) {
            uint32_t to = t->edges[e - 1].to;
            if (!t->waited[to])
                t->stack[depth++] = to;
            t->waited[to] = 1;
        }
}

/* ---- places ---- */

/* A value behind promises; a number stands for equal constants. */
static uint64_t root_of(const bc_value *value)
{
    while (value->op && value->op->opcode == OP_assume)
        value = bc_operands(value->op)[0];
    if (value->op && value->op->opcode == OP_constant && bc_is_scalar(value->type))
        return UINT64_C(1) << 40 | bc_attr_of(value->op, F_constant_value)->blob->index;
    return value->id;
}

/* Views of one type of one tensor_view are the same view. */
static uint64_t root_of_view(const bc_value *value)
{
    while (value->op && value->op->opcode == OP_assume)
        value = bc_operands(value->op)[0];
    if (value->op && bc_op_in(value->op->opcode, BC_OPS(VIEW)) && value->op->opcode != OP_make_tensor_view)
        return root_of(bc_operands(value->op)[0]);
    return value->id;
}

static uint64_t place_part(const bc_op *op, unsigned part)
{
    const access_rows *rows = &accesses[op->opcode];
    if (part == 0) {
        const bc_value *place = bc_operand(op, rows->place);
        return rows->index == BC_NO_ROW ? root_of(place) : root_of_view(place);
    }
    if (rows->index == BC_NO_ROW) {
        const bc_value *mask = bc_operand(op, rows->mask);
        return mask ? root_of(mask) : UINT64_MAX;
    }
    return root_of(bc_operand_of(op, rows->index, part - 1));
}

static unsigned place_parts(const bc_op *op)
{
    int index = accesses[op->opcode].index;
    return 1 + (index == BC_NO_ROW ? 1 : bc_operand_range(op, index).count);
}

static bool same_place(const bc_op *a, const bc_op *b)
{
    int a_row = accesses[a->opcode].place, b_row = accesses[b->opcode].place;
    unsigned parts = place_parts(a);
    if (bc_operand(a, a_row)->type != bc_operand(b, b_row)->type || parts != place_parts(b))
        return false;
    for (unsigned i = 0; i < parts; i++)
        if (place_part(a, i) != place_part(b, i))
            return false;
    return true;
}

static uint32_t *find_place(tokens *t, const bc_op *op)
{
    uint64_t h = bc_operand(op, accesses[op->opcode].place)->type->index;
    for (unsigned i = 0; i < place_parts(op); i++)
        h = (h ^ place_part(op, i)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (h ^ h >> 32) & t->table_mask;
    while (t->table[at] && !same_place(t->list[t->table[at] - 1].op, op))
        at = (at + 1) & t->table_mask;
    return &t->table[at];
}

/* ---- can one op be followed by another? ---- */

static bool stands_in(const bc_op *op, const bc_op *around)
{
    for (const bc_op *p = op->block->parent; p; p = p->block->parent)
        if (p == around)
            return true;
    return false;
}

static bool block_holds(const bc_block *block, const bc_op *op)
{
    for (const bc_block *b = op->block;; b = b->parent->block) {
        if (b == block)
            return true;
        if (!b->parent)
            return false;
    }
}

/* Where control goes at the end of a block in an if: the op after which it goes on, NULL when it does not. */
static const bc_op *left_op(const bc_block *block)
{
    const bc_op *parent = block->parent;
    if (parent->opcode != OP_if || block->last->opcode == OP_yield)
        return parent;
    if (block->last->opcode == OP_return)
        return NULL;
    while (parent->opcode == OP_if)
        parent = parent->block->parent;
    return parent;
}

/* Can b run after a without a new iteration of a loop around both? a stands before b in the text. */
static bool can_follow(const bc_op *a, const bc_op *b)
{
    const bc_block *block = a->block;
    while (!block_holds(block, b)) {
        const bc_op *left = left_op(block);
        if (!left || stands_in(b, left))
            return false; /* leaves the kernel; or the other branch; or only in the next iteration */
        block = left->block;
    }
    return true;
}

/* The innermost loop around the op that may start another round after it; NULL when what comes next leaves them all.
   Only what surely happens counts: an if that ends with yield is left at its end. */
static const loop_frame *next_round(const tokens *t, const bc_op *op)
{
    const loop_frame *loop = t->loop;
    const bc_block *block = op->block;
    while (loop && block->last->opcode != OP_return) {
        if (block->last->opcode == OP_continue)
            return loop;
        if (block->last->opcode == OP_break) {
            block = loop->op->block;
            loop = loop->outer;
        } else {
            block = block->parent->block;
        }
    }
    return NULL;
}

/* ---- the rules ---- */

static bool is_strong(const bc_op *op)
{
    return order_of(op) != BC_MemoryOrderingSemantics_weak;
}

static bool needs_order(const bc_op *a, const bc_op *b)
{
    touch x = accesses[a->opcode].touch, y = accesses[b->opcode].touch;
    return !(x == TOUCH_LOAD && y == TOUCH_LOAD) && !(is_strong(a) && is_strong(b));
}

static bool is_ordered(tokens *t, const bc_op *a, const bc_op *b)
{
    const bc_value *token = bc_operand(b, accesses[b->opcode].token);
    return token && waits_for(t, token, bc_result(a, accesses[a->opcode].out));
}

/* V-CHN-01 for one access and those before it, back to the last write. */
static void check_order(tokens *t, const access *now, uint32_t before)
{
    int row = accesses[now->op->opcode].place;
    for (uint32_t i = before; i; i = t->list[i - 1].before) {
        const bc_op *op = t->list[i - 1].op;
        if (!needs_order(op, now->op) || !can_follow(op, now->op) || is_ordered(t, op, now->op))
            continue;
        bc_wrong(t->v, now->op, row, 0, BC_RULE_V_CHN_01,
                 "touches the same elements as '%s' at 0x%llx, but does not wait for its token", bc_info(op)->name,
                 (unsigned long long)op->offset);
        return;
    }
}

/* The same place in every round of the loop? */
static bool is_invariant(const bc_op *op, const loop_frame *loop)
{
    const access_rows *rows = &accesses[op->opcode];
    bc_range range = rows->index == BC_NO_ROW ? (bc_range){0} : bc_operand_range(op, rows->index);
    uint64_t place = rows->index == BC_NO_ROW ? place_part(op, 0) : root_of_view(bc_operand(op, rows->place));
    bool fixed = place < loop->first_value;
    for (unsigned i = 0; i < range.count; i++) {
        uint64_t root = root_of(bc_operand_of(op, rows->index, i));
        fixed = fixed && (root < loop->first_value || root >> 40);
    }
    return fixed && (rows->mask == BC_NO_ROW || !bc_operand(op, rows->mask));
}

/* V-CHN-01 for a store and itself in the next round. */
static void check_iterations(tokens *t, const bc_op *op)
{
    const loop_frame *loop = next_round(t, op);
    if (!loop || accesses[op->opcode].touch != TOUCH_STORE || is_strong(op) || !is_invariant(op, loop)
        || is_ordered(t, op, op))
        return;
    bc_wrong(t->v, op, accesses[op->opcode].place, 0, BC_RULE_V_CHN_01,
             "touches the same elements in every iteration, but does not wait for the token of the last one");
}

static void check_orders(tokens *t, const bc_op *op)
{
    const access_rows *rows = &accesses[op->opcode];
    bc_MemoryOrderingSemantics order = order_of(op);
    if (order == BC_MemoryOrderingSemantics_acquire && !t->used[bc_result(op, rows->out)->id])
        bc_wrong(t->v, op, rows->out, 0, BC_RULE_V_CHN_02, "is not used, so the acquire orders nothing after it");
    if (order == BC_MemoryOrderingSemantics_release && t->wrote && !bc_operand(op, rows->token))
        bc_wrong(t->v, op, rows->order, 0, BC_RULE_V_CHN_03, "is release, but the op waits for no token");
}

static bool any_waited(const tokens *t, const bc_value *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (t->waited[values[i].id])
            return true;
    return false;
}

/* Does an op wait for a token that comes out of the op around, or, when it goes on with it, of its next round? */
static bool hands_token_on(const tokens *t, const bc_op *around, bool again)
{
    const bc_block *body = bc_regions(around)[0];
    return any_waited(t, bc_results(around), around->result_count)
           || (again && any_waited(t, body->args, body->arg_count));
}

/* V-CHN-04. A return, and an if that a break or continue leaves, hand nothing to what comes behind the op around. */
static void check_dropped(tokens *t, const bc_op *op)
{
    const access_rows *rows = &accesses[op->opcode];
    const bc_op *around = op->block->parent;
    uint8_t end = op->block->last->opcode;
    if (!around || rows->touch == TOUCH_LOAD || t->used[bc_result(op, rows->out)->id] || !bc_operand(op, rows->token)
        || end == OP_return || (around->opcode == OP_if && end != OP_yield)
        || !hands_token_on(t, around, end == OP_continue))
        return;
    bc_wrong(t->v, op, rows->out, 0, BC_RULE_V_CHN_04, "is dropped, though the '%s' around it hands a token on",
             bc_info(around)->name);
}

/* ---- building the graph ---- */

static void add_loop_edges(tokens *t, const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    bool is_for = op->opcode == OP_for;
    bc_range inits = bc_operand_range(op, is_for ? F_for_init_values : F_loop_init_values);
    for (uint32_t i = 0; i < inits.count; i++) {
        const bc_value *init = bc_operands(op)[inits.first + i];
        add_edge(t, &body->args[i + is_for], init);
        if (is_for)
            add_edge(t, &bc_results(op)[i], init);
    }
}

/* Values that a terminator hands to the op it acts on. */
static void add_terminator_edges(tokens *t, const bc_op *op)
{
    const bc_op *target = op->block->parent;
    if (op->opcode != OP_yield)
        while (target && target->opcode == OP_if)
            target = target->block->parent;
    if (!target || op->opcode == OP_return || bc_op_in(target->opcode, BC_OPS(FOLD)))
        return;
    bool is_for = target->opcode == OP_for, again = op->opcode == OP_continue;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const bc_value *value = bc_operands(op)[i];
        if (again)
            add_edge(t, &bc_regions(target)[0]->args[i + is_for], value);
        if (!again || is_for)
            add_edge(t, &bc_results(target)[i], value);
    }
}

static void add_token_edges(tokens *t, const bc_op *op)
{
    const bc_value *out = NULL;
    for (unsigned i = 0; i < op->result_count; i++)
        if (bc_results(op)[i].type->kind == BC_TOKEN)
            out = &bc_results(op)[i];
    for (unsigned i = 0; out && i < op->operand_count; i++)
        if (bc_operands(op)[i]->type->kind == BC_TOKEN)
            add_edge(t, out, bc_operands(op)[i]);
}

static void add_op(tokens *t, const bc_op *op)
{
    if (bc_is_loop(op->opcode))
        add_loop_edges(t, op);
    else if (bc_info(op)->traits & BC_TERMINATOR)
        add_terminator_edges(t, op);
    else if (op->region_count == 0)
        add_token_edges(t, op);
}

/* ---- walking ---- */

static void visit_access(tokens *t, const bc_op *op)
{
    uint32_t *place = find_place(t, op);
    touch kind = accesses[op->opcode].touch;
    access now = {.op = op, .before = *place};
    check_order(t, &now, *place);
    check_iterations(t, op);
    check_orders(t, op);
    check_dropped(t, op);
    if (kind != TOUCH_LOAD) {
        now.before = 0; /* who waits for this write waits for what was before it, or has been reported */
        t->wrote = true;
    }
    t->list[t->access_count++] = now;
    *place = (uint32_t)t->access_count;
}

/* Ids grow in order of definition: what comes later has the next or a larger one. */
static void note_values(uint32_t *next_value, const bc_value *values, unsigned count)
{
    if (count && values[count - 1].id >= *next_value)
        *next_value = values[count - 1].id + 1;
}

static void visit_block(tokens *t, const bc_block *block, uint32_t *next_value);

static void visit_regions(tokens *t, const bc_op *op, uint32_t *next_value)
{
    const loop_frame inner = {op, *next_value, t->loop}, *outer = t->loop;
    if (bc_is_loop(op->opcode))
        t->loop = &inner;
    for (unsigned i = 0; i < op->region_count; i++)
        if (bc_regions(op)[i])
            visit_block(t, bc_regions(op)[i], next_value);
    t->loop = outer;
}

static void visit_block(tokens *t, const bc_block *block, uint32_t *next_value)
{
    note_values(next_value, block->args, block->arg_count);
    for (const bc_op *op = block->first; op && !t->v->done; op = op->next) {
        if (accesses[op->opcode].touch)
            visit_access(t, op);
        if (op->region_count)
            visit_regions(t, op, next_value);
        note_values(next_value, bc_results(op), op->result_count);
    }
}

/* ---- memory and entry point ---- */

/* How many accesses and edges the function can have. */
static void count(const bc_function *f, size_t *out_accesses, size_t *out_edges)
{
    *out_accesses = *out_edges = 0;
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body)) {
        *out_accesses += accesses[op->opcode].touch != TOUCH_NOT;
        for (unsigned i = 0; i < op->operand_count; i++)
            *out_edges += bc_operands(op)[i]->type->kind == BC_TOKEN ? 2 : 0;
    }
}

/* The tokens that the op waits for; terminators, region ops and join_tokens only hand theirs on. */
static void mark_operands(tokens *t, const bc_op *op)
{
    if (op->opcode == OP_join_tokens || op->region_count || bc_info(op)->traits & BC_TERMINATOR)
        return;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (bc_operands(op)[i]->type->kind == BC_TOKEN)
            mark_waited(t, bc_operands(op)[i]);
}

static void run(tokens *t, const bc_function *f)
{
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        add_op(t, op);
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        mark_operands(t, op);
    uint32_t next_value = 0;
    visit_block(t, f->body, &next_value);
}

void bc_check_tokens(bc_verifier *v, const bc_function *f)
{
    size_t access_count, edge_count, slots = 8, values = f->value_count;
    count(f, &access_count, &edge_count);
    if (access_count == 0)
        return;
    while (slots < access_count * 2)
        slots *= 2;
    bc_arena arena;
    bc_arena_init(&arena, &v->allocator, 0);
    tokens t = {
        .v = v,
        .head = bc_new(&arena, uint32_t, values),
        .seen = bc_new(&arena, uint32_t, values),
        .stack = bc_new(&arena, uint32_t, values + 1),
        .used = bc_new(&arena, uint8_t, values),
        .waited = bc_new(&arena, uint8_t, values),
        .edges = bc_new(&arena, edge, edge_count),
        .list = bc_new(&arena, access, access_count),
        .table = bc_new(&arena, uint32_t, slots),
        .edge_capacity = edge_count,
        .access_capacity = access_count,
        .table_mask = slots - 1,
        .budget = 16 * (edge_count + 1),
    };
    if (arena.failed)
        v->no_memory = v->done = true;
    else
        run(&t, f);
    bc_arena_release(&arena);
}
