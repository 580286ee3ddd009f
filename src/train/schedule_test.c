/* schedule_test.c - rates against their closed forms, and texts that cannot be read. */
#include "train/schedule.h"

#include "tests/runner/test.h"

static assay_env *env;

static void start(void) { expect_eq(assay_env_new(&env), ASSAY_OK); }
static void end(void) { assay_env_free(env); }

enum { TOTAL = 1000, EPOCH = 50 };
#define BASE 0.1

static double rate(const char *text, int64_t step)
{
    as_schedule s;
    expect_ok(env, as_schedule_parse(env, text, &s));
    return as_schedule_rate(&s, &(as_schedule_at){.step = step, .total = TOTAL, .steps_per_epoch = EPOCH, .base = BASE});
}

Test(schedule, each_piece_is_its_closed_form)
{
    start();
    for (int64_t s = 0; s < TOTAL; s += 37) {
        double share = (double)s / TOTAL, e = (double)s / EPOCH;
        expect_near(rate("constant", s), BASE, 0);
        expect_near(rate("linear 0.01", s), BASE + (0.01 - BASE) * share, 1e-15);
        expect_near(rate("linear", s), BASE * (1 - share), 1e-15);
        expect_near(rate("cosine 1e-5", s), 1e-5 + 0.5 * (BASE - 1e-5) * (1 + cos(M_PI * share)), 1e-15);
        expect_near(rate("decay 0.02", s), 0.02 + 0.08 * (1 - sqrt(share)), 1e-15);
        expect_near(rate("step 3 0.1", s), BASE * pow(0.1, floor(e / 3)), 1e-15);
        expect_near(rate("step 200s 0.5", s), BASE * pow(0.5, (double)(s / 200)), 1e-15);
        expect_near(rate("exponential 0.95", s), BASE * pow(0.95, e), 1e-15);
        expect_near(rate("restarts 100", s), 0.5 * BASE * (1 + cos(M_PI * (double)(s % 100) / 100)), 1e-15);
    }
    end();
}

Test(schedule, a_warm_up_wastes_no_step_and_ends_at_the_rate)
{
    start();
    for (int64_t s = 0; s < 200; s++)
        expect_near(rate("warmup 200 > cosine 1e-5", s), BASE * (double)(s + 1) / 200, 1e-15);
    for (int64_t s = 200; s < TOTAL; s += 13)
        expect_near(rate("warmup 200 > cosine 1e-5", s),
                    1e-5 + 0.5 * (BASE - 1e-5) * (1 + cos(M_PI * (double)(s - 200) / (TOTAL - 200))), 1e-15);
    expect_near(rate("warmup 10%", 49), BASE * 0.5, 1e-15);
    expect_near(rate("warmup 2e > constant", 49), BASE * 0.5, 1e-15);
    end();
}

Test(schedule, restarts_grow)
{
    start();
    expect_near(rate("restarts 100 2 0.01", 0), BASE, 1e-15);
    expect_near(rate("restarts 100 2 0.01", 50), 0.055, 1e-15);
    expect_near(rate("restarts 100 2 0.01", 100), BASE, 1e-15);
    expect_near(rate("restarts 100 2 0.01", 200), 0.055, 1e-15);
    expect_near(rate("restarts 100 2 0.01", 300), BASE, 1e-15);
    expect_near(rate("restarts 100 2 0.01", 500), 0.055, 1e-15);
    end();
}

Test(schedule, pieces_follow_one_another_and_each_begins_where_the_last_ended)
{
    start();
    const char *stable = "warmup 100 > stable 0.8 > decay 0";
    expect_near(rate(stable, 49), BASE / 2, 1e-15);
    expect_near(rate(stable, 100), BASE, 0);
    expect_near(rate(stable, 799), BASE, 0);
    expect_near(rate(stable, 850), BASE * (1 - sqrt(0.25)), 1e-15);
    const char *three = "constant for 20% > linear 0.05 for 200 > step 2 0.5 for 4e > constant";
    expect_near(rate(three, 199), BASE, 0);
    expect_near(rate(three, 300), 0.075, 1e-15);
    expect_near(rate(three, 400), 0.05, 1e-15);
    expect_near(rate(three, 499), 0.05, 1e-15);
    expect_near(rate(three, 500), 0.025, 1e-15);
    expect_near(rate(three, 600), 0.0125, 1e-15);
    expect_near(rate(three, 999), 0.0125, 1e-15);
    /* After a last piece with a length, its end stays. */
    expect_near(rate("linear 0.02 for 100", 500), 0.02, 1e-15);
    end();
}

/* The rule of PyTorch's ReduceLROnPlateau(factor=0.1, patience=2, threshold=1e-4): reduced at the third evaluation in a row that is not
 * better. */
