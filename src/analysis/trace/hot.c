/* hot.c - what each function, span or layer is limited by, from what was measured. */
#include "analysis/trace/hot.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_LIMIT 0.40 /* of its limit: above, the limit explains most of what can be explained */
#define SMALL_PART 0.20 /* of a step's time */
#define MANY_WAIT  0.30 /* of the threads' time at barriers */
#define MOST       0.50

const char *as_hot_text(as_hot_kind kind)
{
    static const char *const texts[] = {
        "unknown", "compute", "memory", "io", "synchronisation", "dispatch", "algorithmic inefficiency", "sleep", "neighbours"};
    return (unsigned)kind < AS_N_HOT_KINDS ? texts[kind] : "unknown";
}

static const char *bytes_say(assay_facts *f, double bytes) { return as_say_number(f, bytes, "byte"); }

static const char *percent(assay_facts *f, double share)
{
    return as_say(f, share >= .1 || share <= 0 ? "%.0f %%" : "%.2g %%", 100 * share);
}

/* --- Threads that wait for one another ------------------------------------------------------------------------------ */

typedef struct part_sums {
    double step_ns, part_ns, most_ns;
    size_t n_parts, n_steps;
} part_sums;

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Of each step, over the uninterrupted runs; NULL: no memory. */
static part_sums *parts_read(assay_facts *f, const assay_trace *t)
{
    as_kept    k = as_kept_read(f, t);
    uint32_t  *clean = AS_TAKE(&f->arena, uint32_t, k.n_runs);
    part_sums *sums = AS_TAKE(&f->arena, part_sums, t->n_steps);
    size_t     n = 0;
    if (!clean || !sums)
        return NULL;
    for (size_t i = 0; i < k.n_runs; i++)
        if (k.runs[i].clean)
            clean[n++] = k.runs[i].run;
    qsort(clean, n, sizeof *clean, by_number);
    for (size_t i = 0; i < t->n_spans; i++) {
        const as_span *s = &t->spans[i];
        bool           is_part = s->kind == AS_SPAN_PART;
        if ((!is_part && s->kind != AS_SPAN_STEP) || s->step < 0 || (size_t)s->step >= t->n_steps ||
            s->end_ticks < s->begin_ticks || !bsearch(&s->run, clean, n, sizeof *clean, by_number))
            continue;
        double ns = (double)(s->end_ticks - s->begin_ticks) * t->ns_per_tick;
        if (is_part)
            sums[s->step].part_ns += ns, sums[s->step].n_parts++;
        else
            sums[s->step].step_ns += ns, sums[s->step].n_steps++;
    }
    return sums;
}

/* The share of the threads' time in a step that no part of it explains; NaN: parts were not recorded, or one thread ran it. */
static double wait_of(const part_sums *p)
{
    if (!p || !p->n_steps || p->n_parts < 2 * p->n_steps || !(p->step_ns > 0))
        return NAN;
    double threads = (double)p->n_parts / (double)p->n_steps;
    return fmax(0, 1 - p->part_ns / (p->step_ns * threads));
}

/* --- Layers --------------------------------------------------------------------------------------------------------- */

/* What it costs to get from one step to the next: a device's own launch, or what lies between the steps of a run. */
static double between_of(const assay_facts *f, const assay_trace *t, const char *device)
{
    const as_trace_roof *launch = as_trace_roof_find(t, device, "launch");
    const assay_metric  *gap = as_facts_metric(f, "books.unexplained");
    size_t               n = 0;
    if (launch && launch->value > 0 && !strcmp(launch->unit, "ns"))
        return launch->value;
    for (size_t i = 0; i < t->n_steps; i++)
        n += !as_step_is_prologue(&t->steps[i]);
    return gap && as_metric_has(gap) && n ? fmax(0, gap->value) / (double)n : NAN;
}

