/* ltc_table.h - the synapses of assay.LTC as its kernels read them; include a simd_*.h before.
 *
 * Targets are sorted by how many synapses they have and cut into slices of VW; the k-th synapses of a slice are one group,
 * [from][a][b][flow][open] of VW each, with the constant part computed in advance:
 *     sigma * (v - mu) = -ln 2 * (a v + b),  open = pos(w),  flow = pos(w) * erev
 * Samples side by side go through the lanes of a slice one after the other and stop at a target's last synapse.  A single sample
 * takes a whole group at once; where a target has fewer synapses than the first of its slice, the group reads a source that is
 * always 0 and adds nothing.  Sorting keeps the groups of n synapses from s sources within n / VW + s. */
#ifndef AS_BACKEND_CPU_LTC_TABLE_H
#define AS_BACKEND_CPU_LTC_TABLE_H

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/simd/vmath.h"
#include "op/cell/ltc.h"

enum { FROM, A, B, FLOW, OPEN, N_ROWS, GROUP = N_ROWS * VW /* floats */ };

typedef struct synapses {
    int64_t *start;  /* [slices + 1], in groups */
    int32_t *degree; /* [slots], most first */
    int32_t *place;  /* [units]: the slot of a unit */
    float   *groups;
} synapses;

/* The source of a lane's synapse; an integer among floats. */
V_INLINE int64_t source(const float *lane)
{
    int32_t at;
    memcpy(&at, lane + FROM * VW, sizeof at);
    return at;
}

/* The head of a table, so that a run need not read the node again. */
typedef struct table_head {
    as_ltc  s;
    bool    ready;       /* false: an input that it needs was not present yet */
    int64_t n_groups[2]; /* space for inner and sensory ones */
} table_head;

/* slots: units up to a multiple of VW.  The state lies in the slots of the inner synapses. */
typedef struct table {
    table_head *head;
    int64_t     slots;
    synapses    inner, sensory;
    float      *cm, *leak, *rest; /* [slots]: C, g * vleak, g + epsilon */
    int32_t    *tally;            /* while building */
} table;

static int64_t slots_of(const as_ltc *s) { return (s->n_units + VW - 1) / VW * VW; }

static table_head head_of(const as_node_ctx *n, const as_ltc *s)
{
    int64_t    slices = slots_of(s) / VW, sources[2] = {s->n_units, s->n_in};
    table_head h = {.s = *s};
    for (int k = 0; k < 2; k++) {
        int64_t there = (int64_t)as_ltc_synapses(n, k ? AS_LTC_SENSORY_MASK : AS_LTC_MASK, sources[k], s->n_units);
        int64_t most = slices * sources[k], sorted = there / VW + sources[k];
        h.n_groups[k] = sorted < most ? sorted : most;
    }
    return h;
}

/* The next piece of a table that starts at `base` (NULL: only the size is wanted), aligned to cache lines. */
static void *piece(unsigned char *base, size_t *at, size_t bytes)
{
    void *p = base ? base + *at : NULL;
    *at += (bytes + 63) / 64 * 64;
    return p;
}

/* The pieces of a table in memory, whose head may still be empty; returns its bytes. */
static size_t table_lay(const table_head *h, void *base, table *t)
{
    size_t at = 0, slots = (size_t)slots_of(&h->s), most = (size_t)(h->s.n_units > h->s.n_in ? h->s.n_units : h->s.n_in);
    *t = (table){.slots = (int64_t)slots};
    t->head = piece(base, &at, sizeof *t->head);
    for (int k = 0; k < 2; k++) {
        synapses *l = k ? &t->sensory : &t->inner;
        l->start = piece(base, &at, (slots / VW + 1) * sizeof *l->start);
        l->degree = piece(base, &at, slots * sizeof *l->degree);
        l->place = piece(base, &at, slots * sizeof *l->place);
        l->groups = piece(base, &at, (size_t)h->n_groups[k] * GROUP * sizeof *l->groups);
    }
    t->cm = piece(base, &at, slots * sizeof *t->cm);
    t->leak = piece(base, &at, slots * sizeof *t->leak);
    t->rest = piece(base, &at, slots * sizeof *t->rest);
    t->tally = piece(base, &at, (slots + most + 2) * sizeof *t->tally);
    return at;
}

static double pos(double p) { return p > 20.0 ? p : log1p(exp(p)); }

/* pos() of up to VW weights, and its slope, according to their constraint. */
V_INLINE void open_load(const as_ltc *s, const float *w, int64_t left, float *open, float *rise)
{
    vf x = v_load_n(w, left < VW ? (int)left : VW);
    v_store(open, s->implicit ? vm_softplus(x) : x);
    if (rise)
        v_store(rise, s->implicit ? vm_sigmoid(x) : v_set(1.0f));
}

