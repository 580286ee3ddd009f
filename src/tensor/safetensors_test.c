/* safetensors_test.c - files of named tensors: what is read, every refusal, and what is written. */
#include <stdlib.h>

#include "tensor/tensor.h"
#include "tests/runner/test.h"

static assay_env *env; /* one per test process; static so that a failed test leaks nothing */

static void setup(void)
{
    if (!env)
        expect_eq(assay_env_new(&env), ASSAY_OK);
}

static void teardown(void)
{
    assay_env_free(env);
    env = NULL;
}

static _Alignas(64) uint8_t file[2048];

/* A file with this header and n bytes 0, 1, 2 ... of data. */
static size_t make(const char *header, size_t n)
{
    size_t length = strlen(header);
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)length >> (8 * i));
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < n; i++)
        file[8 + length + i] = (uint8_t)i;
    return 8 + length + n;
}

static assay_status parse(size_t n, as_safetensors *out) { return as_safetensors_parse(env, "x.st", file, n, out); }

static void refuse_bytes(size_t n, const char *part)
{
    as_safetensors st = {.n_items = 77};
    expect_fails(env, parse(n, &st), ASSAY_BAD_INPUT, part);
    expect_has(assay_message(env), "safetensors: x.st: ");
    expect_eq(st.n_items, 77);
}

static void refuse(const char *header, size_t n, const char *part) { refuse_bytes(make(header, n), part); }

#define T(name, dtype, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

Test(safetensors, reads_tensors_in_file_order)
{
    setup();
    as_safetensors st;
    expect_ok(env, parse(make("{" T("b", "U8", "[2,3]", 4, 10) "," T("a", "I32", "[1]", 0, 4) "}", 10), &st));
    expect_eq(st.n_items, 2);
    expect_str(st.items[0].name, "a");
    expect_str(st.items[1].name, "b");
    const as_view *b = as_safetensors_find(&st, "b");
    expect(b && b->dtype == AS_U8 && as_shape_same(&b->shape, &AS_SHAPE(2, 3)));
    expect_eq(as_view_get(b, 5), 9);
    expect_eq(as_view_get_i64(as_safetensors_find(&st, "a"), 0), 0x03020100);
    expect(as_safetensors_find(&st, "c") == NULL);
    as_safetensors_drop(&st);
    expect(st.n_items == 0 && !st.items && !st.arena.chunks);
    teardown();
}

Test(safetensors, knows_nine_dtypes)
{
    static const struct {
        const char *header;
        as_dtype    dtype;
        size_t      bytes;
    } rows[] = {
        {"{" T("t", "F64", "[]", 0, 8) "}", AS_F64, 8},
        {"{" T("t", "F32", "[]", 0, 4) "}", AS_F32, 4},
        {"{" T("t", "F16", "[]", 0, 2) "}", AS_F16, 2},
        {"{" T("t", "BF16", "[]", 0, 2) "}", AS_BF16, 2},
        {"{" T("t", "F8_E4M3", "[]", 0, 1) "}", AS_F8E4M3FN, 1},
        {"{" T("t", "F8_E5M2", "[]", 0, 1) "}", AS_F8E5M2, 1},
        {"{" T("t", "F8_E8M0", "[]", 0, 1) "}", AS_F8E8M0, 1},
        {"{" T("t", "I16", "[]", 0, 2) "}", AS_I16, 2},
        {"{" T("t", "U16", "[]", 0, 2) "}", AS_U16, 2},
        {"{" T("t", "U32", "[]", 0, 4) "}", AS_U32, 4},
        {"{" T("t", "U64", "[]", 0, 8) "}", AS_U64, 8},
        {"{" T("t", "I8", "[]", 0, 1) "}", AS_I8, 1},
        {"{" T("t", "U8", "[]", 0, 1) "}", AS_U8, 1},
        {"{" T("t", "I32", "[]", 0, 4) "}", AS_I32, 4},
        {"{" T("t", "I64", "[]", 0, 8) "}", AS_I64, 8},
        {"{" T("t", "BOOL", "[]", 0, 1) "}", AS_BOOL, 1},
    };
    setup();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        as_safetensors st;
        expect_ok(env, parse(make(rows[i].header, rows[i].bytes), &st));
        expect_eq(st.items[0].view.dtype, rows[i].dtype);
        expect_eq(st.items[0].view.shape.rank, 0);
        as_safetensors_drop(&st);
    }
    teardown();
}

