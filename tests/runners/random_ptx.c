/* random_ptx SEEDS TARGET [FIRST [gpu]]: random kernels on the virtual machine and, compiled, on the PTX simulator or a
   GPU, for seeds from FIRST (1) on.

   A kernel is drawn from ops whose results are known to the bit (but for NaNs). The machine runs it with its checks,
   and ops whose results are undefined or that end the run are taken out until it runs without a finding. Then half of
   its ops, as the seed chooses, are made to log their results, and the others are compiled as they would be anyway. The
   machine and the simulator (or GPU) run that; the logs and all memory must be the same.

   RANDOM_PTX_KEEP=FOLDER keeps the kernels that fail, as bytecode; RANDOM_PTX_SHOW=1 shows what is taken out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/dtype.h"
#include "bytecode/number/number.h"
#include "bytecode/verify/verify.h"
#include "tests/common/files.h"
#include "tests/common/gpu.h"
#include "tests/random/trial.h"
#include "tools/tilevm/module/edit.h"
#include "tools/tilevm/module/expose.h"
#include "tools/tilevm/gen/gen.h"

enum {
    PAGE = 4096,
    BUFFER = 1 << 18,
    START = BUFFER / 4,
    STEPS = 20000,
    REPAIRS = 60,
    MOST_BLOCKS = 3,
    CAPACITY = 1 << 21
};

/* ---- which ops ---- */

static bool is_float(const bc_value *v)
{
    return bc_is_tile(v->type) && bc_kinds[bc_elem_kind(v->type)].kind_class == BC_CLASS_FLOAT;
}

static bool has_rounding(const bc_op *op, int row)
{
    bc_RoundingMode mode = (bc_RoundingMode)bc_attr_of(op, row)->u;
    return mode != BC_RoundingMode_approx && mode != BC_RoundingMode_full;
}

/* May two elements of a tile be the same one of memory? Then the one that is stored last is not known, where the access
   has an order and so is no race. */
static bool may_overlap(const bc_type *view)
{
    const bc_type *tensor = view->elem;
    for (uint32_t i = 0; i < tensor->rank; i++)
        for (uint32_t k = 0; k < tensor->rank; k++) {
            int64_t step = tensor->strides[i], size = tensor->shape[k], inner = tensor->strides[k];
            bool outer = step > inner || (step == inner && i < k);
            if (step == BC_DYNAMIC || inner == BC_DYNAMIC || size == BC_DYNAMIC
                || (i != k && outer && inner * size > step))
                return true;
        }
    return view->kind == BC_GATHER_SCATTER_VIEW;
}

/* Ops of which every element is known. */
static bool is_exact(const bc_op *op)
{
    switch (op->opcode) {
    case OP_cos:
    case OP_cosh:
    case OP_exp:
    case OP_exp2:
    case OP_log:
    case OP_log2:
    case OP_sin:
    case OP_sinh:
    case OP_tan:
    case OP_tanh:
    case OP_atan2:
    case OP_fpowf:
    case OP_fpowi:
    case OP_rsqrt: return false;
    case OP_divf: return has_rounding(op, F_divf_rounding_mode);
    case OP_sqrt: return has_rounding(op, F_sqrt_rounding_mode);
    case OP_mmaf: { /* the others are summed in the order of the target */
        bc_kind kind = bc_elem_kind(bc_operands(op)[0]->type);
        return kind == BC_F32 || kind == BC_F64;
    }
    case OP_mmaf_scaled: return false;
    case OP_bitcast: /* the pattern of a NaN is nobody's promise */
    case OP_pack:
    case OP_ptr_to_int: /* nor is where a global lies */
    case OP_ptr_to_ptr: return !is_float(bc_operands(op)[0]) && bc_elem_kind(bc_operands(op)[0]->type) != BC_PTR;
    case OP_multimem_load_reduce_view_tko:
    case OP_multimem_reduce_view_tko:
    case OP_multimem_store_view_tko: return false;
    case OP_load_ptr_tko: /* what is masked must have a value */
        return !bc_operand(op, F_load_ptr_tko_mask) || bc_operand(op, F_load_ptr_tko_padding_value);
    case OP_load_view_tko: return bc_type_of(op, F_load_view_tko_view)->padding != BC_NO_PADDING;
    case OP_store_view_tko:
        return bc_attr_u(op, F_store_view_tko_memory_ordering_semantics) == BC_MemoryOrderingSemantics_weak
               || !may_overlap(bc_type_of(op, F_store_view_tko_view));
    case OP_atomic_red_view_tko: return !may_overlap(bc_type_of(op, F_atomic_red_view_tko_view));
    default: return true;
    }
}

