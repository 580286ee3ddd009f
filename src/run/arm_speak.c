/* arm_speak.c - the other side of arm_bin.c: answers the line protocol with a candidate of our own. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run/arm_line.h"
#include "run/sampler.h"

typedef struct speaker {
    const as_arm *arm;
    as_trace_arm  info;
    bool          is_launched;
    FILE         *out;
    as_shot       shots[AS_ARM_MAX_SHOTS];
} speaker;

/* One word of the greeting: blanks and unprintable characters become '_'. */
static void greet(const speaker *s)
{
    char   name[AS_ARM_NAME_BYTES];
    size_t n = 0;
    for (const char *c = s->arm->name; c && *c && n < sizeof name - 1; c++)
        name[n++] = *c > ' ' && *c < 127 ? *c : '_';
    name[n] = 0;
    fprintf(s->out, AS_ARM_PROTOCOL " %s by=%s assay=" ASSAY_VERSION "\n", n ? name : "_", s->arm->by_cpu ? "cpu" : "wall");
}

static void time_put(const speaker *s, double ns)
{
    char number[AS_NUMBER_BYTES];
    fprintf(s->out, " %s", isnan(ns) ? "-" : as_number(number, ns));
}

static assay_status launch(assay_env *env, speaker *s, uint64_t seed)
{
    const double *first_ns = s->info.first_ns;
    s->arm->land(s->arm->self);
    s->is_launched = false;
    AS_TRY(s->arm->launch(env, s->arm->self, seed, &s->info));
    s->is_launched = true;
    fputs("ok", s->out);
    for (int i = 0; i < 3 && !isnan(first_ns[0] + first_ns[1] + first_ns[2]); i++)
        time_put(s, first_ns[i]);
    fputc('\n', s->out);
    return ASSAY_OK;
}

static assay_status block(assay_env *env, speaker *s, const as_arm_request *r)
{
    uint32_t switches = 0;
    if (!s->is_launched)
        return as_fail(env, ASSAY_BAD_INPUT, "a block must come after a launch");
    AS_TRY(s->arm->block(env, s->arm->self, r->warm, r->calls, r->n_shots, s->shots, &switches));
    fprintf(s->out, "ok %u", switches);
    for (uint32_t i = 0; i < r->n_shots; i++) {
        time_put(s, (double)s->shots[i].wall_ns);
        time_put(s, (double)s->shots[i].cpu_ns);
    }
    fputc('\n', s->out);
    return ASSAY_OK;
}

static void ledger(const speaker *s)
{
    const as_ledger *l = &s->info.ledger;
    const struct {
        const char *key;
        double      value;
    } entries[] = {{"flops", l->flops},
                   {"bytes", l->bytes},
                   {"allocations", l->allocations},
                   {"launches", l->launches},
                   {"peak", l->peak_bytes}};
    char number[AS_NUMBER_BYTES];
    fputs("ok", s->out);
    for (size_t i = 0; i < AS_COUNT(entries); i++)
        if (!isnan(entries[i].value))
            fprintf(s->out, " %s=%s", entries[i].key, as_number(number, entries[i].value));
    fputc('\n', s->out);
}

static assay_status answer(assay_env *env, speaker *s, const as_arm_request *r)
{
    switch (r->verb) {
    case AS_ARM_LAUNCH: return launch(env, s, r->seed);
    case AS_ARM_BLOCK: return block(env, s, r);
    case AS_ARM_HASH: fprintf(s->out, "ok %016llx\n", (unsigned long long)s->info.hash); return ASSAY_OK;
    case AS_ARM_LEDGER: ledger(s); return ASSAY_OK;
    case AS_ARM_END: break;
    }
    return ASSAY_OK;
}

/* Reads a line without its newline; false at the end of the input.  If the line is too long, *n is the size of the buffer. */
static bool line_read(FILE *in, char line[AS_ARM_REQUEST_BYTES], size_t *n)
{
    int c;
    for (*n = 0; (c = getc(in)) != EOF && c != '\n';)
        if (*n < AS_ARM_REQUEST_BYTES)
            line[(*n)++] = (char)c;
    return c != EOF; /* an incomplete line is not a request */
}

static assay_status request_read(assay_env *env, const char *line, size_t n, as_arm_request *out)
{
    if (n == AS_ARM_REQUEST_BYTES)
        return as_fail(env, ASSAY_BAD_INPUT, "a line of more than %d bytes: \"%.*s...\"", AS_ARM_REQUEST_BYTES,
                       as_arm_quoted(line, n), line);
    return as_arm_read_request(env, line, n, out);
}

static assay_status serve(assay_env *env, speaker *s, FILE *in)
{
    char   line[AS_ARM_REQUEST_BYTES];
    size_t n;
    greet(s);
    while (fflush(s->out) == 0 && line_read(in, line, &n)) {
        as_arm_request r = {.verb = AS_ARM_HASH};
        assay_status   status = request_read(env, line, n, &r);
        if (status == ASSAY_OK && r.verb == AS_ARM_END)
            return ASSAY_OK;
        if (status == ASSAY_OK)
            status = answer(env, s, &r);
        if (status == ASSAY_CANCELLED)
            return status;
        if (status != ASSAY_OK)
            fprintf(s->out, "error %s\n", assay_message(env));
    }
    if (ferror(s->out) && errno == EPIPE) /* who asked has left: that is an end, too */
        return ASSAY_OK;
    if (ferror(s->out))
        return as_fail(env, ASSAY_IO, "line protocol: %s: its answers cannot be written", s->arm->name);
    return ferror(in) ? as_fail(env, ASSAY_IO, "line protocol: %s: its requests cannot be read", s->arm->name) : ASSAY_OK;
}

assay_status as_arm_speak(assay_env *env, const as_arm *arm, FILE *in, FILE *out)
{
    speaker *s = malloc(sizeof *s);
    if (!s)
        return as_fail(env, ASSAY_NO_MEMORY, "line protocol: %s: not enough memory for samples", arm->name);
    memset(s, 0, sizeof *s); /* not calloc: no page may be touched for the first time between two stamps */
    s->arm = arm;
    s->out = out;
    s->info = (as_trace_arm){.name = arm->name,
                             .what = arm->what,
                             .error = NAN,
                             .launch_ns = NAN,
                             .first_ns = {NAN, NAN, NAN},
                             .ledger = {NAN, NAN, NAN, NAN, NAN}};
    assay_status status = serve(env, s, in);
    arm->land(arm->self);
    free(s);
    return status;
}
