/* random_memory KERNELS TARGET,... [FIRST [gpu] [products | pairs | chains]]: random kernels whose accesses to memory
   meet or, with `products`, that multiply matrices, with `pairs`, most of them in pairs of thread blocks, or with
   `chains`, multiply their products again, most of them in such pairs, too (tests/random/kernel.h), on the virtual
   machine and, compiled for each target, on the PTX simulator or a GPU, for seeds from FIRST (1) on.

   What the machine's checks find something in is left out, as its results are not defined: races, accesses that no
   token orders, indices outside a view. The others must compile, and leave the same memory on both sides.

   RANDOM_MEMORY_KEEP=FOLDER keeps the kernels that fail, as text; RANDOM_MEMORY_SHOW=1 says why kernels are left out;
   RANDOM_MEMORY_STOP=1 ends at the first that fails; RANDOM_MEMORY_TEXT=1 prints the kernel of FIRST and does nothing
   else; RANDOM_MEMORY_COMPILER=TILEVM has that command compile, an earlier one, say, in place of the library.
   RANDOM_MEMORY_WRITE=FILE runs nothing and writes the sum of each kernel's PTX for the first target;
   RANDOM_MEMORY_KNOWN=FILE runs only those whose sum is another one now (tests/random/sums.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files.h"
#include "tests/common/gpu.h"
#include "tests/common/process.h"
#include "tests/random/kernel.h"
#include "tests/random/sums.h"

enum { STEPS = 200000, WHAT = 2000, MOST_TARGETS = 8, TARGET = 16, COMPILER_SECONDS = 60 };

typedef void draw_kernel(uint64_t seed, random_kernel *out);

typedef struct tally {
    trial_device device;
    draw_kernel *draw;
    char targets[MOST_TARGETS][TARGET];
    unsigned target_count;
    char *compiler;  /* NULL: the library */
    char folder[40]; /* for its files */
    sums sums;
    unsigned long passed, failed, skipped;
    /* compiled here: in pairs of thread blocks, and of these, with a warp that starts the products of a chain */
    unsigned long pairs, issuers;
} tally;

static void fail(uint64_t seed, const random_kernel *k, const char *target, const char *what)
{
    char path[600];
    fprintf(stderr, "seed %" PRIu64 " for %s: %s\n", seed, target, what);
    const char *folder = getenv("RANDOM_MEMORY_KEEP");
    if (folder && (size_t)snprintf(path, sizeof path, "%s/%" PRIu64 ".tileir", folder, seed) < sizeof path
        && !files_write(path, k->text.ptr, k->text.len))
        perror(path);
}

/* ---- compiling ---- */

static bool compile_here(tally *t, const char *target, uint64_t seed, const tv_module *m, bc_text *out, char what[WHAT])
{
    trial_pairs found = {0};
    const tv_compile_options options = {.target = target,
                                        .opt_level = TV_OPT_LEVEL((unsigned)(seed % 4)),
                                        .remarks = {&found, trial_note_pairs},
                                        .verify_each = true};
    trial_finding f = {0};
    bool fine = tv_compile_ptx(m, &options, (tv_sink){&f, trial_note}, (tv_writer){out, bc_text_append}) == TV_OK;
    t->pairs += found.pair;
    t->issuers += found.pair && found.issuer;
    if (!fine)
        snprintf(what, WHAT, "%s", f.text);
    return fine;
}

static char *path_in(const tally *t, const char *name, char out[64])
{
    snprintf(out, 64, "%s/%s", t->folder, name);
    return out;
}

