/* cfc_run.c - the reference code of CfC, forwards and backwards, one sequence after the other in double.
 *
 * Both directions share one forward sweep; for the backward pass it keeps what every step computed, which is then read from last
 * to first.  Weights are stored with their masks applied, so only two places handle masks. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "op/cell/cfc.h"
#include "op/cell/memory_cell.h"

#define LECUN_SCALE 1.7159
#define LECUN_SLOPE 0.666

/* --- Weights ------------------------------------------------------------------------------------- */

typedef struct linear {
    int64_t rows, cols;
    double *w, *b;     /* w with the mask applied */
    double *mask;      /* NULL: none */
    double *d_w, *d_b; /* NULL: forwards only */
    int     at;        /* the input that holds the weight; the bias follows */
} linear;

enum { FF1, FF2, TIME_A, TIME_B, N_HEADS };

typedef struct cell_room {
    linear  head[N_HEADS];
    double *w_tau, *a, *d_w_tau, *d_a;
} cell_room;

/* What one step of one sequence keeps for the backward pass. */
typedef struct step_room {
    double *gates, *c_next, *state; /* mixed memory; state: what the cells start from */
    double *z[AS_CFC_MAX_CELLS];    /* x of the cell and its old state */
    double *pre[AS_CFC_MAX_BACKBONE], *post[AS_CFC_MAX_BACKBONE];
    double *head[AS_CFC_MAX_CELLS]; /* N_HEADS vectors, before tanh */
    double *h_next;                 /* all cells */
} step_room;

typedef struct room {
    as_arena           arena;
    assay_env         *env;
    const as_node_ctx *n;
    const as_cfc      *c;
    const as_cfc_run  *r;
    bool               back;
    linear             backbone[AS_CFC_MAX_BACKBONE], fc;
    cell_room          cell[AS_CFC_MAX_CELLS];
    as_memory          memory;
    as_memory_grad     d_memory;
    step_room         *steps; /* all steps for the backward pass, else the last two */
    int64_t            n_kept;
    double            *y;           /* one step of it */
    double            *x, *h0, *c0; /* of this sequence: x [T][I] */
    double            *ts;          /* [T] */
    bool               no_memory;   /* sticks */
} room;

static double *take(room *m, int64_t n)
{
    double *p = AS_TAKE(&m->arena, double, n);
    m->no_memory |= !p;
    return p;
}

static double *load(room *m, int i)
{
    const as_view *v = &m->r->in[i];
    int64_t        count = as_shape_count(&v->shape);
    double        *p = take(m, count);
    for (int64_t e = 0; p && e < count; e++)
        p[e] = as_view_get(v, e);
    return p;
}

static bool given(const room *m, int i) { return i < m->r->n_in && m->r->in[i].dtype != AS_NONE; }

static linear linear_load(room *m, int i, int mask)
{
    linear  l = {.rows = m->r->in[i].shape.dim[0], .cols = m->r->in[i].shape.dim[1], .at = i, .w = load(m, i), .b = load(m, i + 1)};
    int64_t count = l.rows * l.cols;
    if (mask >= 0 && given(m, mask) && (l.mask = load(m, mask)) && l.w)
        for (int64_t e = 0; e < count; e++) {
            if (m->c->semantics == AS_CFC_TORCH)
                l.mask[e] = fabs(l.mask[e]);
            l.w[e] *= l.mask[e];
        }
    if (m->back) {
        l.d_w = take(m, count);
        l.d_b = take(m, l.rows);
    }
    return l;
}

static void cell_load(room *m, int l)
{
    const as_cfc_cell *cell = &m->c->cell[l];
    cell_room         *to = &m->cell[l];
    if (m->c->mode != AS_CFC_PURE) {
        for (int h = 0; h < N_HEADS; h++)
            to->head[h] = linear_load(m, cell->first + 1 + 2 * h, h <= FF2 ? cell->first : -1);
        return;
    }
    to->w_tau = load(m, cell->first + 1);
    to->a = load(m, cell->first + 2);
    to->head[FF1] = linear_load(m, cell->first + 3, cell->first);
    if (m->back) {
        to->d_w_tau = take(m, cell->n_hidden);
        to->d_a = take(m, cell->n_hidden);
    }
}

