/* record.c - chooses a recorder, starts the program under it, and drains it into a growing trace until the program ends. */
#include "record/record.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/cpus.h"
#include "base/file.h"
#include "base/stage.h"
#include "base/text.h"
#include "record/program.h"
#include "sensor/sensor.h"
#include "trace/stream.h"

enum { SLICE_MS = 100, MAX_RATE = 100000 };
/* A program that was told to end: first its own Ctrl-C has time to work, then it is asked, then it is left alone. */
static const uint64_t OWN_NS = 200000000, ASKED_NS = 3000000000;

/* --- Settings ------------------------------------------------------------------------------------------------- */

assay_status as_record_settings_read(assay_env *env, const assay_options *options, as_record_settings *out)
{
    static const as_option_member members[] = {AS_MEMBER(as_record_settings, I64, "pid", pid),
                                               AS_MEMBER(as_record_settings, BOOL, "memory", memory),
                                               AS_MEMBER(as_record_settings, CHOICE, "call-graph", call_graph),
                                               AS_MEMBER(as_record_settings, TEXT, "trace", trace_path),
                                               {.key = NULL}};
    *out = (as_record_settings){.rate = AS_RECORD_RATE_HZ};
    AS_TRY(as_options_read(env, options, members, out));
    if (as_options_is_set(options, "rate")) {
        int64_t rate = as_options_int(options, "rate");
        if (rate > MAX_RATE)
            return as_fail(env, ASSAY_BAD_INPUT, "record: --rate %lld: at most %d samples per second are possible", (long long)rate,
                           MAX_RATE);
        out->rate = (int)rate;
    }
    if (as_options_is_set(options, "time"))
        out->time_ns = as_options_duration_ns(options, "time");
    return ASSAY_OK;
}

bool as_record_forbidden(const char *name)
{
    const char *list = getenv("ASSAY_WITHOUT");
    size_t      length = strlen(name);
    for (; list && *list; list += *list == ',') {
        size_t n = strcspn(list, ",");
        if (n == length && !strncmp(list, name, n))
            return true;
        list += n;
    }
    return false;
}

/* --- For recorders ----------------------------------------------------------------------------------------------- */

bool as_record_wait_on(as_recording *r, int fd)
{
    if (r->n_fds == AS_RECORD_MAX_FDS)
        return false;
    r->fds[r->n_fds++] = fd;
    return true;
}

bool as_record_variable(as_recording *r, const char *name, const char *value)
{
    const char *before = strcmp(name, "LD_PRELOAD") ? NULL : getenv(name);
    const char *text =
        r->n_variables == AS_RECORD_MAX_VARIABLES
            ? NULL
            : as_arena_printf(&r->trace->arena, "%s=%s%s%s", name, value, before && *before ? ":" : "", before ? before : "");
    if (text)
        r->variables[r->n_variables++] = text;
    return text != NULL;
}

/* Which lane a thread has: by hash of its ids, with index + 1. */
struct as_record_lanes {
    uint32_t *slots;
    size_t    n_slots;
};

static uint32_t *lane_slot(const as_recording *r, pid_t pid, pid_t tid)
{
    const struct as_record_lanes *l = r->lanes;
    size_t                        at = ((uint32_t)tid * 2654435761u ^ (uint32_t)pid * 40503u) & (l->n_slots - 1);
    for (; l->slots[at]; at = (at + 1) & (l->n_slots - 1)) {
        const as_trace_lane *lane = &r->trace->lanes[l->slots[at] - 1];
        if (lane->pid == (uint32_t)pid && lane->tid == (uint32_t)tid)
            break;
    }
    return &l->slots[at];
}

static bool lanes_grow(as_recording *r)
{
    if (!r->lanes && !(r->lanes = calloc(1, sizeof *r->lanes)))
        return false;
    struct as_record_lanes *l = r->lanes;
    if (l->n_slots && 2 * (r->trace->n_lanes + 1) <= l->n_slots)
        return true;
    size_t    n = l->n_slots ? 2 * l->n_slots : 128;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    free(l->slots);
    l->slots = slots;
    l->n_slots = n;
    for (size_t i = 0; i < r->trace->n_lanes; i++) /* of a thread with several, the newest */
        *lane_slot(r, (pid_t)r->trace->lanes[i].pid, (pid_t)r->trace->lanes[i].tid) = (uint32_t)i + 1;
    return true;
}

void as_record_lanes_drop(as_recording *r)
{
    if (r->lanes)
        free(r->lanes->slots);
    free(r->lanes);
    r->lanes = NULL;
}

