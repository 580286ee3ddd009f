/* backend.h - what a device is.  One back end per file: be_<name>.c.
 *
 * The unit of work is a segment: consecutive plan steps on one device.  All memory of an instance on a device is one
 * allocation, and buffers are offsets into it. execute() returns when the work is really finished; it writes spans
 * in as much detail as the recorder asks for and the device can see. */
#ifndef AS_BACKEND_BACKEND_H
#define AS_BACKEND_BACKEND_H

#include "base/pool.h"
#include "op/op.h"
#include "trace/trace.h"

typedef struct as_backend as_backend;

/* What a device can and cannot do, as data: `assay devices` shows it, and refusals follow from it. */
typedef struct as_caps {
    unsigned dtypes;           /* AS_DTYPE_BIT of each type that it computes with; moving bytes is not computing */
    uint64_t max_bytes;        /* of one allocation, and with it of an instance; 0: no limit but memory */
    bool     uses_threads;     /* --threads means something to it */
    bool     takes_graphs;     /* it takes pieces of a graph whole (claim), and not node by node */
    bool     is_gpu;           /* a graphics processor or another accelerator, not a CPU: what --device gpu means */
    bool     span_per_segment; /* it cannot see single steps: the spans of their segment are all there is */
} as_caps;

/* An open device.  Back ends embed it as their first member.  Its opener closes it; any number of plans may borrow it. */
typedef struct assay_device {
    const as_backend *backend;
    const char       *name;        /* "cpu", "opencl:0", "null:gemm=5us" */
    const char       *text;        /* "AMD EPYC, avx2 fma, 2 threads" */
    bool              host_memory; /* the host can address its memory */
    int               n_threads;   /* rings that its spans may use */
    bool              tells_time;  /* it is told how long its work takes instead of doing it: runs with it need a fake clock */
    size_t            align;       /* of buffer offsets */
    as_caps           caps;
    /* as_device_alloc/drop keep these; threads that share the device may allocate at the same time. */
    _Atomic uint64_t live_bytes, peak_bytes, n_allocs;
} as_device;

/* What one run passes to every step.  No part of it belongs to a device or to the env that opened one: threads that share a plan
 * and its devices each have their own context, with their own messages, clock and cancel. */
typedef struct as_run_ctx {
    assay_env         *env;      /* where messages go */
    as_clock          *clock;    /* stamps spans; a device that is told its times moves it, so it must be a fake one then */
    atomic_int        *cancel;   /* not 0: stop after the step that runs */
    uint64_t           step;     /* keys random operators; as_instance_step() fills it from the instance's own count */
    const as_recorder *recorder; /* NULL: record nothing */
} as_run_ctx;

/* A context with the env's own clock and cancel, for the rest of the block. */
#define AS_RUN_WITH(env_, recorder_) \
    (&(as_run_ctx){.env = (env_), .clock = &(env_)->clock, .cancel = &(env_)->cancel, .recorder = (recorder_)})
#define AS_RUN(env_) AS_RUN_WITH(env_, NULL)

static inline bool as_run_cancelled(const as_run_ctx *run) { return atomic_load_explicit(run->cancel, memory_order_relaxed) != 0; }

/* The recorder when it wants at least this much detail, else NULL. */
static inline const as_recorder *as_run_recorder(const as_run_ctx *run, as_detail detail)
{
    const as_recorder *r = run->recorder;
    return r && r->rings && r->n_rings > 0 && r->detail >= detail ? r : NULL;
}

typedef struct as_mem {
    void  *handle;
    void  *host;
    size_t bytes;
} as_mem; /* host: NULL when not addressable */

/* The number of inputs that can be packed, counted from the first.  A recurrent cell's weights come after its states. */
enum { AS_N_PACKED = 12 };
#define AS_NOT_PACKED                                  \
    {                                                  \
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 \
    }

