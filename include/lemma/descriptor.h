// Descriptors field by field, and what is wrong with them: the 64-bit ones by which wgmma and tcgen05 find a
// matrix in shared memory, the 32-bit instruction descriptors of tcgen05.mma and the zero-column masks of
// tcgen05.mma.ws. `lemma descriptor` prints
// it.
//
//   const auto explained = lemma::explain_descriptor({.bits = 0x08100490, .of = "kind::f16"});
//   for (const lemma::DescriptorField& field : explained->fields) ...
//
// Tests: tests/unit/inspect/descriptor_test.cc, tests/cli/.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lemma {

struct DescriptorField {
  std::string name;   // "N"; of bits that have no meaning "reserved" or "none"
  std::string bits;   // "17-22"
  uint64_t value = 0; // as the bits have it
  std::string meaning;
};

// Which operand of tcgen05 it is, for what is legal there.
enum class DescriptorOperand : uint8_t {
  any,    // an instruction descriptor if it fits 32 bits and `of` says for what, else a matrix
  idesc,  // an instruction descriptor
  a_desc, // A and B of tcgen05.mma in shared memory
  b_desc,
  s_desc,           // what tcgen05.cp copies
  zero_column_mask, // of B of tcgen05.mma.ws; the largest M and shift are taken for those of the product
};

struct DescriptorQuery {
  uint64_t bits = 0;
  // Whose: "wgmma", "tcgen05", a kind ("kind::f16"), or a spelling of tcgen05.mma, which may go on with shape
  // and types: "tcgen05.mma.cta_group::2.kind::mxf4.block_scale.scale_vec::2X". Empty: a matrix in shared
  // memory, for tcgen05 where its version says so, else for wgmma.
  std::string of = {};
  DescriptorOperand operand = DescriptorOperand::any;
  bool mn_major = false;           // a matrix: the operand's transpose bit
  bool a_in_tensor_memory = false; // an instruction descriptor
};

struct DescriptorExplanation {
  std::string what; // "instruction descriptor of tcgen05.mma.cta_group::1.kind::f16"
  int width = 64;   // bits
  std::vector<DescriptorField> fields;
  std::string problem; // the first rule that it breaks: field, value, what is legal; empty: none
  // Of an instruction descriptor that breaks none: the product's name, for describe_matrix() and mma().
  std::string product;
};

// Error: invalid_argument, if `of` is none of these, or the descriptor has more bits than it can.
Result<DescriptorExplanation, Error> explain_descriptor(const DescriptorQuery& query);

} // namespace lemma
