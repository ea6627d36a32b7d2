// `lemma mma NAME A.npy B.npy [C.npy]`: one product as a machine computes it, without PTX, registers or
// layouts: the row of the catalogue says types and shape, src/numeric how the sum is made.
//
// A sparse A comes dense, of K columns, and must have the zeros that it should; or as stored, of half the
// columns, with --metadata: m x chunks fields of four bits.
//
// Tests: tests/cli/.
#include "command.h"
#include "files.h"
#include "isa/machine.h"
#include "json_output.h"
#include "layout/sparse.h"
#include "matrix_file.h"
#include "matrix_model.h"
#include "numeric/convert.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace lemma::cli {
namespace {

using isa::Qual;
using isa::Type;
using layout::Matrix;
using numeric::FloatFormat;

constexpr const char* kFooter =
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

// As DotTile wants the elements: row after row, K contiguous in both multiplicands.
std::vector<std::byte> packed(const BitMatrix& matrix, Type type, bool transposed) {
  const uint64_t rows = transposed ? matrix.cols : matrix.rows, cols = transposed ? matrix.rows : matrix.cols;
  const auto at = [&](uint64_t row, uint64_t col) {
    return transposed ? matrix.at(col, row) : matrix.at(row, col);
  };
  if (type == Type::b1) {
    std::vector<uint32_t> words(rows * cols / 32);
    for (uint64_t row = 0; row < rows; ++row)
      for (uint64_t col = 0; col < cols; ++col)
        words[(row * cols + col) / 32] |= static_cast<uint32_t>(at(row, col)) << (col % 32);
    std::vector<std::byte> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }
  const uint64_t size = static_cast<uint64_t>(isa::bits_of(type) + 7) / 8;
  std::vector<std::byte> bytes(rows * cols * size);
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t col = 0; col < cols; ++col) {
      const uint64_t bits = at(row, col);
      std::memcpy(bytes.data() + (row * cols + col) * size, &bits, size);
    }
  return bytes;
}

Result<BitMatrix, std::string> read_matrix(const std::string& path, Type type, uint64_t rows, uint64_t cols) {
  if (!is_npy(path))
    return fail(fmt::format("{}: no .npy file by its name; write one with numpy.save", path));
  const auto array = read_array(path);
  if (!array)
    return fail(array.error());
  auto matrix = matrix_of(*array, type);
  if (!matrix)
    return fail(fmt::format("{}: {}", path, matrix.error()));
  if (matrix->rows != rows || matrix->cols != cols)
    return fail(fmt::format("{}: it is {} x {}; the instruction wants {} x {}", path, matrix->rows,
                            matrix->cols, rows, cols));
  return matrix;
}

// --- Sparse A ---

struct SparseA {
  BitMatrix stored;           // M x K/2
  std::vector<uint8_t> index; // the column of each
};

// The columns of a chunk's stored elements as its four bits say; empty where they may not be so.
std::vector<uint8_t> columns_of(uint64_t field, layout::SparseChunk chunk) {
  const uint8_t first = field & 3, second = field >> 2 & 3;
  if (chunk.columns == 2)
    return field == 0b0100   ? std::vector<uint8_t>{0}
           : field == 0b1110 ? std::vector<uint8_t>{1}
                             : std::vector<uint8_t>{};
  if (first == second || field > 15)
    return {};
  if (chunk.columns == 4)
    return {first, second};
  const auto pair = [](int index) { return static_cast<uint8_t>(2 * index); };
  return {pair(first), static_cast<uint8_t>(2 * first + 1), pair(second),
          static_cast<uint8_t>(2 * second + 1)};
}

