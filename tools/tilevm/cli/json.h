/* Building JSON documents. cJSON itself stays in json.c; json_forms.c has what does not need it. Strings may hold any
   bytes: what is not UTF-8 becomes U+FFFD, so that the result is always a JSON text. */
#ifndef TILEVM_TOOLS_CLI_JSON_H
#define TILEVM_TOOLS_CLI_JSON_H

#include "tools/tilevm/cli/cli.h"

typedef struct cJSON cJSON;

typedef struct json_doc {
    cJSON *root;
    bool failed; /* out of memory at some point */
} json_doc;

/* The root of what a command prints: its first member, "schema", says which form this is, "tilevm-run/1". A member that
   goes or means something else makes the number higher; docs/reference/json.md describes them. */
cJSON *json_document(json_doc *doc, const char *command);

/* parent: an object, with the member's name in key; or an array, with key NULL. NULL as parent makes the root. Nothing
   happens after a failure; NULL is fine as a parent then. */
cJSON *json_object(json_doc *doc, cJSON *parent, const char *key);
cJSON *json_array(json_doc *doc, cJSON *parent, const char *key);
void json_str(json_doc *doc, cJSON *parent, const char *key, tv_str value);
/* A text that was put together, which is empty afterwards. */
void json_made(json_doc *doc, cJSON *parent, const char *key, bc_text *text);
/* The symbol of a function, and for one of C++ its name in a member of its own. */
void json_function(json_doc *doc, cJSON *parent, const char *key, const char *name_key, tv_str symbol);
void json_text(json_doc *doc, cJSON *parent, const char *key, const char *value);
void json_uint(json_doc *doc, cJSON *parent, const char *key, uint64_t value);
/* A 64-bit number; as a string when a double cannot hold it. */
void json_int(json_doc *doc, cJSON *parent, const char *key, int64_t value);
void json_real(json_doc *doc, cJSON *parent, const char *key, double value);
/* The same for one that may be infinite or NaN, which JSON does not have: "inf", "-inf", "nan". */
void json_any_real(json_doc *doc, cJSON *parent, const char *key, double value);
void json_bool(json_doc *doc, cJSON *parent, const char *key, bool value);

/* The document of a command for which a file could not be opened, which standard error explains; output as for
   cli_out_open. Gives code. */
int json_unopened(const char *command, const char *path, const char *output, int code);

/* Releases a document that is not wanted, if there is one. */
void json_drop(json_doc *doc);

/* Prints the document and releases it. False: out of memory; nothing was written. */
bool json_finish(json_doc *doc, cli_out *out);

/* The same, appended to a text; and all on one line, for programs. */
bool json_finish_text(json_doc *doc, bc_text *out);
bool json_finish_line(json_doc *doc, bc_text *out);

#endif
