/* cfcgrad_body.h - the body of k_cfcgrad_f32_<machine>.c, after its simd_*.h: the gradient of assay.CfC through time.
 *
 * A block of LANES samples at a time: a forward sweep that keeps what every step computed; one backward sweep, whose gradients
 * overwrite the values they are computed from; then the gradients of the weights, each the product of two long lines: all steps of
 * all samples of the block.  Kept lines are [feature][step][sample].  The gradients of weights are sums over all samples.  So that
 * the order of these sums does not depend on the number of parts, the blocks are assigned to a number of shards that depends only
 * on the batch; a shard belongs to one part, and finish() adds the shards in their order. */
#include "backend/cpu/cell/cfc_side.h"

enum { VECS = VW >= 16 ? 1 : 2, LANES = VECS * VW }; /* two threads share 32 samples, so a block has at most 16 */
enum { D_Y = 1, D_H, D_C, STASH, REST };             /* inputs of the node, then those of the CfC from h0 on */
enum { POINTER = sizeof(void *) / sizeof(float) };   /* in floats */
enum { MAX_SHARDS = 8, MAX_GAINS = AS_CFC_MAX_BACKBONE + AS_CFC_MAX_CELLS + 2 };
enum { PAIR_D = AS_SIMD_REGISTERS >= 32 ? 4 : 3, PAIR_Z = AS_SIMD_REGISTERS >= 32 ? 6 : 4, PAIRS = PAIR_D * PAIR_Z };

typedef enum gain_kind { OF_MEMORY, OF_BACKBONE, OF_CELL, OF_FC } gain_kind;

/* The weights of a layer and the sources of their gradients. */
typedef struct gain {
    gain_kind    kind;
    int          index, heads, per_unit; /* heads: gradients of a unit; per_unit: its lines */
    const layer *l;
    float       *planes;
    int64_t      at; /* in a shard: [unit][head][inputs, bias]; of mode pure then [unit][A, w_tau] */
} gain;

typedef struct grad {
    work          w;
    int64_t       length;        /* of a line: steps times LANES */
    float        *x, *h, *c, *m; /* lines; h and c have one more step, the state before step 0; m: the state after the memory */
    float        *spans, *d_spans, *ones;                           /* one line each */
    float        *d_h, *d_before, *d_c, *d_x, *d_wide[2], *d_heads; /* of one step */
    const float **z, **d; /* the lines of a layer's inputs, and of the gradients of its rows */
    float        *sums;   /* of this shard */
    int           n_gains;
    gain          gains[MAX_GAINS];
    int64_t       n_sums;
    as_view       in[AS_MAX_IN], d_in[AS_MAX_IN]; /* of the CfC; without data: absent, or not wanted */
    const float  *d_y, *d_h_n, *d_c_n, *stash;    /* stash: NULL: goes forwards itself */
} grad;

static const gain *gain_of(const grad *g, gain_kind kind, int index)
{
    const gain *a = g->gains;
    while (a->kind != kind || a->index != index)
        a++;
    return a;
}

/* --- Forwards --------------------------------------------------------------------------------------------- */

TILE_LAYER(cells3, cells_tile, 3, VECS, true)
TILE_LAYER(cells4, cells_tile, 4, VECS, true)
TILE_LAYER(rows, rows_tile, 1, VECS, true)
TILE_LAYER(memory, memory_tile, 4, VECS, true)

static void step_keep(const float *from, int64_t n, float *to, int64_t pitch)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * pitch, from + i * LANES, LANES * sizeof *to);
}

static void swap(float **a, float **b)
{
    float *old = *a;
    *a = *b;
    *b = old;
}

static void cell_forward(const grad *g, int l, int64_t at)
{
    const work        *w = &g->w;
    const as_cfc      *c = &w->b->c;
    const as_cfc_cell *cell = &c->cell[l];
    inputs             in = {l ? w->mid + c->cell[l - 1].at * LANES : w->x, cell->n_in, w->h + cell->at * LANES, cell->n_hidden};
    tile               t = {.w = w, .in = &in, .per_unit = PLANES, .gate = GATE};
    for (int k = 0; k < c->n_backbone; k++) {
        t.l = &w->b->backbone[k];
        t.end = as_cfc_acts_after(c, k) ? END_ACT : END_NONE;
        t.out = w->wide[k % 2];
        t.keep = gain_of(g, OF_BACKBONE, k)->planes + at;
        rows(&t);
        in = (inputs){t.out, c->width[k], NULL, 0};
    }
    t.l = &w->b->cell[l];
    t.end = END_PURE;
    t.out = w->mid + cell->at * LANES;
    t.keep = gain_of(g, OF_CELL, l)->planes + at;
    (c->mode == AS_CFC_PURE ? rows : t.l->heads == 4 ? cells4 : cells3)(&t);
}

