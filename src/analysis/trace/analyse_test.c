/* analyse_test.c - a trace with known numbers must give the results of plain arithmetic. */
#include "analysis/duel/test_lab.h"

static lab lab_new(as_synthetic s)
{
    lab l = lab_open(s);
    lab_run(&l);
    return l;
}

static const assay_metric *metric(const lab *l, const char *key)
{
    const assay_metric *m = as_facts_metric(l->facts, key);
    if (!m)
        fail("no metric %s", key);
    return m;
}

static void expect_metric(const lab *l, const char *key, double value, assay_kind kind, const char *unit)
{
    const assay_metric *m = metric(l, key);
    if (m->kind != kind)
        fail("%s is %s (%s), expected %s", key, assay_kind_text(m->kind), m->reason ? m->reason : "", assay_kind_text(kind));
    if (!(fabs(m->value - value) <= 1e-9 * fabs(value)))
        fail("%s is %.17g, expected %.17g", key, m->value, value);
    expect_str(m->unit, unit);
}

static void expect_missing(const lab *l, const char *key, const char *reason)
{
    const assay_metric *m = metric(l, key);
    expect_eq(m->kind, ASSAY_UNAVAILABLE);
    expect_has(m->reason, reason);
}

Test(analyse, times_work_and_rates_land_where_arithmetic_says)
{
    lab l = lab_new((as_synthetic){0});
    expect_metric(&l, "latency.median", 100000, ASSAY_MEASURED, "ns");
    expect(metric(&l, "latency.median")->lo <= 100000 && metric(&l, "latency.median")->hi >= 100000);
    expect_metric(&l, "latency.min", 99500, ASSAY_MEASURED, "ns");
    expect_metric(&l, "latency.max", 100500, ASSAY_MEASURED, "ns");
    expect_metric(&l, "latency.mad", 300, ASSAY_MEASURED, "ns");
    expect_metric(&l, "latency.cpu_median", 100000, ASSAY_MEASURED, "ns");
    expect_metric(&l, "latency.throughput", 80000, ASSAY_DERIVED, "1/s");
    expect_metric(&l, "latency.first_run", 3e5, ASSAY_MEASURED, "ns");
    expect_metric(&l, "latency.warmup_runs", 7, ASSAY_COUNTED, "1");
    expect_metric(&l, "latency.runs", 400, ASSAY_COUNTED, "1");
    expect_metric(&l, "cost.flops", 8000168, ASSAY_COUNTED, "flop");
    expect_metric(&l, "cost.special", 10, ASSAY_COUNTED, "op");
    expect_metric(&l, "cost.bytes", 801104, ASSAY_COUNTED, "byte");
    expect_metric(&l, "cost.flop_rate", 8000168 / 1e-4, ASSAY_DERIVED, "flop/s");
    expect_str(l.facts->title, "synthetic-mlp, batch 8, cpu, 1 thread");
    expect_str(as_facts_note_find(l.facts, "trace.started"), "2025-06-15 15:06:40 UTC");
    const as_series *s = as_facts_series_find(l.facts, "latency", "samples");
    expect(s && s->n == 200);
    expect_near(s->y[0], 99500, 1e-6);
    expect(says(&l, "verdict", AS_LEVEL_GOOD, "of the time accounted for"));
    expect(says(&l, "verdict", AS_LEVEL_NOTE,
                "fc1 (Gemm, kernel gemm_f32_avx2) dominates: 50.0 % of the run, 50.0 us, among 4 steps"));
    lab_close(&l);
}

Test(analyse, the_table_of_layers_divides_work_by_time)
{
    lab l = lab_new((as_synthetic){0});
    expect_eq(as_facts_table_find(l.facts, "layers", "steps")->n_rows, 4);
    expect_str(cell(&l, "layers", "steps", 0, "name")->text, "fc1");
    expect_near(cell(&l, "layers", "steps", 0, "time")->metric.value, 50000, 1e-6);
    expect_near(cell(&l, "layers", "steps", 0, "share")->metric.value, .5, 1e-9);
    expect_near(cell(&l, "layers", "steps", 0, "flop_rate")->metric.value, 5e6 / 50e-6, 1);
    expect_near(cell(&l, "layers", "steps", 2, "byte_rate")->metric.value, 3e5 / 15e-6, 1);
    expect_near(cell(&l, "layers", "steps", 0, "intensity")->metric.value, 10, 1e-9);
    expect_eq(cell(&l, "layers", "steps", 0, "time")->metric.kind, ASSAY_MEASURED);
    expect_eq(cell(&l, "layers", "steps", 0, "flops")->metric.kind, ASSAY_COUNTED);
    expect_eq(cell(&l, "layers", "steps", 0, "share")->metric.kind, ASSAY_DERIVED);
    expect_eq(as_facts_table_find(l.facts, "layers", "prologue")->n_rows, 1);
    expect_eq(cell(&l, "layers", "prologue", 0, "share")->metric.kind, ASSAY_UNAVAILABLE);
    expect_str(cell(&l, "layers", "kernels", 0, "refused")->text, "gemm_f32_avx512: this CPU has no avx512f");
    lab_close(&l);
}

