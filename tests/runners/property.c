/* property SEEDS [FIRST]: properties of every valid module, checked on random ones, for so many seeds from FIRST (1) on
   in every version:
     - the same options give the same bytes;
     - it verifies;
     - what is written reads, and writes the same bytes;
     - its text assembles to the same bytes and the same text;
     - it converts to the newest version and to the lowest one that it needs, verifies there, and says the same;
     - without debug information it verifies, and differs in nothing else;
     - it verifies with the results of every op exposed;
     - it compiles for some targets, or a diagnostic says why not, to the same text twice;
     - it does not differ from itself.
   And of the generator: over enough seeds every op of the newest version comes up, and so does what stands around ops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/write/convert.h"
#include "tools/tilevm/diff/compare.h"
#include "tools/tilevm/module/edit.h"
#include "tools/tilevm/module/expose.h"
#include "tools/tilevm/gen/gen.h"

enum { ENOUGH_SEEDS = 20 };

static unsigned passed, failed;

/* The module that is being checked, for messages. */
typedef struct subject {
    gen_options options;
    char rule[16], message[256]; /* the first error that was reported */
} subject;

static void check(subject *s, bool condition, const char *what)
{
    if (condition) {
        passed++;
    } else {
        failed++;
        fprintf(stderr, "tilevm gen --to 13.%d --seed %llu --ops %u --entries %u: %s: %s %s\n", s->options.version,
                (unsigned long long)s->options.seed, s->options.ops, s->options.functions, what, s->rule, s->message);
    }
    s->rule[0] = s->message[0] = 0;
}

static void remember(void *user, const tv_diag *diag)
{
    subject *s = user;
    if (diag->severity != TV_ERROR || s->rule[0])
        return;
    snprintf(s->rule, sizeof s->rule, "%s", diag->rule);
    snprintf(s->message, sizeof s->message, "%.*s", (int)diag->message.len, diag->message.ptr);
}

static bool write_module(subject *s, tv_module *m, bc_text *out)
{
    bc_text_init(out, NULL);
    return tv_module_write(m, (tv_sink){s, remember}, (tv_writer){out, bc_text_append}) == TV_OK;
}

/* With locations where there are any: `loc(unknown)` makes a debug section. */
static bool print_module(tv_module *m, bc_text *out)
{
    bc_text_init(out, NULL);
    return tv_module_print(m, &(tv_print_options){.debug_info = m->has_debug_section}, (tv_writer){out, bc_text_append})
           == TV_OK;
}

static bool verifies(subject *s, tv_module *m)
{
    return tv_module_verify(m, NULL, (tv_sink){s, remember}) == TV_OK;
}

static tv_module *open_module(subject *s, const bc_text *bytes)
{
    tv_module *m = NULL;
    return tv_module_open(bytes->ptr, bytes->len, NULL, (tv_sink){s, remember}, &m) == TV_OK ? m : NULL;
}

static bool equal(const bc_text *a, const bc_text *b)
{
    return bc_str_eq(bc_text_get(a), bc_text_get(b));
}

static bool same(const tv_module *a, const tv_module *b, const compare_options *options)
{
    compare_result result;
    bool is_same = compare_modules(a, b, options, &result) == TV_OK && compare_same(&result);
    compare_release(&result);
    return is_same;
}

/* ---- properties; bytes are the module's ---- */

static void check_deterministic(subject *s, const bc_text *bytes)
{
    tv_module *m;
    bc_text again;
    if (gen_module(&s->options, &m) != TV_OK) {
        check(s, false, "cannot be made again");
        return;
    }
    check(s, write_module(s, m, &again) && equal(bytes, &again), "made again it is another module");
    bc_text_release(&again);
    tv_module_close(m);
}

