/* gemm_test.c - products as the kernels see them: tiles of rows, shares, batches. */
#include "backend/cpu/product/gemm.h"

#include <string.h>

#include "tests/runner/test.h"

Test(gemm, tiles_cover_every_row_once_and_none_is_thin_unless_there_are_few_rows)
{
    for (int whole = 6; whole <= 12; whole += 6)
        for (int64_t m = 0; m <= 100; m++) {
            as_gemm_rows rows = as_gemm_rows_of(m, whole);
            int64_t      next = 0, row;
            for (int64_t t = 0; t < as_gemm_tiles(&rows); t++) {
                int height = as_gemm_tile(&rows, t, &row);
                expect_eq(row, next);
                expect(height >= (m < 4 ? 1 : m == 7 && whole == 6 ? 3 : 4) && height <= whole);
                next += height;
            }
            expect_eq(next, m);
            expect_eq(as_gemm_tile(&rows, as_gemm_tiles(&rows), &row), 0);
            expect_eq(row, m);
        }
}

Test(gemm, by_sixes_eight_rows_are_two_fours_and_thirteen_have_no_single_one)
{
    as_gemm_rows eight = as_gemm_rows_of(8, 6), thirteen = as_gemm_rows_of(13, 6);
    expect_eq(eight.n_whole, 0);
    expect(eight.n_rest == 2 && eight.rest[0] == 4 && eight.rest[1] == 4);
    expect_eq(thirteen.n_whole, 0);
    expect(thirteen.n_rest == 3 && thirteen.rest[0] == 5 && thirteen.rest[1] == 4 && thirteen.rest[2] == 4);
}

Test(gemm, by_twelves_thirteen_rows_are_seven_and_six_and_sixty_four_end_in_two_eights)
{
    as_gemm_rows thirteen = as_gemm_rows_of(13, 12), many = as_gemm_rows_of(64, 12), odd = as_gemm_rows_of(25, 12);
    expect_eq(thirteen.n_whole, 0);
    expect(thirteen.n_rest == 2 && thirteen.rest[0] == 7 && thirteen.rest[1] == 6);
    expect_eq(many.n_whole, 4);
    expect(many.n_rest == 2 && many.rest[0] == 8 && many.rest[1] == 8);
    expect_eq(odd.n_whole, 0);
    expect(odd.n_rest == 3 && odd.rest[0] == 9 && odd.rest[1] == 8 && odd.rest[2] == 8);
}

/* Every (batch, tile, panel) belongs to exactly one part. */
static void split_check(int64_t n_batches, int64_t n_tiles, int64_t n_panels, int n_parts, int64_t most_allowed)
{
    unsigned char taken[8 * 8 * 8] = {0};
    for (int part = 0; part < n_parts; part++) {
        as_gemm_part s = as_gemm_split(n_batches, n_tiles, n_panels, part, n_parts);
        expect((s.batch[1] - s.batch[0]) * (s.tile[1] - s.tile[0]) * (s.panel[1] - s.panel[0]) <= most_allowed);
        for (int64_t b = s.batch[0]; b < s.batch[1]; b++)
            for (int64_t t = s.tile[0]; t < s.tile[1]; t++)
                for (int64_t p = s.panel[0]; p < s.panel[1]; p++)
                    taken[(b * 8 + t) * 8 + p]++;
    }
    for (int64_t b = 0; b < 8; b++)
        for (int64_t t = 0; t < 8; t++)
            for (int64_t p = 0; p < 8; p++)
                expect_eq(taken[(b * 8 + t) * 8 + p], b < n_batches && t < n_tiles && p < n_panels);
}

Test(gemm, a_split_gives_every_tile_to_one_part_and_no_part_much_more_than_its_share)
{
    split_check(1, 8, 8, 1, 64);
    split_check(1, 8, 1, 4, 2);  /* tall: by rows */
    split_check(1, 1, 8, 4, 2);  /* wide: by columns */
    split_check(8, 1, 1, 4, 2);  /* many: by batch */
    split_check(1, 4, 4, 8, 2);  /* both ways */
    split_check(3, 5, 7, 6, 21); /* one batch each, then two */
    split_check(1, 1, 1, 7, 1);  /* more parts than work */
    split_check(2, 3, 5, 7, 6);
}

Test(gemm, a_split_cuts_columns_rather_than_rows_when_both_are_as_good)
{
    as_gemm_part s = as_gemm_split(1, 8, 8, 0, 2);
    expect_eq(s.tile[1], 8);
    expect_eq(s.panel[1], 4);
}

