/* Statements, loops and the head of a random kernel. */
#include "tests/random/kernel.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "bytecode/op.h"
#include "tests/random/draw.h"

enum { MOST_TRIPS = 5, DEPTH = 3, ONE_NUMBER = 1, LOCK_BYTES = 64, POINTER_SEEDS = 7 };

/* ---- loops ---- */

typedef struct counting {
    const char *type, *compare;
    int64_t first, last, step;
    uint32_t bound; /* of the counter less the first */
} counting;

/* From 0, from further on in steps, or near the end of the type. */
static counting counting_of(draw *d)
{
    uint32_t trips = draw_below(d, MOST_TRIPS + 1), step = draw_chance(d, 3) ? 1 + draw_below(d, 3) : 1;
    counting c = {.type = "i32", .compare = "", .step = step, .bound = trips ? (trips - 1) * step + 1 : 1};
    /* how far the counter comes, and the end: there, or less than a step before */
    int64_t way = (int64_t)(trips * step), end = trips ? way - (int64_t)draw_below(d, step) : 0;
    bool wide = draw_chance(d, 3);
    switch (draw_below(d, 12)) {
    case 0: c.first = (wide ? INT64_MAX : INT32_MAX) - way; break;
    case 1: c.first = wide ? INT64_MIN : INT32_MIN; break;
    case 2: /* over the end of the numbers with a sign */
        c.compare = "unsigned ";
        c.first = (wide ? INT64_MAX : INT32_MAX) - 1;
        break;
    case 3: /* up to the last number without a sign */
        c.compare = "unsigned ";
        c.first = -1 - way;
        break;
    case 4: c.first = 2; break;
    case 5: c.first = -3; break;
    case 6: /* over the end of 32 bits */
        wide = true;
        c.first = (int64_t)UINT32_MAX - 1;
        break;
    default: wide = wide && draw_chance(d, 4); break;
    }
    c.type = wide ? "i64" : "i32";
    c.last = (int64_t)((uint64_t)c.first + (uint64_t)end);
    if (strcmp(c.type, "i32") == 0)
        c.last = (int32_t)(uint32_t)c.last;
    return c;
}

/* A constant, or one that only the launch tells. */
static void bound_of(draw *d, const char *type, int64_t number, char out[DRAW_NAME])
{
    char constant[DRAW_NAME], one[DRAW_NAME];
    bool dynamic = draw_chance(d, 2), wide = strcmp(type, "i64") == 0;
    draw_name(d, constant);
    draw_line(d, "%s = constant <%s: %lld> : tile<%s>", constant, type, (long long)number, type);
    snprintf(out, DRAW_NAME, "%s", constant);
    if (!dynamic)
        return;
    if (wide) {
        draw_name(d, one);
        draw_line(d, "%s = exti %%one signed : tile<i32> -> tile<i64>", one);
    }
    draw_name(d, out);
    draw_line(d, "%s = muli %s, %s : tile<%s>", out, wide ? one : "%one", constant, type);
}

void draw_add_counter(draw *d, const char *name, uint32_t bound)
{
    if (d->counter_count == DRAW_COUNTERS)
        return;
    draw_counter *c = &d->counters[d->counter_count++];
    snprintf(c->name, sizeof c->name, "%s", name);
    c->bound = bound;
}

/* How far the loop has come, as an i32 from 0 on. */
static void count_from_zero(draw *d, const counting *c, const char *counter, const char *first)
{
    char less[DRAW_NAME], cut[DRAW_NAME];
    bool wide = strcmp(c->type, "i64") == 0;
    if (c->first == 0 && !wide) {
        draw_add_counter(d, counter, c->bound);
        return;
    }
    draw_name(d, less);
    draw_line(d, "%s = subi %s, %s : tile<%s>", less, counter, first, c->type);
    if (wide) {
        draw_name(d, cut);
        draw_line(d, "%s = trunci %s : tile<i64> -> tile<i32>", cut, less);
        snprintf(less, sizeof less, "%s", cut);
    }
    draw_add_counter(d, less, c->bound);
}

