// What a warp's part of a wgmma.mma_async reads of shared memory: all of B, and of A the 16 rows that its
// part of the result has. The PTX ISA does not say that no warp reads the others' rows; FlashAttention-3
// rests on it: each warp writes its own rows of A, and synchronizes with nobody else.
//
// Not here: what the operation of all four warps reads, AsyncOperation::each_source().
//
// PTX ISA: "wgmma.mma_async". Tests: the kernels of async.unwaited in docs/checks.md
// (tests/check/docs_test.py).
#pragma once

#include "vgpu/async_operation.h"

namespace lemma::vgpu {

// `warp`: its index in the CTA.
void each_source_of_warp(const AsyncOperation& wgmma, uint32_t warp, const AsyncOperation::Visit& visit);

} // namespace lemma::vgpu
