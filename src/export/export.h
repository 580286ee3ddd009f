/* export.h - models and traces in other tools' formats.  One format per file: ex_<name>.c exports `const as_exporter as_ex_<name>` (models),
 * tx_<name>.c exports `const as_trace_export as_tx_<name>` (traces). */
#ifndef AS_EXPORT_EXPORT_H
#define AS_EXPORT_EXPORT_H

#include <stdio.h>

#include "base/options.h"
#include "model/model.h"
#include "trace/trace.h"

typedef struct as_export_options {
    const char *name; /* name of files and functions; NULL: the model's */
    bool        libm; /* call exp, tanh and the like from libm instead of writing our own */
    uint64_t    seed; /* of the golden vectors */
} as_export_options;

extern const as_option_member as_export_members[];
assay_status                  as_export_options_read(assay_env *env, const assay_options *options, as_export_options *out);

typedef struct as_exporter {
    const char *key; /* the option that asks for it and names the target */
    const char *help;
    /* Writes everything or nothing. */
    assay_status (*save)(assay_env *env, const assay_model *model, const as_export_options *options, const char *path);
} as_exporter;

extern const as_exporter *const as_ex_table[];

/* --- Traces ------------------------------------------------------------------------------------------------- */

/* A default export stays below these: viewers fail on more.  Above them whole runs are left out, and aggregates stay exact. */
enum { AS_EXPORT_EVENTS = 300000, AS_EXPORT_BYTES = 48 << 20 };

/* What a file is made of: the timeline, which may be cut; sums of all that was recorded; facts. */
typedef enum as_export_scope { AS_SCOPE_TIMELINE, AS_SCOPE_SUMS, AS_SCOPE_FACTS } as_export_scope;

struct as_scene; /* what every format is written from: export/scene.h */
typedef struct as_trace_export {
    const char     *key;  /* the option that asks for it and names the file, and the format of assay_trace_export(): "chrome" */
    const char     *what; /* for people: "Chrome trace" */
    as_export_scope scope;
    assay_status (*write)(assay_env *env, struct as_scene *scene, FILE *file);
} as_trace_export;

extern const as_trace_export *const as_tx_table[]; /* ends with NULL */

/* The options of every verb that has traces to export: one key per format, and whether all of it is written. */
#define AS_EXPORT_KEYS "chrome", "perfetto", "speedscope", "folded", "pprof", "callgrind", "openmetrics", "prometheus", "export-all"

const as_trace_export *as_trace_export_find(const char *format); /* NULL: there is none */
bool                   as_traces_export_asked(const assay_options *options);
/* Writes the traces as the options ask, each format to its file: several traces are several processes in one file.  `told` (NULL: nobody) gets
 * what a file holds where that is not everything, "300 of 12000 runs"; the text lives as long as the call. */
typedef void (*as_export_told)(void *arg, const char *path, const char *text);
assay_status as_traces_export(assay_env *env, const assay_trace *const *traces, size_t n, const assay_options *options,
                              as_export_told told, void *arg);

#endif
