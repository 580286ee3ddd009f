/* tell_plan.c - the plan as text: what runs in which order, with which kernel and why, and where every byte is. */
#include <stdlib.h>
#include <string.h>

#include "lab/tell.h"
#include "report/report.h"

enum { CHART_COLUMNS = 40, MAX_NAME_COLUMNS = 32, MAX_TEXT_COLUMNS = 200 };

typedef struct page {
    const assay_plan *plan;
    FILE             *file;
    const char       *bold, *dim, *plain;
} page;

static void title(const page *p, const char *text) { fprintf(p->file, "\n%s%s%s\n", p->bold, text, p->plain); }

static const char *bytes_show(char *buf, size_t size, uint64_t bytes)
{
    char human[32];
    if (bytes < 1024)
        snprintf(buf, size, "%llu bytes", (unsigned long long)bytes);
    else
        snprintf(buf, size, "%llu bytes (%s)", (unsigned long long)bytes, as_show(human, sizeof human, (double)bytes, "byte"));
    return buf;
}

/* Names come from files: control characters are replaced, and long names are cut. */
static void cell(FILE *file, const char *text, int width)
{
    int n = 0;
    for (const char *c = text ? text : ""; *c; c++) {
        bool begins = ((unsigned char)*c & 0xc0) != 0x80; /* the first byte of a character, which takes one column */
        if (begins && n++ == width)
            return;
        fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, file);
    }
    for (; n < width; n++)
        fputc(' ', file);
}

/* The same without padding. */
static void say(FILE *file, const char *text)
{
    size_t n = strlen(text);
    cell(file, text, n < MAX_TEXT_COLUMNS ? (int)n : MAX_TEXT_COLUMNS);
}

static int at_most(int a, int b) { return a < b ? a : b; }
static int at_least(int a, size_t b) { return b > (size_t)a ? (int)b : a; }

static void head_print(const page *p)
{
    const assay_plan *plan = p->plan;
    fprintf(p->file, "%splan of ", p->bold);
    say(p->file, plan->model->name);
    fputs(p->plain, p->file);
    for (int i = 0; i < plan->n_dims; i++) {
        fputs(i ? ", " : "  with ", p->file);
        say(p->file, plan->dims[i].symbol);
        fprintf(p->file, "=%lld", (long long)plan->dims[i].size);
    }
    fprintf(p->file, "\ncompile %s, %d step%s in %d segment%s, %d in the set-up (once per load)\n", plan->compiled ? "on" : "off",
            plan->n_steps, plan->n_steps == 1 ? "" : "s", plan->n_segments, plan->n_segments == 1 ? "" : "s", plan->n_prologue);
    for (int d = 0; d < plan->n_devices; d++)
        fprintf(p->file, "device %s: %s\n", plan->devices[d]->name, plan->devices[d]->text);
    for (int d = 0; plan->n_devices > 1 && d < plan->n_devices; d++) {
        const as_plan_share *share = &plan->shares[d];
        fprintf(p->file, "%s takes %d node%s", plan->devices[d]->name, share->n_nodes, share->n_nodes == 1 ? "" : "s");
        if (share->n_refused)
            fprintf(p->file, " and refuses %d, first %s: %s", share->n_refused, share->first_refused, share->why);
        fprintf(p->file, "\n");
    }
}

