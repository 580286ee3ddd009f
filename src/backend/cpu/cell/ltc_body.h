/* ltc_body.h - the body of k_ltc_f32_<machine>.c, after its simd_*.h: assay.LTC over a whole sequence.
 *
 * There are two ways; only the batch decides.  Up to 2 VW samples run side by side: all data is [slot][sample], a synapse is four
 * numbers for all lanes.  A remainder that would fill less than half a vector runs one sample at a time, VW targets side by side;
 * usually that is a single sample.  A sample takes the same way however the batch is split, so its bits are the same. */
#include <inttypes.h>
#include <stdio.h>

#include "backend/cpu/cell/ltc_flow.h"
#include "backend/cpu/cell/ltc_table.h"
#include "backend/cpu/simd/vmath.h"

enum { SIDE = 2 * VW }; /* samples of a block */

#define EACH_V V_UNROLL for (int i = 0; i < n_v; i++)

#ifndef LTC_GATHER
static inline vf gather(const float *base, const float *index)
{
    float   lanes[VW];
    int32_t at[VW];
    memcpy(at, index, sizeof at);
    for (int i = 0; i < VW; i++)
        lanes[i] = base[at[i]];
    return v_load(lanes);
}
#define LTC_GATHER gather
#endif

/* --- Synapses --- */

/* A slot's synapses, for n_v vectors of samples; n_v is a constant in every call. */
V_INLINE void slot_flow(const synapses *l, int64_t slot, const float *state, int n_v, flow *f)
{
    const float *g = l->groups + l->start[slot / VW] * GROUP + slot % VW, *end = g + l->degree[slot] * (int64_t)GROUP;
    for (; g + GROUP < end; g += 2 * GROUP) {
        const float *h = g + GROUP, *v = state + source(g) * SIDE, *u = state + source(h) * SIDE;
        vf           z[4];
        EACH_V       z[i] = v_fma(v_one(g + A * VW), v_load(v + i * VW), v_one(g + B * VW));
        EACH_V       z[n_v + i] = v_fma(v_one(h + A * VW), v_load(u + i * VW), v_one(h + B * VW));
        shut(z, 2 * n_v);
        EACH_V f[i] = flow_two(f[i], z[i], z[n_v + i], v_one(g + FLOW * VW), v_one(h + FLOW * VW), v_one(g + OPEN * VW),
                               v_one(h + OPEN * VW));
    }
    if (g < end) {
        const float *v = state + source(g) * SIDE;
        vf           z[2];
        EACH_V       z[i] = v_fma(v_one(g + A * VW), v_load(v + i * VW), v_one(g + B * VW));
        shut(z, n_v);
        EACH_V f[i] = flow_one(f[i], z[i], v_one(g + FLOW * VW), v_one(g + OPEN * VW));
    }
}

/* The synapses of a whole slice, for one sample. */
V_INLINE flow slice_flow(const synapses *l, int64_t slice, const float *state, flow f)
{
    enum { n = 4 };
    const float *g = l->groups + l->start[slice] * GROUP, *end = l->groups + l->start[slice + 1] * GROUP;
    vf           z[n];
    for (; g + 3 * GROUP < end; g += n * GROUP) {
        EACH_Z z[i] =
            v_fma(v_load(g + i * GROUP + A * VW), LTC_GATHER(state, g + i * GROUP + FROM * VW), v_load(g + i * GROUP + B * VW));
        shut(z, n);
        f = flow_two(f, z[0], z[1], v_load(g + FLOW * VW), v_load(g + GROUP + FLOW * VW), v_load(g + OPEN * VW),
                     v_load(g + GROUP + OPEN * VW));
        f = flow_two(f, z[2], z[3], v_load(g + 2 * GROUP + FLOW * VW), v_load(g + 3 * GROUP + FLOW * VW),
                     v_load(g + 2 * GROUP + OPEN * VW), v_load(g + 3 * GROUP + OPEN * VW));
    }
    for (; g < end; g += GROUP) {
        z[0] = v_fma(v_load(g + A * VW), LTC_GATHER(state, g + FROM * VW), v_load(g + B * VW));
        shut(z, 1);
        f = flow_one(f, z[0], v_load(g + FLOW * VW), v_load(g + OPEN * VW));
    }
    return f;
}

