// Runs one arithmetic instruction on lanes that a test makes, without decoding a program, and compares every
// lane with a reference that the test states. Each check runs at every level of the host (SSE2, AVX2,
// AVX-512), and once more as compiled code where the host has AVX-512 and the instruction an emitter
// (compiled/emit.h), with all lanes active and with some, and with operands that share registers.
#pragma once

#include "vgpu/handlers/arithmetic/select.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::vgpu {

// Bits of the sources of one lane, in their types' widths (predicates: 0 or 1), to bits of the destinations.
// `d` holds two; the first is set by most instructions.
using Reference = std::function<void(const uint64_t* s, uint64_t* d)>;
// For one destination.
using Expected = std::function<uint64_t(const uint64_t* s)>;

struct CheckOptions {
  int warps = 64;                     // sets of 32 lanes
  int dst_count = 0;                  // 0: what the selection says
  int64_t lut = -1;                   // lop3's immediate
  std::vector<ptx::Operand> operands; // of the instruction, where their number or selectors matter
  std::vector<int> src_bytes;         // widths of registers, where not the type's
  int dst_bytes = 0;
  // Replaces the operands' random bits: source index and a random number to bits.
  std::function<uint64_t(int source, uint64_t random)> source;
};

// `spelling`: "add.sat.s32".
void check(std::string_view spelling, const Expected& reference, const CheckOptions& options = {});
void check2(std::string_view spelling, const Reference& reference, const CheckOptions& options = {});

// The instruction that a spelling names: opcode, qualifiers, types; no operands.
ptx::Instruction instruction_of(std::string_view spelling);

// Whether compiled code computes the instruction itself, without its handler.
bool has_emitter(std::string_view spelling, const CheckOptions& options = {});

// Whether some form has the spelling.
bool is_legal(std::string_view spelling);

// An instruction run lane by lane where order matters (the carry flag): the frame is kept between runs.
class Machine {
public:
  Machine();
  // Runs on all lanes; sources as 32 lane values each. Returns the first destination. Compiled code, where
  // the instruction has some, must leave the same.
  std::vector<uint64_t> run(std::string_view spelling, const std::vector<std::vector<uint64_t>>& sources);
  LaneMask active = kAllLanes;
  Frame frame;
  bool approximate = false; // some instruction said so
};

// Bits that tests of a type should meet: zeros, ones, bounds, infinities, NaN, subnormals, and their like.
const std::vector<uint64_t>& special_bits(isa::Type type);

// A deterministic stream of 64-bit numbers.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t operator()();

private:
  uint64_t state_;
};

} // namespace lemma::vgpu
