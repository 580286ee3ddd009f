/* onnx_convert_test.c - each conversion of an older operator set, judged by the numbers that the old form means.
 *
 * "as ONNX Runtime": the values are those of ONNX Runtime on the same node and set. */
#include "model/onnx/onnx.h"

#include "tests/runner/test.h"
#include "model/onnx/test_onnx.h"

/* A network of one node y = op(x, ...) with the inputs in the order in which they were declared. */
typedef struct network {
    builder     b;
    as_text     attrs;
    const char *in;  /* "x,w"; NULL: x */
    const char *out; /* NULL: y */
} network;

static void x_put(network *n, const int64_t *dims, int rank) { value_put(&n->b, 11, "x", 1, dims, rank); }

static as_text network_file(network *n, int64_t version, const char *op)
{
    node_put(&n->b, op, "", n->in ? n->in : "x", n->out ? n->out : "y", n->attrs.length ? &n->attrs : NULL);
    OUTPUT(&n->b, "y");
    as_text file = file_of(&n->b, version);
    *n = (network){0};
    return file;
}

/* Its answer to inputs filled with `given`, one after the other (NULL: 0, 1, 2, ...). */
static void gives(network *n, int64_t version, const char *op, const double *given, const int64_t *dims, int rank,
                  const double *want)
{
    assay_env   *env = test_env();
    as_text      file = network_file(n, version, op);
    assay_model *model;
    test_run     t;
    int64_t      at = 0;
    expect_ok(env, parse(env, &file, &model));
    test_bind(env, model, 0, &t);
    for (int i = 0; i < t.graph.n_inputs; i++)
        for (int64_t k = 0; k < as_shape_count(&t.inputs[i].shape); k++, at++)
            as_view_set(&t.inputs[i], k, given ? given[at] : (double)at);
    expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
    expect_eq(t.outputs[0].shape.rank, rank);
    for (int i = 0; i < rank; i++)
        expect_eq(t.outputs[0].shape.dim[i], dims[i]);
    for (int64_t i = 0; i < as_shape_count(&t.outputs[0].shape); i++)
        expect_near(as_view_get(&t.outputs[0], i), want[i], 1e-5 * fmax(1.0, fabs(want[i])));
    as_arena_drop(&t.arena);
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}

#define GIVEN(...) \
    (const double[]) { __VA_ARGS__ }
#define WANT(...) \
    (const double[]) { __VA_ARGS__ }
#define SET(n, name, ...)         attr_ints(&(n)->attrs, name, DIMS(__VA_ARGS__))
#define SET_INT(n, name, value)   attr_int(&(n)->attrs, name, value, 2)
#define SET_FLOAT(n, name, value) attr_floats(&(n)->attrs, name, (const float[]){value}, 1, 1)

static void not_read(network *n, int64_t version, const char *op, assay_status status, const char *part)
{
    node_put(&n->b, op, "", n->in ? n->in : "x", n->out ? n->out : "y", n->attrs.length ? &n->attrs : NULL);
    OUTPUT(&n->b, "y");
    refused(&n->b, version, status, part);
    *n = (network){0};
}

/* An initialiser of floats, or of i64 for dtype 7. */
static void weight_put(network *n, const char *name, int dtype, const int64_t *dims, int rank, const void *data, size_t bytes)
{
    as_text t = tensor(name, dtype, dims, rank, data, bytes);
    sub(&n->b.graph, 5, &t);
}

Test(onnx_convert, the_axes_of_every_reduction_become_an_input)
{
    static const struct {
        const char *op;
        int64_t     last;
        double      want[2], all;
    } list[] = {
        /* as ONNX Runtime */
        {"ReduceL1", 17, {6, 15}, 21},
        {"ReduceL2", 17, {3.7416574954986572, 8.774964332580566}, 9.539392014169456},
        {"ReduceLogSum", 17, {1.7917594909667969, 2.70805025100708}, 3.044522437723423},
        {"ReduceLogSumExp", 17, {3.4076058864593506, 6.40760612487793}, 6.456193316018123},
        {"ReduceMax", 17, {3, 6}, 6},
        {"ReduceMean", 17, {2, 5}, 3.5},
        {"ReduceMin", 17, {1, 4}, 1},
        {"ReduceProd", 17, {6, 120}, 720},
        {"ReduceSum", 12, {6, 15}, 21},
        {"ReduceSumSquare", 17, {14, 77}, 91},
    };
    const double *given = GIVEN(1, 2, 3, 4, 5, 6);
    for (size_t i = 0; i < AS_COUNT(list); i++)
        for (int k = 0; k < 3; k++) {
            int64_t version = (const int64_t[]){1, 7, list[i].last}[k];
            network n = {0};
            x_put(&n, DIMS(2, 3));
            SET(&n, "axes", 1);
            SET_INT(&n, "keepdims", 0);
            gives(&n, version, list[i].op, given, DIMS(2), list[i].want);
            x_put(&n, DIMS(2, 3)); /* no axes: all */
            gives(&n, version, list[i].op, given, DIMS(1, 1), &list[i].all);
        }
}

