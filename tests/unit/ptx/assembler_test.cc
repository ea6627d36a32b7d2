// Printed text means to the assembler what the original means: ptxas makes the same machine code of both.
// Every .ptx file of the tree, and every seed of the fuzzers. Skipped, by name, where there is no ptxas.
#include "corpus.h"
#include "ptx/parser.h"
#include "ptx/printer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace lemma::ptx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPath = "PATH=$PATH:/usr/local/cuda/bin";

template <class T>
T field(const std::string& bytes, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The code and initialized data of a 64-bit ELF file, by section.
std::map<std::string, std::string> code_sections(const std::string& elf) {
  constexpr uint32_t kNoBits = 8;
  const auto table = field<uint64_t>(elf, 40);
  const auto count = field<uint16_t>(elf, 60);
  const auto header = [&](size_t i) { return table + 64 * i; };
  const auto names = field<uint64_t>(elf, header(field<uint16_t>(elf, 62)) + 24);
  std::map<std::string, std::string> out;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = elf.c_str() + names + field<uint32_t>(elf, header(i));
    const bool wanted =
        name.starts_with(".text") || name.starts_with(".nv.global") || name.starts_with(".nv.constant");
    if (wanted && field<uint32_t>(elf, header(i) + 4) != kNoBits)
      out[name] = elf.substr(field<uint64_t>(elf, header(i) + 24), field<uint64_t>(elf, header(i) + 32));
  }
  return out;
}

// What ptxas makes of the text; empty and `log` if it refuses.
std::map<std::string, std::string> assemble(const fs::path& folder, const std::string& text,
                                            const std::string& target, std::string& log) {
  const fs::path input = folder / "a.ptx", output = folder / "a.cubin", messages = folder / "log";
  std::ofstream(input) << text;
  const int status = std::system(fmt::format("{} ptxas -c -arch={} '{}' -o '{}' >'{}' 2>&1", kPath, target,
                                             input.string(), output.string(), messages.string())
                                     .c_str());
  log = read_file(messages);
  return status == 0 ? code_sections(read_file(output)) : std::map<std::string, std::string>();
}

TEST(Assembler, MakesTheSameCodeOfThePrintedText) {
  if (std::system(fmt::format("{} command -v ptxas >/dev/null 2>&1", kPath).c_str()) != 0)
    GTEST_SKIP() << "no ptxas here";
  std::string pattern = (fs::temp_directory_path() / "lemma-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  size_t compared = 0;
  for (const fs::path& path : corpus_files()) {
    const std::string text = read_file(path);
    const ParseOutcome outcome = parse(std::make_shared<SourceText>(path.filename(), text));
    ASSERT_FALSE(has_errors(outcome.diagnostics)) << path;
    std::string log;
    const auto original = assemble(folder, text, outcome.module->targets.at(0), log);
    if (original.empty()) // what ptxas refuses for its own reasons; seeds need not be complete programs
      continue;
    const std::string printed_text = print(*outcome.module);
    const auto printed = assemble(folder, printed_text, outcome.module->targets.at(0), log);
    EXPECT_FALSE(printed.empty()) << path << "\n" << log << printed_text;
    EXPECT_TRUE(printed == original) << path << ": other machine code\n" << printed_text;
    ++compared;
  }
  fs::remove_all(folder);
  EXPECT_GE(compared, 30u);
}

} // namespace
} // namespace lemma::ptx
