/* Names of C++: taken apart, found by what people write, types of their parameters, and symbols that are too much. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/demangle.h"
#include "tests/unit/test.h"

static bc_cxx_name name;

#define IS(symbol, what, with)                                                                                 \
    do {                                                                                                       \
        bool found_ = bc_demangle(bc_str(symbol), &name);                                                      \
        CHECK_MSG(found_ &&bc_str_is(name.function, what) && bc_str_is(name.params, with), "%s: '%s'", symbol, \
                  found_ ? name.full : "");                                                                    \
    } while (0)

static void test_parts(void)
{
    IS("_Z4vaddPKfS0_Pfi", "vadd", "float const*, float const*, float*, int");
    IS("_Z4axpyIfLi64EEvT_PKS0_PS0_", "axpy<float, 64>", "float, float const*, float*");
    IS("_ZN2ns5scaleIjEEvPKT_PS1_S1_", "ns::scale<unsigned int>", "unsigned int const*, unsigned int*, unsigned int");
    IS("_ZN12_GLOBAL__N_11kEPi", "(anonymous namespace)::k", "int*");
    IS("_Z1kPFviE", "k", "void (*)(int)");
    IS("_Z1kILb1EL4Mode1EEvv", "k<true, (Mode)1>", "");
    IS("_Z1kILin3EEvPN2ns4PairIiS_IfEEE", "k<-3>", "ns::Pair<int, k<float> >*");
    CHECK(!bc_demangle(bc_str("plain"), &name) && !bc_demangle(bc_str(""), &name) && !bc_demangle(bc_str("_Z"), &name));
    CHECK(!bc_demangle(bc_str("_Z5glob"), &name) && !bc_demangle(bc_str("_ZN4cuda"), &name));
    CHECK(!bc_demangle((tv_str){"_Z1kP\0i", 7}, &name));
    CHECK(!bc_demangle(bc_str("_Z1g"), &name)); /* a variable */
}

static void test_params(void)
{
    tv_str rest = bc_str("float const*, std::pair<int, int>, void (*)(int, int), bool"), param;
    unsigned count = 0;
    while (bc_cxx_next_param(&rest, &param))
        count++;
    CHECK(count == 4 && bc_str_is(param, "bool"));
    rest = bc_str("");
    CHECK(!bc_cxx_next_param(&rest, &param));
}

static void test_types(void)
{
    static const struct {
        const char *text;
        bc_cxx_type type;
    } rows[] = {{"unsigned int", {TV_U32, true, false, false}},
                {"bool*", {TV_BOOL, true, true, false}},
                {"bool const*", {TV_BOOL, true, true, true}},
                {"float const&", {TV_F32, true, true, true}},
                {"char", {TV_I8, true, false, false}},
                {"unsigned char*", {TV_U8, true, true, false}},
                {"char16_t", {TV_U16, true, false, false}},
                {"wchar_t const* __restrict", {TV_I32, true, true, true}},
                {"unsigned long long", {TV_U64, true, false, false}},
                {"__half*", {TV_F16, true, true, false}},
                {"__nv_fp8_e4m3 const*", {TV_F8E4M3FN, true, true, true}},
                {"void const*", {TV_BOOL, false, true, true}},
                {"Mode", {TV_BOOL, false, false, false}},
                {"float const* const*", {TV_BOOL, false, true, true}}};
    for (size_t i = 0; i < TV_COUNT(rows); i++) {
        bc_cxx_type type = bc_cxx_type_of(bc_str(rows[i].text)), want = rows[i].type;
        CHECK_MSG(type.known == want.known && (!want.known || type.dtype == want.dtype) && type.pointer == want.pointer
                      && type.constant == want.constant,
                  "%s", rows[i].text);
    }
}

static int match(const char *symbol, const char *wanted)
{
    return bc_demangle(bc_str(symbol), &name) ? bc_cxx_match(&name, bc_str(wanted)) : -2;
}

