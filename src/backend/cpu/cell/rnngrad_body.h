/* rnngrad_body.h - the body of k_recurrentgrad_f32_<machine>.c, after its simd_*.h: the gradients of LSTM, GRU and RNN.
 *
 * run() goes back through time.  A part has some sequences; at every step it computes the gradients of the gates' sums from what the
 * forward pass kept, stores them, and multiplies them with R, which gives the gradient of the state before.  finish() computes what
 * is a sum over all steps and sequences: the gradients of W, R and B, and those of X.  There the parts share the results, not the
 * terms, so a sum has one order for any number of parts, and nothing is added up twice.
 *
 * The gradients of sums lie in the scratch memory as [direction][set][panel][step * batch][VW]: a set is a gate, or one of the two
 * sides of GRU's last gate, and a panel is VW units.  So a product over units reads VW neighbours of a row, and a product over rows
 * reads one line after the other. */
#include "backend/cpu/cell/rnn_net.h"

enum { COLS = 2 * VW, ROWS = AS_SIMD_REGISTERS >= 32 ? 12 : 6, GAIN_ROWS = VW >= 16 ? 8 : 4, BLOCK = 256 };

/* GRU's sets; NR is that of h * Rh^T where the reset gate comes after the product. */
enum { SET_N, SET_Z, SET_R, SET_NR };

typedef struct grad {
    net            m;
    const as_view *in;
    const as_view *out;
    int            n_out, n_sets;
    int64_t        n_rows; /* steps times batch */
    int64_t        pitch;  /* floats from panel to panel: an odd number of cache lines, because a step writes to all panels */
    float         *d;      /* the gradients of sums */
    /* Of a part: */
    float  *r_panels, *w_panels, *d_h, *d_c, *d_q, *zero, *sums, *block;
    int64_t wide; /* of a row of states: whole pairs of vectors */
} grad;

V_INLINE float *set_at(const grad *g, int64_t direction, int64_t set, int64_t panel, int64_t row)
{
    return g->d + ((direction * g->n_sets + set) * g->m.n_panels + panel) * g->pitch + row * VW;
}

static float *wanted(const grad *g, int i) { return i < g->n_out ? g->out[i].data : NULL; }

/* --- Products over units ------------------------------------------------------------------------------------- */

/* Rows of n floats that will be read soon; from NULL: none. */
typedef struct stream {
    const float *from;
    int64_t      row, n;
} stream;
enum { AHEAD_KEPT, AHEAD_CELL, AHEAD_Y, N_AHEAD };

/* out[row][COLS] += gradients of `n_sets` sets times their rows of `b`, [set][unit][COLS]. */
typedef struct fall {
    const float  *a; /* first set, first panel, first row */
    int64_t       a_panel, n_hidden;
    int           n_sets;
    const float  *b;
    float        *out;
    int64_t       out_row;
    const stream *ahead;         /* N_AHEAD rows of other memory to fetch meanwhile, NULL: none */
    int64_t       turn, n_turns; /* which of n_turns parts of every row */
    bool          narrow;        /* at most VW columns exist: one vector is enough */
} fall;

/* The lines of a turn of one row. */
static void stream_fetch(const stream *s, int64_t row, int64_t turn, int64_t n_turns)
{
    enum { LINE_FLOATS = 16 };
    const int64_t n = (s->n + LINE_FLOATS - 1) / LINE_FLOATS, end = n * (turn + 1) / n_turns;
    for (int64_t i = n * turn / n_turns; s->from && i < end; i++)
        __builtin_prefetch(s->from + row * s->row + i * LINE_FLOATS, 0, 2);
}

V_INLINE void fall_run(const int rows, const int vecs, const fall *f)
{
    vf           sum[ROWS][2];
    const float *a = f->a, *b = f->b;
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int v = 0; v < vecs; v++)
            sum[r][v] = v_load(f->out + r * f->out_row + v * VW);
    }
    for (int s = 0; s < f->n_sets; s++)
        for (int64_t u = 0; u < f->n_hidden; u += VW, a += f->a_panel) {
            const int64_t lanes = least(VW, f->n_hidden - u);
            for (int64_t i = 0; i < lanes; i++, b += COLS) {
                vf line[2];
                V_UNROLL
                for (int v = 0; v < vecs; v++)
                    line[v] = v_load(b + v * VW);
                V_UNROLL
                for (int r = 0; r < rows; r++) {
                    vf x = v_one(a + r * VW + i);
                    V_UNROLL
                    for (int v = 0; v < vecs; v++)
                        TILE_FMA(sum[r][v], x, line[v]);
                }
            }
        }
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int v = 0; v < vecs; v++)
            v_store(f->out + r * f->out_row + v * VW, sum[r][v]);
    }
}

