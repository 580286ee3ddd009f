/* protobuf.h - reads and writes the protobuf wire format, without copying and without schemas.
 *
 * A message is a span of bytes; as_pb_next() walks its fields.  Sub-messages are spans within it, so the depth is limited by the
 * caller's code.  Every length is checked against the remaining bytes; groups (which nest without a length) are refused.  Private
 * to model/. */
#ifndef AS_MODEL_PROTOBUF_H
#define AS_MODEL_PROTOBUF_H

#include "base/text.h"

typedef enum as_pb_wire { AS_PB_VARINT = 0, AS_PB_FIXED64 = 1, AS_PB_BYTES = 2, AS_PB_FIXED32 = 5 } as_pb_wire;

typedef struct as_pb_span {
    const uint8_t *data;
    size_t         n;
} as_pb_span;

typedef struct as_pb_field {
    uint32_t   number;
    as_pb_wire wire;
    uint64_t   value; /* varint, fixed64 or fixed32 */
    as_pb_span bytes; /* AS_PB_BYTES */
} as_pb_field;

typedef struct as_pb_reader {
    const uint8_t *at, *end;
    const char    *error; /* why as_pb_next() stopped early; NULL: the message ended */
} as_pb_reader;

as_pb_reader as_pb_read(as_pb_span message);
/* False at the end and after an error, which is kept. */
bool as_pb_next(as_pb_reader *r, as_pb_field *out);
/* One varint of at most 64 bits. */
bool as_pb_varint(as_pb_reader *r, uint64_t *out);

/* Repeated numbers come one by one or packed.  Returns how many numbers one field holds, SIZE_MAX when its wire type does not fit
 * or its packed bytes are damaged. */
size_t as_pb_count(const as_pb_field *field, as_pb_wire wire);
/* Appends them to out, which has room; returns the new end. */
uint64_t *as_pb_numbers(const as_pb_field *field, as_pb_wire wire, uint64_t *out);

/* --- Writing: appends to a buffer ------------------------------------------------------------------ */

void as_pb_put_varint(as_text *t, uint64_t value);
void as_pb_put_int(as_text *t, uint32_t number, int64_t value);
void as_pb_put_float(as_text *t, uint32_t number, float value);
void as_pb_put_bytes(as_text *t, uint32_t number, const void *data, size_t n);
void as_pb_put_text(as_text *t, uint32_t number, const char *text);
/* The key and the length of a field whose bytes the caller writes. */
void as_pb_put_head(as_text *t, uint32_t number, uint64_t n_bytes);

#endif
