/* wiring_test.c - the reference's wirings, synapse for synapse, and its errors. */
#include "model/wiring/wiring.h"

#include <stdio.h>

#include "tests/runner/test.h"

static assay_env *env;
static as_arena   arena;

static void begin(void)
{
    if (assay_env_new(&env) != ASSAY_OK)
        fail("no env");
    arena = (as_arena){0};
}

static void end(void)
{
    as_arena_drop(&arena);
    assay_env_free(env);
}

static as_wiring made(const char *text, int n_inputs)
{
    as_wiring_spec spec;
    as_wiring      w;
    expect_ok(env, as_wiring_parse(env, text, &spec));
    expect_ok(env, as_wiring_make(env, &spec, n_inputs, &arena, &w));
    return w;
}

Test(wiring, equals_the_reference_by_checksum)
{
    static const struct {
        const char *text;
        int         n_inputs, n_synapses, n_sensory;
        uint32_t    crc, sensory_crc;
    } goldens[] = {
        {"full:units=4,out=2", 3, 16, 12, 0x08a5f7ac, 0xb96d687d},
        {"full:units=32", 8, 1024, 256, 0x8c777f33, 0x229c07c8},
        {"random:units=5,out=2,sparsity=0.2,seed=42", 3, 20, 12, 0x19e759ee, 0x098a494f},
        {"random:units=50,sparsity=0.5", 8, 1250, 200, 0x9e38f034, 0xebba553f},
        {"random:units=100,sparsity=0.9", 8, 1000, 80, 0xf94b75aa, 0x5ebafd70},
        {"ncp:inter=10,command=10,motor=8,sensory_fanout=6,inter_fanout=6,recurrent_command=4,motor_fanin=6", 8, 112, 48,
         0x8b5ea26f, 0x24633dd6},
        {"autoncp:units=8,out=2", 3, 8, 6, 0x15ec8840, 0x6027ea3a},
        {"autoncp:units=16,out=4", 8, 28, 32, 0x71203084, 0x014f1a85},
        {"autoncp:units=28,out=4", 20, 84, 140, 0xcead8a63, 0x8215f2ae},
        {"autoncp:units=64,out=16", 8, 423, 112, 0x0b2b9210, 0xfd7d4205},
        {"autoncp:units=128,out=32", 8, 1748, 236, 0xcfab09ed, 0x52a7d90b},
        {"autoncp:units=50,out=10,sparsity=0.9", 8, 51, 28, 0xbc3898e8, 0x92e64464},
    };
    begin();
    for (size_t i = 0; i < AS_COUNT(goldens); i++) {
        as_wiring       w = made(goldens[i].text, goldens[i].n_inputs);
        as_wiring_facts f;
        expect_ok(env, as_wiring_measure(env, &w, &f));
        if (f.crc != goldens[i].crc || f.sensory_crc != goldens[i].sensory_crc)
            fail("%s: %08x %08x, expected %08x %08x", goldens[i].text, f.crc, f.sensory_crc, goldens[i].crc,
                 goldens[i].sensory_crc);
        expect_eq(as_wiring_synapses(&w), goldens[i].n_synapses);
        expect_eq(as_wiring_sensory_synapses(&w), goldens[i].n_sensory);
        expect_eq(f.internal.excitatory + f.internal.inhibitory, goldens[i].n_synapses);
        expect_eq(f.sensory.excitatory + f.sensory.inhibitory, goldens[i].n_sensory);
    }
    end();
}

Test(wiring, equals_the_reference_synapse_by_synapse)
{
    static const int internal[][3] = {{2, 0, 1}, {2, 1, -1}, {3, 0, -1}, {3, 2, 1}, {4, 3, -1}, {5, 2, -1}, {6, 2, -1}, {7, 2, -1}};
    static const int sensory[][3] = {{0, 4, -1}, {0, 7, -1}, {1, 5, 1}, {1, 6, 1}, {2, 5, -1}, {2, 6, -1}};
    begin();
    as_wiring w = made("autoncp:units=8,out=2", 3);
    int8_t    want[8][8] = {0}, want_sensory[3][8] = {0};
    for (size_t i = 0; i < AS_COUNT(internal); i++)
        want[internal[i][0]][internal[i][1]] = (int8_t)internal[i][2];
    for (size_t i = 0; i < AS_COUNT(sensory); i++)
        want_sensory[sensory[i][0]][sensory[i][1]] = (int8_t)sensory[i][2];
    expect(!memcmp(w.adjacency, want, sizeof want));
    expect(!memcmp(w.sensory, want_sensory, sizeof want_sensory));
    end();
}

