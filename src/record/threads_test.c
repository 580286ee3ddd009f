/* threads_test.c */
#include "record/threads.h"

#include "tests/runner/test.h"

typedef struct fixture {
    assay_env   *env;
    as_recording r;
    as_threads   all;
} fixture;

static void begin(fixture *x)
{
    *x = (fixture){0};
    expect_eq(assay_env_new(&x->env), ASSAY_OK);
    expect_eq(as_trace_new(x->env, &x->r.trace), ASSAY_OK);
    x->r.env = x->env;
    x->r.trace->start_ticks = 1000;
    x->r.symbols = as_symbols_new(x->env);
}

static void end(fixture *x)
{
    as_threads_drop(&x->all);
    as_symbols_free(x->r.symbols);
    as_record_lanes_drop(&x->r);
    assay_trace_free(x->r.trace);
    assay_env_free(x->env);
}

Test(threads, time_is_running_or_queueing_or_waiting_and_sums_to_the_whole)
{
    fixture x;
    begin(&x);
    as_thread *a = as_threads_take(&x.all, 7, 7, 1000), *b = as_threads_take(&x.all, 7, 8, 1000);
    expect(as_thread_turn(&x.r, &x.all, a, AS_THREAD_WAITS, 1100));  /* b runs on */
    expect(as_thread_turn(&x.r, &x.all, b, AS_THREAD_QUEUES, 1300)); /* none runs, one could */
    expect(as_thread_turn(&x.r, &x.all, b, AS_THREAD_RUNS, 1350));
    expect(as_thread_turn(&x.r, &x.all, b, AS_THREAD_WAITS, 1400)); /* all wait */
    expect(as_thread_turn(&x.r, &x.all, a, AS_THREAD_RUNS, 1900));
    expect(as_threads_flush(&x.r, &x.all, 2000, true));
    expect_eq(x.all.busy_ns, 300 + 50 + 100);
    expect_eq(x.all.starved_ns, 50);
    expect_eq(x.all.asleep_ns, 500);
    expect_eq(x.all.queued_ns, 50);
    expect_eq(x.all.waited_ns, 800 + 600);
    end(&x);
}

Test(threads, waiting_at_one_stack_is_one_look)
{
    fixture x;
    begin(&x);
    as_thread *a = as_threads_take(&x.all, 7, 7, 1000);
    for (uint64_t i = 0; i < 10; i++) {
        expect(as_thread_turn(&x.r, &x.all, a, AS_THREAD_WAITS, 1000 + 20 * i));
        expect(as_thread_turn(&x.r, &x.all, a, AS_THREAD_RUNS, 1010 + 20 * i));
    }
    expect(as_threads_flush(&x.r, &x.all, 1200, false));
    expect_eq(x.r.trace->n_looks, 1);
    expect_eq(x.r.trace->looks[0].weight_ns, 100);
    expect_eq(x.r.trace->looks[0].state, AS_STACK_OFF_CPU);
    end(&x);
}
