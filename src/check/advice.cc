// Instructions are put where all paths between two accesses come through, and a barrier where all its threads
// do. Of two accesses in a loop each may have to come first: the way that has no barrier yet is the one that
// lacks it.
#include "check/advice.h"

#include "check/edits.h"
#include "isa/effects.h"
#include "vgpu/memory/place.h"

#include <algorithm>
#include <array>

namespace lemma::check {

namespace effect = isa::effect;

namespace {

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 8> kSemantics = {"weak",    "volatile", "relaxed", "acquire",
                                                        "release", "acq_rel",  "sc",      "mmio"};
constexpr std::array<std::string_view, 4> kScopes = {"cta", "cluster", "gpu", "sys"};
// Of an opcode's words those that its order stands behind: "mbarrier.arrive.expect_tx.release.cta".
constexpr std::array<std::string_view, 10> kBeforeOrder = {
    "mbarrier", "arrive", "arrive_drop", "expect_tx",  "test_wait",
    "try_wait", "parity", "cluster",     "noComplete", "async"};

std::vector<std::string> words_of(const std::string& opcode) {
  std::vector<std::string> words(1);
  for (const char c : opcode)
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

// Who comes to it waits there for the others, so that what they did before is ordered.
bool is_barrier(const ptx::Instruction& instruction, Together together) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  if (!does.acquires() || instruction.has(isa::Qual::arrive))
    return false;
  return does.has(effect::meets_cluster) || (does.has(effect::meets_cta) && together != Together::cluster) ||
         (does.has(effect::masked) && together == Together::warp);
}

bool is_cluster_barrier(const ptx::Instruction& instruction, bool waits) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  return does.has(effect::meets_cluster) && does.acquires() == waits;
}

bool is_fence(const ptx::Instruction& instruction) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  return does.has(effect::fences) && does.acquires();
}

bool is_mbarrier_wait(const ptx::Instruction& instruction) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  return does.has(effect::on_mbarrier) && does.acquires();
}

bool is_wait(const ptx::Instruction& instruction) {
  return isa::effects_of(instruction.opcode).has(effect::waits);
}

} // namespace

BarrierText barrier_of(Together together) {
  switch (together) {
  case Together::cluster:
    return {"barrier.cluster.arrive and wait", "barrier.cluster.arrive;\nbarrier.cluster.wait;"};
  case Together::cta:
    return {"a barrier (bar.sync)", "bar.sync 0;"};
  default:
    return {"bar.warp.sync (__syncwarp)", "bar.warp.sync 0xffffffff;"};
  }
}

Remedy meeting(Together together, Spot earlier, Spot later) {
  return {.kind = Remedy::Kind::meet,
          .text = barrier_of(together).text,
          .at = later,
          .from = earlier,
          .together = together};
}

