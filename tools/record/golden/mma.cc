// Cases of mma.sync. See matrix.h.
//
// A unit is a warp. Planes hold registers as [warp][register][lane][element], so that nothing here depends on
// who holds what.
#include "golden/fragment_text.h"
#include "golden/matrix.h"
#include "golden/sparse_values.h"
#include "golden/spelling.h"
#include "golden/thread_kernel.h"
#include "isa/form.h"
#include "layout/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace lemma::golden {
namespace {

using isa::MatrixRow;
using isa::Type;
using layout::Matrix;

constexpr uint64_t kOutputsPerPart = 65536;
constexpr uint32_t kWarpsPerBlock = 4;

// "m16n8k16.row.col..." of a dense product, "sp.m16n8k16..." of a sparse one.
std::string name_of(const MatrixSpelling& s, int selector) {
  constexpr std::string_view opcode = "mma.", common = "sync.aligned.";
  std::string name = s.text.substr(opcode.size());
  name.erase(name.find(common), common.size());
  return selector < 0 ? name : fmt::format("{}.selector{}", name, selector);
}

// `selector`: of a sparse row; dense: -1.
Case make_mma(const MatrixSpelling& s, int selector) {
  const bool sparse = selector >= 0;
  const FragmentText a = fragment_registers(*s.row, Matrix::a, s.a),
                     b = fragment_registers(*s.row, Matrix::b, s.b),
                     c = fragment_registers(*s.row, Matrix::c, s.c),
                     d = fragment_registers(*s.row, Matrix::d, s.d);
  const uint64_t selectors = sparse ? static_cast<uint64_t>(layout::selectors(isa::metadata_of(*s.row))) : 1;
  const uint64_t warps = kOutputsPerPart / d.per_warp() / selectors;
  std::vector<Part> parts;
  for (const numeric::OperandClass oc : numeric::kAllOperandClasses)
    parts.push_back({std::string(numeric::to_string(oc)), parts.size() * warps, warps});
  Case out = product_case(s, selector, name_of(s, selector), std::move(parts));

  const MatrixFormats formats{values_of(s.a),
                              values_of(s.b),
                              values_of(s.c),
                              numbers_of(s.a, a.per_warp()),
                              numbers_of(s.b, b.per_warp()),
                              c.per_warp()};
  out.fill = [formats, s, sparse](const Part& part, numeric::Random& random, Inputs& inputs) {
    const numeric::OperandClass oc = operand_class(part.name);
    for (uint64_t warp = part.first; warp < part.first + part.units; ++warp) {
      MatrixOperands m = make_matrix_operands(formats, oc, random);
      if (sparse && oc == numeric::OperandClass::cancelling)
        pair_for_sparse(m);
      m.a = plane_elements(s.a, std::move(m.a));
      m.b = plane_elements(s.b, std::move(m.b));
      const std::vector<uint64_t>* planes[] = {&m.a, &m.b, &m.c};
      for (size_t k = 0; k < 3; ++k)
        for (size_t i = 0; i < planes[k]->size(); ++i)
          inputs.set(k, warp * planes[k]->size() + i, (*planes[k])[i]);
      const bool ordered = s.row->sparse == isa::Qual::sp_ordered_metadata;
      for (uint64_t lane = 0; sparse && lane < 32; ++lane)
        inputs.set(3, warp * 32 + lane, make_metadata(isa::bits_of(s.a), ordered, random));
    }
  };
  return out;
}

// Elements of eight bits in floating point, of four bits, of one.
bool is_narrow(Type type) {
  return isa::bits_of(type) < 8 || type == Type::e4m3 || type == Type::e5m2;
}

} // namespace

