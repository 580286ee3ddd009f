/* rc_perf.c - stacks by the kernel's own sampler: a timer per thread that counts only while the thread has a CPU (cpu-clock), which needs no
 * counter of the processor. */
/* os: linux */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "record/perf_read.h"
#include "record/threads.h"

#if defined(__x86_64__)
#include <asm/perf_regs.h>
enum { N_REGS = 3 };
static const uint64_t regs_mask = 1u << PERF_REG_X86_BP | 1u << PERF_REG_X86_SP | 1u << PERF_REG_X86_IP; /* in this order */
#elif defined(__aarch64__)
#include <asm/perf_regs.h>
enum { N_REGS = 4 };
static const uint64_t regs_mask =
    1ull << PERF_REG_ARM64_X29 | 1ull << PERF_REG_ARM64_LR | 1ull << PERF_REG_ARM64_SP | 1ull << PERF_REG_ARM64_PC;
#else
enum { N_REGS = 0 };
static const uint64_t regs_mask = 0;
#endif

enum {
    PAGE_BYTES_MOST = 1 << 16,
    RING_BYTES = 512 << 10,     /* per CPU; what the system lets every user lock */
    RING_BYTES_DWARF = 4 << 20, /* copies of stacks are large */
    RING_BYTES_LEAST = 32 << 10,
    STACK_BYTES = 16 << 10, /* of each thread's stack that is copied */
    MAX_CHAIN = 512,
    OUTS_PER_LOOK = 8,
    MOST_OUTS = 20000,
    SLICE_NS = 20000000,
    LATE_NS = 50000000 /* a record may be in its ring so much later than its time says */
};

typedef struct ring {
    int                          fd;
    struct perf_event_mmap_page *page;
    size_t                       bytes; /* of data */
} ring;

/* A record that waits for its turn: rings of several CPUs are read in the order of time. */
typedef struct pending {
    uint64_t time;
    size_t   at;
    uint32_t bytes, order;
} pending;

typedef struct perf {
    ring      *rings;
    int       *fds;
    size_t     n_rings, n_fds, cap_fds;
    uint64_t  *switch_ids; /* events whose samples are stacks of threads that lose their CPU */
    size_t     n_switch_ids, cap_switch_ids;
    bool       has_kernel, by_dwarf;
    uint8_t   *data;
    size_t     n_data, cap_data;
    pending   *waiting;
    size_t     n_waiting, cap_waiting;
    as_threads threads;
    uint64_t   n_whole, n_cut; /* looks whose stack reaches the first function of its thread, and others */
    uint64_t   n_bad, n_throttled;
    uint64_t   last_ns;
} perf;

static bool grow(void **items, size_t *cap, size_t n, size_t each)
{
    if (n <= *cap)
        return true;
    size_t want = *cap ? 2 * *cap : 64;
    want = want < n ? n : want;
    void *moved = realloc(*items, want * each);
    if (!moved)
        return false;
    *items = moved;
    *cap = want;
    return true;
}

/* --- Events -------------------------------------------------------------------------------------------------- */

static struct perf_event_attr attr_make(uint64_t config, const as_record_settings *s, bool has_kernel, bool by_dwarf)
{
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = config};
    a.sample_period = (uint64_t)(1e9 / s->rate);
    a.sample_type = AS_PERF_SAMPLE;
    a.sample_id_all = 1;
    a.disabled = 1;
    a.inherit = 1;
    a.exclude_kernel = !has_kernel;
    a.exclude_hv = 1;
    a.exclude_callchain_kernel = !has_kernel;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    a.watermark = 1;
    a.enable_on_exec = s->argv != NULL;
    if (by_dwarf) {
        a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        a.sample_regs_user = regs_mask;
        a.sample_stack_user = STACK_BYTES;
        a.exclude_callchain_user = 1;
    }
    return a;
}

