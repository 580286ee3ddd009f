/* layer_facts.c - the layers of candidates from what was recorded, and tables "diff" of the group "layers". */
#include <math.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/duel/layer_diff.h"
#include "analysis/trace/evidence.h"
#include "base/text.h"

/* --- A side from a trial ------------------------------------------------------------------------------------- */

/* The trace with the spans of one candidate only: a run belongs to the candidate of its steps. */
static assay_trace arm_view(assay_facts *f, const assay_trace *t, int arm)
{
    assay_trace view = *t;
    uint32_t    n_runs = 0;
    for (size_t i = 0; i < t->n_spans; i++)
        n_runs = t->spans[i].run >= n_runs ? t->spans[i].run + 1 : n_runs;
    bool *own = n_runs <= t->n_detailed + t->n_spans ? AS_TAKE(&f->arena, bool, n_runs) : NULL;
    view.spans = AS_TAKE(&f->arena, as_span, t->n_spans);
    view.n_spans = 0;
    if (!own || !view.spans)
        return view;
    for (size_t i = 0; i < t->n_spans; i++)
        if (t->spans[i].step >= 0 && t->steps[t->spans[i].step].arm == arm)
            own[t->spans[i].run] = true;
    for (size_t i = 0; i < t->n_spans; i++)
        if (own[t->spans[i].run])
            view.spans[view.n_spans++] = t->spans[i];
    return view;
}

static const double *scaled(assay_facts *f, const double *x, size_t n, double items)
{
    double *y = AS_TAKE(&f->arena, double, n);
    for (size_t i = 0; y && i < n; i++)
        y[i] = x[i] / items;
    return y;
}

/* The wall times of the runs in the means, in the same order as the steps' times. */
static const double *walls_of(assay_facts *f, const as_kept *k, double items)
{
    double *walls = AS_TAKE(&f->arena, double, k->n_clean);
    size_t  n = 0;
    for (size_t i = 0; walls && i < k->n_runs; i++)
        if (k->runs[i].clean)
            walls[n++] = k->runs[i].wall_ns / items;
    return walls;
}

static void layers_read(assay_facts *f, const assay_trace *t, int arm, const as_kept *k, as_layer_side *out)
{
    double n = (double)k->n_clean, items = out->per_items;
    out->layers = AS_TAKE(&f->arena, as_layer_time, t->n_steps);
    for (size_t i = 0; out->layers && i < t->n_steps; i++) {
        const as_trace_step *s = &t->steps[i];
        const as_step_times *times = &k->steps[i];
        if (s->arm != arm || as_step_is_prologue(s) || !times->n_clean)
            continue;
        out->layers[out->n_layers++] =
            (as_layer_time){.name = s->name,
                            .parts = s->parts,
                            .n_parts = s->n_parts,
                            .ns = times->clean_sum_ns / n / items,
                            .each = times->n_clean == k->n_clean ? scaled(f, times->clean_ns, k->n_clean, items) : NULL};
    }
    out->whole_ns = k->clean_wall_ns / n / items;
    out->whole_each = walls_of(f, k, items);
    out->n_runs = k->n_clean;
}

/* --- A training step: by the layer that a step serves ---------------------------------------------------------- */

static bool has_part(const as_trace_step *s, const char *node)
{
    for (int i = 0; i < s->n_parts; i++)
        if (!strcmp(s->parts[i], node))
            return true;
    return !strcmp(s->name, node);
}

static bool computes(const as_trace_step *s, int arm)
{
    return s->arm == arm && s->pass == AS_PASS_FORWARD && strcmp(s->op, "Pack") != 0 && !as_step_is_prologue(s);
}

/* The step of the forward pass that computes a layer; NULL: none does. */
static const as_trace_step *step_of_layer(const assay_trace *t, int arm, const char *layer)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (computes(&t->steps[i], arm) && has_part(&t->steps[i], layer))
            return &t->steps[i];
    return NULL;
}

/* What it computes and the layer that it serves: the steps of a layer in all passes have one of them in common. */
static void training_parts(assay_facts *f, const assay_trace *t, const as_trace_step *s, as_layer_time *l)
{
    const as_trace_step *of = *s->layer ? step_of_layer(t, s->arm, s->layer) : NULL;
    const char         **parts = AS_TAKE(&f->arena, const char *, s->n_parts + 2);
    int                  n = 0;
    for (int i = 0; parts && computes(s, s->arm) && i < s->n_parts; i++)
        parts[n++] = s->parts[i];
    if (parts && computes(s, s->arm) && !s->n_parts)
        parts[n++] = s->name;
    if (parts)
        parts[n++] = *s->layer ? s->layer : as_train_pass_text(s->pass);
    l->name = of ? of->name : *s->layer ? s->layer : as_train_pass_text(s->pass);
    l->parts = parts;
    l->n_parts = n;
}

