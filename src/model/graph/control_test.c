/* control_test.c - If, Loop and Scan: read from ONNX, unrolled while binding, refused by name where something is not known. */
#include "tests/runner/test.h"

#include "model/graph/bind.h"
#include "model/onnx/test_onnx.h"

/* A graph attribute; the inner graph is dropped. */
static void attr_graph(as_text *attrs, const char *name, builder *inner)
{
    as_text a = {0};
    as_pb_put_text(&a, 1, name);
    sub(&a, 6, &inner->graph);
    as_pb_put_int(&a, 20, 5);
    sub(attrs, 5, &a);
}

static void constant_put(builder *b, const char *name, int dtype, const int64_t *dims, int rank, const void *raw, size_t n)
{
    as_text t = tensor(name, dtype, dims, rank, raw, n);
    sub(&b->graph, 5, &t);
}

typedef struct run {
    assay_env   *env;
    as_text      file;
    assay_model *model;
    as_arena     arena;
    as_graph     graph;
} run;

static assay_status run_bind(run *r, builder *b, int64_t version, const as_known_input *known, int n_known)
{
    *r = (run){.env = test_env(), .file = file_of(b, version)};
    expect_ok(r->env, parse(r->env, &r->file, &r->model));
    return as_graph_bind(r->env, r->model, NULL, 0, known, n_known, 1, &r->arena, &r->graph);
}

static void run_close(run *r)
{
    as_arena_drop(&r->arena);
    assay_model_free(r->model);
    as_text_drop(&r->file);
    assay_env_free(r->env);
}

static void expect_values(run *r, float *x, int64_t n_x, const as_shape *shape, const float *want)
{
    float   y[64] = {0};
    int64_t n = as_shape_count(shape);
    as_view in[2] = {as_view_of(x, AS_F32, &AS_SHAPE(n_x))}, out = as_view_of(y, AS_F32, shape);
    bool    flag = true;
    if (r->graph.n_inputs > 1)
        in[1] = as_view_of(&flag, AS_BOOL, &AS_SHAPE(1));
    expect(n <= 64);
    expect_ok(r->env, as_graph_eval(r->env, &r->graph, in, &out));
    for (int64_t i = 0; i < n; i++)
        expect_near((double)y[i], (double)want[i], 1e-6);
}

/* y = c ? x + w : x, where w belongs to the branch and x to the graph around it. */
static void if_model(builder *b)
{
    const float w[] = {10, 20};
    builder     yes = {0}, no = {0};
    as_text     attrs = {0};
    constant_put(&yes, "w", 1, DIMS(2), w, sizeof w);
    node_put(&yes, "Add", "", "x,w", "sum", NULL);
    OUTPUT(&yes, "sum");
    OUTPUT(&no, "x"); /* passes a value on */
    attr_graph(&attrs, "then_branch", &yes);
    attr_graph(&attrs, "else_branch", &no);
    INPUT(b, "x", 2);
    value_put(b, 11, "c", 9, DIMS(1));
    node_put(b, "If", "", "c", "y", &attrs);
    OUTPUT(b, "y");
}

Test(control, an_if_becomes_the_branch_that_its_condition_takes)
{
    float x[] = {1, 2};
    for (int k = 0; k < 2; k++) {
        bool           condition = k;
        as_known_input known = {"c", as_view_of(&condition, AS_BOOL, &AS_SHAPE(1)), "c.npy"};
        builder        b = {0};
        run            r;
        if_model(&b);
        expect_ok(NULL, run_bind(&r, &b, 16, &known, 1));
        expect_eq(r.graph.n_nodes, 1);
        expect_str(r.graph.nodes[0].ctx.op->name, k ? "Add" : "Identity");
        expect(!strncmp(r.graph.nodes[0].ctx.name, r.model->nodes[0].name, strlen(r.model->nodes[0].name)));
        expect(r.graph.values[r.graph.inputs[1]].info.constant);
        expect_values(&r, x, 2, &AS_SHAPE(2), k ? (float[]){11, 22} : x);
        run_close(&r);
    }
}

