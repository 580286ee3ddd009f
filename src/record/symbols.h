/* symbols.h - from addresses to functions, files and lines, inlined ones too.
 *
 * Knows what each process has mapped.  Where libdw is not there, or a file has no names, a frame is AS_SYMBOL_UNKNOWN in its object.
 * Not for several threads at once. */
#ifndef AS_RECORD_SYMBOLS_H
#define AS_RECORD_SYMBOLS_H

#include <sys/types.h>

#include "base/env.h"
#include "trace/trace.h"

#define AS_SYMBOL_UNKNOWN "[unknown]" /* a frame without a name; its object says where */
#define AS_OBJECT_KERNEL  "[kernel]"

/* Of one trace: frames that were found are kept by their index in it. */
typedef struct as_symbols as_symbols;

as_symbols *as_symbols_new(assay_env *env); /* NULL: no memory */
void        as_symbols_free(as_symbols *s);

/* A file is mapped at these addresses; what was there before is gone.  False: no memory. */
bool as_symbols_map(as_symbols *s, pid_t pid, uint64_t start, uint64_t end, uint64_t file_offset, const char *path);
/* All executable mappings of /proc/PID/maps.  False: it cannot be read (the process has ended, or is another user's), or no memory. */
bool as_symbols_maps_of(as_symbols *s, pid_t pid);
void as_symbols_fork(as_symbols *s, pid_t parent, pid_t child); /* the child has its parent's mappings */
void as_symbols_exec(as_symbols *s, pid_t pid);                 /* another program: its mappings are forgotten */

/* Adds frames (inlined ones too) and the stack to the trace.  Innermost address first; all but an exact first one are return addresses, and
 * stand for the call before them.  Addresses with the highest bit set are the kernel's.  Returns the stack's index, -1: no memory.
 * *is_whole (may be NULL): the outermost frame is one that threads begin with. */
int as_symbols_stack(as_symbols *s, assay_trace *t, pid_t pid, const uint64_t *addresses, size_t n, bool first_is_exact,
                     bool *is_whole);

/* A thread as it was: its registers, and a copy of its stack from the stack pointer on. */
typedef struct as_thread_state {
    uint64_t       ip, sp, fp, lr; /* lr: of aarch64, else 0 */
    const uint8_t *stack;
    size_t         n_stack;
} as_thread_state;
/* The addresses of its stack by the unwind tables of what is mapped, innermost (and exact) first; at most max, at least one unless max is 0.
 * *is_whole: the tables say that nobody called the outermost. */
size_t as_symbols_unwind(as_symbols *s, pid_t pid, const as_thread_state *copy, uint64_t *addresses, size_t max, bool *is_whole);

/* --- Readers of names: plugs, sy_<name>.c ------------------------------------------------------------------------ */

/* One function at an address, innermost first where it was inlined.  Texts live until the reader is closed. */
typedef struct as_symbol {
    const char *name, *file; /* name NULL: not known; file "": not known */
    int         line;
    bool        inlined;
} as_symbol;
enum { AS_MAX_INLINED = 32 };

/* How to get from a function to its caller, at one address: the value of the stack pointer in the caller (CFA) is a register plus an offset, and
 * what was saved lies at an offset from that. */
typedef struct as_unwind_rule {
    bool    is_known;  /* else none of the rest counts */
    bool    is_end;    /* nobody called it */
    bool    cfa_by_fp; /* CFA = frame pointer + offset; else stack pointer + offset */
    bool    ra_saved;  /* the return address lies at CFA + ra_offset; else it is in the link register */
    bool    fp_saved;  /* the caller's frame pointer lies at CFA + fp_offset; else it is in its register */
    int32_t cfa_offset, ra_offset, fp_offset;
} as_unwind_rule;

typedef struct as_symbol_reader {
    const char *name;
    int         rank; /* the highest is taken */
    /* NULL: the file cannot be read. */
    void *(*open)(const char *path);
    void (*close)(void *file);
    /* offset: in the file; returns how many, at most AS_MAX_INLINED; 0: nothing is known of it. */
    int (*find)(void *file, uint64_t offset, as_symbol *out);
    /* By the unwind tables of the file; is_known is false where they say nothing, or something that does not fit a rule. */
    as_unwind_rule (*rule)(void *file, uint64_t offset);
} as_symbol_reader;

extern const as_symbol_reader *const as_sy_table[];

#endif
