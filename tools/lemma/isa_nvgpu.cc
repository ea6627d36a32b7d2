// The table of `lemma isa --nvgpu`. What it says is what tests/mlir/matrix/matrix.py found.
//
// Tests: tests/cli/, tests/mlir/matrix/.
#include "isa_nvgpu.h"

#include "command.h"
#include "json_output.h"

#include "lemma/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace lemma::cli {
namespace {

std::string said(int count, int forms) {
  return count == forms ? "yes" : count == 0 ? "no" : fmt::format("{}/{}", count, forms);
}

void print_json(const std::vector<NvgpuSupport>& lines) {
  nlohmann::json list = nlohmann::json::array();
  for (const NvgpuSupport& line : lines)
    list.push_back({{"operation", line.operation},
                    {"types", line.types},
                    {"shape", line.shape},
                    {"form", line.variant},
                    {"instruction", line.instruction},
                    {"targets", line.targets},
                    {"forms", line.forms},
                    {"lower", line.lower},
                    {"pass_ptxas", line.pass_ptxas},
                    {"run", line.run},
                    {"equal_direct_ptx", line.equal},
                    {"illegal_neighbours_refused", line.refused}});
  JsonOutput().print({{"nvgpu", std::move(list)}});
}

// Columns of 120 characters; a text that is too long takes its place and the next line's.
void print_text(const std::vector<NvgpuSupport>& lines) {
  std::string_view op;
  NvgpuSupport total;
  for (const NvgpuSupport& line : lines) {
    if (op != line.operation)
      fmt::print("{}{}\n  {:<28} {:<20} {:<28} {:>5} {:>7} {:>6} {:>6} {:>6}\n", op.empty() ? "" : "\n",
                 line.operation, "types", "shape", "form", "forms", "lowers", "ptxas", "runs", "bits");
    op = line.operation;
    const bool is_long = line.variant.size() > 28 || line.shape.size() > 20 || line.types.size() > 28;
    fmt::print("  {:<28} {:<20} {:<28}", line.types, line.shape, line.variant);
    if (is_long)
      fmt::print("\n  {:<28} {:<20} {:<28}", "", "", "");
    fmt::print(" {:>5} {:>7} {:>6} {:>6} {:>6}\n", line.forms, said(line.lower, line.forms),
               said(line.pass_ptxas, line.forms), said(line.run, line.forms),
               line.run == 0 ? "" : said(line.equal, line.run));
    total.forms += line.forms;
    total.lower += line.lower;
    total.pass_ptxas += line.pass_ptxas;
    total.run += line.run;
    total.equal += line.equal;
    total.refused += line.refused;
  }
  fmt::print(
      "\n{} forms: {} lower, {} pass ptxas, {} run on the virtual GPU, {} of them with the bits of PTX "
      "written by hand; {} illegal neighbours are refused\n",
      total.forms, total.lower, total.pass_ptxas, total.run, total.equal, total.refused);
}

} // namespace

int print_nvgpu_support(const std::vector<std::string>& words, bool json) {
  const std::vector<NvgpuSupport> lines = nvgpu_support(words);
  if (lines.empty())
    return refuse(json, fmt::format("no operation of the nvgpu dialect fits {}\n  all: lemma isa --nvgpu",
                                    fmt::join(words, " and ")));
  if (json)
    print_json(lines);
  else
    print_text(lines);
  return kSuccess;
}

} // namespace lemma::cli