static double sum_of(const lab *l, const char *table, const char *column)
{
    double sum = 0;
    for (int i = 0; i < as_facts_table_find(l->facts, "layers", table)->n_rows; i++)
        sum += cell(l, "layers", table, i, column)->metric.value;
    return sum;
}

Test(analyse, modules_add_up_to_the_whole)
{
    lab                      l = lab_new((as_synthetic){.modules = {"net.block1.fc", "net.block1", "net.block2.fc", ""}});
    static const char *const columns[] = {"time", "share", "flops", "bytes"};
    expect_str(cell(&l, "layers", "steps", 0, "module")->text, "net.block1.fc");
    expect_str(cell(&l, "layers", "steps", 3, "module")->text, "-");
    expect_str(cell(&l, "layers", "graph", 2, "module")->text, "net.block2.fc");
    for (size_t i = 0; i < AS_COUNT(columns); i++)
        expect_near(sum_of(&l, "modules", columns[i]), sum_of(&l, "steps", columns[i]), 1e-6);
    expect_near(sum_of(&l, "modules", "steps"), 4, 0);
    /* At depth 1 one row has 95 % of the time and at depth 2 still 81 %, so the table goes to the last depth. */
    expect_eq(as_facts_table_find(l.facts, "layers", "modules")->n_rows, 4);
    expect_str(cell(&l, "layers", "modules", 0, "name")->text, "net.block1.fc");
    expect_str(cell(&l, "layers", "modules", 3, "name")->text, "(no module)");
    expect_eq(cell(&l, "layers", "modules", 0, "flops")->metric.kind, ASSAY_COUNTED);
    lab_close(&l);
}

Test(analyse, modules_are_folded_to_the_depth_that_is_asked_for)
{
    lab             l = lab_new((as_synthetic){.modules = {"net.block1.fc", "net.block1", "net.block2.fc", ""}});
    as_arena        arena = {0};
    const as_table *steps = as_facts_table_find(l.facts, "layers", "steps");
    const as_table *one = as_fold_modules(&arena, steps, 1), *two = as_fold_modules(&arena, steps, 2);
    expect(one && two && as_modules_known(steps));
    expect_eq(one->n_rows, 2);
    expect_str(one->cells[0].text, "net");
    expect_near(one->cells[1].metric.value, 95000, 1e-6);
    expect_eq(two->n_rows, 3);
    expect_str(two->cells[0].text, "net.block1");
    expect_near(two->cells[1].metric.value, 80000, 1e-6);
    expect_eq(two->cells[1].metric.kind, ASSAY_DERIVED);
    expect_near(two->cells[5].metric.value, 2, 0);
    expect_str(two->cells[two->n_columns].text, "net.block2");
    as_arena_drop(&arena);
    lab_close(&l);
}

Test(analyse, without_modules_there_is_no_table_of_them)
{
    lab l = lab_new((as_synthetic){0});
    expect(!as_facts_table_find(l.facts, "layers", "modules"));
    expect(!as_modules_known(as_facts_table_find(l.facts, "layers", "steps")));
    lab_close(&l);
    l = lab_new((as_synthetic){.no_steps = true, .modules = {"a", "b", "b.c", "d"}}); /* no times, so no sums */
    expect_eq(cell(&l, "layers", "modules", 0, "time")->metric.kind, ASSAY_UNAVAILABLE);
    expect_near(sum_of(&l, "modules", "steps"), 4, 0);
    lab_close(&l);
}

Test(analyse, few_kept_runs_give_times_and_judge_nothing)
{
    lab l = lab_new((as_synthetic){.n_kept = 2});
    expect_near(cell(&l, "layers", "steps", 1, "time")->metric.value, 30000, 1e-6);
    expect_eq(cell(&l, "layers", "steps", 1, "time")->metric.n, 2);
    expect(says(&l, "layers", AS_LEVEL_NOTE, "Only 2 runs were recorded step by step, and 5 uninterrupted ones are needed"));
    expect(!says(&l, "verdict", AS_LEVEL_NOTE, "dominates"));
    lab_close(&l);
}

