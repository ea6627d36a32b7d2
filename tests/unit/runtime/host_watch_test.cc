// What the host does with memory that kernels use: programs that do not wait, each with a twin that does or
// that touches other bytes. And what a watched page costs nobody: addresses, contents, faults that are the
// program's.
#include "lemma/lemma.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace lemma {
namespace {

constexpr const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64

// out[i] = in[i] + 1, for each of 32 threads.
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
// Writes *out, sets *flag, and waits until *answer is set.
.visible .entry tells(.param .u64 out, .param .u64 flag, .param .u64 answer) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  .reg .pred %p;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [flag];
  ld.param.u64 %rd3, [answer];
  st.global.u32 [%rd1], 41;
  st.release.sys.global.u32 [%rd2], 1;
again:
  ld.acquire.sys.global.u32 %r1, [%rd3];
  setp.eq.u32 %p, %r1, 0;
  @%p bra again;
  ret;
}
.visible .entry adds(.param .u64 counter) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [counter];
  red.relaxed.sys.global.add.u32 [%rd1], 1;
  ret;
}
)";

struct Program {
  Device device = *Device::open("cpu", {.check_streams = true});
  Module module = *device.load_ptx(kPtx, {.name = "host.ptx"});
  Stream a = device.create_stream({.non_blocking = true}), b = device.create_stream({.non_blocking = true});
  Buffer shared = *device.allocate(8192, {.name = "shared", .host_shared = true});
  Buffer flags = *device.allocate(64, {.name = "flags", .host_shared = true});
  Buffer own = *device.allocate(8192, {.name = "own"});

  volatile uint32_t* words() const { return reinterpret_cast<volatile uint32_t*>(shared.address()); }
  void launch(const Stream& stream, const char* name, const std::vector<Argument>& arguments) const {
    const uint32_t threads = std::string(name) == "add_one" ? 32 : 1;
    ASSERT_TRUE(stream.launch(*module.kernel(name), {.block = {threads}}, arguments));
  }
  static std::atomic_ref<uint32_t> flag(const Buffer& buffer, size_t index) {
    return std::atomic_ref(reinterpret_cast<uint32_t*>(buffer.address())[index]);
  }
};

struct Case {
  const char* name;
  std::function<void(Program&, bool fixed)> run;
  const char* says; // of the host's access
};

void PrintTo(const Case& planted, std::ostream* out) {
  *out << planted.name;
}

const Case kCases[] = {
    {"reads_a_result_too_early",
     [](Program& p, bool fixed) {
       p.launch(p.a, "add_one", {p.shared, p.own});
       if (fixed) {
         ASSERT_TRUE(p.a.synchronize());
       }
       (void)p.words()[3];
     },
     "the host reads at"},
    {"writes_an_argument_too_early",
     [](Program& p, bool fixed) {
       p.launch(p.a, "add_one", {p.own, p.shared});
       p.words()[fixed ? 1000 : 3] = 5; // another page
     },
     "the host writes at"},
    {"writes_beside_it",
     [](Program& p, bool fixed) {
       p.launch(p.a, "add_one", {p.own, p.shared});
       p.words()[fixed ? 32 : 31] = 5; // of the same page
     },
     "the host writes at"},
    {"overwrites_a_result",
     [](Program& p, bool fixed) {
       p.launch(p.a, "add_one", {p.shared, p.own});
       if (fixed) {
         ASSERT_TRUE(p.a.record()->synchronize());
       }
       p.words()[0] = 5;
     },
     "the host writes at"},
    {"waits_for_another_stream",
     [](Program& p, bool fixed) {
       p.launch(p.a, "add_one", {p.shared, p.own});
       p.launch(p.b, "add_one", {p.own.address() + 4096, p.own});
       ASSERT_TRUE((fixed ? p.a : p.b).synchronize());
       (void)p.words()[0];
     },
     "the host reads at"},
    {"reads_what_a_copy_writes",
     [](Program& p, bool fixed) {
       ASSERT_TRUE(p.a.copy(p.shared.address(), p.own.address(), 256));
       if (fixed) {
         ASSERT_TRUE(p.device.synchronize());
       }
       (void)p.words()[63];
     },
     "the host reads at"},
    {"reads_and_then_writes",
     [](Program& p, bool fixed) {
       p.launch(p.a, "add_one", {p.own, p.shared});
       (void)p.words()[0]; // as the kernel does
       if (fixed) {
         ASSERT_TRUE(p.a.synchronize());
       }
       p.words()[1] = 7;
     },
     "the host writes at"},
    {"asks_whether_it_is_done",
     [](Program& p, bool fixed) {
       p.launch(p.a, "add_one", {p.shared, p.own});
       while (!p.a.is_done())
         ;
       if (!fixed)
         p.launch(p.a, "add_one", {p.shared, p.own});
       (void)p.words()[0];
     },
     "the host reads at"},
    {"is_told_by_a_function",
     [](Program& p, bool fixed) {
       std::atomic<bool> told{false};
       if (fixed)
         p.launch(p.a, "add_one", {p.shared, p.own});
       ASSERT_TRUE(p.a.call([&] { told = true; }));
       if (!fixed)
         p.launch(p.a, "add_one", {p.shared, p.own});
       while (!told)
         ;
       (void)p.words()[0];
     },
     "the host reads at"},
};

std::string findings_of(const Case& test, bool fixed, bool notes = false) {
  Program program;
  test.run(program, fixed);
  EXPECT_TRUE(program.device.synchronize());
  std::string all;
  for (const Finding& finding : program.device.stream_findings())
    if (notes || !finding.is_note)
      all += finding.rendered;
  return all;
}

