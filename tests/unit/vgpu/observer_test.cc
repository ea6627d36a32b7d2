// What observers are told: byte-exact sets of what kernels read and write, and in which order things happen.
#include "vgpu/engine/observer.h"

#include "kernel.h"
#include "layout/tensor_map.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

namespace lemma::vgpu {
namespace {

using isa::StateSpace;

constexpr uint64_t kFirst = kSharedReservedBytes; // of a kernel's shared memory

// "0-15 32-47" of a set of bytes.
std::string ranges(const std::set<uint64_t>& bytes) {
  std::string text;
  for (auto at = bytes.begin(); at != bytes.end();) {
    const uint64_t begin = *at;
    uint64_t end = begin;
    for (; at != bytes.end() && *at == end; ++at)
      ++end;
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", begin, end - 1);
  }
  return text;
}

class Recorder : public Observer {
public:
  std::string log;                                    // an event a line
  std::map<std::string, std::set<uint64_t>> sets;     // "read global buffer", "write shared", offsets
  std::map<const AsyncOperation*, AsyncState> states; // as told last

  std::string set(const std::string& name) { return ranges(sets[name]); }

private:
  void add(const char* kind, StateSpace space, const Allocation* allocation, uint64_t offset,
           uint64_t bytes) {
    std::string name = fmt::format("{} {}", kind, isa::to_string(space));
    if (allocation)
      name += " " + allocation->name;
    for (uint64_t i = 0; i < bytes; ++i)
      sets[name].insert(space == StateSpace::shared ? offset - kFirst + i : offset + i);
  }
  void tell(const std::string& event) { log += event + "\n"; }

  void launch_begins(const Launch& launch) override {
    EXPECT_GE(launch.workers, 1u);
    tell("launch");
  }
  void launch_ends(const Launch&) override { tell("end of launch"); }
  void cluster_begins(const Cluster&) override { tell("cluster"); }
  void cluster_ends(const Cluster&) override { tell("end of cluster"); }
  void exits(const Exec& x, LaneMask lanes) override {
    tell(fmt::format("exit {} {:x}", x.warp->index, lanes));
  }

  void accesses(const Exec& x, const WarpAccess& access) override {
    const Access& a = access.access;
    const char* kind = a.kind == AccessKind::write    ? "write"
                       : a.kind == AccessKind::atomic ? "atomic"
                                                      : "read";
    EXPECT_EQ(a.instruction, &x.code->insts[x.pc]);
    access.each([&](int piece, uint64_t offset) {
      EXPECT_GE(offset, a.offset);
      EXPECT_LE(offset + access.piece_bytes, a.offset + a.bytes);
      if (access.by_lane) {
        EXPECT_TRUE(a.lanes >> piece & 1);
      }
      add(kind, a.space, a.allocation, offset, access.piece_bytes);
    });
    if (a.space != StateSpace::param)
      tell(fmt::format("{} {} {} x{} of {}{}", x.warp->index, kind, isa::to_string(a.space),
                       std::popcount(access.pieces), access.piece_bytes,
                       a.order == MemoryOrder{} ? "" : fmt::format(" {}", to_string(a.order.semantics))));
  }
  void synchronizes(const Exec& x, const Synchronization& sync) override {
    constexpr const char* kNames[] = {"fence",          "proxy fence",    "warp barrier", "convergence",
                                      "barrier arrive", "cluster arrive", "cluster wait", "wgmma fence"};
    tell(fmt::format("{} {} {:x} {}", x.warp->index, kNames[static_cast<int>(sync.kind)], sync.lanes,
                     to_string(sync.order.semantics)));
  }
  void barrier_completes(const Cta&, uint32_t id) override { tell(fmt::format("barrier {} completes", id)); }
  void cluster_barrier_completes(const Cluster&) override { tell("cluster barrier completes"); }

