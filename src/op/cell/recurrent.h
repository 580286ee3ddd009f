/* recurrent.h - what RNN, GRU and LSTM and their gradients share: the shape rule, the activations, and the loops over directions,
 * sequences and steps.  Each operator brings the arithmetic of one step, forwards and backwards.
 *
 * LSTM and GRU have one output more than ONNX's, the stash [steps, directions, batch, n_stash * hidden]: what their gradients read
 * of every step.  LSTM keeps i, o, f, c (after their activations) and the new cell state C; GRU keeps z, r, h (after their
 * activations) and q, which is h * Rh^T + Rbh with linear_before_reset and r * h without.  RNN needs only Y.
 *
 * assay.LSTMGrad, assay.GRUGrad and assay.RNNGrad have the inputs of the forward node in their places, absent ones included, then
 * Y, the stash, and the gradients of Y, Y_h and Y_c.  With Y (and the stash, where there is one) they read the kept values;
 * without, they compute the forward pass again, which works for every activation, for clip and for peepholes. Outputs: the
 * gradients of X, W, R, B, initial_h, initial_c and P, also of those that are absent and so zero; one that has no memory is not
 * wanted. */
#ifndef AS_OP_RECURRENT_H
#define AS_OP_RECURRENT_H

#include "op/rules.h"

/* Inputs of the forward operators and of their gradients. */
enum {
    AS_RNN_X,
    AS_RNN_W,
    AS_RNN_R,
    AS_RNN_B,
    AS_RNN_LENGTHS,
    AS_RNN_H0,
    AS_RNN_C0,
    AS_RNN_P,
    AS_RNN_Y,
    AS_RNN_STASH,
    AS_RNN_D_Y,
    AS_RNN_D_H,
    AS_RNN_D_C,
    AS_RNN_N_IN
};
/* Outputs of the gradients. */
enum { AS_RNN_OUT_X, AS_RNN_OUT_W, AS_RNN_OUT_R, AS_RNN_OUT_B, AS_RNN_OUT_H0, AS_RNN_OUT_C0, AS_RNN_OUT_P, AS_RNN_N_OUT };

typedef enum as_activation_kind {
    AS_ACTIVATION_OTHER,
    AS_ACTIVATION_RELU,
    AS_ACTIVATION_TANH,
    AS_ACTIVATION_SIGMOID
} as_activation_kind;

typedef struct as_activation {
    as_activation_kind kind;
    double (*of)(double x, double alpha, double beta);
    double (*slope)(double x, double y, double alpha, double beta); /* at x, where the value is y */
    double alpha, beta;
} as_activation;

/* A node that was read and checked.  Sizes in ONNX's words: X is [n_steps, n_batch, n_in], the state [n_directions, n_batch,
 * n_hidden]. */
typedef struct as_recurrent {
    int64_t       n_steps, n_batch, n_in, n_hidden;
    int           n_directions;
    bool          backward[2]; /* this direction runs from the last step to the first */
    bool          batch_first; /* layout 1 */
    as_activation act[2][3];   /* f, g, h of each direction */
    double        clip;        /* infinity when not given */
} as_recurrent;

/* One step of one sequence in one direction.  All vectors are n_hidden long unless said otherwise; rows of gate g start at
 * g * n_hidden.  The step writes h_next and, where there is a cell, c_next. */
typedef struct as_cell_step {
    const as_node_ctx   *n;
    const as_recurrent  *r;
    const as_activation *act;
    const double        *xw;     /* X * W^T + Wb, for all gates */
    const double        *rb;     /* Rb, for all gates */
    const double        *p;      /* peepholes i, o, f: three vectors; zeros when absent */
    as_view              weight; /* R of the direction: [n_gates * n_hidden, n_hidden] */
    const double        *h, *c;
    double              *h_next, *c_next, *scratch; /* scratch: one vector */
    double              *kept;                      /* one step of the stash */
    double              *slopes;                    /* of the gates, n_gates vectors, and of LSTM's h(C), one more */
} as_cell_step;

/* The same step backwards. */
typedef struct as_cell_back {
    const as_cell_step *s;       /* h and c: before the step; kept and slopes as it left them; c_next: LSTM's new cell */
    double             *d_h;     /* of the new state; the step leaves that of the old one */
    double             *d_c;     /* the same of the cell */
    double             *d_x;     /* n_gates vectors: of the sums of X * W^T */
    double             *d_r;     /* n_gates vectors: of the sums of h * R^T */
    double             *d_p;     /* three vectors, added to */
    const double       *past[4]; /* what gate g was multiplied with: h, unless the step says otherwise */
} as_cell_back;

