/* perf_read.c - records of perf_event_open(2), as its manual page lays them out. */
/* os: linux */
#include "record/perf_read.h"

#include <linux/perf_event.h>
#include <string.h>

/* What is left of a record. */
typedef struct bytes {
    const uint8_t *at;
    size_t         n;
} bytes;

static bool skip(bytes *b, size_t n, const void **from)
{
    if (b->n < n)
        return false;
    if (from)
        *from = b->at;
    b->at += n;
    b->n -= n;
    return true;
}

static bool take(bytes *b, void *out, size_t n)
{
    const void *from;
    if (!skip(b, n, &from))
        return false;
    memcpy(out, from, n);
    return true;
}

static bool take_u64(bytes *b, uint64_t *out) { return take(b, out, sizeof *out); }
static bool take_u32(bytes *b, uint32_t *out) { return take(b, out, sizeof *out); }

/* regs: how many, unless the thread has none; stack: its size, the bytes, and how many of them are real. */
static bool state_read(bytes *b, size_t n_regs, as_perf_record *out)
{
    uint64_t abi, size, real;
    if (!take_u64(b, &abi))
        return false;
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
        if (!skip(b, n_regs * sizeof(uint64_t), &out->regs))
            return false;
        out->n_regs = abi == PERF_SAMPLE_REGS_ABI_64 ? n_regs : 0; /* programs of 32 bits: not unwound */
    }
    if (!take_u64(b, &size))
        return false;
    if (!size)
        return true;
    if (size > b->n || !skip(b, size, &out->stack) || !take_u64(b, &real))
        return false;
    out->n_stack = real < size ? real : size;
    return true;
}

static bool sample_read(bytes *b, size_t n_regs, as_perf_record *out)
{
    uint64_t n, ip;
    if (!take_u64(b, &out->id) || !take_u64(b, &ip) || !take_u32(b, &out->pid) || !take_u32(b, &out->tid) ||
        !take_u64(b, &out->time) || !take_u64(b, &out->period) || !take_u64(b, &n))
        return false;
    if (n > b->n / sizeof(uint64_t) || !skip(b, n * sizeof(uint64_t), &out->chain))
        return false;
    out->n_chain = n;
    return !n_regs || state_read(b, n_regs, out);
}

/* A text that ends with 0 before the rest ends. */
static bool text_read(const bytes *b, as_perf_record *out)
{
    out->text = (const char *)b->at;
    return memchr(b->at, 0, b->n) != NULL;
}

static bool mapping_read(bytes *b, as_perf_record *out)
{
    /* device, inode and protection */
    return take_u32(b, &out->pid) && take_u32(b, &out->tid) && take_u64(b, &out->start) && take_u64(b, &out->length) &&
           take_u64(b, &out->offset) && skip(b, 32, NULL) && text_read(b, out);
}

bool as_perf_read(const uint8_t *data, size_t n, size_t n_regs, as_perf_record *out)
{
    struct perf_event_header head;
    bytes                    b = {data, n};
    *out = (as_perf_record){0};
    if (!take(&b, &head, sizeof head) || head.size != n)
        return false;
    out->type = head.type;
    out->misc = head.misc;
    if (head.type == PERF_RECORD_SAMPLE)
        return sample_read(&b, n_regs, out);
    /* The others end with who, when and by which event. */
    enum { TAIL = 24 };
    if (b.n < TAIL)
        return false;
    bytes tail = {b.at + b.n - TAIL, TAIL};
    take_u32(&tail, &out->pid);
    take_u32(&tail, &out->tid);
    take_u64(&tail, &out->time);
    take_u64(&tail, &out->id);
    b.n -= TAIL;
    switch (head.type) {
    case PERF_RECORD_MMAP2: return mapping_read(&b, out);
    case PERF_RECORD_COMM: return take_u32(&b, &out->pid) && take_u32(&b, &out->tid) && text_read(&b, out);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return take_u32(&b, &out->pid) && take_u32(&b, &out->parent_pid) && take_u32(&b, &out->tid) &&
               take_u32(&b, &out->parent_tid);
    case PERF_RECORD_LOST: return skip(&b, 8, NULL) && take_u64(&b, &out->lost);
    case PERF_RECORD_LOST_SAMPLES: return take_u64(&b, &out->lost);
    default: return true;
    }
}
