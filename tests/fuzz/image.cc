// Images as files, for no machine and for one; fatbins as pointers too.
#include "image.h"

#include "lemma/image.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace lemma::fuzz {
namespace {

std::string fault_of(const Error& error) {
  const bool known = error.kind == ErrorKind::unsupported || error.kind == ErrorKind::invalid_argument ||
                     error.kind == ErrorKind::out_of_memory ||
                     (error.kind == ErrorKind::rejected && !error.messages.empty());
  return known && !error.text.empty() ? "" : fmt::format("{}: '{}'", to_string(error.kind), error.text);
}

// A fatbin whose header counts no more than there is.
bool is_whole_fatbin(const std::vector<std::byte>& bytes) {
  constexpr size_t kHeader = 16;
  uint32_t magic = 0;
  uint16_t header = 0;
  uint64_t entries = 0;
  if (bytes.size() < kHeader)
    return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  std::memcpy(&header, bytes.data() + 6, sizeof header);
  std::memcpy(&entries, bytes.data() + 8, sizeof entries);
  return magic == 0xba55ed50 && header <= bytes.size() && entries <= bytes.size() - header;
}

} // namespace

Verdict check_image(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty())
    std::memcpy(bytes.data(), text.data(), text.size());
  const auto found = ptx_of_image(bytes);
  const auto on_machine = ptx_of_image(bytes, {.arch = "sm_90a"});
  if (!found) // what has no PTX was understood
    return {.accepted = found.error().kind == ErrorKind::unsupported, .failure = fault_of(found.error())};
  if (found->empty())
    return {.accepted = true, .failure = "no modules, and no error"};
  if (!on_machine && !fault_of(on_machine.error()).empty())
    return {.accepted = true, .failure = fault_of(on_machine.error())};
  if (!is_whole_fatbin(bytes))
    return {.accepted = true, .failure = {}};
  const auto at = ptx_of_module_data(bytes.data());
  if (at ? at->text != found->front().text : at.error().kind != ErrorKind::unsupported)
    return {.accepted = true, .failure = "the pointer gives something else"};
  return {.accepted = true, .failure = {}};
}

} // namespace lemma::fuzz
