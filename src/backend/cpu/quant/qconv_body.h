/* qconv_body.h - the body of k_qconv_i8_<machine>.c, after its q_*.h: ConvInteger and QLinearConv of one and two spatial axes, row-major.
 *
 * A group of an image is a product: rows are output channels, columns are pixels, terms are channels times taps.  Weights that stay
 * are packed once, with their sums.  A panel of pixels is joined from lines of the input: for a 1x1 kernel with stride 1 from the input
 * itself, else from a copy of a strip of rows, in which the padding is filled with the zero point and every phase of a stride has a
 * plane of its own, so that the pixels of an output row are neighbours for every tap.
 *
 * A depthwise convolution has one row and few terms: there the taps of a kernel row, which are neighbours in a plane, are windows into
 * the copy, and the rows of a plane are one long line whose last columns are computed for nothing. */
#include <stdio.h>

#include "backend/cpu/product/gemm.h"
#include "backend/cpu/quant/tile.h"
#include "op/rules.h"

enum { STRIP_BYTES = 256 * 1024, DEPTH_PIXELS = 4096, SLACK = 192, MOST_PIECES = 16 /* one per pixel */ };

/* Where the operands are among the inputs; -1: the operator does not have it. */
typedef struct places {
    int x, w, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero, bias;
} places;

typedef struct conv {
    places  at;
    int64_t images, groups, channels, rows; /* channels in and out of one group */
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
    int64_t k, n_steps, row_terms, panel, pixels, n_panels, n_tiles;
    bool    direct;                  /* reads the input in place */
    bool    joined;                  /* the copy has Q_TERMS channels side by side, terms are in that order */
    bool    depthwise;               /* one channel in and out of each group, the taps of a kernel row side by side */
    int64_t phases[2], width, halo;  /* planes per channel, length of their rows, rows beyond those of the strip */
    int64_t strip, strip_rows, copy; /* panels of a strip (of depthwise: strips), its most output rows, bytes of its copy */
} conv;

static places places_of(const as_node_ctx *n)
{
    if (n->op->name[0] == 'C')
        return (places){0, 1, 2, 3, -1, -1, -1, -1, -1};
    return (places){0, 3, 2, 5, 1, 4, 6, 7, 8};
}

/* Windows of Q_TERMS columns over the taps of one kernel row, phase by phase. */
static int64_t windows_of(const conv *c)
{
    int64_t n = 0;
    for (int64_t b = 0; b < c->phases[1]; b++)
        n += steps_of((c->kernel[1] - b + c->stride[1] - 1) / c->stride[1]);
    return n;
}

static conv conv_of(const as_node_ctx *n)
{
    conv           c = {.at = places_of(n)};
    as_conv_shapes s;
    if (as_conv_read(NULL, n, &n->in[c.at.x].shape, &n->in[c.at.w].shape, &s) != ASSAY_OK || s.window.n_axes > 2)
        return c;
    const as_window *w = &s.window;
    c.images = s.x.dim[0], c.groups = w->group, c.channels = s.w.dim[1], c.rows = s.w.dim[0] / w->group;
    for (int i = 0; i < 2; i++) { /* a line is a plane of one row */
        int from = w->n_axes == 1 ? (i == 0 ? 1 : 0) : i;
        c.in[i] = w->in[from], c.out[i] = w->out[from], c.kernel[i] = w->kernel[from], c.stride[i] = w->stride[from];
        c.dilation[i] = w->dilation[from], c.pad[i] = w->pad_begin[from];
        c.phases[i] = least(c.stride[i], (c.kernel[i] - 1) * c.dilation[i] + 1);
    }
    c.k = c.channels * c.kernel[0] * c.kernel[1];
    c.n_steps = steps_of(c.k);
    c.row_terms = row_terms_of(c.k);
    c.panel = panel_bytes_of(c.k);
    c.pixels = c.out[0] * c.out[1];
    c.n_panels = (c.pixels + Q_COLS - 1) / Q_COLS;
    c.n_tiles = (c.rows + Q_ROWS - 1) / Q_ROWS;
    c.direct = c.kernel[0] * c.kernel[1] * c.stride[0] * c.stride[1] == 1 && c.in[0] == c.out[0] && c.in[1] == c.out[1] &&
               !c.pad[0] && !c.pad[1];
    if (c.direct || !c.pixels)
        return c;
    c.width = c.out[1] + (c.kernel[1] - 1) * c.dilation[1] / c.stride[1];
    c.halo = (c.kernel[0] - 1) * c.dilation[0] / c.stride[0];
    c.depthwise = c.channels == 1 && c.rows == 1 && c.dilation[1] == 1;
    c.joined = !c.depthwise && Q_TERMS > 1 && (c.channels % Q_TERMS == 0 || c.channels > 8 * Q_TERMS);
    if (c.joined) { /* the channels after the last have weights of 0 */
        c.n_steps = steps_of(c.channels) * c.kernel[0] * c.kernel[1];
        c.row_terms = c.n_steps * Q_TERMS;
        c.panel = panel_bytes_of(c.n_steps * Q_TERMS);
        int64_t lines = Q_TERMS * up_to(c.width + 16, LINE); /* it also holds the rows of a step while they are joined */
        c.panel = c.panel > lines ? c.panel : lines;
    }
    int64_t row = (c.joined ? up_to(c.channels, Q_TERMS) : c.channels) * c.phases[0] * c.phases[1] * c.width;
    if (c.depthwise) {
        c.strip_rows = DEPTH_PIXELS / c.width;
        c.strip_rows = least(c.strip_rows > 0 ? c.strip_rows : 1, c.out[0]);
        c.strip = (c.out[0] + c.strip_rows - 1) / c.strip_rows;
        c.n_steps = c.kernel[0] * windows_of(&c);
        c.row_terms = c.n_steps * Q_TERMS;
        c.panel = up_to(c.strip_rows * c.width + SLACK, 64) * (4 + 4 + 1); /* sums of products, of pixels; results */
    } else {
        int64_t rows = row ? STRIP_BYTES / row - c.halo : 1;
        c.strip = rows > 2 ? (rows - 1) * c.out[1] / Q_COLS : 1;
        c.strip = least(c.strip > 0 ? c.strip : 1, c.n_panels);
        c.strip_rows = least((c.strip * Q_COLS + c.out[1] - 2) / c.out[1] + 1, c.out[0]);
    }
    c.copy = up_to(row * (c.strip_rows + c.halo), LINE) + 2 * SLACK;
    return c;
}

