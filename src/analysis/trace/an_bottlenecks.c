/* an_bottlenecks.c - what holds the run back: one rule a row, each with its numbers.
 *
 * A rule says "found" with a severity (the share of the time that it explains), "not found" with the number that speaks against it, or "not
 * testable here" with the reason.  It never says nothing.  What each rule cannot tell is in docs/analyses.md. */
#include <math.h>
#include <string.h>

#include "analysis/trace/hot.h"

#define LEAST  0.05 /* of the time: below, it does not count */
#define SEVERE 0.20
#define LATE   0.001 /* of barriers */
#define SLOWER 0.95  /* of the clock rate */
enum { SMALL_BATCH = 16 };

typedef enum state { FOUND, NOT_FOUND, NOT_TESTABLE } state;
typedef enum confidence { LOW, MEDIUM, HIGH } confidence;

typedef struct finding {
    state       state;
    double      severity; /* share of the time; NaN: not known */
    confidence  confidence;
    const char *evidence, *cites;
} finding;

/* What all rules see: at most one of the sources is there in most traces. */
typedef struct scene {
    assay_facts       *f;
    const assay_trace *t;
    as_call_tree       samples, spans;
    as_hots            layers, spans_hot, samples_hot; /* n == 0: there are none */
    const char        *no_layers;                      /* why no layer is judged; NULL: they are */
    double             on_cpu;                         /* share of the time on the CPU; NaN: not known */
    const char        *on_cpu_cites, *on_cpu_why;
    bool               busy; /* others used the machine */
} scene;

static finding untestable(const char *why) { return (finding){NOT_TESTABLE, NAN, LOW, why, ""}; }

static finding by_share(double share, confidence c, const char *evidence, const char *cites)
{
    return (finding){share >= LEAST ? FOUND : NOT_FOUND, share, c, evidence, cites};
}

static const char *percent(assay_facts *f, double share)
{
    return as_say(f, share >= .0995 || share <= 0 ? "%.0f %%" : "%.2g %%", 100 * share);
}

/* A metric that has a value; NULL: it has none. */
static const assay_metric *metric_of(const scene *s, const char *key)
{
    const assay_metric *m = as_facts_metric(s->f, key);
    return m && as_metric_has(m) ? m : NULL;
}

static const char *reason_of(const scene *s, const char *key, const char *otherwise)
{
    const assay_metric *m = as_facts_metric(s->f, key);
    return m && m->reason ? m->reason : otherwise;
}

/* --- What the time is limited by -------------------------------------------------------------------------------------- */

/* The heaviest layers of a kind, up to three, and the rows that they stand on. */
static const char *names_of(const scene *s, as_hot_kind kind, const char **cites)
{
    const char *names = "";
    int         n = 0;
    *cites = "";
    for (size_t i = 0; i < s->layers.n && n < 3; i++) {
        const as_hot *h = &s->layers.all[i];
        if (h->kind != kind || h->share < LEAST / 10)
            continue;
        names = as_say(s->f, "%s%s%s (%s of the run: %s)", names, n++ ? "; " : "", h->name, percent(s->f, h->share), h->evidence);
        *cites = as_say(s->f, "%s%s%s", *cites, **cites ? " " : "", h->cites);
    }
    return names;
}

static finding by_kind(const scene *s, as_hot_kind kind, const char *what)
{
    const char *cites, *names = names_of(s, kind, &cites);
    double      share = as_hots_share(&s->layers, kind);
    return by_share(share, s->layers.uncertain ? LOW : MEDIUM, *names ? names : as_say(s->f, "no layer is limited by %s", what),
                    *cites ? cites : "layers.run_mean");
}

static finding compute(const scene *s)
{
    if (s->on_cpu < .5)
        return (finding){NOT_FOUND, 0, HIGH, as_say(s->f, "on the CPU in only %s of the time", percent(s->f, s->on_cpu)),
                         s->on_cpu_cites};
    if (s->layers.n && s->layers.all[0].limit.ns > 0)
        return by_kind(s, AS_HOT_COMPUTE, "compute");
    if (s->spans_hot.n && as_hots_share(&s->spans_hot, AS_HOT_COMPUTE) > 0)
        return by_share(as_hots_share(&s->spans_hot, AS_HOT_COMPUTE), MEDIUM,
                        "spans near the compute limit by the flops that they state", "hotspots.spans#0");
    return untestable(s->no_layers ? s->no_layers
                                   : "the work is not known: only layers and spans with stated flops have a compute limit");
}

