// Runs a kernel written as PTX text on the virtual GPU, for tests of it. The kernel is `k` and takes two
// pointers: `out`, an array of 32-bit words, zeroed, and `in`, another.
#pragma once

#include "kernel.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma::vgpu {

struct KernelRun {
  Report report;
  std::vector<uint32_t> out;
  std::string printed;
};

// `body` is what stands between the braces of the kernel; %out and %in are its pointers as 64-bit registers,
// %t the thread's x index, %p0 .. %p9, %r0 .. %r99, %rd0 .. %rd99 and %f0 .. %f99 are declared. `before` goes
// before the kernel: functions and module variables.
KernelRun run_body(std::string_view body, LaunchConfig config = {}, size_t out_words = 1024,
                   const std::vector<uint32_t>& in = {}, std::string_view before = "");

} // namespace lemma::vgpu
