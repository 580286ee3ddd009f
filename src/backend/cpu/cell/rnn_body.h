/* rnn_body.h - the body of k_recurrent_f32_<machine>.c, after its simd_*.h: LSTM, GRU and RNN over a whole sequence.
 *
 * A part has some rows, which are sequences in one direction each.  A step multiplies all its rows with one panel after the other:
 * tiles of rows, whose sums start from the bias, go through x, then through the state, and then become gates at once.  Where a part
 * has few rows, the products with X come first, for several steps together, so that the weights of X are read less often; the sums
 * are the same, only interrupted. */
#include "backend/cpu/cell/rnn_net.h"

/* --- Packing ------------------------------------------------------------------------------------------------- */

/* to[i * to_row + lane] = from[lane * from_row + i] for `units` lanes and n numbers of each; the other lanes get zeros. */
static void units_turn(const float *from, int64_t from_row, int64_t units, int64_t n, float *to, int64_t to_row)
{
    for (int64_t i = 0; i < n; i += VW) {
        const int count = (int)least(VW, n - i);
        vf        r[VW];
        V_UNROLL
        for (int u = 0; u < VW; u++)
            r[u] = u < units ? v_load_n(from + u * from_row + i, count) : v_zero();
        v_transpose(r);
        for (int u = 0; u < count; u++)
            v_store(to + (i + u) * to_row, r[u]);
    }
}

/* The panels of one direction. */
static void weights_pack(const net *m, const as_kernel_args *args, int64_t d, float *weights)
{
    const as_view *in = args->in;
    const int64_t  hidden = m->r.n_hidden, n_in = m->r.n_in, gates = m->cell->n_gates;
    const float   *w = (const float *)in[AS_RNN_W].data + d * gates * hidden * n_in,
                *r = (const float *)in[AS_RNN_R].data + d * gates * hidden * hidden,
                *b = as_in_has(args->ctx, AS_RNN_B) && in[AS_RNN_B].data ? (const float *)in[AS_RNN_B].data + d * 2 * gates * hidden
                                                                         : NULL;
    for (int i = 0; i < m->n_groups; i++) {
        const group *g = &m->groups[i];
        for (int64_t p = 0; p < m->n_panels; p++) {
            const int64_t first = p * VW, units = least(VW, hidden - first);
            float        *to = weights + m->at[i] + p * panel_floats(m, g);
            for (int s = 0; s < g->n_sums; s++, to += VW) {
                const sum_def *def = &g->sums[s];
                vf             bias = v_zero();
                if (b && def->wb >= 0)
                    bias = v_add(bias, v_load_n(b + def->wb * hidden + first, (int)units));
                if (b && def->rb >= 0)
                    bias = v_add(bias, v_load_n(b + (gates + def->rb) * hidden + first, (int)units));
                v_store(to, bias);
            }
            for (int s = 0; s < g->n_x; s++)
                units_turn(w + ((g->first_x + s) * hidden + first) * n_in, n_in, units, n_in, to + s * VW, g->n_x * VW);
            to += g->n_x * n_in * VW;
            for (int s = 0; s < g->n_h; s++)
                units_turn(r + ((g->first_h + s) * hidden + first) * hidden, hidden, units, hidden, to + s * VW, g->n_h * VW);
        }
    }
}

/* --- Products ---------------------------------------------------------------------------------------------------- */

enum { MOST_SUMS = AS_SIMD_REGISTERS >= 32 ? 24 : 12, TALL = 12 }; /* vectors of sums in registers; rows of the tallest tile */
enum { AHEAD = 12 };                                               /* steps whose products with X are made together */

/* Rows of a tile: rows_ row-major inputs with their strides, and where sums start and go, [row][sum][VW]. */
typedef struct strip {
    const float *start, *x, *h, *w, *wh; /* w, wh: the rows of a panel for X and for h */
    float       *out;
    int64_t      start_row, x_row, h_row, out_row, n_x, n_h;
} strip;