static void step_take(room *m, step_room *s)
{
    const as_cfc *c = m->c;
    s->state = take(m, c->n_state);
    s->h_next = take(m, c->n_state);
    if (c->has_memory) {
        s->gates = take(m, 4 * c->n_state);
        s->c_next = take(m, c->n_state);
    }
    for (int l = 0; l < c->n_backbone; l++) {
        s->pre[l] = take(m, c->width[l]);
        s->post[l] = take(m, c->width[l]);
    }
    for (int l = 0; l < c->n_cells; l++) {
        s->z[l] = take(m, c->cell[l].n_in + c->cell[l].n_hidden);
        s->head[l] = take(m, N_HEADS * c->cell[l].n_hidden);
    }
}

static assay_status room_take(assay_env *env, const as_node_ctx *n, const as_cfc_run *r, bool back, room *m)
{
    const as_cfc *c = r->c;
    *m = (room){.env = env, .n = n, .c = c, .r = r, .back = back};
    for (int l = 0; l < c->n_backbone; l++)
        m->backbone[l] = linear_load(m, AS_CFC_CELLS + 2 * l, -1);
    for (int l = 0; l < c->n_cells; l++)
        cell_load(m, l);
    if (c->has_fc)
        m->fc = linear_load(m, AS_CFC_FC_W, -1);
    if (c->has_memory) {
        m->memory = (as_memory){.n_in = c->n_in,
                                .n_hidden = c->n_state,
                                .w_in = load(m, AS_CFC_MEMORY_W),
                                .b_in = load(m, AS_CFC_MEMORY_B),
                                .w_rec = load(m, AS_CFC_MEMORY_R)};
        if (back)
            m->d_memory =
                (as_memory_grad){take(m, 4 * c->n_state * c->n_in), take(m, 4 * c->n_state), take(m, 4 * c->n_state * c->n_state)};
    }
    m->x = take(m, c->n_steps * c->n_in);
    m->ts = take(m, c->n_steps);
    m->h0 = take(m, c->n_state);
    m->c0 = take(m, c->n_state);
    m->y = take(m, c->n_y);
    m->n_kept = back || c->n_steps < 2 ? c->n_steps : 2;
    m->steps = AS_TAKE(&m->arena, step_room, m->n_kept);
    m->no_memory |= !m->steps;
    for (int64_t t = 0; t < m->n_kept && !m->no_memory; t++)
        step_take(m, &m->steps[t]);
    if (!m->no_memory)
        return ASSAY_OK;
    as_arena_drop(&m->arena);
    return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %lld steps of %lld units", n->op->name,
                   n->name ? n->name : "", (long long)c->n_steps, (long long)c->n_state);
}

/* --- Arithmetic ------------------------------------------------------------------------------------ */

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

static double act_of(as_cfc_act act, double x)
{
    switch (act) {
    case AS_CFC_LECUN_TANH: return LECUN_SCALE * tanh(LECUN_SLOPE * x);
    case AS_CFC_TANH: return tanh(x);
    case AS_CFC_RELU: return x > 0.0 ? x : x != x ? x : 0.0;
    case AS_CFC_SILU: return x * sigmoid(x);
    case AS_CFC_GELU: return 0.5 * x * (1.0 + erf(x * M_SQRT1_2));
    }
    return x;
}

static double act_slope(as_cfc_act act, double x)
{
    double t, s;
    switch (act) {
    case AS_CFC_LECUN_TANH: t = tanh(LECUN_SLOPE * x); return LECUN_SCALE * LECUN_SLOPE * (1.0 - t * t);
    case AS_CFC_TANH: t = tanh(x); return 1.0 - t * t;
    case AS_CFC_RELU: return x > 0.0 ? 1.0 : 0.0;
    case AS_CFC_SILU: s = sigmoid(x); return s * (1.0 + x * (1.0 - s));
    case AS_CFC_GELU: return 0.5 * (1.0 + erf(x * M_SQRT1_2)) + x * exp(-0.5 * x * x) * 0.3989422804014326779;
    }
    return 1.0;
}

/* The factor of dropout for element i of backbone layer l.  It is keyed by the run's seed, the node's seed and the training step,
 * so that the gradient drops the same elements. */
