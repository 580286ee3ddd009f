/* op.h - what an operator is.  One operator per file: op_<name>.c exports `const as_op as_op_<name>`.
 *
 * Operators are ONNX's (opset 20: names, attributes, broadcasting) plus the domain "assay".  A file
 * holds the whole operator: what it means (eval, the reference code), its shape rule (infer), its cost,
 * its gradient, its tolerance, and cases around tile edges.  Tests, finite-difference checks,
 * benchmarks and the roofline all read that one file. */
#ifndef AS_OP_OP_H
#define AS_OP_OP_H

#include "base/env.h"
#include "base/pass.h"
#include "tensor/tensor.h"

#define AS_MAX_IN       64
#define AS_MAX_OUT      64
#define AS_N_IN_PLACE   8     /* outputs, from the first, that a kernel of many may write over inputs: an optimiser's states */
#define AS_MAX_EXPANDED 20000 /* nodes that one composite may expand to */

/* --- Attributes --------------------------------------------------------------------------- */

typedef enum as_attr_kind {
    AS_ATTR_INT,
    AS_ATTR_FLOAT,
    AS_ATTR_TEXT,
    AS_ATTR_INTS,
    AS_ATTR_FLOATS,
    AS_ATTR_TENSOR,
    AS_ATTR_TEXTS
} as_attr_kind;

typedef struct as_attr {
    const char        *name;
    as_attr_kind       kind;
    int64_t            i;
    double             f;
    const char        *text;
    const int64_t     *ints;
    const double      *floats;
    size_t             n; /* of ints, floats or texts */
    const as_view     *tensor;
    const char *const *texts;
} as_attr;

#define AS_ATTR_I(name_, value_)                            \
    {                                                       \
        .name = (name_), .kind = AS_ATTR_INT, .i = (value_) \
    }
#define AS_ATTR_F(name_, value_)                              \
    {                                                         \
        .name = (name_), .kind = AS_ATTR_FLOAT, .f = (value_) \
    }
#define AS_ATTR_S(name_, value_)                                \
    {                                                           \
        .name = (name_), .kind = AS_ATTR_TEXT, .text = (value_) \
    }
#define AS_ATTR_LIST(name_, ...)                                                       \
    {                                                                                  \
        .name = (name_), .kind = AS_ATTR_INTS, .ints = (const int64_t[]){__VA_ARGS__}, \
        .n = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)                  \
    }
#define AS_ATTR_FLOAT_LIST(name_, ...)                                                    \
    {                                                                                     \
        .name = (name_), .kind = AS_ATTR_FLOATS, .floats = (const double[]){__VA_ARGS__}, \
        .n = sizeof((const double[]){__VA_ARGS__}) / sizeof(double)                       \
    }
#define AS_ATTR_TEXT_LIST(name_, ...)                                                        \
    {                                                                                        \
        .name = (name_), .kind = AS_ATTR_TEXTS, .texts = (const char *const[]){__VA_ARGS__}, \
        .n = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                     \
    }

/* The attributes that an operator knows; the list ends with a NULL name. */
typedef struct as_attr_def {
    const char  *name;
    as_attr_kind kind;
    bool         required;
} as_attr_def;

/* --- The node context: all that a rule may know --------------------------------------------- */

/* Graph axes are always in ONNX's order; a layout is only the stride order of a buffer. */
typedef enum as_layout { AS_LAYOUT_ROW_MAJOR = 0, AS_LAYOUT_NHWC } as_layout;

typedef struct as_tensor_info {
    as_dtype    dtype; /* AS_NONE: optional and absent */
    as_shape    shape;
    as_layout   layout;
    const void *constant; /* row-major values when known while planning, else NULL */
} as_tensor_info;

typedef struct as_op as_op;

typedef struct as_node_ctx {
    const as_op          *op;
    const char           *name;   /* the node's own name, for messages */
    const char           *module; /* path in the framework's tree of modules, "layer4.1"; NULL or "": not known */
    as_train_place        place;  /* in a training step */
    const as_attr        *attrs;
    int                   n_attrs;
    const as_tensor_info *in;
    int                   n_in;  /* trailing absent inputs are cut */
    const as_tensor_info *out;   /* filled by infer, so not valid inside it */
    int                   n_out; /* outputs asked for */
    uint64_t              seed;  /* for random operators: seed, node and step are the key of the stream */
    uint32_t              node_id;
    uint32_t              step;
} as_node_ctx;

