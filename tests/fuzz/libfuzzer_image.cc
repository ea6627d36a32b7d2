// fuzz_image: cmake --preset fuzz && cmake --build --preset fuzz, then
// build-fuzz/bin/fuzz_image -max_len=16384 WORK_FOLDER tests/unit/image/images
#include "image.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const lemma::fuzz::Verdict verdict = lemma::fuzz::check_image({reinterpret_cast<const char*>(data), size});
  if (!verdict.failure.empty()) {
    std::fprintf(stderr, "%s\n", verdict.failure.c_str());
    std::abort();
  }
  return 0;
}
