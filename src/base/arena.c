/* arena.c - chunks from calloc, newest first.  A request that is large compared with the chunk size
 * gets its own chunk behind the newest, so that the space left in the newest is not lost. */
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

/* Under AddressSanitizer the unused space is poisoned and there are gaps between requests, so
 * that it finds a write past the end of one although all share one malloc block. */
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#define GAP_BYTES 16
#else
#define GAP_BYTES                         0
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { CHUNK_MIN_BYTES = 4096, CHUNK_MAX_BYTES = 1 << 20 };

struct as_arena_chunk {
    as_arena_chunk *next;
    size_t          bytes, used; /* of data[] */
    unsigned char   data[];
};

static as_arena_chunk *chunk_new(as_arena *arena, size_t need_bytes)
{
    size_t grown = arena->chunks ? arena->chunks->bytes * 2 : CHUNK_MIN_BYTES;
    if (grown > CHUNK_MAX_BYTES)
        grown = CHUNK_MAX_BYTES;
    bool   own = need_bytes > grown / 2;
    size_t bytes = own ? need_bytes : grown;
    if (bytes > SIZE_MAX - sizeof(as_arena_chunk))
        return NULL;
    as_arena_chunk *chunk = calloc(1, sizeof *chunk + bytes);
    if (!chunk)
        return NULL;
    chunk->bytes = bytes;
    ASAN_POISON_MEMORY_REGION(chunk->data, bytes);
    if (own && arena->chunks) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

/* Bytes to skip so that the next byte of the chunk is aligned. */
static size_t chunk_padding(const as_arena_chunk *chunk, size_t align)
{
    return (size_t)(-((uintptr_t)chunk->data + chunk->used) & (align - 1));
}

void *as_arena_take(as_arena *arena, size_t n, size_t bytes_each, size_t align)
{
    assert(align && !(align & (align - 1)));
    size_t bytes, need;
    if (__builtin_mul_overflow(n, bytes_each, &bytes))
        return NULL;
    if (!bytes)
        bytes = 1; /* an empty request gets an address of its own too */
    if (__builtin_add_overflow(bytes, align - 1 + GAP_BYTES, &need))
        return NULL;
    as_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->bytes - chunk->used < need) {
        chunk = chunk_new(arena, need);
        if (!chunk)
            return NULL;
    }
    size_t         padding = chunk_padding(chunk, align);
    unsigned char *taken = chunk->data + chunk->used + padding;
    ASAN_UNPOISON_MEMORY_REGION(taken, bytes);
    chunk->used += padding + bytes + GAP_BYTES;
    arena->bytes_used += padding + bytes + GAP_BYTES;
    return taken;
}

char *as_arena_text_n(as_arena *arena, const char *text, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *copy = as_arena_take(arena, n + 1, 1, 1);
    if (copy && n)
        memcpy(copy, text, n);
    return copy;
}

char *as_arena_text(as_arena *arena, const char *text) { return as_arena_text_n(arena, text, strlen(text)); }

char *as_arena_printf(as_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : as_arena_take(arena, (size_t)length + 1, 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void as_arena_drop(as_arena *arena)
{
    as_arena_chunk *chunk = arena->chunks;
#ifdef AS_PLANT_LEAK
    /* A planted fault: CI builds with it and demands that LeakSanitizer makes the tests fail. */
    if (chunk)
        chunk = chunk->next;
#endif
    while (chunk) {
        as_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    *arena = (as_arena){0};
}
