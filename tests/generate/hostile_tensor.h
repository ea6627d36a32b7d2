// What programs of tcgen05 need to get anywhere: one .cta_group, an allocation at the beginning whose address
// is read back, and descriptors in which nothing, or little, is wrong. See hostile_function.h, which writes
// the statements.
#pragma once

#include "generate/sampler.h"

#include <string>

namespace lemma::generate {

// Of a program; no columns: it has none of this.
struct HostileTensor {
  uint32_t columns = 0; // that it allocates
  uint32_t cta_group = 1;
  bool gives_back = true; // the allocation, at its end

  bool is_on() const { return columns != 0; }
};
HostileTensor some_tensor(Rng& rng);

// How often an opcode of tcgen05 is taken in such a program, 100 being usual.
size_t tensor_weight_of(std::string_view opcode);

// Whether the instruction is of tcgen05, and of the other .cta_group.
bool is_of_other_group(const Text& text, const HostileTensor& tensor);
// ... and one that a whole warp executes.
bool is_of_warp(const Text& text);

// Lines of the entry: the first warp allocates, its address goes to `tslot`, which every function reads into
// %_taddr; %_one is true in one thread of the CTA; %_quarter is the first lane of the warp, as an address.
inline constexpr std::string_view kTensorRegisters =
    "  .reg .b32 %_taddr, %_quarter;\n  .reg .pred %_one, %_first;\n";
std::string tensor_allocation(const HostileTensor& tensor);
std::string tensor_addresses();
std::string tensor_deallocation(const HostileTensor& tensor);

// Where an operand of tensor memory is put: a line that sets the register.
std::string tensor_pointer(const std::string& reg, const Text& text, const HostileTensor& tensor, Rng& rng);

// An instruction descriptor in which nothing is wrong for the instruction, where its kind has one.
uint32_t some_instruction_descriptor(const Text& text, Rng& rng);
// A matrix descriptor likewise; `idesc` is that of the instruction, 0 of tcgen05.cp. Most lead to svar.
uint64_t some_matrix_descriptor(const Text& text, const std::string& operand, uint32_t idesc, Rng& rng);

} // namespace lemma::generate
