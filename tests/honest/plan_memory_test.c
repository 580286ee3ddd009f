/* plan_memory_test.c - a plan states its peak to the byte, and a steady run allocates nothing. */
#include "plan/test_fixture.h"

static void states_what_it_takes(const char *spec, const char *batch, const char *device)
{
    fixture f;
    fixture_open(&f, spec);
    fixture_set(&f, "batch", batch);
    fixture_set(&f, "device", device);
    fixture_plan(&f);
    uint64_t stated = assay_plan_peak_bytes(f.plan);
    expect(stated > 0);
    fixture_instance(&f);
    for (int i = 0; i < 3; i++)
        fixture_step(&f);
    for (int d = 0; d < f.plan->n_devices; d++) {
        expect_eq(f.plan->devices[d]->live_bytes, f.plan->device_bytes[d]);
        expect_eq(f.plan->devices[d]->peak_bytes, f.plan->device_bytes[d]);
        expect_eq(f.plan->devices[d]->n_allocs, 1);
    }
    expect_eq(as_instance_peak_bytes(f.instance), stated);
    expect(f.plan->lower_bound_bytes <= stated);
    fixture_close(&f);
}

Test(plan_memory, mlp_small_holds_what_its_plan_states) { states_what_it_takes("mlp-small", "8", "cpu"); }
Test(plan_memory, cnn_small_holds_what_its_plan_states) { states_what_it_takes("cnn-small", "2", "cpu"); }
Test(plan_memory, cnn_small_on_another_device_holds_what_its_plan_states) { states_what_it_takes("cnn-small", "2", "null"); }

/* What malloc was asked for while an instance was made, over what the plan stated for it. */
static size_t made_beside_the_plan(const char *spec, const char *batch)
{
    fixture f;
    fixture_open(&f, spec);
    fixture_set(&f, "batch", batch);
    fixture_plan(&f);
    size_t before = as_test_live_bytes();
    expect_ok(f.env, assay_instance_new(f.env, f.plan, &f.instance));
    size_t taken = as_test_live_bytes() - before, stated = (size_t)assay_plan_peak_bytes(f.plan);
    expect(taken >= stated);
    as_test_reset_peak();
    size_t peak = as_test_peak_bytes();
    for (int i = 0; i < 3; i++)
        fixture_step(&f);
    expect_eq(as_test_peak_bytes(), peak);
    fixture_close(&f);
    expect(taken - stated < 16384);
    return taken - stated;
}

/* The bookkeeping is a few kilobytes and the same for every batch, so all the rest is what the plan stated. */
static void malloc_agrees(const char *spec)
{
    if (as_test_live_bytes() == SIZE_MAX)
        skip("this linker cannot wrap malloc");
    expect_eq(made_beside_the_plan(spec, "1"), made_beside_the_plan(spec, "7"));
}

Test(plan_memory, malloc_agrees_with_the_plan_of_mlp_small) { malloc_agrees("mlp-small"); }
Test(plan_memory, malloc_agrees_with_the_plan_of_cnn_small) { malloc_agrees("cnn-small"); }

static void steady_step_allocates_nothing(const char *spec, const char *threads, const char *compile, bool records)
{
    fixture f;
    if (as_test_n_allocs() == SIZE_MAX)
        skip("this linker cannot wrap malloc");
    fixture_open(&f, spec);
    fixture_set(&f, "threads", threads);
    fixture_set(&f, "compile", compile);
    fixture_set(&f, "batch", "2");
    fixture_plan(&f);
    fixture_instance(&f);
    static as_span room[3][256];
    as_ring        rings[3];
    for (int i = 0; i < 3; i++)
        rings[i] = (as_ring){.spans = room[i], .capacity = 256, .thread = (uint16_t)i};
    as_recorder recorder = {.rings = rings, .n_rings = 3, .detail = AS_DETAIL_PART};
    fixture_step(&f);
    size_t before = as_test_n_allocs();
    for (int i = 0; i < 5; i++)
        expect_ok(f.env, as_instance_step(AS_RUN_WITH(f.env, records ? &recorder : NULL), f.instance));
    expect_eq(as_test_n_allocs(), before);
    expect_eq(rings[0].used > 0, records);
    fixture_close(&f);
}

Test(plan_memory, a_steady_step_of_mlp_small_allocates_nothing) { steady_step_allocates_nothing("mlp-small", "1", "on", false); }
Test(plan_memory, a_steady_step_of_cnn_small_allocates_nothing) { steady_step_allocates_nothing("cnn-small", "1", "on", false); }
Test(plan_memory, a_recorded_step_allocates_nothing) { steady_step_allocates_nothing("mlp-small", "1", "on", true); }
Test(plan_memory, a_step_by_three_threads_allocates_nothing) { steady_step_allocates_nothing("cnn-small", "3", "on", true); }
Test(plan_memory, a_step_without_compiling_allocates_nothing) { steady_step_allocates_nothing("cnn-small", "1", "off", false); }

/* Placed by lifetime, the activations take less than all of them side by side. */
Test(plan_memory, buffers_share_memory_by_lifetime)
{
    fixture f;
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "batch", "4");
    fixture_plan(&f);
    expect(assay_plan_peak_bytes(f.plan) < f.plan->activation_bytes + f.plan->scratch_bytes + f.plan->packed_bytes);
    for (int i = 0; i < f.plan->n_buffers; i++)
        for (int k = 0; k < i; k++) {
            const as_buffer *a = &f.plan->buffers[i], *b = &f.plan->buffers[k];
            bool             ours = a->device == b->device && !a->outside && !b->outside && a->alias_of < 0 && b->alias_of < 0;
            bool             in_time = a->first <= b->last && b->first <= a->last;
            bool             in_room = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
            if (ours && in_time && in_room)
                fail("%s and %s live at once and share memory", a->name, b->name);
        }
    fixture_close(&f);
}
