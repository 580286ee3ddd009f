/* protobuf.c - the protobuf wire format, read in place and written to a buffer. */
#include "model/onnx/protobuf.h"

#include <string.h>

as_pb_reader as_pb_read(as_pb_span message)
{
    const uint8_t *data = message.data ? message.data : (const uint8_t *)""; /* an absent message is an empty one */
    return (as_pb_reader){.at = data, .end = data + message.n};
}

static bool stop(as_pb_reader *r, const char *why)
{
    if (!r->error)
        r->error = why;
    r->at = r->end;
    return false;
}

bool as_pb_varint(as_pb_reader *r, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (r->at == r->end)
            return stop(r, "a number is cut off");
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1)
            return stop(r, "a number has more than 64 bits");
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = value;
            return true;
        }
    }
    return stop(r, "a number has more than 64 bits");
}

static bool fixed(as_pb_reader *r, size_t n, uint64_t *out)
{
    if ((size_t)(r->end - r->at) < n)
        return stop(r, "a number is cut off");
    *out = 0;
    for (size_t i = 0; i < n; i++)
        *out |= (uint64_t)r->at[i] << (8 * i);
    r->at += n;
    return true;
}

bool as_pb_next(as_pb_reader *r, as_pb_field *out)
{
    uint64_t    key, n;
    as_pb_field field = {0};
    if (r->error || r->at == r->end)
        return false;
    if (!as_pb_varint(r, &key))
        return false;
    if (key >> 3 == 0 || key >> 3 > (UINT64_C(1) << 29) - 1)
        return stop(r, "a field has a number outside 1 to 2^29-1");
    field.number = (uint32_t)(key >> 3);
    field.wire = (as_pb_wire)(key & 7);
    switch (key & 7) {
    case AS_PB_VARINT:
        if (!as_pb_varint(r, &field.value))
            return false;
        break;
    case AS_PB_FIXED64:
        if (!fixed(r, 8, &field.value))
            return false;
        break;
    case AS_PB_FIXED32:
        if (!fixed(r, 4, &field.value))
            return false;
        break;
    case AS_PB_BYTES:
        if (!as_pb_varint(r, &n))
            return false;
        if (n > (uint64_t)(r->end - r->at))
            return stop(r, "a field is longer than what is left of the message around it");
        field.bytes = (as_pb_span){r->at, (size_t)n};
        r->at += n;
        break;
    case 3:
    case 4: return stop(r, "a field is a group, which no ONNX file holds");
    default: return stop(r, "a field has the wire type 6 or 7, which does not exist");
    }
    *out = field;
    return true;
}

/* --- Repeated numbers -------------------------------------------------------------------------------- */

static size_t fixed_bytes(as_pb_wire wire) { return wire == AS_PB_FIXED64 ? 8 : 4; }

size_t as_pb_count(const as_pb_field *field, as_pb_wire wire)
{
    if (field->wire == wire)
        return 1;
    if (field->wire != AS_PB_BYTES)
        return SIZE_MAX;
    if (wire != AS_PB_VARINT)
        return field->bytes.n % fixed_bytes(wire) ? SIZE_MAX : field->bytes.n / fixed_bytes(wire);
    as_pb_reader r = as_pb_read(field->bytes);
    size_t       n = 0;
    for (uint64_t ignored; r.at != r.end; n++)
        if (!as_pb_varint(&r, &ignored))
            return SIZE_MAX;
    return n;
}

uint64_t *as_pb_numbers(const as_pb_field *field, as_pb_wire wire, uint64_t *out)
{
    if (field->wire == wire) {
        *out++ = field->value;
        return out;
    }
    as_pb_reader r = as_pb_read(field->bytes);
    while (r.at != r.end && (wire == AS_PB_VARINT ? as_pb_varint(&r, out) : fixed(&r, fixed_bytes(wire), out)))
        out++;
    return out;
}

/* --- Writing -------------------------------------------------------------------------------------------- */

void as_pb_put_varint(as_text *t, uint64_t value)
{
    char   bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    as_text_add_n(t, bytes, n);
}

static void key_put(as_text *t, uint32_t number, as_pb_wire wire) { as_pb_put_varint(t, (uint64_t)number << 3 | wire); }

void as_pb_put_int(as_text *t, uint32_t number, int64_t value)
{
    key_put(t, number, AS_PB_VARINT);
    as_pb_put_varint(t, (uint64_t)value);
}

void as_pb_put_float(as_text *t, uint32_t number, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    key_put(t, number, AS_PB_FIXED32);
    char bytes[4] = {(char)(bits & 0xff), (char)(bits >> 8 & 0xff), (char)(bits >> 16 & 0xff), (char)(bits >> 24)};
    as_text_add_n(t, bytes, sizeof bytes);
}

void as_pb_put_head(as_text *t, uint32_t number, uint64_t n_bytes)
{
    key_put(t, number, AS_PB_BYTES);
    as_pb_put_varint(t, n_bytes);
}

void as_pb_put_bytes(as_text *t, uint32_t number, const void *data, size_t n)
{
    as_pb_put_head(t, number, n);
    if (n)
        as_text_add_n(t, data, n);
}

void as_pb_put_text(as_text *t, uint32_t number, const char *text) { as_pb_put_bytes(t, number, text, strlen(text)); }
