// A launch watched through the public API: what is told, by which threads, and what an observer may not do.
#include "lemma/lemma.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

namespace lemma {
namespace {

// Of each thread: 4 bytes from global to shared memory by cp.async, a barrier, back to global memory by the
// odd lanes; the first thread of a CTA arrives at an mbarrier. Line 19 is the guarded store.
constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry moves(.param .u64 in, .param .u64 out)
{
  .shared .align 16 .b8 tile[512];
  .shared .align 8 .b64 bar;
  .reg .pred %p, %q;
  .reg .b32 %r<8>;
  .reg .b64 %a, %b, %s;
  ld.param.u64 %a, [in]; ld.param.u64 %b, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile; shl.b32 %r3, %r1, 2;
  cvt.u64.u32 %s, %r3; add.u64 %a, %a, %s; add.u64 %b, %b, %s; add.u32 %r2, %r2, %r3;
  and.b32 %r4, %r1, 1; setp.ne.u32 %p, %r4, 0; setp.eq.u32 %q, %r1, 0;
  cp.async.ca.shared.global [%r2], [%a], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  ld.shared.u32 %r5, [%r2];
  @%p st.global.u32 [%b], %r5;
  @%q bra FIRST;
  ret;
FIRST:
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.shared.b64 %s, [bar];
  atom.shared.add.u32 %r6, [tile], 1;
  ret;
}
.visible .entry other() { ret; }
)";
constexpr uint32_t kThreads = 64, kCtas = 24;

// Keeps all that it is told, under a lock.
class Recorder : public LaunchObserver {
public:
  explicit Recorder(Watch watch = {.ranges = true}) : watch_(watch) {}

  struct Access {
    WarpStep step;
    WatchedAccess access;
    std::vector<uint64_t> addresses;
  };
  std::string kernel, form, place_text;
  uint32_t workers = 0, store = kNoInstruction;
  uint64_t begins = 0, ends = 0, cta_begins_ = 0, cta_ends_ = 0, warps = 0, lanes = 0;
  std::set<uint32_t> seen_workers;
  std::map<uint32_t, uint64_t> lanes_by_line;
  std::vector<Access> accesses_;
  std::map<SyncEvent, uint64_t> syncs;
  std::map<std::string, uint64_t> operations; // "cp.async 0"
  std::vector<MemoryRange> reads, writes;
  std::function<void(const char*)> also; // the name of the function that is called

  Watch watches() const override { return watch_; }
  void launch_begins(const WatchedLaunch& launch) override {
    launch_ = &launch;
    kernel = launch.kernel;
    workers = launch.workers;
    ++begins;
    tell("launch_begins");
  }
  void launch_ends(const WatchedLaunch& launch) override {
    ++ends;
    for (uint32_t i = 0; i < launch.instructions; ++i)
      if (launch.place(i).ptx_line == 19)
        store = i;
    form = launch.form(store);
    place_text = launch.place(store).instruction;
    EXPECT_EQ(launch.place(launch.instructions).ptx_line, 0u);
    tell("launch_ends");
  }
  void cta_begins(const WatchedCta& cta) override {
    const std::lock_guard lock(mutex_);
    ++cta_begins_;
    seen_workers.insert(cta.worker);
    tell("cta_begins");
  }
  void cta_ends(const WatchedCta& cta) override {
    const std::lock_guard lock(mutex_);
    ++cta_ends_;
    seen_workers.insert(cta.worker);
    tell("cta_ends");
  }
  void executes(const WarpStep& step) override {
    const std::lock_guard lock(mutex_);
    ++warps;
    lanes += static_cast<uint64_t>(std::popcount(step.lanes));
    lanes_by_line[launch_->place(step.instruction).ptx_line] +=
        static_cast<uint64_t>(std::popcount(step.lanes));
    seen_workers.insert(step.worker);
    tell("executes");
  }
  void accesses(const WarpStep& step, const WatchedAccess& access) override {
    const std::lock_guard lock(mutex_);
    accesses_.push_back({step, access, {access.addresses, access.addresses + 32}});
    tell("accesses");
  }
  void synchronizes(const WarpStep& step, const WatchedSync& sync) override {
    const std::lock_guard lock(mutex_);
    ++syncs[sync.event];
    EXPECT_EQ(step.instruction == kNoInstruction, sync.event == SyncEvent::barrier_complete);
    tell("synchronizes");
  }
  void operates(const WarpStep& step, const WatchedOperation& operation) override {
    const std::lock_guard lock(mutex_);
    ++operations[fmt::format("{} {}", operation.kind, static_cast<int>(operation.event))];
    EXPECT_EQ(std::popcount(step.lanes), 1);
    if (operation.event == OperationEvent::issued) {
      reads.insert(reads.end(), operation.reads.begin(), operation.reads.end());
      writes.insert(writes.end(), operation.writes.begin(), operation.writes.end());
    }
    tell("operates");
  }

private:
  void tell(const char* what) {
    if (also)
      also(what);
  }
  const Watch watch_;
  const WatchedLaunch* launch_ = nullptr;
  std::mutex mutex_;
};

struct Fixture {
  Device device = *Device::open("cpu");
  Kernel kernel = *device.load_ptx(kText, {.name = "moves.ptx"})->kernel("moves");
  Buffer in = *device.allocate(4 * kThreads), out = *device.allocate(4 * kThreads);

