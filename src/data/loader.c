/* loader.c - batches: a bounded ring that threads fill and one consumer empties.
 *
 * Batch number t (a ticket: epoch * batches per epoch + index) goes to slot t % prefetch.  A thread takes the next ticket when its slot is
 * empty, fills it without a lock, and says that it is ready; the consumer takes tickets in order.  So the order of batches does not depend
 * on the threads, and what a batch has is a pure function of its ticket.  A whole batch per thread, and not a share of each batch: threads
 * then meet only at the ring, once per batch. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "data/reader.h"

enum { MAX_THREADS = 64, MAX_PREFETCH = 4096, ALIGN = 64 };

typedef enum slot_state { SLOT_EMPTY, SLOT_FILLING, SLOT_READY, SLOT_FAILED, SLOT_LENT } slot_state;

typedef struct slot {
    slot_state   state; /* under the mutex, as all of the loader that changes */
    uint8_t     *input[AS_DATA_MAX_INPUTS], *target;
    int64_t      n;
    assay_status status; /* SLOT_FAILED */
    char         why[512];
} slot;

typedef struct producer {
    as_loader *loader;
    pthread_t  thread;
    int        number;
    as_fetch   fetch;
} producer;

struct as_loader {
    const as_data    *data;
    as_loader_options options;
    as_clock          clock;
    int64_t           n_batches;                                     /* per epoch */
    size_t            input_bytes[AS_DATA_MAX_INPUTS], target_bytes; /* of one example */
    size_t            total_bytes;
    void             *memory;
    slot             *slots;
    int               n_slots;
    producer         *producers; /* at least one: with threads = 0 it is the consumer's own */
    int               n_started;

    pthread_mutex_t mutex;
    pthread_cond_t  ready; /* a slot is ready or failed, or a thread has stopped filling */
    pthread_cond_t  room;  /* a slot is empty, or the threads shall stop */
    bool            stop, paused;
    int             n_filling;
    int64_t         next_fill, next_give, end; /* tickets; end: of `once` */
    as_loader_stats stats;
    uint64_t        began; /* ticks */

    as_loader_event *events; /* NULL: none are noted */
    size_t           n_events, cap_events;
    uint64_t         events_lost;
};

/* --- Options ------------------------------------------------------------------------------------------------------ */

as_loader_options as_loader_training(int64_t batch, uint64_t seed)
{
    return (as_loader_options){
        .batch = batch, .seed = seed, .shuffle = true, .augment = true, .threads = 1, .prefetch = 4, .mmap = true};
}

as_loader_options as_loader_evaluating(int64_t batch)
{
    return (as_loader_options){.batch = batch, .keep_last = true, .once = true, .threads = 1, .prefetch = 4, .mmap = true};
}

static assay_status parse_word(assay_env *env, const char *key, const char *value, as_loader_options *o)
{
    int64_t n;
    bool    is_threads = !strcmp(key, "threads");
    if (is_threads || !strcmp(key, "prefetch")) {
        int least = is_threads ? 0 : 1, most = is_threads ? MAX_THREADS : MAX_PREFETCH;
        if (!as_parse_i64(value, &n) || n < least || n > most)
            return as_fail(env, ASSAY_BAD_INPUT, "loader: %s=%s: expected a whole number from %d to %d", key, value, least, most);
        *(is_threads ? &o->threads : &o->prefetch) = (int)n;
        return ASSAY_OK;
    }
    bool *flag = !strcmp(key, "mmap")        ? &o->mmap
                 : !strcmp(key, "shuffle")   ? &o->shuffle
                 : !strcmp(key, "keep_last") ? &o->keep_last
                                             : NULL;
    if (!flag)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "loader: unknown word \"%s\"; known: threads=N, prefetch=N, mmap=on|off, shuffle=on|off, keep_last=on|off",
                       key);
    if (!as_parse_bool(value, flag))
        return as_fail(env, ASSAY_BAD_INPUT, "loader: %s=%s: expected on or off", key, value);
    return ASSAY_OK;
}

