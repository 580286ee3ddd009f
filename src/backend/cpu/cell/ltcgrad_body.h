/* ltcgrad_body.h - the body of k_ltcgrad_f32_<machine>.c, after its simd_*.h: assay.LTCGrad by the synapse lists of ltc_table.h.
 *
 * LANES samples at a time, all data [slot][sample].  The forward sweep keeps every state and both sums of every unfold; then comes
 * one backward sweep, in which every synapse is computed again and adds to its own four sums, lane by lane.  The gradients of the
 * parameters are computed from those sums at the end.  Gradients are sums over the batch, and their order must not depend on the
 * parts: blocks of LANES samples are assigned to a number of shards that only the node decides; a shard belongs to one part, and
 * finish() adds the shards in their order. */
#include <stdio.h>

#include "backend/cpu/cell/ltc_flow.h"
#include "backend/cpu/cell/ltc_table.h"

enum { VECS = VW >= 16 ? 1 : 2, LANES = VECS * VW }; /* one block for each of two threads, out of 32 samples */
enum { DZ_V, DZ, NUM_OPEN, DEN_OPEN, N_SUMS };       /* of a synapse: d_z v, d_z, d_num open, d_den open */

#define EACH_V V_UNROLL for (int i = 0; i < VECS; i++)

/* Offsets in floats; every row is LANES long, those of sums VW. */
typedef struct work {
    table                 t;
    const as_kernel_args *args;
    as_ltc                s;
    float                *x, *u;                 /* [steps][n_in]: as given, and mapped */
    float                *v;                     /* [steps][unfolds + 1][slots] */
    float                *num, *den;             /* [steps][unfolds][slots], all but C */
    float                *base;                  /* [2][slots]: what does not change between unfolds */
    float                *dt;                    /* [steps] */
    float                *d_v, *d_from;          /* [slots] */
    float                *d_num, *d_den;         /* [slots]: of the sensory sums */
    float                *d_u;                   /* [n_in] */
    float                *of_inner, *of_sensory; /* [groups][VW][N_SUMS]: sums of synapses */
    float                *of_unit;               /* [slots][3]: C, d_num, d_den */
    float                *of_input;              /* [n_in][2]: d_u x, d_u */
    float                *of_motor;              /* [n_motor][2]: d_m v, d_m */
    float                *of_fc;                 /* [n_out][n_motor + 1], the last for the bias */
    size_t                shard_floats;          /* from of_inner to the of_inner of the next shard */
    int                   n_shards;
} work;

static const float *given(const work *w, int i) { return as_in_has(w->args->ctx, i) ? w->args->in[i].data : NULL; }

static size_t work_lay(const table_head *h, unsigned char *base, work *w)
{
    const as_ltc *s = &h->s;
    size_t at = 0, row = LANES * sizeof(float), slots = (size_t)slots_of(s), steps = (size_t)s->n_steps, n_in = (size_t)s->n_in;
    size_t unfolds = (size_t)s->n_unfolds;
    w->x = piece(base, &at, steps * n_in * row);
    w->u = piece(base, &at, steps * n_in * row);
    w->v = piece(base, &at, (steps * (unfolds + 1) + 1) * slots * row);
    w->num = piece(base, &at, steps * unfolds * slots * row);
    w->den = piece(base, &at, steps * unfolds * slots * row);
    w->base = piece(base, &at, 2 * slots * row);
    w->dt = piece(base, &at, steps * row);
    w->d_v = piece(base, &at, slots * row);
    w->d_from = piece(base, &at, slots * row);
    w->d_num = piece(base, &at, slots * row);
    w->d_den = piece(base, &at, slots * row);
    w->d_u = piece(base, &at, n_in * row);
    return at;
}

