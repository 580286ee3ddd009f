/* kind.h - what a kind of store is: one file st_<name>.c exports `const as_store_kind as_st_<name>`.
 *
 * A kind handles rows and knows nothing about trials: rows.c turns trials into rows and back.  Every function that changes
 * something does all of it or nothing.  What is read lives in the given arena. */
#ifndef AS_STORE_KIND_H
#define AS_STORE_KIND_H

#include "base/sha256.h"
#include "base/json.h"
#include "store/store.h"

typedef struct as_arm_row {
    const char *name;
    double      median_ns, lo_ns, hi_ns, p25_ns;
} as_arm_row; /* NaN: not known */

typedef struct as_trial_row {
    const char    *name, *state;
    const uint8_t *trace; /* the whole record in the format of trace/stream.h; NULL: stored by schema 1, in the following members */
    size_t         trace_bytes;
    const char    *json;    /* "assay.trial/1" without samples; "" otherwise */
    const void    *samples; /* pairs of little-endian floats, wall and CPU; NULL: none */
    size_t         samples_bytes;
    as_arm_row    *arms;
    int            n_arms;   /* written; read only by history */
    as_variance    variance; /* written; sigma_round NaN: not known */
} as_trial_row;

typedef struct as_run_row {
    as_stored_run run;
    char          hash[AS_SHA256_HEX]; /* of its content: the same run has the same hash in every store */
    as_trial_row *trials;
    size_t        n_trials;
} as_run_row;

typedef struct as_store_kind {
    const char *name; /* "sqlite": the part before the colon of a URL */
    assay_status (*open)(assay_env *env, const char *path, bool create, void **out);
    void (*close)(void *db);
    assay_status (*check)(assay_env *env, void *db); /* the whole file, whatever its size; BAD_INPUT says what is damaged */

    /* All in one transaction; with `only_new`, ids[i] is 0 for a run that is in the store already. */
    assay_status (*put_runs)(assay_env *env, void *db, const as_run_row *rows, size_t n, bool only_new, int64_t *ids);
    assay_status (*list_runs)(assay_env *env, void *db, const char *kind, size_t limit, as_arena *arena, as_stored_run **out,
                              size_t *n);
    assay_status (*get_run)(assay_env *env, void *db, int64_t id, as_arena *arena, as_run_row *out); /* without trials */
    assay_status (*get_trials)(assay_env *env, void *db, int64_t id, as_arena *arena, as_trial_row **out, size_t *n);
    assay_status (*remove_runs)(assay_env *env, void *db, const int64_t *ids, size_t n);

    assay_status (*history)(assay_env *env, void *db, const char *name, const char *fingerprint, as_arena *arena, as_past **out,
                            size_t *n);
    assay_status (*cases)(assay_env *env, void *db, as_arena *arena, as_case_count **out, size_t *n);
    assay_status (*get_variance)(assay_env *env, void *db, const char *name, const char *fingerprint, as_variance *out);

    assay_status (*put_named)(assay_env *env, void *db, const char *kind, const as_named *value, bool replace);
    assay_status (*get_named)(assay_env *env, void *db, const char *kind, const char *name, as_arena *arena, as_named *out);
    assay_status (*list_named)(assay_env *env, void *db, const char *kind, as_arena *arena, as_named **out, size_t *n);
    assay_status (*remove_named)(assay_env *env, void *db, const char *kind, const char *name);
    assay_status (*rename_named)(assay_env *env, void *db, const char *kind, const char *from, const char *to, bool replace);
    /* Whether the JSON of any named value contains this text. */
    assay_status (*mentions)(assay_env *env, void *db, const char *text, bool *out);
} as_store_kind;

extern const as_store_kind *const as_st_table[];

struct as_store {
    const as_store_kind *kind;
    void                *db;
    int                  lock; /* shared lock on the objects, taken when the first one is put; -1: none */
    char                 path[4096];
    char                 objects[4096]; /* their directory */
};

/* --- Trials as rows and back: rows.c -------------------------------------------------------------------- */

/* Everything lives in the arena.  What could not be read back is refused here, not years later. */
assay_status as_run_row_make(assay_env *env, as_arena *arena, const as_stored_run *run, const assay_trace *const *trials, size_t n,
                             as_run_row *out);
/* The same for trials that were read: the rows keep their records unchanged, or, without a record, the form of schema 1. */
assay_status as_run_row_again(assay_env *env, as_arena *arena, const as_stored_run *run, const assay_trace *const *trials,
                              as_trial_row *rows, size_t n, as_run_row *out);
assay_status as_trial_row_read(assay_env *env, const char *path, const as_trial_row *row, assay_trace **out);
void         as_trials_free(assay_trace **trials, size_t n);
/* A run with its trials, checked against its hash. */
assay_status as_run_take(assay_env *env, as_store *s, int64_t id, as_arena *arena, as_run_row *row, assay_trace ***out, size_t *n);

void as_hash_u64(as_sha256 *h, uint64_t value);
void as_hash_text(as_sha256 *h, const char *text);

/* --- The form of schema 1: rows_old.c -------------------------------------------------------------------------- */

assay_status as_old_trial_make(assay_env *env, as_arena *arena, const assay_trace *t, as_sha256 *h, as_trial_row *row);
assay_status as_old_trial_read(assay_env *env, const char *path, const as_trial_row *row, assay_trace **out);

/* --- Files of runs: transfer.c ---------------------------------------------------------------------------- */

typedef struct as_run_batch {
    as_arena    arena;
    as_run_row *rows;
    size_t      n;
} as_run_batch;
/* Reads "assay.runs-export/1" and /2; every run is checked against its hash.  as_arena_drop(&out->arena) frees it. */
assay_status as_runs_parse(assay_env *env, const char *path, const char *data, size_t n, as_run_batch *out);
/* The JSON object of one run in such a file. */
assay_status as_run_write(assay_env *env, as_json *w, const as_run_row *row, const assay_trace *const *trials);
void         as_runs_write_begin(as_json *w, FILE *file);
void         as_runs_write_end(as_json *w);

#endif
