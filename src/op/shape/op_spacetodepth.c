/* op_spacetodepth.c - blocks of pixels become channels, [block, block, C] (mode DCR) or [C, block, block] (CRD); DepthToSpace
 * in the same mode undoes it. */
#include "op/shape/move.h"

#include <string.h>

static const as_attr_def attrs[] = {
    {.name = "blocksize", .kind = AS_ATTR_INT, .required = true}, {.name = "mode", .kind = AS_ATTR_TEXT}, {0}};

static const char *mode_of(const as_node_ctx *n) { return as_attr_text(n, "mode", "DCR"); }

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int64_t  block = as_attr_int(n, "blocksize", 0);
    as_shape y = n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    if (y.rank != 4)
        return as_refuse(env, n, "the input is %s and must be [N, C, H, W]", AS_SHOW(&y));
    if (block < 1 || block > INT32_MAX)
        return as_refuse(env, n, "blocksize is %lld", (long long)block);
    if (strcmp(mode_of(n), "DCR") && strcmp(mode_of(n), "CRD"))
        return as_refuse(env, n, "mode is '%.40s' and must be DCR or CRD", mode_of(n));
    if (y.dim[2] % block || y.dim[3] % block)
        return as_refuse(env, n, "the %lld by %lld pixels do not divide into blocks of %lld", (long long)y.dim[2],
                         (long long)y.dim[3], (long long)block);
    if (__builtin_mul_overflow(y.dim[1], block * block, &y.dim[1]))
        return as_refuse(env, n, "%s with blocks of %lld is too large", AS_SHOW(&n->in[0].shape), (long long)block);
    y.dim[2] /= block;
    y.dim[3] /= block;
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_view to, from;
    as_blocks(&out[0], &in[0], as_attr_int(n, "blocksize", 0), !strcmp(mode_of(n), "CRD"), &to, &from);
    as_view_copy(&to, &from);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    as_attr list[] = {AS_ATTR_I("blocksize", as_attr_int(n, "blocksize", 0)), AS_ATTR_S("mode", mode_of(n))};
    bool    wanted = d_out[0] >= 0 && as_dtype_is_float(n->in[0].dtype);
    d_in[0] = wanted ? b->node(b, "DepthToSpace", &d_out[0], 1, list, 2, NULL, 1) : -1;
    return ASSAY_OK;
}

#define BLOCK(size_) .n_attrs = 1, .attrs = {AS_ATTR_I("blocksize", size_)}
#define CRD(size_)   .n_attrs = 2, .attrs = {AS_ATTR_I("blocksize", size_), AS_ATTR_S("mode", "CRD")}

static const as_case cases[] = {
    /* numpy: ONNX's formula on arange(16).reshape(1,2,2,4). */
    {.name = "by numpy",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 2, 4)},
     BLOCK(2),
     AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
     AS_WANT(0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15)},
    /* numpy: reshape(1,2,1,2,2,2).transpose(0,1,3,5,2,4).reshape(1,8,1,2) of the same. */
    {.name = "CRD by numpy",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 2, 4)},
     CRD(2),
     AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
     AS_WANT(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15)},
    {.name = "CRD, blocks of 3", .n_in = 1, .in = {AS_IN(F64, 2, 3, 6, 9)}, CRD(3)},
    {.name = "blocks of 3", .n_in = 1, .in = {AS_IN(F32, 2, 2, 9, 6)}, BLOCK(3)},
    {.name = "blocks of 1", .n_in = 1, .in = {AS_IN(F64, 2, 3, 4, 5)}, BLOCK(1)},
    {.name = "i64", .n_in = 1, .in = {AS_IN(I64, 1, 3, 4, 2)}, BLOCK(2), .lo = -99, .hi = 99, .no_grad = true},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 2, 0, 4, 4)}, BLOCK(2)},
};

const as_op as_op_spacetodepth = {
    .name = "SpaceToDepth",
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
