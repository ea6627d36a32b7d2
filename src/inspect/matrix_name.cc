// A name is looked up among all spellings of all rows (find_matrix); a beginning will do if only one row has
// it. From the row come pattern, operands and fragments. Words that filter (`lemma isa bf16 sm_90a`) are
// beginnings, parts, patterns with * or targets (fits).
#include "inspect/matrix_name.h"

#include "inspect/tensor_name.h"
#include "isa/effects.h"
#include "support/diagnostic.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

namespace lemma::inspect {
namespace {

using isa::MatrixRow;
using isa::Qual;
using isa::Type;
using layout::Matrix;

MatrixName named(const MatrixRow& row, std::string spelling) {
  MatrixName name{.row = &row, .exact = row, .spelling = std::move(spelling), .quals = {}, .types = {}};
  isa::MatchCache cache;
  Diagnostic error;
  if (const isa::Match* match = cache.find(name.spelling, 0, error)) {
    name.quals = match->bindings.front().quals;
    name.types = match->bindings.front().types;
  }
  if (row.columns != isa::Columns::one) {
    for (const Qual qual : name.quals)
      if (const auto shape = isa::matrix_shape(isa::to_string(qual)))
        name.exact.shape.n = (*shape)[1];
    name.exact.columns = isa::Columns::one;
  }
  return name;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ",") + word;
  return text;
}

template <class T>
std::vector<std::string> words_of(const std::vector<T>& values) {
  std::vector<std::string> words;
  for (const T value : values)
    words.emplace_back(to_string(value));
  return words;
}

std::string slot_pattern(const isa::Slot& slot, const MatrixRow& row) {
  const std::vector<std::string> words = slot.is_type() ? words_of(slot.types) : words_of(slot.quals);
  if (slot.name == "ss")
    return "{.ss}";
  if (words.size() == 1)
    return slot.optional ? fmt::format("{{.{}}}", words[0]) : "." + words[0];
  if (row.columns != isa::Columns::one && isa::matrix_shape(words[0]))
    return fmt::format(".m{}nNk{}", row.shape.m, row.shape.k);
  return slot.optional ? fmt::format("{{.{}}}", fmt::join(words, ",."))
                       : fmt::format(".{{{}}}", joined(words));
}

bool fits(const MatrixRow& row, const std::vector<std::string>& spellings, const std::string& word,
          bool from_the_start) {
  if (const auto target = isa::parse_target(word))
    return isa::form_of(row).targets.contains(*target);
  return std::any_of(spellings.begin(), spellings.end(), [&](const std::string& spelling) {
    if (word.find('*') != std::string::npos)
      return fnmatch(word.c_str(), spelling.c_str(), 0) == 0;
    return from_the_start ? spelling.starts_with(word) : spelling.find(word) != std::string::npos;
  });
}

// `.alayout` and `.blayout`, in this order.
layout::MajorOrder written_order(const MatrixName& name, Matrix matrix) {
  int skip = matrix == Matrix::b ? 1 : 0;
  for (const Qual qual : name.quals)
    if ((qual == Qual::row || qual == Qual::col) && skip-- == 0)
      return qual == Qual::row ? layout::MajorOrder::row : layout::MajorOrder::col;
  return layout::MajorOrder::row;
}

// ldmatrix and kin. movmatrix has a source too; d is in the source's coordinates.
std::vector<Operand> moved_matrices(const MatrixName& name) {
  const MatrixRow& row = name.exact;
  const int num = name.has(Qual::x4) ? 4 : name.has(Qual::x2) ? 2 : 1;
  const auto operand = [&](std::string operand_name, Matrix matrix, bool trans) {
    Operand made{.name = std::move(operand_name), .matrix = matrix, .type = row.types.d.first()};
    made.fragment = isa::memory_fragment(row, num, trans);
    made.registers = {made.fragment.registers(), Type::b32};
    return made;
  };
  std::vector<Operand> operands = {operand("d", Matrix::d, name.has(Qual::trans))};
  if (is_movmatrix(row))
    operands.push_back(operand("a", Matrix::a, false));
  return operands;
}

Operand scales(const MatrixRow& row, Matrix matrix) {
  return {.name = matrix == Matrix::a ? "scale-a" : "scale-b",
          .matrix = matrix,
          .type = row.scale,
          .fragment = isa::scale_fragment_of(row, matrix),
          .registers = {1, Type::b32}};
}

} // namespace

bool MatrixName::has(Qual qual) const {
  return std::find(quals.begin(), quals.end(), qual) != quals.end();
}

bool is_movmatrix(const MatrixRow& row) {
  return row.fragments == isa::FragmentRule::m8n8 &&
         !isa::effects_of(row.opcode).has_any(isa::effect::reads | isa::effect::writes);
}