Test(wiring, auto_gives_the_reference_numbers)
{
    static const struct {
        const char *text;
        int         inter, command, sensory, fanout, recurrent;
    } rows[] = {
        {"autoncp:units=8,out=2", 4, 2, 2, 1, 2},
        {"autoncp:units=28,out=4", 15, 9, 7, 4, 9},
        {"autoncp:units=64,out=16", 29, 19, 14, 9, 19},
        {"autoncp:units=50,out=10,sparsity=0.9", 24, 16, 2, 1, 3},
        {"autoncp:units=4,out=1,sparsity=1", 2, 1, 1, 1, 1},
    };
    begin();
    for (size_t i = 0; i < AS_COUNT(rows); i++) {
        as_wiring w = made(rows[i].text, 8);
        expect_eq(w.spec.inter, rows[i].inter);
        expect_eq(w.spec.command, rows[i].command);
        expect_eq(w.spec.sensory_fanout, rows[i].sensory);
        expect_eq(w.spec.inter_fanout, rows[i].fanout);
        expect_eq(w.spec.motor_fanin, rows[i].fanout);
        expect_eq(w.spec.recurrent_command, rows[i].recurrent);
    }
    end();
}

Test(wiring, numbers_neurons_motor_command_inter)
{
    begin();
    as_wiring w = made("ncp:inter=16,command=8,motor=4,sensory_fanout=4,inter_fanout=4,recurrent_command=3,motor_fanin=4", 6);
    int       ids[28];
    expect_eq(w.n_units, 28);
    expect_eq(w.n_out, 4);
    expect_eq(as_wiring_type(&w, 3), AS_NEURON_MOTOR);
    expect_eq(as_wiring_type(&w, 4), AS_NEURON_COMMAND);
    expect_eq(as_wiring_type(&w, 11), AS_NEURON_COMMAND);
    expect_eq(as_wiring_type(&w, 12), AS_NEURON_INTER);
    expect_eq(as_wiring_type(&w, 27), AS_NEURON_INTER);
    expect_eq(as_wiring_layer(&w, 0, ids), 16);
    expect_eq(ids[0], 12);
    expect_eq(ids[15], 27);
    expect_eq(as_wiring_layer(&w, 1, ids), 8);
    expect_eq(ids[0], 4);
    expect_eq(as_wiring_layer(&w, 2, ids), 4);
    expect_eq(ids[3], 3);
    expect_eq(as_wiring_layer(&w, 3, ids), 0);
    w = made("random:units=6,out=2", 1);
    expect_eq(w.n_layers, 1);
    expect_eq(as_wiring_layer(&w, 0, ids), 6);
    expect_eq(ids[5], 5);
    expect_eq(as_wiring_type(&w, 1), AS_NEURON_MOTOR);
    expect_eq(as_wiring_type(&w, 2), AS_NEURON_INTER);
    expect_eq(as_wiring_synapses(&w), 36);
    end();
}

Test(wiring, of_full_without_loops_has_an_empty_diagonal_and_every_other_synapse)
{
    begin();
    as_wiring w = made("full:units=7,self=0", 2);
    expect_eq(as_wiring_synapses(&w), 42);
    expect_eq(as_wiring_sensory_synapses(&w), 14);
    for (int i = 0; i < 7; i++)
        expect_eq(w.adjacency[i * 8], 0);
    end();
}

Test(wiring, rounds_halves_to_even)
{
    begin();
    expect_eq(as_wiring_synapses(&(as_wiring){0}), 0);
    as_wiring w = made("random:units=3,sparsity=0.5", 1); /* 4.5 and 1.5 */
    expect_eq(as_wiring_synapses(&w), 4);
    expect_eq(as_wiring_sensory_synapses(&w), 2);
    end();
}

