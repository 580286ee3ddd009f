/* tx_chrome.c - Chrome's trace events as JSON: for chrome://tracing, ui.perfetto.dev and speedscope. */
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

/* What every event of a name ends with: ,"name":"conv1","cat":"step","args":{...}} */
static bool tails_make(as_scene *v, as_text *t, size_t *at)
{
    for (size_t i = 0; i < v->n_names; i++) {
        const as_scene_name *n = &v->names[i];
        const char          *between = "";
        at[i] = t->length;
        as_text_add(t, ",\"name\":");
        as_json_quote(t, n->name);
        as_text_add(t, ",\"cat\":");
        as_json_quote(t, n->category);
        as_text_add(t, ",\"args\":{");
        if (n->step) {
            as_text_add(t, "\"op\":");
            as_json_quote(t, as_scene_clean(v, n->step->op));
            as_text_add(t, ",\"kernel\":");
            as_json_quote(t, as_scene_clean(v, n->step->kernel));
            between = ",";
        }
        if (n->flops || n->bytes)
            as_text_printf(t, "%s\"flops\":%llu,\"bytes\":%llu", between, (unsigned long long)n->flops,
                           (unsigned long long)n->bytes);
        as_text_add(t, "}}");
    }
    at[v->n_names] = t->length;
    return !t->failed && !v->failed;
}

static void meta_write(as_sink *s, const char *what, uint32_t pid, uint32_t tid, const char *text)
{
    as_text quoted = {0};
    as_json_quote(&quoted, text);
    as_sink_text(s, "{\"ph\":\"M\",\"name\":\"");
    as_sink_text(s, what);
    as_sink_text(s, "\",\"pid\":");
    as_sink_u64(s, pid);
    as_sink_text(s, ",\"tid\":");
    as_sink_u64(s, tid);
    as_sink_text(s, ",\"args\":{\"name\":");
    as_sink_text(s, quoted.failed ? "\"\"" : quoted.data);
    as_sink_text(s, "}}");
    as_text_drop(&quoted);
}

static void head_write(as_sink *s, as_scene *v)
{
    as_text quoted = {0};
    as_json_quote(&quoted, v->said);
    as_sink_text(s, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"creator\":\"assay " ASSAY_VERSION "\",\"holds\":");
    as_sink_text(s, !*v->said || quoted.failed ? "\"all that was recorded\"" : quoted.data);
    as_sink_text(s, "},\n\"traceEvents\":[");
    as_text_drop(&quoted);
}

static void spans_write(as_sink *s, const as_scene *v, const as_scene_track *t, const as_text *tails, const size_t *at)
{
    char   head[64];
    size_t n =
        (size_t)snprintf(head, sizeof head, ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", v->processes[t->process].pid, t->tid);
    for (size_t i = 0; i < t->n; i++) {
        const as_scene_span *span = &t->spans[i];
        as_sink_bytes(s, head, n);
        as_sink_us(s, span->begin_ns);
        as_sink_text(s, ",\"dur\":");
        as_sink_us(s, span->end_ns - span->begin_ns);
        as_sink_bytes(s, tails->data + at[span->name], at[span->name + 1] - at[span->name]);
    }
}

static void counter_write(as_sink *s, const as_scene *v, const as_scene_counter *c)
{
    as_text head = {0}, tail = {0};
    char    number[AS_NUMBER_BYTES];
    as_text_printf(&head, ",\n{\"ph\":\"C\",\"pid\":%u,\"name\":", v->processes[c->process].pid);
    as_json_quote(&head, c->name);
    as_text_add(&head, ",\"ts\":");
    as_text_add(&tail, ",\"args\":{");
    as_json_quote(&tail, c->unit);
    as_text_add(&tail, ":");
    for (size_t i = 0; i < c->n && !head.failed && !tail.failed; i++) {
        as_sink_bytes(s, head.data, head.length);
        as_sink_us(s, c->points[i].ns);
        as_sink_bytes(s, tail.data, tail.length);
        as_sink_text(s, as_number(number, c->points[i].value));
        as_sink_text(s, "}}");
    }
    as_text_drop(&head);
    as_text_drop(&tail);
}

static assay_status save(assay_env *env, as_scene *v, FILE *file)
{
    as_sink *s = malloc(sizeof *s);
    as_text  tails = {0};
    size_t  *at = malloc((v->n_names + 1) * sizeof *at);
    bool     ok = s && at && tails_make(v, &tails, at);
    if (ok) {
        s->file = file;
        s->n = 0;
        head_write(s, v);
        for (size_t i = 0; i < v->n_processes; i++) {
            as_sink_text(s, i ? ",\n" : "\n");
            meta_write(s, "process_name", v->processes[i].pid, 0, v->processes[i].name);
        }
        for (size_t i = 0; i < v->n_tracks; i++) {
            as_sink_text(s, ",\n");
            meta_write(s, "thread_name", v->processes[v->tracks[i].process].pid, v->tracks[i].tid, v->tracks[i].name);
            spans_write(s, v, &v->tracks[i], &tails, at);
        }
        for (size_t i = 0; i < v->n_counters; i++)
            counter_write(s, v, &v->counters[i]);
        as_sink_text(s, "\n]}\n");
        as_sink_flush(s);
    }
    free(s);
    free(at);
    as_text_drop(&tails);
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "chrome: not enough memory for %zu names", v->n_names);
}

const as_trace_export as_tx_chrome = {
    .key = "chrome", .what = "Chrome trace events, JSON", .scope = AS_SCOPE_TIMELINE, .write = save};
