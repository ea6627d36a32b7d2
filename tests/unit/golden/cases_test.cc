// The generated cases: their names and buffers are in order, they follow from seed and name alone, our
// verifier and the assembler (where there is one) accept every kernel, and no instruction form is forgotten:
// each is in a case, or in kNotRecorded with the reason.
#include "golden/groups.h"
#include "golden/spelling.h"
#include "lemma/lemma.h"
#include "ptx/module.h"
#include "ptx/parser.h"
#include "ptxas/ptxas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lemma::golden {
namespace {

const std::vector<Group>& all_groups() {
  static const std::vector<Group> groups = [] {
    std::vector<Group> made;
    for (const GroupInfo& info : group_infos())
      made.push_back(make_group(info.name));
    return made;
  }();
  return groups;
}

// Modules of at most so many kernels: a long text for one message is no help.
constexpr size_t kKernels = 256;
std::vector<std::string> module_texts() {
  std::vector<std::string> texts;
  for (const Group& group : all_groups())
    for (size_t i = 0; i < group.cases.size(); i += kKernels)
      texts.push_back(
          module_text(std::span(group.cases).subspan(i, std::min(kKernels, group.cases.size() - i))));
  return texts;
}

TEST(Cases, NamesAndKernelsAreUnique) {
  for (const Group& group : all_groups()) {
    EXPECT_FALSE(group.cases.empty()) << group.name;
    std::set<std::string> names, entries;
    for (const Case& c : group.cases) {
      EXPECT_TRUE(names.insert(c.name).second) << group.name << "/" << c.name;
      EXPECT_TRUE(entries.insert(c.entry).second) << group.name << "/" << c.entry;
    }
  }
}

void expect_apart(const std::vector<Plane>& planes, uint64_t units, const std::string& name) {
  uint64_t end = 0;
  for (const Plane& plane : planes) {
    EXPECT_GE(plane.offset_bytes, end) << name << " " << plane.name;
    EXPECT_EQ(plane.offset_bytes % 256, 0u) << name << " " << plane.name;
    end = plane.offset_bytes + plane.unit_bytes() * units;
    uint64_t product = 1;
    for (const auto& [dim, size] : plane.dims)
      product *= size;
    EXPECT_TRUE(plane.dims.empty() || product <= plane.per_unit) << name << " " << plane.name;
  }
}

TEST(Cases, PartsCoverTheUnitsAndPlanesLieApart) {
  for (const Group& group : all_groups())
    for (const Case& c : group.cases) {
      uint64_t next = 0;
      for (const Part& part : c.parts) {
        EXPECT_EQ(part.first, next) << c.name;
        EXPECT_GT(part.units, 0u) << c.name;
        next += part.units;
      }
      EXPECT_EQ(next, c.units) << c.name;
      EXPECT_FALSE(c.outputs.empty()) << c.name;
      expect_apart(c.inputs, c.units, c.name);
      expect_apart(c.outputs, c.units, c.name);
    }
}

// At least 2^16 outputs for each class of operands and row of the catalogue.
TEST(Cases, MatrixRowsHaveManyOutputs) {
  std::map<std::pair<std::string, std::string>, uint64_t> outputs; // row, class
  for (const Group& group : all_groups())
    if (group.name == "mma" || group.name == "wmma" || group.name == "mma_narrow" || group.name == "mma_sp")
      for (const Case& c : group.cases)
        if (c.parts.size() > 1)
          for (const Part& part : c.parts)
            outputs[{c.family, part.name}] += part.units * c.outputs[0].per_unit;
  EXPECT_GE(outputs.size(), 5u * 30);
  for (const auto& [row, count] : outputs)
    EXPECT_GE(count, 65536u) << row.first << " " << row.second;
}

TEST(Cases, OperandsFollowFromSeedAndName) {
  const Group f32 = make_group("f32");
  const Case& c = f32.cases.front();
  EXPECT_EQ(make_inputs(c, "f32", 1), make_inputs(c, "f32", 1));
  EXPECT_NE(make_inputs(c, "f32", 1), make_inputs(c, "f32", 2));
  EXPECT_NE(make_inputs(c, "f32", 1), make_inputs(c, "f64", 1));
  Case renamed = c;
  renamed.name += "x";
  EXPECT_NE(make_inputs(c, "f32", 1), make_inputs(renamed, "f32", 1));
}

TEST(Cases, VerifierAcceptsEveryKernel) {
  for (std::string& text : module_texts()) {
    const Verification verification = verify_ptx(std::move(text), "golden.ptx");
    EXPECT_TRUE(verification.accepted);
    for (const Message& message : verification.messages)
      ADD_FAILURE() << message.rendered;
    if (HasFailure())
      break;
  }
}

TEST(Cases, AssemblerAcceptsEveryKernel) {
  for (const std::string& text : module_texts()) {
    // -O0: only whether it is legal matters here.
    const auto answer = ptxas::ask(text, "-c -O0 -arch=sm_90a");
    LEMMA_SKIP_WITHOUT_PTXAS(answer);
    ASSERT_TRUE(answer->accepts) << answer->text;
  }
}

// --- Nothing is forgotten ----------------------------------------------------------------------------

struct NotRecorded {
  const char* spelling; // an opcode, or the beginning of a form's syntax
  const char* reason;
};
constexpr const char* kNothingStored = "has no result that is the same on every machine";
constexpr const char* kLater = "the virtual GPU does not execute it yet";
constexpr const char* kTextures = "tests/textures has their record";
constexpr const char* kOld = "the assembler refuses it for sm_70 and up";
constexpr NotRecorded kNotRecorded[] = {
    {"brkpt", kNothingStored},
    {"trap", kNothingStored},
    {"nanosleep", kNothingStored},
    {"pmevent", kNothingStored},
    {"fence", kNothingStored},
    {"fence.mbarrier_init", kNothingStored},
    {"fence.proxy", kNothingStored},
    {"membar.proxy", kNothingStored},
    {"prefetch", kNothingStored},
    {"prefetchu", kNothingStored},
    {"applypriority", kNothingStored},
    {"discard", kNothingStored},
    {"createpolicy", kNothingStored},
    {"griddepcontrol", kNothingStored},
    {"setmaxnreg", kNothingStored},
    {"alloca", kNothingStored},
    {"stacksave", kNothingStored},
    {"stackrestore", kNothingStored},
    {"istypep", kNothingStored},
    {"vote.mode", kOld},
    {"vote.ballot", kOld},
    {"shfl.mode", kOld},
    {"mbarrier.inval", kNothingStored},
    {"st.bulk", kLater},
    {"multimem.", kLater},
    {"tex", kTextures},
    {"tld4", kTextures},
    {"txq", kTextures},
    {"isspacep.space  p, a:u32", "kernels here have 64-bit addresses"},
    {"suld", kTextures},
    {"sust", kTextures},
    {"sured", kTextures},
    {"suq", kTextures},
    {"ldmatrix", kLater},
};

// The opcodes of all kernels, and the forms that they chose.
std::set<const isa::Form*> used_forms() {
  std::set<const isa::Form*> used;
  for (std::string& text : module_texts()) {
    const ptx::ParseOutcome parsed = ptx::parse(std::make_shared<SourceText>("golden.ptx", std::move(text)));
    for (const auto& function : parsed.module->functions)
      for (const auto& instruction : function.instructions)
        used.insert(instruction.form());
  }
  return used;
}

const char* reason_for(const isa::Form& form) {
  for (const NotRecorded& entry : kNotRecorded) {
    const std::string_view spelling = entry.spelling;
    if (isa::to_string(form.opcode) == spelling || isa::syntax_of(form).starts_with(spelling))
      return entry.reason;
  }
  return nullptr;
}

TEST(Cases, EveryFormIsRecordedOrNamed) {
  const std::set<const isa::Form*> used = used_forms();
  // A spelling that other targets have since another version has a row for each.
  const auto spelling = [](const isa::Form& form) { return isa::syntax_of(form) + isa::where_of(form); };
  std::set<isa::Opcode> opcodes;
  std::set<std::string> spellings;
  for (const isa::Form* form : used)
    if (form) {
      opcodes.insert(form->opcode);
      spellings.insert(spelling(*form));
    }
  EXPECT_GT(opcodes.size(), 70u);
  size_t count = 0;
  for (const isa::Form& form : isa::forms()) {
    if (!on_golden_target(form) || spellings.contains(spelling(form)))
      continue;
    // Forms of memory instructions differ in hints that change no result.
    const bool hints_only = form.opcode == isa::Opcode::ld || form.opcode == isa::Opcode::st ||
                            form.opcode == isa::Opcode::ldu || form.opcode == isa::Opcode::membar ||
                            isa::syntax_of(form).find("cache_hint") != std::string::npos;
    EXPECT_TRUE(hints_only || reason_for(form) != nullptr)
        << isa::syntax_of(form) << "  [" << isa::where_of(form) << "]";
    ++count;
  }
  EXPECT_LT(count, isa::forms().size() / 2) << "most forms that sm_90a has are recorded";
}

} // namespace
} // namespace lemma::golden
