// The public headers in a C++ program, linked with the installed library.
#include <cstring>
#include <tilevm/tilevm.h>
#include <tilevm/tilevm_cuda.h>

static void ignore(void *, const tv_diag *) {}

int main()
{
    const tv_sink sink = {nullptr, ignore};
    tv_module *module = nullptr;
    tv_dtype dtype;
    const tv_str name = {"bf16", 4};
    bool refused = tv_module_open("", 0, nullptr, sink, &module) == TV_INVALID;
    return refused && std::strcmp(tv_version(), TV_VERSION) == 0 && tv_dtype_parse(name, &dtype) && dtype == TV_BF16 ? 0 : 1;
}
