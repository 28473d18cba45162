/* The index of a block: of its cluster, if a cluster computes a tile block (codegen/passes/cluster.c). */
#include "codegen/ops/blocks.h"

#include "codegen/facts/facts.h"
#include "codegen/ops/grid.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

enum { CG_GRID_DIMS = 3 };

static cg_val special(cg_func *c, const char *name, uint32_t dim)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %%%s.%s", r, name, dim == 0 ? "x" : dim == 1 ? "y" : "z");
    return r;
}

static const char *of_grid(const cg_func *c)
{
    return c->cluster ? "nclusterid" : "nctaid";
}

/* The index counted from the last one: count - 1 - number. */
static cg_val from_last(cg_func *c, cg_val number)
{
    cg_val less = cg_new(c, CG_B32), r = cg_new(c, CG_B32);
    cg_ins(c, "not.b32 %v, %v", less, number);
    cg_ins(c, "add.u32 %v, %v, %v", r, special(c, of_grid(c), 0), less);
    return r;
}

/* The n-th block of a band of 2^band_bits whole rows is in its row n mod 2^band_bits. Blocks of the last, narrower
   band keep their positions. */
static void put_in_bands(cg_func *c, cg_val *x, cg_val *y)
{
    uint32_t bits = c->band_bits, last = ((uint32_t)1 << bits) - 1, most_columns = INT32_MAX >> bits;
    cg_val columns = special(c, of_grid(c), 0), rows = special(c, of_grid(c), 1), row = cg_new(c, CG_B32),
           n = cg_new(c, CG_B32), first = cg_new(c, CG_B32), end = cg_new(c, CG_B32), column = cg_new(c, CG_B32),
           whole = cg_new(c, CG_PRED);
    cg_ins(c, "and.b32 %v, %v, %u", row, *y, last);
    cg_ins(c, "sub.u32 %v, %v, %v", first, *y, row);
    cg_ins(c, "mad.lo.u32 %v, %v, %v, %v", n, row, columns, *x);
    cg_ins(c, "shr.u32 %v, %v, %u", column, n, bits);
    cg_ins(c, "and.b32 %v, %v, %u", row, n, last);
    cg_ins(c, "add.u32 %v, %v, %u", end, first, last);
    cg_ins(c, "add.u32 %v, %v, %v", row, first, row);
    cg_ins(c, "setp.lt.u32 %v, %v, %v", whole, end, rows);
    cg_ins(c, "setp.le.and.u32 %v, %v, %u, %v", whole, columns, most_columns, whole);
    *x = cg_select(c, whole, column, *x);
    *y = cg_select(c, whole, row, *y);
}

/* The order in which blocks start, in bands of 2^band_bits columns; the last band has fewer. Grids that consist of one
   band, and grids too large to be counted, keep their order. */
static void put_in_wide_bands(cg_func *c, cg_val *x, cg_val *y)
{
    uint32_t most = (uint32_t)1 << c->band_bits; /* columns of a band */
    cg_val columns = special(c, of_grid(c), 0), rows = special(c, of_grid(c), 1), n = cg_new(c, CG_B32),
           each = cg_new(c, CG_B32), band = cg_new(c, CG_B32), first = cg_new(c, CG_B32), width = cg_new(c, CG_B32),
           row = cg_new(c, CG_B32), column = cg_new(c, CG_B32), all = cg_new(c, CG_B64), applies = cg_new(c, CG_PRED);
    uint32_t keep = cg_label(c);
    cg_ins(c, "mov.u32 %v, %v", column, *x);
    cg_ins(c, "mov.u32 %v, %v", row, *y);
    cg_ins(c, "mul.wide.u32 %v, %v, %v", all, columns, rows);
    cg_ins(c, "setp.le.u64 %v, %v, %u", applies, all, INT32_MAX >> c->band_bits);
    cg_ins(c, "setp.gt.and.u32 %v, %v, %u, %v", applies, columns, most, applies);
    cg_ins(c, "@!%v bra.uni %l", applies, keep);
    cg_ins(c, "mad.lo.u32 %v, %v, %v, %v", n, *y, columns, *x);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", each, rows, most);
    cg_ins(c, "div.u32 %v, %v, %v", band, n, each);
    cg_ins(c, "mul.lo.u32 %v, %v, %v", each, band, each);
    cg_ins(c, "sub.u32 %v, %v, %v", n, n, each);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", first, band, most);
    cg_ins(c, "sub.u32 %v, %v, %v", width, columns, first);
    cg_ins(c, "min.u32 %v, %v, %u", width, width, most);
    cg_ins(c, "div.u32 %v, %v, %v", row, n, width);
    cg_ins(c, "rem.u32 %v, %v, %v", column, n, width);
    cg_ins(c, "add.u32 %v, %v, %v", column, column, first);
    cg_place_label(c, keep);
    *x = column;
    *y = row;
}

