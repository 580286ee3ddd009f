/* onnx_convert.c - nodes of older operator sets in the form of the newest one that is known.
 *
 * Most changes over the years moved an attribute to an input.  A rule is a row of a table: the operator, the first version to
 * which it does not apply, and a function that converts an older node.  An operator that changed more than once has a row for
 * every change, the oldest first. */
#include <inttypes.h>
#include <string.h>

#include "model/onnx/onnx_read.h"

/* --- Attributes --- */

static int attr_at(const as_onnx_node *n, const char *name)
{
    for (int i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].attr.name, name))
            return i;
    return -1;
}

/* Takes the attribute out of the node; false when it is not there. */
static bool attr_take(as_onnx_node *n, const char *name, as_attr *out)
{
    int i = attr_at(n, name);
    if (i < 0)
        return false;
    *out = n->attrs[i].attr;
    for (; i + 1 < n->n_attrs; i++)
        n->attrs[i] = n->attrs[i + 1];
    n->n_attrs--;
    return true;
}

static void attr_set(as_onnx_node *n, as_attr attr)
{
    as_attr ignored;
    (void)attr_take(n, attr.name, &ignored);
    if (n->n_attrs < AS_ONNX_MAX_ATTRS) /* replaces one it had, or is one of at most two new ones: readers leave room */
        n->attrs[n->n_attrs++] = (as_onnx_attr){.attr = attr};
}

static assay_status refuse(const as_onnx *o, const as_onnx_node *n, const char *why)
{
    return as_fail(o->env, ASSAY_UNSUPPORTED, "onnx: %s: node '%s' (%s of operator set %" PRId64 "): %s", o->path, n->label, n->op,
                   o->version, why);
}

static assay_status kind_check(const as_onnx *o, const as_onnx_node *n, const as_attr *a, as_attr_kind kind)
{
    static const char *const names[] = {
        [AS_ATTR_INT] = "an integer",          [AS_ATTR_FLOAT] = "a float",           [AS_ATTR_TEXT] = "a text",
        [AS_ATTR_INTS] = "a list of integers", [AS_ATTR_FLOATS] = "a list of floats", [AS_ATTR_TENSOR] = "a tensor",
        [AS_ATTR_TEXTS] = "a list of texts",
    };
    if (a->kind == kind)
        return ASSAY_OK;
    return as_fail(o->env, ASSAY_BAD_INPUT, "onnx: %s: node '%s' (%s): attribute '%s' is %s and must be %s", o->path, n->label,
                   n->op, a->name, names[a->kind], names[kind]);
}

/* --- Inputs --- */

/* Puts a value at input i, with absent ones before it; if the input is there already, the file is wrong. */
static assay_status input_set(const as_onnx *o, as_onnx_node *n, int i, int value)
{
    while (n->n_in <= i)
        n->in[n->n_in++] = -1;
    if (n->in[i] >= 0)
        return refuse(o, n, "it has both the attribute and the input that took its place");
    n->in[i] = value;
    return ASSAY_OK;
}

static int ints_constant(const as_onnx *o, const int64_t *values, size_t n, int rank)
{
    static const int64_t nothing = 0;
    as_shape             shape = {.rank = rank, .dim = {(int64_t)n}};
    as_view              view = as_view_of((void *)(uintptr_t)(n ? values : &nothing), AS_I64, &shape); /* copied */
    return as_maker_constant(o->m, NULL, &view);
}

static int scalar_constant(const as_onnx *o, as_dtype dtype, double x)
{
    double  storage = 0.0; /* eight bytes hold one element of any dtype */
    as_view view = as_view_of(&storage, dtype, &(as_shape){0});
    as_view_set(&view, 0, x);
    return as_maker_constant(o->m, NULL, &view);
}

static assay_status ints_to_input(const as_onnx *o, as_onnx_node *n, const char *name, int i)
{
    as_attr a;
    if (!attr_take(n, name, &a))
        return ASSAY_OK;
    AS_TRY(kind_check(o, n, &a, AS_ATTR_INTS));
    return input_set(o, n, i, ints_constant(o, a.ints, a.n, 1));
}