Test(wiring, has_no_neuron_of_the_chain_left_out)
{
    begin();
    /* No fan-out at all: only the repairs make synapses. */
    as_wiring w = made("ncp:inter=5,command=4,motor=3,sensory_fanout=0,inter_fanout=0,recurrent_command=0,motor_fanin=0,seed=7", 2);
    as_wiring_facts f;
    expect_ok(env, as_wiring_measure(env, &w, &f));
    expect_eq(as_wiring_sensory_synapses(&w), 5);
    expect_eq(as_wiring_synapses(&w), 8);
    expect_eq(f.by_type[AS_NEURON_INTER][AS_NEURON_COMMAND].excitatory + f.by_type[AS_NEURON_INTER][AS_NEURON_COMMAND].inhibitory,
              4);
    expect_eq(f.by_type[AS_NEURON_COMMAND][AS_NEURON_MOTOR].excitatory + f.by_type[AS_NEURON_COMMAND][AS_NEURON_MOTOR].inhibitory,
              4);
    end();
}

Test(wiring, is_built_for_one_number_of_inputs)
{
    begin();
    as_wiring w = made("autoncp:units=16,out=4", 8);
    expect_ok(env, as_wiring_expect(env, &w, 8));
    expect_eq(as_wiring_synapses(&w), 28);
    expect_fails(env, as_wiring_expect(env, &w, 9), ASSAY_BAD_INPUT, "built for 8 inputs and cannot be built again for 9");
    expect_fails(env, as_wiring_expect(env, &(as_wiring){.spec.kind = AS_WIRING_NCP}, 9), ASSAY_BAD_INPUT, "not built yet");
    end();
}

#define NCP(rest_) "ncp:inter=10,command=6,motor=4,recurrent_command=4," rest_

