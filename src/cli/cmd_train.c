/* cmd_train.c - trains a network: a live picture on a terminal, lines elsewhere, a report at the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/screen.h"
#include "cli/show.h"
#include "lab/calls.h"

#define REDRAW_NS 100000000u
enum { BAR = 24, CURVE_COLUMNS = 64, CURVE_ROWS = 5, LABEL = 10 };

/* --- The live curve ------------------------------------------------------------------------------------------- */

/* The loss over the whole run in at most this many columns: when they are full, two become one. */
typedef struct curve {
    double   mean[CURVE_COLUMNS];
    int      n;
    uint64_t per_column, in_last;
    double   sum;
} curve;

static void curve_add(curve *c, double x)
{
    if (!isfinite(x))
        return;
    c->per_column = c->per_column ? c->per_column : 1;
    c->sum += x;
    if (++c->in_last < c->per_column)
        return;
    if (c->n == CURVE_COLUMNS) {
        for (int i = 0; i < CURVE_COLUMNS / 2; i++)
            c->mean[i] = (c->mean[2 * i] + c->mean[2 * i + 1]) / 2;
        c->n = CURVE_COLUMNS / 2;
        c->per_column *= 2;
        return; /* the column goes on */
    }
    c->mean[c->n++] = c->sum / (double)c->in_last;
    c->sum = 0;
    c->in_last = 0;
}

/* A loss falls by factors: its logarithm shows the end as well as the beginning. */
static double height_of(const curve *c, int i, double lo, double hi)
{
    bool   by_log = lo > 0;
    double x = by_log ? log(c->mean[i]) : c->mean[i], a = by_log ? log(lo) : lo, b = by_log ? log(hi) : hi;
    return b > a ? (x - a) / (b - a) : .5;
}

/* The last columns, as many as the screen has room for. */
static void curve_draw(const curve *c, bool utf8, int columns, as_text *out)
{
    static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double                   lo = INFINITY, hi = -INFINITY;
    char                     number[32];
    for (int i = 0; i < c->n; i++) {
        lo = fmin(lo, c->mean[i]);
        hi = fmax(hi, c->mean[i]);
    }
    for (int row = CURVE_ROWS - 1; row >= 0; row--) {
        const char *label = row == CURVE_ROWS - 1 ? as_show(number, sizeof number, hi, "1")
                            : row                 ? ""
                                                  : as_show(number, sizeof number, lo, "1");
        as_text_printf(out, "%9s ", c->n ? label : "");
        for (int i = c->n > columns - LABEL ? c->n - (columns - LABEL) : 0; i < c->n; i++) {
            int level = 1 + (int)(height_of(c, i, lo, hi) * (CURVE_ROWS * 8 - 1)), here = level - 8 * row;
            here = here < 0 ? 0 : here > 8 ? 8 : here;
            as_text_add(out, utf8 ? eighths[here] : here >= 4 ? "#" : " ");
        }
        as_text_add(out, "\033[K\n");
    }
}

/* --- Updates as they come --------------------------------------------------------------------------------------- */

typedef struct live {
    as_cli  *cli;
    bool     draws, utf8, lines;
    curve    curve;
    uint64_t drawn_ns, told_failures;
    bool     told_refused, told_batch;
} live;

static const char *time_left(char *buf, size_t size, double s)
{
    if (!isfinite(s))
        snprintf(buf, size, "?");
    else if (s >= 5400)
        snprintf(buf, size, "%.1f h", s / 3600);
    else if (s >= 90)
        snprintf(buf, size, "%.0f min", s / 60);
    else
        snprintf(buf, size, "%.0f s", ceil(s));
    return buf;
}

static const char *show(char buf[32], double x, const char *unit) { return as_show(buf, 32, x, unit); }

/* A line that is longer than the screen would wrap, and the block would be one line higher than the next one overwrites. */
static void line_add(as_text *out, as_text *line, int columns, const char *end)
{
    if (!line->failed && line->data)
        as_text_printf(out, "%.*s", columns, line->data);
    as_text_add(out, end);
    as_text_drop(line);
}

static void block_draw(live *l, const assay_training *now)
{
    static const char bar[] = "########################";
    char              a[32], b[32], c[32], d[32], e[32], f[32];
    as_text           text = {0}, line = {0};
    int               n = (int)(now->done * BAR), columns = as_screen_columns() - 1;
    curve_draw(&l->curve, l->utf8, columns, &text);
    as_text_printf(&line, "  loss %s   rate %s   gradient %s   %s samples/s   %s%s%s", show(a, now->smooth, "1"),
                   show(b, now->rate, "1"), show(c, now->norm, "1"), show(d, now->samples_per_s, "1"),
                   show(e, now->memory_bytes, "byte"), now->wait_share > .02 ? "   waits for data " : "",
                   now->wait_share > .02 ? show(f, now->wait_share, "ratio") : "");
    line_add(&text, &line, columns, "\033[K\n");
    line = (as_text){0};
    as_text_printf(&line, "  epoch %llu%s [%-*.*s] %3.0f %%, %s left", (unsigned long long)now->epoch, "", BAR,
                   n < 0     ? 0
                   : n > BAR ? BAR
                             : n,
                   bar, now->done * 100, time_left(a, sizeof a, now->left_s));
    if (!isnan(now->val_loss))
        as_text_printf(&line, "   validation %s", show(b, now->val_loss, "1"));
    if (!isnan(now->score))
        as_text_printf(&line, ", %s %s", now->score_name, show(c, now->score, "ratio"));
    line_add(&text, &line, columns, "\033[K");
    if (!text.failed)
        as_progress_block(text.data, CURVE_ROWS + 1);
    as_text_drop(&text);
}

