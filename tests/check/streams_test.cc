// Programs with a missing order between operations of streams, each with a twin that has it: the first is
// named, the second is silent. DeviceOptions::check_streams.
#include "lemma/lemma.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace lemma {
namespace {

constexpr const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64

.visible .global .align 4 .u32 scale;

// out[i] = in[i] + 1, for each thread.
.visible .entry add_one(.param .u64 out, .param .u64 in) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  ld.global.u32 %r2, [%rd2];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd1], %r2;
  ret;
}

// The same behind griddepcontrol.wait.
.visible .entry add_one_after(.param .u64 out, .param .u64 in) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  griddepcontrol.wait;
  ld.global.u32 %r1, [%rd2];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry count(.param .u64 counter) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [counter];
  red.relaxed.gpu.global.add.u32 [%rd1], 1;
  ret;
}

.visible .entry scale_of(.param .u64 out) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  ld.global.u32 %r1, [scale];
  st.global.u32 [%rd1], %r1;
  ret;
}

// Takes 16 bytes by cp.async.
.visible .entry takes_async(.param .u64 in) {
  .reg .b64 %rd<2>;
  .shared .align 16 .b8 tile[16];
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [in];
  mov.u32 %r1, tile;
  cp.async.ca.shared.global [%r1], [%rd1], 16;
  cp.async.wait_all;
  ret;
}

// Writes *out, then sets *flag; waits for *flag, then reads *in.
.visible .entry sets_flag(.param .u64 out, .param .u64 flag) {
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [flag];
  st.global.u32 [%rd1], 1;
  st.release.sys.global.u32 [%rd2], 1;
  ret;
}
.visible .entry awaits_flag(.param .u64 in, .param .u64 flag) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  .reg .pred %p;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [flag];
again:
  ld.acquire.sys.global.u32 %r1, [%rd2];
  setp.ne.u32 %p, %r1, 1;
  @%p bra again;
  ld.global.u32 %r1, [%rd1];
  ret;
}
)";

constexpr uint32_t kThreads = 32;

template <class T>
T must(Result<T, Error> result) {
  if (!result)
    throw std::runtime_error(result.error().text);
  return *std::move(result);
}

// What the programs below are made of.
struct Program {
  Device device = must(Device::open("cpu", {.check_streams = true}));
  Module module = must(device.load_ptx(kPtx, {.name = "streams.ptx"}));
  Stream a = device.create_stream(), b = device.create_stream(), c = device.create_stream();
  Stream aside = device.create_stream({.non_blocking = true});
  Buffer x = must(device.allocate(1024, {.name = "x"})), y = must(device.allocate(1024, {.name = "y"})),
         z = must(device.allocate(1024, {.name = "z"}));
  std::array<std::byte, 4 * kThreads> host{};

  void launch(const Stream& stream, const std::string& name, const std::vector<Argument>& arguments,
              bool programmatic = false) {
    const uint32_t threads = name == "add_one" ? kThreads : 1;
    const auto given =
        stream.launch(*module.kernel(name), {.block = {threads}, .programmatic = programmatic}, arguments);
    EXPECT_TRUE(given) << given.error().text;
  }
  void add_one(const Stream& stream, uint64_t out, uint64_t in) { launch(stream, "add_one", {out, in}); }
  void write(const Stream& stream, const Buffer& to) { EXPECT_TRUE(stream.write(to.address(), host)); }
  void read(const Stream& stream, const Buffer& from) { EXPECT_TRUE(stream.read(from.address(), host)); }
  static void after(const Stream& later, const Event& earlier) { EXPECT_TRUE(later.wait(earlier)); }
  static void after(const Stream& later, const Stream& earlier) { after(later, *earlier.record()); }
  static void finish(const Stream& stream) { EXPECT_TRUE(stream.synchronize()); }
};

// `fixed`: the twin.
struct Case {
  const char* name;
  std::function<void(Program& p, bool fixed)> run;
};

void PrintTo(const Case& planted, std::ostream* out) {
  *out << planted.name;
}