static finding bandwidth(const scene *s)
{
    if (s->layers.n && s->layers.all[0].limit.ns > 0)
        return by_kind(s, AS_HOT_MEMORY, "memory");
    if (s->spans_hot.n && as_hots_share(&s->spans_hot, AS_HOT_MEMORY) > 0)
        return by_share(as_hots_share(&s->spans_hot, AS_HOT_MEMORY), MEDIUM,
                        "spans near the memory limit by the bytes that they state", "hotspots.spans#0");
    if (s->on_cpu < .5)
        return (finding){NOT_FOUND, 0, HIGH, as_say(s->f, "on the CPU in only %s of the time", percent(s->f, s->on_cpu)),
                         s->on_cpu_cites};
    return untestable(s->no_layers ? s->no_layers
                                   : "the bytes are not known: only layers and spans with stated bytes have a memory limit");
}

static finding data_loading(const scene *s)
{
    const as_hots      *h = s->spans_hot.n ? &s->spans_hot : &s->samples_hot;
    const assay_metric *waits = metric_of(s, "record.waits");
    if (h->n && !s->spans_hot.n && waits) { /* a thread that waits for another one's work holds nothing up while that one runs */
        double share = as_hots_share(h, AS_HOT_IO);
        return by_share(
            fmin(share, waits->value), MEDIUM,
            as_say(s->f, "%s of its threads' time in calls that wait for files or sockets; in %s of the time all threads wait",
                   percent(s->f, share), percent(s->f, waits->value)),
            "calls.samples.whole record.waits");
    }
    if (h->n) {
        double share = as_hots_share(h, AS_HOT_IO);
        return by_share(share, s->spans_hot.n ? HIGH : MEDIUM,
                        as_say(s->f, "%s of the time in %s", percent(s->f, share),
                               s->spans_hot.n ? "spans that state io, data, load, network or transfer"
                                              : "calls that wait for files or sockets"),
                        s->spans_hot.n ? "calls.spans.whole" : "calls.samples.whole");
    }
    return untestable(
        "inputs are made before the first run, and nothing is loaded while it measures; a session with spans of the category io tells");
}

static finding transfers(const scene *s)
{
    const as_table *t = as_facts_table_find(s->f, "books", "entries");
    for (int i = 0; t && i < t->n_rows; i++)
        if (!strcmp(as_words_at(t, i, "entry"), "transfers"))
            return by_share(as_value_at(t, i, "share"), HIGH,
                            as_say(s->f, "copies between devices take %s of a run", percent(s->f, as_value_at(t, i, "share"))),
                            as_say(s->f, "books.entries#%d", i));
    return untestable(reason_of(s, "books.explained_share", "no step was recorded"));
}

/* Weights are read once per run, whatever the batch: layers that wait for them would serve more items in the same time. */
static finding small_batch(const scene *s)
{
    double      share = 0, dispatch = as_hots_share(&s->layers, AS_HOT_DISPATCH);
    const char *cites = "";
    if (!s->layers.n || !(s->layers.all[0].limit.ns > 0))
        return untestable(s->no_layers ? s->no_layers : "no layer has a limit");
    if (!s->t->batch)
        return untestable("the model has no batch size of its own");
    for (size_t i = 0; i < s->layers.n; i++) {
        const as_hot *h = &s->layers.all[i];
        if (h->kind != AS_HOT_MEMORY || !(h->weight_share > .5))
            continue;
        share += h->share;
        if (strlen(cites) < 200)
            cites = as_say(s->f, "%s%s%s", cites, *cites ? " " : "", h->cites);
    }
    const char *numbers = as_say(
        s->f, "batch %llu; layers that wait for memory and mostly read weights take %s of the run, steps that are all dispatch %s",
        (unsigned long long)s->t->batch, percent(s->f, share), percent(s->f, dispatch));
    finding found = by_share(share + dispatch, MEDIUM, numbers, *cites ? cites : "layers.run_mean");
    if (s->t->batch >= SMALL_BATCH)
        found.state = NOT_FOUND;
    return found;
}

