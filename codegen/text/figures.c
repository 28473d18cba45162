/* Reports a kernel's figures: threads, shared memory, barriers, how many blocks share a multiprocessor, and the largest
   tile. */
#include "bytecode/print/print.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/blocks_told.h"
#include "codegen/text/kernel.h"
#include "codegen/values/values.h"

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
    uint32_t held = 0;
    const int64_t hint = cg_hint_of(c, CG_HINT_OCCUPANCY), most = c->target->threads / cg_all_threads(c);
    if (!cg_remarks_wanted(c))
        return;
    const uint32_t blocks = cg_blocks_told(c), hinted = cg_blocks_beside_hint(c, &held);
    if (!hint || c->groups)
        remark_blocks(c, blocks);
    else if (hinted < (hint < most ? hint : most))
        cg_remark(c, NULL, CG_REMARK_Occupancy, TV_REMARK_MISSED,
                  "{Blocks=%u} blocks on a multiprocessor, not the {Hint=%u} that the hint asks for: tiles take "
                  "{Held=%u} registers of a thread, some of which would be spilled",
                  hinted ? hinted : 1, (uint32_t)hint, held);
    else if (blocks > hinted || !blocks)
        cg_remark(c, NULL, CG_REMARK_Occupancy, TV_REMARK_ANALYSIS,
                  "more blocks share a multiprocessor than the {Hint=%u} that the hint asks for", (uint32_t)hint);
    else if (blocks < hinted)
        cg_remark(
            c, NULL, CG_REMARK_Occupancy, TV_REMARK_ANALYSIS,
            "no more than {Blocks=%u} of the {Hint=%u} blocks that the hint asks for have shared memory, so that a "
            "thread may have the registers of the others",
            blocks, (uint32_t)hint);
}

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
