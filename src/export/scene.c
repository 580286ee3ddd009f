/* scene.c - traces to tracks of spans that nest exactly. */
#include "export/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NS 1e18 /* 31 years: a longer time is a broken clock, and sums must not overflow */
enum { MOST_DEPTH = 1024 /* of stacks on the timeline; the tree has all of them */ };

/* --- Lists and names --------------------------------------------------------------------------------------- */

void *as_scene_grow(as_scene *v, void *items, size_t n, size_t *capacity, size_t bytes_each)
{
    if (n < *capacity)
        return items;
    size_t more = *capacity ? 2 * *capacity : 64;
    void  *moved = v->failed ? NULL : realloc(items, more * bytes_each);
    if (!moved) {
        v->failed = true;
        return items;
    }
    *capacity = more;
    return moved;
}

const char *as_scene_clean(as_scene *v, const char *text)
{
    as_text clean = {0};
    size_t  n = text ? strlen(text) : 0;
    for (size_t i = 0; i < n;) {
        size_t        length = as_utf8_length(text + i, n - i);
        unsigned char c = (unsigned char)text[i];
        bool          control = c < 32 || c == 127 || (c == 0xc2 && length == 2 && (unsigned char)text[i + 1] < 0xa0);
        if (!length || control)
            as_text_add(&clean, control ? " " : "\xef\xbf\xbd");
        else
            as_text_add_n(&clean, text + i, length);
        i += length ? length : 1;
    }
    const char *kept = clean.failed ? NULL : as_arena_text(&v->arena, clean.length ? clean.data : "(no name)");
    as_text_drop(&clean);
    v->failed |= !kept;
    return kept ? kept : "";
}

uint32_t as_scene_name_add(as_scene *v, const as_scene_name *name)
{
    if (!AS_SCENE_ROOM(v, v->names, v->n_names, v->cap_names))
        return 0;
    as_scene_name *n = &v->names[v->n_names];
    *n = *name;
    n->name = as_scene_clean(v, name->name);
    n->category = as_scene_clean(v, name->category);
    n->file = name->file && *name->file ? as_scene_clean(v, name->file) : "";
    n->object = name->object && *name->object ? as_scene_clean(v, name->object) : "";
    return (uint32_t)v->n_names++;
}

uint64_t as_scene_ns(const as_scene_process *p, uint64_t ticks)
{
    double ns = (double)ticks * p->trace->ns_per_tick;
    return p->offset_ns + (uint64_t)(ns < MOST_NS ? ns : MOST_NS);
}

uint32_t as_scene_frame_name(as_scene *v, as_scene_process *p, int frame)
{
    const as_trace_frame *f = &p->trace->frames[frame];
    uint32_t             *slot = &p->frame_names[frame];
    if (!*slot)
        *slot = as_scene_name_add(v, &(as_scene_name){.name = f->name,
                                                      .category = f->category && *f->category ? f->category : "code",
                                                      .file = f->file,
                                                      .object = f->object,
                                                      .line = f->line,
                                                      .flops = f->flops,
                                                      .bytes = f->bytes}) +
                1;
    return *slot - 1;
}

uint32_t as_scene_off_cpu(as_scene *v, as_scene_process *p)
{
    if (!p->off_cpu)
        p->off_cpu = as_scene_name_add(v, &(as_scene_name){.name = "[off CPU]", .category = "code"}) + 1;
    return p->off_cpu - 1;
}

/* The run of a candidate, or of the only one. */
static const char *run_text(as_scene *v, const assay_trace *t, int arm)
{
    if (arm < 0 || arm >= t->n_arms || t->n_arms < 2)
        return "run";
    const char *text = as_arena_printf(&v->arena, "run of %s", t->arms[arm].name);
    return text ? text : "run";
}

/* Work belongs to the step itself, and not once more to its parts or to the device's view of it. */
static uint32_t step_name(as_scene *v, as_scene_process *p, int kind, int step)
{
    const assay_trace   *t = p->trace;
    const as_trace_step *s = &t->steps[step];
    uint32_t            *slot = &p->step_names[(size_t)kind * t->n_steps + (size_t)step];
    const char          *text = s->name;
    if (*slot)
        return *slot - 1;
    as_scene_name n = {.category = "step", .step = s};
    if (kind == AS_SPAN_RUN)
        text = run_text(v, t, s->arm), n = (as_scene_name){.category = "run"};
    else if (kind == AS_SPAN_SEGMENT)
        text = as_arena_printf(&v->arena, "segment %d on %s", s->segment, s->device), n = (as_scene_name){.category = "segment"};
    else if (kind == AS_SPAN_PART)
        text = as_arena_printf(&v->arena, "%s, a thread's part", s->name), n.category = "part";
    else if (kind == AS_SPAN_DEVICE)
        n.category = "device";
    else
        n.flops = s->flops, n.bytes = s->bytes_read + s->bytes_written;
    n.name = text ? text : "";
    *slot = as_scene_name_add(v, &n) + 1;
    return *slot - 1;
}