/* The sums of a shard, set to 0. */
static size_t sums_lay(const table_head *h, unsigned char *base, work *w)
{
    const as_ltc *s = &h->s;
    size_t        at = 0, row = VW * sizeof(float), motors = (size_t)s->n_motor;
    w->of_inner = piece(base, &at, (size_t)h->n_groups[0] * VW * N_SUMS * row);
    w->of_sensory = piece(base, &at, (size_t)h->n_groups[1] * VW * N_SUMS * row);
    w->of_unit = piece(base, &at, (size_t)slots_of(s) * 3 * row);
    w->of_input = piece(base, &at, (size_t)s->n_in * 2 * row);
    w->of_motor = piece(base, &at, motors * 2 * row);
    w->of_fc = piece(base, &at, (size_t)s->n_out * (motors + 1) * row);
    return at;
}

/* Only the part that the table fills: when the mask is not known before, there is space for all synapses. */
static void sums_clear(const work *w)
{
    const int64_t slices = w->t.slots / VW, of_group = (int64_t)VW * N_SUMS * VW;
    memset(w->of_inner, 0, (size_t)(w->t.inner.start[slices] * of_group) * sizeof(float));
    memset(w->of_sensory, 0, (size_t)(w->t.sensory.start[slices] * of_group) * sizeof(float));
    memset(w->of_unit, 0, (size_t)(w->of_inner + w->shard_floats - w->of_unit) * sizeof(float));
}

/* Up to eight, with at most 32 MB of sums. */
static int shards_of(const as_ltc *s, size_t bytes_each)
{
    const int64_t blocks = (s->n_batch + LANES - 1) / LANES, fit = (int64_t)(((size_t)32 << 20) / (bytes_each + 1)),
                  most = fit < 8 ? fit : 8;
    int64_t n = blocks < most ? blocks : most;
    return n < 1 ? 1 : (int)n;
}

V_INLINE void row_add(float *row, vf x) { v_store(row, v_add(v_load(row), x)); }
V_INLINE void row_fma(float *row, vf a, vf b) { v_store(row, v_fma(a, b, v_load(row))); }

/* --- Forwards --- */

V_INLINE void slopes(const float *g, const float *state, vf *z)
{
    const float *v = state + source(g) * LANES;
    EACH_V       z[i] = v_fma(v_one(g + A * VW), v_load(v + i * VW), v_one(g + B * VW));
}

V_INLINE void slot_flow(const synapses *l, int64_t slot, const float *state, flow *f)
{
    const float *g = l->groups + l->start[slot / VW] * GROUP + slot % VW, *end = g + l->degree[slot] * (int64_t)GROUP;
    for (; g + GROUP < end; g += 2 * GROUP) {
        const float *h = g + GROUP;
        vf           z[4];
        slopes(g, state, z);
        slopes(h, state, z + VECS);
        shut(z, 2 * VECS);
        EACH_V f[i] = flow_two(f[i], z[i], z[VECS + i], v_one(g + FLOW * VW), v_one(h + FLOW * VW), v_one(g + OPEN * VW),
                               v_one(h + OPEN * VW));
    }
    if (g < end) {
        vf z[4];
        slopes(g, state, z);
        shut(z, VECS);
        EACH_V f[i] = flow_one(f[i], z[i], v_one(g + FLOW * VW), v_one(g + OPEN * VW));
    }
}

/* values[b + lane][at * width + k] as rows; lanes without a sample get `rest`. */
static void rows_load(const float *values, int64_t b, int count, int64_t line, int64_t width, const int32_t *place, float rest,
                      float *rows)
{
    for (int64_t k = 0; k < width; k++)
        for (int i = 0; i < LANES; i++)
            rows[(place ? place[k] : k) * LANES + i] = i < count && values ? values[(b + i) * line + k] : rest;
}

static void sensory_forwards(const work *w, const float *u)
{
    const table *t = &w->t;
    float       *num = w->base, *den = w->base + t->slots * LANES;
    for (int64_t j = 0; j < w->s.n_units; j++) {
        int64_t at = t->inner.place[j];
        flow    f[2] = {{v_one(t->leak + at), v_one(t->rest + at)}, {v_one(t->leak + at), v_one(t->rest + at)}};
        slot_flow(&t->sensory, t->sensory.place[j], u, f);
        EACH_V
        {
            v_store(num + at * LANES + i * VW, f[i].num);
            v_store(den + at * LANES + i * VW, f[i].den);
        }
    }
}

