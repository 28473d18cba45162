/* Tests whose expected results are files: creates the argument file of the run that writes them. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/suite/suite.h"

enum { MAX_SIZE = 4 << 20 };

/* The path in "ref.npy" or "file(ref.npy, rtol=1e-3)"; empty: the value is something else. */
static tv_str golden_path(const char *value)
{
    static const char call[] = "file(", ending[] = ".npy";
    bool called = strncmp(value, call, sizeof call - 1) == 0;
    const char *path = called ? value + sizeof call - 1 : value;
    size_t len = called ? strcspn(path, ",)") : strlen(path);
    while (called && len && path[len - 1] == ' ')
        len--;
    bool fits = len >= sizeof ending && memcmp(path + len - (sizeof ending - 1), ending, sizeof ending - 1) == 0
                && (called || !strpbrk(path, "(,"));
    return (tv_str){path, fits ? len : 0};
}

/* Moves files from "expect" to "save". Returns their number. -1: out of memory. */
static int move_expectations(cJSON *root)
{
    cJSON *expect = cJSON_GetObjectItemCaseSensitive(root, "expect"), *item = expect ? expect->child : NULL;
    cJSON *save = cJSON_CreateObject();
    int moved = 0;
    while (save && cJSON_IsObject(expect) && item && moved >= 0) {
        cJSON *next = item->next;
        tv_str path = cJSON_IsString(item) ? golden_path(item->valuestring) : (tv_str){"", 0};
        char *copy = path.len ? strndup(path.ptr, path.len) : NULL;
        if (path.len)
            moved = copy && cJSON_AddStringToObject(save, item->string, copy) ? moved + 1 : -1;
        if (copy)
            cJSON_Delete(cJSON_DetachItemViaPointer(expect, item));
        free(copy);
        item = next;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(root, "save");
    if (save && cJSON_AddItemToObject(root, "save", save))
        return moved;
    cJSON_Delete(save);
    return -1;
}

bool suite_update_text(const char *args_path, bc_text *out, bc_text *problem)
{
    cli_file file;
    char *error = NULL;
    if (!cli_read(args_path, &file, &error)) {
        bc_text_puts(problem, error ? error : "out of memory");
        free(error);
        return false;
    }
    cJSON *root = file.size <= MAX_SIZE ? cJSON_ParseWithLength((const char *)file.bytes, file.size) : NULL;
    int moved = cJSON_IsObject(root) ? move_expectations(root) : 0;
    char *text = moved > 0 ? cJSON_Print(root) : NULL;
    if (text)
        bc_text_puts(out, text);
    else
        bc_text_puts(problem, moved < 0 || (moved > 0 && !text) ? "out of memory" : "");
    cJSON_free(text);
    cJSON_Delete(root);
    cli_file_free(&file);
    return text != NULL && !out->failed;
}
