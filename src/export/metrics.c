/* metrics.c - facts, steps and times of runs as families of samples, in base units. */
#include "export/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"

typedef struct sample {
    const char *family, *unit, *help, *type;
    const char *suffix, *labels; /* "_bucket", "{a=\"b\"}" */
    double      value;
    size_t      order;
} sample;

typedef struct page {
    as_scene *v;
    sample   *samples;
    size_t    n, cap;
} page;

static const struct unit {
    const char *ours, *theirs;
    double      factor;
} units[] = {{"ns", "seconds", 1e-9},
             {"s", "seconds", 1},
             {"byte", "bytes", 1},
             {"flop", "flops", 1},
             {"flop/s", "flops_per_second", 1},
             {"byte/s", "bytes_per_second", 1},
             {"flop/byte", "flops_per_byte", 1},
             {"ratio", "ratio", 1},
             {"%", "ratio", 0.01},
             {"celsius", "celsius", 1},
             {"J", "joules", 1},
             {"joule", "joules", 1},
             {"W", "watts", 1},
             {"watt", "watts", 1},
             {"hz", "hertz", 1},
             {"Hz", "hertz", 1},
             {"MHz", "hertz", 1e6},
             {"1/s", "per_second", 1},
             {"item/s", "items_per_second", 1},
             {"1", "", 1}};

static struct unit unit_of(const char *ours)
{
    for (size_t i = 0; i < AS_COUNT(units); i++)
        if (!strcmp(units[i].ours, ours))
            return units[i];
    return (struct unit){ours, ours, 1};
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* "element/s" is elements_per_second. */
static const char *unit_text(as_scene *v, const char *ours)
{
    const char *theirs = unit_of(ours).theirs;
    if (theirs != ours || !ends_with(ours, "/s"))
        return theirs;
    const char *text = as_arena_printf(&v->arena, "%.*ss_per_second", (int)strlen(ours) - 2, ours);
    v->failed |= !text;
    return text ? text : "";
}

/* Letters, digits and underscores, without two of these in a row. */
static void word_add(as_text *t, const char *text)
{
    for (; *text; text++) {
        char c = (char)(isalnum((unsigned char)*text) ? tolower((unsigned char)*text) : '_');
        if (c != '_' || (t->length && t->data[t->length - 1] != '_'))
            as_text_add_n(t, &c, 1);
    }
    while (t->length && t->data[t->length - 1] == '_')
        t->data[--t->length] = '\0';
}

/* Endings that mean something to a reader. */
static const char *taken_check(as_scene *v, const char *name)
{
    static const char *const taken[] = {"_total", "_count", "_sum", "_bucket", "_created", "_info"};
    for (size_t i = 0; i < AS_COUNT(taken); i++)
        if (ends_with(name, taken[i]))
            return as_arena_printf(&v->arena, "%s_value", name);
    return name;
}

/* "assay_latency_median_seconds"; *unit gets the part that says the unit. */
static const char *family_of(as_scene *v, const char *key, const char *ours, const char **unit)
{
    as_text t = {0}, u = {0};
    as_text_add(&t, "assay_");
    word_add(&t, key);
    word_add(&u, unit_text(v, ours));
    if (u.length && t.data) {
        char *ending = as_arena_printf(&v->arena, "_%s", u.data);
        if (ending && !ends_with(t.data, ending))
            as_text_add(&t, ending);
    }
    const char *name = t.failed || u.failed ? NULL : taken_check(v, as_arena_text(&v->arena, t.data));
    *unit = u.length ? as_arena_text(&v->arena, u.data) : "";
    as_text_drop(&t);
    as_text_drop(&u);
    v->failed |= !name || !*unit;
    return name;
}

static void label_add(as_text *t, const char *key, const char *value)
{
    as_text_printf(t, "%s%s=\"", t->length ? "," : "", key);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            as_text_add_n(t, "\\", 1);
        as_text_add_n(t, value, 1);
    }
    as_text_add_n(t, "\"", 1);
}

static const char *labels_end(page *p, as_text *t)
{
    const char *kept = t->failed ? NULL : t->length ? as_arena_printf(&p->v->arena, "{%s}", t->data) : "";
    p->v->failed |= !kept;
    as_text_drop(t);
    return kept;
}

/* What every sample of a trace has. */
static as_text labels_begin(page *p, const as_scene_process *process)
{
    const assay_trace *t = process->trace;
    as_text            labels = {0};
    char               number[32];
    label_add(&labels, "model", *t->model ? as_scene_clean(p->v, t->model) : process->name);
    if (t->name && *t->name)
        label_add(&labels, "case", as_scene_clean(p->v, t->name));
    if (t->device && *t->device)
        label_add(&labels, "device", as_scene_clean(p->v, t->device));
    snprintf(number, sizeof number, "%llu", (unsigned long long)t->batch);
    if (t->batch)
        label_add(&labels, "batch", number);
    snprintf(number, sizeof number, "%d", t->threads);
    if (t->threads > 0)
        label_add(&labels, "threads", number);
    snprintf(number, sizeof number, "%zu", (size_t)(process - p->v->processes) + 1);
    if (p->v->n_processes > 1)
        label_add(&labels, "trace", number);
    return labels;
}

