// Lines of the source for the PTX that a cubin has inside, whose own .loc and .file are gone.
//
// Two line tables of DWARF's form know them together: .debug_line has the source's line of each place in the
// machine code, .nv_debug_line_sass the PTX's. What ptxas inlined is not followed: a line is that of the
// innermost function.
//
// DWARF 2 to 4, "Line Number Information"; the sections are in no document: seen in what NVRTC 13.0 and 13.5,
// nvcc 13.0 make. Tests: tests/unit/image/elf_test.cc.
#pragma once

#include "image/elf.h"

#include <string>

namespace lemma::image {

// The text with .loc before instructions whose line is known, and .file at its end; as it is where the tables
// are not there, or are not understood.
std::string with_source_lines(const Elf& elf, std::string ptx);

} // namespace lemma::image