/* --- A block and a sample --- */

/* Rows of SIDE floats; a single sample uses a part of the same memory. */
typedef struct work {
    table                 t;
    const as_kernel_args *args;
    float                *x, *u;     /* [n_in + 1]: as given, and mapped; the last is 0 */
    float                *v, *next;  /* [slots + 1] */
    float                *num, *den; /* [slots]: what does not change between unfolds */
    float                *c;         /* [slots], of the memory cell */
    float                *read;      /* [n_motor]: after the output mapping */
    float                *dt;        /* [1] */
} work;

static size_t work_lay(const as_ltc *s, unsigned char *base, work *w)
{
    size_t at = 0, row = SIDE * sizeof(float), slots = (size_t)slots_of(s);
    w->x = piece(base, &at, (size_t)(s->n_in + 1) * row);
    w->u = piece(base, &at, (size_t)(s->n_in + 1) * row);
    w->v = piece(base, &at, (slots + 1) * row);
    w->next = piece(base, &at, (slots + 1) * row);
    w->num = piece(base, &at, slots * row);
    w->den = piece(base, &at, slots * row);
    w->c = piece(base, &at, s->memory ? slots * row : 0);
    w->read = piece(base, &at, (size_t)s->n_motor * row);
    w->dt = piece(base, &at, row);
    return at;
}

static const float *given(const work *w, int i) { return as_in_has(w->args->ctx, i) ? w->args->in[i].data : NULL; }
static float       *wanted(const work *w, int i)
{
    const as_node_ctx *n = w->args->ctx;
    return i < n->n_out && n->out[i].dtype != AS_NONE ? w->args->out[i].data : NULL;
}

/* `count` samples from b on; the lanes after them are 0. values NULL: zeros. */
static void state_load(const work *w, const float *values, int64_t b, int count, float *rows)
{
    int64_t units = w->t.head->s.n_units;
    memset(rows, 0, (size_t)w->t.slots * SIDE * sizeof *rows);
    for (int i = 0; values && i < count; i++)
        for (int64_t j = 0; j < units; j++)
            rows[w->t.inner.place[j] * SIDE + i] = values[(b + i) * units + j];
}

static void state_store(const work *w, const float *rows, int64_t b, int count, float *values)
{
    int64_t units = w->t.head->s.n_units;
    for (int i = 0; values && i < count; i++)
        for (int64_t j = 0; j < units; j++)
            values[(b + i) * units + j] = rows[w->t.inner.place[j] * SIDE + i];
}

/* Step t of the input, as given and mapped, and the time. */
static void input_load(const work *w, int64_t b, int count, int64_t t)
{
    const as_ltc *s = &w->t.head->s;
    const float  *x = given(w, AS_LTC_X), *iw = given(w, AS_LTC_INPUT_W), *ib = given(w, AS_LTC_INPUT_B),
                *time = given(w, AS_LTC_TIMESPANS);
    for (int i = 0; i < count; i++) {
        const float *from = x + ((b + i) * s->n_steps + t) * s->n_in;
        for (int64_t k = 0; k < s->n_in; k++)
            w->x[k * SIDE + i] = from[k];
        w->dt[i] = (time ? time[(b + i) * s->n_steps + t] : 1.0f) / (float)s->n_unfolds;
    }
    for (int64_t k = 0; k < s->n_in; k++)
        for (int i = 0; i < SIDE; i += VW)
            v_store(w->u + k * SIDE + i, v_fma(v_load(w->x + k * SIDE + i), v_set(iw ? iw[k] : 1.0f), v_set(ib ? ib[k] : 0.0f)));
}

