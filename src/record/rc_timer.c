/* rc_timer.c - samples stacks by timers inside the program, where perf_event_open is forbidden. */
/* os: linux */
#include <stdlib.h>
#include <string.h>

#include "record/preload.h"

typedef struct recorder {
    as_preload share;
    uint64_t   n_looks, weight_ns, n_whole;
} recorder;

static bool probe(assay_env *env, const as_record_settings *s, char why[AS_RECORD_WHY]) { return as_preload_probe(env, s, why); }

static assay_status prepare(as_recording *r)
{
    recorder *c = calloc(1, sizeof *c);
    if (!c)
        return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for the recorder by timers");
    c->share.fd = -1;
    r->state = c;
    int rate = r->settings->rate > 0 ? r->settings->rate : 1000;
    return as_preload_open(r, AS_SHARE_TIMER, 1000000000u / (unsigned)rate, &c->share);
}

static assay_status start(as_recording *r)
{
    (void)r;
    return ASSAY_OK;
}

static assay_status look_take(as_recording *r, recorder *c, const as_preload_process *p, uint32_t tid, const uint64_t *words)
{
    bool     is_whole = false;
    uint64_t n = words[0] >> 1, weight = words[1], at = words[2];
    int      stack = as_symbols_stack(r->symbols, r->trace, (pid_t)p->at->pid, words + 3, n, words[0] & 1, &is_whole);
    int      lane = tid == p->at->pid ? p->lane : as_record_lane(r, (pid_t)p->at->pid, (pid_t)tid, NULL);
    if (stack < 0 || lane < 0 ||
        !as_trace_add_look(r->trace, &(as_stack_sample){.ticks = at > r->trace->start_ticks ? at - r->trace->start_ticks : 0,
                                                        .weight_ns = weight,
                                                        .stack = (uint32_t)stack,
                                                        .lane = (uint16_t)lane,
                                                        .state = AS_STACK_ON_CPU}))
        return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for stack samples");
    c->n_looks++;
    c->n_whole += is_whole;
    c->weight_ns += weight;
    return ASSAY_OK;
}

static assay_status ring_take(as_recording *r, recorder *c, const as_preload_process *p, as_share_ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE), tail = ring->tail;
    if (head - tail > AS_SHARE_RING_WORDS)
        tail = head; /* not written by us: the program wrote where it should not */
    while (tail < head) {
        uint64_t at = tail % AS_SHARE_RING_WORDS, n = ring->words[at] >> 1;
        if (!n) { /* the rest of the round is empty */
            tail += AS_SHARE_RING_WORDS - at;
            continue;
        }
        if (n > AS_SHARE_MAX_DEPTH || at + 3 + n > AS_SHARE_RING_WORDS)
            break;
        AS_TRY(look_take(r, c, p, ring->tid, ring->words + at));
        tail += 3 + n;
    }
    __atomic_store_n(&ring->tail, tail < head ? head : tail, __ATOMIC_RELEASE);
    return ASSAY_OK;
}

static assay_status rings_take(as_recording *r, recorder *c, as_preload_process *p)
{
    as_share_ring *rings = (as_share_ring *)(void *)((char *)p->at + AS_SHARE_RINGS);
    uint32_t       n = __atomic_load_n(&p->at->n_rings, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n && i < AS_SHARE_MAX_THREADS; i++)
        AS_TRY(ring_take(r, c, p, &rings[i]));
    return ASSAY_OK;
}

static assay_status process_end(as_recording *r, as_preload *share, uint32_t number)
{
    recorder           *c = r->state;
    as_preload_process *p = &share->processes[number];
    if (!p->at)
        return ASSAY_OK;
    AS_TRY(rings_take(r, c, p));
    const as_share_ring *rings = as_preload_part(p, AS_SHARE_RINGS);
    for (uint32_t i = 0; i < p->at->n_rings && i < AS_SHARE_MAX_THREADS; i++)
        r->trace->looks_lost += rings[i].dropped;
    if (p->at->signal_taken &&
        !as_trace_add_metric(
            r->trace, &(as_trace_metric){.name = AS_RECORD_SIGNAL_TAKEN, .unit = "1", .step = (uint64_t)p->lane, .value = 1}))
        return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for one more number");
    as_preload_release(share, number);
    return ASSAY_OK;
}

static assay_status poll_now(as_recording *r)
{
    recorder *c = r->state;
    AS_TRY(as_preload_look(r, &c->share, process_end));
    for (uint32_t i = 0; i < c->share.n; i++)
        if (c->share.processes[i].at) {
            AS_TRY(rings_take(r, c, &c->share.processes[i]));
            if (c->share.processes[i].at->state == AS_SHARE_ENDED && (pid_t)c->share.processes[i].at->pid != r->pid)
                AS_TRY(process_end(r, &c->share, i));
        }
    return ASSAY_OK;
}

static bool number_add(as_recording *r, const char *name, double value)
{
    return as_trace_add_metric(r->trace, &(as_trace_metric){.name = name, .unit = "1", .value = value});
}

static assay_status stop(as_recording *r)
{
    recorder *c = r->state;
    if (!c)
        return ASSAY_OK;
    assay_status status = as_preload_end(r, &c->share, process_end);
    if (status == ASSAY_OK &&
        !(number_add(r, AS_RECORD_WHOLE, (double)c->n_whole) && number_add(r, AS_RECORD_CUT, (double)(c->n_looks - c->n_whole)) &&
          number_add(r, AS_RECORD_TABLES, 1) && number_add(r, AS_RECORD_OFF_CPU, 0)))
        status = as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for its last numbers");
    if (c->n_looks) /* what it was, not what was asked for: the system has its own ticks */
        r->trace->look_period_ns = (double)c->weight_ns / (double)c->n_looks;
    as_preload_close(&c->share);
    free(c);
    r->state = NULL;
    return status;
}

const as_record_kind as_rc_timer = {.name = "timer",
                                    .gives = AS_RECORD_STACKS,
                                    .rank = 1,
                                    .by_tables = true,
                                    .probe = probe,
                                    .prepare = prepare,
                                    .start = start,
                                    .poll = poll_now,
                                    .stop = stop};
