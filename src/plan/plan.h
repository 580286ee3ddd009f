/* plan.h - a model bound to devices: ordered steps, chosen kernels, and every buffer a run needs.
 *
 * Never changes once built; threads may share it.  Owns its arena: assay_plan_free() releases all of it.  Borrows the model and the
 * devices, which must outlive the plan; only what assay_plan_build() opened by name is closed with the plan.
 *
 * Device 0 is always the host (the cpu back end): inputs, outputs and variables live there.  The prologue (pack, transfer, what depends on
 * parameters alone) runs once, and again when a parameter changes; the body runs every time. */
#ifndef AS_PLAN_PLAN_H
#define AS_PLAN_PLAN_H

#include "backend/backend.h"
#include "base/text.h"
#include "model/model.h"

typedef enum as_buffer_role {
    AS_BUF_INPUT,
    AS_BUF_OUTPUT,
    AS_BUF_PARAM,
    AS_BUF_CONSTANT,
    AS_BUF_ACTIVATION,
    AS_BUF_PACKED,
    AS_BUF_SCRATCH,
    AS_BUF_VARIABLE /* an instance keeps it from step to step, and only the variable's own update writes it */
} as_buffer_role;
const char *as_buffer_role_text(as_buffer_role role);

typedef struct as_buffer {
    const char    *name;
    as_buffer_role role;
    as_dtype       dtype;
    as_shape       shape;
    size_t         bytes; /* 0 for an alias; an outside buffer's own size, which is not in device_bytes */
    int            device;
    int            first, last; /* steps between which its content matters; prologue results live to the end */
    size_t         offset;      /* in its device's allocation */
    int            shares;      /* number, from 1, of the buffer that it follows in the same memory, or could follow; 0: none */
    bool           in_place;    /* it is (or could be) the result of a step that overwrites an operand, not another view of it */
    const void    *outside;     /* params and constants on a host device: used in place, at any address, no bytes of ours */
    int            alias_of;    /* buffer whose memory it shares (Reshape, Flatten), or -1 */
    int            value;       /* graph value, -1 for scratch */
} as_buffer;

/* Align: a param or constant whose address in its file is no multiple of its element's size is copied once, like a put.
 * Piece: nodes that a device which takes graphs computes as one, without a step each.
 * Update: a variable takes the value of the output that it becomes, where no kernel could write it in place. */
typedef enum as_step_kind {
    AS_STEP_NODE,
    AS_STEP_PACK,
    AS_STEP_PUT,
    AS_STEP_GET,
    AS_STEP_ALIGN,
    AS_STEP_UPDATE,
    AS_STEP_PIECE
} as_step_kind;

static inline bool as_step_is_transfer(as_step_kind kind)
{
    return kind == AS_STEP_PUT || kind == AS_STEP_GET || kind == AS_STEP_ALIGN || kind == AS_STEP_UPDATE;
}

/* A variable as it is asked for: an input or a parameter of the model that an instance owns, and the output that it becomes behind
 * every step (recurrent state, running statistics, parameters in training).  A parameter begins with its own values, an input with
 * those that the options gave it; else zeros. */
typedef struct as_variable_def {
    const char *name;    /* of the input or parameter */
    const char *becomes; /* an output; NULL: it changes only when somebody sets it */
    bool        zeros;   /* a parameter begins with zeros instead */
    as_view     initial; /* data NULL: as above; else lent for the plan's life */
} as_variable_def;

/* A variable of a plan. */
typedef struct as_variable {
    const char *name;
    int         value, input; /* in the graph; input: place among its inputs, -1 for a parameter */
    int         output;       /* place among the graph's outputs, -1: none */
    int         buffer;       /* on the host */
    bool        in_place;     /* the step that computes the output writes it */
    as_view     initial;      /* data NULL: zeros */
} as_variable;

/* Nodes of the graph, one behind the other, that are one step. */
typedef struct as_plan_piece {
    int         device, first, n_nodes;
    bool        steady; /* depends on parameters and constants alone */
    const char *name;   /* "conv1+bn1+relu1" */
    const char *module; /* that all its nodes lie in; "": none */
    const char *op;     /* "3 nodes as one" */
    as_piece    piece;  /* as its device gets it */
} as_plan_piece;

