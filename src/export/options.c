/* options.c - the options of an export. */
#include "export/export.h"

const as_option_member as_export_members[] = {AS_MEMBER(as_export_options, TEXT, "name", name),
                                              AS_MEMBER(as_export_options, BOOL, "libm", libm),
                                              AS_MEMBER(as_export_options, U64, "seed", seed),
                                              {.key = NULL}};

assay_status as_export_options_read(assay_env *env, const assay_options *options, as_export_options *out)
{
    *out = (as_export_options){0};
    return as_options_read(env, options, as_export_members, out);
}
