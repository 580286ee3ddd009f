/* arm_bin_test.c - processes as candidates: correct ones, and every kind of fault. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assay_arm.h"
#include "base/pool.h"
#include "run/arm_line.h"
#include "run/sampler.h"
#include "tests/runner/test.h"

#define GREETS "echo 'assay-arm 1 toy by=cpu'; "
/* A complete candidate as a shell script, with a hook that sees each request first. */
#define ARM_WITH(hook)                                                                                                    \
    GREETS                                                                                                                \
    "while read -r verb a b n; do " hook " case $verb in launch) echo ok;; hash) echo ok 1f;; ledger) echo ok flops=8;; " \
    "block) out='ok 1'; while [ $n -gt 0 ]; do out=\"$out $b.5 $b\"; n=$((n - 1)); done; echo $out;; end) exit 0;; esac; done"

static const uint64_t SECONDS_60 = 60000000000u;

typedef struct fixture {
    assay_env   *env;
    as_arm       arm;
    as_trace_arm info;
} fixture;

static assay_status shell(fixture *f, const char *script, uint64_t timeout_ns)
{
    *f = (fixture){.env = NULL};
    expect_eq(assay_env_new(&f->env), ASSAY_OK);
    return as_arm_bin(f->env, NULL, (const char *const[]){"/bin/sh", "-c", script, NULL}, timeout_ns, &f->arm);
}

static void open_shell(fixture *f, const char *script) { expect_ok(f->env, shell(f, script, SECONDS_60)); }

static bool no_child_is_left(void) { return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD; }

static void done(fixture *f)
{
    if (f->arm.drop)
        f->arm.drop(f->arm.self);
    assay_env_free(f->env);
    expect(no_child_is_left());
}

static assay_status block(fixture *f, uint32_t n)
{
    static as_shot shots[AS_ARM_MAX_SHOTS];
    uint32_t       switches;
    return f->arm.block(f->env, f->arm.self, true, 10, n, shots, &switches);
}

static assay_status launch(fixture *f) { return f->arm.launch(f->env, f->arm.self, 7, &f->info); }

Test(arm_bin, launches_a_process_and_asks_it_for_blocks)
{
    fixture  f;
    as_shot  shots[3];
    uint32_t switches = 0;
    open_shell(&f, ARM_WITH(""));
    expect_str(f.arm.name, "toy");
    expect_has(f.arm.what, "/bin/sh -c \"echo");
    expect(f.arm.by_cpu);
    expect(no_child_is_left());
    expect_ok(f.env, launch(&f));
    expect_near(f.info.first_ns[0], 1.5, 0);
    expect_near(f.info.first_ns[2], 1.5, 0);
    expect_eq(f.info.hash, 0x1f);
    expect_near(f.info.ledger.flops, 8, 0);
    expect(isnan(f.info.ledger.bytes));
    expect_ok(f.env, f.arm.block(f.env, f.arm.self, true, 10, 3, shots, &switches));
    expect_eq(switches, 1);
    expect_near(shots[2].wall_ns, 10.5, 0);
    expect_near(shots[2].cpu_ns, 10, 0);
    f.arm.land(f.arm.self);
    expect(no_child_is_left());
    f.arm.land(f.arm.self);
    done(&f);
}

Test(arm_bin, asks_for_hash_and_ledger_only_the_first_time)
{
    fixture f;
    open_shell(&f, ARM_WITH(""));
    expect_ok(f.env, launch(&f));
    f.info.hash = 5;
    expect_ok(f.env, launch(&f)); /* without ending the launch before: the old process is ended */
    expect_eq(f.info.hash, 5);
    done(&f);
}

Test(arm_bin, allocates_nothing_in_a_block)
{
    fixture f;
    if (as_test_n_allocs() == SIZE_MAX)
        skip("no --wrap here");
    open_shell(&f, ARM_WITH(""));
    expect_ok(f.env, launch(&f));
    size_t before = as_test_n_allocs();
    expect_ok(f.env, block(&f, 20));
    expect_eq(as_test_n_allocs(), before);
    done(&f);
}

