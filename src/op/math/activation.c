/* activation.c - the functions that may follow a product. */
#include "op/math/activation.h"

#include <math.h>
#include <string.h>

#include "op/rules.h"

typedef struct form {
    const char *name, *op;
    bool        special;
    uint64_t    flops;
    double      alpha, beta;
} form;

/* alpha and beta are ONNX's defaults for the operator. */
static const form forms[AS_N_ACTS] = {
    [AS_ACT_NONE] = {"none", NULL, false, 0, 0, 0},
    [AS_ACT_RELU] = {"relu", "Relu", false, 1, 0, 0},
    [AS_ACT_LEAKYRELU] = {"leakyrelu", "LeakyRelu", false, 2, 0.01, 0},
    [AS_ACT_CLIP] = {"clip", "Clip", false, 2, 0, 0},
    [AS_ACT_SIGMOID] = {"sigmoid", "Sigmoid", true, 2, 0, 0},
    [AS_ACT_TANH] = {"tanh", "Tanh", true, 0, 0, 0},
    [AS_ACT_HARDSIGMOID] = {"hardsigmoid", "HardSigmoid", false, 4, 0.2, 0.5},
    [AS_ACT_HARDSWISH] = {"hardswish", "HardSwish", false, 5, 0, 0},
    [AS_ACT_ELU] = {"elu", "Elu", true, 3, 1, 0},
    [AS_ACT_GELU] = {"gelu", "Gelu", true, 4, 0, 0},
    [AS_ACT_GELU_TANH] = {"gelu-tanh", NULL, true, 4, 0, 0},
    [AS_ACT_SILU] = {"silu", NULL, true, 1, 0, 0},
    [AS_ACT_SOFTPLUS] = {"softplus", "Softplus", true, 2, 0, 0},
};

const char *as_act_name(as_act_kind kind) { return forms[kind].name; }
bool        as_act_is_special(as_act_kind kind) { return forms[kind].special; }
uint64_t    as_act_flops(as_act_kind kind) { return forms[kind].flops; }

assay_status as_act_read(assay_env *env, const as_node_ctx *n, as_act *out)
{
    const char *name = as_attr_text(n, "activation", "none");
    for (int i = 0; i < AS_N_ACTS; i++)
        if (!strcmp(forms[i].name, name)) {
            *out = (as_act){.kind = (as_act_kind)i,
                            .alpha = as_attr_float(n, "activation_alpha", forms[i].alpha),
                            .beta = as_attr_float(n, "activation_beta", forms[i].beta)};
            return ASSAY_OK;
        }
    return as_refuse(env, n, "activation '%s' is unknown", name);
}

/* A bound of Clip: infinite when absent, unknown when it is computed. */
static bool bound(const as_node_ctx *n, int i, double otherwise, double *out)
{
    *out = otherwise;
    if (!as_in_has(n, i))
        return true;
    if (!n->in[i].constant)
        return false;
    as_view v = as_view_of((void *)(uintptr_t)n->in[i].constant, n->in[i].dtype, &n->in[i].shape);
    *out = as_view_get(&v, 0);
    return true;
}

bool as_act_of(const as_node_ctx *n, as_act *out)
{
    if (!as_dtype_is_float(n->in[0].dtype))
        return false;
    for (int i = 1; i < AS_N_ACTS; i++) {
        if (!forms[i].op || strcmp(forms[i].op, n->op->name))
            continue;
        as_act act = {.kind = (as_act_kind)i,
                      .alpha = as_attr_float(n, "alpha", forms[i].alpha),
                      .beta = as_attr_float(n, "beta", forms[i].beta)};
        if (i == AS_ACT_CLIP && (!bound(n, 1, -HUGE_VAL, &act.alpha) || !bound(n, 2, HUGE_VAL, &act.beta) || act.alpha > act.beta))
            return false;
        if (i == AS_ACT_GELU && !strcmp(as_attr_text(n, "approximate", "none"), "tanh"))
            act.kind = AS_ACT_GELU_TANH;
        *out = act;
        return true;
    }
    return false;
}

int as_act_attrs(const as_act *act, as_attr out[3])
{
    if (act->kind == AS_ACT_NONE)
        return 0;
    out[0] = (as_attr)AS_ATTR_S("activation", forms[act->kind].name);
    out[1] = (as_attr)AS_ATTR_F("activation_alpha", act->alpha);
    out[2] = (as_attr)AS_ATTR_F("activation_beta", act->beta);
    return 3;
}

static double between(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; } /* NaN stays NaN */

double as_act_apply(const as_act *act, double x)
{
    switch (act->kind) {
    case AS_ACT_NONE:
    case AS_N_ACTS: break;
    case AS_ACT_RELU: return x <= 0.0 ? 0.0 : x;
    case AS_ACT_LEAKYRELU: return x < 0.0 ? act->alpha * x : x;
    case AS_ACT_CLIP: return between(x, act->alpha, act->beta);
    case AS_ACT_SIGMOID: return x < 0.0 ? exp(x) / (1.0 + exp(x)) : 1.0 / (1.0 + exp(-x));
    case AS_ACT_TANH: return tanh(x);
    case AS_ACT_HARDSIGMOID: return between(act->alpha * x + act->beta, 0.0, 1.0);
    case AS_ACT_HARDSWISH: return x * between(x / 6.0 + 0.5, 0.0, 1.0);
    case AS_ACT_ELU: return x < 0.0 ? act->alpha * expm1(x) : x;
    case AS_ACT_GELU: return 0.5 * x * erfc(-x * 0.70710678118654752);
    case AS_ACT_GELU_TANH: return 0.5 * x * (1.0 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case AS_ACT_SILU: return x / (1.0 + exp(-x));
    case AS_ACT_SOFTPLUS: return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
    }
    return x;
}
