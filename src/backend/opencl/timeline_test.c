#include "backend/opencl/timeline.h"
#include "tests/runner/test.h"

/* A host clock of 2 ns per tick, and a device whose epoch is 1 s before its first command. */
enum { TICK_NS = 2, N_MAX = 4 };
#define EPOCH UINT64_C(1000000000)

static const as_clock host = {.kind = AS_CLOCK_COUNTER, .ns_per_tick = TICK_NS, .name = "test"};

/* A command that was enqueued at host time [before, before + 1000), queued `late` ns into that, and ran [start, end); all in ns
 * after the wall's begin at tick 5000. */
static as_cl_stamp stamp(int step, uint64_t before, uint64_t late, uint64_t start, uint64_t end)
{
    return (as_cl_stamp){.step = step,
                         .ran = true,
                         .before_ticks = 5000 + before / TICK_NS,
                         .after_ticks = 5000 + (before + 1000) / TICK_NS,
                         .queued_ns = EPOCH + before + late,
                         .start_ns = EPOCH + start,
                         .end_ns = EPOCH + end};
}

static as_cl_wall wall_of(const as_cl_stamp *stamps, int n, uint64_t wall_ns)
{
    return (as_cl_wall){.begin_ticks = 5000, .end_ticks = 5000 + wall_ns / TICK_NS, .stamps = stamps, .n_stamps = n};
}

static assay_env *env;
static void       env_make(void) { expect_eq(assay_env_new(&env), ASSAY_OK); }

Test(timeline, brackets_the_offset_by_the_enqueue_calls)
{
    env_make();
    /* The true offset is -EPOCH: the origin (step 3's start, 20 us) lies 20 us after the wall's begin. */
    as_cl_stamp stamps[] = {stamp(3, 0, 100, 20000, 30000), stamp(4, 2000, 950, 30000, 45000)};
    as_cl_wall  wall = wall_of(stamps, 2, 60000);
    as_cl_fit   fit;
    expect_ok(env, as_cl_timeline_fit(env, &host, &wall, &fit));
    expect(fit.by_queued);
    /* Step 3 says the offset is at most 900 ns too late, step 4 at most 50 ns too late; the early side is 100 ns. */
    expect_near(fit.offset_ns, 20000 + (50 - 100) / 2.0, 1e-6);
    expect_near(fit.uncertainty_ns, 75, 1e-6);
    expect_near(fit.busy_ns, 25000, 1e-9);
    expect(fabs(fit.offset_ns - 20000) <= fit.uncertainty_ns);
    assay_env_free(env);
}

Test(timeline, falls_back_to_causality_when_QUEUED_is_not_of_the_same_counter)
{
    env_make();
    as_cl_stamp stamps[] = {stamp(0, 0, 0, 20000, 50000)};
    stamps[0].queued_ns = 0;
    as_cl_wall wall = wall_of(stamps, 1, 60000);
    as_cl_fit  fit;
    expect_ok(env, as_cl_timeline_fit(env, &host, &wall, &fit));
    expect(!fit.by_queued);
    /* It ran 30 us somewhere in 60 us. */
    expect_near(fit.offset_ns, 15000, 1e-6);
    expect_near(fit.uncertainty_ns, 15000, 1e-6);
    assay_env_free(env);
}

Test(timeline, refuses_commands_that_took_longer_than_the_wall)
{
    env_make();
    as_cl_fit   fit = {.origin_ns = 77};
    as_cl_stamp fits[] = {stamp(0, 0, 0, 0, 1000000 + 20000)}, long_one[] = {stamp(0, 0, 0, 0, 1000000 + 20002)};
    as_cl_wall  wall = wall_of(fits, 1, 1000000), too_short = wall_of(long_one, 1, 1000000);
    expect_fails(env, as_cl_timeline_fit(env, &host, &too_short, &fit), ASSAY_DEVICE,
                 "measuring error: the device says that 1 steps took 1020002 ns, but their segment took 1000000 ns");
    expect_eq(fit.origin_ns, 77);
    expect_ok(env, as_cl_timeline_fit(env, &host, &wall, &fit)); /* exactly 1 % and 10 us */
    assay_env_free(env);
}

