/* Conversions between number types, casts of bits and pointers, pack and unpack. */
#include <string.h>

#include "vm/compile/group.h"
#include "vm/compile/map.h"

static bc_kind from_kind(const bc_op *op)
{
    return bc_elem_kind(bc_operands(op)[0]->type);
}
static bc_kind to_kind(const bc_op *op)
{
    return bc_elem_kind(vm_result(op, 0)->type);
}

/* ---- integers ---- */

/* i1 and i4 are first made a byte with the value's sign, then widened like one. */
void vm_exti(vm_emit *e, const bc_op *op)
{
    bc_kind from = from_kind(op), to = to_kind(op);
    bool s = bc_attr_u(op, F_exti_signedness) == BC_Signedness_signed, small = from == BC_I1 || from == BC_I4;
    unsigned bytes = vm_elem_bytes(to), from_bytes = vm_elem_bytes(from);
    static const vm_kernel_id wider[2][2][3] = {
        /* signed, from 1 or 2 bytes, to 2, 4, 8 */
        {{VM_K_zext_8_16, VM_K_zext_8_32, VM_K_zext_8_64}, {VM_K_NONE, VM_K_zext_16_32, VM_K_zext_16_64}},
        {{VM_K_sext_8_16, VM_K_sext_8_32, VM_K_sext_8_64}, {VM_K_NONE, VM_K_sext_16_32, VM_K_sext_16_64}},
    };
    vm_kernel_id id = VM_K_copy_i8;
    if (from_bytes == 4)
        id = s ? VM_K_sext_32_64 : VM_K_zext_32_64;
    else if (bytes > 1)
        id = wider[s][from_bytes == 2][bytes == 2 ? 0 : bytes == 4 ? 1 : 2];
    vm_map map = vm_map_plain(e, id, 1, bytes, from_bytes);
    if (small && s) {
        map.core = map.kernel;
        map.widen[0] = e->code->kernels->map[from == BC_I1 ? VM_K_sext_i1_i8 : VM_K_sext_i4_i8];
        map.to = (uint8_t)to;
        vm_map_make_wide(&map);
        if (to == BC_I4) { /* from i1 */
            map.core = e->code->kernels->map[VM_K_low_nibble_i8];
        }
    }
    vm_emit_map(e, op, &map);
}

void vm_trunci(vm_emit *e, const bc_op *op)
{
    bc_kind from = from_kind(op), to = to_kind(op);
    unsigned bytes = vm_elem_bytes(to), from_bytes = vm_elem_bytes(from);
    vm_kernel_id id = VM_K_copy_i8;
    if (from_bytes == 2)
        id = VM_K_trunc_16_8;
    if (from_bytes == 4)
        id = bytes == 1 ? VM_K_trunc_32_8 : VM_K_trunc_32_16;
    if (from_bytes == 8)
        id = bytes == 1 ? VM_K_trunc_64_8 : bytes == 2 ? VM_K_trunc_64_16 : VM_K_trunc_64_32;
    vm_map map = vm_map_plain(e, id, 1, bytes, from_bytes);
    if (to == BC_I1 || to == BC_I4) {
        map.widen[0] = map.kernel;
        map.core = e->code->kernels->map[to == BC_I1 ? VM_K_low_bit_i8 : VM_K_low_nibble_i8];
        map.to = (uint8_t)to;
        vm_map_make_wide(&map);
    }
    vm_emit_map(e, op, &map);
}

/* ---- floats ---- */

static void emit_convert(vm_emit *e, const bc_op *op, bc_RoundingMode mode, bool is_signed, bool saturating)
{
    vm_map map = vm_map_convert(e, from_kind(op), to_kind(op), mode, is_signed, saturating);
    vm_emit_map(e, op, &map);
}

void vm_ftof(vm_emit *e, const bc_op *op)
{
    emit_convert(e, op, (bc_RoundingMode)bc_attr_u(op, F_ftof_rounding_mode), false, false);
}
void vm_itof(vm_emit *e, const bc_op *op)
{
    emit_convert(e, op, BC_RoundingMode_nearest_even, bc_attr_u(op, F_itof_signedness) == BC_Signedness_signed, false);
}
void vm_ftoi(vm_emit *e, const bc_op *op)
{
    uint64_t saturating = bc_attr_u(op, F_ftoi_saturating);
    emit_convert(e, op, BC_RoundingMode_zero, bc_attr_u(op, F_ftoi_signedness) == BC_Signedness_signed,
                 saturating != 0 && saturating != BC_ABSENT);
}

/* ---- the same bits ---- */

static void emit_same(vm_emit *e, const bc_op *op)
{
    const bc_value *from = bc_operands(op)[0], *to = vm_result(op, 0);
    if (!vm_group_alias(e, to, from))
        vm_alias(e, to, from, NULL, 0);
}