  void issues(const Exec& x, const AsyncOperation& operation) override {
    EXPECT_EQ(operation.state, AsyncState::issued);
    EXPECT_EQ(operation.issuer.launch, x.launch);
    tell(fmt::format("{} issues {}", x.warp->index, to_string(operation.kind)));
    if (operation.parts > 1)
      return;
    uint64_t read = 0, written = 0;
    operation.each_source([&](const MemoryPlace& place, uint64_t bytes) {
      add("async read", place.space, place.allocation, place.offset, bytes);
      read += bytes;
    });
    operation.each_destination([&](const MemoryPlace& place, uint64_t bytes) {
      add("async write", place.space, place.allocation, place.offset, bytes);
      written += bytes;
    });
    EXPECT_EQ(read, operation.bytes_read());
    EXPECT_EQ(written, operation.bytes_written());
  }
  void commits(const Exec& x, AsyncGroup, LaneMask) override {
    tell(fmt::format("{} commits", x.warp->index));
  }
  void reads_source(const AsyncOperation& operation) override {
    EXPECT_EQ(operation.state, AsyncState::source_read);
    tell(fmt::format("{} has read", to_string(operation.kind)));
  }
  void completes(const AsyncOperation& operation) override {
    EXPECT_EQ(operation.state, AsyncState::done);
    tell(fmt::format("{} completes", to_string(operation.kind)));
  }
  void waits(const Exec& x, const GroupWait& wait) override {
    tell(fmt::format("{} has waited, {} pending{}", x.warp->index, wait.pending,
                     wait.read_only ? ", read" : ""));
  }
  void arrives(const MbarrierArrival& arrival) override {
    tell(fmt::format(
        "{} arrives {} bytes {}{}",
        arrival.operation ? to_string(arrival.operation->kind) : fmt::format("{:x}", arrival.lanes).c_str(),
        arrival.change.arrivals, arrival.change.expect_bytes, arrival.completes_phase ? ", completing" : ""));
  }
  void finds_complete(const Exec& x, const MbarrierWait& wait) override {
    tell(fmt::format("{} finds phase {} complete", x.warp->index, wait.parity ? 1 : 0));
  }
};

// Parameters `in` and `out`; %t the thread. Shared memory begins with 8192 bytes at %s.
std::string kernel(const std::string& body) {
  return R"(
.visible .entry k(.param .u64 pin, .param .u64 pout) {
  .shared .align 1024 .b8 smem[8192];
  .shared .align 8 .b64 bar;
  .local .align 16 .b8 depot[64];
  .reg .b64 %in, %out, %a, %b, %c, %m;
  .reg .b32 %t, %s, %r<8>;
  .reg .b16 %h;
  .reg .f32 %f<4>;
  .reg .pred %p, %q;
  mov.u32 %t, %tid.x;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %s, smem;
  mov.u32 %r7, 7;
)" + body +
         "\n  ret;\n}\n";
}

class Observed : public testing::TestWithParam<AsyncMode> {
protected:
  void run(const std::string& body, uint32_t threads = 32) {
    Kernel made(kernel(body));
    made.config().block = {threads, 1, 1};
    made.config().async = GetParam();
    made.watch(recorder);
    std::vector<uint32_t> words(1024);
    std::iota(words.begin(), words.end(), 0);
    const uint64_t in = made.buffer(words, "in");
    const uint64_t second = tensor ? made.buffer(encode(in), "map") : made.buffer(words, "out");
    const Report report = made.run({in, second});
    EXPECT_EQ(fault_text(report), "");
    reads = uninitialized_text(report);
  }
  bool late() const { return GetParam() == AsyncMode::late; }
  std::string set(const std::string& name) { return recorder.set(name); }
  // Between the cluster's begin and the first exit.
  std::string events() const {
    const size_t begin = recorder.log.find("cluster\n") + 8;
    return recorder.log.substr(begin, recorder.log.find("exit ", begin) - begin);
  }

  std::vector<std::byte> encode(uint64_t address) const {
    TensorMap map = *tensor;
    map.address = address;
    EXPECT_EQ(layout::wrong_with(map), "");
    const layout::TensorMapBytes bytes = layout::encode(map);
    return {bytes.begin(), bytes.end()};
  }

