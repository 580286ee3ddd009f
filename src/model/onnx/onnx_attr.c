/* onnx_attr.c - AttributeProto: the stated type must match the values. */
#include <inttypes.h>
#include <string.h>

#include "model/onnx/onnx_read.h"

/* AttributeProto.AttributeType */
enum {
    T_NONE = 0,
    T_FLOAT,
    T_INT,
    T_STRING,
    T_TENSOR,
    T_GRAPH,
    T_FLOATS,
    T_INTS,
    T_STRINGS,
    T_TENSORS,
    T_GRAPHS,
    T_SPARSE,
    T_SPARSES,
    T_TYPE,
    T_TYPES,
    T_COUNT
};

static const char *const type_names[T_COUNT] = {
    "nothing", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",      "INTS",
    "STRINGS", "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS",
};

/* The type whose values a field of the message holds; T_NONE: none. */
static int type_of_field(uint32_t number)
{
    switch (number) {
    case 2: return T_FLOAT;
    case 3: return T_INT;
    case 4: return T_STRING;
    case 5: return T_TENSOR;
    case 6: return T_GRAPH;
    case 7: return T_FLOATS;
    case 8: return T_INTS;
    case 9: return T_STRINGS;
    case 10: return T_TENSORS;
    case 11: return T_GRAPHS;
    case 14: return T_TYPE;
    case 15: return T_TYPES;
    case 22: return T_SPARSE;
    case 23: return T_SPARSES;
    default: return T_NONE;
    }
}

typedef struct reading {
    assay_env  *env;
    const char *path, *node;
    as_pb_span  name;
    int64_t     type;  /* as stated */
    int         found; /* as the fields say */
    size_t      n;     /* elements of a list */
} reading;

static assay_status refuse(const reading *a, assay_status status, const char *why)
{
    return as_fail(a->env, status, "onnx: %s: node '%s': attribute '%.*s' %s", a->path, a->node, AS_SPAN(a->name), why);
}

static assay_status element_count(reading *a, const as_pb_field *f)
{
    size_t n = f->number == 7 ? as_pb_count(f, AS_PB_FIXED32) : f->number == 8 ? as_pb_count(f, AS_PB_VARINT) : 1;
    bool   ok = n != SIZE_MAX;
    if (f->number == 2)
        ok = f->wire == AS_PB_FIXED32;
    else if (f->number == 3)
        ok = f->wire == AS_PB_VARINT;
    else if (f->number != 7 && f->number != 8)
        ok = f->wire == AS_PB_BYTES;
    if (!ok)
        return refuse(a, ASSAY_BAD_INPUT, "cannot be read: its bytes are not of its type");
    a->n += n;
    return ASSAY_OK;
}

/* First walk: the name, the type, and how many values. */
static assay_status survey(reading *a, as_pb_span message)
{
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);) {
        int type = type_of_field(f.number);
        if (f.number == 1 && f.wire == AS_PB_BYTES)
            a->name = f.bytes;
        else if (f.number == 20 && f.wire == AS_PB_VARINT)
            a->type = (int64_t)f.value;
        else if (f.number == 21 && f.bytes.n)
            return refuse(a, ASSAY_UNSUPPORTED, "refers to an attribute of a function, which is not supported");
        if (type == T_NONE)
            continue;
        if (a->found != T_NONE && a->found != type)
            return as_fail(a->env, ASSAY_BAD_INPUT,
                           "onnx: %s: node '%s': attribute '%.*s' has a value of type %s and one of type %s", a->path, a->node,
                           AS_SPAN(a->name), type_names[a->found], type_names[type]);
        a->found = type;
        AS_TRY(element_count(a, &f));
    }
    return r.error ? as_onnx_broken(a->env, a->path, "an attribute", &r) : ASSAY_OK;
}

