/* cmd_wiring.c - one wiring: counts, degrees, components, paths; as text, JSON, picture or checksum. */
#include <string.h>

#include "cli/cli.h"

static assay_status run(as_cli *cli)
{
    static const char *const formats[] = {"json", "dot", "svg"};
    bool                     crc = as_options_flag(cli->options, "crc");
    bool                     detailed = !strcmp(as_options_text(cli->options, "report"), "detailed");
    const char              *paths[AS_COUNT(formats)];
    int                      n_standard = crc;
    for (size_t i = 0; i < AS_COUNT(formats); i++) {
        paths[i] = as_options_text(cli->options, formats[i]);
        n_standard += paths[i] && !strcmp(paths[i], "-");
    }
    if (n_standard > 1)
        return as_fail(cli->env, ASSAY_BAD_INPUT,
                       "standard output takes one of --crc, --json -, --dot - and --svg -, and %d were given", n_standard);
    /* The picture comes first: it alone can be refused, and then nothing is written. */
    for (size_t i = AS_COUNT(formats); i-- > 0;)
        if (paths[i])
            AS_TRY(assay_wiring_write(cli->env, cli->args[0], cli->options, formats[i], paths[i]));
    if (crc)
        return assay_wiring_write(cli->env, cli->args[0], cli->options, "crc", "-");
    return n_standard ? ASSAY_OK : assay_wiring_write(cli->env, cli->args[0], cli->options, detailed ? "detailed" : "text", "-");
}

const as_verb as_cmd_wiring = {
    .name = "wiring",
    .summary = "a neural circuit: neurons, synapses, paths, as text, JSON or a picture",
    .usage = "SPEC [options]",
    .details =
        "SPEC is one of\n"
        "  full:units=8,out=4,seed=1111,self=1\n"
        "  random:units=50,out=10,sparsity=0.5,seed=1111\n"
        "  ncp:inter=10,command=10,motor=8,sensory_fanout=6,inter_fanout=6,recurrent_command=4,motor_fanin=6,seed=22222\n"
        "  autoncp:units=28,out=4,sparsity=0.5,seed=22222\n"
        "The same SPEC gives the same synapses as the reference (ncps 1.0.1).  Here --input is the number of inputs (default 1).",
    .example = "assay wiring autoncp:units=28,out=4 --input 20 --svg circuit.svg",
    .needs = "a SPEC, for example autoncp:units=28,out=4",
    .group = AS_VERBS_LOOK,
    .order = 6,
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("input", "json", "dot", "svg", "crc", "report"),
    .texts = AS_TEXTS({.key = "input", .standard = "1", .value = "N", .help = "how many inputs the circuit has"}),
    .run = run,
};