static finding inefficient(const scene *s)
{
    const as_hot *worst = NULL;
    if (!s->layers.n || !(s->layers.all[0].limit.ns > 0))
        return untestable(s->no_layers ? s->no_layers : "no layer has a limit");
    for (size_t i = 0; i < s->layers.n; i++) /* what is all dispatch is told by its own rule */
        if (as_metric_has(&s->layers.all[i].potential) && s->layers.all[i].kind != AS_HOT_DISPATCH &&
            (!worst || s->layers.all[i].potential.value > worst->potential.value))
            worst = &s->layers.all[i];
    if (!worst)
        return (finding){NOT_FOUND, 0, MEDIUM, "no layer with more work than its dispatch has a limit", "layers.run_mean"};
    finding found = by_share(worst->potential.value, s->layers.uncertain ? LOW : MEDIUM,
                             as_say(s->f, "%s runs at %s of its limit; %s of the run is above the limit there", worst->name,
                                    percent(s->f, worst->of_limit), percent(s->f, worst->potential.value)),
                             worst->cites);
    if (worst->of_limit >= .5)
        found.state = NOT_FOUND; /* half of the limit is a good kernel */
    return found;
}

static finding dispatch(const scene *s)
{
    const assay_metric *gap = metric_of(s, "books.unexplained"), *wall = metric_of(s, "books.wall");
    if (!gap || !wall || !(wall->value > 0))
        return untestable(reason_of(s, "books.unexplained", "no step was recorded"));
    double between = fmax(0, gap->value / wall->value), small = as_hots_share(&s->layers, AS_HOT_DISPATCH);
    return by_share(between + small, s->layers.n ? MEDIUM : LOW,
                    as_say(s->f, "%s of the run lies between steps, %s in steps whose work takes less than that%s%s",
                           percent(s->f, between), percent(s->f, small),
                           isnan(s->layers.between_ns) ? "" : "; from one step to the next: ",
                           isnan(s->layers.between_ns) ? "" : as_say_number(s->f, s->layers.between_ns, "ns")),
                    as_say(s->f, "%s %s", "books.unexplained", "books.wall"));
}

/* --- Waiting ------------------------------------------------------------------------------------------------------------- */

static finding synchronisation(const scene *s)
{
    const assay_metric *barriers = metric_of(s, "contention.barriers"), *late = metric_of(s, "contention.late"),
                       *switches = metric_of(s, "contention.thread_switches");
    if (s->spans_hot.n || s->samples_hot.n) {
        const as_hots *h = s->spans_hot.n ? &s->spans_hot : &s->samples_hot;
        double         share = as_hots_share(h, AS_HOT_SYNC);
        return by_share(
            share, MEDIUM,
            as_say(s->f, "%s of the time in %s", percent(s->f, share),
                   s->spans_hot.n ? "spans that state sync, lock or wait" : "calls that wait for a lock or another thread"),
            s->spans_hot.n ? "calls.spans.whole" : "calls.samples.whole");
    }
    if (s->t->threads == 1 && !s->t->n_barriers)
        return (finding){NOT_FOUND, 0, HIGH, "one thread: there is nobody to wait for", "layers.run_mean"};
    if (!isnan(s->layers.wait_share))
        return by_share(s->layers.wait_share, MEDIUM,
                        as_say(s->f, "the threads wait for one another in %s of their time", percent(s->f, s->layers.wait_share)),
                        "layers.run_mean");
    if (!barriers || !late || !(barriers->value > 0))
        return untestable("the device does not tell its threads' waits");
    double share = late->value / barriers->value;
    bool   ours = !switches || !(switches->value > 0);
    return (finding){share > LATE && ours ? FOUND : NOT_FOUND, NAN, LOW,
                     as_say(s->f,
                            "at %.2g %% of %.0f barriers a thread waited for more than 20 us%s; --detail part tells for how long",
                            100 * share, barriers->value, ours ? "" : ", but threads lost their CPU to others"),
                     "contention.barriers contention.late"};
}

static finding waiting(const scene *s)
{
    if (isnan(s->on_cpu))
        return untestable(s->on_cpu_why);
    finding found =
        by_share(fmax(0, 1 - s->on_cpu), HIGH,
                 as_say(s->f, "on the CPU, or ready for it, in %s of the time", percent(s->f, s->on_cpu)), s->on_cpu_cites);
    if (s->layers.n && s->busy && found.state == FOUND) {
        found.state = NOT_FOUND; /* others had the CPU: the rule of neighbours says so */
        found.evidence = as_say(s->f, "%s, but others had it meanwhile", found.evidence);
    }
    return found;
}

/* --- The machine ----------------------------------------------------------------------------------------------------------- */

