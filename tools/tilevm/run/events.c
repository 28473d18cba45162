/* --trace-events: what each tile block does when, in the form that viewers of Chrome traces read (Trace Event Format:
   complete events, "ph": "X"). Tile blocks are threads; ops, loops and branches are slices on a time axis of real
   nanoseconds of the virtual machine. A loop that only waits is a slice of its own category.

   The machine reports an op when it has ended; a loop is open from the first op in it to the first one outside. Events
   go to the file in the order in which they are reported; the format allows any order. */
#include "tools/tilevm/run/events.h"

#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "bytecode/module.h"
#include "vm/run/observe.h"

/* An op of the kernel. */
typedef struct event_op {
    const bc_op *op;
    uint32_t parent; /* the op around it that has slices of its own; NONE */
    bool opens;      /* a loop or a branch */
    bool waits;      /* a loop that only reads memory again and again */
    tv_str file;
    uint32_t line;
} event_op;

enum { MOST_OPEN = 32 };
#define NONE UINT32_MAX

/* Loops and branches that are open in a tile block that runs. */
typedef struct event_block {
    bool used;
    uint32_t block[3];
    uint32_t depth, ops[MOST_OPEN];
    double from[MOST_OPEN], until; /* until: the end of the last op */
} event_block;

struct run_events {
    run_job *job;
    vm_observer observer;
    cli_out out;
    event_op *ops;
    uint32_t op_count;
    event_block *blocks; /* those that run */
    size_t block_count;
    uint64_t written, left_out;
    bool failed; /* out of memory */
};

/* ---- the ops ---- */

static bool is_strong(const bc_op *op)
{
    switch (op->opcode) {
    case OP_load_ptr_tko:
        return bc_attr_u(op, F_load_ptr_tko_memory_ordering_semantics) != BC_MemoryOrderingSemantics_weak;
    case OP_load_view_tko:
        return bc_attr_u(op, F_load_view_tko_memory_ordering_semantics) != BC_MemoryOrderingSemantics_weak;
    case OP_atomic_cas_tko:
    case OP_atomic_rmw_tko: return true;
    default: return false;
    }
}

/* A `loop` that accesses memory by strong accesses only: it repeats until another block has written. */
static bool is_waiting(const bc_op *op)
{
    const bc_block *body = op->opcode == OP_loop ? bc_regions(op)[0] : NULL;
    bool looks = false, works = false;
    for (const bc_op *in = body ? body->first : NULL; in; in = bc_next_op(in, body)) {
        bool touches = bc_info(in)->effects & (BC_READS | BC_WRITES);
        looks = looks || (touches && is_strong(in));
        works = works || (touches && !is_strong(in));
    }
    return looks && !works;
}

static bool opens_slice(const bc_op *op)
{
    return bc_is_loop(op->opcode) || op->opcode == OP_if;
}

static uint32_t position_of(const run_events *e, const bc_op *op)
{
    uint32_t i = 0;
    while (i < e->op_count && e->ops[i].op != op)
        i++;
    return i < e->op_count ? i : NONE;
}

/* Ops in the body of a reduction are part of it. */
static uint32_t parent_of(const run_events *e, const bc_op *op)
{
    const bc_op *around = op->block->parent;
    while (around && !opens_slice(around))
        around = around->block->parent;
    return around ? position_of(e, around) : NONE;
}

static bool find_ops(run_events *e)
{
    const bc_function *f = bc_entry_at(e->job->module, e->job->entry);
    uint32_t column;
    e->ops = calloc(f->op_count + 1u, sizeof *e->ops);
    for (const bc_op *op = f->body->first; op && e->ops; op = bc_next_op(op, f->body)) {
        event_op *o = &e->ops[e->op_count];
        *o = (event_op){.op = op,
                        .parent = parent_of(e, op),
                        .opens = opens_slice(op),
                        .waits = opens_slice(op) && is_waiting(op)};
        bc_source_place(e->job->module, op->loc, &o->file, &o->line, &column);
        e->op_count++;
    }
    return e->ops != NULL;
}

