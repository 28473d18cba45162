/* Vectors of elements in memory of any space. */
#ifndef TILEVM_CODEGEN_PTX_ACCESS_H
#define TILEVM_CODEGEN_PTX_ACCESS_H

#include "codegen/kernel/kernel.h"

/* One access: 2^k elements that lie side by side, at most 16 bytes, or 32 in global memory where the target has that.
 */
typedef struct cg_access {
    bc_kind kind;
    const char *space; /* "global", "shared" */
    const char *order; /* "", ".relaxed.gpu", ".acquire.sys" */
    bool packed;       /* elements of half a byte come two in a byte, as in global memory; else one */
    bool wide;         /* a single element of 2 bytes, to a register of 32 bits, whose upper half is zero */
    cg_val address;    /* of the vector's first element, less offset */
    int64_t offset;
    cg_val predicate; /* whether to access at all */
    bool passes;      /* a weak store that should leave L2 before what was read (PTX ISA, st.cs) */
} cg_access;

/* The suffix of an access, for example ".relaxed.gpu"; "" for a weak one. */
const char *cg_order_suffix(uint64_t order, uint64_t scope);

/* `count` > 1 elements of `bits` bits each as one word of 16 or 32 bits, the first lowest; and a word taken apart. A
   word that is put together again as it was is the word. */
cg_val cg_join(cg_func *c, const cg_val *elements, uint32_t count, uint32_t bits);
/* Two bytes that a conversion takes from f8, as a register of 16 bits. Of a word of 32 bits that ptxas (13.0 to 13.5)
   finds out to be 0 late, such as the padding of a load whose condition is never true, it converts another number in
   place of the upper half, unless the half is shifted to a word of its own. It cannot find out what a load without a
   condition brings. */
cg_val cg_join_f8(cg_func *c, const cg_val *two);
/* Are they all of a word of 32 bits that is there? Then it is *out. */
bool cg_whole_word(const cg_val *elements, uint32_t count, uint32_t bits, cg_val *out);
void cg_split(cg_func *c, bc_kind kind, cg_val word, uint32_t count, uint32_t bits, cg_val *out);

/* What two branches give: registers that both write. */
typedef struct cg_settled {
    bc_kind kind;
    uint32_t count,
        in_word;  /* elements; log2 of those in a word that stays whole, so that a load of it is awaited later */
    cg_val *both; /* count of them, or fewer words; id 0: no branch has written it */
} cg_settled;
/* What a branch has, to those registers; and behind both branches, from them. */
void cg_settle(cg_func *c, const cg_settled *s, const cg_val *regs);
void cg_take_settled(cg_func *c, const cg_settled *s, cg_val *out_regs);

/* regs[i] = element i; where the predicate is false they keep what `otherwise` gives (NULL: undefined values are
   fine, and zeros are used). */
void cg_load_vector(cg_func *c, const cg_access *a, uint32_t count, const cg_val *otherwise, cg_val *out_regs);
void cg_store_vector(cg_func *c, const cg_access *a, uint32_t count, const cg_val *regs);

/* The address of an access as an operand. */
void cg_put_address(cg_func *c, const cg_access *a);

#endif
