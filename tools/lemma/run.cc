// `lemma run FILE`: launches one kernel with arguments from files and the command line, writes its outputs,
// compares them, and says how it went. FILE.mlir is compiled to PTX first; with host code, and without
// --grid, the program runs whole: it launches its kernels itself.
//
// Standard output has the kernel's printf, --stats, --coverage and --fidelity (with --json: one JSON object,
// and nothing else); standard error has everything that is said about the run.
//
// Tests: tests/cli/.
#include "application.h"
#include "check_output.h"
#include "command.h"
#include "coverage.h"
#include "exploration.h"
#include "files.h"
#include "interrupt.h"
#include "json_output.h"
#include "program.h"
#include "progress.h"
#include "run_arguments.h"
#include "sarif.h"
#include "say.h"
#include "stop.h"
#include "terminal.h"

#include "lemma/lemma.h"
#include "lemma/mlir.h"
#include "lemma/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>

namespace lemma::cli {
namespace {

constexpr const char* kFooter =
    R"(FILE.mlir (nvgpu dialect): with host code it runs whole, from --entry (main), with one --arg for each of that function's
arguments; else, or with --grid, one gpu.func is launched, likewise. A memref takes memory (in, out, inout, buf).

An argument SPEC, in the order of the kernel's parameters:
  u8|s8|u16|s16|u32|s32|u64|s64|f32|f64=VALUE
                        a value of the parameter's kind (i32 is s32): decimal, 0x hex, float text; 0f3F800000 gives a
                        float's bits. A parameter declared .b32 or .b64 takes any of that size
  tmap=@FILE.json       a tensor map (CUtensorMap) of the memory of another --arg, by value: {"arg": "a.npy",
                        "type": "bf16", "dims": [K, M], "strides_bytes": [2*K], "box": [64, 128], "swizzle": "128B"};
                        "arg" is its number from 0, as in faults (expect is none), its file or its label;
                        memory that is no parameter of the kernel comes after the last one
  bytes=@FILE           the file's bytes by value (a struct); the size must be the parameter's
  buf=BYTES             scratch memory; a read before the first write is reported
  in=FILE               memory that holds FILE
  out=FILE:BYTES        zeroed memory, written to FILE afterwards; FILE.npy may name its type: out=d.npy:f32[64,64]
  inout=FILE:OUTFILE    memory that holds FILE, written to OUTFILE afterwards
  expect=FILE[:TOLERANCE]
                        no argument: the out or inout before it must hold FILE, bit for bit or within TOLERANCE
  set=NAME=FILE         no argument: the module's variable NAME (.global or .const) holds FILE before the launch
  get=NAME=FILE[:BYTES] no argument: the variable is written to FILE afterwards, as out is; an expect may follow
  LABEL:in=FILE         a label for an argument, of any kind: tensor maps and messages call it so
A FILE that is - is standard input, for the program too; @FILE stands for the words in FILE.
Files that end in .npy are read and written as such; all others are raw bytes. Outputs are written after a run that ended
well, all or none, each in one piece: a fault, a full disk and Ctrl-C leave the old ones. --keep-outputs writes them all the same.

A .mlir with host code is a program that you run: that part is compiled to machine code, with your rights.
Ctrl-C stops the virtual GPU and says where the warps are; a second one ends at once.

Examples:
  lemma run vector_add.ptx --grid 16 --block 256 --arg in=a.npy --arg in=b.npy --arg out=c.npy:16384 \
      --arg expect=expected.npy --arg u32=4096
  lemma run gemm.mlir
  lemma run gemm.ptx --entry gemm --grid 8,8 --block 128 --smem 49152 --stats --arg buf=0x10000 --arg u32=1
Exit status: 0 success; 1 fault, failed comparison or rejected file; 2 wrong command line; 3 unsupported; 130 Ctrl-C.)";

struct RunOptions {
  std::string file, device = "cpu", arch, entry, grid, block, cluster, smem = "0", async = "eager",
                    seed = "0", schedule = "0", explore = "0", check_ctas = "0", max_instructions = "0",
                    max_memory = "0";
  std::string suppress, sarif;
  bool deterministic = false, stats = false, coverage = false, fidelity = false, check = false, notes = false,
       json = false, keep_outputs = false;
  std::vector<std::string> args;
};

// "X[,Y[,Z]]", each from 1 to 2^32 - 1.
Result<Dim3, Stop> parse_dim3(const char* option, const std::string& text) {
  Dim3 dim{1, 1, 1};
  size_t begin = 0;
  for (size_t i = 0;; ++i) {
    const size_t comma = text.find(',', begin);
    const std::optional<uint64_t> value = parse_unsigned(std::string_view(text).substr(begin, comma - begin));
    if (i > 2 || !value || *value == 0 || *value > UINT32_MAX)
      return usage(fmt::format("{} {}: a size is X[,Y[,Z]], each from 1 up", option, text));
    dim[i] = static_cast<uint32_t>(*value);
    if (comma == text.npos)
      return dim;
    begin = comma + 1;
  }
}

Result<uint64_t, Stop> parse_number(const char* option, const std::string& text,
                                    uint64_t highest = UINT64_MAX) {
  const std::optional<uint64_t> value = parse_unsigned(text);
  if (!value || *value > highest)
    return usage(fmt::format("{} {}: a number from 0 to {}, decimal or 0x hex", option, text, highest));
  return *value;
}

// "4G": bytes, or with a suffix so many times 1024 of them.
Result<uint64_t, Stop> parse_bytes(const char* option, const std::string& text) {
  constexpr std::string_view kSuffixes = "KMGT";
  std::string_view digits = text;
  const size_t suffix = text.empty() ? kSuffixes.npos : kSuffixes.find(text.back());
  if (suffix != kSuffixes.npos)
    digits.remove_suffix(1);
  const std::optional<uint64_t> value = parse_unsigned(digits);
  const size_t shift = suffix == kSuffixes.npos ? 0 : 10 * (suffix + 1);
  if (!value || *value > UINT64_MAX >> shift)
    return usage(fmt::format("{} {}: a number of bytes, decimal or 0x hex, or with K, M, G or T behind it",
                             option, text));
  return *value << shift;
}

// Whether a text without a name is PTX: it begins with a directive, after comments.
bool is_ptx(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const std::string_view end = text.starts_with("//") ? "\n" : text.starts_with("/*") ? "*/" : "";
    if (end.empty())
      return text.starts_with('.');
    const size_t at = text.find(end, 2);
    text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  }
}

