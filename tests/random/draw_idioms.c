/* Accesses in the forms that passes look for, and in similar forms: tiles that are changed in place; a branch one
   side of which begins by loading the tile that the other side accesses; sums under a lock; storage of the kernel's
   own; pointers that a loop advances. */
#include <stdio.h>
#include <string.h>

#include "bytecode/op.h"
#include "tests/random/draw.h"

/* ---- in place ---- */

void draw_in_place(draw *d)
{
    draw_place load, store;
    draw_value v;
    if (!draw_a_place(d, true, &load))
        return;
    store = load;
    if (draw_chance(d, 4))
        draw_another_index(d, &store);
    if (draw_chance(d, 5)) {
        draw_store_at(d, &store, draw_any_value(d));
        draw_keep(d, draw_load_at(d, &load));
        return;
    }
    v = draw_load_at(d, &load);
    draw_keep(d, v);
    v = draw_compute(d);
    draw_store_at(d, &store, v);
    draw_keep(d, v);
}

/* ---- a branch whose condition waits for memory ---- */

bool draw_memory_condition(draw *d, char out[DRAW_NAME])
{
    char index[DRAW_NAME], pointer[DRAW_NAME], number[DRAW_NAME], token[DRAW_NAME], one[DRAW_NAME], odd[DRAW_NAME],
        before[DRAW_WORDS];
    unsigned array = draw_below(d, d->array_count);
    const char *kind = draw_kind(d);
    if (bc_kinds[d->kind].kind_class == BC_CLASS_FLOAT)
        return false;
    draw_index(d, 4, index);
    draw_name(d, pointer);
    draw_name(d, number);
    draw_name(d, token);
    draw_name(d, one);
    draw_name(d, odd);
    draw_name(d, out);
    draw_line(d, "%s = offset %s, %s : tile<ptr<%s>>, tile<i32> -> tile<ptr<%s>>", pointer, d->arrays[array].name,
              index, kind, kind);
    draw_before(d, array, false, before);
    draw_line(d, "%s, %s = load_ptr_tko weak %s%s : tile<ptr<%s>> -> tile<%s>, token", number, token, pointer, before,
              kind, kind);
    draw_after(d, array, false, token);
    draw_line(d, "%s = constant <%s: 1> : tile<%s>", one, kind, kind);
    draw_line(d, "%s = andi %s, %s : tile<%s>", odd, number, one, kind);
    draw_line(d, "%s = cmpi equal %s, %s, signed : tile<%s> -> tile<i1>", out, odd, one, kind);
    return true;
}

/* One side stores, or loads and stores; the other loads, computes and stores. */
static void begin_by_loading(draw *d)
{
    char condition[DRAW_NAME];
    draw_place place, other;
    if (!draw_memory_condition(d, condition) || !draw_a_place(d, true, &place))
        return;
    other = place;
    if (draw_chance(d, 4))
        draw_another_index(d, &other);
    unsigned first = draw_below(d, 2);
    draw_region r = draw_branch(d, condition, false);
    for (unsigned side = 0; side < 2; side++) {
        draw_enter(d, &r);
        if (side == first) {
            if (draw_chance(d, 4))
                draw_store_at(d, &other, draw_any_value(d));
            draw_keep(d, draw_load_at(d, &place));
            draw_store_at(d, &place, draw_compute(d));
        } else {
            draw_store_at(d, &other, draw_any_value(d));
        }
        draw_leave(d, &r, "yield", NULL);
        draw_close(d, side == 0 ? "} else {" : "}");
    }
    draw_behind(d, &r);
}

/* ---- sums under a lock ---- */

/* Takes the lock after all previous accesses. */
static void take(draw *d, unsigned array, char out[DRAW_NAME])
{
    char old[DRAW_NAME], now[DRAW_NAME], free[DRAW_NAME], taken[DRAW_NAME], busy[DRAW_NAME], inside[DRAW_NAME];
    draw_join(d);
    draw_name(d, old);
    draw_name(d, now);
    draw_name(d, free);
    draw_name(d, taken);
    draw_name(d, busy);
    draw_name(d, inside);
    draw_name(d, out);
    draw_line(d, "%s = constant <i32: 0> : tile<i32>", free);
    draw_line(d, "%s = constant <i32: 1> : tile<i32>", taken);
    draw_line(d, "%s = loop iter_values(%s = %s) : token -> token {", out, inside, draw_tokens_of(d, array)->last);
    draw_open(d);
    draw_line(d,
              "%s, %s = atomic_cas_tko acquire device %%lock, %s, %s token=%s : tile<ptr<i32>>, tile<i32> -> "
              "tile<i32>, token",
              old, now, free, taken, inside);
    draw_line(d, "%s = cmpi equal %s, %s, signed : tile<i32> -> tile<i1>", busy, old, taken);
    draw_line(d, "if %s {", busy);
    draw_line(d, "} else {");
    draw_line(d, "  break %s : token", now);
    draw_line(d, "}");
    draw_line(d, "continue %s : token", now);
    draw_close(d, "}");
}

