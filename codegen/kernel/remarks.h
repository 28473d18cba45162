/* Remarks report what the code generator did with an op, for people and tools (tv_remark). */
#ifndef TILEVM_CODEGEN_KERNEL_REMARKS_H
#define TILEVM_CODEGEN_KERNEL_REMARKS_H

#include "codegen/kernel/kernel.h"

typedef enum cg_remark_id {
#define REMARK(name, category, text) CG_REMARK_##name,
#include "codegen/kernel/remarks.def"
    CG_REMARK_COUNT
} cg_remark_id;

/* Does anyone receive remarks? Remarks that cost time to compute ask first. */
static inline bool cg_remarks_wanted(const cg_func *c)
{
    return c->options && c->options->remarks.report;
}

/* Reports about an op; NULL: about the kernel. In format, as for printf, {Key=text} is a named value, and the rest
   is the message: "{Count=%u} accesses of {Bytes=%u} bytes". The inserted text must not contain braces. */
void cg_remark(const cg_func *c, const ct_op *op, cg_remark_id id, tv_remark_kind kind, const char *format, ...)
    TV_PRINTF(5, 6);

/* The place of a remark, for callers that have no kernel. */
typedef struct cg_remark_place {
    const bc_module *m;
    tv_str function;
    const char *op;  /* mnemonic; NULL: the whole kernel */
    uint64_t offset; /* in the file, or TV_NO_OFFSET */
    uint32_t loc;    /* in the debug section */
} cg_remark_place;

/* The same for a text that already has the form that cg_remark formats; the function modifies the text. */
void cg_remark_at(const cg_remark_place *place, cg_remark_id id, tv_remark_kind kind, tv_remark_sink sink,
                  bc_text *text);

#endif
