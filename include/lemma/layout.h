// Who holds what, as data: the matrices of instructions in registers, tiles in shared memory. `lemma layout`
// draws it.
//
//   const auto mma = lemma::describe_matrix("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");  // isa.h
//   for (const lemma::FragmentElement& e : mma->operands[1].elements) ...   // A: which lane has which
//   element const auto tile = lemma::lay_out({.type = "bf16", .swizzle = lemma::TensorSwizzle::b128});
//
// Tests: tests/unit/inspect/, tests/cli/.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"
#include "lemma/tensor_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lemma {

// Where an element of a matrix is: lanes of wgmma are the threads of the warpgroup. In tensor memory `lane`
// is a lane of it, those of the second CTA of a pair from 128 on, and `reg` a column from the operand's
// address.
struct FragmentElement {
  int row = 0, col = 0;
  int lane = 0, reg = 0;
  int elem = 0; // of the register; 0: lowest bits
};

// A matrix of an instruction, or what goes with one.
struct MatrixOperand {
  enum class Kind : uint8_t {
    matrix,
    metadata, // of a sparse A: which of its columns are stored
    scales,   // of A or B, of block scaling
  };
  std::string name; // "a", "metadata", "scale-b"
  Kind kind = Kind::matrix;
  char matrix = 'd';         // metadata, scales: whose they are
  std::string type;          // of its elements; metadata: u4 for the four bits of a chunk
  int rows = 0, cols = 0;    // of a sparse A: the columns that are stored
  bool in_memory = false;    // B of wgmma: only ever in shared memory, found by a descriptor
  bool or_in_memory = false; // A of wgmma

  bool in_tensor_memory = false; // operands of tcgen05: lanes, registers, ... are those of tensor memory

  // Unless in_memory:
  int registers = 0; // that the instruction names; in tensor memory none
  std::string register_type;
  int lanes = 0;
  int held_registers = 0;     // of the layout, copies included
  int distinct_registers = 0; // that hold each element once
  int register_bits = 0, element_bits = 0;
  int elems_per_register = 0;
  int copies = 1;                           // how often each element is held
  int adjacent_rows = 1, adjacent_cols = 1; // elements of a register that are neighbours in the matrix
  // Of element e of register r of a lane: "lane / 4 + 8 * (r % 2)".
  std::string row_formula, col_formula;
  // In tensor memory instead, of element (row, col): "row % 16 + 32 * (row / 16)"; of copies the first.
  std::string lane_formula = {}, column_formula = {};
  std::vector<FragmentElement> elements; // every place, by register, lane, element
  std::vector<std::string> notes;        // what a selector chooses
};

// --- tiles in shared memory

// A tile of a matrix MN x K in shared memory, as a tensor copy with this swizzle leaves it and wgmma or
// tcgen05 reads it: slabs of one swizzle line along the major dimension, one after another; of each the lines
// along the other dimension.
struct SmemTile {
  std::string type = "bf16"; // of 8, 16 or 32 bits; e2m1, e2m3, e3m2: padded, 16 elements in 16 bytes
  TensorSwizzle swizzle = TensorSwizzle::b128;
  bool atoms_of_32_bytes = false; // b128: two chunks stay together, as MN-major tf32 of tcgen05 has it
  bool k_major = true;            // the dimension that is contiguous; false: MN
  uint32_t rows = 64;             // of MN
  uint32_t cols = 64;             // of K
};

// How many turns shared memory takes for the requests (phases) of a way to read the tile.
struct BankConflicts {
  std::string access; // "16 bytes a lane along rows"
  uint32_t phases = 0, turns = 0;
  uint32_t worst = 0; // turns of one phase
};

// The matrix descriptor of a K step of wgmma or tcgen05.mma, for a tile at shared address 0.
struct TileDescriptor {
  uint32_t k = 0;                              // first column
  uint32_t start = 0, leading = 0, stride = 0; // bytes
  TensorSwizzle swizzle = TensorSwizzle::none;
  uint64_t bits = 0;
};

struct SmemLayout {
  uint32_t element_bytes = 0;
  uint32_t chunk_elems = 0;        // of a 16-byte chunk, along the major dimension
  uint32_t lines = 0;              // of a slab, along the minor dimension
  uint32_t chunks = 0;             // along the major dimension
  uint32_t chunks_per_line = 0;    // of a swizzle line
  std::vector<uint32_t> addresses; // [line][chunk]: bytes from the tile's start, after the swizzle
  std::vector<BankConflicts> conflicts;
  std::vector<TileDescriptor> descriptors;        // none: wgmma does not read such a tile
  std::vector<TileDescriptor> tensor_descriptors; // of tcgen05.mma, likewise

  uint32_t address(uint32_t line, uint32_t chunk) const { return addresses[size_t{line} * chunks + chunk]; }
};

// Error: invalid_argument, whose text begins with the field that is wrong: "cols 63: ... legal: ...".
Result<SmemLayout, Error> lay_out(const SmemTile& tile);

} // namespace lemma