#define FALL(name, rows, vecs) \
    static __attribute__((noinline)) void name(const fall *f) { fall_run(rows, vecs, f); }
FALL(fall_whole, ROWS, 2)
FALL(fall_most, ROWS * 2 / 3, 2)
FALL(fall_some, ROWS / 3, 2)
FALL(fall_one, 1, 2)
FALL(slim_whole, ROWS, 1)
FALL(slim_most, ROWS * 2 / 3, 1)
FALL(slim_some, ROWS / 3, 1)
FALL(slim_one, 1, 1)
#undef FALL

/* All rows of a panel of COLS columns. */
static void rows_fall(fall f, int64_t n)
{
    static const int height[] = {ROWS, ROWS * 2 / 3, ROWS / 3, 1};
    static void (*const runs[2][4])(const fall *) = {{fall_whole, fall_most, fall_some, fall_one},
                                                     {slim_whole, slim_most, slim_some, slim_one}};
    void (*const *run)(const fall *) = runs[f.narrow];
    for (int64_t left = n; left > 0;) {
        int i = left >= 2 * height[0] || left == height[0] || left >= height[0] + height[1] ? 0 : left > height[0] ? 1 : 0;
        while (left < height[i])
            i++;
        for (int64_t k = 0; f.ahead && k < height[i]; k++)
            for (int a = 0; a < N_AHEAD; a++)
                stream_fetch(&f.ahead[a], n - left + k, f.turn, f.n_turns);
        run[i](&f);
        f.a += height[i] * VW;
        f.out += height[i] * f.out_row;
        left -= height[i];
    }
}

/* Rows [k][n] as panels of COLS columns, [panel][k][COLS], zeros after the last column; panels are `step` floats apart. */
static void panels_pack(const float *from, int64_t k, int64_t n, float *to, int64_t step)
{
    for (int64_t c = 0; c < n; c += COLS, to += step) {
        const int64_t width = least(COLS, n - c);
        for (int64_t i = 0; i < k; i++) {
            memcpy(to + i * COLS, from + i * n + c, (size_t)width * sizeof *to);
            memset(to + i * COLS + width, 0, (size_t)(COLS - width) * sizeof *to);
        }
    }
}

static int64_t cols_of(int64_t n) { return (n + COLS - 1) / COLS; }

/* --- The way back -------------------------------------------------------------------------------------------- */

/* The sequences [first, first + n) in one direction, at one step. */
typedef struct moment {
    int64_t      d, t, first, n, row; /* row: of the first sequence among the rows of a set */
    const float *h, *c;               /* the states before */
    int64_t      h_row, c_row;
    const float *kept, *y, *d_y; /* d_y: NULL: none */
    stream       ahead[N_AHEAD]; /* what the next step back will read */
} moment;

V_INLINE vf upper(const grad *g, const moment *t, int64_t b, int64_t unit, int count)
{
    vf d = v_load(g->d_h + b * g->wide + unit);
    return t->d_y ? v_add(d, get(t->d_y + b * g->m.y_b + unit, count)) : d;
}

static __attribute__((noinline)) void lstm_back(const grad *g, const moment *t, int64_t panel)
{
    const net    *m = &g->m;
    const int64_t unit = panel * VW, hidden = m->r.n_hidden;
    const int     count = (int)least(VW, hidden - unit);
    const vf      one = v_set(1.0f);
    float *const  to[4] = {set_at(g, t->d, 0, panel, t->row), set_at(g, t->d, 1, panel, t->row), set_at(g, t->d, 2, panel, t->row),
                           set_at(g, t->d, 3, panel, t->row)};
    for (int64_t b = 0; b < t->n; b++) {
        const float *kept = t->kept + b * m->stash_b + unit;
        float       *d_c_at = g->d_c + b * g->wide + unit;
        vf           shown = tanh_of(get(kept + 4 * hidden, count));
        vf           in = get(kept, count), out = get(kept + hidden, count), forget = get(kept + 2 * hidden, count),
           fresh = get(kept + 3 * hidden, count);
        vf d = upper(g, t, b, unit, count), past = get(t->c + b * t->c_row + unit, count);
        vf d_c = v_fma(v_mul(d, out), v_fnma(shown, shown, one), v_load(d_c_at));
        v_store(to[0] + b * VW, v_mul(v_mul(d_c, fresh), v_fnma(in, in, in)));
        v_store(to[1] + b * VW, v_mul(v_mul(d, shown), v_fnma(out, out, out)));
        v_store(to[2] + b * VW, v_mul(v_mul(d_c, past), v_fnma(forget, forget, forget)));
        v_store(to[3] + b * VW, v_mul(v_mul(d_c, in), v_fnma(fresh, fresh, one)));
        v_store(d_c_at, v_mul(d_c, forget));
        v_store(g->d_h + b * g->wide + unit, v_zero());
    }
}

