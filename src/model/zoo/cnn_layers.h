/* cnn_layers.h - the structure that the small image networks share, so that they differ only in the block of each
 * stage.  What a variant saves in weights, activations and flops can then be compared directly.  Private to
 * model/. */
#ifndef AS_MODEL_CNN_LAYERS_H
#define AS_MODEL_CNN_LAYERS_H

#include "model/zoo/zoo.h"

enum { AS_CNN_MAX_STAGES = 5, AS_CNN_MAX_WIDTH = 4096, AS_CNN_DENSE = 128 }; /* 32x32 can be halved five times */

/* A convolution that keeps the size at stride 1: kernel k x k (k odd), padded by k/2, with torch's names and layouts:
 * <name>.weight [out, in/group, k, k] and, with `bias`, <name>.bias [out]. */
typedef struct as_conv_spec {
    int64_t kernel, stride, group;
    bool    bias;
} as_conv_spec;
int as_layer_conv(as_maker *m, const char *name, int x, int64_t n_in, int64_t n_out, as_conv_spec spec);
/* Batch normalisation over axis 1, untrained: <name>.weight and .running_var are 1, <name>.bias and .running_mean 0, each [n]. */
int as_layer_batchnorm(as_maker *m, const char *name, int x, int64_t n);
int as_layer_flatten(as_maker *m, int x);

/* x [batch,3,32,32]. */
int as_layer_image(as_maker *m);

/* A stage: [batch,n_in,h,w] -> [batch,n_out,h,w].  `stage` counts from 1 and is the end of its nodes' names. */
typedef int as_cnn_block(as_maker *m, const as_zoo_args *args, int stage, int x, int64_t n_in, int64_t n_out);

as_cnn_block as_cnn_plain; /* conv<stage>, a full 3x3 convolution, and relu<stage> */

/* `first` is the first stage (with three channels there is nothing to save, so it is mostly as_cnn_plain), `block` every
 * further one; a 2x2 pooling follows each.  Then come dense AS_CNN_DENSE, ReLU and dense `classes`, with logits y.  Reads
 * the keys "widths" (one per stage) and "classes". */
void as_layers_cnn(as_maker *m, const as_zoo_args *args, as_cnn_block *first, as_cnn_block *block);

#define AS_CNN_PARAM_WIDTHS(standard_)                                \
    {                                                                 \
        "widths", standard_, "channels of each stage, 1 to 5 of them" \
    }
#define AS_CNN_PARAM_CLASSES       \
    {                              \
        "classes", "10", "outputs" \
    }

#endif
