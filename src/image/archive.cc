// A magic of 8 bytes, then members, each behind a header of 60 bytes of text and aligned to 2:
//
//   0        16     28    34    40     48     58   60
//   | name   | date | uid | gid | mode | size | `\n |
//
// A name that is too long stands in a member "//" before it: its name is then / and where, in decimal digits,
// up to "/\n" there. BSD's ar puts it before the contents: #1/ and how many bytes. "/", "/SYM64/" and
// "__.SYMDEF" are tables of symbols.
#include "image/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace lemma::image {
namespace {

constexpr std::string_view kMagic = "!<arch>\n", kThinMagic = "!<thin>\n";
constexpr size_t kHeaderBytes = 60, kNameBytes = 16, kSizeAt = 48, kSizeBytes = 10, kEndAt = 58;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view without_spaces(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::optional<uint64_t> number(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() && !digits.empty()
             ? std::optional(value)
             : std::nullopt;
}

bool is_table_of_symbols(std::string_view name) {
  return name == "/" || name == "/SYM64/" || name.starts_with("__.SYMDEF");
}

} // namespace

bool is_archive(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  return text.starts_with(kMagic) || text.starts_with(kThinMagic);
}

Result<std::vector<ArchiveMember>, std::string> read_archive(Bytes bytes) {
  if (text_of(bytes).starts_with(kThinMagic))
    return fail(
        std::string("it is a thin archive: its members are files of their own, which are to be given"));
  if (!is_archive(bytes))
    return fail(std::string("it is no archive"));
  std::vector<ArchiveMember> members;
  std::string_view long_names;
  for (size_t at = kMagic.size(); at < bytes.size();) {
    const std::optional<Bytes> header = part_of(bytes, at, kHeaderBytes);
    if (!header || text_of(*header).substr(kEndAt) != "`\n")
      return fail(fmt::format("at byte {} no member begins", at));
    const auto size = number(without_spaces(text_of(*header).substr(kSizeAt, kSizeBytes)));
    std::optional<Bytes> contents = size ? part_of(bytes, at + kHeaderBytes, *size) : std::nullopt;
    if (!contents)
      return fail(fmt::format("the member at byte {} reaches beyond its {} bytes", at, bytes.size()));
    at += kHeaderBytes + *size + *size % 2;
    std::string_view name = without_spaces(text_of(*header).substr(0, kNameBytes));
    if (name == "//") {
      long_names = text_of(*contents);
      continue;
    }
    if (name.starts_with("#1/")) {
      const auto length = number(name.substr(3));
      if (!length || *length > contents->size())
        return fail(fmt::format("a name of {} bytes reaches beyond its member", name.substr(3)));
      name = text_of(*contents).substr(0, *length);
      name = name.substr(0, name.find('\0'));
      contents = contents->subspan(*length);
    } else if (name.size() > 1 && name.front() == '/' && name != "/SYM64/") {
      const auto from = number(name.substr(1));
      if (!from || *from >= long_names.size())
        return fail(fmt::format("its names do not have one at {}", name.substr(1)));
      name = long_names.substr(*from);
      name = name.substr(0, std::min(name.find("/\n"), name.find('\n')));
    } else if (name.size() > 1 && name.back() == '/' && name != "/SYM64/") {
      name.remove_suffix(1);
    }
    if (!is_table_of_symbols(name))
      members.push_back({std::string(name), *contents});
  }
  return members;
}

} // namespace lemma::image
