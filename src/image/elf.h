// The sections of an ELF file (64 bits, little endian), of any bytes: cubins, and the host's files.
//
// Not here: symbols, relocations, segments.
//
// ELF-64 Object File Format 1.5. Tests: tests/unit/image/elf_test.cc.
#pragma once

#include "image/bytes.h"
#include "lemma/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::image {

bool is_elf(Bytes bytes);

struct ElfSection {
  std::string_view name;
  Bytes bytes; // none of .bss
};

struct Elf {
  uint16_t machine = 0;
  uint8_t os_abi = 0;
  uint32_t flags = 0;
  std::vector<ElfSection> sections;

  // The first of that name; none: no bytes.
  Bytes section(std::string_view name) const;
};

// What it refers to is the bytes'. Error: what is wrong with them.
Result<Elf, std::string> read_elf(Bytes bytes);

// The bytes of an ELF file of which there is nothing but the pointer: up to the end of the last section, by
// its own headers, which are trusted. None: they say more than any cubin has.
std::optional<Bytes> elf_at(const void* image);

} // namespace lemma::image