/* --- Tracks ---------------------------------------------------------------------------------------------------- */

static as_scene_track *track_find(as_scene *v, int process, as_track_kind kind, size_t lane, const char *name)
{
    for (size_t i = v->n_tracks; i-- > 0;) {
        as_scene_track *t = &v->tracks[i];
        if (t->process == process && t->kind == kind && t->lane == lane)
            return t;
    }
    if (!AS_SCENE_ROOM(v, v->tracks, v->n_tracks, v->cap_tracks))
        return NULL;
    as_scene_track *t = &v->tracks[v->n_tracks++];
    *t = (as_scene_track){.kind = kind, .process = process, .lane = lane, .tid = (uint32_t)v->n_tracks};
    t->name = as_scene_clean(v, name);
    return t;
}

static void span_add(as_scene *v, as_scene_track *track, const as_scene_span *span)
{
    if (!track || !AS_SCENE_ROOM(v, track->spans, track->n, track->cap))
        return;
    track->spans[track->n++] = *span;
    v->end_ns = span->end_ns > v->end_ns ? span->end_ns : v->end_ns;
}

/* Which device it is of, by its name; the first step of that device says which. */
static size_t device_of(const assay_trace *t, int step)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (!strcmp(t->steps[i].device, t->steps[step].device))
            return i;
    return 0;
}

static as_scene_track *track_of(as_scene *v, int process, const as_span *s)
{
    const assay_trace *t = v->processes[process].trace;
    char               name[160];
    if (s->kind == AS_SPAN_USER) {
        const as_trace_lane *lane = &t->lanes[s->thread];
        if (lane->tid)
            snprintf(name, sizeof name, "%.100s (thread %u)", lane->name, lane->tid);
        else
            snprintf(name, sizeof name, "%.100s", lane->name);
        return track_find(v, process, AS_TRACK_USER, s->thread, name);
    }
    if (s->kind == AS_SPAN_DEVICE && s->step >= 0) {
        snprintf(name, sizeof name, "%.100s, by its own clock", t->steps[s->step].device);
        return track_find(v, process, AS_TRACK_DEVICE, device_of(t, s->step), name);
    }
    if (s->kind == AS_SPAN_PART && s->thread) {
        snprintf(name, sizeof name, "thread %u", s->thread);
        return track_find(v, process, AS_TRACK_THREAD, s->thread, name);
    }
    return track_find(v, process, AS_TRACK_MAIN, 0, "network");
}

static uint32_t name_of(as_scene *v, as_scene_process *p, const as_span *s, uint32_t *plain_run)
{
    if (s->kind == AS_SPAN_USER)
        return as_scene_frame_name(v, p, s->step);
    if (s->kind != AS_SPAN_RUN && s->step >= 0)
        return step_name(v, p, s->kind, s->step);
    if (!*plain_run)
        *plain_run = as_scene_name_add(v, &(as_scene_name){.name = "run", .category = "run"}) + 1;
    return *plain_run - 1;
}

static void spans_take(as_scene *v, int process)
{
    as_scene_process  *p = &v->processes[process];
    const assay_trace *t = p->trace;
    as_scene_track    *track = NULL;
    uint32_t           plain_run = 0;
    const as_span     *last = NULL;
    for (size_t i = 0; i < t->n_spans && !v->failed; i++) {
        const as_span *s = &t->spans[i];
        if (!last || last->kind != s->kind || last->thread != s->thread || s->kind == AS_SPAN_DEVICE)
            track = track_of(v, process, s);
        last = s;
        span_add(
            v, track,
            &(as_scene_span){.begin_ns = as_scene_ns(p, s->begin_ticks),
                             .end_ns = as_scene_ns(p, s->end_ticks),
                             .name = name_of(v, p, s, &plain_run),
                             .run = s->kind == AS_SPAN_USER ? UINT32_MAX : s->run,
                             .depth = s->kind == AS_SPAN_USER ? 0 : s->kind, /* among equals the wider kind is around the other */
                             .order = (uint32_t)i});
    }
}

