/* The search for an op: first the tile block, by what goes into the stores; then the ops in batches, in program order.
   Every batch is a module of its own, so that the code between stays much as it was; rounds of loops are logged in
   each, and place what one batch finds before or after what another does. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "bytecode/print/print.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/run/replay.h"

enum { BATCH = 16, MOST_SINGLE = 400 };
#define LOG_LIMIT ((uint64_t)128 << 20)

/* ---- ops ---- */

static bool writes_memory(const bc_op *op)
{
    return bc_info(op)->effects & BC_WRITES;
}

/* The outermost loop around an op, or NULL. */
static const bc_op *loops_around(const bc_op *op)
{
    const bc_op *outermost = NULL;
    while ((op = op->block->parent))
        outermost = bc_is_loop(op->opcode) ? op : outermost;
    return outermost;
}

/* Bytes that the records of an op take each time; 0 for one that cannot be exposed. */
static uint64_t record_bytes(const bc_op *op)
{
    uint64_t bytes = 0;
    expose_source source;
    for (uint32_t i = 0; expose_is_possible(op) && i < op->result_count; i++)
        if (expose_describe(op, i, &source))
            bytes += source.bytes;
    return bytes;
}

static uint32_t index_of(const run_study *s, const bc_op *op)
{
    uint32_t i = 0;
    while (s->ops[i] != op)
        i++;
    return i;
}

static int by_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Adds the ops that make the operands of an op, ascending and each once; returns the new count. */
static size_t add_sources(const run_study *s, const bc_op *op, uint32_t *ops, size_t count)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const bc_op *made_by = bc_operands(op)[i]->op;
        if (made_by && record_bytes(made_by))
            ops[count++] = index_of(s, made_by);
    }
    return count;
}

static size_t sort_unique(uint32_t *ops, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(ops, count, sizeof *ops, by_index);
    for (size_t i = 0; i < count; i++)
        if (!kept || ops[kept - 1] != ops[i])
            ops[kept++] = ops[i];
    return kept;
}

static bool is_inside(const bc_op *op, const bc_op *around)
{
    while (op && op != around)
        op = op->block->parent;
    return op != NULL;
}

/* The last op inside an op; the op itself if there is none. */
static uint32_t last_inside(const run_study *s, uint32_t index)
{
    uint32_t last = index;
    while (last + 1 < s->op_count && is_inside(s->ops[last + 1], s->ops[index]))
        last++;
    return last;
}

/* The last op of the loops and branches that the op is in, or is: ops after it run after what was found there. */
static uint32_t last_around(const run_study *s, uint32_t index)
{
    const bc_op *outermost = s->ops[index];
    while (outermost->block->parent)
        outermost = outermost->block->parent;
    return last_inside(s, index_of(s, outermost));
}

/* Bytes that the ops write for each tile block, if loops run a few iterations. */
static uint64_t guess_bytes(const run_study *s, const uint32_t *ops, size_t count)
{
    enum { ROUNDS = 8 };
    uint64_t bytes = EXPOSE_HEAD;
    for (size_t i = 0; i < count; i++)
        bytes += record_bytes(s->ops[ops[i]]) * (loops_around(s->ops[ops[i]]) ? ROUNDS : 1);
    return bytes;
}

/* ---- the search ---- */

static uint64_t block_count(const run_study *s)
{
    const uint32_t *grid = s->job->options.grid;
    return (uint64_t)grid[0] * grid[1] * grid[2];
}

/* How many of the tile blocks can be examined together, if each writes that many bytes; and how much each may write. */
static uint32_t window_size(uint64_t blocks, uint64_t bytes, uint64_t *out_capacity)
{
    uint64_t count = LOG_LIMIT / bytes;
    count = count < 1 ? 1 : count < blocks ? count : blocks;
    uint64_t most = LOG_LIMIT / count / EXPOSE_ALIGN * EXPOSE_ALIGN, enough = bytes * 64; /* zeroed memory takes time */
    *out_capacity = most < bytes ? bytes : most < enough ? most : enough;
    return (uint32_t)count;
}

/* The first tile block where something that goes into a store or atomic differs. */
static bool find_block(run_study *s, uint32_t *ops, uint64_t *out_block, bool *out_found)
{
    size_t count = 0;
    uint64_t capacity;
    *out_found = false;
    for (uint32_t i = 0; i < s->op_count; i++)
        if (writes_memory(s->ops[i]))
            count = sort_unique(ops, add_sources(s, s->ops[i], ops, count));
    uint32_t blocks = window_size(block_count(s), guess_bytes(s, ops, count), &capacity);
    for (uint64_t first = 0; count && !*out_found && first < block_count(s); first += blocks) {
        run_finding f;
        uint64_t left = block_count(s) - first;
        if (!run_look_at(s, ops, count, first, left < blocks ? (uint32_t)left : blocks, capacity, &f))
            return false;
        *out_found = f.found;
        *out_block = first + f.slot;
    }
    return true;
}

