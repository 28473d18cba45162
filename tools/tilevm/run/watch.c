/* Progress of a run, and ^C. */
#include "tools/tilevm/run/watch.h"

#include <signal.h>
#include <string.h>

#include "bytecode/base/text.h"

static volatile sig_atomic_t interrupts;
static struct sigaction before;

static void count_interrupt(int number)
{
    (void)number;
    interrupts = 1;
}

/* "12.3M" */
static void put_count(bc_text *out, double n)
{
    const char *unit = n < 1e4 ? "" : n < 1e6 ? "k" : n < 1e9 ? "M" : "G";
    double scale = n < 1e4 ? 1 : n < 1e6 ? 1e3 : n < 1e9 ? 1e6 : 1e9;
    bc_text_printf(out, "%.*f%s", n < 1e4 ? 0 : 1, n / scale, unit);
}

static void put_round(bc_text *out, const tv_vm_place *place)
{
    bc_text_printf(out, "round %llu of %llu", (unsigned long long)place->round + 1, (unsigned long long)place->rounds);
}

/* "round 12 of 1024, 12.3M ops, 4.0M ops/s" */
static void put_place(bc_text *out, const tv_vm_place *place, double seconds)
{
    if (place->rounds) {
        put_round(out, place);
        bc_text_puts(out, ", ");
    }
    put_count(out, (double)place->ops);
    bc_text_puts(out, " ops, ");
    put_count(out, (double)place->ops / seconds);
    bc_text_puts(out, " ops/s");
}

static void draw(run_watch *w, uint64_t done)
{
    const tv_vm_place *place = &w->place;
    bc_text detail;
    bc_text_init(&detail, NULL);
    put_place(&detail, place, cli_progress_seconds(&w->bar));
    double share = (double)done;
    if (place->rounds && w->bar.total == 1)
        share = (double)place->round / (double)place->rounds;
    cli_progress_draw(&w->bar, (size_t)done, share / (double)w->bar.total, bc_text_get(&detail));
    bc_text_release(&detail);
}

static bool watch(void *user, uint64_t done, uint64_t total)
{
    run_watch *w = ((run_job *)user)->watch;
    (void)total;
    tv_vm_where(*w->vm, &w->place);
    w->stopped = interrupts != 0;
    if (!w->hidden && !w->stopped && cli_progress_is_due(&w->bar))
        draw(w, done);
    return !w->stopped;
}

void run_watch_start(run_watch *w, run_job *job, tv_vm *const *vm, bool hidden, tv_vm_options *options)
{
    struct sigaction action = {.sa_handler = count_interrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    *w = (run_watch){.vm = vm, .hidden = hidden};
    const uint32_t *grid = job->options.grid;
    cli_progress_start(&w->bar, "tile blocks", (size_t)grid[0] * grid[1] * grid[2]);
    options->progress = watch;
    options->user = job;
    job->watch = w;
    interrupts = 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, NULL, &before);
    if (before.sa_handler == SIG_DFL)
        sigaction(SIGINT, &action, NULL);
}

static bool print_output(void *user, const void *bytes, size_t size)
{
    tv_writer out = cli_showing_writer(stdout);
    cli_progress_clear(&((run_watch *)user)->bar);
    return out.write(out.user, bytes, size);
}

tv_writer run_watch_output(run_watch *w)
{
    return (tv_writer){.user = w, .write = print_output};
}

/* "tilevm: stopped after 1.2 s in tile block (3, 0, 0), at 'mmaf' (matmul.py:88), round 12 of 1024: 3 of 64 tile blocks
   had ended, 123456 ops were executed" */
static void tell(const run_watch *w)
{
    const tv_vm_place *p = &w->place;
    tv_vm_stats stats;
    bc_text text;
    bc_text_init(&text, NULL);
    tv_vm_get_stats(*w->vm, &stats);
    bc_text_printf(&text, "stopped after %.1f s in tile block (%u, %u, %u)", cli_progress_seconds(&w->bar), p->block[0],
                   p->block[1], p->block[2]);
    if (p->op.len)
        bc_text_printf(&text, ", at '%.*s'", (int)p->op.len, p->op.ptr);
    if (p->line)
        bc_text_printf(&text, " (%.*s:%u)", (int)p->file.len, p->file.ptr, p->line);
    if (p->rounds) {
        bc_text_puts(&text, ", ");
        put_round(&text, p);
    }
    cli_error("%.*s: %llu of %zu tile block%s had ended, %llu ops were executed", (int)text.len,
              text.ptr ? text.ptr : "", (unsigned long long)stats.blocks, w->bar.total, w->bar.total == 1 ? "" : "s",
              (unsigned long long)stats.ops);
    bc_text_release(&text);
}

int run_watch_end(run_watch *w, int code)
{
    sigaction(SIGINT, &before, NULL);
    cli_progress_clear(&w->bar);
    if (w->stopped)
        tell(w);
    return interrupts ? CLI_INTERRUPTED : code;
}
