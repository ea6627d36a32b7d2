// A progress bar on standard error, if that is a terminal and the run takes longer than a second.
//
//   gemm  [############--------]  61%  620 of 1024 CTAs, 4 s left
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace lemma::cli {

class Progress {
public:
  explicit Progress(std::string label);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool enabled() const { return enabled_; }
  // Draws at most ten times a second. From any thread.
  void update(uint64_t done, uint64_t total);
  // Takes the bar away.
  void clear();

private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool enabled_;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point next_;
  bool drawn_ = false;
};

} // namespace lemma::cli
