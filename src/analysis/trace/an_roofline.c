/* an_roofline.c - each step against what this machine can do: which roof applies, how near it is, what could be gained.
 *
 * A step takes at least its flops at the FMA rate, its special functions at the rate of a vector exponential, and its compulsory bytes at
 * the bandwidth of the cache level that its working set fits: the longest of the three is its roof, and names its bound.
 *
 * Nothing is faster than physics: a step whose time, at the slow end of its interval, is still 5 % shorter than the work its kernel really
 * issues would take at the fast end of the roofs and out of the fastest level is an error of the instrument, and is said to be one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "analysis/trace/roofline.h"

#define MARGIN 1.05

typedef struct roof {
    double      value, lo, hi;
    const char *name;
    bool        disturbed;
} roof; /* value NaN: not measured */

/* --- The roofs of the trace -------------------------------------------------------------------------- */

/* "fma.f32.avx2.t1": `front` with a dot behind it, any middle, `back` at the end.  The highest of several: the best instruction set. */
static roof roof_find(const assay_trace *t, const char *front, const char *back)
{
    roof best = {.value = (double)NAN};
    for (size_t i = 0; i < t->n_roofs; i++) {
        const as_trace_roof *r = &t->roofs[i];
        size_t               n = strlen(r->name), f = strlen(front), b = strlen(back);
        if (n < f + b || strncmp(r->name, front, f) || r->name[f] != '.' || strcmp(r->name + n - b, back) || !(r->value > 0) ||
            !isfinite(r->value))
            continue;
        if (isnan(best.value) || r->value > best.value)
            best = (roof){.value = r->value,
                          .lo = r->lo > 0 && r->lo <= r->value ? r->lo : r->value,
                          .hi = r->hi >= r->value && isfinite(r->hi) ? r->hi : r->value,
                          .name = r->name,
                          .disturbed = r->source && strstr(r->source, "disturbed: ")};
    }
    return best;
}

/* For so many threads, or for one times so many where that was not measured. */
static roof roof_for(const assay_trace *t, const char *front, int threads)
{
    char back[32];
    snprintf(back, sizeof back, ".t%d", threads);
    roof r = roof_find(t, front, back);
    if (!isnan(r.value) || threads == 1)
        return r;
    r = roof_find(t, front, ".t1");
    r.value *= threads, r.lo *= threads, r.hi *= threads;
    return r;
}

enum { L1, L2, L3, DRAM, N_LEVELS };
static const char *const levels[N_LEVELS] = {"l1", "l2", "l3", "dram"};
static const char *const level_names[N_LEVELS] = {"L1", "L2", "L3", "DRAM"};

typedef struct machine {
    roof     fma[2]; /* f32, f64 */
    roof     special;
    roof     bytes[N_LEVELS]; /* the better of read and triad */
    uint64_t sizes[3];        /* of L1, L2, L3; 0: not known */
    int      threads;
} machine;

static uint64_t note_count(const assay_trace *t, const char *key)
{
    const char *text = as_trace_note_find(t, key);
    return text && *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
}

static machine machine_read(const assay_trace *t)
{
    machine m = {.threads = t->threads};
    if (m.threads < 1 || m.threads > 1024)
        m.threads = 1;
    m.fma[0] = roof_for(t, "fma.f32", m.threads);
    m.fma[1] = roof_for(t, "fma.f64", m.threads);
    m.special = roof_for(t, "exp.f32", m.threads);
    for (int i = 0; i < N_LEVELS; i++) {
        char front[32];
        snprintf(front, sizeof front, "read.%s", levels[i]);
        roof read = roof_for(t, front, m.threads);
        snprintf(front, sizeof front, "triad.%s", levels[i]);
        roof triad = roof_for(t, front, m.threads);
        m.bytes[i] = isnan(read.value) || triad.value > read.value ? triad : read;
        if (m.bytes[i].value > 0) {
            m.bytes[i].hi = fmax(m.bytes[i].hi, fmax(isnan(read.hi) ? 0 : read.hi, isnan(triad.hi) ? 0 : triad.hi));
            m.bytes[i].lo = fmin(m.bytes[i].lo, isnan(read.value) || read.value == m.bytes[i].value ? m.bytes[i].lo : read.lo);
        }
    }
    m.sizes[L1] = note_count(t, "machine.cache.l1d");
    m.sizes[L2] = note_count(t, "machine.cache.l2");
    m.sizes[L3] = note_count(t, "machine.cache.l3");
    return m;
}

