/* br_profile.c - the first screen of a profile: how fast, how near to the limit, how much memory, which layers, what to try. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

enum { MAX_LAYERS = 6 };

static bool fits(const assay_facts *f) { return as_facts_group_find(f, "latency") && as_facts_group_find(f, "verdict"); }

static const assay_metric *metric_of(const assay_facts *f, const char *key)
{
    const assay_metric *m = as_facts_metric(f, key);
    return m && as_metric_has(m) ? m : NULL;
}

/* --- The numbers -------------------------------------------------------------------------------------------- */

/* A small chart for the number that was added last: one series and at most one mark. */
static void picture_add(as_brief *b, const char *kind, const char *title, const char *unit, as_chart_series one,
                        const as_mark *mark)
{
    as_chart        *c = AS_TAKE(&b->arena, as_chart, 1);
    as_chart_series *s = AS_TAKE(&b->arena, as_chart_series, 1);
    as_mark         *m = AS_TAKE(&b->arena, as_mark, 1);
    b->failed |= !c || !s || !m;
    if (!c || !s || !m || !b->n_numbers)
        return;
    *s = one;
    *m = mark ? *mark : (as_mark){0};
    *c = (as_chart){
        .kind = kind, .title = title, .y = {{.unit = unit}}, .series = s, .n_series = 1, .marks = m, .n_marks = mark != NULL};
    b->numbers[b->n_numbers - 1].chart = c;
}

/* Parts of a whole with their names. */
static void parts_add(as_brief *b, const char *title, const char *unit, const double *values, const char *const *names, size_t n,
                      const as_mark *whole)
{
    double      *y = AS_TAKE(&b->arena, double, n);
    const char **words = AS_TAKE(&b->arena, const char *, n);
    b->failed |= !y || !words;
    for (size_t i = 0; y && words && i < n; i++)
        y[i] = values[i], words[i] = names[i];
    if (y && words)
        picture_add(b, "parts", title, unit, (as_chart_series){.n = n, .y = y, .names = words}, whole);
}

static void latency_add(as_brief *b, const assay_facts *f)
{
    const assay_metric *median = as_facts_metric(f, "latency.median"), *p95 = metric_of(f, "latency.p95"),
                       *rate = metric_of(f, "latency.throughput");
    const char *aside = as_brief_interval(b, median);
    if (p95)
        aside = as_brief_say(b, "%s%sp95 %s", aside, *aside ? "   " : "", as_brief_value(b, p95));
    if (rate) {
        char        buf[64];
        const char *shown = as_show(buf, sizeof buf, rate->value, "1");
        aside = as_brief_say(b, "%s%s%s items/s", aside, *aside ? "   " : "", shown);
    }
    as_brief_number_add(b, "Latency", median, NULL, aside);
    const as_series *samples = as_facts_series_find(f, "latency", "samples");
    if (samples && median)
        picture_add(b, "shape", "Distribution of the samples", samples->y_unit, as_pick_series(samples),
                    &(as_mark){.label = "median", .on = AS_MARK_Y, .role = AS_CHART_NOTE, .at = median->value});
}

static void compute_add(as_brief *b, const assay_facts *f)
{
    const assay_metric *rate = metric_of(f, "cost.flop_rate"), *of_limit = metric_of(f, "roofline.of_roof"),
                       *bytes = metric_of(f, "cost.byte_rate");
    if (!rate && !of_limit)
        return;
    const assay_metric *first = rate && rate->value > 0 ? rate : bytes;
    const char *aside = of_limit ? as_brief_say(b, "%s of what this device can do", as_brief_percent(b, of_limit->value)) : "";
    if (!first)
        return;
    as_brief_number_add(b, "Compute", first, NULL, aside);
    if (of_limit)
        parts_add(b, "Share of the limit", "ratio", &of_limit->value, (const char *const[]){"used"}, 1,
                  &(as_mark){.label = "limit", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = 1});
}

/* Bytes of weights that kernels packed. */
static double packed_bytes(const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "memory", "buffers");
    double          sum = 0;
    for (int i = 0; t && i < t->n_rows; i++)
        if (!strcmp(as_words_at(t, i, "role"), "packed") && as_value_at(t, i, "bytes") > 0)
            sum += as_value_at(t, i, "bytes");
    return sum;
}

/* The peak of a run does not include the model's own weights, which kernels read in place or have packed; together they are the
 * memory held. */