/* --- Weights ----------------------------------------------------------------------------------------------------- */

/* All rows, then their sums. */
static int64_t weights_bytes(const conv *c) { return up_to(c->groups * c->rows * c->row_terms * (int64_t)sizeof(q_term), LINE); }

static size_t packed_bytes(const as_node_ctx *n, int input)
{
    conv c = conv_of(n);
    return input == c.at.w ? (size_t)(weights_bytes(&c) + c.groups * c.rows * 4) : 0;
}

/* The taps of one channel in the order of the windows, and 0 where a window has more columns than taps; w NULL: 1 for each tap. */
static int32_t taps_pack(const conv *c, const uint8_t *w, uint8_t flip, q_term *to)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < c->kernel[0]; i++)
        for (int64_t b = 0; b < c->phases[1]; b++)
            for (int64_t j = b, t = 0; j < c->kernel[1] || t % Q_TERMS; j += c->stride[1], t++) {
                *to = (q_term)(j >= c->kernel[1] ? 0 : !w ? 1 : (int8_t)(w[i * c->kernel[1] + j] ^ flip));
                sum += *to++;
            }
    return sum;
}

/* The weights of one output channel, Q_TERMS channels of a tap side by side. */
static int32_t weight_join(const conv *c, const uint8_t *w, uint8_t flip, int height, q_term *to)
{
    int64_t taps = c->kernel[0] * c->kernel[1];
    int32_t sum = 0;
    for (int64_t ch = 0; ch < c->channels; ch += Q_TERMS)
        for (int64_t i = 0; i < taps; i++, to += height * Q_TERMS)
            for (int64_t t = 0; t < Q_TERMS; t++) {
                to[t] = (q_term)(ch + t < c->channels ? (int8_t)(w[(ch + t) * taps + i] ^ flip) : 0);
                sum += to[t];
            }
    return sum;
}

/* `to`: of the row's first step, in a tile of `height` rows. */
static int32_t weight_pack(const conv *c, const as_view *w, int64_t row, int height, q_term *to)
{
    if (c->joined)
        return weight_join(c, (const uint8_t *)w->data + row * c->k, row_flip(w->dtype), height, to);
    if (c->depthwise)
        return taps_pack(c, (const uint8_t *)w->data + row * c->k, row_flip(w->dtype), to);
    return row_pack((const uint8_t *)w->data + row * c->k, c->k, row_flip(w->dtype), height, to);
}

