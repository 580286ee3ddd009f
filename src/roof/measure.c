/* measure.c - runs the meters in chunks and takes, and computes limits from the chunks. */
#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/text.h"
#include "roof/roof.h"

#define CHUNK_NS     1.2e6
#define BUDGET_NS    4.5e9 /* a take that has begun is finished, so that all stay below 5 s */
#define TAKE_NS_MAX  60e6
#define TAKE_NS_MIN  2e6
#define PROBE_NS     10e6
#define WHOLE_WITHIN 0.05 /* how close to a whole number the instructions per cycle must be */
enum {
    TAKES = 3,
    TAKES_SHARED = 4,
    CHUNKS_PER_TAKE = 40,
    MAX_POINTS = 128,
    PAGE_BYTES = 2 << 20,
    SCRATCH_BYTES = 64 << 10,
    STAGGER_BYTES = 21 * 64
};
#define THREAD_DRAM_MIN ((size_t)16 << 20)

/* One limit to measure. */
typedef struct point {
    const as_meter        *meter;
    const as_memory_level *level; /* NULL: none */
    int                    n_threads;
    int                    n_takes;
    size_t                 region;   /* bytes that a stream may move through; more than `bytes` only in memory */
    size_t                 bytes;    /* per stream and pass */
    uint64_t               n_passes; /* per chunk; 0: not yet known */
    size_t                 cursor;   /* in memory: where the next chunk begins */
    as_chunks              chunks;
    double                 beside[AS_TAKES_MAX]; /* multiply-adds per second of CPU time, right after each take */
    int                    n_beside;
} point;

/* What one thread saw of a chunk; a cache line or two each. */
typedef struct seen {
    uint64_t begin_ticks, end_ticks, cpu_ns;
    char     apart[104];
} seen;

typedef struct session {
    assay_env              *env;
    as_pool                *pool;
    int                     n_threads;
    as_machine              machine;
    as_memory_levels        levels;
    as_pin                 *pins;
    seen                   *seen;
    void                   *block;
    char                  **buffer; /* one per thread: SCRATCH_BYTES, then at PAGE_BYTES the streams */
    size_t                  dram_all, dram_each;
    point                  *points;
    int                     n_points;
    double                  deadline_ns;
    bool                    walks_memory; /* some point does, so it needs memory for that */
    const as_roof_settings *settings;
    point                   beside; /* a short chunk of multiply-adds; no meter: this CPU has none for it */
} session;

static double now_ns(const session *s) { return as_clock_ns(&s->env->clock, as_clock_now(&s->env->clock)); }

static size_t grains(size_t bytes)
{
    size_t n = bytes / AS_METER_GRAIN;
    return (n ? n : 1) * AS_METER_GRAIN;
}

/* --- One chunk --------------------------------------------------------------------------------------------- */

typedef struct job {
    session     *s;
    const point *p;
} job;

static as_meter_args args_make(const session *s, const point *p, int part)
{
    as_meter_args args = {.bytes = p->bytes, .pool = s->pool};
    char         *base = s->buffer[part] + (p->level || p->meter->kind == AS_METER_L1 ? PAGE_BYTES : 0);
    for (int i = 0; i < p->meter->n_streams;
         i++) /* staggered: a store and the loads beside it must not have the same offset in a page */
        args.stream[i] = base + (size_t)i * (p->region + STAGGER_BYTES) + p->cursor;
    return args;
}

/* Only the work lies between the stamps. */
static void chunk_part(void *arg, int part, int n_parts)
{
    job            *j = arg;
    const as_clock *clock = &j->s->env->clock;
    as_meter_args   args = args_make(j->s, j->p, part);
    seen           *out = &j->s->seen[part];
    if (n_parts > 1)
        as_pool_barrier(j->s->pool, part);
    uint64_t cpu = as_thread_cpu_ns();
    out->begin_ticks = as_clock_now(clock);
    j->p->meter->run(&args, j->p->n_passes);
    out->end_ticks = as_clock_now(clock);
    out->cpu_ns = as_thread_cpu_ns() - cpu;
}

/* Runs a chunk; gives its wall time, from the start of the first thread to the end of the last, and the smallest share of CPU
 * time. */
