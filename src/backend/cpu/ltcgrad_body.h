/* ltcgrad_body.h - the body of k_ltcgrad_f32_<machine>.c, after its simd_*.h: assay.LTCGrad by the synapse lists of ltc_table.h.
 *
 * VW samples at a time, everything [slot][sample].  Forwards, every state and both sums of every unfold are kept; then one sweep
 * back, in which a synapse opens once more and adds to four sums of its own, lane by lane.  What belongs to the parameters is made of
 * those sums at the end.  One part does it all: gradients are sums over the batch, and their order may not depend on the parts. */
#include <stdio.h>

#include "backend/cpu/ltc_flow.h"
#include "backend/cpu/ltc_table.h"

enum { DZ_V, DZ, NUM_OPEN, DEN_OPEN, N_SUMS }; /* of a synapse: d_z v, d_z, d_num open, d_den open */

/* In floats, every row VW long. */
typedef struct work {
    table                 t;
    const as_kernel_args *args;
    as_ltc                s;
    float *x, *u;               /* [steps][n_in]: as it came, and mapped */
    float *v;                   /* [steps][unfolds + 1][slots] */
    float *num, *den;           /* [steps][unfolds][slots], all but C */
    float *base;                /* [2][slots]: what does not change between unfolds */
    float *dt;                  /* [steps] */
    float *d_v, *d_from;        /* [slots] */
    float *d_num, *d_den;       /* [slots]: of the sensory sums */
    float *d_u;                 /* [n_in] */
    float *of_inner, *of_sensory; /* [groups][VW][N_SUMS]: sums of synapses */
    float *of_unit;             /* [slots][3]: C, d_num, d_den */
    float *of_input;            /* [n_in][2]: d_u x, d_u */
    float *of_motor;            /* [n_motor][2]: d_m v, d_m */
    float *of_fc;               /* [n_out][n_motor + 1], the last for the bias */
    float *sums_end;
} work;

static const float *given(const work *w, int i) { return as_in_has(w->args->ctx, i) ? w->args->in[i].data : NULL; }

static size_t work_lay(const table_head *h, unsigned char *base, work *w)
{
    const as_ltc *s = &h->s;
    size_t at = 0, row = VW * sizeof(float), slots = (size_t)slots_of(s), steps = (size_t)s->n_steps, n_in = (size_t)s->n_in;
    size_t unfolds = (size_t)s->n_unfolds, motors = (size_t)s->n_motor;
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
    w->of_inner = piece(base, &at, (size_t)h->n_groups[0] * VW * N_SUMS * row);
    w->of_sensory = piece(base, &at, (size_t)h->n_groups[1] * VW * N_SUMS * row);
    w->of_unit = piece(base, &at, slots * 3 * row);
    w->of_input = piece(base, &at, n_in * 2 * row);
    w->of_motor = piece(base, &at, motors * 2 * row);
    w->of_fc = piece(base, &at, (size_t)s->n_out * (motors + 1) * row);
    w->sums_end = piece(base, &at, 0);
    return at;
}

V_INLINE void row_add(float *row, vf x) { v_store(row, v_add(v_load(row), x)); }
V_INLINE void row_fma(float *row, vf a, vf b) { v_store(row, v_fma(a, b, v_load(row))); }

/* --- Forwards --- */

V_INLINE vf slope(const float *g, const float *state)
{
    return v_fma(v_one(g + A * VW), v_load(state + source(g) * VW), v_one(g + B * VW));
}

static flow slot_flow(const synapses *l, int64_t slot, const float *state, flow f)
{
    const float *g = l->groups + l->start[slot / VW] * GROUP + slot % VW, *end = g + l->degree[slot] * (int64_t)GROUP;
    for (; g + GROUP < end; g += 2 * GROUP) {
        const float *h = g + GROUP;
        vf           z[4] = { slope(g, state), slope(h, state) };
        shut(z, 2);
        f = flow_two(f, z[0], z[1], v_one(g + FLOW * VW), v_one(h + FLOW * VW), v_one(g + OPEN * VW), v_one(h + OPEN * VW));
    }
    if (g < end) {
        vf z[4] = { slope(g, state) };
        shut(z, 1);
        f = flow_one(f, z[0], v_one(g + FLOW * VW), v_one(g + OPEN * VW));
    }
    return f;
}

