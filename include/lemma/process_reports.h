// What processes that use Lemma's CUDA driver leave for whoever has started them: findings, faults, and how
// often each kernel ran. `lemma exec` names a folder (LEMMA_REPORTS); each process makes two files there.
//
//   auto reports = read_process_reports(folder);   // after the processes have ended, however they did
//
// What is in the files is Lemma's own business and may change with its version.
//
// Tests: tests/unit/runtime/process_reports_test.cc, tests/exec/.
#pragma once

#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"

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
  double seconds = 0; // of the launches alone
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
  std::vector<KernelCounts> kernels; // in the order of their first launches
};

// Those of all processes that have written to the folder, in the order in which they began. A record that
// was not finished, because its process was killed, is left out. Error: unavailable, the folder or a file
// cannot be read.
Result<ProcessReports, Error> read_process_reports(const std::string& folder);

// Adds what further launches of one kernel came to.
void merge(std::vector<KernelCounts>& into, KernelCounts more);

// The writing side: every call has reached the file when it returns, so that nothing is lost when a process
// ends by a signal. May be called from several threads.
class ProcessReporter {
public:
  // Error: unavailable, the files cannot be made.
  static Result<ProcessReporter, Error> open(const std::string& folder);
  ProcessReporter(ProcessReporter&&) noexcept;
  ~ProcessReporter();

  void add(const std::vector<Finding>& findings);
  void add(const KernelFault& fault);
  // A launch more.
  void count(const std::string& kernel, const Report& report);

private:
  struct Files;
  explicit ProcessReporter(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

// What a message calls a kernel: "scale<float>(float*, int)" for its mangled name.
std::string demangled_kernel(const std::string& name);

} // namespace lemma
