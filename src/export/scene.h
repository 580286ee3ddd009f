/* scene.h - the neutral view of traces that every format is written from: what there is a name for, the timeline of each track with exact
 * nesting, counters, and the call tree in which all of it is added up.
 *
 * Times are whole nanoseconds since the first trace began.  Spans of a track are in the order in which they begin, a parent before its
 * children, and a child never ends after its parent.  Names are valid UTF-8 without control characters, and none is empty. */
#ifndef AS_EXPORT_SCENE_H
#define AS_EXPORT_SCENE_H

#include "base/text.h"
#include "export/export.h"

/* What a span is of: a run, a step, a function. */
typedef struct as_scene_name {
    const char          *name;
    const char          *category; /* "run", "segment", "step", "part", "device", "block", "phase", or that of the user's span */
    const char          *file;     /* "": not known */
    const char          *object;
    int                  line; /* 0: not known */
    uint64_t             flops, bytes;
    const as_trace_step *step; /* NULL: it is not a step */
} as_scene_name;

typedef struct as_scene_span {
    uint64_t begin_ns, end_ns;
    uint32_t name;
    uint32_t run;   /* of the trace; UINT32_MAX: it does not belong to one */
    uint32_t depth; /* 0: nothing is around it */
    uint32_t order; /* in the trace */
} as_scene_span;

typedef enum as_track_kind {
    AS_TRACK_MAIN,   /* the thread that runs the network */
    AS_TRACK_THREAD, /* another one: its share of each step */
    AS_TRACK_DEVICE, /* steps by the device's own clock */
    AS_TRACK_USER,   /* spans of the user's own code */
    AS_TRACK_LOOKS,  /* a thread that was looked at: spans are made of looks that follow each other */
    AS_TRACK_BLOCKS, /* candidates in turns */
    AS_TRACK_PHASES
} as_track_kind;

typedef struct as_scene_track {
    as_track_kind  kind;
    const char    *name;
    int            process;
    uint32_t       tid;
    as_scene_span *spans;
    size_t         n, cap;
    size_t         lane; /* USER, LOOKS: index in the trace; DEVICE, THREAD: which one */
} as_scene_track;

typedef struct as_scene_point {
    uint64_t ns;
    double   value;
} as_scene_point;

typedef struct as_scene_counter {
    const char     *name, *unit;
    int             process;
    as_scene_point *points;
    size_t          n, cap;
} as_scene_counter;

/* One trace is one process. */
typedef struct as_scene_process {
    const char        *name;
    const assay_trace *trace;
    uint64_t           offset_ns;
    uint32_t           pid;
    uint32_t          *stack_nodes; /* the tree's node of each stack; UINT32_MAX: not yet */
    uint32_t          *step_names;  /* of each kind of span and each step: index + 1 of a name; 0: not yet */
    uint32_t          *frame_names; /* of each frame, in the same way */
    uint32_t           off_cpu;     /* "[off CPU]", in the same way */
    uint32_t           unknown;     /* "[stack not known]", in the same way */
    uint32_t           root;        /* the tree's node of the process itself; UINT32_MAX: it is the only one */
} as_scene_process;

/* What the tree adds up. */
typedef enum as_scene_value {
    AS_SCENE_TIME,
    AS_SCENE_FLOPS,
    AS_SCENE_BYTES,
    AS_SCENE_ALLOC,
    AS_SCENE_INUSE,
    AS_SCENE_PEAK,
    AS_N_SCENE_VALUES
} as_scene_value;

/* A node of the call tree: parents come before their children. */
typedef struct as_scene_node {
    uint32_t name;
    uint32_t parent; /* UINT32_MAX: a root */
    uint64_t calls;
    uint64_t self[AS_N_SCENE_VALUES]; /* without the children */
} as_scene_node;

typedef struct as_scene {
    assay_env        *env;
    as_arena          arena;
    as_scene_process *processes;
    size_t            n_processes;
    as_scene_name    *names;
    size_t            n_names, cap_names;
    as_scene_track   *tracks;
    size_t            n_tracks, cap_tracks;
    as_scene_counter *counters;
    size_t            n_counters, cap_counters;
    as_scene_node    *nodes;
    size_t            n_nodes, cap_nodes;
    uint32_t         *slots; /* index + 1 of a node, by its parent and name; 0: free */
    size_t            n_slots;
    bool              has_memory;             /* there were memory events: the last three values count */
    bool              time_of_looks;          /* AS_SCENE_TIME was sampled, not measured by spans */
    bool              failed;                 /* no memory */
    bool              all;                    /* nothing is left out */
    uint64_t          n_runs, n_runs_shown;   /* that were measured; whose spans are shown */
    uint64_t          n_spans, n_spans_shown; /* of the user's code and of looks */
    uint64_t          end_ns;                 /* of the last span or counter */
    const char       *said;                   /* what of the timeline is in the file, for people; "": all */
    const char       *said_sums;              /* the same of the tree */
} as_scene;

/* Everything of the traces, which must outlive the view.  The timeline is cut to AS_EXPORT_... unless `all`; the tree is of all spans. */
assay_status as_scene_open(assay_env *env, const assay_trace *const *traces, size_t n, bool all, as_scene *out);
void         as_scene_drop(as_scene *v);

/* --- What the rooms' files share ----------------------------------------------------------------------------- */

const char *as_scene_clean(as_scene *v, const char *text); /* valid UTF-8 without control characters; never "" */
uint32_t    as_scene_node_find(as_scene *v, uint32_t parent, uint32_t name);
uint32_t    as_scene_stack_node(as_scene *v, size_t process, uint32_t stack);
void        as_scene_counters_make(as_scene *v);
void        as_scene_memory_make(as_scene *v); /* counters and the tree's values of memory events */
void        as_scene_tree_make(as_scene *v);
uint64_t    as_scene_ns(const as_scene_process *p, uint64_t ticks);
uint32_t    as_scene_name_add(as_scene *v, const as_scene_name *name); /* its index; 0 when there is no memory */
uint32_t    as_scene_frame_name(as_scene *v, as_scene_process *p, int frame);
uint32_t    as_scene_off_cpu(as_scene *v, as_scene_process *p);
void        as_scene_cut(as_scene *v);
/* Makes room for one more item at the end of a malloc'ed list; NULL: no memory, and v->failed is set. */
void *as_scene_grow(as_scene *v, void *items, size_t n, size_t *capacity, size_t bytes_each);
#define AS_SCENE_ROOM(v, list, n, cap) (((list) = as_scene_grow((v), (list), (n), &(cap), sizeof *(list))), !(v)->failed)

/* Bytes on their way to a file: numbers without printf, because there are millions of them. */
enum { AS_SINK_BYTES = 1 << 16 };
typedef struct as_sink {
    FILE  *file;
    size_t n;
    char   data[AS_SINK_BYTES];
} as_sink;
void as_sink_flush(as_sink *s);
void as_sink_bytes(as_sink *s, const void *data, size_t n);
void as_sink_text(as_sink *s, const char *text);
void as_sink_u64(as_sink *s, uint64_t value);
void as_sink_us(as_sink *s, uint64_t ns); /* "12.345" microseconds */

void as_json_quote(as_text *t, const char *text); /* "text" as JSON, with its quotes */

/* Protocol buffers, as far as they are written here. */
void as_proto_varint(as_text *t, uint64_t value);
void as_proto_u64(as_text *t, uint32_t field, uint64_t value);
void as_proto_f64(as_text *t, uint32_t field, double value);
void as_proto_bytes(as_text *t, uint32_t field, const void *data, size_t n);
void as_proto_text(as_text *t, uint32_t field, const char *text);

#endif