static void line_print(const assay_training *now)
{
    char a[32], b[32], c[32], d[32], e[32];
    if (now->epoch_ends) {
        printf("epoch %llu: loss %s", (unsigned long long)now->epoch, show(a, now->epoch_loss, "1"));
        if (!isnan(now->val_loss))
            printf(", validation %s", show(b, now->val_loss, "1"));
        if (!isnan(now->score))
            printf(", %s %s", now->score_name, show(c, now->score, "ratio"));
        printf(", %s samples/s\n", show(d, now->samples_per_s, "1"));
    } else {
        printf("update %llu: loss %s, rate %s, gradient %s, %s samples/s, %s\n", (unsigned long long)now->update,
               show(a, now->loss, "1"), show(b, now->rate, "1"), show(c, now->norm, "1"), show(d, now->samples_per_s, "1"),
               show(e, now->memory_bytes, "byte"));
    }
    fflush(stdout);
}

/* What went wrong and did not end the run is told at once, each time. */
static void troubles_tell(live *l, const assay_training *now)
{
    if (!l->told_refused && *now->refused) {
        as_progress_clear();
        fprintf(stderr, "assay: %s; going on from update %llu\n", now->refused, (unsigned long long)now->resumed);
    }
    l->told_refused = true;
    if (now->failed_checkpoints > l->told_failures) {
        as_progress_clear();
        fprintf(stderr, "assay: update %llu: no checkpoint: %s; training goes on\n", (unsigned long long)now->update,
                now->checkpoint_failed);
        l->told_failures = now->failed_checkpoints;
    }
}

static bool update(void *arg, const assay_training *now)
{
    live    *l = arg;
    uint64_t t = as_monotonic_ns();
    troubles_tell(l, now);
    if (l->cli->quiet)
        return true;
    if (!l->told_batch && *now->batch_why) {
        as_progress_clear();
        fprintf(stderr, "assay: %s\n", now->batch_why);
    }
    l->told_batch = true;
    curve_add(&l->curve, now->loss);
    if (l->draws && (t - l->drawn_ns > REDRAW_NS || now->update == now->n_updates)) {
        block_draw(l, now);
        l->drawn_ns = t;
    }
    if (l->lines && (now->logged || now->epoch_ends))
        line_print(now);
    return true;
}

/* --- The verb --------------------------------------------------------------------------------------------------- */

static bool is_json(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".json");
}

/* A network may be a JSON file, too: a run file is one that has a "model". */
extern const as_verb as_cmd_train;

static assay_status prepare(as_cli *cli)
{
    static char model[1024];
    bool        is_one = false;
    if (!is_json(cli->args[0]))
        return ASSAY_OK;
    AS_TRY(as_train_file_read(cli->env, cli->args[0], as_cmd_train.options, cli->own_options, model, sizeof model, &is_one));
    if (is_one)
        cli->args[0] = model;
    return ASSAY_OK;
}

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_model      *model;
    assay_facts      *facts = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    const char *log = as_options_text(cli->options, "log");
    bool        taken = as_cli_forms_asked(&report, true) || (log && !strcmp(log, "-"));
    AS_TRY(assay_model_load(cli->env, cli->args[0], cli->options, &model));
    live l = {.cli = cli, .draws = as_progress_terminal() && !cli->quiet, .utf8 = as_locale_has_utf8()};
    l.lines = !taken && !(l.draws && isatty(STDOUT_FILENO));
    assay_status status = assay_train(cli->env, model, cli->options, update, &l, &facts);
    as_progress_clear();
    assay_model_free(model);
    if (log && !strcmp(log, "-")) /* standard output is the log */
        report.text_elsewhere = true;
    return as_cli_finish(cli, &report, facts, status);
}

const as_verb as_cmd_train = {
    .name = "train",
    .summary = "teaches a network from your data: watched, resumable to the bit, with a report",
    .usage = "MODEL --data DATA [options], or RUN.json",
    .details =
        "Trains MODEL, a built-in network or an ONNX file, until --epochs or --steps are done.  Watches loss, gradient, time and memory; a number\n"
        "that is not finite, or a loss that diverges, stops it with the first layer that gave it and exit code 5.\n"
        "With --checkpoint DIR it can be killed at any moment: the same command with --resume DIR goes on and does the same to the bit.  Ctrl-C\n"
        "writes a checkpoint and the report.\n"
        "RUN.json holds the same as one JSON object: \"model\", and options by their names; what the command line gives comes first.",
    .example = "assay train mlp:sizes=2x32x3 --data synthetic:spirals --val 20% --epochs 5",
    .needs = "a MODEL and --data, for example mlp:sizes=2x32x3 --data synthetic:spirals",
    .group = AS_VERBS_LOOK,
    .order = 3,
    .takes = AS_ARG_MODEL,
    .min_args = 1,
    .max_args = 1,
    .options =
        AS_OPTIONS("data", "val", "preprocess", "loader", "loss", "metrics", "epochs", "steps", "batch", "memory-budget",
                   "grow-batch", "accumulate", "optimizer", "schedule", "group", "freeze", "clip", "clip-value", "precision",
                   "recompute", "checkpoint", "checkpoint-every", "keep", "resume", "diverged", "every", "log", "save", "weights",
                   "seq", "dim", "seed", "device", "threads", "winograd", "store", "trace", AS_REPORT_KEYS, AS_EXPORT_KEYS),
    .texts = AS_TEXTS(
        {.key = "batch",
         .standard = "32",
         .value = "N|auto",
         .help =
             "examples per step; auto: the largest that fits --memory-budget, or without one the knee of the throughput, measured"},
        {.key = "seed", .help = "seed of random weights, of the order of examples, of dropout and of random crops"}),
    .prepare = prepare,
    .run = run,
};
