/* an_guide.c - the three analyses of compute, memory and hardware, and recommendations: each with the numbers that it stands on and the
 * command that proves or refutes it.
 *
 * What the guides divide by a figure of their configuration is divided here by a limit that was measured on this machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "trace/limit.h"

/* --- Efficiencies ---------------------------------------------------------------------------------------------------- */

static assay_metric ratio(const assay_metric *over, double under, const char *unit, const char *formula, const char *reason)
{
    if (!over || !as_metric_has(over))
        return as_metric_unavailable(unit, over && over->reason ? over->reason : reason);
    if (!(under > 0) || !isfinite(under))
        return as_metric_unavailable(unit, reason);
    bool bounded = over->lo > 0 && isfinite(over->hi);
    return as_metric_derived(over->value / under, bounded ? over->lo / under : (double)NAN,
                             bounded ? over->hi / under : (double)NAN, over->n, unit, formula);
}

/* What the profile's own keys say in percent, as a ratio of the same kind; false: they do not. */
static bool key_take(const assay_facts *f, const char *key, assay_metric *out)
{
    const assay_metric *m = as_facts_metric(f, key);
    if (!m || !as_metric_has(m) || strcmp(m->unit, "%"))
        return false;
    *out = *m;
    out->value /= 100, out->lo /= 100, out->hi /= 100, out->unit = "ratio";
    return true;
}

static assay_metric sensor_reason(const assay_facts *f, const char *key, const char *unit, const char *otherwise)
{
    const assay_metric *m = as_facts_metric(f, key);
    return as_metric_unavailable(unit, m && m->reason ? m->reason : otherwise);
}

/* The bytes of steps whose working set is in no cache must pass the memory controller; what its counters would say is not known. */
static assay_metric controller(const assay_facts *f, const assay_trace *t, const as_limits *limits)
{
    const assay_metric *median = as_facts_metric(f, "latency.median");
    double              bytes = 0;
    if (!limits || !limits->n_levels || limits->level[limits->n_levels - 1].bytes)
        return as_metric_unavailable("ratio", "the bandwidth of main memory was not measured");
    if (!median || !as_metric_has(median) || !(median->value > 0))
        return as_metric_unavailable("ratio", "there is no median latency");
    for (size_t i = 0; i < t->n_steps; i++)
        if (!as_step_is_prologue(&t->steps[i]) &&
            !strcmp(as_limit_of_step(limits, &t->steps[i]).level, limits->level[limits->n_levels - 1].name))
            bytes += (double)t->steps[i].bytes_read + (double)t->steps[i].bytes_written;
    return as_metric_modelled(bytes * 1e9 / median->value / limits->level[limits->n_levels - 1].bytes_per_s.rate, NAN, NAN, "ratio",
                              "bytes of steps whose working set no cache holds / time / limit of main memory");
}

/* --- Recommendations ------------------------------------------------------------------------------------------------- */

typedef enum area { COMPUTE, MEMORY, HARDWARE, N_AREAS } area;
enum { MAX_ADVICE = 16 };

typedef struct advice {
    area         area;
    const char  *text, *because, *cites, *command;
    const char  *per; /* the change is of the time of one run or of one item */
    assay_metric change;
    double       weight; /* what it may bring, to order by */
} advice;

typedef struct advices {
    advice all[MAX_ADVICE];
    int    n;
} advices;

static void advise(advices *a, advice one)
{
    if (a->n < MAX_ADVICE)
        a->all[a->n++] = one;
}

static const char *model_of(const assay_facts *f)
{
    const char *model = as_facts_note_find(f, "model.source");
    return model && *model ? model : NULL;
}

/* What an_tries.c has estimated. */
static void tries_take(assay_facts *f, advices *a)
{
    const as_table *t = as_facts_table_find(f, "tries", "tries");
    int             change = t ? as_column_find(t, "change") : -1;
    for (int i = 0; t && change >= 0 && i < t->n_rows; i++) {
        const char *what = as_words_at(t, i, "what");
        advise(a, (advice){.area = strstr(what, "--batch") ? MEMORY : COMPUTE,
                           .text = as_say(f, "Try %s", what),
                           .because = as_words_at(t, i, "why"),
                           .cites = as_say(f, "tries.tries#%d", i),
                           .command = as_words_at(t, i, "command"),
                           .per = as_words_at(t, i, "per"),
                           .change = as_cell_at(t, i, change)->metric,
                           .weight = -as_value_at(t, i, "change")});
    }
}

