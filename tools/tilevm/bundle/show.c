/* What is in a bundle: the matrix of kernels and targets, and all that is known of one kernel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/rules.h"
#include "loader/bundle/signature.h"
#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/cli/json.h"

enum { MAX_COLUMNS = 64 };

int bundle_say_damaged(const char *path, const char *what, const char *problem)
{
    if (strcmp(problem, LD_NO_MEMORY) == 0)
        return cli_error("%s: %s", cli_shown_path(path), problem);
    cli_error("[%s] %s: %s%s", bc_rules[BC_RULE_L_BUNDLE_01].id, cli_shown_path(path), what, problem);
    return CLI_FAILED;
}

int bundle_say_unsigned(const char *path, const char *problem)
{
    cli_error("[%s] %s: %s", bc_rules[BC_RULE_L_BUNDLE_02].id, path, problem);
    return CLI_FAILED;
}

int bundle_open_or_say(const char *path, const char *key, ld_bundle *out)
{
    errno = 0;
    const char *problem = ld_bundle_open(path, out);
    char why[LD_CRYPTO_PROBLEM];
    int code = CLI_OK;
    if (problem && errno) {
        code = cli_error("%s: %s", path, problem);
    } else if (problem) {
        code = bundle_say_damaged(path, "", problem);
    } else if (key && !ld_signature_verify(out->signature, out->seal_text, key, why)) {
        code = bundle_say_unsigned(path, why);
    }
    if (code != CLI_OK)
        ld_bundle_close(out);
    return code;
}

/* ---- the matrix ---- */

/* A target: "sm_90". Code for sm_90a counts as sm_90's. */
typedef struct matrix {
    const ld_bundle *bundle;
    bc_arena arena;
    ld_artifact **artifacts; /* by module */
    unsigned columns[MAX_COLUMNS];
    size_t count;
} matrix;

static void add_column(matrix *m, unsigned sm)
{
    size_t at = 0;
    while (at < m->count && m->columns[at] < sm)
        at++;
    if (!sm || m->count == MAX_COLUMNS || (at < m->count && m->columns[at] == sm))
        return;
    memmove(&m->columns[at + 1], &m->columns[at], (m->count - at) * sizeof *m->columns);
    m->columns[at] = sm;
    m->count++;
}

/* Gives what is wrong, or NULL. */
static const char *read_matrix(const ld_bundle *bundle, matrix *m)
{
    const ld_bundle_head *head = &bundle->head;
    *m = (matrix){.bundle = bundle};
    bc_arena_init(&m->arena, NULL, 0);
    m->artifacts = bc_new(&m->arena, ld_artifact *, head->module_count);
    const char *problem = m->artifacts ? NULL : LD_NO_MEMORY;
    for (uint32_t i = 0; !problem && i < head->module_count; i++) {
        ld_bundle_module module = ld_bundle_head_module(head, i);
        problem = ld_bundle_artifacts(bundle, &module, &m->arena, &m->artifacts[i]);
        for (uint32_t a = 0; !problem && a < module.artifact_count; a++)
            add_column(m, m->artifacts[i][a].sm);
    }
    return problem;
}

/* "cubin", "PTX", "-": the best that there is for the target itself. */
static const char *cell_of(const matrix *m, uint32_t module, unsigned sm)
{
    ld_artifact_form best = LD_ARTIFACT_BYTECODE;
    for (uint32_t a = 0; a < ld_bundle_head_module(&m->bundle->head, module).artifact_count; a++) {
        const ld_artifact *one = &m->artifacts[module][a];
        if (one->sm == sm && one->form > best)
            best = one->form;
    }
    return best == LD_ARTIFACT_BYTECODE ? "-" : ld_artifact_form_name(best);
}

static bool has_gap(const matrix *m, uint32_t module)
{
    for (size_t c = 0; c < m->count; c++)
        if (cell_of(m, module, m->columns[c])[0] == '-')
            return true;
    return false;
}

