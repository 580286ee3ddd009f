/* plan.h - a model bound to devices: ordered steps, chosen kernels, and every buffer a run needs.
 *
 * Never changes once built; threads may share it.  Owns its arena: assay_plan_free() releases all of it.  Borrows the model and the
 * devices, which must outlive the plan; only what assay_plan_build() opened by name is closed with the plan.
 *
 * Device 0 is always the host (the cpu back end): inputs, outputs and variables live there.  The prologue (the set-up: packing,
 * transfers, what depends only on parameters) runs once, and again when a parameter changes; the body runs every time. */
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
    AS_BUF_VARIABLE /* an instance keeps it from step to step; only the variable's own update writes it */
} as_buffer_role;
const char *as_buffer_role_text(as_buffer_role role);

typedef struct as_buffer {
    const char    *name;
    as_buffer_role role;
    as_dtype       dtype;
    as_shape       shape;
    size_t         bytes; /* 0 for an alias; for an outside buffer its size, which device_bytes does not include */
    int            device;
    int            first, last; /* steps between which its content matters; prologue results live to the end */
    size_t         offset;      /* in its device's allocation */
    int            shares;      /* number, from 1, of the buffer that it follows in the same memory, or could follow; 0: none */
    bool           in_place;    /* it is (or could be) the result of a step that overwrites an operand, not another view of it */
    const void    *outside;     /* params and constants on a host device: used in place, at any address, no bytes of ours */
    int            alias_of;    /* buffer whose memory it shares (Reshape, Flatten), or -1 */
    size_t         alias_begin; /* bytes from the beginning of that buffer */
    bool           is_part;     /* an alias of a part of it: assay.Part, or a result that is written into an assay.Join */
    int            value;       /* graph value, -1 for scratch */
    const void    *packer;      /* of packed weights: the kernel that wants them so; else NULL */
} as_buffer;

/* Align: a param or constant whose address in its file is not a multiple of its element's size is copied once, like a put.
 * Piece: nodes that a device which takes graphs computes as one step.
 * Update: copies the output to the variable that it updates, where no kernel could write it in place. */
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

/* The request for a variable: an input or a parameter of the model that an instance owns, and the output that is its new value
 * after every step (recurrent state, running statistics, parameters in training).  A parameter begins with its own values, an
 * input with those given by the options, otherwise with zeros. */
