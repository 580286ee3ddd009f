/* workload.c - operands by element type and by layout. */
#include "model/zoo/workload.h"

#include <stdio.h>
#include <string.h>

#include "model/graph/maker.h"

enum { MAX_DIM = 1 << 26 };

const char *const as_work_dtypes[] = {"f32", "f16", "bf16", "f64", NULL};
const char *const as_work_layouts[] = {"contiguous", "strided", "transposed", NULL};

/* --- Small nodes --------------------------------------------------------------------------------- */

/* Numbers of ONNX's TensorProto.DataType, which Cast takes. */
static int64_t onnx_type(as_dtype dtype)
{
    switch (dtype) {
    case AS_F16: return 10;
    case AS_F64: return 11;
    case AS_BF16: return 16;
    case AS_I8: return 3;
    default: return 1;
    }
}

int as_work_node1(as_maker *m, const char *op, const char *name, int x)
{
    return as_maker_node(m, op, name, &x, 1, NULL, 0, NULL, 1, NULL);
}

int as_work_cast(as_maker *m, const char *name, int x, as_dtype to)
{
    as_attr attr = AS_ATTR_I("to", onnx_type(to));
    return as_maker_node(m, "Cast", name, &x, 1, &attr, 1, NULL, 1, NULL);
}

int as_work_scalar(as_maker *m, const char *name, as_dtype dtype, double value)
{
    double  memory[1] = {0};
    as_view view = as_view_of(memory, dtype, &(as_shape){0});
    as_view_set(&view, 0, value);
    return as_maker_constant(m, name, &view);
}

int as_work_ints(as_maker *m, const char *name, const int64_t *values, size_t n)
{
    int64_t copy[AS_MAX_RANK];
    memcpy(copy, values, n * sizeof *copy);
    as_view view = as_view_of(copy, AS_I64, &AS_SHAPE((int64_t)n));
    return as_maker_constant(m, name, &view);
}

/* --- Keys ------------------------------------------------------------------------------------------ */

static bool size_read(as_maker *m, const as_zoo_args *args, const as_zoo_axes *axes, as_shape *out)
{
    size_t n = as_zoo_list(m, args, "size", 1, MAX_DIM, out->dim, AS_MAX_RANK);
    out->rank = (int)n;
    if (n && ((int)n < axes->min_dims || (int)n > axes->max_dims))
        as_maker_fail(m, "size=%s is not of the form %s", as_zoo_text(args, "size"), axes->form);
    else if (n && !as_shape_ok(out, AS_F64))
        as_maker_fail(m, "size=%s is too large", as_zoo_text(args, "size"));
    return !as_maker_failed(m);
}

bool as_work_read(as_maker *m, const as_zoo_args *args, as_work *out)
{
    const as_zoo_axes *axes = as_zoo_args_zoo(args)->axes;
    *out = (as_work){.m = m, .dtype = AS_F32, .layout = as_work_layouts[0]};
    if (as_zoo_text(args, "dtype"))
        out->dtype = as_zoo_dtype(m, args, "dtype");
    if (as_zoo_text(args, "layout"))
        out->layout = as_zoo_word(m, args, "layout");
    if (as_maker_failed(m) || !size_read(m, args, axes, &out->size))
        return false;
    if (!strcmp(out->layout, "transposed") && out->size.rank < 2)
        as_maker_fail(m, "size=%s has one axis and cannot be transposed", as_zoo_text(args, "size"));
    return !as_maker_failed(m);
}

/* --- Operands ---------------------------------------------------------------------------------------- */

static int input(const as_work *w, const char *name, const as_shape *shape)
{
    as_dims dims;
    as_dims_of_shape(shape, &dims);
    return as_maker_input(w->m, name, w->dtype, &dims);
}

/* Every second element along the last axis of one that is twice as wide. */
static int strided(const as_work *w, const char *name, as_shape shape)
{
    char    label[4][48];
    int64_t last = shape.rank - 1, end = shape.dim[last] * 2;
    shape.dim[last] = end;
    static const char *const parts[] = {"starts", "ends", "axes", "steps"};
    const int64_t            values[] = {0, end, last, 2};
    int                      in[5] = {input(w, name, &shape)};
    for (int i = 0; i < 4; i++) {
        snprintf(label[i], sizeof label[i], "%s.%s", name, parts[i]);
        in[i + 1] = as_work_ints(w->m, label[i], &values[i], 1);
    }
    snprintf(label[0], sizeof label[0], "%s.slice", name);
    return as_maker_node(w->m, "Slice", label[0], in, 5, NULL, 0, NULL, 1, NULL);
}

/* The last two axes in the other order. */
static int transposed(const as_work *w, const char *name, as_shape shape)
{
    char    label[48];
    int64_t perm[AS_MAX_RANK], last = shape.rank - 1, n = shape.dim[last];
    for (int i = 0; i < shape.rank; i++)
        perm[i] = i;
    perm[last] = last - 1;
    perm[last - 1] = last;
    shape.dim[last] = shape.dim[last - 1];
    shape.dim[last - 1] = n;
    as_attr attr = {.name = "perm", .kind = AS_ATTR_INTS, .ints = perm, .n = (size_t)shape.rank};
    int     x = input(w, name, &shape);
    snprintf(label, sizeof label, "%s.transpose", name);
    return as_maker_node(w->m, "Transpose", label, &x, 1, &attr, 1, NULL, 1, NULL);
}

int as_work_input(const as_work *w, const char *name, const as_shape *shape, bool laid)
{
    char label[48];
    int  x = !laid || !strcmp(w->layout, "contiguous") ? input(w, name, shape)
             : !strcmp(w->layout, "strided")           ? strided(w, name, *shape)
                                                       : transposed(w, name, *shape);
    if (w->dtype != AS_F16 && w->dtype != AS_BF16)
        return x;
    snprintf(label, sizeof label, "%s.f32", name);
    return as_work_cast(w->m, label, x, AS_F32);
}

void as_work_output(const as_work *w, int value)
{
    if (w->dtype == AS_F16 || w->dtype == AS_BF16)
        value = as_work_cast(w->m, "y.stored", value, w->dtype);
    as_maker_output(w->m, value);
}
