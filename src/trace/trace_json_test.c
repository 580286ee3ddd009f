/* trial_test.c - the record of a trial: its memory, its JSON written and read back, and everything that a reader must refuse. */
#include "trace/trace_json.h"

#include <stdlib.h>

#include "tests/runner/test.h"

static assay_env *fake_env(void)
{
    static assay_env env;
    env = (assay_env){0};
    as_clock_open_fake(&env.clock, 1000);
    return &env;
}

/* Two candidates in three rounds over two launches, two samples per block, with unknown and with the largest values. */
static assay_trace *small_trial(assay_env *env)
{
    assay_trace *t;
    expect_ok(env, as_trace_new_arms(env, "matmul/64", 2, &t));
    expect(as_trace_reserve_turns(t, 6, 12));
    t->arms[0].name = "old";
    t->arms[0].what = "./old --fast";
    t->arms[1] = (as_trace_arm){.name = "Zürich \"new\"\n",
                                .what = "",
                                .hash = UINT64_MAX,
                                .error = 1.0 / 3,
                                .items = 8,
                                .launch_ns = 1e-300,
                                .first_ns = {3, NAN, 1},
                                .ledger = {1e18, 2.5, 0, 3, NAN},
                                .limit = {.ns = 1.0 / 7, .name = "read.l2.t1", .may_be_low = true, .on_the_spot = true}};
    for (uint32_t i = 0; i < 6; i++) {
        double at = 1000.0 / 3 * (1 + i);
        t->turns[t->n_turns++] = (as_turn){.launch = i / 4,
                                           .round = i / 2,
                                           .arm = (i + i / 2) % 2,
                                           .order = i % 2,
                                           .first_shot = 2 * i,
                                           .n_shots = 2,
                                           .start_ns = 1e6 * i,
                                           .wall_ns = at,
                                           .cpu_ns = i == 3 ? NAN : at / 2,
                                           .busy = i == 3 ? NAN : .5,
                                           .steal = NAN,
                                           .fma_ns = 1.25 * i,
                                           .copy_ns = 0.1,
                                           .switches = i == 5 ? UINT32_MAX : i};
        for (int k = 0; k < 2; k++)
            t->shots[t->n_shots++] = (as_shot){(float)at + (float)k / 3, k ? (float)NAN : (float)at};
    }
    t->state = AS_TRACE_PARTIAL;
    t->reason = "stopped early";
    t->n_launches = 2;
    t->n_rounds = 3;
    t->calls = UINT32_MAX;
    t->by_cpu = true;
    t->memory = AS_MEMORY_RELAUNCHED;
    t->clock_cost_ns = 21.5;
    t->block_ns = 0.25e6;
    t->budget_ns = 5e9;
    t->spent_ns = NAN;
    t->seed = 0xfedcba9876543210u; /* no double and no signed number holds it */
    t->start_unix_ns = UINT64_C(1700000000000000000);
    memcpy(t->fingerprint, "0123456789abcdef", 17);
    expect(as_trace_add_note(t, "machine.cpu", "a %s of %d", "CPU", 7));
    return t;
}

static char *trial_text(const assay_trace *t, bool with_samples)
{
    char   *text = NULL;
    size_t  n;
    as_json w;
    FILE   *file = open_memstream(&text, &n);
    expect(file);
    as_json_start(&w, file, false);
    as_trace_json_write(t, &w, with_samples);
    as_json_finish(&w);
    expect_eq(fclose(file), 0);
    return text;
}

static assay_trace *text_trial(assay_env *env, const char *text)
{
    json_t      *root = NULL;
    assay_trace *t = NULL;
    expect_ok(env, as_json_parse(env, "test", "t.json", text, strlen(text), &root));
    expect_ok(env, as_trace_json_read(env, "test", "t.json", root, &t));
    json_decref(root);
    return t;
}

static void expect_same(double got, double want)
{
    if (isnan(want) ? !isnan(got) : !(got >= want && got <= want))
        fail("%.17g became %.17g", want, got);
}

static void expect_same_arm(const as_trace_arm *got, const as_trace_arm *want)
{
    expect_str(got->name, want->name);
    expect_str(got->what, want->what);
    expect(got->hash == want->hash);
    expect_same(got->error, want->error);
    expect_same(got->items, want->items);
    expect_same(got->launch_ns, want->launch_ns);
    for (int k = 0; k < 3; k++)
        expect_same(got->first_ns[k], want->first_ns[k]);
    expect_same(got->ledger.flops, want->ledger.flops);
    expect_same(got->ledger.bytes, want->ledger.bytes);
    expect_same(got->ledger.allocations, want->ledger.allocations);
    expect_same(got->ledger.launches, want->ledger.launches);
    expect_same(got->ledger.peak_bytes, want->ledger.peak_bytes);
    expect_same(got->limit.ns, want->limit.ns);
    expect_str(got->limit.name, want->limit.name);
    expect(got->limit.may_be_low == want->limit.may_be_low && got->limit.on_the_spot == want->limit.on_the_spot);
}

