/* heap.c - a program that allocates what it is told to, for tests of `assay record --memory`.  It prints by write(2): stdio would allocate. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 1000 };
static void *volatile kept[4 * N];

static __attribute__((noinline)) void *leaky(size_t bytes) { return malloc(bytes); /* LEAK */ }
static __attribute__((noinline)) void *owner_a(size_t bytes) { return malloc(bytes); }
static __attribute__((noinline)) void *owner_b(size_t bytes) { return calloc(1, bytes); }

static void known(void) /* sizes 1 .. N, then all freed: N allocs, N frees, N (N + 1) / 2 bytes, which is the peak */
{
    for (int i = 0; i < N; i++)
        kept[i] = malloc((size_t)i + 1);
    for (int i = 0; i < N; i++)
        free(kept[i]);
}

static void chain(void) /* one block that grows 64 times by 100 bytes */
{
    char *p = malloc(100);
    for (int i = 2; i <= 65; i++)
        p = realloc(p, (size_t)i * 100);
    p = reallocarray(p, 10, 5);
    free(p);
}

static void aligned(void)
{
    void *p;
    if (!posix_memalign(&p, 4096, 1000))
        kept[0] = p;
    kept[1] = aligned_alloc(64, 640);
    kept[2] = memalign(256, 300);
    kept[3] = valloc(500);
    kept[4] = pvalloc(600);
    kept[5] = calloc(7, 100);
    for (int i = 0; i < 6; i++)
        free(kept[i]);
    free(NULL);
}

static void *work(void *arg)
{
    long first = (long)arg;
    for (int i = 0; i < N; i++)
        kept[first + i] = malloc(100);
    for (int i = 0; i < N / 2; i++)
        free(kept[first + i]);
    return NULL;
}

static void
threads(void) /* half of each thread's blocks are freed by the first one; what the system takes for threads comes on top */
{
    pthread_t all[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, work, (void *)(i * N));
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    for (int i = 0; i < 4 * N; i++)
        if (i % N >= N / 2)
            free(kept[i]);
}

static void forks(void)
{
    void *p = owner_a(5000);
    pid_t child = fork();
    if (!child) {
        free(owner_b(70000));
        free(p); /* of its parent: from before, for the child */
        _exit(0);
    }
    waitpid(child, NULL, 0);
    free(p);
}

static void leak(void)
{
    for (int i = 0; i < N; i++) {
        void *p = owner_a(300);
        kept[i] = leaky(64);
        free(p);
    }
}

static void fills_up(void) /* a cache: grows first, then stays, and is not freed */
{
    for (int i = 0; i < N / 10; i++)
        kept[i] = leaky(64);
    for (int i = 0; i < N; i++)
        free(owner_a(300));
}

static void owners(void) /* at the peak: a has 60000 bytes, b 40000 */
{
    void *a = owner_a(60000), *b = owner_b(40000);
    free(a);
    free(owner_a(30000));
    free(b);
}

extern void *__libc_malloc(size_t);
static void  before(void) { free(__libc_malloc(10)); } /* a block that nobody saw */

static void maps(void)
{
    char *p = mmap(NULL, 10 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p + 4096, 2 * 4096); /* in the middle */
    munmap(p, 10 * 4096);
}

static void crash(void)
{
    known();
    kept[0] = owner_b(12345);
    abort();
}

static void waits(void) /* for somebody who ends it, or 60 s */
{
    kept[0] = owner_b(54321);
    (void)!write(1, "ready\n", 6);
    for (int i = 0; i < 600; i++)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

/* 70 % and 30 % of the CPU time of this thread. */
static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static volatile double                sink;
static __attribute__((noinline)) void burn_a(double until)
{
    while (cpu_s() < until)
        for (int i = 0; i < 20000; i++)
            sink = sink * 1.0000001 + 1;
}
static __attribute__((noinline)) void burn_b(double until)
{
    while (cpu_s() < until)
        for (int i = 0; i < 20000; i++)
            sink = sink * 1.0000001 + 2;
}
static void shares(void)
{
    double now = cpu_s();
    burn_a(now + .7);
    burn_b(now + 1);
}

static void on_signal(int number) { (void)number; }
static void takes_signal(void)
{
    signal(SIGPROF, on_signal);
    burn_a(cpu_s() + .05);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"known", known},       {"chain", chain},
               {"aligned", aligned},   {"threads", threads},
               {"forks", forks},       {"leak", leak},
               {"fills-up", fills_up}, {"owners", owners},
               {"before", before},     {"maps", maps},
               {"crash", crash},       {"waits", waits},
               {"shares", shares},     {"takes-signal", takes_signal}};
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name)) {
            all[i].run();
            (void)!write(1, "done\n", 5);
            return 7;
        }
    if (argc > 2 && !strcmp(argv[1], "exec")) {
        kept[0] = malloc(1111);
        execv(argv[2], argv + 2);
    }
    return 1;
}
