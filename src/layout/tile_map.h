// Moves a fragment between the registers of a warp and a dense tile in memory, by a table made once.
//
// Where a register's elements lie next to each other in the tile, as those of A in row order and of B in
// column order do, a register moves as one word.
//
// Tests: tests/unit/layout/fragment_test.cc.
#pragma once

#include "layout/fragment.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lemma::layout {

class TileMap {
public:
  TileMap() = default;
  // `order`: row, the tile is [rows][cols]; col, it is [cols][rows]. One lane per thread of a warp. An
  // element takes element_bits bits of the tile; where that is less than a byte, a register's elements must
  // lie next to each other in it.
  TileMap(const Fragment& fragment, MajorOrder order);

  int registers() const { return registers_; }
  int distinct_registers() const { return distinct_; }
  int tile_bytes() const { return tile_bytes_; }

  // `registers[r]` is register r of 32 lanes, each of the fragment's register width. gather() reads the first
  // distinct_registers() of them, as the hardware does.
  void gather(const std::byte* const* registers, std::byte* tile) const;
  // Writes every register, copies included.
  void scatter(const std::byte* tile, std::byte* const* registers) const;

  // Are lanes 4 q to 4 q + 3 of every register next to each other in line q of eight that follow each other,
  // at the same place in each?
  bool is_in_eights() const { return !eights_.empty(); }
  // Where they are: the first of the eight lines of each register.
  struct Eight {
    uint16_t line, byte; // in the line
  };
  const Eight* eights() const { return eights_.data(); }

private:
  void find_quads();

  int registers_ = 0;
  int distinct_ = 0;
  int register_bytes_ = 0;
  int element_bytes_ = 0; // of one move: the register's when whole_
  int elems_ = 0;         // moves of one register: 1 when whole_
  int tile_bytes_ = 0;
  int line_bytes_ = 0;            // from a row (of columns: a column) of the tile to the next
  std::vector<uint16_t> offsets_; // [register][elem][lane], bytes in the tile

  // Moves of four lanes of a register at once, where the fragment has them; all but `quad` of 16 bytes.
  enum class Run : uint8_t {
    none,  // lane by lane
    quad,  // the four lie next to each other
    first, // with the next register's between them, which is `second`
    second,
    // An 8x8 matrix of 2-byte elements on its side: lane l, element e is row 2 (l % 4) + e, column l / 4.
    transposed,
  };
  std::vector<Run> runs_; // of each register

  std::vector<Eight> eights_; // empty: is_in_eights() is false
};

} // namespace lemma::layout
