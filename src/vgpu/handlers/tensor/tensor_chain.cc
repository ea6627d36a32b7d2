// What a worker keeps of products that are left, and when it multiplies them. See tensor_chain.h.
#include "vgpu/handlers/tensor/tensor_chain.h"

namespace lemma::vgpu {

void multiply_left(Exec& x) {
  if (const std::span<const TensorMma> chain = x.tensor_chain->take(); !chain.empty())
    x.stats.matrix_outputs += execute(chain, x.dot_scratch);
}

void multiply_or_leave(Exec& x, TensorMma mma, bool may_leave) {
  if (!x.tensor_chain)
    x.tensor_chain = std::make_shared<TensorChain>();
  if (!x.tensor_chain->takes(mma)) {
    multiply_left(x);
    mark_written(mma); // as who comes next is to see them
  }
  x.tensor_chain->add(std::move(mma));
  if (!may_leave)
    multiply_left(x);
}

} // namespace lemma::vgpu
