// One product by numeric::dot() as a benchmark: a dense tile of one instruction's size, on one core.
#pragma once

#include "numeric/dot.h"
#include "numeric/dot_levels.h"
#include "table.h"

#include <string>

namespace lemma::bench {

struct DotForm {
  std::string name; // of the instruction whose tile it is
  numeric::DotModel model;
  int m = 0, n = 0, k = 0;
  bool is_sparse = false; // two of four, or one of two; k counts all columns

  bool is_float() const { return model.scheme != numeric::DotScheme::integer && !is_bits(); }
  bool is_bits() const {
    return model.scheme == numeric::DotScheme::xor_popc || model.scheme == numeric::DotScheme::and_popc;
  }
};

// By the vectors of `level`. Operands are ordinary numbers, of which the loops for them have to take nearly
// all: else the row fails. At the host's best level the rate is put beside its peak.
void run_dot(benchmark::State& state, const DotForm& form, numeric::internal::DotLevel level);

} // namespace lemma::bench
