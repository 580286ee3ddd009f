/* loss_test.c - what the cases of the losses cannot say: weighted gradients, gradients of the logarithms, and labels that are wrong. */
#include "backend/cpu/kernel.h"
#include "op/train/loss.h"
#include "tests/conform/op_tape.h"

enum { N = 3, C = 4, INNER = 2, COUNT = N * C * INNER };

static const int64_t labels[N * INNER] = {0, 3, 9, 1, 2, 3}; /* 9 is ignored */
static const double  weights[C] = {0.5, 2.0, 1.0, 3.0};

typedef struct fixture {
    assay_env     *env;
    as_arena       arena;
    as_tensor_info in[3];
    as_view        view[3];
    as_attr        attrs[2];
    as_node_ctx    node;
} fixture;

static double score(int64_t i) { return (double)((i * 7) % 11) / 4.0 - 1.25; }

static void loss_open(fixture *f, const char *op, const char *reduction)
{
    as_shape x = AS_SHAPE(N, C, INNER), l = AS_SHAPE(N, INNER), w = AS_SHAPE(C);
    *f = (fixture){.attrs = {AS_ATTR_I("ignore_index", 9), AS_ATTR_S("reduction", reduction)}};
    expect_eq(assay_env_new(&f->env), ASSAY_OK);
    f->in[0] = (as_tensor_info){.dtype = AS_F64, .shape = x};
    f->in[1] = (as_tensor_info){.dtype = AS_I64, .shape = l};
    f->in[2] = (as_tensor_info){.dtype = AS_F64, .shape = w};
    for (int i = 0; i < 3; i++)
        f->view[i] = op_case_alloc(&f->arena, f->in[i].dtype, &f->in[i].shape);
    for (int64_t i = 0; i < COUNT; i++)
        as_view_set(&f->view[0], i, score(i));
    for (int64_t i = 0; i < N * INNER; i++)
        as_view_set_i64(&f->view[1], i, labels[i]);
    for (int64_t i = 0; i < C; i++)
        as_view_set(&f->view[2], i, weights[i]);
    f->node =
        (as_node_ctx){.op = as_op_find(op), .name = "loss", .attrs = f->attrs, .n_attrs = 2, .in = f->in, .n_in = 3, .n_out = 1};
}

static void loss_close(fixture *f)
{
    as_arena_drop(&f->arena);
    assay_env_free(f->env);
}

static double factor(int64_t i) { return 0.25 + (double)(i % 5); }

/* The sum of the outputs, each by its factor: of the loss, and of the logarithms if `more`. */
static double total(fixture *f, bool more)
{
    as_tensor_info out[2];
    as_view        y[2];
    double         sum = 0.0;
    f->node.n_out = more ? 2 : 1;
    f->node.out = out;
    expect_ok(f->env, as_op_infer(f->env, &f->node, out));
    for (int i = 0; i < f->node.n_out; i++)
        y[i] = op_case_alloc(&f->arena, out[i].dtype, &out[i].shape);
    expect_ok(f->env, f->node.op->eval(f->env, &f->node, f->view, y));
    for (int k = 0; k < f->node.n_out; k++)
        for (int64_t i = 0; i < as_shape_count(&y[k].shape); i++)
            sum += (factor(i) + k) * as_view_get(&y[k], i);
    return sum;
}

static void gradient_check(const char *op, const char *reduction, bool more)
{
    fixture f;
    loss_open(&f, op, reduction);
    total(&f, more);
    as_tensor_info out[2];
    expect_ok(f.env, as_op_infer(f.env, &f.node, out));
    tape *t = tape_new(f.env, &f.arena, 64);
    int   in[3], d_out[2] = {-1, -1}, d_in[3], values[2] = {-1, -1};
    for (int i = 0; i < 3; i++)
        in[i] = tape_add(t, &f.in[i], &f.view[i]);
    for (int k = 0; k < f.node.n_out; k++) {
        as_view d = op_case_alloc(&f.arena, out[k].dtype, &out[k].shape);
        for (int64_t i = 0; i < as_shape_count(&d.shape); i++)
            as_view_set(&d, i, factor(i) + k);
        d_out[k] = tape_add(t, &out[k], &d);
    }
    expect_ok(f.env, f.node.op->grad(&t->b, &f.node, in, values, d_out, d_in));
    expect(d_in[0] >= 0 && d_in[1] == -1 && d_in[2] == -1);
    for (int64_t i = 0; i < COUNT; i++) {
        double at = score(i), sides[2];
        for (int s = 0; s < 2; s++) {
            as_view_set(&f.view[0], i, at + (s ? 1e-6 : -1e-6));
            sides[s] = total(&f, more);
        }
        as_view_set(&f.view[0], i, at);
        expect_near(as_view_get(&t->view[d_in[0]], i), (sides[1] - sides[0]) / 2e-6, 1e-7);
    }
    loss_close(&f);
}

Test(loss, weighted_gradients_match_central_differences)
{
    static const char *const reductions[] = {"mean", "sum", "none"};
    for (int i = 0; i < 3; i++) {
        gradient_check("SoftmaxCrossEntropyLoss", reductions[i], false);
        gradient_check("NegativeLogLikelihoodLoss", reductions[i], false);
    }
}

