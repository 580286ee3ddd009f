/* an_memory_savings.c - what other ways to give memory would save, each by replaying the recorded lifetimes.
 *
 * Every row names the replay or the plan behind it.  Of a plan the replay is exact; where the planner counted the same plan with that option
 * (AS_METRIC_PLANNED), its count stands in the row.  What rests on an assumption is modelled and says which. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/memory/replay.h"
#include "analysis/trace/evidence.h"
#include "base/text.h"

typedef struct job {
    assay_facts       *f;
    as_fact_group     *g;
    const assay_trace *t;
    as_table          *table;
    double             best; /* bytes that the best possible row saves */
    const char        *best_how;
} job;

/* One row: what it is, whether it is in use, and the peak with and without it. */
typedef struct saving {
    const char  *type;  /* "TensorReuse" */
    const char  *state; /* "in use", "possible", "no gain" */
    assay_metric with, without;
    uint64_t     allocations; /* that it saves */
    const char  *effort;      /* "none", "option", "code" */
    const char  *how, *proof; /* what to do, and where the number can be had again */
} saving;

static assay_metric saved_metric(const saving *s)
{
    if (!as_metric_has(&s->with) || !as_metric_has(&s->without))
        return as_metric_unavailable("byte", as_metric_has(&s->with) ? s->without.reason : s->with.reason);
    double saved = s->without.value - s->with.value;
    bool   modelled = s->with.kind == ASSAY_MODELLED || s->without.kind == ASSAY_MODELLED;
    return modelled
               ? as_metric_modelled(saved, NAN, NAN, "byte", s->with.kind == ASSAY_MODELLED ? s->with.source : s->without.source)
               : as_metric_derived(saved, NAN, NAN, 1, "byte", "peak without - peak with");
}

static void saving_add(job *j, const saving *s)
{
    static const char *const columns[] = {"type|optimisation",    "state|state",
                                          "without|peak without", "with|peak with",
                                          "saved|saved",          "allocations|allocations saved",
                                          "effort|effort",        "how|how",
                                          "proof|proved by",      NULL};
    assay_metric             saved = saved_metric(s);
    if (!j->table)
        j->table = as_facts_table(j->f, j->g, "savings", "Memory optimisations, by replay", columns);
    as_cell cells[] = {{.text = s->type},   {.text = s->state}, {.metric = s->without},
                       {.metric = s->with}, {.metric = saved},  {.metric = as_metric_counted(s->allocations, "1", "replay")},
                       {.text = s->effort}, {.text = s->how},   {.text = s->proof}};
    as_facts_row(j->f, j->table, cells);
    if (!strcmp(s->state, "possible") && as_metric_has(&saved) && saved.kind != ASSAY_MODELLED && saved.value > j->best)
        j->best = saved.value, j->best_how = s->how;
}

static assay_metric replayed(bool ok, uint64_t bytes)
{
    return ok ? as_metric_derived((double)bytes, NAN, NAN, 1, "byte", "replay of the recorded lifetimes")
              : as_metric_unavailable("byte", "not enough memory for the replay");
}

static const char *state_of(double now, double with, double without)
{
    if (!(without > with))
        return "no gain";
    return now > with ? "possible" : "in use";
}

/* The planner's count of this option; NaN: it was not asked. */
static double planned(const assay_trace *t, const char *option, uint64_t step)
{
    char name[96];
    snprintf(name, sizeof name, AS_METRIC_PLANNED "%s", option);
    for (size_t i = t->n_metrics; i-- > 0;)
        if (!strcmp(t->metrics[i].name, name) && t->metrics[i].step == step && t->metrics[i].value >= 0 &&
            t->metrics[i].value < 0x1p63)
            return t->metrics[i].value;
    return NAN;
}

/* --- A plan -------------------------------------------------------------------------------------------------------- */

static void reuse_add(job *j, const as_plan_memory *p, bool reuses)
{
    uint64_t with = 0, without = 0;
    bool     ok = as_replay_plan(j->f->env, j->t, &(as_replay){.no_reuse = false}, &with) &&
              as_replay_plan(j->f->env, j->t, &(as_replay){.no_reuse = true}, &without);
    saving_add(j, &(saving){.type = "TensorReuse",
                            .state = ok ? state_of((double)p->actual, (double)with, (double)without) : "-",
                            .with = replayed(ok, with),
                            .without = replayed(ok, without),
                            .effort = reuses ? "none" : "option",
                            .how = "--reuse on",
                            .proof = "assay plan --reuse off"});
}

