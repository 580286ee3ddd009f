/* data_test.c - data sets: every kind of file, what is wrong with files, statistics, parts, hash. */
#include "data/data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/runner/test.h"

static assay_env *env;

static void begin(void) { expect(assay_env_new(&env) == ASSAY_OK); }
static void end(void) { assay_env_free(env); }

static const char *put(const char *name, const void *bytes, size_t n)
{
    const char *path = as_test_path(name);
    expect_ok(env, as_file_write(env, path, bytes, n));
    return path;
}

static const char *put_text(const char *name, const char *text) { return put(name, text, strlen(text)); }

/* The path of a file with something after it. */
static const char *spec_of(const char *path, const char *rest)
{
    static char spec[4][4200];
    static int  next;
    char       *s = spec[next++ % 4];
    snprintf(s, 4200, "%s%s", path, rest);
    return s;
}

static as_data *open_as(const char *spec, const char *preprocess, bool mmap, as_target_kind target)
{
    as_data_options o = {.mmap = mmap, .target = target};
    as_data        *data = NULL;
    expect_ok(env, as_preprocess_parse(env, preprocess, &o.preprocess));
    expect_ok(env, as_data_open(env, spec, &o, &data));
    return data;
}

static as_data *open_plain(const char *spec) { return open_as(spec, NULL, true, AS_TARGET_AUTO); }

static void refuse_as(const char *spec, const char *preprocess, as_target_kind target, assay_status status, const char *part)
{
    for (int mmap = 0; mmap < 2; mmap++) {
        as_data_options o = {.mmap = mmap, .target = target};
        as_data        *data = NULL;
        expect_ok(env, as_preprocess_parse(env, preprocess, &o.preprocess));
        expect_fails(env, as_data_open(env, spec, &o, &data), status, part);
        expect(!data);
    }
}

static void refuse(const char *spec, const char *part) { refuse_as(spec, NULL, AS_TARGET_AUTO, ASSAY_BAD_INPUT, part); }

/* All examples as one batch, in order. */
typedef struct whole {
    as_loader *loader;
    as_batch   batch;
} whole;

static whole take_all(const as_data *data)
{
    as_loader_options o = as_loader_evaluating(as_data_count(data));
    whole             w;
    o.threads = 0;
    expect_ok(env, as_loader_open(env, data, &o, &w.loader));
    expect_ok(env, as_loader_next(env, w.loader, &w.batch));
    expect_eq(w.batch.n, as_data_count(data));
    return w;
}

static void expect_f32(const as_view *view, const float *want, int64_t n)
{
    expect_eq(view->dtype, AS_F32);
    expect_eq(as_shape_count(&view->shape), n);
    for (int64_t i = 0; i < n; i++)
        if (((const float *)view->data)[i] != want[i])
            fail("value %d is %g, expected %g", (int)i, (double)((const float *)view->data)[i], (double)want[i]);
}

static void expect_i64(const as_view *view, const int64_t *want, int64_t n)
{
    expect_eq(view->dtype, AS_I64);
    expect_eq(as_shape_count(&view->shape), n);
    for (int64_t i = 0; i < n; i++)
        expect_eq(((const int64_t *)view->data)[i], want[i]);
}

#define F32(view, ...) expect_f32(&(view), (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))
#define I64(view, ...) expect_i64(&(view), (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void drop_all(whole *w, as_data *data)
{
    as_loader_free(w->loader);
    as_data_free(data);
}

/* --- Specs ----------------------------------------------------------------------------------------------------------- */

Test(data_spec, says_what_is_wrong_with_it)
{
    begin();
    refuse_as("nothing.here", NULL, AS_TARGET_AUTO, ASSAY_NOT_FOUND,
              "data: nothing.here: cannot open: No such file or directory, and not the name of a kind");
    refuse_as(put_text("a.dat", "1\n"), NULL, AS_TARGET_AUTO, ASSAY_BAD_INPUT,
              "a.dat: cannot tell what kind of data it is; put the kind in front, for example csv:");
    refuse("csv:", "\"csv:\": names no file; the form is FILE.csv");
    refuse("synthetic:sine,", "has nothing between two commas, or at its end");
    refuse("synthetic:sine,,n=3", "has nothing between two commas");
    refuse("synthetic:sine,n=x", "n=x: expected a whole number from 1 to");
    refuse("synthetic:sine,noise=-1", "noise=-1: expected a number from 0 to 100");
    refuse("synthetic:sine,number=3", "synthetic has no option \"number\"; known: n noise seed");
    refuse("synthetic:sine,size=8", "sine has no option \"size\"; known: n noise seed length");
    refuse("synthetic:cosine", "unknown generator \"cosine\"; known: sine, spirals, digits");
    refuse("", "names no file");
    refuse_as("missing.csv", NULL, AS_TARGET_AUTO, ASSAY_NOT_FOUND, "data: csv: missing.csv: cannot open: No such file");
    refuse("csv:.", "data: csv: .: not a regular file");
    end();
}

Test(data_spec, a_backslash_takes_a_comma_as_part_of_a_name)
{
    begin();
    put_text("a,b.csv", "1,0\n2,1\n");
    char spec[4200];
    snprintf(spec, sizeof spec, "%s/a\\,b.csv:target=1", as_test_dir());
    as_data *data = open_plain(spec);
    expect_eq(as_data_count(data), 2);
    as_data_free(data);
    end();
}

Test(data_spec, every_kind_is_listed_with_its_form)
{
    const char *name, *form, *help;
    int         n = 0;
    for (; as_data_kinds(n, &name, &form, &help); n++)
        expect(name[0] && form[0] && help[0]);
    expect(n >= 7);
}

/* --- CSV --------------------------------------------------------------------------------------------------------------- */

Test(data_csv, reads_numbers_with_the_last_column_as_class)
{
    begin();
    const char *path = put_text("a.csv", "a,b,c\n1.5,-2,0\n3e2,+4.25,1\r\n\n  5 , \"6\" , 2\n");
    for (int mmap = 0; mmap < 2; mmap++) {
        as_data *data = open_as(path, NULL, mmap, AS_TARGET_AUTO);
        expect_eq(as_data_count(data), 3);
        expect_eq(as_data_classes(data), 3);
        expect(!as_data_label(data, 0));
        whole w = take_all(data);
        F32(w.batch.input[0], 1.5f, -2, 300, 4.25f, 5, 6);
        expect_eq(w.batch.input[0].shape.rank, 2);
        I64(w.batch.target, 0, 1, 2);
        expect_eq(w.batch.target.shape.rank, 1);
        drop_all(&w, data);
    }
    end();
}

Test(data_csv, finds_the_target_by_name_number_or_custom_and_drops_columns)
{
    begin();
    const char *path = put_text("a.csv", "id;label;x;z\nu1;1;7;0.5\nu2;0;8;0.25\n");
    as_data    *data = open_plain(spec_of(path, ":drop=id"));
    whole       w = take_all(data);
    F32(w.batch.input[0], 7, 0.5f, 8, 0.25f);
    I64(w.batch.target, 1, 0);
    drop_all(&w, data);
    data = open_plain(spec_of(path, ":target=z,drop=0,drop=label"));
    w = take_all(data);
    F32(w.batch.input[0], 7, 8);
    F32(w.batch.target, 0.5f, 0.25f);
    expect_eq(w.batch.target.shape.rank, 2);
    drop_all(&w, data);
    data = open_plain(spec_of(path, ":target=-1,target=2,drop=id"));
    w = take_all(data);
    F32(w.batch.target, 0.5f, 7, 0.25f, 8);
    drop_all(&w, data);
    data = open_plain(spec_of(path, ":target=none,drop=id"));
    expect(!as_data_target(data));
    w = take_all(data);
    expect_eq(w.batch.target.dtype, AS_NONE);
    F32(w.batch.input[0], 1, 7, 0.5f, 0, 8, 0.25f);
    drop_all(&w, data);
    end();
}