/* Parts and whole are then both means over all runs. */
Test(analyse, no_kept_spans_fall_back_to_totals)
{
    lab l = lab_open((as_synthetic){0});
    l.trace->n_spans = 0;
    l.trace->totals = AS_TAKE(&l.trace->arena, as_step_total, 5);
    l.trace->n_totals = 5;
    l.trace->totals[0] = (as_step_total){.count = 400, .sum_ticks = 400 * 51000, .min_ticks = 1, .max_ticks = 2};
    lab_run(&l);
    const assay_metric *time = &cell(&l, "layers", "steps", 0, "time")->metric;
    expect_near(time->value, 51000, 1e-6);
    expect_eq(time->n, 400);
    expect_has(time->source, "totals");
    expect_near(cell(&l, "layers", "steps", 0, "share")->metric.value, .51, .001);
    expect(says(&l, "verdict", AS_LEVEL_NOTE, "Cannot tell which layer takes the most time"));
    lab_close(&l);
}

static double shares_sum(const lab *l)
{
    double sum = cell(l, "books", "entries", 2, "share")->metric.value;
    expect_str(cell(l, "books", "entries", 2, "entry")->text, "unexplained");
    for (int i = 0; i < as_facts_table_find(l->facts, "layers", "steps")->n_rows; i++)
        sum += cell(l, "layers", "steps", i, "share")->metric.value;
    return sum;
}

static void expect_clean_layers(const lab *l)
{
    static const double lengths[] = {50000, 30000, 15000, 4000};
    for (int i = 0; i < 4; i++)
        expect_near(cell(l, "layers", "steps", i, "time")->metric.value, lengths[i], .02 * lengths[i]);
    expect_near(metric(l, "books.wall")->value, 100000, 2000);
    expect_near(metric(l, "layers.run_mean")->value, metric(l, "books.wall")->value, 1e-6);
    expect_near(shares_sum(l), 1, 1e-9);
}

/* Seven of ten runs lose the CPU somewhere: no step's median shows it, every sum does. */
Test(analyse, layers_are_those_of_undisturbed_runs_whatever_a_neighbour_does)
{
    static const as_synthetic cases[] = {
        {.n_kept = 64},
        {.n_kept = 64, .preempted = 30},
        {.n_kept = 200, .preempted = 70},
        {.n_kept = 200, .preempted = 90, .alone = true}, /* only CPU time finds the few clean ones */
        {.n_kept = 200, .preempted = 70, .tail_us = 1},
    };
    for (size_t i = 0; i < AS_COUNT(cases) - 1; i++) {
        lab l = lab_new(cases[i]);
        expect_clean_layers(&l);
        expect_eq(cases[i].preempted != 0, metric(&l, "layers.undisturbed_runs")->value < cases[i].n_kept);
        expect(says(&l, "verdict", AS_LEVEL_NOTE, "fc1 (Gemm, kernel gemm_f32_avx2) dominates: 50.0 % of the run"));
        expect(says(&l, "books", AS_LEVEL_GOOD, "The steps account for"));
        lab_close(&l);
    }
    lab l = lab_new(cases[4]);
    expect_near(shares_sum(&l), 1, 1e-9);
    expect_near(metric(&l, "books.explained_share")->value, .96, 1e-9);
    lab_close(&l);
}

Test(analyse, too_few_undisturbed_runs_name_no_layer)
{
    lab l = lab_new((as_synthetic){.n_kept = 200, .preempted = 100, .alone = true});
    expect_metric(&l, "layers.undisturbed_runs", 0, ASSAY_COUNTED, "1");
    for (int i = 0; i < 4; i++) {
        expect_eq(cell(&l, "layers", "steps", i, "time")->metric.kind, ASSAY_UNAVAILABLE);
        expect_eq(cell(&l, "layers", "steps", i, "share")->metric.kind, ASSAY_UNAVAILABLE);
        expect_has(cell(&l, "layers", "steps", i, "time")->metric.reason, "0 of 200 runs were uninterrupted; 5 are needed");
        expect_eq(cell(&l, "layers", "steps", i, "median")->metric.kind, ASSAY_MEASURED);
    }
    expect(says(&l, "layers", AS_LEVEL_WARN, "Only 0 of 200 runs were uninterrupted"));
    expect(says(&l, "verdict", AS_LEVEL_NOTE,
                "Cannot tell which layer takes the most time: 0 uninterrupted runs were recorded, and 5 are needed"));
    expect(says(&l, "books", AS_LEVEL_GOOD, "200 interrupted runs"));
    lab_close(&l);
}

/* The detailed runs agree with each other but not with the samples: only the samples show it. */
Test(analyse, runs_that_all_had_the_same_neighbour_are_disturbed)
{
    lab l = lab_new((as_synthetic){.n_kept = 64, .detailed = true, .slowed = .2});
    expect_metric(&l, "layers.undisturbed_runs", 64, ASSAY_COUNTED, "1");
    lab_close(&l);
    l = lab_new((as_synthetic){.n_kept = 64, .detailed = true, .slowed = .4});
    expect_metric(&l, "layers.undisturbed_runs", 0, ASSAY_COUNTED, "1");
    expect(says(&l, "verdict", AS_LEVEL_NOTE, "0 uninterrupted runs were recorded, and 5 are needed"));
    lab_close(&l);
    l = lab_open((as_synthetic){.n_kept = 64, .detailed = true, .slowed = .4});
    l.trace->span_cost_ns = 5000; /* five spans of a run explain 25 % */
    lab_run(&l);
    expect_metric(&l, "layers.undisturbed_runs", 64, ASSAY_COUNTED, "1");
    lab_close(&l);
}