/* One unfold: from v to the plane after it. */
static void unfold_forwards(const work *w, const float *dt, float *v, float *num, float *den)
{
    const table *t = &w->t;
    int64_t      plane = t->slots * LANES;
    for (int64_t j = 0; j < w->s.n_units; j++) {
        flow   f[2];
        EACH_V f[i] = (flow){v_load(w->base + j * LANES + i * VW), v_load(w->base + plane + j * LANES + i * VW)};
        slot_flow(&t->inner, j, v, f);
        EACH_V
        {
            int64_t at = j * LANES + i * VW;
            v_store(num + at, f[i].num);
            v_store(den + at, f[i].den);
            v_store(v + plane + at, step(v_one(t->cm + j), v_load(v + at), v_load(dt + i * VW), f[i]));
        }
    }
}

static void forwards(const work *w, int64_t b, int count)
{
    const as_ltc *s = &w->s;
    const float  *iw = given(w, AS_LTC_INPUT_W), *ib = given(w, AS_LTC_INPUT_B), *time = given(w, AS_LTC_TIMESPANS);
    int64_t       plane = w->t.slots * LANES, n_in = s->n_in;
    memset(w->v, 0, (size_t)plane * sizeof *w->v);
    rows_load(given(w, AS_LTC_H0), b, count, s->n_units, s->n_units, w->t.inner.place, 0.0f, w->v);
    for (int64_t k = 0; k < s->n_steps; k++) {
        float *u = w->u + k * n_in * LANES, *x = w->x + k * n_in * LANES, *v = w->v + k * (s->n_unfolds + 1) * plane,
              *dt = w->dt + k * LANES;
        rows_load(given(w, AS_LTC_X) + k * n_in, b, count, s->n_steps * n_in, n_in, NULL, 0.0f, x);
        for (int i = 0; i < LANES; i++)
            dt[i] = (time && i < count ? time[(b + i) * s->n_steps + k] : 1.0f) / (float)s->n_unfolds;
        for (int64_t m = 0; m < n_in; m++)
            EACH_V v_store(u + m * LANES + i * VW,
                           v_fma(v_load(x + m * LANES + i * VW), v_set(iw ? iw[m] : 1.0f), v_set(ib ? ib[m] : 0.0f)));
        sensory_forwards(w, u);
        for (int64_t m = 0; m < s->n_unfolds; m++, v += plane)
            unfold_forwards(w, dt, v, w->num + (k * s->n_unfolds + m) * plane, w->den + (k * s->n_unfolds + m) * plane);
        memcpy(v + plane, v, (size_t)plane * sizeof *v); /* where the next step starts */
    }
}

/* --- Backwards --- */

V_INLINE vf lanes_sum(const vf *x) { return VECS == 2 ? v_add(x[0], x[VECS - 1]) : x[0]; }
/* a b over both vectors. */
V_INLINE vf lanes_dot(const vf *a, const vf *b)
{
    return VECS == 2 ? v_fma(a[0], b[0], v_mul(a[VECS - 1], b[VECS - 1])) : v_mul(a[0], b[0]);
}

/* A slot's synapses: adds to d_from of every source and to the four sums. */
V_INLINE void slot_back(const synapses *l, int64_t slot, const float *state, const vf *d_num, const vf *d_den, float *d_from,
                        float *of)
{
    int64_t      first = l->start[slot / VW];
    const float *g = l->groups + first * GROUP + slot % VW, *end = g + l->degree[slot] * (int64_t)GROUP;
    float       *sums = of + (first * VW + slot % VW) * N_SUMS * VW;
    for (; g < end; g += GROUP, sums += VW * N_SUMS * VW) {
        const int64_t from = source(g) * LANES;
        const vf      back = v_mul(v_one(g + A * VW), v_set(-0.69314718f));
        vf            z[4], v[2], open[2], d_z[2];
        slopes(g, state, z);
        shut(z, VECS);
        EACH_V
        {
            v[i] = v_load(state + from + i * VW);
            open[i] = v_inverse(z[i]);
            d_z[i] = v_mul(v_fma(d_num[i], v_one(g + FLOW * VW), v_mul(d_den[i], v_one(g + OPEN * VW))),
                           v_fnma(open[i], open[i], open[i]));
            row_fma(d_from + from + i * VW, d_z[i], back);
        }
        row_add(sums + DZ_V * VW, lanes_dot(d_z, v));
        row_add(sums + DZ * VW, lanes_sum(d_z));
        row_add(sums + NUM_OPEN * VW, lanes_dot(d_num, open));
        row_add(sums + DEN_OPEN * VW, lanes_dot(d_den, open));
    }
}

