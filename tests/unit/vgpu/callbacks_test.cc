// Callbacks of a launch: one at a time, in order, no lock held.
#include "vgpu/engine/callbacks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lemma::vgpu {
namespace {

TEST(CallbackQueue, NobodyWaitsForTheCallbackOfAnother) {
  CallbackQueue queue;
  std::vector<int> order; // no lock: calls do not overlap
  std::atomic<bool> inside{false}, others_are_done{false};
  std::thread first([&] {
    queue.call(10, [&] {
      inside = true;
      while (!others_are_done)
        std::this_thread::yield();
      order.push_back(0);
    });
  });
  while (!inside)
    std::this_thread::yield();
  for (int i = 1; i < 100; ++i)
    queue.call(10, [&, i] { order.push_back(i); });
  others_are_done = true;
  first.join();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(CallbackQueue, DoesNotGrowForEver) {
  CallbackQueue queue;
  constexpr size_t kBytes = size_t{1} << 18;
  std::atomic<bool> inside{false};
  std::atomic<int> waiting{0}, most{0};
  const auto callback = [&] {
    inside = true;
    most = std::max(most.load(), waiting.load());
    --waiting;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        ++waiting;
        queue.call(kBytes, callback);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(waiting, 0);
  EXPECT_LE(most, 16);
}

TEST(CallbackQueue, WhatACallbackThrowsComesOut) {
  CallbackQueue queue;
  int calls = 0;
  queue.add([] { throw std::runtime_error("full"); });
  queue.add([&] { ++calls; });
  EXPECT_THROW(queue.run(), std::runtime_error);
  EXPECT_EQ(calls, 0);
  queue.call(0, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

} // namespace
} // namespace lemma::vgpu
