/* batches KERNELS [FIRST]: random kernels of small tiles, run block by block and by batches of neighbouring blocks, for
   seeds from FIRST (1) on. Both must end in the same way, with the same finding, the same memory to the bit, and the
   same figures: ops, bytes, and how often each op ran.

   The kernels' accesses meet on purpose: views and pointers of one memory at several offsets, in-place updates, stores
   before loads, overlapping strides, accesses outside. So many blocks read what an earlier one has written.

   BATCHES_TEXT=1 prints the kernel of FIRST and does nothing else. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tilevm/tilevm.h"

enum { ARRAYS = 3, ELEMENTS = 4096, MOST_VALUES = 24, WHAT = 400, MOST_OPS = 4096 };

/* What is being drawn. Every value is a tile of `shape` of f32, unless it says otherwise. */
typedef struct drawing {
    bc_text text;
    uint64_t state;
    unsigned next, values[MOST_VALUES], value_count;
    unsigned rows, width; /* of the tile; rows 0: it has one dimension */
    uint32_t grid[3];
    unsigned remembered; /* an access that may be used again: number of its view or pointers; 0: none */
    char index[64];      /* of it; empty: pointers */
} drawing;

static unsigned draw(drawing *d, unsigned below)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((d->state >> 33) % below);
}

static void shape_of(const drawing *d, char out[32])
{
    if (d->rows)
        snprintf(out, 32, "%ux%u", d->rows, d->width);
    else
        snprintf(out, 32, "%u", d->width);
}

static unsigned value(drawing *d)
{
    return d->values[draw(d, d->value_count)];
}

static void keep(drawing *d, unsigned v)
{
    d->values[d->value_count < MOST_VALUES ? d->value_count++ : draw(d, MOST_VALUES)] = v;
}

/* ---- accesses ---- */

static const char *const indices[] = {"%x", "%x", "%x", "%x", "%x1", "%y", "%zero", "%xr", "%xm", "%i"};

static const char *draw_index(drawing *d, bool in_loop)
{
    return indices[draw(d, in_loop ? 10 : 9)];
}

/* The last array may only be read. */
static unsigned draw_array(drawing *d, bool is_store)
{
    return is_store && draw(d, 16) ? draw(d, ARRAYS - 1) : draw(d, ARRAYS);
}

/* A tensor of one of the arrays, and a view of it with the tile; its number. */
static unsigned draw_view(drawing *d, bool is_store)
{
    unsigned n = ++d->next, array = draw_array(d, is_store), offset = draw(d, 4) ? 0 : draw(d, 200);
    unsigned extent = draw(d, 3) ? 1024 : 1 + draw(d, 600), stride = draw(d, 5) ? d->width : 1 + draw(d, 40);
    char shape[32], tensor[80];
    shape_of(d, shape);
    bc_text_printf(&d->text,
                   "    %%o%u = constant <i32: %u> : tile<i32>\n"
                   "    %%p%u = offset %%a%u, %%o%u : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>\n",
                   n, offset, n, array, n);
    if (d->rows) {
        unsigned rows = extent / d->width + 1, columns = draw(d, 3) ? d->width : 2 * d->width + 1;
        snprintf(tensor, sizeof tensor, "tensor_view<%ux%uxf32, strides=[%u,1]>", rows, columns, stride);
        bc_text_printf(&d->text, "    %%t%u = make_tensor_view %%p%u, shape = [%u, %u], strides = [%u, 1] : %s\n", n, n,
                       rows, columns, stride, tensor);
    } else {
        unsigned step = draw(d, 6) ? 1 : 1 + draw(d, 4);
        snprintf(tensor, sizeof tensor, "tensor_view<%uxf32, strides=[%u]>", extent, step);
        bc_text_printf(&d->text, "    %%t%u = make_tensor_view %%p%u, shape = [%u], strides = [%u] : %s\n", n, n,
                       extent, step, tensor);
    }
    bc_text_printf(&d->text,
                   "    %%v%u = make_partition_view %%t%u : partition_view<tile=(%s), padding_value = zero, %s>\n", n,
                   n, shape, tensor);
    return n;
}

/* One index for each dimension of the tile. */
static void draw_indices(drawing *d, bool is_store, bool in_loop, char out[64])
{
    const char *first = is_store && draw(d, 8) ? "%x" : draw_index(d, in_loop),
               *second = draw(d, 4) ? "%zero" : draw_index(d, in_loop);
    if (d->rows && draw(d, 4) == 0)
        snprintf(out, 64, "%s, %s", second, first);
    else if (d->rows)
        snprintf(out, 64, "%s, %s", first, second);
    else
        snprintf(out, 64, "%s", first);
}

