// What is no module, and how that is said: in the program's log.
#include "check.h"

namespace {

CUresult load(const char* text, std::string& log) {
  CUmodule module = nullptr;
  std::vector<char> buffer(2000, '?');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {buffer.data(), reinterpret_cast<void*>(buffer.size())};
  const CUresult status = cuModuleLoadDataEx(&module, text, 2, options, values);
  log = buffer[0] == '?' ? "" : buffer.data();
  if (!log.empty())
    EQUAL(log.size(), reinterpret_cast<size_t>(values[1]));
  return status;
}

} // namespace

int main() {
  begin();
  std::string log;
  FAILS(CUDA_ERROR_INVALID_PTX,
        load(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { nonsense; }\n", log));
  CHECK(log.find("nonsense") != log.npos);
  CHECK(on_gpu() || log.find(":4:") != log.npos); // its place
  FAILS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        load(".version 99.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n", log));
  FAILS(CUDA_ERROR_INVALID_IMAGE, load("hello", log));
  FAILS(CUDA_ERROR_INVALID_PTX, // of another machine
        load(".version 9.0\n.target sm_120\n.address_size 64\n.visible .entry k() { ret; }\n", log));
  CHECK(!log.empty());
  CUmodule module = nullptr;
  const unsigned char bytes[16] = {1, 2, 3};
  FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, bytes));
  // A fatbin's header that says 4 GiB, with nothing behind it: in a file the size is known.
  const unsigned char truncated[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 0};
  char name[] = "/tmp/lemma_truncated_XXXXXX";
  const int file = mkstemp(name);
  CHECK(write(file, truncated, sizeof truncated) == sizeof truncated);
  close(file);
  CUlibrary library = nullptr;
  if (!on_gpu()) {
    FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoad(&module, name));
    FAILS(CUDA_ERROR_INVALID_IMAGE,
          cuLibraryLoadFromFile(&library, name, nullptr, nullptr, 0, nullptr, nullptr, 0));
  }
  unlink(name);
  CUjit_option wrong[] = {static_cast<CUjit_option>(999)};
  void* values[] = {nullptr};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&module, kernels_text().c_str(), 1, wrong, values));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&module, kernels_text().c_str(), 1, nullptr, nullptr));
  // A log that is too short is cut.
  char small[8] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* small_values[] = {small, reinterpret_cast<void*>(sizeof small)};
  FAILS(CUDA_ERROR_INVALID_PTX,
        cuModuleLoadDataEx(&module, ".version 8.0\nnonsense", 2, options, small_values));
  EQUAL(size_t{7}, std::strlen(small));
  return result();
}
