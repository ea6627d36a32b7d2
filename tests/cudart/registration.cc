// Registering: relocatable code in parts, images without code for the machine, what goes with a library that
// is closed.
#include "check.h"

namespace {

const Kernel calls_helper{"calls_helper"}, other_indices{"indices"};

void relocatable() {
  DeviceCode code(
      {text_of_file(DEVICE_CODE "linked_main.ptx"), text_of_file(DEVICE_CODE "linked_helper.ptx")});
  code.kernel(calls_helper);
  code.end();
  int* x = allocate(33);
  OK(launch(calls_helper, 1, 32, 0, nullptr, x));
  const std::vector<int> got = read_ints(x, 33);
  CHECK(got[31] == 94 && got[32] == 40);
  code.unregister();
  FAILS(cudaErrorInvalidResourceHandle, cudaLaunchKernel(&calls_helper, 1, 32, nullptr, 0, nullptr));
}

// The launch says why, each time, and the message that names the option of nvcc comes once.
void no_code_for_the_machine() {
  DeviceCode code(".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry indices() { ret; }\n",
                  100);
  code.kernel(other_indices);
  code.end();
  const std::string said = stderr_of([&] {
    FAILS(cudaErrorNoKernelImageForDevice, launch(other_indices, 1, 32, 0, nullptr));
    FAILS(cudaErrorNoKernelImageForDevice, cudaGetLastError());
    FAILS(cudaErrorNoKernelImageForDevice, launch(other_indices, 1, 32, 0, nullptr));
    cudaFuncAttributes attributes{};
    FAILS(cudaErrorNoKernelImageForDevice, cudaFuncGetAttributes(&attributes, &other_indices));
  });
  CHECK(!said.empty() && said.find("sm_100a") == said.rfind("sm_100a"));
  code.unregister();
}

// Twice the same, as a library does that is closed and opened again.
void again() {
  for (int i = 0; i < 3; ++i) {
    DeviceCode code(text_of_file(KERNELS));
    code.kernel(other_indices);
    code.variable(&failures, "counter", 4);
    code.end();
    int* x = allocate(32);
    OK(launch(other_indices, 1, 32, 0, nullptr, x));
    EQUAL(31, read_ints(x, 32)[31]);
    void* at = nullptr;
    OK(cudaGetSymbolAddress(&at, &failures));
    code.unregister();
    FAILS(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&at, &failures));
  }
}

} // namespace

int main() {
  // Nothing is loaded before it is used; registering needs no device.
  CHECK(kernels.handle != nullptr);
  relocatable();
  no_code_for_the_machine();
  again();
  return result();
}