/* Pointers to elements of one of the arrays, mostly next to each other; its number. */
static unsigned draw_pointers(drawing *d, bool is_store, bool in_loop)
{
    unsigned n = ++d->next, array = draw_array(d, is_store), base = draw(d, 3) ? 0 : draw(d, 150);
    unsigned scale = draw(d, 4) ? d->width * (d->rows ? d->rows : 1) : 1 + draw(d, 50), count = scale;
    char shape[32];
    shape_of(d, shape);
    count = d->width * (d->rows ? d->rows : 1);
    bc_text_printf(&d->text,
                   "    %%k%u = constant <i32: %u> : tile<i32>\n    %%m%u = muli %s, %%k%u : tile<i32>\n"
                   "    %%b%u = constant <i32: %u> : tile<i32>\n    %%s%u = addi %%m%u, %%b%u : tile<i32>\n",
                   n, scale, n, draw_index(d, in_loop), n, n, base, n, n, n);
    const char *ones = d->rows ? "1x1" : "1";
    bc_text_printf(&d->text,
                   "    %%u%u = reshape %%s%u : tile<i32> -> tile<%sxi32>\n"
                   "    %%w%u = broadcast %%u%u : tile<%sxi32> -> tile<%sxi32>\n"
                   "    %%j%u = iota : tile<%uxi32>\n    %%h%u = reshape %%j%u : tile<%uxi32> -> tile<%sxi32>\n",
                   n, n, ones, n, n, ones, shape, n, count, n, n, count, shape);
    unsigned every = draw(d, 5) ? 1 : draw(d, 3);
    bc_text_printf(&d->text,
                   "    %%e%u = constant <i32: %u> : tile<%sxi32>\n"
                   "    %%g%u = muli %%h%u, %%e%u : tile<%sxi32>\n    %%q%u = addi %%g%u, %%w%u : tile<%sxi32>\n"
                   "    %%aa%u = reshape %%a%u : tile<ptr<f32>> -> tile<%sxptr<f32>>\n"
                   "    %%ab%u = broadcast %%aa%u : tile<%sxptr<f32>> -> tile<%sxptr<f32>>\n"
                   "    %%p%u = offset %%ab%u, %%q%u : tile<%sxptr<f32>>, tile<%sxi32> -> tile<%sxptr<f32>>\n",
                   n, every, shape, n, n, n, shape, n, n, n, shape, n, array, ones, n, n, ones, shape, n, n, n, shape,
                   shape, shape);
    unsigned limit = 100 + draw(d, ELEMENTS);
    bc_text_printf(&d->text,
                   "    %%l%u = constant <i32: %u> : tile<%sxi32>\n"
                   "    %%c%u = cmpi less_than %%q%u, %%l%u, signed : tile<%sxi32> -> tile<%sxi1>\n",
                   n, limit < ELEMENTS ? limit : ELEMENTS, shape, n, n, n, shape, shape);
    return n;
}

static void print_view(drawing *d, unsigned view)
{
    /* the type stands where the view was made: find its end there */
    char mark[64];
    snprintf(mark, sizeof mark, "%%v%u = make_partition_view %%t%u : ", view, view);
    const char *at = strstr(bc_text_words(&d->text), mark);
    const char *type = at ? at + strlen(mark) : "", *end = strchr(type, '\n');
    char copy[200];
    snprintf(copy, sizeof copy, "%.*s", end ? (int)(end - type) : 0, type);
    bc_text_puts(&d->text, copy);
}

