/* arena.h - memory with one owner and one end.
 *
 * An arena hands out zeroed memory that lives until the arena is dropped.  It grows by chunks from
 * malloc and never moves what it handed out.  Not thread-safe: one owner at a time. */
#ifndef AS_BASE_ARENA_H
#define AS_BASE_ARENA_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

typedef struct as_arena_chunk as_arena_chunk;

typedef struct as_arena {
    as_arena_chunk *chunks;
    size_t          bytes_used; /* handed out, padding included */
} as_arena;                     /* {0} is an empty arena */

/* Zeroed, aligned (a power of two); NULL when there is no memory or n * bytes_each overflows.
 * n == 0 gives a valid pointer to nothing. */
void *as_arena_take(as_arena *arena, size_t n, size_t bytes_each, size_t align);
/* A copy of the string (or of its first n bytes), NUL-terminated; NULL when there is no memory. */
char *as_arena_text(as_arena *arena, const char *text);
char *as_arena_text_n(as_arena *arena, const char *text, size_t n);
/* printf into the arena. */
char *as_arena_printf(as_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Releases everything; the arena is then empty and usable again. */
void as_arena_drop(as_arena *arena);

#define AS_TAKE(arena, type, n) ((type *)as_arena_take((arena), (size_t)(n), sizeof(type), alignof(type)))

#endif
