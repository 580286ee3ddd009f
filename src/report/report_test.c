/* report_test.c - documents, writers and charts: nothing unescaped, nothing without a kind. */
#include "report/pick.h"
#include "report/test_report.h"

#define HOSTILE "<script>alert('x')</script>\"&\x1b[31m\x07\xff\xe2\x80\xae"

/* --- What the tests of reports share (test_report.h) --------------------------------------------------------- */

assay_env *as_test_env(void)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    return env;
}

assay_facts *as_test_facts(assay_env *env, as_synthetic s)
{
    assay_facts *f;
    assay_trace *t = as_synthetic_trace(env, s);
    expect_ok(env, assay_analyse(env, t, &f));
    assay_trace_free(t);
    return f;
}

char *as_test_report(assay_env *env, const assay_facts *f, size_t n, const char *format, as_write_settings s)
{
    char              *data = NULL;
    size_t             bytes;
    const assay_facts *all[] = {f, f, f};
    FILE              *file = open_memstream(&data, &bytes);
    expect_ok(env, as_report_write(env, all, n, format, &s, file));
    fclose(file);
    return data;
}

int as_test_count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        n++;
    return n;
}

const char *as_xml_fault(const char *xml)
{
    char open[16][32];
    int  depth = 0;
    for (const char *c = xml; *c; c++) {
        if ((unsigned char)*c < 0x20 && !strchr("\n\t\r", *c))
            return "a control character";
        if (*c == '&' && strncmp(c, "&lt;", 4) && strncmp(c, "&gt;", 4) && strncmp(c, "&amp;", 5) && strncmp(c, "&quot;", 6) &&
            strncmp(c, "&#39;", 5))
            return "a bare &";
        if (*c != '<')
            continue;
        const char *name = c + 1 + (c[1] == '/'), *end = c + 1;
        size_t      n = strcspn(name, " />?");
        bool        quoted = false;
        for (; *end && (quoted || *end != '>'); end++) {
            quoted ^= *end == '"';
            if (*end == '<' || (quoted && *end == '&' && !strchr(end, ';')))
                return "a bare < in a tag";
        }
        if (!*end || n >= sizeof open[0])
            return "a tag that does not end";
        if (c[1] == '/') {
            if (!depth || strlen(open[depth - 1]) != n || strncmp(open[depth - 1], name, n))
                return "an end without its begin";
            depth--;
        } else if (c[1] != '?' && end[-1] != '/') {
            if (depth == 16)
                return "too deep";
            snprintf(open[depth++], sizeof open[0], "%.*s", (int)n, name);
        }
        c = end;
    }
    return depth ? "an element that is not closed" : NULL;
}

/* --- Reports ------------------------------------------------------------------------------------------------ */

