/* arm_bin_child.h - a process that answers lines: started, asked, and always ended and reaped.
 *
 * It has a process group of its own, so that Ctrl-C reaches only us and we can end everything that it started.  It inherits the
 * CPU that the calling thread is pinned to, standard input and output as pipes to us, and no other open file.  What it writes to
 * standard error is read and dropped except for the last line, which is quoted when it ends too early. */
#ifndef AS_RUN_ARM_BIN_CHILD_H
#define AS_RUN_ARM_BIN_CHILD_H

#include <sys/types.h>

#include "run/arm_line.h"

typedef struct as_child {
    const char *command;    /* its name in messages; borrowed */
    uint64_t    timeout_ns; /* of an answer; 0: none */
    pid_t       pid;        /* 0: there is none */
    bool        has_greeted;
    int         to, from, err;
    char        who[512];   /* "\"./toy 3\": its answer to \"hash\"": how the message about a bad answer begins */
    char        owed[128];  /* the second half of that message */
    char        words[512]; /* the end of what it wrote to standard error */
    size_t      n_words;
    char        line[AS_ARM_ANSWER_BYTES]; /* its last answer, n_line bytes without the newline */
    size_t      n_line;
} as_child;

/* Starts it and waits for its greeting, which is then in c->line. */
assay_status as_child_start(assay_env *env, as_child *c, const char *const *argv);
/* Sends a line (without newline) and waits for the answer, which is then in c->line.  After a failure (ASSAY_DEVICE or
 * ASSAY_CANCELLED) the group has been ended. */
assay_status as_child_ask(assay_env *env, as_child *c, const char *request);
void         as_child_end(as_child *c);  /* sends "end", waits half a second, then as below */
void         as_child_kill(as_child *c); /* ends the group at once and reaps; does nothing when there is none */

#endif
