/* progress.c - one progress line for long work on a terminal; elsewhere a sentence before a long stage. */
#include "cli/progress.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define SHOWN_S   2.0  /* a shorter call shows nothing */
#define TOLD_S    10.0 /* a shorter stage is not announced where there is no terminal */
#define REDRAW_NS 100000000u
enum { BAR = 20, WIDTH = 79, MAX_TOLD = 32 };

static struct {
    bool                  terminal, all_told, beyond_told;
    uint64_t              began_ns, drawn_ns;
    const char           *told[MAX_TOLD]; /* stages that were announced; the texts are constants */
    int                   n_told;
    volatile sig_atomic_t drawn; /* a signal handler may clear the line */
    volatile sig_atomic_t rows;  /* of a block above the line, 0 .. 9 */
} line;

void as_progress_clear(void)
{
    char up[] = "\r\033[0A\033[J\033[K";
    up[3] = (char)('0' + line.rows);
    const char *clear = line.rows ? up : "\r\033[K";
    if (line.drawn && write(STDERR_FILENO, clear, line.rows ? sizeof up - 1 : 4) > 0)
        line.drawn = line.rows = 0;
}

bool as_progress_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
}

void as_progress_block(const char *text, int rows)
{
    sigset_t all, before;
    sigfillset(&all); /* a handler that clears half a block would leave the other half */
    sigprocmask(SIG_BLOCK, &all, &before);
    as_progress_clear();
    fputs(text, stderr);
    fflush(stderr);
    line.rows = rows < 9 ? rows : 9;
    line.drawn = 1;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static const char *time_text(char *buf, size_t size, double s)
{
    if (s >= 5400)
        snprintf(buf, size, "%.1f h", s / 3600);
    else if (s >= 90)
        snprintf(buf, size, "%.0f min", s / 60);
    else
        snprintf(buf, size, "%.0f s", ceil(s));
    return buf;
}

static void redraw(const assay_stage *s)
{
    static const char bar[] = "####################";
    char              left[48] = "", time[32], what[128];
    int               n = (int)(s->done * BAR);
    if (isfinite(s->left_s))
        snprintf(left, sizeof left, ", %s left", time_text(time, sizeof time, s->left_s));
    int room = WIDTH - BAR - 12 - (int)strlen(left);
    snprintf(what, sizeof what, "%s%s%s", s->what, *s->subject ? " " : "", s->subject);
    fprintf(stderr, "\r  %-*.*s [%-*.*s] %3.0f %%%s\033[K", room, room, what, BAR,
            n < 0     ? 0
            : n > BAR ? BAR
                      : n,
            bar, s->done * 100, left);
    fflush(stderr);
    line.drawn = 1;
}

static bool is_new(const char *what)
{
    for (int i = 0; i < line.n_told; i++)
        if (!strcmp(line.told[i], what))
            return false;
    if (line.n_told < MAX_TOLD)
        line.told[line.n_told++] = what;
    return true;
}

/* Set-up that takes longer than the budget is always announced. */
static void beyond_tell(const assay_stage *s)
{
    char takes[32], beyond[32];
    if (!(s->beyond_s > 0) || line.beyond_told)
        return;
    as_progress_clear();
    fprintf(stderr, "assay: %s takes about %s, %s of it beyond --budget; --check off skips it\n", s->what,
            time_text(takes, sizeof takes, s->expect_s), time_text(beyond, sizeof beyond, s->beyond_s));
    line.beyond_told = true;
}

static void sentence(const assay_stage *s)
{
    char time[32];
    bool long_stage = s->expect_s > TOLD_S, long_call = s->left_s > TOLD_S && !line.all_told;
    if (!(long_stage && is_new(s->what)) && !long_call)
        return;
    fprintf(stderr, "assay: %s%s%s, about %s%s\n", s->what, *s->subject ? " " : "", s->subject,
            time_text(time, sizeof time, long_call ? s->left_s : s->expect_s), long_call ? " in all" : "");
    line.all_told |= long_call;
}

static void show(void *arg, const assay_stage *s)
{
    uint64_t now = as_monotonic_ns();
    double   elapsed_s = (double)(now - line.began_ns) / 1e9;
    (void)arg;
    beyond_tell(s);
    if (!line.terminal) {
        sentence(s);
        return;
    }
    bool takes_long = elapsed_s > SHOWN_S || elapsed_s + s->left_s > SHOWN_S;
    if (takes_long && (!line.drawn || s->done <= 0 || now - line.drawn_ns > REDRAW_NS)) {
        redraw(s);
        line.drawn_ns = now;
    }
}

void as_cli_progress(as_cli *cli, bool wanted)
{
    if (!wanted || cli->quiet)
        return;
    memset(&line, 0, sizeof line);
    line.terminal = as_progress_terminal();
    line.began_ns = as_monotonic_ns();
    assay_on_progress(cli->env, show, NULL);
}

void as_cli_progress_end(as_cli *cli)
{
    as_progress_clear();
    assay_on_progress(cli->env, NULL, NULL);
}
