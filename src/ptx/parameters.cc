// Sums saturate: a declaration may say any size, and whoever checks sizes compares the sum.
#include "ptx/parameters.h"

#include "support/align.h"

#include <algorithm>

namespace lemma::ptx {

ParameterLayout lay_out_parameters(const Function& entry) {
  ParameterLayout layout;
  for (const Variable& parameter : entry.params) {
    const uint64_t begin = align_up(layout.bytes, std::max<uint64_t>(parameter.align, 1));
    const bool fits = begin >= layout.bytes && parameter.size_bytes <= UINT64_MAX - begin;
    layout.offsets.push_back(fits ? begin : UINT64_MAX);
    layout.bytes = fits ? begin + parameter.size_bytes : UINT64_MAX;
  }
  return layout;
}

} // namespace lemma::ptx