/* Of linear_before_reset 0 all but the reset gate, which needs the product with Rh first. */
static __attribute__((noinline)) void gru_back(const grad *g, const moment *t, int64_t panel)
{
    const net    *m = &g->m;
    const int64_t unit = panel * VW, hidden = m->r.n_hidden;
    const int     count = (int)least(VW, hidden - unit);
    const bool    linear = m->kind == NET_GRU;
    const vf      one = v_set(1.0f);
    float *const to_n = set_at(g, t->d, SET_N, panel, t->row), *const to_z = set_at(g, t->d, SET_Z, panel, t->row),
                 *const to_r = set_at(g, t->d, SET_R, panel, t->row),
                 *const to_nr = linear ? set_at(g, t->d, SET_NR, panel, t->row) : NULL;
    for (int64_t b = 0; b < t->n; b++) {
        const float *kept = t->kept + b * m->stash_b + unit;
        float       *d_h = g->d_h + b * g->wide + unit;
        vf           z = get(kept, count), reset = get(kept + hidden, count), fresh = get(kept + 2 * hidden, count),
           q = get(kept + 3 * hidden, count);
        vf d = upper(g, t, b, unit, count), past = get(t->h + b * t->h_row + unit, count);
        vf d_fresh = v_mul(v_mul(d, v_sub(one, z)), v_fnma(fresh, fresh, one));
        v_store(to_n + b * VW, d_fresh);
        v_store(to_z + b * VW, v_mul(v_mul(d, v_sub(past, fresh)), v_fnma(z, z, z)));
        v_store(d_h, v_mul(d, z));
        if (linear) {
            v_store(to_r + b * VW, v_mul(v_mul(d_fresh, q), v_fnma(reset, reset, reset)));
            v_store(to_nr + b * VW, v_mul(d_fresh, reset));
        } else {
            v_store(g->d_q + b * g->wide + unit, v_zero());
        }
    }
}

static __attribute__((noinline)) void reset_back(const grad *g, const moment *t, int64_t panel)
{
    const net    *m = &g->m;
    const int64_t unit = panel * VW, hidden = m->r.n_hidden;
    const int     count = (int)least(VW, hidden - unit);
    float *const  to_r = set_at(g, t->d, SET_R, panel, t->row);
    for (int64_t b = 0; b < t->n; b++) {
        float *d_h = g->d_h + b * g->wide + unit;
        vf     reset = get(t->kept + b * m->stash_b + hidden + unit, count), d_q = v_load(g->d_q + b * g->wide + unit),
           past = get(t->h + b * t->h_row + unit, count);
        v_store(to_r + b * VW, v_mul(v_mul(d_q, past), v_fnma(reset, reset, reset)));
        v_store(d_h, v_fma(d_q, reset, v_load(d_h)));
    }
}

static __attribute__((noinline)) void plain_back(const grad *g, const moment *t, int64_t panel)
{
    const net    *m = &g->m;
    const int64_t unit = panel * VW;
    const int     count = (int)least(VW, m->r.n_hidden - unit);
    const bool    relu = m->r.act[t->d][0].kind == AS_ACTIVATION_RELU;
    float *const  to = set_at(g, t->d, 0, panel, t->row);
    for (int64_t b = 0; b < t->n; b++) {
        vf d = upper(g, t, b, unit, count), y = get(t->y + b * m->y_b + unit, count);
        v_store(to + b * VW, relu ? v_and(v_gt(y, v_zero()), d) : v_mul(d, v_fnma(y, y, v_set(1.0f))));
        v_store(g->d_h + b * g->wide + unit, v_zero());
    }
}

