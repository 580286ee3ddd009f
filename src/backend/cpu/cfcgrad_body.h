/* cfcgrad_body.h - the body of k_cfcgrad_f32_<machine>.c, after its simd_*.h: the gradient of assay.CfC through time.
 *
 * A block of SIDE samples at a time: forwards, keeping what every step computed; one sweep back, whose gradients take the places of
 * what they are made of; then the gradients of the weights, each the product of two long lines, all steps of all samples of the block.
 * Kept lines are [feature][step][sample].  Weights gather from all samples, so that the order of no sum depends on the number of
 * parts one part does it all. */
#include "backend/cpu/cfc_side.h"

enum { D_Y = 1, D_H, D_C, REST };                /* inputs of the node, then those of the CfC from h0 on */
enum { ONE, TWO, TIME, GATE, PLANES };           /* of a unit; on the way back the gradients of its four heads */

typedef struct grad {
    work         w;
    int64_t      length;                         /* of a line: steps times SIDE */
    float       *x, *h, *planes;                 /* lines; h has one step more, the state before step 0 */
    float       *spans, *d_spans, *ones;         /* one line each */
    float       *d_h, *d_before, *d_z, *d_heads; /* of one step */
    as_view      in[AS_MAX_IN], d_in[AS_MAX_IN]; /* of the CfC; without data: absent, not wanted */
    const float *d_y, *d_h_n;
} grad;

V_INLINE float *line_x(const grad *g, int64_t i) { return g->x + i * g->length; }
V_INLINE float *line_h(const grad *g, int64_t i) { return g->h + i * (g->length + SIDE); }
V_INLINE float *plane_of(const grad *g, int64_t unit, int plane) { return g->planes + (unit * PLANES + plane) * g->length; }

/* --- Forwards --------------------------------------------------------------------------------------------- */

V_INLINE void units_forward(const int units, const int heads, const grad *g, int l, const inputs *in, int64_t unit, int64_t at, float *out)
{
    const as_cfc *c = &g->w.b->c;
    const layer  *y = &g->w.b->cell[l];
    vf            sum[SUMS][2];
    side_sums(units, heads, 2, y, unit_at(&g->w, y, unit), in, sum);
    TILE_UNROLL
    for (int u = 0; u < units; u++) {
        TILE_UNROLL
        for (int v = 0; v < 2; v++) {
            vf one = sum[u * heads][v], two = sum[u * heads + 1][v], gate = sum[u * heads + 2][v];
            if (heads == 4) {
                v_store(plane_of(g, c->cell[l].at + unit + u, TIME) + at + v * VW, gate);
                gate = v_fma(gate, v_load(g->spans + at + v * VW), sum[u * heads + heads - 1][v]);
            }
            gate = vm_sigmoid(gate);
            if (c->semantics == AS_CFC_TORCH) {
                one = vm_tanh(one);
                two = vm_tanh(two);
            }
            v_store(plane_of(g, c->cell[l].at + unit + u, ONE) + at + v * VW, one);
            v_store(plane_of(g, c->cell[l].at + unit + u, TWO) + at + v * VW, two);
            v_store(plane_of(g, c->cell[l].at + unit + u, GATE) + at + v * VW, gate);
            v_store(out + (unit + u) * SIDE + v * VW, v_fma(gate, c->mode == AS_CFC_NO_GATE ? two : v_sub(two, one), one));
        }
    }
}

static void cell_forward(const grad *g, int l, const inputs *in, int64_t at, float *out)
{
    const layer *y = &g->w.b->cell[l];
    int64_t      u = 0;
    if (y->heads == 4) {
        for (; u < y->n; u++)
            units_forward(1, 4, g, l, in, u, at, out);
        return;
    }
    for (; u + 2 <= y->n; u += 2)
        units_forward(2, 3, g, l, in, u, at, out);
    if (u < y->n)
        units_forward(1, 3, g, l, in, u, at, out);
}

static void step_keep(const float *from, int64_t n, float *to, int64_t line)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * line, from + i * SIDE, SIDE * sizeof *to);
}

