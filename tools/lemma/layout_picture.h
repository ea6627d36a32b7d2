// What `lemma layout` shows: fragments of matrix instructions, and tiles in shared memory, as pictures and as
// JSON.
//
// Tests: tests/cli/.
#pragma once

#include "draw.h"
#include "layout/smem_descriptor.h"
#include "matrix_name.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lemma::cli {

// One operand, or several as in the product: B above D, A to the left of D.
Picture picture_of(const MatrixName& name, const std::vector<MatrixOperand>& operands);
// {"operand", "type", "rows", "cols", ..., "elements": [{"row", "col", "lane", "register", "bits": [0, 15]}]}
nlohmann::json elements_of(const MatrixOperand& operand);

// A tile of a matrix MN x K in shared memory, as a tensor copy with this swizzle leaves it and wgmma reads
// it: slabs of one swizzle line along the major dimension, one after another; of each the lines along the
// other dimension.
struct SmemTile {
  isa::Type type = isa::Type::bf16;
  layout::Swizzle swizzle = layout::Swizzle::b128;
  bool k_major = true;
  uint32_t rows = 64; // of MN
  uint32_t cols = 64; // of K

  uint32_t element_bytes() const;
  uint32_t chunk_elems() const; // of a 16-byte chunk, along the major dimension
  uint32_t lines() const;       // of a slab
  uint32_t chunks() const;      // along the major dimension
  uint32_t slab_bytes() const;
  // Of the tile's start, after the swizzle. `line` counts along the minor dimension, `chunk` along the major.
  uint32_t address(uint32_t line, uint32_t chunk) const;
};

// Empty if the tile can be laid out so; else what is wrong, and what is legal.
std::string problem_of(const SmemTile& tile);

Picture picture_of(const SmemTile& tile);
nlohmann::json facts_of(const SmemTile& tile);

} // namespace lemma::cli
