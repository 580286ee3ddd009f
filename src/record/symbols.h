/* symbols.h - from addresses to functions, files and lines, inlined ones too.
 *
 * Knows what each process has mapped.  Where libdw is not there, or a file has no names, a frame is named after its object: "[libm.so.6]".
 * Not for several threads at once. */
#ifndef AS_RECORD_SYMBOLS_H
#define AS_RECORD_SYMBOLS_H

#include <sys/types.h>

#include "base/env.h"
#include "trace/trace.h"

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

/* --- Readers of names: plugs, sy_<name>.c ------------------------------------------------------------------------ */

/* One function at an address, innermost first where it was inlined.  Texts live until the reader is closed. */
typedef struct as_symbol {
    const char *name, *file; /* name NULL: not known; file "": not known */
    int         line;
    bool        inlined;
} as_symbol;
enum { AS_MAX_INLINED = 32 };

typedef struct as_symbol_reader {
    const char *name;
    int         rank; /* the highest is taken */
    /* NULL: the file cannot be read. */
    void *(*open)(const char *path);
    void (*close)(void *file);
    /* offset: in the file; returns how many, at most AS_MAX_INLINED; 0: nothing is known of it. */
    int (*find)(void *file, uint64_t offset, as_symbol *out);
} as_symbol_reader;

extern const as_symbol_reader *const as_sy_table[];

#endif
