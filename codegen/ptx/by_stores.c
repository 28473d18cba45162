/* Ops are written one after the other, each for all elements of a thread: all loads come before all stores, and since
   ptxas does not know whether they are of the same memory, it leaves that order as it is, so that registers hold all
   that is loaded. Here, instructions are put in another order, in which registers hold the elements of a few stores.

   Where threads load a product's operands and store them to shared memory, loads are ahead of stores by as many
   elements as a thread has registers for: ptxas would load all of them first, and spill what it has no registers for.

   Why it is right: nothing passes a branch, a label or a barrier. In both orders, an instruction follows those that
   write what it reads. A register that is written again after it was read would need more, and nothing changes then.
   Stores keep their order, atomics without results among them. Loads may pass stores, which the caller promises; those
   of global memory pass stores to shared memory. */
#include "codegen/ptx/by_stores.h"

#include <string.h>

#include "codegen/kernel/limits.h"
#include "codegen/ptx/emit.h"

enum { MOST_SOURCES = 12 }; /* registers of an instruction: a vector of eight words, its address, a predicate */

typedef struct line {
    const char *at; /* comments in front of it included */
    size_t size;
    uint32_t sources[MOST_SOURCES]; /* 1 + the lines that write what it reads */
    uint32_t source_count;
    bool loads, stores, is_done, is_needed;
    bool adds;       /* it is a store that is atomic */
    uint32_t brings; /* of a store: the loads that were written for it */
} line;

typedef struct stretch {
    cg_func *c;
    line *lines;
    uint32_t count;
    uint32_t *writer[CG_CLASS_COUNT]; /* by register: 1 + the line that wrote it last; 0: none */
    bool *is_read[CG_CLASS_COUNT];    /* since then */
} stretch;

/* ---- reading the text ---- */

static bool begins_with(const char *s, const char *word)
{
    return !strncmp(s, word, strlen(word));
}

/* Does an instruction of that name only compute registers from registers? */
static bool is_arithmetic(const char *name)
{
    static const char *const all[] = {"mov.",   "add.",  "sub.", "mul.",  "mad.",  "fma.", "cvt.", "setp.",
                                      "selp.",  "and.",  "or.",  "xor.",  "not.",  "shl.", "shr.", "neg.",
                                      "abs.",   "min.",  "max.", "prmt.", "bfe.",  "ex2.", "lg2.", "rcp.",
                                      "rsqrt.", "sqrt.", "div.", "tanh.", "lop3.", "set.", "slct."};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (begins_with(name, all[i]))
            return true;
    return false;
}

/* The class and number of the register whose name begins at s. False: it is none of the kernel's. */
static bool read_register(const stretch *x, const char *s, uint32_t *out_class, uint32_t *out_id)
{
    static const char letters[] = {[CG_PRED] = 'p', [CG_B16] = 'h', [CG_B32] = 'r', [CG_B64] = 'd'};
    uint64_t id = 0;
    for (uint32_t cls = 0; cls < CG_CLASS_COUNT; cls++) {
        if (s[1] != letters[cls] || s[2] < '0' || s[2] > '9')
            continue;
        for (const char *p = s + 2; *p >= '0' && *p <= '9' && id <= UINT32_MAX; p++)
            id = id * 10 + (uint64_t)(*p - '0');
        *out_class = cls;
        *out_id = (uint32_t)id;
        return id <= x->c->emit->registers[cls];
    }
    return false;
}

static bool add_source(line *l, uint32_t writer)
{
    if (!writer)
        return true;
    if (l->source_count == MOST_SOURCES)
        return false;
    l->sources[l->source_count++] = writer;
    return true;
}

/* The registers between two places of an instruction, which are written or read there. */
static bool add_registers(stretch *x, line *l, const char *from, const char *to, bool written)
{
    for (const char *p = from; p < to; p++) {
        uint32_t cls, id;
        if (*p != '%')
            continue;
        if (!read_register(x, p, &cls, &id) || (written && x->is_read[cls][id]) || !add_source(l, x->writer[cls][id]))
            return false;
        if (written)
            x->writer[cls][id] = (uint32_t)(l - x->lines) + 1;
        else
            x->is_read[cls][id] = true;
    }
    return true;
}

/* The name of the instruction between two places, behind its predicate. */
static const char *name_of(const char *from, const char *to)
{
    const char *space = *from == '@' ? memchr(from, ' ', (size_t)(to - from)) : NULL;
    return space ? space + 1 : from;
}

static bool is_comment(const char *at)
{
    return begins_with(at, "\t//") || begins_with(at, "\t.loc");
}

/* Behind the last instruction that may not be moved: a branch, a label, a barrier. */
static const char *behind_fixed(const char *text, const char *end)
{
    const char *from = text;
    for (const char *p = text, *next; p < end && (next = memchr(p, '\n', (size_t)(end - p))); p = next + 1) {
        const char *name = name_of(p + 1, next);
        if (!is_comment(p)
            && (*p != '\t'
                || !(is_arithmetic(name) || begins_with(name, "ld.global.b") || begins_with(name, "ld.global.v")
                     || begins_with(name, "st.global.b") || begins_with(name, "st.global.v")
                     || begins_with(name, "st.shared.") || begins_with(name, "stmatrix.")
                     || begins_with(name, "red."))))
            from = next + 1;
    }
    return from;
}

