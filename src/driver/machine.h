// What the virtual GPU says it is: an H200, or the card of the machine that LEMMA_ARCH names.
//
// Sizes that the virtual GPU has are those of its model (isa/machines.def, vgpu/code/machine.h); the rest -
// clocks, bus, caches, textures - are what documents give for an H200, whatever the machine is, and mean
// nothing here.
//
// Tests: tests/driver/device.cc.
#pragma once

#include "driver/types.h"
#include "lemma/launch.h"
#include "lemma/message.h"
#include "lemma/result.h"
#include "vgpu/code/machine.h"

#include <cstdint>
#include <string>

namespace lemma::driver {

inline constexpr int kDriverVersion = 13000;                         // CUDA 13.0
inline constexpr unsigned kPciDomain = 0, kPciBus = 1, kPciSlot = 0; // where the device says it is
inline constexpr uint32_t kRegistersPerSm = 65536;
inline constexpr uint32_t kSharedBytesWithoutOptIn = 48 * 1024;
inline constexpr uint32_t kWarpThreads = 32;
inline constexpr uint32_t kPortableClusterCtas = 8;
inline constexpr uint64_t kGranularityBytes = uint64_t{2} << 20; // of cuMemCreate
inline constexpr uint64_t kPitchBytes = 512;                     // a multiple of which cuMemAllocPitch gives

struct Machine {
  int sm = 90;
  std::string name;
  uint64_t memory_bytes = 0;
  double patience_seconds = 10; // DeviceOptions
  bool check = false;           // launches, and the order of streams
  bool skip_repeats = true;     // DeviceOptions
  LaunchConfig launch;          // what every launch begins with
  bool reset_cures = false;     // of a fault: else it is the process's
  vgpu::MachineLimits limits;
};

// From the variables of docs/driver.md, as they are now. Error: a variable's value is none.
Result<Machine, Error> machine_from_environment();

// CUDA_LAUNCH_BLOCKING, as it is now.
bool are_launches_to_block();

// Error: CUDA_ERROR_INVALID_VALUE, there is no such attribute.
CUresult attribute_of(const Machine& machine, CUdevice_attribute attribute, int& value);

} // namespace lemma::driver
