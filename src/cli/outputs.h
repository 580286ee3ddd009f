/* outputs.h - the files that a command was asked to write: checked before the work, named when they are written. */
#ifndef AS_CLI_OUTPUTS_H
#define AS_CLI_OUTPUTS_H

#include <sys/stat.h>

#include "cli/cli.h"

enum { AS_MAX_OUTPUTS = 160 };
typedef struct as_output {
    const char *path; /* the option's own text */
    bool        existed;
    struct stat before;
} as_output;

typedef struct as_outputs {
    as_output items[AS_MAX_OUTPUTS];
    int       n;
} as_outputs;

/* Checks every option of the verb that names something to write (as_option_def.writes).  IO with one message when one of them
 * cannot be written; nothing is left behind. */
assay_status as_outputs_check(as_cli *cli, const as_verb *verb, as_outputs *out);
/* "wrote FILE" on standard error for each file that is new or was replaced since the check; a directory is named only when the verb succeeded. */
void as_outputs_tell(const as_cli *cli, const as_outputs *o, bool succeeded);

#endif