static void block_forward(grad *g, int64_t first, int64_t n)
{
    work         *w = &g->w;
    const as_cfc *c = &w->b->c;
    const float  *x = (const float *)g->in[AS_CFC_X].data + first * c->n_steps * c->n_in, *h0 = g->in[AS_CFC_H0].data, *ts = g->in[AS_CFC_TIMESPANS].data;
    memset(w->h, 0, (size_t)(c->n_state * SIDE) * sizeof(float));
    memset(w->x, 0, (size_t)(c->n_in * SIDE) * sizeof(float));
    for (int64_t i = 0; i < g->length; i++)
        g->spans[i] = g->ones[i] = 1.0f;
    if (h0)
        lanes_fetch(SIDE, n, h0 + first * c->n_state, c->n_state, c->n_state, w->h);
    step_keep(w->h, c->n_state, g->h, g->length + SIDE);
    for (int64_t t = 0; t < c->n_steps; t++) {
        int64_t at = t * SIDE;
        lanes_fetch(SIDE, n, x + t * c->n_in, c->n_steps * c->n_in, c->n_in, w->x);
        step_keep(w->x, c->n_in, g->x + at, g->length);
        if (ts)
            lanes_fetch(SIDE, n, ts + first * c->n_steps + t, c->n_steps, 1, g->spans + at);
        for (int l = 0; l < c->n_cells; l++) {
            const as_cfc_cell *cell = &c->cell[l];
            inputs             in = { l ? w->mid + c->cell[l - 1].at * SIDE : w->x, cell->n_in, w->h + cell->at * SIDE, cell->n_hidden };
            cell_forward(g, l, &in, at, w->mid + cell->at * SIDE);
        }
        step_keep(w->mid, c->n_state, g->h + at + SIDE, g->length + SIDE);
        float *swap = w->h;
        w->h = w->mid;
        w->mid = swap;
    }
}

/* --- The sweep back ------------------------------------------------------------------------------------------ */

/* From the gradient of a cell's new state to those of its heads, which go to their lines, and as [panel][head][unit] to d_heads. */
static void heads_back(const grad *g, int l, int64_t at)
{
    const as_cfc      *c = &g->w.b->c;
    const as_cfc_cell *cell = &c->cell[l];
    const bool         gated = c->mode == AS_CFC_DEFAULT, flat = c->semantics != AS_CFC_TORCH;
    const int          heads = g->w.b->cell[l].heads;
    const vf           unit = v_set(1.0f);
    for (int64_t u = 0; u < cell->n_hidden; u++) {
        float *plane = plane_of(g, cell->at + u, 0) + at, *out = g->d_heads + (u / VW * heads * VW + u % VW) * SIDE;
        for (int v = 0; v < SIDE; v += VW) {
            float *p = plane + v;
            vf     d = v_load(g->d_h + (cell->at + u) * SIDE + v), one = v_load(p), two = v_load(p + TWO * g->length), s = v_load(p + GATE * g->length);
            vf     d_two = v_mul(d, s), d_one = gated ? v_sub(d, d_two) : d;
            vf     d_gate = v_mul(v_mul(d_two, v_sub(unit, s)), gated ? v_sub(two, one) : two);
            if (!flat) {
                d_one = v_mul(d_one, v_fnma(one, one, unit));
                d_two = v_mul(d_two, v_fnma(two, two, unit));
            }
            v_store(p, d_one);
            v_store(p + TWO * g->length, d_two);
            v_store(p + GATE * g->length, d_gate);
            v_store(out + v, d_one);
            v_store(out + VW * SIDE + v, d_two);
            v_store(out + (heads - 1) * VW * SIDE + v, d_gate);
            if (heads == 4) {
                float *d_span = g->d_spans + at + v;
                vf     d_time = v_mul(d_gate, v_load(g->spans + at + v));
                v_store(d_span, v_fma(d_gate, v_load(p + TIME * g->length), v_load(d_span)));
                v_store(p + TIME * g->length, d_time);
                v_store(out + 2 * VW * SIDE + v, d_time);
            }
        }
    }
}

