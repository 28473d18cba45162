/* The names of a bundle's kernels: which of them is shown, and which of them somebody means. */
#include "bytecode/base/demangle.h"
#include "tools/tilevm/bundle/bundle.h"

bool bundle_has_no_other(const ld_bundle *bundle, const ld_bundle_kernel *kernel)
{
    uint32_t index;
    ld_bundle_found found = ld_bundle_find(bundle, kernel->function, &index);
    return found == LD_BUNDLE_NONE
           || (found == LD_BUNDLE_FOUND
               && bc_str_eq(ld_bundle_head_kernel(&bundle->head, index).symbol, kernel->symbol));
}

tv_str bundle_shown_name(const ld_bundle *bundle, const ld_bundle_kernel *kernel)
{
    return bundle_has_no_other(bundle, kernel) ? kernel->function : kernel->symbol;
}

bool bundle_is_named(const ld_bundle_kernel *kernel, const char *wanted)
{
    bc_cxx_name name;
    return bc_str_is(kernel->symbol, wanted) || bc_str_is(kernel->function, wanted)
           || (bc_demangle(kernel->symbol, &name) && bc_cxx_match(&name, bc_str(wanted)) >= 0);
}