Test(safetensors, uses_aligned_tensors_in_place_and_copies_misaligned_ones)
{
    setup();
    for (int pad = 0; pad < 4; pad++) {
        char header[128] = "{" T("t", "I32", "[2]", 0, 8) "}";
        for (int i = 0; i < pad; i++)
            strcat(header, " ");
        as_safetensors st;
        size_t         n = make(header, 8);
        expect_ok(env, parse(n, &st));
        const as_view *v = &st.items[0].view;
        expect_eq((uintptr_t)v->data % 4, 0);
        expect_eq(v->data == (void *)(file + n - 8), (n - 8) % 4 == 0);
        expect_eq(as_view_get_i64(v, 1), 0x07060504);
        as_safetensors_drop(&st);
    }
    teardown();
}

Test(safetensors, reads_no_tensors_empty_tensors_and_metadata)
{
    setup();
    as_safetensors st;
    expect_ok(env, parse(make("{}", 0), &st));
    expect_eq(st.n_items, 0);
    as_safetensors_drop(&st);
    expect_ok(env, parse(make("{\"__metadata__\":{\"format\":\"pt\",\"x\":\"\"}," T("z", "F32", "[0,5]", 1, 1) "," T(
                                  "a", "U8", "[1]", 1, 2) "," T("b", "U8", "[1]", 0, 1) "," T("e", "F64", "[0]", 2, 2) "}",
                              2),
                         &st));
    expect_eq(st.n_items, 4);
    expect_str(st.items[0].name, "b");
    expect_str(st.items[1].name, "z");
    expect_str(st.items[2].name, "a");
    expect_str(st.items[3].name, "e");
    expect(as_safetensors_find(&st, "__metadata__") == NULL);
    as_safetensors_drop(&st);
    teardown();
}

Test(safetensors, refuses_every_prefix_of_a_good_file)
{
    setup();
    size_t n = make("{" T("a", "I32", "[2]", 0, 8) "}", 8);
    for (size_t cut = 0; cut < n; cut++)
        refuse_bytes(cut, "");
    refuse_bytes(5, "ends after 5 bytes, before the length of its header");
    refuse_bytes(20, "bytes after its length, the file has 12");
    teardown();
}

Test(safetensors, refuses_header_lengths_beyond_the_file_and_the_limit)
{
    setup();
    size_t n = make("{}", 0);
    file[0] = 3;
    refuse_bytes(n, "the header needs 3 bytes after its length, the file has 2");
    memset(file, 0xff, 8);
    refuse_bytes(n, "the header has 18446744073709551615 bytes; at most 100000000 are possible");
    memset(file, 0, 8);
    refuse_bytes(n, "does not start with '{'");
    teardown();
}

Test(safetensors, refuses_headers_that_are_no_json_object)
{
    setup();
    refuse("[]", 0, "does not start with '{'");
    refuse(" {}", 0, "does not start with '{'");
    refuse("{\"a\":}", 0, "line 1, column");
    refuse("{} x", 0, "line 1, column");
    refuse("{" T("a", "U8", "[0]", 0, 0) "," T("a", "U8", "[0]", 0, 0) "}", 0, "duplicate");
    refuse("{\"a\":3}", 0, "a: is not an object");
    refuse("{\"__metadata__\":[]}", 0, "__metadata__ is not an object");
    refuse("{\"__metadata__\":{\"n\":1}}", 0, "__metadata__: \"n\" is not a string");
    teardown();
}

