/* pass.h - which part of a training step a node, and the step of the plan that computes it, belongs to. */
#ifndef AS_BASE_PASS_H
#define AS_BASE_PASS_H

typedef enum as_train_pass {
    AS_PASS_NONE = 0, /* not a training step, or not known */
    AS_PASS_FORWARD,
    AS_PASS_LOSS,
    AS_PASS_BACKWARD,
    AS_PASS_RECOMPUTE, /* of the forward pass, computed again for the backward pass */
    AS_PASS_UPDATE,    /* norm of the gradient, optimiser, statistics */
    AS_N_PASSES
} as_train_pass;

static inline const char *as_train_pass_text(as_train_pass pass)
{
    static const char *const texts[AS_N_PASSES] = {[AS_PASS_NONE] = "",
                                                   [AS_PASS_FORWARD] = "forward",
                                                   [AS_PASS_LOSS] = "loss",
                                                   [AS_PASS_BACKWARD] = "backward",
                                                   [AS_PASS_RECOMPUTE] = "recompute",
                                                   [AS_PASS_UPDATE] = "update"};
    return texts[pass];
}

/* Where a node stands in a training step. */
typedef struct as_train_place {
    as_train_pass pass;
    const char   *layer;  /* the node of the network that it belongs to: of a gradient, whose gradient it is; NULL: not known */
    unsigned      stream; /* number, from 1, of the stream of its random numbers; 0: by its place in the graph */
} as_train_place;

#endif