/* sum[row][v] += a[row] * w over k; the last of `vecs` vectors goes to sum `last`. */
V_INLINE void strip_add(const int rows, const int vecs, const int last, const float *a, int64_t a_row, const float *w, int64_t k,
                        vf sum[TALL][4])
{
    for (int64_t i = 0; i < k; i++, w += vecs * VW) {
        vf line[4];
        V_UNROLL
        for (int v = 0; v < vecs; v++)
            line[v] = v_load(w + v * VW);
        V_UNROLL
        for (int r = 0; r < rows; r++) {
            vf x = v_one(a + r * a_row + i);
            V_UNROLL
            for (int v = 0; v < vecs; v++)
                TILE_FMA(sum[r][v == vecs - 1 ? last : v], x, line[v]);
        }
    }
}

V_INLINE void strip_run(const int rows, const int sums, const int vecs, const int last_x, const strip *s)
{
    vf sum[TALL][4];
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int v = 0; v < sums; v++)
            sum[r][v] = v_load(s->start + r * s->start_row + v * VW);
    }
    strip_add(rows, vecs, last_x, s->x, s->x_row, s->w, s->n_x, sum);
    strip_add(rows, vecs, sums - 1, s->h, s->h_row, s->wh, s->n_h, sum);
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int v = 0; v < sums; v++)
            v_store(s->out + r * s->out_row + v * VW, sum[r][v]);
    }
}

/* Four heights per group: whole, two thirds, one third and one row. */
#define STRIP(name, rows, sums, vecs, last_x) \
    static __attribute__((noinline)) void name(const strip *s) { strip_run(rows, sums, vecs, last_x, s); }