static void step_forward(grad *g, int64_t at)
{
    work         *w = &g->w;
    const as_cfc *c = &w->b->c;
    w->ts = g->spans + at;
    if (c->has_memory) {
        inputs in = {w->x, c->n_in, w->h, c->n_state};
        memory(&(tile){.w = w, .l = &w->b->memory, .in = &in, .out = w->mid, .keep = gain_of(g, OF_MEMORY, 0)->planes + at});
        swap(&w->h, &w->mid);
        step_keep(w->h, c->n_state, g->m + at, w->pitch);
        step_keep(w->memory, c->n_state, g->c + at + LANES, w->pitch);
    }
    for (int l = 0; l < c->n_cells; l++)
        cell_forward(g, l, at);
    swap(&w->h, &w->mid);
    step_keep(w->h, c->n_state, g->h + at + LANES, w->pitch);
}

static void state_load(const float *values, int64_t first, int64_t n, int64_t size, float *to)
{
    memset(to, 0, (size_t)(size * LANES) * sizeof *to);
    if (values)
        lanes_fetch(LANES, n, values + first * size, size, size, to);
}

/* The lines [line, line + count) of the stash at one step, for n samples from `first` on; the lanes after them get zeros. */
static void lines_load(const grad *g, int64_t t, int64_t line, int64_t count, int64_t first, int64_t n, float *to, int64_t step)
{
    const int64_t n_batch = g->w.b->c.n_batch;
    const float  *from = g->stash + (t * g->w.b->kept.n + line) * n_batch + first;
    for (; count > 0; count--, from += n_batch, to += step)
        for (int v = 0; v < LANES; v += VW) {
            const int64_t left = n - v;
            v_store(to + v, left >= VW ? v_load(from + v) : left > 0 ? v_load_n(from + v, (int)left) : v_zero());
        }
}

/* What a step forwards would compute, from the stash. */
static void step_load(grad *g, int64_t t, int64_t first, int64_t n)
{
    const as_cfc       *c = &g->w.b->c;
    const as_cfc_stash *kept = &g->w.b->kept;
    const int64_t       pitch = g->w.pitch, at = t * LANES;
    const int           gate = c->mode == AS_CFC_PURE ? kept->per_unit : kept->per_unit - 1; /* the gate's line is the last one */
    lines_load(g, t, kept->h, c->n_state, first, n, g->h + at + LANES, pitch);
    if (c->has_memory) {
        lines_load(g, t, kept->c, c->n_state, first, n, g->c + at + LANES, pitch);
        lines_load(g, t, kept->m, c->n_state, first, n, g->m + at, pitch);
        lines_load(g, t, kept->gates, PLANES * c->n_state, first, n, gain_of(g, OF_MEMORY, 0)->planes + at, pitch);
    }
    for (int l = 0; l < c->n_backbone; l++)
        lines_load(g, t, kept->backbone[l], ROW_PLANES * c->width[l], first, n, gain_of(g, OF_BACKBONE, l)->planes + at, pitch);
    for (int l = 0; l < c->n_cells; l++) {
        float *to = gain_of(g, OF_CELL, l)->planes + at;
        for (int64_t i = 0; i < c->cell[l].n_hidden; i++, to += PLANES * pitch) {
            const int64_t line = kept->cell[l] + kept->per_unit * i;
            lines_load(g, t, line, gate, first, n, to, pitch);
            lines_load(g, t, line + gate, kept->per_unit - gate, first, n, to + GATE * pitch, pitch);
        }
    }
}

static void block_forward(grad *g, int64_t first, int64_t n)
{
    work         *w = &g->w;
    const as_cfc *c = &w->b->c;
    const float  *x = (const float *)g->in[AS_CFC_X].data + first * c->n_steps * c->n_in, *ts = g->in[AS_CFC_TIMESPANS].data;
    memset(w->x, 0, (size_t)(c->n_in * LANES) * sizeof(float));
    for (int64_t i = 0; i < g->length; i++)
        g->spans[i] = g->ones[i] = 1.0f;
    state_load(g->in[AS_CFC_H0].data, first, n, c->n_state, w->h);
    step_keep(w->h, c->n_state, g->h, w->pitch);
    if (c->has_memory) {
        state_load(g->in[AS_CFC_C0].data, first, n, c->n_state, w->memory);
        step_keep(w->memory, c->n_state, g->c, w->pitch);
    }
    for (int64_t t = 0; t < c->n_steps; t++) {
        lanes_fetch(LANES, n, x + t * c->n_in, c->n_steps * c->n_in, c->n_in, w->x);
        step_keep(w->x, c->n_in, g->x + t * LANES, w->pitch);
        if (ts)
            lanes_fetch(LANES, n, ts + first * c->n_steps + t, c->n_steps, 1, g->spans + t * LANES);
        if (g->stash)
            step_load(g, t, first, n);
        else
            step_forward(g, t * LANES);
    }
}

/* --- The sweep back ------------------------------------------------------------------------------------------ */

/* Where the gradient of a head goes: [panel][head][unit]. */
V_INLINE float *d_head_of(const grad *g, int heads, int head, int64_t u)
{
    return g->d_heads + ((u / VW * heads + head) * VW + u % VW) * LANES;
}

