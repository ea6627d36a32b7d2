// The C API from several threads, calls in any order. Under -DLEMMA_SANITIZE=thread or address, and as
// sanitized.capi, these tests say most.
#include "c_test.h"
#include "threads_kernels.h"

#include <atomic>
#include <random>
#include <thread>
#include <utility>

namespace lemma {
namespace {

constexpr const char* kKernels[] = {"says", "spin", "fault", "takes", "counts", "none"};

// One thread of those that share a device.
void call(lemma_device* device, uint32_t seed, int calls, std::string& printed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  std::vector<uint64_t> addresses{0, 1};
  lemma_module* module = nullptr;
  std::vector<std::byte> host(4000);
  lemma_stop* stop = lemma_stop_create();
  for (int i = 0; i < calls; ++i) {
    const size_t pick = below(static_cast<uint32_t>(addresses.size()));
    uint64_t address = 0;
    switch (below(8)) {
    case 0: {
      lemma_allocate_options options = LEMMA_SIZED(lemma_allocate_options);
      options.poisoned = below(2) != 0;
      if (said(lemma_allocate(device, below(4000), &options, &address)).empty())
        addresses.push_back(address);
      break;
    }
    case 1:
      EXPECT_EQ(said(lemma_free(device, addresses[pick])).empty(), pick >= 2);
      if (pick >= 2)
        addresses.erase(addresses.begin() + static_cast<ptrdiff_t>(pick));
      break;
    case 2:
      said(lemma_copy_to_device(device, addresses[pick], host.data(), below(4000)));
      break;
    case 3:
      said(lemma_copy_from_device(device, host.data(), addresses[pick], below(4000)));
      break;
    case 4: {
      lemma_module_unload(std::exchange(module, nullptr));
      lemma_load_options options = LEMMA_SIZED(lemma_load_options);
      options.arch = below(2) ? "sm_90a" : nullptr;
      // A launch of another thread may be using all memory up.
      if (const auto kind =
              kind_of(lemma_module_load(device, kThreadsPtx, std::strlen(kThreadsPtx), &options, &module))) {
        EXPECT_EQ(*kind, LEMMA_ERROR_OUT_OF_MEMORY);
      }
      break;
    }
    case 5:
      if (module)
        said(lemma_variable_get(module, "counter", host.data(), 8));
      break;
    default: {
      const uint32_t which = below(6), rounds = 20;
      const lemma_bytes arguments[] = {bytes_of(addresses[pick]), bytes_of(rounds)};
      lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
      config.grid[0] = 1 + below(3);
      config.block[0] = 1 + below(40);
      config.max_instructions = 1000;
      config.stop = stop;
      config.user = &printed;
      config.print = [](void* user, const char* text, size_t bytes) {
        static_cast<std::string*>(user)->append(text, bytes);
      };
      const lemma_report* report = nullptr;
      if (said(lemma_launch(module, kKernels[which], &config, arguments, which == 0 ? 2 : 0, &report))
              .empty()) {
        EXPECT_NE(report->outcome, LEMMA_OUTCOME_INTERNAL) << report->text;
        lemma_report_release(report);
      }
    }
    }
  }
  lemma_stop_release(stop);
  lemma_module_unload(module);
}

TEST(CThreads, CallsInAnyOrder) {
  lemma_device_options options = LEMMA_SIZED(lemma_device_options);
  options.max_memory_bytes = 64 << 20;
  lemma_device* device = nullptr;
  ASSERT_OK(lemma_device_open("cpu", &options, &device));
  std::vector<std::thread> threads;
  std::vector<std::string> printed(4);
  for (uint32_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { call(device, 10 + i, 200, printed[i]); });
  for (std::thread& thread : threads)
    thread.join();
  uint64_t address = 0;
  EXPECT_OK(lemma_free(device, (said(lemma_allocate(device, 40 << 20, nullptr, &address)), address)));
  lemma_device_close(device);
}

// One module: every launch counts once, whoever asks for it; the module is described meanwhile.
TEST(CThreads, LaunchesOfOneModuleAllCount) {
  const Loaded gpu(kThreadsPtx);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        const lemma_report* report = nullptr;
        EXPECT_OK(lemma_launch(gpu.module, "counts", nullptr, nullptr, 0, &report));
        EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FINISHED);
        lemma_report_release(report);
        EXPECT_EQ(lemma_module_describe(gpu.module)->kernel_count, 6u);
        EXPECT_NE(said(lemma_free(gpu.device, 0)), "");
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  uint64_t counter = 0;
  EXPECT_OK(lemma_variable_get(gpu.module, "counter", &counter, 8));
  EXPECT_EQ(counter, 100u);
}

// A launch ends when another thread asks for it.
TEST(CThreads, AnotherThreadStopsALaunch) {
  const Loaded gpu(kThreadsPtx);
  lemma_stop* stop = lemma_stop_create();
  lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
  config.stop = stop;
  std::thread other([&] { lemma_stop_request(stop); });
  const lemma_report* report = nullptr;
  EXPECT_OK(lemma_launch(gpu.module, "spin", &config, nullptr, 0, &report));
  EXPECT_EQ(report->outcome, LEMMA_OUTCOME_STOPPED);
  lemma_report_release(report);
  other.join();
  lemma_stop_release(stop);
}

} // namespace
} // namespace lemma
