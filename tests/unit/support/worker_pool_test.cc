// Threads that stay: who calls, how often, what comes out, at exit and after fork().
#include "support/worker_pool.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lemma {
namespace {

// Runs with all helpers: none of the calls ends before all have begun.
std::set<std::thread::id> run_with_all(uint64_t helpers) {
  std::latch all(static_cast<std::ptrdiff_t>(helpers) + 1);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  run_on_workers(helpers, [&] {
    {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    all.arrive_and_wait();
  });
  return ids;
}

TEST(WorkerPool, CallsOnThisThreadAndOnOthers) {
  const std::set<std::thread::id> ids = run_with_all(3);
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
  int calls = 0;
  run_on_workers(0, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(WorkerPool, ThreadsStay) {
  std::set<std::thread::id> ids = run_with_all(2);
  for (int i = 0; i < 20; ++i)
    ids.merge(run_with_all(2));
  EXPECT_LE(ids.size(), 1u + 3u) << "this thread and those of the tests so far";
}

TEST(WorkerPool, NobodyWaitsForAHelperThatHasNotBegun) {
  for (int i = 0; i < 1000; ++i) {
    std::atomic<int> calls{0};
    run_on_workers(3, [&] { ++calls; });
    ASSERT_GE(calls, 1);
    ASSERT_LE(calls, 4);
  }
}

TEST(WorkerPool, WhatACallThrowsComesOut) {
  std::latch both(2);
  const auto caller = std::this_thread::get_id();
  const auto run = [&] {
    run_on_workers(1, [&] {
      both.arrive_and_wait();
      if (std::this_thread::get_id() != caller)
        throw std::runtime_error("of a helper");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_THROW(run_on_workers(2, [] { throw std::logic_error("of all"); }), std::logic_error);
  EXPECT_EQ(run_with_all(2).size(), 3u) << "the pool is whole";
}

TEST(WorkerPool, SeveralRunsAtTheSameTimeAndOneInAnother) {
  std::vector<std::thread> threads;
  std::atomic<uint64_t> calls{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        run_on_workers(3, [&] { run_on_workers(2, [&] { ++calls; }); });
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_GE(calls, 200u);
}

TEST(WorkerPool, ThreadsTakeNoSignalsOfTheProgram) {
  std::mutex mutex;
  std::vector<bool> blocked;
  const auto caller = std::this_thread::get_id();
  std::latch all(3);
  run_on_workers(2, [&] {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    if (std::this_thread::get_id() != caller) {
      const std::lock_guard lock(mutex);
      blocked.push_back(sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGSEGV) == 0);
    }
    all.arrive_and_wait();
  });
  EXPECT_EQ(blocked, (std::vector<bool>{true, true}));
}

TEST(WorkerPool, AChildOfForkHasItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer starts no threads in a child of a process that has some";
#endif
  run_with_all(3);
  const pid_t child = fork();
  if (child == 0)
    _exit(run_with_all(3).size() == 4 ? 0 : 1); // hangs if it waits for the parent's threads
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(run_with_all(3).size(), 4u);
}

// Each call waits for all the others, so all must run at once.
TEST(WorkerPool, CallsRunAtTheSameTime) {
  constexpr int kCalls = 20;
  std::atomic<int> begun{0}, ended{0};
  for (int i = 0; i < kCalls; ++i)
    ASSERT_TRUE(call_on_worker([&] {
      ++begun;
      while (begun < kCalls)
        std::this_thread::yield();
      ++ended;
    }));
  while (ended < kCalls)
    std::this_thread::yield();
  EXPECT_EQ(run_with_all(3).size(), 4u);
}

TEST(WorkerPool, ACallIsGoneWhenItHasEnded) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  ASSERT_TRUE(call_on_worker([held = std::move(held)] {}));
  while (!watched.expired())
    std::this_thread::yield();
}

TEST(WorkerPool, MayBeBusyAndBeUsedAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // in a process that has no threads yet
  const auto end = [] {
    static std::atomic<bool> begun{false};
    run_with_all(3);
    std::atexit([] { run_on_workers(3, [] {}); });
    std::thread([] {
      run_on_workers(1, [] {
        begun = true;
        for (;;)
          pause();
      });
    }).detach();
    while (!begun)
      std::this_thread::yield();
    std::exit(7);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(7), "");
}

// What it looks at then is there: a sanitizer says so.
TEST(WorkerPool, AThreadMayEndItsWorkWhileTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // in a process that has no threads yet
  static std::atomic<bool> may_end{false};
  const auto end = [] {
    std::atexit([] { // registered before the pool is there: called when that is closed
      may_end = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    std::atomic<bool> begun{false};
    ASSERT_TRUE(call_on_worker([&] {
      begun = true;
      while (!may_end)
        std::this_thread::yield();
    }));
    while (!begun)
      std::this_thread::yield();
    std::exit(7);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(7), "");
}

} // namespace
} // namespace lemma
