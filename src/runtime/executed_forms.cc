// Each thread counts instructions for itself; forms are made of them at the end.
#include "runtime/executed_forms.h"

#include "fidelity/fidelity.h"
#include "lemma/fidelity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

namespace lemma::runtime {

void ExecutedForms::launch_begins(const vgpu::Launch& launch) {
  counts_.assign(launch.workers, std::vector<Count>(numbers_.count()));
}

void ExecutedForms::executes(const vgpu::Exec& x, const vgpu::DecodedInst& in) {
  Count& count = counts_[x.worker][numbers_.of(x.code->id_of(in))];
  ++count.warps;
  count.lanes += static_cast<uint64_t>(std::popcount(x.active));
}

std::vector<ExecutedForm> ExecutedForms::forms() const {
  std::map<std::tuple<std::string, Fidelity, std::string>, Count> by_form;
  for (uint32_t i = 0; i < numbers_.count(); ++i) {
    Count sum;
    for (const std::vector<Count>& of_worker : counts_)
      sum = {sum.warps + of_worker[i].warps, sum.lanes + of_worker[i].lanes};
    if (sum.warps == 0)
      continue;
    fidelity::Known known = fidelity::how_known(numbers_.instruction(i), program_.arch().sm);
    Count& total = by_form[{std::move(known.form), known.fidelity, std::move(known.evidence)}];
    total = {total.warps + sum.warps, total.lanes + sum.lanes};
  }
  std::vector<ExecutedForm> found, forms;
  for (const auto& [known, count] : by_form)
    found.push_back({.form = std::get<0>(known),
                     .fidelity = std::get<1>(known),
                     .evidence = std::get<2>(known),
                     .warp_instructions = count.warps,
                     .lane_instructions = count.lanes});
  merge(forms, found);
  return forms;
}

} // namespace lemma::runtime

namespace lemma {

namespace {
// "1 form", "3 forms".
std::string count_of(size_t forms) {
  return fmt::format("{} form{}", forms, forms == 1 ? "" : "s");
}

// "NVIDIA H200": what hardware was asked about exact forms; empty: none.
std::string gpus_of(std::span<const ExecutedForm> forms) {
  std::set<std::string> gpus;
  for (const ExecutedForm& form : forms)
    if (!form.evidence.empty())
      gpus.insert(form.evidence);
  return fmt::format("{}", fmt::join(gpus, ", "));
}

uint64_t warps_of(std::span<const ExecutedForm> forms) {
  uint64_t sum = 0;
  for (const ExecutedForm& form : forms)
    sum += form.warp_instructions;
  return sum;
}
} // namespace

void merge(std::vector<ExecutedForm>& all, std::span<const ExecutedForm> more) {
  const auto key = [](const ExecutedForm& form) {
    return std::tuple(std::string_view(form.form), form.fidelity, std::string_view(form.evidence));
  };
  for (const ExecutedForm& form : more) {
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const ExecutedForm& a) { return key(a) == key(form); });
    if (same == all.end()) {
      all.push_back(form);
      continue;
    }
    same->warp_instructions += form.warp_instructions;
    same->lane_instructions += form.lane_instructions;
  }
  std::sort(all.begin(), all.end(), [&](const ExecutedForm& a, const ExecutedForm& b) {
    return std::tuple(b.fidelity, b.warp_instructions, key(a)) <
           std::tuple(a.fidelity, a.warp_instructions, key(b));
  });
}

std::string fidelity_text(std::span<const ExecutedForm> forms, std::string_view arithmetic, size_t most) {
  if (forms.empty())
    return {};
  std::vector<std::span<const ExecutedForm>> groups;
  for (size_t begin = 0, end = 0; begin < forms.size(); begin = end) {
    while (end < forms.size() && forms[end].fidelity == forms[begin].fidelity)
      ++end;
    groups.push_back(forms.subspan(begin, end - begin));
  }
  std::vector<std::string> counts;
  for (const auto& group : groups)
    counts.push_back(fmt::format("{} {}", group.size(), to_string(group.front().fidelity)));
  std::string text = fmt::format("fidelity on {}: {} ran, {}\n", arithmetic, count_of(forms.size()),
                                 fmt::join(counts, ", "));
  for (const auto& group : groups) {
    const std::string_view name = to_string(group.front().fidelity);
    if (group.front().fidelity == Fidelity::exact) {
      const auto asked = static_cast<size_t>(std::count_if(
          group.begin(), group.end(), [](const ExecutedForm& form) { return !form.evidence.empty(); }));
      text += fmt::format("  {:<11} {:>12}  {}{}\n", name, warps_of(group), count_of(group.size()),
                          asked == 0 ? ""
                                     : fmt::format(", {} of them recorded on {} too",
                                                   asked == group.size() ? "all" : std::to_string(asked),
                                                   gpus_of(group)));
      continue;
    }
    for (const ExecutedForm& form : group.first(std::min(most, group.size())))
      text += fmt::format("  {:<11} {:>12}  {}{}\n", name, form.warp_instructions, form.form,
                          form.evidence.empty() ? "" : ": " + form.evidence);
    if (group.size() > most)
      text += fmt::format("  {:<11} {:>12}  {} more\n", name, warps_of(group.subspan(most)),
                          count_of(group.size() - most));
  }
  return text;
}

} // namespace lemma
