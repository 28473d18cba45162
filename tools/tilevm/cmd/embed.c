/* tilevm embed: writes kernels as C, for programs that need nothing but the driver. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/demangle.h"
#include "loader/driver.h"
#include "loader/record.h"
#include "tools/tilevm/compile/assemble.h"
#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/cmd/embed_text.h"

enum { OPT_TARGETS = 1, OPT_OUTPUT, OPT_LEVEL, OPT_LINES, OPT_EMIT, OPT_KEY };

#define EMITS "all|ptx"

static const cli_option options[] = {
    {OPT_OUTPUT, 'o', "output", "FILE.c", "write FILE.c and FILE.h; functions begin with FILE and an underscore"},
    {OPT_TARGETS, 't', "targets", "sm_XX,...", "bytecode: GPUs to compile for (default sm_80,sm_90,sm_100,sm_120)"},
    {OPT_EMIT, 'e', "emit", EMITS, "bytecode: PTX only, or (all, the default) cubins too if there is a ptxas"},
    {OPT_LEVEL, 'O', "opt-level", "N", "bytecode: 0 to 3 (default 3)"},
    {OPT_LINES, 'g', "lineinfo", NULL, "bytecode: line numbers from the debug information"},
    {OPT_KEY, 'k', "key", "FILE", "bundle: it must be signed with the private half of this public key (PEM)"},
    {0}};

static int run(cli_args *args);

const cli_command command_embed = {
    "embed",
    "FILE.tvb|FILE...",
    "write kernels as a C file with typed launch functions",
    "tilevm embed takes a bundle, or bytecode, and writes a C file with PTX and cubins, and a header with\n"
    "one function for each kernel: stream, grid, then the parameters. The functions choose the code that\n"
    "suits the device of the current context, and return the driver's error codes. They need libcuda.so.1\n"
    "at run time, and nothing else.",
    options,
    run};

/* What is being written. */
typedef struct embedding {
    const ld_bundle *bundle;
    char *prefix; /* of names */
    bc_arena arena;
    ld_artifact **artifacts; /* by module */
    tv_module **modules;
    bc_text source, header;
    const char *problem;
} embedding;

/* ---- names ---- */

static void put_name(bc_text *out, tv_str name)
{
    for (size_t i = 0; i < name.len; i++)
        bc_text_char(out, isalnum((unsigned char)name.ptr[i]) ? name.ptr[i] : '_');
}

/* How many kernels before the i-th come from a function of that name. */
static unsigned namesakes(const ld_bundle_head *head, uint32_t i)
{
    unsigned count = 0;
    for (uint32_t j = 0; j < i; j++)
        count += bc_str_eq(ld_bundle_head_kernel(head, j).function, ld_bundle_head_kernel(head, i).function);
    return count;
}

/* "kernels_vadd"; "kernels_vadd_2" for the second of that function. */
static void put_function(const embedding *e, bc_text *out, uint32_t i)
{
    unsigned before = namesakes(&e->bundle->head, i);
    bc_text_printf(out, "%s_", e->prefix);
    put_name(out, ld_bundle_head_kernel(&e->bundle->head, i).function);
    if (before)
        bc_text_printf(out, "_%u", before + 1);
}

/* ---- parameters ---- */

static const char *type_of(const tv_slot *slot)
{
    static const char *const ints[] = {"int8_t", "int16_t", "int32_t", "int64_t"};
    static const char *const bits[] = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"};
    unsigned size = slot->size == 1 ? 0 : slot->size == 2 ? 1 : slot->size == 4 ? 2 : 3;
    bool address = slot->role == TV_SLOT_ADDRESS || slot->role == TV_SLOT_LIST_ADDRESS;
    if (address)
        return "uint64_t";
    if (slot->dtype == TV_F32)
        return "float";
    if (slot->dtype == TV_F64)
        return "double";
    return slot->dtype >= TV_I8 && slot->dtype <= TV_I64 ? ints[size] : bits[size];
}

static void put_slot_name(bc_text *out, const tv_slot *slot)
{
    static const char *const roles[] = {[TV_SLOT_EXTENT] = "_extent", [TV_SLOT_STRIDE] = "_stride"};
    put_name(out, bc_str(slot->leaf->name));
    if (slot->role == TV_SLOT_EXTENT || slot->role == TV_SLOT_STRIDE)
        bc_text_printf(out, "%s%u", roles[slot->role], (unsigned)slot->axis);
    else if (slot->role == TV_SLOT_LIST_COUNT)
        bc_text_puts(out, "_count");
}

