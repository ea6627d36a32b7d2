// The table of entry points at run time, and how a function finds out which default stream it was called for.
//
// Tests: tests/driver/entry_points.cc, tests/unit/driver/.
#pragma once

#include "driver/types.h"

#include <span>
#include <string_view>

namespace lemma::driver {

struct EntryPoint {
  std::string_view name; // what cuGetProcAddress is asked for
  int version = 0;       // of CUDA, in which this signature came: 3020 is 3.2
  bool per_thread = false;
  std::string_view symbol;
  void* function = nullptr;
};

// By name, then version.
std::span<const EntryPoint> entry_points();

// The newest row of that name whose version is not above `version`: among those for per-thread default
// streams, if asked for and there is one, else the others. Null: `query` says why.
const EntryPoint* find_entry_point(std::string_view name, int version, bool per_thread,
                                   CUdriverProcAddressQueryResult& query);

// While one lives, stream 0 is the calling thread's default stream, not the legacy one.
class PerThreadDefault {
public:
  PerThreadDefault();
  ~PerThreadDefault();
  PerThreadDefault(const PerThreadDefault&) = delete;
  static bool is_on();
};

// Returns the error; with LEMMA_VERBOSE set, one line on standard error names the function.
CUresult refuse(std::string_view symbol, CUresult error);

} // namespace lemma::driver
