/* maker.h - the parts of the maker that only model/ needs: forward references, places, pruning.
 * Private to model/. */
#ifndef AS_MODEL_MAKER_H
#define AS_MODEL_MAKER_H

#include "model/model.h"

/* A file of a few bytes can ask for any number of random weights; this is the limit. */
#define AS_MAX_PARAM_BYTES (UINT64_C(16) << 30)
#define AS_MAX_NAME_BYTES  512

/* The seed given to as_maker_new(), for values that are not drawn by as_maker_param_random(). */
uint64_t as_maker_seed(const as_maker *m);
/* For calls that leave a message; as_maker_fail_as(m, status, "%s", assay_message(as_maker_env(m))) passes it on. */
assay_env *as_maker_env(as_maker *m);
/* As as_maker_fail(), with a status of its own. */
void as_maker_fail_as(as_maker *m, assay_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The place of a reader, "nodes[3]": part of every message until the next call.  "": none. */
void as_maker_at(as_maker *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The model's own name; messages still use the one given to as_maker_new(). */
void as_maker_name(as_maker *m, const char *name);
void as_maker_param_limit(as_maker *m, uint64_t max_bytes);
/* The memory that all elements outside files may take together; by default the machine's memory.  0: no limit. */
void as_maker_memory_limit(as_maker *m, uint64_t memory_bytes);

/* NULL: unknown name; the maker has failed with the nearest name. */
const as_op *as_maker_op(as_maker *m, const char *name);
/* The value of that name; if there is none, makes one that a later node must compute. */
int as_maker_value_named(as_maker *m, const char *name);
/* A parameter of any float dtype, the same numbers as as_maker_param_random() rounded to it. */
int as_maker_param_uniform(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape, int64_t fan_in);
/* A parameter whose data stays NULL until as_model_weights() fills it, before the model is used. */
int as_maker_param_later(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape);
/* A constant that points at `data`, which must outlive the model and may have any alignment: a small one that is not aligned is
 * copied here, so that binding does not have to copy it each time. */
int as_maker_constant_borrow(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape, const void *data);
int as_maker_value_find(const as_maker *m, const char *name); /* -1: there is none */
int as_maker_node_find(const as_maker *m, const char *name);
/* Hands a map over to the model, which closes it.  name: the file's name as the model's own file gives it, NULL for the model's
 * own file.  The map is always taken over: without memory it is closed, the maker fails and NULL is returned. */
const as_map   *as_maker_map(as_maker *m, as_map *map, const char *name);
const as_value *as_maker_value(const as_maker *m, int value);
bool            as_maker_is_output(const as_maker *m, int value);
/* False when the name is taken. */
bool as_maker_value_rename(as_maker *m, int value, const char *name);

/* --- Subgraphs: a maker of its own, whose model becomes the body of a node of another ---------------- */

/* An input that takes the type of the value bound to it. */
int as_maker_formal(as_maker *m, const char *name);
/* Before finishing: values that are read but not computed become inputs, after the formal ones; they are bound to the values of
 * the same name around the subgraph.  Returns how many are formal. */
int as_maker_capture(as_maker *m);
/* Hands over a finished body, which lives as long as the model; without memory it is freed at once. */
void as_maker_adopt(as_maker *m, assay_model *body);
/* A node with bodies, which lie in the arena.  Inputs from n_formal on are those that the bodies read. */
int as_maker_control(as_maker *m, const as_op *op, const char *name, const int *in, int n_in, int n_formal, const as_attr *attrs,
                     int n_attrs, const as_body *bodies, int n_bodies, int n_out, const char *const *out_names);

/* " (did you mean 'x'?)" in buf, or "" when no name is similar. */
const char *as_hint(char *buf, size_t size, const char *word, const char *const *words, char quote);
/* The names of all operators, NULL-terminated, in the arena; NULL: no memory. */
const char *const *as_op_names(as_arena *arena);

/* Names the nodes that have a module after it, each name once: "layer4.1.conv2" for the node that is the module, and with the
 * operator for other nodes of the module, "layer1.0 (Add)".  Nodes without a module keep their names. */
assay_status as_model_layers_name(assay_env *env, assay_model *model);

/* Replaces the data of the params by the tensors of a safetensors file, all of them or (only_empty) those that have
 * none.  Missing and extra tensors, other shapes and dtypes are errors; a float tensor is converted to an f32 param.
 * The file stays open in model->weights.  The model is unchanged on failure. */
assay_status as_model_weights(assay_env *env, assay_model *model, const char *path, bool only_empty);

#endif
