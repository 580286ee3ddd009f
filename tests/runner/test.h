/* test.h - the test runner's interface.  A test has a sentence for a name and one reason to fail.
 *
 *     Test(arena, gives_aligned_memory_after_an_odd_request) {
 *         as_arena_take(&arena, 3, 1, 1);
 *         expect_eq((uintptr_t)as_arena_take(&arena, 8, 1, 64) % 64, 0);
 *     }
 *
 * Every test runs in a process of its own (--no-fork: in this one, for valgrind and debuggers). */
#ifndef AS_TESTS_RUNNER_TEST_H
#define AS_TESTS_RUNNER_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "assay.h"

typedef struct as_test {
    const char *suite, *name, *file;
    int         line;
    void (*run)(void);
    struct as_test *next;
} as_test;

void as_test_register(as_test *test);

#define Test(suite_, name_)                                                                                                     \
    static void    test_##suite_##_##name_(void);                                                                               \
    static as_test entry_##suite_##_##name_ = {#suite_, #name_, __FILE__, __LINE__, test_##suite_##_##name_, NULL};             \
    __attribute__((constructor)) static void register_##suite_##_##name_(void) { as_test_register(&entry_##suite_##_##name_); } \
    static void                              test_##suite_##_##name_(void)

/* Each ends the test at the first failure (longjmp), so keep what must be freed reachable. */
_Noreturn void as_test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Ends the test as skipped, with the reason shown and counted: only for what this machine lacks. */
_Noreturn void as_test_skip(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define skip(...) as_test_skip(__FILE__, __LINE__, __VA_ARGS__)
#define fail(...) as_test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define expect(cond)                    \
    do {                                \
        if (!(cond))                    \
            fail("expected %s", #cond); \
    } while (0)
#define expect_eq(got, want)                                                  \
    do {                                                                      \
        long long got_ = (long long)(got), want_ = (long long)(want);         \
        if (got_ != want_)                                                    \
            fail("%s is %lld, expected %lld (%s)", #got, got_, want_, #want); \
    } while (0)
#define expect_near(got, want, tolerance)                                                          \
    do {                                                                                           \
        double got_ = (double)(got), want_ = (double)(want);                                       \
        if (!(fabs(got_ - want_) <= (double)(tolerance)))                                          \
            fail("%s is %.17g, expected %.17g within %g", #got, got_, want_, (double)(tolerance)); \
    } while (0)
#define expect_str(got, want)                                                           \
    do {                                                                                \
        const char *got_ = (got), *want_ = (want);                                      \
        if (!got_ || strcmp(got_, want_))                                               \
            fail("%s is \"%s\", expected \"%s\"", #got, got_ ? got_ : "(null)", want_); \
    } while (0)
#define expect_has(text, part)                                                                        \
    do {                                                                                              \
        const char *text_ = (text), *part_ = (part);                                                  \
        if (!text_ || !strstr(text_, part_))                                                          \
            fail("%s is \"%s\", expected it to hold \"%s\"", #text, text_ ? text_ : "(null)", part_); \
    } while (0)
/* A call that must succeed; shows the env's sentence when it does not. */
#define expect_ok(env, call)                                                           \
    do {                                                                               \
        assay_status status_ = (call);                                                 \
        if (status_ != ASSAY_OK)                                                       \
            fail("%s: %s: %s", #call, assay_status_text(status_), assay_message(env)); \
    } while (0)
/* A call that must fail with this status and a sentence that holds `part`. */
#define expect_fails(env, call, want_status, part)                                                  \
    do {                                                                                            \
        assay_status status_ = (call);                                                              \
        if (status_ != (want_status))                                                               \
            fail("%s: %s (%s), expected %s", #call, assay_status_text(status_), assay_message(env), \
                 assay_status_text(want_status));                                                   \
        expect_has(assay_message(env), part);                                                       \
    } while (0)

/* Calls of malloc, calloc, realloc, posix_memalign and aligned_alloc made by our own code (linked with --wrap) since
 * the process began, and the bytes now held and at most held by them.  SIZE_MAX where the linker has no --wrap. */
size_t as_test_n_allocs(void);
size_t as_test_live_bytes(void);
size_t as_test_peak_bytes(void);
void   as_test_reset_peak(void);

/* A fresh directory for the test's files, removed at the end of the run. */
const char *as_test_dir(void);
/* as_test_dir()/name, in a static buffer of which eight are in use at once. */
const char *as_test_path(const char *name);

#endif
