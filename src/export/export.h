/* export.h - models in other tools' formats.  One format a file: ex_<name>.c exports `const as_exporter as_ex_<name>`. */
#ifndef AS_EXPORT_EXPORT_H
#define AS_EXPORT_EXPORT_H

#include "base/options.h"
#include "model/model.h"

typedef struct as_exporter {
    const char *key; /* the option that asks for it and says where */
    const char *help;
    /* Writes all or nothing. */
    assay_status (*save)(assay_env *env, const assay_model *model, assay_options *options, const char *path);
} as_exporter;

extern const as_exporter *const as_ex_table[];

#endif