/* Private caches add up over the threads; L3 is shared. */
static int level_of(const machine *m, uint64_t bytes)
{
    if (bytes <= m->sizes[L1] * (uint64_t)m->threads)
        return L1;
    if (bytes <= m->sizes[L2] * (uint64_t)m->threads)
        return L2;
    return bytes <= m->sizes[L3] ? L3 : DRAM;
}

/* --- One step ---------------------------------------------------------------------------------------- */

typedef struct verdict {
    double      roof_ns;   /* the least it can take; NaN: no roof */
    const char *bound;     /* "compute", "L2 bandwidth", "special functions" */
    const char *roof;      /* name of the roof */
    double      roof_rate; /* its value */
    const char *roof_unit;
    int         level;
} verdict;

static double ns_at(double amount, double rate) { return amount > 0 && rate > 0 ? amount / rate * 1e9 : 0; }

static bool is_f64(const as_trace_step *s) { return !strncmp(s->shapes, "f64", 3); }

static verdict judge(const machine *m, const as_trace_step *s)
{
    const roof *fma = &m->fma[is_f64(s)];
    verdict     v = {.roof_ns = (double)NAN, .bound = "-", .roof = "-", .level = level_of(m, s->working_set_bytes)};
    const roof *memory = &m->bytes[v.level];
    double      compute = ns_at((double)s->flops, fma->value), special = ns_at((double)s->special, m->special.value);
    double      bytes = ns_at((double)s->bytes_read + (double)s->bytes_written, memory->value),
           most = fmax(compute, fmax(special, bytes));
    if (!(most > 0))
        return v;
    v.roof_ns = most;
    if (most == bytes)
        v.bound = level_names[v.level], v.roof = memory->name, v.roof_rate = memory->value, v.roof_unit = "byte/s";
    else if (most == compute)
        v.bound = "compute", v.roof = fma->name, v.roof_rate = fma->value, v.roof_unit = "flop/s";
    else
        v.bound = "special", v.roof = m->special.name, v.roof_rate = m->special.value, v.roof_unit = "element/s";
    return v;
}

/* The least time for what the kernel says it issues, at the fast ends, out of the fastest level.  0: it cannot be said. */
static double least_ns(const machine *m, const as_trace_step *s)
{
    double flops = s->issued_flops ? (double)s->issued_flops : (double)s->flops;
    double bytes = s->issued_bytes ? 0 : (double)s->bytes_read + (double)s->bytes_written; /* issued bytes may stay in registers */
    double compute = ns_at(flops, m->fma[is_f64(s)].hi), memory = ns_at(bytes, m->bytes[L1].hi);
    return fmax(compute, memory);
}

/* --- The sum over a plan that was described and not run -------------------------------------------------- */

/* A roof that was measured while others used the machine may be too low: it convicts nobody. */
static bool roof_may_be_low(const machine *m, const as_trace_step *s)
{
    return m->fma[is_f64(s)].disturbed || m->bytes[L1].disturbed;
}

bool as_roofline_sum(const assay_trace *t, as_roofline_least *out)
{
    machine m = machine_read(t);
    double  most = 0;
    *out = (as_roofline_least){.roof = "-"};
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *s = &t->steps[i];
        verdict              v = judge(&m, s);
        if (as_step_is_prologue(s) || !(v.roof_ns > 0))
            continue;
        out->roof_ns += v.roof_ns;
        out->fast_ns += roof_may_be_low(&m, s) ? (double)NAN : least_ns(&m, s);
        if (v.roof_ns > most)
            most = v.roof_ns, out->roof = v.roof;
    }
    return out->roof_ns > 0;
}

/* --- All steps ----------------------------------------------------------------------------------------- */

enum {
    NAME,
    OP,
    TIME,
    BOUND,
    LEVEL,
    ROOF,
    ROOF_RATE,
    OF_ROOF,
    RECOVERABLE,
    FLOPS,
    ISSUED_FLOPS,
    BYTES,
    ISSUED_BYTES,
    WORKING_SET,
    INTENSITY,
    RATE,
    N_COLUMNS
};
static const char *const columns[] = {
    "name|layer",
    "op|op",
    "time|time",
    "bound|bound by",
    "level|fits",
    "roof|roof",
    "roof_rate|roof rate",
    "of_roof|of roof",
    "recoverable|recoverable",
    "flops|work",
    "issued_flops|issued work",
    "bytes|compulsory",
    "issued_bytes|issued",
    "working_set|working set",
    "intensity|intensity",
    "rate|work rate",
    NULL,
};