static void comm_read(pid_t pid, pid_t tid, char out[64])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    if (!as_file_small(path, out, 64))
        snprintf(out, 64, "%d", (int)tid);
}

int as_record_lane(as_recording *r, pid_t pid, pid_t tid, const char *name)
{
    char told[64];
    if (!lanes_grow(r))
        return -1;
    uint32_t *slot = lane_slot(r, pid, tid);
    if (*slot && (!name || !strcmp(r->trace->lanes[*slot - 1].name, name)))
        return (int)*slot - 1;
    if (!name)
        comm_read(pid, tid, told);
    /* A thread that became another program has a second lane. */
    int lane =
        as_trace_add_lane(r->trace, &(as_trace_lane){.name = name ? name : told, .pid = (uint32_t)pid, .tid = (uint32_t)tid});
    if (lane >= 0)
        *slot = (uint32_t)lane + 1;
    return lane;
}

/* --- Choosing ------------------------------------------------------------------------------------------------------ */

/* Why each of those that come before the chosen one is not available. */
typedef struct choice {
    const as_record_kind *kind;
    as_text               others;
} choice;

static const as_record_kind *best_below(const as_record_settings *s, const as_record_kind *above)
{
    const as_record_kind *best = NULL;
    unsigned              wanted = s->memory ? AS_RECORD_MEMORY : AS_RECORD_STACKS;
    for (int i = 0; as_rc_table[i]; i++) {
        const as_record_kind *k = as_rc_table[i];
        if ((k->gives & wanted) && (!above || k->rank < above->rank) && (!best || k->rank > best->rank))
            best = k;
    }
    return best;
}

static assay_status kind_choose(assay_env *env, const as_record_settings *s, choice *out)
{
    char why[AS_RECORD_WHY];
    *out = (choice){0};
    for (const as_record_kind *k = best_below(s, NULL); k; k = best_below(s, k)) {
        *why = '\0';
        if (as_record_forbidden(k->name))
            snprintf(why, sizeof why, "ASSAY_WITHOUT takes it away");
        else if (!s->argv && !k->attaches)
            snprintf(why, sizeof why, "it must be there when the program starts: use 'assay record -- COMMAND'");
        else if (k->probe(env, s, why)) {
            out->kind = k;
            return out->others.failed ? as_fail(env, ASSAY_NO_MEMORY, "record: not enough memory for the reasons") : ASSAY_OK;
        }
        as_text_printf(&out->others, "%s%s: %s", out->others.length ? "; " : "", k->name, why);
    }
    return as_fail(env, ASSAY_DEVICE, "record: no recorder can work here: %s",
                   out->others.length ? out->others.data
                   : s->memory        ? "none of those that were built in records memory"
                                      : "none was built in");
}

/* --- The trace --------------------------------------------------------------------------------------------------- */

static void clock_set(assay_trace *t)
{
    as_clock clock;
    as_clock_open_monotonic(&clock);
    t->clock_name = "monotonic";
    t->ns_per_tick = 1;
    t->clock_cost_ns = clock.cost_ns;
    t->start_ticks = as_monotonic_ns();
}

static bool describe(as_recording *r, const choice *c)
{
    const as_record_settings *s = r->settings;
    assay_trace              *t = r->trace;
    const char               *command = s->argv ? as_command_join(&t->arena, s->argv) : NULL;
    char                      seen[512];
    if (!s->argv) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%lld/comm", (long long)s->pid);
        command = as_arena_printf(&t->arena, "%s (process %lld)", as_file_small(path, seen, sizeof seen) ? seen : "a program",
                                  (long long)s->pid);
    }
    t->model = t->name = command ? command : "";
    t->cpus = as_cpu_count();
    t->subject = AS_OF_PROGRAM;
    as_machine_describe(r->env, t);
    return command && as_trace_add_note(t, "record.command", "%s", command) &&
           as_trace_add_note(t, "record.recorder", "%s", c->kind->name) &&
           (!c->others.length || as_trace_add_note(t, "record.not_had", "%s", c->others.data)) &&
           as_trace_add_note(t, "record.stacks_by", "%s",
                             c->kind->by_tables || s->call_graph == AS_CALL_GRAPH_DWARF ? "unwind tables" : "frame pointers") &&
           as_trace_add_note(t, "clock.name", "monotonic") &&
           (s->memory || as_trace_add_metric(t, &(as_trace_metric){.name = AS_RECORD_RATE, .unit = "1/s", .value = s->rate}));
}

