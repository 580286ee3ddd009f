/* walk_test.c - moving elements, and the one copy that can fail. */
#include "backend/cpu/walk.h"

#include "tests/runner/test.h"

extern const as_kernel as_k_gather_copy;

Test(walk, joins_neighbours_and_leaves_out_axes_of_one)
{
    as_walk w = as_walk_new(0);
    as_walk_axis(&w, 2, 12);
    as_walk_axis(&w, 1, 99);
    as_walk_axis(&w, 3, 4);
    as_walk_axis(&w, 4, 1);
    expect_eq(w.rank, 1);
    expect_eq(w.count, 24);
    expect_eq(w.dim[0], 24);
    as_walk_axis(&w, 5, 0);
    expect_eq(w.rank, 2);
    expect_eq(w.count, 120);
}

Test(walk, runs_backwards_and_repeats_in_any_number_of_parts)
{
    const uint16_t x[3] = {10, 11, 12}, want[6] = {12, 12, 11, 11, 10, 10};
    for (int n_parts = 1; n_parts <= 3; n_parts++) {
        uint16_t y[6] = {0};
        as_walk  w = as_walk_new(2);
        as_walk_axis(&w, 3, -1);
        as_walk_axis(&w, 2, 0);
        for (int part = 0; part < n_parts; part++)
            as_walk_run(&w, sizeof *x, x, y, part, n_parts);
        expect(!memcmp(y, want, sizeof want));
    }
}

Test(walk, fills_with_elements_of_any_size)
{
    const uint8_t  byte = 7;
    const uint64_t wide = UINT64_C(0x0102030405060708);
    uint8_t        bytes[5] = {0};
    uint64_t       words[4] = {0};
    as_walk_fill(bytes, &byte, 1, 4);
    expect(bytes[3] == 7 && bytes[4] == 0);
    as_walk_fill(words, &wide, 8, 3);
    expect(words[0] == wide && words[2] == wide && words[3] == 0);
    as_walk_fill(words, &wide, 8, 0);
}

Test(gather_copy, a_wrong_index_ends_in_the_sentence_of_the_truth)
{
    assay_env *env;
    expect_ok(NULL, assay_env_new(&env));
    float          x[3] = {1, 2, 3}, y[2] = {0};
    int64_t        which[2] = {1, 3};
    as_tensor_info in[2] = {{.dtype = AS_F32, .shape = AS_SHAPE(3)}, {.dtype = AS_I64, .shape = AS_SHAPE(2)}};
    as_tensor_info out = {.dtype = AS_F32, .shape = AS_SHAPE(2)};
    as_view        views[2] = {as_view_of(x, AS_F32, &in[0].shape), as_view_of(which, AS_I64, &in[1].shape)};
    as_view        y_view = as_view_of(y, AS_F32, &out.shape);
    as_node_ctx    n = {.op = as_op_find("Gather"), .name = "rows", .in = in, .n_in = 2, .out = &out, .n_out = 1};
    assay_status   status = ASSAY_OK;
    as_kernel_args args = {.ctx = &n, .in = views, .out = &y_view, .env = env, .status = &status};
    as_k_gather_copy.run(&args, 1, 2, NULL);
    expect(status == ASSAY_OK); /* only part 0 reports it */
    as_k_gather_copy.run(&args, 0, 2, NULL);
    expect(status != ASSAY_OK);
    expect_has(assay_message(env), "indices[1] is 3, outside of [-3, 3)");
    which[1] = -1;
    status = ASSAY_OK;
    for (int part = 0; part < 2; part++)
        as_k_gather_copy.run(&args, part, 2, NULL);
    expect(status == ASSAY_OK && y[0] == 2.0f && y[1] == 3.0f);
    assay_env_free(env);
}
