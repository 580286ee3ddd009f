/* recurrent_lengths_test.c - LSTM, GRU and RNN over sequences of different lengths, in their kernels. */
#include "plan/test_fixture.h"

enum { STEPS = 7, BATCH = 5, IN = 3, HIDDEN = 20 };

typedef struct cell {
    const char *op, *direction;
    int         gates, directions, states;
} cell;

static int input_of(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape)
{
    as_dims dims;
    as_dims_of_shape(shape, &dims);
    return as_maker_input(m, name, dtype, &dims);
}

static void cell_open(fixture *f, const cell *c, int64_t steps, int64_t batch, bool lengths)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       in[5] = {input_of(m, "x", AS_F32, &AS_SHAPE(steps, batch, IN)), 0, 0, 0, -1}, outs[3];
    in[1] = as_maker_param_random(m, "w", &AS_SHAPE(c->directions, c->gates * HIDDEN, IN), IN);
    in[2] = as_maker_param_random(m, "r", &AS_SHAPE(c->directions, c->gates * HIDDEN, HIDDEN), HIDDEN);
    in[3] = as_maker_param_random(m, "b", &AS_SHAPE(c->directions, 2 * c->gates * HIDDEN), HIDDEN);
    if (lengths)
        in[4] = input_of(m, "lengths", AS_I32, &AS_SHAPE(batch));
    as_attr attrs[] = {AS_ATTR_I("hidden_size", HIDDEN), AS_ATTR_S("direction", c->direction)};
    as_maker_node(m, c->op, "cell", in, 5, attrs, 2, outs, 1 + c->states, NULL);
    for (int i = 0; i <= c->states; i++)
        as_maker_output(m, outs[i]);
    expect_ok(f->env, as_maker_finish(m, &f->model));
    fixture_plan(f);
    fixture_instance(f);
    for (int s = 0; s < f->plan->n_steps; s++)
        expect(!f->plan->steps[s].choice.slow);
}

static const cell cells[] = {{"LSTM", "forward", 4, 1, 2},
                             {"LSTM", "bidirectional", 4, 2, 2},
                             {"GRU", "reverse", 3, 1, 1},
                             {"GRU", "bidirectional", 3, 2, 1},
                             {"RNN", "bidirectional", 1, 2, 1}};

/* A sequence of a length has the bits of one that is no longer. */
Test(recurrent_lengths, each_sequence_is_what_it_is_alone)
{
    static const int32_t lengths[BATCH] = {7, 7, 2, 0, 5};
    for (size_t k = 0; k < AS_COUNT(cells); k++) {
        const cell *c = &cells[k];
        fixture     all;
        cell_open(&all, c, STEPS, BATCH, true);
        as_view given = as_instance_input(all.instance, 1), x = as_instance_input(all.instance, 0);
        memcpy(given.data, lengths, sizeof lengths);
        fixture_step(&all);
        for (int b = 0; b < BATCH; b++) {
            const float *y = as_instance_output(all.instance, 0).data;
            const int    width = c->directions * BATCH * HIDDEN;
            for (int t = lengths[b]; t < STEPS; t++)
                for (int d = 0; d < c->directions; d++)
                    for (int i = 0; i < HIDDEN; i++)
                        expect(y[t * width + (d * BATCH + b) * HIDDEN + i] == 0.0f);
            if (!lengths[b])
                continue;
            fixture one;
            cell_open(&one, c, lengths[b], 1, false);
            float *alone = as_instance_input(one.instance, 0).data;
            for (int t = 0; t < lengths[b]; t++)
                memcpy(alone + t * IN, (const float *)x.data + (t * BATCH + b) * IN, IN * sizeof *alone);
            fixture_step(&one);
            const float *want = as_instance_output(one.instance, 0).data;
            for (int t = 0; t < lengths[b]; t++)
                for (int d = 0; d < c->directions; d++)
                    expect(!memcmp(y + t * width + (d * BATCH + b) * HIDDEN, want + (t * c->directions + d) * HIDDEN,
                                   HIDDEN * sizeof *want));
            for (int s = 1; s <= c->states; s++)
                for (int d = 0; d < c->directions; d++)
                    expect(!memcmp((const float *)as_instance_output(all.instance, s).data + (d * BATCH + b) * HIDDEN,
                                   (const float *)as_instance_output(one.instance, s).data + d * HIDDEN, HIDDEN * sizeof *want));
            fixture_close(&one);
        }
        fixture_close(&all);
    }
}

Test(recurrent_lengths, a_length_that_cannot_be_is_refused_by_name)
{
    static const int32_t wrong[][BATCH] = {{7, 8, 2, 0, 5}, {7, 7, 2, -1, 5}};
    for (int i = 0; i < 2; i++) {
        fixture f;
        cell_open(&f, &cells[0], STEPS, BATCH, true);
        as_view given = as_instance_input(f.instance, 1);
        memcpy(given.data, wrong[i], sizeof wrong[i]);
        expect_fails(f.env, as_instance_step(AS_RUN(f.env), f.instance), ASSAY_BAD_INPUT,
                     i ? "sequence_lens[3] is -1, outside of 0 to 7" : "sequence_lens[1] is 8, outside of 0 to 7");
        fixture_close(&f);
    }
}
