/* duel.h - from a trial to a verdict: slower, faster, same or unresolved, with everything that led to it.
 *
 * Pure: the same trial gives the same verdict on any machine, now or later from its JSON. */
#ifndef AS_ANALYSIS_DUEL_H
#define AS_ANALYSIS_DUEL_H

#include "analysis/stat/stat.h"
#include "trace/trace.h"

typedef enum as_verdict { AS_UNRESOLVED, AS_SLOWER, AS_FASTER, AS_SAME, AS_N_VERDICTS } as_verdict;
const char *as_verdict_text(as_verdict v); /* "unresolved", "slower", "faster", "same" */

typedef enum as_severity {
    AS_SEVERITY_NONE,
    AS_SEVERITY_MINOR,
    AS_SEVERITY_MODERATE,
    AS_SEVERITY_MAJOR,
    AS_SEVERITY_CRITICAL,
    AS_N_SEVERITIES
} as_severity;
const char *as_severity_text(as_severity s); /* "none", "minor", ... */

typedef struct as_duel_rules {
    double margin; /* practical margin, a share: 0.01; 0 decides any difference */
    double alpha;  /* 0.01: share of wrong verdicts on identical candidates */
    double severity
        [AS_N_SEVERITIES]; /* the interval's near end from which a severity applies: MODERATE .15, MAJOR .30, CRITICAL .50; MINOR
                            * is the margin */
} as_duel_rules;
void as_duel_rules_standard(as_duel_rules *r);

typedef struct as_duel {
    as_verdict  verdict;
    as_severity severity;         /* of slower only */
    bool        early;            /* decided by the e-process before the budget ended */
    bool        per_item;         /* calls of a and b do different numbers of items: ratio and verdict are of the time per item */
    double      a_items, b_items; /* items per call; NaN: not known */
    double ratio, lo, hi; /* time of b over time of a, per call or per item: 1.02 is 2 % slower; lo, hi NaN with too few units */
    double confidence;    /* of the interval */
    const char
        *by; /* which test the interval inverts: "signed rank" or "sign"; "size": too few units for these, but a difference too
             * large for chance */
    const char *unit; /* what was counted as independent: "launch" or "round" */
    size_t      n_units, n_rounds, n_launches;
    double      p_slower, p_faster; /* signed-rank, one-sided, beyond the margin */
    double      p_flip;             /* sign-flip permutation of the units, beyond the margin, on the side of the estimate */
    double      ln_e_slower, ln_e_faster, ln_e_same;
    as_variance variance;
    double      visible;   /* smallest detectable change (a share) at 95 % power; NaN: cannot say */
    double      needed_ns; /* time to decide: if unresolved, more than was spent; otherwise what would have been enough; NaN:
                            * cannot say */
    double      spent_ns, interval_ns; /* without an interval: what was spent, and the time that should give one; NaN otherwise */
    double      a_ns, b_ns;            /* always per call: medians of each candidate's blocks, by the decided clock */
    double      a_lo, a_hi, b_lo, b_hi;
    char        reasons[3][160];
    int         n_reasons; /* what disturbed it, most important first */
} as_duel;

/* Candidate b against candidate a, per item where their calls do different numbers of items.  Rounds are units with shared
 * memory, launches otherwise. */
void as_duel_judge(const assay_trace *t, int a, int b, const as_duel_rules *rules, as_duel *out);
/* The time of a call of b, computed from a's time and the paired ratio, which is what was judged; show it beside a_ns.  The
 * quotient of the two candidates' own medians is a different number, and may even lie on the other side of 1. */
double as_duel_b_ns(const as_duel *d);
/* The number of rounds per launch that gives the most information for its cost, judged by the noise so far. */
double as_duel_rounds(const assay_trace *t, int a, int b, double launch_ns, double round_ns);
/* Whether launches differ more than their rounds can explain.  Then more rounds do not help the comparison; more launches do. */
bool as_duel_luck(const as_duel *d);
/* A cheap check while measuring: is there an early verdict?  For as_sampler_settings.enough. */
bool as_duel_settled(const assay_trace *t, int a, int b, const as_duel_rules *rules);
/* Was there an early verdict at any unit?  The same as `early` of as_duel_judge(), at a fraction of its cost. */
bool as_duel_was_settled(const assay_trace *t, int a, int b, const as_duel_rules *rules);

/* One candidate alone: the headline of bench. */
typedef struct as_alone {
    double      median, lo, hi, confidence;  /* of the decided clock; interval over segments, within this session */
    double      min, p5, p25, p75, p95, p99; /* NaN where the number of samples does not support it */
    double      p99_lo, p99_hi;
    double      wall_median, cpu_median;
    double      n_effective;
    size_t      n_samples, n_blocks;
    as_steady   steady;
    double      busy;         /* median CPU/wall; NaN: threads */
    double      contaminated; /* share of blocks with CPU/wall < 0.97 */
    const char *noise;        /* "quiet", "noisy", "suspect": a word for the row */
    char        reasons[3][160];
    int         n_reasons;
} as_alone;
void as_alone_judge(const assay_trace *t, int arm, as_alone *out);

/* What disturbed the blocks: frequency or SMT neighbour (FMA probe slow), DRAM neighbour (copy probe slow), pre-emption (neither, CPU/wall low),
 * hypervisor (steal > 1 %).  Shares of blocks. */
typedef struct as_disturbance {
    double frequency, dram, preempted, stolen;
} as_disturbance;
void as_disturbance_find(const assay_trace *t, as_disturbance *out);
int  as_disturbance_say(const as_disturbance *d, char (*out)[160], int max);

#endif