typedef void strip_fn(const strip *s);
typedef struct strips {
    int       height[4];
    strip_fn *run[4];
} strips;
enum { ROWS_4 = MOST_SUMS / 4, ROWS_2 = MOST_SUMS / 2, ROWS_1 = 12 };
STRIP(lstm_whole, ROWS_4, 4, 4, 3)
STRIP(lstm_most, ROWS_4 * 2 / 3, 4, 4, 3)
STRIP(lstm_some, ROWS_4 / 3 + (ROWS_4 == 3), 4, 4, 3)
STRIP(lstm_one, 1, 4, 4, 3)
STRIP(gru_whole, ROWS_4, 4, 3, 2)
STRIP(gru_most, ROWS_4 * 2 / 3, 4, 3, 2)
STRIP(gru_some, ROWS_4 / 3 + (ROWS_4 == 3), 4, 3, 2)
STRIP(gru_one, 1, 4, 3, 2)
STRIP(two_whole, ROWS_2, 2, 2, 1)
STRIP(two_most, ROWS_2 * 2 / 3, 2, 2, 1)
STRIP(two_some, ROWS_2 / 3, 2, 2, 1)
STRIP(two_one, 1, 2, 2, 1)
STRIP(one_whole, ROWS_1, 1, 1, 0)
STRIP(one_most, ROWS_1 * 2 / 3, 1, 1, 0)
STRIP(one_some, ROWS_1 / 3, 1, 1, 0)
STRIP(one_one, 1, 1, 1, 0)
#undef STRIP
#define HEIGHTS(rows, name)                                                                                     \
    {                                                                                                           \
        {rows, rows * 2 / 3, rows / 3 + (rows == 3), 1}, { name##_whole, name##_most, name##_some, name##_one } \
    }
static const strips strips_lstm = HEIGHTS(ROWS_4, lstm), strips_gru = HEIGHTS(ROWS_4, gru), strips_two = HEIGHTS(ROWS_2, two),
                    strips_one = HEIGHTS(ROWS_1, one);

static const strips *strips_of(const group *g)
{
    return g->n_x == 4 ? &strips_lstm : g->n_x == 3 ? &strips_gru : g->n_x == 2 ? &strips_two : &strips_one;
}

/* The height of the next tile: whole ones, and two of two thirds instead of a whole one and a low one. */
static int height_of(const strips *s, int64_t left)
{
    if (left >= 2 * s->height[0] || left == s->height[0] || left >= s->height[0] + s->height[1])
        return 0;
    for (int i = left > s->height[0] ? 1 : 0; i < 3; i++)
        if (left >= s->height[i])
            return i;
    return 3;
}

/* --- One step ------------------------------------------------------------------------------------------------- */

/* What a part works with. */
typedef struct work {
    const net   *m;
    const float *weights; /* of the direction */
    float       *h[2], *c, *zero, *q, *ahead, *sums;
    int64_t      first, n; /* sequences of the batch */
    int          d;
    const float *x, *h0, *c0;
    float       *y, *stash; /* NULL: not wanted */
} work;

/* A row's old and new state at one step, from its first unit on. */
typedef struct rows {
    const float *h;
    int64_t      h_row;
    const float *c;
    int64_t      c_row;
    float       *h_next, *c_next, *kept; /* kept: NULL: not wanted */
    int64_t      h_next_row, c_next_row, kept_row;
} rows;

static __attribute__((noinline)) void lstm_end(const work *w, const rows *r, int64_t row, int n_rows, int64_t unit, int count)
{
    const int64_t hidden = w->m->r.n_hidden;
    for (int i = 0; i < n_rows; i++) {
        float *sum = w->sums + i * 4 * VW;
        vf     gate[4] = {v_load(sum), v_load(sum + VW), v_load(sum + 2 * VW), v_load(sum + 3 * VW)};
        squash(3, 1, gate);
        vf c = v_fma(gate[2], get(r->c + (row + i) * r->c_row + unit, count), v_mul(gate[0], gate[3]));
        put(r->c_next + (row + i) * r->c_next_row + unit, count, c);
        v_store(sum, gate[1]); /* until its h is computed */
        v_store(sum + VW, c);
        if (r->kept) { /* C is there already */
            float *kept = r->kept + (row + i) * r->kept_row + unit;
            for (int k = 0; k < 4; k++)
                put(kept + k * hidden, count, gate[k]);
        }
    }
    for (int i = 0; i < n_rows; i += 3) { /* the sums after the last row are memory, too */
        const float *sum = w->sums + i * 4 * VW;
        vf           c[3] = {v_load(sum + VW), v_load(sum + 5 * VW), v_load(sum + 9 * VW)};
        squash(0, 3, c);
        for (int k = 0; k < 3 && i + k < n_rows; k++)
            put(r->h_next + (row + i + k) * r->h_next_row + unit, count, v_mul(v_load(sum + k * 4 * VW), c[k]));
    }
}

static __attribute__((noinline)) void gru_end(const work *w, const rows *r, int64_t row, int n_rows, int64_t unit, int count)
{
    const int64_t hidden = w->m->r.n_hidden;
    for (int i = 0; i < n_rows; i++) {
        float *sum = w->sums + i * 4 * VW;
        vf     past = v_load(sum + 3 * VW), gate[2] = {v_load(sum), v_load(sum + VW)};
        squash(2, 0, gate);
        v_store(sum, gate[0]);
        v_store(sum + 2 * VW, v_fma(gate[1], past, v_load(sum + 2 * VW)));
        if (r->kept) {
            float *kept = r->kept + (row + i) * r->kept_row + unit;
            put(kept, count, gate[0]);
            put(kept + hidden, count, gate[1]);
            put(kept + 3 * hidden, count, past);
        }
    }
    for (int i = 0; i < n_rows; i += 3) {
        const float *sum = w->sums + i * 4 * VW;
        vf           fresh[3] = {v_load(sum + 2 * VW), v_load(sum + 6 * VW), v_load(sum + 10 * VW)};
        squash(0, 3, fresh);
        for (int k = 0; k < 3 && i + k < n_rows; k++) {
            const int64_t at = row + i + k;
            vf            h = get(r->h + at * r->h_row + unit, count), z = v_load(sum + k * 4 * VW);
            put(r->h_next + at * r->h_next_row + unit, count, v_fma(z, v_sub(h, fresh[k]), fresh[k]));
            if (r->kept)
                put(r->kept + at * r->kept_row + 2 * hidden + unit, count, fresh[k]);
        }
    }
}

/* z goes to w->c until the second group has h's other part; r * h goes to w->q. */
static __attribute__((noinline)) void reset_end(const work *w, const rows *r, int64_t row, int n_rows, int64_t unit, int count)
{
    const int64_t hidden = w->m->r.n_hidden, wide = w->m->n_panels * VW;
    for (int i = 0; i < n_rows; i++, row++) {
        const float *sum = w->sums + i * 2 * VW;
        vf           gate[2] = {v_load(sum), v_load(sum + VW)};
        squash(2, 0, gate);
        vf z = gate[0], reset = gate[1], q = v_mul(reset, get(r->h + row * r->h_row + unit, count));
        v_store(w->c + row * wide + unit, z);
        v_store(w->q + row * wide + unit, q);
        if (r->kept) {
            float *kept = r->kept + row * r->kept_row + unit;
            put(kept, count, z);
            put(kept + hidden, count, reset);
            put(kept + 3 * hidden, count, q);
        }
    }
}
static __attribute__((noinline)) void fresh_end(const work *w, const rows *r, int64_t row, int n_rows, int64_t unit, int count)
{
    const int64_t hidden = w->m->r.n_hidden, wide = w->m->n_panels * VW;
    for (int i = 0; i < n_rows; i++, row++) {
        vf fresh = tanh_of(v_load(w->sums + i * VW)), z = v_load(w->c + row * wide + unit),
           h = get(r->h + row * r->h_row + unit, count);
        put(r->h_next + row * r->h_next_row + unit, count, v_fma(z, v_sub(h, fresh), fresh));
        if (r->kept)
            put(r->kept + row * r->kept_row + 2 * hidden + unit, count, fresh);
    }
}

static __attribute__((noinline)) void plain_end(const work *w, const rows *r, int64_t row, int n_rows, int64_t unit, int count)
{
    const bool relu = w->m->r.act[w->d][0].kind == AS_ACTIVATION_RELU;
    for (int i = 0; i < n_rows; i++, row++) {
        vf sum = v_load(w->sums + i * VW);
        put(r->h_next + row * r->h_next_row + unit, count, relu ? vm_relu(sum) : tanh_of(sum));
    }
}

typedef void end_fn(const work *w, const rows *r, int64_t row, int n_rows, int64_t unit, int count);

/* One group of gates at one step.  `ahead`: the sums after X, [row][panel][sums], or NULL. */
static void group_step(const work *w, int i, const rows *r, const float *x, const float *ahead, int64_t ahead_row)
{
    const net    *m = w->m;
    const group  *g = &m->groups[i];
    const strips *tiles = strips_of(g);
    const bool    second = i == 1;
    end_fn *const end = m->kind == NET_LSTM  ? lstm_end
                        : m->kind == NET_GRU ? gru_end
                        : m->kind == NET_RNN ? plain_end
                        : second             ? fresh_end
                                             : reset_end;
    const int64_t hidden = m->r.n_hidden, panel = panel_floats(m, g), wide = m->n_panels * VW;
    const float  *from = second ? w->q : r->h;
    const int64_t from_row = second ? wide : r->h_row;
    for (int64_t p = 0; p < m->n_panels; p++) {
        const float  *weights = w->weights + m->at[i] + p * panel;
        const int64_t n_x = ahead ? 0 : m->r.n_in;
        for (int64_t row = 0, n; row < w->n; row += n) {
            const int h = height_of(tiles, w->n - row);
            n = tiles->height[h];
            if (r->kept) /* it is written long after it was read, if ever: fetched while the sums are computed */
                for (int64_t k = 0; k < n; k++)
                    for (int v = 0; v < m->cell->n_stash; v++)
                        __builtin_prefetch(r->kept + (row + k) * r->kept_row + v * hidden + p * VW, 1);
            tiles->run[h](&(strip){.start = ahead ? ahead + row * ahead_row + p * g->n_sums * VW : weights,
                                   .start_row = ahead ? ahead_row : 0,
                                   .x = x + row * m->x_b,
                                   .x_row = m->x_b,
                                   .n_x = n_x,
                                   .w = weights + g->n_sums * VW,
                                   .h = from + row * from_row,
                                   .h_row = from_row,
                                   .n_h = r->h == w->zero ? 0 : hidden, /* zeros add nothing */
                                   .wh = weights + (g->n_sums + g->n_x * m->r.n_in) * VW,
                                   .out = w->sums,
                                   .out_row = g->n_sums * VW});
            end(w, r, row, (int)n, p * VW, (int)least(VW, hidden - p * VW));
        }
    }
}

/* The products of X with `n` steps from t on (in the direction's order of time), [step][row][panel][sums] for each group. */
static void steps_ahead(const work *w, int i, int64_t t, int64_t n, float *out)
{
    const net    *m = w->m;
    const group  *g = &m->groups[i];
    const strips *tiles = strips_of(g);
    const int64_t sums = g->n_sums * VW, row = m->n_panels * sums, panel = panel_floats(m, g),
                  step = m->r.backward[w->d] ? -m->x_t : m->x_t;
    const float *x = w->x + (m->r.backward[w->d] ? m->r.n_steps - 1 - t : t) * m->x_t;
    for (int64_t p = 0; p < m->n_panels; p++)
        for (int64_t b = 0; b < w->n; b++)
            for (int64_t s = 0, rows_here; s < n; s += rows_here) {
                const int    h = height_of(tiles, n - s);
                const float *weights = w->weights + m->at[i] + p * panel;
                rows_here = tiles->height[h];
                tiles->run[h](&(strip){.start = weights,
                                       .x = x + b * m->x_b + s * step,
                                       .x_row = step,
                                       .n_x = m->r.n_in,
                                       .w = weights + sums,
                                       .h = x,
                                       .wh = weights,
                                       .out = out + (s * w->n + b) * row + p * sums,
                                       .out_row = w->n * row});
            }
}

/* --- Sequences -------------------------------------------------------------------------------------------------- */

static int64_t ahead_floats(const net *m)
{
    int64_t n = 0;
    for (int i = 0; i < m->n_groups; i++)
        n += m->groups[i].n_sums;
    return n * m->n_panels * VW;
}

/* From this many rows on, a step's own tiles read a weight often enough. */
enum { FEW_ROWS = 4 };

static void sequences_run(work *w, const as_kernel_args *args)
{
    const net    *m = w->m;
    const int64_t hidden = m->r.n_hidden, n_steps = m->r.n_steps, wide = m->n_panels * VW, ahead_row = ahead_floats(m);
    const bool    back = m->r.backward[w->d], few = w->n <= FEW_ROWS && m->r.n_in > 1, cell = m->kind == NET_LSTM;
    const float  *h = w->h0, *c = w->c0;
    int64_t       h_row = w->h0 ? m->state_b : 0, c_row = w->c0 ? m->state_b : 0;
    if (!h)
        h = w->zero;
    if (!c)
        c = w->zero;
    for (int64_t s = 0; s < n_steps; s++) {
        const int64_t t = back ? n_steps - 1 - s : s;
        rows          r = {.h = h, .h_row = h_row, .c = c, .c_row = c_row};
        r.h_next = w->y ? w->y + t * m->y_t : w->h[s % 2];
        r.h_next_row = w->y ? m->y_b : wide;
        r.kept = w->stash ? w->stash + t * m->stash_t : NULL;
        r.kept_row = m->stash_b;
        r.c_next = r.kept ? r.kept + 4 * hidden : w->c;
        r.c_next_row = r.kept ? m->stash_b : wide;
        const float *ahead = NULL;
        if (few) {
            int64_t each = AHEAD * w->n, skip = 0;
            for (int i = 0; i < m->n_groups; i++) {
                const int64_t sums = m->groups[i].n_sums * m->n_panels * VW;
                if (s % AHEAD == 0)
                    steps_ahead(w, i, s, least(AHEAD, n_steps - s), w->ahead + skip);
                ahead = w->ahead + skip + s % AHEAD * w->n * sums;
                group_step(w, i, &r, w->x, ahead, sums);
                skip += each * sums;
            }
        } else {
            for (int i = 0; i < m->n_groups; i++)
                group_step(w, i, &r, w->x + t * m->x_t, NULL, 0);
        }
        h = r.h_next;
        h_row = r.h_next_row;
        c = r.c_next;
        c_row = r.c_next_row;
    }
    (void)ahead_row;
    for (int i = 1; i <= (cell ? 2 : 1) && i < args->ctx->n_out; i++) {
        float        *out = args->out[i].data;
        const float  *from = i == 1 ? h : c;
        const int64_t from_row = i == 1 ? h_row : c_row;
        for (int64_t b = 0; out && b < w->n; b++)
            if (n_steps > 0)
                memcpy(out + w->d * m->state_d + (w->first + b) * m->state_b, from + b * from_row, (size_t)hidden * sizeof *out);
            else
                memset(out + w->d * m->state_d + (w->first + b) * m->state_b, 0, (size_t)hidden * sizeof *out);
    }
}

/* --- The kernel's functions --------------------------------------------------------------------------------------- */

enum { HEAD_FLOATS = (sizeof(net) + 63) / 64 * 16 };

static int64_t most_rows(const net *m, int n_parts)
{
    const int64_t all = m->r.n_batch * m->r.n_directions;
    return least(m->r.n_batch, (all + n_parts - 1) / n_parts);
}

/* Floats of a part: states, the sums of a tile, sums ahead, and the panels of a direction. */
static int64_t work_place(work *w, const net *m, int64_t n, float *p)
{
    const int64_t wide = m->n_panels * VW;
    struct {
        float **to;
        int64_t n;
    } all[] = {{&w->h[0], n * wide},
               {&w->h[1], n * wide},
               {&w->c, n * wide},
               {&w->q, m->kind == NET_GRU_RESET ? n * wide : 0},
               {&w->zero, wide},
               {&w->sums, (TALL + 2) * 4 * VW},
               {&w->ahead, least(n, FEW_ROWS) * AHEAD * ahead_floats(m)}};
    int64_t total = 0;
    for (int i = 0; i < (int)AS_COUNT(all); i++) {
        *all[i].to = p ? p + total : NULL;
        total += lines(all[i].n);
    }
    return total;
}

static size_t recurrent_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    net  m = net_of(n);
    work w;
    return (size_t)n_parts * (size_t)(work_place(&w, &m, most_rows(&m, n_parts), NULL) + lines(m.n_floats)) * sizeof(float);
}