/* The time that the step's operations and its bytes would take at their own limits. */
static void terms_of(const as_limits *m, const as_trace_step *s, double *compute_ns, double *bytes_ns)
{
    as_trace_step one = *s;
    one.bytes_read = one.bytes_written = one.issued_bytes = 0;
    as_limit compute = as_limit_of_step(m, &one);
    one = *s;
    one.flops = one.special = one.issued_flops = 0;
    as_limit bytes = as_limit_of_step(m, &one);
    *compute_ns = isnan(compute.ns) ? 0 : compute.ns;
    *bytes_ns = isnan(bytes.ns) ? 0 : bytes.ns;
}

/* The outermost level has no size: what reaches it is in no cache. */
static bool is_outermost(const as_limits *m, const char *level)
{
    return m->n_levels > 1 && !strcmp(m->level[m->n_levels - 1].name, level) && !m->level[m->n_levels - 1].bytes;
}

static void layer_limited(assay_facts *f, const as_limits *m, const as_trace_step *s, as_hot *h, double between_ns)
{
    double compute_ns, bytes_ns, bytes = (double)s->bytes_read + (double)s->bytes_written, waste;
    terms_of(m, s, &compute_ns, &bytes_ns);
    bool   by_memory = h->limit.bound == AS_BOUND_MEMORY;
    double other = (by_memory ? compute_ns : bytes_ns) / h->self_ns;
    waste = s->issued_flops && s->flops ? (double)s->issued_flops / (double)s->flops : 1;
    if (by_memory && (h->of_limit >= NEAR_LIMIT || (is_outermost(m, h->limit.level) && other < SMALL_PART))) {
        h->kind = AS_HOT_MEMORY;
        h->evidence =
            as_say(f, "moves %s, which reach %s, at %s of that limit; its arithmetic at the limit would take %s of its time%s",
                   bytes_say(f, bytes), h->limit.level, percent(f, h->of_limit), percent(f, other),
                   h->of_limit < NEAR_LIMIT ? ": it waits for memory, not for bandwidth" : "");
    } else if (!by_memory && h->of_limit >= NEAR_LIMIT) {
        h->kind = AS_HOT_COMPUTE;
        h->evidence = as_say(f, "%s of the limit %s; its bytes at their limit would take %s of its time", percent(f, h->of_limit),
                             h->limit.name, percent(f, other));
    } else if (between_ns > 0 && h->least_ns < between_ns) {
        h->kind = AS_HOT_DISPATCH;
        h->evidence =
            as_say(f, "its work takes %s at the limit, less than the %s between two steps; it took %s",
                   as_say_number(f, h->least_ns, "ns"), as_say_number(f, between_ns, "ns"), as_say_number(f, h->self_ns, "ns"));
        h->cites = as_say(f, "%s %s", h->cites, "books.unexplained");
    } else {
        h->kind = AS_HOT_INEFFICIENT;
        h->evidence =
            as_say(f, "%s of its limit (%s): neither arithmetic (%s of its time at the limit) nor bytes (%s) explain it%s",
                   percent(f, h->of_limit), h->limit.name, percent(f, compute_ns / h->self_ns), percent(f, bytes_ns / h->self_ns),
                   waste > 1.05 ? as_say(f, "; the kernel issues %.2g times the useful work", waste) : "");
    }
}

/* Rows of the tables of layers and limits by step of the plan; a step whose device has no limits is not in the second. */
typedef struct layer_rows {
    int layers, limits;
} layer_rows;

