// What the instructions of tensor memory have in common: operands that all lanes must agree about, the
// columns of a CTA's allocations, matrices in shared memory, the pair of CTAs, what each thread issues.
//
// PTX ISA: "TensorCore 5th Generation Family Instructions". Tests: tests/unit/vgpu/tensor_memory_test.cc.
#pragma once

#include "layout/tensor_memory.h"
#include "layout/tensor_smem_descriptor.h"
#include "vgpu/async/async_operation.h"
#include "vgpu/async/tensor_mma.h"

#include <functional>
#include <optional>
#include <string_view>

namespace lemma::vgpu {

// Each active thread issues an operation, of which `read` gives the kind and what it is of, for one lane; it
// returns false after a fault.
Step issue(Exec& x, const DecodedInst& in,
           bool (*read)(Exec& x, const DecodedInst& in, int lane, AsyncOperation& operation));

// The value of source `index` in all active lanes, 4 or 8 bytes; none after a fault, which calls it `what`.
std::optional<uint64_t> value_of_all(Exec& x, const DecodedInst& in, int index, std::string_view what);

// Of `.cta_group::2`: the other CTA of the pair, whose ranks in the cluster differ in the lowest bit. Null
// after a fault: there is none, or it has exited.
Cta* find_peer(Exec& x, const DecodedInst& in, int lane);

// The CTAs that an operation of this `.cta_group` works in, the issuing thread's and, of two, its peer. None
// after a fault: those of find_peer() and use_cta_group(), or it is the odd one of the pair that issues.
TensorCtas find_ctas(Exec& x, const DecodedInst& in, uint8_t group, int lane);

// The CTA executes an instruction of tcgen05 with this `.cta_group`. False after a fault: it has executed one
// with the other.
bool use_cta_group(Exec& x, const DecodedInst& in, uint8_t group, int lane);

// `columns` of one allocation of the CTA, the thread's own or its peer, from `column` on. False after a
// fault.
bool check_columns(Exec& x, const DecodedInst& in, const Cta& cta, uint32_t column, uint32_t columns,
                   int lane);

// The operand `name` in tensor memory begins at lane 0 or, where `has_halves`, at lane 16. False after a
// fault.
bool check_lane(Exec& x, const DecodedInst& in, layout::TensorAddress at, bool has_halves,
                std::string_view name, int lane);

// Chunks in a CTA's shared memory to which the descriptor of the operand `name` leads: the addresses
// chunk_at(0) to chunk_at(count - 1).
struct TensorChunks {
  const layout::TensorSmemDescriptor& descriptor;
  uint32_t count = 0;
  std::function<uint32_t(uint32_t)> chunk_at;
  std::string_view name;
};

// All of them are there; what was never written is counted. None after a fault; else whether all are written.
std::optional<bool> check_chunks(Exec& x, const DecodedInst& in, const Cta& cta, const TensorChunks& chunks,
                                 int lane);

} // namespace lemma::vgpu
