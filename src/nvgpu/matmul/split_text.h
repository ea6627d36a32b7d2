// A product whose K is cut into parts: CTAs multiply parts, and a second kernel adds their sums, in order,
// and makes C of them. The order is the same on every machine and in every run.
//
// Sums of parts lie below each other: part p of C's row r in row p * %rows_of_part + r.
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

namespace lemma::nvgpu {

// The product whose C is the sums of parts.
MatmulKernel parts_of(const MatmulKernel& kernel);
// Memory for them, %parts_of_c, and %rows_of_part.
std::string parts_alloc_text();
// The second kernel, after which the memory is freed.
void add_sum_of_parts(const MatmulKernel& kernel, TemplateText& text);

} // namespace lemma::nvgpu