/* The LSTM cell before the step: `next` gets the new state; c is updated in place. */
static void memory_step(const work *w, int n_v)
{
    const as_ltc *s = &w->t.head->s;
    const float  *w_in = given(w, AS_LTC_MEMORY_W), *b_in = given(w, AS_LTC_MEMORY_B), *w_rec = given(w, AS_LTC_MEMORY_R);
    int64_t       units = s->n_units;
    for (int64_t j = 0; j < units; j++) {
        int64_t at = (int64_t)w->t.inner.place[j] * SIDE;
        for (int i = 0; i < n_v; i++) {
            vf q[4];
            for (int k = 0; k < 4; k++)
                q[k] = v_one(b_in + k * units + j);
            for (int64_t m = 0; m < s->n_in; m++)
                for (int k = 0; k < 4; k++)
                    q[k] = v_fma(v_one(w_in + (k * units + j) * s->n_in + m), v_load(w->x + m * SIDE + i * VW), q[k]);
            for (int64_t m = 0; m < units; m++)
                for (int k = 0; k < 4; k++)
                    q[k] = v_fma(v_one(w_rec + (k * units + j) * units + m),
                                 v_load(w->v + (int64_t)w->t.inner.place[m] * SIDE + i * VW), q[k]);
            vf c = v_mul(v_load(w->c + at + i * VW), vm_sigmoid(v_add(q[2], v_set(1.0f))));
            c = v_fma(vm_tanh(q[0]), vm_sigmoid(q[1]), c);
            v_store(w->c + at + i * VW, c);
            v_store(w->next + at + i * VW, v_mul(vm_tanh(c), vm_sigmoid(q[3])));
        }
    }
}

static void swap(work *w)
{
    float *old = w->v;
    w->v = w->next;
    w->next = old;
}

/* The sensory synapses, then all unfolds of a step. */
V_INLINE void block_step(work *w, int n_v)
{
    const table *t = &w->t;
    int64_t      units = t->head->s.n_units, unfolds = t->head->s.n_unfolds;
    for (int64_t j = 0; j < units; j++) {
        int64_t at = t->inner.place[j];
        flow    f[2] = {{v_one(t->leak + at), v_one(t->rest + at)}, {v_one(t->leak + at), v_one(t->rest + at)}};
        slot_flow(&t->sensory, t->sensory.place[j], w->u, n_v, f);
        EACH_V
        {
            v_store(w->num + at * SIDE + i * VW, f[i].num);
            v_store(w->den + at * SIDE + i * VW, f[i].den);
        }
    }
    for (int64_t k = 0; k < unfolds; k++) {
        for (int64_t j = 0; j < units; j++) { /* units fill the first slots */
            int64_t at = j * SIDE;
            flow    f[2];
            EACH_V
            f[i] = (flow){v_load(w->num + at + i * VW), v_load(w->den + at + i * VW)};
            slot_flow(&t->inner, j, w->v, n_v, f);
            EACH_V
            v_store(w->next + at + i * VW, step(v_one(t->cm + j), v_load(w->v + at + i * VW), v_load(w->dt + i * VW), f[i]));
        }
        swap(w);
    }
}

/* y of `count` samples, whose lines are `line` floats apart. */
static void readout(const work *w, int count, float *y, int64_t line)
{
    const as_ltc *s = &w->t.head->s;
    const float  *ow = given(w, AS_LTC_OUTPUT_W), *ob = given(w, AS_LTC_OUTPUT_B), *fc = given(w, AS_LTC_FC_W),
                *bias = given(w, AS_LTC_FC_B);
    for (int64_t k = 0; k < s->n_motor; k++)
        for (int i = 0; i < SIDE; i += VW)
            v_store(w->read + k * SIDE + i, v_fma(v_load(w->v + (int64_t)w->t.inner.place[k] * SIDE + i), v_set(ow ? ow[k] : 1.0f),
                                                  v_set(ob ? ob[k] : 0.0f)));
    for (int64_t r = 0; r < s->n_out; r++) {
        float rows[SIDE];
        if (fc) {
            vf sum[2] = {v_set(bias ? bias[r] : 0.0f), v_set(bias ? bias[r] : 0.0f)};
            for (int64_t k = 0; k < s->n_motor; k++)
                for (int i = 0; i < 2; i++)
                    sum[i] = v_fma(v_set(fc[r * s->n_motor + k]), v_load(w->read + k * SIDE + i * VW), sum[i]);
            v_store(rows, sum[0]);
            v_store(rows + VW, sum[1]);
        }
        const float *from = fc ? rows : w->read + r * SIDE;
        for (int i = 0; i < count; i++)
            y[i * line + r] = from[i];
    }
}

