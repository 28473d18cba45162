/* A mangled symbol, then, after a zero byte, numbers: the signature is decoded and printed, and called with arrays of
   the right rank whose extents, strides and addresses are those numbers. */
#include "tests/fuzz/fuzz.h"

enum { MAX_ARGS = 64, PLACE = 4096 };

/* The numbers one after the other, round and round. */
typedef struct numbers {
    const uint8_t *bytes;
    size_t size, at;
} numbers;

/* A small number from a byte; from 0xf8 to 0xff, one of eight bytes. */
static int64_t next_number(numbers *n)
{
    uint64_t value = n->size ? n->bytes[n->at++ % n->size] : 1;
    for (unsigned i = value >= 0xf8 ? 8 : 0; i; i--)
        value = value << 8 | n->bytes[n->at++ % n->size];
    return (int64_t)value;
}

static void print_param(const tv_param *param)
{
    fuzz_bytes text = {0};
    FUZZ_CHECK(tv_param_print(param, (tv_writer){&text, fuzz_append}) == TV_OK);
    FUZZ_CHECK(!text.ptr || !strchr(text.ptr, '\n'));
    free(text.ptr);
    for (size_t i = 0; i < param->item_count; i++)
        print_param(&param->items[i]);
}

static void call(const tv_signature *s, numbers *n, tv_sink sink)
{
    static unsigned char place[PLACE];
    static int64_t shapes[MAX_ARGS][TV_MAX_RANK], strides[MAX_ARGS][TV_MAX_RANK];
    static tv_array arrays[MAX_ARGS];
    static tv_arg args[MAX_ARGS];
    size_t count = tv_signature_leaf_count(s);
    if (count > MAX_ARGS)
        return;
    for (size_t i = 0; i < count; i++) {
        const tv_param *leaf = tv_signature_leaf(s, i), *array = leaf->kind == TV_PARAM_LIST ? leaf->items : leaf;
        arrays[i] =
            (tv_array){place + (uint64_t)next_number(n) % PLACE, array->dtype, array->ndim, shapes[i], strides[i]};
        for (uint32_t axis = 0; axis < array->ndim; axis++) {
            shapes[i][axis] = next_number(n);
            strides[i][axis] = next_number(n);
        }
        if (next_number(n) % 4 == 0)
            arrays[i].strides = NULL;
        args[i] = leaf->kind == TV_PARAM_SCALAR ? (tv_arg){.dtype = leaf->dtype, .bits = (uint64_t)next_number(n)}
                                                : (tv_arg){.arrays = &arrays[i], .array_count = 1};
    }
    tv_call *made;
    if (tv_call_new(s, args, count, NULL, sink, &made) != TV_OK)
        return;
    size_t params;
    FUZZ_CHECK(tv_call_params(made, &params) && params == tv_signature_slot_count(s));
    void *storage;
    size_t size;
    for (size_t i = 0; tv_call_storage(made, i, &storage, &size); i++)
        FUZZ_CHECK(size > 0);
    tv_call_free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t symbol = zero ? (size_t)(zero - data) : size;
    numbers n = {zero ? zero + 1 : NULL, zero ? size - symbol - 1 : 0, 0};
    tv_signature *s;
    if (tv_signature_open((tv_str){(const char *)data, symbol}, NULL, sink, &s) != TV_OK)
        return 0;
    size_t slots = 0;
    for (size_t i = 0; i < tv_signature_param_count(s); i++)
        print_param(tv_signature_param(s, i));
    for (size_t i = 0; i < tv_signature_leaf_count(s); i++) {
        FUZZ_CHECK(tv_signature_leaf(s, i)->first_slot == slots);
        slots += tv_signature_leaf(s, i)->slot_count;
    }
    FUZZ_CHECK(slots == tv_signature_slot_count(s));
    for (size_t i = 0; i < slots; i++) {
        tv_slot slot;
        FUZZ_CHECK(tv_signature_slot(s, i, &slot) && slot.leaf);
    }
    call(s, &n, sink);
    tv_signature_close(s);
    return 0;
}
