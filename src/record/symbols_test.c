/* symbols_test.c */
#include "record/symbols.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plugs.h"
#include "tests/runner/test.h"

typedef struct fixture {
    assay_env   *env;
    assay_trace *trace;
    as_symbols  *symbols;
} fixture;

static void begin(fixture *x)
{
    expect_eq(assay_env_new(&x->env), ASSAY_OK);
    expect_eq(as_trace_new(x->env, &x->trace), ASSAY_OK);
    x->symbols = as_symbols_new(x->env);
    expect(x->symbols != NULL);
}

static void end(fixture *x)
{
    as_symbols_free(x->symbols);
    assay_trace_free(x->trace);
    assay_env_free(x->env);
}

static const as_trace_frame *frame_at(fixture *x, pid_t pid, uint64_t address)
{
    int stack = as_symbols_stack(x->symbols, x->trace, pid, &address, 1, true, NULL);
    expect(stack >= 0);
    return &x->trace->frames[x->trace->stacks[stack].frame];
}

Test(symbols, a_mapping_hides_what_was_there_before)
{
    fixture x;
    begin(&x);
    expect(as_symbols_map(x.symbols, 5, 0x1000, 0x5000, 0, "/no/such/outer"));
    expect(as_symbols_map(x.symbols, 5, 0x2000, 0x3000, 0, "/no/such/inner"));
    expect_str(frame_at(&x, 5, 0x1fff)->object, "outer");
    expect_str(frame_at(&x, 5, 0x2000)->object, "inner");
    expect_str(frame_at(&x, 5, 0x2fff)->object, "inner");
    expect_str(frame_at(&x, 5, 0x3000)->object, "outer");
    expect_str(frame_at(&x, 5, 0x5000)->object, "");
    expect(as_symbols_map(x.symbols, 5, 0x0, 0x9000, 0, "/no/such/all"));
    expect_str(frame_at(&x, 5, 0x2800)->object, "all");
    expect_str(frame_at(&x, 5, 0x4fff)->object, "all");
    expect_str(frame_at(&x, 5, 0x4fff)->name, AS_SYMBOL_UNKNOWN);
    end(&x);
}

Test(symbols, a_child_has_its_parents_mappings_until_it_is_another_program)
{
    fixture x;
    begin(&x);
    expect(as_symbols_map(x.symbols, 5, 0x1000, 0x5000, 0, "/no/such/parent"));
    as_symbols_fork(x.symbols, 5, 6);
    expect_str(frame_at(&x, 6, 0x1000)->object, "parent");
    as_symbols_exec(x.symbols, 6);
    expect_str(frame_at(&x, 6, 0x1004)->object, "");
    end(&x);
}

Test(symbols, the_same_addresses_are_the_same_stack)
{
    fixture  x;
    uint64_t addresses[] = {0x1010, 0x1020, 0x1030};
    begin(&x);
    expect(as_symbols_map(x.symbols, 5, 0x1000, 0x5000, 0, "/no/such/program"));
    int a = as_symbols_stack(x.symbols, x.trace, 5, addresses, 3, true, NULL);
    expect_eq(as_symbols_stack(x.symbols, x.trace, 5, addresses, 3, true, NULL), a);
    expect_eq(x.trace->n_stacks, 3);
    end(&x);
}

/* A function of this very program, which is found by its own name where libdw is there. */
__attribute__((noinline, used)) int as_symbols_test_marker(int x);
int                                 as_symbols_test_marker(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

Test(symbols, a_function_of_this_program_is_found_by_its_name)
{
    fixture x;
    if (!as_sy_table[0])
        return; /* built without a reader of names */
    begin(&x);
    if (as_symbols_maps_of(x.symbols, getpid())) {
        const as_trace_frame *frame = frame_at(&x, getpid(), (uint64_t)(uintptr_t)&as_symbols_test_marker);
        expect_str(frame->name, "as_symbols_test_marker");
        expect(strstr(frame->file, "symbols_test.c") != NULL);
        expect(frame->line > 0);
    }
    end(&x);
}

Test(symbols, a_stack_is_unwound_by_the_tables_of_this_program)
{
    fixture  x;
    uint64_t addresses[64];
    bool     is_whole;
    if (!as_sy_table[0])
        return;
    begin(&x);
    if (as_symbols_maps_of(x.symbols, getpid())) {
        uint8_t         copy[4096] = {0};
        uint64_t        caller = (uint64_t)(uintptr_t)&as_symbols_test_marker + 4;
        as_thread_state at = {.ip = (uint64_t)(uintptr_t)&as_symbols_test_marker,
                              .sp = 0x7000,
                              .fp = 0,
                              .lr = caller,
                              .stack = copy,
                              .n_stack = sizeof copy};
        memcpy(copy, &caller,
               sizeof caller); /* at its first instruction the return address is on top of the stack, or in the link register */
        size_t n = as_symbols_unwind(x.symbols, getpid(), &at, addresses, 64, &is_whole);
        expect(n >= 2);
        expect_eq(addresses[1], caller);
    }
    end(&x);
}