/* From the first to the last reading of a sensor, in ns. */
static double read_over_ns(const scene *s, const char *name)
{
    int      id = as_sensor_find(s->t, name);
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; id >= 0 && i < s->t->n_readings; i++)
        if (s->t->readings[i].sensor == (uint32_t)id) {
            first = s->t->readings[i].ticks < first ? s->t->readings[i].ticks : first;
            last = s->t->readings[i].ticks > last ? s->t->readings[i].ticks : last;
        }
    return last > first ? (double)(last - first) * s->t->ns_per_tick : 0;
}

static finding memory_pressure(const scene *s)
{
    double              over_ns = read_over_ns(s, "pressure.memory");
    const assay_metric *stall = metric_of(s, "sensors.pressure.memory"), *faults = metric_of(s, "sensors.faults.major");
    as_times            times = as_times_read(s->f, s->t);
    if (!stall && !faults)
        return untestable(reason_of(s, "sensors.pressure.memory", "the trace has no sensor of memory pressure"));
    if (stall && !(over_ns > 0))
        return untestable("no time was measured that the stall could be a share of");
    double      share = stall ? stall->value / over_ns : 0;
    const char *numbers =
        as_say(s->f, "%s%s%s", stall ? as_say(s->f, "tasks waited for memory in %s of the time", percent(s->f, share)) : "",
               stall && faults ? "; " : "", faults ? as_say(s->f, "%.0f pages had to be read from disk", faults->value) : "");
    finding found = by_share(share, stall ? MEDIUM : LOW, numbers, stall ? "sensors.pressure.memory" : "sensors.faults.major");
    if (faults && faults->value > (double)times.n / 10 && times.n)
        found.state = FOUND; /* a page from disk takes longer than most runs */
    return found;
}

/* The mean of a sensor's readings in the first and in the last third. */
static bool thirds(const scene *s, const char *name, double *first, double *last)
{
    int    id = as_sensor_find(s->t, name);
    size_t n = 0, i = 0;
    double sums[2] = {0};
    for (size_t k = 0; id >= 0 && k < s->t->n_readings; k++)
        n += s->t->readings[k].sensor == (uint32_t)id;
    for (size_t k = 0; n >= 6 && k < s->t->n_readings; k++) {
        if (s->t->readings[k].sensor != (uint32_t)id)
            continue;
        sums[0] += i < n / 3 ? s->t->readings[k].value : 0;
        sums[1] += i >= n - n / 3 ? s->t->readings[k].value : 0;
        i++;
    }
    if (n < 6)
        return false;
    *first = sums[0] / (double)(n / 3), *last = sums[1] / (double)(n / 3);
    return *first > 0 && isfinite(*last);
}

static finding thermal(const scene *s)
{
    double first, last, cold, warm;
    if (!thirds(s, "cpu.frequency", &first, &last))
        return untestable(as_say(s->f, "the clock rate was not read over the run: %s; temperature: %s",
                                 reason_of(s, "sensors.cpu.frequency", "fewer than 6 readings"),
                                 reason_of(s, "sensors.cpu.temperature", "fewer than 6 readings")));
    const char *heat =
        thirds(s, "cpu.temperature", &cold, &warm) ? as_say(s->f, "; temperature from %.0f to %.0f C", cold, warm) : "";
    double  lost = fmax(0, 1 - last / first);
    finding found = by_share(lost, *heat ? HIGH : MEDIUM,
                             as_say(s->f, "the clock went from %s to %s between the first and the last third%s",
                                    as_say_number(s->f, first, "hertz"), as_say_number(s->f, last, "hertz"), heat),
                             "sensors.cpu.frequency");
    found.state = last / first < SLOWER ? FOUND : NOT_FOUND;
    return found;
}

