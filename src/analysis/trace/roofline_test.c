/* roofline_test.c - steps against known limits, and threads that wait for each other. */
#include "analysis/duel/test_lab.h"

#include <math.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/trace/plausible.h"
#include "trace/limit.h"

typedef enum how { CLEAN = 0, DISTURBED = 1, BEFORE = 2 } how; /* BEFORE: clean, but not measured again beside the run */

static void roof_add(assay_trace *t, const char *name, const char *unit, double value, uint64_t level_bytes, how h)
{
    expect(as_trace_add_roof(t, &(as_trace_roof){.name = name,
                                                 .unit = unit,
                                                 .value = value,
                                                 .lo = value * .99,
                                                 .hi = value * 1.01,
                                                 .today = NAN,
                                                 .n_clean = 9,
                                                 .n_chunks = 9,
                                                 .level_bytes = level_bytes,
                                                 .disturbed = h == DISTURBED,
                                                 .on_the_spot = h != BEFORE,
                                                 .source = "test"}));
}

/* The synthetic trace on a machine whose multiply-add rate is given; L1 32 KiB, L2 512 KiB, L3 32 MiB. */
static lab roofs_of(as_synthetic s, double fma, how h)
{
    lab          l = lab_open(s);
    assay_trace *t = l.trace;
    roof_add(t, "fma.f32.scalar.t1", "flop/s", fma / 4, 0, h);
    roof_add(t, "fma.f32.avx2.t1", "flop/s", fma, 0, h);
    roof_add(t, "exp.f32.avx2.t1", "element/s", 2e9, 0, h);
    roof_add(t, "read.dram.t1", "byte/s", 20e9, 0, h);
    roof_add(t, "read.l1.t1", "byte/s", 200e9, 32 << 10, h);
    roof_add(t, "read.l2.t1", "byte/s", 100e9, 512 << 10, h);
    roof_add(t, "triad.l2.t1", "byte/s", 50e9, 512 << 10, h);
    roof_add(t, "read.l3.t1", "byte/s", 60e9, 32 << 20, h);
    return l;
}

static lab roofs_open(double fma, how h) { return roofs_of((as_synthetic){0}, fma, h); }

static const as_cell *step_cell(const lab *l, int row, const char *column) { return cell(l, "roofline", "steps", row, column); }

/* fc1: 5 Mflop in 50 us; at 200 Gflop/s it could take 25.  Its 500 kB fit L2, 5 us at 100 GB/s: limited by compute. */
Test(roofline, a_step_is_judged_by_the_roof_that_takes_longest)
{
    lab l = roofs_open(200e9, CLEAN);
    lab_run(&l);
    expect_str(step_cell(&l, 0, "bound")->text, "compute");
    expect_str(step_cell(&l, 0, "level")->text, "L2");
    expect_str(step_cell(&l, 0, "roof")->text, "fma.f32.avx2.t1");
    expect_near(step_cell(&l, 0, "of_roof")->metric.value, 0.5, 1e-9);
    /* relu1: 1024 bytes at 200 GB/s, in 30 us. */
    expect_str(step_cell(&l, 1, "bound")->text, "L1");
    expect_near(step_cell(&l, 1, "of_roof")->metric.value, 1024 / 200e9 * 1e9 / 30000, 1e-12);
    /* softmax: ten exponentials at 2e9 per second take longer than its 80 bytes. */
    expect_str(step_cell(&l, 3, "bound")->text, "special");
    expect_near(step_cell(&l, 0, "recoverable")->metric.value, 25000.0 / 99000.0, 1e-9);
    expect(says(&l, "roofline", AS_LEVEL_GOOD, "None of 4 timed steps is faster than its limit"));
    expect(says(&l, "roofline", AS_LEVEL_NOTE, "Hotspot: relu1"));
    lab_close(&l);
}

/* A layer at 92 % of its limit stays there when a neighbour comes. */
Test(roofline, a_neighbour_does_not_move_a_layer_away_from_its_limit)
{
    for (int preempted = 0; preempted <= 70; preempted += 35) {
        lab l = roofs_of((as_synthetic){.n_kept = 200, .preempted = preempted}, 200e9, CLEAN);
        lab_run(&l);
        expect_near(step_cell(&l, 0, "of_roof")->metric.value, .5, .01);
        expect(says(&l, "roofline", AS_LEVEL_NOTE, "Hotspot: relu1"));
        expect(as_metric_has(as_facts_metric(l.facts, "roofline.hotspot")));
        lab_close(&l);
    }
}

