/* Bytecode to PTX: one .entry per kernel of the module. */
#include <stdio.h>
#include <string.h>

#include "bytecode/print/print.h"
#include "bytecode/verify/hints.h"
#include "codegen/assign.h"
#include "codegen/budget.h"
#include "codegen/call.h"
#include "codegen/facts.h"
#include "codegen/groups.h"
#include "codegen/mma.h"
#include "codegen/pass.h"
#include "codegen/remarks.h"
#include "codegen/ring.h"
#include "codegen/spell.h"
#include "codegen/strips.h"
#include "codegen/view.h"

void cg_no_memory(cg_func *c)
{
    c->failed = true;
    c->status = TV_NO_MEMORY;
}

void cg_unsupported(cg_func *c, const ct_op *op, const char *format, ...)
{
    if (c->failed)
        return;
    va_list args;
    va_start(args, format);
    bc_report_as(c->m, c->sink, &(bc_place){.function = c->f, .op = op ? op->from : NULL, .row = BC_NO_ROW},
                 BC_RULE_G_GEN_01, TV_ERROR, NULL, format, args);
    va_end(args);
    c->failed = true;
    c->status = TV_UNSUPPORTED;
}

/* ---- parameters ---- */

/* A byte for i1 and i4, whose upper bits mean nothing. */
static const char *param_type(bc_kind kind)
{
    static const char *const by_bytes[] = {[1] = "u8", [2] = "b16", [4] = "b32", [8] = "b64"};
    return by_bytes[cg_memory_bytes(kind)];
}

/* What PTX counts: each parameter lies at a multiple of its size. */
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

/* What PTX does not take of a kernel, whatever it does. Sources: PTX ISA, "Identifiers" and "Kernel function
   parameters" (the larger limit needs sm_70, which every target is). */
static tv_status check_entry(cg_func *c)
{
    enum { MOST = 32764, MOST_BEFORE = 4352, PTX_OF_MOST = 81 };
    tv_str name = c->f->name->s;
    uint64_t bytes = param_bytes(c->f->body);
    if (!cg_is_kernel_name(name))
        refuse_entry(c, BC_RULE_G_NAM_01, "kernel '%.*s' has a name that PTX cannot have", (int)name.len, name.ptr);
    else if (bytes > MOST)
        refuse_entry(c, BC_RULE_G_PAR_01, "kernel '%.*s' takes %llu bytes of parameters; PTX has %d", (int)name.len,
                     name.ptr, (unsigned long long)bytes, MOST);
    else if (bytes > MOST_BEFORE && !cg_may_use_ptx(c, PTX_OF_MOST))
        refuse_entry(c, BC_RULE_G_PAR_01,
                     "kernel '%.*s' takes %llu bytes of parameters; PTX has %d before 8.1, and what takes it knows PTX "
                     "up to %u.%u",
                     (int)name.len, name.ptr, (unsigned long long)bytes, MOST_BEFORE, c->options->ptx_version / 10,
                     c->options->ptx_version % 10);
    else if (bytes > MOST_BEFORE)
        cg_need_ptx(c, PTX_OF_MOST);
    return c->status;
}

static void load_params(cg_func *c, const ct_block *body)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        bc_kind kind = bc_elem_kind(body->args[i].type);
        cg_val raw = cg_new(c, kind == BC_I1 ? CG_B32 : cg_class_of(kind)), value = raw;
        cg_ins_first(c, "ld.param.%s %v, [%s_%u]", param_type(kind), raw, "tv_param", i);
        if (kind == BC_I1 || kind == BC_I4) {
            value = cg_new(c, CG_B32);
            cg_ins_first(c, "and.b32 %v, %v, %u", value, raw, kind == BC_I1 ? 1u : 15u);
        }
        if (kind == BC_I1) {
            cg_val bit = value;
            value = cg_new(c, CG_PRED);
            cg_ins_first(c, "setp.ne.u32 %v, %v, 0", value, bit);
        }
        cg_val *regs = cg_vals(c, 1);
        if (!regs)
            return;
        regs[0] = value;
        cg_value_of(c, &body->args[i])->home = scalar;
        cg_set(c, &body->args[i], regs);
    }
}

