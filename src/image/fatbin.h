// A fatbin: PTX, cubins and LTO IR for several machines, as nvcc puts them behind each other.
//
//   fatbin  | 0xba55ed50 : 4 | version 1 : 2 | header size 16 : 2 | size of all entries : 8 | entries
//   entry   | header, 64 bytes or more | payload, padded to 8 |
//
//   offset in the entry's header
//    0  u16  kind: 1 PTX, 2 cubin, 8 LTO IR        24  u16 x 2  version of PTX (not read)
//    4  u32  size of the header                    28  u32      sm: 90
//    8  u64  size of the payload, with padding     40  u64      flags
//   16  u32  size of the payload if compressed     56  u64      its size decompressed
//
// Not read: source names and options of the compiler, which lie behind the 64 bytes.
//
// Not in any document; seen in what nvcc 13.0 makes. Tests: tests/unit/image/fatbin_test.cc, tests/fuzz.
#pragma once

#include "image/bytes.h"
#include "isa/target.h"
#include "lemma/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lemma::image {

// Of what is longer nothing is unpacked: a bound for entries that lie about their size.
inline constexpr uint64_t kMostUnpackedBytes = uint64_t{256} << 20;

enum class EntryKind : uint8_t { ptx, cubin, lto_ir, other };

struct Entry {
  EntryKind kind = EntryKind::other;
  isa::Target target; // by sm and flags
  uint64_t flags = 0;
  Bytes payload;               // compressed or padded
  uint64_t unpacked_bytes = 0; // 0: it is not compressed
};

struct Fatbin {
  std::vector<Entry> entries;
  uint64_t size_bytes = 0; // with its header
};

bool is_fatbin(Bytes bytes);

// The fatbin at the beginning of the bytes; what it refers to is theirs. Error: what is wrong with it.
Result<Fatbin, std::string> read_fatbin(Bytes bytes);

// The bytes of a fatbin of which there is nothing but the pointer: as many as its header says.
Bytes fatbin_at(const void* image);

// What an entry holds, decompressed; without the NULs behind a text. Error: it cannot be.
Result<std::string, std::string> unpack(const Entry& entry);

} // namespace lemma::image
