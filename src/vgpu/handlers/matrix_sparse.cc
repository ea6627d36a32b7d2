// Decoding of sparse metadata. See matrix_sparse.h.
#include "vgpu/handlers/matrix_sparse.h"

#include "lemma/report.h"

#include <fmt/format.h>

#include <cassert>

namespace lemma::vgpu {
namespace {

constexpr int kRows = 16;
constexpr uint32_t kFirstHalf = 0b0100, kSecondHalf = 0b1110; // of 1:2

uint16_t legal_values(const layout::SparseChunk& chunk, bool ordered) {
  uint16_t legal = 0;
  for (uint32_t v = 0; v < 16; ++v) {
    const uint32_t first = v & 3, second = v >> 2;
    const bool is_legal = chunk.stored == 1 ? v == kFirstHalf || v == kSecondHalf
                          : ordered         ? first < second
                                            : first != second;
    legal = static_cast<uint16_t>(legal | uint32_t{is_legal} << v);
  }
  return legal;
}

} // namespace

SparseIndex::SparseIndex(int k, int element_bits, int selector, bool ordered)
    : chunk_(layout::sparse_chunk(element_bits)), chunks_(k / chunk_.columns),
      stored_(chunks_ * chunk_.stored), legal_(legal_values(chunk_, ordered)), ordered_(ordered) {
  const layout::Fragment layout = layout::metadata_fragment(kRows, k, element_bits);
  const int first_lane = selector * layout::metadata_lanes(layout);
  for (int row = 0; row < kRows; ++row)
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      const std::optional<layout::Place> place = layout.find({row, chunk});
      assert(place);
      fields_.push_back({static_cast<uint8_t>(place->lane + first_lane),
                         static_cast<uint8_t>(place->elem * layout::kMetadataBits)});
    }
}

LaneMask SparseIndex::lanes() const {
  LaneMask lanes = 0;
  for (const Field& field : fields_)
    lanes |= LaneMask{1} << field.lane;
  return lanes;
}

bool SparseIndex::check(Exec& x, const DecodedInst& in, const uint32_t* metadata) const {
  for (size_t chunk = 0; chunk < fields_.size(); ++chunk)
    if (const uint32_t bits = bits_of(chunk, metadata); (legal_ >> bits & 1) == 0) {
      fault(x, in, chunk, bits);
      return false;
    }
  return true;
}

void SparseIndex::decode(const uint32_t* metadata, uint8_t* index) const {
  const uint32_t repeat = chunk_.stored == 4 ? 2 : 1; // columns that go with an index
  for (size_t chunk = 0; chunk < fields_.size(); ++chunk) {
    const uint32_t bits = bits_of(chunk, metadata);
    const auto first = static_cast<uint32_t>(static_cast<int>(chunk) % chunks_ * chunk_.columns);
    if (chunk_.stored == 1) {
      *index++ = static_cast<uint8_t>(first + (bits == kSecondHalf));
      continue;
    }
    for (const uint32_t place : {bits & 3, bits >> 2})
      for (uint32_t column = 0; column < repeat; ++column)
        *index++ = static_cast<uint8_t>(first + place * repeat + column);
  }
}

void SparseIndex::fault(Exec& x, const DecodedInst& in, size_t chunk, uint32_t bits) const {
  const Field& field = fields_[chunk];
  const int row = static_cast<int>(chunk) / chunks_,
            column = static_cast<int>(chunk) % chunks_ * chunk_.columns;
  const char* legal =
      chunk_.stored == 1 ? "0b0100, the first of the two columns, or 0b1110, the second"
      : ordered_ ? "two different indices of two bits, the smaller in the low bits: 0b0100, 0b1000, 0b1001, "
                   "0b1100, 0b1101, 0b1110"
                 : "two different indices of two bits: not 0b0000, 0b0101, 0b1010, 0b1111";
  std::vector<std::string> notes = {fmt::format("legal: {}", legal)};
  if (ordered_ && chunk_.stored != 1 && (bits & 3) > bits >> 2)
    notes.push_back("plain .sp takes indices in any order");
  x.fault(in, FaultKind::illegal_instruction,
          fmt::format("the metadata of row {}, columns {} to {} of A, bits {} to {} of lane {}, is {:#06b} "
                      "(undefined behaviour)",
                      row, column, column + chunk_.columns - 1, field.bit, field.bit + 3, field.lane, bits),
          field.lane, std::move(notes));
}

} // namespace lemma::vgpu