static int event_open(const struct perf_event_attr *a, pid_t pid, int cpu)
{
    struct perf_event_attr copy = *a;
    return (int)syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Which of the causes it is, and what can be done. */
static void refusal_say(int error, char why[AS_RECORD_WHY])
{
    char    text[4096], *seccomp;
    int64_t paranoid = 0;
    bool    has_level = as_file_small("/proc/sys/kernel/perf_event_paranoid", text, sizeof text) && as_parse_i64(text, &paranoid);
    bool    is_filtered = as_file_small("/proc/self/status", text, sizeof text) && (seccomp = strstr(text, "\nSeccomp:")) &&
                       strtol(seccomp + 9, NULL, 10) == 2;
    if (error == ENOSYS || !has_level)
        snprintf(why, AS_RECORD_WHY, "this kernel has no perf events%s",
                 is_filtered ? ", or a seccomp filter hides them: start the container with --cap-add PERFMON" : "");
    else if (paranoid > 2)
        snprintf(why, AS_RECORD_WHY,
                 "kernel.perf_event_paranoid is %lld: an administrator can allow it with 'sysctl kernel.perf_event_paranoid=1'",
                 (long long)paranoid);
    else if (is_filtered && (error == EPERM || error == EACCES))
        snprintf(
            why, AS_RECORD_WHY,
            "a seccomp filter forbids perf_event_open: start the container with --cap-add PERFMON or --security-opt seccomp=unconfined");
    else if (error == EPERM || error == EACCES)
        snprintf(why, AS_RECORD_WHY,
                 "perf_event_open is not permitted (kernel.perf_event_paranoid is %lld): give assay CAP_PERFMON",
                 (long long)paranoid);
    else
        snprintf(why, AS_RECORD_WHY, "perf_event_open: %s", strerror(error));
}

/* Opens it and lets it count: there are machines where the first works and the second does not. */
static bool probe(assay_env *env, const as_record_settings *s, char why[AS_RECORD_WHY])
{
    as_record_settings     here = {.rate = s->rate};
    struct perf_event_attr a = attr_make(PERF_COUNT_SW_CPU_CLOCK, &here, false, false);
    uint64_t               count = 0, until;
    (void)env;
    a.inherit = 0;
    int fd = event_open(&a, 0, -1);
    if (fd < 0) {
        refusal_say(errno, why);
        return false;
    }
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    for (until = as_monotonic_ns() + 200000; as_monotonic_ns() < until;)
        ;
    bool ok = read(fd, &count, sizeof count) == (ssize_t)sizeof count && count > 0;
    close(fd);
    if (!ok)
        snprintf(why, AS_RECORD_WHY, "the kernel's cpu-clock event opens, but it counts nothing");
    return ok;
}

static assay_status no_memory(as_recording *r)
{
    return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for what the kernel tells");
}

static bool fd_keep(perf *p, int fd)
{
    if (!grow((void **)&p->fds, &p->cap_fds, p->n_fds + 1, sizeof *p->fds)) {
        close(fd);
        return false;
    }
    p->fds[p->n_fds++] = fd;
    return true;
}

static bool ring_map(ring *g, size_t wanted)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t bytes = wanted; bytes >= RING_BYTES_LEAST; bytes /= 2) { /* less where memory may not be locked */
        void *at = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED, g->fd, 0);
        if (at == MAP_FAILED)
            continue;
        g->page = at;
        g->bytes = bytes;
        return true;
    }
    return false;
}

/* One thread on one CPU: its samples, and if they are available its switches with their stacks.  All go to the ring of that CPU. */
static assay_status thread_follow(as_recording *r, perf *p, pid_t tid, int cpu, ring *g)
{
    struct perf_event_attr a = attr_make(PERF_COUNT_SW_CPU_CLOCK, r->settings, p->has_kernel, p->by_dwarf);
    a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = a.context_switch = 1;
    a.wakeup_watermark = (uint32_t)((p->by_dwarf ? RING_BYTES_DWARF : RING_BYTES) / 4);
    int fd = event_open(&a, tid, cpu);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && p->has_kernel && !p->n_fds) {
        p->has_kernel = false;
        return thread_follow(r, p, tid, cpu, g);
    }
    if (fd < 0 && (errno == ENODEV || errno == ESRCH))
        return ASSAY_OK; /* a CPU that is off, a thread that has ended */
    if (fd < 0) {
        char why[AS_RECORD_WHY];
        int  error = errno;
        refusal_say(error, why);
        if (error == EMFILE)
            snprintf(why, sizeof why, "too many open files: threads times CPUs of this machine need more than 'ulimit -n' allows");
        return as_fail(r->env, ASSAY_DEVICE, "record: process %d: cannot sample thread %d: %s", (int)r->pid, (int)tid, why);
    }
    if (!fd_keep(p, fd))
        return no_memory(r);
    if (g->fd < 0) {
        g->fd = fd;
        if (!ring_map(g, p->by_dwarf ? RING_BYTES_DWARF : RING_BYTES))
            return as_fail(r->env, ASSAY_DEVICE, "record: process %d: no memory may be locked for samples of CPU %d: %s",
                           (int)r->pid, cpu, strerror(errno));
        as_record_wait_on(r, fd);
    } else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, g->fd)) {
        return as_fail(r->env, ASSAY_DEVICE, "record: process %d: samples of CPU %d cannot share a buffer: %s", (int)r->pid, cpu,
                       strerror(errno));
    }
    if (!p->has_kernel)
        return ASSAY_OK; /* a switch happens in the kernel, whose events are forbidden: the last look must do */
    struct perf_event_attr b = attr_make(PERF_COUNT_SW_CONTEXT_SWITCHES, r->settings, true, p->by_dwarf);
    b.freq =
        1; /* a thread that waits rarely has all its stacks, one that waits all the time does not cost much more than being looked at */
    b.sample_freq = (__u64)(r->settings->rate < MOST_OUTS / OUTS_PER_LOOK ? r->settings->rate * OUTS_PER_LOOK : MOST_OUTS);
    uint64_t id;
    fd = event_open(&b, tid, cpu);
    if (fd < 0)
        return ASSAY_OK;
    if (!fd_keep(p, fd) || !grow((void **)&p->switch_ids, &p->cap_switch_ids, p->n_switch_ids + 1, sizeof id))
        return no_memory(r);
    if (!ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, g->fd) && !ioctl(fd, PERF_EVENT_IOC_ID, &id))
        p->switch_ids[p->n_switch_ids++] = id;
    return ASSAY_OK;
}

