// Streams, events and asynchronous copies on the virtual GPU: what runs at the same time, in which order, and
// what becomes of failures. Under -DLEMMA_SANITIZE=thread these tests say most.
#include "lemma/lemma.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace lemma {
namespace {

// Flags are words that somebody else writes while a kernel runs.
constexpr const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64

// Waits until *flag is 1, then writes `value` to *out.
.visible .entry wait_and_write(.param .u64 flag, .param .u64 out, .param .u32 value) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  .reg .pred %p;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r2, [value];
again:
  ld.acquire.sys.global.u32 %r1, [%rd1];
  setp.ne.u32 %p, %r1, 1;
  @%p bra again;
  st.release.sys.global.u32 [%rd2], %r2;
  ret;
}

// *out = *in + add.
.visible .entry add(.param .u64 out, .param .u64 in, .param .u32 add) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.param.u32 %r2, [add];
  ld.global.u32 %r1, [%rd2];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd1], %r1;
  ret;
}

// Writes 1 to *first, waits until *flag is 1, then writes 1 to *second.
.visible .entry write_wait_write(.param .u64 first, .param .u64 flag, .param .u64 second) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  .reg .pred %p;
  ld.param.u64 %rd1, [first];
  ld.param.u64 %rd2, [flag];
  ld.param.u64 %rd3, [second];
  st.release.sys.global.u32 [%rd1], 1;
again:
  ld.acquire.sys.global.u32 %r1, [%rd2];
  setp.ne.u32 %p, %r1, 1;
  @%p bra again;
  st.release.sys.global.u32 [%rd3], 1;
  ret;
}

// Lets the next kernel start, waits until *flag is 1, then writes 7 to *out.
.visible .entry primary(.param .u64 flag, .param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  .reg .pred %p;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
  griddepcontrol.launch_dependents;
again:
  ld.acquire.sys.global.u32 %r1, [%rd1];
  setp.ne.u32 %p, %r1, 1;
  @%p bra again;
  st.global.u32 [%rd2], 7;
  ret;
}

// Says that it has begun, waits for the grid before, then copies *in to *out.
.visible .entry secondary(.param .u64 begun, .param .u64 in, .param .u64 out) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [begun];
  ld.param.u64 %rd2, [in];
  ld.param.u64 %rd3, [out];
  st.release.sys.global.u32 [%rd1], 1;
  griddepcontrol.wait;
  ld.global.u32 %r1, [%rd2];
  st.global.u32 [%rd3], %r1;
  ret;
}

.visible .entry traps() {
  trap;
}

// Waits for a phase that nobody completes.
.visible .entry waits_at_mbarrier() {
  .shared .align 8 .b64 bar;
  .reg .b32 %r<2>;
  .reg .pred %p;
  mov.u32 %r1, bar;
  mbarrier.init.shared.b64 [%r1], 1;
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%r1], 0;
  @!%p bra again;
  ret;
}

.visible .entry waits_a_little(.param .u64 out) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  nanosleep.u32 100;
  st.global.u32 [%rd1], 1;
  ret;
}
)";

class Streams : public ::testing::Test {
protected:
  explicit Streams(double patience_seconds = 10)
      : device_(*Device::open("cpu", {.patience_seconds = patience_seconds})) {}

  Kernel kernel(const std::string& name) {
    if (!module_) {
      auto loaded = device_.load_ptx(kPtx, {.name = "streams.ptx"});
      EXPECT_TRUE(loaded) << loaded.error().text;
      module_ = *std::move(loaded);
    }
    return *module_->kernel(name);
  }

  // `count` words of zero that the host sees too.
  struct Words {
    Buffer buffer;
    uint64_t at(size_t i) const { return buffer.address() + 4 * i; }
    std::atomic_ref<uint32_t> operator[](size_t i) const {
      return std::atomic_ref<uint32_t>(reinterpret_cast<uint32_t*>(buffer.address())[i]);
    }
    void wait_for(size_t i) const {
      while ((*this)[i].load(std::memory_order_acquire) == 0)
        std::this_thread::yield();
    }
  };
  Words words(size_t count) { return {*device_.allocate(4 * count, {.name = "words", .host_shared = true})}; }