static void expect_same_turn(const as_turn *got, const as_turn *want)
{
    expect_eq(got->launch, want->launch);
    expect_eq(got->round, want->round);
    expect_eq(got->arm, want->arm);
    expect_eq(got->order, want->order);
    expect_eq(got->first_shot, want->first_shot);
    expect_eq(got->n_shots, want->n_shots);
    expect_eq(got->switches, want->switches);
    expect_same(got->start_ns, want->start_ns);
    expect_same(got->wall_ns, want->wall_ns);
    expect_same(got->cpu_ns, want->cpu_ns);
    expect_same(got->busy, want->busy);
    expect_same(got->steal, want->steal);
    expect_same(got->fma_ns, want->fma_ns);
    expect_same(got->copy_ns, want->copy_ns);
}

/* --- In memory ---------------------------------------------------------------------------------------------- */

Test(trial, is_new_with_nothing_known_about_its_arms)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new_arms(env, "a case", 3, &t));
    expect_str(t->name, "a case");
    expect_str(t->reason, "");
    expect_eq(t->state, AS_TRACE_COMPLETE);
    expect_eq(t->n_arms, 3);
    expect(isnan(t->arms[2].error) && isnan(t->arms[2].launch_ns) && isnan(t->arms[2].first_ns[0]) &&
           isnan(t->arms[2].ledger.flops));
    expect(isnan(t->arms[2].ledger.peak_bytes));
    expect_eq(t->arms[2].hash, 0);
    assay_trace_free(t);
    assay_trace_free(NULL);
}

Test(trial, room_that_was_reserved_is_not_moved)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new_arms(env, "a case", 1, &t));
    expect(as_trace_reserve_turns(t, 10, 100));
    const as_turn *turns = t->turns;
    const as_shot *shots = t->shots;
    for (size_t i = 0; i < 10; i++) {
        size_t before = as_test_n_allocs();
        expect(as_trace_reserve_turns(t, 1, 10));
        expect_eq(as_test_n_allocs(), before);
        t->n_turns++;
        t->n_shots += 10;
    }
    expect(t->turns == turns && t->shots == shots);
    expect(!as_trace_reserve_turns(t, SIZE_MAX / 2, 0));
    expect(t->turns == turns);
    assay_trace_free(t);
}

Test(trial, the_last_note_of_a_key_counts)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new_arms(env, "a case", 1, &t));
    expect(as_trace_note_find(t, "k7") == NULL);
    for (int i = 0; i < 100; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i % 50);
        expect(as_trace_add_note(t, key, "%d", i));
    }
    expect_str(as_trace_note_find(t, "k7"), "57");
    expect_eq(t->n_notes, 100);
    assay_trace_free(t);
}

Test(trial, states_and_layouts_have_words)
{
    expect_str(as_trace_state_text(AS_TRACE_COMPLETE), "complete");
    expect_str(as_trace_state_text(AS_TRACE_REFUSED), "refused");
    expect_str(as_trace_state_text(AS_TRACE_N_STATES), "unknown");
    expect_str(as_memory_layout_text(AS_MEMORY_RANDOM), "random");
    expect_str(as_memory_layout_text((as_memory_layout)-1), "unknown");
}

/* --- Written and read back ------------------------------------------------------------------------------------------ */