Test(onnx_convert, the_axes_of_squeeze_and_unsqueeze_become_an_input)
{
    network n = {0};
    x_put(&n, DIMS(1, 2, 1));
    SET(&n, "axes", 0);
    gives(&n, 12, "Squeeze", NULL, DIMS(2, 1), WANT(0, 1));
    x_put(&n, DIMS(1, 2, 1));
    gives(&n, 7, "Squeeze", NULL, DIMS(2), WANT(0, 1));
    x_put(&n, DIMS(2, 1));
    SET(&n, "axes", 0, 3);
    gives(&n, 1, "Unsqueeze", NULL, DIMS(1, 2, 1, 1), WANT(0, 1));
}

Test(onnx_convert, an_attribute_beside_the_input_that_took_its_place_is_refused)
{
    network n = {.in = "x,a"};
    x_put(&n, DIMS(1, 2));
    value_put(&n.b, 11, "a", 7, DIMS(1));
    SET(&n, "axes", 0);
    not_read(&n, 12, "Squeeze", ASSAY_UNSUPPORTED,
             "node 'y' (Squeeze of operator set 12): it has both the attribute and the input that took its place");
}

Test(onnx_convert, a_slice_by_attributes)
{
    network n = {0};
    x_put(&n, DIMS(3, 4)); /* as ONNX Runtime, both */
    SET(&n, "starts", 1, -2);
    SET(&n, "ends", 3, INT32_MAX);
    SET(&n, "axes", 0, 1);
    gives(&n, 9, "Slice", NULL, DIMS(2, 2), WANT(6, 7, 10, 11));
    x_put(&n, DIMS(3, 4));
    SET(&n, "starts", 1, -2);
    SET(&n, "ends", -1, -1);
    gives(&n, 1, "Slice", NULL, DIMS(1, 1), WANT(6));
    x_put(&n, DIMS(3, 4));
    SET(&n, "starts", 1);
    not_read(&n, 9, "Slice", ASSAY_UNSUPPORTED, "attribute 'starts' or 'ends' is missing");
}

Test(onnx_convert, a_pad_by_attributes)
{
    network n = {0};
    x_put(&n, DIMS(2, 2)); /* as ONNX Runtime */
    SET(&n, "pads", 1, 0, 0, 2);
    SET_FLOAT(&n, "value", 9.0f);
    gives(&n, 10, "Pad", NULL, DIMS(3, 4), WANT(9, 9, 9, 9, 0, 1, 9, 9, 2, 3, 9, 9));
    x_put(&n, DIMS(2, 2));
    SET(&n, "pads", 1, 0, 0, 1);
    attr_text(&n.attrs, "mode", "reflect");
    gives(&n, 2, "Pad", NULL, DIMS(3, 3), WANT(2, 3, 2, 0, 1, 0, 2, 3, 2));
    x_put(&n, DIMS(2)); /* version 1 had another name */
    SET(&n, "paddings", 1, 0);
    gives(&n, 1, "Pad", NULL, DIMS(3), WANT(0, 0, 1));
    x_put(&n, DIMS(2, 2));
    not_read(&n, 10, "Pad", ASSAY_UNSUPPORTED, "attribute 'pads' is missing");
}