static void print_rows(const matrix *m, bool only_gaps)
{
    const ld_bundle_head *head = &m->bundle->head;
    int width = 6;
    for (uint32_t i = 0; i < head->kernel_count; i++) {
        ld_bundle_kernel k = ld_bundle_head_kernel(head, i);
        int len = (int)bundle_shown_name(m->bundle, &k).len;
        if ((!only_gaps || has_gap(m, k.module)) && len > width)
            width = len;
    }
    width = width < 100 ? width : 100;
    cli_print(stdout, "%-*s", width, "kernel");
    for (size_t c = 0; c < m->count; c++)
        cli_print(stdout, c + 1 < m->count ? "  sm_%-4u" : "  sm_%u", m->columns[c]);
    cli_print(stdout, "\n");
    for (uint32_t i = 0; i < head->kernel_count; i++) {
        ld_bundle_kernel k = ld_bundle_head_kernel(head, i);
        if (only_gaps && !has_gap(m, k.module))
            continue;
        tv_str name = bundle_shown_name(m->bundle, &k);
        cli_print(stdout, "%-*.*s", width, (int)name.len, name.ptr);
        for (size_t c = 0; c < m->count; c++)
            cli_print(stdout, c + 1 < m->count ? "  %-7s" : "  %s", cell_of(m, k.module, m->columns[c]));
        cli_print(stdout, "\n");
    }
}

int bundle_print_matrix(const char *path, const ld_bundle *bundle, bool only_gaps)
{
    matrix m;
    const char *problem = read_matrix(bundle, &m);
    bool gaps = false;
    for (uint32_t i = 0; !problem && i < bundle->head.module_count; i++)
        gaps |= has_gap(&m, i);
    if (!problem && (gaps || !only_gaps))
        print_rows(&m, only_gaps);
    bc_arena_release(&m.arena);
    return problem ? bundle_say_damaged(path, "", problem) : CLI_OK;
}

/* ---- list ---- */

void bundle_print_counts(const ld_bundle *bundle)
{
    const ld_bundle_head *head = &bundle->head;
    cli_print(stdout, "%u kernel%s in %u module%s", head->kernel_count, head->kernel_count == 1 ? "" : "s",
              head->module_count, head->module_count == 1 ? "" : "s");
}

static int print_manifest(const char *path, const ld_bundle *bundle)
{
    bc_arena arena;
    tv_str text;
    bc_arena_init(&arena, NULL, 0);
    const char *problem = ld_bundle_manifest(bundle, &arena, &text);
    if (!problem && !cli_show(stdout, text, false))
        problem = LD_NO_MEMORY;
    bc_arena_release(&arena);
    return problem ? bundle_say_damaged(path, LD_BUNDLE_MANIFEST ": ", problem) : CLI_OK;
}

int bundle_action_list(const bundle_request *request)
{
    ld_bundle bundle;
    int opened = bundle_open_or_say(request->paths[0], request->key, &bundle);
    if (opened != CLI_OK)
        return request->json ? json_unopened("bundle", request->paths[0], NULL, opened) : opened;
    int code = request->json ? print_manifest(request->paths[0], &bundle)
                             : bundle_print_matrix(request->paths[0], &bundle, false);
    if (code == CLI_OK && !request->json) {
        bundle_print_counts(&bundle);
        cli_print(stdout, ", %zu bytes, %s\n", bundle.size, bundle.signature.len ? "signed" : "not signed");
    }
    ld_bundle_close(&bundle);
    return code;
}

/* ---- show ---- */

static void ignore(void *user, const tv_diag *diag)
{
    (void)user;
    (void)diag;
}

/* Where what is known of kernels goes: lines at once, or a document. */
typedef struct showing {
    const bundle_request *request;
    ld_bundle bundle;
    bc_arena arena;
    json_doc doc;
    cJSON *kernels, *kernel; /* the list; the one at hand */
} showing;

