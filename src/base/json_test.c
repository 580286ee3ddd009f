/* json_test.c */
#include "base/json.h"

#include <stdlib.h>

#include "base/env.h"
#include "base/file.h"
#include "base/metric.h"
#include "tests/runner/test.h"

static char *written; /* what the last `Written` block wrote */

/* Runs the statements with a writer `w`, and leaves their output in `written`. */
#define Written(pretty, ...)                           \
    do {                                               \
        size_t n_;                                     \
        free(written);                                 \
        FILE   *file_ = open_memstream(&written, &n_); \
        as_json writer_, *w = &writer_;                \
        as_json_start(w, file_, pretty);               \
        __VA_ARGS__;                                   \
        as_json_finish(w);                             \
        fclose(file_);                                 \
    } while (0)

static void done(void)
{
    free(written);
    written = NULL;
}

static json_t *read_back(void)
{
    assay_env env = {0};
    json_t   *root = NULL;
    expect_ok(&env, as_json_parse(&env, "test", "memory", written, strlen(written), &root));
    return root;
}

Test(json, writes_nested_values_tightly)
{
    Written(false, as_json_object(w); as_json_key(w, "a"); as_json_array(w); as_json_i64(w, -1); as_json_u64(w, 2);
            as_json_object(w); as_json_object_end(w); as_json_array(w); as_json_array_end(w); as_json_null(w); as_json_array_end(w);
            as_json_key_bool(w, "b", true); as_json_key_text(w, "c", NULL); as_json_object_end(w));
    expect_str(written, "{\"a\":[-1,2,{},[],null],\"b\":true,\"c\":null}\n");
    done();
}

Test(json, writes_prettily_with_numbers_on_one_line)
{
    Written(true, as_json_object(w); as_json_key(w, "shape"); as_json_array(w); as_json_u64(w, 8); as_json_u64(w, 16);
            as_json_array_end(w); as_json_key(w, "names"); as_json_array(w); as_json_text(w, "x"); as_json_text(w, "y");
            as_json_array_end(w); as_json_key(w, "none"); as_json_object(w); as_json_object_end(w); as_json_object_end(w));
    expect_str(written, "{\n  \"shape\": [8, 16],\n  \"names\": [\n    \"x\",\n    \"y\"\n  ],\n  \"none\": {}\n}\n");
    done();
}

Test(json, breaks_a_long_line_of_numbers)
{
    Written(true, as_json_array(w); for (int i = 0; i < 40; i++) as_json_i64(w, i); as_json_array_end(w));
    expect(strchr(written, '\n') - written > 20);
    expect(strchr(written, '\n') - written < 100);
    json_t *root = read_back();
    size_t  n = json_array_size(root);
    json_decref(root);
    expect_eq(n, 40);
    done();
}

Test(json, escapes_what_would_break_a_string)
{
    static const char text[] = "q\" b\\ n\n t\t c\x01 z\0 u\xc3\xa9 bad\xff\xc3 end";
    Written(false, as_json_text_n(w, text, sizeof text - 1));
    expect_str(written, "\"q\\\" b\\\\ n\\n t\\t c\\u0001 z\xef\xbf\xbd u\xc3\xa9 bad\xef\xbf\xbd\xef\xbf\xbd end\"\n");
    done();
}

Test(json, any_bytes_become_a_document_that_parses)
{
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    Written(false, as_json_array(w); as_json_text_n(w, bytes, 256); as_json_text_n(w, bytes, 0); as_json_array_end(w));
    json_t *root = read_back();
    size_t  n = json_array_size(root);
    json_decref(root);
    expect_eq(n, 2);
    done();
}

Test(json, numbers_read_back_the_same)
{
    static const double values[] = {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 123456789.125, 0x1p53, 1e15, 1e17, 12345678901234567.0};
    for (size_t i = 0; i < AS_COUNT(values); i++) {
        Written(false, as_json_array(w); as_json_f64(w, values[i]); as_json_array_end(w));
        json_t *root = read_back();
        double  got = json_number_value(json_array_get(root, 0));
        json_decref(root);
        expect(got == values[i] && signbit(got) == signbit(values[i]));
    }
    done();
}

Test(json, writes_what_has_no_number_as_null)
{
    Written(false, as_json_array(w); as_json_f64(w, NAN); as_json_f64(w, INFINITY); as_json_f64(w, -INFINITY);
            as_json_array_end(w));
    expect_str(written, "[null,null,null]\n");
    done();
}

