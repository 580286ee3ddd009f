/* limit.c - the least time of a step by the limits of its device, and what is above it. */
#include "trace/limit.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WEIGHS 0.05 /* a level with a smaller share of the time is not named */

/* --- The limits of a device --------------------------------------------------------------------------------------- */

/* A limit that was added again later does not count. */
static bool is_last(const assay_trace *t, size_t i)
{
    for (size_t k = i + 1; k < t->n_roofs; k++)
        if (!strcmp(t->roofs[k].name, t->roofs[i].name) && !strcmp(t->roofs[k].device, t->roofs[i].device))
            return false;
    return true;
}

const as_trace_roof *as_trace_roof_find(const assay_trace *t, const char *device, const char *name)
{
    for (size_t i = t->n_roofs; i-- > 0;)
        if (!strcmp(t->roofs[i].name, name) && !strcmp(t->roofs[i].device, device))
            return &t->roofs[i];
    return NULL;
}

/* The number of threads in a name: "read.l1.t2" has 2, "read.l1" has none, which is 0. */
static int threads_of(const char *name, size_t *length)
{
    const char *dot = strrchr(name, '.');
    int         n = 0;
    *length = strlen(name);
    if (!dot || dot[1] != 't' || !isdigit((unsigned char)dot[2]))
        return 0;
    for (const char *p = dot + 2; *p; p++) {
        if (!isdigit((unsigned char)*p) || n > 100000)
            return 0;
        n = 10 * n + (*p - '0');
    }
    *length = (size_t)(dot - name);
    return n;
}

/* "fma.f32" is a prefix of "fma.f32.avx2.t1" and "fma.f32", not of "fma.f321". */
static bool leads(const char *front, const char *name, size_t length)
{
    size_t n = strlen(front);
    return length >= n && !strncmp(name, front, n) && (length == n || name[n] == '.');
}

/* The limit for the largest number of threads up to `threads`, and of those the highest rate, which is the best instruction set.
 * If that was measured on a busy machine, the rate of fewer threads, scaled up in proportion, counts if it is higher: nothing
 * scales better than that. */
static as_limit_rate rate_find(const assay_trace *t, const char *device, const char *front, int n_threads)
{
    as_limit_rate best = {.rate = (double)NAN}, scaled = {.rate = (double)NAN};
    int           most = -1;
    for (size_t i = 0; i < t->n_roofs; i++) {
        const as_trace_roof *r = &t->roofs[i];
        size_t               length;
        int                  threads = threads_of(r->name, &length);
        double               rate = r->value * (threads > 0 ? (double)n_threads / threads : 1);
        if (strcmp(r->device, device) || !leads(front, r->name, length) || threads > n_threads || !(rate > 0) || !isfinite(rate) ||
            !is_last(t, i))
            continue;
        if (threads > most || (threads == most && rate > best.rate))
            best = (as_limit_rate){rate, r}, most = threads;
        if (!(scaled.rate >= rate))
            scaled = (as_limit_rate){rate, r};
    }
    return best.roof && best.roof->disturbed ? scaled : best;
}

static bool level_has(const as_limits *m, const char *name)
{
    for (int i = 0; i < m->n_levels; i++)
        if (!strcmp(m->level[i].name, name))
            return true;
    return false;
}

/* A level by the middle part of a name, "read.l1.t1"; the best rate measured in it. */
static void level_add(const assay_trace *t, const char *device, const char *name, size_t length, int n_threads, as_limits *m)
{
    static const char *const loops[] = {"read", "triad", "stream"};
    const char              *dot = memchr(name, '.', length);
    as_limit_level           l = {.bytes_per_s = {.rate = (double)NAN}};
    size_t                   n = dot ? length - (size_t)(dot + 1 - name) : 0;
    if (!n || n >= sizeof l.name || m->n_levels == AS_LIMIT_LEVELS)
        return;
    for (size_t i = 0; i < n; i++)
        l.name[i] = (char)toupper((unsigned char)dot[1 + i]);
    if (level_has(m, l.name))
        return;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        char front[48];
        snprintf(front, sizeof front, "%s.%.*s", loops[i], (int)n, dot + 1);
        as_limit_rate r = rate_find(t, device, front, n_threads);
        if (r.roof && !(l.bytes_per_s.rate >= r.rate))
            l.bytes_per_s = r;
    }
    if (!l.bytes_per_s.roof)
        return;
    l.bytes = l.bytes_per_s.roof->level_bytes;
    int at = m->n_levels++;
    for (; at > 0 && l.bytes && (m->level[at - 1].bytes > l.bytes || !m->level[at - 1].bytes); at--)
        m->level[at] = m->level[at - 1];
    m->level[at] = l;
}