Test(analyse, detailed_runs_outside_the_samples_are_used_and_named)
{
    lab l = lab_new((as_synthetic){.detailed = true});
    expect_near(cell(&l, "layers", "steps", 1, "time")->metric.value, 30000, 1e-6);
    expect_has(cell(&l, "layers", "steps", 1, "time")->metric.source, "outside the timed samples");
    expect(
        says(&l, "layers", AS_LEVEL_NOTE, "20 detailed runs outside the timed samples: spans by step would cost 0.9 % of the run"));
    expect(says(&l, "books", AS_LEVEL_GOOD, "recorded in detail outside the timed samples"));
    expect_metric(&l, "instrument.spans_per_run", 0, ASSAY_COUNTED, "1");
    lab_close(&l);
}

Test(analyse, a_coarse_trace_has_no_layer_times_and_says_why)
{
    lab                 l = lab_new((as_synthetic){.no_steps = true});
    const assay_metric *time = &cell(&l, "layers", "steps", 0, "time")->metric;
    expect_eq(time->kind, ASSAY_UNAVAILABLE);
    expect_str(time->reason, "spans by step would cost 0.9 % of the run");
    expect_missing(&l, "books.explained_share", "spans by step would cost 0.9 % of the run");
    expect(says(&l, "books", AS_LEVEL_WARN, "How much of the time is accounted for is unknown"));
    lab_close(&l);
}

Test(analyse, what_recording_the_spans_takes_is_no_reason_to_doubt_the_run)
{
    lab l = lab_open((as_synthetic){.tail_us = 1});
    l.trace->span_cost_ns = 700; /* five spans: 3.5 % of the run */
    lab_run(&l);
    expect(says(&l, "books", AS_LEVEL_GOOD, "4.00 % is not accounted for (up to 5.5 % is normal"));
    lab_close(&l);
}

Test(analyse, books_close_at_99_percent_and_not_at_96)
{
    lab l = lab_new((as_synthetic){0});
    expect_metric(&l, "books.explained_share", .99, ASSAY_DERIVED, "ratio");
    expect_metric(&l, "books.unexplained", 1000, ASSAY_DERIVED, "ns");
    expect(says(&l, "books", AS_LEVEL_GOOD, "The steps account for 99.00 % of the run's time"));
    expect_missing(&l, "books.compute_memory", "PMU");
    expect_str(cell(&l, "books", "entries", 2, "entry")->text, "unexplained");
    expect_near(cell(&l, "books", "entries", 2, "share")->metric.value, .01, 1e-9);
    lab_close(&l);
    l = lab_new((as_synthetic){.tail_us = 1});
    expect(says(&l, "books", AS_LEVEL_WARN,
                "The steps account for only 96.00 % of the run's time; 4.00 % is not accounted for (up to 2.1 % is normal"));
    expect(says(&l, "verdict", AS_LEVEL_WARN, "96.0 % of the time accounted for"));
    lab_close(&l);
}

Test(analyse, overlapping_spans_are_not_counted_twice_and_transfers_stand_apart)
{
    lab l = lab_open((as_synthetic){.n_kept = 6});
    l.trace->steps[3].op = "Get";
    expect(as_trace_reserve(l.trace, 6, 0, 0, 0));
    for (uint32_t r = 0; r < 6; r++) { /* a second thread's view of step 0, shifted into step 1 */
        uint64_t at = 1000000 + r * 200000u;
        expect(as_trace_add_span(
            l.trace,
            &(as_span){.begin_ticks = at, .end_ticks = at + 60000, .step = 0, .run = r, .kind = AS_SPAN_STEP, .thread = 1}));
    }
    lab_run(&l);
    expect_metric(&l, "books.explained_share", .99, ASSAY_DERIVED, "ratio");
    expect_near(cell(&l, "layers", "steps", 0, "time")->metric.value, 60000, 1e-6);
    expect_near(cell(&l, "books", "entries", 1, "time")->metric.value, 4000, 1e-6);
    lab_close(&l);
}

Test(analyse, p99_needs_662_samples)
{
    lab l = lab_new((as_synthetic){.n_samples = 661});
    expect_missing(&l, "latency.p99", "needs 662 samples, has 661");
    expect_eq(metric(&l, "latency.p95")->kind, ASSAY_MEASURED);
    lab_close(&l);
    l = lab_new((as_synthetic){.n_samples = 662});
    expect_eq(metric(&l, "latency.p99")->kind, ASSAY_MEASURED);
    lab_close(&l);
}