/* The rank of a value if the file states it, otherwise -1. */
static int rank_of(const as_onnx *o, int value)
{
    if (value < 0 || as_maker_failed(o->m))
        return -1;
    const as_value *v = as_maker_value(o->m, value);
    return v->role == AS_ROLE_COMPUTED ? as_onnx_type_of(o, v->name).rank : v->dims.rank;
}

static int node_add(const as_onnx *o, const char *op, const int *in, int n_in, const as_attr *attrs, int n_attrs)
{
    for (int i = 0; i < n_in; i++)
        if (in[i] < 0)
            return -1; /* the maker has the message */
    return as_maker_node(o->m, op, NULL, in, n_in, attrs, n_attrs, NULL, 1, NULL);
}

/* The value with `count` axes of size 1 added at the end. */
static int axes_append(const as_onnx *o, int value, int rank, int64_t count)
{
    int64_t axes[AS_MAX_RANK];
    for (int i = 0; i < count; i++)
        axes[i] = rank + i;
    return count ? node_add(o, "Unsqueeze", (int[]){value, ints_constant(o, axes, (size_t)count, 1)}, 2, NULL, 0) : value;
}

/* The dtype of the first input if the file states it, otherwise the one that nearly every file has. */
static as_dtype dtype_of_input(const as_onnx *o, const as_onnx_node *n)
{
    if (!n->n_in || n->in[0] < 0 || as_maker_failed(o->m))
        return AS_F32;
    const as_value *v = as_maker_value(o->m, n->in[0]);
    as_dtype        dtype = v->role == AS_ROLE_COMPUTED ? as_onnx_type_of(o, v->name).dtype : v->dtype;
    return dtype == AS_NONE ? AS_F32 : dtype;
}

static assay_status float_to_input(const as_onnx *o, as_onnx_node *n, const char *name, int i, as_dtype dtype)
{
    as_attr a;
    if (!attr_take(n, name, &a))
        return ASSAY_OK;
    AS_TRY(kind_check(o, n, &a, AS_ATTR_FLOAT));
    return input_set(o, n, i, scalar_constant(o, dtype, a.f));
}

/* --- Rules of versions 1 to 6 --- */

static assay_status int_take(const as_onnx *o, as_onnx_node *n, const char *name, int64_t otherwise, int64_t *out)
{
    as_attr a = {.name = name, .kind = AS_ATTR_INT, .i = otherwise};
    (void)attr_take(n, name, &a);
    AS_TRY(kind_check(o, n, &a, AS_ATTR_INT));
    *out = a.i;
    return ASSAY_OK;
}

/* B's axes were those of A from `axis` on.  Without the attribute they were the last ones, as today. */
static assay_status axis_broadcast(as_onnx *o, as_onnx_node *n)
{
    int64_t axis, is_on;
    bool    has_axis = attr_at(n, "axis") >= 0;
    AS_TRY(int_take(o, n, "axis", 0, &axis));
    AS_TRY(int_take(o, n, "broadcast", 0, &is_on));
    if (!is_on || !has_axis || n->n_in != 2)
        return ASSAY_OK;
    int a = rank_of(o, n->in[0]), b = rank_of(o, n->in[1]);
    if (a < 0 || b < 0)
        return refuse(o, n, "its axis cannot be converted, because the file does not give the ranks of its inputs");
    axis += axis < 0 ? a : 0;
    if (axis < 0 || axis > a - b)
        return as_fail(o->env, ASSAY_BAD_INPUT,
                       "onnx: %s: node '%s' (%s): inputs of %d and %d axes cannot be joined at axis %" PRId64, o->path, n->label,
                       n->op, a, b, axis);
    n->in[1] = axes_append(o, n->in[1], b, a - b - axis);
    return ASSAY_OK;
}

static assay_status broadcast_drop(as_onnx *o, as_onnx_node *n)
{
    int64_t ignored;
    return int_take(o, n, "broadcast", 0, &ignored);
}

/* A slope for every channel, whatever axes follow. */
static assay_status prelu_slope(as_onnx *o, as_onnx_node *n)
{
    if (n->n_in != 2)
        return ASSAY_OK; /* infer reports the error */
    int x = rank_of(o, n->in[0]), slope = rank_of(o, n->in[1]);
    if (x < 0 || slope < 0)
        return refuse(o, n, "its slope cannot be converted, because the file does not give the ranks of its inputs");
    if (slope == 1 && x > 2)
        n->in[1] = axes_append(o, n->in[1], 1, x - 2);
    return ASSAY_OK;
}