/* The hardware distributes clusters to GPCs in turn, and most devices have 2^GPC_BITS GPCs, so every 2^GPC_BITS-th
   cluster is on the same GPC. Of n clusters, the first n mod 2^GPC_BITS GPCs have one more than the others. */
static void put_side_by_side(cg_func *c, cg_val *number)
{
    enum { GPC_BITS = 3, LAST = (1 << GPC_BITS) - 1 };
    cg_val count = special(c, of_grid(c), 0), each = cg_new(c, CG_B32), more = cg_new(c, CG_B32),
           gpc = cg_new(c, CG_B32), place = cg_new(c, CG_B32), r = cg_new(c, CG_B32);
    cg_ins(c, "shr.u32 %v, %v, %d", each, count, GPC_BITS);
    cg_ins(c, "and.b32 %v, %v, %d", more, count, LAST);
    cg_ins(c, "and.b32 %v, %v, %d", gpc, *number, LAST);
    cg_ins(c, "shr.u32 %v, %v, %d", place, *number, GPC_BITS);
    cg_ins(c, "min.u32 %v, %v, %v", more, gpc, more);
    cg_ins(c, "add.u32 %v, %v, %v", place, place, more);
    cg_ins(c, "mad.lo.u32 %v, %v, %v, %v", r, gpc, each, place);
    *number = r;
}

/* The n-th block, n = first * rest + r, gets the number first + digit * r: a permutation of the numbers below digit *
   rest. Grids of another size keep their order. */
static void put_digit_last(cg_func *c, cg_val *number)
{
    cg_val first = cg_quotient(c, *number, c->rest), whole = cg_new(c, CG_B32), r = cg_new(c, CG_B32),
           moved = cg_new(c, CG_B32), applies = cg_new(c, CG_PRED);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", whole, first, c->rest);
    cg_ins(c, "sub.u32 %v, %v, %v", r, *number, whole);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", moved, r, c->digit, first);
    cg_ins(c, "setp.eq.u32 %v, %v, %u", applies, special(c, of_grid(c), 0), c->digit * c->rest);
    *number = cg_select(c, applies, moved, *number);
}

static void put_in_order(cg_func *c, cg_val *numbers)
{
    if (c->block_order == CG_LONGEST_FIRST)
        numbers[0] = from_last(c, numbers[0]);
    else if (c->block_order == CG_IN_BANDS)
        put_in_bands(c, &numbers[0], &numbers[1]);
    else if (c->block_order == CG_IN_WIDE_BANDS)
        put_in_wide_bands(c, &numbers[0], &numbers[1]);
    else if (c->block_order == CG_SIDE_BY_SIDE)
        put_side_by_side(c, &numbers[0]);
    else if (c->block_order == CG_DIGIT_LAST)
        put_digit_last(c, &numbers[0]);
}

static void read_specials(cg_func *c, const char *name, cg_val *out_numbers)
{
    for (uint32_t d = 0; d < CG_GRID_DIMS; d++)
        out_numbers[d] = special(c, name, d);
}

typedef struct cg_share {
    cg_val bounds[3]; /* of the counter: from, to, by */
    /* Are there more tile blocks than multiprocessors, and not too many to be counted? Otherwise each thread block
       computes its own. */
    cg_val shared;
    cg_val number, countable; /* of the thread block, as long as the tile blocks are not too many */
} cg_share;

