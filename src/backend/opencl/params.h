/* params.h - what a kernel is told about its operands, one struct per family of kernels.
 *
 * Read twice, so that host and device cannot disagree: calls.h reads it as C, source.c as text for the device's compiler.
 * Hence no include guard, only i64 and float, literal sizes (8 is AS_MAX_RANK), and no
 * name that is a keyword there (kernel).  Every struct begins alike: at[0] to at[2]
 * are the inputs and at[3] is the output, in elements from the base of the instance's memory; n counts the work-items that have
 * work.  Steps are strides in elements. */

/* Element by element, same shapes. */
AS_CL_STRUCT(as_cl_flat, i64 at[4]; i64 n;)

/* Element by element through strides: broadcasting (both inputs) and moving (the first one). */
AS_CL_STRUCT(as_cl_each, i64 at[4]; i64 n; i64 rank; i64 dim[8]; i64 step[8]; i64 other[8];)

/* Y = alpha A B + beta C over a batch of matrices. */
AS_CL_STRUCT(as_cl_product, i64 at[4]; i64 n; i64 rows; i64 cols; i64 inner; i64 a_row; i64 a_col; i64 b_row; i64 b_col; i64 c_row;
             i64 c_col; i64 has_c; i64 rank; i64 dim[8]; i64 a_step[8]; i64 b_step[8]; float alpha; float beta;)

/* One output sums n_terms inputs. */
AS_CL_STRUCT(as_cl_sums, i64 at[4]; i64 n; i64 n_terms; i64 rank; i64 dim[8]; i64 step[8]; i64 term_rank; i64 term_dim[8];
             i64 term_step[8];)

/* Lines of `length` elements, `inner` apart. */
AS_CL_STRUCT(as_cl_lines, i64 at[4]; i64 n; i64 length; i64 inner;)

/* Sliding windows over three axes; unused axes have size 1. */
AS_CL_STRUCT(as_cl_window, i64 at[4]; i64 n; i64 images; i64 x_channels; i64 y_channels; i64 x_group; i64 y_group; i64 has_bias;
             i64 in[3]; i64 out[3]; i64 taps[3]; i64 stride[3]; i64 dilation[3]; i64 pad[3];)
