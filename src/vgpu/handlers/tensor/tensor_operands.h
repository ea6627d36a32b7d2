// What the instructions of tensor memory have in common: operands that all lanes must agree about, the
// columns of a CTA's allocations, the pair of CTAs.
//
// PTX ISA: "TensorCore 5th Generation Family Instructions". Tests: tests/unit/vgpu/tensor_memory_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

#include <optional>
#include <string_view>

namespace lemma::vgpu {

// The value of source `index` in all active lanes, 4 or 8 bytes; none after a fault, which calls it `what`.
std::optional<uint64_t> value_of_all(Exec& x, const DecodedInst& in, int index, std::string_view what);

// Of `.cta_group::2`: the other CTA of the pair, whose ranks in the cluster differ in the lowest bit. Null
// after a fault: there is none, or it has exited.
Cta* find_peer(Exec& x, const DecodedInst& in, int lane);

// The CTA executes an instruction of tcgen05 with this `.cta_group`. False after a fault: it has executed one
// with the other.
bool use_cta_group(Exec& x, const DecodedInst& in, uint8_t group, int lane);

// `columns` of one allocation of the CTA, from `column` on. False after a fault.
bool check_columns(Exec& x, const DecodedInst& in, const Cta& cta, uint32_t column, uint32_t columns,
                   int lane);

} // namespace lemma::vgpu
