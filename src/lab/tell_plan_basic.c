/* tell_plan_basic.c - a plan on one screen: memory, work, the largest steps with their kernels, and the steps without a fast
 * kernel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tell.h"

enum { MAX_STEPS = 8, MAX_OPS = 3 };

/* --- Numbers ----------------------------------------------------------------------------------------------- */

static const char *amount(as_brief *b, double value, const char *unit)
{
    char buf[64];
    return as_brief_say(b, "%s", as_show(buf, sizeof buf, value, unit));
}

static double moved(const as_step *step) { return (double)step->cost.bytes_read + (double)step->cost.bytes_written; }

static void memory_add(as_brief *b, const assay_plan *plan)
{
    double peak = (double)assay_plan_peak_bytes(plan), packed = (double)plan->packed_bytes, weights = (double)plan->param_bytes;
    packed = packed <= peak ? packed : 0;
    as_brief_number_add(b, "Memory", NULL, amount(b, weights + peak, "byte"), as_brief_memory(b, weights, packed, peak - packed));
}

static void steps_count(as_brief *b, const assay_plan *plan)
{
    int n = plan->n_steps - plan->n_prologue, n_nodes = plan->model->n_nodes;
    as_brief_number_add(b, "Steps", NULL, as_brief_say(b, "%d", n),
                        as_brief_say(b, "per run, of %d %s; %d for set-up, once per load", n_nodes,
                                     n_nodes == 1 ? "layer" : "layers", plan->n_prologue));
}

/* --- Steps ------------------------------------------------------------------------------------------------- */

typedef struct tally {
    double flops, bytes;
    double slow_flops, slow_bytes; /* the part of these in reference code */
    int    n, n_slow;
    bool   by_bytes; /* no step has flops, so bytes are used */
} tally;

static bool is_slow(const as_step *step) { return step->choice.name && !strcmp(step->choice.name, "any_reference"); }

static tally tally_of(const assay_plan *plan)
{
    tally all = {.n = plan->n_steps - plan->n_prologue};
    for (int s = plan->n_prologue; s < plan->n_steps; s++) {
        const as_step *step = &plan->steps[s];
        all.flops += (double)step->cost.flops;
        all.bytes += moved(step);
        if (is_slow(step)) {
            all.slow_flops += (double)step->cost.flops;
            all.slow_bytes += moved(step);
            all.n_slow++;
        }
    }
    all.by_bytes = !(all.flops > 0);
    return all;
}

static double work_of(const as_step *step, const tally *all) { return all->by_bytes ? moved(step) : (double)step->cost.flops; }

typedef struct ranked {
    const as_step *step;
    double         work, bytes;
    int            at;
} ranked;

static int largest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->work != y->work)
        return x->work > y->work ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : x->at - y->at;
}

static void step_row(as_brief *b, as_brief_table *t, const ranked *r, const tally *all)
{
    double        total = all->by_bytes ? all->bytes : all->flops;
    as_brief_row *row = as_brief_row_add(b, t, r->step->name);
    row->cells[1] = all->by_bytes ? "-" : amount(b, (double)r->step->cost.flops, "flop");
    row->cells[2] = amount(b, r->bytes, "byte");
    row->cells[3] = total > 0 ? as_brief_percent(b, r->work / total) : "-";
    row->cells[4] = is_slow(r->step) ? "reference code" : r->step->choice.name ? r->step->choice.name : "-";
    row->role = is_slow(r->step) ? AS_CHART_WARN : AS_CHART_MAIN;
}

static void others_row(as_brief *b, as_brief_table *t, const ranked *rest, int n, const tally *all)
{
    double        work = 0, bytes = 0, total = all->by_bytes ? all->bytes : all->flops;
    as_brief_row *row = as_brief_row_add(b, t, as_brief_say(b, "%d others", n));
    for (int i = 0; i < n; i++)
        work += rest[i].work, bytes += rest[i].bytes;
    row->cells[1] = all->by_bytes ? "-" : amount(b, work, "flop");
    row->cells[2] = amount(b, bytes, "byte");
    row->cells[3] = total > 0 ? as_brief_percent(b, work / total) : "-";
    row->role = AS_CHART_MUTED;
}

static void steps_add(as_brief *b, const assay_plan *plan, const tally *all)
{
    static const char *const columns[] = {"Largest steps", "work", "moves", "share", "kernel", NULL};
    int                      shown = all->n > MAX_STEPS + 1 ? MAX_STEPS : all->n;
    ranked                  *steps = AS_TAKE(&b->arena, ranked, all->n + 1);
    as_brief_table          *t = all->n && steps ? as_brief_table_add(b, columns) : NULL;
    b->failed |= !steps;
    if (!t)
        return;
    for (int i = 0; i < all->n; i++) {
        const as_step *step = &plan->steps[plan->n_prologue + i];
        steps[i] = (ranked){.step = step, .work = work_of(step, all), .bytes = moved(step), .at = i};
    }
    qsort(steps, (size_t)all->n, sizeof *steps, largest_first);
    t->left[4] = true;
    for (int i = 0; i < shown; i++)
        step_row(b, t, &steps[i], all);
    if (shown < all->n)
        others_row(b, t, steps + shown, all->n - shown, all);
}