static double chunk_run(session *s, point *p, double *cpu_share)
{
    job j = {s, p};
    int n = p->n_threads;
    if (n > 1)
        as_pool_run(s->pool, chunk_part, &j);
    else
        chunk_part(&j, 0, 1);
    uint64_t begin = s->seen[0].begin_ticks, end = s->seen[0].end_ticks, cpu_ns = s->seen[0].cpu_ns;
    for (int i = 1; i < n; i++) {
        begin = s->seen[i].begin_ticks < begin ? s->seen[i].begin_ticks : begin;
        end = s->seen[i].end_ticks > end ? s->seen[i].end_ticks : end;
        cpu_ns = s->seen[i].cpu_ns < cpu_ns ? s->seen[i].cpu_ns : cpu_ns;
    }
    double ns = as_clock_ns(&s->env->clock, end - begin);
    *cpu_share = ns > 0.0 ? (double)cpu_ns / ns : 0.0;
    if (p->region > p->bytes) { /* a line is used again only after all the others */
        p->cursor += p->bytes;
        if (p->cursor + p->bytes > p->region)
            p->cursor = 0;
    }
    return ns;
}

/* How much work makes a chunk of CHUNK_NS. The faster of two readings counts: one that was pre-empted must not set it. */
static void chunk_size(session *s, point *p)
{
    bool   walks = p->level && !strcmp(p->level->name, "dram");
    double share;
    p->n_passes = 1;
    if (walks)
        p->bytes = grains(p->region / 16);
    for (int i = 0; i < 40 && !as_cancelled(s->env); i++) {
        double ns = fmin(chunk_run(s, p, &share), chunk_run(s, p, &share));
        double more = CHUNK_NS / fmax(ns, 100.0);
        if (walks) { /* one pass of the right length */
            double bytes = fmin((double)p->bytes * more, (double)p->region / 4.0);
            p->bytes = grains((size_t)bytes);
            p->cursor = 0;
            return;
        }
        if (more <= 1.2)
            return;
        p->n_passes = (uint64_t)((double)p->n_passes * fmin(more, 32.0)) + 1;
    }
}

/* Threads that work in parallel each do as much as one thread did alone, whose chunk is already known. */
static bool size_inherit(const session *s, point *p)
{
    for (int i = 0; i < s->n_points && p->n_threads > 1; i++) {
        const point *one = &s->points[i];
        if (one->n_threads != 1 || one->meter != p->meter || one->level != p->level || !one->n_passes)
            continue;
        p->n_passes = one->n_passes;
        p->bytes = one->bytes < p->region / 4 || one->region == one->bytes ? one->bytes : grains(p->region / 4);
        return true;
    }
    return false;
}

static void take_run(session *s, point *p, double limit_ns)
{
    double start = now_ns(s);
    if (!p->n_passes && !size_inherit(s, p))
        chunk_size(s, p);
    as_chunks_take(&p->chunks);
    for (int i = 0; i < CHUNKS_PER_TAKE && !as_cancelled(s->env); i++) { /* on a busy machine each chunk waits for its turn */
        double share, ns = chunk_run(s, p, &share);
        if (ns < CHUNK_NS / 2 && p->region == p->bytes) { /* both readings were pre-empted: it is too short to be a chunk */
            p->n_passes = (uint64_t)((double)p->n_passes * fmin(CHUNK_NS / fmax(ns, 100.0), 32.0)) + 1;
            continue;
        }
        double work = p->meter->per_pass(p->bytes) * (double)p->n_passes * p->n_threads;
        as_chunks_add(&p->chunks, work / ns * 1e9, share);
        if (as_chunks_enough(&p->chunks) || now_ns(s) - start > limit_ns)
            return;
    }
}

/* A virtual machine does not see who else is on its core, but the multiply-add units do: a neighbour takes some of their slots, for
 * seconds, without taking any CPU time from us. */
static void beside_ask(session *s, point *p)
{
    double share;
    if (!s->beside.meter || p->n_threads > 1 || p->meter->kind == AS_METER_FORK || p->n_beside == AS_TAKES_MAX)
        return;
    if (!s->beside.n_passes) {
        chunk_size(s, &s->beside);
        s->beside.n_passes = s->beside.n_passes / 3 + 1;
    }
    chunk_run(s, &s->beside, &share);
    double cpu_ns = fmax((double)s->seen[0].cpu_ns, 1.0); /* not wall time: pre-emption is detected elsewhere */
    p->beside[p->n_beside++] = s->beside.meter->per_pass(0) * (double)s->beside.n_passes / cpu_ns * 1e9;
}

/* --- Which points ---------------------------------------------------------------------------------------------- */

