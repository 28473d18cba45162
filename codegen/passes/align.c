/* The align pass creates two versions of a kernel whose accesses could have 16 bytes if pointers, strides and extents
   were known to be multiples of 16 bytes. One uniform test at the kernel's head selects the version.

       x = load %p ...           if (%p | %stride * 4 | ...) & 15 == 0 {
                                     p16 = assume div_by<16>, %p
                           ->        x = load p16 ...
                                 } else {
                                     x = load %p ...
                                 }

   Why it is right: both versions consist of the original ops (versions.c), and the first one assumes only what was
   tested.

   The pass finds out by trial which parameters have to be multiples: it computes facts as if all of them were, then
   without one after the other, and does not test those that make no access shorter.

   It applies to kernels whose accesses are short without the assumption and have 16 bytes with it, and whose
   pointers have no promises. If a thread has less than 16 bytes of a tile, accesses that bring all of them are enough
   (20 kernels whose accesses have 4 and 8 bytes instead of one or two elements are 0.95 to 2.10 times as fast on an
   H200, 1.23 in the geometric mean; where another tile, such as weights of f32, has 16 bytes, seven are 0.80 to 1.39
   times as fast, 1.14 in the mean). Both versions run with the larger number of registers, which is that of
   the version with short accesses; without the other one, the kernel would have as many. So also kernels that hold
   whole rows in registers have versions, as long as these leave registers for anything else (on an H200, 20 kernels
   that reduce whole rows are 0.95 to 1.26 times as fast, 1.08 in the geometric mean; tiles of packed elements, which
   take more registers than they load, 1.22 and 1.39 times). So do maps of elements of one or two bytes, which have
   an access and a bound each (31 maps are 0.90 to 2.54 times as fast on an H200, 1.17 in the geometric mean). Other
   maps hold no more than they load, because ptxas lets their threads compute their elements one after the other:
   those that hold more than a few registers have one version (18 of f32 and i32 would be 0.92 to 1.07 times as fast,
   0.99 in the mean). Of kernels with loops and without products, only those that reduce, scan or compute element by
   element have versions; maps with loops have them as long as their tiles leave registers for anything else, because
   their loads run ahead with long accesses (34 maps are 0.98 to 2.03 times as fast on an H200, 1.15 in the geometric
   mean). A map whose accesses have 4 bytes gains, too, although those of a warp fill whole sectors: it has a quarter
   of the accesses and bounds (35 maps, most of them in loops, are 0.98 to 1.81 times as fast on an H200, 1.13 in the
   geometric mean). Kernels that may be spread over clusters have one version.

   A kernel with products has versions if its loops load tiles through pointers that the lift pass leaves, for example
   because a table says where they are, and the accesses are shorter than a copy (4 bytes). With 16 bytes, tiles are
   copied ahead; without, each element is loaded when it is needed. */
#include "codegen/access/pointers.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/view.h"
#include "codegen/cost/cost.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/lift/lift.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/simplify.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/cluster.h"
#include "codegen/rewrite/versions.h"

enum {
    WIDE_BITS = 4, /* log2 of the bytes of a wide access */
    SHORT_BITS = 3 /* log2 of the bytes below which an access is short */
};

/* A parameter that may have to be a multiple. */
typedef struct asked {
    ct_value *v;
    ct_op *promise; /* the promise, while it is tried */
    uint32_t bits;  /* log2 of the divisor */
} asked;

typedef struct aligning {
    cg_func *c;
    asked params[CG_ASKED_PARAMETERS];
    uint32_t count;
    bool multiplies; /* the kernel has products: only loads through pointers in its loops count */
    uint32_t most;   /* log2 of the bytes of a long access: 16, or fewer if a thread has fewer of each tile */
} aligning;

/* ---- the width of accesses ---- */

static bool is_by_pointers(const ct_op *op)
{
    return op->opcode == OP_load_ptr_tko || op->opcode == OP_store_ptr_tko;
}

/* The tile that is accessed, through a view or pointers. */
static const bc_type *tile_of(const ct_op *op)
{
    return is_by_pointers(op) ? ct_operand(op, ct_info(op)->address)->type : cg_view_op_of(op).tile_type;
}

static bool is_tile_access(const ct_op *op)
{
    bool by_view = op->opcode == OP_load_view_tko || op->opcode == OP_store_view_tko;
    if (!(is_by_pointers(op) || by_view) || !cg_is_weak_access(op))
        return false;
    const bc_type *tile = tile_of(op);
    return tile->rank && (by_view || cg_pointee_shift(tile) >= 0);
}

static bool counts(const aligning *x, const ct_op *op)
{
    return is_tile_access(op) && (!x->multiplies || (ct_is_load(op) && is_by_pointers(op) && ct_loop_around(op)));
}

/* log2 of the bytes of an element. */
static uint32_t element_bits(const ct_op *op)
{
    if (is_by_pointers(op))
        return (uint32_t)cg_pointee_shift(ct_operand(op, ct_info(op)->address)->type);
    return cg_log2_up(cg_memory_bytes(bc_elem_kind(cg_view_op_of(op).tile_type)));
}