/* A block of a candidate lasts as long as its samples together. */
static void blocks_take(as_scene *v, int process)
{
    as_scene_process  *p = &v->processes[process];
    const assay_trace *t = p->trace;
    if (!t->n_turns || !t->n_arms)
        return;
    as_scene_track *track = track_find(v, process, AS_TRACK_BLOCKS, 0, "candidates in turns");
    uint32_t       *names = AS_TAKE(&v->arena, uint32_t, t->n_arms);
    v->failed |= !names;
    for (int i = 0; !v->failed && i < t->n_arms; i++)
        names[i] = as_scene_name_add(v, &(as_scene_name){.name = t->arms[i].name, .category = "block"});
    for (size_t i = 0; !v->failed && i < t->n_turns; i++) {
        const as_turn *turn = &t->turns[i];
        double         ns = 0;
        for (uint32_t k = 0; k < turn->n_shots && (size_t)turn->first_shot + k < t->n_shots; k++)
            ns += t->shots[turn->first_shot + k].wall_ns;
        if (turn->arm >= (uint32_t)t->n_arms || !(turn->start_ns >= 0 && turn->start_ns < MOST_NS) || !(ns >= 0 && ns < MOST_NS))
            continue;
        uint64_t begin = p->offset_ns + (uint64_t)turn->start_ns;
        span_add(v, track,
                 &(as_scene_span){.begin_ns = begin,
                                  .end_ns = begin + (uint64_t)(ns * (t->calls ? t->calls : 1)),
                                  .name = names[turn->arm],
                                  .run = UINT32_MAX,
                                  .order = (uint32_t)i});
    }
}

/* A phase that nothing ended lasts to the end. */
static void phases_take(as_scene *v, int process)
{
    as_scene_process  *p = &v->processes[process];
    const assay_trace *t = p->trace;
    for (size_t i = 0; i < t->n_marks && !v->failed; i++) {
        size_t end = i + 1;
        if (t->marks[i].ends)
            continue;
        while (end < t->n_marks && (!t->marks[end].ends || strcmp(t->marks[end].name, t->marks[i].name)))
            end++;
        uint64_t begin_ns = as_scene_ns(p, t->marks[i].ticks);
        uint64_t end_ns = end < t->n_marks ? as_scene_ns(p, t->marks[end].ticks) : v->end_ns;
        uint32_t name = as_scene_name_add(v, &(as_scene_name){.name = t->marks[i].name, .category = "phase"});
        span_add(v, track_find(v, process, AS_TRACK_PHASES, 0, "phases"),
                 &(as_scene_span){.begin_ns = begin_ns,
                                  .end_ns = end_ns > begin_ns ? end_ns : begin_ns,
                                  .name = name,
                                  .run = UINT32_MAX,
                                  .order = (uint32_t)i});
    }
}

/* --- Nesting ------------------------------------------------------------------------------------------------------ */

/* The earlier and the longer first.  Of two that begin and end together the wider kind is around the other; of one kind the one that was
 * recorded later, because a span is recorded when it ends. */
static int by_begin(const void *a, const void *b)
{
    const as_scene_span *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return x->order > y->order ? -1 : x->order < y->order;
}

/* Recorders write a run behind its steps, and runs in their order: every span is near its place, and moving it there is much cheaper than
 * sorting all of them.  False: they are not; the order is then another, and none is lost. */
static bool sort_near(as_scene_span *spans, size_t n)
{
    size_t moves = 0, most = 64 * n;
    for (size_t i = 1; i < n && moves <= most; i++) {
        as_scene_span one = spans[i];
        size_t        at = i;
        for (; at && by_begin(&spans[at - 1], &one) > 0; at--)
            spans[at] = spans[at - 1];
        moves += i - at;
        spans[at] = one;
    }
    return moves <= most;
}

/* A span that is longer than the one around it ends with that one. */
static void nest(as_scene *v, as_scene_track *track)
{
    uint32_t *open = malloc((track->n + 1) * sizeof *open);
    size_t    n_open = 0;
    if (!open) {
        v->failed = true;
        return;
    }
    if (!sort_near(track->spans, track->n))
        qsort(track->spans, track->n, sizeof *track->spans, by_begin);
    for (size_t i = 0; i < track->n; i++) {
        as_scene_span *s = &track->spans[i];
        while (n_open && track->spans[open[n_open - 1]].end_ns <= s->begin_ns &&
               !(s->end_ns == s->begin_ns && track->spans[open[n_open - 1]].begin_ns == s->begin_ns))
            n_open--;
        if (n_open && s->end_ns > track->spans[open[n_open - 1]].end_ns)
            s->end_ns = track->spans[open[n_open - 1]].end_ns;
        s->depth = (uint32_t)n_open;
        open[n_open++] = (uint32_t)i;
    }
    free(open);
}

