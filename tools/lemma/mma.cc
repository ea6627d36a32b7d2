// `lemma mma NAME A.npy B.npy [C.npy]`: one product as a machine computes it, without PTX, registers or
// layouts (lemma/mma.h): the files, the table, the JSON. With --random the matrices need no files.
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
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>

namespace lemma::cli {
namespace {

constexpr const char* kMmaFooter =
    R"(A is M x K, B is K x N, C and D are M x N; without C, zeros. f16, f32, f64: .npy files of that type. bf16, fp8 and
narrower: bits as unsigned integers, or f16, f32, f64 that are rounded to nearest even. tf32: f32. s8, u8, s4, u4: integers
that fit. b1: 0 and 1, an element each. D is f16, f32, f64 or int32.
A sparse A: dense with its zeros, or the stored half with --metadata, a field of four bits (u8) a chunk of a row.
--random: matrices that are not given are made of SEED, the same on every host: small numbers, scale factors of powers of two,
rising indices; --json has their bits too.
  lemma mma mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 a.npy b.npy c.npy -o d.npy
  lemma mma mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 a.npy b.npy --arch sm_80
  lemma mma tcgen05.mma.cta_group::1.kind::f16.m128n16k16.f32.f16.f16 --random 1
Exit status: 0 success; 2 wrong command line or file; 3 the machine has no such instruction.)";

struct MmaOptions {
  std::string name, a, b, c, output, metadata, scale_a, scale_b, arch;
  std::optional<uint64_t> random; // seed of what is not given
  bool json = false;
};

// --- random matrices

// SplitMix64: the same numbers on every host.
class Numbers {
public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t below(uint64_t n) {
    uint64_t z = state_ += 0x9e37'79b9'7f4a'7c15;
    z = (z ^ z >> 30) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ z >> 27) * 0x94d0'49bb'1331'11eb;
    return (z ^ z >> 31) % n;
  }

private:
  uint64_t state_;
};

// Elements that next() makes, of an array of numpy's.
template <class T, class Next>
BitMatrix matrix_of(const MmaOperand& wanted, const char* dtype, const Next& next) {
  npy::Array array{.dtype = dtype,
                   .shape = {wanted.rows, wanted.cols},
                   .data = std::vector<std::byte>(wanted.rows * wanted.cols * sizeof(T))};
  for (size_t at = 0; at < array.data.size(); at += sizeof(T)) {
    const T value = next();
    std::memcpy(&array.data[at], &value, sizeof(T));
  }
  return bits_of(array, wanted.type).value();
}

// Of integers those that four bits have, of other numbers quarters up to 4.
BitMatrix random_matrix(const MmaOperand& wanted, Numbers& numbers) {
  const std::string& type = wanted.type;
  if (type == "b1")
    return matrix_of<int64_t>(wanted, "<i8", [&] { return static_cast<int64_t>(numbers.below(2)); });
  if (type[0] == 's' || type.starts_with("u4") || type == "u8")
    return matrix_of<int64_t>(
        wanted, "<i8", [&] { return static_cast<int64_t>(numbers.below(16)) - (type[0] == 's' ? 8 : 0); });
  return matrix_of<double>(wanted, "<f8", [&] { return (static_cast<double>(numbers.below(33)) - 16) / 4; });
}

BitMatrix random_scales(const MmaOperand& wanted, Numbers& numbers) {
  return matrix_of<double>(wanted, "<f8",
                           [&] { return std::ldexp(1.0, static_cast<int>(numbers.below(5)) - 2); });
}

// Two different indices of a chunk, the lower first; of chunks of two columns one of both.
BitMatrix random_metadata(const MmaForm& form, Numbers& numbers) {
  const bool of_two = form.a.cols / form.metadata.cols == 2;
  return matrix_of<int64_t>(form.metadata, "<i8", [&]() -> int64_t {
    constexpr int64_t kOfTwo[] = {0b0100, 0b1110},
                      kOthers[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
    return of_two ? kOfTwo[numbers.below(2)] : kOthers[numbers.below(6)];
  });
}

// What is not there yet.
void fill_randomly(const MmaForm& form, uint64_t seed, MmaOperands& operands) {
  Numbers numbers(seed);
  if (form.sparse && operands.a.bits.empty() && !operands.metadata)
    operands.metadata = random_metadata(form, numbers);
  if (operands.a.bits.empty())
    operands.a = random_matrix(operands.metadata ? form.stored_a : form.a, numbers);
  if (operands.b.bits.empty())
    operands.b = random_matrix(form.b, numbers);
  if (!operands.c)
    operands.c = random_matrix(form.c, numbers);
  if (form.scaled && !operands.scale_a)
    operands.scale_a = random_scales(form.scale_a, numbers);
  if (form.scaled && !operands.scale_b)
    operands.scale_b = random_scales(form.scale_b, numbers);
}

// --- files

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
  if (!options.a.empty()) {
    auto a = read_a(options, form);
    if (!a)
      return fail(a.error());
    operands.a = *std::move(a);
  }
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
  if (b)
    operands.b = *std::move(b);
  if (options.random)
    fill_randomly(form, *options.random, operands);
  return operands;
}

