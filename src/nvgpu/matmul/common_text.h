// Text that the kernels of wgmma, of tcgen05 and of mma.sync have.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

#include <string>

namespace lemma::nvgpu {

// Words of what a kernel multiplies, of its tiles, and of operands that its epilogue takes.
void put_common_words(const MatmulKernel& kernel, TemplateText& text);

// On the host: %c0, %c1; %tile_m, %tile_n, %tile_k; C's sizes %m and %n, and %k.
void add_sizes(TemplateText& text);

// Which of all tiles - %tiles_m32 rows, %tiles_n32 columns - the one of that number is: groups of %group
// rows, column by column, so that CTAs that run together read the same rows of A and columns of B.
// %group_tiles are a group's.
void add_tile_order(TemplateText& text, const std::string& number, const std::string& row,
                    const std::string& column);

// Elements %row and %column, and the same in 32 bits, of the tile in row %tile_row and column %tile_column.
void add_tile_place(TemplateText& text);

// The element `value`, of the accumulator's type if the product is added to C and else of C's, to where C has
// it. `name`: what the names that it adds begin with.
struct ElementStore {
  std::string name, value, row, column;
};
void add_element_store(const MatmulKernel& kernel, TemplateText& text, const ElementStore& store);

} // namespace lemma::nvgpu