static void pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    conv     c = conv_of(args->ctx);
    int32_t *sums = (int32_t *)(void *)((uint8_t *)packed + weights_bytes(&c));
    int64_t  begin, end;
    as_share(c.groups * c.rows, 16, part, n_parts, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t in_group = r % c.rows, tile = in_group / Q_ROWS * Q_ROWS;
        while (in_group >= tile + height_of(c.rows - tile))
            tile += height_of(c.rows - tile);
        sums[r] = weight_pack(&c, &args->in[input], r, height_of(c.rows - tile),
                              (q_term *)packed + (r - in_group + tile) * c.row_terms + (in_group - tile) * Q_TERMS);
    }
}

/* --- Pixels -------------------------------------------------------------------------------------------------------- */

/* Scratch of one part. */
typedef struct part_memory {
    uint8_t *copy, *panel, *flat;          /* flat: results of a depthwise strip */
    int64_t *offset;                       /* of each term's line */
    int32_t *row_add, *row_zero, *col_sum; /* of all output channels; of a panel */
    float   *row_scale;
    q_term  *rows; /* of one tile, where the weights change */
} part_memory;

static int64_t part_bytes(const conv *c)
{
    int64_t outputs = up_to(c->groups * c->rows * 4, LINE);
    return up_to(c->copy, LINE) + c->panel + up_to(c->n_steps * Q_TERMS * 8, LINE) + 3 * outputs + Q_COLS * 4 +
           up_to(Q_ROWS * c->row_terms * (int64_t)sizeof(q_term), LINE);
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    conv c = conv_of(n);
    return (size_t)(part_bytes(&c) * n_parts);
}

static void memory_of(const conv *c, uint8_t *at, part_memory *m)
{
    int64_t outputs = up_to(c->groups * c->rows * 4, LINE);
    m->rows = (q_term *)(void *)at;
    at += up_to(Q_ROWS * c->row_terms * (int64_t)sizeof(q_term), LINE);
    m->panel = at;
    m->flat = at + c->panel / 9 * 8;
    at += c->panel;
    m->offset = (int64_t *)(void *)at;
    at += up_to(c->n_steps * Q_TERMS * 8, LINE);
    m->row_add = (int32_t *)(void *)at;
    m->row_zero = (int32_t *)(void *)(at + outputs);
    m->row_scale = (float *)(void *)(at + 2 * outputs);
    m->col_sum = (int32_t *)(void *)(at + 3 * outputs);
    m->copy = at + 3 * outputs + Q_COLS * 4 + SLACK;
}

/* Of each term's line; where terms are joined, of each step's. */
static void offsets_make(const conv *c, int64_t *offset)
{
    int64_t plane = c->in[0] * c->in[1], rows = c->strip_rows + c->halo, n = c->joined ? steps_of(c->channels) : c->channels;
    for (int64_t ch = 0; ch < n; ch++)
        for (int64_t i = 0; i < c->kernel[0]; i++)
            for (int64_t j = 0; j < c->kernel[1]; j++) {
                int64_t down = i * c->dilation[0], right = j * c->dilation[1];
                int64_t phase = (ch * c->phases[0] + down % c->stride[0]) * c->phases[1] + right % c->stride[1];
                *offset++ = c->direct ? ch * plane : (phase * rows + down / c->stride[0]) * c->width + right / c->stride[1];
                if (c->joined)
                    offset[-1] *= Q_TERMS;
            }
}

/* n bytes, of which no other is read; up to 15 after them may be written. */
static void bytes_copy(uint8_t *to, const uint8_t *from, int64_t n, uint8_t flip)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        u8x16 x = u8_load(from + i) ^ flip;
        memcpy(to + i, &x, 16);
    }
    if (i < n && n >= 16) {
        u8x16 x = u8_load(from + n - 16) ^ flip;
        memcpy(to + n - 16, &x, 16);
        return;
    }
    for (; i < n; i++)
        to[i] = from[i] ^ flip;
}

/* Every second byte, n of them. */
static void seconds_copy(uint8_t *to, const uint8_t *from, int64_t n, uint8_t flip)
{
    int64_t i = 0;
    for (; 2 * i + 32 <= 2 * n - 1; i += 16) {
        u8x16 a = u8_load(from + 2 * i), b = u8_load(from + 2 * i + 16);
        u8x16 x = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) ^ flip;
        memcpy(to + i, &x, 16);
    }
    if (i < n && n >= 16) { /* the last sixteen: 31 bytes, of which the second half is read one byte early */
        u8x16 a = u8_load(from + 2 * n - 32), b = u8_load(from + 2 * n - 17);
        u8x16 x = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31) ^ flip;
        memcpy(to + n - 16, &x, 16);
        return;
    }
    for (; i < n; i++)
        to[i] = from[2 * i] ^ flip;
}

