/* Conversions between layouts, emitted as PTX and run on the simulator: random layouts, with copies, with images of
   several bits, those of matrix fragments, of elements of every size. Thread t must hold in register r of the result
   what the second layout says. */
#include <stdlib.h>
#include <string.h>

#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"
#include "tests/ptxsim/ptxsim.h"
#include "tests/unit/test.h"

enum { ROUNDS = 1000, LARGE_EVERY = 20 };

static uint32_t state;

static uint32_t below(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

/* ---- layouts ---- */

static uint32_t *image(cg_layout *l, uint32_t i)
{
    uint32_t lanes = l->reg_bits, warps = lanes + CG_LANE_BITS;
    return i < lanes ? &l->reg[i] : i < warps ? &l->lane[i - lanes] : &l->warp[i - warps];
}

static void swap(cg_layout *l, uint32_t i, uint32_t k)
{
    uint32_t x = *image(l, i);
    *image(l, i) = *image(l, k);
    *image(l, k) = x;
}

/* Index bits in some order to registers, lanes, warps, and the rest to registers; some lanes and warps hold copies. */
static cg_layout random_layout(uint32_t tile_bits, uint32_t warp_bits)
{
    uint8_t order[CG_MAX_TILE_BITS];
    uint32_t next = 0, vector = below(4);
    cg_layout l = {.tile_bits = (uint8_t)tile_bits, .warp_bits = (uint8_t)warp_bits};
    for (uint32_t i = 0; i < tile_bits; i++)
        order[i] = (uint8_t)i;
    for (uint32_t i = below(2) ? tile_bits : 0; i > 1; i--) {
        uint32_t k = below(i);
        uint8_t x = order[i - 1];
        order[i - 1] = order[k];
        order[k] = x;
    }
    while (next < tile_bits && next < vector)
        l.reg[l.reg_bits++] = (uint32_t)1 << order[next++];
    for (uint32_t i = 0; i < CG_LANE_BITS + warp_bits; i++)
        if (next < tile_bits && below(8))
            *(i < CG_LANE_BITS ? &l.lane[i] : &l.warp[i - CG_LANE_BITS]) = (uint32_t)1 << order[next++];
    while (next < tile_bits)
        l.reg[l.reg_bits++] = (uint32_t)1 << order[next++];
    if (below(4) == 0)
        l.reg[l.reg_bits++] = 0;
    for (uint32_t i = 0; i < 3 * below(2); i++) { /* images of several bits */
        uint32_t count = l.reg_bits + CG_LANE_BITS + warp_bits, a = below(count), b = below(count);
        if (a != b && *image(&l, a) && *image(&l, b))
            *image(&l, a) ^= *image(&l, b);
    }
    return l;
}

/* The low three index bits as the columns of 8x8 matrices: in a register bit and the low lanes, or, transposed, in the
   high lanes. Takes tiles of 2^8 elements on. */
static cg_layout matrix_layout(uint32_t tile_bits, uint32_t warp_bits)
{
    cg_layout l = {.tile_bits = (uint8_t)tile_bits,
                   .reg_bits = (uint8_t)(tile_bits - CG_LANE_BITS),
                   .warp_bits = (uint8_t)warp_bits};
    bool transposed = below(2);
    uint32_t next = 3, first = tile_bits - 3 - below(tile_bits - 5); /* the other bits, from one of them on */
    if (!transposed)
        l.reg[0] = 1;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        if (transposed ? i >= 2 : i < 2)
            l.lane[i] = transposed ? (uint32_t)1 << (i - 2) : (uint32_t)2 << i;
    for (uint32_t i = 0; i < CG_LANE_BITS + warp_bits && next < tile_bits; i++) {
        uint32_t *to = i < CG_LANE_BITS ? &l.lane[i] : &l.warp[i - CG_LANE_BITS];
        if (!*to && (i < CG_LANE_BITS || below(6)))
            *to = (uint32_t)1 << (3 + (next++ + first) % (tile_bits - 3));
    }
    l.reg_bits = l.reg[0] == 1;
    while (next < tile_bits)
        l.reg[l.reg_bits++] = (uint32_t)1 << (3 + (next++ + first) % (tile_bits - 3));
    return l;
}

/* Another layout in which elements stay in their warp. */
static cg_layout other_lanes(const cg_layout *l)
{
    cg_layout r = *l;
    for (uint32_t i = 0; i < 4; i++)
        swap(&r, r.reg_bits + below(CG_LANE_BITS), r.reg_bits + below(CG_LANE_BITS));
    if (below(2) && r.reg_bits)
        swap(&r, below(r.reg_bits), r.reg_bits + below(CG_LANE_BITS));
    return r;
}

/* ---- one conversion ---- */

/* What element e is, in as many bits as the kind has. */
static uint64_t value_of(bc_kind kind, uint32_t e)
{
    uint32_t hash = e * 2654435761u;
    return kind == BC_I64 ? (uint64_t)e << 32 | hash : hash >> (32 - bc_kind_bits(kind));
}

static cg_val emit_value(cg_func *c, bc_kind kind, cg_val e)
{
    cg_val hash = cg_new(c, CG_B32), x = cg_new(c, cg_class_of(kind));
    cg_ins(c, "mul.lo.u32 %v, %v, %u", hash, e, 2654435761u);
    if (kind == BC_I64) {
        cg_ins(c, "mov.b64 %v, {%v, %v}", x, hash, e);
        return x;
    }
    if (bc_kind_bits(kind) < 32)
        cg_ins(c, "shr.u32 %v, %v, %u", hash, hash, 32 - bc_kind_bits(kind));
    if (x.cls == CG_B32)
        return hash;
    cg_ins(c, x.cls == CG_PRED ? "setp.ne.u32 %v, %v, 0" : "cvt.u16.u32 %v, %v", x, hash);
    return x;
}

/* Stores the registers of a thread as 64-bit numbers side by side. */
static void emit_dump(cg_func *c, const cg_val *regs, uint32_t count)
{
    cg_val out = cg_new(c, CG_B64), at = cg_new(c, CG_B64);
    cg_ins(c, "ld.param.b64 %v, [tv_param_0]", out);
    cg_ins(c, "mul.wide.u32 %v, %v, %u", at, cg_tid(c), count * 8);
    cg_ins(c, "add.s64 %v, %v, %v", out, out, at);
    for (uint32_t r = 0; r < count; r++) {
        cg_val x = cg_reg(c, regs[r]), wide = x.cls == CG_B64 ? x : cg_new(c, CG_B64);
        if (x.cls == CG_PRED)
            cg_ins(c, "selp.b64 %v, 1, 0, %v", wide, x);
        else if (x.cls != CG_B64)
            cg_ins(c, x.cls == CG_B16 ? "cvt.u64.u16 %v, %v" : "cvt.u64.u32 %v, %v", wide, x);
        cg_ins(c, "st.global.b64 [%v+%u], %v", out, r * 8, wide);
    }
    cg_ins(c, "ret");
}

static void put_kernel(cg_func *c, bc_text *out)
{
    bc_text_printf(
        out,
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .b64 tv_param_0)\n"
        ".reqntid %u, 1, 1\n{\n.reg .pred %%p<%u>;\n.reg .b16 %%h<%u>;\n.reg .b32 %%r<%u>;\n.reg .b64 %%d<%u>;\n",
        cg_threads(c), c->emit->registers[CG_PRED] + 1, c->emit->registers[CG_B16] + 1, c->emit->registers[CG_B32] + 1,
        c->emit->registers[CG_B64] + 1);
    bc_text_printf(out, ".shared .align 128 .b8 tv_scratch[%u];\n", cg_shared_bytes(c) + 1);
    bc_text_str(out, bc_text_get(&c->emit->prologue));
    bc_text_str(out, bc_text_get(&c->emit->body));
    bc_text_puts(out, "}\n");
}

