// An archive that nvcc has made, and what calls it, become one module
#include "check.h"

int main() {
  begin();
  CUlinkState linker = nullptr;
  void* image = nullptr;
  size_t bytes = 0;
  CUmodule module = nullptr;
  const std::string images = FOLDER "../unit/image/images/";
  OK(cuLinkCreate_v2(0, nullptr, nullptr, &linker));
  OK(cuLinkAddFile_v2(linker, CU_JIT_INPUT_PTX, (images + "caller.ptx").c_str(), 0, nullptr, nullptr));
  OK(cuLinkAddFile_v2(linker, CU_JIT_INPUT_LIBRARY, (images + "library.a").c_str(), 0, nullptr, nullptr));
  OK(cuLinkComplete(linker, &image, &bytes));
  OK(cuModuleLoadData(&module, image));
  OK(cuLinkDestroy(linker));
  const CUdeviceptr x = allocate_ints(32);
  const float numbers[32] = {0, 21};
  OK(cuMemcpyHtoD_v2(x, numbers, sizeof numbers));
  OK(launch(function(module, "doubles"), 1, 32, nullptr, x));
  float doubled[2] = {};
  OK(cuMemcpyDtoH_v2(doubled, x, sizeof doubled));
  EQUAL(42.0f, doubled[1]);
  return result();
}
