// Names of compiled code for perf: a file in perf's jitdump format, where LEMMA_JITDUMP names a folder.
//
//   LEMMA_JITDUMP=. perf record -k mono lemma run k.ptx ...
//   perf inject --jit -i perf.data -o named.data; perf report -i named.data
//
// Format: tools/perf/Documentation/jitdump-specification.txt of Linux. Tests:
// tests/unit/vgpu/jit_dump_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace lemma::vgpu {

// Thread-safe. A file is of one process: one that fork() has made begins another.
class JitDump {
public:
  explicit JitDump(std::string folder) : folder_(std::move(folder)) {}
  ~JitDump() { close(); }
  JitDump(const JitDump&) = delete;

  // Of this process; null: nobody has asked for one.
  static JitDump* wanted();

  // Code that lies where the processor executes it. Where the file cannot be written nothing happens.
  void add(std::span<const std::byte> code, std::string_view name);

private:
  bool open();
  void close();

  std::mutex mutex_;
  const std::string folder_;
  std::FILE* file_ = nullptr;
  void* marker_ = nullptr; // a page of the file, mapped to be executed: perf notes where the file is
  int64_t process_ = -1;
  uint64_t count_ = 0;
};

} // namespace lemma::vgpu
