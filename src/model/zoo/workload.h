/* workload.h - what the workloads of `bench` share: operands by element type and by layout.  Private to model/.
 *
 * A workload is a network of one operator, so every device, pass, kernel, cost and reference code works for it.  Its operands are
 * inputs, not weights: nothing can be packed or folded before the clock runs.  The element type is only for storage: f16 and bf16
 * are widened to f32, computed and narrowed again, and these conversions are part of the work; f64 is computed as f64. */
#ifndef AS_MODEL_WORKLOAD_H
#define AS_MODEL_WORKLOAD_H

#include "model/zoo/zoo.h"

extern const char *const as_work_dtypes[];  /* f32 f16 bf16 f64 */
extern const char *const as_work_layouts[]; /* contiguous strided transposed */

#define AS_WORK_DTYPE                                            \
    {                                                            \
        "dtype", "f32", "of the operands: f32, f16, bf16 or f64" \
    }
#define AS_WORK_LAYOUT                                                                                                            \
    {                                                                                                                             \
        "layout", "contiguous", "how the operand arrives: contiguous, strided (every second column of a wider one) or transposed" \
    }

typedef struct as_work {
    as_maker   *m;
    as_dtype    dtype;
    const char *layout; /* "contiguous" without such a key */
    as_shape    size;
} as_work;

/* Reads those of the keys size, dtype and layout that were given; false: the maker holds the message. */
bool as_work_read(as_maker *m, const as_zoo_args *args, as_work *out);
/* An input of the shape, ready for computing.  `laid`: it has the layout, else it is contiguous. */
int as_work_input(const as_work *w, const char *name, const as_shape *shape, bool laid);
/* The result, stored in the element type. */
void as_work_output(const as_work *w, int value);

int as_work_cast(as_maker *m, const char *name, int x, as_dtype to);
int as_work_node1(as_maker *m, const char *op, const char *name, int x);
int as_work_scalar(as_maker *m, const char *name, as_dtype dtype, double value);
/* An i64 vector. */
int as_work_ints(as_maker *m, const char *name, const int64_t *values, size_t n);

#endif
