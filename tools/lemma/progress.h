// A progress bar on standard error, if that is a terminal and the run takes longer than a second.
//
//   gemm  [############--------]  61%  620 of 1024 CTAs, 6 s, 4 s left
//
// Drawn by a thread of its own: a kernel may take long to end its first CTA.
//
// Tests: tests/cli/.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace lemma::cli {

class Progress {
public:
  Progress(std::string label, uint64_t total);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From any thread.
  void update(uint64_t done) { done_.store(done, std::memory_order_relaxed); }
  // Takes the bar away.
  void finish();

private:
  using Clock = std::chrono::steady_clock;
  void draw_until_finished();
  std::string bar() const;

  std::string label_;
  uint64_t total_;
  std::atomic<uint64_t> done_{0};
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_; // guards finished_
  std::condition_variable wake_;
  bool finished_ = false;
  std::thread thread_;
};

} // namespace lemma::cli
