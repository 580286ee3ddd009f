/* lab_test.c - the laboratory around a measurement: children that hang and crash, candidates and rows from options, baselines,
 * noise and the state of a self-test.  Times are simulated: by the null device, by a program that reports the times it was given,
 * or there are none. */
#include "lab/lab.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/duel/test_trial.h"
#include "base/random.h"
#include "lab/baseline.h"
#include "lab/calls.h"
#include "lab/contest.h"
#include "lab/noise.h"
#include "lab/load.h"
#include "lab/selftest.h"
#include "sensor/sensor.h"
#include "store/test_store.h"

typedef struct fixture {
    assay_env      *env;
    assay_options  *options;
    as_lab_settings s;
} fixture;

/* A simulated clock: in this process time passes only as the null device says. */
static fixture begin(void)
{
    fixture f = {.env = store_env()};
    expect_ok(f.env, assay_options_new(f.env, &f.options));
    f.s = (as_lab_settings){.early = true, .checks = true, .timeout_ns = 60000000000u};
    as_sampler_defaults(&f.s.sampler);
    f.s.sampler.budget_ns = 50000000;
    f.s.sampler.memory = AS_MEMORY_RANDOM;
    f.s.sampler.cpu = -2;
    as_duel_rules_standard(&f.s.rules);
    return f;
}

static void set(fixture *f, const char *key, const char *value)
{
    expect_ok(f->env, assay_options_set(f->env, f->options, key, value));
}
static void end(fixture *f) { assay_options_free(f->options); }

/* --- Settings ----------------------------------------------------------------------------------------------------- */

Test(lab, settings_are_standard_when_nothing_is_said)
{
    fixture         f = begin();
    as_lab_settings s;
    expect_ok(f.env, as_lab_settings_read(f.env, f.options, NULL, &s));
    expect_eq(s.sampler.budget_ns, 5000000000u);
    expect_eq(s.sampler.memory, AS_MEMORY_RANDOM);
    expect_eq(s.sampler.warm_up, -1);
    expect_eq(s.sampler.n_rounds, 0);
    expect_eq(s.sampler.seed, 1);
    expect(!s.sampler.by_wall && s.early);
    expect(!s.isolate); /* a child could not move this clock */
    expect_near(s.rules.margin, 0.01, 0);
    expect_near(s.rules.alpha, 0.01, 0);
    expect_eq(s.timeout_ns, 60000000000u);
    expect_ok(f.env, as_lab_settings_read(f.env, f.options, "12s", &s)); /* another kind of work has its own default */
    expect_eq(s.sampler.budget_ns, 12000000000u);
    expect(!s.sampler.keeps_budget);
    end(&f);
}

Test(lab, settings_come_from_the_options)
{
    fixture         f = begin();
    as_lab_settings s;
    set(&f, "budget", "100ms");
    set(&f, "timeout", "3s");
    set(&f, "warmup", "7");
    set(&f, "runs", "12");
    set(&f, "clock", "wall");
    set(&f, "layout-of-memory", "shared");
    set(&f, "margin", "5%");
    set(&f, "alpha", "0.05");
    set(&f, "seed", "9");
    expect_ok(f.env, as_lab_settings_read(f.env, f.options, NULL, &s));
    expect_eq(s.sampler.budget_ns, 100000000);
    expect_eq(s.timeout_ns, 3000000000u);
    expect_eq(s.sampler.warm_up, 7);
    expect_eq(s.sampler.n_rounds, 12);
    expect(s.sampler.keeps_budget);
    expect(s.sampler.by_wall);
    expect_eq(s.sampler.memory, AS_MEMORY_SHARED);
    expect_near(s.rules.margin, 0.05, 0);
    expect_near(s.rules.alpha, 0.05, 0);
    expect_eq(s.sampler.seed, 9);
    set(&f, "target-width", "2%");
    set(&f, "samples", "on");
    expect_ok(f.env, as_lab_settings_read(f.env, f.options, "12s", &s));
    expect_near(s.target_width, 0.02, 0);
    expect(s.sampler.keep_samples);
    expect_eq(s.sampler.budget_ns, 100000000); /* a given value overrides the default */
    expect(as_options_unused(f.options) == NULL);
    end(&f);
}

Test(lab, settings_that_make_no_sense_are_refused)
{
    static const char *const bad[] = {"some", "-3"};
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        fixture         f = begin();
        as_lab_settings s;
        set(&f, "warmup", bad[i]);
        expect_fails(f.env, as_lab_settings_read(f.env, f.options, NULL, &s), ASSAY_BAD_INPUT, "--warmup: ");
        end(&f);
    }
}

/* The structs that a call reads look at every key that the call lists: no key is missing, and none is ignored. */
static void expect_all_read(const char *const *keys, void (*read)(fixture *f))
{
    fixture f = begin();
    for (const char *const *k = keys; *k; k++)
        set(&f, *k, as_option_find(*k)->example);
    read(&f);
    expect(!as_options_unused(f.options));
    end(&f);
}

static void contest_read(fixture *f)
{
    as_lab_settings    s;
    as_contest_options o;
    as_store_options   store;
    expect_ok(f->env, as_lab_settings_read(f->env, f->options, NULL, &s));
    expect_ok(f->env, as_contest_options_read(f->env, f->options, &o));
    expect_ok(f->env, as_store_options_read(f->env, f->options, &store));
}

static void bench_read(fixture *f)
{
    as_lab_settings  s;
    as_case_options  o;
    as_store_options store;
    expect_ok(f->env, as_lab_settings_read(f->env, f->options, NULL, &s));
    expect_ok(f->env, as_case_options_read(f->env, f->options, &o));
    expect_ok(f->env, as_store_options_read(f->env, f->options, &store));
}

static void check_read(fixture *f)
{
    as_check_options o;
    expect_ok(f->env, as_check_options_read(f->env, f->options, &o));
}

Test(lab, the_keys_of_a_call_are_those_of_the_structs_that_it_reads)
{
    expect_all_read((const char *const[]){AS_BENCH_KEYS, NULL}, bench_read);
    expect_all_read((const char *const[]){AS_COMPARE_KEYS, NULL}, contest_read);
    expect_all_read((const char *const[]){AS_CHECK_KEYS, NULL}, check_read);
}

Test(lab, calls_refuse_options_that_they_do_not_take)
{
    fixture           f = begin();
    assay_facts      *facts = NULL;
    int               code;
    const char *const what[] = {"mlp-small"};
    set(&f, "rate", "5");
    expect_fails(f.env, assay_bench(f.env, what, 1, f.options, &facts), ASSAY_BAD_INPUT,
                 "assay_bench: --rate does not apply; use: sizes, ");
    expect_fails(f.env, assay_compare(f.env, what, 1, f.options, &facts), ASSAY_BAD_INPUT, "assay_compare: --rate does not apply");
    expect_fails(f.env, assay_check(f.env, "main", f.options, &facts, &code), ASSAY_BAD_INPUT,
                 "assay_check: --rate does not apply");
    expect_fails(f.env, assay_baseline_create(f.env, "main", what, 1, f.options), ASSAY_BAD_INPUT,
                 "baseline save: --rate does not apply");
    expect(!facts);
    end(&f);
}