/* values[b + lane][at * width + k] as rows; lanes without a sample get `rest`. */
static void rows_load(const float *values, int64_t b, int count, int64_t line, int64_t width, const int32_t *place, float rest, float *rows)
{
    for (int64_t k = 0; k < width; k++)
        for (int i = 0; i < VW; i++)
            rows[(place ? place[k] : k) * VW + i] = i < count && values ? values[(b + i) * line + k] : rest;
}

static void forwards(const work *w, int64_t b, int count)
{
    const as_ltc *s = &w->s;
    const table  *t = &w->t;
    const float  *iw = given(w, AS_LTC_INPUT_W), *ib = given(w, AS_LTC_INPUT_B), *time = given(w, AS_LTC_TIMESPANS);
    int64_t       units = s->n_units, plane = t->slots * VW, n_in = s->n_in;
    memset(w->v, 0, (size_t)plane * sizeof *w->v);
    rows_load(given(w, AS_LTC_H0), b, count, units, units, t->inner.place, 0.0f, w->v);
    for (int64_t k = 0; k < s->n_steps; k++) {
        float *u = w->u + k * n_in * VW, *x = w->x + k * n_in * VW, *v = w->v + k * (s->n_unfolds + 1) * plane;
        float *base_num = w->base, *base_den = w->base + plane;
        rows_load(given(w, AS_LTC_X) + k * n_in, b, count, s->n_steps * n_in, n_in, NULL, 0.0f, x);
        for (int i = 0; i < VW; i++)
            w->dt[k * VW + i] = (time && i < count ? time[(b + i) * s->n_steps + k] : 1.0f) / (float)s->n_unfolds;
        for (int64_t i = 0; i < n_in; i++)
            v_store(u + i * VW, v_fma(v_load(x + i * VW), v_set(iw ? iw[i] : 1.0f), v_set(ib ? ib[i] : 0.0f)));
        for (int64_t j = 0; j < units; j++) {
            int64_t at = t->inner.place[j];
            flow    f = slot_flow(&t->sensory, t->sensory.place[j], u, (flow){ v_one(t->leak + at), v_one(t->rest + at) });
            v_store(base_num + at * VW, f.num);
            v_store(base_den + at * VW, f.den);
        }
        vf dt = v_load(w->dt + k * VW);
        for (int64_t i = 0; i < s->n_unfolds; i++, v += plane) {
            float *num = w->num + (k * s->n_unfolds + i) * plane, *den = w->den + (k * s->n_unfolds + i) * plane;
            for (int64_t j = 0; j < units; j++) {
                flow f = slot_flow(&t->inner, j, v, (flow){ v_load(base_num + j * VW), v_load(base_den + j * VW) });
                v_store(num + j * VW, f.num);
                v_store(den + j * VW, f.den);
                v_store(v + plane + j * VW, step(v_one(t->cm + j), v_load(v + j * VW), dt, f));
            }
        }
        memcpy(v + plane, v, (size_t)plane * sizeof *v); /* where the next step starts */
    }
}

/* --- Backwards --- */

/* A slot's synapses: d_from of every source and the four sums are added to. */
static void slot_back(const synapses *l, int64_t slot, const float *state, vf d_num, vf d_den, float *d_from, float *of)
{
    const vf     one = v_set(1.0f), to_sigma = v_set(-0.69314718f);
    int64_t      first = l->start[slot / VW];
    const float *g = l->groups + first * GROUP + slot % VW;
    float       *sums = of + (first * VW + slot % VW) * N_SUMS * VW;
    for (int32_t k = 0; k < l->degree[slot]; k++, g += GROUP, sums += VW * N_SUMS * VW) {
        vf v = v_load(state + source(g) * VW), z[4] = { v_fma(v_one(g + A * VW), v, v_one(g + B * VW)) };
        shut(z, 1);
        vf open = v_div(one, z[0]), d_a = v_fma(d_num, v_one(g + FLOW * VW), v_mul(d_den, v_one(g + OPEN * VW)));
        vf d_z = v_mul(d_a, v_fnma(open, open, open));
        row_fma(sums + DZ_V * VW, d_z, v);
        row_add(sums + DZ * VW, d_z);
        row_fma(sums + NUM_OPEN * VW, d_num, open);
        row_fma(sums + DEN_OPEN * VW, d_den, open);
        row_fma(d_from + source(g) * VW, d_z, v_mul(v_one(g + A * VW), to_sigma));
    }
}

