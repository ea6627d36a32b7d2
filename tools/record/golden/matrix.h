// Cases of the matrix instructions: every row of the catalogue in every spelling.
//
//   mma       fragments come as raw registers and are stored as such, so that who holds what is checked too
//   mma_narrow  the same of elements of eight bits in floating point, of four bits and of one, wmma's too
//   mma_sp    the same of sparse A, with every selector
//   wmma      A, B and C are loaded from memory, D is stored to memory; and, because fragments of wmma are
//   opaque in the
//             PTX ISA, raw registers after wmma.load and before wmma.store
//   ldmatrix  ldmatrix, stmatrix, movmatrix
//   wgmma     matrices in shared memory as its descriptors say, accumulators as raw registers
//   wgmma_sp  the same of sparse A
//   layout    see layout.h
//
// Every floating-point or integer row computes at least 2^16 outputs for each class of operands.
//
// Tests: tests/unit/golden/, tests/golden/.
#pragma once

#include "golden/case.h"
#include "golden/matrix_values.h"
#include "isa/catalogue.h"

namespace lemma::golden {

std::vector<Case> mma_cases(std::string_view group);
std::vector<Case> wmma_cases(std::string_view group);
std::vector<Case> ldmatrix_cases(std::string_view group);
std::vector<Case> wgmma_cases(std::string_view group);
std::vector<Case> wgmma_sp_cases(std::string_view group);
std::vector<Case> wgmma_address_cases(); // of group wgmma: where descriptors lead
std::vector<Case> tma_cases(std::string_view group);

// The group that records the row; empty: none, the target has no such instruction.
std::string_view group_of(const isa::MatrixRow& row);
std::vector<Case> mma_narrow_cases(std::string_view group);

// What a spelling of a row fixes: the types of its matrices, D A B C.
struct MatrixSpelling {
  const isa::MatrixRow* row = nullptr;
  std::string text;
  isa::Type d = isa::Type::none, a = isa::Type::none, b = isa::Type::none, c = isa::Type::none;
};
std::vector<MatrixSpelling> matrix_spellings(const isa::MatrixRow& row);

// A case of mma or wmma.mma without its fill. A unit is a warp. Inputs: the registers of A, B and C, planes
// of [warp][register][lane][element], and of a sparse row the metadata, a word a lane; output: those of D.
// The parts follow each other, their units are multiples of four. `selector`: of a sparse row; dense: -1.
Case product_case(const MatrixSpelling& spelling, int selector, std::string name, std::vector<Part> parts);
// The same of wgmma, N columns: a unit is a warpgroup, planes of registers are [unit][register][thread]
// [element]. A is in registers; B, K-major and without a swizzle, in core matrices of 8 columns by 16 bytes
// of K, first along K. Output: the registers of D, which are C before.
Case wgmma_case(const MatrixSpelling& spelling, int n, int selector, std::string name,
                std::vector<Part> parts);

// wmma.load and wmma.store without a fill. Input: a tile in lines of its length and 16 bytes; or registers.
// Outputs: the registers of a load of dense lines from the tile's begin and of one of those lines; or the
// tiles, dense and with such lines.
Case wmma_transfer_case(const MatrixSpelling& spelling, std::string name, std::vector<Part> parts);
// ldmatrix and stmatrix without a fill, one part. Inputs: 64 rows of 16 bytes, or registers; and for every
// lane the offset of a row in bytes. Output: registers, or the rows. movmatrix: a word a thread, in and out.
Case moved_rows_case(const MatrixSpelling& spelling, uint64_t warps);

} // namespace lemma::golden