class Runner {
public:
  explicit Runner(const RunOptions& options)
      : options_(options),
        found_({.check = options.check, .notes = options.notes, .suppress = options.suppress}) {}

  int run() {
    if (options_.json)
      json_.emplace();
    const Result<ExitStatus, Stop> done = steps();
    if (!done)
      return show_stop(done.error());
    return *done;
  }

private:
  Result<ExitStatus, Stop> steps();
  Result<void, Stop> read_command_line();
  Result<std::string, Stop> read_program();
  bool is_mlir() const { return file_.ends_with(".mlir") || is_mlir_text_; }
  Result<ExitStatus, Stop> run_whole(const std::string& text);
  Result<void, Stop> explore_program(const Program& program, const ProgramRun& usual);
  Result<void, Stop> explore(const Explored& explored, ScheduleRun first, std::vector<std::string> outputs);
  Result<std::string, Stop> compile(const std::string& text);
  Result<ExitStatus, Stop> write_outputs();
  void leave_outputs();
  void catch_interrupts();
  void show_host_stop(const MlirStop& stop, const Report& report);
  // Findings so far, and the fault that ended it, to --sarif's file. The status, or that of what went wrong.
  ExitStatus write_sarif(ExitStatus status, std::span<const Fault> faults, const std::string& kernel);
  ExitStatus judge(const Report& report) const;

  int show_stop(const Stop& stop);
  void show_text(const Module& module, const Kernel& kernel, const Device& device,
                 const Report& report) const;
  void show_stats(const Stats& stats) const;
  std::string exploration_text() const;
  std::string exploration_closing_text() const;
  nlohmann::json exploration_to_json() const;
  void show_watched(const Report& report) const;
  void add_watched(nlohmann::json& out, const Report& report) const;
  void show_comparisons() const;
  nlohmann::json comparisons_to_json() const;
  void show_json(const Module& module, const Kernel& kernel, const Device& device, const Report& report,
                 ExitStatus status);
  std::string arithmetic_text(const Module& module, const Device& device) const;

