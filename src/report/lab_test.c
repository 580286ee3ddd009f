/* lab_test.c - reports of bench, compare, check and history: sections, charts, JUnit and annotations. */
#include "analysis/duel/duel_facts.h"
#include "analysis/duel/test_trial.h"
#include "report/pick.h"
#include "report/test_report.h"

#define HOSTILE "a<b>&\"'%\r\n::error::x,y\x01\xff\xef\xbf\xbf"

typedef struct bed {
    assay_env      *env;
    assay_trace    *trial;
    as_duel         duel;
    as_duel_rules   rules;
    as_check_case   cases[4];
    as_check_result result;
    assay_facts    *facts;
} bed;

/* A regression, a pass, an undecided case and a failed one. */
static bed bed_make(const char *name)
{
    static as_duel same, open;
    bed            b = {0};
    expect_eq(assay_env_new(&b.env), ASSAY_OK);
    as_duel_rules_standard(&b.rules);
    b.trial = as_planted_trial(b.env, (as_planted){.name = name, .ratio = 1.1});
    as_duel_judge(b.trial, 0, 1, &b.rules, &b.duel);
    same = b.duel, same.verdict = AS_SAME, same.ratio = 1, same.lo = .999, same.hi = 1.001, same.p_slower = same.p_faster = 1,
    same.early = false;
    open = same, open.verdict = AS_UNRESOLVED, open.hi = 1.2, open.visible = .1, open.needed_ns = 3e10;
    b.cases[0] = (as_check_case){.name = name, .trial = b.trial, .b = 1}; /* its duel is set later, because the struct may still
                                                                           * move */
    b.cases[1] = (as_check_case){.name = "pass", .duel = &same, .trial = b.trial, .b = 1};
    b.cases[2] = (as_check_case){.name = "open", .duel = &open, .trial = b.trial, .b = 1};
    b.cases[3] = (as_check_case){.name = "failed", .failure = "signal 11"};
    return b;
}

static void bed_check(bed *b)
{
    b->cases[0].duel = &b->duel;
    expect_ok(b->env, as_check_decide(b->env, b->cases, 4, &b->rules, AS_CHECK_Q, AS_FAIL_ON_SLOWER, &b->result));
    b->facts = as_facts_of_check(b->env, &b->result, "check against main");
    expect_ok(b->env, as_facts_check(b->env, b->facts));
}

static void bed_drop(bed *b)
{
    assay_facts_free(b->facts);
    assay_trace_free(b->trial);
    assay_env_free(b->env);
}

static char *report_of(assay_env *env, const assay_facts *f, const char *format, int width)
{
    return as_test_report(env, f, 1, format, (as_write_settings){.width = width});
}

/* --- JUnit and annotations ------------------------------------------------------------------------------------ */

Test(junit, has_a_testcase_a_case_and_counts_them)
{
    bed b = bed_make("matmul/512");
    bed_check(&b);
    char *xml = report_of(b.env, b.facts, "junit", 0);
    expect(!as_xml_fault(xml));
    expect_has(xml, "<testsuite name=\"check against main\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\"");
    expect_eq(as_test_count(xml, "<testcase "), 4);
    expect_has(xml, "<failure type=\"minor\" message=\"matmul/512   ");
    expect_has(xml, "SLOWER (minor)");
    expect_has(xml, "<error type=\"failed\" message=\"failed: signal 11\">");
    expect_has(xml, "<skipped message=\"open   ");
    expect_has(xml, "<system-out>Pass: pass   ");
    free(xml);
    bed_drop(&b);
}

Test(junit, stays_well_formed_with_hostile_names)
{
    bed b = bed_make(HOSTILE);
    bed_check(&b);
    char       *xml = report_of(b.env, b.facts, "junit", 0);
    const char *fault = as_xml_fault(xml);
    if (fault)
        fail("%s in %s", fault, xml);
    expect(!strstr(xml, "\xef\xbf\xbf") && !strchr(xml, '\x01'));
    expect_has(xml, "a&lt;b&gt;&amp;&quot;&#39;%");
    free(xml);
    expect(as_xml_fault("<a><b></a></b>") && as_xml_fault("<a>&</a>") && as_xml_fault("<a x=\"<\"></a>") &&
           !as_xml_fault("<a x=\"1\"><b/></a>"));
    bed_drop(&b);
}

Test(github, escapes_what_a_command_would_act_upon)
{
    bed b = bed_make(HOSTILE);
    bed_check(&b);
    char *text = report_of(b.env, b.facts, "github", 0);
    expect_eq(as_test_count(text, "\n"), 4); /* regression, failure, unresolved, summary: one line each */
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        expect(!strncmp(line, "::error title=", 14) || !strncmp(line, "::warning title=", 16) ||
               !strncmp(line, "::notice title=", 15));
    free(text);
    text = report_of(b.env, b.facts, "github", 0);
    expect_has(text, "::error title=Regression%3A a<b>&\"'%25");
    expect_has(text, "%3A%3Aerror%3A%3Ax%2Cy");
    expect_has(text, "::error title=Failed%3A failed::failed: signal 11\n");
    expect_has(text, "::warning title=Unstable%3A open::");
    expect(!strchr(text, '\r'));
    free(text);
    bed_drop(&b);
}