static void in_place_add(job *j, const as_plan_memory *p, bool no_reuse)
{
    uint64_t with = 0, without = 0;
    bool     ok = as_replay_plan(j->f->env, j->t, &(as_replay){.no_reuse = no_reuse, .in_place = AS_IN_PLACE_ALL}, &with) &&
              as_replay_plan(j->f->env, j->t, &(as_replay){.no_reuse = no_reuse, .in_place = AS_IN_PLACE_NONE}, &without);
    const char *state = !(p->n_could + p->n_taken) ? "no gain"
                        : ok                       ? state_of((double)p->actual, (double)with, (double)without)
                                                   : "-";
    saving_add(j, &(saving){.type = "InPlace",
                            .state = state,
                            .with = replayed(ok, with),
                            .without = replayed(ok, without),
                            .effort = p->n_could ? "option" : "none",
                            .how = "--in-place on",
                            .proof = as_say(j->f, "assay plan --in-place %s (%" PRIu64 " results)", p->n_could ? "on" : "off",
                                            p->n_could + p->n_taken)});
}

/* Memory from the first use on, and only to the last: both follow from lifetimes, so that a plan that reuses has them. */
static void lifetime_add(job *j, const as_plan_memory *p, bool no_reuse)
{
    uint64_t with = 0, eager = 0, late = 0;
    bool     ok = as_replay_plan(j->f->env, j->t, &(as_replay){.no_reuse = false}, &with) &&
              as_replay_plan(j->f->env, j->t, &(as_replay){.eager = true}, &eager) &&
              as_replay_plan(j->f->env, j->t, &(as_replay){.late = true}, &late);
    saving_add(j, &(saving){.type = "LazyAllocation",
                            .state = ok ? state_of((double)p->actual, (double)with, (double)eager) : "-",
                            .with = replayed(ok, with),
                            .without = replayed(ok, eager),
                            .effort = no_reuse ? "option" : "none",
                            .how = "--reuse on",
                            .proof = "replay of this part alone"});
    saving_add(j, &(saving){.type = "GarbageCollection",
                            .state = ok ? state_of((double)p->actual, (double)with, (double)late) : "-",
                            .with = replayed(ok, with),
                            .without = replayed(ok, late),
                            .effort = no_reuse ? "option" : "none",
                            .how = "--reuse on",
                            .proof = "replay of this part alone"});
    saving_add(j, &(saving){.type = "Pooling",
                            .state = p->n_buffers > p->n_arenas ? "in use" : "no gain",
                            .with = as_metric_counted(p->actual, "byte", "plan"),
                            .without = as_metric_counted(p->actual, "byte", "plan"),
                            .allocations = p->n_buffers - p->n_arenas,
                            .effort = "none",
                            .how = "one allocation per device",
                            .proof = "memory events of this run"});
}

static void batch_add(job *j, const as_plan_memory *p, bool no_reuse)
{
    uint64_t half = j->t->batch / 2, with = 0;
    if (!half)
        return;
    double exact = planned(j->t, "batch", half);
    bool   ok =
        as_replay_plan(j->f->env, j->t, &(as_replay){.no_reuse = no_reuse, .batch_from = j->t->batch, .batch_to = half}, &with);
    assay_metric after =
        !isnan(exact) ? as_metric_counted((uint64_t)exact, "byte", "the planner, with half the batch size")
        : ok          ? as_metric_modelled((double)with, NAN, NAN, "byte",
                                           "replay: inputs, outputs and activations shrink with the batch size, the kernels stay")
                      : as_metric_unavailable("byte", "not enough memory for the replay");
    saving_add(j, &(saving){.type = "BatchSizeReduction",
                            .state = as_metric_has(&after) && after.value < (double)p->actual ? "possible" : "no gain",
                            .with = after,
                            .without = as_metric_counted(p->actual, "byte", "plan"),
                            .effort = "option",
                            .how = as_say(j->f, "--batch %" PRIu64, half),
                            .proof = as_say(j->f, "assay plan --batch %" PRIu64, half)});
}

