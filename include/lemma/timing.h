// How long launches take on a GPU, by CUDA events, beside the same product by cuBLAS; `lemma bench` and
// `lemma tune` are made of it.
//
//   auto step = lemma::Step::launch(kernel, config, arguments);
//   auto blas = lemma::CublasLt::open(device);
//   auto theirs = blas->products({.type = "bf16", .result = "bf16", .m = 4096, .n = 4096, .k = 4096}, a, b,
//   c); auto times = lemma::time_in_turns(device, {{*step}, {theirs->front()}}, {.rounds = 5});
//
// Everything runs in the device's legacy default stream. What others give the device meanwhile is measured,
// too.
//
// On "cpu" a launch takes what the virtual GPU takes; cuBLAS and clocks are "cuda" only.
//
// Tests: tests/unit/timing/, tests/cli/bench_cli_test.py.
#pragma once

#include "lemma/device.h"
#include "lemma/message.h"
#include "lemma/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

namespace timing {
struct StepImpl;
class Library;
} // namespace timing

// Something that a device does as often as it is asked to. A cheap handle.
class Step {
public:
  // A launch. What it does to memory, it does again. Errors: as Kernel::launch().
  static Result<Step, Error> launch(const Kernel& kernel, const LaunchConfig& config,
                                    std::span<const Argument> arguments);

  const std::string& name() const; // the kernel's; of cuBLAS: which algorithm

private:
  friend class CublasLt;
  friend class Timer;
  explicit Step(std::shared_ptr<const timing::StepImpl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const timing::StepImpl> impl_;
};

// Steps that run one after the other, each of which is timed.
using Work = std::vector<Step>;

struct TimingOptions {
  unsigned rounds = 5;   // in which the works take turns
  unsigned launches = 0; // of a work in a round; 0: as many as take 0.15 s, 10 at least and 60 at most
  unsigned warm_up = 3;  // launches before a work's turn that do not count
  // Before each launch as many bytes are written as push everything else out of the L2. Else its operands
  // may be there still.
  bool flushes_l2 = true;
};

// What a GPU was doing, as NVML says.
struct GpuState {
  double sm_mhz = 0, memory_mhz = 0, watts = 0; // medians over the time of a work's turns
};

struct WorkTimes {
  std::vector<std::vector<double>> seconds; // of each step, of each launch that counts
  std::optional<GpuState> state = {};       // absent: see Timings::no_state
};

struct Timings {
  std::vector<WorkTimes> works; // as given
  std::string no_state;         // why nobody knows what the GPU was doing; empty: it is known
};

// Errors: device_lost (a kernel faulted), out_of_memory (what the L2 is flushed with), as Kernel::launch().
Result<Timings, Error> time_in_turns(const Device& device, std::span<const Work> works,
                                     const TimingOptions& options = {});

struct Spread {
  double median = 0, low = 0, high = 0; // 10 and 90 percent of the values are below the latter
};
// Of one value at least.
Spread spread_of(std::vector<double> values);
// Of each launch: all its steps together.
std::vector<double> totals(const WorkTimes& work);

// Random elements, the same for the same seed: floating-point numbers are standard normal, integers any.
// `element`: as ProductShape or MLIR call it. Error: invalid_argument, another type.
Result<void, Error> fill_random(std::span<std::byte> memory, std::string_view element, uint64_t seed);

// How far two results of one product are apart: the root of the mean square of their differences, over that
// of the second's elements; of integers, 0 if they are equal, else 1. Types as fill_random() has them.
// Errors: invalid_argument, if their sizes differ.
Result<double, Error> relative_difference(std::span<const std::byte> one, std::span<const std::byte> other,
                                          std::string_view element);

// C = A * B, as linalg.matmul has them: C is M x N, A M x K or K x M, B K x N or N x K, row by row, without
// gaps.
struct ProductShape {
  std::string type;   // of A and B: "f16", "bf16", "tf32" (f32 in memory), "f32", "e4m3", "e5m2", "s8", "f64"
  std::string result; // of C: "f32", "f16", "bf16", "s32", "f64"
  uint64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
};

// cuBLAS's products, from its library, which is opened at run time: libcublasLt.so.13 or .12.
class CublasLt {
public:
  // `path`: the library; empty: looked for where the loader does, in CUDA's folder, and beside the Python
  // that is found first. Errors: unavailable, which says where it was looked for; invalid_argument: not on
  // "cuda".
  static Result<CublasLt, Error> open(const Device& device, const std::string& path = {});

  const std::string& path() const;
  const std::string& version() const; // "13.0.2"

  // One step for each of the first `most` algorithms that cuBLAS's heuristics name, of matrices in device
  // memory. f32 and f16 sums are of f32; 8-bit floats have fast accumulation on. The workspace, of 64 MiB, is
  // the CublasLt's. Errors: unsupported (cuBLAS has no such product), invalid_argument (a type that is none).
  Result<std::vector<Step>, Error> products(const ProductShape& shape, uint64_t a, uint64_t b, uint64_t c,
                                            unsigned most = 8) const;

private:
  explicit CublasLt(std::shared_ptr<const timing::Library> library) : library_(std::move(library)) {}
  std::shared_ptr<const timing::Library> library_;
};

} // namespace lemma
