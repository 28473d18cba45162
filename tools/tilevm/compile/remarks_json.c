/* Remarks as JSON: in a file of its own, for programs that have no JSON. */
#include <stdio.h>

#include "tools/tilevm/compile/remarks.h"

void remarks_json(json_doc *doc, cJSON *list, const char *target, const tv_remark *remark)
{
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "target", target);
    json_text(doc, item, "kind", remarks_kind(remark->kind));
    json_text(doc, item, "category", remark->category);
    json_text(doc, item, "name", remark->name);
    json_str(doc, item, "kernel", remark->function);
    if (remark->op.len)
        json_str(doc, item, "op", remark->op);
    if (remark->offset != TV_NO_OFFSET)
        json_uint(doc, item, "offset", remark->offset);
    cJSON *values = json_object(doc, item, "values");
    for (size_t i = 0; i < remark->arg_count; i++)
        if (remark->args[i].key.len) {
            char key[64];
            snprintf(key, sizeof key, "%.*s", (int)remark->args[i].key.len, remark->args[i].key.ptr);
            json_str(doc, values, key, remark->args[i].value);
        }
    json_str(doc, item, "message", remark->message);
}
