// A report is a headline, the PTX line with its caret, and labelled notes; faults, waits and unwritten reads
// differ in what they put there. All text that comes from a program goes through printable(). Warps that wait
// alike are told once: a deadlock of a thousand warps is a few lines.
#include "runtime/report_text.h"

#include "lemma/findings.h"

#include "runtime/kernel_names.h"
#include "runtime/places.h"
#include "support/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace lemma::runtime {
namespace {

constexpr size_t kShownWaiting = 16;
constexpr size_t kLongestLabel = 12;
constexpr size_t kLongestSourceLine = 200;
constexpr size_t kLongestFunction = 200;
constexpr size_t kShownFrames = 3;

// "nearest: 64 bytes ..." is a label and its text; any other line is a note.
std::pair<std::string, std::string> split_note(const std::string& note) {
  const size_t colon = note.find(": ");
  if (colon == note.npos || colon > kLongestLabel)
    return {"note", note};
  return {note.substr(0, colon), note.substr(colon + 2)};
}

// "sort.cu:12, in cub::BlockScan<...>::ExclusiveSum"
std::string source_place(const SourceFrame& frame) {
  const std::string text = fmt::format("{}:{}", frame.file, frame.line);
  return frame.function.empty()
             ? text
             : fmt::format("{}, in {}", text, shortened(brief_name(frame.function), kLongestFunction));
}

// The PTX line with its statement marked; the statement alone if the line is unknown.
std::string excerpt(const Place& place, const SourceText& source) {
  const std::string_view line = source.line(place.ptx_line);
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos)
    return place.instruction.empty() ? "" : fmt::format("  {}\n", printable(place.instruction));
  const size_t semicolon = line.find(';', begin);
  const size_t end = semicolon == line.npos ? line.find_last_not_of(" \t\r") + 1 : semicolon + 1;
  // The diagnostic renderer does the same for a range; a range on this line makes it draw this one.
  const auto offset = static_cast<uint32_t>(line.data() - source.text().data());
  Diagnostic mark;
  mark.range = {offset + static_cast<uint32_t>(begin), offset + static_cast<uint32_t>(end)};
  const std::string rendered = render(mark, source);
  return rendered.substr(rendered.find('\n') + 1);
}

std::string headline(const Place& place, const SourceText& source) {
  const std::string name = printable(source.name());
  return place.ptx_line ? fmt::format("{}:{}", name, place.ptx_line) : name;
}

class Notes {
public:
  void add(std::string label, std::string text) {
    if (!text.empty())
      notes_.emplace_back(std::move(label) + ":", std::move(text));
  }
  // Where the source is, and what stands there; of inlined code all calls, with the user's own lines.
  void add_source(const Place& place) {
    const std::vector<SourceFrame> frames = frames_of(place);
    const size_t users = users_frame(place);
    for (size_t i = 0; i < frames.size(); ++i) {
      add(i == 0 ? "source" : "inlined at", source_place(frames[i]));
      if ((i == 0 || i >= users) && !frames[i].source_text.empty())
        notes_.emplace_back("", shortened(frames[i].source_text, kLongestSourceLine));
    }
  }
  std::string text() const {
    size_t width = 0;
    for (const auto& [label, note] : notes_)
      width = std::max(width, label.size());
    std::string out;
    for (const auto& [label, note] : notes_)
      out += fmt::format("  {:<{}} {}\n", label, width, printable(note));
    return out;
  }

private:
  std::vector<std::pair<std::string, std::string>> notes_;
};

std::string render_fault(const Fault& fault, Outcome outcome, const SourceText& source) {
  const std::string severity = outcome == Outcome::fault ? fmt::format("fault[{}]", to_string(fault.kind))
                                                         : std::string(to_string(outcome));
  std::string out =
      fmt::format("{}: {}: {}\n", headline(fault.place, source), severity, printable(fault.message));
  out += excerpt(fault.place, source);
  Notes notes;
  notes.add_source(fault.place);
  if (fault.has_thread)
    notes.add("where", thread_text(fault.place, fault.cta, fault.warp, fault.lane));
  if (fault.address)
    notes.add("address", fmt::format("0x{:016x}", *fault.address));
  for (const std::string& note : fault.notes) {
    auto [label, text] = split_note(note);
    notes.add(std::move(label), std::move(text));
  }
  if (!fault.id.empty())
    notes.add("see", fmt::format("{} in docs/checks.md", fault.id));
  return out + notes.text();
}

// Warps that wait at one place for the same are told once, with the first of them.
std::string render_waiting(const Report& report, const SourceText& source) {
  const auto alike = [](const Waiting& a, const Waiting& b) {
    return a.place.ptx_line == b.place.ptx_line && a.reason == b.reason && a.notes == b.notes;
  };
  std::vector<std::pair<const Waiting*, size_t>> kinds; // and how many there are
  for (const Waiting& w : report.waiting) {
    const auto same =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return alike(*kind.first, w); });
    if (same != kinds.end())
      ++same->second;
    else
      kinds.emplace_back(&w, 1);
  }
  std::string out;
  const size_t shown = std::min(kinds.size(), kShownWaiting);
  size_t left = report.waiting.size();
  for (size_t i = 0; i < shown; ++i) {
    const auto& [w, count] = kinds[i];
    left -= count;
    const bool runs = w->reason.empty();
    out += fmt::format("{}: {}: {}, lanes 0x{:08x}{}{}{}\n", headline(w->place, source),
                       runs ? "runs" : "waits", thread_text(w->place, w->cta, w->warp), w->lanes,
                       count > 1 ? fmt::format(", and {} more", count - 1) : "", runs ? "" : ": ",
                       printable(w->reason));
    out += excerpt(w->place, source);
    Notes notes;
    notes.add_source(w->place);
    for (const std::string& note : w->notes) {
      auto [label, text] = split_note(note);
      notes.add(std::move(label), std::move(text));
    }
    out += notes.text();
  }
  if (left > 0)
    out += fmt::format("  ... and {} more{}\n", left, report.outcome == Outcome::stopped ? "" : " wait");
  return out;
}