static void put_parameter(showing *s, cJSON *list, const tv_param *param, bc_text *text)
{
    bc_text one;
    bc_text_init(&one, NULL);
    one.failed |= tv_param_print(param, (tv_writer){.user = &one, .write = bc_text_append}) != TV_OK;
    if (s->request->json) {
        cJSON *item = json_object(&s->doc, list, NULL);
        if (param->name)
            json_text(&s->doc, item, "name", param->name);
        json_made(&s->doc, item, "type", &one);
    } else {
        bc_text_printf(text, "  %-4s%s\n", param->name ? param->name : "", bc_text_words(&one));
        text->failed |= one.failed;
    }
    bc_text_release(&one);
}

static const char *show_parameters(showing *s, const tv_signature *signature)
{
    const tv_param *param;
    bc_text text;
    bc_text_init(&text, NULL);
    cJSON *list = s->request->json ? json_array(&s->doc, s->kernel, "parameters") : NULL;
    for (size_t i = 0; (param = tv_signature_param(signature, i)) != NULL; i++)
        put_parameter(s, list, param, &text);
    bool failed = text.failed || !cli_show(stdout, bc_text_get(&text), false);
    bc_text_release(&text);
    return failed ? LD_NO_MEMORY : NULL;
}

/* What the bytecode tells of a kernel. Bytecode that cannot be read tells nothing. */
static const char *show_signature(showing *s, tv_str bytecode, tv_str symbol)
{
    tv_module *module = NULL;
    tv_signature *signature = NULL;
    tv_sink sink = {.report = ignore};
    tv_status status = tv_module_open(bytecode.ptr, bytecode.len, NULL, sink, &module);
    if (status != TV_OK)
        return status == TV_NO_MEMORY ? LD_NO_MEMORY : NULL;
    char version[16];
    snprintf(version, sizeof version, "13.%u", tv_module_minor(module));
    if (s->request->json)
        json_text(&s->doc, s->kernel, "bytecode_version", version);
    else
        cli_print(stdout, "  bytecode %s\n", version);
    size_t entry = 0;
    while (entry < tv_module_entry_count(module) && !bc_str_eq(tv_module_entry_name(module, entry), symbol))
        entry++;
    status = entry < tv_module_entry_count(module) ? tv_signature_of_entry(module, entry, sink, &signature)
                                                   : TV_INVALID;
    const char *problem = status == TV_OK          ? show_parameters(s, signature)
                          : status == TV_NO_MEMORY ? LD_NO_MEMORY
                                                   : NULL;
    tv_signature_close(signature);
    tv_module_close(module);
    return problem;
}

static void print_artifact(const ld_artifact *a)
{
    char name[LD_BUNDLE_MEMBER], target[LD_TARGET_NAME], form[32];
    ld_bundle_member_name(a, name);
    ld_artifact_target(a, target);
    snprintf(form, sizeof form, a->ptx ? "%s %u.%u" : "%s", ld_artifact_form_name(a->form), a->ptx / 10, a->ptx % 10);
    cli_print(stdout, "  %-8s %-9s %9llu bytes  %s\n", target, form, (unsigned long long)a->size, name);
}

static void add_artifact(showing *s, cJSON *list, const ld_artifact *a)
{
    char name[LD_BUNDLE_MEMBER], target[LD_TARGET_NAME], version[16];
    cJSON *item = json_object(&s->doc, list, NULL);
    ld_bundle_member_name(a, name);
    ld_artifact_target(a, target);
    json_text(&s->doc, item, "form", ld_artifact_form_name(a->form));
    if (a->sm)
        json_text(&s->doc, item, "target", target);
    if (a->ptx) {
        snprintf(version, sizeof version, "%u.%u", a->ptx / 10, a->ptx % 10);
        json_text(&s->doc, item, "ptx_version", version);
    }
    json_uint(&s->doc, item, "size", a->size);
    json_text(&s->doc, item, "member", name);
}