/* --- Children -------------------------------------------------------------------------------------------------------- */

static assay_status isolated(fixture *f, as_lab_job job, void *arg, uint64_t timeout_ms, assay_trace **out)
{
    f->s.timeout_ns = timeout_ms * 1000000;
    *out = NULL;
    assay_status status = as_lab_isolated(f->env, "a job", 2, job, arg, &f->s, out);
    expect(waitpid(-1, NULL, WNOHANG) < 0); /* no child is left */
    return status;
}

static assay_status job_good(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    (void)sampler;
    *out = as_planted_trial(env, (as_planted){.name = arg, .n_shots = 3, .n_launches = 2});
    return ASSAY_OK;
}

static assay_status job_hangs(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    (void)env, (void)arg, (void)sampler, (void)out;
    if (fork() < 0) /* both hang */
        return ASSAY_IO;
    while (pause()) /* always -1 */
        continue;
    return ASSAY_OK;
}

static assay_status job_is_killed(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    (void)env, (void)sampler, (void)out;
    kill(getpid(), *(int *)arg);
    return ASSAY_OK;
}

static assay_status job_exits(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    (void)env, (void)arg, (void)sampler, (void)out;
    _exit(3);
}

static assay_status job_fails(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    (void)arg, (void)sampler, (void)out;
    return as_fail(env, ASSAY_BAD_INPUT, "a job: its model is upside down");
}

/* A beat every tenth of a second, for longer than the timeout. */
static assay_status job_is_long(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    for (int i = 0; i < 25; i++) {
        poll(NULL, 0, 100);
        sampler->progress(sampler->progress_arg, AS_PHASE_MEASURE, i / 25.0, NULL);
    }
    return job_good(env, arg, sampler, out);
}

static assay_status job_waits_for_the_end(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    AS_TRY(job_good(env, arg, sampler, out));
    sampler->progress(sampler->progress_arg, AS_PHASE_MEASURE, 0.5, NULL);
    while (!as_cancelled(env))
        poll(NULL, 0, 10);
    (*out)->state = AS_TRACE_PARTIAL;
    return as_fail(env, ASSAY_CANCELLED, "a job: stopped after 3 rounds");
}

Test(isolate, the_trial_of_a_child_comes_back_whole)
{
    fixture      f = begin();
    assay_trace *t = NULL;
    expect_ok(f.env, isolated(&f, job_good, "good", 60000, &t));
    expect_eq(t->state, AS_TRACE_COMPLETE);
    expect_str(t->name, "good");
    expect_eq(t->n_turns, 20);
    expect_eq(t->n_shots, 60);
    expect_str(t->arms[1].name, "new");
    assay_trace_free(t);
    end(&f);
}

Test(isolate, a_child_that_hangs_is_ended_with_its_children_and_recorded_as_timed_out)
{
    fixture      f = begin();
    assay_trace *t = NULL;
    int          ends[2];
    expect_eq(pipe(ends), 0); /* reading ends when no process holds it open */
    expect_ok(f.env, isolated(&f, job_hangs, NULL, 300, &t));
    expect_eq(t->state, AS_TRACE_TIMEOUT);
    expect_str(t->reason, "timed out: no round finished within 0.3 s");
    expect_str(t->name, "a job");
    expect_eq(t->n_arms, 2);
    expect_eq(t->n_turns, 0);
    close(ends[1]);
    expect_eq(poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 20000), 1);
    close(ends[0]);
    assay_trace_free(t);
    end(&f);
}

Test(isolate, a_child_that_crashes_is_recorded_with_its_signal)
{
    static const struct {
        int         number;
        const char *reason;
    } all[] = {{SIGKILL, "its process ended by signal 9 ("}, {SIGABRT, "its process ended by signal 6 ("}};
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        fixture      f = begin();
        assay_trace *t = NULL;
        int          number = all[i].number;
        expect_ok(f.env, isolated(&f, job_is_killed, &number, 60000, &t));
        expect_eq(t->state, AS_TRACE_FAILED);
        expect_has(t->reason, all[i].reason);
        assay_trace_free(t);
        end(&f);
    }
}

Test(isolate, a_child_that_leaves_without_an_answer_has_failed)
{
    fixture      f = begin();
    assay_trace *t = NULL;
    expect_ok(f.env, isolated(&f, job_exits, NULL, 60000, &t));
    expect_eq(t->state, AS_TRACE_FAILED);
    expect_str(t->reason, "its process ended without an answer");
    assay_trace_free(t);
    end(&f);
}

Test(isolate, the_sentence_of_a_child_that_fails_comes_back)
{
    fixture      f = begin();
    assay_trace *t = NULL;
    expect_ok(f.env, isolated(&f, job_fails, NULL, 60000, &t));
    expect_eq(t->state, AS_TRACE_FAILED);
    expect_str(t->reason, "a job: its model is upside down");
    assay_trace_free(t);
    end(&f);
}

/* When a child continues a trial and crashes, what was measured before is not lost. */
Test(isolate, a_trial_that_a_child_could_not_go_on_with_keeps_its_blocks)
{
    static const struct {
        as_lab_job     job;
        uint64_t       timeout_ns;
        as_trace_state state;
        const char    *reason;
    } all[] = {{job_hangs, 200000000, AS_TRACE_TIMEOUT, "timed out"},
               {job_exits, 60000000000, AS_TRACE_FAILED, "ended without an answer"}};
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        fixture      f = begin();
        assay_trace *t = as_planted_trial(f.env, (as_planted){.name = "before", .n_launches = 2});
        f.s.timeout_ns = all[i].timeout_ns;
        expect_ok(f.env, as_lab_isolated(f.env, "a job", 2, all[i].job, NULL, &f.s, &t));
        expect_eq(t->state, all[i].state);
        expect_has(t->reason, all[i].reason);
        expect_eq(t->n_turns, 20);
        assay_trace_free(t);
        end(&f);
    }
}

/* Sends some rounds, then stops. */
static assay_status job_dies_measuring(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    *out = as_planted_trial(env, (as_planted){.name = "half", .n_shots = 3, .n_launches = 2});
    sampler->progress(sampler->progress_arg, AS_PHASE_MEASURE, 0.5, *out);
    if (arg)
        kill(getpid(), SIGKILL);
    while (pause()) /* always -1 */
        continue;
    return ASSAY_OK;
}

Test(isolate, what_a_child_measured_before_it_was_ended_is_kept)
{
    for (int killed = 0; killed < 2; killed++) {
        fixture      f = begin();
        assay_trace *t = NULL;
        expect_ok(f.env, isolated(&f, job_dies_measuring, killed ? "now" : NULL, killed ? 60000 : 300, &t));
        expect_eq(t->state, killed ? AS_TRACE_FAILED : AS_TRACE_TIMEOUT);
        expect_has(t->reason, killed ? "ended by signal 9" : "timed out");
        expect_str(t->name, "half");
        expect_eq(t->n_turns, 20);
        expect_eq(t->n_shots, 60);
        expect_eq(t->n_rounds, 10);
        assay_trace_free(t);
        end(&f);
    }
}

