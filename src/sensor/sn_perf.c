/* sn_perf.c - hardware counters of this process in user space: instructions, cycles, cache misses. */
/* os: linux */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

enum { N_EVENTS = 5, MAX_THREADS = 64, LOOPS = 1000000, INSTRUCTIONS_PER_LOOP = 2 };

#define L1D_READ(result) \
    (PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 | (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct {
    uint32_t    type;
    uint64_t    config;
    const char *replay; /* of a recording: a file of readings, one per line */
} events[N_EVENTS] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "/perf/instructions"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "/perf/cycles"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "/perf/cache-misses"},
    {PERF_TYPE_HW_CACHE, L1D_READ(ACCESS), "/perf/L1-dcache-loads"},
    {PERF_TYPE_HW_CACHE, L1D_READ(MISS), "/perf/L1-dcache-load-misses"},
};

/* One event per thread and kind: existing threads are counted one by one, those that they start by inheritance. */
typedef struct perf {
    int      fds[N_EVENTS][MAX_THREADS], n_threads;
    unsigned n_reads; /* of a recording */
} perf;

/* ASSAY_WITHOUT takes away the counters, as in a virtual machine, or the right to use them. */
static int event_open(int event, pid_t thread, bool inherit)
{
    if (as_without("pmu") || as_without("perf")) {
        errno = as_without("pmu") ? ENOENT : EACCES;
        return -1;
    }
    struct perf_event_attr attr = {.type = events[event].type, .size = sizeof attr, .config = events[event].config};
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    attr.inherit = inherit;
    attr.disabled = !inherit;
    return (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* False also when the event had to share its counter with others: a scaled count would be a guess. */
static bool event_read(int fd, uint64_t *out)
{
    uint64_t count_enabled_running[3];
    if (read(fd, count_enabled_running, sizeof count_enabled_running) != (ssize_t)sizeof count_enabled_running ||
        count_enabled_running[2] < count_enabled_running[1])
        return false;
    *out = count_enabled_running[0];
    return true;
}

#if defined(__x86_64__)
#define LOOP "1: dec %0\n\tjnz 1b"
#elif defined(__aarch64__)
#define LOOP "1: subs %0, %0, #1\n\tb.ne 1b"
#endif

/* Counts a loop of known length: emulated and badly virtualised counters can be opened but give wrong counts. */
static bool probe(int event, char *why, size_t size)
{
    int fd = event_open(event, 0, false);
    if (fd < 0) {
        int64_t paranoid = -9;
        int     error = errno;
        if (as_without("perf"))
            paranoid = 3;
        else
            as_perf_paranoid(&paranoid);
        as_perf_refusal(error, paranoid, why, size);
        return false;
    }
#ifdef LOOP
    uint64_t expected = (uint64_t)LOOPS * INSTRUCTIONS_PER_LOOP, counted = 0, n = LOOPS;
    bool     ok = !ioctl(fd, PERF_EVENT_IOC_RESET, 0) && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    __asm__ volatile(LOOP : "+r"(n) : : "cc");
    ok = !ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) && event_read(fd, &counted) && ok;
    if (!ok)
        snprintf(why, size, "the counter opens, but it cannot be read or has to be shared");
    else if (events[event].config == PERF_COUNT_HW_INSTRUCTIONS && events[event].type == PERF_TYPE_HARDWARE) {
        ok = as_perf_count_ok(counted, expected);
        snprintf(why, size, "counted %llu of %llu instructions%s", (unsigned long long)counted, (unsigned long long)expected,
                 ok ? "" : ": the counter is wrong by more than 5 %");
    } else if (events[event].config == PERF_COUNT_HW_CPU_CYCLES && events[event].type == PERF_TYPE_HARDWARE && !counted) {
        ok = false;
        snprintf(why, size, "counted no cycle in %llu instructions", (unsigned long long)expected);
    }
#else
    bool ok = false;
    snprintf(why, size, "there is no loop of known length for this kind of CPU to test the counter with");
#endif
    close(fd);
    return ok;
}

/* The threads of this process; -1 when there are more than can be counted. */
static int threads_list(pid_t *threads)
{
    DIR *dir = opendir("/proc/self/task");
    int  n = 0;
    if (!dir)
        return -1;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int64_t id;
        if (!as_parse_i64(entry->d_name, &id))
            continue;
        if (n == MAX_THREADS) {
            n = -1;
            break;
        }
        threads[n++] = (pid_t)id;
    }
    closedir(dir);
    return n;
}

