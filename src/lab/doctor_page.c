/* doctor_page.c - the doctor's findings as text: what can be measured here, what cannot, and why.  Reads the doctor's own JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "lab/doctor.h"
#include "lab/tell.h"

enum { MAX_WHY = 140, MAX_HOW = 46 }; /* two lines; the text beside a name */

/* The JSON as a tree. */
static assay_status findings_read(assay_env *env, json_t **out)
{
    char  *text = NULL;
    size_t n = 0;
    FILE  *file = open_memstream(&text, &n);
    if (!file)
        return as_fail(env, ASSAY_NO_MEMORY, "doctor: not enough memory for the findings");
    assay_status status = as_doctor_write(env, file);
    bool         closed = !fclose(file);
    *out = status == ASSAY_OK && closed ? json_loadb(text, n, 0, NULL) : NULL;
    free(text);
    if (status == ASSAY_OK && !*out)
        status = as_fail(env, ASSAY_NO_MEMORY, "doctor: not enough memory for the findings");
    return status;
}

static const char *text_at(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static double value_of(const json_t *metric) { return json_number_value(json_object_get(metric, "value")); }

static bool has_value(const json_t *metric) { return json_is_number(json_object_get(metric, "value")); }

/* --- One screen -------------------------------------------------------------------------------------------- */

/* What a sensor is for, in plain words. */
static const struct {
    const char *sensor, *what;
} topics[] = {{"cputime", "CPU time of a thread"},
              {"memory", "memory of the process"},
              {"rusage", "page faults, context switches"},
              {"psi", "waiting for CPU, memory, disk"},
              {"steal", "time taken by the hypervisor"},
              {"freq", "clock frequency"},
              {"temp", "temperature"},
              {"rapl", "energy"},
              {"perf", "hardware counters"}};

/* The first value of a sensor that can be read, otherwise the first that cannot; NULL: not built for this system. */
static const json_t *value_find(const json_t *root, const char *sensor)
{
    const json_t *sensors = json_object_get(root, "sensors"), *item, *found = NULL;
    size_t        i;
    json_array_foreach(sensors, i, item)
    {
        if (strcmp(text_at(item, "sensor"), sensor))
            continue;
        bool has = has_value(json_object_get(item, "now"));
        if (!found || (has && !has_value(json_object_get(found, "now"))))
            found = item;
    }
    return found;
}

static void measured_add(as_brief *b, as_brief_table *t, const char *what, const char *how)
{
    as_brief_row *row = as_brief_row_add(b, t, what);
    row->cells[1] = as_brief_say(b, "%.*s", MAX_HOW, how);
}

static void missing_add(as_brief *b, const char *what, const char *why)
{
    int n = (int)strlen(why), room = MAX_WHY - (int)strlen(what) - (int)strlen(" cannot be read: ");
    as_brief_text_add(b, as_brief_say(b, "%s cannot be read: %.*s%s", what, n > room ? room : n, why, n > room ? " ..." : "."));
}

/* The clock that times a run: the first of them. */
static void clock_add(as_brief *b, as_brief_table *t, const json_t *root)
{
    const json_t *clock = json_array_get(json_object_get(root, "clocks"), 0), *cost = json_object_get(clock, "cost_ns");
    char          ns[64];
    if (has_value(cost))
        measured_add(
            b, t, "time",
            as_brief_say(b, "clock %s, %s per reading", text_at(clock, "name"), as_show(ns, sizeof ns, value_of(cost), "ns")));
}

static void opencl_add(as_brief *b, as_brief_table *t, const json_t *root)
{
    const json_t *item;
    size_t        i;
    json_array_foreach(json_object_get(root, "libraries"), i, item)
    {
        if (strcmp(text_at(item, "name"), "OpenCL"))
            continue;
        if (json_is_true(json_object_get(item, "found")))
            measured_add(b, t, "OpenCL devices", text_at(item, "file"));
        else
            missing_add(b, "OpenCL", text_at(item, "reason"));
    }
}

static void topics_add(as_brief *b, as_brief_table *t, const json_t *root, int *n_missing)
{
    for (size_t i = 0; i < AS_COUNT(topics); i++) {
        const json_t *item = value_find(root, topics[i].sensor), *now = json_object_get(item, "now");
        if (has_value(now)) {
            measured_add(b, t, topics[i].what, text_at(now, "source"));
            continue;
        }
        missing_add(b, topics[i].what, item ? text_at(now, "reason") : "this sensor is not built for this system");
        ++*n_missing;
    }
}

static void settings_make(as_brief *b, const json_t *root)
{
    const json_t *cpu = json_object_get(root, "cpu"), *memory = json_object_get(root, "memory");
    char          bytes[64];
    b->settings = as_brief_say(b, "%s, %.0f cores · %s · %s", *text_at(cpu, "model") ? text_at(cpu, "model") : "unknown CPU",
                               value_of(json_object_get(cpu, "cores")),
                               has_value(memory) ? as_show(bytes, sizeof bytes, value_of(memory), "byte") : "unknown memory",
                               text_at(root, "os"));
}

static void brief_make(as_brief *b, const json_t *root)
{
    static const char *const columns[] = {"Can be measured here", "by", NULL};
    const json_t *virtual = json_object_get(root, "virtual");
    int n = (int)AS_COUNT(topics), n_missing = 0;
    *b = (as_brief){.title = "doctor", .settings = ""};
    as_brief_table *t = as_brief_table_add(b, columns);
    t->left[1] = true;
    settings_make(b, root);
    clock_add(b, t, root);
    topics_add(b, t, root, &n_missing);
    opencl_add(b, t, root);
    b->level = AS_LEVEL_GOOD;
    const char *where = json_is_true(json_object_get(virtual, "is"))
                            ? as_brief_say(b, ", a virtual machine (%s)", text_at(virtual, "hypervisor"))
                            : "";
    b->headline = n_missing ? as_brief_say(b, "Time and %d of %d other things can be measured here%s.", n - n_missing, n, where)
                            : as_brief_say(b, "Everything can be measured here%s.", where);
    as_brief_hint_add(b, "--report detailed", "every sensor");
    as_brief_hint_add(b, "--json FILE|-", "as data");
    as_brief_hint_add(b, "assay devices", "devices");
}

assay_status as_doctor_brief(assay_env *env, as_brief *b)
{
    json_t *root;
    AS_TRY(findings_read(env, &root));
    brief_make(b, root); /* copies the texts */
    json_decref(root);
    return ASSAY_OK;
}

/* --- Everything --------------------------------------------------------------------------------------------- */

static void machine_print(const json_t *root, FILE *file)
{
    static const char *const keys[] = {"os", "kernel", "governor", "loadavg", "fingerprint"};
    const json_t            *cpu = json_object_get(root, "cpu");
    fprintf(file, "%-22s %s, %.0f cores\n", "CPU", text_at(cpu, "model"), value_of(json_object_get(cpu, "cores")));
    for (size_t i = 0; i < AS_COUNT(keys); i++)
        if (*text_at(root, keys[i]))
            fprintf(file, "%-22s %s\n", keys[i], text_at(root, keys[i]));
}

static void clocks_print(const json_t *root, FILE *file)
{
    const json_t *item;
    size_t        i;
    char          ns[64];
    json_array_foreach(json_object_get(root, "clocks"), i, item)
        fprintf(file, "  %-20s %s per reading\n", text_at(item, "name"),
                as_show(ns, sizeof ns, value_of(json_object_get(item, "cost_ns")), "ns"));
}

static void sensors_print(const json_t *root, FILE *file)
{
    const json_t *item;
    size_t        i;
    char          now[64];
    json_array_foreach(json_object_get(root, "sensors"), i, item)
    {
        const json_t *metric = json_object_get(item, "now");
        if (has_value(metric))
            fprintf(file, "  %-20s %-12s %s\n", text_at(item, "name"),
                    as_show(now, sizeof now, value_of(metric), text_at(metric, "unit")), text_at(metric, "source"));
    }
}

static void missing_print(const json_t *root, FILE *file)
{
    const json_t *item;
    size_t        i;
    json_array_foreach(json_object_get(root, "unavailable"), i, item)
        fprintf(file, "  %s: %s\n", text_at(item, "what"), text_at(item, "why"));
}

assay_status as_doctor_print(assay_env *env, FILE *file)
{
    json_t *root;
    AS_TRY(findings_read(env, &root));
    machine_print(root, file);
    fprintf(file, "\nclocks\n");
    clocks_print(root, file);
    fprintf(file, "\nsensors, as they are now\n");
    sensors_print(root, file);
    fprintf(file, "\nnot here, and why\n");
    missing_print(root, file);
    json_decref(root);
    return ASSAY_OK;
}
