/* league_test.c - candidates that learn: how values are told apart, the interval, and leagues whose answer is certain. */
#include "lab/league.h"

#include <math.h>
#include <string.h>

#include "tests/runner/test.h"

static assay_env     *env;
static assay_options *options;
static assay_facts   *facts;
static as_arena       arena;

static void end(void)
{
    assay_facts_free(facts);
    assay_options_free(options);
    assay_env_free(env);
    as_arena_drop(&arena);
    facts = NULL;
    options = NULL;
    env = NULL;
}

/* "key", "value" ..., NULL-terminated. */
static void begin(const char *const *pairs)
{
    end();
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, assay_options_new(env, &options));
    for (; pairs && *pairs; pairs += 2)
        expect_ok(env, assay_options_set(env, options, pairs[0], pairs[1]));
}

#define WITH(...) \
    (const char *const[]) { __VA_ARGS__, NULL }
#define TINY "data", "synthetic:spirals,n=96,seed=2", "val", "25%", "steps", "60", "batch", "16", "store", "none"

static assay_status play(const char *const *pairs)
{
    begin(pairs);
    return as_league(env, WITH("mlp:sizes=2x16x3"), 1, options, &facts);
}

static as_league_values values_of(const char *const *vary, size_t n)
{
    as_league_values v;
    begin(NULL);
    expect_ok(env, as_league_values_read(env, (as_texts){vary, n}, &arena, &v));
    return v;
}

Test(league, settings_of_an_optimiser_stay_with_it)
{
    as_league_values v = values_of(WITH("optimizer=sgd:lr=0.1,momentum=0.9,adam,adamw:lr=1e-3,decay=0.01"), 1);
    expect_str(v.key, "optimizer");
    expect_eq(v.n, 3);
    expect_str(v.values[0], "sgd:lr=0.1,momentum=0.9");
    expect_str(v.values[1], "adam");
    expect_str(v.values[2], "adamw:lr=1e-3,decay=0.01");
    v = values_of(WITH("optimizer=adam,lr=1e-3 sgd", "optimizer=nadam"), 2);
    expect_eq(v.n, 3);
    expect_str(v.values[0], "adam:lr=1e-3");
    expect_str(v.values[1], "sgd");
    expect_str(v.values[2], "nadam");
    v = values_of(WITH("schedule=constant,warmup 20 > cosine 1e-5"), 1);
    expect_eq(v.n, 2);
    expect_str(v.values[1], "warmup 20 > cosine 1e-5");
    end();
}

/* 1, 2, 3: mean 2, standard error 1 / sqrt 3; Student's 97.5 % with 2 degrees of freedom is 4.3027. */
Test(league, the_interval_is_students)
{
    const double   x[] = {1, 2, 3};
    as_league_mean m = as_league_mean_of(x, 3, .05);
    expect_near(m.value, 2, 1e-12);
    expect_near(m.hi - m.value, 4.302652729911275 / sqrt(3), 1e-6);
    expect_near(m.value - m.lo, 4.302652729911275 / sqrt(3), 1e-6);
    m = as_league_mean_of(x, 1, .05);
    expect_near(m.value, 1, 0);
    expect(isnan(m.lo) && isnan(m.hi));
    expect(isnan(as_league_mean_of(x, 0, .05).value));
}

