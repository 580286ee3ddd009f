/* trace_json.h - the candidates (arms) of a trace and their turns as JSON, "assay.trial/1": part of a run JSON, so that verdicts
 * can be computed again. */
#ifndef AS_TRACE_TRACE_JSON_H
#define AS_TRACE_TRACE_JSON_H

#include "base/json.h"
#include "trace/trace.h"

/* One JSON object; samples only if asked for. */
void as_trace_json_write(const assay_trace *t, as_json *w, bool with_samples);
/* From an object that as_json_parse() gave; checks every count and index, and names what is wrong by its key. */
assay_status as_trace_json_read(assay_env *env, const char *what, const char *path, const json_t *object, assay_trace **out);

/* The steps of all candidates' plans and the runs that recorded them, "layers" of a trial: trace_json_steps.c. */
void         as_trace_steps_write(const assay_trace *t, as_json *w);
assay_status as_trace_steps_read(assay_env *env, const char *what, const char *path, const json_t *layers, assay_trace *t);

#endif