/* From the gradient of a cell's new state to those of its heads, which go to their lines and to d_heads. */
static void cell_heads_back(const grad *g, int l, float *plane, int64_t at)
{
    const as_cfc      *c = &g->w.b->c;
    const as_cfc_cell *cell = &c->cell[l];
    const bool         gated = c->mode == AS_CFC_DEFAULT, flat = c->semantics != AS_CFC_TORCH;
    const int          heads = g->w.b->cell[l].heads;
    const int64_t      pitch = g->w.pitch;
    const vf           unit = v_set(1.0f);
    for (int64_t u = 0; u < cell->n_hidden; u++, plane += PLANES * pitch)
        for (int v = 0; v < LANES; v += VW) {
            float *p = plane + v, *out = d_head_of(g, heads, 0, u) + v;
            vf     d = v_load(g->d_h + (cell->at + u) * LANES + v), one = v_load(p), two = v_load(p + TWO * pitch),
               s = v_load(p + GATE * pitch);
            vf d_two = v_mul(d, s), d_one = gated ? v_sub(d, d_two) : d;
            vf d_gate = v_mul(v_mul(d_two, v_sub(unit, s)), gated ? v_sub(two, one) : two);
            if (!flat) {
                d_one = v_mul(d_one, v_fnma(one, one, unit));
                d_two = v_mul(d_two, v_fnma(two, two, unit));
            }
            v_store(p, d_one);
            v_store(p + TWO * pitch, d_two);
            v_store(p + GATE * pitch, d_gate);
            v_store(out, d_one);
            v_store(out + VW * LANES, d_two);
            v_store(out + (heads - 1) * VW * LANES, d_gate);
            if (heads == 4) {
                float *d_span = g->d_spans + at + v;
                vf     d_time = v_mul(d_gate, v_load(g->spans + at + v));
                v_store(d_span, v_fma(d_gate, v_load(p + TIME * pitch), v_load(d_span)));
                v_store(p + TIME * pitch, d_time);
                v_store(out + 2 * VW * LANES, d_time);
            }
        }
}

/* Mode pure: the line of e becomes A's gradient, that of the gate w_tau's. */
static void pure_back(const grad *g, int l, float *plane, int64_t at)
{
    const as_cfc_cell *cell = &g->w.b->c.cell[l];
    const layer       *y = &g->w.b->cell[l];
    const int64_t      pitch = g->w.pitch;
    for (int64_t u = 0; u < cell->n_hidden; u++, plane += PLANES * pitch) {
        const float *weights = unit_at(&g->w, y, u);
        const vf     tau = v_one(weights + VW), a = v_one(weights + 2 * VW);
        for (int v = 0; v < LANES; v += VW) {
            float *p = plane + v, *d_span = g->d_spans + at + v;
            vf     d = v_load(g->d_h + (cell->at + u) * LANES + v), f = v_load(p), e = v_load(p + TWO * pitch),
               ts = v_load(g->spans + at + v);
            vf down = v_mul(v_mul(d, a), e), d_f = v_mul(down, v_sub(v_mul(ts, v_abs(f)), v_set(1.0f)));
            v_store(d_span, v_fma(v_mul(down, f), v_add(tau, v_abs(f)), v_load(d_span)));
            v_store(p, d_f);
            v_store(p + TWO * pitch, v_fnma(v_mul(d, e), f, d));
            v_store(p + GATE * pitch, v_mul(v_mul(down, f), ts));
            v_store(d_head_of(g, 1, 0, u) + v, d_f);
        }
    }
}

/* d: of a backbone layer's result. */
static void slopes_back(const grad *g, const gain *a, const float *d, int64_t at)
{
    for (int64_t u = 0; u < a->l->n; u++)
        for (int v = 0; v < LANES; v += VW) {
            float *p = a->planes + (u * ROW_PLANES + SLOPE) * g->w.pitch + at + v;
            vf     d_pre = v_mul(v_load(d + u * LANES + v), v_load(p));
            v_store(p, d_pre);
            v_store(d_head_of(g, 1, 0, u) + v, d_pre);
        }
}

/* d_m: of the state that the memory computed; d_c becomes that of the c before. */
static void gates_back(const grad *g, const gain *a, const float *d_m, int64_t at)
{
    const int64_t pitch = g->w.pitch;
    const vf      one = v_set(1.0f);
    for (int64_t u = 0; u < a->l->n; u++)
        for (int v = 0; v < LANES; v += VW) {
            float *p = a->planes + u * PLANES * pitch + at + v, *d_c_at = g->d_c + u * LANES + v;
            vf     i = v_load(p), ig = v_load(p + pitch), fg = v_load(p + 2 * pitch), og = v_load(p + 3 * pitch),
               d = v_load(d_m + u * LANES + v);
            vf before = v_load(g->c + u * pitch + at + v), after = vm_tanh(v_load(g->c + u * pitch + at + LANES + v));
            vf d_c = v_fma(v_mul(d, og), v_fnma(after, after, one), v_load(d_c_at));
            vf d_head[4] = {v_mul(v_mul(d_c, ig), v_fnma(i, i, one)), v_mul(v_mul(d_c, i), v_fnma(ig, ig, ig)),
                            v_mul(v_mul(d_c, before), v_fnma(fg, fg, fg)), v_mul(v_mul(d, after), v_fnma(og, og, og))};
            v_store(d_c_at, v_mul(d_c, fg));
            for (int h = 0; h < 4; h++) {
                v_store(p + h * pitch, d_head[h]);
                v_store(d_head_of(g, 4, h, u) + v, d_head[h]);
            }
        }
}

