/* metrics.h - what a run measured as samples for Prometheus, in either of its two text formats. */
#ifndef AS_EXPORT_METRICS_H
#define AS_EXPORT_METRICS_H

#include "export/scene.h"

/* open: OpenMetrics 1.0, else the text format 0.0.4. */
assay_status as_metrics_write(assay_env *env, as_scene *v, FILE *file, bool open);

#endif
