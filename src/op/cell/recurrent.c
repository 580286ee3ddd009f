/* recurrent.c - the shape rule and the loop of RNN, GRU and LSTM. */
#include "op/cell/recurrent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, P };

/* --- Activations --- */

static double relu(double x, double a, double b)
{
    (void)a, (void)b;
    return x > 0.0 || isnan(x) ? x : 0.0;
}
static double tangent(double x, double a, double b)
{
    (void)a, (void)b;
    return tanh(x);
}
static double sigmoid(double x, double a, double b)
{
    (void)a, (void)b;
    return 1.0 / (1.0 + exp(-x));
}
static double affine(double x, double a, double b) { return a * x + b; }
static double leaky(double x, double a, double b)
{
    (void)b;
    return x >= 0.0 ? x : a * x;
}
static double thresholded(double x, double a, double b)
{
    (void)b;
    return x >= a ? x : isnan(x) ? x : 0.0;
}
static double scaled_tangent(double x, double a, double b) { return a * tanh(b * x); }
static double hard_sigmoid(double x, double a, double b)
{
    double y = a * x + b;
    return y < 0.0 ? 0.0 : y > 1.0 ? 1.0 : y;
}
static double elu(double x, double a, double b)
{
    (void)b;
    return x >= 0.0 ? x : a * expm1(x);
}
static double softsign(double x, double a, double b)
{
    (void)a, (void)b;
    return x / (1.0 + fabs(x));
}
static double softplus(double x, double a, double b)
{
    (void)a, (void)b;
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static const struct activation_def {
    const char *name;
    double (*of)(double, double, double);
    int    n_params;    /* 0: none, 1: alpha, 2: alpha and beta */
    double alpha, beta; /* the defaults of the ONNX operator with that name */
} activation_defs[] = {
    {"Relu", relu, 0, 0, 0},
    {"Tanh", tangent, 0, 0, 0},
    {"Sigmoid", sigmoid, 0, 0, 0},
    {"Affine", affine, 2, 1, 0},
    {"LeakyRelu", leaky, 1, 0.01, 0},
    {"ThresholdedRelu", thresholded, 1, 1, 0},
    {"ScaledTanh", scaled_tangent, 2, 1, 1},
    {"HardSigmoid", hard_sigmoid, 2, 0.2, 0.5},
    {"Elu", elu, 1, 1, 0},
    {"Softsign", softsign, 0, 0, 0},
    {"Softplus", softplus, 0, 0, 0},
};

/* The next value of a list.  Only functions that have this parameter take one; after the last value comes the default. */
static double param_next(const as_attr *list, size_t *at, double otherwise)
{
    return list && *at < list->n ? list->floats[(*at)++] : otherwise;
}

static assay_status activations_read(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_recurrent *r)
{
    const char    *names[6];
    size_t         want = (size_t)(cell->n_acts * r->n_directions), given = as_attr_texts(n, "activations", names, AS_COUNT(names));
    const as_attr *alpha = as_attr_find(n, "activation_alpha"), *beta = as_attr_find(n, "activation_beta");
    size_t         at_alpha = 0, at_beta = 0;
    /* In ONNX, RNN's default is two names, even for one direction. */
    if (given && given < want)
        return as_refuse(env, n, "activations has %zu names and %d directions need %zu", given, r->n_directions, want);
    for (size_t i = 0; i < want; i++) {
        const char                  *name = given ? names[i] : cell->acts[i % (size_t)cell->n_acts];
        const struct activation_def *def = activation_defs, *end = def + AS_COUNT(activation_defs);
        /* Exporters disagree about the case of these names, and no two names differ only in case. */
        while (def < end && strcasecmp(def->name, name))
            def++;
        if (def == end)
            return as_refuse(env, n, "activations[%zu] is '%s', which is not an activation of ONNX", i, name);
        as_activation *a = &r->act[i / (size_t)cell->n_acts][i % (size_t)cell->n_acts];
        *a = (as_activation){def->of, def->alpha, def->beta};
        if (def->n_params > 0)
            a->alpha = param_next(alpha, &at_alpha, a->alpha);
        if (def->n_params > 1)
            a->beta = param_next(beta, &at_beta, a->beta);
    }
    return ASSAY_OK;
}

/* --- The rule --- */

static assay_status shape_check(assay_env *env, const as_node_ctx *n, int i, const char *what, as_shape want)
{
    if (!as_in_has(n, i) || as_shape_same(&n->in[i].shape, &want))
        return ASSAY_OK;
    return as_refuse(env, n, "%s (input %d) is %s and must be %s", what, i, AS_SHOW(&n->in[i].shape), AS_SHOW(&want));
}

static assay_status shapes_check(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_recurrent *r)
{
    int64_t  rows, d = r->n_directions, hidden = r->n_hidden;
    as_shape state = r->batch_first ? AS_SHAPE(r->n_batch, d, hidden) : AS_SHAPE(d, r->n_batch, hidden);
    if (__builtin_mul_overflow(hidden, 2 * (int64_t)cell->n_gates, &rows))
        return as_refuse(env, n, "the hidden size %lld is too large", (long long)hidden);
    rows /= 2;
    AS_TRY(shape_check(env, n, W, "W", AS_SHAPE(d, rows, r->n_in)));
    AS_TRY(shape_check(env, n, R, "R", AS_SHAPE(d, rows, hidden)));
    AS_TRY(shape_check(env, n, B, "B", AS_SHAPE(d, 2 * rows)));
    AS_TRY(shape_check(env, n, LENGTHS, "sequence_lens", AS_SHAPE(r->n_batch)));
    AS_TRY(shape_check(env, n, INITIAL_H, "initial_h", state));
    AS_TRY(shape_check(env, n, INITIAL_C, "initial_c", state));
    return shape_check(env, n, P, "P", AS_SHAPE(d, 3 * hidden));
}

static assay_status recurrent_read(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_recurrent *out)
{
    const as_shape *x = &n->in[X].shape, *w = &n->in[R].shape;
    const char     *direction = as_attr_text(n, "direction", "forward");
    int64_t         layout = as_attr_int(n, "layout", 0), hidden = as_attr_int(n, "hidden_size", 0);
    as_recurrent    r = {.batch_first = layout == 1, .n_directions = 1, .clip = as_attr_float(n, "clip", INFINITY)};
    if (!strcmp(direction, "bidirectional")) {
        r.n_directions = 2;
        r.backward[1] = true;
    } else if (!strcmp(direction, "reverse")) {
        r.backward[0] = true;
    } else if (strcmp(direction, "forward")) {
        return as_refuse(env, n, "direction is '%s' and must be forward, reverse or bidirectional", direction);
    }
    if (layout != 0 && layout != 1)
        return as_refuse(env, n, "layout is %lld and must be 0 or 1", (long long)layout);
    if (!(r.clip >= 0.0))
        return as_refuse(env, n, "clip is %g and must not be negative", r.clip);
    if (x->rank != 3 || w->rank != 3)
        return as_refuse(env, n, "X is %s and R is %s: both must have rank 3", AS_SHOW(x), AS_SHOW(w));
    r.n_steps = x->dim[r.batch_first ? 1 : 0];
    r.n_batch = x->dim[r.batch_first ? 0 : 1];
    r.n_in = x->dim[2];
    r.n_hidden = w->dim[2];
    if (as_attr_find(n, "hidden_size") && hidden != r.n_hidden)
        return as_refuse(env, n, "hidden_size is %lld and R is %s, whose last size it must be", (long long)hidden, AS_SHOW(w));
    AS_TRY(shapes_check(env, n, cell, &r));
    AS_TRY(activations_read(env, n, cell, &r));
    *out = r;
    return ASSAY_OK;
}

assay_status as_recurrent_infer(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_tensor_info *out)
{
    as_recurrent r;
    AS_TRY(as_rule_dtype(env, n, X, 4, AS_SET_FLOAT));
    for (int i = INITIAL_H; i <= P; i++)
        if (as_in_has(n, i) && n->in[i].dtype != n->in[X].dtype)
            return as_refuse(env, n, "input 0 is %s and input %d is %s: they must be of one dtype", as_dtype_name(n->in[X].dtype),
                             i, as_dtype_name(n->in[i].dtype));
    if (as_in_has(n, LENGTHS) && n->in[LENGTHS].dtype != AS_I32)
        return as_refuse(env, n, "sequence_lens (input %d) is %s and must be i32", LENGTHS, as_dtype_name(n->in[LENGTHS].dtype));
    AS_TRY(recurrent_read(env, n, cell, &r));
    int64_t  d = r.n_directions;
    as_shape y = r.batch_first ? AS_SHAPE(r.n_batch, r.n_steps, d, r.n_hidden) : AS_SHAPE(r.n_steps, d, r.n_batch, r.n_hidden);
    as_shape state = r.batch_first ? AS_SHAPE(r.n_batch, d, r.n_hidden) : AS_SHAPE(d, r.n_batch, r.n_hidden);
    out[0] = as_info(n->in[X].dtype, &y);
    out[1] = out[2] = as_info(n->in[X].dtype, &state);
    return ASSAY_OK;
}

as_cost as_recurrent_cost(const as_node_ctx *n, const as_cell *cell)
{
    as_cost      cost = as_cost_bytes(n);
    as_recurrent r;
    if (recurrent_read(NULL, n, cell, &r) != ASSAY_OK)
        return cost;
    uint64_t units = as_sat_mul(as_sat_mul((uint64_t)r.n_steps, (uint64_t)r.n_batch),
                                as_sat_mul((uint64_t)r.n_directions, (uint64_t)r.n_hidden));
    uint64_t gates = (uint64_t)cell->n_gates, inputs = as_sat_add((uint64_t)r.n_in, (uint64_t)r.n_hidden);
    uint64_t each = as_sat_add(as_sat_mul(2 * gates, inputs), cell->flops_a_unit);
    if (as_in_has(n, B))
        each = as_sat_add(each, 2 * gates);
    if (as_in_has(n, P))
        each = as_sat_add(each, 6);
    cost.flops = as_sat_mul(units, each);
    cost.special = as_sat_mul(units, cell->n_gates == 4 ? 5 : gates); /* LSTM applies one more, to its cell */
    return cost;
}

/* --- The loop --- */

double as_cell_recur(const as_cell_step *s, int64_t row, const double *h)
{
    as_view weights = as_view_fix(&s->weight, &row, 1);
    double  sum = 0.0;
    for (int64_t k = 0; k < s->r->n_hidden; k++)
        sum += as_view_get(&weights, k) * h[k];
    return sum;
}

double as_cell_act(const as_cell_step *s, int which, double x)
{
    double clip = s->r->clip;
    return s->act[which].of(x < -clip ? -clip : x > clip ? clip : x, s->act[which].alpha, s->act[which].beta);
}

/* The same elements with axes in another order. */
static as_view turned(const as_view *v, int rank, const int *order)
{
    as_view t = *v;
    for (int i = 0; i < rank; i++) {
        t.shape.dim[i] = v->shape.dim[order[i]];
        t.stride[i] = v->stride[order[i]];
    }
    return t;
}

/* A run's memory: all vectors in one block. */
typedef struct room {
    double *xw, *bias_w, *bias_r, *p, *h, *c, *h_next, *c_next, *scratch, *all;
} room;

static assay_status room_take(assay_env *env, const as_node_ctx *n, const as_recurrent *r, int n_gates, room *out)
{
    size_t hidden = (size_t)r->n_hidden, gates = (size_t)n_gates * hidden,
           total = 3 * gates + 8 * hidden; /* as long as B and P, so it fits */
    room m = {0};
    m.all = calloc(total ? total : 1, sizeof(double));
    if (!m.all)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %zu numbers of state", n->op->name,
                       n->name ? n->name : "", total);
    m.xw = m.all;
    m.bias_w = m.xw + gates;
    m.bias_r = m.bias_w + gates;
    m.p = m.bias_r + gates;
    m.h = m.p + 3 * hidden;
    m.c = m.h + hidden;
    m.h_next = m.c + hidden;
    m.c_next = m.h_next + hidden;
    m.scratch = m.c_next + hidden;
    *out = m;
    return ASSAY_OK;
}