/* What a bottleneck that was found suggests, where a command of ours can prove it. */
typedef struct remedy {
    const char *rule;
    area        area;
    const char *text, *vary;  /* vary NULL: the command stands alone */
    const char *note, *value; /* only where this note of the plan has this value; NULL: always */
    const char *command;
} remedy;

static const remedy remedies[] = {
    {"dispatch", COMPUTE, "Compile the model: fewer steps, less time between them", "compile=off,on", "plan.compile", "off", NULL},
    {"inefficient_layer", COMPUTE, "Compile the model: fused kernels come nearer to the limit", "compile=off,on", "plan.compile",
     "off", NULL},
    {"inefficient_layer", COMPUTE, "Look at the kernels that the plan chose and refused for this layer", NULL, NULL, NULL,
     "assay plan %s"},
    {"bandwidth", MEMORY, "Store weights as f16: half of the bytes", "weights-as=f32,f16", "plan.weights_as", "f32", NULL},
    {"synchronisation", COMPUTE, "Try fewer threads: they wait for one another", "threads=1,2", NULL, NULL, NULL},
    {"transfers", MEMORY, "Keep the model on one device: copies take the time", "device=cpu,opencl", NULL, NULL, NULL},
    {"thermal", HARDWARE, "Measure short runs with pauses: the clock falls under load", NULL, NULL, NULL, "assay noise --time 10s"},
    {"memory_pressure", HARDWARE, "Give the program more memory, or take a smaller batch: it waits for pages", NULL, NULL, NULL,
     "assay plan %s"},
    {"neighbours", HARDWARE, "Measure again when the machine is idle: other work is part of these times", NULL, NULL, NULL,
     "assay noise"},
};

static void remedy_add(assay_facts *f, advices *a, const remedy *r, const as_table *t, int row)
{
    const char *model = model_of(f), *note = r->note ? as_facts_note_find(f, r->note) : NULL;
    double      share = as_value_at(t, row, "share");
    if ((r->note && (!note || strcmp(note, r->value))) || (!model && (r->vary || strstr(r->command, "%s"))))
        return;
    advise(a, (advice){.area = r->area,
                       .text = r->text,
                       .because = as_say(f, "%s: %s", as_words_at(t, row, "name"), as_words_at(t, row, "evidence")),
                       .cites = as_say(f, "bottlenecks.bottlenecks#%d", row),
                       .command = r->vary                    ? as_say(f, "assay compare %s --vary %s", model, r->vary)
                                  : strstr(r->command, "%s") ? as_say(f, "assay plan %s", model)
                                                             : r->command,
                       .per = "run",
                       .change = as_metric_unavailable("ratio", "not estimated; the command measures it"),
                       .weight = isnan(share) ? 0 : share / 10}); /* behind what has an estimate */
}

static void remedies_take(assay_facts *f, advices *a)
{
    const as_table *t = as_facts_table_find(f, "bottlenecks", "bottlenecks");
    for (int i = 0; t && i < t->n_rows; i++)
        for (size_t k = 0; k < AS_COUNT(remedies); k++)
            if (!strcmp(as_words_at(t, i, "state"), "found") && !strcmp(as_words_at(t, i, "rule"), remedies[k].rule))
                remedy_add(f, a, &remedies[k], t, i);
}

static int best_first(const void *x, const void *y)
{
    const advice *a = x, *b = y;
    return a->weight != b->weight ? (a->weight > b->weight ? -1 : 1) : strcmp(a->text, b->text);
}

static const char *const columns[] = {"text|recommendation", "area|area",
                                      "because|because",     "change|estimated change of the time",
                                      "per|of one",          "command|what proves it",
                                      "cites|stands on",     NULL};

/* One area's, or all of them. */
static void advice_table(assay_facts *f, as_fact_group *g, const advices *a, int only)
{
    static const char *const areas[] = {"compute", "memory", "hardware"};
    int                      n = 0;
    for (int i = 0; i < a->n; i++)
        n += only < 0 || (int)a->all[i].area == only;
    if (!n)
        return;
    as_table *table = as_facts_table(f, g, "recommendations", "Recommendations", columns);
    for (int i = 0; i < a->n; i++) {
        const advice *one = &a->all[i];
        if (only >= 0 && (int)one->area != only)
            continue;
        as_facts_row(f, table,
                     (as_cell[]){{.text = one->text},
                                 {.text = areas[one->area]},
                                 {.text = one->because},
                                 {.metric = one->change},
                                 {.text = one->per},
                                 {.text = one->command},
                                 {.text = one->cites}});
    }
}

/* --- The three analyses -------------------------------------------------------------------------------------------------- */