Test(schedule, a_plateau_cuts_when_patience_ends)
{
    static const double losses[] = {1.0, 0.9, 0.9, 0.89995, 0.95, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8};
    static const int    cuts[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3};
    as_schedule_loss    history[AS_COUNT(losses)];
    as_schedule         s, late;
    start();
    expect_ok(env, as_schedule_parse(env, "plateau 0.1 2", &s));
    expect_ok(env, as_schedule_parse(env, "warmup 300 > plateau 0.5 2 0.03", &late));
    expect(as_schedule_wants_losses(&s) && as_schedule_wants_losses(&late));
    for (int i = 0; i < (int)AS_COUNT(losses); i++) {
        history[i] = (as_schedule_loss){(i + 1) * EPOCH, losses[i]};
        as_schedule_at at = {
            .step = (i + 1) * EPOCH, .total = TOTAL, .steps_per_epoch = EPOCH, .base = BASE, .losses = history, .n_losses = i + 1};
        expect_near(as_schedule_rate(&s, &at), BASE * pow(0.1, cuts[i]), 1e-15);
    }
    as_schedule_at at = {.step = 600, .total = TOTAL, .steps_per_epoch = EPOCH, .base = BASE, .losses = history, .n_losses = 12};
    /* Only what was measured in the piece counts: six equal losses after step 300, which has two cuts, and 0.025 is below the floor. */
    expect_near(as_schedule_rate(&late, &at), 0.05, 1e-15);
    history[11].loss = 0.8;
    at.step = 700;
    as_schedule_loss more[16];
    memcpy(more, history, sizeof history);
    for (int i = 12; i < 16; i++)
        more[i] = (as_schedule_loss){(i + 1) * EPOCH, 0.8};
    at.losses = more;
    at.n_losses = 16;
    expect_near(as_schedule_rate(&late, &at), 0.03, 1e-15);
    expect_ok(env, as_schedule_parse(env, "cosine", &s));
    expect(!as_schedule_wants_losses(&s));
    end();
}

Test(schedule, the_same_step_has_the_same_rate_whatever_came_before)
{
    start();
    double late = rate("warmup 5% > restarts 10e 2 1e-4", 777);
    for (int64_t s = 0; s < 10; s++)
        rate("warmup 5% > restarts 10e 2 1e-4", s);
    expect(late == rate("warmup 5% > restarts 10e 2 1e-4", 777));
    end();
}

Test(schedule, what_cannot_be_read_is_said)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "schedule: a piece is empty"},
        {"warmup 200 >", "schedule: a piece is empty"},
        {"cosinus 0",
         "schedule: unknown piece \"cosinus\"; known: constant, warmup, stable, linear, cosine, decay, step, exponential, "
         "restarts, plateau"},
        {"warmup", "schedule: \"warmup\" has 0 numbers; write: warmup LENGTH"},
        {"step 30", "has 1 numbers; write: step EVERY FACTOR"},
        {"cosine 0 1 2", "has 3 numbers; write: cosine [FLOOR]"},
        {"warmup soon",
         "schedule: the length of \"warmup\" is \"soon\" and must be a number of steps (200), epochs (5e) or a share (20%)"},
        {"warmup 0", "the length of \"warmup\" is \"0\""},
        {"warmup 1.5", "the length of \"warmup\" is \"1.5\""},
        {"warmup 120%", "the length of \"warmup\" is \"120%\""},
        {"cosine -1", "schedule: the floor of \"cosine\" is \"-1\" and must be a rate of at least 0"},
        {"exponential 1.5", "the factor of \"exponential\" is \"1.5\" and must be more than 0 and at most 1"},
        {"plateau 0.1 2.5", "the patience of \"plateau\" is \"2.5\" and must be a whole number of evaluations"},
        {"restarts 10 0.5", "the growth of \"restarts\" is \"0.5\" and must be at least 1"},
        {"stable 200s", "the end of \"stable\" is \"200s\" and must be a share of the whole run, as 0.8 or 80%"},
        {"cosine 0 > constant", "schedule: \"cosine 0 \" lasts until the end, and a piece follows; give it a length: \"for 20%\""},
        {"cosine 0 for", "\"cosine ... for\" has no length"},
        {"warmup 10 for 20", "\"warmup\" has its own length and takes no \"for\""},
        {"warmup 60% > linear 0 for 50%", "last longer than 100 % of the run"},
        {"constant for 1 > constant for 1 > constant for 1 > constant for 1 > constant for 1 > constant for 1 > constant for 1 > "
         "constant for 1 > constant",
         "has more than 8 pieces"},
    };
    as_schedule s = {.n_pieces = 7};
    start();
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        expect_fails(env, as_schedule_parse(env, bad[i].text, &s), ASSAY_BAD_INPUT, bad[i].part);
        expect_eq(s.n_pieces, 7);
    }
    end();
}
