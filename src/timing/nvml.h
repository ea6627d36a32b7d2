// Clocks and power of a GPU while works take turns on it: NVML (libnvidia-ml.so.1), asked by a thread of its
// own every few milliseconds. Without the library, or its leave, there is a reason and nothing else.
//
// Tests: tests/unit/timing/.
#pragma once

#include "lemma/device.h"
#include "lemma/timing.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace lemma::timing {

class Sampler {
public:
  Sampler(const DeviceInfo& device, size_t works);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Why there is nothing to know; empty: there is.
  const std::string& absent() const { return absent_; }

  // As long as this lives, what is seen is that work's.
  class Turn {
  public:
    Turn(Sampler& sampler, size_t work) : sampler_(sampler) { sampler_.current_ = static_cast<int>(work); }
    ~Turn() { sampler_.current_ = kNobody; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    Sampler& sampler_;
  };

  // None: nothing was seen in its turns.
  std::optional<GpuState> state_of(size_t work) const;

private:
  static constexpr int kNobody = -1;
  void watch();

  struct Nvml;
  std::unique_ptr<Nvml> nvml_; // null: absent
  std::string absent_;
  std::atomic<int> current_{kNobody};
  mutable std::mutex mutex_; // of seen_
  std::vector<std::vector<GpuState>> seen_;
  std::jthread thread_;
};

} // namespace lemma::timing