static void memory_add(as_brief *b, const assay_facts *f)
{
    const assay_metric *held = metric_of(f, "memory.held"), *peak = metric_of(f, "memory.peak_planned"),
                       *params = metric_of(f, "memory.params");
    double packed = packed_bytes(f);
    if (!held || !peak || !params || packed > peak->value) { /* an older run JSON has only the peak */
        if (peak)
            as_brief_number_add(b, "Memory", peak, NULL, "");
        return;
    }
    double working = peak->value - packed;
    as_brief_number_add(b, "Memory", held, NULL, as_brief_memory(b, params->value, packed, working));
    if (packed > 0)
        parts_add(b, "Memory by its use", "byte", (const double[]){params->value, packed, working},
                  (const char *const[]){"weights", "packed", "working"}, 3, NULL);
    else
        parts_add(b, "Memory by its use", "byte", (const double[]){params->value, working},
                  (const char *const[]){"weights", "working"}, 2, NULL);
}

/* --- Layers ------------------------------------------------------------------------------------------------- */

typedef struct layer {
    const char *name;
    double      ns, share, of_limit;
} layer;

static int slowest_first(const void *a, const void *b)
{
    const layer *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : strcmp(x->name, y->name);
}

/* The share of its limit of the layer of that name and time; the two tables list the same steps in the same order, but may have gaps. */
static double of_limit(const as_table *limits, const char *name, int row)
{
    if (limits && row < limits->n_rows && !strcmp(as_words_at(limits, row, "name"), name))
        return as_value_at(limits, row, "of_roof");
    for (int i = 0; limits && i < limits->n_rows; i++)
        if (!strcmp(as_words_at(limits, i, "name"), name))
            return as_value_at(limits, i, "of_roof");
    return (double)NAN;
}

static int layers_read(as_brief *b, const assay_facts *f, layer **out)
{
    const as_table *steps = as_facts_table_find(f, "layers", "steps"), *limits = as_facts_table_find(f, "roofline", "steps");
    int             n = 0;
    bool            folds = b->by_module && steps && as_modules_known(steps);
    if (folds)
        steps = as_fold_modules(&b->arena, steps, b->module_depth), limits = NULL; /* steps have a limit, modules do not */
    b->failed |= folds && !steps;
    layer *all = steps ? AS_TAKE(&b->arena, layer, steps->n_rows + 1) : NULL;
    b->failed |= steps && !all;
    for (int i = 0; all && i < steps->n_rows; i++) {
        layer l = {
            .name = as_words_at(steps, i, "name"), .ns = as_value_at(steps, i, "time"), .share = as_value_at(steps, i, "share")};
        l.of_limit = of_limit(limits, l.name, i);
        if (l.ns >= 0)
            all[n++] = l;
    }
    if (n)
        qsort(all, (size_t)n, sizeof *all, slowest_first);
    *out = all;
    return n;
}

static void layer_row(as_brief *b, as_brief_table *t, const layer *l, double longest)
{
    char          buf[64];
    as_brief_row *row = as_brief_row_add(b, t, l->name);
    row->cells[1] = as_brief_say(b, "%s", as_show(buf, sizeof buf, l->ns, "ns"));
    row->cells[2] = as_brief_percent(b, l->share);
    row->cells[3] = isfinite(l->of_limit) ? as_brief_percent(b, l->of_limit) : "-";
    row->bar = longest > 0 ? l->ns / longest : 0;
    row->used = l->of_limit;
}

static void layers_add(as_brief *b, const assay_facts *f)
{
    static const char *const columns[] = {"Where the time goes", "time", "share", "of limit", NULL};
    layer                   *all;
    int                      n = layers_read(b, f, &all), shown = n > MAX_LAYERS + 1 ? MAX_LAYERS : n;
    layer                    rest = {.name = as_brief_say(b, "%d others", n - shown), .of_limit = NAN};
    if (!n)
        return;
    as_brief_table *t = as_brief_table_add(b, columns);
    t->bars = true;
    for (int i = 0; i < shown; i++)
        layer_row(b, t, &all[i], all[0].ns);
    for (int i = shown; i < n; i++) {
        rest.ns += all[i].ns;
        rest.share += isfinite(all[i].share) ? all[i].share : 0;
    }
    if (shown < n) {
        layer_row(b, t, &rest, all[0].ns);
        t->rows[t->n_rows - 1].bar = NAN; /* the bar of many layers together would dwarf the slowest layer */
        t->rows[t->n_rows - 1].cells[3] = "";
        t->rows[t->n_rows - 1].role = AS_CHART_MUTED;
    }
}

