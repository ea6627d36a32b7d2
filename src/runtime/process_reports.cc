// Two files a process: NAME.records, to which records are appended, each by one write; and NAME.kernels, a
// line of fixed width a kernel, written over as its counts grow. A third where a launch takes longer:
// NAME.running, records of those that run, written over. fields() states once what a record has, for both
// directions.
//
// On a full disk nothing can be written, but a file can be removed: whoever cannot write removes `complete`,
// which expect_process_reports() has made beside `expected`.
//
//   records:  version line | size kind payload | size kind payload | ...
//   payload:  numbers of 8 bytes; texts and lists begin with their length
#include "lemma/process_reports.h"

#include "lemma/findings.h"
#include "runtime/device_impl.h"
#include "runtime/kernel_names.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace lemma {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersionLine = "lemma reports " LEMMA_VERSION "\n";
constexpr uint64_t kMostItems = 1 << 20; // of a list, or text: more is no record of ours

constexpr const char *kExpected = "expected", *kComplete = "complete";

enum class RecordKind : uint64_t { command = 1, finding, fault, running };

class Writer {
public:
  static constexpr bool kReads = false;
  void number(uint64_t value) { text_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    number(value.size());
    text_ += value;
  }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
};

class Reader {
public:
  static constexpr bool kReads = true;
  explicit Reader(std::string_view text) : text_(text) {}
  uint64_t number() {
    uint64_t value = 0;
    if (text_.size() < sizeof value) {
      is_good_ = false;
      return 0;
    }
    std::memcpy(&value, text_.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return value;
  }
  uint64_t length() {
    const uint64_t length = number();
    is_good_ = is_good_ && length <= kMostItems;
    return is_good_ ? length : 0;
  }
  std::string text() {
    const uint64_t size = length();
    is_good_ = is_good_ && size <= text_.size();
    if (!is_good_)
      return {};
    std::string value(text_.substr(0, size));
    text_.remove_prefix(size);
    return value;
  }
  bool is_good() const { return is_good_; }

private:
  std::string_view text_;
  bool is_good_ = true;
};

template <class Archive, class T>
void field(Archive& archive, T& value);

template <class Archive, class... Ts>
void all(Archive& archive, Ts&... values) {
  (field(archive, values), ...);
}

template <class Archive>
void fields(Archive& a, SourceFrame& f) {
  all(a, f.file, f.line, f.function, f.source_text);
}
template <class Archive>
void fields(Archive& a, Place& p) {
  all(a, p.ptx_line, p.instruction, p.file, p.line, p.function, p.source_text, p.inlined_at,
      p.inlined_function, p.in_program);
}
template <class Archive>
void fields(Archive& a, CheckedAccess& c) {
  all(a, c.place, c.cta, c.warp, c.lane, c.what, c.address, c.value);
}
template <class Archive>
void fields(Archive& a, Repair& r) {
  all(a, r.line, r.column, r.length, r.text);
}
template <class Archive>
void fields(Archive& a, FindingRepair& r) {
  all(a, r.where, r.place, r.replaced, r.edit);
}
template <class Archive>
void fields(Archive& a, Finding& f) {
  all(a, f.id, f.is_note, f.message, f.memory, f.access, f.earlier, f.fix, f.barrier, f.repairs,
      f.alternatives, f.count, f.kernel, f.ptx, f.rendered);
}
template <class Archive>
void fields(Archive& a, KernelFault& k) {
  Fault& f = k.fault;
  all(a, f.kind, f.id, f.message, f.notes, f.place, f.has_thread, f.cta, f.warp, f.lane, f.address, k.kernel);
}

template <class Archive>
void fields(Archive& a, RunningLaunch::Warps& w) {
  all(a, w.place, w.count);
}
template <class Archive>
void fields(Archive& a, RunningLaunch& r) {
  auto microseconds = static_cast<uint64_t>(r.seconds * 1e6);
  all(a, r.id, r.kernel, microseconds, r.warp_instructions, r.ctas, r.ctas_done, r.warps);
  r.seconds = static_cast<double>(microseconds) * 1e-6;
}

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

// An id lives as long as the process: it is one of finding_kinds().
std::string_view id_that_stays(const std::string& id) {
  for (const FindingKind& kind : finding_kinds())
    if (kind.id == id)
      return kind.id;
  return {};
}

template <class Archive, class T>
void field(Archive& archive, T& value) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    if constexpr (Archive::kReads)
      value = static_cast<T>(archive.number());
    else
      archive.number(static_cast<uint64_t>(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    if constexpr (Archive::kReads)
      value = archive.text();
    else
      archive.text(value);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    if constexpr (Archive::kReads)
      value = id_that_stays(archive.text());
    else
      archive.text(std::string(value));
  } else if constexpr (std::is_same_v<T, Dim3>) {
    for (size_t i = 0; i < 3; ++i)
      field(archive, value[i]);
  } else if constexpr (is_optional<T>) {
    bool there = value.has_value();
    field(archive, there);
    if constexpr (Archive::kReads)
      if (there)
        value.emplace();
    if (there)
      field(archive, *value);
  } else if constexpr (is_list<T>) {
    if constexpr (Archive::kReads) {
      for (uint64_t left = archive.length(); left > 0 && archive.is_good(); --left)
        field(archive, value.emplace_back());
    } else {
      archive.number(value.size());
      for (auto& each : value)
        field(archive, each);
    }
  } else {
    fields(archive, value);
  }
}

template <class T>
std::string record(RecordKind kind, T value) {
  Writer writer;
  writer.number(static_cast<uint64_t>(kind));
  field(writer, value);
  const std::string payload = writer.take();
  Writer whole;
  whole.text(payload);
  return whole.take();
}

// The words of this process, as they would be typed.
std::string command_of_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::string read_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void read_records(std::string_view text, ProcessReports& into) {
  if (!text.starts_with(kVersionLine))
    return; // of another version, or not begun
  Reader reader(text.substr(kVersionLine.size()));
  while (true) {
    const std::string payload = reader.text();
    if (!reader.is_good())
      return;
    Reader fields(payload);
    const auto kind = static_cast<RecordKind>(fields.number());
    const auto read = [&](auto value) {
      field(fields, value);
      return value;
    };
    if (kind == RecordKind::command) {
      if (std::string command = read(std::string()); fields.is_good())
        into.commands.push_back(std::move(command));
    } else if (kind == RecordKind::finding) {
      if (const Finding finding = read(Finding{}); fields.is_good())
        merge(into.findings, {&finding, 1});
    } else if (kind == RecordKind::fault) {
      if (KernelFault fault = read(KernelFault{}); fields.is_good())
        into.faults.push_back(std::move(fault));
    } else if (kind == RecordKind::running) {
      if (RunningLaunch running = read(RunningLaunch{}); fields.is_good())
        into.running.push_back(std::move(running));
    }
  }
}

std::string line_of(const KernelCounts& k) {
  return fmt::format("{:20} {:20} {:20} {:20} {:20} {:20} {}\n", k.launches, k.faults, k.warp_instructions,
                     k.lane_instructions, k.compiled_instructions, static_cast<uint64_t>(k.seconds * 1e9),
                     k.kernel);
}

void read_kernels(const std::string& text, ProcessReports& into) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    KernelCounts k;
    uint64_t nanoseconds = 0;
    if (!(words >> k.launches >> k.faults >> k.warp_instructions >> k.lane_instructions >>
          k.compiled_instructions >> nanoseconds))
      continue;
    words.ignore(1);
    std::getline(words, k.kernel);
    k.seconds = static_cast<double>(nanoseconds) * 1e-9;
    merge(into.kernels, std::move(k));
  }
}

} // namespace