/* to[sequence][unit] += the gradients of sets [set, set + n_sets) times R's gates from `gate` on.  Meanwhile it fetches what the
 * next step back reads, which is megabytes away and would otherwise be waited for. */
static void state_fall(const grad *g, const moment *t, int set, int gate, int n_sets, float *to)
{
    const int64_t hidden = g->m.r.n_hidden, panel = g->m.cell->n_gates * hidden * COLS, n_cols = cols_of(hidden);
    for (int64_t c = 0; c < n_cols; c++)
        rows_fall((fall){.a = set_at(g, t->d, set, 0, t->row),
                         .a_panel = g->pitch,
                         .n_hidden = hidden,
                         .n_sets = n_sets,
                         .b = g->r_panels + c * panel + gate * hidden * COLS,
                         .out = to + c * COLS,
                         .out_row = g->wide,
                         .ahead = t->ahead,
                         .turn = c,
                         .n_turns = n_cols,
                         .narrow = hidden - c * COLS <= VW},
                  t->n);
}

static void step_back(const grad *g, const moment *t, bool further)
{
    const net *m = &g->m;
    for (int64_t p = 0; p < m->n_panels; p++)
        (m->kind == NET_LSTM ? lstm_back : m->kind == NET_RNN ? plain_back : gru_back)(g, t, p);
    if (m->kind == NET_GRU_RESET) {
        state_fall(g, t, SET_N, 2, 1, g->d_q);
        for (int64_t p = 0; p < m->n_panels; p++)
            reset_back(g, t, p);
        if (further)
            state_fall(g, t, SET_Z, 0, 2, g->d_h);
    } else if (further) {
        state_fall(g, t, m->kind == NET_GRU ? SET_Z : 0, 0, m->cell->n_gates, g->d_h);
    }
}

/* The states before a step: those of the step before, or the first ones, or zeros. */
static const float *state_before(const grad *g, int64_t d, int64_t t, int64_t b, bool cell, int64_t *row)
{
    const net    *m = &g->m;
    const bool    back = m->r.backward[d], is_first = back ? t + 1 == m->r.n_steps : t == 0;
    const int64_t before = back ? t + 1 : t - 1;
    const float  *start = g->in[cell ? AS_RNN_C0 : AS_RNN_H0].data;
    if (is_first) {
        *row = start ? m->state_b : 0;
        return start ? start + d * m->state_d + b * m->state_b : g->zero;
    }
    *row = cell ? m->stash_b : m->y_b;
    return cell
               ? (const float *)g->in[AS_RNN_STASH].data + before * m->stash_t + d * m->stash_d + b * m->stash_b + 4 * m->r.n_hidden
               : (const float *)g->in[AS_RNN_Y].data + before * m->y_t + d * m->y_d + b * m->y_b;
}

static void states_start(const grad *g, const float *from, int64_t d, int64_t first, int64_t n, float *to)
{
    const net *m = &g->m;
    memset(to, 0, (size_t)(n * g->wide) * sizeof *to);
    for (int64_t b = 0; from && b < n; b++)
        memcpy(to + b * g->wide, from + d * m->state_d + (first + b) * m->state_b, (size_t)m->r.n_hidden * sizeof *to);
}

static void states_end(const grad *g, const float *from, int64_t d, int64_t first, int64_t n, float *to)
{
    const net *m = &g->m;
    for (int64_t b = 0; to && b < n; b++)
        if (m->r.n_steps > 0)
            memcpy(to + d * m->state_d + (first + b) * m->state_b, from + b * g->wide, (size_t)m->r.n_hidden * sizeof *to);
        else
            memset(to + d * m->state_d + (first + b) * m->state_b, 0, (size_t)m->r.n_hidden * sizeof *to);
}

