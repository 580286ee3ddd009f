/* brief_test.c - the first screen: short enough, honest about what it leaves out, and with trust decided by the checks. */
#include "report/brief.h"

#include <math.h>

#include "report/test_report.h"

static char *printed(const as_brief *b, as_brief_settings s)
{
    char  *data = NULL;
    size_t bytes;
    FILE  *file = open_memstream(&data, &bytes);
    expect(as_brief_print(b, &s, file));
    fclose(file);
    return data;
}

static int widest_line(const char *text)
{
    int widest = 0;
    while (*text) {
        size_t n = strcspn(text, "\n");
        char  *line = strndup(text, n);
        int    columns = as_text_columns(line);
        widest = columns > widest ? columns : widest;
        free(line);
        text += n + (text[n] == '\n');
    }
    return widest;
}

Test(brief, a_profile_fits_one_screen_and_names_what_matters)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    char        *text = as_test_report(env, f, 1, "basic", (as_write_settings){.width = 80});
    expect(strstr(text, "synthetic-mlp   batch 8 · CPU, 1 thread · Imaginary 4000"));
    expect(strstr(text, "Latency  100 us"));
    expect(strstr(text, "Memory   796 KiB        398 KiB weights + 392 KiB packed + 6.00 KiB working"));
    expect(strstr(text, "Where the time goes"));
    expect(strstr(text, "relu1"));
    expect(strstr(text, "--report detailed"));
    expect(as_test_count(text, "\n") <= AS_BRIEF_LINES);
    expect(widest_line(text) <= 80);
    free(text);
    assay_facts_free(f);
    assay_env_free(env);
}

/* Many layers with long names on a narrow and on a wide terminal: the layers left out are one row, and the shares add up to the
 * whole. */
Test(brief, many_layers_become_the_slowest_and_the_rest)
{
    assay_env   *env = as_test_env();
    assay_trace *t = as_synthetic_trace(env, (as_synthetic){0});
    assay_facts *f;
    static char  names[300][160];
    expect_ok(env, assay_analyse(env, t, &f));
    as_table *steps = (as_table *)as_facts_table_find(f, "layers", "steps");
    for (int i = 0; i < 296; i++) {
        as_cell row[32];
        expect(steps->n_columns <= 32);
        memcpy(row, steps->cells, (size_t)steps->n_columns * sizeof *row);
        snprintf(names[i], sizeof names[i],
                 "model.encoder.layer.%d.attention.self.query.projection.with.a.long.name/MatMul_%d+Add+Relu", i, i);
        row[0].text = names[i];
        as_facts_row(f, steps, row);
    }
    for (int width = 40; width <= 200; width += 40) {
        char *text = as_test_report(env, f, 1, "basic", (as_write_settings){.width = width});
        expect(strstr(text, "294 others"));
        expect(as_test_count(text, "\n") <= AS_BRIEF_LINES + (width < 80 ? 4 : 0));
        expect(widest_line(text) <= width);
        free(text);
    }
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(brief, what_speaks_against_trust_comes_first)
{
    as_brief b = {.title = "x", .settings = ""};
    as_brief_check_add(&b, AS_LEVEL_GOOD, "steady");
    as_brief_check_add(&b, AS_LEVEL_NOTE, "cannot tell");
    as_brief_check_add(&b, AS_LEVEL_WARN, "machine busy");
    as_brief_trust_make(&b);
    char *text = printed(&b, (as_brief_settings){.width = 80});
    expect(strstr(text, "! Take care: machine busy, cannot tell, steady\n"));
    free(text);
    b.n_checks = 1;
    as_brief_trust_make(&b);
    text = printed(&b, (as_brief_settings){.width = 80});
    expect(strstr(text, "✓ Trustworthy: steady\n"));
    free(text);
    as_arena_drop(&b.arena);
}

Test(brief, a_disturbed_or_drifting_run_is_not_called_trustworthy)
{
    static const struct {
        as_synthetic how;
        const char  *word;
    } cases[] = {{{.disturbed = 90}, "busy"}, {{.drift = .2}, "slower"}, {{.tail_us = 1}, "only"}};
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        assay_env   *env = as_test_env();
        assay_facts *f = as_test_facts(env, cases[i].how);
        char        *text = as_test_report(env, f, 1, "basic", (as_write_settings){.width = 80});
        expect(!strstr(text, "Trustworthy"));
        expect(strstr(text, cases[i].word));
        free(text);
        assay_facts_free(f);
        assay_env_free(env);
    }
}

Test(brief, hostile_names_and_no_colour_leave_no_escape_in_the_text)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){.name = "evil\x1b[31m\x07\xff\xe2\x80\xae\nname"});
    char        *text = as_test_report(env, f, 1, "basic", (as_write_settings){.width = 80});
    for (const char *c = text; *c; c++)
        expect((unsigned char)*c >= 0x20 || *c == '\n');
    expect(!strstr(text, "\xe2\x80\xae"));
    free(text);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(brief, percents_and_intervals_are_short)
{
    as_brief     b = {.title = "x"};
    assay_metric m = as_metric_measured(47.5e6, 46.9e6, 48.2e6, 9, "ns", "test");
    expect_str(as_brief_percent(&b, .134), "13 %");
    expect_str(as_brief_percent(&b, .004), "0.4 %");
    expect_str(as_brief_percent(&b, .0001), "<0.1 %");
    expect_str(as_brief_percent(&b, 0), "0 %");
    expect_str(as_brief_percent(&b, NAN), "n/a");
    expect_str(as_brief_value(&b, &m), "47.5 ms");
    expect_str(as_brief_interval(&b, &m), "(46.9 to 48.2)");
    as_arena_drop(&b.arena);
}