static assay_status inference_only(as_onnx *o, as_onnx_node *n)
{
    int64_t is_test;
    AS_TRY(int_take(o, n, "is_test", 0, &is_test));
    return is_test ? ASSAY_OK : refuse(o, n, "is_test = 0, its training form, is not supported");
}

/* Types were texts. */
static assay_status cast_type(as_onnx *o, as_onnx_node *n)
{
    static const char *const names[] = {"UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
                                        "STRING",    "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};
    as_attr                  a;
    if (!attr_take(n, "to", &a))
        return refuse(o, n, "attribute 'to' is missing");
    AS_TRY(kind_check(o, n, &a, AS_ATTR_TEXT));
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!strcmp(names[i], a.text)) {
            attr_set(n, (as_attr)AS_ATTR_I("to", (int64_t)i));
            return ASSAY_OK;
        }
    return as_fail(o->env, ASSAY_BAD_INPUT, "onnx: %s: node '%s' (Cast): there is no type '%.40s'", o->path, n->label, a.text);
}

static assay_status concat_axis(as_onnx *o, as_onnx_node *n)
{
    (void)o;
    if (attr_at(n, "axis") < 0)
        attr_set(n, (as_attr)AS_ATTR_I("axis", 1));
    return ASSAY_OK;
}

static assay_status pad_name(as_onnx *o, as_onnx_node *n)
{
    (void)o;
    int i = attr_at(n, "paddings");
    if (i >= 0)
        n->attrs[i].attr.name = "pads";
    return ASSAY_OK;
}

static assay_status reshape_input(as_onnx *o, as_onnx_node *n)
{
    if (attr_at(n, "shape") < 0)
        return refuse(o, n, "attribute 'shape' is missing");
    return ints_to_input(o, n, "shape", 1);
}

/* The defaults of the two numbers had fewer digits. */
static assay_status selu_numbers(as_onnx *o, as_onnx_node *n)
{
    (void)o;
    if (attr_at(n, "alpha") < 0)
        attr_set(n, (as_attr)AS_ATTR_F("alpha", (double)1.6732f));
    if (attr_at(n, "gamma") < 0)
        attr_set(n, (as_attr)AS_ATTR_F("gamma", (double)1.0507f));
    return ASSAY_OK;
}

/* The attribute said whether the first output is wanted; today naming it does that. */
static assay_status sequence_drop(as_onnx *o, as_onnx_node *n)
{
    int64_t ignored;
    return int_take(o, n, "output_sequence", 0, &ignored);
}

static assay_status too_old(as_onnx *o, as_onnx_node *n) { return refuse(o, n, "this form is too old to be converted"); }

/* --- Rules of versions from 7 on --- */

static assay_status axes_to_input(as_onnx *o, as_onnx_node *n) { return ints_to_input(o, n, "axes", 1); }

static assay_status split_parts(as_onnx *o, as_onnx_node *n)
{
    if (o->version < 13)
        AS_TRY(ints_to_input(o, n, "split", 1));
    if (n->n_in < 2 || n->in[1] < 0) /* equal parts, as many as there are outputs */
        attr_set(n, (as_attr)AS_ATTR_I("num_outputs", n->n_out));
    return ASSAY_OK;
}

static assay_status clip_bounds(as_onnx *o, as_onnx_node *n)
{
    as_dtype dtype = dtype_of_input(o, n);
    AS_TRY(float_to_input(o, n, "min", 1, dtype));
    return float_to_input(o, n, "max", 2, dtype);
}

static assay_status dropout_ratio(as_onnx *o, as_onnx_node *n)
{
    if (o->version < 10 && n->n_out > 1)
        n->n_out = 1; /* the mask, which only training reads; what reads it here is told that nothing makes it */
    return float_to_input(o, n, "ratio", 1, AS_F32);
}

static assay_status dft_axis(as_onnx *o, as_onnx_node *n)
{
    int64_t axis;
    AS_TRY(int_take(o, n, "axis", 1, &axis));
    return input_set(o, n, 2, ints_constant(o, &axis, 1, 0));
}