/* Adds to a tile, under the lock that all tile blocks use. */
static void add_under_lock(draw *d)
{
    char taken[DRAW_NAME], was[DRAW_NAME], zero[DRAW_NAME], given[DRAW_NAME];
    draw_place place;
    if (bc_kinds[d->kind].kind_class == BC_CLASS_FLOAT || !draw_a_place(d, true, &place))
        return;
    unsigned array = draw_array_of(d, &place);
    take(d, array, taken);
    draw_after(d, array, true, taken);
    draw_value old = draw_load_at(d, &place);
    draw_store_at(d, &place, draw_sum(d, old, draw_any_value(d)));
    draw_join(d);
    draw_name(d, was);
    draw_name(d, zero);
    draw_name(d, given);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", zero, 0u);
    draw_line(d,
              "%s, %s = atomic_rmw_tko release device %%lock, xchg, %s token=%s : tile<ptr<i32>>, tile<i32> -> "
              "tile<i32>, token",
              was, given, zero, draw_tokens_of(d, array)->last);
    draw_after(d, array, true, given);
}

/* ---- storage of the kernel's own ---- */

/* Stores numbers and loads them again, one of them under a condition. The loaded number is used as an index. */
static void use_storage(draw *d)
{
    char index[2][DRAW_NAME], storage[DRAW_NAME], pointer[2][DRAW_NAME], token[5][DRAW_NAME], step[DRAW_NAME],
        condition[DRAW_NAME], found[2][DRAW_NAME];
    unsigned at = draw_below(d, 2);
    draw_index(d, 3, index[0]);
    draw_index(d, 3, index[1]);
    draw_condition(d, condition);
    draw_name(d, storage);
    draw_name(d, step);
    for (unsigned i = 0; i < 5; i++)
        draw_name(d, token[i]);
    for (unsigned i = 0; i < 2; i++) {
        draw_name(d, pointer[i]);
        draw_name(d, found[i]);
    }
    draw_line(d, "%s = alloca num_elem = 4, alignment = 4 : tile<ptr<i32>>", storage);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", step, draw_below(d, 2));
    draw_line(d, "%s = offset %s, %s : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>", pointer[0], storage, step);
    draw_name(d, step);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", step, draw_below(d, 2));
    draw_line(d, "%s = offset %s, %s : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>", pointer[1], storage, step);
    draw_line(d, "%s = store_ptr_tko weak %s, %s : tile<ptr<i32>>, tile<i32> -> token", token[0], pointer[0], index[0]);
    draw_line(d, "%s = store_ptr_tko weak %s, %s token=%s : tile<ptr<i32>>, tile<i32> -> token", token[1], pointer[1],
              index[1], token[0]);
    draw_line(d, "%s = if %s -> (token) {", token[2], condition);
    draw_line(d, "  %s = store_ptr_tko weak %s, %s token=%s : tile<ptr<i32>>, tile<i32> -> token", token[3],
              pointer[at], index[1 - at], token[1]);
    draw_line(d, "  yield %s : token", token[3]);
    draw_line(d, "} else {");
    draw_line(d, "  yield %s : token", token[1]);
    draw_line(d, "}");
    draw_line(d, "%s, %s = load_ptr_tko weak %s token=%s : tile<ptr<i32>> -> tile<i32>, token", found[0], token[4],
              pointer[draw_below(d, 2)], token[2]);
    draw_add_counter(d, found[0], 3);
}

/* ---- any of them ---- */

void draw_idiom(draw *d)
{
    unsigned which = draw_below(d, 8);
    if (which < 4)
        draw_in_place(d);
    else if (which == 4)
        use_storage(d);
    else if (d->shared_counter[0] || which == 5)
        begin_by_loading(d);
    else
        add_under_lock(d);
}