Test(roofline, without_undisturbed_runs_there_is_no_hotspot)
{
    lab l = roofs_of((as_synthetic){.n_kept = 200, .preempted = 100, .alone = true}, 200e9, CLEAN);
    lab_run(&l);
    expect(!says(&l, "roofline", AS_LEVEL_NOTE, "Hotspot"));
    expect(!as_metric_has(&step_cell(&l, 0, "of_roof")->metric));
    expect_has(as_facts_metric(l.facts, "roofline.hotspot")->reason, "0 uninterrupted runs; 5 are needed");
    lab_close(&l);
    l = roofs_of((as_synthetic){.n_kept = 4}, 200e9, CLEAN);
    lab_run(&l);
    expect(!says(&l, "roofline", AS_LEVEL_NOTE, "Hotspot"));
    expect(as_metric_has(&step_cell(&l, 0, "of_roof")->metric));
    lab_close(&l);
}

/* fc1 and fc2 run at 100 and 200 Gflop/s: on a machine that does 150, fc2 cannot be. */
Test(roofline, what_is_faster_than_physics_is_an_error_of_the_instrument)
{
    lab l = roofs_open(150e9, CLEAN);
    lab_run(&l);
    expect(says(&l, "roofline", AS_LEVEL_BAD, "fc2 is above its limit"));
    expect(!says(&l, "roofline", AS_LEVEL_BAD, "fc1 is above its limit"));
    expect_near(as_facts_metric(l.facts, "roofline.above")->value, 1, 0);
    lab_close(&l);
}

Test(roofline, a_limit_that_was_not_measured_again_convicts_nobody)
{
    lab l = roofs_open(150e9, BEFORE);
    lab_run(&l);
    expect(!says(&l, "roofline", AS_LEVEL_BAD, "fc2 is above"));
    expect(says(&l, "roofline", AS_LEVEL_NOTE, "fc2 is above its limit (fma.f32.avx2.t1), which was not measured in this session"));
    expect(!says(&l, "roofline", AS_LEVEL_GOOD, "None of"));
    expect_str(step_cell(&l, 2, "standing")->text, "above an uncertain limit");
    expect(!as_metric_has(&step_cell(&l, 2, "of_roof")->metric));
    lab_close(&l);
}

/* If a limit appears twice, the later one counts. */
Test(roofline, a_limit_measured_again_takes_the_place_of_the_first)
{
    lab l = roofs_open(150e9, BEFORE);
    roof_add(l.trace, "fma.f32.avx2.t1", "flop/s", 205e9, 0, CLEAN);
    lab_run(&l);
    expect(says(&l, "roofline", AS_LEVEL_GOOD, "None of 4 timed steps is faster than its limit"));
    expect_near(as_facts_metric(l.facts, "roofs.fma.f32.avx2.t1")->value, 205e9, 1);
    lab_close(&l);
}

/* The same with limits that were measured while others used the machine: they may be too low, so they refuse nothing. */
Test(roofline, a_disturbed_roof_convicts_nobody)
{
    lab l = roofs_open(150e9, DISTURBED);
    lab_run(&l);
    expect(!says(&l, "roofline", AS_LEVEL_BAD, "fc2 is above its limit"));
    expect(says(&l, "roofline", AS_LEVEL_NOTE, "fc2 is above its limit (fma.f32.avx2.t1), which was measured on a busy machine"));
    expect_near(as_facts_metric(l.facts, "roofline.above")->value, 0, 0);
    lab_close(&l);
}

/* 3 % above is within the margin. */
Test(roofline, the_margin_is_five_percent)
{
    lab l = roofs_open(192e9, CLEAN);
    lab_run(&l);
    expect_near(as_facts_metric(l.facts, "roofline.above")->value, 0, 0);
    expect_str(step_cell(&l, 2, "standing")->text, "at its limit"); /* and no share above 1 is told */
    expect_near(step_cell(&l, 2, "of_roof")->metric.value, 1, 0);
    expect_has(step_cell(&l, 2, "of_roof")->metric.source, "within the margin");
    lab_close(&l);
}