static void put_parameters(bc_text *out, const tv_signature *signature)
{
    tv_slot slot;
    bc_text_puts(out, "(struct CUstream_st *stream, unsigned grid_x, unsigned grid_y, unsigned grid_z");
    for (size_t i = 0; tv_signature_slot(signature, i, &slot); i++) {
        bc_text_printf(out, ", %s ", type_of(&slot));
        put_slot_name(out, &slot);
    }
    bc_text_char(out, ')');
}

/* A string in a symbol may hold anything; it must neither end the comment nor continue it on another line. */
static bool put_in_comment(void *user, const void *bytes, size_t size)
{
    bc_text *out = user;
    const char *p = bytes;
    for (size_t i = 0; i < size; i++) {
        if (p[i] == '/' && out->len && out->ptr[out->len - 1] == '*')
            bc_text_char(out, ' ');
        bc_text_char(out, (unsigned char)p[i] < ' ' || p[i] == '\\' ? '?' : p[i]);
    }
    return !out->failed;
}

static void put_comment(bc_text *out, const tv_signature *signature, tv_str symbol)
{
    const tv_param *param;
    bc_cxx_name name;
    bc_text_puts(out, "/* ");
    if (bc_demangle(symbol, &name)) {
        put_in_comment(out, name.full, strlen(name.full));
        bc_text_puts(out, "\n   ");
    }
    bc_text_str(out, symbol);
    for (size_t i = 0; (param = tv_signature_param(signature, i)) != NULL; i++) {
        bc_text_printf(out, "\n     %-4s", param->name ? param->name : "");
        if (tv_param_print(param, (tv_writer){.user = out, .write = put_in_comment}) != TV_OK)
            out->failed = true;
    }
    bc_text_puts(out, " */\n");
}

/* ---- data ---- */

static void put_bytes(embedding *e, uint32_t module, uint32_t artifact, tv_str bytes)
{
    bc_text *out = &e->source;
    bc_text_printf(out, "static const _Alignas(16) unsigned char data_%u_%u[] = {", module, artifact);
    for (size_t i = 0; i <= bytes.len; i++) { /* with the zero at the end */
        bc_text_puts(out, i % 32 ? "," : i ? ",\n" : "\n");
        bc_text_number(out, (unsigned char)bytes.ptr[i], 10);
    }
    bc_text_puts(out, "};\n\n");
}

/* The launch record of a kernel in an artifact. */
static void put_launch(embedding *e, const ld_artifact *a, tv_str symbol)
{
    bc_arena arena;
    ld_record *records;
    size_t count = 0;
    bc_arena_init(&arena, NULL, 0);
    const ld_record *found = NULL;
    if (ld_records_parse(&arena, a->launch, &records, &count))
        for (size_t i = 0; i < count; i++)
            found = bc_str_is(symbol, records[i].name) ? &records[i] : found;
    if (found)
        bc_text_printf(&e->source, "    {{%u, %u, %u}, %u},\n", found->block[0], found->block[1], found->block[2],
                       found->shared_bytes);
    else
        e->problem = arena.failed ? LD_NO_MEMORY : "the launch record of a kernel is missing";
    bc_arena_release(&arena);
}

static void put_rows(embedding *e, uint32_t m, uint32_t count)
{
    bc_text_printf(&e->source, "static const struct artifact artifacts_%u[] = {\n", m);
    for (uint32_t i = 1; i < count; i++) {
        const ld_artifact *a = &e->artifacts[m][i];
        uint32_t same = 1; /* the first with these bytes */
        while (memcmp(e->artifacts[m][same].digest, a->digest, sizeof a->digest) != 0)
            same++;
        bc_text_printf(&e->source, "    {data_%u_%u, %u, %u, %d},\n", m, same, a->sm, a->ptx, a->suffix != 0);
    }
    bc_text_printf(&e->source, "};\n\nstatic const struct launch launches_%u[] = {\n", m);
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = 0; k < e->bundle->head.kernel_count; k++)
            if (ld_bundle_head_kernel(&e->bundle->head, k).module == m)
                put_launch(e, &e->artifacts[m][i], ld_bundle_head_kernel(&e->bundle->head, k).symbol);
    bc_text_puts(&e->source, "};\n\n");
}