/* Which kernel a device takes for a node, and why not the others.  The given arena holds the text. */
typedef struct as_choice {
    const void       *kernel;     /* the device's own; NULL: it refuses the node */
    const char       *name, *why; /* why this one, or why the device refuses */
    as_trace_refusal *refused;
    int               n_refused;
    bool              slow;     /* the operator's reference code, because there is no kernel: fusing into it gains nothing */
    unsigned          in_place; /* bit i: the only output may share the memory of input i, when both are alike */
    uint8_t           in_place_of[AS_N_IN_PLACE]; /* of any number of outputs: k may share the memory of input in_place_of[k] - 1 */
    size_t            scratch_bytes;              /* for all threads together */
    as_cost           issued;                     /* the work that this kernel issues; zero: as the op's cost */
    /* Weight inputs that the kernel wants packed once: those with packed_bytes[i] > 0. */
    size_t packed_bytes[AS_N_PACKED];
    bool   packed_alone; /* it does not read the weights themselves where they are packed */
    /* Bit i: input i is packed only where it does not change from run to run. */
    unsigned read_in_place;
} as_choice;

/* One step of a segment: buffers by plan id. */
typedef struct as_seg_step {
    const as_node_ctx *ctx;
    const as_choice   *choice;
    const int         *in, *out; /* plan buffer ids; -1 absent */
    int                n_in, n_out;
    int                scratch;             /* plan buffer id or -1 */
    int                packed[AS_N_PACKED]; /* plan buffer ids of packed inputs, -1: none */
    int                index;               /* step number in the plan, for spans */
    /* True: instead of running the node, its kernel packs in[pack_input] into packed[pack_input]. The other operands
     * are those of the node's own step, and no output is written. */
    bool pack;
    int  pack_input;
} as_seg_step;

typedef struct as_segment {
    const as_seg_step *steps;
    int                n_steps;
} as_segment;

/* --- Devices that take graphs: pieces instead of nodes ---------------------------------------------------- */

/* A graph as such a device sees it before it says what it wants: nodes ordered so that inputs come before their use, values by
 * number. */
typedef struct as_claim_node {
    const as_node_ctx *ctx;
    const int         *in, *out; /* values; -1: absent */
    bool               dead;     /* removed: the device is not asked about it */
} as_claim_node;

typedef struct as_claim_graph {
    const as_claim_node *nodes;
    int                  n_nodes, n_values;
} as_claim_graph;

/* A connected and convex piece of a graph that a device compiles as one. */
typedef struct as_piece_value {
    const as_tensor_info *info;
    const void           *data; /* params and constants: their values now, at any address; the contents of the buffer count */
    int  buffer; /* plan buffer of an input or output of the piece; -1: a value inside, which the device keeps itself */
    bool is_result;
} as_piece_value;

typedef struct as_piece_node {
    const as_node_ctx *ctx;
    const int         *in, *out; /* values of the piece; -1: absent */
} as_piece_node;

typedef struct as_piece {
    const as_piece_node  *nodes; /* inputs come before their use */
    const as_piece_value *values;
    int                   n_nodes, n_values;
    int                   scratch; /* plan buffer of the size that piece_scratch() asked for, or -1 */
    int                   index;   /* step number in the plan, for spans */
} as_piece;

/* Where every plan buffer of one instance is: the device's base allocation plus an offset, or an outside host
 * pointer (only on host-addressable devices). */
typedef struct as_slot {
    size_t offset;
    void  *outside;
    size_t bytes;
} as_slot;
typedef struct as_bindings {
    const as_mem  *base;
    const as_slot *slots;
    int            n_slots;
} as_bindings;

static inline void *as_slot_host(const as_bindings *b, int buffer)
{
    const as_slot *s = &b->slots[buffer];
    return s->outside ? s->outside : (char *)b->base->host + s->offset;
}

/* reason: why it cannot be used; caps is NULL then. */
typedef void (*as_device_found)(void *arg, const char *name, const char *text, const as_caps *caps, const char *reason);

/* A loop whose work is known exactly; it measures a limit of a device. */
typedef struct as_device_meter {
    const char *name;        /* "fma.f32", "read.dram", "launch", "put" */
    const char *unit;        /* "flop/s", "byte/s", "ns" */
    const char *what;        /* what it does, for the source of the number */
    double      per_pass;    /* work of one pass, in the unit without "/s"; 1 for a time */
    uint64_t    level_bytes; /* for a bandwidth: the size of the level; 0: everything */
    double      told;        /* > 0: the limit itself, which the device was told and nobody measures */
    void       *self;
    assay_status (*run)(assay_env *env, void *self, uint64_t n_passes); /* returns when the work is really finished */
} as_device_meter;
typedef struct as_device_meters {
    as_device_meter *list;
    int              n;
    void            *self;
} as_device_meters; /* {0} is none */