  const RunOptions& options_;
  std::optional<JsonOutput> json_;
  LaunchConfig config_;
  uint64_t max_memory_bytes_ = 0;
  std::string file_;
  bool is_mlir_text_ = false;    // of standard input
  std::vector<MlirKernel> mlir_; // the gpu.funcs of FILE.mlir
  RunArguments arguments_;
  uint64_t schedules_ = 0; // --explore
  std::optional<Exploration> exploration_;
  std::vector<std::string> explored_outputs_; // what they are called
  CheckOutput found_;
  Coverage coverage_;
  std::vector<OutputComparison> comparisons_;
  bool outputs_written_ = false;
};

Result<void, Stop> Runner::read_command_line() {
  file_ = options_.file;
  for (const std::string& text : options_.args) {
    // `--arg a=b FILE.ptx`: --arg takes several, so the file may have been taken for one more.
    if (file_.empty() && (text == kStandardInput || text.find('=') == text.npos))
      file_ = text;
    else if (auto added = arguments_.add(text); !added)
      return added;
  }
  if (file_.empty())
    return usage("FILE is missing");

  const auto grid = parse_dim3("--grid", options_.grid.empty() ? "1" : options_.grid);
  const auto block = parse_dim3("--block", options_.block.empty() ? "1" : options_.block);
  const auto cluster = parse_dim3("--cluster", options_.cluster.empty() ? "1" : options_.cluster);
  for (const auto* size : {&grid, &block, &cluster})
    if (!*size)
      return Unexpected<Stop>{size->error()};
  const auto smem = parse_number("--smem", options_.smem, UINT32_MAX);
  const auto seed = parse_number("--seed", options_.seed);
  const auto max_instructions = parse_number("--max-instructions", options_.max_instructions);
  const auto schedule = parse_number("--schedule", options_.schedule);
  const auto schedules = parse_number("--explore", options_.explore, 1'000'000);
  const auto check_ctas = parse_number("--check-ctas", options_.check_ctas);
  const auto max_memory = parse_bytes("--max-memory", options_.max_memory);
  for (const auto* number :
       {&smem, &seed, &max_instructions, &max_memory, &schedule, &schedules, &check_ctas})
    if (!*number)
      return Unexpected<Stop>{number->error()};
  config_.grid = *grid;
  config_.block = *block;
  if (!options_.cluster.empty())
    config_.cluster = *cluster;
  config_.shared_bytes = static_cast<uint32_t>(*smem);
  config_.seed = *seed;
  config_.schedule = *schedule;
  config_.check_ctas = *check_ctas;
  schedules_ = *schedules;
  if (schedules_ != 0 && config_.schedule != 0)
    return usage("--explore runs the usual schedule and others; --schedule runs one of them");
  if ((schedules_ != 0 || config_.schedule != 0) && options_.device != "cpu")
    return usage("--explore and --schedule are for the virtual GPU: a real one does as it likes");
  if (schedules_ != 0)
    config_.workers = 1; // as all schedules
  if (config_.check_ctas != 0 && !options_.check)
    return usage("--check-ctas is about findings: it needs --check");
  config_.max_instructions = *max_instructions;
  max_memory_bytes_ = *max_memory;
  config_.deterministic = options_.deterministic;
  config_.count_accesses = options_.stats;
  config_.check = options_.check;
  if ((options_.coverage || options_.fidelity) && options_.device != "cpu")
    return usage(
        "--coverage and --fidelity are for the virtual GPU: a real one does not say what it executes");
  if (options_.coverage)
    config_.observer = &coverage_;
  config_.fidelity = options_.fidelity;
  config_.async = options_.async == "late"     ? AsyncMode::late
                  : options_.async == "random" ? AsyncMode::random
                                               : AsyncMode::eager;
  return {};
}

Result<std::string, Stop> Runner::read_program() {
  auto text = read_text(file_);
  if (!text)
    return usage(text.error());
  if (file_ == kStandardInput) {
    is_mlir_text_ = !is_ptx(*text);
    file_ = shown_path(file_);
  }
  return *std::move(text);
}

// kFailed if an output is not what it must be.
Result<ExitStatus, Stop> Runner::write_outputs() {
  auto comparisons = arguments_.write_outputs();
  if (!comparisons)
    return Unexpected<Stop>{std::move(comparisons).error()};
  comparisons_ = *std::move(comparisons);
  outputs_written_ = true;
  const bool equal = std::all_of(comparisons_.begin(), comparisons_.end(),
                                 [](const OutputComparison& c) { return c.result.equal; });
  return equal ? kSuccess : kFailed;
}