static void ignore(void *user, const tv_diag *diag)
{
    (void)user;
    (void)diag;
}

static const char *open_module(tv_str bytecode, tv_module **out)
{
    tv_status status = tv_module_open(bytecode.ptr, bytecode.len, NULL, (tv_sink){.report = ignore}, out);
    return status == TV_OK ? NULL : status == TV_NO_MEMORY ? LD_NO_MEMORY : "the bytecode is damaged";
}

static const char *put_module(embedding *e, uint32_t m)
{
    ld_bundle_module module = ld_bundle_head_module(&e->bundle->head, m);
    const char *problem = ld_bundle_artifacts(e->bundle, &module, &e->arena, &e->artifacts[m]);
    for (uint32_t i = 0; !problem && i < module.artifact_count; i++) {
        const ld_artifact *a = &e->artifacts[m][i];
        bool there = false;
        for (uint32_t j = 1; j < i; j++)
            there |= memcmp(e->artifacts[m][j].digest, a->digest, sizeof a->digest) == 0;
        tv_str bytes = {0};
        problem = there ? NULL : ld_bundle_fetch(e->bundle, a, &e->arena, &bytes);
        if (!problem && i > 0 && !there)
            put_bytes(e, m, i, bytes);
        if (!problem && i == 0)
            problem = open_module(bytes, &e->modules[m]);
    }
    if (!problem && module.artifact_count == 1)
        problem = "it has a kernel as bytecode only, which a program without tilevm cannot run";
    if (!problem)
        put_rows(e, m, module.artifact_count);
    return problem ? problem : e->problem;
}

static uint32_t kernels_of(const ld_bundle_head *head, uint32_t module, uint32_t before)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < before; k++)
        count += ld_bundle_head_kernel(head, k).module == module;
    return count;
}

static void put_tables(embedding *e)
{
    const ld_bundle_head *head = &e->bundle->head;
    bc_text *out = &e->source;
    bc_text_puts(out, "static const struct module modules[] = {\n");
    for (uint32_t m = 0; m < head->module_count; m++)
        bc_text_printf(out, "    {artifacts_%u, %u, launches_%u, %u},\n", m,
                       ld_bundle_head_module(head, m).artifact_count - 1, m, kernels_of(head, m, head->kernel_count));
    bc_text_puts(out, "};\n\nstatic const struct kernel kernels[] = {\n");
    for (uint32_t k = 0; k < head->kernel_count; k++) {
        ld_bundle_kernel kernel = ld_bundle_head_kernel(head, k);
        bc_text_printf(out, "    {\"%.*s\", %u, %u},\n", (int)kernel.symbol.len, kernel.symbol.ptr, kernel.module,
                       kernels_of(head, kernel.module, k));
    }
    bc_text_puts(out, "};\n\n/* PTX versions of drivers for CUDA 12.0, 12.1, ... */\n"
                      "static const unsigned ptx_of_cuda_12[] = {");
    for (int minor = 0; minor < 10; minor++)
        bc_text_printf(out, "%s%u", minor ? ", " : "", ld_ptx_version(12000 + 10 * minor));
    bc_text_puts(out, "};\n\n");
}

/* ---- functions ---- */

static const char *put_kernel(embedding *e, uint32_t k)
{
    ld_bundle_kernel kernel = ld_bundle_head_kernel(&e->bundle->head, k);
    const tv_module *module = e->modules[kernel.module];
    tv_signature *signature = NULL;
    tv_slot slot;
    size_t entry = 0;
    while (entry < tv_module_entry_count(module) && !bc_str_eq(tv_module_entry_name(module, entry), kernel.symbol))
        entry++;
    for (size_t i = 0; i < kernel.symbol.len; i++)
        if (!isalnum((unsigned char)kernel.symbol.ptr[i]) && !strchr("_$.", kernel.symbol.ptr[i]))
            return "the symbol of a kernel cannot appear in a C string or comment";
    tv_status status = entry < tv_module_entry_count(module)
                           ? tv_signature_of_entry(module, entry, (tv_sink){.report = ignore}, &signature)
                           : TV_INVALID;
    if (status != TV_OK)
        return status == TV_NO_MEMORY ? LD_NO_MEMORY : "the parameters of a kernel are not numbers and addresses";
    put_comment(&e->header, signature, kernel.symbol);
    bc_text *const both[] = {&e->header, &e->source};
    for (size_t i = 0; i < TV_COUNT(both); i++) {
        bc_text_puts(both[i], "int ");
        put_function(e, both[i], k);
        put_parameters(both[i], signature);
    }
    bc_text_puts(&e->header, ";\n\n");
    bc_text_puts(&e->source, "\n{\n    void *params[] = {");
    for (size_t i = 0; tv_signature_slot(signature, i, &slot); i++) {
        bc_text_char(&e->source, '&');
        put_slot_name(&e->source, &slot);
        bc_text_puts(&e->source, ", ");
    }
    bc_text_printf(&e->source,
                   "NULL};\n    return launch(&kernels[%u], stream, grid_x, grid_y, grid_z, params);\n}\n\n", k);
    tv_signature_close(signature);
    return NULL;
}