static void readout_back(const work *w, const float *v, int64_t b, int count, const float *d_y, int64_t line)
{
    const as_ltc *s = &w->s;
    const float  *ow = given(w, AS_LTC_OUTPUT_W), *ob = given(w, AS_LTC_OUTPUT_B), *fc = given(w, AS_LTC_FC_W);
    for (int64_t k = 0; k < s->n_motor; k++) {
        int64_t at = (int64_t)w->t.inner.place[k] * LANES;
        for (int j = 0; j < LANES; j += VW) {
            vf d_m = v_zero(), m = v_fma(v_load(v + at + j), v_set(ow ? ow[k] : 1.0f), v_set(ob ? ob[k] : 0.0f));
            for (int64_t r = 0; r < (fc ? s->n_out : 1); r++) {
                float d[VW] = {0};
                for (int i = 0; i < VW && j + i < count; i++)
                    d[i] = d_y[(b + j + i) * line + (fc ? r : k)];
                d_m = v_fma(v_load(d), v_set(fc ? fc[r * s->n_motor + k] : 1.0f), d_m);
                if (fc)
                    row_fma(w->of_fc + (r * (s->n_motor + 1) + k) * VW, v_load(d), m);
                if (fc && k == 0)
                    row_add(w->of_fc + (r * (s->n_motor + 1) + s->n_motor) * VW, v_load(d));
            }
            row_fma(w->of_motor + 2 * k * VW, d_m, v_load(v + at + j));
            row_add(w->of_motor + (2 * k + 1) * VW, d_m);
            row_fma(w->d_v + at + j, d_m, v_set(ow ? ow[k] : 1.0f));
        }
    }
}

/* One unfold of step k; adds to d_dt, the gradient of dt. */
static void unfold_back(work *w, int64_t k, int64_t m, const float *v, float *d_dt)
{
    const table *t = &w->t;
    int64_t      plane = t->slots * LANES;
    const float *num = w->num + (k * w->s.n_unfolds + m) * plane, *den = w->den + (k * w->s.n_unfolds + m) * plane,
                *dt = w->dt + k * LANES;
    memset(w->d_from, 0, (size_t)plane * sizeof *w->d_from);
    for (int64_t j = 0; j < w->s.n_units; j++) {
        const vf cm = v_one(t->cm + j);
        vf       d_num[2], d_den[2], d_cm[2];
        EACH_V
        {
            int64_t at = j * LANES + i * VW;
            vf      here = v_load(dt + i * VW), up = v_mul(v_load(w->d_v + at), v_inverse(v_fma(here, v_load(den + at), cm)));
            vf      down = v_neg(v_mul(up, v_load(v + plane + at)));
            d_num[i] = v_mul(here, up);
            d_den[i] = v_mul(here, down);
            d_cm[i] = v_fma(up, v_load(v + at), down);
            row_add(d_dt + i * VW, v_fma(up, v_load(num + at), v_mul(down, v_load(den + at))));
            row_add(w->d_num + at, d_num[i]);
            row_add(w->d_den + at, d_den[i]);
            row_fma(w->d_from + at, up, cm);
        }
        row_add(w->of_unit + 3 * j * VW, lanes_sum(d_cm));
        slot_back(&t->inner, j, v, d_num, d_den, w->d_from, w->of_inner);
    }
    float *old = w->d_v;
    w->d_v = w->d_from;
    w->d_from = old;
}

