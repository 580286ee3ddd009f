/* npy_test.c - files as numpy writes them, every way in which one can be wrong, and what we write. */
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

/* A file in memory; bytes + 0 is aligned to 64. */
static _Alignas(64) uint8_t file[1024];

/* Version `major` with this header and data; `align` pads the header with spaces and a line break. */
static size_t make(int major, const char *header, size_t align, const void *data, size_t n)
{
    size_t at = major == 1 ? 10 : 12, length = strlen(header), total = length;
    if (align)
        while ((at + ++total) % align)
            ;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)major;
    file[7] = 0;
    memset(file + 8, 0, 4);
    file[8] = (uint8_t)total;
    file[9] = (uint8_t)(total >> 8);
    memcpy(file + at, header, length);
    if (total > length) {
        memset(file + at + length, ' ', total - length);
        file[at + total - 1] = '\n';
    }
    if (n)
        memcpy(file + at + total, data, n);
    return at + total + n;
}

#define HEADER(descr, order, shape) "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }"

static assay_status parse(size_t n, as_tensor *out) { return as_npy_parse(env, "x.npy", file, n, out); }

/* Parses a file that must be refused with a message that contains `part`; the output must stay as it was. */
static void refuse(size_t n, const char *part)
{
    as_tensor t = {.owned = env};
    expect_fails(env, parse(n, &t), ASSAY_BAD_INPUT, part);
    expect_has(assay_message(env), "npy: x.npy: ");
    expect(t.owned == env);
}

static void refuse_header(const char *header, const char *part) { refuse(make(1, header, 64, NULL, 0), part); }

Test(npy, reads_all_three_versions_in_place)
{
    static const float data[6] = {0, 1, 2, 3, 4, 5};
    setup();
    for (int major = 1; major <= 3; major++) {
        as_tensor t;
        expect_ok(env, parse(make(major, HEADER("<f4", "False", "(2, 3)"), 64, data, sizeof data), &t));
        expect_eq(t.view.dtype, AS_F32);
        expect(as_shape_same(&t.view.shape, &AS_SHAPE(2, 3)));
        expect(t.owned == NULL);
        expect((uint8_t *)t.view.data > file && (uint8_t *)t.view.data < file + sizeof file);
        for (int i = 0; i < 6; i++)
            expect_eq(as_view_get(&t.view, i), i);
        as_tensor_drop(&t);
    }
    teardown();
}

/* The bytes of numpy.save(f, numpy.array([1.5, -2], '>f8')), numpy 2.4. */
static const char from_numpy[] = "\x93NUMPY\x01\x00v\x00{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }"
                                 "                                                            \n"
                                 "\x3f\xf8\x00\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x00";

Test(npy, reads_a_file_of_numpys_own_and_swaps_big_endian_into_owned_memory)
{
    setup();
    as_tensor t;
    expect_ok(env, as_npy_parse(env, "x.npy", (const uint8_t *)from_numpy, sizeof from_numpy - 1, &t));
    expect_eq(t.view.dtype, AS_F64);
    expect(t.owned && t.view.data == t.owned);
    expect(as_view_get(&t.view, 0) == 1.5 && as_view_get(&t.view, 1) == -2.0);
    as_tensor_drop(&t);
    expect(!t.owned && !t.view.data);
    teardown();
}

