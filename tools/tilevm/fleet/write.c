/* The matrix in its four forms. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "loader/driver.h"
#include "tools/tilevm/fleet/fleet.h"

static const fleet_cell *cell_at(const fleet_matrix *m, uint32_t kernel, size_t host)
{
    return &m->cells[kernel * m->fleet.count + host];
}

static size_t cell_count(const fleet_matrix *m)
{
    return m->kernels * m->fleet.count;
}

static bool runs(const fleet_cell *cell)
{
    return !cell->diag.rule;
}

/* ---- text ---- */

enum { CELL_TEXT = 32, WIDEST = 60 };

/* "cubin 50%", "PTX <=75%", "-". */
static void cell_text(const fleet_cell *cell, char out[CELL_TEXT])
{
    const char *form = runs(cell) ? ld_artifact_form_name(cell->artifact->form) : "-";
    if (runs(cell) && cell->needs.threads)
        snprintf(out, CELL_TEXT, "%s %s%.0f%%", form, cell->needs.registers ? "" : "<=", cell->occupancy * 100);
    else
        snprintf(out, CELL_TEXT, "%s", form);
}

static void put_hosts(const fleet_matrix *m, bc_text *text)
{
    for (size_t h = 0; h < m->fleet.count; h++) {
        const fleet_host *host = &m->fleet.hosts[h];
        unsigned ptx = ld_ptx_version(host->cuda);
        fleet_capability c;
        bc_text_printf(text, "%4zu  ", h + 1);
        bc_text_visible(text, bc_str(host->name), "");
        bc_text_printf(text, ": %s (sm_%u", host->gpu.name, host->gpu.sm);
        if (host->gpu.processors)
            bc_text_printf(text, ", %u multiprocessors", host->gpu.processors);
        bc_text_printf(text, "), driver %s (CUDA %d.%d", host->driver, host->cuda / 1000, host->cuda % 1000 / 10);
        bc_text_printf(text, ptx ? ", PTX %u.%u)" : ")", ptx / 10, ptx % 10);
        if (fleet_find_capability(host->gpu.sm, &c))
            bc_text_printf(text, "; %s, %s%s", c.path.products, c.path.loads,
                           c.path.was_run ? "" : "; never run there");
        bc_text_char(text, '\n');
    }
}

/* A line for each kernel; kernels of equal cells are not put together: their names are what is looked for. */
static void put_rows(const fleet_matrix *m, bc_text *text)
{
    size_t width = 6;
    for (uint32_t k = 0; k < m->kernels; k++) {
        size_t len = cell_at(m, k, 0)->shown.len;
        width = len > width && len <= WIDEST ? len : width;
    }
    bc_text_printf(text, "%-*s", (int)width, "kernel");
    for (size_t h = 0; h < m->fleet.count; h++)
        bc_text_printf(text, h + 1 < m->fleet.count ? "  %-14zu" : "  %zu", h + 1);
    bc_text_char(text, '\n');
    for (uint32_t k = 0; k < m->kernels; k++) {
        tv_str name = cell_at(m, k, 0)->shown;
        bc_text_printf(text, "%-*.*s", (int)width, (int)name.len, name.ptr);
        for (size_t h = 0; h < m->fleet.count; h++) {
            char cell[CELL_TEXT];
            cell_text(cell_at(m, k, h), cell);
            bc_text_printf(text, h + 1 < m->fleet.count ? "  %-14s" : "  %s", cell);
        }
        bc_text_char(text, '\n');
    }
}

bool fleet_write_text(const fleet_matrix *m, bool color, cli_out *out)
{
    bc_text text;
    bc_text_init(&text, NULL);
    put_hosts(m, &text);
    put_rows(m, &text);
    for (size_t i = 0; i < cell_count(m); i++)
        if (!runs(&m->cells[i]))
            cli_diag_text(&text, cli_shown_path(m->bundle_path), &m->cells[i].diag, color);
    bc_text_printf(&text, "%u kernel%s on %zu kind%s of host: ", m->kernels, m->kernels == 1 ? "" : "s", m->fleet.count,
                   m->fleet.count == 1 ? "" : "s");
    if (m->failed)
        bc_text_printf(&text, "%zu of %zu cannot run\n", m->failed, cell_count(m));
    else
        bc_text_puts(&text, "all run\n");
    bool fine = !text.failed;
    cli_out_text(out, &text, color);
    return fine;
}

