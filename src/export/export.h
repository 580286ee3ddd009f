/* export.h - models in other tools' formats.  One format per file: ex_<name>.c exports `const as_exporter as_ex_<name>`. */
#ifndef AS_EXPORT_EXPORT_H
#define AS_EXPORT_EXPORT_H

#include "base/options.h"
#include "model/model.h"

typedef struct as_export_options {
    const char *name; /* name of files and functions; NULL: the model's */
    bool        libm; /* call exp, tanh and the like from libm instead of writing our own */
    uint64_t    seed; /* of the golden vectors */
} as_export_options;

extern const as_option_member as_export_members[];
assay_status                  as_export_options_read(assay_env *env, const assay_options *options, as_export_options *out);

typedef struct as_exporter {
    const char *key; /* the option that asks for it and names the target */
    const char *help;
    /* Writes everything or nothing. */
    assay_status (*save)(assay_env *env, const assay_model *model, const as_export_options *options, const char *path);
} as_exporter;

extern const as_exporter *const as_ex_table[];

#endif
