// Copies: the runtime's parameters as the driver's.
//
// Tests: tests/cudart/copies.cc, copies_shapes.cc.
#pragma once

#include "cudart/runtime.h"

namespace lemma::cudart {

cudaError_t copy(const Driver& driver, void* destination, const void* source, size_t bytes,
                 cudaMemcpyKind kind);
cudaError_t copy_async(const Driver& driver, void* destination, const void* source, size_t bytes,
                       cudaMemcpyKind kind, cudaStream_t stream);

// Where the sides are that are no array.
CUmemorytype source_type(cudaMemcpyKind kind);
CUmemorytype destination_type(cudaMemcpyKind kind);

// cudaErrorInvalidMemcpyDirection: `kind` is none. Both ways, for nodes of graphs.
cudaError_t to_driver(const Driver& driver, const cudaMemcpy3DParms& parameters, CUDA_MEMCPY3D& copy);
cudaMemcpy3DParms from_driver(const Driver& driver, const CUDA_MEMCPY3D& copy);

// A copy of one row, likewise.
cudaMemcpy3DParms row(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind);

} // namespace lemma::cudart
