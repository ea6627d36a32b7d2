// fuzz_front_end: cmake --preset fuzz && cmake --build --preset fuzz, then
// build-fuzz/bin/fuzz_front_end -dict=build-fuzz/ptx.dict -max_len=4096 WORK_FOLDER tests/fuzz/corpus
#include "front_end.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const lemma::fuzz::Verdict verdict =
      lemma::fuzz::check_front_end({reinterpret_cast<const char*>(data), size});
  if (!verdict.failure.empty()) {
    std::fprintf(stderr, "%s\n", verdict.failure.c_str());
    std::abort();
  }
  return 0;
}
