// The column `checked` against the records it names: a row claims a record just when that has cases of it,
// and what an H200 cannot run claims none.
#include "isa/catalogue.h"
#include "isa/target.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace lemma::isa {
namespace {

namespace fs = std::filesystem;

// The names of the cases of every record, by its path under tests/golden ("sm_90a/mma.json").
std::map<std::string, std::set<std::string>> recorded_cases() {
  std::map<std::string, std::set<std::string>> records;
  const fs::path root = LEMMA_GOLDEN;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().extension() == ".json") {
      const auto record = nlohmann::json::parse(std::ifstream(entry.path()));
      auto& names = records[fs::relative(entry.path(), root)];
      for (const auto& [name, value] : record.at("cases").items())
        names.insert(name);
    }
  return records;
}

// A case is named after the spelling, less the words that all of its record share, and perhaps further words
// after it: "m16n8k16.row.col.f32.f16.f16.f32", "sp.m16n8k32...", "load.a.sync...",
// "m64n8k16.f32.f16.f16.a-0.b-32".
bool has_case_of(const std::set<std::string>& names, std::string spelling) {
  const std::string_view sync = ".sync.aligned";
  if (spelling.starts_with("mma.sp"))
    spelling = spelling.substr(4).erase(spelling.find(sync) - 4, sync.size());
  for (const std::string_view shared : {"", "mma.sync.aligned.", "wmma.", "wgmma.mma_async.sync.aligned.",
                                        "wgmma.mma_async.sp.sync.aligned."}) {
    if (!spelling.starts_with(shared))
      continue;
    const std::string name = spelling.substr(shared.size());
    const auto longer = names.lower_bound(name + ".");
    if (names.contains(name) || (longer != names.end() && longer->starts_with(name + ".")))
      return true;
  }
  return false;
}

TEST(Checked, ARowClaimsARecordJustWhenThatHasCasesOfIt) {
  const auto records = recorded_cases();
  ASSERT_GE(records.size(), 4u);
  for (const MatrixRow& row : matrix_rows()) {
    std::set<std::string> found;
    for (const auto& [path, names] : records)
      for (const std::string& spelling : spellings_of(row))
        if (has_case_of(names, spelling))
          found.insert(path);
    if (row.checked.empty())
      EXPECT_TRUE(found.empty()) << syntax_of(row) << " has cases in " << *found.begin()
                                 << " and does not say so";
    else
      EXPECT_TRUE(found.contains(std::string(row.checked)))
          << syntax_of(row) << " says " << row.checked << ", which has no case of it";
  }
}

TEST(Checked, WhatAnH200CannotRunClaimsNothing) {
  constexpr Target kH200{90, 'a'};
  for (const MatrixRow& row : matrix_rows()) {
    const auto targets = parse_targets(row.targets);
    ASSERT_TRUE(targets.has_value()) << row.targets;
    EXPECT_TRUE(targets->contains(kH200) || row.checked.empty())
        << syntax_of(row) << " is not in sm_90a and says " << row.checked;
  }
}

TEST(Checked, EveryRecordedFolderIsOfATargetOfTheRow) {
  for (const MatrixRow& row : matrix_rows()) {
    if (row.checked.empty())
      continue;
    const auto machine = parse_target(row.checked.substr(0, row.checked.find('/')));
    ASSERT_TRUE(machine.has_value()) << row.checked;
    EXPECT_TRUE(parse_targets(row.targets)->contains(*machine)) << syntax_of(row);
  }
}

} // namespace
} // namespace lemma::isa