/* By the command that is to compile. */
static bool compile_there(const tally *t, const char *target, uint64_t seed, const random_kernel *k, bc_text *out,
                          char what[WHAT])
{
    char level[4], text[64], bytes[64], ptx[64], to[TARGET];
    process_result result;
    snprintf(level, sizeof level, "-O%u", (unsigned)(seed % 4));
    snprintf(to, sizeof to, "%s", target);
    char *const asm_it[] = {t->compiler, "asm", path_in(t, "k.tileir", text), "-o", path_in(t, "k.tbc", bytes), NULL};
    char *const compile[] = {t->compiler, "compile", bytes, "--target", to, level, "-o", path_in(t, "k.ptx", ptx),
                             NULL};
    char *const *const commands[] = {asm_it, compile};
    size_t size;
    bool fine = files_write(text, k->text.ptr, k->text.len);
    snprintf(what, WHAT, "%s cannot be run", t->compiler);
    for (unsigned i = 0; i < 2 && fine; i++) {
        fine = process_run(t->folder, commands[i], NULL, COMPILER_SECONDS, &result);
        if (!fine)
            break;
        fine = result.exit_code == 0;
        snprintf(what, WHAT, "%s", result.err);
        process_release(&result);
    }
    char *words = fine ? files_read(ptx, &size) : NULL;
    if (words)
        bc_text_append(out, words, size);
    free(words);
    return words != NULL;
}

static bool compile(tally *t, const char *target, uint64_t seed, const random_kernel *k, const tv_module *m,
                    bc_text *out, char what[WHAT])
{
    return t->compiler ? compile_there(t, target, seed, k, out, what) : compile_here(t, target, seed, m, out, what);
}

/* ---- a kernel ---- */

/* Of its PTX for the first target; 0: it does not compile. */
static uint64_t sum_of(tally *t, uint64_t seed, const random_kernel *k, const tv_module *m)
{
    char what[WHAT];
    bc_text text;
    bc_text_init(&text, NULL);
    uint64_t sum = compile(t, t->targets[0], seed, k, m, &text, what) ? sums_of(&text) : 0;
    bc_text_release(&text);
    return sum;
}

/* The kernel compiled and run on `other`, beside what the machine left in `vm`. */
static bool same(tally *t, const char *target, uint64_t seed, const random_kernel *k, const tv_module *m,
                 trial_memory *vm, trial_memory *other, char what[WHAT])
{
    const trial_log none[2] = {{0}, {0}};
    bc_text text;
    bc_text_init(&text, NULL);
    bool fine = compile(t, target, seed, k, m, &text, what)
                && trial_run_ptx(t->device, &text, bc_str("k"), vm, other, none, seed, what, WHAT)
                && trial_same_memory(vm, other, what, WHAT);
    bc_text_release(&text);
    return fine;
}

/* The same for every target? */
static bool all_same(tally *t, uint64_t seed, const random_kernel *k, const tv_module *m, trial_memory *vm,
                     const trial_memory *before)
{
    bool fine = true;
    trial_memory other;
    char what[WHAT];
    for (unsigned i = 0; i < t->target_count; i++) {
        trial_clone(before, &other);
        if (!same(t, t->targets[i], seed, k, m, vm, &other, what)) {
            fail(seed, k, t->targets[i], what);
            fine = false;
        }
        trial_free(&other);
    }
    return fine;
}

static void skip(tally *t, uint64_t seed, const char *why)
{
    t->skipped++;
    if (getenv("RANDOM_MEMORY_SHOW"))
        printf("seed %" PRIu64 ": %s\n", seed, why);
}
static void run_kernel(uint64_t seed, const random_kernel *k, const tv_module *m, tally *t)
{
    trial_memory vm, before;
    trial_finding f = {0};
    random_kernel_memory(k, &vm);
    trial_clone(&vm, &before);
    if (trial_run_machine(m, &vm, (trial_log){0}, STEPS, TV_CHECK_ALL, &f) != TV_OK || f.found)
        skip(t, seed, f.text);
    else if (all_same(t, seed, k, m, &vm, &before))
        t->passed++;
    else
        t->failed++;
    trial_free(&before);
    trial_free(&vm);
}

static void run_seed(uint64_t seed, tally *t)
{
    random_kernel k;
    trial_finding f = {0};
    tv_sink sink = {&f, trial_note};
    tv_module *m = NULL;
    t->draw(seed, &k);
    if (tv_module_parse(k.text.ptr, k.text.len, 0, NULL, sink, &m) != TV_OK
        || tv_module_verify(m, NULL, sink) != TV_OK) {
        fail(seed, &k, "every target", f.text);
        t->failed++;
    } else if (t->sums.out) {
        sums_write(&t->sums, seed, sum_of(t, seed, &k, m));
    } else if (sums_known(&t->sums, seed) && sum_of(t, seed, &k, m) == sums_known(&t->sums, seed)) {
        t->passed++;
    } else {
        run_kernel(seed, &k, m, t);
    }
    tv_module_close(m);
    bc_text_release(&k.text);
}

