/* Reads the tilevm.toml of a command that reports findings. */
#include "tools/tilevm/report/config.h"

#include <cjson/cJSON.h>
#include <unistd.h>

#define MOST_USES 9007199254740992.0 /* 2^53: no real count is larger */

bool suppress_config_read(suppress_config *c, const char *given)
{
    char error[512];
    const char *path = given ? given : SUPPRESS_CONFIG;
    if (!given && access(path, F_OK) != 0)
        return true;
    if (!cli_read_or_say(path, &c->file))
        return false;
    c->path = path;
    if (suppress_parse(&c->list, path, (const char *)c->file.bytes, c->file.size, error, sizeof error))
        return true;
    cli_error("%s", error);
    return false;
}

void suppress_config_release(suppress_config *c)
{
    suppress_release(&c->list);
    cli_file_free(&c->file);
}

void suppress_config_tell_unused(const suppress_config *c)
{
    char text[2 * SUPPRESS_MOST_CHARACTERS];
    for (size_t i = 0; i < c->list.count; i++) {
        if (c->list.entries[i].uses)
            continue;
        suppress_describe(&c->list.entries[i], text, sizeof text);
        cli_print(stderr, "tilevm: note: %s: no finding was suppressed by %s\n", c->path, text);
    }
}

void suppress_config_json(json_doc *doc, cJSON *parent, const suppress_config *c)
{
    cJSON *list = json_array(doc, parent, "suppressions");
    for (size_t i = 0; i < c->list.count; i++) {
        const suppression *s = &c->list.entries[i];
        cJSON *item = json_object(doc, list, NULL);
        json_text(doc, item, "rule", s->rule);
        if (s->kernel)
            json_text(doc, item, "kernel", s->kernel);
        if (s->file)
            json_text(doc, item, "file", s->file);
        if (s->line)
            json_int(doc, item, "line", s->line);
        json_text(doc, item, "reason", s->reason);
        json_uint(doc, item, "uses", s->uses);
    }
}

int suppress_config_write_uses(const suppress_config *c, const char *path)
{
    json_doc doc = {0};
    cli_out out;
    if (!cli_out_open(&out, path))
        return CLI_ERROR;
    suppress_config_json(&doc, json_document(&doc, "suppressed"), c);
    if (json_finish(&doc, &out))
        return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
    cli_out_abort(&out);
    return cli_error("out of memory");
}

/* The number of uses of an entry. False: the member is missing or invalid. */
static bool read_uses(const cJSON *item, uint64_t *out)
{
    const cJSON *uses = cJSON_GetObjectItemCaseSensitive(item, "uses");
    bool fine = cJSON_IsNumber(uses) && uses->valuedouble >= 0 && uses->valuedouble <= MOST_USES;
    *out = fine ? (uint64_t)uses->valuedouble : 0;
    return fine;
}

bool suppress_config_add_uses(suppress_config *c, const void *bytes, size_t size, uint64_t *out_uses)
{
    cJSON *root = cJSON_ParseWithLength(bytes, size);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "suppressions"), *item;
    bool fine = cJSON_IsArray(list) && (size_t)cJSON_GetArraySize(list) == c->list.count;
    size_t i = 0;
    uint64_t uses;
    *out_uses = 0;
    cJSON_ArrayForEach(item, list) fine = fine && read_uses(item, &uses);
    cJSON_ArrayForEach(item, list)
    {
        if (!fine)
            break;
        read_uses(item, &uses);
        c->list.entries[i++].uses += uses;
        *out_uses += uses;
    }
    cJSON_Delete(root);
    return fine;
}
