/* cache_model_test.c - the model of the caches: what it must say at its ends. */
#include <math.h>

#include "analysis/trace/cache_model.h"
#include "tests/runner/test.h"

static const as_limits machine = {.level = {{.name = "L1", .bytes = 32768}, {.name = "L2", .bytes = 1 << 20}, {.name = "DRAM"}},
                                  .n_levels = 3};

Test(cache_model, a_run_that_fits_into_the_first_level_misses_nothing)
{
    as_trace_step s = {
        .kernel = "add_f32_avx2", .bytes_read = 8192, .bytes_written = 4096, .flops = 1024, .working_set_bytes = 12288};
    as_cache_flow f;
    expect(as_cache_model_step(&machine, &s, 12288, 1, &f));
    expect_eq(f.n_levels, 2);
    expect_eq(f.accesses, 12288 / 32);
    expect_eq(as_cache_hit(&f, 0), 1);
    expect(isnan(as_cache_hit(&f, 1))); /* nothing reaches it */
    expect_eq(as_cache_hit_any(&f), 1);
}

Test(cache_model, a_stream_misses_once_per_line)
{
    as_trace_step s = {
        .kernel = "add_f32_scalar", .bytes_read = 32 << 20, .bytes_written = 0, .flops = 8 << 20, .working_set_bytes = 32 << 20};
    as_cache_flow f;
    expect(as_cache_model_step(&machine, &s, 64 << 20, 1, &f));
    expect_eq(as_cache_hit(&f, 0), 15.0 / 16); /* 4 of 64 bytes each */
    expect_eq(as_cache_hit(&f, 1), 0);
    s.kernel = "add_f32_avx512";
    expect(as_cache_model_step(&machine, &s, 64 << 20, 1, &f));
    expect_eq(as_cache_hit(&f, 0), 0); /* every access is a line */
}

Test(cache_model, a_product_reuses_what_it_has_read)
{
    uint64_t      n = 1024;
    as_trace_step s = {.kernel = "gemm_f32_avx2",
                       .bytes_read = 8 * n * n,
                       .bytes_written = 4 * n * n,
                       .flops = 2 * n * n * n,
                       .working_set_bytes = 12 * n * n};
    as_cache_flow f;
    expect(as_cache_model_step(&machine, &s, 12.0 * (double)(n * n), 1, &f));
    expect(as_cache_hit(&f, 0) > 0.5 && as_cache_hit(&f, 0) < 1);
    expect(as_cache_hit_any(&f) > as_cache_hit(&f, 0));
}

Test(cache_model, without_sizes_there_is_no_model)
{
    as_limits     none = {.n_levels = 0};
    as_trace_step s = {.kernel = "x", .bytes_read = 64};
    as_cache_flow f;
    expect(!as_cache_model_step(&none, &s, 64, 1, &f));
}
