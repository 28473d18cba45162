/* Modules that the verifier accepts compile, for a target and with options that a hash of the file chooses: there is
   text, or the diagnostic says why not; and the text is the same when somebody listens to dumps and remarks. */
#include "tests/fuzz/body_mutator.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_TEXT = 64 << 20 };

static const char *const targets[] = {
#define TARGET(name, sm, suffix, ptx, shared_kib, threads, features) #name,
#include "codegen/targets.def"
};

/* FNV-1a. */
static uint32_t hash(const uint8_t *data, size_t size)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ data[i]) * 16777619u;
    return h ^ h >> 15;
}

/* Errors of one compilation. */
typedef struct listener {
    size_t sum, errors;
} listener;

static void report(void *user, const tv_diag *d)
{
    listener *l = user;
    l->errors += d->severity == TV_ERROR;
    fuzz_report(&l->sum, d);
}

static void add_text(size_t *sum, tv_str text)
{
    for (size_t i = 0; i < text.len; i++)
        *sum += (unsigned char)text.ptr[i];
}

static void hear_remark(void *user, const tv_remark *remark)
{
    listener *l = user;
    const tv_str strings[] = {remark->function, remark->op, remark->file, remark->message};
    FUZZ_CHECK(remark->kind < TV_REMARK_KIND_COUNT && remark->category[0] && remark->name[0]);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        add_text(&l->sum, strings[i]);
    for (size_t i = 0; i < remark->arg_count; i++) {
        add_text(&l->sum, remark->args[i].key);
        add_text(&l->sum, remark->args[i].value);
    }
}

static bool hear_dump(void *user, const void *bytes, size_t size)
{
    listener *l = user;
    add_text(&l->sum, (tv_str){bytes, size});
    return true;
}

static tv_status compile(const tv_module *m, const tv_compile_options *options, fuzz_bytes *out_text)
{
    listener l = {0};
    tv_compile_options heard = *options;
    if (options->dump_after) {
        heard.dump = (tv_writer){&l, hear_dump};
        heard.remarks = (tv_remark_sink){&l, hear_remark};
    }
    tv_status status = tv_compile_ptx(m, &heard, (tv_sink){&l, report}, (tv_writer){out_text, fuzz_append});
    FUZZ_CHECK(status == TV_OK || (status == TV_UNSUPPORTED && l.errors > 0));
    FUZZ_CHECK(status == TV_OK ? out_text->len > 0 && out_text->len <= MOST_TEXT : out_text->len == 0);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    tv_module *m;
    if (!fuzz_open(data, size, false, sink, &m))
        return 0;
    if (tv_module_verify(m, NULL, sink) == TV_OK) {
        uint32_t h = hash(data, size);
        tv_compile_options options = {.target = targets[h % (sizeof targets / sizeof *targets)],
                                      .opt_level = h >> 8 & 3,
                                      .line_info = h >> 10 & 1};
        fuzz_bytes first = {0}, second = {0};
        tv_status status = compile(m, &options, &first);
        options.dump_after = "all";
        FUZZ_CHECK(compile(m, &options, &second) == status);
        FUZZ_CHECK(first.len == second.len && (!first.len || memcmp(first.ptr, second.ptr, first.len) == 0));
        free(first.ptr);
        free(second.ptr);
    }
    tv_module_close(m);
    return 0;
}
