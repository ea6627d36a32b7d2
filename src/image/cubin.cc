// What of a cubin is read.
#include "image/cubin.h"

#include "image/attached.h"
#include "image/cubin_lines.h"

#include <algorithm>
#include <utility>

namespace lemma::image {
namespace {

// e_flags has the sm in its lowest byte; since CUDA 13, whose OS ABI is another, in the next one.
constexpr uint8_t kOsAbiSince13 = 0x41;

std::string_view without_blanks_and_comments(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const std::string_view end = text.starts_with("//") ? "\n" : text.starts_with("/*") ? "*/" : "";
    if (end.empty())
      return text;
    const size_t at = text.find(end, 2);
    text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  }
}

// What -lineinfo has left. A linker of cubins puts a dot and a number behind the section's name.
std::vector<std::string> debug_texts(const Elf& elf) {
  constexpr std::string_view kName = ".nv_debug_ptx_txt";
  std::vector<std::string> texts;
  for (const ElfSection& section : elf.sections) {
    if (!section.name.starts_with(kName) || section.bytes.empty() ||
        (section.name.size() > kName.size() && section.name[kName.size()] != '.'))
      continue;
    texts.emplace_back(reinterpret_cast<const char*>(section.bytes.data()), section.bytes.size());
    std::replace(texts.back().begin(), texts.back().end(), '\0', '\n');
  }
  return texts;
}

} // namespace

std::optional<isa::Target> target_of(std::string_view ptx) {
  constexpr std::string_view kVersion = ".version", kTarget = ".target";
  std::string_view rest = without_blanks_and_comments(ptx);
  if (rest.starts_with(kVersion)) {
    rest = without_blanks_and_comments(rest.substr(kVersion.size()));
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789."), rest.size()));
    rest = without_blanks_and_comments(rest);
  }
  if (!rest.starts_with(kTarget))
    return std::nullopt;
  rest = without_blanks_and_comments(rest.substr(kTarget.size()));
  return isa::parse_target(rest.substr(0, rest.find_first_of(" \t\r\n,/")));
}

Cubin read_cubin(const Elf& elf) {
  Cubin cubin;
  cubin.target.sm = static_cast<int>((elf.os_abi == kOsAbiSince13 ? elf.flags >> 8 : elf.flags) & 0xff);
  cubin.texts = attached_ptx(elf);
  if (cubin.texts.empty())
    cubin.texts = debug_texts(elf);
  if (cubin.texts.size() == 1 && elf.section(kAttachedPtx).empty())
    cubin.texts[0] = with_source_lines(elf, std::move(cubin.texts[0]));
  for (const std::string& text : cubin.texts)
    if (const auto target = target_of(text);
        target && (cubin.target.sm == 0 || (target->sm == cubin.target.sm && cubin.target.suffix == 0)))
      cubin.target = *target;
  return cubin;
}

} // namespace lemma::image
