/* keeper_test.c - checkpoints from a copy, written by another thread. */
#include "train/keeper.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/env.h"
#include "tests/runner/test.h"

enum { N = 1 << 20 };

typedef struct fixture {
    assay_env     *env;
    as_checkpoints folder;
    as_keeper     *keeper;
    float         *data;
    as_named_view  item;
} fixture;

static fixture begin(const char *name)
{
    fixture f = {.data = malloc(N * sizeof *f.data)};
    expect_eq(assay_env_new(&f.env), ASSAY_OK);
    expect(f.data);
    for (int i = 0; i < N; i++)
        f.data[i] = (float)i;
    f.item = (as_named_view){"w", as_view_of(f.data, AS_F32, &AS_SHAPE(N))};
    expect_ok(f.env, as_checkpoints_open(f.env, as_test_path(name), 9, &f.folder));
    return f;
}

static void end(fixture *f)
{
    as_keeper_close(f->keeper);
    as_checkpoints_close(&f->folder);
    free(f->data);
    assay_env_free(f->env);
}

static void expect_holds(fixture *f, uint64_t updates, float last)
{
    as_checkpoint c;
    expect_ok(f->env, as_checkpoint_load(f->env, f->folder.path, &c));
    expect_eq(c.place.updates, updates);
    const as_view *v = as_safetensors_find(&c.tensors, "w");
    expect(v && ((const float *)v->data)[N - 1] == last && ((const float *)v->data)[0] == (last == N - 1 ? 0 : last));
    as_checkpoint_drop(&c);
}

Test(keeper, writes_what_was_given_whatever_changes_meanwhile)
{
    fixture f = begin("meanwhile");
    as_kept kept;
    expect_ok(f.env, as_keeper_open(f.env, &f.folder, as_keeper_count(&f.item, 1), &f.keeper));
    expect(!as_keeper_take(f.keeper, true, &kept)); /* nothing was given: nothing to wait for */
    size_t bytes = as_keeper_bytes(f.keeper);
    expect(bytes >= N * sizeof(float) && bytes <= N * sizeof(float) + 128);
    expect_ok(f.env, as_keeper_give(f.env, f.keeper, &(as_checkpoint_place){.updates = 5}, &f.item, 1));
    for (int i = 0; i < N; i++)
        f.data[i] = 7;
    expect_fails(f.env, as_keeper_give(f.env, f.keeper, &(as_checkpoint_place){.updates = 6}, &f.item, 1), ASSAY_INTERNAL,
                 "another one is under way"); /* until its result was taken */
    expect(as_keeper_take(f.keeper, true, &kept));
    expect(kept.status == ASSAY_OK && kept.updates == 5 && kept.end_ticks > kept.begin_ticks && !*kept.why);
    expect(!as_keeper_take(f.keeper, false, &kept));
    expect_holds(&f, 5, N - 1);
    expect_ok(f.env, as_keeper_give(f.env, f.keeper, &(as_checkpoint_place){.updates = 6}, &f.item, 1));
    expect(as_keeper_take(f.keeper, true, &kept) && kept.status == ASSAY_OK);
    expect_holds(&f, 6, 7);
    expect_eq(as_keeper_bytes(f.keeper), bytes);
    end(&f);
}

Test(keeper, closing_ends_the_write_that_is_under_way)
{
    fixture f = begin("closing");
    expect_ok(f.env, as_keeper_open(f.env, &f.folder, as_keeper_count(&f.item, 1), &f.keeper));
    expect_ok(f.env, as_keeper_give(f.env, f.keeper, &(as_checkpoint_place){.updates = 3}, &f.item, 1));
    as_keeper_close(f.keeper);
    f.keeper = NULL;
    expect_holds(&f, 3, N - 1);
    end(&f);
}

Test(keeper, tells_that_the_disk_is_full_and_goes_on)
{
    fixture       f = begin("disk");
    as_kept       kept;
    struct rlimit before;
    expect_ok(f.env, as_keeper_open(f.env, &f.folder, 0, &f.keeper)); /* a state that has grown */
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, before.rlim_max});
    expect_ok(f.env, as_keeper_give(f.env, f.keeper, &(as_checkpoint_place){.updates = 3}, &f.item, 1));
    expect(as_keeper_take(f.keeper, true, &kept));
    setrlimit(RLIMIT_FSIZE, &before);
    expect(kept.status == ASSAY_IO && strstr(kept.why, "step-00000003"));
    expect_ok(f.env, as_keeper_give(f.env, f.keeper, &(as_checkpoint_place){.updates = 4}, &f.item, 1));
    expect(as_keeper_take(f.keeper, true, &kept) && kept.status == ASSAY_OK);
    expect_holds(&f, 4, N - 1);
    end(&f);
}
