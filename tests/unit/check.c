/* The parts of the checks that can be compared with something simpler: clocks with sets of events, elements of arrays
   with a walk over all indices. And the checks through the public interface, with memory that runs out. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "vm/run/array.h"
#include "vm/check/clock.h"

static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}
static uint32_t below(uint32_t *state, uint32_t n)
{
    return (next_random(state) >> 8) % n;
}

/* ---- clocks ---- */

/* OPS ops run up to RUNS times in BLOCKS blocks; a set has a bit for each. */
enum { BLOCKS = 3, OPS = 4, RUNS = 8, EVENTS = BLOCKS * OPS * RUNS, CLOCKS = 24 };

typedef struct both {
    const vm_clock *clock;
    uint32_t block;
    bool set[EVENTS];
} both;

typedef struct history {
    vm_event events[EVENTS];
    bool happened[EVENTS];
    uint32_t instances[BLOCKS][OPS], sequence[BLOCKS];
} history;

static uint32_t place_of(uint32_t block, uint32_t op, uint32_t instance)
{
    return (block * OPS + op) * RUNS + instance;
}

static bool agrees(const both *b, const history *h)
{
    for (uint32_t i = 0; i < EVENTS; i++)
        if (h->happened[i] && vm_clock_has(b->clock, &h->events[i]) != b->set[i])
            return false;
    return true;
}

static void run_op(history *h, bc_arena *arena, both *b, uint32_t op)
{
    uint32_t block = b->block, instance = h->instances[block][op];
    if (instance == RUNS)
        return;
    uint32_t place = place_of(block, op, instance);
    h->instances[block][op]++;
    h->events[place] = (vm_event){block, op, instance, h->sequence[block]++};
    h->happened[place] = true;
    b->clock = vm_clock_with(arena, b->clock, &h->events[place]);
    b->set[place] = true;
}

static void add_set(both *to, const both *from)
{
    for (uint32_t i = 0; i < EVENTS; i++)
        to->set[i] |= from->set[i];
}

static void check_clocks(void)
{
    uint32_t state = 7;
    for (unsigned round = 0; round < 300; round++) {
        history h = {0};
        both clocks[CLOCKS] = {0};
        bc_arena arena;
        bc_arena_init(&arena, NULL, 0);
        bool good = true;
        for (uint32_t i = 0; i < CLOCKS; i++)
            clocks[i].block = i % BLOCKS;
        for (unsigned step = 0; step < 200 && good; step++) {
            both *a = &clocks[below(&state, CLOCKS)], *b = &clocks[below(&state, CLOCKS)];
            uint32_t what = below(&state, 4);
            if (what == 0) {
                run_op(&h, &arena, a, below(&state, OPS));
            } else if (what == 1 && a->block == b->block) { /* join_tokens */
                a->clock = vm_clock_join(&arena, a->clock, b->clock);
                add_set(a, b);
            } else if (what == 2 && a->block != b->block && b->clock) { /* a acquires what b releases */
                const vm_clock *left =
                    vm_clock_publish(&arena, b->clock, b->block, h.instances[b->block], OPS, h.sequence[b->block]);
                a->clock = vm_clock_acquire(&arena, a->clock, left);
                add_set(a, b);
            } else if (what == 3 && a->block == b->block) {
                *a = *b; /* a token that is handed on */
            }
            good = agrees(a, &h) && agrees(b, &h);
        }
        CHECK_MSG(good && !arena.failed, "round %u", round);
        bc_arena_release(&arena);
    }
}

/* A loop that hands its token on makes one span, and a block that releases all it did another. */
static void check_size(void)
{
    bc_arena arena;
    bc_arena_init(&arena, NULL, 0);
    const vm_clock *clock = NULL;
    uint32_t instances[3] = {[2] = 7}, sequence = 0; /* the third is none of the two */
    for (unsigned i = 0; i < 1000; i++)
        for (uint32_t op = 0; op < 2; op++)
            clock = vm_clock_with(&arena, clock, &(vm_event){5, op, instances[op]++, sequence++});
    CHECK(clock && clock->count == 2);
    const vm_clock *left = vm_clock_publish(&arena, clock, 5, instances, 2, sequence);
    CHECK(left && left->count == 1);
    CHECK(vm_clock_has(left, &(vm_event){5, 1, 999, 1999}));
    CHECK(!vm_clock_has(left, &(vm_event){5, 1, 1000, 2000}));
    CHECK(!vm_clock_has(left, &(vm_event){4, 1, 0, 0}));
    bc_arena_release(&arena);
}

