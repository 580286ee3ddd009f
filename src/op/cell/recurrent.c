/* recurrent.c - the shape rule and the loop of RNN, GRU and LSTM. */
#include "op/cell/recurrent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    X = AS_RNN_X,
    W = AS_RNN_W,
    R = AS_RNN_R,
    B = AS_RNN_B,
    LENGTHS = AS_RNN_LENGTHS,
    INITIAL_H = AS_RNN_H0,
    INITIAL_C = AS_RNN_C0,
    P = AS_RNN_P
};

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

assay_status as_recurrent_read(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_recurrent *out)
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
    AS_TRY(as_recurrent_activations(env, n, cell, &r));
    *out = r;
    return ASSAY_OK;
}

static assay_status dtypes_check(assay_env *env, const as_node_ctx *n)
{
    for (int i = INITIAL_H; i < AS_RNN_N_IN; i++)
        if (as_in_has(n, i) && n->in[i].dtype != n->in[X].dtype)
            return as_refuse(env, n, "input 0 is %s and input %d is %s: they must be of one dtype", as_dtype_name(n->in[X].dtype),
                             i, as_dtype_name(n->in[i].dtype));
    return ASSAY_OK;
}

assay_status as_recurrent_infer(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_tensor_info *out)
{
    as_recurrent r;
    AS_TRY(as_rule_dtype(env, n, X, 4, AS_SET_FLOAT));
    AS_TRY(dtypes_check(env, n));
    if (as_in_has(n, LENGTHS) && n->in[LENGTHS].dtype != AS_I32)
        return as_refuse(env, n, "sequence_lens (input %d) is %s and must be i32", LENGTHS, as_dtype_name(n->in[LENGTHS].dtype));
    AS_TRY(as_recurrent_read(env, n, cell, &r));
    int64_t  d = r.n_directions;
    as_shape y = r.batch_first ? AS_SHAPE(r.n_batch, r.n_steps, d, r.n_hidden) : AS_SHAPE(r.n_steps, d, r.n_batch, r.n_hidden);
    as_shape state = r.batch_first ? AS_SHAPE(r.n_batch, d, r.n_hidden) : AS_SHAPE(d, r.n_batch, r.n_hidden);
    out[0] = as_info(n->in[X].dtype, &y);
    as_shape stash = as_recurrent_stash(&r, cell);
    out[1] = out[2] = as_info(n->in[X].dtype, &state);
    if (cell->n_stash && n->n_out == n->op->max_out)
        out[n->op->max_out - 1] = as_info(n->in[X].dtype, &stash);
    return ASSAY_OK;
}

as_shape as_recurrent_stash(const as_recurrent *r, const as_cell *cell)
{
    return AS_SHAPE(r->n_steps, r->n_directions, r->n_batch, cell->n_stash * r->n_hidden);
}

bool as_recurrent_plain(const as_node_ctx *n, const as_cell *cell, const as_recurrent *r, char *why, size_t why_size)
{
    const char *reason = NULL;
    for (int d = 0; d < r->n_directions; d++)
        for (int i = 0; i < cell->n_acts; i++) {
            bool tanh_here = !strcmp(cell->acts[i], "Tanh"), relu_here = cell->n_gates == 1;
            if (r->act[d][i].kind != (tanh_here ? AS_ACTIVATION_TANH : AS_ACTIVATION_SIGMOID) &&
                !(relu_here && r->act[d][i].kind == AS_ACTIVATION_RELU))
                reason = "other activations than the usual ones";
        }
    if (isfinite(r->clip))
        reason = "the arguments of the activations are clipped";
    if (as_in_has(n, P))
        reason = "it has peepholes";
    if (as_attr_int(n, "input_forget", 0))
        reason = "its input and forget gates are coupled";
    if (as_in_has(n, LENGTHS))
        reason = "sequences differ in length";
    if (reason && why)
        snprintf(why, why_size, "%s", reason);
    return !reason;
}