static assay_status batchnorm_inference(as_onnx *o, as_onnx_node *n)
{
    as_attr a;
    if (attr_take(n, "spatial", &a) && (a.kind != AS_ATTR_INT || a.i != 1))
        return refuse(o, n, "spatial = 0 is not supported");
    if (n->n_out > 1)
        return refuse(o, n, "the outputs of its training form are not supported");
    return ASSAY_OK;
}

static assay_status pad_inputs(as_onnx *o, as_onnx_node *n)
{
    if (attr_at(n, "pads") < 0)
        return refuse(o, n, "attribute 'pads' is missing");
    AS_TRY(ints_to_input(o, n, "pads", 1));
    return float_to_input(o, n, "value", 2, dtype_of_input(o, n));
}

static assay_status slice_inputs(as_onnx *o, as_onnx_node *n)
{
    if (attr_at(n, "starts") < 0 || attr_at(n, "ends") < 0)
        return refuse(o, n, "attribute 'starts' or 'ends' is missing");
    AS_TRY(ints_to_input(o, n, "starts", 1));
    AS_TRY(ints_to_input(o, n, "ends", 2));
    return ints_to_input(o, n, "axes", 3);
}

static assay_status topk_input(as_onnx *o, as_onnx_node *n)
{
    as_attr a;
    if (!attr_take(n, "k", &a))
        return refuse(o, n, "attribute 'k' is missing");
    AS_TRY(kind_check(o, n, &a, AS_ATTR_INT));
    return input_set(o, n, 1, ints_constant(o, &a.i, 1, 1));
}

/* Before version 11 sizes were scaled from the corner.  The standard did not define "nearest"; ONNX Runtime takes the element
 * below when enlarging, and the one above when shrinking. */
static assay_status corner_scaling(const as_onnx *o, as_onnx_node *n)
{
    bool up = false, down = false;
    attr_set(n, (as_attr)AS_ATTR_S("coordinate_transformation_mode", "asymmetric"));
    if (as_maker_failed(o->m) || n->n_in < 3 || n->in[2] < 0)
        return ASSAY_OK;
    const as_value *v = as_maker_value(o->m, n->in[2]);
    if (v->role == AS_ROLE_CONSTANT && v->data && v->dtype == AS_F32 && v->dims.rank == 1)
        for (int64_t i = 0; i < v->dims.dim[0].size; i++) {
            float scale;
            memcpy(&scale, (const char *)v->data + (size_t)i * sizeof scale, sizeof scale);
            up |= scale > 1.0f;
            down |= scale < 1.0f;
        }
    int mode = attr_at(n, "mode");
    if (up && down && (mode < 0 || (n->attrs[mode].attr.kind == AS_ATTR_TEXT && !strcmp(n->attrs[mode].attr.text, "nearest"))))
        return refuse(o, n, "mode nearest with scales above and below 1 is not supported");
    attr_set(n, (as_attr)AS_ATTR_S("nearest_mode", down ? "ceil" : "floor"));
    return ASSAY_OK;
}

static void scales_to_third(as_onnx_node *n)
{
    if (n->n_in == 2) {
        n->in[2] = n->in[1];
        n->in[1] = -1;
        n->n_in = 3;
    }
}

static assay_status upsample_to_resize(as_onnx *o, as_onnx_node *n)
{
    as_attr a;
    if (attr_take(n, "scales", &a)) {
        as_shape shape = {.rank = 1, .dim = {(int64_t)a.n}};
        AS_TRY(kind_check(o, n, &a, AS_ATTR_FLOATS));
        float *scales = AS_TAKE(o->scratch, float, a.n + 1);
        if (!scales)
            return as_fail(o->env, ASSAY_NO_MEMORY, "onnx: %s: node '%s': not enough memory for its scales", o->path, n->label);
        for (size_t i = 0; i < a.n; i++)
            scales[i] = (float)a.floats[i];
        as_view view = as_view_of(scales, AS_F32, &shape);
        AS_TRY(input_set(o, n, 1, as_maker_constant(o->m, NULL, &view)));
    }
    scales_to_third(n);
    return corner_scaling(o, n);
}

