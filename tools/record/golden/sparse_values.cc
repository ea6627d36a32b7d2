// Metadata. See sparse_values.h. The recorded bits depend on every line here.
#include "golden/sparse_values.h"

#include "layout/sparse.h"

#include <utility>

namespace lemma::golden {

uint64_t make_metadata(int element_bits, bool ordered, numeric::Random& random) {
  uint64_t word = 0;
  for (int chunk = 0; chunk < 32 / layout::kMetadataBits; ++chunk) {
    uint64_t bits;
    if (layout::sparse_chunk(element_bits).stored == 1) {
      bits = random.bits(1) != 0 ? 0b1110 : 0b0100;
    } else {
      uint64_t first = random.below(4), second = random.below(3);
      second += second >= first;
      if (ordered && first > second)
        std::swap(first, second);
      bits = first | second << 2;
    }
    word |= bits << (chunk * layout::kMetadataBits);
  }
  return word;
}

void pair_for_sparse(MatrixOperands& operands) {
  for (size_t i = 0; i < operands.b.size(); ++i)
    operands.b[i] = operands.b[i - i % 4];
}

} // namespace lemma::golden