/* A kernel that issues less than the definition (Winograd) may be above the limit for the useful work. */
Test(roofline, issued_work_is_what_counts_for_physics)
{
    lab l = roofs_open(150e9, CLEAN);
    l.trace->steps[2].issued_flops = 1500000;
    l.trace->steps[2].issued_bytes = 300000;
    lab_run(&l);
    expect_near(as_facts_metric(l.facts, "roofline.above")->value, 0, 0);
    expect_near(step_cell(&l, 2, "issued_flops")->metric.value, 1500000, 0);
    lab_close(&l);
}

Test(roofline, disturbed_roofs_are_said_to_be)
{
    lab l = roofs_open(200e9, DISTURBED);
    lab_run(&l);
    expect(says(&l, "roofline", AS_LEVEL_NOTE, "measured on a busy machine"));
    lab_close(&l);
}

Test(roofline, without_roofs_there_is_no_roofline)
{
    lab l = lab_open((as_synthetic){0});
    lab_run(&l);
    expect(!as_facts_group_find(l.facts, "roofline"));
    lab_close(&l);
}

/* For more threads than were measured, the rate is that of one thread times their number. */
Test(roofline, threads_without_a_roof_of_their_own_multiply)
{
    lab l = roofs_open(200e9, CLEAN);
    l.trace->threads = 2;
    lab_run(&l);
    expect_near(step_cell(&l, 0, "of_roof")->metric.value, 0.25, 1e-9);
    lab_close(&l);
}

/* The best value ever seen is the limit; today's measurement is reported beside it. */
Test(roofline, a_limit_that_is_lower_today_is_said_to_be)
{
    lab l = roofs_open(200e9, CLEAN);
    for (size_t i = 0; i < l.trace->n_roofs; i++)
        if (!strcmp(l.trace->roofs[i].name, "read.l2.t1"))
            l.trace->roofs[i].today = 60e9;
    lab_run(&l);
    expect(says(&l, "roofline", AS_LEVEL_NOTE, "read.l2.t1 is lower today"));
    expect(says(&l, "roofline", AS_LEVEL_NOTE, "40 % below the best measured"));
    lab_close(&l);
}

/* --- One rule ---------------------------------------------------------------------------------------------- */

static as_trace_step mover(uint64_t bytes)
{
    return (as_trace_step){.shapes = "f32[1]", .stage = "body", .device = "cpu", .bytes_read = bytes, .working_set_bytes = bytes};
}

/* 48 KiB on 32 KiB of L1: two thirds at 200 GB/s, a third at 100. */
Test(limit, a_working_set_partly_in_a_level_has_a_blended_limit)
{
    lab       l = roofs_open(200e9, CLEAN);
    as_limits m;
    expect(as_limits_read(l.trace, "cpu", 1, &m));
    expect_eq(m.n_levels, 4);
    as_trace_step fits = mover(32 << 10), more = mover(48 << 10), large = mover((uint64_t)1 << 30);
    as_limit      in = as_limit_of_step(&m, &fits), over = as_limit_of_step(&m, &more), far = as_limit_of_step(&m, &large);
    expect_near(in.ns, (32 << 10) / 200e9 * 1e9, 1e-6);
    expect_str(in.level, "L1");
    expect_near(over.ns, (32 << 10) / 200e9 * 1e9 + (16 << 10) / 100e9 * 1e9, 1e-6);
    expect_str(over.level, "L2");
    expect_near(over.rate, 150e9, 1e5);
    expect_str(far.level, "DRAM");
    expect_str(far.name, "read.dram.t1");
    expect(far.rate < 22e9 && far.rate > 20e9);
    lab_close(&l);
}

