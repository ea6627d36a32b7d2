// Which findings are one defect. Two that share a statement of the source are mended by one instruction if
// there is a place for it that lies between the two accesses of both:
//
//   store A      line 10        10|-----|20   A and C      one barrier at line 15 is between the accesses
//   store B      line 11        11|-----|20   B and C      of both: one group
//   load  C      line 20           20|--|25   C and D      ... and of this one it is not: a second group
//   load  D      line 25
//
// So a finding is an interval of lines, and a group is a set of intervals that have a point in common and
// hang together by their statements. A statement that does not fit with itself, in a loop, fits with all
// that it shares a line with. Which access came first is up to the schedule: the intervals have no direction.
//
// What is mended at what threads synchronize by - a flag's store, that is to be a release - is a group for
// each chain of these: two findings that share no such instruction are two defects, whatever accesses they
// share.
//
// What is mended at an access itself - ld.global.nc, that is to be no .nc - is a group for each statement
// that makes it.
//
// A barrier of the CTA does what one of a warp does: where both are missing at one place, the wider one is
// the fix of all, and the finding that wants it is the one that is shown.
//
// Tests: tests/unit/runtime/finding_groups_test.cc, tests/check/corpus/pairs.py.
#include "lemma/findings.h"

#include "runtime/places.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace lemma {
namespace {

// The user's line, of which unrolling and inlining make many instructions; else the PTX statement.
struct Statement {
  std::string file;
  uint64_t line = 0;
  friend auto operator<=>(const Statement&, const Statement&) = default;
};

Statement statement_of(const Place& place, const Finding& finding) {
  auto [file, line] = runtime::users_line(place, finding.ptx + "\n" + finding.kernel); // no file's name
  return {std::move(file), line};
}

// What findings of one group have in common besides: id, note or not, suppressed and why, the fix, whether
// there are two accesses, and the statement where it is to be mended, if that is one of them.
using Kind = std::tuple<std::string, bool, bool, std::string, std::string, bool, Statement>;

// The line of the source whose ld.global.nc reads what the kernel writes. Without lines unrolled loads look
// like many.
Statement mended_at(const Finding& finding) {
  if (finding.id != "race.weak" || !finding.earlier)
    return {};
  for (const Place* place : {&finding.access.place, &finding.earlier->place})
    if (place->line != 0 && place->instruction.find("ld.global.nc") != place->instruction.npos)
      return statement_of(*place, finding);
  return {};
}

// Findings of the same statements.
struct Pair {
  Statement a, b;                // a <= b; the same where there is one access
  uint64_t ptx_a = 0, ptx_b = 0; // their instructions, of the first finding
  std::vector<size_t> findings;
};

// Statements that are to be written anew and are none of the accesses: what threads synchronize by.
std::vector<Statement> synchronized_by(const Finding& finding, const Pair& pair) {
  std::vector<Statement> by;
  const auto is_access = [&](const Place& place) {
    return place.ptx_line == finding.access.place.ptx_line ||
           (finding.earlier && place.ptx_line == finding.earlier->place.ptx_line);
  };
  for (const FindingRepair& repair : finding.repairs)
    if (repair.where == FindingRepair::Where::instead && !is_access(repair.place))
      if (Statement statement = statement_of(repair.place, finding);
          statement != pair.a && statement != pair.b)
        by.push_back(std::move(statement));
  return by;
}

bool share(const std::vector<Statement>& some, const std::vector<Statement>& others) {
  return std::ranges::any_of(
      some, [&](const Statement& statement) { return std::ranges::find(others, statement) != others.end(); });
}

struct Interval {
  uint64_t begin = 0, end = std::numeric_limits<uint64_t>::max(); // behind begin, up to end
  bool is_empty() const { return begin >= end; }
  Interval operator&(const Interval& other) const {
    return {std::max(begin, other.begin), std::min(end, other.end)};
  }
};

struct Set {
  Interval interval;
  std::vector<Statement> statements, by; // `by`: synchronized_by()
  std::vector<size_t> findings;

  bool hangs_together_with(const Set& other) const {
    return share(statements, other.statements) && (by == other.by || share(by, other.by));
  }
  void take(const Set& other) {
    interval = interval & other.interval;
    statements.insert(statements.end(), other.statements.begin(), other.statements.end());
    by.insert(by.end(), other.by.begin(), other.by.end());
    findings.insert(findings.end(), other.findings.begin(), other.findings.end());
  }
};

// In lines of the source if all are of one file, else of the PTX.
Interval interval_of(const Pair& pair, bool one_file) {
  if (pair.a == pair.b)
    return {};
  const uint64_t a = one_file ? pair.a.line : pair.ptx_a, b = one_file ? pair.b.line : pair.ptx_b;
  return {std::min(a, b), std::max(a, b)};
}

void merge_sets(std::vector<Set>& sets) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < sets.size(); ++i)
      for (size_t j = sets.size() - 1; j > i; --j)
        if (sets[i].hangs_together_with(sets[j]) && !(sets[i].interval & sets[j].interval).is_empty()) {
          sets[i].take(sets[j]);
          sets.erase(sets.begin() + static_cast<ptrdiff_t>(j));
          changed = true;
        }
  }
}

