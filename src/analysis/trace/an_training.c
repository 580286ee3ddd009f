/* an_training.c - a training step by pass and by layer: forward, backward and update, with their work and limits.
 *
 * Steps that serve the same layer are one row.  A step that computes several nodes of the network (a product with its activation) makes one
 * row of all of them.  The update is one pass over all parameters: its time is divided among the layers by their share of the elements. */
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"

typedef struct sums {
    double ns, flops, bytes, limit_ns; /* limit NaN: a step has none */
    int    n;
} sums;

typedef struct row {
    const char *name;
    sums        pass[AS_N_PASSES];
    double      elements;
} row;

typedef struct table {
    const assay_trace *t;
    row               *rows;
    int                n_rows;
    int               *row_of_step;
    sums               whole[AS_N_PASSES];
    double             all_elements;
} table;

static bool trains(const assay_trace *t)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (t->steps[i].pass != AS_PASS_NONE)
            return true;
    return false;
}

static bool computes(const as_trace_step *s, const char *node)
{
    for (int i = 0; i < s->n_parts; i++)
        if (!strcmp(s->parts[i], node))
            return true;
    return !strcmp(s->name, node);
}

/* The row of a layer: that of the forward step which computes it, otherwise one of its own. */
static int row_of(table *w, const char *layer)
{
    for (int i = 0; i < w->n_rows; i++)
        if (!strcmp(w->rows[i].name, layer))
            return i;
    for (size_t s = 0; s < w->t->n_steps; s++)
        if (w->t->steps[s].pass == AS_PASS_FORWARD && w->row_of_step[s] >= 0 && computes(&w->t->steps[s], layer))
            return w->row_of_step[s];
    w->rows[w->n_rows] = (row){.name = layer};
    return w->n_rows++;
}

static void sums_add(sums *to, double ns, double flops, double bytes, double limit_ns)
{
    to->ns += ns;
    to->flops += flops;
    to->bytes += bytes;
    to->limit_ns += isnan(limit_ns) && ns < .02 * to->ns ? 0 : limit_ns; /* packing has no limit of its own */
    to->n++;
}

/* A step of the forward pass that computes nodes of the network: its name is that of the layer, "conv1+relu1". */
static bool is_layer(const as_trace_step *s)
{
    return s->pass == AS_PASS_FORWARD && strcmp(s->op, "Pack") && !as_step_is_prologue(s);
}

static void rows_begin(table *w)
{
    for (size_t s = 0; s < w->t->n_steps; s++)
        w->row_of_step[s] = -1;
    for (size_t s = 0; s < w->t->n_steps; s++)
        if (is_layer(&w->t->steps[s])) {
            w->row_of_step[s] = w->n_rows;
            w->rows[w->n_rows++] = (row){.name = w->t->steps[s].name};
        }
}

/* The tables of the layers and of the roofline list the steps of the body in the same order. */
static void steps_add(const assay_facts *f, table *w)
{
    const as_table *steps = as_facts_table_find(f, "layers", "steps"), *limits = as_facts_table_find(f, "roofline", "steps");
    int             at = 0, at_limit = 0;
    for (size_t s = 0; s < w->t->n_steps; s++) {
        const as_trace_step *step = &w->t->steps[s];
        if (as_step_is_prologue(step) || !steps || at >= steps->n_rows)
            continue;
        double ns = as_value_at(steps, at, "time"), limit = (double)NAN;
        at++;
        if (limits && at_limit < limits->n_rows && !strcmp(as_words_at(limits, at_limit, "name"), step->name))
            limit = ns * as_value_at(limits, at_limit++, "of_roof");
        if (step->pass == AS_PASS_NONE)
            continue;
        double bytes = (double)step->bytes_read + (double)step->bytes_written;
        sums_add(&w->whole[step->pass], ns, (double)step->flops, bytes, limit);
        if (step->pass == AS_PASS_UPDATE || (!*step->layer && step->pass != AS_PASS_LOSS))
            continue;
        int r = w->row_of_step[s] >= 0 ? w->row_of_step[s] : row_of(w, step->pass == AS_PASS_LOSS ? "loss" : step->layer);
        sums_add(&w->rows[r].pass[step->pass], ns, (double)step->flops, bytes, limit);
    }
}

