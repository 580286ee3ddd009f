/* peer_worker.c - the sides of tools/bench-peers that are written in C: assay itself, and the libraries that multiply matrices.
 *
 * usage: peer-worker assay MODEL THREADS FOLDER [KEY=VALUE...]
 *        peer-worker openblas|onednn|libxsmm MxKxN THREADS FOLDER
 *
 * One candidate in a process of its own.  A network reads its inputs by the lines "NAME FILE" of FOLDER/inputs.txt; a product reads
 * FOLDER/x.bin and FOLDER/w.bin.  Prints "ready" with the version, and then answers commands, one per line: "outputs PREFIX" writes
 * what a run answers as FOLDER/PREFIX.0.npy ... (a product: FOLDER/PREFIX.bin) and prints how many files; "time N" runs N times
 * and prints the seconds of one run (CPU time of the process with one thread, otherwise the wall clock); "memory" prints the most
 * memory that the process ever had, in bytes.  A library is compiled in when it is installed (HAVE_OPENBLAS, HAVE_DNNL, HAVE_XSMM). */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "assay.h"

#ifdef HAVE_OPENBLAS
#include <cblas.h>
#endif
#ifdef HAVE_DNNL
#include <dnnl.h>
void omp_set_num_threads(int n); /* of the OpenMP that oneDNN runs on */
#endif
#ifdef HAVE_XSMM
#include <libxsmm.h>
#endif

typedef struct worker worker;
struct worker {
    void (*run)(worker *w);
    const char *name, *folder;
    int         threads;
    char        version[128];
    /* A product: y[m,n] = x[m,k] w[k,n]. */
    int    m, k, n;
    float *x, *weights, *y;
#ifdef HAVE_XSMM
    libxsmm_smmfunction xsmm;
#endif
    /* A network. */
    assay_env      *env;
    assay_instance *instance;
};

static void stop(const worker *w, const char *what)
{
    fprintf(stderr, "peer-worker: %s: %s%s%s\n", w->name, what, w->env ? ": " : "", w->env ? assay_message(w->env) : "");
    exit(2);
}

static void path_make(const worker *w, char *path, size_t size, const char *name)
{
    if (snprintf(path, size, "%s/%s", w->folder, name) >= (int)size)
        stop(w, "the folder's name is too long");
}

/* --- Products ---------------------------------------------------------------------------------------------- */

static float *floats(const worker *w, int rows, int columns)
{
    void  *p = NULL;
    size_t bytes = (size_t)rows * (size_t)columns * sizeof(float);
    if (rows < 1 || columns < 1 || posix_memalign(&p, 64, bytes))
        stop(w, "not enough memory");
    return memset(p, 0, bytes);
}

static void floats_move(const worker *w, const char *name, const char *mode, float *data, int rows, int columns)
{
    char   path[4096];
    size_t n = (size_t)rows * (size_t)columns, moved;
    path_make(w, path, sizeof path, name);
    FILE *file = fopen(path, mode);
    if (!file)
        stop(w, path);
    moved = *mode == 'r' ? fread(data, sizeof *data, n, file) : fwrite(data, sizeof *data, n, file);
    if (fclose(file) || moved != n)
        stop(w, path);
}

#ifdef HAVE_OPENBLAS
static void openblas_run(worker *w)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, w->m, w->n, w->k, 1.0f, w->x, w->k, w->weights, w->n, 0.0f, w->y, w->n);
}
#endif
#ifdef HAVE_DNNL
static void onednn_run(worker *w)
{
    if (dnnl_sgemm('N', 'N', w->m, w->n, w->k, 1.0f, w->x, w->k, w->weights, w->n, 0.0f, w->y, w->n) != dnnl_success)
        stop(w, "it failed");
}
#endif
#ifdef HAVE_XSMM
/* Column-major, so the operands are swapped: y' = w' x'. */
static void xsmm_run(worker *w) { w->xsmm(w->weights, w->x, w->y); }
#endif