static void count_beat(void *arg, const assay_stage *stage)
{
    expect_str(stage->subject, "a job");
    expect(stage->done >= 0 && stage->done <= 1);
    ++*(int *)arg;
}

Test(isolate, progress_keeps_a_long_child_alive)
{
    fixture      f = begin();
    assay_trace *t = NULL;
    int          n = 0;
    assay_on_progress(f.env, count_beat, &n);
    expect_ok(f.env, isolated(&f, job_is_long, "long", 2000, &t));
    expect_eq(t->state, AS_TRACE_COMPLETE);
    expect(n >= 1);
    assay_trace_free(t);
    end(&f);
}

static void cancel_it(void *arg, const assay_stage *stage)
{
    (void)stage;
    assay_cancel(arg);
}

Test(isolate, cancel_reaches_the_child_and_keeps_what_it_measured)
{
    fixture      f = begin();
    assay_trace *t = NULL;
    assay_on_progress(f.env, cancel_it, f.env);
    expect_fails(f.env, isolated(&f, job_waits_for_the_end, "half", 60000, &t), ASSAY_CANCELLED, "stopped after 10 rounds");
    expect(t);
    expect_eq(t->state, AS_TRACE_PARTIAL);
    expect_eq(t->n_turns, 20);
    assay_trace_free(t);
    end(&f);
}

/* --- Contest ----------------------------------------------------------------------------------------------------------- */

static as_contest_options said(const fixture *f)
{
    as_contest_options o;
    expect_ok(f->env, as_contest_options_read(f->env, f->options, &o));
    return o;
}

static as_contest *contest(fixture *f, const char *a, const char *b)
{
    const char              *args[] = {a, b};
    as_contest              *c = NULL;
    const as_contest_options o = said(f);
    expect_ok(f->env, as_contest_read(f->env, args, b ? 2 : 1, &o, &c));
    return c;
}

static void expect_no_contest(const char *a, const char *b, const char *vary, const char *sentence)
{
    fixture     f = begin();
    const char *args[] = {a, b};
    as_contest *c = NULL;
    if (vary)
        set(&f, "vary", vary);
    const as_contest_options o = said(&f);
    expect_fails(f.env, as_contest_read(f.env, args, b ? 2 : 1, &o, &c), ASSAY_BAD_INPUT, sentence);
    expect(!c);
    end(&f);
}

Test(contest, arms_are_the_models_that_are_named)
{
    fixture     f = begin();
    as_contest *c = contest(&f, "mlp-small", "mlp-bn");
    expect_eq(c->n_arms, 2);
    expect_str(c->arms[0], "mlp-small");
    expect_str(c->arms[1], "mlp-bn");
    expect_eq(c->n_rows, 1);
    expect_str(c->rows[0].label, "");
    expect(isnan(c->rows[0].value));
    expect_str(c->rows[0].cases[1]->spec, "mlp-bn");
    expect_str(c->title, "mlp-bn against mlp-small");
    as_contest_free(c);
    c = contest(&f, "mlp-small", "mlp-small"); /* identical models test the laboratory */
    expect_str(c->arms[1], "mlp-small (2)");
    as_contest_free(c);
    end(&f);
}

Test(contest, arms_are_the_values_that_vary)
{
    fixture f = begin();
    set(&f, "vary", "threads=1,2");
    as_contest *c = contest(&f, "mlp-small", NULL);
    expect_eq(c->n_arms, 2);
    expect_str(c->arms[0], "threads=1");
    expect_str(c->arms[1], "threads=2");
    expect_eq(c->n_rows, 1);
    expect_eq(c->rows[0].cases[0]->plan.threads, 1);
    expect_eq(c->rows[0].cases[1]->plan.threads, 2);
    expect_str(c->title, "mlp-small by threads");
    as_contest_free(c);
    end(&f);
}

Test(contest, the_second_vary_makes_rows)
{
    fixture f = begin();
    set(&f, "vary", "compile=on,off");
    set(&f, "vary", "batch=32,1,8");
    as_contest              *c = contest(&f, "mlp-small", NULL);
    static const double      values[] = {1, 8, 32}; /* sorted, in whatever order they were given */
    static const char *const labels[] = {"batch=1", "batch=8", "batch=32"};
    expect_eq(c->n_arms, 2);
    expect_str(c->arms[1], "compile=off");
    expect_eq(c->n_rows, 3);
    expect_str(c->key, "batch");
    for (int i = 0; i < 3; i++) {
        expect_str(c->rows[i].label, labels[i]);
        expect_near(c->rows[i].value, values[i], 0);
        expect_near(as_bench_case_items(c->rows[i].cases[0]), values[i], 0);
    }
    as_contest_free(c);
    end(&f);
}

Test(contest, models_are_compared_over_what_varies)
{
    fixture f = begin();
    set(&f, "vary", "batch=1,8");
    as_contest *c = contest(&f, "mlp-small", "mlp-bn");
    expect_eq(c->n_arms, 2);
    expect_str(c->arms[1], "mlp-bn");
    expect_eq(c->n_rows, 2);
    expect_str(c->rows[1].label, "batch=8");
    expect_str(c->rows[1].cases[1]->spec, "mlp-bn");
    as_contest_free(c);
    end(&f);
}

Test(contest, several_devices_are_arms)
{
    fixture f = begin();
    set(&f, "devices", "null:gemm=5us,null");
    as_contest *c = contest(&f, "mlp-small", NULL);
    expect_str(c->arms[0], "device=null:gemm=5us");
    expect_str(c->arms[1], "device=null");
    expect_str(c->rows[0].cases[0]->plan.device, "null:gemm=5us");
    expect_str(c->rows[0].cases[1]->plan.device, "null");
    as_contest_free(c);
    end(&f);
}

Test(contest, precision_is_of_weights_in_a_model_and_of_elements_in_a_workload)
{
    fixture f = begin();
    set(&f, "vary", "precision=f32,f16");
    as_contest *c = contest(&f, "mlp-small", NULL);
    expect_str(c->arms[1], "precision=f16");
    expect_str(c->rows[0].cases[1]->plan.weights_as, "f16");
    as_contest_free(c);
    c = contest(&f, "bench:matmul", NULL);
    expect_has(c->rows[0].cases[0]->spec, "dtype=f32");
    expect_has(c->rows[0].cases[1]->spec, "dtype=f16");
    as_contest_free(c);
    end(&f);
}

Test(contest, another_key_is_a_parameter_of_the_model)
{
    fixture f = begin();
    set(&f, "vary", "units=8,16");
    as_contest *c = contest(&f, "cfc:proj=4", NULL);
    expect_str(c->rows[0].cases[0]->spec, "cfc:proj=4,units=8");
    expect_str(c->rows[0].cases[1]->spec, "cfc:proj=4,units=16");
    as_contest_free(c);
    end(&f);
}

Test(contest, sizes_of_a_workload_are_rows)
{
    fixture f = begin();
    set(&f, "vary", "threads=1,2");
    set(&f, "sizes", "32x32,16x16");
    as_contest *c = contest(&f, "bench:matmul", NULL);
    expect_eq(c->n_rows, 2);
    expect_str(c->key, "size");
    expect_str(c->rows[0].label, "16x16");
    expect_near(c->rows[0].value, 256, 0);
    expect_near(c->rows[1].value, 1024, 0);
    expect_has(c->rows[1].cases[1]->spec, "32x32");
    expect(isnan(as_bench_case_items(c->rows[0].cases[0])));
    as_contest_free(c);
    end(&f);
}

