// The names in .debug_str: what `function_name` of .loc refers to. Only nvcc's and LLVM's line tables have
// them (-lineinfo, -g).
//
// Not here: the other debug sections, which nothing reads.
//
// PTX ISA, debugging directives: .loc, .section. Tests: tests/unit/ptx/module_test.cc.
#pragma once

#include "ptx/module.h"

#include <string_view>

namespace lemma::ptx {

inline constexpr std::string_view kDebugStrings = ".debug_str";

// The text at a place of .debug_str, "label" or "label+bytes", up to its NUL, as long as the module lives;
// empty if it has no such place.
std::string_view debug_string(const Module& module, std::string_view place);

} // namespace lemma::ptx