Test(onnx_convert, the_bounds_of_clip_become_inputs_of_its_dtype)
{
    network n = {0};
    x_put(&n, DIMS(4));
    SET_FLOAT(&n, "min", 1.0f);
    SET_FLOAT(&n, "max", 2.0f);
    gives(&n, 10, "Clip", NULL, DIMS(4), WANT(1, 1, 2, 2));
    x_put(&n, DIMS(4));
    SET_FLOAT(&n, "max", 1.5f);
    gives(&n, 6, "Clip", NULL, DIMS(4), WANT(0, 1, 1.5, 1.5));
    value_put(&n.b, 11, "x", 11, DIMS(2)); /* f64 */
    SET_FLOAT(&n, "min", 1.0f);
    gives(&n, 7, "Clip", NULL, DIMS(2), WANT(1, 1));
    x_put(&n, DIMS(4));
    SET_INT(&n, "min", 1);
    not_read(&n, 10, "Clip", ASSAY_BAD_INPUT, "attribute 'min' is an integer and must be a float");
}

Test(onnx_convert, an_old_dropout_drops_nothing)
{
    network n = {.out = "y,m"};
    x_put(&n, DIMS(2));
    SET_FLOAT(&n, "ratio", 0.9f);
    gives(&n, 10, "Dropout", NULL, DIMS(2), WANT(0, 1));
    x_put(&n, DIMS(2));
    SET_FLOAT(&n, "ratio", 0.9f);
    gives(&n, 7, "Dropout", NULL, DIMS(2), WANT(0, 1));
    x_put(&n, DIMS(2));
    SET_INT(&n, "is_test", 1);
    gives(&n, 6, "Dropout", NULL, DIMS(2), WANT(0, 1));
    n.out = "y,m";
    x_put(&n, DIMS(2));
    gives(&n, 9, "Dropout", NULL, DIMS(2), WANT(0, 1)); /* a mask that nothing reads */
    x_put(&n, DIMS(2));
    not_read(&n, 6, "Dropout", ASSAY_UNSUPPORTED, "is_test = 0, its training form, is not supported");
}

Test(onnx_convert, upsample_becomes_resize_from_the_corner)
{
    static const float twice[] = {1, 1, 2, 2}, wide[] = {1, 1, 1, 2.5f};
    network            n = {0};
    x_put(&n, DIMS(1, 1, 2, 2)); /* as ONNX Runtime, all */
    attr_floats(&n.attrs, "scales", twice, 4, 6);
    gives(&n, 7, "Upsample", NULL, DIMS(1, 1, 4, 4), WANT(0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3));
    x_put(&n, DIMS(1, 1, 2, 2));
    attr_floats(&n.attrs, "scales", twice, 4, 6);
    attr_text(&n.attrs, "mode", "linear");
    gives(&n, 8, "Upsample", NULL, DIMS(1, 1, 4, 4), WANT(0, 0.5, 1, 1, 1, 1.5, 2, 2, 2, 2.5, 3, 3, 2, 2.5, 3, 3));
    n.in = "x,s";
    x_put(&n, DIMS(1, 1, 1, 2));
    weight_put(&n, "s", 1, DIMS(4), wide, sizeof wide);
    gives(&n, 9, "Upsample", NULL, DIMS(1, 1, 1, 5), WANT(0, 0, 0, 1, 1));
    x_put(&n, DIMS(1, 1, 2, 2));
    SET(&n, "scales", 1, 1, 2, 2);
    not_read(&n, 7, "Upsample", ASSAY_BAD_INPUT, "attribute 'scales' is a list of integers and must be a list of floats");
}