static double drop_factor(const room *m, int l, int64_t b, int64_t t, int64_t i)
{
    const as_cfc *c = m->c;
    if (!as_cfc_drops_after(c, l))
        return 1.0;
    uint64_t element =
        (((uint64_t)b * (uint64_t)c->n_steps + (uint64_t)t) * (uint64_t)c->n_backbone + (uint64_t)l) * (1u << 20) + (uint64_t)i;
    return (double)as_philox_uniform(m->n->seed, c->dropout_seed, m->n->step, element) >= c->dropout ? 1.0 / (1.0 - c->dropout)
                                                                                                     : 0.0;
}

static void linear_of(const linear *l, const double *x, double *y)
{
    for (int64_t r = 0; r < l->rows; r++) {
        double sum = l->b[r];
        for (int64_t k = 0; k < l->cols; k++)
            sum += l->w[r * l->cols + k] * x[k];
        y[r] = sum;
    }
}

/* Adds to the gradients of the weights and of x. */
static void linear_back(const linear *l, const double *x, const double *d_y, double *d_x)
{
    for (int64_t r = 0; r < l->rows; r++) {
        l->d_b[r] += d_y[r];
        for (int64_t k = 0; k < l->cols; k++) {
            l->d_w[r * l->cols + k] += d_y[r] * x[k];
            d_x[k] += d_y[r] * l->w[r * l->cols + k];
        }
    }
}

static double gate_of(const as_cfc *c, double a, double b, double ts)
{
    return sigmoid((c->semantics == AS_CFC_TORCH ? a : -a) * ts + b);
}

static double head_of(const as_cfc *c, double x) { return c->semantics == AS_CFC_TORCH ? tanh(x) : x; }

/* --- One step forwards -------------------------------------------------------------------------------- */

/* What the heads of cell l saw. */
static const double *heads_input(const room *m, const step_room *s, int l)
{
    return m->c->n_backbone ? s->post[m->c->n_backbone - 1] : s->z[l];
}

static void cell_step(const room *m, const step_room *s, int l, const double *x, int64_t b, int64_t t)
{
    const as_cfc      *c = m->c;
    const as_cfc_cell *cell = &c->cell[l];
    int64_t            n = cell->n_hidden;
    double            *h = s->h_next + cell->at, *f = s->head[l], ts = m->ts[t];
    memcpy(s->z[l], x, (size_t)cell->n_in * sizeof *x);
    memcpy(s->z[l] + cell->n_in, s->state + cell->at, (size_t)n * sizeof *x);
    for (int k = 0; k < c->n_backbone; k++) {
        linear_of(&m->backbone[k], k ? s->post[k - 1] : s->z[l], s->pre[k]);
        for (int64_t i = 0; i < c->width[k]; i++)
            s->post[k][i] = (as_cfc_acts_after(c, k) ? act_of(c->act, s->pre[k][i]) : s->pre[k][i]) * drop_factor(m, k, b, t, i);
    }
    for (int k = 0; k < (c->mode == AS_CFC_PURE ? 1 : N_HEADS); k++)
        linear_of(&m->cell[l].head[k], heads_input(m, s, l), f + k * n);
    for (int64_t i = 0; i < n; i++) {
        if (c->mode == AS_CFC_PURE) {
            double a = m->cell[l].a[i];
            h[i] = a - a * exp(-ts * (fabs(m->cell[l].w_tau[i]) + fabs(f[i]))) * f[i];
        } else {
            double one = head_of(c, f[i]), two = head_of(c, f[n + i]), g = gate_of(c, f[TIME_A * n + i], f[TIME_B * n + i], ts);
            h[i] = c->mode == AS_CFC_NO_GATE ? one + g * two : one * (1.0 - g) + g * two;
        }
    }
}

static const step_room *step_at(const room *m, int64_t t) { return &m->steps[t % m->n_kept]; }
static const double    *state_before(const room *m, int64_t t) { return t ? step_at(m, t - 1)->h_next : m->h0; }
static const double    *memory_before(const room *m, int64_t t) { return t ? step_at(m, t - 1)->c_next : m->c0; }

