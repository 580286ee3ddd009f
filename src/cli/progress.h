/* progress.h - one progress line for long work on a terminal; elsewhere a sentence before a long stage. */
#ifndef AS_CLI_PROGRESS_H
#define AS_CLI_PROGRESS_H

#include "cli/cli.h"

/* From now on reports every call; wanted: --progress is not "never". */
void as_cli_progress(as_cli *cli, bool wanted);
/* Clears the line and reports no more. */
void as_cli_progress_end(as_cli *cli);
/* Whether standard error is a terminal that can draw a line again. */
bool as_progress_terminal(void);
/* Draws several lines, the last of them without its end, in place of those that were drawn before; rows: line ends in the text, up to 9. */
void as_progress_block(const char *text, int rows);
/* Clears what was drawn; safe in a signal handler. */
void as_progress_clear(void);

#endif