/* Version 11 left out roi, scales or sizes by an empty tensor. */
static assay_status resize_inputs(as_onnx *o, as_onnx_node *n)
{
    if (o->version < 11) {
        scales_to_third(n);
        AS_TRY(corner_scaling(o, n));
    }
    for (int i = 1; i < n->n_in && !as_maker_failed(o->m); i++) {
        const as_value *v = n->in[i] < 0 ? NULL : as_maker_value(o->m, n->in[i]);
        if (v && v->role == AS_ROLE_CONSTANT && v->dims.rank == 1 && v->dims.dim[0].size == 0)
            n->in[i] = -1;
    }
    return ASSAY_OK;
}

/* Before version 13 the axes from `axis` on were taken together: as one row of a matrix, unless it is the last axis. */
static assay_status softmax_rows(as_onnx *o, as_onnx_node *n)
{
    as_attr a = AS_ATTR_I("axis", 1);
    (void)attr_take(n, "axis", &a);
    AS_TRY(kind_check(o, n, &a, AS_ATTR_INT));
    if (as_maker_failed(o->m) || n->n_in != 1 || n->in[0] < 0 || n->n_out != 1)
        return ASSAY_OK; /* the maker reports the error */
    int rank = rank_of(o, n->in[0]);
    if (rank < 0 && as_onnx_type_of(o, n->out[0]).rank >= 0)
        rank = as_onnx_type_of(o, n->out[0]).rank;
    if (a.i == -1 || (rank > 0 && a.i == rank - 1)) {
        attr_set(n, (as_attr)AS_ATTR_I("axis", -1));
        return ASSAY_OK;
    }
    as_attr axis = AS_ATTR_I("axis", a.i), last = AS_ATTR_I("axis", -1);
    int     shape = node_add(o, "Shape", n->in, 1, NULL, 0);
    int     flat = node_add(o, "Flatten", n->in, 1, &axis, 1);
    int     rows = flat < 0 ? -1 : as_maker_node(o->m, n->op, n->name, &flat, 1, &last, 1, NULL, 1, NULL);
    *n = (as_onnx_node){
        .op = "Reshape", .label = n->label, .in = {rows, shape}, .n_in = 2, .out = {n->out[0]}, .n_out = 1, .standard = true};
    return ASSAY_OK;
}

/* Before version 11 a negative index was out of range and gave only off values; today it counts from the end.  It is replaced by
 * the depth, which is still out of range. */
static assay_status onehot_indices(as_onnx *o, as_onnx_node *n)
{
    if (n->n_in != 3)
        return ASSAY_OK; /* infer reports the error */
    as_attr i64 = AS_ATTR_I("to", as_onnx_dtype_code(AS_I64));
    int     indices = node_add(o, "Cast", &n->in[0], 1, &i64, 1), depth = node_add(o, "Cast", &n->in[1], 1, &i64, 1);
    int     scalar = node_add(o, "Reshape", (int[]){depth, ints_constant(o, NULL, 0, 1)}, 2, NULL, 0);
    int     negative = node_add(o, "Less", (int[]){indices, scalar_constant(o, AS_I64, 0.0)}, 2, NULL, 0);
    n->in[0] = node_add(o, "Where", (int[]){negative, scalar, indices}, 3, NULL, 0);
    return ASSAY_OK;
}

/* Before version 21 scale and bias had a number for every group, not for every channel: each is repeated C / groups times. */
static assay_status group_numbers(as_onnx *o, as_onnx_node *n)
{
    int i = attr_at(n, "num_groups");
    if (n->n_in != 3 || i < 0 || n->attrs[i].attr.kind != AS_ATTR_INT)
        return ASSAY_OK; /* infer reports the error */
    if (n->attrs[i].attr.i < 1)
        return as_fail(o->env, ASSAY_BAD_INPUT, "onnx: %s: node '%s' (%s): num_groups is %" PRId64, o->path, n->label, n->op,
                       n->attrs[i].attr.i);
    as_attr range[] = {AS_ATTR_I("start", 1), AS_ATTR_I("end", 2)}, axis = AS_ATTR_I("axis", 0);
    int     groups = ints_constant(o, &n->attrs[i].attr.i, 1, 1), channels = node_add(o, "Shape", n->in, 1, range, 2);
    int     each = node_add(o, "Div", (int[]){channels, groups}, 2, NULL, 0);
    int     shape = node_add(o, "Concat", (int[]){groups, each}, 2, &axis, 1);
    int     behind = ints_constant(o, (const int64_t[]){1}, 1, 1), flat = ints_constant(o, (const int64_t[]){-1}, 1, 1);
    for (int k = 1; k < 3; k++) {
        int column = node_add(o, "Unsqueeze", (int[]){n->in[k], behind}, 2, NULL, 0);
        int wide = node_add(o, "Expand", (int[]){column, shape}, 2, NULL, 0);
        n->in[k] = node_add(o, "Reshape", (int[]){wide, flat}, 2, NULL, 0);
    }
    return ASSAY_OK;
}

