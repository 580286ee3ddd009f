/* load.c - three kernels whose amount of work is a number. */
#include "lab/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "run/shots.h"

enum {
    PASSES = 400,
    FLOATS = 1024, /* compute: passes over 4 KiB per call */
    RING = 4 << 20,
    WINDOW = 1 << 16,
    GRAIN = 64, /* memory: floats per array, floats per call, floats to which that is rounded */
    LINE = 64,
    CHASED = 1 << 20, /* chase: bytes walked through, one hop per cache line */
    HOPS = 20000      /* a call */
};

typedef enum load_kind { COMPUTE, MEMORY, CHASE, N_KINDS } load_kind;

/* For each kind: the work of a call, its unit, and what one unit does. */
static const struct {
    const char *name, *unit;
    size_t      work, grain, bytes;
    double      flops, traffic; /* per unit of work */
} kinds[N_KINDS] = {
    [COMPUTE] = {"compute", "passes", PASSES, 1, 3 * FLOATS * sizeof(float), 3.0 * FLOATS, 12.0 * FLOATS},
    [MEMORY] = {"memory", "floats", WINDOW, GRAIN, 3 * (size_t)RING * sizeof(float), 2, 12},
    [CHASE] = {"chase", "hops", HOPS, 1, CHASED, 0, sizeof(void *)},
};

struct as_load {
    load_kind kind;
    float    *x, *y, *z;
    size_t    at;
    void    **hop; /* chase: current position */
};

typedef struct load_arm {
    as_load *load;
    size_t   work;
    char     what[80];
} load_arm;

/* One cycle through all cache lines, in an order that no prefetcher guesses and that is the same in every process. */
static void cycle_make(char *block)
{
    enum { N = CHASED / LINE };
    static uint16_t next[N];
    for (int i = 0; i < N; i++)
        next[i] = (uint16_t)i;
    for (int i = N - 1; i > 0; i--) { /* Sattolo: never swaps with itself, so there is a single cycle */
        int      k = (int)(as_philox_uniform(1, CHASED, 0, (uint64_t)i) * (float)i);
        uint16_t kept = next[i];
        next[i] = next[k];
        next[k] = kept;
    }
    for (int i = 0; i < N; i++)
        *(void **)(void *)(block + (size_t)i * LINE) = block + (size_t)next[i] * LINE;
}

assay_status as_load_new(assay_env *env, const char *name, as_load **out)
{
    load_kind k = COMPUTE;
    while (k < N_KINDS && strcmp(name, kinds[k].name))
        k++;
    if (k == N_KINDS)
        return as_fail(env, ASSAY_BAD_INPUT, "selftest: unknown load '%s'; known: compute, memory, chase", name);
    as_load *l = calloc(1, sizeof *l);
    size_t   n = kinds[k].bytes / sizeof(float) / 3;
    void    *block = NULL;
    if (!l || posix_memalign(&block, 4096, kinds[k].bytes)) {
        free(l);
        return as_fail(env, ASSAY_NO_MEMORY, "selftest: not enough memory for the load '%s'", name);
    }
    *l = (as_load){.kind = k, .x = block, .y = (float *)block + n, .z = (float *)block + 2 * n, .hop = block};
    if (k == CHASE)
        cycle_make(block);
    for (size_t i = 0; k != CHASE && i < 3 * n; i++)
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
        __asm__ volatile("" : : "r"(y) : "memory"); /* forces every pass to be computed */
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

static void chase(as_load *l, size_t hops)
{
    void **at = l->hop;
    for (size_t i = 0; i < hops; i++)
        at = *at;
    l->hop = at; /* the next call continues from here */
    __asm__ volatile("" : : "r"(at) : "memory");
}

static assay_status call(assay_env *env, void *self)
{
    static void (*const work[N_KINDS])(as_load *, size_t) = {[COMPUTE] = compute, [MEMORY] = triad, [CHASE] = chase};
    const load_arm *a = self;
    (void)env;
    work[a->load->kind](a->load, a->work);
    return ASSAY_OK;
}

static assay_status launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    const load_arm *a = self;
    double          n = (double)a->work;
    (void)seed;
    AS_TRY(as_first_calls(env, call, self, info->first_ns));
    info->ledger = (as_ledger){.flops = n * kinds[a->load->kind].flops, .bytes = n * kinds[a->load->kind].traffic, .launches = 1};
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
        return as_fail(env, ASSAY_NO_MEMORY, "selftest: not enough memory for the candidate '%s'", name);
    size_t grain = kinds[load->kind].grain;
    a->load = load;
    a->work = (size_t)llround((double)(kinds[load->kind].work / grain) * (1 + extra)) * grain;
    snprintf(a->what, sizeof a->what, "%s load, %zu %s per call", kinds[load->kind].name, a->work, kinds[load->kind].unit);
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
        return as_fail(env, ASSAY_BAD_INPUT, "selftest: load '%s': the extra work must be a share from 0 to 10", spec);
    return ASSAY_OK;
}
