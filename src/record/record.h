/* record.h - records any program: stacks, and what its memory does, into one trace.
 *
 * A recorder is a plug, rc_<name>.c: it says whether it can work here, prepares the program's environment before it starts or attaches to one
 * that runs, and drains what it has into the trace again and again.  Of those that give what was asked for, the first that is available is taken, by
 * rank; the reasons of the others are kept for the message and for the trace.
 *
 * The clock of the trace is CLOCK_MONOTONIC in ns, the same for all processes: ticks = ns - trace->start_ticks. */
#ifndef AS_RECORD_RECORD_H
#define AS_RECORD_RECORD_H

#include <sys/types.h>

#include "base/env.h"
#include "base/options.h"
#include "record/symbols.h"
#include "trace/trace.h"

/* What a recorder gives; a set of bits. */
typedef enum as_record_gives { AS_RECORD_STACKS = 1, AS_RECORD_MEMORY = 2 } as_record_gives;

/* How stacks are found: by the frame pointers of the program, or by its unwind tables from a copy of each thread's stack. */
typedef enum as_call_graph { AS_CALL_GRAPH_FP, AS_CALL_GRAPH_DWARF } as_call_graph;

typedef struct as_record_settings {
    const char *const *argv; /* the command, ends with NULL; NULL: attach to `pid` */
    int64_t            pid;
    int                rate;       /* looks per second at a thread that is on a CPU */
    as_call_graph      call_graph; /* AS_CALL_GRAPH_ */
    uint64_t           time_ns;    /* stop after so long; 0: when the program ends */
    bool               memory;     /* allocations, and not stacks */
    const char        *trace_path; /* growing file; NULL: none */
} as_record_settings;
assay_status as_record_settings_read(assay_env *env, const assay_options *options, as_record_settings *out);

#define AS_RECORD_RATE_HZ \
    999 /* not 1000: a program that does something every millisecond would be seen at the same place each time */

enum { AS_RECORD_MAX_FDS = 64, AS_RECORD_MAX_VARIABLES = 8, AS_RECORD_WHY = 400 };

/* One recording under way.  Recorders add to the trace and to nothing else. */
typedef struct as_recording {
    assay_env                *env;
    assay_trace              *trace;
    as_symbols               *symbols;
    const as_record_settings *settings;
    pid_t                     pid;                                /* of the program; 0 while it is prepared */
    void                     *state;                              /* the recorder's own; from prepare() or start() to stop() */
    int                       fds[AS_RECORD_MAX_FDS], n_fds;      /* as_record_wait_on() */
    const char               *variables[AS_RECORD_MAX_VARIABLES]; /* as_record_variable(): "NAME=value" */
    int                       n_variables;
    struct as_record_lanes   *lanes;
} as_recording;

typedef struct as_record_kind {
    const char *name; /* "perf" */
    unsigned    gives;
    int         rank;      /* the highest that is available is taken */
    bool        attaches;  /* can record a program that runs already */
    bool        by_tables; /* finds callers by unwind tables, whatever is asked for */
    /* Can it work here?  Tries it, and does not only look.  False: `why` gets the cause and the remedy, one sentence without a full stop. */
    bool (*probe)(assay_env *env, const as_record_settings *s, char why[AS_RECORD_WHY]);
    /* Before the program is started: as_record_variable() for its environment, files that it will write to.  NULL: nothing to prepare.
     * Not called when attaching. */
    assay_status (*prepare)(as_recording *r);
    /* r->pid is the program: a child that waits just before it becomes the command, or one that runs. */
    assay_status (*start)(as_recording *r);
    /* What there is, into the trace: called when a descriptor of as_record_wait_on() can be read, and at least every 100 ms. */
    assay_status (*poll)(as_recording *r);
    /* The program has ended, or is left alone: drains the rest, counts what was lost, frees r->state.  Called once after prepare() or start(),
     * also when one of them failed. */
    assay_status (*stop)(as_recording *r);
} as_record_kind;

extern const as_record_kind *const as_rc_table[];

/* --- For recorders ------------------------------------------------------------------------------------------ */

/* poll() is called as soon as it can be read.  False: there are too many; poll() is still called in time. */
bool as_record_wait_on(as_recording *r, int fd);
/* A variable of the program's environment; LD_PRELOAD is put before what the user has there.  False: no memory or too many. */
bool as_record_variable(as_recording *r, const char *name, const char *value);
/* The lane of a thread, made when it is first asked for; name NULL: from /proc.  -1: no memory, or 65536 threads. */
int  as_record_lane(as_recording *r, pid_t pid, pid_t tid, const char *name);
void as_record_lanes_drop(as_recording *r); /* what finds them; the lanes stay in the trace */
/* A test may take recorders away, to see what happens without them: ASSAY_WITHOUT=perf,timer. */
bool as_record_forbidden(const char *name);

/* --- For the laboratory ---------------------------------------------------------------------------------------- */

/* Records until the program ends, `time_ns` is over or the env is cancelled.  *out gets the trace, also when the program crashed or the
 * recording was stopped (its state is then AS_TRACE_PARTIAL, with the reason).  BAD_INPUT or NOT_FOUND: there is no such command or process;
 * DEVICE: no recorder is available here, and the sentence says why of each. */
assay_status as_record_run(assay_env *env, const as_record_settings *s, assay_trace **out);

#endif
