/* trace_fields.c - the fields of what a trace file holds as JSON objects, each named once for the writer and the reader. */
#include <stddef.h>

#include "trace/format.h"

#define KIND(value) \
    _Generic((value), const char * : AS_FIELD_TEXT, int : AS_FIELD_INT, uint64_t : AS_FIELD_U64, double : AS_FIELD_F64)
#define NAMED(type, key, member)                                      \
    {                                                                 \
        key, KIND(((type *)0)->member), offsetof(type, member), false \
    }
#define YOUNGER(type, key, member)                                   \
    {                                                                \
        key, KIND(((type *)0)->member), offsetof(type, member), true \
    }
#define FIELD(type, member) NAMED(type, #member, member)

const as_field as_clock_fields[] = {
    NAMED(assay_trace, "name", clock_name), FIELD(assay_trace, ns_per_tick),   NAMED(assay_trace, "cost_ns", clock_cost_ns),
    FIELD(assay_trace, start_ticks),        FIELD(assay_trace, start_unix_ns), {0}};

const as_field as_step_choice_fields[] = {FIELD(as_trace_step, name),   FIELD(as_trace_step, op),  FIELD(as_trace_step, device),
                                          FIELD(as_trace_step, kernel), FIELD(as_trace_step, why), {0}};

const as_field as_step_work_fields[] = {FIELD(as_trace_step, shapes),
                                        FIELD(as_trace_step, stage),
                                        FIELD(as_trace_step, segment),
                                        FIELD(as_trace_step, flops),
                                        FIELD(as_trace_step, special),
                                        FIELD(as_trace_step, bytes_read),
                                        FIELD(as_trace_step, bytes_written),
                                        FIELD(as_trace_step, issued_flops),
                                        FIELD(as_trace_step, issued_bytes),
                                        FIELD(as_trace_step, working_set_bytes),
                                        {0}};

const as_field as_buffer_fields[] = {FIELD(as_trace_buffer, name),      FIELD(as_trace_buffer, role),
                                     FIELD(as_trace_buffer, device),    FIELD(as_trace_buffer, bytes),
                                     FIELD(as_trace_buffer, offset),    FIELD(as_trace_buffer, first_step),
                                     FIELD(as_trace_buffer, last_step), {0}};

const as_field as_sensor_fields[] = {
    FIELD(as_trace_sensor, name),    FIELD(as_trace_sensor, unit),
    FIELD(as_trace_sensor, source),  {"reason", AS_FIELD_TEXT_OR_NULL, offsetof(as_trace_sensor, reason), false},
    FIELD(as_trace_sensor, meaning), {0}};

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

const as_field as_scalar_fields[] = {FIELD(assay_trace, detail_why),
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
                                     YOUNGER(assay_trace, "model", model),
                                     YOUNGER(assay_trace, "device", device),
                                     YOUNGER(assay_trace, "threads", threads),
                                     YOUNGER(assay_trace, "batch", batch),
                                     YOUNGER(assay_trace, "n_detailed", n_detailed),
                                     YOUNGER(assay_trace, "n_barriers", n_barriers),
                                     YOUNGER(assay_trace, "n_late_waits", n_late_waits),
                                     YOUNGER(assay_trace, "thread_switches", thread_switches),
                                     YOUNGER(assay_trace, "cpu_clock_cost_ns", cpu_clock_cost_ns),
                                     {0}};
