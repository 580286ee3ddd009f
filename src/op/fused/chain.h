/* chain.h - a small program over elements: assay.Chain computes it, a pass of the plan writes it, and the kernels for
 * element-wise operators run it; a single operator is a program of one or two instructions.
 *
 * Operands are numbers: inputs from 0 on, then the results of the instructions in order, and constants as -1, -2 ... The last
 * instruction gives the output.  On a node it is the attribute "program", four numbers per instruction (opcode, a, b, c; 0
 * where it takes fewer), with "constants" for the constants. */
#ifndef AS_OP_CHAIN_H
#define AS_OP_CHAIN_H

#include "op/op.h"

/* Files contain these numbers: add new ones at the end. */
typedef enum as_chain_op {
    AS_CHAIN_ADD,
    AS_CHAIN_SUB,
    AS_CHAIN_MUL,
    AS_CHAIN_DIV,
    AS_CHAIN_MAX,
    AS_CHAIN_MIN, /* a NaN on either side is the result */
    AS_CHAIN_SQUARE,
    AS_CHAIN_NEG,
    AS_CHAIN_ABS,
    AS_CHAIN_SQRT,
    AS_CHAIN_RECIPROCAL,
    AS_CHAIN_EXP,
    AS_CHAIN_LOG,
    AS_CHAIN_ERF,
    AS_CHAIN_FLOOR,
    AS_CHAIN_CEIL,
    AS_CHAIN_ROUND, /* halves to even */
    AS_CHAIN_RELU,
    AS_CHAIN_LEAKYRELU,
    AS_CHAIN_CLIP,
    AS_CHAIN_SIGMOID,
    AS_CHAIN_TANH,
    AS_CHAIN_HARDSIGMOID,
    AS_CHAIN_HARDSWISH,
    AS_CHAIN_ELU,
    AS_CHAIN_GELU,
    AS_CHAIN_GELU_TANH,
    AS_CHAIN_SILU,
    AS_CHAIN_SOFTPLUS, /* of activation.h; the parameters are b and c */
    AS_CHAIN_RELUGRAD, /* b where a is positive or NaN, else 0 */
    AS_CHAIN_SIGN,
    AS_CHAIN_POW,
    AS_CHAIN_SIN,
    AS_CHAIN_COS,
    AS_CHAIN_ASIN,
    AS_CHAIN_ACOS,
    AS_CHAIN_ATAN,
    AS_CHAIN_THRESHOLD, /* a where it is above b, else 0 */
    AS_N_CHAIN_OPS
} as_chain_op;

enum { AS_CHAIN_MAX_IN = 8, AS_CHAIN_MAX_STEPS = 32, AS_CHAIN_MAX_CONSTANTS = 64 };

typedef struct as_chain_step {
    as_chain_op op;
    int         a, b, c;
} as_chain_step;
typedef struct as_chain {
    int           n_in, n_steps, n_constants;
    as_chain_step step[AS_CHAIN_MAX_STEPS];
    double        constant[AS_CHAIN_MAX_CONSTANTS];
} as_chain;

const char *as_chain_op_name(as_chain_op op);           /* "add" */
int         as_chain_op_arity(as_chain_op op);          /* 1 to 3 operands; parameters must be constants */
bool        as_chain_op_has_parameters(as_chain_op op); /* b, and c, are parameters */
uint64_t    as_chain_op_flops(as_chain_op op);          /* per element */
bool        as_chain_op_is_special(as_chain_op op);

/* Reads the program of an assay.Chain node; fails with a message when it is not valid. */
assay_status as_chain_read(assay_env *env, const as_node_ctx *n, as_chain *out);
/* The program of an element-wise float node (Add, Relu, Selu, Max of three ...) over its own inputs; false when it has none. */
bool as_chain_of(const as_node_ctx *n, as_chain *out);
/* The reference code for one element. */
double as_chain_apply(const as_chain *chain, const double *in);
/* Finds a constant or appends it; returns its operand number, or 0 when the table is full (0 is never a constant's number). */
int as_chain_constant(as_chain *chain, double value);

#endif