Test(league, one_that_learns_is_below_one_that_does_not)
{
    expect_ok(env, play(WITH(TINY, "vary", "optimizer=sgd:lr=1e-6,adam:lr=1e-2", "seeds", "4")));
    const as_table *verdicts = as_facts_table_find(facts, "league", "verdicts"),
                   *runs = as_facts_table_find(facts, "league", "runs");
    const as_table *candidates = as_facts_table_find(facts, "league", "candidates");
    expect_str(as_facts_note_find(facts, "league.winner"), "adam:lr=1e-2");
    expect_str(as_words_at(verdicts, 0, "verdict"), "higher");
    const assay_metric *less = as_metric_at(verdicts, 0, "less");
    expect(less && less->hi < 0);
    /* The mean of the pairs is the difference of the means. */
    expect_near(less->value, as_value_at(candidates, 1, "val_loss") - as_value_at(candidates, 0, "val_loss"), 1e-9);
    expect_eq(runs->n_rows, 8);
    for (int i = 0; i < 8; i += 2) {
        expect_near(as_value_at(runs, i, "seed"), 1 + i / 2, 0);
        expect(as_value_at(runs, i, "val_loss") > as_value_at(runs, i + 1, "val_loss"));
        expect(as_value_at(runs, i, "time") > 0);
    }
    const as_series *step = as_facts_series_find(facts, "league", "step.1"),
                    *time = as_facts_series_find(facts, "league", "time.1");
    expect(step && time && step->n == 40 && time->n == 40);
    expect_near(step->x[39], 60, 0);
    for (size_t i = 1; i < time->n; i++)
        expect(time->x[i] > time->x[i - 1] && step->x[i] > step->x[i - 1]);
    end();
}

/* Seeds decide everything: the order of turns, other candidates and threads do not. */
Test(league, the_same_seeds_give_the_same_losses)
{
    double first[3];
    expect_ok(env, play(WITH(TINY, "vary", "optimizer=adam:lr=1e-2,sgd", "seeds", "3", "seed", "5")));
    const as_table *runs = as_facts_table_find(facts, "league", "runs");
    for (int s = 0; s < 3; s++)
        first[s] = as_value_at(runs, 2 * s, "val_loss");
    expect(first[0] != first[1]);
    expect_ok(env, play(WITH(TINY, "vary", "optimizer=rmsprop,sgd,adam:lr=1e-2", "seeds", "2", "seed", "6", "threads", "2")));
    runs = as_facts_table_find(facts, "league", "runs");
    expect_near(as_value_at(runs, 2, "val_loss"), first[1], 0);
    expect_near(as_value_at(runs, 5, "val_loss"), first[2], 0);
    expect_ok(env, play(WITH(TINY, "vary", "threads=1,2", "seeds", "2")));
    expect_str(as_words_at(as_facts_table_find(facts, "league", "verdicts"), 0, "verdict"), "same");
    expect_str(as_facts_note_find(facts, "league.clock"), "elapsed");
    end();
}

Test(league, what_is_not_decided_is_not_told)
{
    expect_ok(env, play(WITH(TINY, "vary", "optimizer=adam:lr=1e-2,adam:lr=1.0001e-2", "seeds", "2")));
    const as_table *verdicts = as_facts_table_find(facts, "league", "verdicts");
    expect_str(as_words_at(verdicts, 0, "verdict"), "cannot tell");
    expect(!strncmp(as_words_at(verdicts, 0, "text"), "Cannot tell yet whether adam", 28));
    expect(strstr(as_words_at(verdicts, 0, "text"), " seeds"));
    expect_str(as_facts_note_find(facts, "league.winner"), "");
    end();
}

Test(league, one_that_diverges_is_out_and_the_others_go_on)
{
    expect_ok(env, play(WITH(TINY, "vary", "optimizer=sgd:lr=1e30,adam:lr=1e-2,sgd:lr=1e-6", "seeds", "4")));
    const as_table *candidates = as_facts_table_find(facts, "league", "candidates");
    expect_near(as_value_at(candidates, 0, "diverged"), 4, 0);
    expect(isnan(as_value_at(candidates, 0, "val_loss")));
    expect_near(as_value_at(candidates, 1, "updates"), 60, 0);
    expect_str(as_words_at(as_facts_table_find(facts, "league", "verdicts"), 0, "verdict"), "diverged");
    expect_str(as_facts_note_find(facts, "league.winner"), "adam:lr=1e-2");
    end();
}