Test(analyse, few_samples_get_no_interval_and_a_warning)
{
    lab l = lab_new((as_synthetic){.n_samples = 39});
    expect(isnan(metric(&l, "latency.median")->lo));
    expect(says(&l, "latency", AS_LEVEL_WARN, "Only 39 samples: the median has no interval, which needs 40"));
    expect_missing(&l, "latency.n_effective", "needs 40 samples, has 39");
    lab_close(&l);
}

Test(analyse, no_samples_at_all_are_no_zero)
{
    lab l = lab_open((as_synthetic){.n_samples = 1});
    l.trace->n_samples = 0;
    lab_run(&l);
    expect_missing(&l, "latency.median", "no sample was measured");
    expect_missing(&l, "latency.throughput", "there is no median");
    expect_missing(&l, "cost.flop_rate", "no median latency");
    expect(says(&l, "verdict", AS_LEVEL_BAD, "no latency was measured"));
    lab_close(&l);
}

Test(analyse, an_unread_cpu_clock_is_unavailable)
{
    lab l = lab_open((as_synthetic){0});
    for (size_t i = 0; i < l.trace->n_samples; i++)
        l.trace->samples[i].cpu_ns = UINT64_MAX;
    lab_run(&l);
    expect_missing(&l, "latency.cpu_median", "was not read");
    expect_missing(&l, "contention.contaminated", "was not read");
    expect_str(as_facts_note_find(l.facts, "contention.label"), "unknown");
    expect_eq(l.facts->machine, AS_MACHINE_UNKNOWN);
    expect(says(&l, "verdict", AS_LEVEL_NOTE, "cannot tell whether the machine was idle") ||
           says(&l, "verdict", AS_LEVEL_WARN, "cannot tell whether the machine was idle") ||
           says(&l, "verdict", AS_LEVEL_GOOD, "cannot tell whether the machine was idle"));
    lab_close(&l);
}

Test(analyse, contention_has_three_labels_with_their_numbers)
{
    static const struct {
        int              disturbed;
        const char      *label;
        as_level         level;
        as_machine_state machine;
        const char      *words;
    } cases[] = {{4, "quiet", AS_LEVEL_GOOD, AS_MACHINE_IDLE, "machine idle"},
                 {20, "disturbed", AS_LEVEL_WARN, AS_MACHINE_BUSY, "machine busy"},
                 {60, "heavily disturbed", AS_LEVEL_BAD, AS_MACHINE_VERY_BUSY, "machine very busy"}};
    for (int i = 0; i < 3; i++) {
        lab l = lab_new((as_synthetic){.disturbed = cases[i].disturbed});
        expect_metric(&l, "contention.contaminated", cases[i].disturbed / 100.0, ASSAY_DERIVED, "ratio");
        expect_str(as_facts_note_find(l.facts, "contention.label"), cases[i].label);
        expect_eq(l.facts->machine, cases[i].machine);
        expect(says(&l, "verdict", cases[i].level, cases[i].words));
        expect(says(&l, "contention", cases[i].level, "of 200 samples"));
        expect(says(&l, "contention", cases[i].level, "involuntary switches 4"));
        lab_close(&l);
    }
}

/* A sensor of the machine that rose by this much during 200 samples of 200 us: 40.2 ms. */
static lab machine_saw(const char *name, double rise, bool reads_cpu)
{
    lab l = lab_open((as_synthetic){.no_sensors = true});
    l.trace->n_sensors = 0;
    int i = as_trace_add_sensor(l.trace, &(as_trace_sensor){name, "ns", "test", NULL, "delta"});
    expect(i >= 0 && as_trace_reserve(l.trace, 0, 0, 0, 2));
    expect(as_trace_add_reading(l.trace, &(as_reading){.sensor = (uint32_t)i, .value = 5e9}));
    expect(as_trace_add_reading(l.trace, &(as_reading){.sensor = (uint32_t)i, .value = 5e9 + rise}));
    for (size_t k = 0; k < l.trace->n_samples && !reads_cpu; k++)
        l.trace->samples[k].cpu_ns = UINT64_MAX;
    return l;
}