void as_layer_side_of_training(assay_facts *f, const assay_trace *t, int arm, as_layer_side *out)
{
    int at = 0;
    as_layer_side_of_arm(f, t, arm, false, out);
    out->named = true;
    for (size_t i = 0; i < t->n_steps && at < out->n_layers; i++) {
        const as_trace_step *s = &t->steps[i];
        if (s->arm == arm && s->name == out->layers[at].name && !as_step_is_prologue(s))
            training_parts(f, t, s, &out->layers[at++]);
    }
}

void as_layer_side_of_arm(assay_facts *f, const assay_trace *t, int arm, bool per_item, as_layer_side *out)
{
    *out = (as_layer_side){.name = t->arms[arm].name, .per_items = per_item ? t->arms[arm].items : 1};
    if (!t->n_steps || !t->n_spans) {
        out->why_not = *t->detail_why ? t->detail_why : "no run was recorded layer by layer";
        return;
    }
    assay_trace view = arm_view(f, t, arm);
    as_kept     k = as_kept_read(f, &view);
    if (!k.steps || k.n_clean < AS_CLEAN_ENOUGH) {
        out->why_not =
            as_say(f, "%zu of %zu runs of %s were uninterrupted; %d are needed", k.n_clean, k.n_used, out->name, AS_CLEAN_ENOUGH);
        return;
    }
    layers_read(f, t, arm, &k, out);
    out->source = as_say(f, "spans, mean over the %zu uninterrupted of %zu runs outside the timed blocks", k.n_clean, k.n_used);
}

/* --- A side from the facts of a profile ----------------------------------------------------------------------- */

static const as_cell *cell_of(const as_table *t, int row, const char *key)
{
    int column = as_column_find(t, key);
    return column < 0 ? NULL : &t->cells[(size_t)row * (size_t)t->n_columns + (size_t)column];
}

static double value_of(const as_cell *c) { return c && !c->text && as_metric_has(&c->metric) ? c->metric.value : (double)NAN; }

static const char *text_of(const as_cell *c) { return c && c->text ? c->text : ""; }

/* "conv1 + relu1" as parts; "" or "-": none. */
static void parts_split(assay_facts *f, const char *text, as_layer_time *l)
{
    int n = 1;
    if (!*text || !strcmp(text, "-"))
        return;
    for (const char *at = strstr(text, AS_PARTS_JOINT); at; at = strstr(at + 1, AS_PARTS_JOINT))
        n++;
    const char **parts = AS_TAKE(&f->arena, const char *, n);
    for (int i = 0; parts && i < n; i++) {
        const char *end = strstr(text, AS_PARTS_JOINT);
        parts[i] = as_arena_text_n(&f->arena, text, end ? (size_t)(end - text) : strlen(text));
        if (!parts[i])
            return;
        text = end ? end + strlen(AS_PARTS_JOINT) : text;
    }
    l->parts = parts;
    l->n_parts = parts ? n : 0;
}

void as_layer_side_of_facts(assay_facts *f, const assay_facts *run, const char *name, as_layer_side *out)
{
    const as_table     *t = as_facts_table_find(run, "layers", "graph");
    const assay_metric *whole = as_facts_metric(run, "layers.run_mean"), *n = as_facts_metric(run, "layers.undisturbed_runs");
    *out = (as_layer_side){.name = name, .per_items = 1, .source = "the layers of the profile"};
    out->layers = t ? AS_TAKE(&f->arena, as_layer_time, t->n_rows) : NULL;
    for (int i = 0; out->layers && i < t->n_rows; i++) {
        as_layer_time l = {.name = text_of(cell_of(t, i, "name")), .ns = value_of(cell_of(t, i, "time"))};
        if (!strcmp(text_of(cell_of(t, i, "stage")), "prologue") || !(l.ns >= 0))
            continue;
        parts_split(f, text_of(cell_of(t, i, "parts")), &l);
        out->layers[out->n_layers++] = l;
    }
    if (!t || !out->n_layers || !whole || !as_metric_has(whole))
        out->why_not = as_say(f, "%s has no times by layer", name);
    else
        out->whole_ns = whole->value;
    out->n_runs = n && as_metric_has(n) ? (size_t)n->value : 0;
}

/* --- Facts --------------------------------------------------------------------------------------------------- */