std::string pattern_of(const MatrixRow& row) {
  const isa::Form& form = isa::form_of(row);
  std::string pattern(isa::to_string(row.opcode));
  for (const isa::Slot& slot : form.slots)
    pattern += slot_pattern(slot, row);
  return pattern;
}

std::vector<const MatrixRow*> rows_like(const std::vector<std::string>& words) {
  std::vector<const MatrixRow*> rows;
  std::vector<std::vector<std::string>> spellings;
  for (const MatrixRow& row : isa::matrix_rows()) {
    rows.push_back(&row);
    spellings.push_back(isa::spellings_of(row));
  }
  // "mma.sync" is no wish for wmma.mma.sync.
  std::vector<bool> begins(words.size());
  for (size_t w = 0; w < words.size(); ++w)
    begins[w] = begins_matrix_name(words[w]);
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    bool all = true;
    for (size_t w = 0; w < words.size(); ++w)
      all = all && fits(*rows[i], spellings[i], words[w], begins[w]);
    if (all)
      rows[kept++] = rows[i];
  }
  rows.resize(kept);
  return rows;
}

bool begins_matrix_name(std::string_view word) {
  return begins_tensor_name(word) || std::ranges::any_of(isa::matrix_rows(), [&](const MatrixRow& row) {
           return std::ranges::any_of(isa::spellings_of(row), [&](const std::string& spelling) {
             return spelling.starts_with(word);
           });
         });
}

std::string suggestions(std::string_view name) {
  std::vector<std::string> all;
  for (const MatrixRow& row : isa::matrix_rows())
    for (std::string& spelling : isa::spellings_of(row))
      all.push_back(std::move(spelling));
  const std::vector<std::string_view> candidates(all.begin(), all.end());
  std::string text;
  for (const std::string& near : nearest(name, candidates))
    text += fmt::format("  did you mean {}?\n", near);
  return text;
}

Result<MatrixName, std::string> find_matrix(std::string_view name) {
  std::vector<std::pair<const MatrixRow*, std::string>> begin_so; // the first spelling of each row
  for (const MatrixRow& row : isa::matrix_rows()) {
    bool first = true;
    for (std::string& spelling : isa::spellings_of(row)) {
      if (spelling == name)
        return named(row, std::move(spelling));
      if (first && spelling.starts_with(name)) {
        begin_so.emplace_back(&row, std::move(spelling));
        first = false;
      }
    }
  }
  if (begin_so.size() == 1)
    return named(*begin_so[0].first, begin_so[0].second);
  if (begin_so.empty())
    return fail(
        fmt::format("no matrix instruction is called {}\n{}  all: lemma isa", name, suggestions(name)));
  constexpr size_t kShown = 8;
  std::string text = fmt::format("{} begins the names of {} instructions; which?", name, begin_so.size());
  for (size_t i = 0; i < std::min(kShown, begin_so.size()); ++i)
    text += fmt::format("\n  {}", begin_so[i].second);
  if (begin_so.size() > kShown)
    text += fmt::format("\n  ... all: lemma isa {}", name);
  return fail(text);
}

std::vector<Operand> operands_of(const MatrixName& name) {
  const MatrixRow& row = name.exact;
  if (row.fragments == isa::FragmentRule::m8n8)
    return moved_matrices(name);
  std::vector<Matrix> matrices;
  const bool wgmma = row.fragments == isa::FragmentRule::wgmma;
  if (row.spelled == "m")
    matrices = {row.matrix};
  else if (wgmma)
    matrices = {Matrix::d, Matrix::a, Matrix::b};
  else
    matrices = {Matrix::d, Matrix::a, Matrix::b, Matrix::c};
  std::vector<Operand> operands;
  for (const Matrix matrix : matrices) {
    Operand operand;
    operand.name = "abcd"[static_cast<int>(matrix)];
    operand.matrix = matrix;
    operand.type = isa::type_of(row, matrix, name.types);
    operand.in_memory = wgmma && matrix == Matrix::b;
    operand.or_in_memory = wgmma && matrix == Matrix::a;
    if (!operand.in_memory) {
      operand.fragment = isa::fragment_of(row, matrix, operand.type, written_order(name, matrix));
      operand.registers = isa::registers_of(row, matrix, operand.type);
    }
    operands.push_back(std::move(operand));
  }
  if (row.sparse != Qual::none) {
    Operand metadata{.name = "metadata", .matrix = Matrix::a, .type = Type::u4};
    metadata.fragment = isa::metadata_of(row);
    metadata.registers = {1, Type::b32};
    operands.push_back(std::move(metadata));
  }
  if (isa::scales_of(row) != 0)
    for (const Matrix matrix : {Matrix::a, Matrix::b})
      operands.push_back(scales(row, matrix));
  return operands;
}

} // namespace lemma::inspect
