// Tensor maps by the driver's own encoders: the hardware's 128 bytes are opaque.
#pragma once

#include "lemma/tensor_map.h"
#include "runtime/cuda_driver.h"

namespace lemma::runtime::cuda {

// Writes 128 bytes to `out`, which is aligned to 64. The map breaks no rule of layout::wrong_with(); the
// driver may know more of them.
Status encode_tensor_map(const Driver& driver, const TensorMap& map, void* out);

} // namespace lemma::runtime::cuda