// Of a run that did not end well; says what became of them.
void Runner::leave_outputs() {
  if (!arguments_.has_outputs())
    return;
  if (!options_.keep_outputs)
    return say("no output was written; --keep-outputs writes what there is");
  const auto written = arguments_.write_outputs();
  outputs_written_ = written.ok();
  say(written ? "the outputs were written as they were at the end of the run, and not compared"
              : "no output was written: " + written.error().error.text);
}

// A real GPU cannot be stopped: there Ctrl-C ends the process.
void Runner::catch_interrupts() {
  if (options_.device == "cpu")
    config_.stop = &cli::catch_interrupts();
}

// The program cannot go on.
void Runner::show_host_stop(const MlirStop& stop, const Report& report) {
  if (!json_)
    found_.show();
  print_messages(stderr, stop.text + exploration_text());
  leave_outputs();
  if (!json_)
    return;
  nlohmann::json out = {{"file", file_},
                        {"exit_status", stop.exit_status},
                        {"error",
                         {{"kind", stop.exit_status == kUnsupported ? "unsupported"
                                   : stop.exit_status == kFailed    ? "fault"
                                                                    : "stopped"},
                          {"message", stop.text}}},
                        {"outputs_written", outputs_written_},
                        {"command", repeating_command()}};
  found_.add_to(out);
  add_watched(out, report);
  out["exploration"] = exploration_to_json();
  json_->print(out);
}

ExitStatus Runner::write_sarif(ExitStatus status, std::span<const Fault> faults, const std::string& kernel) {
  if (options_.sarif.empty())
    return status;
  const nlohmann::json sarif = to_sarif({.findings = found_.findings(),
                                         .faults = faults,
                                         .file = is_mlir() ? file_ + ".ptx" : file_,
                                         .kernel = kernel,
                                         .command = repeating_command(),
                                         .exit_status = status});
  const std::string text = sarif.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  const auto written = write_file(options_.sarif, std::as_bytes(std::span(text)));
  if (written)
    return status;
  say(written.error());
  return status == kSuccess ? kUsage : status;
}

// A program with host code: it makes its launches itself, and the --arg are its entry's arguments.
Result<ExitStatus, Stop> Runner::run_whole(const std::string& text) {
  catch_interrupts();
  const Program program{text,
                        {.name = file_,
                         .device = options_.device,
                         .arch = options_.arch,
                         .entry = options_.entry.empty() ? "main" : options_.entry,
                         .max_memory_bytes = max_memory_bytes_,
                         .launch = config_}};
  ProgramRun ran;
  const auto crashed = [&](const std::string& text) {
    found_.add(ran.report.findings);
    show_host_stop({.text = text, .exit_status = kFailed}, ran.report);
  };
  if (auto done = run_program(program, arguments_, schedules_ ? Printing::show_and_keep : Printing::show,
                              crashed, ran);
      !done)
    return Unexpected<Stop>{std::move(done).error()};
  if (schedules_ == 0 || ran.report.outcome == Outcome::stopped || ran.report.outcome == Outcome::unsupported)
    found_.add(ran.report.findings);
  else if (auto explored = explore_program(program, ran); !explored)
    return Unexpected<Stop>{std::move(explored).error()};
  if (ran.stopped) {
    show_host_stop(*ran.stopped, ran.report);
    show_watched(ran.report);
    std::vector<Fault> faults;
    if (ran.stopped->report && ran.report.fault && ran.report.outcome != Outcome::stopped)
      faults.push_back(*ran.report.fault);
    return write_sarif(static_cast<ExitStatus>(ran.stopped->exit_status), faults, ran.stopped->kernel);
  }
  ExitStatus status = judge(ran.report);
  const auto compared = write_outputs();
  if (!compared)
    return compared;
  if (status == kSuccess)
    status = ran.returned != 0 ? kFailed : *compared; // what it returns is its own word
  status = write_sarif(status, {}, {});
  if (json_) {
    nlohmann::json out = {{"file", file_},
                          {"exit_status", status},
                          {"returned", ran.returned},
                          {"launches", ran.launches},
                          {"outputs_written", outputs_written_},
                          {"stats", to_json(ran.report.stats)},
                          {"comparisons", comparisons_to_json()},
                          {"command", repeating_command()}};
    found_.add_to(out);
    add_watched(out, ran.report);
    out["exploration"] = exploration_to_json();
    json_->print(out);
  } else {
    found_.show();
    print_messages(stderr, exploration_text());
    print_text(stderr,
               fmt::format("{}: {} launch{}; {}{}\n", printable(file_), ran.launches,
                           ran.launches == 1 ? "" : "es", found_.closing_text(), exploration_closing_text()));
    show_comparisons();
  }
  if (!json_ && options_.stats) {
    fmt::print("launches           {}\n", ran.launches);
    show_stats(ran.report.stats);
  }
  show_watched(ran.report);
  return status;
}