Test(report, hostile_names_are_escaped_in_html)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){.name = HOSTILE});
    char        *html = as_test_report(env, f, 1, "html", (as_write_settings){0});
    const char  *script = strstr(html, "<script");
    expect(script && !strstr(script + 1, "<script")); /* only our own, at the end */
    expect(strstr(html, "&lt;script&gt;alert(&#39;x&#39;)"));
    expect(!strchr(html, '\x1b') && !strchr(html, '\x07') && !strchr(html, '\xff'));
    expect(strstr(html, "default-src 'none'"));
    expect(!strstr(html, "src=\"") && !strstr(html, "@import") && !strstr(html, "url("));
    free(html);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, control_characters_never_reach_a_terminal)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){.name = HOSTILE});
    char        *text = as_test_report(env, f, 1, "text", (as_write_settings){0});
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 && *c != '\n')
            fail("control character %d", *c);
    expect(!strstr(text, "\xe2\x80\xae"));
    free(text);
    text = as_test_report(env, f, 1, "text", (as_write_settings){.colour = true});
    expect(strstr(text, "\x1b[1m"));
    expect(!strstr(text, "\x1b[31m\x07"));
    free(text);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, text_keeps_to_its_width_and_loses_no_column)
{
    assay_env       *env = as_test_env();
    assay_facts     *f = as_test_facts(env, (as_synthetic){0});
    static const int widths[] = {40, 60, 80, 100, 200};
    for (int i = 0; i < 5; i++) {
        char *text = as_test_report(env, f, 1, "text", (as_write_settings){.width = widths[i]});
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            if (as_text_columns(line) > widths[i])
                fail("%d columns, allowed %d: %s", as_text_columns(line), widths[i], line);
        free(text);
        text = as_test_report(env, f, 1, "text", (as_write_settings){.width = widths[i]});
        expect_has(text, "working set");
        expect_has(text, "byte rate");
        free(text);
    }
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, html_shows_unit_kind_source_count_and_interval_of_a_number)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){.n_samples = 400});
    char        *html = as_test_report(env, f, 1, "html", (as_write_settings){0});
    expect(strstr(html,
                  "title=\"measured; source: clock tsc, wall time of a sample / its runs; n = 400; exactly 100000 ns; interval "));
    expect(strstr(html, "<sup class=\"km\" title=\"measured\">M</sup>"));
    expect(strstr(html, "title=\"unavailable; reason: no RAPL domain in this virtual machine\""));
    expect(strstr(html, "<svg") && strstr(html, "light-dark(") && strstr(html, "@media print"));
    free(html);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, several_runs_are_one_json_and_one_page)
{
    assay_env   *env = as_test_env();
    json_t      *root;
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    char        *json = as_test_report(env, f, 3, "json", (as_write_settings){0});
    expect_ok(env, as_json_parse(env, "test", "-", json, strlen(json), &root));
    expect_str(json_string_value(json_object_get(root, "schema")), "assay.runs/1");
    expect_eq(json_array_size(json_object_get(root, "runs")), 3);
    expect_str(json_string_value(json_object_get(json_array_get(json_object_get(root, "runs"), 2), "schema")), "assay.run/1");
    json_decref(root);
    free(json);
    char *html = as_test_report(env, f, 2, "html", (as_write_settings){0});
    expect(strstr(html, "id=\"r1-latency\"") && strstr(html, "id=\"r2-latency\"") && strstr(html, "href=\"#r2-top\""));
    free(html);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, a_metric_without_a_kind_reaches_no_writer)
{
    static const char *const formats[] = {"text", "json", "html"};
    assay_env               *env = as_test_env();
    assay_facts             *f = as_test_facts(env, (as_synthetic){0});
    const assay_facts       *all[] = {f};
    f->groups[0].facts[0].metric.kind = ASSAY_KIND_MISSING;
    for (int i = 0; i < 3; i++) {
        char  *data = NULL;
        size_t bytes;
        FILE  *file = open_memstream(&data, &bytes);
        expect_fails(env, as_report_write(env, all, 1, formats[i], NULL, file), ASSAY_INTERNAL,
                     "facts: latency.median: metric: no kind");
        fclose(file);
        expect_eq(bytes, 0);
        free(data);
    }
    expect_fails(env, assay_report(env, all, 1, "html", as_test_path("none.html")), ASSAY_INTERNAL, "no kind");
    FILE *none = fopen(as_test_path("none.html"), "r");
    expect(!none);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, unknown_formats_and_no_runs_get_a_sentence)
{
    assay_env         *env = as_test_env();
    assay_facts       *f = as_test_facts(env, (as_synthetic){0});
    const assay_facts *all[] = {f};
    expect_fails(env, as_report_write(env, all, 1, "pdf", NULL, stdout), ASSAY_NOT_FOUND,
                 "report: unknown format \"pdf\"; known: ");
    expect_fails(env, assay_report(env, all, 1, "pdf", as_test_path("x.pdf")), ASSAY_NOT_FOUND, "html");
    expect_fails(env, as_report_write(env, all, 0, "text", NULL, stdout), ASSAY_BAD_INPUT, "there are no runs to report");
    expect_str(as_writer_find("html")->suffix, ".html");
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, a_full_disk_is_an_error)
{
    assay_env *env = as_test_env();
    FILE      *full = fopen("/dev/full", "w");
    if (!full) {
        assay_env_free(env);
        skip("no /dev/full here");
    }
    assay_facts       *f = as_test_facts(env, (as_synthetic){0});
    const assay_facts *all[] = {f};
    expect_fails(env, as_report_write(env, all, 1, "html", NULL, full), ASSAY_IO, "report: cannot write html: ");
    fclose(full);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, what_is_unavailable_says_why_in_every_format)
{
    assay_env               *env = as_test_env();
    assay_facts             *f = as_test_facts(env, (as_synthetic){.no_sensors = true, .no_steps = true});
    static const char *const formats[] = {"text", "json", "html"};
    for (int i = 0; i < 3; i++) {
        char *data = as_test_report(env, f, 1, formats[i], (as_write_settings){.width = 200});
        expect(strstr(data, "switched off by --sensors"));
        expect(strstr(data, "spans by step would cost 0.9 % of the run"));
        free(data);
    }
    assay_facts_free(f);
    assay_env_free(env);
}