static void statements(draw *d);

/* A sum of products in a loop: the last that the region carries. */
typedef struct product {
    draw_shape a, b, sum;
} product;

static void multiply(draw *d, const product *p, const char *sum, char out[DRAW_NAME])
{
    char a[DRAW_NAME], b[DRAW_NAME], types[3][DRAW_TYPE];
    draw_operand(d, p->a, a);
    draw_operand(d, p->b, b);
    draw_tile(d, p->a, types[0]);
    draw_tile(d, p->b, types[1]);
    draw_elements(d, p->sum, "f32", types[2]);
    draw_name(d, out);
    draw_line(d, "%s = mmaf %s, %s, %s : %s, %s, tile<%s>", out, a, b, sum, types[0], types[1], types[2]);
}

/* The body of a loop whose counter is in scope. */
static void body(draw *d, const draw_region *r, const product *p)
{
    char sum[DRAW_NAME];
    d->depth++;
    if (p)
        multiply(d, p, r->list[r->count - 1].inside, sum);
    if (!p || draw_chance(d, 2))
        statements(d);
    d->depth--;
    draw_leave(d, r, "continue", p ? sum : NULL);
    draw_close(d, "}");
}

static void draw_for(draw *d, draw_region *r, const product *p)
{
    counting c = counting_of(d);
    char first[DRAW_NAME], last[DRAW_NAME], step[DRAW_NAME], counter[DRAW_NAME], range[DRAW_RANGE];
    bool again = d->range[0] && draw_chance(d, 2); /* as the loop before */
    if (again) {
        c = (counting){.type = "i32", .compare = "", .bound = d->range_bound};
        snprintf(range, sizeof range, "%s", d->range);
    } else {
        bound_of(d, c.type, c.first, first);
        bound_of(d, c.type, c.last, last);
        bound_of(d, c.type, c.step, step);
        snprintf(range, sizeof range, "%s to %s, step %s", first, last, step);
    }
    draw_name(d, counter);
    d->range[0] = 0;
    draw_head(d, r, counter, range, c.compare, c.type);
    draw_enter(d, r);
    count_from_zero(d, &c, counter, first);
    body(d, r, p);
    if (c.first == 0 && strcmp(c.type, "i32") == 0) {
        snprintf(d->range, sizeof d->range, "%s", range);
        d->range_bound = c.bound;
    }
}

/* Iterations that the tile blocks take in turn. */
static void draw_shared_for(draw *d, draw_region *r, const product *p)
{
    counting c = {.type = "i32", .compare = "", .bound = 3 + draw_below(d, 5)};
    char last[DRAW_NAME], counter[DRAW_NAME], range[DRAW_RANGE];
    bound_of(d, c.type, c.bound, last);
    draw_name(d, counter);
    snprintf(range, sizeof range, "%%x to %s, step %%gx", last);
    draw_head(d, r, counter, range, c.compare, c.type);
    draw_enter(d, r);
    draw_add_counter(d, counter, c.bound);
    snprintf(d->shared_counter, sizeof d->shared_counter, "%s", counter);
    d->shared_bound = c.bound;
    body(d, r, p);
    d->shared_counter[0] = 0;
}

