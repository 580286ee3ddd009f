/* cfc_book.h - the weights of assay.CfC as its kernels read them, after a simd_*.h: their layout, and how they are packed.
 *
 * A layer is a few matrices of one shape, its heads; the sums of all heads of a unit are needed together.  It is stored in panels
 * of VW units, [row][head][VW], with zeros after the last unit: one vector is VW units of a head, one float is a head of one unit.
 * The first row is the bias, in pure mode then |w_tau| and A, then one row for every input.  Masks, keras's signs and the forget
 * gate's 1 are already in the numbers; without time spans, time_a and time_b are one head, their sum. */
#ifndef AS_BACKEND_CPU_CFC_BOOK_H
#define AS_BACKEND_CPU_CFC_BOOK_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "base/random.h"
#include "op/cell/cfc.h"

typedef struct layer {
    int64_t n, k;         /* units, inputs */
    int     heads, first; /* first: row of the first input */
    int64_t at;           /* floats from the first weight on */
} layer;

/* It comes before the packed weights, so that a run need not read the node again. */
typedef struct book {
    as_cfc       c;
    bool         whole; /* all weights were present for packing */
    bool         spans;
    int64_t      widest; /* backbone layer */
    int64_t      n_floats;
    layer        memory, backbone[AS_CFC_MAX_BACKBONE], cell[AS_CFC_MAX_CELLS], fc;
    as_cfc_stash kept;
} book;

enum { BOOK_FLOATS = (sizeof(book) + 63) / 64 * 16, PACKED_INPUT = AS_CFC_CELLS + 1 }; /* this input is a weight of every CfC */

static int64_t panels_of(int64_t n) { return (n + VW - 1) / VW; }
static int64_t panel_floats(const layer *l) { return (l->first + l->k) * l->heads * VW; }

static layer layer_plan(book *b, int64_t n, int64_t k, int heads, int first)
{
    layer l = {.n = n, .k = k, .heads = heads, .first = first, .at = b->n_floats};
    b->n_floats += panels_of(n) * panel_floats(&l);
    return l;
}

/* `in` are the inputs of the CfC, wherever they are in the node. */
static book book_read(const as_node_ctx *n, const as_tensor_info *in, int n_in)
{
    book    b = {0};
    as_cfc *c = &b.c;
    if (as_cfc_read(NULL, n, in, n_in, c) != ASSAY_OK)
        return (book){0}; /* cannot happen: the node was inferred */
    b.spans = in[AS_CFC_TIMESPANS].dtype != AS_NONE;
    b.kept = as_cfc_stash_of(c, b.spans);
    if (c->has_memory)
        b.memory = layer_plan(&b, c->n_state, c->n_in + c->n_state, 4, 1);
    for (int l = 0; l < c->n_backbone; l++) {
        b.backbone[l] = layer_plan(&b, c->width[l], l ? c->width[l - 1] : c->cell[0].n_in + c->cell[0].n_hidden, 1, 1);
        b.widest = c->width[l] > b.widest ? c->width[l] : b.widest;
    }
    for (int l = 0; l < c->n_cells; l++)
        b.cell[l] = c->mode == AS_CFC_PURE ? layer_plan(&b, c->cell[l].n_hidden, c->cell[l].n_z, 1, 3)
                                           : layer_plan(&b, c->cell[l].n_hidden, c->cell[l].n_z, b.spans ? 4 : 3, 1);
    if (c->has_fc)
        b.fc = layer_plan(&b, c->n_y, c->n_out, 1, 1);
    return b;
}

static inline book book_of(const as_node_ctx *n) { return book_read(n, n->in, n->n_in); }

/* --- Packing ------------------------------------------------------------------------------------------- */

/* What goes into one head: weights [n][k] and a bias, of inputs k_at on. */
typedef struct source {
    const float   *w, *b; /* b NULL: none */
    const as_view *mask;  /* NULL: none */
    int64_t        k_at, k;
    float          scale, shift; /* of everything; of the bias */
    bool           signs;        /* of the mask count */
} source;

/* Up to VW numbers, scaled, and masked like the weights from the at-th on. */
V_INLINE vf weights_load(const source *s, const float *from, int64_t at, int count)
{
    vf w = v_mul(v_set(s->scale), v_load_n(from, count)), m;
    if (!s->mask || !s->mask->data)
        return w;
    if (s->mask->dtype == AS_I8) {
        float of[VW] = {0};
        for (int i = 0; i < count; i++)
            of[i] = (float)((const int8_t *)s->mask->data)[at + i];
        m = v_load(of);
    } else {
        m = v_load_n((const float *)s->mask->data + at, count);
    }
    return v_mul(w, s->signs ? m : v_abs(m));
}