static void sequences_back(grad *g, int64_t d, int64_t first, int64_t n)
{
    const net    *m = &g->m;
    const int64_t n_steps = m->r.n_steps, hidden = m->r.n_hidden, gates = m->cell->n_gates * hidden;
    panels_pack((const float *)g->in[AS_RNN_R].data + d * gates * hidden, gates, hidden, g->r_panels, gates * COLS);
    states_start(g, g->in[AS_RNN_D_H].data, d, first, n, g->d_h);
    if (m->kind == NET_LSTM)
        states_start(g, g->in[AS_RNN_D_C].data, d, first, n, g->d_c);
    for (int64_t s = n_steps - 1; s >= 0; s--) {
        const int64_t t = m->r.backward[d] ? n_steps - 1 - s : s, y = t * m->y_t + d * m->y_d + first * m->y_b;
        const float  *d_y = g->in[AS_RNN_D_Y].data, *stash = g->in[AS_RNN_STASH].data;
        moment        now = {.d = d, .t = t, .first = first, .n = n, .row = t * m->r.n_batch + first};
        now.h = state_before(g, d, t, first, false, &now.h_row);
        if (m->kind == NET_LSTM)
            now.c = state_before(g, d, t, first, true, &now.c_row);
        now.kept = stash ? stash + t * m->stash_t + d * m->stash_d + first * m->stash_b : NULL;
        now.y = (const float *)g->in[AS_RNN_Y].data + y;
        now.d_y = d_y ? d_y + y : NULL;
        if (s > 0) {
            const int64_t back = m->r.backward[d] ? 1 : -1;
            now.ahead[AHEAD_KEPT] = (stream){stash ? now.kept + back * m->stash_t : NULL, m->stash_b, m->stash_b};
            now.ahead[AHEAD_CELL] =
                (stream){now.c && s > 1 ? now.kept + 2 * back * m->stash_t + 4 * hidden : NULL, m->stash_b, hidden};
            now.ahead[AHEAD_Y] = (stream){d_y ? now.d_y + back * m->y_t : NULL, m->y_b, hidden};
        }
        step_back(g, &now, s > 0 || wanted(g, AS_RNN_OUT_H0));
    }
    states_end(g, g->d_h, d, first, n, wanted(g, AS_RNN_OUT_H0));
    if (m->kind == NET_LSTM)
        states_end(g, g->d_c, d, first, n, wanted(g, AS_RNN_OUT_C0));
}

/* --- Sums over rows ---------------------------------------------------------------------------------------------- */

/* out[i][c] += a[row][i] * b[row][c] over k rows; a: [row][VW] from a lane on, b: [row][COLS]. */
typedef struct gain {
    const float *a, *b;
    int64_t      k, ahead; /* ahead: from a to the same rows of the panel after this */
    float       *out;
    int64_t      out_row;
    int          n, width; /* rows and columns that exist */
    bool         fresh;    /* the first block */
} gain;

V_INLINE void gain_run(const int vecs, const gain *g)
{
    vf        sum[GAIN_ROWS][2];
    const int low = g->width < VW ? g->width : VW, count[2] = {low, g->width - low};
    V_UNROLL
    for (int r = 0; r < GAIN_ROWS; r++) {
        V_UNROLL
        for (int v = 0; v < vecs; v++) {
            sum[r][v] = v_zero();
            if (!g->fresh && r < g->n)
                sum[r][v] = get(g->out + r * g->out_row + v * VW, count[v]);
        }
    }
    const float *a = g->a, *b = g->b;
    for (int64_t i = 0; i < g->k; i++, a += VW, b += COLS) {
        vf line[2];
        V_UNROLL
        for (int v = 0; v < vecs; v++)
            line[v] = v_load(b + v * VW);
        __builtin_prefetch(a + g->ahead);
        V_UNROLL
        for (int r = 0; r < GAIN_ROWS; r++) {
            vf x = v_one(a + r);
            V_UNROLL
            for (int v = 0; v < vecs; v++)
                TILE_FMA(sum[r][v], x, line[v]);
        }
    }
    V_UNROLL
    for (int r = 0; r < GAIN_ROWS; r++)
        if (r < g->n) {
            V_UNROLL
            for (int v = 0; v < vecs; v++)
                put(g->out + r * g->out_row + v * VW, count[v], sum[r][v]);
        }
}
static __attribute__((noinline)) void gain_two(const gain *g) { gain_run(2, g); }
static __attribute__((noinline)) void gain_one(const gain *g) { gain_run(1, g); }
static void                           gain_add(const gain *g) { (g->width > VW ? gain_two : gain_one)(g); }

/* What the rows of a weight are multiplied with. */
typedef enum source { FROM_X, FROM_H, FROM_Q } source;

/* The sets whose gates a source's weights belong to: set first, gate of the first, and how many. */
typedef struct use {
    source from;
    int    set, gate, n;
} use;