/* ---- JSON ---- */

/* How kernels run on the device, if they do. */
static void add_path(json_doc *doc, cJSON *item, unsigned sm)
{
    fleet_capability c;
    if (!fleet_find_capability(sm, &c))
        return;
    json_text(doc, item, "products", c.path.products);
    json_text(doc, item, "loads", c.path.loads);
    json_bool(doc, item, "was_run", c.path.was_run);
}

static void add_host(json_doc *doc, cJSON *list, const fleet_host *host)
{
    cJSON *item = json_object(doc, list, NULL);
    char version[16];
    json_text(doc, item, "name", host->name);
    json_text(doc, item, "gpu", host->gpu.name);
    json_uint(doc, item, "capability", host->gpu.sm);
    if (host->gpu.processors)
        json_uint(doc, item, "multiprocessors", host->gpu.processors);
    json_text(doc, item, "driver", host->driver);
    snprintf(version, sizeof version, "%d.%d", host->cuda / 1000, host->cuda % 1000 / 10);
    json_text(doc, item, "cuda", version);
    add_path(doc, item, host->gpu.sm);
}

static void add_cell(json_doc *doc, cJSON *list, const fleet_matrix *m, const fleet_cell *cell)
{
    char target[LD_TARGET_NAME];
    cJSON *item = json_object(doc, list, NULL);
    json_str(doc, item, "kernel", cell->kernel);
    json_uint(doc, item, "host", (uint64_t)(cell->host - m->fleet.hosts));
    json_bool(doc, item, "runs", runs(cell));
    if (cell->artifact) {
        ld_artifact_target(cell->artifact, target);
        json_text(doc, item, "form", ld_artifact_form_name(cell->artifact->form));
        json_text(doc, item, "target", target);
        json_str(doc, item, "why", cell->why);
    }
    if (cell->needs.threads) {
        json_uint(doc, item, "threads", cell->needs.threads);
        json_uint(doc, item, "shared_bytes", fleet_shared(&cell->needs));
        if (cell->needs.registers)
            json_uint(doc, item, "registers", cell->needs.registers);
        json_uint(doc, item, "blocks", cell->blocks);
        json_real(doc, item, "occupancy", cell->occupancy);
        json_bool(doc, item, "at_most", !cell->needs.registers);
    }
    if (!runs(cell)) {
        json_text(doc, item, "rule", cell->diag.rule);
        json_str(doc, item, "message", cell->diag.message);
        json_str(doc, item, "help", cell->diag.help);
    }
}

bool fleet_write_json(const fleet_matrix *m, cli_out *out)
{
    json_doc doc = {0};
    cJSON *root = json_document(&doc, "fleet");
    json_text(&doc, root, "bundle", m->bundle_path);
    json_text(&doc, root, "fleet", m->fleet_path);
    json_uint(&doc, root, "failed", m->failed);
    cJSON *hosts = json_array(&doc, root, "hosts");
    for (size_t h = 0; h < m->fleet.count; h++)
        add_host(&doc, hosts, &m->fleet.hosts[h]);
    cJSON *cells = json_array(&doc, root, "cells");
    for (size_t i = 0; i < cell_count(m); i++)
        add_cell(&doc, cells, m, &m->cells[i]);
    return json_finish(&doc, out);
}

/* ---- the models that are known ---- */