/* Gradients of `n` neighbouring inputs of a layer, from d_heads. */
V_INLINE void inputs_tile(const int n, const grad *g, const layer *y, int64_t k, float *out)
{
    const int64_t row = y->heads * VW;
    vf            sum[SUMS][2];
    V_UNROLL
    for (int r = 0; r < n; r++) {
        sum[r][0] = v_zero();
        sum[r][1] = v_zero();
    }
    for (int64_t u = 0; u < y->n; u += VW) {
        const int64_t units = y->n - u < VW ? y->n - u : VW;
        const float  *w = g->w.weights + y->at + u / VW * panel_floats(y) + (y->first + k) * row,
                    *d = g->d_heads + u * y->heads * LANES;
        for (int h = 0; h < y->heads; h++, w += VW, d += VW * LANES)
            for (int64_t i = 0; i < units; i++) {
                vf low = v_load(d + i * LANES), high = v_load(d + i * LANES + (VECS - 1) * VW);
                V_UNROLL
                for (int r = 0; r < n; r++) {
                    vf s = v_one(w + r * row + i);
                    TILE_FMA(sum[r][0], s, low);
                    if (VECS == 2)
                        TILE_FMA(sum[r][1], s, high);
                }
            }
    }
    V_UNROLL
    for (int r = 0; r < n; r++) {
        v_store(out + r * LANES, sum[r][0]);
        if (VECS == 2)
            v_store(out + r * LANES + VW, sum[r][1]);
    }
}

/* At least eight vectors of sums, and not more than there are registers.  Where a line is one vector, every sum reads its own
 * weight: sixteen share one line of d. */
enum { IN_MOST = VECS == 1 ? 16 : AS_SIMD_REGISTERS >= 32 ? 8 : 6, IN_MANY = VECS == 1 ? 8 : 4 };
static __attribute__((noinline)) void inputs_most(const grad *g, const layer *y, int64_t k, float *out)
{
    inputs_tile(IN_MOST, g, y, k, out);
}
static __attribute__((noinline)) void inputs_many(const grad *g, const layer *y, int64_t k, float *out)
{
    inputs_tile(IN_MANY, g, y, k, out);
}
static __attribute__((noinline)) void inputs_four(const grad *g, const layer *y, int64_t k, float *out)
{
    inputs_tile(4, g, y, k, out);
}
static __attribute__((noinline)) void inputs_two(const grad *g, const layer *y, int64_t k, float *out)
{
    inputs_tile(2, g, y, k, out);
}
static __attribute__((noinline)) void inputs_one(const grad *g, const layer *y, int64_t k, float *out)
{
    inputs_tile(1, g, y, k, out);
}

/* Gradients of inputs [k, end), to out.  A remainder after the whole tiles is computed together with neighbours that are already
 * done, with the same bits: a tile of one takes as long as one of four. */
static void inputs_back(const grad *g, const layer *y, int64_t k, int64_t end, float *out)
{
    static const struct {
        int n;
        void (*run)(const grad *g, const layer *y, int64_t k, float *out);
    } tiles[] = {{IN_MOST, inputs_most}, {IN_MANY, inputs_many}, {4, inputs_four}, {2, inputs_two}, {1, inputs_one}};
    const int64_t all = end - k;
    for (int i = 0; k < end;) {
        const int64_t n = tiles[i].n, left = end - k;
        if (n > all || (left < n && i + 1 < (int)AS_COUNT(tiles) && left <= tiles[i + 1].n)) {
            i++;
            continue;
        }
        const int64_t back = left < n ? n - left : 0;
        tiles[i].run(g, y, k - back, out - back * LANES);
        k += n - back;
        out += (n - back) * LANES;
    }
}

static void rows_add(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n * LANES; i += VW)
        v_store(to + i, v_add(v_load(to + i), v_load(from + i)));
}

/* The layer that sees a cell's inputs: the gradients of its own state go to d_before, the others to d_x or to the cell before. */
static void bottom_back(const grad *g, int l, const layer *y)
{
    const as_cfc      *c = &g->w.b->c;
    const as_cfc_cell *cell = &c->cell[l];
    inputs_back(g, y, cell->n_in, y->k, g->d_before + cell->at * LANES);
    if (l) {
        inputs_back(g, y, 0, cell->n_in, g->d_wide[0]);
        rows_add(g->d_h + c->cell[l - 1].at * LANES, g->d_wide[0], cell->n_in);
    } else if (g->d_in[AS_CFC_X].data) {
        inputs_back(g, y, 0, cell->n_in, g->d_x);
    }
}

static void cell_back(const grad *g, int l, int64_t at)
{
    const book  *b = g->w.b;
    float       *plane = gain_of(g, OF_CELL, l)->planes + at;
    const layer *y = &b->cell[l];
    if (b->c.mode == AS_CFC_PURE)
        pure_back(g, l, plane, at);
    else
        cell_heads_back(g, l, plane, at);
    for (int k = b->c.n_backbone - 1; k >= 0; k--) {
        inputs_back(g, y, 0, y->k, g->d_wide[0]);
        y = &b->backbone[k];
        slopes_back(g, gain_of(g, OF_BACKBONE, k), g->d_wide[0], at);
    }
    bottom_back(g, l, y);
}

