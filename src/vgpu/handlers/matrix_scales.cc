// Reads the scales. See matrix_scales.h.
#include "vgpu/handlers/matrix_scales.h"

#include <fmt/format.h>

namespace lemma::vgpu {
namespace {

using layout::Matrix;

constexpr int kSourcesPerMatrix = 3; // data, byte-id, thread-id

std::string_view legal_bytes(int per_line) {
  return per_line == 1 ? "0 to 3" : per_line == 2 ? "0 and 2" : "0";
}

} // namespace

bool ScaleOperands::place(Decoder& decoder, const ptx::Instruction& instruction, size_t first,
                          std::vector<Slot>& srcs) const {
  for (const size_t data : {first, first + 2}) {
    const ptx::Operand& operand = instruction.operands[data];
    const ptx::Operand& selector = instruction.operands[data + 1];
    const bool in_braces = operand.kind == ptx::OperandKind::vector;
    if (selector.elems.size() != 2 || (in_braces && operand.elems.size() != 1))
      return false;
    srcs.push_back(decoder.src(in_braces ? operand.elems[0] : operand, isa::Type::b32));
    for (const ptx::Operand& element : selector.elems)
      srcs.push_back(decoder.src(element, isa::Type::b16));
  }
  return true;
}

bool ScaleOperands::read(Exec& x, const DecodedInst& in, int first, uint8_t* a, uint8_t* b) const {
  return read_one(x, in, first, Matrix::a, a) && read_one(x, in, first + kSourcesPerMatrix, Matrix::b, b);
}

bool ScaleOperands::read_one(Exec& x, const DecodedInst& in, int first, Matrix matrix, uint8_t* out) const {
  const auto* data = x.src<uint32_t>(in, first);
  const auto *byte = x.src<uint16_t>(in, first + 1), *thread = x.src<uint16_t>(in, first + 2);
  const char letter = matrix == Matrix::a ? 'a' : 'b';
  for (int lane = 1; lane < kWarpSize; ++lane)
    if (byte[lane] != byte[0] || thread[lane] != thread[0]) {
      x.fault_at(
          in, FaultKind::illegal_instruction,
          fmt::format("lanes 0 and {0} give different selectors {{byte-id-{1}, thread-id-{1}}}: {{{2}, "
                      "{3}}} and {{{4}, {5}}} (undefined behaviour)",
                      lane, letter, byte[0], thread[0], byte[lane], thread[lane]),
          lane, 0);
      return false;
    }
  const int threads = matrix == Matrix::a ? 2 : 4;
  if (byte[0] % per_line_ != 0 || byte[0] > 3 || thread[0] >= threads) {
    x.fault_at(
        in, FaultKind::illegal_instruction,
        fmt::format("selector {{byte-id-{0}, thread-id-{0}}} is {{{1}, {2}}}; with {3} scales to a line "
                    "byte-id-{0} may be {4}, thread-id-{0} 0 to {5}",
                    letter, byte[0], thread[0], per_line_, legal_bytes(per_line_), threads - 1),
        0, 0);
    return false;
  }
  const int lines = matrix == Matrix::a ? shape_.m : shape_.n;
  for (int line = 0; line < lines; ++line)
    for (int scale = 0; scale < per_line_; ++scale) {
      const layout::Place at = layout::scale_place(matrix, line, scale, {byte[0], thread[0]});
      *out++ = static_cast<uint8_t>(data[at.lane] >> 8 * at.elem);
    }
  return true;
}

} // namespace lemma::vgpu
