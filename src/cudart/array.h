// Arrays: what the runtime calls a channel and the driver a format.
//
// Tests: tests/cudart/arrays.cc.
#pragma once

#include "cudart/runtime.h"

namespace lemma::cudart {

// cudaErrorInvalidChannelDescriptor: the driver has no such format.
cudaError_t format_of(const cudaChannelFormatDesc& from, CUarray_format& format, unsigned& channels);
cudaChannelFormatDesc channel_of(CUarray_format format, unsigned channels);

// cudaErrorInvalidResourceHandle: there is no such array.
cudaError_t describe(const Driver& driver, cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR& descriptor);
cudaError_t element_bytes_of(const Driver& driver, cudaArray_const_t array, size_t& bytes);

} // namespace lemma::cudart