Test(contest, what_is_no_comparison_is_refused)
{
    expect_no_contest("mlp-small", NULL, NULL, "with mlp-small give a second model");
    expect_no_contest("mlp-small", NULL, "threads=1", "--vary threads=1 has one value");
    expect_no_contest("mlp-small", NULL, "threads", "--vary threads: expected KEY=A,B");
    expect_no_contest("mlp-small", NULL, "=1,2", "expected KEY=A,B");
    expect_no_contest("mlp-small", NULL, "threads=1,,2", "a value is empty");
    expect_no_contest("mlp-small", NULL, "threads=1,2,", "a value is empty");
}

Test(contest, arms_with_other_cases_are_refused)
{
    fixture     f = begin();
    const char *args[] = {"bench:matmul", "mlp-small"};
    as_contest *c = NULL;
    set(&f, "sizes", "16x16,32x32");
    const as_contest_options o = said(&f);
    expect_fails(f.env, as_contest_read(f.env, args, 2, &o, &c), ASSAY_BAD_INPUT,
                 "bench:matmul has 2 cases and mlp-small has 1: candidates must have the same cases");
    expect(!c);
    end(&f);
}

Test(contest, is_run_row_by_row_and_judged)
{
    fixture f = begin();
    set(&f, "vary", "device=null:gemm=50us,null:gemm=60us");
    set(&f, "vary", "batch=1,2");
    as_contest *c = contest(&f, "mlp-small", NULL);
    expect_ok(f.env, as_contest_run(f.env, c, &f.s));
    for (int i = 0; i < 2; i++) {
        expect_eq(c->rows[i].trial->state, AS_TRACE_COMPLETE);
        expect(c->rows[i].trial->n_rounds > 0);
        expect_eq(c->rows[i].duels[0].verdict, AS_SLOWER);
        expect_near(c->rows[i].duels[0].ratio, 1.2, 0.05);
        expect_str(c->rows[i].trial->arms[1].name, "device=null:gemm=60us");
    }
    assay_facts *facts = NULL;
    expect_ok(f.env, as_contest_facts(f.env, c, &f.s, &facts));
    assay_facts_free(facts);
    as_contest_free(c);
    end(&f);
}

Test(contest, cancel_keeps_the_rows_before)
{
    fixture f = begin();
    set(&f, "vary", "device=null:gemm=50us,null:gemm=60us");
    set(&f, "vary", "batch=1,2");
    as_contest *c = contest(&f, "mlp-small", NULL);
    assay_cancel(f.env);
    expect_eq(as_contest_run(f.env, c, &f.s), ASSAY_CANCELLED);
    expect(c->rows[1].trial == NULL);
    assay_facts *facts = NULL;
    expect_ok(f.env, as_contest_facts(f.env, c, &f.s, &facts));
    assay_facts_free(facts);
    as_contest_free(c);
    end(&f);
}

Test(contest, what_rows_leave_goes_to_the_row_that_is_not_settled)
{
    fixture           f = begin();
    as_contest       *c = NULL;
    const char *const args[] = {"bench:elementwise:add,mul,sub"};
    f.s.rules.margin = 0; /* candidates that are equal to the nanosecond are then never settled: mul */
    set(&f, "devices", "null:add=50us,sub=50us,null:add=60us,sub=60us");
    set(&f, "sizes", "64x64");
    const as_contest_options o = said(&f);
    expect_ok(f.env, as_contest_read(f.env, args, 1, &o, &c));
    expect_eq(c->n_rows, 3);
    expect_ok(f.env, as_contest_run(f.env, c, &f.s));
    const assay_trace *open = c->rows[1].trial;
    double             left = 50e6;
    for (int i = 0; i < 3; i += 2) {
        expect_eq(c->rows[i].duels[0].verdict, AS_SLOWER);
        expect_near(c->rows[i].trial->budget_ns, 50e6, 0);
        expect(!as_trace_note_find(c->rows[i].trial, "went_on"));
        left += 50e6 - c->rows[i].trial->spent_ns;
    }
    expect_eq(c->rows[1].duels[0].verdict, AS_UNRESOLVED);
    expect(as_trace_note_find(open, "went_on"));
    expect_near(open->budget_ns, left, 1);
    expect(open->spent_ns >= 0.9 * left && open->spent_ns <= 1.1 * left);
    expect_eq(c->rows[1].duels[0].n_rounds, open->n_rounds); /* the verdict uses all rounds */
    as_contest_free(c);
    end(&f);
}

/* --- A whole suite ------------------------------------------------------------------------------------------------------------ */

/* Two candidates that only move the clock.  Candidate 1 alternately takes `step` ns longer or shorter, and always `more` ns
 * longer; both take up to `noise` ns longer by chance. */
typedef struct mover {
    double   more, step, noise;
    uint64_t seed;
    int      arm;
    uint32_t n;
} mover;

static assay_status mover_launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    (void)self, (void)seed, (void)info;
    as_clock_advance(&env->clock, 10000);
    return ASSAY_OK;
}

static assay_status mover_block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots,
                                uint32_t *switches)
{
    mover *m = self;
    double ns = 60000 + (m->arm ? m->more + (m->n % 2 ? m->step : -m->step) : 0) +
                m->noise * (double)as_philox_uniform(m->seed, (uint32_t)m->arm, 0, m->n);
    m->n++;
    (void)warm;
    for (uint32_t i = 0; i < n; i++) {
        as_clock_advance(&env->clock, (uint64_t)(ns * calls));
        shots[i] = (as_shot){(float)ns, NAN};
    }
    *switches = 0;
    return ASSAY_OK;
}

static void mover_land(void *self) { (void)self; }

enum { N_MOVED = 4 };
typedef struct moved {
    fixture      f;
    mover        cases[N_MOVED][2];
    int          n_runs[N_MOVED], cancel_at;
    assay_trace *trials[N_MOVED];
} moved;

static assay_status moved_run(void *arg, int i, const as_lab_settings *s, assay_trace **trial)
{
    moved *m = arg;
    as_arm arms[2];
    for (int k = 0; k < 2; k++)
        arms[k] = (as_arm){.name = k ? "b" : "a",
                           .what = "planted",
                           .self = &m->cases[i][k],
                           .launch = mover_launch,
                           .block = mover_block,
                           .land = mover_land};
    if (++m->n_runs[i] == m->cancel_at)
        assay_cancel(m->f.env);
    return as_lab_compare_arms(m->f.env, "moved", arms, 2, s, trial);
}

/* Case i is slower by more[i]; 0: it alternates around the other and is never settled early. */
static moved *moved_new(const double *more)
{
    moved *m = calloc(1, sizeof *m);
    expect(m);
    m->f = begin();
    m->f.s.sampler.warm_up = 0;
    m->f.s.sampler.rounds_a_launch = 1;
    for (int i = 0; i < N_MOVED; i++)
        m->cases[i][1] = (mover){.more = more[i], .step = more[i] > 0 ? 0 : 6000, .arm = 1};
    return m;
}