const Case kCases[] = {
    {"ReadWithoutEvent",
     [](Program& p, bool fixed) {
       p.add_one(p.a, p.x.address(), p.y.address());
       if (fixed)
         p.after(p.b, p.a);
       p.add_one(p.b, p.z.address(), p.x.address());
     }},
    {"BothWrite",
     [](Program& p, bool fixed) {
       p.add_one(p.a, p.x.address(), p.y.address());
       if (fixed)
         p.after(p.b, p.a);
       p.add_one(p.b, p.x.address(), p.z.address());
     }},
    {"KernelBeforeItsInputIsThere",
     [](Program& p, bool fixed) {
       p.write(p.a, p.x);
       if (fixed)
         p.after(p.b, p.a);
       p.add_one(p.b, p.y.address(), p.x.address());
     }},
    {"ResultCopiedTooEarly",
     [](Program& p, bool fixed) {
       p.add_one(p.a, p.x.address(), p.y.address());
       if (fixed)
         p.after(p.b, p.a);
       p.read(p.b, p.x);
     }},
    {"ResultReadByTheHostTooEarly",
     [](Program& p, bool fixed) {
       p.add_one(p.aside, p.x.address(), p.y.address());
       if (fixed)
         p.finish(p.aside);
       EXPECT_TRUE(p.x.copy_to(p.host));
     }},
    {"InputWrittenByTheHostTooEarly",
     [](Program& p, bool fixed) {
       p.add_one(p.aside, p.x.address(), p.y.address());
       if (fixed)
         p.finish(p.aside);
       EXPECT_TRUE(p.y.copy_from(p.host));
     }},
    {"FillAndKernel",
     [](Program& p, bool fixed) {
       EXPECT_TRUE(p.a.fill(p.x.address(), p.x.size_bytes(), 1));
       if (fixed)
         p.finish(p.a);
       p.add_one(p.b, p.y.address(), p.x.address());
     }},
    {"SourceOfACopyOverwritten",
     [](Program& p, bool fixed) {
       EXPECT_TRUE(p.a.copy(p.y.address(), p.x.address(), 64));
       if (fixed)
         p.after(p.b, p.a);
       p.add_one(p.b, p.x.address(), p.z.address());
     }},
    {"FreedBesideItsUse", // behind it in time, by luck
     [](Program& p, bool fixed) {
       Buffer given = must(p.a.allocate(1024, {.name = "given"}));
       p.after(p.b, p.a);
       p.add_one(p.b, given.address(), p.y.address());
       std::atomic<bool> is_used{false};
       EXPECT_TRUE(p.b.call([&] { is_used = true; }));
       while (!is_used)
         std::this_thread::yield();
       if (fixed)
         p.after(p.a, p.b);
       EXPECT_TRUE(p.a.free(std::move(given)));
     }},
    {"EventRecordedTooEarly",
     [](Program& p, bool fixed) {
       Event event = *p.a.record();
       p.add_one(p.a, p.x.address(), p.y.address());
       if (fixed)
         event = *p.a.record();
       p.after(p.b, event);
       p.add_one(p.b, p.z.address(), p.x.address());
     }},
    {"TheWrongStreamWaits",
     [](Program& p, bool fixed) {
       p.add_one(p.a, p.x.address(), p.y.address());
       p.after(fixed ? p.b : p.c, p.a);
       p.add_one(p.b, p.z.address(), p.x.address());
     }},
    {"WaitsAfterTheLaunch",
     [](Program& p, bool fixed) {
       p.add_one(p.a, p.x.address(), p.y.address());
       const Event event = *p.a.record();
       if (fixed)
         p.after(p.b, event);
       p.add_one(p.b, p.z.address(), p.x.address());
       p.after(p.b, event);
     }},
    {"BufferRefilledWhileItIsRead",
     [](Program& p, bool fixed) {
       for (int i = 0; i < 4; ++i) {
         Buffer& buffer = i % 2 ? p.y : p.x;
         if (fixed && i >= 2)
           p.after(p.a, p.b);
         p.write(p.a, buffer);
         p.after(p.b, p.a);
         p.add_one(p.b, p.z.address(), buffer.address());
       }
     }},
    {"EventOfTheRoundBefore",
     [](Program& p, bool fixed) {
       Event event = *p.a.record();
       for (int i = 0; i < 3; ++i) {
         const Event before = event;
         p.add_one(p.a, p.x.address() + static_cast<uint64_t>(i) * 128, p.y.address());
         event = *p.a.record();
         p.after(p.b, fixed ? event : before);
         p.add_one(p.b, p.z.address(), p.x.address() + static_cast<uint64_t>(i) * 128);
       }
     }},
    {"NonBlockingBesideTheDefaultStream",
     [](Program& p, bool fixed) {
       p.add_one(p.device.default_stream(), p.x.address(), p.y.address());
       p.add_one(fixed ? p.b : p.aside, p.z.address(), p.x.address());
     }},
    {"TwoThreadsDefaultStreams",
     [](Program& p, bool fixed) {
       const auto work = [&] {
         const Stream own = p.device.thread_default_stream();
         p.add_one(own, p.x.address(), p.y.address());
         if (fixed)
           p.finish(own);
       };
       std::thread(work).join();
       work();
     }},
    {"ProgrammaticWithoutWait",
     [](Program& p, bool fixed) {
       p.launch(p.a, "add_one", {p.x, p.y});
       p.launch(p.a, fixed ? "add_one_after" : "add_one", {p.z, p.x}, true);
     }},
    {"OneBranchNotJoined",
     [](Program& p, bool fixed) {
       p.after(p.b, p.a);
       p.after(p.c, p.a);
       p.add_one(p.b, p.x.address(), p.z.address());
       p.add_one(p.c, p.x.address() + 128, p.z.address());
       p.after(p.a, p.b);
       if (fixed)
         p.after(p.a, p.c);
       EXPECT_TRUE(p.a.copy(p.y.address(), p.x.address(), 256));
     }},
    {"SlicesOverlapByOneElement",
     [](Program& p, bool fixed) {
       p.add_one(p.a, p.x.address(), p.y.address());
       p.add_one(p.b, p.x.address() + (fixed ? 128 : 124), p.y.address());
     }},
    {"AtomicsAndAPlainRead",
     [](Program& p, bool fixed) {
       p.launch(p.a, "count", {p.x});
       if (fixed)
         p.launch(p.b, "count", {p.x});
       else
         p.add_one(p.b, p.z.address(), p.x.address());
     }},
    {"ModuleVariable",
     [](Program& p, bool fixed) {
       EXPECT_TRUE(p.a.write(p.module.variable("scale")->address, std::span(p.host).first(4)));
       if (fixed)
         p.after(p.b, p.a);
       p.launch(p.b, "scale_of", {p.x});
     }},
    {"MemoryThatTheHostSees",
     [](Program& p, bool fixed) {
       p.x = must(p.device.allocate(1024, {.name = "shared", .host_shared = true}));
       p.add_one(p.a, p.x.address(), p.y.address());
       if (fixed)
         p.after(p.b, p.a);
       p.add_one(p.b, p.z.address(), p.x.address());
     }},
    {"AsynchronousCopyOfTheKernels",
     [](Program& p, bool fixed) {
       p.launch(p.a, "takes_async", {p.x});
       if (fixed)
         p.after(p.b, p.a);
       p.write(p.b, p.x);
     }},
    {"TheWrongStreamSynchronized",
     [](Program& p, bool fixed) {
       p.add_one(p.a, p.x.address(), p.y.address());
       p.finish(fixed ? p.a : p.c);
       p.add_one(p.b, p.z.address(), p.x.address());
     }},
    {"BetweenRowsThatTheHostWrites",
     [](Program& p, bool fixed) {
       const auto write_rows = [&p](const MemoryInTurn& memory) {
         return memory.write(p.x.address(), p.host, p.host.size() / 2, 256);
       };
       EXPECT_TRUE(p.a.compute("a product", write_rows));
       p.add_one(p.b, p.x.address() + (fixed ? 128 : 256), p.y.address());
     }},
    {"NotAskedWhetherItIsDone",
     [](Program& p, bool fixed) {
       p.add_one(p.a, p.x.address(), p.y.address());
       const Event event = *p.a.record();
       while (fixed && !event.is_done())
         std::this_thread::yield();
       p.add_one(p.b, p.z.address(), p.x.address());
     }},
};