static void step(const room *m, int64_t b, int64_t t)
{
    const as_cfc    *c = m->c;
    const step_room *s = step_at(m, t);
    const double    *x = m->x + t * c->n_in;
    if (c->has_memory)
        as_memory_step(&m->memory, x, state_before(m, t), memory_before(m, t), s->gates, s->c_next, s->state);
    else
        memcpy(s->state, state_before(m, t), (size_t)c->n_state * sizeof *x);
    for (int l = 0; l < c->n_cells; l++)
        cell_step(m, s, l, l ? s->h_next + c->cell[l - 1].at : x, b, t);
}

/* --- A sequence forwards ------------------------------------------------------------------------------- */

static assay_status spans_load(room *m, int64_t b)
{
    const as_cfc *c = m->c;
    for (int64_t t = 0; t < c->n_steps; t++) {
        m->ts[t] = given(m, AS_CFC_TIMESPANS) ? as_view_get(&m->r->in[AS_CFC_TIMESPANS], b * c->n_steps + t) : 1.0;
        if (!(m->ts[t] >= 0.0 && isfinite(m->ts[t])))
            return as_refuse(m->env, m->n, "time span %lld,%lld is %g and must be a number from 0 on", (long long)b, (long long)t,
                             m->ts[t]);
    }
    return ASSAY_OK;
}

static void vector_load(const room *m, int i, int64_t b, int64_t n, double *out)
{
    for (int64_t k = 0; k < n; k++)
        out[k] = given(m, i) ? as_view_get(&m->r->in[i], b * n + k) : 0.0;
}

/* Where y stores step t of sequence b; -1: y does not have that step. */
static int64_t y_at(const as_cfc *c, int64_t b, int64_t t)
{
    if (c->sequences)
        return (b * c->n_steps + t) * c->n_y;
    return t + 1 == c->n_steps ? b * c->n_y : -1;
}

static void vector_store(const as_view *v, int64_t first, int64_t n, const double *from)
{
    for (int64_t k = 0; v->data && k < n; k++)
        as_view_set(v, first + k, from[k]);
}

static void y_store(const room *m, int64_t b, int64_t t)
{
    const as_cfc *c = m->c;
    const double *out = step_at(m, t)->h_next + c->cell[c->n_cells - 1].at;
    if (!m->r->y.data || y_at(c, b, t) < 0)
        return;
    if (c->has_fc)
        linear_of(&m->fc, out, m->y);
    vector_store(&m->r->y, y_at(c, b, t), c->n_y, c->has_fc ? m->y : out);
}

/* Line `line` of the stash, [T,S,B]. */
static void kept_set(const room *m, int64_t line, int64_t b, int64_t t, double value)
{
    as_view_set(&m->r->stash, (t * m->r->stash.shape.dim[1] + line) * m->c->n_batch + b, value);
}

static void stash_store(const room *m, int64_t b, int64_t t)
{
    const as_cfc      *c = m->c;
    const bool         spans = given(m, AS_CFC_TIMESPANS);
    const as_cfc_stash at = as_cfc_stash_of(c, spans);
    const step_room   *s = step_at(m, t);
    if (!m->r->stash.data)
        return;
    for (int64_t i = 0; i < c->n_state; i++) {
        kept_set(m, at.h + i, b, t, s->h_next[i]);
        if (!c->has_memory)
            continue;
        kept_set(m, at.c + i, b, t, s->c_next[i]);
        kept_set(m, at.m + i, b, t, s->state[i]);
        for (int k = 0; k < 4; k++)
            kept_set(m, at.gates + 4 * i + k, b, t, s->gates[k * c->n_state + i]);
    }
    for (int l = 0; l < c->n_backbone; l++)
        for (int64_t i = 0; i < c->width[l]; i++) {
            kept_set(m, at.backbone[l] + 2 * i, b, t, s->post[l][i]);
            kept_set(m, at.backbone[l] + 2 * i + 1, b, t,
                     (as_cfc_acts_after(c, l) ? act_slope(c->act, s->pre[l][i]) : 1.0) * drop_factor(m, l, b, t, i));
        }
    for (int l = 0; l < c->n_cells; l++) {
        const int64_t n = c->cell[l].n_hidden;
        const double *f = s->head[l];
        for (int64_t i = 0; i < n; i++) {
            const int64_t line = at.cell[l] + at.per_unit * i;
            if (c->mode == AS_CFC_PURE) {
                kept_set(m, line, b, t, f[i]);
                kept_set(m, line + 1, b, t, exp(-m->ts[t] * (fabs(m->cell[l].w_tau[i]) + fabs(f[i]))));
                continue;
            }
            kept_set(m, line, b, t, head_of(c, f[i]));
            kept_set(m, line + 1, b, t, head_of(c, f[n + i]));
            if (spans) /* with its sign turned where the gate's is */
                kept_set(m, line + 2, b, t, c->semantics == AS_CFC_TORCH ? f[TIME_A * n + i] : -f[TIME_A * n + i]);
            kept_set(m, line + at.per_unit - 1, b, t, gate_of(c, f[TIME_A * n + i], f[TIME_B * n + i], m->ts[t]));
        }
    }
}