static void head_add(const layer *l, int head, const source *s, float *weights)
{
    for (int64_t u = 0; u < l->n; u += VW) {
        const int64_t units = l->n - u < VW ? l->n - u : VW, row = l->heads * VW;
        float        *panel = weights + l->at + u / VW * panel_floats(l) + head * VW;
        for (int64_t i = 0; s->b && i < units; i++)
            panel[i] += s->scale * s->b[u + i] + s->shift;
        for (int64_t k = 0; k < s->k; k += VW) {
            const int count = s->k - k < VW ? (int)(s->k - k) : VW;
            float    *to = panel + (l->first + s->k_at + k) * row;
            vf        r[VW];
            V_UNROLL
            for (int i = 0; i < VW; i++)
                r[i] = i < units ? weights_load(s, s->w + (u + i) * s->k + k, (u + i) * s->k + k, count) : v_zero();
            v_transpose(r);
            for (int i = 0; i < count; i++)
                v_store(to + i * row, v_add(v_load(to + i * row), r[i]));
        }
    }
}

static void cell_pack(const book *b, const as_view *in, int i, float *weights)
{
    const as_cfc      *c = &b->c;
    const as_cfc_cell *cell = &c->cell[i];
    const layer       *l = &b->cell[i];
    const as_view     *v = in + cell->first;
    source             s = {.k = cell->n_z, .scale = 1.0f, .signs = c->semantics != AS_CFC_TORCH};
    if (c->mode == AS_CFC_PURE) {
        s.w = v[3].data;
        s.b = v[4].data;
        s.mask = v;
        head_add(l, 0, &s, weights);
        for (int64_t u = 0; u < l->n; u++) {
            float *to = weights + l->at + u / VW * panel_floats(l) + u % VW;
            to[VW] = fabsf(((const float *)v[1].data)[u]);
            to[2 * VW] = ((const float *)v[2].data)[u];
        }
        return;
    }
    for (int h = 0; h < 4; h++) {
        s.w = v[1 + 2 * h].data;
        s.b = v[2 + 2 * h].data;
        s.mask = h < 2 ? v : NULL;
        s.scale = h == 2 && c->semantics != AS_CFC_TORCH ? -1.0f : 1.0f;
        head_add(l, h < l->heads ? h : l->heads - 1, &s, weights);
    }
}

static void weights_pack(const book *b, const as_view *in, float *weights)
{
    const as_cfc *c = &b->c;
    memset(weights, 0, (size_t)b->n_floats * sizeof *weights);
    for (int h = 0; c->has_memory && h < 4; h++) {
        const int64_t n = c->n_state;
        head_add(&b->memory, h,
                 &(source){.w = (const float *)in[AS_CFC_MEMORY_W].data + h * n * c->n_in,
                           .b = (const float *)in[AS_CFC_MEMORY_B].data + h * n,
                           .k = c->n_in,
                           .scale = 1.0f,
                           .shift = h == 2 ? 1.0f : 0.0f},
                 weights);
        head_add(&b->memory, h,
                 &(source){.w = (const float *)in[AS_CFC_MEMORY_R].data + h * n * n, .k_at = c->n_in, .k = n, .scale = 1.0f},
                 weights);
    }
    for (int l = 0; l < c->n_backbone; l++)
        head_add(
            &b->backbone[l], 0,
            &(source){
                .w = in[AS_CFC_CELLS + 2 * l].data, .b = in[AS_CFC_CELLS + 2 * l + 1].data, .k = b->backbone[l].k, .scale = 1.0f},
            weights);
    for (int l = 0; l < c->n_cells; l++)
        cell_pack(b, in, l, weights);
    if (c->has_fc)
        head_add(&b->fc, 0, &(source){.w = in[AS_CFC_FC_W].data, .b = in[AS_CFC_FC_B].data, .k = c->n_out, .scale = 1.0f}, weights);
}

/* All operands are f32 and row-major.  Output 0 may be absent. */
static inline bool cfc_f32_only(const as_node_ctx *n, char *why, size_t why_size)
{
    as_node_ctx given = *n;
    while (given.n_out > 0 && given.out[0].dtype == AS_NONE) {
        given.out++;
        given.n_out--;
    }
    return as_kernel_f32_only(&given, why, why_size);
}

static inline size_t cfc_packed_bytes(const as_node_ctx *n, int input)
{
    return input == PACKED_INPUT ? ((size_t)BOOK_FLOATS + (size_t)book_of(n).n_floats) * sizeof(float) : 0;
}

/* All or nothing: if any weight changes in every run, the run packs for itself. */
static inline void cfc_pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    (void)input, (void)n_parts;
    if (part > 0)
        return;
    book b = book_of(args->ctx);
    b.whole = true;
    for (int i = AS_CFC_MEMORY_W; i < args->ctx->n_in; i++)
        b.whole &= args->ctx->in[i].dtype == AS_NONE || args->in[i].data;
    memcpy(packed, &b, sizeof b);
    if (b.whole)
        weights_pack(&b, args->in, (float *)packed + BOOK_FLOATS);
}

#endif
