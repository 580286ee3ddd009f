/* sink.c - bytes to a file: numbers, JSON texts and protocol buffers. */
#include <string.h>

#include "export/scene.h"

void as_sink_flush(as_sink *s)
{
    fwrite(s->data, 1, s->n, s->file); /* an error is found when the file is committed */
    s->n = 0;
}

void as_sink_bytes(as_sink *s, const void *data, size_t n)
{
    if (s->n + n > AS_SINK_BYTES)
        as_sink_flush(s);
    if (n > AS_SINK_BYTES) {
        fwrite(data, 1, n, s->file);
        return;
    }
    memcpy(s->data + s->n, data, n);
    s->n += n;
}

void as_sink_text(as_sink *s, const char *text) { as_sink_bytes(s, text, strlen(text)); }

static size_t digits(char out[20], uint64_t value)
{
    char   back[20];
    size_t n = 0;
    do
        back[n++] = (char)('0' + value % 10);
    while (value /= 10);
    for (size_t i = 0; i < n; i++)
        out[i] = back[n - 1 - i];
    return n;
}

void as_sink_u64(as_sink *s, uint64_t value)
{
    char text[20];
    as_sink_bytes(s, text, digits(text, value));
}

void as_sink_us(as_sink *s, uint64_t ns)
{
    char     text[24];
    size_t   n = digits(text, ns / 1000);
    unsigned rest = (unsigned)(ns % 1000);
    text[n++] = '.';
    text[n++] = (char)('0' + rest / 100);
    text[n++] = (char)('0' + rest / 10 % 10);
    text[n++] = (char)('0' + rest % 10);
    as_sink_bytes(s, text, n);
}

void as_json_quote(as_text *t, const char *text)
{
    as_text_add_n(t, "\"", 1);
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            as_text_add_n(t, "\\", 1);
        as_text_add_n(t, at, 1);
    }
    as_text_add_n(t, "\"", 1);
}

void as_proto_varint(as_text *t, uint64_t value)
{
    char   bytes[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        bytes[n++] = (char)(value | 128);
    bytes[n++] = (char)value;
    as_text_add_n(t, bytes, n);
}

enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2 };

void as_proto_u64(as_text *t, uint32_t field, uint64_t value)
{
    as_proto_varint(t, (uint64_t)field << 3 | VARINT);
    as_proto_varint(t, value);
}

void as_proto_f64(as_text *t, uint32_t field, double value)
{
    uint64_t bits;
    char     bytes[8];
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(bits >> 8 * i);
    as_proto_varint(t, (uint64_t)field << 3 | FIXED64);
    as_text_add_n(t, bytes, sizeof bytes);
}

void as_proto_bytes(as_text *t, uint32_t field, const void *data, size_t n)
{
    as_proto_varint(t, (uint64_t)field << 3 | DELIMITED);
    as_proto_varint(t, n);
    as_text_add_n(t, data, n);
}

void as_proto_text(as_text *t, uint32_t field, const char *text) { as_proto_bytes(t, field, text, strlen(text)); }
