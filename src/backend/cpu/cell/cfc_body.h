/* cfc_body.h - the body of k_cfc_f32_<machine>.c, after its simd_*.h: assay.CfC over a whole sequence.
 *
 * There are two ways; only the batch decides.  Up to 2 VW samples run side by side: all data is [feature][sample], a weight is
 * one number for all lanes, and the sums of a unit's heads stay in registers until they give its new state.  A remainder that
 * would fill at most half a vector runs one sample at a time, VW units side by side; usually that is a single sample.  A sample
 * takes the same way however the batch is split, so its bits are the same.  Time spans are not checked: a kernel cannot refuse
 * them, so it computes with a negative one, and NaN gives NaN. */
#include "backend/cpu/cell/cfc_side.h"

enum { FEW = VW / 2 }; /* so few samples are not worth a vector */

TILE_LAYER(cells3_1, cells_tile, 3, 1, false)
TILE_LAYER(cells3_2, cells_tile, 3, 2, false)
TILE_LAYER(cells4_1, cells_tile, 4, 1, false)
TILE_LAYER(cells4_2, cells_tile, 4, 2, false)
TILE_LAYER(rows_1, rows_tile, 1, 1, false)
TILE_LAYER(rows_2, rows_tile, 1, 2, false)
TILE_LAYER(memory_1, memory_tile, 4, 1, false)
TILE_LAYER(memory_2, memory_tile, 4, 2, false)

/* --- Units side by side ---------------------------------------------------------------------------------- */

/* Two sums per head, each over every second input, so that they do not wait for each other. */
V_INLINE void one_add(const int heads, const float *w, const float *z, int64_t k, vf sum[2][4])
{
    int64_t i = 0;
    for (; i + 2 <= k; i += 2, w += 2 * heads * VW) {
        vf x = v_one(z + i), y = v_one(z + i + 1);
        V_UNROLL
        for (int h = 0; h < heads; h++) {
            TILE_FMA(sum[0][h], x, v_load(w + h * VW));
            TILE_FMA(sum[1][h], y, v_load(w + (heads + h) * VW));
        }
    }
    if (i < k) {
        vf x = v_one(z + i);
        V_UNROLL
        for (int h = 0; h < heads; h++)
            TILE_FMA(sum[0][h], x, v_load(w + h * VW));
    }
}

V_INLINE void one_sums(const int heads, const layer *l, const float *w, const inputs *in, vf out[4])
{
    vf sum[2][4];
    V_UNROLL
    for (int h = 0; h < heads; h++) {
        sum[0][h] = v_load(w + h * VW);
        sum[1][h] = v_zero();
    }
    w += l->first * heads * VW;
    one_add(heads, w, in->z1, in->k1, sum);
    one_add(heads, w + in->k1 * heads * VW, in->z2, in->k2, sum);
    V_UNROLL
    for (int h = 0; h < heads; h++)
        out[h] = v_add(sum[0][h], sum[1][h]);
}

V_INLINE void some_store(float *to, int64_t n, vf x)
{
    if (n >= VW)
        v_store(to, x);
    else
        v_store_n(to, (int)n, x);
}

static void one_cell(const work *w, const layer *l, const inputs *in, float *out)
{
    vf ts = v_one(w->ts);
    for (int64_t u = 0; u < l->n; u += VW) {
        vf s[4], gate;
        if (l->heads == 4) {
            one_sums(4, l, unit_at(w, l, u), in, s);
            gate = v_fma(s[2], ts, s[3]);
        } else {
            one_sums(3, l, unit_at(w, l, u), in, s);
            gate = s[2];
        }
        heads_of(&w->b->c, &s[0], &s[1], &gate);
        some_store(out + u, l->n - u, blend_of(&w->b->c, s[0], s[1], gate));
    }
}

static void one_layer(const work *w, const layer *l, const inputs *in, as_cfc_end end, float *out)
{
    for (int64_t u = 0; u < l->n; u += VW) {
        const float *at = unit_at(w, l, u);
        vf           s[4];
        one_sums(1, l, at, in, s);
        if (end == END_ACT)
            s[0] = act_of(w->b->c.act, s[0]);
        else if (end == END_PURE)
            s[0] = pure_of(s[0], pure_decay(s[0], v_load(at + VW), v_one(w->ts)), v_load(at + 2 * VW));
        some_store(out + u, l->n - u, s[0]);
    }
}

