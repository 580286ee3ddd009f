/* options.c - the options of a plan. */
#include "plan/plan.h"

const as_option_member as_plan_members[] = {AS_MEMBER(as_plan_options, TEXTS, "dim", dims),
                                            AS_MEMBER_OR_UNSET(as_plan_options, I64, "batch", batch, batch_is_set),
                                            AS_MEMBER_OR_UNSET(as_plan_options, I64, "seq", seq, seq_is_set),
                                            AS_MEMBER(as_plan_options, CHOICE, "compile", compile),
                                            AS_MEMBER(as_plan_options, BOOL, "winograd", winograd),
                                            AS_MEMBER(as_plan_options, TEXT, "weights-as", weights_as),
                                            AS_MEMBER(as_plan_options, TEXT, "device", device),
                                            AS_MEMBER(as_plan_options, INT, "threads", threads),
                                            AS_MEMBER(as_plan_options, U64, "seed", seed),
                                            AS_MEMBER(as_plan_options, TEXTS, "input", inputs),
                                            AS_MEMBER(as_plan_options, TEXTS, "state-in", states_in),
                                            AS_MEMBER(as_plan_options, TEXT, "timespans", timespans),
                                            AS_MEMBER(as_plan_options, BOOL, "stream", stream),
                                            {.key = NULL}};

assay_status as_plan_options_read(assay_env *env, const assay_options *options, as_plan_options *out)
{
    *out = (as_plan_options){.threads = 0};
    out->devices = as_options_texts(options, "device");
    return as_options_read(env, options, as_plan_members, out);
}
