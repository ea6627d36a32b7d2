// What a video instruction does with its operands beyond its operation, as DecodedInst::imm says it to the
// kernels of video.inc: which parts of the sources are read, to which range the result is clamped, what
// happens to it together with c, and which part of d it becomes.
#pragma once

#include <bit>
#include <cstdint>

namespace lemma::vgpu {

enum class VideoStep : uint8_t { none, add, min, max }; // the secondary operation

struct VideoPlan {
  // Digits of four bits for each element, lowest first: which part of a and b it is. A SIMD instruction
  // counts the parts of b after those of a; a scalar one has ptx::Operand::component, 0 for the whole.
  uint16_t a_parts = 0, b_parts = 0;
  uint8_t written = 0; // SIMD: a bit for each element; scalar: as a_parts
  VideoStep step = VideoStep::none;
  bool saturates : 1 = false;
  bool d_signed : 1 = false;
  bool a_signed : 1 = false;
  bool b_signed : 1 = false;
  // vmad
  bool negates_product : 1 = false;
  bool negates_c : 1 = false;
  bool adds_one : 1 = false;
  uint8_t shift = 0;

  int64_t packed() const { return std::bit_cast<int64_t>(*this); }
  static VideoPlan of(int64_t packed) { return std::bit_cast<VideoPlan>(packed); }
};
static_assert(sizeof(VideoPlan) == sizeof(int64_t));

} // namespace lemma::vgpu