static void one_memory(const work *w, const inputs *in, float *out)
{
    const layer *l = &w->b->memory;
    for (int64_t u = 0; u < l->n; u += VW) {
        vf s[4], c = l->n - u >= VW ? v_load(w->memory + u) : v_load_n(w->memory + u, (int)(l->n - u));
        one_sums(4, l, unit_at(w, l, u), in, s);
        c = v_fma(c, vm_sigmoid(s[2]), v_mul(vm_tanh(s[0]), vm_sigmoid(s[1])));
        some_store(out + u, l->n - u, v_mul(vm_tanh(c), vm_sigmoid(s[3])));
        some_store(w->memory + u, l->n - u, c);
    }
}

/* --- One step ------------------------------------------------------------------------------------------- */

/* Called with lanes 1, VW or SIDE, always a constant. */
V_INLINE void layer_run(const int lanes, const work *w, const layer *l, const inputs *in, as_cfc_end end, float *out)
{
    if (lanes == 1)
        one_layer(w, l, in, end, out);
    else
        (lanes == VW ? rows_1 : rows_2)(&(tile){.w = w, .l = l, .in = in, .end = end, .out = out});
}

V_INLINE void cell_run(const int lanes, const work *w, const layer *l, const inputs *in, float *out)
{
    const tile t = {.w = w, .l = l, .in = in, .out = out};
    if (w->b->c.mode == AS_CFC_PURE)
        layer_run(lanes, w, l, in, END_PURE, out);
    else if (lanes == 1)
        one_cell(w, l, in, out);
    else if (l->heads == 4)
        (lanes == VW ? cells4_1 : cells4_2)(&t);
    else
        (lanes == VW ? cells3_1 : cells3_2)(&t);
}

/* w->h becomes the state after the step. */
V_INLINE void step_run(const int lanes, work *w)
{
    const book   *b = w->b;
    const as_cfc *c = &b->c;
    if (c->has_memory) {
        inputs in = {w->x, c->n_in, w->h, c->n_state};
        if (lanes == 1)
            one_memory(w, &in, w->mid);
        else
            (lanes == VW ? memory_1 : memory_2)(&(tile){.w = w, .l = &b->memory, .in = &in, .out = w->mid});
        float *swap = w->h;
        w->h = w->mid;
        w->mid = swap;
    }
    for (int l = 0; l < c->n_cells; l++) {
        const as_cfc_cell *cell = &c->cell[l];
        inputs in = {l ? w->mid + c->cell[l - 1].at * lanes : w->x, cell->n_in, w->h + cell->at * lanes, cell->n_hidden};
        for (int k = 0; k < c->n_backbone; k++) {
            layer_run(lanes, w, &b->backbone[k], &in, as_cfc_acts_after(c, k) ? END_ACT : END_NONE, w->wide[k % 2]);
            in = (inputs){w->wide[k % 2], c->width[k], NULL, 0};
        }
        cell_run(lanes, w, &b->cell[l], &in, w->mid + cell->at * lanes);
    }
    float *swap = w->h;
    w->h = w->mid;
    w->mid = swap;
}

/* --- Sequences -------------------------------------------------------------------------------------------- */

V_INLINE void y_put(const int lanes, work *w, const as_view *out, int64_t first, int64_t n, int64_t t)
{
    const as_cfc *c = &w->b->c;
    const float  *y = w->h + c->cell[c->n_cells - 1].at * lanes;
    int64_t       step = c->sequences ? c->n_steps * c->n_y : c->n_y;
    if (!out->data || (!c->sequences && t + 1 < c->n_steps))
        return;
    if (c->has_fc) {
        inputs in = {y, c->n_out, NULL, 0};
        layer_run(lanes, w, &w->b->fc, &in, END_NONE, w->y);
        y = w->y;
    }
    lanes_put(lanes, n, y, c->n_y, (float *)out->data + first * step + (c->sequences ? t * c->n_y : 0), step);
}

