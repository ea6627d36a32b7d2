// Launches that do once more what has been done: which run, and that nobody sees a difference. First with
// numbers for memory, then on the virtual GPU, both against the same without; random programs too.
#include "runtime/repeats.h"

#include "lemma/device.h"
#include "lemma/stream.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lemma::runtime {
namespace {

// --- Numbers for memory

class Numbers final : public Repeats::Memory {
public:
  std::vector<int> values = std::vector<int>(3);
  bool is_shared = false;

  uint64_t bytes() const override { return 4 * values.size(); }
  std::optional<Digest> digest() const override {
    if (is_shared)
      return std::nullopt;
    return digest_of(std::as_bytes(std::span(values)), {});
  }
};

struct Machine {
  Numbers memory;
  double now = 0; // a launch takes a second, a digest nothing
  Repeats repeats{memory, [this] { return now; }};
  int runs = 0;

  // Does `change` to the numbers.
  template <class F>
  void launch(const std::string& key, F change) {
    const Repeats::Run run = [this, change]() -> Result<Report, Error> {
      ++runs;
      ++now;
      change(memory.values);
      Report report;
      report.stats.warp_instructions = 7;
      return report;
    };
    const Result<Report, Error> report = repeats.launch({.key = key, .now = run, .later = run});
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->stats.warp_instructions, 7u);
  }
  std::vector<int> read() {
    const Repeats::Use use(&repeats, false);
    return memory.values;
  }
  void write(size_t place, int value) {
    const Repeats::Use use(&repeats, true);
    memory.values[place] = value;
  }
};

using Values = std::vector<int>;

TEST(RepeatsTest, WhatChangesNothingRunsTwice) {
  Machine machine;
  for (int i = 0; i < 100; ++i)
    machine.launch("copy", [](Values& v) { v[1] = v[0]; });
  EXPECT_EQ(machine.runs, 2);
  EXPECT_EQ(machine.repeats.skipped(), 98u);
  machine.write(0, 5);
  machine.launch("copy", [](Values& v) { v[1] = v[0]; });
  EXPECT_EQ(machine.read(), (Values{5, 5, 0}));
}

TEST(RepeatsTest, WhatChangesMemoryEachTimeRunsEachTime) {
  Machine machine;
  for (int i = 0; i < 100; ++i)
    machine.launch("add", [](Values& v) { ++v[1]; });
  EXPECT_EQ(machine.runs, 100);
  EXPECT_EQ(machine.read(), (Values{0, 100, 0}));
}

// As a scan does it: each round writes over what the one before has left.
TEST(RepeatsTest, RoundsOfALoopRepeatThemselves) {
  Machine machine;
  machine.write(0, 3);
  for (int i = 0; i < 100; ++i) {
    machine.launch("first", [](Values& v) { v[1] = v[0]; });
    machine.launch("second", [](Values& v) { v[2] = v[1] * 2; });
    machine.launch("third", [](Values& v) { v[1] += v[2]; });
  }
  EXPECT_LE(machine.runs, 9);
  EXPECT_EQ(machine.read(), (Values{3, 9, 6}));
}

TEST(RepeatsTest, WhoLooksInTheMiddleOfARoundSeesIt) {
  Machine machine;
  machine.write(0, 3);
  for (int i = 0; i < 20; ++i) {
    machine.launch("first", [](Values& v) { v[1] = v[0]; });
    if (i == 10) {
      EXPECT_EQ(machine.read(), (Values{3, 3, 6}));
    }
    machine.launch("second", [](Values& v) { v[2] = v[1] * 2; });
    machine.launch("third", [](Values& v) { v[1] += v[2]; });
  }
  EXPECT_EQ(machine.read(), (Values{3, 9, 6}));
  EXPECT_GT(machine.repeats.skipped(), 0u);
}

TEST(RepeatsTest, OtherUsersOfMemoryKeepLaunchesFromBeingFollowed) {
  Machine machine;
  const Repeats::Use use(&machine.repeats, true);
  for (int i = 0; i < 10; ++i)
    machine.launch("copy", [](Values& v) { v[1] = v[0]; });
  EXPECT_EQ(machine.runs, 10);
}

