/* optimizer.c - the rule, the cost and the reference code of the operators that update a block of parameters. */
#include "op/train/optimizer.h"

#include <math.h>
#include <string.h>

#include "op/rules.h"

typedef struct formula {
    const char *op;
    as_opt_kind kind;
    double      beta1, beta2, epsilon, momentum_decay; /* the defaults of PyTorch */
    uint64_t    flops;                                 /* per parameter, with everything switched on */
} formula;

static const formula formulas[] = {
    {.op = "assay.Sgd", .kind = AS_OPT_SGD, .flops = 8},
    {.op = "assay.Adam", .kind = AS_OPT_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .flops = 14},
    {.op = "assay.RmsProp", .kind = AS_OPT_RMSPROP, .beta2 = 0.99, .epsilon = 1e-8, .flops = 16},
    {.op = "assay.AdaGrad", .kind = AS_OPT_ADAGRAD, .epsilon = 1e-10, .flops = 9},
    {.op = "assay.AdaDelta", .kind = AS_OPT_ADADELTA, .beta2 = 0.9, .epsilon = 1e-6, .flops = 17},
    {.op = "assay.Nadam", .kind = AS_OPT_NADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .momentum_decay = 4e-3, .flops = 17},
};

static const formula *formula_of(const as_node_ctx *n)
{
    for (size_t i = 0; i < AS_COUNT(formulas); i++)
        if (!strcmp(formulas[i].op, n->op->name))
            return &formulas[i];
    return &formulas[0]; /* only these operators have this rule */
}

static int states_of(const as_opt *o)
{
    switch (o->kind) {
    case AS_OPT_SGD: return o->momentum != 0.0;
    case AS_OPT_RMSPROP: return 1 + o->centered + (o->momentum != 0.0);
    case AS_OPT_ADAGRAD: return 1;
    case AS_OPT_ADAM:
    case AS_OPT_ADADELTA: return 2;
    case AS_OPT_NADAM: return 3;
    }
    return 0;
}

typedef struct range {
    const char *name;
    double      value, below;
} range;

static assay_status numbers_check(assay_env *env, const as_node_ctx *n, const as_opt *o)
{
    const range all[] = {{"beta1", o->beta1, 1.0},
                         {o->kind == AS_OPT_RMSPROP    ? "alpha"
                          : o->kind == AS_OPT_ADADELTA ? "rho"
                                                       : "beta2",
                          o->beta2, o->kind == AS_OPT_RMSPROP || o->kind == AS_OPT_ADADELTA ? HUGE_VAL : 1.0},
                         {"epsilon", o->epsilon, HUGE_VAL},
                         {"momentum", o->momentum, HUGE_VAL},
                         {"momentum_decay", o->momentum_decay, HUGE_VAL},
                         {"rate_decay", o->rate_decay, HUGE_VAL},
                         {"clip_norm", o->clip_norm, HUGE_VAL},
                         {"clip_value", o->clip_value, HUGE_VAL}};
    for (size_t i = 0; i < AS_COUNT(all); i++)
        if (!(all[i].value >= 0.0 && all[i].value < all[i].below))
            return as_refuse(env, n, "%s is %g and must be at least 0%s", all[i].name, all[i].value,
                             all[i].below < HUGE_VAL ? " and below 1" : " and finite");
    if (o->nesterov && (o->momentum == 0.0 || o->dampening != 0.0))
        return as_refuse(env, n, "nesterov needs a momentum and no dampening");
    if (!isfinite(o->dampening))
        return as_refuse(env, n, "dampening is %g and must be finite", o->dampening);
    return ASSAY_OK;
}

static assay_status starts_check(assay_env *env, const as_node_ctx *n, const as_opt *o)
{
    for (int k = 0; o->starts && k < o->n_groups; k++) {
        int64_t least = k ? o->starts[k - 1] : 0;
        if (k ? o->starts[k] < least || o->starts[k] > o->n : o->starts[0] != 0)
            return as_refuse(env, n, "starts[%d] is %lld and must be %s in a block of %lld", k, (long long)o->starts[k],
                             k ? "at least the one before it and at most the end" : "0", (long long)o->n);
    }
    return ASSAY_OK;
}

