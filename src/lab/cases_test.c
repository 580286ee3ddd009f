/* cases_test.c - from words, options and suites to cases. */
#include "tests/runner/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "lab/cases.h"

typedef struct fixture {
    assay_env      *env;
    assay_options  *options;
    as_bench_cases *cases;
} fixture;

static fixture begin(void)
{
    fixture f = {0};
    expect_eq(assay_env_new(&f.env), ASSAY_OK);
    expect_ok(f.env, assay_options_new(f.env, &f.options));
    return f;
}

static void set(fixture *f, const char *key, const char *value)
{
    expect_ok(f->env, assay_options_set(f->env, f->options, key, value));
}

static void end(fixture *f)
{
    as_bench_cases_free(f->cases);
    assay_options_free(f->options);
    assay_env_free(f->env);
}

/* The options as set so far. */
static const as_case_options *said(const fixture *f)
{
    static as_case_options o;
    expect_ok(f->env, as_case_options_read(f->env, f->options, &o));
    return &o;
}

static void read_one(fixture *f, const char *argument)
{
    expect_ok(f->env, as_bench_cases_read(f->env, &argument, 1, said(f), &f->cases));
}

static void expect_ids(const fixture *f, const char *const *want)
{
    for (int i = 0; i < f->cases->n_items; i++) {
        expect(want[i]);
        expect_str(f->cases->items[i].id, want[i]);
    }
    expect(!want[f->cases->n_items]);
}

static void expect_bad(const char *argument, const char *sentence)
{
    fixture      f = begin();
    assay_status status = as_bench_cases_read(f.env, &argument, 1, said(&f), &f.cases);
    expect(status == ASSAY_BAD_INPUT || status == ASSAY_NOT_FOUND);
    expect_has(assay_message(f.env), sentence);
    expect(!f.cases);
    end(&f);
}

static void expect_bad_suite(const char *text, const char *sentence)
{
    fixture f = begin();
    expect(as_bench_cases_parse(f.env, "s.txt", text, said(&f), &f.cases) != ASSAY_OK);
    expect_has(assay_message(f.env), sentence);
    expect(!f.cases);
    end(&f);
}

Test(cases, a_workload_alone_is_one_case_at_its_standard)
{
    fixture f = begin();
    read_one(&f, "matmul");
    expect_eq(f.cases->n_items, 1);
    const as_bench_case *c = &f.cases->items[0];
    expect_str(c->id, "matmul/512x512/f32/contiguous/cpu/t1");
    expect_str(c->name, "matmul/512/f32");
    expect_str(c->family, "matmul/*/f32/contiguous/cpu/t1");
    expect_str(c->spec, "matmul:size=512x512,dtype=f32,layout=contiguous");
    expect_str(c->plan.device, "cpu");
    expect_eq(c->plan.threads, 1);
    expect(c->is_workload && !c->plan.batch_is_set && !f.cases->n_notes);
    end(&f);
}

Test(cases, a_workload_knows_its_batch_and_where_its_rows_stand)
{
    fixture f = begin();
    read_one(&f, "cell:kind=cfc,batch=8");
    const as_bench_case *c = &f.cases->items[0];
    expect_eq(c->spec_batch, 8);
    expect_near(as_bench_case_items(c), 8, 0);
    expect_eq(c->spec_rows, 8);
    expect(!strncmp(c->spec + c->rows_begin - 6, "batch=8", 7) && c->rows_end == c->rows_begin + 1);
    end(&f);
    f = begin();
    read_one(&f, "softmax:size=64x128");
    c = &f.cases->items[0];
    expect_eq(c->spec_batch, 0);
    expect(isnan(as_bench_case_items(c)));
    expect_eq(c->spec_rows, 64);
    expect(!strncmp(c->spec + c->rows_begin, "64x128", 6) && c->rows_end == c->rows_begin + 2);
    end(&f);
}

