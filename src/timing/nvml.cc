// Declarations of the functions that are called, after nvml.h of CUDA 12 and 13. See nvml.h beside this.
#include "timing/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <dlfcn.h>

namespace lemma::timing {

struct Sampler::Nvml {
  using Status = int;                   // nvmlReturn_t
  using Handle = struct nvmlDevice_st*; // nvmlDevice_t
  static constexpr int kClockSm = 1;    // nvmlClockType_t
  static constexpr int kClockMemory = 2;

  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  Status (*device_by_bus)(const char* bus, Handle* device) = nullptr;
  Status (*clock)(Handle device, int type, unsigned* mhz) = nullptr;
  Status (*power)(Handle device, unsigned* milliwatts) = nullptr;
  Handle device = nullptr;
  bool is_initialized = false;

  ~Nvml() {
    if (is_initialized)
      shutdown();
  }

  // What is missing; empty: nothing.
  std::string open(const DeviceInfo& info) {
    if (info.kind != "cuda")
      return "the virtual GPU has no clock";
    // Never closed: it may keep threads of its own.
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return "no NVML (libnvidia-ml.so.1), which knows clocks and power";
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    if (!find(init, "nvmlInit_v2") || !find(shutdown, "nvmlShutdown") ||
        !find(device_by_bus, "nvmlDeviceGetHandleByPciBusId_v2") || !find(clock, "nvmlDeviceGetClockInfo") ||
        !find(power, "nvmlDeviceGetPowerUsage"))
      return "this NVML (libnvidia-ml.so.1) is too old to be asked for clocks and power";
    if (const Status status = init(); status != 0)
      return fmt::format("NVML does not start: error {}", status);
    is_initialized = true;
    if (const Status status = device_by_bus(info.bus.c_str(), &device); status != 0)
      return fmt::format("NVML does not know the GPU at {}: error {}", info.bus, status);
    unsigned mhz = 0, milliwatts = 0;
    if (const Status status = clock(device, kClockSm, &mhz); status != 0)
      return fmt::format("NVML does not tell clocks: error {}", status);
    if (const Status status = power(device, &milliwatts); status != 0)
      return fmt::format("NVML does not tell power: error {}", status);
    return {};
  }

  std::optional<GpuState> ask() const {
    unsigned sm = 0, memory = 0, milliwatts = 0;
    if (clock(device, kClockSm, &sm) != 0 || clock(device, kClockMemory, &memory) != 0 ||
        power(device, &milliwatts) != 0)
      return std::nullopt;
    return GpuState{double(sm), double(memory), milliwatts * 1e-3};
  }
};

Sampler::Sampler(const DeviceInfo& device, size_t works) : nvml_(std::make_unique<Nvml>()), seen_(works) {
  absent_ = nvml_->open(device);
  if (!absent_.empty())
    nvml_.reset();
  else
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        watch();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
}

Sampler::~Sampler() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join(); // before what it uses goes
  }
}

// What is seen counts if one work had the GPU all the while.
void Sampler::watch() {
  const int before = current_;
  if (before == kNobody)
    return;
  const std::optional<GpuState> state = nvml_->ask();
  if (!state || current_ != before)
    return;
  const std::scoped_lock lock(mutex_);
  seen_[static_cast<size_t>(before)].push_back(*state);
}

std::optional<GpuState> Sampler::state_of(size_t work) const {
  const std::scoped_lock lock(mutex_);
  const std::vector<GpuState>& seen = seen_[work];
  if (seen.empty())
    return std::nullopt;
  const auto median = [&](double GpuState::* value) {
    std::vector<double> values;
    for (const GpuState& state : seen)
      values.push_back(state.*value);
    return spread_of(std::move(values)).median;
  };
  return GpuState{median(&GpuState::sm_mhz), median(&GpuState::memory_mhz), median(&GpuState::watts)};
}

} // namespace lemma::timing
