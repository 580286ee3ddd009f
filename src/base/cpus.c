/* cpus.c - affinity. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

static int cpus_online(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static size_t l2_read(void)
{
#if defined(__APPLE__)
    uint64_t bytes = 0;
    size_t   size = sizeof bytes;
    return sysctlbyname("hw.perflevel0.l2cachesize", &bytes, &size, NULL, 0) &&
                   sysctlbyname("hw.l2cachesize", &bytes, &size, NULL, 0)
               ? 0
               : (size_t)bytes;
#elif defined(_SC_LEVEL2_CACHE_SIZE)
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (bytes > 0)
        return (size_t)bytes;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index2/size", "r"); /* where sysconf() does not know the CPU: Arm */
    unsigned long kib = 0;
    char          unit = 0;
    bool          read = file && fscanf(file, "%lu%c", &kib, &unit) == 2 && unit == 'K' && kib < 1u << 20;
    if (file)
        fclose(file);
    return read ? (size_t)kib * 1024 : 0;
#else
    return 0;
#endif
}

size_t as_cpu_l2_bytes(void)
{
    static _Atomic size_t known; /* bytes + 1 */
    size_t                bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (!bytes)
        atomic_store_explicit(&known, bytes = l2_read() + 1, memory_order_relaxed);
    return bytes - 1;
}

void as_places_init(as_places *p)
{
    p->on = false;
    p->home = -1;
    atomic_init(&p->n_pinned, 0);
}

#if defined(__linux__)

_Static_assert(sizeof(cpu_set_t) <= AS_CPU_SET_BYTES, "the set of CPUs fits");

static _Thread_local as_places *mine; /* of a worker: its own set is only its part of what it may use */

static bool allowed_get(cpu_set_t *set)
{
    if (!mine || !mine->on)
        return !sched_getaffinity(0, sizeof *set, set);
    memcpy(set, mine->allowed, sizeof *set);
    return true;
}

int as_cpu_count(void)
{
    cpu_set_t set;
    return allowed_get(&set) ? CPU_COUNT(&set) : cpus_online(); /* more CPUs than the set can hold */
}

static void pinned_count(int change)
{
    if (mine)
        atomic_fetch_add_explicit(&mine->n_pinned, change, memory_order_relaxed);
}

int as_cpu_self(void)
{
    cpu_set_t allowed;
    int       self = sched_getcpu(), index = 0;
    if (self < 0 || sched_getaffinity(0, sizeof allowed, &allowed))
        return 0;
    for (int cpu = 0; cpu < self; cpu++)
        index += CPU_ISSET((size_t)cpu, &allowed) != 0;
    return index;
}

bool as_pin_self(as_pin *pin, int index, char *why, size_t why_size)
{
    cpu_set_t allowed, now, one;
    pin->done = false;
    if (!allowed_get(&allowed) || sched_getaffinity(0, sizeof now, &now)) {
        snprintf(why, why_size, "the CPUs that may be used cannot be listed");
        return false;
    }
    memcpy(pin->saved, &now, sizeof now);
    CPU_ZERO(&one);
    int left = index;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && index >= 0; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || left--)
            continue;
        CPU_SET(cpu, &one);
        pin->done = !sched_setaffinity(0, sizeof one, &one);
        if (pin->done)
            pinned_count(1);
        else
            snprintf(why, why_size, "the system does not allow CPU %zu", cpu);
        return pin->done;
    }
    snprintf(why, why_size, "CPU number %d is not among the %d that may be used", index, CPU_COUNT(&allowed));
    return false;
}

void as_pin_undo(as_pin *pin)
{
    cpu_set_t set;
    if (!pin->done)
        return;
    memcpy(&set, pin->saved, sizeof set);
    sched_setaffinity(0, sizeof set, &set);
    pinned_count(-1);
    pin->done = false;
}

void as_places_join(as_places *p) { mine = p; }

bool as_places_stale(const as_places *p) { return sched_getcpu() != p->home; }

bool as_places_look(as_places *p, int n_threads)
{
    cpu_set_t set;
    int       cpu = sched_getcpu();
    if (atomic_load_explicit(&p->n_pinned, memory_order_relaxed))
        return false;
    p->home = cpu;
    if (cpu < 0 || sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) < n_threads)
        return false;
    memcpy(p->allowed, &set, sizeof set);
    return p->on = true;
}

void as_places_move(const as_places *p, pthread_t worker, int part, int n_threads)
{
    cpu_set_t allowed, its;
    int       i = 0;
    memcpy(&allowed, p->allowed, sizeof allowed);
    CPU_ZERO(&its);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &allowed) && cpu != p->home && as_place_has(i++, part, n_threads))
            CPU_SET((size_t)cpu, &its);
    pthread_setaffinity_np(worker, sizeof its, &its); /* only a preference: where it is refused, the worker stays where it is */
}

#else

int as_cpu_count(void) { return cpus_online(); }

int as_cpu_self(void) { return 0; }

bool as_pin_self(as_pin *pin, int index, char *why, size_t why_size)
{
    pin->done = false;
    snprintf(why, why_size, "this system cannot pin a thread to CPU number %d", index);
    return false;
}

void as_pin_undo(as_pin *pin) { pin->done = false; }

void as_places_join(as_places *p) { (void)p; }

bool as_places_stale(const as_places *p)
{
    (void)p;
    return false;
}

bool as_places_look(as_places *p, int n_threads)
{
    (void)p, (void)n_threads;
    return false;
}

void as_places_move(const as_places *p, pthread_t worker, int part, int n_threads)
{
    (void)p, (void)worker, (void)part, (void)n_threads;
}

#endif