/* Nothing jumps at the edge of a cache: a byte more takes no longer than at the next level's rate. */
Test(limit, the_blend_is_continuous_over_all_sizes)
{
    lab       l = roofs_open(200e9, CLEAN);
    as_limits m;
    double    before = 0;
    uint64_t  last = 0;
    expect(as_limits_read(l.trace, "cpu", 1, &m));
    for (uint64_t bytes = 1024; bytes < (uint64_t)256 << 20; bytes += bytes / 16) {
        as_trace_step s = mover(bytes);
        double        ns = as_limit_of_step(&m, &s).ns;
        expect(ns > before);
        expect(ns - before <= (double)(bytes - last) / 20e9 * 1e9 * (1 + 1e-9));
        before = ns;
        last = bytes;
    }
    lab_close(&l);
}

Test(limit, padding_is_waste_and_winograd_is_not)
{
    lab       l = roofs_open(100e9, CLEAN);
    as_limits m;
    expect(as_limits_read(l.trace, "cpu", 1, &m));
    as_trace_step s = {.shapes = "f32[1]", .flops = 1000000};
    s.issued_flops = 4000000;
    expect_near(as_limit_of_step(&m, &s).ns, 10000, 1e-6);
    s.issued_flops = 500000;
    expect_near(as_limit_of_step(&m, &s).ns, 5000, 1e-6);
    lab_close(&l);
}

Test(limit, doubles_have_a_limit_of_their_own)
{
    lab       l = roofs_open(100e9, CLEAN);
    as_limits m;
    expect(as_limits_read(l.trace, "cpu", 1, &m));
    m.fma[1] = (as_limit_rate){.rate = 25e9, .roof = m.fma[0].roof};
    as_trace_step s = {.shapes = "f64[1]", .flops = 1000000};
    expect_near(as_limit_of_step(&m, &s).ns, 10000, 1e-6); /* what the text says does not count */
    s.is_f64 = true;
    expect_near(as_limit_of_step(&m, &s).ns, 40000, 1e-6);
    lab_close(&l);
}

Test(limit, bytes_have_the_limit_of_their_own_products)
{
    lab       l = roofs_open(100e9, CLEAN);
    as_limits m;
    roof_add(l.trace, "madd.i8.vnni.t1", "op/s", 400e9, 0, CLEAN);
    expect(as_limits_read(l.trace, "cpu", 1, &m));
    as_trace_step s = {.shapes = "u8[1]", .flops = 1000000};
    expect_near(as_limit_of_step(&m, &s).ns, 10000, 1e-6);
    s.is_i8 = true;
    expect_near(as_limit_of_step(&m, &s).ns, 2500, 1e-6);
    expect_str(as_limit_of_step(&m, &s).name, "madd.i8.vnni.t1");
    lab_close(&l);
}

Test(limit, the_interval_decides_what_is_above)
{
    as_limit l = {.ns = 1000, .name = "x", .on_the_spot = true};
    double   share;
    expect_eq(as_limit_judge(&l, 2000, NAN, &share), AS_STANDING_BELOW);
    expect_near(share, 0.5, 1e-12);
    expect_eq(as_limit_judge(&l, 980, NAN, &share), AS_STANDING_AT);
    expect_near(share, 1, 0);
    expect_eq(as_limit_judge(&l, 900, 960, &share), AS_STANDING_AT);
    expect_eq(as_limit_judge(&l, 900, 940, &share), AS_STANDING_ABOVE);
    expect(isnan(share));
    l.may_be_low = true;
    expect_eq(as_limit_judge(&l, 900, 940, &share), AS_STANDING_DOUBT);
    l.may_be_low = l.on_the_spot = false;
    expect_eq(as_limit_judge(&l, 900, 940, &share), AS_STANDING_DOUBT);
    expect_eq(as_limit_judge(&l, NAN, NAN, &share), AS_STANDING_UNKNOWN);
}

