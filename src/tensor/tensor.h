/* tensor.h - dtypes, shapes, strided views, and tensors in files.
 *
 * A view borrows its memory: dtype, shape, and a stride per axis in elements (0 repeats, negative
 * runs backwards).  Logical order is always row-major over the shape.  Shapes hold concrete sizes;
 * symbolic ones live in model/. */
#ifndef AS_TENSOR_TENSOR_H
#define AS_TENSOR_TENSOR_H

#include "base/arena.h"
#include "base/env.h"
#include "base/file.h"

#define AS_MAX_RANK 8

typedef enum as_dtype {
    AS_NONE = 0, /* an absent optional tensor */
    AS_F64,
    AS_F32,
    AS_F16,
    AS_BF16,
    AS_I8,
    AS_U8,
    AS_I16,
    AS_U16,
    AS_I32,
    AS_U32,
    AS_I64,
    AS_U64,
    AS_BOOL,
    AS_F8E4M3FN,
    AS_F8E4M3FNUZ,
    AS_F8E5M2,
    AS_F8E5M2FNUZ,
    AS_F8E8M0,
    AS_F6E2M3,
    AS_F6E3M2,
    AS_F4E2M1, /* the small floats */
    AS_I4,
    AS_U4,
    AS_I2,
    AS_U2,
    AS_N_DTYPES
} as_dtype;

/* An element of less than 8 bits takes a byte in memory and is packed only in files: strides count elements and every
 * element has an address, as for all other types.  The byte of an integer is its value as i8 or u8; that of a float its
 * code, with the bits above it 0. */

const char *as_dtype_name(as_dtype dtype); /* "f32" */
bool        as_dtype_parse(const char *name, as_dtype *out);
size_t      as_dtype_bytes(as_dtype dtype); /* in memory; 0 for AS_NONE */
int         as_dtype_bits(as_dtype dtype);  /* of the format, and so of a packed file: 4 for i4 */
/* Whether elements at this address may be loaded as their type.  In a mapped file they may be at any address. */
static inline bool as_dtype_aligned(as_dtype dtype, const void *data) { return (uintptr_t)data % as_dtype_bytes(dtype) == 0; }
bool               as_dtype_is_float(as_dtype dtype);
bool               as_dtype_is_small_float(as_dtype dtype); /* those of 8 bits or less */

uint16_t as_f16_from_f32(float x); /* round to nearest even, overflow to infinity */
float    as_f16_to_f32(uint16_t x);
uint16_t as_bf16_from_f32(float x); /* round to nearest even, NaN stays NaN */
float    as_bf16_to_f32(uint16_t x);

/* The small floats.  With `saturate`, a value that is too large, also infinity, becomes the largest number; else it becomes
 * infinity, or NaN where the format has no infinity. f6 and f4 have neither: they always saturate, and a NaN becomes 0.  The
 * rounding mode applies only to f8e8m0, the powers of two from 2^-127 to 2^127 without sign and zero: all other formats
 * round to nearest, ties to even.  In f8e8m0, 0 and values below the least power become that power when saturating, else
 * NaN; negative values become NaN. */
typedef enum as_e8m0_round { AS_E8M0_NEAREST /* ties up */, AS_E8M0_UP, AS_E8M0_DOWN } as_e8m0_round;
double  as_small_to_f64(as_dtype dtype, uint8_t code); /* exact */
uint8_t as_small_from_f64(as_dtype dtype, double x, bool saturate, as_e8m0_round round);

/* Elements of less than 8 bits as files pack them: consecutive, without gaps, the first in the lowest bits, the last byte
 * filled up with zeros. */
size_t  as_packed_bytes(as_dtype dtype, size_t count);
uint8_t as_packed_get(as_dtype dtype, const uint8_t *packed, size_t i);            /* as the byte that it has in memory */
void    as_packed_put(as_dtype dtype, uint8_t *packed, size_t i, uint8_t element); /* the bits must be 0 before */

typedef struct as_shape {
    int     rank;
    int64_t dim[AS_MAX_RANK];
} as_shape;

/* Element count; a checked shape never overflows. Rank 0 has 1 element. */
int64_t as_shape_count(const as_shape *shape);
/* False when a dim is negative, the rank too high, or the count or its bytes overflow int64. */
bool        as_shape_ok(const as_shape *shape, as_dtype dtype);
bool        as_shape_same(const as_shape *a, const as_shape *b);
const char *as_shape_show(const as_shape *shape, char *buf, size_t size); /* "[1,28,28]" */
/* ONNX multidirectional broadcasting; false when the two shapes do not broadcast. */
bool as_shape_broadcast(const as_shape *a, const as_shape *b, as_shape *out);
#define AS_SHAPE(...) ((as_shape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dim = {__VA_ARGS__}})

