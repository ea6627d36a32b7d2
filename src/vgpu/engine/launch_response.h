// What clusterlaunchcontrol.try_cancel writes to shared memory and query_cancel reads: 16 bytes that the PTX
// ISA calls opaque, so their layout is Lemma's own. All-zero bytes are no response.
//
// Tests: tests/unit/vgpu/launch_control_test.cc.
#pragma once

#include "lemma/launch.h"

#include <cstdint>

namespace lemma::vgpu {

struct LaunchResponse {
  static constexpr uint32_t kUnspecified = 0xcbcbcbcb; // where the ISA says nothing

  Dim3 first_cta{};  // of the canceled cluster
  uint32_t kind = 0; // one of:
  static constexpr uint32_t kCanceled = 0x636e6c64, kFailed = 0x6661696c;

  bool canceled() const { return kind == kCanceled; }
  bool failed() const { return kind == kFailed; }
};
inline constexpr uint32_t kResponseBytes = sizeof(LaunchResponse);
static_assert(kResponseBytes == 16);

} // namespace lemma::vgpu