Test(analyse, a_machine_is_quiet_only_if_every_witness_says_so)
{
    static const struct {
        const char *sensor;
        double      rise;
        bool        reads_cpu;
        const char *label, *words;
        as_level    level;
    } cases[] = {
        {"pressure.cpu", 1e6, true, "quiet", "pressure stall 1.00 ms", AS_LEVEL_GOOD},
        {"pressure.cpu", 41e6, true, "disturbed", "signs of other work: pressure stall 41.0 ms in 40.2 ms", AS_LEVEL_WARN},
        {"pressure.cpu", 41e6, false, "disturbed", "signs of other work: pressure stall 41.0 ms in 40.2 ms", AS_LEVEL_WARN},
        {"pressure.cpu", 1e6, false, "unknown", "Cannot tell from CPU time whether the machine was idle", AS_LEVEL_NOTE},
        {"cpu.steal", 10e6, true, "quiet", "steal 10.0 ms", AS_LEVEL_GOOD}, /* one tick of the account */
        {"cpu.steal", 20e6, true, "heavily disturbed", "signs of other work: steal 20.0 ms in 40.2 ms", AS_LEVEL_BAD},
        {"switches.involuntary", 10, true, "quiet", "involuntary switches 10", AS_LEVEL_GOOD},
        {"switches.involuntary", 11, true, "disturbed", "signs of other work: 11 involuntary switches in 200 samples",
         AS_LEVEL_WARN},
    };
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        lab l = machine_saw(cases[i].sensor, cases[i].rise, cases[i].reads_cpu);
        lab_run(&l);
        expect_str(as_facts_note_find(l.facts, "contention.label"), cases[i].label);
        if (!says(&l, "contention", cases[i].level, cases[i].words))
            fail("case %zu says: %s", i, as_facts_group_find(l.facts, "contention")->findings[0].text);
        lab_close(&l);
    }
}

/* 553 us beside a median of 154: whatever CPU time says, this machine was not idle. */
Test(analyse, a_mean_far_above_the_median_is_not_quiet)
{
    static const struct {
        uint64_t    longer;
        const char *label;
    } cases[] = {{200000, "quiet"}, {1200000, "disturbed"}, {8000000, "heavily disturbed"}};
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        lab l = lab_open((as_synthetic){.no_sensors = true});
        for (size_t k = 0; k < l.trace->n_samples; k += 25) {
            l.trace->samples[k].end_ticks += cases[i].longer;
            l.trace->samples[k].cpu_ns += cases[i].longer;
        }
        lab_run(&l);
        expect_str(as_facts_note_find(l.facts, "contention.label"), cases[i].label);
        expect_eq(says(&l, "contention", AS_LEVEL_BAD, "the mean is"), i == 2);
        lab_close(&l);
    }
}

Test(analyse, cpu_time_says_nothing_about_other_devices_and_fake_clocks)
{
    lab l = lab_open((as_synthetic){0});
    l.trace->device = "opencl:0";
    lab_run(&l);
    expect_missing(&l, "contention.contaminated", "waits for the device opencl:0");
    lab_close(&l);
    l = lab_open((as_synthetic){0});
    l.trace->clock_name = "fake";
    lab_run(&l);
    expect_missing(&l, "contention.cpu_share", "the clock is simulated");
    lab_close(&l);
}

Test(analyse, sensors_follow_their_meaning_or_give_their_reason)
{
    lab l = lab_new((as_synthetic){0});
    expect_metric(&l, "sensors.switches.involuntary", 4, ASSAY_MEASURED, "1");
    expect_metric(&l, "sensors.memory.resident.peak", 12288, ASSAY_MEASURED, "byte");
    expect_metric(&l, "sensors.cpu.frequency", 3.1e9, ASSAY_MEASURED, "hertz");
    expect_missing(&l, "sensors.cache.misses", "kernel.perf_event_paranoid is 4");
    expect_missing(&l, "sensors.energy.package", "no RAPL domain");
    expect_metric(&l, "memory.rss_peak", 12288, ASSAY_MEASURED, "byte");
    lab_close(&l);
}

Test(analyse, a_sensor_with_one_reading_has_no_difference)
{
    lab l = lab_open((as_synthetic){0});
    l.trace->n_readings = 1;
    lab_run(&l);
    expect_missing(&l, "sensors.switches.involuntary", "needs two readings, and there is one");
    expect_missing(&l, "sensors.cpu.frequency", "every reading failed");
    lab_close(&l);
}

static void bytes_say(assay_trace *t, const char *name, double value)
{
    expect(as_trace_add_metric(t, &(as_trace_metric){.name = name, .unit = "byte", .value = value}));
}

Test(analyse, the_network_the_instrument_and_the_program_explain_the_peak)
{
    for (int apart = 0; apart < 2; apart++) { /* the buffers of limits are in the peak only where the peak could not be reset */
        lab l = lab_open((as_synthetic){0});
        bytes_say(l.trace, AS_METRIC_PROGRAM, 5000);
        bytes_say(l.trace, AS_METRIC_RECORDS, 700);
        bytes_say(l.trace, apart ? AS_METRIC_LIMITS_APART : AS_METRIC_LIMITS, 100000);
        lab_run(&l);
        expect_metric(&l, "memory.network", 407552, ASSAY_COUNTED, "byte");
        expect_metric(&l, "memory.instrument", apart ? 700 : 100700, ASSAY_COUNTED, "byte");
        expect_metric(&l, "memory.limits", 100000, ASSAY_COUNTED, "byte");
        expect_metric(&l, "memory.program", 5000, ASSAY_MEASURED, "byte");
        expect_metric(&l, "memory.other", 12288 - 407552 - 5000 - (apart ? 700 : 100700), ASSAY_DERIVED, "byte");
        expect(says(&l, "memory", AS_LEVEL_NOTE, "The process held at most"));
        lab_close(&l);
    }
}