/* ---- memory ---- */

static trial_memory memory_new(const tv_module *m, uint32_t blocks)
{
    static const uint64_t numbers[] = {8, 1, 3, 16, 0, 2, 5};
    trial_memory out = {.grid = blocks};
    for (size_t i = 0; i < tv_module_entry_param_count(m, 0); i++) {
        tv_entry_param p = tv_module_entry_param(m, 0, i);
        uint64_t n = numbers[i % (sizeof numbers / sizeof *numbers)];
        const bc_type *type = m->functions[0].body->args[i].type;
        bc_kind kind = bc_elem_kind(type);
        if (p.pointer)
            trial_add_array(&out, (bc_kind)type->elem->elem->kind, BUFFER, START);
        else
            trial_add_value(&out, kind == BC_I1     ? n & 1
                                  : kind == BC_TF32 ? bc_int_to_float(kind, n, 64, true) << 13
                                  : bc_kinds[kind].kind_class == BC_CLASS_FLOAT ? bc_int_to_float(kind, n, 64, true)
                                                                                : n);
    }
    return out;
}

/* ---- kernels ---- */

/* The module, tidied and read again; bytes, which it borrows, are replaced. Closes m. */
static tv_module *reopen(tv_module *m, bc_text *bytes)
{
    tv_module *out = NULL;
    bc_text fresh;
    bc_text_init(&fresh, NULL);
    bool fine = bc_module_compact(m) == TV_OK && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK
                && tv_module_write(m, (tv_sink){0}, (tv_writer){&fresh, bc_text_append}) == TV_OK;
    tv_module_close(m);
    bc_text_release(bytes);
    *bytes = fresh;
    if (fine && tv_module_open(bytes->ptr, bytes->len, NULL, (tv_sink){0}, &out) == TV_OK
        && tv_module_verify(out, NULL, (tv_sink){0}) == TV_OK)
        return out;
    tv_module_close(out);
    return NULL;
}

/* The loop around the op, or the op. */
static uint32_t outermost_loop(const bc_function *f, uint32_t index)
{
    bc_op *op = f->body->first;
    uint32_t at = 0, last = index;
    for (; op && at <= index; op = bc_next_op(op, f->body), at++)
        if (!op->block->parent && bc_is_loop(op->opcode))
            last = at;
    return last;
}

/* A kernel that the machine runs without a finding, as bytes; NULL when it took too many repairs. */
static tv_module *make_kernel(uint64_t seed, uint32_t blocks, bc_text *bytes)
{
    const gen_options options = {.seed = seed,
                                 .version = BC_NEWEST,
                                 .functions = 1,
                                 .ops = 10 + (unsigned)(seed % 60),
                                 .depth = 1 + (unsigned)(seed % 3),
                                 .calm = true,
                                 .keep = is_exact};
    tv_module *m = NULL;
    if (gen_module(&options, &m) != TV_OK || !(m = reopen(m, bytes)))
        return NULL;
    trial_memory mem = memory_new(m, blocks);
    for (unsigned i = 0; m && i < REPAIRS; i++) {
        trial_finding f;
        trial_fill(&mem, false);
        tv_status status =
            trial_run_machine(m, &mem, (trial_log){0}, STEPS, TV_CHECK_ALL & ~(unsigned)TV_CHECK_ORDER, &f);
        if (status == TV_OK && !f.found) {
            trial_free(&mem);
            return m;
        }
        if (getenv("RANDOM_PTX_SHOW"))
            printf("seed %" PRIu64 ": op %u: %s\n", seed, f.op_index, f.text);
        uint32_t drop = strncmp(f.text, "X-LIM", 5) == 0 ? outermost_loop(&m->functions[0], f.op_index) : f.op_index;
        if (!f.has_op || !edit_drop_ops(m, 0, drop, 1)) {
            tv_module_close(m);
            m = NULL;
        } else {
            m = reopen(m, bytes);
        }
    }
    trial_free(&mem);
    tv_module_close(m);
    return NULL;
}

