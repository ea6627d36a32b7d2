// What every function does around its body: what it is called, which handle, that arguments are legal, that
// no exception leaves; and how work gets into the handle's stream.
//
// Tests: tests/cublas.
#pragma once

#include "cublas/driver.h"
#include "cublas/element.h"
#include "cublas/types.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

// A handle: how its calls are made.
struct cublasContext {
  CUstream stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  int math_mode = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  int sm_count_target = 0;

  bool wants_tf32() const { return (math_mode & 15) == CUBLAS_TF32_TENSOR_OP_MATH; }
};

namespace lemma::cublas {

// What ends a call: its status.
struct Refusal {
  cublasStatus_t status;
};
// What ends work in a stream: the context's fault.
struct Fault {
  CUresult status;
};

inline void require(bool is_so, cublasStatus_t otherwise = CUBLAS_STATUS_INVALID_VALUE) {
  if (!is_so)
    throw Refusal{otherwise};
}

// The function of the API that this thread is in.
class Named {
public:
  explicit Named(const char* symbol) : outer_(std::exchange(symbol_, symbol)) {}
  ~Named() { symbol_ = outer_; }
  Named(const Named&) = delete;
  static const char* symbol() { return symbol_; }

private:
  static thread_local const char* symbol_;
  const char* const outer_;
};

// Body: cublasStatus_t().
template <class Body>
cublasStatus_t called(const char* symbol, Body&& body) noexcept {
  const Named named(symbol);
  try {
    return body();
  } catch (const Refusal& refusal) {
    return refusal.status;
  } catch (const std::bad_alloc&) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  } catch (...) {
    return CUBLAS_STATUS_INTERNAL_ERROR;
  }
}

// Returns CUBLAS_STATUS_NOT_SUPPORTED; with LEMMA_VERBOSE set, a line on standard error names the function.
cublasStatus_t refuse(const char* symbol);

// The handle's, or it is none.
inline cublasContext& checked(cublasHandle_t handle) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  return *handle;
}

// The device's memory while work runs in a stream.
class Memory {
public:
  explicit Memory(const CUlemmaMemory& memory) : memory_(memory) {}

  void read(void* to, CUdeviceptr from, size_t row_bytes, int64_t rows, size_t pitch_bytes) const {
    ended(memory_.read(&memory_, to, from, row_bytes, static_cast<size_t>(rows), pitch_bytes));
  }
  void write(CUdeviceptr to, const void* from, size_t row_bytes, int64_t rows, size_t pitch_bytes) const {
    ended(memory_.write(&memory_, to, from, row_bytes, static_cast<size_t>(rows), pitch_bytes));
  }

private:
  static void ended(CUresult status) {
    if (status != CUDA_SUCCESS)
      throw Fault{status};
  }
  const CUlemmaMemory& memory_;
};

// Gives the stream what Body, void(const Memory&), computes; a graph may run it often, at the same time too.
// cuBLAS's status of what cuLemmaCompute says.
cublasStatus_t submit(CUstream stream, CUlemmaWork work);
template <class Body>
cublasStatus_t compute(CUstream stream, Body body) {
  const auto run = [](const void* data, const CUlemmaMemory* memory) -> CUresult {
    try {
      (*static_cast<const Body*>(data))(Memory(*memory));
      return CUDA_SUCCESS;
    } catch (const Fault& fault) {
      return fault.status;
    } catch (const std::bad_alloc&) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
      return CUDA_ERROR_UNKNOWN;
    }
  };
  return submit(stream, {.name = Named::symbol(),
                         .run = run,
                         .release = [](void* data) { delete static_cast<Body*>(data); },
                         .data = new Body(std::move(body))});
}
// The same, and waits for it.
cublasStatus_t wait_for(CUstream stream);

// An alpha, a beta: a number, or where it will be in the device's memory.
class Scalar {
public:
  Scalar(const cublasContext& handle, cudaDataType type, const void* at)
      : Scalar(handle.pointer_mode, type, at) {}
  Scalar(cublasPointerMode_t mode, cudaDataType type, const void* at)
      : type_(type), on_device_(mode == CUBLAS_POINTER_MODE_DEVICE ? reinterpret_cast<CUdeviceptr>(at) : 0) {
    require(at != nullptr);
    if (on_device_ == 0)
      std::memcpy(value_.data(), at, bytes_of(type));
  }
  // One that the caller has.
  explicit Scalar(double value) : type_(CUDA_R_64F) { std::memcpy(value_.data(), &value, sizeof value); }

  template <class V>
  V get(const Memory& memory) const {
    std::array<std::byte, 16> value = value_;
    if (on_device_ != 0)
      memory.read(value.data(), on_device_, bytes_of(type_), 1, 0);
    V result{};
    decode(type_, value.data(), 1, &result);
    return result;
  }

private:
  cudaDataType type_;
  CUdeviceptr on_device_ = 0;
  std::array<std::byte, 16> value_{};
};

// Where a function gives results of so many bytes: to the device's memory in the order of the stream, or to
// the host's, and the function waits for them.
class Result {
public:
  Result(const cublasContext& handle, void* at, size_t bytes)
      : to_(at), on_device_(handle.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    require(at != nullptr);
    if (!on_device_)
      kept_ = std::make_shared<std::vector<std::byte>>(bytes);
  }
  void give(const Memory& memory, const void* from, size_t bytes, size_t offset = 0) const {
    if (on_device_)
      memory.write(reinterpret_cast<CUdeviceptr>(to_) + offset, from, bytes, 1, 0);
    else
      std::memcpy(kept_->data() + offset, from, bytes);
  }
  // After compute().
  cublasStatus_t fetch(const cublasContext& handle, cublasStatus_t so_far) const {
    if (so_far != CUBLAS_STATUS_SUCCESS || on_device_)
      return so_far;
    const cublasStatus_t status = wait_for(handle.stream);
    if (status == CUBLAS_STATUS_SUCCESS)
      std::memcpy(to_, kept_->data(), kept_->size());
    return status;
  }

private:
  void* to_;
  bool on_device_;
  std::shared_ptr<std::vector<std::byte>> kept_;
};

inline CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// f(V()): in complex numbers if it is so, else in real ones.
template <class F>
auto with_values(bool complex, F&& f) {
  return complex ? f(Complex()) : f(double());
}

} // namespace lemma::cublas
