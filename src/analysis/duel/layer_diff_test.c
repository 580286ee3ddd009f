/* layer_diff_test.c - layers are matched by what they compute, and the parts add up to the whole. */
#include "analysis/duel/layer_diff.h"

#include <math.h>

#include "tests/runner/test.h"

static double change(const as_layer_row *r) { return (isnan(r->b_ns) ? 0 : r->b_ns) - (isnan(r->a_ns) ? 0 : r->a_ns); }

static const as_layer_row *row_named(const as_layer_diff *d, const char *name)
{
    for (int i = 0; i < d->n_rows; i++)
        if (!strcmp(d->rows[i].name, name))
            return &d->rows[i];
    fail("there is no row %s", name);
    return NULL;
}

static void expect_sums(const as_layer_diff *d)
{
    double a = 0, b = 0, sum = 0;
    for (int i = 0; i < d->n_rows; i++) {
        a += isnan(d->rows[i].a_ns) ? 0 : d->rows[i].a_ns;
        b += isnan(d->rows[i].b_ns) ? 0 : d->rows[i].b_ns;
        sum += change(&d->rows[i]);
    }
    expect_near(a, d->whole.a_ns, 1e-9);
    expect_near(b, d->whole.b_ns, 1e-9);
    expect_near(sum, change(&d->whole), 1e-9);
}

#define SIDE(layers_, whole)                                                                                           \
    {                                                                                                                  \
        .name = "x", .layers = (layers_), .n_layers = (int)(sizeof(layers_) / sizeof *(layers_)), .whole_ns = (whole), \
        .per_items = 1                                                                                                 \
    }

Test(layer_diff, a_fused_step_stands_against_all_that_do_its_work)
{
    static const char *const fused[] = {"conv1", "relu1", "pool1"};
    as_layer_time            apart[] = {
                   {.name = "conv1", .ns = 60}, {.name = "relu1", .ns = 20}, {.name = "pool1", .ns = 10}, {.name = "fc", .ns = 8}};
    as_layer_time joined[] = {{.name = "conv1+relu+pool", .parts = fused, .n_parts = 3, .ns = 30}, {.name = "fc", .ns = 9}};
    as_layer_side a = SIDE(apart, 100), b = SIDE(joined, 40);
    as_arena      arena = {0};
    as_layer_diff d;
    expect(as_layer_diff_make(&arena, &a, &b, &d));
    expect_eq(d.n_rows, 3);
    expect_str(d.rows[0].name, "conv1+relu+pool");
    expect_near(d.rows[0].a_ns, 90, 1e-9);
    expect_near(d.rows[0].b_ns, 30, 1e-9);
    expect_near(row_named(&d, "outside of layers")->a_ns, 2, 1e-9);
    expect(d.rows[2].outside);
    expect_sums(&d);
    expect(as_layer_diff_make(&arena, &b, &a, &d)); /* the other way round */
    expect_str(d.rows[0].name, "conv1+relu+pool");
    expect_near(d.rows[0].b_ns, 90, 1e-9);
    expect_sums(&d);
    as_arena_drop(&arena);
}

Test(layer_diff, a_layer_without_a_counterpart_stands_alone)
{
    as_layer_time short_net[] = {{.name = "fc1", .ns = 50}, {.name = "fc2", .ns = 10}};
    as_layer_time long_net[] = {{.name = "fc1", .ns = 20}, {.name = "fc2", .ns = 10}, {.name = "fc3", .ns = 15}};
    as_layer_side a = SIDE(short_net, 61), b = SIDE(long_net, 47);
    as_arena      arena = {0};
    as_layer_diff d;
    expect(as_layer_diff_make(&arena, &a, &b, &d));
    expect_eq(d.n_rows, 4);
    expect(isnan(row_named(&d, "fc3")->a_ns));
    expect_near(change(row_named(&d, "fc3")), 15, 1e-9);
    expect_near(change(row_named(&d, "fc2")), 0, 1e-9);
    expect_sums(&d);
    as_arena_drop(&arena);
}

Test(layer_diff, parts_sum_to_the_whole_whatever_is_matched)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (unsigned seed = 1; seed < 200; seed++) {
        unsigned      random = seed * 2654435761u;
        as_layer_time layers[2][8];
        const char   *parts[2][8][3];
        as_layer_side sides[2];
        for (int s = 0; s < 2; s++) {
            int    n = (int)(random % 9);
            double sum = 0;
            for (int i = 0; i < n; i++) {
                random = random * 1664525u + 1013904223u;
                int n_parts = (int)(random >> 20) % 4;
                for (int k = 0; k < n_parts; k++)
                    parts[s][i][k] = names[(random >> (3 * k + 4)) % 8];
                layers[s][i] = (as_layer_time){
                    .name = names[(random >> 8) % 8], .parts = parts[s][i], .n_parts = n_parts, .ns = (double)(random % 1000)};
                sum += layers[s][i].ns;
            }
            sides[s] = (as_layer_side){.name = "x", .layers = layers[s], .n_layers = n, .whole_ns = sum + 7, .per_items = 1};
            random = random * 1664525u + 1013904223u;
        }
        as_arena      arena = {0};
        as_layer_diff d;
        expect(as_layer_diff_make(&arena, &sides[0], &sides[1], &d));
        expect_sums(&d);
        as_arena_drop(&arena);
    }
}

Test(layer_diff, the_interval_holds_the_difference_of_runs_that_vary)
{
    static const double a_each[] = {100, 104, 98, 102, 96, 100}, b_each[] = {120, 118, 122, 121, 119, 120};
    as_layer_time       x[] = {{.name = "fc", .ns = 100, .each = a_each}}, y[] = {{.name = "fc", .ns = 120, .each = b_each}};
    as_layer_side       a = SIDE(x, 100), b = SIDE(y, 120);
    as_arena            arena = {0};
    as_layer_diff       d;
    a.n_runs = b.n_runs = 6, a.whole_each = a_each, b.whole_each = b_each;
    expect(as_layer_diff_make(&arena, &a, &b, &d));
    expect(d.rows[0].lo > 15 && d.rows[0].lo < 20 && d.rows[0].hi > 20 && d.rows[0].hi < 25);
    expect_near(d.rows[1].lo, 0, 1e-9); /* nothing outside, in any run */
    expect_near(d.rows[1].hi, 0, 1e-9);
    as_arena_drop(&arena);
}