// Digests that take as long as the launches would double the time.
TEST(RepeatsTest, DigestsTakeAFifthOfTheTime) {
  struct Slow final : Repeats::Memory {
    double* now = nullptr;
    mutable int digests = 0;
    uint64_t bytes() const override { return 1; }
    std::optional<Digest> digest() const override {
      *now += 1;
      return Digest{static_cast<uint64_t>(++digests), 0};
    }
  };
  double now = 0;
  Slow memory;
  memory.now = &now;
  Repeats repeats(memory, [&] { return now; });
  const Repeats::Run run = [&]() -> Result<Report, Error> {
    now += 1;
    return Report{};
  };
  for (int i = 0; i < 200; ++i) // of ten kernels
    (void)repeats.launch({.key = std::to_string(i % 10), .now = run, .later = run});
  EXPECT_GT(memory.digests, 10);
  EXPECT_LE(memory.digests, 42);
}

TEST(RepeatsTest, SharedMemoryAndLaunchesWithoutAKeyRun) {
  Machine machine;
  machine.memory.is_shared = true;
  for (int i = 0; i < 10; ++i)
    machine.launch("copy", [](Values& v) { v[1] = v[0]; });
  EXPECT_EQ(machine.runs, 10);
  machine.memory.is_shared = false;
  for (int i = 0; i < 10; ++i)
    machine.launch("", [](Values& v) { v[1] = v[0]; });
  EXPECT_EQ(machine.runs, 20);
}

TEST(RepeatsTest, WhatFailsIsNotRemembered) {
  Machine machine;
  int runs = 0;
  const Repeats::Run run = [&]() -> Result<Report, Error> {
    ++runs;
    Report report;
    report.outcome = Outcome::fault;
    return report;
  };
  for (int i = 0; i < 10; ++i)
    (void)machine.repeats.launch({.key = "fault", .now = run, .later = run});
  EXPECT_EQ(runs, 10);
}

TEST(RepeatsTest, WhatWasPutOffAndFailsIsToldToWhoeverComes) {
  Machine machine;
  bool fails = false;
  const auto flip = [&](int to) -> Repeats::Run {
    return [&, to]() -> Result<Report, Error> {
      ++machine.now;
      Report report;
      if (fails)
        return Unexpected<Error>{{.kind = ErrorKind::out_of_memory, .text = "no memory", .messages = {}}};
      machine.memory.values[0] = to;
      return report;
    };
  };
  for (int i = 0; i < 5; ++i)
    for (const int to : {1, 2})
      (void)machine.repeats.launch({.key = std::to_string(to), .now = flip(to), .later = flip(to)});
  (void)machine.repeats.launch({.key = "1", .now = flip(1), .later = flip(1)}); // put off
  fails = true;
  const Repeats::Use use(&machine.repeats, false);
  ASSERT_TRUE(use.failed());
  EXPECT_EQ(use.failed()->text, "no memory");
}

// Programs of a few kernels in any order, with writes and reads between them, seen at each read.
TEST(RepeatsTest, RandomPrograms) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 draw(seed);
    Machine machine;
    Values want(3);
    const std::array<void (*)(Values&), 5> kernels = {
        [](Values& v) { v[1] = v[0]; }, [](Values& v) { v[2] = v[1] + 1; }, [](Values& v) { v[1] = v[2]; },
        [](Values& v) { v[0] = (v[0] + 1) % 3; }, [](Values& v) { std::swap(v[0], v[2]); }};
    const unsigned length = 1 + draw() % 4; // of a round
    std::vector<unsigned> round(length);
    for (unsigned& each : round)
      each = draw() % 5;
    for (int i = 0; i < 60; ++i) {
      for (const unsigned which : round) {
        machine.launch(std::to_string(which), kernels[which]);
        kernels[which](want);
        if (draw() % 16 == 0) {
          ASSERT_EQ(machine.read(), want) << "seed " << seed;
        }
      }
      if (draw() % 16 == 0) {
        const size_t place = draw() % 3;
        want[place] = static_cast<int>(draw() % 3);
        machine.write(place, want[place]);
      }
    }
    ASSERT_EQ(machine.read(), want) << "seed " << seed;
  }
}

TEST(RepeatsTest, DigestsOfWhatDiffersInABitDiffer) {
  std::vector<std::byte> bytes(200);
  std::vector<Digest> all{digest_of(bytes, {}), digest_of(bytes, {1, 0}), digest_of(bytes, {0, 1}),
                          digest_of(std::span(bytes).first(199), {})};
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    all.push_back(digest_of(bytes, {}));
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

// --- The virtual GPU

template <class T>
T must(Result<T, Error> result) {
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().text);
  return *std::move(result);
}

