// See target.h.
#include "isa/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace lemma::isa {

std::optional<Target> parse_target(std::string_view word) {
  if (!word.starts_with("sm_"))
    return std::nullopt;
  word.remove_prefix(3);
  Target target;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), target.sm);
  if (error != std::errc() || target.sm <= 0)
    return std::nullopt;
  const std::string_view tail(end, static_cast<size_t>(word.data() + word.size() - end));
  if (tail == "a" || tail == "f")
    target.suffix = tail[0];
  else if (!tail.empty())
    return std::nullopt;
  return target;
}

std::string to_string(Target target) {
  std::string text = fmt::format("sm_{}", target.sm);
  if (target.suffix)
    text += target.suffix;
  return text;
}

std::optional<IsaVersion> target_since(Target target) {
  static const std::vector<std::pair<Target, IsaVersion>> table = {
#define TARGET(word, major, minor) {parse_target(word).value_or(Target{}), {major, minor}},
#include "isa/targets.def"
#undef TARGET
  };
  const auto it =
      std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == target; });
  return it == table.end() ? std::nullopt : std::optional(it->second);
}

const std::vector<std::string_view>& target_words() {
  static const std::vector<std::string_view> words = {
#define TARGET(word, major, minor) word,
#include "isa/targets.def"
#undef TARGET
  };
  return words;
}

bool TargetSet::contains(Target target) const {
  if (any_of.empty())
    return true;
  return std::any_of(any_of.begin(), any_of.end(), [&](Target t) {
    switch (t.suffix) {
    case 'a':
      return t == target;
    case 'f':
      return target.suffix && t.sm / 10 == target.sm / 10 && target.sm >= t.sm;
    default:
      return target.sm >= t.sm;
    }
  });
}

std::optional<TargetSet> parse_targets(std::string_view words) {
  TargetSet set;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (end != 0) {
      const auto target = parse_target(words.substr(0, end));
      if (!target)
        return std::nullopt;
      set.any_of.push_back(*target);
    }
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return set;
}

std::string to_string(const TargetSet& targets) {
  if (targets.any_of.empty())
    return "all";
  std::string text;
  for (const Target target : targets.any_of) {
    if (!text.empty())
      text += ", ";
    text += to_string(target);
    text += target.suffix == 'f' ? " family" : target.suffix == 'a' ? "" : " and up";
  }
  return text;
}

bool runs_on(Target module, int sm) {
  switch (module.suffix) {
  case 'a':
    return module.sm == sm;
  case 'f':
    return module.sm / 10 == sm / 10 && sm >= module.sm;
  default:
    return sm >= module.sm;
  }
}

std::string machines_of(Target module) {
  return fmt::format("sm_{}{}", module.sm,
                     module.suffix == 'a'   ? " alone"
                     : module.suffix == 'f' ? " and up in its family"
                                            : " and up");
}

} // namespace lemma::isa