static void layer_read(assay_facts *f, const assay_trace *t, const as_limits *limits, const part_sums *parts, const layer_rows *row,
                       double whole_ns, as_hot *h)
{
    const as_trace_step *s = &t->steps[h->step];
    double               wait = parts ? wait_of(&parts[h->step]) : (double)NAN, between = between_of(f, t, s->device);
    uint64_t             bytes = s->bytes_read + s->bytes_written;
    h->memory = as_metric_counted(s->working_set_bytes, "byte", "working set, plan");
    h->weight_share = bytes ? fmin(1, (double)s->weight_bytes / (double)bytes) : (double)NAN;
    h->cites = as_say(f, "layers.steps#%d", row->layers);
    h->potential =
        as_metric_unavailable("ratio", limits ? "the step has no work to count" : "no limits were measured for its device");
    if (limits) {
        h->limit = as_limit_of_step(limits, s);
        as_standing standing = as_limit_judge(&h->limit, h->self_ns, NAN, &h->of_limit);
        h->cites = as_say(f, "%s roofline.steps#%d", h->cites, row->limits);
        if (standing == AS_STANDING_DOUBT || standing == AS_STANDING_ABOVE)
            h->potential = as_metric_unavailable("ratio", "the step is above its limit, so the limit or the time is wrong");
        if (!isnan(h->of_limit)) {
            h->least_ns = fmin(h->limit.ns, h->self_ns);
            h->potential = as_metric_derived((h->self_ns - h->least_ns) / whole_ns, NAN, NAN, h->count, "ratio",
                                             "(time - time at the limit) / time of the run");
        }
    }
    if (as_step_is_transfer(s)) {
        h->kind = AS_HOT_IO;
        h->evidence = as_say(f, "moves %s between devices", bytes_say(f, (double)bytes));
    } else if (wait >= MANY_WAIT) {
        h->kind = AS_HOT_SYNC;
        h->evidence = as_say(f, "its threads wait for one another in %s of their time", percent(f, wait));
    } else if (!isnan(h->of_limit)) {
        layer_limited(f, limits, s, h, between);
    } else {
        h->evidence = h->potential.reason;
    }
}

static layer_rows *rows_make(assay_facts *f, const assay_trace *t, int n_threads)
{
    layer_rows *rows = AS_TAKE(&f->arena, layer_rows, t->n_steps);
    int         layers = 0, limits = 0;
    as_limits   m;
    for (size_t i = 0; rows && i < t->n_steps; i++) {
        if (as_step_is_prologue(&t->steps[i]))
            continue;
        rows[i] = (layer_rows){layers++, limits};
        limits += as_limits_read(t, t->steps[i].device, n_threads, &m);
    }
    return rows;
}

static double wait_in_all(const assay_trace *t, const part_sums *parts)
{
    double all = 0, waited = 0;
    for (size_t i = 0; parts && i < t->n_steps; i++) {
        double wait = wait_of(&parts[i]);
        if (!isnan(wait))
            all += parts[i].step_ns, waited += wait * parts[i].step_ns;
    }
    return all > 0 ? waited / all : (double)NAN;
}

static void layers_read(assay_facts *f, const assay_trace *t, as_hots *h)
{
    int         n_threads = t->threads > 0 ? t->threads : 1;
    part_sums  *parts = parts_read(f, t);
    layer_rows *rows = rows_make(f, t, n_threads);
    as_limits   limits;
    if (!parts || !rows)
        return;
    for (size_t i = 0; i < h->n; i++) {
        as_hot *hot = &h->all[i];
        bool    known = as_limits_read(t, t->steps[hot->step].device, n_threads, &limits);
        layer_read(f, t, known ? &limits : NULL, parts, &rows[hot->step], h->whole_ns, hot);
        h->uncertain = h->uncertain || (!isnan(hot->of_limit) && hot->limit.may_be_low);
    }
    h->between_ns = h->n ? between_of(f, t, t->steps[h->all[0].step].device) : (double)NAN;
    h->wait_share = wait_in_all(t, parts);
}

/* --- Spans of the user's own code ----------------------------------------------------------------------------------------- */

/* The words that users give to spans, and what they mean here. */
static as_hot_kind stated_kind(const char *category)
{
    static const struct {
        const char *word;
        as_hot_kind kind;
    } words[] = {{"io", AS_HOT_IO},
                 {"data", AS_HOT_IO},
                 {"load", AS_HOT_IO},
                 {"network", AS_HOT_IO},
                 {"transfer", AS_HOT_IO},
                 {"sync", AS_HOT_SYNC},
                 {"lock", AS_HOT_SYNC},
                 {"wait", AS_HOT_SYNC},
                 {"memory", AS_HOT_MEMORY},
                 {"compute", AS_HOT_COMPUTE},
                 {"sleep", AS_HOT_SLEEP},
                 {"idle", AS_HOT_SLEEP},
                 {"dispatch", AS_HOT_DISPATCH}};
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (!strcmp(words[i].word, category))
            return words[i].kind;
    return AS_HOT_UNKNOWN;
}