Test(control, a_condition_that_is_not_known_is_refused_by_the_name_of_its_input)
{
    builder b = {0};
    run     r;
    if_model(&b);
    expect_eq(run_bind(&r, &b, 16, NULL, 0), ASSAY_UNSUPPORTED);
    expect(strstr(assay_message(r.env),
                  "its condition (input 0) must be known while planning; give the values of the input 'c' (--input c=FILE)"));
    expect_fails(r.env, as_onnx_save(r.env, r.model, as_test_path("if.onnx")), ASSAY_UNSUPPORTED, "subgraphs are not written");
    expect_fails(r.env, as_model_json_save(r.env, r.model, as_test_path("if.json")), ASSAY_UNSUPPORTED,
                 "subgraphs are not written");
    assay_model *grad;
    expect_fails(r.env, as_model_grad(r.env, r.model, NULL, 0, (const char *const[]){"x"}, 1, &grad), ASSAY_UNSUPPORTED,
                 "must be known while planning");
    run_close(&r);
}

/* Adds x once per iteration while i < limit; gives the final sum, and all sums stacked. */
static void loop_model(builder *b, int64_t trips, int64_t limit, bool with_condition)
{
    builder     body = {0};
    as_text     attrs = {0};
    const float zero[] = {0, 0};
    const char  yes = 1;
    constant_put(&body, "limit", 7, NULL, 0, &limit, 8);
    value_put(&body, 11, "i", 7, NULL, 0);
    value_put(&body, 11, "go", 9, NULL, 0);
    INPUT(&body, "sum", 2);
    node_put(&body, "Add", "", "sum,x", "next", NULL);
    node_put(&body, "Less", "", "i,limit", "more", NULL);
    OUTPUT(&body, "more");
    OUTPUT(&body, "next");
    OUTPUT(&body, "next"); /* carried and stacked */
    attr_graph(&attrs, "body", &body);
    INPUT(b, "x", 2);
    constant_put(b, "trips", 7, NULL, 0, &trips, 8);
    constant_put(b, "yes", 9, NULL, 0, &yes, 1);
    constant_put(b, "zero", 1, DIMS(2), zero, sizeof zero);
    node_put(b, "Loop", "", with_condition ? "trips,yes,zero" : "trips,,zero", "last,y", &attrs);
    OUTPUT(b, "y");
}

Test(control, a_loop_is_written_out_iteration_by_iteration)
{
    float   x[] = {1, 2};
    builder b = {0};
    run     r;
    loop_model(&b, 3, 100, true);
    expect_ok(NULL, run_bind(&r, &b, 16, NULL, 0));
    expect_values(&r, x, 2, &AS_SHAPE(3, 2), (float[]){1, 2, 2, 4, 3, 6});
    run_close(&r);
    b = (builder){0};
    loop_model(&b, 3, 100, false);
    expect_ok(NULL, run_bind(&r, &b, 16, NULL, 0));
    expect_values(&r, x, 2, &AS_SHAPE(3, 2), (float[]){1, 2, 2, 4, 3, 6});
    run_close(&r);
}

Test(control, a_loop_ends_when_its_condition_does)
{
    float   x[] = {1, 2};
    builder b = {0};
    run     r;
    loop_model(&b, 1000, 1, true); /* after i = 0 on, after i = 1 not */
    expect_ok(NULL, run_bind(&r, &b, 16, NULL, 0));
    expect_values(&r, x, 2, &AS_SHAPE(2, 2), (float[]){1, 2, 2, 4});
    run_close(&r);
}

Test(control, a_loop_stacks_more_values_than_one_concat_takes)
{
    float   x[] = {1, 0}, last;
    builder b = {0};
    run     r;
    loop_model(&b, 130, 1000, true);
    expect_ok(NULL, run_bind(&r, &b, 16, NULL, 0));
    const as_shape *shape = &r.graph.values[r.graph.outputs[0]].info.shape;
    expect(as_shape_same(shape, &AS_SHAPE(130, 2)));
    float  *y = calloc(260, sizeof *y);
    as_view in = as_view_of(x, AS_F32, &AS_SHAPE(2)), out = as_view_of(y, AS_F32, shape);
    expect_ok(r.env, as_graph_eval(r.env, &r.graph, &in, &out));
    for (int i = 0; i < 130; i++)
        expect_near((double)y[2 * i], i + 1, 0);
    last = y[258];
    free(y);
    expect_near((double)last, 130, 0);
    run_close(&r);
}