/* A loop that ends where it breaks. */
static void draw_loop(draw *d, draw_region *r)
{
    char next[DRAW_NAME], stop[DRAW_NAME], one[DRAW_NAME], last[DRAW_NAME], zero[DRAW_NAME];
    uint32_t trips = 1 + draw_below(d, MOST_TRIPS);
    bc_text line;
    draw_name(d, next);
    draw_name(d, stop);
    draw_name(d, one);
    draw_name(d, last);
    draw_name(d, zero);
    draw_line(d, "%s = constant <i32: 0> : tile<i32>", zero);
    draw_line(d, "%s = constant <i32: 1> : tile<i32>", one);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", last, (unsigned)trips);
    draw_carry(d, r, zero, "tile<i32>");
    const draw_carried *counter = &r->list[r->count - 1];
    bc_text_init(&line, NULL);
    draw_words(r, DRAW_AFTER, &line);
    bc_text_puts(&line, " = loop iter_values(");
    draw_words(r, DRAW_ENTERS, &line);
    bc_text_puts(&line, ") : ");
    draw_words(r, DRAW_TYPES, &line);
    bc_text_puts(&line, " -> ");
    draw_words(r, DRAW_TYPES, &line);
    draw_line(d, "%s {", bc_text_words(&line));
    draw_enter(d, r);
    draw_line(d, "%s = cmpi greater_than_or_equal %s, %s, signed : tile<i32> -> tile<i1>", stop, counter->inside, last);
    bc_text_clear(&line);
    draw_words(r, DRAW_INSIDE, &line);
    bc_text_puts(&line, " : ");
    draw_words(r, DRAW_TYPES, &line);
    draw_line(d, "if %s {", stop);
    draw_open(d);
    draw_line(d, "break %s", bc_text_words(&line));
    draw_close(d, "}");
    bc_text_release(&line);
    draw_add_counter(d, counter->inside, trips);
    d->depth++;
    statements(d);
    d->depth--;
    draw_line(d, "%s = addi %s, %s : tile<i32>", next, counter->inside, one);
    draw_leave(d, r, "continue", next);
    draw_close(d, "}");
}

/* Whether a region is to carry a tile. Where there are only loads, little is needed without one. */
static bool carries_tile(draw *d)
{
    return !draw_chance(d, d->theme == DRAW_ONLY_LOADS ? 12 : 3);
}

static void any_loop(draw *d)
{
    bool plain = d->theme == DRAW_ROWS, persistent = d->theme == DRAW_PERSISTENT;
    draw_region r = draw_region_of(d, !persistent && carries_tile(d));
    if (persistent || (d->depth == 0 && !plain && draw_chance(d, d->alone ? 5 : 2)))
        draw_shared_for(d, &r, NULL);
    else if (plain)
        draw_for(d, &r, NULL);
    else if (draw_chance(d, 6))
        draw_loop(d, &r);
    else
        draw_for(d, &r, NULL);
    draw_behind(d, &r);
}

/* A loop over products, and the sum as a tile of the kernel's kind. */
static void product_loop(draw *d)
{
    uint32_t k = 16u << draw_below(d, 3), rows = d->elements >= 4096 && draw_chance(d, 2) ? 64 : 16;
    product p = {.a = {.rank = 2, .dims = {rows, k}},
                 .b = {.rank = 2, .dims = {k, d->elements / rows}},
                 .sum = {.rank = 2, .dims = {rows, d->elements / rows}}};
    char zero[DRAW_NAME], elements[DRAW_TYPE], sum[DRAW_TYPE], tile[DRAW_TYPE];
    draw_value v = {.shape = p.sum}, small = v;
    draw_elements(d, p.sum, "f32", elements);
    snprintf(sum, sizeof sum, "tile<%.*s>", DRAW_TYPE - 8, elements);
    draw_tile(d, p.sum, tile);
    draw_name(d, zero);
    draw_line(d, "%s = constant <f32: 0.0> : %s", zero, sum);
    draw_region r = draw_region_of(d, draw_chance(d, 3));
    draw_carry(d, &r, zero, sum);
    if (d->depth == 0 && draw_chance(d, 4))
        draw_shared_for(d, &r, &p);
    else
        draw_for(d, &r, &p);
    draw_behind(d, &r);
    char low[DRAW_NAME], high[DRAW_NAME], some[DRAW_NAME], few[DRAW_NAME];
    draw_name(d, low);
    draw_name(d, high);
    draw_name(d, some);
    draw_name(d, few);
    draw_name(d, small.name);
    draw_line(d, "%s = constant <f32: -16.0> : %s", low, sum);
    draw_line(d, "%s = constant <f32: 16.0> : %s", high, sum);
    draw_line(d, "%s = maxf %s, %s : %s", some, r.list[r.count - 1].after, low, sum);
    draw_line(d, "%s = minf %s, %s : %s", few, some, high, sum);
    draw_line(d, "%s = ftof %s : %s -> %s", small.name, few, sum, tile);
    draw_keep(d, small);
}

