/* isa_test.c */
#include <stdlib.h>

#include "backend/cpu/kernel.h"
#include "tests/runner/test.h"

Test(isa, a_mask_names_instruction_sets)
{
    assay_env *env;
    unsigned   mask = 99;
    expect_ok(NULL, assay_env_new(&env));
    expect_ok(env, as_isa_mask(env, "-avx2,-f16c", &mask));
    expect_eq(mask, AS_ISA_AVX2 | AS_ISA_F16C);
    expect_ok(env, as_isa_mask(env, "-neon", &mask));
    expect_eq(mask, AS_ISA_NEON);
    expect_ok(env, as_isa_mask(env, "-vnni,-dotprod", &mask));
    expect_eq(mask, AS_ISA_VNNI | AS_ISA_DOTPROD);
    expect_ok(env, as_isa_mask(env, NULL, &mask));
    expect_eq(mask, 0);
    expect_ok(env, as_isa_mask(env, "", &mask));
    expect_eq(mask, 0);
    assay_env_free(env);
}

Test(isa, a_mask_with_a_strange_word_is_refused_and_changes_nothing)
{
    assay_env *env;
    unsigned   mask = 99;
    expect_ok(NULL, assay_env_new(&env));
    expect_fails(env, as_isa_mask(env, "-avx3", &mask), ASSAY_BAD_INPUT, "unknown instruction set 'avx3'; did you mean 'avx2'?");
    expect_fails(env, as_isa_mask(env, "avx2", &mask), ASSAY_BAD_INPUT, "ASSAY_CPU is 'avx2': 'avx2' is not one of -avx2");
    expect_fails(env, as_isa_mask(env, "-avx2,,-f16c", &mask), ASSAY_BAD_INPUT, "'' is not one of");
    expect_fails(env, as_isa_mask(env, "-", &mask), ASSAY_BAD_INPUT, "'-' is not one of");
    expect_fails(env, as_isa_mask(env, "-avx2 ", &mask), ASSAY_BAD_INPUT, "'avx2 '");
    expect_fails(env, as_isa_mask(env, "-a-very-long-word-that-no-instruction-set-was-ever-called", &mask), ASSAY_BAD_INPUT,
                 "not one of");
    expect_eq(mask, 99);
    assay_env_free(env);
}

Test(isa, the_environment_takes_sets_away)
{
    unsetenv("ASSAY_CPU");
    unsigned all = as_isa_here();
    expect_eq(all, as_isa_cpu());
    setenv("ASSAY_CPU", "-avx2,-avx512,-neon,-f16c,-vnni,-dotprod", 1);
    expect_eq(as_isa_here(), AS_ISA_SCALAR);
    setenv("ASSAY_CPU", "-f16c", 1);
    expect_eq(as_isa_here(), all & ~(unsigned)AS_ISA_F16C);
    unsetenv("ASSAY_CPU");
}

Test(isa, sets_are_shown_by_name)
{
    char buf[64], small[6];
    expect_str(as_isa_show(AS_ISA_SCALAR, buf, sizeof buf), "scalar");
    expect_str(as_isa_show(AS_ISA_AVX2 | AS_ISA_F16C, buf, sizeof buf), "avx2 f16c");
    expect_str(as_isa_show(AS_ISA_AVX512 | AS_ISA_NEON, buf, sizeof buf), "avx512 neon");
    expect_str(as_isa_show(AS_ISA_AVX512 | AS_ISA_VNNI, buf, sizeof buf), "avx512 vnni");
    expect_str(as_isa_show(AS_ISA_NEON | AS_ISA_DOTPROD, buf, sizeof buf), "neon dotprod");
    expect_str(as_isa_show(AS_ISA_AVX512 | AS_ISA_NEON, small, sizeof small), "avx51");
}

Test(isa, the_cpu_has_a_name_without_blanks_at_its_ends)
{
    char   buf[96];
    size_t n = strlen(as_cpu_name(buf, sizeof buf));
    expect(n > 0);
    expect(buf[0] != ' ' && buf[n - 1] != ' ');
}