static int uses_of(const net *m, use *out)
{
    static const use lstm[] = {{FROM_X, 0, 0, 4}, {FROM_H, 0, 0, 4}}, rnn[] = {{FROM_X, 0, 0, 1}, {FROM_H, 0, 0, 1}},
                     gru[] = {{FROM_X, SET_Z, 0, 2}, {FROM_X, SET_N, 2, 1}, {FROM_H, SET_Z, 0, 3}},
                     reset[] = {{FROM_X, SET_Z, 0, 2}, {FROM_X, SET_N, 2, 1}, {FROM_H, SET_Z, 0, 2}, {FROM_Q, SET_N, 2, 1}};
    const use *from = m->kind == NET_LSTM ? lstm : m->kind == NET_RNN ? rnn : m->kind == NET_GRU ? gru : reset;
    const int  n = m->kind == NET_GRU_RESET ? 4 : m->kind == NET_GRU ? 3 : 2;
    memcpy(out, from, (size_t)n * sizeof *out);
    return n;
}

/* Rows [row, row + k) of a source, COLS columns from c on: as many of one step as there are, then those of the next. */
static void block_pack(const grad *g, source from, int64_t d, int64_t row, int64_t k, int64_t c, int64_t n, float *to)
{
    const net    *m = &g->m;
    const int64_t width = least(COLS, n - c), end = row + k;
    while (row < end) {
        const int64_t t = row / m->r.n_batch, b = row % m->r.n_batch, next = least(end, (t + 1) * m->r.n_batch);
        int64_t       step = from == FROM_X ? m->x_b : m->stash_b;
        const float  *line = c + (from == FROM_X   ? (const float *)g->in[AS_RNN_X].data + t * m->x_t + b * m->x_b
                                  : from == FROM_H ? state_before(g, d, t, b, false, &step)
                                                   : (const float *)g->in[AS_RNN_STASH].data + t * m->stash_t + d * m->stash_d +
                                                        b * m->stash_b + 3 * m->r.n_hidden);
        for (; row < next; row++, line += step, to += COLS)
            if (width == COLS) {
                v_store(to, v_load(line));
                v_store(to + VW, v_load(line + VW));
            } else {
                memcpy(to, line, (size_t)width * sizeof *to);
                memset(to + width, 0, (size_t)(COLS - width) * sizeof *to);
            }
    }
}

/* One block of rows with COLS columns of a source, for the panels that are this part's. */
static void panels_gain(const grad *g, const use *u, int64_t d, int64_t row, int64_t k, int64_t c, int64_t n, bool fresh, int part,
                        int n_parts, float *out)
{
    const int64_t hidden = g->m.r.n_hidden, panels = g->m.n_panels;
    int64_t       at, end;
    for (as_share(u->n * panels, 1, part, n_parts, &at, &end); at < end; at++) {
        const int64_t set = at / panels, p = at % panels, lanes = least(VW, hidden - p * VW);
        for (int64_t lane = 0; lane < lanes; lane += GAIN_ROWS)
            gain_add(&(gain){.a = set_at(g, d, u->set + set, p, row) + lane,
                             .b = g->block,
                             .k = k,
                             .ahead = at + 1 < end ? g->pitch : 0,
                             .out = out + ((u->gate + set) * hidden + p * VW + lane) * n + c,
                             .out_row = n,
                             .n = (int)least(GAIN_ROWS, lanes - lane),
                             .width = (int)least(COLS, n - c),
                             .fresh = fresh});
    }
}

static void weights_gain(const grad *g, int part, int n_parts)
{
    const net *m = &g->m;
    use        uses[4];
    const int  n_uses = uses_of(m, uses);
    for (int64_t d = 0; d < m->r.n_directions; d++)
        for (int i = 0; i < n_uses; i++) {
            const bool    of_x = uses[i].from == FROM_X;
            const int64_t n = of_x ? m->r.n_in : m->r.n_hidden;
            float        *out = wanted(g, of_x ? AS_RNN_OUT_W : AS_RNN_OUT_R);
            if (!out)
                continue;
            out += d * m->cell->n_gates * m->r.n_hidden * n;
            const bool start =
                uses[i].from == FROM_H && g->n_rows && (!g->in[AS_RNN_H0].data); /* the first state is zero: nothing to add */
            const int64_t first = start && !m->r.backward[d] ? m->r.n_batch : 0,
                          end = g->n_rows - (start && m->r.backward[d] ? m->r.n_batch : 0);
            int64_t row = first;
            do { /* at least once: without rows the sums are zeros */
                const int64_t k = least(BLOCK, end - row);
                for (int64_t c = 0; c < n; c += COLS) {
                    block_pack(g, uses[i].from, d, row, k, c, n, g->block);
                    panels_gain(g, &uses[i], d, row, k, c, n, row == first, part, n_parts, out);
                }
                row += k;
            } while (row < end);
        }
}