Test(safetensors, wants_exactly_three_keys_a_tensor)
{
    setup();
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, "a: has no data_offsets");
    refuse("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}", 0, "a: has no shape");
    refuse("{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "a: has no dtype");
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"strides\":[1]}}", 0,
           "a: unknown key \"strides\"; known: dtype, shape, data_offsets");
    teardown();
}

Test(safetensors, names_the_dtype_that_it_does_not_read)
{
    setup();
    refuse("{" T("a", "F4", "[1]", 0, 1) "}", 1, "a: elements of dtype \"F4\" are not supported; supported: F64 F32");
    refuse("{" T("a", "f32", "[1]", 0, 4) "}", 4, "elements of dtype \"f32\" are not supported");
    refuse("{\"a\":{\"dtype\":7,\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "a: dtype is not a string");
    teardown();
}

Test(safetensors, refuses_shapes_that_are_not_numbers_or_too_many_or_too_large)
{
    setup();
    refuse("{" T("a", "U8", "3", 0, 3) "}", 3, "a: shape is not an array");
    refuse("{" T("a", "U8", "[1.0]", 0, 1) "}", 1, "a: shape[0] is not an integer from 0 on");
    refuse("{" T("a", "U8", "[1,-1]", 0, 1) "}", 1, "a: shape[1] is not an integer from 0 on");
    refuse("{" T("a", "U8", "[true]", 0, 1) "}", 1, "a: shape[0] is not an integer");
    refuse("{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", 0, 1) "}", 1, "a: shape has 9 numbers; at most 8 are possible");
    refuse("{" T("a", "U8", "[4294967296,4294967296]", 0, 1) "}", 1,
           "a: shape [4294967296,4294967296] of u8 needs more than 2^63 - 1 bytes");
    refuse("{" T("a", "U8", "[99999999999999999999]", 0, 1) "}", 1, "line 1, column");
    teardown();
}

Test(safetensors, refuses_offsets_that_do_not_match_shape_and_file)
{
    setup();
    refuse("{" T("a", "F32", "[3]", 0, 8) "}", 8, "a: shape [3] of f32 needs 12 bytes, data_offsets give 8");
    refuse("{" T("a", "U8", "[9]", 0, 9) "}", 8, "a: data_offsets [0,9] do not lie in order within the 8 bytes of data");
    refuse("{" T("a", "U8", "[2]", 4, 2) "}", 8, "a: data_offsets [4,2] do not lie in order");
    refuse("{" T("a", "U8", "[1]", -1, 0) "}", 1, "a: data_offsets[0] is not an integer from 0 on");
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}", 0, "a: data_offsets has 1 numbers, expected 2");
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}", 0,
           "a: data_offsets has 3 numbers; at most 2 are possible");
    teardown();
}

Test(safetensors, refuses_overlaps_holes_and_bytes_left_over)
{
    setup();
    refuse("{" T("a", "U8", "[4]", 0, 4) "," T("b", "U8", "[4]", 3, 7) "}", 7, "a and b overlap at byte 3 of the data");
    refuse("{" T("a", "U8", "[4]", 0, 4) "," T("b", "U8", "[4]", 0, 4) "}", 4, "a and b overlap at byte 0");
    refuse("{" T("a", "U8", "[4]", 0, 4) "," T("b", "U8", "[2]", 6, 8) "}", 8,
           "bytes 4 to 5 of the data, before b, belong to no tensor");
    refuse("{" T("a", "U8", "[4]", 1, 5) "}", 5, "bytes 0 to 0 of the data, before a, belong to no tensor");
    refuse("{" T("a", "U8", "[4]", 0, 4) "}", 6, "the tensors need 4 bytes after the header, the file has 6");
    refuse("{}", 1, "the tensors need 0 bytes after the header, the file has 1");
    teardown();
}

static const uint8_t *contents(const char *path, size_t *n)
{
    static uint8_t bytes[2048];
    FILE          *f = fopen(path, "rb");
    expect(f != NULL);
    *n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return bytes;
}

