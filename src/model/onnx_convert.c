/* onnx_convert.c - nodes of older operator sets in the form of the newest one that is known.
 *
 * Most changes over the years moved an attribute to an input.  A rule is a row of a table: the operator, the version
 * from which on it is as we know it, and a function that brings an older node there. */
#include <inttypes.h>
#include <string.h>

#include "model/onnx_read.h"

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
    if (n->n_attrs < AS_ONNX_MAX_ATTRS) /* one that it had, or one of at most two: readers leave room */
        n->attrs[n->n_attrs++] = (as_onnx_attr){ .attr = attr };
}

static assay_status refuse(const as_onnx *o, const as_onnx_node *n, const char *why)
{
    return as_fail(o->env, ASSAY_UNSUPPORTED, "onnx: %s: node '%s' (%s of operator set %" PRId64 "): %s", o->path, n->label, n->op, o->version, why);
}

static assay_status kind_check(const as_onnx *o, const as_onnx_node *n, const as_attr *a, as_attr_kind kind)
{
    static const char *const names[] = {
        [AS_ATTR_INT] = "an integer", [AS_ATTR_FLOAT] = "a float", [AS_ATTR_TEXT] = "a text", [AS_ATTR_INTS] = "a list of integers",
        [AS_ATTR_FLOATS] = "a list of floats", [AS_ATTR_TENSOR] = "a tensor", [AS_ATTR_TEXTS] = "a list of texts",
    };
    if (a->kind == kind)
        return ASSAY_OK;
    return as_fail(o->env, ASSAY_BAD_INPUT, "onnx: %s: node '%s' (%s): attribute '%s' is %s and must be %s", o->path, n->label, n->op, a->name,
                   names[a->kind], names[kind]);
}

/* --- Inputs --- */

/* Puts a value at input i, with absent ones before it; an input that is there already is an error of the file. */
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
    as_shape             shape = { .rank = rank, .dim = { (int64_t)n } };
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

/* The dtype of the first input where the file tells it, else what nearly every file has. */
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

/* --- Rules --- */

static assay_status axes_to_input(as_onnx *o, as_onnx_node *n)
{
    return ints_to_input(o, n, "axes", 1);
}

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
        return refuse(o, n, "the mask of this form is not supported");
    return float_to_input(o, n, "ratio", 1, AS_F32);
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

/* Before version 11 sizes were scaled from the corner, and nearest meant the element below. */
static void corner_scaling(as_onnx_node *n)
{
    attr_set(n, (as_attr)AS_ATTR_S("coordinate_transformation_mode", "asymmetric"));
    attr_set(n, (as_attr)AS_ATTR_S("nearest_mode", "floor"));
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
        as_shape shape = { .rank = 1, .dim = { (int64_t)a.n } };
        AS_TRY(kind_check(o, n, &a, AS_ATTR_FLOATS));
        float *scales = AS_TAKE(o->scratch, float, a.n + 1);
        if (!scales)
            return as_fail(o->env, ASSAY_NO_MEMORY, "onnx: %s: node '%s': no memory for its scales", o->path, n->label);
        for (size_t i = 0; i < a.n; i++)
            scales[i] = (float)a.floats[i];
        as_view view = as_view_of(scales, AS_F32, &shape);
        AS_TRY(input_set(o, n, 1, as_maker_constant(o->m, NULL, &view)));
    }
    scales_to_third(n);
    corner_scaling(n);
    return ASSAY_OK;
}

/* An empty roi, scales or sizes was how version 11 left one out. */
static assay_status resize_inputs(as_onnx *o, as_onnx_node *n)
{
    if (o->version < 11) {
        scales_to_third(n);
        corner_scaling(n);
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
        return ASSAY_OK; /* the maker says what is wrong with it */
    const as_value *x = as_maker_value(o->m, n->in[0]);
    int             rank = x->role == AS_ROLE_COMPUTED ? as_onnx_type_of(o, x->name).rank : x->dims.rank;
    if (rank < 0 && as_onnx_type_of(o, n->out[0]).rank >= 0)
        rank = as_onnx_type_of(o, n->out[0]).rank;
    if (a.i == -1 || (rank > 0 && a.i == rank - 1)) {
        attr_set(n, (as_attr)AS_ATTR_I("axis", -1));
        return ASSAY_OK;
    }
    as_attr axis = AS_ATTR_I("axis", a.i), last = AS_ATTR_I("axis", -1);
    int     shape = as_maker_node(o->m, "Shape", NULL, n->in, 1, NULL, 0, NULL, 1, NULL);
    int     flat = shape < 0 ? -1 : as_maker_node(o->m, "Flatten", NULL, n->in, 1, &axis, 1, NULL, 1, NULL);
    int     rows = flat < 0 ? -1 : as_maker_node(o->m, n->op, n->name, &flat, 1, &last, 1, NULL, 1, NULL);
    *n = (as_onnx_node){ .op = "Reshape", .label = n->label, .in = { rows, shape }, .n_in = 2, .out = { n->out[0] }, .n_out = 1, .standard = true };
    return ASSAY_OK;
}

static assay_status grid_modes(as_onnx *o, as_onnx_node *n)
{
    as_attr a = AS_ATTR_S("mode", "bilinear");
    (void)attr_take(n, "mode", &a);
    AS_TRY(kind_check(o, n, &a, AS_ATTR_TEXT));
    if (!strcmp(a.text, "bilinear"))
        a.text = "linear";
    else if (!strcmp(a.text, "bicubic"))
        a.text = "cubic";
    attr_set(n, a);
    return ASSAY_OK;
}

typedef struct rule {
    const char   *op;
    int64_t       below; /* applies to versions below this one */
    assay_status (*bring)(as_onnx *o, as_onnx_node *n);
} rule;

static const rule rules[] = {
    { "BatchNormalization", 14, batchnorm_inference },
    { "Clip", 11, clip_bounds },
    { "Dropout", 12, dropout_ratio },
    { "GridSample", 20, grid_modes },
    { "Hardmax", 13, softmax_rows },
    { "LogSoftmax", 13, softmax_rows },
    { "Pad", 11, pad_inputs },
    { "ReduceL1", 18, axes_to_input },
    { "ReduceL2", 18, axes_to_input },
    { "ReduceLogSum", 18, axes_to_input },
    { "ReduceLogSumExp", 18, axes_to_input },
    { "ReduceMax", 18, axes_to_input },
    { "ReduceMean", 18, axes_to_input },
    { "ReduceMin", 18, axes_to_input },
    { "ReduceProd", 18, axes_to_input },
    { "ReduceSum", 13, axes_to_input },
    { "ReduceSumSquare", 18, axes_to_input },
    { "Resize", INT64_MAX, resize_inputs },
    { "Slice", 10, slice_inputs },
    { "Softmax", 13, softmax_rows },
    { "Split", 18, split_parts },
    { "Squeeze", 13, axes_to_input },
    { "TopK", 10, topk_input },
    { "Unsqueeze", 13, axes_to_input },
    { "Upsample", INT64_MAX, upsample_to_resize },
};

const char *as_onnx_rename(const char *op)
{
    if (!strcmp(op, "Upsample"))
        return "Resize";
    return strcmp(op, "Scatter") ? op : "ScatterElements";
}

assay_status as_onnx_convert(as_onnx *o, as_onnx_node *n)
{
    for (size_t i = 0; i < AS_COUNT(rules); i++)
        if (!strcmp(rules[i].op, n->op) && o->version < rules[i].below) {
            AS_TRY(rules[i].bring(o, n));
            break;
        }
    n->op = as_onnx_rename(n->op);
    return ASSAY_OK;
}