/* NULL when not given. */
const as_attr *as_attr_find(const as_node_ctx *n, const char *name);
int64_t        as_attr_int(const as_node_ctx *n, const char *name, int64_t otherwise);
double         as_attr_float(const as_node_ctx *n, const char *name, double otherwise);
const char    *as_attr_text(const as_node_ctx *n, const char *name, const char *otherwise);
/* Copies at most max values of an INTS attribute; returns how many it has (0: not given). */
size_t as_attr_ints(const as_node_ctx *n, const char *name, int64_t *out, size_t max);
/* Copies at most max pointers of a TEXTS attribute; returns how many it has (0: not given). */
size_t             as_attr_texts(const as_node_ctx *n, const char *name, const char **out, size_t max);
static inline bool as_in_has(const as_node_ctx *n, int i) { return i < n->n_in && n->in[i].dtype != AS_NONE; }

/* --- Cost ----------------------------------------------------------------------------------- */

/* Useful work by definition: a multiply-add is 2 flops, a comparison, a division and a root 1; exp, tanh and the like are counted
 * separately as special: their limit is that of an exponential, which a division is above.  Bytes count each tensor once, read or
 * written.  A count beyond 64 bits stays at UINT64_MAX. */
typedef struct as_cost {
    uint64_t flops;
    uint64_t special;
    uint64_t bytes_read;
    uint64_t bytes_written;
} as_cost;

/* Counts each present input and output as read or written once; flops 0. */
as_cost as_cost_bytes(const as_node_ctx *n);

/* --- Gradients build graph nodes -------------------------------------------------------------- */

/* A graph under construction, as the operators see it; model/ implements it.  Values are ids >=
 * 0; -1 is absent or failed (the first failure is kept, and the caller of grad reports it). */
typedef struct as_builder as_builder;
struct as_builder {
    /* Adds a node and returns its first output (further ones in outs when n_out > 1; outs may be NULL). */
    int (*node)(as_builder *b, const char *op, const int *in, int n_in, const as_attr *attrs, int n_attrs, int *outs, int n_out);
    /* Adds a constant (copied). */
    int (*constant)(as_builder *b, const as_view *value);
    /* Dtype and concrete shape of a value. */
    const as_tensor_info *(*info)(as_builder *b, int value);
    assay_env *env;
};

/* Helpers over these three, so that gradient rules read like formulas. */
int as_b1(as_builder *b, const char *op, int x);
int as_b2(as_builder *b, const char *op, int x, int y);
int as_b_scalar(as_builder *b, as_dtype dtype, double value);  /* rank 0 */
int as_b_ints(as_builder *b, const int64_t *values, size_t n); /* i64 vector */
int as_b_reshape(as_builder *b, int x, const as_shape *shape);
int as_b_transpose(as_builder *b, int x, const int64_t *perm, int rank);
/* Sums x over the axes along which `shape` was broadcast, giving exactly `shape`. */
int as_b_sum_to(as_builder *b, int x, const as_shape *shape);

/* --- Cases ------------------------------------------------------------------------------------- */

typedef struct as_case_in {
    as_dtype       dtype;
    as_shape       shape;
    const int64_t *ints; /* given values (an i64 constant such as a target shape), else random */
} as_case_in;

/* One call of the operator, for tests and benchmarks. Random inputs are uniform in [lo, hi), or [-1,1) when both are 0.
 * `want` (optional) holds the values of output 0 computed another way; they are compared within 1e-6 relative. */
#define AS_CASE_MAX_IN 10 /* Nadam */
typedef struct as_case {
    const char       *name;
    as_case_in        in[AS_CASE_MAX_IN];
    const as_case_in *wide; /* instead of `in`, for the few operators with more */
    int               n_in;
    as_attr           attrs[20]; /* TreeEnsembleClassifier */
    int               n_attrs;
    double            lo, hi;
    const double     *given; /* with want: all values of the random inputs, one input after the other */
    const double     *want;
    size_t            n_want;
    bool              no_grad; /* finite differences do not apply here (a kink, an integer) */
} as_case;

static inline const as_case_in *as_case_input(const as_case *c, int i) { return c->wide ? &c->wide[i] : &c->in[i]; }