static void readout_back(const work *w, const float *v, int64_t b, int count, const float *d_y, int64_t line)
{
    const as_ltc *s = &w->s;
    const float  *ow = given(w, AS_LTC_OUTPUT_W), *ob = given(w, AS_LTC_OUTPUT_B), *fc = given(w, AS_LTC_FC_W);
    for (int64_t k = 0; k < s->n_motor; k++) {
        int64_t at = (int64_t)w->t.inner.place[k] * VW;
        vf      d_m = v_zero(), m = v_fma(v_load(v + at), v_set(ow ? ow[k] : 1.0f), v_set(ob ? ob[k] : 0.0f));
        for (int64_t r = 0; r < (fc ? s->n_out : 1); r++) {
            float d[VW] = {0};
            for (int i = 0; i < count; i++)
                d[i] = d_y[(b + i) * line + (fc ? r : k)];
            d_m = v_fma(v_load(d), v_set(fc ? fc[r * s->n_motor + k] : 1.0f), d_m);
            if (fc)
                row_fma(w->of_fc + (r * (s->n_motor + 1) + k) * VW, v_load(d), m);
            if (fc && k == 0)
                row_add(w->of_fc + (r * (s->n_motor + 1) + s->n_motor) * VW, v_load(d));
        }
        row_fma(w->of_motor + 2 * k * VW, d_m, v_load(v + at));
        row_add(w->of_motor + (2 * k + 1) * VW, d_m);
        row_fma(w->d_v + at, d_m, v_set(ow ? ow[k] : 1.0f));
    }
}

/* One unfold of step k; returns the gradient of dt. */
static vf unfold_back(work *w, int64_t k, int64_t i, const float *v)
{
    const table *t = &w->t;
    int64_t      plane = t->slots * VW;
    const float *num = w->num + (k * w->s.n_unfolds + i) * plane, *den = w->den + (k * w->s.n_unfolds + i) * plane;
    vf           dt = v_load(w->dt + k * VW), d_dt = v_zero();
    memset(w->d_from, 0, (size_t)plane * sizeof *w->d_from);
    for (int64_t j = 0; j < w->s.n_units; j++) {
        int64_t at = j * VW;
        vf      cm = v_one(t->cm + j), up = v_div(v_load(w->d_v + at), v_fma(dt, v_load(den + at), cm));
        vf      down = v_neg(v_mul(up, v_load(v + plane + at))), d_num = v_mul(dt, up), d_den = v_mul(dt, down);
        d_dt = v_fma(up, v_load(num + at), v_fma(down, v_load(den + at), d_dt));
        row_add(w->of_unit + 3 * at, v_fma(up, v_load(v + at), down));
        row_add(w->d_num + at, d_num);
        row_add(w->d_den + at, d_den);
        row_fma(w->d_from + at, up, cm);
        slot_back(&t->inner, j, v, d_num, d_den, w->d_from, w->of_inner);
    }
    float *old = w->d_v;
    w->d_v = w->d_from;
    w->d_from = old;
    return d_dt;
}

static void rows_store(const float *rows, int64_t b, int count, int64_t line, int64_t width, const int32_t *place, float *values)
{
    for (int64_t k = 0; values && k < width; k++)
        for (int i = 0; i < count; i++)
            values[(b + i) * line + k] = rows[(place ? place[k] : k) * VW + i];
}