static void vector_load(const as_view *v, int64_t first, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = as_view_get(v, first + i);
}

/* The part of all gates that comes from X at one step. */
static void input_multiply(const as_view *w, const as_view *x, const room *m, int64_t rows, int64_t n_in)
{
    for (int64_t row = 0; row < rows; row++) {
        as_view weights = as_view_fix(w, &row, 1);
        double  sum = m->bias_w[row];
        for (int64_t k = 0; k < n_in; k++)
            sum += as_view_get(&weights, k) * as_view_get(x, k);
        m->xw[row] = sum;
    }
}

static void swap(double **a, double **b)
{
    double *t = *a;
    *a = *b;
    *b = t;
}

/* One sequence in one direction; y is its [n_steps, n_hidden].  Leaves the last state in m. */
static assay_status sequence_run(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_recurrent *r, int d,
                                 int64_t length, const as_view *x, const as_view *w, const as_view *weight, const as_view *y,
                                 room *m)
{
    int64_t rows = cell->n_gates * r->n_hidden;
    for (int64_t t = 0; t < length; t++) {
        AS_GO_ON(env, n);
        int64_t at = r->backward[d] ? length - 1 - t : t;
        as_view row = as_view_fix(x, &at, 1), result = as_view_fix(y, &at, 1);
        input_multiply(w, &row, m, rows, r->n_in);
        as_cell_step step = {.n = n,
                             .r = r,
                             .act = r->act[d],
                             .xw = m->xw,
                             .rb = m->bias_r,
                             .p = m->p,
                             .weight = *weight,
                             .h = m->h,
                             .c = m->c,
                             .h_next = m->h_next,
                             .c_next = m->c_next,
                             .scratch = m->scratch};
        cell->step(&step);
        swap(&m->h, &m->h_next);
        swap(&m->c, &m->c_next);
        for (int64_t k = 0; k < r->n_hidden; k++)
            as_view_set(&result, k, m->h[k]);
    }
    for (int64_t at = length; at < r->n_steps; at++) { /* past the end of a shorter sequence */
        as_view result = as_view_fix(y, &at, 1);
        for (int64_t k = 0; k < r->n_hidden; k++)
            as_view_set(&result, k, 0.0);
    }
    return ASSAY_OK;
}

