/* From the source of a CUDA Tile C++ kernel to its result and to PTX, in one process and without a GPU: NVRTC makes the
   Tile IR, libtilevm verifies it, runs it and compiles it.

     cc nvrtc.c $(pkg-config --cflags --libs tilevm) -ldl -o nvrtc
     NVRTC=/usr/local/cuda/lib64/libnvrtc.so.13 ./nvrtc

   Exit code 77: there is no NVRTC with nvrtcGetTileIR (CUDA 13.3 and later). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilevm/tilevm.h>

static const char *const source =
    "#include <cuda_tile.h>\n"
    "namespace ct = cuda::tiles;\n"
    "template <class E, size_t... N> using tile = ct::tile<E, ct::shape<N...>>;\n"
    "__tile_global__ void add(const float *x, const float *y, float *sum, int n)\n"
    "{\n"
    "    auto i = ct::iota<tile<int, 128>>() + int(ct::bid().x) * 128;\n"
    "    auto in = i < n;\n"
    "    ct::store_masked(sum + i, ct::load_masked(x + i, in) + ct::load_masked(y + i, in), in);\n"
    "}\n";

/* ---- NVRTC, as its reference declares it ---- */

typedef struct _nvrtcProgram *nvrtcProgram;

static struct {
    int (*create)(nvrtcProgram *program, const char *source, const char *name, int header_count,
                  const char *const *headers, const char *const *names);
    int (*compile)(nvrtcProgram program, int count, const char *const *options);
    int (*log_size)(nvrtcProgram program, size_t *size);
    int (*log)(nvrtcProgram program, char *log);
    int (*tile_ir_size)(nvrtcProgram program, size_t *size);
    int (*tile_ir)(nvrtcProgram program, char *bytes);
    int (*destroy)(nvrtcProgram *program);
} nvrtc;

static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool open_nvrtc(void)
{
    const char *path = getenv("NVRTC");
    void *library = dlopen(path && path[0] ? path : "libnvrtc.so.13", RTLD_NOW);
    return library && find(library, "nvrtcCreateProgram", &nvrtc.create)
           && find(library, "nvrtcCompileProgram", &nvrtc.compile)
           && find(library, "nvrtcGetProgramLogSize", &nvrtc.log_size)
           && find(library, "nvrtcGetProgramLog", &nvrtc.log)
           && find(library, "nvrtcGetTileIRSize", &nvrtc.tile_ir_size)
           && find(library, "nvrtcGetTileIR", &nvrtc.tile_ir) && find(library, "nvrtcDestroyProgram", &nvrtc.destroy);
}

static void print_log(nvrtcProgram program)
{
    size_t size;
    char *log = nvrtc.log_size(program, &size) == 0 ? malloc(size) : NULL;
    if (log && nvrtc.log(program, log) == 0)
        fprintf(stderr, "%s\n", log);
    free(log);
}

/* The Tile IR of the source, to be freed; NULL: NVRTC has said why. */
static char *make_tile_ir(size_t *out_size)
{
    static const char *const options[] = {"-std=c++20", "-arch=compute_90", "--enable-tile", "--tile-only"};
    nvrtcProgram program;
    if (nvrtc.create(&program, source, "add.cu", 0, NULL, NULL) != 0)
        return NULL;
    char *bytes = NULL;
    if (nvrtc.compile(program, 4, options) == 0 && nvrtc.tile_ir_size(program, out_size) == 0
        && (bytes = malloc(*out_size)) != NULL && nvrtc.tile_ir(program, bytes) != 0) {
        free(bytes);
        bytes = NULL;
    }
    if (!bytes)
        print_log(program);
    nvrtc.destroy(&program);
    return bytes;
}

/* ---- libtilevm ---- */

enum { N = 200 };
static float x[N], y[N], sum[N];

/* Everything that is wrong comes here. */
static void report(void *user, const tv_diag *diag)
{
    (void)user;
    fprintf(stderr, "%s: %.*s (%.*s:%u)\n", diag->rule, (int)diag->message.len, diag->message.ptr, (int)diag->file.len,
            diag->file.ptr, (unsigned)diag->line);
}

static const tv_sink sink = {.report = report};

/* Runs the entry on the CPU: two tile blocks, with pointers as the GPU would get them. */
static bool run(const tv_module *module, const char *entry)
{
    const uint32_t grid[3] = {2, 1, 1};
    const float *px = x, *py = y;
    float *psum = sum;
    const int n = N;
    const void *const params[] = {&px, &py, &psum, &n};
    tv_vm *vm = NULL;
    bool good = tv_vm_new(module, NULL, sink, &vm) == TV_OK
                && tv_vm_add_buffer(vm, x, sizeof x, "x", false, sink) == TV_OK
                && tv_vm_add_buffer(vm, y, sizeof y, "y", false, sink) == TV_OK
                && tv_vm_add_buffer(vm, sum, sizeof sum, "sum", true, sink) == TV_OK
                && tv_vm_run(vm, entry, grid, params, 4, sink) == TV_OK;
    tv_vm_free(vm);
    for (int i = 0; i < N; i++)
        good = good && sum[i] == x[i] + y[i];
    return good;
}

/* Counts what is written; a program would keep it, or hand it to cuModuleLoadData. */
static bool count(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)user += size;
    return true;
}

int main(void)
{
    size_t size = 0, ptx = 0, entry;
    if (!open_nvrtc()) {
        fprintf(stderr, "there is no NVRTC with nvrtcGetTileIR: set NVRTC to the libnvrtc.so of CUDA 13.3 or later\n");
        return 77;
    }
    char *bytes = make_tile_ir(&size);
    tv_module *module = NULL;
    for (int i = 0; i < N; i++)
        x[i] = (float)i, y[i] = 0.5f;
    bool good = bytes && tv_module_open(bytes, size, NULL, sink, &module) == TV_OK
                && tv_module_verify(module, NULL, sink) == TV_OK
                && tv_module_entry_find(module, (tv_str){"add", 3}, sink, &entry) == TV_OK;
    if (good) {
        char symbol[256];
        tv_str name = tv_module_entry_name(module, entry);
        snprintf(symbol, sizeof symbol, "%.*s", (int)name.len, name.ptr);
        const tv_compile_options options = {.target = "sm_90"};
        good = run(module, symbol) && tv_compile_ptx(module, &options, sink, (tv_writer){&ptx, count}) == TV_OK;
        printf("%s: %zu bytes of Tile IR, the sums are %s, %zu bytes of PTX\n", symbol, size,
               good ? "right" : "wrong", ptx);
    }
    tv_module_close(module);
    free(bytes);
    return good ? 0 : 1;
}