// Every set of columns that four bits can name with rising indices: the first that has all that is not zero.
Result<SparseA, std::string> compressed(const BitMatrix& dense, Type type, layout::SparseChunk chunk) {
  SparseA out;
  out.stored = {.rows = dense.rows, .cols = dense.cols / 2, .bits = {}};
  const auto width = static_cast<uint64_t>(chunk.columns);
  for (uint64_t row = 0; row < dense.rows; ++row)
    for (uint64_t first = 0; first < dense.cols; first += width) {
      std::vector<uint8_t> columns;
      for (uint64_t field = 0; field < 16 && columns.empty(); ++field) {
        std::vector<uint8_t> candidate = columns_of(field, chunk);
        const bool rises = chunk.columns == 2 || (field & 3) < (field >> 2);
        if (candidate.empty() || !rises)
          continue;
        bool all = true;
        for (uint8_t col = 0; col < width; ++col)
          all = all && (is_zero(type, dense.at(row, first + col)) ||
                        std::find(candidate.begin(), candidate.end(), col) != candidate.end());
        if (all)
          columns = std::move(candidate);
      }
      if (columns.empty())
        return fail(fmt::format("row {}, columns {} to {}: too many are not zero; legal: {} of {}{}", row,
                                first, first + width - 1, chunk.stored, chunk.columns,
                                chunk.columns == 8 ? ", in pairs" : ""));
      for (const uint8_t col : columns) {
        out.stored.bits.push_back(dense.at(row, first + col));
        out.index.push_back(static_cast<uint8_t>(first + col));
      }
    }
  return out;
}

Result<SparseA, std::string> with_metadata(BitMatrix stored, const BitMatrix& fields,
                                           layout::SparseChunk chunk) {
  SparseA out{.stored = std::move(stored), .index = {}};
  for (uint64_t row = 0; row < fields.rows; ++row)
    for (uint64_t c = 0; c < fields.cols; ++c) {
      const std::vector<uint8_t> columns = columns_of(fields.at(row, c), chunk);
      if (columns.empty())
        return fail(fmt::format("row {}, chunk {}: {:#06b} names no {} different columns of {}", row, c,
                                fields.at(row, c), chunk.stored, chunk.columns));
      for (const uint8_t col : columns)
        out.index.push_back(static_cast<uint8_t>(c * static_cast<uint64_t>(chunk.columns) + col));
    }
  return out;
}

Result<SparseA, std::string> read_sparse(const MmaOptions& options, const isa::MatrixRow& row, Type type,
                                         uint64_t m, uint64_t k) {
  const layout::SparseChunk chunk = layout::sparse_chunk(isa::container_bits(row, Matrix::a, type));
  if (options.metadata.empty()) {
    auto dense = read_matrix(options.a, type, m, k);
    if (!dense)
      return fail(dense.error() + (dense.error().find("the instruction wants") == std::string::npos
                                       ? ""
                                       : ", or half the columns and --metadata"));
    auto a = compressed(*dense, type, chunk);
    return a ? std::move(a) : fail(fmt::format("{}: {}", options.a, a.error()));
  }
  auto stored = read_matrix(options.a, type, m, k / 2);
  if (!stored)
    return fail(stored.error());
  const auto fields = read_matrix(options.metadata, Type::u4, m, k / static_cast<uint64_t>(chunk.columns));
  if (!fields)
    return fail(fields.error());
  auto a = with_metadata(std::move(*stored), *fields, chunk);
  return a ? std::move(a) : fail(fmt::format("{}: {}", options.metadata, a.error()));
}

// --- The product ---

// sm_90, or the first machine that has the instruction.
std::optional<numeric::Arch> usual_arch(const MatrixName& name) {
  if (!model_of(name, numeric::Arch::sm_90))
    for (const numeric::Arch arch : numeric::kArchs)
      if (model_of(name, arch))
        return arch;
  return numeric::Arch::sm_90;
}

struct Product {
  BitMatrix d;
  Type type = Type::none;
};

