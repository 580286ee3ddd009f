/* an_tries.c - what to try, with an estimate of its effect: modelled, never proved.
 *
 * Each rule reads the measured times of layers and the limits of the machine, and estimates the effect of another setting by a
 * stated model.  `assay compare` proves or refutes the estimate; its command is shown beside it. */
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"

/* Below this a setting is not worth the user's time. */
#define LEAST_GAIN .05

/* What the model of more threads assumes: a layer is split with this efficiency, each barrier costs this much time, and a layer
 * that waits for memory outside a core's own caches gains half. */
#define SPLIT_EFFICIENCY .88
#define BARRIER_NS       1500.0

/* What the model of a larger batch assumes: compute reaches this share of its limit. */
#define BATCH_EFFICIENCY .75
enum { BATCH_FACTOR = 8, LARGE_BATCH = 16 };

typedef struct attempt {
    const char *what, *why, *command;
    double      change; /* of the time: -0.35 */
    const char *per;    /* "run" or "item" */
    const char *model;  /* how it was estimated */
} attempt;

/* Whether the layer waits for memory that cores share. */
static bool is_shared_memory(const char *bound) { return !strcmp(bound, "L3") || !strcmp(bound, "DRAM"); }

static bool is_memory(const char *bound) { return *bound == 'L' || is_shared_memory(bound); }

static double threads_ns(double ns, const char *bound, int threads)
{
    double gain = is_shared_memory(bound) ? 1 + (threads - 1) * .5 : threads * SPLIT_EFFICIENCY;
    return fmin(ns, ns / gain + BARRIER_NS);
}

/* A cell follows each sample through time by itself: more threads than samples have nothing to do. */
static int threads_of(const assay_trace *t, const char *op)
{
    bool is_cell = !strcmp(op, "assay.CfC") || !strcmp(op, "assay.LTC");
    return is_cell && t->batch && t->batch < (uint64_t)t->cpus ? (int)t->batch : t->cpus;
}

static bool try_threads(assay_facts *f, const assay_trace *t, const as_table *steps, const char *model, attempt *out)
{
    int    time = as_column_find(steps, "time"), bound = as_column_find(steps, "bound"), op = as_column_find(steps, "op");
    double now = 0, then = 0;
    if (strcmp(t->device, "cpu") || t->threads < 1 || t->cpus <= t->threads)
        return false;
    for (int i = 0; i < steps->n_rows; i++) {
        double ns = as_cell_value(as_cell_at(steps, i, time));
        if (!(ns > 0))
            continue;
        now += ns;
        then += threads_ns(ns, as_cell_words(as_cell_at(steps, i, bound)), threads_of(t, as_cell_words(as_cell_at(steps, i, op))));
    }
    int idle = t->cpus - t->threads;
    *out = (attempt){
        .what = as_say(f, "--threads %d", t->cpus),
        .why = idle == 1 ? "one core is idle" : as_say(f, "%d cores are idle", idle),
        .command = as_say(f, "assay compare %s --vary threads=%d,%d", model, t->threads, t->cpus),
        .change = now > 0 ? then / now - 1 : 0,
        .per = "run",
        .model =
            "times of layers split over the cores at 88 %, half of it where they wait for shared memory, and 1.5 us per barrier"};
    return true;
}

/* The highest f32 rate for this number of threads. */
static double compute_limit(const assay_trace *t)
{
    double best = 0;
    char   suffix[16];
    snprintf(suffix, sizeof suffix, ".t%d", t->threads);
    for (size_t i = 0; i < t->n_roofs; i++) {
        const char *name = t->roofs[i].name;
        size_t      n = strlen(name), m = strlen(suffix);
        if (!strncmp(name, "fma.f32", 7) && n > m && !strcmp(name + n - m, suffix) && t->roofs[i].value > best)
            best = t->roofs[i].value;
    }
    return best;
}

