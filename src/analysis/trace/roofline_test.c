/* roofline_test.c - steps against roofs of known height, and threads that wait for each other. */
#include "analysis/duel/test_lab.h"

#include <math.h>

#include "analysis/trace/roofline.h"

static void roof_add(assay_trace *t, const char *name, const char *unit, double value, double lo, double hi, const char *source)
{
    expect(as_trace_add_roof(
        t, &(as_trace_roof){.name = name, .unit = unit, .value = value, .lo = lo, .hi = hi, .n = 3, .source = source}));
}

/* The synthetic trace on a machine whose multiply-add rate is given; L1 32 KiB, L2 512 KiB, L3 32 MiB. */
static lab roofs_open(double fma, const char *source)
{
    lab          l = lab_open((as_synthetic){0});
    assay_trace *t = l.trace;
    expect(as_trace_add_note(t, "machine.cache.l1d", "32768") && as_trace_add_note(t, "machine.cache.l2", "524288") &&
           as_trace_add_note(t, "machine.cache.l3", "33554432"));
    roof_add(t, "fma.f32.scalar.t1", "flop/s", fma / 4, fma / 4, fma / 4, source);
    roof_add(t, "fma.f32.avx2.t1", "flop/s", fma, fma * .99, fma * 1.01, source);
    roof_add(t, "exp.f32.avx2.t1", "element/s", 2e9, 2e9, 2e9, source);
    roof_add(t, "read.l1.t1", "byte/s", 200e9, 190e9, 210e9, source);
    roof_add(t, "read.l2.t1", "byte/s", 100e9, 98e9, 102e9, source);
    roof_add(t, "triad.l2.t1", "byte/s", 50e9, 50e9, 50e9, source);
    roof_add(t, "read.l3.t1", "byte/s", 60e9, 50e9, 70e9, source);
    roof_add(t, "read.dram.t1", "byte/s", 20e9, 18e9, 24e9, source);
    return l;
}

static const as_cell *step_cell(const lab *l, int row, const char *column) { return cell(l, "roofline", "steps", row, column); }

/* fc1: 5 Mflop in 50 us; at 200 Gflop/s it could take 25.  Its 500 kB fit L2, 5 us at 100 GB/s: compute bound. */
Test(roofline, a_step_is_judged_by_the_roof_that_takes_longest)
{
    lab l = roofs_open(200e9, "test");
    lab_run(&l);
    expect_str(step_cell(&l, 0, "bound")->text, "compute");
    expect_str(step_cell(&l, 0, "level")->text, "L2");
    expect_str(step_cell(&l, 0, "roof")->text, "fma.f32.avx2.t1");
    expect_near(step_cell(&l, 0, "of_roof")->metric.value, 0.5, 1e-9);
    /* relu1: 1024 bytes at 200 GB/s, in 30 us. */
    expect_str(step_cell(&l, 1, "bound")->text, "L1");
    expect_near(step_cell(&l, 1, "of_roof")->metric.value, 1024 / 200e9 * 1e9 / 30000, 1e-12);
    /* softmax: ten exponentials at 2e9 a second take longer than its 80 bytes. */
    expect_str(step_cell(&l, 3, "bound")->text, "special");
    expect_near(step_cell(&l, 0, "recoverable")->metric.value, 25000.0 / 99000.0, 1e-9);
    expect(says(&l, "roofline", AS_LEVEL_GOOD, "none of 4 timed steps is above its roof"));
    expect(says(&l, "roofline", AS_LEVEL_NOTE, "Hotspot: relu1"));
    lab_close(&l);
}

/* fc1 and fc2 run at 100 and 200 Gflop/s: on a machine that does 150, fc2 cannot be. */
Test(roofline, what_is_faster_than_physics_is_an_error_of_the_instrument)
{
    lab l = roofs_open(150e9, "test");
    lab_run(&l);
    expect(says(&l, "roofline", AS_LEVEL_BAD, "fc2 is above its roof"));
    expect(!says(&l, "roofline", AS_LEVEL_BAD, "fc1 is above its roof"));
    expect_near(as_facts_metric(l.facts, "roofline.above")->value, 1, 0);
    lab_close(&l);
}

