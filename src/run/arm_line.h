/* arm_line.h - the line protocol of docs/line-protocol.md as text: one function per kind of line, each on a buffer without its
 * newline, so that both sides and the fuzzer read the same grammar. */
#ifndef AS_RUN_ARM_LINE_H
#define AS_RUN_ARM_LINE_H

#include "base/env.h"
#include "trace/trace.h"

#define AS_ARM_PROTOCOL "assay-arm 1" /* how a greeting begins: the name and version of the protocol */

enum {
    AS_ARM_REQUEST_BYTES = 256,       /* of a line to the candidate, newline included */
    AS_ARM_ANSWER_BYTES = 256 * 1024, /* of a line from it */
    AS_ARM_MAX_SHOTS = 4096,          /* samples of a block */
    AS_ARM_MAX_CALLS = 1000000000,    /* calls of a sample */
    AS_ARM_NAME_BYTES = 64
};

/* --- What the candidate says: `who` begins every message, such as "\"./toy 3\": hash"; statuses are ASSAY_DEVICE ----------- */

typedef struct as_arm_greeting {
    char name[AS_ARM_NAME_BYTES];
    bool by_cpu;
} as_arm_greeting;
assay_status as_arm_read_greeting(assay_env *env, const char *who, const char *line, size_t n, as_arm_greeting *out);
/* "ok", or "ok A B C": times in ns of the first three calls, which the launch itself made; *has_first says which form it was. */
assay_status as_arm_read_launch(assay_env *env, const char *who, const char *line, size_t n, double first_ns[3], bool *has_first);
/* Exactly n_shots pairs; a CPU time of "-" is NaN and refused when `by_cpu`. */
assay_status as_arm_read_block(assay_env *env, const char *who, const char *line, size_t n, bool by_cpu, uint32_t n_shots,
                               as_shot *shots, uint32_t *switches);
assay_status as_arm_read_hash(assay_env *env, const char *who, const char *line, size_t n, uint64_t *out);
/* Missing values are NaN. */
assay_status as_arm_read_ledger(assay_env *env, const char *who, const char *line, size_t n, as_ledger *out);

/* --- What is asked of it --------------------------------------------------------------------------------- */

typedef enum as_arm_verb { AS_ARM_LAUNCH, AS_ARM_BLOCK, AS_ARM_HASH, AS_ARM_LEDGER, AS_ARM_END } as_arm_verb;
typedef struct as_arm_request {
    as_arm_verb verb;
    uint64_t    seed; /* of a launch */
    bool        warm; /* of a block, like the next ones */
    uint32_t    calls, n_shots;
} as_arm_request;
assay_status as_arm_read_request(assay_env *env, const char *line, size_t n, as_arm_request *out); /* ASSAY_BAD_INPUT */

/* How much of a foreign line a message quotes: `"%.*s"` with this and the line, which as_fail() cleans. */
int as_arm_quoted(const char *line, size_t n);

#endif