static void check_round_trip(subject *s, tv_module *m, const bc_text *bytes)
{
    bc_text again, text, text_again;
    tv_module *parsed = NULL;
    check(s, write_module(s, m, &again) && equal(bytes, &again), "written, read and written again the bytes differ");
    bc_text_release(&again);
    check(s, print_module(m, &text), "does not print");
    check(s, tv_module_parse(text.ptr, text.len, s->options.version, NULL, (tv_sink){s, remember}, &parsed) == TV_OK,
          "its text does not assemble");
    if (parsed) {
        if (m->producer) /* which the text does not tell */
            parsed->producer = bc_string_add(parsed, m->producer->s, false);
        check(s, write_module(s, parsed, &again) && equal(bytes, &again), "its text assembles to other bytes");
        check(s, print_module(parsed, &text_again) && equal(&text, &text_again), "its text assembles to another text");
        bc_text_release(&again);
        bc_text_release(&text_again);
    }
    tv_module_close(parsed);
    bc_text_release(&text);
}

/* There and back. On the way print_tko gains or loses its result (13.2), and the producer goes (13.3). */
static void check_convert(subject *s, const tv_module *original, const bc_text *bytes, bc_version version)
{
    tv_module *m = open_module(s, bytes);
    check(s, m && tv_module_convert(m, version, (tv_sink){s, remember}) == TV_OK, "does not convert");
    if (m) {
        bc_text converted;
        check(s, verifies(s, m), "does not verify in another version");
        check(s, write_module(s, m, &converted), "cannot be written in another version");
        bc_text_release(&converted);
        check(s, tv_module_convert(m, s->options.version, (tv_sink){s, remember}) == TV_OK, "does not convert back");
        check(s, same(original, m, &(compare_options){.ignore_version = true}),
              "says something else when converted back");
    }
    tv_module_close(m);
}

static void check_strip(subject *s, const tv_module *original, const bc_text *bytes)
{
    tv_module *m = open_module(s, bytes);
    if (m && edit_drop_debug(m)) {
        check(s, bc_module_compact(m) == TV_OK && verifies(s, m), "does not verify without debug information");
        check(s, same(original, m, &(compare_options){.ignore_debug = true}),
              "says something else without debug information");
        check(s, !same(original, m, &(compare_options){0}), "does not differ where its debug information was dropped");
    }
    tv_module_close(m);
}

/* With every op exposed. */
static void check_expose(subject *s, const bc_text *bytes)
{
    tv_module *m = open_module(s, bytes);
    const expose_window window = {.count = 1, .capacity = 1 << 20};
    const expose_source *sources;
    size_t count, exposed = 0;
    bc_text out;
    for (size_t f = 0; m && f < m->function_count; f++) {
        uint32_t op_count = m->functions[f].op_count;
        uint32_t *ops = bc_new(&m->arena, uint32_t, op_count);
        for (uint32_t i = 0; ops && i < op_count; i++)
            ops[i] = i;
        check(s, ops && expose_ops(m, f, ops, op_count, &window, &sources, &count), "cannot be exposed");
        exposed += count;
    }
    check(s, exposed > 0, "exposes nothing");
    check(s, m && bc_module_compact(m) == TV_OK && verifies(s, m), "does not verify when exposed");
    check(s, m && write_module(s, m, &out), "cannot be written when exposed");
    if (m)
        bc_text_release(&out);
    tv_module_close(m);
}

static void check_compiles(subject *s, const tv_module *m, const char *target)
{
    const tv_compile_options options = {.target = target, .opt_level = 3, .verify_each = true};
    bc_text first, second;
    bc_text_init(&first, NULL);
    bc_text_init(&second, NULL);
    tv_status status = tv_compile_ptx(m, &options, (tv_sink){s, remember}, (tv_writer){&first, bc_text_append});
    check(s, status == TV_OK || (status == TV_UNSUPPORTED && s->rule[0]), "does not compile");
    check(s,
          tv_compile_ptx(m, &options, (tv_sink){s, remember}, (tv_writer){&second, bc_text_append}) == status
              && equal(&first, &second),
          "compiled again it is another text");
    bc_text_release(&first);
    bc_text_release(&second);
}

