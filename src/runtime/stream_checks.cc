// Which of the two comes first is up to the schedule: the one that ended first is called the earlier.
#include "runtime/stream_checks.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace lemma::runtime {
namespace {

bool are_ordered(const StreamChecks::Done& a, const StreamChecks::Done& b) {
  return a.position.follows(b.position, a.footprint->waited_for_grids()) ||
         b.position.follows(a.position, b.footprint->waited_for_grids());
}

CheckedAccess described(const StreamChecks::Done& done, const check::Statement& who, check::Use use) {
  CheckedAccess access{.place = {},
                       .what = fmt::format("{} {}", done.what, check::writes(use) ? "writes" : "reads")};
  if (who.instruction) { // else it is the host's
    access.place = done.footprint->place_of(who);
    access.cta = who.cta;
    access.warp = who.warp;
    access.lane = who.lane;
  }
  return access;
}

std::string missing(const StreamChecks::Done& earlier, const StreamChecks::Done& later) {
  if (earlier.position.stream == later.position.stream)
    return "griddepcontrol.wait in the kernel that was launched programmatically, before it uses that memory";
  return "an event that is recorded behind the one and that the stream of the other waits for, or that the "
         "host waits "
         "for the one before it gives the other";
}

std::string rendered(const Finding& finding) {
  const auto line = [](const CheckedAccess& access) {
    std::string text = "  " + access.what;
    if (access.place.ptx_line != 0)
      text += fmt::format(" (line {} of the PTX, CTA {},{},{}, warp {}{})", access.place.ptx_line,
                          access.cta[0], access.cta[1], access.cta[2], access.warp,
                          access.lane >= 0 ? fmt::format(", lane {}", access.lane) : "");
    return text + "\n";
  };
  return fmt::format("{}[{}]: {}, at {}\n{}{}  missing: {}\n", finding.is_note ? "note" : "error", finding.id,
                     finding.message, finding.memory, line(finding.access), line(*finding.earlier),
                     finding.fix);
}

} // namespace

void StreamChecks::add(Done done, const Timeline& timeline) {
  if (done.footprint->is_empty())
    return;
  const std::lock_guard lock(mutex_);
  for (auto each = remembered_.begin(); each != remembered_.end();) {
    if (!are_ordered(*each, done))
      compare(*each, done);
    each = timeline.is_behind_all(each->position) ? remembered_.erase(each) : std::next(each);
  }
  remembered_.push_back(std::move(done));
}

void StreamChecks::compare(const Done& earlier, const Done& later) {
  const std::optional<check::Meeting> meeting = check::first_meeting(*earlier.footprint, *later.footprint);
  if (!meeting)
    return;
  CheckedAccess first = described(earlier, meeting->a, meeting->use_of_a);
  CheckedAccess second = described(later, meeting->b, meeting->use_of_b);
  Finding& finding = found_[{earlier.what, later.what, first.place.ptx_line, second.place.ptx_line}];
  if (finding.count++ > 0)
    return;
  const bool both_write = check::writes(meeting->use_of_a) && check::writes(meeting->use_of_b);
  finding.id = "stream.race";
  finding.is_note = meeting->may_be_ordered;
  finding.message = fmt::format(
      "{} and {} use the same memory ({} {}, {}), and nothing orders them{}", earlier.what, later.what,
      meeting->bytes, meeting->bytes == 1 ? "byte" : "bytes", both_write ? "both write" : "one writes",
      finding.is_note ? ", but perhaps a flag that one sets and the other reads" : "");
  finding.memory = memory_at_(meeting->address);
  finding.access = std::move(second);
  finding.earlier = std::move(first);
  finding.fix = missing(earlier, later);
  finding.kernel = later.kernel.empty() ? earlier.kernel : later.kernel;
  finding.rendered = rendered(finding);
}

std::vector<Finding> StreamChecks::take() {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> all;
  for (auto& [key, finding] : std::exchange(found_, {}))
    all.push_back(std::move(finding));
  return all;
}

} // namespace lemma::runtime
