/* progress.h - one line about long work on a terminal; elsewhere a sentence before what takes long. */
#ifndef AS_CLI_PROGRESS_H
#define AS_CLI_PROGRESS_H

#include "cli/cli.h"

/* Tells about every call from now on; wanted: --progress does not say never. */
void as_cli_progress(as_cli *cli, bool wanted);
/* Takes the line away, and tells no more. */
void as_cli_progress_end(as_cli *cli);
/* Takes the line away; safe in a signal handler. */
void as_progress_clear(void);

#endif