as_cost as_recurrent_cost(const as_node_ctx *n, const as_cell *cell)
{
    as_cost      cost = as_cost_bytes(n);
    as_recurrent r;
    if (as_recurrent_read(NULL, n, cell, &r) != ASSAY_OK)
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

double as_cell_act(const as_cell_step *s, int which, double x, int slope, int64_t k)
{
    const as_activation *f = &s->act[which];
    double               clip = s->r->clip, y = f->of(x < -clip ? -clip : x > clip ? clip : x, f->alpha, f->beta);
    s->slopes[slope * s->r->n_hidden + k] = x < -clip || x > clip ? 0.0 : f->slope(x, y, f->alpha, f->beta);
    return y;
}

void as_cell_recur_back(const as_cell_step *s, int first, int end, const double *d, double *d_h)
{
    int64_t hidden = s->r->n_hidden;
    for (int64_t row = first * hidden; row < end * hidden; row++) {
        as_view weights = as_view_fix(&s->weight, &row, 1);
        for (int64_t k = 0; k < hidden; k++)
            d_h[k] += as_view_get(&weights, k) * d[row];
    }
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
    double *xw, *bias_w, *bias_r, *p, *h, *c, *h_next, *c_next, *scratch, *kept, *slopes, *all;
} room;

static assay_status room_take(assay_env *env, const as_node_ctx *n, const as_recurrent *r, int n_gates, room *out)
{
    size_t hidden = (size_t)r->n_hidden, gates = (size_t)n_gates * hidden,
           total = 3 * gates + 18 * hidden; /* about as long as B and P, so it fits */
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
    m.kept = m.scratch + hidden;
    m.slopes = m.kept + 5 * hidden;
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

/* Row `at` of a sequence, or zeros; nothing where the output is not wanted. */
static void row_store(const as_view *v, int64_t at, int64_t count, const double *from)
{
    if (!v->data || !count)
        return;
    as_view row = as_view_fix(v, &at, 1);
    for (int64_t k = 0; k < count; k++)
        as_view_set(&row, k, from ? from[k] : 0.0);
}

/* One sequence in one direction; y is its [n_steps, n_hidden], stash the same of what the gradient reads.  Leaves the last state
 * in m. */
static assay_status sequence_run(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_recurrent *r, int d,
                                 int64_t length, const as_view *x, const as_view *w, const as_view *weight, const as_view *y,
                                 const as_view *stash, room *m)
{
    int64_t rows = cell->n_gates * r->n_hidden;
    for (int64_t t = 0; t < length; t++) {
        AS_GO_ON(env, n);
        int64_t at = r->backward[d] ? length - 1 - t : t;
        as_view row = as_view_fix(x, &at, 1);
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
                             .scratch = m->scratch,
                             .kept = m->kept,
                             .slopes = m->slopes};
        cell->step(&step);
        row_store(stash, at, cell->n_stash * r->n_hidden, m->kept);
        swap(&m->h, &m->h_next);
        swap(&m->c, &m->c_next);
        row_store(y, at, r->n_hidden, m->h);
    }
    for (int64_t at = length; at < r->n_steps; at++) { /* past the end of a shorter sequence */
        row_store(y, at, r->n_hidden, NULL);
        row_store(stash, at, cell->n_stash * r->n_hidden, NULL);
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

/* The same order of axes in both layouts: x [batch, step, in], y and the stash [direction, batch, step, hidden], states
 * [direction, batch, hidden].  What is absent has no data and stays so. */
static as_view series_of(const as_view *v, bool batch_first)
{
    static const int order[2][4] = {{1, 2, 0, 3}, {2, 0, 1, 3}};
    return turned(v, 4, order[batch_first]);
}
static as_view state_of(const as_view *v, bool batch_first)
{
    static const int order[2][3] = {{0, 1, 2}, {1, 0, 2}};
    return turned(v, 3, order[batch_first]);
}
static as_view input_of(const as_view *v, bool batch_first)
{
    static const int order[2][3] = {{1, 0, 2}, {0, 1, 2}};
    return turned(v, 3, order[batch_first]);
}

static void biases_load(const as_node_ctx *n, const as_recurrent *r, const as_view *in, int64_t d, int64_t rows, room *m)
{
    if (as_in_has(n, B)) {
        vector_load(&in[B], d * 2 * rows, rows, m->bias_w);
        vector_load(&in[B], d * 2 * rows + rows, rows, m->bias_r);
    }
    if (as_in_has(n, P))
        vector_load(&in[P], d * 3 * r->n_hidden, 3 * r->n_hidden, m->p);
}

static void states_load(const as_node_ctx *n, const as_recurrent *r, const as_view *in, const int64_t *at, int64_t length, room *m)
{
    double *state[2] = {m->h, m->c};
    for (int s = 0; s < 2; s++) {
        memset(state[s], 0, (size_t)r->n_hidden * sizeof(double));
        /* ONNX does not say what state a sequence of length 0 ends in; this gives zeros, as ONNX Runtime does. */
        if (length > 0 && as_in_has(n, INITIAL_H + s)) {
            as_view all = state_of(&in[INITIAL_H + s], r->batch_first), one = as_view_fix(&all, at, 2);
            vector_load(&one, 0, r->n_hidden, state[s]);
        }
    }
}

static int64_t length_of(const as_node_ctx *n, const as_recurrent *r, const as_view *in, int64_t b)
{
    return as_in_has(n, LENGTHS) ? as_view_get_i64(&in[LENGTHS], b) : r->n_steps;
}

assay_status as_recurrent_eval(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_view *in, const as_view *out)
{
    as_recurrent r;
    room         m = {0};
    AS_TRY(as_recurrent_read(env, n, cell, &r));
    AS_TRY(lengths_check(env, n, &r, &in[LENGTHS]));
    AS_TRY(room_take(env, n, &r, cell->n_gates, &m));
    const int    n_states = cell->n_gates == 4 ? 2 : 1;
    as_view      x = input_of(&in[X], r.batch_first), y = series_of(&out[0], r.batch_first), stash = {0};
    int64_t      rows = cell->n_gates * r.n_hidden;
    assay_status status = ASSAY_OK;
    if (cell->n_stash && n->n_out > n_states + 1)
        stash = series_of(&out[n_states + 1], false);
    for (int64_t d = 0; d < r.n_directions && status == ASSAY_OK; d++) {
        as_view w = as_view_fix(&in[W], &d, 1), weight = as_view_fix(&in[R], &d, 1);
        biases_load(n, &r, in, d, rows, &m);
        for (int64_t b = 0; b < r.n_batch && status == ASSAY_OK; b++) {
            int64_t at[2] = {d, b}, length = length_of(n, &r, in, b);
            states_load(n, &r, in, at, length, &m);
            as_view one_x = as_view_fix(&x, &b, 1), one_y = as_view_fix(&y, at, 2), one_stash = as_view_fix(&stash, at, 2);
            status = sequence_run(env, n, cell, &r, (int)d, length, &one_x, &w, &weight, &one_y, &one_stash, &m);
            for (int s = 0; s < n_states && s + 1 < n->n_out; s++) {
                as_view all = state_of(&out[1 + s], r.batch_first);
                as_view of_d = as_view_fix(&all, &d, 1);
                row_store(&of_d, b, r.n_hidden, s ? m.c : m.h);
            }
        }
    }
    free(m.all);
    return status;
}

/* --- Backwards --- */

int as_recurrent_grad_outs(const as_node_ctx *n, const as_cell *cell)
{
    as_recurrent r;
    bool         plain = as_recurrent_read(NULL, n, cell, &r) == ASSAY_OK && as_recurrent_plain(n, cell, &r, NULL, 0);
    return plain && cell->n_stash ? n->op->max_out : 1;
}

assay_status as_recurrent_grad(as_builder *b, const as_node_ctx *n, const as_cell *cell, const char *op, const int *in,
                               const int *out, const int *d_out, int *d_in)
{
    const int n_states = cell->n_gates == 4 ? 2 : 1, n_forward = n->op->max_in;
    int       all[AS_RNN_N_IN], found[AS_RNN_N_OUT],
        n_found = n_states == 1     ? AS_RNN_OUT_C0
                  : as_in_has(n, P) ? AS_RNN_N_OUT
                                    : AS_RNN_OUT_P;
    bool any = false;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    for (int i = 0; i < n->n_out && i <= n_states; i++)
        any |= d_out[i] >= 0;
    if (!any)
        return ASSAY_OK;
    for (int i = 0; i < AS_RNN_N_IN; i++)
        all[i] = i < n_forward && i < n->n_in ? in[i] : -1;
    as_recurrent r;
    AS_TRY(as_recurrent_read(b->env, n, cell, &r));
    if (as_recurrent_plain(n, cell, &r, NULL, 0) && (!cell->n_stash || n->n_out == n->op->max_out)) {
        all[AS_RNN_Y] = out[0];
        all[AS_RNN_STASH] = cell->n_stash ? out[n->op->max_out - 1] : -1;
    }
    for (int i = 0; i <= n_states; i++)
        all[AS_RNN_D_Y + i] = i < n->n_out ? d_out[i] : -1;
    if (b->node(b, op, all, AS_RNN_N_IN, n->attrs, n->n_attrs, found, n_found) < 0)
        return ASSAY_OK; /* the builder keeps its failure */
    static const int outs[] = {AS_RNN_OUT_X, AS_RNN_OUT_W,  AS_RNN_OUT_R,  AS_RNN_OUT_B,
                               -1,           AS_RNN_OUT_H0, AS_RNN_OUT_C0, AS_RNN_OUT_P};
    for (int i = 0; i < n->n_in; i++)
        if (outs[i] >= 0 && as_in_has(n, i))
            d_in[i] = found[outs[i]];
    return ASSAY_OK;
}

assay_status as_recurrent_grad_infer(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_tensor_info *out)
{
    as_recurrent r;
    as_dtype     dtype = n->in[X].dtype;
    AS_TRY(as_rule_dtype(env, n, X, 4, AS_SET_FLOAT));
    AS_TRY(dtypes_check(env, n));
    AS_TRY(as_recurrent_read(env, n, cell, &r));
    int64_t  d = r.n_directions, rows = cell->n_gates * r.n_hidden;
    as_shape y = r.batch_first ? AS_SHAPE(r.n_batch, r.n_steps, d, r.n_hidden) : AS_SHAPE(r.n_steps, d, r.n_batch, r.n_hidden);
    as_shape state = r.batch_first ? AS_SHAPE(r.n_batch, d, r.n_hidden) : AS_SHAPE(d, r.n_batch, r.n_hidden);
    AS_TRY(shape_check(env, n, AS_RNN_Y, "Y", y));
    AS_TRY(shape_check(env, n, AS_RNN_STASH, "the stash", as_recurrent_stash(&r, cell)));
    AS_TRY(shape_check(env, n, AS_RNN_D_Y, "the gradient of Y", y));
    AS_TRY(shape_check(env, n, AS_RNN_D_H, "the gradient of Y_h", state));
    AS_TRY(shape_check(env, n, AS_RNN_D_C, "the gradient of Y_c", state));
    char why[80];
    if (as_in_has(n, AS_RNN_Y) && !as_recurrent_plain(n, cell, &r, why, sizeof why))
        return as_refuse(env, n, "Y is given and not enough: %s", why);
    if (as_in_has(n, AS_RNN_STASH) != (as_in_has(n, AS_RNN_Y) && cell->n_stash > 0))
        return as_refuse(env, n, "Y and the stash must be given together");
    out[AS_RNN_OUT_X] = as_info(dtype, &n->in[X].shape);
    out[AS_RNN_OUT_W] = as_info(dtype, &AS_SHAPE(d, rows, r.n_in));
    out[AS_RNN_OUT_R] = as_info(dtype, &AS_SHAPE(d, rows, r.n_hidden));
    out[AS_RNN_OUT_B] = as_info(dtype, &AS_SHAPE(d, 2 * rows));
    out[AS_RNN_OUT_H0] = out[AS_RNN_OUT_C0] = as_info(dtype, &state);
    out[AS_RNN_OUT_P] = as_info(dtype, &AS_SHAPE(d, 3 * r.n_hidden));
    return ASSAY_OK;
}

/* A product with R at every step, and one for each of the gradients that are wanted of X, W and R; the forward pass too, where
 * nothing is kept of it. */
as_cost as_recurrent_grad_cost(const as_node_ctx *n, const as_cell *cell)
{
    as_cost      cost = as_cost_bytes(n), forward = as_recurrent_cost(n, cell);
    as_recurrent r;
    if (as_recurrent_read(NULL, n, cell, &r) != ASSAY_OK)
        return cost;
    const bool kept = as_in_has(n, AS_RNN_Y);
    uint64_t   units = as_sat_mul(as_sat_mul((uint64_t)r.n_steps, (uint64_t)r.n_batch),
                                  as_sat_mul((uint64_t)r.n_directions, (uint64_t)r.n_hidden)),
             n_in = (uint64_t)r.n_in, hidden = (uint64_t)r.n_hidden, each = hidden;
    if (n->n_out > AS_RNN_OUT_X && n->out[AS_RNN_OUT_X].dtype != AS_NONE)
        each = as_sat_add(each, n_in);
    if (n->n_out > AS_RNN_OUT_W && n->out[AS_RNN_OUT_W].dtype != AS_NONE)
        each = as_sat_add(each, n_in);
    if (n->n_out > AS_RNN_OUT_R && n->out[AS_RNN_OUT_R].dtype != AS_NONE)
        each = as_sat_add(each, hidden);
    each = as_sat_add(as_sat_mul(2 * (uint64_t)cell->n_gates, each), 3 * cell->flops_a_unit);
    cost.flops = as_sat_add(as_sat_mul(units, each), kept ? 0 : forward.flops);
    cost.special = kept ? (cell->n_gates == 4 ? units : 0) : forward.special;
    return cost;
}

/* Everything of one sequence that the way back reads, step by step in the order of time of the direction. */
typedef struct record {
    double *h, *c, *kept, *slopes; /* h and c: one more than steps, the first before step 0 */
    double *d_h, *d_c, *d_x, *d_r, *d_p;
    double *d_w, *d_weight, *d_bias; /* of the direction, sums over sequences */
    double *all;
} record;

static assay_status record_take(assay_env *env, const as_node_ctx *n, const as_recurrent *r, int n_gates, record *out)
{
    size_t hidden = (size_t)r->n_hidden, gates = (size_t)n_gates * hidden, steps = (size_t)r->n_steps;
    struct {
        double **to;
        size_t   n;
    } parts[] = {{&out->h, (steps + 1) * hidden},
                 {&out->c, (steps + 1) * hidden},
                 {&out->kept, steps * 5 * hidden},
                 {&out->slopes, steps * 5 * hidden},
                 {&out->d_h, hidden},
                 {&out->d_c, hidden},
                 {&out->d_x, gates},
                 {&out->d_r, gates},
                 {&out->d_p, 3 * hidden},
                 {&out->d_w, gates * (size_t)r->n_in},
                 {&out->d_weight, gates * hidden},
                 {&out->d_bias, 2 * gates}};
    size_t total = 1;
    for (size_t i = 0; i < AS_COUNT(parts); i++)
        total += parts[i].n;
    out->all = calloc(total, sizeof(double));
    if (!out->all)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %zu numbers of a sequence", n->op->name,
                       n->name ? n->name : "", total);
    double *at = out->all;
    for (size_t i = 0; i < AS_COUNT(parts); i++) {
        *parts[i].to = at;
        at += parts[i].n;
    }
    return ASSAY_OK;
}

static double *vector_at(double *all, int64_t i, int64_t length) { return all + i * length; }

/* Step t (in the order of the direction) as forwards, its values in the record. */
static as_cell_step step_of(const as_node_ctx *n, const as_recurrent *r, int d, const as_view *weight, room *m, record *t,
                            int64_t i)
{
    int64_t hidden = r->n_hidden;
    return (as_cell_step){.n = n,
                          .r = r,
                          .act = r->act[d],
                          .xw = m->xw,
                          .rb = m->bias_r,
                          .p = m->p,
                          .weight = *weight,
                          .h = vector_at(t->h, i, hidden),
                          .c = vector_at(t->c, i, hidden),
                          .h_next = vector_at(t->h, i + 1, hidden),
                          .c_next = vector_at(t->c, i + 1, hidden),
                          .scratch = m->scratch,
                          .kept = vector_at(t->kept, i, 5 * hidden),
                          .slopes = vector_at(t->slopes, i, 5 * hidden)};
}

/* What the forward pass left in Y and in the stash.  The slopes follow from the values, because the activations are the usual
 * ones. */
static void step_read(const as_cell *cell, const as_cell_step *s, const as_view *y, const as_view *stash, int64_t at)
{
    int64_t hidden = s->r->n_hidden;
    as_view row = as_view_fix(y, &at, 1), more = {0};
    vector_load(&row, 0, hidden, s->h_next);
    if (cell->n_stash) {
        more = as_view_fix(stash, &at, 1);
        vector_load(&more, 0, cell->n_stash * hidden, s->kept);
    }
    for (int g = 0; g < cell->n_gates; g++) {
        const as_activation *f = &s->act[cell->n_gates == 4 ? g == 3 : cell->n_gates == 3 ? g == 2 : 0];
        for (int64_t k = 0; k < hidden; k++)
            s->slopes[g * hidden + k] = f->slope(0.0, cell->n_stash ? s->kept[g * hidden + k] : s->h_next[k], f->alpha, f->beta);
    }
    for (int64_t k = 0; cell->n_gates == 4 && k < hidden; k++) {
        s->c_next[k] = s->kept[4 * hidden + k];
        s->slopes[4 * hidden + k] = s->act[2].slope(0.0, s->act[2].of(s->c_next[k], 0.0, 0.0), 0.0, 0.0);
    }
}

/* The gradients by this step's weights, and of x, which is added to. */
static void step_gather(const as_cell *cell, const as_cell_back *k, const as_view *x, const as_view *w, const as_view *d_x,
                        record *t)
{
    int64_t hidden = k->s->r->n_hidden, rows = cell->n_gates * hidden, n_in = k->s->r->n_in;
    for (int64_t row = 0; row < rows; row++) {
        as_view weights = as_view_fix(w, &row, 1);
        for (int64_t i = 0; i < n_in; i++) {
            t->d_w[row * n_in + i] += k->d_x[row] * as_view_get(x, i);
            if (d_x->data)
                as_view_set(d_x, i, as_view_get(d_x, i) + k->d_x[row] * as_view_get(&weights, i));
        }
        for (int64_t i = 0; i < hidden; i++)
            t->d_weight[row * hidden + i] += k->d_r[row] * k->past[row / hidden][i];
        t->d_bias[row] += k->d_x[row];
        t->d_bias[rows + row] += k->d_r[row];
    }
}

/* A gradient vector from above, or nothing. */
static void vector_add(const as_view *v, const int64_t *at, int n_at, int64_t count, double *to)
{
    if (!v->data)
        return;
    as_view row = as_view_fix(v, at, n_at);
    for (int64_t k = 0; k < count; k++)
        to[k] += as_view_get(&row, k);
}

static as_view input_view(const as_node_ctx *n, const as_view *in, int i) { return as_in_has(n, i) ? in[i] : (as_view){0}; }
static as_view output_view(const as_node_ctx *n, const as_view *out, int i) { return i < n->n_out ? out[i] : (as_view){0}; }

static void zeros_store(const as_view *v)
{
    for (int64_t i = 0; v->data && i < as_shape_count(&v->shape); i++)
        as_view_set(v, i, 0.0);
}

static void sums_store(const as_view *v, int64_t first, int64_t count, const double *from)
{
    for (int64_t i = 0; v->data && i < count; i++)
        as_view_set(v, first + i, from[i]);
}

/* One sequence in one direction: forwards, or what was kept of that, then back. */
static assay_status sequence_back(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_recurrent *r,
                                  const int64_t *at, const as_view *in, const as_view *out, room *m, record *t)
{
    const int64_t d = at[0], b = at[1], hidden = r->n_hidden, length = length_of(n, r, in, b), rows = cell->n_gates * hidden;
    const bool    first = r->batch_first, kept = as_in_has(n, AS_RNN_Y);
    const as_view w = as_view_fix(&in[W], &d, 1), weight = as_view_fix(&in[R], &d, 1), x_all = input_of(&in[X], first),
                  x = as_view_fix(&x_all, &b, 1);
    as_view d_x_all = output_view(n, out, AS_RNN_OUT_X), d_x = {0}, given[2] = {{0}}, from[3], state_out;
    if (d_x_all.data) {
        d_x_all = input_of(&d_x_all, first);
        d_x = as_view_fix(&d_x_all, &b, 1);
    }
    for (int i = 0; i < 2 && kept; i++) {
        as_view all = input_view(n, in, AS_RNN_Y + i);
        all = series_of(&all, i == 0 && first);
        given[i] = as_view_fix(&all, at, 2);
    }
    for (int i = 0; i < 3; i++) {
        from[i] = input_view(n, in, AS_RNN_D_Y + i);
        from[i] = i ? state_of(&from[i], first) : series_of(&from[i], first);
    }
    states_load(n, r, in, at, length, m);
    memcpy(t->h, m->h, (size_t)hidden * sizeof(double));
    memcpy(t->c, m->c, (size_t)hidden * sizeof(double));
    for (int64_t i = 0; i < length; i++) {
        AS_GO_ON(env, n);
        int64_t      now = r->backward[d] ? length - 1 - i : i;
        as_view      row = as_view_fix(&x, &now, 1);
        as_cell_step step = step_of(n, r, (int)d, &weight, m, t, i);
        if (kept) {
            step_read(cell, &step, &given[0], &given[1], now);
            continue;
        }
        input_multiply(&w, &row, m, rows, r->n_in);
        cell->step(&step);
    }
    memset(t->d_h, 0, (size_t)hidden * sizeof(double));
    memset(t->d_c, 0, (size_t)hidden * sizeof(double));
    if (length > 0) {
        vector_add(&from[1], at, 2, hidden, t->d_h);
        vector_add(&from[2], at, 2, hidden, t->d_c);
    }
    for (int64_t i = length - 1; i >= 0; i--) {
        AS_GO_ON(env, n);
        int64_t      now = r->backward[d] ? length - 1 - i : i, where[3] = {d, b, now};
        as_view      row = as_view_fix(&x, &now, 1), d_row = as_view_fix(&d_x, &now, 1);
        as_cell_step step = step_of(n, r, (int)d, &weight, m, t, i);
        as_cell_back back = {.s = &step, .d_h = t->d_h, .d_c = t->d_c, .d_x = t->d_x, .d_r = t->d_r, .d_p = t->d_p};
        for (int g = 0; g < cell->n_gates; g++)
            back.past[g] = step.h;
        vector_add(&from[0], where, 3, hidden, t->d_h);
        cell->back(&back);
        step_gather(cell, &back, &row, &w, &d_row, t);
    }
    for (int s = 0; s < 2; s++) {
        state_out = output_view(n, out, AS_RNN_OUT_H0 + s);
        if (!state_out.data)
            continue;
        state_out = state_of(&state_out, first);
        as_view of_d = as_view_fix(&state_out, &d, 1);
        row_store(&of_d, b, hidden, s ? t->d_c : t->d_h);
    }
    return ASSAY_OK;
}

assay_status as_recurrent_grad_eval(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_view *in,
                                    const as_view *out)
{
    as_recurrent r;
    room         m = {0};
    record       t = {0};
    AS_TRY(as_recurrent_read(env, n, cell, &r));
    AS_TRY(lengths_check(env, n, &r, &in[LENGTHS]));
    AS_TRY(room_take(env, n, &r, cell->n_gates, &m));
    assay_status status = record_take(env, n, &r, cell->n_gates, &t);
    int64_t      rows = cell->n_gates * r.n_hidden;
    as_view      d_x = output_view(n, out, AS_RNN_OUT_X), d_w = output_view(n, out, AS_RNN_OUT_W),
            d_r = output_view(n, out, AS_RNN_OUT_R), d_b = output_view(n, out, AS_RNN_OUT_B),
            d_p = output_view(n, out, AS_RNN_OUT_P);
    zeros_store(&d_x);
    for (int64_t d = 0; d < r.n_directions && status == ASSAY_OK; d++) {
        memset(t.d_p, 0, 3 * (size_t)r.n_hidden * sizeof(double));
        memset(t.d_w, 0, (size_t)(rows * r.n_in) * sizeof(double));
        memset(t.d_weight, 0, (size_t)(rows * r.n_hidden) * sizeof(double));
        memset(t.d_bias, 0, 2 * (size_t)rows * sizeof(double));
        biases_load(n, &r, in, d, rows, &m);
        for (int64_t b = 0; b < r.n_batch && status == ASSAY_OK; b++)
            status = sequence_back(env, n, cell, &r, (int64_t[]){d, b}, in, out, &m, &t);
        sums_store(&d_w, d * rows * r.n_in, rows * r.n_in, t.d_w);
        sums_store(&d_r, d * rows * r.n_hidden, rows * r.n_hidden, t.d_weight);
        sums_store(&d_b, d * 2 * rows, 2 * rows, t.d_bias);
        sums_store(&d_p, d * 3 * r.n_hidden, 3 * r.n_hidden, t.d_p);
    }
    free(t.all);
    free(m.all);
    return status;
}
