/* ltc_run.c - liquid time constants: one sequence forwards and backwards in double. */
#include "op/cell/ltc.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- A network in double --- */

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
/* The reference is linear above 20. */
static double pos(double p) { return p > 20.0 ? p : log1p(exp(p)); }
double        as_ltc_pos_slope(double p) { return p > 20.0 ? 1.0 : sigmoid(p); }

static as_synapse *synapses_load(const as_ltc_net *net, const as_view *mask, int first, int64_t n_sources, as_arena *arena,
                                 int64_t *count)
{
    int64_t n_targets = net->s.n_units, all = n_sources * n_targets, there = 0;
    for (int64_t i = 0; i < all; i++)
        there += !mask || as_view_get_i64(mask, i) != 0;
    as_synapse   *list = AS_TAKE(arena, as_synapse, there);
    const double *sigma = net->in[first], *mu = net->in[first + 1], *w = net->in[first + 2], *erev = net->in[first + 3];
    *count = there;
    for (int64_t i = 0, k = 0; list && i < all; i++)
        if (!mask || as_view_get_i64(mask, i) != 0)
            list[k++] = (as_synapse){.from = i / n_targets,
                                     .to = i % n_targets,
                                     .at = i,
                                     .w = net->s.implicit ? pos(w[i]) : w[i],
                                     .sigma = sigma[i],
                                     .mu = mu[i],
                                     .erev = erev[i]};
    return list;
}

static assay_status timespans_check(assay_env *env, const as_node_ctx *n, const as_ltc_net *net)
{
    const double *time = net->in[AS_LTC_TIMESPANS];
    for (int64_t i = 0; time && i < net->s.n_batch * net->s.n_steps; i++)
        if (!(time[i] >= 0.0) || isinf(time[i]))
            return as_refuse(env, n, "timespans[%" PRId64 "][%" PRId64 "] (sample, step) is %g and must be finite and not negative",
                             i / net->s.n_steps, i % net->s.n_steps, time[i]);
    return ASSAY_OK;
}

assay_status as_ltc_load(assay_env *env, const as_node_ctx *n, const as_view *in, as_arena *arena, as_ltc_net *out)
{
    as_ltc_net net = {0};
    bool       ok = true;
    AS_TRY(as_ltc_read(env, n, &net.s));
    for (int i = 0; i < n->n_in && ok; i++)
        if (as_in_has(n, i) && !as_ltc_is_mask(i)) {
            int64_t count = as_shape_count(&n->in[i].shape);
            ok = (net.in[i] = AS_TAKE(arena, double, count)) != NULL;
            for (int64_t k = 0; ok && k < count; k++)
                net.in[i][k] = as_view_get(&in[i], k);
        }
    if (ok) {
        AS_TRY(timespans_check(env, n, &net));
        for (int64_t j = 0; net.s.implicit && j < net.s.n_units; j++) {
            net.in[AS_LTC_CM][j] = pos(net.in[AS_LTC_CM][j]);
            net.in[AS_LTC_GLEAK][j] = pos(net.in[AS_LTC_GLEAK][j]);
        }
        net.inner = synapses_load(&net, as_in_has(n, AS_LTC_MASK) ? &in[AS_LTC_MASK] : NULL, AS_LTC_SIGMA, net.s.n_units, arena,
                                  &net.n_inner);
        net.sensory = synapses_load(&net, as_in_has(n, AS_LTC_SENSORY_MASK) ? &in[AS_LTC_SENSORY_MASK] : NULL, AS_LTC_SENSORY_SIGMA,
                                    net.s.n_in, arena, &net.n_sensory);
        net.memory =
            (as_memory){net.s.n_in, net.s.n_units, net.in[AS_LTC_MEMORY_W], net.in[AS_LTC_MEMORY_B], net.in[AS_LTC_MEMORY_R]};
    }
    if (!ok || !net.inner || !net.sensory)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %" PRId64 " units", n->op->name,
                       n->name ? n->name : "", net.s.n_units);
    *out = net;
    return ASSAY_OK;
}