Result<Product, std::string> multiply(const MmaOptions& options, const MatrixName& name,
                                      const numeric::DotModel& model) {
  const isa::MatrixRow& row = name.exact;
  const auto type = [&](Matrix matrix) { return isa::type_of(row, matrix, name.types); };
  const auto m = static_cast<uint64_t>(row.shape.m), n = static_cast<uint64_t>(row.shape.n),
             k = static_cast<uint64_t>(row.shape.k);
  const bool sparse = row.sparse != Qual::none;
  const Type d_type = type(Matrix::d),
             c_type = row.fragments == isa::FragmentRule::wgmma ? d_type : type(Matrix::c);

  SparseA a;
  if (sparse) {
    auto read = read_sparse(options, row, type(Matrix::a), m, k);
    if (!read)
      return fail(read.error());
    a = std::move(*read);
  } else {
    auto read = read_matrix(options.a, type(Matrix::a), m, k);
    if (!read)
      return fail(read.error());
    a.stored = std::move(*read);
  }
  const auto b = read_matrix(options.b, type(Matrix::b), k, n);
  if (!b)
    return fail(b.error());
  std::vector<std::byte> c_bytes;
  if (!options.c.empty()) {
    const auto c = read_matrix(options.c, c_type, m, n);
    if (!c)
      return fail(c.error());
    c_bytes = packed(*c, c_type, false);
  }
  const std::vector<std::byte> a_bytes = packed(a.stored, type(Matrix::a), false),
                               b_bytes = packed(*b, type(Matrix::b), true);
  // With C in f32 and D in f16 the product is made in f32 and then rounded.
  const bool narrow = c_type == Type::f32 && d_type == Type::f16;
  const Type made = narrow ? Type::f32 : d_type;
  const uint64_t size = static_cast<uint64_t>(isa::bits_of(made)) / 8;
  std::vector<std::byte> d_bytes(m * n * size);
  numeric::DotTile tile;
  tile.m = row.shape.m;
  tile.n = row.shape.n;
  tile.k = sparse ? row.shape.k / 2 : row.shape.k;
  tile.a = a_bytes.data();
  tile.b = b_bytes.data();
  tile.c = c_bytes.empty() ? nullptr : c_bytes.data();
  tile.d = d_bytes.data();
  if (sparse) {
    tile.a_index = a.index.data();
    tile.k_b = row.shape.k;
  }
  std::vector<std::byte> scales_a, scales_b;
  if (const auto scales = static_cast<uint64_t>(isa::scales_of(row)); scales != 0) {
    const auto of_a = read_matrix(options.scale_a, row.scale, m, scales),
               of_b = read_matrix(options.scale_b, row.scale, scales, n);
    if (!of_a || !of_b)
      return fail(of_a ? of_b.error() : of_a.error());
    scales_a = packed(*of_a, row.scale, false);
    scales_b = packed(*of_b, row.scale, true);
    tile.scale_a = reinterpret_cast<const uint8_t*>(scales_a.data());
    tile.scale_b = reinterpret_cast<const uint8_t*>(scales_b.data());
  }
  numeric::dot(model, tile);
  Product product{.d = {.rows = m, .cols = n, .bits = std::vector<uint64_t>(m * n)}, .type = d_type};
  for (uint64_t i = 0; i < m * n; ++i) {
    std::memcpy(&product.d.bits[i], d_bytes.data() + i * size, size);
    if (narrow)
      product.d.bits[i] = numeric::convert_float(FloatFormat::f16, FloatFormat::f32, product.d.bits[i]);
  }
  return product;
}

nlohmann::json to_json(const Product& product) {
  nlohmann::json values = nlohmann::json::array(), bits = nlohmann::json::array();
  for (uint64_t row = 0; row < product.d.rows; ++row) {
    nlohmann::json value_row = nlohmann::json::array(), bit_row = nlohmann::json::array();
    for (uint64_t col = 0; col < product.d.cols; ++col) {
      const std::string text = element_text(product.type, product.d.at(row, col));
      double number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      value_row.push_back(std::isfinite(number) ? nlohmann::json(number) : nlohmann::json(text));
      bit_row.push_back(fmt::format("0x{:0{}x}", product.d.at(row, col), isa::bits_of(product.type) / 4));
    }
    values.push_back(std::move(value_row));
    bits.push_back(std::move(bit_row));
  }
  return {{"d", std::move(values)}, {"bits", std::move(bits)}, {"type", isa::to_string(product.type)}};
}