typedef struct node {
    as_node_ctx    ctx;
    as_tensor_info in[3], out[1];
} node;

static const as_node_ctx *node_make(node *n, const char *op, as_shape a, as_shape b, const as_attr *attrs, int n_attrs)
{
    *n = (node){.in = {{.dtype = AS_F32, .shape = a}, {.dtype = AS_F32, .shape = b}}};
    n->ctx = (as_node_ctx){
        .op = as_op_find(op), .name = "n", .attrs = attrs, .n_attrs = n_attrs, .in = n->in, .n_in = 2, .out = n->out, .n_out = 1};
    expect_ok(NULL, as_op_infer(NULL, &n->ctx, n->out));
    return &n->ctx;
}

Test(gemm, one_matrix_for_all_batches_makes_them_rows_of_one_product)
{
    node    n;
    as_gemm g = as_gemm_of(node_make(&n, "MatMul", AS_SHAPE(3, 2, 5, 8), AS_SHAPE(8, 3), NULL, 0));
    expect(g.m == 30 && g.k == 8 && g.n == 3 && g.n_batches == 1 && g.n_b == 1);
    expect(g.a_row == 8 && g.a_step == 1 && g.b_row == 3 && g.b_step == 1);
}

Test(gemm, batches_that_broadcast_find_their_matrices)
{
    node       n;
    as_gemm    g = as_gemm_of(node_make(&n, "MatMul", AS_SHAPE(2, 1, 3, 4), AS_SHAPE(3, 4, 5), NULL, 0));
    as_gemm_at fifth = as_gemm_batch(&g, 5), second = as_gemm_batch(&g, 2);
    expect(g.m == 3 && g.n_batches == 6 && g.n_b == 3);
    expect(fifth.a == 1 * 12 && fifth.b == 2 * 20 && fifth.y == 5 * 15);
    expect(second.a == 0 && second.b == 2 * 20 && second.y == 2 * 15);
}

Test(gemm, heads_are_found_where_they_lie)
{
    node          n;
    const as_attr attrs[] = {AS_ATTR_LIST("perm_a", 0, 2, 1, 3), AS_ATTR_LIST("perm_b", 0, 2, 3, 1),
                             AS_ATTR_LIST("perm_y", 0, 2, 1, 3)};
    as_gemm       g = as_gemm_of(node_make(&n, "assay.FusedMatMul", AS_SHAPE(2, 13, 3, 8), AS_SHAPE(2, 19, 3, 8), attrs, 3));
    as_gemm_at    at = as_gemm_batch(&g, 4);
    expect(g.m == 13 && g.k == 8 && g.n == 19 && g.n_batches == 6);
    expect(g.a_row == 24 && g.a_step == 1 && g.b_row == 1 && g.b_step == 24 && g.y_row == 3 * 19);
    expect(at.a == 13 * 24 + 8 && at.b == 19 * 24 + 8 && at.y == 13 * 57 + 19);
}

Test(gemm, transposed_operands_swap_their_steps_and_c_repeats_where_it_is_one)
{
    node          n;
    const as_attr attrs[] = {AS_ATTR_I("transA", 1), AS_ATTR_I("transB", 1), AS_ATTR_F("beta", 0.5)};
    node_make(&n, "Gemm", AS_SHAPE(9, 7), AS_SHAPE(4, 9), attrs, 3);
    n.in[2] = (as_tensor_info){.dtype = AS_F32, .shape = AS_SHAPE(7, 1)};
    n.ctx.n_in = 3;
    as_gemm g = as_gemm_of(&n.ctx);
    expect(g.m == 7 && g.k == 9 && g.n == 4);
    expect(g.a_row == 1 && g.a_step == 7 && g.b_row == 1 && g.b_step == 9);
    expect(g.has_c && g.c_row == 1 && g.c_step == 0 && g.beta == 0.5f && g.alpha == 1.0f);
}

Test(gemm, the_activation_of_a_fused_product_is_read)
{
    node          n;
    const as_attr attrs[] = {AS_ATTR_S("activation", "clip"), AS_ATTR_F("activation_alpha", -1.0),
                             AS_ATTR_F("activation_beta", 6.0)};
    as_gemm       g = as_gemm_of(node_make(&n, "assay.FusedGemm", AS_SHAPE(2, 3, 5), AS_SHAPE(5, 17), attrs, 3));
    expect(g.m == 6 && g.n == 17 && g.act.kind == AS_ACT_CLIP && g.act.alpha == -1.0 && g.act.beta == 6.0);
}