Test(roofline, what_a_plan_must_take_is_not_known_from_a_disturbed_roof)
{
    as_roofline_least quiet, disturbed;
    lab l = roofs_open(150e9, "test"), m = roofs_open(150e9, "third best of 5 chunks; disturbed: 3 of 5 chunks pre-empted");
    expect(as_roofline_sum(l.trace, &quiet) && as_roofline_sum(m.trace, &disturbed));
    expect(quiet.fast_ns > 0);
    expect(isnan(disturbed.fast_ns));
    expect_near(disturbed.roof_ns, quiet.roof_ns, 1e-9);
    lab_close(&l);
    lab_close(&m);
}

/* The same on roofs that were measured while others used the machine: they may be too low, and convict nobody. */
Test(roofline, a_disturbed_roof_convicts_nobody)
{
    lab l = roofs_open(150e9, "test; disturbed: 7 of 20 chunks pre-empted");
    lab_run(&l);
    expect(!says(&l, "roofline", AS_LEVEL_BAD, "fc2 is above its roof"));
    expect(says(&l, "roofline", AS_LEVEL_WARN, "fc2 is above its roof, but the roof was measured on a busy machine"));
    expect_near(as_facts_metric(l.facts, "roofline.above")->value, 0, 0);
    lab_close(&l);
}

/* 3 % above is within the margin. */
Test(roofline, the_margin_is_five_percent)
{
    lab l = roofs_open(192e9, "test");
    lab_run(&l);
    expect_near(as_facts_metric(l.facts, "roofline.above")->value, 0, 0);
    lab_close(&l);
}

/* A kernel that issues less than the definition (Winograd) may be above the roof of the useful work. */
Test(roofline, issued_work_is_what_counts_for_physics)
{
    lab l = roofs_open(150e9, "test");
    l.trace->steps[2].issued_flops = 1500000;
    l.trace->steps[2].issued_bytes = 300000;
    lab_run(&l);
    expect_near(as_facts_metric(l.facts, "roofline.above")->value, 0, 0);
    expect_near(step_cell(&l, 2, "issued_flops")->metric.value, 1500000, 0);
    lab_close(&l);
}

Test(roofline, disturbed_roofs_are_said_to_be)
{
    lab l = roofs_open(200e9, "third best; disturbed: 7 of 20 chunks pre-empted");
    lab_run(&l);
    expect(says(&l, "roofline", AS_LEVEL_WARN, "disturbed machine"));
    lab_close(&l);
}

Test(roofline, without_roofs_there_is_no_roofline)
{
    lab l = lab_open((as_synthetic){0});
    lab_run(&l);
    expect(!as_facts_group_find(l.facts, "roofline"));
    lab_close(&l);
}

/* Rates for more threads than were measured are those of one times so many. */
Test(roofline, threads_without_a_roof_of_their_own_multiply)
{
    lab l = roofs_open(200e9, "test");
    l.trace->threads = 2;
    lab_run(&l);
    expect_near(step_cell(&l, 0, "of_roof")->metric.value, 0.25, 1e-9);
    lab_close(&l);
}

/* --- Threads that wait ----------------------------------------------------------------------------------- */

static void threads_say(uint64_t barriers, uint64_t late, uint64_t switches, as_level level, const char *part)
{
    lab l = lab_open((as_synthetic){0});
    l.trace->n_barriers = barriers, l.trace->n_late_waits = late, l.trace->thread_switches = switches;
    lab_run(&l);
    expect(says(&l, "contention", level, part));
    lab_close(&l);
}

Test(threads, a_stolen_core_is_noticed) { threads_say(10000, 500, 37, AS_LEVEL_WARN, "A core was taken away: 5.00 %"); }
Test(threads, uneven_work_is_no_theft) { threads_say(10000, 500, 0, AS_LEVEL_WARN, "The work is uneven"); }
Test(threads, a_few_late_barriers_are_nothing) { threads_say(10000, 3, 37, AS_LEVEL_GOOD, "kept together"); }
