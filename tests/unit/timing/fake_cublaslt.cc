// Built as a libcublasLt.so.13 of its own, with cuBLAS's symbols as functions of C.
#include "fake_cublaslt.h"

#include "fake_cuda.h"
#include "timing/cublaslt.h"

#include <cstring>
#include <dlfcn.h>

using namespace lemma::timing::blas;

namespace {

fake_cublaslt::State g_state;

// Of the driver that the process has opened.
fake_cuda::State* driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library ? reinterpret_cast<decltype(&fake_cuda_state)>(dlsym(library, "fake_cuda_state"))()
                 : nullptr;
}

double number(DataType type, const void* at) {
  if (type == s32)
    return *static_cast<const int32_t*>(at);
  return type == f64 ? *static_cast<const double*>(at) : double{*static_cast<const float*>(at)};
}

} // namespace

extern "C" {

fake_cublaslt::State* fake_cublaslt_state() {
  return &g_state;
}

Status cublasLtCreate(Handle* handle) {
  ++g_state.handles;
  *handle = reinterpret_cast<Handle>(&g_state);
  return kSuccess;
}
Status cublasLtDestroy(Handle) {
  return --g_state.handles, kSuccess;
}
size_t cublasLtGetVersion() {
  return 130002;
}
const char* cublasLtGetStatusString(Status) {
  return "as the fake cuBLAS says";
}
Status cublasLtMatmulDescCreate(Description* description, Compute compute, DataType scale) {
  ++g_state.objects;
  auto* product = new fake_cublaslt::Product;
  product->compute = compute;
  product->scale = scale;
  *description = product;
  return kSuccess;
}
Status cublasLtMatmulDescDestroy(Description description) {
  --g_state.objects;
  delete static_cast<fake_cublaslt::Product*>(description);
  return kSuccess;
}
Status cublasLtMatmulDescSetAttribute(Description description, int attribute, const void* value,
                                      size_t bytes) {
  auto* product = static_cast<fake_cublaslt::Product*>(description);
  if (attribute == kDescriptionFastAccumulation && bytes == 1)
    product->fast_accumulation = *static_cast<const int8_t*>(value);
  else if (attribute == kDescriptionTransposesA && bytes == 4)
    std::memcpy(&product->transposes_a, value, bytes);
  else if (attribute == kDescriptionTransposesB && bytes == 4)
    std::memcpy(&product->transposes_b, value, bytes);
  else
    return kNotSupported;
  return kSuccess;
}
Status cublasLtMatrixLayoutCreate(Layout* layout, DataType type, uint64_t rows, uint64_t columns,
                                  int64_t leading) {
  ++g_state.objects;
  *layout = new fake_cublaslt::Layout{type, rows, columns, leading};
  return kSuccess;
}
Status cublasLtMatrixLayoutDestroy(Layout layout) {
  --g_state.objects;
  delete static_cast<fake_cublaslt::Layout*>(layout);
  return kSuccess;
}
Status cublasLtMatmulPreferenceCreate(Preference* preference) {
  ++g_state.objects;
  *preference = &g_state;
  return kSuccess;
}
Status cublasLtMatmulPreferenceDestroy(Preference) {
  return --g_state.objects, kSuccess;
}
Status cublasLtMatmulPreferenceSetAttribute(Preference, int attribute, const void*, size_t bytes) {
  return attribute == kPreferenceMostWorkspaceBytes && bytes == 8 ? kSuccess : kNotSupported;
}
// e5m2 times e5m2 it has not, as the real one.
Status cublasLtMatmulAlgoGetHeuristic(Handle, Description, Layout a, Layout, Layout, Layout, Preference,
                                      int wanted, Heuristic* results, int* count) {
  if (static_cast<fake_cublaslt::Layout*>(a)->type == e5m2)
    return kNotSupported;
  for (*count = 0; *count < wanted && *count < static_cast<int>(g_state.algorithm_ms.size()); ++*count) {
    results[*count] = {};
    results[*count].algorithm.data[0] = static_cast<uint64_t>(*count);
  }
  return kSuccess;
}
Status cublasLtMatmul(Handle, Description description, const void* alpha, const void* a, Layout a_layout,
                      const void* b, Layout b_layout, const void* beta, const void*, Layout, void* d,
                      Layout d_layout, const Algorithm* algorithm, void*, size_t workspace_bytes, Stream) {
  fake_cublaslt::Product product = *static_cast<fake_cublaslt::Product*>(description);
  product.algorithm = static_cast<int>(algorithm->data[0]);
  const double ms = g_state.algorithm_ms[algorithm->data[0]];
  if (ms < 0)
    return kNotSupported;
  if (fake_cuda::State* state = driver())
    state->clock_ms += ms;
  product.a = *static_cast<fake_cublaslt::Layout*>(a_layout);
  product.b = *static_cast<fake_cublaslt::Layout*>(b_layout);
  product.c = *static_cast<fake_cublaslt::Layout*>(d_layout);
  product.a_address = a;
  product.b_address = b;
  product.c_address = d;
  product.workspace_bytes = workspace_bytes;
  product.alpha = number(static_cast<DataType>(product.scale), alpha);
  product.beta = number(static_cast<DataType>(product.scale), beta);
  g_state.products.push_back(product);
  return kSuccess;
}

} // extern "C"
