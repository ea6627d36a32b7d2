// Sizes and offsets are taken as they come and compared with what is there. Compressed entries: zstd is one
// frame, LZ4 a block without one.
#include "image/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>

namespace lemma::image {
namespace {

struct FatbinHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t entries_bytes;
};
static_assert(sizeof(FatbinHeader) == 16);

struct EntryHeader {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t compressed_bytes, options_offset;
  uint16_t minor, major;
  uint32_t sm, name_offset, name_bytes;
  uint64_t flags, hash, unpacked_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000, kArchitectureSpecific = 0x100000, kFamily = 0x200000;
constexpr uint32_t kMostSm = 9999;

constexpr unsigned char kMagic[] = {0x50, 0xed, 0x55, 0xba};

EntryKind kind_of(uint16_t kind) {
  switch (kind) {
  case 1:
    return EntryKind::ptx;
  case 2:
    return EntryKind::cubin;
  case 8:
    return EntryKind::lto_ir;
  default:
    return EntryKind::other;
  }
}

// The most that so many bytes can become, so that no memory is taken for what cannot come: a block of zstd
// has three bytes at least and makes 128 KiB, a byte of LZ4 makes 255.
uint64_t most_unpacked(const Entry& entry) {
  const uint64_t most = entry.flags & kZstd ? (entry.payload.size() / 3 + 1) * (uint64_t{128} << 10)
                                            : entry.payload.size() * 255 + 64;
  return std::min(most, kMostUnpackedBytes);
}

// How many bytes came, -1 if it is damaged.
int64_t decompress(const Entry& entry, std::string& to) {
  const auto* from = reinterpret_cast<const char*>(entry.payload.data());
  if (entry.flags & kZstd) {
    const size_t got = ZSTD_decompress(to.data(), to.size(), from, entry.payload.size());
    return ZSTD_isError(got) ? -1 : static_cast<int64_t>(got);
  }
  if (entry.payload.size() > LZ4_MAX_INPUT_SIZE)
    return -1;
  return LZ4_decompress_safe(from, to.data(), static_cast<int>(entry.payload.size()),
                             static_cast<int>(to.size()));
}

Result<Entry, std::string> read_entry(const EntryHeader& header, Bytes payload) {
  Entry entry{.kind = kind_of(header.kind),
              .target = {.sm = static_cast<int>(std::min(header.sm, kMostSm)),
                         .suffix = header.flags & kArchitectureSpecific ? 'a'
                                   : header.flags & kFamily             ? 'f'
                                                                        : '\0'},
              .flags = header.flags,
              .payload = payload};
  if (header.compressed_bytes == 0)
    return entry;
  if (header.compressed_bytes > payload.size())
    return fail(fmt::format("has {} bytes and says that {} of them are compressed", payload.size(),
                            header.compressed_bytes));
  if (header.unpacked_bytes == 0)
    return fail(std::string("is compressed and does not say how long it was"));
  entry.payload = payload.first(header.compressed_bytes);
  entry.unpacked_bytes = header.unpacked_bytes;
  return entry;
}

} // namespace

bool is_fatbin(Bytes bytes) {
  return bytes.size() >= sizeof kMagic && begins_with(bytes.data(), kMagic);
}

Bytes fatbin_at(const void* image) {
  const auto* begin = static_cast<const std::byte*>(image);
  const auto header = trusted_at<FatbinHeader>(begin);
  const uint64_t all = header.header_bytes + header.entries_bytes;
  constexpr uint64_t kMost = SIZE_MAX / 4; // what comes round is refused for its size
  return {begin,
          all < header.entries_bytes || all > kMost ? sizeof(FatbinHeader) : std::max(all, sizeof header)};
}

Result<Fatbin, std::string> read_fatbin(Bytes bytes) {
  const auto header = read_at<FatbinHeader>(bytes, 0);
  if (!header || !is_fatbin(bytes))
    return fail(std::string("it is no fatbin"));
  if (header->version != 1 || header->header_bytes < sizeof(FatbinHeader))
    return fail(fmt::format("its version is {}, its header has {} bytes; known are 1 and 16", header->version,
                            header->header_bytes));
  const auto all = part_of(bytes, header->header_bytes, header->entries_bytes);
  if (!all)
    return fail(fmt::format("it says that it has {} bytes of entries, and {} are there",
                            header->entries_bytes,
                            bytes.size() - std::min<size_t>(bytes.size(), header->header_bytes)));
  Fatbin fatbin{.entries = {}, .size_bytes = header->header_bytes + header->entries_bytes};
  for (Bytes rest = *all; !rest.empty();) {
    const size_t index = fatbin.entries.size();
    const auto each = read_at<EntryHeader>(rest, 0);
    if (!each || each->header_bytes < sizeof(EntryHeader) || each->header_bytes > rest.size() ||
        each->payload_bytes > rest.size() - each->header_bytes)
      return fail(
          fmt::format("entry {} reaches beyond the {} bytes that are left of it", index, rest.size()));
    auto entry = read_entry(*each, rest.subspan(each->header_bytes, each->payload_bytes));
    if (!entry)
      return fail(fmt::format("entry {} {}", index, entry.error()));
    fatbin.entries.push_back(*std::move(entry));
    rest = rest.subspan(each->header_bytes + each->payload_bytes);
  }
  return fatbin;
}

Result<std::string, std::string> unpack(const Entry& entry) {
  std::string unpacked;
  if (entry.unpacked_bytes == 0) {
    unpacked.assign(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
  } else {
    if (!(entry.flags & (kLz4 | kZstd)))
      return fail(fmt::format(
          "is compressed in a way that is not known (flags 0x{:x}); known are zstd and LZ4", entry.flags));
    if (entry.unpacked_bytes > most_unpacked(entry))
      return fail(fmt::format("says that its {} bytes become {}, and {} is the most", entry.payload.size(),
                              entry.unpacked_bytes, most_unpacked(entry)));
    unpacked.resize(entry.unpacked_bytes);
    if (decompress(entry, unpacked) != static_cast<int64_t>(entry.unpacked_bytes))
      return fail(fmt::format("does not decompress to its {} bytes", entry.unpacked_bytes));
  }
  if (entry.kind == EntryKind::ptx)
    unpacked.resize(unpacked.find_last_not_of('\0') + 1);
  return unpacked;
}

} // namespace lemma::image