/* A load or (stored not 0) a store of that value. Now and then through what an earlier access went through. */
static void draw_access(drawing *d, unsigned stored, bool in_loop)
{
    char shape[32], index[64];
    bool again = d->remembered && draw(d, in_loop ? 2 : 3) == 0, pointers = again ? !d->index[0] : draw(d, 3) == 0;
    unsigned n = again      ? d->remembered
                 : pointers ? draw_pointers(d, stored, in_loop)
                            : draw_view(d, stored),
             r = ++d->next;
    shape_of(d, shape);
    if (again && in_loop && d->index[0])
        snprintf(index, sizeof index, d->rows ? "%%xi, %%zero" : "%%xi");
    else if (again)
        snprintf(index, sizeof index, "%s", d->index);
    else if (!pointers)
        draw_indices(d, stored, in_loop, index);
    if (pointers && stored)
        bc_text_printf(&d->text,
                       "    %%z%u = store_ptr_tko weak %%p%u, %%r%u, %%c%u : tile<%sxptr<f32>>, tile<%sxf32>, "
                       "tile<%sxi1> -> token\n",
                       r, n, stored, n, shape, shape, shape);
    else if (pointers)
        bc_text_printf(&d->text,
                       "    %%pad%u = constant <f32: 2.0> : tile<%sxf32>\n"
                       "    %%r%u, %%z%u = load_ptr_tko weak %%p%u, %%c%u, %%pad%u : tile<%sxptr<f32>>, tile<%sxi1>, "
                       "tile<%sxf32> -> tile<%sxf32>, token\n",
                       r, shape, r, r, n, n, r, shape, shape, shape, shape);
    else if (stored) {
        bc_text_printf(&d->text, "    %%z%u = store_view_tko weak %%r%u, %%v%u[%s] : tile<%sxf32>, ", r, stored, n,
                       index, shape);
        print_view(d, n);
        bc_text_puts(&d->text, ", tile<i32> -> token\n");
    } else {
        bc_text_printf(&d->text, "    %%r%u, %%z%u = load_view_tko weak %%v%u[%s] : ", r, r, n, index);
        print_view(d, n);
        bc_text_printf(&d->text, ", tile<i32> -> tile<%sxf32>, token\n", shape);
    }
    if (!stored)
        keep(d, r);
    if (!in_loop && draw(d, 2)) {
        d->remembered = n;
        snprintf(d->index, sizeof d->index, "%s", pointers ? "" : index);
    }
}

/* ---- values ---- */

static void draw_fold(drawing *d)
{
    unsigned r = ++d->next, from = value(d);
    char shape[32], left[32] = "", ones[32];
    shape_of(d, shape);
    bool scan = draw(d, 2), outer = d->rows && draw(d, 2);
    if (scan) {
        bc_text_printf(&d->text,
                       "    %%r%u = scan %%r%u dim=%u reverse=%s identities=[0.0 : f32] : tile<%sxf32> -> tile<%sxf32> "
                       "(%%p: tile<f32>, %%q: tile<f32>) {\n      %%s = addf %%p, %%q : tile<f32>\n"
                       "      yield %%s : tile<f32>\n    }\n",
                       r, from, d->rows && !outer ? 1 : 0, draw(d, 2) ? "true" : "false", shape, shape);
        keep(d, r);
        return;
    }
    if (d->rows)
        snprintf(left, sizeof left, "%ux", outer ? d->width : d->rows);
    snprintf(ones, sizeof ones, d->rows && outer ? "1x%u" : d->rows ? "%ux1" : "1", outer ? d->width : d->rows);
    bc_text_printf(
        &d->text,
        "    %%f%u = reduce %%r%u dim=%u identities=[0.0 : f32] : tile<%sxf32> -> tile<%sf32> (%%p: tile<f32>, "
        "%%q: tile<f32>) {\n      %%s = addf %%p, %%q : tile<f32>\n      yield %%s : tile<f32>\n    }\n"
        "    %%n%u = reshape %%f%u : tile<%sf32> -> tile<%sxf32>\n"
        "    %%r%u = broadcast %%n%u : tile<%sxf32> -> tile<%sxf32>\n",
        r, from, d->rows && !outer ? 1 : 0, shape, left, r, r, left, ones, r, r, ones, shape);
    keep(d, r);
}

static void draw_number(drawing *d)
{
    unsigned r = ++d->next;
    char shape[32];
    const char *ones = d->rows ? "1x1" : "1";
    shape_of(d, shape);
    bc_text_printf(&d->text,
                   "    %%i%u = itof %s signed : tile<i32> -> tile<f32>\n"
                   "    %%n%u = reshape %%i%u : tile<f32> -> tile<%sxf32>\n"
                   "    %%r%u = broadcast %%n%u : tile<%sxf32> -> tile<%sxf32>\n",
                   r, draw_index(d, false), r, r, ones, r, r, ones, shape);
    keep(d, r);
}

static void draw_turn(drawing *d)
{
    unsigned r = ++d->next, from = value(d);
    bc_text_printf(&d->text,
                   "    %%y%u = permute %%r%u [1, 0] : tile<%ux%uxf32> -> tile<%ux%uxf32>\n"
                   "    %%r%u = reshape %%y%u : tile<%ux%uxf32> -> tile<%ux%uxf32>\n",
                   r, from, d->rows, d->width, d->width, d->rows, r, r, d->width, d->rows, d->rows, d->width);
    keep(d, r);
}

