/* lower_test.c - packing, fallback and transfers, with simulated devices. */
#include "plan/test_fixture.h"
#include "plan/lower.h"

/* Takes MatMul and packs its second input behind a header of 32 bytes; refuses all else. */
static assay_status pretend_choose(assay_env *env, as_device *device, const as_node_ctx *n, as_arena *arena, as_choice *out)
{
    (void)env, (void)device, (void)arena;
    if (strcmp(n->op->name, "MatMul")) {
        *out = (as_choice){.why = "it can only multiply"};
        return ASSAY_OK;
    }
    *out = (as_choice){.kernel = "pretended", .name = "pretended", .why = "told so", .scratch_bytes = 100};
    out->packed_bytes[0] = 96;
    out->packed_bytes[1] = as_info_bytes(&n->in[1]) + 32;
    return ASSAY_OK;
}

static assay_status refuse_all(assay_env *env, as_device *device, const as_node_ctx *n, as_arena *arena, as_choice *out)
{
    (void)env, (void)device, (void)n, (void)arena;
    *out = (as_choice){.why = "it is on strike"};
    return ASSAY_OK;
}

static const as_backend pretender = {.name = "pretend", .choose = pretend_choose},
                        striker = {.name = "strike", .choose = refuse_all};

/* y = tanh(x * w) */
static void product_model(fixture *f)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       w = as_maker_param(m, "w", AS_F32, &AS_SHAPE(3, 4), (float[12]){1}, true);
    as_maker_output(m, fixture_node1(m, "Tanh", "t", fixture_node2(m, "MatMul", "mm", fixture_input(m, "x", 2, 3), w)));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

/* Lowers onto the given devices directly; nothing is compiled, so simulated devices are enough. */
static assay_status lower_on(fixture *f, as_device **devices, int n, assay_plan *plan)
{
    as_pass_note note = {0};
    as_device   *by_preference[2] = {devices[n - 1], devices[0]};
    *plan = (assay_plan){.model = f->model, .compiled = true};
    AS_TRY(as_plan_borrow(f->env, plan, by_preference, (size_t)n));
    AS_TRY(as_graph_bind(f->env, f->model, NULL, 0, NULL, 0, 1, &plan->arena, &plan->graph));
    AS_TRY(as_plan_lower(f->env, plan, &note, &(as_pass_note){0}));
    return as_plan_place(f->env, plan);
}

Test(lower, a_host_that_refuses_says_why)
{
    fixture    f;
    assay_plan plan;
    product_model(&f);
    as_device  host = {.backend = &pretender, .name = "pretend", .host_memory = true, .n_threads = 1, .align = 64};
    as_device *devices[] = {&host};
    expect_fails(f.env, lower_on(&f, devices, 1, &plan), ASSAY_UNSUPPORTED,
                 "Tanh 't': pretend does not take it: it can only multiply");
    as_arena_drop(&plan.arena);
    fixture_close(&f);
}

/* The real cpu device as the host, and a simulated remote device. */
static void two_devices(fixture *f, as_device **devices, as_device *far, const as_backend *backend)
{
    expect_ok(f->env, as_device_open(f->env, "cpu", 1, &devices[0]));
    *far = (as_device){.backend = backend, .name = backend->name, .n_threads = 1, .align = 256};
    devices[1] = far;
}

