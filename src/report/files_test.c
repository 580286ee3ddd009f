/* files_test.c - CSV, Markdown, chosen sections, and several runs read back. */
#include "report/pick.h"
#include "report/test_report.h"

static assay_facts *facts_of(assay_env *env, const char *name) { return as_test_facts(env, (as_synthetic){.name = name}); }

static char *report_of(assay_env *env, const assay_facts *f, size_t n, const char *format, const char *sections)
{
    return as_test_report(env, f, n, format, (as_write_settings){.sections = sections});
}

/* --- CSV ---------------------------------------------------------------------------------------------------- */

/* A reader of RFC 4180 that shares no code with the writer: puts the next field into `out`; ',' or '\n' (after CR LF) or 0 at the
 * end, 'X' for bad CSV. */
static char field_read(const char **at, char *out, size_t size)
{
    const char *c = *at;
    size_t      n = 0;
    if (*c == '"') {
        for (c++; *c && (*c != '"' || c[1] == '"'); c++) {
            c += *c == '"';
            if (n + 1 < size)
                out[n++] = *c;
        }
        if (*c++ != '"')
            return 'X';
    } else {
        for (; *c && *c != ',' && *c != '\r'; c++) {
            if (*c == '"' || *c == '\n')
                return 'X';
            if (n + 1 < size)
                out[n++] = *c;
        }
    }
    out[n] = 0;
    char end = *c == ',' ? ',' : *c == '\r' && c[1] == '\n' ? '\n' : *c ? 'X' : 0;
    *at = c + (end == ',' ? 1 : end == '\n' ? 2 : 0);
    return end;
}

typedef char row[12][512];

/* The first row with this key; false: none. */
static bool row_find(const char *csv, const char *key, row out)
{
    while (*csv) {
        char end = ',';
        int  i = 0;
        for (; end == ','; i++) {
            expect(i < 12);
            end = field_read(&csv, out[i], sizeof out[i]);
        }
        expect_eq(i, 12);
        expect_eq(end, '\n');
        if (!strcmp(out[2], key))
            return true;
    }
    return false;
}

