// Whose arithmetic a matrix instruction has: the numeric::DotModel of a row of the catalogue on a machine.
// One place for those who execute it and those who explain it.
//
// Tests: tests/unit/vgpu/matrix_test.cc, tests/unit/inspect/tensor_test.cc, tests/cli/.
#pragma once

#include "isa/catalogue.h"
#include "layout/tensor_instruction_descriptor.h"
#include "numeric/dot.h"

#include <optional>
#include <span>

namespace lemma::isa {

struct MatrixModel {
  numeric::DotModel dot;
  // The product is made in f32 and then rounded to f16: C in f32 and D in f16.
  bool narrow_result = false;
};

// `quals` and `types` as written. None: the machine has no such floating-point instruction, or the row
// multiplies nothing. Integers are the same on every machine, which the row's targets name.
std::optional<MatrixModel> matrix_model(const MatrixRow& row, std::span<const Qual> quals,
                                        std::span<const Type> types, numeric::Arch machine);

// That of tcgen05.mma, whose types and shape are in its instruction descriptor: one in which nothing is
// wrong, of a row with so many scale factors (0: it is not block scaled). None: nobody has said what the
// machine computes.
std::optional<numeric::DotModel> tensor_model(const layout::TensorInstructionDescriptor& descriptor,
                                              uint32_t scales, numeric::Arch machine);

// K = 96 of tcgen05.mma is this machine's alone.
inline constexpr int kSmWithK96 = 103;

// Those that multiply in tensor memory: tcgen05.mma and its variants, each an opcode.
std::span<const Opcode> tensor_products();

// What the words of a tcgen05.mma say of how its instruction descriptor is read.
struct TensorWords {
  layout::TensorKind kind{};
  layout::TensorInstruction instruction; // but for where A is, which its operands say
};
// None: the words have no kind whose descriptor is known.
std::optional<TensorWords> tensor_words(Opcode opcode, std::span<const Qual> quals);

} // namespace lemma::isa
