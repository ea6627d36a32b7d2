// Matrix instructions as public data (lemma/isa.h, lemma/layout.h): lists, and one explained.
#include "fidelity/recorded.h"
#include "inspect/availability.h"
#include "inspect/fragment_data.h"
#include "inspect/matrix_model.h"
#include "inspect/matrix_name.h"
#include "inspect/tensor_matrix.h"
#include "isa/effects.h"
#include "layout/sparse.h"
#include "lemma/isa.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma {
namespace inspect {
namespace {

using isa::MatrixRow;
using layout::Fragment;

std::vector<std::string> words_of(const isa::TypeSet& types) {
  std::vector<std::string> words;
  for (const isa::Type type : types)
    words.emplace_back(isa::to_string(type));
  return words;
}

// "wmma.load.a"
std::string title_of(const MatrixRow& row) {
  const std::string opcode(isa::to_string(row.opcode));
  const bool names_matrix = row.fragments == isa::FragmentRule::wmma && row.numeric == isa::Numeric::none;
  const std::string of = names_matrix ? fmt::format(".{}", "abcd"[static_cast<int>(row.matrix)]) : "";
  return opcode + of + (row.sparse == isa::Qual::none ? "" : fmt::format(".{}", isa::to_string(row.sparse)));
}

MatrixInstruction instruction_of(const MatrixRow& row) {
  return {.pattern = pattern_of(row),
          .opcode = std::string(isa::to_string(row.opcode)),
          .title = title_of(row),
          .m = row.shape.m,
          .n = row.shape.n,
          .k = row.shape.k,
          .d = words_of(row.types.d),
          .a = words_of(row.types.a),
          .b = words_of(row.types.b),
          .c = words_of(row.types.c),
          .spellings = isa::spellings_of(row),
          .availability = availability_of(isa::form_of(row)),
          .checked = fidelity::checked_on_hardware(row)};
}

std::string_view summary_of(const MatrixRow& row) {
  if (row.numeric == isa::Numeric::none) {
    const bool of_rows = row.fragments == isa::FragmentRule::m8n8;
    const isa::Effects does = isa::effects_of(row.opcode);
    if (does.has(isa::effect::reads))
      return of_rows ? "A warp loads matrices from shared memory; each lane gives the address of a row."
                     : "A warp loads a matrix into its fragments.";
    if (does.has(isa::effect::writes))
      return of_rows ? "A warp stores matrices to shared memory; each lane gives the address of a row."
                     : "A warp stores its fragments as a matrix.";
    return "A warp transposes a matrix across its registers.";
  }
  if (row.fragments == isa::FragmentRule::wgmma)
    return "A warpgroup multiplies, asynchronously: D = A * B + D, or A * B. B, and A if it is not in "
           "registers, are "
           "in\nshared memory, where matrix descriptors find them.";
  if (row.fragments == isa::FragmentRule::mma_m8n8k4)
    return "A warp multiplies four times over: D = A * B + C in each group of eight lanes (4i..4i+3 and "
           "16+4i..).";
  if (row.sparse != isa::Qual::none)
    return "A warp multiplies a sparse A: D = A * B + C. Half of A's columns are stored; the metadata says "
           "which.";
  return "A warp multiplies: D = A * B + C.";
}

// Shapes of the same types, dense or sparse as it is, and of its kind.
std::vector<std::string> other_shapes(const MatrixRow& like) {
  std::vector<std::string> shapes;
  for (const MatrixRow& row : isa::matrix_rows()) {
    const auto same = [&](const isa::TypeSet& a, const isa::TypeSet& b) {
      return a.count == b.count && std::equal(a.begin(), a.end(), b.begin());
    };
    const bool alike_sparse = (row.sparse != isa::Qual::none) == (like.sparse != isa::Qual::none);
    if (row.shape == like.shape || row.opcode != like.opcode || row.matrix != like.matrix || !alike_sparse ||
        row.kind != like.kind || !same(row.types.d, like.types.d) || !same(row.types.a, like.types.a) ||
        !same(row.types.b, like.types.b) || !same(row.types.c, like.types.c))
      continue;
    std::string shape = fmt::format("m{}n{}", row.shape.m, row.shape.n);
    if (row.shape.k != 0) // nothing that only moves has one
      shape += fmt::format("k{}", row.shape.k);
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end())
      shapes.push_back(shape);
  }
  return shapes;
}

// --- operands

std::string metadata_note(const MatrixRow& row, const Fragment& f) {
  const int selectors = layout::selectors(f);
  return fmt::format("metadata: a field is a chunk of {} columns of B, two indices of two bits, the first in "
                     "the low bits{}",
                     row.shape.k / f.cols,
                     selectors > 1 ? fmt::format("; drawn for selector 0, of {}: with s it is lanes {}s "
                                                 "further on",
                                                 selectors, layout::metadata_lanes(f))
                                   : "");
}

std::string scales_note(const MatrixRow& row, const Operand& operand) {
  const layout::ScaleFragment scales = isa::scale_fragment_of(row, operand.matrix);
  const int lanes = scales.offset(0, 1).lane;
  std::string note = fmt::format("{}: drawn for selector {{byte-id, thread-id}} = {{0, 0}}", operand.name);
  if (scales.per_line() < layout::kScaleBytes)
    note += fmt::format("; byte-id, {}, is the element at which they begin",
                        scales.per_line() == 1 ? "0 to 3" : "0 or 2");
  note += fmt::format("; with thread-id t, 0 to {}, it is the lane {}t further on", scales.threads() - 1,
                      lanes == 1 ? "" : fmt::format("{}", lanes));
  return note;
}

MatrixOperand public_operand(const MatrixRow& row, const Operand& operand) {
  MatrixOperand out;
  out.name = operand.name;
  out.kind = operand.is_metadata() ? MatrixOperand::Kind::metadata
             : operand.is_scales() ? MatrixOperand::Kind::scales
                                   : MatrixOperand::Kind::matrix;
  out.matrix = "abcd"[static_cast<int>(operand.matrix)];
  out.type = isa::to_string(operand.type);
  out.in_memory = operand.in_memory;
  out.or_in_memory = operand.or_in_memory;
  if (operand.in_memory) {
    out.rows = row.shape.k;
    out.cols = row.shape.n;
    return out;
  }
  out.registers = operand.registers.count;
  out.register_type = isa::to_string(operand.registers.type);
  add_fragment(operand.fragment, out);
  if (operand.is_metadata())
    out.notes.push_back(metadata_note(row, operand.fragment));
  if (operand.is_scales())
    out.notes.push_back(scales_note(row, operand));
  if (is_movmatrix(row) && operand.name == "d")
    out.notes.emplace_back("d: in the rows and columns of a, whose transpose it is");
  return out;
}

MatrixDescription description_of(const MatrixName& name) {
  const MatrixRow& row = name.exact;
  MatrixDescription out;
  out.instruction = instruction_of(*name.row);
  out.instruction.n = row.shape.n;
  out.spelling = name.spelling;
  out.summary = summary_of(row);
  for (const isa::OperandSpec& operand : isa::form_of(*name.row).operands)
    out.operand_names.push_back(operand.name);
  out.other_shapes = other_shapes(*name.row);
  out.computes = row.numeric != isa::Numeric::none;
  out.by_warpgroup = row.fragments == isa::FragmentRule::wgmma;
  out.byte_containers = row.kind == isa::Qual::kind_f8f6f4 || row.kind == isa::Qual::kind_mxf8f6f4;
  out.flops = out.computes ? isa::flops_of(row) : 0;
  for (const Operand& operand : operands_of(name))
    out.operands.push_back(public_operand(row, operand));
  for (const numeric::Arch arch : numeric::kArchs)
    if (const auto model = model_of(name, arch))
      out.arithmetic.push_back({.arch = std::string(numeric::to_string(arch)),
                                .rule = describe(*model, products_of(row)),
                                .evidence = std::string(numeric::to_string(model->evidence))});
  return out;
}

} // namespace
} // namespace inspect

Result<std::vector<MatrixInstruction>, Error> matrix_instructions(std::span<const std::string> words) {
  if (auto refused = inspect::refuse_unknown_targets(words))
    return Unexpected<Error>{*std::move(refused)};
  std::vector<MatrixInstruction> found;
  for (const isa::MatrixRow* row : inspect::rows_like({words.begin(), words.end()}))
    found.push_back(inspect::instruction_of(*row));
  for (const inspect::TensorFamily* family : inspect::tensor_families_like({words.begin(), words.end()}))
    found.push_back(inspect::tensor_instruction_of(*family));
  return found;
}

Result<MatrixDescription, Error> describe_matrix(std::string_view name) {
  if (name.starts_with(inspect::kTensorPrefix))
    return inspect::describe_tensor(name);
  const auto found = inspect::find_matrix(name);
  if (!found)
    return inspect::wrong(found.error());
  return inspect::description_of(*found);
}

} // namespace lemma