/* ---- conditions ---- */

/* Of a counter or, where there are only loads, also of the tile block or of a number from memory. */
static void branch_condition(draw *d, char out[DRAW_NAME])
{
    unsigned which = d->theme == DRAW_ONLY_LOADS ? draw_below(d, 4) : 0;
    if (which == 1)
        draw_comparison(d, "%x", out);
    else if (which != 2 || !draw_memory_condition(d, out))
        draw_condition(d, out);
}

static void any_condition(draw *d)
{
    char condition[DRAW_NAME];
    branch_condition(d, condition);
    draw_region r = draw_branch(d, condition, carries_tile(d));
    d->branches++;
    draw_enter(d, &r);
    statements(d);
    draw_leave(d, &r, "yield", NULL);
    draw_close(d, "} else {");
    draw_enter(d, &r);
    if (draw_chance(d, 2))
        statements(d);
    draw_leave(d, &r, "yield", NULL);
    draw_close(d, "}");
    d->branches--;
    draw_behind(d, &r);
}

/* ---- statements ---- */

enum {
    LOOP = 0,
    CONDITION = 2,
    VIEW = 3,
    COMPUTE = 4,
    PRODUCT = 6,
    ACCESS = 8,
    IDIOM = 12,
    LOAD = 13,
    IN_PLACE = 15,
    ACCUMULATE = 16
};

/* Which one, as the kernel's theme has it. */
static unsigned statement(draw *d)
{
    static const uint8_t loads[] = {CONDITION, CONDITION, LOAD, LOAD, LOAD, IDIOM, 11, LOOP},
                         only_loads[] = {CONDITION,  CONDITION,  CONDITION, ACCUMULATE,
                                         ACCUMULATE, ACCUMULATE, LOAD,      VIEW},
                         in_branch[] = {ACCUMULATE, ACCUMULATE, ACCUMULATE, LOAD, VIEW, CONDITION},
                         in_place[] = {IN_PLACE, IN_PLACE, IN_PLACE, LOAD, VIEW, CONDITION},
                         rows[] = {LOAD, LOAD, LOAD, COMPUTE}, between[] = {LOOP, LOOP, LOOP, ACCESS},
                         persistent[] = {LOAD, LOAD, COMPUTE, ACCESS, ACCESS, IN_PLACE};
    bool outside = d->depth == 0;
    switch (d->theme) {
    case DRAW_MANY_LOADS: return outside ? draw_below(d, IN_PLACE) : loads[draw_below(d, sizeof loads)];
    case DRAW_ONLY_LOADS:
        if (outside)
            return between[draw_below(d, sizeof between)];
        return d->branches ? in_branch[draw_below(d, sizeof in_branch)] : only_loads[draw_below(d, sizeof only_loads)];
    case DRAW_IN_PLACE: return outside ? LOOP : in_place[draw_below(d, sizeof in_place)];
    case DRAW_ROWS: return outside ? between[draw_below(d, sizeof between)] : rows[draw_below(d, sizeof rows)];
    case DRAW_PERSISTENT: return persistent[draw_below(d, sizeof persistent)];
    default: return draw_below(d, IN_PLACE);
    }
}

