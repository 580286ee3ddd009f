/* op_ms_matmulnbits.c - A times weights of 2, 4 or 8 bits, [N, K] in blocks along K with a scale and a zero point each.  The weights are unpacked
 * in the set-up. */
#include "op/contrib/contrib.h"

enum { A, W, SCALES, ZEROS, G_IDX, BIAS };

static const as_attr_def attrs[] = {
    {.name = "K", .kind = AS_ATTR_INT, .required = true},
    {.name = "N", .kind = AS_ATTR_INT, .required = true},
    {.name = "accuracy_level", .kind = AS_ATTR_INT}, /* how precisely other engines may compute; here always f32 */
    {.name = "bits", .kind = AS_ATTR_INT},
    {.name = "block_size", .kind = AS_ATTR_INT, .required = true},
    {.name = "weight_prepacked", .kind = AS_ATTR_INT},
    {0},
};

/* The numbers of `bits` bits in the bytes of the last axis, the lowest first. */
static int unpack(as_builder *b, int x, int64_t bits)
{
    as_shape shape = as_b_info(b, x).shape;
    int      all = -1, mask = as_b_scalar(b, AS_U8, (double)((1 << bits) - 1)), last = shape.rank;
    if (bits == 8)
        return x;
    for (int64_t at = 0; at < 8; at += bits) {
        int moved =
            at ? AS_MAKE_WITH(b, "BitShift", AS_WITH(AS_ATTR_S("direction", "RIGHT")), x, as_b_scalar(b, AS_U8, (double)at)) : x;
        int part = as_b_wider(b, AS_MAKE(b, "BitwiseAnd", moved, mask), last);
        all = all < 0 ? part : as_b_join(b, last, all, part);
    }
    shape.dim[last - 1] *= 8 / bits;
    return as_b_reshape(b, all, &shape);
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int64_t k = as_attr_int(n, "K", 0), columns = as_attr_int(n, "N", 0), bits = as_attr_int(n, "bits", 4),
            block = as_attr_int(n, "block_size", 0);
    if (k < 1 || columns < 1 || k > INT32_MAX || columns > INT32_MAX || (bits != 2 && bits != 4 && bits != 8) || block < 16 ||
        block > 65536 || block & (block - 1))
        return as_refuse(
            b->env, n,
            "K is %lld, N %lld, bits %lld and block_size %lld: bits must be 2, 4 or 8, and block_size a power of 2 from 16 on",
            (long long)k, (long long)columns, (long long)bits, (long long)block);
    int64_t  blocks = (k + block - 1) / block, blob = block * bits / 8;
    as_dtype dtype = n->in[A].dtype;
    AS_TRY(as_rule_dtype(b->env, n, A, 1, AS_SET_FLOAT));
    if (as_in_has(n, G_IDX) || as_attr_int(n, "weight_prepacked", 0))
        return as_refuse(b->env, n, "g_idx and prepacked weights are not supported");
    if (n->in[W].dtype != AS_U8 || as_shape_count(&n->in[W].shape) != columns * blocks * blob ||
        as_shape_count(&n->in[SCALES].shape) != columns * blocks)
        return as_refuse(b->env, n, "B is %s %s and scales %s; u8 [%lld,%lld,%lld] and [%lld,%lld] are needed",
                         as_dtype_name(n->in[W].dtype), AS_SHOW(&n->in[W].shape), AS_SHOW(&n->in[SCALES].shape), (long long)columns,
                         (long long)blocks, (long long)blob, (long long)columns, (long long)blocks);
    int w = as_b_cast(b, unpack(b, AS_TO_SHAPE(b, in[W], columns, blocks, blob), bits), AS_F32),
        zero = as_b_scalar(b, AS_F32, (double)(1 << (bits - 1)));
    if (as_in_has(n, ZEROS) && n->in[ZEROS].dtype == AS_U8) {
        int64_t bytes = (blocks * bits + 7) / 8;
        zero = as_b_cut(b, unpack(b, AS_TO_SHAPE(b, in[ZEROS], columns, bytes), bits), 1, 0, blocks, 1);
        zero = as_b_cast(b, AS_TO_SHAPE(b, zero, columns, blocks, 1), AS_F32);
    } else if (as_in_has(n, ZEROS)) {
        zero = as_b_cast(b, AS_TO_SHAPE(b, in[ZEROS], columns, blocks, 1), AS_F32);
    }
    int scale = as_b_cast(b, AS_TO_SHAPE(b, in[SCALES], columns, blocks, 1), AS_F32);
    w = AS_TO_SHAPE(b, AS_MAKE(b, "Mul", AS_MAKE(b, "Sub", w, zero), scale), columns, blocks * block);
    w = AS_TURN(b, k < blocks * block ? as_b_cut(b, w, 1, 0, k, 1) : w, 1, 0);
    int y = as_b_cast(b, AS_MAKE(b, "MatMul", as_b_cast(b, in[A], AS_F32), w), dtype);
    out[0] = as_in_has(n, BIAS) ? AS_MAKE(b, "Add", y, in[BIAS]) : y;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "4 bits",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 20), AS_IN(U8, 3, 2, 8), AS_IN(F32, 6)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("K", 20), AS_ATTR_I("N", 3), AS_ATTR_I("bits", 4), AS_ATTR_I("block_size", 16)},
     AS_GIVEN(-0.569999993, -0.00999999978, -0.779999971, 0.0599999987, 0.829999983, -0.189999998, -0.479999989, -0.239999995,
              -0.49000001, 0.170000002, -0.119999997, -0.529999971, 0.75999999, -0.899999976, 0.460000008, 0.560000002,
              -0.419999987, -0.660000026, -0.280000001, 0.639999986, -0.129999995, 0.430000007, 0.219999999, -0.800000012,
              0.0199999996, 0.25999999, -0.439999998, -0.800000012, 0.519999981, -0.829999983, 0.560000002, 0.239999995,
              0.150000006, -0.589999974, -0.360000014, -0.400000006, 0.25999999, -0.0299999993, -0.159999996, 0.150000006, 219, 41,
              220, 97, 129, 12, 217, 134, 175, 99, 123, 138, 54, 237, 153, 125, 211, 214, 209, 48, 166, 182, 221, 123, 96, 252, 70,
              121, 124, 208, 184, 77, 14, 1, 30, 209, 226, 97, 59, 115, 192, 83, 106, 156, 5, 148, 83, 40, 0.589999974, 0.839999974,
              0.469999999, 0.620000005, 0.910000026, 0.409999996),
     AS_WANT(-0.0320002846, 6.40890026, 18.1818981, 6.28800011, -0.49999997, -8.83930016)},
    /* By ONNX Runtime. */
    {.name = "4 bits with zero points",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 32), AS_IN(U8, 2, 2, 8), AS_IN(F32, 4), AS_IN(U8, 2)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("K", 32), AS_ATTR_I("N", 2), AS_ATTR_I("bits", 4), AS_ATTR_I("block_size", 16)},
     AS_GIVEN(0.370000005, -0.430000007, -0.0599999987, -0.239999995, -0.660000026, 0.589999974, 0.709999979, -0.400000006,
              0.469999999, 0.389999986, 0.460000008, 0.74000001, -0.100000001, 0.209999993, -0.910000026, -0.119999997, 0.100000001,
              -0.790000021, -0.75999999, 0.0799999982, -0.439999998, 0.219999999, -0.109999999, 0.270000011, 0.300000012, -0.5,
              -0.479999989, 0.850000024, 0.159999996, 0.289999992, -0.25999999, -0.370000005, 79, 245, 65, 135, 225, 249, 157, 154,
              27, 175, 46, 180, 206, 131, 155, 144, 246, 187, 104, 204, 80, 181, 199, 240, 229, 71, 240, 240, 77, 75, 250, 18,
              0.779999971, 0.270000011, 0.330000013, 0.560000002, 222, 216),
     AS_WANT(3.20280051, 8.30140114)},
    /* By ONNX Runtime. */
    {.name = "8 bits",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 16), AS_IN(U8, 2, 1, 16), AS_IN(F32, 2)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("K", 16), AS_ATTR_I("N", 2), AS_ATTR_I("bits", 8), AS_ATTR_I("block_size", 16)},
     AS_GIVEN(0.189999998, -0.0700000003, 0.839999974, 0.730000019, 0.129999995, 0.660000026, -0.289999992, 0.170000002,
              -0.25999999, 0.870000005, 0.25999999, 0.439999998, 0.790000021, -0.0900000036, 0.239999995, 0.569999993, 85, 216, 67,
              54, 22, 157, 41, 163, 153, 158, 8, 22, 247, 70, 69, 189, 87, 32, 171, 173, 223, 60, 170, 4, 250, 80, 130, 69, 175, 55,
              150, 93, 0.5, 0.790000021),
     AS_WANT(-10.7249947, -53.5462036)},
};

const as_op as_op_ms_matmulnbits = {
    .name = "com.microsoft.MatMulNBits",
    .min_in = 3,
    .max_in = 6,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