Test(cases, axes_multiply)
{
    fixture f = begin();
    set(&f, "sizes", "8x8,16x16");
    set(&f, "dtypes", "f32,f16");
    set(&f, "threads", "1,2");
    read_one(&f, "softmax");
    expect_ids(&f, (const char *const[]){"softmax/8x8/f32/contiguous/cpu/t1", "softmax/8x8/f32/contiguous/cpu/t2",
                                         "softmax/8x8/f16/contiguous/cpu/t1", "softmax/8x8/f16/contiguous/cpu/t2",
                                         "softmax/16x16/f32/contiguous/cpu/t1", "softmax/16x16/f32/contiguous/cpu/t2",
                                         "softmax/16x16/f16/contiguous/cpu/t1", "softmax/16x16/f16/contiguous/cpu/t2", NULL});
    expect_str(f.cases->items[3].name, "softmax/8/f16/t2");
    expect_eq(f.cases->items[3].plan.threads, 2);
    end(&f);
}

Test(cases, words_behind_a_workload_are_its_variants_and_keys)
{
    fixture f = begin();
    read_one(&f, "elementwise:add,mul,size=4,2x3,layout=contiguous,transposed");
    expect_ids(&f, (const char *const[]){"elementwise/add/4/f32/contiguous/cpu/t1", "elementwise/add/2x3/f32/contiguous/cpu/t1",
                                         "elementwise/add/2x3/f32/transposed/cpu/t1", "elementwise/mul/4/f32/contiguous/cpu/t1",
                                         "elementwise/mul/2x3/f32/contiguous/cpu/t1", "elementwise/mul/2x3/f32/transposed/cpu/t1",
                                         NULL});
    expect_eq(f.cases->n_notes, 1);
    expect_str(f.cases->notes[0], "elementwise of size 4 has one axis and cannot be transposed: skipped");
    end(&f);
}

Test(cases, names_leave_out_what_is_standard_and_stay_apart)
{
    fixture f = begin();
    read_one(&f, "elementwise:size=8,8x8,16x8,layout=contiguous,strided");
    for (int i = 0; i < f.cases->n_items; i++)
        for (int k = 0; k < i; k++)
            expect(strcmp(f.cases->items[i].name, f.cases->items[k].name));
    expect_str(f.cases->items[0].name, "elementwise/add/8/f32");
    expect_str(f.cases->items[3].name, "elementwise/add/8x8/f32/strided");
    as_bench_cases_free(f.cases);
    read_one(&f, "cell:lstm,units=32");
    expect_str(f.cases->items[0].id, "cell/lstm/units=32/inputs=16/batch=1/seq=16/cpu/t1");
    expect_str(f.cases->items[0].name, "cell/lstm/units=32");
    expect_str(f.cases->items[0].spec, "cell:kind=lstm,units=32,inputs=16,batch=1,seq=16");
    end(&f);
}

Test(cases, sizes_of_another_form_are_left_out_with_a_note)
{
    fixture f = begin();
    set(&f, "sizes", "64x64,1x3x8x8");
    read_one(&f, "conv");
    expect_ids(&f, (const char *const[]){"conv/1x3x8x8/filters=64/kernel=3/stride=1/groups=1/cpu/t1", NULL});
    expect_str(f.cases->notes[0], "conv takes sizes of the form NxCxHxW: the others are skipped");
    as_bench_cases_free(f.cases);
    set(&f, "sizes", "64x64");
    read_one(&f, "conv");
    expect_str(f.cases->items[0].name, "conv/1x32x56x56");
    expect_has(f.cases->notes[0], "none was given, so it is measured at its default size");
    end(&f);
}

Test(cases, options_that_say_nothing_are_noted_once)
{
    fixture f = begin();
    set(&f, "dtypes", "f16");
    set(&f, "batch", "4");
    read_one(&f, "quantize:absmax-int8,f16");
    expect_eq(f.cases->n_items, 2);
    expect_eq(f.cases->n_notes, 2);
    expect_str(f.cases->notes[0], "quantize has no dtype: --dtypes f16 does not apply");
    expect_str(f.cases->notes[1], "quantize has no batch: --batch 4 does not apply");
    as_bench_cases_free(f.cases);
    read_one(&f, "cell");
    expect_has(f.cases->items[0].spec, "batch=4");
    end(&f);
}