/* --- The operator ---------------------------------------------------------------------------------- */

#define AS_INPUT_BIT(i) (UINT64_C(1) << (i))

struct as_op {
    const char *name; /* "MatMul"; domain assay: "assay.ConvGradW" */
    int         min_in, max_in, min_out, max_out;
    uint64_t    known_in; /* bit i: the shape of an output depends on the values of input i, so they must be known while planning */
    const as_attr_def *attrs; /* all that it knows, ended by a NULL name; NULL: none */
    /* Shapes and dtypes of the outputs, or a message "Gemm 'fc1': A is [2,3] and B is [4,5]: ..." */
    assay_status (*infer)(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
    as_cost (*cost)(const as_node_ctx *n);
    /* The reference code: plain C in double through views, exact for integers, never tuned, no aliasing. */
    assay_status (*eval)(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);
    /* Given values in/out and the gradient of each output (-1: none), sets d_in[i] for each differentiable
     * input (-1: none needed or not differentiable).  NULL: not differentiable at all. */
    assay_status (*grad)(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in);
    /* How many outputs of the forward node the rule reads, when that is more than the graph asks for: a stash, a mask, a statistic.
     * The node then gets them, and the rule sees them in `out` and n->n_out.  NULL: those that the graph asks for. */
    int (*grad_outs)(const as_node_ctx *n);
    /* A composite as primitives, for devices and formats without it: builds nodes from the values `in` (-1: absent) and sets out[i]
     * for each of n->n_out outputs.  Time is unrolled; with more than AS_MAX_EXPANDED nodes it returns UNSUPPORTED before it builds
     * any.  No node contains the batch size (axis 0 of input 0), so a file can leave it open.  NULL: a primitive. */
    assay_status (*expand)(as_builder *b, const as_node_ctx *n, const int *in, int *out);
    bool   composed;  /* defined by `expand` alone (op/composed.h): a plan always writes it out, and a file keeps it */
    double tolerance; /* as_view_error allowed to an f32 kernel against eval; 0: exact */
    bool   view_only; /* Reshape, Flatten: moves no element, so a plan may alias instead */
    int64_t (*view_begin)(const as_node_ctx *n); /* of a view: the element of input 0 at which it begins; NULL: the first */
    bool           outs_optional; /* an output that nothing reads may be absent (its dtype AS_NONE, no data): it is not computed */
    const as_case *cases;
    size_t         n_cases;
};

/* Runs the reference code of a node: refuses when the env is cancelled, and announces work that takes more than a minute. */
assay_status as_op_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);

/* For the loops of an eval that can run long, once per element of the result: leaves the eval when somebody asked for a stop.  It reads one
 * flag, beside hundreds of multiplications. */
#define AS_GO_ON(env, n)                      \
    do {                                      \
        if ((env) && as_cancelled(env))       \
            return as_op_stopped((env), (n)); \
    } while (0)
assay_status as_op_stopped(assay_env *env, const as_node_ctx *n); /* CANCELLED, with its sentence */

extern const as_op *const as_op_table[];                /* NULL-terminated, written by the build */
const as_op              *as_op_find(const char *name); /* NULL: no such operator */

/* infer with the checks common to all: the number of inputs and outputs is right, required inputs are
 * present, attributes are known, of the right kind and given once, shapes are in range.  Writes n->n_out
 * infos (row-major, no constant). */
assay_status as_op_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out);

/* Convolution and pooling windows (shared by Conv, MaxPool and their gradients), 1-D to 3-D.  Axes from n_axes
 * on are filled with 1 (pads 0), so that a loop may always run over three.  Tap k of output o reads the input at
 * o * stride - pad_begin + k * dilation, and nothing where that is outside [0, in). */
typedef struct as_window {
    int     n_axes; /* spatial axes, 1 to 3 */
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
    int64_t group;
} as_window;
/* Reads kernel_shape, strides, dilations, pads, auto_pad and group for x = [N, C, spatial...]; `kernel` holds one
 * size per axis; when it is NULL, kernel_shape is used, else kernel_shape must agree if it is given. ceil_mode
 * rounds the output size up and drops a last window that would start in the padding after the input. */
assay_status as_window_read(assay_env *env, const as_node_ctx *n, const as_shape *x, const int64_t *kernel, bool ceil_mode,
                            as_window *out);

#endif