  static void expect_done(const Stream& stream) {
    const auto done = stream.synchronize();
    EXPECT_TRUE(done) << done.error().text;
  }
  static void expect(const Result<void, Error>& result) { EXPECT_TRUE(result) << result.error().text; }

  Device device_;
  std::optional<Module> module_;
};

TEST_F(Streams, KernelsOfTwoWaitForEachOther) {
  const Words w = words(3);
  const Stream a = device_.create_stream(), b = device_.create_stream();
  expect(a.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 1u}));
  expect(b.launch(kernel("write_wait_write"), {}, {w.at(0), w.at(1), w.at(2)}));
  expect_done(a);
  expect_done(b);
  EXPECT_EQ(w[2].load(), 1u);
}

TEST_F(Streams, AKernelWaitsForTheHost) {
  const Words w = words(2);
  const Stream stream = device_.create_stream();
  expect(stream.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  EXPECT_FALSE(stream.is_done());
  w[0].store(1, std::memory_order_release);
  expect_done(stream);
  EXPECT_TRUE(stream.is_done());
  EXPECT_EQ(w[1].load(), 5u);
}

TEST_F(Streams, AKernelWaitsForACopy) {
  const Words w = words(2);
  const Stream a = device_.create_stream(), b = device_.create_stream();
  expect(a.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  const uint32_t one = 1;
  expect(b.write(w.at(0), std::as_bytes(std::span(&one, 1))));
  expect_done(a);
  EXPECT_EQ(w[1].load(), 5u);
}

TEST_F(Streams, OperationsOfOneRunInTheirOrder) {
  auto buffer = *device_.allocate(4);
  const Stream stream = device_.create_stream();
  std::vector<uint32_t> seen(100);
  std::vector<int> calls;
  for (uint32_t i = 0; i < seen.size(); ++i) {
    expect(stream.launch(kernel("add"), {}, {buffer, buffer, 1u}));
    expect(stream.read(buffer.address(), std::as_writable_bytes(std::span(&seen[i], 1))));
    expect(stream.call([&calls, &seen, i] { calls.push_back(static_cast<int>(seen[i])); }));
  }
  expect_done(stream);
  for (uint32_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], i + 1);
    EXPECT_EQ(calls[i], static_cast<int>(i + 1));
  }
}

TEST_F(Streams, FillsAndCopies) {
  auto a = *device_.allocate(64), b = *device_.allocate(64);
  const Stream stream = device_.create_stream();
  std::array<std::byte, 64> seen{};
  expect(stream.fill(a.address(), 64, 3));
  expect(stream.copy(b.address() + 8, a.address(), 16));
  expect(stream.read(b.address(), seen));
  expect_done(stream);
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], i >= 8 && i < 24 ? std::byte{3} : std::byte{0}) << i;
  expect(stream.copy(a.address() + 8, a.address(), 16));
  const auto overlapping = stream.synchronize();
  ASSERT_FALSE(overlapping);
  EXPECT_NE(overlapping.error().text.find("overlap"), std::string::npos) << overlapping.error().text;
}

TEST_F(Streams, WhatWasNeverWrittenStaysSoWhereItIsCopied) {
  auto from = *device_.allocate(8, {.poisoned = true}), to = *device_.allocate(8, {.poisoned = true});
  auto out = *device_.allocate(4);
  const Stream stream = device_.create_stream();
  expect(stream.fill(from.address(), 4, 0));
  expect(stream.copy(to.address(), from.address(), 8));
  Result<Report, Error> good = Report{}, bad = Report{};
  expect(
      stream.launch(kernel("add"), {}, {out, to, 1u}, [&](Result<Report, Error> r) { good = std::move(r); }));
  expect(stream.launch(kernel("add"), {}, {out, to.address() + 4, 1u},
                       [&](Result<Report, Error> r) { bad = std::move(r); }));
  expect_done(stream);
  EXPECT_TRUE(good->uninitialized.empty());
  EXPECT_FALSE(bad->uninitialized.empty());
}

