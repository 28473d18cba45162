/* The tile IR: made, changed, copied, pruned, printed; and broken in every way that the verifier knows. */
#include <string.h>

#include "codegen/layout/intern.h"
#include "codegen/passes/pass.h"
#include "codegen/tile/print.h"
#include "codegen/tile/verify.h"
#include "tests/unit/test.h"

static const char source[] =
    "entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>) {\n"
    "  %0 = constant <i32: 0> : tile<i32>\n"
    "  %1 = constant <i32: 1> : tile<i32>\n"
    "  %none = constant <f32: 0.0> : tile<16x16xf32>\n"
    "  %t = make_tensor_view %p, shape = [16, 64], strides = [64, 1] : tensor_view<16x64xf16, strides=[64,1]>\n"
    "  %v = make_partition_view %t : partition_view<tile=(16x16), tensor_view<16x64xf16, strides=[64,1]>>\n"
    "  %sum = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%acc = %none) -> (tile<16x16xf32>) {\n"
    "    %l, %t0 = load_view_tko weak %v[%0, %i] : partition_view<tile=(16x16), tensor_view<16x64xf16, "
    "strides=[64,1]>>, tile<i32> -> tile<16x16xf16>, token\n"
    "    %seen = reshape %l : tile<16x16xf16> -> tile<16x16xf16>\n"
    "    %next = mmaf %seen, %seen, %acc : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>\n"
    "    continue %next : tile<16x16xf32>\n"
    "  }\n"
    "  %twice = addf %sum, %sum : tile<16x16xf32>\n"
    "  %u = make_tensor_view %q, shape = [16, 16], strides = [16, 1] : tensor_view<16x16xf32, strides=[16,1]>\n"
    "  %w = make_partition_view %u : partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>\n"
    "  %t1 = store_view_tko weak %twice, %w[%0, %0] : tile<16x16xf32>, partition_view<tile=(16x16), "
    "tensor_view<16x16xf32, strides=[16,1]>>, tile<i32> -> token\n"
    "  return\n"
    "}\n";

/* A fresh copy of the function, and the ops that tests are about. */
typedef struct sample {
    bc_arena arena;
    ct_func *f;
    ct_block *body;
    ct_op *zero, *one, *loop, *load, *seen, *product, *next, *twice, *store, *end;
    ct_value *ring;
} sample;

static const bc_module *module;

static ct_op *find(const ct_func *f, int opcode)
{
    ct_op *op = f->body->first;
    while (op && op->opcode != opcode)
        op = ct_next_op(op, f->body);
    return op;
}

static sample open_sample(void)
{
    sample s = {0};
    bc_arena_init(&s.arena, NULL, 0);
    return s;
}

static void import(sample *s)
{
    s->f = ct_import(&module->functions[0], &s->arena);
    s->zero = s->f->body->first;
    s->one = s->zero->next;
    s->loop = find(s->f, OP_for);
    s->body = s->loop->regions[0];
    s->load = find(s->f, OP_load_view_tko);
    s->seen = find(s->f, OP_reshape);
    s->product = find(s->f, OP_mmaf);
    s->next = find(s->f, OP_continue);
    s->twice = find(s->f, OP_addf);
    s->store = find(s->f, OP_store_view_tko);
    s->end = s->f->body->last;
}

/* What the verifier says; NULL: nothing. */
static const char *fault_of(const sample *s)
{
    ct_fault fault = {.what = "out of memory"};
    return ct_verify(s->f, &fault) == TV_OK ? NULL : fault.what;
}

static uint32_t uses_of(const ct_value *v)
{
    uint32_t count = 0;
    for (const ct_use *use = v->uses; use; use = use->next)
        count++;
    return count;
}

/* An op on the ring alone. */
static ct_op *ring_op(sample *s, ct_opcode opcode)
{
    ct_op *op = ct_op_new(s->f, opcode, s->loop, 1, 0);
    ct_set_operand(op, 0, s->ring);
    return op;
}

static void add_ring(sample *s)
{
    ct_op *ring = ct_op_new(s->f, CT_ring, s->loop, 0, 1);
    ct_insert_before(ring, s->loop);
    s->ring = &ring->results[0];
}

/* The load as passes leave it: awaited at the loop's head, released at its end. */
static void stage(sample *s)
{
    add_ring(s);
    ct_add_operands(s->f, s->load, &s->ring, 1);
    s->load->opcode = CT_staged;
    ct_insert_before(ring_op(s, CT_await), s->body->first);
    ct_insert_before(ring_op(s, CT_release), s->next);
}