static void block_run(work *w, int64_t b, int count)
{
    const as_ltc *s = &w->t.head->s;
    float        *y = wanted(w, 0);
    int           n_v = count > VW ? 2 : 1;
    int64_t       line = (s->sequences ? s->n_steps : 1) * s->n_out;
    memset(w->x, 0, (size_t)(s->n_in + 1) * SIDE * sizeof *w->x);
    memset(w->dt, 0, SIDE * sizeof *w->dt);
    memset(w->next, 0, (size_t)w->t.slots * SIDE * sizeof *w->next);
    state_load(w, given(w, AS_LTC_H0), b, count, w->v);
    if (s->memory)
        state_load(w, given(w, AS_LTC_C0), b, count, w->c);
    for (int64_t t = 0; t < s->n_steps; t++) {
        input_load(w, b, count, t);
        if (s->memory) {
            memory_step(w, n_v);
            swap(w);
        }
        if (n_v == 2)
            block_step(w, 2);
        else
            block_step(w, 1);
        if (s->sequences)
            readout(w, count, y + b * line + t * s->n_out, line);
    }
    if (!s->sequences)
        readout(w, count, y + b * line, line);
    state_store(w, w->v, b, count, wanted(w, 1));
    if (s->memory)
        state_store(w, w->c, b, count, wanted(w, 2));
}

/* --- One sample --- */

static void sample_step(work *w, float dt)
{
    const table *t = &w->t;
    float       *num = w->num + t->slots, *den = w->den + t->slots; /* in the slots of the sensory synapses */
    int64_t      units = t->head->s.n_units, slices = t->slots / VW;
    for (int64_t k = 0; k < slices; k++) {
        flow f = slice_flow(&t->sensory, k, w->u, (flow){v_zero(), v_zero()});
        v_store(num + k * VW, f.num);
        v_store(den + k * VW, f.den);
    }
    for (int64_t j = 0; j < units; j++) {
        int64_t at = t->inner.place[j], from = t->sensory.place[j];
        w->num[at] = t->leak[at] + num[from];
        w->den[at] = t->rest[at] + den[from];
    }
    for (int64_t i = 0; i < t->head->s.n_unfolds; i++) {
        for (int64_t at = 0; at < t->slots; at += VW) {
            flow f = slice_flow(&t->inner, at / VW, w->v, (flow){v_load(w->num + at), v_load(w->den + at)});
            v_store(w->next + at, step(v_load(t->cm + at), v_load(w->v + at), v_set(dt), f));
        }
        swap(w);
    }
}

static void sample_read(const work *w, float *y)
{
    const as_ltc *s = &w->t.head->s;
    const float  *ow = given(w, AS_LTC_OUTPUT_W), *ob = given(w, AS_LTC_OUTPUT_B), *fc = given(w, AS_LTC_FC_W),
                *bias = given(w, AS_LTC_FC_B);
    float *read = fc ? w->read : y;
    for (int64_t k = 0; k < s->n_motor; k++)
        read[k] = w->v[w->t.inner.place[k]] * (ow ? ow[k] : 1.0f) + (ob ? ob[k] : 0.0f);
    for (int64_t r = 0; fc && r < s->n_out; r++) {
        vf      sum = v_zero();
        int64_t k = 0;
        for (; k + VW <= s->n_motor; k += VW)
            sum = v_fma(v_load(fc + r * s->n_motor + k), v_load(read + k), sum);
        sum = v_fma(v_load_n(fc + r * s->n_motor + k, (int)(s->n_motor - k)), v_load_n(read + k, (int)(s->n_motor - k)), sum);
        y[r] = v_sum(sum) + (bias ? bias[r] : 0.0f);
    }
}