Test(cases, devices_keep_the_commas_of_their_own)
{
    fixture f = begin();
    set(&f, "devices", "cpu,null:matmul=5us,put=1us,null");
    read_one(&f, "matmul:size=8x8");
    expect_eq(f.cases->n_items, 3);
    expect_str(f.cases->items[0].plan.device, "cpu");
    expect_str(f.cases->items[1].plan.device, "null:matmul=5us,put=1us");
    expect_str(f.cases->items[2].plan.device, "null");
    expect_str(f.cases->items[2].name, "matmul/8/f32/null");
    end(&f);
}

Test(cases, a_model_is_a_case_whose_options_are_in_its_name)
{
    fixture f = begin();
    set(&f, "batch", "8");
    set(&f, "compile", "off");
    read_one(&f, "mlp:sizes=4x3");
    const as_bench_case *c = &f.cases->items[0];
    expect_eq(f.cases->n_items, 1);
    expect_str(c->id, "mlp:sizes=4x3/batch=8/compile=off/cpu/t1");
    expect_str(c->spec, "mlp:sizes=4x3");
    expect(!c->is_workload);
    as_bench_subject s;
    expect_ok(f.env, as_bench_case_open(f.env, c, &s));
    expect_eq(s.plan->dims[0].size, 8);
    expect(!s.plan->compiled);
    expect(!s.slow);
    as_bench_subject_close(&s);
    end(&f);
}

Test(cases, a_suite_says_what_the_options_do_not)
{
    fixture f = begin();
    set(&f, "threads", "2");
    expect_ok(f.env, as_bench_cases_parse(
                         f.env, "s.txt",
                         "# a comment\n\n  matmul size=8x8,4x4 # two\nmlp-small batch=1,2 threads=1\r\nelementwise:mul size=4\n",
                         said(&f), &f.cases));
    expect_ids(&f, (const char *const[]){"matmul/8x8/f32/contiguous/cpu/t2", "matmul/4x4/f32/contiguous/cpu/t2",
                                         "mlp-small/batch=1/cpu/t1", "mlp-small/batch=2/cpu/t1",
                                         "elementwise/mul/4/f32/contiguous/cpu/t2", NULL});
    expect(f.cases->items[2].plan.batch_is_set && f.cases->items[2].plan.batch == 1);
    expect_eq(f.cases->items[3].plan.batch, 2);
    end(&f);
}

Test(cases, the_same_case_twice_is_measured_once)
{
    fixture f = begin();
    expect_ok(f.env, as_bench_cases_parse(f.env, "s.txt", "matmul size=8x8\nmatmul size=8x8,9x9", said(&f), &f.cases));
    expect_eq(f.cases->n_items, 2);
    expect_str(f.cases->notes[0], "matmul/8x8/f32/contiguous/cpu/t1 is given twice and measured once");
    end(&f);
}

Test(cases, unknown_words_are_refused_with_the_nearest)
{
    expect_bad("matmull", "no built-in network 'matmull' (did you mean 'matmul'?)");
    expect_bad("matmul:dtype=f23", "bench: unknown dtype 'f23'; did you mean 'f32'?");
    expect_bad("elementwise:ad", "bench: unknown op 'ad'; did you mean 'add'?");
    expect_bad("matmul:layout=zigzag", "bench: unknown layout 'zigzag'; known: contiguous, strided, transposed");
    expect_bad("matmul:sise=8x8", "bench: unknown key of matmul 'sise'; did you mean 'size'?");
    expect_bad("matmul:add", "bench: matmul: 'add' is not of the form key=value");
    expect_bad("matmul:size=8", "bench: the size '8' of matmul is not of the form MxN or MxKxN");
    expect_bad("matmul:size=8x8,", "has an empty value");
    expect_bad("matmul:size=8x8,size=9x9", "the key 'size' is given twice");
    expect_bad("matmul:device=cpuu", "bench: unknown device 'cpuu'; did you mean 'cpu'?");
    expect_bad("matmul:threads=0", "bench: threads=0 is not a whole number from 1 to 1024");
}

Test(cases, errors_of_a_suite_name_file_and_line)
{
    expect_bad_suite("matmul\n\nsoftmax size=a", "s.txt:3: the size 'a' of softmax is not of the form");
    expect_bad_suite("matmul\nsoftmx\n",
                     "s.txt:2: model: there is no file and no built-in network 'softmx' (did you mean 'softmax'?)");
    expect_bad_suite("mlp-small size=3", "s.txt:1: unknown key of mlp-small 'size'");
    expect_bad_suite("matmul size", "s.txt:1: matmul: 'size' is not of the form key=value");
    expect_bad_suite("matmul compile=both", "s.txt:1: compile=both is for profile");
    expect_bad_suite("# nothing\n", "s.txt: the suite has no case");
}

