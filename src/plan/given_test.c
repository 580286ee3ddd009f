/* given_test.c - inputs from files: read before planning, held by the plan, and kept by every run. */
#include "plan/test_fixture.h"

#include <string.h>

/* y = Reshape(x, s) for inputs x [6] and s [2]. */
static void reshaped(fixture *f)
{
    as_maker *m;
    as_dims   x = {.rank = 1, .dim = {{.size = 6}}}, s = {.rank = 1, .dim = {{.size = 2}}};
    fixture_open(f, NULL);
    expect_ok(f->env, as_maker_new(f->env, "reshaped", 1, &m));
    int in[] = {as_maker_input(m, "x", AS_F32, &x), as_maker_input(m, "s", AS_I64, &s)};
    as_maker_output(m, as_maker_node(m, "Reshape", "r", in, 2, NULL, 0, NULL, 1, NULL));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

static void give(fixture *f, const char *name, const as_view *view)
{
    char path[512], option[640];
    snprintf(path, sizeof path, "%s", as_test_path(name));
    expect_ok(f->env, as_npy_save(f->env, path, view));
    snprintf(option, sizeof option, "%s=%s", name, path);
    fixture_set(f, "input", option);
}

Test(given, a_plan_is_made_for_the_values_that_shapes_depend_on)
{
    fixture f;
    int64_t sizes[] = {2, 3};
    float   x[] = {1, 2, 3, 4, 5, 6};
    as_view s = as_view_of(sizes, AS_I64, &AS_SHAPE(2)), v = as_view_of(x, AS_F32, &AS_SHAPE(6));
    reshaped(&f);
    give(&f, "s", &s);
    give(&f, "x", &v);
    fixture_plan(&f);
    expect_eq(f.plan->n_fixed, 1);
    expect_ok(f.env, assay_instance_new(f.env, f.plan, &f.instance));
    fixture_step(&f);
    fixture_step(&f); /* the inputs are still there */
    as_view y = as_instance_output(f.instance, 0);
    expect(as_shape_same(&y.shape, &AS_SHAPE(2, 3)));
    expect_near(as_view_get(&y, 5), 6, 0);
    /* x may change from run to run; another s needs another plan. */
    as_view given = as_instance_input(f.instance, 0);
    as_view_set(&given, 5, 7);
    fixture_step(&f);
    expect_near(as_view_get(&y, 5), 7, 0);
    given = as_instance_input(f.instance, 1);
    as_view_set_i64(&given, 0, 3);
    expect_fails(f.env, as_instance_step(AS_RUN(f.env), f.instance), ASSAY_BAD_INPUT,
                 "instance: shapes depend on the input 's', whose values differ from those that the plan was made for");
    fixture_close(&f);
}

Test(given, without_them_the_sentence_says_what_to_give)
{
    fixture f;
    reshaped(&f);
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT,
                 "Reshape 'r': shape (input 1) must be known while planning; give the values of the input 's' (--input s=FILE)");
    fixture_close(&f);
}

Test(given, a_file_decides_the_symbols_that_the_user_did_not)
{
    fixture f;
    float   x[5 * 4] = {0};
    as_view v = as_view_of(x, AS_F32, &AS_SHAPE(5, 4));
    fixture_open(&f, "mlp:sizes=4x3");
    give(&f, "x", &v);
    fixture_plan(&f);
    expect_eq(f.plan->n_dims, 1);
    expect_eq(f.plan->dims[0].size, 5);
    expect_eq(f.plan->n_fixed, 0);
    assay_plan_free(f.plan);
    f.plan = NULL;
    fixture_set(&f, "batch", "2");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT, "has [5,4], the model needs [2,4]");
    fixture_close(&f);
}

Test(given, names_and_files_must_be_there)
{
    fixture f;
    reshaped(&f);
    fixture_set(&f, "input", "q=none.npy");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_NOT_FOUND, "no input named 'q'");
    fixture_close(&f);
    reshaped(&f);
    fixture_set(&f, "input", "s=none.npy");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_NOT_FOUND, "none.npy");
    fixture_close(&f);
}

/* --- Sequences ------------------------------------------------------------------------------------------ */

