/* Writes the parts of a kernel's text around its ops, and reports its figures. */
#include "bytecode/print/print.h"
#include "codegen/access/pointers.h"
#include "codegen/analysis/encoding.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/tensor.h"
#include "codegen/analysis/view.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/module/spell.h"
#include "codegen/plan/budget.h"
#include "codegen/passes/lower.h"
#include "codegen/passes/pass.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

const char *cg_param_type(bc_kind kind)
{
    static const char *const by_bytes[] = {[1] = "u8", [2] = "b16", [4] = "b32", [8] = "b64"};
    return by_bytes[cg_memory_bytes(kind)];
}

static bool has_hint(const cg_func *c)
{
    return cg_hint_of(c, CG_HINT_OCCUPANCY) && !c->groups;
}

/* Does a block have the multiprocessor to itself, in any case? Without being told, ptxas limits the registers of such a
   kernel as if several blocks could share it, and delays loads until registers are free. */
static bool is_alone(cg_func *c)
{
    return !c->groups && !cg_product_registers(c) && cg_block_is_alone(c);
}

/* The registers of a thread that the hint has to leave. */
static uint32_t wanted_beside_hint(cg_func *c, uint32_t held)
{
    return cg_registers_wanted(c, held) + (cg_has_products(c->ir->body) ? 0 : cg_registers_of_masked(c));
}

static bool has_chain(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (cg_is_product(op) && (op->handed || cg_product_before(op)))
            return true;
    return false;
}

/* The blocks for which there is shared memory and, as far as is predicted, registers. */
static uint32_t blocks_that_fit(cg_func *c)
{
    cg_kernel_cost k = {.machine = cg_machine_of(c->target), .shared = cg_shared_bytes(c)};
    uint32_t held = 0;
    if (!cg_registers_held(c, &held)) {
        cg_no_memory(c);
        return 0;
    }
    cg_fit(c, &k, held);
    return k.blocks;
}

/* The same for a chain of products. Without being told, ptxas may take so many registers that fewer share a
   multiprocessor. 0: there is no chain, or no room for a second block. On an H200, 27 chains that change take 0.72 to
   1.02 of the time, 0.94 in the geometric mean; six single products 0.82 to 1.46. */
static uint32_t blocks_of_chain(cg_func *c)
{
    const uint32_t blocks = has_chain(c) && !c->groups && !c->tensor ? blocks_that_fit(c) : 0;
    return blocks > 1 ? blocks : 0;
}

/* Does a thread copy a tile of the ring in several accesses, each shorter than 16 bytes? */
static bool has_short_copies(const cg_ring *ring)
{
    for (uint32_t i = 0; i < ring->load_count; i++) {
        const cg_ring_load *load = &ring->loads[i];
        if (load->vector_bits < cg_chunk_bits(load->op->results[0].type) && load->vector_bits < load->layout.reg_bits)
            return true;
    }
    return false;
}

/* Does a load bring less than 16 bytes to a thread at a time, but at least 4, or shorter ones of several iterations? */
static bool is_short_load(cg_func *c, const ct_op *op)
{
    const bc_type *tile = op->results[0].type;
    const ct_op *loop = ct_loop_around(op);
    uint32_t fast = 0, bits = 0;
    if (op->opcode == OP_load_ptr_tko) {
        const cg_ptr_op p = cg_ptr_op_of(op);
        bits = cg_pointer_vector(c, &p, &fast);
    } else {
        const cg_view_op v = cg_view_op_of(op);
        bits = cg_view_contiguous(&v, &fast) ? cg_view_vector(c, &v, fast) : 0;
    }
    return bits < cg_chunk_bits(tile)
           && (cg_memory_bytes(bc_elem_kind(tile)) << bits >= CG_COPY_BYTES || (loop && loop->unrolled));
}

/* Has a thread accesses of less than 16 bytes on their way that take registers of their own, in the version that is
   likely to run? Those of less than 4 bytes are so many that instructions limit the kernel, unless several iterations
   are executed together, and so do copies of which a thread has one for each tile. */
