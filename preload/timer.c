/* timer.c - looks at each thread by a timer of its own, which runs while the thread is on a CPU.
 *
 * For systems that forbid perf_event_open.  CLOCK_THREAD_CPUTIME_ID and not the monotonic clock: its signal only comes while
 * the thread runs, so that no call of the program that waits (poll, nanosleep) is interrupted.  The price: the system looks at such timers
 * at its own ticks, 250 times per second on most machines, however short the period.  Each look carries the CPU time since the one before,
 * so that shares stay right. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/preload.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { TIMER_SIGNAL = SIGPROF };

static __thread struct {
    as_share_ring *ring; /* NULL: this thread is not looked at */
    uint64_t       cpu_ns, stack_end;
    timer_t        timer;
} thread;
static int is_on;
static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static as_pl_place place_of(const ucontext_t *c)
{
#if defined(__x86_64__)
    return (as_pl_place){.pc = (uint64_t)c->uc_mcontext.gregs[REG_RIP],
                         .sp = (uint64_t)c->uc_mcontext.gregs[REG_RSP],
                         .fp = (uint64_t)c->uc_mcontext.gregs[REG_RBP]};
#else
    return (as_pl_place){
        .pc = c->uc_mcontext.pc, .sp = c->uc_mcontext.sp, .fp = c->uc_mcontext.regs[29], .lr = c->uc_mcontext.regs[30]};
#endif
}

/* Async-signal-safe: no lock that is waited for, no memory taken, errno kept. */
static void look(int number, siginfo_t *info, void *context)
{
    (void)number;
    as_share_ring *ring = thread.ring;
    if (!ring || !info || info->si_code != SI_TIMER)
        return;
    int      kept = errno;
    uint64_t stack[AS_SHARE_MAX_DEPTH], now = cpu_ns(), weight = now - thread.cpu_ns;
    bool     is_cut;
    thread.cpu_ns = now;
    unsigned n = as_pl_walk(place_of(context), true, thread.stack_end, stack, AS_SHARE_MAX_DEPTH, NULL, &is_cut);
    uint64_t head = ring->head, at = head % AS_SHARE_RING_WORDS, need = 3 + n;
    uint64_t skip = at + need > AS_SHARE_RING_WORDS ? AS_SHARE_RING_WORDS - at : 0;
    if (head + skip + need - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > AS_SHARE_RING_WORDS)
        ring->dropped++;
    else {
        if (skip) {
            ring->words[at] = 0;
            at = 0;
        }
        ring->words[at] = (uint64_t)n << 1 | 1;
        ring->words[at + 1] = weight;
        ring->words[at + 2] = as_pl_monotonic_ns();
        memcpy(&ring->words[at + 3], stack, n * sizeof *stack);
        __atomic_store_n(&ring->head, head + skip + need, __ATOMIC_RELEASE);
    }
    errno = kept;
}

/* Rings of threads that have ended are used again, once assay has read all of them. */
static as_share_ring *ring_take(void)
{
    as_share_ring *all = as_pl_part(AS_SHARE_RINGS);
    uint32_t       n = __atomic_load_n(&as_pl_process->n_rings, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n && i < AS_SHARE_MAX_THREADS; i++) {
        uint32_t is_taken = 0;
        if (all[i].head == __atomic_load_n(&all[i].tail, __ATOMIC_ACQUIRE) &&
            __atomic_compare_exchange_n(&all[i].is_taken, &is_taken, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return &all[i];
    }
    n = __atomic_fetch_add(&as_pl_process->n_rings, 1, __ATOMIC_ACQ_REL);
    if (n >= AS_SHARE_MAX_THREADS) {
        as_pl_process->is_full = 1;
        return NULL;
    }
    all[n].is_taken = 1;
    return &all[n];
}

static void thread_begin(void)
{
    as_share_ring *ring = ring_take();
    if (!ring)
        return;
    pid_t           tid = (pid_t)syscall(SYS_gettid);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TIMER_SIGNAL};
    event.sigev_notify_thread_id = tid;
    ring->tid = (uint32_t)tid;
    thread.stack_end = as_pl_stack_end();
    thread.cpu_ns = cpu_ns();
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &thread.timer)) {
        __atomic_store_n(&ring->is_taken, 0, __ATOMIC_RELEASE);
        return;
    }
    thread.ring = ring;
    struct timespec   period = {.tv_sec = (time_t)(as_pl_head->period_ns / 1000000000u),
                                .tv_nsec = (long)(as_pl_head->period_ns % 1000000000u)};
    struct itimerspec every = {.it_interval = period, .it_value = period};
    timer_settime(thread.timer, 0, &every, NULL);
}

static void thread_end(void *unused)
{
    (void)unused;
    as_share_ring *ring = thread.ring;
    if (!ring)
        return;
    timer_delete(thread.timer);
    thread.ring = NULL;
    __atomic_store_n(&ring->is_taken, 0, __ATOMIC_RELEASE);
}

typedef struct errand {
    void *(*run)(void *);
    void *arg;
} errand;

static void *thread_run(void *arg)
{
    errand e = *(errand *)arg;
    free(arg);
    void *result;
    thread_begin();
    pthread_cleanup_push(thread_end, NULL);
    result = e.run(e.arg);
    pthread_cleanup_pop(1);
    return result;
}

static void look_up(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

EXPORT int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    if (!real_create)
        look_up(&real_create, "pthread_create");
    errand *e = is_on ? malloc(sizeof *e) : NULL;
    if (!e)
        return real_create(out, attr, run, arg);
    *e = (errand){run, arg};
    int failed = real_create(out, attr, thread_run, e);
    if (failed)
        free(e);
    return failed;
}

/* The program wants our signal: it gets it, and we say that looks end there. */
EXPORT int sigaction(int number, const struct sigaction *act, struct sigaction *old)
{
    if (!real_sigaction)
        look_up(&real_sigaction, "sigaction");
    if (is_on && number == TIMER_SIGNAL && act && as_pl_process)
        as_pl_process->signal_taken = 1;
    return real_sigaction(number, act, old);
}
EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    static __sighandler_t (*real)(int, __sighandler_t);
    if (!real)
        look_up(&real, "signal");
    if (is_on && number == TIMER_SIGNAL && as_pl_process)
        as_pl_process->signal_taken = 1;
    return real(number, handler);
}

static void in_child(void) /* timers do not pass to children of fork() */
{
    thread.ring = NULL;
    int kept = errno;
    if (as_pl_share_open(true))
        thread_begin();
    errno = kept;
}

void as_pl_timer_begin(void)
{
    if (!real_sigaction)
        look_up(&real_sigaction, "sigaction");
    struct sigaction act = {.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK};
    act.sa_sigaction = look;
    sigfillset(&act.sa_mask);
    if (real_sigaction(TIMER_SIGNAL, &act, NULL))
        return;
    is_on = 1;
    pthread_atfork(NULL, NULL, in_child);
    thread_begin();
}