/* log2 of the bytes that a thread has of the tile: an access cannot be longer. */
static uint32_t own_bits(const cg_func *c, const ct_op *op)
{
    const uint32_t tile = element_bits(op) + cg_shape_of(tile_of(op)).tile_bits,
                   threads = cg_real_warp_bits(c) + CG_LANE_BITS;
    return tile > threads ? tile - threads : 0;
}

/* log2 of the bytes of the longest access that a tile allows, up to 16. */
static uint32_t find_most(const aligning *x)
{
    uint32_t most = x->multiplies ? WIDE_BITS : 0;
    for (const ct_op *op = x->c->ir->body->first; op; op = ct_next_op(op, x->c->ir->body)) {
        const uint32_t own = counts(x, op) ? own_bits(x->c, op) : 0;
        most = own > most ? own : most;
    }
    return most < WIDE_BITS ? most : WIDE_BITS;
}

/* log2 of the bytes of an access as long as its tile allows: all that a thread has of it, up to 16. 0: it does not
   count, as a thread has too few for a copy to a ring that products read, or a single element. */
static uint32_t longest_of(const aligning *x, const ct_op *op)
{
    const uint32_t own = own_bits(x->c, op), longest = own < WIDE_BITS ? own : WIDE_BITS;
    return longest > element_bits(op) && !(x->multiplies && own < WIDE_BITS) ? longest : 0;
}

/* log2 of the bytes of the op's shortest access, up to a long one. */
static uint32_t length_of(const aligning *x, const ct_op *op)
{
    cg_func *c = x->c;
    uint32_t bits, fast;
    if (is_by_pointers(op)) {
        cg_ptr_op p = cg_ptr_op_of(op);
        bits = cg_pointer_vector(c, &p, &fast);
    } else {
        cg_view_op v = cg_view_op_of(op);
        cg_layout l = cg_view_layout(c, &v);
        bits = cg_view_is_half(&v) ? 0 : cg_view_lengths_of(c, &v, &l, CG_MAX_VECTOR_BITS).edge;
    }
    bits += element_bits(op);
    return bits < x->most ? bits : x->most;
}

typedef struct lengths {
    uint32_t wide, small; /* numbers of long accesses, and of short ones */
} lengths;

static bool find_lengths(const aligning *x, lengths *out)
{
    const uint32_t least = x->multiplies ? tv_trailing_zeros(CG_COPY_BYTES) : SHORT_BITS;
    cg_func *c = x->c;
    *out = (lengths){.wide = 0};
    if (!cg_find_facts(c->ir) || !cg_find_views(c->ir))
        return false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const uint32_t longest = counts(x, op) ? longest_of(x, op) : 0;
        if (!longest)
            continue;
        const uint32_t length = length_of(x, op);
        out->wide += length >= longest;
        out->small += length < (least < longest ? least : longest);
    }
    return true;
}

/* ---- which parameters to test ---- */

static ct_value *put_promise(ct_func *f, ct_op *place, const asked *a)
{
    ct_builder b = {f, place, false};
    return ct_build_multiple(&b, a->v, a->bits);
}

static bool promise(aligning *x, asked *a)
{
    ct_value *promised = put_promise(x->c->ir, x->c->ir->body->first, a);
    if (!promised)
        return false;
    ct_replace_uses(a->v, promised);
    ct_set_operand(promised->op, 0, a->v);
    a->promise = promised->op;
    return true;
}

static void take_back(asked *a)
{
    ct_replace_uses(&a->promise->results[0], a->v);
    ct_remove(a->promise);
    a->promise = NULL;
}

/* Does the kernel promise that the pointer is a multiple? */
static bool is_promised(const ct_value *v)
{
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_op *op = use->op;
        const bc_tagged *said = op->opcode == OP_assume ? ct_attr_of(op, F_assume_predicate)->tagged : NULL;
        if (said && said->tag == BC_TAG_DIV_BY && said->u.bits > 1)
            return true;
    }
    return false;
}

/* Finds all parameters that are single pointers or integers. False if there is a promise for a pointer: then the
   producer states what it knows about its arrays, and the other parameters are probably not multiples. */
static bool find_params(aligning *x)
{
    const ct_block *body = x->c->ir->body;
    uint32_t least = WIDE_BITS;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (counts(x, op) && element_bits(op) < least)
            least = element_bits(op);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        ct_value *v = &body->args[i];
        bool is_pointer = bc_is_tile(v->type) && v->type->elem->kind == BC_PTR,
             is_size = bc_is_tile(v->type) && bc_kind_bits(bc_elem_kind(v->type)) >= 32
                       && bc_kind_in(bc_elem_kind(v->type), BC_SET_INT);
        if (v->type->rank || !v->uses || !(is_pointer || is_size))
            continue;
        if (x->count == CG_ASKED_PARAMETERS || (is_pointer && is_promised(v)))
            return false;
        x->params[x->count++] = (asked){.v = v, .bits = is_pointer ? WIDE_BITS : WIDE_BITS - least};
    }
    return x->count;
}