Test(timeline, refuses_a_command_that_ends_before_it_starts)
{
    env_make();
    as_cl_stamp stamps[] = {stamp(9, 0, 0, 500, 400)};
    as_cl_wall  wall = wall_of(stamps, 1, 10000);
    as_cl_fit   fit;
    expect_fails(env, as_cl_timeline_fit(env, &host, &wall, &fit), ASSAY_DEVICE,
                 "step 9 started at 1000000500 ns and ended at 1000000400 ns");
    assay_env_free(env);
}

/* Spans of a written wall, by kind. */
static int spans_of(const as_cl_wall *wall, as_span_kind kind, as_span *out)
{
    as_span   spans[2 * N_MAX];
    as_ring   ring = {.spans = spans, .capacity = 2 * N_MAX};
    as_cl_fit fit;
    int       n = 0;
    expect_ok(env, as_cl_timeline_fit(env, &host, wall, &fit));
    as_cl_timeline_write(&host, wall, &fit, &ring);
    expect_eq(ring.dropped, 0);
    for (uint32_t i = 0; i < ring.used; i++)
        if (spans[i].kind == kind)
            out[n++] = spans[i];
    return n;
}

Test(timeline, writes_steps_at_mapped_times_with_an_empty_one_for_what_did_not_run)
{
    env_make();
    /* QUEUED at both ends of the enqueue calls pins the offset exactly. */
    as_cl_stamp stamps[] = {stamp(0, 0, 0, 10000, 20000), {.step = 1}, stamp(2, 2000, 1000, 30000, 36000)};
    as_cl_wall  wall = wall_of(stamps, 3, 50000);
    as_span     steps[N_MAX], devices[N_MAX];
    expect_eq(spans_of(&wall, AS_SPAN_STEP, steps), 3);
    expect_eq(spans_of(&wall, AS_SPAN_DEVICE, devices), 2);
    expect_eq(steps[0].begin_ticks, 5000 + 5000);
    expect_eq(steps[0].end_ticks, 5000 + 10000);
    expect_eq(steps[1].begin_ticks, 5000 + 10000);
    expect_eq(steps[1].end_ticks, steps[1].begin_ticks);
    expect_eq(steps[1].step, 1);
    expect_eq(steps[2].begin_ticks, 5000 + 15000);
    expect_eq(steps[2].end_ticks, 5000 + 18000);
    expect_eq(devices[1].step, 2);
    expect_eq(devices[1].end_ticks - devices[1].begin_ticks, 3000);
    assay_env_free(env);
}

Test(timeline, keeps_steps_disjoint_and_inside_the_wall_when_commands_overlap_it)
{
    env_make();
    /* Overlapping commands whose extent is longer than the wall: the slack allows it, but the step spans must not show it. */
    as_cl_stamp stamps[] = {stamp(0, 0, 0, 0, 6000), stamp(1, 100, 0, 5000, 12000), stamp(2, 200, 0, 4000, 5000)};
    as_cl_wall  wall = wall_of(stamps, 3, 10000);
    as_span     steps[N_MAX], devices[N_MAX];
    expect_eq(spans_of(&wall, AS_SPAN_STEP, steps), 3);
    uint64_t cursor = wall.begin_ticks;
    for (int i = 0; i < 3; i++) {
        expect(steps[i].begin_ticks >= cursor);
        expect(steps[i].end_ticks >= steps[i].begin_ticks);
        cursor = steps[i].end_ticks;
    }
    expect(cursor <= wall.end_ticks);
    expect_eq(spans_of(&wall, AS_SPAN_DEVICE, devices), 3);
    expect_eq(devices[1].end_ticks - devices[1].begin_ticks, 3500); /* as long as the device reports */
    assay_env_free(env);
}

Test(timeline, of_nothing_is_empty)
{
    env_make();
    as_cl_wall wall = wall_of(NULL, 0, 100);
    as_span    steps[N_MAX];
    expect_eq(spans_of(&wall, AS_SPAN_STEP, steps), 0);
    assay_env_free(env);
}