static finding neighbours(const scene *s)
{
    const char         *key = metric_of(s, "session.starves") ? "session.starves" : "record.starves";
    const assay_metric *starves = metric_of(s, key);
    const assay_metric *dirty = metric_of(s, "contention.contaminated"), *excess = metric_of(s, "contention.mean_excess"),
                       *steal = metric_of(s, "contention.steal_share"), *pressure = metric_of(s, "contention.pressure_share");
    if (starves)
        return by_share(starves->value, HIGH,
                        as_say(s->f, "in %s of the time threads could run, but others had the CPUs", percent(s->f, starves->value)),
                        key);
    if (s->samples_hot.n && s->samples.waiting) {
        double share = as_hots_share(&s->samples_hot, AS_HOT_NEIGHBOURS);
        return by_share(share, MEDIUM,
                        as_say(s->f, "in %s of its threads' time the kernel gave their CPU to others", percent(s->f, share)),
                        "calls.samples.whole");
    }
    if (s->f->machine == AS_MACHINE_UNKNOWN)
        return untestable(reason_of(s, "contention.contaminated", "nothing was measured that shows other work"));
    const char *numbers = "", *cites = "";
    double      worst = NAN;
    const struct {
        const assay_metric *m;
        const char         *words, *key;
        bool                is_ours; /* a share of our own time: others may wait for a CPU without harm to us */
    } signs[] = {{dirty, "%s of the samples were interrupted", "contention.contaminated", true},
                 {steal, "the hypervisor took %s of the time", "contention.steal_share", true},
                 {excess, "the mean is %s above the median", "contention.mean_excess", true},
                 {pressure, "some task waited for a CPU in %s of the time", "contention.pressure_share", false}};
    for (size_t i = 0; i < AS_COUNT(signs); i++)
        if (signs[i].m) {
            double      x = signs[i].m->value, share = signs[i].m == excess ? x / (1 + x) : x;
            const char *shown = percent(s->f, x), *gap = strstr(signs[i].words, "%s");
            numbers = as_say(s->f, "%s%s%.*s%s%s", numbers, *numbers ? ", " : "", (int)(gap - signs[i].words), signs[i].words,
                             shown, gap + 2);
            cites = as_say(s->f, "%s%s%s", cites, *cites ? " " : "", signs[i].key);
            worst = signs[i].is_ours ? fmax(worst, fmin(1, fmax(0, share))) : worst;
        }
    return (finding){s->f->machine != AS_MACHINE_IDLE ? FOUND : NOT_FOUND, worst, HIGH, numbers, cites};
}

/* --- All -------------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *key, *name;
    finding (*judge)(const scene *s);
    bool of_machine; /* a busy machine does not weaken it */
} rules[] = {
    {"compute", "compute", compute, false},
    {"bandwidth", "memory bandwidth", bandwidth, false},
    {"data_loading", "data loading", data_loading, false},
    {"transfers", "transfers between devices", transfers, false},
    {"small_batch", "small batch", small_batch, false},
    {"inefficient_layer", "inefficient layer", inefficient, false},
    {"dispatch", "launch or dispatch", dispatch, false},
    {"synchronisation", "synchronisation", synchronisation, false},
    {"waiting", "waiting (sleep, locks, files)", waiting, false},
    {"memory_pressure", "memory pressure", memory_pressure, true},
    {"thermal", "thermal", thermal, true},
    {"neighbours", "neighbours", neighbours, true},
};

static const char *severity_text(const finding *x)
{
    if (x->state != FOUND)
        return "-";
    return isnan(x->severity) ? "not known" : x->severity >= SEVERE ? "high" : x->severity >= LEAST ? "medium" : "low";
}

static void rule_add(assay_facts *f, as_table *table, size_t i, const scene *s)
{
    static const char *const states[] = {"found", "not found", "not testable here"};
    static const char *const trusts[] = {"low", "medium", "high"};
    finding                  x = rules[i].judge(s);
    bool                     known = x.state != NOT_TESTABLE && !isnan(x.severity);
    if (s->busy && !rules[i].of_machine && x.confidence > LOW)
        x.confidence--;
    as_cell cells[] = {
        {.text = rules[i].name},
        {.text = rules[i].key},
        {.text = states[x.state]},
        {.text = severity_text(&x)},
        {.metric = known ? as_metric_derived(x.severity, NAN, NAN, 1, "ratio", "share of the time; the evidence cites its numbers")
                         : as_metric_unavailable("ratio",
                                                 x.state == NOT_TESTABLE ? x.evidence : "its share of the time was not recorded")},
        {.text = x.state == NOT_TESTABLE ? "-" : trusts[x.confidence]},
        {.text = *x.evidence ? x.evidence : "-"},
        {.text = *x.cites ? x.cites : "-"},
    };
    as_facts_row(f, table, cells);
}