static void show_head(showing *s, const ld_bundle_kernel *k, const ld_bundle_module *m)
{
    if (s->request->json) {
        s->kernel = json_object(&s->doc, s->kernels, NULL);
        json_str(&s->doc, s->kernel, "symbol", k->symbol);
        json_str(&s->doc, s->kernel, "function", k->function);
        json_str(&s->doc, s->kernel, "module", m->name);
        json_uint(&s->doc, s->kernel, "opt_level", m->opt_level);
        json_bool(&s->doc, s->kernel, "lineinfo", m->line_info);
        return;
    }
    tv_str name = bundle_shown_name(&s->bundle, k);
    cli_print(stdout, "%.*s\n", (int)name.len, name.ptr);
    if (!bc_str_eq(k->symbol, name))
        cli_print(stdout, "  symbol %.*s\n", (int)k->symbol.len, k->symbol.ptr);
    else if (!bc_str_eq(k->function, name))
        cli_print(stdout, "  function %.*s\n", (int)k->function.len, k->function.ptr);
    cli_print(stdout, "  module %.*s, -O%u%s\n", (int)m->name.len, m->name.ptr, m->opt_level,
              m->line_info ? " --lineinfo" : "");
}

static const char *show_kernel(showing *s, uint32_t index)
{
    ld_bundle_kernel k = ld_bundle_head_kernel(&s->bundle.head, index);
    ld_bundle_module m = ld_bundle_head_module(&s->bundle.head, k.module);
    ld_artifact *artifacts;
    tv_str bytecode;
    const char *problem = ld_bundle_artifacts(&s->bundle, &m, &s->arena, &artifacts);
    if (!problem)
        problem = ld_bundle_fetch(&s->bundle, &artifacts[0], &s->arena, &bytecode);
    if (problem)
        return problem;
    show_head(s, &k, &m);
    problem = show_signature(s, bytecode, k.symbol);
    cJSON *list = s->request->json ? json_array(&s->doc, s->kernel, "artifacts") : NULL;
    for (uint32_t a = 0; !problem && a < m.artifact_count; a++)
        if (s->request->json)
            add_artifact(s, list, &artifacts[a]);
        else
            print_artifact(&artifacts[a]);
    return problem;
}

/* The kernels that were asked for. Gives the exit code. */
static int show_kernels(showing *s)
{
    const bundle_request *request = s->request;
    const char *problem = NULL;
    bool found = !request->kernel;
    for (uint32_t i = 0; !problem && i < s->bundle.head.kernel_count; i++) {
        ld_bundle_kernel k = ld_bundle_head_kernel(&s->bundle.head, i);
        if (request->kernel && !bundle_is_named(&k, request->kernel))
            continue;
        found = true;
        problem = show_kernel(s, i);
    }
    if (problem)
        return bundle_say_damaged(request->paths[0], "", problem);
    return found ? CLI_OK : cli_error("%s: there is no kernel %s", request->paths[0], request->kernel);
}

int bundle_action_show(const bundle_request *request)
{
    showing s = {.request = request};
    int code = bundle_open_or_say(request->paths[0], request->key, &s.bundle);
    if (code != CLI_OK)
        return request->json ? json_unopened("bundle-show", request->paths[0], NULL, code) : code;
    bc_arena_init(&s.arena, NULL, 0);
    if (request->json) {
        cJSON *root = json_document(&s.doc, "bundle-show");
        json_text(&s.doc, root, "path", request->paths[0]);
        s.kernels = json_array(&s.doc, root, "kernels");
    }
    code = show_kernels(&s);
    if (request->json && !json_finish(&s.doc, &(cli_out){.file = stdout}))
        code = cli_error("out of memory");
    bc_arena_release(&s.arena);
    ld_bundle_close(&s.bundle);
    return code;
}