/* Which columns of a phase's plane are in the input: column q is column q * stride + shift of it. */
typedef struct span {
    int64_t shift, begin, end;
} span;

static span span_of(const conv *c, int64_t phase)
{
    int64_t step = c->stride[1], shift = phase - c->pad[1];
    int64_t begin = shift < 0 ? -shift : 0, end = c->in[1] > shift ? c->in[1] - shift : 0;
    if (step > 1) {
        begin = (begin + step - 1) / step;
        end = (end + step - 1) / step;
    }
    return (span){.shift = shift, .begin = least(begin, c->width), .end = least(end, c->width)};
}

/* One row of a plane: every stride-th byte of the input's row, the zero point outside of it. */
static void line_copy(const conv *c, const uint8_t *from, const span *in, uint8_t zero, uint8_t flip, uint8_t *to)
{
    int64_t step = c->stride[1], shift = in->shift, begin = in->begin, end = in->end;
    if (!from || end <= begin) {
        memset(to, zero, (size_t)c->width);
        return;
    }
    for (int64_t q = 0; q < begin; q++)
        to[q] = zero;
    if (step == 1)
        bytes_copy(to + begin, from + begin + shift, end - begin, flip);
    else if (step == 2)
        seconds_copy(to + begin, from + begin * 2 + shift, end - begin, flip);
    else
        for (int64_t q = begin; q < end; q++)
            to[q] = from[q * step + shift] ^ flip;
    for (int64_t q = end; q < c->width; q++)
        to[q] = zero;
}

/* Copies what the output rows from `row` on need; x: the group's first channel. */
static void strip_copy(const conv *c, const uint8_t *x, uint8_t zero, uint8_t flip, int64_t row, uint8_t *to)
{
    int64_t rows = c->strip_rows + c->halo;
    for (int64_t ch = 0; ch < c->channels; ch++, x += c->in[0] * c->in[1])
        for (int64_t a = 0; a < c->phases[0]; a++)
            for (int64_t b = 0; b < c->phases[1]; b++) {
                span    in = span_of(c, b);
                int64_t at = row * c->stride[0] + a - c->pad[0];
                for (int64_t j = 0; j < rows; j++, at += c->stride[0], to += c->width)
                    line_copy(c, at >= 0 && at < c->in[0] ? x + at * c->in[1] : NULL, &in, zero, flip, to);
            }
}

/* The rows of Q_TERMS channels, n pixels of them, the bytes of a pixel side by side; what is before and after them may be written, too. */
static void rows_join(const uint8_t *const *from, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i += 16) {
        u8x16 line[Q_TERMS];
        V_UNROLL
        for (int t = 0; t < Q_TERMS; t++)
            line[t] = u8_load(from[t] + i);
        sixteen_join(line, to + i * Q_TERMS);
    }
}

/* Rows of the input itself, with their padding; reads up to 15 bytes after them. */
static void rows_join_direct(const conv *c, const uint8_t *x, const span *in, uint8_t zero, uint8_t flip, uint8_t *to)
{
    int64_t plane = c->in[0] * c->in[1];
    for (int64_t i = in->begin; i < in->end; i += 16) {
        u8x16 line[Q_TERMS];
        V_UNROLL
        for (int t = 0; t < Q_TERMS; t++)
            line[t] = u8_load(x + t * plane + i + in->shift) ^ flip;
        sixteen_join(line, to + i * Q_TERMS);
    }
    for (int64_t i = 0; i < in->begin * Q_TERMS; i++)
        to[i] = zero;
    for (int64_t i = in->end * Q_TERMS; i < c->width * Q_TERMS; i++)
        to[i] = zero;
}

/* The same as strip_copy with channels side by side.  Where the stride is 1, rows are joined as they are; else, and for the last rows
 * of the input, each is first copied, Q_TERMS channels of it.  `line`: space for them; `end`: of the input. */
