/* arm_bin.c - a candidate that is another program, reached by the line protocol. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "run/arm_bin_child.h"
#include "base/command.h"
#include "run/sampler.h"

typedef struct bin {
    as_arena           arena;
    const char *const *argv;
    as_arm_greeting    greeting; /* of the first start */
    bool               is_known; /* hash and ledger have been asked for */
    as_child           child;
} bin;

static void land(void *self)
{
    bin *b = self;
    as_child_end(&b->child);
}

static void drop(void *self)
{
    bin *b = self;
    if (!b)
        return;
    land(b);
    as_arena_drop(&b->arena);
    free(b);
}

/* A bad answer ends the process: the rest of it would be taken for the next answer. */
static assay_status judged(bin *b, assay_status status)
{
    if (status != ASSAY_OK)
        as_child_kill(&b->child);
    return status;
}

static assay_status greet(assay_env *env, bin *b, as_arm_greeting *out)
{
    AS_TRY(as_child_start(env, &b->child, b->argv));
    return judged(b, as_arm_read_greeting(env, b->child.who, b->child.line, b->child.n_line, out));
}

static assay_status block_ask(assay_env *env, bin *b, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches)
{
    char request[64];
    snprintf(request, sizeof request, "block %d %" PRIu32 " %" PRIu32, warm, calls, n);
    AS_TRY(as_child_ask(env, &b->child, request));
    return judged(b, as_arm_read_block(env, b->child.who, b->child.line, b->child.n_line, b->greeting.by_cpu, n, shots, switches));
}

static assay_status block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches)
{
    bin *b = self;
    if (!b->child.pid)
        return as_fail(env, ASSAY_INTERNAL, "\"%s\": the program does not run, so it cannot measure a block", b->child.command);
    if (calls < 1 || calls > AS_ARM_MAX_CALLS || n < 1 || n > AS_ARM_MAX_SHOTS)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "\"%s\": a block of %" PRIu32 " samples of %" PRIu32 " calls is outside 1..%d and 1..%d", b->child.command,
                       n, calls, AS_ARM_MAX_SHOTS, AS_ARM_MAX_CALLS);
    return block_ask(env, b, warm, calls, n, shots, switches);
}

/* `launch`, then the first three calls, one by one, unless the launch has made them.  Their times are kept for the first launch
 * only; later launches make one call, so that more launches fit. */
static assay_status first_calls(assay_env *env, bin *b, uint64_t seed, double first_ns[3])
{
    char     request[64];
    bool     has_first;
    as_shot  shot;
    uint32_t switches;
    snprintf(request, sizeof request, "launch %" PRIu64, seed);
    AS_TRY(as_child_ask(env, &b->child, request));
    AS_TRY(judged(b, as_arm_read_launch(env, b->child.who, b->child.line, b->child.n_line, first_ns, &has_first)));
    for (int i = 0; i < (b->is_known ? 1 : 3) && !has_first; i++) {
        AS_TRY(block_ask(env, b, false, 1, 1, &shot, &switches));
        first_ns[i] = (double)shot.wall_ns;
    }
    return ASSAY_OK;
}

static assay_status know(assay_env *env, bin *b, uint64_t *hash, as_ledger *ledger)
{
    AS_TRY(as_child_ask(env, &b->child, "hash"));
    AS_TRY(judged(b, as_arm_read_hash(env, b->child.who, b->child.line, b->child.n_line, hash)));
    AS_TRY(as_child_ask(env, &b->child, "ledger"));
    return judged(b, as_arm_read_ledger(env, b->child.who, b->child.line, b->child.n_line, ledger));
}

static assay_status launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    bin            *b = self;
    as_arm_greeting again;
    as_trace_arm    found = *info;
    land(b);
    AS_TRY(greet(env, b, &again));
    if (again.by_cpu != b->greeting.by_cpu)
        return judged(b, as_fail(env, ASSAY_DEVICE, "\"%s\": its greeting says by=%s, but said by=%s before", b->child.command,
                                 again.by_cpu ? "cpu" : "wall", b->greeting.by_cpu ? "cpu" : "wall"));
    AS_TRY(first_calls(env, b, seed, found.first_ns));
    if (!b->is_known)
        AS_TRY(know(env, b, &found.hash, &found.ledger));
    b->is_known = true;
    *info = found;
    return ASSAY_OK;
}

/* Copies the words, so they need not outlive the call. */
static bool argv_copy(bin *b, const char *const *argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    const char **copy = AS_TAKE(&b->arena, const char *, n + 1);
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = as_arena_text(&b->arena, argv[i])))
            return false;
    b->argv = copy;
    b->child.command = as_command_join(&b->arena, argv);
    return copy && b->child.command;
}

assay_status as_arm_bin(assay_env *env, const char *name, const char *const *argv, uint64_t timeout_ns, as_arm *out)
{
    bin *b = calloc(1, sizeof *b);
    if (!b || !argv_copy(b, argv)) {
        drop(b);
        return as_fail(env, ASSAY_NO_MEMORY, "\"%s\": not enough memory for a process", argv[0]);
    }
    b->child.timeout_ns = timeout_ns;
    assay_status status = greet(env, b, &b->greeting); /* a first start, because only the greeting tells which clock decides */
    if (status == ASSAY_OK && !(name = as_arena_text(&b->arena, name ? name : b->greeting.name)))
        status = as_fail(env, ASSAY_NO_MEMORY, "\"%s\": not enough memory for its name", b->child.command);
    if (status != ASSAY_OK) {
        drop(b);
        return status;
    }
    land(b);
    *out = (as_arm){.name = name,
                    .what = b->child.command,
                    .self = b,
                    .by_cpu = b->greeting.by_cpu,
                    .launch = launch,
                    .block = block,
                    .land = land,
                    .drop = drop};
    return ASSAY_OK;
}