typedef struct as_step {
    as_step_kind         kind;
    const char          *name;   /* the node's, "put x", "pack fc1.weight" */
    const char          *module; /* path in the framework's tree of modules, "layer4.1"; NULL or "": not known */
    int                  device; /* where it runs; of a transfer: the device that is not the host */
    int                  node;   /* graph node, or -1 */
    const as_plan_piece *piece;  /* of AS_STEP_PIECE, else NULL */
    as_seg_step          seg; /* operands by buffer id; for PUT and ALIGN in[0] (host) -> out[0]; for GET in[0] -> out[0] (host) */
    as_choice            choice;
    as_cost              cost;
    int                  segment;
} as_step;

typedef struct as_plan_segment {
    int        device;
    int        first, n_steps;
    bool       prologue;
    void      *code; /* NULL for a transfer */
    as_segment seg;
} as_plan_segment;

/* What each pass did, to be shown. */
typedef struct as_pass_note {
    const char *pass;
    int         n_changed;
    uint64_t    bytes_saved;
    const char *text;
} as_pass_note;

/* What the options input, timespans and state-in gave to an input; path NULL: nothing.  Unbatched: the file has no batch
 * axis, the tensor has one of size 1. */
typedef struct as_given {
    as_tensor   tensor;
    const char *path;
    bool        unbatched;
} as_given;

/* compile both is two plans, which only `profile` and `compare` make: as_plan_build() refuses it. */
typedef enum as_plan_compile { AS_PLAN_COMPILED, AS_PLAN_OP_BY_OP, AS_PLAN_BOTH } as_plan_compile;

/* Whether buffers that are never in use together share memory. */
typedef enum as_plan_reuse { AS_PLAN_REUSE, AS_PLAN_NO_REUSE } as_plan_reuse;
/* Whether results overwrite operands; auto: where the plan is compiled. */
typedef enum as_plan_in_place { AS_PLAN_IN_PLACE_AUTO, AS_PLAN_IN_PLACE_ON, AS_PLAN_IN_PLACE_OFF } as_plan_in_place;

typedef struct as_plan_options {
    as_texts         dims; /* "time=16" */
    int64_t          batch, seq;
    bool             batch_is_set, seq_is_set; /* the default must not disturb a model without */
    as_plan_compile  compile;
    bool             winograd; /* less exact convolutions are allowed */
    as_plan_reuse    reuse;
    as_plan_in_place in_place;
    const char      *weights_as; /* what kernels may store weights of products as: "f32", "f16", "bf16" */
    const char      *device;
    as_texts         devices; /* all that were given, by preference; `device` is the last of them, or one that was set instead */
    int              threads;
    uint64_t         seed;
    as_texts         inputs, states_in; /* files: "x=x.npy" */
    const char      *timespans;         /* a file; of a stream "stdin": they come with the samples */
    bool             stream;
} as_plan_options;

extern const as_option_member as_plan_members[];
/* options NULL: nothing is set. */
assay_status as_plan_options_read(assay_env *env, const assay_options *options, as_plan_options *out);
/* assay_plan_build() is this with its options read. */
assay_status as_plan_build(assay_env *env, const assay_model *model, const as_plan_options *options, assay_plan **out);

/* How much of a plan's work one of its devices does, and what it did not want: nodes of the body and the prologue alike. */
typedef struct as_plan_share {
    int         n_nodes, n_refused;
    const char *first_refused, *why; /* the first node that it refused, and its reason; NULL: none */
} as_plan_share;

