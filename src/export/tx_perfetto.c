/* tx_perfetto.c - Perfetto's trace packets, written by hand: one sequence, interned names, a track per thread and counter.
 *
 * Packets stand track by track and not by time: a reader sorts them, and keeps the order of those at one time. */
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

/* Field numbers of Perfetto's protocol buffers. */
enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_NOTES = 3,       /* names of annotations */
    INTERNED_NOTE_TEXTS = 29, /* their texts */
    ENTRY_IID = 1,
    ENTRY_NAME = 2,
    EVENT_CATEGORY_IID = 3,
    EVENT_NOTE = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER = 30,
    EVENT_COUNTER_F64 = 44,
    NOTE_NAME_IID = 1,
    NOTE_U64 = 3,
    NOTE_TEXT_IID = 17,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT = 3,
    COUNTER_UNIT_NAME = 6,
    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_COUNTER = 4,
    FLAG_CLEARED = 1,
    FLAG_NEEDS_STATE = 2,
    SEQUENCE = 1
};
enum { NOTE_OP = 1, NOTE_KERNEL, NOTE_FLOPS, NOTE_BYTES };

static uint64_t process_uuid(size_t i) { return 1 + i; }
static uint64_t track_uuid(const as_scene *v, size_t i) { return 1 + v->n_processes + i; }
static uint64_t counter_uuid(const as_scene *v, size_t i) { return 1 + v->n_processes + v->n_tracks + i; }

typedef struct writer {
    as_scene *v;
    as_sink  *sink;
    as_text   event, packet, part; /* reused */
} writer;

/* Field 1 of the trace: the packet. */
static void packet_end(writer *w)
{
    w->part.length = 0;
    as_proto_varint(&w->part, (uint64_t)TRACE_PACKET << 3 | 2);
    as_proto_varint(&w->part, w->packet.length);
    as_sink_bytes(w->sink, w->part.data, w->part.length);
    as_sink_bytes(w->sink, w->packet.data, w->packet.length);
    w->packet.length = 0;
}

static void descriptor_end(writer *w, as_text *descriptor)
{
    as_proto_u64(&w->packet, PACKET_SEQUENCE, SEQUENCE);
    as_proto_bytes(&w->packet, PACKET_TRACK, descriptor->data, descriptor->length);
    packet_end(w);
    descriptor->length = 0;
}

static void entry_add(as_text *interned, uint32_t field, uint64_t iid, const char *text)
{
    as_text one = {0};
    as_proto_u64(&one, ENTRY_IID, iid);
    as_proto_text(&one, ENTRY_NAME, text);
    as_proto_bytes(interned, field, one.data, one.length);
    as_text_drop(&one);
}

/* All names before all events: iid is the index + 1; texts of operator and kernel have two for each name. */
static bool interned_write(writer *w)
{
    as_text                  all = {0};
    static const char *const notes[] = {"op", "kernel", "flops", "bytes"};
    for (size_t i = 0; i < w->v->n_names; i++) {
        const as_scene_name *n = &w->v->names[i];
        entry_add(&all, INTERNED_CATEGORIES, i + 1, n->category);
        entry_add(&all, INTERNED_NAMES, i + 1, n->name);
        if (n->step) {
            entry_add(&all, INTERNED_NOTE_TEXTS, 2 * i + 1, as_scene_clean(w->v, n->step->op));
            entry_add(&all, INTERNED_NOTE_TEXTS, 2 * i + 2, as_scene_clean(w->v, n->step->kernel));
        }
    }
    for (size_t i = 0; i < AS_COUNT(notes); i++)
        entry_add(&all, INTERNED_NOTES, i + 1, notes[i]);
    as_proto_u64(&w->packet, PACKET_SEQUENCE, SEQUENCE);
    as_proto_bytes(&w->packet, PACKET_INTERNED, all.data, all.length);
    as_proto_u64(&w->packet, PACKET_FLAGS, FLAG_CLEARED);
    bool ok = !all.failed && !w->packet.failed && !w->v->failed;
    if (ok)
        packet_end(w);
    as_text_drop(&all);
    return ok;
}