Test(onnx_convert, an_old_resize_is_from_the_corner_and_an_empty_input_is_none)
{
    static const float   less[] = {1, 1, 1, 0.6f}, twice[] = {1, 1, 1, 2}, mixed[] = {1, 1, 2, 0.6f};
    static const int64_t sizes[] = {1, 1, 2, 4};
    network              n = {.in = "x,s"};
    x_put(&n, DIMS(1, 1, 1, 5)); /* as ONNX Runtime, both */
    weight_put(&n, "s", 1, DIMS(4), less, sizeof less);
    gives(&n, 10, "Resize", NULL, DIMS(1, 1, 1, 3), WANT(0, 2, 4));
    n.in = "x,s";
    x_put(&n, DIMS(1, 1, 1, 5));
    weight_put(&n, "s", 1, DIMS(4), mixed, sizeof mixed);
    not_read(&n, 10, "Resize", ASSAY_UNSUPPORTED,
             "(Resize of operator set 10): mode nearest with scales above and below 1 is not supported");
    n.in = "x,s";
    x_put(&n, DIMS(1, 1, 2, 2));
    weight_put(&n, "s", 1, DIMS(4), twice, sizeof twice);
    attr_text(&n.attrs, "mode", "linear");
    gives(&n, 10, "Resize", NULL, DIMS(1, 1, 2, 4), WANT(0, 0.5, 1, 1, 2, 2.5, 3, 3));
    n.in = "x,none,none,z"; /* version 11: an empty roi and empty scales, because there are sizes */
    x_put(&n, DIMS(1, 1, 2, 2));
    weight_put(&n, "none", 1, DIMS(0), NULL, 0);
    weight_put(&n, "z", 7, DIMS(4), sizes, sizeof sizes);
    attr_text(&n.attrs, "coordinate_transformation_mode", "asymmetric");
    attr_text(&n.attrs, "nearest_mode", "floor");
    gives(&n, 11, "Resize", NULL, DIMS(1, 1, 2, 4), WANT(0, 0, 1, 1, 2, 2, 3, 3));
}

#define QUARTER 0.032058604061603546, 0.08714432269334793, 0.23688283562660217, 0.6439142823219299
#define HALF    0.2689414322376251, 0.7310585975646973

Test(onnx_convert, softmax_took_all_axes_from_its_axis_on_together)
{
    network n = {0};
    x_put(&n, DIMS(2, 2, 2)); /* as ONNX Runtime, all */
    SET_INT(&n, "axis", 1);
    gives(&n, 11, "Softmax", NULL, DIMS(2, 2, 2), WANT(QUARTER, QUARTER));
    x_put(&n, DIMS(1, 2, 2)); /* the axis was 1 where none was given */
    gives(&n, 1, "Softmax", NULL, DIMS(1, 2, 2), WANT(QUARTER));
    x_put(&n, DIMS(2, 2, 2));
    SET_INT(&n, "axis", 2);
    gives(&n, 12, "Softmax", NULL, DIMS(2, 2, 2), WANT(HALF, HALF, HALF, HALF));
    x_put(&n, DIMS(2, 2, 2));
    SET_INT(&n, "axis", -2);
    gives(&n, 12, "Softmax", NULL, DIMS(2, 2, 2), WANT(QUARTER, QUARTER));
    x_put(&n, DIMS(2, 2));
    SET_INT(&n, "axis", 0);
    gives(&n, 11, "LogSoftmax", NULL, DIMS(2, 2),
          WANT(-3.4401895999908447, -2.4401895999908447, -1.4401897192001343, -0.4401896893978119));
    x_put(&n, DIMS(2, 2, 2));
    gives(&n, 7, "Hardmax", NULL, DIMS(2, 2, 2), WANT(0, 0, 0, 1, 0, 0, 0, 1));
    x_put(&n, DIMS(2, 2, 2)); /* today's: the last axis */
    gives(&n, 13, "Softmax", NULL, DIMS(2, 2, 2), WANT(HALF, HALF, HALF, HALF));
    x_put(&n, DIMS(2, 2));
    SET_FLOAT(&n, "axis", 1.0f);
    not_read(&n, 11, "Softmax", ASSAY_BAD_INPUT, "attribute 'axis' is a float and must be an integer");
}

static void batchnorm_put(network *n)
{
    n->in = "x,s,b,m,v";
    x_put(n, DIMS(1, 2, 2));
    INPUT(&n->b, "s", 2);
    INPUT(&n->b, "b", 2);
    INPUT(&n->b, "m", 2);
    INPUT(&n->b, "v", 2);
    SET_FLOAT(n, "epsilon", 0.0f);
}