struct assay_plan {
    as_arena           arena;
    const assay_model *model;
    as_given          *given;   /* one a model input; an instance begins with these values */
    int                n_fixed; /* inputs whose values the plan is made for: graph.values[graph.inputs[i]].info.constant is set */
    as_graph           graph;
    as_device        **devices; /* the host first */
    int                n_devices;
    int               *order;  /* places in devices, by preference: a node goes to the first that takes it */
    as_plan_share     *shares; /* per device */
    bool               owns_devices;
    uint64_t          *device_bytes; /* of one instance, per device: exact */
    as_step           *steps;
    int                n_steps, n_prologue; /* the prologue comes first */
    as_plan_segment   *segments;
    int                n_segments;
    as_buffer         *buffers;
    int                n_buffers;
    as_variable       *variables;
    int                n_variables;
    as_choice        **claims;   /* per device that takes graphs, else NULL: what it said about each node; NULL: there is none */
    int               *piece_of; /* per node: its piece or -1; NULL: there are none */
    as_plan_piece     *pieces;
    int                n_pieces;
    int               *inputs, *outputs; /* buffer ids in the order of the model's */
    as_pass_note      *passes;
    int                n_passes;
    const as_binding_dim *dims;
    int                   n_dims;     /* symbols and the sizes they were bound to */
    bool                  compiled;   /* --compile on */
    bool                  winograd;   /* --winograd: less exact convolutions were allowed */
    bool                  reuse;      /* --reuse: buffers share memory by lifetime */
    bool                  in_place;   /* --in-place: results may overwrite operands */
    const char           *weights_as; /* --weights-as: what kernels may store weights of products as */
    uint64_t              seed;
    double                build_ns, compile_ns; /* NaN: not measured, because the clock is a fake or a device tells its own time */
    /* Sums over the buffers of a role, as if no memory were shared; activations include inputs and outputs.  Params count
     * where they lie outside, on the host: a device's copies are in device_bytes. */
    uint64_t param_bytes, activation_bytes, scratch_bytes, packed_bytes, variable_bytes;
    uint64_t lower_bound_bytes; /* the most that is live at any step, summed over the devices: no plan can be smaller */
};

/* What a plan is made with besides the options. */
typedef struct as_plan_with {
    as_device *const      *devices; /* lent for the plan's life, by preference; NULL: those that the options name, the plan's own */
    size_t                 n_devices;
    const as_variable_def *variables;
    int                    n_variables;
} as_plan_with;
assay_status as_plan_build_with(assay_env *env, const assay_model *model, const as_plan_options *options, const as_plan_with *with,
                                assay_plan **out);

/* What a pass may know besides the graph. */
typedef struct as_pass_ctx {
    as_device  *device;     /* where the nodes go if it takes them: a fusion that it has no kernel for is no gain */
    bool        winograd;   /* --winograd: less exact convolutions are allowed */
    const char *weights_as; /* --weights-as: "f32", "f16", "bf16" */
} as_pass_ctx;

/* A pass changes the graph while the plan is built.  One a file: ps_<name>.c.  Orders: 10 fold, 20 norms, 30 fuse, 40 chain,
 * 50 storage, 60 layout, 90 dead. */
typedef struct as_pass {
    const char *name;
    int         order; /* low runs first */
    const char *help;
    assay_status (*run)(assay_env *env, as_graph *graph, const as_pass_ctx *ctx, as_pass_note *note);
} as_pass;
extern const as_pass *const as_ps_table[];

/* The device that was wished for first; what it does is in its share. */
static inline as_device *as_plan_wanted(const assay_plan *plan) { return plan->devices[plan->order[0]]; }

/* The plan as a trace describes it: steps, buffers, scalars. */
assay_status as_plan_describe(assay_env *env, const assay_plan *plan, assay_trace *t);
/* Its steps alone, as those of an arm, behind what the trace holds already. */
assay_status as_plan_describe_steps(assay_env *env, const assay_plan *plan, int arm, assay_trace *t);
/* What every description of a plan (trace, text, JSON) says of a step. */
const char *as_step_op(const assay_plan *plan, const as_step *step); /* "Conv", "Put", "Get", "Pack" */
const char *as_step_stage(const assay_plan *plan, int step);         /* "prologue" or "body" */
/* "f32[64,784] f32[784,128] -> f32[64,128]"; absent operands are "-". */
void     as_step_shapes(const assay_plan *plan, const as_step *step, as_text *out);
uint64_t as_step_working_set(const assay_plan *plan, const as_step *step); /* all operands, scratch and packed */
as_cost  as_step_issued(const as_step *step);

/* --- Instance: what changes while a plan runs -------------------------------------------------------- */

/* When a transfer of the set-up began and ended, which no span says because it happens once. */
typedef struct as_transfer_stamp {
    int      step;
    uint64_t begin_ticks, end_ticks;
} as_transfer_stamp;