static void tracks_write(writer *w)
{
    as_scene *v = w->v;
    as_text   d = {0}, part = {0};
    for (size_t i = 0; i < v->n_processes; i++, part.length = 0) {
        as_proto_u64(&part, PROCESS_PID, v->processes[i].pid);
        as_proto_text(&part, PROCESS_NAME, v->processes[i].name);
        as_proto_u64(&d, TRACK_UUID, process_uuid(i));
        as_proto_bytes(&d, TRACK_PROCESS, part.data, part.length);
        descriptor_end(w, &d);
    }
    for (size_t i = 0; i < v->n_tracks; i++, part.length = 0) {
        as_proto_u64(&part, THREAD_PID, v->processes[v->tracks[i].process].pid);
        as_proto_u64(&part, THREAD_TID, v->tracks[i].tid);
        as_proto_text(&part, THREAD_NAME, v->tracks[i].name);
        as_proto_u64(&d, TRACK_UUID, track_uuid(v, i));
        as_proto_u64(&d, TRACK_PARENT, process_uuid((size_t)v->tracks[i].process));
        as_proto_bytes(&d, TRACK_THREAD, part.data, part.length);
        descriptor_end(w, &d);
    }
    for (size_t i = 0; i < v->n_counters; i++, part.length = 0) {
        as_proto_text(&part, COUNTER_UNIT_NAME, v->counters[i].unit);
        as_proto_u64(&d, TRACK_UUID, counter_uuid(v, i));
        as_proto_text(&d, TRACK_NAME, v->counters[i].name);
        as_proto_u64(&d, TRACK_PARENT, process_uuid((size_t)v->counters[i].process));
        as_proto_bytes(&d, TRACK_COUNTER, part.data, part.length);
        descriptor_end(w, &d);
    }
    w->packet.failed |= d.failed || part.failed;
    as_text_drop(&d);
    as_text_drop(&part);
}

static size_t put(char *to, uint64_t value)
{
    size_t n = 0;
    for (; value > 127; value >>= 7)
        to[n++] = (char)(value | 128);
    to[n++] = (char)value;
    return n;
}

/* One packet of an event whose fields are in two parts.  There are millions of them: nothing here is a general message. */
static void event_write(writer *w, uint64_t ns, const as_text *event, const char *more, size_t n_more)
{
    char              head[64], time[16], length[16];
    static const char sequence[] = {PACKET_SEQUENCE << 3, SEQUENCE}, flags[] = {PACKET_FLAGS << 3, FLAG_NEEDS_STATE};
    size_t            n = 0, n_time = put(time, ns), n_length = put(length, event->length + n_more);
    n += put(head, (uint64_t)TRACE_PACKET << 3 | 2);
    n += put(head + n, 1 + n_time + sizeof sequence + 1 + n_length + event->length + n_more + sizeof flags);
    head[n++] = (char)(PACKET_TIMESTAMP << 3);
    memcpy(head + n, time, n_time), n += n_time;
    memcpy(head + n, sequence, sizeof sequence), n += sizeof sequence;
    head[n++] = (char)(PACKET_EVENT << 3 | 2);
    memcpy(head + n, length, n_length), n += n_length;
    as_sink_bytes(w->sink, head, n);
    as_sink_bytes(w->sink, event->data, event->length);
    as_sink_bytes(w->sink, more, n_more);
    as_sink_bytes(w->sink, flags, sizeof flags);
}

static void note_add(as_text *t, uint64_t name, uint32_t field, uint64_t value)
{
    as_text one = {0};
    as_proto_u64(&one, NOTE_NAME_IID, name);
    as_proto_u64(&one, field, value);
    as_proto_bytes(t, EVENT_NOTE, one.data, one.length);
    as_text_drop(&one);
}