Test(onnx_convert, an_old_batch_normalization_infers)
{
    const double *given = GIVEN(0, 1, 2, 3, 1, 2, 0, 1, 1, 2, 4, 9), *want = WANT(-0.5, 0, 1, 1.66666666); /* as ONNX Runtime */
    network       n = {0};
    batchnorm_put(&n);
    SET_INT(&n, "spatial", 1);
    gives(&n, 8, "BatchNormalization", given, DIMS(1, 2, 2), want);
    batchnorm_put(&n);
    gives(&n, 9, "BatchNormalization", given, DIMS(1, 2, 2), want);
    batchnorm_put(&n);
    SET_INT(&n, "is_test", 1);
    SET(&n, "consumed_inputs", 0, 0, 0, 1, 1);
    gives(&n, 5, "BatchNormalization", given, DIMS(1, 2, 2), want);
    batchnorm_put(&n);
    not_read(&n, 6, "BatchNormalization", ASSAY_UNSUPPORTED, "is_test = 0, its training form, is not supported");
    batchnorm_put(&n);
    SET_INT(&n, "spatial", 0);
    not_read(&n, 8, "BatchNormalization", ASSAY_UNSUPPORTED, "spatial = 0 is not supported");
    batchnorm_put(&n);
    n.out = "y,m1,v1,m2,v2";
    not_read(&n, 9, "BatchNormalization", ASSAY_UNSUPPORTED, "the outputs of its training form are not supported");
}

Test(onnx_convert, the_k_of_topk_becomes_an_input)
{
    network n = {.out = "y,i"};
    x_put(&n, DIMS(2, 3));
    SET_INT(&n, "k", 2);
    gives(&n, 9, "TopK", GIVEN(3, 1, 2, 4, 6, 5), DIMS(2, 2), WANT(3, 2, 6, 5)); /* as ONNX Runtime */
    n.out = "i,y";
    x_put(&n, DIMS(2, 3));
    SET_INT(&n, "k", 2);
    gives(&n, 1, "TopK", GIVEN(3, 1, 2, 4, 6, 5), DIMS(2, 2), WANT(0, 2, 1, 2));
    n.out = "y,i";
    x_put(&n, DIMS(2, 3));
    not_read(&n, 9, "TopK", ASSAY_UNSUPPORTED, "attribute 'k' is missing");
}

Test(onnx_convert, the_parts_of_split)
{
    network n = {.out = "z,y"};
    x_put(&n, DIMS(2, 3));
    SET(&n, "split", 2, 1);
    SET_INT(&n, "axis", 1);
    gives(&n, 2, "Split", NULL, DIMS(2, 1), WANT(2, 5));
    n.out = "z,y"; /* equal parts, as many as outputs */
    x_put(&n, DIMS(4));
    gives(&n, 11, "Split", NULL, DIMS(2), WANT(2, 3));
    n.out = "z,y";
    x_put(&n, DIMS(4));
    gives(&n, 17, "Split", NULL, DIMS(2), WANT(2, 3));
}

Test(onnx_convert, scatter_becomes_scatter_elements)
{
    network n = {.in = "x,i,u"};
    x_put(&n, DIMS(1, 3));
    value_put(&n.b, 11, "i", 7, DIMS(1, 2));
    INPUT(&n.b, "u", 1, 2);
    SET_INT(&n, "axis", 1);
    gives(&n, 9, "Scatter", GIVEN(0, 1, 2, 2, 0, 8, 9), DIMS(1, 3), WANT(9, 1, 8)); /* as ONNX Runtime */
}

Test(onnx_convert, an_old_gemm_broadcasts_c)
{
    for (int64_t version = 6; version <= 7; version++) {
        network n = {.in = "x,b,c"};
        x_put(&n, DIMS(2, 2));
        INPUT(&n.b, "b", 2, 3);
        INPUT(&n.b, "c", 3);
        SET_FLOAT(&n, "alpha", 2.0f);
        SET_INT(&n, "transA", 1);
        if (version == 6)
            SET_INT(&n, "broadcast", 1);
        gives(&n, version, "Gemm", GIVEN(0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 1, 2, 3), DIMS(2, 3),
              WANT(13, 18, 23, 19, 28, 37)); /* as ONNX Runtime */
    }
}

Test(onnx_convert, before_11_a_negative_index_of_onehot_is_nowhere)
{
    network n = {.in = "i,d,v"};
    value_put(&n.b, 11, "i", 7, DIMS(3));
    weight_put(&n, "d", 7, DIMS(1), (const int64_t[]){3}, 8);
    INPUT(&n.b, "v", 2);
    gives(&n, 10, "OneHot", GIVEN(1, -1, 3, 0, 5), DIMS(3, 3), WANT(0, 5, 0, 0, 0, 0, 0, 0, 0)); /* the standard's words */
    n.in = "i,d,v";
    value_put(&n.b, 11, "i", 7, DIMS(3));
    weight_put(&n, "d", 7, DIMS(1), (const int64_t[]){3}, 8);
    INPUT(&n.b, "v", 2);
    gives(&n, 11, "OneHot", GIVEN(1, -1, 3, 0, 5), DIMS(3, 3), WANT(0, 5, 0, 0, 0, 5, 0, 0, 0));
}

