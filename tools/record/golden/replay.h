// Runs cases on a device and compares what they store with recorded bits.
//
// The kernels of a group are loaded in modules of some dozens, several modules ahead at a time where the
// device's compiler can use the cores. A kernel that the device refuses, or that faults, fails alone.
//
// Tests: tests/golden/ (every recorded group; files changed on purpose), tests/unit/golden/.
#pragma once

#include "golden/record_file.h"
#include "lemma/device.h"

#include <functional>

namespace lemma::golden {

struct RunOptions {
  std::string device = "cpu"; // or "cuda"
  std::string arch;           // whose arithmetic "cpu" has; empty: the target's
  uint64_t seed = 1;
  uint64_t schedule = 0;              // cpu: LaunchConfig::schedule
  LaunchObserver* observer = nullptr; // cpu: LaunchConfig::observer
  // cpu: what the launch of a case has found (LaunchConfig::check), before CaseDone. Empty: nobody looks.
  std::function<void(const Case& c, std::vector<Finding> findings)> found = {};
};

// Called for every case in the group's order: its input buffer and its output buffer after the launch, or why
// it has none.
using CaseDone = std::function<void(const Case& c, std::span<const std::byte> inputs,
                                    std::span<const std::byte> outputs, const std::string& error)>;

// Runs the cases of `group` that `wanted` says (null: all). Error: the device cannot be opened.
Result<DeviceInfo, std::string> run_group(const Group& group, const RunOptions& options,
                                          const std::function<bool(const Case&)>& wanted,
                                          const CaseDone& done);

// One element that differs.
struct Difference {
  uint64_t unit = 0;
  std::string text; // "thread 17: a=0x7f800001 (nan) b=0x3f800000 (1): d expected 0x7fffffff (nan), got
                    // 0x7f800001 (nan)"
};

struct PartComparison {
  std::string part;
  bool equal = false;
  uint64_t compared = 0;         // elements of kept outputs looked at; 0: only the hash is recorded
  uint64_t differing = 0;        // of them
  std::vector<Difference> first; // at most three
  std::string expected_hash, hash;
};

struct CaseComparison {
  bool recorded = true; // the record has this case, with these parts
  std::vector<PartComparison> parts;
  bool equal() const;
};

CaseComparison compare(const Case& c, const GroupRecord& record, std::span<const std::byte> inputs,
                       std::span<const std::byte> outputs);

// An element as bits and number: "0x80000000 (-0)".
std::string element_text(isa::Type type, uint32_t bytes, uint64_t bits);

} // namespace lemma::golden
