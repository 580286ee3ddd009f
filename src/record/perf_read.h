/* perf_read.h - one record of the kernel's ring of events, from bytes to a struct; nothing is believed that does not fit in it. */
#ifndef AS_RECORD_PERF_READ_H
#define AS_RECORD_PERF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct as_perf_record {
    uint32_t    type; /* PERF_RECORD_ */
    uint16_t    misc;
    uint64_t    time, id; /* CLOCK_MONOTONIC; id of the event */
    uint32_t    pid, tid, parent_pid, parent_tid;
    uint64_t    period; /* of a sample */
    const void *chain;  /* n_chain addresses of 8 bytes each, which need not be aligned */
    size_t      n_chain;
    const void *regs; /* n_regs of 8 bytes each; none: not asked for, or a thread of the kernel */
    size_t      n_regs;
    const void *stack;
    size_t      n_stack;
    uint64_t    start, length, offset; /* of a mapping */
    const char *text;                  /* of a mapping its path, of COMM the name; ends with 0 */
    uint64_t    lost;
} as_perf_record;

/* Events are opened with these, and sample_id_all; n_regs > 0: with PERF_SAMPLE_REGS_USER and _STACK_USER, too. */
#define AS_PERF_SAMPLE \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

/* data: one record of n bytes with its head.  Borrows from it.  False: it contradicts itself. */
bool as_perf_read(const uint8_t *data, size_t n, size_t n_regs, as_perf_record *out);

#endif