Test(lower, moves_packs_runs_and_brings_back)
{
    fixture    f;
    assay_plan plan;
    as_device  far, *devices[2];
    product_model(&f);
    two_devices(&f, devices, &far, &pretender);
    expect_ok(f.env, lower_on(&f, devices, 2, &plan));

    static const struct {
        const char  *name;
        as_step_kind kind;
        int          device;
    } want[] = {{"put w", AS_STEP_PUT, 1}, {"pack w", AS_STEP_PACK, 1}, {"put x", AS_STEP_PUT, 1},
                {"mm", AS_STEP_NODE, 1},   {"get mm", AS_STEP_GET, 1},  {"t", AS_STEP_NODE, 0}};
    expect_eq(plan.n_steps, 6);
    expect_eq(plan.n_prologue, 2);
    for (int i = 0; i < 6; i++) {
        expect_str(plan.steps[i].name, want[i].name);
        expect_eq(plan.steps[i].kind, want[i].kind);
        expect_eq(plan.steps[i].device, want[i].device);
        expect_eq(plan.steps[i].seg.index, i);
        expect(plan.steps[i].seg.choice == &plan.steps[i].choice);
    }
    const as_seg_step *pack = &plan.steps[1].seg, *mm = &plan.steps[3].seg;
    expect(pack->pack && pack->pack_input == 1);
    expect_eq(pack->in[0], -1);
    expect_eq(pack->in[1], mm->in[1]);
    expect_eq(pack->packed[1], mm->packed[1]);
    expect_eq(mm->packed[0], -1); /* x changes every run: packing it once would be wrong */
    const as_buffer *packed = &plan.buffers[mm->packed[1]], *scratch = &plan.buffers[mm->scratch];
    expect_eq(packed->role, AS_BUF_PACKED);
    expect_eq(packed->bytes, 48 + 32);
    expect_eq(packed->first, 1);
    expect_eq(packed->last, 5); /* outlives the body, which runs again without the set-up */
    expect_eq(plan.packed_bytes, 80);
    expect_eq(scratch->bytes, 100);
    expect_eq(scratch->first, 3);
    expect_eq(scratch->last, 3);
    expect_eq(scratch->offset % 256, 0);
    expect(plan.scratch_bytes >= 100); /* plus what the host's kernel asks for */
    expect_eq(plan.steps[5].choice.n_refused >= 1, 1);
    expect_str(plan.steps[5].choice.refused[0].kernel, "pretend");
    expect_str(plan.steps[5].choice.refused[0].why, "it can only multiply");
    as_arena_drop(&plan.arena);
    as_device_close(devices[0]);
    fixture_close(&f);
}

/* The same with a weight at an address that is not aligned for a float. */
static void odd_model(fixture *f, unsigned char *odd)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       w = as_maker_param(m, "w", AS_F32, &AS_SHAPE(3, 4), odd, false);
    as_maker_output(m, fixture_node1(m, "Tanh", "t", fixture_node2(m, "MatMul", "mm", fixture_input(m, "x", 2, 3), w)));
    as_maker_output(m, fixture_node1(m, "Neg", "n", w));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

Test(lower, what_is_not_aligned_is_copied_once_for_the_host)
{
    fixture                   f;
    assay_plan                plan;
    as_device                *devices[1];
    _Alignas(8) unsigned char memory[56] = {0};
    odd_model(&f, memory + 1);
    expect_ok(f.env, as_device_open(f.env, "cpu", 1, &devices[0]));
    expect_ok(f.env, lower_on(&f, devices, 1, &plan));
    expect(plan.n_prologue >= 2); /* the copy, the packing of the product's kernel, and the Neg of a parameter */
    const as_step *align = &plan.steps[0];
    expect_str(align->name, "align w");
    expect_eq(align->kind, AS_STEP_ALIGN);
    expect_has(align->choice.why, "not multiples of 4 bytes, the size of f32");
    const as_buffer *from = &plan.buffers[align->seg.in[0]], *to = &plan.buffers[align->seg.out[0]];
    expect(from->outside == memory + 1 && from->role == AS_BUF_PARAM);
    expect(!to->outside && to->role == AS_BUF_PACKED && to->bytes == 48);
    expect_str(to->name, "aligned w");
    expect_eq(plan.steps[fixture_step_find(&plan, "mm")].seg.in[1], align->seg.out[0]);
    expect_eq(plan.steps[fixture_step_find(&plan, "n")].seg.in[0], align->seg.out[0]);
    expect(to->last < plan.n_prologue); /* the body reads what was packed of it */
    expect_eq(plan.n_idle, 0);          /* 48 bytes are not worth a call */
    expect(plan.packed_bytes >= 48);
    expect_eq(plan.param_bytes, 48);
    as_arena_drop(&plan.arena);
    as_device_close(devices[0]);
    fixture_close(&f);
}