assay_status as_opt_read(assay_env *env, const as_node_ctx *n, as_opt *out)
{
    const formula *f = formula_of(n);
    const char    *second = f->kind == AS_OPT_RMSPROP ? "alpha" : f->kind == AS_OPT_ADADELTA ? "rho" : "beta2";
    const as_attr *starts = as_attr_find(n, "starts");
    as_opt         o = {.kind = f->kind,
                        .beta1 = as_attr_float(n, "beta1", f->beta1),
                        .beta2 = as_attr_float(n, second, f->beta2),
                        .epsilon = as_attr_float(n, "epsilon", f->epsilon),
                        .momentum = as_attr_float(n, "momentum", 0.0),
                        .dampening = as_attr_float(n, "dampening", 0.0),
                        .momentum_decay = as_attr_float(n, "momentum_decay", f->momentum_decay),
                        .rate_decay = as_attr_float(n, "rate_decay", 0.0),
                        .nesterov = as_attr_int(n, "nesterov", 0) != 0,
                        .centered = as_attr_int(n, "centered", 0) != 0,
                        .decoupled = as_attr_int(n, "decoupled", 0) != 0,
                        .clip_norm = as_attr_float(n, "clip_norm", 0.0),
                        .clip_value = as_attr_float(n, "clip_value", 0.0),
                        .n = as_shape_count(&n->in[AS_OPT_W].shape),
                        .starts = starts && starts->n ? starts->ints : NULL,
                        .n_groups = starts && starts->n ? (int)starts->n : 1,
                        .has_product = f->kind == AS_OPT_NADAM};
    o.n_states = states_of(&o);
    AS_TRY(numbers_check(env, n, &o));
    AS_TRY(starts_check(env, n, &o));
    *out = o;
    return ASSAY_OK;
}

/* --- The rule -------------------------------------------------------------------------------------------- */

static assay_status input_check(assay_env *env, const as_node_ctx *n, int i, const char *what, as_dtype dtype, const as_shape *want)
{
    if (n->in[i].dtype != dtype || !as_shape_same(&n->in[i].shape, want))
        return as_refuse(env, n, "%s is %s %s and must be %s %s", what, as_dtype_name(n->in[i].dtype), AS_SHOW(&n->in[i].shape),
                         as_dtype_name(dtype), AS_SHOW(want));
    return ASSAY_OK;
}

