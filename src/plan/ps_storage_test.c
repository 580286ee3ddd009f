/* ps_storage_test.c - weights in 16 bits: which layers, how exact, and when not. */
#include <math.h>

#include "plan/edit.h"
#include "plan/test_fixture.h"

/* One product with given weights. */
static void product_open(fixture *f, const char *type, int64_t m, int64_t k, int64_t n, float *weights)
{
    fixture_open(f, NULL);
    as_maker *maker = fixture_maker(f);
    as_shape  shape = AS_SHAPE(k, n);
    as_view   view = as_view_of(weights, AS_F32, &shape);
    int       w = as_maker_constant(maker, "w", &view);
    as_maker_output(maker, fixture_node2(maker, "MatMul", "p", fixture_input(maker, "x", m, k), w));
    expect_ok(f->env, as_maker_finish(maker, &f->model));
    fixture_set(f, "weights-as", type);
    fixture_plan(f);
}

static const as_pass_note *note_of(const assay_plan *plan)
{
    for (int i = 0; i < plan->n_passes; i++)
        if (!strcmp(plan->passes[i].pass, "storage"))
            return &plan->passes[i];
    fail("there is no pass storage");
    return NULL;
}

/* Steps whose weights are stored as `type`. */
static int stored_count(const assay_plan *plan, const char *type)
{
    int n = 0;
    for (int s = plan->n_prologue; s < plan->n_steps; s++)
        n += plan->steps[s].kind == AS_STEP_NODE && !strcmp(as_attr_text(plan->steps[s].seg.ctx, "weights", "f32"), type);
    return n;
}

Test(storage, every_product_of_an_mlp_stores_half_the_bytes)
{
    uint64_t packed[3];
    for (int i = 0; i < 3; i++) {
        static const char *const types[] = {"f32", "f16", "bf16"};
        fixture                  f;
        fixture_open(&f, "mlp:sizes=64x32x16");
        fixture_set(&f, "weights-as", types[i]);
        fixture_plan(&f);
        packed[i] = f.plan->packed_bytes;
        expect_eq(note_of(f.plan)->n_changed, i ? 2 : 0);
        expect_eq(note_of(f.plan)->bytes_saved, i ? 2 * (64 * 32 + 32 * 16) : 0);
        if (i) {
            expect_eq(stored_count(f.plan, types[i]), 2);
            expect(strstr(note_of(f.plan)->text, "weights of 2 products are stored as") != NULL);
        }
        fixture_close(&f);
    }
    expect_eq(packed[0] - packed[1], 2 * (64 * 32 + 32 * 16)); /* whole panels: the same as in the note, to the byte */
    expect_eq(packed[1], packed[2]);
}

Test(storage, op_by_op_stores_f32)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "weights-as", "f16");
    fixture_set(&f, "compile", "off");
    fixture_plan(&f);
    expect_eq(stored_count(f.plan, "f16"), 0);
    fixture_close(&f);
}

Test(storage, a_run_reads_what_is_stored)
{
    static float weights[32 * 16];
    uint64_t     read[2];
    for (int i = 0; i < 2; i++) {
        fixture f;
        product_open(&f, i ? "bf16" : "f32", 1, 32, 16, weights);
        read[i] = f.plan->steps[fixture_step_find(f.plan, "p")].cost.bytes_read;
        fixture_close(&f);
    }
    expect_eq(read[0], 4 * (32 + 32 * 16));
    expect_eq(read[1], 4 * 32 + 2 * 32 * 16);
}

/* Weights of all sizes, some of them too small for a normal f16; |Y - exact| must not pass what rounding them allows, and must
 * be more than f32 would give, or nothing was stored in 16 bits. */