Test(loss, a_network_may_use_the_logarithms_and_the_loss)
{
    gradient_check("SoftmaxCrossEntropyLoss", "mean", true);
    gradient_check("SoftmaxCrossEntropyLoss", "none", true);
}

Test(loss, the_mean_counts_only_what_is_not_ignored)
{
    fixture f;
    double  sum = 0.0, weight = 0.0;
    loss_open(&f, "SoftmaxCrossEntropyLoss", "mean");
    for (int i = 0; i < N * INNER; i++) {
        double lines = 0.0;
        if (labels[i] == 9)
            continue;
        for (int c = 0; c < C; c++)
            lines += exp(score((i / INNER * C + c) * INNER + i % INNER));
        sum += weights[labels[i]] * (log(lines) - score((i / INNER * C + labels[i]) * INNER + i % INNER));
        weight += weights[labels[i]];
    }
    expect_near(total(&f, false), factor(0) * sum / weight, 1e-12);
    loss_close(&f);
}

/* Through every kernel: in two parts, of which the first has the message. */
static void kernels_refuse(fixture *f, const as_node_ctx *ctx, const as_view *in, const as_view *out, const char *message)
{
    int n_tried = 0;
    for (int i = 0; as_k_table[i]; i++) {
        const as_kernel *k = as_k_table[i];
        char             why[200], scratch[4096];
        assay_status     status = ASSAY_OK;
        as_kernel_args   args = {.ctx = ctx, .in = in, .out = out, .env = f->env, .status = &status};
        if (!as_kernel_is_for(k, ctx->op->name) || (k->isa & ~as_isa_cpu()) || !k->accepts(ctx, why, sizeof why))
            continue;
        for (int part = 0; part < 2; part++)
            k->run(&args, part, 2, scratch);
        for (int part = 0; k->finish && part < 2; part++)
            k->finish(&args, part, 2, scratch);
        expect_fails(f->env, status, ASSAY_BAD_INPUT, message);
        n_tried++;
    }
    expect(n_tried >= 2); /* the reference code and another */
}

