// Text of all kernels.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/common_text.h"

#include <fmt/format.h>

namespace lemma::nvgpu {

void put_common_words(const MatmulKernel& kernel, TemplateText& text) {
  text.put("name", kernel.name);
  text.put("a_type", kernel.a.type);
  text.put("b_type", kernel.b.type);
  text.put("c_type", kernel.c.type);
  text.put("k_dim", kernel.a.transposed ? "c0" : "c1");
  text.put("sum_element", kernel.sum);
  text.put("tile_m", kernel.schedule.tile_m);
  text.put("tile_n", kernel.schedule.tile_n);
  text.put("tile_k", kLineBytes / kernel.a.element_bytes);
  text.put("group", kernel.schedule.group);
  text.put("threads", kernel.schedule.threads());
  std::string list, names, types;
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    list += fmt::format(", %operand{}: {}", i, kernel.operands[i]);
    names += fmt::format(", %operand{}", i);
    types += ", " + kernel.operands[i];
  }
  text.put("operand_list", list);
  text.put("operand_names", names);
  text.put("operand_types", types);
}

void add_sizes(TemplateText& text) {
  text.add(R"(  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile_m = arith.constant $tile_m : index
  %tile_n = arith.constant $tile_n : index
  %tile_k = arith.constant $tile_k : index
  %m = memref.dim %c, %c0 : $c_type
  %n = memref.dim %c, %c1 : $c_type
  %k = memref.dim %a, %$k_dim : $a_type
)");
}

void add_tile_order(TemplateText& text, const std::string& number, const std::string& row,
                    const std::string& column) {
  text.add(R"(        %which = arith.divui %$number, %group_tiles : i32
        %in_group = arith.remui %$number, %group_tiles : i32
        %group_row = arith.muli %which, %group : i32
        %rows_left = arith.subi %tiles_m32, %group_row : i32
        %group_rows = arith.minui %rows_left, %group : i32
        %$column = arith.divui %in_group, %group_rows : i32
        %row_in_group = arith.remui %in_group, %group_rows : i32
        %$row = arith.addi %group_row, %row_in_group : i32
)",
           {{"number", number}, {"row", row}, {"column", column}});
}

void add_tile_place(TemplateText& text) {
  text.add(R"(        %row32 = arith.muli %tile_row, %tile_m32 : i32
        %column32 = arith.muli %tile_column, %tile_n32 : i32
        %row = arith.index_cast %row32 : i32 to index
        %column = arith.index_cast %column32 : i32 to index
)");
}

void add_element_store(const MatmulKernel& kernel, TemplateText& text, const ElementStore& store) {
  const bool widens = kernel.accumulates && kernel.sum != kernel.c.element;
  const std::string& name = store.name;
  const Words words{{"name", name},
                    {"value", store.value},
                    {"row", store.row},
                    {"column", store.column},
                    {"old", name + "_old"},
                    {"wide", name + "_wide"},
                    {"addend", name + (widens ? "_wide" : "_old")},
                    {"new", name + "_new"},
                    {"narrow", name + "_narrow"},
                    {"stored", !kernel.accumulates ? store.value : name + (widens ? "_narrow" : "_new")},
                    {"adds", kernel.sum == "i32" ? "arith.addi" : "arith.addf"}};
  if (kernel.accumulates) {
    text.add("        %$old = memref.load %c[%$row, %$column] : $c_type\n", words);
    if (widens)
      text.add("        %$wide = arith.extf %$old : $c_element to $sum_element\n", words);
    text.add("        %$new = $adds %$value, %$addend : $sum_element\n", words);
    if (widens)
      text.add("        %$narrow = arith.truncf %$new : $sum_element to $c_element\n", words);
  }
  text.add("        memref.store %$stored, %c[%$row, %$column] : $c_type\n", words);
}

} // namespace lemma::nvgpu
