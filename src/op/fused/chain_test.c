/* chain_test.c - every reason for which a program is refused. */
#include "op/fused/chain.h"

#include "tests/runner/test.h"

static void refused(const int64_t *program, size_t n_program, const double *constants, size_t n_constants, int n_in,
                    const char *sentence)
{
    as_tensor_info in[9], out;
    assay_env     *env;
    as_attr        attrs[2] = {{.name = "program", .kind = AS_ATTR_INTS, .ints = program, .n = n_program},
                               {.name = "constants", .kind = AS_ATTR_FLOATS, .floats = constants, .n = n_constants}};
    as_node_ctx    n = {
           .op = as_op_find("assay.Chain"), .name = "c", .attrs = attrs, .n_attrs = 2, .in = in, .n_in = n_in, .n_out = 1};
    for (int i = 0; i < n_in; i++)
        in[i] = (as_tensor_info){.dtype = AS_F32, .shape = AS_SHAPE(4)};
    expect_ok(NULL, assay_env_new(&env));
    expect_fails(env, as_op_infer(env, &n, &out), ASSAY_BAD_INPUT, sentence);
    assay_env_free(env);
}

#define REFUSED(sentence_, ...) \
    refused((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8, (const double[]){1.0}, 1, 2, sentence_)

Test(chain, a_malformed_program_is_refused_with_a_sentence)
{
    int64_t many[33 * 4] = {0};
    double  constants[65] = {0};
    refused(many, 0, constants, 1, 2, "program has 0 numbers and must have four for each of 1 to 32 instructions");
    refused(many, 33 * 4, constants, 1, 2, "program has 132 numbers");
    refused(many, 4, constants, 65, 2, "it has 65 constants, more than 64");
    REFUSED("program has 3 numbers", AS_CHAIN_ADD, 0, 1);
    REFUSED("instruction 0 has the unknown opcode 38", AS_N_CHAIN_OPS, 0, 1, 0);
    REFUSED("instruction 0 has the unknown opcode -1", -1, 0, 1, 0);
    REFUSED("instruction 0, add, has b = 2, where 2 values and 1 constants are there", AS_CHAIN_ADD, 0, 2, 0);
    REFUSED("instruction 1, exp, has a = 3, where 3 values", AS_CHAIN_ADD, 0, 1, 0, AS_CHAIN_EXP, 3, 0, 0);
    REFUSED("instruction 0, sub, has a = -2, where", AS_CHAIN_SUB, -2, 1, 0);
    REFUSED("instruction 0, exp, has b = 1, which it does not take", AS_CHAIN_EXP, 0, 1, 0);
    REFUSED("instruction 0, clip, has c = 1, which must be a constant", AS_CHAIN_CLIP, 0, -1, 1);
    REFUSED("instruction 0, elu, has b = 0, which must be a constant", AS_CHAIN_ELU, 0, 0, 0);
    REFUSED("has a = 4611686018427387904", AS_CHAIN_NEG, 4611686018427387904, 0, 0);
}

Test(chain, constants_are_found_again_by_their_bits_and_end_at_the_limit)
{
    as_chain c = {0};
    expect_eq(as_chain_constant(&c, 0.0), -1);
    expect_eq(as_chain_constant(&c, -0.0), -2);
    expect_eq(as_chain_constant(&c, 0.0), -1);
    for (int i = 2; i < AS_CHAIN_MAX_CONSTANTS; i++)
        expect_eq(as_chain_constant(&c, i), -1 - i);
    expect_eq(as_chain_constant(&c, 99.5), 0);
    expect_eq(c.n_constants, AS_CHAIN_MAX_CONSTANTS);
}

Test(chain, a_nan_wins_in_max_and_min)
{
    as_chain c = {.n_in = 2, .n_steps = 1, .step = {{AS_CHAIN_MAX, 0, 1, 0}}};
    expect(isnan(as_chain_apply(&c, (const double[]){NAN, 1.0})));
    expect(isnan(as_chain_apply(&c, (const double[]){1.0, NAN})));
    c.step[0].op = AS_CHAIN_MIN;
    expect(isnan(as_chain_apply(&c, (const double[]){NAN, 1.0})));
    expect(isnan(as_chain_apply(&c, (const double[]){1.0, NAN})));
    expect_near(as_chain_apply(&c, (const double[]){1.0, -2.0}), -2.0, 0.0);
}
