/* stop.h - Ctrl-C, SIGTERM and SIGHUP: the work is asked to stop and keeps its results; if it does not react soon, the program
 * ends. */
#ifndef AS_CLI_STOP_H
#define AS_CLI_STOP_H

#include "base/env.h"

/* From the first line of main on. */
void as_stop_begin(void);
/* The env whose work a signal stops; NULL: none, and a signal ends the program at once. */
void as_stop_env(assay_env *env);
/* The program is about to end: signals are no longer handled. */
void as_stop_end(void);
/* The message for a call that was cancelled before it measured anything. */
void as_stop_sentence(assay_env *env, char *out, size_t size);

#endif
