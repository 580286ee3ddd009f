/* runner.c - runs the registered tests, a process each and as many at once as there are cores, and closes with "N passed, N failed".
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

enum { EXIT_FAILED = 100, EXIT_SKIPPED = 101, TIMEOUT_SECONDS = 900 };

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

/* --- A process each, several at once ------------------------------------------------------------------------ */

enum { MAX_JOBS = 64 };

typedef struct job {
    pid_t          child; /* 0: the place is free */
    int            end;   /* of the pipe that its verdict comes through */
    const as_test *test;
} job;

static void job_start(job *j, const as_test *test)
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
        if (write(ends[1], verdict_text, strlen(verdict_text)) < 0) /* less than a pipe holds: nobody need read it yet */
            code = EXIT_FAILED;
        remove_scratch();
        exit(code); /* exit, not _exit: the leak check runs at exit */
    }
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    close(ends[1]);
    *j = (job){child, ends[0], test};
}

/* As run_here(). */
static int job_end(job *j, int status)
{
    size_t  used = 0;
    ssize_t got;
    while (used < sizeof verdict_text - 1 && (got = read(j->end, verdict_text + used, sizeof verdict_text - 1 - used)) > 0)
        used += (size_t)got;
    verdict_text[used] = '\0';
    close(j->end);
    j->child = 0;
    if (WIFSIGNALED(status)) {
        snprintf(verdict_text, sizeof verdict_text, "ended by signal %d", WTERMSIG(status));
        return EXIT_FAILED;
    }
    int code = WEXITSTATUS(status);
    if (code != 0 && code != EXIT_FAILED && code != EXIT_SKIPPED)
        snprintf(verdict_text, sizeof verdict_text, "exit code %d (a sanitiser, or exit() in a test)", code);
    return code;
}

/* Waits for the first of them that ends. */
static const as_test *job_wait(job *jobs, int n, int *code)
{
    for (;;) {
        int   status = 0;
        pid_t child = waitpid(-1, &status, 0);
        for (int i = 0; i < n; i++)
            if (child > 0 && jobs[i].child == child) {
                *code = job_end(&jobs[i], status);
                return jobs[i].test;
            }
        if (child < 0) {
            perror("waitpid");
            exit(2);
        }
    }
}

/* --- What came of it --------------------------------------------------------------------------------------- */

typedef struct counts {
    int passed, failed, skipped;
} counts;

static void tell(const as_test *test, int code, bool quiet, counts *c)
{
    if (code == EXIT_SKIPPED) {
        c->skipped++;
        printf("skip %s.%s: %s\n", test->suite, test->name, verdict_text);
    } else if (code) {
        c->failed++;
        printf("FAIL %s.%s\n     %s\n", test->suite, test->name, verdict_text);
    } else {
        c->passed++;
        if (!quiet)
            printf("ok   %s.%s\n", test->suite, test->name);
    }
    fflush(stdout);
}

static void run_all_here(as_test *const *order, size_t n, bool quiet, counts *c)
{
    for (size_t i = 0; i < n; i++) {
        int code = run_here(order[i]);
        remove_scratch(); /* a test finds nothing of another's */
        tell(order[i], code, quiet, c);
    }
}

static void run_all(as_test *const *order, size_t n, int n_jobs, bool quiet, counts *c)
{
    job    jobs[MAX_JOBS] = {{0}};
    size_t next = 0;
    for (size_t done = 0; done < n; done++) {
        for (int i = 0; i < n_jobs && next < n; i++)
            if (!jobs[i].child)
                job_start(&jobs[i], order[next++]);
        int            code;
        const as_test *test = job_wait(jobs, n_jobs, &code);
        tell(test, code, quiet, c);
    }
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
    long        n_jobs = sysconf(_SC_NPROCESSORS_ONLN);
    const char *filter = NULL, *without = getenv("ASSAY_TEST_WITHOUT"); /* a suite to leave out */
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--no-fork"))
            no_fork = true;
        else if (!strcmp(argv[i], "--list"))
            list = true;
        else if (!strcmp(argv[i], "--quiet"))
            quiet = true;
        else if (!strncmp(argv[i], "--jobs=", 7))
            n_jobs = atol(argv[i] + 7);
        else if (argv[i][0] != '-')
            filter = argv[i];
        else {
            fprintf(stderr, "usage: %s [--list] [--no-fork] [--jobs=N] [--quiet] [PART-OF-suite.name]\n", argv[0]);
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
    counts c = {0};
    for (size_t i = 0; list && i < n; i++)
        printf("%s.%s\n", order[i]->suite, order[i]->name);
    if (!list && no_fork)
        run_all_here(order, n, quiet, &c);
    else if (!list)
        run_all(order, n, n_jobs < 1 ? 1 : n_jobs > MAX_JOBS ? MAX_JOBS : (int)n_jobs, quiet, &c);
    free(order);
    remove_scratch();
    if (list)
        return 0;
    if (n == 0)
        printf("no test matches\n");
    printf("%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped);
    return c.failed || n == 0;
}
