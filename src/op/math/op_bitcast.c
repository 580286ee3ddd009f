/* op_bitcast.c - the same bits as another dtype of the same width. */
#include <string.h>

#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "to", .kind = AS_ATTR_INT, .required = true}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_dtype to = as_dtype_of_code(as_attr_int(n, "to", 0));
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    if (to == AS_NONE || as_dtype_bits(to) != as_dtype_bits(n->in[0].dtype))
        return as_refuse(env, n, "the input is %s, and `to` (%lld) is not a dtype of the same width", as_dtype_name(n->in[0].dtype),
                         (long long)as_attr_int(n, "to", 0));
    out[0] = as_info(to, &n->in[0].shape);
    return ASSAY_OK;
}

/* In memory, an integer of less than 8 bits is its value: the byte of i4 is extended by its sign, that of u4 and of f4 by zeros. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t count = as_shape_count(&in[0].shape);
    int     bits = as_dtype_bits(in[0].dtype);
    (void)env, (void)n;
    for (int64_t i = 0; i < count; i++) {
        as_view from = as_view_nth(&in[0], i), to = as_view_nth(&out[0], i);
        if (bits >= 8) {
            memcpy(to.data, from.data, as_dtype_bytes(out[0].dtype));
            continue;
        }
        uint8_t byte = (uint8_t)(*(const uint8_t *)from.data & ((1 << bits) - 1));
        if ((out[0].dtype == AS_I4 || out[0].dtype == AS_I2) && (byte >> (bits - 1)))
            byte |= (uint8_t)(0xff << bits);
        memcpy(to.data, &byte, 1);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "f32 to i32",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("to", 6)},
     AS_GIVEN(0.74000001, -0.709999979, -0.100000001),
     AS_WANT(1060991140, -1086995825, -1110651699)},
    /* By the ONNX reference evaluator. */
    {.name = "u8 to i8",
     .n_in = 1,
     .in = {AS_IN(U8, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("to", 3)},
     AS_GIVEN(205, 178, 39, 131),
     AS_WANT(-51, -78, 39, -125)},
};

const as_op as_op_bitcast = {
    .name = "BitCast",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .known_in = 0,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
