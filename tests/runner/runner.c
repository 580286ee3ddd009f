/* runner.c - runs the registered tests, a process each, and closes with "N passed, N failed".
 *
 * Our own because Debian's Criterion aborts under TSan and qemu.  A test that crashes, leaks (the
 * sanitiser's exit code) or hangs (the alarm) is a failed test, not the end of the run. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runner/test.h"

enum { EXIT_FAILED = 100, EXIT_SKIPPED = 101, TIMEOUT_SECONDS = 300 };

static as_test *tests;
static jmp_buf  out_of_test;
static int      verdict;
static char     verdict_text[2048];
static char     scratch_dir[256];

void as_test_register(as_test *test)
{
    test->next = tests;
    tests = test;
}

static void set_verdict(int code, const char *file, int line, const char *format, va_list args)
{
    char text[1600];
    vsnprintf(text, sizeof text, format, args);
    verdict = code;
    snprintf(verdict_text, sizeof verdict_text, "%s:%d: %s", file, line, text);
}

void as_test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_verdict(EXIT_FAILED, file, line, format, args);
    va_end(args);
    longjmp(out_of_test, 1);
}

void as_test_skip(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_verdict(EXIT_SKIPPED, file, line, format, args);
    va_end(args);
    longjmp(out_of_test, 1);
}

const char *as_test_dir(void)
{
    if (!scratch_dir[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(scratch_dir, sizeof scratch_dir, "%s/assay-test-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(scratch_dir)) {
            perror(scratch_dir);
            abort();
        }
    }
    return scratch_dir;
}

const char *as_test_path(const char *name)
{
    static char paths[8][512];
    static int  next;
    char       *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", as_test_dir(), name);
    return path;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void remove_scratch(void)
{
    if (scratch_dir[0])
        nftw(scratch_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    scratch_dir[0] = '\0';
}

/* Returns 0, EXIT_FAILED or EXIT_SKIPPED; the reason is in verdict_text. */
static int run_here(const as_test *test)
{
    verdict = 0;
    verdict_text[0] = '\0';
    if (!setjmp(out_of_test))
        test->run();
    return verdict;
}

static int run_forked(const as_test *test)
{
    int ends[2];
    if (pipe(ends)) {
        perror("pipe");
        exit(2);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        alarm(TIMEOUT_SECONDS);
        int code = run_here(test);
        if (write(ends[1], verdict_text, strlen(verdict_text)) < 0)
            code = EXIT_FAILED;
        remove_scratch();
        exit(code); /* exit, not _exit: the leak check runs at exit */
    }
    close(ends[1]);
    size_t  used = 0;
    ssize_t got;
    while (used < sizeof verdict_text - 1 && (got = read(ends[0], verdict_text + used, sizeof verdict_text - 1 - used)) > 0)
        used += (size_t)got;
    verdict_text[used] = '\0';
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        snprintf(verdict_text, sizeof verdict_text, "ended by signal %d", WTERMSIG(status));
        return EXIT_FAILED;
    }
    int code = WEXITSTATUS(status);
    if (code != 0 && code != EXIT_FAILED && code != EXIT_SKIPPED)
        snprintf(verdict_text, sizeof verdict_text, "exit code %d (a sanitiser, or exit() in a test)", code);
    return code;
}

static int by_name(const void *a, const void *b)
{
    const as_test *x = *(as_test *const *)a, *y = *(as_test *const *)b;
    int            order = strcmp(x->suite, y->suite);
    if (order)
        return order;
    order = strcmp(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

int main(int argc, char **argv)
{
    bool        no_fork = getenv("ASSAY_TEST_NO_FORK") != NULL, list = false, quiet = false;
    const char *filter = NULL, *without = getenv("ASSAY_TEST_WITHOUT"); /* a suite to leave out */
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--no-fork"))
            no_fork = true;
        else if (!strcmp(argv[i], "--list"))
            list = true;
        else if (!strcmp(argv[i], "--quiet"))
            quiet = true;
        else if (argv[i][0] != '-')
            filter = argv[i];
        else {
            fprintf(stderr, "usage: %s [--list] [--no-fork] [--quiet] [PART-OF-suite.name]\n", argv[0]);
            return 2;
        }
    }
    size_t n = 0;
    for (as_test *t = tests; t; t = t->next)
        n++;
    as_test **order = calloc(n + 1, sizeof *order);
    if (!order)
        return 2;
    n = 0;
    for (as_test *t = tests; t; t = t->next) {
        char full[512];
        snprintf(full, sizeof full, "%s.%s", t->suite, t->name);
        if ((!filter || strstr(full, filter)) && !(without && !strcmp(t->suite, without)))
            order[n++] = t;
    }
    qsort(order, n, sizeof *order, by_name);
    int passed = 0, failed = 0, skipped = 0;
    for (size_t i = 0; i < n; i++) {
        if (list) {
            printf("%s.%s\n", order[i]->suite, order[i]->name);
            continue;
        }
        int code = no_fork ? run_here(order[i]) : run_forked(order[i]);
        remove_scratch(); /* a test finds nothing of another's */
        if (code == EXIT_SKIPPED) {
            skipped++;
            printf("skip %s.%s: %s\n", order[i]->suite, order[i]->name, verdict_text);
        } else if (code) {
            failed++;
            printf("FAIL %s.%s\n     %s\n", order[i]->suite, order[i]->name, verdict_text);
        } else {
            passed++;
            if (!quiet)
                printf("ok   %s.%s\n", order[i]->suite, order[i]->name);
        }
        fflush(stdout);
    }
    free(order);
    remove_scratch();
    if (list)
        return 0;
    if (n == 0)
        printf("no test matches\n");
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed || n == 0;
}
