/* session.h - the user's own code, recorded: spans of any thread, operations with their context, numbers, and the machine meanwhile.
 *
 * Threads write into lanes of their own (lane.h).  A collecting thread empties them in intervals into the one trace, reads the sensors and
 * lets the file grow.  What it costs is told in the trace. */
#ifndef AS_SESSION_SESSION_H
#define AS_SESSION_SESSION_H

#include "base/options.h"
#include "trace/trace.h"

typedef struct as_session_settings {
    uint64_t    history;     /* spans kept in memory */
    uint64_t    interval_ns; /* 0: there is no collecting thread */
    const char *sensors;
    const char *trace_path; /* NULL: no file */
} as_session_settings;
extern const as_option_member as_session_members[];

assay_status as_session_settings_read(assay_env *env, const assay_options *options, as_session_settings *out);
assay_status as_session_start(assay_env *env, const char *name, const as_session_settings *settings, assay_session **out);

#endif