/* What each thread does when we come: one that sleeps all the time will not be heard of. */
static bool state_read(as_recording *r, perf *p, pid_t tid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)r->pid, (int)tid);
    if (!as_file_small(path, text, sizeof text))
        return true;
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    uint64_t    now = as_monotonic_ns();
    as_thread  *t = as_threads_take(&p->threads, r->pid, tid, now);
    if (!t || !name || !end)
        return t != NULL;
    snprintf(t->name, sizeof t->name, "%.*s", (int)(end - name - 1), name + 1);
    return as_thread_turn(r, &p->threads, t, end[1] && end[2] == 'R' ? AS_THREAD_RUNS : AS_THREAD_WAITS, now);
}

/* The threads that run already; those that they start are followed by inheritance. */
static assay_status threads_list(as_recording *r, pid_t **out, size_t *n)
{
    char   path[64];
    size_t cap = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)r->pid);
    DIR *dir = opendir(path);
    if (!dir)
        return as_fail(r->env, ASSAY_NOT_FOUND, "record: process %d: %s", (int)r->pid, strerror(errno));
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(dir));) {
        int64_t id;
        if (!as_parse_i64(entry->d_name, &id))
            continue;
        ok = grow((void **)out, &cap, *n + 1, sizeof **out);
        if (ok)
            (*out)[(*n)++] = (pid_t)id;
    }
    closedir(dir);
    return ok ? ASSAY_OK : no_memory(r);
}

static void files_allow(void)
{
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static assay_status follow_all(as_recording *r, perf *p, const pid_t *tids, size_t n_tids, size_t n_cpus)
{
    p->rings = calloc(n_cpus, sizeof *p->rings);
    if (!p->rings)
        return no_memory(r);
    for (size_t i = 0; i < n_cpus; i++)
        p->rings[i].fd = -1;
    p->n_rings = n_cpus;
    for (size_t i = 0; i < n_cpus; i++)
        for (size_t j = 0; j < n_tids; j++)
            AS_TRY(thread_follow(r, p, tids[j], (int)i, &p->rings[i]));
    if (!p->n_fds)
        return as_fail(r->env, ASSAY_NOT_FOUND, "record: process %d: it has ended", (int)r->pid);
    for (size_t i = 0; !r->settings->argv && i < p->n_fds; i++)
        ioctl(p->fds[i], PERF_EVENT_IOC_ENABLE, 0);
    return ASSAY_OK;
}

static assay_status start(as_recording *r)
{
    perf  *p = calloc(1, sizeof *p);
    pid_t  child = r->pid, *tids = &child;
    size_t n_tids = 1;
    if (!p)
        return no_memory(r);
    r->state = p;
    p->has_kernel = true;
    p->by_dwarf = r->settings->call_graph == AS_CALL_GRAPH_DWARF && N_REGS > 0;
    files_allow();
    if (!r->settings->argv) {
        tids = NULL;
        n_tids = 0;
        AS_TRY(threads_list(r, &tids, &n_tids));
        as_symbols_maps_of(r->symbols, r->pid);
    }
    assay_status status = follow_all(r, p, tids, n_tids, (size_t)sysconf(_SC_NPROCESSORS_CONF));
    for (size_t i = 0; status == ASSAY_OK && !r->settings->argv && i < n_tids; i++)
        if (!state_read(r, p, tids[i]))
            status = no_memory(r);
    if (tids != &child)
        free(tids);
    r->trace->look_period_ns = 1e9 / r->settings->rate;
    return status;
}

/* --- Records ----------------------------------------------------------------------------------------------------- */

static bool is_switch(const perf *p, uint64_t id)
{
    for (size_t i = 0; i < p->n_switch_ids; i++)
        if (p->switch_ids[i] == id)
            return true;
    return false;
}

/* The addresses without the marks between them that say whose they are; the kernel's come first. */
static size_t chain_read(const as_perf_record *x, uint64_t *out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n_chain && n < max; i++) {
        uint64_t address;
        memcpy(&address, (const char *)x->chain + i * sizeof address, sizeof address);
        if (address < (uint64_t)PERF_CONTEXT_MAX) /* the marks are the highest numbers */
            out[n++] = address;
    }
    return n;
}

