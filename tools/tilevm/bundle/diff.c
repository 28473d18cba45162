/* Two bundles side by side: kernels that only one of them has, and artifacts that differ. */
#include <string.h>

#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/cli/json.h"

/* One of the two. */
typedef struct side {
    const char *path;
    ld_bundle bundle;
    bc_arena arena; /* of one kernel's artifacts */
    ld_artifact *artifacts;
    uint32_t count;
} side;

/* A kernel of either side, and its name in text. */
typedef struct named_kernel {
    tv_str symbol, function, shown;
} named_kernel;

/* Where differences go: lines that are printed at once, or a list. */
typedef struct differences {
    bool json;
    json_doc doc;
    cJSON *list;
} differences;

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

static const char *kind_of(char sign)
{
    return sign == '-' ? "removed" : sign == '+' ? "added" : "changed";
}

/* Reports a kernel that only one side has, or an artifact of a kernel (NULL: none). Gives true. */
static bool tell(differences *out, char sign, const named_kernel *k, const ld_artifact *a)
{
    char target[LD_TARGET_NAME] = "";
    if (a)
        ld_artifact_target(a, target);
    if (out->json) {
        cJSON *item = json_object(&out->doc, out->list, NULL);
        json_text(&out->doc, item, "kind", kind_of(sign));
        json_str(&out->doc, item, "kernel", k->symbol);
        json_str(&out->doc, item, "function", k->function);
        if (a)
            json_text(&out->doc, item, "form", ld_artifact_form_name(a->form));
        if (a && a->sm)
            json_text(&out->doc, item, "target", target);
    } else if (a) {
        cli_print(stdout, "%c %.*s: %s%s%s%s\n", sign, (int)k->shown.len, k->shown.ptr, ld_artifact_form_name(a->form),
                  a->sm ? " for " : "", target, sign == '~' ? " differs" : "");
    } else {
        cli_print(stdout, "%c %.*s\n", sign, (int)k->shown.len, k->shown.ptr);
    }
    return true;
}

/* The artifacts of a kernel that both have. True if they differ. */
static bool compare_artifacts(side sides[2], const named_kernel *k, differences *out)
{
    bool differ = false;
    for (uint32_t i = 0; i < sides[0].count; i++) {
        const ld_artifact *a = &sides[0].artifacts[i], *b = find(&sides[1], a);
        if (!b)
            differ |= tell(out, '-', k, a);
        else if (memcmp(a->digest, b->digest, sizeof a->digest) != 0)
            differ |= tell(out, '~', k, a);
    }
    for (uint32_t i = 0; i < sides[1].count; i++)
        if (!find(&sides[0], &sides[1].artifacts[i]))
            differ |= tell(out, '+', k, &sides[1].artifacts[i]);
    return differ;
}

static int compare(tv_str a, tv_str b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* The name of a kernel in text: its function, if neither bundle has another kernel of that name. */
static tv_str name_in_both(const side sides[2], const ld_bundle_kernel *k)
{
    bool one = bundle_has_no_other(&sides[0].bundle, k) && bundle_has_no_other(&sides[1].bundle, k);
    return one ? k->function : k->symbol;
}

/* Goes through the kernels of both, which are sorted. */
static int compare_bundles(side sides[2], differences *out)
{
    const ld_bundle_head *first = &sides[0].bundle.head, *second = &sides[1].bundle.head;
    int code = CLI_OK;
    for (uint32_t i = 0, j = 0; i < first->kernel_count || j < second->kernel_count;) {
        ld_bundle_kernel a = i < first->kernel_count ? ld_bundle_head_kernel(first, i) : (ld_bundle_kernel){0};
        ld_bundle_kernel b = j < second->kernel_count ? ld_bundle_head_kernel(second, j) : (ld_bundle_kernel){0};
        int order = !a.symbol.len ? 1 : !b.symbol.len ? -1 : compare(a.symbol, b.symbol);
        i += order <= 0;
        j += order >= 0;
        const ld_bundle_kernel *one = order <= 0 ? &a : &b;
        const named_kernel named = {one->symbol, one->function, name_in_both(sides, one)};
        if (order != 0) {
            tell(out, order < 0 ? '-' : '+', &named, NULL);
            code = CLI_FAILED;
            continue;
        }
        const char *problem = read_artifacts(&sides[0], &a);
        if (problem)
            return bundle_say_damaged(sides[0].path, "", problem);
        if ((problem = read_artifacts(&sides[1], &b)) != NULL)
            return bundle_say_damaged(sides[1].path, "", problem);
        if (compare_artifacts(sides, &named, out))
            code = CLI_FAILED;
    }
    return code;
}

static void start(differences *out, const side sides[2])
{
    cJSON *root = json_document(&out->doc, "bundle-diff");
    json_text(&out->doc, root, "a", sides[0].path);
    json_text(&out->doc, root, "b", sides[1].path);
    out->list = json_array(&out->doc, root, "changes");
}

static int finish(differences *out, int code)
{
    json_bool(&out->doc, out->doc.root, "same", code == CLI_OK);
    return json_finish(&out->doc, &(cli_out){.file = stdout}) ? code : cli_error("out of memory");
}

int bundle_action_diff(const bundle_request *request)
{
    side sides[2] = {{.path = request->paths[0]}, {.path = request->paths[1]}};
    differences out = {.json = request->json};
    for (size_t i = 0; i < 2; i++)
        if (bundle_open_or_say(sides[i].path, request->key, &sides[i].bundle) != CLI_OK) {
            if (i)
                ld_bundle_close(&sides[0].bundle);
            return request->json ? json_unopened("bundle-diff", sides[i].path, NULL, CLI_ERROR) : CLI_ERROR;
        }
    for (size_t i = 0; i < 2; i++)
        bc_arena_init(&sides[i].arena, NULL, 0);
    if (out.json)
        start(&out, sides);
    int code = compare_bundles(sides, &out);
    if (out.json)
        code = finish(&out, code);
    for (size_t i = 0; i < 2; i++) {
        bc_arena_release(&sides[i].arena);
        ld_bundle_close(&sides[i].bundle);
    }
    return code;
}