static void name_of(const session *s, const point *p, char *name, size_t size)
{
    bool is_fork = p->meter->kind == AS_METER_FORK;
    int  threads = p->meter->kind == AS_METER_CLOCK ? 0 : is_fork ? s->n_threads : p->n_threads;
    as_roof_name(name, size, p->meter->name, p->level ? p->level->name : "", threads);
}

static void point_add(session *s, const as_meter *m, const as_memory_level *level, int n_threads)
{
    char name[64];
    if (s->n_points == MAX_POINTS)
        return;
    bool   is_dram = level && !strcmp(level->name, "dram"), is_shared = is_dram || (level && !strcmp(level->name, "l3"));
    size_t bytes = SCRATCH_BYTES / 2;
    if (level || m->kind == AS_METER_L1)
        bytes = is_dram ? (n_threads > 1 ? s->dram_each : s->dram_all) : level ? level->bytes : s->levels.level[0].bytes;
    bytes = grains(bytes / (size_t)m->n_streams);
    point *p = &s->points[s->n_points];
    *p = (point){.meter = m,
                 .level = level,
                 .n_threads = n_threads,
                 .region = bytes,
                 .bytes = bytes,
                 .n_takes = is_shared || m->kind == AS_METER_CLOCK ? TAKES_SHARED : TAKES};
    name_of(s, p, name, sizeof name);
    if (s->settings->wants && !s->settings->wants(s->settings->wants_arg, name))
        return;
    s->walks_memory |= is_dram;
    s->n_points++;
}

/* Of those with one name, the highest rank that this CPU can run. */
static bool is_chosen(const as_meter *m, unsigned isa)
{
    if ((m->isa & isa) != m->isa)
        return false;
    for (int i = 0; as_rf_table[i]; i++)
        if (as_rf_table[i] != m && !strcmp(as_rf_table[i]->name, m->name) && (as_rf_table[i]->isa & isa) == as_rf_table[i]->isa &&
            as_rf_table[i]->rank > m->rank)
            return false;
    return true;
}

/* The widest available multiply-adds of floats. */
static const as_meter *fma_find(unsigned isa)
{
    const as_meter *best = NULL;
    for (int i = 0; as_rf_table[i]; i++) {
        const as_meter *m = as_rf_table[i];
        if (!strncmp(m->name, "fma.f32.", 8) && (m->isa & isa) == m->isa && (!best || m->rank > best->rank))
            best = m;
    }
    return best;
}

static void meter_add(session *s, const as_meter *m, int n_threads)
{
    if (m->kind == AS_METER_LEVELS || m->kind == AS_METER_DRAM) {
        for (int i = m->kind == AS_METER_DRAM ? s->levels.n - 1 : 0; i < s->levels.n; i++)
            point_add(s, m, &s->levels.level[i], n_threads);
    } else {
        point_add(s, m, NULL, n_threads);
    }
}

static void points_make(session *s)
{
    unsigned        isa = as_isa_here();
    const as_meter *fma = fma_find(isa);
    if (fma)
        s->beside = (point){.meter = fma, .n_threads = 1, .region = AS_METER_GRAIN, .bytes = AS_METER_GRAIN};
    for (int order = 0; order < 100; order++)
        for (int i = 0; as_rf_table[i]; i++) {
            const as_meter *m = as_rf_table[i];
            if (m->order != order || !is_chosen(m, isa))
                continue;
            if (m->kind != AS_METER_FORK)
                meter_add(s, m, 1);
            else if (s->n_threads > 1)
                point_add(s, m, NULL, 1);
            if (s->n_threads > 1 && m->kind != AS_METER_FORK && m->kind != AS_METER_CLOCK)
                meter_add(s, m, s->n_threads);
        }
}

/* --- The session -------------------------------------------------------------------------------------------------- */