  Report run(LaunchObserver* observer, LaunchConfig config = {}) {
    config.grid = {kCtas};
    config.block = {kThreads};
    config.observer = observer;
    auto report = kernel.launch(config, {in, out});
    EXPECT_TRUE(report) << report.error().text;
    return report ? *report : Report{};
  }
};

TEST(Observer, IsToldOfEveryInstruction) {
  Fixture f;
  Recorder recorder;
  const Report report = f.run(&recorder);
  ASSERT_TRUE(report.ok()) << report.rendered;
  EXPECT_EQ(recorder.kernel, "moves");
  EXPECT_EQ(recorder.begins, 1u);
  EXPECT_EQ(recorder.ends, 1u);
  EXPECT_EQ(recorder.cta_begins_, kCtas);
  EXPECT_EQ(recorder.cta_ends_, kCtas);
  EXPECT_EQ(recorder.warps, report.stats.warp_instructions);
  EXPECT_EQ(recorder.lanes, report.stats.lane_instructions);
  EXPECT_EQ(recorder.lanes_by_line[18], kThreads * kCtas);     // ld.shared
  EXPECT_EQ(recorder.lanes_by_line[19], kThreads * kCtas / 2); // the guarded store
  EXPECT_EQ(recorder.lanes_by_line[23], kCtas);                // mbarrier.init
  EXPECT_EQ(recorder.form, "st.global.u32");
  EXPECT_EQ(recorder.place_text, "@%p st.global.u32 [%b], %r5;");
  for (const uint32_t worker : recorder.seen_workers)
    EXPECT_LT(worker, recorder.workers);
}

TEST(Observer, IsToldOfAccessesByLane) {
  Fixture f;
  Recorder recorder;
  ASSERT_TRUE(f.run(&recorder).ok());
  uint64_t stores = 0, loads = 0, atomics = 0;
  for (const Recorder::Access& each : recorder.accesses_) {
    const WatchedAccess& access = each.access;
    if (access.space == MemorySpace::global && access.type == AccessType::write) {
      ++stores;
      EXPECT_EQ(access.pieces, 0xaaaaaaaau);
      EXPECT_EQ(access.piece_bytes, 4u);
      EXPECT_EQ(each.step.instruction, recorder.store);
      for (uint32_t lane = 1; lane < 32; lane += 2)
        EXPECT_EQ(each.addresses[lane], f.out.address() + 4 * (32 * each.step.warp + lane));
    }
    if (access.space == MemorySpace::shared && access.type == AccessType::read) {
      ++loads;
      EXPECT_TRUE(access.by_lane);
      EXPECT_EQ(access.pieces, 0xffffffffu);
      EXPECT_EQ(each.addresses[31] - each.addresses[0], 4u * 31);
      EXPECT_EQ(access.semantics, "weak");
    }
    atomics +=
        access.space == MemorySpace::shared && access.type == AccessType::atomic && access.piece_bytes == 4;
  }
  EXPECT_EQ(stores, kCtas * 2);
  EXPECT_EQ(loads, kCtas * 2);
  EXPECT_EQ(atomics, kCtas);
}

TEST(Observer, IsToldOfSynchronizationAndOperations) {
  Fixture f;
  Recorder recorder;
  ASSERT_TRUE(f.run(&recorder).ok());
  EXPECT_EQ(recorder.syncs[SyncEvent::barrier_arrive], kCtas * 2);
  EXPECT_EQ(recorder.syncs[SyncEvent::barrier_complete], kCtas);
  EXPECT_EQ(recorder.syncs[SyncEvent::group_commit], kCtas * 2);
  EXPECT_EQ(recorder.syncs[SyncEvent::group_wait], kCtas * 2);
  EXPECT_EQ(recorder.syncs[SyncEvent::mbarrier_arrive], kCtas);
  EXPECT_EQ(recorder.syncs[SyncEvent::exit], kCtas * 3); // of the first warp in two parts
  EXPECT_EQ(to_string(SyncEvent::exit), "exit");
  const uint64_t copies = kCtas * kThreads;
  EXPECT_EQ(recorder.operations,
            (std::map<std::string, uint64_t>{
                {"cp.async 0", copies}, {"cp.async 1", copies}, {"cp.async 2", copies}}));
  ASSERT_EQ(recorder.reads.size(), copies);
  ASSERT_EQ(recorder.writes.size(), copies);
  EXPECT_EQ(recorder.reads[0].bytes, 4u);
  EXPECT_LT(recorder.reads[0].address - f.in.address(), f.in.size_bytes());
  EXPECT_EQ(recorder.writes[0].space, MemorySpace::shared);
}

TEST(Observer, IsToldWhatItWatches) {
  Fixture f;
  Recorder recorder(
      {.instructions = false, .accesses = false, .synchronization = false, .operations = false});
  ASSERT_TRUE(f.run(&recorder).ok());
  EXPECT_EQ(recorder.cta_ends_, kCtas);
  EXPECT_EQ(recorder.warps, 0u);
  EXPECT_TRUE(recorder.accesses_.empty() && recorder.syncs.empty() && recorder.operations.empty());
}

TEST(Observer, SeesWhatIsNotChecked) {
  Fixture f;
  Recorder recorder;
  const Report report = f.run(&recorder, {.check = true, .check_ctas = 2, .count_accesses = true});
  EXPECT_EQ(report.checked_ctas, 2u);
  EXPECT_EQ(recorder.warps, report.stats.warp_instructions);
  uint64_t accesses = 0;
  for (const AccessCount& count : report.stats.accesses.value())
    accesses += count.warp_accesses;
  EXPECT_EQ(recorder.accesses_.size(), accesses);
}

TEST(Observer, ThatThrowsEndsTheLaunch) {
  const char* kFunctions[] = {"launch_begins", "cta_begins", "executes", "accesses",
                              "synchronizes",  "operates",   "cta_ends", "launch_ends"};
  for (const unsigned workers : {1u, 2u})
    for (const char* function : kFunctions) {
      Fixture f;
      Recorder recorder;
      std::atomic<int> thrown{0};
      recorder.also = [&](const char* what) {
        if (std::string_view(what) == function && thrown++ == 0)
          throw std::runtime_error("enough");
      };
      const Report report = f.run(&recorder, {.workers = workers});
      ASSERT_EQ(report.outcome, Outcome::internal) << function;
      EXPECT_EQ(report.fault->message, "the caller's observer threw: enough") << function;
      EXPECT_EQ(recorder.ends, 1u) << function;
      recorder.also = nullptr; // the device lives
      EXPECT_TRUE(f.run(&recorder, {.workers = workers}).ok()) << function;
    }
}

// mbarrier.arrive tells at its end, when others may be unwinding.
TEST(Observer, MayThrowAtAnyEvent) {
  for (int at = 0; at < 60; ++at) {
    Fixture f;
    Recorder recorder;
    int events = 0;
    recorder.also = [&](const char*) {
      if (events++ >= at)
        throw 1;
    };
    const Report report = f.run(&recorder, {.workers = 1});
    ASSERT_EQ(report.outcome, Outcome::internal);
    EXPECT_EQ(report.fault->message, "the caller's observer threw");
  }
}

TEST(Observer, CannotUseTheDevice) {
  Fixture f;
  Recorder recorder;
  std::atomic<int> refused{0};
  recorder.also = [&](const char*) {
    uint32_t value = 0;
    const bool copied = f.out.copy_to(std::as_writable_bytes(std::span(&value, 1))).ok();
    const auto launched = f.kernel.launch({}, {f.in, f.out});
    refused += !copied && !launched && launched.error().kind == ErrorKind::invalid_argument;
  };
  EXPECT_TRUE(f.run(&recorder).ok());
  EXPECT_GT(refused.load(), 100);
}

TEST(Forms, AreCountedWithWhatIsKnownOfThem) {
  Fixture f;
  Recorder recorder;
  const Report report = f.run(&recorder, {.check = true, .check_ctas = 1, .fidelity = true});
  uint64_t warps = 0, lanes = 0;
  for (const ExecutedForm& form : report.forms) {
    warps += form.warp_instructions;
    lanes += form.lane_instructions;
    EXPECT_EQ(form.fidelity, Fidelity::exact) << form.form;
    if (form.form == "st.global.u32") {
      EXPECT_EQ(form.warp_instructions, kCtas * 2);
      EXPECT_EQ(form.lane_instructions, kCtas * kThreads / 2);
    }
  }
  EXPECT_EQ(warps, report.stats.warp_instructions);
  EXPECT_EQ(lanes, report.stats.lane_instructions);
  EXPECT_TRUE(f.run(nullptr).forms.empty());
}

TEST(Forms, OfSeveralLaunchesAreMerged) {
  std::vector<ExecutedForm> all;
  const ExecutedForm add{"add.u32", Fidelity::exact, "GPU", 1, 32}, ex2{"ex2", Fidelity::assumed, "", 2, 64},
      sub{"sub.u32", Fidelity::exact, "", 5, 160};
  merge(all, std::vector{add, ex2});
  merge(all, std::vector{add, sub});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].form, "ex2");
  EXPECT_EQ(all[1].form, "sub.u32");
  EXPECT_EQ(all[2].form, "add.u32");
  EXPECT_EQ(all[2].warp_instructions, 2u);
  EXPECT_EQ(fidelity_text(all, "sm_80"),
            "fidelity on sm_80: 3 forms ran, 1 assumed, 2 exact\n"
            "  assumed                2  ex2\n"
            "  exact                  7  2 forms, 1 of them recorded on GPU too\n");
  EXPECT_EQ(fidelity_text(all, "sm_80", 0).substr(51),
            "  assumed                2  1 form more\n"
            "  exact                  7  2 forms, 1 of them recorded on "
            "GPU too\n");
  EXPECT_EQ(fidelity_text({}, "sm_80"), "");
}

} // namespace
} // namespace lemma
