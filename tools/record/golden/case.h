// Cases of recorded hardware bits: a kernel, its generated operands, and what it stores.
//
// A case is one spelling of one instruction (or one small kernel) over many operands. Its work is counted in
// units, such as a thread or a warp, and cut into parts, such as one for each class of operands; every part
// has a hash of its own. All that a case does follows from the seed, the group's name and its own name, so
// adding a case changes no other.
//
// What is not here: which cases there are (groups.h), how they run (replay.h), how their bits are kept
// (record_file.h).
//
// Tests: tests/unit/golden/, tests/golden/.
#pragma once

#include "isa/vocabulary.h"
#include "lemma/tensor_map.h"
#include "numeric/hash.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::golden {

// An array of one buffer: `per_unit` elements for each unit, unit after unit.
struct Plane {
  std::string name;
  isa::Type type = isa::Type::b32; // how messages show an element
  uint32_t element_bytes = 4;
  uint32_t per_unit = 1;
  std::vector<std::pair<std::string, uint32_t>> dims =
      {};                    // names and sizes of per_unit's factors, outermost first
  int initial = -1;          // outputs: the input plane whose bytes it starts with; -1: zeros
  uint64_t offset_bytes = 0; // in the buffer; a multiple of 256

  uint64_t unit_bytes() const { return uint64_t{element_bytes} * per_unit; }
};

struct Part {
  std::string name;   // "special"
  uint64_t first = 0; // unit
  uint64_t units = 0;
};

// The input buffer of a case, while it is filled.
class Inputs {
public:
  Inputs(std::span<const Plane> planes, uint64_t units);
  void set(size_t plane, uint64_t element, uint64_t bits) {
    std::memcpy(bytes_.data() + planes_[plane].offset_bytes + element * planes_[plane].element_bytes, &bits,
                planes_[plane].element_bytes);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

private:
  std::span<const Plane> planes_;
  std::vector<std::byte> bytes_;
};

// A kernel parameter: the tensor map of a plane.
struct MapParameter {
  TensorMap map = {};     // without its address
  bool of_output = false; // which buffer the plane is in
  size_t plane = 0;
};

struct Case {
  std::string name;   // unique in its group: "add.rn.ftz.f32"
  std::string family; // of every family (here: opcode, or row) the first case keeps whole outputs
  std::string entry;  // the kernel: (.param .u64 in, .param .u64 out), the addresses of the two buffers
  std::string text;   // its PTX
  std::string common; // functions and variables that it uses; a text that several cases share is there once

  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  std::array<uint32_t, 3> cluster{0, 0, 0}; // 0: the launch names none
  uint32_t shared_bytes = 0;                // dynamic, of a CTA
  std::string unit_name = "thread";
  uint64_t units = 0;
  std::vector<Plane> inputs;
  std::vector<Plane> outputs;
  std::vector<MapParameter> maps = {}; // parameters after the two buffers: map0, map1, ...
  std::vector<Part> parts;             // cover all units, in order

  // Fills the input planes of one part from a generator that the part's name seeds.
  std::function<void(const Part& part, numeric::Random& random, Inputs& inputs)> fill;

  uint64_t output_bytes() const;
};

// The bytes of the input buffer.
std::vector<std::byte> make_inputs(const Case& c, std::string_view group, uint64_t seed);
// What the output buffer holds before the launch.
std::vector<std::byte> initial_outputs(const Case& c, std::span<const std::byte> inputs);
// The elements that a part stores: plane after plane, the first `units` units of the part (at most all of
// them).
std::vector<std::byte> part_bytes(const Case& c, const Part& part, std::span<const std::byte> outputs,
                                  uint64_t units = UINT64_MAX);

// Lays the planes out one after another; returns the buffer's size. For those who make cases.
uint64_t lay_out(std::vector<Plane>& planes, uint64_t units);

// What messages and recorded files call a file of cases: "f32", "mma". A group's kernels come in several PTX
// modules, so that a long group need not be compiled in one piece.
struct Group {
  std::string name;
  std::string title; // one line: what is in it
  std::vector<Case> cases;
};

inline constexpr std::string_view kTarget = "sm_90a";
// PTX ISA 8.7, which any driver of CUDA 12.8 and later takes.
inline constexpr int kPtxMajor = 8, kPtxMinor = 7;

// A PTX module with the kernels of these cases.
std::string module_text(std::span<const Case> cases);

} // namespace lemma::golden
