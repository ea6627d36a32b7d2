// Launches of random small kernels while other host threads allocate, free, copy and register memory: what
// the running kernels use and nobody takes away holds what they have written, what may go meanwhile is there
// or a fault that says so. Under ThreadSanitizer (sanitized.vgpu of the preset tsan) every access of the
// host's and of the kernels' is watched; a kernel's own race is none of its findings, for what a program may
// race on is read and written by relaxed atomics there (racing_copy.h).
#include "vgpu/memory/memory.h"

#include "isa/target.h"
#include "ptx/parser.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/launch_check.h"
#include "vgpu/engine/scheduler.h"
#include "vgpu/memory/racing_copy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kBytes = 4096; // of an allocation, or more
constexpr uint32_t kBlock = 64, kGrid = 2;
constexpr int kKernels = 48, kLaunchers = 2, kChurners = 2, kSlots = 24;

// LEMMA_LAUNCHES: how many launches; 10^6 under ThreadSanitizer are for scripts/test_long.sh.
uint64_t launches() {
  const char* many = std::getenv("LEMMA_LAUNCHES");
  return many ? std::strtoull(many, nullptr, 10) : 1500;
}

// --- The kernels ---

// Statements that access memory from parameter `base` on. Parameter 0 is the launch's own memory.
std::string random_access(std::mt19937_64& random, int base) {
  static constexpr const char* kLanes[] = {
      "mul.wide.u32 %a, %t, {};", // side by side
      "mov.u64 %a, 512;",
      "mad.lo.u32 %r9, %t, 11, 3; and.b32 %r9, %r9, 63; mul.wide.u32 %a, %r9, 32;", // scattered
      "and.b32 %r9, %t, 3; mul.wide.u32 %a, %r9, 1008;",                            // few places
  };
  struct Statement {
    const char* text;
    int bytes;
  };
  static constexpr Statement kAccesses[] = {
      {"ld{}.u32 %r1, [%a];", 4},
      {"ld.relaxed.gpu{}.u32 %r1, [%a];", 4},
      {"ld{}.u8 %r2, [%a];", 1},
      {"ld{}.v2.u32 {{%r1, %r2}}, [%a];", 8},
      {"ld{}.v4.u32 {{%r1, %r2, %r3, %r4}}, [%a];", 16},
      {"st{}.u32 [%a], %r1;", 4},
      {"st{}.u16 [%a], %h;", 2},
      {"st{}.v4.u32 [%a], {{%r1, %r2, %r3, %r4}};", 16},
      {"atom{}.add.u32 %r5, [%a], %t;", 4},
      {"atom{}.cas.b64 %x1, [%a], %x1, %x2;", 8},
      {"red{}.max.u32 [%a], %t;", 4},
      {"cp.async.ca.shared.global [%s], [%a], 16; cp.async.wait_all;", 16},
      {"ld{}.v4.u32 {{%r1, %r2, %r3, %r4}}, [%a]; st.shared.v4.u32 [%s], {{%r1, %r2, %r3, %r4}};", 16},
  };
  const Statement& access = kAccesses[random() % std::size(kAccesses)];
  const std::string lanes = fmt::format(fmt::runtime(kLanes[random() % std::size(kLanes)]), access.bytes);
  std::string text = fmt::format(fmt::runtime(access.text), random() % 2 ? ".global" : "");
  // All lanes, half of them, or of the warps; of each statement.
  const std::string guard = random() % 3 ? "" : random() % 2 ? "@%odd " : "@%second ";
  if (const size_t second = text.find("; "); second != text.npos)
    text.insert(second + 2, guard);
  return fmt::format("  {} add.u64 %a, %a, %p{};\n  {}{}\n", lanes, base, guard, text);
}

