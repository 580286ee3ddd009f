/* keeper.c - one thread that writes checkpoints from a copy.
 *
 * The thread has an env of its own, because a message belongs to one thread.  So a second Ctrl-C, which ends the process at once, leaves its
 * temporary file behind, as SIGKILL does; the next run removes it. */
#include "train/keeper.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

enum { ALIGN = 64 };

typedef enum keeper_state { KEEPER_IDLE, KEEPER_GIVEN, KEEPER_DONE } keeper_state;

struct as_keeper {
    assay_env       env; /* of the thread */
    as_checkpoints *folder;
    pthread_t       thread;

    uint8_t            *memory; /* tensors, then names */
    size_t              capacity;
    as_named_view      *items;
    size_t              n_items, cap_items;
    as_checkpoint_place place;

    pthread_mutex_t mutex;
    pthread_cond_t  changed;
    keeper_state    state;
    bool            stop;
    as_kept         kept;
};

static size_t padded(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

size_t as_keeper_count(const as_named_view *items, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += padded(as_view_bytes(&items[i].view)) + padded(strlen(items[i].name) + 1);
    return bytes;
}

size_t as_keeper_bytes(const as_keeper *k) { return k->capacity; }

static void write_given(as_keeper *k)
{
    as_kept kept = {.updates = k->place.updates, .begin_ticks = as_clock_now(&k->env.clock)};
    kept.status = as_checkpoints_save(&k->env, k->folder, &k->place, k->items, k->n_items);
    kept.end_ticks = as_clock_now(&k->env.clock);
    if (kept.status != ASSAY_OK)
        snprintf(kept.why, sizeof kept.why, "%s", assay_message(&k->env));
    k->kept = kept;
}

static void *keeper_main(void *arg)
{
    as_keeper *k = arg;
    pthread_mutex_lock(&k->mutex);
    for (;;) {
        while (!k->stop && k->state != KEEPER_GIVEN)
            pthread_cond_wait(&k->changed, &k->mutex);
        if (k->state != KEEPER_GIVEN)
            break; /* what was given is written before it stops */
        pthread_mutex_unlock(&k->mutex);
        write_given(k);
        pthread_mutex_lock(&k->mutex);
        k->state = KEEPER_DONE;
        pthread_cond_broadcast(&k->changed);
    }
    pthread_mutex_unlock(&k->mutex);
    return NULL;
}

/* --- Opening and closing ---------------------------------------------------------------------------------------- */

static bool room_make(as_keeper *k, size_t bytes)
{
    if (bytes <= k->capacity)
        return true;
    void *memory;
    if (posix_memalign(&memory, ALIGN, bytes))
        return false;
    free(k->memory);
    k->memory = memory;
    k->capacity = bytes;
    return true;
}

/* Signals are for the program's own thread. */
static int thread_start(as_keeper *k)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&k->thread, NULL, keeper_main, k);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void drop(as_keeper *k)
{
    pthread_cond_destroy(&k->changed);
    pthread_mutex_destroy(&k->mutex);
    free(k->memory);
    free(k->items);
    free(k);
}

assay_status as_keeper_open(assay_env *env, as_checkpoints *folder, size_t bytes, as_keeper **out)
{
    as_keeper *k = calloc(1, sizeof *k);
    if (!k)
        return as_fail(env, ASSAY_NO_MEMORY, "checkpoint: not enough memory to write beside the training");
    k->folder = folder;
    k->env.clock = env->clock;
    pthread_mutex_init(&k->mutex, NULL);
    pthread_cond_init(&k->changed, NULL);
    if (!room_make(k, bytes)) {
        drop(k);
        return as_fail(env, ASSAY_NO_MEMORY, "checkpoint: not enough memory for a copy of the state, %zu bytes", bytes);
    }
    int error = thread_start(k);
    if (error) {
        drop(k);
        return as_fail(env, ASSAY_IO, "checkpoint: cannot start a thread: %s", strerror(error));
    }
    *out = k;
    return ASSAY_OK;
}

void as_keeper_close(as_keeper *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->mutex);
    k->stop = true;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->mutex);
    pthread_join(k->thread, NULL);
    drop(k);
}

/* --- Giving and taking --------------------------------------------------------------------------------------------- */

static void copy(as_keeper *k, const as_named_view *items, size_t n)
{
    uint8_t *at = k->memory;
    for (size_t i = 0; i < n; i++) {
        k->items[i].view = as_view_of(at, items[i].view.dtype, &items[i].view.shape);
        as_view_copy(&k->items[i].view, &items[i].view);
        at += padded(as_view_bytes(&items[i].view));
    }
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(items[i].name) + 1;
        memcpy(at, items[i].name, length);
        k->items[i].name = (const char *)at;
        at += padded(length);
    }
    k->n_items = n;
}

assay_status as_keeper_give(assay_env *env, as_keeper *k, const as_checkpoint_place *place, const as_named_view *items, size_t n)
{
    pthread_mutex_lock(&k->mutex);
    bool is_idle = k->state == KEEPER_IDLE;
    pthread_mutex_unlock(&k->mutex);
    if (!is_idle)
        return as_fail(env, ASSAY_INTERNAL, "checkpoint: another one is under way");
    if (n > k->cap_items) {
        as_named_view *made = realloc(k->items, n * sizeof *made);
        if (!made)
            return as_fail(env, ASSAY_NO_MEMORY, "checkpoint: not enough memory for the list of its tensors");
        k->items = made;
        k->cap_items = n;
    }
    if (!room_make(k, as_keeper_count(items, n)))
        return as_fail(env, ASSAY_NO_MEMORY, "checkpoint: not enough memory for a copy of the state, %zu bytes",
                       as_keeper_count(items, n));
    copy(k, items, n);
    k->place = *place;
    k->env.clock = env->clock;
    pthread_mutex_lock(&k->mutex);
    k->state = KEEPER_GIVEN;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->mutex);
    return ASSAY_OK;
}

bool as_keeper_is_busy(as_keeper *k)
{
    pthread_mutex_lock(&k->mutex);
    bool is = k->state == KEEPER_GIVEN;
    pthread_mutex_unlock(&k->mutex);
    return is;
}

bool as_keeper_take(as_keeper *k, bool wait, as_kept *out)
{
    pthread_mutex_lock(&k->mutex);
    while (wait && k->state == KEEPER_GIVEN)
        pthread_cond_wait(&k->changed, &k->mutex);
    bool is_done = k->state == KEEPER_DONE;
    if (is_done) {
        *out = k->kept;
        k->state = KEEPER_IDLE;
    }
    pthread_mutex_unlock(&k->mutex);
    return is_done;
}