TEST_F(Streams, AnEventOrdersThem) {
  const Words w = words(3);
  const Stream a = device_.create_stream(), b = device_.create_stream();
  const Event begin = *a.record();
  expect(a.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  const Event end = *a.record();
  expect(b.wait(end));
  expect(b.launch(kernel("add"), {}, {w.at(2), w.at(1), 1u}));
  EXPECT_FALSE(end.is_done());
  EXPECT_FALSE(Event::elapsed_seconds(begin, end));
  w[0].store(1, std::memory_order_release);
  expect(end.synchronize());
  EXPECT_GE(*Event::elapsed_seconds(begin, end), 0);
  expect_done(b);
  EXPECT_EQ(w[2].load(), 6u);
}

TEST_F(Streams, TheLegacyDefaultStreamWaitsForBlockingOnes) {
  const Words w = words(2);
  const Stream stream = device_.create_stream();
  expect(stream.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  std::thread host([&] { w[0].store(1, std::memory_order_release); });
  uint32_t seen = 0;
  expect(device_.read(w.at(1), std::as_writable_bytes(std::span(&seen, 1))));
  EXPECT_EQ(seen, 5u);
  host.join();
}

TEST_F(Streams, BlockingOnesWaitForTheLegacyDefaultStream) {
  const Words w = words(3);
  const Stream stream = device_.create_stream();
  expect(device_.default_stream().launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  expect(stream.launch(kernel("add"), {}, {w.at(2), w.at(1), 1u}));
  w[0].store(1, std::memory_order_release);
  expect_done(stream);
  EXPECT_EQ(w[2].load(), 6u);
}

TEST_F(Streams, NonBlockingOnesDoNotWait) {
  const Words w = words(2);
  const Stream stream = device_.create_stream({.non_blocking = true});
  expect(stream.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  const uint32_t one = 1;
  expect(device_.write(w.at(0), std::as_bytes(std::span(&one, 1)))); // else for ever
  expect_done(stream);
  EXPECT_EQ(w[1].load(), 5u);
}

TEST_F(Streams, EachThreadHasItsOwnDefaultStream) {
  const Words w = words(16);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t, add = kernel("add"), wait = kernel("wait_and_write")] {
      const Stream own = device_.thread_default_stream();
      expect(own.launch(wait, {}, {w.at(0), w.at(8 + t), 100u}));
      for (int i = 0; i < 20; ++i)
        expect(device_.thread_default_stream().launch(add, {}, {w.at(8 + t), w.at(8 + t), t}));
      expect_done(own);
    });
  w[0].store(1, std::memory_order_release);
  for (std::thread& thread : threads)
    thread.join();
  for (uint32_t t = 0; t < 8; ++t)
    EXPECT_EQ(w[8 + t].load(), 100 + 20 * t);
}

TEST_F(Streams, AProgrammaticLaunchStartsBeforeTheKernelBeforeItEnds) {
  const Words w = words(4);
  const Stream stream = device_.create_stream();
  expect(stream.launch(kernel("primary"), {.grid = {3}}, {w.at(0), w.at(1)}));
  expect(stream.launch(kernel("secondary"), {.programmatic = true}, {w.at(2), w.at(1), w.at(3)}));
  w.wait_for(2); // else for ever
  EXPECT_EQ(w[3].load(), 0u);
  w[0].store(1, std::memory_order_release);
  expect_done(stream);
  EXPECT_EQ(w[3].load(), 7u);
}

TEST_F(Streams, AProgrammaticLaunchEndsAfterTheKernelBeforeIt) {
  const Words w = words(4);
  const Stream stream = device_.create_stream();
  expect(stream.launch(kernel("primary"), {}, {w.at(0), w.at(1)}));
  expect(
      stream.launch(kernel("waits_a_little"), {.programmatic = true}, {w.at(2)})); // no griddepcontrol.wait
  const Event end = *stream.record();
  w.wait_for(2);
  EXPECT_FALSE(end.is_done());
  w[0].store(1, std::memory_order_release);
  expect_done(stream);
  EXPECT_EQ(w[1].load(), 7u);
}

TEST_F(Streams, AFaultTakesWhatComesAfter) {
  const Words w = words(2);
  const Stream a = device_.create_stream(), b = device_.create_stream(), c = device_.create_stream();
  Result<Report, Error> report = Report{}, after = Report{};
  expect(a.launch(kernel("traps"), {}, {}, [&](Result<Report, Error> r) { report = std::move(r); }));
  expect(a.launch(kernel("add"), {}, {w.at(0), w.at(0), 1u},
                  [&](Result<Report, Error> r) { after = std::move(r); }));
  expect(b.wait(*a.record()));
  expect(b.launch(kernel("add"), {}, {w.at(0), w.at(0), 1u}));
  expect(c.launch(kernel("add"), {}, {w.at(1), w.at(1), 1u}));
  const auto first = a.synchronize(), second = b.synchronize();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, ErrorKind::kernel_failed);
  EXPECT_NE(first.error().text.find("trap"), std::string::npos) << first.error().text;
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().text, first.error().text);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->fault->kind, FaultKind::trap);
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, ErrorKind::kernel_failed);
  expect_done(c);
  EXPECT_EQ(w[0].load(), 0u);
  EXPECT_EQ(w[1].load(), 1u);
  expect_done(a); // said once
  expect(a.launch(kernel("add"), {}, {w.at(0), w.at(0), 1u}));
  expect_done(a);
  EXPECT_EQ(w[0].load(), 1u);
}

