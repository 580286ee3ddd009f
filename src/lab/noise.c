/* noise.c - A/A on this machine. */
#include "lab/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stage.h"
#include "analysis/duel/duel_facts.h"
#include "base/json.h"
#include "base/text.h"
#include "lab/load.h"
#include "sensor/sensor.h"

#define ALPHA      0.01
#define MIN_ROUNDS 30 /* needed before a recommendation is based on the noise */
static const char *const loads[] = {"compute", "memory"};
static const double      blocks_ns[] = {0.25e6, 1e6, 4e6};
static const double      seconds[] = {1, 5, 30};
_Static_assert(AS_COUNT(loads) * AS_COUNT(blocks_ns) == AS_NOISE_TRIALS, "one trial per load and block length");

/* --- Measuring -------------------------------------------------------------------------------------------- */

static assay_status trial_run(assay_env *env, const as_lab_settings *s, const char *kind, double block_ns, assay_trace **out)
{
    as_lab_settings own = *s;
    as_load        *load = NULL;
    as_arm          arms[2] = {{0}, {0}};
    char            name[64];
    own.early = false;
    own.sampler.memory = AS_MEMORY_SHARED;
    own.sampler.block_ns = block_ns;
    own.sampler.budget_ns = s->sampler.budget_ns / AS_NOISE_TRIALS;
    snprintf(name, sizeof name, "%s, blocks of %g ms", kind, block_ns / 1e6);
    assay_status status = as_load_new(env, kind, &load);
    for (int i = 0; i < 2 && status == ASSAY_OK; i++)
        status = as_load_arm(env, load, i ? "again" : "once", 0, &arms[i]);
    if (status == ASSAY_OK)
        status = as_lab_compare_arms(env, name, arms, 2, &own, out);
    for (int i = 0; i < 2; i++)
        if (arms[i].drop)
            arms[i].drop(arms[i].self);
    as_load_free(load);
    return status;
}

assay_status as_noise_measure(assay_env *env, const as_lab_settings *s, as_noise *out)
{
    *out = (as_noise){.n = 0};
    for (size_t i = 0; i < AS_NOISE_TRIALS; i++) {
        const char *load = out->loads[out->n] = loads[i / AS_COUNT(blocks_ns)];
        double      block_ns = out->block_ns[out->n] = blocks_ns[i % AS_COUNT(blocks_ns)];
        as_stage_after(env, (double)s->sampler.budget_ns / 1e9 * (double)(AS_NOISE_TRIALS - 1 - i) / AS_NOISE_TRIALS);
        assay_status status = trial_run(env, s, load, block_ns, &out->trials[out->n]);
        out->n += out->trials[out->n] != NULL;
        AS_TRY(status);
    }
    return ASSAY_OK;
}

void as_noise_drop(as_noise *n)
{
    for (int i = 0; i < n->n; i++)
        assay_trace_free(n->trials[i]);
    n->n = 0;
}

/* --- Results ------------------------------------------------------------------------------------------- */

typedef struct view {
    as_noise_plan plan;
    size_t        n_rounds;
} view;

/* The same trial judged by either clock. */
static bool view_of(const assay_trace *t, bool by_wall, view *out)
{
    assay_trace   other = *t;
    as_duel_rules rules = {.margin = 0, .alpha = ALPHA};
    as_duel       duel;
    other.by_cpu = !by_wall;
    if (t->n_rounds < 4)
        return false;
    as_duel_judge(&other, 0, 1, &rules, &duel);
    *out = (view){.plan = {.block_ns = t->block_ns,
                           .sigma_round = duel.variance.sigma_round,
                           .by_wall = by_wall,
                           .round_ns = t->spent_ns / t->n_rounds,
                           .unix_time = as_trace_unix_time(t)},
                  .n_rounds = t->n_rounds};
    return out->plan.sigma_round >= 0;
}

double as_noise_visible(const as_noise_plan *p, double alpha, double span)
{
    as_variance v = {.sigma_round = p->sigma_round, .n_launches = 1};
    return expm1(as_effect_visible(&v, alpha, 1, fmax(1, span * 1e9 / p->round_ns)));
}

static void row_add(assay_facts *f, as_table *table, const assay_trace *t, const view *v)
{
    as_cell cells[7] = {{.text = t->name}, {.text = v->plan.by_wall ? "wall" : "thread CPU"}};
    cells[2].metric = as_number_counted((double)v->n_rounds, "1", "rounds of two blocks", NULL);
    cells[3].metric =
        as_number_derived(v->plan.sigma_round, NAN, NAN, v->n_rounds, "ratio", "1.4826 MAD of the differences within rounds", NULL);
    for (size_t i = 0; i < AS_COUNT(seconds); i++)
        cells[4 + i].metric = as_number_derived(as_noise_visible(&v->plan, ALPHA, seconds[i]), NAN, NAN, v->n_rounds, "ratio",
                                                "change found with 95 % power at 99 % confidence, from the noise of a round", NULL);
    as_facts_row(f, table, cells);
}

