// Whole programs that may do anything: legal instructions of the whole catalogue in random order - of
// Blackwell most begin with an allocation of tensor memory, and go on with tcgen05 (hostile_tensor.h) -, with
// addresses near 0, 2^32, 2^64 and the bounds of every window, forged tensor maps and matrix descriptors,
// divergent masks, loops, calls and recursion. What such a program does is mostly undefined; a virtual GPU
// must survive it.
//
// Programs whose results are defined: defined.h. Single instructions: sampler.h.
//
// Tests: tests/fuzz/.
#pragma once

#include "generate/sampler.h"

#include <array>
#include <cstddef>

namespace lemma::generate {

// What the generator must know about the machine that the programs run on.
struct HostileMachine {
  uint64_t buffer = 0; // address of the kernel's buffer in global memory, and its size
  uint32_t buffer_bytes = 0;
  std::vector<uint64_t> edges; // 64-bit addresses at which something begins or ends
};

struct HostileLaunch {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{32, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  uint64_t seed = 0;
  std::vector<std::byte> params; // of the kernel
};

struct HostileProgram {
  static constexpr int kLaunches = 16;

  std::string text; // PTX
  std::string kernel = "k";
  std::vector<HostileLaunch> launches;

  std::string str() const; // the PTX after comments that say how it is launched
};

// `only_target`: for programs of one target; empty: of several.
HostileProgram make_hostile_program(Rng& rng, const HostileMachine& machine,
                                    std::string_view only_target = {});

// The text without the lines (counted from 1): instructions that a verifier refused.
std::string without_lines(std::string_view text, std::span<const uint32_t> lines);

} // namespace lemma::generate
