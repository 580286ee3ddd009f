/* product.h - what Gemm and FusedGemm share: the shape rule of alpha * A' B' + beta * C and its cost. */
#ifndef AS_OP_PRODUCT_H
#define AS_OP_PRODUCT_H

#include "op/rules.h"

/* The attributes, for an operator's table. */
#define AS_PRODUCT_ATTRS                                                                                                        \
    {.name = "alpha", .kind = AS_ATTR_FLOAT}, {.name = "beta", .kind = AS_ATTR_FLOAT}, {.name = "transA", .kind = AS_ATTR_INT}, \
    {                                                                                                                           \
        .name = "transB", .kind = AS_ATTR_INT                                                                                   \
    }

typedef struct as_product {
    int64_t m, n, k;
    double  alpha, beta;
    bool    flip_a, flip_b;
} as_product;

/* B must be a matrix. A must be one too, or, when it is not transposed, rows with more axes; the operator checks before which of
 * them it takes. */
assay_status as_product_read(assay_env *env, const as_node_ctx *n, as_product *out);
/* C, where present, may broadcast to the matrix Y, but Y may not broadcast to C. */
assay_status as_product_c_check(assay_env *env, const as_node_ctx *n, const as_product *p);
/* 2 * M * N * K flops; M * N more to add C, M * N more if alpha is not 1, and one per element of C if beta is not 1. */
as_cost as_product_cost(const as_node_ctx *n, const as_product *p);

#endif