/* ---- the file ---- */

static void put_string(bc_text *out, tv_str s)
{
    bc_text clean;
    bc_text_init(&clean, NULL);
    bc_text_utf8(&clean, s);
    bc_text_char(out, '"');
    for (size_t i = 0; i < clean.len; i++) {
        unsigned char c = (unsigned char)clean.ptr[i];
        if (c < 0x20)
            bc_text_printf(out, "\\u%04x", c);
        else
            bc_text_printf(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    bc_text_char(out, '"');
    out->failed = out->failed || clean.failed;
    bc_text_release(&clean);
}

static unsigned long long thread_of(const run_events *e, const uint32_t block[3])
{
    const uint32_t *grid = e->job->options.grid;
    return block[0] + (unsigned long long)grid[0] * (block[1] + (unsigned long long)grid[1] * block[2]);
}

/* False: the limit on events is reached. */
static bool has_room(run_events *e)
{
    uint64_t most = e->job->options.events_max;
    if (most && e->written >= most) {
        e->left_out++;
        return false;
    }
    e->written++;
    return true;
}

static void put_text(run_events *e, bc_text *text)
{
    e->failed = e->failed || text->failed;
    cli_out_write(&e->out, text->ptr, text->len);
    bc_text_release(text);
}

/* op NONE: the whole block. */
static void put_slice(run_events *e, const uint32_t block[3], uint32_t op, double from, double to)
{
    bc_text text;
    const event_op *o = op < e->op_count ? &e->ops[op] : NULL;
    if (!has_room(e))
        return;
    bc_text_init(&text, NULL);
    bc_text_puts(&text, e->written > 1 ? ",\n{\"name\":" : "\n{\"name\":");
    put_string(&text, o ? bc_str(bc_info(o->op)->name) : bc_str("tile block"));
    bc_text_printf(&text, ",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":1,\"tid\":%llu,\"args\":{",
                   !o         ? "block"
                   : o->waits ? "wait"
                   : o->opens ? "region"
                              : "op",
                   from * 1e6, to > from ? (to - from) * 1e6 : 0.0, thread_of(e, block));
    if (o)
        bc_text_printf(&text, "\"op\":%u", op);
    else
        bc_text_printf(&text, "\"x\":%u,\"y\":%u,\"z\":%u", block[0], block[1], block[2]);
    if (o && o->line) {
        bc_text_puts(&text, ",\"file\":");
        put_string(&text, o->file);
        bc_text_printf(&text, ",\"line\":%u", o->line);
    }
    bc_text_puts(&text, "}}");
    put_text(e, &text);
}

static void put_name(run_events *e, const char *kind, unsigned long long thread, tv_str name)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_printf(&text, "%s{\"name\":\"%s\",\"ph\":\"M\",\"pid\":1,\"tid\":%llu,\"args\":{\"name\":",
                   e->written++ ? ",\n" : "\n", kind, thread);
    put_string(&text, name);
    bc_text_puts(&text, "}}");
    put_text(e, &text);
}

static void put_block_name(run_events *e, const uint32_t block[3])
{
    char name[64];
    snprintf(name, sizeof name, "tile block (%u, %u, %u)", block[0], block[1], block[2]);
    put_name(e, "thread_name", thread_of(e, block), bc_str(name));
}

/* ---- slices ---- */

static event_block *block_of(run_events *e, const uint32_t block[3])
{
    event_block *free_one = NULL;
    for (size_t i = 0; i < e->block_count; i++) {
        event_block *b = &e->blocks[i];
        if (b->used && memcmp(b->block, block, sizeof b->block) == 0)
            return b;
        free_one = b->used ? free_one : b;
    }
    if (!free_one) {
        event_block *grown = realloc(e->blocks, (e->block_count + 1) * sizeof *grown);
        if (!grown)
            return NULL;
        e->blocks = grown;
        free_one = &grown[e->block_count++];
    }
    *free_one = (event_block){.used = true};
    memcpy(free_one->block, block, sizeof free_one->block);
    return free_one;
}

static bool is_around(const run_events *e, uint32_t outer, uint32_t op)
{
    for (; op != NONE; op = e->ops[op].parent)
        if (op == outer)
            return true;
    return false;
}

/* Closes the loops and branches that do not contain the op. */
static void close_slices(run_events *e, event_block *b, uint32_t op)
{
    while (b->depth && !(op != NONE && is_around(e, b->ops[b->depth - 1], op))) {
        b->depth--;
        put_slice(e, b->block, b->ops[b->depth], b->from[b->depth], b->until);
    }
}

static void open_slices(run_events *e, event_block *b, uint32_t op, double from)
{
    uint32_t chain[MOST_OPEN], count = 0;
    for (uint32_t at = e->ops[op].opens ? op : e->ops[op].parent; at != NONE && count < MOST_OPEN;
         at = e->ops[at].parent)
        chain[count++] = at;
    for (uint32_t i = count; i-- > 0;)
        if (count - i > b->depth && b->depth < MOST_OPEN) {
            b->ops[b->depth] = chain[i];
            b->from[b->depth++] = from;
        }
}

static void take(void *user, const vm_spent *spent)
{
    run_events *e = user;
    event_block *b = block_of(e, spent->block);
    if (!b) {
        e->failed = true;
        return;
    }
    if (spent->op == VM_WHOLE_BLOCK) {
        close_slices(e, b, NONE);
        put_slice(e, spent->block, NONE, spent->from, spent->to);
        if (!e->left_out)
            put_block_name(e, spent->block);
        b->used = false;
        return;
    }
    if (spent->op >= e->op_count)
        return;
    close_slices(e, b, spent->op);
    open_slices(e, b, spent->op, spent->from);
    if (!e->ops[spent->op].opens)
        put_slice(e, spent->block, spent->op, spent->from, spent->to);
    b->until = spent->to;
}

/* ---- the run ---- */

static bool begin_file(run_events *e)
{
    if (!cli_out_open(&e->out, e->job->options.events))
        return false;
    static const char head[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    cli_out_write(&e->out, head, sizeof head - 1);
    bc_text name;
    bc_text_init(&name, NULL);
    bc_text_str(&name, tv_module_entry_name(e->job->module, e->job->entry));
    bc_text_puts(&name, " on the virtual machine");
    put_name(e, "process_name", 0, bc_text_get(&name));
    bc_text_release(&name);
    return true;
}

int run_events_begin(run_job *job)
{
    if (!job->options.events)
        return CLI_OK;
    run_events *e = job->events = calloc(1, sizeof *e);
    if (!e)
        return cli_error("out of memory");
    e->job = job;
    e->observer = (vm_observer){.user = e, .spent = take};
    if (!find_ops(e))
        return cli_error("out of memory");
    if (!begin_file(e))
        return CLI_ERROR;
    job->observer = &e->observer;
    return CLI_OK;
}

int run_events_end(run_job *job)
{
    run_events *e = job->events;
    bc_text text;
    if (!e || !job->observer)
        return CLI_OK;
    bc_text_init(&text, NULL);
    bc_text_printf(&text,
                   "\n],\"otherData\":{\"producer\":\"tilevm %s\",\"time\":\"nanoseconds of the virtual machine\","
                   "\"left_out\":%llu}}\n",
                   tv_version(), (unsigned long long)e->left_out);
    put_text(e, &text);
    job->observer = NULL;
    if (e->failed) {
        cli_out_abort(&e->out);
        return cli_error("--trace-events: out of memory");
    }
    if (!cli_out_commit(&e->out))
        return CLI_ERROR;
    if (e->left_out && !job->options.json)
        cli_print(stderr, "%llu more events were not written; --trace-events-max raises the limit\n",
                  (unsigned long long)e->left_out);
    return CLI_OK;
}

void run_events_release(run_job *job)
{
    run_events *e = job->events;
    if (!e)
        return;
    if (job->observer == &e->observer)
        cli_out_abort(&e->out);
    free(e->ops);
    free(e->blocks);
    free(e);
    job->events = NULL;
}
