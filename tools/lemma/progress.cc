// The drawing thread waits on a condition that finish() signals, so a short run prints nothing and a long one
// ends without delay. The last thing drawn wipes the line.
#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace lemma::cli {
namespace {

constexpr auto kQuietTime = std::chrono::seconds(1);
constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr int kBarColumns = 20;

} // namespace

Progress::Progress(std::string label, uint64_t total)
    : label_(std::move(label)), total_(std::max<uint64_t>(total, 1)) {
  if (isatty(STDERR_FILENO) == 1)
    thread_ = std::thread([this] { draw_until_finished(); });
}

void Progress::finish() {
  if (!thread_.joinable())
    return;
  {
    const std::scoped_lock lock(mutex_);
    finished_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::draw_until_finished() {
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, kQuietTime, [this] { return finished_; }))
    return;
  do
    std::fputs(bar().c_str(), stderr);
  while (!wake_.wait_for(lock, kInterval, [this] { return finished_; }));
  std::fputs("\r\x1b[K", stderr);
}

std::string Progress::bar() const {
  const uint64_t done = std::min(done_.load(std::memory_order_relaxed), total_);
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const int full = static_cast<int>(part * kBarColumns);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  const std::string left = done > 0 ? fmt::format(", {:.0f} s left", seconds * (1 - part) / part) : "";
  return fmt::format("\r{}  [{}{}] {:3.0f}%  {} of {} CTAs, {:.0f} s{}\x1b[K", label_, std::string(full, '#'),
                     std::string(kBarColumns - full, '-'), 100 * part, done, total_, seconds, left);
}

} // namespace lemma::cli