bool fleet_write_gpus(cli_out *out)
{
    const char *name;
    fleet_gpu gpu;
    for (size_t i = 0; (name = fleet_gpu_name(NULL, i)) != NULL; i++) {
        fleet_capability c = {0};
        fleet_find_gpu(name, &gpu);
        cli_print(out->file, "%-23s sm_%-4u", gpu.name, gpu.sm);
        if (gpu.processors)
            cli_print(out->file, "%4u multiprocessors", gpu.processors);
        if (fleet_find_capability(gpu.sm, &c))
            cli_print(out->file, "%*s%4u KiB of shared memory, CUDA %d.%d; %s, %s%s", gpu.processors ? 2 : 22, "",
                      c.shared_bytes >> 10, c.first_cuda / 1000, c.first_cuda % 1000 / 10, c.path.products,
                      c.path.loads, c.path.was_run ? "" : "; never run there");
        cli_print(out->file, c.sm ? "\n" : "  too old for Tile IR\n");
    }
    return true;
}

static void add_gpu(json_doc *doc, cJSON *list, const fleet_gpu *gpu)
{
    fleet_capability c = {0};
    bool runs = fleet_find_capability(gpu->sm, &c);
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "gpu", gpu->name);
    json_uint(doc, item, "capability", gpu->sm);
    if (gpu->processors)
        json_uint(doc, item, "multiprocessors", gpu->processors);
    json_bool(doc, item, "runs", runs);
    if (!runs)
        return;
    char version[32];
    snprintf(version, sizeof version, "%d.%d", c.first_cuda / 1000, c.first_cuda % 1000 / 10);
    json_uint(doc, item, "shared_bytes", c.shared_bytes);
    json_text(doc, item, "cuda", version);
    add_path(doc, item, gpu->sm);
}

bool fleet_write_gpus_json(cli_out *out)
{
    json_doc doc = {0};
    cJSON *list = json_array(&doc, json_document(&doc, "fleet-gpus"), "gpus");
    const char *name;
    fleet_gpu gpu;
    for (size_t i = 0; (name = fleet_gpu_name(NULL, i)) != NULL; i++) {
        fleet_find_gpu(name, &gpu);
        add_gpu(&doc, list, &gpu);
    }
    return json_finish(&doc, out);
}

/* ---- SARIF and JUnit, by the module for reports ---- */

static void report(const fleet_cell *cell, report_file *file)
{
    tv_sink sink = report_file_sink(file);
    if (runs(cell))
        return;
    sink.report(sink.user, &cell->diag);
    file->outcome = REPORT_INVALID;
}

bool fleet_write_sarif(const fleet_matrix *m, cli_out *out)
{
    report_file file;
    report_file_init(&file, m->bundle_path);
    file.size = m->bundle_size;
    for (size_t i = 0; i < cell_count(m); i++)
        report(&m->cells[i], &file);
    bool fine = !file.lost && report_sarif(&file, 1, out);
    report_file_release(&file);
    return fine;
}

/* The name of a test case; NULL: out of memory. */
static const char *case_name(const fleet_cell *cell, bc_arena *arena)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_printf(&text, "%.*s on %s (%s, CUDA %d.%d)", (int)cell->kernel.len, cell->kernel.ptr, cell->host->name,
                   cell->host->gpu.name, cell->host->cuda / 1000, cell->host->cuda % 1000 / 10);
    const char *name = text.failed ? NULL : bc_arena_dup(arena, bc_text_get(&text)).ptr;
    bc_text_release(&text);
    return name;
}

bool fleet_write_junit(const fleet_matrix *m, cli_out *out)
{
    bc_arena names;
    size_t count = cell_count(m);
    report_file *files = calloc(count, sizeof *files);
    bc_arena_init(&names, NULL, 0);
    bool fine = files != NULL;
    for (size_t i = 0; files && i < count; i++) {
        const char *name = case_name(&m->cells[i], &names);
        report_file_init(&files[i], name ? name : "");
        report(&m->cells[i], &files[i]);
        fine = fine && name && !files[i].lost;
    }
    fine = fine && report_junit(files, count, "fleet", out);
    for (size_t i = 0; files && i < count; i++)
        report_file_release(&files[i]);
    free(files);
    bc_arena_release(&names);
    return fine;
}
