/* preload.h - libassay-preload.so: records what the memory of a program does, or where its threads are, from inside.  Private to preload/.
 *
 * Loaded by LD_PRELOAD into programs that know nothing of it.  So it allocates with mmap alone, takes one lock, keeps errno, prints
 * nothing, and when something fails it stops recording and lets the program go on. */
#ifndef AS_PRELOAD_H
#define AS_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/share.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define EXPORT      __attribute__((visibility("default")))

/* --- share.c: the file that assay reads --- */

extern as_share_head    *as_pl_head;    /* NULL: nothing is recorded */
extern as_share_process *as_pl_process; /* this process's block; NULL: nothing is recorded */

/* Finds the file and takes a block; at the start of the program, and in a child after fork(). */
bool as_pl_share_open(bool is_forked);
void as_pl_share_close(void); /* nothing is recorded from now on */
/* The module that holds this address is written into the block, if it is not there yet.  Safe in a signal handler. */
void as_pl_module_note(uint64_t address);

static inline void *as_pl_part(uint64_t offset) { return (char *)as_pl_process + offset; }

/* Private memory, zeroed; NULL: none.  wiped: a child after fork() finds it zeroed again. */
void *as_pl_pages(size_t bytes, bool wiped);

uint64_t               as_pl_monotonic_ns(void);
static inline uint64_t as_pl_now(void)
{
    if (as_pl_head->use_counter) {
#if defined(__x86_64__)
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
#endif
    }
    return as_pl_monotonic_ns();
}

/* --- unwind.c --- */

/* Where a thread is: enough registers to find its callers by the unwind tables of the code. */
typedef struct as_pl_place {
    uint64_t pc, sp, fp, lr;
} as_pl_place;

/* The addresses from this place outwards, innermost first; returns how many, at most max.  exact: pc is where the thread is and not where a
 * call returns to.  stack_end: above the thread's stack; 0: not known, and code without tables ends the walk.  *hash (may be NULL) gets a
 * number for the whole of it.  Safe in a signal handler. */
unsigned as_pl_walk(as_pl_place at, bool exact, uint64_t stack_end, uint64_t *out, unsigned max, uint64_t *hash, bool *is_cut);
void     as_pl_walk_forget(void); /* code was unloaded */
uint64_t as_pl_stack_end(void);   /* of the calling thread; 0: not known.  Not for signal handlers */

/* --- timer.c --- */

void as_pl_timer_begin(void); /* in the first thread, at the start and after fork() */

/* --- account.c --- */

extern __thread int
     as_pl_inside; /* this thread is in our own code: what it allocates is not recorded; 2: we asked the system for something */
void as_pl_fork_hook(void);

#endif
