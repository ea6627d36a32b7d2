// The metadata of a sparse A, as mma.sp and wgmma.mma_async.sp take it from registers: which columns of B the
// stored elements of A meet.
//
// What the ISA leaves undefined is a fault: indices of a chunk that are the same, or, where the spelling or
// the instruction wants them in order, that fall; of tf32 anything but 0b0100 and 0b1110. But indices that
// are the same go on without --check, with a remark: CUTLASS's compressor writes 0b0000 for a chunk of zeros,
// and its kernels run on GPUs. Both elements meet the one column then, as measured on an H200
// (tests/golden/asked/same_indices.cu).
//
// PTX ISA: "Sparse matrix storage". Tests: tests/unit/vgpu/matrix_sparse_test.cc.
#pragma once

#include "layout/sparse.h"
#include "vgpu/engine/exec.h"

#include <string>
#include <vector>

namespace lemma::vgpu {

class SparseIndex {
public:
  SparseIndex() = default;
  // Of a warp's 16 rows. `k`: columns of B; `ordered`: indices must rise.
  SparseIndex(int k, int element_bits, int selector, bool ordered);

  int stored() const { return stored_; } // elements of a row
  LaneMask lanes() const;                // whose metadata registers are read

  // False after a fault: the lanes' metadata registers hold what is undefined, and no GPU is known to run.
  bool check(Exec& x, const DecodedInst& in, const uint32_t* metadata) const;
  // Fills index[16][stored()]: the column of B that each stored element meets, whatever the metadata is.
  void decode(const uint32_t* metadata, uint8_t* index) const;

private:
  // Where a chunk's four bits are. In the order of A: row after row.
  struct Field {
    uint8_t lane = 0;
    uint8_t bit = 0;
  };

  uint32_t bits_of(size_t chunk, const uint32_t* metadata) const {
    return metadata[fields_[chunk].lane] >> fields_[chunk].bit & 15;
  }
  // "the metadata of row 3, columns 4 to 7 of A, bits 4 to 7 of lane 12, is 0b0000"
  std::string text_of(size_t chunk, uint32_t bits) const;
  void fault(Exec& x, const DecodedInst& in, size_t chunk, uint32_t bits) const;

  layout::SparseChunk chunk_;
  int chunks_ = 0; // of a row
  int stored_ = 0;
  uint16_t legal_ = 0; // bit v: four bits of value v are
  uint16_t same_ = 0;  // are two indices that are the same
  bool ordered_ = false;
  std::vector<Field> fields_;
};

} // namespace lemma::vgpu
