// Which of the two comes first is up to the schedule: the one that ended first is called the earlier.
#include "runtime/stream_checks.h"

#include "runtime/inlined_comments.h"
#include "runtime/kernel_names.h"
#include "runtime/report_text.h"
#include "runtime/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
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

// Null: the access is none of a kernel's.
const SourceText* source_of(const CheckedAccess& access, const ptx::Module* ptx) {
  return access.place.ptx_line != 0 ? ptx->source.get() : nullptr;
}

// Adds what the files say about the place.
void look_up(CheckedAccess& access, const ptx::Module* ptx) {
  if (!source_of(access, ptx))
    return;
  add_inlined_calls(access.place, *ptx);
  SourceLines(ptx->source->name()).show(access.place);
}

std::string missing(const StreamChecks::Done& earlier, const StreamChecks::Done& later) {
  if (earlier.position.stream == later.position.stream)
    return "griddepcontrol.wait in the kernel that was launched programmatically, before it uses that memory";
  return "an event that is recorded behind the one and that the stream of the other waits for, or that the "
         "host waits "
         "for the one before it gives the other";
}

} // namespace

void StreamChecks::add(Done done, Timeline& timeline) {
  if (done.footprint->is_empty())
    return;
  const std::lock_guard lock(mutex_);
  // First, what is behind all: an access of the host's that was made ahead of that has been noted then.
  std::vector<std::list<Done>::iterator> behind;
  for (auto each = remembered_.begin(); each != remembered_.end(); ++each)
    if (timeline.is_behind_all(each->position))
      behind.push_back(each);
  fetch_host_accesses(timeline);
  for (const Done& each : remembered_)
    if (!are_ordered(each, done))
      compare(each, done);
  for (const Timeline::HostAccess& access : host_accesses_)
    compare_host(access, done);
  for (const auto& each : behind)
    remembered_.erase(each);
  std::erase_if(host_accesses_, [&](const auto& each) { return timeline.is_behind_all(each.position); });
  if (host_found_.empty())
    std::erase_if(talkers_, [&](const Position& each) { return timeline.is_behind_all(each); });
  if (done.footprint->may_talk_to_host())
    talkers_.push_back(done.position);
  std::erase_if(waits_for_values_, [&](const Position& wait) {
    return timeline.is_behind_all(wait) && std::ranges::all_of(remembered_, [&](const Done& each) {
             return each.position.follows(wait, false);
           });
  });
  if (done.waits_for_value)
    waits_for_values_.push_back(done.position);
  remembered_.push_back(std::move(done));
}

void StreamChecks::memory_is_new(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (const Done& each : remembered_)
    each.footprint->forget(address, bytes);
}

void StreamChecks::fetch_host_accesses(Timeline& timeline) {
  for (Timeline::HostAccess& access : timeline.take_host_accesses()) {
    for (const Done& each : remembered_)
      compare_host(access, each);
    host_accesses_.push_back(std::move(access));
  }
}

void StreamChecks::compare_host(const Timeline::HostAccess& access, const Done& done) {
  if (access.position.follows(done.position, false) || done.position.follows(access.position, false))
    return;
  check::Footprint host;
  host.add(access.touch.address, 1, access.touch.writes ? check::Use::strong_write : check::Use::strong_read);
  const std::optional<check::Meeting> meeting = check::first_meeting(*done.footprint, host);
  if (!meeting)
    return;
  CheckedAccess its = described(done, meeting->a, meeting->use_of_a);
  const std::string code = name_of_code(access.touch.code);
  const Key key{code, done.what, its.place.ptx_line, access.touch.writes};
  HostFinding& found = host_found_[key];
  if (found.finding.count++ > 0)
    return;
  found.access = access;
  found.finding.id = "stream.race";
  found.finding.message =
      fmt::format("the host and {} use the same memory ({}), and the host has not waited for it", done.what,
                  access.touch.writes ? "the host writes" : "one writes");
  found.finding.memory = with_brief_names(memory_at_(access.touch.address));
  found.finding.access.what =
      fmt::format("the host {} at {}", access.touch.writes ? "writes" : "reads", code);
  look_up(its, done.ptx.get());
  found.ptx = done.ptx;
  found.finding.earlier = std::move(its);
  found.finding.fix =
      "a wait of the host (for the stream, an event behind it, or all) before it uses that memory";
  found.finding.kernel = done.kernel;
}

// One of them comes after a wait that the other does not come after.
bool StreamChecks::may_be_ordered_by_value(const Done& a, const Done& b) const {
  return std::ranges::any_of(waits_for_values_, [&](const Position& wait) {
    return a.position.follows(wait, false) != b.position.follows(wait, false);
  });
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
  const bool by_value = may_be_ordered_by_value(earlier, later);
  finding.is_note = meeting->may_be_ordered || by_value;
  finding.message = fmt::format(
      "{} and {} use the same memory ({} {}, {}), and nothing orders them{}", earlier.what, later.what,
      meeting->bytes, meeting->bytes == 1 ? "byte" : "bytes", both_write ? "both write" : "one writes",
      by_value          ? ", but perhaps a value that a stream has waited for"
      : finding.is_note ? ", but perhaps a flag that one sets and the other reads"
                        : "");
  finding.memory = with_brief_names(memory_at_(meeting->address));
  finding.access = std::move(second);
  finding.earlier = std::move(first);
  finding.fix = missing(earlier, later);
  finding.kernel = later.kernel.empty() ? earlier.kernel : later.kernel;
  look_up(finding.access, later.ptx.get());
  look_up(*finding.earlier, earlier.ptx.get());
  const SourceText* const source = source_of(finding.access, later.ptx.get());
  const SourceText* const earlier_source = source_of(*finding.earlier, earlier.ptx.get());
  if (source || earlier_source)
    finding.ptx = (source ? source : earlier_source)->name();
  finding.rendered = render_finding(finding, source, earlier_source);
}

std::vector<Finding> StreamChecks::take(Timeline& timeline) {
  const std::lock_guard lock(mutex_);
  fetch_host_accesses(timeline);
  std::vector<Finding> all;
  for (auto each = host_found_.begin(); each != host_found_.end();) {
    auto& [access, finding, ptx] = each->second;
    if (timeline.is_open_before(access)) {
      ++each;
      continue;
    }
    finding.is_note = std::ranges::any_of(talkers_, [&](const Position& talker) {
      return !access.position.follows(talker, false) && !talker.follows(access.position, false);
    });
    if (finding.is_note)
      finding.message += ", but perhaps for a flag that a kernel sets";
    finding.rendered = render_finding(finding, nullptr, source_of(*finding.earlier, ptx.get()));
    all.push_back(std::move(finding));
    each = host_found_.erase(each);
  }
  for (auto& [key, finding] : std::exchange(found_, {}))
    all.push_back(std::move(finding));
  return all;
}

} // namespace lemma::runtime