/* The share of the run in reference code; how many steps are, where nobody knows their times. */
static void reference_add(as_brief *b, const assay_facts *f)
{
    const as_table *steps = as_facts_table_find(f, "layers", "steps");
    double          share = 0;
    int             n = 0;
    bool            timed = false;
    for (int i = 0; steps && i < steps->n_rows; i++) {
        double part = as_value_at(steps, i, "share");
        bool   slow = !strcmp(as_words_at(steps, i, "kernel"), "any_reference");
        n += slow;
        timed |= part > 0;
        share += slow && part > 0 ? part : 0;
    }
    if (n && !timed)
        as_brief_text_add(b, as_brief_say(b, "%d of %d steps %s in assay's reference code, not in a fast kernel.", n, steps->n_rows,
                                          n == 1 ? "is" : "are"));
    if (share >= .01)
        as_brief_text_add(
            b, as_brief_say(b, "%s of the run is in assay's reference code, not in a fast kernel.", as_brief_percent(b, share)));
}

/* --- What to try, and trust ------------------------------------------------------------------------------------ */

static void tries_add(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "tries", "tries");
    for (int i = 0; t && i < t->n_rows; i++) {
        double      change = as_value_at(t, i, "change");
        const char *per = as_words_at(t, i, "per");
        as_brief_try_add(
            b, (as_brief_try){.what = as_words_at(t, i, "what"),
                              .why = as_words_at(t, i, "why"),
                              .effect = as_brief_say(b, "%+.0f %%%s", 100 * change, strcmp(per, "item") ? "" : " per item"),
                              .command = as_words_at(t, i, "command")});
    }
}

static void checks_add(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "verdict", "checks");
    for (int i = 0; t && i < t->n_rows; i++)
        as_brief_check_add(b, as_level_of(as_words_at(t, i, "level")), as_words_at(t, i, "words"));
    as_brief_trust_make(b);
}

static void summary_make(as_brief *b, const assay_facts *f)
{
    layer              *all;
    int                 n = layers_read(b, f, &all);
    const assay_metric *median = metric_of(f, "latency.median");
    if (!median)
        return;
    b->summary = as_brief_say(b, "One run takes %s.", as_brief_value(b, median));
    if (n > 0 && all[0].share > 0)
        b->summary = as_brief_say(b, "%s %s takes %s of it%s%s%s.", b->summary, all[0].name, as_brief_percent(b, all[0].share),
                                  isfinite(all[0].of_limit) ? " and runs at " : "",
                                  isfinite(all[0].of_limit) ? as_brief_percent(b, all[0].of_limit) : "",
                                  isfinite(all[0].of_limit) ? " of its limit" : "");
}

/* --- A training step --------------------------------------------------------------------------------------------- */

static const char *time_cell(as_brief *b, const as_table *t, int row, const char *column)
{
    char   buf[64];
    double ns = as_value_at(t, row, column);
    return isfinite(ns) && ns >= 0 ? as_brief_say(b, "%s", as_show(buf, sizeof buf, ns, "ns")) : "-";
}

static double sum_of(const as_table *t, const int *rows, int n, const char *column)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += as_value_at(t, rows[i], column) > 0 ? as_value_at(t, rows[i], column) : 0;
    return sum;
}

/* Rows of the table, slowest first. */
static int *slowest(as_brief *b, const as_table *t)
{
    int *rows = AS_TAKE(&b->arena, int, t->n_rows + 1);
    b->failed |= !rows;
    for (int i = 0; rows && i < t->n_rows; i++) {
        int    at = i;
        double ns = as_value_at(t, i, "time");
        for (; at > 0 && ns > as_value_at(t, rows[at - 1], "time"); at--)
            rows[at] = rows[at - 1];
        rows[at] = i;
    }
    return rows;
}

static void passes_add(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "training", "passes");
    const char     *text = "";
    for (int i = 0; t && i < t->n_rows; i++)
        if (as_value_at(t, i, "share") >= .01)
            text = as_brief_say(b, "%s%s%s %s", text, *text ? " · " : "", as_words_at(t, i, "pass"),
                                as_brief_percent(b, as_value_at(t, i, "share")));
    const assay_metric *rate = metric_of(f, "training.samples_per_s");
    if (rate) {
        char buf[64];
        as_brief_number_add(b, "Training", NULL, as_brief_say(b, "%s samples/s", as_show(buf, sizeof buf, rate->value, "1")), text);
    }
}