typedef struct as_view {
    void    *data; /* the element at index 0,0,... */
    as_dtype dtype;
    as_shape shape;
    int64_t  stride[AS_MAX_RANK]; /* in elements */
} as_view;

as_view as_view_of(void *data, as_dtype dtype, const as_shape *shape); /* row-major, contiguous */
bool    as_view_contiguous(const as_view *v);
size_t  as_view_bytes(const as_view *v); /* count * element size */
/* The same elements under a wider shape, stride 0 where they repeat; the view's shape must broadcast to it. */
as_view as_view_broadcast(const as_view *v, const as_shape *shape);

/* Element i in row-major logical order, as double (exact for all but i64 and u64 beyond 2^53) or i64.  Setters round floats to the
 * dtype without saturating, saturate integers (NaN gives 0), and store x != 0 for bool.  The i64 functions move a u64 as its two's
 * complement bits: 2^64 - 1 is read as -1, and setting -1 stores it. */
double  as_view_get(const as_view *v, int64_t i);
void    as_view_set(const as_view *v, int64_t i, double x);
int64_t as_view_get_i64(const as_view *v, int64_t i);
void    as_view_set_i64(const as_view *v, int64_t i, int64_t x);
/* Same by index vector of length rank. */
double as_view_at(const as_view *v, const int64_t *index);
void   as_view_put(const as_view *v, const int64_t *index, double x);
/* Copies element by element and converts by value, also from and to u64; shapes must have the same count. */
void as_view_copy(const as_view *dst, const as_view *src);
/* Whether a file's values may be given where this dtype is wanted: floats for floats (they are rounded), whole numbers for whole
 * numbers when the dtype has every one of them. */
bool as_view_fits(const as_view *v, as_dtype dtype);

/* Largest |a - b| / (1 + |b|) over all elements; infinity when NaNs or infinities differ or shapes differ. */
double as_view_error(const as_view *a, const as_view *b);

/* --- Files --------------------------------------------------------------------------------- */

/* A tensor read from a file: the view points into the mapping, or into `owned` when the file's bytes could not
 * be used in place (big-endian, misaligned). */
typedef struct as_tensor {
    as_view view;
    as_map  map;
    void   *owned;
} as_tensor;

void as_tensor_drop(as_tensor *tensor);

/* numpy .npy, versions 1 to 3, C and Fortran order.  Every size is checked against the file's size. */
assay_status as_npy_load(assay_env *env, const char *path, as_tensor *out);
assay_status as_npy_parse(assay_env *env, const char *path, const uint8_t *data, size_t n,
                          as_tensor *out); /* borrows data; for tests and the fuzzer */
/* What the header says, checked as by as_npy_parse(); the elements, from `start` to the end, are not touched. */
typedef struct as_npy_head {
    as_dtype dtype;
    as_shape shape;
    size_t   start;
    bool     is_swapped; /* big-endian */
    bool     is_fortran;
} as_npy_head;
assay_status as_npy_look(assay_env *env, const char *path, const uint8_t *data, size_t n, as_npy_head *out);
/* bf16 and the small floats have no npy code and are written as f32; integers of less than 8 bits as i8 or u8. */
assay_status as_npy_save(assay_env *env, const char *path, const as_view *view);

typedef struct as_named_view {
    const char *name;
    as_view     view;
} as_named_view;

/* A safetensors file: names and views into the mapping, in file order. */
typedef struct as_safetensors {
    as_map         map;
    as_arena       arena;
    as_named_view *items;
    size_t         n_items;
} as_safetensors;

assay_status   as_safetensors_load(assay_env *env, const char *path, as_safetensors *out);
assay_status   as_safetensors_parse(assay_env *env, const char *path, const uint8_t *data, size_t n,
                                    as_safetensors *out); /* borrows data */
void           as_safetensors_drop(as_safetensors *file);
const as_view *as_safetensors_find(const as_safetensors *file, const char *name); /* NULL: not there */
assay_status   as_safetensors_save(assay_env *env, const char *path, const as_named_view *items, size_t n_items);

#endif
