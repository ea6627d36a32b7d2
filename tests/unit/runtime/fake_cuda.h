// A CUDA driver without a GPU, for tests of src/runtime/cuda_device.cc: memory is the host's, launches are
// recorded, kernels whose name begins with "fault_" leave the context broken as real ones do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake_cuda {

struct Launch {
  std::string kernel;
  unsigned grid[3], block[3], shared_bytes;
  std::vector<int> attributes; // ids
  unsigned cluster[3] = {0, 0, 0};
  std::vector<uint64_t> parameters; // the first 4 bytes of each, as the driver would read them
  int max_dynamic_shared = 0;
};

// What an encoder of tensor maps was given.
struct EncodedMap {
  bool im2col = false;
  int type = 0, interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
  void* address = nullptr;
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> box, element_strides; // im2col: channels and pixels
  std::vector<int> corners;                   // im2col: lower, upper
};

struct State {
  std::vector<EncodedMap> maps;
  std::vector<Launch> launches;
  int allocations = 0;                // live
  int managed = 0;                    // of all that were made
  std::map<void*, size_t> registered; // host memory, bytes
  bool one_address_space = true;      // the GPU sees registered memory where the host does
  int modules = 0;                    // live
  int newest_ptx = 900;               // 100 times the version that its assembler takes at most
  std::vector<std::string> cubins;    // images that it was given and are no text
  int events = 0;                     // live
  int flushes = 0;                    // fills that nobody waits for
  double clock_ms = 0;                // what events read: moves by what a launch takes, or a fill
  double launch_ms = 2.5;
  int resets = 0;
  bool broken = false; // the context is lost
  bool reopens_after_fault = true;
};

} // namespace fake_cuda

// The library's own state.
extern "C" fake_cuda::State* fake_cuda_state();
