// How long somebody in whom nothing can move - a launch, a stream that waits for a value - waits for others,
// and in which steps: at once at first, then every millisecond at most, until nobody has done anything for a
// while.
//
// Tests: tests/unit/runtime/stream_test.cc, stream_values_test.cc.
#pragma once

#include "vgpu/memory/memory.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace lemma::vgpu {

class Patience {
public:
  // `others_may_act`: as LaunchSurroundings has it.
  Patience(std::function<bool()> others_may_act, std::chrono::nanoseconds patience,
           const GlobalMemory& memory)
      : others_may_act_(std::move(others_may_act)), patience_(patience), memory_(memory) {}

  bool others_may_act() const { return others_may_act_ && others_may_act_(); }

  // How long until the next look at what others have done; none: there is nothing to wait for any more.
  // Called again when that look has shown nothing.
  std::optional<std::chrono::nanoseconds> next_pause() {
    if (!others_may_act_)
      return std::nullopt;
    const bool may = others_may_act(); // before the look at what they have done
    const auto now = std::chrono::steady_clock::now();
    if (const uint64_t activity = memory_.activity(); activity != activity_) {
      activity_ = activity;
      since_ = now;
      looks_ = 0;
      was_last_ = false;
    }
    if (was_last_)
      return std::nullopt;
    was_last_ = !may || now - since_ > patience_;
    if (was_last_ || looks_++ < kLooksAtOnce)
      return std::chrono::nanoseconds(0);
    return std::min(kLongestPause, kFirstPause * (1 << std::min<uint64_t>(looks_ - kLooksAtOnce, 16)));
  }

  static constexpr std::chrono::nanoseconds kLongestPause = std::chrono::milliseconds(1);

private:
  static constexpr uint64_t kLooksAtOnce = 64;
  static constexpr std::chrono::nanoseconds kFirstPause = std::chrono::microseconds(2);

  const std::function<bool()> others_may_act_;
  const std::chrono::nanoseconds patience_;
  const GlobalMemory& memory_;
  std::optional<uint64_t> activity_;            // when it was last seen to change
  std::chrono::steady_clock::time_point since_; // nobody has done anything
  uint64_t looks_ = 0;                          // ... and so often was that seen
  bool was_last_ = false;                       // the look that follows is the last
};

} // namespace lemma::vgpu