static void elements_add(table *w)
{
    size_t n = strlen(AS_METRIC_TRAIN_ELEMENTS);
    for (size_t i = 0; i < w->t->n_metrics; i++) {
        const as_trace_metric *m = &w->t->metrics[i];
        if (strncmp(m->name, AS_METRIC_TRAIN_ELEMENTS, n))
            continue;
        w->rows[row_of(w, m->name + n)].elements += m->value;
        w->all_elements += m->value;
    }
}

/* --- Facts ------------------------------------------------------------------------------------------------- */

static assay_metric time_of(const sums *s, const char *formula)
{
    if (!s->n)
        return as_metric_unavailable("ns", "no step of it is in this pass");
    if (!isfinite(s->ns))
        return as_metric_unavailable("ns", "not all its steps have a time");
    return as_metric_derived(s->ns, NAN, NAN, (uint64_t)s->n, "ns", formula);
}

static assay_metric rate_of(double over, double under, const char *unit, const char *formula)
{
    if (!isfinite(over) || !(under > 0))
        return as_metric_unavailable(unit, "its time or its limit is not known");
    return as_metric_derived(over / under, NAN, NAN, 1, unit, formula);
}

static double whole_ns(const table *w)
{
    double sum = 0;
    for (int p = 0; p < AS_N_PASSES; p++)
        sum += w->whole[p].ns;
    return sum;
}

static void passes_add(assay_facts *f, as_fact_group *g, const table *w)
{
    static const char *const columns[] = {"pass|pass",   "time|time",         "share|share", "flops|work", "flop_rate|work rate",
                                          "bytes|bytes", "of_limit|of limit", "steps|steps", NULL};
    as_table                *t = as_facts_table(f, g, "passes", "Time of a training step by pass", columns);
    for (int p = AS_PASS_FORWARD; p < AS_N_PASSES; p++) {
        const sums *s = &w->whole[p];
        as_cell     cells[] = {{.text = as_train_pass_text((as_train_pass)p)},
                               {.metric = time_of(s, "sum of its steps")},
                               {.metric = rate_of(s->ns, whole_ns(w), "ratio", "time of the pass / time of all steps")},
                               {.metric = as_metric_counted((uint64_t)s->flops, "flop", "operator definition")},
                               {.metric = rate_of(s->flops * 1e9, s->ns, "flop/s", "work / time")},
                               {.metric = as_metric_counted((uint64_t)s->bytes, "byte", "operator definition")},
                               {.metric = rate_of(s->limit_ns, s->ns, "ratio", "time at the limits / time")},
                               {.metric = as_metric_counted((uint64_t)s->n, "1", "plan")}};
        if (s->n)
            as_facts_row(f, t, cells);
    }
}

static assay_metric update_of(const table *w, const row *r, double *ns)
{
    const sums *u = &w->whole[AS_PASS_UPDATE];
    *ns = w->all_elements > 0 && isfinite(u->ns) ? u->ns * r->elements / w->all_elements : 0;
    if (!(r->elements > 0) || !u->n)
        return as_metric_unavailable("ns", "nothing of it learns");
    if (!isfinite(u->ns))
        return as_metric_unavailable("ns", "not all steps of the update have a time");
    return as_metric_derived(*ns, NAN, NAN, 1, "ns", "time of the update x its share of the parameters");
}