static size_t recurrent_packed_bytes(const as_node_ctx *n, int input)
{
    net m = net_of(n);
    return input == AS_RNN_W ? (size_t)(HEAD_FLOATS + m.r.n_directions * lines(m.n_floats)) * sizeof(float) : 0;
}

/* All or nothing: if R or B changes in every run, the run packs for itself, which the head's lack of a cell says. */
static void recurrent_pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    (void)input, (void)n_parts;
    if (part > 0)
        return;
    net m = net_of(args->ctx);
    if (!args->in[AS_RNN_R].data || (as_in_has(args->ctx, AS_RNN_B) && !args->in[AS_RNN_B].data))
        m.cell = NULL;
    memcpy(packed, &m, sizeof m);
    for (int64_t d = 0; m.cell && d < m.r.n_directions; d++)
        weights_pack(&m, args, d, (float *)packed + HEAD_FLOATS + d * lines(m.n_floats));
}

/* Sequences of different lengths, too, unless a gradient wants the stash. */
static bool recurrent_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_tensor_info in[AS_MAX_IN];
    as_node_ctx    even = *n;
    if (!as_in_has(n, AS_RNN_LENGTHS))
        return net_accepts(n, why, why_size);
    if (n->n_out > (!strcmp(n->op->name, "LSTM") ? 3 : 2) || n->in[AS_RNN_LENGTHS].dtype != AS_I32) {
        snprintf(why, why_size, "sequences differ in length, and a gradient wants its stash");
        return false;
    }
    memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
    in[AS_RNN_LENGTHS] = (as_tensor_info){.dtype = AS_NONE};
    even.in = in;
    return net_accepts(&even, why, why_size);
}