/* A writer may leave out an empty list or a zero, but may not state one type and give another. */
static assay_status type_settle(reading *a)
{
    if (!a->name.n)
        return as_fail(a->env, ASSAY_BAD_INPUT, "onnx: %s: node '%s' has an attribute without a name", a->path, a->node);
    if (a->type < 0 || a->type >= T_COUNT)
        return as_fail(a->env, ASSAY_BAD_INPUT, "onnx: %s: node '%s': attribute '%.*s' has the unknown type %" PRId64, a->path,
                       a->node, AS_SPAN(a->name), a->type);
    if (a->type == T_NONE)
        a->type = a->found; /* files before IR version 2 do not state a type */
    if (a->found != T_NONE && a->found != a->type)
        return as_fail(a->env, ASSAY_BAD_INPUT, "onnx: %s: node '%s': attribute '%.*s' says it is %s and holds %s", a->path,
                       a->node, AS_SPAN(a->name), type_names[a->type], type_names[a->found]);
    if (a->type == T_NONE || (a->found == T_NONE && (a->type == T_TENSOR || a->type == T_GRAPH)))
        return refuse(a, ASSAY_BAD_INPUT, "has no value");
    if (a->type > T_STRINGS)
        return as_fail(a->env, ASSAY_UNSUPPORTED, "onnx: %s: node '%s': attribute '%.*s' is of type %s, which is not supported",
                       a->path, a->node, AS_SPAN(a->name), type_names[a->type]);
    return ASSAY_OK;
}

static double f32_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float    x;
    memcpy(&x, &low, sizeof x);
    return (double)x;
}

typedef struct lists {
    uint64_t    *bits;
    const char **texts;
    size_t       n;
} lists;

static assay_status values_collect(const reading *a, as_arena *arena, as_pb_span message, as_onnx_attr *out, lists *l)
{
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);)
        switch (type_of_field(f.number)) {
        case T_FLOAT: out->attr.f = f32_of(f.value); break;
        case T_INT: out->attr.i = (int64_t)f.value; break;
        case T_STRING: AS_TRY(as_onnx_text(a->env, a->path, arena, f.bytes, &out->attr.text)); break;
        case T_TENSOR:
        case T_GRAPH: out->tensor = f.bytes; break;
        case T_FLOATS: l->n = (size_t)(as_pb_numbers(&f, AS_PB_FIXED32, l->bits + l->n) - l->bits); break;
        case T_INTS: l->n = (size_t)(as_pb_numbers(&f, AS_PB_VARINT, l->bits + l->n) - l->bits); break;
        case T_STRINGS: AS_TRY(as_onnx_text(a->env, a->path, arena, f.bytes, &l->texts[l->n++])); break;
        default: break;
        }
    return ASSAY_OK;
}

static const as_attr_kind kinds[] = {
    [T_FLOAT] = AS_ATTR_FLOAT,  [T_INT] = AS_ATTR_INT,       [T_STRING] = AS_ATTR_TEXT, [T_TENSOR] = AS_ATTR_TENSOR,
    [T_GRAPH] = AS_ATTR_TENSOR, [T_FLOATS] = AS_ATTR_FLOATS, [T_INTS] = AS_ATTR_INTS,   [T_STRINGS] = AS_ATTR_TEXTS,
};

assay_status as_onnx_attr_read(assay_env *env, const char *path, as_arena *arena, const char *node, as_pb_span message,
                               as_onnx_attr *out)
{
    reading a = {.env = env, .path = path, .node = node};
    AS_TRY(survey(&a, message));
    AS_TRY(type_settle(&a));
    bool         is_list = a.type == T_FLOATS || a.type == T_INTS || a.type == T_STRINGS;
    size_t       n = is_list ? a.n : 0;
    as_onnx_attr made = {.is_graph = a.type == T_GRAPH,
                         .attr = {.kind = kinds[a.type], .text = a.type == T_STRING ? "" : NULL, .n = n}};
    lists        l = {.bits = AS_TAKE(arena, uint64_t, n), .texts = AS_TAKE(arena, const char *, a.type == T_STRINGS ? n : 0)};
    double      *floats = AS_TAKE(arena, double, a.type == T_FLOATS ? n : 0);
    if (!l.bits || !l.texts || !floats)
        return refuse(&a, ASSAY_NO_MEMORY, "has a list too long for the memory");
    AS_TRY(as_onnx_text(env, path, arena, a.name, &made.attr.name));
    AS_TRY(values_collect(&a, arena, message, &made, &l));
    if (a.type == T_INTS) {
        made.attr.ints = (const int64_t *)l.bits; /* the same bits, two's complement */
    } else if (a.type == T_FLOATS) {
        for (size_t i = 0; i < n; i++)
            floats[i] = f32_of(l.bits[i]);
        made.attr.floats = floats;
    } else if (a.type == T_STRINGS) {
        made.attr.texts = l.texts;
    }
    *out = made;
    return ASSAY_OK;
}