static void sensory_back(const work *w, const float *u)
{
    const table *t = &w->t;
    for (int64_t j = 0; j < w->s.n_units; j++) {
        int64_t at = t->inner.place[j];
        vf      d_num[2], d_den[2];
        EACH_V
        {
            d_num[i] = v_load(w->d_num + at * LANES + i * VW);
            d_den[i] = v_load(w->d_den + at * LANES + i * VW);
        }
        row_add(w->of_unit + (3 * at + 1) * VW, lanes_sum(d_num));
        row_add(w->of_unit + (3 * at + 2) * VW, lanes_sum(d_den));
        slot_back(&t->sensory, t->sensory.place[j], u, d_num, d_den, w->d_u, w->of_sensory);
    }
}

static void rows_store(const float *rows, int64_t b, int count, int64_t line, int64_t width, const int32_t *place, float *values)
{
    for (int64_t k = 0; values && k < width; k++)
        for (int i = 0; i < count; i++)
            values[(b + i) * line + k] = rows[(place ? place[k] : k) * LANES + i];
}

static void backwards(work *w, int64_t b, int count, float *const *d)
{
    const as_ltc *s = &w->s;
    const float  *iw = given(w, AS_LTC_INPUT_W), *d_y = given(w, AS_LTC_DY), *d_h = given(w, AS_LTC_DH);
    int64_t       plane = w->t.slots * LANES, n_in = s->n_in, line = (s->sequences ? s->n_steps : 1) * s->n_out;
    memset(w->d_v, 0, (size_t)plane * sizeof *w->d_v);
    rows_load(d_h, b, count, s->n_units, s->n_units, w->t.inner.place, 0.0f, w->d_v);
    for (int64_t k = s->n_steps - 1; k >= 0; k--) {
        const float *v = w->v + k * (s->n_unfolds + 1) * plane, *x = w->x + k * n_in * LANES, *u = w->u + k * n_in * LANES;
        float        d_dt[LANES] = {0};
        if (d_y && (s->sequences || k == s->n_steps - 1))
            readout_back(w, v + s->n_unfolds * plane, b, count, d_y + (s->sequences ? k * s->n_out : 0), line);
        memset(w->d_num, 0, (size_t)plane * sizeof *w->d_num);
        memset(w->d_den, 0, (size_t)plane * sizeof *w->d_den);
        memset(w->d_u, 0, (size_t)(n_in * LANES) * sizeof *w->d_u);
        for (int64_t m = s->n_unfolds - 1; m >= 0; m--)
            unfold_back(w, k, m, v + m * plane, d_dt);
        sensory_back(w, u);
        for (int64_t m = 0; m < n_in; m++) {
            EACH_V
            {
                vf d_u = v_load(w->d_u + m * LANES + i * VW);
                row_fma(w->of_input + 2 * m * VW, d_u, v_load(x + m * LANES + i * VW));
                row_add(w->of_input + (2 * m + 1) * VW, d_u);
                v_store(w->d_u + m * LANES + i * VW, v_mul(d_u, v_set(iw ? iw[m] : 1.0f)));
            }
        }
        if (d[AS_LTC_X])
            rows_store(w->d_u, b, count, s->n_steps * n_in, n_in, NULL, d[AS_LTC_X] + k * n_in);
        if (d[AS_LTC_TIMESPANS]) {
            for (int i = 0; i < LANES; i++)
                d_dt[i] /= (float)s->n_unfolds;
            rows_store(d_dt, b, count, s->n_steps, 1, NULL, d[AS_LTC_TIMESPANS] + k);
        }
    }
    rows_store(w->d_v, b, count, s->n_units, s->n_units, w->t.inner.place, d[AS_LTC_H0]);
}

/* --- The gradients of the parameters --- */

/* Over the lanes of a shard, then over the shards. */
static float total(const work *w, const float *row)
{
    float sum = v_sum(v_load(row));
    for (int i = 1; i < w->n_shards; i++)
        sum += v_sum(v_load(row + (size_t)i * w->shard_floats));
    return sum;
}