static void memory_back(grad *g, int64_t at)
{
    const as_cfc *c = &g->w.b->c;
    const layer  *y = &g->w.b->memory;
    gates_back(g, gain_of(g, OF_MEMORY, 0), g->d_before, at);
    inputs_back(g, y, c->n_in, y->k, g->d_before);
    if (g->d_in[AS_CFC_X].data) {
        inputs_back(g, y, 0, c->n_in, g->d_wide[0]);
        rows_add(g->d_x, g->d_wide[0], c->n_in);
    }
}

/* The gradient that y gives to the last cell's new state. */
static void y_back(const grad *g, int64_t first, int64_t n, int64_t t)
{
    const as_cfc *c = &g->w.b->c;
    const int64_t line = c->sequences ? c->n_steps * c->n_y : c->n_y;
    const bool    here = g->d_y && (c->sequences || t + 1 == c->n_steps);
    float        *d_h = g->d_h + c->cell[c->n_cells - 1].at * LANES, *d = g->d_wide[1];
    if (!here && !c->has_fc)
        return;
    memset(d, 0, (size_t)(c->n_y * LANES) * sizeof *d);
    if (here)
        lanes_fetch(LANES, n, g->d_y + first * line + (c->sequences ? t * c->n_y : 0), line, c->n_y, d);
    if (!c->has_fc) {
        rows_add(d_h, d, c->n_y);
        return;
    }
    step_keep(d, c->n_y, gain_of(g, OF_FC, 0)->planes + t * LANES, g->w.pitch);
    memcpy(g->d_heads, d, (size_t)(c->n_y * LANES) * sizeof *d);
    inputs_back(g, &g->w.b->fc, 0, c->n_out, g->d_wide[0]);
    rows_add(d_h, g->d_wide[0], c->n_out);
}

static void state_store(const float *from, int64_t first, int64_t n, int64_t size, const as_view *to)
{
    if (to->data)
        lanes_put(LANES, n, from, size, (float *)to->data + first * size, size);
}

static void block_back(grad *g, int64_t first, int64_t n)
{
    const as_cfc *c = &g->w.b->c;
    float        *d_x = g->d_in[AS_CFC_X].data;
    memset(g->d_spans, 0, (size_t)g->length * sizeof(float));
    state_load(g->d_h_n, first, n, c->n_state, g->d_h);
    if (c->has_memory)
        state_load(g->d_c_n, first, n, c->n_state, g->d_c);
    for (int64_t t = c->n_steps - 1; t >= 0; t--) {
        y_back(g, first, n, t);
        for (int l = c->n_cells - 1; l >= 0; l--)
            cell_back(g, l, t * LANES);
        if (c->has_memory)
            memory_back(g, t * LANES);
        if (d_x)
            lanes_put(LANES, n, g->d_x, c->n_in, d_x + (first * c->n_steps + t) * c->n_in, c->n_steps * c->n_in);
        swap(&g->d_h, &g->d_before);
    }
    state_store(g->d_h, first, n, c->n_state, &g->d_in[AS_CFC_H0]);
    if (c->has_memory)
        state_store(g->d_c, first, n, c->n_state, &g->d_in[AS_CFC_C0]);
    state_store(g->d_spans, first, n, c->n_steps, &g->d_in[AS_CFC_TIMESPANS]);
}

/* --- Gradients of weights ---------------------------------------------------------------------------------------- */

/* sum[i * PAIR_Z + k]: the product of lines d[i] and z[k]. */
static __attribute__((noinline)) void lines_multiply(const float *const *d, const float *const *z, int64_t length, float *out)
{
    vf sum[(PAIRS + VW - 1) / VW * VW];
    V_UNROLL
    for (int i = 0; i < PAIR_D; i++) {
        V_UNROLL
        for (int k = 0; k < PAIR_Z; k++)
            sum[i * PAIR_Z + k] = v_zero();
    }
    for (int64_t at = 0; at < length; at += VW) {
        vf x[PAIR_D];
        V_UNROLL
        for (int i = 0; i < PAIR_D; i++)
            x[i] = v_load(d[i] + at);
        V_UNROLL
        for (int k = 0; k < PAIR_Z; k++) {
            vf y = v_load(z[k] + at);
            V_UNROLL
            for (int i = 0; i < PAIR_D; i++)
                TILE_FMA(sum[i * PAIR_Z + k], x[i], y);
        }
    }
    V_UNROLL
    for (int i = PAIRS; i < (int)AS_COUNT(sum); i++)
        sum[i] = v_zero();
    V_UNROLL
    for (int i = 0; i < (int)AS_COUNT(sum); i += VW)
        v_store(out + i, v_sums(sum + i));
}