class StreamChecks : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Planted, StreamChecks, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(StreamChecks, AreNamed) {
  Program p;
  GetParam().run(p, false);
  EXPECT_TRUE(p.device.synchronize());
  const std::vector<Finding> findings = p.device.stream_findings();
  ASSERT_FALSE(findings.empty());
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.id, "stream.race");
    EXPECT_FALSE(finding.is_note) << finding.rendered;
    EXPECT_TRUE(finding.earlier);
  }
}

TEST_P(StreamChecks, AreSilentWhereTheyAreOrdered) {
  Program p;
  GetParam().run(p, true);
  EXPECT_TRUE(p.device.synchronize());
  for (const Finding& finding : p.device.stream_findings())
    ADD_FAILURE() << finding.rendered;
}

TEST(StreamFindings, SayWhatWhereAndWhatIsMissing) {
  Program p;
  p.add_one(p.a, p.x.address() + 64, p.y.address());
  EXPECT_TRUE(p.a.synchronize());
  EXPECT_TRUE(p.aside.write(p.x.address() + 128, std::span(p.host).first(8))); // the host has waited
  p.add_one(p.b, p.z.address(), p.x.address() + 124);
  EXPECT_TRUE(p.device.synchronize());
  const std::vector<Finding> findings = p.device.stream_findings();
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings.front();
  EXPECT_NE(finding.message.find("(8 bytes, one writes)"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("kernel add_one"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("copy to the device"), std::string::npos) << finding.message;
  EXPECT_EQ(finding.memory, "x + 0x80");
  EXPECT_NE(finding.fix.find("an event"), std::string::npos) << finding.fix;
  EXPECT_EQ(finding.kernel, "add_one");
  EXPECT_TRUE(p.device.stream_findings().empty());
}

// What one stream has done with memory that it has freed is no concern of what another does there later.
TEST(StreamFindings, AnAddressThatIsUsedAgainIsOtherMemory) {
  Program p;
  const Stream first = p.device.create_stream({.non_blocking = true});
  Buffer old = must(first.allocate(64, {.name = "old"}));
  const uint64_t address = old.address();
  EXPECT_TRUE(first.fill(address, 64, 1));
  std::atomic<bool> is_freed{false}; // the host does not wait for the stream
  EXPECT_TRUE(first.free(std::move(old), [&] { is_freed = true; }));
  while (!is_freed)
    std::this_thread::yield();
  Buffer again;
  for (int i = 0; i < 10000 && again.address() != address; ++i)
    again = must(p.device.allocate(64, {.name = "again"}));
  ASSERT_EQ(again.address(), address);
  EXPECT_TRUE(p.aside.fill(address, 64, 2));
  EXPECT_TRUE(p.device.synchronize());
  for (const Finding& finding : p.device.stream_findings())
    ADD_FAILURE() << finding.rendered;
}

TEST(StreamFindings, AFlagMakesThemNotes) {
  Program p;
  p.launch(p.a, "sets_flag", {p.x, p.y});
  p.launch(p.b, "awaits_flag", {p.x, p.y});
  EXPECT_TRUE(p.device.synchronize());
  const std::vector<Finding> findings = p.device.stream_findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(findings.front().is_note) << findings.front().rendered;
}

TEST(StreamFindings, AreNotMadeUnlessAskedFor) {
  const Device device = *Device::open("cpu");
  const Module module = *device.load_ptx(kPtx);
  const Buffer x = *device.allocate(128);
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(device.create_stream().launch(*module.kernel("add_one"), {.block = {kThreads}}, {x, x}));
  EXPECT_TRUE(device.synchronize());
  EXPECT_TRUE(device.stream_findings().empty());
}

} // namespace
} // namespace lemma
