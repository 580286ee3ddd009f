/* bench_export.c - a million spans in every format: how long it takes, and how large the file is.  Printed, never asserted.
 *
 *     bench_export DIR [MILLIONS OF SPANS] */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "export/scene.h"

enum { STEPS = 10 };

static void must(assay_env *env, assay_status status)
{
    if (status == ASSAY_OK)
        return;
    fprintf(stderr, "bench_export: %s\n", assay_message(env));
    exit(5);
}

/* Runs of ten steps in a segment, in the order in which a recorder writes them. */
static assay_trace *trace_make(assay_env *env, uint64_t n_spans)
{
    assay_trace *t;
    must(env, as_trace_new(env, &t));
    t->model = as_trace_keep(t, "bench");
    t->ns_per_tick = 0.4087;
    for (int i = 0; i < STEPS; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d.conv", i);
        as_trace_add_step(t, &(as_trace_step){.name = name,
                                              .op = "Conv",
                                              .device = "cpu",
                                              .kernel = "conv_f32_avx2",
                                              .module = "",
                                              .why = "",
                                              .shapes = "",
                                              .stage = "body",
                                              .flops = 1000000,
                                              .bytes_read = 65536,
                                              .bytes_written = 65536});
    }
    uint32_t n_runs = (uint32_t)(n_spans / (STEPS + 2));
    if (!as_trace_reserve(t, n_spans, 0, 0, 0))
        must(env, as_fail(env, ASSAY_NO_MEMORY, "not enough memory for %llu spans", (unsigned long long)n_spans));
    t->n_runs = n_runs;
    for (uint32_t run = 0; run < n_runs; run++) {
        uint64_t at = (uint64_t)run * 30000;
        for (int i = 0; i < STEPS; i++)
            as_trace_add_span(
                t, &(as_span){at + 100 + (uint64_t)i * 2000, at + 2050 + (uint64_t)i * 2000, i, run, AS_SPAN_STEP, 0, 0});
        as_trace_add_span(t, &(as_span){at + 50, at + 20200, 0, run, AS_SPAN_SEGMENT, 0, 0});
        as_trace_add_span(t, &(as_span){at, at + 20300, -1, run, AS_SPAN_RUN, 0, 0});
    }
    return t;
}

static double file_mb(const char *path)
{
    struct stat s;
    return stat(path, &s) ? 0 : (double)s.st_size / 1e6;
}

/* The walk, and each writer: to a file, and once more to nowhere, because a disk may be slower than all of it. */
static void formats_time(assay_env *env, const assay_trace *t, const char *dir, bool all)
{
    uint64_t  begin = as_monotonic_ns();
    as_scene *scene = calloc(1, sizeof *scene);
    must(env, scene ? as_scene_open(env, &t, 1, all, scene) : as_fail(env, ASSAY_NO_MEMORY, "not enough memory"));
    double walk_ms = (double)(as_monotonic_ns() - begin) / 1e6;
    printf("%s of %zu spans: walk %.0f ms\n", all ? "all" : "the default", t->n_spans, walk_ms);
    for (const as_trace_export *const *tx = as_tx_table; *tx; tx++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/bench.%s", dir, (*tx)->key);
        double ms[2];
        for (int k = 0; k < 2; k++) {
            FILE *file = fopen(k ? "/dev/null" : path, "w");
            if (!file)
                must(env, as_fail(env, ASSAY_IO, "cannot write %s", path));
            begin = as_monotonic_ns();
            must(env, (*tx)->write(env, scene, file));
            fclose(file);
            ms[k] = (double)(as_monotonic_ns() - begin) / 1e6;
        }
        printf("  %-12s %7.0f ms with the walk (writer %.0f ms, to /dev/null %.0f ms)  %8.2f MB\n", (*tx)->key, walk_ms + ms[0],
               ms[0], ms[1], file_mb(path));
        unlink(path);
    }
    as_scene_drop(scene);
    free(scene);
}

int main(int argc, char **argv)
{
    assay_env *env;
    if (argc < 2 || assay_env_new(&env) != ASSAY_OK) {
        fprintf(stderr, "usage: bench_export DIR [MILLIONS OF SPANS]\n");
        return 2;
    }
    double       millions = argc > 2 ? strtod(argv[2], NULL) : 1;
    assay_trace *t = trace_make(env, (uint64_t)(millions * 1e6));
    formats_time(env, t, argv[1], true);
    formats_time(env, t, argv[1], false);
    assay_trace_free(t);
    assay_env_free(env);
    return 0;
}