TEST_F(Streams, ACopyOutOfBoundsFails) {
  auto buffer = *device_.allocate(4);
  const Stream stream = device_.create_stream();
  std::array<std::byte, 8> bytes{};
  expect(stream.read(buffer.address(), bytes));
  const auto done = stream.synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::invalid_argument);
  EXPECT_NE(done.error().text.find("do not lie inside one allocation"), std::string::npos);
}

TEST_F(Streams, WrongArgumentsAreErrorsOfTheCall) {
  const Stream stream = device_.create_stream();
  const auto given = stream.launch(kernel("add"), {}, {1u});
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().kind, ErrorKind::invalid_argument);
  const Device other = *Device::open("cpu");
  EXPECT_FALSE(other.create_stream().launch(kernel("traps"), {}, {}));
  EXPECT_FALSE(other.create_stream().wait(*stream.record()));
  expect_done(stream);
}

TEST_F(Streams, AHostFunctionCannotWaitForTheDevice) {
  const Stream stream = device_.create_stream();
  auto buffer = *device_.allocate(4);
  Result<void, Error> synchronized, filled;
  expect(stream.call([&] {
    synchronized = stream.synchronize();
    filled = buffer.fill(1);
  }));
  expect_done(stream);
  EXPECT_FALSE(synchronized);
  EXPECT_FALSE(filled);
  expect(stream.call([] { throw std::runtime_error("no"); }));
  const auto thrown = stream.synchronize();
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().kind, ErrorKind::invalid_argument);
  EXPECT_NE(thrown.error().text.find("the caller's host function threw: no"), std::string::npos)
      << thrown.error().text;
}