/* Part 0 alone tells of a length that cannot be; the others take it as 0 or as all steps. */
static void lengths_check(const as_kernel_args *args, const net *m, const int32_t *lengths)
{
    for (int64_t b = 0; b < m->r.n_batch && *args->status == ASSAY_OK; b++)
        if (lengths[b] < 0 || lengths[b] > m->r.n_steps)
            *args->status =
                as_fail(args->env, ASSAY_BAD_INPUT, "%s '%s': sequence_lens[%lld] is %d, outside of 0 to %lld", args->ctx->op->name,
                        args->ctx->name ? args->ctx->name : "", (long long)b, (int)lengths[b], (long long)m->r.n_steps);
}

V_INLINE int64_t length_at(const net *m, const int32_t *lengths, int64_t b)
{
    return !lengths ? m->r.n_steps : lengths[b] < 0 ? 0 : least(lengths[b], m->r.n_steps);
}

/* What follows the end of shorter sequences. */
static void rest_clear(const work *w, const net *m, int64_t length)
{
    for (int64_t t = length; w->y && t < m->r.n_steps; t++)
        for (int64_t b = 0; b < w->n; b++)
            memset(w->y + t * m->y_t + b * m->y_b, 0, (size_t)m->r.n_hidden * sizeof *w->y);
}

