// A module that ends with a line that is no instruction makes the assembler read it all, name every wrong
// line, and stop before it makes code. Where it stops at a line at once, it is asked about the lines behind
// it.
//
// Parser and verifier read the lines once; then target and version of the module are changed, and it is
// verified anew.
#include "agreement/grid.h"

#include "generate/sampler.h"
#include "isa/machine.h"
#include "oracle.h"
#include "ptx/parser.h"
#include "ptxas/ptxas.h"
#include "verify/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <stdexcept>

namespace lemma::verify_test {
namespace {

using isa::IsaVersion;
using isa::Target;

constexpr IsaVersion kFirst{2, 3}; // that has .address_size
constexpr IsaVersion kLast = isa::kNewestVersion;
constexpr int kLastMinor[] = {0, 5, 3, 2, 3, 0, 5, 8, 8, kLast.minor}; // by major version

std::vector<IsaVersion> versions() {
  std::vector<IsaVersion> all;
  for (int major = kFirst.major; major <= kLast.major; ++major)
    for (int minor = major == kFirst.major ? kFirst.minor : 0; minor <= kLastMinor[major]; ++minor)
      all.push_back({major, minor});
  return all;
}

std::vector<Target> targets() {
  std::vector<Target> all;
  for (const isa::Machine& machine : isa::machines())
    for (const int sm : {machine.earlier.sm, machine.sm})
      for (const char suffix : {'\0', 'a', 'f'})
        if (const Target target{sm, suffix}; sm != 0 && isa::target_since(target))
          all.push_back(target);
  return all;
}

std::string word(IsaVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

IsaVersion parse_version(std::string_view text) {
  IsaVersion version;
  const size_t point = text.find('.');
  if (point == text.npos ||
      std::from_chars(text.data(), text.data() + point, version.major).ec != std::errc() ||
      std::from_chars(text.data() + point + 1, text.data() + text.size(), version.minor).ec != std::errc())
    throw std::runtime_error("no PTX version: " + std::string(text));
  return version;
}

// "sm_80+": whether it has the target.
bool has(std::string_view targets, Target target) {
  if (targets.ends_with('+'))
    return isa::number_now(target.sm) >= isa::parse_target(targets.substr(0, targets.size() - 1)).value().sm;
  return target == isa::parse_target(targets).value();
}

// The versions of one target, first to last.
struct Span {
  size_t begin = 0, end = 0; // indices of points
};

std::vector<Span> spans_of_targets() {
  std::vector<Span> spans;
  for (size_t i = 0; i < points().size(); ++i)
    if (i == 0 || !(points()[i].target == points()[i - 1].target))
      spans.push_back({i, i + 1});
    else
      spans.back().end = i + 1;
  return spans;
}

// Targets as few words: those from some machine on are one.
std::string words_of(std::vector<Target> some) {
  const std::vector<Target> all = targets();
  std::vector<std::string> words;
  for (const isa::Machine& machine : isa::machines()) {
    const auto is_from = [&](Target target) { return isa::number_now(target.sm) >= machine.sm; };
    const auto wanted = std::count_if(all.begin(), all.end(), is_from);
    if (std::count_if(some.begin(), some.end(), is_from) != wanted || wanted == 1)
      continue;
    std::erase_if(some, is_from);
    words.push_back(fmt::format("sm_{}+", machine.sm));
    break;
  }
  for (size_t i = 0; i < some.size(); ++i)
    words.insert(words.end() - (words.empty() || !words.back().ends_with('+') ? 0 : 1),
                 isa::to_string(some[i]));
  return fmt::format("{}", fmt::join(words, " "));
}

// --- ptxas ------------------------------------------------------------------------------------------------

constexpr size_t kLinesOfModule = 4000;

// The module and the number of lines before the first instruction.
struct Text {
  std::string module;
  size_t before = 0;
};

Text text_of(const std::vector<std::string>& instructions, size_t first, size_t end, const Point& point) {
  constexpr std::string_view kStop = "no_such_instruction;"; // it makes no code
  std::string body;
  for (size_t i = first; i < end; ++i)
    body += instructions[i] + "\n";
  Text text{generate::module_of(body + std::string(kStop), isa::to_string(point.target), word(point.version)),
            0};
  text.before = static_cast<size_t>(
      std::count(text.module.begin(),
                 text.module.begin() + static_cast<std::ptrdiff_t>(text.module.find("L0:\n")), '\n'));
  ++text.before; // of the label
  return text;
}

std::vector<char> legal_at(const Point& point, const std::vector<std::string>& instructions) {
  std::vector<char> legal(instructions.size());
  for (size_t first = 0; first < instructions.size();) {
    const size_t end = std::min(instructions.size(), first + kLinesOfModule);
    const Text text = text_of(instructions, first, end, point);
    const ptxas::Reading read =
        ptxas::read(text.module, options_for(text.module, isa::to_string(point.target)));
    if (read.text.find("is not defined for option 'gpu-name'") != std::string::npos)
      return legal; // an older assembler
    if (read.wrong_lines.empty())
      throw std::runtime_error(fmt::format("ptxas at {}: {}", to_string(point), read.text.substr(0, 400)));
    size_t last = end;
    if (read.stopped_at > text.before && read.stopped_at <= text.before + (end - first))
      last = first + read.stopped_at - text.before; // behind it nothing is known
    for (size_t i = first; i < last; ++i)
      legal[i] = !read.wrong_lines.contains(text.before + 1 + i - first);
    first = last;
  }
  return legal;
}

// --- parser and verifier ----------------------------------------------------------------------------------

constexpr size_t kInstructionsOfModule = 24; // each has a message or two, of which there are 100 at most

// One module's lines in functions of their own: some rules are about instructions of one function together.
class Lines {
public:
  Lines(const std::vector<std::string>& instructions, std::vector<size_t> members,
        const std::vector<size_t>& where, std::vector<std::vector<char>>& legal)
      : instructions_(instructions), members_(std::move(members)), where_(where), legal_(legal) {}

  void judge() {
    auto outcome = parse();
    while (has_errors(outcome.diagnostics)) { // what is not read is nowhere legal
      const size_t known = members_.size();
      for (const size_t wrong : wrong_lines(outcome.diagnostics, *outcome.module->source))
        std::erase(members_, wrong);
      if (members_.size() == known)
        throw std::runtime_error("an error outside of the lines");
      if (members_.empty())
        return;
      outcome = parse();
    }
    const bool is_wide = uses("%rq"), is_half = uses("%hh");
    for (size_t w = 0; w < where_.size(); ++w) {
      const Point& point = points()[where_[w]];
      outcome.module->targets.front() = isa::to_string(point.target);
      outcome.module->version = {point.version.major, point.version.minor};
      const std::set<size_t> wrong = wrong_lines(verify::verify(*outcome.module), *outcome.module->source);
      for (const size_t i : members_)
        legal_[i][w] = !wrong.contains(i) &&
                       !(is_wide && is_in(i, "%rq") && !has_register(isa::Type::b128, point)) &&
                       !(is_half && is_in(i, "%hh") && !has_register(isa::Type::f16x2, point));
    }
  }

private:
  static bool has_register(isa::Type type, const Point& point) {
    return generate::has_register(type, isa::number_now(point.target.sm), word(point.version));
  }
  bool is_in(size_t instruction, std::string_view name) const {
    return instructions_[instruction].find(name) != std::string::npos;
  }
  bool uses(std::string_view name) const {
    return std::any_of(members_.begin(), members_.end(), [&](size_t i) { return is_in(i, name); });
  }

  ptx::ParseOutcome parse() {
    std::string body;
    for (const size_t i : members_)
      body += instructions_[i] + "\n";
    const std::string module = generate::module_of(body);
    first_line_ =
        static_cast<uint32_t>(std::count(
            module.begin(), module.begin() + static_cast<std::ptrdiff_t>(module.find("L0:\n")), '\n')) +
        2;
    return ptx::parse(std::make_shared<SourceText>("lines.ptx", module));
  }

  std::set<size_t> wrong_lines(const Diagnostics& diagnostics, const SourceText& source) const {
    std::set<size_t> wrong;
    for (const Diagnostic& d : diagnostics) {
      if (d.id == "too-many-errors")
        throw std::runtime_error("more errors than are told");
      const uint32_t line = source.line_column(d.range.begin).line;
      if (d.severity != Severity::warning && line >= first_line_ && line - first_line_ < members_.size())
        wrong.insert(members_[line - first_line_]);
    }
    return wrong;
  }

  const std::vector<std::string>& instructions_;
  std::vector<size_t> members_;
  const std::vector<size_t>& where_;
  std::vector<std::vector<char>>& legal_;
  uint32_t first_line_ = 0;
};

} // namespace

const std::vector<Point>& points() {
  static const std::vector<Point> all = [] {
    std::vector<Point> made;
    for (const Target target : targets())
      for (const IsaVersion version : versions())
        if (*isa::target_since(target) <= version)
          made.push_back({target, version});
    return made;
  }();
  return all;
}

std::string to_string(const Point& point) {
  return isa::to_string(point.target) + " " + word(point.version);
}

std::string to_text(const LegalAt& legal) {
  // First and last version -> targets. Of a target that has it since it is there the first version is that of
  // the others.
  std::map<std::pair<IsaVersion, IsaVersion>, std::vector<Target>> entries;
  std::vector<Span> always;
  for (const Span& span : spans_of_targets())
    for (size_t i = span.begin; i < span.end; ++i) {
      size_t last = i;
      if (!legal[i])
        continue;
      while (last + 1 < span.end && legal[last + 1])
        ++last;
      if (i == span.begin && last + 1 == span.end)
        always.push_back(span);
      else
        entries[{points()[i].version, points()[last].version}].push_back(points()[i].target);
      i = last;
    }
  std::vector<IsaVersion> begun;
  for (const auto& [range, some] : entries)
    if (range.second == kLast)
      begun.push_back(range.first);
  for (const Span& span : always)
    if (const IsaVersion first = points()[span.begin].version; begun.empty() || first < begun.front())
      begun.insert(begun.begin(), first);
  for (const Span& span : always) {
    const auto after = std::upper_bound(begun.begin(), begun.end(), points()[span.begin].version);
    entries[{*(after - 1), kLast}].push_back(points()[span.begin].target);
  }
  if (entries.empty())
    return "nowhere";
  std::vector<std::string> texts;
  const std::vector<Target> order = targets();
  for (auto& [range, some] : entries) {
    std::sort(some.begin(), some.end(), [&](Target a, Target b) {
      return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
    });
    texts.push_back(fmt::format("{}{} {}", word(range.first),
                                range.second == kLast ? "" : "-" + word(range.second), words_of(some)));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

LegalAt parse_legal(std::string_view text) {
  LegalAt legal(points().size());
  if (text == "nowhere")
    return legal;
  while (!text.empty()) {
    std::string_view entry = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(entry.size() + 2, text.size()));
    const std::string_view range = entry.substr(0, entry.find(' '));
    const IsaVersion first = parse_version(range.substr(0, range.find('-')));
    const IsaVersion last =
        range.find('-') == range.npos ? kLast : parse_version(range.substr(range.find('-') + 1));
    while (entry.find(' ') != entry.npos) {
      entry.remove_prefix(entry.find(' ') + 1);
      const std::string_view some = entry.substr(0, entry.find(' '));
      for (size_t i = 0; i < points().size(); ++i)
        if (first <= points()[i].version && points()[i].version <= last && has(some, points()[i].target))
          legal[i] = true;
    }
  }
  return legal;
}

std::vector<LegalAt> judged_by_ptxas(const std::vector<std::string>& instructions,
                                     const std::vector<size_t>& where) {
  std::vector<std::vector<char>> at(where.size()); // bits of one vector<bool> are not for several threads
  on_all_cores(where.size(), [&](size_t w) { at[w] = legal_at(points()[where[w]], instructions); });
  std::vector<LegalAt> legal(instructions.size(), LegalAt(points().size()));
  for (size_t w = 0; w < where.size(); ++w)
    for (size_t i = 0; i < instructions.size(); ++i)
      legal[i][where[w]] = at[w][i] != 0;
  return legal;
}

std::vector<LegalAt> judged_by_lemma(const std::vector<std::string>& instructions,
                                     const std::vector<size_t>& where) {
  std::vector<std::vector<char>> at(instructions.size(), std::vector<char>(where.size()));
  std::vector<std::vector<size_t>> groups, alone; // all tcgen05 of a function have the same .cta_group
  for (size_t i = 0; i < instructions.size(); ++i)
    if (instructions[i].starts_with("tcgen05"))
      alone.push_back({i});
    else if (!groups.empty() && groups.back().size() < kInstructionsOfModule)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  groups.insert(groups.end(), alone.begin(), alone.end());
  on_all_cores(groups.size(), [&](size_t g) { Lines(instructions, groups[g], where, at).judge(); });
  std::vector<LegalAt> legal(instructions.size(), LegalAt(points().size()));
  for (size_t i = 0; i < instructions.size(); ++i)
    for (size_t w = 0; w < where.size(); ++w)
      legal[i][where[w]] = at[i][w] != 0;
  return legal;
}

std::vector<size_t> everywhere() {
  std::vector<size_t> all(points().size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  return all;
}

std::vector<size_t> headers() {
  const std::set<std::string> some_targets = {"sm_80",   "sm_90a",  "sm_100a", "sm_103a",
                                              "sm_107a", "sm_110a", "sm_120a", "sm_121a"};
  std::vector<size_t> some;
  for (size_t i = 0; i < points().size(); ++i)
    if (some_targets.contains(isa::to_string(points()[i].target)))
      some.push_back(i);
  return some;
}

std::vector<size_t> cross() {
  const std::set<std::string> in_all_versions = {"sm_35", "sm_75", "sm_90a", "sm_100a", "sm_120a"};
  std::vector<size_t> some;
  for (size_t i = 0; i < points().size(); ++i)
    if (points()[i].version == kLast || in_all_versions.contains(isa::to_string(points()[i].target)))
      some.push_back(i);
  return some;
}

} // namespace lemma::verify_test
