/* One cell after the other: what the loader would take on that host, and whether the host can run it. What keeps it
   from that is told by the rule that the loader would name. */
#include <string.h>

#include "bytecode/rules.h"
#include "loader/driver.h"
#include "loader/image.h"
#include "loader/record.h"
#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/fleet/fleet.h"

/* What became of an artifact, on the way to a device. */
typedef struct code {
    struct code *next;
    const ld_artifact *artifact;
    unsigned sm, ptx; /* that bytecode was compiled for; else 0 */
    fleet_needs *needs;
    size_t count;
    tv_str missing; /* why it cannot be compiled */
} code;

typedef struct judge {
    const ld_bundle *bundle;
    bc_arena *arena;
    fleet_matrix *matrix;
    ld_bundle_module module;
    ld_artifact *artifacts; /* of it */
    uint32_t *order;        /* room for its artifacts */
    code *codes;            /* of it */
    const char *problem;    /* with the bundle */
} judge;

static tv_str printed(judge *j, bc_text *text)
{
    tv_str copy = bc_arena_dup(j->arena, bc_text_get(text));
    if (text->failed || !copy.ptr)
        j->problem = LD_NO_MEMORY;
    bc_text_release(text);
    return copy;
}

static void refuse(judge *j, fleet_cell *cell, bc_rule rule, const char *format, ...) TV_PRINTF(4, 5);

static void refuse(judge *j, fleet_cell *cell, bc_rule rule, const char *format, ...)
{
    bc_text text;
    va_list args;
    bc_text_init(&text, NULL);
    bc_text_printf(&text, "%s (%s, CUDA %d.%d): ", cell->host->name, cell->host->gpu.name, cell->host->cuda / 1000,
                   cell->host->cuda % 1000 / 10);
    va_start(args, format);
    bc_text_vprintf(&text, format, args);
    va_end(args);
    cell->diag = (tv_diag){.severity = TV_ERROR,
                           .rule = bc_rules[rule].id,
                           .message = printed(j, &text),
                           .function = cell->kernel,
                           .offset = TV_NO_OFFSET,
                           .help = bc_str(bc_rules[rule].help)};
    j->matrix->failed++;
}

/* ---- what an artifact needs ---- */

static void take_diag(void *user, const tv_diag *diag)
{
    bc_text *text = user;
    if (diag->severity == TV_ERROR && !text->len)
        bc_text_printf(text, "[%s] %.*s", diag->rule, (int)diag->message.len, diag->message.ptr);
}

/* Bytecode as the loader compiles it on such a host; empty if it cannot. */
static void compile(judge *j, tv_str bytecode, code *out, bc_text *ptx)
{
    bc_text missing;
    bc_text_init(&missing, NULL);
    tv_sink sink = {.user = &missing, .report = take_diag};
    tv_module *module = NULL;
    ld_want want = {.target = out->sm, .opt_level = j->module.opt_level, .line_info = j->module.line_info};
    tv_compile_options options = ld_compile_options(&want, out->ptx);
    tv_status status = tv_module_open(bytecode.ptr, bytecode.len, NULL, sink, &module);
    if (status == TV_OK)
        status = tv_module_verify(module, NULL, sink);
    if (status == TV_OK)
        status = tv_compile_ptx(module, &options, sink, (tv_writer){.user = ptx, .write = bc_text_append});
    tv_module_close(module);
    if (status == TV_NO_MEMORY || status == TV_IO)
        j->problem = LD_NO_MEMORY;
    else if (status != TV_OK && !missing.len)
        bc_text_puts(&missing, "it cannot be compiled");
    out->missing = printed(j, &missing);
}

static void measure_bytecode(judge *j, tv_str bytecode, code *out)
{
    bc_text ptx, launch;
    ld_record *records;
    size_t count;
    bc_text_init(&ptx, NULL);
    bc_text_init(&launch, NULL);
    compile(j, bytecode, out, &ptx);
    if (!j->problem && !out->missing.len) {
        if (ld_records_from_ptx(j->arena, bc_text_get(&ptx), &records, &count))
            ld_records_print(records, count, &launch);
        out->needs = fleet_needs_of(LD_ARTIFACT_PTX, bc_text_get(&ptx), printed(j, &launch), j->arena, &out->count);
        if (!out->needs)
            j->problem = LD_NO_MEMORY;
    }
    bc_text_release(&ptx);
    bc_text_release(&launch);
}

/* Fetches and measures. The bytes are only held meanwhile. */
static void measure(judge *j, code *out)
{
    bc_arena bytes;
    tv_str found;
    const ld_artifact *a = out->artifact;
    bc_arena_init(&bytes, NULL, 0);
    j->problem = ld_bundle_fetch(j->bundle, a, &bytes, &found);
    if (!j->problem && a->form == LD_ARTIFACT_BYTECODE)
        measure_bytecode(j, found, out);
    else if (!j->problem && !(out->needs = fleet_needs_of(a->form, found, a->launch, j->arena, &out->count)))
        j->problem = j->arena->failed ? LD_NO_MEMORY : "the launch records of an artifact cannot be read";
    bc_arena_release(&bytes);
}

/* Once for each artifact; bytecode once for each kind of host. NULL: there is a problem. */
static const code *code_of(judge *j, const ld_artifact *a, unsigned sm, unsigned ptx)
{
    bool compiled = a->form == LD_ARTIFACT_BYTECODE;
    for (const code *c = j->codes; c; c = c->next)
        if (c->artifact == a && (!compiled || (c->sm == sm && c->ptx == ptx)))
            return c;
    code *fresh = bc_new(j->arena, code, 1);
    if (!fresh) {
        j->problem = LD_NO_MEMORY;
        return NULL;
    }
    *fresh = (code){.next = j->codes, .artifact = a, .sm = compiled ? sm : 0, .ptx = compiled ? ptx : 0};
    j->codes = fresh;
    measure(j, fresh);
    return j->problem ? NULL : fresh;
}