/* What lies behind the spans of a clock is no part of it: op 1 has run, and the clock does not have it. */
static void check_end_of_clock(void)
{
    static const vm_span spans[] = {{5, 0, 0, 0}, {5, 0, 0, 0}, {5, 1, 0, 0}};
    bc_arena arena;
    bc_arena_init(&arena, NULL, 0);
    vm_clock *clock = bc_arena_alloc(&arena, sizeof *clock + sizeof spans, _Alignof(vm_clock));
    CHECK(clock);
    if (clock) {
        clock->count = 1;
        memcpy(clock->spans, spans, sizeof spans);
        const vm_clock *left = vm_clock_publish(&arena, clock, 5, (const uint32_t[]){1, 1}, 2, 2);
        CHECK(left && vm_clock_has(left, &(vm_event){5, 0, 0, 0}) && !vm_clock_has(left, &(vm_event){5, 1, 0, 1}));
    }
    bc_arena_release(&arena);
}

/* ---- arrays ---- */

enum { ROOM = 4096 };

/* Marks the bytes of all elements with where they are; false: two elements share a byte. */
static bool mark(const tv_array *a, const unsigned char *memory, int *marks)
{
    int64_t index[TV_MAX_RANK] = {0};
    size_t item = tv_dtype_bits(a->dtype) / 8, count = 1;
    bool distinct = true;
    for (uint32_t d = 0; d < a->ndim; d++)
        count *= (size_t)a->shape[d];
    for (size_t k = 0; k < count; k++) {
        int64_t at = (const unsigned char *)a->data - memory;
        for (uint32_t d = 0; d < a->ndim; d++)
            at += index[d] * a->strides[d] * (int64_t)item;
        for (size_t b = 0; b < item; b++) {
            distinct &= marks[(size_t)at + b] < 0;
            marks[(size_t)at + b] = (int)k;
        }
        for (uint32_t d = a->ndim; d-- > 0;) {
            if (++index[d] < a->shape[d])
                break;
            index[d] = 0;
        }
    }
    return distinct;
}

static int place_of_index(const vm_array *a, const int64_t *index)
{
    int64_t place = 0;
    for (uint32_t d = 0; d < a->ndim; d++)
        place = place * a->shape[d] + index[d];
    return (int)place;
}

static void check_array(const tv_array *a, const unsigned char *memory, unsigned round)
{
    static int marks[ROOM];
    vm_arrays arrays = {0};
    const tv_allocator allocator = bc_default_allocator();
    for (size_t i = 0; i < ROOM; i++)
        marks[i] = -1;
    bool distinct = mark(a, memory, marks), good = true;
    CHECK(vm_arrays_add(&arrays, &allocator, a, "a") == TV_OK);
    const vm_array *known = &arrays.items[0];
    bool gaps = false;
    for (uint64_t at = known->low; at < known->high; at++) {
        int64_t index[TV_MAX_RANK];
        bool is_element, found = vm_array_element(known, at, index);
        int mine = marks[at - (uintptr_t)memory];
        gaps |= mine < 0;
        const vm_array *here = vm_arrays_find(&arrays, at, &is_element);
        good &= here == known && (is_element || mine < 0); /* never a gap where an element is */
        if (known->nested && distinct)
            good &= found == (mine >= 0) && (!found || place_of_index(known, index) == mine) && is_element == found;
    }
    good &= !known->packed || !gaps;
    good &= !vm_array_element(known, known->high, (int64_t[TV_MAX_RANK]){0});
    CHECK_MSG(good, "round %u", round);
    vm_arrays_release(&arrays, &allocator);
}

static void check_arrays(void)
{
    static unsigned char memory[ROOM];
    static const tv_dtype dtypes[] = {TV_I8, TV_F16, TV_F32, TV_F64};
    uint32_t state = 3;
    for (unsigned round = 0; round < 2000; round++) {
        int64_t shape[3], strides[3];
        tv_array a = {memory + ROOM / 2, dtypes[below(&state, 4)], below(&state, 4), shape, strides};
        for (uint32_t d = 0; d < a.ndim; d++) {
            shape[d] = 1 + below(&state, 5);
            strides[d] = (int64_t)below(&state, 33) - 16;
        }
        check_array(&a, memory, round);
    }
}

/* ---- the public interface ---- */

/* Two tile blocks write to the same element of p, and element 0 of q is read before it is written. */
static const char racy[] = "entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {\n"
                           "  %x, %y, %z = get_tile_block_id : tile<i32>\n"
                           "  %v, %t0 = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token\n"
                           "  %t1 = store_ptr_tko weak %p, %v token=%t0 : tile<ptr<i32>>, tile<i32> -> token\n"
                           "  return\n"
                           "}\n";