typedef struct as_cell {
    int                n_gates, n_acts;
    const char *const *acts;         /* the default names, n_acts of them */
    uint64_t           flops_a_unit; /* besides the products with W and R and the biases */
    int                n_stash;      /* vectors per step in the stash */
    void (*step)(const as_cell_step *s);
    void (*back)(as_cell_back *b);
} as_cell;
extern const as_cell as_cell_rnn, as_cell_gru, as_cell_lstm;

/* One row of R times a state. */
double as_cell_recur(const as_cell_step *s, int64_t row, const double *h);
/* An activation of a clipped argument; its slope goes to the given vector of slopes, element k. */
double as_cell_act(const as_cell_step *s, int which, double x, int slope, int64_t k);
/* d_h += R^T d for the rows of gates [first, end); d holds all gates. */
void as_cell_recur_back(const as_cell_step *s, int first, int end, const double *d, double *d_h);

/* The activations of a node, into r->act; n_directions is known. */
assay_status as_recurrent_activations(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_recurrent *r);
/* Reads and checks a node of a forward operator or of a gradient. */
assay_status as_recurrent_read(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_recurrent *out);
/* Every activation is the default one (RNN: or Relu), and nothing is clipped, peeped at, coupled or shorter than the others: the
 * form that the stash is enough for, and that kernels compute.  Else `why`, unless NULL, gets the reason. */
bool     as_recurrent_plain(const as_node_ctx *n, const as_cell *cell, const as_recurrent *r, char *why, size_t why_size);
as_shape as_recurrent_stash(const as_recurrent *r, const as_cell *cell);

assay_status as_recurrent_infer(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_tensor_info *out);
/* The whole sequence counts for every member of the batch: how much of it is padding is only known at run time. */
as_cost      as_recurrent_cost(const as_node_ctx *n, const as_cell *cell);
assay_status as_recurrent_eval(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_view *in, const as_view *out);

/* How many outputs of the forward node its gradient reads, and the rule itself, which adds one node `op`. */
int          as_recurrent_grad_outs(const as_node_ctx *n, const as_cell *cell);
assay_status as_recurrent_grad(as_builder *b, const as_node_ctx *n, const as_cell *cell, const char *op, const int *in,
                               const int *out, const int *d_out, int *d_in);
assay_status as_recurrent_grad_infer(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_tensor_info *out);
as_cost      as_recurrent_grad_cost(const as_node_ctx *n, const as_cell *cell);
assay_status as_recurrent_grad_eval(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_view *in,
                                    const as_view *out);

