/* Symbols of C++: whatever they are, the demangler comes back soon, parts lie in the whole, and types are read. */
#include "bytecode/base/demangle.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bc_cxx_name name; /* 4 KiB */
    bc_text symbol;
    tv_str param;
    bc_text_init(&symbol, NULL);
    bc_text_puts(&symbol, "_Z");
    bc_text_bytes(&symbol, data, size);
    if (bc_demangle(bc_text_get(&symbol), &name)) {
        size_t len = strlen(name.full);
        FUZZ_CHECK(len < sizeof name.full && name.function.len + name.params.len + 2 <= len);
        for (tv_str rest = name.params; bc_cxx_next_param(&rest, &param);)
            bc_cxx_type_of(param);
        FUZZ_CHECK(bc_cxx_match(&name, bc_str(name.full)) == 0);
    }
    bc_text_release(&symbol);
    return 0;
}