/* A transfer copies bytes at any alignment, so only the host's own step needs the aligned copy. */
Test(lower, a_transfer_takes_what_is_not_aligned_as_it_is)
{
    fixture                   f;
    assay_plan                plan;
    as_device                 far, *devices[2];
    _Alignas(8) unsigned char memory[56] = {0};
    odd_model(&f, memory + 1);
    two_devices(&f, devices, &far, &pretender);
    expect_ok(f.env, lower_on(&f, devices, 2, &plan));
    int put = fixture_step_find(&plan, "put w"), align = fixture_step_find(&plan, "align w");
    expect(put >= 0 && align >= 0);
    expect(plan.buffers[plan.steps[put].seg.in[0]].outside == memory + 1);
    expect_eq(plan.steps[put].seg.in[0], plan.steps[align].seg.in[0]);
    expect_eq(plan.steps[fixture_step_find(&plan, "n")].seg.in[0], plan.steps[align].seg.out[0]);
    expect_eq(plan.param_bytes, 48);
    as_arena_drop(&plan.arena);
    as_device_close(devices[0]);
    fixture_close(&f);
}

Test(lower, everything_falls_back_to_the_host_when_the_device_strikes)
{
    fixture    f;
    assay_plan plan;
    as_device  far, *devices[2];
    product_model(&f);
    two_devices(&f, devices, &far, &striker);
    expect_ok(f.env, lower_on(&f, devices, 2, &plan));
    expect_eq(plan.n_steps - plan.n_prologue, 2);
    expect_eq(plan.device_bytes[1], 0);
    for (int s = 0; s < plan.n_steps; s++) {
        expect_eq(plan.steps[s].device, 0);
        expect_str(plan.steps[s].choice.refused[0].why, "it is on strike");
    }
    as_arena_drop(&plan.arena);
    as_device_close(devices[0]);
    fixture_close(&f);
}

Test(lower, two_refusals_are_both_told)
{
    fixture    f;
    assay_plan plan;
    product_model(&f);
    as_device  near = {.backend = &striker, .name = "near", .host_memory = true, .n_threads = 1, .align = 64};
    as_device  far = {.backend = &striker, .name = "far", .n_threads = 1, .align = 64};
    as_device *devices[] = {&near, &far};
    expect_fails(f.env, lower_on(&f, devices, 2, &plan), ASSAY_UNSUPPORTED,
                 "far does not take it (it is on strike) and neither does near");
    as_arena_drop(&plan.arena);
    fixture_close(&f);
}

/* The same weight in two products of 8 rows, one after the other, and in one of `rows` rows. */
static void shared_open(fixture *f, int64_t rows)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       w = as_maker_param_random(m, "w", &AS_SHAPE(40, 40), 40);
    int       x = fixture_input(m, "x", 8, 40), other = fixture_input(m, "other", rows, 40);
    as_maker_output(m, fixture_node2(m, "MatMul", "second", fixture_node2(m, "MatMul", "first", x, w), w));
    as_maker_output(m, fixture_node2(m, "MatMul", "third", other, w));
    expect_ok(f->env, as_maker_finish(m, &f->model));
    fixture_plan(f);
}

static int packs_of(const assay_plan *plan)
{
    int n = 0;
    for (int s = 0; s < plan->n_steps; s++)
        n += plan->steps[s].kind == AS_STEP_PACK;
    return n;
}

