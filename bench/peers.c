/* peers.c - assay and the libraries it is compared with, behind one small interface for tools/bench-peers.
 *
 * A candidate (here: arm) is one way to do one piece of work: it owns its operands, is run n times between two stamps, and
 * returns its result for comparison.  Every loop is in here, so that no peer pays for a call from Python.  A peer is compiled in
 * only when its library is installed (HAVE_OPENBLAS, HAVE_DNNL, HAVE_XSMM). */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "assay.h"
#include "plan/plan.h"

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

typedef struct arm arm;
struct arm {
    assay_status (*run)(arm *a, int n);
    /* A product: y[m,n] = x[m,k] w[k,n]. */
    int    m, k, n;
    float *x, *w, *y;
#ifdef HAVE_XSMM
    libxsmm_smmfunction xsmm;
#endif
    /* A network. */
    assay_env      *env;
    assay_options  *options;
    assay_model    *model;
    assay_plan     *plan;
    assay_instance *instance;
    char            message[512];
};

/* --- Products ------------------------------------------------------------------------------------------ */

#if defined(HAVE_OPENBLAS) || defined(HAVE_DNNL) || defined(HAVE_XSMM)
static float *floats(size_t n)
{
    void *p = NULL;
    return posix_memalign(&p, 64, (n ? n : 1) * sizeof(float)) ? NULL : p;
}

static arm *product_new(int m, int k, int n, assay_status (*run)(arm *, int))
{
    arm *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    *a = (arm){.run = run,
               .m = m,
               .k = k,
               .n = n,
               .x = floats((size_t)m * (size_t)k),
               .w = floats((size_t)k * (size_t)n),
               .y = floats((size_t)m * (size_t)n)};
    return a;
}
#endif

#ifdef HAVE_OPENBLAS
static assay_status openblas_run(arm *a, int n)
{
    for (int i = 0; i < n; i++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, a->m, a->n, a->k, 1.0f, a->x, a->k, a->w, a->n, 0.0f, a->y, a->n);
    return ASSAY_OK;
}
#endif
#ifdef HAVE_DNNL
static assay_status dnnl_run(arm *a, int n)
{
    for (int i = 0; i < n; i++)
        if (dnnl_sgemm('N', 'N', a->m, a->n, a->k, 1.0f, a->x, a->k, a->w, a->n, 0.0f, a->y, a->n) != dnnl_success)
            return ASSAY_DEVICE;
    return ASSAY_OK;
}
#endif
#ifdef HAVE_XSMM
/* Column-major, so the operands are swapped: y' = w' x'. */
static assay_status xsmm_run(arm *a, int n)
{
    for (int i = 0; i < n; i++)
        a->xsmm(a->w, a->x, a->y);
    return ASSAY_OK;
}
#endif

arm *peers_product(const char *library, int m, int k, int n, int threads);
arm *peers_product(const char *library, int m, int k, int n, int threads)
{
    (void)m, (void)k, (void)n, (void)threads;
#ifdef HAVE_OPENBLAS
    if (!strcmp(library, "openblas")) {
        openblas_set_num_threads(threads);
        return product_new(m, k, n, openblas_run);
    }
#endif
#ifdef HAVE_DNNL
    if (!strcmp(library, "onednn")) {
        omp_set_num_threads(threads);
        return product_new(m, k, n, dnnl_run);
    }
#endif
#ifdef HAVE_XSMM
    if (!strcmp(library, "libxsmm") && threads == 1) {
        float one = 1.0f, zero = 0.0f;
        int   flags = LIBXSMM_GEMM_FLAG_NONE;
        arm  *a = product_new(m, k, n, xsmm_run);
        if (a)
            a->xsmm = libxsmm_smmdispatch(n, m, k, &n, &k, &n, &one, &zero, &flags, NULL);
        if (a && a->xsmm)
            return a;
        free(a);
    }
#endif
    (void)library;
    return NULL;
}