/* One step of 50 us in a profile, in a bench row and in the lie detector of both: one share, one verdict. */
static void expect_alike(double fma, as_standing want)
{
    lab l = roofs_open(fma, CLEAN);
    for (size_t i = 0; i < l.trace->n_steps; i++) /* fc1 alone */
        if (i)
            l.trace->steps[i].flops = l.trace->steps[i].special = l.trace->steps[i].bytes_read = l.trace->steps[i].bytes_written =
                0;
    lab_run(&l);
    const as_cell *profile = step_cell(&l, 0, "of_roof");
    double         ns = step_cell(&l, 0, "time")->metric.value, slow = step_cell(&l, 0, "time")->metric.hi;
    assay_trace   *t;
    expect_ok(l.env, as_trace_new_arms(l.env, "fc1", 1, &t));
    t->arms[0].name = "fc1";
    t->arms[0].limit = as_limit_of_plan(l.trace, 1);
    as_bench_row        row = {.trial = t, .alone = {.median = ns, .lo = ns, .hi = slow}, .flops = 5e6, .bytes = 5e5, .error = NAN};
    assay_facts        *bench = as_facts_of_bench(l.env, &row, 1);
    char                sentence[AS_SENTENCE_BYTES];
    const assay_metric *of = as_facts_metric(bench, "bench.of_roof");
    expect_str(step_cell(&l, 0, "standing")->text, as_standing_text(want));
    expect_eq(as_metric_has(&profile->metric), as_metric_has(of));
    if (as_metric_has(of))
        expect_near(profile->metric.value, of->value, 1e-12);
    expect_eq(as_limit_is_plausible(&t->arms[0].limit, ns, slow, sentence, sizeof sentence), want != AS_STANDING_ABOVE);
    assay_facts_free(bench);
    assay_trace_free(t);
    lab_close(&l);
}

Test(limit, profile_bench_and_refusal_tell_the_same_of_one_step)
{
    expect_alike(200e9, AS_STANDING_BELOW);
    expect_alike(98e9, AS_STANDING_AT);
    expect_alike(60e9, AS_STANDING_ABOVE);
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

Test(threads, a_stolen_core_is_noticed) { threads_say(10000, 500, 37, AS_LEVEL_WARN, "Other work took a core: at 5.00 %"); }
Test(threads, uneven_work_is_no_theft) { threads_say(10000, 500, 0, AS_LEVEL_NOTE, "The work is uneven"); }
Test(threads, a_few_late_barriers_are_nothing) { threads_say(10000, 3, 37, AS_LEVEL_GOOD, "stayed together"); }

/* --- What to try ----------------------------------------------------------------------------------------------- */

/* The synthetic trace, on two CPUs, with a name that a command can use. */
static lab tries_open(as_synthetic s, int cpus)
{
    lab l = roofs_of(s, 200e9, CLEAN);
    l.trace->cpus = cpus;
    expect(as_trace_add_note(l.trace, "model.source", "net.onnx"));
    return l;
}

Test(tries, an_idle_core_is_an_estimate_with_the_command_that_proves_it)
{
    lab l = tries_open((as_synthetic){0}, 2);
    lab_run(&l);
    expect_str(cell(&l, "tries", "tries", 0, "what")->text, "--threads 2");
    expect_str(cell(&l, "tries", "tries", 0, "command")->text, "assay compare net.onnx --vary threads=1,2");
    const assay_metric *change = &cell(&l, "tries", "tries", 0, "change")->metric;
    expect_eq(change->kind, ASSAY_MODELLED);
    /* Steps of 50, 30, 15 and 4 us at 1.76 each, and 1.5 us per barrier. */
    expect_near(change->value, (99 / 1.76 + 4 * 1.5) / 99 - 1, 1e-9);
    lab_close(&l);
}

Test(tries, nothing_is_advised_without_an_idle_core_or_from_disturbed_runs)
{
    lab busy = tries_open((as_synthetic){0}, 1);
    lab_run(&busy);
    expect(!as_facts_table_find(busy.facts, "tries", "tries"));
    lab_close(&busy);
    lab few = tries_open((as_synthetic){.n_kept = 3}, 2);
    lab_run(&few);
    expect(!as_facts_table_find(few.facts, "tries", "tries"));
    lab_close(&few);
}

Test(tries, a_cell_with_one_sample_is_not_told_to_use_threads)
{
    lab l = tries_open((as_synthetic){0}, 2);
    for (size_t i = 0; i < l.trace->n_steps; i++)
        l.trace->steps[i].op = "assay.CfC";
    l.trace->batch = 1;
    lab_run(&l);
    const as_table *t = as_facts_table_find(l.facts, "tries", "tries");
    for (int i = 0; t && i < t->n_rows; i++)
        expect(strcmp(cell(&l, "tries", "tries", i, "what")->text, "--threads 2"));
    lab_close(&l);
}
