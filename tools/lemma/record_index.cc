// Build tool: the names of all recorded cases, for recorded.cc to compile in.
//
//   record_index tests/golden/sm_90a/*.json > recorded_cases.inc
//
// Writes RECORD("mma", "NVIDIA H200", "sm_90a", "2026-...") and after it a CASE("...") for each case of the
// file. What the files hold: src/golden/record_file.h.
#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

namespace {

std::string c_literal(const nlohmann::json& text) {
  return text.dump(); // JSON's escapes are C's, for the names that there are
}

void index_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  const nlohmann::json record = nlohmann::json::parse(file);
  const nlohmann::json& stamp = record.at("stamp");
  std::printf("RECORD(%s, %s, %s, %s)\n", c_literal(path.stem().string()).c_str(),
              c_literal(stamp.at("gpu")).c_str(), c_literal(stamp.at("target")).c_str(),
              c_literal(stamp.at("date")).c_str());
  for (const auto& [name, value] : record.at("cases").items())
    std::printf("CASE(%s)\n", c_literal(name).c_str());
}

} // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    try {
      index_file(argv[i]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "record_index: %s: %s\n", argv[i], error.what());
      return 1;
    }
  return 0;
}