/* The sum of all rows of one panel of a set: four sums, added up in the end. */
static vf panel_sum(const float *from, int64_t n)
{
    vf      sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4, from += 4 * VW) {
        V_UNROLL
        for (int k = 0; k < 4; k++)
            sum[k] = v_add(sum[k], v_load(from + k * VW));
    }
    for (; i < n; i++, from += VW)
        sum[0] = v_add(sum[0], v_load(from));
    return v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3]));
}

static void biases_gain(const grad *g, int part, int n_parts)
{
    const net    *m = &g->m;
    float        *out = wanted(g, AS_RNN_OUT_B);
    const int64_t hidden = m->r.n_hidden, gates = m->cell->n_gates;
    int64_t       at, end;
    for (int64_t d = 0; out && d < m->r.n_directions; d++, out += 2 * gates * hidden)
        for (as_share(g->n_sets * m->n_panels, 1, part, n_parts, &at, &end); at < end; at++) {
            const int     set = (int)(at / m->n_panels);
            const int64_t p = at % m->n_panels;
            const bool    gru = gates == 3;
            const int64_t gate = !gru ? set : set == SET_N || set == SET_NR ? 2 : set - SET_Z;
            const int     count = (int)least(VW, hidden - p * VW);
            const vf      sum = panel_sum(set_at(g, d, set, p, 0), g->n_rows);
            if (set != SET_NR || !gru)
                put(out + gate * hidden + p * VW, count, sum);
            if (set != SET_N || m->kind != NET_GRU)
                put(out + (gates + gate) * hidden + p * VW, count, sum);
        }
}

/* The gradient of X: both directions' gates times their W. */
static void inputs_fall(const grad *g, int part, int n_parts)
{
    const net    *m = &g->m;
    const int64_t hidden = m->r.n_hidden, n = m->r.n_in, gates = m->cell->n_gates * hidden, d_step = cols_of(n) * gates * COLS;
    const bool    gru = m->cell->n_gates == 3;
    float        *out = wanted(g, AS_RNN_OUT_X);
    int64_t       begin, end;
    as_share(g->n_rows, 1, part, n_parts, &begin, &end);
    if (!out || begin >= end)
        return;
    for (int64_t d = 0; d < m->r.n_directions; d++) { /* in the order of the sets: GRU's z, r, n as n, z, r */
        const float *w = (const float *)g->in[AS_RNN_W].data + d * gates * n;
        float       *to = g->w_panels + d * d_step;
        if (gru) {
            panels_pack(w + 2 * hidden * n, hidden, n, to, gates * COLS);
            panels_pack(w, 2 * hidden, n, to + hidden * COLS, gates * COLS);
        } else {
            panels_pack(w, gates, n, to, gates * COLS);
        }
    }
    for (int64_t c = 0; c < cols_of(n); c++)
        for (int64_t row = begin; row < end; row += ROWS) {
            const int64_t rows_here = least(ROWS, end - row), width = least(COLS, n - c * COLS);
            memset(g->sums, 0, (size_t)(rows_here * COLS) * sizeof *g->sums);
            for (int64_t d = 0; d < m->r.n_directions; d++)
                rows_fall((fall){.a = set_at(g, d, 0, 0, row),
                                 .a_panel = g->pitch,
                                 .n_hidden = hidden,
                                 .n_sets = m->cell->n_gates,
                                 .b = g->w_panels + d * d_step + c * gates * COLS,
                                 .out = g->sums,
                                 .out_row = COLS,
                                 .narrow = width <= VW},
                          rows_here);
            for (int64_t i = 0; i < rows_here; i++) {
                const int64_t t = (row + i) / m->r.n_batch, b = (row + i) % m->r.n_batch;
                memcpy(out + t * m->x_t + b * m->x_b + c * COLS, g->sums + i * COLS, (size_t)width * sizeof *out);
            }
        }
}

