/* bench CORPUS: figures of reading and verifying, as ratios in one run on this machine. With TILEIR_TOOLS set to the
   folder of NVIDIA's tools, tileirdisasm runs beside ours on the same files (it has no verify; reading and printing is
   the nearest it does). Nothing here is a test: it prints, and a person reads. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/measure.h"
#include "tilevm/tilevm.h"

enum { MAX_FILES = 2000 };

typedef struct bench_file {
    char *path;
    unsigned char *bytes;
    size_t size;
} bench_file;

static bench_file files[MAX_FILES];
static int file_count;
static size_t total_bytes;

static void load(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        fprintf(stderr, "bench: cannot open %s\n", folder);
        exit(2);
    }
    for (struct dirent *entry; (entry = readdir(dir)) && file_count < MAX_FILES;) {
        if (!strstr(entry->d_name, ".tbc"))
            continue;
        bench_file *f = &files[file_count];
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *in = fopen(path, "rb");
        f->bytes = malloc(1 << 20);
        f->size = in ? fread(f->bytes, 1, 1 << 20, in) : 0;
        if (in)
            fclose(in);
        f->path = strdup(path);
        total_bytes += f->size;
        file_count++;
    }
    closedir(dir);
}

/* ---- steady state: open, verify, close, over and over in one thread ---- */

static void bench_steady(void)
{
    double best_open = 1e9, best_both = 1e9;
    for (int round = 0; round < 12; round++) {
        double start = measure_now(), opening = 0;
        for (int i = 0; i < file_count; i++) {
            tv_module *m;
            double at = measure_now();
            if (tv_module_open(files[i].bytes, files[i].size, NULL, (tv_sink){0}, &m) != TV_OK)
                continue;
            opening += measure_now() - at;
            tv_module_verify(m, NULL, (tv_sink){0});
            tv_module_close(m);
        }
        double both = measure_now() - start;
        best_open = opening < best_open ? opening : best_open;
        best_both = both < best_both ? both : best_both;
    }
    printf("read and verify, one core, %d files of %.0f bytes on average: %.1f MB/s (reading alone %.1f MB/s); aim >= "
           "50\n",
           file_count, (double)total_bytes / file_count, (double)total_bytes / best_both / 1e6,
           (double)total_bytes / best_open / 1e6);
}

static void bench_memory(void)
{
    double worst = 0, sum = 0;
    const char *worst_path = "";
    for (int i = 0; i < file_count; i++) {
        tv_module *m;
        if (tv_module_open(files[i].bytes, files[i].size, NULL, (tv_sink){0}, &m) != TV_OK)
            continue;
        tv_module_verify(m, NULL, (tv_sink){0});
        size_t held, peak;
        tv_module_memory(m, &held, &peak);
        double times = (double)peak / (double)files[i].size;
        sum += times;
        if (times > worst) {
            worst = times;
            worst_path = files[i].path;
        }
        tv_module_close(m);
    }
    printf("memory of a module: %.1f times its file on average, %.1f at most (%s); aim <= 30 and 64 KiB\n",
           sum / file_count, worst, strrchr(worst_path, '/') ? strrchr(worst_path, '/') + 1 : "");
}

/* ---- whole processes ---- */

static double process_median(char *const argv[], size_t count, long *out_rss)
{
    double times[101];
    for (size_t i = 0; i < count; i++) {
        measure_process p = measure_run(argv);
        times[i] = p.seconds;
        *out_rss = p.rss_kib;
    }
    measure_sort(times, count);
    return measure_at(times, count, 50);
}

/* Seconds for one process a file, over every file: ours, and in turn with it the reference, so that both meet the same
   load. reference may be NULL. */
static void each_file(const char *tool, const char *reference, double *out_ours, double *out_theirs)
{
    char verify[] = "verify", *our_tool = strdup(tool), *their_tool = reference ? strdup(reference) : NULL;
    *out_ours = *out_theirs = 0;
    for (int i = 0; i < file_count; i++) {
        *out_ours += measure_run((char *[]){our_tool, verify, files[i].path, NULL}).seconds;
        if (their_tool)
            *out_theirs += measure_run((char *[]){their_tool, files[i].path, NULL}).seconds;
    }
    free(our_tool);
    free(their_tool);
}

static double all_files(const char *tool)
{
    char **argv = calloc((size_t)file_count + 4, sizeof *argv);
    argv[0] = strdup(tool);
    argv[1] = strdup("verify");
    argv[2] = strdup("-q");
    for (int i = 0; i < file_count; i++)
        argv[3 + i] = files[i].path;
    double times[5];
    for (int i = 0; i < 5; i++)
        times[i] = measure_run(argv).seconds;
    measure_sort(times, 5);
    return measure_at(times, 5, 50);
}

static void bench_process(const char *tool, const char *large)
{
    char verify[] = "verify", *argv[] = {strdup(tool), verify, strdup(large), NULL};
    long rss = 0;
    double one = process_median(argv, 101, &rss);
    struct stat info;
    double kib = stat(large, &info) == 0 ? (double)info.st_size / 1024 : 0;
    printf("`tilevm verify` of a file of %.1f KiB, whole process: %.2f ms, %ld KiB resident; aim <= 5 ms for 10 KiB\n",
           kib, one * 1e3, rss);
    const char *tools = getenv("TILEIR_TOOLS");
    char reference[4096];
    snprintf(reference, sizeof reference, "%s/bin/tileirdisasm", tools ? tools : "");
    bool beside = tools && access(reference, X_OK) == 0;
    double ours, theirs, together = all_files(tool);
    each_file(tool, beside ? reference : NULL, &ours, &theirs);
    printf("the %d files: %.2f s with one process each (%.2f ms a file), %.3f s in one process\n", file_count, ours,
           ours / file_count * 1e3, together);
    if (beside)
        printf("tileirdisasm: %.2f s with one process each (%.2f ms a file); ours is %.1f times faster (aim >= 2), and "
               "%.1f "
               "times in one process (aim >= 20)\n",
               theirs, theirs / file_count * 1e3, theirs / ours, theirs / together);
    else
        printf("tileirdisasm: skipped, TILEIR_TOOLS is not set to the folder of NVIDIA's tools\n");
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: bench TILEVM FOLDER FILE   (FILE is about 10 KiB)\n");
        return 2;
    }
    load(argv[2]);
    bench_steady();
    bench_memory();
    fflush(stdout);
    bench_process(argv[1], argv[3]);
    return 0;
}