  Recorder recorder;
  std::string reads; // of what was never written
  std::optional<TensorMap> tensor;
};
INSTANTIATE_TEST_SUITE_P(Modes, Observed, testing::Values(AsyncMode::eager, AsyncMode::late),
                         [](const auto& info) { return info.param == AsyncMode::eager ? "eager" : "late"; });

TEST_P(Observed, LoadsStoresAndAtomics) {
  run(R"(
  mul.wide.u32 %a, %t, 8;
  add.u64 %a, %a, %in;
  ld.global.v2.u32 {%r0, %r1}, [%a];
  sub.u32 %r2, 31, %t;
  mul.wide.u32 %b, %r2, 12;
  add.u64 %b, %b, %out;
  st.release.gpu.global.u32 [%b], %r0;
  and.b32 %r3, %t, 1;
  setp.eq.u32 %p, %r3, 1;
  cvt.u16.u32 %h, %t;
  mad.lo.u32 %r4, %t, 2, %s;
  @%p st.shared.u8 [%r4], %h;
  @%p ld.shared.u8 %h, [%r4];
  atom.global.add.u32 %r5, [%out+1024], 1;
  setp.lt.u32 %q, %t, 2;
  @%q red.shared.add.u32 [%s], 0;
  st.local.u32 [depot+4], %r0;
  ld.local.u16 %h, [depot+6];)");
  EXPECT_EQ(set("read global in"), "0-255");
  std::set<uint64_t> stored, odd;
  for (uint64_t i = 0; i < 32; ++i)
    for (uint64_t j = 0; j < 4; ++j)
      stored.insert(12 * i + j);
  for (uint64_t i = 1; i < 32; i += 2)
    odd.insert(2 * i);
  EXPECT_EQ(set("write global out"), ranges(stored));
  EXPECT_EQ(set("write shared"), ranges(odd));
  EXPECT_EQ(set("read shared"), ranges(odd));
  EXPECT_EQ(set("atomic global out"), "1024-1027");
  EXPECT_EQ(set("atomic shared"), "0-3"); // lane by lane: not all was written
  EXPECT_EQ(set("write local"), "4-7");
  EXPECT_EQ(set("read local"), "6-7");
  EXPECT_EQ(set("read param"), "0-15");
  EXPECT_EQ(events(), "0 read global x32 of 8\n"
                      "0 write global x32 of 4 release\n"
                      "0 write shared x16 of 1\n"
                      "0 read shared x16 of 1\n"
                      "0 atomic global x32 of 4 relaxed\n"
                      "0 atomic shared x2 of 4 relaxed\n"
                      "0 write local x32 of 4\n"
                      "0 read local x32 of 2\n");
}

// Lanes of one instruction in two allocations and in shared memory: one event for each owner.
TEST_P(Observed, SeveralOwners) {
  run(R"(
  cvta.shared.u64 %a, smem;
  setp.lt.u32 %p, %t, 8;
  selp.b64 %a, %in, %a, %p;
  setp.gt.u32 %p, %t, 23;
  selp.b64 %a, %out, %a, %p;
  mul.wide.u32 %b, %t, 4;
  add.u64 %a, %a, %b;
  st.u32 [%a], %t;)");
  EXPECT_EQ(set("write global in"), "0-31");
  EXPECT_EQ(set("write shared"), "32-95");
  EXPECT_EQ(set("write global out"), "96-127");
  EXPECT_EQ(events(), "0 write global x8 of 4\n0 write shared x16 of 4\n0 write global x8 of 4\n");
}

TEST_P(Observed, CpAsync) {
  run(R"(
  mad.lo.u32 %r0, %t, 16, %s;
  mul.wide.u32 %a, %t, 32;
  add.u64 %a, %a, %in;
  cp.async.ca.shared.global [%r0], [%a], 16, 12;
  cp.async.commit_group;
  cp.async.wait_group 0;
  ld.shared.u32 %r1, [%r0];
  add.u32 %r1, %r1, 1;)",
      2);
  EXPECT_EQ(set("async read global in"), "0-11 32-43");
  EXPECT_EQ(set("async write shared"), "0-31");
  EXPECT_EQ(reads, "");
  const std::string done = "cp.async has read\ncp.async completes\n";
  EXPECT_EQ(events(), late() ? "0 issues cp.async\n0 issues cp.async\n0 commits\n" + done + done +
                                   "0 has waited, 0 pending\n0 read shared x2 of 4\n"
                             : "0 issues cp.async\n" + done + "0 issues cp.async\n" + done +
                                   "0 commits\n0 has waited, 0 pending\n0 read shared x2 of 4\n");
}

// What an operation writes counts as written once it completes: looking too early is a read of what nobody
// has written.
TEST_P(Observed, TooEarly) {
  run(R"(
  cp.async.ca.shared.global [%s], [%in], 16;
  ld.shared.u32 %r1, [%s];
  add.u32 %r1, %r1, 1;
  cp.async.wait_all;
  ld.shared.u32 %r1, [%s+4];
  add.u32 %r1, %r1, 1;)",
      1);
  EXPECT_EQ(reads, late() ? "ld.shared.u32 %r1, [%s];: shared memory at 0x400 x1\n" : "");
}