static void draw_value(drawing *d)
{
    static const char *const binary[] = {"addf", "subf", "mulf", "maxf", "minf"};
    static const char *const unary[] = {"negf", "absf", "exp2", "tanh", "floor", "rsqrt"};
    char shape[32];
    shape_of(d, shape);
    switch (draw(d, 8)) {
    case 0: draw_fold(d); return;
    case 1: draw_number(d); return;
    case 2:
        if (d->rows) {
            draw_turn(d);
            return;
        }
        break;
    case 3: {
        unsigned r = ++d->next;
        bc_text_printf(&d->text, "    %%r%u = %s %%r%u : tile<%sxf32>\n", r, unary[draw(d, 6)], value(d), shape);
        keep(d, r);
        return;
    }
    default: break;
    }
    unsigned r = ++d->next, a = value(d), b = value(d);
    bc_text_printf(&d->text, "    %%r%u = %s %%r%u, %%r%u : tile<%sxf32>\n", r, binary[draw(d, 5)], a, b, shape);
    keep(d, r);
}

/* A loop that adds up what it loads. */
static void draw_loop(drawing *d)
{
    unsigned n = ++d->next, before = d->value_count, start = value(d);
    char shape[32];
    shape_of(d, shape);
    bc_text_printf(&d->text,
                   "    %%r%u = for %%i in (%%zero to %%three, step %%one) : tile<i32> iter_values(%%r%u_ = %%r%u) -> "
                   "(tile<%sxf32>) {\n",
                   n, n, start, shape);
    bc_text_puts(&d->text, "    %xi = subi %x, %i : tile<i32>\n");
    unsigned kept[MOST_VALUES], remembered = d->remembered;
    memcpy(kept, d->values, sizeof kept);
    draw_access(d, 0, true);
    unsigned last = d->values[before < MOST_VALUES ? d->value_count - 1 : 0], r = ++d->next;
    bc_text_printf(&d->text,
                   "    %%r%u = addf %%r%u_, %%r%u : tile<%sxf32>\n    continue %%r%u : tile<%sxf32>\n    }\n", r, n,
                   last, shape, r, shape);
    memcpy(d->values, kept, sizeof kept);
    d->value_count = before;
    d->remembered = remembered;
    keep(d, n);
}

static void draw_grid(drawing *d)
{
    uint32_t most = 40;
    d->grid[0] = draw(d, 4) ? 1 + draw(d, most) : 1;
    d->grid[1] = d->grid[0] == 1 || draw(d, 4) == 0 ? 1 + draw(d, 12) : 1;
    d->grid[2] = draw(d, 8) == 0 ? 2 : 1;
}

/* Always the same one for a seed. */
static void draw_kernel(drawing *d, uint64_t seed)
{
    char shape[32];
    *d = (drawing){.state = seed * 0x9e3779b97f4a7c15u + 1};
    bc_text_init(&d->text, NULL);
    draw_grid(d);
    d->rows = draw(d, 2) ? 0 : 1u << draw(d, 4);
    d->width = 1u << draw(d, 6);
    shape_of(d, shape);
    bc_text_printf(&d->text,
                   "// grid %u %u %u\ncuda_tile.module @m {\n  entry @k(%%a0: tile<ptr<f32>>, %%a1: tile<ptr<f32>>, "
                   "%%a2: tile<ptr<f32>>) {\n    %%x, %%y, %%z = get_tile_block_id : tile<i32>\n"
                   "    %%zero = constant <i32: 0> : tile<i32>\n    %%one = constant <i32: 1> : tile<i32>\n"
                   "    %%three = constant <i32: 3> : tile<i32>\n    %%x1 = addi %%x, %%one : tile<i32>\n"
                   "    %%xr = remi %%x, %%three signed : tile<i32>\n    %%xm = subi %%x, %%one : tile<i32>\n"
                   "    %%r0 = constant <f32: 1.5> : tile<%sxf32>\n",
                   d->grid[0], d->grid[1], d->grid[2], shape);
    d->value_count = 1;
    unsigned steps = 3 + draw(d, 10);
    for (unsigned i = 0; i < steps; i++) {
        unsigned what = draw(d, 10);
        if (i == 0 || what < 3)
            draw_access(d, 0, false);
        else if (what < 8)
            draw_value(d);
        else if (what == 8)
            draw_loop(d);
        else
            draw_access(d, value(d), false);
    }
    if (value(d))
        draw_access(d, d->values[d->value_count - 1], false);
    bc_text_puts(&d->text, "    return\n  }\n}\n");
}

/* ---- running ---- */

typedef struct result {
    float memory[ARRAYS][ELEMENTS];
    tv_status status;
    char what[WHAT]; /* the first finding */
    tv_vm_stats stats;
    uint64_t runs[MOST_OPS];
} result;