assay_status as_opt_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_opt         o;
    const as_shape scalar = {0};
    if (n->in[AS_OPT_W].dtype != AS_F32 || n->in[AS_OPT_W].shape.rank != 1)
        return as_refuse(env, n, "w is %s %s and must be an f32 vector", as_dtype_name(n->in[0].dtype), AS_SHOW(&n->in[0].shape));
    AS_TRY(as_opt_read(env, n, &o));
    as_shape all = AS_SHAPE(o.n), groups = AS_SHAPE(o.n_groups), one = AS_SHAPE(1);
    AS_TRY(input_check(env, n, AS_OPT_G, "g", AS_F32, &all));
    AS_TRY(input_check(env, n, AS_OPT_RATES, "rates", AS_F32, &groups));
    AS_TRY(input_check(env, n, AS_OPT_DECAYS, "decays", AS_F32, &groups));
    AS_TRY(input_check(env, n, AS_OPT_STEP, "step", AS_I64, &scalar));
    if (as_in_has(n, AS_OPT_NORM))
        AS_TRY(input_check(env, n, AS_OPT_NORM, "norm", AS_F32, &scalar));
    else if (o.clip_norm > 0.0)
        return as_refuse(env, n, "clip_norm is %g and the norm is absent", o.clip_norm);
    if (as_in_has(n, AS_OPT_SCALE))
        AS_TRY(input_check(env, n, AS_OPT_SCALE, "scale", AS_F32, &scalar));
    int n_given = n->n_in > AS_OPT_STATE ? n->n_in - AS_OPT_STATE : 0;
    if (n_given != o.n_states)
        return as_refuse(env, n, "it has %d states and needs %d", n_given, o.n_states);
    if (n->n_out > AS_OPT_NEW_STATE + o.n_states)
        return as_refuse(env, n, "%d outputs are requested and it gives at most %d", n->n_out, AS_OPT_NEW_STATE + o.n_states);
    out[AS_OPT_NEW_W] = as_info(AS_F32, &all);
    out[AS_OPT_USED] = as_info(AS_F32, &groups);
    out[AS_OPT_SKIPPED] = as_info(AS_I64, &scalar);
    for (int k = 0; k < o.n_states; k++) {
        bool            product = o.has_product && k == o.n_states - 1;
        as_dtype        dtype = product ? AS_F64 : AS_F32;
        const as_shape *shape = product ? &one : &all;
        AS_TRY(input_check(env, n, AS_OPT_STATE + k, product ? "the product" : "a state", dtype, shape));
        out[AS_OPT_NEW_STATE + k] = as_info(dtype, shape);
    }
    return ASSAY_OK;
}

as_cost as_opt_cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_mul(formula_of(n)->flops, as_sat_count(&n->in[AS_OPT_W].shape));
    return cost;
}

/* --- The reference code --------------------------------------------------------------------------------------- */

as_opt_step as_opt_begin(const as_opt *o, const as_node_ctx *n, const as_view *in)
{
    double      t = (double)as_view_get_i64(&in[AS_OPT_STEP], 0);
    as_opt_step s = {.skip =
                         t<1.0, .is_first = t == 1.0, .factor = 1.0, .clip_value = o->clip_value> 0.0 ? o->clip_value : HUGE_VAL,
                     .bias1 = 1.0 - pow(o->beta1, t),
                     .bias2 = 1.0 - pow(o->beta2, t),
                     .rate_factor = 1.0 / (1.0 + (t - 1.0) * o->rate_decay)};
    if (as_in_has(n, AS_OPT_SCALE))
        s.factor = 1.0 / as_view_get(&in[AS_OPT_SCALE], 0);
    if (as_in_has(n, AS_OPT_NORM)) {
        double norm = as_view_get(&in[AS_OPT_NORM], 0);
        s.skip |= !isfinite(norm);
        if (o->clip_norm > 0.0 && !s.skip)
            s.factor *= fmin(1.0, o->clip_norm / (norm + 1e-6));
    }
    if (o->has_product) {
        s.mu = o->beta1 * (1.0 - 0.5 * pow(0.96, t * o->momentum_decay));
        s.mu_next = o->beta1 * (1.0 - 0.5 * pow(0.96, (t + 1.0) * o->momentum_decay));
        s.product = as_view_get(&in[AS_OPT_STATE + o->n_states - 1], 0);
        s.product *= s.skip ? 1.0 : s.mu;
    }
    return s;
}