/* Of a program that was sampled: what its looks stand for, against how long its threads were looked at. */
static void on_cpu_read(scene *s)
{
    const assay_metric *cpu = metric_of(s, "contention.cpu_share");
    s->on_cpu = NAN;
    s->on_cpu_cites = "";
    s->on_cpu_why = reason_of(s, "contention.cpu_share", "neither CPU time nor stack samples were recorded");
    const assay_metric *waits = metric_of(s, "record.waits");
    if (waits) {
        s->on_cpu = fmax(0, 1 - waits->value);
        s->on_cpu_cites = "record.waits";
    } else if (!s->samples.unknown) { /* what others took away is not waiting */
        s->on_cpu = 1 - as_call_share(&s->samples, s->samples.waiting) + as_hots_share(&s->samples_hot, AS_HOT_NEIGHBOURS);
        s->on_cpu_cites = "calls.samples.waiting calls.samples.whole";
    } else if (s->spans.unknown && cpu) {
        s->on_cpu = fmin(1, cpu->value);
        s->on_cpu_cites = "contention.cpu_share";
    } else if (!s->spans.unknown) {
        int                 id = as_sensor_find(s->t, "cpu.time");
        const assay_metric *time = metric_of(s, "sensors.cpu.time");
        double              sleep = as_hots_share(&s->spans_hot, AS_HOT_SLEEP) + as_hots_share(&s->spans_hot, AS_HOT_IO);
        double              whole = as_call_ns(&s->spans, s->spans.whole);
        const assay_metric *starves = metric_of(s, "session.starves"); /* what others took away is not waiting */
        if (id >= 0 && time && whole > 0)
            s->on_cpu = fmin(1, time->value / whole + (starves ? starves->value : 0)),
            s->on_cpu_cites = starves ? "sensors.cpu.time session.starves calls.spans.whole" : "sensors.cpu.time calls.spans.whole";
        else if (sleep > 0)
            s->on_cpu = fmax(0, 1 - sleep), s->on_cpu_cites = "calls.spans.whole";
        else
            s->on_cpu_why = "the session has no CPU time, and no span states that it sleeps or waits";
    }
}

static void scene_read(scene *s, assay_facts *f, const assay_trace *t)
{
    const assay_metric *clean = as_facts_metric(f, "layers.undisturbed_runs");
    *s = (scene){.f = f, .t = t, .samples = as_call_tree_of_samples(&f->arena, t), .spans = as_call_tree_of_spans(&f->arena, t)};
    as_call_tree layers = as_call_tree_of_layers(&f->arena, t, f);
    bool         judged = !clean || !as_metric_has(clean) || clean->value >= AS_CLEAN_ENOUGH;
    s->no_layers = !judged ? as_say(f, "%.0f uninterrupted runs were recorded, and %d are needed", clean->value, AS_CLEAN_ENOUGH)
                           : layers.unknown;
    s->layers.between_ns = s->layers.wait_share = NAN;
    if (!s->no_layers)
        s->layers = as_hots_read(f, t, &layers);
    if (s->layers.n && !(s->layers.all[0].limit.ns > 0))
        s->no_layers = s->layers.all[0].evidence;
    if (!s->samples.unknown)
        s->samples_hot = as_hots_read(f, t, &s->samples);
    if (!s->spans.unknown)
        s->spans_hot = as_hots_read(f, t, &s->spans);
    s->busy = f->machine == AS_MACHINE_BUSY || f->machine == AS_MACHINE_VERY_BUSY;
    on_cpu_read(s);
}

static void run(assay_facts *f, const assay_trace *t)
{
    static const char *const columns[] = {"name|bottleneck",
                                          "rule|rule",
                                          "state|state",
                                          "severity|severity",
                                          "share|share of the time",
                                          "confidence|confidence",
                                          "evidence|numbers behind it",
                                          "cites|stands on",
                                          NULL};
    scene                    s;
    if (t->n_arms > 1 || (!t->n_samples && !t->n_looks && !t->n_spans && !t->n_stack_totals))
        return;
    scene_read(&s, f, t);
    as_fact_group *g = as_facts_group(f, "bottlenecks", "Bottlenecks");
    as_table      *table = as_facts_table(f, g, "bottlenecks", "What holds it back", columns);
    for (size_t i = 0; i < AS_COUNT(rules); i++)
        rule_add(f, table, i, &s);
}

const as_analysis as_an_bottlenecks = {
    .name = "bottlenecks", .order = 80, .of = 1u << AS_OF_NETWORK | 1u << AS_OF_SESSION | 1u << AS_OF_PROGRAM, .run = run};
