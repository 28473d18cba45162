/* Programs that are too deep, too wide or too long for a text in a file: each is refused with a finding, or verifies,
   is printed, written, read back and runs; nothing grows without end. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

enum { MEMORY = 256 << 20 };

/* ---- an allocator that counts ---- */

typedef struct counted {
    size_t held, most;
} counted;

static void *take(void *user, size_t size)
{
    counted *h = user;
    if (size > MEMORY - h->held)
        return NULL;
    h->held += size;
    if (h->held > h->most)
        h->most = h->held;
    return malloc(size ? size : 1);
}

static void give(void *user, void *memory, size_t size)
{
    ((counted *)user)->held -= size;
    free(memory);
}

/* ---- one program ---- */

static void count(void *user, const tv_diag *diag)
{
    *(unsigned *)user += diag->severity == TV_ERROR;
}

typedef struct ending {
    tv_status parsed, verified, ran;
    unsigned errors;
} ending;

static tv_status run(const tv_module *module, const tv_allocator *allocator, tv_sink sink)
{
    const tv_vm_options options = {.allocator = allocator, .threads = 1, .memory_limit = MEMORY, .step_limit = 1 << 20};
    const uint32_t grid[3] = {1, 1, 1};
    const int32_t n = 1;
    const void *const params[1] = {&n};
    tv_vm *vm;
    tv_status status = tv_vm_new(module, &options, sink, &vm);
    if (status != TV_OK)
        return status;
    status = tv_vm_run(vm, "k", grid, params, 1, sink);
    tv_vm_free(vm);
    return status;
}

/* Prints it, writes it, and reads what was written. */
static void round_trip(const tv_module *module, const tv_allocator *allocator, tv_sink sink)
{
    bc_text text, bytes;
    tv_module *again;
    const tv_open_options options = {.allocator = allocator};
    bc_text_init(&text, NULL);
    bc_text_init(&bytes, NULL);
    CHECK(tv_module_print(module, NULL, (tv_writer){.user = &text, .write = bc_text_append}) == TV_OK);
    CHECK(tv_module_write(module, sink, (tv_writer){.user = &bytes, .write = bc_text_append}) == TV_OK);
    tv_status status = tv_module_open(bytes.ptr, bytes.len, &options, sink, &again);
    CHECK(status == TV_OK);
    if (status == TV_OK)
        tv_module_close(again);
    bc_text_release(&text);
    bc_text_release(&bytes);
}

static ending try(const bc_text *text)
{
    counted heap = {0};
    const tv_allocator allocator = {.user = &heap, .alloc = take, .release = give};
    const tv_open_options options = {.allocator = &allocator};
    ending e = {.verified = TV_INVALID, .ran = TV_INVALID};
    const tv_sink sink = {.user = &e.errors, .report = count};
    tv_module *module;
    CHECK(!text->failed);
    e.parsed = tv_module_parse(text->ptr, text->len, 0, &options, sink, &module);
    if (e.parsed == TV_OK) {
        e.verified = tv_module_verify(module, NULL, sink);
        if (e.verified == TV_OK) {
            round_trip(module, &allocator, sink);
            e.ran = run(module, &allocator, sink);
        }
        tv_module_close(module);
    }
    CHECK(e.ran == TV_OK || e.ran == TV_NO_MEMORY || e.errors > 0); /* a status of its own needs no report */
    CHECK(heap.held == 0);
    return e;
}

/* ---- programs ---- */

static const char *const start = "entry @k(%n: tile<i32>) {\n"
                                 "%yes = constant <i1: 1> : tile<i1>\n"
                                 "%one = constant <i32: 1> : tile<i32>\n"
                                 "%two = constant <i32: 2> : tile<i32>\n";

/* The line `count` times; `$=` in it stands for which time it is. */
static void add_lines(bc_text *out, const char *line, unsigned count)
{
    for (unsigned i = 1; i <= count; i++)
        for (const char *p = line; *p; p++) {
            if (p[0] == '$' && p[1] == '=')
                bc_text_printf(out, "%u", i), p++;
            else
                bc_text_char(out, *p);
        }
}

static ending nested(const char *open, const char *close, unsigned depth)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_puts(&text, start);
    add_lines(&text, open, depth);
    add_lines(&text, close, depth);
    bc_text_puts(&text, "return }\n");
    ending e = try(&text);
    bc_text_release(&text);
    return e;
}