static assay_status lengths_check(assay_env *env, const as_node_ctx *n, const as_recurrent *r, const as_view *lengths)
{
    for (int64_t b = 0; as_in_has(n, LENGTHS) && b < r->n_batch; b++) {
        int64_t length = as_view_get_i64(lengths, b);
        if (length < 0 || length > r->n_steps)
            return as_refuse(env, n, "sequence_lens[%lld] is %lld, outside of 0 to %lld", (long long)b, (long long)length,
                             (long long)r->n_steps);
    }
    return ASSAY_OK;
}

assay_status as_recurrent_eval(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_view *in, const as_view *out)
{
    as_recurrent r;
    room         m = {0};
    AS_TRY(recurrent_read(env, n, cell, &r));
    AS_TRY(lengths_check(env, n, &r, &in[LENGTHS]));
    AS_TRY(room_take(env, n, &r, cell->n_gates, &m));
    /* From here on: x [batch, step, in], y [direction, batch, step, hidden], states [direction, batch, hidden]. */
    static const int x_order[3] = {1, 0, 2}, y_order[2][4] = {{1, 2, 0, 3}, {2, 0, 1, 3}},
                     state_order[2][3] = {{0, 1, 2}, {1, 0, 2}};
    as_view      x = r.batch_first ? in[X] : turned(&in[X], 3, x_order), y = turned(&out[0], 4, y_order[r.batch_first]);
    int64_t      rows = cell->n_gates * r.n_hidden;
    assay_status status = ASSAY_OK;
    for (int64_t d = 0; d < r.n_directions && status == ASSAY_OK; d++) {
        as_view w = as_view_fix(&in[W], &d, 1), weight = as_view_fix(&in[R], &d, 1);
        if (as_in_has(n, B)) {
            vector_load(&in[B], d * 2 * rows, rows, m.bias_w);
            vector_load(&in[B], d * 2 * rows + rows, rows, m.bias_r);
        }
        if (as_in_has(n, P))
            vector_load(&in[P], d * 3 * r.n_hidden, 3 * r.n_hidden, m.p);
        for (int64_t b = 0; b < r.n_batch && status == ASSAY_OK; b++) {
            int64_t at[2] = {d, b};
            double *state[2] = {m.h, m.c};
            int64_t length = as_in_has(n, LENGTHS) ? as_view_get_i64(&in[LENGTHS], b) : r.n_steps;
            for (int s = 0; s < 2; s++) {
                memset(state[s], 0, (size_t)r.n_hidden * sizeof(double));
                /* ONNX does not say what state a sequence of length 0 ends in; this gives zeros, as ONNX Runtime does. */
                if (length > 0 && as_in_has(n, INITIAL_H + s)) {
                    as_view all = turned(&in[INITIAL_H + s], 3, state_order[r.batch_first]), one = as_view_fix(&all, at, 2);
                    vector_load(&one, 0, r.n_hidden, state[s]);
                }
            }
            as_view one_x = as_view_fix(&x, &b, 1), one_y = as_view_fix(&y, at, 2);
            status = sequence_run(env, n, cell, &r, (int)d, length, &one_x, &w, &weight, &one_y, &m);
            for (int s = 0; s < 2 && s + 1 < n->n_out; s++) {
                as_view all = turned(&out[1 + s], 3, state_order[r.batch_first]), one = as_view_fix(&all, at, 2);
                for (int64_t k = 0; k < r.n_hidden; k++)
                    as_view_set(&one, k, s ? m.c[k] : m.h[k]);
            }
        }
    }
    free(m.all);
    return status;
}