static void expect_round_trip(bool with_samples)
{
    assay_env   *env = fake_env();
    assay_trace *t = small_trial(env);
    char        *text = trial_text(t, with_samples), *again;
    assay_trace *back = text_trial(env, text);
    expect_str(back->name, t->name);
    expect_eq(back->state, t->state);
    expect_str(back->reason, t->reason);
    expect(back->seed == t->seed);
    expect_eq(as_trace_unix_time(back), 1700000000);
    expect_str(back->fingerprint, t->fingerprint);
    expect(back->by_cpu);
    expect_eq(back->memory, t->memory);
    expect_eq(back->calls, t->calls);
    expect_eq(back->n_launches, 2);
    expect_eq(back->n_rounds, 3);
    expect_same(back->clock_cost_ns, t->clock_cost_ns);
    expect_same(back->block_ns, t->block_ns);
    expect_same(back->budget_ns, t->budget_ns);
    expect_same(back->spent_ns, NAN);
    expect_str(as_trace_note_find(back, "machine.cpu"), "a CPU of 7");
    expect_eq(back->n_arms, 2);
    for (int i = 0; i < 2; i++)
        expect_same_arm(&back->arms[i], &t->arms[i]);
    expect_eq(back->n_turns, t->n_turns);
    for (size_t i = 0; i < t->n_turns; i++)
        expect_same_turn(&back->turns[i], &t->turns[i]);
    expect_eq(back->n_shots, with_samples ? t->n_shots : 0);
    for (size_t i = 0; i < back->n_shots; i++) {
        expect_same((double)back->shots[i].wall_ns, (double)t->shots[i].wall_ns);
        expect_same((double)back->shots[i].cpu_ns, (double)t->shots[i].cpu_ns);
    }
    again = trial_text(back, true); /* and it gives the same text */
    expect_str(again, text);
    free(again);
    free(text);
    assay_trace_free(back);
    assay_trace_free(t);
}

Test(trial, comes_back_from_json_with_its_samples) { expect_round_trip(true); }
Test(trial, comes_back_from_json_without_samples) { expect_round_trip(false); }

/* Two steps of two candidates, and a run of each. */
static void layers_add(assay_trace *t)
{
    static const char *const parts[] = {"fc1", "relu1"};
    expect_eq(as_trace_add_step(t, &(as_trace_step){.name = "fc1+relu", .op = "Gemm", .parts = parts, .n_parts = 2, .segment = -1}),
              0);
    expect_eq(as_trace_add_step(t, &(as_trace_step){.name = "fc1", .op = "Gemm", .arm = 1, .segment = -1}), 1);
    expect(as_trace_reserve(t, 5, 0, 0, 0));
    for (uint32_t run = 0; run < 2; run++) {
        as_trace_add_span(t, &(as_span){.begin_ticks = 10 * run, .end_ticks = 10 * run + 7, .step = -1, .run = run});
        as_trace_add_span(
            t,
            &(as_span){.begin_ticks = 10 * run + 1, .end_ticks = 10 * run + 6, .step = (int)run, .run = run, .kind = AS_SPAN_STEP});
    }
    as_trace_add_span(t, &(as_span){.step = 0, .run = 1, .kind = AS_SPAN_PART}); /* a diff of layers does not need it: left out */
    t->ns_per_tick = .25;
}

Test(trial, layers_come_back_from_json)
{
    assay_env   *env = fake_env();
    assay_trace *t = small_trial(env);
    layers_add(t);
    char        *text = trial_text(t, false), *again;
    assay_trace *back = text_trial(env, text);
    expect_eq(back->n_steps, 2);
    expect_str(back->steps[0].name, "fc1+relu");
    expect_eq(back->steps[0].n_parts, 2);
    expect_str(back->steps[0].parts[1], "relu1");
    expect_eq(back->steps[1].arm, 1);
    expect_eq(back->n_spans, 4);
    expect_eq(back->spans[3].end_ticks - back->spans[3].begin_ticks, 5);
    expect_same(back->ns_per_tick, .25);
    again = trial_text(back, false);
    expect_str(again, text);
    free(again);
    free(text);
    assay_trace_free(back);
    assay_trace_free(t);
}

Test(trial, every_state_layout_and_clock_comes_back)
{
    assay_env   *env = fake_env();
    assay_trace *t = small_trial(env);
    for (int i = 0; i < AS_TRACE_N_STATES * AS_N_MEMORY_LAYOUTS; i++) {
        t->state = (as_trace_state)(i % AS_TRACE_N_STATES);
        t->memory = (as_memory_layout)(i / AS_TRACE_N_STATES);
        t->by_cpu = i % 2;
        char        *text = trial_text(t, false);
        assay_trace *back = text_trial(env, text);
        expect_eq(back->state, t->state);
        expect_eq(back->memory, t->memory);
        expect_eq(back->by_cpu, t->by_cpu);
        assay_trace_free(back);
        free(text);
    }
    assay_trace_free(t);
}

Test(trial, without_blocks_comes_back)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new_arms(env, "nothing", 1, &t));
    t->state = AS_TRACE_TIMEOUT;
    char        *text = trial_text(t, true);
    assay_trace *back = text_trial(env, text);
    expect_eq(back->n_turns, 0);
    expect_eq(back->n_shots, 0);
    expect_eq(back->state, AS_TRACE_TIMEOUT);
    expect_str(back->fingerprint, "");
    free(text);
    assay_trace_free(back);
    assay_trace_free(t);
}