// Kernels k0, k1 ...: each thread adds 1 to the first word of the launch's own memory, accesses memory some
// times, and adds 1 to the second word. `safe`: only its own.
std::string module_text(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text = ".version 8.6\n.target sm_90a\n.address_size 64\n";
  for (int k = 0; k < kKernels; ++k) {
    text += fmt::format(R"(
.visible .entry k{}(.param .u64 own, .param .u64 shared, .param .u64 host, .param .u64 goes) {{
  .reg .b64 %p<4>, %a, %x<3>; .reg .b32 %t, %r<10>, %s; .reg .b16 %h; .reg .pred %odd, %second;
  .shared .align 16 .b8 tile[1024];
  ld.param.u64 %p0, [own]; ld.param.u64 %p1, [shared]; ld.param.u64 %p2, [host]; ld.param.u64 %p3, [goes];
  mov.u32 %t, %tid.x; and.b32 %r1, %t, 1; setp.eq.u32 %odd, %r1, 1; setp.ge.u32 %second, %t, 32;
  mov.u32 %s, tile; mad.lo.u32 %s, %t, 16, %s; mov.b16 %h, 7; mov.b64 %x1, 1; mov.b64 %x2, 2;
  mov.b32 %r2, 2; mov.b32 %r3, 3; mov.b32 %r4, 4;
  red.global.add.u32 [%p0+{}], 1;
)",
                        k, kBytes);
    for (uint64_t count = 2 + random() % 5; count-- > 0;)
      text += random_access(random, static_cast<int>(random() % (k % 3 == 0 ? 3 : 4)));
    text += fmt::format("  red.global.add.u32 [%p0+{}], 1;\n  ret;\n}}\n", kBytes + 4);
  }
  return text;
}

// --- The memory ---

struct Churn {
  GlobalMemory memory;
  // Addresses that come and go; 0: somebody is at work there.
  std::array<std::atomic<uint64_t>, kSlots> slots{};
  std::array<std::vector<std::byte>, 4> host; // registered now and then; as long as all this is there
  std::atomic<bool> ends{false};
  std::atomic<uint64_t> frees{0}, copies{0}, registrations{0};
};

uint64_t allocate(GlobalMemory& memory, std::mt19937_64& random) {
  const uint64_t bytes = kBytes + random() % 9000;
  switch (random() % 4) {
  case 0:
    return memory.allocate_host_shared(bytes, "shared with the host")->base;
  case 1:
    return memory.allocate(bytes, "zeroed")->base;
  default:
    return memory.allocate(bytes, "poisoned", true)->base;
  }
}

// As the host copies: into what is there, or out of it.
void copy(Churn& churn, uint64_t address, std::mt19937_64& random) {
  const GlobalMemory::Users user(churn.memory, 1);
  Allocation* found = churn.memory.find(address);
  if (!found)
    return;
  std::array<std::byte, 256> bytes{};
  const uint64_t offset = random() % (kBytes - bytes.size());
  if (random() % 2) {
    copy_racing(found->host + offset, bytes.data(), bytes.size());
    if (found->init)
      found->init->set(offset, bytes.size());
  } else {
    copy_racing(bytes.data(), found->host + offset, bytes.size());
    if (found->init)
      found->init->all_set(offset, bytes.size());
  }
  ++churn.copies;
}

void change(Churn& churn, uint64_t seed) {
  std::mt19937_64 random(seed);
  while (!churn.ends.load(std::memory_order_relaxed)) {
    std::atomic<uint64_t>& slot = churn.slots[random() % kSlots];
    switch (random() % 4) {
    case 0: { // what kernels may be using
      const uint64_t was = slot.exchange(0);
      if (was == 0)
        break;
      EXPECT_TRUE(churn.memory.free(was));
      slot.store(allocate(churn.memory, random));
      ++churn.frees;
      break;
    }
    case 1: { // what nobody else knows
      const uint64_t own = allocate(churn.memory, random);
      copy(churn, own, random);
      EXPECT_TRUE(churn.memory.free(own));
      ++churn.frees;
      break;
    }
    case 2: {
      std::vector<std::byte>& host = churn.host[random() % churn.host.size()];
      churn.memory.register_host(host.data(), host.size(), "registered", false);
      EXPECT_TRUE(churn.memory.unregister_host(reinterpret_cast<uintptr_t>(host.data())));
      ++churn.registrations;
      break;
    }
    default:
      copy(churn, slot.load(), random);
    }
  }
}

// --- The launches ---

struct Counts {
  uint64_t well = 0, faults = 0;
};

void launch(Churn& churn, const Program& program, uint64_t common, uint64_t many, uint64_t seed,
            Counts& counts) {
  std::mt19937_64 random(seed);
  const Allocation* own = churn.memory.allocate(kBytes + 8, "own");
  const auto word = [&](uint64_t index) {
    uint32_t value = 0;
    std::memcpy(&value, own->host + kBytes + 4 * index, sizeof value);
    return value;
  };
  for (uint64_t i = 0; i < many && !testing::Test::HasFailure(); ++i) {
    const uint64_t kernel = random() % kKernels;
    const bool is_safe = kernel % 3 == 0;
    const bool is_registered = random() % 2;
    const std::vector<std::byte>& host = churn.host[random() % churn.host.size()];
    // Safe kernels use the third parameter, too: it is memory that stays.
    const uint64_t arguments[] = {
        own->base, common, is_safe || !is_registered ? common : reinterpret_cast<uintptr_t>(host.data()),
        churn.slots[random() % kSlots].load()};
    std::vector<std::byte> params(sizeof arguments);
    std::memcpy(params.data(), arguments, sizeof arguments);
    const LaunchConfig config{
        .grid = {kGrid, 1, 1}, .block = {kBlock, 1, 1}, .workers = 1 + static_cast<uint32_t>(random() % 2)};
    const uint32_t begun = word(0), ended = word(1);
    const Report report =
        run_launch(program, *program.find(fmt::format("k{}", kernel)), churn.memory, config, params);
    counts.well += report.ok();
    counts.faults += !report.ok();
    if (report.ok()) {
      EXPECT_EQ(word(0), begun + kGrid * kBlock);
      EXPECT_EQ(word(1), ended + kGrid * kBlock);
    } else {
      EXPECT_FALSE(is_safe) << report.fault->message;
      ASSERT_TRUE(report.fault);
      EXPECT_EQ(report.fault->kind, FaultKind::out_of_bounds) << report.fault->message;
    }
  }
}

TEST(MemoryChurn, ALaunchEndsWellOrByAFaultWhateverOthersDoMeanwhile) {
  Churn churn;
  std::mt19937_64 random(1);
  for (std::atomic<uint64_t>& slot : churn.slots)
    slot = allocate(churn.memory, random);
  for (std::vector<std::byte>& host : churn.host)
    host.resize(2 * kBytes);
  const uint64_t common = churn.memory.allocate(2 * kBytes, "common")->base;
  auto source = std::make_shared<SourceText>("churn.ptx", module_text(2));
  ptx::ParseOutcome parsed = ptx::parse(source);
  ASSERT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *source);
  const auto program = Program::load(std::move(parsed.module), churn.memory, Arch{.sm = 90});
  ASSERT_TRUE(program.ok());

  std::vector<std::thread> churners, launchers;
  std::array<Counts, kLaunchers> counts;
  for (uint64_t i = 0; i < kChurners; ++i)
    churners.emplace_back([&churn, i] { change(churn, 10 + i); });
  for (uint64_t i = 0; i < kLaunchers; ++i)
    launchers.emplace_back(
        [&, i] { launch(churn, **program, common, launches() / kLaunchers, 20 + i, counts[i]); });
  for (std::thread& launcher : launchers)
    launcher.join();
  churn.ends = true;
  for (std::thread& churner : churners)
    churner.join();

  Counts all;
  for (const Counts& count : counts) {
    all.well += count.well;
    all.faults += count.faults;
  }
  if (std::getenv("LEMMA_LAUNCHES"))
    fmt::print("{} launches ended well, {} by a fault, beside {} frees, {} copies, {} registrations\n",
               all.well, all.faults, churn.frees.load(), churn.copies.load(), churn.registrations.load());
  EXPECT_GT(all.well, launches() / 10);
  EXPECT_GT(all.faults, 0u);
}

} // namespace
} // namespace lemma::vgpu