/* The cases of a cell with this many gates. */
#define AS_CASES_RECURRENT(gates_)                                                                                               \
    {.name = "one unit, one step",                                                                                               \
     .n_in = 3,                                                                                                                  \
     .in = {AS_IN(F32, 1, 1, 1), AS_IN(F32, 1, (gates_), 1), AS_IN(F32, 1, (gates_), 1)}},                                       \
        {.name = "9 units, batch first",                                                                                         \
         .n_in = 4,                                                                                                              \
         .in = {AS_IN(F32, 3, 5, 7), AS_IN(F32, 1, 9 * (gates_), 7), AS_IN(F32, 1, 9 * (gates_), 9),                             \
                AS_IN(F32, 1, 18 * (gates_))},                                                                                   \
         .n_attrs = 1,                                                                                                           \
         .attrs = {AS_ATTR_I("layout", 1)}},                                                                                     \
        {.name = "17 units both ways, batch first",                                                                              \
         .n_in = 3,                                                                                                              \
         .in = {AS_IN(F32, 2, 4, 5), AS_IN(F32, 2, 17 * (gates_), 5), AS_IN(F32, 2, 17 * (gates_), 17)},                         \
         .n_attrs = 2,                                                                                                           \
         .attrs = {AS_ATTR_I("layout", 1), AS_ATTR_S("direction", "bidirectional")}},                                            \
        {.name = "33 units, 13 samples, states",                                                                                 \
         .n_in = 6,                                                                                                              \
         .in = {AS_IN(F32, 3, 13, 5),                                                                                            \
                AS_IN(F32, 1, 33 * (gates_), 5),                                                                                 \
                AS_IN(F32, 1, 33 * (gates_), 33),                                                                                \
                AS_IN(F32, 1, 66 * (gates_)),                                                                                    \
                {.dtype = AS_NONE},                                                                                              \
                AS_IN(F32, 1, 13, 33)}},                                                                                         \
        {.name = "7 units both ways, 25 samples, one input",                                                                     \
         .n_in = 4,                                                                                                              \
         .in = {AS_IN(F32, 2, 25, 1), AS_IN(F32, 2, 7 * (gates_), 1), AS_IN(F32, 2, 7 * (gates_), 7),                            \
                AS_IN(F32, 2, 14 * (gates_))},                                                                                   \
         .n_attrs = 1,                                                                                                           \
         .attrs = {AS_ATTR_S("direction", "bidirectional")}},                                                                    \
        {.name = "20 units backwards, one sample, 19 steps",                                                                     \
         .n_in = 4,                                                                                                              \
         .in = {AS_IN(F32, 19, 1, 3), AS_IN(F32, 1, 20 * (gates_), 3), AS_IN(F32, 1, 20 * (gates_), 20),                         \
                AS_IN(F32, 1, 40 * (gates_))},                                                                                   \
         .n_attrs = 1,                                                                                                           \
         .attrs = {AS_ATTR_S("direction", "reverse")}},                                                                          \
        {.name = "f64",                                                                                                          \
         .n_in = 4,                                                                                                              \
         .in = {AS_IN(F64, 3, 2, 3), AS_IN(F64, 1, 5 * (gates_), 3), AS_IN(F64, 1, 5 * (gates_), 5),                             \
                AS_IN(F64, 1, 10 * (gates_))}},                                                                                  \
        {.name = "f16", .n_in = 3, .in = {AS_IN(F16, 2, 2, 3), AS_IN(F16, 1, 4 * (gates_), 3), AS_IN(F16, 1, 4 * (gates_), 4)}}, \
        {.name = "bf16",                                                                                                         \
         .n_in = 3,                                                                                                              \
         .in = {AS_IN(BF16, 2, 1, 3), AS_IN(BF16, 1, 2 * (gates_), 3), AS_IN(BF16, 1, 2 * (gates_), 2)}},                        \
        {.name = "a sequence of no length",                                                                                      \
         .n_in = 5,                                                                                                              \
         .in = {AS_IN(F32, 3, 2, 2),                                                                                             \
                AS_IN(F32, 1, 3 * (gates_), 2),                                                                                  \
                AS_IN(F32, 1, 3 * (gates_), 3),                                                                                  \
                {.dtype = AS_NONE},                                                                                              \
                {.dtype = AS_I32, .shape = AS_SHAPE(2), .ints = (const int64_t[]){0, 3}}}},                                      \
        {.name = "20 units both ways, lengths and states",                                                                       \
         .n_in = 6,                                                                                                              \
         .in = {AS_IN(F32, 6, 7, 3),                                                                                             \
                AS_IN(F32, 2, 20 * (gates_), 3),                                                                                 \
                AS_IN(F32, 2, 20 * (gates_), 20),                                                                                \
                AS_IN(F32, 2, 40 * (gates_)),                                                                                    \
                {.dtype = AS_I32, .shape = AS_SHAPE(7), .ints = (const int64_t[]){6, 6, 2, 0, 5, 5, 1}},                         \
                AS_IN(F32, 2, 7, 20)},                                                                                           \
         .n_attrs = 1,                                                                                                           \
         .attrs = {AS_ATTR_S("direction", "bidirectional")},                                                                     \
         .no_grad = true},                                                                                                       \
        {.name = "17 units backwards, lengths, batch first",                                                                     \
         .n_in = 5,                                                                                                              \
         .in = {AS_IN(F32, 3, 18, 2),                                                                                            \
                AS_IN(F32, 1, 17 * (gates_), 2),                                                                                 \
                AS_IN(F32, 1, 17 * (gates_), 17),                                                                                \
                {.dtype = AS_NONE},                                                                                              \
                {.dtype = AS_I32, .shape = AS_SHAPE(3), .ints = (const int64_t[]){18, 3, 17}}},                                  \
         .n_attrs = 2,                                                                                                           \
         .attrs = {AS_ATTR_I("layout", 1), AS_ATTR_S("direction", "reverse")},                                                   \
         .no_grad = true},                                                                                                       \
        {.name = "no steps",                                                                                                     \
         .n_in = 3,                                                                                                              \
         .in = {AS_IN(F32, 0, 2, 2), AS_IN(F32, 1, 3 * (gates_), 2), AS_IN(F32, 1, 3 * (gates_), 3)}},                           \
    {                                                                                                                            \
        .name = "empty batch", .n_in = 3, .in = {                                                                                \
            AS_IN(F32, 2, 0, 2),                                                                                                 \
            AS_IN(F32, 1, 3 * (gates_), 2),                                                                                      \
            AS_IN(F32, 1, 3 * (gates_), 3)                                                                                       \
        }                                                                                                                        \
    }

#endif
