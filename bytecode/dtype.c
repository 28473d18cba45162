/* Number types as users name them (dtypes.def). */
#include "bytecode/dtype.h"

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"

const bc_dtype_info bc_dtypes[TV_DTYPE_COUNT] = {
#define DTYPE(name, text_, code_, kind_, is_signed_, numpy_, descr_, tensors_) \
    [TV_##name] = {.text = text_,                                              \
                   .code = code_,                                              \
                   .kind = BC_##kind_,                                         \
                   .is_signed = is_signed_,                                    \
                   .numpy = numpy_,                                            \
                   .descr = descr_,                                            \
                   .tensors = tensors_},
#include "bytecode/dtypes.def"
};

enum { /* rows of the table, counted */
#define DTYPE(name, text, code, kind, is_signed, numpy, descr, tensors) ROW_##name,
#include "bytecode/dtypes.def"
       ROW_COUNT
};
#define DTYPE(name, text, code, kind, is_signed, numpy, descr, tensors) \
    _Static_assert((int)ROW_##name == (int)TV_##name, "dtypes.def is in the order of tv_dtype");
#include "bytecode/dtypes.def"
_Static_assert((int)ROW_COUNT == (int)TV_DTYPE_COUNT, "dtypes.def has every tv_dtype");

const char *tv_dtype_name(tv_dtype dtype)
{
    return bc_dtypes[dtype].text;
}

unsigned tv_dtype_bits(tv_dtype dtype)
{
    unsigned bytes = bc_kind_memory_bytes(bc_dtypes[dtype].kind);
    return bytes ? bytes * 8 : bc_kind_bits(bc_dtypes[dtype].kind);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(tv_str s, const char *word)
{
    size_t i = 0;
    for (; i < s.len && word[i]; i++)
        if (lower(s.ptr[i]) != lower(word[i]))
            return false;
    return i == s.len && !word[i] && i > 0;
}

bool tv_dtype_parse(tv_str text, tv_dtype *out_dtype)
{
    for (int i = 0; i < TV_DTYPE_COUNT; i++) {
        const bc_dtype_info *info = &bc_dtypes[i];
        if (same_word(text, info->text) || same_word(text, info->code) || same_word(text, info->numpy)) {
            *out_dtype = (tv_dtype)i;
            return true;
        }
    }
    return false;
}

bool bc_dtype_from_code(tv_str code, tv_dtype *out_dtype)
{
    for (int i = 0; i < TV_DTYPE_COUNT; i++)
        if (code.len && bc_str_is(code, bc_dtypes[i].code)) {
            *out_dtype = (tv_dtype)i;
            return true;
        }
    return false;
}

bool bc_dtype_from_kind(bc_kind kind, tv_dtype *out_dtype)
{
    for (int i = TV_DTYPE_COUNT; i-- > 0;) /* from the end: the signed one of two */
        if (bc_dtypes[i].kind == kind) {
            *out_dtype = (tv_dtype)i;
            return true;
        }
    return false;
}