assay_status as_ltc_trail_take(assay_env *env, const as_node_ctx *n, const as_ltc *s, bool keep, as_arena *arena, as_ltc_trail *out)
{
    int64_t      steps = keep ? s->n_steps : 1, units = s->n_units, memory = s->memory ? steps * units : 0;
    as_ltc_trail t = {.keep = keep};
    t.u = AS_TAKE(arena, double, steps * s->n_in);
    t.v = AS_TAKE(arena, double, steps *(s->n_unfolds + 1) * units);
    t.sensory = AS_TAKE(arena, double, steps * 2 * units);
    t.h = AS_TAKE(arena, double, memory);
    t.c = AS_TAKE(arena, double, memory);
    t.gates = AS_TAKE(arena, double, 4 * memory);
    t.c_next = AS_TAKE(arena, double, memory);
    if (!t.u || !t.v || !t.sensory || !t.h || !t.c || !t.gates || !t.c_next)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %" PRId64 " steps of %" PRId64 " units", n->op->name,
                       n->name ? n->name : "", steps, units);
    *out = t;
    return ASSAY_OK;
}

/* --- Forwards --- */

/* num[to] += a * erev, den[to] += a. */
static void synapses_sum(const as_synapse *list, int64_t count, const double *from, double *num, double *den)
{
    for (const as_synapse *s = list; s < list + count; s++) {
        double a = s->w * sigmoid(s->sigma * (from[s->from] - s->mu));
        num[s->to] += a * s->erev;
        den[s->to] += a;
    }
}

/* The total input of each unit from the state v, without the terms C v and C. */
static void currents(const as_ltc_net *net, const double *sensory, const double *v, double *num, double *den)
{
    const double *g = net->in[AS_LTC_GLEAK], *leak = net->in[AS_LTC_VLEAK];
    int64_t       units = net->s.n_units;
    for (int64_t j = 0; j < units; j++) {
        num[j] = g[j] * leak[j] + sensory[j];
        den[j] = g[j] + sensory[units + j] + net->s.epsilon;
    }
    synapses_sum(net->inner, net->n_inner, v, num, den);
}

static double dt_of(const as_ltc_net *net, int64_t b, int64_t t)
{
    const double *time = net->in[AS_LTC_TIMESPANS];
    return (time ? time[b * net->s.n_steps + t] : 1.0) / (double)net->s.n_unfolds;
}

static void readout(const as_ltc_net *net, const double *v, double *y)
{
    const double *w = net->in[AS_LTC_OUTPUT_W], *o = net->in[AS_LTC_OUTPUT_B], *fc = net->in[AS_LTC_FC_W],
                 *bias = net->in[AS_LTC_FC_B];
    int64_t motors = net->s.n_motor;
    for (int64_t r = 0; fc && r < net->s.n_out; r++)
        y[r] = bias ? bias[r] : 0.0;
    for (int64_t k = 0; k < motors; k++) {
        double m = v[k] * (w ? w[k] : 1.0) + (o ? o[k] : 0.0);
        if (!fc)
            y[k] = m;
        for (int64_t r = 0; fc && r < net->s.n_out; r++)
            y[r] += fc[r * motors + k] * m;
    }
}

/* Where a trail stores step t. */
typedef struct place {
    double *u, *v, *sensory, *h, *c, *gates, *c_next;
} place;

static place place_of(const as_ltc_net *net, const as_ltc_trail *trail, int64_t t)
{
    int64_t at = trail->keep ? t : 0, units = net->s.n_units, m = net->s.memory ? at * units : 0;
    return (place){trail->u + at * net->s.n_in,
                   trail->v + at * (net->s.n_unfolds + 1) * units,
                   trail->sensory + at * 2 * units,
                   trail->h + m,
                   trail->c + m,
                   trail->gates + 4 * m,
                   trail->c_next + m};
}

