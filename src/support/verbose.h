// Whether the CUDA libraries say which function they refuse.
#pragma once

#include <cstdlib>
#include <string_view>

namespace lemma {

// LEMMA_VERBOSE is set, and not to 0.
inline bool is_verbose() {
  const char* value = std::getenv("LEMMA_VERBOSE");
  return value && *value && std::string_view(value) != "0";
}

} // namespace lemma
