/* tv_vm_add_params: what the values of entry parameters reach becomes known, and nothing else (vm/reach.c). */
#include <string.h>

#include "tests/unit/said.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

/* Four elements from a + %offset go to b; a and b are arrays, the offset is a number. */
static const char *const copy = "entry @copy_Kt1_A1f32_A1f32_Si32(%a: tile<ptr<f32>>, %an: tile<i32>, %as: tile<i32>,\n"
                                "    %b: tile<ptr<f32>>, %bn: tile<i32>, %bs: tile<i32>, %offset: tile<i32>) {\n"
                                "  %i = iota : tile<4xi32>\n"
                                "  %o1 = reshape %offset : tile<i32> -> tile<1xi32>\n"
                                "  %o = broadcast %o1 : tile<1xi32> -> tile<4xi32>\n"
                                "  %io = addi %i, %o : tile<4xi32>\n"
                                "  %a1 = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>\n"
                                "  %a4 = broadcast %a1 : tile<1xptr<f32>> -> tile<4xptr<f32>>\n"
                                "  %ap = offset %a4, %io : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>\n"
                                "  %x, %t0 = load_ptr_tko weak %ap : tile<4xptr<f32>> -> tile<4xf32>, token\n"
                                "  %b1 = reshape %b : tile<ptr<f32>> -> tile<1xptr<f32>>\n"
                                "  %b4 = broadcast %b1 : tile<1xptr<f32>> -> tile<4xptr<f32>>\n"
                                "  %bp = offset %b4, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>\n"
                                "  %t1 = store_ptr_tko weak %bp, %x : tile<4xptr<f32>>, tile<4xf32> -> token\n"
                                "  return\n"
                                "}\n";

/* One element of the list's second array goes to its first. */
static const char *const second = "entry @second_Kt2_LA1f32(%list: tile<ptr<i64>>, %count: tile<i32>) {\n"
                                  "  %three = constant <i32: 3> : tile<i32>\n"
                                  "  %at1 = offset %list, %three : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>\n"
                                  "  %w0, %t0 = load_ptr_tko weak %list : tile<ptr<i64>> -> tile<i64>, token\n"
                                  "  %w1, %t1 = load_ptr_tko weak %at1 : tile<ptr<i64>> -> tile<i64>, token\n"
                                  "  %p0 = int_to_ptr %w0 : tile<i64> -> tile<ptr<f32>>\n"
                                  "  %p1 = int_to_ptr %w1 : tile<i64> -> tile<ptr<f32>>\n"
                                  "  %x, %t2 = load_ptr_tko weak %p1 : tile<ptr<f32>> -> tile<f32>, token\n"
                                  "  %t3 = store_ptr_tko weak %p0, %x : tile<ptr<f32>>, tile<f32> -> token\n"
                                  "  return\n"
                                  "}\n";

typedef struct machine {
    tv_module *module;
    tv_signature *signature;
    tv_vm *vm;
} machine;

static bool start(machine *m, const char *text)
{
    *m = (machine){0};
    said[0] = 0;
    bool good = tv_module_parse(text, strlen(text), 0, NULL, sink, &m->module) == TV_OK
                && tv_module_verify(m->module, NULL, sink) == TV_OK
                && tv_signature_of_entry(m->module, 0, sink, &m->signature) == TV_OK
                && tv_vm_new(m->module, NULL, sink, &m->vm) == TV_OK;
    CHECK_MSG(good, "%s", said);
    return good;
}

static void stop(machine *m)
{
    tv_vm_free(m->vm);
    tv_signature_close(m->signature);
    tv_module_close(m->module);
}

/* Makes the parameters known and runs one tile block. */
static tv_status go(machine *m, const void *const *params, size_t count, const tv_leaf *leaves)
{
    said[0] = 0;
    tv_vm_clear_buffers(m->vm);
    tv_status status = tv_vm_add_params(m->vm, m->signature, params, count, leaves, sink);
    return status != TV_OK ? status : tv_vm_run(m->vm, NULL, (const uint32_t[]){1, 1, 1}, params, count, sink);
}

static void check_arrays(void)
{
    machine m;
    if (!start(&m, copy))
        return;
    float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, *a = x, *b = x + 8;
    int32_t n = 8, k = 4, one = 1, offset = 4;
    const void *params[] = {&a, &n, &one, &b, &k, &one, &offset};
    CHECK(go(&m, params, 7, NULL) == TV_OK);
    CHECK(x[8] == 4 && x[11] == 7);
    offset = 5;                              /* the ninth element is b's, but the access reaches over the end of a */
    CHECK(go(&m, params, 7, NULL) == TV_OK); /* 4-byte elements: each is in one buffer or the other */
    offset = 9;
    CHECK(go(&m, params, 7, NULL) == TV_TRAP && strstr(said, "X-MEM-01"));

    b = x + 4; /* overlaps a: one buffer, which is writable, as the leaf b is */
    offset = 0;
    const tv_leaf leaves[] = {{.name = "in", .read_only = true}, {.name = "out"}, {0}};
    CHECK(go(&m, params, 7, leaves) == TV_OK && x[4] == 0 && x[7] == 3);
    b = x + 8;
    const tv_leaf sealed[] = {{0}, {.name = "out", .read_only = true}, {0}};
    CHECK_MSG(go(&m, params, 7, sealed) == TV_TRAP && strstr(said, "out"), "%s", said);

    n = -1;
    CHECK_MSG(go(&m, params, 7, leaves) == TV_USAGE && strstr(said, "'in': extent 0 is negative"), "%s", said);
    n = 8;
    a = NULL;
    CHECK_MSG(go(&m, params, 7, leaves) == TV_USAGE && strstr(said, "'in' has no memory: its 32 bytes"), "%s", said);
    n = 0; /* an empty array reaches nothing, and needs no memory */
    offset = 0;
    CHECK(go(&m, params, 7, NULL) == TV_TRAP);
    CHECK(go(&m, params, 6, NULL) == TV_USAGE);
    stop(&m);
}

static void check_lists(void)
{
    machine m;
    if (!start(&m, second))
        return;
    float x[2] = {1, 2}, y[2] = {3, 4};
    int64_t words[] = {(intptr_t)x, 2, 1, (intptr_t)y, 2, 1}, *list = words;
    int32_t count = 2;
    const void *params[] = {&list, &count};
    CHECK_MSG(go(&m, params, 2, NULL) == TV_OK && x[0] == 3, "%s", said);
    count = 1; /* the second descriptor is not the list's */
    CHECK(go(&m, params, 2, NULL) == TV_TRAP);
    count = -1;
    CHECK_MSG(go(&m, params, 2, NULL) == TV_USAGE && strstr(said, "negative number"), "%s", said);
    count = 2;
    words[3] = 0;
    CHECK_MSG(go(&m, params, 2, NULL) == TV_USAGE && strstr(said, "has no memory: its 8 bytes"), "%s", said);
    list = NULL;
    CHECK_MSG(go(&m, params, 2, NULL) == TV_USAGE && strstr(said, "has no memory: its 48 bytes"), "%s", said);
    stop(&m);
}

int main(void)
{
    check_arrays();
    check_lists();
    return TEST_END("reach");
}
