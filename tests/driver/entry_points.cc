// Functions by name: the version that is asked for decides, as does the default stream; the status may be
// left out. Tables that nobody has documented are refused.
#include "check.h"

namespace {

void* address_of(const char* name, int version, cuuint64_t flags, CUdriverProcAddressQueryResult wanted) {
  void* found = reinterpret_cast<void*>(1);
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const bool is_there = wanted == CU_GET_PROC_ADDRESS_SUCCESS;
  OK(cuGetProcAddress_v2(name, &found, version, flags, &status)); // what is not there is no error
  EQUAL(wanted, status);
  CHECK(is_there == (found != nullptr));
  return found;
}

constexpr auto kFound = CU_GET_PROC_ADDRESS_SUCCESS;
constexpr auto kTooOld = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
constexpr auto kUnknown = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

template <class F>
void* symbol(F* function) {
  return reinterpret_cast<void*>(function);
}

} // namespace

int main() {
  // Before cuInit, as the runtime does it.
  void* none = nullptr;
  OK(cuGetProcAddress_v2("", &none, 0, 0, nullptr));
  CHECK(address_of("cuMemAlloc", 3020, 0, kFound) == symbol(&cuMemAlloc_v2));
  CHECK(address_of("cuMemAlloc", 2000, 0, kFound) == symbol(&cuMemAlloc));
  CHECK(address_of("cuMemAlloc", 13000, 0, kFound) == symbol(&cuMemAlloc_v2));
  CHECK(address_of("cuCtxCreate", 11040, 0, kFound) == symbol(&cuCtxCreate_v3));
  CHECK(address_of("cuCtxCreate", 12040, 0, kFound) == symbol(&cuCtxCreate_v3));
  if (!on_gpu()) // bindings of a later CUDA ask so
    CHECK(address_of("cuCtxCreate", 14000, 0, kFound) == symbol(&cuCtxCreate_v4));
  address_of("cuGraphCreate", 9000, 0, kTooOld);
  address_of("cuNoSuchFunction", 13000, 0, kUnknown);
  address_of("cuMemAlloc_v2", 13000, 0, kUnknown); // a symbol, and no name
  address_of("cuDeviceGetUuid", 9020, 0, kFound);
  // Default streams.
  constexpr auto kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  CHECK(address_of("cuMemcpyHtoD", 7000, kPerThread, kFound) == symbol(&cuMemcpyHtoD_v2_ptds));
  address_of("cuMemcpyHtoD", 3020, kPerThread, kTooOld);
  CHECK(address_of("cuMemcpyHtoD", 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, kFound) ==
        symbol(&cuMemcpyHtoD_v2));
  CHECK(address_of("cuLaunchKernel", 7000, kPerThread, kFound) == symbol(&cuLaunchKernel_ptsz));
  CHECK(address_of("cuMemAlloc", 7000, kPerThread, kFound) == symbol(&cuMemAlloc_v2)); // there is but one
  // Itself.
  CHECK(address_of("cuGetProcAddress", 11030, 0, kFound) == symbol(&cuGetProcAddress));
  CHECK(address_of("cuGetProcAddress", 12000, 0, kFound) == symbol(&cuGetProcAddress_v2));
  void* old = nullptr;
  OK(cuGetProcAddress("cuInit", &old, 12000, 0));
  CHECK(old == symbol(&cuInit));
  FAILS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchFunction", &old, 12000, 0));
  // What is wrong.
  if (!on_gpu()) { // where these crash
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(nullptr, &none, 12000, 0, nullptr));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", nullptr, 12000, 0, nullptr));
  }
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", &none, 12000, 4, nullptr));

  if (on_gpu())
    return result();
  // No undocumented table: one message says how to build, and none to NVRTC, which can do without.
  CUuuid id = {};
  id.bytes[0] = 0x6b;
  const void* table = &id;
  const std::string said = stderr_of([&] { FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id)); });
  CHECK(said.find("nvcc -cudart shared") != said.npos);
  CHECK(said.find("a __managed__ variable is a null pointer") != said.npos);
  CHECK(table == nullptr);
  CUuuid nvrtc = {"\xda\x91\x51\xd3\x3a\xe6\xcc\x41\xa5\xc0\x4f\x26\xd5\x33\xe3"};
  nvrtc.bytes[15] = 0x28;
  const std::string silence = stderr_of([&] {
    FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGetExportTable(&table, &nvrtc));
  });
  EQUAL(std::string(), silence);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGetExportTable(&table, nullptr));
  OK(cuInit(0));
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id));

  // What is not implemented says so.
  CUarray array = nullptr;
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuArrayGetPlane(&array, nullptr, 0));
  return result();
}