Test(json, the_largest_integers_still_parse)
{
    Written(false, as_json_array(w); as_json_i64(w, INT64_MIN); as_json_u64(w, INT64_MAX); as_json_u64(w, UINT64_MAX);
            as_json_array_end(w));
    expect_str(written, "[-9223372036854775808,9223372036854775807,1.8446744073709552e+19]\n");
    json_decref(read_back());
    done();
}

Test(json, writes_a_metric_with_its_certificate)
{
    assay_metric m = as_metric_measured(5.5, 5, 6, 30, "ns", "tsc");
    bool         ok = false;
    Written(false, ok = as_json_metric(w, &m));
    expect(ok);
    expect_str(written, "{\"value\":5.5,\"unit\":\"ns\",\"kind\":\"measured\",\"source\":\"tsc\",\"n\":30,\"lo\":5,\"hi\":6}\n");
    m = as_metric_unavailable("joule", "no sensor");
    Written(false, ok = as_json_metric(w, &m));
    expect(ok);
    expect_str(written, "{\"value\":null,\"unit\":\"joule\",\"kind\":\"unavailable\",\"source\":null,\"n\":0,\"lo\":null,"
                        "\"hi\":null,\"reason\":\"no sensor\"}\n");
    done();
}

Test(json, writes_nothing_for_a_metric_without_a_kind)
{
    assay_metric m = as_metric_counted(5, "byte", "plan");
    m.kind = ASSAY_KIND_MISSING;
    bool ok = true;
    Written(false, as_json_array(w); ok = as_json_metric(w, &m); as_json_array_end(w));
    expect(!ok);
    expect_str(written, "[]\n");
    done();
}

static void expect_refused(const char *data, size_t n, const char *part)
{
    assay_env env = {0};
    json_t   *root = NULL;
    expect_fails(&env, as_json_parse(&env, "model", "m.json", data, n, &root), ASSAY_BAD_INPUT, part);
    expect(!root);
    expect_eq(strncmp(assay_message(&env), "model: m.json: line ", 20), 0);
}

Test(json, says_where_a_document_is_wrong)
{
    expect_refused("{\n\"a\": 1,\n\"a\": 2}", 17, "line 3, column 3: duplicate object key");
    expect_refused("[1] x", 5, "line 1, column 5: end of file expected");
    expect_refused("[1", 2, "line 1, column 2: ");
    expect_refused("", 0, "line 1, column 0: ");
    expect_refused("[\"\xff\"]", 5, "unable to decode byte 0xff");
    expect_refused("[\"a\0b\"]", 7, "control character 0x0");
    expect_refused("[\"\\u0000\"]", 10, "u0000");
    expect_refused("[1,\0 2]", 7, "line 1, column ");
    expect_refused("[1e999]", 7, "real number overflow");
    expect_refused("[99999999999999999999]", 22, "too big integer");
    expect_refused("5", 1, "'[' or '{' expected");
    expect_refused("[\"%s%n\"", 7, "");
}

Test(json, refuses_endless_depth)
{
    char deep[100000];
    memset(deep, '[', sizeof deep);
    expect_refused(deep, sizeof deep, "maximum parsing depth reached");
}

Test(json, loads_a_file_within_its_limit)
{
    assay_env   env = {0};
    json_t     *root = NULL;
    const char *path = as_test_path("m.json");
    expect_ok(&env, as_file_write(&env, path, "{\"a\": 7}\n", 9));
    expect_ok(&env, as_json_load(&env, "model", path, 9, &root));
    json_int_t a = json_integer_value(json_object_get(root, "a"));
    json_decref(root);
    expect_eq(a, 7);
    root = NULL;
    expect_fails(&env, as_json_load(&env, "model", path, 8, &root), ASSAY_BAD_INPUT, "has 9 bytes; at most 8");
    expect_fails(&env, as_json_load(&env, "model", as_test_path("absent"), 0, &root), ASSAY_NOT_FOUND, "cannot open");
    expect_ok(&env, as_file_write(&env, path, "", 0));
    expect_fails(&env, as_json_load(&env, "model", path, 0, &root), ASSAY_BAD_INPUT, "m.json: line 1, column 0: ");
    expect(!root);
}