Test(data_csv, text_becomes_classes_in_sorted_order)
{
    begin();
    const char *path = put_text("iris.csv", "5.1,virginica\n4.9,setosa\n6,\"virginica\"\n7,versicolor\n");
    as_data    *data = open_plain(path);
    whole       w = take_all(data);
    expect_eq(as_data_classes(data), 3);
    expect_str(as_data_label(data, 0), "setosa");
    expect_str(as_data_label(data, 1), "versicolor");
    expect_str(as_data_label(data, 2), "virginica");
    expect(!as_data_label(data, 3));
    I64(w.batch.target, 2, 0, 2, 1);
    char text[300];
    expect_has(as_data_show(data, text, sizeof text), "iris.csv: 4 examples, x f32 [1], y class of 3, csv, mapped");
    drop_all(&w, data);
    refuse_as(path, NULL, AS_TARGET_NUMBER, ASSAY_BAD_INPUT, "iris.csv:1:5: \"virginica\" is not a number");
    end();
}

Test(data_csv, numbers_become_classes_only_without_gaps_or_when_asked)
{
    begin();
    const char *path = put_text("a.csv", "1,10\n2,-5\n3,10\n");
    as_data    *data = open_plain(path);
    expect_eq(as_data_classes(data), 0);
    as_data_free(data);
    data = open_plain(spec_of(path, ":as=class"));
    whole w = take_all(data);
    expect_str(as_data_label(data, 0), "-5");
    I64(w.batch.target, 1, 0, 1);
    drop_all(&w, data);
    path = put_text("b.csv", "1,0\n2,1\n3,2\n");
    data = open_plain(spec_of(path, ":as=number"));
    expect_eq(as_data_classes(data), 0);
    as_data_free(data);
    data = open_as(path, NULL, true, AS_TARGET_NUMBER);
    w = take_all(data);
    F32(w.batch.target, 0, 1, 2);
    drop_all(&w, data);
    refuse(put_text("c.csv", "1,0\n2,one\n"), "c.csv:2:3: \"one\" is not a number, as the target is in other rows; as=class");
    end();
}

Test(data_csv, names_file_line_and_column_of_a_bad_cell)
{
    begin();
    refuse(put_text("a.csv", "a,b,y\n1,2,0\n1,two,1\n"),
           "a.csv:3:3: \"two\" is not a number; column \"b\" can be left out by drop=");
    refuse(put_text("b.csv", "1,2,0\n1,,1\n"), "b.csv:2:3: the cell of column 1 is empty");
    refuse(put_text("c.csv", "1,2,0\n1,2\n"), "c.csv:2:1: the line has 2 cells, and the first line has 3");
    refuse(put_text("d.csv", "1,2,0\n1,2,3,4\n"), "d.csv:2:1: the line has 4 cells");
    refuse(put_text("e.csv", "1,nan,0\n"), "e.csv:1:3: \"nan\" is not a number");
    refuse(put_text("f.csv", "1,1e39,0\n"), "f.csv:1:3: 1e39 is too large for f32");
    refuse(put_text("g.csv", ""), "g.csv: the file is empty");
    refuse(put_text("h.csv", "a,b\n"), "h.csv: has no rows below its header");
    refuse(put_text("i.csv", "1,\n"), "i.csv:1:3: the cell of the target is empty");
    refuse(put_text("j.csv", "1\n2\n"), "j.csv: no column is left for the inputs");
    const char *path = put_text("k.csv", "a,b\n1,2\n");
    refuse(spec_of(path, ":target=c"), "target=c: no column has this name; the columns are a, b");
    refuse(spec_of(path, ":target=b,drop=b"), "is dropped and is the target, too");
    refuse(spec_of(path, ":sep=xx"), "sep=xx: expected one character");
    refuse(spec_of(path, ":header=maybe"), "header=maybe: expected one of: auto on off");
    refuse(spec_of(put_text("l.csv", "1,2\n"), ":target=9"),
           "target=9: the file has no header; expected the number of a column, 0 to 1");
    refuse_as(put("m.csv.gz", "\x1f\x8b\x08\x00", 4), NULL, AS_TARGET_AUTO, ASSAY_UNSUPPORTED, "is compressed by gzip");
    end();
}

/* More rows than the index has groups for in one go, and lines of different lengths: every row is found. */
Test(data_csv, finds_every_row_in_any_order_mapped_or_not)
{
    begin();
    as_text text = {0};
    for (int i = 0; i < 5000; i++)
        as_text_printf(&text, "%d,%0*d,%d%s", i, 1 + i % 40, i % 7, i % 10, i % 13 == 5 ? "\n\n \n" : "\n");
    const char *path = put("many.csv", text.data, text.length);
    for (int mmap = 0; mmap < 2; mmap++) {
        as_data          *data = open_as(path, NULL, mmap, AS_TARGET_AUTO);
        as_loader_options o = as_loader_training(100, 4);
        as_loader        *loader;
        expect_eq(as_data_count(data), 5000);
        expect_ok(env, as_loader_open(env, data, &o, &loader));
        double sum = 0;
        for (int b = 0; b < 50; b++) {
            as_batch batch;
            expect_ok(env, as_loader_next(env, loader, &batch));
            for (int k = 0; k < 100; k++) {
                const float *row = (const float *)batch.input[0].data + 2 * k;
                expect_eq(row[1], (int)row[0] % 7);
                expect_eq(((const int64_t *)batch.target.data)[k], (int)row[0] % 10);
                sum += (double)row[0];
            }
            as_loader_release(loader, &batch);
        }
        expect_near(sum, 5000.0 * 4999 / 2, 0);
        as_loader_free(loader);
        as_data_free(data);
    }
    as_text_drop(&text);
    end();
}

/* By the same rule as strtod, which as_parse_f64 is checked against. */
Test(data_csv, reads_numbers_as_exactly_as_strtod)
{
    begin();
    static const char *const numbers[] = {"0.1",
                                          "-0.3",
                                          "1e-5",
                                          "123456789012345678",
                                          "0.000000000000000000001",
                                          "9007199254740993",
                                          "1.7976931348623157e30",
                                          "3.4e+38",
                                          "1E5",
                                          ".5",
                                          "5.",
                                          "-.25e2",
                                          "00012",
                                          "4.9406564584124654e-40",
                                          "2.5e-22",
                                          "1e22"};
    as_text                  text = {0};
    for (size_t i = 0; i < AS_COUNT(numbers); i++)
        as_text_printf(&text, "%s,0.5\n", numbers[i]);
    as_data *data = open_plain(put("n.csv", text.data, text.length));
    whole    w = take_all(data);
    for (size_t i = 0; i < AS_COUNT(numbers); i++)
        expect(((const float *)w.batch.input[0].data)[i] == (float)strtod(numbers[i], NULL));
    drop_all(&w, data);
    as_text_drop(&text);
    end();
}