static int64_t recurrent_shares(const as_node_ctx *n)
{
    net m = net_of(n);
    return m.r.n_batch * m.r.n_directions;
}

static void recurrent_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const float   *packed = args->packed ? args->packed[AS_RNN_W] : NULL;
    net            m = packed && ((const net *)(const void *)packed)->cell ? *(const net *)(const void *)packed : net_of(args->ctx);
    const bool     has_weights = packed && ((const net *)(const void *)packed)->cell;
    const int      n_states = m.kind == NET_LSTM ? 2 : 1;
    const int32_t *lengths = as_in_has(args->ctx, AS_RNN_LENGTHS) ? args->in[AS_RNN_LENGTHS].data : NULL;
    int64_t        begin, end;
    if (lengths && part == 0)
        lengths_check(args, &m, lengths);
    as_share(m.r.n_batch * m.r.n_directions, 1, part, n_parts, &begin, &end);
    work          w = {.m = &m};
    const int64_t floats = work_place(&w, &m, most_rows(&m, n_parts), NULL), each = floats + lines(m.n_floats);
    float        *p = (float *)scratch + part * each;
    for (int64_t n; begin < end; begin += n) {
        const int64_t d = begin / m.r.n_batch, first = begin % m.r.n_batch;
        net           here = m; /* neighbours of the same length run together */
        here.r.n_steps = length_at(&m, lengths, first);
        n = least(m.r.n_batch - first, end - begin);
        for (int64_t i = 1; lengths && i < n; i++)
            if (length_at(&m, lengths, first + i) != here.r.n_steps)
                n = i;
        w.m = &here;
        work_place(&w, &m, most_rows(&m, n_parts), p);
        memset(w.zero, 0, (size_t)(m.n_panels * VW) * sizeof *w.zero);
        w.weights = has_weights ? packed + HEAD_FLOATS + d * lines(m.n_floats) : p + floats;
        if (!has_weights)
            weights_pack(&m, args, d, p + floats);
        w.d = (int)d;
        w.first = first;
        w.n = n;
        w.x = (const float *)args->in[AS_RNN_X].data + first * m.x_b;
        w.h0 = as_in_has(args->ctx, AS_RNN_H0) ? (const float *)args->in[AS_RNN_H0].data + d * m.state_d + first * m.state_b : NULL;
        w.c0 = as_in_has(args->ctx, AS_RNN_C0) ? (const float *)args->in[AS_RNN_C0].data + d * m.state_d + first * m.state_b : NULL;
        w.y = args->out[0].data ? (float *)args->out[0].data + d * m.y_d + first * m.y_b : NULL;
        w.stash = n_states + 1 < args->ctx->n_out && m.cell->n_stash && args->out[n_states + 1].data
                      ? (float *)args->out[n_states + 1].data + d * m.stash_d + first * m.stash_b
                      : NULL;
        sequences_run(&w, args);
        rest_clear(&w, &m, here.r.n_steps);
    }
}