/* y = x * 1 [batch,seq,2], h_n = h0 [batch,3], and time spans [batch,seq]. */
static void sequences(fixture *f)
{
    as_maker *m;
    as_dim    batch = {.symbol = "batch"}, seq = {.symbol = "seq"};
    as_dims   x = {.rank = 3, .dim = {batch, seq, {.size = 2}}}, t = {.rank = 2, .dim = {batch, seq}},
            h = {.rank = 2, .dim = {batch, {.size = 3}}};
    const char *names[] = {"y", "spans", "h_n"};
    fixture_open(f, NULL);
    expect_ok(f->env, as_maker_new(f->env, "sequences", 1, &m));
    int in[] = {as_maker_input(m, "x", AS_F32, &x), as_maker_input(m, "timespans", AS_F32, &t),
                as_maker_input(m, "h0", AS_F32, &h)};
    for (int i = 0; i < 3; i++)
        as_maker_output(m, as_maker_node(m, "Neg", NULL, &in[i], 1, NULL, 0, NULL, 1, &names[i]));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

static void give_as(fixture *f, const char *option, const char *name, const float *values, as_shape shape)
{
    char    path[512];
    as_view view = as_view_of((void *)(uintptr_t)values, AS_F32, &shape);
    snprintf(path, sizeof path, "%s", as_test_path(name));
    expect_ok(f->env, as_npy_save(f->env, path, &view));
    fixture_set(f, option, path);
}

static const float numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

Test(given, one_sequence_needs_no_batch_axis)
{
    fixture f;
    sequences(&f);
    give_as(&f, "input", "x.npy", numbers, AS_SHAPE(4, 2));
    give_as(&f, "timespans", "t.npy", numbers, AS_SHAPE(4));
    give_as(&f, "state-in", "h.npy", numbers, AS_SHAPE(3));
    fixture_plan(&f);
    expect(f.plan->given[0].unbatched && f.plan->given[1].unbatched && f.plan->given[2].unbatched);
    expect_ok(f.env, assay_instance_new(f.env, f.plan, &f.instance));
    fixture_step(&f);
    as_view y = as_instance_output(f.instance, 0), spans = as_instance_output(f.instance, 1), h = as_instance_output(f.instance, 2);
    expect(as_shape_same(&y.shape, &AS_SHAPE(1, 4, 2)) && as_shape_same(&spans.shape, &AS_SHAPE(1, 4)) &&
           as_shape_same(&h.shape, &AS_SHAPE(1, 3)));
    expect(as_view_get(&y, 7) == -8 && as_view_get(&spans, 3) == -4 && as_view_get(&h, 2) == -3);
    fixture_close(&f);
}

Test(given, a_batch_of_sequences_and_spans_with_an_axis_of_1_are_taken_too)
{
    fixture f;
    sequences(&f);
    give_as(&f, "input", "x.npy", numbers, AS_SHAPE(2, 3, 2));
    give_as(&f, "timespans", "t.npy", numbers, AS_SHAPE(2, 3, 1));
    fixture_plan(&f);
    expect(!f.plan->given[0].unbatched && !f.plan->given[1].unbatched);
    expect_ok(f.env, assay_instance_new(f.env, f.plan, &f.instance));
    fixture_step(&f);
    as_view spans = as_instance_output(f.instance, 1);
    expect(as_shape_same(&spans.shape, &AS_SHAPE(2, 3)));
    expect(as_view_get(&spans, 5) == -6);
    fixture_close(&f);
}

Test(given, time_spans_that_are_no_time_are_refused)
{
    static const struct {
        float       value;
        const char *words;
    } cases[] = {{-1, "time span 1 is -1"}, {NAN, "time span 1 is"}, {INFINITY, "time span 1 is inf"}};
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        fixture f;
        float   spans[] = {0, cases[i].value, 1};
        sequences(&f);
        give_as(&f, "timespans", "t.npy", spans, AS_SHAPE(1, 3));
        expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT, cases[i].words);
        fixture_close(&f);
    }
}

Test(given, the_length_of_a_sequence_is_an_option_or_comes_from_a_file)
{
    fixture f;
    sequences(&f);
    fixture_set(&f, "seq", "7");
    fixture_plan(&f);
    expect_ok(f.env, assay_instance_new(f.env, f.plan, &f.instance));
    as_view x = as_instance_input(f.instance, 0);
    expect(as_shape_same(&x.shape, &AS_SHAPE(1, 7, 2)));
    fixture_close(&f);

    sequences(&f);
    fixture_set(&f, "seq", "7");
    fixture_set(&f, "dim", "seq=7");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT,
                 "--seq 7 and --dim seq=... are both given");
    fixture_close(&f);

    fixture_open(&f, "mlp-small");
    fixture_set(&f, "seq", "7");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT,
                 "the sequence length of the model 'mlp-small' is fixed");
    fixture_close(&f);
}

Test(given, spans_and_states_need_their_inputs)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "timespans", "t.npy");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT, "has no input `timespans`");
    fixture_close(&f);

    fixture_open(&f, "mlp-small");
    fixture_set(&f, "state-in", "h.npy");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT, "has no state input such as h0");
    fixture_close(&f);

    sequences(&f);
    give_as(&f, "timespans", "t.npy", numbers, AS_SHAPE(1, 3));
    char option[640];
    snprintf(option, sizeof option, "timespans=%s", as_test_path("t.npy"));
    fixture_set(&f, "input", option);
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT,
                 "and --input timespans=... are both given");
    fixture_close(&f);
}
