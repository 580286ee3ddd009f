/* sampler.h - the one loop that measures: arms in turns, or one arm alone.  Fills a trace and does nothing else: what the numbers mean is
 * analysis/.  `profile` is one arm whose blocks also record spans (measure.c).
 *
 * An arm is anything that can be launched and can time blocks of calls: an instance of a plan (arm_plan.c), or a process that
 * speaks the line protocol (arm_bin.c).  The sampler decides how many calls make a sample (one number for all arms), how many samples a
 * block, who goes first (a coin a round), and when to stop: by the budget, or when `enough` says so between rounds. */
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
    /* One call that is not timed when `warm`, then n samples of `calls` calls each, stamped by the arm itself; nothing is allocated.
     * switches gets the involuntary ones of the block. */
    assay_status (*block)(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches);
    void (*land)(void *self); /* ends the launch; safe when there is none */
    void (*drop)(void *self); /* frees the arm itself */
} as_arm;

typedef struct as_sampler_settings {
    uint64_t         budget_ns;       /* of the whole trial, launches and warm-up included: kept within 10 % */
    uint64_t         spent_ns;        /* of the budget, before the loop begins: plans made, answers checked */
    double           block_ns;        /* 0: 0.25 ms for several arms, 4 ms for one; at most 10 ms */
    uint32_t         max_launches;    /* 0: as many as fit */
    uint32_t         rounds_a_launch; /* 0: by the budget: shared and fixed memory has one launch, else at least 16 are aimed at */
    uint32_t         n_rounds;        /* exactly so many in all; 0: by the budget */
    uint64_t         n_calls;         /* exactly so many of arm 0 in all, the last sample being shorter; 0: by the budget */
    uint64_t         measure_ns;      /* instead of a budget: of the rounds that are kept alone; 0: by the budget */
    uint32_t         calls;           /* in a sample; 0: as many as the clock needs */
    double           sample_ns;       /* a sample lasts at least so long; 0: 50 us */
    uint32_t         samples_a_block; /* 0: as many as fit into block_ns */
    bool             keeps_budget;    /* n_rounds at most: the budget ends it, too */
    int              warm_up;         /* rounds a launch that are not kept; -1: until steady */
    as_memory_layout memory;
    bool             by_wall;      /* wall time decides even where CPU time could */
    bool             keep_samples; /* else only block summaries */
    bool             probes;       /* FMA and copy probes at every block */
    int              cpu;          /* pin the calling thread and children to this CPU; -1: to the one it is on; -2: do not pin */
    uint64_t         seed;
    /* Between rounds: true ends the trial.  May be NULL. */
    bool (*enough)(void *arg, const assay_trace *t);
    /* Once, after eight launches: how many rounds a launch is worth when these cost so much.  May be NULL: they stay as they are. */
    double (*rounds)(void *arg, const assay_trace *t, double launch_ns, double round_ns);
    void *enough_arg; /* of both */
    /* Once, after the warm-up and before the first round that is kept: what a call takes, and how many a block has.  May be NULL. */
    assay_status (*ready)(void *arg, double call_ns, uint32_t block_calls);
    /* After every round that is kept, with the share that is done.  May be NULL. */
    assay_status (*between)(void *arg, double done);
    void *hook_arg;
    /* Between rounds, at most 10 times a second: warming up or measuring, and the share of the budget that is spent. */
    void (*progress)(void *arg, as_phase phase, double done, const assay_trace *t);
    void *progress_arg;
} as_sampler_settings;

void as_sampler_defaults(as_sampler_settings *s);

/* Measures the arms and fills the trial (made for n_arms).  A trial that has rounds already goes on with further launches, with the same calls
 * and samples a block, until budget_ns are spent in all, what it took before included.  On a failure of an arm the trial is FAILED with the sentence, on cancel it is
 * PARTIAL; in both cases what was measured is in it and the status is returned. */
assay_status as_sampler_run(assay_env *env, const as_arm *arms, int n_arms, const as_sampler_settings *settings,
                            assay_trace *trial);

/* --- Arms ------------------------------------------------------------------------------------------------- */

/* Tensors that arms share: one piece of memory, large enough for the largest. */
typedef struct as_slab as_slab;
assay_status           as_slab_new(assay_env *env, as_slab **out);
void                   as_slab_free(as_slab *slab);

/* An instance of a plan with random inputs by seed.  slab NULL: memory of its own, at another place each launch when `random`. */
assay_status as_arm_plan(assay_env *env, const char *name, const assay_plan *plan, uint64_t seed, as_slab *slab, bool random,
                         as_arm *out);

/* What is inside of such an arm: the instance of the launch that is under way; NULL: none. */
const assay_instance *as_arm_plan_instance(const as_arm *arm);
/* The same to be run by the caller: memory that arms share is made this arm's again. */
assay_instance *as_arm_plan_take(const as_arm *arm);
/* Behind the timed blocks: runs of the arms, which are all plans, in turns and with a span for each step.  The trace gets the steps of each
 * plan, marked with its arm, and the spans; runs are numbered from 0 through all arms, and the steps of a run show whose it is.  It takes a
 * tenth of the budget; for the first dozen runs of each also what the trial left, up to half of the budget.  Where not even five runs of each
 * fit, there are none, and trace->detail_why says so. */
assay_status as_arms_detail(assay_env *env, const as_arm *arms, int n, const as_sampler_settings *s, assay_trace *t);
/* Of all outputs, never 0: an arm and the check of its answer must mean the same by it. */
uint64_t as_outputs_hash(const assay_instance *instance);
/* The largest difference of any output of two instances of one model, relative where an output is large (as_view_error); NaN if any is. */
double as_outputs_error(const assay_instance *got, const assay_instance *want);

/* A process that speaks the line protocol of docs/line-protocol.md: argv is NULL-terminated and copied; each launch starts it anew,
 * on the CPU of the caller.  timeout_ns (0: none) bounds every answer: its process group is then ended and the launch fails with
 * ASSAY_TIMED_OUT. */
assay_status as_arm_bin(assay_env *env, const char *name, const char *const *argv, uint64_t timeout_ns, as_arm *out);
/* The other side of it: answers the protocol on standard input and output with an arm, until end of file or "end". */
assay_status as_arm_speak(assay_env *env, const as_arm *arm, FILE *in, FILE *out);

#endif
