// A section more at the end of an ELF file.
#include "image/attached.h"

#include "image/cubin.h"
#include "image/elf_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lemma::image {
namespace {

constexpr uint32_t kProgramBits = 1;          // SHT_PROGBITS
constexpr size_t kMostSections = 0xff00 - 1;  // what e_shnum counts, SHN_LORESERVE
constexpr size_t kMostText = size_t{1} << 30; // as the parser's

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The file's bytes as they are made longer.
class Writer {
public:
  explicit Writer(Bytes bytes) : file_(as_text(bytes)) {}

  // Where they are from now on.
  uint64_t add(std::string_view bytes, size_t alignment) {
    file_.resize((file_.size() + alignment - 1) / alignment * alignment);
    const uint64_t at = file_.size();
    file_ += bytes;
    return at;
  }
  void put(size_t offset, const void* value, size_t bytes) {
    std::memcpy(file_.data() + offset, value, bytes);
  }
  std::string take() { return std::move(file_); }

private:
  std::string file_;
};

// What the section holds. Error: a text that cannot be kept so.
Result<std::string, std::string> contents_of(std::span<const std::string> texts) {
  std::string contents;
  for (const std::string& text : texts) {
    if (text.empty() || text.find('\0') != text.npos)
      return fail(std::string("a PTX text is empty, or has a NUL inside"));
    if (text.size() >= kMostText - contents.size())
      return fail(std::string("more than 1 GiB of PTX"));
    contents.append(text).push_back('\0');
  }
  return contents;
}

} // namespace

Result<std::string, std::string> attach_ptx(Bytes cubin, std::span<const std::string> texts) {
  const auto elf = read_elf(cubin);
  if (!elf)
    return fail(elf.error());
  if (elf->machine != kCudaMachine)
    return fail(std::string("it is an ELF file of another machine than a GPU"));
  auto contents = contents_of(texts);
  if (!contents)
    return contents;
  FileHeader header = *read_at<FileHeader>(cubin, 0);
  const size_t count = header.sections;
  if (count == 0 || count >= kMostSections || header.names >= count)
    return fail(fmt::format("it has {} sections: none can be added", elf->sections.size()));
  std::vector<SectionHeader> headers;
  for (size_t i = 0; i < count; ++i)
    headers.push_back(*read_at<SectionHeader>(cubin, header.section_offset + i * sizeof(SectionHeader)));

  Writer file(cubin);
  const auto attached = std::ranges::find(elf->sections, kAttachedPtx, &ElfSection::name);
  size_t index = static_cast<size_t>(attached - elf->sections.begin());
  if (attached == elf->sections.end()) {
    std::string names(as_text(elf->sections[header.names].bytes));
    const auto name = static_cast<uint32_t>(names.size());
    names.append(kAttachedPtx).push_back('\0');
    headers[header.names].size = names.size();
    headers[header.names].offset = file.add(names, 1);
    headers.push_back({.name = name,
                       .type = kProgramBits,
                       .flags = 0,
                       .address = 0,
                       .offset = 0,
                       .size = 0,
                       .link = 0,
                       .info = 0,
                       .alignment = 1,
                       .entry_bytes = 0});
  }
  headers[index].offset = file.add(*contents, 1);
  headers[index].size = contents->size();
  header.section_offset =
      file.add({reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(SectionHeader)},
               alignof(SectionHeader));
  header.sections = static_cast<uint16_t>(headers.size());
  file.put(0, &header, sizeof header);
  return file.take();
}

std::vector<std::string> attached_ptx(const Elf& elf) {
  std::string_view rest = as_text(elf.section(kAttachedPtx));
  std::vector<std::string> texts;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    if (end > 0)
      texts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return texts;
}

} // namespace lemma::image
