/* onnx_optimizer.h - what ONNX's own optimiser steps share: a rate, a step count, then n tensors of each kind.  Only op_onnx_*.c include it. */
#ifndef AS_OP_ONNX_OPTIMIZER_H
#define AS_OP_ONNX_OPTIMIZER_H

#include "op/composed.h"

/* How many tensors are optimised: inputs are R, T and `kinds` of each, outputs kinds - 1.  R is of the tensors' dtype. */
static inline assay_status as_optimized_count(assay_env *env, const as_node_ctx *n, int kinds, int *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    if (n->in[1].dtype != AS_I64 || (n->n_in - 2) % kinds || n->n_out > (n->n_in - 2) / kinds * (kinds - 1))
        return as_refuse(env, n,
                         "it has %d inputs and %d outputs: R, T (i64) and %d of each tensor, and at most %d of each are given",
                         n->n_in, n->n_out, kinds, kinds - 1);
    for (int i = 2; i < n->n_in; i++)
        if (n->in[i].dtype != n->in[0].dtype)
            return as_refuse(env, n, "R is %s and input %d is %s: they must be of one dtype", as_dtype_name(n->in[0].dtype), i,
                             as_dtype_name(n->in[i].dtype));
    *out = (n->n_in - 2) / kinds;
    return ASSAY_OK;
}

/* The gradient with the norm's part added. */
static inline int as_b_regularized(as_builder *b, const as_node_ctx *n, int x, int g, double otherwise)
{
    double norm = as_attr_float(n, "norm_coefficient", otherwise);
    return norm == 0.0 ? g : AS_MAKE(b, "Add", as_b_times(b, x, norm), g);
}

#endif
