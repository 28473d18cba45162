/* Files of `tilevm tune` and `tilevm bench`. The first byte says what the rest is: a space of variants, or the results
   of an earlier run. Either is refused with a reason, or has no more than the limits allow. */
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/tilevm/bench/tune.h"

static void read_space(const char *path)
{
    run_job job = {.options = {.grid = {4, 1, 1}}};
    io_error error = {{0}};
    bc_arena arena;
    tune_space space;
    bc_arena_init(&arena, NULL, 0);
    bool good = tune_space_read(&job, path, &arena, &space, &error);
    FUZZ_CHECK(good || error.text[0]);
    FUZZ_CHECK(!good || (space.count >= 1 && space.count <= TUNE_MOST_VARIANTS));
    for (size_t i = 0; good && i < space.count; i++) {
        const tune_variant *v = &space.variants[i];
        bc_text text;
        bc_text_init(&text, NULL);
        tune_variant_print(v, &text);
        FUZZ_CHECK(text.failed || text.len);
        FUZZ_CHECK(v->grid[0] && v->grid[1] && v->grid[2] && !v->name == !v->path);
        bc_text_release(&text);
    }
    bc_arena_release(&arena);
}

static void read_saved(const char *path)
{
    io_error error = {{0}};
    bc_arena arena;
    bench_saved saved;
    bc_arena_init(&arena, NULL, 0);
    bool good = bench_saved_read(path, &arena, &saved, &error);
    FUZZ_CHECK(good || error.text[0]);
    for (size_t i = 0; good && i < saved.count; i++) {
        const bench_saved_subject *s = &saved.subjects[i];
        bench_ratio ratio;
        FUZZ_CHECK(s->name && s->count);
        if (s->count <= 50)
            FUZZ_CHECK(bench_compare(s->samples, s->count, s->samples, s->count, false, 1, &ratio));
    }
    bc_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/tilevm-fuzz-XXXXXX";
    if (!size)
        return 0;
    int fd = mkstemp(path);
    FUZZ_CHECK(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    close(fd);
    if (data[0] == 'b')
        read_saved(path);
    else
        read_space(path);
    unlink(path);
    return 0;
}