static assay_status moved_all(moved *m) { return as_lab_all(m->f.env, moved_run, m, N_MOVED, &m->f.s, m->trials); }

static double moved_spent(const moved *m)
{
    double sum = 0;
    for (int i = 0; i < N_MOVED; i++)
        sum += m->trials[i]->spent_ns;
    return sum;
}

static void moved_free(moved *m)
{
    for (int i = 0; i < N_MOVED; i++)
        assay_trace_free(m->trials[i]);
    end(&m->f);
    free(m);
}

Test(suite, one_undecided_case_gets_what_the_decided_ones_left)
{
    moved *m = moved_new((double[]){6000, 0, 6000, 6000});
    expect_ok(m->f.env, moved_all(m));
    for (int i = 0; i < N_MOVED; i++) {
        as_duel duel;
        as_duel_judge(m->trials[i], 0, 1, &m->f.s.rules, &duel);
        expect_eq(duel.early, i != 1);
        expect(duel.early ? duel.verdict == AS_SLOWER : duel.n_rounds == m->trials[i]->n_rounds);
        expect_eq(m->n_runs[i], i == 1 ? 2 : 1);
        expect(i == 1 || m->trials[i]->n_turns * 4 < m->trials[1]->n_turns);
    }
    expect(m->trials[1]->spent_ns > 3 * 50e6); /* its own budget, and most of three others */
    expect(moved_spent(m) > 0.9 * N_MOVED * 50e6 && moved_spent(m) <= 1.1 * N_MOVED * 50e6);
    moved_free(m);
}

Test(suite, undecided_cases_get_equal_shares)
{
    moved *m = moved_new((double[]){0, 6000, 0, 6000});
    expect_ok(m->f.env, moved_all(m));
    expect_near(m->trials[0]->spent_ns, m->trials[2]->spent_ns, 1e6);
    expect(m->trials[0]->spent_ns > 1.5 * 50e6);
    expect(moved_spent(m) <= 1.1 * N_MOVED * 50e6);
    moved_free(m);
}

Test(suite, nothing_is_shared_where_rounds_are_counted_or_all_are_decided)
{
    moved *m = moved_new((double[]){6000, 0, 6000, 6000});
    m->f.s.sampler.n_rounds = 20;
    expect_ok(m->f.env, moved_all(m));
    expect_eq(m->trials[1]->n_rounds, 20);
    moved_free(m);
    m = moved_new((double[]){6000, 6000, 6000, 6000});
    expect_ok(m->f.env, moved_all(m));
    for (int i = 0; i < N_MOVED; i++)
        expect_eq(m->n_runs[i], 1);
    moved_free(m);
}

/* Identical candidates that continue because others left time over: wrong verdicts stay within alpha.  Seeded, so the result is
 * always the same. */
Test(suite, going_on_makes_no_more_false_alarms)
{
    enum { N_SUITES = 250 };
    int n_open = 0, n_wrong = 0;
    for (uint64_t seed = 0; seed < N_SUITES; seed++) {
        moved *m = moved_new((double[]){0, 6000, 0, 6000});
        m->f.s.rules = (as_duel_rules){.margin = 0, .alpha = 0.1};
        m->f.s.sampler.budget_ns = 25000000;
        m->f.s.sampler.seed = seed + 1;
        for (int i = 0; i < N_MOVED; i += 2)
            for (int k = 0; k < 2; k++)
                m->cases[i][k] = (mover){.noise = 3000, .seed = 4 * seed + (uint64_t)i + 1, .arm = k};
        expect_ok(m->f.env, moved_all(m));
        for (int i = 0; i < N_MOVED; i += 2) {
            as_duel duel;
            as_duel_judge(m->trials[i], 0, 1, &m->f.s.rules, &duel);
            n_open += m->n_runs[i] > 1;
            n_wrong += duel.verdict == AS_SLOWER || duel.verdict == AS_FASTER;
        }
        moved_free(m);
    }
    expect(n_open > N_SUITES);  /* most of the two per suite */
    expect(n_wrong <= 50 + 20); /* a tenth of 500, and three standard deviations */
    expect(n_wrong > 5);        /* and the test can detect wrong verdicts */
}

Test(suite, cancel_while_going_on_keeps_what_was_measured_before)
{
    moved *m = moved_new((double[]){6000, 0, 6000, 6000});
    m->cancel_at = 2;
    expect_eq(moved_all(m), ASSAY_CANCELLED);
    expect_eq(m->trials[1]->state, AS_TRACE_PARTIAL);
    expect(m->trials[1]->spent_ns >= 0.9 * 50e6);
    moved_free(m);
}

/* --- Cases that cannot be measured ------------------------------------------------------------------------------------------ */

Test(lab, a_case_alone_is_measured_with_its_samples)
{
    fixture         f = begin();
    as_bench_cases *cases = NULL;
    assay_trace    *t = NULL;
    const char     *model = "mlp-small";
    set(&f, "devices", "null:gemm=50us");
    const as_contest_options o = said(&f);
    expect_ok(f.env, as_bench_cases_read(f.env, &model, 1, &o.cases, &cases));
    expect_ok(f.env, as_lab_measure(f.env, &cases->items[0], &f.s, &t));
    expect_eq(t->state, AS_TRACE_COMPLETE);
    expect(t->n_shots > 0);
    expect_has(t->arms[0].compared, "none");
    assay_trace_free(t);
    as_bench_cases_free(cases);
    end(&f);
}

Test(lab, a_case_that_cannot_be_opened_is_a_trial_that_failed)
{
    fixture             f = begin();
    assay_trace        *t = NULL;
    const as_bench_case none = {.id = "x", .name = "x", .family = "x", .workload = "x", .spec = "no-such-model"};
    expect_ok(f.env, as_lab_measure(f.env, &none, &f.s, &t));
    expect_eq(t->state, AS_TRACE_FAILED);
    expect_has(t->reason, "no-such-model");
    expect_eq(t->n_turns, 0);
    assay_trace_free(t);
    end(&f);
}

/* --- Baselines ---------------------------------------------------------------------------------------------------------------- */

/* A program that reports this many ns per call. */
static const char *toy(const char *name, int ns)
{
    const char *path = as_test_path(name);
    FILE       *file = fopen(path, "w");
    expect(file);
    fprintf(
        file,
        "#!/bin/sh\necho 'assay-arm 1 toy by=cpu'\nwhile read -r verb a b n; do case $verb in\nlaunch) echo ok;;\nhash) echo ok 1f;;\n"
        "ledger) echo ok flops=8 peak=4096;;\nblock) t=$((b * %d)); out='ok 0'; while [ $n -gt 0 ]; do out=\"$out $t $t\"; n=$((n - 1)); done; echo $out;;\n"
        "end) exit 0;;\nesac; done\n",
        ns);
    expect_eq(fclose(file), 0);
    expect_eq(chmod(path, 0755), 0);
    return path;
}

typedef struct shelf {
    fixture      f;
    as_store    *store;
    as_baseline *b;
    as_check     check;
} shelf;

