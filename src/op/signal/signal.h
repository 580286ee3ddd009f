/* signal.h - what the operators on signals share: windows, and Fourier transforms as products with a matrix of cosines and sines.
 * Only this folder includes it. */
#ifndef AS_OP_SIGNAL_H
#define AS_OP_SIGNAL_H

#include "op/composed.h"

enum { AS_MAX_DFT = 4096 }; /* its matrix takes 8 * length^2 bytes in f32 */

/* HannWindow, HammingWindow and BlackmanWindow: a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), N the size or, when not periodic, one less. */
assay_status             as_window_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
void                     as_window_fill(const as_node_ctx *n, const as_view *out, double a0, double a1, double a2);
extern const as_attr_def as_window_attrs[];

/* One integer input that is known while planning. */
assay_status as_known_int(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t *out);

/* The transform of the last axis of real x and imaginary y (-1: none), both [..., length], as [..., n_out, 2]; length is cut or filled with
 * zeros.  The inverse divides by length. */
typedef struct as_dft {
    int64_t length; /* of the transform */
    bool    inverse, onesided;
} as_dft;
int as_b_dft(as_builder *b, int x, int y, const as_dft *d);

#endif
