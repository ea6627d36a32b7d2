// Whether two modules say the same: everything but source positions, and how .loc entries are numbered.
#pragma once

#include "ptx/module.h"

#include <string>

namespace lemma::ptx {

// Empty if they do, else the first difference: "functions[2].instructions[7].operands[1]".
std::string difference(const Module& a, const Module& b);

} // namespace lemma::ptx