static size_t thread_bytes(const session *s, int part)
{
    size_t streams = part ? s->dram_each : s->dram_all;
    for (int i = 0; i < s->levels.n - 1; i++)
        streams = s->levels.level[i].bytes > streams ? s->levels.level[i].bytes : streams;
    size_t bytes = PAGE_BYTES + streams + AS_METER_STREAMS * (STAGGER_BYTES + AS_METER_GRAIN);
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* Pins first, so that the pages are touched where they will be used. */
static void settle_part(void *arg, int part, int n_parts)
{
    session *s = arg;
    char     why[128];
    (void)n_parts;
    as_pin_self(&s->pins[part], part, why, sizeof why);
    float *x = (float *)(void *)s->buffer[part];
    for (size_t i = 0, n = thread_bytes(s, part) / sizeof *x; i < n;
         i++) { /* half a gigabyte of new pages: a stop does not wait for it */
        if (i % (PAGE_BYTES / sizeof *x) == 0 && as_cancelled(s->env))
            return;
        x[i] = 0.5f + (float)(i & 1023) / 1024.0f;
    }
}

static void leave_part(void *arg, int part, int n_parts)
{
    session *s = arg;
    (void)n_parts;
    as_pin_undo(&s->pins[part]);
}

static void session_close(session *s)
{
    if (s->pool && s->pins)
        as_pool_run(s->pool, leave_part, s);
    as_pool_free(s->pool);
    free(s->pins);
    free(s->seen);
    free(s->buffer);
    free(s->points);
    free(s->block);
}

/* Which limits to measure; those of memory need to know how much they walk through. */
static assay_status session_plan(session *s, const as_roof_settings *settings)
{
    int n = s->n_threads = settings->n_threads;
    as_machine_read(&s->machine);
    as_memory_levels_find(&s->machine, &s->levels);
    as_memory_level *dram = &s->levels.level[s->levels.n - 1];
    if (settings->dram_bytes)
        dram->bytes = settings->dram_bytes;
    s->dram_all = dram->bytes;
    s->dram_each = dram->bytes / (size_t)n;
    if (s->dram_each < THREAD_DRAM_MIN)
        s->dram_each = THREAD_DRAM_MIN < s->dram_all ? THREAD_DRAM_MIN : s->dram_all;
    uint64_t most = s->machine.memory_bytes.known ? s->machine.memory_bytes.value / 8 / (uint64_t)n : SIZE_MAX;
    if (s->dram_each > most) /* very many threads */
        s->dram_each = grains((size_t)most);
    s->settings = settings;
    s->points = calloc(MAX_POINTS, sizeof *s->points);
    if (!s->points)
        return as_fail(s->env, ASSAY_NO_MEMORY, "limits: not enough memory for %d points", MAX_POINTS);
    points_make(s);
    if (!s->walks_memory)
        s->dram_all = s->dram_each = 0;
    return ASSAY_OK;
}

static assay_status session_open(session *s)
{
    int    n = s->n_threads;
    size_t total = 0;
    for (int i = 0; i < n; i++)
        total += thread_bytes(s, i);
    s->pins = calloc((size_t)n, sizeof *s->pins);
    s->seen = calloc((size_t)n, sizeof *s->seen);
    s->buffer = calloc((size_t)n, sizeof *s->buffer);
    if (!s->pins || !s->seen || !s->buffer || posix_memalign(&s->block, PAGE_BYTES, total))
        return as_fail(s->env, ASSAY_NO_MEMORY, "limits: not enough memory for %zu bytes to read through", total);
#if defined(__linux__)
    madvise(s->block, total, MADV_HUGEPAGE); /* a preference: without it the walk through memory also pays for the page table */
#endif
    char *at = s->block;
    for (int i = 0; i < n; i++) {
        s->buffer[i] = at;
        at += thread_bytes(s, i);
    }
    AS_TRY(as_pool_new(s->env, n, &s->pool));
    as_pool_run(s->pool, settle_part, s);
    if (as_cancelled(s->env))
        return as_fail(s->env, ASSAY_CANCELLED, "limits: stopped before the first of %d", s->n_points);
    if (s->settings->walked_bytes && *s->settings->walked_bytes < total)
        *s->settings->walked_bytes = total;
    return ASSAY_OK;
}

/* --- From chunks to bands ------------------------------------------------------------------------------------------- */

static double clock_hertz(const session *s)
{
    as_band band;
    for (int i = 0; i < s->n_points; i++)
        if (s->points[i].meter->kind == AS_METER_CLOCK && as_chunks_band(&s->points[i].chunks, &band))
            return band.value;
    return NAN;
}

/* The best rate of the multiply-adds beside the takes, over all points. */
static double beside_best(const session *s)
{
    double best[AS_CHUNKS_BEST] = {0};
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_beside; k++) {
            double rate = s->points[i].beside[k];
            for (int j = 0; j < AS_CHUNKS_BEST; j++)
                if (rate > best[j]) {
                    double worse = best[j];
                    best[j] = rate;
                    rate = worse;
                }
        }
    return best[AS_CHUNKS_BEST - 1];
}

/* Reports when the core was shared all the time while the point was measured; this limit may lack the share that the multiply-adds
 * lost. */
