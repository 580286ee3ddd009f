/* protobuf_test.c - the wire format: a valid message is read, an invalid one gives its error. */
#include "model/onnx/protobuf.h"

#include "tests/runner/test.h"

#define SPAN(...) ((as_pb_span){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

static const char *why(as_pb_span message)
{
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);)
        ;
    return r.error;
}

Test(protobuf, walks_what_it_wrote)
{
    as_text t = {0};
    as_pb_put_int(&t, 1, -5);
    as_pb_put_float(&t, 2, 1.5f);
    as_pb_put_text(&t, 3, "abc");
    as_pb_put_int(&t, 4, INT64_MAX);
    as_pb_reader r = as_pb_read((as_pb_span){(const uint8_t *)t.data, t.length});
    as_pb_field  f;
    expect(as_pb_next(&r, &f) && f.number == 1 && (int64_t)f.value == -5);
    expect(as_pb_next(&r, &f) && f.number == 2 && f.wire == AS_PB_FIXED32 && f.value == 0x3fc00000);
    expect(as_pb_next(&r, &f) && f.number == 3 && f.bytes.n == 3 && !memcmp(f.bytes.data, "abc", 3));
    expect(as_pb_next(&r, &f) && f.number == 4 && (int64_t)f.value == INT64_MAX);
    expect(!as_pb_next(&r, &f) && !r.error);
    as_text_drop(&t);
}

Test(protobuf, says_why_a_message_cannot_be_walked)
{
    expect_has(why(SPAN(0x08)), "cut off");
    expect_has(why(SPAN(0x0d, 1, 2)), "cut off");
    expect_has(why(SPAN(0x12, 5, 'a')), "longer than what is left");
    expect_has(why(SPAN(0x0b)), "a group");
    expect_has(why(SPAN(0x0e)), "wire type 6 or 7");
    expect_has(why(SPAN(0x00)), "outside 1 to 2^29-1");
    expect_has(why(SPAN(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)), "more than 64 bits");
    expect_has(why(SPAN(0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)), "longer than what is left");
}

Test(protobuf, repeated_numbers_come_packed_or_one_by_one)
{
    uint64_t     out[4];
    as_pb_field  f;
    as_pb_reader r = as_pb_read(SPAN(0x0a, 3, 1, 0x80, 1));
    expect(as_pb_next(&r, &f));
    expect_eq(as_pb_count(&f, AS_PB_VARINT), 2);
    expect_eq(as_pb_numbers(&f, AS_PB_VARINT, out) - out, 2);
    expect_eq(out[1], 128);
    expect(as_pb_count(&f, AS_PB_FIXED32) == SIZE_MAX); /* three bytes are not floats */
    r = as_pb_read(SPAN(0x08, 7));
    expect(as_pb_next(&r, &f));
    expect_eq(as_pb_count(&f, AS_PB_VARINT), 1);
    expect(as_pb_count(&f, AS_PB_FIXED64) == SIZE_MAX);
    r = as_pb_read(SPAN(0x0a, 1, 0x80)); /* packed and cut */
    expect(as_pb_next(&r, &f));
    expect(as_pb_count(&f, AS_PB_VARINT) == SIZE_MAX);
}