/* Loads a tile through a view and adds it to the last one. */
static void accumulate(draw *d)
{
    draw_place p;
    if (draw_a_place(d, false, &p))
        draw_keep(d, draw_sum(d, d->values[d->value_count - 1], draw_load_at(d, &p)));
}

/* How many come one after the other. A loop of loads has several, but not so many that they have no room ahead. */
static unsigned statement_count(draw *d)
{
    return d->theme == DRAW_ONLY_LOADS && d->depth > 0 && !d->branches ? 2 + draw_below(d, 2) : 1 + draw_below(d, 4);
}

static void statements(draw *d)
{
    for (unsigned count = statement_count(d); count > 0 && d->budget > 0; count--) {
        d->budget--;
        switch (statement(d)) {
        case LOOP:
        case 1:
            if (d->depth < DEPTH)
                any_loop(d);
            break;
        case CONDITION: any_condition(d); break;
        case VIEW: draw_make_view(d); break;
        case COMPUTE:
        case 5: draw_keep(d, draw_compute(d)); break;
        case PRODUCT:
            if (d->products && d->depth < DEPTH) {
                product_loop(d);
                break;
            }
            draw_keep(d, draw_compute(d));
            break;
        case IDIOM: draw_idiom(d); break;
        case LOAD:
            draw_load(d);
            draw_keep(d, draw_compute(d));
            break;
        case IN_PLACE: draw_in_place(d); break;
        case ACCUMULATE: accumulate(d); break;
        default: draw_access(d); break;
        }
    }
}

/* ---- the head ---- */

static void hints(draw *d, char out[DRAW_TYPE])
{
    size_t at = (size_t)snprintf(out, DRAW_TYPE, " optimization_hints=<default = {");
    size_t empty = at;
    if (d->theme == DRAW_PERSISTENT || draw_chance(d, 2))
        at += (size_t)snprintf(out + at, DRAW_TYPE - at, "num_cta_in_cga = %u", 2u << draw_below(d, 4));
    if (draw_chance(d, 5))
        at += (size_t)snprintf(out + at, DRAW_TYPE - at, "%snum_worker_warps_per_cta = %u", at > empty ? ", " : "",
                               4u << draw_below(d, 3));
    if (draw_chance(d, 5))
        at += (size_t)snprintf(out + at, DRAW_TYPE - at, "%soccupancy = %u", at > empty ? ", " : "",
                               1 + draw_below(d, 4));
    snprintf(out + at, DRAW_TYPE - at, "}>");
    if (at == empty)
        *out = 0;
}

/* Elements of a tile: mostly a few of each thread, now and then more than registers hold. */
static uint32_t elements_of(draw *d)
{
    static const uint32_t sizes[] = {256, 512, 1024, 1024, 2048, 4096, 4096, 8192};
    if (draw_chance(d, 10))
        return draw_chance(d, 2) ? 65536 : 131072;
    return sizes[draw_below(d, 8)];
}

/* Where each tile block's part of an array begins; the parts are apart, or all are the same. */
static void give_arrays(draw *d, bool apart)
{
    static const char letters[] = "abc";
    char by[DRAW_NAME], step[DRAW_NAME];
    draw_name(d, step);
    draw_name(d, by);
    if (apart) {
        draw_line(d, "%s = constant <i32: %u> : tile<i32>", step, 2 * draw_room(d));
        draw_line(d, "%s = muli %%x, %s : tile<i32>", by, step);
    }
    for (unsigned i = 0; i < d->array_count; i++) {
        draw_array *a = &d->arrays[i];
        snprintf(a->name, sizeof a->name, "%%%c", letters[i]);
        a->stored = i == 0 || draw_chance(d, 3);
        if (apart && (a->stored || draw_chance(d, 2))) {
            draw_line(d, "%s1 = offset %s, %s : tile<ptr<%s>>, tile<i32> -> tile<ptr<%s>>", a->name, a->name, by,
                      draw_kind(d), draw_kind(d));
            snprintf(a->name, sizeof a->name, "%%%c1", letters[i]);
        }
        if (!draw_chance(d, 6)) {
            draw_line(d, "%%%c16 = assume div_by<16>, %s : tile<ptr<%s>>", letters[i], a->name, draw_kind(d));
            snprintf(a->name, sizeof a->name, "%%%c16", letters[i]);
        }
    }
}

