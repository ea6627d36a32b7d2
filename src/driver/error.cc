// Names and texts of errors, from errors.def.
#include "driver/error.h"
#include "driver/api.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace lemma::driver {
namespace {

struct ErrorRow {
  CUresult error;
  const char* name;
  const char* text;
};
#define ERROR(name, text) {name, #name, text},
const ErrorRow kErrors[] = {
#include "driver/errors.def"
};
#undef ERROR

const ErrorRow* row_of(CUresult error) {
  const auto* row = std::find_if(std::begin(kErrors), std::end(kErrors),
                                 [&](const ErrorRow& each) { return each.error == error; });
  return row == std::end(kErrors) ? nullptr : row;
}

} // namespace

CUresult status_of(FaultKind kind) {
  switch (kind) {
  case FaultKind::out_of_bounds:
  case FaultKind::read_only:
  case FaultKind::call_too_deep: // measured on an H200: its stack ends where nothing is
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case FaultKind::misaligned:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case FaultKind::wrong_space:
    return CUDA_ERROR_INVALID_ADDRESS_SPACE;
  case FaultKind::assertion:
    return CUDA_ERROR_ASSERT;
  case FaultKind::bad_call: // measured on an H200
  case FaultKind::illegal_instruction:
    return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  case FaultKind::deadlock: // a GPU would hang until its watchdog comes
  case FaultKind::timeout:
  case FaultKind::too_many_instructions:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  case FaultKind::trap: // measured on an H200
  case FaultKind::breakpoint:
  case FaultKind::launch_failed:
  case FaultKind::stopped:
    return CUDA_ERROR_LAUNCH_FAILED;
  case FaultKind::out_of_memory:
    return CUDA_ERROR_OUT_OF_MEMORY;
  case FaultKind::unsupported:
    return CUDA_ERROR_NOT_SUPPORTED;
  case FaultKind::internal:
    return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

bool is_lemmas_own(FaultKind kind) {
  return kind == FaultKind::out_of_memory || kind == FaultKind::unsupported || kind == FaultKind::internal;
}

CUresult status_of(const Result<void, Error>& result) {
  return result ? CUDA_SUCCESS : status_of(result.error());
}

CUresult status_of(const Error& error) {
  switch (error.kind) {
  case ErrorKind::rejected:
    return CUDA_ERROR_INVALID_PTX;
  case ErrorKind::out_of_memory:
    return CUDA_ERROR_OUT_OF_MEMORY;
  case ErrorKind::unsupported:
    return CUDA_ERROR_NOT_SUPPORTED;
  case ErrorKind::unavailable:
    return CUDA_ERROR_NO_DEVICE;
  case ErrorKind::invalid_argument:
    return CUDA_ERROR_INVALID_VALUE;
  case ErrorKind::kernel_failed:
    return CUDA_ERROR_LAUNCH_FAILED;
  case ErrorKind::device_lost:
  case ErrorKind::internal:
    return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_ERROR_UNKNOWN;
}

} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  const ErrorRow* row = row_of(error);
  *name = row ? row->name : nullptr;
  return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  const ErrorRow* row = row_of(error);
  *text = row ? row->text : nullptr;
  return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
