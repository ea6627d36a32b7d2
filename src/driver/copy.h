// Copies and fills in every shape, as operations.
//
// Tests: tests/driver/copies_1d.cc, copies_2d.cc, copies_3d.cc, fills.cc.
#pragma once

#include "driver/operation.h"

namespace lemma::driver {

CUresult check_copy(const CUDA_MEMCPY3D& copy);
CUresult run_copy(const CUDA_MEMCPY3D& copy);
CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& fill);
CUresult run_fill(const CUDA_MEMSET_NODE_PARAMS& fill);

} // namespace lemma::driver