/* ---- comparing ---- */

typedef struct tally {
    trial_device device;
    uint32_t blocks; /* on a GPU one: what several do to the same memory has no order */
    unsigned long passed, failed, skipped, records, elements;
} tally;

static void fail(tally *t, uint64_t seed, const bc_text *bytes, const char *what)
{
    char path[600];
    t->failed++;
    fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, what);
    const char *folder = getenv("RANDOM_PTX_KEEP");
    if (folder && (size_t)snprintf(path, sizeof path, "%s/%" PRIu64 ".tbc", folder, seed) < sizeof path
        && !files_write(path, bytes->ptr, bytes->len))
        perror(path);
}

static bool same_element(tv_dtype dtype, const unsigned char *a, const unsigned char *b)
{
    unsigned bits = tv_dtype_bits(dtype);
    bc_kind kind = dtype == TV_TF32 ? BC_F32 : bc_dtypes[dtype].kind;
    return trial_same_element(kind, bits, bc_packed_get(a, bits, 0), bc_packed_get(b, bits, 0));
}

/* The logs of one tile block, record by record. */
static bool same_log(const expose_source *sources, size_t source_count, const expose_window *w, uint32_t block,
                     const unsigned char *vm, const unsigned char *ptx, tally *t, char *what, size_t size)
{
    uint64_t clock, other, place = 0;
    size_t start = expose_log_start(w) + block * (size_t)w->capacity;
    memcpy(&clock, vm + block * sizeof clock, sizeof clock);
    memcpy(&other, ptx + block * sizeof other, sizeof other);
    while (place < clock && place + EXPOSE_HEAD <= w->capacity) {
        uint32_t a, b;
        memcpy(&a, vm + start + place, sizeof a);
        memcpy(&b, ptx + start + place, sizeof b);
        if (a == 0 || a > source_count) /* what no longer fits */
            break;
        const expose_source *s = &sources[a - 1];
        if (a != b) {
            snprintf(what, size, "op %u result %u comes, and in PTX another", s->op_index, s->result);
            return false;
        }
        unsigned bytes = s->is_round ? 0 : tv_dtype_bits(s->dtype) / 8;
        for (uint64_t i = 0; !s->is_round && !s->is_pointer && i < s->count; i++) {
            const unsigned char *x = vm + start + place + EXPOSE_HEAD + i * bytes, *y = ptx + (x - vm);
            t->elements++;
            if (!same_element(s->dtype, x, y)) {
                uint64_t p = bc_packed_get(x, bytes * 8, 0), q = bc_packed_get(y, bytes * 8, 0);
                snprintf(what, size, "op %u result %u element %" PRIu64 ": 0x%" PRIx64 ", in PTX 0x%" PRIx64,
                         s->op_index, s->result, i, p, q);
                return false;
            }
        }
        t->records++;
        place += s->bytes;
    }
    if (clock != other)
        snprintf(what, size, "the log has %" PRIu64 " bytes, in PTX %" PRIu64, clock, other);
    return clock == other;
}

static bool same_logs(const expose_source *sources, size_t source_count, const expose_window *w,
                      const unsigned char *vm, const unsigned char *ptx, tally *t, char *what, size_t size)
{
    for (uint32_t block = 0; block < w->count; block++)
        if (!same_log(sources, source_count, w, block, vm, ptx, t, what, size))
            return false;
    return true;
}

/* The kernel with half of its ops logged. */
static tv_module *exposed(const bc_text *bytes, bc_text *out, const expose_window *w, const expose_source **sources,
                          size_t *count, uint64_t seed)
{
    tv_module *m = NULL;
    if (tv_module_open(bytes->ptr, bytes->len, NULL, (tv_sink){0}, &m) != TV_OK)
        return NULL;
    uint32_t total = m->functions[0].op_count, chosen = 0;
    uint32_t *ops = bc_new(&m->arena, uint32_t, total + 1);
    for (uint32_t i = 0; ops && i < total; i++)
        if ((seed * 2654435761u ^ i * 40503u) >> 7 & 1)
            ops[chosen++] = i;
    if (ops && expose_ops(m, 0, ops, chosen, w, sources, count) && bc_module_compact(m) == TV_OK
        && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK
        && tv_module_write(m, (tv_sink){0}, (tv_writer){out, bc_text_append}) == TV_OK)
        return m;
    tv_module_close(m);
    return NULL;
}

