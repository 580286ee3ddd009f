/* tx_pprof.c - a profile of pprof: time, flops and bytes of each stack, and memory where it was recorded.
 *
 * gzip wraps the file, as readers expect, without compressing it: aggregated profiles are small, and no library is needed. */
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    MAPPING_ID = 1,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4
};

static const struct {
    const char *type, *unit;
} types[AS_N_SCENE_VALUES] = {[AS_SCENE_TIME] = {"time", "nanoseconds"},   [AS_SCENE_FLOPS] = {"flops", "count"},
                              [AS_SCENE_BYTES] = {"bytes", "bytes"},       [AS_SCENE_ALLOC] = {"alloc_space", "bytes"},
                              [AS_SCENE_INUSE] = {"inuse_space", "bytes"}, [AS_SCENE_PEAK] = {"peak_space", "bytes"}};

/* The table of texts: those of the types first, then two of each name. */
enum { TEXT_ASSAY = 1, TEXT_TYPES = 2, TEXT_NAMES = TEXT_TYPES + 2 * AS_N_SCENE_VALUES };

static void part_end(as_text *profile, uint32_t field, as_text *part)
{
    as_proto_bytes(profile, field, part->data, part->length);
    part->length = 0;
}

static void type_add(as_text *p, as_text *part, uint32_t field, int value)
{
    as_proto_u64(part, TYPE_TYPE, (uint64_t)(TEXT_TYPES + 2 * value));
    as_proto_u64(part, TYPE_UNIT, (uint64_t)(TEXT_TYPES + 2 * value + 1));
    part_end(p, field, part);
}

static void samples_add(const as_scene *v, as_text *p, as_text *part, int n_values)
{
    as_text packed = {0};
    for (size_t i = 0; i < v->n_nodes; i++) {
        const as_scene_node *n = &v->nodes[i];
        uint64_t             any = 0;
        for (int k = 0; k < n_values; k++)
            any |= n->self[k];
        if (!any)
            continue;
        for (uint32_t at = (uint32_t)i; at != UINT32_MAX; at = v->nodes[at].parent) /* the innermost first */
            as_proto_varint(&packed, (uint64_t)v->nodes[at].name + 1);
        part_end(part, SAMPLE_LOCATION, &packed);
        for (int k = 0; k < n_values; k++)
            as_proto_varint(&packed, n->self[k]);
        part_end(part, SAMPLE_VALUE, &packed);
        part_end(p, PROFILE_SAMPLE, part);
    }
    p->failed |= packed.failed;
    as_text_drop(&packed);
}

/* A location and a function for each name, with the same number. */
static void names_add(const as_scene *v, as_text *p, as_text *part)
{
    as_text line = {0};
    for (size_t i = 0; i < v->n_names; i++) {
        as_proto_u64(&line, LINE_FUNCTION, i + 1);
        as_proto_u64(&line, LINE_LINE, (uint64_t)v->names[i].line);
        as_proto_u64(part, LOCATION_ID, i + 1);
        as_proto_u64(part, LOCATION_MAPPING, 1);
        part_end(part, LOCATION_LINE, &line);
        part_end(p, PROFILE_LOCATION, part);
        as_proto_u64(part, FUNCTION_ID, i + 1);
        as_proto_u64(part, FUNCTION_NAME, TEXT_NAMES + 2 * i);
        as_proto_u64(part, FUNCTION_SYSTEM_NAME, TEXT_NAMES + 2 * i);
        as_proto_u64(part, FUNCTION_FILE, TEXT_NAMES + 2 * i + 1);
        part_end(p, PROFILE_FUNCTION, part);
    }
    p->failed |= line.failed;
    as_text_drop(&line);
}

static void texts_add(const as_scene *v, as_text *p)
{
    as_proto_text(p, PROFILE_STRING, ""); /* number 0 must be empty */
    as_proto_text(p, PROFILE_STRING, "assay");
    for (int k = 0; k < AS_N_SCENE_VALUES; k++) {
        as_proto_text(p, PROFILE_STRING, types[k].type);
        as_proto_text(p, PROFILE_STRING, types[k].unit);
    }
    for (size_t i = 0; i < v->n_names; i++) {
        as_proto_text(p, PROFILE_STRING, v->names[i].name);
        as_proto_text(p, PROFILE_STRING, v->names[i].file);
    }
}

static void profile_make(const as_scene *v, as_text *p)
{
    as_text            part = {0};
    const assay_trace *first = v->processes[0].trace;
    int                n_values = v->has_memory ? AS_N_SCENE_VALUES : AS_SCENE_ALLOC;
    uint64_t           time = 0;
    for (size_t i = 0; i < v->n_nodes; i++)
        time |= v->nodes[i].self[AS_SCENE_TIME];
    for (int k = 0; k < n_values; k++)
        type_add(p, &part, PROFILE_SAMPLE_TYPE, k);
    samples_add(v, p, &part, n_values);
    as_proto_u64(&part, MAPPING_ID, 1);
    as_proto_u64(&part, MAPPING_FILE, TEXT_ASSAY);
    as_proto_u64(&part, MAPPING_HAS_FUNCTIONS, 1); /* else a reader looks for symbols */
    part_end(p, PROFILE_MAPPING, &part);
    names_add(v, p, &part);
    texts_add(v, p);
    as_proto_u64(p, PROFILE_TIME_NS, first->start_unix_ns);
    as_proto_u64(p, PROFILE_DURATION_NS, v->end_ns);
    if (v->time_of_looks && first->look_period_ns > 0) {
        type_add(p, &part, PROFILE_PERIOD_TYPE, AS_SCENE_TIME);
        as_proto_u64(p, PROFILE_PERIOD, (uint64_t)first->look_period_ns);
    }
    as_proto_u64(p, PROFILE_DEFAULT_TYPE, (uint64_t)(TEXT_TYPES + 2 * (time || !v->has_memory ? AS_SCENE_TIME : AS_SCENE_PEAK)));
    p->failed |= part.failed;
    as_text_drop(&part);
}

static void u32_write(FILE *file, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        putc((int)(value >> 8 * i & 255), file);
}

/* Blocks of deflate that are stored as they are. */
static void gzip_write(FILE *file, const as_text *data)
{
    enum { BLOCK = 65535 };
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    fwrite(head, 1, sizeof head, file);
    for (size_t at = 0; at < data->length; at += BLOCK) {
        size_t n = data->length - at < BLOCK ? data->length - at : BLOCK;
        putc(at + n == data->length, file);
        putc((int)(n & 255), file);
        putc((int)(n >> 8), file);
        putc((int)(~n & 255), file);
        putc((int)(~n >> 8 & 255), file);
        fwrite(data->data + at, 1, n, file);
    }
    u32_write(file, as_crc32(0, data->data, data->length));
    u32_write(file, (uint32_t)data->length);
}

static assay_status save(assay_env *env, as_scene *v, FILE *file)
{
    as_text profile = {0};
    profile_make(v, &profile);
    bool ok = !profile.failed;
    if (ok)
        gzip_write(file, &profile);
    as_text_drop(&profile);
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "pprof: not enough memory for %zu stacks", v->n_nodes);
}

const as_trace_export as_tx_pprof = {.key = "pprof", .what = "profile for pprof", .scope = AS_SCOPE_SUMS, .write = save};