/* ---- the command ---- */

/* "sm_80,sm_90a"; false: too many, or a name that is too long. */
static bool read_targets(const char *words, tally *t)
{
    for (size_t length; *words; words += length + (words[length] == ',')) {
        length = strcspn(words, ",");
        if (t->target_count == MOST_TARGETS || length == 0 || length >= TARGET)
            return false;
        snprintf(t->targets[t->target_count++], TARGET, "%.*s", (int)length, words);
    }
    return t->target_count > 0;
}

static void print_kernel(draw_kernel *draw, uint64_t seed)
{
    random_kernel k;
    draw(seed, &k);
    printf("// grid %u\n%s", (unsigned)k.grid, bc_text_words(&k.text));
    bc_text_release(&k.text);
}

static bool open_sums(sums *s, uint64_t first, uint64_t seeds)
{
    const char *path = getenv("RANDOM_MEMORY_WRITE");
    if (path && !(s->out = fopen(path, "w")))
        return false;
    return sums_read(s, getenv("RANDOM_MEMORY_KNOWN"), first, seeds);
}

static bool open_compiler(tally *t)
{
    t->compiler = getenv("RANDOM_MEMORY_COMPILER");
    snprintf(t->folder, sizeof t->folder, "/tmp/random_memory-XXXXXX");
    return !t->compiler || mkdtemp(t->folder);
}

/* Empties and removes the folder of the compiler's files. */
static void close_compiler(const tally *t)
{
    static const char *const files[] = {"k.tileir", "k.tbc", "k.ptx", ".stdout", ".stderr"};
    char path[64];
    for (unsigned i = 0; t->compiler && i < sizeof files / sizeof *files; i++)
        remove(path_in(t, files[i], path));
    if (t->compiler)
        remove(t->folder);
}

/* One of the words after FIRST? */
static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 4; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    bool chains = has_word(argc, argv, "chains"), pairs = has_word(argc, argv, "pairs");
    tally t = {.device = has_word(argc, argv, "gpu") ? TRIAL_GPU : TRIAL_PTXSIM,
               .draw = chains                             ? random_chain_draw
                       : pairs                            ? random_pair_draw
                       : has_word(argc, argv, "products") ? random_product_draw
                                                          : random_kernel_draw};
    if (seeds == 0 || !read_targets(argv[2], &t)) {
        fprintf(stderr, "usage: random_memory KERNELS TARGET,... [FIRST [gpu] [products | pairs | chains]]\n");
        return 2;
    }
    if (getenv("RANDOM_MEMORY_TEXT")) {
        print_kernel(t.draw, first);
        return 0;
    }
    if (t.device == TRIAL_GPU && !gpu_open()) {
        printf("random memory %s: skipped, %s\n", argv[2], gpu_error());
        return 0;
    }
    if (!open_sums(&t.sums, first, seeds) || !open_compiler(&t)) {
        perror("random_memory");
        return 2;
    }
    for (uint64_t i = 0; i < seeds && !(t.failed && getenv("RANDOM_MEMORY_STOP")); i++)
        run_seed(first + i, &t);
    close_compiler(&t);
    sums_close(&t.sums);
    if (chains)
        printf("random chains: %lu in pairs of thread blocks, %lu of them with an issuer\n", t.pairs, t.issuers);
    if (pairs)
        printf("random pairs: %lu in pairs of thread blocks\n", t.pairs);
    if (getenv("RANDOM_MEMORY_WRITE"))
        printf("random memory %s: %" PRIu64 " sums\n", argv[2], seeds);
    else
        printf("random memory %s: %lu passed, %lu failed, %lu left out\n", argv[2], t.passed, t.failed, t.skipped);
    return t.failed != 0;
}
