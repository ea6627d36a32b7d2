// Whose arithmetic a matrix instruction has: the numeric::DotModel of a row of the catalogue on a machine.
// One place for those who execute it and those who explain it.
//
// Tests: tests/unit/vgpu/matrix_test.cc, tests/cli/.
#pragma once

#include "isa/catalogue.h"
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

} // namespace lemma::isa
