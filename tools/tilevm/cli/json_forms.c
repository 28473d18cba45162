/* Forms of JSON values and documents that consist of others: the same whatever builds the document. */
#include <math.h>

#include "bytecode/base/demangle.h"
#include "tools/tilevm/cli/json.h"

cJSON *json_document(json_doc *doc, const char *command)
{
    char schema[32];
    snprintf(schema, sizeof schema, "tilevm-%s/1", command);
    cJSON *root = json_object(doc, NULL, NULL);
    json_text(doc, root, "schema", schema);
    return root;
}

void json_made(json_doc *doc, cJSON *parent, const char *key, bc_text *text)
{
    doc->failed |= text->failed;
    json_str(doc, parent, key, bc_text_get(text));
    bc_text_clear(text);
}

void json_function(json_doc *doc, cJSON *parent, const char *key, const char *name_key, tv_str symbol)
{
    bc_cxx_name name;
    json_str(doc, parent, key, symbol);
    if (bc_demangle(symbol, &name))
        json_str(doc, parent, name_key, name.function);
}

void json_text(json_doc *doc, cJSON *parent, const char *key, const char *value)
{
    json_str(doc, parent, key, bc_str(value));
}

void json_uint(json_doc *doc, cJSON *parent, const char *key, uint64_t value)
{
    json_real(doc, parent, key, (double)value);
}

void json_int(json_doc *doc, cJSON *parent, const char *key, int64_t value)
{
    const int64_t exact = (int64_t)1 << 53;
    if (value >= -exact && value <= exact) {
        json_real(doc, parent, key, (double)value);
    } else {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)value);
        json_text(doc, parent, key, text);
    }
}

void json_any_real(json_doc *doc, cJSON *parent, const char *key, double value)
{
    if (isfinite(value))
        json_real(doc, parent, key, value);
    else
        json_text(doc, parent, key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

int json_unopened(const char *command, const char *path, const char *output, int code)
{
    cli_out out;
    json_doc doc = {0};
    cJSON *root = json_document(&doc, command);
    json_text(&doc, root, "path", path);
    json_text(&doc, root, "problem", "it cannot be opened");
    if (!cli_out_open(&out, output)) {
        doc.failed = true; /* it was said */
        json_finish(&doc, &out);
        return CLI_ERROR;
    }
    if (json_finish(&doc, &out))
        return cli_out_commit(&out) ? code : CLI_ERROR;
    cli_out_abort(&out);
    return cli_error("out of memory");
}
