// `lemma-record`: records what a GPU stores for generated cases, and compares a device with what was
// recorded.
//
//   lemma-record --device cuda --out tests/golden/sm_90a          record
//   lemma-record --check tests/golden/sm_90a                      the virtual GPU against the record
//   lemma-record --check tests/golden/sm_90a --findings           and what the PTX ISA leaves undefined in
//   the cases lemma-record --list [--filter 'f32/*']                        what there is lemma-record --trim
//   BIG --out SMALL                           what was kept too much taken out again lemma-record --dump
//   'f32/add.rn.f32' DIR [--device cuda]      one case: PTX, operands and results as .npy
//
// Exit status 0 if all is well, 1 if a case differs or failed, 2 on a wrong command line, 3 without such a
// device.
//
// How and why bits are recorded: docs/recorded-bits.md. Tests: tests/golden/.
#include "application.h"
#include "case_findings.h"
#include "command.h"
#include "files.h"
#include "say.h"

#include "golden/groups.h"
#include "golden/replay.h"

#include "lemma/lemma.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

namespace lemma::cli {
namespace {

using golden::Case;
using golden::Group;
using golden::GroupRecord;
namespace fs = std::filesystem;

constexpr const char* kFooter =
    R"(Cases are named GROUP/CASE; --filter takes a shell pattern of such a name, such as 'f32/*' or '*/add.*'.
Recorded files are described in docs/recorded-bits.md.)";

// Of the first case of every family, this many bytes of outputs of every part are kept whole.
constexpr uint64_t kKeptBytesPerPart = 2048;
// Of a case that differs from the --against record, so many bytes of every part; and all such cases together,
// so that a record that differs everywhere stays of a size that one can carry.
constexpr uint64_t kKeptBytesOfDifferent = 1 << 20;
constexpr uint64_t kKeptBytesOfAllDifferent = 48 << 20;

struct RecordOptions {
  std::string device = "cpu";
  uint64_t seed = 1, schedule = 0;
  std::string filter = "*";
  std::string out, check, against, trim, suppress;
  std::vector<std::string> dump; // case, directory
  uint64_t keep = 0;             // bytes of every part of every case
  bool list = false;
  bool sample = false, findings = false, notes = false;
};

std::string full_name(const Group& group, const Case& c) {
  return group.name + "/" + c.name;
}

bool matches(const RecordOptions& options, const Group& group, const Case& c) {
  return fnmatch(options.filter.c_str(), full_name(group, c).c_str(), 0) == 0;
}

// The groups that have a case that the filter wants.
std::vector<Group> wanted_groups(const RecordOptions& options) {
  std::vector<Group> groups;
  for (const golden::GroupInfo& info : golden::group_infos()) {
    // A filter without a pattern in the group's name need not make the others.
    const std::string_view filter_group =
        std::string_view(options.filter).substr(0, options.filter.find('/'));
    if (filter_group.find_first_of("*?[") == filter_group.npos && filter_group != info.name)
      continue;
    Group group = golden::make_group(info.name);
    std::erase_if(group.cases, [&](const Case& c) { return !matches(options, group, c); });
    if (!group.cases.empty())
      groups.push_back(std::move(group));
  }
  return groups;
}

uint64_t kept_units(const Case& c, uint64_t bytes_per_part) {
  uint64_t unit_bytes = 0;
  for (const golden::Plane& plane : c.outputs)
    unit_bytes += plane.unit_bytes();
  return unit_bytes == 0 || bytes_per_part == 0 ? 0 : std::max<uint64_t>(1, bytes_per_part / unit_bytes);
}

// Both files of a record, or neither.
bool write_record(const fs::path& directory, const std::string& group, const GroupRecord& record) {
  FileWriter files;
  auto written =
      golden::write_record(directory, group, record, [&](const fs::path& path, std::string_view text) {
        return files.add(path.string(), std::as_bytes(std::span(text)));
      });
  if (written)
    written = files.commit();
  if (!written)
    say(written.error());
  return written.ok();
}

class Timer {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::string now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

int no_device(const std::string& why) {
  say(why);
  return kUnsupported;
}

int run_list(const RecordOptions& options) {
  for (const Group& group : wanted_groups(options)) {
    fmt::print("# {}: {}\n", group.name, group.title);
    for (const Case& c : group.cases)
      fmt::print("{} ({} parts of {} {}s)\n", full_name(group, c), c.parts.size(), c.parts.front().units,
                 c.unit_name);
  }
  return kSuccess;
}

// --- Recording -----------------------------------------------------------------------------------

struct Recorder {
  const RecordOptions& options;
  const Group& group;
  uint64_t& budget; // bytes of different cases that may yet be kept
  GroupRecord record;
  std::optional<GroupRecord> against;
  std::set<std::string> families; // that have whole outputs
  uint64_t failed = 0, different = 0;

