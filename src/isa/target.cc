// Words to targets and back, and the rule of membership (contains): "sm_90" is sm_90 and up, "sm_90a" that
// alone, "sm_100f" its family, which is all machines of one major number, from there up. runs_on() is the
// same rule the other way round: which machine takes a module.
#include "isa/target.h"

#include "isa/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace lemma::isa {
namespace {

// The major compute capability: sm_100 and sm_103 are of one family.
int family_of(int sm) {
  return sm / 10;
}

} // namespace

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
  const Machine* machine = find_machine(target.sm);
  if (!machine)
    return std::nullopt;
  const auto of = [&](const auto& name) {
    return target.suffix == 'a' ? name.since_a : target.suffix == 'f' ? name.since_f : name.since;
  };
  const IsaVersion since = target.sm == machine->sm ? of(*machine) : of(machine->earlier);
  return since.major ? std::optional(since) : std::nullopt;
}

const std::vector<std::string_view>& target_words() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    for (const Machine& machine : machines())
      for (const char suffix : {'\0', 'a', 'f'})
        if (const Target target{machine.sm, suffix}; target_since(target))
          all.push_back(to_string(target));
    return all;
  }();
  static const std::vector<std::string_view> words(texts.begin(), texts.end());
  return words;
}

bool TargetSet::contains(Target target) const {
  if (any_of.empty())
    return true;
  target.sm = number_now(target.sm);
  return std::any_of(any_of.begin(), any_of.end(), [&](Target t) {
    switch (t.suffix) {
    case 'a':
      return t == target;
    case 'f':
      return target.suffix && family_of(target.sm) == family_of(t.sm) && target.sm >= t.sm;
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
  module.sm = number_now(module.sm);
  sm = number_now(sm);
  switch (module.suffix) {
  case 'a':
    return module.sm == sm;
  case 'f':
    return family_of(module.sm) == family_of(sm) && sm >= module.sm;
  default:
    return sm >= module.sm;
  }
}

std::string machines_of(Target module) {
  module.sm = number_now(module.sm);
  return fmt::format("sm_{}{}", module.sm,
                     module.suffix == 'a'   ? " alone"
                     : module.suffix == 'f' ? " and up in its family"
                                            : " and up");
}

} // namespace lemma::isa
