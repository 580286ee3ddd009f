/* assay_arm.h - makes your own program a candidate of `assay compare --bin ./old --bin ./new`, `assay baseline save NAME --bin
 * ./prog` and `assay check`.  This file is all you need: C99 or C++, POSIX, no library to link.
 *
 *     #include "assay_arm.h"
 *
 *     static float x[4096], y[4096], sum;
 *
 *     static void call(void *arg)              // one call of the work that is to be timed
 *     {
 *         (void)arg;
 *         sum = 0;
 *         for (int i = 0; i < 4096; i++)
 *             sum += x[i] * y[i];
 *     }
 *
 *     int main(void)
 *     {
 *         for (int i = 0; i < 4096; i++)       // inputs that are not trivial, made before anything is timed
 *             x[i] = (float)i, y[i] = 1.0f / (float)(i + 1);
 *         return assay_arm_serve("dot", call, NULL);
 *     }
 *
 * assay starts the program many times, and asks it and the other one in turns to time blocks of calls.  The program times them
 * itself, with CLOCK_MONOTONIC and the CPU time of the thread; meanwhile it allocates nothing and prints nothing.  Try it by hand:
 * start it and type `block 1 100 5`, then `end`. docs/line-protocol.md describes the lines.
 *
 * While it serves, what your code prints to standard output goes to standard error, so a stray printf() cannot break the protocol.
 *
 * To report more, fill an assay_arm and call assay_arm_serve_all():
 *
 *     assay_arm arm = {0};                     // C++: assay_arm arm = assay_arm();
 *     arm.name = "dot"; arm.call = call; arm.hash = hash; arm.flops = 2 * 4096;
 *     return assay_arm_serve_all(&arm);
 *
 * With a strict -std=c99 include this file before all others, or define _POSIX_C_SOURCE to 200809L. */
#ifndef ASSAY_ARM_H
#define ASSAY_ARM_H

#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE) && !defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef struct assay_arm {
    const char *name;        /* one word of at most 63 characters */
    void (*call)(void *arg); /* one call of the work; leave its result where the compiler cannot drop it */
    void *arg;
    void (*launch)(void *arg, uint64_t seed); /* may be NULL: places the buffers anew, by the seed */
    uint64_t (*hash)(void *arg); /* may be NULL: hash of a call's result; programs whose hashes differ do different work */
    int    by_wall;              /* not 0: threads or devices share the work, so one thread's CPU time says nothing */
    double flops, bytes, allocations, launches, peak_bytes; /* of one call, if you count them; 0: unknown */
} assay_arm;

/* Answers until the other side sends "end" or closes. Returns the exit code of main(): 0, or 1 when standard output cannot be
 * written. */
static inline int assay_arm_serve_all(const assay_arm *arm);

static inline int assay_arm_serve(const char *name, void (*call)(void *arg), void *arg)
{
    assay_arm arm;
    memset(&arm, 0, sizeof arm);
    arm.name = name;
    arm.call = call;
    arm.arg = arg;
    return assay_arm_serve_all(&arm);
}