Test(analyse, a_broken_promise_of_memory_is_bad)
{
    lab l = lab_open((as_synthetic){0});
    l.trace->peak_bytes_observed++;
    l.trace->steady_allocs = 3;
    lab_run(&l);
    expect(says(&l, "memory", AS_LEVEL_BAD, "stated a peak of 407552 bytes, but 407553 were used"));
    expect(says(&l, "memory", AS_LEVEL_WARN, "3 device allocations"));
    expect(says(&l, "verdict", AS_LEVEL_BAD, "synthetic-mlp"));
    lab_close(&l);
}

Test(analyse, the_instrument_states_its_cost_and_its_promise)
{
    lab l = lab_new((as_synthetic){0});
    expect_metric(&l, "instrument.spans_per_run", 5, ASSAY_DERIVED, "1");
    expect_metric(&l, "instrument.overhead_share", (20.0 * 5 + 2 * 8.0 / 2) / 100000, ASSAY_DERIVED, "ratio");
    expect(says(&l, "instrument", AS_LEVEL_GOOD, "0.108 % of the run, 20.0 ns per span"));
    lab_close(&l);
    l = lab_open((as_synthetic){0});
    l.trace->span_cost_ns = 200, l.trace->dropped_spans = 9;
    lab_run(&l);
    expect(says(&l, "instrument", AS_LEVEL_WARN, "more than it should"));
    expect(says(&l, "instrument", AS_LEVEL_WARN, "9 spans were lost"));
    lab_close(&l);
}

Test(analyse, a_drifting_run_is_not_called_stationary)
{
    lab l = lab_new((as_synthetic){.n_samples = 300, .drift = .1});
    expect_near(metric(&l, "verdict.drift")->value, .1, .002);
    expect(says(&l, "verdict", AS_LEVEL_WARN, "The run is not steady: its last third is 10.0 % slower"));
    lab_close(&l);
    l = lab_new((as_synthetic){.n_samples = 300});
    expect(says(&l, "verdict", AS_LEVEL_GOOD, "The run is steady"));
    lab_close(&l);
}

/* Times that vary by half: the last third is 10 % slower, but the noise hides it. */
Test(analyse, a_noisy_run_is_called_neither_stationary_nor_drifting)
{
    lab l = lab_open((as_synthetic){.n_samples = 90});
    for (size_t i = 0; i < l.trace->n_samples; i++) {
        as_sample *s = &l.trace->samples[i];
        uint64_t   base = (s->end_ticks - s->begin_ticks) / 2;
        s->end_ticks = s->begin_ticks + base + base * ((i * 7919) % 101) / 50 + (i >= 60 ? base / 5 : 0);
    }
    lab_run(&l);
    expect(fabs(metric(&l, "verdict.drift")->value) > .02);
    expect(says(&l, "verdict", AS_LEVEL_NOTE, "Cannot tell whether the run is steady"));
    lab_close(&l);
}

Test(analyse, a_stopped_run_is_reported_as_partial)
{
    lab l = lab_open((as_synthetic){0});
    l.trace->state = AS_TRACE_PARTIAL;
    lab_run(&l);
    expect(says(&l, "verdict", AS_LEVEL_WARN, "The run is partial: it stopped after"));
    lab_close(&l);
}

Test(analyse, a_partial_trace_is_reported_as_partial)
{
    lab l = lab_open((as_synthetic){0});
    l.trace->complete = false;
    l.trace->peak_bytes_observed = 0;
    lab_run(&l);
    expect(says(&l, "verdict", AS_LEVEL_WARN, "The trace is partial"));
    expect_has(as_facts_note_find(l.facts, "trace.complete"), "no:");
    expect_missing(&l, "memory.peak_observed", "partial");
    lab_close(&l);
}

