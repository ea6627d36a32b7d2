// ELF headers as they lie in a file of 64 bits, little endian. For elf.cc, which reads them, and attached.cc.
//
// ELF-64 Object File Format 1.5. Tests: tests/unit/image/elf_test.cc.
#pragma once

#include <cstdint>

namespace lemma::image {

struct FileHeader {
  unsigned char ident[16]; // 4: class (2: 64 bits), 5: order (1: little endian), 7: OS ABI
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, program_offset, section_offset;
  uint32_t flags;
  uint16_t header_bytes, program_bytes, programs, section_bytes, sections, names;
};
static_assert(sizeof(FileHeader) == 64);

struct SectionHeader {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t alignment, entry_bytes;
};
static_assert(sizeof(SectionHeader) == 64);

inline constexpr uint32_t kNoBits = 8;          // .bss
inline constexpr uint16_t kInSection0 = 0xffff; // the index of the section of names is in section 0's `link`

} // namespace lemma::image