/* The share of weights in the bytes that the step of that name moves. */
static double weight_share(const assay_trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *s = &t->steps[i];
        double               bytes = (double)(s->bytes_read + s->bytes_written);
        if (!as_step_is_prologue(s) && !strcmp(s->name, name))
            return bytes > 0 ? fmin(1, (double)s->weight_bytes / bytes) : 0;
    }
    return 0;
}

/* A layer that waits for its weights reads them once per run, whatever the batch. */
static bool try_batch(assay_facts *f, const assay_trace *t, const as_table *steps, const char *model, attempt *out)
{
    int time = as_column_find(steps, "time"), bound = as_column_find(steps, "bound"), flops = as_column_find(steps, "issued_flops"),
        name = as_column_find(steps, "name");
    double now = 0, then = 0, limit = compute_limit(t);
    if (!t->batch || t->batch >= LARGE_BATCH || !(limit > 0) || strcmp(t->device, "cpu"))
        return false;
    for (int i = 0; i < steps->n_rows; i++) {
        double ns = as_cell_value(as_cell_at(steps, i, time)), work = as_cell_value(as_cell_at(steps, i, flops));
        if (!(ns > 0))
            continue;
        double least = work > 0 ? work / limit * 1e9 / BATCH_EFFICIENCY : 0;
        double spread = ns * (1 - weight_share(t, as_cell_words(as_cell_at(steps, i, name))) * (1 - 1. / BATCH_FACTOR));
        now += ns;
        then += is_memory(as_cell_words(as_cell_at(steps, i, bound))) ? fmin(ns, fmax(spread, least)) : ns;
    }
    unsigned long long batch = (unsigned long long)t->batch;
    *out = (attempt){
        .what = as_say(f, "--batch %llu", batch * BATCH_FACTOR),
        .why = "weights are read once per run, not once per item",
        .command = as_say(f, "assay compare %s --vary batch=%llu,%llu", model, batch, batch * BATCH_FACTOR),
        .change = now > 0 ? then / now - 1 : 0,
        .per = "item",
        .model =
            "layers that wait for memory read their weights once for eight times the items, and compute at 75 % of its limit at most"};
    return true;
}

static void attempt_add(assay_facts *f, as_table *tries, const attempt *a)
{
    as_facts_row(f, tries,
                 (as_cell[]){{.text = a->what},
                             {.text = a->why},
                             {.metric = as_metric_modelled(a->change, NAN, NAN, "ratio", a->model)},
                             {.text = a->per},
                             {.text = a->command}});
}

static void run(assay_facts *f, const assay_trace *t)
{
    static const char *const columns[] = {
        "what|try", "why|because", "change|estimated change of the time", "per|of one", "command|what proves it", NULL};
    static bool (*const rules[])(assay_facts *, const assay_trace *, const as_table *, const char *, attempt *) = {try_threads,
                                                                                                                   try_batch};
    const as_table     *steps = as_facts_table_find(f, "roofline", "steps");
    const assay_metric *clean = as_facts_metric(f, "layers.undisturbed_runs");
    const char         *model = as_facts_note_find(f, "model.source");
    if (!steps || !model || !*model || !clean || !as_metric_has(clean) || clean->value < AS_CLEAN_ENOUGH || t->n_arms > 1)
        return; /* times of layers from interrupted runs are not a basis for advice */
    attempt found[AS_COUNT(rules)];
    int     n = 0;
    for (size_t i = 0; i < AS_COUNT(rules); i++)
        if (rules[i](f, t, steps, model, &found[n]) && found[n].change < -LEAST_GAIN)
            n++;
    if (!n)
        return;
    as_fact_group *g = as_facts_group(f, "tries", "What to try");
    as_table      *tries = as_facts_table(f, g, "tries", "What to try, by estimates", columns);
    for (int i = 0; i < n; i++)
        attempt_add(f, tries, &found[i]);
}

const as_analysis as_an_tries = {.name = "tries", .order = 900, .run = run};