TEST_P(Observed, BulkCopyAndMbarrier) {
  run(R"(
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 %a, [bar], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%in+16], 64, [bar];
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;
  @!%p bra wait;
  fence.proxy.async;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [smem], 32;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
  cp.async.bulk.wait_group 0;)",
      1);
  EXPECT_EQ(set("async read global in"), "16-79");
  EXPECT_EQ(set("async write shared"), "0-63");
  EXPECT_EQ(set("async read shared"), "0-31");
  EXPECT_EQ(set("async write global out"), "0-31");
  EXPECT_EQ(set("write shared"), "8192-8199");
  EXPECT_EQ(set("atomic shared"), "8192-8199");
  const std::string arrives =
      "bulk copy has read\nbulk copy arrives 0 bytes -64, completing\nbulk copy completes\n";
  const std::string tests = late() ? "0 read shared x1 of 8 acquire\n" + arrives : "";
  EXPECT_EQ(events(), "0 write shared x1 of 8\n"
                      "1 arrives 1 bytes 64\n"
                      "0 atomic shared x1 of 8 release\n"
                      "0 issues bulk copy\n" +
                          (late() ? tests : arrives) +
                          "0 read shared x1 of 8 acquire\n"
                          "0 finds phase 0 complete\n"
                          "0 proxy fence 1 weak\n"
                          "0 issues bulk copy\n" +
                          (late() ? "0 commits\nbulk copy has read\n0 has waited, 0 pending, read\n"
                                    "bulk copy completes\n0 has waited, 0 pending\n"
                                  : "bulk copy has read\nbulk copy completes\n0 commits\n"
                                    "0 has waited, 0 pending, read\n0 has waited, 0 pending\n"));
}

// A box of 8 x 4 words, swizzled, of which two columns lie outside of the tensor.
TEST_P(Observed, TensorCopies) {
  tensor = TensorMap{.type = TensorType::f32,
                     .dims = {16, 16},
                     .strides_bytes = {128},
                     .box = {8, 4},
                     .swizzle = TensorSwizzle::b32};
  run(R"(
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 %a, [bar], 128;
  mov.u32 %r0, 12;
  mov.u32 %r1, 2;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [smem], [%out, {%r0, %r1}], [bar];
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;
  @!%p bra wait;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%out, {%r0, %r1}], [smem];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;)",
      1);
  EXPECT_EQ(set("read global map"), "0-127");
  EXPECT_EQ(set("async read global in"), "304-319 432-447 560-575 688-703");
  EXPECT_EQ(set("async write global in"), "304-319 432-447 560-575 688-703");
  EXPECT_EQ(set("async write shared"), "0-127");
  EXPECT_EQ(set("async read shared"), "0-127");
}

TEST_P(Observed, Matrices) {
  run(R"(
  mad.lo.u32 %r0, %t, 16, %s;
  st.shared.v4.u32 [%r0], {%t, %t, %t, %t};
  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r0];
  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r0+1024], {%r1};)");
  EXPECT_EQ(set("read shared"), "0-255");
  EXPECT_EQ(set("write shared"), "0-511 1024-1151");
  EXPECT_EQ(events(), "0 write shared x32 of 16\n0 read shared x16 of 16\n0 write shared x8 of 16\n");
}

TEST_P(Observed, Wgmma) {
  run(R"(
  mad.lo.u32 %r0, %t, 16, %s;
  mov.b32 %r1, 0;
  st.shared.v4.b32 [%r0], {%r1, %r1, %r1, %r1};
  st.shared.v4.b32 [%r0+2048], {%r1, %r1, %r1, %r1};
  fence.proxy.async;
  bar.sync 0;
  shr.u32 %r3, %s, 4;
  cvt.u64.u32 %a, %r3;
  or.b64 %a, %a, 0x1000080000;
  add.u64 %b, %a, 128;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %a, %b, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;)",
      128);
  EXPECT_EQ(set("async read shared"), "0-2303");
  const std::string& log = recorder.log;
  size_t at = 0;
  const auto expect_next = [&](const std::string& event) {
    const size_t found = log.find(event + "\n", at);
    ASSERT_NE(found, std::string::npos) << event << " in " << log;
    at = found + 1;
  };
  for (int warp = 0; warp < 4; ++warp)
    expect_next("issues wgmma");
  expect_next("wgmma has read");
  expect_next("wgmma completes");
  for (int warp = 0; warp < 4; ++warp)
    expect_next("has waited, 0 pending");
  EXPECT_EQ(log.find("issues wgmma", at), std::string::npos);
}

