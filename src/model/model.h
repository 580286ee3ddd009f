/* model.h - the graph: values, nodes, parameters; the zoo, the file formats, the gradient.
 *
 * A model never changes once loaded.  It owns one arena and its mapped files; assay_model_free()
 * releases all of it.  Dimensions may be symbols ("batch"); a plan binds them. */
#ifndef AS_MODEL_MODEL_H
#define AS_MODEL_MODEL_H

#include "base/options.h"
#include "op/op.h"

#define AS_MAX_NODES  100000
#define AS_MAX_VALUES 400000

typedef struct as_dim {
    int64_t     size;
    const char *symbol;
} as_dim; /* symbol non-NULL: size not known yet */
typedef struct as_dims {
    int    rank;
    as_dim dim[AS_MAX_RANK];
} as_dims;

typedef enum as_role {
    AS_ROLE_INPUT,    /* given by the user, every run */
    AS_ROLE_PARAM,    /* a weight: has data, may be replaced, training changes it */
    AS_ROLE_CONSTANT, /* has data, never changes */
    AS_ROLE_COMPUTED  /* the output of a node */
} as_role;

typedef struct as_value {
    const char *name;
    as_role     role;
    as_dtype    dtype;
    as_dims     dims;     /* of inputs, params and constants; computed values get theirs when bound */
    const void *data;     /* params and constants: row-major, at any address: data in a file is used in place */
    int         producer; /* node that computes it, -1 if none */
} as_value;

/* A subgraph of If, Loop or Scan: a model of its own.  Its first inputs are the formal ones; the others are values of the graph
 * around it, by name.  Inputs of a body have no dtype and no dims; they take those of the values bound to them. */
typedef struct as_body {
    const char        *name;  /* "then_branch" */
    const assay_model *graph; /* owned by the model around it */
    int                n_formal;
    const int         *from; /* for every other input: which input of the node it is */
} as_body;

typedef struct as_node {
    const char    *name;
    const char    *module; /* path in the framework's tree of modules, "layer4.1.conv2"; "": not known, or the network itself */
    as_train_place place;  /* in a training step */
    const as_op   *op;
    const int     *in, *out; /* value ids; -1: absent optional */
    int            n_in, n_out;
    const as_attr *attrs;
    int            n_attrs;
    const as_body *bodies; /* only for If, Loop and Scan */
    int            n_bodies;
    int            n_formal; /* with bodies: inputs of the node itself; only the bodies read the others */
} as_node;

/* A model that another owns. */
typedef struct as_model_link {
    assay_model          *model;
    struct as_model_link *next;
} as_model_link;

/* A mapped file that values point into. */
typedef struct as_map_link {
    as_map              map;
    struct as_map_link *next;
} as_map_link;

/* A file that the model's own file names, relative to its directory: external data, weights. */
typedef struct as_file_link {
    const char          *name;
    struct as_file_link *next;
} as_file_link;

/* A composite that as_model_expand() wrote as primitives: the nodes whose names begin with its name and '/'. */
typedef struct as_model_cell {
    const char        *op, *name, *module;
    const char *const *in, *const *out; /* values by name; "": absent */
    int            n_in, n_out;
    const as_attr *attrs;
    int            n_attrs;
} as_model_cell;

struct assay_model {
    as_arena       arena;
    const char    *name;     /* its name for readers: the file's name "resnet18.onnx", or the built-in network as given */
    const char    *own_name; /* inside the file: "main_graph"; for a built-in network its name without parameters */
    const char    *source;   /* the spec as given */
    as_value      *values;
    int            n_values;
    as_node       *nodes;
    int            n_nodes; /* in an order in which inputs come before use, checked */
    int           *inputs;
    int            n_inputs;
    int           *outputs;
    int            n_outputs;
    as_safetensors weights; /* open while params point into it */
    as_model_link *bodies;  /* subgraphs of its nodes; the links are in the arena */
    as_model_link *lenders; /* models whose data its params point to; the links are in the arena */
    as_map_link   *maps;    /* open while params and constants point into them; the links are in the arena */
    as_file_link  *files;   /* files that its own file needs; the links are in the arena */
    as_model_cell *cells;   /* what some of its nodes are the primitives of */
    int            n_cells;
};

/* --- Building --------------------------------------------------------------------------------- */

/* Grows a model; used by the zoo, the readers and the gradient.  The first failure sticks: later calls return -1
 * and as_maker_finish() reports it, so zoo files need no error handling. */
typedef struct as_maker as_maker;

assay_status as_maker_new(assay_env *env, const char *name, uint64_t seed, as_maker **out);
int          as_maker_input(as_maker *m, const char *name, as_dtype dtype, const as_dims *dims);
/* A parameter with given values (copied if `copy`, otherwise they must outlive the model and may be at any address), or zeros
 * when data is NULL. */
