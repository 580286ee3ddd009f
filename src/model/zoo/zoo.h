/* zoo.h - the arguments of a zoo name, and the layers that zoo files share.  Private to model/. */
#ifndef AS_MODEL_ZOO_H
#define AS_MODEL_ZOO_H

#include "model/model.h"

/* "name:key=value,key=value".  The arena holds the name and the values.  NOT_FOUND for an unknown name, BAD_INPUT for a key
 * that the network does not have; both messages list what is known. */
assay_status  as_zoo_parse(assay_env *env, as_arena *arena, const char *spec, const as_zoo **zoo, const as_zoo_args **args);
const as_zoo *as_zoo_find(const char *name, size_t n);
/* Whether the key was given, with any value. */
bool as_zoo_is_given(const as_zoo_args *args, const char *key);

const as_zoo *as_zoo_args_zoo(const as_zoo_args *args);
/* The number of a key that as_zoo_int() accepted. */
int64_t as_zoo_number(const as_zoo_args *args, const char *key);
/* Fixes the size of a symbol of the inputs; does nothing where there is no such symbol. */
void as_model_fix(assay_model *model, const char *symbol, int64_t size);
/* The word of a key that takes one of several; NULL after failing the maker with a message that lists them and names the
 * nearest. */
const char *as_zoo_word(as_maker *m, const as_zoo_args *args, const char *key);
/* The word of a key that takes dtypes, as dtype; AS_NONE after failing the maker. */
as_dtype as_zoo_dtype(as_maker *m, const as_zoo_args *args, const char *key);
/* Builds another network of the zoo in this maker: "lstm:units=64". */
void as_zoo_build(as_maker *m, const char *spec);

/* Layers with torch's names and layouts: <name>.weight [out,in], <name>.bias [out].  `out` names the result (NULL: as the node). */
int as_layer_dense(as_maker *m, const char *name, int x, int64_t n_in, int64_t n_out, const char *out);
int as_layer_relu(as_maker *m, const char *name, int x);
/* 3x3, stride 1, padded to keep the size: <name>.weight [out,in,3,3], <name>.bias [out]. */
int as_layer_conv3(as_maker *m, const char *name, int x, int64_t n_in, int64_t n_out);
/* 2x2, stride 2. */
int as_layer_pool2(as_maker *m, const char *name, int x);
/* x -> fc1 -> relu1 -> fc2 ... -> y for n sizes, the input's first. */
void as_layers_mlp(as_maker *m, const int64_t *sizes, size_t n);
/* The same with the parameter `sizes`; instead of a ReLU, `between` adds nodes after layer i, which has that many units. */
typedef int               as_mlp_between(as_maker *m, size_t i, int x, int64_t units);
extern const as_zoo_param as_mlp_params[];
void                      as_mlp_build(as_maker *m, const as_zoo_args *args, as_mlp_between *between);
as_mlp_between            as_mlp_relu; /* relu<i> */

#endif
