// A function of NVIDIA's that one here stands in front of, and how the library's own is found.
//
// A program comes to these functions in two ways. Linked with the library, it finds the ones here first.
// Looking them up by dlsym(), as the Python bindings do, in a library that was opened RTLD_LOCAL, it gets the
// ones here from dlsym() of dlsym.cc, which remembers the library's. Not seen: a library that is linked
// statically, or that looks symbols up by dlvsym().
//
// Tests: tests/exec/preload_test.py.
#pragma once

#include <cstddef>

namespace lemma::preload {

// One name: what stands for it here, and the library's function once it is known.
struct Stand {
  const char* library; // the file's name begins so
  const char* symbol;
  void* mine;
  void* theirs = nullptr;

  // The library's own; null: no library that is loaded has it.
  void* found();
  // What a lookup gives that has found this. Two libraries of one name (of two toolkits): the second is left
  // alone.
  void* instead_of(void* looked_up);
};

// Of a name and of a function here; null: there is none.
Stand* stand_named(const char* symbol);
Stand& stand_of(void* mine);

// Whether -lineinfo or more is among the options.
bool has_lines(size_t count, const char* const* options);

constexpr int kInvalidInput = 3; // NVRTC_ERROR_INVALID_INPUT; nvJitLink has no name of its own for it
constexpr size_t kMostOptions = 4096;

// Calls f(count, options) with -lineinfo as one option more, unless it is there.
template <class F>
int with_lines(size_t count, const char* const* options, F f) {
  if (count >= kMostOptions || (count > 0 && !options) || has_lines(count, options))
    return f(count, options);
  const char* more[kMostOptions];
  for (size_t i = 0; i < count; ++i)
    more[i] = options[i];
  more[count] = "-lineinfo";
  return f(count + 1, static_cast<const char* const*>(more));
}

} // namespace lemma::preload

#define EXPORTED extern "C" __attribute__((visibility("default")))
