/* stop.c - Ctrl-C, SIGTERM and SIGHUP.
 *
 * The first signal cancels the env: loops look at it between blocks, steps and chunks, and what was measured comes out as a
 * partial result. Some work has no such place (an operator in reference code, one long call of a kernel).  So a timer runs from
 * the signal on: when it fires, the program ends if nothing would be lost; otherwise it says what it is waiting for.  A second
 * signal ends it at once. */
#include "cli/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/stage.h"
#include "cli/progress.h"

enum { EXIT_NOT_RUN = 5, GRACE_US = 100000 };

/* A handler has no other way to reach them. */
static assay_env            *env_of_signal;
static volatile sig_atomic_t n_signals, phase_then;

/* Only write(): this runs inside a signal handler. */
static void say(const char *const *words)
{
    char   line[512];
    size_t n = 0;
    for (; *words; words++)
        for (const char *c = *words; *c && n < sizeof line; c++)
            line[n++] = *c;
    for (size_t at = 0; at < n;) {
        ssize_t got = write(STDERR_FILENO, line + at, n - at);
        if (got <= 0)
            return;
        at += (size_t)got;
    }
}

static const char *loss_text(int stake)
{
    return stake == AS_STAKE_KEPT   ? ": the run is kept in the store\n"
           : stake == AS_STAKE_HELD ? ": what was measured is lost\n"
                                    : ": nothing was measured\n";
}

static void end_now(void)
{
    as_progress_clear();
    if (env_of_signal) {
        say((const char *const[]){"assay: stopped while ", as_phase_text(as_stage_phase(env_of_signal)),
                                  loss_text(atomic_load(&env_of_signal->stake)), NULL});
        as_out_remove_all(env_of_signal);
    } else {
        say((const char *const[]){"assay: stopped\n", NULL});
    }
    _exit(EXIT_NOT_RUN);
}

static void timer_set(long us)
{
    struct itimerval when = {.it_value = {.tv_usec = us}};
    setitimer(ITIMER_REAL, &when, NULL);
}

static void on_stop(int number)
{
    int kept = errno;
    (void)number;
    if (!env_of_signal || n_signals++)
        end_now();
    phase_then = (int)as_stage_phase(env_of_signal);
    assay_cancel(env_of_signal);
    timer_set(GRACE_US);
    errno = kept;
}

/* Work that was stopped in time is being reported now, so the timer does nothing. */
static void on_timer(int number)
{
    int kept = errno;
    (void)number;
    if (!env_of_signal)
        return;
    bool reports = as_stage_phase(env_of_signal) >= AS_PHASE_ANALYSE && phase_then < AS_PHASE_ANALYSE;
    if (!reports && atomic_load(&env_of_signal->stake) != AS_STAKE_HELD)
        end_now();
    if (!reports) {
        as_progress_clear();
        say((const char *const[]){"assay: stopping after what is under way (", as_phase_text(as_stage_phase(env_of_signal)),
                                  "); Ctrl-C again ends at once\n", NULL});
    }
    errno = kept;
}

void as_stop_begin(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART},
                     timer = {.sa_handler = on_timer, .sa_flags = SA_RESTART}, old;
    for (size_t i = 0; i < AS_COUNT(signals); i++) {
        sigaddset(&stop.sa_mask, signals[i]);
        sigaddset(&timer.sa_mask, signals[i]);
    }
    sigaddset(&stop.sa_mask, SIGALRM);
    for (size_t i = 0; i < AS_COUNT(signals); i++)
        if (signals[i] != SIGHUP || (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN)) /* nohup has set it to be
                                                                                                    * ignored */
            sigaction(signals[i], &stop, NULL);
    sigaction(SIGALRM, &timer, NULL);
}

void as_stop_env(assay_env *env) { env_of_signal = env; }

void as_stop_end(void)
{
    static const int signals[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < AS_COUNT(signals); i++)
        signal(signals[i], SIG_IGN);
    timer_set(0);
    env_of_signal = NULL;
}

void as_stop_sentence(assay_env *env, char *out, size_t size)
{
    snprintf(out, size, "stopped while %s: nothing was measured", as_phase_text((as_phase)phase_then));
    (void)env;
}