/* --- What is refused ------------------------------------------------------------------------------------------- */

/* The record with one change: the value at "a.b.0" becomes `value`, or is removed if that is NULL. */
static json_t *changed(assay_env *env, const char *path, const char *value)
{
    assay_trace *t = small_trial(env);
    char        *text = trial_text(t, true), part[32];
    json_t      *root = NULL, *at, *fresh = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    expect_ok(env, as_json_parse(env, "test", "t.json", text, strlen(text), &root));
    expect(!value || fresh);
    at = root;
    for (;; path++) {
        size_t n = strcspn(path, ".");
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        path += n;
        if (!*path)
            break;
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(part)) : json_object_get(at, part);
        expect(at);
    }
    if (json_is_array(at))
        expect_eq(fresh ? json_array_set_new(at, (size_t)atoi(part), fresh) : json_array_remove(at, (size_t)atoi(part)), 0);
    else
        expect_eq(fresh ? json_object_set_new(at, part, fresh) : json_object_del(at, part), 0);
    free(text);
    assay_trace_free(t);
    return root;
}

static void expect_refused(const char *path, const char *value, const char *sentence)
{
    assay_env   *env = fake_env();
    json_t      *root = changed(env, path, value);
    assay_trace *untouched = small_trial(env), *out = untouched;
    assay_status status = as_trace_json_read(env, "test", "t.json", root, &out);
    if (status != ASSAY_BAD_INPUT)
        fail("%s = %s: %s", path, value ? value : "(gone)", assay_status_text(status));
    if (!strstr(assay_message(env), sentence))
        fail("%s = %s: \"%s\" does not hold \"%s\"", path, value ? value : "(gone)", assay_message(env), sentence);
    expect_has(assay_message(env), "test: t.json: trial: ");
    expect(out == untouched);
    assay_trace_free(untouched);
    json_decref(root);
}

Test(trial, of_another_schema_is_refused)
{
    expect_refused("schema", "\"assay.trial/2\"", "its schema is 'assay.trial/2' and not assay.trial/1");
    expect_refused("schema", "1", "its schema is 'missing'");
    expect_refused("schema", NULL, "its schema is 'missing'");
}

Test(trial, that_is_no_object_is_refused)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    json_t      *array = json_array();
    expect_fails(env, as_trace_json_read(env, "test", "t.json", NULL, &t), ASSAY_BAD_INPUT, "its schema is 'missing'");
    expect_fails(env, as_trace_json_read(env, "test", "t.json", array, &t), ASSAY_BAD_INPUT, "its schema is 'missing'");
    expect(!t);
    json_decref(array);
}

Test(trial, with_a_key_that_is_missing_is_refused_by_its_name)
{
    static const char *const keys[] = {
        "name",
        "state",
        "reason",
        "unix_time",
        "fingerprint",
        "seed",
        "decided_by",
        "memory",
        "calls",
        "n_launches",
        "n_rounds",
        "clock_cost_ns",
        "block_ns",
        "budget_ns",
        "spent_ns",
        "notes",
        "arms",
        "blocks",
        "arms.1.name",
        "arms.1.what",
        "arms.1.hash",
        "arms.1.error",
        "arms.1.launch_ns",
        "arms.1.first_ns",
        "arms.1.ledger.flops",
        "arms.1.ledger.bytes",
        "arms.1.ledger.allocations",
        "arms.1.ledger.launches",
        "arms.1.ledger.peak_bytes",
        "blocks.round",
        "blocks.arm",
        "blocks.order",
        "blocks.n_shots",
        "blocks.switches",
        "blocks.start_ns",
        "blocks.wall_ns",
        "blocks.cpu_ns",
        "blocks.busy",
        "blocks.steal",
        "blocks.fma_ns",
        "blocks.copy_ns",
    };
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        const char *dot = strrchr(keys[i], '.');
        char        named[40];
        snprintf(named, sizeof named, "\"%s\" ", dot ? dot + 1 : keys[i]);
        expect_refused(keys[i], NULL, named);
    }
    expect_refused("arms.0.ledger", NULL, "\"flops\" is missing or not a number");
    expect_refused("blocks.launch", NULL, "\"launch\" is missing, or does not have one value per block");
}

