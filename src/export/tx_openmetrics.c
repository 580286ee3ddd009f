/* tx_openmetrics.c - OpenMetrics 1.0: facts of a run as gauges, its times as a histogram. */
#include "export/metrics.h"

static assay_status save(assay_env *env, as_scene *v, FILE *file) { return as_metrics_write(env, v, file, true); }

const as_trace_export as_tx_openmetrics = {.key = "openmetrics", .what = "OpenMetrics 1.0", .scope = AS_SCOPE_FACTS, .write = save};