static bool metric_add(assay_trace *t, const char *name, const char *unit, double value)
{
    return as_trace_add_metric(
        t, &(as_trace_metric){.name = name, .unit = unit, .ticks = as_monotonic_ns() - t->start_ticks, .value = value});
}

/* --- Recording ------------------------------------------------------------------------------------------------------ */

typedef struct session {
    as_recording          r;
    const as_record_kind *kind;
    as_program            program;
    as_trace_writer      *writer;
    uint64_t              began_ns, asked_ns, own_cpu_ns;
    bool                  was_asked; /* to end, by a signal */
} session;

static assay_status save(session *x) { return x->writer ? as_trace_writer_append(x->r.env, x->writer, x->r.trace) : ASSAY_OK; }

/* Until the recorder has something, the program ends or a tenth of a second is over. */
static void wait_some(session *x, uint64_t until_ns)
{
    struct pollfd fds[AS_RECORD_MAX_FDS + 1];
    int           n = 0, ms = SLICE_MS;
    uint64_t      now = as_monotonic_ns();
    if (until_ns && until_ns < now + (uint64_t)ms * 1000000u)
        ms = until_ns > now ? (int)((until_ns - now) / 1000000u) + 1 : 0;
    for (int i = 0; i < x->r.n_fds; i++)
        fds[n++] = (struct pollfd){.fd = x->r.fds[i], .events = POLLIN};
    if (x->program.end_fd >= 0)
        fds[n++] = (struct pollfd){.fd = x->program.end_fd, .events = POLLIN};
    if (poll(fds, (nfds_t)n, ms) <= 0)
        return;
    for (int i = 0, kept = 0, had = x->r.n_fds; i < had; i++) { /* one whose other end is gone would wake us for ever */
        if (!(fds[i].revents & (POLLHUP | POLLERR | POLLNVAL)))
            x->r.fds[kept++] = x->r.fds[i];
        if (i + 1 == had)
            x->r.n_fds = kept;
    }
}

/* Ctrl-C reaches a program in our terminal by itself; one that does not end of it is asked, and one that does not listen is left alone. */
static bool may_leave(session *x)
{
    uint64_t now = as_monotonic_ns();
    if (!x->program.is_child)
        return true;
    if (!x->asked_ns)
        x->asked_ns = now;
    if (!x->was_asked && now - x->asked_ns > OWN_NS) {
        kill(x->program.pid, SIGTERM);
        x->was_asked = true;
    }
    return now - x->asked_ns > OWN_NS + ASKED_NS;
}

static assay_status follow(session *x)
{
    const as_record_settings *s = x->r.settings;
    uint64_t                  until = s->time_ns ? x->began_ns + s->time_ns : 0;
    as_stage_begin(x->r.env, AS_PHASE_MEASURE, x->r.trace->name, s->time_ns ? (double)s->time_ns * 1e-9 : (double)NAN, 0);
    for (;;) {
        wait_some(x, until);
        bool has_ended = as_program_ended(&x->program);
        AS_TRY(x->kind->poll(&x->r));
        AS_TRY(save(x));
        if (has_ended || (until && as_monotonic_ns() >= until))
            return ASSAY_OK;
        if (as_cancelled(x->r.env) && may_leave(x))
            return ASSAY_OK;
        if (s->time_ns)
            as_stage_done(x->r.env, (double)(as_monotonic_ns() - x->began_ns) / (double)s->time_ns);
    }
}

static const char *signal_name(int number)
{
    const char *text = strsignal(number);
    return text ? text : "unknown";
}

/* What there is to say of the end; a program that ended by itself, whatever its exit code, was recorded whole. */
static bool end_tell(session *x, bool was_cancelled)
{
    assay_trace      *t = x->r.trace;
    const as_program *p = &x->program;
    const char       *reason = "";
    bool              is_timed = x->r.settings->time_ns && !p->has_ended && !was_cancelled;
    if (p->signal)
        reason = as_arena_printf(&t->arena, "the program was ended by signal %d (%s)%s", p->signal, signal_name(p->signal),
                                 x->was_asked ? ", which assay sent when it was stopped" : "");
    else if (was_cancelled)
        reason = as_arena_printf(&t->arena, "assay was stopped%s", p->has_ended ? "" : "; the program runs on");
    if (!reason)
        return false;
    if (*reason) {
        t->state = AS_TRACE_PARTIAL;
        t->reason = reason;
    }
    return (!p->has_ended || p->exit_code < 0 || metric_add(t, AS_RECORD_EXIT_CODE, "1", p->exit_code)) &&
           (!p->signal || metric_add(t, AS_RECORD_SIGNAL, "1", p->signal)) &&
           (!is_timed || as_trace_add_note(t, "record.left", "%s", "the time given by --time was over; the program runs on"));
}