static void sharing_find(const session *s, const point *p, as_band *b)
{
    double best = beside_best(s), here = 0.0;
    for (int i = 0; i < p->n_beside; i++)
        here = fmax(here, p->beside[i]);
    if (here > 0.0 && here < (1.0 - WHOLE_WITHIN) * best) {
        b->hi = fmax(b->hi, b->value * best / here);
        b->disturbed = true;
        snprintf(b->why, sizeof b->why, "the core was shared: multiply-adds ran at %.0f %% of their best", here / best * 100.0);
        return;
    }
    double a_cycle = b->value / (2.0 * p->meter->lanes * clock_hertz(s) * p->n_threads);
    if (p->meter->lanes && s->machine.is_virtual && isfinite(a_cycle) &&
        fabs(a_cycle - round(a_cycle)) > WHOLE_WITHIN * round(a_cycle)) {
        b->disturbed = true;
        snprintf(b->why, sizeof b->why, "%.2f multiply-adds per cycle, not a whole number: the core is shared", a_cycle);
    }
}

static bool band_find(const session *s, const point *p, as_band *out)
{
    *out = (as_band){0};
    if (!as_chunks_band(&p->chunks, out))
        return false;
    if (!out->disturbed)
        sharing_find(s, p, out);
    return true;
}

/* --- Takes, and what becomes of them ------------------------------------------------------------------------------ */

/* The takes of one point are far apart: each take goes through the whole list again. */
static assay_status takes_run(session *s, const as_roof_settings *settings)
{
    int left = 0, total = 0;
    for (int i = 0; i < s->n_points; i++)
        total += s->points[i].n_takes;
    left = total;
    for (int take = 0; take < TAKES_SHARED; take++)
        for (int i = 0; i < s->n_points; i++) {
            point *p = &s->points[i];
            if (take >= p->n_takes)
                continue;
            double limit = fmin((s->deadline_ns - now_ns(s)) / left--, TAKE_NS_MAX);
            if (take && limit < TAKE_NS_MIN / 4) /* the first take of each point always runs */
                continue;
            if (as_cancelled(s->env))
                return as_fail(s->env, ASSAY_CANCELLED, "limits: stopped at %s", p->meter->name);
            take_run(s, p, fmax(limit, TAKE_NS_MIN));
            beside_ask(s, p);
            if (settings->progress)
                settings->progress(settings->progress_arg, 1.0 - (double)left / total);
        }
    return ASSAY_OK;
}

/* Time that is left is spent on the points that were disturbed; but shared caches and memory are ranges by nature. */
static assay_status takes_more(session *s)
{
    for (int round = TAKES_SHARED; round < AS_TAKES_MAX; round++)
        for (int i = 0; i < s->n_points; i++) {
            point  *p = &s->points[i];
            as_band b;
            band_find(s, p, &b);
            if (!b.disturbed || p->n_takes == TAKES_SHARED)
                continue;
            if (now_ns(s) + TAKE_NS_MAX / 3 > s->deadline_ns)
                return ASSAY_OK;
            if (as_cancelled(s->env))
                return as_fail(s->env, ASSAY_CANCELLED, "limits: stopped at %s", p->meter->name);
            take_run(s, p, TAKE_NS_MAX / 3);
            beside_ask(s, p);
        }
    return ASSAY_OK;
}

/* How the chunks gave the value, for the reader. */
static const char *chunks_say(char *buf, size_t size, const as_band *b)
{
    if (b->n_clean >= AS_CHUNKS_BEST)
        snprintf(buf, size, "third best of %d clean chunks", b->n_clean);
    else if (b->n_clean)
        snprintf(buf, size, "the worst of only %d clean chunks", b->n_clean);
    else
        snprintf(buf, size, "the third best; no chunk was clean");
    return buf;
}

as_trace_roof as_roof_of(const as_band *band, uint64_t unix_s)
{
    return (as_trace_roof){.device = "cpu",
                           .value = band->value,
                           .lo = band->lo,
                           .hi = band->hi,
                           .today = (double)NAN,
                           .n_clean = (uint64_t)band->n_clean,
                           .n_chunks = (uint64_t)band->n_chunks,
                           .when_unix_s = unix_s,
                           .disturbed = band->disturbed};
}