struct ProcessReporter::Files {
  struct Counted {
    KernelCounts counts;
    off_t at = 0; // of its line
  };
  std::string folder, name; // of this process's files, without what tells them apart
  int records = -1, kernels = -1, running = -1;
  std::mutex mutex;
  off_t records_end = 0;
  std::map<std::string, Counted> counted;
  off_t kernels_end = 0; // of the lines
  std::map<uint64_t, RunningLaunch> launches;
  off_t running_end = 0;

  ~Files() {
    for (const int file : {records, kernels, running})
      if (file >= 0)
        ::close(file);
  }

  // Whoever reads learns that something is missing.
  Unexpected<Error> lost(int why) const {
    ::unlink((folder + "/" + kComplete).c_str());
    return runtime::failure(ErrorKind::unavailable, fmt::format("{}: what was found could not be written: {}",
                                                                folder, std::strerror(why)));
  }
  int make(const char* kind) const {
    return ::open((name + kind).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  // Of a text that does not fit nothing stays that could be taken for one.
  Result<void, Error> write(int file, const std::string& text, off_t at) const {
    ssize_t written = 0;
    do
      written = ::pwrite(file, text.data(), text.size(), at);
    while (written < 0 && errno == EINTR);
    if (written == static_cast<ssize_t>(text.size()))
      return {};
    const int why = written < 0 ? errno : ENOSPC;
    [[maybe_unused]] const int cut = ::ftruncate(file, at);
    return lost(why);
  }
  Result<void, Error> append(const std::string& text) {
    Result<void, Error> written = write(records, text, records_end);
    if (written)
      records_end += static_cast<off_t>(text.size());
    return written;
  }
};

ProcessReporter::ProcessReporter(std::unique_ptr<Files> files) : files_(std::move(files)) {}
ProcessReporter::ProcessReporter(ProcessReporter&&) noexcept = default;
ProcessReporter::~ProcessReporter() = default;

Result<ProcessReporter, Error> ProcessReporter::open(const std::string& folder) {
  // A process may be another one's number again: the clock tells them apart, and puts them in order.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto files = std::make_unique<Files>();
  files->folder = folder;
  files->name = fmt::format("{}/{:020}-{}", folder,
                            std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), ::getpid());
  files->records = files->make(".records");
  files->kernels = files->records < 0 ? -1 : files->make(".kernels");
  if (files->kernels < 0)
    return files->lost(errno);
  if (Result<void, Error> begun =
          files->append(std::string(kVersionLine) + record(RecordKind::command, command_of_process()));
      !begun)
    return Unexpected<Error>{std::move(begun).error()};
  return ProcessReporter(std::move(files));
}

Result<void, Error> ProcessReporter::add(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings)
    text += record(RecordKind::finding, finding);
  if (text.empty())
    return {};
  const std::scoped_lock lock(files_->mutex);
  return files_->append(text);
}

