/* train.h - training: one step as a graph, a trainer that takes steps, and the loop around it.
 *
 * A training step is one graph, planned like any other: forward pass, loss, backward pass from each operator's own rule, norm of the
 * gradient, optimiser.  All trained parameters lie in one flat f32 variable, `params`; assay.Part gives each of them as a view, so
 * nothing is copied; assay.Join is the flat gradient, into which the backward pass writes directly; one optimiser node updates the
 * block in place.  What the optimiser remembers, running statistics and the sum of accumulated gradients are variables too.  So
 * memory is known to the byte before anything is allocated, and a step can be profiled like a run. */
#ifndef AS_TRAIN_TRAIN_H
#define AS_TRAIN_TRAIN_H

#include "plan/plan.h"

/* --- What happens to the results of the forward pass ---------------------------------------------------- */

/* Parts that are computed again (recompute.h).  Bytes count values of the graph; the plan shares memory better, but ranks plans in the
 * same order on networks. */
typedef struct as_recompute {
    int      n_segments; /* 1: nothing is computed again; 0: not asked for */
    int      n_nodes;    /* that are computed again */
    uint64_t flops;      /* of these nodes */
    uint64_t kept_bytes; /* results of the forward pass that stay until the backward pass reads them */
    uint64_t live_bytes; /* the most that is alive at any node */
} as_recompute;

/* A result that is stored in 16 bits between the passes (precision.h). */
typedef struct as_precision_row {
    const char *layer, *value;
    uint64_t    elements;
    int         n_casts; /* to 16 bits once, and back for the readers */
} as_precision_row;
typedef struct as_precision {
    const as_precision_row *rows; /* in the order of the forward pass */
    int                     n_rows;
    int                     n_skipped;   /* results of the first layers that stay f32, because the peak is smaller so */
    uint64_t                saved_bytes; /* half of what the results took */
} as_precision;

/* --- The graph of one step ------------------------------------------------------------------------------- */

typedef enum as_train_precision { AS_TRAIN_F32, AS_TRAIN_F16, AS_TRAIN_BF16 } as_train_precision;

/* What a step computes, besides the model itself. */
typedef struct as_train_setup {
    const char        *loss; /* "ce", "bce", "mse", "mae", "huber"; NULL: "ce" for a network that ends with Softmax, else "mse" */
    const char        *optimizer;             /* "adamw:lr=1e-3,decay=0.01"; NULL: "adam" */
    as_texts           groups;                /* "PATTERN:lr=0.1x,decay=0" */
    as_texts           freeze;                /* patterns of parameters that stay as they are */
    int                accumulate;            /* steps of the graph per update; 0 and 1: every step updates */
    double             clip_norm, clip_value; /* 0: not clipped */
    as_train_precision precision;
    int                precision_skips;                              /* as_train_plan_new() finds the best */
    const char        *recompute_text, *clip_text, *clip_value_text; /* as the options have them */
    bool               norm; /* the norm of the gradient is computed at every step, for watching; clipping and f16 need it anyway */
    int                recompute; /* 0: every activation is kept; n: n segments are computed again in the backward pass; -1: auto */
} as_train_setup;

extern const as_option_member as_train_setup_members[];
/* Options loss, optimizer, group, freeze, accumulate, clip, clip-value, precision, recompute. */
assay_status as_train_setup_read(assay_env *env, const assay_options *options, as_train_setup *out);
/* The numbers of the texts, after members were set one by one. */
assay_status as_train_setup_parse(assay_env *env, as_train_setup *setup);
#define AS_TRAIN_SETUP_KEYS "optimizer", "loss", "group", "freeze", "accumulate", "clip", "clip-value", "precision", "recompute"

/* A trained parameter's place in the flat block. */
typedef struct as_train_part {
    const char *name;
    as_shape    shape;
    int64_t     begin, count; /* elements of the block; begin is a multiple of 16 */
    int         group;
    const void *data; /* its first values, in the model */
} as_train_part;

