// `lemma mma NAME A.npy B.npy [C.npy]`: one product as a machine computes it, without PTX, registers or
// layouts (lemma/mma.h): the files, the table, the JSON.
//
// Tests: tests/cli/.
#include "command.h"
#include "files.h"
#include "json_output.h"

#include "lemma/mma.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

namespace lemma::cli {
namespace {

constexpr const char* kMmaFooter =
    R"(A is M x K, B is K x N, C and D are M x N; without C, zeros. f16, f32, f64: .npy files of that type. bf16, fp8 and
narrower: bits as unsigned integers, or f16, f32, f64 that are rounded to nearest even. tf32: f32. s8, u8, s4, u4: integers
that fit. b1: 0 and 1, an element each. D is f16, f32, f64 or int32.
A sparse A: dense with its zeros, or the stored half with --metadata, a field of four bits (u8) a chunk of a row.
  lemma mma mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 a.npy b.npy c.npy -o d.npy
  lemma mma mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 a.npy b.npy --arch sm_80
Exit status: 0 success; 2 wrong command line or file; 3 the machine has no such instruction.)";

struct MmaOptions {
  std::string name, a, b, c, output, metadata, scale_a, scale_b, arch;
  bool json = false;
};

Result<BitMatrix, std::string> read_matrix(const std::string& path, const MmaOperand& wanted) {
  if (!is_npy(path))
    return fail(fmt::format("{}: no .npy file by its name; write one with numpy.save", path));
  const auto array = read_array(path);
  if (!array)
    return fail(array.error());
  auto matrix = bits_of(*array, wanted.type);
  if (!matrix)
    return fail(fmt::format("{}: {}", path, matrix.error().text));
  if (matrix->rows != wanted.rows || matrix->cols != wanted.cols)
    return fail(fmt::format("{}: it is {} x {}; the instruction wants {} x {}", path, matrix->rows,
                            matrix->cols, wanted.rows, wanted.cols));
  return *std::move(matrix);
}

Result<BitMatrix, std::string> read_a(const MmaOptions& options, const MmaForm& form) {
  if (!options.metadata.empty())
    return read_matrix(options.a, form.stored_a);
  auto a = read_matrix(options.a, form.a);
  if (!a && form.sparse && a.error().find("the instruction wants") != std::string::npos)
    return fail(a.error() + ", or half the columns and --metadata");
  return a;
}

Result<MmaOperands, std::string> read_operands(const MmaOptions& options, const MmaForm& form) {
  MmaOperands operands;
  auto a = read_a(options, form);
  if (!a)
    return fail(a.error());
  operands.a = *std::move(a);
  struct Optional {
    const std::string& path;
    const MmaOperand& wanted;
    std::optional<BitMatrix>& to;
  };
  std::optional<BitMatrix> b;
  for (const Optional& each :
       {Optional{options.metadata, form.metadata, operands.metadata}, Optional{options.b, form.b, b},
        Optional{options.c, form.c, operands.c}, Optional{options.scale_a, form.scale_a, operands.scale_a},
        Optional{options.scale_b, form.scale_b, operands.scale_b}}) {
    if (each.path.empty())
      continue;
    auto matrix = read_matrix(each.path, each.wanted);
    if (!matrix)
      return fail(matrix.error());
    each.to = *std::move(matrix);
  }
  operands.b = *std::move(b);
  return operands;
}

Result<BitMatrix, std::string> multiply(const MmaOptions& options, const MmaForm& form) {
  const auto operands = read_operands(options, form);
  if (!operands)
    return fail(operands.error());
  auto d = mma(form, *operands);
  if (d)
    return *std::move(d);
  const MmaError& error = d.error();
  return fail(error.operand == "a"          ? fmt::format("{}: {}", options.a, error.error.text)
              : error.operand == "metadata" ? fmt::format("{}: {}", options.metadata, error.error.text)
                                            : error.error.text);
}

nlohmann::json to_json(const BitMatrix& d, const std::string& type) {
  nlohmann::json values = nlohmann::json::array(), bits = nlohmann::json::array();
  for (uint64_t row = 0; row < d.rows; ++row) {
    nlohmann::json value_row = nlohmann::json::array(), bit_row = nlohmann::json::array();
    for (uint64_t col = 0; col < d.cols; ++col) {
      const std::string text = element_text(d.at(row, col), type);
      double number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      value_row.push_back(std::isfinite(number) ? nlohmann::json(number) : nlohmann::json(text));
      bit_row.push_back(fmt::format("0x{:0{}x}", d.at(row, col), bits_of_type(type) / 4));
    }
    values.push_back(std::move(value_row));
    bits.push_back(std::move(bit_row));
  }
  return {{"d", std::move(values)}, {"bits", std::move(bits)}, {"type", type}};
}

void print_matrix(const BitMatrix& d, const std::string& type) {
  std::vector<std::string> texts;
  size_t width = 0;
  for (const uint64_t bits : d.bits) {
    texts.push_back(element_text(bits, type));
    width = std::max(width, texts.back().size());
  }
  for (uint64_t row = 0; row < d.rows; ++row) {
    for (uint64_t col = 0; col < d.cols; ++col)
      fmt::print("{}{:>{}}", col == 0 ? "" : " ", texts[row * d.cols + col], width);
    fmt::print("\n");
  }
}

int run_mma(const MmaOptions& options) {
  const auto form = mma_form(options.name, options.arch);
  if (!form)
    return refuse(options.json, (form.error().text.starts_with("arch ") ? "--" : "") + form.error().text,
                  form.error().kind);
  if (form->scaled ? options.scale_a.empty() || options.scale_b.empty()
                   : !options.scale_a.empty() || !options.scale_b.empty())
    return refuse(options.json, form->scaled
                                    ? fmt::format("{} needs --scale-a and --scale-b", form->spelling)
                                    : fmt::format("--scale-a, --scale-b: {} has no scales", form->spelling));
  if (!options.metadata.empty() && !form->sparse)
    return refuse(options.json, fmt::format("--metadata: {} has a dense A", form->spelling));
  if (!options.output.empty())
    if (const auto writable = check_writable(options.output); !writable)
      return refuse(options.json, writable.error());
  const auto d = multiply(options, *form);
  if (!d)
    return refuse(options.json, d.error());
  const std::string& type = form->d.type;
  if (!options.output.empty()) {
    const auto written = write_file(options.output, array_file(options.output, array_of(*d, type)));
    if (!written)
      return refuse(options.json, written.error());
  }
  if (options.json) {
    nlohmann::json object = to_json(*d, type);
    object["name"] = form->spelling;
    object["arch"] = form->arch;
    object["rule"] = form->rule;
    object["evidence"] = form->evidence;
    JsonOutput().print(object);
  } else if (options.output.empty()) {
    print_matrix(*d, type);
  }
  return kSuccess;
}

} // namespace

Command add_mma(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("mma", "compute one matrix product from .npy files, bit for bit");
  const auto o = std::make_shared<MmaOptions>();
  app->add_option("NAME", o->name, "a matrix instruction, as lemma isa names them")->required();
  app->add_option("A.npy", o->a)->required();
  app->add_option("B.npy", o->b)->required();
  app->add_option("C.npy", o->c);
  app->add_option("-o,--output", o->output, "where D goes (default: printed)")->type_name("D.npy");
  app->add_option("--arch", o->arch, "whose arithmetic (default: sm_90, or the first machine that has it)")
      ->type_name("sm_90");
  app->add_option("--metadata", o->metadata, "of a sparse A that has its stored elements only")
      ->type_name("M.npy");
  app->add_option("--scale-a", o->scale_a, "block scaling: M x scales of a row")->type_name("SA.npy");
  app->add_option("--scale-b", o->scale_b, "block scaling: scales of a column x N")->type_name("SB.npy");
  app->add_flag("--json", o->json, "print one JSON object instead: values and bits of D, and the rule");
  app->footer(kMmaFooter);
  return {app, [o] { return run_mma(*o); }};
}

} // namespace lemma::cli