static bool has_short_loads(cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op && !c->is_versioned; op = ct_next_op(op, c->ir->body)) {
        const bool is_tile = ct_is_load(op) && op->result_count && cg_shape_of(op->results[0].type).tile_bits;
        if (op->opcode == CT_ring ? has_short_copies(op->detail) : is_tile && is_short_load(c, op))
            return true;
    }
    return false;
}

/* The blocks, or as many of them as have shared memory: registers for more would be left unused. */
static uint32_t with_shared_memory(const cg_func *c, uint32_t blocks)
{
    const uint32_t room = ((uint32_t)c->target->shared_kib << 10) / (cg_shared_bytes(c) + CG_SYSTEM_SHARED);
    return room && room < blocks ? room : blocks;
}

/* The blocks for which ptxas is to leave registers where no hint says how many. 0: it is not told. */
static uint32_t blocks_without_hint(cg_func *c)
{
    uint32_t blocks = c->groups ? 0 : cg_blocks_that_suit(c);
    return blocks ? blocks : is_alone(c) ? 1 : blocks_of_chain(c);
}

static void remark_blocks(cg_func *c, uint32_t blocks)
{
    if (blocks == 1)
        cg_remark(c, NULL, CG_REMARK_Occupancy, TV_REMARK_ANALYSIS,
                  "a multiprocessor has room for one block, which may use all its registers: the tiles of a loop take "
                  "at least half of them");
    if (blocks > 1)
        cg_remark(c, NULL, CG_REMARK_Occupancy, TV_REMARK_ANALYSIS,
                  "a thread has the registers that {Blocks=%u} blocks on a multiprocessor leave it", blocks);
}

/* Reports how many blocks have registers: those that suit the kernel, or fewer than the hint requests. */
static void remark_occupancy(cg_func *c)
{
    uint32_t held;
    if (cg_remarks_wanted(c) && !has_hint(c))
        remark_blocks(c, with_shared_memory(c, blocks_without_hint(c)));
    if (!cg_remarks_wanted(c) || !has_hint(c) || !cg_registers_held(c, &held))
        return;
    uint32_t blocks = cg_blocks_hinted(c, wanted_beside_hint(c, held));
    int64_t hint = cg_hint_of(c, CG_HINT_OCCUPANCY), most = c->target->threads / cg_all_threads(c);
    if (blocks < (hint < most ? hint : most))
        cg_remark(c, NULL, CG_REMARK_Occupancy, TV_REMARK_MISSED,
                  "{Blocks=%u} blocks on a multiprocessor, not the {Hint=%u} that the hint asks for: tiles take "
                  "{Held=%u} registers of a thread, some of which would be spilled",
                  blocks ? blocks : 1, (uint32_t)hint, held);
}

