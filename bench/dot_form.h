// One product by numeric::dot() as a benchmark: a dense tile of one instruction's size, on one core.
#pragma once

#include "numeric/dot.h"
#include "numeric/dot_levels.h"
#include "table.h"

#include <new>
#include <string>
#include <vector>

namespace lemma::bench {

// Arrays as the virtual GPU has them: no row of a tile crosses a line of the cache.
template <class T>
struct LineAligned {
  using value_type = T;
  LineAligned() = default;
  template <class U>
  LineAligned(const LineAligned<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* array, size_t) { ::operator delete(array, kLine); }
  friend bool operator==(const LineAligned&, const LineAligned&) { return true; }

private:
  static constexpr std::align_val_t kLine{64};
};
template <class T>
using Array = std::vector<T, LineAligned<T>>;

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

// The product of `tile`, 64 rows of 32 bytes: 16 rows after the other by `plan`, with B arranged once for all
// four. C and D have 32-bit elements.
MatrixOutputs dot_of_warpgroup(const numeric::DotPlan& plan, const numeric::DotTile& tile,
                               numeric::ArrangedB& arranged, numeric::DotScratch& scratch);

} // namespace lemma::bench
