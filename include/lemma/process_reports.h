// What processes that use Lemma's CUDA driver leave for whoever has started them: findings, faults, how often
// each kernel ran, and what ran when the process ended. `lemma exec` names a folder (LEMMA_REPORTS); each
// process makes two or three files there.
//
//   expect_process_reports(folder);                // before
//   auto reports = read_process_reports(folder);   // after the processes have ended, however they did
//
// What is in the files is Lemma's own business and may change with its version.
//
// Tests: tests/unit/runtime/process_reports_test.cc, tests/exec/.
#pragma once

#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"
#include "lemma/running_launch.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lemma {

// All launches of one kernel.
struct KernelCounts {
  std::string kernel; // as the PTX spells it
  uint64_t launches = 0;
  uint64_t faults = 0;
  uint64_t warp_instructions = 0, lane_instructions = 0;
  uint64_t compiled_instructions = 0; // Stats::compiled_instructions
  double seconds = 0;                 // of the launches alone
};

struct KernelFault {
  Fault fault;
  std::string kernel; // as the PTX spells it
};

// Of one process, or of several.
struct ProcessReports {
  std::vector<std::string> commands; // of each process that has initialized the driver, its words
  std::vector<Finding> findings;     // put together as merge() does
  std::vector<KernelFault> faults;
  std::vector<KernelCounts> kernels;  // in the order of their first launches
  std::vector<RunningLaunch> running; // launches that had not ended when their process did, as far as known
  // False: a process could not write all of it. Known only of folders that expect_process_reports() has seen.
  bool are_complete = true;
};

// Makes an empty folder ready, so that a process that cannot write there later can still say so. Error:
// unavailable, nothing can be written there.
Result<void, Error> expect_process_reports(const std::string& folder);

// Those of all processes that have written to the folder, in the order in which they began. A record that
// was not finished, because its process was killed, is left out. Error: unavailable, the folder or a file
// cannot be read.
Result<ProcessReports, Error> read_process_reports(const std::string& folder);

// Adds what further launches of one kernel came to.
void merge(std::vector<KernelCounts>& into, KernelCounts more);

// "scale<float>(float*, int) had run for 2.8 s: ...", with lines for where its warps were.
std::string text_of(const RunningLaunch& running);

// Where the process is to leave what it finds: the folder that LEMMA_REPORTS names, or, where something has
// taken that from its environment, that of the `lemma exec` that it descends from. Empty: nowhere.
std::string process_reports_folder();

// The writing side: every call has reached the file when it returns, so that nothing is lost when a process
// ends by a signal. May be called from several threads.
class ProcessReporter {
public:
  // Error: unavailable, the files cannot be made; whoever reads the folder is told, if that can be done.
  static Result<ProcessReporter, Error> open(const std::string& folder);
  ProcessReporter(ProcessReporter&&) noexcept;
  ~ProcessReporter();

  // Errors of all: unavailable, not all could be written; whoever reads the folder is told, as with open().
  Result<void, Error> add(const std::vector<Finding>& findings);
  Result<void, Error> add(const KernelFault& fault);
  // A launch more.
  Result<void, Error> count(const std::string& kernel, const Report& report);
  // What a launch is at, or that it has ended.
  Result<void, Error> note(const RunningLaunch& running);

private:
  struct Files;
  explicit ProcessReporter(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

// What a message calls a kernel: "scale<float>(float*, int)" for its mangled name.
std::string demangled_kernel(const std::string& name);

} // namespace lemma