/* --- Remarks ------------------------------------------------------------------------------------------------- */

/* The operators of the steps in reference code, each once: "TopK, Gather". */
static const char *slow_ops(as_brief *b, const assay_plan *plan)
{
    const char *ops[MAX_OPS], *text = "";
    int         n = 0;
    bool        more = false;
    for (int s = plan->n_prologue; s < plan->n_steps; s++) {
        const char *op = as_step_op(plan, &plan->steps[s]);
        bool        told = !is_slow(&plan->steps[s]);
        for (int i = 0; i < n; i++)
            told |= !strcmp(ops[i], op);
        more |= !told && n == MAX_OPS;
        if (!told && n < MAX_OPS)
            ops[n++] = op;
    }
    for (int i = 0; i < n; i++)
        text = as_brief_say(b, "%s%s%s", text, i ? ", " : "", ops[i]);
    return more ? as_brief_say(b, "%s and others", text) : text;
}

static void reference_add(as_brief *b, const assay_plan *plan, const tally *all)
{
    double share = all->by_bytes ? all->slow_bytes / all->bytes : all->slow_flops / all->flops;
    if (!all->n_slow)
        return;
    if (share >= .01)
        as_brief_text_add(b, as_brief_say(b, "%s of the work is in assay's reference code, not in a fast kernel: %s.",
                                          as_brief_percent(b, share), slow_ops(b, plan)));
    else
        as_brief_text_add(b, as_brief_say(b, "%d of %d steps run assay's reference code, not a fast kernel: %s.", all->n_slow,
                                          all->n, slow_ops(b, plan)));
}

/* What the passes changed, in a few words each; a pass that is not listed here is shown by its name. */
static void passes_add(as_brief *b, const assay_plan *plan)
{
    static const char *const words[][2] = {
        {"fold", "computed in advance"},  {"norm", "merged into weights"}, {"fuse", "fused"},    {"chain", "chained"},
        {"storage", "stored in 16 bits"}, {"layout", "laid out as NHWC"},  {"dead", "left out"}, {"alias", "sharing memory"},
        {"in place", "computed in place"}};
    const char *text = "";
    for (int i = 0; i < plan->n_passes; i++) {
        const as_pass_note *p = &plan->passes[i];
        const char         *what = p->pass;
        for (size_t k = 0; k < AS_COUNT(words); k++)
            what = strcmp(p->pass, words[k][0]) ? what : words[k][1];
        if (p->n_changed)
            text = as_brief_say(b, "%s%s%d %s", text, *text ? ", " : "", p->n_changed, what);
    }
    if (*text)
        as_brief_text_add(b, as_brief_say(b, "Compiling changed: %s.", text));
    else
        as_brief_text_add(b, plan->compiled ? "Compiling changed nothing." : "Not compiled: --compile off runs op by op.");
}

/* A device that did not take all steps. */
static void devices_add(as_brief *b, const assay_plan *plan)
{
    for (int d = 0; d < plan->n_devices; d++) {
        const as_plan_share *share = &plan->shares[d];
        if (plan->n_devices > 1 && share->n_refused)
            as_brief_text_add(b, as_brief_say(b, "%s takes %d of %d layers; it refuses %s: %s.", plan->devices[d]->name,
                                              share->n_nodes, share->n_nodes + share->n_refused, share->first_refused, share->why));
    }
}

const char *as_plan_say(const assay_plan *plan, as_brief *b)
{
    const char *dims = "";
    for (int i = 0; i < plan->n_dims; i++)
        dims = as_brief_say(b, "%s%s %lld · ", dims, plan->dims[i].symbol, (long long)plan->dims[i].size);
    return as_brief_say(b, "%s%s: %s", dims, as_plan_wanted(plan)->name, as_plan_wanted(plan)->text);
}

void as_plan_brief(const assay_plan *plan, as_brief *b)
{
    tally all = tally_of(plan);
    *b = (as_brief){.title = plan->model->name, .settings = "", .level = AS_LEVEL_NOTE};
    b->settings = as_plan_say(plan, b);
    memory_add(b, plan);
    as_brief_number_add(b, "Work", NULL, amount(b, all.flops, "flop"),
                        as_brief_say(b, "per run; %s are read and written", amount(b, all.bytes, "byte")));
    steps_count(b, plan);
    steps_add(b, plan, &all);
    reference_add(b, plan, &all);
    devices_add(b, plan);
    passes_add(b, plan);
    as_brief_hint_add(b, "--report detailed", "every step and buffer");
    as_brief_hint_add(b, as_brief_say(b, "assay profile %s", plan->model->source), "measure it");
}