static size_t unwind(as_recording *r, const as_perf_record *x, uint64_t *out, size_t max, bool *is_whole)
{
    uint64_t        regs[4] = {0};
    as_thread_state copy = {.stack = x->stack, .n_stack = x->n_stack};
    if (x->n_regs != N_REGS || !x->n_stack || !max)
        return 0;
    memcpy(regs, x->regs, N_REGS * sizeof *regs);
#if defined(__aarch64__)
    copy.fp = regs[0], copy.lr = regs[1], copy.sp = regs[2], copy.ip = regs[3];
#else
    copy.fp = regs[0], copy.sp = regs[1], copy.ip = regs[2];
#endif
    return as_symbols_unwind(r->symbols, (pid_t)x->pid, &copy, out, max, is_whole);
}

/* A thread that loses its CPU is always in the kernel's scheduler: that says nothing, and the function that called the kernel says all.
 * -1: no memory. */
static int stack_make(as_recording *r, perf *p, const as_perf_record *x, bool with_kernel, bool *is_whole)
{
    uint64_t chain[MAX_CHAIN];
    size_t   n = chain_read(x, chain, MAX_CHAIN), first = 0;
    bool     is_end = false, is_root = false;
    if (p->by_dwarf)
        n += unwind(r, x, chain + n, MAX_CHAIN - n,
                    &is_end); /* behind the kernel's; where the thread entered it is the return of a system call */
    while (!with_kernel && first + 1 < n && chain[first] >> 63)
        first++;
    int stack = as_symbols_stack(r->symbols, r->trace, (pid_t)x->pid, chain + first, n - first, true, &is_root);
    *is_whole = is_end || is_root;
    return stack;
}

static bool sample_add(as_recording *r, perf *p, const as_perf_record *x)
{
    bool       is_whole = false;
    as_thread *t = as_threads_take(&p->threads, (pid_t)x->pid, (pid_t)x->tid, x->time);
    bool       is_out = is_switch(p, x->id);
    int        stack = t ? stack_make(r, p, x, !is_out, &is_whole) : -1;
    if (stack < 0)
        return false;
    if (is_out) {
        t->out = stack;
        return true;
    }
    t->seen = stack;
    p->n_whole += is_whole;
    p->n_cut += !is_whole;
    uint64_t start_ns = r->trace->start_ticks;
    int      lane = as_thread_lane(r, t);
    return as_thread_turn(r, &p->threads, t, AS_THREAD_RUNS, x->time) && lane >= 0 &&
           as_trace_add_look(r->trace, &(as_stack_sample){.ticks = x->time > start_ns ? x->time - start_ns : 0,
                                                          .weight_ns = x->period,
                                                          .stack = (uint32_t)stack,
                                                          .lane = (uint16_t)lane,
                                                          .state = AS_STACK_ON_CPU});
}

static bool thread_add(as_recording *r, perf *p, const as_perf_record *x)
{
    const as_thread *parent = as_threads_find(&p->threads, (pid_t)x->parent_tid);
    as_thread       *t = as_threads_take(&p->threads, (pid_t)x->pid, (pid_t)x->tid, x->time);
    if (!t)
        return false;
    if (parent)
        memcpy(t->name, parent->name, sizeof t->name);
    t->lane = t->seen = t->out = -1;
    if (x->pid != x->parent_pid)
        as_symbols_fork(r->symbols, (pid_t)x->parent_pid, (pid_t)x->pid);
    return as_thread_turn(r, &p->threads, t, AS_THREAD_QUEUES, x->time);
}