/* Reports the kernel's figures, and its largest tile. */
void cg_remark_kernel(cg_func *c)
{
    const ct_value *largest = NULL;
    uint32_t most = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        for (unsigned i = 0; i < op->result_count; i++) {
            const ct_value *v = cg_result(op, i);
            const cg_value *x = cg_value_of(c, v);
            if (!bc_is_tile(v->type) || x->form != CG_TILE || !v->type->rank)
                continue;
            uint32_t bits = cg_class_bits(cg_elem_class(v->type)) << x->home->reg_bits;
            if (bits > most) {
                largest = v;
                most = bits;
            }
        }
    cg_remark(c, NULL, CG_REMARK_Kernel, TV_REMARK_ANALYSIS,
              "{Threads=%u} threads, {Shared=%u} bytes of shared memory, {Barriers=%u} barriers", cg_all_threads(c),
              cg_shared_bytes(c), cg_barrier_count(c));
    remark_occupancy(c);
    if (!largest)
        return;
    bc_text type;
    bc_text_init(&type, &c->m->arena.allocator);
    bc_print_type(&type, largest->type, false);
    uint32_t registers = (most + 31) / 32;
    cg_remark(c, ct_maker_of(ct_unconverted(largest)), CG_REMARK_LargestTile,
              registers >= CG_HALF_OF_REGISTERS ? TV_REMARK_MISSED : TV_REMARK_ANALYSIS,
              "the largest tile, {Type=%s}, takes {Registers=%u} registers per thread%s", bc_text_words(&type),
              registers, registers >= CG_HALF_OF_REGISTERS ? ", and is likely to spill" : "");
    bc_text_release(&type);
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The blocks for which ptxas is to leave registers where a hint says how many. 0: it is not told. A chain has room for
   more than some hints ask for, and nothing else uses it. Without products, ptxas takes more registers than it needs if
   it is told of few blocks, which helps only where loads on their way take many. On an H200, 129 kernels with accesses
   of 16 bytes take 0.82 to 1.04 of the time if it is not told, and ten others without short loads 0.79 to 0.99. */
static uint32_t blocks_with_hint(cg_func *c, uint32_t held)
{
    const uint32_t hinted = cg_blocks_hinted(c, most_of(wanted_beside_hint(c, held), cg_product_registers(c)));
    const bool are_many = hinted * cg_all_threads(c) > cg_machine_of(c->target)->threads_enough;
    if (has_chain(c))
        return most_of(hinted, blocks_without_hint(c));
    return cg_has_products(c->ir->body) || are_many || has_short_loads(c) ? hinted : 0;
}

/* The limits for ptxas: registers per thread, or the number of blocks that a multiprocessor must have room for. */
static void put_blocks(cg_func *c, bc_text *out)
{
    uint32_t held = 0, most = (uint32_t)c->target->threads / cg_all_threads(c), blocks = 0;
    if (c->groups && c->groups->launched)
        bc_text_printf(out, ".maxnreg %u\n", c->groups->launched);
    else if (has_hint(c) && !cg_registers_held(c, &held))
        cg_no_memory(c);
    else if (has_hint(c))
        blocks = blocks_with_hint(c, held);
    else
        blocks = blocks_without_hint(c);
    if (!blocks && is_alone(c))
        blocks = 1;
    blocks = with_shared_memory(c, blocks);
    if (blocks)
        bc_text_printf(out, ".minnctapersm %u\n", blocks < most ? blocks : most);
}

static void put_signature(cg_func *c, bc_text *out)
{
    bc_text_puts(out, ".visible .entry ");
    cg_put_kernel_name(out, c->f->name->s);
    bc_text_puts(out, "(");
    for (uint32_t i = 0; i < c->ir->body->arg_count; i++)
        bc_text_printf(out, "%s\n\t.param .%s tv_param_%u", i ? "," : "",
                       cg_param_type(bc_elem_kind(c->ir->body->args[i].type)), i);
    bc_text_printf(out, "\n)\n.reqntid %u, 1, 1\n", cg_all_threads(c));
    if (c->cluster) {
        cg_need_ptx(c, CG_PTX_OF_CLUSTERS);
        bc_text_printf(out, ".reqnctapercluster %u, 1, 1\n.blocksareclusters\n", c->cluster);
    }
    put_blocks(c, out);
    bc_text_puts(out, "{\n");
    cg_put_registers(c, out);
    if (cg_shared_bytes(c))
        bc_text_printf(out, "\t.shared .align %u .b8 tv_scratch[%u];\n", CG_ENCODING_ALIGN, cg_shared_bytes(c));
    if (c->tensor)
        bc_text_printf(out, "\t.shared .align 16 .b8 tv_tensor[%u];\n", cg_tensor_bytes(c));
    if (c->local_bytes)
        bc_text_printf(out, "\t.local .align 16 .b8 tv_local[%u];\n", c->local_bytes);
    if (c->emit->call_bytes)
        bc_text_printf(out, "\t.local .align 8 .b8 tv_args[%u];\n", c->emit->call_bytes);
}

void cg_put_kernel(cg_func *c, bc_text *out)
{
    bc_text_str(out, bc_text_get(&c->emit->module_text));
    put_signature(c, out);
    bc_text_str(out, bc_text_get(&c->emit->prologue));
    bc_text_str(out, bc_text_get(&c->emit->body));
    bc_text_puts(out, "}\n\n");
}

void cg_dump_lower(cg_func *c, bc_text *out)
{
    cg_put_kernel(c, out);
}
