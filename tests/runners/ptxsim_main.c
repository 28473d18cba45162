/* ptxsim FILE.ptx: runs a kernel on the simulator, by hand. Without --grid it lists the entries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/number/fast.h"
#include "tests/common/files.h"
#include "tests/ptxsim/ptxsim.h"

static const char usage[] =
    "usage: ptxsim FILE.ptx [--entry NAME] [--grid X[,Y[,Z]]] [--block X[,Y[,Z]]] [--shared BYTES] [--seed N] [--seeds "
    "N]\n"
    "              [--cluster X] [--steps N] [--triton] [ARGUMENT...]\n"
    "Loads the file and runs one kernel; without --grid, lists the kernels. One ARGUMENT per parameter:\n"
    "  u32:7 s64:-3 f32:0.5 f64:1e9   a number (u8 to u64, s8 to s64, f32, f64)\n"
    "  zero:4096  iota:4096           a buffer of so many bytes: zeros; 32-bit numbers 0, 1, 2, ...\n"
    "  random:4096                    ... random f32 in [-1, 1)\n"
    "  file:PATH                      a buffer with what the file holds\n"
    "  inout:PATH                     the same; the file gets what the kernel leaves in it\n"
    "  map:PATH:TYPE:SWIZZLE:EXTENT,STRIDE,BOX:...   a tensor map of such a buffer, as numbers of "
    "cuTensorMapEncodeTiled;\n"
    "                                 for each dimension, from the last one on; STRIDE: bytes\n"
    "A buffer followed by :f32, :u32 or :s32 has its first 16 elements printed at the end (zero:64:u32). --seeds N "
    "runs N\n"
    "seeds, each with the memory of the one before. --triton takes the text as Triton means it (ptxsim_as_triton). "
    "Exit status: 0 no reports, 1 reports, 2 cannot run.\n";

typedef struct argument {
    uint64_t bits;        /* what the parameter holds */
    unsigned char *bytes; /* of a buffer */
    size_t size;
    const char *print; /* type to print it as, or NULL */
    const char *path;  /* of the file that it is written to, or NULL */
    ptxsim_tensor map; /* rank 0: none */
    uint8_t map_bytes[128];
} argument;

enum { MAX_ARGUMENTS = 64 };

static bool parse_extents(const char *text, uint32_t out[3])
{
    char *end;
    out[0] = out[1] = out[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        out[i] = (uint32_t)strtoul(text, &end, 0);
        if (end == text || (*end && *end != ','))
            return false;
        if (!*end)
            return true;
        text = end + 1;
    }
    return false;
}

static void fill(argument *a, const char *how)
{
    uint32_t state = 1;
    for (size_t i = 0; i + 4 <= a->size; i += 4) {
        state = state * 1664525u + 1013904223u;
        uint32_t bits = strcmp(how, "iota") == 0 ? (uint32_t)(i / 4)
                                                 : bc_f32_bits((float)(state >> 8) * 0x1p-23f - 1.0f);
        if (strcmp(how, "zero") != 0)
            memcpy(a->bytes + i, &bits, 4);
    }
}

/* PATH:TYPE:SWIZZLE:EXTENT,STRIDE,BOX:... */
static bool parse_map(char *text, argument *a)
{
    char *next = strchr(text, ':');
    if (!next)
        return false;
    *next++ = '\0';
    a->path = text;
    a->bytes = (unsigned char *)files_read(text, &a->size);
    a->map.type = (uint8_t)strtoul(next, &next, 10);
    if (*next++ != ':')
        return false;
    a->map.swizzle = (uint8_t)strtoul(next, &next, 10);
    for (; *next == ':' && a->map.rank < 5; a->map.rank++) {
        a->map.extent[a->map.rank] = (uint32_t)strtoul(next + 1, &next, 10);
        uint64_t stride = *next == ',' ? strtoull(next + 1, &next, 10) : 0;
        if (a->map.rank)
            a->map.stride[a->map.rank - 1] = stride;
        a->map.box[a->map.rank] = *next == ',' ? (uint32_t)strtoul(next + 1, &next, 10) : 0;
    }
    return a->bytes && a->map.rank && !*next;
}

static bool parse_argument(char *text, argument *a)
{
    char *value = strchr(text, ':');
    if (!value)
        return false;
    *value++ = '\0';
    if (strcmp(text, "map") == 0)
        return parse_map(value, a);
    char *print = strrchr(value, ':');
    if (print && (strcmp(print, ":f32") == 0 || strcmp(print, ":u32") == 0 || strcmp(print, ":s32") == 0)) {
        *print = '\0';
        a->print = print + 1;
    }
    if (strcmp(text, "inout") == 0)
        a->path = value;
    if (strcmp(text, "file") == 0 || a->path)
        return (a->bytes = (unsigned char *)files_read(value, &a->size)) != NULL;
    if (strcmp(text, "zero") == 0 || strcmp(text, "iota") == 0 || strcmp(text, "random") == 0) {
        a->size = strtoull(value, NULL, 0);
        a->bytes = calloc(a->size + 1, 1);
        if (a->bytes)
            fill(a, text);
        return a->bytes != NULL;
    }
    if (strcmp(text, "f32") == 0)
        a->bits = bc_f32_bits(strtof(value, NULL));
    else if (strcmp(text, "f64") == 0)
        a->bits = bc_f64_bits(strtod(value, NULL));
    else if (text[0] == 's')
        a->bits = (uint64_t)strtoll(value, NULL, 0);
    else if (text[0] == 'u')
        a->bits = strtoull(value, NULL, 0);
    else
        return false;
    return true;
}