Test(npy, reads_every_dtype_it_names)
{
    static const struct {
        const char *header;
        as_dtype    dtype;
        uint8_t     two[8];
    } rows[] = {
        {HEADER("<f2", "False", "()"), AS_F16, {0x00, 0x40}},
        {HEADER(">f2", "False", "()"), AS_F16, {0x40, 0x00}},
        {HEADER("=f4", "False", "()"), AS_F32, {0, 0, 0, 0x40}},
        {HEADER(">f4", "False", "()"), AS_F32, {0x40, 0, 0, 0}},
        {HEADER("|f8", "False", "()"), AS_F64, {0, 0, 0, 0, 0, 0, 0, 0x40}},
        {HEADER("|i1", "False", "()"), AS_I8, {2}},
        {HEADER(">u1", "False", "()"), AS_U8, {2}},
        {HEADER("<i4", "False", "()"), AS_I32, {2, 0, 0, 0}},
        {HEADER(">i4", "False", "()"), AS_I32, {0, 0, 0, 2}},
        {HEADER("<i8", "False", "()"), AS_I64, {2, 0}},
        {HEADER(">i8", "False", "()"), AS_I64, {0, 0, 0, 0, 0, 0, 0, 2}},
        {HEADER("|b1", "False", "()"), AS_BOOL, {2}},
    };
    setup();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        as_tensor t;
        expect_ok(env, parse(make(1, rows[i].header, 64, rows[i].two, as_dtype_bytes(rows[i].dtype)), &t));
        expect_eq(t.view.dtype, rows[i].dtype);
        expect_eq(t.view.shape.rank, 0);
        expect_eq(as_view_get(&t.view, 0), rows[i].dtype == AS_BOOL ? 1 : 2);
        as_tensor_drop(&t);
    }
    teardown();
}

Test(npy, reads_fortran_order_through_strides)
{
    static const int8_t columns[6] = {0, 10, 1, 11, 2, 12};
    setup();
    as_tensor t;
    expect_ok(env, parse(make(1, HEADER("|i1", "True", "(2, 3)"), 64, columns, 6), &t));
    static const int want[6] = {0, 1, 2, 10, 11, 12};
    for (int i = 0; i < 6; i++)
        expect_eq(as_view_get(&t.view, i), want[i]);
    as_tensor_drop(&t);
    teardown();
}

Test(npy, copies_misaligned_elements)
{
    static const int32_t data[2] = {7, -9};
    setup();
    as_tensor   t;
    const char *header = HEADER("<i4", "False", "(2,)");
    size_t      n = make(1, header, (10 + strlen(header)) % 4 ? 0 : 63, data, sizeof data);
    expect_ok(env, parse(n, &t));
    expect(t.owned != NULL);
    expect_eq((uintptr_t)t.view.data % 4, 0);
    expect_eq(as_view_get(&t.view, 1), -9);
    as_tensor_drop(&t);
    teardown();
}

Test(npy, takes_any_python_spelling_of_the_same_dict)
{
    static const char *const headers[] = {
        "{\"shape\":(2,1),\"descr\":\"|u1\",\"fortran_order\":False}",
        " { 'fortran_order' : False ,\n'shape' : ( 2 , 1 , ) , 'descr' : '|u1' , } \t",
        "{'descr':'|u1','fortran_order':False,'shape':(2L,1L)}",
    };
    setup();
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        as_tensor t;
        expect_ok(env, parse(make(1, headers[i], 64, "\x05\x06", 2), &t));
        expect(as_shape_same(&t.view.shape, &AS_SHAPE(2, 1)));
        expect_eq(as_view_get(&t.view, 1), 6);
        as_tensor_drop(&t);
    }
    teardown();
}

Test(npy, reads_empty_tensors)
{
    setup();
    as_tensor t;
    expect_ok(env, parse(make(1, HEADER("<f4", "True", "(3, 0)"), 64, NULL, 0), &t));
    expect_eq(as_shape_count(&t.view.shape), 0);
    as_tensor_drop(&t);
    expect_ok(env, parse(make(1, HEADER(">f4", "False", "(0,)"), 64, NULL, 0), &t));
    as_tensor_drop(&t);
    teardown();
}

