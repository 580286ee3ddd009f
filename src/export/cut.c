/* cut.c - a timeline that viewers can open: whole runs, the longest spans of the user's own code, and counters with their peaks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

enum { COUNTER_EVENTS = AS_EXPORT_EVENTS / 5, SPAN_BYTES = 190 };

static bool has_runs(const as_scene_track *t) { return t->kind <= AS_TRACK_DEVICE; }
static bool is_code(const as_scene_track *t)
{
    return t->kind == AS_TRACK_USER || t->kind == AS_TRACK_LOOKS || t->kind == AS_TRACK_BLOCKS;
}

/* In the largest of the formats. */
static uint64_t bytes_of(const as_scene *v, const as_scene_span *s)
{
    const as_scene_name *n = &v->names[s->name];
    return SPAN_BYTES + strlen(n->name) + (n->step ? strlen(n->step->kernel) + strlen(n->step->op) : 0);
}

typedef struct cost {
    uint64_t events, bytes;
} cost;

static cost cost_of(const as_scene *v, bool (*which)(const as_scene_track *))
{
    cost c = {0};
    for (size_t i = 0; i < v->n_tracks; i++)
        for (size_t k = 0; which(&v->tracks[i]) && k < v->tracks[i].n; k++) {
            c.events += 2;
            c.bytes += bytes_of(v, &v->tracks[i].spans[k]);
        }
    return c;
}

/* --- Whole runs ------------------------------------------------------------------------------------------------- */

/* A run of one of the traces. */
static uint64_t run_key(const as_scene_track *t, const as_scene_span *s) { return (uint64_t)t->process << 32 | s->run; }

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* All runs that have spans, rising, each once. */
static uint64_t *runs_list(as_scene *v, size_t *n)
{
    uint64_t *keys = NULL;
    size_t    cap = 0, count = 0;
    for (size_t i = 0; i < v->n_tracks; i++)
        for (size_t k = 0; has_runs(&v->tracks[i]) && k < v->tracks[i].n; k++) {
            uint64_t key = run_key(&v->tracks[i], &v->tracks[i].spans[k]);
            if (count && keys[count - 1] == key)
                continue;
            if (!AS_SCENE_ROOM(v, keys, count, cap)) {
                free(keys);
                return NULL;
            }
            keys[count++] = key;
        }
    if (count)
        qsort(keys, count, sizeof *keys, by_key);
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (!i || keys[i] != keys[*n - 1])
            keys[(*n)++] = keys[i];
    return keys;
}

/* `keep` of n, spread evenly: the first ones may all have had the same neighbour. */
static bool is_kept(size_t i, size_t n, size_t keep) { return (i + 1) * keep / n != i * keep / n; }