/* A run is known as its candidate's only by the steps in it. */
static void runs_name(as_scene *v, as_scene_track *track)
{
    as_scene_process *p = &v->processes[track->process];
    for (size_t i = 0; p->trace->n_arms > 1 && i + 1 < track->n; i++)
        for (size_t k = i + 1; !track->spans[i].depth && k < track->n && track->spans[k].depth; k++) {
            const as_trace_step *step = v->names[track->spans[k].name].step;
            if (!step || strcmp(v->names[track->spans[i].name].category, "run"))
                continue;
            track->spans[i].name = step_name(v, p, AS_SPAN_RUN, (int)(step - p->trace->steps));
            break;
        }
}

/* --- Looks --------------------------------------------------------------------------------------------------------- */

typedef struct lane_walk {
    as_scene         *v;
    as_scene_process *p;
    as_scene_track   *track;
    uint32_t          path[MOST_DEPTH + 1], names[MOST_DEPTH + 1];
    size_t            open[MOST_DEPTH + 1], n_open; /* spans that still go on */
    uint64_t          last_end;
} lane_walk;

/* Names of the stack from its root; the innermost are left out where it is too deep. */
static size_t path_of(lane_walk *w, const as_stack_sample *look)
{
    const assay_trace *t = w->p->trace;
    size_t             n = 0, depth = 0;
    for (int32_t s = (int32_t)look->stack; s >= 0; s = t->stacks[s].parent)
        depth++;
    for (int32_t s = (int32_t)look->stack; s >= 0; s = t->stacks[s].parent, depth--)
        if (depth <= MOST_DEPTH)
            w->path[depth - 1] = as_scene_frame_name(w->v, w->p, t->stacks[s].frame), n = n ? n : depth;
    if (look->state == AS_STACK_OFF_CPU && n < MOST_DEPTH)
        w->path[n++] = as_scene_off_cpu(w->v, w->p);
    return n;
}

static void close_to(lane_walk *w, size_t depth, uint64_t at)
{
    while (w->n_open > depth)
        w->track->spans[w->open[--w->n_open]].end_ns = at;
}

/* Looks that follow each other in the same frame are one span of it. */
static void look_add(lane_walk *w, const as_stack_sample *look)
{
    uint64_t begin = as_scene_ns(w->p, look->ticks),
             weight = look->weight_ns < (uint64_t)MOST_NS ? look->weight_ns : (uint64_t)MOST_NS;
    size_t n = path_of(w, look), same = 0;
    bool   goes_on = w->n_open && begin <= w->last_end + weight / 2;
    if (begin < w->last_end)
        w->last_end = begin;
    while (goes_on && same < n && same < w->n_open && w->names[same] == w->path[same])
        same++;
    close_to(w, same, goes_on ? begin : w->last_end);
    for (; same < n && !w->v->failed; same++) {
        w->open[same] = w->track->n;
        w->names[same] = w->path[same];
        span_add(w->v, w->track,
                 &(as_scene_span){
                     .begin_ns = begin, .end_ns = begin, .name = w->path[same], .run = UINT32_MAX, .depth = (uint32_t)same});
        w->n_open = same + 1;
    }
    w->last_end = begin + weight;
    w->v->end_ns = w->last_end > w->v->end_ns ? w->last_end : w->v->end_ns;
}

static int by_ticks(const void *a, const void *b)
{
    const as_stack_sample *x = *(const as_stack_sample *const *)a, *y = *(const as_stack_sample *const *)b;
    return x->lane != y->lane     ? (x->lane < y->lane ? -1 : 1)
           : x->ticks != y->ticks ? (x->ticks < y->ticks ? -1 : 1)
           : x < y                ? -1
                                  : x > y;
}

static void looks_take(as_scene *v, int process)
{
    as_scene_process       *p = &v->processes[process];
    const assay_trace      *t = p->trace;
    const as_stack_sample **order = t->n_looks ? malloc(t->n_looks * sizeof *order) : NULL;
    lane_walk              *w = t->n_looks ? calloc(1, sizeof *w) : NULL;
    v->failed |= t->n_looks && (!order || !w);
    for (size_t i = 0; !v->failed && i < t->n_looks; i++)
        order[i] = &t->looks[i];
    if (!v->failed && t->n_looks)
        qsort(order, t->n_looks, sizeof *order, by_ticks);
    for (size_t i = 0; !v->failed && i < t->n_looks; i++) {
        if (!i || order[i]->lane != order[i - 1]->lane) {
            const as_trace_lane *lane = &t->lanes[order[i]->lane];
            char                 name[160];
            snprintf(name, sizeof name, "%.100s (thread %u), sampled", lane->name, lane->tid);
            *w = (lane_walk){.v = v, .p = p, .track = track_find(v, process, AS_TRACK_LOOKS, order[i]->lane, name)};
        }
        if (w->track)
            look_add(w, order[i]);
        if (w->track && (i + 1 == t->n_looks || order[i + 1]->lane != order[i]->lane))
            close_to(w, 0, w->last_end);
    }
    free(w);
    free(order);
}