static void strip_join(const conv *c, const uint8_t *x, const uint8_t *end, uint8_t zero, uint8_t flip, int64_t row, uint8_t *line,
                       uint8_t *to)
{
    int64_t        rows = c->strip_rows + c->halo, plane = c->in[0] * c->in[1], pitch = up_to(c->width + 16, LINE);
    const uint8_t *from[Q_TERMS];
    for (int64_t ch = 0; ch < c->channels; ch += Q_TERMS)
        for (int64_t a = 0; a < c->phases[0]; a++)
            for (int64_t b = 0; b < c->phases[1]; b++) {
                span    in = span_of(c, b);
                int64_t at = row * c->stride[0] + a - c->pad[0];
                for (int64_t j = 0; j < rows; j++, at += c->stride[0], to += c->width * Q_TERMS) {
                    bool inside = at >= 0 && at < c->in[0];
                    if (inside && c->stride[1] == 1 && ch + Q_TERMS <= c->channels && in.end > in.begin &&
                        end - (x + (ch + Q_TERMS - 1) * plane) >= (at + 1) * c->in[1] + 16) {
                        rows_join_direct(c, x + ch * plane + at * c->in[1], &in, zero, flip, to);
                        continue;
                    }
                    for (int t = 0; t < Q_TERMS; t++) {
                        from[t] = line + t * pitch;
                        line_copy(c, inside && ch + t < c->channels ? x + (ch + t) * plane + at * c->in[1] : NULL, &in,
                                  ch + t < c->channels ? zero : 0, flip, line + t * pitch);
                    }
                    rows_join(from, c->width, to);
                }
            }
}

/* Sixteen pixels of a panel, as pieces of output rows: where lane 0 of the piece would be, its first lane, and which lanes it has. */
typedef struct pieces {
    int     n;
    int64_t at[MOST_PIECES], first[MOST_PIECES];
    u8x16   lanes[MOST_PIECES];
} pieces;

static void pieces_make(const conv *c, int64_t pixel, int64_t first_row, pieces *p)
{
    int64_t n = least(c->pixels - pixel, 16);
    p->n = 0;
    for (int64_t i = 0; i < n; p->n++) {
        int64_t row = (pixel + i) / c->out[1], column = (pixel + i) % c->out[1], run = least(c->out[1] - column, n - i);
        uint8_t lanes[16] = {0};
        memset(lanes + i, 255, (size_t)run);
        memcpy(&p->lanes[p->n], lanes, sizeof lanes);
        p->first[p->n] = i;
        p->at[p->n] = (row - first_row) * c->width + column - i;
        i += run;
    }
}

Q_INLINE u8x16 pieces_load(const uint8_t *at, const pieces *p, int n)
{
    u8x16 x = u8_load(at + p->at[0]);
    if (n == 1)
        return x;
    x &= p->lanes[0];
    for (int i = 1; i < n; i++)
        x |= u8_load(at + p->at[i]) & p->lanes[i];
    return x;
}

/* Joins the lines of all terms, Q_TERMS at a time, for sixteen pixels. */
Q_INLINE void lines_join(const conv *c, const int64_t *offset, const uint8_t *from, const pieces *p, int n, uint8_t *to)
{
    int64_t s = 0;
    for (; (s + 1) * Q_TERMS <= c->k; s++, to += STEP_BYTES, offset += Q_TERMS) {
        u8x16 line[Q_TERMS];
        V_UNROLL
        for (int t = 0; t < Q_TERMS; t++)
            line[t] = pieces_load(from + offset[t], p, n);
        sixteen_join(line, to);
    }
    if (s < c->n_steps) {
        u8x16 line[Q_TERMS] = {{0}};
        for (int t = 0; s * Q_TERMS + t < c->k; t++)
            line[t] = pieces_load(from + offset[t], p, n);
        sixteen_join(line, to);
    }
}

/* Sixteen pixels of joined lines. */
static void joined_move(const conv *c, const part_memory *m, const pieces *p, uint8_t *to)
{
    enum { BYTES = 16 * Q_TERMS };
    const int64_t *offset = m->offset;
    const uint8_t *from = m->copy + p->at[0] * Q_TERMS;
    int64_t        n_steps = c->n_steps;
    if (p->n == 1) {
        for (int64_t s = 0; s < n_steps; s++, to += STEP_BYTES)
            memcpy(to, from + offset[s], BYTES);
        return;
    }
    for (int64_t s = 0; s < n_steps; s++, to += STEP_BYTES)
        for (int i = 0; i < p->n; i++) { /* each piece writes over what the one before had too much */
            int64_t first = p->first[i] * Q_TERMS;
            uint8_t part[BYTES];
            memcpy(part, m->copy + offset[s] + p->at[i] * Q_TERMS + first, BYTES);
            memcpy(to + first, part, i == 0 ? BYTES : (size_t)(BYTES - first));
        }
}

static void joined_copy(const conv *c, const part_memory *m, const pieces *p, uint8_t *to)
{
    if (c->joined) {
        joined_move(c, m, p, to);
        return;
    }
    switch (p->n) {
    case 1: lines_join(c, m->offset, m->copy, p, 1, to); break;
    case 2: lines_join(c, m->offset, m->copy, p, 2, to); break;
    default: lines_join(c, m->offset, m->copy, p, p->n, to); break;
    }
}