static void type_add(job *j, const as_plan_memory *p)
{
    double   exact = planned(j->t, "weights-as=f16", 0);
    uint64_t packed = 0;
    for (size_t i = 0; i < j->t->n_buffers; i++)
        packed += j->t->buffers[i].align && !strcmp(j->t->buffers[i].role, "packed") ? j->t->buffers[i].bytes : 0;
    if (isnan(exact) && !packed)
        return;
    assay_metric after = !isnan(exact) ? as_metric_counted((uint64_t)exact, "byte", "the planner, with weights stored as f16")
                                       : as_metric_modelled((double)(p->actual - packed / 2), NAN, NAN, "byte",
                                                            "packed weights take half their bytes, and nothing else changes");
    saving_add(j, &(saving){.type = "DataType",
                            .state = after.value < (double)p->actual ? "possible" : "no gain",
                            .with = after,
                            .without = as_metric_counted(p->actual, "byte", "plan"),
                            .effort = "option, less exact",
                            .how = "--weights-as f16",
                            .proof = "assay plan --weights-as f16"});
}

static bool plan_add(job *j)
{
    as_plan_memory p;
    uint64_t       reused = 0, apart = 0;
    as_plan_memory_read(j->t, &p);
    if (!p.known || !p.n_buffers)
        return false;
    bool ok = as_replay_plan(j->f->env, j->t, &(as_replay){.no_reuse = false}, &reused) &&
              as_replay_plan(j->f->env, j->t, &(as_replay){.no_reuse = true}, &apart);
    bool no_reuse = ok && p.actual == apart && reused != apart;
    reuse_add(j, &p, !no_reuse);
    in_place_add(j, &p, no_reuse);
    lifetime_add(j, &p, no_reuse);
    batch_add(j, &p, no_reuse);
    type_add(j, &p);
    return true;
}

/* --- Any program ------------------------------------------------------------------------------------------------------ */

static void program_add(job *j, const as_lives *l, as_arena *arena)
{
    as_replayed  lazy, early, in_place, pool, one;
    assay_metric now = as_metric_counted(l->peak, "byte", "memory events");
    bool         ok = as_replay_use(l, arena, true, false, &lazy) && as_replay_use(l, arena, false, true, &early) &&
              as_replay_in_place(l, arena, &in_place) && as_replay_pool(l, arena, &pool) &&
              as_replay_arena(j->f->env, l, arena, &one);
    if (!ok)
        return;
    const struct {
        const char        *type, *effort, *how;
        const as_replayed *r;
        const char        *assumption;
    } rows[] = {
        {"LazyAllocation", "code", "allocate each block right before its first copy or transfer", &lazy,
         "replay: blocks whose use was recorded exist only from their first use on"},
        {"GarbageCollection", "code", "free each block right after its last copy or transfer", &early,
         "replay: blocks whose use was recorded end with their last use"},
        {"InPlace", "code", "write the result over an operand of the same size that is freed right after", &in_place,
         "replay: the operation may overwrite its operand"},
        {"Pooling", "code", "keep freed blocks by size and give them again", &pool,
         "replay: a pool with four sizes per power of two, which gives nothing back"},
        {"TensorReuse", "code", "take one arena and place all blocks in it by lifetime", &one,
         "replay: largest first into the tightest gap, 64-byte places"},
    };
    for (size_t i = 0; i < AS_COUNT(rows); i++) {
        const as_replayed *r = rows[i].r;
        if (!r->n_blocks)
            continue;
        bool gains = r->peak < l->peak || r->n_saved;
        saving_add(j, &(saving){.type = rows[i].type,
                                .state = gains ? "possible" : "no gain",
                                .with = as_metric_modelled((double)r->peak, NAN, NAN, "byte", rows[i].assumption),
                                .without = now,
                                .allocations = r->n_saved,
                                .effort = rows[i].effort,
                                .how = rows[i].how,
                                .proof = "replay of this record"});
    }
}

static void run(assay_facts *f, const assay_trace *t)
{
    job      j = {.f = f, .t = t};
    as_arena arena = {0};
    as_lives l;
    char     size[32];
    if ((!t->n_memory_events || !t->n_places) && !t->n_buffers)
        return;
    j.g = as_facts_group(f, "memory", "Memory");
    if (!plan_add(&j) && t->n_memory_events && t->n_places && as_lives_read(t, &arena, &l))
        program_add(&j, &l, &arena);
    as_arena_drop(&arena);
    if (j.best > 0)
        as_facts_find(f, j.g, AS_LEVEL_NOTE, "Up to %s of the peak can be saved: %s.", as_show(size, sizeof size, j.best, "byte"),
                      j.best_how);
}

const as_analysis as_an_memory_savings = {.name = "memory_savings", .order = 52, .run = run};