Test(report, says_why_there_is_no_flame_graph)
{
    assay_env   *env = as_test_env();
    assay_facts *without = as_test_facts(env, (as_synthetic){.no_steps = true}), *with = as_test_facts(env, (as_synthetic){0});
    char        *a = as_test_report(env, without, 1, "html", (as_write_settings){0}),
         *b = as_test_report(env, with, 1, "html", (as_write_settings){0});
    expect(strstr(a, "There is no flame graph, because the steps have no times: "));
    expect(!strstr(a, "chart flame"));
    expect(!strstr(b, "There is no flame graph"));
    expect(strstr(b, "chart flame"));
    free(a);
    free(b);
    assay_facts_free(without);
    assay_facts_free(with);
    assay_env_free(env);
}

/* Facts from a file may have any kind of cell anywhere. */
Test(report, tables_of_the_wrong_shape_do_no_harm)
{
    static const char json[] =
        "{\"schema\":\"assay.run/1\",\"title\":\"\",\"notes\":{},\"groups\":{\"layers\":{\"label\":\"\",\"facts\":{},\"tables\":{\"steps\":{\"label\":\"\",\"columns\":"
        "[{\"key\":\"time\",\"label\":\"\"}],\"rows\":[[\"text\"]]}},\"series\":{},\"findings\":[]},\"memory\":{\"label\":\"\",\"facts\":{},\"tables\":{\"buffers\":"
        "{\"label\":\"\",\"columns\":[{\"key\":\"name\",\"label\":\"\"}],\"rows\":[[\"x\"]]}},\"series\":{},\"findings\":[]},\"latency\":{\"label\":\"\",\"facts\":{},"
        "\"tables\":{},\"series\":{\"samples\":{\"label\":\"\",\"kind\":\"measured\",\"source\":\"s\",\"x_unit\":null,\"y_unit\":\"ns\",\"x\":null,"
        "\"y\":[null,1e308,-1e308]}},\"findings\":[]}}}";
    static const char *const formats[] = {"text", "json", "html"};
    assay_env               *env = as_test_env();
    assay_facts             *f;
    expect_ok(env, as_facts_parse(env, "x.json", json, sizeof json - 1, &f));
    for (int i = 0; i < 3; i++)
        free(as_test_report(env, f, 1, formats[i], (as_write_settings){0}));
    assay_facts_free(f);
    assay_env_free(env);
}

Test(words, are_cut_cleaned_and_escaped)
{
    as_arena a = {0};
    expect_str(as_text_cut(&a, "µµµµ", 3), "µµ…");
    expect_str(as_name_cut(&a, "µµ/one/two/µµ", 7), "µµ/…/µµ");
    expect_str(as_name_cut(&a, "short", 5), "short");
    expect_str(as_clean_text(&a, "a\x1b[0m\nb\xc2\x9b"), "a[0m b");
    expect_str(as_escape_html(&a, "<&>\"'\x01\x80"), "&lt;&amp;&gt;&quot;&#39;\xef\xbf\xbd");
    as_arena_drop(&a);
}