Test(arm_bin, takes_times_of_the_first_calls_from_a_launch_that_made_them)
{
    fixture f;
    open_shell(
        &f, GREETS
        "while read -r verb a; do case $verb in launch) echo ok 3 2 1;; hash) echo ok 0;; ledger) echo ok;; end) exit;; *) echo error no;; esac; done");
    expect_ok(f.env, launch(&f));
    expect_near(f.info.first_ns[0], 3, 0);
    expect_near(f.info.first_ns[2], 1, 0);
    done(&f);
}

Test(arm_bin, refuses_a_program_that_is_not_there)
{
    assay_env *env;
    as_arm     arm;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_fails(env, as_arm_bin(env, "x", (const char *const[]){"./no-such-program", "3", NULL}, SECONDS_60, &arm),
                 ASSAY_NOT_FOUND, "\"./no-such-program 3\" cannot be started: ");
    expect_fails(env, as_arm_bin(env, "x", (const char *const[]){"/", NULL}, SECONDS_60, &arm), ASSAY_NOT_FOUND,
                 "\"/\" cannot be started: ");
    assay_env_free(env);
    expect(no_child_is_left());
}

Test(arm_bin, refuses_a_program_that_speaks_something_else)
{
    fixture f;
    expect_fails(f.env, shell(&f, "echo Makefile; cat", SECONDS_60), ASSAY_DEVICE,
                 "its greeting: expected the greeting \"assay-arm 1 NAME by=cpu|wall\", not \"Makefile\"");
    done(&f);
    expect_fails(f.env, shell(&f, "echo one; echo two; cat", SECONDS_60), ASSAY_DEVICE, "its greeting: ");
    done(&f);
    expect_fails(f.env, shell(&f, "head -c 300000 /dev/zero | tr '\\0' x; cat", SECONDS_60), ASSAY_DEVICE,
                 "its greeting: a line that is too long: \"xxx");
    done(&f);
}

Test(arm_bin, says_how_a_program_ended_and_its_last_words)
{
    fixture f;
    expect_fails(f.env, shell(&f, "echo first >&2; echo 'no GPU here' >&2; echo >&2; exit 3", SECONDS_60), ASSAY_DEVICE,
                 "ended with exit code 3 while it owed its greeting; it said: no GPU here");
    done(&f);
    open_shell(&f, ARM_WITH("[ $verb = block ] && kill -SEGV $$;"));
    expect_fails(f.env, launch(&f), ASSAY_DEVICE,
                 "ended by signal 11 (Segmentation fault) while it owed its answer to \"block 0 1 1\"");
    expect(no_child_is_left());
    done(&f);
    open_shell(&f, ARM_WITH("[ $verb = ledger ] && { echo ok; exit 0; };"));
    expect_ok(f.env, launch(&f));
    expect_fails(f.env, block(&f, 1), ASSAY_DEVICE, "ended with exit code 0 while it owed its answer to \"block 1 10 1\"");
    done(&f);
}

Test(arm_bin, sees_a_dead_program_behind_a_child_that_holds_its_output)
{
    fixture f;
    expect_fails(f.env, shell(&f, "sleep 1000 & exit 4", SECONDS_60), ASSAY_DEVICE,
                 "ended with exit code 4 while it owed its greeting");
    done(&f);
}

Test(arm_bin, sees_a_program_that_closes_its_output_and_lives_on)
{
    fixture f;
    expect_fails(f.env, shell(&f, "exec >&-; exec sleep 1000", SECONDS_60), ASSAY_DEVICE,
                 "closed its input or output while it owed its greeting");
    done(&f);
}

