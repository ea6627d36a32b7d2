// Values that streams write to memory and wait for.
//
// Tests: tests/driver/memory_operations.cc.
#pragma once

#include "driver/operation.h"

#include <span>

namespace lemma::driver {

// Of a batch. CUDA_ERROR_INVALID_VALUE: there are too many, or none where there should be some, or it names
// no context.
CUresult make_memory_operations(const CUDA_BATCH_MEM_OP_NODE_PARAMS& parameters, MemoryOperations& made);
CUresult check_memory_operations(const MemoryOperations& several);
// A wait that nobody fulfils is the context's fault.
CUresult enqueue_memory_operations(const MemoryOperations& several, const lemma::Stream& queue,
                                   Context& context);

} // namespace lemma::driver
