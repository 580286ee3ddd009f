/* tell_stream.c - the report of a stream, as text and as JSON. */
#include <inttypes.h>

#include "base/json.h"
#include "base/metric.h"
#include "lab/tell.h"

static void metric_print(FILE *file, const char *name, const assay_metric *m)
{
    char value[64], lo[64], hi[64];
    if (!as_metric_has(m))
        fprintf(file, "  %-16s n/a: %s\n", name, m->reason);
    else if (m->lo < m->hi)
        fprintf(file, "  %-16s %s  [%s, %s]\n", name, as_show(value, sizeof value, m->value, m->unit),
                as_show(lo, sizeof lo, m->lo, m->unit), as_show(hi, sizeof hi, m->hi, m->unit));
    else
        fprintf(file, "  %-16s %s\n", name, as_show(value, sizeof value, m->value, m->unit));
}

void as_stream_print(const as_stream_report *r, FILE *file)
{
    char text[64];
    fprintf(file, "stream: %" PRIu64 " answer%s%s\n", r->n, r->n == 1 ? "" : "s", r->cancelled ? ", then interrupted" : "");
    if (as_metric_has(&r->rate))
        fprintf(file, "  %-16s %.4g/s\n", "rate", r->rate.value);
    else
        fprintf(file, "  %-16s n/a: %s\n", "rate", r->rate.reason);
    if (r->deadline_ns)
        fprintf(file, "  %-16s %" PRIu64 " of %" PRIu64 " answers later than %s\n", "deadline misses", r->n_missed, r->n,
                as_show(text, sizeof text, (double)r->deadline_ns, "ns"));
    else
        fprintf(file, "  %-16s n/a: neither --rate nor --deadline was given\n", "deadline misses");
    metric_print(file, "latency p50", &r->p50);
    metric_print(file, "latency p99", &r->p99);
    metric_print(file, "latency p99.9", &r->p999);
    metric_print(file, "latency max", &r->max);
    metric_print(file, "compute p50", &r->compute_p50);
    metric_print(file, "jitter", &r->jitter);
    metric_print(file, "interval jitter", &r->interval_jitter);
    if (r->n_waiting)
        fprintf(file, "  %" PRIu64 " samples waited for the answer before them: their latency counts from that answer on\n",
                r->n_waiting);
}

assay_status as_stream_json(assay_env *env, const as_stream_report *r, const char *model, const char *path)
{
    const struct {
        const char  *key;
        assay_metric metric;
    } rows[] = {
        {"answers", as_metric_counted(r->n, "1", "stream")},
        {"deadline_misses", r->deadline_ns ? as_metric_counted(r->n_missed, "1", r->clock)
                                           : as_metric_unavailable("1", "neither --rate nor --deadline was given")},
        {"waiting", as_metric_counted(r->n_waiting, "1", "stream")},
        {"rate", r->rate},
        {"latency_p50", r->p50},
        {"latency_p99", r->p99},
        {"latency_p99_9", r->p999},
        {"latency_max", r->max},
        {"compute_p50", r->compute_p50},
        {"jitter", r->jitter},
        {"interval_jitter", r->interval_jitter},
    };
    as_out out;
    AS_TRY(as_out_open(env, path, &out));
    as_json w;
    as_json_start(&w, out.file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.stream/1");
    as_json_key_text(&w, "model", model);
    as_json_key_bool(&w, "complete", !r->cancelled);
    as_json_key(&w, "rate_asked_hz");
    r->rate_hz ? as_json_i64(&w, r->rate_hz) : as_json_null(&w);
    as_json_key(&w, "deadline_ns");
    r->deadline_ns ? as_json_u64(&w, r->deadline_ns) : as_json_null(&w);
    as_json_key(&w, "metrics");
    as_json_object(&w);
    bool ok = true;
    for (size_t i = 0; i < AS_COUNT(rows); i++) {
        as_json_key(&w, rows[i].key);
        if (!as_json_metric(&w, &rows[i].metric)) {
            as_json_null(&w);
            ok = false;
        }
    }
    as_json_object_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
    if (!ok) {
        as_out_abandon(&out);
        return as_fail(env, ASSAY_INTERNAL, "stream: a metric without a kind");
    }
    return as_out_commit(env, &out);
}