static void event_close(perf *p, int event)
{
    for (int i = 0; i < p->n_threads; i++) {
        if (p->fds[event][i] >= 0)
            close(p->fds[event][i]);
        p->fds[event][i] = -1;
    }
}

static bool event_follow(perf *p, int event, const pid_t *threads, char *why, size_t size)
{
    for (int i = 0; i < p->n_threads; i++) {
        p->fds[event][i] = event_open(event, threads[i], true);
        if (p->fds[event][i] >= 0 || errno == ESRCH) /* a thread that has ended since then counts nothing */
            continue;
        snprintf(why, size, "cannot follow thread %d of %d: perf_event_open: %s", i + 1, p->n_threads, strerror(errno));
        event_close(p, event);
        return false;
    }
    return true;
}

/* The n-th recorded reading of an event, or the last. */
static bool replay_read(int event, unsigned n, uint64_t *out)
{
    char  text[4096], path[1024];
    char *line = text;
    if (!as_file_small(as_system_path("pmu", events[event].replay, path, sizeof path), text, sizeof text))
        return false;
    for (char *next; n && (next = strchr(line, '\n')); n--)
        line = next + 1;
    line[strcspn(line, "\n")] = '\0';
    return as_perf_reading(line, out);
}

static bool replay_open(perf *p, bool *available, char (*why)[256])
{
    bool any = false;
    for (int i = 0; i < N_EVENTS; i++) {
        uint64_t count;
        available[i] = replay_read(i, 0, &count);
        any = any || available[i];
        if (!available[i])
            snprintf(why[i], sizeof why[i], "the recording has no readings in %s, or they were of a shared counter",
                     events[i].replay);
    }
    p->n_reads = 0;
    return any;
}

static bool open_perf(void *state, bool *available, char (*why)[256])
{
    perf *p = state;
    if (as_replays())
        return replay_open(p, available, why);
    pid_t threads[MAX_THREADS];
    bool  any = false;
    memset(p->fds, -1, sizeof p->fds);
    int n = threads_list(threads);
    for (int i = 0; i < N_EVENTS; i++) {
        available[i] = probe(i, why[i], sizeof why[i]);
        if (available[i] && n < 0) {
            available[i] = false;
            snprintf(why[i], sizeof why[i], "/proc/self/task cannot be listed, or has more than %d threads", MAX_THREADS);
        }
        if (!available[i])
            continue;
        p->n_threads = n;
        available[i] = event_follow(p, i, threads, why[i], sizeof why[i]);
        any = any || available[i];
    }
    return any;
}

static void read_perf(void *state, double *values)
{
    perf *p = state;
    for (int i = 0; i < N_EVENTS; i++) {
        uint64_t sum = 0, count;
        if (as_replays()) {
            values[i] = replay_read(i, p->n_reads, &count) ? (double)count : (double)NAN;
            continue;
        }
        values[i] = 0;
        for (int j = 0; j < p->n_threads; j++) {
            if (p->fds[i][j] < 0)
                continue;
            if (!event_read(p->fds[i][j], &count)) {
                values[i] = NAN;
                break;
            }
            sum += count;
        }
        if (!isnan(values[i]))
            values[i] = (double)sum;
    }
    p->n_reads++;
}

static void close_perf(void *state)
{
    for (int i = 0; i < N_EVENTS && !as_replays(); i++)
        event_close(state, i);
}

const as_sensor as_sn_perf = {
    .name = "perf",
    .help = "hardware counters of this process in user space",
    .values = {{"instructions", "1", "perf_event_open(PERF_COUNT_HW_INSTRUCTIONS), user space, all threads", "delta"},
               {"cycles", "1", "perf_event_open(PERF_COUNT_HW_CPU_CYCLES), user space, all threads", "delta"},
               {"cache.misses", "1", "perf_event_open(PERF_COUNT_HW_CACHE_MISSES), user space, all threads", "delta"},
               {"cache.loads", "1", "perf_event_open(L1-dcache-loads), user space, all threads", "delta"},
               {"cache.l1.misses", "1", "perf_event_open(L1-dcache-load-misses), user space, all threads", "delta"}},
    .n_values = N_EVENTS,
    .state_bytes = sizeof(perf),
    .open = open_perf,
    .read = read_perf,
    .close = close_perf,
};