static void test_matches(void)
{
    static const char *const scale = "_ZN2ns5scaleIjEEvPKT_PS1_S1_", *const axpy = "_Z4axpyIfLm64EEvT_PKS0_PS0_";
    CHECK(match("_Z4vaddPKfS0_Pfi", "vadd") == 0 && match("_Z4vaddPKfS0_Pfi", "vad") == -1);
    CHECK(match("_Z4vaddPKfS0_Pfi", "vadd(float const*,float const*, float*,int)") == 0);
    CHECK(match(scale, "ns::scale<unsigned int>") == 0 && match(scale, "ns::scale<unsigned>") == 0);
    CHECK(match(scale, "ns::scale") == 1 && match(scale, "scale<unsigned>") == 2 && match(scale, "scale") == 2);
    CHECK(match(scale, "void ns::scale<unsigned int>(unsigned int const*, unsigned int*, unsigned int)") == 0);
    CHECK(match(scale, "ns::scale<float>") == -1 && match(scale, "") == -1 && match(scale, "ns") == -1);
    CHECK(match(axpy, "axpy<float, 64>") == 0 && match(axpy, "axpy< float,64ul >") == 0);
    CHECK(match(axpy, "axpy<float>") == 3 && match(axpy, "axpy<flo>") == -1 && match(axpy, "axpy<>") == -1);
    CHECK(match(axpy, "axpy<float,6>") == -1 && match(axpy, ">") == -1 && match(axpy, "float>") == -1);
    static const char *const rms = "_ZN3nrm3rmsIfLi64EEEvPT_"; /* nrm::rms<float, 64> */
    CHECK(match(rms, "rms<float>") == 3 && match(rms, "nrm::rms< float >") == 3 && match(rms, "rms<float,64>") == 2);
    CHECK(match(rms, "rm::rms<float>") == -1);
    CHECK(match("_ZN12_GLOBAL__N_11kEPi", "k") == 2);
    char *longer = malloc(BC_MAX_CXX_NAME + 100);
    memset(longer, 'a', BC_MAX_CXX_NAME + 99);
    longer[BC_MAX_CXX_NAME + 99] = 0;
    CHECK(match(axpy, longer) == -1);
    free(longer);
}

/* Each substitution doubles the name: without a limit this takes all memory and time. */
static void test_huge(void)
{
    char symbol[2100] = "_Z1f1AIiiE";
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_puts(&text, "_Z1f1AIiiE");
    for (unsigned i = 0; i < 60; i++)
        bc_text_printf(&text, "S_I%s%sE", i < 2 ? "S0_" : "S1_", i < 2 ? "S0_" : "S1_");
    CHECK(!bc_demangle(bc_text_get(&text), &name));
    bc_text_clear(&text);
    bc_text_puts(&text, "_Z1f");
    for (unsigned i = 0; i < 36; i++) /* 1AI <before> S<i>_ E: A<A<...>, A<...>> */
        bc_text_puts(&text, "1AI");
    bc_text_char(&text, 'i');
    for (unsigned i = 0; i < 36; i++)
        bc_text_printf(&text, "S%c_E", i < 10 ? (char)('0' + i) : (char)('A' + i - 10));
    CHECK(!bc_demangle(bc_text_get(&text), &name));
    memset(symbol + 4, 'P', sizeof symbol - 4); /* deep */
    CHECK(!bc_demangle((tv_str){symbol, sizeof symbol}, &name));
    symbol[1000] = 'i';
    bc_demangle((tv_str){symbol, 1001}, &name);
    for (size_t len = 0; len < 28; len++)
        bc_demangle((tv_str){"_Z4axpyIfLi64EEvT_PKS0_PS0_", len}, &name);
    bc_text_release(&text);
}

int main(void)
{
    if (!bc_demangle(bc_str("_Z1kv"), &name)) {
        printf("demangle unit: skipped, there is no libstdc++.so.6\n");
        return 0;
    }
    test_parts();
    test_params();
    test_types();
    test_matches();
    test_huge();
    return TEST_END("demangle unit");
}
