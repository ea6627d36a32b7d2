// Every form that the tables have executes on the virtual GPU, but those that docs/virtual-gpu.md lists:
// plain instances of each are decoded. The list is read from there, and names nothing that executes.
#include "generate/sampler.h"
#include "ptx/parser.h"
#include "vgpu/code/decode.h"
#include "vgpu/code/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace lemma::verify_test {

using namespace generate;

namespace {

// `cp.async.bulk .cp_mask`: how an instruction begins, and words that it has.
struct Listed {
  std::string name, begin;
  std::vector<std::string> words;
  int instances = 0;

  bool names(const Text& text) const {
    const auto has = [&](const std::string& word) {
      return std::find(text.words.begin(), text.words.end(), word.substr(1)) != text.words.end();
    };
    return text.str().starts_with(begin) && std::all_of(words.begin(), words.end(), has);
  }
};

// The code spans of the last column of the table under "What is not executed".
std::vector<Listed> read_list() {
  std::ifstream file(LEMMA_SOURCE "/docs/virtual-gpu.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t section = page.find("\n## What is not executed\n");
  EXPECT_NE(section, page.npos);
  std::vector<Listed> list;
  std::istringstream lines(section == page.npos ? "" : page.substr(section + 1));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.starts_with("## ")) {
    size_t at = line.starts_with("| ") ? line.find(" | ") : line.npos;
    while (at != line.npos && (at = line.find('`', at)) != line.npos) {
      const size_t end = line.find('`', at + 1);
      Listed& entry = list.emplace_back();
      entry.name = line.substr(at + 1, end - at - 1);
      std::istringstream parts(entry.name);
      parts >> entry.begin;
      entry.words.assign(std::istream_iterator<std::string>(parts), {});
      at = end + 1;
    }
  }
  return list;
}

// A target that has the form, rather a common one.
std::string target_of(const isa::Form& form) {
  for (const char* target : {"sm_90a", "sm_100a", "sm_120a", "sm_103a", "sm_110a", "sm_107a"})
    if (form.targets.contains(isa::parse_target(target).value_or(isa::Target{})))
      return target;
  return "";
}

// Whether each instruction of the kernel has a handler.
bool executes(const std::string& text, const std::string& target) {
  auto parsed = ptx::parse(std::make_shared<SourceText>("form.ptx", module_of(text, target)));
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << text;
  if (has_errors(parsed.diagnostics))
    return false;
  vgpu::GlobalMemory memory;
  const vgpu::Arch arch{.sm = isa::parse_target(target).value_or(isa::Target{}).sm};
  const std::string entry = parsed.module->functions.front().name;
  const auto program = vgpu::Program::load(std::move(parsed.module), memory, arch);
  EXPECT_TRUE(program.ok()) << text;
  return program.ok() && (*program)->find(entry)->unsupported == 0;
}

TEST(Forms, ExecuteOrAreListed) {
  std::vector<Listed> list = read_list();
  EXPECT_GT(list.size(), 20u);
  int made = 0;
  for (const isa::Form& form : isa::forms()) {
    if (form.until.major != 0)
      continue;
    for (const Text& text : plain_instances(form)) {
      ++made;
      const auto entry =
          std::find_if(list.begin(), list.end(), [&](const Listed& l) { return l.names(text); });
      if (entry != list.end())
        ++entry->instances;
      EXPECT_EQ(executes(text.str(), target_of(form)), entry == list.end())
          << text.str() << (entry == list.end() ? "" : ": listed as " + entry->name) << "\n  "
          << isa::syntax_of(form);
    }
  }
  EXPECT_GT(made, 3000);
  for (const Listed& entry : list)
    EXPECT_GT(entry.instances, 0) << entry.name << " is listed, and no form is so";
}

} // namespace
} // namespace lemma::verify_test