static void steps_print(const page *p)
{
    const assay_plan *plan = p->plan;
    int               name = 4, op = 2, device = 6, kernel = 6;
    as_arena          arena = {0};
    const char      **names = AS_TAKE(&arena, const char *, plan->n_steps);
    for (int s = 0; names && s < plan->n_steps; s++)
        names[s] = as_clean_text(&arena, plan->steps[s].name);
    bool fits = names && as_names_fit(&arena, names, (size_t)plan->n_steps, MAX_NAME_COLUMNS, names);
    for (int s = 0; s < plan->n_steps; s++) {
        const as_step *step = &plan->steps[s];
        name = at_least(name, (size_t)as_text_columns(step->name));
        op = at_least(op, strlen(as_step_op(plan, step)));
        device = at_least(device, strlen(plan->devices[step->device]->name));
        kernel = at_least(kernel, step->choice.name ? strlen(step->choice.name) : 0);
    }
    name = at_most(name, MAX_NAME_COLUMNS), device = at_most(device, MAX_NAME_COLUMNS), kernel = at_most(kernel, MAX_NAME_COLUMNS);
    title(p, "Steps");
    fprintf(p->file, "%s   #  %-*s  %-*s  %-*s  %-*s  %12s  %12s  shapes%s\n", p->dim, name, "name", op, "op", device, "device",
            kernel, "kernel", "flops", "bytes", p->plain);
    for (int s = 0; s < plan->n_steps; s++) {
        const as_step *step = &plan->steps[s];
        char           flops[32], bytes[32];
        as_text        shapes = {0};
        as_step_shapes(plan, step, &shapes);
        fprintf(p->file, "%s%4d  ", s < plan->n_prologue ? p->dim : "", s);
        cell(p->file, fits ? names[s] : step->name, name);
        fprintf(p->file, "  %-*s  ", op, as_step_op(plan, step));
        cell(p->file, plan->devices[step->device]->name, device);
        fputs("  ", p->file);
        cell(p->file, step->choice.name, kernel);
        fprintf(p->file, "  %12s  %12s  %s%s%s\n", as_show(flops, sizeof flops, (double)step->cost.flops, "flop"),
                as_show(bytes, sizeof bytes, (double)step->cost.bytes_read + (double)step->cost.bytes_written, "byte"),
                shapes.data && !shapes.failed ? shapes.data : "", s < plan->n_prologue ? "  (set-up)" : "", p->plain);
        as_text_drop(&shapes);
    }
    as_arena_drop(&arena);
    if (!plan->n_steps)
        fprintf(p->file, "no steps: every output is an input, a parameter or a constant\n");
}

static bool same_choice(const as_choice *a, const as_choice *b)
{
    if (strcmp(a->name ? a->name : "", b->name ? b->name : "") || strcmp(a->why ? a->why : "", b->why ? b->why : "") ||
        a->n_refused != b->n_refused)
        return false;
    for (int i = 0; i < a->n_refused; i++)
        if (strcmp(a->refused[i].kernel, b->refused[i].kernel) || strcmp(a->refused[i].why, b->refused[i].why))
            return false;
    return true;
}

static bool has_reason(const as_step *step)
{
    return step->kind == AS_STEP_NODE || step->kind == AS_STEP_ALIGN || step->kind == AS_STEP_UPDATE || step->kind == AS_STEP_PIECE;
}

/* Equal reasons are printed once, with their steps. */
static void whys_print(const page *p)
{
    const assay_plan *plan = p->plan;
    title(p, "Why these kernels");
    bool *told = calloc((size_t)plan->n_steps + 1, sizeof *told);
    for (int s = 0; told && s < plan->n_steps; s++) {
        const as_choice *choice = &plan->steps[s].choice;
        if (told[s] || !has_reason(&plan->steps[s]))
            continue;
        fprintf(p->file, "%s: %s  %s[step", choice->name ? choice->name : "?", choice->why ? choice->why : "", p->dim);
        for (int k = s; k < plan->n_steps; k++)
            if (has_reason(&plan->steps[k]) && same_choice(choice, &plan->steps[k].choice)) {
                told[k] = true;
                fprintf(p->file, " %d", k);
            }
        fprintf(p->file, "]%s\n", p->plain);
        for (int i = 0; i < choice->n_refused; i++)
            fprintf(p->file, "    not %s: %s\n", choice->refused[i].kernel, choice->refused[i].why);
    }
    free(told);
}

/* A column may stand for several steps; a buffer is drawn in every column that it touches. */
static void lifetime_print(const page *p, const as_buffer *b)
{
    int  n = p->plan->n_steps > 0 ? p->plan->n_steps : 1, columns = at_most(n, CHART_COLUMNS);
    char mark = b->outside ? '.' : b->alias_of >= 0 ? '=' : '#';
    fputc('|', p->file);
    for (int c = 0; c < columns; c++) {
        int first = (int)((int64_t)c * n / columns), last = (int)((int64_t)(c + 1) * n / columns) - 1;
        fputc(b->first <= last && b->last >= first ? mark : ' ', p->file);
    }
    fputs("|", p->file);
}

