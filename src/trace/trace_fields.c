/* trace_fields.c - the fields of the JSON objects in a trace file, each named once for the writer and the reader. */
#include <stddef.h>

#include "trace/format.h"

#define KIND(value) \
    _Generic((value), const char * \
             : AS_FIELD_TEXT, bool \
             : AS_FIELD_BOOL, int  \
             : AS_FIELD_INT, uint32_t : AS_FIELD_U32, uint64_t : AS_FIELD_U64, int64_t : AS_FIELD_I64, double : AS_FIELD_F64)
#define NAMED(type, key, member)                                               \
    {                                                                          \
        key, KIND(((type *)0)->member), offsetof(type, member), false, 0, NULL \
    }
#define YOUNGER(type, key, member)                                            \
    {                                                                         \
        key, KIND(((type *)0)->member), offsetof(type, member), true, 0, NULL \
    }
#define CHARS(type, key, member)                                                             \
    {                                                                                        \
        key, AS_FIELD_CHARS, offsetof(type, member), true, sizeof(((type *)0)->member), NULL \
    }
#define WORD(type, key, member, is_younger, n, word)                    \
    {                                                                   \
        key, AS_FIELD_WORD, offsetof(type, member), is_younger, n, word \
    }
#define FIELD(type, member) NAMED(type, #member, member)
#define YOUNG(type, member) YOUNGER(type, #member, member)

/* --- Words ------------------------------------------------------------------------------------------------ */

static const char *detail_word(int i)
{
    static const char *const words[] = {
        [AS_DETAIL_RUN] = "run", [AS_DETAIL_SEGMENT] = "segment", [AS_DETAIL_STEP] = "step", [AS_DETAIL_PART] = "part"};
    return words[i];
}
enum { N_DETAILS = AS_DETAIL_PART + 1, N_BOUNDS = AS_BOUND_MEMORY + 1 };

static const char *state_word(int i) { return as_trace_state_text((as_trace_state)i); }
static const char *memory_word(int i) { return as_memory_layout_text((as_memory_layout)i); }

static const char *subject_word(int i) { return as_trace_subject_text((as_trace_subject)i); }
static const char *work_word(int i) { return as_work_text((as_work)i); }

static const char *pass_word(int i) { return as_train_pass_text((as_train_pass)i); }

static const char *bound_word(int i)
{
    static const char *const words[] = {
        [AS_BOUND_NONE] = "none", [AS_BOUND_COMPUTE] = "compute", [AS_BOUND_SPECIAL] = "special", [AS_BOUND_MEMORY] = "memory"};
    return words[i];
}

/* --- Items ------------------------------------------------------------------------------------------------ */

const as_field as_clock_fields[] = {
    NAMED(assay_trace, "name", clock_name), FIELD(assay_trace, ns_per_tick),   NAMED(assay_trace, "cost_ns", clock_cost_ns),
    FIELD(assay_trace, start_ticks),        FIELD(assay_trace, start_unix_ns), {0}};

const as_field as_step_choice_fields[] = {FIELD(as_trace_step, name),   FIELD(as_trace_step, op),  FIELD(as_trace_step, device),
                                          FIELD(as_trace_step, kernel), FIELD(as_trace_step, why), {0}};

const as_field as_step_work_fields[] = {
    FIELD(as_trace_step, shapes),        FIELD(as_trace_step, stage),
    FIELD(as_trace_step, segment),       FIELD(as_trace_step, flops),
    FIELD(as_trace_step, special),       FIELD(as_trace_step, bytes_read),
    FIELD(as_trace_step, bytes_written), FIELD(as_trace_step, issued_flops),
    FIELD(as_trace_step, issued_bytes),  FIELD(as_trace_step, working_set_bytes),
    YOUNG(as_trace_step, is_f64),        YOUNG(as_trace_step, is_i8),
    YOUNG(as_trace_step, module),        WORD(as_trace_step, "pass", pass, true, AS_N_PASSES, pass_word),
    YOUNG(as_trace_step, layer),         YOUNG(as_trace_step, arm),
    YOUNG(as_trace_step, weight_bytes),  {0}};