/* ---- one cell ---- */

static void check_limits(judge *j, fleet_cell *cell, const fleet_capability *capability)
{
    enum { REGISTERS = 65536 };
    const fleet_needs *needs = &cell->needs;
    cell->blocks = fleet_blocks(needs, capability);
    cell->occupancy = fleet_occupancy(needs, capability, cell->blocks);
    if (fleet_shared(needs) > capability->block_shared_bytes)
        refuse(j, cell, BC_RULE_L_LOAD_01, "the kernel takes %llu bytes of shared memory; a block has %u at most",
               (unsigned long long)fleet_shared(needs), capability->block_shared_bytes);
    else if (needs->threads && needs->registers && !cell->blocks)
        refuse(j, cell, BC_RULE_L_LAUNCH_05, "%u threads with %u registers each do not fit into the %d that there are",
               needs->threads, needs->registers, REGISTERS);
}

static void take_artifact(judge *j, fleet_cell *cell, const fleet_capability *capability, unsigned ptx)
{
    bc_text why;
    size_t count = ld_bundle_choose(j->artifacts, j->module.artifact_count, capability->sm, ptx, j->order);
    const code *made = count ? code_of(j, &j->artifacts[j->order[0]], capability->sm, ptx) : NULL;
    if (!count)
        refuse(j, cell, BC_RULE_L_BUNDLE_01, "the bundle has nothing for sm_%u", capability->sm);
    if (!made)
        return;
    bc_text_init(&why, NULL);
    ld_artifact_explain(made->artifact, capability->sm, ptx, &why);
    cell->why = printed(j, &why);
    cell->artifact = made->artifact;
    for (size_t i = 0; i < made->count; i++)
        if (bc_str_eq(made->needs[i].kernel, cell->kernel))
            cell->needs = made->needs[i];
    if (made->missing.len)
        refuse(j, cell, BC_RULE_L_IMG_02, "%.*s", (int)made->missing.len, made->missing.ptr);
    else
        check_limits(j, cell, capability);
}

static void refuse_driver(judge *j, fleet_cell *cell, int first)
{
    bc_text help;
    refuse(j, cell, BC_RULE_L_DRV_02, "the driver is too old for sm_%u", cell->host->gpu.sm);
    bc_text_init(&help, NULL);
    bc_text_printf(&help, "update the NVIDIA driver to one for CUDA %d.%d or later", first / 1000, first % 1000 / 10);
    cell->diag.help = printed(j, &help);
}

static void judge_cell(judge *j, fleet_cell *cell)
{
    const fleet_host *host = cell->host;
    fleet_capability capability;
    bool known = fleet_find_capability(host->gpu.sm, &capability);
    int first = known && capability.first_cuda > LD_DRIVER_OLDEST ? capability.first_cuda : LD_DRIVER_OLDEST;
    if (!known)
        refuse(j, cell, BC_RULE_L_ARCH_01, "the device is sm_%u; Tile IR needs sm_%d or later", host->gpu.sm,
               LD_OLDEST_TARGET);
    else if (host->cuda < first)
        refuse_driver(j, cell, first);
    else
        take_artifact(j, cell, &capability, ld_ptx_version(host->cuda));
}

/* ---- the matrix ---- */

static void judge_kernel(judge *j, uint32_t index, fleet_cell *row)
{
    ld_bundle_kernel kernel = ld_bundle_head_kernel(&j->bundle->head, index);
    tv_str shown = bundle_shown_name(j->bundle, &kernel);
    for (size_t h = 0; !j->problem && h < j->matrix->fleet.count; h++) {
        row[h] = (fleet_cell){.kernel = kernel.symbol, .shown = shown, .host = &j->matrix->fleet.hosts[h]};
        judge_cell(j, &row[h]);
    }
}

/* Kernels of one module stand together in no order of the head: module by module, so that each is measured once. */
static void judge_module(judge *j, uint32_t index)
{
    const ld_bundle_head *head = &j->bundle->head;
    size_t hosts = j->matrix->fleet.count;
    j->module = ld_bundle_head_module(head, index);
    j->codes = NULL;
    j->problem = ld_bundle_artifacts(j->bundle, &j->module, j->arena, &j->artifacts);
    j->order = bc_new(j->arena, uint32_t, j->module.artifact_count);
    if (!j->problem && !j->order)
        j->problem = LD_NO_MEMORY;
    for (uint32_t k = 0; !j->problem && k < head->kernel_count; k++)
        if (ld_bundle_head_kernel(head, k).module == index)
            judge_kernel(j, k, &j->matrix->cells[k * hosts]);
}

const char *fleet_judge(const ld_bundle *bundle, bc_arena *arena, fleet_matrix *matrix)
{
    judge j = {.bundle = bundle, .arena = arena, .matrix = matrix};
    matrix->kernels = bundle->head.kernel_count;
    matrix->bundle_size = bundle->size;
    matrix->cells =
        bc_arena_array(arena, matrix->kernels, matrix->fleet.count * sizeof *matrix->cells, alignof(fleet_cell));
    if (!matrix->cells)
        return LD_NO_MEMORY;
    for (uint32_t m = 0; !j.problem && m < bundle->head.module_count; m++)
        judge_module(&j, m);
    return j.problem;
}