assay_status as_loader_options_parse(assay_env *env, const char *text, as_loader_options *out)
{
    as_loader_options o = *out;
    for (const char *at = text ? text : ""; *at;) {
        char   word[128];
        size_t n = strcspn(at, ",");
        char  *equals = NULL;
        if (n && n < sizeof word && !(at[n] && !at[n + 1])) {
            memcpy(word, at, n);
            word[n] = '\0';
            equals = strchr(word, '=');
        }
        if (!equals)
            return as_fail(env, ASSAY_BAD_INPUT,
                           "loader: \"%s\": expected key=value with commas between them, for example threads=2,prefetch=4,mmap=on",
                           text);
        *equals = '\0';
        AS_TRY(parse_word(env, word, equals + 1, &o));
        at += n + (at[n] == ',');
    }
    *out = o;
    return ASSAY_OK;
}

/* --- Filling -------------------------------------------------------------------------------------------------------- */

static bool fill_example(as_loader *loader, slot *s, int64_t k, int64_t number, const as_augment *augment, as_fetch *fetch)
{
    const as_data *data = loader->data;
    as_raw         raw = {0};
    if (!data->source->reader->read(data->source, number, fetch, &raw))
        return false;
    for (int i = 0; i < data->source->n_inputs; i++)
        if (!as_preprocess_input(data, i, raw.input[i], number, augment, s->input[i] + (size_t)k * loader->input_bytes[i]))
            return as_fetch_fail(fetch, ASSAY_UNSUPPORTED, "data: %s: values of type %s cannot become f32", data->source->spec.text,
                                 as_dtype_name(data->source->input[i].dtype));
    return data->target_kind == AS_TARGET_NONE ||
           as_preprocess_target(data, raw.target, number, fetch, s->target + (size_t)k * loader->target_bytes);
}

static bool fill(as_loader *loader, int64_t ticket, slot *s, as_fetch *fetch)
{
    const as_data           *data = loader->data;
    const as_loader_options *o = &loader->options;
    int64_t                  epoch = ticket / loader->n_batches, first = ticket % loader->n_batches * o->batch;
    as_augment               augment = {.on = o->augment, .seed = o->seed, .epoch = epoch};
    as_order                 order;
    for (int i = 0; i < data->source->n_files; i++)
        if (!as_data_file_same(&data->source->files[i], fetch))
            return false;
    if (o->shuffle)
        as_order_make(&order, o->seed, AS_STREAM_ORDER, epoch, data->n);
    s->n = data->n - first < o->batch ? data->n - first : o->batch;
    for (int64_t k = 0; k < s->n; k++) {
        int64_t example = o->shuffle ? as_order_at(&order, first + k) : first + k;
        if (!fill_example(loader, s, k, as_data_index(data, example), &augment, fetch))
            return false;
    }
    return true;
}

static void event_add(as_loader *loader, int thread, as_loader_act act, uint64_t begin, uint64_t end)
{
    if (!loader->events)
        return;
    if (loader->n_events == loader->cap_events)
        loader->events_lost++;
    else
        loader->events[loader->n_events++] = (as_loader_event){begin, end, (uint16_t)thread, (uint16_t)act};
}

/* Fills the slot of a ticket that was taken; called and returns with the mutex held. */
static void fill_ticket(as_loader *loader, int64_t ticket, producer *p)
{
    as_fetch *fetch = &p->fetch;
    slot     *s = &loader->slots[ticket % loader->n_slots];
    s->state = SLOT_FILLING;
    loader->n_filling++;
    pthread_mutex_unlock(&loader->mutex);
    uint64_t from = as_clock_now(&loader->clock), bytes = fetch->bytes_read;
    fetch->status = ASSAY_OK;
    bool     ok = fill(loader, ticket, s, fetch);
    uint64_t to = as_clock_now(&loader->clock);
    pthread_mutex_lock(&loader->mutex);
    loader->stats.fill_ns += (uint64_t)as_clock_ns(&loader->clock, to - from);
    loader->stats.fills++;
    loader->stats.fill_examples += ok ? (uint64_t)s->n : 0;
    loader->stats.bytes_read += fetch->bytes_read - bytes;
    event_add(loader, p->number, AS_LOADER_FILLS, from, to);
    if (!ok) {
        s->status = fetch->status;
        memcpy(s->why, fetch->why, sizeof s->why);
    }
    s->state = ok ? SLOT_READY : SLOT_FAILED;
    loader->n_filling--;
}