static assay_status sequence_forward(room *m, int64_t b)
{
    const as_cfc *c = m->c;
    AS_TRY(spans_load(m, b));
    vector_load(m, AS_CFC_X, b, c->n_steps * c->n_in, m->x);
    vector_load(m, AS_CFC_H0, b, c->n_state, m->h0);
    vector_load(m, AS_CFC_C0, b, c->n_state, m->c0);
    for (int64_t t = 0; t < c->n_steps; t++) {
        AS_GO_ON(m->env, m->n);
        step(m, b, t);
        y_store(m, b, t);
        stash_store(m, b, t);
    }
    return ASSAY_OK;
}

assay_status as_cfc_forward(assay_env *env, const as_node_ctx *n, const as_cfc_run *r)
{
    const as_cfc *c = r->c;
    room          m;
    assay_status  status = ASSAY_OK;
    AS_TRY(room_take(env, n, r, false, &m));
    for (int64_t b = 0; b < c->n_batch; b++) {
        if ((status = sequence_forward(&m, b)) != ASSAY_OK)
            break;
        vector_store(&r->h_n, b * c->n_state, c->n_state, state_before(&m, c->n_steps));
        vector_store(&r->c_n, b * c->n_state, c->n_state, c->has_memory ? memory_before(&m, c->n_steps) : m.c0); /* c0: zeros */
    }
    as_arena_drop(&m.arena);
    return status;
}

/* --- Backwards ------------------------------------------------------------------------------------------ */

/* Gradients carried from step to step: of the state and memory after the step (then before it), of x and the time span of the
 * step. */
typedef struct travel {
    double *d_h, *d_state, *d_c, *d_x, *d_ts; /* d_x [T][I], d_ts [T] */
    double *d_head, *d_z, *d_post[2], *scratch;
} travel;

/* From the gradient of the cell's new state to those of its heads (before tanh), its own weights and the time span. */
static void heads_back(const room *m, const step_room *s, int l, const double *d_h, double ts, double *d_f, double *d_ts)
{
    const as_cfc    *c = m->c;
    const cell_room *w = &m->cell[l];
    int64_t          n = c->cell[l].n_hidden;
    const double    *f = s->head[l];
    for (int64_t i = 0; i < n; i++) {
        double d = d_h[i];
        if (c->mode == AS_CFC_PURE) {
            double rate = fabs(w->w_tau[i]) + fabs(f[i]), e = exp(-ts * rate), a = w->a[i];
            w->d_a[i] += d * (1.0 - e * f[i]);
            w->d_w_tau[i] += d * a * e * f[i] * ts * ((w->w_tau[i] > 0.0) - (w->w_tau[i] < 0.0));
            d_f[i] = d * a * e * (ts * fabs(f[i]) - 1.0);
            *d_ts += d * a * e * f[i] * rate;
            continue;
        }
        double ta = f[TIME_A * n + i], one = head_of(c, f[i]), two = head_of(c, f[n + i]),
               g = gate_of(c, ta, f[TIME_B * n + i], ts);
        bool   gated = c->mode == AS_CFC_DEFAULT;
        double d_one = gated ? d * (1.0 - g) : d, d_two = d * g, d_s = d * (gated ? two - one : two) * g * (1.0 - g);
        double sign = c->semantics == AS_CFC_TORCH ? 1.0 : -1.0;
        d_f[i] = c->semantics == AS_CFC_TORCH ? d_one * (1.0 - one * one) : d_one;
        d_f[n + i] = c->semantics == AS_CFC_TORCH ? d_two * (1.0 - two * two) : d_two;
        d_f[TIME_A * n + i] = d_s * sign * ts;
        d_f[TIME_B * n + i] = d_s;
        *d_ts += d_s * sign * ta;
    }
}