/* Degrees, slots and starts.  A counting sort: units of one degree keep their order. */
static void synapses_sort(synapses *l, const unsigned char *mask, int64_t n_sources, int64_t n_units, int64_t slots, int32_t *tally)
{
    int32_t *degree = tally, *first = tally + slots; /* first[d]: slots before those of degree d */
    memset(degree, 0, (size_t)slots * sizeof *degree);
    memset(first, 0, (size_t)(n_sources + 2) * sizeof *first);
    for (int64_t i = 0; i < n_sources; i++)
        for (int64_t j = 0; j < n_units; j++)
            degree[j] += !mask || mask[i * n_units + j] != 0;
    for (int64_t j = 0; j < n_units; j++)
        if (degree[j])
            first[degree[j] - 1]++;
    for (int64_t d = n_sources - 1; d >= 0; d--)
        first[d] += first[d + 1];
    memset(l->degree, 0, (size_t)slots * sizeof *l->degree);
    for (int64_t j = 0; j < n_units; j++) {
        l->place[j] = first[degree[j]]++;
        l->degree[l->place[j]] = degree[j];
    }
    l->start[0] = 0;
    for (int64_t k = 0; k < slots / VW; k++)
        l->start[k + 1] = l->start[k] + l->degree[k * VW];
}

/* m: sigma, mu, w and erev. from: the slots of the sources, NULL when they have none. nothing: the source that is always 0. */
static void synapses_fill(synapses *l, const unsigned char *mask, const as_view *m, const int32_t *from, int32_t nothing,
                          int64_t n_sources, const as_ltc *s, int64_t slots, int32_t *tally)
{
    const float *sigma = m[0].data, *mu = m[1].data, *w = m[2].data, *erev = m[3].data;
    int32_t     *done = tally;
    float        open[VW];
    memset(done, 0, (size_t)slots * sizeof *done);
    memset(l->groups, 0, (size_t)l->start[slots / VW] * GROUP * sizeof *l->groups);
    for (int64_t k = 0; k < l->start[slots / VW]; k++)
        for (int lane = 0; lane < VW; lane++)
            memcpy(l->groups + k * GROUP + FROM * VW + lane, &nothing, sizeof nothing);
    for (int64_t at = 0; at < n_sources * s->n_units; at++) {
        int64_t j = at % s->n_units;
        int32_t source = from ? from[at / s->n_units] : (int32_t)(at / s->n_units);
        if (at % VW == 0)
            open_load(s, w + at, n_sources * s->n_units - at, open, NULL);
        if (mask && !mask[at])
            continue;
        int64_t slot = l->place[j];
        float  *g = l->groups + (l->start[slot / VW] + done[slot]++) * GROUP + slot % VW;
        double  slope = -1.4426950408889634 * (double)sigma[at];
        memcpy(g + FROM * VW, &source, sizeof source);
        g[A * VW] = (float)slope;
        g[B * VW] = (float)(-slope * (double)mu[at]);
        g[FLOW * VW] = open[at % VW] * erev[at];
        g[OPEN * VW] = open[at % VW];
    }
}

/* False when an input that the table needs is not present. */
static bool table_build(const table_head *head, const as_node_ctx *n, const as_view *in, void *base, table *t)
{
    const as_ltc *s = &head->s;
    table_lay(head, base, t);
    *t->head = *head;
    for (int i = AS_LTC_GLEAK; i <= AS_LTC_SENSORY_MASK; i++)
        if (as_in_has(n, i) && !in[i].data)
            return false;
    const unsigned char *mask = as_in_has(n, AS_LTC_MASK) ? in[AS_LTC_MASK].data : NULL;
    const unsigned char *sensory = as_in_has(n, AS_LTC_SENSORY_MASK) ? in[AS_LTC_SENSORY_MASK].data : NULL;
    const float         *g = in[AS_LTC_GLEAK].data, *v = in[AS_LTC_VLEAK].data, *cm = in[AS_LTC_CM].data;
    synapses_sort(&t->inner, mask, s->n_units, s->n_units, t->slots, t->tally);
    synapses_fill(&t->inner, mask, in + AS_LTC_SIGMA, t->inner.place, (int32_t)t->slots, s->n_units, s, t->slots, t->tally);
    synapses_sort(&t->sensory, sensory, s->n_in, s->n_units, t->slots, t->tally);
    synapses_fill(&t->sensory, sensory, in + AS_LTC_SENSORY_SIGMA, NULL, (int32_t)s->n_in, s->n_in, s, t->slots, t->tally);
    for (int64_t j = 0; j < t->slots; j++) { /* a slot without a unit rests at 0 */
        t->cm[j] = 1.0f;
        t->leak[j] = t->rest[j] = 0.0f;
    }
    for (int64_t j = 0; j < s->n_units; j++) {
        double gleak = s->implicit ? pos(g[j]) : (double)g[j];
        t->cm[t->inner.place[j]] = (float)(s->implicit ? pos(cm[j]) : (double)cm[j]);
        t->leak[t->inner.place[j]] = (float)(gleak * (double)v[j]);
        t->rest[t->inner.place[j]] = (float)(gleak + s->epsilon);
    }
    t->head->ready = true;
    return true;
}

/* Every part checks all of them, so that none writes when one is bad; part 0 reports it. */
static bool timespans_ok(const as_kernel_args *args, const as_ltc *s, int part)
{
    const float *time = as_in_has(args->ctx, AS_LTC_TIMESPANS) ? args->in[AS_LTC_TIMESPANS].data : NULL;
    for (int64_t i = 0; time && i < s->n_batch * s->n_steps; i++)
        if (!(time[i] >= 0.0f) || isinf(time[i])) {
            if (part == 0)
                *args->status =
                    as_refuse(args->env, args->ctx,
                              "timespans[%" PRId64 "][%" PRId64 "] (sample, step) is %g and must be finite and not negative",
                              i / s->n_steps, i % s->n_steps, (double)time[i]);
            return false;
        }
    return true;
}

#endif