/* A trace full of impossible values: they must be left out or reported, and nothing may crash. */
Test(analyse, records_that_contradict_themselves_are_left_out)
{
    lab l = lab_open((as_synthetic){0});
    l.trace->samples[0].n_runs = 0;
    l.trace->samples[1].end_ticks = 0;
    l.trace->spans[1].step = 77;
    l.trace->spans[2].end_ticks = 0;
    l.trace->spans[3].kind = 99;
    l.trace->readings[0].sensor = 1000;
    l.trace->readings[1].value = NAN;
    l.trace->span_cost_ns = INFINITY, l.trace->clock_cost_ns = -1, l.trace->plan_ns = NAN;
    l.trace->steps[0].flops = UINT64_MAX, l.trace->steps[0].bytes_read = UINT64_MAX;
    lab_run(&l);
    expect_eq(metric(&l, "latency.median")->n, 198);
    expect_missing(&l, "cost.flops", "does not fit in 64 bits");
    expect_missing(&l, "instrument.span_cost", "not measured");
    expect_missing(&l, "latency.plan", "not measured");
    lab_close(&l);
    l = lab_open((as_synthetic){0});
    l.trace->ns_per_tick = NAN;
    lab_run(&l);
    expect_missing(&l, "latency.median", "no sample was measured");
    lab_close(&l);
}

static bool finding_of(const lab *l, const char *group, const char *words)
{
    const as_fact_group *g = as_facts_group_find(l->facts, group);
    for (int i = 0; g && i < g->n_findings; i++)
        if (strstr(g->findings[i].text, words))
            return true;
    return false;
}

Test(analyse, a_record_of_which_a_part_was_read_says_so)
{
    lab l = lab_open((as_synthetic){0});
    lab_run(&l);
    expect(!finding_of(&l, "latency", "The record is long"));
    lab_close(&l);
    l = lab_open((as_synthetic){0});
    l.trace->sample_every = 4;
    lab_run(&l);
    expect(finding_of(&l, "latency", "one sample in 4"));
    lab_close(&l);
}

/* relu1 and softmax, 34 of 99 us, were refused by the device that was asked for. */
Test(analyse, a_run_names_what_each_device_had_of_it)
{
    as_trace_refusal refused[] = {{"opencl:0", "no kernel for it"}, {"relu_f32_avx512", "this CPU has no avx512f"}};
    lab              l = lab_open((as_synthetic){0});
    l.trace->device = "opencl:0";
    l.trace->steps[0].device = l.trace->steps[2].device = "opencl:0";
    for (int i = 1; i < 4; i += 2)
        l.trace->steps[i].refused = refused, l.trace->steps[i].n_refused = 2;
    lab_run(&l);
    expect_metric(&l, "device.opencl:0.share_of_steps", .5, ASSAY_DERIVED, "ratio");
    expect_metric(&l, "device.cpu.share_of_steps", .5, ASSAY_DERIVED, "ratio");
    expect_metric(&l, "device.opencl:0.share_of_time", 65.0 / 99, ASSAY_DERIVED, "ratio");
    expect_metric(&l, "device.cpu.share_of_time", 34.0 / 99, ASSAY_DERIVED, "ratio");
    expect_metric(&l, "device.opencl:0.refused_steps", 2, ASSAY_COUNTED, "1");
    expect_eq(as_facts_table_find(l.facts, "devices", "devices")->n_rows, 2); /* a refused kernel is not a device */
    expect_str(l.facts->title,
               "synthetic-mlp, batch 8, opencl:0 65.7 % of the time, 2 of 4 steps (refused 2); cpu 34.3 % of the time, "
               "2 of 4 steps, 1 thread");
    expect(says(&l, "devices", AS_LEVEL_WARN,
                "opencl:0 ran 2 of 4 steps and refused 2, which ran on another device: relu1: no kernel for it"));
    lab_close(&l);
}

/* A trace from before this became an error: its title says which device did the work. */
Test(analyse, a_device_that_refused_everything_ran_nothing)
{
    as_trace_refusal refused[] = {{"opencl:0", "no kernel for it"}};
    lab              l = lab_open((as_synthetic){0});
    l.trace->device = "opencl:0";
    for (int i = 0; i < 4; i++)
        l.trace->steps[i].refused = refused, l.trace->steps[i].n_refused = 1;
    lab_run(&l);
    expect_metric(&l, "device.cpu.share_of_time", 1, ASSAY_DERIVED, "ratio");
    expect_metric(&l, "device.opencl:0.share_of_time", 0, ASSAY_DERIVED, "ratio");
    expect_has(l.facts->title, "cpu 100 % of the time, 4 of 4 steps; opencl:0 0 % of the time, 0 of 4 steps (refused 4)");
    lab_close(&l);
}

Test(analyse, an_empty_trace_gives_facts_without_numbers)
{
    lab l = {0};
    expect_eq(assay_env_new(&l.env), ASSAY_OK);
    expect_ok(l.env, as_trace_new(l.env, &l.trace));
    lab_run(&l);
    expect_str(l.facts->title, "a run");
    expect_missing(&l, "latency.median", "no sample");
    expect_missing(&l, "cost.flops", "the trace has no steps");
    lab_close(&l);
}
