/* sampler.h - the one loop that measures: candidates in turns, or one candidate alone.  Fills a trace and does nothing else;
 * analysis/ interprets the numbers.  `profile` is one candidate whose blocks also record spans (measure.c).
 *
 * A candidate (here: arm) is anything that can be launched and can time blocks of calls: an instance of a plan (arm_plan.c), or a
 * process that speaks the line protocol (arm_bin.c).  The sampler decides how many calls make a sample (one number for all
 * candidates), how many samples make a block, which candidate goes first (random in each round), and when to stop: by the budget,
 * or when `enough` says so between rounds. */
#ifndef AS_RUN_SAMPLER_H
#define AS_RUN_SAMPLER_H

#include "plan/plan.h"
#include "trace/trace.h"

typedef struct as_arm {
    const char *name, *what;
    void       *self;
    bool        by_cpu; /* one thread does all its work, so its CPU time is the work's */
    /* A fresh launch: new buffers by `seed`, or a new process.  Fills info->first_ns (its first three calls) and, the first
     * time, hash and ledger. */
    assay_status (*launch)(assay_env *env, void *self, uint64_t seed, as_trace_arm *info);
    /* One untimed call if `warm`, then n samples of `calls` calls each, timed by the candidate itself; nothing is allocated.
     * switches gets the involuntary context switches of the block. */
    assay_status (*block)(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches);
    void (*land)(void *self); /* ends the launch; safe when there is none */
    void (*drop)(void *self); /* frees the candidate itself */
} as_arm;

typedef struct as_sampler_settings {
    uint64_t         budget_ns;       /* of the whole trial, launches and warm-up included: kept within 10 % */
    uint64_t         spent_ns;        /* of the budget, before the loop begins: plans made, answers checked */
    double           block_ns;        /* 0: 0.25 ms for several candidates, 4 ms for one; at most 10 ms */
    uint32_t         max_launches;    /* 0: as many as fit */
    uint32_t         rounds_a_launch; /* 0: by the budget: one launch for shared and fixed memory, otherwise at least 16 if
                                       * possible */
    uint32_t         n_rounds;        /* exactly this many in all; 0: by the budget */
    uint64_t         n_calls;         /* exactly this many of candidate 0 in all, with a shorter last sample; 0: by the budget */
    uint64_t         measure_ns;      /* instead of a budget: time of the kept rounds only; 0: by the budget */
    uint32_t         calls;           /* in a sample; 0: as many as the clock needs */
    double           sample_ns;       /* a sample lasts at least this long; 0: 50 us */
    uint32_t         samples_a_block; /* 0: as many as fit into block_ns */
    bool             keeps_budget;    /* n_rounds is a maximum: the budget may end the trial before */
    int              warm_up;         /* rounds per launch that are not kept; -1: until steady */
    as_memory_layout memory;
    bool             by_wall;      /* wall time decides even where CPU time could */
    bool             keep_samples; /* else only block summaries */
    bool             probes;       /* FMA and copy probes at every block */
    int              cpu;          /* pin the calling thread and children to this CPU; -1: to the one it is on; -2: do not pin */
    uint64_t         seed;
    /* Between rounds: true ends the trial.  May be NULL. */
    bool (*enough)(void *arg, const assay_trace *t);
    /* Once, after eight launches: how many rounds a launch should have, given the costs of both.  NULL: the number stays as it
     * is. */
    double (*rounds)(void *arg, const assay_trace *t, double launch_ns, double round_ns);
    void *enough_arg; /* of both */
    /* Once, after the warm-up and before the first kept round: gets the time of a call and the number of calls per block.  May be
     * NULL. */
    assay_status (*ready)(void *arg, double call_ns, uint32_t block_calls);
    /* After every kept round, with the share done so far.  May be NULL. */
    assay_status (*between)(void *arg, double done);
    void *hook_arg;
    /* Between rounds, at most 10 times a second: warming up or measuring, and the share of the budget that is spent. */
    void (*progress)(void *arg, as_phase phase, double done, const assay_trace *t);
    void *progress_arg;
} as_sampler_settings;

void as_sampler_defaults(as_sampler_settings *s);

/* Measures the candidates and fills the trial (made for n_arms).  A trial that has rounds already continues with further
 * launches, with the same numbers of calls and samples per block, until budget_ns are spent in all, including the time it took
 * before.  If a candidate fails, the trial is FAILED with the message; on cancel it is PARTIAL.  In both cases it holds what was
 * measured, and the status is returned. */
assay_status as_sampler_run(assay_env *env, const as_arm *arms, int n_arms, const as_sampler_settings *settings,
                            assay_trace *trial);

/* --- Candidates ------------------------------------------------------------------------------------------------- */

/* Memory for tensors that candidates share: one piece, large enough for the largest. */
typedef struct as_slab as_slab;
assay_status           as_slab_new(assay_env *env, as_slab **out);
void                   as_slab_free(as_slab *slab);

/* An instance of a plan with random inputs by seed.  slab NULL: memory of its own, at another place for each launch if `random`. */
assay_status as_arm_plan(assay_env *env, const char *name, const assay_plan *plan, uint64_t seed, as_slab *slab, bool random,
                         as_arm *out);

/* The instance of such a candidate's current launch; NULL: none. */
const assay_instance *as_arm_plan_instance(const as_arm *arm);
/* The same for the caller to run: shared memory is filled again for this candidate. */
assay_instance *as_arm_plan_take(const as_arm *arm);
/* After the timed blocks: runs of the candidates, which are all plans, in turns and with a span for each step.  The trace gets
 * the steps of each plan, marked with its candidate, and the spans.  Runs are numbered from 0 over all candidates; the steps of a
 * run show to which candidate it belongs.  Takes a tenth of the budget; for the first dozen runs of each also the time that the
 * trial left over, up to half of the budget.  If not even five runs of each fit, nothing is recorded, and trace->detail_why says
 * so. */
assay_status as_arms_detail(assay_env *env, const as_arm *arms, int n, const as_sampler_settings *s, assay_trace *t);
/* A hash of all outputs, never 0; a candidate and the check of its answer must use the same one. */
uint64_t as_outputs_hash(const assay_instance *instance);
/* The largest difference of any output of two instances of one model, relative where an output is large (as_view_error); NaN if any is. */
double as_outputs_error(const assay_instance *got, const assay_instance *want);

/* A process that speaks the line protocol of docs/line-protocol.md: argv is NULL-terminated and copied; each launch starts it
 * again, on the CPU of the caller.  timeout_ns (0: none) limits every answer: after that the process group is ended and the
 * launch fails with ASSAY_TIMED_OUT. */
assay_status as_arm_bin(assay_env *env, const char *name, const char *const *argv, uint64_t timeout_ns, as_arm *out);
/* The other side: answers the protocol on standard input and output for a candidate, until end of file or "end". */
assay_status as_arm_speak(assay_env *env, const as_arm *arm, FILE *in, FILE *out);

#endif