constexpr const char* kKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.global .u32 calls;
.visible .entry add(.param .u64 to, .param .u64 from, .param .u32 more) {
  .reg .b64 %rd<4>; .reg .b32 %r<5>;
  ld.param.u64 %rd0, [to]; ld.param.u64 %rd1, [from]; ld.param.u32 %r0, [more];
  mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r3, 64, %r1;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd0, %rd0, %rd2; add.s64 %rd1, %rd1, %rd2;
  ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r0; st.global.u32 [%rd0], %r2;
  ret;
}
.visible .entry count() {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  mov.u64 %rd0, calls; atom.global.add.u32 %r0, [%rd0], 1;
  ret;
}
.visible .entry time(.param .u64 to) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd0, [to]; mov.u32 %r0, %clock; st.global.u32 [%rd0], %r0;
  ret;
}
)";

constexpr size_t kWords = 1024;
using Words = std::vector<uint32_t>;

struct Gpu {
  explicit Gpu(bool skips)
      : device(must(Device::open("cpu", {.skip_repeats = skips}))), module(must(device.load_ptx(kKernels))) {
    for (int i = 0; i < 3; ++i)
      buffers.push_back(must(device.allocate(4 * kWords)));
  }
  bool add(size_t to, size_t from, uint32_t more) {
    const Kernel kernel = must(module.kernel("add"));
    const Report report =
        must(kernel.launch({.grid = {kWords / 64}, .block = {64}}, {buffers[to], buffers[from], more}));
    EXPECT_TRUE(report.ok()) << report.rendered;
    return report.stats.seconds == 0;
  }
  Words read(size_t which) {
    Words words(kWords);
    EXPECT_TRUE(device.read(buffers[which].address(), std::as_writable_bytes(std::span(words))).ok());
    return words;
  }

  Device device;
  Module module;
  std::vector<Buffer> buffers;
};