Test(safetensors, save_sorts_by_width_and_name_and_pads_with_spaces)
{
    uint8_t       u[1] = {7};
    float         f[1] = {1}, g[1] = {2};
    as_named_view items[] = {
        {"u", as_view_of(u, AS_U8, &AS_SHAPE(1))},
        {"g", as_view_of(g, AS_F32, &AS_SHAPE(1))},
        {"f", as_view_of(f, AS_F32, &(as_shape){0})},
    };
    setup();
    const char *path = as_test_path("sorted.safetensors");
    expect_ok(env, as_safetensors_save(env, path, items, 3));
    size_t            n;
    const uint8_t    *bytes = contents(path, &n);
    static const char want[] = "{" T("f", "F32", "[]", 0, 4) "," T("g", "F32", "[1]", 4, 8) "," T("u", "U8", "[1]", 8, 9) "}";
    size_t            length = bytes[0];
    expect_eq(length % 8, 0);
    expect_eq(n, 8 + length + 9);
    expect(!memcmp(bytes + 8, want, sizeof want - 1));
    for (size_t i = sizeof want - 1; i < length; i++)
        expect_eq(bytes[8 + i], ' ');
    expect_eq(bytes[n - 1], 7);
    teardown();
}

Test(safetensors, what_is_saved_loads_the_same_and_in_place)
{
    uint64_t      memory[AS_N_DTYPES][4] = {{0}};
    as_named_view items[AS_N_DTYPES];
    size_t        n = 0;
    setup();
    for (int d = AS_NONE + 1; d < AS_N_DTYPES; d++) {
        bool no_name = d == AS_F8E4M3FNUZ || d == AS_F8E5M2FNUZ || as_dtype_bits((as_dtype)d) < 8;
        if (no_name)
            continue;
        items[n] = (as_named_view){as_dtype_name((as_dtype)d), as_view_of(memory[d], (as_dtype)d, &AS_SHAPE(3, 1))};
        for (int i = 0; i < 3; i++)
            as_view_set(&items[n].view, i, i - 1);
        n++;
    }
    const char *path = as_test_path("round.safetensors");
    expect_ok(env, as_safetensors_save(env, path, items, n));
    as_safetensors st;
    expect_ok(env, as_safetensors_load(env, path, &st));
    expect_eq(st.n_items, n);
    for (size_t i = 0; i < n; i++) {
        const as_view *v = as_safetensors_find(&st, items[i].name);
        expect(v && v->dtype == items[i].view.dtype);
        expect_eq(as_view_error(v, &items[i].view), 0);
        expect((const uint8_t *)v->data > st.map.data && (const uint8_t *)v->data < st.map.data + st.map.bytes);
    }
    as_safetensors_drop(&st);
    teardown();
}

Test(safetensors, save_is_the_same_whatever_the_order_of_its_items)
{
    int32_t       a = 1, b = 2;
    as_named_view one[] = {{"a", as_view_of(&a, AS_I32, &AS_SHAPE(1))}, {"b", as_view_of(&b, AS_I32, &AS_SHAPE(1))}};
    as_named_view two[] = {one[1], one[0]};
    uint8_t       first[2048];
    size_t        n_first, n;
    setup();
    const char *path = as_test_path("order.safetensors");
    expect_ok(env, as_safetensors_save(env, path, one, 2));
    memcpy(first, contents(path, &n_first), sizeof first);
    expect_ok(env, as_safetensors_save(env, path, two, 2));
    const uint8_t *second = contents(path, &n);
    expect_eq(n, n_first);
    expect(!memcmp(first, second, n));
    teardown();
}

