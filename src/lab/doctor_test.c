/* doctor_test.c - the doctor's findings: every number has its kind, and everything missing has a reason. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "lab/doctor.h"
#include "sensor/sensor.h"
#include "tests/runner/test.h"

/* A value with a unit is a metric, and has a kind; null values have a reason. */
static void expect_kinds(const json_t *value)
{
    const char *key;
    json_t     *item;
    size_t      i;
    if (json_is_object(value) && json_object_get(value, "unit") && json_object_get(value, "value")) {
        const char *kind = json_string_value(json_object_get(value, "kind"));
        expect(kind && strcmp(kind, "missing"));
        expect(!strcmp(kind, "unavailable") == !!json_is_null(json_object_get(value, "value")));
        expect(strcmp(kind, "unavailable") || json_is_string(json_object_get(value, "reason")));
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, item) expect_kinds(item);
    json_array_foreach(value, i, item) expect_kinds(item);
}

static json_t *doctor_json(assay_env *env)
{
    FILE        *file = tmpfile();
    json_error_t error;
    expect(file);
    expect_ok(env, as_doctor_write(env, file));
    rewind(file);
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    if (!root)
        fail("line %d: %s", error.line, error.text);
    return root;
}

Test(doctor, writes_one_object_in_which_every_number_has_its_kind)
{
    static const char *const keys[] = {"schema",      "cpu",    "caches",     "isa",       "governor",
                                       "virtual",     "steal",  "perf_event", "rapl",      "psi",
                                       "temperature", "clocks", "sensors",    "libraries", "unavailable"};
    assay_env                env = {0};
    json_t                  *root = doctor_json(&env);
    expect_str(json_string_value(json_object_get(root, "schema")), "assay.doctor/1");
    for (size_t i = 0; i < AS_COUNT(keys); i++)
        expect(json_object_get(root, keys[i]));
    size_t n_values = 0;
    for (size_t i = 0; as_sn_table[i]; i++)
        n_values += (size_t)as_sn_table[i]->n_values;
    expect_eq(json_array_size(json_object_get(root, "sensors")), n_values);
    expect(json_array_size(json_object_get(root, "clocks")) >= 2);
    expect_kinds(root);
    json_decref(root);
}

Test(doctor, lists_why_for_everything_that_it_cannot_have)
{
    assay_env env = {0};
    json_t   *root = doctor_json(&env), *item, *sensors = json_object_get(root, "sensors");
    size_t    i, j, n_missing = 0;
    json_t   *missing = json_object_get(root, "unavailable"), *entry;
    json_array_foreach(sensors, i, item)
    {
        if (!json_is_null(json_object_get(json_object_get(item, "now"), "value")))
            continue;
        bool listed = false;
        json_array_foreach(missing, j, entry) listed =
            listed || json_equal(json_object_get(entry, "what"), json_object_get(item, "name"));
        expect(listed);
        n_missing++;
    }
    expect(json_array_size(missing) >= n_missing);
    json_array_foreach(missing, i, entry)
    {
        expect(strlen(json_string_value(json_object_get(entry, "what"))) > 0);
        expect(strlen(json_string_value(json_object_get(entry, "why"))) > 0);
    }
    json_decref(root);
}

Test(doctor, says_when_it_cannot_write)
{
    assay_env env = {0};
    FILE     *file = fopen("/dev/full", "w");
    if (!file)
        skip("no /dev/full here");
    expect_fails(&env, as_doctor_write(&env, file), ASSAY_IO, "could not be written");
    fclose(file);
}