static assay_metric issued(uint64_t value, uint64_t definition, const char *unit)
{
    return value ? as_metric_counted(value, unit, "the kernel's own statement")
                 : as_metric_counted(definition, unit, "operator definition: the kernel states nothing else");
}

static assay_metric over(double value, double by, uint64_t n, const char *unit, const char *formula, const char *reason)
{
    if (!(by > 0) || !isfinite(value / by))
        return as_metric_unavailable(unit, reason);
    return as_metric_derived(value / by, (double)NAN, (double)NAN, n, unit, formula);
}

static void row_add(assay_facts *f, as_table *table, const as_trace_step *s, const assay_metric *time, const verdict *v,
                    double whole_ns)
{
    uint64_t    bytes = s->bytes_read + s->bytes_written;
    bool        timed = as_metric_has(time) && time->value > 0, roofed = v->roof_ns > 0;
    const char *no_roof = "no roof of this kind was measured, or there is no work to count",
               *why = timed ? no_roof : "the step was not timed";
    as_cell c[N_COLUMNS] = {
        [NAME] = {.text = *s->name ? s->name : "-"},
        [OP] = {.text = *s->op ? s->op : "-"},
        [TIME] = {.metric = *time},
        [BOUND] = {.text = v->bound},
        [LEVEL] = {.text = level_names[v->level]},
        [ROOF] = {.text = v->roof},
        [ROOF_RATE] = {.metric = roofed ? as_metric_measured(v->roof_rate, (double)NAN, (double)NAN, 1, v->roof_unit,
                                                             "roofs of this trace")
                                        : as_metric_unavailable("1", no_roof)},
        [OF_ROOF] = {.metric = timed && roofed
                                   ? over(v->roof_ns, time->value, time->n, "ratio", "least time at the roof / time", why)
                                   : as_metric_unavailable("ratio", why)},
        [FLOPS] = {.metric = as_metric_counted(s->flops, "flop", "operator definition")},
        [ISSUED_FLOPS] = {.metric = issued(s->issued_flops, s->flops, "flop")},
        [BYTES] = {.metric = as_metric_counted(bytes, "byte", "operator definition")},
        [ISSUED_BYTES] = {.metric = issued(s->issued_bytes, bytes, "byte")},
        [WORKING_SET] = {.metric = as_metric_counted(s->working_set_bytes, "byte", "plan")},
        [INTENSITY] = {.metric = over((double)s->flops, (double)bytes, 1, "flop/byte", "flops / compulsory bytes", "no bytes")},
        [RATE] = {.metric = timed ? over((double)s->flops * 1e9, time->value, time->n, "flop/s", "flops / time", "no time")
                                  : as_metric_unavailable("flop/s", why)},
    };
    c[RECOVERABLE].metric = timed && roofed ? over(fmax(0, time->value - v->roof_ns), whole_ns, time->n, "ratio",
                                                   "(time - least time at the roof) / time of all steps", why)
                                            : as_metric_unavailable("ratio", why);
    as_facts_row(f, table, c);
}

static void above_doubt(assay_facts *f, as_fact_group *g, const as_trace_step *s)
{
    as_facts_find(
        f, g, AS_LEVEL_WARN,
        "%s is above its roof, but the roof was measured on a busy machine and may be too low: measure it again with assay devices --measure.",
        s->name);
}

static void above_find(assay_facts *f, as_fact_group *g, const as_trace_step *s, const assay_metric *time, double least)
{
    as_facts_find(
        f, g, AS_LEVEL_BAD,
        "%s is above its roof, which is an error of the instrument: it took at most %s for work that takes at least %s at the fastest roofs, more than "
        "5 %% apart. Units, counts or a false roof are to be looked for; no number of this step is to be believed.",
        s->name, as_say_number(f, isnan(time->hi) ? time->value : time->hi, "ns"), as_say_number(f, least, "ns"));
}