static void note(void *user, const tv_diag *d)
{
    result *r = user;
    if (!r->what[0])
        snprintf(r->what, WHAT, "%s: %.*s", d->rule, (int)d->message.len, d->message.ptr);
}

static void fill(result *r)
{
    for (unsigned a = 0; a < ARRAYS; a++)
        for (unsigned i = 0; i < ELEMENTS; i++)
            r->memory[a][i] = (float)((i * 37 + a * 11) % 101) / 8 - 4;
}

/* On the memory of `at`, so that addresses in messages are the same. */
static void run(const tv_module *m, const drawing *d, tv_batch batch, unsigned threads, result *at, result *out)
{
    tv_sink sink = {at, note};
    const tv_vm_options options = {.threads = threads, .batch = (uint8_t)batch};
    const void *pointers[ARRAYS], *params[ARRAYS];
    tv_vm *vm = NULL;
    memset(at, 0, sizeof *at);
    fill(at);
    at->status = tv_vm_new(m, &options, sink, &vm);
    for (unsigned a = 0; a < ARRAYS && at->status == TV_OK; a++) {
        pointers[a] = at->memory[a];
        params[a] = &pointers[a];
        at->status = tv_vm_add_buffer(vm, at->memory[a], sizeof at->memory[a], "memory", a != 2, sink);
    }
    if (at->status == TV_OK)
        at->status = tv_vm_run(vm, NULL, d->grid, params, ARRAYS, sink);
    tv_vm_get_stats(vm, &at->stats);
    for (uint32_t i = 0; i < MOST_OPS && tv_vm_op_runs_at(vm, i, &at->runs[i]); i++)
        ;
    tv_vm_free(vm);
    *out = *at;
}

static const char *difference(const result *a, const result *b)
{
    if (a->status != b->status)
        return "the status";
    if (strcmp(a->what, b->what) != 0)
        return "the finding";
    if (memcmp(a->memory, b->memory, sizeof a->memory) != 0)
        return "the memory";
    if (a->stats.blocks != b->stats.blocks)
        return "the tile blocks that ran";
    if (a->stats.ops != b->stats.ops || a->stats.flops != b->stats.flops)
        return "the figures of ops";
    if (a->stats.bytes_loaded != b->stats.bytes_loaded || a->stats.bytes_stored != b->stats.bytes_stored)
        return "the figures of bytes";
    return memcmp(a->runs, b->runs, sizeof a->runs) != 0 ? "how often ops ran" : NULL;
}

typedef struct tally {
    unsigned passed, failed, batched, trapped;
    result at, single, batch;
} tally;

static bool run_seed(uint64_t seed, tally *t)
{
    drawing d;
    tv_module *m = NULL;
    const char *what = NULL;
    draw_kernel(&d, seed);
    memset(&t->at, 0, sizeof t->at);
    tv_sink sink = {&t->at, note};
    if (tv_module_parse(d.text.ptr, d.text.len, 0, NULL, sink, &m) != TV_OK
        || tv_module_verify(m, NULL, sink) != TV_OK) {
        what = t->at.what;
    } else {
        run(m, &d, TV_BATCH_OFF, 1, &t->at, &t->single);
        run(m, &d, TV_BATCH_ALWAYS, 1, &t->at, &t->batch);
        what = difference(&t->single, &t->batch);
        t->batched += t->batch.stats.batches > 0;
        t->trapped += t->single.status == TV_TRAP;
    }
    if (what)
        printf("FAILED seed %" PRIu64 ": %s\n  block by block: %s\n  by batches: %s\n", seed, what, t->single.what,
               t->batch.what);
    *(what ? &t->failed : &t->passed) += 1;
    tv_module_close(m);
    bc_text_release(&d.text);
    return !what;
}

int main(int argc, char **argv)
{
    static tally t;
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 0, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    if (count == 0) {
        fprintf(stderr, "usage: batches KERNELS [FIRST]\n");
        return 2;
    }
    if (getenv("BATCHES_TEXT")) {
        drawing d;
        draw_kernel(&d, first);
        printf("%s", bc_text_words(&d.text));
        bc_text_release(&d.text);
        return 0;
    }
    for (uint64_t seed = first; seed < first + count; seed++)
        run_seed(seed, &t);
    printf("batches: %u kernels passed, %u failed; %u ran by batches, %u trapped\n", t.passed, t.failed, t.batched,
           t.trapped);
    return t.failed > 0 || (count >= 100 && (t.batched < count / 20 || t.trapped == 0));
}
