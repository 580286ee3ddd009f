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
/* The same with a stash. */
TILE_LAYER(kept3_1, cells_tile, 3, 1, true)
TILE_LAYER(kept3_2, cells_tile, 3, 2, true)
TILE_LAYER(kept4_1, cells_tile, 4, 1, true)
TILE_LAYER(kept4_2, cells_tile, 4, 2, true)
TILE_LAYER(kept_rows_1, rows_tile, 1, 1, true)
TILE_LAYER(kept_rows_2, rows_tile, 1, 2, true)
TILE_LAYER(kept_memory_1, memory_tile, 4, 1, true)
TILE_LAYER(kept_memory_2, memory_tile, 4, 2, true)

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

/* Called with lanes 1, VW or SIDE, always a constant.  line: of the stash, -1: the layer is not kept. */
V_INLINE void layer_run(const int lanes, const work *w, const layer *l, const inputs *in, as_cfc_end end, float *out, int64_t line)
{
    tile t = {.w = w, .l = l, .in = in, .end = end, .out = out, .per_unit = w->kept.per_unit};
    if (lanes == 1) {
        one_layer(w, l, in, end, out);
    } else if (w->stash && line >= 0) {
        t.keep = w->stash + line * w->pitch;
        (lanes == VW ? kept_rows_1 : kept_rows_2)(&t);
    } else {
        (lanes == VW ? rows_1 : rows_2)(&t);
    }
}

V_INLINE void cell_run(const int lanes, const work *w, const layer *l, const inputs *in, float *out, int64_t line)
{
    tile t = {.w = w, .l = l, .in = in, .out = out, .per_unit = w->kept.per_unit, .gate = w->kept.per_unit - 1};
    if (w->b->c.mode == AS_CFC_PURE) {
        layer_run(lanes, w, l, in, END_PURE, out, line);
    } else if (lanes == 1) {
        one_cell(w, l, in, out);
    } else if (w->stash) {
        t.keep = w->stash + line * w->pitch;
        if (l->heads == 4)
            (lanes == VW ? kept4_1 : kept4_2)(&t);
        else
            (lanes == VW ? kept3_1 : kept3_2)(&t);
    } else if (l->heads == 4) {
        (lanes == VW ? cells4_1 : cells4_2)(&t);
    } else {
        (lanes == VW ? cells3_1 : cells3_2)(&t);
    }
}

/* [n][lanes] to lines of the stash. */
V_INLINE void lines_keep(const int lanes, const work *w, const float *from, int64_t n, int64_t line)
{
    for (int64_t i = 0; lanes > 1 && w->stash && i < n; i++)
        memcpy(w->stash + (line + i) * w->pitch, from + i * lanes, (size_t)lanes * sizeof *from);
}

/* Dropout of a backbone layer's results, and of the slopes that are kept of it. */
static __attribute__((noinline)) void layer_drop(const work *w, int lanes, int l, int64_t t, float *out)
{
    const as_cfc      *c = &w->b->c;
    const as_node_ctx *n = w->args->ctx;
    const float        scale = (float)(1.0 / (1.0 - c->dropout));
    for (int64_t i = 0; i < c->width[l]; i++)
        for (int64_t lane = 0; lane < w->n; lane++) {
            uint64_t sample = (uint64_t)(w->first + lane) * (uint64_t)c->n_steps + (uint64_t)t,
                     element = (sample * (uint64_t)c->n_backbone + (uint64_t)l) * (1u << 20) + (uint64_t)i;
            const float factor =
                (double)as_philox_uniform(n->seed, c->dropout_seed, (uint32_t)w->args->step, element) >= c->dropout ? scale : 0.0f;
            out[i * lanes + lane] *= factor;
            if (w->stash && lanes > 1) {
                float *kept = w->stash + (w->kept.backbone[l] + ROW_PLANES * i) * w->pitch + lane;
                kept[POST * w->pitch] *= factor;
                kept[SLOPE * w->pitch] *= factor;
            }
        }
}

