/* winograd_test.c - the error of --winograd is measured, small, and reported. */
#include "plan/test_fixture.h"
#include "run/run.h"

static double error_of(const char *spec, const char *winograd, int *n_steps)
{
    fixture f;
    double  error = -1.0;
    fixture_open(&f, spec);
    fixture_set(&f, "winograd", winograd);
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    *n_steps = 0;
    for (int s = 0; s < f.plan->n_steps; s++)
        *n_steps += f.plan->steps[s].kind == AS_STEP_NODE && strstr(f.plan->steps[s].choice.name, "winograd") != NULL;
    as_plan_options options;
    expect_ok(f.env, as_plan_options_read(f.env, f.options, &options));
    expect_ok(f.env, as_run_winograd_error(f.env, f.instance, &options, &error));
    fixture_close(&f);
    return error;
}

Test(winograd, its_error_is_measured_against_the_exact_plan)
{
    int    n;
    double error = error_of("cnn-small", "on", &n);
    expect(n > 0);
    expect(error > 0.0);
    expect(error < 1e-3);
}

Test(winograd, the_exact_plan_does_not_differ_from_itself)
{
    int n;
    expect_eq(error_of("cnn-small", "off", &n), 0.0);
    expect_eq(n, 0);
}

Test(winograd, a_profile_notes_its_error)
{
    fixture      f;
    assay_trace *t;
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "winograd", "on");
    fixture_plan(&f);
    expect_ok(f.env, as_trace_new(f.env, &t));
    as_plan_options options;
    expect_ok(f.env, as_plan_options_read(f.env, f.options, &options));
    expect_ok(f.env, as_run_winograd_note(f.env, f.plan, &options, 1, t));
    expect(as_trace_note_find(t, "winograd.error") != NULL);
    expect(atof(as_trace_note_find(t, "winograd.error")) < 1e-3);
    assay_trace_free(t);
    fixture_close(&f);
}