static int lowest_free_file(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

Test(arm_bin, leaves_no_file_open)
{
    fixture f;
    int     before = lowest_free_file();
    expect_fails(f.env, shell(&f, "exit 3", SECONDS_60), ASSAY_DEVICE, "exit code 3");
    expect_eq(lowest_free_file(), before);
    expect_eq(as_arm_bin(f.env, "x", (const char *const[]){"./no-such-program", NULL}, SECONDS_60, &f.arm), ASSAY_NOT_FOUND);
    expect_eq(lowest_free_file(), before);
    done(&f);
    open_shell(&f, ARM_WITH(""));
    expect_ok(f.env, launch(&f));
    expect_ok(f.env, launch(&f));
    done(&f);
    expect_eq(lowest_free_file(), before);
}

/* A FIFO that the children hold open: reading from it returns only when none of them holds it any more. */
static int fifo_open(const char *path)
{
    int fd = mkfifo(path, 0600) ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    expect(fd >= 0);
    return fd;
}

static void expect_all_gone(int fd)
{
    char byte = 0;
    fcntl(fd, F_SETFL, 0);
    expect_eq(read(fd, &byte, 1), 1);
    expect_eq(byte, 'x'); /* it did start */
    while (read(fd, &byte, 1) == 1)
        expect_eq(byte, 'x');
    close(fd);
}

Test(arm_bin, ends_the_group_of_a_program_that_hangs)
{
    fixture f;
    char    script[512];
    int     fd = fifo_open(as_test_path("held"));
    snprintf(script, sizeof script,
             "exec 9>%s; printf x >&9; " GREETS
             "read -r verb; [ \"$verb\" = end ] && exit; echo ok; echo hm >&2; sleep 1000 & sleep 1000",
             as_test_path("held"));
    expect_ok(f.env, shell(&f, script, 200000000));
    expect_fails(f.env, launch(&f), ASSAY_TIMED_OUT, "its answer to \"block 0 1 1\": timed out after 0.2 s; it said: hm");
    expect_all_gone(fd);
    done(&f);
}

Test(arm_bin, ends_a_program_that_does_not_know_how_to_end)
{
    fixture f;
    char    script[512];
    int     fd = fifo_open(as_test_path("arm-kept"));
    snprintf(script, sizeof script,
             "exec 9>%s; printf x >&9; trap '' TERM INT HUP PIPE; echo 'assay-arm 1 x by=wall'; while :; do sleep 1000; done",
             as_test_path("arm-kept"));
    open_shell(&f, script);
    expect(!f.arm.by_cpu);
    expect_all_gone(fd);
    done(&f);
}

Test(arm_bin, times_out_when_standard_error_never_ends)
{
    fixture f;
    expect_fails(f.env, shell(&f, "yes >&2; :", 200000000), ASSAY_TIMED_OUT, "timed out after 0.2 s; it said: y");
    done(&f);
}

Test(arm_bin, refuses_bad_answers_by_the_request)
{
    static const struct {
        const char *script, *part;
    } bad[] = {
        {ARM_WITH("[ $verb = launch ] && { echo yes; continue; };"),
         "its answer to \"launch 7\": the answer must begin with \"ok\" or \"error\", not \"yes\""},
        {ARM_WITH("[ $verb = launch ] && { echo error no room; continue; };"),
         "its answer to \"launch 7\": the program answers with an error: no room"},
        {ARM_WITH("[ $verb = block ] && { echo ok 0 nan 1; continue; };"),
         "its answer to \"block 0 1 1\": sample 1: \"nan\" is not a wall time"},
        {ARM_WITH("[ $verb = block ] && { echo ok 0 1 -1; continue; };"), "sample 1: \"-1\" is not a CPU time"},
        {ARM_WITH("[ $verb = block ] && { echo ok 0 1 1 1 1; continue; };"), "more than the 1 samples"},
        {ARM_WITH("[ $verb = block ] && { echo ok 0; continue; };"), "ends at sample 1"},
        {ARM_WITH("[ $verb = hash ] && { printf '\\033[2J\\n'; continue; };"), ", not \"?[2J\""},
        {ARM_WITH("[ $verb = ledger ] && { echo ok flops=-1; continue; };"), "\"flops=-1\" is not a count"},
        {ARM_WITH("[ $verb = ledger ] && { printf 'ok\\nok\\n'; continue; };"), "more than one line"},
    };
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        fixture f;
        open_shell(&f, bad[i].script);
        f.info.hash = 99;
        expect_fails(f.env, launch(&f), ASSAY_DEVICE, bad[i].part);
        expect_has(assay_message(f.env), "/bin/sh");
        expect_eq(f.info.hash, 99);
        expect(no_child_is_left());
        done(&f);
    }
}

