/* share.h - what libassay-preload.so and assay say to each other: the layout of one file in memory.
 *
 * assay makes a memfd and gives its path (/proc/PID/fd/N) to the program in an environment variable.  Every process that loads the library
 * takes one block of the file: a head with exact totals, one entry per place in the code that allocates ("site", a stack), a log of
 * the first events, and the addresses that the stacks are made of.  Pages that nobody touches cost nothing.  assay reads while the program
 * runs; the counters of a site are written under a lock of the program, each one as a whole, so a reader may see a site between
 * two events and never half a number.  A program that crashes leaves everything that it had counted; so does one whose assay is gone.
 *
 * Plain C without the rest of assay: the library is loaded into other people's programs. */
#ifndef AS_RECORD_SHARE_H
#define AS_RECORD_SHARE_H

#include <stdint.h>

#define AS_SHARE_VARIABLE "ASSAY_PRELOAD_SHARE" /* path of the file */
#define AS_SHARE_MAGIC    UINT64_C(0x3165726168737361)

enum {
    AS_SHARE_HEAD_BYTES = 65536,
    AS_SHARE_MAX_PROCESSES = 4096,
    AS_SHARE_MAX_DEPTH = 64, /* frames of a stack; more are cut off on the outside */
    AS_SHARE_MAX_MODULES = 2048,
    AS_SHARE_PATH = 240,
    AS_SHARE_MAX_SITES = 1 << 19,
    AS_SHARE_MAX_WORDS = 1 << 23,  /* addresses of all stacks together */
    AS_SHARE_MAX_EVENTS = 1 << 18, /* the log is complete up to here, and ends here */
    AS_SHARE_MAX_THREADS = 1024,   /* with a timer */
    AS_SHARE_RING_WORDS = 1 << 15  /* of one thread's stack samples */
};

enum { AS_SHARE_MEMORY = 1, AS_SHARE_TIMER = 2 }; /* what to record: bits */

/* The first page of the file. */
typedef struct as_share_head {
    uint64_t magic;
    uint32_t what;        /* AS_SHARE_MEMORY | AS_SHARE_TIMER */
    uint32_t use_counter; /* times are ticks of the CPU's counter, else ns of CLOCK_MONOTONIC */
    uint64_t bytes;       /* of the file */
    uint64_t period_ns;   /* of the timers */
    uint32_t n_processes; /* blocks that were taken; atomic */
    uint32_t n_refused;   /* processes that could not map theirs; atomic */
    uint32_t window;      /* assay counts it up at each step of the timeline */
    uint32_t max_events;  /* of a process's log */
} as_share_head;

/* An executable part of a file that the program has mapped. */
typedef struct as_share_module {
    uint64_t start, end, file_offset;
    char     path[AS_SHARE_PATH];
} as_share_module;

/* A stack that allocates.  The sum of live_bytes over all sites is the process's live_bytes. */
typedef struct as_share_site {
    uint64_t live_bytes;
    uint64_t
        saved_bytes; /* live_bytes when the peak number `saved_at` was reached; of any later peak, live_bytes is still the same */
    uint64_t saved_at;
    uint64_t largest_bytes; /* one block */
    uint64_t allocs;        /* blocks that came from here, by malloc or by a realloc */
    uint64_t frees;         /* of these, how many are gone: freed, or taken over by a realloc */
    uint64_t bytes;         /* that were asked for here, in all */
    uint64_t temporary;     /* blocks that were freed before the thread allocated another one */
} as_share_site;

typedef struct as_share_stack {
    uint64_t hash;
    uint32_t first_word;
    uint16_t n, is_cut;
} as_share_stack;

enum { AS_SHARE_ALLOC = 0, AS_SHARE_FREE = 1, AS_SHARE_RESIZE = 2 };

typedef struct as_share_event {
    uint64_t time, address;
    uint64_t bytes;        /* 48 bits; above them the kind */
    uint32_t site, thread; /* of a free: the site that the block came from; thread: the system's id */
} as_share_event;