static void run(uint32_t round, bc_kind kind, const bc_text *text, const cg_layout *to)
{
    char error[256] = "";
    uint32_t threads = (uint32_t)1 << (CG_LANE_BITS + to->warp_bits), regs = cg_layout_regs(to), wrong = 0;
    ptxsim *sim = ptxsim_load(text->ptr, text->len, error, sizeof error);
    uint64_t *found = calloc((size_t)threads * regs, sizeof *found);
    CHECK_MSG(sim && found, "round %u: %s", round, error);
    if (sim && found) {
        uint64_t address = ptxsim_buffer_add(sim, found, (size_t)threads * regs * sizeof *found, "found");
        bool ok =
            ptxsim_run(sim, &(ptxsim_launch){.grid = {1, 1, 1}, .params = (const void *[]){&address}, .seed = round});
        CHECK_MSG(ok, "round %u: %s", round, ptxsim_report_text(sim));
        for (uint32_t t = 0; t < threads; t++)
            for (uint32_t r = 0; r < regs; r++)
                wrong += found[(size_t)t * regs + r] != value_of(kind, cg_layout_at(to, r, t % 32, t / 32));
        CHECK_MSG(wrong == 0, "round %u: %u of %u registers are wrong", round, wrong, threads * regs);
    }
    free(found);
    ptxsim_free(sim);
}

/* Which ways the rounds have taken. */
static unsigned shuffled, shared, matrices[2][2]; /* stored or loaded; as they are or transposed */

/* As the passes would: all scratch at byte 0, a barrier before what is used again. */
static void plan_conversion(cg_func *c, ct_op *op, bc_kind kind, const cg_layout *from, const cg_layout *to)
{
    c->sharing = bc_new(&c->arena, cg_sharing, 1);
    cg_add_conversion(c, op, kind, from, to);
    for (cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next) {
        e->before = e == op->effects->first ? CG_NOBODY : CG_ALL_WARPS;
        if (e->span.to > c->sharing->scratch_bytes)
            c->sharing->scratch_bytes = e->span.to;
    }
}