assay_status as_ltc_forward(assay_env *env, const as_node_ctx *n, const as_ltc_net *net, int64_t b, const as_ltc_trail *trail,
                            double *h, double *c, double *y)
{
    int64_t       units = net->s.n_units, n_in = net->s.n_in, steps = net->s.n_steps;
    size_t        state_bytes = (size_t)units * sizeof(double);
    const double *iw = net->in[AS_LTC_INPUT_W], *ib = net->in[AS_LTC_INPUT_B], *cm = net->in[AS_LTC_CM];
    for (int64_t t = 0; t < steps; t++) {
        AS_GO_ON(env, n);
        const double *x = net->in[AS_LTC_X] + (b * steps + t) * n_in;
        place         p = place_of(net, trail, t);
        double        dt = dt_of(net, b, t);
        for (int64_t i = 0; i < n_in; i++)
            p.u[i] = x[i] * (iw ? iw[i] : 1.0) + (ib ? ib[i] : 0.0);
        if (net->s.memory) {
            memcpy(p.h, h, state_bytes);
            memcpy(p.c, c, state_bytes);
            as_memory_step(&net->memory, x, p.h, p.c, p.gates, p.c_next, p.v);
            memcpy(c, p.c_next, state_bytes);
        } else {
            memcpy(p.v, h, state_bytes);
        }
        memset(p.sensory, 0, 2 * state_bytes);
        synapses_sum(net->sensory, net->n_sensory, p.u, p.sensory, p.sensory + units);
        for (int64_t k = 0; k < net->s.n_unfolds; k++) {
            double *v = p.v + k * units, *next = v + units;
            /* `h` is unused until the step ends, so it holds the denominators. */
            currents(net, p.sensory, v, next, h);
            for (int64_t j = 0; j < units; j++)
                next[j] = (cm[j] * v[j] + dt * next[j]) / (cm[j] + dt * h[j]);
        }
        memcpy(h, p.v + net->s.n_unfolds * units, state_bytes);
        if (y && net->s.sequences)
            readout(net, h, y + t * net->s.n_out);
    }
    if (y && !net->s.sequences)
        readout(net, h, y);
    return ASSAY_OK;
}

/* --- Backwards --- */

static void synapses_back(const as_synapse *list, int64_t count, const double *from, const double *d_num, const double *d_den,
                          double *d_from, double *const *d /* sigma, mu, w, erev */)
{
    for (const as_synapse *s = list; s < list + count; s++) {
        double open = sigmoid(s->sigma * (from[s->from] - s->mu)), d_a = d_num[s->to] * s->erev + d_den[s->to];
        double d_z = d_a * s->w * open * (1.0 - open);
        d[0][s->at] += d_z * (from[s->from] - s->mu);
        d[1][s->at] -= d_z * s->sigma;
        d[2][s->at] += d_a * open;
        d[3][s->at] += d_num[s->to] * s->w * open;
        d_from[s->from] += d_z * s->sigma;
    }
}

/* d_v += the gradient of what readout() returned; d_m has n_motor elements. */
static void readout_back(const as_ltc_net *net, const double *v, const double *d_y, double *d_v, double *d_m, double *const *d)
{
    const double *w = net->in[AS_LTC_OUTPUT_W], *o = net->in[AS_LTC_OUTPUT_B], *fc = net->in[AS_LTC_FC_W];
    int64_t       motors = net->s.n_motor;
    for (int64_t k = 0; k < motors; k++) {
        double m = v[k] * (w ? w[k] : 1.0) + (o ? o[k] : 0.0);
        d_m[k] = fc ? 0.0 : d_y[k];
        for (int64_t r = 0; fc && r < net->s.n_out; r++) {
            d_m[k] += fc[r * motors + k] * d_y[r];
            d[AS_LTC_FC_W][r * motors + k] += d_y[r] * m;
        }
        if (w)
            d[AS_LTC_OUTPUT_W][k] += d_m[k] * v[k];
        if (o)
            d[AS_LTC_OUTPUT_B][k] += d_m[k];
        d_v[k] += d_m[k] * (w ? w[k] : 1.0);
    }
    for (int64_t r = 0; net->in[AS_LTC_FC_B] && r < net->s.n_out; r++)
        d[AS_LTC_FC_B][r] += d_y[r];
}

/* One unfold backwards: d_v is the gradient of its result and becomes the gradient of `v`; adds to the gradients of the two sums
 * of the sensory synapses.  Returns the gradient of dt.  scratch: 5 n_units. */