/* Gradients of `rows` neighbouring inputs of a layer. */
V_INLINE void inputs_back(const int rows, const grad *g, const layer *y, int64_t k)
{
    const int64_t row = y->heads * VW, n_panels = panels_of(y->n);
    const float  *d = g->d_heads;
    vf            sum[SUMS][2];
    TILE_UNROLL
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = v_zero();
    for (int64_t p = 0; p < n_panels; p++) {
        const float *w = g->w.weights + y->at + p * panel_floats(y) + (y->first + k) * row;
        for (int64_t i = 0; i < row; i++, d += SIDE) {
            vf low = v_load(d), high = v_load(d + VW);
            TILE_UNROLL
            for (int r = 0; r < rows; r++) {
                vf s = v_one(w + r * row + i);
                TILE_FMA(sum[r][0], s, low);
                TILE_FMA(sum[r][1], s, high);
            }
        }
    }
    TILE_UNROLL
    for (int r = 0; r < rows; r++) {
        v_store(g->d_z + (k + r) * SIDE, sum[r][0]);
        v_store(g->d_z + (k + r) * SIDE + VW, sum[r][1]);
    }
}

static void cell_back(const grad *g, int l, int64_t at)
{
    const as_cfc      *c = &g->w.b->c;
    const as_cfc_cell *cell = &c->cell[l];
    const layer       *y = &g->w.b->cell[l];
    int64_t            k = 0;
    memset(g->d_heads, 0, (size_t)(panels_of(y->n) * y->heads * VW * SIDE) * sizeof(float)); /* behind the last unit */
    heads_back(g, l, at);
    if (!l && !g->d_in[AS_CFC_X].data)
        k = cell->n_in; /* nobody asks */
    for (; k + SUMS <= y->k; k += SUMS)
        inputs_back(SUMS, g, y, k);
    switch (y->k - k) {
    case 5: inputs_back(5, g, y, k); break;
    case 4: inputs_back(4, g, y, k); break;
    case 3: inputs_back(3, g, y, k); break;
    case 2: inputs_back(2, g, y, k); break;
    case 1: inputs_back(1, g, y, k); break;
    }
    for (int64_t i = 0; l && i < cell->n_in * SIDE; i++)
        g->d_h[c->cell[l - 1].at * SIDE + i] += g->d_z[i];
    memcpy(g->d_before + cell->at * SIDE, g->d_z + cell->n_in * SIDE, (size_t)(cell->n_hidden * SIDE) * sizeof(float));
}

static void block_back(grad *g, int64_t first, int64_t n)
{
    const as_cfc *c = &g->w.b->c;
    const int64_t last = c->cell[c->n_cells - 1].at;
    float        *d_x = g->d_in[AS_CFC_X].data;
    memset(g->d_h, 0, (size_t)(c->n_state * SIDE) * sizeof(float));
    memset(g->d_spans, 0, (size_t)g->length * sizeof(float));
    if (g->d_h_n)
        lanes_fetch(SIDE, n, g->d_h_n + first * c->n_state, c->n_state, c->n_state, g->d_h);
    for (int64_t t = c->n_steps - 1; t >= 0; t--) {
        if (g->d_y && (c->sequences || t + 1 == c->n_steps))
            for (int64_t s = 0; s < n; s++) {
                const float *d_y = g->d_y + (c->sequences ? (first + s) * c->n_steps + t : first + s) * c->n_y;
                for (int64_t i = 0; i < c->n_y; i++)
                    g->d_h[(last + i) * SIDE + s] += d_y[i];
            }
        for (int l = c->n_cells - 1; l >= 0; l--)
            cell_back(g, l, t * SIDE);
        if (d_x) /* d_z is the first cell's */
            lanes_put(SIDE, n, g->d_z, c->n_in, d_x + (first * c->n_steps + t) * c->n_in, c->n_steps * c->n_in);
        float *swap = g->d_h;
        g->d_h = g->d_before;
        g->d_before = swap;
    }
    if (g->d_in[AS_CFC_H0].data)
        lanes_put(SIDE, n, g->d_h, c->n_state, (float *)g->d_in[AS_CFC_H0].data + first * c->n_state, c->n_state);
    if (g->d_in[AS_CFC_TIMESPANS].data)
        lanes_put(SIDE, n, g->d_spans, c->n_steps, (float *)g->d_in[AS_CFC_TIMESPANS].data + first * c->n_steps, c->n_steps);
}

/* --- Gradients of weights ---------------------------------------------------------------------------------------- */

