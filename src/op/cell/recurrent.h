/* recurrent.h - what RNN, GRU and LSTM share: the shape rule, the activations, and the loop over directions, sequences and
 * steps.  Only those three operators include it; each brings the arithmetic of one step. */
#ifndef AS_OP_RECURRENT_H
#define AS_OP_RECURRENT_H

#include "op/rules.h"

typedef struct as_activation {
    double (*of)(double x, double alpha, double beta);
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
} as_cell_step;

typedef struct as_cell {
    int                n_gates, n_acts;
    const char *const *acts;         /* the default names, n_acts of them */
    uint64_t           flops_a_unit; /* besides the products with W and R and the biases */
    void (*step)(const as_cell_step *s);
} as_cell;

/* One row of R times a state. */
double as_cell_recur(const as_cell_step *s, int64_t row, const double *h);
/* An activation of a clipped argument. */
double as_cell_act(const as_cell_step *s, int which, double x);

assay_status as_recurrent_infer(assay_env *env, const as_node_ctx *n, const as_cell *cell, as_tensor_info *out);
/* The whole sequence counts for every member of the batch: how much of it is padding is only known at run time. */
as_cost      as_recurrent_cost(const as_node_ctx *n, const as_cell *cell);
assay_status as_recurrent_eval(assay_env *env, const as_node_ctx *n, const as_cell *cell, const as_view *in, const as_view *out);

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