static void count_wait(as_loader *loader, uint64_t from, uint64_t *total_ns, uint64_t *waits, uint64_t *bins)
{
    uint64_t ns = (uint64_t)as_clock_ns(&loader->clock, as_clock_now(&loader->clock) - from);
    int      bin = ns ? 63 - __builtin_clzll(ns) : 0;
    *total_ns += ns;
    ++*waits;
    bins[bin < AS_LOADER_BINS ? bin : AS_LOADER_BINS - 1]++;
}

static bool ring_is_full(const as_loader *loader) { return loader->slots[loader->next_fill % loader->n_slots].state != SLOT_EMPTY; }
static bool has_nothing_to_do(const as_loader *loader) { return loader->paused || loader->next_fill >= loader->end; }

static void *producer_main(void *arg)
{
    producer  *p = arg;
    as_loader *loader = p->loader;
    pthread_mutex_lock(&loader->mutex);
    while (!loader->stop) {
        if (has_nothing_to_do(loader)) {
            pthread_cond_wait(&loader->room, &loader->mutex);
        } else if (ring_is_full(loader)) {
            uint64_t from = as_clock_now(&loader->clock);
            while (!loader->stop && !has_nothing_to_do(loader) && ring_is_full(loader))
                pthread_cond_wait(&loader->room, &loader->mutex);
            event_add(loader, p->number, AS_LOADER_IS_FULL, from, as_clock_now(&loader->clock));
            count_wait(loader, from, &loader->stats.producer_wait_ns, &loader->stats.producer_waits, loader->stats.producer_bins);
        } else {
            fill_ticket(loader, loader->next_fill++, p);
            pthread_cond_broadcast(&loader->ready);
        }
    }
    pthread_mutex_unlock(&loader->mutex);
    return NULL;
}

/* --- Opening and closing ---------------------------------------------------------------------------------------------- */

