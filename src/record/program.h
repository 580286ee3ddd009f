/* program.h - the program that is recorded: started so that a recorder can attach first, watched, and told to end. */
#ifndef AS_RECORD_PROGRAM_H
#define AS_RECORD_PROGRAM_H

#include "record/record.h"

typedef struct as_program {
    pid_t    pid;
    bool     is_child; /* ours; else it was there before us, and outlives us */
    int      go, said; /* pipes: it waits for a byte, and says why it could not become the command; -1: closed */
    int      end_fd;   /* can be read when it has ended; -1: the system has no such thing */
    bool     has_ended;
    int      exit_code;             /* -1: not known, or it was ended by a signal */
    int      signal;                /* 0: none */
    uint64_t cpu_ns, cpu_before_ns; /* CPU time, with its children that have ended; before: when we came */
    bool     has_cpu;
} as_program;

/* A child that waits before it becomes the command; variables: "NAME=value", added to its environment. */
assay_status as_program_start(assay_env *env, const char *const *argv, const char *const *variables, int n_variables,
                              as_program *out);
/* Lets it go.  NOT_FOUND: it cannot become the command; it has ended then. */
assay_status as_program_go(assay_env *env, as_program *p, const char *const *argv);
/* One that runs already. */
assay_status as_program_attach(assay_env *env, int64_t pid, as_program *out);
/* Has it ended?  Keeps how. */
bool as_program_ended(as_program *p);
/* Reads the CPU time of one that still runs. */
void as_program_cpu(as_program *p);
/* Closes what is open, and reaps a child that never got the word to go. */
void as_program_drop(as_program *p);

#endif
