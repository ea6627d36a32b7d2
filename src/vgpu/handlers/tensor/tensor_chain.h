// Products that tcgen05.mma leaves for the next one, to be one with it (continues() of async/tensor_mma.h).
//
// One leaves its product where nothing but arithmetic in registers lies between it and the next tcgen05.mma,
// a straight line, and nobody watches. Who executes the warp multiplies what is left where it stops in
// between: at the end of a slice, at a fault, where another part of the warp goes on. So nothing that could
// see D or change A or B comes before the product.
//
// Not here: operations that are in flight in AsyncMode::late and random, each of which runs by itself.
//
// Tests: tests/unit/vgpu/tensor_chain_test.cc.
#pragma once

#include "vgpu/async/tensor_mma.h"

#include <array>
#include <span>
#include <utility>

namespace lemma::vgpu {

class TensorChain {
public:
  // Is this one product with what is left? False where nothing is.
  bool takes(const TensorMma& mma) const {
    return count_ != 0 && count_ < products_[0].product->longest_chain() &&
           continues(products_[count_ - 1], mma);
  }
  void add(TensorMma mma) { products_[count_++] = std::move(mma); }
  // All that are left, which are no longer.
  std::span<const TensorMma> take() { return {products_.data(), std::exchange(count_, 0)}; }

private:
  std::array<TensorMma, numeric::kMostInChain> products_;
  size_t count_ = 0;
};

// In decoded code, which instructions may leave their product; is this one? In tensor_mma.cc.
void find_tensor_chains(Code& code);
bool may_leave_product(const Code& code, const DecodedInst& in);

// A product that was issued in AsyncMode::eager, with what is left, which it may end.
void multiply_or_leave(Exec& x, TensorMma mma, bool may_leave);
// Exec::tensor_chain is not null.
void multiply_left(Exec& x);

} // namespace lemma::vgpu
