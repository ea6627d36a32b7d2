// Reading and writing recorded bits. See record_file.h.
#include "golden/record_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zstd.h>

#include <algorithm>
#include <fstream>

namespace lemma::golden {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Small files are committed; large ones only travel.
int compression_level(size_t bytes) {
  return bytes < 4 << 20 ? 19 : 6;
}

uint64_t unit_bytes(const Case& c) {
  uint64_t bytes = 0;
  for (const Plane& plane : c.outputs)
    bytes += plane.unit_bytes();
  return bytes;
}

// Of one file of a record, and of what a packed one holds.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

Result<std::string, std::string> read_text(const fs::path& path) {
  std::error_code ignored; // what cannot be asked cannot be read
  if (const auto size = fs::file_size(path, ignored); !ignored && size > kMostBytes)
    return fail(
        fmt::format("cannot read {}: it has {} bytes; legal: up to {}", path.string(), size, kMostBytes));
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file)
    return fail(fmt::format("cannot read {}", path.string()));
  return text;
}

Json stamp_json(const Stamp& stamp) {
  return {{"gpu", stamp.gpu},   {"driver", stamp.driver},   {"target", stamp.target}, {"lemma", stamp.lemma},
          {"seed", stamp.seed}, {"command", stamp.command}, {"date", stamp.date}};
}

Json case_json(const RecordedCase& c) {
  Json parts = Json::object();
  for (const auto& [name, hash] : c.parts)
    parts[name] = hash;
  Json json = {{"parts", std::move(parts)}};
  if (c.kept_units > 0)
    json["kept"] = {c.kept_units, c.kept_offset};
  return json;
}

GroupRecord from_json(const Json& json) {
  GroupRecord record;
  const Json& stamp = json.at("stamp");
  record.stamp = {stamp.at("gpu"),  stamp.at("driver"),  stamp.at("target"), stamp.at("lemma"),
                  stamp.at("seed"), stamp.at("command"), stamp.at("date")};
  for (const auto& [name, value] : json.at("cases").items()) {
    RecordedCase& c = record.cases[name];
    for (const auto& [part, hash] : value.at("parts").items())
      c.parts.emplace_back(part, hash.get<std::string>());
    if (value.contains("kept")) {
      c.kept_units = value["kept"].at(0);
      c.kept_offset = value["kept"].at(1);
    }
  }
  return record;
}

Result<std::vector<std::byte>, std::string> unpack(const std::string& packed, const fs::path& path) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > kMostBytes) // an error code too
    return fail(
        fmt::format("{} is no zstd file that says a size of up to {} bytes", path.string(), kMostBytes));
  std::vector<std::byte> bytes(size);
  const size_t got = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) || got != bytes.size())
    return fail(fmt::format("{} does not unpack", path.string()));
  return bytes;
}

} // namespace

std::span<const std::byte> GroupRecord::kept_bytes(const Case& c, const Part& part) const {
  const auto recorded = cases.find(c.name);
  if (recorded == cases.end() || recorded->second.kept_units == 0)
    return {};
  uint64_t offset = recorded->second.kept_offset;
  for (const Part& each : c.parts) {
    const uint64_t size = unit_bytes(c) * std::min(recorded->second.kept_units, each.units);
    if (offset > kept.size() || size > kept.size() - offset)
      return {};
    if (each.name == part.name)
      return std::span(kept).subspan(offset, size);
    offset += size;
  }
  return {};
}

void add_case(GroupRecord& record, const Case& c, std::span<const std::byte> outputs, uint64_t kept_units) {
  RecordedCase& recorded = record.cases[c.name];
  recorded = {.parts = {}, .kept_units = kept_units, .kept_offset = kept_units > 0 ? record.kept.size() : 0};
  for (const Part& part : c.parts) {
    const std::vector<std::byte> bytes = part_bytes(c, part, outputs);
    recorded.parts.emplace_back(part.name, numeric::to_string(numeric::hash128(bytes.data(), bytes.size())));
    if (kept_units == 0)
      continue;
    const std::vector<std::byte> first = part_bytes(c, part, outputs, kept_units);
    record.kept.insert(record.kept.end(), first.begin(), first.end());
  }
}

void copy_case(const GroupRecord& from, const Case& c, uint64_t kept_units, GroupRecord& to) {
  const RecordedCase& recorded = from.cases.at(c.name);
  RecordedCase& copy = to.cases[c.name];
  copy = recorded;
  copy.kept_units = from.kept.empty() ? 0 : std::min(kept_units, recorded.kept_units);
  copy.kept_offset = copy.kept_units > 0 ? to.kept.size() : 0;
  if (copy.kept_units == 0)
    return;
  for (const Part& part : c.parts) {
    std::span<const std::byte> bytes = from.kept_bytes(c, part);
    if (bytes.empty())
      continue;                            // the record says more than it holds
    for (const Plane& plane : c.outputs) { // plane after plane, fewer units of each
      const uint64_t size = plane.unit_bytes() * std::min(copy.kept_units, part.units);
      to.kept.insert(to.kept.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
      bytes = bytes.subspan(plane.unit_bytes() * std::min(recorded.kept_units, part.units));
    }
  }
}

Result<GroupRecord, std::string> read_record(const fs::path& directory, std::string_view group) {
  const fs::path path = directory / fmt::format("{}.json", group),
                 kept_path = directory / fmt::format("{}.bin.zst", group);
  const Result<std::string, std::string> text = read_text(path);
  if (!text)
    return fail(text.error());
  GroupRecord record;
  try {
    record = from_json(Json::parse(*text));
  } catch (const Json::exception& error) {
    return fail(fmt::format("{} is no record of hardware bits: {}", path.string(), error.what()));
  }
  if (!fs::exists(kept_path))
    return record;
  const Result<std::string, std::string> packed = read_text(kept_path);
  if (!packed)
    return fail(packed.error());
  Result<std::vector<std::byte>, std::string> kept = unpack(*packed, kept_path);
  if (!kept)
    return fail(kept.error());
  record.kept = std::move(*kept);
  return record;
}

Result<void, std::string> write_record(const fs::path& directory, std::string_view group,
                                       const GroupRecord& record, const WriteFile& write) {
  std::error_code ignored; // what fails here fails at the writing
  fs::create_directories(directory, ignored);
  // One case a line, so that differences of two files read well.
  std::string text = fmt::format("{{\n  \"stamp\": {},\n  \"cases\": {{", stamp_json(record.stamp).dump());
  const char* separator = "\n";
  for (const auto& [name, c] : record.cases) {
    text += fmt::format("{}    {}: {}", separator, Json(name).dump(), case_json(c).dump());
    separator = ",\n";
  }
  text += "\n  }\n}\n";
  if (const auto written = write(directory / fmt::format("{}.json", group), text); !written)
    return written;
  const fs::path kept_path = directory / fmt::format("{}.bin.zst", group);
  if (record.kept.empty()) {
    fs::remove(kept_path, ignored);
    return {};
  }
  std::string packed(ZSTD_compressBound(record.kept.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), record.kept.data(), record.kept.size(),
                                    compression_level(record.kept.size()));
  packed.resize(size);
  return write(kept_path, packed);
}

} // namespace lemma::golden
