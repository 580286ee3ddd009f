/* public_test.c - instances through the public header: inputs by number and name, own data in place, and the one way that inputs are filled. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/test_fixture.h"

static void open_instance(fixture *f, const char *spec)
{
    fixture_open(f, spec);
    fixture_plan(f);
    expect_ok(f->env, assay_instance_new(f->env, f->plan, &f->instance));
}

/* With random time spans a liquid network would go back in time, which it refuses. */
Test(instance, time_spans_are_filled_with_ones_and_states_with_zeros)
{
    fixture f;
    open_instance(&f, "ltc:input=4,units=8,wiring=full,timespans=1");
    bool seen = false;
    assay_instance_fill(f.instance, 7);
    for (size_t i = 0; i < assay_instance_n_inputs(f.instance); i++) {
        assay_tensor t;
        expect_ok(f.env, assay_instance_input(f.env, f.instance, i, &t));
        bool spans = !strcmp(t.name, "timespans"), state = !strcmp(t.name, "h0");
        seen = seen || spans;
        for (size_t k = 0; k < t.bytes / sizeof(float) && (spans || state); k++)
            expect_near((double)((const float *)t.data)[k], spans ? 1.0 : 0.0, 0);
    }
    expect(seen);
    expect_ok(f.env, assay_run(f.env, f.instance));
    fixture_close(&f);
}

/* The same numbers copied in and read in place give the same bits, through Flatten's shared memory too. */
Test(instance, own_data_are_read_where_they_lie)
{
    static const char *const specs[] = {"mlp-small", "cnn-small"};
    for (size_t s = 0; s < AS_COUNT(specs); s++) {
        fixture      f;
        assay_tensor x, y;
        open_instance(&f, specs[s]);
        assay_instance_fill(f.instance, 3);
        expect_ok(f.env, assay_run(f.env, f.instance));
        expect_ok(f.env, assay_instance_input(f.env, f.instance, 0, &x));
        expect_ok(f.env, assay_instance_output(f.env, f.instance, 0, &y));
        void *own = malloc(x.bytes), *want = malloc(y.bytes);
        expect(own && want);
        memcpy(own, x.data, x.bytes);
        memcpy(want, y.data, y.bytes);
        memset(x.data, 0, x.bytes);
        expect_ok(f.env, assay_instance_bind_input(f.env, f.instance, x.name, own, x.bytes));
        expect_ok(f.env, assay_run(f.env, f.instance));
        expect_ok(f.env, assay_instance_output(f.env, f.instance, 0, &y));
        expect_eq(memcmp(y.data, want, y.bytes), 0);
        fixture_close(&f);
        free(own);
        free(want);
    }
}

Test(instance, what_does_not_fit_is_refused)
{
    fixture      f;
    assay_tensor t;
    float        few[3] = {0};
    open_instance(&f, "mlp-small");
    expect_fails(f.env, assay_instance_input(f.env, f.instance, 9, &t), ASSAY_BAD_INPUT, "there is no input 9");
    expect_fails(f.env, assay_instance_output(f.env, f.instance, 9, &t), ASSAY_BAD_INPUT, "there is no output 9");
    expect_fails(f.env, assay_instance_bind_input(f.env, f.instance, "nothing", few, sizeof few), ASSAY_BAD_INPUT,
                 "has no input 'nothing'");
    expect_ok(f.env, assay_instance_input(f.env, f.instance, 0, &t));
    expect_fails(f.env, assay_instance_bind_input(f.env, f.instance, t.name, few, sizeof few), ASSAY_BAD_INPUT, "12 were given");
    expect_fails(f.env, assay_instance_bind_input(f.env, f.instance, t.name, (char *)t.data + 1, t.bytes), ASSAY_BAD_INPUT,
                 "not aligned");
    fixture_close(&f);
}

/* One run writes a file, another reads it; a batch axis of 1 may be left out of a file. */
Test(instance, inputs_come_from_files_and_outputs_go_to_them)
{
    fixture      f;
    assay_tensor h, x;
    char         path[] = "/tmp/assay-io-XXXXXX";
    close(mkstemp(path));
    open_instance(&f, "cfc:input=3,units=4,state=1");
    assay_instance_fill(f.instance, 5);
    expect_ok(f.env, assay_run(f.env, f.instance));
    expect_ok(f.env, assay_instance_output(f.env, f.instance, 1, &h));
    expect_eq(strcmp(h.name, "h_n"), 0);
    expect_ok(f.env, assay_instance_save_output(f.env, f.instance, "h_n", path));
    expect_ok(f.env, assay_instance_load_input(f.env, f.instance, "h0", path));
    bool seen = false;
    for (size_t i = 0; i < assay_instance_n_inputs(f.instance); i++) {
        expect_ok(f.env, assay_instance_input(f.env, f.instance, i, &x));
        if (!strcmp(x.name, "h0")) {
            seen = true;
            expect_eq(x.bytes, h.bytes);
            expect_eq(memcmp(x.data, h.data, h.bytes), 0);
        }
    }
    expect(seen);
    float   few[4] = {4, 3, 2, 1};
    as_view one = as_view_of(few, AS_F32, &(as_shape){.rank = 1, .dim = {4}});
    expect_ok(f.env, as_npy_save(f.env, path, &one));
    expect_ok(f.env, assay_instance_load_input(f.env, f.instance, "h0", path));
    expect_fails(f.env, assay_instance_load_input(f.env, f.instance, "x", path), ASSAY_BAD_INPUT, "has [4], the model needs");
    expect_fails(f.env, assay_instance_load_input(f.env, f.instance, "nothing", path), ASSAY_BAD_INPUT, "has no input 'nothing'");
    expect_fails(f.env, assay_instance_save_output(f.env, f.instance, "nothing", path), ASSAY_BAD_INPUT, "has no output 'nothing'");
    expect_ok(f.env, assay_instance_bind_input(f.env, f.instance, "h0", few, sizeof few));
    expect_fails(f.env, assay_instance_load_input(f.env, f.instance, "h0", path), ASSAY_BAD_INPUT, "bound to your own data");
    unlink(path);
    fixture_close(&f);
}