void print_matrix(const Product& product) {
  std::vector<std::string> texts;
  size_t width = 0;
  for (const uint64_t bits : product.d.bits) {
    texts.push_back(element_text(product.type, bits));
    width = std::max(width, texts.back().size());
  }
  for (uint64_t row = 0; row < product.d.rows; ++row) {
    for (uint64_t col = 0; col < product.d.cols; ++col)
      fmt::print("{}{:>{}}", col == 0 ? "" : " ", texts[row * product.d.cols + col], width);
    fmt::print("\n");
  }
}

int no_such_instruction(const MatrixName& name, const std::string& arch, bool json) {
  std::string there;
  for (const numeric::Arch machine : numeric::kArchs)
    if (model_of(name, machine))
      there += fmt::format("{}{}", there.empty() ? "" : ", ", numeric::to_string(machine));
  return refuse(json,
                fmt::format("{} has no {}\n  machines whose arithmetic of it is known: {}", arch,
                            name.spelling, there.empty() ? "none" : there),
                ErrorKind::unsupported);
}

int run_mma(const MmaOptions& options) {
  const auto name = find_matrix(options.name);
  if (!name)
    return refuse(options.json, name.error());
  if (name->row->numeric == isa::Numeric::none)
    return refuse(options.json, fmt::format("{} moves data; it multiplies nothing", name->spelling));
  const auto target = isa::parse_target(options.arch);
  const auto arch = options.arch.empty()                   ? usual_arch(*name)
                    : target && isa::target_since(*target) ? isa::arithmetic_of(target->sm)
                                                           : std::nullopt;
  if (!arch)
    return refuse(
        options.json,
        fmt::format("--arch {}: no machine with tensor cores; such as sm_80, sm_90, sm_120", options.arch));
  const bool scaled = isa::scales_of(*name->row) != 0;
  if (scaled ? options.scale_a.empty() || options.scale_b.empty()
             : !options.scale_a.empty() || !options.scale_b.empty())
    return refuse(options.json, scaled
                                    ? fmt::format("{} needs --scale-a and --scale-b", name->spelling)
                                    : fmt::format("--scale-a, --scale-b: {} has no scales", name->spelling));
  if (!options.metadata.empty() && name->row->sparse == Qual::none)
    return refuse(options.json, fmt::format("--metadata: {} has a dense A", name->spelling));
  const auto model = model_of(*name, *arch);
  if (!model || (target && !is_in(*name, *target)))
    return no_such_instruction(*name, target ? options.arch : std::string(numeric::to_string(*arch)),
                               options.json);
  if (!options.output.empty())
    if (const auto writable = check_writable(options.output); !writable)
      return refuse(options.json, writable.error());
  const auto product = multiply(options, *name, *model);
  if (!product)
    return refuse(options.json, product.error());
  if (!options.output.empty()) {
    const auto written =
        write_file(options.output, array_file(options.output, array_of(product->d, product->type)));
    if (!written)
      return refuse(options.json, written.error());
  }
  if (options.json) {
    nlohmann::json object = to_json(*product);
    object["name"] = name->spelling;
    object["arch"] = numeric::to_string(*arch);
    object["rule"] = describe(*model, name->exact.shape.k);
    object["evidence"] = numeric::to_string(model->evidence);
    JsonOutput().print(object);
  } else if (options.output.empty()) {
    print_matrix(*product);
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
  app->footer(kFooter);
  return {app, [o] { return run_mma(*o); }};
}

} // namespace lemma::cli