static void span_read(assay_facts *f, const assay_trace *t, const as_call_function *fn, const as_limits *limits, double whole_ns,
                      as_hot *h)
{
    bool stated = fn->flops || fn->bytes;
    h->memory = as_metric_unavailable("byte", "a span does not tell what it holds");
    h->potential = as_metric_unavailable("ratio", stated ? "no limits were measured in this session"
                                                         : "the span states no flops and no bytes");
    if (stated && limits) {
        as_trace_step work = {
            .flops = fn->flops, .bytes_read = fn->bytes, .working_set_bytes = fn->bytes / (fn->count ? fn->count : 1)};
        h->limit = as_limit_of_step(limits, &work);
        as_limit_judge(&h->limit, h->self_ns, NAN, &h->of_limit);
    }
    as_hot_kind said = stated_kind(fn->category);
    if (!isnan(h->of_limit)) {
        h->least_ns = fmin(h->limit.ns, h->self_ns);
        h->potential = as_metric_derived((h->self_ns - h->least_ns) / whole_ns, NAN, NAN, h->count, "ratio",
                                         "(self time - time of the stated work at the limit) / whole time");
        h->kind = said == AS_HOT_IO || said == AS_HOT_SYNC || said == AS_HOT_SLEEP ? said
                  : h->of_limit < NEAR_LIMIT                                       ? AS_HOT_INEFFICIENT
                  : h->limit.bound == AS_BOUND_MEMORY                              ? AS_HOT_MEMORY
                                                                                   : AS_HOT_COMPUTE;
        h->evidence = as_say(f, "%.4g flops and %s stated; %s of the limit %s", (double)fn->flops, bytes_say(f, (double)fn->bytes),
                             percent(f, h->of_limit), h->limit.name);
    } else if (said == AS_HOT_IO || said == AS_HOT_SYNC || said == AS_HOT_SLEEP) {
        h->kind = said;
        h->evidence = as_say(f, "the program states the category \"%s\"", fn->category);
    } else {
        h->evidence = as_say(f, "%s%s%s", h->potential.reason, *fn->category ? "; the program states the category " : "",
                             *fn->category ? fn->category : "");
    }
    h->cites = "";
    (void)t;
}

/* --- Functions of a program that was sampled -------------------------------------------------------------------------------- */

/* Where a thread that is off the CPU waits, by the words in the names of the C library's and the kernel's own functions: "__GI___libc_read"
 * has the word "read", "pthread_create" has not. */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = name; (at = strstr(at, word)); at += n)
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isalpha((unsigned char)at[n]))
            return true;
    return false;
}

static as_hot_kind wait_kind(const char *name)
{
    static const struct {
        const char *word;
        as_hot_kind kind;
    } words[] = {{"nanosleep", AS_HOT_SLEEP},
                 {"usleep", AS_HOT_SLEEP},
                 {"sleep", AS_HOT_SLEEP},
                 {"futex", AS_HOT_SYNC},
                 {"mutex", AS_HOT_SYNC},
                 {"cond", AS_HOT_SYNC},
                 {"sem", AS_HOT_SYNC},
                 {"join", AS_HOT_SYNC},
                 {"barrier", AS_HOT_SYNC},
                 {"lll", AS_HOT_SYNC},
                 {"epoll", AS_HOT_IO},
                 {"poll", AS_HOT_IO},
                 {"ppoll", AS_HOT_IO},
                 {"select", AS_HOT_IO},
                 {"pselect", AS_HOT_IO},
                 {"read", AS_HOT_IO},
                 {"readv", AS_HOT_IO},
                 {"pread", AS_HOT_IO},
                 {"write", AS_HOT_IO},
                 {"writev", AS_HOT_IO},
                 {"pwrite", AS_HOT_IO},
                 {"recv", AS_HOT_IO},
                 {"recvfrom", AS_HOT_IO},
                 {"recvmsg", AS_HOT_IO},
                 {"send", AS_HOT_IO},
                 {"sendto", AS_HOT_IO},
                 {"sendmsg", AS_HOT_IO},
                 {"fsync", AS_HOT_IO},
                 {"fdatasync", AS_HOT_IO},
                 {"accept", AS_HOT_IO},
                 {"io", AS_HOT_IO},
                 {"folio", AS_HOT_IO},
                 {"openat", AS_HOT_IO},
                 {"exit_to_user_mode", AS_HOT_NEIGHBOURS},
                 {"preempt_schedule", AS_HOT_NEIGHBOURS},
                 {"irqentry_exit", AS_HOT_NEIGHBOURS}};
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (has_word(name, words[i].word))
            return words[i].kind;
    return AS_HOT_UNKNOWN;
}

