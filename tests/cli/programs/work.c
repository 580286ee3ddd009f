/* work.c - programs whose behaviour is known, to be recorded.
 *
 *     work shares N      N rounds of 50, 30 and 20 parts of the same work in three functions
 *     work sleeps        sleeps for most of the time
 *     work threads N     two threads do the same work, each in a function of its own
 *     work child N       starts itself as "shares N" and waits for it
 *     work crash N       the same work, then a crash
 *     work code C        ends with this exit code at once
 *     work runs          works until it is ended; says "ready" first */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Counted work: each step needs the one before it, so all functions run the same instructions at the same speed. */
#define WORK(name)                                      \
    __attribute__((noinline)) unsigned name(unsigned n) \
    {                                                   \
        unsigned x = n | 1;                             \
        for (unsigned i = 0; i < n; i++) {              \
            x = x * 1664525u + 1013904223u;             \
            __asm__ volatile("" : "+r"(x));             \
        }                                               \
        return x;                                       \
    }
WORK(half_of_it)
WORK(third_part)
WORK(fifth_part)
WORK(left_thread)
WORK(right_thread)

static volatile unsigned result;

__attribute__((noinline)) static inline void round_of_work(void)
{
    result += half_of_it(50000);
    result += third_part(30000);
    result += fifth_part(20000);
}

static void shares(int rounds)
{
    for (int i = 0; i < rounds; i++)
        round_of_work();
}

static void *left(void *arg)
{
    for (int i = 0; i < *(int *)arg; i++)
        result += left_thread(50000);
    return NULL;
}

static void *right(void *arg)
{
    for (int i = 0; i < *(int *)arg; i++)
        result += right_thread(50000);
    return NULL;
}

static void threads(int rounds)
{
    pthread_t a, b;
    if (pthread_create(&a, NULL, left, &rounds) || pthread_create(&b, NULL, right, &rounds))
        exit(2);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

static void sleeps(void)
{
    struct timespec some = {.tv_nsec = 100000000};
    for (int i = 0; i < 6; i++) {
        round_of_work();
        nanosleep(&some, NULL);
    }
}

static int child(const char *self, const char *rounds)
{
    int   status;
    pid_t pid = fork();
    if (pid == 0) {
        execl(self, self, "shares", rounds, (char *)NULL);
        _exit(127);
    }
    return pid < 0 || waitpid(pid, &status, 0) < 0 || status;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int         n = argc > 2 ? atoi(argv[2]) : 100;
    if (!strcmp(mode, "shares")) {
        shares(n);
    } else if (!strcmp(mode, "sleeps")) {
        sleeps();
    } else if (!strcmp(mode, "threads")) {
        threads(n);
    } else if (!strcmp(mode, "child")) {
        return child(argv[0], argc > 2 ? argv[2] : "100");
    } else if (!strcmp(mode, "crash")) {
        shares(n);
        raise(SIGSEGV);
    } else if (!strcmp(mode, "code")) {
        return n;
    } else if (!strcmp(mode, "runs")) {
        puts("ready");
        fflush(stdout);
        for (;;)
            round_of_work();
    } else {
        return 2;
    }
    puts("done");
    return 0;
}
