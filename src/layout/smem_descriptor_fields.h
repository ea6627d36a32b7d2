// The fields of a matrix descriptor of wgmma as something to print, and what of it does not belong there.
//
// Not here: those of tcgen05, whose tensor_smem_descriptor.h has rules too. The PTX ISA gives wgmma's none;
// bits that are of no field are passed over here. Tests: tests/unit/layout/smem_descriptor_test.cc.
#pragma once

#include "layout/descriptor_field.h"

#include <optional>
#include <vector>

namespace lemma::layout {

// Every field in the order of the bits, those that are none too.
std::vector<DescriptorField> explain_smem_descriptor(uint64_t bits);

// Whether it looks like one of tcgen05, in words; none: it does not.
std::optional<std::string> foreign_smem_descriptor(uint64_t bits);

} // namespace lemma::layout
