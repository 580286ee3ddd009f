/* load.c - two kernels whose amount of work is a number. */
#include "lab/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run/shots.h"

enum {
    PASSES = 400,
    FLOATS = 1024, /* compute: so many passes over 4 KiB a call */
    RING = 4 << 20,
    WINDOW = 1 << 16,
    GRAIN = 64 /* memory: floats an array, floats a call, floats that it is rounded to */
};

struct as_load {
    bool   in_memory;
    float *x, *y, *z;
    size_t at;
};

typedef struct load_arm {
    as_load *load;
    size_t   work;
    char     what[80];
} load_arm;

assay_status as_load_new(assay_env *env, const char *kind, as_load **out)
{
    bool in_memory = !strcmp(kind, "memory");
    if (!in_memory && strcmp(kind, "compute"))
        return as_fail(env, ASSAY_BAD_INPUT, "selftest: there is no load '%s'; there are compute and memory", kind);
    as_load *l = calloc(1, sizeof *l);
    size_t   n = in_memory ? RING : FLOATS;
    void    *block = NULL;
    if (!l || posix_memalign(&block, 4096, 3 * n * sizeof(float))) {
        free(l);
        return as_fail(env, ASSAY_NO_MEMORY, "selftest: no room for the load '%s'", kind);
    }
    *l = (as_load){.in_memory = in_memory, .x = block, .y = (float *)block + n, .z = (float *)block + 2 * n};
    for (size_t i = 0; i < 3 * n; i++)
        l->x[i] = 1.0f + (float)(i % 7) * 0.125f;
    *out = l;
    return ASSAY_OK;
}

void as_load_free(as_load *load)
{
    if (load)
        free(load->x);
    free(load);
}

static void compute(as_load *l, size_t passes)
{
    float *x = l->x, *y = l->y;
    for (size_t p = 0; p < passes; p++) {
        float a = 0.5f + (float)(p & 1) * 0.25f;
        for (size_t i = 0; i < FLOATS; i++)
            y[i] = y[i] * 0.5f + a * x[i];
        __asm__ volatile("" : : "r"(y) : "memory"); /* every pass is done */
    }
}

static void triad(as_load *l, size_t n)
{
    if (l->at + n > RING)
        l->at = 0;
    float *x = l->x + l->at, *y = l->y + l->at, *z = l->z + l->at;
    for (size_t i = 0; i < n; i++)
        z[i] = x[i] + 0.5f * y[i];
    __asm__ volatile("" : : "r"(z) : "memory");
    l->at += n;
}

static assay_status call(assay_env *env, void *self)
{
    const load_arm *a = self;
    (void)env;
    if (a->load->in_memory)
        triad(a->load, a->work);
    else
        compute(a->load, a->work);
    return ASSAY_OK;
}

static assay_status launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    const load_arm *a = self;
    (void)seed;
    AS_TRY(as_first_calls(env, call, self, info->first_ns));
    double floats = (double)a->work * (a->load->in_memory ? 1 : FLOATS);
    info->ledger = (as_ledger){.flops = floats * (a->load->in_memory ? 2 : 3), .bytes = floats * 12, .launches = 1};
    return ASSAY_OK;
}

static assay_status block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches)
{
    const load_arm *a = self;
    if (warm)
        AS_TRY(call(env, self));
    return as_shots_take(env, a->what, call, self, true, calls, n, (as_stamps){0}, shots, switches);
}

static void land(void *self) { (void)self; }

assay_status as_load_arm(assay_env *env, as_load *load, const char *name, double extra, as_arm *out)
{
    load_arm *a = calloc(1, sizeof *a);
    if (!a)
        return as_fail(env, ASSAY_NO_MEMORY, "selftest: no room for the arm '%s'", name);
    double work = (load->in_memory ? WINDOW / (double)GRAIN : PASSES) * (1 + extra);
    a->load = load;
    a->work = (size_t)llround(work) * (load->in_memory ? GRAIN : 1);
    snprintf(a->what, sizeof a->what, "%s load, %zu %s a call", load->in_memory ? "memory" : "compute", a->work,
             load->in_memory ? "floats" : "passes");
    *out = (as_arm){
        .name = name, .what = a->what, .self = a, .by_cpu = true, .launch = launch, .block = block, .land = land, .drop = free};
    return ASSAY_OK;
}

assay_status as_load_parse(assay_env *env, const char *spec, char *kind, size_t size, double *extra)
{
    const char *colon = strchr(spec, ':');
    *extra = 0;
    snprintf(kind, size, "%.*s", (int)(colon ? colon - spec : (long)strlen(spec)), spec);
    if (colon && (!as_parse_f64(colon + 1, extra) || !(*extra >= 0 && *extra <= 10)))
        return as_fail(env, ASSAY_BAD_INPUT, "selftest: load '%s': the extra work is a share from 0 to 10", spec);
    return ASSAY_OK;
}
