/* fuzz_trace.c - the trace reader on any bytes: refuses or reads them, the same however they are split, and what it has read it can write. */
#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "trace/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A fuzzer never guesses a checksum: every chunk that is all there gets its right one, in the inputs that end with
 * an even byte. */
static void resum(uint8_t *data, size_t n)
{
    for (size_t at = AS_TRACE_HEAD_BYTES; n > at && n - at >= AS_CHUNK_HEAD_BYTES;) {
        uint64_t length = as_le64(data + at + 8);
        size_t   left = n - at - AS_CHUNK_HEAD_BYTES;
        if (length > left || as_chunk_padding(length) + AS_CRC_BYTES > left - length)
            return;
        size_t bytes = AS_CHUNK_HEAD_BYTES + (size_t)length + as_chunk_padding(length);
        as_le32_put(data + at + bytes, as_crc32(0, data + at, bytes));
        at += bytes + AS_CRC_BYTES;
    }
}

/* Reads what a reader of traces would: everything that the parser vouches for. */
static uint64_t use(const assay_trace *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n_spans; i++) {
        assert(t->spans[i].end_ticks >= t->spans[i].begin_ticks);
        if (t->spans[i].step >= 0)
            sum += t->steps[t->spans[i].step].flops;
    }
    for (size_t i = 0; i < t->n_readings; i++)
        sum += strlen(t->sensors[t->readings[i].sensor].name);
    for (size_t i = 0; i < t->n_samples; i++)
        sum += (t->samples[i].end_ticks - t->samples[i].begin_ticks) / t->samples[i].n_runs;
    for (size_t i = 0; i < t->n_totals; i++)
        sum += t->totals[i].count + strlen(t->steps[i].kernel);
    for (size_t i = 0; i < t->n_notes; i++)
        sum += strlen(t->notes[i].key) + strlen(t->notes[i].value);
    for (size_t i = 0; i < t->n_turns; i++) {
        assert(t->turns[i].arm < (uint32_t)t->n_arms);
        sum += strlen(t->arms[t->turns[i].arm].name);
        for (uint32_t k = 0; t->n_shots && k < t->turns[i].n_shots; k++)
            sum += t->shots[t->turns[i].first_shot + k].wall_ns > 0;
    }
    for (size_t i = 0; i < t->n_metrics; i++)
        sum += strlen(t->metrics[i].name) + strlen(t->metrics[i].unit);
    for (size_t i = 0; i < t->n_marks; i++)
        sum += strlen(t->marks[i].name);
    return sum;
}

/* Fed in pieces whose lengths the bytes themselves say. */
static assay_status fed(assay_env *env, const uint8_t *data, size_t n, assay_trace **out)
{
    as_trace_follow *f;
    assay_status     status = as_trace_follow_new(env, "fuzz", NULL, &f);
    for (size_t at = 0; at < n && status == ASSAY_OK;) {
        size_t step = 1 + data[at] % 97u;
        step = step < n - at ? step : n - at;
        status = as_trace_follow_feed(env, f, data + at, step);
        at += step;
    }
    if (status == ASSAY_OK)
        return as_trace_follow_finish(env, f, out);
    as_trace_follow_free(f);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_env env; /* a fake clock: no calibration for each input */
    as_clock_open_fake(&env.clock, 0);
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (size > 16 && !(data[size - 1] & 1))
        resum(copy, size);
    assay_trace *t = NULL, *again = NULL;
    assay_status whole = as_trace_parse(&env, "fuzz", copy, size, &t), split = fed(&env, copy, size, &again);
    assert(whole == split);
    assay_trace_free(again);
    (void)split;
    if (whole == ASSAY_OK) {
        volatile uint64_t sum = use(t);
        (void)sum;
        assay_status status = assay_trace_save(&env, t, "/dev/null");
        assert(status == ASSAY_OK);
        (void)status;
        assay_trace_free(t);
    }
    free(copy);
    return 0;
}