Test(lower, nodes_of_the_same_kind_share_the_packed_form_of_a_weight)
{
    fixture f;
    shared_open(&f, 8);
    expect_eq(packs_of(f.plan), 1);
    int at[3] = {fixture_step_find(f.plan, "first"), fixture_step_find(f.plan, "second"), fixture_step_find(f.plan, "third")};
    for (int i = 0; i < 3; i++)
        expect(at[i] >= 0 && f.plan->steps[at[i]].seg.packed[1] >= 0 &&
               f.plan->steps[at[i]].seg.packed[1] == f.plan->steps[at[0]].seg.packed[1]);
    fixture_instance(&f);
    fixture_step(&f);
    as_view x = as_instance_input(f.instance, 0), other = as_instance_input(f.instance, 1);
    memcpy(other.data, x.data, as_view_bytes(&x)); /* so that `third` is what `second` read */
    fixture_step(&f);
    as_view y = as_instance_output(f.instance, 1),
            w = as_view_of((void *)(uintptr_t)f.model->values[0].data, AS_F32, &AS_SHAPE(40, 40));
    for (int i = 0; i < 8 * 40; i++) {
        double want = 0.0;
        for (int k = 0; k < 40; k++)
            want += as_view_get(&x, i / 40 * 40 + k) * as_view_get(&w, k * 40 + i % 40);
        expect_near(as_view_get(&y, i), want, 1e-5);
    }
    fixture_close(&f);

    shared_open(&f, 9); /* another shape: its kernel may pack in another way */
    expect_eq(packs_of(f.plan), 2);
    fixture_close(&f);
}

Test(lower, only_the_set_up_needs_a_weight_that_is_packed)
{
    fixture f;
    shared_open(&f, 8);
    int w = fixture_buffer_find(f.plan, "w"), packed = fixture_buffer_find(f.plan, "packed w");
    expect(w >= 0 && packed >= 0 && f.plan->buffers[w].outside != NULL);
    expect(f.plan->buffers[w].last < f.plan->n_prologue);
    expect_eq(f.plan->buffers[packed].last, f.plan->n_steps - 1);
    fixture_close(&f);
}

Test(lower, memory_that_only_the_set_up_uses_is_known_and_nothing_of_the_body_is_in_it)
{
    enum { N = 256 };
    fixture        f;
    unsigned char *memory = calloc(1, N * N * 4 + 8);
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    int       w = as_maker_param(m, "w", AS_F32, &AS_SHAPE(N, N), memory + 1, false);
    as_maker_output(m, fixture_node2(m, "MatMul", "mm", fixture_input(m, "x", 2, N), w));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_plan(&f);
    int aligned = fixture_buffer_find(f.plan, "aligned w");
    expect(aligned >= 0 && f.plan->n_idle > 0);
    for (int k = 0; k < f.plan->n_idle; k++)
        for (int i = 0; i < f.plan->n_buffers; i++) {
            const as_buffer *b = &f.plan->buffers[i];
            if (!b->outside && b->device == 0 && b->last >= f.plan->n_prologue && b->bytes)
                expect(b->offset + b->bytes <= f.plan->idle[k].begin || b->offset >= f.plan->idle[k].end);
        }
    for (int i = 0; i < N * N; i++)
        memcpy(memory + 1 + i * 4, &(float){(float)(i % 7)}, 4);
    fixture_instance(&f);
    for (int run = 0; run < 3; run++) { /* the third after another set-up */
        if (run == 2)
            as_instance_refresh(f.instance);
        as_view x = as_instance_input(f.instance, 0), y = as_instance_output(f.instance, 0);
        as_random_input(1, "x", &x);
        fixture_step(&f);
        for (int i = 0; i < 2 * N; i++) {
            double want = 0.0;
            for (int k = 0; k < N; k++)
                want += as_view_get(&x, i / N * N + k) * ((k * N + i % N) % 7);
            expect_near(as_view_get(&y, i), want, 1e-2);
        }
    }
    fixture_close(&f);
    free(memory);
}
