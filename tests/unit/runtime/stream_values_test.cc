// Values that streams write and wait for: Stream::write_value(), wait_value().
#include "lemma/lemma.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

namespace lemma {
namespace {

// Waits until *flag is not 0, then writes 7 to *data and 1 to *ready.
constexpr const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry relay(.param .u64 flag, .param .u64 data, .param .u64 ready) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  .reg .pred %p;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [data];
  ld.param.u64 %rd3, [ready];
again:
  ld.acquire.sys.global.u32 %r1, [%rd1];
  setp.eq.u32 %p, %r1, 0;
  @%p bra again;
  st.global.u32 [%rd2], 7;
  st.release.sys.global.u32 [%rd3], 1;
  ret;
}
)";

class StreamValues : public ::testing::Test {
protected:
  uint64_t zeros(uint64_t bytes, bool shared = false) {
    Buffer buffer = *device_.allocate(bytes, {.name = "words", .host_shared = shared});
    EXPECT_TRUE(device_.fill(buffer.address(), bytes, 0));
    buffers_.push_back(std::move(buffer));
    return buffers_.back().address();
  }
  template <class T = uint32_t>
  T value(uint64_t address) {
    T word = 0;
    EXPECT_TRUE(device_.read(address, std::as_writable_bytes(std::span(&word, 1))));
    return word;
  }
  static void expect(const Result<void, Error>& result) { EXPECT_TRUE(result) << result.error().text; }
  static std::string error(const Result<void, Error>& result, ErrorKind kind) {
    EXPECT_FALSE(result);
    if (result)
      return "";
    EXPECT_EQ(to_string(result.error().kind), to_string(kind));
    return result.error().text;
  }
  // Whether a wait with this value is fulfilled by a word.
  bool is_fulfilled(uint64_t word, uint64_t value, uint32_t bytes, WaitUntil until) {
    const Device impatient = *Device::open("cpu", {.patience_seconds = 0});
    const Buffer x = *impatient.allocate(bytes);
    const Stream stream = impatient.create_stream();
    expect(stream.write_value(x.address(), word, bytes));
    expect(stream.wait_value(x.address(), value, bytes, until));
    return stream.synchronize().ok();
  }

  Device device_ = *Device::open("cpu");
  std::vector<Buffer> buffers_;
};

TEST_F(StreamValues, EachConditionAtItsEdges) {
  constexpr uint64_t kTop = uint64_t{1} << 63;
  EXPECT_TRUE(is_fulfilled(5, 5, 4, WaitUntil::geq));
  EXPECT_FALSE(is_fulfilled(4, 5, 4, WaitUntil::geq));
  EXPECT_TRUE(is_fulfilled(7, 0xf0000000, 4, WaitUntil::geq)); // in a circle
  EXPECT_FALSE(is_fulfilled(0x80000004, 4, 4, WaitUntil::geq));
  EXPECT_TRUE(is_fulfilled(0x80000004, 4, 8, WaitUntil::geq));
  EXPECT_FALSE(is_fulfilled(kTop, 0, 8, WaitUntil::geq));
  EXPECT_TRUE(is_fulfilled(0x100000005, 5, 4, WaitUntil::eq)); // of the word's bytes alone
  EXPECT_FALSE(is_fulfilled(0x100000005, 5, 8, WaitUntil::eq));
  EXPECT_TRUE(is_fulfilled(6, 4, 4, WaitUntil::and_));
  EXPECT_FALSE(is_fulfilled(6, 9, 4, WaitUntil::and_));
  EXPECT_TRUE(is_fulfilled(kTop, kTop, 8, WaitUntil::and_));
  EXPECT_TRUE(is_fulfilled(0xffff0000, 0xfffe, 4, WaitUntil::nor_));
  EXPECT_FALSE(is_fulfilled(0xffff0000, 0xffff, 4, WaitUntil::nor_));
  EXPECT_TRUE(is_fulfilled(0xffff0000, 0xffff, 8, WaitUntil::nor_));
}

TEST_F(StreamValues, AWordAndNoMore) {
  const uint64_t x = zeros(16);
  const Stream stream = device_.create_stream();
  expect(stream.write_value(x + 4, 0x1122334455667788, 4));
  expect(stream.synchronize());
  EXPECT_EQ(value<uint64_t>(x), uint64_t{0x55667788} << 32);
  expect(stream.write_value(x + 8, 0x1122334455667788, 8));
  expect(stream.synchronize());
  EXPECT_EQ(value<uint64_t>(x + 8), 0x1122334455667788u);
}

