/* Elements in rows of bytes: packed sub-byte elements, and the bytes of constants. */
#include "bytecode/number/number.h"

uint64_t bc_packed_get(const void *bytes, unsigned width, size_t index)
{
    const uint8_t *p = bytes;
    if (width < 8) {
        size_t per_byte = 8 / width;
        return (unsigned)p[index / per_byte] >> (index % per_byte * width) & bc_int_mask(width);
    }
    unsigned size = width / 8;
    uint64_t bits = 0;
    for (unsigned i = 0; i < size; i++)
        bits |= (uint64_t)p[index * size + i] << 8 * i;
    return bits;
}

void bc_packed_set(void *bytes, unsigned width, size_t index, uint64_t bits)
{
    uint8_t *p = bytes;
    if (width < 8) {
        size_t per_byte = 8 / width;
        unsigned shift = (unsigned)(index % per_byte) * width;
        uint8_t *byte = &p[index / per_byte];
        unsigned mask = (unsigned)bc_int_mask(width) << shift;
        *byte = (uint8_t)((*byte & ~mask) | ((unsigned)(bits << shift) & mask));
        return;
    }
    unsigned size = width / 8;
    for (unsigned i = 0; i < size; i++)
        p[index * size + i] = (uint8_t)(bits >> 8 * i);
}

unsigned bc_kind_pack_bits(bc_kind kind)
{
    return kind == BC_TF32 ? 32 : bc_kind_bits(kind);
}

bc_constant_form bc_constant_form_of(const bc_blob *blob, bc_kind kind, uint64_t count)
{
    uint64_t size = bc_kind_constant_bytes(kind);
    if (kind == BC_I1) {
        /* One byte for up to 8 elements is a bitmap; a splat of true, 0xFF, reads the same as one. */
        if (blob->len == count / 8 + (count % 8 != 0))
            return BC_CONSTANT_FULL;
        return blob->len == 1 ? BC_CONSTANT_SPLAT : BC_CONSTANT_WRONG_SIZE;
    }
    if (size == 0) /* not a number */
        return BC_CONSTANT_WRONG_SIZE;
    if (blob->len % size == 0 && blob->len / size == count)
        return BC_CONSTANT_FULL;
    return blob->len == size ? BC_CONSTANT_SPLAT : BC_CONSTANT_WRONG_SIZE;
}

uint64_t bc_constant_element(const bc_blob *blob, bc_kind kind, uint64_t count, uint64_t index)
{
    bc_constant_form form = bc_constant_form_of(blob, kind, count);
    if (form == BC_CONSTANT_WRONG_SIZE || index >= count)
        return 0;
    if (form == BC_CONSTANT_SPLAT)
        index = 0; /* i1: bit 0 counts; writers give 0x00, 0x01 or 0xFF, tileirdisasm reads others so */
    unsigned width = kind == BC_I1 ? 1 : 8 * bc_kind_constant_bytes(kind);
    uint64_t bits = bc_packed_get(blob->ptr, width, (size_t)index);
    return bits & bc_int_mask(bc_kind_bits(kind)); /* tf32 and f4 leave spare bits */
}