static inline uint64_t as_share_event_bytes(const as_share_event *e) { return e->bytes & ((UINT64_C(1) << 48) - 1); }
static inline unsigned as_share_event_kind(const as_share_event *e) { return (unsigned)(e->bytes >> 48); }

/* The samples of one thread: one writer (its signal handler), one reader.  A sample is: n << 1 | first address is exact, weight in ns,
 * time in ns, n addresses; it never wraps: a zero word means "go on at the start". */
typedef struct as_share_ring {
    uint64_t head, tail; /* words ever written and read; atomic */
    uint64_t dropped;
    uint32_t tid, is_taken;
    uint64_t words[AS_SHARE_RING_WORDS];
} as_share_ring;

enum { AS_SHARE_RUNS = 1, AS_SHARE_ENDED = 2 }; /* ended: its destructors ran */

typedef struct as_share_process {
    uint32_t pid, parent;
    uint32_t state;                                          /* 0: not ready to be read; then AS_SHARE_RUNS, AS_SHARE_ENDED */
    uint32_t has_own_malloc;                                 /* the program brings a malloc of its own, which is never seen */
    uint32_t signal_taken;                                   /* the program set a handler for the signal of the timers */
    uint32_t n_modules, n_sites, n_words, n_events, n_rings; /* atomic; entries below them are ready */
    uint32_t is_full;                                        /* a table is full: what came later is counted in site 0 */
    uint32_t is_forked; /* began by fork() without exec(): what its parent had allocated is not counted */
    uint64_t start_time;
    char     name[32];

    /* Under the lock of the process. */
    uint64_t live_bytes, peak_bytes, peak_number, peak_time;
    uint32_t window, peak_is_unstamped;
    uint64_t window_peak_bytes;
    uint64_t allocs, frees, resizes, bytes, live_blocks, peak_blocks;
    uint64_t maps, unmaps, mapped_bytes;           /* mmap() of anonymous memory: in the numbers above, too */
    uint64_t failed, unknown_frees, unseen;        /* unseen: calls from a signal handler amid our own work */
    uint64_t cost_calls, cost_time, cost_own_time; /* of some calls: how many, all their time, ours alone */
    uint64_t reserved[8];
} as_share_process;

/* Where the parts of a process's block are, from its start. */
enum { AS_SHARE_PAGE = 65536 }; /* the largest page of any machine */
#define AS_SHARE_UP(bytes) (((uint64_t)(bytes) + AS_SHARE_PAGE - 1) / AS_SHARE_PAGE * AS_SHARE_PAGE)
#define AS_SHARE_MODULES   AS_SHARE_UP(sizeof(as_share_process))
#define AS_SHARE_SITES     (AS_SHARE_MODULES + AS_SHARE_UP(sizeof(as_share_module) * AS_SHARE_MAX_MODULES))
#define AS_SHARE_STACKS    (AS_SHARE_SITES + AS_SHARE_UP(sizeof(as_share_site) * AS_SHARE_MAX_SITES))
#define AS_SHARE_WORDS     (AS_SHARE_STACKS + AS_SHARE_UP(sizeof(as_share_stack) * AS_SHARE_MAX_SITES))
#define AS_SHARE_EVENTS    (AS_SHARE_WORDS + AS_SHARE_UP(sizeof(uint64_t) * AS_SHARE_MAX_WORDS))
#define AS_SHARE_RINGS     (AS_SHARE_EVENTS + AS_SHARE_UP(sizeof(as_share_event) * AS_SHARE_MAX_EVENTS))
#define AS_SHARE_BLOCK(what) \
    (AS_SHARE_RINGS + (((what)&AS_SHARE_TIMER) ? AS_SHARE_UP(sizeof(as_share_ring) * AS_SHARE_MAX_THREADS) : 0))

#endif