Test(data_csv, validation_has_the_columns_and_classes_of_the_training_data)
{
    begin();
    as_data        *train = open_plain(put_text("t.csv", "a,b,y\n1,2,cat\n3,4,dog\n5,6,eel\n")), *val = NULL;
    as_data_options o = {.mmap = true, .like = train};
    expect_ok(env, as_data_open(env, put_text("v.csv", "y,b,extra,a\neel,20,text,10\n"), &o, &val));
    expect_eq(as_data_classes(val), 3);
    whole w = take_all(val);
    F32(w.batch.input[0], 10, 20);
    I64(w.batch.target, 2);
    drop_all(&w, val);
    val = NULL;
    expect_fails(env, as_data_open(env, put_text("w.csv", "a,b,y\n1,2,cow\n"), &o, &val), ASSAY_BAD_INPUT, "have no class \"cow\"");
    expect_fails(env, as_data_open(env, put_text("u.csv", "a,y\n1,cat\n"), &o, &val), ASSAY_BAD_INPUT,
                 "column=b: no column has this name");
    expect_fails(env, as_data_open(env, "synthetic:linear", &o, &val), ASSAY_BAD_INPUT,
                 "an example is x [8] with a target, but x [2] with a target in the training data");
    as_data_free(train);
    train = open_plain(put_text("n.csv", "1,0\n2,1\n3,2\n"));
    o.like = train;
    expect_ok(env, as_data_open(env, put_text("m.csv", "1,2\n"), &o, &val));
    expect_eq(as_data_classes(val), 3);
    as_data_free(val);
    val = NULL;
    expect_fails(env, as_data_open(env, put_text("x.csv", "1,3\n"), &o, &val), ASSAY_BAD_INPUT,
                 "has class 3, but the training data");
    as_data_free(train);
    end();
}

/* --- npy ------------------------------------------------------------------------------------------------------------------ */

static const char *put_npy(const char *name, as_dtype dtype, const as_shape *shape, void *values)
{
    const char *path = as_test_path(name);
    as_view     view = as_view_of(values, dtype, shape);
    expect_ok(env, as_npy_save(env, path, &view));
    return path;
}

Test(data_npy, reads_pairs_folders_and_all_dtypes)
{
    begin();
    uint8_t x[2 * 3] = {1, 2, 3, 250, 251, 252};
    int32_t y[2] = {1, 0};
    put_npy("x.npy", AS_U8, &AS_SHAPE(2, 3), x);
    put_npy("y.npy", AS_I32, &AS_SHAPE(2), y);
    char pair[9000];
    snprintf(pair, sizeof pair, "%s,%s", as_test_path("x.npy"), as_test_path("y.npy"));
    for (int i = 0; i < 4; i++) {
        as_data *data = open_as(i % 2 ? pair : as_test_dir(), NULL, i / 2, AS_TARGET_AUTO);
        whole    w = take_all(data);
        F32(w.batch.input[0], 1, 2, 3, 250, 251, 252);
        I64(w.batch.target, 1, 0);
        expect_eq(as_data_classes(data), 2);
        drop_all(&w, data);
    }
    as_data *data = open_as(pair, "dtype=i64", true, AS_TARGET_NUMBER);
    whole    w = take_all(data);
    I64(w.batch.input[0], 1, 2, 3, 250, 251, 252);
    F32(w.batch.target, 1, 0);
    drop_all(&w, data);
    static const as_dtype dtypes[] = {AS_F64, AS_F32, AS_F16, AS_I8, AS_I16, AS_U16, AS_I32, AS_U32, AS_I64, AS_U64, AS_BOOL};
    for (size_t d = 0; d < AS_COUNT(dtypes); d++) {
        uint64_t memory[20];
        as_view  view = as_view_of(memory, dtypes[d], &AS_SHAPE(1, 20));
        for (int i = 0; i < 20; i++)
            as_view_set(&view, i, i);
        data = open_as(put_npy("d.npy", dtypes[d], &AS_SHAPE(1, 20), memory), "scale=2,dtype=f32", true, AS_TARGET_AUTO);
        w = take_all(data);
        for (int i = 0; i < 20; i++)
            expect_near(((const float *)w.batch.input[0].data)[i], dtypes[d] == AS_BOOL ? 2 * (i > 0) : 2 * i, 0);
        drop_all(&w, data);
    }
    end();
}

Test(data_npy, says_what_is_wrong)
{
    begin();
    float   x[6] = {0}, one = 1;
    int64_t y[3] = {0, 1, -1};
    char    pair[9000];
    snprintf(pair, sizeof pair, "%s,%s", put_npy("a.npy", AS_F32, &AS_SHAPE(2, 3), x), put_npy("b.npy", AS_I64, &AS_SHAPE(3), y));
    refuse(pair, "b.npy has 3 targets, and ");
    snprintf(pair, sizeof pair, "%s,%s", put_npy("a.npy", AS_F32, &AS_SHAPE(3, 2), x), as_test_path("b.npy"));
    refuse(pair, "example 2 has class -1; classes are the whole numbers from 0");
    as_data *data = open_as(spec_of(pair, ":as=number"), NULL, true, AS_TARGET_AUTO);
    whole    w = take_all(data);
    F32(w.batch.target, 0, 1, -1);
    drop_all(&w, data);
    refuse(put_npy("one.npy", AS_F32, &(as_shape){0}, &one), "one.npy: is one number; the first axis must count the examples");
    refuse(put_npy("none.npy", AS_F32, &AS_SHAPE(0, 4), x), "none.npy: has no examples");
    refuse(put_text("text.npy", "hello"), "text.npy: not an npy file");
    static const char big[] = "\x93NUMPY\x01\x00v\x00{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"
                              "                                                            \n"
                              "\x00\x00\x80\x3f\x00\x00\x00\xc0";
    refuse_as(put("big.npy", big, sizeof big - 1), NULL, AS_TARGET_AUTO, ASSAY_UNSUPPORTED, "big.npy: its numbers are big-endian");
    static const char fortran[] = "\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }"
                                  "                                                           \n"
                                  "abcd";
    refuse_as(put("f.npy", fortran, sizeof fortran - 1), NULL, AS_TARGET_AUTO, ASSAY_UNSUPPORTED, "f.npy: is in Fortran order");
    end();
}

/* A zip archive of two .npy files as numpy.savez writes it, byte for byte but for times and checksums. */
static void zip_number(as_text *t, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        as_text_add_n(t, &(char){i < 8 ? (char)(value >> 8 * i) : 0}, 1);
}

static void zip_entry(as_text *t, const char *name, uint64_t n, uint64_t at, unsigned method, bool is_wide)
{
    zip_number(t, 0x02014b50, 4);
    zip_number(t, 0, 6);
    zip_number(t, method, 2);
    zip_number(t, 0, 8);
    zip_number(t, is_wide ? UINT32_MAX : n, 4);
    zip_number(t, is_wide ? UINT32_MAX : n, 4);
    zip_number(t, strlen(name), 2);
    zip_number(t, is_wide ? 20 : 0, 2);
    zip_number(t, 0, 10);
    zip_number(t, at, 4);
    as_text_add(t, name);
    if (is_wide) {
        zip_number(t, 1, 2);
        zip_number(t, 16, 2);
        zip_number(t, n, 8);
        zip_number(t, n, 8);
    }
}

static const char *put_npz(const char *file, const char *const *names, const char *const *paths, int n, unsigned method,
                           bool is_wide)
{
    as_text  t = {0};
    uint64_t at[4], bytes[4];
    for (int i = 0; i < n; i++) {
        as_map map;
        expect_ok(env, as_map_open(env, "test", paths[i], 0, &map));
        at[i] = t.length;
        bytes[i] = map.bytes;
        zip_number(&t, 0x04034b50, 4);
        zip_number(&t, 0, 22);
        zip_number(&t, strlen(names[i]), 2);
        zip_number(&t, 3, 2); /* an extra field that makes everything misaligned */
        as_text_add(&t, names[i]);
        zip_number(&t, 0, 3);
        as_text_add_n(&t, (const char *)map.data, map.bytes);
        as_map_close(&map);
    }
    uint64_t directory = t.length;
    for (int i = 0; i < n; i++)
        zip_entry(&t, names[i], bytes[i], at[i], method, is_wide);
    uint64_t end_at = t.length;
    zip_number(&t, 0x06054b50, 4);
    zip_number(&t, 0, 4);
    zip_number(&t, (uint64_t)n, 2);
    zip_number(&t, (uint64_t)n, 2);
    zip_number(&t, end_at - directory, 4);
    zip_number(&t, directory, 4);
    zip_number(&t, 7, 2);
    as_text_add(&t, "comment");
    const char *path = put(file, t.data, t.length);
    as_text_drop(&t);
    return path;
}

