/* taps.h - which elements a window sees.  Only the operators with a window, window.c and
 * quantize.c include it. */
#ifndef AS_OP_TAPS_H
#define AS_OP_TAPS_H

#include "op/rules.h"

/* The input position p of tap k of output o; false when it lies on padding. */
static inline bool as_tap_at(const as_window *w, const int64_t *o, const int64_t *k, int64_t *p)
{
    bool inside = true;
    for (int i = 0; i < 3; i++) {
        p[i] = o[i] * w->stride[i] - w->pad_begin[i] + k[i] * w->dilation[i];
        inside &= p[i] >= 0 && p[i] < w->in[i];
    }
    return inside;
}

/* The divisor of an average: the taps on elements, with `pads` also those on padding; never those beyond the padding, which
 * only ceil_mode reaches. */
static inline int64_t as_taps_count(const as_window *w, const int64_t *o, bool pads)
{
    int64_t count = 1;
    for (int i = 0; i < 3; i++) {
        int64_t seen = 0;
        for (int64_t k = 0; k < w->kernel[i]; k++) {
            int64_t p = o[i] * w->stride[i] - w->pad_begin[i] + k * w->dilation[i];
            seen += p >= (pads ? -w->pad_begin[i] : 0) && p < w->in[i] + (pads ? w->pad_end[i] : 0);
        }
        count *= seen;
    }
    return count;
}

/* The output o that sees input position p through tap k; false when there is none. */
static inline bool as_tap_from(const as_window *w, const int64_t *p, const int64_t *k, int64_t *o)
{
    bool seen = true;
    for (int i = 0; i < 3; i++) {
        int64_t at = p[i] + w->pad_begin[i] - k[i] * w->dilation[i];
        o[i] = at / w->stride[i];
        seen &= at >= 0 && at % w->stride[i] == 0 && o[i] < w->out[i];
    }
    return seen;
}

/* for (each tap k of a window, or each place of a plane) */
#define AS_EACH3(k, size)                              \
    for ((k)[0] = 0; (k)[0] < (size)[0]; (k)[0]++)     \
        for ((k)[1] = 0; (k)[1] < (size)[1]; (k)[1]++) \
            for ((k)[2] = 0; (k)[2] < (size)[2]; (k)[2]++)

/* Cases of a pool: channels in vectors, in two and four of them, and a remainder. */
#define AS_CASE_POOL(c_, h_, w_)                                                                                         \
    {                                                                                                                    \
        .name = #c_ " channels", .n_in = 1, .in = {AS_IN(F32, 2, c_, h_, w_)}, .no_grad = true, .n_attrs = 3, .attrs = { \
            AS_ATTR_LIST("kernel_shape", 3, 2),                                                                          \
            AS_ATTR_LIST("strides", 2, 1),                                                                               \
            AS_ATTR_LIST("pads", 1, 0, 1, 1)                                                                             \
        }                                                                                                                \
    }
#define AS_CASES_POOL_WIDE AS_CASE_POOL(17, 5, 6), AS_CASE_POOL(40, 4, 7), AS_CASE_POOL(64, 5, 5), AS_CASE_POOL(117, 4, 3)

#endif
