/* tx_speedscope.c - speedscope's own format: an evented profile for each track, a sampled one for each thread that was looked at. */
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

/* With more samples than this they are added up by stack. */
enum { MOST_SAMPLES = AS_EXPORT_EVENTS / 2, MOST_FRAMES = 5000000 };

static void quoted_write(as_sink *s, const char *text)
{
    as_text t = {0};
    as_json_quote(&t, text);
    as_sink_text(s, t.failed ? "\"\"" : t.data);
    as_text_drop(&t);
}

static void frames_write(as_sink *s, const as_scene *v)
{
    as_sink_text(s, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"shared\":{\"frames\":[");
    for (size_t i = 0; i < v->n_names; i++) {
        const as_scene_name *n = &v->names[i];
        as_sink_text(s, i ? ",\n{\"name\":" : "\n{\"name\":");
        quoted_write(s, n->name);
        if (*n->file) {
            as_sink_text(s, ",\"file\":");
            quoted_write(s, n->file);
        }
        if (n->line) {
            as_sink_text(s, ",\"line\":");
            as_sink_u64(s, (uint64_t)n->line);
        }
        as_sink_text(s, "}");
    }
    as_sink_text(s, "]},\n\"profiles\":[");
}

static void head_write(as_sink *s, const char *type, const char *name, uint64_t begin, uint64_t end)
{
    as_sink_text(s, "{\"type\":\"");
    as_sink_text(s, type);
    as_sink_text(s, "\",\"name\":");
    quoted_write(s, name);
    as_sink_text(s, ",\"unit\":\"nanoseconds\",\"startValue\":");
    as_sink_u64(s, begin);
    as_sink_text(s, ",\"endValue\":");
    as_sink_u64(s, end);
}

static void event_write(as_sink *s, bool *first, char type, uint32_t frame, uint64_t at)
{
    as_sink_text(s, *first ? "\n{\"type\":\"" : ",\n{\"type\":\"");
    *first = false;
    as_sink_bytes(s, &type, 1);
    as_sink_text(s, "\",\"frame\":");
    as_sink_u64(s, frame);
    as_sink_text(s, ",\"at\":");
    as_sink_u64(s, at);
    as_sink_text(s, "}");
}

static void evented_write(as_sink *s, as_scene *v, const as_scene_track *t)
{
    const as_scene_span **open = NULL;
    size_t                n_open = 0, cap = 0;
    bool                  first = true;
    uint64_t              end = 0;
    for (size_t i = 0; i < t->n; i++)
        end = t->spans[i].end_ns > end ? t->spans[i].end_ns : end;
    head_write(s, "evented", t->name, t->n ? t->spans[0].begin_ns : 0, end);
    as_sink_text(s, ",\"events\":[");
    for (size_t i = 0; i < t->n && !v->failed; i++) {
        const as_scene_span *span = &t->spans[i];
        for (; n_open > span->depth; n_open--)
            event_write(s, &first, 'C', open[n_open - 1]->name, open[n_open - 1]->end_ns);
        if (!AS_SCENE_ROOM(v, open, n_open, cap))
            break;
        event_write(s, &first, 'O', span->name, span->begin_ns);
        open[n_open++] = span;
    }
    for (; n_open; n_open--)
        event_write(s, &first, 'C', open[n_open - 1]->name, open[n_open - 1]->end_ns);
    as_sink_text(s, "]}");
    free(open);
}

/* --- Looks ----------------------------------------------------------------------------------------------------------- */

typedef struct sampled {
    const as_scene_process *p;
    const as_stack_sample **looks; /* of one thread, by time */
    size_t                  n;
    uint64_t               *weights; /* of each stack on the CPU and off it, where they are added up; else NULL */
} sampled;

static size_t depth_of(const assay_trace *t, uint32_t stack)
{
    size_t n = 0;
    for (int32_t at = (int32_t)stack; at >= 0; at = t->stacks[at].parent)
        n++;
    return n;
}

static void stack_write(as_sink *s, as_scene *v, const as_scene_process *p, uint32_t stack, bool off_cpu)
{
    const assay_trace *t = p->trace;
    size_t             n = depth_of(t, stack), at = n;
    uint32_t          *names = malloc((n + 1) * sizeof *names);
    if (!names) {
        v->failed = true;
        return;
    }
    for (int32_t i = (int32_t)stack; i >= 0; i = t->stacks[i].parent)
        names[--at] = p->frame_names[t->stacks[i].frame] - 1;
    if (off_cpu)
        names[n++] = p->off_cpu - 1;
    for (size_t i = 0; i < n; i++) {
        as_sink_text(s, i ? "," : "[");
        as_sink_u64(s, names[i]);
    }
    as_sink_text(s, "]");
    free(names);
}