Test(safetensors, save_takes_strided_views_odd_names_and_nothing_at_all)
{
    float         data[6] = {0, 1, 2, 3, 4, 5};
    as_named_view item = {"l\"1\"\\w\n\xc3\xa9", {.data = data, .dtype = AS_F32, .shape = AS_SHAPE(3, 2), .stride = {1, 3}}};
    setup();
    const char *path = as_test_path("odd.safetensors");
    expect_ok(env, as_safetensors_save(env, path, &item, 1));
    as_safetensors st;
    expect_ok(env, as_safetensors_load(env, path, &st));
    const as_view *v = as_safetensors_find(&st, item.name);
    expect(v && as_view_contiguous(v));
    expect_eq(as_view_error(v, &item.view), 0);
    as_safetensors_drop(&st);
    expect_ok(env, as_safetensors_save(env, path, NULL, 0));
    expect_ok(env, as_safetensors_load(env, path, &st));
    expect_eq(st.n_items, 0);
    as_safetensors_drop(&st);
    teardown();
}

Test(safetensors, save_refuses_bad_names_and_views_and_keeps_the_old_file)
{
    float         x = 1;
    as_named_view good = {"x", as_view_of(&x, AS_F32, &AS_SHAPE(1))}, none = good, huge = good;
    none.view.dtype = AS_NONE;
    huge.view.shape.dim[0] = INT64_MAX;
    setup();
    const char *path = as_test_path("kept.safetensors");
    expect_ok(env, as_safetensors_save(env, path, &good, 1));
    expect_fails(env, as_safetensors_save(env, path, (as_named_view[]){good, good}, 2), ASSAY_BAD_INPUT,
                 "two tensors are called x");
    expect_fails(env, as_safetensors_save(env, path, (as_named_view[]){{"__metadata__", good.view}}, 1), ASSAY_BAD_INPUT,
                 "a tensor cannot be called __metadata__");
    expect_fails(env, as_safetensors_save(env, path, (as_named_view[]){{"a\xff", good.view}}, 1), ASSAY_BAD_INPUT,
                 "the name of tensor 0, a?, is not UTF-8");
    expect_fails(env, as_safetensors_save(env, path, &none, 1), ASSAY_BAD_INPUT, "cannot save x, of dtype none and shape [1]");
    expect_fails(env, as_safetensors_save(env, path, &huge, 1), ASSAY_BAD_INPUT, "cannot save x, of dtype f32");
    none.view.dtype = AS_I4;
    expect_fails(env, as_safetensors_save(env, path, &none, 1), ASSAY_UNSUPPORTED, "x is of i4, for which the format has no name");
    none.view.dtype = AS_F8E5M2FNUZ;
    expect_fails(env, as_safetensors_save(env, path, &none, 1), ASSAY_UNSUPPORTED, "x is of f8e5m2fnuz, for which");
    as_safetensors st;
    expect_ok(env, as_safetensors_load(env, path, &st));
    as_safetensors_drop(&st);
    expect_fails(env, as_safetensors_save(env, as_test_path("no/such/dir"), &good, 1), ASSAY_IO, "cannot write");
    teardown();
}

Test(safetensors, save_refuses_tensors_that_together_cannot_be_counted)
{
    uint8_t x = 0;
    as_view wide = {.data = &x, .dtype = AS_U8, .shape = AS_SHAPE(INT64_MAX)}; /* stride 0: one byte, repeated */
    setup();
    expect_fails(env, as_safetensors_save(env, as_test_path("sum"), (as_named_view[]){{"a", wide}, {"b", wide}}, 2),
                 ASSAY_BAD_INPUT, "2 tensors need more than 2^63 - 1 bytes");
    teardown();
}

Test(safetensors, load_names_a_missing_and_a_broken_file)
{
    setup();
    as_safetensors st = {0};
    expect_fails(env, as_safetensors_load(env, as_test_path("missing"), &st), ASSAY_NOT_FOUND, "missing: cannot open");
    expect_ok(env, as_file_write(env, as_test_path("short"), "abc", 3));
    expect_fails(env, as_safetensors_load(env, as_test_path("short"), &st), ASSAY_BAD_INPUT, "short: ends after 3 bytes");
    expect(!st.items && !st.map.base);
    teardown();
}
