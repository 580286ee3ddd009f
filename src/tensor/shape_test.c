/* shape_test.c - counting at the edge of int64, showing, broadcasting. */
#include "tensor/tensor.h"
#include "tests/runner/test.h"

static const as_shape scalar = {0};

Test(shape, count_is_the_product_of_the_dims)
{
    expect_eq(as_shape_count(&scalar), 1);
    expect_eq(as_shape_count(&AS_SHAPE(7)), 7);
    expect_eq(as_shape_count(&AS_SHAPE(2, 3, 4)), 24);
    expect_eq(as_shape_count(&AS_SHAPE(2, 0, 4)), 0);
    expect_eq(as_shape_count(&AS_SHAPE(1, 1, 1, 1, 1, 1, 1, 2)), 2);
}

Test(shape, count_of_a_shape_that_nobody_checked_saturates) { expect_eq(as_shape_count(&AS_SHAPE(INT64_MAX, 3)), INT64_MAX); }

Test(shape, ok_stops_exactly_where_the_bytes_leave_int64)
{
    expect(as_shape_ok(&AS_SHAPE(INT64_MAX), AS_U8));
    expect(as_shape_ok(&AS_SHAPE(INT64_MAX / 8), AS_F64));
    expect(!as_shape_ok(&AS_SHAPE(INT64_MAX / 8 + 1), AS_F64));
    expect(!as_shape_ok(&AS_SHAPE(INT64_MAX, 2), AS_U8));
    expect(!as_shape_ok(&AS_SHAPE(INT64_C(1) << 32, INT64_C(1) << 31), AS_U8));
}

Test(shape, ok_refuses_negative_dims_wrong_ranks_and_no_dtype)
{
    as_shape deep = {.rank = AS_MAX_RANK + 1}, negative = {.rank = -1};
    expect(!as_shape_ok(&deep, AS_F32));
    expect(!as_shape_ok(&negative, AS_F32));
    expect(!as_shape_ok(&AS_SHAPE(3, -1), AS_F32));
    expect(!as_shape_ok(&AS_SHAPE(-1, -1), AS_F32));
    expect(!as_shape_ok(&AS_SHAPE(INT64_MIN), AS_F32));
    expect(!as_shape_ok(&AS_SHAPE(3), AS_NONE));
    expect(as_shape_ok(&scalar, AS_F32));
    expect(as_shape_ok(&AS_SHAPE(0), AS_F32));
}

Test(shape, ok_does_not_depend_on_where_a_zero_stands)
{
    expect(!as_shape_ok(&AS_SHAPE(0, INT64_MAX, INT64_MAX), AS_U8));
    expect(!as_shape_ok(&AS_SHAPE(INT64_MAX, INT64_MAX, 0), AS_U8));
}

Test(shape, same_wants_rank_and_every_dim)
{
    expect(as_shape_same(&scalar, &scalar));
    expect(as_shape_same(&AS_SHAPE(2, 3), &AS_SHAPE(2, 3)));
    expect(!as_shape_same(&AS_SHAPE(2, 3), &AS_SHAPE(3, 2)));
    expect(!as_shape_same(&AS_SHAPE(2), &AS_SHAPE(2, 1)));
}

Test(shape, show_writes_brackets_and_commas)
{
    char buf[192];
    expect_str(as_shape_show(&scalar, buf, sizeof buf), "[]");
    expect_str(as_shape_show(&AS_SHAPE(7), buf, sizeof buf), "[7]");
    expect_str(as_shape_show(&AS_SHAPE(1, 28, 28), buf, sizeof buf), "[1,28,28]");
}

Test(shape, show_cuts_at_the_end_of_the_buffer)
{
    char buf[8] = "#######";
    expect_str(as_shape_show(&AS_SHAPE(10, 20, 30), buf, 6), "[10,2");
    expect_eq(buf[6], '#');
    expect_str(as_shape_show(&AS_SHAPE(10), buf, 1), "");
    expect_str(as_shape_show(&AS_SHAPE(10), NULL, 0), "");
}

Test(shape, show_holds_the_longest_shape_in_192_bytes)
{
    char        buf[192];
    int64_t     m = INT64_MIN;
    const char *text = as_shape_show(&AS_SHAPE(m, m, m, m, m, m, m, m), buf, sizeof buf);
    expect_eq(text[strlen(text) - 1], ']');
}

Test(shape, broadcast_lines_up_at_the_right_and_stretches_ones)
{
    as_shape out;
    expect(as_shape_broadcast(&AS_SHAPE(2, 1, 4), &AS_SHAPE(3, 1), &out));
    expect(as_shape_same(&out, &AS_SHAPE(2, 3, 4)));
    expect(as_shape_broadcast(&scalar, &AS_SHAPE(5, 6), &out));
    expect(as_shape_same(&out, &AS_SHAPE(5, 6)));
    expect(as_shape_broadcast(&scalar, &scalar, &out));
    expect_eq(out.rank, 0);
    expect(as_shape_broadcast(&AS_SHAPE(0), &AS_SHAPE(1), &out));
    expect_eq(out.dim[0], 0);
}

Test(shape, broadcast_may_write_over_its_input)
{
    as_shape a = AS_SHAPE(3);
    expect(as_shape_broadcast(&a, &AS_SHAPE(2, 1), &a));
    expect(as_shape_same(&a, &AS_SHAPE(2, 3)));
}

Test(shape, broadcast_refuses_what_does_not_go_together_and_leaves_the_output)
{
    as_shape out = AS_SHAPE(9);
    expect(!as_shape_broadcast(&AS_SHAPE(2, 3), &AS_SHAPE(2, 4), &out));
    expect(!as_shape_broadcast(&AS_SHAPE(0), &AS_SHAPE(2), &out));
    expect(!as_shape_broadcast(&AS_SHAPE(INT64_C(1) << 40, 1), &AS_SHAPE(1, INT64_C(1) << 40), &out));
    expect(as_shape_same(&out, &AS_SHAPE(9)));
}