/* Reads the instruction between two places. False: it is none that may be moved. */
static bool read_instruction(stretch *x, line *l, const char *from, const char *to)
{
    const char *name = name_of(from, to);
    l->loads = begins_with(name, "ld.");
    l->adds = begins_with(name, "red.");
    l->stores = l->adds || begins_with(name, "st.") || begins_with(name, "stmatrix.");
    const char *operands = memchr(name, ' ', (size_t)(to - name));
    if (!operands)
        return false;
    const char *results = operands + 1,
               *end = l->stores ? results : memchr(results, *results == '{' ? '}' : ',', (size_t)(to - results));
    return end && add_registers(x, l, from, name, false) && add_registers(x, l, end, to, false)
           && add_registers(x, l, results, end, true);
}

/* Reads the lines of the text; comments and places in the source belong to the next instruction. */
static bool read_lines(stretch *x, const char *text, const char *end)
{
    for (const char *at = text, *p = text; p < end;) {
        const char *next = memchr(p, '\n', (size_t)(end - p));
        if (!next)
            return false;
        if (is_comment(p)) {
            p = next + 1;
            continue;
        }
        line *l = &x->lines[x->count];
        *l = (line){.at = at, .size = (size_t)(next + 1 - at)};
        if (!read_instruction(x, l, p + 1, next))
            return false;
        x->count++;
        at = p = next + 1;
    }
    return true;
}

/* ---- writing it in another order ---- */

static void put_needed(stretch *x, bc_text *out)
{
    for (uint32_t i = 0; i < x->count; i++) {
        line *l = &x->lines[i];
        if (l->is_needed && !l->is_done)
            bc_text_bytes(out, l->at, l->size);
        l->is_done = l->is_done || l->is_needed;
        l->is_needed = false;
    }
}

/* Marks what the marked lines need and was not written yet. */
static void mark_sources(stretch *x)
{
    for (uint32_t i = x->count; i-- > 0;)
        for (uint32_t k = 0; x->lines[i].is_needed && k < x->lines[i].source_count; k++) {
            line *source = &x->lines[x->lines[i].sources[k] - 1];
            source->is_needed = !source->is_done;
        }
}

/* Writes the loads that a store needs, and what these need. */
static void put_loads(stretch *x, line *store, bc_text *out)
{
    store->is_needed = true;
    mark_sources(x);
    for (uint32_t i = 0; i < x->count; i++) {
        x->lines[i].is_needed = x->lines[i].is_needed && x->lines[i].loads;
        store->brings += x->lines[i].is_needed;
    }
    mark_sources(x);
    put_needed(x, out);
}

static void put_ordered(stretch *x, uint32_t most, bc_text *out)
{
    uint32_t next = 0, ahead = 0, held = 0; /* the store whose loads are next, how many stores it is ahead, loads */
    for (uint32_t i = 0; i < x->count; i++) {
        if (!x->lines[i].stores)
            continue;
        for (; next < x->count && (most ? held < most : ahead <= CG_STORES_AHEAD); next++)
            if (x->lines[next].stores) {
                put_loads(x, &x->lines[next], out);
                held += x->lines[next].brings;
                ahead++;
            }
        x->lines[i].is_needed = true;
        mark_sources(x);
        put_needed(x, out);
        held -= x->lines[i].brings;
        ahead--;
    }
    for (uint32_t i = 0; i < x->count; i++) /* what no store needs */
        x->lines[i].is_needed = true;
    put_needed(x, out);
}

/* Is there a load, or an atomic, whose address then need not be held beside those of others? */
static bool pays(const stretch *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (x->lines[i].loads || x->lines[i].adds)
            return true;
    return false;
}

static bool has_room(stretch *x, size_t lines)
{
    cg_func *c = x->c;
    x->lines = bc_new(&c->arena, line, lines + 1);
    bool has = x->lines;
    for (uint32_t cls = 0; cls < CG_CLASS_COUNT; cls++) {
        x->writer[cls] = bc_new(&c->arena, uint32_t, c->emit->registers[cls] + 1u);
        x->is_read[cls] = bc_new(&c->arena, bool, c->emit->registers[cls] + 1u);
        has = has && x->writer[cls] && x->is_read[cls];
    }
    return has;
}

/* All that was written from there on counts as written for the op of the last store. */
static void count_for_last(cg_emit *e, size_t start)
{
    for (size_t i = e->mark_count; i-- > 0 && e->marks[i].at >= start;)
        e->marks[i].op = e->op;
}

void cg_order_by_stores(cg_func *c, size_t from, uint32_t loads)
{
    bc_text *body = &c->emit->body;
    if (c->failed || body->failed || body->len <= from)
        return;
    const char *end = body->ptr + body->len, *text = behind_fixed(body->ptr + from, end);
    const size_t start = (size_t)(text - body->ptr);
    size_t lines = 0;
    for (const char *p = text; p < end; p++)
        lines += *p == '\n';
    if (lines > CG_LINES_BY_STORES)
        return;
    stretch x = {.c = c};
    bc_text out;
    bc_text_init(&out, &c->m->arena.allocator);
    if (!has_room(&x, lines)) {
        cg_no_memory(c);
    } else if (read_lines(&x, text, end) && pays(&x)) {
        put_ordered(&x, loads, &out);
        if (out.failed)
            cg_no_memory(c);
        else
            memcpy(body->ptr + start, out.ptr, out.len);
        count_for_last(c->emit, start);
        c->emit->by_stores = true;
    }
    bc_text_release(&out);
}

bool cg_is_by_stores(const cg_func *c)
{
    return c->emit->by_stores;
}