/* The same from the input itself, of which no byte after the last pixel may be read. */
static void joined_direct(const conv *c, const part_memory *m, const uint8_t *from, int64_t n, uint8_t flip, uint8_t *to)
{
    int64_t s = 0, plane = c->in[0] * c->in[1];
    (void)m;
    for (; n == 16 && (s + 1) * Q_TERMS <= c->k; s++, to += STEP_BYTES) {
        u8x16 line[Q_TERMS];
        V_UNROLL
        for (int t = 0; t < Q_TERMS; t++)
            line[t] = u8_load(from + (s * Q_TERMS + t) * plane) ^ flip;
        sixteen_join(line, to);
    }
    for (; s < c->n_steps; s++, to += STEP_BYTES) {
        u8x16 line[Q_TERMS] = {{0}};
        for (int t = 0; t < Q_TERMS && s * Q_TERMS + t < c->k; t++) {
            memcpy(&line[t], from + (s * Q_TERMS + t) * plane, (size_t)n);
            line[t] ^= flip;
        }
        sixteen_join(line, to);
    }
}

/* --- Depthwise ----------------------------------------------------------------------------------------------------- */

/* Where each window begins in the copy. */
static void windows_make(const conv *c, int64_t *offset)
{
    int64_t rows = c->strip_rows + c->halo;
    for (int64_t i = 0; i < c->kernel[0]; i++)
        for (int64_t b = 0; b < c->phases[1]; b++) {
            int64_t down = i * c->dilation[0], taps = (c->kernel[1] - b + c->stride[1] - 1) / c->stride[1];
            int64_t at = ((down % c->stride[0] * c->phases[1] + b) * rows + down / c->stride[0]) * c->width;
            for (int64_t w = 0; w < steps_of(taps); w++)
                *offset++ = at + w * Q_TERMS;
        }
}

Q_INLINE void window_add(const int64_t *offset, const q_term *terms, const uint8_t *copy, int64_t s, qi *sum)
{
    q_a            a = q_all(terms + s * Q_TERMS);
    const uint8_t *at = copy + offset[s];
    V_UNROLL
    for (int v = 0; v < 4; v++)
        sum[v] = q_dot(sum[v], a, q_window(at + v * QL));
}

/* The sums of n pixels, and of some more.  `known` is a constant: the number of steps, whose loop is unrolled, or 0. */
Q_INLINE void windows_sum_do(int known, int64_t n_steps, const int64_t *offset, const q_term *terms, const uint8_t *copy, int64_t n,
                             int32_t *sums)
{
    for (int64_t i = 0; i < n; i += 4 * QL) {
        qi sum[4] = {{0}};
        V_UNROLL
        for (int s = 0; s < known; s++)
            window_add(offset, terms, copy + i, s, sum);
        for (int64_t s = known; s < n_steps; s++)
            window_add(offset, terms, copy + i, s, sum);
        V_UNROLL
        for (int v = 0; v < 4; v++)
            q_store_i(sums + i + v * QL, sum[v]);
    }
}

static void windows_sum(const conv *c, const int64_t *offset, const q_term *terms, const uint8_t *copy, int64_t n, int32_t *sums)
{
    if (c->n_steps == 3) /* 3x3 with four terms per window */
        windows_sum_do(3, 3, offset, terms, copy, n, sums);
    else if (c->n_steps == 6) /* 3x3 with two, or with stride 2 */
        windows_sum_do(6, 6, offset, terms, copy, n, sums);
    else
        windows_sum_do(0, c->n_steps, offset, terms, copy, n, sums);
}

/* --- The kernel -------------------------------------------------------------------------------------------------------- */

static int32_t zero_of(const as_kernel_args *args, int i, int64_t at)
{
    if (i < 0 || !as_in_has(args->ctx, i))
        return 0;
    return q_at(args->in[i].dtype, args->in[i].data, as_shape_count(&args->in[i].shape) == 1 ? 0 : at);
}

