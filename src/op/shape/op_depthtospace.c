/* op_depthtospace.c - channels become blocks of pixels: the depth is [block, block, C] (mode DCR) or [C, block, block] (CRD). */
#include "op/shape/move.h"

#include <string.h>

static const as_attr_def attrs[] = {
    {.name = "blocksize", .kind = AS_ATTR_INT, .required = true}, {.name = "mode", .kind = AS_ATTR_TEXT}, {0}};

static bool is_crd(const as_node_ctx *n) { return !strcmp(as_attr_text(n, "mode", "DCR"), "CRD"); }

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int64_t     block = as_attr_int(n, "blocksize", 0);
    const char *mode = as_attr_text(n, "mode", "DCR");
    as_shape    y = n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    if (y.rank != 4)
        return as_refuse(env, n, "the input is %s and must be [N, C, H, W]", AS_SHOW(&y));
    if (block < 1 || block > INT32_MAX)
        return as_refuse(env, n, "blocksize is %lld", (long long)block);
    if (strcmp(mode, "DCR") && strcmp(mode, "CRD"))
        return as_refuse(env, n, "mode is '%.40s' and must be DCR or CRD", mode);
    if (y.dim[1] % (block * block))
        return as_refuse(env, n, "%lld channels do not divide by the %lld pixels of a block", (long long)y.dim[1],
                         (long long)(block * block));
    y.dim[1] /= block * block;
    if (__builtin_mul_overflow(y.dim[2], block, &y.dim[2]) || __builtin_mul_overflow(y.dim[3], block, &y.dim[3]))
        return as_refuse(env, n, "%s with blocks of %lld is too large", AS_SHOW(&n->in[0].shape), (long long)block);
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_view from, to;
    as_blocks(&in[0], &out[0], as_attr_int(n, "blocksize", 0), is_crd(n), &from, &to);
    as_view_copy(&to, &from);
    return ASSAY_OK;
}

/* SpaceToDepth undoes DCR; ONNX has no such operator for CRD, so the axes are transposed one by one. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    int64_t        block = as_attr_int(n, "blocksize", 0);
    as_attr        size = AS_ATTR_I("blocksize", block);
    const int64_t *x = n->in[0].shape.dim;
    d_in[0] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    if (!is_crd(n)) {
        d_in[0] = b->node(b, "SpaceToDepth", &d_out[0], 1, &size, 1, NULL, 1);
        return ASSAY_OK;
    }
    int six = as_b_reshape(b, d_out[0], &AS_SHAPE(x[0], x[1] / (block * block), x[2], block, x[3], block));
    d_in[0] = as_b_reshape(b, as_b_transpose(b, six, (const int64_t[]){0, 1, 3, 5, 2, 4}, 6), &n->in[0].shape);
    return ASSAY_OK;
}

#define BLOCK(size_, mode_) .n_attrs = 2, .attrs = {AS_ATTR_I("blocksize", size_), AS_ATTR_S("mode", mode_)}

static const as_case cases[] = {
    /* numpy: arange(16).reshape(1,8,1,2) through ONNX's two formulas. */
    {.name = "DCR by numpy",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 8, 1, 2)},
     BLOCK(2, "DCR"),
     AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
     AS_WANT(0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15)},
    {.name = "CRD by numpy",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 8, 1, 2)},
     BLOCK(2, "CRD"),
     AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
     AS_WANT(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15)},
    {.name = "blocks of 3", .n_in = 1, .in = {AS_IN(F32, 2, 18, 3, 5)}, .n_attrs = 1, .attrs = {AS_ATTR_I("blocksize", 3)}},
    {.name = "CRD blocks of 3", .n_in = 1, .in = {AS_IN(F64, 2, 18, 3, 5)}, BLOCK(3, "CRD")},
    {.name = "blocks of 1", .n_in = 1, .in = {AS_IN(F32, 2, 3, 4, 5)}, BLOCK(1, "DCR")},
    {.name = "u8", .n_in = 1, .in = {AS_IN(U8, 1, 4, 3, 3)}, BLOCK(2, "DCR"), .lo = 0, .hi = 255, .no_grad = true},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 4, 3, 3)}, BLOCK(2, "DCR")},
};

const as_op as_op_depthtospace = {
    .name = "DepthToSpace",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