static void begin(embedding *e)
{
    bc_text_printf(&e->source,
                   "/* Kernels, written by tilevm embed. Needs C11, POSIX threads, and libcuda.so.1 at run time. */\n"
                   "#include \"%s.h\"\n\n%s",
                   e->prefix, embed_types);
    bc_text_printf(
        &e->header,
        "/* Kernels, written by tilevm embed.\n\n"
        "   Each function launches a kernel in the current context, whose device decides which code is taken;\n"
        "   the first call for a context loads it. The grid counts tile blocks. Arrays are the address of\n"
        "   their first element on the device, extents and strides in elements; numbers of types that C does\n"
        "   not have are given as their bits. Gives a CUresult: 0 is success. Any thread may call. */\n"
        "#ifndef %s_KERNELS_H\n#define %s_KERNELS_H\n\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nstruct CUstream_st;\n\n",
        e->prefix, e->prefix);
}

static const char *embed(embedding *e)
{
    const ld_bundle_head *head = &e->bundle->head;
    const char *problem = NULL;
    begin(e);
    for (uint32_t m = 0; !problem && m < head->module_count; m++)
        problem = put_module(e, m);
    if (problem)
        return problem;
    put_tables(e);
    bc_text_puts(&e->source, embed_code);
    bc_text_char(&e->source, '\n');
    for (uint32_t k = 0; !problem && k < head->kernel_count; k++)
        problem = put_kernel(e, k);
    bc_text_printf(
        &e->header,
        "/* Unloads what was loaded. To be called before contexts are destroyed, while no kernel is launched. "
        "*/\nint %s_unload(void);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n",
        e->prefix);
    bc_text_printf(&e->source, "int %s_unload(void)\n{\n    return unload_all();\n}\n", e->prefix);
    return problem ? problem : e->source.failed || e->header.failed || e->arena.failed ? LD_NO_MEMORY : NULL;
}

/* ---- files ---- */

static bool write_text(const char *path, const char *ending, const bc_text *text)
{
    bc_text name;
    cli_out out;
    bc_text_init(&name, NULL);
    bc_text_printf(&name, "%.*s%s", (int)strlen(path) - 2, path, ending);
    if (name.failed)
        cli_error("out of memory");
    bool fine = !name.failed && cli_out_open(&out, name.ptr);
    if (fine) {
        cli_out_write(&out, text->ptr, text->len);
        fine = cli_out_commit(&out);
    }
    bc_text_release(&name);
    return fine;
}

/* The name of the file without folder and ending, as a name of C. */
static char *prefix_of(const char *path)
{
    const char *base = strrchr(path, '/');
    bc_text name;
    bc_text_init(&name, NULL);
    base = base ? base + 1 : path;
    if (isdigit((unsigned char)base[0]))
        bc_text_char(&name, '_');
    put_name(&name, (tv_str){.ptr = base, .len = strlen(base) - 2});
    return name.ptr;
}

