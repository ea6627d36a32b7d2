#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace lemma::cli {
namespace {

constexpr auto kQuietTime = std::chrono::seconds(1);
constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kBarColumns = 20;

} // namespace

Progress::Progress(std::string label)
    : label_(std::move(label)), enabled_(isatty(STDERR_FILENO) == 1), next_(begin_ + kQuietTime) {}

void Progress::update(uint64_t done, uint64_t total) {
  if (!enabled_ || total == 0)
    return;
  const std::scoped_lock lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now < next_)
    return;
  next_ = now + kInterval;
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const int full = static_cast<int>(part * kBarColumns);
  std::string left;
  if (done > 0 && done < total) {
    const double seconds = std::chrono::duration<double>(now - begin_).count() * (1 - part) / part;
    left = fmt::format(", {:.0f} s left", seconds);
  }
  const std::string line =
      fmt::format("\r{}  [{}{}] {:3.0f}%  {} of {} CTAs{}\x1b[K", label_, std::string(full, '#'),
                  std::string(kBarColumns - full, '-'), 100 * part, done, total, left);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  const std::scoped_lock lock(mutex_);
  if (drawn_)
    std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

} // namespace lemma::cli