static void sample_add(page *p, sample s)
{
    if (p->v->failed || !AS_SCENE_ROOM(p->v, p->samples, p->n, p->cap))
        return;
    s.order = p->n;
    p->samples[p->n++] = s;
}

static void gauge_add(page *p, const as_scene_process *process, const char *key, const char *ours, const char *help,
                      const char *extra[], double value)
{
    const char *unit, *family = family_of(p->v, key, ours, &unit);
    as_text     labels = labels_begin(p, process);
    for (size_t i = 0; extra && extra[i]; i += 2)
        label_add(&labels, extra[i], extra[i + 1]);
    sample_add(p, (sample){.family = family,
                           .unit = family && *unit && ends_with(family, unit) ? unit : "",
                           .help = help,
                           .type = "gauge",
                           .suffix = "",
                           .labels = labels_end(p, &labels),
                           .value = value * unit_of(ours).factor});
}

/* --- Facts and steps ------------------------------------------------------------------------------------------ */

static assay_status facts_add(assay_env *env, page *p, const as_scene_process *process)
{
    assay_facts        *facts;
    const char         *key, *label;
    const assay_metric *m;
    AS_TRY(assay_analyse(env, process->trace, &facts));
    for (size_t i = 0; assay_facts_at(facts, i, &key, &label, &m) && !p->v->failed; i++) {
        const char *extra[] = {"kind", assay_kind_text(m->kind), NULL};
        if (as_metric_has(m) && isfinite(m->value)) /* what is not available has no sample: 0 would be a lie */
            gauge_add(p, process, key, m->unit, as_scene_clean(p->v, label), extra, m->value);
    }
    assay_facts_free(facts);
    return ASSAY_OK;
}

static void steps_add(page *p, const as_scene_process *process)
{
    const assay_trace *t = process->trace;
    for (size_t i = 0; i < t->n_steps && !p->v->failed; i++) {
        const as_trace_step *s = &t->steps[i];
        char                 number[32];
        snprintf(number, sizeof number, "%zu", i + 1);
        const char *extra[] = {"step",   number,
                               "layer",  as_scene_clean(p->v, s->name),
                               "op",     as_scene_clean(p->v, s->op),
                               "kernel", as_scene_clean(p->v, s->kernel),
                               NULL};
        gauge_add(p, process, "step.work", "flop", "useful operations of a step in one run", extra, (double)s->flops);
        gauge_add(p, process, "step.traffic", "byte", "bytes that a step must read and write in one run", extra,
                  (double)(s->bytes_read + s->bytes_written));
        if (i < t->n_totals && t->totals[i].count)
            gauge_add(p, process, "step.duration", "ns", "mean time of a step", extra,
                      (double)t->totals[i].sum_ticks * t->ns_per_tick / (double)t->totals[i].count);
    }
}

static void memory_add(page *p)
{
    static const struct {
        as_scene_value value;
        const char    *key, *help;
    } rows[] = {{AS_SCENE_ALLOC, "tracked.allocated", "bytes allocated while memory events were recorded"},
                {AS_SCENE_PEAK, "tracked.peak", "bytes alive at the peak"},
                {AS_SCENE_INUSE, "tracked.left", "bytes alive at the end"}};
    for (size_t r = 0; p->v->has_memory && p->v->n_processes == 1 && r < AS_COUNT(rows); r++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < p->v->n_nodes; i++)
            sum += p->v->nodes[i].self[rows[r].value];
        gauge_add(p, p->v->processes, rows[r].key, "byte", rows[r].help, NULL, (double)sum);
    }
}

/* --- Histograms of times -------------------------------------------------------------------------------------------- */

enum { N_STEPS = 3, MOST_BUCKETS = 64 };

typedef struct histogram {
    double   edges[MOST_BUCKETS]; /* seconds */
    uint64_t counts[MOST_BUCKETS + 1], n;
    int      n_edges;
    double   sum;
} histogram;

/* 1, 2 and 5 times powers of ten, from below the least to above the most. */
static void edges_make(histogram *h, double least, double most)
{
    static const char *const digits[N_STEPS] = {"1", "2", "5"};
    h->n_edges = 0;
    for (int power = -9; power < 6; power++)
        for (int k = 0; k < N_STEPS && h->n_edges < MOST_BUCKETS; k++) {
            char text[16];
            snprintf(text, sizeof text, "%se%d", digits[k], power);
            double edge = strtod(text, NULL);
            if (edge * 10 >= least && (!h->n_edges || h->edges[h->n_edges - 1] < most))
                h->edges[h->n_edges++] = edge;
        }
}