/* --- The kernel's functions -------------------------------------------------------------------------------------------- */

static int64_t most_rows(const net *m, int n_parts)
{
    const int64_t all = m->r.n_batch * m->r.n_directions;
    return least(m->r.n_batch, (all + n_parts - 1) / n_parts);
}

/* Floats of a part; with p NULL it only counts. */
static int64_t part_place(grad *g, int n_parts, float *p)
{
    const net    *m = &g->m;
    const int64_t n = most_rows(m, n_parts), gates = m->cell->n_gates * m->r.n_hidden, states = n * g->wide;
    struct {
        float **to;
        int64_t n;
    } all[] = {{&g->r_panels, cols_of(m->r.n_hidden) * gates * COLS},
               {&g->w_panels, wanted(g, AS_RNN_OUT_X) || !p ? m->r.n_directions * cols_of(m->r.n_in) * gates * COLS : 0},
               {&g->d_h, states},
               {&g->d_c, m->kind == NET_LSTM ? states : 0},
               {&g->d_q, m->kind == NET_GRU_RESET ? states : 0},
               {&g->zero, g->wide},
               {&g->sums, ROWS * COLS},
               {&g->block, BLOCK * COLS}};
    int64_t total = 0;
    for (int i = 0; i < (int)AS_COUNT(all); i++) {
        *all[i].to = p ? p + total : NULL;
        total += lines(all[i].n);
    }
    return total;
}

static grad grad_of(const as_node_ctx *n)
{
    grad g = {.m = net_of(n)};
    g.n_sets = g.m.kind == NET_GRU ? 4 : g.m.cell->n_gates;
    g.n_rows = g.m.r.n_steps * g.m.r.n_batch;
    g.pitch = ((g.n_rows * VW + 15) / 16 | 1) * 16;
    g.wide = cols_of(g.m.r.n_hidden) * COLS;
    return g;
}

static int64_t shared_floats(const grad *g) { return g->m.r.n_directions * g->n_sets * g->m.n_panels * g->pitch; }

static grad grad_start(const as_kernel_args *args, const as_view *in, int part, int n_parts, void *scratch)
{
    grad g = grad_of(args->ctx);
    g.in = in;
    g.out = args->out;
    g.n_out = args->ctx->n_out;
    g.d = scratch;
    float *parts = (float *)scratch + shared_floats(&g);
    part_place(&g, n_parts, parts + part * part_place(&g, n_parts, NULL));
    memset(g.zero, 0, (size_t)g.wide * sizeof *g.zero);
    return g;
}

static void inputs_read(const as_kernel_args *args, as_view *in)
{
    for (int i = 0; i < AS_RNN_N_IN; i++)
        in[i] = i < args->ctx->n_in ? args->in[i] : (as_view){0};
}

static size_t recurrentgrad_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    grad g = grad_of(n);
    return (size_t)(shared_floats(&g) + n_parts * part_place(&g, n_parts, NULL)) * sizeof(float);
}

static bool recurrentgrad_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!net_accepts(n, why, why_size))
        return false;
    const char *reason = !as_in_has(n, AS_RNN_Y)   ? "the forward pass kept nothing"
                         : n->n_out > AS_RNN_OUT_P ? "the gradient of absent peepholes is asked for"
                                                   : NULL;
    if (reason)
        snprintf(why, why_size, "%s", reason);
    return !reason;
}

static void recurrentgrad_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    as_view in[AS_RNN_N_IN];
    inputs_read(args, in);
    grad    g = grad_start(args, in, part, n_parts, scratch);
    int64_t begin, end;
    as_share(g.m.r.n_batch * g.m.r.n_directions, 1, part, n_parts, &begin, &end);
    for (int64_t n; begin < end; begin += n) {
        n = least(g.m.r.n_batch - begin % g.m.r.n_batch, end - begin);
        sequences_back(&g, begin / g.m.r.n_batch, begin % g.m.r.n_batch, n);
    }
}

static void recurrentgrad_finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    as_view in[AS_RNN_N_IN];
    inputs_read(args, in);
    grad g = grad_start(args, in, part, n_parts, scratch);
    inputs_fall(&g, part, n_parts);
    weights_gain(&g, part, n_parts);
    biases_gain(&g, part, n_parts);
}