typedef struct seen {
    unsigned races, unwritten, others;
    bool second_op;
} seen;

static void note(void *user, const tv_diag *d)
{
    seen *s = user;
    if (strcmp(d->rule, "X-RAC-01") == 0) {
        s->races++;
        s->second_op = d->other && bc_str_is(d->other->op, "store_ptr_tko") && d->other->op_index == d->op_index;
    } else if (strcmp(d->rule, "X-INI-01") == 0) {
        s->unwritten++;
    } else {
        s->others++;
    }
}

static tv_status run(const tv_module *m, const tv_vm_options *options, seen *s)
{
    int32_t p[4] = {0}, q[4] = {5}, *pp = p, *pq = q;
    const void *params[] = {&pp, &pq};
    const int64_t four = 4;
    tv_sink sink = {s, note};
    tv_vm *vm;
    tv_status status = tv_vm_new(m, options, sink, &vm);
    if (status != TV_OK)
        return status;
    const tv_array array = {q, TV_I32, 1, &four, NULL};
    status = tv_vm_add_buffer(vm, p, sizeof p, "p", true, sink);
    if (status == TV_OK)
        status = tv_vm_add_buffer(vm, q, sizeof q, "q", false, sink);
    if (status == TV_OK)
        status = tv_vm_describe_array(vm, &array, "q", true, sink);
    if (status == TV_OK)
        status = tv_vm_run(vm, "k", (const uint32_t[]){2, 1, 1}, params, 2, sink);
    CHECK(status != TV_INVALID || p[0] == 5); /* the results are those of the first run */
    tv_vm_free(vm);
    return status;
}

typedef struct supply {
    unsigned long left, held;
} supply;

static void *take(void *user, size_t size)
{
    supply *s = user;
    if (s->left == 0)
        return NULL;
    s->left--;
    s->held++;
    return malloc(size);
}
static void give_back(void *user, void *memory, size_t size)
{
    supply *s = user;
    (void)size;
    s->held--;
    free(memory);
}

/* The n-th allocation fails, for every n. */
static void check_failing(const tv_module *m)
{
    tv_status status = TV_NO_MEMORY;
    for (unsigned long n = 0; n < 1000 && status != TV_INVALID; n++) {
        supply s = {n, 0};
        seen found = {0};
        tv_allocator allocator = {&s, take, give_back};
        status = run(m, &(tv_vm_options){.allocator = &allocator, .checks = TV_CHECK_ALL, .check_orders = 1}, &found);
        CHECK_MSG(status == TV_NO_MEMORY || status == TV_TRAP || status == TV_INVALID, "allocation %lu: %d", n,
                  (int)status);
        CHECK_MSG(s.held == 0, "allocation %lu leaves %lu", n, s.held);
    }
    CHECK(status == TV_INVALID);
}

static void check_interface(void)
{
    tv_module *m;
    tv_sink none = {NULL, NULL};
    CHECK(tv_module_parse(racy, sizeof racy - 1, 0, NULL, none, &m) == TV_OK);
    CHECK(tv_module_verify(m, NULL, none) == TV_OK);
    seen s = {0};
    CHECK(run(m, &(tv_vm_options){.threads = 1}, &s) == TV_OK && s.races + s.unwritten + s.others == 0);
    CHECK(run(m, &(tv_vm_options){.checks = TV_CHECK_ALL}, &s) == TV_INVALID);
    CHECK(s.races == 1 && s.unwritten == 1 && s.others == 0 && s.second_op);
    s = (seen){0};
    CHECK(run(m, &(tv_vm_options){.checks = TV_CHECK_TOKENS | TV_CHECK_ASSUME}, &s) == TV_OK && s.races == 0);
    CHECK(run(m, &(tv_vm_options){.checks = TV_CHECK_ALL, .max_findings = 1}, &s) == TV_INVALID);
    CHECK(s.races + s.unwritten == 1);
    s = (seen){0};
    CHECK(run(m, &(tv_vm_options){.checks = TV_CHECK_ALL, .memory_limit = 3000}, &s) != TV_OK && s.others == 1);
    check_failing(m);
    tv_module_close(m);
    uint32_t all = 0;
    for (size_t i = 0; tv_check_at(i); i++)
        all |= tv_check_at(i)->check;
    CHECK(all == TV_CHECK_ALL);
}

int main(void)
{
    check_clocks();
    check_size();
    check_end_of_clock();
    check_arrays();
    check_interface();
    return TEST_END("check");
}