static bool training_add(as_brief *b, const assay_facts *f)
{
    static const char *const columns[] = {"Layer", "forward", "backward", "again", "update", "share", "of limit", NULL};
    static const char *const plain[] = {"Layer", "forward", "backward", "update", "share", "of limit", NULL};
    const as_table          *t = as_facts_table_find(f, "training", "layers");
    int                     *rows = t && t->n_rows ? slowest(b, t) : NULL;
    if (!rows || !(as_value_at(t, rows[0], "time") > 0))
        return false;
    bool again = false;
    int  shown = t->n_rows > MAX_LAYERS + 1 ? MAX_LAYERS : t->n_rows;
    for (int i = 0; i < t->n_rows; i++)
        again |= as_value_at(t, i, "recompute") > 0;
    as_brief_table *out = as_brief_table_add(b, again ? columns : plain);
    out->bars = true;
    for (int i = 0; i < shown; i++) {
        int           r = rows[i], c = 1;
        as_brief_row *row = as_brief_row_add(b, out, as_words_at(t, r, "name"));
        row->cells[c++] = time_cell(b, t, r, "forward");
        row->cells[c++] = time_cell(b, t, r, "backward");
        if (again)
            row->cells[c++] = time_cell(b, t, r, "recompute");
        row->cells[c++] = time_cell(b, t, r, "update");
        row->cells[c++] = as_value_at(t, r, "share") >= 0 ? as_brief_percent(b, as_value_at(t, r, "share")) : "-";
        row->cells[c++] = as_value_at(t, r, "of_limit") >= 0 ? as_brief_percent(b, as_value_at(t, r, "of_limit")) : "-";
        double longest = as_value_at(t, rows[0], "time");
        row->bar = longest > 0 ? as_value_at(t, r, "time") / longest : 0;
    }
    if (shown < t->n_rows) {
        as_brief_row *row = as_brief_row_add(b, out, as_brief_say(b, "%d others", t->n_rows - shown));
        int           c = 1, n = t->n_rows - shown;
        char          buf[64];
        for (int k = 0; k < 4; k++) {
            static const char *const keys[] = {"forward", "backward", "recompute", "update"};
            if (k == 2 && !again)
                continue;
            row->cells[c++] = as_brief_say(b, "%s", as_show(buf, sizeof buf, sum_of(t, rows + shown, n, keys[k]), "ns"));
        }
        row->cells[c++] = as_brief_percent(b, sum_of(t, rows + shown, n, "share"));
        row->cells[c] = "";
        row->bar = NAN;
        row->role = AS_CHART_MUTED;
    }
    return true;
}

/* The memory of a training step by what it is for. */
static bool training_memory_add(as_brief *b, const assay_facts *f)
{
    enum { MAX_KINDS = 16 };
    const as_table *t = as_facts_table_find(f, "training", "memory");
    double          values[MAX_KINDS], total = 0;
    const char     *names[MAX_KINDS], *text = "";
    char            buf[64];
    size_t          n = 0;
    for (int i = 0; t && i < t->n_rows && n < MAX_KINDS; i++) {
        double bytes = as_value_at(t, i, "bytes");
        if (!(bytes > 0))
            continue;
        values[n] = bytes, names[n++] = as_words_at(t, i, "kind");
        total += bytes;
        if (bytes >= .02 * total)
            text = as_brief_say(b, "%s%s%s %s", text, *text ? ", " : "", as_words_at(t, i, "kind"),
                                as_show(buf, sizeof buf, bytes, "byte"));
    }
    if (!n)
        return false;
    as_brief_number_add(b, "Memory", NULL, as_brief_say(b, "%s", as_show(buf, sizeof buf, total, "byte")), text);
    parts_add(b, "Memory by its use", "byte", values, names, n, NULL);
    return true;
}

static void make(as_brief *b, const assay_facts *f)
{
    const char *name = as_facts_note_find(f, AS_NOTE_NAME), *settings = as_facts_note_find(f, AS_NOTE_SETTINGS);
    b->title = name && *name ? name : b->title;
    b->settings = settings ? settings : "";
    if (as_facts_table_find(f, "training", "passes"))
        b->title = as_brief_say(b, "%s, training step", b->title);
    summary_make(b, f);
    latency_add(b, f);
    passes_add(b, f);
    compute_add(b, f);
    if (!training_memory_add(b, f))
        memory_add(b, f);
    if (b->by_module || !training_add(b, f))
        layers_add(b, f);
    reference_add(b, f);
    tries_add(b, f);
    checks_add(b, f);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--html FILE", "page");
    as_brief_hint_add(b, "--perfetto FILE", "trace");
    as_brief_hint_add(b, "--json FILE", "every number");
}

const as_brief_kind as_br_profile = {.name = "profile", .order = 50, .fits = fits, .make = make};