TEST_P(Observed, Synchronization) {
  run(R"(
  bar.sync 0;
  fence.acq_rel.gpu;
  bar.warp.sync 0xffffffff;
  shfl.sync.idx.b32 %r0, %t, 0, 31, 0xffffffff;
  barrier.cluster.arrive;
  barrier.cluster.wait;)",
      64);
  const std::string& log = recorder.log;
  EXPECT_TRUE(log.starts_with("launch\ncluster\n0 barrier arrive ffffffff acq_rel\n1 barrier arrive ffffffff "
                              "acq_rel\nbarrier 0 completes\n"))
      << log;
  for (const char* event : {"0 fence ffffffff acq_rel\n0 warp barrier ffffffff acq_rel\n"
                            "0 convergence ffffffff weak\n0 cluster arrive ffffffff release\n",
                            "cluster barrier completes\n", "exit 0 ffffffff\n", "exit 1 ffffffff\n"})
    EXPECT_NE(log.find(event), std::string::npos) << event << " in " << log;
  EXPECT_TRUE(log.ends_with("end of cluster\nend of launch\n")) << log;
}

TEST(AccessCounter, CountsBySpaceAndKind) {
  Kernel made(kernel(R"(
  mul.wide.u32 %a, %t, 4;
  add.u64 %b, %a, %in;
  ld.global.u32 %r0, [%b];
  add.u64 %b, %a, %out;
  st.global.u32 [%b], %r0;
  red.global.add.u32 [%out+512], 1;
  mad.lo.u32 %r1, %t, 8, %s;
  cp.async.ca.shared.global [%r1], [%in], 8;
  cp.async.wait_all;
  setp.lt.u32 %p, %t, 3;
  @%p ld.shared.u16 %h, [%r1];)"));
  AccessCounter counter, other;
  made.watch(other);
  made.watch(counter);
  made.config().grid = {5, 1, 1};
  made.config().workers = 2;
  const std::vector<uint32_t> words(1024);
  EXPECT_EQ(fault_text(made.run({made.buffer(words), made.buffer(words)})), "");
  const auto expect = [&](AccessCounter::Space space, AccessCounter::Kind kind, uint64_t warps,
                          uint64_t lanes, uint64_t bytes) {
    const AccessCounter::Count& count = counter.counts().memory[space][kind];
    EXPECT_EQ(count.warp_accesses, warps) << to_string(space) << to_string(kind);
    EXPECT_EQ(count.lane_accesses, lanes) << to_string(space) << to_string(kind);
    EXPECT_EQ(count.bytes, bytes) << to_string(space) << to_string(kind);
  };
  expect(AccessCounter::kGlobal, AccessCounter::kRead, 5, 160, 640);
  expect(AccessCounter::kGlobal, AccessCounter::kWrite, 5, 160, 640);
  expect(AccessCounter::kGlobal, AccessCounter::kAtomic, 5, 160, 640);
  expect(AccessCounter::kShared, AccessCounter::kRead, 5, 15, 30);
  expect(AccessCounter::kShared, AccessCounter::kWrite, 0, 0, 0);
  expect(AccessCounter::kParam, AccessCounter::kRead, 10, 320, 2560);
  const auto& copies = counter.counts().async[static_cast<size_t>(AsyncKind::cp_async)];
  EXPECT_EQ(copies.operations, 160u);
  EXPECT_EQ(copies.bytes, 1280u);
  // Who watches with it has seen the same.
  for (size_t space = 0; space < AccessCounter::kSpaces; ++space)
    for (size_t kind = 0; kind < AccessCounter::kKinds; ++kind)
      EXPECT_EQ(other.counts().memory[space][kind].bytes, counter.counts().memory[space][kind].bytes);
}

} // namespace
} // namespace lemma::vgpu
