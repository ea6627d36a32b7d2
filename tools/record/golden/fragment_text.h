// PTX text for the fragments of matrix cases: registers called %name0, %name1, ..., kept in a buffer as
// [warp][register][lane][element]. The kernel holds the warp's index in %_w and the lane's in %_n
// (kWarpAndLane).
//
// Tests: tests/unit/golden/.
#pragma once

#include "golden/case.h"
#include "isa/catalogue.h"

namespace lemma::golden {

struct FragmentText {
  isa::Type element = isa::Type::none;
  int count = 0; // registers of a lane
  int bits = 32; // of a register
  int elems = 1; // of a register

  uint32_t per_warp() const { return static_cast<uint32_t>(count * 32 * elems); }
};

FragmentText fragment_registers(const isa::MatrixRow& row, layout::Matrix matrix, isa::Type type);
// Registers of 32 bits, whatever is in them.
FragmentText word_registers(isa::Type element, int count);

// Of elements below 8 bits: a plane of bytes.
Plane fragment_plane(std::string name, const FragmentText& fragment);
std::string declare_fragment(std::string_view name, const FragmentText& fragment);
// "{%a0, %a1}"
std::string register_list(std::string_view name, int count);
// Loads or stores this lane's registers.
std::string transfer_fragment(bool load, std::string_view name, const FragmentText& fragment,
                              const Plane& plane);

// After kernel_head(): %_w and %_n.
inline constexpr std::string_view kWarpAndLane = "  shr.u32 %_w, %_i, 5;\n  and.b32 %_n, %_i, 31;\n";

} // namespace lemma::golden
