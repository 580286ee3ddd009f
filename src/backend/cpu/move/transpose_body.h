/* transpose_body.h - the body of k_transpose_f32_<machine>.c, after its simd_*.h: Transpose and Relayout of any dtype of four bytes.
 *
 * Where the last axis stays, runs are copied.  Else the output's last axis and the axis whose elements are neighbours in the input
 * make a matrix, which is transposed in registers, a block of vectors at a time; all other axes only count matrices. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/move/turn.h"

/* Rows of the output per unit of work, so that lines of the input are read whole; and columns, so that one wide matrix has work
 * for all parts. */
enum { ROWS = 16, COLUMNS = 512 };

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    bool turns = !strcmp(n->op->name, "Transpose");
    if (as_dtype_bytes(n->in[0].dtype) != 4)
        snprintf(why, why_size, "input 0 is %s, needs four bytes per element", as_dtype_name(n->in[0].dtype));
    else if (turns && (n->in[0].layout != AS_LAYOUT_ROW_MAJOR || n->out[0].layout != AS_LAYOUT_ROW_MAJOR))
        snprintf(why, why_size, "%s 0 is not row-major", n->in[0].layout == AS_LAYOUT_ROW_MAJOR ? "output" : "input");
    else
        return true;
    return false;
}

/* y[j][i] = x[i][j]. */
V_INLINE void square(const float *x, int64_t x_step, float *y, int64_t y_step)
{
    vf r[VW];
    for (int i = 0; i < VW; i++)
        r[i] = v_load(x + i * x_step);
    v_transpose(r);
    for (int j = 0; j < VW; j++)
        v_store(y + j * y_step, r[j]);
}

/* Moves bits: the elements need not be floats. */
static void rest(const float *x, int64_t x_step, float *y, int64_t y_step, int64_t n_j, int64_t n_i)
{
    for (int64_t j = 0; j < n_j; j++)
        for (int64_t i = 0; i < n_i; i++)
            memcpy(y + j * y_step + i, x + i * x_step + j, sizeof *y);
}

/* Two squares side by side fill a cache line of the output before it is written back. */
static void block(const float *x, int64_t x_step, float *y, int64_t y_step, int64_t n_j, int64_t n_i)
{
    int64_t whole_i = n_i - n_i % VW, whole_j = n_j - n_j % VW;
    for (int64_t i0 = 0; i0 < whole_i; i0 += ROWS)
        for (int64_t j = 0; j < whole_j; j += VW)
            for (int64_t i = i0; i < i0 + ROWS && i < whole_i; i += VW)
                square(x + i * x_step + j, x_step, y + j * y_step + i, y_step);
    rest(x + whole_j, x_step, y + whole_j * y_step, y_step, n_j - whole_j, whole_i);
    rest(x + whole_i * x_step, x_step, y + whole_i, y_step, n_j, n_i - whole_i);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_walk w = as_turn_of(args->ctx);
    int     inner = w.rank - 1, along = inner - 1;
    while (along >= 0 && w.step[along] != 1)
        along--;
    if (w.count == 0)
        return;
    if (along < 0) {
        as_walk_run(&w, sizeof(float), args->in[0].data, args->out[0].data, part, n_parts);
        return;
    }
    const float *x = args->in[0].data;
    float       *y = args->out[0].data;
    int64_t      own[AS_WALK_MAX], all = 1, begin, end;
    for (int i = inner; i >= 0; i--) {
        own[i] = all;
        all *= w.dim[i];
    }
    int64_t n_strips = (w.dim[along] + ROWS - 1) / ROWS, n_chunks = (w.dim[inner] + COLUMNS - 1) / COLUMNS;
    as_share(w.count / w.dim[along] / w.dim[inner] * n_chunks * n_strips, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t j = unit % n_strips * ROWS, i = unit / n_strips % n_chunks * COLUMNS, left = unit / n_strips / n_chunks;
        int64_t from = j + i * w.step[inner], to = j * own[along] + i;
        for (int a = inner - 1; a >= 0; a--)
            if (a != along) {
                from += left % w.dim[a] * w.step[a];
                to += left % w.dim[a] * own[a];
                left /= w.dim[a];
            }
        block(x + from, w.step[inner], y + to, own[along], w.dim[along] - j < ROWS ? w.dim[along] - j : ROWS,
              w.dim[inner] - i < COLUMNS ? w.dim[inner] - i : COLUMNS);
    }
}

static const char *const also[] = {"assay.Relayout", NULL};