// The other schedules of a whole program: each has run it to its end, in memory of its own.
Result<void, Stop> Runner::explore_program(const Program& program, const ProgramRun& usual) {
  auto first = schedule_run(usual, arguments_);
  if (!first)
    return Unexpected<Stop>{std::move(first).error()};
  const auto run = [&](uint64_t schedule, uint64_t share) -> Result<ScheduleRun, Stop> {
    Program scheduled = program;
    scheduled.options.launch.schedule = schedule;
    scheduled.options.launch.observer = nullptr; // of the usual schedule
    scheduled.options.launch.fidelity = false;
    scheduled.options.max_memory_bytes = memory_share(max_memory_bytes_, share);
    RunArguments arguments = arguments_.afresh();
    const auto crashed = [&](const std::string& text) {
      show_host_stop({.text = fmt::format("lemma: schedule {} ({}) ends with a signal:\n{}lemma: to repeat "
                                          "schedule {}: {}\n",
                                          schedule, schedule_text(schedule), text, schedule,
                                          printable(repeating_schedule(schedule))),
                      .exit_status = kFailed},
                     usual.report);
    };
    ProgramRun ran;
    if (auto done = run_program(scheduled, arguments, Printing::keep, crashed, ran); !done)
      return Unexpected<Stop>{std::move(done).error()};
    return schedule_run(ran, arguments);
  };
  Explored explored;
  explored.options.ptx = file_ + ".ptx";
  explored.options.schedules = schedules_;
  explored.options.stop = config_.stop;
  explored.run = run;
  return explore(explored, *std::move(first), output_names(program, arguments_));
}

Result<void, Stop> Runner::explore(const Explored& explored, ScheduleRun first,
                                   std::vector<std::string> outputs) {
  auto found = cli::explore(explored, std::move(first), found_);
  if (!found)
    return Unexpected<Stop>{std::move(found).error()};
  exploration_ = *std::move(found);
  explored_outputs_ = std::move(outputs);
  found_.add_suppressed(exploration_->findings);
  return {};
}

// FILE.mlir to PTX; the gpu.func's arguments are kept.
Result<std::string, Stop> Runner::compile(const std::string& text) {
  auto compiled = compile_mlir(text, {.name = file_, .arch = options_.arch});
  if (!compiled)
    return stop(std::move(compiled).error());
  for (const Message& message : compiled->messages)
    print_messages(stderr, message.rendered);
  mlir_ = std::move(compiled->kernels);
  return std::move(compiled->text);
}

