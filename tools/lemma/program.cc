// Reports of launches come one after the other and are added up as they come. See program.h.
#include "program.h"

#include "lemma/fidelity.h"
#include "lemma/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>

namespace lemma::cli {
namespace {

void add(const std::optional<uint64_t>& count, std::optional<uint64_t>& sum) {
  if (count)
    sum = sum.value_or(0) + *count;
}

void add(const std::vector<CalledCount>& called, std::vector<CalledCount>& sums) {
  for (const CalledCount& count : called) {
    const auto same = std::ranges::find(sums, count.opcode, &CalledCount::opcode);
    CalledCount& sum = same != sums.end() ? *same : sums.emplace_back(CalledCount{.opcode = count.opcode});
    sum.count += count.count;
  }
  std::ranges::stable_sort(sums, std::ranges::greater(), &CalledCount::count);
}

void add(const Stats& one, Stats& total) {
  add(one.warp_instructions, total.warp_instructions);
  add(one.lane_instructions, total.lane_instructions);
  add(one.compiled_instructions, total.compiled_instructions);
  add(one.called, total.called);
  add(one.compiled_code_bytes, total.compiled_code_bytes);
  total.compile_seconds += one.compile_seconds;
  add(one.matrix_flops, total.matrix_flops);
  if (one.matrix_outputs) {
    if (!total.matrix_outputs)
      total.matrix_outputs.emplace();
    total.matrix_outputs->vector += one.matrix_outputs->vector;
    total.matrix_outputs->careful += one.matrix_outputs->careful;
    total.matrix_outputs->scalar += one.matrix_outputs->scalar;
  }
  for (const AccessCount& count : one.accesses.value_or(std::vector<AccessCount>{})) {
    auto& counts = total.accesses ? *total.accesses : total.accesses.emplace();
    const auto same = std::find_if(counts.begin(), counts.end(), [&](const AccessCount& other) {
      return other.space == count.space && other.kind == count.kind;
    });
    AccessCount& sum = same != counts.end()
                           ? *same
                           : counts.emplace_back(AccessCount{.space = count.space, .kind = count.kind});
    sum.warp_accesses += count.warp_accesses;
    sum.lane_accesses += count.lane_accesses;
    sum.bytes += count.bytes;
  }
  for (const AsyncCount& count : one.async_operations.value_or(std::vector<AsyncCount>{})) {
    auto& counts = total.async_operations ? *total.async_operations : total.async_operations.emplace();
    const auto same = std::find_if(counts.begin(), counts.end(),
                                   [&](const AsyncCount& other) { return other.kind == count.kind; });
    AsyncCount& sum = same != counts.end() ? *same : counts.emplace_back(AsyncCount{.kind = count.kind});
    sum.operations += count.operations;
    sum.bytes += count.bytes;
  }
  total.seconds += one.seconds;
}

void add(const Report& one, Report& total) {
  merge(total.findings, one.findings);
  add(one.stats, total.stats);
  merge(total.forms, one.forms);
  total.arithmetic = one.arithmetic;
  total.float_atomics |= one.float_atomics;
}

// How it ended, of a program that did not come to its end.
void end(const MlirStop& stop, Report& report) {
  report.rendered = stop.text;
  if (stop.report) {
    add(*stop.report, report);
    report.outcome = stop.report->outcome;
    report.fault = stop.report->fault;
    return;
  }
  report.outcome = stop.exit_status == kUnsupported ? Outcome::unsupported : Outcome::fault;
  const bool lacks_memory = stop.error && stop.error->kind == ErrorKind::out_of_memory;
  report.fault.emplace();
  report.fault->kind = lacks_memory ? FaultKind::out_of_memory : FaultKind::launch_failed;
  report.fault->message = stop.error ? stop.error->text : stop.text;
}

// printMemref's "base@ = 0x55d0c8a012c0" without the number.
std::string without_addresses(const std::string& text) {
  constexpr std::string_view kBefore = "base@ = 0x", kDigits = "0123456789abcdef";
  std::string rest;
  for (size_t begin = 0; begin < text.size();) {
    const size_t found = text.find(kBefore, begin);
    const size_t end = found == text.npos ? text.size() : found + kBefore.size();
    rest.append(text, begin, end - begin);
    begin = std::min(text.size(), text.find_first_not_of(kDigits, end));
  }
  return rest;
}

std::vector<std::byte> bytes_of(const void* from, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size != 0)
    std::memcpy(bytes.data(), from, size);
  return bytes;
}

} // namespace

Result<void, Stop> run_program(const Program& program, RunArguments& arguments, Printing printing,
                               const std::function<void(const std::string&)>& crashed, ProgramRun& run) {
  auto passed = arguments.for_host();
  if (!passed)
    return Unexpected<Stop>{std::move(passed).error()};
  MlirRunOptions options = program.options;
  options.arguments = *std::move(passed);
  options.launched = [&](const MlirLaunch& launch) {
    ++run.launches;
    add(launch.report, run.report);
  };
  if (printing != Printing::show)
    options.print = [&](std::string_view text) {
      run.printed += text;
      if (printing == Printing::show_and_keep)
        std::fwrite(text.data(), 1, text.size(), stdout);
    };
  if (printing == Printing::keep)
    options.said = [](std::string_view) {};
  options.crashed = crashed;
  auto ran = run_mlir(program.text, options);
  if (!ran)
    return stop(std::move(ran).error());
  run.returned = ran->returned;
  run.stopped = std::move(ran->stopped);
  if (run.stopped)
    end(*run.stopped, run.report);
  return {};
}

Result<ScheduleRun, Stop> schedule_run(const ProgramRun& run, const RunArguments& arguments) {
  auto outputs = arguments.outputs();
  if (!outputs)
    return stop(std::move(outputs).error());
  const std::string printed = without_addresses(run.printed);
  outputs->push_back(bytes_of(printed.data(), printed.size()));
  outputs->push_back(bytes_of(&run.returned, sizeof run.returned));
  return ScheduleRun{run.report, *std::move(outputs), run.stopped ? run.stopped->kernel : std::string()};
}

std::vector<std::string> output_names(const Program& program, const RunArguments& arguments) {
  std::vector<std::string> names = arguments.output_names();
  names.emplace_back("what the program prints");
  names.push_back("what " + program.options.entry + " returns");
  return names;
}

} // namespace lemma::cli