/* FNV-1a over bytes, for hash callbacks: start with assay_arm_hash(0, ...), then pass in what it returned. */
static inline uint64_t assay_arm_hash(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *byte = (const unsigned char *)data;
    size_t               i;
    if (hash == 0)
        hash = 0xcbf29ce484222325u;
    for (i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

/* --- The implementation; use nothing below ------------------------------------------------------------------- */

enum { ASSAY_ARM_MAX_SHOTS = 4096, ASSAY_ARM_REQUEST_BYTES = 256, ASSAY_ARM_SHOT_BYTES = 60 };

typedef struct assay_arm_state {
    const assay_arm *arm;
    int              out;                         /* what was standard output */
    char             in[ASSAY_ARM_REQUEST_BYTES]; /* read, but not yet answered */
    size_t           n_in, n_line;                /* bytes in it, and bytes of its first line with the newline */
    uint64_t         wall[ASSAY_ARM_MAX_SHOTS], cpu[ASSAY_ARM_MAX_SHOTS];
    char             text[ASSAY_ARM_MAX_SHOTS * ASSAY_ARM_SHOT_BYTES + 256];
    size_t           n_text;
} assay_arm_state;

static inline uint64_t assay_arm_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t assay_arm_cpu_ns(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    return assay_arm_ns(CLOCK_THREAD_CPUTIME_ID);
#else
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000u +
           ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000u;
#endif
}

/* Involuntary context switches so far. */
static inline long assay_arm_switches(void)
{
    struct rusage u;
#ifdef RUSAGE_THREAD
    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
#else
    return getrusage(RUSAGE_SELF, &u) == 0 ? u.ru_nivcsw : 0;
#endif
}

static inline void assay_arm_put(assay_arm_state *s, const char *text)
{
    size_t n = strlen(text);
    if (n > sizeof s->text - s->n_text)
        n = sizeof s->text - s->n_text;
    memcpy(s->text + s->n_text, text, n);
    s->n_text += n;
}

/* A whole number, in a form that does not depend on the locale. */
static inline void assay_arm_put_whole(assay_arm_state *s, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    assay_arm_put(s, digits);
}

/* " 123.456789": ns per call. */
static inline void assay_arm_put_share(assay_arm_state *s, uint64_t ns, uint64_t calls)
{
    char digits[8];
    assay_arm_put(s, " ");
    assay_arm_put_whole(s, ns / calls);
    snprintf(digits, sizeof digits, ".%06u", (unsigned)(ns % calls * 1000000u / calls));
    assay_arm_put(s, digits);
}

/* Writes what was put; returns 0 when nobody reads it any more. */
static inline int assay_arm_flush(assay_arm_state *s)
{
    size_t done = 0;
    while (done < s->n_text) {
        ssize_t n = write(s->out, s->text + done, s->n_text - done);
        if (n < 0 && errno != EINTR)
            return 0;
        done += n > 0 ? (size_t)n : 0;
    }
    s->n_text = 0;
    return 1;
}

static inline void assay_arm_block(assay_arm_state *s, uint64_t warm, uint64_t calls, uint64_t n)
{
    void (*volatile call)(void *) = s->arm->call; /* volatile: calls must neither be merged nor moved across the stamps */
    void    *arg = s->arm->arg;
    uint64_t i, k, wall, cpu;
    long     switches;
    if (warm)
        call(arg);
    switches = assay_arm_switches();
    for (i = 0; i < n; i++) {
        cpu = assay_arm_cpu_ns();
        wall = assay_arm_ns(CLOCK_MONOTONIC);
        for (k = 0; k < calls; k++)
            call(arg);
        s->wall[i] = assay_arm_ns(CLOCK_MONOTONIC) - wall;
        s->cpu[i] = assay_arm_cpu_ns() - cpu;
    }
    switches = assay_arm_switches() - switches;
    assay_arm_put(s, "ok ");
    assay_arm_put_whole(s, (uint64_t)switches);
    for (i = 0; i < n; i++) {
        assay_arm_put_share(s, s->wall[i], calls);
        if (s->arm->by_wall)
            assay_arm_put(s, " -");
        else
            assay_arm_put_share(s, s->cpu[i], calls);
    }
}

static inline void assay_arm_put_count(assay_arm_state *s, const char *key, double value)
{
    if (!(value > 0 && value < 1e18))
        return;
    assay_arm_put(s, key);
    assay_arm_put_whole(s, (uint64_t)value);
}

static inline void assay_arm_ledger(assay_arm_state *s)
{
    assay_arm_put(s, "ok");
    assay_arm_put_count(s, " flops=", s->arm->flops);
    assay_arm_put_count(s, " bytes=", s->arm->bytes);
    assay_arm_put_count(s, " allocations=", s->arm->allocations);
    assay_arm_put_count(s, " launches=", s->arm->launches);
    assay_arm_put_count(s, " peak=", s->arm->peak_bytes);
}

static inline void assay_arm_hash_put(assay_arm_state *s)
{
    char     digits[32];
    uint64_t hash = s->arm->hash ? s->arm->hash(s->arm->arg) : 0;
    snprintf(digits, sizeof digits, "ok %016llx", (unsigned long long)hash);
    assay_arm_put(s, digits);
}

/* Reads digits, at most `max`, after one blank; *at moves past them. */
static inline int assay_arm_number(const char **at, uint64_t max, uint64_t *out)
{
    const char *c = *at;
    uint64_t    value = 0;
    if (*c++ != ' ' || *c < '0' || *c > '9')
        return 0;
    for (; *c >= '0' && *c <= '9'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (digit > max || value > (max - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    *at = c;
    *out = value;
    return 1;
}

/* Whether the line begins with the verb; *rest is what follows it. */
static inline int assay_arm_verb(const char *line, const char *verb, const char **rest)
{
    *rest = line + strlen(verb);
    return !strncmp(line, verb, strlen(verb));
}

/* Puts the answer to a line; returns 0 when the line was "end". */
static inline int assay_arm_answer(assay_arm_state *s, const char *line)
{
    const char *at;
    uint64_t    seed, warm, calls, n;
    if (!strcmp(line, "end"))
        return 0;
    if (!strcmp(line, "hash")) {
        assay_arm_hash_put(s);
    } else if (!strcmp(line, "ledger")) {
        assay_arm_ledger(s);
    } else if (assay_arm_verb(line, "launch", &at) && assay_arm_number(&at, ~(uint64_t)0, &seed) && !*at) {
        if (s->arm->launch)
            s->arm->launch(s->arm->arg, seed);
        assay_arm_put(s, "ok");
    } else if (assay_arm_verb(line, "block", &at) && assay_arm_number(&at, 1, &warm) &&
               assay_arm_number(&at, 1000000000u, &calls) && assay_arm_number(&at, ASSAY_ARM_MAX_SHOTS, &n) && !*at && calls && n) {
        assay_arm_block(s, warm, calls, n);
    } else {
        assay_arm_put(s, "error not understood: ");
        assay_arm_put(s, line);
    }
    assay_arm_put(s, "\n");
    return 1;
}

/* The oldest line in s->in as a string; NULL at the end of the input, and after a line that is too long, which is reported. */
static inline char *assay_arm_line(assay_arm_state *s)
{
    char *newline;
    while (!(newline = (char *)memchr(s->in, '\n', s->n_in))) {
        ssize_t n = s->n_in < sizeof s->in ? read(STDIN_FILENO, s->in + s->n_in, sizeof s->in - s->n_in) : 0;
        if (s->n_in == sizeof s->in) {
            assay_arm_put(s, "error a line is too long\n");
            assay_arm_flush(s);
        }
        if (n == 0 || (n < 0 && errno != EINTR))
            return NULL;
        s->n_in += n > 0 ? (size_t)n : 0;
    }
    *newline = 0;
    s->n_line = (size_t)(newline - s->in) + 1;
    return s->in;
}

static inline void assay_arm_line_done(assay_arm_state *s)
{
    s->n_in -= s->n_line;
    memmove(s->in, s->in + s->n_line, s->n_in);
}

static inline int assay_arm_talk(assay_arm_state *s)
{
    char *line;
    int   more = 1;
    assay_arm_put(s, "assay-arm 1 ");
    assay_arm_put(s, s->arm->name);
    assay_arm_put(s, s->arm->by_wall ? " by=wall\n" : " by=cpu\n");
    while (assay_arm_flush(s)) {
        if (!more || !(line = assay_arm_line(s)))
            return 0;
        more = assay_arm_answer(s, line);
        assay_arm_line_done(s);
    }
    return 1;
}

static inline int assay_arm_serve_all(const assay_arm *arm)
{
    static assay_arm_state s;
    void (*before)(int);
    int code;
    memset(&s, 1, sizeof s); /* touched now, so that no page is new between two stamps */
    s.arm = arm;
    s.n_in = s.n_text = 0;
    fflush(stdout);
    s.out = dup(STDOUT_FILENO);
    if (s.out < 0)
        return 1;
    dup2(STDERR_FILENO, STDOUT_FILENO);
    before = signal(SIGPIPE, SIG_IGN); /* when assay goes away, write() says so and main() still cleans up */
    code = assay_arm_talk(&s);
    fflush(stdout);
    dup2(s.out, STDOUT_FILENO);
    close(s.out);
    signal(SIGPIPE, before);
    return code;
}

#endif