static void check_nesting(void)
{
    static const char *const pairs[][2] = {
        {"if %yes {\n", "}\n"},
        {"for %i$= in (%one to %two, step %one) : tile<i32> {\n", "continue }\n"},
        {"loop {\n", "break }\n"},
        {"if %yes { loop {\n", "break } }\n"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        CHECK(nested(pairs[i][0], pairs[i][1], 1).ran == TV_OK);
        ending deep = nested(pairs[i][0], pairs[i][1], 90);
        CHECK_MSG(deep.ran == TV_OK, "%s: %d %d %d", pairs[i][0], deep.parsed, deep.verified, deep.ran);
        CHECK(nested(pairs[i][0], pairs[i][1], 1000).parsed == TV_INVALID);
        CHECK(nested(pairs[i][0], pairs[i][1], 200000).parsed == TV_INVALID);
    }
}

static ending repeated(const char *line, unsigned count)
{
    return nested(line, "", count);
}

static void check_length(void)
{
    /* a chain as long as it gets, values that all live to the end, loops one after the other */
    CHECK(repeated("%v$= = addi %n, %n : tile<i32>\n", 20000).ran == TV_OK);
    CHECK(repeated("%v$= = constant <i32: 1> : tile<1024xi32>\n", 5000).ran == TV_OK);
    CHECK(repeated("for %i$= in (%one to %two, step %one) : tile<i32> { continue }\n", 5000).ran == TV_OK);
    CHECK(repeated("%t$= = make_token : token\n", 20000).ran == TV_OK);
    CHECK(repeated("%b$=, %c$=, %d$= = get_tile_block_id : tile<i32>\n", 5000).ran == TV_OK);
}

/* Tiles of the largest size, each made from the two before it, so that they cannot be thrown away. */
static void check_width(void)
{
    ending e = repeated("%v$= = iota : tile<16777216xi32>\n%w$= = addi %v$=, %v$= : tile<16777216xi32>\n"
                        "print_tko \"%i\", %w$= : tile<16777216xi32> -> token\n",
                        1);
    CHECK(e.verified == TV_OK);
    CHECK(e.ran == TV_OK || e.ran == TV_NO_MEMORY);
    e = repeated("%v$= = iota : tile<33554432xi32>\n", 1);
    CHECK(e.parsed == TV_INVALID || e.verified == TV_INVALID);
}

/* Names, types and strings of a MiB. */
static void check_names(void)
{
    static const struct {
        const char *before, *after;
        char c;
    } cases[] = {
        {"entry @", "(%n: tile<i32>) { return }", 'k'},
        {"entry @k(%", ": tile<i32>) { return }", 'n'},
        {"entry @k(%n: tile<i32>) { print_tko \"", "\" -> token return }", 'x'},
        {"entry @k(%n: tile<i32>) { print_tko \"", "\" -> token return }", '%'},
        {"entry @k(%n: tile<", "i32>) { return }", '('},
        {"entry @k(%n: tile<1", "xi32>) { return }", '0'},
        {"entry @k(%n: tile<i32>) { %a = constant <i32: 1", "> : tile<i32> return }", '1'},
        {"entry @k(%n: tile<i32>) { %a = constant <f64: 1.", "> : tile<f64> return }", '9'},
        {"entry @k(%n: tile<i32>) { %a = constant <i32: ", "> : tile<i32> return }", '['},
        {"", "", '{'},
        {"/", "", '*'},
        {"", "", '\n'},
    };
    enum { LENGTH = 1 << 20 };
    char *run_of = malloc(LENGTH);
    CHECK(run_of != NULL);
    for (size_t i = 0; run_of && i < sizeof cases / sizeof cases[0]; i++) {
        bc_text text;
        bc_text_init(&text, NULL);
        memset(run_of, cases[i].c, LENGTH);
        bc_text_puts(&text, cases[i].before);
        bc_text_bytes(&text, run_of, LENGTH);
        bc_text_puts(&text, cases[i].after);
        try(&text);
        bc_text_release(&text);
    }
    free(run_of);
}

int main(void)
{
    check_nesting();
    check_length();
    check_width();
    check_names();
    return TEST_END("hostile");
}