/* d_x is the gradient of the cell's own input; this adds to it. */
static void cell_back(const room *m, const travel *v, int l, int64_t b, int64_t t, double *d_x)
{
    const as_cfc      *c = m->c;
    const as_cfc_cell *cell = &c->cell[l];
    const step_room   *s = step_at(m, t);
    int64_t            n_cat = cell->n_in + cell->n_hidden;
    double            *d = c->n_backbone ? v->d_post[0] : v->d_z, *other = v->d_post[1];
    heads_back(m, s, l, v->d_h + cell->at, m->ts[t], v->d_head, &v->d_ts[t]);
    memset(d, 0, (size_t)cell->n_z * sizeof *d);
    for (int k = 0; k < (c->mode == AS_CFC_PURE ? 1 : N_HEADS); k++)
        linear_back(&m->cell[l].head[k], heads_input(m, s, l), v->d_head + k * cell->n_hidden, d);
    for (int k = c->n_backbone - 1; k >= 0; k--) {
        double *below = k ? other : v->d_z;
        for (int64_t i = 0; i < c->width[k]; i++)
            d[i] *= drop_factor(m, k, b, t, i) * (as_cfc_acts_after(c, k) ? act_slope(c->act, s->pre[k][i]) : 1.0);
        memset(below, 0, (size_t)(k ? c->width[k - 1] : n_cat) * sizeof *below);
        linear_back(&m->backbone[k], k ? s->post[k - 1] : s->z[l], d, below);
        other = d;
        d = below;
    }
    for (int64_t i = 0; i < cell->n_in; i++)
        d_x[i] += v->d_z[i];
    memcpy(v->d_state + cell->at, v->d_z + cell->n_in, (size_t)cell->n_hidden * sizeof *d);
}

static void step_back(const room *m, const travel *v, int64_t b, int64_t t)
{
    const as_cfc    *c = m->c;
    const step_room *s = step_at(m, t);
    double          *d_x = v->d_x + t * c->n_in;
    for (int l = c->n_cells - 1; l >= 0; l--)
        cell_back(m, v, l, b, t, l ? v->d_h + c->cell[l - 1].at : d_x);
    if (!c->has_memory) {
        memcpy(v->d_h, v->d_state, (size_t)c->n_state * sizeof(double));
        return;
    }
    memset(v->d_h, 0, (size_t)c->n_state * sizeof(double));
    as_memory_step_back(&m->memory, &m->d_memory, m->x + t * c->n_in, state_before(m, t), memory_before(m, t), s->gates, s->c_next,
                        v->d_state, v->d_c, d_x, v->d_h, v->scratch);
}

/* The gradient that y gives to the last cell's new state at step t. */
static void y_back(const room *m, const travel *v, int64_t b, int64_t t)
{
    const as_cfc *c = m->c;
    int64_t       at = y_at(c, b, t), last = c->cell[c->n_cells - 1].at;
    double       *d_y = m->y;
    if (at < 0 || !m->r->d_y.data)
        return;
    for (int64_t i = 0; i < c->n_y; i++)
        d_y[i] = as_view_get(&m->r->d_y, at + i);
    if (c->has_fc)
        linear_back(&m->fc, step_at(m, t)->h_next + last, d_y, v->d_h + last);
    else
        for (int64_t i = 0; i < c->n_y; i++)
            v->d_h[last + i] += d_y[i];
}