Result<void, Error> ProcessReporter::add(const KernelFault& fault) {
  const std::scoped_lock lock(files_->mutex);
  return files_->append(record(RecordKind::fault, fault));
}

Result<void, Error> ProcessReporter::count(const std::string& kernel, const Report& report) {
  const std::scoped_lock lock(files_->mutex);
  const auto [place, is_new] = files_->counted.try_emplace(kernel);
  Files::Counted& counted = place->second;
  if (is_new) {
    counted.counts.kernel = kernel;
    counted.at = files_->kernels_end;
  }
  KernelCounts& counts = counted.counts;
  ++counts.launches;
  counts.faults += !report.ok();
  counts.warp_instructions += report.stats.warp_instructions.value_or(0);
  counts.lane_instructions += report.stats.lane_instructions.value_or(0);
  counts.compiled_instructions += report.stats.compiled_instructions.value_or(0);
  counts.seconds += report.stats.seconds;
  const std::string line = line_of(counts);
  Result<void, Error> written = files_->write(files_->kernels, line, counted.at);
  if (!written)
    files_->counted.erase(place);
  else if (is_new)
    files_->kernels_end += static_cast<off_t>(line.size());
  return written;
}

Result<void, Error> ProcessReporter::note(const RunningLaunch& running) {
  const std::scoped_lock lock(files_->mutex);
  if (running.has_ended)
    files_->launches.erase(running.id);
  else
    files_->launches[running.id] = running;
  if (files_->running < 0 && (files_->running = files_->make(".running")) < 0)
    return files_->lost(errno);
  std::string text(kVersionLine);
  for (const auto& [id, launch] : files_->launches)
    text += record(RecordKind::running, launch);
  Result<void, Error> written = files_->write(files_->running, text, 0);
  if (!written)
    return written;
  const auto end = static_cast<off_t>(text.size());
  if (end < std::exchange(files_->running_end, end))
    if (::ftruncate(files_->running, end) != 0)
      return files_->lost(errno);
  return {};
}

