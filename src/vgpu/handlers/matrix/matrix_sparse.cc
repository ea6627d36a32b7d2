// Decoding of sparse metadata. See matrix_sparse.h.
#include "vgpu/handlers/matrix/matrix_sparse.h"

#include "lemma/report.h"

#include <fmt/format.h>

#include <cassert>
#include <optional>

namespace lemma::vgpu {
namespace {

constexpr int kRows = 16;

uint16_t legal_values(const layout::SparseChunk& chunk, bool ordered) {
  uint16_t legal = 0;
  for (uint32_t v = 0; v < 16; ++v) {
    const uint32_t first = v & 3, second = v >> 2;
    const bool is_legal = chunk.stored == 1 ? v == layout::kFirstColumn || v == layout::kSecondColumn
                          : ordered         ? first < second
                                            : first != second;
    legal = static_cast<uint16_t>(legal | uint32_t{is_legal} << v);
  }
  return legal;
}

} // namespace

SparseIndex::SparseIndex(int k, int element_bits, int selector, bool ordered)
    : chunk_(layout::sparse_chunk(element_bits)), chunks_(k / chunk_.columns),
      stored_(chunks_ * chunk_.stored), legal_(legal_values(chunk_, ordered)),
      same_(layout::same_indices(chunk_)), ordered_(ordered) {
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
  const uint16_t runs = x.launch->config.check ? legal_ : legal_ | same_;
  std::optional<size_t> doubtful;
  for (size_t chunk = 0; chunk < fields_.size(); ++chunk) {
    const uint32_t bits = bits_of(chunk, metadata);
    if ((legal_ >> bits & 1) != 0)
      continue;
    if ((runs >> bits & 1) == 0) {
      fault(x, in, chunk, bits);
      return false;
    }
    if (!doubtful)
      doubtful = chunk;
  }
  if (doubtful)
    x.remark(in, fmt::format("{}: the PTX ISA leaves undefined what two indices that are the same choose, an "
                             "error with --check. In this run both elements meet the one column; where they "
                             "are zeros it makes no difference",
                             text_of(*doubtful, bits_of(*doubtful, metadata))));
  return true;
}

void SparseIndex::decode(const uint32_t* metadata, uint8_t* index) const {
  for (size_t chunk = 0; chunk < fields_.size(); ++chunk) {
    const int first = static_cast<int>(chunk) % chunks_ * chunk_.columns;
    for (int element = 0; element < chunk_.stored; ++element)
      *index++ =
          static_cast<uint8_t>(first + layout::stored_column(chunk_, bits_of(chunk, metadata), element));
  }
}

std::string SparseIndex::text_of(size_t chunk, uint32_t bits) const {
  const Field& field = fields_[chunk];
  const int row = static_cast<int>(chunk) / chunks_,
            column = static_cast<int>(chunk) % chunks_ * chunk_.columns;
  return fmt::format("the metadata of row {}, columns {} to {} of A, bits {} to {} of lane {}, is {:#06b}",
                     row, column, column + chunk_.columns - 1, field.bit, field.bit + 3, field.lane, bits);
}

void SparseIndex::fault(Exec& x, const DecodedInst& in, size_t chunk, uint32_t bits) const {
  const char* legal =
      chunk_.stored == 1 ? "0b0100, the first of the two columns, or 0b1110, the second"
      : ordered_ ? "two different indices of two bits, the smaller in the low bits: 0b0100, 0b1000, 0b1001, "
                   "0b1100, 0b1101, 0b1110"
                 : "two different indices of two bits: not 0b0000, 0b0101, 0b1010, 0b1111";
  std::vector<std::string> notes = {fmt::format("legal: {}", legal)};
  if (ordered_ && chunk_.stored != 1 && (bits & 3) > bits >> 2)
    notes.push_back("plain .sp takes indices in any order");
  x.fault(in, FaultKind::illegal_instruction, text_of(chunk, bits) + " (undefined behaviour)",
          fields_[chunk].lane, std::move(notes));
}

} // namespace lemma::vgpu