static void sample_run(work *w, int64_t b)
{
    const as_ltc *s = &w->t.head->s;
    const float  *x = given(w, AS_LTC_X), *iw = given(w, AS_LTC_INPUT_W), *ib = given(w, AS_LTC_INPUT_B),
                *time = given(w, AS_LTC_TIMESPANS);
    const float *h0 = given(w, AS_LTC_H0);
    float       *y = (float *)wanted(w, 0) + b * (s->sequences ? s->n_steps : 1) * s->n_out, *h = wanted(w, 1);
    int64_t      units = s->n_units;
    memset(w->v, 0, (size_t)(w->t.slots + 1) * sizeof *w->v); /* padding reads the slot after the last */
    memset(w->next, 0, (size_t)(w->t.slots + 1) * sizeof *w->next);
    memset(w->num, 0, (size_t)w->t.slots * sizeof *w->num);
    memset(w->den, 0, (size_t)w->t.slots * sizeof *w->den);
    w->u[s->n_in] = 0.0f;
    for (int64_t j = 0; h0 && j < units; j++)
        w->v[w->t.inner.place[j]] = h0[b * units + j];
    for (int64_t t = 0; t < s->n_steps; t++) {
        const float *from = x + (b * s->n_steps + t) * s->n_in;
        for (int64_t k = 0; k < s->n_in; k++)
            w->u[k] = from[k] * (iw ? iw[k] : 1.0f) + (ib ? ib[k] : 0.0f);
        sample_step(w, (time ? time[b * s->n_steps + t] : 1.0f) / (float)s->n_unfolds);
        if (s->sequences)
            sample_read(w, y + t * s->n_out);
    }
    if (!s->sequences)
        sample_read(w, y);
    for (int64_t j = 0; h && j < units; j++)
        h[b * units + j] = w->v[w->t.inner.place[j]];
}

/* --- The kernel --- */

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_ltc s;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (as_ltc_read(NULL, n, &s) != ASSAY_OK) {
        snprintf(why, why_size, "the node cannot be read");
        return false;
    }
    int64_t sources = s.n_units > s.n_in ? s.n_units : s.n_in;
    if (sources > INT32_MAX / s.n_units) {
        snprintf(why, why_size, "%" PRId64 " units and %" PRId64 " inputs are more than 2^31 synapses", s.n_units, s.n_in);
        return false;
    }
    return true;
}

static size_t table_bytes(const as_node_ctx *n, as_ltc *s)
{
    table t;
    if (as_ltc_read(NULL, n, s) != ASSAY_OK)
        return 0;
    table_head head = head_of(n, s);
    return table_lay(&head, NULL, &t);
}

/* A part without a packed table makes its own. */
static size_t part_bytes(const as_node_ctx *n)
{
    as_ltc s;
    work   w;
    size_t bytes = table_bytes(n, &s);
    return bytes ? bytes + work_lay(&s, NULL, &w) : 0;
}
static size_t scratch_bytes(const as_node_ctx *n, int n_parts) { return part_bytes(n) * (size_t)n_parts; }

/* Packs all parameters and masks into one table, as the packed form of cm. */
static size_t packed_bytes(const as_node_ctx *n, int input)
{
    as_ltc s;
    return input == AS_LTC_CM ? table_bytes(n, &s) : 0;
}

static void pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    (void)input, (void)n_parts;
    as_ltc s;
    table  t;
    if (part != 0 || as_ltc_read(NULL, args->ctx, &s) != ASSAY_OK)
        return;
    table_head head = head_of(args->ctx, &s);
    table_build(&head, args->ctx, args->in, packed, &t);
}

/* Parts get whole vectors of samples. */
static int64_t shares(const as_node_ctx *n) { return (n->in[0].shape.dim[0] + VW - 1) / VW; }

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    table_head    *packed = (table_head *)(uintptr_t)args->packed[AS_LTC_CM];
    unsigned char *mine = scratch;
    work           w = {.args = args};
    as_ltc         s;
    if (packed && packed->ready) {
        table_lay(packed, packed, &w.t);
        s = packed->s;
    } else if (as_ltc_read(NULL, args->ctx, &s) != ASSAY_OK) {
        return;
    }
    int64_t b, end;
    as_share(s.n_batch, VW, part, n_parts, &b, &end);
    size_t work_bytes = work_lay(&s, NULL, &w);
    if (!w.t.head) {
        table_head head = head_of(args->ctx, &s);
        table      t;
        mine += (size_t)part * (work_bytes + table_lay(&head, NULL, &t));
        table_build(&head, args->ctx, args->in, mine + work_bytes, &w.t);
    } else {
        mine += (size_t)part * work_bytes;
    }
    work_lay(&s, mine, &w);
    if (!timespans_ok(args, &s, part))
        return;
    for (int count; b < end; b += count) {
        int left = end - b < SIDE ? (int)(end - b) : SIDE, tail = left % VW;
        if (left < SIDE && !s.memory && 2 * tail < VW - 1) /* for so few, a vector would cost more than one at a time */
            left -= tail;
        count = left ? left : 1;
        if (left)
            block_run(&w, b, count);
        else
            sample_run(&w, b);
    }
}