static void first_value(draw *d)
{
    draw_value v = {.shape = draw_any_shape(d, d->elements, 1 + draw_below(d, DRAW_DIMS))};
    char type[DRAW_TYPE];
    draw_tile(d, v.shape, type);
    draw_name(d, v.name);
    bool real = bc_kinds[d->kind].kind_class == BC_CLASS_FLOAT;
    draw_line(d, real ? "%s = constant <%s: 3.0> : %s" : "%s = constant <%s: 3> : %s", v.name, draw_kind(d), type);
    draw_keep(d, v);
}

static void entry(draw *d, bool apart)
{
    char hint[DRAW_TYPE];
    const char *kind = draw_kind(d);
    hints(d, hint);
    draw_line(d,
              "entry @k(%%a: tile<ptr<%s>>, %%b: tile<ptr<%s>>, %%c: tile<ptr<%s>>, %%lock: tile<ptr<i32>>, %%one: "
              "tile<i32>)%s {",
              kind, kind, kind, hint);
    draw_open(d);
    draw_line(d, "%%x, %%y, %%z = get_tile_block_id : tile<i32>");
    draw_line(d, "%%gx, %%gy, %%gz = get_num_tile_blocks : tile<i32>");
    draw_line(d, "%%t = make_token : token");
    for (unsigned i = 0; i < DRAW_ARRAYS; i++)
        snprintf(d->tokens[i].last, DRAW_NAME, "%%t");
    give_arrays(d, apart);
    first_value(d);
    for (unsigned i = 0; i < 3; i++)
        draw_make_view(d);
    d->budget = 6 + draw_below(d, 14);
    if (d->theme == DRAW_PERSISTENT) {
        any_loop(d);
    } else {
        while (d->budget > 0)
            statements(d);
        draw_store(d);
    }
    draw_line(d, "return");
    draw_close(d, "}");
}

static draw_theme theme_of(draw *d)
{
    static const uint8_t usual[] = {DRAW_MIXED,    DRAW_MIXED,    DRAW_MIXED, DRAW_MIXED,     DRAW_MANY_LOADS,
                                    DRAW_IN_PLACE, DRAW_IN_PLACE, DRAW_ROWS,  DRAW_PERSISTENT},
                         large[] = {DRAW_MIXED,      DRAW_MIXED,      DRAW_MANY_LOADS, DRAW_MANY_LOADS,
                                    DRAW_ONLY_LOADS, DRAW_ONLY_LOADS, DRAW_ONLY_LOADS, DRAW_ONLY_LOADS};
    if (d->elements > 16384)
        return (draw_theme)large[draw_below(d, sizeof large)];
    return (draw_theme)usual[draw_below(d, sizeof usual)];
}

static void give_bytes(random_kernel *out, bc_kind kind, size_t bytes)
{
    for (unsigned i = 0; i < DRAW_ARRAYS; i++)
        out->arrays[i] = (random_array){.kind = kind, .bytes = bytes};
}

