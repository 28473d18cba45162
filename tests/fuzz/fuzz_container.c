/* Files with device code: whatever the bytes are, the images lie inside the file, and what unpacks has its size. */
#include "container/images.h"

#include "container/bytecode.h"
#include "tests/fuzz/fuzz.h"

typedef struct looking {
    tv_str file;
    unsigned count;
} looking;

static bool look(void *user, const co_image *image)
{
    looking *l = user;
    const co_entry *e = &image->entry;
    FUZZ_CHECK(e->offset <= l->file.len && image->member.len <= l->file.len);
    size_t sum = 0;
    for (size_t i = 0; i < image->member.len; i++)
        sum += (unsigned char)image->member.ptr[i];
    if (image->problem)
        return ++l->count < 200;
    for (size_t i = 0; i < e->source.len; i++)
        sum += (unsigned char)e->source.ptr[i];
    FUZZ_CHECK(e->packed.ptr >= l->file.ptr && e->packed.len <= l->file.len && sum < SIZE_MAX);
    if (!co_image_refusal(image) && e->size <= 1 << 20) {
        unsigned char *out = malloc(e->size ? (size_t)e->size : 1);
        FUZZ_CHECK(out);
        if (!co_unpack(e->packing, e->packed, out, (size_t)e->size) && e->size)
            FUZZ_CHECK(co_bytecode_size(out, (size_t)e->size) <= e->size);
        free(out);
    }
    return ++l->count < 200;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    FUZZ_CHECK(copy);
    if (size)
        memcpy(copy, data, size);
    looking l = {.file = {copy, size}};
    co_images_each(l.file, look, &l);
    free(copy);
    return 0;
}