std::string render_uninitialized(const Report& report, const SourceText& source) {
  std::string out;
  for (const UninitializedRead& read : report.uninitialized) {
    out += fmt::format("{}: warning[uninitialized]: reads {}, which was never written\n",
                       headline(read.place, source), printable(read.what));
    out += excerpt(read.place, source);
    Notes notes;
    notes.add_source(read.place);
    notes.add("where", thread_text(read.place, read.cta, read.warp, read.lane) +
                           (read.count > 1 ? fmt::format(", and {} more reads", read.count - 1) : ""));
    out += notes.text();
  }
  if (report.uninitialized_reads)
    out += fmt::format("{}: {} read{} of what was never written\n", printable(source.name()),
                       report.uninitialized_reads, report.uninitialized_reads == 1 ? "" : "s");
  return out;
}

// "reduce.cu:12" of the user's own line, else "reduce.ptx:44".
std::string users_headline(const Place& place, const SourceText& source) {
  const auto [file, line] = users_line(place, source.name());
  return printable(line ? fmt::format("{}:{}", file, line) : file);
}

// What is inlined into the user's line, and what that is inlined into: the innermost first.
std::string inlined_around(const std::vector<SourceFrame>& frames, size_t own) {
  std::string text;
  size_t shown = 0;
  for (size_t i = 0; i < frames.size(); ++i)
    if (i != own && shown++ < kShownFrames)
      text += (text.empty() ? "" : "; ") +
              (i > own ? "called from " + source_place(frames[i]) : source_place(frames[i]));
  return shown > kShownFrames ? text + fmt::format("; and {} more", shown - kShownFrames) : text;
}

// The user's line first, then the instruction that it has become. An operation that is no kernel's has
// neither.
std::string render_access(const CheckedAccess& access, const SourceText* source) {
  if (!source)
    return fmt::format("  {}\n", printable(to_text(access)));
  const std::vector<SourceFrame> frames = frames_of(access.place);
  std::string out;
  Notes notes;
  if (frames.empty()) {
    out = excerpt(access.place, *source);
  } else {
    const size_t own = users_frame(access.place);
    if (!frames[own].source_text.empty())
      out = fmt::format(" {} |   {}\n", frames[own].line,
                        printable(shortened(frames[own].source_text, kLongestSourceLine)));
    notes.add("inlined", inlined_around(frames, own));
    notes.add("PTX",
              fmt::format("{}:{}: {}", source->name(), access.place.ptx_line, access.place.instruction));
  }
  notes.add("where",
            thread_text(access.place, access.cta, access.warp, access.lane) + ": " + to_text(access));
  return out + notes.text();
}

} // namespace

Message to_message(const Diagnostic& diagnostic, const SourceText& source) {
  const auto size = static_cast<uint32_t>(source.text().size());
  const LineColumn at = source.line_column(std::min(diagnostic.range.begin, size));
  Message message{.severity = diagnostic.severity,
                  .id = diagnostic.id,
                  .text = shortened(diagnostic.message, kLongestMessage),
                  .file = source.name(),
                  .line = at.line,
                  .column = at.column,
                  .length = diagnostic.range.end > diagnostic.range.begin
                                ? diagnostic.range.end - diagnostic.range.begin
                                : 0,
                  .notes = {},
                  .rendered = render(diagnostic, source)};
  for (const auto& note : notes_of(diagnostic))
    message.notes.push_back({note.label, shortened(note.text, kLongestMessage)});
  for (const Replacement& repair : diagnostic.repairs) {
    const LineColumn place = source.line_column(std::min(repair.range.begin, size));
    message.repairs.push_back({place.line, place.column, repair.range.end - repair.range.begin, repair.text});
  }
  return message;
}

std::string render_finding(const Finding& finding, const SourceText* source,
                           const SourceText* earlier_source) {
  std::string out =
      fmt::format("{}{}[{}]: {}{}\n", source ? users_headline(finding.access.place, *source) + ": " : "",
                  finding.is_note ? "note" : "error", finding.id, printable(finding.message),
                  finding.memory.empty() ? "" : ", at " + printable(finding.memory));
  out += render_access(finding.access, source);
  if (finding.earlier) {
    if (earlier_source)
      out += fmt::format("{}: and before it\n", users_headline(finding.earlier->place, *earlier_source));
    out += render_access(*finding.earlier, earlier_source);
  }
  Notes notes;
  notes.add("missing", finding.fix);
  return out + notes.text();
}

std::string render_report(const Report& report, const SourceText& source) {
  std::string out;
  if (report.fault)
    out += render_fault(*report.fault, report.outcome, source);
  out += render_waiting(report, source);
  out += render_uninitialized(report, source);
  for (const std::string& warning : report.warnings)
    out += fmt::format("{}: warning: {}\n", printable(source.name()), printable(warning));
  return out;
}

} // namespace lemma::runtime

std::string lemma::thread_text(const Place& place, const Dim3& cta, uint32_t warp, int32_t lane) {
  const std::string of = place.in_program ? fmt::format("program ({}, {}, {})", cta[0], cta[1], cta[2])
                                          : fmt::format("CTA {},{},{}", cta[0], cta[1], cta[2]);
  return of + fmt::format(", warp {}", warp) + (lane >= 0 ? fmt::format(", lane {}", lane) : "");
}
