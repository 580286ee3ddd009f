/* activation.h - the functions that may follow a product, as one small value. FusedGemm, FusedConv, the passes that make them
 * and the kernels that run them all use it.
 *
 * On a fused node it is the attribute "activation" (a text, absent: none) with "activation_alpha" and "activation_beta". */
#ifndef AS_OP_ACTIVATION_H
#define AS_OP_ACTIVATION_H

#include "op/op.h"

typedef enum as_act_kind {
    AS_ACT_NONE = 0,
    AS_ACT_RELU,      /* max(x, 0) */
    AS_ACT_LEAKYRELU, /* x < 0 ? alpha x : x */
    AS_ACT_CLIP,      /* min(max(x, alpha), beta): Relu6 and the like */
    AS_ACT_SIGMOID,
    AS_ACT_TANH,
    AS_ACT_HARDSIGMOID, /* max(0, min(1, alpha x + beta)) */
    AS_ACT_HARDSWISH,   /* x max(0, min(1, x / 6 + 1/2)) */
    AS_ACT_ELU,         /* x < 0 ? alpha (exp(x) - 1) : x */
    AS_ACT_GELU,        /* x P(N < x), by erf */
    AS_ACT_GELU_TANH,   /* its approximation by tanh */
    AS_ACT_SILU,        /* x sigmoid(x) */
    AS_ACT_SOFTPLUS,    /* log(1 + exp(x)) */
    AS_N_ACTS
} as_act_kind;

typedef struct as_act {
    as_act_kind kind;
    double      alpha, beta;
} as_act;

const char *as_act_name(as_act_kind kind); /* "relu"; "none" */
/* Reads it from a fused node; fails with a message when the name is unknown. */
assay_status as_act_read(assay_env *env, const as_node_ctx *n, as_act *out);
/* The activation that another operator's node computes (Relu, Clip with known bounds, Gelu ...); false when it is not one. */
bool as_act_of(const as_node_ctx *n, as_act *out);
/* The attributes that describe it on a fused node: 0 to 3 of them. */
int      as_act_attrs(const as_act *act, as_attr out[3]);
double   as_act_apply(const as_act *act, double x); /* the reference code */
bool     as_act_is_special(as_act_kind kind);       /* needs an exp, a tanh or the like per element */
uint64_t as_act_flops(as_act_kind kind);            /* per element, besides the special one */

/* The three attributes, for an operator's table. */
#define AS_ACT_ATTRS                                                                                   \
    {.name = "activation", .kind = AS_ATTR_TEXT}, {.name = "activation_alpha", .kind = AS_ATTR_FLOAT}, \
    {                                                                                                  \
        .name = "activation_beta", .kind = AS_ATTR_FLOAT                                               \
    }

#endif