/* Whether the symbol promises that arrays do not share memory: a cuTile signature without alias groups or lists. */
static bool arrays_are_apart(const bc_module *m, const bc_function *f)
{
    tv_signature *signature;
    if (tv_signature_open(f->name->s, &m->arena.allocator, (tv_sink){0}, &signature) != TV_OK)
        return false;
    bool apart = true;
    for (size_t i = 0; i < tv_signature_leaf_count(signature); i++) {
        const tv_param *leaf = tv_signature_leaf(signature, i);
        apart = apart && leaf->group_count == 0 && leaf->kind != TV_PARAM_LIST && leaf->kind != TV_PARAM_POINTER;
    }
    tv_signature_close(signature);
    return apart;
}

/* ---- one kernel ---- */

static uint32_t ring_offset(const cg_func *c)
{
    return (c->kept_bytes + CG_STAGE_ALIGN - 1) & ~(uint32_t)(CG_STAGE_ALIGN - 1);
}

static uint32_t shared_bytes(const cg_func *c)
{
    uint32_t with_ring = c->ring_bytes ? ring_offset(c) + c->ring_bytes : 0;
    return with_ring > c->shared_bytes ? with_ring : c->shared_bytes;
}

/* Figures of the kernel, and its tile of most elements. */
static void remark_kernel(cg_func *c)
{
    enum { LIKELY_TO_SPILL = 128 }; /* 32-bit registers of one tile in a thread; there are 255 */
    const ct_value *largest = NULL;
    uint32_t most = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        for (unsigned i = 0; i < op->result_count; i++) {
            const ct_value *v = cg_result(op, i);
            const cg_value *x = cg_value_of(c, v);
            if (!bc_is_tile(v->type) || x->form != CG_TILE || !v->type->rank)
                continue;
            uint32_t bits = cg_class_bits(cg_elem_class(v->type)) << x->home.reg_bits;
            if (bits > most) {
                largest = v;
                most = bits;
            }
        }
    cg_remark(c, NULL, CG_REMARK_Kernel, TV_REMARK_ANALYSIS,
              "{Threads=%u} threads, {Shared=%u} bytes of shared memory, {Barriers=%u} barriers", cg_threads(c),
              shared_bytes(c), c->barriers);
    if (!largest)
        return;
    bc_text type;
    bc_text_init(&type, &c->m->arena.allocator);
    bc_print_type(&type, largest->type, false);
    uint32_t registers = (most + 31) / 32;
    cg_remark(c, largest->op, CG_REMARK_LargestTile,
              registers >= LIKELY_TO_SPILL ? TV_REMARK_MISSED : TV_REMARK_ANALYSIS,
              "the largest tile, {Type=%s}, takes {Registers=%u} registers of a thread%s", bc_text_words(&type),
              registers, registers >= LIKELY_TO_SPILL ? ", and is likely to spill" : "");
    bc_text_release(&type);
}

