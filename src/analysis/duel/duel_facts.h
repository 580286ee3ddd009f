/* duel_facts.h - what trials measured, as facts: comparisons, single cases, the gain of compiling, a suite against its baseline,
 * a history.
 *
 * Pure.  Facts are NULL when memory ran out; any other failure while adding is in facts->status, with its message in env. */
#ifndef AS_ANALYSIS_DUEL_FACTS_H
#define AS_ANALYSIS_DUEL_FACTS_H

#include "analysis/analysis.h"
#include "analysis/duel/duel.h"
#include "analysis/duel/sweep.h"

/* --- What all of them share: numbers of a trial as metrics, its blocks as series -----------------------------------------
 *
 * Series of case i are keyed "i.blocks.ARM", "i.samples" or else "i.means", "i.fma", "i.copy", "i.busy.ARM" and "i.differences":
 * a section finds them by number and key; their label is the case or the candidate. */

/* The largest number of points of a series: more are thinned evenly, and the label says so. */
#define AS_SERIES_MAX 2000

/* A number with its interval where both are finite; unavailable with the reason when it is not a number.  An estimate that
 * rounding left just outside its interval widens it. */
assay_metric as_number_measured(double value, double lo, double hi, uint64_t n, const char *unit, const char *source,
                                const char *reason);
assay_metric as_number_derived(double value, double lo, double hi, uint64_t n, const char *unit, const char *formula,
                               const char *reason);

/* A whole number that was counted; unavailable where it is NaN. */
assay_metric as_number_counted(double value, const char *unit, const char *source, const char *reason);

/* The clock by which the trial decides: "thread CPU time of a block / its calls". */
const char *as_trial_clock_text(const assay_trace *t);
/* The block times of one candidate and the probes, over the seconds since the trial began. */
void as_trial_series(assay_facts *f, as_fact_group *g, const assay_trace *t, int i_case);
/* Samples of one candidate where they were kept ("i.samples"), otherwise the means of its blocks ("i.means"): for its
 * distribution. */
void as_trial_samples(assay_facts *f, as_fact_group *g, const assay_trace *t, int arm, int i_case);
/* Adds the first trial's notes, and what all trials share, as notes of the facts. */
void as_trial_notes(assay_facts *f, const assay_trace *t);

/* --- Comparisons: group "compare", one row per comparison, with everything that led to the verdict
 * ------------------------------
 *
 * The one-line form is the same in the terminal, in annotations and in JUnit. */

typedef struct as_duel_row {
    const assay_trace   *trial;
    int                  a, b; /* its candidates: b is judged against a */
    const char          *name; /* NULL: the trial's name, and the candidates' where one trial has several rows */
    as_duel              duel;
    const as_duel_rules *rules;
    const char          *option; /* the option that sets how long to measure; NULL: budget */
} as_duel_row;

/* Counts of b minus those of a; NaN where either is not known. */
as_ledger as_ledger_difference(const assay_trace *t, int a, int b);

#define AS_LINE_BYTES 512
/* "matmul/512/f32   1.92 ms -> 2.01 ms   +4.7 % [+4.1, +5.3] 99 %   SLOWER (minor)   16 launches, 4.1 s" within this many columns
 * (0: no limit).  Spaces are cut first, then what the table repeats, then the middle of the name.  Never less than 60 columns.
 * Returns buf. */
const char *as_duel_line(char *buf, size_t size, int columns, const char *name, const as_duel *d, double spent_ns);
/* The time of a call of b, derived from a's time and the paired ratio; without a pair, b's own time, measured as `source` says. */
assay_metric as_duel_b_metric(const as_duel *d, const char *source);
/* "Seen would have been 1.8 %; about 9 s would decide a margin of 1 %.", or without an interval "no interval after 2 s; --budget
 * 12s should do", where `option` sets how long to measure - for unresolved comparisons; "" otherwise. */
const char *as_duel_remedy(char *buf, size_t size, const as_duel *d, double margin, const char *option);
/* "each launch runs at another speed: ..." where launches differ more than their rounds; "" otherwise. */
const char *as_duel_luck_text(char *buf, size_t size, const as_duel *d);
/* The verdict as a line, why the trial is incomplete, what disturbed it (below the last comparison of a trial), and what would
 * help. */