struct as_backend {
    const char *name; /* "cpu" */
    const char *help;
    const char *syntax; /* "cpu", "null[:OP=TIME,...]", "opencl[:N]" */
    void (*list)(assay_env *env, as_device_found found, void *arg);
    /* args: what follows "name:" in --device, or NULL. */
    assay_status (*open)(assay_env *env, const char *args, int n_threads, as_device **out);
    void (*close)(as_device *device);
    assay_status (*alloc)(assay_env *env, as_device *device, size_t bytes, as_mem *out); /* zeroed */
    void (*drop)(as_device *device, as_mem *mem);
    assay_status (*put)(const as_run_ctx *run, as_device *device, const as_mem *dst, size_t offset, const void *src, size_t n);
    assay_status (*get)(const as_run_ctx *run, as_device *device, const as_mem *src, size_t offset, void *dst, size_t n);
    /* Chooses a kernel by rule, never by timing. choice->kernel NULL: refused; `why` says why. */
    assay_status (*choose)(assay_env *env, as_device *device, const as_node_ctx *n, as_arena *arena, as_choice *out);
    /* For a device with caps.takes_graphs, instead of choose and compile: sets choices[i].kernel (and name, why) for each node that
     * it wants, or why it does not.  The plan cuts the wanted nodes into connected and convex pieces. */
    assay_status (*claim)(assay_env *env, as_device *device, const as_claim_graph *graph, as_arena *arena, as_choice *choices);
    size_t (*piece_scratch)(as_device *device, const as_piece *piece); /* memory of an instance for its inner values; NULL: none */
    /* Borrows the piece until discard().  execute() writes one step span for all of it. */
    assay_status (*compile_piece)(assay_env *env, as_device *device, const as_piece *piece, void **code);
    /* Borrows each step's ctx until discard(); copies the rest.  Instances may share the code. */
    assay_status (*compile)(assay_env *env, as_device *device, const as_segment *segment, void **code);
    /* Writes spans of single steps and finer ones; the caller, who can stamp around any device, writes those of the run and the
     * segment.  Threads that share a plan may call it at the same time, each with its own context and bindings.  Allocates
     * nothing. */
    assay_status (*execute)(const as_run_ctx *run, as_device *device, void *code, const as_bindings *bindings);
    void (*discard)(as_device *device, void *code);
    /* Runs fn once in every host thread that execute() uses, part 0 in the caller; NULL: it only uses the caller. */
    void (*each_thread)(as_device *device, as_pool_fn fn, void *arg);
    /* How its threads have waited for each other so far; NULL: it has no threads that wait. */
    as_pool_waits (*waits)(as_device *device);
    /* The meters of its own limits; run them while nothing else uses the device.  NULL: it has the CPU's limits, which src/roof
     * measures. */
    assay_status (*meters_open)(assay_env *env, as_device *device, as_device_meters *out);
    void (*meters_close)(as_device *device, as_device_meters *m);
};

extern const as_backend *const as_be_table[];

/* "cpu", "null:gemm=5us": finds the back end by the name before ':' and opens it.  The device keeps no reference to the env. */
assay_status as_device_open(assay_env *env, const char *spec, int n_threads, as_device **out);
void         as_device_close(as_device *device);
assay_status as_device_alloc(assay_env *env, as_device *device, size_t bytes, as_mem *out); /* counts */
void         as_device_drop(as_device *device, as_mem *mem);
/* The first GPU that the back ends of a table list; NOT_FOUND with what there is instead. */
typedef struct as_gpu {
    char name[64], text[256]; /* "opencl:0" and what it is */
} as_gpu;
assay_status as_gpu_find(assay_env *env, const as_backend *const *table, as_gpu *out);
/* "computes f32, at most 512 MiB in one allocation, a span per segment". */
const char *as_caps_show(const as_caps *caps, char *buf, size_t size);
/* Checks that n bytes at offset lie within mem; else INTERNAL with who and what: "cpu: put of 1 bytes at 10 does not fit an
 * allocation of 10". */
assay_status as_mem_check(assay_env *env, const char *who, const char *what, const as_mem *mem, size_t offset, size_t n);

#endif