static void check_round(uint32_t round)
{
    static const bc_kind kinds[] = {BC_I32, BC_F16, BC_I8, BC_I64, BC_I1, BC_F4E2M1FN};
    bool large = round % LARGE_EVERY == 0; /* more than shared memory holds */
    state = round * 7919 + 1;
    bc_kind kind = kinds[below(large ? 4 : 6)];
    uint32_t warp_bits = large ? 2 + below(2) : below(4), tile_bits = large ? 14 + below(2) : below(13);
    cg_layout from = random_layout(tile_bits, warp_bits),
              to = below(3) ? random_layout(tile_bits, warp_bits) : other_lanes(&from);
    if (kind == BC_F16 && tile_bits >= 8 && below(3))
        *(below(2) ? &from : &to) = matrix_layout(tile_bits, warp_bits);
    bc_module module = {.verified = true};
    bc_arena_init(&module.arena, NULL, 0);
    cg_written written = {0};
    cg_func c = {.m = &module, .target = cg_target_find(bc_str("sm_90")), .warp_bits = warp_bits, .written = &written};
    bc_text text;
    bc_arena_init(&c.arena, NULL, 0);
    cg_emit_begin(&c);
    cg_shared_begin(&c);
    cg_thread_begin(&c, (cg_val){0});
    bc_text_init(&text, NULL);
    cg_val thread = cg_thread_index(&c, &from, UINT32_MAX, 0), *regs = cg_vals(&c, cg_layout_regs(&from));
    for (uint32_t r = 0; regs && r < cg_layout_regs(&from); r++) {
        cg_val e = cg_new(&c, CG_B32);
        cg_ins(&c, "xor.b32 %v, %v, %x", e, cg_reg(&c, thread), cg_layout_reg(&from, r));
        regs[r] = emit_value(&c, kind, e);
    }
    ct_op op = {0};
    plan_conversion(&c, &op, kind, &from, &to);
    cg_val *out = cg_convert(&c, &op, kind, &from, regs, &to);
    CHECK_MSG(out && !c.failed, "round %u", round);
    if (out && !c.failed) {
        emit_dump(&c, out, cg_layout_regs(&to));
        put_kernel(&c, &text);
        shuffled += strstr(text.ptr, "shfl") != NULL;
        shared += strstr(text.ptr, "st.shared") != NULL;
        for (int load = 0; load < 2; load++) {
            const char *found = strstr(text.ptr, load ? "ldmatrix" : "stmatrix");
            if (found)
                matrices[load][memcmp(found + 8, ".sync.aligned.m8n8.x4.trans", 27) == 0]++;
        }
        run(round, kind, &text, &to);
    }
    bc_text_release(&text);
    cg_emit_end(&c);
    bc_arena_release(&c.arena);
    bc_arena_release(&module.arena);
}

/* What a layout says of its images, beside the elements that its registers and threads hold. */
static void check_images(uint32_t round)
{
    state = round * 7919 + 1;
    cg_layout l = random_layout(below(13), below(4));
    uint32_t reg_images = 0, thread_images = 0, reg_copies = 0, thread_copies = 0;
    for (uint32_t i = 0; i < l.reg_bits; i++) {
        uint32_t moves = cg_layout_at(&l, (uint32_t)1 << i, 0, 0);
        reg_images |= moves;
        reg_copies |= moves ? 0 : (uint32_t)1 << i;
    }
    for (uint32_t i = 0; i < (uint32_t)CG_LANE_BITS + l.warp_bits; i++) {
        uint32_t thread = (uint32_t)1 << i, moves = cg_layout_at(&l, 0, thread & 31, thread >> CG_LANE_BITS);
        thread_images |= moves;
        thread_copies |= moves ? 0 : thread;
    }
    CHECK(cg_layout_reg_images(&l) == reg_images && cg_layout_thread_images(&l) == thread_images);
    CHECK(cg_layout_reg_replicas(&l) == reg_copies);
    CHECK(cg_layout_thread_replicas(&l, l.warp_bits) == thread_copies
          && cg_layout_has_replicas(&l) == (thread_copies != 0));
    CHECK(cg_layout_thread_replicas(&l, 0) == (thread_copies & 31u));
}

int main(void)
{
    for (uint32_t round = 0; round < ROUNDS; round++)
        check_images(round);
    for (uint32_t round = 0; round < ROUNDS; round++)
        check_round(round);
    CHECK(shuffled > ROUNDS / 10);
    CHECK(shared > ROUNDS / 10);
    for (int i = 0; i < 4; i++)
        CHECK_MSG(matrices[i / 2][i % 2] > 2, "matrices of form %d: %u rounds", i, matrices[i / 2][i % 2]);
    return TEST_END("convert_layout");
}
