// Reads the scales. See matrix_scales.h.
#include "vgpu/handlers/matrix/matrix_scales.h"

#include <fmt/format.h>

namespace lemma::vgpu {
namespace {

using layout::Matrix;

constexpr int kSourcesPerMatrix = 3; // data, byte-id, thread-id

std::string_view legal_bytes(int per_line) {
  return per_line == 1 ? "0 to 3" : per_line == 2 ? "0 and 2" : "0";
}

} // namespace

ScaleOperands::Side ScaleOperands::side(char letter, const layout::ScaleFragment& fragment, bool by_rows) {
  Side side{.letter = letter,
            .fragment = fragment,
            .count = static_cast<size_t>(fragment.rows) * static_cast<size_t>(fragment.cols)};
  // Downwards, so that of copies the first stays.
  for (int lane = kWarpSize - 1; lane >= 0; --lane)
    for (int byte = layout::kScaleBytes - 1; byte >= 0; --byte) {
      const layout::Coord at = fragment.at({lane, 0, byte});
      const int line = by_rows ? at.row : at.col, scale = by_rows ? at.col : at.row;
      side.first[static_cast<size_t>(line) * fragment.per_line() + static_cast<size_t>(scale)] =
          static_cast<uint8_t>(lane * layout::kScaleBytes + byte);
    }
  return side;
}

ScaleOperands::ScaleOperands(layout::Shape shape, int per_line)
    : a_(side('a', layout::scale_fragment(Matrix::a, shape, per_line), true)),
      b_(side('b', layout::scale_fragment(Matrix::b, shape, per_line), false)) {}

bool ScaleOperands::place(Decoder& decoder, const ptx::Instruction& instruction, size_t first,
                          std::vector<Slot>& srcs) const {
  for (const size_t data : {first, first + 2}) {
    const ptx::Operand& operand = instruction.operands[data];
    const ptx::Operand& selector = instruction.operands[data + 1];
    const bool in_braces = operand.kind == ptx::OperandKind::vector;
    if (selector.elems.size() != 2 || (in_braces && operand.elems.size() != 1))
      return false;
    srcs.push_back(decoder.src(data, isa::Type::b32));
    decoder.add_srcs(srcs, data + 1, isa::Type::b16);
  }
  return true;
}

bool ScaleOperands::read(Exec& x, const DecodedInst& in, int first, uint8_t* a, uint8_t* b) const {
  return read_one(x, in, first, a_, a) && read_one(x, in, first + kSourcesPerMatrix, b_, b);
}

bool ScaleOperands::read_one(Exec& x, const DecodedInst& in, int first, const Side& side, uint8_t* out) {
  const auto* data = reinterpret_cast<const uint8_t*>(x.src<uint32_t>(in, first));
  const auto *byte = x.src<uint16_t>(in, first + 1), *thread = x.src<uint16_t>(in, first + 2);
  for (int lane = 1; lane < kWarpSize; ++lane)
    if (byte[lane] != byte[0] || thread[lane] != thread[0]) {
      x.fault_at(
          in, FaultKind::illegal_instruction,
          fmt::format("lanes 0 and {0} give different selectors {{byte-id-{1}, thread-id-{1}}}: {{{2}, "
                      "{3}}} and {{{4}, {5}}} (undefined behaviour)",
                      lane, side.letter, byte[0], thread[0], byte[lane], thread[lane]),
          lane, 0);
      return false;
    }
  const int per_line = side.fragment.per_line(), threads = side.fragment.threads();
  if (byte[0] % per_line != 0 || byte[0] >= layout::kScaleBytes || thread[0] >= threads) {
    x.fault_at(
        in, FaultKind::illegal_instruction,
        fmt::format("selector {{byte-id-{0}, thread-id-{0}}} is {{{1}, {2}}}; with {3} scales to a line "
                    "byte-id-{0} may be {4}, thread-id-{0} 0 to {5}",
                    side.letter, byte[0], thread[0], per_line, legal_bytes(per_line), threads - 1),
        0, 0);
    return false;
  }
  const layout::Place offset = side.fragment.offset(byte[0], thread[0]);
  const uint8_t* selected = data + offset.lane * layout::kScaleBytes + offset.elem;
  for (size_t i = 0; i < side.count; ++i)
    out[i] = selected[side.first[i]];
  return true;
}

} // namespace lemma::vgpu