std::string process_reports_folder() {
  if (const char* folder = std::getenv("LEMMA_REPORTS"); folder && *folder)
    return folder;
  // `lemma exec` keeps the folder open while its program runs.
  constexpr int kMostGenerations = 64;
  std::error_code error;
  std::string process = std::to_string(::getppid());
  for (int generation = 0; generation < kMostGenerations && process != "0"; ++generation) {
    for (fs::directory_iterator file("/proc/" + process + "/fd", error), end; !error && file != end;
         file.increment(error)) {
      std::error_code unreadable;
      const fs::path folder = fs::read_symlink(file->path(), unreadable);
      if (!unreadable && folder.filename().string().starts_with("lemma-exec-") &&
          fs::exists(folder / kExpected, unreadable))
        return folder.string();
    }
    const std::string status = read_whole("/proc/" + process + "/status");
    const size_t at = status.find("\nPPid:\t");
    if (at == status.npos)
      break;
    process = status.substr(at + 7, status.find('\n', at + 7) - at - 7);
  }
  return {};
}

std::string text_of(const RunningLaunch& running) {
  std::string text = fmt::format("{} had run for {:.1f} s: {} of {} CTAs done, {} warp instructions\n",
                                 demangled_kernel(running.kernel), running.seconds, running.ctas_done,
                                 running.ctas, running.warp_instructions);
  for (const RunningLaunch::Warps& warps : running.warps) {
    const Place& place = warps.place;
    text +=
        fmt::format("  {} warp{} at {}: {}\n", warps.count, warps.count == 1 ? "" : "s",
                    place.line != 0 ? fmt::format("{}:{}", place.file, place.line)
                                    : fmt::format("line {} of the PTX", place.ptx_line),
                    place.line != 0 && !place.source_text.empty() ? place.source_text : place.instruction);
  }
  return text;
}

Result<void, Error> expect_process_reports(const std::string& folder) {
  for (const char* name : {kExpected, kComplete}) {
    const int file = ::open((folder + "/" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
      return runtime::failure(ErrorKind::unavailable,
                              fmt::format("{}: cannot write there: {}", folder, std::strerror(errno)));
    ::close(file);
  }
  return {};
}

Result<ProcessReports, Error> read_process_reports(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    paths.push_back(entry->path());
  if (error)
    return runtime::failure(ErrorKind::unavailable, fmt::format("{}: {}", folder, error.message()));
  std::sort(paths.begin(), paths.end());
  ProcessReports reports;
  for (const fs::path& path : paths)
    if (path.extension() == ".records")
      read_records(read_whole(path), reports);
    else if (path.extension() == ".running")
      read_records(read_whole(path), reports);
    else if (path.extension() == ".kernels")
      read_kernels(read_whole(path), reports);
  const fs::path in = folder;
  reports.are_complete = !fs::exists(in / kExpected, error) || fs::exists(in / kComplete, error);
  return reports;
}

void merge(std::vector<KernelCounts>& into, KernelCounts more) {
  const auto same = std::find_if(into.begin(), into.end(),
                                 [&](const KernelCounts& each) { return each.kernel == more.kernel; });
  if (same == into.end())
    return into.push_back(std::move(more));
  same->launches += more.launches;
  same->faults += more.faults;
  same->warp_instructions += more.warp_instructions;
  same->lane_instructions += more.lane_instructions;
  same->compiled_instructions += more.compiled_instructions;
  same->seconds += more.seconds;
}

std::string demangled_kernel(const std::string& name) {
  return runtime::demangled(name);
}

} // namespace lemma