static void bound_check(const char *type, double relative, double least, int64_t m, int64_t k, int64_t n)
{
    float  *weights = malloc((size_t)(k * n) * sizeof *weights);
    fixture f;
    double  worst = 0.0;
    expect(weights != NULL);
    for (int64_t i = 0; i < k * n; i++)
        weights[i] = (float)(sin(1.0 + (double)i * 0.7) * pow(2.0, (double)(i % 23) - 18.0));
    product_open(&f, type, m, k, n, weights);
    expect_eq(stored_count(f.plan, type), 1);
    fixture_instance(&f);
    fixture_step(&f);
    as_view x = as_instance_input(f.instance, 0), y = as_instance_output(f.instance, 0);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double exact = 0.0, allowed = 0.0, terms = 0.0;
            for (int64_t t = 0; t < k; t++) {
                double a = as_view_get(&x, i * k + t), b = (double)weights[t * n + j];
                exact += a * b;
                terms += fabs(a * b);
                allowed += fabs(a) * fmax(relative * fabs(b), least);
            }
            double error = fabs(as_view_get(&y, i * n + j) - exact);
            double rounding = 0x1p-24 * (double)(k + 1) * (1.0 + relative) * terms;
            if (!(error <= allowed + rounding))
                fail("%s: element %lld,%lld is off by %g, allowed are %g + %g", type, (long long)i, (long long)j, error, allowed,
                     rounding);
            worst = fmax(worst, error / (allowed + rounding));
        }
    expect(worst > 1e-3);
    fixture_close(&f);
    free(weights);
}

Test(storage, an_answer_is_within_the_bound_that_is_stated)
{
    static const int64_t sizes[][3] = {{1, 64, 32}, {1, 7, 5}, {3, 33, 17}, {5, 20, 48}, {6, 8, 16}, {13, 330, 19}, {64, 40, 33}};
    for (size_t i = 0; i < AS_COUNT(sizes); i++) {
        bound_check("f16", 0x1p-11, 0x1p-25, sizes[i][0], sizes[i][1], sizes[i][2]);
        bound_check("bf16", 0x1p-8, 0.0, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
}

Test(storage, a_weight_beyond_f16_keeps_its_layer_in_f32_and_the_note_says_which)
{
    float   weights[4 * 4] = {0};
    fixture f;
    weights[3] = 65519.0f; /* rounds to the largest */
    product_open(&f, "f16", 2, 4, 4, weights);
    expect_eq(stored_count(f.plan, "f16"), 1);
    fixture_close(&f);
    weights[7] = -65520.0f; /* rounds to infinity */
    product_open(&f, "f16", 2, 4, 4, weights);
    expect_eq(note_of(f.plan)->n_changed, 0);
    expect_eq(note_of(f.plan)->bytes_saved, 0);
    expect_str(note_of(f.plan)->text,
               "weights of 0 products are stored as f16, half the bytes; 1 stays f32: 'w' has -65520, which f16 cannot hold");
    fixture_close(&f);
    product_open(&f, "bf16", 2, 4, 4, weights);
    expect_eq(stored_count(f.plan, "bf16"), 1);
    fixture_close(&f);
    weights[0] = 3.4e38f;
    product_open(&f, "bf16", 2, 4, 4, weights);
    expect_eq(stored_count(f.plan, "bf16"), 0);
    fixture_close(&f);
    weights[0] = weights[7] = INFINITY; /* infinite in every type */
    product_open(&f, "f16", 2, 4, 4, weights);
    expect_eq(stored_count(f.plan, "f16"), 1);
    fixture_close(&f);
}

/* w' = -w: known only at run time. */
Test(storage, weights_that_are_computed_are_not_stored_as_f16)
{
    for (int i = 0; i < 2; i++) {
        fixture f;
        fixture_open(&f, NULL);
        as_maker *m = fixture_maker(&f);
        int       w = fixture_node1(m, "Neg", "minus", as_maker_param_random(m, "w", &AS_SHAPE(8, 16), 8));
        as_maker_output(m, fixture_node2(m, "MatMul", "p", fixture_input(m, "x", 3, 8), w));
        expect_ok(f.env, as_maker_finish(m, &f.model));
        fixture_set(&f, "weights-as", i ? "bf16" : "f16");
        fixture_plan(&f);
        expect_eq(note_of(f.plan)->n_changed, i);
        expect_eq(strstr(note_of(f.plan)->text, "'minus' is computed, so its range is not known") != NULL, !i);
        fixture_close(&f);
    }
}

Test(storage, a_product_of_two_inputs_and_a_batch_of_matrices_are_left)
{
    fixture f;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    int       x = fixture_input(m, "x", 8, 8), w = as_maker_param_random(m, "w", &AS_SHAPE(2, 8, 4), 8);
    as_maker_output(m, fixture_node2(m, "MatMul", "squared", x, x));
    as_maker_output(m, fixture_node2(m, "MatMul", "many", x, w));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_set(&f, "weights-as", "f16");
    fixture_plan(&f);
    expect_eq(note_of(f.plan)->n_changed, 0);
    fixture_close(&f);
}