/* The values of input k of a layer at every step; after the last input comes the bias. */
static const float *line_z(const grad *g, const gain *a, int64_t k)
{
    const as_cfc      *c = &g->w.b->c;
    const as_cfc_cell *cell = &c->cell[a->kind == OF_CELL ? a->index : 0];
    const int64_t      pitch = g->w.pitch;
    const float       *state = c->has_memory ? g->m : g->h;
    if (k == a->l->k)
        return g->ones;
    if (a->kind == OF_FC)
        return g->h + (c->cell[c->n_cells - 1].at + k) * pitch + LANES;
    if (a->kind == OF_MEMORY)
        return k < c->n_in ? g->x + k * pitch : g->h + (k - c->n_in) * pitch;
    int below = a->kind == OF_BACKBONE ? a->index : c->n_backbone; /* backbone layers below it */
    if (below)
        return gain_of(g, OF_BACKBONE, below - 1)->planes + (k * ROW_PLANES + POST) * pitch;
    if (k >= cell->n_in)
        return state + (cell->at + k - cell->n_in) * pitch;
    return a->kind == OF_CELL && a->index ? g->h + (c->cell[a->index - 1].at + k) * pitch + LANES : g->x + k * pitch;
}

/* The line of the gradient of row i: a unit's head. */
static const float *line_d(const grad *g, const gain *a, int64_t i)
{
    int head = (int)(i % a->heads), plane = a->kind == OF_BACKBONE ? SLOPE : a->heads == 3 && head == 2 ? GATE : head;
    return a->planes + (i / a->heads * a->per_unit + plane) * g->w.pitch;
}

/* Up to PAIR_Z of them; reading beyond `more` is allowed. */
V_INLINE void sums_add(float *to, const float *more, int64_t n)
{
    for (int64_t i = 0; i < n; i += VW) {
        int count = n - i < VW ? (int)(n - i) : VW;
        v_store_n(to + i, count, v_add(v_load_n(to + i, count), v_load(more + i)));
    }
}

/* The products of the tile at row i and input k, as far as they exist. */
static void pairs_add(float *sums, int64_t i, int64_t n_d, int64_t k, int64_t n_z, const float *out)
{
    for (int64_t j = 0; j < PAIR_D && i + j < n_d; j++)
        sums_add(sums + (i + j) * n_z + k, out + j * PAIR_Z, n_z - k < PAIR_Z ? n_z - k : PAIR_Z);
}

/* Adds the block's products to the sums of the shard.  A tile's products are added while the next tile is multiplied: read
 * immediately, they would still be on their way to memory. */
static void gather(const grad *g, const gain *a)
{
    const int64_t n_z = a->l->k + 1, n_d = a->l->n * a->heads;
    float        *sums = g->sums + a->at, out[2][PAIRS + VW];
    int64_t       last_i = -1, last_k = 0, turn = 0;
    for (int64_t k = 0; k < n_z; k++)
        g->z[k] = line_z(g, a, k);
    for (int64_t k = n_z; k < n_z + PAIR_Z; k++)
        g->z[k] = g->ones; /* a tile is always whole; what is too much is dropped */
    for (int64_t i = 0; i < n_d + PAIR_D; i++)
        g->d[i] = i < n_d ? line_d(g, a, i) : g->ones;
    for (int64_t k = 0; k < n_z; k += PAIR_Z)
        for (int64_t i = 0; i < n_d; i += PAIR_D, turn = !turn) {
            lines_multiply(g->d + i, g->z + k, g->length, out[turn]);
            if (last_i >= 0)
                pairs_add(sums, last_i, n_d, last_k, n_z, out[!turn]);
            last_i = i, last_k = k;
        }
    if (last_i >= 0)
        pairs_add(sums, last_i, n_d, last_k, n_z, out[!turn]);
    sums += n_d * n_z;
    for (int64_t u = 0; a->kind == OF_CELL && g->w.b->c.mode == AS_CFC_PURE && u < a->l->n; u++)
        for (int p = 0; p < 2; p++) {
            const float *line = a->planes + (u * a->per_unit + (p ? GATE : TWO)) * g->w.pitch;
            vf           sum = v_zero();
            for (int64_t at = 0; at < g->length; at += VW)
                sum = v_add(sum, v_load(line + at));
            sums[2 * u + p] += v_sum(sum);
        }
}

/* --- From shards to outputs ------------------------------------------------------------------------------------------ */

/* Row u of the weights [u][n_z] and of the bias, from the shards' sums. */
static void row_out(const grad *g, const float *from, float scale, const as_view *mask, int64_t u, int64_t n_z, float *d_w,
                    float *d_b)
{
    const source as = {.mask = mask, .scale = scale, .signs = g->w.b->c.semantics != AS_CFC_TORCH};
    for (int64_t k = 0; d_w && k < n_z; k += VW) {
        const int count = n_z - k < VW ? (int)(n_z - k) : VW;
        v_store_n(d_w + u * n_z + k, count, weights_load(&as, from + k, u * n_z + k, count));
    }
    if (d_b)
        d_b[u] = scale * from[n_z];
}

static float *wanted(const grad *g, int i) { return g->d_in[i].data; }