typedef struct as_variable_def {
    const char *name;    /* of the input or parameter */
    const char *becomes; /* an output; NULL: changes only when the caller sets it */
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

/* Consecutive nodes of the graph that are one step. */
typedef struct as_plan_piece {
    int         device, first, n_nodes;
    bool        steady; /* depends on parameters and constants alone */
    const char *name;   /* "conv1+bn1+relu1" */
    const char *module; /* the module that contains all its nodes; "": none */
    const char *op;     /* "3 nodes as one" */
    as_piece    piece;  /* as its device gets it */
} as_plan_piece;

typedef struct as_step {
    as_step_kind         kind;
    const char          *name;   /* the node's, "put x", "pack fc1.weight" */
    const char          *module; /* path in the framework's tree of modules, "layer4.1"; NULL or "": not known */
    as_train_place       place;  /* in a training step */
    int                  device; /* where it runs; for a transfer: the device that is not the host */
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

/* What each pass did, for display. */
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

/* `compile both` means two plans, which only `profile` and `compare` make: as_plan_build() refuses it. */
typedef enum as_plan_compile { AS_PLAN_COMPILED, AS_PLAN_OP_BY_OP, AS_PLAN_BOTH } as_plan_compile;

/* Whether buffers that are never in use together share memory. */
typedef enum as_plan_reuse { AS_PLAN_REUSE, AS_PLAN_NO_REUSE } as_plan_reuse;
/* Whether results overwrite operands; auto: where the plan is compiled. */
typedef enum as_plan_in_place { AS_PLAN_IN_PLACE_AUTO, AS_PLAN_IN_PLACE_ON, AS_PLAN_IN_PLACE_OFF } as_plan_in_place;

typedef struct as_plan_options {
    as_texts         dims; /* "time=16" */
    int64_t          batch, seq;
    bool             batch_is_set, seq_is_set; /* the default must not affect a model without these symbols */
    as_plan_compile  compile;
    bool             winograd; /* less exact convolutions are allowed */
    as_plan_reuse    reuse;
    as_plan_in_place in_place;
    const char      *weights_as; /* the type in which kernels may store weights of products: "f32", "f16", "bf16" */
    const char      *device;
    as_texts         devices; /* all that were given, in order of preference; `device` is the last of them, or one that was set
                              * instead */
    int              threads;
    uint64_t         seed;
    as_texts         inputs, states_in; /* files: "x=x.npy" */
    const char      *timespans;         /* a file; in a stream "stdin": they come with the samples */
    bool             stream;
} as_plan_options;

extern const as_option_member as_plan_members[];
/* options NULL: nothing is set. */
assay_status as_plan_options_read(assay_env *env, const assay_options *options, as_plan_options *out);
/* assay_plan_build() is this with its options read. */
assay_status as_plan_build(assay_env *env, const assay_model *model, const as_plan_options *options, assay_plan **out);

/* Bytes [begin, end) of an allocation. */
typedef struct as_extent {
    size_t begin, end;
} as_extent;

/* How much of a plan's work one of its devices does, and what it refused; counts nodes of both body and set-up. */
typedef struct as_plan_share {
    int         n_nodes, n_refused;
    const char *first_refused, *why; /* the first node that it refused, and its reason; NULL: none */
} as_plan_share;

struct assay_plan {
    as_arena           arena;
    const assay_model *model;
    as_given          *given;   /* one per model input; an instance begins with these values */
    int                n_fixed; /* inputs whose values the plan is made for: graph.values[graph.inputs[i]].info.constant is set */
    as_graph           graph;
    as_device        **devices; /* the host first */
    int                n_devices;
    int               *order;  /* indices into devices, in order of preference: a node goes to the first that takes it */
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
    as_choice        **claims;   /* per device: its answers about each node if it takes graphs, otherwise NULL; NULL: no such
                                  * device */
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
    const char           *weights_as; /* --weights-as: the type in which kernels may store weights of products */
    uint64_t              seed;
    double                build_ns, compile_ns; /* NaN: not measured, because the clock or a device's time is simulated */
    /* Sums over the buffers of a role, as if no memory were shared; activations include inputs and outputs.  Params count once,
     * on the host; a device's copies are in device_bytes. */
    uint64_t   param_bytes, activation_bytes, scratch_bytes, packed_bytes, variable_bytes;
    as_extent *idle; /* memory of an instance on the host that no step of the body uses, only the set-up; in order */
    int        n_idle;
    uint64_t   lower_bound_bytes; /* the most that is live at any step, summed over the devices: no plan can be smaller */
};

/* What a plan needs besides the options. */
typedef struct as_plan_with {
    as_device *const      *devices; /* lent for the plan's life, in order of preference; NULL: the plan opens and owns those that
                                     * the options name */
    size_t                 n_devices;
    const as_variable_def *variables;
    int                    n_variables;
} as_plan_with;
assay_status as_plan_build_with(assay_env *env, const assay_model *model, const as_plan_options *options, const as_plan_with *with,
                                assay_plan **out);

/* What a pass may know besides the graph. */
typedef struct as_pass_ctx {
    as_device  *device;     /* where the nodes go if it takes them: a fusion without a kernel there gains nothing */
    bool        winograd;   /* --winograd: less exact convolutions are allowed */
    const char *weights_as; /* --weights-as: "f32", "f16", "bf16" */

    const as_variable *variables; /* of the plan: what depends on them and on parameters alone is a weight in training */
    int                n_variables;
} as_pass_ctx;

/* A pass changes the graph while the plan is built.  One per file: ps_<name>.c.  Orders: 5 qdq, 10 fold, 20 norms, 25 turn, 30 fuse, 40 chain, 50
 * storage, 60 layout, 90 dead. */
typedef struct as_pass {
    const char *name;
    int         order; /* low runs first */
    const char *help;
    assay_status (*run)(assay_env *env, as_graph *graph, const as_pass_ctx *ctx, as_pass_note *note);
} as_pass;
extern const as_pass *const as_ps_table[];

/* The sizes that the options give to the symbols of a model; files are not looked at. */
assay_status as_plan_dims(assay_env *env, const assay_model *model, const as_plan_options *options, as_arena *arena,
                          const as_binding_dim **out, int *n);

/* The most preferred device; its share says how much it does. */
static inline as_device *as_plan_wanted(const assay_plan *plan) { return plan->devices[plan->order[0]]; }

/* The plan as a trace describes it: steps, buffers, scalars. */
assay_status as_plan_describe(assay_env *env, const assay_plan *plan, assay_trace *t);
/* Only its steps, as those of a candidate, added after the steps that the trace already has. */
assay_status as_plan_describe_steps(assay_env *env, const assay_plan *plan, int arm, assay_trace *t);
/* What every description of a plan (trace, text, JSON) says about a step. */
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
    bool              host_is_lent; /* memory[0] belongs to the caller */
    size_t            host_offset;  /* shift of the buffers on the host from their planned offsets */
    uint64_t          step;         /* runs so far: keys random operators */

    as_transfer_stamp *stamps; /* of the transfers of the set-up, where somebody asked for them; else NULL */
    int                n_stamps, cap_stamps;
};

/* Runs of a plan on a device with simulated time need a simulated clock: makes the env's clock one, if it is not yet.  A new
 * instance does this for its env; code that reads the clock before that must call it itself. */
void         as_plan_clock(assay_env *env, const assay_plan *plan);
assay_status assay_instance_new(assay_env *env, const assay_plan *plan, assay_instance **out);
/* The same with its buffers at another place, for comparisons that must not depend on addresses: `offset` bytes (a multiple of
 * 64) further on, and in `host`, if given (at least plan->device_bytes[0] + offset bytes, lent for the instance's life), instead
 * of memory of its own. */
assay_status as_instance_new_at(assay_env *env, const assay_plan *plan, size_t offset, const as_mem *host, assay_instance **out);
void         assay_instance_free(assay_instance *instance);
/* From now on the transfers of the set-up are stamped; what comes every run costs nothing.  False: no memory. */
bool as_instance_watch(assay_instance *instance);
/* Gives its memory on the devices back before its end: from then on it can only be freed. */
void as_instance_release(assay_instance *instance);
/* Call this when lent memory was overwritten: forgets the results of the set-up, the values of given inputs and the variables;
 * the next step makes them again. */
void as_instance_refresh(assay_instance *instance);
/* The host memory of input and output i: write the input before a step, read the output after it.  An input that shapes depend on
 * holds the values for which the plan was made, and must keep them: a step refuses others. */
as_view as_instance_input(const assay_instance *instance, int i);
as_view as_instance_output(const assay_instance *instance, int i);
/* An output as it is shown and written to files: without a batch axis of 1 if the first input's file did not have one. */
as_view as_instance_answer(const assay_instance *instance, int i);
/* Starts again: every variable gets its initial value, and the next step is step 0, as in a new instance. */
void as_instance_reset(assay_instance *instance);
/* Copies a variable's value out or in, between two steps; the view has its dtype and shape. */
assay_status as_instance_get(assay_env *env, const assay_instance *instance, const char *name, const as_view *out);
assay_status as_instance_set(assay_env *env, assay_instance *instance, const char *name, const as_view *view);
as_view      as_instance_variable(const assay_instance *instance, int i); /* where variable i of the plan lives */
/* From now on uses other memory for a parameter (borrowed, row-major, aligned, with the parameter's dtype and shape). */
assay_status as_instance_set_param(assay_env *env, assay_instance *instance, const char *name, const as_view *view);
/* One run: the set-up if due, then the body.  Allocates nothing.  AS_RUN(env): uses the env's own clock and cancel, and records
 * nothing. */
assay_status as_instance_step(const as_run_ctx *run, assay_instance *instance);
uint64_t     as_instance_peak_bytes(const assay_instance *instance); /* observed over its devices */

/* --- Networks with state: which output of one step is which input of the next, and the default values of inputs --- */

enum { AS_MAX_STATES = 16 };

/* Indices into the model's lists of inputs and outputs. */
typedef struct as_state_pair {
    int input, output;
} as_state_pair;

/* The pairs by name: h0 and h_n, h_in and h_out, initial_h and Y_h, with anything for h.  Returns how many, in the order of the inputs. */
int as_state_find(const assay_model *model, as_state_pair *pairs, int max);
/* The indices of the outputs that are a state: those of the pairs, and h_n where there is no h0 yet.  outputs: room for
 * AS_MAX_STATES. */
int as_state_outputs(const assay_model *model, int *outputs);
/* The same as variables of a plan, so that the network keeps its state.  defs: room for AS_MAX_STATES. */
int as_state_variables(const assay_model *model, as_variable_def *defs);
/* The input of the time spans, or -1. */
int as_timespans_find(const assay_model *model);
/* Fills an input without a file: a state with zeros, time spans with ones, any other with random values by seed. */
void as_input_fill(const assay_model *model, int input, uint64_t seed, const as_view *view);

#endif
