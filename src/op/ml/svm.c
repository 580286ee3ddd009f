/* svm.c - kernels of support vector machines. */
#include "op/ml/svm.h"

#include <string.h>

assay_status as_b_svm_kernel(as_builder *b, const as_node_ctx *n, int x, int vectors, bool linear, int *out)
{
    const char    *type = linear ? "LINEAR" : as_attr_text(n, "kernel_type", "LINEAR");
    const as_attr *params = as_attr_find(n, "kernel_params"); /* gamma, coef0, degree */
    double         gamma = 0.0, coef = 0.0, degree = 0.0;
    if (params && params->n) {
        if (params->n != 3)
            return as_refuse(b->env, n, "kernel_params has %zu numbers and must have 3: gamma, coef0 and degree", params->n);
        gamma = params->floats[0];
        coef = params->floats[1];
        degree = params->floats[2];
    }
    if (!strcmp(type, "RBF")) {
        *out = AS_MAKE(b, "Exp", as_b_times(b, AS_MAKE(b, "assay.SquaredDistance", x, vectors), -gamma));
        return ASSAY_OK;
    }
    int dot = AS_MAKE(b, "MatMul", x, AS_TURN(b, vectors, 1, 0));
    if (!strcmp(type, "LINEAR"))
        *out = dot;
    else if (!strcmp(type, "POLY"))
        *out = as_b_with(b, "Pow", as_b_plus(b, as_b_times(b, dot, gamma), coef), degree);
    else if (!strcmp(type, "SIGMOID"))
        *out = AS_MAKE(b, "Tanh", as_b_plus(b, as_b_times(b, dot, gamma), coef));
    else
        return as_refuse(b->env, n, "kernel_type is '%.40s' and must be LINEAR, POLY, RBF or SIGMOID", type);
    return ASSAY_OK;
}
