/* tx_prometheus.c - Prometheus' text format 0.0.4: facts of a run as gauges, its times as a histogram. */
#include "export/metrics.h"

static assay_status save(assay_env *env, as_scene *v, FILE *file) { return as_metrics_write(env, v, file, false); }

const as_trace_export as_tx_prometheus = {
    .key = "prometheus", .what = "Prometheus text 0.0.4", .scope = AS_SCOPE_FACTS, .write = save};
