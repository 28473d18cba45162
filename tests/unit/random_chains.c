/* Random chains of products (tests/random/draw_products.c): some are compiled for pairs of thread blocks with a warp
   that starts their products, so that runs on the simulator test these. */
#include "tests/random/kernel.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

static trial_pairs compile(uint64_t seed)
{
    random_kernel k;
    tv_module *m = NULL;
    bc_text ptx;
    trial_pairs found = {0};
    bc_text_init(&ptx, NULL);
    random_chain_draw(seed, &k);
    const tv_compile_options options = {.target = "sm_100a", .remarks = {&found, trial_note_pairs}};
    CHECK(tv_module_parse(k.text.ptr, k.text.len, 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){&ptx, bc_text_append}) == TV_OK);
    tv_module_close(m);
    bc_text_release(&ptx);
    bc_text_release(&k.text);
    return found;
}

int main(void)
{
    enum { SEEDS = 60 };
    bool pair = false, issuer = false, single = false;
    for (uint64_t seed = 1; seed <= SEEDS && !(pair && issuer && single); seed++) {
        trial_pairs found = compile(seed);
        pair |= found.pair && !found.issuer;
        issuer |= found.pair && found.issuer;
        single |= !found.pair && found.issuer;
    }
    CHECK(pair && issuer && single);
    return TEST_END("random_chains");
}