static const char *const columns[] = {"what|the same work twice",
                                      "clock|clock",
                                      "rounds|rounds",
                                      "sigma|noise per round",
                                      "in_1s|detectable in 1 s",
                                      "in_5s|detectable in 5 s",
                                      "in_30s|detectable in 30 s",
                                      NULL};

/* The smallest effect that can be detected in 5 s, and its trial; load NULL: over all loads.  False: nothing was measured. */
static bool best_of(const as_noise *n, const char *load, view *best, int *of)
{
    bool found = false;
    for (int i = 0; i < n->n; i++)
        for (int wall = 0; wall < 2; wall++) {
            view v;
            if ((load && strcmp(n->loads[i], load)) || !view_of(n->trials[i], wall, &v))
                continue;
            if (v.n_rounds < MIN_ROUNDS && found)
                continue;
            if (found && best->n_rounds >= MIN_ROUNDS &&
                as_noise_visible(&v.plan, ALPHA, 5) >= as_noise_visible(&best->plan, ALPHA, 5))
                continue;
            *best = v;
            *of = i;
            found = true;
        }
    return found;
}

/* Which clock and block length serve each load best. */
static void best_add(assay_facts *f, as_fact_group *g, const as_noise *n)
{
    static const char *const best[] = {"load|work",         "clock|clock",         "block|block", "in_1s|seen in 1 s",
                                       "in_5s|seen in 5 s", "in_30s|seen in 30 s", NULL};
    static const char        source[] = "the least effect of its trials, from the noise of a round";
    as_table                *table = as_facts_table(f, g, "best", "The best choice for each load", best);
    for (size_t i = 0; i < AS_COUNT(loads); i++) {
        view    v;
        int     of;
        as_cell cells[6] = {{.text = loads[i]}};
        if (!best_of(n, loads[i], &v, &of))
            continue;
        cells[1].text = v.plan.by_wall ? "wall" : "thread CPU";
        cells[2].metric = as_number_derived(n->block_ns[of], NAN, NAN, v.n_rounds, "ns", "length of a block, as asked for", NULL);
        for (size_t k = 0; k < AS_COUNT(seconds); k++)
            cells[3 + k].metric =
                as_number_derived(as_noise_visible(&v.plan, ALPHA, seconds[k]), NAN, NAN, v.n_rounds, "ratio", source, NULL);
        as_facts_row(f, table, cells);
    }
}

static void findings_add(assay_facts *f, as_fact_group *g, const as_noise *n)
{
    as_disturbance all = {0};
    char           said[4][160];
    for (size_t i = 0; i < AS_COUNT(loads); i++) {
        view v;
        int  of;
        if (best_of(n, loads[i], &v, &of))
            as_facts_find(f, g, AS_LEVEL_GOOD,
                          "%s-bound work: the smallest detectable change is %.2g %% in 1 s, %.2g %% in 5 s, %.2g %% in 30 "
                          "s, with %s and blocks of %g ms.",
                          loads[i], 100 * as_noise_visible(&v.plan, ALPHA, 1), 100 * as_noise_visible(&v.plan, ALPHA, 5),
                          100 * as_noise_visible(&v.plan, ALPHA, 30), v.plan.by_wall ? "wall time" : "thread CPU time",
                          n->block_ns[of] / 1e6);
    }
    for (int i = 0; i < n->n; i++) {
        as_disturbance d;
        as_disturbance_find(n->trials[i], &d);
        all.frequency += d.frequency / n->n;
        all.dram += d.dram / n->n;
        all.preempted += d.preempted / n->n;
        all.stolen += d.stolen / n->n;
    }
    int k = as_disturbance_say(&all, said, 4);
    for (int i = 0; i < k; i++)
        as_facts_find(f, g, AS_LEVEL_WARN, "%s.", said[i]);
    if (!k)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Other work interrupted at most 5 %% of the blocks.");
    static const char source[] = "probes and clocks of every block";
    as_facts_add(f, g, "noise.preempted", "blocks in which other work took the CPU",
                 as_number_measured(all.preempted, NAN, NAN, (uint64_t)n->n, "ratio", source, NULL));
    as_facts_add(f, g, "noise.dram", "blocks with slower memory",
                 as_number_measured(all.dram, NAN, NAN, (uint64_t)n->n, "ratio", source, NULL));
    as_facts_add(f, g, "noise.frequency", "blocks with a slower core",
                 as_number_measured(all.frequency, NAN, NAN, (uint64_t)n->n, "ratio", source, NULL));
    as_facts_add(f, g, "noise.stolen", "blocks with time taken by the hypervisor",
                 as_number_measured(all.stolen, NAN, NAN, (uint64_t)n->n, "ratio", source, NULL));
}