std::string with_order(const Spot& spot, std::string_view semantics, std::string_view scope) {
  std::vector<std::string> words = words_of(opcode_text(spot));
  std::string had_semantics, had_scope;
  size_t at = 1;
  while (at < words.size() && is_one_of(kBeforeOrder, words[at]))
    ++at;
  for (size_t i = at; i < words.size();)
    if (is_one_of(kSemantics, words[i]) || is_one_of(kScopes, words[i])) {
      (is_one_of(kScopes, words[i]) ? had_scope : had_semantics) = words[i];
      words.erase(words.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  if (!semantics.empty())
    had_semantics = semantics;
  if (!scope.empty())
    had_scope = scope;
  if (words.front() == "membar") // its words for the scopes are its own
    return "membar." + (had_scope == "gpu" ? "gl" : had_scope);
  for (const std::string& word : {had_scope, had_semantics})
    if (!word.empty())
      words.insert(words.begin() + static_cast<ptrdiff_t>(at), word);
  std::string opcode = words.front();
  for (size_t i = 1; i < words.size(); ++i)
    opcode += "." + words[i];
  return opcode;
}

Advice Advice::either(std::string text, std::vector<std::vector<Remedy>> lists) {
  Advice made(std::move(text));
  made.alternatives = std::move(lists);
  return made;
}

Advice Advice::and_also(const Advice& other) const {
  Advice both(words + ", and " + other.words, remedies);
  both.remedies.insert(both.remedies.end(), other.remedies.begin(), other.remedies.end());
  if (other.remedies.empty())
    both.remedies.clear();
  return both;
}

Advice Advice::or_strong(std::vector<Remedy> order) const {
  Advice either = *this;
  either.words += "; or a strong access (.relaxed with a scope)";
  either.or_else = std::move(order);
  return either;
}

Barrier Advice::barrier() const {
  if (remedies.size() != 1 || remedies.front().kind != Remedy::Kind::meet)
    return Barrier::none;
  switch (remedies.front().together) {
  case Together::cluster:
    return Barrier::cluster;
  case Together::cta:
    return Barrier::cta;
  default:
    return Barrier::warp;
  }
}

namespace {

constexpr const char* kClusterWait = "barrier.cluster.wait;";

// A barrier.cluster.wait follows the arrival on some path.
bool is_waited_for(const ptx::Function& function, const MeetingPlaces& places, uint32_t arrival) {
  for (uint32_t i = 0; i < places.count(); ++i)
    if (is_cluster_barrier(function.instructions[i], true) && places.reaches(arrival, i, {}))
      return true;
  return false;
}

// That all paths between the two come through, with no wait behind it; kNone: there is none.
uint32_t last_arrival(const ptx::Function& function, const MeetingPlaces& places, uint32_t from,
                      uint32_t to) {
  for (uint32_t i = places.count(); i-- > 0;)
    if (is_cluster_barrier(function.instructions[i], false) && places.separates({i, true}, from, to))
      return i;
  return ptx::kNone;
}

} // namespace

const MeetingPlaces& Repairs::places(const ptx::Function& function) {
  std::unique_ptr<MeetingPlaces>& found = places_[&function];
  if (!found)
    found = std::make_unique<MeetingPlaces>(function);
  return *found;
}

std::vector<FindingRepair> Repairs::of(const std::vector<Remedy>& remedies) {
  std::vector<FindingRepair> repairs;
  for (const Remedy& remedy : remedies)
    if (!add(remedy, repairs))
      return {};
  const auto is_before = [](const FindingRepair& a, const FindingRepair& b) {
    return std::pair(a.edit.line, a.edit.column) < std::pair(b.edit.line, b.edit.column);
  };
  std::stable_sort(repairs.begin(), repairs.end(), is_before);
  const auto is_same = [](const FindingRepair& a, const FindingRepair& b) {
    return a.edit.line == b.edit.line && a.edit.column == b.edit.column && a.edit.text == b.edit.text;
  };
  repairs.erase(std::unique(repairs.begin(), repairs.end(), is_same), repairs.end());
  return repairs;
}

void Repairs::add_alternatives(const Advice& advice, Finding& finding) {
  const auto is_same = [](const std::vector<FindingRepair>& a, const std::vector<FindingRepair>& b) {
    return std::ranges::equal(a, b, [](const FindingRepair& one, const FindingRepair& other) {
      return one.edit.line == other.edit.line && one.edit.column == other.edit.column &&
             one.edit.length == other.edit.length && one.edit.text == other.edit.text;
    });
  };
  for (const std::vector<Remedy>& remedies : advice.alternatives) {
    std::vector<FindingRepair> made = of(remedies);
    const auto is_made = [&](const std::vector<FindingRepair>& other) { return is_same(made, other); };
    if (made.empty() || is_made(finding.repairs) || std::ranges::any_of(finding.alternatives, is_made))
      continue;
    if (finding.repairs.empty())
      finding.repairs = std::move(made);
    else
      finding.alternatives.push_back(std::move(made));
  }
}

bool Repairs::contradicts(const std::vector<Remedy>& remedies) {
  return std::any_of(remedies.begin(), remedies.end(), [&](const Remedy& remedy) {
    return remedy.kind == Remedy::Kind::release && remedy.at.instruction && remedy.from.instruction &&
           remedy.at.code == remedy.from.code && places(*remedy.at.code->function).is_known() &&
           places(*remedy.at.code->function)
               .dominates(remedy.at.instruction.index, remedy.from.instruction.index);
  });
}

bool Repairs::add(const Remedy& remedy, std::vector<FindingRepair>& to) {
  if (!remedy.at.instruction.is_of_text())
    return false;
  if (!places(*remedy.at.code->function).is_known())
    return false;
  const bool has_from = remedy.from.instruction.is_of_text() && remedy.from.code == remedy.at.code;
  switch (remedy.kind) {
  case Remedy::Kind::before:
    to.push_back(insertion(*remedy.at.code, Point{remedy.at.instruction.index, false}, remedy.text));
    return true;
  case Remedy::Kind::behind:
    to.push_back(insertion(*remedy.at.code, Point{remedy.at.instruction.index, true}, remedy.text));
    return true;
  case Remedy::Kind::order:
    to.push_back(with_opcode(*remedy.at.code, remedy.at.instruction.index, remedy.text));
    return true;
  case Remedy::Kind::first: {
    const auto point =
        places(*remedy.at.code->function).between(0, remedy.at.instruction.index, remedy.together);
    if (point)
      to.push_back(insertion(*remedy.at.code, *point, remedy.text));
    return point.has_value();
  }
  case Remedy::Kind::leave: {
    const bool is_last =
        has_from && !is_waited_for(*remedy.at.code->function, places(*remedy.at.code->function),
                                   remedy.from.instruction.index);
    const Spot& spot = is_last ? remedy.from : remedy.at;
    to.push_back(insertion(*spot.code, Point{spot.instruction.index, is_last}, kClusterWait));
    return true;
  }
  case Remedy::Kind::meet:
    return has_from && add_meeting(remedy, remedy.from.instruction.index, to);
  case Remedy::Kind::wait:
  case Remedy::Kind::handed:
    return has_from && add_wait(remedy, to);
  case Remedy::Kind::release:
  case Remedy::Kind::acquire:
    return add_order(remedy, to);
  case Remedy::Kind::widen_release:
  case Remedy::Kind::widen_acquire:
    return has_from && add_scope(remedy, to);
  default:
    return rewrite(remedy, to);
  }
}

// `from` is an instruction before the accesses, if the barrier has to lie behind that.
bool Repairs::add_meeting(const Remedy& remedy, uint32_t from, std::vector<FindingRepair>& to) {
  const ptx::Function& function = *remedy.at.code->function;
  const MeetingPlaces& all = places(function);
  const uint32_t first = remedy.from.instruction.index, second = remedy.at.instruction.index;
  const std::string& text = remedy.then.empty() ? remedy.text : remedy.then;
  const MeetingPlaces::Stops stops = [&](uint32_t i) {
    return is_barrier(function.instructions[i], remedy.together);
  };
  std::vector<std::pair<uint32_t, uint32_t>> ways;
  if (all.reaches(from, second, stops))
    ways.emplace_back(from, second);
  if (first != second && all.reaches(second, first, stops))
    ways.emplace_back(second, first);
  if (ways.empty() && all.reaches(from, second, {}))
    ways.emplace_back(from, second);
  for (auto& [begin, end] : ways) {
    // Who has arrived at the cluster's barrier has to wait there, and not to arrive again.
    const uint32_t arrival =
        remedy.together == Together::cluster ? last_arrival(function, all, begin, end) : ptx::kNone;
    const std::optional<Point> point =
        all.between(arrival == ptx::kNone ? begin : arrival, end, remedy.together);
    if (!point)
      return false;
    to.push_back(insertion(*remedy.at.code, *point, arrival == ptx::kNone ? text : kClusterWait));
  }
  return !ways.empty();
}

bool Repairs::add_wait(const Remedy& remedy, std::vector<FindingRepair>& to) {
  const ptx::Function& function = *remedy.at.code->function;
  const MeetingPlaces& all = places(function);
  const uint32_t issue = remedy.from.instruction.index, access = remedy.at.instruction.index;
  const auto waits = [&](uint32_t i) { return is_wait(function.instructions[i]); };
  const auto meets = [&](uint32_t i) { return is_barrier(function.instructions[i], remedy.together); };
  const auto between = [&](auto&& is_wanted, bool behind) -> std::optional<uint32_t> {
    for (uint32_t i = 0; i < all.count(); ++i)
      if (is_wanted(i) && all.separates({i, behind}, issue, access))
        return i;
    return std::nullopt;
  };
  if (remedy.kind == Remedy::Kind::handed)
    return add_meeting(remedy, between(waits, true).value_or(issue), to);
  const bool others = !remedy.then.empty();
  const auto orders = [&](uint32_t i) { return meets(i) || is_mbarrier_wait(function.instructions[i]); };
  if (!all.reaches(issue, access, {}) ||
      (others && !all.reaches(issue, access, waits) && all.reaches(access, issue, orders)))
    return others && add_meeting(remedy, issue, to);
  if (others)
    if (const std::optional<uint32_t> barrier = between(meets, false)) {
      to.push_back(insertion(*remedy.at.code, Point{*barrier, false}, remedy.text));
      return true;
    }
  const std::optional<Point> point = all.between(issue, access, remedy.together);
  if (point)
    to.push_back(insertion(*remedy.at.code, *point, others ? remedy.text + "\n" + remedy.then : remedy.text));
  return point.has_value();
}

// What is done by a fence is left to it.
bool Repairs::add_order(const Remedy& remedy, std::vector<FindingRepair>& to) {
  using vgpu::Semantics;
  const vgpu::MemoryOrder order = vgpu::order_of(remedy.at.ptx());
  const bool releases = remedy.kind == Remedy::Kind::release;
  if (order.semantics == Semantics::acq_rel || order.semantics == Semantics::sc ||
      order.semantics == (releases ? Semantics::release : Semantics::acquire))
    return true;
  const ptx::Function& function = *remedy.at.code->function;
  const auto fences = [&](uint32_t i) { return is_fence(function.instructions[i]); };
  if (!releases && remedy.from.code == remedy.at.code && remedy.from.instruction &&
      !places(function).reaches(remedy.at.instruction.index, remedy.from.instruction.index, fences))
    return true;
  const auto same = std::find_if(to.begin(), to.end(), [&](const FindingRepair& repair) {
    return repair.where == FindingRepair::Where::instead &&
           repair.place.ptx_line == vgpu::place_of(*remedy.at.code, remedy.at.instruction).ptx_line;
  });
  if (same != to.end()) { // one instruction of both threads
    same->edit.text = with_order(remedy.at, "acq_rel", "");
    return true;
  }
  const bool other = order.semantics == (releases ? Semantics::acquire : Semantics::release);
  const std::string_view scope = order.semantics == Semantics::volatile_ ? "gpu" : "";
  to.push_back(with_opcode(*remedy.at.code, remedy.at.instruction.index,
                           with_order(remedy.at,
                                      other      ? "acq_rel"
                                      : releases ? "release"
                                                 : "acquire",
                                      scope)));
  return true;
}

bool Repairs::add_scope(const Remedy& remedy, std::vector<FindingRepair>& to) {
  const ptx::Function& function = *remedy.at.code->function;
  const MeetingPlaces& all = places(function);
  const bool releases = remedy.kind == Remedy::Kind::widen_release;
  const uint32_t at = remedy.at.instruction.index, access = remedy.from.instruction.index;
  const uint32_t first = releases ? access : at, second = releases ? at : access;
  const auto is_narrow = [&](const ptx::Instruction& instruction) {
    const std::string_view has = vgpu::to_string(vgpu::order_of(instruction).scope);
    const auto rank = [](std::string_view scope) {
      return std::find(kScopes.begin(), kScopes.end(), scope) - kScopes.begin();
    };
    return rank(has) < rank(remedy.text);
  };
  const auto widen = [&](uint32_t i, std::string_view semantics) {
    const Spot spot{remedy.at.code, {remedy.at.code->number, i}};
    to.push_back(with_opcode(*remedy.at.code, i, with_order(spot, semantics, remedy.text)));
  };
  if (is_narrow(remedy.at.ptx()))
    widen(at, is_atomic(isa::effects_of(remedy.at.ptx().opcode))
                  ? ""
                  : vgpu::to_string(vgpu::order_of(remedy.at.ptx()).semantics));
  for (uint32_t i = 0; i < all.count(); ++i)
    if (is_fence(function.instructions[i]) && is_narrow(function.instructions[i]) &&
        all.reaches(first, i, {}) && all.reaches(i, second, {}))
      widen(i, "");
  return true;
}

} // namespace lemma::check
