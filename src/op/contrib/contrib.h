/* contrib.h - what the operators of com.microsoft share; all of them are defined as ONNX's own.  Only this folder includes it. */
#ifndef AS_OP_CONTRIB_H
#define AS_OP_CONTRIB_H

#include "op/nn/attention.h"

/* (x - zero) * scale, and back; zero may be -1. */
int as_b_dequantize(as_builder *b, int x, int scale, int zero);
int as_b_quantize(as_builder *b, int x, int scale, int zero);
/* A and B with their scales and zero points, put together by the operator and quantised by the scale and zero point behind them. */
assay_status as_b_quantized_two(as_builder *b, const as_node_ctx *n, const char *op, const int *in, int *out);
/* Input i, or -1 where it is absent. */
static inline int as_in_or_none(const as_node_ctx *n, const int *in, int i) { return as_in_has(n, i) ? in[i] : -1; }
/* Refuses a node without one of the inputs whose bits are set; others before them may be absent. */
assay_status as_need(assay_env *env, const as_node_ctx *n, uint64_t inputs);
/* The node's attributes without some, for an operator that does not know those; at most `max` are copied. */
int as_attrs_without(const as_node_ctx *n, const char *const *names, as_attr *out, int max);
/* The attributes activation and activation_params, or activation_alpha and activation_beta, applied to x. */
assay_status as_b_activation(as_builder *b, const as_node_ctx *n, int x, int *out);
/* x moved from [N, spatial..., C] to [N, C, spatial...] when the attribute channels_last says so, and back. */
int as_b_channels_first(as_builder *b, const as_node_ctx *n, int x);
int as_b_channels_back(as_builder *b, const as_node_ctx *n, int x);
/* A . B of quantised integers in f32: sums of (A - a_zero) (B - b_zero), exact, times the scales. */
int as_b_integer_product(as_builder *b, int x, int x_scale, int x_zero, int y, int y_scale, int y_zero, int bias);
/* The mean and variance normalisation of the last axis: outputs y, mean, 1 / deviation. */
int as_b_layernorm(as_builder *b, int x, int gamma, int beta, double epsilon, int *mean, int *inverse);
int as_b_rmsnorm(as_builder *b, int x, int gamma, double epsilon, int *inverse);
/* A mask of ones (seen) and zeros as a number to add: 0, or `filter` where the mask is not positive. */
int as_b_mask_bias(as_builder *b, int mask, double filter, as_dtype dtype);

#endif