static void put_signature(cg_func *c, bc_text *out)
{
    bc_text_puts(out, ".visible .entry ");
    cg_put_kernel_name(out, c->f->name->s);
    bc_text_puts(out, "(");
    for (uint32_t i = 0; i < c->ir->body->arg_count; i++)
        bc_text_printf(out, "%s\n\t.param .%s tv_param_%u", i ? "," : "",
                       param_type(bc_elem_kind(c->ir->body->args[i].type)), i);
    bc_text_printf(out, "\n)\n.reqntid %u, 1, 1\n", cg_all_threads(c));
    int64_t blocks = bc_entry_hint(c->f, c->target->sm, "occupancy"), most = c->target->threads / cg_all_threads(c);
    if (c->groups && c->groups->launched)
        bc_text_printf(out, ".maxnreg %u\n", c->groups->launched);
    else if (blocks && !c->groups)
        bc_text_printf(out, ".minnctapersm %d\n", (int)(blocks < most ? blocks : most));
    bc_text_puts(out, "{\n");
    cg_put_registers(c, out);
    if (shared_bytes(c))
        bc_text_printf(out, "\t.shared .align %u .b8 tv_scratch[%u];\n", CG_STAGE_ALIGN, shared_bytes(c));
    if (cg_strips_local(c))
        bc_text_printf(out, "\t.local .align 16 .b8 tv_local[%u];\n", cg_strips_local(c));
    if (c->call_bytes)
        bc_text_printf(out, "\t.local .align 8 .b8 tv_args[%u];\n", c->call_bytes);
}

void cg_pass_facts(cg_func *c)
{
    if (!cg_find_facts(c->ir) || !cg_find_views(c->ir))
        cg_no_memory(c);
}

void cg_pass_layouts(cg_func *c)
{
    const ct_block *body = c->ir->body;
    size_t size = c->ir->value_count * sizeof *c->values;
    c->values = bc_new(&c->arena, cg_value, c->ir->value_count + 1u);
    c->decided = bc_new(&c->arena, cg_layout *, c->ir->value_count + 1u);
    if (!c->values || !c->decided) {
        cg_no_memory(c);
        return;
    }
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    for (c->deciding = true;; c->deciding = false) {
        memset(c->values, 0, size);
        for (uint32_t i = 0; i < body->arg_count; i++)
            cg_set_home(c, &body->args[i], &scalar, 0);
        cg_assign_block(c, body);
        if (!c->deciding || c->failed)
            break;
    }
}

void cg_pass_lower(cg_func *c)
{
    c->ring_bytes = cg_ring_bytes(c);
    load_params(c, c->ir->body);
    cg_block(c, c->ir->body);
    if (c->ring.id) {
        cg_ins_first(c, "mov.u32 %v, tv_scratch", c->ring);
        cg_ins_first(c, "add.u32 %v, %v, %u", c->ring, c->ring, ring_offset(c));
    }
    if (!c->failed && cg_remarks_wanted(c))
        remark_kernel(c);
}

void cg_put_kernel(cg_func *c, bc_text *out)
{
    bc_text_str(out, bc_text_get(&c->module_text));
    put_signature(c, out);
    bc_text_str(out, bc_text_get(&c->prologue));
    bc_text_str(out, bc_text_get(&c->body));
    bc_text_puts(out, "}\n\n");
}

static tv_status compile_kernel(cg_func *c, const cg_watch *watch, bc_text *out)
{
    bc_arena_init(&c->arena, &c->m->arena.allocator, 0);
    bc_text *const texts[] = {&c->prologue, &c->body, &c->module_text};
    for (int i = 0; i < 3; i++)
        bc_text_init(texts[i], &c->m->arena.allocator);
    if (!(c->ir = ct_import(c->f, &c->arena))) {
        bc_arena_release(&c->arena);
        return c->status = TV_NO_MEMORY;
    }
    cg_warps warps = cg_choose_warps(c);
    c->warp_bits = warps.bits;
    cg_strips_begin(c, warps.strip_bits);
    c->params_apart = arrays_are_apart(c->m, c->f);
    cg_run_passes(c, watch);
    cg_strips_end(c);
    if (!c->failed && !watch->stops)
        cg_put_kernel(c, out);
    if (!c->failed && (c->prologue.failed || c->body.failed || c->module_text.failed || c->arena.failed))
        c->status = TV_NO_MEMORY;
    tv_status status = c->status;
    for (int i = 0; i < 3; i++)
        bc_text_release(texts[i]);
    bc_arena_release(&c->arena);
    return status;
}