Test(wiring, says_what_is_wrong_with_a_description)
{
    static const struct {
        const char  *text, *part;
        assay_status status;
    } bad[] = {
        {"", "unknown name", ASSAY_NOT_FOUND},
        {"autonpc:units=8", "did you mean 'autoncp'", ASSAY_NOT_FOUND},
        {"full", "'units' is missing", ASSAY_BAD_INPUT},
        {"full:", "not of the form key=value", ASSAY_BAD_INPUT},
        {"full:units", "'units' is not of the form key=value", ASSAY_BAD_INPUT},
        {"full:units=", "not of the form key=value", ASSAY_BAD_INPUT},
        {"full:=3", "not of the form key=value", ASSAY_BAD_INPUT},
        {"full:units=4,units=5", "'units' is given twice", ASSAY_BAD_INPUT},
        {"full:units=4,sparsity=0.5", "no key 'sparsity'; its keys: units, out, seed, self", ASSAY_BAD_INPUT},
        {"full:units=4x", "units=4x must be a whole number", ASSAY_BAD_INPUT},
        {"full:units=-4", "units=-4 must be a whole number", ASSAY_BAD_INPUT},
        {"full:units=0", "units=0 must be from 1", ASSAY_BAD_INPUT},
        {"full:units=9000000000", "units=9000000000 must be from 1 to 8192", ASSAY_BAD_INPUT},
        {"full:units=4,out=5", "out=5 must be from 1 to its 4 units", ASSAY_BAD_INPUT},
        {"full:units=4,out=0", "out=0 must be a whole number, 1 or more", ASSAY_BAD_INPUT},
        {"full:units=4,self=maybe", "self=maybe must be 0 or 1", ASSAY_BAD_INPUT},
        {"full:units=4,seed=-1", "seed=-1", ASSAY_BAD_INPUT},
        {"random:units=4,sparsity=1.0", "at least 0 and below 1", ASSAY_BAD_INPUT},
        {"random:units=4,sparsity=-0.1", "at least 0 and below 1", ASSAY_BAD_INPUT},
        {"random:units=4,sparsity=half", "sparsity=half is not a number", ASSAY_BAD_INPUT},
        {"random:units=4,sparsity=nan", "sparsity=nan", ASSAY_BAD_INPUT},
        {"random:units=4,self=1", "no key 'self'", ASSAY_BAD_INPUT},
        {"autoncp:units=10", "'out' is missing", ASSAY_BAD_INPUT},
        {"autoncp:units=10,out=9", "out=9 must be below units-2, which is 8", ASSAY_BAD_INPUT},
        {"autoncp:units=10,out=8", "out=8 must be below units-2", ASSAY_BAD_INPUT},
        {"autoncp:units=10,out=4,sparsity=0", "sparsity=0 must be from 0.1 to 1", ASSAY_BAD_INPUT},
        {"autoncp:units=10,out=4,sparsity=1.1", "must be from 0.1 to 1", ASSAY_BAD_INPUT},
        {"autoncp:units=10,out=4,seed=4294967296", "seed=4294967296 must be from 0 to 4294967295", ASSAY_BAD_INPUT},
        {"ncp:inter=10", "'command' is missing", ASSAY_BAD_INPUT},
        {NCP("sensory_fanout=6,inter_fanout=6,motor_fanin=7"), "motor_fanin=7 is more than the 6 command neurons", ASSAY_BAD_INPUT},
        {NCP("sensory_fanout=11,inter_fanout=6,motor_fanin=6"), "sensory_fanout=11 is more than the 10 inter neurons",
         ASSAY_BAD_INPUT},
        {NCP("sensory_fanout=6,inter_fanout=7,motor_fanin=6"), "inter_fanout=7 is more than the 6 command neurons",
         ASSAY_BAD_INPUT},
        {"ncp:inter=0,command=1,motor=1,sensory_fanout=0,inter_fanout=1,recurrent_command=0,motor_fanin=1", "inter=0 must be",
         ASSAY_BAD_INPUT},
        {"ncp:inter=1,command=0,motor=1,sensory_fanout=1,inter_fanout=0,recurrent_command=0,motor_fanin=0", "command=0 must be",
         ASSAY_BAD_INPUT},
        {"ncp:inter=1,command=1,motor=0,sensory_fanout=1,inter_fanout=1,recurrent_command=0,motor_fanin=1", "motor=0 must be",
         ASSAY_BAD_INPUT},
        {"ncp:inter=8000,command=100,motor=100,sensory_fanout=1,inter_fanout=1,recurrent_command=0,motor_fanin=1",
         "inter+command+motor=8200", ASSAY_BAD_INPUT},
        {"ncp:inter=3,command=3,motor=3,sensory_fanout=1,inter_fanout=1,recurrent_command=9999999999,motor_fanin=1",
         "recurrent_command=9999999999", ASSAY_BAD_INPUT},
    };
    begin();
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        as_wiring_spec spec = {.units = -77};
        assay_status   status = as_wiring_parse(env, bad[i].text, &spec);
        if (status != bad[i].status || !strstr(assay_message(env), bad[i].part))
            fail("'%s': status %d, \"%s\"; expected \"%s\"", bad[i].text, (int)status, assay_message(env), bad[i].part);
        expect_eq(spec.units, -77);
    }
    char long_text[600];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    as_wiring_spec spec;
    expect_fails(env, as_wiring_parse(env, long_text, &spec), ASSAY_BAD_INPUT, "599 characters is too long");
    end();
}

Test(wiring, says_what_is_wrong_with_a_number_of_inputs_or_a_spec_made_by_hand)
{
    begin();
    as_wiring_spec full = {.kind = AS_WIRING_FULL, .units = 1024},
                   ncp = {.kind = AS_WIRING_NCP, .inter = 2, .command = 2, .motor = 1, .inter_fanout = -1};
    as_wiring w = {.n_units = -5};
    expect_fails(env, as_wiring_make(env, &full, 0, &arena, &w), ASSAY_BAD_INPUT,
                 "0 inputs for 1024 units: there must be 1 to 262144");
    expect_fails(env, as_wiring_make(env, &full, 262145, &arena, &w), ASSAY_BAD_INPUT, "262145 inputs");
    expect_fails(env, as_wiring_make(env, &ncp, 4, &arena, &w), ASSAY_BAD_INPUT, "may not be negative");
    full.out = -1;
    expect_fails(env, as_wiring_make(env, &full, 4, &arena, &w), ASSAY_BAD_INPUT, "out=-1");
    expect_eq(w.n_units, -5);
    end();
}