static void layers_add(assay_facts *f, as_fact_group *g, const table *w)
{
    static const char *const columns[] = {"name|layer",    "forward|forward",   "backward|backward",   "recompute|again",
                                          "update|update", "time|together",     "share|share",         "flops|work",
                                          "bytes|bytes",   "of_limit|of limit", "flop_rate|work rate", NULL};
    as_table                *t = as_facts_table(f, g, "layers", "Time of a training step by layer", columns);
    for (int i = 0; i < w->n_rows; i++) {
        const row   *r = &w->rows[i];
        sums         back = r->pass[AS_PASS_BACKWARD], fore = r->pass[AS_PASS_FORWARD], all;
        const sums  *again = &r->pass[AS_PASS_RECOMPUTE], *loss = &r->pass[AS_PASS_LOSS];
        double       update_ns;
        assay_metric update = update_of(w, r, &update_ns);
        sums_add(&fore, loss->ns, loss->flops, loss->bytes, loss->limit_ns);
        fore.n += loss->n - 1;
        all = (sums){.ns = fore.ns + back.ns + again->ns,
                     .flops = fore.flops + back.flops + again->flops,
                     .bytes = fore.bytes + back.bytes + again->bytes,
                     .limit_ns = fore.limit_ns + back.limit_ns + again->limit_ns,
                     .n = fore.n + back.n + again->n};
        double  together = all.ns + update_ns;
        as_cell cells[] = {{.text = r->name},
                           {.metric = time_of(&fore, "sum of its steps")},
                           {.metric = time_of(&back, "sum of its steps")},
                           {.metric = time_of(again, "sum of its steps")},
                           {.metric = update},
                           {.metric = rate_of(together, 1, "ns", "sum over the passes")},
                           {.metric = rate_of(together, whole_ns(w), "ratio", "time of the layer / time of all steps")},
                           {.metric = as_metric_counted((uint64_t)all.flops, "flop", "operator definition")},
                           {.metric = as_metric_counted((uint64_t)all.bytes, "byte", "operator definition")},
                           {.metric = rate_of(all.limit_ns, all.ns, "ratio", "time at the limits / time, without the update")},
                           {.metric = rate_of(all.flops * 1e9, all.ns, "flop/s", "work / time, without the update")}};
        as_facts_row(f, t, cells);
    }
}

static void memory_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    static const char *const columns[] = {"kind|what it is for", "bytes|bytes", "unshared|unshared", NULL};
    size_t                   n = strlen(AS_METRIC_TRAIN_MEMORY);
    as_table                *out = NULL;
    for (size_t i = 0; i + 1 < t->n_metrics; i++) {
        const as_trace_metric *m = &t->metrics[i], *apart = &t->metrics[i + 1];
        if (strncmp(m->name, AS_METRIC_TRAIN_MEMORY, n) || strchr(m->name + n, '/') ||
            strncmp(apart->name, m->name, strlen(m->name)))
            continue;
        if (!out)
            out = as_facts_table(f, g, "memory", "Memory of a training step", columns);
        as_cell cells[] = {{.text = m->name + n},
                           {.metric = as_metric_counted((uint64_t)m->value, "byte", "plan")},
                           {.metric = as_metric_counted((uint64_t)apart->value, "byte", "plan, if no memory were shared")}};
        as_facts_row(f, out, cells);
    }
}

static void run(assay_facts *f, const assay_trace *t)
{
    table w = {.t = t};
    if (!trains(t))
        return;
    as_fact_group      *g = as_facts_group(f, "training", "Training step");
    const assay_metric *median = as_facts_metric(f, "latency.median");
    w.rows = AS_TAKE(&f->arena, row, t->n_steps + t->n_metrics + 1);
    w.row_of_step = AS_TAKE(&f->arena, int, t->n_steps + 1);
    if (!w.rows || !w.row_of_step) {
        f->status = as_fail(f->env, ASSAY_NO_MEMORY, "analysis: not enough memory for %zu steps of a training step", t->n_steps);
        return;
    }
    rows_begin(&w);
    steps_add(f, &w);
    elements_add(&w);
    if (median && as_metric_has(median) && t->batch && median->value > 0)
        as_facts_add(f, g, "training.samples_per_s", "samples per second",
                     as_metric_derived((double)t->batch * 1e9 / median->value, (double)t->batch * 1e9 / median->hi,
                                       (double)t->batch * 1e9 / median->lo, median->n, "item/s",
                                       "batch size / median time of a step"));
    passes_add(f, g, &w);
    layers_add(f, g, &w);
    memory_add(f, g, t);
}

const as_analysis as_an_training = {.name = "training", .order = 68, .run = run};
