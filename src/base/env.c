/* env.c - the context of every call, and how a failure becomes a sentence. */
#include "base/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const status_texts[ASSAY_N_STATUS] = {
    [ASSAY_OK] = "ok",
    [ASSAY_BAD_INPUT] = "bad input",
    [ASSAY_NOT_FOUND] = "not found",
    [ASSAY_IO] = "input or output failed",
    [ASSAY_UNSUPPORTED] = "not supported here",
    [ASSAY_NO_MEMORY] = "out of memory",
    [ASSAY_DEVICE] = "a device failed",
    [ASSAY_CANCELLED] = "cancelled",
    [ASSAY_INTERNAL] = "internal error",
    [ASSAY_TIMED_OUT] = "timed out",
};

const char *assay_status_text(assay_status status)
{
    return (unsigned)status < ASSAY_N_STATUS ? status_texts[status] : "unknown status";
}

bool as_without(const char *rung)
{
    size_t n = strlen(rung);
    for (const char *at = getenv("ASSAY_WITHOUT"); at && *at;) {
        size_t length = strcspn(at, ",");
        if (length == n && !strncmp(at, rung, n))
            return true;
        at += length;
        at += *at == ',';
    }
    return false;
}

/* ASSAY_CLOCK forces a clock: tests use the fake one, and a user in doubt the monotonic one. */
static void clock_choose(as_clock *clock)
{
    const char *name = getenv("ASSAY_CLOCK");
    if (name && !strcmp(name, "fake")) {
        as_clock_open_fake(clock, 0);
        clock->why = "ASSAY_CLOCK asks for it";
    } else if (name && !strcmp(name, "monotonic")) {
        as_clock_open_monotonic(clock);
        clock->why = "ASSAY_CLOCK asks for it";
    } else if (as_without("tsc")) {
        as_clock_open_monotonic(clock);
        clock->why = "ASSAY_WITHOUT takes the CPU's own counter away";
    } else {
        as_clock_open(clock);
        if (name && *name) /* there is no env yet to hold a message, and a typing error must not go unnoticed */
            clock->why = "ASSAY_CLOCK must be \"monotonic\" or \"fake\" and was ignored";
    }
}

assay_status assay_env_new(assay_env **out)
{
    if (!out)
        return ASSAY_BAD_INPUT;
    assay_env *env = calloc(1, sizeof *env);
    if (!env)
        return ASSAY_NO_MEMORY;
    atomic_init(&env->cancel, 0);
    clock_choose(&env->clock);
    *out = env;
    return ASSAY_OK;
}

void assay_env_free(assay_env *env) { free(env); }

const char *assay_message(const assay_env *env) { return env ? env->message : ""; }

void assay_cancel(assay_env *env) { atomic_store_explicit(&env->cancel, 1, memory_order_relaxed); }

/* Terminals obey control characters, and a message may quote bytes from a hostile file.  U+0080 to
 * U+009F are control characters too, in two bytes. */
static void make_printable(char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t        length = as_utf8_length(s + i, n - i);
        if (length == 0 || c < 0x20 || c == 0x7f) {
            s[i++] = '?';
        } else if (length == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0) {
            s[i++] = '?';
            s[i++] = '?';
        } else {
            i += length;
        }
    }
}

assay_status as_fail(assay_env *env, assay_status status, const char *format, ...)
{
    if (!env)
        return status;
    char    text[sizeof env->message]; /* into a buffer of its own, because the arguments may quote env->message */
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (wanted < 0) {
        snprintf(env->message, sizeof env->message, "%s (the message could not be written)", assay_status_text(status));
        return status;
    }
    size_t length = (size_t)wanted;
    if (length >= sizeof text) {
        length = sizeof text - 1 - strlen("...");
        for (int i = 0; i < 3 && ((unsigned char)text[length] & 0xc0) == 0x80; i++)
            length--; /* never cut a character in two */
        make_printable(text, length);
        memcpy(text + length, "...", sizeof "...");
        length += strlen("...");
    } else {
        make_printable(text, length);
    }
    memcpy(env->message, text, length + 1);
    return status;
}

void assay_on_progress(assay_env *env, assay_progress progress, void *arg)
{
    env->progress = progress;
    env->progress_arg = arg;
}