static void buffers_print(const page *p)
{
    const assay_plan *plan = p->plan;
    int               name = 4;
    for (int i = 0; i < plan->n_buffers; i++)
        name = at_least(name, strlen(plan->buffers[i].name));
    name = at_most(name, MAX_NAME_COLUMNS);
    title(p, "Buffers, and the steps that need each");
    fprintf(p->file, "%s%-*s  %-10s  %-8s  %12s  %12s  steps (# its own, = shared with another, . used in place)%s\n", p->dim, name,
            "name", "role", "device", "bytes", "offset", p->plain);
    for (int i = 0; i < plan->n_buffers; i++) {
        const as_buffer *b = &plan->buffers[i];
        cell(p->file, b->name, name);
        fprintf(p->file, "  %-10s  ", as_buffer_role_text(b->role));
        cell(p->file, plan->devices[b->device]->name, 8);
        fprintf(p->file, "  %12llu  ", (unsigned long long)b->bytes);
        if (b->outside)
            fprintf(p->file, "%12s  ", "-");
        else
            fprintf(p->file, "%12llu  ", (unsigned long long)b->offset);
        lifetime_print(p, b);
        if (b->alias_of >= 0) {
            fputs(" is ", p->file);
            say(p->file, plan->buffers[b->alias_of].name);
        }
        fputc('\n', p->file);
    }
}

static void passes_print(const page *p)
{
    const assay_plan *plan = p->plan;
    char              bytes[64];
    title(p, "Passes");
    for (int i = 0; i < plan->n_passes; i++)
        fprintf(p->file, "%-8s changed %d, saved %s: %s\n", plan->passes[i].pass, plan->passes[i].n_changed,
                bytes_show(bytes, sizeof bytes, plan->passes[i].bytes_saved), plan->passes[i].text);
    if (!plan->n_passes)
        fprintf(p->file, "none: compile is off\n");
}

static void totals_print(const page *p)
{
    const assay_plan *plan = p->plan;
    char              text[64];
    uint64_t          flops = 0;
    for (int s = plan->n_prologue; s < plan->n_steps; s++)
        if (__builtin_add_overflow(flops, plan->steps[s].cost.flops, &flops))
            flops = UINT64_MAX;
    title(p, "Memory of one instance, known before allocation");
    for (int d = 0; d < plan->n_devices; d++)
        fprintf(p->file, "%-24s %s\n", plan->devices[d]->name, bytes_show(text, sizeof text, plan->device_bytes[d]));
    fprintf(p->file, "%-24s %s\n", "peak", bytes_show(text, sizeof text, assay_plan_peak_bytes(plan)));
    fprintf(p->file, "%-24s %s\n", "lower bound", bytes_show(text, sizeof text, plan->lower_bound_bytes));
    fprintf(p->file, "%-24s %s\n", "activations, not shared", bytes_show(text, sizeof text, plan->activation_bytes));
    fprintf(p->file, "%-24s %s\n", "scratch, not shared", bytes_show(text, sizeof text, plan->scratch_bytes));
    fprintf(p->file, "%-24s %s\n", "packed, aligned weights", bytes_show(text, sizeof text, plan->packed_bytes));
    if (plan->n_variables)
        fprintf(p->file, "%-24s %s, kept from step to step\n", "variables", bytes_show(text, sizeof text, plan->variable_bytes));
    fprintf(p->file, "%-24s %s, the model's own\n", "parameters", bytes_show(text, sizeof text, plan->param_bytes));
    fprintf(p->file, "%-24s %llu flop (%s)\n", "work of one run", (unsigned long long)flops,
            as_show(text, sizeof text, (double)flops, "flop"));
}

void as_plan_print(const assay_plan *plan, FILE *file, bool colour)
{
    page p = {plan, file, colour ? "\033[1m" : "", colour ? "\033[2m" : "", colour ? "\033[0m" : ""};
    head_print(&p);
    steps_print(&p);
    whys_print(&p);
    buffers_print(&p);
    passes_print(&p);
    totals_print(&p);
}
