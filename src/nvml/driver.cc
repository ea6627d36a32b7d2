// Loads the driver.
#include "nvml/driver.h"

#include "driver/beside.h"

#include <cstdio>

namespace lemma::nvml {
namespace {

const Driver* load() {
  void* library = driver::open_beside(reinterpret_cast<void*>(&load));
  if (!library) {
    std::fprintf(stderr, "lemma: there is no libcuda.so.1 beside libnvidia-ml.so.1\n");
    return nullptr;
  }
  auto* found = new Driver; // never destroyed: programs call from atexit handlers
  driver::Functions functions(library);
#define FUNCTION(symbol) functions.find(found->symbol, #symbol);
  LEMMA_NVML_ASKED(FUNCTION)
#undef FUNCTION
  return functions.are_complete() ? found : nullptr;
}

} // namespace

const Driver* driver() {
  static const Driver* once = load();
  return once;
}

} // namespace lemma::nvml