/* The results of a loop or branch come after all ops inside it. */
static uint32_t place_of(const run_study *s, const run_finding *f)
{
    return f->is_control && !bc_is_loop(s->ops[f->op_index]->opcode) ? f->op_index : last_inside(s, f->op_index);
}

static bool is_before(const run_study *s, const run_finding *a, const run_finding *b)
{
    if (!b->found || a->slot != b->slot)
        return !b->found || a->slot < b->slot;
    if (a->rounds != b->rounds)
        return a->rounds < b->rounds;
    uint32_t place = place_of(s, a), other = place_of(s, b);
    if (place != other)
        return place < other;
    if (place != a->op_index || other != b->op_index) /* the inner one of two that end together */
        return a->op_index > b->op_index;
    return a->op_index != b->op_index ? a->op_index < b->op_index : a->result < b->result;
}

/* Examines every op that can be exposed, `batch` at a time. False: a batch is too large; a single op that cannot be
   examined is left out. */
static bool find_op(run_study *s, uint32_t *ops, size_t batch, uint64_t first, uint32_t count, run_finding *best)
{
    uint32_t next = 0;
    *best = (run_finding){0};
    while (next < s->op_count && !(best->found && next > last_around(s, best->op_index))) {
        size_t chosen = 0;
        uint64_t capacity;
        run_finding f;
        for (; next < s->op_count && chosen < batch; next++)
            if (record_bytes(s->ops[next]))
                ops[chosen++] = next;
        uint32_t shown = window_size(count, guess_bytes(s, ops, chosen), &capacity);
        bool looked = chosen && run_look_at(s, ops, chosen, first, shown, capacity, &f);
        if (chosen && !looked && batch > 1)
            return false;
        if (looked && f.found && is_before(s, &f, best))
            *best = f;
    }
    return true;
}

/* Examines the op together with the ops that make its operands: are the operands right? */
static void look_closer(run_study *s, uint32_t *ops, uint64_t block, run_finding *best)
{
    run_finding f;
    uint64_t capacity;
    size_t count = add_sources(s, s->ops[best->op_index], ops, 0);
    if (record_bytes(s->ops[best->op_index]))
        ops[count++] = best->op_index;
    count = sort_unique(ops, count);
    window_size(1, guess_bytes(s, ops, count), &capacity);
    if (run_look_at(s, ops, count, block, 1, capacity, &f) && f.found && f.op_index == best->op_index)
        *best = f;
}

/* One pass: the tile block, then the op. singly: in batches of one. */
static void search_all(run_study *s, uint32_t *ops, bool singly, uint64_t *out_block, run_finding *best)
{
    bool has_block;
    uint64_t all = block_count(s);
    *out_block = 0;
    if (!find_block(s, ops, out_block, &has_block))
        has_block = false;
    uint32_t blocks = has_block ? 1 : all < BATCH ? (uint32_t)all : BATCH;
    s->problem[0] = 0;
    find_op(s, ops, singly ? 1 : BATCH, has_block ? *out_block : 0, blocks, best);
}

static void search(run_study *s, uint32_t *ops, run_blame *out)
{
    uint64_t block = 0;
    run_finding best = {0};
    search_all(s, ops, false, &block, &best);
    if (!best.found) {
        s->strict = true;
        search_all(s, ops, false, &block, &best);
    }
    if (!best.found && s->op_count <= MOST_SINGLE)
        search_all(s, ops, true, &block, &best);
    if (!best.found && s->problem[0])
        return;
    out->kind = !best.found       ? s->persists ? RUN_BLAME_STORE : RUN_BLAME_HIDDEN
                : best.is_control ? RUN_BLAME_CONTROL
                                  : RUN_BLAME_VALUE;
    out->block = block + best.slot;
    if (best.found)
        look_closer(s, ops, out->block, &best);
    out->op_index = best.op_index;
    out->result = best.result;
    out->time = best.time;
    out->first = best.first;
    out->wrong = best.wrong;
    out->operand_count = best.operand_count;
    memcpy(out->operands, best.operands, sizeof out->operands);
    out->shape = best.shape;
    for (uint32_t i = 0; out->kind == RUN_BLAME_STORE && i < s->op_count; i++)
        if (writes_memory(s->ops[i]))
            out->op_index = i;
}