static void compute_add(assay_facts *f, const as_limits *limits, const advices *a)
{
    as_fact_group      *g = as_facts_group(f, "compute_analysis", "Compute");
    const assay_metric *rate = as_facts_metric(f, "cost.flop_rate"), *of_limit = as_facts_metric(f, "roofline.of_roof");
    const char         *none = "no limits were measured";
    as_facts_add(f, g, "compute_analysis.tflops_efficiency", "rate of the work / what the limits allow for this work",
                 of_limit && as_metric_has(of_limit)
                     ? as_metric_derived(of_limit->value, of_limit->lo, of_limit->hi, of_limit->n, "ratio", "roofline.of_roof")
                     : as_metric_unavailable("ratio", of_limit && of_limit->reason ? of_limit->reason : none));
    as_facts_add(
        f, g, "compute_analysis.compute_efficiency", "rate of the work / compute limit",
        ratio(rate, limits ? limits->fma[0].rate : (double)NAN, "ratio", "cost.flop_rate / limit of f32 multiply-adds", none));
    as_facts_add(f, g, "compute_analysis.ne_utilization", "Neural Engine in use",
                 as_metric_unavailable("ratio", "no Neural Engine ran any step, and none tells its utilisation"));
    advice_table(f, g, a, COMPUTE);
}

static void memory_add(assay_facts *f, const as_limits *limits, const advices *a)
{
    as_fact_group      *g = as_facts_group(f, "memory_analysis", "Memory");
    const assay_metric *rate = as_facts_metric(f, "cost.byte_rate"), *held = as_facts_metric(f, "memory.held");
    const char         *memory = as_facts_note_find(f, "machine.memory.bytes");
    double              machine = memory ? strtod(memory, NULL) : (double)NAN;
    bool                has_dram = limits && limits->n_levels && !limits->level[limits->n_levels - 1].bytes;
    as_facts_add(f, g, "memory_analysis.bandwidth_efficiency", "rate of the bytes / limit of main memory",
                 ratio(rate, has_dram ? limits->level[limits->n_levels - 1].bytes_per_s.rate : (double)NAN, "ratio",
                       "cost.byte_rate / limit of main memory; above 1 where caches serve it",
                       "the bandwidth of main memory was not measured"));
    as_facts_add(f, g, "memory_analysis.memory_efficiency", "memory held / memory of the machine (less is better)",
                 ratio(held, machine, "ratio", "memory.held / machine.memory.bytes", "the memory of the machine is not known"));
    assay_metric hits;
    bool         has_hits = key_take(f, "profile.memory.cache_hit_rate", &hits);
    as_facts_add(f, g, "memory_analysis.cache_efficiency", "cache hits / accesses",
                 has_hits ? hits : sensor_reason(f, "sensors.cache.misses", "ratio", "accesses were not counted"));
    advice_table(f, g, a, MEMORY);
}

static void hardware_add(assay_facts *f, const assay_trace *t, const as_limits *limits, const advices *a)
{
    as_fact_group *g = as_facts_group(f, "hardware_analysis", "Hardware");
    as_facts_add(f, g, "hardware_analysis.ne_efficiency", "Neural Engine in use",
                 as_metric_unavailable("ratio", "no Neural Engine ran any step, and none tells its utilisation"));
    as_facts_add(f, g, "hardware_analysis.memory_controller_efficiency", "memory controller in use", controller(f, t, limits));
    const assay_metric *energy = as_facts_metric(f, "sensors.energy.package");
    as_facts_add(f, g, "hardware_analysis.power_efficiency", "power / power budget",
                 energy && as_metric_has(energy) ? as_metric_unavailable("ratio", "no power budget was given")
                                                 : sensor_reason(f, "sensors.energy.package", "ratio", "energy was not measured"));
    advice_table(f, g, a, HARDWARE);
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_limits limits;
    advices   a = {.n = 0};
    if (t->n_arms > 1 || !t->n_samples)
        return;
    bool known = as_limits_read(t, *t->device ? t->device : "cpu", t->threads > 0 ? t->threads : 1, &limits);
    tries_take(f, &a);
    remedies_take(f, &a);
    qsort(a.all, (size_t)a.n, sizeof *a.all, best_first);
    compute_add(f, known ? &limits : NULL, &a);
    memory_add(f, known ? &limits : NULL, &a);
    hardware_add(f, t, known ? &limits : NULL, &a);
    if (a.n)
        advice_table(f, as_facts_group(f, "recommendations", "Recommendations"), &a, -1);
}

const as_analysis as_an_guide = {.name = "guide", .order = 910, .run = run};