/* w->h becomes the state after the step. */
V_INLINE void step_run(const int lanes, work *w, int64_t t)
{
    const book         *b = w->b;
    const as_cfc       *c = &b->c;
    const as_cfc_stash *kept = &w->kept;
    if (c->has_memory) {
        inputs in = {w->x, c->n_in, w->h, c->n_state};
        tile   m = {.w = w, .l = &b->memory, .in = &in, .out = w->mid};
        if (lanes == 1) {
            one_memory(w, &in, w->mid);
        } else if (w->stash) {
            m.keep = w->stash + kept->gates * w->pitch;
            (lanes == VW ? kept_memory_1 : kept_memory_2)(&m);
        } else {
            (lanes == VW ? memory_1 : memory_2)(&m);
        }
        lines_keep(lanes, w, w->memory, c->n_state, kept->c);
        lines_keep(lanes, w, w->mid, c->n_state, kept->m);
        float *swap = w->h;
        w->h = w->mid;
        w->mid = swap;
    }
    for (int l = 0; l < c->n_cells; l++) {
        const as_cfc_cell *cell = &c->cell[l];
        inputs in = {l ? w->mid + c->cell[l - 1].at * lanes : w->x, cell->n_in, w->h + cell->at * lanes, cell->n_hidden};
        for (int k = 0; k < c->n_backbone; k++) {
            layer_run(lanes, w, &b->backbone[k], &in, as_cfc_acts_after(c, k) ? END_ACT : END_NONE, w->wide[k % 2],
                      kept->backbone[k]);
            if (as_cfc_drops_after(c, k))
                layer_drop(w, lanes, k, t, w->wide[k % 2]);
            in = (inputs){w->wide[k % 2], c->width[k], NULL, 0};
        }
        cell_run(lanes, w, &b->cell[l], &in, w->mid + cell->at * lanes, kept->cell[l]);
    }
    float *swap = w->h;
    w->h = w->mid;
    w->mid = swap;
    lines_keep(lanes, w, w->h, c->n_state, kept->h);
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
        layer_run(lanes, w, &w->b->fc, &in, END_NONE, w->y, -1);
        y = w->y;
    }
    lanes_put(lanes, n, y, c->n_y, (float *)out->data + first * step + (c->sequences ? t * c->n_y : 0), step);
}

/* Where a step keeps what the gradient reads: in the stash itself, or, where lanes would reach beyond its samples, in w->room. */
V_INLINE void stash_aim(const int lanes, work *w, float *stash, int64_t first, int64_t n, int64_t t)
{
    const as_cfc *c = &w->b->c;
    const bool    direct = n == lanes;
    w->pitch = direct ? c->n_batch : lanes;
    w->stash = !stash ? NULL : direct ? stash + t * w->kept.n * c->n_batch + first : w->room;
}
V_INLINE void stash_put(const int lanes, const work *w, float *stash, int64_t first, int64_t n, int64_t t)
{
    const as_cfc *c = &w->b->c;
    for (int64_t i = 0; stash && n < lanes && i < w->kept.n; i++)
        memcpy(stash + (t * w->kept.n + i) * c->n_batch + first, w->room + i * lanes, (size_t)n * sizeof *stash);
}

/* Samples [first, first + n). */
V_INLINE void samples_run(const int lanes, work *w, const as_kernel_args *args, int64_t first, int64_t n)
{
    const as_cfc *c = &w->b->c;
    const float  *x = (const float *)args->in[AS_CFC_X].data + first * c->n_steps * c->n_in, *h0 = args->in[AS_CFC_H0].data;
    const float  *c0 = args->in[AS_CFC_C0].data, *ts = args->in[AS_CFC_TIMESPANS].data;
    const size_t  state = (size_t)(c->n_state * lanes) * sizeof(float);
    float        *own = w->x, *out = args->ctx->n_out > 3 ? args->out[3].data : NULL;
    w->args = args;
    w->first = first;
    w->n = n;
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
        stash_aim(lanes, w, out, first, n, t);
        step_run(lanes, w, t);
        stash_put(lanes, w, out, first, n, t);
        y_put(lanes, w, &args->out[0], first, n, t);
    }
    w->x = own;
    if (args->ctx->n_out > 1 && args->out[1].data)
        lanes_put(lanes, n, w->h, c->n_state, (float *)args->out[1].data + first * c->n_state, c->n_state);
    if (args->ctx->n_out > 2 && args->out[2].data && c->has_memory)
        lanes_put(lanes, n, w->memory, c->n_state, (float *)args->out[2].data + first * c->n_state, c->n_state);
    else if (args->ctx->n_out > 2 && args->out[2].data)
        memset((float *)args->out[2].data + first * c->n_state, 0, (size_t)(n * c->n_state) * sizeof(float));
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
    return SIDE * (c->n_in + (c->has_memory ? 3 : 2) * c->n_state + 2 * b->widest + c->n_y + 1 + b->kept.n) + 8 * 16;
}

static work work_of(const book *b, const float *weights, float *p)
{
    const as_cfc *c = &b->c;
    work          w = {.b = b, .weights = weights, .kept = b->kept};
    struct {
        float **to;
        int64_t n;
    } all[] = {{&w.x, c->n_in},         {&w.h, c->n_state},      {&w.mid, c->n_state}, {&w.memory, c->has_memory ? c->n_state : 0},
               {&w.wide[0], b->widest}, {&w.wide[1], b->widest}, {&w.y, c->n_y},       {&w.ts, 1},
               {&w.room, b->kept.n}};
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

static bool cfc_accepts(const as_node_ctx *n, char *why, size_t why_size) { return cfc_f32_only(n, why, why_size); }

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
        } else if (left > FEW || (args->ctx->n_out > 3 && args->out[3].data)) {
            left = left < VW ? left : VW;
            one_vector(&w, args, begin, left);
        } else {
            one_sample(&w, args, begin);
            left = 1;
        }
        begin += left;
    }
}