static bool roof_make(session *s, const point *p, as_roofs *out)
{
    as_band b;
    char    name[64], size[48] = "", show[32], chunks[64];
    if (!band_find(s, p, &b))
        return true;
    if (p->meter->kind == AS_METER_FORK)
        as_band_invert(&b);
    if (p->level)
        snprintf(size, sizeof size, ", %s%s", as_show(show, sizeof show, (double)(p->region * (size_t)p->meter->n_streams), "byte"),
                 p->n_threads > 1 ? " per thread" : "");
    name_of(s, p, name, sizeof name);
    bool           is_memory = p->level && *s->levels.caution;
    as_trace_roof *r = &out->list[out->n];
    *r = as_roof_of(&b, out->unix_s);
    r->name = as_arena_text(&out->arena, name);
    r->unit = p->meter->unit;
    r->level_bytes = !p->level ? 0 : p->level->shared ? p->level->holds : p->level->holds * (uint64_t)p->n_threads;
    r->source = as_arena_printf(&out->arena, "%s%s; %s%s%s%s%s", p->meter->what, size, chunks_say(chunks, sizeof chunks, &b),
                                is_memory ? "; " : "", is_memory ? s->levels.caution : "", b.disturbed ? "; busy: " : "", b.why);
    if (!r->name || !r->source)
        return false;
    out->n++;
    return true;
}

static assay_status roofs_make(session *s, double started_ns, as_roofs *out)
{
    as_roofs made = {.unix_s = (uint64_t)time(NULL), .seconds = (now_ns(s) - started_ns) / 1e9};
    char     key[17];
    as_roofs_key(key, NULL, s->n_threads);
    made.device = "cpu";
    made.key = as_arena_text(&made.arena, key);
    made.list = AS_TAKE(&made.arena, as_trace_roof, s->n_points + 1);
    bool ok = made.key && made.list;
    for (int i = 0; ok && i < s->n_points; i++)
        ok = roof_make(s, &s->points[i], &made);
    if (!ok) {
        as_arena_drop(&made.arena);
        return as_fail(s->env, ASSAY_NO_MEMORY, "limits: not enough memory for %d limits", s->n_points);
    }
    *out = made;
    return ASSAY_OK;
}

assay_status as_roofs_measure(assay_env *env, const as_roof_settings *settings, as_roofs *out)
{
    session s = {.env = env};
    if (!as_roofs_of_cpu(settings->device))
        return as_roofs_measure_device(env, settings, out);
    if (env->clock.kind == AS_CLOCK_FAKE)
        return as_fail(env, ASSAY_UNSUPPORTED, "limits: cannot be measured with a simulated clock");
    if (settings->n_threads < 1)
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %d threads asked for", settings->n_threads);
    double       started_ns = now_ns(&s);
    assay_status status = session_plan(&s, settings);
    if (status == ASSAY_OK && settings->progress)
        settings->progress(settings->progress_arg, 0); /* filling the buffers takes time, too */
    if (status == ASSAY_OK && s.n_points)
        status = session_open(&s);
    s.deadline_ns = started_ns + (settings->budget_s > 0.0 ? settings->budget_s * 1e9 : BUDGET_NS);
    if (status == ASSAY_OK)
        status = takes_run(&s, settings);
    if (status == ASSAY_OK)
        status = takes_more(&s);
    if (status == ASSAY_OK && as_cancelled(env)) /* the last take may be cut short */
        status = as_fail(env, ASSAY_CANCELLED, "limits: stopped at the last of %d", s.n_points);
    if (status == ASSAY_OK)
        status = roofs_make(&s, started_ns, out);
    session_close(&s);
    return status;
}

bool as_roofs_probe(assay_env *env, char *name, size_t size, double *rate)
{
    const as_meter *best = fma_find(as_isa_here());
    if (!best || env->clock.kind == AS_CLOCK_FAKE)
        return false;
    alignas(64) float scratch[4096] = {0};
    seen              seen_here;
    char             *buffer = (char *)scratch, why[128];
    as_pin            pin;
    session           s = {.env = env, .n_threads = 1, .seen = &seen_here, .buffer = &buffer};
    point             p = {.meter = best, .n_threads = 1, .region = AS_METER_GRAIN, .bytes = AS_METER_GRAIN};
    as_pin_self(&pin, 0, why, sizeof why);
    take_run(&s, &p, PROBE_NS);
    as_pin_undo(&pin);
    as_roof_name(name, size, best->name, "", 1);
    if (p.chunks.n < AS_CHUNKS_BEST)
        return false;
    *rate = as_third_best(p.chunks.rate, p.chunks.n);
    return true;
}

void as_roofs_drop(as_roofs *r)
{
    as_arena_drop(&r->arena);
    *r = (as_roofs){0};
}

const as_trace_roof *as_roofs_find(const as_roofs *r, const char *name)
{
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->list[i].name, name))
            return &r->list[i];
    return NULL;
}
