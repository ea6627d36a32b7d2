// Counts recorded cases by form, once, when first asked.
#include "recorded.h"

#include "golden/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace lemma::cli {
namespace {

struct Record {
  std::string_view group, gpu, target;
  std::vector<std::string_view> cases;
};

// The table of record_index.cc as data: as a statement for each case, a sanitizer's build took minutes over
// it.
struct Line {
  std::string_view group, gpu, target; // empty: a case of the record before
  std::string_view name;
};
constexpr Line kLines[] = {
#define RECORD(group, gpu, target, date) {group, gpu, target, {}},
#define CASE(name) {{}, {}, {}, name},
#include "recorded_cases.inc"
#undef RECORD
#undef CASE
};

std::vector<Record> recorded_names() {
  std::vector<Record> records;
  for (const Line& line : kLines)
    if (!line.group.empty())
      records.push_back({line.group, line.gpu, line.target, {}});
    else
      records.back().cases.push_back(line.name);
  return records;
}

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

class Counts {
public:
  Counts() {
    for (const isa::MatrixRow& row : isa::matrix_rows())
      for (std::string& spelling : isa::spellings_of(row))
        row_of_.emplace(std::move(spelling), &row);
    const std::vector<Record> records = recorded_names();
    for (const Record& record : records) {
      const auto infos = golden::group_infos();
      if (std::none_of(infos.begin(), infos.end(), [&](const auto& i) { return i.name == record.group; }))
        continue;
      const std::set<std::string_view> names(record.cases.begin(), record.cases.end());
      const golden::Group group = golden::make_group(record.group);
      for (const golden::Case& c : group.cases)
        if (names.contains(c.name))
          count(record, c);
    }
  }

  const Checked& of(const isa::MatrixRow& row) { return by_row_[&row]; }
  const Checked& of(const isa::Form& form) { return by_form_[&form]; }

private:
  void count(const Record& record, const golden::Case& c) {
    uint64_t outputs = 0;
    for (const golden::Plane& plane : c.outputs)
      outputs += c.units * plane.per_unit;
    const auto add = [&](Checked& checked) {
      checked.gpu = record.gpu;
      ++checked.cases;
      checked.outputs += outputs;
      const std::string name = fmt::format("{}/{}", record.target, record.group);
      if (checked.records.empty() || checked.records.back() != name)
        checked.records.push_back(name);
    };
    std::set<const isa::MatrixRow*> rows;
    each_instruction(c.text, [&](std::string_view word) {
      if (const auto row = row_of_.find(std::string(word)); row != row_of_.end())
        rows.insert(row->second);
    });
    for (const isa::MatrixRow* row : rows)
      add(by_row_[row]);
    Diagnostic unknown; // many cases have a description for a name
    if (const isa::Match* match = cache_.find(c.name.substr(0, c.name.find(' ')), 0, unknown);
        match && rows.empty())
      add(by_form_[match->forms.front()]);
  }

  std::unordered_map<std::string, const isa::MatrixRow*> row_of_;
  std::map<const isa::MatrixRow*, Checked> by_row_;
  std::map<const isa::Form*, Checked> by_form_;
  isa::MatchCache cache_;
};

Counts& counts() {
  static Counts instance;
  return instance;
}

} // namespace

const Checked& checked_on_hardware(const isa::MatrixRow& row) {
  return counts().of(row);
}

const Checked& checked_on_hardware(const isa::Form& form) {
  return counts().of(form);
}

std::string to_string(const Checked& checked) {
  if (!checked.any())
    return "not checked on hardware";
  std::string_view gpu = checked.gpu;
  if (gpu.starts_with("NVIDIA "))
    gpu.remove_prefix(7);
  return fmt::format("{}, {} case{}", gpu, checked.cases, checked.cases == 1 ? "" : "s");
}

} // namespace lemma::cli