Test(npy, refuses_a_file_that_is_too_short_or_too_long_with_the_numbers)
{
    static const uint8_t data[64] = {0};
    setup();
    refuse(make(1, HEADER("<f4", "False", "(3, 4)"), 64, data, 40),
           "shape [3,4] of f32 needs 48 bytes after the header, the file has 40");
    refuse(make(1, HEADER("<f4", "False", "(3, 4)"), 64, data, 49),
           "shape [3,4] of f32 needs 48 bytes after the header, the file has 49");
    refuse(make(1, HEADER("<f8", "False", "()"), 64, data, 0), "shape [] of f64 needs 8 bytes after the header, the file has 0");
    teardown();
}

Test(npy, refuses_every_prefix_of_a_good_file)
{
    static const float data[6] = {0};
    setup();
    size_t n = make(2, HEADER("<f4", "False", "(2, 3)"), 64, data, sizeof data);
    for (size_t cut = 0; cut < n; cut++)
        refuse(cut, "");
    refuse(0, "not an npy file");
    refuse(6, "ends after 6 bytes, before its version");
    refuse(9, "ends after 9 bytes, before the length of its header");
    refuse(20, "the header needs 116 bytes after byte 12, the file has 8");
    teardown();
}

Test(npy, refuses_other_magic_and_versions)
{
    setup();
    size_t n = make(1, HEADER("|u1", "False", "(0,)"), 64, NULL, 0);
    file[6] = 4;
    refuse(n, "format version 4.0 is not supported; supported: 1.0, 2.0, 3.0");
    file[6] = 0;
    refuse(n, "format version 0.0");
    file[6] = 1, file[7] = 1;
    refuse(n, "format version 1.1");
    file[0] = 'P';
    refuse(n, "does not start with \\x93NUMPY");
    teardown();
}

Test(npy, names_the_dtype_that_it_does_not_read)
{
    setup();
    refuse_header(HEADER("<c16", "False", "(0,)"), "elements of type '<c16' are not supported; supported: f2 f4 f8");
    refuse_header(HEADER("<u3", "False", "(0,)"), "elements of type '<u3'");
    refuse_header(HEADER("f4", "False", "(0,)"), "elements of type 'f4'");
    refuse_header(HEADER("!f4", "False", "(0,)"), "elements of type '!f4'");
    refuse_header(HEADER("", "False", "(0,)"), "elements of type ''");
    refuse_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }", "structured dtypes are not supported");
    teardown();
}

Test(npy, wants_each_key_exactly_once)
{
    setup();
    refuse_header("{'descr': '|u1', 'fortran_order': False, 'shape': (0,), 'extra': 1}", "unknown key 'extra'");
    refuse_header("{'descr': '|u1', 'descr': '|u1', }", "key 'descr' is in the header twice");
    refuse_header("{'shape': (1,), 'shape': (1,), }", "key 'shape' is in the header twice");
    refuse_header("{'fortran_order': False, 'shape': (0,)}", "has no key 'descr'");
    refuse_header("{'descr': '|u1', 'shape': (0,)}", "has no key 'fortran_order'");
    refuse_header("{'descr': '|u1', 'fortran_order': False}", "has no key 'shape'");
    refuse_header("{}", "has no key 'descr'");
    teardown();
}

Test(npy, says_where_the_header_goes_wrong)
{
    setup();
    refuse_header("", "expected '{'");
    refuse_header("['descr']", "header byte 10 is 0x5b, expected '{'");
    refuse_header("{descr: 1}", "header byte 11 is 0x64, expected a key in quotes");
    refuse_header("{'descr' '<f4'}", "expected ':'");
    refuse_header("{'descr': '<f4' 'shape': ()}", "expected ',' or '}'");
    refuse_header("{'descr': '<f4", "expected the end of the string");
    refuse_header("{'de\\x73cr': '<f4'}", "is 0x5c, expected the end of the string");
    refuse_header("{'fortran_order': 0}", "expected True or False");
    refuse_header("{'shape': [3]}", "expected a tuple");
    refuse_header("{'shape': (3)}", "expected ',' in shape");
    refuse_header("{'shape': (3 4)}", "expected ',' in shape");
    refuse_header("{'shape': (3, 4 5)}", "expected ',' or ')' in shape");
    refuse_header("{'shape': (,)}", "expected a dimension");
    refuse_header("{'shape': (-3,)}", "is 0x2d, expected a dimension");
    refuse_header("{'shape': (3,", "expected a dimension");
    refuse_header(HEADER("<f4", "False", "(1,)") "x", "expected nothing but white space after '}'");
    refuse(make(1, "{'shape': (3,), ", 0, NULL, 0), "the header ends at byte 26, expected a key in quotes");
    teardown();
}

