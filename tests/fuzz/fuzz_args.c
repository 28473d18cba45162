/* What users give to `tilevm run`. The first byte says what the rest is:
     n z t   a .npy, .npz or .safetensors file, read as an array of a type from the second byte
     j       a JSON file of arguments
     s       the text of an argument, for a type from the second byte; it may not name files
     g       a grid */
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/tilevm/args/args.h"

enum { LIMIT = 1 << 20 };

static char folder[64];

static void remove_folder(void)
{
    rmdir(folder);
}

/* A file with those bytes in a folder of our own; its path. */
static const char *write_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[128];
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/tilevm-fuzz-XXXXXX");
        FUZZ_CHECK(mkdtemp(folder));
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    FUZZ_CHECK(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
    return path;
}

static bool names_file(const arg_spec *spec)
{
    bool found = spec->form == ARG_FILE;
    for (size_t i = 0; i < spec->item_count; i++)
        found |= names_file(&spec->items[i]);
    return found;
}

static void make(bc_arena *arena, tv_str text, tv_dtype wanted, bool files)
{
    arg_budget budget = {.limit = LIMIT};
    arg_context context = {.arena = arena, .folder = files ? folder : NULL, .budget = &budget};
    io_error error = {.text = ""};
    arg_spec spec;
    if (!arg_spec_parse(arena, text, &spec, &error)) {
        FUZZ_CHECK(error.text[0] || arena->failed);
        return;
    }
    uint64_t bits;
    if (spec.form == ARG_NUMBER)
        arg_make_scalar(&spec, wanted, &bits, &error);
    if (!files && names_file(&spec))
        return;
    arg_array array = {0}, alias = {0};
    if (!arg_make_array(&context, &spec, wanted, 0, &array, &error)) {
        FUZZ_CHECK(error.text[0]);
        return;
    }
    int64_t offset;
    arg_summary summary;
    arg_array_summary(&array, &summary);
    FUZZ_CHECK(arg_array_guards(&array, &offset, &error));
    if (array.storage && arg_make_alias(&context, &spec, &array, &alias, &error)) {
        FUZZ_CHECK(arg_array_checksum(&alias) == arg_array_checksum(&alias));
        arg_array_free(&alias);
    }
    arg_array_free(&array);
}

static void read_array(bc_arena *arena, const char *name, const uint8_t *data, size_t size)
{
    tv_dtype wanted = size && data[0] < TV_DTYPE_COUNT ? (tv_dtype)data[0] : TV_DTYPE_COUNT;
    if (size) {
        const char *path = write_file(name, data + 1, size - 1);
        make(arena, bc_str(name), wanted, true);
        unlink(path);
    }
}

static void read_json(bc_arena *arena, const uint8_t *data, size_t size)
{
    const char *path = write_file("x.json", data, size);
    arg_file file;
    io_error error = {.text = ""};
    if (arg_file_read(arena, path, &file, &error)) {
        for (size_t i = 0; i < file.arg_count; i++)
            make(arena, file.args[i].text, TV_F32, false);
    } else {
        FUZZ_CHECK(error.text[0]);
    }
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bc_arena arena;
    bc_arena_init(&arena, NULL, FUZZ_MEMORY);
    tv_str rest = {(const char *)data + 1, size - 1};
    uint32_t grid[3];
    io_error error;
    switch (data[0]) {
    case 'n': read_array(&arena, "x.npy", data + 1, size - 1); break;
    case 'z': read_array(&arena, "x.npz", data + 1, size - 1); break;
    case 't': read_array(&arena, "x.safetensors", data + 1, size - 1); break;
    case 'j': read_json(&arena, data + 1, size - 1); break;
    case 's':
        if (rest.len)
            make(&arena, (tv_str){rest.ptr + 1, rest.len - 1}, (tv_dtype)((uint8_t)rest.ptr[0] % TV_DTYPE_COUNT),
                 false);
        break;
    case 'g': arg_parse_grid(rest, grid, &error); break;
    }
    bc_arena_release(&arena);
    return 0;
}