void as_duel_findings(assay_facts *f, as_fact_group *g, const char *name, const as_duel_row *row, bool last_of_trial);
/* "+4.7 %": three digits at most, always with a sign. */
const char *as_change_text(char *buf, size_t size, double ratio);

assay_facts *as_facts_of_duels(assay_env *env, const as_duel_row *rows, size_t n, const char *title);
/* Adds the same to facts that have other groups. */
void as_duels_add(assay_facts *f, const as_duel_row *rows, size_t n);
/* Group "compare", tables "candidates" (one row each, with its verdict against the first) and "checks" (why the verdicts can be
 * trusted). */
void as_candidates_add(assay_facts *f, const as_duel_row *rows, size_t n);
/* What each candidate did per second, where its work is known; as_candidates_add() adds it. */
void as_rates_add(assay_facts *f, const as_duel_row *rows, size_t n);
/* Which number a reader asked for besides the time: "bandwidth", "tflops"; "time" or no note: none. */
#define AS_NOTE_METRIC "compare.metric"
/* Group "sweep": values x candidates with the winner, crossovers, the guide, and one series per candidate. */
void as_sweep_add(assay_facts *f, const as_sweep *s);
/* Its table "ranges": who wins from which value to which. */
void as_sweep_ranges_add(assay_facts *f, as_fact_group *g, const as_sweep *s);

/* --- Which layers made the difference: group "layers", tables "diff", "diff2", ... one per comparison ----------------------
 *
 * layer_diff.h has the rules.  A comparison whose runs were not recorded layer by layer gets a finding that says why, and no
 * table. */

typedef struct as_layer_side as_layer_side;
void as_layer_diff_add(assay_facts *f, const char *key, const char *label, const as_layer_side *a, const as_layer_side *b);
/* For each comparison, until there are 2000 rows: "diff" belongs to the first row of the table "duels", "diff2" to the second. */
void as_layer_diffs_add(assay_facts *f, const as_duel_row *rows, size_t n);
/* Two runs that `profile` made at different times, by layer; BAD_INPUT: one has no layers. */
assay_status as_facts_of_profiles(assay_env *env, const assay_facts *a, const char *a_name, const assay_facts *b,
                                  const char *b_name, assay_facts **out);

/* --- Two ways to do the same training step: candidates a and b of a trial whose runs were also recorded step by step ------- */

/* What is stored in fewer bytes in candidate b. */
typedef struct as_layer_saving {
    const char *layer;
    uint64_t    bytes;
    int         n_casts;
} as_layer_saving;

/* By how much longer, as a share of a's step, b's step should take: the time that a's forward pass takes for what b computes again.  Known
 * from a alone.  NaN: a was not recorded step by step. */
double as_training_again_share(assay_facts *f, const assay_trace *t, int a, int b);
/* A table of the layers of the network, with all passes of each: times, difference, whether b is slower or faster beyond the margin (by the
 * 95 % interval of each layer), and what b saves.  The greatest difference is first; the last row is the whole step.  If there are no times
 * by layer, a finding says why. */
void as_training_layers_add(assay_facts *f, as_fact_group *g, const char *key, const char *label, const assay_trace *t, int a,
                            int b, double margin, const as_layer_saving *savings, int n_savings);

/* --- Cases that were measured alone: group "bench", one row per case --------------------------------------------------------
 *
 * A case that timed out, failed or was refused has a row that says so instead of numbers. */

typedef struct as_bench_row {
    const assay_trace *trial;
    int                arm; /* of the trial; usually 0 */
    as_alone           alone;
    double             flops, bytes; /* of one call; NaN: the case does not count them */
    double             error;        /* of the outputs against the reference code; NaN: not compared */
    const char        *compared;     /* how: "all 1024 outputs"; NULL: not */
    const char        *refusal;      /* the sentence of the lie detector; NULL: believed */
} as_bench_row;

assay_facts *as_facts_of_bench(assay_env *env, const as_bench_row *rows, size_t n);

/* --- What compiling gains: group "compile" --------------------------------------------------------------------------------
 *
 * The ratio, its interval and the verdict are those of a comparison (duel.h). */

/* The candidates of such a trial: compiled is judged against op by op. */
typedef enum as_compile_arm { AS_COMPILE_OFF, AS_COMPILE_ON, AS_N_COMPILE_ARMS } as_compile_arm;

void as_compile_add(assay_facts *f, const assay_trace *t, const as_duel_rules *rules);

