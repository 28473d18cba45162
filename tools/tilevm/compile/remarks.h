/* Remarks of the code generator as text, as YAML and as a summary; for tilevm compile and tileiras. */
#ifndef TILEVM_TOOLS_COMPILE_REMARKS_H
#define TILEVM_TOOLS_COMPILE_REMARKS_H

#include "tools/tilevm/cli/json.h"

typedef enum remark_category {
#define CATEGORY(name, text) REMARK_##name,
#include "codegen/kernel/remarks.def"
    REMARK_CATEGORY_COUNT
} remark_category;

#define REMARK_ALL (((uint32_t)1 << REMARK_CATEGORY_COUNT) - 1)

/* Where remarks go. */
typedef struct remarks {
    uint32_t wanted[TV_REMARK_KIND_COUNT]; /* bits of the categories, for each kind */
    bool yaml;
    const char *path;          /* of the kernels, in text where a remark has no source place */
    bc_text *out;              /* NULL: remarks are not written */
    bc_text *summary;          /* NULL: no summary is written */
    struct remark_line *lines; /* of the summary of the kernel that is being compiled */
    size_t line_count, line_capacity;
    bool failed; /* out of memory */
} remarks;

/* "all", or names of kinds (passed, missed, analysis) and categories with commas between: kinds alone mean every
   category, categories alone every kind. False: out_bad is a name that is none. */
bool remarks_choose(remarks *r, const char *list, tv_str *out_bad);

/* Does anybody want them? */
bool remarks_wanted(const remarks *r);
tv_remark_sink remarks_sink(remarks *r);

/* "passed" */
const char *remarks_kind(tv_remark_kind kind);
/* Adds the remark to the list, with its values by name. */
void remarks_json(json_doc *doc, cJSON *list, const char *target, const tv_remark *remark);

/* Registers and spills that `ptxas -v` has printed, as remarks. */
void remarks_of_ptxas(tv_str words, tv_remark_sink sink);

/* Appends the summary of what was reported since the last call, kernel by kernel. */
void remarks_summary(remarks *r);

#endif
