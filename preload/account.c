/* account.c - malloc and its family: what each place in the code asks for, has now, and had at the peak.
 *
 * The counts are exact whatever the volume: every call is added to the totals of its site under one lock, and the blocks that are in
 * use are in a table by address.  What every site had at the peak costs nothing extra to know: a peak has a number, and a site that is
 * about to change for the first time after a peak first saves what it had then.  Only the log of single events ends, after max_events.
 *
 * One lock and not one per thread: the peak is a moment of the whole process, and its owners add up to it only if there is one order
 * of events.  The walk through the stack, which costs most, is outside of it. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/preload.h"

__thread int as_pl_inside;
static __thread struct {
    void    *last; /* that this thread allocated and has not freed, and nothing since */
    uint64_t stack_end;
    uint32_t tid, calls;
} own;

/* --- The lock: 0 free, 1 taken, 2 taken and somebody waits --- */

static int lock_word;

static void lock(void)
{
    int seen = 0;
    if (LIKELY(__atomic_compare_exchange_n(&lock_word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
        return;
    for (int i = 0; i < 100; i++) {
        seen = 0;
        if (!__atomic_load_n(&lock_word, __ATOMIC_RELAXED) &&
            __atomic_compare_exchange_n(&lock_word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
    }
    while (__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &lock_word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(void)
{
    if (UNLIKELY(__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2))
        syscall(SYS_futex, &lock_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* --- Blocks that are in use: address -> bytes and site --------------------------------------------------
 *
 * Open addressing.  Blocks of one page of memory lie near each other: what a program allocates and frees together costs few
 * cache misses here, too. */

typedef struct block {
    uint64_t address; /* 48 bits; above them the low half of the site; 0: free */
    uint64_t bytes;   /* 48 bits; above them the high half */
} block;

#define LOW48 ((UINT64_C(1) << 48) - 1)
static block   *blocks;
static uint64_t block_mask, n_blocks;

static uint64_t block_slot(uint64_t address)
{
    uint64_t page = address >> 12;
    return (((page * UINT64_C(0x9e3779b97f4a7c15)) >> 20) + ((address >> 5) & 127)) & block_mask;
}

static void block_put(uint64_t address, uint64_t bytes, uint32_t site)
{
    uint64_t i = block_slot(address);
    while (blocks[i].address)
        i = (i + 1) & block_mask;
    blocks[i] = (block){address | (uint64_t)(site & 0xffff) << 48, (bytes & LOW48) | (uint64_t)(site >> 16) << 48};
}

static bool blocks_grow(void)
{
    block   *old = blocks;
    uint64_t old_n = block_mask + 1;
    block   *more = as_pl_pages(2 * old_n * sizeof *more, true);
    if (!more)
        return false;
    blocks = more;
    block_mask = 2 * old_n - 1;
    for (uint64_t i = 0; i < old_n; i++)
        if (old[i].address)
            block_put(old[i].address & LOW48, old[i].bytes & LOW48,
                      (uint32_t)(old[i].address >> 48) | (uint32_t)(old[i].bytes >> 48) << 16);
    syscall(SYS_munmap, old, old_n * sizeof *old);
    return true;
}

/* Takes the block out; false: it is not known. */
static bool block_take(uint64_t address, uint64_t *bytes, uint32_t *site)
{
    uint64_t i = block_slot(address);
    while ((blocks[i].address & LOW48) != address) {
        if (!blocks[i].address)
            return false;
        i = (i + 1) & block_mask;
    }
    *bytes = blocks[i].bytes & LOW48;
    *site = (uint32_t)(blocks[i].address >> 48) | (uint32_t)(blocks[i].bytes >> 48) << 16;
    n_blocks--;
    /* What follows moves up, so that no search ends at the gap. */
    for (uint64_t j = (i + 1) & block_mask; blocks[j].address; j = (j + 1) & block_mask) {
        uint64_t home = block_slot(blocks[j].address & LOW48);
        if (((j - home) & block_mask) >= ((j - i) & block_mask)) {
            blocks[i] = blocks[j];
            i = j;
        }
    }
    blocks[i].address = 0;
    return true;
}

/* Memory that was mapped: few, so a plain list. */
enum { MAX_MAPS = 1 << 16 };
typedef struct mapping {
    uint64_t start, end;
    uint32_t site;
} mapping;
static mapping *maps;
static uint32_t n_maps;

/* --- Sites: the hash of a stack -> its number --- */

static uint64_t *site_index; /* hash without its low 24 bits | number; 0: free, for site 0 is nobody's */
static uint64_t  site_mask;

#define NUMBER UINT64_C(0xffffff)

static bool sites_grow(void)
{
    uint64_t  old_n = site_mask + 1;
    uint64_t *more = as_pl_pages(2 * old_n * sizeof *more, true);
    if (!more)
        return false;
    for (uint64_t i = 0; i < old_n; i++)
        if (site_index[i]) {
            uint64_t at = (site_index[i] >> 24) & (2 * old_n - 1);
            while (more[at])
                at = (at + 1) & (2 * old_n - 1);
            more[at] = site_index[i];
        }
    syscall(SYS_munmap, site_index, old_n * sizeof *site_index);
    site_index = more;
    site_mask = 2 * old_n - 1;
    return true;
}

static uint32_t site_of(uint64_t hash, const uint64_t *stack, unsigned n, bool is_cut)
{
    as_share_process *p = as_pl_process;
    as_share_stack   *all = as_pl_part(AS_SHARE_STACKS);
    uint64_t          i = (hash >> 24) & site_mask;
    for (; site_index[i]; i = (i + 1) & site_mask)
        if ((site_index[i] & ~NUMBER) == (hash & ~NUMBER) && all[site_index[i] & NUMBER].hash == hash)
            return (uint32_t)(site_index[i] & NUMBER);
    uint32_t number = p->n_sites;
    if (number >= AS_SHARE_MAX_SITES || p->n_words + n > AS_SHARE_MAX_WORDS ||
        (2 * (uint64_t)number > site_mask && !sites_grow())) {
        p->is_full = 1;
        return 0;
    }
    for (i = (hash >> 24) & site_mask; site_index[i]; i = (i + 1) & site_mask)
        ;
    site_index[i] = (hash & ~NUMBER) | number;
    uint64_t *words = as_pl_part(AS_SHARE_WORDS);
    memcpy(words + p->n_words, stack, n * sizeof *words);
    all[number] = (as_share_stack){.hash = hash, .first_word = p->n_words, .n = (uint16_t)n, .is_cut = is_cut};
    p->n_words += n;
    __atomic_store_n(&p->n_sites, number + 1, __ATOMIC_RELEASE);
    return number;
}

/* --- The counts --- */

static as_share_site *site_at(uint32_t number) { return (as_share_site *)as_pl_part(AS_SHARE_SITES) + number; }

static void save_at_peak(as_share_site *s)
{
    if (s->saved_at != as_pl_process->peak_number) {
        s->saved_bytes = s->live_bytes;
        s->saved_at = as_pl_process->peak_number;
    }
}

static void event_add(unsigned kind, uint64_t address, uint64_t bytes, uint32_t site)
{
    as_share_process *p = as_pl_process;
    uint32_t          n = p->n_events;
    if (n >= as_pl_head->max_events)
        return;
    as_share_event *e = (as_share_event *)as_pl_part(AS_SHARE_EVENTS) + n;
    *e = (as_share_event){
        .time = as_pl_now(), .address = address, .bytes = bytes | (uint64_t)kind << 48, .site = site, .thread = own.tid};
    __atomic_store_n(&p->n_events, n + 1, __ATOMIC_RELEASE);
}

static void plus(uint32_t site, uint64_t bytes)
{
    as_share_process *p = as_pl_process;
    as_share_site    *s = site_at(site);
    save_at_peak(s);
    s->live_bytes += bytes;
    s->bytes += bytes;
    s->allocs++;
    if (bytes > s->largest_bytes)
        s->largest_bytes = bytes;
    p->bytes += bytes;
    p->live_bytes += bytes;
    p->live_blocks++;
    if (p->live_bytes > p->peak_bytes) {
        p->peak_bytes = p->live_bytes;
        p->peak_blocks = p->live_blocks;
        p->peak_number++;
        p->peak_is_unstamped = 1;
    }
    if (p->live_bytes > p->window_peak_bytes || p->window != as_pl_head->window) {
        p->window = as_pl_head->window;
        p->window_peak_bytes = p->live_bytes;
    }
}

static void minus(uint32_t site, uint64_t bytes)
{
    as_share_process *p = as_pl_process;
    as_share_site    *s = site_at(site);
    if (p->peak_is_unstamped) { /* the peak ends now */
        p->peak_is_unstamped = 0;
        p->peak_time = as_pl_now();
    }
    save_at_peak(s);
    s->live_bytes -= bytes;
    s->frees++;
    p->live_bytes -= bytes;
    p->live_blocks--;
}

/* A block at an address where one is known already: its free was not seen. */
static void block_add(uint64_t address, uint64_t bytes, uint32_t site)
{
    uint64_t old_bytes;
    uint32_t old_site;
    if (block_take(address, &old_bytes, &old_site)) {
        minus(old_site, old_bytes);
        event_add(AS_SHARE_FREE, address, old_bytes, old_site);
        as_pl_process->frees++;
    }
    if (2 * n_blocks > block_mask && !blocks_grow()) {
        as_pl_process->is_full = 1; /* no memory for the table: the block is counted and never found again */
        return;
    }
    block_put(address, bytes, site);
    n_blocks++;
}

/* --- Begin and end of a call --- */

extern char **environ;
extern void  *__libc_stack_end __attribute__((weak));
static int    never_alive[2];
static int   *alive = never_alive; /* 1 while this very process is recorded; zeroed by the system in a child after fork() */
static enum { UNTRIED, OFF, ON } state;

enum { FIRST_BLOCKS = 1 << 14, FIRST_SITES = 1 << 12 };

static bool tables_make(void)
{
    blocks = as_pl_pages(FIRST_BLOCKS * sizeof *blocks, true);
    site_index = as_pl_pages(FIRST_SITES * sizeof *site_index, true);
    int *page = as_pl_pages(65536, true);
    if (!blocks || !site_index || !page)
        return false;
    block_mask = FIRST_BLOCKS - 1;
    site_mask = FIRST_SITES - 1;
    alive = page;
    return true;
}

static void counters_reset(void)
{
    lock_word = 0;
    if (alive[1]) { /* a system that does not wipe memory at fork() */
        memset(blocks, 0, (block_mask + 1) * sizeof *blocks);
        memset(site_index, 0, (site_mask + 1) * sizeof *site_index);
    }
    n_blocks = 0;
    n_maps = 0;
    as_pl_process->n_sites = 1; /* site 0: where there was no room for a stack */
    as_pl_process->peak_number = 1;
    own.last = NULL;
    own.tid = 0;
}

/* The first call of all, or the first in a child after fork().  Costs one comparison in every later one. */
static __attribute__((noinline)) bool wake(void)
{
    int kept = errno;
    if (state == OFF || as_pl_inside || !environ)
        return false;
    as_pl_inside = 1;
    bool is_forked = state == ON;
    state = OFF;
    if (as_pl_share_open(is_forked) && (as_pl_head->what & AS_SHARE_MEMORY) && (is_forked || tables_make())) {
        state = ON;
        counters_reset();
        as_pl_process->has_own_malloc = dlsym(RTLD_DEFAULT, "malloc") != (void *)malloc;
        alive[0] = alive[1] = 1;
    }
    as_pl_inside = 0;
    errno = kept;
    return state == ON;
}

static inline bool enter(void)
{
    if (UNLIKELY(!*alive) && !wake())
        return false;
    if (UNLIKELY(as_pl_inside)) {
        if (as_pl_inside == 1)
            __atomic_fetch_add(&as_pl_process->unseen, 1, __ATOMIC_RELAXED);
        return false;
    }
    as_pl_inside = 1;
    return true;
}
static inline void leave(void) { as_pl_inside = 0; }

static __attribute__((noinline)) void thread_learn(void)
{
    int kept = errno;
    as_pl_inside = 2; /* what the system allocates for us is nobody's */
    own.tid = (uint32_t)syscall(SYS_gettid);
    own.stack_end = own.tid != as_pl_process->pid ? as_pl_stack_end()
                    : &__libc_stack_end           ? (uint64_t)(uintptr_t)__libc_stack_end
                                                  : 0;
    as_pl_inside = 1;
    errno = kept;
}

/* Where the program called us. */
#if defined(__x86_64__)
enum { OWN_FRAMES = 0 };
#define HERE()                                                                 \
    ((as_pl_place){.pc = (uint64_t)(uintptr_t)__builtin_return_address(0),     \
                   .sp = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16, \
                   .fp = *(uint64_t *)__builtin_frame_address(0)})
#else
enum { OWN_FRAMES = 1 };
#define HERE()                                                                        \
    __extension__({                                                                   \
        as_pl_place here_ = {.fp = (uint64_t)(uintptr_t)__builtin_frame_address(0)};  \
        __asm__ volatile("adr %0, .\n\tmov %1, sp" : "=r"(here_.pc), "=r"(here_.sp)); \
        here_;                                                                        \
    })
#endif

enum { LONG = 1 << 16 };
static uint64_t cost_begin(void) { return UNLIKELY((++own.calls & 127) == 0) ? as_pl_now() : 0; }
static void     cost_end(uint64_t began) /* under the lock */
{
    if (UNLIKELY(began)) {
        uint64_t took = as_pl_now() - began;
        if (took < LONG) { /* else the thread lost its CPU meanwhile */
            as_pl_process->cost_calls++;
            as_pl_process->cost_own_time += took;
        }
    }
}

/* Walks and takes the lock. */
static inline uint32_t site_begin(as_pl_place at)
{
    uint64_t stack[AS_SHARE_MAX_DEPTH + OWN_FRAMES], hash;
    bool     is_cut;
    if (UNLIKELY(!own.tid))
        thread_learn();
    unsigned n = as_pl_walk(at, OWN_FRAMES, own.stack_end, stack, AS_SHARE_MAX_DEPTH + OWN_FRAMES, &hash, &is_cut);
    lock();
    return n > OWN_FRAMES ? site_of(hash, stack + OWN_FRAMES, n - OWN_FRAMES, is_cut) : 0;
}

static void allocated(void *p, size_t bytes, as_pl_place at)
{
    uint64_t began = cost_begin(), address = (uint64_t)(uintptr_t)p;
    __builtin_prefetch(&blocks[block_slot(address)], 1); /* the table may have moved meanwhile: then it is a prefetch of nothing */
    uint32_t site = site_begin(at);
    as_pl_process->allocs++;
    block_add(address, bytes, site);
    plus(site, bytes);
    event_add(AS_SHARE_ALLOC, address, bytes, site);
    cost_end(began);
    unlock();
    own.last = p;
}

static void freed(void *p)
{
    uint64_t began = cost_begin(), address = (uint64_t)(uintptr_t)p, bytes;
    uint32_t site;
    if (UNLIKELY(!own.tid))
        thread_learn();
    lock();
    if (LIKELY(block_take(address, &bytes, &site))) {
        as_pl_process->frees++;
        minus(site, bytes);
        if (own.last == p)
            site_at(site)->temporary++;
        event_add(AS_SHARE_FREE, address, bytes, site);
    } else
        as_pl_process->unknown_frees++;
    cost_end(began);
    unlock();
    own.last = NULL;
}

/* --- The real ones --- */

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static void *(*real_valloc)(size_t);
static void *(*real_pvalloc)(size_t);

/* While they are looked up, the system itself allocates: from here, and it is never given back. */
static _Alignas(16) char first_room[65536];
static size_t first_used;
static int    is_resolving;

static bool is_first(const void *p) { return (const char *)p >= first_room && (const char *)p < first_room + sizeof first_room; }

static void *first_take(size_t bytes)
{
    size_t at = first_used + 16; /* its size stands before each */
    if (bytes > sizeof first_room - at)
        return NULL;
    memcpy(first_room + first_used, &bytes, sizeof bytes);
    first_used = (at + bytes + 15) / 16 * 16;
    return first_room + at;
}

/* dlsym gives an object pointer; C has no cast to a function. */
static void look_up(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

static __attribute__((noinline)) bool resolve(void)
{
    if (is_resolving)
        return false;
    is_resolving = 1;
    look_up(&real_calloc, "calloc");
    look_up(&real_realloc, "realloc");
    look_up(&real_free, "free");
    look_up(&real_posix_memalign, "posix_memalign");
    look_up(&real_aligned_alloc, "aligned_alloc");
    look_up(&real_memalign, "memalign");
    look_up(&real_valloc, "valloc");
    look_up(&real_pvalloc, "pvalloc");
    look_up(&real_malloc, "malloc");
    is_resolving = 0;
    return true;
}
static inline bool is_resolved(void) { return LIKELY(real_malloc != NULL) || resolve(); }

/* --- What the program calls --- */

/* One body for all that only differ in how they ask. */
#define ALLOCATE(bytes, call)                                            \
    if (UNLIKELY(!is_resolved()))                                        \
        return first_take(bytes);                                        \
    if (UNLIKELY(!enter()))                                              \
        return call;                                                     \
    void *p = call;                                                      \
    if (LIKELY(p != NULL))                                               \
        allocated(p, bytes, HERE());                                     \
    else                                                                 \
        __atomic_fetch_add(&as_pl_process->failed, 1, __ATOMIC_RELAXED); \
    leave();                                                             \
    return p

EXPORT void *malloc(size_t bytes) { ALLOCATE(bytes, real_malloc(bytes)); }
EXPORT void *calloc(size_t n, size_t each) { ALLOCATE(n * each, real_calloc(n, each)); } /* first_room is zero */
EXPORT void *aligned_alloc(size_t align, size_t bytes) { ALLOCATE(bytes, real_aligned_alloc(align, bytes)); }
EXPORT void *memalign(size_t align, size_t bytes) { ALLOCATE(bytes, real_memalign(align, bytes)); }
EXPORT void *valloc(size_t bytes) { ALLOCATE(bytes, real_valloc(bytes)); }
EXPORT void *pvalloc(size_t bytes) { ALLOCATE(bytes, real_pvalloc(bytes)); }

EXPORT int posix_memalign(void **out, size_t align, size_t bytes)
{
    if (UNLIKELY(!is_resolved()))
        return ENOMEM;
    if (UNLIKELY(!enter()))
        return real_posix_memalign(out, align, bytes);
    int failed = real_posix_memalign(out, align, bytes);
    if (!failed && *out)
        allocated(*out, bytes, HERE());
    else if (failed)
        __atomic_fetch_add(&as_pl_process->failed, 1, __ATOMIC_RELAXED);
    leave();
    return failed;
}

EXPORT void free(void *p)
{
    if (!p || UNLIKELY(is_first(p)) || UNLIKELY(!is_resolved()))
        return;
    if (LIKELY(enter())) {
        freed(p); /* before: from then on another thread may get the address */
        leave();
    }
    real_free(p);
}

static void *first_move(void *p, size_t bytes)
{
    size_t had;
    memcpy(&had, (char *)p - 16, sizeof had);
    void *to = real_malloc ? real_malloc(bytes) : first_take(bytes);
    if (to)
        memcpy(to, p, had < bytes ? had : bytes);
    return to;
}

/* The block stays in the counts until the system has moved it, so the total never falls for a moment. */
static void *moved(void *p, size_t bytes, as_pl_place at)
{
    uint64_t old_bytes = 0, from = (uint64_t)(uintptr_t)p;
    uint32_t old_site = 0;
    lock();
    bool is_known = block_take(from, &old_bytes, &old_site);
    unlock();
    void *q = real_realloc(p, bytes);
    if (!q) { /* glibc frees for 0 bytes; else nothing has happened */
        lock();
        if (bytes) {
            as_pl_process->failed++;
            if (is_known)
                block_add(from, old_bytes, old_site);
        } else if (is_known) {
            as_pl_process->frees++;
            minus(old_site, old_bytes);
            event_add(AS_SHARE_FREE, from, old_bytes, old_site);
        } else
            as_pl_process->unknown_frees++;
        unlock();
        return q;
    }
    uint64_t began = cost_begin(), address = (uint64_t)(uintptr_t)q;
    uint32_t site = site_begin(at);
    as_pl_process->resizes++;
    if (is_known) {
        minus(old_site, old_bytes);
        if (q != p)
            event_add(AS_SHARE_FREE, from, old_bytes, old_site);
    } else
        as_pl_process->unknown_frees++;
    block_add(address, bytes, site);
    plus(site, bytes);
    event_add(is_known && q == p ? AS_SHARE_RESIZE : AS_SHARE_ALLOC, address, bytes, site);
    cost_end(began);
    unlock();
    own.last = NULL;
    return q;
}

static inline void *resize(void *p, size_t bytes, as_pl_place at)
{
    if (UNLIKELY(!is_resolved()))
        return p ? first_move(p, bytes) : first_take(bytes);
    if (UNLIKELY(is_first(p)))
        return first_move(p, bytes);
    if (UNLIKELY(!enter()))
        return real_realloc(p, bytes);
    void *q;
    if (p)
        q = moved(p, bytes, at);
    else {
        q = real_realloc(NULL, bytes);
        if (q)
            allocated(q, bytes, at);
        else
            __atomic_fetch_add(&as_pl_process->failed, 1, __ATOMIC_RELAXED);
    }
    leave();
    return q;
}

EXPORT void *realloc(void *p, size_t bytes) { return resize(p, bytes, HERE()); }

EXPORT void *reallocarray(void *p, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(p, bytes, HERE());
}

/* --- Memory straight from the system: mmap of anonymous memory that can be written ---------------------------------
 *
 * malloc's own mmap calls are inside the system's library and are not seen here, so nothing counts twice. */

static void maps_cut(uint64_t start, uint64_t end) /* under the lock */
{
    for (uint32_t i = n_maps; i-- > 0;) {
        mapping *m = &maps[i], was = *m;
        if (was.end <= start || was.start >= end)
            continue;
        uint64_t low = was.start > start ? was.start : start, high = was.end < end ? was.end : end;
        minus(was.site, was.end - was.start);
        event_add(AS_SHARE_FREE, was.start, was.end - was.start, was.site);
        as_pl_process->mapped_bytes -= high - low;
        *m = maps[--n_maps];
        /* What remains of it on either side goes on as a block of its own. */
        mapping rest[2] = {{was.start, low, was.site}, {high, was.end, was.site}};
        for (int k = 0; k < 2; k++)
            if (rest[k].start < rest[k].end && n_maps < MAX_MAPS) {
                maps[n_maps++] = rest[k];
                plus(was.site, rest[k].end - rest[k].start);
                as_pl_process->bytes -= rest[k].end - rest[k].start; /* nobody asked for it again */
                site_at(was.site)->bytes -= rest[k].end - rest[k].start;
                event_add(AS_SHARE_ALLOC, rest[k].start, rest[k].end - rest[k].start, was.site);
            }
    }
}

static void mapped(uint64_t start, size_t bytes, as_pl_place at)
{
    uint64_t end = start + (bytes + 4095) / 4096 * 4096;
    uint32_t site = site_begin(at);
    if (maps || (maps = as_pl_pages(MAX_MAPS * sizeof *maps, true))) {
        maps_cut(start, end); /* MAP_FIXED takes the place of what was there */
        if (n_maps < MAX_MAPS) {
            maps[n_maps++] = (mapping){start, end, site};
            as_pl_process->maps++;
            as_pl_process->mapped_bytes += end - start;
            plus(site, end - start);
            event_add(AS_SHARE_ALLOC, start, end - start, site);
        } else
            as_pl_process->is_full = 1;
    }
    unlock();
}

static inline void *map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset, as_pl_place here)
{
    void *p = (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
    if (p != MAP_FAILED && (flags & MAP_ANONYMOUS) && (protection & PROT_WRITE) && !(flags & MAP_STACK) && enter()) {
        mapped((uint64_t)(uintptr_t)p, bytes, here);
        leave();
    }
    return p;
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return map(at, bytes, protection, flags, fd, offset, HERE());
}
EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return map(at, bytes, protection, flags, fd, offset, HERE());
}

EXPORT int munmap(void *p, size_t bytes)
{
    if (*alive && n_maps && enter()) {
        lock();
        uint32_t before = n_maps;
        maps_cut((uint64_t)(uintptr_t)p, (uint64_t)(uintptr_t)p + (bytes + 4095) / 4096 * 4096);
        as_pl_process->unmaps += before != n_maps;
        unlock();
        leave();
    }
    return (int)syscall(SYS_munmap, p, bytes);
}

/* --- Begin and end of the program --- */

static int (*real_dlclose)(void *);
EXPORT int dlclose(void *handle)
{
    if (!real_dlclose)
        look_up(&real_dlclose, "dlclose");
    int result = real_dlclose(handle);
    as_pl_walk_forget(); /* other code may come to the same addresses */
    return result;
}

static void in_child(void) { *alive = 0; } /* as the system does by itself, also where fork() was not the library's */

static __attribute__((constructor)) void begin(void)
{
    is_resolved();
    if (!*alive)
        wake();
    if (*alive)
        pthread_atfork(NULL, NULL, in_child);
    if (as_pl_head && (as_pl_head->what & AS_SHARE_TIMER))
        as_pl_timer_begin();
}

static __attribute__((destructor)) void end(void)
{
    if (as_pl_process && (!(as_pl_head->what & AS_SHARE_MEMORY) || *alive))
        __atomic_store_n(&as_pl_process->state, AS_SHARE_ENDED, __ATOMIC_RELEASE);
}