Test(npy, refuses_shapes_that_cannot_be_counted)
{
    setup();
    refuse_header(HEADER("<f4", "False", "(9223372036854775808,)"), "a dimension above 2^63 - 1");
    refuse_header(HEADER("<f4", "False", "(99999999999999999999999,)"), "a dimension above 2^63 - 1");
    refuse_header(HEADER("<f4", "False", "(9223372036854775807,)"),
                  "shape [9223372036854775807] of f32 needs more than 2^63 - 1 bytes");
    refuse_header(HEADER("|u1", "False", "(4294967296, 4294967296)"), "needs more than 2^63 - 1 bytes");
    refuse_header(HEADER("|u1", "True", "(0, 4294967296, 4294967296)"), "needs more than 2^63 - 1 bytes");
    refuse_header(HEADER("|u1", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "shape has more than 8 dimensions");
    teardown();
}

Test(npy, cuts_a_long_name_in_the_sentence_and_shows_no_control_bytes)
{
    char header[200] = "{'\x1b[31m";
    setup();
    memset(header + 7, 'k', 150);
    refuse_header(header, "");
    strcpy(header + 157, "': 1}");
    refuse_header(header, "unknown key '?[31mkkk");
    expect(strlen(assay_message(env)) < 200);
    teardown();
}

static void *contents(const char *path, size_t *n)
{
    static uint8_t bytes[2048];
    FILE          *f = fopen(path, "rb");
    expect(f != NULL);
    *n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return bytes;
}

Test(npy, save_pads_the_header_to_a_multiple_of_64_and_writes_the_elements)
{
    float   data[2] = {1, -2};
    as_view v = as_view_of(data, AS_F32, &AS_SHAPE(2));
    setup();
    const char *path = as_test_path("plain.npy");
    expect_ok(env, as_npy_save(env, path, &v));
    size_t            n;
    const char       *bytes = contents(path, &n);
    static const char want[] = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
                               "                                                            \n"
                               "\x00\x00\x80\x3f\x00\x00\x00\xc0";
    expect_eq(n, sizeof want - 1);
    expect(!memcmp(bytes, want, n));
    teardown();
}

Test(npy, what_is_saved_loads_the_same_for_every_dtype_and_rank)
{
    setup();
    for (int d = AS_NONE + 1; d < AS_N_DTYPES; d++)
        for (int rank = 0; rank <= AS_MAX_RANK; rank++) {
            uint64_t memory[6] = {0};
            as_shape shape = {.rank = rank};
            for (int i = 0; i < rank; i++)
                shape.dim[i] = i == 1 ? 3 : i == 4 ? 2 : 1;
            as_view v = as_view_of(memory, (as_dtype)d, &shape);
            for (int64_t i = 0; i < as_shape_count(&shape); i++)
                as_view_set(&v, i, (double)(i * 37 - 60));
            as_tensor   t;
            const char *path = as_test_path("round.npy");
            expect_ok(env, as_npy_save(env, path, &v));
            expect_ok(env, as_npy_load(env, path, &t));
            as_dtype written = d == AS_BF16 || as_dtype_is_small_float((as_dtype)d) ? AS_F32
                               : d == AS_I4 || d == AS_I2                           ? AS_I8
                               : d == AS_U4 || d == AS_U2                           ? AS_U8
                                                                                    : (as_dtype)d;
            expect_eq(t.view.dtype, written);
            expect_eq((uintptr_t)t.view.data % 64, 0);
            expect_eq(as_view_error(&t.view, &v), 0);
            as_tensor_drop(&t);
        }
    teardown();
}

Test(npy, save_brings_a_strided_view_into_row_major_order)
{
    int32_t data[6] = {0, 1, 2, 3, 4, 5};
    as_view transposed = {.data = data, .dtype = AS_I32, .shape = AS_SHAPE(3, 2), .stride = {1, 3}};
    setup();
    as_tensor   t;
    const char *path = as_test_path("strided.npy");
    expect_ok(env, as_npy_save(env, path, &transposed));
    expect_ok(env, as_npy_load(env, path, &t));
    expect(as_view_contiguous(&t.view));
    expect_eq(as_view_error(&t.view, &transposed), 0);
    as_tensor_drop(&t);
    teardown();
}

Test(npy, save_writes_bools_as_zero_or_one_and_empty_tensors_as_a_header)
{
    uint8_t data[2] = {0, 255};
    as_view v = as_view_of(data, AS_BOOL, &AS_SHAPE(2)), none = as_view_of(NULL, AS_F64, &AS_SHAPE(0, 4));
    setup();
    size_t      n;
    const char *path = as_test_path("bool.npy");
    expect_ok(env, as_npy_save(env, path, &v));
    const uint8_t *bytes = contents(path, &n);
    expect_eq(bytes[n - 1], 1);
    expect_ok(env, as_npy_save(env, path, &none));
    contents(path, &n);
    expect_eq(n % 64, 0);
    teardown();
}

Test(npy, save_refuses_what_is_no_tensor_and_keeps_the_old_file)
{
    float   x = 1;
    as_view good = as_view_of(&x, AS_F32, &AS_SHAPE(1)), bad = good, deep = good;
    bad.dtype = AS_NONE;
    deep.shape.dim[0] = -1;
    setup();
    const char *path = as_test_path("kept.npy");
    expect_ok(env, as_npy_save(env, path, &good));
    expect_fails(env, as_npy_save(env, path, &bad), ASSAY_BAD_INPUT, "cannot save a tensor of dtype none and shape [1]");
    expect_fails(env, as_npy_save(env, path, &deep), ASSAY_BAD_INPUT, "of dtype f32 and shape [-1]");
    as_tensor t;
    expect_ok(env, as_npy_load(env, path, &t));
    as_tensor_drop(&t);
    expect_fails(env, as_npy_save(env, as_test_path("no/such/dir.npy"), &good), ASSAY_IO, "cannot write");
    teardown();
}

Test(npy, load_closes_the_mapping_when_it_had_to_copy)
{
    setup();
    const char *path = as_test_path("big.npy");
    expect_ok(env, as_file_write(env, path, from_numpy, sizeof from_numpy - 1));
    as_tensor t;
    expect_ok(env, as_npy_load(env, path, &t));
    expect(t.owned && !t.map.base);
    expect(as_view_get(&t.view, 0) == 1.5);
    as_tensor_drop(&t);
    teardown();
}

Test(npy, load_names_a_missing_an_empty_and_a_broken_file)
{
    setup();
    as_tensor t = {0};
    expect_fails(env, as_npy_load(env, as_test_path("missing.npy"), &t), ASSAY_NOT_FOUND, "missing.npy: cannot open");
    expect_ok(env, as_file_write(env, as_test_path("empty.npy"), "", 0));
    expect_fails(env, as_npy_load(env, as_test_path("empty.npy"), &t), ASSAY_BAD_INPUT, "not an npy file");
    expect_ok(env, as_file_write(env, as_test_path("text.npy"), "1 2 3\n", 6));
    expect_fails(env, as_npy_load(env, as_test_path("text.npy"), &t), ASSAY_BAD_INPUT, "not an npy file");
    expect(!t.owned && !t.map.base && !t.view.data);
    teardown();
}
