/* fuzz_run_json.c - the reader of run JSON on any bytes: what it accepts is written as JSON, text and HTML, and its JSON read again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *report(assay_env *env, const assay_facts *f, const char *format, int width, size_t *n)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, n);
    assert(file);
    assay_status status = as_report_write(env, &f, 1, format, &(as_write_settings){.width = width, .colour = width & 1}, file);
    fclose(file);
    assert(status == ASSAY_OK);
    (void)status;
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_env env; /* a fake clock: no calibration for each input */
    as_clock_open_fake(&env.clock, 0);
    assay_facts *f = NULL, *again = NULL;
    if (as_facts_parse(&env, "fuzz", (const char *)data, size, &f) != ASSAY_OK) {
        assert(!f && *assay_message(&env));
        return 0;
    }
    size_t n, n_again;
    free(report(&env, f, "html", 0, &n));
    free(report(&env, f, "text", 40 + (int)(size % 100), &n));
    char        *json = report(&env, f, "json", 0, &n);
    assay_status status = as_facts_parse(&env, "fuzz", json, n, &again);
    assert(status == ASSAY_OK);
    (void)status;
    char *json_again = report(&env, again, "json", 0, &n_again);
    assert(n == n_again && !memcmp(json, json_again, n));
    free(json);
    free(json_again);
    assay_facts_free(f);
    assay_facts_free(again);
    return 0;
}
