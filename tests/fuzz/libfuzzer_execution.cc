// fuzz_execution: cmake --preset fuzz && cmake --build --preset fuzz, then
// build-fuzz/bin/fuzz_execution -max_len=512 WORK_FOLDER. The bytes are the generator's choices.
#include "execution.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto counts = std::make_unique<lemma::fuzz::ExecutionCounts>();
  auto rng = lemma::generate::Rng::of_bytes({data, size});
  const std::string failure = lemma::fuzz::check_execution(rng, *counts);
  if (!failure.empty()) {
    std::fprintf(stderr, "%s\n", failure.c_str());
    std::abort();
  }
  return 0;
}