TEST_F(Streams, AHostFunctionComputesInItsTurn) {
  const Stream stream = device_.create_stream();
  const auto buffer = *device_.allocate(24);
  const std::array<uint32_t, 6> words{1, 2, 3, 4, 5, 6};
  expect(stream.write(buffer.address(), std::as_bytes(std::span(words))));
  std::array<uint32_t, 2> rows{};
  expect(stream.compute("doubles", [&](const MemoryInTurn& memory) -> Result<void, Error> {
    if (auto read = memory.read(buffer.address() + 4, std::as_writable_bytes(std::span(rows)), 4, 12); !read)
      return read;
    const std::array<uint32_t, 2> doubled{2 * rows[0], 2 * rows[1]};
    return memory.write(buffer.address() + 4, std::as_bytes(std::span(doubled)), 4, 12);
  }));
  std::array<uint32_t, 6> got{};
  expect(stream.read(buffer.address(), std::as_writable_bytes(std::span(got))));
  expect_done(stream);
  EXPECT_EQ(rows, (std::array<uint32_t, 2>{2, 5}));
  EXPECT_EQ(got, (std::array<uint32_t, 6>{1, 4, 3, 4, 10, 6}));
  for (const uint64_t row_bytes : {4, 512}) { // rows that lie behind the end, short and long
    std::vector<std::byte> more(2 * row_bytes);
    expect(stream.compute("reads too much", [&](const MemoryInTurn& memory) {
      return memory.read(buffer.address() + 12, more, row_bytes, row_bytes + 8);
    }));
    const auto outside = stream.synchronize();
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().kind, ErrorKind::invalid_argument);
  }
}

TEST_F(Streams, AHostFunctionMayGiveStreamsMore) {
  const Words w = words(1);
  const Stream stream = device_.create_stream();
  expect(stream.call([&] { expect(stream.launch(kernel("add"), {}, {w.at(0), w.at(0), 1u})); }));
  expect_done(stream); // up to the function
  expect_done(stream);
  EXPECT_EQ(w[0].load(), 1u);
}

TEST_F(Streams, MemoryFreedUnderAKernelIsAFault) {
  const Words w = words(2);
  auto buffer = *device_.allocate(4, {.name = "freed"});
  const Stream stream = device_.create_stream({.non_blocking = true});
  expect(stream.launch(kernel("wait_and_write"), {}, {w.at(0), buffer, 5u}));
  buffer.free(); // does not wait for a stream that is non_blocking
  w[0].store(1, std::memory_order_release);
  const auto done = stream.synchronize();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text.find("freed"), std::string::npos) << done.error().text;
}

// Of a device with room for two buffers of kLarge.
class StreamsWithLittleMemory : public Streams {
protected:
  static constexpr uint64_t kLarge = 32 << 20;
  StreamsWithLittleMemory() {
    device_ = *Device::open("cpu", {.max_memory_bytes = 5 * kLarge / 2});
    words_ = words(2);
  }
  // The stream stands still until let_go().
  void hold(const Stream& stream) {
    expect(stream.launch(kernel("wait_and_write"), {}, {words_.at(0), words_.at(1), 1u}));
  }
  void let_go() const { words_[0].store(1, std::memory_order_release); }
  Words words_;
};

TEST_F(StreamsWithLittleMemory, MemoryInTheOrderOfAStreamIsTakenInItsTurn) {
  const Stream stream = device_.create_stream();
  hold(stream);
  std::vector<uint8_t> last(16);
  for (uint8_t i = 0; i < 50; ++i) {
    auto buffer = stream.allocate(kLarge, {.name = "large"});
    ASSERT_TRUE(buffer) << buffer.error().text;
    EXPECT_NE(buffer->address(), 0u);
    expect(stream.fill(buffer->address() + kLarge - 16, 16, i));
    expect(stream.read(buffer->address() + kLarge - 16, std::as_writable_bytes(std::span(last))));
    expect(stream.free(*std::move(buffer)));
  }
  let_go();
  expect_done(stream);
  EXPECT_EQ(last, std::vector<uint8_t>(16, 49));
}

TEST_F(StreamsWithLittleMemory, AnAllocationWaitsForWhatAnotherStreamFrees) {
  const Stream a = device_.create_stream({.non_blocking = true}),
               b = device_.create_stream({.non_blocking = true});
  auto first = a.allocate(2 * kLarge), second = Result<Buffer, Error>(Buffer());
  expect_done(a);
  hold(a);
  int freed = 0;
  expect(a.free(*std::move(first), [&] { ++freed; }));
  second = b.allocate(2 * kLarge);
  ASSERT_TRUE(second) << second.error().text;
  expect(b.fill(second->address(), 4, 1));
  EXPECT_FALSE(b.is_done());
  EXPECT_EQ(freed, 0);
  let_go();
  expect_done(b);
  expect_done(a);
  EXPECT_EQ(freed, 1);
}