  uint64_t keep(const Case& c, std::span<const std::byte> inputs, std::span<const std::byte> outputs) {
    uint64_t units = kept_units(c, options.keep);
    if (families.insert(c.family).second)
      units = std::max(units, kept_units(c, kKeptBytesPerPart));
    if (!options.against.empty() && (!against || !golden::compare(c, *against, inputs, outputs).equal())) {
      ++different;
      const uint64_t whole = kept_units(c, kKeptBytesOfDifferent), bytes = c.output_bytes();
      if (bytes <= budget) {
        budget -= bytes;
        units = std::max(units, whole);
      }
    }
    return units;
  }

  void done(const Case& c, std::span<const std::byte> inputs, std::span<const std::byte> outputs,
            const std::string& error) {
    if (!error.empty()) {
      ++failed;
      fmt::print(stderr, "{}: not recorded: {}\n", full_name(group, c), error);
      return;
    }
    golden::add_case(record, c, outputs, keep(c, inputs, outputs));
  }
};

int run_record(const RecordOptions& options, const std::string& command) {
  const Timer all;
  uint64_t failed = 0, recorded = 0, budget = kKeptBytesOfAllDifferent;
  std::error_code ignored; // what fails here fails at the check
  fs::create_directories(options.out, ignored);
  if (const auto writable = check_writable((fs::path(options.out) / "record.json").string()); !writable) {
    say(writable.error());
    return kUsage;
  }
  for (const Group& group : wanted_groups(options)) {
    const Timer timer;
    Recorder recorder{
        .options = options, .group = group, .budget = budget, .record = {}, .against = {}, .families = {}};
    if (!options.against.empty())
      if (auto record = golden::read_record(options.against, group.name))
        recorder.against = std::move(*record);
    const auto info = golden::run_group(group, {.device = options.device, .arch = {}, .seed = options.seed},
                                        nullptr, [&](auto&&... arguments) { recorder.done(arguments...); });
    if (!info)
      return no_device(info.error());
    recorder.record.stamp = {.gpu = info->name,
                             .driver = info->driver,
                             .target = std::string(golden::kTarget),
                             .lemma = std::string(version()),
                             .seed = options.seed,
                             .command = command,
                             .date = now()};
    if (!write_record(options.out, group.name, recorder.record))
      return kUsage;
    failed += recorder.failed;
    recorded += group.cases.size() - recorder.failed;
    fmt::print(stderr, "{}: {} cases recorded, {} failed, {:.1f} s", group.name,
               group.cases.size() - recorder.failed, recorder.failed, timer.seconds());
    fmt::print(stderr, "{}\n",
               options.against.empty()
                   ? ""
                   : fmt::format(", {} differ from {}", recorder.different, options.against));
  }
  fmt::print("{} cases recorded on {}, {} failed, {:.1f} s\n", recorded, options.device, failed,
             all.seconds());
  return failed == 0 && recorded > 0 ? kSuccess : kFailed;
}

// The same bits with no more whole outputs than a plain record has, for the files that are committed.
int run_trim(const RecordOptions& options) {
  for (const Group& group : wanted_groups(options)) {
    const auto record = golden::read_record(options.trim, group.name);
    if (!record) {
      say(record.error());
      return kUsage;
    }
    std::set<std::string> families;
    GroupRecord trimmed{.stamp = record->stamp, .cases = {}, .kept = {}};
    for (const Case& c : group.cases)
      if (record->cases.contains(c.name))
        golden::copy_case(*record, c, families.insert(c.family).second ? kept_units(c, kKeptBytesPerPart) : 0,
                          trimmed);
    if (!write_record(options.out, group.name, trimmed))
      return kUsage;
  }
  return kSuccess;
}

// --- Checking ------------------------------------------------------------------------------------

struct Checker {
  const RecordOptions& options;
  const Group& group;
  const GroupRecord& record;
  uint64_t equal = 0, differ = 0;

  void done(const Case& c, std::span<const std::byte> inputs, std::span<const std::byte> outputs,
            const std::string& error) {
    if (!error.empty()) {
      ++differ;
      fmt::print("{}: failed: {}\n", full_name(group, c), error);
      return;
    }
    const golden::CaseComparison comparison = golden::compare(c, record, inputs, outputs);
    ++(comparison.equal() ? equal : differ);
    if (!comparison.recorded)
      fmt::print("{}: not in the record (or with other parts): record it with\n"
                 "  lemma-record --device cuda --filter '{}*' --out DIR\n",
                 full_name(group, c), group.name + "/");
    for (const golden::PartComparison& part : comparison.parts)
      if (!part.equal)
        show(c, part);
  }

