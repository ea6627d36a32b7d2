// Loads the driver.
#include "nvml/driver.h"

#include "driver/beside.h"

#include <cstdio>
#include <type_traits>

namespace lemma::nvml {
namespace {

const Driver* load() {
  void* library = driver::open_beside(reinterpret_cast<void*>(&load));
  if (!library) {
    std::fprintf(stderr, "lemma: there is no libcuda.so.1 beside libnvidia-ml.so.1\n");
    return nullptr;
  }
  auto* found = new Driver; // never destroyed: programs call from atexit handlers
  bool is_complete = true;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
    is_complete &= function != nullptr;
  };
#define FUNCTION(symbol) find(found->symbol, #symbol);
  LEMMA_NVML_ASKED(FUNCTION)
#undef FUNCTION
  return is_complete ? found : nullptr;
}

} // namespace

const Driver* driver() {
  static const Driver* once = load();
  return once;
}

} // namespace lemma::nvml