static ct_op *put_mma_await(sample *s, ct_value *product, ct_op *behind)
{
    ct_op *op = ct_op_new(s->f, CT_mma_await, behind, 1, 1);
    op->results[0].type = product->type;
    ct_replace_uses(product, &op->results[0]);
    ct_set_operand(op, 0, product);
    ct_insert_after(op, behind);
    return op;
}

/* In front of the addition, which reads the converted tile. */
static ct_op *put_convert(sample *s)
{
    ct_op *op = ct_op_new(s->f, CT_convert, s->loop, 1, 1);
    op->results[0].type = s->loop->results[0].type;
    ct_set_operand(op, 0, &s->loop->results[0]);
    ct_set_operand(s->twice, 1, &op->results[0]);
    ct_insert_before(op, s->twice);
    return op;
}

/* ---- what can be done to it ---- */

static void check_import(sample *s)
{
    import(s);
    CHECK(!fault_of(s));
    CHECK(s->f->value_count == module->functions[0].value_count);
    CHECK(s->load->block == s->body && s->body->parent == s->loop && !s->f->body->parent);
    CHECK(uses_of(&s->loop->results[0]) == 2 && uses_of(&s->zero->results[0]) == 4);
    CHECK(ct_next_op(s->next, s->f->body) == s->twice && !ct_next_op(s->next, s->body));
    CHECK(strcmp(ct_op_name(s->product), "mmaf") == 0);
}

static void check_insert(sample *s)
{
    import(s);
    add_ring(s);
    ct_op *commit = ring_op(s, CT_commit), *drain = ring_op(s, CT_drain);
    ct_insert_before(commit, s->zero->prev ? s->zero : s->loop);
    ct_insert_after(drain, s->loop);
    CHECK(commit->next == s->loop && s->loop->next == drain && drain->next == s->twice && !fault_of(s));
    CHECK(uses_of(s->ring) == 2 && strcmp(ct_op_name(drain), "drain") == 0);
    ct_remove(commit);
    CHECK(uses_of(s->ring) == 1 && s->loop->prev == s->ring->op && !fault_of(s));
    ct_remove(drain);
    ct_remove(s->ring->op);
    CHECK(!s->ring->uses && s->loop->next == s->twice && !fault_of(s));
}

static void check_uses(sample *s)
{
    import(s);
    ct_value *sum = &s->loop->results[0], *none = s->loop->operands[3];
    ct_replace_uses(sum, none);
    CHECK(!sum->uses && s->twice->operands[0] == none && s->twice->operands[1] == none && !fault_of(s));
    ct_set_operand(s->twice, 0, sum);
    CHECK(uses_of(sum) == 1 && uses_of(none) == 2 && !fault_of(s));
}

static void check_clone(sample *s)
{
    import(s);
    ct_map map;
    CHECK(ct_map_new(s->f, &map));
    ct_map_set(&map, &s->zero->results[0], &s->one->results[0]);
    ct_op *copy = ct_clone(s->f, s->loop, &map);
    ct_insert_after(copy, s->loop);
    CHECK(!fault_of(s));
    CHECK(copy->operands[0] == &s->one->results[0] && copy->operands[1] == s->loop->operands[1]);
    const ct_block *body = copy->regions[0];
    CHECK(body != s->body && body->arg_count == 2 && body->args[0].id >= module->functions[0].value_count);
    CHECK(body->first->operands[1] == &s->one->results[0] && body->first->operands[2] == &body->args[0]);
    ct_replace_uses(&s->loop->results[0], &copy->results[0]);
    CHECK(!fault_of(s));
    ct_remove(s->loop);
    CHECK(!fault_of(s) && s->f->body->first->next->next->next->next->next == copy);
}

static bool is_store(const ct_op *op)
{
    return op->opcode == OP_store_view_tko;
}

static bool is_load(const ct_op *op)
{
    return op->opcode == OP_load_view_tko;
}

static void check_prune(sample *s)
{
    import(s);
    add_ring(s);
    CHECK(ct_prune(s->f, s->f->body, is_store, s->ring));
    CHECK(!fault_of(s) && find(s->f, OP_mmaf) && !find(s->f, CT_ring));
    import(s);
    add_ring(s);
    ct_op *ring = s->ring->op;
    ct_remove(ring); /* `nothing` is to be seen by all that is left */
    ct_insert_before(ring, s->zero);
    CHECK(ct_prune(s->f, s->f->body, is_load, s->ring));
    CHECK(find(s->f, OP_for) == s->loop && find(s->f, OP_load_view_tko) && !find(s->f, OP_mmaf)
          && !find(s->f, OP_store_view_tko) && !find(s->f, OP_addf));
    CHECK(s->loop->operands[3] == s->ring && s->next->operands[0] == s->ring && s->body->args[1].type == &ct_own_type
          && s->loop->results[0].type == &ct_own_type);
}