assay_status as_noise_facts(assay_env *env, const as_noise *n, assay_facts **out)
{
    assay_facts *f = as_facts_new(env);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "noise: not enough memory for the result");
    f->title = as_facts_keep(f, "noise of this machine");
    as_fact_group *g = as_facts_group(f, "noise", "Noise");
    if (n->n)
        as_trial_notes(f, n->trials[0]);
    as_table *table = as_facts_table(f, g, "resolution", "Smallest detectable change", columns);
    for (int i = 0; i < n->n; i++)
        for (int wall = 0; wall < 2; wall++) {
            view v;
            if (view_of(n->trials[i], wall, &v))
                row_add(f, table, n->trials[i], &v);
        }
    best_add(f, g, n);
    findings_add(f, g, n);
    for (int i = 0; i < n->n; i += (int)AS_COUNT(blocks_ns))
        as_trial_series(f, g, n->trials[i], i);
    as_facts_trials(f, n->trials, (size_t)n->n, false);
    return as_facts_done(f, out);
}

/* --- For the next run ------------------------------------------------------------------------------------------ */

assay_status as_noise_save(assay_env *env, as_store *store, const as_noise *n)
{
    view    v;
    int     of;
    char    print[17], *text = NULL;
    size_t  size;
    as_json w;
    if (!best_of(n, NULL, &v, &of))
        return ASSAY_OK;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return as_fail(env, ASSAY_NO_MEMORY, "noise: not enough memory for the stored trials");
    as_json_start(&w, file, false);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.noise/1");
    as_json_key_f64(&w, "block_ns", v.plan.block_ns);
    as_json_key_f64(&w, "sigma_round", v.plan.sigma_round);
    as_json_key_f64(&w, "round_ns", v.plan.round_ns);
    as_json_key_bool(&w, "by_wall", v.plan.by_wall);
    as_json_key_i64(&w, "unix_time", v.plan.unix_time);
    as_json_object_end(&w);
    as_json_finish(&w);
    as_machine_fingerprint(print);
    assay_status status = fclose(file) ? as_fail(env, ASSAY_NO_MEMORY, "noise: not enough memory for the stored trials")
                                       : as_store_put_named(env, store, "noise", print, text, 0, true);
    free(text);
    return status;
}

bool as_noise_load(assay_env *env, as_store *store, as_noise_plan *out)
{
    as_arena    arena = {0};
    const char *text;
    char        print[17];
    int64_t     run;
    json_t     *o = NULL;
    as_machine_fingerprint(print);
    if (as_store_get_named(env, store, "noise", print, &arena, &text, &run) == ASSAY_OK)
        o = json_loads(text, 0, NULL);
    as_arena_drop(&arena);
    *out = (as_noise_plan){.block_ns = json_number_value(json_object_get(o, "block_ns")),
                           .sigma_round = json_number_value(json_object_get(o, "sigma_round")),
                           .round_ns = json_number_value(json_object_get(o, "round_ns")),
                           .by_wall = json_is_true(json_object_get(o, "by_wall")),
                           .unix_time = json_integer_value(json_object_get(o, "unix_time"))};
    json_decref(o);
    return out->block_ns >= 1e3 && out->block_ns <= 1e8 && out->sigma_round > 0 && out->round_ns > 0;
}

void as_noise_expect(assay_env *env, const as_store_options *o, const char *name, as_lab_settings *s, char *sentence, size_t size)
{
    as_store     *store;
    as_noise_plan plan;
    as_variance   v;
    char          print[17];
    double        budget = (double)s->sampler.budget_ns / 1e9;
    *sentence = 0;
    if (o->none || as_lab_store(env, o, false, &store) != ASSAY_OK)
        return;
    as_machine_fingerprint(print);
    bool knows = as_noise_load(env, store, &plan);
    if (knows && !(s->sampler.block_ns > 0))
        s->sampler.block_ns = plan.block_ns;
    if (as_store_get_variance(env, store, name, print, &v) == ASSAY_OK && v.rounds_a_launch >= 1)
        snprintf(sentence, size, "From the last measurement of this case: the smallest detectable change is %.2g %% in %.3g s.",
                 100 * expm1(as_effect_visible(&v, s->rules.alpha, fmax(v.n_launches, 1), v.rounds_a_launch)), budget);
    else if (knows)
        snprintf(sentence, size, "From the noise measured on this machine: the smallest detectable change is %.2g %% in %.3g s.",
                 100 * as_noise_visible(&plan, s->rules.alpha, budget), budget);
    as_store_close(store);
}