TEST(RepeatsTest, ALaunchOnTheVirtualGpuIsNotRunAgain) {
  Gpu gpu(true);
  bool skipped = false;
  for (int i = 0; i < 100'000 && !skipped; ++i) // how soon follows from times
    skipped = gpu.add(1, 0, 7);
  EXPECT_TRUE(skipped);
  EXPECT_EQ(gpu.read(1), Words(kWords, 7));
  const Words two(kWords, 2);
  ASSERT_TRUE(gpu.device.write(gpu.buffers[0].address(), std::as_bytes(std::span(two))).ok());
  EXPECT_FALSE(gpu.add(1, 0, 7));
  EXPECT_EQ(gpu.read(1), Words(kWords, 9));
}

TEST(RepeatsTest, AVariableOfTheModuleIsMemory) {
  Gpu gpu(true);
  const Kernel count = must(gpu.module.kernel("count"));
  for (int i = 0; i < 200; ++i)
    EXPECT_TRUE(must(count.launch({}, {})).ok());
  const Variable calls = must(gpu.module.variable("calls"));
  uint32_t value = 0;
  ASSERT_TRUE(gpu.device.read(calls.address, std::as_writable_bytes(std::span(&value, 1))).ok());
  EXPECT_EQ(value, 200u);
}

TEST(RepeatsTest, WhatReadsAClockRuns) {
  Gpu gpu(true);
  const Kernel time = must(gpu.module.kernel("time"));
  for (int i = 0; i < 20; ++i)
    EXPECT_GT(must(time.launch({}, {gpu.buffers[0]})).stats.seconds, 0);
}

TEST(RepeatsTest, MemoryThatTheHostSharesMayChangeAtAnyTime) {
  Gpu gpu(true);
  const Buffer shared = must(gpu.device.allocate(4 * kWords, {.host_shared = true}));
  for (int i = 0; i < 20; ++i)
    EXPECT_FALSE(gpu.add(1, 0, 7));
}

// The heap of kernels is no part of what is looked at.
TEST(RepeatsTest, WhereKernelsHaveAHeapAllLaunchesRun) {
  Gpu gpu(true);
  const Module other = must(gpu.device.load_ptx(R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.visible .entry get(.param .u64 to) {
  .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [to];
  {
    .param .b64 bytes; .param .b64 r;
    st.param.b64 [bytes], 64;
    call.uni (r), malloc, (bytes);
    ld.param.b64 %rd1, [r];
  }
  st.global.u64 [%rd0], %rd1;
  ret;
}
.visible .entry more(.param .u64 from) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd0, [from]; ld.global.u64 %rd1, [%rd0];
  ld.global.u32 %r0, [%rd1]; add.u32 %r0, %r0, 1; st.global.u32 [%rd1], %r0;
  ret;
}
)"));
  ASSERT_TRUE(must(must(other.kernel("get")).launch({}, {gpu.buffers[0]})).ok());
  uint64_t block = 0;
  ASSERT_TRUE(gpu.device.read(gpu.buffers[0].address(), std::as_writable_bytes(std::span(&block, 1))).ok());
  uint32_t count = 0;
  ASSERT_TRUE(gpu.device.write(block, std::as_bytes(std::span(&count, 1))).ok());
  const Kernel more = must(other.kernel("more"));
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(must(more.launch({}, {gpu.buffers[0]})).ok());
  ASSERT_TRUE(gpu.device.read(block, std::as_writable_bytes(std::span(&count, 1))).ok());
  EXPECT_EQ(count, 20u);
}

// A module goes while a launch of its kernel is put off.
TEST(RepeatsTest, AModuleGoes) {
  Gpu gpu(true);
  bool put_off = false;
  for (int i = 0; i < 100'000 && !put_off; ++i) {
    gpu.add(1, 0, 8);
    put_off = gpu.add(1, 0, 7);
  }
  EXPECT_TRUE(put_off);
  gpu.module = must(gpu.device.load_ptx(kKernels));
  EXPECT_EQ(gpu.read(1), Words(kWords, 7));
}

TEST(RepeatsTest, RandomProgramsOnTheVirtualGpu) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 draw(seed);
    Gpu gpu(true), plain(false);
    std::array<std::array<size_t, 3>, 3> round{};
    for (auto& [to, from, more] : round)
      to = draw() % 3, from = draw() % 3, more = draw() % 2;
    for (int i = 0; i < 40; ++i) {
      for (const auto& [to, from, more] : round) {
        gpu.add(to, from, static_cast<uint32_t>(more));
        plain.add(to, from, static_cast<uint32_t>(more));
        if (draw() % 8 == 0) {
          const size_t which = draw() % 3;
          ASSERT_EQ(gpu.read(which), plain.read(which)) << "seed " << seed;
        }
      }
      if (draw() % 16 == 0) {
        const Words words(kWords, static_cast<uint32_t>(draw() % 2));
        const size_t which = draw() % 3;
        for (Gpu* each : {&gpu, &plain})
          ASSERT_TRUE(
              each->device.write(each->buffers[which].address(), std::as_bytes(std::span(words))).ok());
      }
    }
    for (size_t which = 0; which < 3; ++which)
      ASSERT_EQ(gpu.read(which), plain.read(which)) << "seed " << seed;
  }
}

// Kernels, copies and fills of two streams, which use buffers of their own.
TEST(RepeatsTest, TwoStreams) {
  Gpu gpu(true);
  const Kernel add = must(gpu.module.kernel("add"));
  const std::array<Stream, 2> streams = {gpu.device.create_stream({.non_blocking = true}),
                                         gpu.device.create_stream({.non_blocking = true})};
  for (uint32_t i = 0; i < 100; ++i)
    for (size_t s = 0; s < 2; ++s) {
      if (s == 1 && i % 10 == 0) {
        ASSERT_TRUE(streams[s].fill(gpu.buffers[1].address(), 4 * kWords, 0).ok());
      }
      const std::vector<Argument> arguments{gpu.buffers[s], gpu.buffers[s == 0 ? 2 : 1],
                                            s == 0 ? uint32_t{5} : uint32_t{1}};
      ASSERT_TRUE(streams[s].launch(add, {.grid = {kWords / 64}, .block = {64}}, arguments, nullptr).ok());
    }
  for (const Stream& stream : streams)
    ASSERT_TRUE(stream.synchronize().ok());
  EXPECT_EQ(gpu.read(0), Words(kWords, 5));
  EXPECT_EQ(gpu.read(1), Words(kWords, 10));
}

} // namespace
} // namespace lemma::runtime