Test(arm_bin, refuses_a_clock_that_changes_from_start_to_start)
{
    fixture f;
    char    script[512];
    snprintf(script, sizeof script,
             "if [ -e %1$s ]; then echo 'assay-arm 1 x by=wall'; else : >%1$s; echo 'assay-arm 1 x by=cpu'; fi; cat >/dev/null",
             as_test_path("started"));
    open_shell(&f, script);
    expect_fails(f.env, launch(&f), ASSAY_DEVICE, "its greeting says by=wall, but said by=cpu before");
    done(&f);
}

Test(arm_bin, refuses_blocks_beyond_the_protocol_and_before_a_launch)
{
    fixture f;
    open_shell(&f, ARM_WITH(""));
    expect_fails(f.env, block(&f, 1), ASSAY_INTERNAL, "the program does not run");
    expect_ok(f.env, launch(&f));
    expect_fails(f.env, block(&f, AS_ARM_MAX_SHOTS + 1), ASSAY_BAD_INPUT, "outside 1..4096");
    expect_ok(f.env, block(&f, 1)); /* and the program still runs */
    done(&f);
}

Test(arm_bin, sees_cancel_while_it_waits)
{
    fixture f;
    open_shell(&f, ARM_WITH("[ $verb = block ] && sleep 1000;"));
    assay_cancel(f.env);
    expect_fails(f.env, launch(&f), ASSAY_CANCELLED, "cancelled");
    expect(no_child_is_left());
    done(&f);
}

Test(arm_bin, gives_the_child_its_own_group_our_cpu_and_no_other_file)
{
    fixture f;
    as_pin  pin = {0};
    char    why[128];
    if (access("/proc/self/status", R_OK))
        skip("no /proc here");
    if (!as_pin_self(&pin, 0, why, sizeof why))
        skip("%s", why);
    int ours = open("/dev/null", O_RDONLY); /* without close-on-exec */
    open_shell(
        &f,
        "set -- $(cat /proc/self/stat); g=other; [ \"$5\" = $$ ] && g=own; c=$(grep Cpus_allowed_list /proc/self/status | tr -dc '0-9,-'); "
        "f=$(ls /proc/self/fd | wc -l); echo \"assay-arm 1 group:$g,cpus:$c,files:$f by=cpu\"; cat >/dev/null");
    as_pin_undo(&pin);
    close(ours);
    expect_has(f.arm.name, "group:own,cpus:");
    expect(!strpbrk(strstr(f.arm.name, "cpus:"), "-") && !strchr(strchr(f.arm.name, ',') + 1, '-'));
    expect_has(f.arm.name, "files:4"); /* three, and the directory that ls reads */
    done(&f);
}

/* --- The helper header and our own speaker, each in a process of this very program ------------------------------ */

static int  n_calls;
static void count(void *arg)
{
    n_calls++;
    printf("a stray line %p\n", arg);
}
static void     place(void *arg, uint64_t seed) { (void)arg, n_calls = (int)seed; }
static uint64_t calls_so_far(void *arg)
{
    (void)arg;
    return (uint64_t)n_calls;
}

Test(arm_bin_child, serves_with_the_helper_header_when_asked)
{
    assay_arm arm = {.name = "helper", .call = count, .launch = place, .hash = calls_so_far, .flops = 3, .peak_bytes = 5};
    if (getenv("ASSAY_TEST_SERVE"))
        exit(assay_arm_serve_all(&arm));
}