/* Units [first, end) as targets. d: gradients of sigma, mu, w and erev, zeros where there is no synapse; in: the parameters. */
static void synapses_out(const synapses *l, const float *of, const unsigned char *mask, int64_t n_sources, const work *w,
                         const as_view *in, float *const *d, int64_t first, int64_t end)
{
    int64_t      units = w->s.n_units;
    const float *sigma = in[0].data, *mu = in[1].data, *p = in[2].data, *erev = in[3].data;
    int32_t     *done = w->t.tally;
    float        open[VW], rise[VW];
    memset(done, 0, (size_t)w->t.slots * sizeof *done);
    for (int64_t k = 0; k < n_sources * (end - first); k++) {
        int64_t j = first + k % (end - first), at = k / (end - first) * units + j;
        float   d_all[4] = {0};
        int     lane = (int)((j - first) % VW);
        if (!lane)
            open_load(&w->s, p + at, end - j, open, rise);
        if (!mask || mask[at]) {
            int64_t      slot = l->place[j];
            const float *sums = of + ((l->start[slot / VW] + done[slot]++) * VW + slot % VW) * N_SUMS * VW;
            float        d_z = total(w, sums + DZ * VW), num = total(w, sums + NUM_OPEN * VW);
            d_all[0] = total(w, sums + DZ_V * VW) - mu[at] * d_z;
            d_all[1] = -sigma[at] * d_z;
            d_all[2] = rise[lane] * (erev[at] * num + total(w, sums + DEN_OPEN * VW));
            d_all[3] = open[lane] * num;
        }
        for (int i = 0; i < 4; i++)
            if (d[i])
                d[i][at] = d_all[i];
    }
}

static void units_out(const work *w, float *const *d, int64_t first, int64_t end)
{
    const as_ltc  *s = &w->s;
    const as_view *in = w->args->in;
    const float   *g = given(w, AS_LTC_GLEAK), *leak = given(w, AS_LTC_VLEAK), *cm = given(w, AS_LTC_CM);
    const void    *mask = given(w, AS_LTC_MASK), *sensory = given(w, AS_LTC_SENSORY_MASK);
    for (int64_t j = first; j < end; j++) {
        const float *of = w->of_unit + (int64_t)w->t.inner.place[j] * 3 * VW;
        float        d_num = total(w, of + VW), d_den = total(w, of + 2 * VW);
        if (d[AS_LTC_GLEAK])
            d[AS_LTC_GLEAK][j] = (float)(s->implicit ? as_ltc_pos_slope(g[j]) : 1.0) * (leak[j] * d_num + d_den);
        if (d[AS_LTC_VLEAK])
            d[AS_LTC_VLEAK][j] = (float)(s->implicit ? pos(g[j]) : (double)g[j]) * d_num;
        if (d[AS_LTC_CM])
            d[AS_LTC_CM][j] = (float)(s->implicit ? as_ltc_pos_slope(cm[j]) : 1.0) * total(w, of);
    }
    synapses_out(&w->t.inner, w->of_inner, mask, s->n_units, w, in + AS_LTC_SIGMA, d + AS_LTC_SIGMA, first, end);
    synapses_out(&w->t.sensory, w->of_sensory, sensory, s->n_in, w, in + AS_LTC_SENSORY_SIGMA, d + AS_LTC_SENSORY_SIGMA, first,
                 end);
}

/* Input and output mapping and projection. */
static void maps_out(const work *w, float *const *d)
{
    const as_ltc *s = &w->s;
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; d[AS_LTC_INPUT_W + k] && i < s->n_in; i++)
            d[AS_LTC_INPUT_W + k][i] = total(w, w->of_input + (2 * i + k) * VW);
        for (int64_t i = 0; d[AS_LTC_OUTPUT_W + k] && i < s->n_motor; i++)
            d[AS_LTC_OUTPUT_W + k][i] = total(w, w->of_motor + (2 * i + k) * VW);
    }
    for (int64_t r = 0; r < s->n_out; r++) {
        const float *of = w->of_fc + r * (s->n_motor + 1) * VW;
        for (int64_t k = 0; d[AS_LTC_FC_W] && k < s->n_motor; k++)
            d[AS_LTC_FC_W][r * s->n_motor + k] = total(w, of + k * VW);
        if (d[AS_LTC_FC_B])
            d[AS_LTC_FC_B][r] = total(w, of + s->n_motor * VW);
    }
}