/* What every begin of a name has. */
static bool heads_make(const as_scene *v, as_text *t, size_t *at)
{
    for (size_t i = 0; i < v->n_names; i++) {
        const as_scene_name *n = &v->names[i];
        at[i] = t->length;
        as_proto_u64(t, EVENT_CATEGORY_IID, i + 1);
        as_proto_u64(t, EVENT_NAME_IID, i + 1);
        if (n->step) {
            note_add(t, NOTE_OP, NOTE_TEXT_IID, 2 * i + 1);
            note_add(t, NOTE_KERNEL, NOTE_TEXT_IID, 2 * i + 2);
        }
        if (n->flops || n->bytes) {
            note_add(t, NOTE_FLOPS, NOTE_U64, n->flops);
            note_add(t, NOTE_BYTES, NOTE_U64, n->bytes);
        }
    }
    at[v->n_names] = t->length;
    return !t->failed;
}

static void spans_write(writer *w, size_t track, const as_text *heads, const size_t *at)
{
    const as_scene_track *t = &w->v->tracks[track];
    uint64_t             *ends = NULL;
    size_t                n_open = 0, cap = 0;
    as_text               begin = {0}, end = {0};
    as_proto_u64(&begin, EVENT_TYPE, TYPE_BEGIN);
    as_proto_u64(&begin, EVENT_TRACK, track_uuid(w->v, track));
    as_proto_u64(&end, EVENT_TYPE, TYPE_END);
    as_proto_u64(&end, EVENT_TRACK, track_uuid(w->v, track));
    w->packet.failed |= begin.failed || end.failed;
    for (size_t i = 0; i < t->n && !w->packet.failed; i++) {
        const as_scene_span *s = &t->spans[i];
        while (n_open > s->depth)
            event_write(w, ends[--n_open], &end, "", 0);
        if (!AS_SCENE_ROOM(w->v, ends, n_open, cap))
            break;
        event_write(w, s->begin_ns, &begin, heads->data + at[s->name], at[s->name + 1] - at[s->name]);
        ends[n_open++] = s->end_ns;
    }
    while (n_open && !w->packet.failed)
        event_write(w, ends[--n_open], &end, "", 0);
    free(ends);
    as_text_drop(&begin);
    as_text_drop(&end);
}

static void counter_write(writer *w, size_t i)
{
    const as_scene_counter *c = &w->v->counters[i];
    for (size_t k = 0; k < c->n; k++) {
        double value = c->points[k].value;
        as_proto_u64(&w->event, EVENT_TYPE, TYPE_COUNTER);
        as_proto_u64(&w->event, EVENT_TRACK, counter_uuid(w->v, i));
        if (value >= 0 && value < 9e15 && value == (double)(uint64_t)value)
            as_proto_u64(&w->event, EVENT_COUNTER, (uint64_t)value);
        else
            as_proto_f64(&w->event, EVENT_COUNTER_F64, value);
        if (!w->event.failed)
            event_write(w, c->points[k].ns, &w->event, "", 0);
        w->event.length = 0;
    }
}

static bool all_write(writer *w, size_t *at)
{
    as_text heads = {0};
    bool    ok = heads_make(w->v, &heads, at) && interned_write(w);
    if (ok)
        tracks_write(w);
    for (size_t i = 0; ok && i < w->v->n_tracks; i++)
        spans_write(w, i, &heads, at);
    for (size_t i = 0; ok && i < w->v->n_counters; i++)
        counter_write(w, i);
    as_text_drop(&heads);
    return ok && !w->event.failed && !w->packet.failed && !w->part.failed && !w->v->failed;
}

static assay_status save(assay_env *env, as_scene *v, FILE *file)
{
    writer  w = {.v = v, .sink = malloc(sizeof *w.sink)};
    size_t *at = malloc((v->n_names + 1) * sizeof *at);
    bool    ok = w.sink && at;
    if (ok) {
        w.sink->file = file;
        w.sink->n = 0;
        ok = all_write(&w, at);
        as_sink_flush(w.sink);
    }
    free(w.sink);
    free(at);
    as_text_drop(&w.event);
    as_text_drop(&w.packet);
    as_text_drop(&w.part);
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "perfetto: not enough memory for %zu names", v->n_names);
}

const as_trace_export as_tx_perfetto = {
    .key = "perfetto", .what = "Perfetto trace, protocol buffers", .scope = AS_SCOPE_TIMELINE, .write = save};