/* Names in the graph of a step, besides those of the network itself.  Inputs: the target, "d:train:loss" (the factor of the loss: 1,
 * or the loss scale, divided by the number of accumulated steps), the rate of each group, the number of the update from 1 (0: only
 * accumulate), the factor of the sum so far (0 starts a new one), the loss scale. */
#define AS_TRAIN_PARAMS  "train:params"
#define AS_TRAIN_TARGET  "train:target"
#define AS_TRAIN_LOSS    "train:loss"
#define AS_TRAIN_RATES   "train:rates"
#define AS_TRAIN_STEP    "train:step"
#define AS_TRAIN_KEEP    "train:keep"
#define AS_TRAIN_SCALE   "train:scale"
#define AS_TRAIN_SUM     "train:sum of gradients"
#define AS_TRAIN_NORM    "train:norm"
#define AS_TRAIN_USED    "train:used" /* the rates that the optimiser applied */
#define AS_TRAIN_SKIPPED "train:skipped"
#define AS_TRAIN_FLAT    "train:gradient"

/* The graph of a step. */
typedef struct as_train_graph {
    assay_model  net;   /* the network, whose small weights are parameters here, too: a reader of files takes them for constants */
    assay_model *model; /* concrete; lends the data of frozen parameters from the network, which must outlive it */
    as_variable_def *variables; /* "train:params", the optimiser's states, the sum of gradients when accumulating, statistics */
    int              n_variables;
    as_train_part   *parts;
    int              n_parts;
    int64_t          n_elements; /* of the flat block, with its gaps */
    int64_t          n_trained;  /* parameters that learn */
    int              n_groups;
    int64_t         *starts;            /* where each group begins */
    double           base_rate, *rates; /* of each group, as a factor of the base */
    int              n_states;          /* of the optimiser: variables 1 .. n_states */
    double           initial[4];        /* what each of them begins with */
    int              first_kept; /* running statistics: variables first_kept .. n_variables - 1, under the model's own names */
    bool             is_lbfgs;   /* no update in the graph: the output AS_TRAIN_FLAT is read instead */
    bool             accumulates, has_scale, has_norm;
    bool             has_labels; /* the target is classes */
    const char      *answer;     /* the output that the loss judges */
    const char      *loss_of;    /* the value that the loss reads: that output, or what its Softmax or Sigmoid reads */
    const char      *loss;       /* "ce" ... */
    as_recompute     recompute;
    as_precision     precision;
    assay_model     *inner[4]; /* the stages it was made of, which lend it their constants */
    as_arena         arena;
} as_train_graph;

/* dims: every symbol of the model, batch among them. */
assay_status as_train_graph_new(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims,
                                const as_train_setup *setup, as_train_graph **out);
void         as_train_graph_free(as_train_graph *graph);

/* The bytes of a plan of such a graph by what they are for.  Buffers share memory when they are never needed together, so every byte counts
 * for the first kind below that ever uses it: together they are the plan's total, so nothing is left out.  Activations are results of both
 * passes. */
typedef enum as_train_kind {
    AS_KIND_WEIGHTS, /* that learn */
    AS_KIND_STATES,  /* of the optimiser */
    AS_KIND_STATISTICS,
    AS_KIND_DATA,      /* inputs and targets */
    AS_KIND_GRADIENTS, /* of the weights */
    AS_KIND_ACTIVATIONS,
    AS_KIND_PACKED, /* weights in the form that a kernel wants */
    AS_KIND_SCRATCH,
    AS_KIND_GAPS, /* between buffers */
    AS_N_KINDS
} as_train_kind;
const char *as_train_kind_text(as_train_kind kind); /* "weights" */

typedef struct as_train_memory {
    uint64_t held[AS_N_KINDS];  /* their sum is the total */
    uint64_t apart[AS_N_KINDS]; /* what each kind would take if no memory were shared; gaps: 0 */
    uint64_t total;             /* what an instance allocates */
    uint64_t frozen;            /* in the model, and not part of the total: parameters that do not learn, constants */
} as_train_memory;
assay_status as_train_memory_count(assay_env *env, const as_train_graph *graph, const assay_plan *plan, as_train_memory *out);