void random_kernel_draw(uint64_t seed, random_kernel *out)
{
    static const bc_kind kinds[] = {BC_I32, BC_I32, BC_I32, BC_F32, BC_F32, BC_F16, BC_F16, BC_I64, BC_F64, BC_I8};
    draw d = {.out = &out->text, .state = seed};
    *out = (random_kernel){.array_count = DRAW_ARRAYS};
    bc_text_init(&out->text, NULL);
    if (seed % POINTER_SEEDS == 0) {
        d.kind = BC_F16;
        out->all_small = true;
        out->grid = 1 + draw_below(&d, 3);
        give_bytes(out, BC_F16, draw_pointer_product(&d, out->grid));
        return;
    }
    d.kind = kinds[draw_below(&d, sizeof kinds / sizeof *kinds)];
    out->all_small = d.products = d.kind == BC_F16 && !draw_chance(&d, 3);
    d.elements = elements_of(&d);
    d.theme = theme_of(&d);
    bool only_loads = d.theme == DRAW_ONLY_LOADS; /* of large tiles, again and again: the fewer elements, the quicker */
    if (only_loads && !draw_chance(&d, 4))
        d.elements = 65536;
    d.array_count = draw_chance(&d, 4) ? 1 : 2 + draw_below(&d, DRAW_ARRAYS - 1);
    d.order = (draw_order)draw_below(&d, only_loads ? DRAW_LOOSE : 4);
    out->grid = draw_chance(&d, 2) ? 1 : 2 + draw_below(&d, only_loads ? 1 : 3);
    if (d.theme == DRAW_PERSISTENT && !draw_chance(&d, 3))
        out->grid = 1;
    d.alone = out->grid == 1;
    /* sums of floats depend on the order */
    bool real = bc_kinds[d.kind].kind_class == BC_CLASS_FLOAT;
    d.has_atomics = d.kind == BC_I32 || d.kind == BC_I64 || (real && d.alone);
    /* twice the room of a tile block's own part, and indices beyond */
    give_bytes(out, d.kind, (size_t)draw_room(&d) * 2 * (out->grid + 1) * bc_kind_memory_bytes(d.kind));
    for (unsigned i = 1; i < DRAW_ARRAYS; i++)
        if (draw_chance(&d, 8))
            out->arrays[i].alias = 16u << draw_below(&d, 8);
    draw_line(&d, "cuda_tile.module @m {");
    draw_open(&d);
    entry(&d, !d.alone && (only_loads || !draw_chance(&d, 3)));
    draw_close(&d, "}");
}

/* A number of contents that trial_fill does not know, as bits. */
static uint64_t number_of(const random_array *a, draw *d)
{
    if (a->contents == RANDOM_BITS)
        return draw_below(d, 256);
    if (a->contents == RANDOM_SCALES && a->kind == BC_F8E8M0FNU)
        return 126 + draw_below(d, 4); /* exponents, from -1 on */
    int64_t number = a->contents == RANDOM_TINY ? (int64_t)draw_below(d, 5) - 2 : 1 << draw_below(d, 3);
    return bc_kinds[a->kind].kind_class == BC_CLASS_FLOAT ? bc_int_to_float(a->kind, (uint64_t)number, 64, true)
                                                          : (uint64_t)number;
}

static void fill(const random_array *a, const trial_array *out, draw *d)
{
    unsigned bits = bc_kind_bits(a->kind);
    for (size_t e = 0; e < out->size * 8 / bits; e++)
        bc_packed_set(out->bytes, bits, e, number_of(a, d));
}

void random_kernel_memory(const random_kernel *k, trial_memory *out)
{
    draw d = {.state = k->grid};
    *out = (trial_memory){.grid = k->grid};
    for (unsigned i = 0; i < k->array_count; i++) {
        const random_array *a = &k->arrays[i];
        if (a->alias)
            trial_add_alias(out, 0, a->alias * bc_kind_memory_bytes(a->kind));
        else
            trial_add_array(out, a->kind, a->bytes, 0);
    }
    trial_add_array(out, BC_I32, LOCK_BYTES, 0);
    trial_add_value(out, ONE_NUMBER);
    trial_fill(out, k->all_small);
    for (unsigned i = 0; i < k->array_count; i++)
        if (k->arrays[i].contents != RANDOM_NUMBERS)
            fill(&k->arrays[i], &out->arrays[i], &d);
    memset(out->arrays[k->array_count].bytes, 0, LOCK_BYTES);
}