static void unit_out(const grad *g, const gain *a, int64_t u)
{
    const as_cfc *c = &g->w.b->c;
    const int64_t n = a->l->n, n_z = a->l->k;
    const float  *from = g->sums + a->at + u * a->heads * (n_z + 1), *more = g->sums + a->at + n * a->heads * (n_z + 1) + 2 * u;
    const int     first = a->kind == OF_CELL ? c->cell[a->index].first : 0,
              pair = a->kind == OF_FC ? AS_CFC_FC_W : AS_CFC_CELLS + 2 * a->index;
    if (a->kind == OF_BACKBONE || a->kind == OF_FC) {
        row_out(g, from, 1.0f, NULL, u, n_z, wanted(g, pair), wanted(g, pair + 1));
    } else if (a->kind == OF_MEMORY) {
        for (int h = 0; h < 4; h++, from += n_z + 1) {
            row_out(g, from, 1.0f, NULL, h * n + u, c->n_in, wanted(g, AS_CFC_MEMORY_W), NULL);
            row_out(g, from + c->n_in, 1.0f, NULL, h * n + u, n, wanted(g, AS_CFC_MEMORY_R), wanted(g, AS_CFC_MEMORY_B));
        }
    } else if (c->mode == AS_CFC_PURE) {
        const float tau = ((const float *)g->in[first + 1].data)[u];
        row_out(g, from, 1.0f, &g->in[first], u, n_z, wanted(g, first + 3), wanted(g, first + 4));
        if (wanted(g, first + 1))
            wanted(g, first + 1)[u] = more[1] * (float)((tau > 0.0f) - (tau < 0.0f));
        if (wanted(g, first + 2))
            wanted(g, first + 2)[u] = more[0];
    } else {
        for (int h = 0; h < PLANES; h++) { /* without spans, time_a's gradient is time_b's */
            const float *head = from + (h < a->heads ? h : a->heads - 1) * (n_z + 1),
                        sign = h == TIME && c->semantics != AS_CFC_TORCH ? -1.0f : 1.0f;
            row_out(g, head, sign, h < TIME ? &g->in[first] : NULL, u, n_z, wanted(g, first + 1 + 2 * h),
                    wanted(g, first + 2 + 2 * h));
        }
    }
}

/* --- The kernel's functions ------------------------------------------------------------------------------------------ */

static int infos_of(const as_node_ctx *n, as_tensor_info *in)
{
    in[0] = n->in[0];
    for (int i = REST; i < n->n_in; i++)
        in[i - REST + 1] = n->in[i];
    return n->n_in > REST ? n->n_in - REST + 1 : 1;
}

static int64_t blocks_of(const as_cfc *c) { return (c->n_batch + LANES - 1) / LANES; }
static int     shards_of(const as_cfc *c) { return blocks_of(c) > MAX_SHARDS ? MAX_SHARDS : c->n_batch ? (int)blocks_of(c) : 1; }

static void gain_add(grad *g, gain_kind kind, int index, const layer *l, int heads, int per_unit)
{
    g->gains[g->n_gains++] = (gain){.kind = kind, .index = index, .l = l, .heads = heads, .per_unit = per_unit, .at = g->n_sums};
    g->n_sums += lines(l->n * heads * (l->k + 1) + 2 * l->n);
}

static void gains_list(grad *g, const book *b)
{
    const as_cfc *c = &b->c;
    if (c->has_memory)
        gain_add(g, OF_MEMORY, 0, &b->memory, 4, PLANES);
    for (int k = 0; k < c->n_backbone; k++)
        gain_add(g, OF_BACKBONE, k, &b->backbone[k], 1, ROW_PLANES);
    for (int l = 0; l < c->n_cells; l++)
        gain_add(g, OF_CELL, l, &b->cell[l], b->cell[l].heads, PLANES);
    if (c->has_fc)
        gain_add(g, OF_FC, 0, &b->fc, 1, 1);
}

/* The memory of one part.  With p NULL it only counts floats.  The pitch is an odd number of cache lines, because a step writes to
 * all lines at once. */