static void list_entries(const ptxsim *sim)
{
    for (size_t i = 0; i < ptxsim_entry_count(sim); i++) {
        const ptxsim_entry *e = ptxsim_entry_at(sim, i);
        printf("%s (", e->name);
        for (size_t k = 0; k < e->param_count; k++)
            printf("%s%s: %zu bytes", k ? ", " : "", e->params[k].name, e->params[k].bytes);
        printf(") .reqntid %u, %u, %u\n", (unsigned)e->reqntid[0], (unsigned)e->reqntid[1], (unsigned)e->reqntid[2]);
    }
}

static void print_buffer(size_t index, const argument *a)
{
    printf("argument %zu:", index);
    for (size_t i = 0; i < 16 && 4 * i + 4 <= a->size; i++) {
        uint32_t bits;
        memcpy(&bits, a->bytes + 4 * i, 4);
        if (strcmp(a->print, "f32") == 0)
            printf(" %g", (double)bc_f32_from_bits(bits));
        else if (strcmp(a->print, "s32") == 0)
            printf(" %d", (int)bits);
        else
            printf(" %u", (unsigned)bits);
    }
    printf("\n");
}

static int fail(const char *what, const char *detail)
{
    fprintf(stderr, "ptxsim: %s%s\n", what, detail);
    return 2;
}

/* Runs the seeds; the status to exit with. */
static int run(ptxsim *sim, ptxsim_launch *launch, argument *arguments, size_t count, uint64_t seeds)
{
    const void *params[MAX_ARGUMENTS];
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].bytes)
            arguments[i].bits = ptxsim_buffer_add(sim, arguments[i].bytes, arguments[i].size, "argument");
        params[i] = &arguments[i].bits;
        if (arguments[i].map.rank) {
            arguments[i].map.address = arguments[i].bits;
            ptxsim_tensor_map(&arguments[i].map, arguments[i].map_bytes);
            params[i] = arguments[i].map_bytes;
        }
    }
    launch->params = params;
    int status = 0;
    for (uint64_t i = 0; i < seeds && status == 0; i++, launch->seed++)
        status = !ptxsim_run(sim, launch);
    fputs(ptxsim_output(sim), stdout);
    fputs(ptxsim_report_text(sim), stdout);
    if (status)
        printf("with seed %llu\n", (unsigned long long)(launch->seed - 1));
    printf("%llu instructions of warps\n", (unsigned long long)ptxsim_steps(sim));
    for (size_t i = 0; i < count; i++)
        if (arguments[i].print && arguments[i].bytes)
            print_buffer(i, &arguments[i]);
    for (size_t i = 0; i < count; i++)
        if (arguments[i].path && !files_write(arguments[i].path, (const char *)arguments[i].bytes, arguments[i].size))
            return fail("cannot write ", arguments[i].path);
    return status;
}

int main(int argc, char **argv)
{
    ptxsim_launch launch = {0};
    argument arguments[MAX_ARGUMENTS] = {{0}};
    size_t count = 0, size;
    uint64_t seeds = 1;
    const char *path = NULL;
    bool triton = false;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        bool fine = true, takes_value = strncmp(option, "--", 2) == 0 && strcmp(option, "--triton") != 0;
        if (strcmp(option, "--triton") == 0)
            triton = true;
        else if (!takes_value && !path)
            path = option;
        else if (!takes_value)
            fine = count < MAX_ARGUMENTS && parse_argument(argv[i], &arguments[count++]);
        else if (strcmp(option, "--entry") == 0)
            launch.entry = value;
        else if (strcmp(option, "--grid") == 0)
            fine = parse_extents(value, launch.grid);
        else if (strcmp(option, "--block") == 0)
            fine = parse_extents(value, launch.block);
        else if (strcmp(option, "--cluster") == 0)
            fine = parse_extents(value, launch.cluster);
        else if (strcmp(option, "--shared") == 0)
            launch.dynamic_shared = (uint32_t)strtoul(value, NULL, 0);
        else if (strcmp(option, "--seed") == 0)
            launch.seed = strtoull(value, NULL, 0);
        else if (strcmp(option, "--seeds") == 0)
            seeds = strtoull(value, NULL, 0);
        else if (strcmp(option, "--steps") == 0)
            launch.step_limit = strtoull(value, NULL, 0);
        else
            fine = false;
        i += takes_value;
        if (!fine) {
            fputs(usage, stderr);
            return fail("cannot take ", option);
        }
    }
    if (!path) {
        fputs(usage, stderr);
        return 2;
    }
    int status = 2;
    char *text = files_read(path, &size), error[256];
    ptxsim *sim = text ? ptxsim_load(text, size, error, sizeof error) : NULL;
    if (sim && triton) { /* lanes that a reduction leaves out exchange what they have not loaded */
        ptxsim_as_triton(sim);
        launch.ignored = (uint32_t)1 << PTXSIM_UNINITIALISED_REGISTER;
    }
    const ptxsim_entry *entry = !sim                           ? NULL
                                : launch.entry                 ? ptxsim_entry_find(sim, launch.entry)
                                : ptxsim_entry_count(sim) == 1 ? ptxsim_entry_at(sim, 0)
                                                               : NULL;
    if (!text) {
        fail("cannot read ", path);
    } else if (!sim) {
        fprintf(stderr, "%s: %s\n", path, error);
    } else if (!launch.grid[0]) {
        list_entries(sim);
        status = 0;
    } else if (entry && entry->param_count != count) {
        fail("the kernel has another number of parameters: ", entry->name);
    } else {
        status = run(sim, &launch, arguments, count, seeds);
    }
    free(text);
    ptxsim_free(sim);
    for (size_t i = 0; i < count; i++)
        free(arguments[i].bytes);
    return status;
}