static shelf shelf_open(const char *name)
{
    shelf s = {.f = begin()};
    s.store = store_open(s.f.env, name);
    s.f.s.sampler.warm_up = 0;
    s.f.s.sampler.rounds_a_launch = 2;
    s.f.s.sampler.n_rounds = 24;
    s.f.s.rules.margin = 0.02;
    return s;
}

static void shelf_close(shelf *s)
{
    as_check_drop(&s->check);
    as_baseline_free(s->b);
    as_store_close(s->store);
    end(&s->f);
}

static void save(shelf *s, const char *const *commands, int n)
{
    as_baseline *b = NULL;
    uint32_t     n_rounds = s->f.s.sampler.n_rounds;
    expect_ok(s->f.env, as_baseline_of_commands(s->f.env, commands, n, &b));
    s->f.s.sampler.n_rounds = 2;
    expect_ok(s->f.env, as_baseline_save(s->f.env, s->store, b, "main", "before the change", &s->f.s));
    s->f.s.sampler.n_rounds = n_rounds;
    as_baseline_free(b);
}

static void         load(shelf *s) { expect_ok(s->f.env, as_baseline_load(s->f.env, s->store, "main", &s->b)); }
static assay_status check(shelf *s, bool cross) { return as_baseline_check(s->f.env, s->store, s->b, cross, &s->f.s, &s->check); }

static char *named_json(shelf *s)
{
    as_arena    arena = {0};
    const char *json;
    int64_t     run;
    expect_ok(s->f.env, as_store_get_named(s->f.env, s->store, "baseline", "main", &arena, &json, &run));
    char *copy = strdup(json);
    expect(copy);
    as_arena_drop(&arena);
    return copy;
}

static void named_put(shelf *s, const char *json)
{
    expect_ok(s->f.env, as_store_put_named(s->f.env, s->store, "baseline", "main", json, 0, true));
}

Test(baseline, comes_back_from_the_store)
{
    shelf       s = shelf_open("b1.db");
    const char *path = toy("toy", 60000);
    char        command[4200], print[17];
    snprintf(command, sizeof command, "%s 'two words' x", path);
    const char *const commands[] = {path, command};
    save(&s, commands, 2);
    load(&s);
    as_machine_fingerprint(print);
    expect_str(s.b->name, "main");
    expect_str(s.b->description, "before the change");
    expect_str(s.b->fingerprint, print);
    expect(s.b->unix_time > 0 && s.b->run > 0);
    expect_eq(s.b->n_cases, 2);
    expect_str(s.b->cases[1].name, command);
    expect_str(s.b->cases[1].argv[0], path);
    expect_str(s.b->cases[1].argv[1], "two words");
    expect_str(s.b->cases[1].argv[2], "x");
    expect(s.b->cases[1].argv[3] == NULL);
    expect_eq(s.b->cases[0].n_objects, 1);
    expect_eq(s.b->cases[0].objects[0].at, 0);
    expect_eq(strlen(s.b->cases[0].objects[0].id), 64);
    expect_str(s.b->cases[0].objects[0].name, "toy");
    expect_near(s.b->cases[0].p25_ns, 60000, 0.01);
    expect_near(s.b->cases[0].peak_bytes, 4096, 0);
    shelf_close(&s);
}

Test(baseline, the_same_program_is_the_same_and_a_slower_one_is_slower)
{
    shelf             s = shelf_open("b2.db");
    const char *const commands[] = {toy("toy", 60000)};
    save(&s, commands, 1);
    load(&s);
    expect_ok(s.f.env, check(&s, false));
    expect_eq(s.check.n, 1);
    expect(!s.check.cases[0].failure && !s.check.cases[0].incomplete);
    expect_eq(s.check.duels[0].verdict, AS_SAME);
    expect_str(s.check.duels[0].unit, "launch");
    as_check_drop(&s.check);
    toy("toy", 75000); /* today's program; the store has the old one */
    expect_ok(s.f.env, check(&s, false));
    expect_eq(s.check.duels[0].verdict, AS_SLOWER);
    expect_near(s.check.duels[0].ratio, 1.25, 1e-4);
    expect_eq(s.check.duels[0].severity, AS_SEVERITY_MODERATE);
    shelf_close(&s);
}

Test(baseline, a_name_that_is_taken_or_is_a_path_is_refused)
{
    shelf             s = shelf_open("b3.db");
    const char *const commands[] = {toy("toy", 60000)};
    as_baseline      *b = NULL;
    save(&s, commands, 1);
    expect_ok(s.f.env, as_baseline_of_commands(s.f.env, commands, 1, &b));
    expect_fails(s.f.env, as_baseline_save(s.f.env, s.store, b, "main", "", &s.f.s), ASSAY_BAD_INPUT, "'main' exists already");
    static const char *const bad[] = {"../main", "a/b", "", ".hidden", "a b"};
    size_t                   n = store_count(s.f.env, s.store);
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        expect_eq(as_baseline_save(s.f.env, s.store, b, bad[i], "", &s.f.s), ASSAY_BAD_INPUT);
        expect_fails(s.f.env, as_baseline_load(s.f.env, s.store, bad[i], &s.b), ASSAY_BAD_INPUT, "baseline");
    }
    expect_eq(store_count(s.f.env, s.store), n);
    expect_fails(s.f.env, as_baseline_load(s.f.env, s.store, "other", &s.b), ASSAY_NOT_FOUND, "other");
    expect(!s.b);
    as_baseline_free(b);
    shelf_close(&s);
}

Test(baseline, a_program_that_is_not_there_is_refused)
{
    fixture           f = begin();
    as_baseline      *b = NULL;
    const char *const here[] = {"./no/such/program"}, *const path[] = {"no-such-program-at-all"};
    expect_fails(f.env, as_baseline_of_commands(f.env, here, 1, &b), ASSAY_NOT_FOUND, "./no/such/program");
    expect_fails(f.env, as_baseline_of_commands(f.env, path, 1, &b), ASSAY_NOT_FOUND, "in $PATH");
    expect(!b);
    end(&f);
}

static void expect_bad_record(shelf *s, const char *json, const char *sentence)
{
    named_put(s, json);
    expect_fails(s->f.env, as_baseline_load(s->f.env, s->store, "main", &s->b), ASSAY_BAD_INPUT, sentence);
    expect(!s->b);
}

