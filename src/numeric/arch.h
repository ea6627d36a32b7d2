// Whose arithmetic it is, and how well that is known.
//
// Not here: which GPU has which arithmetic (src/isa/machine.h), and what it computes (dot.h, mufu.h).
// Tests: tests/unit/numeric/arch_test.cc.
#pragma once

#include <cstdint>
#include <string_view>

namespace lemma::numeric {

// The machines with an arithmetic of their own, oldest first.
enum class Arch : uint8_t {
#define ARCH(name) name,
#include "numeric/archs.def"
#undef ARCH
};

inline constexpr Arch kArchs[] = {
#define ARCH(name) Arch::name,
#include "numeric/archs.def"
#undef ARCH
};

std::string_view to_string(Arch arch); // "sm_90"

// How well an arithmetic is known for the machine it is asked for.
enum class Evidence : uint8_t {
  measured,  // by recorded bits of that machine
  published, // by MMA-Sim's authors on that machine, by the PTX ISA, or by ptxas as the code it emits
  assumed,   // carried over from a neighbour; no hardware has checked it
};

std::string_view to_string(Evidence evidence);

} // namespace lemma::numeric
