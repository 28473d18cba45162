/* Threads take the next thing from a common counter; the caller waits for each in turn. */
#include "tools/tilevm/cli/work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Shared by the threads of one run. */
typedef struct team {
    const cli_work *work;
    atomic_size_t next;   /* thing to begin next */
    pthread_mutex_t lock; /* guards done and finished */
    pthread_cond_t changed;
    bool *done; /* by thing */
    size_t finished;
} team;

static void *run_things(void *user)
{
    team *t = user;
    for (size_t i; (i = atomic_fetch_add(&t->next, 1)) < t->work->count;) {
        t->work->run(t->work->user, i);
        pthread_mutex_lock(&t->lock);
        t->done[i] = true;
        t->finished++;
        pthread_cond_signal(&t->changed);
        pthread_mutex_unlock(&t->lock);
    }
    return NULL;
}

static void wait_for(team *t, size_t i, cli_progress *progress)
{
    pthread_mutex_lock(&t->lock);
    while (!t->done[i]) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&t->changed, &t->lock, &until);
        if (t->work->noun)
            cli_progress_update(progress, t->finished);
    }
    pthread_mutex_unlock(&t->lock);
}

bool cli_work_run(const cli_work *work)
{
    team t = {.work = work, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t threads[CLI_MAX_THREADS];
    size_t started = 0;
    cli_progress progress;
    t.done = calloc(work->count + 1, sizeof *t.done);
    if (!t.done)
        return false;
    cli_progress_start(&progress, work->noun, work->count);
    while (started < work->threads && pthread_create(&threads[started], NULL, run_things, &t) == 0)
        started++;
    if (!started)
        run_things(&t);
    for (size_t i = 0; i < work->count; i++) {
        wait_for(&t, i, &progress);
        work->take(work->user, i, &progress);
    }
    cli_progress_clear(&progress);
    for (size_t k = 0; k < started; k++)
        pthread_join(threads[k], NULL);
    free(t.done);
    return true;
}

size_t cli_thread_count(unsigned jobs, size_t things, size_t most)
{
    long processors = jobs ? (long)jobs : sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors > 0 ? (size_t)processors : 1;
    wanted = wanted < things ? wanted : things;
    return wanted < most ? wanted : most;
}
