/* lane.c - the hot path: two readings of the clock, a step in the tree, an entry in the ring. */
#include "session/lane.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#define BUMP(counter, n) \
    atomic_store_explicit(&(counter), atomic_load_explicit(&(counter), memory_order_relaxed) + (n), memory_order_relaxed)

/* --- Begin and end of a lane ------------------------------------------------------------------------------ */

static uint32_t thread_id(void)
{
#ifdef __linux__
    return (uint32_t)syscall(SYS_gettid);
#else
    return (uint32_t)getpid();
#endif
}

/* The time that a thread could have run and had no CPU, so far: the second number of its schedstat.  NaN where the system does not tell. */
static double queued_ns(uint32_t tid)
{
    char               path[64], text[96];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%u/schedstat", tid);
    FILE *file = fopen(path, "re");
    bool  ok = file && fgets(text, sizeof text, file) && sscanf(text, "%llu %llu", &ran, &waited) == 2;
    if (file)
        fclose(file);
    return ok ? (double)waited : (double)NAN;
}

as_lane *as_lane_new(const as_clock *clock, uint32_t capacity, const char *name)
{
    as_lane *lane = calloc(1, sizeof *lane);
    if (lane)
        lane->ring = malloc(capacity * sizeof *lane->ring);
    if (!lane || !lane->ring) {
        free(lane);
        return NULL;
    }
    memset(lane->ring, 0, capacity * sizeof *lane->ring); /* every page is touched now and not between two stamps */
    lane->clock = *clock;
    lane->mask = capacity - 1;
    lane->index = -1;
    lane->tid = thread_id();
    lane->root.stack = lane->root.frame = -1;
    lane->queued_ns = queued_ns(lane->tid);
    lane->joined_ticks = as_clock_now(clock);
    lane->open[0].node = &lane->root;
    atomic_init(&lane->refs, 1);
    if (name)
        strncpy(lane->name, name, sizeof lane->name - 1);
    else if (pthread_getname_np(pthread_self(), lane->name, sizeof lane->name))
        strcpy(lane->name, "thread");
    return lane;
}

void as_lane_leave(as_lane *lane, bool by_itself)
{
    if (atomic_exchange_explicit(&lane->left, true, memory_order_acq_rel))
        return;
    uint64_t now = as_clock_now(&lane->clock), took = now > lane->joined_ticks ? now - lane->joined_ticks : 0;
    while (by_itself && (lane->depth || lane->too_deep)) /* spans that were left open end with the thread's part */
        as_lane_end(lane);
    lane->queued_ns = queued_ns(lane->tid) - lane->queued_ns;
    atomic_store_explicit(&lane->root.sum_ticks, took, memory_order_relaxed);
    atomic_store_explicit(&lane->root.count, 1, memory_order_relaxed);
    atomic_store_explicit(&lane->closed, true, memory_order_release);
}