class HostWatch : public testing::TestWithParam<Case> {};

TEST_P(HostWatch, NamesWhatIsNotWaitedFor) {
  const std::string said = findings_of(GetParam(), false);
  EXPECT_NE(said.find("error[stream.race]: the host and "), said.npos) << said;
  EXPECT_NE(said.find(GetParam().says), said.npos) << said;
  EXPECT_NE(said.find("runtime_test"), said.npos) << said; // whose instruction it is
  EXPECT_NE(said.find("at shared + 0x"), said.npos) << said;
}

TEST_P(HostWatch, IsSilentOfItsTwin) {
  EXPECT_EQ("", findings_of(GetParam(), true, true));
}

INSTANTIATE_TEST_SUITE_P(All, HostWatch, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// The kernel has written, says so, and goes on running.
TEST(HostWatchFlags, MayBeTheOrder) {
  Program p;
  p.launch(p.a, "tells", {p.shared, p.flags, p.flags.address() + 4});
  while (Program::flag(p.flags, 0).load() == 0)
    ;
  EXPECT_EQ(41u, p.words()[0]);
  Program::flag(p.flags, 1).store(1);
  EXPECT_TRUE(p.a.synchronize());
  for (const Finding& finding : p.device.stream_findings())
    EXPECT_TRUE(finding.is_note) << finding.rendered;
}

// Both by atomics: nobody can tell the host's from a plain one, so neither is named.
TEST(HostWatchFlags, CountersAreShared) {
  Program p;
  for (int i = 0; i < 3; ++i) {
    p.launch(p.a, "adds", {p.flags});
    Program::flag(p.flags, 0).fetch_add(1);
  }
  EXPECT_TRUE(p.device.synchronize());
  EXPECT_EQ(6u, Program::flag(p.flags, 0).load());
  for (const Finding& finding : p.device.stream_findings())
    EXPECT_TRUE(finding.is_note) << finding.rendered;
}

TEST(HostWatchMemory, IsTheSameForBothSides) {
  Program p;
  for (uint32_t i = 0; i < 32; ++i)
    p.words()[i] = i;
  p.launch(p.a, "add_one", {p.shared.address() + 4096, p.shared});
  ASSERT_TRUE(p.a.synchronize());
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(i + 1, p.words()[1024 + i]);
  uint32_t copied = 0;
  ASSERT_TRUE(p.shared.copy_to(std::as_writable_bytes(std::span(&copied, 1)), 4096 + 12));
  EXPECT_EQ(4u, copied);
}

// A copy that several threads make is the stream's on each of them.
TEST(HostWatchMemory, CopiesByStreamsAreNotTheHosts) {
  Program p;
  constexpr uint64_t kBytes = 32 << 20;
  const Buffer from = *p.device.allocate(kBytes), to = *p.device.allocate(kBytes, {.host_shared = true});
  ASSERT_TRUE(p.a.fill(from.address(), kBytes, 7));
  ASSERT_TRUE(p.a.fill(to.address(), kBytes, 1));
  ASSERT_TRUE(p.a.read(from.address(), {reinterpret_cast<std::byte*>(to.address()), kBytes}));
  ASSERT_TRUE(p.device.synchronize());
  for (const Finding& finding : p.device.stream_findings())
    ADD_FAILURE() << finding.rendered;
  EXPECT_EQ(0x07070707u, reinterpret_cast<const uint32_t*>(to.address())[kBytes / 4 - 1]);
}

TEST(HostWatchMemory, ComesAndGoes) {
  Program p;
  for (int i = 0; i < 200; ++i) {
    Buffer more = *p.device.allocate(10000, {.host_shared = true});
    p.launch(p.a, "add_one", {more, p.own});
    EXPECT_TRUE(p.a.synchronize());
    more = Buffer();
  }
  EXPECT_TRUE(p.device.stream_findings().empty());
}

// A fault that is nobody's but the program's is so still.
TEST(HostWatchDeathTest, LeavesTheProgramItsFaults) {
  EXPECT_DEATH(
      {
        Program p;
        p.launch(p.a, "add_one", {p.shared, p.own});
        void* closed = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *static_cast<volatile int*>(closed) = 1;
      },
      "");
  EXPECT_DEATH(
      {
        Program p;
        const uint64_t address = p.shared.address();
        p.shared = Buffer();
        *reinterpret_cast<volatile int*>(address) = 1;
      },
      "");
}

// A page that nobody has touched is unwritten; one that the host has is written, and so is the rest of it.
TEST(HostWatch, TellsWhatNobodyHasWritten) {
  const Program program;
  constexpr uint64_t kPages = 4;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const Buffer shared = *program.device.allocate(kPages * page, {.poisoned = true, .host_shared = true});
  const auto unwritten = [&](uint64_t in) {
    const auto report = program.module.kernel("add_one")->launch(
        {.block = {32}}, {Argument(program.own), Argument(shared.address() + in)});
    EXPECT_TRUE(report && report->ok());
    return report->uninitialized_reads;
  };
  reinterpret_cast<volatile uint32_t*>(shared.address() + page)[7] = 7;
  EXPECT_EQ(unwritten(page), 0u);
  EXPECT_GT(unwritten(2 * page), 0u);
  ASSERT_TRUE(program.device.fill(shared.address() + 3 * page, 128, 1));
  EXPECT_EQ(unwritten(3 * page), 0u);
  EXPECT_EQ(reinterpret_cast<volatile uint32_t*>(shared.address())[0], 0u); // zeros stand there
}

} // namespace
} // namespace lemma