/* The graph and its plan, without an instance: nothing is allocated for it. */
assay_status as_train_plan_new(assay_env *env, const assay_model *model, const as_train_setup *setup,
                               const as_plan_options *plan_options, as_train_graph **graph, assay_plan **plan);

/* Makes the plan run by itself, for measuring: an instance begins with the network's weights, and every run of it is an update with the
 * rate 0 on the same examples, random by seed.  So all runs do the same work. */
assay_status as_train_plan_ready(assay_env *env, const as_train_graph *graph, uint64_t seed, assay_plan *plan);

/* Metrics of a trace of such a plan: bytes by kind, and the elements of the flat block that belong to each layer. */
assay_status as_train_note(assay_env *env, const as_train_graph *graph, const assay_plan *plan, assay_trace *trace);

/* --- The trainer: a plan of the graph, an instance of it, and the number of the next step ------------------ */

typedef struct as_trainer as_trainer;

/* What one step needs besides the data. */
typedef struct as_train_input {
    const as_view *inputs; /* one per input of the model, in its order; data NULL: zeros, and ones for time spans */
    int            n_inputs;
    const as_view *target;
    const double  *rates;      /* one per group */
    bool           update;     /* false: only adds to the accumulated gradient */
    double         loss_scale; /* 1 unless precision is f16 */
} as_train_input;

typedef struct as_train_output {
    double  loss, norm; /* norm NaN: not computed */
    double  used;       /* the rate of group 0 that the optimiser applied, as its kernel wrote it; NaN: no update */
    bool    skipped;    /* the gradient was not finite: nothing changed */
    as_view answer;     /* what the network gave, for metrics: until the next step */
} as_train_output;

/* plan_options: device, threads, seed, winograd, compile ... as of any plan; dims and batch bind the model's symbols. */
assay_status as_trainer_new(assay_env *env, const assay_model *model, const as_train_setup *setup,
                            const as_plan_options *plan_options, as_trainer **out);
void         as_trainer_free(as_trainer *trainer);
/* Allocates nothing. */
assay_status as_trainer_step(const as_run_ctx *run, as_trainer *trainer, const as_train_input *in, as_train_output *out);

const as_train_graph *as_trainer_graph(const as_trainer *trainer);
const assay_plan     *as_trainer_plan(const as_trainer *trainer);
assay_instance       *as_trainer_instance(as_trainer *trainer);
uint64_t              as_trainer_updates(const as_trainer *trainer); /* so far */
/* For resuming: the number of updates and of steps so far; the variables are set through the instance. */
void as_trainer_set_counts(as_trainer *trainer, uint64_t updates, uint64_t steps);
/* A view of a parameter (or running statistic) as it is now, by the model's own name; data NULL: none of that name is trained. */
as_view as_trainer_weight(const as_trainer *trainer, const char *name);
/* Takes over all variables of another trainer of the same network (another batch size, another precision). */
assay_status as_trainer_take(assay_env *env, as_trainer *to, const as_trainer *from);
/* The network with its weights as they are now, for saving: it reads them in the trainer, which must not step meanwhile. */
assay_status as_trainer_model(assay_env *env, const as_trainer *trainer, assay_model **out);

/* A network in evaluation: a plan for inference whose parameters are the trainer's, read in place. */
typedef struct as_evaluator as_evaluator;
assay_status as_evaluator_new(assay_env *env, const as_trainer *trainer, const as_plan_options *plan_options, as_evaluator **out);
void         as_evaluator_free(as_evaluator *evaluator);
/* Call after the weights changed. */
void as_evaluator_refresh(as_evaluator *evaluator);
/* Computes the answer for a batch of at most the plan's batch; views into the evaluator's memory, rows beyond the batch have no meaning. */
assay_status as_evaluator_run(const as_run_ctx *run, as_evaluator *evaluator, const as_view *inputs, int n_inputs, as_view *answer);

#endif
