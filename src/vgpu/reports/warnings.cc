// See warnings.h.
#include "vgpu/reports/warnings.h"

#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace lemma::vgpu {
namespace {

// "line 41 (a.cu:7) and 3 more instructions: TEXT, 12 times"
std::string warning_of(InstId id, const Launch::Remark& remark, size_t more_instructions) {
  const Place place = place_of(*remark.code, id);
  const std::string source =
      place.file.empty() ? std::string() : fmt::format(" ({}:{})", place.file, place.line);
  const std::string others = more_instructions == 0 ? std::string()
                             : more_instructions == 1
                                 ? " and one more instruction"
                                 : fmt::format(" and {} more instructions", more_instructions);
  const std::string times = remark.count > 1 ? fmt::format(", {} times", remark.count) : std::string();
  return fmt::format("line {}{}{}: {}{}", place.ptx_line, source, others, remark.text, times);
}

} // namespace

void add_warnings(Launch& launch) {
  constexpr size_t kMost = 10;
  std::map<std::string_view, size_t> of_text; // index in `merged`
  std::vector<std::tuple<InstId, Launch::Remark, size_t>> merged;
  for (const auto& [id, remark] : launch.remarks) {
    const auto [at, is_new] = of_text.try_emplace(remark.text, merged.size());
    if (is_new) {
      merged.emplace_back(id, remark, 0);
    } else {
      auto& [first, all, more] = merged[at->second];
      all.count += remark.count;
      ++more;
    }
  }
  std::vector<std::string>& warnings = launch.report.warnings;
  for (const auto& [id, remark, more] : merged)
    if (warnings.size() < kMost)
      warnings.push_back(warning_of(id, remark, more));
}

} // namespace lemma::vgpu