/* What belongs to output channels; returns whether one has a zero point other than 0. */
static bool rows_make(const as_kernel_args *args, const conv *c, const int32_t *sums, int32_t x_zero, part_memory *m)
{
    const as_view *w = &args->in[c->at.w];
    bool           any = false;
    for (int64_t r = 0; r < c->groups * c->rows; r++) {
        int32_t zero = row_zero(w->dtype, zero_of(args, c->at.w_zero, r));
        int32_t bias = c->at.bias >= 0 && as_in_has(args->ctx, c->at.bias) ? ((const int32_t *)args->in[c->at.bias].data)[r] : 0;
        int32_t sum = 0;
        for (int64_t i = 0; !sums && i < c->k; i++)
            sum += (int8_t)(((const uint8_t *)w->data)[r * c->k + i] ^ row_flip(w->dtype));
        sum = sums ? sums[r] : sum;
        m->row_zero[r] = zero;
        m->row_add[r] = (int32_t)((uint32_t)bias - (uint32_t)x_zero * ((uint32_t)sum - (uint32_t)c->k * (uint32_t)zero));
        any = any || zero;
        if (c->at.w_scale >= 0) {
            const float *scale = args->in[c->at.w_scale].data;
            m->row_scale[r] = *(const float *)args->in[c->at.x_scale].data *
                              scale[as_shape_count(&args->in[c->at.w_scale].shape) == 1 ? 0 : r] /
                              *(const float *)args->in[c->at.y_scale].data;
        }
    }
    return any;
}

/* A group of an image, and the share of it. */
typedef struct unit {
    const uint8_t *x, *x_end;
    int64_t        first; /* output channel of the group */
    as_gemm_part   share;
    uint8_t        zero, flip;
    bool           any_zero;
} unit;

static void panel_run(const as_kernel_args *args, const conv *c, const unit *u, int64_t index, const part_memory *m, q_out *o)
{
    const q_term *packed = args->packed[c->at.w];
    int32_t       sums[Q_ROWS * Q_COLS];
    int64_t       end = least(u->share.tile[1] * Q_ROWS, c->rows), width = least(c->pixels - index * Q_COLS, Q_COLS);
    if (u->any_zero)
        panel_sums(m->panel, c->n_steps, m->col_sum);
    for (int64_t r = u->share.tile[0] * Q_ROWS; r < end;) {
        const q_term *rows = packed ? packed + (u->first + r) * c->row_terms : m->rows;
        for (int64_t i = 0; !packed && i < height_of(end - r); i++)
            weight_pack(c, &args->in[c->at.w], u->first + r + i, height_of(end - r), m->rows + i * Q_TERMS);
        rows_fetch(o, r, end, index * Q_COLS);
        int height = tile_run(end - r, width, rows, m->panel, c->n_steps, sums);
        rows_finish(o, sums, r, height, index * Q_COLS, width);
        r += height;
    }
}

static void unit_run(const as_kernel_args *args, const conv *c, const unit *u, const part_memory *m, q_out *o)
{
    int64_t strip_end = u->share.panel[0], first_row = 0;
    for (int64_t i = u->share.panel[0]; i < u->share.panel[1]; i++) {
        if (!c->direct && i == strip_end) {
            first_row = i * Q_COLS / c->out[1];
            if (c->joined)
                strip_join(c, u->x, u->x_end, u->zero, u->flip, first_row, m->panel, m->copy);
            else
                strip_copy(c, u->x, u->zero, u->flip, first_row, m->copy);
            strip_end = i + c->strip;
        }
        for (int64_t j = 0; j < Q_COLS; j += 16) {
            int64_t  pixel = i * Q_COLS + j;
            uint8_t *to = m->panel + j * Q_TERMS;
            pieces   p;
            if (pixel >= c->pixels)
                break;
            if (c->direct) {
                joined_direct(c, m, u->x + pixel, least(c->pixels - pixel, 16), u->flip, to);
                continue;
            }
            pieces_make(c, pixel, first_row, &p);
            joined_copy(c, m, &p, to);
        }
        panel_run(args, c, u, i, m, o);
    }
}

/* Rows of `width` bytes, `pitch` apart, without what is between them. */
static void rows_move(const uint8_t *from, int64_t pitch, uint8_t *to, int64_t width, int64_t n)
{
    for (int64_t r = 0; r < n; r++, from += pitch, to += width) {
        if (width >= 16 || (n - r) * width >= 16) { /* a short row writes what the next one writes again */
            for (int64_t i = 0; i + 16 <= width; i += 16)
                memcpy(to + i, from + i, 16);
            memcpy(to + (width >= 16 ? width - 16 : 0), from + (width >= 16 ? width - 16 : 0), 16);
        } else {
            memcpy(to, from, (size_t)width);
        }
    }
}

