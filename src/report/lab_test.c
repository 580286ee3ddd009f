/* lab_test.c - reports of bench, compare, check and history: sections, charts, JUnit and annotations. */
#include <stdlib.h>

#include "analysis/duel/bench_facts.h"
#include "analysis/duel/check_facts.h"
#include "analysis/duel/history_facts.h"
#include "analysis/duel/test_trial.h"
#include "report/pick.h"

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

/* A regression, a pass, one that cannot be told and one that failed. */
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
    b.cases[0] = (as_check_case){.name = name, .trial = b.trial, .b = 1}; /* its duel is the bed's, which may still move */
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
    char  *data = NULL;
    size_t bytes;
    FILE  *file = open_memstream(&data, &bytes);
    expect_ok(env, as_report_write(env, &f, 1, format, &(as_write_settings){.width = width}, file));
    fclose(file);
    return data;
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        n++;
    return n;
}

/* --- XML ------------------------------------------------------------------------------------------------------ */

/* A small reader: every element closes in order, attributes are quoted, no bare & or <, no control characters. */
static const char *xml_fault(const char *xml)
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

Test(junit, has_a_testcase_a_case_and_counts_them)
{
    bed b = bed_make("matmul/512");
    bed_check(&b);
    char *xml = report_of(b.env, b.facts, "junit", 0);
    expect(!xml_fault(xml));
    expect_has(xml, "<testsuite name=\"check against main\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\"");
    expect_eq(count_of(xml, "<testcase "), 4);
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
    const char *fault = xml_fault(xml);
    if (fault)
        fail("%s in %s", fault, xml);
    expect(!strstr(xml, "\xef\xbf\xbf") && !strchr(xml, '\x01'));
    expect_has(xml, "a&lt;b&gt;&amp;&quot;&#39;%");
    free(xml);
    expect(xml_fault("<a><b></a></b>") && xml_fault("<a>&</a>") && xml_fault("<a x=\"<\"></a>") &&
           !xml_fault("<a x=\"1\"><b/></a>"));
    bed_drop(&b);
}

Test(github, escapes_what_a_command_would_act_upon)
{
    bed b = bed_make(HOSTILE);
    bed_check(&b);
    char *text = report_of(b.env, b.facts, "github", 0);
    expect_eq(count_of(text, "\n"), 4); /* regression, failure, unresolved, summary: a line each */
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
                     ASSAY_BAD_INPUT, "\"compare\" is no check");
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
    expect_has(text, "copy probe: neighbour on the memory:");
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

/* --- Charts --------------------------------------------------------------------------------------------------- */

Test(lab_charts, draw_nothing_of_nothing)
{
    as_arena arena = {0};
    double   none[] = {NAN, NAN};
    expect_str(as_svg_forest(&arena, NULL, 0, .01, "t"), "");
    expect_str(as_svg_duel(&arena,
                           &(as_duel_picture){.x = none, .y = none, .n = 2, .estimate = NAN, .lo = NAN, .hi = NAN, .margin = .01},
                           "t"),
               "");
    expect_str(as_svg_noise(&arena, NULL, 0, "t"), "");
    expect_str(as_svg_history(&arena, &(as_history_picture){.y = none, .n = 2, .unit = "ns"}, "t"), "");
    expect_str(as_svg_sweep(&arena, NULL, 0, NULL, 0, "x", "t"), "");
    expect_str(as_plain_forest(&arena, NULL, 0, .01), "");
    expect_str(as_plain_history(&arena, &(as_history_picture){.y = none, .n = 2, .unit = "ns"}, 96, 10), "");
    as_arena_drop(&arena);
}

Test(lab_charts, one_far_out_does_not_press_the_others_together)
{
    as_arena      arena = {0};
    as_forest_row rows[] = {{.label = "a", .words = "x", .value = .01, .lo = .005, .hi = .015},
                            {.label = "b", .value = -.01, .lo = -.015, .hi = -.005},
                            {.label = "c", .value = 0, .lo = -.002, .hi = .002},
                            {.label = "d", .value = .01, .lo = .005, .hi = .012},
                            {.label = "far", .value = 5, .lo = 4.9, .hi = 5.1}};
    double        lo, hi;
    expect(as_forest_range(&arena, rows, 5, .01, &lo, &hi));
    expect(hi < .1 && lo >= -.05);
    const char *text = as_plain_forest(&arena, rows, 5, .01);
    expect(strchr(text, '>') && strchr(text, ':') && strchr(text, '|') && strchr(text, '['));
    expect_has(as_svg_forest(&arena, rows, 5, .01, "t"), "<polygon");
    as_arena_drop(&arena);
}

Test(lab_charts, a_history_marks_its_steps_in_characters)
{
    as_arena     arena = {0};
    double       y[] = {1, 1, 1, 2, 2, 2}, x[] = {0, 86400, 172800, 259200, 345600, 432000};
    as_step_mark mark = {.at = 3, .before = 1, .after = 2, .label = "abc"};
    const char  *text =
        as_plain_history(&arena, &(as_history_picture){.x = x, .y = y, .n = 6, .unit = "ns", .marks = &mark, .n_marks = 1}, 96, 3);
    expect_has(text, "|    ooo\n"); /* the top row: the points after the step */
    expect_has(text, "| ooo:  \n");
    expect_has(text, ": abc +100.0 % (nominated)");
    as_arena_drop(&arena);
}

Test(lab_charts, a_sweep_puts_the_faster_to_the_left)
{
    as_arena                 arena = {0};
    double                   x[] = {1, 2}, one[] = {1, 1}, other[] = {2, .5};
    static const char *const labels[] = {"batch=1", "batch=2"};
    as_sweep_line lines[] = {{.label = "first", .x = x, .y = one, .n = 2}, {.label = "second", .x = x, .y = other, .n = 2}};
    char         *text = as_arena_text(&arena, as_plain_sweep(&arena, lines, 2, labels)), *second = strchr(text, '\n') + 1;
    second[-1] = 0;
    expect(strchr(text, 'A') < strchr(text, 'B'));
    expect(strchr(second, 'B') < strchr(second, 'A'));
    expect_has(as_svg_sweep(&arena, lines, 2, (as_sweep_mark[]){{1.41, 1.3, 1.5}}, 1, "batch", "t"), "flips at 1.41");
    as_arena_drop(&arena);
}
