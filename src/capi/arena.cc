// The parts of the C API's structs.
#include "capi/arena.h"

#include <algorithm>

namespace lemma::capi {

const char* Arena::text(std::string_view text) {
  if (text.empty())
    return "";
  char* made = array<char>(text.size() + 1);
  std::copy(text.begin(), text.end(), made);
  return made;
}

lemma_strings Arena::strings(const std::vector<std::string>& texts) {
  const char** items = array<const char*>(texts.size());
  for (size_t i = 0; i < texts.size(); ++i)
    items[i] = text(texts[i]);
  return {texts.size(), items};
}

} // namespace lemma::capi