const as_field as_buffer_fields[] = {
    FIELD(as_trace_buffer, name),      FIELD(as_trace_buffer, role),     FIELD(as_trace_buffer, device),
    FIELD(as_trace_buffer, bytes),     FIELD(as_trace_buffer, offset),   FIELD(as_trace_buffer, first_step),
    FIELD(as_trace_buffer, last_step), YOUNG(as_trace_buffer, align),    YOUNG(as_trace_buffer, full_bytes),
    YOUNG(as_trace_buffer, shares),    YOUNG(as_trace_buffer, in_place), {0}};

const as_field as_sensor_fields[] = {
    FIELD(as_trace_sensor, name),    FIELD(as_trace_sensor, unit),
    FIELD(as_trace_sensor, source),  {"reason", AS_FIELD_TEXT_OR_NULL, offsetof(as_trace_sensor, reason), false, 0, NULL},
    FIELD(as_trace_sensor, meaning), {0}};

const as_field as_context_fields[] = {FIELD(as_trace_context, operation),
                                      FIELD(as_trace_context, layer),
                                      FIELD(as_trace_context, phase),
                                      FIELD(as_trace_context, precision),
                                      FIELD(as_trace_context, optimisation),
                                      FIELD(as_trace_context, kernel),
                                      FIELD(as_trace_context, revision),
                                      FIELD(as_trace_context, batch),
                                      FIELD(as_trace_context, sequence),
                                      FIELD(as_trace_context, parameters),
                                      FIELD(as_trace_context, threads),
                                      FIELD(as_trace_context, parallel),
                                      {0}};

const as_field as_frame_fields[] = {FIELD(as_trace_frame, name),    FIELD(as_trace_frame, file),
                                    FIELD(as_trace_frame, object),  FIELD(as_trace_frame, category),
                                    FIELD(as_trace_frame, line),    FIELD(as_trace_frame, flops),
                                    FIELD(as_trace_frame, bytes),   FIELD(as_trace_frame, context),
                                    FIELD(as_trace_frame, inlined), {0}};

const as_field as_lane_fields[] = {FIELD(as_trace_lane, name), FIELD(as_trace_lane, pid), FIELD(as_trace_lane, tid), {0}};

const as_field as_roof_fields[] = {FIELD(as_trace_roof, name),
                                   FIELD(as_trace_roof, unit),
                                   FIELD(as_trace_roof, value),
                                   FIELD(as_trace_roof, lo),
                                   FIELD(as_trace_roof, hi),
                                   NAMED(as_trace_roof, "n", n_clean),
                                   FIELD(as_trace_roof, source),
                                   YOUNGER(as_trace_roof, "device", device),
                                   YOUNGER(as_trace_roof, "today", today),
                                   YOUNGER(as_trace_roof, "n_chunks", n_chunks),
                                   YOUNGER(as_trace_roof, "level_bytes", level_bytes),
                                   YOUNGER(as_trace_roof, "when_unix_s", when_unix_s),
                                   YOUNGER(as_trace_roof, "disturbed", disturbed),
                                   YOUNGER(as_trace_roof, "on_the_spot", on_the_spot),
                                   {0}};

