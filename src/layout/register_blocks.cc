// A register is a block where its elements are, lane by lane, those of eight rows and 16 bytes of each.
#include "layout/register_blocks.h"

namespace lemma::layout {
namespace {

constexpr int kLanes = 32; // of a warp

// The registers of D that are its blocks: where a register has one element, that is every second column of
// eight. False where one is none.
bool find_d_blocks(const Fragment& d, std::array<uint8_t, 8>& registers) {
  const int per_register = d.elems_per_register(), in_eight = 2 / std::min(per_register, 2);
  const int in_row = d.cols / 8 * in_eight, count = d.registers();
  if (per_register * d.element_bits != d.register_bits || d.rows % 8 != 0 || d.cols % 8 != 0 ||
      count != d.rows / 8 * in_row || count > static_cast<int>(registers.size()))
    return false;
  for (int reg = 0; reg < count; ++reg) {
    const Coord first = d.at({0, reg, 0});
    if (first.row % 8 != 0 || first.col % 8 >= in_eight)
      return false;
    for (int lane = 0; lane < kLanes; ++lane)
      for (int elem = 0; elem < per_register; ++elem)
        if (!(d.at({lane, reg, elem}) == Coord{first.row + lane / 4, first.col + lane % 4 * 2 + elem}))
          return false;
    registers[static_cast<size_t>(first.row / 8 * in_row + first.col / 8 * in_eight + first.col % 8)] =
        static_cast<uint8_t>(reg);
  }
  return true;
}

// The registers of A, or of B with columns as rows, that are its blocks; false where one is none.
bool find_blocks(const Fragment& fragment, bool by_columns, std::array<uint8_t, 8>& registers) {
  const int per_register = fragment.elems_per_register(), count = fragment.distinct_registers();
  const int rows = by_columns ? fragment.cols : fragment.rows,
            depth = by_columns ? fragment.rows : fragment.cols;
  if (per_register * fragment.element_bits != fragment.register_bits || rows % 8 != 0 ||
      depth % (4 * per_register) != 0 || count != rows / 8 * (depth / (4 * per_register)) ||
      count > static_cast<int>(registers.size()))
    return false;
  const auto at = [&](int lane, int reg, int elem) {
    const Coord place = fragment.at({lane, reg, elem});
    return by_columns ? Coord{place.col, place.row} : place;
  };
  for (int reg = 0; reg < count; ++reg) {
    const Coord first = at(0, reg, 0);
    if (first.row % 8 != 0 || first.col % (4 * per_register) != 0)
      return false;
    for (int lane = 0; lane < kLanes; ++lane)
      for (int elem = 0; elem < per_register; ++elem)
        if (!(at(lane, reg, elem) == Coord{first.row + lane / 4, first.col + lane % 4 * per_register + elem}))
          return false;
    const int in_row = depth / (4 * per_register);
    registers[static_cast<size_t>(first.row / 8 * in_row + first.col / (4 * per_register))] =
        static_cast<uint8_t>(reg);
  }
  return true;
}

} // namespace

std::optional<RegisterBlocks> register_blocks(const Fragment& a, const Fragment& b, const Fragment& d) {
  RegisterBlocks blocks{.even_columns_first = d.elems_per_register() == 1};
  if (!find_d_blocks(d, blocks.d) || !find_blocks(a, false, blocks.a) || !find_blocks(b, true, blocks.b))
    return std::nullopt;
  return blocks;
}

} // namespace lemma::layout
