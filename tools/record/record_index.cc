// Build tool: which forms of instructions a real GPU has been asked about, for `lemma isa` to compile in.
//
//   record_index tests/golden/sm_90a/*.json > recorded_cases.inc
//
// Writes a line for each row of the catalogue and each other form that recorded cases execute, by its index:
//
//   ROW(12, "NVIDIA H200", 8, 65536, "sm_90a/mma sm_90a/layout")     cases, outputs that they store, records
//
// A row's cases are those whose kernels contain one of its spellings; any other form's those named by one.
#include "golden/groups.h"
#include "isa/catalogue.h"
#include "isa/form.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lemma {
namespace {

struct Counted {
  std::string gpu;
  uint64_t cases = 0, outputs = 0;
  std::vector<std::string> records; // "sm_90a/mma"
};

// The opcode of every line of PTX: its first word, after a guard.
template <class F>
void each_instruction(std::string_view text, F f) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto skip_spaces = [&] {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    };
    skip_spaces();
    if (line.starts_with('@')) {
      line.remove_prefix(std::min(line.find(' '), line.size()));
      skip_spaces();
    }
    f(line.substr(0, line.find_first_of(" ;")));
  }
}

class Index {
public:
  Index() {
    for (const isa::MatrixRow& row : isa::matrix_rows())
      for (std::string& spelling : isa::spellings_of(row))
        row_of_.emplace(std::move(spelling), &row - isa::matrix_rows().data());
  }

  // A file of the record; what it holds: golden/record_file.h.
  void add(const std::filesystem::path& path) {
    const std::string name = path.stem().string();
    const auto infos = golden::group_infos();
    if (std::none_of(infos.begin(), infos.end(), [&](const auto& info) { return info.name == name; }))
      return;
    std::ifstream file(path);
    const nlohmann::json record = nlohmann::json::parse(file);
    const nlohmann::json& stamp = record.at("stamp");
    const std::string gpu = stamp.at("gpu");
    const std::string place = fmt::format("{}/{}", stamp.at("target").get<std::string>(), name);
    const golden::Group group = golden::make_group(name);
    for (const golden::Case& c : group.cases)
      if (record.at("cases").contains(c.name))
        add(c, gpu, place);
  }

  void print() const {
    for (const auto& [row, counted] : rows_)
      print("ROW", row, counted);
    for (const auto& [form, counted] : forms_)
      print("FORM", form, counted);
  }

private:
  void add(const golden::Case& c, const std::string& gpu, const std::string& place) {
    uint64_t outputs = 0;
    for (const golden::Plane& plane : c.outputs)
      outputs += c.units * plane.per_unit;
    const auto count = [&](Counted& counted) {
      counted.gpu = gpu;
      ++counted.cases;
      counted.outputs += outputs;
      if (counted.records.empty() || counted.records.back() != place)
        counted.records.push_back(place);
    };
    std::set<ptrdiff_t> rows;
    each_instruction(c.text, [&](std::string_view word) {
      if (const auto row = row_of_.find(std::string(word)); row != row_of_.end())
        rows.insert(row->second);
    });
    for (const ptrdiff_t row : rows)
      count(rows_[row]);
    Diagnostic unknown; // many cases have a description for a name
    if (const isa::Match* match = cache_.find(c.name.substr(0, c.name.find(' ')), 0, unknown);
        match && rows.empty())
      count(forms_[match->bindings.front().form - isa::forms().data()]);
  }

  static void print(const char* kind, ptrdiff_t index, const Counted& counted) {
    fmt::print("{}({}, \"{}\", {}, {}, \"{}\")\n", kind, index, counted.gpu, counted.cases, counted.outputs,
               fmt::join(counted.records, " "));
  }

  std::unordered_map<std::string, ptrdiff_t> row_of_;
  std::map<ptrdiff_t, Counted> rows_, forms_; // by their place in the catalogue
  isa::MatchCache cache_;
};

} // namespace
} // namespace lemma

int main(int argc, char** argv) {
  lemma::Index index;
  for (int i = 1; i < argc; ++i)
    try {
      index.add(argv[i]);
    } catch (const std::exception& error) {
      fmt::print(stderr, "record_index: {}: {}\n", argv[i], error.what());
      return 1;
    }
  index.print();
  return 0;
}
