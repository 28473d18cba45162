/* Two bundles side by side: kernels that only one of them has, and artifacts that differ. */
#include <string.h>

#include "tools/tilevm/bundle/bundle.h"

/* One of the two. */
typedef struct side {
    const char *path;
    ld_bundle bundle;
    bc_arena arena; /* of one kernel's artifacts */
    ld_artifact *artifacts;
    uint32_t count;
} side;

static const char *read_artifacts(side *s, const ld_bundle_kernel *k)
{
    ld_bundle_module m = ld_bundle_head_module(&s->bundle.head, k->module);
    bc_arena_release(&s->arena);
    bc_arena_init(&s->arena, NULL, 0);
    s->count = m.artifact_count;
    return ld_bundle_artifacts(&s->bundle, &m, &s->arena, &s->artifacts);
}

static const ld_artifact *find(const side *s, const ld_artifact *like)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const ld_artifact *a = &s->artifacts[i];
        if (a->form == like->form && a->sm == like->sm && a->suffix == like->suffix)
            return a;
    }
    return NULL;
}

static bool print_difference(char sign, tv_str kernel, const ld_artifact *a, const char *what)
{
    char target[LD_TARGET_NAME];
    ld_artifact_target(a, target);
    cli_print(stdout, "%c %.*s: %s%s%s%s\n", sign, (int)kernel.len, kernel.ptr, ld_artifact_form_name(a->form),
              a->sm ? " for " : "", target, what);
    return true;
}

/* The artifacts of a kernel that both have. True if they differ. */
static bool compare_artifacts(side sides[2], tv_str kernel)
{
    bool differ = false;
    for (uint32_t i = 0; i < sides[0].count; i++) {
        const ld_artifact *a = &sides[0].artifacts[i], *b = find(&sides[1], a);
        if (!b)
            differ |= print_difference('-', kernel, a, "");
        else if (memcmp(a->digest, b->digest, sizeof a->digest) != 0)
            differ |= print_difference('~', kernel, a, " differs");
    }
    for (uint32_t i = 0; i < sides[1].count; i++)
        if (!find(&sides[0], &sides[1].artifacts[i]))
            differ |= print_difference('+', kernel, &sides[1].artifacts[i], "");
    return differ;
}

static int compare(tv_str a, tv_str b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* What a kernel is called, if neither bundle has another of that name. */
static tv_str name_in_both(const side sides[2], const ld_bundle_kernel *k)
{
    bool one = bundle_has_no_other(&sides[0].bundle, k) && bundle_has_no_other(&sides[1].bundle, k);
    return one ? k->function : k->symbol;
}

/* Goes through the kernels of both, which are sorted. */
static int compare_bundles(side sides[2])
{
    const ld_bundle_head *first = &sides[0].bundle.head, *second = &sides[1].bundle.head;
    int code = CLI_OK;
    for (uint32_t i = 0, j = 0; i < first->kernel_count || j < second->kernel_count;) {
        ld_bundle_kernel a = i < first->kernel_count ? ld_bundle_head_kernel(first, i) : (ld_bundle_kernel){0};
        ld_bundle_kernel b = j < second->kernel_count ? ld_bundle_head_kernel(second, j) : (ld_bundle_kernel){0};
        int order = !a.symbol.len ? 1 : !b.symbol.len ? -1 : compare(a.symbol, b.symbol);
        i += order <= 0;
        j += order >= 0;
        tv_str name = name_in_both(sides, order <= 0 ? &a : &b);
        if (order != 0) {
            cli_print(stdout, "%c %.*s\n", order < 0 ? '-' : '+', (int)name.len, name.ptr);
            code = CLI_FAILED;
            continue;
        }
        const char *problem = read_artifacts(&sides[0], &a);
        if (problem)
            return bundle_say_damaged(sides[0].path, "", problem);
        if ((problem = read_artifacts(&sides[1], &b)) != NULL)
            return bundle_say_damaged(sides[1].path, "", problem);
        if (compare_artifacts(sides, name))
            code = CLI_FAILED;
    }
    return code;
}

int bundle_action_diff(const bundle_request *request)
{
    side sides[2] = {{.path = request->paths[0]}, {.path = request->paths[1]}};
    if (bundle_open_or_say(sides[0].path, request->key, &sides[0].bundle) != CLI_OK)
        return CLI_ERROR;
    if (bundle_open_or_say(sides[1].path, request->key, &sides[1].bundle) != CLI_OK) {
        ld_bundle_close(&sides[0].bundle);
        return CLI_ERROR;
    }
    for (size_t i = 0; i < 2; i++)
        bc_arena_init(&sides[i].arena, NULL, 0);
    int code = compare_bundles(sides);
    for (size_t i = 0; i < 2; i++) {
        bc_arena_release(&sides[i].arena);
        ld_bundle_close(&sides[i].bundle);
    }
    return code;
}
