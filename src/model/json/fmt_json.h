/* fmt_json.h - the JSON model file from memory, for tests and the fuzzer.  Private to model/. */
#ifndef AS_MODEL_FMT_JSON_H
#define AS_MODEL_FMT_JSON_H

#include "model/model.h"

#define AS_MODEL_JSON_FORMAT "assay.model/1"

/* `path` names the file in messages, and "weights" are searched in its directory. */
assay_status as_model_json_parse(assay_env *env, const char *path, const char *data, size_t n, uint64_t seed, assay_model **out);
/* The same with a lower limit for the bytes of all parameters: random ones do not make a file larger. */
assay_status as_model_json_parse_max(assay_env *env, const char *path, const char *data, size_t n, uint64_t seed,
                                     uint64_t max_param_bytes, assay_model **out);
assay_status as_model_json_save(assay_env *env, const assay_model *model, const char *path);

#endif