Test(baseline, of_a_newer_schema_or_damaged_is_refused)
{
    shelf s = shelf_open("b4.db");
#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "\"description\":\"\",\"fingerprint\":\"0\",\"commit\":\"\",\"unix_time\":1,"
    expect_bad_record(&s, "{\"schema\":\"assay.baseline/2\"," HEAD "\"cases\":[{}]}",
                      "'assay.baseline/2', and this assay reads assay.baseline/1: a newer assay wrote it");
    expect_bad_record(&s, "{" HEAD "\"cases\":[{}]}", "its schema is 'missing'");
    expect_bad_record(&s, "{\"schema\":\"assay.baseline/1\"," HEAD "\"cases\":[]}", "it has no cases");
    expect_bad_record(&s, "{\"schema\":\"assay.baseline/1\"," HEAD "\"cases\":[{\"name\":\"x\",\"argv\":[],\"objects\":[]}]}",
                      "main: its record is damaged");
    expect_bad_record(&s,
                      "{\"schema\":\"assay.baseline/1\"," HEAD
                      "\"cases\":[{\"name\":\"x\",\"argv\":[\"a\"],\"objects\":[{\"at\":0,\"id\":\"0\",\"name\":\"a\"}]}]}",
                      "main: its record is damaged");
    expect_bad_record(&s,
                      "{\"schema\":\"assay.baseline/1\"," HEAD
                      "\"cases\":[{\"name\":\"x\",\"argv\":[\"a\"],\"objects\":[{\"at\":1,\"id\":\"" ID "\",\"name\":\"a\"}]}]}",
                      "main: its record is damaged");
    expect_bad_record(&s, "{\"schema\":\"assay.baseline/1\",\"cases\":[{\"name\":\"x\",\"argv\":[\"a\"],\"objects\":[]}]}",
                      "main: its record is damaged");
    static const char *const outside[] = {"../a", "/a", "", "b/../../a", ".."}; /* these names become file names */
    for (size_t i = 0; i < AS_COUNT(outside); i++)
        for (int beside = 0; beside < 2; beside++) {
            char json[512];
            snprintf(json, sizeof json,
                     "{\"schema\":\"assay.baseline/1\"," HEAD
                     "\"cases\":[{\"name\":\"x\",\"argv\":[\"a\"],\"%s\":[{\"at\":0,\"id\":\"" ID "\",\"name\":\"%s\"}]}]}",
                     beside ? "beside" : "objects", outside[i]);
            expect_bad_record(&s, json, "main: its record is damaged");
        }
    named_put(&s, "{\"schema\":\"assay.baseline/1\"," HEAD
                  "\"cases\":[{\"name\":\"x\",\"argv\":[\"a\"],\"objects\":[{\"at\":0,\"id\":\"" ID "\",\"name\":\"a\"}]}]}");
#undef HEAD
#undef ID
    load(&s); /* the complete file is accepted */
    expect(isnan(s.b->cases[0].p25_ns));
    shelf_close(&s);
}

Test(baseline, a_case_without_its_artefact_has_failed_and_the_others_go_on)
{
    shelf             s = shelf_open("b5.db");
    const char *const commands[] = {toy("toy", 60000), toy("other", 60001)};
    char              path[4096];
    save(&s, commands, 2);
    load(&s);
    expect_ok(s.f.env, as_store_get_object(s.f.env, s.store, s.b->cases[0].objects[0].id, path, sizeof path));
    expect_eq(chmod(path, 0644), 0);
    expect_eq(unlink(path), 0);
    expect_ok(s.f.env, check(&s, false));
    expect(s.check.cases[0].failure && *s.check.cases[0].failure);
    expect_has(s.check.cases[0].failure, s.b->cases[0].objects[0].id);
    expect(!s.check.cases[0].duel);
    expect(!s.check.cases[1].failure);
    expect_eq(s.check.duels[1].verdict, AS_SAME);
    shelf_close(&s);
}

Test(baseline, cancel_leaves_the_rest_incomplete)
{
    shelf             s = shelf_open("b6.db");
    const char *const commands[] = {toy("toy", 60000)};
    save(&s, commands, 1);
    load(&s);
    assay_cancel(s.f.env);
    expect_ok(s.f.env, check(&s, false));
    expect_has(s.check.cases[0].incomplete, "not started");
    expect(!s.check.cases[0].failure);
    shelf_close(&s);
}

Test(baseline, of_another_machine_gives_no_verdict)
{
    shelf             s = shelf_open("b7.db");
    const char *const commands[] = {toy("toy", 60000)};
    save(&s, commands, 1);
    char *json = named_json(&s), print[17];
    as_machine_fingerprint(print);
    char *at = strstr(json, print);
    expect(at);
    memcpy(at, "feedfeedfeedfeed", 16);
    named_put(&s, json);
    free(json);
    load(&s);
    toy("toy", 90000);
    expect_fails(s.f.env, check(&s, false), ASSAY_BAD_INPUT, "was made on machine feedfeedfeedfeed and this is ");
    expect_ok(s.f.env, check(&s, true));
    expect_eq(s.check.duels[0].verdict, AS_UNRESOLVED);
    expect_eq(s.check.duels[0].severity, AS_SEVERITY_NONE);
    expect_has(s.check.duels[0].reasons[0], "another machine");
    expect(isnan(s.check.duels[0].lo) && isnan(s.check.duels[0].hi));
    expect_near(s.check.duels[0].a_ns, 60000, 0.01);
    expect_near(s.check.duels[0].b_ns, 90000, 0.01);
    shelf_close(&s);
}

/* --- Noise ------------------------------------------------------------------------------------------------------------------------ */

static as_noise planted_noise(assay_env *env)
{
    as_noise n = {.n = 2, .loads = {"compute", "memory"}, .block_ns = {1e6, 4e6}};
    n.trials[0] = as_planted_trial(env, (as_planted){.name = "small", .noise = 0.02, .n_rounds = 20});
    n.trials[1] = as_planted_trial(env, (as_planted){.name = "large", .noise = 0.002, .n_rounds = 20});
    n.trials[0]->block_ns = 1e6;
    n.trials[1]->block_ns = 4e6;
    for (int i = 0; i < 2; i++)
        n.trials[i]->memory = AS_MEMORY_SHARED;
    return n;
}

Test(noise, what_planning_needs_is_kept_for_this_machine)
{
    fixture       f = begin();
    as_store     *store = store_open(f.env, "noise.db");
    as_noise_plan plan;
    as_noise      n = planted_noise(f.env);
    expect(!as_noise_load(f.env, store, &plan));
    expect_ok(f.env, as_noise_save(f.env, store, &n));
    expect(as_noise_load(f.env, store, &plan));
    expect_near(plan.block_ns, 4e6, 0); /* of the one with less noise */
    expect(plan.sigma_round > 0.0001 && plan.sigma_round < 0.004);
    expect_near(plan.round_ns, 4.1e9 / 320, 1);
    expect_eq(plan.unix_time, 1700000000);
    expect_ok(f.env, as_noise_save(f.env, store, &n)); /* the newer replaces it */
    double one = as_noise_visible(&plan, 0.01, 1), hundred = as_noise_visible(&plan, 0.01, 100);
    expect_near(one / hundred, 10, 0.5);
    as_noise_drop(&n);
    as_store_close(store);
    end(&f);
}

Test(noise, a_comparison_is_planned_by_what_the_store_knows)
{
    fixture          f = begin();
    as_store        *store = store_open(f.env, "noise2.db");
    as_noise         n = planted_noise(f.env);
    char             sentence[200] = "?";
    as_store_options where = {.url = as_test_path("noise2.db")};
    as_noise_expect(f.env, &where, "a case", &f.s, sentence, sizeof sentence);
    expect_str(sentence, "");
    expect_near(f.s.sampler.block_ns, 0, 0);
    expect_ok(f.env, as_noise_save(f.env, store, &n));
    as_noise_expect(f.env, &where, "a case", &f.s, sentence, sizeof sentence);
    expect_has(sentence, "From the noise measured on this machine: the smallest detectable change is ");
    expect_near(f.s.sampler.block_ns, 4e6, 0);
    f.s.sampler.block_ns = 2e6; /* what was asked for stays */
    as_noise_expect(f.env, &where, "a case", &f.s, sentence, sizeof sentence);
    expect_near(f.s.sampler.block_ns, 2e6, 0);
    as_noise_drop(&n);
    as_store_close(store);
    end(&f);
}