void vm_bitcast(vm_emit *e, const bc_op *op)
{
    emit_same(e, op);
}
void vm_int_to_ptr(vm_emit *e, const bc_op *op)
{
    emit_same(e, op);
}
void vm_ptr_to_int(vm_emit *e, const bc_op *op)
{
    emit_same(e, op);
}
void vm_ptr_to_ptr(vm_emit *e, const bc_op *op)
{
    emit_same(e, op);
}
void vm_assume(vm_emit *e, const bc_op *op)
{
    emit_same(e, op);
}

/* ---- pointers ---- */

/* Signed multiples of the element size, modulo 2^64; f4 moves by half bytes, of which only whole bytes have an address.
 */
static void run_offset(const vm_map *map, void *out_, const void *a_, const void *b_, const void *c, size_t n)
{
    enum { CHUNK = 256 };
    int64_t wide[CHUNK];
    uint64_t *out = out_;
    const uint64_t *a = a_;
    const unsigned char *b = b_;
    (void)c;
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = n - i < CHUNK ? n - i : CHUNK;
        const unsigned char *from = b + i * map->in_bytes[1];
        if (map->widen[1])
            map->widen[1](wide, from, NULL, NULL, count);
        else
            memcpy(wide, from, count * sizeof *wide);
        for (size_t k = 0; k < count; k++)
            out[i + k] = a[i + k] + (map->scale ? (uint64_t)wide[k] * (uint64_t)map->scale : (uint64_t)(wide[k] >> 1));
    }
}

void vm_offset(vm_emit *e, const bc_op *op)
{
    bc_kind index = bc_elem_kind(bc_operands(op)[1]->type);
    bc_kind pointee = (bc_kind)bc_operands(op)[0]->type->elem->elem->kind;
    vm_map map = {.custom = run_offset, .operands = 2, .out_bytes = 8, .scale = bc_kind_memory_bytes(pointee)};
    map.in_bytes[0] = 8;
    map.in_bytes[1] = (uint8_t)vm_elem_bytes(index);
    map.widen[1] = index == BC_I1 ? e->code->kernels->map[VM_K_sext_i1_i64] : vm_widen_int(e, index, 8, true);
    vm_emit_map(e, op, &map);
}

/* ---- pack, unpack ---- */

typedef struct pack_inst {
    vm_inst head;
    size_t from, to;
    size_t bytes; /* of the packed side */
    uint8_t bits; /* of an element */
} pack_inst;

/* Elements of whole bytes are packed as they are. */
static const vm_inst *copy_run(vm_frame *f, const vm_inst *inst)
{
    const pack_inst *p = (const pack_inst *)inst;
    memcpy(vm_at(f, p->to), vm_at(f, p->from), p->bytes);
    return inst->next;
}

static const vm_inst *pack_run(vm_frame *f, const vm_inst *inst)
{
    const pack_inst *p = (const pack_inst *)inst;
    const uint8_t *from = vm_at(f, p->from);
    uint8_t *to = vm_at(f, p->to);
    unsigned per_byte = 8u / p->bits;
    for (size_t i = 0; i < p->bytes; i++) {
        unsigned byte = 0;
        for (unsigned k = 0; k < per_byte; k++)
            byte |= (unsigned)from[i * per_byte + k] << (k * p->bits);
        to[i] = (uint8_t)byte;
    }
    return inst->next;
}

static const vm_inst *unpack_run(vm_frame *f, const vm_inst *inst)
{
    const pack_inst *p = (const pack_inst *)inst;
    const uint8_t *from = vm_at(f, p->from);
    uint8_t *to = vm_at(f, p->to);
    unsigned per_byte = 8u / p->bits, mask = (1u << p->bits) - 1;
    for (size_t i = 0; i < p->bytes; i++)
        for (unsigned k = 0; k < per_byte; k++)
            to[i * per_byte + k] = (uint8_t)(from[i] >> (k * p->bits) & mask);
    return inst->next;
}

static void emit_pack(vm_emit *e, const bc_op *op, vm_handler *run, const bc_value *packed, const bc_value *elements)
{
    const bc_value *source = bc_operands(op)[0];
    unsigned bits = bc_kind_bits(bc_elem_kind(elements->type));
    vm_need_packed(e, source);
    pack_inst *inst = vm_new_inst(e, op, bits < 8 ? run : copy_run, pack_inst);
    inst->bytes = vm_count(packed);
    inst->bits = (uint8_t)bits;
    vm_read_packed(e, &inst->head, &inst->from, source);
    vm_write(e, &inst->head, &inst->to, vm_result(op, 0));
    vm_append(e, &inst->head);
}

void vm_pack(vm_emit *e, const bc_op *op)
{
    emit_pack(e, op, pack_run, vm_result(op, 0), bc_operands(op)[0]);
}
void vm_unpack(vm_emit *e, const bc_op *op)
{
    emit_pack(e, op, unpack_run, bc_operands(op)[0], vm_result(op, 0));
}