static void sequence_back(const room *m, const travel *v, int64_t b)
{
    const as_cfc *c = m->c;
    for (int64_t i = 0; i < c->n_state; i++) {
        v->d_h[i] = m->r->d_h_n.data ? as_view_get(&m->r->d_h_n, b * c->n_state + i) : 0.0;
        v->d_c[i] = m->r->d_c_n.data ? as_view_get(&m->r->d_c_n, b * c->n_state + i) : 0.0;
    }
    memset(v->d_x, 0, (size_t)(c->n_steps * c->n_in) * sizeof(double));
    memset(v->d_ts, 0, (size_t)c->n_steps * sizeof(double));
    for (int64_t t = c->n_steps - 1; t >= 0; t--) {
        y_back(m, v, b, t);
        step_back(m, v, b, t);
    }
    vector_store(&m->r->d_in[AS_CFC_X], b * c->n_steps * c->n_in, c->n_steps * c->n_in, v->d_x);
    vector_store(&m->r->d_in[AS_CFC_H0], b * c->n_state, c->n_state, v->d_h);
    vector_store(&m->r->d_in[AS_CFC_C0], b * c->n_state, c->n_state, v->d_c);
    vector_store(&m->r->d_in[AS_CFC_TIMESPANS], b * c->n_steps, c->n_steps, v->d_ts);
}

static void linear_store(const room *m, const linear *l)
{
    int64_t count = l->rows * l->cols;
    for (int64_t e = 0; l->mask && e < count; e++)
        l->d_w[e] *= l->mask[e];
    vector_store(&m->r->d_in[l->at], 0, count, l->d_w);
    vector_store(&m->r->d_in[l->at + 1], 0, l->rows, l->d_b);
}

static void weights_store(const room *m)
{
    const as_cfc *c = m->c;
    for (int l = 0; l < c->n_backbone; l++)
        linear_store(m, &m->backbone[l]);
    for (int l = 0; l < c->n_cells; l++) {
        for (int h = 0; h < (c->mode == AS_CFC_PURE ? 1 : N_HEADS); h++)
            linear_store(m, &m->cell[l].head[h]);
        if (c->mode == AS_CFC_PURE) {
            vector_store(&m->r->d_in[c->cell[l].first + 1], 0, c->cell[l].n_hidden, m->cell[l].d_w_tau);
            vector_store(&m->r->d_in[c->cell[l].first + 2], 0, c->cell[l].n_hidden, m->cell[l].d_a);
        }
    }
    if (c->has_fc)
        linear_store(m, &m->fc);
    if (c->has_memory) {
        vector_store(&m->r->d_in[AS_CFC_MEMORY_W], 0, 4 * c->n_state * c->n_in, m->d_memory.w_in);
        vector_store(&m->r->d_in[AS_CFC_MEMORY_B], 0, 4 * c->n_state, m->d_memory.b_in);
        vector_store(&m->r->d_in[AS_CFC_MEMORY_R], 0, 4 * c->n_state * c->n_state, m->d_memory.w_rec);
    }
}

assay_status as_cfc_backward(assay_env *env, const as_node_ctx *n, const as_cfc_run *r)
{
    const as_cfc *c = r->c;
    room          m;
    assay_status  status = ASSAY_OK;
    int64_t       widest = 1, z_widest = 1, most_units = 1;
    AS_TRY(room_take(env, n, r, true, &m));
    for (int l = 0; l < c->n_backbone; l++)
        widest = c->width[l] > widest ? c->width[l] : widest;
    for (int l = 0; l < c->n_cells; l++) {
        const as_cfc_cell *cell = &c->cell[l];
        z_widest = cell->n_in + cell->n_hidden > z_widest ? cell->n_in + cell->n_hidden : z_widest;
        most_units = cell->n_hidden > most_units ? cell->n_hidden : most_units;
    }
    travel v = {.d_h = take(&m, c->n_state),
                .d_state = take(&m, c->n_state),
                .d_c = take(&m, c->n_state),
                .d_x = take(&m, c->n_steps * c->n_in),
                .d_ts = take(&m, c->n_steps),
                .d_head = take(&m, N_HEADS * most_units),
                .d_z = take(&m, z_widest),
                .d_post = {take(&m, widest), take(&m, widest)},
                .scratch = take(&m, 4 * c->n_state)};
    if (m.no_memory)
        status = as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for the gradients of %lld units", n->op->name,
                         n->name ? n->name : "", (long long)c->n_state);
    for (int64_t b = 0; b < c->n_batch && status == ASSAY_OK; b++)
        if ((status = sequence_forward(&m, b)) == ASSAY_OK)
            sequence_back(&m, &v, b);
    if (status == ASSAY_OK)
        weights_store(&m);
    as_arena_drop(&m.arena);
    return status;
}