int as_maker_param(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape, const void *data, bool copy);
/* A f32 parameter uniform in [-1/sqrt(fan_in), 1/sqrt(fan_in)), Philox keyed by the seed and the name's hash. */
int as_maker_param_random(as_maker *m, const char *name, const as_shape *shape, int64_t fan_in);
int as_maker_constant(as_maker *m, const char *name, const as_view *value); /* copied; name NULL: made up */
/* Adds a node by operator name; returns its first output, further ones in outs (may be NULL).  name NULL: made up ("relu_2").
 * Output values are named after the node ("conv1", "conv1:1") unless out_names is given. */
int  as_maker_node(as_maker *m, const char *op, const char *name, const int *in, int n_in, const as_attr *attrs, int n_attrs,
                   int *outs, int n_out, const char *const *out_names);
void as_maker_output(as_maker *m, int value);
/* Nodes added from now on stand here in a training step, until the next call; the layer is copied. */
void as_maker_place(as_maker *m, const as_train_place *place);
/* Sorts the nodes, checks the graph (names unique, no cycle, every input produced), and hands over; frees the maker
 * in any case. */
assay_status as_maker_finish(as_maker *m, assay_model **out);
void         as_maker_fail(as_maker *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool         as_maker_failed(const as_maker *m);
/* Nodes added from now on belong to this module (as_node.module), until the next call; copied.  "": to none. */
void as_maker_module(as_maker *m, const char *module);
/* Nodes that no output depends on are left out by as_maker_finish(), with their values and constants. */
void as_maker_prune(as_maker *m);
/* Copies the inputs, params, constants and nodes of a model under their names; data is lent and must outlive the maker's model.
 * ids: one per value of the model, its id in the maker. */
void      as_maker_include(as_maker *m, const assay_model *model, int *ids);
void      as_dims_of_shape(const as_shape *shape, as_dims *out);
as_shape  as_shape_of_dims(const as_dims *dims); /* of a value without symbols */
as_arena *as_maker_arena(as_maker *m);           /* lives as long as the model */

/* --- Binding: symbols to sizes, shapes to every value ------------------------------------------- */

typedef struct as_binding_dim {
    const char *symbol;
    int64_t     size;
} as_binding_dim;

/* The values that an input will have in every run of what is bound. */
typedef struct as_known_input {
    const char *name;
    as_view     view;
    const char *source; /* for sentences: the file */
} as_known_input;

/* A concrete copy of the graph that passes may change.  Everything lives in the given arena, which must be the
 * plan's: nodes hold complete contexts. */
typedef struct as_bound_value {
    const char    *name;
    as_role        role;
    as_tensor_info info; /* info.constant set when the values are known: constants, known inputs that shapes depend on, and values
                          * computed only from these */
    const void    *data; /* params: at any address, as in the model; constants: aligned to the element */
    int            producer;    /* node id, -1 if none */
    int            model_value; /* id in the model, -1 if made by a pass */
} as_bound_value;

typedef struct as_bound_node {
    as_node_ctx ctx;
    int        *in, *out;
    bool        dead; /* removed by a pass */
} as_bound_node;

typedef struct as_graph {
    as_arena       *arena;
    as_bound_value *values;
    int             n_values, cap_values;
    as_bound_node  *nodes;
    int             n_nodes, cap_nodes;
    int            *inputs, n_inputs, *outputs, n_outputs;
} as_graph;

/* If, Loop and Scan are unrolled: the branch that the known condition takes, every iteration of a known number.  The nodes are
 * named after them, "loop[3]/add".  Where the condition or the number is not known they are refused.
 *
 * Shape arithmetic is folded: a small node with only known inputs (or Shape, Size) is evaluated at once, its results become
 * constants and the node is dead; where a result is an output of the graph the node stays and info.constant is set. Unbound
 * symbols are an error that names them; so is a bound symbol that the model does not have.
 *
 * An input that a shape is computed from (the axes of a Squeeze, the shape of a Reshape) needs values here: they become its
 * info.constant, and the graph is right for these values only.  Other known inputs are checked for shape and dtype and stay free.
 * If a value that must be known is not, the message names the input to give. */
assay_status as_graph_bind(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims,
                           const as_known_input *known, int n_known, uint64_t seed, as_arena *arena, as_graph *out);
int          as_graph_add_value(as_graph *g, const as_bound_value *value); /* -1: no memory */
/* The reference answer of the whole graph: evaluates every node by its op's eval.  `inputs` in graph order; `outputs` are views
 * of the caller's memory.  All have the dtypes of the graph. */
assay_status as_graph_eval(assay_env *env, const as_graph *g, const as_view *inputs, const as_view *outputs);
/* Fills views of the inputs with the values that `run` uses when none are given: uniform in [-1,1), Philox by seed and name;
 * integers in [0, 10). */
void as_random_input(uint64_t seed, const char *name, const as_view *view);

/* The gradient graph: a model that computes, from the inputs and params of `model` (concrete, bound as given) and one input
 * "d:<output>" per float output, the outputs "d:<name>" for each float input and param that is listed (zeros for one that no
 * output depends on).  Nodes of the forward pass are included if the gradient reads them.  Borrows the data of params from
 * `model`, which must outlive it. Fails with the name of the operator if one on the way has no gradient. */
assay_status as_model_grad(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, const char *const *wrt,
                           int n_wrt, assay_model **out);
/* The same for a loss: the model with its own outputs, followed by "d:<name>" for each listed value, which may be computed too (a
 * part of a block).  Only the output `loss` is differentiated; its factor is the input "d:<loss>". */
assay_status as_model_backward(assay_env *env, const assay_model *model, const char *loss, const char *const *wrt, int n_wrt,
                               assay_model **out);

/* Replaces composite operators by primitives (as_op.expand); everything else is unchanged.  Given dimensions are fixed in the
 * result; the others stay symbols.  With a composite, only the batch may stay a symbol.  Borrows the data of params and constants
 * from `model`, which must outlive it. */
assay_status as_model_expand(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, assay_model **out);
bool         as_model_has_composites(const assay_model *model);
/* The same in a bound graph: those that are defined by their primitives (as_op.composed), or all, for running op by op; a composite
 * that would need too many nodes stays.  After a failure the graph cannot be used. */
assay_status as_graph_expand(assay_env *env, const assay_model *model, uint64_t seed, bool all, as_graph *g);

/* --- Loading -------------------------------------------------------------------------------------- */

typedef struct as_model_options {
    uint64_t    seed;    /* of random weights */
    const char *weights; /* a safetensors file whose tensors replace the parameters of the same name, or NULL */
    /* Options that need an optional input of a built-in network, which they switch on. */
    const char *timespans;
    as_texts    states_in;
    bool        stream;
} as_model_options;

extern const as_option_member as_model_members[];
/* options NULL: nothing is set. */
assay_status as_model_options_read(assay_env *env, const assay_options *options, as_model_options *out);
/* assay_model_load() is this with its options read. */
assay_status as_model_load(assay_env *env, const char *spec, const as_model_options *options, assay_model **out);

/* --- Plugs: zoo_*.c and fmt_*.c ------------------------------------------------------------------ */

typedef struct as_zoo_param {
    const char *key, *standard, *help;
} as_zoo_param; /* "sizes" "784x512x256x10" "layer widths" */
typedef struct as_zoo_args as_zoo_args;

/* The words that a key takes, NULL-terminated. */
typedef struct as_zoo_choice {
    const char        *key;
    const char *const *words;
} as_zoo_choice;

/* The axes over which a workload of `bench` is measured; a network has none. */
typedef struct as_zoo_axes {
    const char *variant;            /* the key that a word alone sets, "op" for elementwise:add; NULL: none */
    int         min_dims, max_dims; /* how many numbers the key `size` takes; 0: no such key */
    const char *form;               /* of the size, for messages: "MxN" */
    const char *rows;               /* the key whose first number counts rows that do not depend on each other; NULL: none */
} as_zoo_axes;

typedef struct as_zoo {
    const char          *name;    /* "mlp-small" */
    const char          *help;    /* one line */
    const as_zoo_param  *params;  /* NULL-key terminated; NULL: none */
    const as_zoo_choice *choices; /* of params that take a word; NULL-key terminated; NULL: none */
    const as_zoo_axes   *axes;    /* NULL: a network */
    bool                 trains;  /* its calls are training steps */
    void (*build)(as_maker *m, const as_zoo_args *args);
    /* For what the maker cannot do: changes the finished model, or replaces it by one that owns it.  NULL: nothing to do.  On
     * failure the caller keeps the model. */
    assay_status (*refine)(assay_env *env, const as_zoo_args *args, assay_model **model);
} as_zoo;

extern const as_zoo *const as_zoo_table[];
/* Other names of workloads and of their words, as guides and other tools write them: "multiply" for "elementwise:mul".  Ends with NULL. */
typedef struct as_zoo_alias {
    const char *name, *spec;
} as_zoo_alias;
extern const as_zoo_alias as_zoo_aliases[];
/* Given values or defaults; a list is "784x128x10"; bad text fails the maker with a message and returns 0. */
const char *as_zoo_text(const as_zoo_args *args, const char *key);
int64_t     as_zoo_int(as_maker *m, const as_zoo_args *args, const char *key, int64_t min, int64_t max);
size_t as_zoo_list(as_maker *m, const as_zoo_args *args, const char *key, int64_t min, int64_t max, int64_t *out, size_t max_n);

typedef struct as_format {
    const char *suffix; /* ".json" */
    const char *help;
    assay_status (*load)(assay_env *env, const char *path, uint64_t seed, assay_model **out);
    assay_status (*save)(assay_env *env, const assay_model *model, const char *path); /* NULL: read only */
} as_format;

extern const as_format *const as_fmt_table[];

/* Parameter totals. */
/* Whether a model's file may name another file by this path.  Only below its own directory: relative, without "..", backslash or
 * drive. */
bool     as_model_file_ok(const char *name);
bool     as_model_file_add(assay_model *model, const char *name); /* false: no memory */
uint64_t as_model_param_count(const assay_model *model);
uint64_t as_model_param_bytes(const assay_model *model);
int      as_model_value_find(const assay_model *model, const char *name); /* -1 */

#endif