/* --- Opening ---------------------------------------------------------------------------------------------------------- */

static const char *process_text(as_scene *v, const assay_trace *t)
{
    const char *text = t->name && *t->name ? as_arena_text(&v->arena, t->name)
                       : t->model && *t->model && t->batch
                           ? as_arena_printf(&v->arena, "%s, batch %llu", t->model, (unsigned long long)t->batch)
                       : t->model && *t->model ? as_arena_text(&v->arena, t->model)
                       : t->n_lanes            ? as_arena_text(&v->arena, t->lanes[0].name)
                                               : "a run";
    return as_scene_clean(v, text);
}

/* Traces that were measured one after the other stand so on the timeline. */
static uint64_t offset_of(const assay_trace *const *traces, size_t n, size_t i)
{
    uint64_t first = UINT64_MAX;
    for (size_t k = 0; k < n; k++)
        first = traces[k]->start_unix_ns < first ? traces[k]->start_unix_ns : first;
    uint64_t offset = traces[i]->start_unix_ns - first;
    return first && offset < (uint64_t)MOST_NS ? offset : 0;
}

static bool processes_open(as_scene *v, const assay_trace *const *traces, size_t n)
{
    v->processes = AS_TAKE(&v->arena, as_scene_process, n);
    if (!v->processes)
        return false;
    for (size_t i = 0; i < n; i++) {
        as_scene_process *p = &v->processes[i];
        p->trace = traces[i];
        p->offset_ns = offset_of(traces, n, i);
        p->pid = n == 1 && traces[i]->origin.pid ? traces[i]->origin.pid : (uint32_t)i + 1;
        p->name = process_text(v, traces[i]);
        p->root = UINT32_MAX;
        p->step_names = AS_TAKE(&v->arena, uint32_t, traces[i]->n_steps * (AS_SPAN_DEVICE + 1));
        p->frame_names = AS_TAKE(&v->arena, uint32_t, traces[i]->n_frames);
        p->stack_nodes = AS_TAKE(&v->arena, uint32_t, traces[i]->n_stacks);
        if (!p->step_names || !p->frame_names || !p->stack_nodes)
            return false;
    }
    v->n_processes = n;
    return !v->failed;
}

assay_status as_scene_open(assay_env *env, const assay_trace *const *traces, size_t n, bool all, as_scene *out)
{
    *out = (as_scene){.env = env, .all = all, .said = "", .said_sums = ""};
    as_scene *v = out;
    v->failed = !processes_open(v, traces, n);
    for (size_t i = 0; i < v->n_processes && !v->failed; i++) {
        spans_take(v, (int)i);
        blocks_take(v, (int)i);
        phases_take(v, (int)i);
    }
    for (size_t i = 0; i < v->n_tracks && !v->failed; i++) {
        nest(v, &v->tracks[i]);
        if (v->tracks[i].kind == AS_TRACK_MAIN && !v->failed)
            runs_name(v, &v->tracks[i]);
    }
    for (size_t i = 0; i < v->n_processes && !v->failed; i++)
        looks_take(v, (int)i);
    if (!v->failed)
        as_scene_tree_make(v);
    if (!v->failed)
        as_scene_counters_make(v);
    if (!v->failed)
        as_scene_memory_make(v);
    if (!v->failed)
        as_scene_cut(v);
    if (!v->failed)
        return ASSAY_OK;
    as_scene_drop(v);
    return as_fail(env, ASSAY_NO_MEMORY, "export: not enough memory for the timeline of %zu %s", n, n == 1 ? "trace" : "traces");
}

void as_scene_drop(as_scene *v)
{
    for (size_t i = 0; i < v->n_tracks; i++)
        free(v->tracks[i].spans);
    for (size_t i = 0; i < v->n_counters; i++)
        free(v->counters[i].points);
    free(v->names);
    free(v->tracks);
    free(v->counters);
    free(v->nodes);
    free(v->slots);
    as_arena_drop(&v->arena);
    *v = (as_scene){.said = "", .said_sums = ""};
}
