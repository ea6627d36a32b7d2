// Copies and fills in every shape, as operations.
//
// Tests: tests/driver/copies_1d.cc, copies_2d.cc, copies_3d.cc, fills.cc.
#pragma once

#include "driver/operation.h"

namespace lemma::driver {

CUresult check_copy(const CUDA_MEMCPY3D& copy);
CUresult enqueue_copy(const CUDA_MEMCPY3D& copy, const lemma::Stream& queue, HostMemoryIsRead when);
// Whether it writes memory that the program expects to be written when the
// function returns: the host's own.
bool writes_plain_host_memory(const CUDA_MEMCPY3D& copy);
CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& fill);
CUresult enqueue_fill(const CUDA_MEMSET_NODE_PARAMS& fill, const lemma::Stream& queue);

} // namespace lemma::driver