static size_t index_of(const uint64_t *keys, size_t n, uint64_t key)
{
    size_t lo = 0, hi = n;
    while (lo + 1 < hi) {
        size_t mid = (lo + hi) / 2;
        if (keys[mid] <= key)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void runs_cut(as_scene *v, const uint64_t *keys, size_t n, size_t keep)
{
    for (size_t i = 0; i < v->n_tracks; i++) {
        as_scene_track *t = &v->tracks[i];
        size_t          n_kept = 0;
        uint64_t        last = UINT64_MAX;
        bool            kept = false;
        for (size_t k = 0; has_runs(t) && k < t->n; k++) {
            uint64_t key = run_key(t, &t->spans[k]);
            if (key != last)
                kept = is_kept(index_of(keys, n, key), n, keep);
            last = key;
            if (kept)
                t->spans[n_kept++] = t->spans[k];
        }
        if (has_runs(t))
            t->n = n_kept;
    }
}

/* --- The longest spans ------------------------------------------------------------------------------------------- */

/* What is around a span is at least as long, and comes before it: it is kept, too. */
static void code_cut(as_scene *v, size_t n, size_t keep)
{
    uint64_t *lengths = malloc((n + 1) * sizeof *lengths);
    size_t    at = 0, n_longer = 0;
    if (!lengths) {
        v->failed = true;
        return;
    }
    for (size_t i = 0; i < v->n_tracks; i++)
        for (size_t k = 0; is_code(&v->tracks[i]) && k < v->tracks[i].n; k++)
            lengths[at++] = v->tracks[i].spans[k].end_ns - v->tracks[i].spans[k].begin_ns;
    qsort(lengths, n, sizeof *lengths, by_key);
    uint64_t least = keep < n ? lengths[n - keep] : 0;
    for (size_t i = n; i-- > 0 && lengths[i] > least;)
        n_longer++;
    free(lengths);
    size_t equal = keep - (n_longer < keep ? n_longer : keep);
    for (size_t i = 0; i < v->n_tracks; i++) {
        as_scene_track *t = &v->tracks[i];
        size_t          n_kept = 0;
        for (size_t k = 0; is_code(t) && k < t->n; k++) {
            uint64_t length = t->spans[k].end_ns - t->spans[k].begin_ns;
            if (length > least || (length == least && equal && equal--))
                t->spans[n_kept++] = t->spans[k];
        }
        if (is_code(t))
            t->n = n_kept;
    }
}

/* --- Counters ------------------------------------------------------------------------------------------------------ */

/* Of so many points in a row the highest. */
static void counter_thin(as_scene_counter *c, size_t most)
{
    size_t every = (c->n + most - 1) / most, n = 0;
    for (size_t i = 0; i < c->n; i += every) {
        as_scene_point highest = c->points[i];
        for (size_t k = i; k < i + every && k < c->n; k++)
            highest = c->points[k].value > highest.value ? c->points[k] : highest;
        c->points[n++] = highest;
    }
    c->n = n;
}

static size_t counters_cut(as_scene *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_counters; i++)
        n += v->counters[i].n;
    for (size_t i = 0; n > COUNTER_EVENTS && i < v->n_counters; i++) {
        size_t most = COUNTER_EVENTS / v->n_counters;
        if (v->counters[i].n > most)
            counter_thin(&v->counters[i], most ? most : 1);
    }
    return n > COUNTER_EVENTS ? n : 0;
}

/* --- All together ------------------------------------------------------------------------------------------------- */

/* The share of them that fits. */
static double share_of(cost c)
{
    double events = c.events ? (double)(AS_EXPORT_EVENTS - COUNTER_EVENTS) / (double)c.events : 2;
    double bytes = c.bytes ? (double)AS_EXPORT_BYTES / (double)c.bytes : 2;
    return events < bytes ? events : bytes;
}

static const char *keep(as_scene *v, as_text *said)
{
    const char *kept = said->failed ? NULL : as_arena_text(&v->arena, said->length ? said->data : "");
    v->failed |= !kept;
    as_text_drop(said);
    return kept ? kept : "";
}

/* n_recorded: runs that have spans. */
static void said_make(as_scene *v, size_t n_points, uint64_t n_recorded, bool cut_code)
{
    as_text said = {0};
    if (v->n_runs_shown < v->n_runs)
        as_text_printf(&said, "%" PRIu64 " of %" PRIu64 " runs", v->n_runs_shown, v->n_runs);
    if (v->n_spans_shown < v->n_spans)
        as_text_printf(&said, "%s%s%" PRIu64 " of %" PRIu64 " spans", said.length ? ", " : "", cut_code ? "the longest " : "",
                       v->n_spans_shown, v->n_spans);
    if (n_points)
        as_text_printf(&said, "%sthe highest of %zu counter values", said.length ? ", " : "", n_points);
    v->said = keep(v, &said);
    if (n_recorded < v->n_runs)
        as_text_printf(&said, "sums of %" PRIu64 " of %" PRIu64 " runs", n_recorded, v->n_runs);
    v->said_sums = keep(v, &said);
}

void as_scene_cut(as_scene *v)
{
    cost      runs = cost_of(v, has_runs), code = cost_of(v, is_code);
    double    share = v->all ? 2 : share_of((cost){runs.events + code.events, runs.bytes + code.bytes});
    size_t    n_runs = 0, n_points = v->all ? 0 : counters_cut(v), n_code = (size_t)(code.events / 2);
    uint64_t *keys = runs_list(v, &n_runs);
    if (v->failed)
        return;
    size_t kept = share < 1 ? (size_t)(share * (double)n_runs) : n_runs;
    if (kept < n_runs)
        runs_cut(v, keys, n_runs, kept ? kept : 1);
    free(keys);
    v->n_runs_shown = kept || !n_runs ? kept : 1;
    for (size_t i = 0; i < v->n_processes; i++) {
        const assay_trace *t = v->processes[i].trace;
        v->n_runs += t->n_runs + t->n_detailed;
        v->n_spans += t->user_spans_left;
    }
    v->n_runs = n_runs && v->n_runs > n_runs ? v->n_runs : n_runs;
    size_t keep_code = share < 1 ? (size_t)(share * (double)n_code) : n_code;
    v->n_spans += n_code;
    v->n_spans_shown = keep_code;
    if (keep_code < n_code)
        code_cut(v, n_code, keep_code);
    said_make(v, n_points, n_runs, keep_code < n_code);
}