static int embed_bundle(const bundle_request *request, const ld_bundle *bundle)
{
    embedding e = {.bundle = bundle, .prefix = prefix_of(request->output)};
    bc_arena_init(&e.arena, NULL, 0);
    bc_text_init(&e.source, NULL);
    bc_text_init(&e.header, NULL);
    e.artifacts = bc_new(&e.arena, ld_artifact *, bundle->head.module_count);
    e.modules = bc_new(&e.arena, tv_module *, bundle->head.module_count);
    const char *problem = e.artifacts && e.modules && e.prefix ? embed(&e) : LD_NO_MEMORY;
    int code = CLI_OK;
    if (problem) {
        code = cli_error("%s: %s", request->paths[0], problem);
        code = strcmp(problem, LD_NO_MEMORY) == 0 ? code : CLI_FAILED;
    }
    if (code == CLI_OK
        && !(write_text(request->output, ".c", &e.source) && write_text(request->output, ".h", &e.header)))
        code = CLI_ERROR;
    for (uint32_t m = 0; e.modules && m < bundle->head.module_count; m++)
        tv_module_close(e.modules[m]);
    bc_text_release(&e.source);
    bc_text_release(&e.header);
    bc_arena_release(&e.arena);
    free(e.prefix);
    return code;
}

/* Bytecode goes through a bundle in memory. */
static int embed_bytecode(const bundle_request *request)
{
    bundle_build build;
    ld_bundle bundle = {0};
    bc_text bytes;
    bc_text_init(&bytes, NULL);
    int code = bundle_build_bytes(request, &build, &bytes);
    const char *problem = code == CLI_OK ? ld_bundle_open_bytes(bytes.ptr, bytes.len, &bundle) : NULL;
    if (problem)
        code = bundle_say_damaged(request->paths[0], "", problem);
    if (code == CLI_OK && bundle_print_gaps(&build))
        cli_print(stderr, "tilevm: note: on these targets the functions give CUDA_ERROR_NO_BINARY_FOR_GPU\n");
    if (code == CLI_OK)
        code = embed_bundle(request, &bundle);
    ld_bundle_close(&bundle);
    bundle_build_release(&build);
    bc_text_release(&bytes);
    return code;
}

static bool is_bundle(const char *path)
{
    size_t len = strlen(path);
    return len > 4 && strcmp(path + len - 4, ".tvb") == 0;
}

/* ---- the command ---- */

static bool take_option(bundle_request *request, cli_paths *paths, int id, const char *value, unsigned *emit)
{
    uint64_t number = 0;
    switch (id) {
    case OPT_TARGETS: return cli_target_list(request->args, value, &request->build.targets);
    case OPT_OUTPUT: request->output = value; return true;
    case OPT_EMIT: return cli_choice(request->args, "--emit", value, EMITS, emit);
    case OPT_LINES: request->build.line_info = true; return true;
    case OPT_KEY: request->key = value; return true;
    case CLI_OPERAND: cli_paths_add(paths, value); return !paths->failed;
    case OPT_LEVEL:
        if (!cli_number(request->args, "--opt-level", value, 0, 3, &number))
            return false;
        request->build.opt_level = (unsigned)number;
        return true;
    default: return false;
    }
}

static int act(bundle_request *request, unsigned emit)
{
    size_t len = request->output ? strlen(request->output) : 0;
    if (!request->count)
        return cli_usage(request->args, "no bundle or bytecode was given");
    if (len < 3 || strcmp(request->output + len - 2, ".c") != 0)
        return cli_usage(request->args, "name a C file with -o FILE.c");
    if (is_bundle(request->paths[0])) {
        ld_bundle bundle;
        if (request->count > 1)
            return cli_usage(request->args, "one bundle at a time");
        int opened = bundle_open_or_say(request->paths[0], request->key, &bundle);
        if (opened != CLI_OK)
            return opened;
        int code = embed_bundle(request, &bundle);
        ld_bundle_close(&bundle);
        return code;
    }
    if (!bundle_settle_targets(request->args, &request->build.targets))
        return request->args->exit_code;
    char buffer[ASSEMBLE_PATH];
    request->build.ptxas = emit == 0 ? assemble_find_ptxas(buffer) : NULL;
    return embed_bytecode(request);
}

static int run(cli_args *args)
{
    bundle_request request = {.args = args, .build = {.opt_level = 3, .color = args->color}};
    cli_paths paths;
    const char *value;
    unsigned emit = 0;
    int code = CLI_OK;
    cli_paths_init(&paths);
    for (int id; code == CLI_OK && (id = cli_next(args, &value)) != CLI_END;)
        if (!take_option(&request, &paths, id, value, &emit))
            code = paths.failed ? CLI_ERROR : -1;
    request.paths = paths.items;
    request.count = paths.count;
    code = code == -1 ? args->exit_code : code == CLI_OK ? act(&request, emit) : code;
    cli_paths_release(&paths);
    return code;
}