Test(onnx_convert, before_21_the_scale_of_a_group_was_one_number)
{
    network n = {.in = "x,s,b"};
    x_put(&n, DIMS(1, 4, 2)); /* as ONNX Runtime */
    INPUT(&n.b, "s", 2);
    INPUT(&n.b, "b", 2);
    SET_INT(&n, "num_groups", 2);
    SET_FLOAT(&n, "epsilon", 0.0f);
    gives(&n, 18, "GroupNormalization", GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 0, 10), DIMS(1, 4, 2),
          WANT(-1.3416407108306885, -0.4472135901451111, 0.4472135901451111, 1.3416407108306885, 7.316718578338623,
               9.105572700500488, 10.894427299499512, 12.683280944824219));
    n.in = "x,s,b";
    x_put(&n, DIMS(1, 4, 2));
    INPUT(&n.b, "s", 2);
    INPUT(&n.b, "b", 2);
    SET_INT(&n, "num_groups", 0);
    not_read(&n, 20, "GroupNormalization", ASSAY_BAD_INPUT, "(GroupNormalization): num_groups is 0");
}

/* --- Versions 1 to 6 --- */

Test(onnx_convert, the_axis_of_an_old_broadcast)
{
    static const struct {
        const char *op;
        double      want[4];
    } list[] = {
        /* x = 1 2 3 4 in rows of two, b = 1 2 from axis 0 on */
        {"Add", {2, 3, 5, 6}},  {"Sub", {0, 1, 1, 2}},  {"Mul", {1, 2, 6, 8}},     {"Div", {1, 2, 1.5, 2}},
        {"Pow", {1, 2, 9, 16}}, {"Less", {0, 0, 0, 0}}, {"Greater", {0, 1, 1, 1}},
    };
    const double *given = GIVEN(1, 2, 3, 4, 1, 2);
    for (size_t i = 0; i < AS_COUNT(list); i++) {
        network n = {.in = "x,b"};
        x_put(&n, DIMS(2, 2));
        INPUT(&n.b, "b", 2);
        SET_INT(&n, "broadcast", 1);
        SET_INT(&n, "axis", 0);
        gives(&n, 6, list[i].op, given, DIMS(2, 2), list[i].want);
    }
    network n = {.in = "x,b"};
    x_put(&n, DIMS(2, 2));
    INPUT(&n.b, "b", 2);
    SET_INT(&n, "broadcast", 1); /* without an axis the last ones, as today */
    gives(&n, 6, "Add", given, DIMS(2, 2), WANT(2, 4, 4, 6));
    n.in = "x,b";
    x_put(&n, DIMS(2, 2));
    INPUT(&n.b, "b", 2);
    SET_INT(&n, "broadcast", 1);
    SET_INT(&n, "axis", 2);
    not_read(&n, 6, "Add", ASSAY_BAD_INPUT, "inputs of 2 and 1 axes cannot be joined at axis 2");
}

Test(onnx_convert, the_axis_of_an_old_comparison_of_truths)
{
    static const struct {
        const char *op;
        double      want[4];
    } list[] = {
        /* x = 1 1 0 0, b = 1 0 */
        {"And", {1, 1, 0, 0}},
        {"Or", {1, 1, 0, 0}},
        {"Xor", {0, 0, 0, 0}},
        {"Equal", {1, 1, 1, 1}},
    };
    for (size_t i = 0; i < AS_COUNT(list); i++) {
        network n = {.in = "x,b"};
        value_put(&n.b, 11, "x", 9, DIMS(2, 2));
        value_put(&n.b, 11, "b", 9, DIMS(2));
        SET_INT(&n, "broadcast", 1);
        SET_INT(&n, "axis", -2);
        gives(&n, 1, list[i].op, GIVEN(1, 1, 0, 0, 1, 0), DIMS(2, 2), list[i].want);
    }
}