Test(csv, holds_every_fact_every_cell_and_every_sample)
{
    assay_env   *env = as_test_env();
    assay_facts *f = facts_of(env, NULL);
    char        *csv = report_of(env, f, 2, "csv", NULL);
    int          n = 1 + 2; /* the head and two titles */
    for (int i = 0; i < f->n_groups; i++) {
        n += 2 * f->groups[i].n_facts;
        for (int j = 0; j < f->groups[i].n_tables; j++)
            n += 2 * f->groups[i].tables[j].n_rows * f->groups[i].tables[j].n_columns;
    }
    n += 2 * 2 * (int)as_facts_series_find(f, "latency", "samples")->n; /* x and y */
    expect_eq(as_test_count(csv, "\r\n"), n);
    static const char head[] = "run,group,key,label,value,unit,kind,source,n,lo,hi,reason\r\n";
    expect(!strncmp(csv, head, sizeof head - 1));
    row r;
    expect(row_find(csv, "latency.median", r));
    expect_str(r[0], "1");
    expect_str(r[1], "latency");
    expect_str(r[4], "100000");
    expect_str(r[5], "ns");
    expect_str(r[6], "measured");
    expect_str(r[7], "clock tsc, wall time of a sample / its runs");
    expect_str(r[8], "200");
    expect(row_find(csv, "steps[0].op", r));
    expect_str(r[1], "layers");
    expect_str(r[3], "fc1: op");
    expect_str(r[4], "Gemm");
    expect_str(r[6], "text");
    expect_str(r[8], "");
    expect(row_find(csv, "steps[2].flops", r));
    expect_str(r[4], "3000000");
    expect(strstr(csv, "\r\n2,run,run.title,"));
    free(csv);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(csv, what_is_unavailable_is_empty_with_its_reason)
{
    assay_env   *env = as_test_env();
    assay_facts *f = facts_of(env, NULL);
    char        *csv = report_of(env, f, 1, "csv", NULL);
    row          r;
    expect(row_find(csv, "prologue[0].share", r));
    expect_str(r[4], "");
    expect_str(r[6], "unavailable");
    expect_str(r[9], "");
    expect_str(r[11], "no span of this step was recorded");
    free(csv);
    assay_facts_free(f);
    assay_env_free(env);
}

/* Every text is restored by removing one leading apostrophe; none begins like a formula. */
Test(csv, quotes_and_guards_hostile_texts_so_that_they_come_back)
{
    static const struct {
        const char *name, *raw;
    } cases[] = {{"=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""},
                 {"+1", "\"'+1\""},
                 {"-1", "\"'-1\""},
                 {"@SUM(A1)", "\"'@SUM(A1)\""},
                 {"\t=1", "\"'\t=1\""},
                 {"\r=1", "\"'\r=1\""},
                 {"\n=1", "\"'\n=1\""},
                 {"'=1", "\"''=1\""},
                 {"\xef\xbc\x9d"
                  "1",
                  "\"'\xef\xbc\x9d"
                  "1\""},
                 {"a,b", "\"a,b\""},
                 {"a\"b", "\"a\"\"b\""},
                 {"a\r\nb", "\"a\r\nb\""},
                 {" a", "\" a\""},
                 {"a ", "\"a \""},
                 {"-", "-"},
                 {"a=b", "a=b"}};
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        assay_env   *env = as_test_env();
        assay_facts *f = facts_of(env, cases[i].name);
        char        *csv = report_of(env, f, 1, "csv", NULL), want[128];
        row          r;
        expect(row_find(csv, "steps[0].name", r));
        expect_str(r[4][0] == '\'' ? r[4] + 1 : r[4], cases[i].name);
        snprintf(want, sizeof want, ",%s,,text,", cases[i].raw);
        expect(strstr(csv, want));
        free(csv);
        assay_facts_free(f);
        assay_env_free(env);
    }
}

Test(csv, a_negative_number_stays_a_number)
{
    assay_env     *env = as_test_env();
    assay_facts   *f = as_facts_new(env);
    as_fact_group *g = as_facts_group(f, "g", "g");
    as_facts_add(f, g, "g.x", "x", as_metric_measured(-5.5, -6, -5, 3, "celsius", "s"));
    char *csv = report_of(env, f, 1, "csv", NULL);
    expect_has(csv, "1,g,g.x,x,-5.5,celsius,measured,s,3,-6,-5,\r\n");
    free(csv);
    assay_facts_free(f);
    assay_env_free(env);
}

/* --- Markdown ----------------------------------------------------------------------------------------------- */

Test(markdown, has_title_hero_verdict_and_tables)
{
    assay_env   *env = as_test_env();
    assay_facts *f = facts_of(env, NULL);
    char        *md = report_of(env, f, 1, "markdown", NULL);
    expect(!strncmp(md, "# synthetic-mlp, batch 8, cpu, 1 thread\n\n", 40));
    expect_has(md, "| median latency | **100 µs** |");
    expect_has(md, "\n## Verdict\n\n- ");
    expect_has(md, "<summary><b>Layers</b></summary>\n\n");
    expect_has(md, "| layer | op | time |");
    expect_has(md, "|:--|:--|--:|");
    expect_has(md, "| fc1 | Gemm | 50.0 µs |");
    expect_eq(as_test_count(md, "<details>"), as_test_count(md, "</details>"));
    expect(!strstr(md, "<svg"));
    free(md);
    md = report_of(env, f, 1, "markdown", "summary,layers");
    expect_has(md, "\n## Layers\n\n"); /* short: nothing is folded */
    expect(!strstr(md, "<details>"));
    free(md);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(markdown, names_cannot_act)
{
    assay_env   *env = as_test_env();
    assay_facts *f = facts_of(env, "a|b\nc <img src=x> @me #12 [x](http://e.org) `q` *s* \\| ~z~ www.e.org \x1b");
    char        *md = report_of(env, f, 1, "markdown", NULL);
    expect_has(
        md,
        "| a\\|b c &lt;img src=x&gt; @<!-- -->me \\#<!-- -->12 \\[x\\](http:<!-- -->//e.org) \\`q\\` \\*s\\* \\\\\\| \\~z\\~ www.<!-- -->e.org  |");
    expect(!strstr(md, "<img") && !strchr(md, '\x1b') && !strstr(md, "://e"));
    /* Every row of a table has the bars of its head. */
    int head = 0;
    for (const char *line = md; *line; line += strcspn(line, "\n") + 1) {
        int bars = 0;
        for (const char *c = line; *c != '\n'; c++)
            if (*c == '\\' && c[1])
                c++;
            else
                bars += *c == '|';
        if (*line == '|')
            expect_eq(bars, head ? head : bars);
        head = *line == '|' ? bars : 0;
    }
    free(md);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(markdown, a_name_like_a_list_or_a_heading_stays_a_name)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_facts_new(env);
    f->title = "- x";
    char *md = report_of(env, f, 1, "markdown", "summary");
    expect_str(md, "# \\- x\n\n");
    free(md);
    assay_facts_free(f);
    assay_env_free(env);
}

/* --- Sections ----------------------------------------------------------------------------------------------- */

Test(sections, only_the_chosen_ones_are_written_in_the_reports_order)
{
    assay_env   *env = as_test_env();
    assay_facts *f = facts_of(env, NULL);
    char        *text = report_of(env, f, 1, "text", "memory,latency");
    const char  *latency = strstr(text, "── Latency"), *memory = strstr(text, "── Memory");
    expect(latency && memory && latency < memory);
    expect(!strstr(text, "── Layers") && !strstr(text, "── Verdict"));
    expect(!strncmp(text, "synthetic-mlp", 13));
    free(text);
    char *html = report_of(env, f, 2, "html", "books");
    expect(strstr(html, "id=\"r2-top\"") && strstr(html, "id=\"r2-books\"") && !strstr(html, "id=\"r1-layers\""));
    free(html);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(sections, csv_holds_what_they_show_and_json_is_whole)
{
    assay_env   *env = as_test_env();
    assay_facts *f = facts_of(env, NULL);
    row          r;
    char        *csv = report_of(env, f, 1, "csv", "summary,layers");
    expect(row_find(csv, "latency.median", r));
    expect(row_find(csv, "steps[0].time", r));
    expect(!row_find(csv, "buffers[0].bytes", r));
    expect(!row_find(csv, "memory.scratch", r));
    free(csv);
    char *some = report_of(env, f, 1, "json", "summary"), *all = report_of(env, f, 1, "json", NULL);
    expect_str(some, all);
    free(some);
    free(all);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(sections, an_unknown_one_is_refused_with_the_nearest_and_the_list)
{
    assay_env         *env = as_test_env();
    assay_facts       *f = facts_of(env, NULL);
    const assay_facts *all[] = {f};
    as_write_settings  s = {.sections = "summary,layer"};
    expect_fails(env, as_report_write(env, all, 1, "text", &s, stdout), ASSAY_BAD_INPUT,
                 "report: unknown section \"layer\"; did you mean \"layers\"?; known: ");
    for (size_t i = 0; as_sec_table[i]; i++) /* every one of them is named */
        expect_has(assay_message(env), as_sec_table[i]->name);
    expect_fails(env, as_sections_check(env, ""), ASSAY_BAD_INPUT, "report: unknown section \"\"; known: ");
    expect_fails(env, as_sections_check(env, "summary,"), ASSAY_BAD_INPUT, "unknown section \"\"");
    expect_fails(env, as_sections_check(env, "zzzzzzzzzzzzzzzzz"), ASSAY_BAD_INPUT,
                 "unknown section \"zzzzzzzzzzzzzzzzz\"; known: ");
    expect_ok(env, as_sections_check(env, "memory,summary,memory"));
    expect_fails(env, as_report_save(env, all, 1, "html", &s, as_test_path("none.html")), ASSAY_BAD_INPUT, "unknown section");
    expect(!fopen(as_test_path("none.html"), "r"));
    assay_facts_free(f);
    assay_env_free(env);
}

/* --- Several runs ------------------------------------------------------------------------------------------- */

Test(several_runs, are_read_back_and_written_again_the_same)
{
    assay_env   *env = as_test_env();
    assay_facts *f = facts_of(env, NULL), **read;
    size_t       n;
    for (size_t want = 1; want <= 3; want++) {
        char  *json = report_of(env, f, want, "json", NULL), *again = NULL;
        size_t bytes;
        expect_ok(env, as_facts_parse_all(env, "x.json", json, strlen(json), &read, &n));
        expect_eq(n, want);
        FILE *file = open_memstream(&again, &bytes);
        expect_ok(env, as_report_write(env, (const assay_facts *const *)read, n, "json", NULL, file));
        fclose(file);
        expect_str(again, json);
        assay_facts_free_all(read, n);
        free(json);
        free(again);
    }
    assay_facts_free(f);
    assay_env_free(env);
}

Test(several_runs, say_which_run_is_wrong)
{
#define RUN "{\"schema\":\"assay.run/1\",\"title\":\"t\",\"notes\":{},\"groups\":{}}"
    static const struct {
        const char *json, *part;
    } cases[] = {
        {"{\"schema\":\"assay.runs/1\",\"runs\":[]}", "top level: \"runs\": expected an array of 1 to 4096, found an array of 0"},
        {"{\"schema\":\"assay.runs/1\",\"runs\":7}", "found an integer of 0"},
        {"{\"schema\":\"assay.runs/1\"}", "found missing of 0"},
        {"{\"schema\":\"assay.runs/1\",\"runs\":[" RUN "],\"more\":1}", "unknown key \"more\""},
        {"{\"schema\":\"assay.runs/1\",\"runs\":[" RUN ",3]}", "x.json: runs[1]: expected an object, found an integer"},
        {"{\"schema\":\"assay.runs/1\",\"runs\":[" RUN
         ",{\"schema\":\"assay.run/1\",\"title\":\"t\",\"notes\":{},\"groups\":{\"g\":3}}]}",
         "x.json: runs[1].groups[\"g\"]: expected an object"},
        {"{\"schema\":\"assay.runs/1\",\"runs\":[{\"schema\":\"assay.runs/1\",\"runs\":[" RUN "]}]}",
         "runs[0]: expected one run (\"assay.run/1\")"},
        {"{\"schema\":\"assay.run/2\"}", "\"schema\" is \"assay.run/2\""},
        {"[]", "top level: expected an object, found an array"},
        {"{", "run JSON: x.json: "},
    };
    assay_env *env = as_test_env();
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        assay_facts **out = (assay_facts **)(void *)env;
        size_t        n = 77;
        expect_fails(env, as_facts_parse_all(env, "x.json", cases[i].json, strlen(cases[i].json), &out, &n), ASSAY_BAD_INPUT,
                     cases[i].part);
        expect(out == (assay_facts **)(void *)env && n == 77);
    }
    assay_env_free(env);
}