/* The stacks, or with `weights` how much time each of them stands for. */
static void samples_write(as_sink *s, as_scene *v, const sampled *a, bool weights)
{
    size_t n = a->weights ? 2 * a->p->trace->n_stacks : a->n;
    bool   first = true;
    for (size_t i = 0; i < n; i++) {
        uint32_t stack = a->weights ? (uint32_t)(i / 2) : a->looks[i]->stack;
        bool     off = a->weights ? i % 2 : a->looks[i]->state == AS_STACK_OFF_CPU;
        uint64_t weight = a->weights ? a->weights[i] : a->looks[i]->weight_ns;
        if (a->weights && !weight)
            continue;
        as_sink_text(s, first ? "\n" : ",\n");
        first = false;
        if (weights)
            as_sink_u64(s, weight);
        else
            stack_write(s, v, a->p, stack, off);
    }
}

static void sampled_write(as_sink *s, as_scene *v, const as_scene_track *t, sampled *a)
{
    uint64_t sum = 0;
    size_t   n_frames = 0;
    for (size_t i = 0; i < a->n; i++) {
        sum += a->looks[i]->weight_ns;
        n_frames += depth_of(a->p->trace, a->looks[i]->stack);
    }
    if (!v->all && (a->n > MOST_SAMPLES || n_frames > MOST_FRAMES)) {
        a->weights = calloc(2 * a->p->trace->n_stacks, sizeof *a->weights);
        v->failed |= !a->weights;
        for (size_t i = 0; a->weights && i < a->n; i++)
            a->weights[2 * a->looks[i]->stack + (a->looks[i]->state == AS_STACK_OFF_CPU)] += a->looks[i]->weight_ns;
    }
    head_write(s, "sampled", t->name, 0, sum);
    as_sink_text(s, ",\"samples\":[");
    samples_write(s, v, a, false);
    as_sink_text(s, "],\"weights\":[");
    samples_write(s, v, a, true);
    as_sink_text(s, "]}");
    free(a->weights);
}

static int by_ticks(const void *a, const void *b)
{
    const as_stack_sample *x = *(const as_stack_sample *const *)a, *y = *(const as_stack_sample *const *)b;
    return x->ticks != y->ticks ? (x->ticks < y->ticks ? -1 : 1) : x < y ? -1 : x > y;
}

static void looks_write(as_sink *s, as_scene *v, const as_scene_track *t)
{
    const assay_trace *trace = v->processes[t->process].trace;
    sampled            a = {.p = &v->processes[t->process], .looks = malloc(trace->n_looks * sizeof *a.looks)};
    v->failed |= !a.looks;
    for (size_t i = 0; a.looks && i < trace->n_looks; i++)
        if (trace->looks[i].lane == t->lane)
            a.looks[a.n++] = &trace->looks[i];
    if (a.looks && a.n) {
        qsort(a.looks, a.n, sizeof *a.looks, by_ticks);
        sampled_write(s, v, t, &a);
    }
    free(a.looks);
}

static assay_status save(assay_env *env, as_scene *v, FILE *file)
{
    as_sink *s = malloc(sizeof *s);
    if (!s)
        return as_fail(env, ASSAY_NO_MEMORY, "speedscope: not enough memory");
    s->file = file;
    s->n = 0;
    frames_write(s, v);
    for (size_t i = 0; i < v->n_tracks; i++) {
        as_sink_text(s, i ? ",\n" : "\n");
        if (v->tracks[i].kind == AS_TRACK_LOOKS)
            looks_write(s, v, &v->tracks[i]);
        else
            evented_write(s, v, &v->tracks[i]);
    }
    if (!v->n_tracks) { /* a file without a profile is refused */
        head_write(s, "evented", "nothing was recorded", 0, 0);
        as_sink_text(s, ",\"events\":[]}");
    }
    as_sink_text(s, "],\n\"name\":");
    quoted_write(s, v->processes[0].name);
    as_sink_text(s, ",\"activeProfileIndex\":0,\"exporter\":\"assay " ASSAY_VERSION "\"}\n");
    as_sink_flush(s);
    free(s);
    return v->failed ? as_fail(env, ASSAY_NO_MEMORY, "speedscope: not enough memory for its stacks") : ASSAY_OK;
}

const as_trace_export as_tx_speedscope = {
    .key = "speedscope", .what = "speedscope profiles, JSON", .scope = AS_SCOPE_TIMELINE, .write = save};
