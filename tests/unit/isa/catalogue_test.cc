// The catalogue checks itself: its rows read as forms, spell different things, find themselves again from a
// parsed spelling, and hold matrices of the size that their shape says. ptxas must accept every spelling with
// the registers that the row gives it.
#include "isa/catalogue.h"

#include "isa/form.h"
#include "isa/machine.h"
#include "isa/row.h"
#include "layout/sparse.h"
#include "ptxas/ptxas.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <sstream>

namespace lemma::isa {
namespace {

using layout::Matrix;

// Forms are made of matrix rows, not read; what they are as text reads as the same forms.
TEST(Catalogue, FormsReadAsTheyAreWritten) {
  size_t count = 0;
  for (const Form& form : forms()) {
    if (form.matrix == nullptr)
      continue;
    ++count;
    const std::string syntax = syntax_of(form), where = where_of(form);
    FormRow row;
    row.syntax = syntax;
    row.where = where;
    row.section = form.section;
    std::vector<std::string> errors;
    Form read = read_form(row, errors);
    // What the assembler does without is the builder's, and what it takes in one place; no text says so.
    for (size_t s = 0; s < std::min(read.slots.size(), form.slots.size()); ++s) {
      read.slots[s].may_lack = form.slots[s].may_lack;
      read.slots[s].lack_until = form.slots[s].lack_until;
      read.slots[s].fixed = form.slots[s].fixed;
    }
    EXPECT_TRUE(errors.empty()) << errors.front();
    EXPECT_EQ(read.opcode, form.opcode) << syntax;
    EXPECT_EQ(read.slots, form.slots) << syntax << "  where " << where;
    EXPECT_EQ(read.group_parents, form.group_parents) << syntax;
    EXPECT_EQ(read.operands, form.operands) << syntax;
  }
  size_t rows = 0;
  for (const MatrixRow& row : matrix_rows())
    rows += static_cast<size_t>(forms_of_row(row));
  EXPECT_EQ(count, rows);
}

TEST(Catalogue, EveryRowHasItsForm) {
  for (const std::string& error : row_errors())
    ADD_FAILURE() << error;
  for (const MatrixRow& row : matrix_rows())
    EXPECT_EQ(form_of(row).matrix, &row);
}

TEST(Catalogue, NoTwoRowsShareASpelling) {
  std::map<std::string, std::string> owner;
  for (const MatrixRow& row : matrix_rows())
    for (const std::string& spelling : spellings_of(row)) {
      const auto [it, fresh] = owner.emplace(spelling, syntax_of(row));
      EXPECT_TRUE(fresh) << spelling << " is of " << syntax_of(row) << " and of " << it->second;
    }
  EXPECT_TRUE(owner.contains("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"));
  EXPECT_TRUE(owner.contains("wmma.load.b.sync.aligned.col.m16n16k16.shared.f16"));
  EXPECT_TRUE(owner.contains("wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32.satfinite"));
  EXPECT_TRUE(owner.contains("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16"));
  EXPECT_TRUE(owner.contains("wgmma.mma_async.sync.aligned.m64n248k16.f32.bf16.bf16"));
  EXPECT_TRUE(owner.contains("wgmma.mma_async.sync.aligned.m64n24k32.satfinite.s32.s8.u8"));
  EXPECT_FALSE(owner.contains("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.u8"));
}

TEST(Catalogue, MixedIntegersOfWgmmaAreNewer) {
  MatchCache cache;
  for (const char* spelling : {"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8",
                               "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.u8.s8"}) {
    Diagnostic error;
    const Match* match = cache.find(spelling, 0, error);
    ASSERT_NE(match, nullptr) << error.message;
    EXPECT_EQ(match->bindings.front().form->since, (IsaVersion{8, 4})) << spelling;
  }
}

TEST(Catalogue, EverySpellingFindsItsRow) {
  MatchCache cache;
  for (const MatrixRow& row : matrix_rows())
    for (const std::string& spelling : spellings_of(row)) {
      Diagnostic error;
      const Match* match = cache.find(spelling, 0, error);
      ASSERT_NE(match, nullptr) << spelling << ": " << error.message;
      EXPECT_TRUE(match->warnings.empty()) << spelling;
      EXPECT_EQ(match->opcode, row.opcode);
      EXPECT_EQ(syntax_of(*match->bindings.front().form), syntax_of(row)) << spelling;
      EXPECT_EQ(match->bindings.front().form->matrix, &row) << spelling;
    }
}

TEST(Catalogue, FindsNothingForWhatItLacks) {
  MatchCache cache;
  const auto row_of = [&](std::string_view spelling) {
    Diagnostic error;
    const Match* match = cache.find(spelling, 0, error);
    return match ? match->bindings.front().form->matrix : nullptr;
  };
  EXPECT_EQ(row_of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16"), nullptr);
  EXPECT_NE(row_of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), nullptr);
  EXPECT_EQ(row_of("wmma.mma.sync.aligned.row.col.m16n8k16.f32.f16.f16.f32"), nullptr);
  EXPECT_EQ(row_of("add.rn.f32"), nullptr);
}

layout::Coord size_of(const MatrixRow& row, Matrix matrix) {
  switch (matrix) {
  case Matrix::a:
    return {row.shape.m, row.sparse == Qual::none ? row.shape.k : row.shape.k / 2};
  case Matrix::b:
    return {row.shape.k, row.shape.n};
  default:
    return {row.shape.m, row.shape.n};
  }
}

TEST(Catalogue, FragmentsHoldWhatTheShapeSays) {
  const std::pair<Matrix, TypeSet MatrixTypes::*> matrices[] = {{Matrix::a, &MatrixTypes::a},
                                                                {Matrix::b, &MatrixTypes::b},
                                                                {Matrix::c, &MatrixTypes::c},
                                                                {Matrix::d, &MatrixTypes::d}};
  for (const MatrixRow& row : matrix_rows())
    for (const auto& [matrix, member] : matrices)
      for (const Type type : row.types.*member) {
        if (row.fragments == FragmentRule::wgmma && matrix == Matrix::b)
          continue; // always in shared memory
        SCOPED_TRACE(syntax_of(row));
        const layout::Fragment f = fragment_of(row, matrix, type);
        const int stacked = row.fragments == FragmentRule::mma_m8n8k4 ? 4 : 1;
        EXPECT_EQ(f.rows, size_of(row, matrix).row * (matrix == Matrix::b ? 1 : stacked));
        EXPECT_EQ(f.cols, size_of(row, matrix).col * (matrix == Matrix::b ? stacked : 1));
        EXPECT_EQ(f.element_bits, container_bits(row, matrix, type));
        EXPECT_EQ(f.lanes() * f.registers() * f.elems_per_register(), f.rows * f.cols * f.copies());
        EXPECT_EQ(registers_of(row, matrix, type).count, f.registers());
        EXPECT_EQ(bits_of(registers_of(row, matrix, type).type), f.register_bits);
      }
}

// Registers of every class a row may want, and one instruction of each spelling.
std::string vector_of(const MatrixRow& row, Matrix matrix, Type type, int columns = 0) {
  auto [count, register_type] = registers_of(row, matrix, type);
  if (columns != 0)
    count = count * columns / row.shape.n;
  const char* prefix = register_type == Type::f64 ? "fd" : register_type == Type::f32 ? "f" : "r";
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i ? "," : "") + std::string(prefix) + std::to_string(i);
  return text + "}";
}

// Registers of one matrix of ldmatrix and kin.
int vector_size(const MatrixRow& row) {
  return registers_of(row, Matrix::d, row.types.d.first()).count;
}

int last_selector(const MatrixRow& row) {
  return layout::selectors(metadata_of(row)) - 1;
}

std::string operands_of(const MatrixRow& row, const std::string& spelling) {
  const auto first = [&](Matrix matrix, const TypeSet& set) { return vector_of(row, matrix, set.first()); };
  const TypeSet& moved = row.matrix == Matrix::a   ? row.types.a
                         : row.matrix == Matrix::b ? row.types.b
                         : row.matrix == Matrix::c ? row.types.c
                                                   : row.types.d;
  const std::string address = spelling.find(".shared") != std::string::npos ? "[sm]" : "[rd0]";
  const bool four = spelling.find(".x4") != std::string::npos,
             two = spelling.find(".x2") != std::string::npos;
  const int moved_registers = (four  ? 4
                               : two ? 2
                                     : 1) *
                              (row.fragments == FragmentRule::m8n8 ? vector_size(row) : 1);
  const std::string x = moved_registers == 4 ? "{r0,r1,r2,r3}" : moved_registers == 2 ? "{r0,r1}" : "{r0}";
  switch (row.opcode) {
  case Opcode::wmma_load:
    return first(row.matrix, moved) + "," + address + ",r9";
  case Opcode::wmma_store:
    return address + "," + first(row.matrix, moved) + ",r9";
  case Opcode::ldmatrix:
    return x + "," + address;
  case Opcode::stmatrix:
    return address + "," + x;
  case Opcode::movmatrix:
    return "r0,r1";
  case Opcode::wgmma_mma_async: {
    const int columns = std::stoi(spelling.substr(spelling.find(".m64n") + 5));
    return vector_of(row, Matrix::d, row.types.d.first(), columns) + ",rd0,rd1," +
           (row.sparse == Qual::none ? "1" : "r8," + std::to_string(last_selector(row)) + ",1") +
           (row.numeric == Numeric::floating ? ",1,-1" : "") + (row.transposes ? ",0,1" : "");
  }
  default:
    return first(Matrix::d, row.types.d) + "," + first(Matrix::a, row.types.a) + "," +
           first(Matrix::b, row.types.b) + "," + first(Matrix::c, row.types.c) +
           (row.sparse == Qual::none ? "" : ",r8," + std::to_string(last_selector(row))) +
           (row.scale_vec == Qual::none ? "" : ",r8,{0,1},{r9},{h0,3}");
  }
}

// Whether the assembler takes the instructions. A few only: without optimizing, which is faster, it does not
// find the registers for wgmma's larger shapes.
enum class Amount : uint8_t { few, all };
// Where nobody answers the test is skipped.
void expect_assembles(bool wanted, IsaVersion version, const std::string& target,
                      const std::string& instructions, Amount amount = Amount::few) {
  std::ostringstream module;
  module << ".version " << version.major << "." << version.minor << "\n.target " << target
         << "\n.address_size 64\n.visible .entry k() {\n"
            ".reg .b32 r<128>; .reg .f32 f<128>; .reg .f64 fd<16>; .reg .b64 rd<2>; "
            ".reg .b16 h<4>;\n.shared .align 16 .b8 sm[64];\n"
         << instructions << "ret;\n}\n";
  const auto answer = ptxas::ask(module.str(), "-c -arch=" + target + (amount == Amount::few ? " -O0" : ""));
  LEMMA_SKIP_WITHOUT_PTXAS(answer);
  EXPECT_EQ(answer->accepts, wanted) << target << "\n" << answer->text;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

TargetSet targets_of(const MatrixRow& row) {
  TargetSet set;
  for (const std::string& word : words_of(row.targets))
    set.any_of.push_back(*parse_target(word));
  return set;
}

TEST(Catalogue, TheAssemblerAcceptsEverySpelling) {
  size_t count = 0;
  std::map<std::string, std::string> of_target;
  for (const MatrixRow& row : matrix_rows())
    for (const std::string& spelling : spellings_of(row)) {
      const bool hopper = targets_of(row).contains(*parse_target("sm_90a"));
      of_target[hopper ? "sm_90a" : "sm_120a"] += spelling + " " + operands_of(row, spelling) + ";\n";
      ++count;
    }
  EXPECT_GT(count, 400u);
  for (const auto& [target, instructions] : of_target)
    expect_assembles(true, {9, 0}, target, instructions, Amount::all);
}

// The version before: 7.8 before 8.0.
IsaVersion before(IsaVersion version) {
  constexpr int last_minor[] = {0, 5, 3, 2, 3, 1, 5, 8, 8};
  return version.minor > 0 ? IsaVersion{version.major, version.minor - 1}
                           : IsaVersion{version.major - 1, last_minor[version.major - 1]};
}

// Each row's first spelling is accepted for the targets and from the version that the row names, and refused
// one version before and on the next lower target.
TEST(Catalogue, TheAssemblerRefusesWhatTheRowsDoNotName) {
  std::vector<int> targets; // that ptxas 13 knows
  for (const Machine& machine : machines())
    if (machine.sm >= 75)
      targets.push_back(machine.sm);
  for (const MatrixRow& row : matrix_rows()) {
    const std::string spelling = spellings_of(row).front(),
                      text = spelling + " " + operands_of(row, spelling) + ";\n";
    const IsaVersion since{row.since.major, row.since.minor};
    SCOPED_TRACE(spelling);
    for (const std::string& word : words_of(row.targets)) {
      Target target = *parse_target(word);
      const bool unknown = target.sm < targets.front();
      target.sm = std::max(target.sm, targets.front());
      const IsaVersion first = std::max(since, *target_since(target));
      expect_assembles(true, first, to_string(target), text);
      if (since > *target_since(target)) {
        expect_assembles(false, before(since), to_string(target), text);
      }
      Target below{target.sm, 0};
      if (target.suffix == 0) {
        const auto at = std::find(targets.begin(), targets.end(), target.sm);
        if (unknown || at == targets.begin())
          continue;
        below.sm = *(at - 1);
      }
      expect_assembles(false, std::max(since, *target_since(below)), to_string(below), text);
    }
  }
}

TEST(Catalogue, TheAssemblerRefusesTheSelectorAfterTheLast) {
  size_t count = 0;
  for (const MatrixRow& row : matrix_rows()) {
    const bool forgotten = row.shape.k == 32 && row.types.a.has(Type::f16) && row.types.d.has(Type::f32);
    if (row.sparse == Qual::none || forgotten) // by ptxas 13, which takes 0 to 3 there
      continue;
    const std::string spelling = spellings_of(row).front();
    std::string operands = operands_of(row, spelling);
    const std::string last = ",r8," + std::to_string(last_selector(row));
    operands.replace(operands.find(last), last.size(), ",r8," + std::to_string(last_selector(row) + 1));
    const bool hopper = targets_of(row).contains(*parse_target("sm_90a"));
    SCOPED_TRACE(spelling);
    expect_assembles(false, {9, 0}, hopper ? "sm_90a" : "sm_120a", spelling + " " + operands + ";\n");
    ++count;
  }
  EXPECT_GT(count, 20u);
}

} // namespace
} // namespace lemma::isa
