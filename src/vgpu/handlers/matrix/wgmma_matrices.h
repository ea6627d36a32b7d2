// The matrices A and B of wgmma as they come from shared memory: rows with K along them, as numeric::dot()
// wants them; B in the form in which its loops take it, too.
//
// Not here: where a descriptor's chunks lie (layout/smem_descriptor.h), what is reported of those outside the
// CTA's memory (wgmma.cc), A in registers.
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions", "Shared Memory Matrix Layout".
// Tests: tests/unit/vgpu/wgmma_test.cc; recorded hardware bits: tests/golden, groups wgmma and wgmma_sp.
#pragma once

#include "layout/smem_descriptor.h"
#include "numeric/dot.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace lemma::vgpu {

// K of a matrix takes 32 bytes, of the B of a sparse product 64.
inline constexpr uint32_t kWgmmaRowChunks = 32 / layout::kChunkBytes;
inline constexpr uint32_t kWgmmaSparseRowChunks = 2 * kWgmmaRowChunks;

struct Cta;

// Is all of the CTA's shared memory written from the first chunk of a K-major matrix to the last? Looked at
// where that is soon found: rows are a multiple of 8, and eights of them whole patterns of the swizzle apart.
bool lies_in_written(const Cta& cta, const layout::SmemDescriptor& descriptor, uint32_t rows,
                     uint32_t row_chunks);

struct WgmmaMatrix {
  uint64_t descriptor = 0;
  bool mn_major = false;                 // "transposed"; of 16-bit elements
  uint32_t negate = 0;                   // sign bits to flip, in each 32-bit word
  uint32_t row_chunks = kWgmmaRowChunks; // along K

  // The same at another place.
  WgmmaMatrix at(uint64_t other_descriptor) const {
    WgmmaMatrix out = *this;
    out.descriptor = other_descriptor;
    return out;
  }
  friend bool operator==(const WgmmaMatrix&, const WgmmaMatrix&) = default;
};

// The 64 rows of A, 32 bytes each, `stride` bytes apart. `shared`: the CTA's shared memory.
void gather_rows(const WgmmaMatrix& matrix, const std::byte* shared, std::byte* rows, size_t stride);

// Flips the sign bits in each word of so many bytes.
void negate(std::byte* tile, size_t bytes, uint32_t sign_bits);

// In which order dot() sees the columns of B, and so those of C and D: as they are, or of each eight the even
// ones first, as registers hold elements of 32 bits.
enum class ColumnOrder : uint8_t { as_is, even_first };

struct WgmmaColumns {
  const std::byte* tile; // [n][k]
  const numeric::ArrangedB* arranged;
};

// All of B, for products of the plan: along K one part after the other, each at its descriptor (that of
// `matrix` is not looked at). The result stays until the thread's next call. What was last seen at the place
// is remembered: warpgroups that have the same B multiply by it one after the other.
WgmmaColumns columns_of(const WgmmaMatrix& matrix, std::span<const uint64_t> descriptors,
                        const std::byte* shared, ColumnOrder order, const numeric::DotPlan& product);

} // namespace lemma::vgpu