Test(league, what_cannot_be_is_refused)
{
    expect_fails(env, play(WITH(TINY)), ASSAY_BAD_INPUT, "needs candidates");
    expect_fails(env, play(WITH(TINY, "vary", "optimizer=adam,lr=1e-3")), ASSAY_BAD_INPUT, "has one value");
    expect_fails(env, play(WITH(TINY, "vary", "optimizer=adam,adam")), ASSAY_BAD_INPUT, "is there twice");
    expect_fails(env, play(WITH(TINY, "vary", "optimizer=adam,,sgd")), ASSAY_BAD_INPUT, "a value is empty");
    expect_fails(env, play(WITH(TINY, "vary", "loss=mse,mae")), ASSAY_BAD_INPUT, "candidates that learn differ in");
    expect_fails(env, play(WITH(TINY, "vary", "optimizer=adam,foo")), ASSAY_BAD_INPUT, "unknown optimiser");
    expect_fails(env, play(WITH(TINY, "vary", "optimizer=adam,sgd", "vary", "batch=1,2")), ASSAY_BAD_INPUT, "differ in one thing");
    expect_fails(env, play(WITH(TINY, "vary", "batch=8,32")), ASSAY_BAD_INPUT, "give one of the two");
    expect_fails(env, play(WITH(TINY, "vary", "optimizer=adam,sgd", "budget", "1s")), ASSAY_BAD_INPUT, "--budget does not apply");
    expect(!facts);
    begin(WITH(TINY, "vary", "optimizer=adam,sgd"));
    expect_fails(env, as_league(env, WITH("mlp-small", "mlp-bn"), 2, options, &facts), ASSAY_BAD_INPUT, "takes one model");
    end();
}

typedef struct stopper {
    assay_env *env;
    double     at;
} stopper;

static void stop_at(void *arg, const assay_stage *stage)
{
    const stopper *s = arg;
    if (stage->done >= s->at)
        assay_cancel(s->env);
}

Test(league, a_stopped_one_keeps_the_rounds_that_all_finished)
{
    /* Progress is told some times a second: the run is long enough to be stopped long before its end. */
    begin(WITH("vary", "optimizer=sgd:lr=0.1,adam:lr=1e-2", "seeds", "2", "data", "synthetic:spirals,n=96,seed=2", "val", "25%",
               "steps", "100000", "batch", "16", "store", "none"));
    stopper s = {.env = env, .at = .05};
    assay_on_progress(env, stop_at, &s);
    expect_eq(as_league(env, WITH("mlp:sizes=2x16x3"), 1, options, &facts), ASSAY_CANCELLED);
    expect_has(assay_message(env), "of 40 rounds of every run are kept");
    expect(facts != NULL);
    expect(as_facts_note_find(facts, "league.stopped") != NULL);
    expect_str(as_facts_note_find(facts, "league.of"), "training loss"); /* the validation comes at the end */
    const as_table *t = as_facts_table_find(facts, "league", "candidates");
    expect_eq(t->n_rows, 2);
    for (int i = 0; i < t->n_rows; i++) {
        expect(isfinite(as_value_at(t, i, "loss")) && as_value_at(t, i, "time") > 0);
        expect(isnan(as_value_at(t, i, "val_loss")));
    }
    double updates = as_value_at(t, 0, "updates");
    expect(updates >= 2500 && updates < 100000);
    expect_near(as_value_at(t, 1, "updates"), updates, 0); /* no run is ahead of another */
    end();
}

Test(league, one_that_is_stopped_before_a_round_has_nothing_to_show)
{
    begin(WITH("vary", "optimizer=sgd:lr=0.1,adam:lr=1e-2", "seeds", "2", TINY));
    assay_cancel(env);
    expect_eq(as_league(env, WITH("mlp:sizes=2x16x3"), 1, options, &facts), ASSAY_CANCELLED);
    expect(facts == NULL);
    end();
}