static void say_op(void *user, const ct_op *op, bc_text *out)
{
    (void)user;
    if (op->opcode == OP_mmaf || op->opcode == CT_ring)
        bc_text_puts(out, "of note");
}

static void say_value(void *user, const ct_value *v, bc_text *out)
{
    (void)user;
    if (!v->op)
        bc_text_puts(out, "an argument");
}

static void check_print(sample *s)
{
    static const char expected[] = "      %arg0: an argument\n"
                                   "      %arg1: an argument\n"
                                   "      %arg2: an argument\n"
                                   "  %cst_0_i32 = constant <i32: 0> : tile<i32>\n"
                                   "  %t0 = ring {of note}\n"
                                   "  %for = for %loopIdx in (%t0 to %arg2, step %t0) : token iter_values(%iterArg0 = "
                                   "%t0) -> (token) {\n"
                                   "      %loopIdx: an argument\n"
                                   "      %iterArg0: an argument\n"
                                   "    await %t0\n"
                                   "    %2 = mmaf %reshape, %reshape, %for : tile<16x16xf16>, tile<16x16xf16>, token\n"
                                   "        {of note}\n"
                                   "    %t1 = mma_await %2 : tile<16x16xf32>\n"
                                   "    continue %t1 : tile<16x16xf32>\n"
                                   "  }\n"
                                   "  return\n";
    bc_text text;
    import(s);
    add_ring(s);
    put_mma_await(s, &s->product->results[0], s->product);
    ct_insert_before(ring_op(s, CT_await), s->load);
    for (int i = 0; i < 4; i++)
        if (i != 1)
            ct_set_operand(s->loop, (uint32_t)i, s->ring);
    ct_set_operand(s->product, 2, &s->loop->results[0]); /* texts are of what is there, well formed or not */
    s->body->args[0].type = s->loop->results[0].type = &ct_own_type;
    ct_op *const dropped[] = {s->store, s->store->prev,           s->store->prev->prev, s->twice,     s->load,
                              s->seen,  s->one->next->next->next, s->one->next->next,   s->one->next, s->one};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        ct_remove(dropped[i]);
    bc_text_init(&text, NULL);
    ct_print(module, s->f, &(ct_comments){.value = say_value, .op = say_op}, &text);
    CHECK_MSG(text.ptr && strcmp(text.ptr, expected) == 0, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

/* ---- products and rings as they should be ---- */

static void check_async(sample *s)
{
    import(s);
    stage(s);
    CHECK(!fault_of(s));
    s->product->in_flight = true;
    put_mma_await(s, &s->product->results[0], s->product);
    CHECK(!fault_of(s));
    import(s);
    s->product->in_flight = s->product->in_place = true;
    put_mma_await(s, &s->loop->results[0], s->loop);
    CHECK(!fault_of(s));
    import(s);
    stage(s);
    s->load->in_registers = true;
    ct_insert_before(ring_op(s, CT_release), s->product);
    CHECK(!fault_of(s));
}

/* ---- what the verifier finds ---- */

static void break_number(sample *s)
{
    s->load->results[1].number = 0;
}
static void break_id(sample *s)
{
    s->one->results[0].id = s->zero->results[0].id;
}
static void break_list(sample *s)
{
    s->zero->results[0].uses = s->zero->results[0].uses->next;
}
static void forget_operand(sample *s)
{
    s->twice->operands[0] = NULL;
}
static void read_later(sample *s)
{
    ct_set_operand(s->loop, 3, &s->twice->results[0]);
}
static void read_from_inside(sample *s)
{
    ct_set_operand(s->twice, 0, &s->product->results[0]);
}
static void break_use(sample *s)
{
    s->twice->uses[0].index = 1;
}
static void make_unknown(sample *s)
{
    s->twice->opcode = CT_LIMIT;
}
static void leave_out_ring(sample *s)
{
    ct_insert_before(ct_op_new(s->f, CT_commit, s->loop, 0, 0), s->loop);
}
static void leave_out_result(sample *s)
{
    ct_insert_before(ct_op_new(s->f, CT_ring, s->loop, 0, 0), s->loop);
}
static void read_copy(sample *s)
{
    stage(s);
    s->load->opcode = CT_copy;
}
static void mistake_ring(sample *s)
{
    s->ring = &s->zero->results[0];
    ct_insert_before(ring_op(s, CT_commit), s->loop);
}
static void mistake_ring_of_load(sample *s)
{
    stage(s);
    ct_set_operand(s->load, s->load->operand_count - 1u, &s->zero->results[0]);
}
static void forget_source(sample *s)
{
    s->twice->from = NULL;
}
static void change_kind(sample *s)
{
    s->twice->opcode = OP_mulf;
}
static void return_early(sample *s)
{
    ct_insert_before(ct_clone(s->f, s->end, &(ct_map){0}), s->loop);
}
static void end_nowhere(sample *s)
{
    ct_remove(s->end);
}
static void continue_outside(sample *s)
{
    ct_op *copy = ct_clone(s->f, s->next, &(ct_map){0});
    ct_set_operand(copy, 0, &s->twice->results[0]);
    ct_insert_before(copy, s->end);
    ct_remove(s->end);
}
static void hand_on_another(sample *s)
{
    ct_set_operand(s->next, 0, &s->seen->results[0]);
}
static void start_with_another(sample *s)
{
    ct_set_operand(s->loop, 3, &s->zero->results[0]);
}
static void end_with_another(sample *s)
{
    s->loop->results[0].type = s->zero->results[0].type;
}
static void forget_parent(sample *s)
{
    s->body->parent = NULL;
}
static void break_link(sample *s)
{
    s->twice->prev = NULL;
}
static void forget_block(sample *s)
{
    s->twice->block = s->body;
}
static void break_end(sample *s)
{
    s->body->last = s->product;
}
static void add_many_rings(sample *s)
{
    for (int i = 0; i < 65; i++)
        add_ring(s);
}
static void await_never(sample *s)
{
    stage(s);
    ct_remove(s->body->first);
}
static void release_early(sample *s)
{
    stage(s);
    ct_insert_before(ring_op(s, CT_release), s->product);
}
static void load_too_early(sample *s)
{
    stage(s);
    s->load->in_registers = true;
    ct_move_before(s->load, s->body->first);
}
static void await_once(sample *s)
{
    stage(s);
    ct_op *await = s->body->first;
    ct_remove(await);
    ct_insert_before(ring_op(s, CT_await), s->loop);
}
static void read_in_flight(sample *s)
{
    s->product->in_flight = true;
}
static void read_behind_loop(sample *s)
{
    s->product->in_flight = s->product->in_place = true;
}
static void read_in_flight_too(sample *s)
{
    ct_value *product = &s->product->results[0];
    s->product->in_flight = true;
    put_mma_await(s, product, s->product);
    ct_set_operand(s->next, 0, product);
}
static void convert_to_another_type(sample *s)
{
    put_convert(s)->results[0].type = s->load->results[0].type;
}
static void convert_a_scalar(sample *s)
{
    ct_op *op = put_convert(s);
    ct_set_operand(op, 0, &s->zero->results[0]);
    op->results[0].type = s->zero->results[0].type;
}
static void convert_never_awaited(sample *s)
{
    stage(s);
    ct_remove(s->body->first);
    ct_op *op = ct_op_new(s->f, CT_convert, s->load, 1, 1);
    op->results[0].type = s->load->results[0].type;
    ct_set_operand(op, 0, &s->load->results[0]);
    ct_insert_before(op, s->product);
    for (uint32_t i = 0; i < 2; i++)
        ct_set_operand(s->product, i, &op->results[0]);
}

/* The sum, twice, in a loop over strips. */
static ct_op *enclose(sample *s)
{
    ct_block *region = ct_block_new(s->f, 0);
    ct_op *strips = ct_op_new(s->f, CT_strips, s->twice, 0, 1), *keep = ct_op_new(s->f, CT_keep, s->twice, 1, 0);
    ct_insert_before(strips, s->twice);
    strips->region_count = 1;
    strips->regions[0] = region;
    strips->results[0].type = s->twice->results[0].type;
    region->parent = strips;
    ct_append(region, keep);
    ct_move_before(s->twice, keep);
    ct_replace_uses_outside(&s->twice->results[0], &strips->results[0], region);
    ct_set_operand(keep, 0, &s->twice->results[0]);
    return strips;
}
static void keep_nothing(sample *s)
{
    ct_remove(enclose(s)->regions[0]->last);
}
static void keep_another(sample *s)
{
    ct_set_operand(enclose(s)->regions[0]->last, 0, &s->one->results[0]);
}
static void keep_too_much(sample *s)
{
    enclose(s);
    ct_value *more = &s->one->results[0];
    ct_add_operands(s->f, find(s->f, CT_keep), &more, 1);
}
static void keep_in_no_loop(sample *s)
{
    ct_append(s->f->body, ct_op_new(s->f, CT_keep, s->end, 0, 0));
    ct_remove(s->end);
}
static void read_what_is_not_kept(sample *s)
{
    enclose(s);
    ct_set_operand(s->store, 0, &s->twice->results[0]);
}

static const struct broken {
    void (*break_it)(sample *s);
    const char *what;
} broken[] = {
    {break_number, "a value has a wrong owner, number or type"},
    {break_id, "the number of a value is too large or not unique"},
    {break_list, "the list of uses of a value does not match the ops"},
    {forget_operand, "an operand is missing"},
    {read_later, "an operand is not defined before it"},
    {read_from_inside, "a value is read where it is not defined"},
    {break_use, "a use belongs to another value"},
    {make_unknown, "its opcode does not exist"},
    {leave_out_ring, "its number of operands is wrong"},
    {leave_out_result, "its results have the wrong number or type"},
    {read_copy, "its results have the wrong number or type"},
    {mistake_ring, "the operand that should be its ring is not a ring"},
    {mistake_ring_of_load, "the operand that should be its ring is not a ring"},
    {forget_source, "its origin is not an op of the function"},
    {change_kind, "it differs from the op that it was created from"},
    {return_early, "ops follow it"},
    {end_nowhere, "a block ends with it"},
    {continue_outside, "there is no loop around it"},
    {hand_on_another, "the values that it passes on differ in type from those that receive them"},
    {start_with_another, "its initial values differ in type from its body's arguments"},
    {end_with_another, "its initial values differ in type from its results"},
    {forget_parent, "a region is empty, or another op's"},
    {break_link, "its links to its block are wrong"},
    {forget_block, "its links to its block are wrong"},
    {break_end, "its block does not end with it"},
    {add_many_rings, "there are more rings than can be checked"},
    {await_never, "it reads a tile of a ring that has not been awaited"},
    {release_early, "it reads a tile of a ring that has not been awaited"},
    {load_too_early, "it reads a tile of a ring that has not been awaited"},
    {await_once, "it reads a tile of a ring that has not been awaited"},
    {read_in_flight, "it reads a product that has not been awaited"},
    {read_behind_loop, "it reads a product that has not been awaited"},
    {read_in_flight_too, "it reads a product that has not been awaited"},
    {convert_to_another_type, "its result does not have the type of its operand"},
    {convert_a_scalar, "its result does not have the type of its operand"},
    {convert_never_awaited, "it reads a tile of a ring that has not been awaited"},
    {keep_nothing, "it does not end with a keep"},
    {keep_another, "the values that it passes on differ in type from those that receive them"},
    {keep_too_much, "the values that it passes on differ in type from those that receive them"},
    {keep_in_no_loop, "there is no loop around it"},
    {read_what_is_not_kept, "a value is read where it is not defined"},
};

static void check_broken(sample *s)
{
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        import(s);
        broken[i].break_it(s);
        const char *found = fault_of(s);
        CHECK_MSG(found && strcmp(found, broken[i].what) == 0, "%zu: '%s', not '%s'", i, found ? found : "nothing",
                  broken[i].what);
    }
}

static void check_strips(sample *s)
{
    import(s);
    const ct_op *strips = enclose(s);
    CHECK(!fault_of(s));
    CHECK(s->store->operands[0] == &strips->results[0]);
    CHECK(ct_unconverted(s->store->operands[0]) == &s->twice->results[0]);
}

/* ---- layouts ---- */

static const char *layout_fault_of(const sample *s, cg_value *values)
{
    cg_func c = {.ir = s->f, .values = values};
    ct_fault fault;
    return cg_verify_layouts(&c, &fault) ? NULL : fault.what;
}

static void check_layouts(sample *s)
{
    import(s);
    ct_op *convert = put_convert(s);
    CHECK(!fault_of(s));
    cg_shape shape = cg_shape_of(convert->results[0].type);
    cg_value *values = bc_new(&s->arena, cg_value, s->f->value_count);
    cg_value *from = &values[s->loop->results[0].id], *to = &values[convert->results[0].id];
    cg_layout rows = cg_layout_blocked(&shape, 1, 0, 2), columns = cg_layout_blocked(&shape, 0, 0, 2);
    *from = *to = (cg_value){.form = CG_TILE, .home = &rows};
    const char *found = layout_fault_of(s, values);
    CHECK(found && strcmp(found, "it does not lead to another layout") == 0);
    to->home = &columns;
    CHECK(!layout_fault_of(s, values));
    from->form = CG_LAZY;
    found = layout_fault_of(s, values);
    CHECK(found && strcmp(found, "it does not lead to another layout") == 0);
    from->form = CG_TILE;
    columns.tile_bits++;
    found = layout_fault_of(s, values);
    CHECK(found && strcmp(found, "a layout is for another number of elements") == 0);
}

static void check_intern(sample *s)
{
    import(s);
    cg_layout_table table = {0};
    cg_shape shape = cg_shape_of(s->twice->results[0].type);
    cg_layout rows = cg_layout_blocked(&shape, 1, 0, 2), again = rows, columns = cg_layout_blocked(&shape, 0, 0, 2);
    const cg_layout *first = cg_layout_intern(&table, &s->arena, &rows);
    CHECK(first && cg_layout_equal(first, &rows) && cg_layout_intern(&table, &s->arena, &again) == first);
    CHECK(cg_layout_intern(&table, &s->arena, &columns) != first);
    cg_layout few = cg_layout_scalar(0), many = cg_layout_scalar(3);
    CHECK(cg_layout_intern(&table, &s->arena, &few) == cg_layout_intern(&table, &s->arena, &many));
}

/* ---- what the passes' runner makes of it ---- */

static void note(void *user, const tv_diag *d)
{
    bc_text *messages = user;
    bc_text_str(messages, d->message);
    bc_text_char(messages, '\n');
}

/* Runs the first pass; all that it may say. */
static tv_status run_first_pass(sample *s, bool verifies, bc_text *messages)
{
    static const tv_compile_options options;
    cg_func c = {.m = module,
                 .f = &module->functions[0],
                 .ir = s->f,
                 .target = cg_target_find(bc_str("sm_80")),
                 .options = &options,
                 .sink = {messages, note}};
    bc_arena_init(&c.arena, NULL, 0);
    cg_run_passes(&c, &(cg_watch){.count = 1, .verifies = verifies});
    bc_arena_release(&c.arena);
    return c.status;
}

static void check_runner(sample *s)
{
    bc_text messages;
    bc_text_init(&messages, NULL);
    import(s);
    CHECK(run_first_pass(s, true, &messages) == TV_OK && !messages.len);
    import(s);
    read_in_flight(s);
    CHECK(run_first_pass(s, false, &messages) == TV_OK && !messages.len);
    CHECK(run_first_pass(s, true, &messages) == TV_INVALID);
    CHECK_MSG(bc_str_is(bc_text_get(&messages),
                        "internal error after pass 'simplify': mmaf: it reads a product that has not been awaited\n"),
              "%s", bc_text_words(&messages));
    bc_text_release(&messages);
}

static void check_looking(sample *s)
{
    import(s);
    CHECK(ct_loop_around(s->product) == s->loop && ct_loop_around(s->next) == s->loop);
    CHECK(!ct_loop_around(s->loop) && !ct_loop_around(s->twice));
    CHECK(ct_is_map(s->twice) && ct_is_map(s->zero) && !ct_is_map(s->seen) && !ct_is_map(s->product));
    CHECK(!ct_ring_of(s->product));
    stage(s);
    CHECK(ct_ring_of(s->load) == s->ring && ct_ring_of(s->body->first) == s->ring && !ct_ring_of(s->ring->op));
}

int main(void)
{
    static void (*const checks[])(sample * s) = {check_import,  check_insert, check_uses,   check_clone,   check_prune,
                                                 check_print,   check_async,  check_broken, check_layouts, check_intern,
                                                 check_looking, check_runner, check_strips};
    tv_module *m = NULL;
    CHECK(tv_module_parse(source, sizeof source - 1, 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(m && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    module = m;
    for (size_t i = 0; m && i < sizeof checks / sizeof *checks; i++) {
        sample s = open_sample();
        checks[i](&s);
        bc_arena_release(&s.arena);
    }
    tv_module_close(m);
    return TEST_END("tile_ir");
}