/* Keeps the parameters without which accesses would be shorter. None remain if the test gains nothing. */
static void choose_params(aligning *x)
{
    lengths as_it_was, best, now;
    uint32_t kept = 0;
    if (!find_lengths(x, &as_it_was) || !as_it_was.small || !find_params(x)) {
        x->count = 0;
        return;
    }
    for (uint32_t i = 0; i < x->count; i++)
        if (!promise(x, &x->params[i]))
            return;
    bool gains = find_lengths(x, &best) && best.wide > as_it_was.wide && best.small < as_it_was.small;
    for (uint32_t i = 0; i < x->count && !x->c->failed; i++) {
        asked *a = &x->params[i];
        take_back(a);
        if (!gains || !find_lengths(x, &now) || now.wide == best.wide)
            continue;
        x->params[kept] = *a;
        if (!promise(x, &x->params[kept++]))
            return;
    }
    x->count = kept;
    for (uint32_t i = 0; i < kept && !x->c->failed; i++)
        take_back(&x->params[i]);
}

/* ---- versions ---- */

static bool may_be_versioned(const cg_func *c)
{
    const ct_block *body = c->ir->body;
    if (c->strip_bits || cg_loops_stay_plain(c) || cg_may_spread(c) || body->last->opcode != OP_return
        || body->first == body->last)
        return false;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->plain || op->opcode == OP_alloca || ct_info(op)->effects & BC_ORDERS)
            return false;
    return cg_may_version(body->first, body->last->prev);
}

/* Can two versions pay, judging by the ops of the kernel? */
static bool may_pay(const aligning *x)
{
    enum { REGISTER_BITS = 32 };
    cg_func *c = x->c;
    bool reduces = x->multiplies, loops = false, narrow = false;
    uint64_t held = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        reduces = reduces || op->opcode == OP_reduce || op->opcode == OP_scan;
        loops = loops || ct_is_loop(op);
        narrow = narrow || (is_tile_access(op) && 1u << element_bits(op) < CG_COPY_BYTES);
    }
    if (loops && !cg_is_map(c))
        return reduces;
    cg_bits_held(c, &held);
    uint32_t own = (uint32_t)(held / REGISTER_BITS) / cg_threads(c);
    return loops || narrow || !cg_is_map(c) ? cg_registers_wanted(c, own) < CG_REGISTERS / cg_threads(c)
                                            : own <= CG_HELD_IN_VERSIONS;
}

/* Emits the test whether all parameters are multiples. */
static ct_value *put_question(const aligning *x, ct_builder *b)
{
    ct_value *rest = NULL;
    for (uint32_t i = 0; i < x->count; i++) {
        const asked *a = &x->params[i];
        ct_value *v = a->v;
        v = v->type->elem->kind == BC_PTR ? ct_build(b, OP_ptr_to_int, ct_scalar_type(b->f, BC_I64), &v, 1)
                                          : ct_build_resize(b, v, BC_I64, true);
        ct_value *bits = ct_build_two(b, OP_andi, v, ct_build_scalar(b, BC_I64, ((int64_t)1 << a->bits) - 1));
        rest = i ? ct_build_two(b, OP_ori, rest, bits) : bits;
    }
    return ct_build_compare(b, BC_ComparisonPredicate_equal, rest, ct_build_scalar(b, BC_I64, 0), true);
}

/* Adds the promises to the version in that block. */
static void promise_in(aligning *x, const ct_block *block)
{
    for (uint32_t i = 0; i < x->count; i++) {
        ct_value *promised = put_promise(x->c->ir, block->first, &x->params[i]);
        if (!promised)
            return;
        for (ct_use *use = x->params[i].v->uses, *next; use; use = next) {
            next = use->next;
            if (use->op != promised->op && ct_is_inside(use->op->block, block))
                ct_set_operand(use->op, use->index, promised);
        }
    }
}

static void version(aligning *x)
{
    ct_block *body = x->c->ir->body, *otherwise;
    ct_op *first = body->first, *last = body->last->prev;
    ct_builder b = {x->c->ir, first, false};
    ct_value *holds = put_question(x, &b);
    if (!holds)
        return;
    if (!cg_version(x->c, first, last, holds, &otherwise))
        return;
    x->c->is_versioned = true;
    promise_in(x, otherwise->parent->regions[0]);
    if (x->multiplies)
        cg_note_likely(otherwise);
    for (ct_op *op = otherwise->first; op && !x->multiplies; op = ct_next_op(op, otherwise))
        op->plain = false; /* both versions are equally likely */
    cg_remark(x->c, otherwise->parent, CG_REMARK_Lifted, TV_REMARK_PASSED,
              "compiled in two versions: accesses have {Bytes=%u} bytes if {Asked=%u} parameters, which have no "
              "promises, are aligned",
              1u << x->most, x->count);
}

void cg_pass_align(cg_func *c)
{
    aligning *x = bc_new(&c->arena, aligning, 1);
    if (!x || !may_be_versioned(c))
        return;
    x->c = c;
    x->multiplies = cg_largest_product(c->ir);
    x->most = find_most(x);
    if (may_pay(x) && !c->failed)
        choose_params(x);
    if (x->count && !c->failed)
        version(x);
    if (x->count && !c->failed)
        cg_simplify(c);
}