static size_t padded(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static bool field_bytes(const as_data_field *field, int64_t batch, size_t *one, size_t *all)
{
    size_t n = (size_t)as_shape_count(&field->shape) * as_dtype_bytes(field->dtype), total;
    *one = n;
    if (__builtin_mul_overflow(n, (size_t)batch, &total) || total > SIZE_MAX / 4 ||
        __builtin_add_overflow(*all, padded(total), all))
        return false;
    return true;
}

/* One block: the slots' fields, then each thread's scratch. */
static assay_status take_memory(assay_env *env, as_loader *loader)
{
    const as_data *data = loader->data;
    int64_t        batch = loader->options.batch;
    int            n_producers = loader->options.threads ? loader->options.threads : 1;
    size_t         per_slot = 0, scratch = padded(data->source->scratch_bytes), ring;
    bool           ok = true;
    for (int i = 0; i < data->source->n_inputs; i++)
        ok = ok && field_bytes(&data->input[i], batch, &loader->input_bytes[i], &per_slot);
    if (data->target_kind != AS_TARGET_NONE)
        ok = ok && field_bytes(&data->target, batch, &loader->target_bytes, &per_slot);
    ok = ok && !__builtin_mul_overflow(per_slot, (size_t)loader->n_slots, &ring) &&
         !__builtin_add_overflow(ring, scratch * (size_t)n_producers, &loader->total_bytes);
    loader->slots = calloc((size_t)loader->n_slots, sizeof *loader->slots);
    loader->producers = calloc((size_t)n_producers, sizeof *loader->producers);
    if (!ok || !loader->slots || !loader->producers || posix_memalign(&loader->memory, ALIGN, loader->total_bytes)) {
        loader->memory = NULL;
        return as_fail(env, ASSAY_NO_MEMORY, "loader: not enough memory for %d batches of %" PRId64 " examples", loader->n_slots,
                       batch);
    }
    uint8_t *at = loader->memory;
    for (int s = 0; s < loader->n_slots; s++) {
        for (int i = 0; i < data->source->n_inputs; i++) {
            loader->slots[s].input[i] = at;
            at += padded(loader->input_bytes[i] * (size_t)batch);
        }
        loader->slots[s].target = at;
        at += padded(loader->target_bytes * (size_t)batch);
    }
    for (int p = 0; p < n_producers; p++) {
        loader->producers[p] =
            (producer){.loader = loader, .number = p, .fetch = {.scratch = at, .scratch_bytes = data->source->scratch_bytes}};
        at += scratch;
    }
    return ASSAY_OK;
}

/* Between two batches that the consumer takes, the threads fill every slot at most once, and each wait is followed by a filling or lasts. */
static assay_status take_events(assay_env *env, as_loader *loader)
{
    if (!loader->options.events || !loader->options.threads)
        return ASSAY_OK;
    loader->cap_events = 4 * ((size_t)loader->n_slots + (size_t)loader->options.threads);
    loader->events = calloc(loader->cap_events, sizeof *loader->events);
    if (!loader->events)
        return as_fail(env, ASSAY_NO_MEMORY, "loader: not enough memory for the timeline of %d threads", loader->options.threads);
    loader->total_bytes += loader->cap_events * sizeof *loader->events;
    return ASSAY_OK;
}

/* Signals are for the program's own thread. */
static int start_threads(as_loader *loader)
{
    sigset_t all, before;
    int      error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < loader->options.threads && !error; i++) {
        error = pthread_create(&loader->producers[i].thread, NULL, producer_main, &loader->producers[i]);
        loader->n_started += !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static assay_status check_options(assay_env *env, const as_data *data, const as_loader_options *o)
{
    if (o->batch < 1 || o->threads < 0 || o->threads > MAX_THREADS || o->prefetch < 1 || o->prefetch > MAX_PREFETCH)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "loader: a batch of %" PRId64 ", %d threads and %d batches ahead; expected at least 1, 0 to %d and 1 to %d",
                       o->batch, o->threads, o->prefetch, MAX_THREADS, MAX_PREFETCH);
    if (!o->keep_last && data->n < o->batch)
        return as_fail(env, ASSAY_BAD_INPUT, "loader: %s has %" PRId64 " examples, which is less than one batch of %" PRId64,
                       data->source->spec.text, data->n, o->batch);
    if (!data->is_fitted)
        return as_fail(env, ASSAY_INTERNAL, "loader: %s: normalize has no statistics yet: as_data_fit() comes first",
                       data->source->spec.text);
    return ASSAY_OK;
}

static void set_ticket(as_loader *loader, int64_t ticket)
{
    loader->next_fill = loader->next_give = ticket;
    loader->end = loader->options.once ? (ticket / loader->n_batches + 1) * loader->n_batches : INT64_MAX;
}

assay_status as_loader_open(assay_env *env, const as_data *data, const as_loader_options *options, as_loader **out)
{
    AS_TRY(check_options(env, data, options));
    as_loader *loader = calloc(1, sizeof *loader);
    if (!loader)
        return as_fail(env, ASSAY_NO_MEMORY, "loader: not enough memory");
    loader->data = data;
    loader->options = *options;
    if (loader->options.batch > data->n)
        loader->options.batch = data->n; /* keep_last: one batch has them all */
    loader->clock = env->clock;
    loader->n_batches = options->keep_last ? (data->n - 1) / loader->options.batch + 1 : data->n / loader->options.batch;
    loader->n_slots = options->threads ? options->prefetch : 1;
    loader->began = as_clock_now(&loader->clock);
    set_ticket(loader, 0);
    pthread_mutex_init(&loader->mutex, NULL);
    pthread_cond_init(&loader->ready, NULL);
    pthread_cond_init(&loader->room, NULL);
    assay_status status = take_memory(env, loader);
    if (status == ASSAY_OK)
        status = take_events(env, loader);
    int error = status == ASSAY_OK ? start_threads(loader) : 0;
    if (error)
        status = as_fail(env, ASSAY_IO, "loader: cannot start %d threads: %s", options->threads, strerror(error));
    if (status != ASSAY_OK) {
        as_loader_free(loader);
        return status;
    }
    *out = loader;
    return ASSAY_OK;
}

void as_loader_free(as_loader *loader)
{
    if (!loader)
        return;
    pthread_mutex_lock(&loader->mutex);
    loader->stop = true;
    pthread_cond_broadcast(&loader->room);
    pthread_mutex_unlock(&loader->mutex);
    for (int i = 0; i < loader->n_started; i++)
        pthread_join(loader->producers[i].thread, NULL);
    pthread_cond_destroy(&loader->room);
    pthread_cond_destroy(&loader->ready);
    pthread_mutex_destroy(&loader->mutex);
    free(loader->memory);
    free(loader->events);
    free(loader->producers);
    free(loader->slots);
    free(loader);
}

/* --- Taking batches ------------------------------------------------------------------------------------------------------ */

static as_view batch_view(const as_data_field *field, int64_t n, void *memory)
{
    as_shape shape = {.rank = field->shape.rank + 1, .dim = {n}};
    for (int i = 0; i < field->shape.rank; i++)
        shape.dim[i + 1] = field->shape.dim[i];
    return as_view_of(memory, field->dtype, &shape);
}

static as_batch lend(as_loader *loader, int64_t ticket)
{
    const as_data *data = loader->data;
    int            at = (int)(ticket % loader->n_slots);
    slot          *s = &loader->slots[at];
    as_batch       batch = {.n = s->n,
                            .epoch = ticket / loader->n_batches,
                            .index = ticket % loader->n_batches,
                            .n_inputs = data->source->n_inputs,
                            .slot = at};
    for (int i = 0; i < batch.n_inputs; i++)
        batch.input[i] = batch_view(&data->input[i], s->n, s->input[i]);
    if (data->target_kind != AS_TARGET_NONE)
        batch.target = batch_view(&data->target, s->n, s->target);
    s->state = SLOT_LENT;
    loader->next_give++;
    loader->stats.n_batches++;
    loader->stats.n_examples += (uint64_t)s->n;
    return batch;
}

static bool is_settled(const slot *s) { return s->state == SLOT_READY || s->state == SLOT_FAILED; }

static void wait_for(as_loader *loader, int64_t ticket, slot *s)
{
    uint64_t from = as_clock_now(&loader->clock);
    if (loader->options.threads)
        while (!is_settled(s))
            pthread_cond_wait(&loader->ready, &loader->mutex);
    else {
        loader->next_fill = ticket + 1;
        fill_ticket(loader, ticket, &loader->producers[0]);
    }
    count_wait(loader, from, &loader->stats.consumer_wait_ns, &loader->stats.consumer_waits, loader->stats.consumer_bins);
}

assay_status as_loader_next(assay_env *env, as_loader *loader, as_batch *out)
{
    pthread_mutex_lock(&loader->mutex);
    int64_t      ticket = loader->next_give;
    slot        *s = &loader->slots[ticket % loader->n_slots];
    assay_status status = ASSAY_OK;
    if (ticket >= loader->end)
        *out = (as_batch){.epoch = ticket / loader->n_batches, .index = ticket % loader->n_batches, .slot = -1};
    else if (s->state == SLOT_LENT)
        status = as_fail(env, ASSAY_INTERNAL, "loader: all %d batches are on loan", loader->n_slots);
    else {
        if (!is_settled(s))
            wait_for(loader, ticket, s);
        if (s->state == SLOT_FAILED)
            status = as_fail(env, s->status, "%s", s->why);
        else
            *out = lend(loader, ticket);
    }
    pthread_mutex_unlock(&loader->mutex);
    return status;
}

void as_loader_release(as_loader *loader, const as_batch *batch)
{
    if (batch->n == 0)
        return;
    pthread_mutex_lock(&loader->mutex);
    loader->slots[batch->slot].state = SLOT_EMPTY;
    pthread_cond_broadcast(&loader->room);
    pthread_mutex_unlock(&loader->mutex);
}

int64_t as_loader_batches(const as_loader *loader) { return loader->n_batches; }
size_t  as_loader_bytes(const as_loader *loader) { return loader->total_bytes; }

void as_loader_position(const as_loader *loader, int64_t *epoch, int64_t *index)
{
    /* next_give is changed by the consumer alone, who calls this. */
    *epoch = loader->next_give / loader->n_batches;
    *index = loader->next_give % loader->n_batches;
}

assay_status as_loader_seek(assay_env *env, as_loader *loader, int64_t epoch, int64_t index)
{
    if (epoch < 0 || index < 0 || index >= loader->n_batches || epoch > (INT64_MAX - index) / loader->n_batches - 2)
        return as_fail(env, ASSAY_BAD_INPUT, "loader: no batch %" PRId64 " in epoch %" PRId64 "; an epoch has %" PRId64 " batches",
                       index, epoch, loader->n_batches);
    assay_status status = ASSAY_OK;
    pthread_mutex_lock(&loader->mutex);
    loader->paused = true;
    while (loader->n_filling)
        pthread_cond_wait(&loader->ready, &loader->mutex);
    for (int i = 0; i < loader->n_slots; i++)
        if (loader->slots[i].state == SLOT_LENT)
            status = as_fail(env, ASSAY_INTERNAL, "loader: a batch is on loan: release it before the position is set");
    for (int i = 0; i < loader->n_slots && status == ASSAY_OK; i++)
        loader->slots[i].state = SLOT_EMPTY;
    if (status == ASSAY_OK)
        set_ticket(loader, epoch * loader->n_batches + index);
    loader->paused = false;
    pthread_cond_broadcast(&loader->room);
    pthread_mutex_unlock(&loader->mutex);
    return status;
}

/* --- Accounting -------------------------------------------------------------------------------------------------------- */

void as_loader_stats_read(as_loader *loader, as_loader_stats *out)
{
    pthread_mutex_lock(&loader->mutex);
    *out = loader->stats;
    out->elapsed_ns = (uint64_t)as_clock_ns(&loader->clock, as_clock_now(&loader->clock) - loader->began);
    out->threads = loader->options.threads;
    pthread_mutex_unlock(&loader->mutex);
}

void as_loader_stats_reset(as_loader *loader)
{
    pthread_mutex_lock(&loader->mutex);
    loader->stats = (as_loader_stats){0};
    loader->began = as_clock_now(&loader->clock);
    pthread_mutex_unlock(&loader->mutex);
}

size_t as_loader_events_take(as_loader *loader, as_loader_event *out, size_t most, uint64_t *lost)
{
    if (!loader->events)
        return 0;
    pthread_mutex_lock(&loader->mutex);
    size_t n = loader->n_events < most ? loader->n_events : most;
    memcpy(out, loader->events, n * sizeof *out);
    memmove(loader->events, loader->events + n, (loader->n_events - n) * sizeof *out);
    loader->n_events -= n;
    *lost += loader->events_lost;
    loader->events_lost = 0;
    pthread_mutex_unlock(&loader->mutex);
    return n;
}

assay_metric as_loader_rate(const as_loader_stats *stats)
{
    if (!stats->fill_ns || !stats->fill_examples)
        return as_metric_unavailable("1/s", "no batch has been filled yet");
    int threads = stats->threads ? stats->threads : 1;
    return as_metric_derived((double)stats->fill_examples / (double)stats->fill_ns * 1e9 * threads, NAN, NAN, stats->fills, "1/s",
                             "examples filled / time spent filling * threads");
}