static const assay_metric *time_at(const as_table *layers, int row)
{
    for (int k = 0; k < layers->n_columns; k++)
        if (!strcmp(layers->columns[k].key, "time"))
            return layers->cells[row * layers->n_columns + k].text ? NULL : &layers->cells[row * layers->n_columns + k].metric;
    return NULL;
}

typedef struct tally {
    int         n, n_timed, n_above, worst;
    double      whole, roof, worst_gain;
    const char *worst_name, *worst_bound;
    double      worst_of;
} tally;

/* The body's steps in the order of the layers' table, each with its time there. */
static void steps_judge(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_table *layers, const machine *m,
                        tally *out)
{
    as_table *table = as_facts_table(f, g, "steps", "Steps against their roofs", columns);
    tally     sum = {0};
    for (int i = 0; i < layers->n_rows; i++)
        if (time_at(layers, i) && as_metric_has(time_at(layers, i)))
            sum.whole += time_at(layers, i)->value;
    for (size_t i = 0; i < t->n_steps && sum.n < layers->n_rows; i++) {
        const as_trace_step *s = &t->steps[i];
        if (as_step_is_prologue(s))
            continue;
        const assay_metric *time = time_at(layers, sum.n++);
        if (!time || strcmp(s->device, "cpu"))
            continue;
        verdict v = judge(m, s);
        row_add(f, table, s, time, &v, sum.whole);
        if (!as_metric_has(time) || !(v.roof_ns > 0))
            continue;
        sum.n_timed++;
        sum.roof += v.roof_ns;
        double slow = isnan(time->hi) ? time->value : time->hi, least = least_ns(m, s), gain = time->value - v.roof_ns;
        if (slow > 0 && slow * MARGIN < least && roof_may_be_low(m, s)) {
            above_doubt(f, g, s);
        } else if (slow > 0 && slow * MARGIN < least) {
            sum.n_above++;
            above_find(f, g, s, time, least);
        }
        if (gain > sum.worst_gain)
            sum.worst_gain = gain, sum.worst_name = s->name, sum.worst_bound = v.bound, sum.worst_of = v.roof_ns / time->value;
    }
    *out = sum;
}

static void run(assay_facts *f, const assay_trace *t)
{
    const as_table *layers = as_facts_table_find(f, "layers", "steps");
    if (!t->n_roofs || !layers)
        return;
    machine m = machine_read(t);
    if (isnan(m.fma[0].value) || isnan(m.bytes[L1].value))
        return;
    as_fact_group *g = as_facts_group(f, "roofline", "Roofline");
    tally          sum;
    layers = as_facts_table_find(f, "layers", "steps"); /* groups may have moved */
    steps_judge(f, g, t, layers, &m, &sum);
    as_facts_add(f, g, "roofline.above", "steps above their roof",
                 as_metric_counted((uint64_t)sum.n_above, "1", "issued work against the fastest level, 5 % margin"));
    as_facts_add(
        f, g, "roofline.of_roof", "share of the roof over all timed steps",
        over(sum.roof, sum.whole, (uint64_t)sum.n_timed, "ratio", "sum of least times / sum of times", "no step was timed"));
    as_facts_add(f, g, "roofline.recoverable", "recoverable share of the time",
                 over(fmax(0, sum.whole - sum.roof), sum.whole, (uint64_t)sum.n_timed, "ratio", "1 - share of the roof",
                      "no step was timed"));
    if (sum.n_timed && !sum.n_above)
        as_facts_find(f, g, AS_LEVEL_GOOD, "Nothing is faster than physics: none of %d timed steps is above its roof.",
                      sum.n_timed);
    if (sum.worst_gain > 0)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "Hotspot: %s (bound by %s) reaches %.0f %% of its roof; %.1f %% of the run could be gained there.",
                      sum.worst_name, sum.worst_bound, 100 * sum.worst_of, 100 * sum.worst_gain / sum.whole);
    for (size_t i = 0; i < t->n_roofs; i++)
        if (strstr(t->roofs[i].source, "disturbed")) {
            as_facts_find(f, g, AS_LEVEL_WARN, "The roofs were measured on a disturbed machine (%s: %s): they may lie too low.",
                          t->roofs[i].name, t->roofs[i].source);
            break;
        }
}

const as_analysis as_an_roofline = {.name = "roofline", .order = 66, .run = run};