static void depthwise_run(const as_kernel_args *args, const conv *c, const part_memory *m, bool any, int part, int n_parts)
{
    const as_view *x = &args->in[c->at.x];
    const q_term  *packed = args->packed[c->at.w];
    uint8_t        flip = panel_flip(x->dtype), zero = (uint8_t)zero_of(args, c->at.x_zero, 0) ^ flip;
    q_term        *ones = m->rows + c->row_terms;
    int32_t       *sums = (int32_t *)(void *)m->panel, *pixels = sums + c->panel / 9;
    int64_t        begin, end;
    q_out          o = {.dtype = args->out[0].dtype,
                        .y = args->out[0].data,
                        .row_add = m->row_add,
                        .row_zero = any ? m->row_zero : NULL,
                        .row_scale = m->row_scale,
                        .y_zero = zero_of(args, c->at.y_zero, 0),
                        .odd = c->at.w_scale >= 0 && !q_all_finite(m->row_scale, c->groups)};
    windows_make(c, m->offset);
    taps_pack(c, NULL, 0, ones);
    as_share(c->images * c->groups * c->strip, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t plane = i / c->strip, row = i % c->strip * c->strip_rows, group = plane % c->groups;
        int64_t rows = least(c->strip_rows, c->out[0] - row), n = rows * c->width, first = plane * c->pixels + row * c->out[1];
        const q_term *terms = packed ? packed + group * c->row_terms : m->rows;
        if (!packed)
            weight_pack(c, &args->in[c->at.w], group, 1, m->rows);
        strip_copy(c, (const uint8_t *)x->data + plane * c->in[0] * c->in[1], zero, flip, row, m->copy);
        windows_sum(c, m->offset, terms, m->copy, n, sums);
        if (any)
            windows_sum(c, m->offset, ones, m->copy, n, pixels);
        o.col_sum = pixels;
        if (o.dtype != AS_I32) { /* all columns at once, and then without those between the rows */
            o.y = m->flat;
            row_finish(&o, sums, group, 0, n);
            rows_move(m->flat, c->width, (uint8_t *)args->out[0].data + first, c->out[1], rows);
            continue;
        }
        for (int64_t r = 0; r < rows; r++) {
            o.col_sum = pixels + r * c->width;
            row_finish(&o, sums + r * c->width, group, first + r * c->out[1], c->out[1]);
        }
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    conv           c = conv_of(args->ctx);
    const as_view *x = &args->in[c.at.x];
    const uint8_t *packed = args->packed[c.at.w];
    if (!c.images || !c.pixels || !c.rows)
        return;
    as_gemm_part s = as_gemm_split(c.images * c.groups, c.n_tiles, c.n_panels, part, n_parts);
    int32_t      zero = zero_of(args, c.at.x_zero, 0);
    int64_t      y_bytes = args->out[0].dtype == AS_I32 ? 4 : 1;
    part_memory  m;
    memory_of(&c, (uint8_t *)scratch + part_bytes(&c) * part, &m);
    bool any = rows_make(args, &c, packed ? (const int32_t *)(const void *)(packed + weights_bytes(&c)) : NULL,
                         panel_zero(x->dtype, zero), &m);
    if (c.depthwise) {
        depthwise_run(args, &c, &m, any, part, n_parts);
        return;
    }
    offsets_make(&c, m.offset);
    for (int64_t i = s.batch[0]; i < s.batch[1]; i++) {
        unit  u = {.x = (const uint8_t *)x->data + i * c.channels * c.in[0] * c.in[1],
                   .x_end = (const uint8_t *)x->data + as_shape_count(&x->shape),
                   .first = i % c.groups * c.rows,
                   .share = s,
                   .zero = (uint8_t)zero ^ panel_flip(x->dtype),
                   .flip = panel_flip(x->dtype),
                   .any_zero = any};
        q_out o = {.dtype = args->out[0].dtype,
                   .y = (uint8_t *)args->out[0].data + i * c.rows * c.pixels * y_bytes,
                   .y_row = c.pixels,
                   .row_add = m.row_add + u.first,
                   .row_zero = any ? m.row_zero + u.first : NULL,
                   .row_scale = m.row_scale + u.first,
                   .col_sum = m.col_sum,
                   .y_zero = zero_of(args, c.at.y_zero, 0),
                   .odd = c.at.w_scale >= 0 && !q_all_finite(m.row_scale, c.groups * c.rows)};
        unit_run(args, &c, &u, &m, &o);
    }
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    places at = places_of(n);
    if (n->in[at.x].shape.rank > 4)
        snprintf(why, why_size, "it has %d spatial axes, needs one or two", n->in[at.x].shape.rank - 2);
    else if (n->in[at.x].layout != AS_LAYOUT_ROW_MAJOR || n->in[at.w].layout != AS_LAYOUT_ROW_MAJOR ||
             n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "an operand is not row-major");
    else
        return true;
    return false;
}

static const char *const also[] = {"QLinearConv", NULL};
