// The one check of all fuzz drivers: any bytes are either refused with messages, or parse to a module whose
// printed text parses to the same module. Crashes, hangs and memory are the driver's to notice.
#pragma once

#include <string>
#include <string_view>

namespace lemma::fuzz {

struct Verdict {
  bool accepted = false;
  std::string failure; // empty: all is well
};

Verdict check_front_end(std::string_view text);

} // namespace lemma::fuzz
