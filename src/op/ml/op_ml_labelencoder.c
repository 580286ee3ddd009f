/* op_ml_labelencoder.c - each element's value in a table of keys and values, or the default.  NaN is a key like any other; the last of two
 * equal keys counts, as in the ONNX reference. */
#include <math.h>

#include "op/ml/ml.h"

static const as_attr_def attrs[] = {
    {.name = "classes_strings", .kind = AS_ATTR_TEXTS}, {.name = "default_float", .kind = AS_ATTR_FLOAT},
    {.name = "default_int64", .kind = AS_ATTR_INT},     {.name = "default_string", .kind = AS_ATTR_TEXT},
    {.name = "default_tensor", .kind = AS_ATTR_TENSOR}, {.name = "keys_floats", .kind = AS_ATTR_FLOATS},
    {.name = "keys_int64s", .kind = AS_ATTR_INTS},      {.name = "keys_strings", .kind = AS_ATTR_TEXTS},
    {.name = "keys_tensor", .kind = AS_ATTR_TENSOR},    {.name = "values_floats", .kind = AS_ATTR_FLOATS},
    {.name = "values_int64s", .kind = AS_ATTR_INTS},    {.name = "values_strings", .kind = AS_ATTR_TEXTS},
    {.name = "values_tensor", .kind = AS_ATTR_TENSOR},  {0},
};

/* One side of the table. */
typedef struct column {
    as_dtype dtype;
    size_t   n;
    as_view  view;
} column;

static bool column_read(const as_node_ctx *n, const char *floats, const char *ints, const char *tensor, column *out)
{
    const as_attr *a = as_attr_find(n, tensor);
    if (a) {
        *out = (column){.dtype = a->tensor->dtype, .n = (size_t)as_shape_count(&a->tensor->shape), .view = *a->tensor};
        return true;
    }
    bool is_float = (a = as_attr_find(n, floats)) != NULL;
    if (!a && !(a = as_attr_find(n, ints)))
        return false;
    /* A view's memory is not const; this one is only read. */
    const void *data = is_float ? (const void *)a->floats : (const void *)a->ints;
    *out = (column){.dtype = is_float ? AS_F32 : AS_I64,
                    .n = a->n,
                    .view = as_view_of((void *)(uintptr_t)data, is_float ? AS_F64 : AS_I64, &AS_SHAPE((int64_t)a->n))};
    return true;
}

static assay_status table_read(assay_env *env, const as_node_ctx *n, column *keys, column *values)
{
    static const char *const texts[] = {"classes_strings", "keys_strings", "values_strings"};
    for (size_t i = 0; i < AS_COUNT(texts); i++)
        AS_TRY(as_ml_no_text(env, n, texts[i]));
    if (!column_read(n, "keys_floats", "keys_int64s", "keys_tensor", keys) ||
        !column_read(n, "values_floats", "values_int64s", "values_tensor", values) || keys->n != values->n || !keys->n)
        return as_refuse(env, n, "it needs keys and values, as many of one as of the other");
    if (keys->dtype != n->in[0].dtype && !(as_dtype_is_float(keys->dtype) && as_dtype_is_float(n->in[0].dtype)))
        return as_refuse(env, n, "the input is %s and the keys are %s", as_dtype_name(n->in[0].dtype), as_dtype_name(keys->dtype));
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    column keys, values;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_NUMBER));
    AS_TRY(table_read(env, n, &keys, &values));
    const as_attr *other = as_attr_find(n, "default_tensor");
    if (other && as_shape_count(&other->tensor->shape) != 1)
        return as_refuse(env, n, "default_tensor must hold one value");
    out[0] = as_info(values.dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static double otherwise(const as_node_ctx *n, as_dtype dtype)
{
    const as_attr *tensor = as_attr_find(n, "default_tensor");
    if (tensor)
        return as_view_get(tensor->tensor, 0);
    return as_dtype_is_float(dtype) ? as_attr_float(n, "default_float", -0.0) : (double)as_attr_int(n, "default_int64", -1);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    column keys, values;
    AS_TRY(table_read(env, n, &keys, &values));
    bool    is_float = as_dtype_is_float(keys.view.dtype), whole = !as_dtype_is_float(out[0].dtype);
    int64_t count = as_shape_count(&in[0].shape);
    double  none = otherwise(n, out[0].dtype);
    for (int64_t i = 0; i < count; i++) {
        double  x = is_float ? as_view_get(&in[0], i) : 0.0;
        int64_t exact = is_float ? 0 : as_view_get_i64(&in[0], i), at = (int64_t)keys.n - 1;
        AS_GO_ON(env, n);
        for (; at >= 0; at--) {
            double key = is_float ? as_view_get(&keys.view, at) : 0.0;
            if (is_float ? key == x || (isnan(key) && isnan(x)) : as_view_get_i64(&keys.view, at) == exact)
                break;
        }
        if (at >= 0 && whole && !as_dtype_is_float(values.view.dtype))
            as_view_set_i64(&out[0], i, as_view_get_i64(&values.view, at));
        else if (at < 0 && whole && !as_attr_find(n, "default_tensor"))
            as_view_set_i64(&out[0], i, as_attr_int(n, "default_int64", -1));
        else
            as_view_set(&out[0], i, at >= 0 ? as_view_get(&values.view, at) : none);
    }
    return ASSAY_OK;
}

/* One comparison per element and key. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    column  keys, values;
    if (table_read(NULL, n, &keys, &values) == ASSAY_OK)
        cost.flops = as_sat_mul(as_sat_count(&n->in[0].shape), keys.n);
    return cost;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "ints to floats",
     .n_in = 1,
     .in = {AS_IN(I64, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("keys_int64s", 1, 2), AS_ATTR_FLOAT_LIST("values_floats", 0.5, 1.5), AS_ATTR_F("default_float", -2)},
     AS_GIVEN(1, 3, 2),
     AS_WANT(0.5, -2, 1.5)},
    /* By ONNX Runtime. */
    {.name = "floats to ints",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_FLOAT_LIST("keys_floats", 1.5, NAN), AS_ATTR_LIST("values_int64s", 4, 5), AS_ATTR_I("default_int64", -9)},
     AS_GIVEN(1.5, NAN, 7),
     AS_WANT(4, 5, -9)},
    /* By ONNX Runtime. */
    {.name = "ints to ints",
     .n_in = 1,
     .in = {AS_IN(I64, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("keys_int64s", 10), AS_ATTR_LIST("values_int64s", 20)},
     AS_GIVEN(10, 11),
     AS_WANT(20, -1)},
};

const as_op as_op_ml_labelencoder = {
    .name = "ai.onnx.ml.LabelEncoder",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