const as_field as_scalar_fields[] = {WORD(assay_trace, "detail", detail, false, N_DETAILS, detail_word),
                                     FIELD(assay_trace, detail_why),
                                     FIELD(assay_trace, n_runs),
                                     FIELD(assay_trace, dropped_spans),
                                     FIELD(assay_trace, plan_ns),
                                     FIELD(assay_trace, compile_ns),
                                     FIELD(assay_trace, first_run_ns),
                                     FIELD(assay_trace, span_cost_ns),
                                     FIELD(assay_trace, peak_bytes_planned),
                                     FIELD(assay_trace, peak_bytes_observed),
                                     FIELD(assay_trace, param_bytes),
                                     FIELD(assay_trace, activation_bytes),
                                     FIELD(assay_trace, scratch_bytes),
                                     FIELD(assay_trace, steady_allocs),
                                     WORD(assay_trace, "subject", subject, true, AS_N_SUBJECTS, subject_word),
                                     YOUNGER(assay_trace, "model", model),
                                     YOUNGER(assay_trace, "device", device),
                                     YOUNGER(assay_trace, "threads", threads),
                                     YOUNGER(assay_trace, "cpus", cpus),
                                     YOUNG(assay_trace, compile),
                                     YOUNG(assay_trace, weights_as),
                                     YOUNG(assay_trace, memory_bytes),
                                     YOUNGER(assay_trace, "batch", batch),
                                     YOUNGER(assay_trace, "n_detailed", n_detailed),
                                     YOUNGER(assay_trace, "n_barriers", n_barriers),
                                     YOUNGER(assay_trace, "n_late_waits", n_late_waits),
                                     YOUNGER(assay_trace, "thread_switches", thread_switches),
                                     YOUNGER(assay_trace, "cpu_clock_cost_ns", cpu_clock_cost_ns),
                                     WORD(assay_trace, "state", state, true, AS_TRACE_N_STATES, state_word),
                                     YOUNG(assay_trace, reason),
                                     YOUNG(assay_trace, name),
                                     YOUNG(assay_trace, n_launches),
                                     YOUNG(assay_trace, n_rounds),
                                     YOUNG(assay_trace, warm_up_rounds),
                                     YOUNG(assay_trace, calls),
                                     YOUNG(assay_trace, by_cpu),
                                     WORD(assay_trace, "memory", memory, true, AS_N_MEMORY_LAYOUTS, memory_word),
                                     YOUNG(assay_trace, block_ns),
                                     YOUNG(assay_trace, budget_ns),
                                     YOUNG(assay_trace, spent_ns),
                                     YOUNG(assay_trace, once_ns),
                                     YOUNG(assay_trace, twice_ns),
                                     YOUNG(assay_trace, difference),
                                     YOUNG(assay_trace, seed),
                                     CHARS(assay_trace, "fingerprint", fingerprint),
                                     YOUNG(assay_trace, sample_every),
                                     YOUNG(assay_trace, looks_lost),
                                     YOUNG(assay_trace, memory_events_lost),
                                     YOUNG(assay_trace, look_period_ns),
                                     YOUNGER(assay_trace, "pid", origin.pid),
                                     YOUNGER(assay_trace, "rank", origin.rank),
                                     YOUNGER(assay_trace, "offset_ticks", origin.offset_ticks),
                                     {0}};

const as_field as_arm_fields[] = {FIELD(as_trace_arm, name),
                                  FIELD(as_trace_arm, what),
                                  FIELD(as_trace_arm, hash),
                                  FIELD(as_trace_arm, poisoned_hash),
                                  FIELD(as_trace_arm, error),
                                  FIELD(as_trace_arm, items),
                                  FIELD(as_trace_arm, launch_ns),
                                  FIELD(as_trace_arm, plan_ns),
                                  NAMED(as_trace_arm, "first_ns", first_ns[0]),
                                  NAMED(as_trace_arm, "second_ns", first_ns[1]),
                                  NAMED(as_trace_arm, "third_ns", first_ns[2]),
                                  NAMED(as_trace_arm, "limit_ns", limit.ns),
                                  WORD(as_trace_arm, "limit_bound", limit.bound, false, N_BOUNDS, bound_word),
                                  CHARS(as_trace_arm, "limit_level", limit.level),
                                  NAMED(as_trace_arm, "limit_name", limit.name),
                                  NAMED(as_trace_arm, "limit_rate", limit.rate),
                                  NAMED(as_trace_arm, "limit_may_be_low", limit.may_be_low),
                                  NAMED(as_trace_arm, "limit_on_the_spot", limit.on_the_spot),
                                  FIELD(as_trace_arm, compared),
                                  FIELD(as_trace_arm, slow),
                                  YOUNG(as_trace_arm, elsewhere),
                                  WORD(as_trace_arm, "work", work, true, AS_N_WORKS, work_word),
                                  NAMED(as_trace_arm, "flops", ledger.flops),
                                  NAMED(as_trace_arm, "bytes", ledger.bytes),
                                  NAMED(as_trace_arm, "allocations", ledger.allocations),
                                  NAMED(as_trace_arm, "launches", ledger.launches),
                                  NAMED(as_trace_arm, "peak_bytes", ledger.peak_bytes),
                                  {0}};

const as_field as_mark_fields[] = {FIELD(as_trace_mark, name), FIELD(as_trace_mark, ticks), FIELD(as_trace_mark, ends), {0}};
