// Names of C++: what a mangled one stands for, which kernel a part of a name means, and what to call a
// parameter that a compiler has numbered.
//
// Tests: tests/unit/runtime/kernel_names_test.cc, tests/cli/.
#pragma once

#include "runtime/device_impl.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::runtime {

// "_Z5saxpyPffi" -> "saxpy(float*, float, int)"; any other name as it is.
std::string demangled(const std::string& name);

// What a message calls a function: demangled, without its result, parameters and the namespaces that nvcc
// puts around what is static and CUB around all it has; where that is long, without template arguments:
// "cub::BlockScan<...>::Sum". A variable of a function: "scale::tile".
std::string brief_name(const std::string& name);

// A message in which each mangled name has become its brief one: "at _ZZ5scalePfE4tile + 0x10", "at
// scale::tile + 0x10".
std::string with_brief_names(std::string_view text);

// The types between the parentheses of a demangled function: {"float*", "float", "int"}; none if it has none.
std::vector<std::string> parameter_types(std::string_view demangled_function);

// What people call each parameter of a kernel: its name in the PTX; where a compiler has only numbered them
// ("k_param_0"), its name in the source, if `source_names` are as many, the type that the mangled name gives
// it, "float*", else "parameter 0".
std::vector<std::string> parameter_labels(const std::string& kernel, std::span<const std::string> names,
                                          std::span<const std::string> source_names = {});

// "a, b, c and 17 more"
std::string list_of(std::span<const std::string> names);

// The index of the kernel that is meant. A name is taken for the first of these that any kernel fits: the
// name in the PTX, it demangled (blanks do not count), that without parameters, without template arguments,
// without namespaces, a part of it. An empty name means the only kernel. invalid_argument, with the kernels
// that there are, if none fits or several do.
Result<size_t, Error> find_kernel(std::span<const KernelInfo> kernels, std::string_view name);

} // namespace lemma::runtime