Case product_case(const MatrixSpelling& s, int selector, std::string name, std::vector<Part> parts) {
  const bool sparse = selector >= 0;
  const FragmentText a = fragment_registers(*s.row, Matrix::a, s.a),
                     b = fragment_registers(*s.row, Matrix::b, s.b),
                     c = fragment_registers(*s.row, Matrix::c, s.c),
                     d = fragment_registers(*s.row, Matrix::d, s.d);
  Case out;
  out.name = std::move(name);
  out.family = isa::syntax_of(*s.row);
  out.entry = entry_name(out.name);
  out.unit_name = "warp";
  out.inputs = {fragment_plane("a", a), fragment_plane("b", b), fragment_plane("c", c)};
  out.outputs = {fragment_plane("d", d)};
  if (sparse)
    out.inputs.push_back(fragment_plane("metadata", word_registers(Type::u32, 1)));
  out.parts = std::move(parts);
  out.units = out.parts.back().first + out.parts.back().units;
  lay_out(out.inputs, out.units);
  lay_out(out.outputs, out.units);
  out.block[0] = kWarpsPerBlock * 32;
  out.grid[0] = static_cast<uint32_t>(out.units / kWarpsPerBlock);

  out.text = kernel_head(out.entry) + "  shr.u32 %_w, %_i, 5;\n  and.b32 %_n, %_i, 31;\n";
  const struct {
    const char* name;
    const FragmentText& r;
  } all[] = {{"a", a}, {"b", b}, {"c", c}, {"d", d}};
  for (const auto& [name, r] : all)
    out.text += declare_fragment(name, r);
  for (size_t k = 0; k < 3; ++k)
    out.text += transfer_fragment(true, all[k].name, all[k].r, out.inputs[k]);
  std::string metadata;
  if (sparse) {
    const FragmentText word = word_registers(Type::u32, 1);
    out.text += declare_fragment("e", word) + transfer_fragment(true, "e", word, out.inputs[3]);
    metadata = fmt::format(", %e0, {}", selector);
  }
  out.text += fmt::format("  {} {}, {}, {}, {}{};\n", s.text, register_list("d", d.count),
                          register_list("a", a.count), register_list("b", b.count),
                          register_list("c", c.count), metadata);
  out.text += transfer_fragment(false, "d", d, out.outputs[0]) + "  ret;\n}\n";
  return out;
}

std::vector<MatrixSpelling> matrix_spellings(const MatrixRow& row) {
  std::vector<MatrixSpelling> out;
  isa::MatchCache cache;
  for (std::string& text : isa::spellings_of(row)) {
    Diagnostic error;
    const isa::Match* match = cache.find(text, 0, error);
    assert(match && "a spelling of the catalogue that the forms do not know");
    MatrixSpelling s{.row = &row, .text = std::move(text)};
    s.d = isa::type_of(row, Matrix::d, match->bindings.front().types);
    s.a = isa::type_of(row, Matrix::a, match->bindings.front().types);
    s.b = isa::type_of(row, Matrix::b, match->bindings.front().types);
    s.c = isa::type_of(row, Matrix::c, match->bindings.front().types);
    out.push_back(std::move(s));
  }
  return out;
}

std::string_view group_of(const MatrixRow& row) {
  using isa::Opcode;
  isa::MatchCache cache;
  Diagnostic error;
  const isa::Match* match = cache.find(isa::spellings_of(row).front(), 0, error);
  if (!match || !on_golden_target(*match->bindings.front().form))
    return "";
  switch (row.opcode) {
  case Opcode::mma:
    if (row.sparse != isa::Qual::none)
      return "mma_sp";
    return is_narrow(row.types.a.first()) ? "mma_narrow" : "mma";
  case Opcode::wmma_load:
  case Opcode::wmma_mma:
  case Opcode::wmma_store:
    return row.shape.k >= 32 ? "mma_narrow" : "wmma"; // the shapes of four bits and of one
  case Opcode::wgmma_mma_async:
    return row.sparse == isa::Qual::none ? "wgmma" : "wgmma_sp";
  default:
    return "ldmatrix";
  }
}

std::vector<Case> mma_narrow_cases(std::string_view group) {
  std::vector<Case> cases = mma_cases(group);
  for (Case& c : wmma_cases(group))
    cases.push_back(std::move(c));
  return cases;
}

std::vector<Case> mma_cases(std::string_view group) {
  std::vector<Case> cases;
  for (const MatrixRow& row : isa::matrix_rows())
    if (row.opcode == isa::Opcode::mma && group_of(row) == group)
      for (const MatrixSpelling& s : matrix_spellings(row)) {
        if (row.sparse == isa::Qual::none)
          cases.push_back(make_mma(s, -1));
        else
          for (int selector = 0; selector < layout::selectors(isa::metadata_of(row)); ++selector)
            cases.push_back(make_mma(s, selector));
      }
  return cases;
}

} // namespace lemma::golden