Test(cases, bad_options_and_too_many_cases_are_refused)
{
    fixture     f = begin();
    const char *argument = "matmul";
    expect_fails(f.env, as_bench_cases_read(f.env, NULL, 0, said(&f), &f.cases), ASSAY_BAD_INPUT, "bench needs a workload");
    set(&f, "sizes", "8x8,axb");
    expect_fails(f.env, as_bench_cases_read(f.env, &argument, 1, said(&f), &f.cases), ASSAY_BAD_INPUT,
                 "the size 'axb' must be whole numbers");
    set(&f, "suite", "/nowhere/suite.txt");
    expect_fails(f.env, as_bench_cases_read(f.env, &argument, 1, said(&f), &f.cases), ASSAY_NOT_FOUND, "suite: /nowhere/suite.txt");
    end(&f);
    f = begin();
    char text[4096] = "elementwise op=add,mul,sub,div size=1";
    for (int i = 2; i < 200; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%d", i);
    strcat(text, " dtype=f32,f16,bf16 layout=contiguous,strided");
    expect_fails(f.env, as_bench_cases_parse(f.env, "s.txt", text, said(&f), &f.cases), ASSAY_BAD_INPUT,
                 "s.txt:1: more than 4096 cases");
    end(&f);
}

/* Every line of the suite that we ship can be opened. */
Test(cases, the_default_suite_can_be_measured)
{
    fixture     f = begin();
    char        path[512];
    const char *at = strstr(__FILE__, "src/lab/");
    snprintf(path, sizeof path, "%.*ssuites/default.txt", at ? (int)(at - __FILE__) : 0, __FILE__);
    set(&f, "suite", path);
    expect_ok(f.env, as_bench_cases_read(f.env, NULL, 0, said(&f), &f.cases));
    expect(f.cases->n_items > 30);
    expect_eq(f.cases->n_notes, 0);
    for (int i = 0; i < f.cases->n_items; i++) {
        as_bench_subject s;
        expect_ok(f.env, as_bench_case_open(f.env, &f.cases->items[i], &s));
        expect(!s.slow);
        as_bench_subject_close(&s);
    }
    end(&f);
}

Test(cases, the_suite_training_is_in_the_program_and_trains)
{
    fixture f = begin();
    set(&f, "suite", "training");
    expect_ok(f.env, as_bench_cases_read(f.env, NULL, 0, said(&f), &f.cases));
    expect_eq(f.cases->n_items, 9);
    for (int i = 0; i < f.cases->n_items; i++) {
        as_bench_subject s;
        expect(f.cases->items[i].trains);
        expect_eq(f.cases->items[i].work, AS_WORK_TRAINING);
        expect_ok(f.env, as_bench_case_open(f.env, &f.cases->items[i], &s));
        expect(s.train && !s.slow);
        as_bench_subject_close(&s);
    }
    end(&f);
}

Test(cases, another_name_gives_the_same_cases)
{
    for (const as_zoo_alias *a = as_zoo_aliases; a->name; a++) {
        fixture other = begin(), own = begin();
        char    prefixed[64];
        snprintf(prefixed, sizeof prefixed, "bench:%s", a->name);
        read_one(&other, prefixed);
        read_one(&own, a->spec);
        expect_eq(other.cases->n_items, own.cases->n_items);
        for (int i = 0; i < own.cases->n_items; i++)
            expect_str(other.cases->items[i].id, own.cases->items[i].id);
        end(&other);
        end(&own);
    }
}

Test(cases, another_name_of_a_word_is_good_within_its_workload)
{
    fixture f = begin();
    read_one(&f, "elementwise:multiply,add");
    expect_str(f.cases->items[0].spec, "elementwise:op=mul,size=1024x1024,dtype=f32,layout=contiguous");
    end(&f);
    expect_bad("softmax:multiply", "multiply");
}