Test(junit, and_github_refuse_what_is_no_check)
{
    static const char *const formats[] = {"junit", "github"};
    bed                      b = bed_make("x");
    as_duel_row              row = {.trial = b.trial, .b = 1, .duel = b.duel, .rules = &b.rules};
    b.facts = as_facts_of_duels(b.env, &row, 1, "compare");
    for (int i = 0; i < 2; i++) {
        char  *data = NULL;
        size_t bytes;
        FILE  *file = open_memstream(&data, &bytes);
        expect_fails(b.env, as_report_write(b.env, (const assay_facts *const[]){b.facts}, 1, formats[i], NULL, file),
                     ASSAY_BAD_INPUT, "\"compare\" is not a check");
        fclose(file);
        expect_eq(bytes, 0);
        free(data);
    }
    bed_drop(&b);
}

/* --- Pages ---------------------------------------------------------------------------------------------------- */

Test(lab_report, a_check_shows_its_own_sections_and_none_of_a_profile)
{
    static const char *const strangers[] = {"id=\"latency\"",    "id=\"layers\"",  "id=\"memory\"", "id=\"books\"",
                                            "id=\"instrument\"", "id=\"sensors\"", "id=\"bench\"",  "id=\"history\""};
    bed                      b = bed_make(HOSTILE);
    bed_check(&b);
    char *html = report_of(b.env, b.facts, "html", 0);
    expect(strstr(html, "id=\"check\"") && strstr(html, "id=\"rounds\"") && strstr(html, "aria-label=\"Paired differences\"") &&
           strstr(html, "aria-label=\"Noise timeline\""));
    for (size_t i = 0; i < AS_COUNT(strangers); i++)
        expect(!strstr(html, strangers[i]));
    expect(!strstr(html, "a<b>") && !strchr(html, '\x01'));
    free(html);
    bed_drop(&b);
}

Test(lab_report, text_keeps_to_its_width)
{
    bed b = bed_make("layout/strided/a rather long name of a case/2048x2048/f16");
    bed_check(&b);
    for (int width = 60; width <= 120; width += 20) {
        char *text = report_of(b.env, b.facts, "text", width);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            if (as_text_columns(line) > width)
                fail("%d columns, allowed %d: %s", as_text_columns(line), width, line);
        free(text);
    }
    bed_drop(&b);
}

Test(lab_report, markdown_keeps_the_answer_open)
{
    bed b = bed_make("matmul/512");
    bed_check(&b);
    char *text = report_of(b.env, b.facts, "markdown", 0);
    expect_has(text, "## Check\n");
    expect_has(text, "<summary><b>Round by round</b>");
    expect_has(text, "| matmul/512 | Regression (minor) |");
    free(text);
    bed_drop(&b);
}

Test(lab_report, facts_come_back_from_json_and_give_the_same_page)
{
    bed          b = bed_make("matmul/512");
    assay_facts *again;
    bed_check(&b);
    char *json = report_of(b.env, b.facts, "json", 0), *before = report_of(b.env, b.facts, "html", 0);
    expect_ok(b.env, as_facts_parse(b.env, "-", json, strlen(json), &again));
    char *after = report_of(b.env, again, "html", 0);
    expect_str(after, before);
    free(json), free(before), free(after);
    assay_facts_free(again);
    bed_drop(&b);
}

Test(lab_report, a_bench_has_distribution_and_timeline)
{
    bed          b = bed_make("x");
    assay_trace *t = as_planted_trial(b.env, (as_planted){.n_arms = 1, .n_shots = 8});
    as_bench_row row = {.trial = t, .flops = 1e6, .bytes = 1e6, .error = NAN};
    as_alone_judge(t, 0, &row.alone);
    b.facts = as_facts_of_bench(b.env, &row, 1);
    char *html = report_of(b.env, b.facts, "html", 0), *text = report_of(b.env, b.facts, "text", 100);
    expect(strstr(html, "aria-label=\"Distribution\"") && strstr(html, "aria-label=\"Noise timeline\"") &&
           !strstr(html, "id=\"latency\""));
    expect_has(text, "memory probe: other work on the memory:");
    free(html), free(text);
    assay_trace_free(t);
    bed_drop(&b);
}

Test(lab_report, a_history_is_drawn_in_characters_and_as_a_picture)
{
    bed              b = bed_make("x");
    as_history_point points[40];
    uint64_t         state = 9;
    for (int i = 0; i < 40; i++)
        points[i] = (as_history_point){.unix_time = 1700000000 + i * 86400,
                                       .commit = "abcdef0123",
                                       .machine = "m",
                                       .median = 1e6 * (i < 25 ? 1 : 1.1) * (1 + .003 * as_planted_draw(&state)),
                                       .lo = NAN,
                                       .hi = NAN};
    b.facts = as_facts_of_history(b.env, "matmul", points, 40, NULL);
    char *html = report_of(b.env, b.facts, "html", 0), *text = report_of(b.env, b.facts, "text", 100);
    expect_has(html, "aria-label=\"History\"");
    expect_has(text, "2023-11-14");
    expect_has(text, "(nominated)");
    free(html), free(text);
    bed_drop(&b);
}