Test(data_npz, reads_arrays_in_place)
{
    static const char *const names[] = {"y.npy", "other.npy", "x.npy"};
    begin();
    float       x[6] = {1, 2, 3, 4, 5, 6};
    int64_t     y[3] = {0, 2, 1};
    const char *paths[] = {put_npy("b.npy", AS_I64, &AS_SHAPE(3), y), put_npy("c.npy", AS_F32, &AS_SHAPE(6), x),
                           put_npy("a.npy", AS_F32, &AS_SHAPE(3, 2), x)};
    for (int i = 0; i < 4; i++) {
        as_data *data = open_as(put_npz("a.npz", names, paths, 3, 0, i / 2), NULL, i % 2, AS_TARGET_AUTO);
        whole    w = take_all(data);
        F32(w.batch.input[0], 1, 2, 3, 4, 5, 6);
        I64(w.batch.target, 0, 2, 1);
        drop_all(&w, data);
    }
    as_data *data = open_plain(spec_of(as_test_path("a.npz"), ":x=y,y=x"));
    whole    w = take_all(data);
    I64(w.batch.input[0], 0, 2, 1);
    F32(w.batch.target, 1, 2, 3, 4, 5, 6);
    drop_all(&w, data);
    refuse(spec_of(as_test_path("a.npz"), ":x=z"), "a.npz: has no array z; x=NAME names the one with the inputs");
    refuse(spec_of(as_test_path("a.npz"), ":y=z"), "a.npz: has no array z");
    refuse(spec_of(as_test_path("a.npz"), ":part=test"), "has no array x_test");
    refuse(spec_of(as_test_path("a.npz"), ":x=other"), "a.npz: y has 3 targets, and ");
    refuse_as(put_npz("d.npz", names, paths, 3, 8, false), NULL, AS_TARGET_AUTO, ASSAY_UNSUPPORTED,
              "d.npz: x: is compressed, and cannot be read in place");
    refuse(put_text("e.npz", "hello"), "e.npz: not an npz file: it has no end of a zip archive");
    as_map map;
    expect_ok(env, as_map_open(env, "test", as_test_path("a.npz"), 0, &map));
    for (size_t cut = 1; cut < 300; cut += 7) { /* cut off in front: every place of the directory is wrong */
        as_data_options o = {.mmap = true};
        expect_eq(as_data_open(env, put("f.npz", map.data + cut, map.bytes - cut), &o, &data), ASSAY_BAD_INPUT);
        expect_has(assay_message(env), "f.npz: byte ");
    }
    as_map_close(&map);
    end();
}

/* --- IDX -------------------------------------------------------------------------------------------------------------------- */

static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6},
                     labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 7, 0};