bool as_limits_read(const assay_trace *t, const char *device, int n_threads, as_limits *out)
{
    as_limits m = {.n_levels = 0};
    n_threads = n_threads < 1 ? 1 : n_threads;
    m.fma[0] = rate_find(t, device, "fma.f32", n_threads);
    m.fma[1] = rate_find(t, device, "fma.f64", n_threads);
    m.fma[2] = rate_find(t, device, "madd.i8", n_threads);
    m.special = rate_find(t, device, "exp.f32", n_threads);
    for (size_t i = 0; i < t->n_roofs; i++) {
        const as_trace_roof *r = &t->roofs[i];
        size_t               length;
        threads_of(r->name, &length);
        if (!strcmp(r->device, device) && (leads("read", r->name, length) || leads("triad", r->name, length)))
            level_add(t, device, r->name, length, n_threads, &m);
    }
    *out = m;
    return m.fma[0].roof || m.fma[1].roof || m.n_levels;
}

/* --- One step --------------------------------------------------------------------------------------------------------- */

typedef struct work {
    double flops, special, bytes, footprint;
    int    kind; /* which of the rates of multiply-adds */
} work;

static double lesser(uint64_t defined, uint64_t issued) { return (double)(issued && issued < defined ? issued : defined); }

/* A step that moves this many bytes once cannot have a larger working set, whatever else its buffers hold. */
static work work_of(const as_trace_step *s)
{
    work w = {.flops = lesser(s->flops, s->issued_flops),
              .special = (double)s->special,
              .bytes = lesser(s->bytes_read + s->bytes_written, s->issued_bytes),
              .kind = s->is_i8 ? 2 : s->is_f64};
    w.footprint = s->working_set_bytes ? fmin((double)s->working_set_bytes, w.bytes) : w.bytes;
    return w;
}

static double ns_at(double amount, double rate) { return amount > 0 && rate > 0 ? amount / rate * 1e9 : 0; }

/* How the bytes are spread: `share` in each level, the fastest first.  Gives their time and the outermost level reached. */
static double bytes_ns(const as_limits *m, const work *w, double part_ns[AS_LIMIT_LEVELS], int *outermost)
{
    double left = w->footprint, sum = 0;
    *outermost = -1;
    for (int i = 0; i < m->n_levels; i++) {
        const as_limit_level *l = &m->level[i];
        bool                  holds_all = !l->bytes || i == m->n_levels - 1 || left <= (double)l->bytes;
        double                here = holds_all ? left : (double)l->bytes;
        part_ns[i] = w->footprint > 0 ? ns_at(w->bytes * here / w->footprint, l->bytes_per_s.rate) : 0;
        sum += part_ns[i];
        left -= here;
        if (here > 0)
            *outermost = i;
        if (holds_all)
            break;
    }
    return sum;
}

static void stand_on(as_limit *l, const as_trace_roof *r)
{
    l->may_be_low = l->may_be_low || r->disturbed;
    l->on_the_spot = l->on_the_spot && r->on_the_spot;
}