static assay_status fake_launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    (void)env, (void)self;
    for (int i = 0; i < 3; i++)
        info->first_ns[i] = (double)seed + i;
    info->hash = seed << 32;
    info->ledger.launches = 4;
    return ASSAY_OK;
}
static assay_status fake_block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots,
                               uint32_t *switches)
{
    (void)self;
    if (calls == 13)
        return as_fail(env, ASSAY_DEVICE, "thirteen calls are too many");
    for (uint32_t i = 0; i < n; i++)
        shots[i] = (as_shot){(float)calls + 0.1f, warm ? NAN : (float)i};
    *switches = n;
    return ASSAY_OK;
}
static void nothing(void *self) { (void)self; }

static const as_arm fake = {
    .name = "fake one", .what = "fake", .launch = fake_launch, .block = fake_block, .land = nothing, .drop = nothing};

Test(arm_bin_child, speaks_as_assay_does_when_asked)
{
    assay_env *env;
    if (!getenv("ASSAY_TEST_SPEAK"))
        return;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    int code = as_arm_speak(env, &fake, stdin, stdout) == ASSAY_OK ? 0 : 1;
    assay_env_free(env);
    exit(code);
}

/* Opens one of the two tests above as a candidate, in a process of its own. */
static void open_self(fixture *f, const char *variable, const char *test)
{
    static char self[4096];
    ssize_t     n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0 || getenv("ASSAY_TEST_SHORT"))
        skip("this program cannot start itself here"); /* under qemu the system does not know its format */
    self[n] = 0;
    *f = (fixture){.env = NULL};
    expect_eq(assay_env_new(&f->env), ASSAY_OK);
    char setting[64];
    snprintf(setting, sizeof setting, "%s=1", variable);
    assay_status status = as_arm_bin(f->env, NULL, (const char *const[]){"env", setting, self, "--no-fork", "--quiet", test, NULL},
                                     SECONDS_60, &f->arm);
    expect_ok(f->env, status);
}

Test(arm_bin, understands_the_helper_header)
{
    fixture  f;
    as_shot  shots[5];
    uint32_t switches;
    open_self(&f, "ASSAY_TEST_SERVE", "arm_bin_child.serves");
    expect_str(f.arm.name, "helper");
    expect(f.arm.by_cpu);
    expect_ok(f.env, launch(&f));
    expect_eq(f.info.hash, 7 + 3); /* the seed and three calls: there are no others */
    expect_near(f.info.ledger.flops, 3, 0);
    expect_near(f.info.ledger.peak_bytes, 5, 0);
    expect(isnan(f.info.ledger.bytes));
    expect(f.info.first_ns[0] > 0);
    expect_ok(f.env, f.arm.block(f.env, f.arm.self, true, 4, 5, shots, &switches));
    expect(shots[4].wall_ns > 0 && shots[4].cpu_ns > 0);
    expect_ok(f.env, block(&f, AS_ARM_MAX_SHOTS));
    done(&f);
}

Test(arm_bin, understands_our_own_speaker)
{
    fixture  f;
    as_shot  shots[2];
    uint32_t switches;
    open_self(&f, "ASSAY_TEST_SPEAK", "arm_bin_child.speaks");
    expect_str(f.arm.name, "fake_one");
    expect(!f.arm.by_cpu);
    expect_ok(f.env, launch(&f));
    expect_eq(f.info.hash, 7ll << 32);
    expect_near(f.info.first_ns[2], 9, 0);
    expect_near(f.info.ledger.launches, 4, 0);
    expect_ok(f.env, f.arm.block(f.env, f.arm.self, false, 12, 2, shots, &switches));
    expect_eq(switches, 2);
    expect_near(shots[1].wall_ns, 12.1f, 0); /* to the last bit */
    expect_near(shots[1].cpu_ns, 1, 0);
    expect_ok(f.env, f.arm.block(f.env, f.arm.self, true, 12, 2, shots, &switches));
    expect(isnan(shots[1].cpu_ns));
    expect_fails(f.env, f.arm.block(f.env, f.arm.self, true, 13, 2, shots, &switches), ASSAY_DEVICE,
                 "answers with an error: thirteen calls are too many");
    done(&f);
}