static bool name_set(as_recording *r, perf *p, const as_perf_record *x)
{
    as_thread *t = as_threads_take(&p->threads, (pid_t)x->pid, (pid_t)x->tid, x->time);
    if (!t)
        return false;
    snprintf(t->name, sizeof t->name, "%s", x->text);
    if (x->misc & PERF_RECORD_MISC_COMM_EXEC) {
        as_symbols_exec(r->symbols, (pid_t)x->pid);
        t->lane = t->seen = t->out = -1; /* another program, and so another lane */
    }
    return true;
}

static bool record_take(as_recording *r, perf *p, const as_perf_record *x)
{
    as_thread *t;
    switch (x->type) {
    case PERF_RECORD_SAMPLE: return sample_add(r, p, x);
    case PERF_RECORD_MMAP2: return as_symbols_map(r->symbols, (pid_t)x->pid, x->start, x->start + x->length, x->offset, x->text);
    case PERF_RECORD_COMM: return name_set(r, p, x);
    case PERF_RECORD_FORK: return thread_add(r, p, x);
    case PERF_RECORD_EXIT:
        t = as_threads_find(&p->threads, (pid_t)x->tid);
        return !t || as_thread_turn(r, &p->threads, t, AS_THREAD_ENDED, x->time);
    case PERF_RECORD_SWITCH:
        t = as_threads_find(&p->threads, (pid_t)x->tid);
        if (t && t->now == AS_THREAD_ENDED)
            return true; /* its last one */
        t = as_threads_take(&p->threads, (pid_t)x->pid, (pid_t)x->tid, x->time);
        return t && as_thread_turn(r, &p->threads, t,
                                   !(x->misc & PERF_RECORD_MISC_SWITCH_OUT)        ? AS_THREAD_RUNS
                                   : x->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? AS_THREAD_QUEUES
                                                                                   : AS_THREAD_WAITS,
                                   x->time);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES: r->trace->looks_lost += x->lost; return true;
    case PERF_RECORD_THROTTLE: p->n_throttled++; return true;
    default: return true;
    }
}

/* --- Rings ----------------------------------------------------------------------------------------------------- */

static void ring_copy(const ring *g, uint64_t at, void *out, size_t n)
{
    const uint8_t *data = (const uint8_t *)g->page + g->page->data_offset;
    size_t         from = at & (g->bytes - 1), whole = g->bytes - from < n ? g->bytes - from : n;
    memcpy(out, data + from, whole);
    memcpy((uint8_t *)out + whole, data, n - whole);
}

/* Everything that is in it, copied, so that the kernel has its room back. */
static bool ring_drain(perf *p, const ring *g)
{
    uint64_t head = __atomic_load_n(&g->page->data_head, __ATOMIC_ACQUIRE), tail = g->page->data_tail;
    bool     ok = true;
    while (ok && head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header h;
        as_perf_record           x;
        ring_copy(g, tail, &h, sizeof h);
        if (h.size < sizeof h || h.size > head - tail)
            break; /* never seen; nothing behind it can be found */
        ok = grow((void **)&p->data, &p->cap_data, p->n_data + h.size, 1) &&
             grow((void **)&p->waiting, &p->cap_waiting, p->n_waiting + 1, sizeof *p->waiting);
        if (!ok)
            break;
        ring_copy(g, tail, p->data + p->n_data, h.size);
        if (as_perf_read(p->data + p->n_data, h.size, p->by_dwarf ? N_REGS : 0, &x)) {
            p->waiting[p->n_waiting] = (pending){x.time, p->n_data, h.size, (uint32_t)p->n_waiting};
            p->n_waiting++;
            p->n_data += h.size;
        } else {
            p->n_bad++;
        }
        tail += h.size;
    }
    __atomic_store_n(&g->page->data_tail, ok ? tail : g->page->data_tail, __ATOMIC_RELEASE);
    return ok;
}