/* The tile block with that number, by dimension: x is the lowest digit. */
static void find_numbered(cg_func *c, cg_val n, cg_val *out_numbers)
{
    for (uint32_t d = 0; d + 1 < CG_GRID_DIMS; d++) {
        cg_val extent = special(c, of_grid(c), d), rest = d + 2 < CG_GRID_DIMS ? cg_new(c, CG_B32) : out_numbers[d + 1];
        cg_ins(c, "rem.u32 %v, %v, %v", out_numbers[d], n, extent);
        cg_ins(c, "div.u32 %v, %v, %v", rest, n, extent);
        n = rest;
    }
}

/* The tile block of the thread block, or of its cluster. Where blocks have parts of K in small grids only, the n-th
   thread block of a larger grid has the n-th tile block, so that those that have none come last. */
static void read_own(cg_func *c, cg_val *out_numbers)
{
    read_specials(c, c->cluster ? "clusterid" : "ctaid", out_numbers);
    if (!c->in_parts)
        return;
    uint32_t known = cg_label(c);
    cg_ins(c, "@%v bra.uni %l", cg_has_few_blocks(c), known);
    cg_move(c, out_numbers[0], special(c, "ctaid", 0));
    cg_ins(c, "@!%v bra.uni %l", c->share->countable, known);
    find_numbered(c, c->share->number, out_numbers);
    cg_place_label(c, known);
}

static void set_results(cg_func *c, const ct_op *op, const cg_val *numbers)
{
    cg_val *regs = cg_vals(c, op->result_count);
    for (uint32_t i = 0; regs && i < op->result_count; i++) {
        regs[i] = numbers[i];
        cg_set(c, cg_result(op, i), &regs[i]);
    }
}