static double unfold_back(const as_ltc_net *net, const place *p, const double *v, double dt, double *d_v, double *d_sensory,
                          double *scratch, double *const *d)
{
    int64_t       units = net->s.n_units;
    const double *g = net->in[AS_LTC_GLEAK], *leak = net->in[AS_LTC_VLEAK], *cm = net->in[AS_LTC_CM], *next = v + units;
    double *num = scratch, *den = num + units, *d_num = den + units, *d_den = d_num + units, *d_from = d_den + units, d_dt = 0.0;
    currents(net, p->sensory, v, num, den);
    for (int64_t j = 0; j < units; j++) {
        double all = cm[j] + dt * den[j], up = d_v[j] / all, down = -up * next[j];
        d[AS_LTC_CM][j] += up * v[j] + down;
        d_dt += up * num[j] + down * den[j];
        d_from[j] = up * cm[j];
        d_num[j] = dt * up;
        d_den[j] = dt * down;
        d[AS_LTC_GLEAK][j] += d_num[j] * leak[j] + d_den[j];
        d[AS_LTC_VLEAK][j] += d_num[j] * g[j];
        d_sensory[j] += d_num[j];
        d_sensory[units + j] += d_den[j];
    }
    synapses_back(net->inner, net->n_inner, v, d_num, d_den, d_from, d + AS_LTC_SIGMA);
    memcpy(d_v, d_from, (size_t)units * sizeof *d_v);
    return d_dt;
}

static void input_back(const as_ltc_net *net, const double *x, const double *d_u, double *d_x, double *const *d)
{
    const double *iw = net->in[AS_LTC_INPUT_W], *ib = net->in[AS_LTC_INPUT_B];
    for (int64_t i = 0; i < net->s.n_in; i++) {
        d_x[i] += d_u[i] * (iw ? iw[i] : 1.0);
        if (iw)
            d[AS_LTC_INPUT_W][i] += d_u[i] * x[i];
        if (ib)
            d[AS_LTC_INPUT_B][i] += d_u[i];
    }
}

void as_ltc_backward(const as_ltc_net *net, int64_t b, const as_ltc_trail *trail, const double *d_y, double *d_h, double *d_c,
                     double *scratch, double *const *d)
{
    int64_t units = net->s.n_units, n_in = net->s.n_in, steps = net->s.n_steps;
    double *d_sensory = scratch, *work = d_sensory + 2 * units, *d_u = work + 5 * units, *d_m = d_u + n_in,
           *gates = d_m + net->s.n_motor;
    for (int64_t t = steps - 1; t >= 0; t--) {
        int64_t       at = b * steps + t;
        const double *x = net->in[AS_LTC_X] + at * n_in;
        double       *d_x = d[AS_LTC_X] + at * n_in, d_dt = 0.0;
        place         p = place_of(net, trail, t);
        if (d_y && (net->s.sequences || t == steps - 1))
            readout_back(net, p.v + net->s.n_unfolds * units, net->s.sequences ? d_y + t * net->s.n_out : d_y, d_h, d_m, d);
        memset(d_sensory, 0, 2 * (size_t)units * sizeof *d_sensory);
        memset(d_u, 0, (size_t)n_in * sizeof *d_u);
        for (int64_t k = net->s.n_unfolds - 1; k >= 0; k--)
            d_dt += unfold_back(net, &p, p.v + k * units, dt_of(net, b, t), d_h, d_sensory, work, d);
        if (net->in[AS_LTC_TIMESPANS])
            d[AS_LTC_TIMESPANS][at] += d_dt / (double)net->s.n_unfolds;
        synapses_back(net->sensory, net->n_sensory, p.u, d_sensory, d_sensory + units, d_u, d + AS_LTC_SENSORY_SIGMA);
        input_back(net, x, d_u, d_x, d);
        if (net->s.memory) {
            const as_memory_grad g = {d[AS_LTC_MEMORY_W], d[AS_LTC_MEMORY_B], d[AS_LTC_MEMORY_R]};
            memset(work, 0, (size_t)units * sizeof *work);
            as_memory_step_back(&net->memory, &g, x, p.h, p.c, p.gates, p.c_next, d_h, d_c, d_x, work, gates);
            memcpy(d_h, work, (size_t)units * sizeof *d_h);
        }
    }
}
