/* Bytecode to PTX: one .entry per kernel of the module. */
#include "codegen/compile.h"

#include <stdio.h>

#include "codegen/choose.h"
#include "codegen/module/call.h"
#include "codegen/module/spell.h"
#include "codegen/passes/pass.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/text/kernel.h"
#include "codegen/weight.h"

/* ---- parameters ---- */

/* The bytes of parameters as PTX counts them: each parameter is aligned to its size. */
static uint64_t param_bytes(const bc_block *body)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        uint32_t size = cg_memory_bytes(bc_elem_kind(body->args[i].type));
        at = (at + size - 1) / size * size + size;
    }
    return at;
}

static void refuse_entry(cg_func *c, bc_rule rule, const char *format, ...) TV_PRINTF(3, 4);

static void refuse_entry(cg_func *c, bc_rule rule, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bc_report_as(c->m, c->sink, &(bc_place){.function = c->f, .offset = c->f->offset, .row = BC_NO_ROW}, rule, TV_ERROR,
                 NULL, format, args);
    va_end(args);
    c->failed = true;
    c->status = TV_UNSUPPORTED;
}

/* Rejects kernels whose name or parameters PTX does not accept. Sources: PTX ISA, "Identifiers" and "Kernel function
   parameters" (the larger limit needs sm_70, which every target has). */
static tv_status check_entry(cg_func *c)
{
    enum { MOST = 32764, MOST_BEFORE = 4352, PTX_OF_MOST = 81 };
    tv_str name = c->f->name->s;
    uint64_t bytes = param_bytes(c->f->body);
    if (!cg_is_kernel_name(name))
        refuse_entry(c, BC_RULE_G_NAM_01, "kernel '%.*s' has a name that PTX cannot have", (int)name.len, name.ptr);
    else if (bytes > MOST)
        refuse_entry(c, BC_RULE_G_PAR_01, "kernel '%.*s' takes %llu bytes of parameters; PTX allows %d", (int)name.len,
                     name.ptr, (unsigned long long)bytes, MOST);
    else if (bytes > MOST_BEFORE && !cg_may_use_ptx(c, PTX_OF_MOST))
        refuse_entry(c, BC_RULE_G_PAR_01,
                     "kernel '%.*s' takes %llu bytes of parameters; PTX before 8.1 allows %d, and the PTX version is "
                     "limited to %u.%u",
                     (int)name.len, name.ptr, (unsigned long long)bytes, MOST_BEFORE, c->options->ptx_version / 10,
                     c->options->ptx_version % 10);
    else if (bytes > MOST_BEFORE)
        cg_need_ptx(c, PTX_OF_MOST);
    return c->status;
}

/* ---- one kernel ---- */

static tv_status status_of(const cg_func *c)
{
    return c->arena.failed ? TV_NO_MEMORY : c->status;
}

/* Runs the passes, and writes the kernel. */
static tv_status finish(cg_func *c, const cg_watch *watch, const cg_request *request)
{
    cg_run_passes(c, watch);
    if (!c->failed && !watch->stops)
        cg_put_kernel(c, &c->written->text);
    if (!c->failed && !watch->stops && c->witness)
        cg_show_model(c);
    cg_emit_end(c);
    if (!c->failed && request->compiled)
        request->compiled(request->user, c);
    return status_of(c);
}

static tv_status compile_kernel(cg_func *c, const cg_watch *watch, const cg_request *request)
{
    cg_choices chosen, for_pair;
    cg_watch rest = *watch;
    tv_status status = TV_OK;
    if (cg_begin_kernel(c)) {
        cg_choose_pair(c, watch, &for_pair);
        cg_choose_warps(c, watch, &chosen);
    }
    status = c->failed ? status_of(c) : finish(cg_go_on(c, &rest), &rest, request);
    cg_end_kernel(c);
    return status;
}

/* Writes the names of inlined functions, to which .loc refers, in the section of strings where PTX expects them. */
static void put_functions(const cg_names *names, bc_text *out)
{
    if (!names->count)
        return;
    bc_text_puts(out, ".section .debug_str\n{\n");
    for (size_t i = 0; i < names->count; i++) {
        bc_text_printf(out, "tv_inlined_%zu:\n", i + 1);
        tv_str name = names->items[i];
        for (size_t k = 0; k < name.len; k++)
            bc_text_printf(out, "%s%u", k % 16 ? ", " : k ? "\n.b8 " : ".b8 ", (unsigned char)name.ptr[k]);
        bc_text_puts(out, "\n.b8 0\n");
    }
    bc_text_puts(out, "}\n");
}

