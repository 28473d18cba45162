/* random_memory KERNELS TARGET [FIRST [gpu]]: random kernels whose accesses to memory meet (tests/random/kernel.h), on
   the virtual machine and, compiled, on the PTX simulator or a GPU, for seeds from FIRST (1) on.

   What the machine's checks find something in is left out, as its results are not defined: races, accesses that no
   token orders, indices outside a view. The others must compile, and leave the same memory on both sides.

   RANDOM_MEMORY_KEEP=FOLDER keeps the kernels that fail, as text; RANDOM_MEMORY_SHOW=1 says why kernels are left out;
   RANDOM_MEMORY_STOP=1 ends at the first that fails; RANDOM_MEMORY_TEXT=1 prints the kernel of FIRST and does nothing
   else. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files.h"
#include "tests/common/gpu.h"
#include "tests/random/kernel.h"

enum { STEPS = 200000, WHAT = 2000 };

typedef struct tally {
    trial_device device;
    const char *target;
    unsigned long passed, failed, skipped;
} tally;

static void fail(tally *t, uint64_t seed, const random_kernel *k, const char *what)
{
    char path[600];
    t->failed++;
    fprintf(stderr, "seed %" PRIu64 " for %s: %s\n", seed, t->target, what);
    const char *folder = getenv("RANDOM_MEMORY_KEEP");
    if (folder && (size_t)snprintf(path, sizeof path, "%s/%" PRIu64 ".tileir", folder, seed) < sizeof path
        && !files_write(path, k->text.ptr, k->text.len))
        perror(path);
}

static void skip(tally *t, uint64_t seed, const char *why)
{
    t->skipped++;
    if (getenv("RANDOM_MEMORY_SHOW"))
        printf("seed %" PRIu64 ": %s\n", seed, why);
}

/* The kernel compiled and run on `other`, beside what the machine left in `vm`. */
static bool same(const tally *t, uint64_t seed, const tv_module *m, trial_memory *vm, trial_memory *other,
                 char what[WHAT])
{
    const tv_compile_options options = {.target = t->target,
                                        .opt_level = TV_OPT_LEVEL((unsigned)(seed % 4)),
                                        .verify_each = true};
    const trial_log none[2] = {{0}, {0}};
    trial_finding f = {0};
    bc_text text;
    bc_text_init(&text, NULL);
    bool fine = tv_compile_ptx(m, &options, (tv_sink){&f, trial_note}, (tv_writer){&text, bc_text_append}) == TV_OK;
    if (!fine)
        snprintf(what, WHAT, "%s", f.text);
    fine = fine && trial_run_ptx(t->device, &text, bc_str("k"), vm, other, none, seed, what, WHAT)
           && trial_same_memory(vm, other, what, WHAT);
    bc_text_release(&text);
    return fine;
}

static void run_seed(uint64_t seed, tally *t)
{
    random_kernel k;
    trial_memory vm, other;
    trial_finding f = {0};
    tv_sink sink = {&f, trial_note};
    tv_module *m = NULL;
    char what[WHAT];
    random_kernel_draw(seed, &k);
    if (tv_module_parse(k.text.ptr, k.text.len, 0, NULL, sink, &m) != TV_OK
        || tv_module_verify(m, NULL, sink) != TV_OK) {
        fail(t, seed, &k, f.text);
    } else {
        random_kernel_memory(&k, &vm);
        if (trial_run_machine(m, &vm, (trial_log){0}, STEPS, TV_CHECK_ALL, &f) != TV_OK || f.found) {
            skip(t, seed, f.text);
        } else {
            random_kernel_memory(&k, &other);
            if (same(t, seed, m, &vm, &other, what))
                t->passed++;
            else
                fail(t, seed, &k, what);
            trial_free(&other);
        }
        trial_free(&vm);
    }
    tv_module_close(m);
    bc_text_release(&k.text);
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    tally t = {.device = argc > 4 && strcmp(argv[4], "gpu") == 0 ? TRIAL_GPU : TRIAL_PTXSIM,
               .target = argc > 2 ? argv[2] : ""};
    if (seeds == 0) {
        fprintf(stderr, "usage: random_memory KERNELS TARGET [FIRST [gpu]]\n");
        return 2;
    }
    if (getenv("RANDOM_MEMORY_TEXT")) {
        random_kernel k;
        random_kernel_draw(first, &k);
        printf("// grid %u\n%s", (unsigned)k.grid, bc_text_words(&k.text));
        bc_text_release(&k.text);
        return 0;
    }
    if (t.device == TRIAL_GPU && !gpu_open()) {
        printf("random memory %s: skipped, %s\n", t.target, gpu_error());
        return 0;
    }
    for (uint64_t i = 0; i < seeds && !(t.failed && getenv("RANDOM_MEMORY_STOP")); i++)
        run_seed(first + i, &t);
    printf("random memory %s: %lu passed, %lu failed, %lu left out\n", t.target, t.passed, t.failed, t.skipped);
    return t.failed != 0;
}
