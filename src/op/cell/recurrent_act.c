/* recurrent_act.c - the activations of RNN, GRU and LSTM, and their slopes. */
#include <math.h>
#include <strings.h>

#include "op/cell/recurrent.h"

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

static double relu_slope(double x, double y, double a, double b)
{
    (void)x, (void)a, (void)b;
    return y > 0.0;
}
static double tangent_slope(double x, double y, double a, double b)
{
    (void)x, (void)a, (void)b;
    return 1.0 - y * y;
}
static double sigmoid_slope(double x, double y, double a, double b)
{
    (void)x, (void)a, (void)b;
    return y * (1.0 - y);
}
static double affine_slope(double x, double y, double a, double b)
{
    (void)x, (void)y, (void)b;
    return a;
}
static double leaky_slope(double x, double y, double a, double b)
{
    (void)y, (void)b;
    return x >= 0.0 ? 1.0 : a;
}
static double thresholded_slope(double x, double y, double a, double b)
{
    (void)y, (void)b;
    return x >= a;
}
static double scaled_tangent_slope(double x, double y, double a, double b)
{
    (void)y;
    double t = tanh(b * x);
    return a * b * (1.0 - t * t);
}
static double hard_sigmoid_slope(double x, double y, double a, double b)
{
    (void)x, (void)b;
    return y > 0.0 && y < 1.0 ? a : 0.0;
}
static double elu_slope(double x, double y, double a, double b)
{
    (void)b;
    return x >= 0.0 ? 1.0 : y + a;
}
static double softsign_slope(double x, double y, double a, double b)
{
    (void)y, (void)a, (void)b;
    return 1.0 / ((1.0 + fabs(x)) * (1.0 + fabs(x)));
}
static double softplus_slope(double x, double y, double a, double b)
{
    (void)y;
    return sigmoid(x, a, b);
}

static const struct activation_def {
    const char        *name;
    as_activation_kind kind;
    double (*of)(double, double, double);
    double (*slope)(double, double, double, double);
    int    n_params;    /* 0: none, 1: alpha, 2: alpha and beta */
    double alpha, beta; /* the defaults of the ONNX operator with that name */
} activation_defs[] = {
    {"Relu", AS_ACTIVATION_RELU, relu, relu_slope, 0, 0, 0},
    {"Tanh", AS_ACTIVATION_TANH, tangent, tangent_slope, 0, 0, 0},
    {"Sigmoid", AS_ACTIVATION_SIGMOID, sigmoid, sigmoid_slope, 0, 0, 0},
    {"Affine", AS_ACTIVATION_OTHER, affine, affine_slope, 2, 1, 0},
    {"LeakyRelu", AS_ACTIVATION_OTHER, leaky, leaky_slope, 1, 0.01, 0},
    {"ThresholdedRelu", AS_ACTIVATION_OTHER, thresholded, thresholded_slope, 1, 1, 0},
    {"ScaledTanh", AS_ACTIVATION_OTHER, scaled_tangent, scaled_tangent_slope, 2, 1, 1},
    {"HardSigmoid", AS_ACTIVATION_OTHER, hard_sigmoid, hard_sigmoid_slope, 2, 0.2, 0.5},
    {"Elu", AS_ACTIVATION_OTHER, elu, elu_slope, 1, 1, 0},
    {"Softsign", AS_ACTIVATION_OTHER, softsign, softsign_slope, 0, 0, 0},
    {"Softplus", AS_ACTIVATION_OTHER, softplus, softplus_slope, 0, 0, 0},
};

/* The next value of a list.  Only functions that have this parameter take one; after the last value comes the default. */
static double param_next(const as_attr *list, size_t *at, double otherwise)
{
    return list && *at < list->n ? list->floats[(*at)++] : otherwise;
}

assay_status as_recurrent_activations(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_recurrent *r)
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
        *a = (as_activation){def->kind, def->of, def->slope, def->alpha, def->beta};
        if (def->n_params > 0)
            a->alpha = param_next(alpha, &at_alpha, a->alpha);
        if (def->n_params > 1)
            a->beta = param_next(beta, &at_beta, a->beta);
    }
    return ASSAY_OK;
}