static void backwards(work *w, int64_t b, int count, float *const *d)
{
    const as_ltc *s = &w->s;
    const table  *t = &w->t;
    const float  *iw = given(w, AS_LTC_INPUT_W), *d_y = given(w, AS_LTC_DY), *d_h = given(w, AS_LTC_DH);
    int64_t       plane = t->slots * VW, n_in = s->n_in, line = (s->sequences ? s->n_steps : 1) * s->n_out;
    memset(w->d_v, 0, (size_t)plane * sizeof *w->d_v);
    rows_load(d_h, b, count, s->n_units, s->n_units, t->inner.place, 0.0f, w->d_v);
    for (int64_t k = s->n_steps - 1; k >= 0; k--) {
        const float *v = w->v + k * (s->n_unfolds + 1) * plane, *x = w->x + k * n_in * VW, *u = w->u + k * n_in * VW;
        vf           d_dt = v_zero();
        if (d_y && (s->sequences || k == s->n_steps - 1))
            readout_back(w, v + s->n_unfolds * plane, b, count, d_y + (s->sequences ? k * s->n_out : 0), line);
        memset(w->d_num, 0, (size_t)plane * sizeof *w->d_num);
        memset(w->d_den, 0, (size_t)plane * sizeof *w->d_den);
        memset(w->d_u, 0, (size_t)(n_in * VW) * sizeof *w->d_u);
        for (int64_t i = s->n_unfolds - 1; i >= 0; i--)
            d_dt = v_add(d_dt, unfold_back(w, k, i, v + i * plane));
        for (int64_t j = 0; j < s->n_units; j++) {
            int64_t at = (int64_t)t->inner.place[j] * VW;
            vf      d_num = v_load(w->d_num + at), d_den = v_load(w->d_den + at);
            row_add(w->of_unit + 3 * at + VW, d_num);
            row_add(w->of_unit + 3 * at + 2 * VW, d_den);
            slot_back(&t->sensory, t->sensory.place[j], u, d_num, d_den, w->d_u, w->of_sensory);
        }
        for (int64_t i = 0; i < n_in; i++) {
            vf d_u = v_load(w->d_u + i * VW);
            row_fma(w->of_input + 2 * i * VW, d_u, v_load(x + i * VW));
            row_add(w->of_input + (2 * i + 1) * VW, d_u);
            v_store(w->d_u + i * VW, v_mul(d_u, v_set(iw ? iw[i] : 1.0f)));
        }
        if (d[AS_LTC_X])
            rows_store(w->d_u, b, count, s->n_steps * n_in, n_in, NULL, d[AS_LTC_X] + k * n_in);
        if (d[AS_LTC_TIMESPANS]) {
            float times[VW];
            v_store(times, v_div(d_dt, v_set((float)s->n_unfolds)));
            rows_store(times, b, count, s->n_steps, 1, NULL, d[AS_LTC_TIMESPANS] + k);
        }
    }
    rows_store(w->d_v, b, count, s->n_units, s->n_units, t->inner.place, d[AS_LTC_H0]);
}

/* --- What belongs to the parameters --- */

static float total(const float *row) { return v_sum(v_load(row)); }

/* d: of sigma, mu, w and erev, zeros where no synapse is; in: the parameters. */
static void synapses_out(const synapses *l, const float *of, const unsigned char *mask, int64_t n_sources, const work *w, const as_view *in, float *const *d)
{
    int64_t      units = w->s.n_units;
    const float *sigma = in[0].data, *mu = in[1].data, *p = in[2].data, *erev = in[3].data;
    int32_t     *done = w->t.tally;
    for (int i = 0; i < 4; i++)
        if (d[i])
            memset(d[i], 0, (size_t)(n_sources * units) * sizeof *d[i]);
    memset(done, 0, (size_t)w->t.slots * sizeof *done);
    for (int64_t at = 0; at < n_sources * units; at++) {
        if (mask && !mask[at])
            continue;
        int64_t      slot = l->place[at % units];
        const float *sums = of + ((l->start[slot / VW] + done[slot]++) * VW + slot % VW) * N_SUMS * VW;
        float        d_z = total(sums + DZ * VW), num = total(sums + NUM_OPEN * VW);
        double       open = w->s.implicit ? pos(p[at]) : (double)p[at], rise = w->s.implicit ? as_ltc_pos_slope(p[at]) : 1.0;
        if (d[0])
            d[0][at] = total(sums + DZ_V * VW) - mu[at] * d_z;
        if (d[1])
            d[1][at] = -sigma[at] * d_z;
        if (d[2])
            d[2][at] = (float)rise * (erev[at] * num + total(sums + DEN_OPEN * VW));
        if (d[3])
            d[3][at] = (float)open * num;
    }
}