static void expect_loop_refused(int64_t trips, int64_t limit, bool with_condition, const char *part)
{
    builder b = {0};
    run     r;
    loop_model(&b, trips, limit, with_condition);
    expect_eq(run_bind(&r, &b, 16, NULL, 0), ASSAY_UNSUPPORTED);
    if (!strstr(assay_message(r.env), part))
        fail("%s", assay_message(r.env));
    run_close(&r);
}

Test(control, loops_that_cannot_be_written_out_are_refused)
{
    expect_loop_refused(INT64_MAX, INT64_MAX, true, "more than 10000 nodes and iterations");
    expect_loop_refused(0, 100, true, "it has no iteration, so the shape of its output");
    expect_loop_refused(5, 1, false, "which ONNX does not define");
}

/* Running sums of x [3], from the back, stacked from the back again. */
Test(control, a_scan_goes_both_ways)
{
    const int64_t backwards = 1;
    for (int k = 0; k < 2; k++) {
        float       x[] = {1, 2, 4};
        const float zero = 0;
        builder     b = {0}, body = {0};
        as_text     attrs = {0};
        run         r;
        value_put(&body, 11, "sum", 1, NULL, 0);
        value_put(&body, 11, "one", 1, NULL, 0);
        node_put(&body, "Add", "", "sum,one", "next", NULL);
        OUTPUT(&body, "next");
        OUTPUT(&body, "next");
        attr_int(&attrs, "num_scan_inputs", 1, 2);
        if (k) {
            attr_ints(&attrs, "scan_input_directions", &backwards, 1);
            attr_ints(&attrs, "scan_output_directions", &backwards, 1);
        }
        attr_graph(&attrs, "body", &body);
        INPUT(&b, "x", 3);
        constant_put(&b, "zero", 1, NULL, 0, &zero, 4);
        node_put(&b, "Scan", "", "zero,x", "last,y", &attrs);
        OUTPUT(&b, "y");
        expect_ok(NULL, run_bind(&r, &b, 11, NULL, 0));
        expect_values(&r, x, 3, &AS_SHAPE(3), k ? (float[]){7, 6, 4} : (float[]){1, 3, 7});
        run_close(&r);
    }
}

/* If in If in If ...: each passes the outer x on. */
static void nested(builder *b, int depth)
{
    for (int k = 0; k < 2 && depth; k++) {
        builder inner = {0};
        nested(&inner, depth - 1);
        if (k) {
            as_text attrs = {0};
            builder other = {0};
            OUTPUT(&other, "x");
            attr_graph(&attrs, "then_branch", &inner);
            attr_graph(&attrs, "else_branch", &other);
            node_put(b, "If", "", "yes", "y", &attrs);
        } else {
            as_text_drop(&inner.graph);
        }
    }
    if (!depth)
        node_put(b, "Neg", "", "x", "y", NULL);
    OUTPUT(b, "y");
}

static void nested_model(builder *b, int depth)
{
    const char yes = 1;
    INPUT(b, "x", 2);
    constant_put(b, "yes", 9, NULL, 0, &yes, 1);
    nested(b, depth);
}

Test(control, subgraphs_may_be_nested_to_a_limit)
{
    float   x[] = {1, 2};
    builder b = {0};
    run     r;
    nested_model(&b, AS_MAX_NESTING);
    expect_ok(NULL, run_bind(&r, &b, 16, NULL, 0));
    expect_eq(r.graph.n_nodes, 1);
    expect_values(&r, x, 2, &AS_SHAPE(2), (float[]){-1, -2});
    run_close(&r);
    b = (builder){0};
    nested_model(&b, AS_MAX_NESTING + 1);
    refused(&b, 16, ASSAY_BAD_INPUT, "subgraphs are nested more than 8 deep");
}