/* Samples [first, first + n). */
V_INLINE void samples_run(const int lanes, work *w, const as_kernel_args *args, int64_t first, int64_t n)
{
    const as_cfc *c = &w->b->c;
    const float  *x = (const float *)args->in[AS_CFC_X].data + first * c->n_steps * c->n_in, *h0 = args->in[AS_CFC_H0].data;
    const float  *c0 = args->in[AS_CFC_C0].data, *ts = args->in[AS_CFC_TIMESPANS].data;
    const size_t  state = (size_t)(c->n_state * lanes) * sizeof(float);
    float        *own = w->x;
    memset(w->h, 0, state);
    memset(w->x, 0, (size_t)(c->n_in * lanes) * sizeof(float));
    if (c->has_memory)
        memset(w->memory, 0, state);
    for (int i = 0; i < lanes; i++)
        w->ts[i] = 1.0f;
    if (h0)
        lanes_fetch(lanes, n, h0 + first * c->n_state, c->n_state, c->n_state, w->h);
    if (c0 && c->has_memory)
        lanes_fetch(lanes, n, c0 + first * c->n_state, c->n_state, c->n_state, w->memory);
    for (int64_t t = 0; t < c->n_steps; t++) {
        if (lanes == 1)
            w->x = (float *)(uintptr_t)(x + t * c->n_in); /* read where it lies */
        else
            lanes_fetch(lanes, n, x + t * c->n_in, c->n_steps * c->n_in, c->n_in, w->x);
        if (ts)
            lanes_fetch(lanes, n, ts + first * c->n_steps + t, c->n_steps, 1, w->ts);
        step_run(lanes, w);
        y_put(lanes, w, &args->out[0], first, n, t);
    }
    w->x = own;
    if (args->ctx->n_out > 1 && args->out[1].data)
        lanes_put(lanes, n, w->h, c->n_state, (float *)args->out[1].data + first * c->n_state, c->n_state);
    if (args->ctx->n_out > 2 && args->out[2].data)
        lanes_put(lanes, n, w->memory, c->n_state, (float *)args->out[2].data + first * c->n_state, c->n_state);
}

static __attribute__((noinline)) void both_vectors(work *w, const as_kernel_args *args, int64_t first, int64_t n)
{
    samples_run(SIDE, w, args, first, n);
}
static __attribute__((noinline)) void one_vector(work *w, const as_kernel_args *args, int64_t first, int64_t n)
{
    samples_run(VW, w, args, first, n);
}
static __attribute__((noinline)) void one_sample(work *w, const as_kernel_args *args, int64_t first)
{
    samples_run(1, w, args, first, 1);
}

/* --- The kernel's functions ---------------------------------------------------------------------------------- */

/* Floats of a part's buffers. */
static int64_t work_floats(const book *b)
{
    const as_cfc *c = &b->c;
    return SIDE * (c->n_in + (c->has_memory ? 3 : 2) * c->n_state + 2 * b->widest + c->n_y + 1) + 7 * 16;
}

static work work_of(const book *b, const float *weights, float *p)
{
    const as_cfc *c = &b->c;
    work          w = {.b = b, .weights = weights};
    struct {
        float **to;
        int64_t n;
    } all[] = {{&w.x, c->n_in},         {&w.h, c->n_state},      {&w.mid, c->n_state}, {&w.memory, c->has_memory ? c->n_state : 0},
               {&w.wide[0], b->widest}, {&w.wide[1], b->widest}, {&w.y, c->n_y},       {&w.ts, 1}};
    for (int i = 0; i < (int)AS_COUNT(all); i++) {
        *all[i].to = p;
        p += lines(SIDE * all[i].n);
    }
    return w;
}

static size_t cfc_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    book b = book_of(n);
    return (size_t)n_parts * (size_t)(lines(work_floats(&b) + 16) + lines(b.n_floats)) * sizeof(float);
}

static bool cfc_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_cfc c;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (as_cfc_read(NULL, n, n->in, n->n_in, &c) != ASSAY_OK || c.dropout <= 0.0 || !c.n_backbone)
        return true;
    snprintf(why, why_size, "dropout of %g while training", c.dropout);
    return false;
}

/* Parts get whole vectors of samples. */
static int64_t cfc_shares(const as_node_ctx *n) { return (n->in[0].shape.dim[0] + VW - 1) / VW; }

/* Units of work: vectors of samples, two at a time where there are two; a last vector that is at most half full goes sample by
 * sample. */
static void cfc_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const float *packed = args->packed ? args->packed[PACKED_INPUT] : NULL, *weights = packed ? packed + BOOK_FLOATS : NULL;
    const book  *b = (const void *)packed;
    book         own;
    int64_t      begin, end;
    if (!packed || !b->whole) {
        own = book_of(args->ctx);
        b = &own;
        weights = NULL;
    }
    const int64_t n = b->c.n_batch, each = lines(work_floats(b) + 16) + lines(b->n_floats);
    as_share(n, VW, part, n_parts, &begin, &end);
    if (begin >= end)
        return;
    float *p = (float *)scratch + part * each;
    if (!weights) {
        float *to = p + lines(work_floats(b) + 16);
        weights_pack(b, args->in, to);
        weights = to;
    }
    work w = work_of(b, weights, p);
    while (begin < end) {
        int64_t left = end - begin < SIDE ? end - begin : SIDE;
        if (left > VW + FEW) {
            both_vectors(&w, args, begin, left);
        } else if (left > FEW) {
            left = left < VW ? left : VW;
            one_vector(&w, args, begin, left);
        } else {
            one_sample(&w, args, begin);
            left = 1;
        }
        begin += left;
    }
}