void cg_assign_get_tile_block_id(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_get_tile_block_id(cg_func *c, const ct_op *op)
{
    cg_val numbers[CG_GRID_DIMS];
    read_own(c, numbers);
    put_in_order(c, numbers);
    set_results(c, op, numbers);
}

void cg_assign_get_num_tile_blocks(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_get_num_tile_blocks(cg_func *c, const ct_op *op)
{
    cg_val numbers[CG_GRID_DIMS];
    read_specials(c, of_grid(c), numbers);
    set_results(c, op, numbers);
}

void cg_assign_rank(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_rank(cg_func *c, const ct_op *op)
{
    cg_val *regs = cg_vals(c, 1);
    if (!regs)
        return;
    regs[0] = cg_part_number(c);
    cg_set(c, cg_result(op, 0), regs);
}

void cg_assign_part(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_part(cg_func *c, const ct_op *op)
{
    cg_val *regs = cg_vals(c, 1), number = cg_part_number(c);
    if (!regs)
        return;
    regs[0] = c->slices ? number : cg_select(c, cg_has_few_blocks(c), number, cg_const(CG_B32, 0));
    cg_set(c, cg_result(op, 0), regs);
}

/* ---- blocks that would store nothing (codegen/passes/outside.c) ---- */

void cg_assign_within(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_within(cg_func *c, const ct_op *op)
{
    cg_val *regs = cg_vals(c, 1);
    if (!regs)
        return;
    int64_t count = op->operands[1]->fact->value;
    regs[0] = cg_reg(c, cg_scalar(c, op->operands[0]));
    if (cg_range_of(op->operands[0]).low < 0 || cg_range_of(op->operands[0]).high >= count) {
        cg_val outside = cg_new(c, CG_PRED);
        cg_ins(c, "setp.ge.u32 %v, %v, %u", outside, regs[0], (uint32_t)count);
        cg_ins(c, "@%v exit", outside);
    }
    cg_set(c, cg_result(op, 0), regs);
}

/* ---- persistent thread blocks (codegen/groups/persist.c) ---- */

static cg_val first_special(cg_func *c, const char *name)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins_first(c, "mov.u32 %v, %%%s", r, name);
    return r;
}

/* Thread blocks without a tile block exit, if the grid is too large for parts of K (codegen/passes/split.c). */
static void leave_beyond(cg_func *c, cg_val all)
{
    cg_val beyond = cg_new(c, CG_PRED), beside = cg_new(c, CG_PRED), none = cg_const(CG_PRED, 0);
    cg_ins(c, "setp.ge.u32 %v, %v, %v", beyond, c->share->number, all);
    cg_val columns = special(c, of_grid(c), 0), column = special(c, "ctaid", 0);
    cg_ins(c, "setp.ge.u32 %v, %v, %v", beside, column, columns);
    beyond = cg_select(c, c->share->countable, beyond, beside);
    beyond = cg_select(c, cg_has_few_blocks(c), none, beyond);
    cg_ins(c, "@%v exit", c->takes_over ? cg_select(c, c->share->shared, none, beyond) : beyond);
}

/* Finds what a thread block computes of `all` tile blocks. */
static void share_out(cg_func *c, cg_share *share, cg_val all, cg_val most, cg_val idle)
{
    static const uint32_t otherwise[] = {0, 1, 1};
    cg_val shared = share->shared;
    cg_ins_first(c, "setp.gt.and.u32 %v, %v, %v, %v", shared, all, most, share->countable);
    cg_ins_first(c, "setp.ge.and.u32 %v, %v, %v, %v", idle, share->number, most, shared);
    cg_ins_first(c, "@%v ret", idle);
    const cg_val bounds[] = {share->number, all, most};
    for (uint32_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        share->bounds[i] = cg_new(c, CG_B32);
        cg_ins_first(c, "selp.b32 %v, %v, %u, %v", share->bounds[i], bounds[i], otherwise[i], shared);
    }
}

void cg_share_begin(cg_func *c)
{
    cg_share *share = bc_new(&c->arena, cg_share, 1);
    if (!share)
        return;
    cg_val nx = first_special(c, c->in_parts ? "nclusterid.x" : "nctaid.x"), ny = first_special(c, "nctaid.y"),
           nz = first_special(c, "nctaid.z"), row = cg_new(c, CG_B32), number = cg_new(c, CG_B32),
           rows = cg_new(c, CG_B32), wide = cg_new(c, CG_B64), all = cg_new(c, CG_B32), countable = cg_new(c, CG_PRED),
           shared = cg_new(c, CG_PRED), idle = cg_new(c, CG_PRED), most = first_special(c, "nsmid"),
           y = first_special(c, "ctaid.y"), z = first_special(c, "ctaid.z"),
           width = c->in_parts ? first_special(c, "nctaid.x") : nx;
    cg_ins_first(c, "mad.lo.u32 %v, %v, %v, %v", row, z, ny, y);
    cg_ins_first(c, "mad.lo.u32 %v, %v, %v, %v", number, row, width, first_special(c, "ctaid.x"));
    cg_ins_first(c, "mul.lo.u32 %v, %v, %v", rows, ny, nz); /* CUDA has at most 65535 of each */
    cg_ins_first(c, "mul.wide.u32 %v, %v, %v", wide, rows, nx);
    cg_ins_first(c, "cvt.u32.u64 %v, %v", all, wide);
    cg_ins_first(c, "setp.le.u64 %v, %v, %u", countable, wide, CG_MOST_SHARED / (c->in_parts ? c->cluster : 1));
    *share = (cg_share){.number = number, .countable = countable, .shared = shared};
    if (c->takes_over)
        share_out(c, share, all, most, idle);
    c->share = share;
    if (c->in_parts)
        leave_beyond(c, all);
}

void cg_assign_share(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_share(cg_func *c, const ct_op *op)
{
    set_results(c, op, c->share->bounds);
}

void cg_assign_tile_block(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_tile_block(cg_func *c, const ct_op *op)
{
    cg_val n = cg_reg(c, cg_scalar(c, op->operands[0])), numbers[CG_GRID_DIMS];
    uint32_t own = cg_label(c);
    read_own(c, numbers);
    cg_ins(c, "@!%v bra.uni %l", c->share->shared, own);
    find_numbered(c, n, numbers);
    cg_place_label(c, own);
    put_in_order(c, numbers);
    set_results(c, op, numbers);
}