// The host lets a stream go on, which lets a kernel go on, which lets another stream go on.
TEST_F(StreamValues, TheHostAKernelAndAStreamAreWaitedFor) {
  const uint64_t shared = zeros(4, true), words = zeros(12);
  const Kernel relay = *device_.load_ptx(kPtx)->kernel("relay");
  const Stream a = device_.create_stream(), b = device_.create_stream(), c = device_.create_stream();
  uint32_t data = 0;
  expect(c.wait_value(words + 8, 1, 4, WaitUntil::eq));
  expect(c.read(words + 4, std::as_writable_bytes(std::span(&data, 1))));
  expect(b.launch(relay, {}, {words, words + 4, words + 8}));
  expect(a.wait_value(shared, 3, 4, WaitUntil::geq));
  expect(a.write_value(words, 1, 4));
  EXPECT_FALSE(a.is_done() || b.is_done() || c.is_done());
  std::atomic_ref(*reinterpret_cast<uint32_t*>(shared)).store(4);
  for (const Stream* stream : {&c, &b, &a})
    expect(stream->synchronize());
  EXPECT_EQ(data, 7u);
}

TEST_F(StreamValues, AWaitInVainIsAnErrorThatSaysWhere) {
  const Device device = *Device::open("cpu", {.patience_seconds = 0.05});
  const Buffer x = *device.allocate(16, {.name = "flags"});
  const Stream stream = device.create_stream();
  expect(stream.write_value(x.address() + 8, 2, 4));
  std::string told;
  expect(stream.wait_value(x.address() + 8, 3, 4, WaitUntil::geq, [&](const Result<void, Error>& waited) {
    told = waited ? "" : waited.error().text;
  }));
  bool ran = false;
  expect(stream.call([&] { ran = true; }));
  EXPECT_EQ(error(stream.synchronize(), ErrorKind::kernel_failed),
            "a stream waits for a value at flags + 0x8 (now 0x2) that nobody writes: nothing has happened on "
            "the device for 0.05 s");
  EXPECT_EQ(told, "a stream waits for a value at flags + 0x8 (now 0x2) that nobody writes: nothing has "
                  "happened on the device for 0.05 s");
  EXPECT_FALSE(ran);
}

TEST_F(StreamValues, WhatIsNoWord) {
  const uint64_t x = zeros(16);
  const Stream stream = device_.create_stream();
  EXPECT_NE(error(stream.write_value(x + 2, 0, 4), ErrorKind::invalid_argument).find("aligned"),
            std::string::npos);
  EXPECT_NE(error(stream.wait_value(x + 4, 0, 8, WaitUntil::eq), ErrorKind::invalid_argument).find("aligned"),
            std::string::npos);
  EXPECT_NE(error(stream.write_value(x, 0, 2), ErrorKind::invalid_argument).find("4 or 8 bytes"),
            std::string::npos);
  expect(stream.wait_value(x + 16, 0, 4, WaitUntil::eq)); // behind the end
  EXPECT_NE(error(stream.synchronize(), ErrorKind::invalid_argument).find("inside one allocation"),
            std::string::npos);
}

// Freed while a stream waits there.
TEST_F(StreamValues, MemoryThatGoes) {
  Buffer x = *device_.allocate(4);
  const uint64_t address = x.address();
  expect(device_.fill(address, 4, 0));
  const Stream stream = device_.create_stream({.non_blocking = true});
  expect(stream.wait_value(address, 1, 4, WaitUntil::eq));
  x = Buffer();
  EXPECT_NE(error(stream.synchronize(), ErrorKind::invalid_argument).find("inside one allocation"),
            std::string::npos);
}

// What a wait has seen may be the order: a note. Without one it is an error.
TEST_F(StreamValues, ChecksOfStreamsKnowThem) {
  for (const bool waits : {true, false}) {
    const Device device = *Device::open("cpu", {.check_streams = true});
    const Buffer x = *device.allocate(64), turn = *device.allocate(4);
    ASSERT_TRUE(device.fill(turn.address(), 4, 0));
    const Stream a = device.create_stream(), b = device.create_stream();
    expect(a.fill(x.address(), 64, 1));
    expect(a.write_value(turn.address(), 1, 4));
    if (waits)
      expect(b.wait_value(turn.address(), 1, 4, WaitUntil::eq));
    expect(b.fill(x.address(), 64, 2));
    expect(a.synchronize());
    expect(b.synchronize());
    const std::vector<Finding> findings = device.stream_findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings.front().is_note, waits) << findings.front().rendered;
    EXPECT_EQ(findings.front().message.find("perhaps a value that a stream has waited for") !=
                  std::string::npos,
              waits);
  }
}

} // namespace
} // namespace lemma
