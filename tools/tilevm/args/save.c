/* Results to files: all are written under temporary names before the first gets its own. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tilevm/args/args.h"

typedef struct target { /* one file */
    char *path;
    io_format format;
    cli_out out;
    bool open;
} target;

/* Path and member of "x.npz:member". */
static void split_path(tv_str text, tv_str *out_path, tv_str *out_member)
{
    *out_path = text;
    *out_member = (tv_str){text.ptr, 0};
    if (io_format_of(text.ptr, text.len) != IO_UNKNOWN)
        return;
    for (size_t i = text.len; i-- > 1;)
        if (text.ptr[i] == ':' && io_format_of(text.ptr, i) != IO_UNKNOWN) {
            *out_path = (tv_str){text.ptr, i};
            *out_member = (tv_str){text.ptr + i + 1, text.len - i - 1};
            return;
        }
}

/* Does save number i go to the same file as an earlier one? */
static bool seen_before(const arg_save *saves, size_t i)
{
    tv_str path, member, other;
    split_path(saves[i].path, &path, &member);
    for (size_t k = 0; k < i; k++) {
        split_path(saves[k].path, &other, &member);
        if (bc_str_eq(path, other))
            return true;
    }
    return false;
}

/* Is there a folder that the file can go to? */
static bool check_folder(tv_str path, io_error *error)
{
    char folder[PATH_MAX];
    size_t len = path.len;
    while (len > 0 && path.ptr[len - 1] != '/')
        len--;
    if (len + 2 > sizeof folder)
        return io_fail(error, "the name of the file is longer than %d bytes", PATH_MAX);
    snprintf(folder, sizeof folder, "%.*s", len ? (int)len : 1, len ? path.ptr : ".");
    return access(folder, W_OK | X_OK) == 0
           || io_fail(error, "%.*s: cannot write: %s", path.len < 200 ? (int)path.len : 200, path.ptr, cli_errno());
}

/* Is there a file that must stay? */
static bool check_file(tv_str path, io_error *error)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%.*s", (int)path.len, path.ptr); /* its length was looked at */
    const char *refusal = cli_out_refusal(name);
    return !refusal || io_fail(error, "%.200s: cannot write: %s", name, refusal);
}

/* Can save number i be written, in addition to those before it? */
static bool check_one(const arg_save *saves, size_t i, io_error *error)
{
    tv_str path, member, other_path, other;
    split_path(saves[i].path, &path, &member);
    io_format format = io_format_of(path.ptr, path.len);
    if (format == IO_UNKNOWN)
        return io_fail(error, "%.*s: files are saved as .npy, .npz, .safetensors or .bin",
                       path.len < 200 ? (int)path.len : 200, path.ptr);
    if (!check_folder(path, error) || !check_file(path, error))
        return false;
    if (!member.len)
        member = bc_str(saves[i].name);
    for (size_t k = 0; k < i; k++) {
        split_path(saves[k].path, &other_path, &other);
        if (!bc_str_eq(path, other_path))
            continue;
        if (format != IO_NPZ && format != IO_TENSORS)
            return io_fail(error, "%.*s: one file holds one array; for several take .npz or .safetensors",
                           path.len < 200 ? (int)path.len : 200, path.ptr);
        if (bc_str_eq(member, other.len ? other : bc_str(saves[k].name)))
            return io_fail(error, "%.*s: two arrays are named '%.*s'", path.len < 200 ? (int)path.len : 200, path.ptr,
                           member.len < 60 ? (int)member.len : 60, member.ptr);
    }
    return true;
}

bool arg_save_check(const arg_save *saves, size_t count, io_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!check_one(saves, i, error))
            return false;
    return true;
}

static bool write_arrays(target *t, const io_array *arrays, size_t count, io_error *error)
{
    switch (t->format) {
    case IO_NPY: return io_npy_write(&t->out, arrays, error);
    case IO_NPZ: return io_npz_write(&t->out, arrays, count, error);
    case IO_TENSORS: return io_tensors_write(&t->out, arrays, count, error);
    case IO_BIN:
    case IO_UNKNOWN: break;
    }
    cli_out_write(&t->out, arrays->data, arrays->size);
    return true;
}

/* Packs the arrays that go to the path, and writes them. */
static bool write_target(target *t, const arg_save *saves, size_t count, tv_str path, io_error *error)
{
    io_array *arrays = calloc(count, sizeof *arrays);
    char **keys = calloc(count, sizeof *keys);
    void **memory = calloc(count, sizeof *memory);
    size_t used = 0;
    bool good = (arrays && keys && memory) || io_fail(error, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        tv_str own, member;
        split_path(saves[i].path, &own, &member);
        if (!bc_str_eq(own, path))
            continue;
        const arg_array *a = saves[i].array;
        memory[used] = arg_array_packed(a);
        keys[used] = member.len ? strndup(member.ptr, member.len) : strdup(saves[i].name);
        good = (memory[used] && keys[used]) || io_fail(error, "out of memory");
        arrays[used] = (io_array){.key = keys[used],
                                  .dtype = a->dtype,
                                  .ndim = a->ndim,
                                  .shape = a->shape,
                                  .data = memory[used],
                                  .size = (size_t)a->count * a->item};
        used++;
    }
    good = good && write_arrays(t, arrays, used, error);
    for (size_t i = 0; i < used; i++) {
        free(keys[i]);
        free(memory[i]);
    }
    free(keys);
    free(memory);
    free(arrays);
    return good;
}

static bool prepare(target *t, const arg_save *saves, size_t count, size_t i, io_error *error)
{
    tv_str path, member;
    io_error inner;
    split_path(saves[i].path, &path, &member);
    t->format = io_format_of(path.ptr, path.len);
    t->path = strndup(path.ptr, path.len);
    if (!t->path)
        return io_fail(error, "out of memory");
    if (!cli_out_open(&t->out, t->path)) {
        error->text[0] = 0; /* it was said */
        return false;
    }
    t->open = true;
    return write_target(t, saves, count, path, &inner) || io_fail(error, "%s: %.400s", t->path, inner.text);
}

bool arg_save_all(const arg_save *saves, size_t count, io_error *error)
{
    target *targets = calloc(count ? count : 1, sizeof *targets);
    size_t used = 0;
    bool good = targets || io_fail(error, "out of memory");
    good = good && arg_save_check(saves, count, error);
    for (size_t i = 0; good && i < count; i++)
        if (!seen_before(saves, i))
            good = prepare(&targets[used++], saves, count, i, error);
    /* A full disk is noticed when the last bytes are flushed, which must happen before anything is renamed. */
    for (size_t i = 0; good && i < used; i++)
        if (fflush(targets[i].out.file) != 0 || targets[i].out.failed)
            good = io_fail(error, "%s: cannot write: %s", targets[i].path, cli_errno());
    for (size_t i = 0; i < used; i++) {
        if (targets[i].open && good) {
            good = cli_out_commit(&targets[i].out);
            error->text[0] = 0;
        } else if (targets[i].open) {
            cli_out_abort(&targets[i].out);
        }
        free(targets[i].path);
    }
    free(targets);
    return good;
}