enum { MAX_TABLES = 64, MAX_ROWS = 2000 }; /* of all tables together: the page must still open */

static assay_metric time_metric(const as_layer_side *s, double ns)
{
    return isnan(ns) ? as_metric_unavailable("ns", "this candidate does not have the layer")
                     : as_metric_measured(ns, NAN, NAN, s->n_runs, "ns", s->source);
}

static void row_add(assay_facts *f, as_table *t, const as_layer_side *a, const as_layer_side *b, const as_layer_row *r,
                    double whole, const char *in)
{
    double   difference = (isnan(r->b_ns) ? 0 : r->b_ns) - (isnan(r->a_ns) ? 0 : r->a_ns);
    uint64_t n = a->n_runs < b->n_runs ? a->n_runs : b->n_runs;
    as_facts_row(
        f, t,
        (as_cell[]){{.text = r->name},
                    {.metric = time_metric(a, r->a_ns)},
                    {.metric = time_metric(b, r->b_ns)},
                    {.metric = as_number_derived(difference, r->lo, r->hi, n, "ns", "time of b - time of a, means", "")},
                    {.metric = as_number_derived(whole != 0 ? difference / whole : (double)NAN, NAN, NAN, n, "ratio",
                                                 "difference / difference of the whole runs", "the whole runs take the same time")},
                    {.text = in}});
}

static const char *in_of(const as_layer_row *r)
{
    return r->outside ? "outside" : isnan(r->a_ns) ? "b" : isnan(r->b_ns) ? "a" : "both";
}

/* One sentence that names what explains most of the difference. */
static void finding_add(assay_facts *f, as_fact_group *g, const as_layer_side *a, const as_layer_side *b, const as_layer_diff *d)
{
    const as_layer_row *r = &d->rows[0];
    double whole = d->whole.b_ns - d->whole.a_ns, part = (isnan(r->b_ns) ? 0 : r->b_ns) - (isnan(r->a_ns) ? 0 : r->a_ns);
    if (whole == 0 || r->outside)
        return;
    as_facts_find(f, g, AS_LEVEL_NOTE, "%s against %s: %s makes %.0f %% of the difference (%s of %s per %s).", b->name, a->name,
                  r->name, 100 * part / whole, as_say_number(f, part, "ns"), as_say_number(f, whole, "ns"),
                  b->per_items == 1 && a->per_items == 1 ? "run" : "item");
}

void as_layer_diff_add(assay_facts *f, const char *key, const char *label, const as_layer_side *a, const as_layer_side *b)
{
    as_fact_group *g = as_facts_group(f, "layers", "Layers");
    as_layer_diff  d;
    bool           per_item = a->per_items != 1 || b->per_items != 1;
    if (!g)
        return;
    if (a->why_not || b->why_not) {
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s against %s: no difference by layer: %s.", b->name, a->name,
                      a->why_not ? a->why_not : b->why_not);
        return;
    }
    const char *columns[] = {"name|layer",
                             as_say(f, "a_time|%s%s", a->name, per_item ? ", per item" : ""),
                             as_say(f, "b_time|%s%s", b->name, per_item ? ", per item" : ""),
                             "difference|difference",
                             "share|share of the difference",
                             "in|in",
                             NULL};
    if (!as_layer_diff_make(&f->arena, a, b, &d))
        return;
    as_table *t = as_facts_table(f, g, key, label, columns);
    double    whole = d.whole.b_ns - d.whole.a_ns;
    for (int i = 0; i < d.n_rows; i++)
        row_add(f, t, a, b, &d.rows[i], whole, in_of(&d.rows[i]));
    row_add(f, t, a, b, &d.whole, whole, "whole");
    finding_add(f, g, a, b, &d);
}

void as_layer_diffs_add(assay_facts *f, const as_duel_row *rows, size_t n)
{
    size_t n_rows = 0;
    for (size_t i = 0; i < n && i < MAX_TABLES && n_rows < MAX_ROWS; i++) {
        const assay_trace *t = rows[i].trial;
        as_layer_side      a, b;
        if (!t->n_steps && !*t->detail_why) /* programs have no layers, older files did not record them */
            continue;
        as_layer_side_of_arm(f, t, rows[i].a, rows[i].duel.per_item, &a);
        as_layer_side_of_arm(f, t, rows[i].b, rows[i].duel.per_item, &b);
        n_rows += (size_t)(a.n_layers + b.n_layers);
        as_layer_diff_add(f, i ? as_say(f, "diff%zu", i + 1) : "diff",
                          as_say(f, "%s: %s against %s by layer", t->name, b.name, a.name), &a, &b);
    }
}