static void sampled_read(assay_facts *f, const as_call_function *fn, as_hot *h)
{
    double waits = fn->self ? (double)fn->waiting / (double)fn->self : 0;
    h->memory = as_metric_unavailable("byte", "samples of stacks do not tell memory");
    h->potential = as_metric_unavailable("ratio", "the work of a foreign function is not known, so it has no limit");
    h->kind = waits > MOST ? wait_kind(fn->name) : AS_HOT_UNKNOWN;
    h->cites = "";
    if (waits > MOST)
        h->evidence = as_say(f,
                             h->kind == AS_HOT_NEIGHBOURS ? "taken off the CPU for other work in %s of its own time"
                                                          : "off the CPU in %s of its own time",
                             percent(f, waits));
    else
        h->evidence =
            as_say(f, "on the CPU in %s of its own time; without hardware counters, computing and waiting for memory look alike",
                   percent(f, 1 - waits));
}

/* --- All ------------------------------------------------------------------------------------------------------------------- */

static int longest_first(const void *x, const void *y)
{
    const as_hot *a = x, *b = y;
    return a->self_ns != b->self_ns ? (a->self_ns > b->self_ns ? -1 : 1) : strcmp(a->name, b->name);
}

as_hots as_hots_read(assay_facts *f, const assay_trace *t, const as_call_tree *tree)
{
    as_hots h = {.between_ns = (double)NAN, .wait_share = (double)NAN, .unknown = tree->unknown};
    if (tree->unknown || !(h.all = AS_TAKE(&f->arena, as_hot, tree->n_functions)))
        return h;
    h.whole_ns = as_call_ns(tree, tree->whole);
    as_limits limits;
    bool      has_limits = as_limits_read(t, "cpu", t->threads > 0 ? t->threads : 1, &limits);
    for (size_t i = 0; i < tree->n_functions; i++) {
        const as_call_function *fn = &tree->functions[i];
        if (!fn->is_code || (tree->source == AS_CALLS_LAYERS && fn->step < 0))
            continue;
        as_hot *hot = &h.all[h.n++];
        *hot = (as_hot){.name = fn->name,
                        .place = fn->place,
                        .total_ns = as_call_ns(tree, fn->total),
                        .self_ns = as_call_ns(tree, fn->self),
                        .share = as_call_share(tree, fn->self),
                        .count = fn->count,
                        .least_ns = (double)NAN,
                        .of_limit = (double)NAN,
                        .weight_share = (double)NAN,
                        .limit = AS_LIMIT_NONE,
                        .step = fn->step};
        if (tree->source == AS_CALLS_SPANS)
            span_read(f, t, fn, has_limits ? &limits : NULL, h.whole_ns, hot);
        else if (tree->source == AS_CALLS_SAMPLES)
            sampled_read(f, fn, hot);
    }
    qsort(h.all, h.n, sizeof *h.all, longest_first);
    if (tree->source == AS_CALLS_LAYERS)
        layers_read(f, t, &h);
    return h;
}

double as_hots_share(const as_hots *h, as_hot_kind kind)
{
    double share = 0;
    for (size_t i = 0; i < h->n; i++)
        share += h->all[i].kind == kind ? h->all[i].share : 0;
    return share;
}