const char *peers_version(const char *library);
const char *peers_version(const char *library)
{
    static char text[128] = "";
    (void)text;
#ifdef HAVE_OPENBLAS
    if (!strcmp(library, "openblas"))
        return snprintf(text, sizeof text, "%s", openblas_get_config()), text;
#endif
#ifdef HAVE_DNNL
    if (!strcmp(library, "onednn")) {
        const dnnl_version_t *v = dnnl_version();
        return snprintf(text, sizeof text, "oneDNN %d.%d.%d", v->major, v->minor, v->patch), text;
    }
#endif
#ifdef HAVE_XSMM
    if (!strcmp(library, "libxsmm"))
        return snprintf(text, sizeof text, "libxsmm %s", LIBXSMM_VERSION), text;
#endif
    (void)library;
    return NULL;
}

/* --- assay ------------------------------------------------------------------------------------------------ */

static assay_status network_run(arm *a, int n)
{
    for (int i = 0; i < n; i++)
        AS_TRY(as_instance_step(AS_RUN(a->env), a->instance));
    return ASSAY_OK;
}

/* keys: "batch", "64", "threads", "1", NULL. */
arm *peers_network(const char *spec, const char *const *keys, char *message, size_t size);
arm *peers_network(const char *spec, const char *const *keys, char *message, size_t size)
{
    arm *a = calloc(1, sizeof *a);
    if (!a || assay_env_new(&a->env) != ASSAY_OK)
        return NULL;
    a->run = network_run;
    assay_status status = assay_options_new(a->env, &a->options);
    for (; status == ASSAY_OK && keys[0]; keys += 2)
        status = assay_options_set(a->env, a->options, keys[0], keys[1]);
    if (status == ASSAY_OK)
        status = assay_model_load(a->env, spec, a->options, &a->model);
    if (status == ASSAY_OK)
        status = assay_plan_build(a->env, a->model, a->options, &a->plan);
    if (status == ASSAY_OK)
        status = assay_instance_new(a->env, a->plan, &a->instance);
    if (status == ASSAY_OK)
        return a;
    snprintf(message, size, "%s", assay_message(a->env));
    return NULL;
}

/* --- All of them -------------------------------------------------------------------------------------------- */

/* Operand 0 is x, 1 is w of a product; of a network, its inputs.  -1: output 0. */
float *peers_data(arm *a, int which, size_t *count);
float *peers_data(arm *a, int which, size_t *count)
{
    if (a->instance) {
        as_view v = which < 0 ? as_instance_output(a->instance, 0) : as_instance_input(a->instance, which);
        *count = (size_t)as_shape_count(&v.shape);
        return v.data;
    }
    *count = which < 0 ? (size_t)a->m * (size_t)a->n : which == 0 ? (size_t)a->m * (size_t)a->k : (size_t)a->k * (size_t)a->n;
    return which < 0 ? a->y : which == 0 ? a->x : a->w;
}

/* For networks that do not fit in memory together. */
void peers_free(arm *a);
void peers_free(arm *a)
{
    assay_instance_free(a->instance);
    assay_plan_free(a->plan);
    assay_model_free(a->model);
    assay_options_free(a->options);
    if (a->env)
        assay_env_free(a->env);
    free(a->x);
    free(a->w);
    free(a->y);
    free(a);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds per run, over n runs: CPU time of this thread, or wall time; *switches: how often the thread was pre-empted meanwhile.
 * Negative: the candidate failed. */
double peers_time(arm *a, int n, int wall, long *switches);
double peers_time(arm *a, int n, int wall, long *switches)
{
    struct rusage before, after;
    clockid_t     clock = wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    getrusage(RUSAGE_THREAD, &before);
    double begin = seconds(clock);
    if (a->run(a, n) != ASSAY_OK)
        return -1;
    double end = seconds(clock);
    getrusage(RUSAGE_THREAD, &after);
    *switches = after.ru_nivcsw - before.ru_nivcsw;
    return (end - begin) / n;
}
