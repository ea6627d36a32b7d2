// NVRTC's nvrtcCompileProgram gets -lineinfo as one option more; links.cc has nvJitLink's.
//
// Tests: tests/exec/preload_test.py.
#include "functions.h"
#include "stands.h"

#include <cstring>
#include <initializer_list>

namespace lemma::preload {

bool has_lines(size_t count, const char* const* options) {
  for (size_t i = 0; i < count; ++i)
    for (const char* each : {"-lineinfo", "--lineinfo", "--generate-line-info", "-G", "--device-debug", "-g"})
      if (options[i] && std::strcmp(options[i], each) == 0)
        return true;
  return false;
}

} // namespace lemma::preload

using namespace lemma::preload;

EXPORTED int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  const auto theirs = reinterpret_cast<decltype(&nvrtcCompileProgram)>(
      stand_of(reinterpret_cast<void*>(nvrtcCompileProgram)).found());
  if (!theirs || count < 0)
    return kInvalidInput;
  return with_lines(static_cast<size_t>(count), options, [&](size_t n, const char* const* all) {
    return theirs(program, static_cast<int>(n), all);
  });
}