Result<BitMatrix, std::string> multiply(const MmaOptions& options, const MmaForm& form,
                                        const MmaOperands& operands) {
  auto d = mma(form, operands);
  if (d)
    return *std::move(d);
  const MmaError& error = d.error();
  return fail(error.operand == "a"          ? fmt::format("{}: {}", options.a, error.error.text)
              : error.operand == "metadata" ? fmt::format("{}: {}", options.metadata, error.error.text)
                                            : error.error.text);
}

nlohmann::json bits_json(const BitMatrix& matrix, const std::string& type) {
  nlohmann::json rows = nlohmann::json::array();
  for (uint64_t row = 0; row < matrix.rows; ++row) {
    nlohmann::json line = nlohmann::json::array();
    for (uint64_t col = 0; col < matrix.cols; ++col)
      line.push_back(fmt::format("0x{:0{}x}", matrix.at(row, col), (bits_of_type(type) + 3) / 4));
    rows.push_back(std::move(line));
  }
  return rows;
}

// The matrices that a random product is of.
nlohmann::json operands_json(const MmaForm& form, const MmaOperands& operands) {
  nlohmann::json object = {{"a", bits_json(operands.a, form.a.type)},
                           {"b", bits_json(operands.b, form.b.type)}};
  const std::tuple<const char*, const std::optional<BitMatrix>&, const MmaOperand&> others[] = {
      {"c", operands.c, form.c},
      {"metadata", operands.metadata, form.metadata},
      {"scale_a", operands.scale_a, form.scale_a},
      {"scale_b", operands.scale_b, form.scale_b}};
  for (const auto& [name, matrix, wanted] : others)
    if (matrix)
      object[name] = bits_json(*matrix, wanted.type);
  return object;
}

nlohmann::json to_json(const BitMatrix& d, const std::string& type) {
  nlohmann::json values = nlohmann::json::array();
  for (uint64_t row = 0; row < d.rows; ++row) {
    nlohmann::json value_row = nlohmann::json::array();
    for (uint64_t col = 0; col < d.cols; ++col) {
      const std::string text = element_text(d.at(row, col), type);
      double number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      value_row.push_back(std::isfinite(number) ? nlohmann::json(number) : nlohmann::json(text));
    }
    values.push_back(std::move(value_row));
  }
  return {{"d", std::move(values)}, {"bits", bits_json(d, type)}, {"type", type}};
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
  if (!options.random && (options.a.empty() || options.b.empty()))
    return refuse(options.json, "A.npy and B.npy are required, or --random");
  if (form->scaled ? !options.random && (options.scale_a.empty() || options.scale_b.empty())
                   : !options.scale_a.empty() || !options.scale_b.empty())
    return refuse(options.json, form->scaled
                                    ? fmt::format("{} needs --scale-a and --scale-b", form->spelling)
                                    : fmt::format("--scale-a, --scale-b: {} has no scales", form->spelling));
  if (!options.metadata.empty() && !form->sparse)
    return refuse(options.json, fmt::format("--metadata: {} has a dense A", form->spelling));
  if (!options.output.empty())
    if (const auto writable = check_writable(options.output); !writable)
      return refuse(options.json, writable.error());
  const auto operands = read_operands(options, *form);
  if (!operands)
    return refuse(options.json, operands.error());
  const auto d = multiply(options, *form, *operands);
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
    if (options.random)
      object["operands"] = operands_json(*form, *operands);
    JsonOutput().print(object);
  } else if (options.output.empty()) {
    print_matrix(*d, type);
  }
  return kSuccess;
}

} // namespace

Command add_mma(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("mma", "compute one matrix product, of .npy files or random, bit for bit");
  const auto o = std::make_shared<MmaOptions>();
  app->add_option("NAME", o->name, "a matrix instruction, as lemma isa names them")->required();
  app->add_option("A.npy", o->a);
  app->add_option("B.npy", o->b);
  app->add_option("C.npy", o->c);
  app->add_option("-o,--output", o->output, "where D goes (default: printed)")->type_name("D.npy");
  app->add_option("--arch", o->arch, "whose arithmetic (default: sm_90, or the first machine that has it)")
      ->type_name("sm_90");
  app->add_option("--metadata", o->metadata, "of a sparse A that has its stored elements only")
      ->type_name("M.npy");
  app->add_option("--scale-a", o->scale_a, "block scaling: M x scales of a row")->type_name("SA.npy");
  app->add_option("--scale-b", o->scale_b, "block scaling: scales of a column x N")->type_name("SB.npy");
  app->add_option("--random", o->random, "make the matrices that are not given")->type_name("SEED");
  app->add_flag("--json", o->json, "print one JSON object instead: values and bits of D, and the rule");
  app->footer(kMmaFooter);
  return {app, [o] { return run_mma(*o); }};
}

} // namespace lemma::cli