void run_blame_find(run_job *job, run_device *device, const run_copy *before, const run_copy *cpu, run_blame *out)
{
    run_study s = {
        .job = job, .device = device, .before = before, .cpu = cpu, .f = bc_entry_at(job->module, job->entry)};
    *out = (run_blame){0};
    s.ops = bc_new(&job->arena, bc_op *, s.f->op_count);
    uint32_t *chosen = bc_new(&job->arena, uint32_t, (size_t)s.f->op_count + BC_MAX_OPERANDS + 1);
    if (!s.ops || !chosen)
        snprintf(s.problem, sizeof s.problem, "out of memory");
    if (!s.problem[0]) {
        for (bc_op *op = s.f->body->first; op; op = bc_next_op(op, s.f->body))
            s.ops[s.op_count++] = op;
        search(&s, chosen, out);
    }
    memcpy(out->problem, s.problem, sizeof out->problem);
}

/* ---- words ---- */

static const bc_op *op_at(const run_job *job, uint32_t index)
{
    const bc_block *body = bc_entry_at(job->module, job->entry)->body;
    const bc_op *op = body->first;
    while (op && index-- > 0)
        op = bc_next_op(op, body);
    return op;
}

const bc_op *run_blame_op(const run_job *job, const run_blame *blame)
{
    return blame->kind == RUN_BLAME_NONE || blame->kind == RUN_BLAME_HIDDEN ? NULL : op_at(job, blame->op_index);
}

/* "op 12 addf at kernel.py:14, byte 0x1a4" */
static void put_place(bc_text *out, const run_job *job, uint32_t index)
{
    const bc_op *op = op_at(job, index);
    tv_str file;
    uint32_t line, column;
    bc_text_printf(out, "op %u %s", index, bc_info(op)->name);
    if (bc_source_place(job->module, op->loc, &file, &line, &column)) {
        bc_text_puts(out, " at ");
        bc_text_visible(out, file, "");
        bc_text_printf(out, ":%u", line);
    }
    bc_text_printf(out, ", byte 0x%04x", op->offset);
}

static void put_block(bc_text *out, const run_job *job, const run_blame *b)
{
    const uint32_t *grid = job->options.grid;
    bc_text_printf(out, ", tile block (%llu, %llu, %llu)", (unsigned long long)(b->block % grid[0]),
                   (unsigned long long)(b->block / grid[0] % grid[1]),
                   (unsigned long long)(b->block / grid[0] / grid[1]));
    if (b->time)
        bc_text_printf(out, ", time %llu from 0", (unsigned long long)b->time);
    bc_text_char(out, '\n');
}

static void put_op_text(bc_text *out, const run_job *job, uint32_t index)
{
    uint32_t caret, caret_len;
    bc_text_puts(out, "  ");
    bc_print_op_text(job->module, bc_entry_at(job->module, job->entry), op_at(job, index), -1, 0, out, &caret,
                     &caret_len);
    bc_text_char(out, '\n');
}

static void put_operands(bc_text *out, const run_job *job, const run_blame *b)
{
    for (size_t i = 0; i < b->operand_count; i++) {
        const run_blame_operand *o = &b->operands[i];
        bc_text_printf(out, "  operand from op %u %s: ", o->op_index, bc_info(op_at(job, o->op_index))->name);
        if (o->same_bits)
            bc_text_puts(out, "the same bits");
        else if (o->ulp != UINT64_MAX)
            bc_text_printf(out, "within the tolerance, up to %llu ulp apart", (unsigned long long)o->ulp);
        else
            bc_text_puts(out, "within the tolerance");
        if (o->has_element) {
            bc_text_puts(out, ", here ");
            arg_print_value(out, o->dtype, o->bits);
        }
        bc_text_char(out, '\n');
    }
}

void run_blame_print(bc_text *out, const run_job *job, const run_blame *b)
{
    switch (b->kind) {
    case RUN_BLAME_NONE: bc_text_puts(out, "the op could not be found"); break;
    case RUN_BLAME_HIDDEN:
        bc_text_puts(out, "with the values of ops exposed there is no difference: suspect an optimisation across ops");
        break;
    case RUN_BLAME_VALUE:
    case RUN_BLAME_CONTROL:
        bc_text_puts(out, b->kind == RUN_BLAME_VALUE ? "the first op that differs: " : "control flow differs in ");
        put_place(out, job, b->op_index);
        put_block(out, job, b);
        put_op_text(out, job, b->op_index);
        if (b->kind == RUN_BLAME_VALUE) {
            bc_text_puts(out, "  ");
            arg_print_difference(out, &b->shape, &b->first, "cuda", "cpu");
            bc_text_printf(out, "; %llu of %llu differ\n", (unsigned long long)b->wrong,
                           (unsigned long long)b->shape.count);
        }
        put_operands(out, job, b);
        return;
    case RUN_BLAME_STORE:
        bc_text_puts(out,
                     "the operands of every store and atomic agree; one of these ops differs, the last of which is ");
        put_place(out, job, b->op_index);
        bc_text_char(out, '\n');
        put_op_text(out, job, b->op_index);
        return;
    }
    if (b->kind == RUN_BLAME_NONE && b->problem[0])
        bc_text_printf(out, ": %s", b->problem);
    bc_text_char(out, '\n');
}