static int64_t grad_place(grad *g, const book *b, float *p)
{
    const as_cfc *c = &b->c;
    const int64_t length = c->n_steps * LANES, pitch = ((length + LANES + 15) / 16 | 1) * 16,
                  memory_lines = c->has_memory ? c->n_state : 0;
    int64_t widest = c->n_y > c->n_in ? c->n_y : c->n_in, most = 0, total = 0;
    float  *weights = NULL, *z = NULL, *d = NULL;
    for (int i = 0; i < g->n_gains; i++) {
        const layer *l = g->gains[i].l;
        int64_t      rows_here = panels_of(l->n) * l->heads * VW, wide = l->k + 1 > l->n ? l->k + 1 : l->n;
        widest = wide > widest ? wide : widest;
        most = rows_here > most ? rows_here : most;
    }
    struct {
        float **to;
        int64_t n;
    } all[] = {{&weights, b->n_floats},
               {&g->w.x, c->n_in * LANES},
               {&g->w.h, c->n_state * LANES},
               {&g->w.mid, c->n_state * LANES},
               {&g->w.memory, memory_lines * LANES},
               {&g->w.wide[0], b->widest * LANES},
               {&g->w.wide[1], b->widest * LANES},
               {&g->x, c->n_in * pitch},
               {&g->h, c->n_state * pitch},
               {&g->c, memory_lines * pitch},
               {&g->m, memory_lines * pitch},
               {&g->spans, length},
               {&g->d_spans, length},
               {&g->ones, length},
               {&g->d_h, c->n_state * LANES},
               {&g->d_before, c->n_state * LANES},
               {&g->d_c, memory_lines * LANES},
               {&g->d_x, c->n_in * LANES},
               {&g->d_wide[0], widest * LANES},
               {&g->d_wide[1], widest * LANES},
               {&g->d_heads, most * LANES},
               {&z, (widest + PAIR_Z) * POINTER},
               {&d, (most + PAIR_D) * POINTER}};
    for (int i = 0; i < (int)AS_COUNT(all); i++) {
        *all[i].to = p ? p + total : NULL;
        total += lines(all[i].n);
    }
    for (int i = 0; i < g->n_gains; i++) {
        g->gains[i].planes = p ? p + total : NULL;
        total += g->gains[i].l->n * g->gains[i].per_unit * pitch;
    }
    g->z = (const float **)(void *)z;
    g->d = (const float **)(void *)d;
    g->w.b = b;
    g->w.weights = weights;
    g->w.pitch = pitch;
    g->length = length;
    if (p)
        weights_pack(b, g->in, weights);
    return lines(total);
}

/* The shards' sums, then the parts. */
static size_t cfcgrad_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    as_tensor_info in[AS_MAX_IN];
    int            n_in = infos_of(n, in);
    book           b = book_read(n, in, n_in);
    grad           g = {0};
    gains_list(&g, &b);
    return (size_t)(shards_of(&b.c) * g.n_sums + n_parts * grad_place(&g, &b, NULL)) * sizeof(float);
}

static bool cfcgrad_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_tensor_info in[AS_MAX_IN];
    int            n_in = infos_of(n, in);
    as_cfc         c;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (as_cfc_read(NULL, n, in, n_in, &c) != ASSAY_OK || c.dropout <= 0.0 || !c.n_backbone || as_in_has(n, STASH))
        return true;
    snprintf(why, why_size, "dropout of %g while training, and no stash of what was dropped", c.dropout);
    return false;
}

static void grad_read(const as_kernel_args *args, book *b, grad *g)
{
    const as_node_ctx *n = args->ctx;
    as_tensor_info     in[AS_MAX_IN];
    int                n_in = infos_of(n, in), found = 0;
    *b = book_read(n, in, n_in);
    *g = (grad){.d_y = args->in[D_Y].data,
                .d_h_n = args->in[D_H].data,
                .d_c_n = args->in[D_C].data,
                .stash = as_in_has(n, STASH) ? args->in[STASH].data : NULL};
    g->in[0] = args->in[0];
    for (int i = 1; i < n_in; i++)
        g->in[i] = args->in[i + REST - 1];
    for (int i = 0; i < n_in && found < n->n_out; i++)
        if (as_cfc_differentiable(&b->c, in, n_in, i))
            g->d_in[i] = args->out[found++];
    g->w.b = b;
    gains_list(g, b);
}

static void cfcgrad_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    book    b;
    grad    g;
    int64_t shard, end, block, last;
    grad_read(args, &b, &g);
    const int n_shards = shards_of(&b.c);
    as_share(n_shards, 1, part, n_parts, &shard, &end);
    if (shard >= end)
        return;
    grad_place(&g, &b, (float *)scratch + n_shards * g.n_sums + part * grad_place(&g, &b, NULL));
    for (; shard < end; shard++) {
        g.sums = (float *)scratch + shard * g.n_sums;
        memset(g.sums, 0, (size_t)g.n_sums * sizeof *g.sums);
        as_share(blocks_of(&b.c), 1, (int)shard, n_shards, &block, &last);
        for (; block < last; block++) {
            int64_t first = block * LANES, left = b.c.n_batch - first;
            block_forward(&g, first, left < LANES ? left : LANES);
            block_back(&g, first, left < LANES ? left : LANES);
            for (int i = 0; i < g.n_gains; i++)
                gather(&g, &g.gains[i]);
        }
    }
}

/* The shards' sums are added up in shard 0's; every part does some units. */
static void cfcgrad_finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    book b;
    grad g;
    grad_read(args, &b, &g);
    const int n_shards = shards_of(&b.c);
    g.sums = scratch;
    for (int i = 0; i < g.n_gains; i++) {
        const gain   *a = &g.gains[i];
        const int64_t row = a->heads * (a->l->k + 1);
        int64_t       u, end;
        for (as_share(a->l->n, 1, part, n_parts, &u, &end); u < end; u++) {
            float *own = g.sums + a->at + u * row, *more = g.sums + a->at + a->l->n * row + 2 * u;
            for (int s = 1; s < n_shards; s++) {
                for (int64_t k = 0; k < row; k++)
                    own[k] += own[s * g.n_sums + k];
                more[0] += more[s * g.n_sums];
                more[1] += more[s * g.n_sums + 1];
            }
            unit_out(&g, a, u);
        }
    }
}