/* One parameter: w and its states become the new ones. */
static double element(const as_opt *o, const as_opt_step *s, double rate, double decay, double w, double g, double *state)
{
    g *= s->factor;
    g = g > s->clip_value ? s->clip_value : g < -s->clip_value ? -s->clip_value : g; /* NaN stays NaN */
    if (!o->decoupled)
        g += decay * w;
    double after = o->decoupled ? w - rate * decay * w : w, square;
    switch (o->kind) {
    case AS_OPT_SGD:
        if (o->momentum != 0.0) {
            state[0] = s->is_first ? g : o->momentum * state[0] + (1.0 - o->dampening) * g;
            g = o->nesterov ? g + o->momentum * state[0] : state[0];
        }
        return after - rate * g;
    case AS_OPT_ADAM:
        state[0] = o->beta1 * state[0] + (1.0 - o->beta1) * g;
        state[1] = o->beta2 * state[1] + (1.0 - o->beta2) * g * g;
        return after - rate * (state[0] / s->bias1) / (sqrt(state[1] / s->bias2) + o->epsilon);
    case AS_OPT_RMSPROP:
        square = state[0] = o->beta2 * state[0] + (1.0 - o->beta2) * g * g;
        if (o->centered) {
            state[1] = o->beta2 * state[1] + (1.0 - o->beta2) * g;
            square = fmax(0.0, square - state[1] * state[1]); /* rounding can make it negative */
        }
        g /= sqrt(square) + o->epsilon;
        if (o->momentum != 0.0)
            g = state[1 + o->centered] = o->momentum * state[1 + o->centered] + g;
        return after - rate * g;
    case AS_OPT_ADAGRAD: state[0] += g * g; return after - rate * g / (sqrt(state[0]) + o->epsilon);
    case AS_OPT_ADADELTA:
        state[0] = o->beta2 * state[0] + (1.0 - o->beta2) * g * g;
        g *= sqrt(state[1] + o->epsilon) / sqrt(state[0] + o->epsilon);
        state[1] = o->beta2 * state[1] + (1.0 - o->beta2) * g * g;
        return after - rate * g;
    case AS_OPT_NADAM:
        state[0] = o->beta1 * state[0] + (1.0 - o->beta1) * g;
        state[1] = o->beta2 * state[1] + (1.0 - o->beta2) * g * g;
        square = s->mu_next * state[0] / (1.0 - s->product * s->mu_next) + (1.0 - s->mu) * g / (1.0 - s->product);
        return after - rate * square / (sqrt(state[1] / s->bias2) + o->epsilon);
    }
    return after;
}

static void group_eval(const as_opt *o, const as_opt_step *s, int k, const as_view *in, const as_view *out, int n_out)
{
    double rate = as_view_get(&in[AS_OPT_RATES], k) * s->rate_factor, decay = as_view_get(&in[AS_OPT_DECAYS], k);
    int    n_arrays = o->n_states - o->has_product;
    if (n_out > AS_OPT_USED)
        as_view_set(&out[AS_OPT_USED], k, s->skip ? 0.0 : rate);
    for (int64_t i = o->starts ? o->starts[k] : 0; i < as_opt_group_end(o, k); i++) {
        double w = as_view_get(&in[AS_OPT_W], i), state[AS_OPT_MAX_STATES] = {0};
        for (int j = 0; j < n_arrays; j++)
            state[j] = as_view_get(&in[AS_OPT_STATE + j], i);
        if (!s->skip)
            w = element(o, s, rate, decay, w, as_view_get(&in[AS_OPT_G], i), state);
        as_view_set(&out[AS_OPT_NEW_W], i, w);
        for (int j = 0; j < n_arrays && AS_OPT_NEW_STATE + j < n_out; j++)
            as_view_set(&out[AS_OPT_NEW_STATE + j], i, state[j]);
    }
}

assay_status as_opt_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_opt o;
    AS_TRY(as_opt_read(env, n, &o));
    if (as_view_get_i64(&in[AS_OPT_STEP], 0) < 0)
        return as_refuse(env, n, "step is %lld and the first is 1", (long long)as_view_get_i64(&in[AS_OPT_STEP], 0));
    as_opt_step s = as_opt_begin(&o, n, in);
    for (int k = 0; k < o.n_groups; k++)
        group_eval(&o, &s, k, in, out, n->n_out);
    if (n->n_out > AS_OPT_SKIPPED)
        as_view_set_i64(&out[AS_OPT_SKIPPED], 0, s.skip);
    if (o.has_product && n->n_out == AS_OPT_NEW_STATE + o.n_states)
        as_view_set(&out[n->n_out - 1], 0, s.product);
    return ASSAY_OK;
}