static void histogram_add(page *p, const as_scene_process *process, const histogram *h, const char *candidate)
{
    uint64_t so_far = 0;
    sample   s = {.family = "assay_run_duration_seconds",
                  .unit = "seconds",
                  .help = "time of a run, one observation per sample",
                  .type = "histogram"};
    for (int i = 0; i <= h->n_edges + 2; i++) {
        as_text labels = labels_begin(p, process);
        char    le[32] = "+Inf";
        if (candidate)
            label_add(&labels, "candidate", candidate);
        if (i < h->n_edges) {
            snprintf(le, sizeof le, "%g", h->edges[i]);
            if (!strpbrk(le, ".e"))
                strcat(le, ".0");
        }
        if (i <= h->n_edges)
            label_add(&labels, "le", le), so_far += h->counts[i];
        s.suffix = i <= h->n_edges ? "_bucket" : i == h->n_edges + 1 ? "_sum" : "_count";
        s.value = i <= h->n_edges ? (double)so_far : i == h->n_edges + 1 ? h->sum : (double)h->n;
        s.labels = labels_end(p, &labels);
        sample_add(p, s);
    }
}

static void observe(histogram *h, double seconds)
{
    int i = 0;
    while (i < h->n_edges && seconds > h->edges[i])
        i++;
    h->counts[i]++;
    h->n++;
    h->sum += seconds;
}

/* Times of one candidate (arm -1: of the samples), twice: for the range and for the counts. */
static void times_add(page *p, const as_scene_process *process, int arm)
{
    const assay_trace *t = process->trace;
    histogram          h = {.n = 0};
    double             least = INFINITY, most = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass && !(least <= most))
            return;
        if (pass)
            edges_make(&h, least, most);
        for (size_t i = 0; i < (arm < 0 ? t->n_samples : t->n_turns); i++) {
            const as_sample *s = arm < 0 ? &t->samples[i] : NULL;
            const as_turn   *turn = arm < 0 ? NULL : &t->turns[i];
            uint32_t         n = turn ? (turn->arm == (uint32_t)arm ? turn->n_shots : 0) : 1;
            for (uint32_t k = 0; k < n; k++) {
                double ns = turn
                                ? (turn->first_shot + k < t->n_shots ? (double)t->shots[turn->first_shot + k].wall_ns : (double)NAN)
                                : (double)(s->end_ticks - s->begin_ticks) * t->ns_per_tick / (s->n_runs ? s->n_runs : 1);
                if (!isfinite(ns))
                    continue;
                if (pass)
                    observe(&h, ns * 1e-9);
                least = fmin(least, ns * 1e-9), most = fmax(most, ns * 1e-9);
            }
        }
    }
    if (h.n)
        histogram_add(p, process, &h, arm < 0 ? NULL : as_scene_clean(p->v, t->arms[arm].name));
}

/* --- The page ---------------------------------------------------------------------------------------------------------- */

/* Families together; within one as they were added. */
static int by_family(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    int           c = strcmp(x->family, y->family);
    return c ? c : x->order < y->order ? -1 : x->order > y->order;
}

static void help_write(FILE *file, const char *help, bool open)
{
    for (; *help; help++) {
        if (*help == '\\' || (open && *help == '"'))
            fputc('\\', file);
        fputc(*help, file);
    }
}

static void page_write(const page *p, FILE *file, bool open)
{
    char number[AS_NUMBER_BYTES];
    for (size_t i = 0; i < p->n; i++) {
        const sample *s = &p->samples[i];
        if (!i || strcmp(s->family, p->samples[i - 1].family)) {
            fprintf(file, "# HELP %s ", s->family);
            help_write(file, s->help, open);
            fprintf(file, "\n# TYPE %s %s\n", s->family, s->type);
            if (open && *s->unit)
                fprintf(file, "# UNIT %s %s\n", s->family, s->unit);
        }
        fprintf(file, "%s%s%s %s\n", s->family, s->suffix, s->labels, as_number(number, s->value));
    }
    if (open)
        fputs("# EOF\n", file);
}

assay_status as_metrics_write(assay_env *env, as_scene *v, FILE *file, bool open)
{
    page         p = {.v = v};
    assay_status status = ASSAY_OK;
    for (size_t i = 0; i < v->n_processes && status == ASSAY_OK; i++) {
        const as_scene_process *process = &v->processes[i];
        status = facts_add(env, &p, process);
        steps_add(&p, process);
        if (process->trace->n_samples)
            times_add(&p, process, -1);
        else
            for (int arm = 0; arm < process->trace->n_arms; arm++)
                times_add(&p, process, arm);
    }
    memory_add(&p);
    if (status == ASSAY_OK && v->failed)
        status = as_fail(env, ASSAY_NO_MEMORY, "%s: not enough memory for %zu samples", open ? "openmetrics" : "prometheus", p.n);
    if (status == ASSAY_OK && p.n) {
        qsort(p.samples, p.n, sizeof *p.samples, by_family);
    }
    if (status == ASSAY_OK)
        page_write(&p, file, open);
    free(p.samples);
    return status;
}
