// Each operation is one of the stream's. A barrier has nothing to do: whoever sees the value that a stream
// writes sees what came before it.
#include "driver/memory_operations.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"

#include <cstdio>
#include <string>

namespace lemma::driver {
namespace {

constexpr unsigned kMostOperations = 255;

bool is_64_bit(CUstreamBatchMemOpType type) {
  return type == CU_STREAM_MEM_OP_WAIT_VALUE_64 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

// Memory that a program has by the driver, and so much of it that is aligned.
CUresult check_word(CUdeviceptr address, uint32_t bytes) {
  const std::shared_ptr<Allocation> allocation = state().memory.find(address);
  return allocation && allocation->holds(address, bytes) && address % bytes == 0 ? CUDA_SUCCESS
                                                                                 : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_one(const CUstreamBatchMemOpParams& one) {
  switch (one.operation) {
  case CU_STREAM_MEM_OP_WAIT_VALUE_32:
  case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    if (one.waitValue.flags & ~unsigned{CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH})
      return CUDA_ERROR_INVALID_VALUE;
    if (one.waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH) // CAN_FLUSH_REMOTE_WRITES is 0
      return CUDA_ERROR_NOT_SUPPORTED;
    return check_word(one.waitValue.address, is_64_bit(one.operation) ? 8 : 4);
  case CU_STREAM_MEM_OP_WRITE_VALUE_32:
  case CU_STREAM_MEM_OP_WRITE_VALUE_64:
    if (one.writeValue.flags != CU_STREAM_WRITE_VALUE_DEFAULT) // an H200 refuses NO_MEMORY_BARRIER, too
      return CUDA_ERROR_INVALID_VALUE;
    return check_word(one.writeValue.address, is_64_bit(one.operation) ? 8 : 4);
  case CU_STREAM_MEM_OP_BARRIER:
    return one.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_VALUE;
  case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// CUstreamWaitValue_flags number them so.
WaitUntil condition_of(unsigned flags) {
  static_assert(static_cast<unsigned>(WaitUntil::geq) == CU_STREAM_WAIT_VALUE_GEQ &&
                static_cast<unsigned>(WaitUntil::eq) == CU_STREAM_WAIT_VALUE_EQ &&
                static_cast<unsigned>(WaitUntil::and_) == CU_STREAM_WAIT_VALUE_AND &&
                static_cast<unsigned>(WaitUntil::nor_) == CU_STREAM_WAIT_VALUE_NOR);
  return static_cast<WaitUntil>(flags);
}

CUresult enqueue_wait(const CUstreamBatchMemOpParams& one, const lemma::Stream& queue, Context& context) {
  const bool wide = is_64_bit(one.operation);
  return status_of(queue.wait_value(
      one.waitValue.address, wide ? one.waitValue.value64 : one.waitValue.value, wide ? 8 : 4,
      condition_of(one.waitValue.flags), [&context](const Result<void, Error>& waited) {
        if (waited || context.status() != CUDA_SUCCESS) // behind a fault nothing runs
          return;
        const bool in_vain = waited.error().kind == ErrorKind::kernel_failed;
        context.fail(in_vain ? CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_ERROR_ILLEGAL_ADDRESS);
        std::fputs(("lemma: " + waited.error().text + "\n").c_str(), stderr);
      }));
}

CUresult enqueue_one(const CUstreamBatchMemOpParams& one, const lemma::Stream& queue, Context& context) {
  switch (one.operation) {
  case CU_STREAM_MEM_OP_WAIT_VALUE_32:
  case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    return enqueue_wait(one, queue, context);
  case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    return status_of(queue.write_value(one.writeValue.address, one.writeValue.value, 4));
  case CU_STREAM_MEM_OP_WRITE_VALUE_64:
    return status_of(queue.write_value(one.writeValue.address, one.writeValue.value64, 8));
  case CU_STREAM_MEM_OP_BARRIER:
  case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    break;
  }
  return CUDA_SUCCESS;
}

} // namespace

CUresult make_memory_operations(const CUDA_BATCH_MEM_OP_NODE_PARAMS& parameters, MemoryOperations& made) {
  if (parameters.count > kMostOperations || (parameters.count && !parameters.paramArray) ||
      parameters.flags != 0 || !find_context(parameters.ctx))
    return CUDA_ERROR_INVALID_VALUE;
  made.operations.assign(parameters.paramArray, parameters.paramArray + parameters.count);
  made.parameters = parameters;
  made.parameters.paramArray = nullptr;
  return CUDA_SUCCESS;
}

CUresult check_memory_operations(const MemoryOperations& several) {
  for (const CUstreamBatchMemOpParams& each : several.operations)
    if (const CUresult wrong = check_one(each); wrong != CUDA_SUCCESS)
      return wrong;
  return CUDA_SUCCESS;
}

CUresult enqueue_memory_operations(const MemoryOperations& several, const lemma::Stream& queue,
                                   Context& context) {
  for (const CUstreamBatchMemOpParams& each : several.operations)
    if (const CUresult wrong = enqueue_one(each, queue, context); wrong != CUDA_SUCCESS)
      return wrong;
  return CUDA_SUCCESS;
}

namespace {

// A value of 32 bits lies in the first ones of a larger.
CUresult submit_one(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address, cuuint64_t value,
                    unsigned flags) {
  CUstreamBatchMemOpParams one{};
  if (type == CU_STREAM_MEM_OP_WAIT_VALUE_32 || type == CU_STREAM_MEM_OP_WAIT_VALUE_64)
    one.waitValue = {.operation = type, .address = address, .value64 = value, .flags = flags, .alias = 0};
  else
    one.writeValue = {.operation = type, .address = address, .value64 = value, .flags = flags, .alias = 0};
  return cuStreamBatchMemOp_v2(stream, 1, &one, 0);
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned count, CUstreamBatchMemOpParams* operations,
                               unsigned flags) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    MemoryOperations several;
    if (const CUresult wrong = make_memory_operations(
            {.ctx = stream.context->handle(), .count = count, .paramArray = operations, .flags = flags},
            several);
        wrong != CUDA_SUCCESS)
      return wrong;
    return stream.submit(std::move(several));
  });
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return submit_one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return submit_one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return submit_one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return submit_one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}
