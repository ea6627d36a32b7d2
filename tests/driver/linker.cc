// Two texts of relocatable code become one module.
#include "check.h"

namespace {

std::string contents(const char* name) {
  std::ifstream file(std::string(FOLDER) + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace

int main() {
  begin();
  CUlinkState linker = nullptr;
  char log[512] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  OK(cuLinkCreate_v2(2, options, values, &linker));
  std::string main_text = contents("linked_main.ptx");
  OK(cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, main_text.data(), main_text.size() + 1, "main.ptx", 0,
                      nullptr, nullptr));
  void* image = nullptr;
  size_t bytes = 0;
  FAILS(CUDA_ERROR_INVALID_SOURCE, cuLinkComplete(linker, &image, &bytes)); // half of it
  CHECK(std::strstr(log, "helper") != nullptr);
  OK(cuLinkDestroy(linker));
  values[1] = reinterpret_cast<void*>(sizeof log);
  OK(cuLinkCreate_v2(2, options, values, &linker));
  OK(cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, main_text.data(), main_text.size() + 1, "main.ptx", 0,
                      nullptr, nullptr));
  OK(cuLinkAddFile_v2(linker, CU_JIT_INPUT_PTX, (std::string(FOLDER) + "linked_helper.ptx").c_str(), 0,
                      nullptr, nullptr));
  OK(cuLinkComplete(linker, &image, &bytes));
  CHECK(bytes > 0);
  CUmodule module = nullptr;
  OK(cuModuleLoadData(&module, image));
  OK(cuLinkDestroy(linker));
  if (!on_gpu())
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(linker));
  const CUdeviceptr out = allocate_ints(33);
  OK(launch(function(module, "calls_helper"), 1, 32, nullptr, out));
  const std::vector<int> got = read_ints(out, 33);
  EQUAL(94, got[31]);
  EQUAL(40, got[32]);

  // The older symbols are the same.
  OK(cuLinkCreate(0, nullptr, nullptr, &linker));
  OK(cuLinkAddData(linker, CU_JIT_INPUT_PTX, main_text.data(), main_text.size() + 1, "a", 0, nullptr,
                   nullptr));
  OK(cuLinkAddFile(linker, CU_JIT_INPUT_PTX, (std::string(FOLDER) + "linked_helper.ptx").c_str(), 0, nullptr,
                   nullptr));
  FAILS(CUDA_ERROR_FILE_NOT_FOUND,
        cuLinkAddFile_v2(linker, CU_JIT_INPUT_PTX, "/no/such", 0, nullptr, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, nullptr, 0, "a", 0, nullptr, nullptr));
  OK(cuLinkComplete(linker, &image, nullptr));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuLinkComplete(nullptr, &image, nullptr));
  OK(cuLinkDestroy(linker));
  return result();
}