/* --- As a graph --------------------------------------------------------------------------------------------- */

static as_graph_shape shape_of(int n, const int (*links)[2], size_t n_links)
{
    int8_t         cells[64] = {0};
    as_graph_shape shape;
    for (size_t i = 0; i < n_links; i++)
        cells[links[i][0] * n + links[i][1]] = 1;
    expect_ok(env, as_graph_measure(env, cells, n, &shape));
    return shape;
}

Test(wiring_graph, measures_chains_without_the_pairs_of_one_and_the_same)
{
    static const int chain[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
    begin();
    as_graph_shape five = shape_of(5, chain, 4), four = shape_of(4, chain, 3);
    expect_near(five.in.mean, 0.8, 1e-15);
    expect_near(five.out.mean, 0.8, 1e-15);
    expect_eq(five.in.min, 0);
    expect_eq(five.in.max, 1);
    expect_eq(five.n_weak, 1);
    expect_eq(five.n_strong, 5);
    expect_near(four.path_mean, 5.0 / 3, 1e-15);
    expect_eq(four.path_max, 3);
    expect_eq(four.n_pairs, 6);
    end();
}

Test(wiring_graph, counts_two_cycles_as_two_components)
{
    static const int cycles[][2] = {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}};
    begin();
    as_graph_shape shape = shape_of(6, cycles, 6);
    expect_eq(shape.n_weak, 2);
    expect_eq(shape.n_strong, 2);
    expect_near(shape.path_mean, 1.5, 1e-15);
    expect_eq(shape.n_pairs, 12);
    end();
}

Test(wiring_graph, of_lone_neurons_has_no_path)
{
    static const int loop[][2] = {{0, 0}};
    begin();
    as_graph_shape shape = shape_of(3, loop, 1);
    expect_eq(shape.n_weak, 3);
    expect_eq(shape.n_strong, 3);
    expect_eq(shape.n_pairs, 0);
    expect_near(shape.path_mean, 0, 0);
    expect_eq(shape.in.max, 1);
    expect_eq(shape.out.max, 1);
    end();
}

Test(wiring_graph, works_beyond_one_word_of_bits)
{
    enum { N = 130 };
    static int8_t  ring[N * N];
    as_graph_shape shape;
    begin();
    for (int i = 0; i < N; i++)
        ring[i * N + (i + 1) % N] = -1;
    expect_ok(env, as_graph_measure(env, ring, N, &shape));
    expect_eq(shape.n_strong, 1);
    expect_eq(shape.path_max, N - 1);
    expect_eq(shape.n_pairs, N * (N - 1));
    expect_near(shape.path_mean, N / 2.0, 1e-12);
    end();
}

Test(wiring_graph, tells_types_and_signs_apart)
{
    begin();
    as_wiring       w = made("autoncp:units=8,out=2", 3);
    as_wiring_facts f;
    expect_ok(env, as_wiring_measure(env, &w, &f));
    expect_eq(f.by_type[AS_NEURON_COMMAND][AS_NEURON_MOTOR].excitatory, 1);
    expect_eq(f.by_type[AS_NEURON_COMMAND][AS_NEURON_MOTOR].inhibitory, 2);
    expect_eq(f.by_type[AS_NEURON_COMMAND][AS_NEURON_COMMAND].excitatory, 1);
    expect_eq(f.by_type[AS_NEURON_INTER][AS_NEURON_COMMAND].inhibitory, 4);
    expect_eq(f.by_type[AS_SOURCE_SENSORY][AS_NEURON_INTER].excitatory, 2);
    expect_eq(f.by_type[AS_SOURCE_SENSORY][AS_NEURON_INTER].inhibitory, 4);
    expect_eq(f.sensory_out.min, 2);
    expect_eq(f.sensory_out.max, 2);
    expect_eq(f.sensory_in.min, 0);
    expect_near(f.sensory_in.mean, 0.75, 0);
    expect_eq(f.neurons.out.min, 0);
    expect_eq(f.neurons.in.max, 4);
    end();
}
