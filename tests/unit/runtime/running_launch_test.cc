// What a launch that takes longer says of itself: DeviceOptions::on_running.
#include "lemma/lemma.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace lemma {
namespace {

// Every thread adds until the flag is set.
constexpr const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry adds(.param .u64 flag) {
  .reg .b64 %rd, %i;
  .reg .b32 %r;
  .reg .pred %p;
  ld.param.u64 %rd, [flag];
  mov.u64 %i, 0;
AGAIN:
  add.u64 %i, %i, 1;
  ld.relaxed.sys.global.u32 %r, [%rd];
  setp.eq.u32 %p, %r, 0;
  @%p bra AGAIN;
  ret;
}
)";

TEST(RunningLaunch, SaysWhatItIsAtUntilItEnds) {
  std::mutex mutex;
  std::vector<RunningLaunch> said;
  std::atomic<int> times{0};
  const auto note = [&](const RunningLaunch& running) {
    const std::lock_guard lock(mutex);
    said.push_back(running);
    ++times;
    times.notify_all();
  };
  const Device device = *Device::open("cpu", {.on_running = note});
  const Module module = *device.load_ptx(kPtx, {.name = "adds.ptx"});
  const Buffer flag = *device.allocate(4, {.host_shared = true});
  const Stream stream = device.create_stream();
  ASSERT_TRUE(stream.launch(*module.kernel("adds"), {.grid = {3}, .block = {64}}, {flag}));
  times.wait(0);
  times.wait(1);
  std::atomic_ref(*reinterpret_cast<uint32_t*>(flag.address())).store(1);
  ASSERT_TRUE(stream.synchronize());
  ASSERT_GE(said.size(), 3u);
  for (const RunningLaunch& running : said) {
    EXPECT_EQ(running.kernel, "adds");
    EXPECT_EQ(running.id, said[0].id);
    EXPECT_EQ(running.has_ended, &running == &said.back());
  }
  const RunningLaunch &first = said[0], &second = said[1];
  EXPECT_EQ(first.ctas, 3u);
  EXPECT_EQ(first.ctas_done, 0u);
  EXPECT_GT(first.seconds, 0.0);
  EXPECT_GT(second.seconds, first.seconds);
  EXPECT_GT(second.warp_instructions, first.warp_instructions);
  ASSERT_FALSE(first.warps.empty());
  EXPECT_GE(first.warps[0].place.ptx_line, 10u); // in the loop
  EXPECT_LE(first.warps[0].place.ptx_line, 14u);
  // A short one says nothing.
  said.clear();
  ASSERT_TRUE(module.kernel("adds")->launch({}, {flag}));
  EXPECT_TRUE(said.empty());
}

} // namespace
} // namespace lemma