/* Writes the files after the kernels, because .loc may refer to files that are declared later. */
static void put_files(const cg_written *w, bc_text *out)
{
    for (size_t i = 0; i < w->files.count; i++) {
        bc_text_printf(out, ".file %zu \"", i + 1);
        cg_put_file_name(out, w->files.items[i]);
        bc_text_puts(out, "\"\n");
    }
    put_functions(&w->inlined, out);
}

static const char target_names[] = ""
#define TARGET(name, sm, suffix, ptx, shared_kib, threads, features) " " #name
#include "codegen/kernel/targets.def"
    ;

static tv_status refuse_version(const tv_module *m, const tv_compile_options *options, const cg_target *target,
                                uint8_t ptx, tv_sink sink)
{
    char message[160];
    snprintf(message, sizeof message, "the code for %s needs PTX %u.%u, but the PTX version is limited to %u.%u",
             target->name, ptx / 10u, ptx % 10u, options->ptx_version / 10, options->ptx_version % 10);
    bc_report_message(m, sink, &(bc_place){.offset = TV_NO_OFFSET, .row = BC_NO_ROW}, BC_RULE_G_GEN_01, TV_ERROR,
                      "use a newer driver or ptxas, or compile for an older target", bc_str(message));
    return TV_UNSUPPORTED;
}

/* Is it a kernel, and was it requested? */
static bool is_wanted(const bc_function *f, const cg_request *request)
{
    return f->flags & BC_FUNC_KERNEL && (!request->only || request->only == f);
}

static tv_status compile_module(const tv_module *m, const tv_compile_options *options, const cg_request *request,
                                tv_sink sink, tv_writer out)
{
    const char *name = options && options->target ? options->target : "sm_80";
    const cg_target *target = cg_target_find(bc_str(name));
    bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    if (!m->verified) {
        bc_report(m, sink, &nowhere, BC_RULE_G_GEN_01, "the module has not been verified");
        return TV_USAGE;
    }
    if (!target) {
        bc_report(m, sink, &nowhere, BC_RULE_G_TGT_01, "no code can be generated for '%s'; the targets are%s", name,
                  target_names);
        return TV_USAGE;
    }
    cg_watch watch;
    tv_status status = cg_watch_of(m, options, sink, &watch);
    if (status != TV_OK)
        return status;
    cg_written written = {.ptx = target->ptx};
    bc_text text;
    bc_arena_init(&written.arena, &m->arena.allocator, 0);
    bc_text_init(&written.text, &m->arena.allocator);
    bc_text_init(&text, &m->arena.allocator);
    cg_put_module(m, &written.text);
    for (size_t i = 0; i < m->function_count && status == TV_OK; i++) {
        cg_func c = {.m = m,
                     .f = &m->functions[i],
                     .target = target,
                     .options = options,
                     .launch = request->launch,
                     .witness = request->witness,
                     .choices = request->choices,
                     .sink = sink,
                     .written = &written};
        if (is_wanted(c.f, request) && (status = check_entry(&c)) == TV_OK)
            status = compile_kernel(&c, &watch, request);
    }
    uint8_t ptx = written.ptx;
    if (status == TV_OK && options && options->ptx_version && ptx > options->ptx_version)
        status = refuse_version(m, options, target, ptx, sink);
    bc_text_printf(&text, "// tilevm %s\n.version %u.%u\n.target %s\n.address_size 64\n\n", TV_VERSION, ptx / 10u,
                   ptx % 10u, target->name);
    bc_text_str(&text, bc_text_get(&written.text));
    put_files(&written, &text);
    if (status == TV_OK && watch.stops)
        status = written.text.failed ? TV_NO_MEMORY : TV_OK;
    else if (status == TV_OK)
        status = text.failed || written.text.failed        ? TV_NO_MEMORY
                 : out.write(out.user, text.ptr, text.len) ? TV_OK
                                                           : TV_IO;
    bc_arena_release(&written.arena);
    bc_text_release(&written.text);
    bc_text_release(&text);
    return status;
}

tv_status cg_compile_with(const tv_module *m, const tv_compile_options *options, const cg_request *request,
                          tv_sink sink, tv_writer out)
{
    TV_RETURN_COMPUTED(compile_module(m, options, request, sink, out));
}