/* ---- what came up ---- */

typedef struct tally {
    unsigned ops[OP_LIMIT];
    unsigned globals, debug, call_sites, entry_hints, op_hints, producers;
} tally;

static void count_op(tally *t, const bc_op *op)
{
    const bc_row *rows = bc_attr_rows(bc_info(op));
    t->ops[op->opcode]++;
    for (unsigned r = 0; r < bc_info(op)->attr_rows; r++)
        t->op_hints += rows[r].encoding == BC_ENC_HINTS && bc_attrs(op)[r].tagged;
}

static void count(tally *t, const bc_module *m)
{
    t->globals += m->global_count > 0;
    t->debug += m->has_debug_section;
    t->producers += m->producer != NULL;
    for (size_t i = 0; i < m->debug_count; i++)
        t->call_sites += m->debug[i].tag == BC_DI_CALL_SITE;
    for (size_t f = 0; f < m->function_count; f++) {
        t->entry_hints += m->functions[f].hints != NULL;
        for (const bc_op *op = m->functions[f].body->first; op; op = bc_next_op(op, m->functions[f].body))
            count_op(t, op);
    }
}

static void came_up(unsigned n, const char *what)
{
    if (n) {
        passed++;
    } else {
        failed++;
        fprintf(stderr, "the generator never makes %s\n", what);
    }
}

static void check_tally(const tally *t)
{
    for (unsigned code = 0; code < OP_LIMIT; code++)
        if (bc_ops[code].name) /* no op is left out */
            came_up(t->ops[code], bc_ops[code].name);
    came_up(t->globals, "globals");
    came_up(t->debug, "debug information");
    came_up(t->call_sites, "call sites");
    came_up(t->entry_hints, "hints of entries");
    came_up(t->op_hints, "hints of ops");
    came_up(t->producers, "a producer");
}

/* ---- all ---- */

static void check_module(subject *s, tally *t)
{
    tv_module *made, *m;
    bc_text bytes;
    if (gen_module(&s->options, &made) != TV_OK) {
        check(s, false, "cannot be made");
        return;
    }
    check(s, write_module(s, made, &bytes), "cannot be written");
    tv_module_close(made);
    check_deterministic(s, &bytes);
    m = open_module(s, &bytes);
    check(s, m != NULL, "cannot be read");
    if (m) {
        check(s, verifies(s, m), "does not verify");
        check(s, same(m, m, &(compare_options){0}), "differs from itself");
        check_round_trip(s, m, &bytes);
        check_convert(s, m, &bytes, BC_NEWEST);
        bc_version lowest = BC_NEWEST;
        check(s, bc_lowest_version(m, &lowest) == TV_OK, "has no lowest version");
        check_convert(s, m, &bytes, lowest);
        check_strip(s, m, &bytes);
        check_expose(s, &bytes);
        check_compiles(s, m, "sm_80");
        check_compiles(s, m, "sm_90a");
        if (s->options.version == BC_NEWEST)
            count(t, m);
    }
    tv_module_close(m);
    bc_text_release(&bytes);
}

int main(int argc, char **argv)
{
    static tally t;
    unsigned seeds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    unsigned first = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    if (seeds == 0) {
        fprintf(stderr, "usage: property SEEDS [FIRST]\n");
        return 2;
    }
    for (unsigned version = BC_13_1; version <= BC_NEWEST; version++)
        for (unsigned seed = first; seed < first + seeds; seed++) {
            subject s = {.options = {.seed = seed,
                                     .version = (bc_version)version,
                                     .functions = 1 + seed % 3,
                                     .ops = 5 + seed % 50,
                                     .depth = 1 + seed % 4}};
            check_module(&s, &t);
        }
    if (seeds >= ENOUGH_SEEDS)
        check_tally(&t);
    printf("property: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