/* Names of inlined functions, as .loc refers to them: PTX takes them from a section of strings. */
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

/* After the kernels: .loc may name files that come later. */
static void put_files(const cg_files *files, bc_text *out)
{
    for (size_t i = 0; i < files->names.count; i++) {
        bc_text_printf(out, ".file %zu \"", i + 1);
        cg_put_file_name(out, files->names.items[i]);
        bc_text_puts(out, "\"\n");
    }
    put_functions(&files->functions, out);
}

static const char target_names[] = ""
#define TARGET(name, sm, suffix, ptx, shared_kib, threads, features) " " #name
#include "codegen/targets.def"
    ;

static tv_status compile_module(const tv_module *m, const tv_compile_options *options, tv_sink sink, tv_writer out)
{
    const char *name = options && options->target ? options->target : "sm_80";
    const cg_target *target = cg_target_find(bc_str(name));
    bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    if (!m->verified) {
        bc_report(m, sink, &nowhere, BC_RULE_G_GEN_01, "the module has not been verified");
        return TV_USAGE;
    }
    if (!target) {
        bc_report(m, sink, &nowhere, BC_RULE_G_TGT_01, "there is no code for '%s'; there is for%s", name, target_names);
        return TV_USAGE;
    }
    cg_watch watch;
    tv_status status = cg_watch_of(m, options, sink, &watch);
    if (status != TV_OK)
        return status;
    bc_text kernels, text;
    uint8_t ptx = target->ptx;
    bc_text_init(&kernels, &m->arena.allocator);
    bc_text_init(&text, &m->arena.allocator);
    cg_put_module(m, &kernels);
    bc_arena arena;
    bc_arena_init(&arena, &m->arena.allocator, 0);
    cg_files files = {.arena = &arena};
    uint64_t emitted = 0;
    for (size_t i = 0; i < m->function_count && status == TV_OK; i++) {
        cg_func c = {.m = m,
                     .f = &m->functions[i],
                     .target = target,
                     .options = options,
                     .files = &files,
                     .sink = sink,
                     .text_before = kernels.len,
                     .emitted = &emitted};
        if (m->functions[i].flags & BC_FUNC_KERNEL && (status = check_entry(&c)) == TV_OK)
            status = compile_kernel(&c, &watch, &kernels);
        ptx = c.ptx > ptx ? c.ptx : ptx;
    }
    if (status == TV_OK && options && options->ptx_version && ptx > options->ptx_version) {
        char message[160];
        snprintf(message, sizeof message, "the code for %s needs PTX %u.%u; what takes it knows PTX up to %u.%u",
                 target->name, ptx / 10u, ptx % 10u, options->ptx_version / 10, options->ptx_version % 10);
        bc_report_message(m, sink, &nowhere, BC_RULE_G_GEN_01, TV_ERROR,
                          "use a newer driver, or compile for an older GPU if there is one", bc_str(message));
        status = TV_UNSUPPORTED;
    }
    bc_text_printf(&text, "// tilevm %s\n.version %u.%u\n.target %s\n.address_size 64\n\n", TV_VERSION, ptx / 10u,
                   ptx % 10u, target->name);
    bc_text_str(&text, bc_text_get(&kernels));
    put_files(&files, &text);
    if (status == TV_OK && watch.stops)
        status = kernels.failed ? TV_NO_MEMORY : TV_OK;
    else if (status == TV_OK)
        status = text.failed || kernels.failed ? TV_NO_MEMORY : out.write(out.user, text.ptr, text.len) ? TV_OK : TV_IO;
    bc_arena_release(&arena);
    bc_text_release(&kernels);
    bc_text_release(&text);
    return status;
}

tv_status tv_compile_ptx(const tv_module *m, const tv_compile_options *options, tv_sink sink, tv_writer out)
{
    TV_RETURN_COMPUTED(compile_module(m, options, sink, out));
}