/* out[plane][input]: products of a unit's lines with those of `n_z` inputs; planes: all four, or all but TIME. */
V_INLINE void lines_multiply(const int n_planes, const int n_z, const grad *g, const float *plane, const float *const *z, float out[PLANES][4])
{
    vf sum[PLANES][4];
    TILE_UNROLL
    for (int p = 0; p < n_planes; p++) {
        TILE_UNROLL
        for (int k = 0; k < n_z; k++)
            sum[p][k] = v_zero();
    }
    for (int64_t i = 0; i < g->length; i += VW) {
        vf x[4];
        TILE_UNROLL
        for (int k = 0; k < n_z; k++)
            x[k] = v_load(z[k] + i);
        TILE_UNROLL
        for (int p = 0; p < n_planes; p++) {
            vf d = v_load(plane + (n_planes == 3 && p == 2 ? GATE : p) * g->length + i);
            TILE_UNROLL
            for (int k = 0; k < n_z; k++)
                TILE_FMA(sum[p][k], d, x[k]);
        }
    }
    TILE_UNROLL
    for (int p = 0; p < n_planes; p++) {
        TILE_UNROLL
        for (int k = 0; k < n_z; k++)
            out[n_planes == 3 && p == 2 ? GATE : p][k] = v_sum(sum[p][k]);
    }
}

static void multiply(const grad *g, int heads, int64_t n_z, const float *plane, const float *const *z, float out[PLANES][4])
{
    switch (heads * 10 + n_z) {
    case 43: lines_multiply(4, 3, g, plane, z, out); break;
    case 42: lines_multiply(4, 2, g, plane, z, out); break;
    case 41: lines_multiply(4, 1, g, plane, z, out); break;
    case 34: lines_multiply(3, 4, g, plane, z, out); break;
    case 33: lines_multiply(3, 3, g, plane, z, out); break;
    case 32: lines_multiply(3, 2, g, plane, z, out); break;
    case 31: lines_multiply(3, 1, g, plane, z, out); break;
    }
}

static float mask_at(const as_cfc *c, const as_view *mask, int64_t i)
{
    float m = mask->dtype == AS_I8 ? (float)((const int8_t *)mask->data)[i] : ((const float *)mask->data)[i];
    return c->semantics == AS_CFC_TORCH ? fabsf(m) : m;
}

/* What a cell's input k was at every step; behind the last stands the bias's. */
static const float *line_z(const grad *g, int l, int64_t k)
{
    const as_cfc      *c = &g->w.b->c;
    const as_cfc_cell *cell = &c->cell[l];
    if (k == cell->n_z)
        return g->ones;
    return k >= cell->n_in ? line_h(g, cell->at + k - cell->n_in) : l ? line_h(g, c->cell[l - 1].at + k) + SIDE : line_x(g, k);
}

/* Adds to the gradients of weight and bias of each head; without spans time_a's is time_b's. */
static void unit_gather(const grad *g, int l, int64_t u)
{
    const as_cfc      *c = &g->w.b->c;
    const as_cfc_cell *cell = &c->cell[l];
    const as_view     *mask = &g->in[cell->first];
    const int          heads = g->w.b->cell[l].heads;
    const float       *plane = plane_of(g, cell->at + u, 0), sign = c->semantics == AS_CFC_TORCH ? 1.0f : -1.0f;
    for (int64_t k = 0, n; k <= cell->n_z; k += n) {
        const float *z[4] = {0};
        float        out[PLANES][4];
        n = heads == 4 ? 3 : 4;
        n = cell->n_z + 1 - k < n ? cell->n_z + 1 - k : n;
        for (int64_t i = 0; i < n; i++)
            z[i] = line_z(g, l, k + i);
        multiply(g, heads, n, plane, z, out);
        for (int h = 0; h < PLANES; h++) {
            const float *from = out[h == TIME && heads == 3 ? GATE : h], scale = h == TIME ? sign : 1.0f;
            float       *d_w = g->d_in[cell->first + 1 + 2 * h].data, *d_b = g->d_in[cell->first + 2 + 2 * h].data;
            int64_t      last = k + n > cell->n_z ? n - 1 : n, at = u * cell->n_z + k;
            for (int64_t i = 0; d_w && i < last; i++)
                d_w[at + i] += h < TIME && mask->data ? from[i] * mask_at(c, mask, at + i) : scale * from[i];
            if (d_b && last < n)
                d_b[u] += scale * from[last];
        }
    }
}

