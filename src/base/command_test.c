/* command_test.c - commands become words without a shell. */
#include <stdio.h>

#include "base/command.h"
#include "tests/runner/test.h"

static assay_env *env;
static as_arena   arena;

/* The words with '|' between them. */
static const char *split(const char *text)
{
    static char        joined[256];
    const char *const *argv;
    assay_env_free(env);
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, as_command_split(env, text, &arena, &argv));
    joined[0] = 0;
    for (int i = 0; argv[i]; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i ? "|" : "", argv[i]);
    return joined;
}

static void done(void)
{
    as_arena_drop(&arena);
    assay_env_free(env);
    env = NULL;
}

Test(command, splits_at_any_run_of_blanks)
{
    expect_str(split("./toy 3"), "./toy|3");
    expect_str(split("  ./toy \t 3\n"), "./toy|3");
    expect_str(split("a"), "a");
    expect_str(split("a b c d e f g h"), "a|b|c|d|e|f|g|h");
    done();
}

Test(command, keeps_what_is_quoted_together)
{
    expect_str(split("'a b' \"c d\"e f''"), "a b|c de|f");
    expect_str(split("x '' \"\""), "x||");
    expect_str(split("'\\' \"\\\\ \\\" \\n\" a\\ b"), "\\|\\ \" \\n|a b");
    expect_str(split("\"it's\" '\"'"), "it's|\"");
    done();
}

Test(command, expands_nothing)
{
    expect_str(split("./toy $HOME * > x; ~ `id`"), "./toy|$HOME|*|>|x;|~|`id`");
    done();
}

Test(command, refuses_open_quotes_and_nothing)
{
    static const struct {
        const char *text, *part;
    } bad[] = {{"a 'b", "word 2 has an unfinished quote"}, {"\"", "word 1 has an unfinished quote"},
               {"a\\", "unfinished quote or backslash"},   {"", "does not name a program"},
               {" \t", "does not name a program"},         {"'' a", "does not name a program"}};
    const char *const *argv = NULL;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(bad); i++)
        expect_fails(env, as_command_split(env, bad[i].text, &arena, &argv), ASSAY_BAD_INPUT, bad[i].part);
    expect(argv == NULL);
    done();
}

Test(command, joined_words_split_into_the_same)
{
    static const char *const words[] = {"./to y", "", "it's", "\"\\", "-n", "3", NULL};
    const char *const       *argv;
    const char              *line = as_command_join(&arena, words);
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, as_command_split(env, line, &arena, &argv));
    for (int i = 0; words[i]; i++)
        expect_str(argv[i], words[i]);
    expect(argv[6] == NULL);
    expect_str(as_command_join(&arena, (const char *const[]){"./toy", "3", NULL}), "./toy 3");
    done();
}
