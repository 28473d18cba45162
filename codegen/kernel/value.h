/* Registers, and the results of the layouts pass for each value. */
#ifndef TILEVM_CODEGEN_KERNEL_VALUE_H
#define TILEVM_CODEGEN_KERNEL_VALUE_H

#include "bytecode/module.h"
#include "codegen/layout/layout.h"

/* ---- registers ---- */

/* PTX registers by width; instructions give them their type. */
typedef enum cg_class { CG_PRED, CG_B16, CG_B32, CG_B64, CG_CLASS_COUNT } cg_class;

/* A register, or a constant that has none. */
typedef struct cg_val {
    uint8_t cls;       /* cg_class */
    bool known : 1;    /* bits is its value */
    bool loaded : 1;   /* a load without a condition has brought the register `word` */
    bool half : 1;     /* the element is four bits of `word`, not a byte or more */
    uint8_t word_bits; /* 16 or 32: an element that was extracted from register `word` of that size, from bit `at`
                          on; otherwise 0 */
    uint8_t at;
    uint32_t id; /* register number; 0: a constant */
    union {
        uint64_t bits;
        uint32_t word;
    };
} cg_val;

static inline cg_val cg_const(cg_class cls, uint64_t bits)
{
    return (cg_val){.cls = (uint8_t)cls, .known = true, .bits = bits};
}

enum { CG_MAX_VECTOR_BITS = 6, CG_MAX_VECTOR = 1 << CG_MAX_VECTOR_BITS }; /* elements of one access */

/* How an element is held: i1 in a predicate; i8, i4, 8- and 4-bit floats zero-extended in 32 bits; the others at their
   size. */
cg_class cg_class_of(bc_kind kind);
/* Bytes of an element in memory, as in global memory; i4 and f4, which share bytes there, take one byte each in
   scratch. */
uint32_t cg_memory_bytes(bc_kind kind);
/* The register class of the elements of a tile (pointers: 64 bits). */
cg_class cg_elem_class(const bc_type *tile);
/* Bits of the class: 1, 16, 32, 64. */
uint32_t cg_class_bits(cg_class cls);

/* ---- values ---- */

typedef struct cg_variant { /* a tile value in one layout */
    const cg_layout *layout;
    cg_val *regs;   /* 1 << layout->reg_bits of them */
    uint32_t strip; /* in strips (codegen/values/strips.h): the loop in which regs are valid; 0: none */
    uint32_t local; /* one more than the number of the local memory that holds it for other loops; 0: none */
    bool wanted;    /* an op reads it */
    struct cg_variant *next;
} cg_variant;

typedef enum cg_form {
    CG_NO_TILE, /* a token, a view */
    CG_TILE,    /* a tile with a chosen layout (`home`) and variants */
    CG_LAZY     /* a tile that is recomputed in every layout in which it is read; it has no home */
} cg_form;

typedef struct cg_value {
    uint8_t form;          /* cg_form */
    uint8_t weight;        /* how much its home should decide the layouts of what is computed from it; 0: not at all */
    const cg_layout *home; /* CG_TILE: its layout; CG_LAZY with weight: its preferred layout; equal layouts share one
                              object */
    cg_variant
        *variants; /* the layouts in which it is needed, home first, including conversions; regs: NULL until emitted */
    /* What cg_assign_<op> leaves for cg_lower_<op>: */
    cg_layout *source; /* of a reduce's first result: the layout in which its operands are read; of a product: the
                          layouts */
    const struct cg_product *product; /* of a product: its description (codegen/analysis/product.h) */
} cg_value;

#endif