Test(onnx_convert, an_axis_between_values_of_unknown_rank_is_refused)
{
    static const char *const ops[] = {"Add", "PRelu"};
    for (int i = 0; i < 2; i++) {
        network n = {.in = "h,b"};
        x_put(&n, DIMS(2, 2));
        INPUT(&n.b, "b", 2);
        node_put(&n.b, "Relu", "", "x", "h", NULL);
        if (!i) {
            SET_INT(&n, "broadcast", 1);
            SET_INT(&n, "axis", 0);
        }
        not_read(&n, 6, ops[i], ASSAY_UNSUPPORTED, "because the file does not give the ranks of its inputs");
    }
}

Test(onnx_convert, an_old_prelu_has_a_slope_a_channel)
{
    network n = {.in = "x,s"};
    x_put(&n, DIMS(1, 2, 2));
    INPUT(&n.b, "s", 2);
    gives(&n, 6, "PRelu", GIVEN(-1, -2, -3, 4, 10, 100), DIMS(1, 2, 2), WANT(-10, -20, -300, 4));
}

Test(onnx_convert, small_changes_of_the_first_versions)
{
    network n = {0};
    value_put(&n.b, 11, "x", 9, DIMS(3)); /* unchanged */
    gives(&n, 1, "Not", GIVEN(0, 1, 0), DIMS(3), WANT(1, 0, 1));
    x_put(&n, DIMS(2));
    SET(&n, "consumed_inputs", 0);
    gives(&n, 1, "Relu", GIVEN(-1, 2), DIMS(2), WANT(0, 2));
    n.in = "x,x"; /* the axis was 1 where none was given */
    x_put(&n, DIMS(2, 1));
    gives(&n, 3, "Concat", NULL, DIMS(2, 2), WANT(0, 0, 1, 1));
    x_put(&n, DIMS(2, 3));
    SET(&n, "shape", 3, -1);
    gives(&n, 4, "Reshape", NULL, DIMS(3, 2), WANT(0, 1, 2, 3, 4, 5));
    x_put(&n, DIMS(2));
    not_read(&n, 4, "Reshape", ASSAY_UNSUPPORTED, "attribute 'shape' is missing");
    x_put(&n, DIMS(2)); /* 1.0507 * 1.6732 * (exp(-1) - 1) */
    gives(&n, 5, "Selu", GIVEN(-1, 1), DIMS(2), WANT(-1.1112890, 1.0507));
    n.in = "x,w,r";
    x_put(&n, DIMS(1, 1, 1));
    INPUT(&n.b, "w", 1, 1, 1);
    INPUT(&n.b, "r", 1, 1, 1);
    SET_INT(&n, "hidden_size", 1);
    SET_INT(&n, "output_sequence", 1);
    gives(&n, 6, "RNN", GIVEN(0.5, 2, 7), DIMS(1, 1, 1, 1), WANT(0.76159415));
}

Test(onnx_convert, the_first_cast_named_its_type)
{
    network n = {0};
    x_put(&n, DIMS(2));
    attr_text(&n.attrs, "to", "INT32");
    gives(&n, 5, "Cast", GIVEN(1.75, -1.75), DIMS(2), WANT(1, -1));
    x_put(&n, DIMS(2));
    attr_text(&n.attrs, "to", "INT33");
    not_read(&n, 5, "Cast", ASSAY_BAD_INPUT, "node 'y' (Cast): there is no type 'INT33'");
    x_put(&n, DIMS(2));
    SET_INT(&n, "to", 1);
    not_read(&n, 5, "Cast", ASSAY_BAD_INPUT, "attribute 'to' is an integer and must be a text");
    x_put(&n, DIMS(2));
    not_read(&n, 5, "Cast", ASSAY_UNSUPPORTED, "attribute 'to' is missing");
}

Test(onnx_convert, forms_that_are_too_old_are_refused_by_name)
{
    static const struct {
        const char *op;
        int64_t     version;
    } list[] = {{"GRU", 2}, {"LpPool", 1}, {"Split", 1}, {"Tile", 5}, {"Upsample", 6}};
    for (size_t i = 0; i < AS_COUNT(list); i++) {
        network n = {0};
        char    part[120];
        snprintf(part, sizeof part, "node 'y' (%s of operator set %d): this form is too old to be converted", list[i].op,
                 (int)list[i].version);
        x_put(&n, DIMS(2));
        not_read(&n, list[i].version, list[i].op, ASSAY_UNSUPPORTED, part);
    }
}