as_limit as_limit_of_step(const as_limits *m, const as_trace_step *s)
{
    work                 w = work_of(s);
    const as_limit_rate *fma = &m->fma[w.kind];
    double               part[AS_LIMIT_LEVELS] = {0};
    int                  outermost;
    double               compute = ns_at(w.flops, fma->rate), special = ns_at(w.special, m->special.rate),
           bytes = bytes_ns(m, &w, part, &outermost), most = fmax(compute, fmax(special, bytes));
    as_limit l = AS_LIMIT_NONE;
    if (outermost >= 0)
        memcpy(l.level, m->level[outermost].name, sizeof l.level);
    if (!(most > 0))
        return l;
    l.ns = most;
    l.on_the_spot = true;
    if (most == bytes) {
        int heaviest = outermost;
        for (int i = 0; i <= outermost; i++) {
            heaviest = part[i] > part[heaviest] ? i : heaviest;
            if (part[i] > WEIGHS * bytes)
                stand_on(&l, m->level[i].bytes_per_s.roof);
        }
        l.bound = AS_BOUND_MEMORY, l.name = m->level[heaviest].bytes_per_s.roof->name, l.rate = w.bytes * 1e9 / bytes;
    } else if (most == compute) {
        l.bound = AS_BOUND_COMPUTE, l.name = fma->roof->name, l.rate = fma->rate;
        stand_on(&l, fma->roof);
    } else {
        l.bound = AS_BOUND_SPECIAL, l.name = m->special.roof->name, l.rate = m->special.rate;
        stand_on(&l, m->special.roof);
        l.may_be_low = true; /* the rate of our own loop, which may be below the machine's true limit */
    }
    return l;
}

as_limit as_limit_sum(const as_limit *a, const as_limit *b)
{
    if (!(a->ns > 0) || !(b->ns > 0))
        return a->ns > 0 ? *a : *b;
    as_limit sum = a->ns >= b->ns ? *a : *b;
    sum.ns = a->ns + b->ns;
    sum.may_be_low = a->may_be_low || b->may_be_low;
    sum.on_the_spot = a->on_the_spot && b->on_the_spot;
    return sum;
}

as_limit as_limit_of_plan(const assay_trace *t, int n_threads)
{
    as_limit    sum = AS_LIMIT_NONE;
    as_limits   limits = {.n_levels = 0};
    const char *of = NULL; /* the device that the limits belong to */
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *s = &t->steps[i];
        if (strcmp(s->stage, "body") || (!s->flops && !s->bytes_read && !s->bytes_written))
            continue;
        if ((!of || strcmp(of, s->device)) && !as_limits_read(t, s->device, n_threads, &limits))
            return AS_LIMIT_NONE;
        of = s->device;
        as_limit l = as_limit_of_step(&limits, s);
        sum = as_limit_sum(&sum, &l);
    }
    return sum;
}

const char *as_limit_unit(const as_limit *l)
{
    static const char *const units[] = {"1", "flop/s", "element/s", "byte/s"};
    return units[l->bound];
}

const char *as_limit_bound(const as_limit *l)
{
    static const char *const words[] = {"-", "compute", "special", ""};
    return l->bound == AS_BOUND_MEMORY ? l->level : words[l->bound];
}

int as_limit_blame(const as_limits *m, const as_trace_step *s, double ns, const as_trace_roof **out, int max)
{
    work                 w = work_of(s);
    const as_limit_rate *fma = &m->fma[w.kind];
    double               part[AS_LIMIT_LEVELS] = {0};
    int                  outermost, n = 0;
    if (n < max && ns_at(w.flops, fma->rate) > ns)
        out[n++] = fma->roof;
    if (n < max && ns_at(w.special, m->special.rate) > ns)
        out[n++] = m->special.roof;
    double bytes = bytes_ns(m, &w, part, &outermost);
    for (int i = 0; i <= outermost && bytes > ns; i++)
        if (n < max && part[i] > WEIGHS * bytes)
            out[n++] = m->level[i].bytes_per_s.roof;
    return n;
}

/* --- Where a result stands ------------------------------------------------------------------------------------------------ */

as_standing as_limit_judge(const as_limit *l, double time_ns, double slow_ns, double *share)
{
    *share = (double)NAN;
    if (!(l->ns > 0) || !(time_ns > 0) || !isfinite(time_ns))
        return AS_STANDING_UNKNOWN;
    double slow = slow_ns > time_ns && isfinite(slow_ns) ? slow_ns : time_ns;
    if (l->ns <= time_ns) {
        *share = l->ns / time_ns;
        return AS_STANDING_BELOW;
    }
    if (l->ns <= slow * AS_LIMIT_MARGIN) {
        *share = 1;
        return AS_STANDING_AT;
    }
    return l->may_be_low || !l->on_the_spot ? AS_STANDING_DOUBT : AS_STANDING_ABOVE;
}

const char *as_standing_text(as_standing s)
{
    static const char *const words[] = {"-", "below", "at its limit", "above an uncertain limit", "refused: above its limit"};
    return words[s];
}
