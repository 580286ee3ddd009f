/* given_test.c - inputs from files: read before planning, held by the plan, and kept by every run. */
#include "plan/test_fixture.h"

#include <string.h>

/* y = Reshape(x, s) for inputs x [6] and s [2]. */
static void reshaped(fixture *f)
{
    as_maker *m;
    as_dims   x = { .rank = 1, .dim = { { .size = 6 } } }, s = { .rank = 1, .dim = { { .size = 2 } } };
    fixture_open(f, NULL);
    expect_ok(f->env, as_maker_new(f->env, "reshaped", 1, &m));
    int in[] = { as_maker_input(m, "x", AS_F32, &x), as_maker_input(m, "s", AS_I64, &s) };
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
    int64_t sizes[] = { 2, 3 };
    float   x[] = { 1, 2, 3, 4, 5, 6 };
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
    /* Another value of x is what runs are for; another of s is another plan. */
    as_view given = as_instance_input(f.instance, 0);
    as_view_set(&given, 5, 7);
    fixture_step(&f);
    expect_near(as_view_get(&y, 5), 7, 0);
    given = as_instance_input(f.instance, 1);
    as_view_set_i64(&given, 0, 3);
    expect_fails(f.env, as_instance_step(f.env, f.instance, NULL), ASSAY_BAD_INPUT,
                 "instance: shapes depend on the input 's', which has other values than the plan was made for");
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
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &f.plan), ASSAY_BAD_INPUT, "holds [5,4], the model takes [2,4]");
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