#define MODULES                                                           \
    {                                                                     \
        .modules = { "net.block1.fc", "net.block1", "net.block2.fc", "" } \
    }

Test(report, layers_are_folded_by_module_when_asked)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic)MODULES), *plain = as_test_facts(env, (as_synthetic){0});
    char        *steps = as_test_report(env, f, 1, "text", (as_write_settings){.sections = "layers"});
    char        *folded =
        as_test_report(env, f, 1, "text", (as_write_settings){.sections = "layers", .by_module = true, .module_depth = 2});
    char *none = as_test_report(env, plain, 1, "text", (as_write_settings){.sections = "layers", .by_module = true});
    char *csv = as_test_report(env, f, 1, "csv", (as_write_settings){.sections = "layers", .by_module = true, .module_depth = 2});
    expect_has(steps, "Steps of a run");
    expect_has(steps, "Modules, folded at depth 3");
    expect_has(folded, "Time per run by module");
    expect_has(folded, "net.block1");
    expect(!strstr(folded, "Steps of a run"));
    expect_has(none, "No layer of this run has a module path");
    expect_has(none, "Steps of a run");
    expect(!strstr(none, "module  "));  /* a column of dashes is not shown */
    expect_has(csv, "steps[3].module"); /* every step, whatever the text shows */
    free(steps);
    free(folded);
    free(none);
    free(csv);
    assay_facts_free(f);
    assay_facts_free(plain);
    assay_env_free(env);
}

Test(report, the_page_has_flame_and_graph_and_says_the_sizes_first)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    char        *html = as_test_report(env, f, 1, "html", (as_write_settings){0}),
         *text = as_test_report(env, f, 1, "text", (as_write_settings){0});
    expect_has(html, "svg class=\"chart flame\"");
    expect_has(html, "data-l=\"segment 1, cpu\"");
    expect_has(html, "<path class=\"edge\"");
    const char *params = strstr(text, "parameters"), *activations = strstr(text, "activations"),
               *flops = strstr(text, "useful flops  "), *verdict = strstr(text, "Verdict");
    expect(params && activations && flops && params < activations && activations < flops && flops < verdict);
    expect(!strstr(text, "Flame graph")); /* in a whole report the table says it */
    free(html);
    free(text);
    assay_facts_free(f);
    assay_env_free(env);
}

/* A step above a limit that was measured on a busy machine has no share: the picture says so in words. */
Test(report, a_step_without_a_share_of_its_limit_says_why)
{
    assay_env   *env = as_test_env();
    assay_trace *t = as_synthetic_trace(env, (as_synthetic){0});
    assay_facts *f;
    /* The first step computes at 100 GFLOP/s. */
    expect(as_trace_add_roof(t, &(as_trace_roof){.name = "fma.f32.t1",
                                                 .unit = "flop/s",
                                                 .value = 1e10,
                                                 .lo = 1e10,
                                                 .hi = 1e10,
                                                 .n_clean = 5,
                                                 .n_chunks = 5,
                                                 .today = NAN,
                                                 .source = "a test",
                                                 .disturbed = true}));
    expect(as_trace_add_roof(t, &(as_trace_roof){.name = "read.dram.t1",
                                                 .unit = "byte/s",
                                                 .value = 1e12,
                                                 .lo = 1e12,
                                                 .hi = 1e12,
                                                 .n_clean = 5,
                                                 .n_chunks = 5,
                                                 .today = NAN,
                                                 .source = "a test"}));
    expect_ok(env, assay_analyse(env, t, &f));
    char *html = as_test_report(env, f, 1, "html", (as_write_settings){0});
    expect(strstr(html, "limited by compute, above an uncertain limit"));
    expect(!strstr(html, "nan %"));
    free(html);
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}
