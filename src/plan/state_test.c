/* state_test.c */
#include "plan/plan.h"

#include "plan/test_fixture.h"

static int vector(as_maker *m, const char *name)
{
    return as_maker_input(m, name, AS_F32, &(as_dims){.rank = 1, .dim = {{.size = 2}}});
}

/* Outputs are sums of what they are named after. */
static void model_of(fixture *f, const char *const *inputs, int n_in, const char *const *outputs, int n_out)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       first = -1;
    for (int i = 0; i < n_in; i++) {
        int x = vector(m, inputs[i]);
        first = first < 0 ? x : first;
    }
    for (int i = 0; i < n_out; i++)
        as_maker_output(m, as_maker_node(m, "Neg", NULL, &first, 1, NULL, 0, NULL, 1, &outputs[i]));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

Test(state, pairs_are_found_by_the_names_of_torch_and_onnx)
{
    fixture       f;
    const char   *in[] = {"x", "h0", "c0", "initial_s", "k_in"}, *out[] = {"y", "c_n", "h_n", "Y_s", "k_out"};
    as_state_pair pairs[AS_MAX_STATES];
    model_of(&f, in, 5, out, 5);
    expect_eq(as_state_find(f.model, pairs, AS_MAX_STATES), 4);
    expect(pairs[0].input == 1 && pairs[0].output == 2);
    expect(pairs[1].input == 2 && pairs[1].output == 1);
    expect(pairs[2].input == 3 && pairs[2].output == 3);
    expect(pairs[3].input == 4 && pairs[3].output == 4);
    expect_eq(as_state_find(f.model, pairs, 2), 2);
    fixture_close(&f);
}

Test(state, names_that_only_look_like_it_are_no_pair)
{
    fixture       f;
    const char   *in[] = {"x", "h0", "0"}, *out[] = {"_n", "g_n", "h_out"};
    as_state_pair pairs[AS_MAX_STATES];
    model_of(&f, in, 3, out, 3);
    expect_eq(as_state_find(f.model, pairs, AS_MAX_STATES), 0);
    expect_eq(as_timespans_find(f.model), -1);
    fixture_close(&f);
}

Test(state, what_nobody_gives_is_zero_one_or_random_by_what_it_is)
{
    fixture     f;
    const char *in[] = {"x", "h0", "timespans"}, *out[] = {"y", "h_n"};
    float       values[2];
    as_view     view = as_view_of(values, AS_F32, &AS_SHAPE(2));
    model_of(&f, in, 3, out, 2);
    expect_eq(as_timespans_find(f.model), 2);
    as_input_fill(f.model, 1, 1, &view);
    expect(values[0] == 0 && values[1] == 0);
    as_input_fill(f.model, 2, 1, &view);
    expect(values[0] == 1 && values[1] == 1);
    as_input_fill(f.model, 0, 1, &view);
    expect(values[0] != values[1] && fabsf(values[0]) <= 1 && fabsf(values[1]) <= 1);
    fixture_close(&f);
}
