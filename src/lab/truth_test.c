/* truth_test.c - answers compared with the reference code: all of it, by rows, and not at all. */
#include "tests/runner/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "lab/truth.h"

typedef struct fixture {
    assay_env       *env;
    assay_options   *options;
    as_bench_cases  *cases;
    as_bench_subject subject;
    as_truth         truth;
} fixture;

static void open_at(fixture *f, const char *argument, const char *key, const char *value)
{
    *f = (fixture){0};
    expect_eq(assay_env_new(&f->env), ASSAY_OK);
    expect_ok(f->env, assay_options_new(f->env, &f->options));
    if (key)
        expect_ok(f->env, assay_options_set(f->env, f->options, key, value));
    as_case_options o;
    expect_ok(f->env, as_case_options_read(f->env, f->options, &o));
    expect_ok(f->env, as_bench_cases_read(f->env, &argument, 1, &o, &f->cases));
    expect_ok(f->env, as_bench_case_open(f->env, &f->cases->items[0], &f->subject));
}

static void check_it(fixture *f) { expect_ok(f->env, as_truth_check(f->env, &f->cases->items[0], &f->subject, 5, 2e8, &f->truth)); }

static void shut(fixture *f)
{
    as_bench_subject_close(&f->subject);
    as_bench_cases_free(f->cases);
    assay_options_free(f->options);
    assay_env_free(f->env);
}

static void expect_right(const char *argument, const char *key, const char *value, const char *compared)
{
    fixture f;
    open_at(&f, argument, key, value);
    check_it(&f);
    if (f.truth.wrong)
        fail("%s: %s", argument, f.truth.sentence);
    expect_str(f.truth.compared, compared);
    expect(f.truth.poison_tried && f.truth.poison_changes);
    expect(f.truth.hash && f.truth.poisoned_hash && f.truth.hash != f.truth.poisoned_hash);
    expect(f.truth.error <= f.truth.tolerance);
    shut(&f);
}

Test(truth, compares_every_output_of_small_work)
{
    expect_right("matmul:size=13x17x19", NULL, NULL, "all 247 outputs");
    expect_right("matmul:size=8x8,layout=strided,dtype=f16", NULL, NULL, "all 64 outputs");
    expect_right("elementwise:op=gelu,size=33,dtype=bf16", NULL, NULL, "all 33 outputs");
    expect_right("quantize:size=9x65", NULL, NULL, "all 594 outputs");
    expect_right("quantize:kind=absmean-ternary,size=9x65", NULL, NULL, "all 586 outputs");
    expect_right("layout:size=5x6", NULL, NULL, "all 30 outputs");
    expect_right("conv:size=1x4x9x9,filters=8", NULL, NULL, "all 648 outputs");
    expect_right("cell:units=8,batch=2,seq=3", NULL, NULL, "all 64 outputs");
    expect_right("mlp:sizes=12x7x3", "batch", "4", "all 12 outputs");
}

/* 512x512x512 is 2.7e8 operations: 64 rows of it are a tenth of that. */
Test(truth, compares_some_rows_of_large_work)
{
    expect_right("matmul:size=256x512x1024,layout=transposed", NULL, NULL, "64 of 256 rows");
    expect_right("mlp:sizes=1024x1024x1024", "batch", "64", "47 of 64 rows");
}

Test(truth, says_that_the_null_device_computes_nothing)
{
    fixture f;
    open_at(&f, "matmul:size=4x4", "devices", "null:matmul=5us");
    check_it(&f);
    expect_eq(f.truth.how, AS_TRUTH_NONE);
    expect_str(f.truth.compared, "none: the null device computes nothing");
    expect(!f.truth.wrong && isnan(f.truth.error) && !f.truth.hash);
    shut(&f);
}

/* A plan with other weights than the model that it is compared with. */
Test(truth, finds_a_wrong_answer)
{
    fixture            f;
    assay_model       *other = NULL;
    const assay_model *own;
    open_at(&f, "mlp:sizes=6x5x4", "batch", "2");
    expect_ok(f.env, assay_options_set(f.env, f.options, "seed", "99"));
    expect_ok(f.env, assay_model_load(f.env, "mlp:sizes=6x5x4", f.options, &other));
    own = f.subject.model;
    f.subject.model = other;
    check_it(&f);
    expect(f.truth.wrong);
    expect_has(f.truth.sentence, "output 'y' differs from the reference code by a relative");
    f.subject.model = own;
    assay_model_free(other);
    shut(&f);
}

/* x - x is 0 for every x: a model that ignores its inputs. */
Test(truth, finds_an_answer_that_does_not_depend_on_the_inputs)
{
    static const char model[] =
        "{\"format\":\"assay.model/1\",\"name\":\"t\",\"inputs\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[4]}],\"params\":[],"
        "\"nodes\":[{\"name\":\"n\",\"op\":\"Sub\",\"in\":[\"x\",\"x\"],\"out\":[\"y\"]}],\"outputs\":[\"y\"]}";
    fixture f;
    char    path[] = "/tmp/assay-truth-XXXXXX.json";
    int     file = mkstemps(path, 5);
    expect(file >= 0 && write(file, model, sizeof model - 1) == (ssize_t)sizeof model - 1);
    close(file);
    open_at(&f, path, NULL, NULL);
    check_it(&f);
    unlink(path);
    expect(f.truth.wrong && f.truth.poison_tried && !f.truth.poison_changes);
    expect_has(f.truth.sentence, "other inputs give the same outputs");
    shut(&f);
}

Test(truth, a_type_without_a_kernel_is_refused)
{
    fixture     f = {0};
    const char *argument = "matmul:size=4x4,dtype=f64";
    expect_eq(assay_env_new(&f.env), ASSAY_OK);
    expect_ok(f.env, assay_options_new(f.env, &f.options));
    as_case_options o;
    expect_ok(f.env, as_case_options_read(f.env, f.options, &o));
    expect_ok(f.env, as_bench_cases_read(f.env, &argument, 1, &o, &f.cases));
    expect_fails(f.env, as_bench_case_open(f.env, &f.cases->items[0], &f.subject), ASSAY_UNSUPPORTED,
                 "cpu has no kernel for MatMul in f64");
    expect(!f.subject.plan);
    shut(&f);
}