TEST_F(StreamsWithLittleMemory, TooLittleMemoryIsAnErrorAtTheCallOrInItsTurn) {
  const Stream stream = device_.create_stream({.non_blocking = true});
  const auto too_much = stream.allocate(3 * kLarge);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().kind, ErrorKind::out_of_memory);
  hold(stream);
  int told = 0;
  auto late = stream.allocate(2 * kLarge, {}, [&](const Result<void, Error>& done) {
    ++told;
    EXPECT_FALSE(done);
  });
  ASSERT_TRUE(late);
  EXPECT_FALSE(stream.allocate(kLarge)); // the two together would not be there
  auto meanwhile = device_.allocate(kLarge);
  ASSERT_TRUE(meanwhile);
  let_go();
  const auto done = stream.synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::out_of_memory) << done.error().text;
  EXPECT_EQ(told, 1);
  late->free(); // whose address is none
  meanwhile->free();
  auto again = stream.allocate(2 * kLarge);
  ASSERT_TRUE(again);
  expect_done(stream);
}

TEST_F(Streams, ModulesAndStreamsStayUntilTheirWorkIsDone) {
  const Words w = words(2);
  {
    const Stream stream = device_.create_stream();
    expect(stream.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
    module_.reset();
  }
  w[0].store(1, std::memory_order_release);
  expect(device_.synchronize());
  EXPECT_EQ(w[1].load(), 5u);
}

// The last handle to a's module goes on a thread of the stream's, between two kernels that b's waits for:
// nothing waits for that.
TEST_F(Streams, AModuleThatGoesStopsNobody) {
  const Words w = words(3);
  const Stream a = device_.create_stream(), b = device_.create_stream();
  expect(b.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  for (int i = 0; i < 20; ++i) {
    const auto other = device_.load_ptx(kPtx, {.name = "other.ptx"});
    expect(a.launch(*other->kernel("waits_a_little"), {}, {w.at(2)}));
  }
  expect(a.fill(w.at(0), 1, 1));
  expect_done(a);
  expect_done(b);
}

class ImpatientStreams : public Streams {
protected:
  ImpatientStreams() : Streams(0.05) {}
};

TEST_F(ImpatientStreams, ReportADeadlock) {
  const Words w = words(2);
  const Stream stream = device_.create_stream();
  expect(stream.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  const auto done = stream.synchronize();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text.find("deadlock"), std::string::npos) << done.error().text;
}

// A try_wait that times out again and again is found to poll, and does neither in a new state.
TEST_F(ImpatientStreams, ReportADeadlockAtAnMbarrier) {
  const Stream stream = device_.create_stream();
  expect(stream.launch(kernel("waits_at_mbarrier"), {}, {}));
  const auto done = stream.synchronize();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text.find("deadlock"), std::string::npos) << done.error().text;
}

TEST_F(ImpatientStreams, WaitForAKernelThatWorks) {
  const Words w = words(3);
  const Stream a = device_.create_stream(), b = device_.create_stream();
  expect(a.launch(kernel("wait_and_write"), {}, {w.at(0), w.at(1), 5u}));
  for (int i = 0; i < 20; ++i)
    expect(b.call([] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }));
  expect(b.fill(w.at(0), 1, 1));
  expect_done(a);
}

TEST_F(ImpatientStreams, ACallIsADeadlockAtOnceWhereNobodyIsBeside) {
  const Words w = words(2);
  const auto report = kernel("wait_and_write").launch({}, {w.at(0), w.at(1), 5u});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->fault->kind, FaultKind::deadlock);
}

} // namespace
} // namespace lemma
