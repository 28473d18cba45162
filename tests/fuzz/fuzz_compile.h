/* Shared by the fuzz targets that compile: what must hold of PTX, whatever the module was. */
#ifndef TILEVM_TESTS_FUZZ_FUZZ_COMPILE_H
#define TILEVM_TESTS_FUZZ_FUZZ_COMPILE_H

#include "bytecode/module.h"
#include "tests/fuzz/fuzz.h"

enum { FUZZ_MOST_PTX = 64 << 20 };

/* Printable lines, and as many entries as the module has kernels: no string of the module has become code. */
static inline void fuzz_check_ptx(const tv_module *m, const fuzz_bytes *text)
{
    static const char entry[] = ".entry ", visible[] = "\n.visible .entry ";
    size_t kernels = 0, entries = 0, at_starts = 0;
    FUZZ_CHECK(text->len > 0 && text->len <= FUZZ_MOST_PTX);
    for (size_t i = 0; i < text->len; i++)
        FUZZ_CHECK(text->ptr[i] == '\n' || text->ptr[i] == '\t' || (text->ptr[i] >= ' ' && text->ptr[i] <= '~'));
    for (const char *p = text->ptr; (p = strstr(p, visible)); p += sizeof visible - 1)
        at_starts++;
    for (const char *line = text->ptr; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, "\n"), code = strcspn(line, "\n\"/"); /* before a string or a comment */
        for (size_t i = 0; i + sizeof entry - 1 <= code; i++)
            entries += memcmp(line + i, entry, sizeof entry - 1) == 0;
        FUZZ_CHECK(strncmp(line, ".file ", 6) != 0 || (line[length - 1] == '"' && line + code != line + length - 1));
    }
    for (size_t i = 0; i < m->function_count; i++)
        kernels += (m->functions[i].flags & BC_FUNC_KERNEL) != 0;
    FUZZ_CHECK(entries == kernels && at_starts == kernels);
}

/* Errors of one compilation. */
typedef struct fuzz_listener {
    size_t sum, errors;
} fuzz_listener;

static inline void fuzz_add_text(size_t *sum, tv_str text)
{
    for (size_t i = 0; i < text.len; i++)
        *sum += (unsigned char)text.ptr[i];
}

static inline void fuzz_hear_error(void *user, const tv_diag *d)
{
    fuzz_listener *l = user;
    l->errors += d->severity == TV_ERROR;
    fuzz_report(&l->sum, d);
}

static inline void fuzz_hear_remark(void *user, const tv_remark *remark)
{
    fuzz_listener *l = user;
    const tv_str strings[] = {remark->function, remark->op, remark->file, remark->message};
    FUZZ_CHECK(remark->kind < TV_REMARK_KIND_COUNT && remark->category[0] && remark->name[0]);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        fuzz_add_text(&l->sum, strings[i]);
    for (size_t i = 0; i < remark->arg_count; i++) {
        fuzz_add_text(&l->sum, remark->args[i].key);
        fuzz_add_text(&l->sum, remark->args[i].value);
    }
}

static inline bool fuzz_hear_dump(void *user, const void *bytes, size_t size)
{
    fuzz_listener *l = user;
    fuzz_add_text(&l->sum, (tv_str){bytes, size});
    return true;
}

/* A verified module compiles, or a diagnostic says why not. With dump_after somebody listens to dumps and remarks. */
static inline tv_status fuzz_compile(const tv_module *m, const tv_compile_options *options, fuzz_bytes *out_text)
{
    fuzz_listener l = {0};
    tv_compile_options heard = *options;
    heard.verify_each = true;
    if (options->dump_after) {
        heard.dump = (tv_writer){&l, fuzz_hear_dump};
        heard.remarks = (tv_remark_sink){&l, fuzz_hear_remark};
    }
    tv_status status = tv_compile_ptx(m, &heard, (tv_sink){&l, fuzz_hear_error}, (tv_writer){out_text, fuzz_append});
    FUZZ_CHECK(status == TV_OK || (status == TV_UNSUPPORTED && l.errors > 0 && out_text->len == 0));
    if (status == TV_OK)
        fuzz_check_ptx(m, out_text);
    return status;
}

#endif