Test(control, what_is_wrong_with_a_node_is_said)
{
    builder b = {0}, inner = {0};
    as_text attrs = {0};
    INPUT(&b, "x", 2);
    node_put(&b, "If", "", "x", "y", NULL);
    OUTPUT(&b, "y");
    refused(&b, 16, ASSAY_BAD_INPUT, "has no subgraph");

    b = (builder){0};
    OUTPUT(&inner, "nowhere");
    attr_graph(&attrs, "then_branch", &inner);
    INPUT(&b, "x", 2);
    node_put(&b, "If", "", "x", "y", &attrs);
    OUTPUT(&b, "y");
    refused(&b, 16, ASSAY_BAD_INPUT, "reads 'nowhere', which is not an input");

    b = (builder){0}, inner = (builder){0}, attrs = (as_text){0};
    OUTPUT(&inner, "x");
    attr_graph(&attrs, "then_branch", &inner);
    INPUT(&b, "x", 2);
    node_put(&b, "If", "", "x", "y", &attrs);
    OUTPUT(&b, "y");
    refused(&b, 16, ASSAY_BAD_INPUT, "its condition must be one bool");

    b = (builder){0}, inner = (builder){0}, attrs = (as_text){0};
    OUTPUT(&inner, "x");
    attr_graph(&attrs, "body", &inner);
    INPUT(&b, "x", 2);
    node_put(&b, "Relu", "", "x", "y", &attrs);
    OUTPUT(&b, "y");
    refused(&b, 16, ASSAY_UNSUPPORTED, "attribute 'body' is of type GRAPH, which is not supported");

    b = (builder){0}, inner = (builder){0}, attrs = (as_text){0};
    OUTPUT(&inner, "x");
    attr_graph(&attrs, "body", &inner);
    INPUT(&b, "x", 2);
    node_put(&b, "Scan", "", "x", "y", &attrs);
    OUTPUT(&b, "y");
    refused(&b, 8, ASSAY_UNSUPPORTED, "Scan of operator set 8 is not supported, only from 9 on");

    b = (builder){0}, inner = (builder){0}, attrs = (as_text){0};
    node_put(&inner, "Foo", "", "x", "z", NULL);
    OUTPUT(&inner, "z");
    attr_graph(&attrs, "then_branch", &inner);
    INPUT(&b, "x", 2);
    node_put(&b, "If", "", "x", "y", &attrs);
    OUTPUT(&b, "y");
    refused(&b, 16, ASSAY_UNSUPPORTED, "1 operator is not supported: Foo (1 node)");
}

/* A loop around a loop whose body holds many constants: few nodes, many values. */
Test(control, the_values_of_what_is_written_out_are_limited)
{
    builder       b = {0}, outer = {0}, inner = {0};
    as_text       inner_attrs = {0}, attrs = {0};
    const int64_t trips = 1000, one = 1;
    const char    yes = 1;
    for (int i = 0; i < 6000; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        constant_put(&inner, name, 9, NULL, 0, &yes, 1);
    }
    for (int k = 0; k < 2; k++) {
        builder *body = k ? &outer : &inner;
        value_put(body, 11, k ? "i" : "j", 7, NULL, 0);
        value_put(body, 11, k ? "go" : "on", 9, NULL, 0);
        INPUT(body, k ? "p" : "q", 2);
    }
    node_put(&inner, "Neg", "", "q", "n", NULL);
    OUTPUT(&inner, "on");
    OUTPUT(&inner, "n");
    attr_graph(&inner_attrs, "body", &inner);
    node_put(&outer, "Loop", "", "one,yes,p", "m", &inner_attrs);
    OUTPUT(&outer, "go");
    OUTPUT(&outer, "m");
    attr_graph(&attrs, "body", &outer);
    INPUT(&b, "x", 2);
    constant_put(&b, "trips", 7, NULL, 0, &trips, 8);
    constant_put(&b, "one", 7, NULL, 0, &one, 8);
    constant_put(&b, "yes", 9, NULL, 0, &yes, 1);
    node_put(&b, "Loop", "", "trips,yes,x", "y", &attrs);
    OUTPUT(&b, "y");
    refused(&b, 16, ASSAY_UNSUPPORTED, "with its subgraphs written out it has more than 400000 values");
}
