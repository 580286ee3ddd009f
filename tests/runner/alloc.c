/* alloc.c - counts what our own code takes from malloc, by the linker's --wrap.
 *
 * Sizes are kept in a table keyed by pointer, because malloc_usable_size() is not what was asked for.
 * The keys are kept inverted: a table of real pointers would make every leak reachable, and LeakSanitizer blind
 * (the planted leak found that). A lock guards it: tests that use threads allocate too. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/runner/test.h"

#ifdef AS_HAVE_WRAP

enum { SLOTS = 1 << 16, TOMBSTONE = 1 };
static struct {
    uintptr_t key;
    size_t    bytes;
} slots[SLOTS]; /* key 0: free, TOMBSTONE: was used */
static size_t          n_allocs, live_bytes, peak_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *p, size_t n);
void  __real_free(void *p);
int   __real_posix_memalign(void **out, size_t align, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *p, size_t n);
void  __wrap_free(void *p);
int   __wrap_posix_memalign(void **out, size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);

static uintptr_t key_of(const void *p) { return ~(uintptr_t)p; }
static size_t    slot_of(const void *p) { return ((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 48; }

static void *note(void *p, size_t bytes)
{
    if (!p)
        return p;
    pthread_mutex_lock(&lock);
    n_allocs++;
    for (size_t i = slot_of(p), tries = 0; tries < SLOTS; i = (i + 1) % SLOTS, tries++)
        if (slots[i].key <= TOMBSTONE) {
            slots[i].key = key_of(p);
            slots[i].bytes = bytes;
            live_bytes += bytes;
            if (live_bytes > peak_bytes)
                peak_bytes = live_bytes;
            break;
        }
    pthread_mutex_unlock(&lock);
    return p;
}

static void forget(const void *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = slot_of(p), tries = 0; tries < SLOTS && slots[i].key; i = (i + 1) % SLOTS, tries++)
        if (slots[i].key == key_of(p)) {
            live_bytes -= slots[i].bytes;
            slots[i].key = TOMBSTONE; /* so that probing goes on */
            break;
        }
    pthread_mutex_unlock(&lock);
}

void *__wrap_malloc(size_t n) { return note(__real_malloc(n), n); }
void *__wrap_calloc(size_t n, size_t each) { return note(__real_calloc(n, each), n * each); }
void *__wrap_realloc(void *p, size_t n)
{
    forget(p);
    return note(__real_realloc(p, n), n);
}
void __wrap_free(void *p)
{
    forget(p);
    __real_free(p);
}
int __wrap_posix_memalign(void **out, size_t align, size_t n)
{
    int error = __real_posix_memalign(out, align, n);
    if (!error)
        note(*out, n);
    return error;
}
void *__wrap_aligned_alloc(size_t align, size_t n) { return note(__real_aligned_alloc(align, n), n); }

size_t as_test_n_allocs(void) { return n_allocs; }
size_t as_test_live_bytes(void) { return live_bytes; }
size_t as_test_peak_bytes(void) { return peak_bytes; }
void   as_test_reset_peak(void) { peak_bytes = live_bytes; }

#else

size_t as_test_n_allocs(void) { return SIZE_MAX; }
size_t as_test_live_bytes(void) { return SIZE_MAX; }
size_t as_test_peak_bytes(void) { return SIZE_MAX; }
void   as_test_reset_peak(void) {}

#endif