/* --- The kernel --- */

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_ltc s;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (as_ltc_read(NULL, n, &s) != ASSAY_OK) {
        snprintf(why, why_size, "the node cannot be read");
        return false;
    }
    if (s.memory) {
        snprintf(why, why_size, "there is a memory cell before it, whose gradient it does not know");
        return false;
    }
    int64_t sources = s.n_units > s.n_in ? s.n_units : s.n_in;
    if (sources > INT32_MAX / s.n_units) {
        snprintf(why, why_size, "%" PRId64 " units and %" PRId64 " inputs are more than 2^31 synapses", s.n_units, s.n_in);
        return false;
    }
    return true;
}

/* The shards' sums, then for each part its working memory and a table. */
static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    as_ltc s;
    work   w;
    table  t;
    if (as_ltc_read(NULL, n, &s) != ASSAY_OK)
        return 0;
    table_head head = head_of(n, &s);
    size_t     sums = sums_lay(&head, NULL, &w);
    return (size_t)shards_of(&s, sums) * sums + (size_t)n_parts * (work_lay(&head, NULL, &w) + table_lay(&head, NULL, &t));
}

/* Sets up everything except the table; false: the node cannot be run. */
static bool work_open(const as_kernel_args *args, int part, unsigned char *scratch, work *w, table_head *head,
                      unsigned char **table_at, float **d)
{
    const as_node_ctx *n = args->ctx;
    *w = (work){.args = args};
    if (as_ltc_read(NULL, n, &w->s) != ASSAY_OK)
        return false;
    for (int i = 0, at = 0; i < AS_LTC_N_IN && at < n->n_out; i++)
        if (as_ltc_trains(n, i)) {
            d[i] = n->out[at].dtype != AS_NONE ? args->out[at].data : NULL;
            at++;
        }
    *head = head_of(n, &w->s);
    size_t sums = sums_lay(head, scratch, w), bytes = work_lay(head, NULL, w);
    w->n_shards = shards_of(&w->s, sums);
    w->shard_floats = sums / sizeof(float);
    unsigned char *mine = scratch + (size_t)w->n_shards * sums + (size_t)part * (bytes + table_lay(head, NULL, &w->t));
    work_lay(head, mine, w);
    *table_at = mine + bytes;
    return true;
}

/* A part without a shard still makes its table, for finish(). */
static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    work           w;
    table_head     head;
    unsigned char *table_at;
    float         *d[AS_LTC_N_IN] = {0};
    int64_t        shard, end, block, last;
    if (!work_open(args, part, scratch, &w, &head, &table_at, d) || !timespans_ok(args, &w.s, part))
        return;
    table_build(&head, args->ctx, args->in, table_at, &w.t);
    for (as_share(w.n_shards, 1, part, n_parts, &shard, &end); shard < end; shard++) {
        unsigned char *sums = (unsigned char *)scratch + (size_t)shard * w.shard_floats * sizeof(float);
        sums_lay(&head, sums, &w);
        sums_clear(&w);
        for (as_share((w.s.n_batch + LANES - 1) / LANES, 1, (int)shard, w.n_shards, &block, &last); block < last; block++) {
            int count = w.s.n_batch - block * LANES < LANES ? (int)(w.s.n_batch - block * LANES) : LANES;
            forwards(&w, block * LANES, count);
            backwards(&w, block * LANES, count, d);
        }
    }
}

static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    work           w;
    table_head     head;
    unsigned char *table_at;
    float         *d[AS_LTC_N_IN] = {0};
    int64_t        first, end;
    if (!work_open(args, part, scratch, &w, &head, &table_at, d) || !timespans_ok(args, &w.s, 1)) /* part 0 has reported it */
        return;
    table_lay(&head, table_at, &w.t);
    as_share(w.s.n_units, 1, part, n_parts, &first, &end);
    if (first < end)
        units_out(&w, d, first, end);
    if (part == 0)
        maps_out(&w, d);
}