struct assay_instance {
    const assay_plan *plan;
    as_arena          arena;
    as_mem           *memory;   /* one per device */
    as_slot          *slots;    /* per buffer */
    as_bindings      *bindings; /* per device */
    bool              prologue_due;
    bool              host_is_lent; /* memory[0] is somebody else's */
    size_t            host_offset;  /* buffers on the host lie so far behind where the plan put them */
    uint64_t          step;         /* runs so far: keys random operators */

    as_transfer_stamp *stamps; /* of the transfers of the set-up, where somebody asked for them; else NULL */
    int                n_stamps, cap_stamps;
};

/* Runs of a plan with a device that tells its own time are timed by a fake clock: makes the env's clock one, if it is not yet.  A new
 * instance does it for the env it is made in; who stamps before that calls it himself. */
void         as_plan_clock(assay_env *env, const assay_plan *plan);
assay_status assay_instance_new(assay_env *env, const assay_plan *plan, assay_instance **out);
/* The same at another place, for comparisons that must not depend on where buffers happen to lie: `offset` bytes (a multiple of 64)
 * further on, and in `host` when it is given (at least plan->device_bytes[0] + offset bytes, lent for the instance's life) instead of
 * memory of its own. */
assay_status as_instance_new_at(assay_env *env, const assay_plan *plan, size_t offset, const as_mem *host, assay_instance **out);
void         assay_instance_free(assay_instance *instance);
/* From now on the transfers of the set-up are stamped; what comes every run costs nothing.  False: no memory. */
bool as_instance_watch(assay_instance *instance);
/* Gives its memory on the devices back before its end: from then on it can only be freed. */
void as_instance_release(assay_instance *instance);
/* Forgets the prologue's results, the given inputs' values and the variables, which somebody overwrote in lent memory: the next step
 * makes them anew. */
void as_instance_refresh(assay_instance *instance);
/* Where input and output i live on the host: write the one before, read the other after a step.  An input that shapes depend on
 * holds the values that the plan was made for, and must keep them: a step refuses others. */
as_view as_instance_input(const assay_instance *instance, int i);
as_view as_instance_output(const assay_instance *instance, int i);
/* An output as files and people get it: without the batch of one that the first input's file did not have. */
as_view as_instance_answer(const assay_instance *instance, int i);
/* Begins anew: every variable has its initial value, and the next step is step 0.  A new instance is so. */
void as_instance_reset(assay_instance *instance);
/* Copies a variable's value out or in, between two steps; the view has its dtype and shape. */
assay_status as_instance_get(assay_env *env, const assay_instance *instance, const char *name, const as_view *out);
assay_status as_instance_set(assay_env *env, assay_instance *instance, const char *name, const as_view *view);
as_view      as_instance_variable(const assay_instance *instance, int i); /* where variable i of the plan lives */
/* Uses other memory for a parameter from now on (borrowed, row-major, aligned, the parameter's dtype and shape). */
assay_status as_instance_set_param(assay_env *env, assay_instance *instance, const char *name, const as_view *view);
/* One run: the prologue if due, then the body.  Allocates nothing.  AS_RUN(env): by the env's own clock and cancel, recording nothing. */
assay_status as_instance_step(const as_run_ctx *run, assay_instance *instance);
uint64_t     as_instance_peak_bytes(const assay_instance *instance); /* observed over its devices */

/* --- Networks that remember: which output of one step is which input of the next, and what inputs hold when nobody says --- */

enum { AS_MAX_STATES = 16 };

/* Places in the model's lists of inputs and outputs. */
typedef struct as_state_pair {
    int input, output;
} as_state_pair;

/* The pairs by name: h0 and h_n, h_in and h_out, initial_h and Y_h, with anything for h.  Returns how many, in the order of the inputs. */
int as_state_find(const assay_model *model, as_state_pair *pairs, int max);
/* The outputs that are a state, by place: those of the pairs, and h_n where there is no h0 yet.  outputs: room for AS_MAX_STATES. */
int as_state_outputs(const assay_model *model, int *outputs);
/* The same as variables of a plan: the network remembers by itself.  defs: room for AS_MAX_STATES. */
int as_state_variables(const assay_model *model, as_variable_def *defs);
/* The input of the time spans, or -1. */
int as_timespans_find(const assay_model *model);
/* What an input without a file holds: a state zeros, time spans ones, any other random values by seed. */
void as_input_fill(const assay_model *model, int input, uint64_t seed, const as_view *view);

#endif
