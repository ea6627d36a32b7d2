// The .ptx files of the tree: programs, examples, seeds of the fuzzers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lemma::ptx {

std::vector<std::filesystem::path> corpus_files(); // in a fixed order
std::string read_file(const std::filesystem::path& path);

} // namespace lemma::ptx