std::vector<Set> sets_of(const std::map<std::pair<Statement, Statement>, Pair>& pairs,
                         std::span<const Finding> findings, bool may_share) {
  const bool one_file = std::ranges::all_of(pairs, [&](const auto& entry) {
    const std::string& file = pairs.begin()->first.first.file;
    return entry.second.a.file == file && entry.second.b.file == file;
  });
  std::vector<Set> sets;
  for (const auto& [statements, pair] : pairs)
    for (const size_t each : pair.findings) {
      const std::vector<Statement> by = synchronized_by(findings[each], pair);
      const auto same = std::ranges::find_if(sets, [&](const Set& set) {
        return set.statements == std::vector{pair.a, pair.b} && set.by == by;
      });
      if (same != sets.end())
        same->findings.push_back(each);
      else
        sets.push_back({interval_of(pair, one_file), {pair.a, pair.b}, by, {each}});
    }
  std::ranges::stable_sort(sets, {}, [](const Set& set) { return set.interval.end; });
  if (may_share)
    merge_sets(sets);
  return sets;
}

} // namespace

namespace {

// Of fixes that have the same name the widest does for all.
std::string fix_of(const Finding& finding) {
  return finding.barrier == Barrier::none ? finding.fix : "a barrier";
}

// Between which lines a repair stands: twice the line's number, and less or more.
int64_t position_of(const FindingRepair& repair) {
  return 2 * int64_t{repair.place.ptx_line} + (repair.where == FindingRepair::Where::before ? -1 : 1);
}
// Between the accesses, or else round a loop.
bool is_between(int64_t position, const Finding& finding) {
  const int64_t a = 2 * int64_t{finding.access.place.ptx_line},
                b = finding.earlier ? 2 * int64_t{finding.earlier->place.ptx_line} : a;
  return std::min(a, b) < position && position < std::max(a, b);
}

// The repairs of a member that lie where most of the others' do, between their accesses or round their loops;
// of such those that stand first in the text. What stands there is written anew wherever a member wants it.
void add_repairs(FindingGroup& group, std::span<const Finding> findings) {
  const Barrier widest = findings[group.members.front()].barrier;
  const Finding* best = nullptr;
  std::pair<int64_t, int64_t> rank;
  std::map<std::pair<uint32_t, uint32_t>, FindingRepair> replaced;
  for (const size_t member : group.members) {
    const Finding& finding = findings[member];
    for (const FindingRepair& repair : finding.repairs)
      if (repair.where == FindingRepair::Where::instead)
        replaced.try_emplace({repair.edit.line, repair.edit.column}, repair);
    if (finding.repairs.empty() || finding.barrier != widest)
      continue;
    const int64_t position = position_of(finding.repairs.front());
    const auto fit = std::ranges::count_if(group.members, [&](size_t i) {
      const Finding& other = findings[i];
      return !other.repairs.empty() &&
             is_between(position, other) == is_between(position_of(other.repairs.front()), other);
    });
    if (const std::pair<int64_t, int64_t> its{fit, -position}; !best || its > rank) {
      best = &finding;
      rank = its;
    }
  }
  if (!best)
    return;
  for (const FindingRepair& repair : best->repairs)
    if (repair.where != FindingRepair::Where::instead)
      group.repairs.push_back(repair);
  for (const auto& [at, repair] : replaced)
    group.repairs.push_back(repair);
  group.alternatives = best->alternatives;
}

} // namespace

std::vector<FindingGroup> group(std::span<const Finding> findings) {
  std::map<Kind, std::map<std::pair<Statement, Statement>, Pair>> kinds;
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    Statement a = statement_of(finding.access.place, finding);
    Statement b = finding.earlier ? statement_of(finding.earlier->place, finding) : a;
    if (a.line == 0 || b.line == 0) // nothing says where: it is a group of its own
      a = b = {"", i};
    uint64_t ptx_a = finding.access.place.ptx_line,
             ptx_b = finding.earlier ? finding.earlier->place.ptx_line : ptx_a;
    if (b < a) {
      std::swap(a, b);
      std::swap(ptx_a, ptx_b);
    }
    Pair& pair = kinds[{finding.id, finding.is_note, finding.suppressed, finding.suppressed_because,
                        fix_of(finding), finding.earlier.has_value(), mended_at(finding)}][{a, b}];
    if (pair.findings.empty())
      pair = {a, b, ptx_a, ptx_b, {}};
    pair.findings.push_back(i);
  }
  std::vector<FindingGroup> groups;
  for (const auto& [kind, pairs] : kinds)
    for (Set& set : sets_of(pairs, findings, std::get<5>(kind))) {
      FindingGroup made{.is_note = std::get<1>(kind), .suppressed = std::get<2>(kind), .members = {}};
      made.members = std::move(set.findings);
      std::ranges::sort(made.members);
      for (const size_t member : made.members)
        made.count += findings[member].count;
      // Of those that want the widest barrier the one that was seen most often is shown.
      const auto most = std::ranges::max_element(
          made.members, {}, [&](size_t i) { return std::pair(findings[i].barrier, findings[i].count); });
      std::rotate(made.members.begin(), most, most + 1);
      add_repairs(made, findings);
      groups.push_back(std::move(made));
    }
  // The worst first: errors, and what was seen most often.
  std::ranges::sort(groups, {}, [](const FindingGroup& group) {
    return std::tuple(group.suppressed, group.is_note, ~group.count, group.members.front());
  });
  return groups;
}

std::vector<size_t> group_numbers(std::span<const Finding> findings) {
  std::vector<size_t> numbers(findings.size());
  const std::vector<FindingGroup> groups = group(findings);
  for (size_t i = 0; i < groups.size(); ++i)
    for (const size_t member : groups[i].members)
      numbers[member] = i;
  return numbers;
}

} // namespace lemma
