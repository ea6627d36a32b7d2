// Of the C API (lemma/c.h): who holds what - the matrices of instructions in registers
// (lemma_describe_matrix() of lemma/c/isa.h), tiles in shared memory. As lemma/layout.h.
//
// Tests: tests/unit/capi/inspect_test.cc.
#ifndef LEMMA_C_LAYOUT_H
#define LEMMA_C_LAYOUT_H

#include "lemma/c/base.h"
#include "lemma/c/device.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where an element of a matrix is: lanes of wgmma are the threads of the warpgroup. In tensor memory `lane`
// is a lane of it, those of the second CTA of a pair from 128 on, and `reg` a column from the operand's
// address.
typedef struct lemma_fragment_element {
  int32_t row, col;
  int32_t lane, reg;
  int32_t elem; // of the register; 0: lowest bits
} lemma_fragment_element;

typedef enum lemma_operand_kind LEMMA_INT {
  LEMMA_OPERAND_MATRIX = 0,
  LEMMA_OPERAND_METADATA = 1, // of a sparse A: which of its columns are stored
  LEMMA_OPERAND_SCALES = 2    // of A or B, of block scaling
} lemma_operand_kind;

// A matrix of an instruction, or what goes with one.
typedef struct lemma_matrix_operand {
  const char* name; // "a", "metadata", "scale-b"
  lemma_operand_kind kind;
  const char* matrix; // metadata, scales: whose they are, "a"
  const char* type;   // of its elements; metadata: u4 for the four bits of a chunk
  int32_t rows, cols; // of a sparse A: the columns that are stored
  bool in_memory;     // B of wgmma: only ever in shared memory, found by a descriptor
  bool or_in_memory;  // A of wgmma
  // Unless in_memory:
  int32_t registers; // that the instruction names
  const char* register_type;
  int32_t lanes;
  int32_t held_registers;     // of the layout, copies included
  int32_t distinct_registers; // that hold each element once
  int32_t register_bits, element_bits;
  int32_t elems_per_register;
  int32_t copies;                       // how often each element is held
  int32_t adjacent_rows, adjacent_cols; // elements of a register that are neighbours in the matrix
  const char* row_formula;              // of element e of register r of a lane: "lane / 4 + 8 * (r % 2)"
  const char* col_formula;
  size_t element_count;                   // every place, by register, lane, element
  const lemma_fragment_element* elements; // an array
  lemma_strings notes;                    // what a selector chooses
  bool in_tensor_memory;    // operands of tcgen05: lanes, registers, ... are those of tensor memory
  const char* lane_formula; // there, of element (row, col); of copies the first
  const char* column_formula;
} lemma_matrix_operand;

// A tile of a matrix MN x K in shared memory, as a tensor copy with this swizzle leaves it and wgmma or
// tcgen05 reads it.
typedef struct lemma_smem_tile {
  size_t size;
  const char* type; // of 8, 16 or 32 bits, or e2m1, e2m3, e3m2, padded to 8; null: "bf16"
  lemma_tensor_swizzle swizzle;
  uint32_t mn_major;          // 0: K is contiguous; 1: MN
  uint32_t rows, cols;        // of MN, of K; 0: 64
  uint32_t atoms_of_32_bytes; // with the 128-byte swizzle: two chunks stay together, as MN-major tf32 of
                              // tcgen05 has it
} lemma_smem_tile;

// How many turns shared memory takes for the requests (phases) of a way to read the tile.
typedef struct lemma_bank_conflicts {
  const char* access; // "16 bytes a lane along rows"
  uint32_t phases, turns;
  uint32_t worst; // turns of one phase
} lemma_bank_conflicts;

// The matrix descriptor of a K step of wgmma or tcgen05.mma, for a tile at shared address 0.
typedef struct lemma_tile_descriptor {
  uint32_t k;                      // first column
  uint32_t start, leading, stride; // bytes
  lemma_tensor_swizzle swizzle;
  uint64_t bits;
} lemma_tile_descriptor;

typedef struct lemma_smem_layout {
  uint32_t element_bytes;
  uint32_t chunk_elems;      // of a 16-byte chunk, along the major dimension
  uint32_t lines;            // of a slab, along the minor dimension
  uint32_t chunks;           // along the major dimension
  uint32_t chunks_per_line;  // of a swizzle line
  size_t address_count;      // lines * chunks
  const uint32_t* addresses; // [line][chunk]: bytes from the tile's start, after the swizzle
  size_t conflict_count;
  const lemma_bank_conflicts* const* conflicts;
  size_t descriptor_count; // 0: wgmma does not read such a tile
  const lemma_tile_descriptor* const* descriptors;
  size_t tensor_descriptor_count; // of tcgen05.mma, likewise
  const lemma_tile_descriptor* const* tensor_descriptors;
} lemma_smem_layout;
LEMMA_API void lemma_smem_layout_release(const lemma_smem_layout* layout);

// Error: invalid_argument, whose text begins with the field that is wrong.
LEMMA_API const lemma_error* lemma_lay_out(const lemma_smem_tile* tile, const lemma_smem_layout** layout);

#ifdef __cplusplus
}
#endif

#endif