void as_lane_drop(as_lane *lane)
{
    if (!lane || atomic_fetch_sub_explicit(&lane->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (struct as_lane_chunk *chunk = lane->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(lane->ring);
    free(lane);
}

/* --- The lane of a thread ----------------------------------------------------------------------------------- */

/* Initial-exec: a reading is one instruction also in the shared library, where the general model calls a function. */
static __thread as_lane *current __attribute__((tls_model("initial-exec")));
static pthread_key_t     key;
static pthread_once_t    once = PTHREAD_ONCE_INIT;

/* A thread ends without leaving. */
static void lane_end(void *lane)
{
    as_lane_leave(lane, true);
    as_lane_drop(lane);
}
static void key_make(void) { (void)pthread_key_create(&key, lane_end); }

as_lane *as_lane_current(void)
{
    if (current && atomic_load_explicit(&current->closed, memory_order_relaxed))
        as_lane_make_current(NULL);
    return current;
}

void as_lane_make_current(as_lane *lane)
{
    as_lane *before = current;
    if (before == lane)
        return;
    pthread_once(&once, key_make);
    if (lane)
        atomic_fetch_add_explicit(&lane->refs, 1, memory_order_relaxed);
    current = lane;
    pthread_setspecific(key, lane); /* so that a thread that ends lets go of it */
    as_lane_drop(before);
}

/* --- Spans ---------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) as_node *node_add(as_lane *lane, as_node *parent, const assay_site *site, const as_op_site *op)
{
    if (!lane->n_left && lane->n_nodes < AS_LANE_MAX_NODES) {
        struct as_lane_chunk *chunk = calloc(1, sizeof *chunk);
        if (!chunk)
            return NULL;
        chunk->next = lane->chunks;
        lane->chunks = chunk;
        lane->nodes = chunk->nodes;
        lane->n_left = (uint32_t)(sizeof chunk->nodes / sizeof *chunk->nodes);
    }
    if (!lane->n_left)
        return NULL;
    as_node *node = lane->nodes++;
    lane->n_left--;
    lane->n_nodes++;
    node->site = site;
    node->op = op;
    node->parent = parent;
    node->stack = node->frame = -1;
    atomic_init(&node->min_ticks, UINT64_MAX);
    node->next = atomic_load_explicit(&parent->first, memory_order_relaxed);
    atomic_store_explicit(&parent->first, node, memory_order_release);
    return node;
}

void as_lane_begin(as_lane *lane, const assay_site *site, const as_op_site *op)
{
    as_node *parent = lane->open[lane->depth].node;
    as_node *node = atomic_load_explicit(&parent->first, memory_order_relaxed);
    while (node && (node->site != site || node->op != op))
        node = node->next;
    if (__builtin_expect(!node, 0))
        node = node_add(lane, parent, site, op);
    if (__builtin_expect(!node || lane->depth == AS_LANE_DEPTH, 0)) {
        lane->too_deep++;
        BUMP(lane->n_too_deep, 1);
        return;
    }
    lane->depth++;
    lane->open[lane->depth].node = node;
    lane->open[lane->depth].begin_ticks = as_clock_now(&lane->clock);
}

uint64_t as_lane_end(as_lane *lane)
{
    uint64_t now = as_clock_now(&lane->clock);
    if (__builtin_expect(lane->too_deep, 0)) {
        lane->too_deep--;
        return 0;
    }
    if (__builtin_expect(!lane->depth, 0))
        return 0;
    as_node *node = lane->open[lane->depth].node;
    uint64_t begin = lane->open[lane->depth--].begin_ticks, took = now > begin ? now - begin : 0;
    BUMP(node->count, 1);
    BUMP(node->sum_ticks, took);
    if (took < atomic_load_explicit(&node->min_ticks, memory_order_relaxed))
        atomic_store_explicit(&node->min_ticks, took, memory_order_relaxed);
    if (took > atomic_load_explicit(&node->max_ticks, memory_order_relaxed))
        atomic_store_explicit(&node->max_ticks, took, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&lane->head, memory_order_relaxed);
    if (__builtin_expect(head - atomic_load_explicit(&lane->tail, memory_order_acquire) > lane->mask, 0)) {
        BUMP(lane->n_lost, 1);
        return took;
    }
    lane->ring[head & lane->mask] = (as_lane_span){begin, begin + took, node};
    atomic_store_explicit(&lane->head, head + 1, memory_order_release);
    return took;
}

void as_lane_work(as_lane *lane, uint64_t flops, uint64_t bytes)
{
    if (!lane->depth || lane->too_deep)
        return;
    as_node *node = lane->open[lane->depth].node;
    BUMP(node->flops, flops);
    BUMP(node->bytes, bytes);
}

/* --- For the user's code ---------------------------------------------------------------------------------------- */

void assay_span_begin(const assay_site *site)
{
    as_lane *lane = current;
    if (lane && !atomic_load_explicit(&lane->closed, memory_order_relaxed))
        as_lane_begin(lane, site, NULL);
}

void assay_span_end(void)
{
    as_lane *lane = current;
    if (lane && !atomic_load_explicit(&lane->closed, memory_order_relaxed))
        as_lane_end(lane);
}

void assay_span_work(uint64_t flops, uint64_t bytes)
{
    as_lane *lane = as_lane_current();
    if (lane)
        as_lane_work(lane, flops, bytes);
}