static int by_time(const void *a, const void *b)
{
    const pending *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Takes what is older than `until_ns`, in the order of time, and keeps the rest: another CPU may still bring something older.  Stops after
 * SLICE_NS, with *is_done false: names of a large library take a while to be found, and the rings must not run over meanwhile. */
static bool pending_take(as_recording *r, perf *p, uint64_t until_ns, bool *is_done)
{
    bool     ok = true;
    size_t   n = 0, kept = 0, i = 0;
    uint64_t stop_ns = as_monotonic_ns() + SLICE_NS;
    *is_done = true;
    if (p->n_waiting)
        qsort(p->waiting, p->n_waiting, sizeof *p->waiting, by_time);
    for (; ok && *is_done && i < p->n_waiting && p->waiting[i].time <= until_ns; i++) {
        as_perf_record x;
        if (as_perf_read(p->data + p->waiting[i].at, p->waiting[i].bytes, p->by_dwarf ? N_REGS : 0, &x))
            ok = record_take(r, p, &x);
        p->last_ns = p->waiting[i].time;
        *is_done = as_monotonic_ns() < stop_ns;
    }
    if (i == p->n_waiting) {
        p->n_data = p->n_waiting = 0;
        return ok;
    }
    uint8_t *rest = malloc(p->n_data);
    if (!rest)
        return false;
    for (; i < p->n_waiting; i++) {
        pending w = p->waiting[i];
        memcpy(rest + kept, p->data + w.at, w.bytes);
        p->waiting[n] = (pending){w.time, kept, w.bytes, (uint32_t)n};
        kept += w.bytes;
        n++;
    }
    free(p->data);
    p->data = rest;
    p->cap_data = p->n_data;
    p->n_data = kept;
    p->n_waiting = n;
    return ok;
}

static assay_status drain(as_recording *r, bool at_end)
{
    perf    *p = r->state;
    uint64_t now = as_monotonic_ns();
    bool     ok = true, is_done = false;
    while (ok && !is_done) {
        for (size_t i = 0; ok && i < p->n_rings; i++)
            if (p->rings[i].page)
                ok = ring_drain(p, &p->rings[i]);
        ok = ok && pending_take(r, p, at_end ? UINT64_MAX : now - LATE_NS, &is_done);
    }
    ok = ok && as_threads_flush(r, &p->threads, at_end ? now : p->last_ns, at_end);
    return ok ? ASSAY_OK : no_memory(r);
}

static assay_status poll_rings(as_recording *r) { return drain(r, false); }

static bool metric_add(as_recording *r, const char *name, const char *unit, double value)
{
    return as_trace_add_metric(r->trace, &(as_trace_metric){.name = name, .unit = unit, .value = value});
}

static assay_status stop(as_recording *r)
{
    perf *p = r->state;
    if (!p)
        return ASSAY_OK;
    for (size_t i = 0; i < p->n_fds; i++)
        ioctl(p->fds[i], PERF_EVENT_IOC_DISABLE, 0);
    assay_status status = drain(r, true);
    if (status == ASSAY_OK &&
        !(metric_add(r, AS_RECORD_KERNEL, "1", p->has_kernel) && metric_add(r, AS_RECORD_OFF_CPU, "1", 1) &&
          metric_add(r, AS_RECORD_TABLES, "1", p->by_dwarf) && metric_add(r, AS_RECORD_BUSY, "ns", (double)p->threads.busy_ns) &&
          metric_add(r, AS_RECORD_STARVED, "ns", (double)p->threads.starved_ns) &&
          metric_add(r, AS_RECORD_ASLEEP, "ns", (double)p->threads.asleep_ns) &&
          metric_add(r, AS_RECORD_QUEUED, "ns", (double)p->threads.queued_ns) &&
          metric_add(r, AS_RECORD_WHOLE, "look", (double)p->n_whole) && metric_add(r, AS_RECORD_CUT, "look", (double)p->n_cut) &&
          metric_add(r, AS_RECORD_THROTTLED, "1", (double)p->n_throttled)))
        status = no_memory(r);
    for (size_t i = 0; i < p->n_rings; i++)
        if (p->rings[i].page)
            munmap(p->rings[i].page, p->rings[i].bytes + (size_t)sysconf(_SC_PAGESIZE));
    for (size_t i = 0; i < p->n_fds; i++)
        close(p->fds[i]);
    as_threads_drop(&p->threads);
    free(p->rings);
    free(p->fds);
    free(p->switch_ids);
    free(p->data);
    free(p->waiting);
    free(p);
    r->state = NULL;
    return status;
}

const as_record_kind as_rc_perf = {.name = "perf",
                                   .gives = AS_RECORD_STACKS,
                                   .rank = 20,
                                   .attaches = true,
                                   .probe = probe,
                                   .start = start,
                                   .poll = poll_rings,
                                   .stop = stop};
