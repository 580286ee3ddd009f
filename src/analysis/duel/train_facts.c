/* train_facts.c - two ways to do the same training step: the time of each layer, and what computing again should cost. */
#include <math.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/duel/layer_diff.h"
#include "analysis/trace/evidence.h"

/* --- What computing again should cost -------------------------------------------------------------------------- */

typedef struct forward {
    const as_trace_step *step;
    double               ns;
    bool                 used;
} forward;

/* The steps of a candidate's forward pass with their times; their sums of time and work, where both are known. */
static int forward_read(assay_facts *f, const assay_trace *t, int arm, const as_layer_side *side, forward **out, double *ns,
                        double *flops)
{
    int n = 0, at = 0;
    *ns = *flops = 0;
    *out = AS_TAKE(&f->arena, forward, side->n_layers + 1);
    for (size_t i = 0; *out && i < t->n_steps && at < side->n_layers; i++) {
        const as_trace_step *s = &t->steps[i];
        if (s->arm != arm || s->name != side->layers[at].name || as_step_is_prologue(s))
            continue;
        double time = side->layers[at++].ns;
        if (s->pass != AS_PASS_FORWARD)
            continue;
        (*out)[n++] = (forward){.step = s, .ns = time};
        *ns += s->flops ? time : 0;
        *flops += (double)s->flops;
    }
    return n;
}

double as_training_again_share(assay_facts *f, const assay_trace *t, int a, int b)
{
    as_layer_side side;
    forward      *all;
    double        ns, flops, sum = 0;
    as_layer_side_of_arm(f, t, a, false, &side);
    if (side.why_not || !(side.whole_ns > 0))
        return (double)NAN;
    int n = forward_read(f, t, a, &side, &all, &ns, &flops);
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *s = &t->steps[i];
        forward             *same = NULL;
        if (s->arm != b || s->pass != AS_PASS_RECOMPUTE)
            continue;
        for (int k = 0; k < n && !same; k++)
            if (!all[k].used && !strcmp(all[k].step->layer, s->layer) && !strcmp(all[k].step->op, s->op))
                same = &all[k];
        if (same)
            same->used = true;
        sum += same ? same->ns : flops > 0 ? ns / flops * (double)s->flops : 0; /* fused in another way: by its work */
    }
    return sum / side.whole_ns;
}

/* --- Layers ------------------------------------------------------------------------------------------------------ */

/* By the interval of the difference, which must lie beyond the margin as a whole. */
static as_verdict verdict_of(const as_layer_row *r, double margin)
{
    double a = isnan(r->a_ns) ? 0 : r->a_ns, edge = margin * a;
    if (!isfinite(r->lo) || !isfinite(r->hi))
        return AS_UNRESOLVED;
    return r->lo > edge ? AS_SLOWER : r->hi < -edge ? AS_FASTER : r->lo >= -edge && r->hi <= edge ? AS_SAME : AS_UNRESOLVED;
}

static bool row_has(const assay_trace *t, int arm, const char *row, const char *layer)
{
    if (!strcmp(row, layer))
        return true;
    for (size_t s = 0; s < t->n_steps; s++)
        if (t->steps[s].arm == arm && t->steps[s].pass == AS_PASS_FORWARD && !strcmp(t->steps[s].name, row))
            for (int p = 0; p < t->steps[s].n_parts; p++)
                if (!strcmp(t->steps[s].parts[p], layer))
                    return true;
    return false;
}

/* Of all results of a row, whose name may be "conv1+relu" where the result is that of relu1; no casts: none. */
static as_layer_saving saving_of(const assay_trace *t, int arm, const char *row, const as_layer_saving *savings, int n)
{
    as_layer_saving sum = {.layer = row};
    for (int i = 0; i < n; i++)
        if (row_has(t, arm, row, savings[i].layer)) {
            sum.bytes += savings[i].bytes;
            sum.n_casts += savings[i].n_casts;
        }
    return sum;
}

static assay_metric time_metric(const as_layer_side *s, double ns)
{
    return isnan(ns) ? as_metric_unavailable("ns", "this candidate does not have the layer")
                     : as_metric_measured(ns, NAN, NAN, s->n_runs, "ns", s->source);
}

static void row_add(assay_facts *f, as_table *to, const as_layer_side *a, const as_layer_side *b, const as_layer_row *r,
                    double margin, as_layer_saving saving)
{
    double   x = isnan(r->a_ns) ? 0 : r->a_ns, y = isnan(r->b_ns) ? 0 : r->b_ns;
    uint64_t n = a->n_runs < b->n_runs ? a->n_runs : b->n_runs;
    as_facts_row(
        f, to,
        (as_cell[]){{.text = r->name},
                    {.metric = time_metric(a, r->a_ns)},
                    {.metric = time_metric(b, r->b_ns)},
                    {.metric = as_number_derived(y - x, r->lo, r->hi, n, "ns", "difference of the means, Welch's interval", "")},
                    {.metric = as_number_derived(x > 0 ? y / x - 1 : (double)NAN, NAN, NAN, n, "ratio",
                                                 "time / time of the first - 1", "the first does not have the layer")},
                    {.text = as_verdict_text(verdict_of(r, margin))},
                    {.metric = saving.n_casts ? as_metric_counted(saving.bytes, "byte", "graph")
                                              : as_metric_unavailable("byte", "nothing of it is stored in 16 bits")},
                    {.metric = saving.n_casts ? as_metric_counted((uint64_t)saving.n_casts, "1", "graph")
                                              : as_metric_unavailable("1", "nothing of it is stored in 16 bits")}});
}

void as_training_layers_add(assay_facts *f, as_fact_group *g, const char *key, const char *label, const assay_trace *t, int a,
                            int b, double margin, const as_layer_saving *savings, int n_savings)
{
    as_layer_side sa, sb;
    as_layer_diff d;
    as_layer_side_of_training(f, t, a, &sa);
    as_layer_side_of_training(f, t, b, &sb);
    if (sa.why_not || sb.why_not) {
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s: no times by layer: %s.", t->arms[b].name, sa.why_not ? sa.why_not : sb.why_not);
        return;
    }
    if (!as_layer_diff_make(&f->arena, &sa, &sb, &d))
        return;
    const char *columns[] = {"name|layer",
                             as_arena_printf(&f->arena, "a_time|%s", sa.name),
                             as_arena_printf(&f->arena, "b_time|%s", sb.name),
                             "difference|difference",
                             "change|change",
                             "verdict|it is",
                             "less|bytes less",
                             "casts|casts",
                             NULL};
    as_table   *to = columns[1] && columns[2] ? as_facts_table(f, g, key, label, columns) : NULL;
    for (int i = 0; to && i < d.n_rows; i++)
        row_add(f, to, &sa, &sb, &d.rows[i], margin, saving_of(t, b, d.rows[i].name, savings, n_savings));
    if (to)
        row_add(f, to, &sa, &sb, &d.whole, margin, (as_layer_saving){.layer = ""});
}
