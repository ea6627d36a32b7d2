// The list's ends are symbols of late_init.ld, null where it is not used.
#include "nvgpu/late_init.h"

#include <mutex>

using Initializer = void (*)(int, char**, char**);

extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const Initializer lemma_late_init_begin[];
[[gnu::weak, gnu::visibility("hidden")]] extern const Initializer lemma_late_init_end[];
}

namespace lemma::nvgpu {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Initializer* at = lemma_late_init_begin; at != lemma_late_init_end; ++at)
      (*at)(0, nullptr, nullptr);
  });
}

} // namespace lemma::nvgpu