Result<ExitStatus, Stop> Runner::steps() {
  if (auto read = read_command_line(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  auto text = read_program();
  if (!text)
    return Unexpected<Stop>{std::move(text).error()};
  if (auto read = found_.read_suppressions(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  if (auto read = arguments_.read_files(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  if (auto writable = arguments_.check_outputs(); !writable)
    return Unexpected<Stop>{std::move(writable).error()};
  if (!options_.sarif.empty())
    if (auto writable = check_writable(options_.sarif); !writable)
      return usage(std::move(writable).error());
  if (is_mlir() && options_.grid.empty() && has_host_code(*text))
    return run_whole(*text);
  if (is_mlir()) {
    text = compile(*text);
    if (!text)
      return Unexpected<Stop>{std::move(text).error()};
  }
  if (options_.grid.empty() || options_.block.empty())
    return usage("--grid and --block are required: CTAs, and threads of a CTA");
  const LoadOptions load{.name = is_mlir() ? file_ + ".ptx" : file_, .arch = options_.arch};
  const DeviceOptions device_options{.arch = options_.arch, .max_memory_bytes = max_memory_bytes_};
  const auto device = Device::open(options_.device, device_options);
  if (!device)
    return stop(device.error());
  const auto module = device->load_ptx(*text, load);
  if (!module)
    return stop(module.error());
  const auto kernel = module->kernel(options_.entry);
  if (!kernel)
    return stop(kernel.error());
  const auto lowered_from = std::find_if(mlir_.begin(), mlir_.end(), [&](const MlirKernel& function) {
    return function.name == kernel->name();
  });
  const MlirKernel* const mlir = lowered_from == mlir_.end() ? nullptr : &*lowered_from;
  const auto arguments = arguments_.for_kernel(*device, *module, *kernel, mlir);
  if (!arguments)
    return Unexpected<Stop>{arguments.error()};
  if (!json_)
    for (const std::string& unused : arguments_.unused())
      say(fmt::format("{} is memory that no parameter and no tensor map takes", unused));

  Progress progress(kernel->name(), uint64_t{config_.grid[0]} * config_.grid[1] * config_.grid[2]);
  config_.progress = [&](uint64_t done, uint64_t) { progress.update(done); };
  catch_interrupts();
  const auto report = kernel->launch(config_, *arguments);
  progress.finish();
  if (!report)
    return stop(report.error());
  std::fflush(stdout); // device printf before what is said about the run
  if (config_.check_ctas != 0)
    found_.limit_to(report->checked_ctas, uint64_t{config_.grid[0]} * config_.grid[1] * config_.grid[2]);
  const bool is_whole = report->outcome != Outcome::stopped && report->outcome != Outcome::unsupported;
  if (schedules_ != 0 && is_whole) {
    const ScheduledLaunch launch{.text = *std::move(text),
                                 .load = load,
                                 .device = device_options,
                                 .kernel = kernel->name(),
                                 .config = config_,
                                 .arguments = arguments_,
                                 .mlir = mlir};
    auto outputs = arguments_.outputs();
    if (!outputs)
      return stop(std::move(outputs).error());
    const auto explored =
        explore({{.kernel = kernel->name(), .ptx = load.name, .schedules = schedules_, .stop = config_.stop},
                 [&](uint64_t schedule, uint64_t share) { return run_launch(launch, schedule, share); }},
                {*report, *std::move(outputs)}, arguments_.output_names());
    if (!explored)
      return Unexpected<Stop>{explored.error()};
  } else {
    found_.add(report->findings);
  }
  ExitStatus status = judge(*report);
  if (report->ok()) {
    const auto compared = write_outputs();
    if (!compared)
      return compared;
    if (status == kSuccess)
      status = *compared;
  }
  if (!json_)
    show_text(*module, *kernel, *device, *report);
  if (!report->ok())
    leave_outputs();
  std::vector<Fault> faults;
  if (report->fault && report->outcome != Outcome::stopped)
    faults.push_back(*report->fault);
  status = write_sarif(status, faults, kernel->name());
  if (json_)
    show_json(*module, *kernel, *device, *report, status);
  return status;
}

// But for comparisons.
ExitStatus Runner::judge(const Report& report) const {
  switch (report.outcome) {
  case Outcome::finished:
    if (exploration_ && config_.stop && config_.stop->load())
      return static_cast<ExitStatus>(interrupt_status());
    return found_.has_errors() || (exploration_ && has_failed(*exploration_)) ? kFailed : kSuccess;
  case Outcome::unsupported:
    return kUnsupported;
  case Outcome::stopped:
    return static_cast<ExitStatus>(interrupt_status());
  default:
    return kFailed;
  }
}

int Runner::show_stop(const Stop& stop) {
  if (json_)
    json_->print({{"file", file_},
                  {"exit_status", stop.status},
                  {"error", to_json(stop.error)},
                  {"diagnostics", to_json(stop.error.messages)}});
  for (const Message& message : stop.error.messages)
    print_messages(stderr, message.rendered);
  if (stop.error.messages.empty())
    say(stop.error.text);
  if (stop.status == kUsage)
    print_text(stderr, "`lemma run --help` says more.\n");
  return stop.status;
}

// "arithmetic of sm_90 (the module's .target sm_90a)"
std::string Runner::arithmetic_text(const Module& module, const Device& device) const {
  if (device.info().kind == "cuda")
    return fmt::format("arithmetic of {} (the GPU's own; the module's .target is {})", module.arithmetic(),
                       module.target());
  return fmt::format("arithmetic of {} ({})", module.arithmetic(),
                     options_.arch.empty() ? "the module's .target " + module.target()
                                           : "--arch " + options_.arch);
}

void Runner::show_text(const Module& module, const Kernel& kernel, const Device& device,
                       const Report& report) const {
  print_messages(stderr, report.rendered);
  found_.show();
  print_messages(stderr, exploration_text());
  print_text(stderr,
             fmt::format("{}: {} on {}, {}{}; {}{}\n", printable(file_), kernel.name(), device.info().name,
                         arithmetic_text(module, device),
                         report.assumed_approximate ? "; approximate functions as on sm_90 (assumed)" : "",
                         found_.closing_text(), exploration_closing_text()));
  show_comparisons();
  if (options_.stats)
    show_stats(report.stats);
  show_watched(report);
}

// What --coverage and --fidelity have seen; `report` is the launch's, or of all of a program.
void Runner::show_watched(const Report& report) const {
  if (json_)
    return;
  if (options_.fidelity)
    print_text(stdout, fidelity_text(report.forms, report.arithmetic));
  if (options_.coverage)
    fmt::print("{}", coverage_.text());
}

void Runner::add_watched(nlohmann::json& out, const Report& report) const {
  if (options_.fidelity)
    out["fidelity"] = to_json(report.forms);
  if (options_.coverage)
    out["coverage"] = coverage_.to_json();
}

std::string Runner::exploration_text() const {
  return exploration_ ? to_text(*exploration_, explored_outputs_) : "";
}

std::string Runner::exploration_closing_text() const {
  return exploration_ ? "; " + closing_text(*exploration_) : "";
}

nlohmann::json Runner::exploration_to_json() const {
  return exploration_ ? to_json(*exploration_, explored_outputs_) : nlohmann::json(nullptr);
}

void Runner::show_comparisons() const {
  for (const OutputComparison& c : comparisons_)
    print_text(stderr, printable_lines(render(c.result, c.got, c.want)));
}

nlohmann::json Runner::comparisons_to_json() const {
  auto all = nlohmann::json::array();
  for (const OutputComparison& c : comparisons_) {
    nlohmann::json comparison = to_json(c.result);
    comparison["output"] = c.got;
    comparison["expected"] = c.want;
    all.push_back(std::move(comparison));
  }
  return all;
}

void Runner::show_stats(const Stats& stats) const {
  const auto rate = [&](std::optional<uint64_t> count) {
    return stats.seconds > 0 ? static_cast<double>(count.value_or(0)) / stats.seconds * 1e-9 : 0.0;
  };
  if (stats.warp_instructions)
    fmt::print("warp instructions  {}\n", *stats.warp_instructions);
  if (stats.lane_instructions)
    fmt::print("lane instructions  {} ({:.3f} G/s)\n", *stats.lane_instructions,
               rate(stats.lane_instructions));
  if (stats.matrix_flops)
    fmt::print("matrix FLOPs       {} ({:.3f} GFLOP/s)\n", *stats.matrix_flops, rate(stats.matrix_flops));
  if (stats.matrix_outputs && (stats.matrix_flops.value_or(0) != 0)) {
    const MatrixOutputs& by = *stats.matrix_outputs;
    const auto all = static_cast<double>(by.vector + by.careful + by.scalar);
    fmt::print(
        "matrix outputs     {} by the vector path ({:.2f} %), {} by the careful one, {} by the scalar one\n",
        by.vector, 100 * static_cast<double>(by.vector) / all, by.careful, by.scalar);
  }
  for (const AccessCount& count : stats.accesses.value_or(std::vector<AccessCount>{}))
    fmt::print("{:<18} {} by warps, {} by lanes, {} bytes\n", count.space + " " + count.kind + "s",
               count.warp_accesses, count.lane_accesses, count.bytes);
  for (const AsyncCount& count : stats.async_operations.value_or(std::vector<AsyncCount>{}))
    fmt::print("{:<18} {}, {} bytes\n", count.kind, count.operations, count.bytes);
  fmt::print("time               {:.6f} s\n", stats.seconds);
}

void Runner::show_json(const Module& module, const Kernel& kernel, const Device& device, const Report& report,
                       ExitStatus status) {
  using nlohmann::json;
  const DeviceInfo& info = device.info();
  json out = {{"file", file_},
              {"kernel", kernel.name()},
              {"exit_status", status},
              {"outcome", to_string(report.outcome)},
              {"device",
               {{"kind", info.kind}, {"name", info.name}, {"driver", info.driver}, {"target", info.target}}},
              {"arithmetic",
               {{"arch", module.arithmetic()},
                {"target", module.target()},
                {"from", info.kind == "cuda"     ? "device"
                         : options_.arch.empty() ? ".target"
                                                 : "--arch"}}},
              {"fault", report.fault ? to_json(*report.fault) : json(nullptr)},
              {"uninitialized", {{"count", report.uninitialized_reads}, {"first", json::array()}}},
              {"waiting", json::array()},
              {"command", repeating_command()},
              {"outputs_written", outputs_written_},
              {"warnings", report.warnings},
              {"approximate_assumed", report.assumed_approximate},
              {"stats", to_json(report.stats)},
              {"diagnostics", to_json(module.messages())},
              {"comparisons", comparisons_to_json()}};
  for (const UninitializedRead& read : report.uninitialized)
    out["uninitialized"]["first"].push_back(to_json(read));
  for (const Waiting& waiting : report.waiting)
    out["waiting"].push_back(to_json(waiting));
  found_.add_to(out);
  add_watched(out, report);
  out["exploration"] = exploration_to_json();
  assert(json_);
  json_->print(out);
}

} // namespace

Command add_run(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("run", "run a kernel of a PTX file, or an MLIR program");
  const auto o = std::make_shared<RunOptions>();
  app->add_option("FILE", o->file, "PTX text, or MLIR (FILE.mlir)");
  app->add_option("--device", o->device, "cpu: the virtual GPU; cuda: a real one")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app->add_option("--arch", o->arch, "what the virtual GPU is (default: the file's .target)")
      ->type_name("sm_90a");
  app->add_option("--entry", o->entry,
                  "the kernel, by its name in the PTX, demangled or in part; may be left out if there is "
                  "one; of a whole "
                  "program the host function (main)")
      ->type_name("NAME");
  app->add_option("--grid", o->grid, "CTAs")->type_name("X[,Y[,Z]]");
  app->add_option("--block", o->block, "threads of a CTA")->type_name("X[,Y[,Z]]");
  app->add_option("--cluster", o->cluster, "CTAs of a cluster (default: as the kernel declares)")
      ->type_name("X[,Y[,Z]]");
  app->add_option("--smem", o->smem, "dynamic shared memory of a CTA")->type_name("BYTES");
  app->add_option(
         "--seed", o->seed,
         "moves every choice of the schedule, and changes what memory and registers hold that were never "
         "written")
      ->type_name("N");
  app->add_flag("--deterministic", o->deterministic, "CTAs in a fixed order: floating-point atomics repeat");
  app->add_option(
         "--async", o->async,
         "eager: asynchronous operations complete when issued; late: as late as the ISA allows; random: at "
         "times that --seed draws")
      ->check(CLI::IsMember({"eager", "late", "random"}))
      ->capture_default_str();
  app->add_option("--schedule", o->schedule,
                  "who runs when: 0 the usual order, any other number a legal and unusual one")
      ->type_name("K");
  app->add_option("--explore", o->explore,
                  "run schedules 0 to N-1, side by side: what they find, and whether the outputs differ")
      ->type_name("N");
  app->add_flag("--check", o->check,
                "find races, missing fences and missing waits: what the PTX ISA leaves undefined");
  app->add_flag("--notes", o->notes, "show what --check notes too: what the PTX ISA leaves doubtful");
  app->add_option("--suppress", o->suppress,
                  "findings of --check that are known: lines 'ID [FILE[:LINE]] [FUNCTION]  # why'")
      ->type_name("FILE");
  app->add_option("--check-ctas", o->check_ctas, "check N CTAs, spread over the grid, not all")
      ->type_name("N");
  app->add_option("--sarif", o->sarif, "write findings and the fault as SARIF 2.1.0, for code scanning")
      ->type_name("FILE");
  app->add_flag("--stats", o->stats, "print instructions, matrix FLOPs, accesses to memory, time and FLOP/s");
  app->add_flag("--coverage", o->coverage, "print which lines ran, and how often");
  app->add_flag("--fidelity", o->fidelity,
                "print how well the bits of the instructions that ran are known, the least known first");
  app->add_flag("--json", o->json, "print one JSON object; device printf goes to standard error");
  app->add_flag("--keep-outputs", o->keep_outputs,
                "write the outputs after a fault or Ctrl-C too, as they are");
  app->add_option("--max-instructions", o->max_instructions, "fault when a warp has executed so many")
      ->type_name("N");
  app->add_option(
         "--max-memory", o->max_memory,
         "of the host's memory, what the virtual GPU may take: more is a fault (default: half of it)")
      ->type_name("BYTES[K|M|G|T]");
  app->add_option("--arg", o->args, "kernel arguments in order, see below")
      ->type_name("SPEC")
      ->expected(1, -1);
  app->footer(kFooter);
  return {app, [o] { return Runner(*o).run(); }};
}

} // namespace lemma::cli