static void product_open(worker *w, const char *sizes)
{
    if (sscanf(sizes, "%dx%dx%d", &w->m, &w->k, &w->n) != 3)
        stop(w, "the sizes are MxKxN");
    w->x = floats(w, w->m, w->k), w->weights = floats(w, w->k, w->n), w->y = floats(w, w->m, w->n);
    floats_move(w, "x.bin", "rb", w->x, w->m, w->k);
    floats_move(w, "w.bin", "rb", w->weights, w->k, w->n);
#ifdef HAVE_OPENBLAS
    if (!strcmp(w->name, "openblas")) {
        openblas_set_num_threads(w->threads);
        snprintf(w->version, sizeof w->version, "%s", openblas_get_config());
        w->run = openblas_run;
    }
#endif
#ifdef HAVE_DNNL
    if (!strcmp(w->name, "onednn")) {
        const dnnl_version_t *v = dnnl_version();
        omp_set_num_threads(w->threads);
        snprintf(w->version, sizeof w->version, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
        w->run = onednn_run;
    }
#endif
#ifdef HAVE_XSMM
    if (!strcmp(w->name, "libxsmm") && w->threads == 1) {
        float one = 1.0f, zero = 0.0f;
        int   flags = LIBXSMM_GEMM_FLAG_NONE;
        w->xsmm = libxsmm_smmdispatch(w->n, w->m, w->k, &w->n, &w->k, &w->n, &one, &zero, &flags, NULL);
        snprintf(w->version, sizeof w->version, "libxsmm %s", LIBXSMM_VERSION);
        w->run = w->xsmm ? xsmm_run : NULL;
    }
#endif
    if (!w->run)
        stop(w, "it is not installed, or does not do this");
}

/* --- Networks ------------------------------------------------------------------------------------------------ */

static void network_run(worker *w)
{
    if (assay_run(w->env, w->instance) != ASSAY_OK)
        stop(w, "a run");
}

static void inputs_load(worker *w)
{
    char line[4096], path[4096];
    path_make(w, path, sizeof path, "inputs.txt");
    FILE *file = fopen(path, "r");
    if (!file)
        stop(w, path);
    while (fgets(line, sizeof line, file)) {
        char *gap = strchr(line, ' ');
        line[strcspn(line, "\n")] = '\0';
        if (!gap)
            stop(w, "inputs.txt has a line without a file");
        *gap = '\0';
        path_make(w, path, sizeof path, gap + 1);
        if (assay_instance_load_input(w->env, w->instance, line, path) != ASSAY_OK)
            stop(w, "an input");
    }
    fclose(file);
}

static void network_open(worker *w, const char *model_name, int n_keys, char **keys)
{
    assay_options *options;
    assay_model   *model;
    assay_plan    *plan;
    char           threads[16];
    snprintf(threads, sizeof threads, "%d", w->threads);
    if (assay_env_new(&w->env) != ASSAY_OK || assay_options_new(w->env, &options) != ASSAY_OK ||
        assay_options_set(w->env, options, "threads", threads) != ASSAY_OK)
        stop(w, "its set-up");
    for (int i = 0; i < n_keys; i++) {
        char *value = strchr(keys[i], '=');
        if (!value)
            stop(w, "an option has no value");
        *value++ = '\0';
        if (assay_options_set(w->env, options, keys[i], value) != ASSAY_OK)
            stop(w, "an option");
    }
    if (assay_model_load(w->env, model_name, options, &model) != ASSAY_OK ||
        assay_plan_build(w->env, model, options, &plan) != ASSAY_OK || assay_instance_new(w->env, plan, &w->instance) != ASSAY_OK)
        stop(w, model_name);
    inputs_load(w);
    snprintf(w->version, sizeof w->version, "%s", ASSAY_VERSION);
    w->run = network_run;
}

/* --- Commands ----------------------------------------------------------------------------------------------- */

static int outputs_write(worker *w, const char *prefix)
{
    char   name[256], path[4096];
    size_t n = w->instance ? assay_instance_n_outputs(w->instance) : 0;
    w->run(w);
    for (size_t i = 0; i < n; i++) {
        assay_tensor t;
        snprintf(name, sizeof name, "%.100s.%zu.npy", prefix, i);
        path_make(w, path, sizeof path, name);
        if (assay_instance_output(w->env, w->instance, i, &t) != ASSAY_OK ||
            assay_instance_save_output(w->env, w->instance, t.name, path) != ASSAY_OK)
            stop(w, path);
    }
    if (w->instance)
        return (int)n;
    snprintf(name, sizeof name, "%.100s.bin", prefix);
    floats_move(w, name, "wb", w->y, w->m, w->n);
    return 1;
}

static double seconds(const worker *w)
{
    struct timespec now;
    clock_gettime(w->threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The most memory that this program had; rusage would count that of the parent before it started us. */
static long long memory_most(void)
{
    char      line[256];
    long long kib = -1;
    FILE     *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

static void answer(worker *w, const char *line)
{
    int  n = 0;
    char prefix[128];
    if (sscanf(line, "time %d", &n) == 1 && n > 0) {
        double begin = seconds(w);
        for (int i = 0; i < n; i++)
            w->run(w);
        printf("%.9g\n", (seconds(w) - begin) / n);
    } else if (sscanf(line, "outputs %127s", prefix) == 1) {
        printf("%d\n", outputs_write(w, prefix));
    } else if (!strncmp(line, "memory", 6)) {
        printf("%lld\n", memory_most());
    } else {
        stop(w, line);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[256];
    if (argc < 5) {
        fprintf(stderr, "usage: peer-worker assay MODEL THREADS FOLDER [KEY=VALUE...]\n"
                        "       peer-worker openblas|onednn|libxsmm MxKxN THREADS FOLDER\n");
        return 2;
    }
    worker w = {.name = argv[1], .folder = argv[4], .threads = atoi(argv[3])};
    if (!strcmp(w.name, "assay"))
        network_open(&w, argv[2], argc - 5, argv + 5);
    else
        product_open(&w, argv[2]);
    printf("ready %s\n", w.version);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        answer(&w, line);
    return 0;
}