  void show(const Case& c, const golden::PartComparison& part) const {
    const std::string name = full_name(group, c);
    if (part.differing > 0)
      fmt::print("{} [{}]: {} of {} kept elements differ\n", name, part.part, part.differing, part.compared);
    else
      fmt::print(
          "{} [{}]: differs ({}; recorded hash {}, got {})\n  to see where, keep whole outputs: lemma-record "
          "--device cuda --filter '{}' --keep 1000000 --out DIR\n",
          name, part.part, part.compared > 0 ? "not in the kept elements" : "only its hash is kept",
          part.expected_hash, part.hash, name);
    for (const golden::Difference& difference : part.first)
      fmt::print("  {}\n", difference.text);
  }
};

// A group is checked if its file is there; a file without a group, and a recorded case that is made no more,
// differ.
uint64_t count_orphans(const Group& group, const GroupRecord& record, const RecordOptions& options) {
  uint64_t orphans = 0;
  for (const auto& [name, recorded] : record.cases) {
    const auto same = [&](const Case& c) { return c.name == name; };
    if (fnmatch(options.filter.c_str(), (group.name + "/" + name).c_str(), 0) != 0 ||
        std::any_of(group.cases.begin(), group.cases.end(), same))
      continue;
    ++orphans;
    fmt::print("{}/{}: recorded, but no such case is made\n", group.name, name);
  }
  return orphans;
}

// --sample: of every family the first case, which is the one whose whole outputs are kept.
std::function<bool(const Case&)> sample_of(const Group& group) {
  std::set<std::string> families, names;
  for (const Case& c : group.cases)
    if (families.insert(c.family).second)
      names.insert(c.name);
  return [names = std::move(names)](const Case& c) { return names.contains(c.name); };
}

int run_check(const RecordOptions& options) {
  const Timer timer;
  uint64_t equal = 0, differ = 0;
  CaseFindings found(options.notes);
  if (!options.suppress.empty() && !found.read_suppressions(options.suppress))
    return kUsage;
  for (const Group& group : wanted_groups(options)) {
    const auto record = golden::read_record(options.check, group.name);
    if (!record) {
      fmt::print("{}: {}\n", group.name, record.error());
      differ += group.cases.size();
      continue;
    }
    Checker checker{.options = options, .group = group, .record = *record};
    golden::RunOptions run{
        .device = options.device, .arch = {}, .seed = record->stamp.seed, .schedule = options.schedule};
    if (options.findings)
      run.found = [&](const Case& c, std::vector<Finding> findings) {
        found.add(full_name(group, c), std::move(findings));
      };
    const auto info = golden::run_group(group, run, options.sample ? sample_of(group) : nullptr,
                                        [&](auto&&... arguments) { checker.done(arguments...); });
    if (!info)
      return no_device(info.error());
    const uint64_t orphans = count_orphans(group, *record, options);
    fmt::print("{}: {} cases equal, {} differ (recorded on {}, driver {})\n", group.name, checker.equal,
               checker.differ + orphans, record->stamp.gpu, record->stamp.driver);
    equal += checker.equal;
    differ += checker.differ + orphans;
  }
  fmt::print("{} cases equal, {} differ ({:.1f} s)\n", equal, differ, timer.seconds());
  if (equal + differ == 0)
    say("no case is called " + options.filter);
  if (options.findings) {
    if (options.filter == "*" && !options.sample)
      found.show_unused();
    fmt::print("{}\n", found.closing_text());
  }
  return equal > 0 && differ == 0 && !found.has_errors() ? kSuccess : kFailed;
}

// --- One case ------------------------------------------------------------------------------------

const char* dtype_of(const golden::Plane& plane) {
  switch (plane.element_bytes) {
  case 1:
    return "|u1";
  case 2:
    return plane.type == isa::Type::f16 ? "<f2" : "<u2";
  case 4:
    return plane.type == isa::Type::f32 ? "<f4" : "<u4";
  default:
    return plane.type == isa::Type::f64 ? "<f8" : "<u8";
  }
}

bool write_plane(const fs::path& path, const golden::Plane& plane, uint64_t units,
                 std::span<const std::byte> buffer) {
  const auto bytes = buffer.subspan(plane.offset_bytes, plane.unit_bytes() * units);
  npy::Array array{.dtype = dtype_of(plane), .shape = {units}, .data = {bytes.begin(), bytes.end()}};
  if (plane.element_bytes == 16)
    array.shape.push_back(2);
  if (plane.per_unit > 1) {
    uint64_t product = 1;
    for (const auto& [name, size] : plane.dims)
      product *= size;
    if (product == plane.per_unit)
      for (const auto& [name, size] : plane.dims)
        array.shape.insert(array.shape.end() - (plane.element_bytes == 16 ? 1 : 0), size);
    else
      array.shape.push_back(plane.per_unit);
  }
  const auto written = write_file(path.string(), array_file(path.string(), array));
  if (!written)
    say(written.error());
  return written.ok();
}

int run_dump(RecordOptions options) {
  options.filter = options.dump[0];
  const fs::path directory = options.dump[1];
  std::vector<Group> groups = wanted_groups(options);
  if (groups.size() != 1 || groups[0].cases.size() != 1) {
    say("--dump wants the name of one case; lemma-record --list has them");
    return kUsage;
  }
  std::error_code error;
  fs::create_directories(directory, error);
  const Case& c = groups[0].cases[0];
  const std::string text = golden::module_text(groups[0].cases);
  if (const auto written = write_file((directory / "case.ptx").string(), std::as_bytes(std::span(text)));
      !written) {
    say(written.error());
    return kUsage;
  }
  int status = kSuccess;
  const auto dump = [&](const Case&, std::span<const std::byte> inputs, std::span<const std::byte> outputs,
                        const std::string& why) {
    for (const golden::Plane& plane : c.inputs)
      if (!write_plane(directory / (plane.name + ".in.npy"), plane, c.units, inputs))
        status = kUsage;
    if (!why.empty()) {
      fmt::print(stderr, "{}\n", why);
      status = kFailed;
      return;
    }
    for (const golden::Plane& plane : c.outputs)
      if (!write_plane(directory / (plane.name + ".out.npy"), plane, c.units, outputs))
        status = kUsage;
  };
  const auto info = golden::run_group(groups[0], {.device = options.device, .arch = {}, .seed = options.seed},
                                      nullptr, dump);
  return info ? status : no_device(info.error());
}

int run(const RecordOptions& options, const std::string& command) {
  if ((options.findings || options.schedule != 0) && options.device != "cpu") {
    say("--findings and --schedule are for the virtual GPU: a real one does as it likes, and does not say");
    return kUsage;
  }
  if (options.list)
    return run_list(options);
  if (!options.dump.empty())
    return run_dump(options);
  if (!options.check.empty())
    return run_check(options);
  if (!options.trim.empty() && !options.out.empty())
    return run_trim(options);
  if (!options.out.empty())
    return run_record(options, command);
  say("lemma-record wants one of --out, --check, --list, --dump");
  return kUsage;
}

// As it would be typed, for the record's stamp.
std::string command_of(const RecordOptions& options) {
  std::string command = fmt::format("lemma-record --device {} --seed {}", options.device, options.seed);
  if (options.filter != "*")
    command += fmt::format(" --filter '{}'", options.filter);
  return command + " --out DIR";
}

void add_options(CLI::App& app, RecordOptions& options) {
  app.add_option("--device", options.device, "cpu (the virtual GPU) or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--seed", options.seed, "of the generated operands; --check takes the record's");
  app.add_option("--filter", options.filter, "only cases of this name: GROUP/CASE, a shell pattern");
  app.add_option("--out", options.out, "record into this directory");
  app.add_option("--keep", options.keep,
                 "with --out: keep so many bytes of outputs of every part of every case");
  app.add_option("--against", options.against,
                 "with --out: keep whole outputs of what differs from this record");
  app.add_option("--trim", options.trim,
                 "with --out: write the record in this directory again, as small as a plain one");
  app.add_option("--check", options.check, "compare with the record in this directory");
  CLI::Option* check = app.get_option("--check");
  app.add_flag("--sample", options.sample,
               "with --check: of every family (an opcode, a row) the first case alone")
      ->needs(check);
  app.add_option("--schedule", options.schedule,
                 "with --check: in this order, as lemma run; the bits do not follow from it")
      ->needs(check);
  CLI::Option* findings = app.add_flag(
      "--findings", options.findings,
      "with --check: races, missing fences and waits too, as lemma run --check; there must be none");
  findings->needs(check);
  app.add_flag("--notes", options.notes, "with --findings: show the notes")->needs(findings);
  app.add_option("--suppress", options.suppress,
                 "with --findings: findings that are known, as of lemma run; a function is a case's kernel")
      ->needs(findings);
  app.add_flag("--list", options.list, "list the cases");
  app.add_option("--dump", options.dump, "write PTX, operands and results of a case: CASE DIR")->expected(2);
  app.footer(kFooter);
}

} // namespace
} // namespace lemma::cli

int main(int argc, char** argv) {
  using namespace lemma::cli;
  CLI::App app{"Records hardware bits of generated cases, and compares a device with them.", "lemma-record"};
  RecordOptions options;
  add_options(app, options);
  return run_application(app, argc, argv, [&] { return run(options, command_of(options)); });
}
