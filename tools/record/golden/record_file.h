// Files of recorded bits: tests/golden/<target>/<group>.json, and beside it <group>.bin.zst.
//
//   {
//     "stamp": {"gpu": "NVIDIA H200", "driver": "13.0 (580.159.04)", "lemma": "0.1.0", "seed": 1, "command":
//     "...", "date": "..."}, "cases": {
//       "add.rn.f32": {"parts": {"ordinary": "<128-bit hash>", ...}, "kept": [256, 0]},
//       ...
//   }}
//
// A hash is numeric::hash128 of part_bytes(). `kept`: of every part the first so many units are kept whole,
// from that byte on of the unpacked .bin.zst, part after part.
//
// Tests: tests/unit/golden/record_file_test.cc.
#pragma once

#include "golden/case.h"
#include "support/result.h"

#include <filesystem>
#include <functional>
#include <map>

namespace lemma::golden {

struct Stamp {
  std::string gpu;    // "NVIDIA H200"
  std::string driver; // as DeviceInfo::driver says it, "13.0 (580.159.04)"
  std::string target; // of the PTX, "sm_90a"
  std::string lemma;  // version that made the cases
  uint64_t seed = 0;
  std::string command; // that recorded them
  std::string date;    // UTC
};

struct RecordedCase {
  std::vector<std::pair<std::string, std::string>> parts; // name, hash; in the case's order
  uint64_t kept_units = 0;                                // of every part, if it has as many
  uint64_t kept_offset = 0;                               // bytes
};

struct GroupRecord {
  Stamp stamp;
  std::map<std::string, RecordedCase> cases;
  std::vector<std::byte> kept;

  // The kept bytes of a part of `c`; empty if none are.
  std::span<const std::byte> kept_bytes(const Case& c, const Part& part) const;
};

// Adds the case's hashes, and its first `kept_units` units of every part (0: none).
void add_case(GroupRecord& record, const Case& c, std::span<const std::byte> outputs, uint64_t kept_units);

// Copies a recorded case with at most `kept_units` units of every part.
void copy_case(const GroupRecord& from, const Case& c, uint64_t kept_units, GroupRecord& to);

// Errors are one line that names the file.
Result<GroupRecord, std::string> read_record(const std::filesystem::path& directory, std::string_view group);
// `write` writes a whole file.
using WriteFile = std::function<Result<void, std::string>(const std::filesystem::path&, std::string_view)>;
Result<void, std::string> write_record(const std::filesystem::path& directory, std::string_view group,
                                       const GroupRecord& record, const WriteFile& write);

} // namespace lemma::golden