/* Runs both sides; m is the module that logs, made of `plain`. False: what says why. */
static bool same_run(const tv_module *plain, const tv_module *m, const bc_text *text, const expose_source *sources,
                     size_t source_count, const expose_window *w, tally *t, char *what, size_t size)
{
    trial_finding f;
    size_t log_size = (expose_log_size(w) + PAGE - 1) & ~(size_t)(PAGE - 1);
    trial_memory vm = memory_new(plain, w->count), ptx = memory_new(plain, w->count);
    trial_log logs[2] = {{trial_alloc(log_size), log_size}, {trial_alloc(log_size), log_size}};
    trial_fill(&vm, false);
    trial_fill(&ptx, false);
    bool same = trial_run_machine(m, &vm, logs[0], 50 * STEPS, 0, &f) == TV_OK;
    if (!same)
        snprintf(what, size, "%s", f.text);
    same = same && trial_run_ptx(t->device, text, plain->functions[0].name->s, &vm, &ptx, logs, 1, what, size)
           && same_logs(sources, source_count, w, logs[0].bytes, logs[1].bytes, t, what, size)
           && trial_same_memory(&vm, &ptx, what, size);
    trial_free(&vm);
    trial_free(&ptx);
    free(logs[0].bytes);
    free(logs[1].bytes);
    return same;
}

static void run_kernel(uint64_t seed, const char *target, const tv_module *plain, const bc_text *bytes, tally *t)
{
    bc_text changed, text;
    char what[2000] = "cannot be exposed";
    const expose_window w = {.count = t->blocks, .capacity = CAPACITY};
    size_t source_count = 0;
    const expose_source *sources = NULL;
    trial_finding f = {0};
    bc_text_init(&changed, NULL);
    bc_text_init(&text, NULL);
    tv_module *m = exposed(bytes, &changed, &w, &sources, &source_count, seed);
    const tv_compile_options options = {.target = target,
                                        .opt_level = TV_OPT_LEVEL((unsigned)(seed % 4)),
                                        .verify_each = true};
    tv_status status = m ? tv_compile_ptx(m, &options, (tv_sink){&f, trial_note}, (tv_writer){&text, bc_text_append})
                         : TV_INVALID;
    if (m && status != TV_OK)
        snprintf(what, sizeof what, "%s", f.text);
    if (status == TV_UNSUPPORTED)
        t->skipped++;
    else if (status == TV_OK && same_run(plain, m, &text, sources, source_count, &w, t, what, sizeof what))
        t->passed++;
    else
        fail(t, seed, bytes, what);
    tv_module_close(m);
    bc_text_release(&changed);
    bc_text_release(&text);
}

static void run_seed(uint64_t seed, const char *target, tally *t)
{
    bc_text bytes;
    bc_text_init(&bytes, NULL);
    tv_module *plain = make_kernel(seed, t->blocks, &bytes);
    if (plain)
        run_kernel(seed, target, plain, &bytes, t);
    else
        t->skipped++;
    tv_module_close(plain);
    bc_text_release(&bytes);
}

int main(int argc, char **argv)
{
    tally t = {.device = argc > 4 && strcmp(argv[4], "gpu") == 0 ? TRIAL_GPU : TRIAL_PTXSIM};
    t.blocks = t.device == TRIAL_GPU ? 1 : MOST_BLOCKS;
    uint64_t seeds = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (seeds == 0) {
        fprintf(stderr, "usage: random_ptx SEEDS TARGET [FIRST [gpu]]\n");
        return 2;
    }
    if (t.device == TRIAL_GPU && !gpu_open()) {
        printf("random %s: skipped, %s\n", argv[2], gpu_error());
        return 0;
    }
    for (uint64_t i = 0; i < seeds; i++)
        run_seed(first + i, argv[2], &t);
    printf("random %s: %lu passed, %lu failed, %lu left out; %lu results, %lu elements\n", argv[2], t.passed, t.failed,
           t.skipped, t.records, t.elements);
    return t.failed != 0;
}