Test(loss, a_label_that_is_not_a_class_is_refused_with_its_place)
{
    static const char *const ops[] = {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"};
    for (int i = 0; i < 2; i++) {
        fixture        f;
        as_tensor_info out[1];
        loss_open(&f, ops[i], "mean");
        for (int k = 0; k < 3; k += 2) {
            as_view wide = f.view[k];
            f.in[k].dtype = AS_F32;
            f.view[k] = op_case_alloc(&f.arena, AS_F32, &f.in[k].shape);
            as_view_copy(&f.view[k], &wide);
        }
        as_view_set_i64(&f.view[1], 4, 4);
        expect_ok(f.env, as_op_infer(f.env, &f.node, out));
        f.node.out = out;
        as_view y = op_case_alloc(&f.arena, AS_F32, &out[0].shape);
        kernels_refuse(&f, &f.node, f.view, &y, "label 4 is 4 and there are 4 classes");
        loss_close(&f);
    }
}

Test(loss, more_rows_than_there_are_are_refused)
{
    fixture        f;
    as_tensor_info in[3] = {
        {.dtype = AS_F32, .shape = AS_SHAPE(2, 3)}, {.dtype = AS_F32, .shape = AS_SHAPE(2, 3)}, {.dtype = AS_I64}};
    as_tensor_info out = {.dtype = AS_F32};
    as_view        view[3], y;
    loss_open(&f, "assay.MseLoss", "mean");
    for (int i = 0; i < 3; i++)
        view[i] = op_case_alloc(&f.arena, in[i].dtype, &in[i].shape);
    y = op_case_alloc(&f.arena, AS_F32, &out.shape);
    as_node_ctx node = {.op = as_op_find("assay.MseLoss"), .name = "loss", .in = in, .n_in = 3, .out = &out, .n_out = 1};
    for (int64_t bad = -1; bad <= 3; bad += 4) {
        as_view_set_i64(&view[2], 0, bad);
        kernels_refuse(&f, &node, view, &y, bad < 0 ? "rows is -1 and y is [2,3]" : "rows is 3 and y is [2,3]");
    }
    loss_close(&f);
}

Test(loss, a_negative_step_of_an_optimiser_is_refused)
{
    fixture        f;
    as_shape       one = AS_SHAPE(1), scalar = {0};
    as_tensor_info in[5] = {{.dtype = AS_F32, .shape = one},
                            {.dtype = AS_F32, .shape = one},
                            {.dtype = AS_F32, .shape = one},
                            {.dtype = AS_F32, .shape = one},
                            {.dtype = AS_I64, .shape = scalar}};
    as_tensor_info out = {.dtype = AS_F32, .shape = one};
    as_view        view[5], y;
    loss_open(&f, "assay.Sgd", "mean");
    for (int i = 0; i < 5; i++)
        view[i] = op_case_alloc(&f.arena, in[i].dtype, &in[i].shape);
    y = op_case_alloc(&f.arena, AS_F32, &one);
    as_view_set_i64(&view[4], 0, -1);
    as_node_ctx node = {.op = as_op_find("assay.Sgd"), .name = "update", .in = in, .n_in = 5, .out = &out, .n_out = 1};
    kernels_refuse(&f, &node, view, &y, "assay.Sgd 'update': step is -1 and the first is 1");
    loss_close(&f);
}

/* --- Refusals while planning ------------------------------------------------------------------------------------------------------- */

typedef struct refusal {
    const char    *op, *part;
    as_tensor_info in[8];
    int            n_in;
    as_attr        attrs[3];
    int            n_attrs, n_out;
} refusal;

#define F(...)                                          \
    {                                                   \
        .dtype = AS_F32, .shape = AS_SHAPE(__VA_ARGS__) \
    }
#define I(...)                                          \
    {                                                   \
        .dtype = AS_I64, .shape = AS_SHAPE(__VA_ARGS__) \
    }
#define SCALAR(d)       \
    {                   \
        .dtype = AS_##d \
    }

static const refusal refusals[] = {
    {"SoftmaxCrossEntropyLoss", "the scores are [3] and must be [N, C, d...]", {F(3), I(3)}, 2, {{0}}, 0, 1},
    {"SoftmaxCrossEntropyLoss", "the labels are [2] and must be [3]", {F(3, 2), I(2)}, 2, {{0}}, 0, 1},
    {"SoftmaxCrossEntropyLoss", "the labels are f32 and must be i32 or i64", {F(3, 2), F(3)}, 2, {{0}}, 0, 1},
    {"SoftmaxCrossEntropyLoss",
     "the weights are f32 [3] and must be f32 [2], one per class",
     {F(3, 2), I(3), F(3)},
     3,
     {{0}},
     0,
     1},
    {"NegativeLogLikelihoodLoss",
     "unknown reduction 'max'; known: mean, sum, none",
     {F(3, 2), I(3)},
     2,
     {AS_ATTR_S("reduction", "max")},
     1,
     1},
    {"assay.MseLoss", "y is [3] and the target is [4]: they must be the same", {F(3), F(4)}, 2, {{0}}, 0, 1},
    {"assay.HuberLoss", "delta is 0 and must be more than 0", {F(3), F(3)}, 2, {AS_ATTR_F("delta", 0)}, 1, 1},
    {"assay.MaeLoss", "rows is i64 [1] and must be an i64 scalar", {F(3), F(3), I(1)}, 3, {{0}}, 0, 1},
    {"assay.Adam", "it has 0 states and needs 2", {F(3), F(3), F(1), F(1), SCALAR(I64)}, 5, {{0}}, 0, 1},
    {"assay.Adam",
     "beta1 is 1 and must be at least 0 and below 1",
     {F(3), F(3), F(1), F(1), SCALAR(I64)},
     5,
     {AS_ATTR_F("beta1", 1)},
     1,
     1},
    {"assay.Sgd", "w is f32 [3,1] and must be an f32 vector", {F(3, 1), F(3), F(1), F(1), SCALAR(I64)}, 5, {{0}}, 0, 1},
    {"assay.Sgd", "g is f32 [4] and must be f32 [3]", {F(3), F(4), F(1), F(1), SCALAR(I64)}, 5, {{0}}, 0, 1},
    {"assay.Sgd",
     "rates is f32 [1] and must be f32 [2]",
     {F(3), F(3), F(1), F(2), SCALAR(I64)},
     5,
     {AS_ATTR_LIST("starts", 0, 1)},
     1,
     1},
    {"assay.Sgd", "starts[1] is 4 and must be", {F(3), F(3), F(2), F(2), SCALAR(I64)}, 5, {AS_ATTR_LIST("starts", 0, 4)}, 1, 1},
    {"assay.Sgd",
     "clip_norm is 1 and the norm is absent",
     {F(3), F(3), F(1), F(1), SCALAR(I64)},
     5,
     {AS_ATTR_F("clip_norm", 1)},
     1,
     1},
    {"assay.Sgd",
     "nesterov needs a momentum and no dampening",
     {F(3), F(3), F(1), F(1), SCALAR(I64)},
     5,
     {AS_ATTR_I("nesterov", 1)},
     1,
     1},
    {"assay.Sgd", "4 outputs are requested and it gives at most 3", {F(3), F(3), F(1), F(1), SCALAR(I64)}, 5, {{0}}, 0, 4},
    {"assay.GradNorm", "scale is f32 [1] and must be a scalar", {F(3), F(1)}, 2, {{0}}, 0, 1},
    {"assay.Accumulate", "keep a scalar", {F(3), F(3), F(1)}, 3, {{0}}, 0, 1},
};

Test(loss, what_cannot_be_is_refused_while_planning)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        as_tensor_info out[AS_MAX_OUT];
        as_node_ctx    n = {.op = as_op_find(r->op),
                            .name = "n",
                            .attrs = r->attrs,
                            .n_attrs = r->n_attrs,
                            .in = r->in,
                            .n_in = r->n_in,
                            .n_out = r->n_out};
        expect_fails(env, as_op_infer(env, &n, out), ASSAY_BAD_INPUT, r->part);
    }
    assay_env_free(env);
}
