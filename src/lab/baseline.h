/* baseline.h - something that can be run again: named cases, each with the program (and model) it was measured with.
 *
 * On a shared machine a stored number is not a baseline; a stored program is.  `check` starts the baseline's own program again
 * and compares it with today's, in turns.  JSON is "assay.baseline/1" in the store; programs and model files are objects of the
 * store. */
#ifndef AS_LAB_BASELINE_H
#define AS_LAB_BASELINE_H

#include "analysis/duel/duel_facts.h"
#include "base/json.h"
#include "lab/keep.h"
#include "lab/lab.h"

/* A file that replaces a word of the command; name: the file's name without its directory.  A file beside a model keeps the path,
 * relative to the model's directory, by which the model names it. */
typedef struct as_artefact {
    int         at;
    const char *id, *name;
} as_artefact;

typedef struct as_baseline_case {
    const char        *name;
    const char *const *argv; /* NULL-terminated; the word "@assay" stands for the program that runs the check */
    as_artefact       *objects;
    int                n_objects;
    as_artefact       *beside;
    int                n_beside;           /* external data and weights that a model's file names; at: the model's */
    double             p25_ns, peak_bytes; /* as measured when it was saved; NaN */
} as_baseline_case;

typedef struct as_baseline {
    as_arena          arena;
    const char       *name, *description, *fingerprint, *commit;
    int64_t           unix_time, run;
    as_baseline_case *cases;
    int               n_cases;
} as_baseline;

/* What to save: cases of the laboratory, or commands that speak the line protocol. */
assay_status as_baseline_of_cases(assay_env *env, const as_bench_cases *cases, as_baseline **out);
assay_status as_baseline_of_commands(assay_env *env, const char *const *commands, int n, as_baseline **out);
void         as_baseline_free(as_baseline *b);

/* The work of assay_baseline_create() and, for programs, of assay_baseline_create_programs(); *out is what was saved. */
typedef struct as_baseline_wish {
    const char        *name;
    const char *const *what; /* models and workloads, or command lines */
    size_t             n;
    bool               programs;
} as_baseline_wish;
assay_status as_baseline_make(assay_env *env, const as_baseline_wish *wish, const assay_options *options, as_baseline **out);
/* assay_baseline_remove(), and how many objects were removed with it. */
assay_status as_baseline_drop(assay_env *env, const char *name, const assay_options *options, size_t *n_objects);

#define AS_BASELINE_BUDGET "1s" /* of a case that is saved */
/* Measures every case alone, stores programs and models as objects, and the baseline under its name.  BAD_INPUT when the name is
 * taken. */
assay_status as_baseline_save(assay_env *env, as_store *store, as_baseline *b, const char *name, const char *description,
                              const as_lab_settings *s);
assay_status as_baseline_load(assay_env *env, as_store *store, const char *name, as_baseline **out);
void         as_baseline_print(const as_baseline *b, FILE *file);
void         as_baseline_write(const as_baseline *b, as_json *w);

/* The command as it is today: "@assay" replaced by this program. */
assay_status as_baseline_words(assay_env *env, as_arena *arena, const char *const *argv, const char *const **out);

/* Measures every case again, candidate against baseline; trials[i] belongs to the caller.  A case whose artefact is missing or
 * that cannot run is Failed with a message; cancel leaves the rest incomplete. */
typedef struct as_check {
    as_arena       arena;
    as_check_case *cases;
    assay_trace  **trials;
    as_duel       *duels;
    int            n;
} as_check;
assay_status as_baseline_check(assay_env *env, as_store *store, const as_baseline *b, bool cross_machine, const as_lab_settings *s,
                               as_check *out);
void         as_check_drop(as_check *c);
typedef struct as_check_options {
    as_lab_settings  lab; /* its margin is the threshold */
    as_fail_on       fail_on;
    bool             cross_machine;
    as_store_options store;
} as_check_options;
assay_status as_check_options_read(assay_env *env, const assay_options *options, as_check_options *out);
/* All of `assay check`: loads, runs, decides, stores the run. */
assay_status as_check_run(assay_env *env, const char *baseline, const as_check_options *o, assay_facts **out, int *exit_code);

#endif
