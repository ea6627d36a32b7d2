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

static bool same_variables(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Variable& x, const Variable& y) {
    return x.space == y.space && x.type == y.type && x.dims == y.dims && x.align == y.align &&
           x.vector_elems == y.vector_elems;
  });
}

bool same_parameters(const Function& a, const Function& b) {
  return same_variables(a.params, b.params) && same_variables(a.returns, b.returns);
}

} // namespace lemma::ptx
