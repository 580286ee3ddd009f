/* store.h - keeps what was measured: runs with their trials, baselines, and the noise of each case.
 *
 * A store is opened by URL: NULL or "" is ".assay/runs.db" below the working directory; a path, or "sqlite:PATH", is that file.
 * If a writer is killed, the store holds all of its run or nothing of it; several processes may write at once.  Objects
 * (executables, models) are files in "objects/" beside the database, named by their SHA-256. */
#ifndef AS_STORE_STORE_H
#define AS_STORE_STORE_H

#include <stdio.h>

#include "analysis/duel/duel.h"
#include "trace/trace.h"

typedef struct as_store as_store;

#define AS_STORE_SCHEMA 2

/* Opens a store; if it does not exist, makes it when `create`, otherwise NOT_FOUND.  A file that is not a store, is damaged, or
 * was written by a newer assay is refused with a message and left unchanged; an older schema is migrated in one transaction. */
assay_status as_store_open(assay_env *env, const char *url, bool create, as_store **out);
/* Whether a run could be stored there; to check before measuring.  An existing store is opened; for a missing one, checks that it
 * could be made, but makes nothing. */
assay_status as_store_ready(assay_env *env, const char *url);
void         as_store_close(as_store *s);
const char  *as_store_path(const as_store *s);

/* --- Runs -------------------------------------------------------------------------------------------- */

typedef struct as_stored_run {
    int64_t     id;          /* given by the store */
    const char *kind;        /* "profile", "bench", "compare", "check", "baseline", "noise" */
    const char *title;       /* what was asked for */
    const char *fingerprint; /* of the machine */
    const char *commit;      /* of the working directory, "" if none */
    const char *state;       /* "complete", "partial", ... */
    int64_t     unix_time;
    int64_t     n_trials;
    const char *report; /* the run as "assay.run/1" JSON; NULL in lists */
} as_stored_run;

/* Stores in one transaction the description of the run and the whole record of each of its trials. */
assay_status as_store_put_run(assay_env *env, as_store *s, const as_stored_run *run, const assay_trace *const *trials, size_t n,
                              int64_t *id);
/* Newest first; kind NULL: all; limit 0: all.  The rows live in the arena. */
assay_status as_store_list_runs(assay_env *env, as_store *s, const char *kind, size_t limit, as_arena *arena, as_stored_run **out,
                                size_t *n);
assay_status as_store_get_run(assay_env *env, as_store *s, int64_t id, as_arena *arena, as_stored_run *out);
/* Its trials; the caller frees each of them, and the array by free(). */
assay_status as_store_get_trials(assay_env *env, as_store *s, int64_t id, assay_trace ***out, size_t *n);
/* The record of one of its trials, by index from 0, as bytes of the stream (trace/stream.h). */
assay_status as_store_get_record(assay_env *env, as_store *s, int64_t id, size_t place, as_arena *arena, const void **out,
                                 size_t *n);
/* NOT_FOUND if there is no such id; BAD_INPUT when a baseline, which the message names, depends on it. */
assay_status as_store_remove_run(assay_env *env, as_store *s, int64_t id);
/* The same for several runs, all or none. */
assay_status as_store_remove_runs(assay_env *env, as_store *s, const int64_t *ids, size_t n);
/* Writes runs to one JSON file "assay.runs-export/2" and reads them back (with new ids; a run that is there already, by the hash
 * of its content, is skipped). */
assay_status as_store_export(assay_env *env, as_store *s, const int64_t *ids, size_t n, FILE *file);
assay_status as_store_import(assay_env *env, as_store *s, const char *path, size_t *n_added, size_t *n_known);

/* Verifies the whole store, whatever its size: the file itself, and every run against its hash.  BAD_INPUT with the first message
 * and how many more there are; n_runs gets the number of runs.  A run is also checked against its hash whenever it or its trials
 * are read. */
assay_status as_store_verify(assay_env *env, as_store *s, size_t *n_runs);

/* --- History of a case --------------------------------------------------------------------------------- */

/* One candidate of one stored trial. */
typedef struct as_past {
    int64_t     run;
    int64_t     unix_time;
    const char *commit, *fingerprint, *arm;
    double      median_ns, lo_ns, hi_ns, p25_ns;
} as_past;
/* Oldest first; fingerprint NULL: of all machines. */
assay_status as_store_history(assay_env *env, as_store *s, const char *name, const char *fingerprint, as_arena *arena,
                              as_past **out, size_t *n);
/* Names of the cases that have a history, with their counts. */
typedef struct as_case_count {
    const char *name;
    int64_t     n;
} as_case_count;
assay_status as_store_cases(assay_env *env, as_store *s, as_arena *arena, as_case_count **out, size_t *n);
/* The variance of a case on this machine when it was last measured (for planning); NOT_FOUND if never. */
assay_status as_store_get_variance(assay_env *env, as_store *s, const char *name, const char *fingerprint, as_variance *out);

/* --- Named values: baselines, noise ----------------------------------------------------------------------- */

/* JSON text under (kind, name), e.g. ("baseline", "main"), ("noise", fingerprint).  An existing value is replaced only when
 * `replace`, otherwise BAD_INPUT.  run: the run that it depends on, 0 if none; that run cannot be removed then. */
assay_status as_store_put_named(assay_env *env, as_store *s, const char *kind, const char *name, const char *json, int64_t run,
                                bool replace);
assay_status as_store_get_named(assay_env *env, as_store *s, const char *kind, const char *name, as_arena *arena, const char **json,
                                int64_t *run);
typedef struct as_named {
    const char *name;
    int64_t     unix_time, run;
    const char *json;
} as_named;
assay_status as_store_list_named(assay_env *env, as_store *s, const char *kind, as_arena *arena, as_named **out, size_t *n);
assay_status as_store_remove_named(assay_env *env, as_store *s, const char *kind, const char *name);
assay_status as_store_rename_named(assay_env *env, as_store *s, const char *kind, const char *from, const char *to, bool replace);
/* BAD_INPUT for a name that is not [A-Za-z0-9][A-Za-z0-9._-]{0,63}. */
assay_status as_store_check_name(assay_env *env, const char *what, const char *name);

/* --- Objects ------------------------------------------------------------------------------------------------ */

#define AS_OBJECT_ID 65 /* 64 hex digits and a NUL */
/* Copies a file into the store (unless it is there already); keeps the executable bit. */
assay_status as_store_put_object(assay_env *env, as_store *s, const char *path, char id[AS_OBJECT_ID]);
/* Its path, after its content was compared with its name; NOT_FOUND when missing, BAD_INPUT when changed. */
assay_status as_store_get_object(assay_env *env, as_store *s, const char *id, char *path, size_t size);
/* Removes objects that no baseline names (their JSON contains the id); none while another process that puts objects has the store open. */
assay_status as_store_sweep(assay_env *env, as_store *s, size_t *n_removed);

#endif