typedef struct rule {
    const char *op;
    int64_t     below; /* applies to versions below this one */
    assay_status (*bring)(as_onnx *o, as_onnx_node *n);
} rule;

static const rule rules[] = {
    {"Add", 7, axis_broadcast},
    {"And", 7, axis_broadcast},
    {"BatchNormalization", 7, inference_only},
    {"BatchNormalization", 14, batchnorm_inference},
    {"Cast", 6, cast_type},
    {"Clip", 11, clip_bounds},
    {"Concat", 4, concat_axis},
    {"DFT", 20, dft_axis},
    {"Div", 7, axis_broadcast},
    {"Dropout", 7, inference_only},
    {"Dropout", 12, dropout_ratio},
    {"Equal", 7, axis_broadcast},
    {"GRU", 3, too_old},
    {"GRU", 7, sequence_drop},
    {"Gemm", 7, broadcast_drop},
    {"Greater", 7, axis_broadcast},
    {"GroupNormalization", 21, group_numbers},
    {"Hardmax", 13, softmax_rows},
    {"LSTM", 7, sequence_drop},
    {"Less", 7, axis_broadcast},
    {"LogSoftmax", 13, softmax_rows},
    {"LpPool", 2, too_old},
    {"Mul", 7, axis_broadcast},
    {"OneHot", 11, onehot_indices},
    {"Or", 7, axis_broadcast},
    {"PRelu", 7, prelu_slope},
    {"Pad", 2, pad_name},
    {"Pad", 11, pad_inputs},
    {"Pow", 7, axis_broadcast},
    {"RNN", 7, sequence_drop},
    {"ReduceL1", 18, axes_to_input},
    {"ReduceL2", 18, axes_to_input},
    {"ReduceLogSum", 18, axes_to_input},
    {"ReduceLogSumExp", 18, axes_to_input},
    {"ReduceMax", 18, axes_to_input},
    {"ReduceMean", 18, axes_to_input},
    {"ReduceMin", 18, axes_to_input},
    {"ReduceProd", 18, axes_to_input},
    {"ReduceSum", 13, axes_to_input},
    {"ReduceSumSquare", 18, axes_to_input},
    {"Reshape", 5, reshape_input},
    {"Resize", INT64_MAX, resize_inputs},
    {"Selu", 6, selu_numbers},
    {"Slice", 10, slice_inputs},
    {"Softmax", 13, softmax_rows},
    {"Split", 2, too_old},
    {"Split", 18, split_parts},
    {"Squeeze", 13, axes_to_input},
    {"Sub", 7, axis_broadcast},
    {"Tile", 6, too_old},
    {"TopK", 10, topk_input},
    {"Unsqueeze", 13, axes_to_input},
    {"Upsample", 7, too_old},
    {"Upsample", INT64_MAX, upsample_to_resize},
    {"Xor", 7, axis_broadcast},
};

const char *as_onnx_rename(const char *op)
{
    if (!strcmp(op, "Upsample"))
        return "Resize";
    return strcmp(op, "Scatter") ? op : "ScatterElements";
}

assay_status as_onnx_convert(as_onnx *o, as_onnx_node *n)
{
    const char *op = n->op; /* a rule may replace it */
    as_attr     ignored;
    if (o->version < 6)
        (void)attr_take(n, "consumed_inputs", &ignored); /* a hint which memory may be used again */
    for (size_t i = 0; i < AS_COUNT(rules); i++)
        if (!strcmp(rules[i].op, op) && o->version < rules[i].below)
            AS_TRY(rules[i].bring(o, n));
    n->op = as_onnx_rename(n->op);
    return ASSAY_OK;
}
