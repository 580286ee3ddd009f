/* html_test.c - the page: its first screen, its sections, its policy, and colours that can be read. */
#include <math.h>

#include "report/test_report.h"
#include "report/writer/html.h"

/* --- Colours -------------------------------------------------------------------------------------------------- */

/* The light (0) or dark (1) value of "--name: light-dark(#rrggbb, #rrggbb)" in the style. */
static unsigned colour_of(const char *name, int which)
{
    char        head[32];
    unsigned    colours[2] = {0, 0};
    const char *at;
    snprintf(head, sizeof head, "--%s: light-dark(", name);
    at = strstr(as_page_style, head);
    if (!at || sscanf(at + strlen(head), "#%6x, #%6x", &colours[0], &colours[1]) != 2)
        fail("the style has no colour --%s", name);
    return colours[which];
}

static double channel(unsigned byte)
{
    double v = byte / 255.;
    return v <= .04045 ? v / 12.92 : pow((v + .055) / 1.055, 2.4);
}

static double luminance(unsigned rgb)
{
    return .2126 * channel(rgb >> 16 & 255) + .7152 * channel(rgb >> 8 & 255) + .0722 * channel(rgb & 255);
}

static double contrast(unsigned a, unsigned b)
{
    double x = luminance(a), y = luminance(b);
    return (fmax(x, y) + .05) / (fmin(x, y) + .05);
}

Test(html, words_have_the_contrast_of_wcag_aa_in_light_and_dark)
{
    static const struct {
        const char *words, *grounds[12];
    } pairs[] = {
        {"ink", {"bg", "card", "sunk", "hover", "tint", "good-bg", "warn-bg", "bad-bg", "note-bg"}},
        {"ink", {"f0", "f1", "f2", "f3", "f4", "f5", "f6", "track"}},
        {"soft", {"bg", "card", "hover", "sunk", "track", "tint"}},
        {"accent", {"bg", "card", "hover"}},
        {"good", {"bg", "card", "good-bg"}},
        {"warn", {"bg", "card", "warn-bg"}},
        {"bad", {"bg", "card", "bad-bg"}},
        {"note", {"card", "note-bg"}},
        {"mark", {"card"}},
        {"t0", {"card"}},
        {"t1", {"card"}},
        {"t2", {"card"}},
        {"t3", {"card"}},
        {"t4", {"card"}},
        {"t5", {"card"}},
        {"t6", {"card"}},
    };
    for (size_t i = 0; i < AS_COUNT(pairs); i++)
        for (int k = 0; pairs[i].grounds[k]; k++)
            for (int dark = 0; dark < 2; dark++) {
                double got = contrast(colour_of(pairs[i].words, dark), colour_of(pairs[i].grounds[k], dark));
                if (got < 4.5)
                    fail("--%s on --%s, %s: %.2f to 1, below 4.5", pairs[i].words, pairs[i].grounds[k], dark ? "dark" : "light",
                         got);
            }
}

Test(html, shapes_stand_out_from_their_ground)
{
    static const char *const shapes[] = {"c0", "c1", "c2", "c3", "c5", "c6"};
    for (size_t i = 0; i < AS_COUNT(shapes); i++)
        for (int dark = 0; dark < 2; dark++)
            if (contrast(colour_of(shapes[i], dark), colour_of("card", dark)) < 2.8)
                fail("--%s can hardly be seen, %s", shapes[i], dark ? "dark" : "light");
}

/* --- Policy --------------------------------------------------------------------------------------------------- */