Test(noise, a_record_that_makes_no_sense_is_as_none)
{
    static const char *const bad[] = {"[]", "{}", "no json", "{\"block_ns\":1e99,\"sigma_round\":1,\"round_ns\":1}",
                                      "{\"block_ns\":1e6,\"sigma_round\":0,\"round_ns\":1}"};
    fixture                  f = begin();
    as_store                *store = store_open(f.env, "noise3.db");
    as_noise_plan            plan;
    char                     print[17];
    as_machine_fingerprint(print);
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        expect_ok(f.env, as_store_put_named(f.env, store, "noise", print, bad[i], 0, true));
        expect(!as_noise_load(f.env, store, &plan));
    }
    as_store_close(store);
    end(&f);
}

Test(noise, its_facts_say_what_can_be_seen)
{
    fixture      f = begin();
    as_noise     n = planted_noise(f.env);
    assay_facts *facts = NULL;
    expect_ok(f.env, as_noise_facts(f.env, &n, &facts));
    expect_str(facts->title, "noise of this machine");
    assay_facts_free(facts);
    as_noise_drop(&n);
    end(&f);
}

/* --- The state of a self-test --------------------------------------------------------------------------------------------------------- */

static FILE *state_file(const char *name)
{
    FILE *file = fopen(as_test_path(name), "w");
    expect(file);
    return file;
}

static void lines_add(FILE *file, const char *cell, const char *count, int n, int n_hits)
{
    for (int i = 0; i < n; i++)
        fprintf(file, "{\"cell\":\"%s\",\"count\":\"%s\",\"trial\":%d,\"hit\":%s,\"seconds\":1}\n", cell, count, i,
                i < n_hits ? "true" : "false");
}

/* Cancelled before it begins: nothing more is measured. */
static assay_status resume(assay_env *env, const char *state, const char *cells, as_cell_result *results)
{
    as_selftest_settings s = {.cells = cells, .state = as_test_path(state), .self = "/nowhere", .seed = 1};
    assay_cancel(env);
    return as_selftest_run(env, &s, results);
}

static int cell_at(const char *name)
{
    for (int i = 0; i < as_selftest_n_cells(); i++)
        if (!strcmp(as_selftest_cells[i].name, name))
            return i;
    fail("unknown cell %s", name);
}

Test(selftest, goes_on_where_its_state_ends)
{
    assay_env     *env = store_env();
    as_cell_result results[16];
    FILE          *file = state_file("whole");
    lines_add(file, "compute", "alarms", 20, 1);
    lines_add(file, "compute", "power", 20, 19);
    lines_add(file, "memory", "alarms", 2, 0);
    fclose(file);
    expect_ok(env, resume(env, "whole", "compute", results)); /* all 40 are there */
    const as_cell_result *r = &results[cell_at("compute")];
    expect_eq(r->alarms.n, 20);
    expect_eq(r->alarms.k, 1);
    expect_eq(r->power.n, 20);
    expect_eq(r->power.k, 19);
    expect(r->alarms.lo < 0.05 && r->alarms.hi > 0.05 && r->power.hi > 0.99);
    expect(!r->alarms_broken && !r->power_broken);
    expect_eq(results[cell_at("memory")].alarms.n, 2);
    expect_fails(env, resume(env, "whole", "compute,memory", results), ASSAY_CANCELLED, "of 4 trials of memory are counted");
    expect_eq(results[cell_at("memory")].alarms.n, 2);
}

Test(selftest, a_claim_outside_of_the_bounds_is_broken)
{
    assay_env     *env = store_env();
    as_cell_result results[16];
    FILE          *file = state_file("broken");
    lines_add(file, "compute", "alarms", 20, 5);
    lines_add(file, "compute", "power", 20, 9);
    fclose(file);
    expect_ok(env, resume(env, "broken", "compute", results));
    expect(results[cell_at("compute")].alarms_broken);
    expect(results[cell_at("compute")].power_broken);
}

Test(selftest, a_last_line_that_was_cut_off_is_not_counted)
{
    assay_env     *env = store_env();
    as_cell_result results[16];
    FILE          *file = state_file("cut");
    lines_add(file, "compute", "alarms", 7, 0);
    fprintf(file, "{\"cell\":\"compute\",\"count\":\"al");
    fclose(file);
    expect_fails(env, resume(env, "cut", "compute", results), ASSAY_CANCELLED, "stopped");
    expect_eq(results[cell_at("compute")].alarms.n, 7);
}

Test(selftest, a_line_that_is_no_trial_is_refused_by_its_number)
{
    static const char *const bad[] = {"{}", "[1]", "{\"cell\":\"compute\",\"count\":\"power\"}",
                                      "{\"cell\":\"kitchen\",\"count\":\"power\",\"hit\":true}",
                                      "{\"cell\":\"compute\",\"hit\":true}"};
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        assay_env     *env = store_env();
        as_cell_result results[16];
        FILE          *file = state_file("damaged");
        lines_add(file, "compute", "alarms", 3, 0);
        fprintf(file, "%s\n", bad[i]);
        lines_add(file, "compute", "alarms", 3, 0);
        fclose(file);
        expect_fails(env, resume(env, "damaged", "compute", results), ASSAY_BAD_INPUT, "damaged: line 4 is not a trial");
    }
}

Test(selftest, a_cell_that_there_is_not_is_refused)
{
    assay_env     *env = store_env();
    as_cell_result results[16];
    expect_fails(env, resume(env, "none", "compute,kitchen", results), ASSAY_BAD_INPUT, "unknown cell 'kitchen'");
    expect_fails(env, resume(env, "none", "comput", results), ASSAY_BAD_INPUT, "unknown cell 'comput'");
    as_selftest_settings s = {.cells = "compute", .state = as_test_path("no/such/folder/state")};
    expect_fails(env, as_selftest_run(env, &s, results), ASSAY_IO, "cannot open it");
}

Test(selftest, a_load_of_pointers_walks_one_hundredth_more_hops)
{
    assay_env *env;
    as_load   *load;
    as_arm     arm;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, as_load_new(env, "chase", &load));
    expect_ok(env, as_load_arm(env, load, "b", 0.01, &arm));
    expect_str(arm.what, "chase load, 20200 hops per call");
    as_trace_arm info = {.name = "b"};
    expect_ok(env, arm.launch(env, arm.self, 1, &info));
    expect_near(info.ledger.bytes, 20200 * 8.0, 0);
    arm.drop(arm.self);
    as_load_free(load);
    expect_fails(env, as_load_new(env, "chess", &load), ASSAY_BAD_INPUT, "unknown load 'chess'; known: compute, memory, chase");
    assay_env_free(env);
}