static assay_status finish(session *x, uint64_t wall_ns, bool was_cancelled)
{
    assay_trace *t = x->r.trace;
    if (!x->program.has_ended)
        as_program_cpu(&x->program);
    bool ok = metric_add(t, AS_RECORD_WALL, "ns", (double)wall_ns) &&
              (!x->program.has_cpu || metric_add(t, AS_RECORD_CPU, "ns", (double)x->program.cpu_ns)) &&
              metric_add(t, AS_RECORD_OWN_CPU, "ns", (double)(as_process_cpu_ns() - x->own_cpu_ns)) && end_tell(x, was_cancelled);
    return ok ? ASSAY_OK : as_fail(x->r.env, ASSAY_NO_MEMORY, "record: not enough memory for the end of the record");
}

/* A child that was let go runs on when this fails: it is told to end, because nobody will say anything about it. */
static assay_status start(session *x)
{
    const as_record_settings *s = x->r.settings;
    if (s->argv) {
        if (x->kind->prepare)
            AS_TRY(x->kind->prepare(&x->r));
        AS_TRY(as_program_start(x->r.env, s->argv, x->r.variables, x->r.n_variables, &x->program));
    } else {
        AS_TRY(as_program_attach(x->r.env, s->pid, &x->program));
    }
    x->r.pid = x->program.pid;
    x->own_cpu_ns = as_process_cpu_ns();
    AS_TRY(x->kind->start(&x->r));
    x->began_ns = as_monotonic_ns();
    if (s->argv)
        AS_TRY(as_program_go(x->r.env, &x->program, s->argv));
    /* From here on a signal must not end us at once: there is a program to be asked to end, and a record of it. */
    atomic_store_explicit(&x->r.env->stake, AS_STAKE_HELD, memory_order_relaxed);
    assay_status status = s->trace_path ? as_trace_writer_open(x->r.env, s->trace_path, x->r.trace, &x->writer) : ASSAY_OK;
    if (status != ASSAY_OK && s->argv)
        kill(x->program.pid, SIGTERM);
    return status;
}

static assay_status record(session *x)
{
    assay_status status = start(x);
    bool         has_begun = status == ASSAY_OK;
    if (has_begun)
        status = follow(x);
    uint64_t     wall_ns = has_begun ? as_monotonic_ns() - x->began_ns : 0;
    bool         was_cancelled = as_cancelled(x->r.env);
    assay_status stopped = x->kind->stop(&x->r);
    status = status == ASSAY_OK ? stopped : status;
    if (status == ASSAY_OK)
        status = finish(x, wall_ns, was_cancelled);
    if (x->writer && status == ASSAY_OK)
        status = as_trace_writer_close(x->r.env, x->writer, x->r.trace);
    else
        as_trace_writer_abandon(x->writer);
    as_program_drop(&x->program);
    return status;
}

assay_status as_record_run(assay_env *env, const as_record_settings *s, assay_trace **out)
{
    session x = {.r = {.env = env, .settings = s}, .program = {.go = -1, .said = -1, .end_fd = -1}};
    choice  c = {0};
    if (!s->argv && (s->pid <= 0 || s->pid > INT32_MAX || (kill((pid_t)s->pid, 0) && errno == ESRCH)))
        return as_fail(env, ASSAY_NOT_FOUND, "record: there is no process %lld", (long long)s->pid);
    assay_status status = kind_choose(env, s, &c);
    if (status == ASSAY_OK)
        status = as_trace_new(env, &x.r.trace);
    if (status == ASSAY_OK) {
        clock_set(x.r.trace);
        x.kind = c.kind;
        x.r.symbols = as_symbols_new(env);
        status =
            x.r.symbols && describe(&x.r, &c) ? record(&x) : as_fail(env, ASSAY_NO_MEMORY, "record: not enough memory to begin");
    }
    as_text_drop(&c.others);
    as_symbols_free(x.r.symbols);
    as_record_lanes_drop(&x.r);
    if (status == ASSAY_OK)
        *out = x.r.trace;
    else
        assay_trace_free(x.r.trace);
    return status;
}