Test(html, the_hash_of_a_policy_is_base64_of_sha_256)
{
    as_arena a = {0};
    expect_str(as_page_hash(&a, ""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    expect_str(as_page_hash(&a, "abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    as_arena_drop(&a);
}

/* What stands between two tags, the first of them. */
static const char *between(as_arena *a, const char *html, const char *begin, const char *end)
{
    const char *from = strstr(html, begin);
    from = from ? from + strlen(begin) : "";
    const char *to = strstr(from, end);
    return to ? as_arena_text_n(a, from, (size_t)(to - from)) : "";
}

Test(html, the_policy_allows_what_the_page_holds_and_nothing_else)
{
    as_arena     a = {0};
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    char        *html = as_test_report(env, f, 1, "html", (as_write_settings){0});
    const char  *policy = between(&a, html, "Content-Security-Policy\" content=\"", "\"");
    expect_has(policy, "default-src 'none'");
    expect_has(policy, as_page_hash(&a, between(&a, html, "<script>", "</script>")));
    expect_has(policy, as_page_hash(&a, between(&a, html, "<style>", "</style>")));
    expect(!strstr(policy, "unsafe") && !strstr(html, " style=\"") && !strstr(html, " onclick"));
    free(html);
    assay_facts_free(f);
    assay_env_free(env);
    as_arena_drop(&a);
}

/* --- The page ------------------------------------------------------------------------------------------------- */

Test(html, begins_with_the_brief_and_closes_the_rest)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){.n_samples = 400});
    char        *html = as_test_report(env, f, 1, "html", (as_write_settings){0});
    expect_has(html, "<div class=\"tile\"><h2>Latency</h2>");
    expect_has(html, "aria-label=\"Distribution of the samples\"");
    expect_has(html, "Where the time goes");
    expect_has(html, "<details class=\"sec\" id=\"layers\"><summary>");
    expect_has(html, "<a href=\"#layers\">");
    expect_has(html, "id=\"exports\"");
    expect(!strstr(html, "<details class=\"sec\" id=\"layers\" open"));
    expect(strstr(html, "class=\"tiles\"") < strstr(html, "class=\"toc\""));
    free(html);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(html, sections_that_were_asked_for_are_open_and_alone)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    char        *html = as_test_report(env, f, 1, "html", (as_write_settings){.sections = "layers,memory"});
    expect_has(html, "id=\"layers\" open");
    expect_has(html, "id=\"memory\" open");
    expect(!strstr(html, "class=\"tiles\"") && !strstr(html, "id=\"latency\""));
    free(html);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(html, units_in_words_get_their_sign_and_names_keep_theirs)
{
    char   *data = NULL;
    size_t  bytes;
    FILE   *file = open_memstream(&data, &bytes);
    as_page p = {.file = file, .n_runs = 1};
    as_page_signs(&p, "744 us (722 us, p95 9 us) in use, us");
    as_page_signs(&p, "<b> user us");
    fclose(file);
    expect_str(data, "744\xc2\xa0µs (722\xc2\xa0µs, p95 9\xc2\xa0µs) in use,\xc2\xa0µs&lt;b&gt; user\xc2\xa0µs");
    free(data);
    as_arena_drop(&p.arena);
}

/* --- Tables --------------------------------------------------------------------------------------------------- */

static as_cell words(const char *text) { return (as_cell){.text = text}; }
static as_cell number(double value, const char *unit, const char *source)
{
    return (as_cell){
        .metric = {.kind = ASSAY_MEASURED, .value = value, .unit = unit, .source = source, .n = 3, .lo = NAN, .hi = NAN}};
}

static char *table_write(const as_table *t)
{
    char   *data = NULL;
    size_t  bytes;
    FILE   *file = open_memstream(&data, &bytes);
    as_page p = {.file = file, .n_runs = 1};
    as_page_table(&p, t, NULL, "T");
    fclose(file);
    as_arena_drop(&p.arena);
    return data;
}

Test(html, a_table_of_steps_comes_by_time_with_five_columns_in_sight)
{
    static const char long_text[] = "a sentence that is much longer than a cell that is to stay in sight can be, said again";
    as_column         columns[] = {{"name", "layer"},  {"op", "op"},         {"why", "why"},       {"time", "time"},
                                   {"share", "share"}, {"kernel", "kernel"}, {"other", "another"}, {"flop_rate", "rate"}};
    as_cell           cells[] = {words("first"),           words("Gemm"), words(long_text), number(1, "ns", "s"),
                                 number(.1, "ratio", "s"), words("k"),    words("o"),       number(7, "flop/s", "s"),
                                 words("<second>"),        words("Gemm"), words(long_text), number(3, "ns", "t"),
                                 number(.4, "ratio", "s"), words("k"),    words("o"),       number(8, "flop/s", "s")};
    as_table t = {.key = "steps", .label = "Steps", .columns = columns, .n_columns = 8, .cells = cells, .n_rows = 2, .cap_rows = 2};
    char    *html = table_write(&t);
    expect(strstr(html, "&lt;second&gt;") < strstr(html, ">first<"));
    expect_has(html, "aria-sort=\"descending\"");
    expect_eq(as_test_count(html, "<th scope"), 9);                      /* and the order in the run */
    expect_eq(as_test_count(html, "<th scope=\"col\" class=\" x\""), 3); /* op, why, another */
    expect_has(html, "class=\"n x\">order in the run");
    expect_has(html, "<td class=\"x t\">a sentence");         /* behind the toggle */
    expect_has(html, "<td class=\"x t\" data-same>as above"); /* and written once */
    expect_has(html, "data-s0=\"measured; source: s\"");      /* origins stand in the heading */
    expect_has(html, "data-s1=\"measured; source: t\"");
    expect_has(html, "data-v=\"3\" data-s=\"1\"");
    expect_has(html, " p w100\" data-v=\"0.4\""); /* a bar against the greatest */
    free(html);
}

Test(html, a_number_that_cannot_be_had_says_why)
{
    as_column columns[] = {{"case", "case"}, {"median", "median"}};
    as_cell   cells[] = {words("a"), {.metric = {.kind = ASSAY_UNAVAILABLE, .unit = "ns", .value = NAN, .reason = "no \"clock\""}}};
    as_table t = {.key = "cases", .label = "Cases", .columns = columns, .n_columns = 2, .cells = cells, .n_rows = 1, .cap_rows = 1};
    char    *html = table_write(&t);
    expect_has(html, "data-s0=\"unavailable; reason: no &quot;clock&quot;\"");
    expect_has(html, "<td class=\"n na\" data-v=\"\">n/a");
    free(html);
}

Test(html, a_column_of_which_nothing_could_be_had_is_not_in_sight)
{
    as_column columns[] = {{"name", "n"}, {"time", "time"}, {"share", "s"}, {"op", "op"}, {"kernel", "k"}, {"device", "d"}};
    as_cell   none = {.metric = {.kind = ASSAY_UNAVAILABLE, .unit = "ns", .value = NAN, .reason = "it was not timed"}};
    as_cell   cells[] = {words("pack"), none, none, words("Pack"), words("k"), words("cpu")};
    as_table  t = {.key = "steps", .label = "S", .columns = columns, .n_columns = 6, .cells = cells, .n_rows = 1, .cap_rows = 1};
    char     *html = table_write(&t);
    expect_eq(as_test_count(html, "<th scope=\"col\" class=\"n x\""), 2);
    expect_eq(as_test_count(html, "<td class=\"n x na\""), 2);
    free(html);
}