Test(data_idx, reads_images_and_finds_their_labels)
{
    begin();
    const char *path = put("train-images-idx3-ubyte", images, sizeof images);
    as_data    *data = open_plain(path);
    expect(!as_data_target(data));
    as_data_free(data);
    put("train-labels-idx1-ubyte", labels, sizeof labels);
    put("t10k-images-idx3-ubyte", images, sizeof images);
    for (int i = 0; i < 4; i++) {
        data = open_as(i % 2 ? path : as_test_dir(), NULL, i / 2, AS_TARGET_AUTO);
        whole w = take_all(data);
        expect(as_shape_same(&w.batch.input[0].shape, &AS_SHAPE(2, 1, 1, 3)));
        F32(w.batch.input[0], 1, 2, 3, 4, 5, 6);
        I64(w.batch.target, 7, 0);
        expect_eq(as_data_classes(data), 8);
        drop_all(&w, data);
    }
    data = open_plain(spec_of(as_test_dir(), ":part=test"));
    expect(!as_data_target(data));
    as_data_free(data);
    static const uint8_t floats[] = {0, 0, 0x0d, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    for (int mmap = 0; mmap < 2; mmap++) {
        data = open_as(spec_of("idx:", put("f.bin", floats, sizeof floats)), NULL, mmap, AS_TARGET_AUTO);
        whole w = take_all(data);
        F32(w.batch.input[0], 1, -2);
        drop_all(&w, data);
    }
    end();
}

Test(data_idx, says_what_is_wrong_and_where)
{
    begin();
    refuse(put("a-idx3-ubyte", images, sizeof images - 1),
           "a-idx3-ubyte: shape [2,1,3] of u8 needs 6 bytes after the header, the file has 5");
    refuse(put("b-idx3-ubyte", images, 10),
           "b-idx3-ubyte: byte 3 says that there are 3 axes; expected 1 to 7, and 4 bytes for each");
    refuse(put("c-idx3-ubyte", "\0\0\x07\1\0\0\0\1", 8), "c-idx3-ubyte: byte 2 says that elements have the type 0x07");
    refuse(put("d-idx3-ubyte", "hello world", 11), "d-idx3-ubyte: not an IDX file");
    refuse(put("e-idx3-ubyte", "", 0), "e-idx3-ubyte: not an IDX file");
    refuse(put("f-idx1-ubyte", "\0\0\x08\1\0\0\0\0", 8), "f-idx1-ubyte: has no examples");
    refuse(
        put("g-idx3-ubyte",
            "\0\0\x0e\7\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            32),
        "of f64 needs more than 2^63 - 1 bytes");
    refuse_as(put("h-idx3-ubyte.gz", "\x1f\x8b\x08\0\0", 5), NULL, AS_TARGET_AUTO, ASSAY_UNSUPPORTED,
              "is compressed by gzip, which cannot be mapped; unpack it first: gunzip -k");
    put("i-labels-idx1-ubyte", labels, sizeof labels);
    static const uint8_t three[] = {0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3};
    refuse(put("i-images-idx1-ubyte", three, sizeof three), "i-labels-idx1-ubyte has 2 targets, and ");
    refuse(spec_of(as_test_path("a-idx3-ubyte"), ":part=test"), "part= chooses from a folder");
    end();
}

/* --- CIFAR-10 and raw ------------------------------------------------------------------------------------------------------- */

Test(data_cifar10, reads_files_and_folders)
{
    begin();
    static uint8_t record[2 * 3073];
    for (int k = 1; k <= 2; k++) {
        for (int i = 0; i < 2; i++) {
            record[i * 3073] = (uint8_t)(k * 2 + i);
            memset(record + i * 3073 + 1, k * 10 + i, 3072);
        }
        put(k == 1 ? "data_batch_1.bin" : "data_batch_2.bin", record, sizeof record);
    }
    put("test_batch.bin", record, 3073);
    for (int mmap = 0; mmap < 2; mmap++) {
        as_data *data = open_as(as_test_dir(), NULL, mmap, AS_TARGET_AUTO);
        whole    w = take_all(data);
        expect(as_shape_same(&w.batch.input[0].shape, &AS_SHAPE(4, 3, 32, 32)));
        const float *x = w.batch.input[0].data;
        expect(x[0] == 10 && x[3071] == 10 && x[3072] == 11 && x[3 * 3072] == 21);
        I64(w.batch.target, 2, 3, 4, 5);
        expect_str(as_data_label(data, 9), "truck");
        drop_all(&w, data);
    }
    as_data *data = open_plain(spec_of(as_test_dir(), ":part=test"));
    expect_eq(as_data_count(data), 1);
    as_data_free(data);
    refuse(put("data_batch_9.bin", record, 3072), "has 3072 bytes, which is not a number of records of 3073 bytes");
    record[3073] = 10;
    data = open_plain(put("data_batch_9.bin", record, sizeof record));
    as_loader_options o = as_loader_evaluating(2);
    as_loader        *loader;
    as_batch          batch;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect_fails(env, as_loader_next(env, loader, &batch), ASSAY_BAD_INPUT,
                 "data_batch_9.bin: byte 3073: the label is 10; expected 0 to 9");
    as_loader_free(loader);
    as_data_free(data);
    end();
}

Test(data_raw, reads_records_with_the_target_in_front_behind_or_apart)
{
    begin();
    static const uint8_t first[] = {9, 9, 1, 10, 20, 0, 30, 40}, behind[] = {10, 20, 0, 0, 0x80, 0x3f, 30, 40, 0, 0, 0, 0x40};
    for (int mmap = 0; mmap < 2; mmap++) {
        char spec[9000];
        snprintf(spec, sizeof spec, "raw:%s,dtype=u8,shape=2,target=first:u8,header=2", put("a.raw", first, sizeof first));
        as_data *data = open_as(spec, NULL, mmap, AS_TARGET_AUTO);
        whole    w = take_all(data);
        F32(w.batch.input[0], 10, 20, 30, 40);
        I64(w.batch.target, 1, 0);
        drop_all(&w, data);
        snprintf(spec, sizeof spec, "raw:%s,dtype=u8,shape=2,target=last:f32", put("b.raw", behind, sizeof behind));
        data = open_as(spec, NULL, mmap, AS_TARGET_AUTO);
        w = take_all(data);
        F32(w.batch.input[0], 10, 20, 30, 40);
        F32(w.batch.target, 1, 2);
        drop_all(&w, data);
        snprintf(spec, sizeof spec, "raw:%s,%s,dtype=u8,shape=1x2,target=i8x2,classes=50", put("c.raw", first + 3, 2),
                 put("d.raw", first + 6, 2));
        data = open_as(spec, NULL, mmap, AS_TARGET_AUTO);
        w = take_all(data);
        I64(w.batch.target, 30, 40);
        expect_eq(as_data_classes(data), 50);
        drop_all(&w, data);
    }
    const char *path = as_test_path("a.raw");
    char        spec[9000];
#define RAW_REFUSE(rest, part)                                \
    do {                                                      \
        snprintf(spec, sizeof spec, "raw:%s,%s", path, rest); \
        refuse(spec, part);                                   \
    } while (0)
    RAW_REFUSE("dtype=u8", "needs shape=");
    RAW_REFUSE("shape=2", "needs dtype=, one of f64");
    RAW_REFUSE("dtype=u8,shape=2x", "needs shape=");
    RAW_REFUSE("dtype=u8,shape=0", "needs shape=");
    RAW_REFUSE("dtype=u8,shape=3", "has 8 bytes, which is not a header of 0 and a number of records of 3 bytes");
    RAW_REFUSE("dtype=u8,shape=2,target=u8", "say first: or last:");
    RAW_REFUSE("dtype=u8,shape=2,target=first:word", "expected a type such as u8 or f32x3");
    RAW_REFUSE("dtype=u8,shape=9223372036854775807x9223372036854775807", "needs shape=");
    end();
}

/* --- Sequences --------------------------------------------------------------------------------------------------------------- */

Test(data_seq, gives_windows_with_the_time_between_rows)
{
    begin();
    const char *path = put_text("s.csv", "t,u,v\n10,1,100\n11,2,200\n13,3,300\n16,4,400\n20,5,500\n");
    for (int mmap = 0; mmap < 2; mmap++) {
        char spec[9000];
        snprintf(spec, sizeof spec, "seq:%s,time=t,window=2,target=v", path); /* the next value of v, from u and v */
        as_data *data = open_as(spec, NULL, mmap, AS_TARGET_AUTO);
        whole    w = take_all(data);
        expect_eq(as_data_count(data), 3);
        expect_str(as_data_input(data, 1)->name, "timespans");
        expect(as_shape_same(&w.batch.input[0].shape, &AS_SHAPE(3, 2, 2)));
        F32(w.batch.input[0], 1, 100, 2, 200, 2, 200, 3, 300, 3, 300, 4, 400);
        F32(w.batch.input[1], 1, 1, 1, 2, 2, 3); /* nothing is before the first row: it takes as long as the second */
        F32(w.batch.target, 200, 300, 300, 400, 400, 500);
        expect(as_shape_same(&w.batch.target.shape, &AS_SHAPE(3, 2, 1)));
        drop_all(&w, data);
        snprintf(spec, sizeof spec, "seq:%s,time=t,window=3,stride=2,ahead=0,give=last,target=v", path); /* v from u alone */
        data = open_as(spec, NULL, mmap, AS_TARGET_AUTO);
        w = take_all(data);
        F32(w.batch.input[0], 1, 2, 3, 3, 4, 5);
        F32(w.batch.input[1], 1, 1, 2, 2, 3, 4);
        F32(w.batch.target, 300, 500);
        drop_all(&w, data);
        snprintf(spec, sizeof spec, "seq:%s,window=1,ahead=0,target=v,drop=t", path);
        data = open_as(spec, NULL, mmap, AS_TARGET_AUTO);
        w = take_all(data);
        F32(w.batch.input[1], 1, 1, 1, 1, 1);
        F32(w.batch.target, 100, 200, 300, 400, 500);
        drop_all(&w, data);
        snprintf(spec, sizeof spec, "seq:%s,time=t,window=1,ahead=0,target=v", path);
        data = open_as(spec, "normalize", mmap, AS_TARGET_AUTO);
        expect_ok(env, as_data_fit(env, data, NULL));
        w = take_all(data);
        F32(w.batch.input[1], 1, 1, 2, 3, 4); /* times are not normalised */
        expect_near(((const float *)w.batch.input[0].data)[0], -sqrt(2), 1e-6);
        drop_all(&w, data);
    }
    end();
}

Test(data_seq, says_what_is_wrong)
{
    begin();
    char spec[9000];
    snprintf(spec, sizeof spec, "seq:%s,time=t,window=2,target=v", put_text("a.csv", "t,v\n1,1\n3,2\n2,3\n"));
    refuse(spec, "a.csv:4:1: the time 2 does not come after 3, the time of line 3");
    snprintf(spec, sizeof spec, "seq:%s,time=t,window=4,target=v", put_text("b.csv", "t,v\n1,1\n3,2\n4,3\n"));
    refuse(spec, "b.csv: has 3 rows, and one window needs 5 (window=4,ahead=1)");
    snprintf(spec, sizeof spec, "seq:%s,time=t,window=2,target=v", put_text("c.csv", "t,v\n1,1\n3,x\n4,3\n"));
    refuse(spec, "c.csv:3:3: \"x\" in column \"v\" is not a number");
    snprintf(spec, sizeof spec, "seq:%s,time=t", as_test_path("b.csv"));
    refuse(spec, "needs target=NAME");
    snprintf(spec, sizeof spec, "seq:%s,time=t,target=t", as_test_path("b.csv"));
    refuse(spec, "this is the time");
    snprintf(spec, sizeof spec, "seq:%s,time=t,target=v,ahead=0,window=1", as_test_path("b.csv"));
    refuse(spec, "no column is left for the inputs");
    end();
}

/* --- Synthetic ----------------------------------------------------------------------------------------------------------------- */

Test(data_synthetic, sine_is_the_task_of_the_ncp_guides)
{
    begin();
    as_data *data = open_plain("synthetic:sine");
    whole    w = take_all(data);
    expect(as_shape_same(&w.batch.input[0].shape, &AS_SHAPE(1, 48, 2)));
    expect(as_shape_same(&w.batch.target.shape, &AS_SHAPE(1, 48, 1)));
    const float *x = w.batch.input[0].data, *y = w.batch.target.data;
    for (int t = 0; t < 48; t++) {
        double at = 3 * 3.14159265358979323846 * t / 47;
        expect_near(x[2 * t], sin(at), 1e-6);
        expect_near(x[2 * t + 1], cos(at), 1e-6);
        expect_near(y[t], sin(2 * at), 1e-6);
    }
    assay_metric best = as_data_best_loss(data, "mse");
    expect(best.kind == ASSAY_DERIVED && best.value == 0 && as_metric_ok(&best, NULL));
    expect_eq(as_data_best_loss(data, "ce").kind, ASSAY_UNAVAILABLE);
    drop_all(&w, data);
    end();
}

Test(data_synthetic, every_generator_gives_the_same_examples_for_a_seed_and_others_for_another)
{
    static const char *const specs[] = {"synthetic:sine,n=9",     "synthetic:spirals,n=9,classes=3",
                                        "synthetic:digits,n=9",   "synthetic:digits,n=9,size=28",
                                        "synthetic:linear,n=9",   "synthetic:xor,n=9",
                                        "synthetic:sequence,n=9", "synthetic:adding,n=9"};
    begin();
    for (size_t i = 0; i < AS_COUNT(specs); i++) {
        as_data *a = open_plain(specs[i]), *b = open_plain(specs[i]), *c = open_plain(spec_of(specs[i], ",seed=1"));
        whole    wa = take_all(a), wb = take_all(b), wc = take_all(c);
        size_t   bytes = as_view_bytes(&wa.batch.input[0]);
        expect(!memcmp(wa.batch.input[0].data, wb.batch.input[0].data, bytes));
        expect(!memcmp(wa.batch.target.data, wb.batch.target.data, as_view_bytes(&wa.batch.target)));
        expect(memcmp(wa.batch.input[0].data, wc.batch.input[0].data, bytes));
        assay_metric best = as_data_best_loss(a, as_data_classes(a) ? "ce" : "mse");
        expect(best.kind == ASSAY_DERIVED && best.value >= 0 && as_metric_ok(&best, NULL));
        expect_eq(as_data_best_loss(a, "hinge").kind, ASSAY_UNAVAILABLE);
        drop_all(&wa, a);
        drop_all(&wb, b);
        drop_all(&wc, c);
    }
    end();
}

/* The known least loss is what the best predictor really gets: for linear data, least squares on many examples. */
Test(data_synthetic, the_least_loss_of_linear_data_is_what_least_squares_reaches)
{
    begin();
    enum { N = 4000 };
    as_data     *data = open_plain("synthetic:linear,n=4000,features=1,noise=0.5");
    whole        w = take_all(data);
    const float *x = w.batch.input[0].data, *y = w.batch.target.data;
    double       sx = 0, sy = 0, sxx = 0, sxy = 0, loss = 0;
    for (int i = 0; i < N; i++) {
        sx += (double)x[i];
        sy += (double)y[i];
        sxx += (double)x[i] * (double)x[i];
        sxy += (double)x[i] * (double)y[i];
    }
    double slope = (N * sxy - sx * sy) / (N * sxx - sx * sx), offset = (sy - slope * sx) / N;
    for (int i = 0; i < N; i++)
        loss += pow((double)y[i] - slope * (double)x[i] - offset, 2) / N;
    expect_near(loss, as_data_best_loss(data, "mse").value, 0.02); /* 0.25 with a standard error of 0.0056 */
    expect_near(as_data_best_loss(data, "mse").value, 0.25, 1e-12);
    expect_near(as_data_best_loss(data, "mae").value, 0.5 * 0.79788456, 1e-6);
    drop_all(&w, data);
    end();
}

/* For xor, the chance that a corner's noise crosses an axis is known: the loss must lie above the entropy of never erring and below ln 2. */
Test(data_synthetic, the_least_loss_of_classes_grows_with_the_noise_up_to_ln_2)
{
    static const char *const kinds[] = {"synthetic:xor,n=4000,noise=%g", "synthetic:spirals,n=2000,noise=%g",
                                        "synthetic:digits,n=100,noise=%g"};
    static const double      most[] = {0.69314718, 0.69314718, 2.30258509};
    begin();
    for (size_t k = 0; k < AS_COUNT(kinds); k++) {
        double before = -1;
        for (int i = 0; i < 4; i++) {
            char spec[100];
            snprintf(spec, sizeof spec, kinds[k], (double[]){0, 0.4, 2, 100}[i]);
            as_data     *data = open_plain(spec);
            assay_metric best = as_data_best_loss(data, "ce");
            expect(best.value > before || (i == 1 && k == 2)); /* digits with little noise are never confused */
            before = best.value;
            as_data_free(data);
        }
        expect_near(before, most[k], 0.05 * most[k]);
    }
    end();
}

/* All ways to draw two digits differ: without noise the classes can be told apart. */
Test(data_synthetic, no_two_digits_are_drawn_alike)
{
    begin();
    as_data     *data = open_plain("synthetic:digits,n=3000,noise=0");
    whole        w = take_all(data);
    const float *x = w.batch.input[0].data;
    for (int i = 0; i < 3000; i++)
        for (int k = 0; k < 200; k++)
            if (((const int64_t *)w.batch.target.data)[i] != ((const int64_t *)w.batch.target.data)[k])
                expect(memcmp(x + 64 * i, x + 64 * k, 64 * sizeof(float)));
    drop_all(&w, data);
    end();
}

/* --- Preprocessing -------------------------------------------------------------------------------------------------------------- */

Test(data_preprocess, is_read_from_text)
{
    begin();
    as_preprocess p;
    expect_ok(env, as_preprocess_parse(env, "normalize,onehot,flip,crop=4,scale=1/255,flatten,dtype=f32", &p));
    expect(p.normalize && p.onehot && p.flip && p.crop == 4 && p.flatten && p.dtype == AS_F32 && !p.n_given);
    expect_near(p.scale, 1.0 / 255, 1e-18);
    expect_ok(env, as_preprocess_parse(env, "normalize=0.5:0.25/2:4,flip=off", &p));
    expect(p.n_given == 2 && p.mean[1] == 0.25 && p.std[1] == 4 && !p.flip);
    expect_ok(env, as_preprocess_parse(env, "", &p));
    expect(!p.normalize && !p.crop);
    static const struct {
        const char *text, *part;
    } bad[] = {{"normal", "preprocess: unknown word \"normal\"; known: normalize,"},
               {"crop", "crop=: expected a number of pixels"},
               {"crop=0", "crop=0: expected a number of pixels"},
               {"scale=0", "scale=0: expected a factor"},
               {"scale=1/0", "scale=1/0: expected a factor"},
               {"flip,,crop=1", "expected words with commas"},
               {"flip,", "expected words with commas"},
               {"normalize=1", "normalize=1: expected MEAN/STD"},
               {"normalize=1:2/3", "expected MEAN/STD"},
               {"normalize=1/0", "a standard deviation of 0"},
               {"dtype=u8", "dtype=u8: expected f32 or i64"},
               {"flip=7", "flip=7: expected on or off"}};
    for (size_t i = 0; i < AS_COUNT(bad); i++)
        expect_fails(env, as_preprocess_parse(env, bad[i].text, &p), ASSAY_BAD_INPUT, bad[i].part);
    end();
}

Test(data_preprocess, normalises_each_feature_and_validation_by_the_training_statistics)
{
    begin();
    as_data        *train = open_as(put_text("t.csv", "1,1000000,5,0\n3,1000002,5,1\n"), "normalize", true, AS_TARGET_AUTO), *val;
    as_data_options o = {.mmap = true, .like = train, .preprocess.normalize = true};
    expect_ok(env, as_data_open(env, put_text("v.csv", "5,1000001,7,1\n"), &o, &val));
    expect_fails(env, as_data_fit(env, val, train), ASSAY_BAD_INPUT, "cannot take the statistics of");
    expect_ok(env, as_data_fit(env, train, NULL));
    expect_ok(env, as_data_fit(env, val, train));
    const double *mean, *std;
    int           n;
    as_data_statistics(val, &mean, &std, &n);
    expect(n == 3 && mean[0] == 2 && std[0] == 1 && mean[1] == 1000001 && std[1] == 1 && mean[2] == 5 && std[2] == 1);
    whole w = take_all(train), v = take_all(val);
    F32(w.batch.input[0], -1, -1, 0, 1, 1, 0);
    F32(v.batch.input[0], 3, 0, 2);
    drop_all(&w, train);
    drop_all(&v, val);
    end();
}

Test(data_preprocess, scales_first_and_normalises_each_channel_of_images)
{
    begin();
    uint8_t  x[2 * 2 * 2 * 2] = {0, 2, 4, 6, 10, 10, 30, 30, 8, 10, 12, 14, 10, 10, 30, 30}; /* 2 images, 2 channels, 2x2 */
    as_data *data = open_as(put_npy("x.npy", AS_U8, &AS_SHAPE(2, 2, 2, 2), x), "scale=1/2,normalize", true, AS_TARGET_AUTO);
    expect_ok(env, as_data_fit(env, data, NULL));
    const double *mean, *std;
    int           n;
    as_data_statistics(data, &mean, &std, &n);
    expect_eq(n, 2);
    expect_near(mean[0], 3.5, 1e-12);
    expect_near(std[0], sqrt(5.25), 1e-9);
    expect_near(mean[1], 10, 1e-12);
    expect_near(std[1], 5, 1e-9);
    whole w = take_all(data);
    for (int i = 0; i < 16; i++) {
        int c = i / 4 % 2;
        expect_near(((const float *)w.batch.input[0].data)[i], (x[i] * 0.5 - mean[c]) / std[c], 1e-6);
    }
    drop_all(&w, data);
    data = open_as(as_test_path("x.npy"), "normalize=1:2/3:4,flatten", true, AS_TARGET_AUTO);
    w = take_all(data); /* given: no pass is needed */
    expect(as_shape_same(&w.batch.input[0].shape, &AS_SHAPE(2, 8)));
    expect_near(((const float *)w.batch.input[0].data)[1], (2 - 1) / 3.0, 1e-6);
    expect_near(((const float *)w.batch.input[0].data)[4], (10 - 2) / 4.0, 1e-6);
    drop_all(&w, data);
    refuse_as(as_test_path("x.npy"), "normalize=1:2:3/3:4:5", AS_TARGET_AUTO, ASSAY_BAD_INPUT,
              "normalize= has 3 means, and x has 2 channels");
    end();
}

Test(data_preprocess, one_hot_puts_one_1_into_each_row)
{
    begin();
    as_data *data = open_as(put_text("a.csv", "1,0\n2,2\n3,1\n"), "onehot", true, AS_TARGET_AUTO);
    whole    w = take_all(data);
    F32(w.batch.target, 1, 0, 0, 0, 0, 1, 0, 1, 0);
    expect_eq(as_data_classes(data), 3);
    drop_all(&w, data);
    refuse_as("synthetic:linear", "onehot", AS_TARGET_AUTO, ASSAY_BAD_INPUT,
              "onehot needs a target of classes; this target is numbers");
    end();
}

Test(data_preprocess, refuses_what_does_not_fit_the_data)
{
    begin();
    refuse_as("synthetic:linear", "flip", AS_TARGET_AUTO, ASSAY_BAD_INPUT,
              "flip needs images, [H,W] or [C,H,W]; an example of x is [8]");
    refuse_as("synthetic:sine", "crop=1", AS_TARGET_AUTO, ASSAY_BAD_INPUT, "crop needs images");
    refuse_as("synthetic:digits", "crop=8", AS_TARGET_AUTO, ASSAY_BAD_INPUT,
              "crop=8 would push an image of [1,8,8] out of the window");
    refuse_as("synthetic:linear", NULL, AS_TARGET_CLASS, ASSAY_BAD_INPUT, "the target is not a class");
    int32_t x[4] = {0};
    refuse_as(put_npy("x.npy", AS_I32, &AS_SHAPE(2, 2), x), "normalize", AS_TARGET_AUTO, ASSAY_BAD_INPUT,
              "add dtype=f32 to --preprocess");
    refuse_as(as_test_path("x.npy"), NULL, AS_TARGET_CLASS, ASSAY_BAD_INPUT, "x.npy: has no target");
    end();
}

/* Every image of an augmented batch must be a moved, perhaps mirrored copy of its original, with zeros (before normalising) around it; all moves
 * must occur, and the same for the same seed and epoch only. */
Test(data_preprocess, crop_and_flip_move_and_mirror_images_and_pad_with_zeros)
{
    enum { N = 60, H = 5, W = 4, C = 2, CROP = 2, SIDE = 2 * CROP + 1 };
    begin();
    static uint8_t x[N * C * H * W];
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(1 + i % 251);
    as_data *data =
        open_as(put_npy("x.npy", AS_U8, &AS_SHAPE(N, C, H, W), x), "crop=2,flip,normalize=10:20/2:4", true, AS_TARGET_AUTO);
    as_loader_options o = as_loader_training(N, 8);
    as_loader        *loader;
    as_batch          batch;
    int               seen[SIDE][SIDE] = {{0}}, flips = 0;
    o.shuffle = false;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    for (int epoch = 0; epoch < 20; epoch++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        for (int i = 0; i < N; i++) {
            const float *got = (const float *)batch.input[0].data + i * C * H * W;
            int          found = 0;
            for (int move = 0; move < SIDE * SIDE * 2 && !found; move++) {
                int  dy = move / 2 / SIDE - CROP, dx = move / 2 % SIDE - CROP;
                bool same = true;
                for (int k = 0; k < C * H * W && same; k++) {
                    int   c = k / (H * W), row = k / W % H - dy, col = (move % 2 ? W - 1 - k % W : k % W) - dx;
                    float raw = row < 0 || row >= H || col < 0 || col >= W ? 0 : x[((i * C + c) * H + row) * W + col];
                    same = fabsf(got[k] - (raw - (c ? 20.f : 10.f)) / (c ? 4.f : 2.f)) < 1e-5f;
                }
                if (same) {
                    found = 1;
                    seen[dy + CROP][dx + CROP]++;
                    flips += move % 2;
                }
            }
            expect(found);
        }
        as_loader_release(loader, &batch);
    }
    for (int i = 0; i < SIDE * SIDE; i++)
        expect(seen[i / SIDE][i % SIDE] > 15); /* 48 on average */
    expect(flips > 480 && flips < 720);
    as_loader_free(loader);
    o.augment = false;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect_ok(env, as_loader_next(env, loader, &batch));
    for (int k = 0; k < N * C * H * W; k++) {
        int c = k / (H * W) % C;
        expect_near(((const float *)batch.input[0].data)[k], (x[k] - (c ? 20 : 10)) / (c ? 4. : 2.), 1e-5);
    }
    as_loader_free(loader);
    as_data_free(data);
    end();
}

/* --- Parts and hash ------------------------------------------------------------------------------------------------------------------ */

Test(data_split, gives_two_parts_that_have_each_example_once)
{
    begin();
    as_text text = {0};
    for (int i = 0; i < 101; i++)
        as_text_printf(&text, "%d,0.5\n", i);
    as_data *all = open_plain(put("a.csv", text.data, text.length)), *train, *val, *other_train, *other;
    expect_ok(env, as_data_split(env, all, 0.1, 7, &train, &val));
    expect_eq(as_data_count(val), 10);
    expect_eq(as_data_count(train), 91);
    whole a = take_all(train), b = take_all(val);
    int   seen[101] = {0}, in_order = 0;
    for (int i = 0; i < 91; i++)
        seen[(int)((const float *)a.batch.input[0].data)[i]]++;
    for (int i = 0; i < 10; i++) {
        seen[(int)((const float *)b.batch.input[0].data)[i]]++;
        in_order += (int)((const float *)b.batch.input[0].data)[i] == i;
    }
    for (int i = 0; i < 101; i++)
        expect_eq(seen[i], 1);
    expect(in_order < 5);
    expect_ok(env, as_data_split(env, all, 0.1, 8, &other_train, &other));
    whole c = take_all(other);
    expect(memcmp(b.batch.input[0].data, c.batch.input[0].data, 10 * sizeof(float)));
    as_data *inner, *inner_val; /* a part of a part */
    expect_ok(env, as_data_split(env, train, 0.5, 1, &inner, &inner_val));
    whole d = take_all(inner);
    for (int i = 0; i < d.batch.n; i++)
        expect_eq(seen[(int)((const float *)d.batch.input[0].data)[i]]++, 1);
    for (int i = 0; i < 10; i++)
        expect_eq(seen[(int)((const float *)b.batch.input[0].data)[i]], 1);
    as_data_free(inner_val);
    drop_all(&d, inner);
    drop_all(&c, other);
    as_data_free(other_train);
    drop_all(&a, train);
    drop_all(&b, val);
    expect_fails(env, as_data_split(env, all, 0, 1, &train, &val), ASSAY_BAD_INPUT, "it must be above 0 and below 100 %");
    expect_fails(env, as_data_split(env, all, 1, 1, &train, &val), ASSAY_BAD_INPUT, "a share of 1 for validation");
    as_data_free(all);
    all = open_plain("synthetic:sine");
    expect_fails(env, as_data_split(env, all, 0.5, 1, &train, &val), ASSAY_BAD_INPUT, "1 examples are not enough for");
    as_data_free(all);
    as_text_drop(&text);
    end();
}

Test(data_split, normalises_by_the_training_part_alone)
{
    begin();
    as_data      *all = open_as("synthetic:linear,n=50,features=1", "normalize", true, AS_TARGET_AUTO), *train, *val;
    const double *mean, *std;
    int           n;
    expect_ok(env, as_data_split(env, all, 0.4, 3, &train, &val));
    expect_ok(env, as_data_fit(env, train, NULL));
    expect_ok(env, as_data_fit(env, val, train));
    whole  t = take_all(train), v = take_all(val);
    double sum = 0, square = 0, other = 0;
    for (int i = 0; i < 30; i++) {
        double x = (double)((const float *)t.batch.input[0].data)[i];
        sum += x;
        square += x * x;
    }
    for (int i = 0; i < 20; i++)
        other += (double)((const float *)v.batch.input[0].data)[i];
    expect_near(sum / 30, 0, 1e-6);
    expect_near(square / 30, 1, 1e-6);
    expect(fabs(other / 20) > 1e-3);
    as_data_statistics(train, &mean, &std, &n);
    expect_eq(n, 1);
    drop_all(&t, train);
    drop_all(&v, val);
    as_data_free(all);
    end();
}

Test(data_split, cuts_sequences_in_time_and_leaves_out_windows_that_share_rows)
{
    begin();
    as_text text = {0};
    for (int i = 0; i < 100; i++)
        as_text_printf(&text, "%d,%d\n", i, i);
    char spec[9000];
    snprintf(spec, sizeof spec, "seq:%s,time=0,target=1,window=5", put("s.csv", text.data, text.length));
    as_data *all = open_plain(spec), *train, *val;
    expect_eq(as_data_count(all), 95);
    expect_ok(env, as_data_split(env, all, 0.2, 1, &train, &val));
    whole a = take_all(train), b = take_all(val);
    float last = 0, first = 1000;
    for (int64_t i = 0; i < as_shape_count(&a.batch.target.shape); i++)
        last = fmaxf(last, ((const float *)a.batch.target.data)[i]);
    for (int64_t i = 0; i < as_shape_count(&b.batch.input[0].shape); i++)
        first = fminf(first, ((const float *)b.batch.input[0].data)[i]);
    expect_eq(as_data_count(val), 19);
    expect(first - 1 > last); /* the row before a window gives its time: it is not shared either */
    expect_eq(first, 76);
    drop_all(&a, train);
    drop_all(&b, val);
    as_data_free(all);
    as_text_drop(&text);
    end();
}

static void hash_of(const char *spec, bool mmap, as_data_hash *out)
{
    as_data *data = open_as(spec, NULL, mmap, AS_TARGET_AUTO);
    expect_ok(env, as_data_hash_make(env, data, out));
    as_data_free(data);
}

Test(data_hash, names_the_content_and_what_the_spec_makes_of_it)
{
    begin();
    as_data_hash a, b;
    hash_of(put_text("a.csv", "1,2,0\n3,4,1\n"), true, &a);
    expect(!a.is_sampled && a.bytes == 12 && a.bytes_hashed == 12 && strlen(a.hex) == 64);
    hash_of(put_text("b.csv", "1,2,0\n3,4,1\n"), false, &b); /* another name, another way of reading */
    expect_str(a.hex, b.hex);
    hash_of(put_text("b.csv", "1,2,0\n3,5,1\n"), true, &b);
    expect(strcmp(a.hex, b.hex));
    hash_of(spec_of(as_test_path("a.csv"), ":target=0"), true, &b);
    expect(strcmp(a.hex, b.hex));
    hash_of("synthetic:sine,n=5", true, &a);
    hash_of("synthetic:sine,n=5,seed=1", true, &b);
    expect(strcmp(a.hex, b.hex) && a.bytes == 0);
    as_data *all = open_plain("synthetic:linear"), *train, *val;
    expect_ok(env, as_data_split(env, all, 0.5, 1, &train, &val));
    expect_ok(env, as_data_hash_make(env, train, &a));
    expect_ok(env, as_data_hash_make(env, val, &b));
    expect(strcmp(a.hex, b.hex));
    as_data_free(train);
    as_data_free(val);
    as_data_free(all);
    end();
}

Test(data_hash, samples_a_large_file_and_says_so)
{
    begin();
    const char *path = put("big.raw", "x", 1);
    expect_eq(truncate(path, 100 << 20), 0); /* sparse: takes no space */
    char spec[9000];
    snprintf(spec, sizeof spec, "raw:%s,dtype=u8,shape=1024", path);
    as_data_hash a, b;
    hash_of(spec, true, &a);
    expect(a.is_sampled && a.bytes == 100 << 20 && a.bytes_hashed == 258 * 65536);
    FILE *f = fopen(path, "r+b");
    fseek(f, -1, SEEK_END);
    fputc('y', f);
    fclose(f);
    hash_of(spec, true, &b);
    expect(strcmp(a.hex, b.hex)); /* the end is always among the places */
    end();
}

/* A file of 4 GB that takes no space on the disk: opening it and reading some of it takes no memory for its size. */
Test(data_files, a_huge_file_costs_no_memory)
{
    if (as_test_n_allocs() == SIZE_MAX)
        skip("the linker has no --wrap");
    begin();
    const char *path = put("huge.raw", "x", 1);
    if (truncate(path, (off_t)4 << 30))
        skip("no sparse files here");
    char spec[9000];
    snprintf(spec, sizeof spec, "raw:%s,dtype=u8,shape=3x32x32,target=first:u8,classes=10,header=%d", path,
             (int)(((int64_t)4 << 30) % 3073));
    for (int mmap = 0; mmap < 2; mmap++) {
        as_test_reset_peak();
        size_t            before = as_test_live_bytes();
        as_data          *data = open_as(spec, "crop=4,flip", mmap, AS_TARGET_AUTO);
        as_loader_options o = as_loader_training(16, 1);
        as_loader        *loader;
        as_batch          batch;
        expect_ok(env, as_loader_open(env, data, &o, &loader));
        for (int i = 0; i < 20; i++) {
            expect_ok(env, as_loader_next(env, loader, &batch));
            as_loader_release(loader, &batch);
        }
        expect(as_test_peak_bytes() - before < 4u << 20);
        as_loader_free(loader);
        as_data_free(data);
    }
    end();
}
