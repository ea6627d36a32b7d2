// ELF headers as they lie in the file.
#include "image/elf.h"

#include "image/bytes.h"
#include "image/elf_headers.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::image {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 32;
constexpr unsigned char kMagic[] = {0x7f, 'E', 'L', 'F'};

bool is_read(const FileHeader& header) {
  return header.ident[4] == 2 && header.ident[5] == 1 &&
         (header.section_offset == 0 || header.section_bytes == sizeof(SectionHeader));
}

std::string_view name_at(Bytes names, size_t offset) {
  if (offset >= names.size())
    return {};
  const auto* begin = reinterpret_cast<const char*>(names.data()) + offset;
  return {begin, static_cast<size_t>(std::find(begin, begin + (names.size() - offset), '\0') - begin)};
}

} // namespace

bool is_elf(Bytes bytes) {
  return bytes.size() >= sizeof kMagic && begins_with(bytes.data(), kMagic);
}

Bytes Elf::section(std::string_view name) const {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const ElfSection& each) { return each.name == name; });
  return found == sections.end() ? Bytes() : found->bytes;
}

Result<Elf, std::string> read_elf(Bytes bytes) {
  const auto header = read_at<FileHeader>(bytes, 0);
  if (!header || !is_elf(bytes) || !is_read(*header))
    return fail(std::string("it is no ELF file of 64 bits, little endian"));
  Elf elf{.machine = header->machine, .os_abi = header->ident[7], .flags = header->flags, .sections = {}};
  if (header->section_offset == 0)
    return elf;
  const auto cut = [&] { return fail(fmt::format("its sections reach beyond its {} bytes", bytes.size())); };
  const auto first = read_at<SectionHeader>(bytes, header->section_offset);
  if (!first)
    return cut();
  const uint64_t count = header->sections != 0 ? header->sections : first->size;
  if (count > bytes.size() / sizeof(SectionHeader))
    return cut();
  std::vector<SectionHeader> headers;
  for (uint64_t i = 0; i < count; ++i) {
    const auto each = read_at<SectionHeader>(bytes, header->section_offset + i * sizeof(SectionHeader));
    if (!each)
      return cut();
    headers.push_back(*each);
  }
  const uint64_t names_index = header->names == kInSection0 ? first->link : header->names;
  const auto contents = [&](const SectionHeader& section) {
    return section.type == kNoBits ? Bytes() : part_of(bytes, section.offset, section.size);
  };
  const auto names = names_index < count ? contents(headers[names_index]) : std::nullopt;
  if (!names)
    return cut();
  for (const SectionHeader& each : headers) {
    const auto part = contents(each);
    if (!part)
      return cut();
    elf.sections.push_back({name_at(*names, each.name), *part});
  }
  return elf;
}

std::optional<Bytes> elf_at(const void* image) {
  const auto* begin = static_cast<const std::byte*>(image);
  const auto header = trusted_at<FileHeader>(begin);
  if (!is_read(header) || header.section_offset > kMostBytes)
    return std::nullopt;
  uint64_t end = std::max(sizeof(FileHeader), header.section_offset);
  const auto section = [&](uint64_t i) {
    return trusted_at<SectionHeader>(begin + header.section_offset + i * sizeof(SectionHeader));
  };
  if (header.section_offset != 0) {
    const uint64_t count = header.sections != 0 ? header.sections : section(0).size;
    if (count > kMostBytes / sizeof(SectionHeader))
      return std::nullopt;
    end = header.section_offset + count * sizeof(SectionHeader);
    for (uint64_t i = 0; i < count; ++i) {
      const SectionHeader each = section(i);
      if (each.type == kNoBits)
        continue;
      if (each.offset > kMostBytes || each.size > kMostBytes)
        return std::nullopt;
      end = std::max(end, each.offset + each.size);
    }
  }
  return Bytes{begin, end};
}

} // namespace lemma::image