/* --- A suite against its baseline: statuses, exit code, group "check" ---------------------------------------------------------
 *
 * A regression is a comparison that was found slower and stays a discovery when the false discovery rate of the whole suite is
 * held at q.  An undecided comparison is Unstable, never Pass or Regression. */

typedef enum as_check_status {
    AS_CHECK_PASS,
    AS_CHECK_REGRESSION,
    AS_CHECK_IMPROVEMENT,
    AS_CHECK_UNSTABLE,
    AS_CHECK_FAILED,
    AS_N_CHECK_STATUSES
} as_check_status;
const char *as_check_status_text(as_check_status s); /* "Pass" */

typedef enum as_check_overall {
    AS_ALL_PASS,
    AS_HAS_REGRESSIONS,
    AS_HAS_CRITICAL_REGRESSIONS,
    AS_HAS_FAILURES,
    AS_INCOMPLETE,
    AS_N_CHECK_OVERALLS
} as_check_overall;
const char *as_check_overall_text(as_check_overall o); /* "AllPass" */

/* The mildest finding that makes the exit code other than 0; unresolved includes slower. */
typedef enum as_fail_on { AS_FAIL_ON_SLOWER, AS_FAIL_ON_MAJOR, AS_FAIL_ON_CRITICAL, AS_FAIL_ON_UNRESOLVED } as_fail_on;
bool as_fail_on_read(const char *text, as_fail_on *out); /* "slower", "major", "critical", "unresolved" */

typedef struct as_check_case {
    const char        *name;
    const as_duel     *duel;  /* NULL: there is none, and failure or incomplete says why */
    const assay_trace *trial; /* a: the baseline, b: the candidate; NULL: not kept */
    int                a, b;
    const char        *failure;    /* the message of a candidate that could not run, or whose answers differ; NULL */
    const char        *incomplete; /* why it was not measured to the end; NULL */
    /* as_check_decide() sets: */
    as_check_status status;
    as_severity     severity;
    bool            discovery;          /* of the suite's false discovery rate */
    bool            more_memory;        /* it needs more memory, or allocates more, than the threshold allows */
    char            memory_reason[160]; /* how much; "": it was not counted */
    char            reason[240];
} as_check_case;

typedef struct as_check_result {
    as_check_case   *cases;
    size_t           n;
    as_check_overall overall;
    as_fail_on       fail_on;
    as_duel_rules    rules;
    double           q; /* false discovery rate */
    size_t           counts[AS_N_CHECK_STATUSES], n_incomplete, n_critical;
    size_t           n_more_memory; /* regressions of memory, among the others */
    size_t           n_e_bh;        /* regressions that e-BH finds, valid under any dependence of the cases */
    int              exit_code;     /* 0 fine, 1 regression, 3 critical, 4 unresolved, 5 failed or incomplete */
} as_check_result;

#define AS_CHECK_Q 0.05

/* Decides every case in place, and the whole.  NO_MEMORY is the only failure. */
assay_status as_check_decide(assay_env *env, as_check_case *cases, size_t n, const as_duel_rules *rules, double q,
                             as_fail_on fail_on, as_check_result *out);

/* Groups "check" and, for cases with a trial, "compare".  NULL: no memory. */
assay_facts *as_facts_of_check(assay_env *env, const as_check_result *r, const char *title);

/* --- The time of a case over its stored runs: group "history", with the change points that the ranks suggest
 * -----------------------------
 *
 * A change point is only a suggestion: on a history that depends on its own past every such method sees steps that are not there
 * (25 to 30 % in simulation), so the message names the comparison that would prove it. */

typedef struct as_history_point {
    int64_t     unix_time, run;
    const char *commit, *machine;
    double      median, lo, hi;
} as_history_point; /* ns; lo, hi NaN: none */

typedef struct as_history_settings {
    double alpha;    /* 0: .01 */
    double min_step; /* relative; 0: .01 */
} as_history_settings;

/* Oldest first.  NULL: no memory. */
assay_facts *as_facts_of_history(assay_env *env, const char *name, const as_history_point *points, size_t n,
                                 const as_history_settings *settings);

/* The cases that have a history: group "history", table "cases". */
typedef struct as_history_case {
    const char      *name;
    int64_t          n;
    as_history_point last;
} as_history_case;
assay_facts *as_facts_of_cases(assay_env *env, const as_history_case *cases, size_t n, const char *where);

#endif