static void params_out(const work *w, float *const *d)
{
    const as_ltc  *s = &w->s;
    const as_view *in = w->args->in;
    const float   *g = given(w, AS_LTC_GLEAK), *leak = given(w, AS_LTC_VLEAK), *cm = given(w, AS_LTC_CM);
    const void    *mask = given(w, AS_LTC_MASK), *sensory = given(w, AS_LTC_SENSORY_MASK);
    for (int64_t j = 0; j < s->n_units; j++) {
        const float *of = w->of_unit + (int64_t)w->t.inner.place[j] * 3 * VW;
        float        d_num = total(of + VW), d_den = total(of + 2 * VW);
        if (d[AS_LTC_GLEAK])
            d[AS_LTC_GLEAK][j] = (float)(s->implicit ? as_ltc_pos_slope(g[j]) : 1.0) * (leak[j] * d_num + d_den);
        if (d[AS_LTC_VLEAK])
            d[AS_LTC_VLEAK][j] = (float)(s->implicit ? pos(g[j]) : (double)g[j]) * d_num;
        if (d[AS_LTC_CM])
            d[AS_LTC_CM][j] = (float)(s->implicit ? as_ltc_pos_slope(cm[j]) : 1.0) * total(of);
    }
    synapses_out(&w->t.inner, w->of_inner, mask, s->n_units, w, in + AS_LTC_SIGMA, d + AS_LTC_SIGMA);
    synapses_out(&w->t.sensory, w->of_sensory, sensory, s->n_in, w, in + AS_LTC_SENSORY_SIGMA, d + AS_LTC_SENSORY_SIGMA);
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; d[AS_LTC_INPUT_W + k] && i < s->n_in; i++)
            d[AS_LTC_INPUT_W + k][i] = total(w->of_input + (2 * i + k) * VW);
        for (int64_t i = 0; d[AS_LTC_OUTPUT_W + k] && i < s->n_motor; i++)
            d[AS_LTC_OUTPUT_W + k][i] = total(w->of_motor + (2 * i + k) * VW);
    }
    for (int64_t r = 0; r < s->n_out; r++) {
        const float *of = w->of_fc + r * (s->n_motor + 1) * VW;
        for (int64_t k = 0; d[AS_LTC_FC_W] && k < s->n_motor; k++)
            d[AS_LTC_FC_W][r * s->n_motor + k] = total(of + k * VW);
        if (d[AS_LTC_FC_B])
            d[AS_LTC_FC_B][r] = total(of + s->n_motor * VW);
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

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    (void)n_parts;
    as_ltc s;
    work   w;
    table  t;
    if (as_ltc_read(NULL, n, &s) != ASSAY_OK)
        return 0;
    table_head head = head_of(n, &s);
    return table_lay(&head, NULL, &t) + work_lay(&head, NULL, &w);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)n_parts;
    const as_node_ctx *n = args->ctx;
    work               w = { .args = args };
    float             *d[AS_LTC_N_IN] = {0};
    if (part != 0 || as_ltc_read(NULL, n, &w.s) != ASSAY_OK || !timespans_ok(args, &w.s, part))
        return;
    for (int i = 0, at = 0; i < AS_LTC_N_IN && at < n->n_out; i++)
        if (as_ltc_trains(n, i)) {
            d[i] = n->out[at].dtype != AS_NONE ? args->out[at].data : NULL;
            at++;
        }
    table_head head = head_of(n, &w.s);
    size_t     bytes = work_lay(&head, scratch, &w);
    table_build(&head, n, args->in, (unsigned char *)scratch + bytes, &w.t);
    memset(w.of_inner, 0, (size_t)((char *)w.sums_end - (char *)w.of_inner));
    for (int64_t b = 0; b < w.s.n_batch; b += VW) {
        int count = w.s.n_batch - b < VW ? (int)(w.s.n_batch - b) : VW;
        forwards(&w, b, count);
        backwards(&w, b, count, d);
    }
    params_out(&w, d);
}
