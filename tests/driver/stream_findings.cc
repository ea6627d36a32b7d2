// LEMMA_CHECK names operations of streams that use the same memory and that nothing orders.
#include "check.h"

#include <cstdlib>

namespace {

// Two kernels, each in a stream of its own, on the same memory; what is said of them.
std::string said_of(CUfunction add, bool ordered) {
  const CUdeviceptr x = allocate_ints(32);
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(cuMemsetD32_v2(x, 1, 32));
  const std::string said = stderr_of([&] {
    OK(launch(add, 1, 32, a, x, 1, 32));
    OK(cuEventRecord(event, a));
    if (ordered)
      OK(cuStreamWaitEvent(b, event, 0));
    OK(launch(add, 1, 32, b, x, 1, 32));
    OK(cuCtxSynchronize());
  });
  OK(cuMemFree_v2(x));
  OK(cuEventDestroy_v2(event));
  OK(cuStreamDestroy_v2(a));
  OK(cuStreamDestroy_v2(b));
  return said;
}

} // namespace

int main() {
  setenv("LEMMA_CHECK", "1", 1);
  begin();
  const CUmodule module = load_kernels();
  const CUfunction add = function(module, "add");
  const std::string said = said_of(add, false);
  CHECK(said.find("error[stream.race]: kernel add and kernel add use the same memory") != said.npos);
  CHECK(said.find("missing: an event") != said.npos);
  EQUAL(std::string(), said_of(add, true));
  return result();
}