Test(trial, with_a_word_or_number_of_the_wrong_kind_is_refused)
{
    static const struct {
        const char *path, *value, *sentence;
    } all[] = {
        {"name", "7", "\"name\" is missing or not a text"},
        {"state", "\"done\"", "\"state\" is missing or not a known word"},
        {"decided_by", "\"the sun\"", "\"decided_by\" is missing or not a known word"},
        {"memory", "0", "\"memory\" is missing or not a known word"},
        {"unix_time", "1.5", "\"unix_time\" is missing or not a whole number"},
        {"fingerprint", "\"0123456789abcdef0\"", "\"fingerprint\" is missing or too long"},
        {"seed", "7", "\"seed\" is missing or not 16 hexadecimal digits"},
        {"seed", "\"123\"", "\"seed\" is missing or not 16 hexadecimal digits"},
        {"seed", "\"0x23456789abcdef\"", "\"seed\" is missing or not 16 hexadecimal digits"},
        {"calls", "4294967296", "\"calls\" is missing or not a whole number of 32 bits"},
        {"n_rounds", "-1", "\"n_rounds\" is missing or not a whole number of 32 bits"},
        {"n_launches", "2.5", "\"n_launches\" is missing or not a whole number of 32 bits"},
        {"budget_ns", "\"5s\"", "\"budget_ns\" is missing or not a number"},
        {"arms.1.hash", "\"FFFFFFFFFFFFFFFF\"", "\"hash\" is missing or not 16 hexadecimal digits"},
        {"arms.0.first_ns.2", NULL, "\"first_ns\" is not an array of three"},
        {"arms.0.first_ns.1", "\"x\"", "\"first_ns\" contains a value that is not a number"},
        {"arms.1.items", "0", "\"items\" is not a number above 0"},
        {"arms.1.limit.ns", "0", "\"limit\" is not a time above 0"},
        {"arms.1.items", "\"8\"", "\"items\" is missing or not a number"},
        {"arms.0", "7", "\"name\" is missing or not a text"},
        {"notes.0", "[\"one\"]", "\"notes\" are not pairs of text"},
        {"notes.0", "[\"one\",2]", "\"notes\" are not pairs of text"},
        {"notes", "{}", "\"notes\" are missing or too many"},
        {"blocks.wall_ns.3", "\"fast\"", "\"wall_ns\" contains a value that is not a number"},
        {"blocks.switches.0", "-1", "\"switches\" contains a value that is not a whole number of 32 bits"},
        {"blocks.order.0", "0.5", "\"order\" contains a value that is not a whole number of 32 bits"},
        {"blocks.launch.5", "4294967296", "\"launch\" contains a value that is not a whole number of 32 bits"},
    };
    for (size_t i = 0; i < AS_COUNT(all); i++)
        expect_refused(all[i].path, all[i].value, all[i].sentence);
}

Test(trial, whose_counts_do_not_agree_is_refused)
{
    static const struct {
        const char *path, *value, *sentence;
    } all[] = {
        {"arms", "[]", "\"arms\" are missing or too many"},
        {"blocks", "[]", "\"blocks\" are missing or too many"},
        {"blocks.busy.5", NULL, "\"busy\" is missing, or does not have one value per block"},
        {"blocks.launch.5", NULL, "\"round\" is missing, or does not have one value per block"},
        {"blocks.copy_ns", "{}", "\"copy_ns\" is missing, or does not have one value per block"},
        {"blocks.arm.4", "2", "\"arm\" names a candidate that does not exist"},
        {"blocks.arm.4", "4294967295", "\"arm\" names a candidate that does not exist"},
        {"arms.1", NULL, "\"arm\" names a candidate that does not exist"},
        {"blocks.round.0", "1", "\"round\" goes backwards"},
        {"blocks.round.5", "1", "\"round\" goes backwards"},
        {"blocks.launch.0", "1", "\"round\" goes backwards"},
        {"blocks.n_shots.0", "3", "\"samples\" are not as many as the blocks say"},
        {"blocks.n_shots.0", "4294967295", "\"n_shots\" adds up to more samples than can be"},
        {"samples.wall_ns.11", NULL, "\"samples\" are not as many as the blocks say"},
        {"samples.cpu_ns", NULL, "\"samples\" are not as many as the blocks say"},
        {"samples", "7", "\"samples\" are not as many as the blocks say"},
        {"samples.cpu_ns.4", "true", "\"samples\" contains a value that is not a number"},
    };
    for (size_t i = 0; i < AS_COUNT(all); i++)
        expect_refused(all[i].path, all[i].value, all[i].sentence);
}

Test(trial, with_keys_of_a_later_writer_is_read)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    json_t      *root = changed(env, "humidity", "[1, 2]");
    expect_ok(env, as_trace_json_read(env, "test", "t.json", root, &t));
    expect_eq(t->n_turns, 6);
    assay_trace_free(t);
    json_decref(root);
}