/* --- The kernel's answers ------------------------------------------------------------------------------------------ */

static int infos_of(const as_node_ctx *n, as_tensor_info *in)
{
    in[0] = n->in[0];
    for (int i = REST; i < n->n_in; i++)
        in[i - REST + 1] = n->in[i];
    return n->n_in > REST ? n->n_in - REST + 1 : 1;
}

/* With p NULL only counts floats. */
static int64_t grad_place(grad *g, const book *b, float *p)
{
    const as_cfc *c = &b->c;
    int64_t       length = c->n_steps * SIDE, widest = 0, most = 0, total = 0;
    float        *weights = NULL;
    for (int l = 0; l < c->n_cells; l++) {
        int64_t rows = panels_of(b->cell[l].n) * b->cell[l].heads * VW;
        widest = b->cell[l].k > widest ? b->cell[l].k : widest;
        most = rows > most ? rows : most;
    }
    struct { float **to; int64_t n; } all[] = {
        { &weights, b->n_floats }, { &g->w.x, c->n_in * SIDE }, { &g->w.h, c->n_state * SIDE }, { &g->w.mid, c->n_state * SIDE },
        { &g->x, c->n_in * length }, { &g->h, c->n_state * (length + SIDE) }, { &g->planes, c->n_state * PLANES * length },
        { &g->spans, length }, { &g->d_spans, length }, { &g->ones, length }, { &g->d_h, c->n_state * SIDE }, { &g->d_before, c->n_state * SIDE },
        { &g->d_z, widest * SIDE }, { &g->d_heads, most * SIDE } };
    for (int i = 0; i < (int)AS_COUNT(all); i++) {
        *all[i].to = p ? p + total : NULL;
        total += lines(all[i].n);
    }
    if (p)
        weights_pack(b, g->in, weights);
    g->w.b = b;
    g->w.weights = weights;
    g->length = length;
    return total;
}

static size_t cfcgrad_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    (void)n_parts;
    as_tensor_info in[AS_MAX_IN];
    int            n_in = infos_of(n, in);
    book           b = book_read(n, in, n_in);
    grad           g = {0};
    return (size_t)grad_place(&g, &b, NULL) * sizeof(float);
}

static bool cfcgrad_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_tensor_info in[AS_MAX_IN];
    int            n_in = infos_of(n, in);
    as_cfc         c;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (as_cfc_read(NULL, n, in, n_in, &c) != ASSAY_OK)
        return true;
    const char *not_here = c.has_memory ? "a mixed memory" : c.n_backbone ? "a backbone" : c.has_fc ? "a projection" : c.mode == AS_CFC_PURE ? "mode pure" : NULL;
    if (not_here)
        snprintf(why, why_size, "%s, whose gradient it has not", not_here);
    return !not_here;
}

static void cfcgrad_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)n_parts;
    const as_node_ctx *n = args->ctx;
    as_tensor_info     in[AS_MAX_IN];
    int                n_in = infos_of(n, in), found = 0;
    if (part > 0)
        return;
    book          b = book_read(n, in, n_in);
    const as_cfc *c = &b.c;
    grad          g = { .d_y = args->in[D_Y].data, .d_h_n = args->in[D_H].data };
    g.in[0] = args->in[0];
    for (int i = 1; i < n_in; i++)
        g.in[i] = args->in[i + REST - 1];
    for (int i = 0; i < n_in && found < n->n_out; i++)
        if (as_cfc_differentiable(c, in, n_in, i)) {
            g.d_in[i] = args->out[found++];
            if (g.d_in[i].data)
                memset(g.d_in[i].data, 0, as_view_bytes(&g.d_in[i]));
        }
    grad_place(&g, &b, scratch);
    for (int64_t first = 0; first < c->n_batch; first += SIDE) {
        int64_t count = c->n_batch - first < SIDE ? c->n_batch - first : SIDE;
        block_forward(&g, first, count);
        block_back(&g, first, count);
        for (int l = 0; l < c->n_cells; l++)
            for (int64_t u = 0; u < c->cell[l].n_hidden; u++)
                unit_gather(&g, l, u);
    }
}
