// The table of types - what MLIR calls each, what C may be, which order is usual - and the parsing of the
// words. See bench_products.h.
#include "bench_products.h"

#include "arg_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace lemma::cli {
namespace {

struct TypeRow {
  const char *name, *mlir;
  uint64_t bytes;
  const char* results[3]; // the first where none is named
  bool along_k;           // the order that hardware takes, where none is named
};
constexpr TypeRow kTypes[] = {
    {"bf16", "bf16", 2, {"bf16", "f32"}, false},
    {"f16", "f16", 2, {"f16", "f32"}, false},
    {"tf32", "f32", 4, {"f32"}, true},
    {"e4m3", "f8E4M3FN", 1, {"bf16", "f16", "f32"}, true},
    {"e5m2", "f8E5M2", 1, {"bf16", "f16", "f32"}, true},
    {"s8", "i8", 1, {"s32"}, true},
    {"f64", "f64", 8, {"f64"}, false},
    {"f32", "f32", 4, {"f32"}, false},
};

const TypeRow* find_type(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeRow& row) { return name == row.name; });
  return found == std::end(kTypes) ? nullptr : found;
}

std::vector<std::string> results_of(const TypeRow& row) {
  std::vector<std::string> results;
  for (const char* result : row.results)
    if (result)
      results.emplace_back(result);
  return results;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// "4096", "4096x8192x1024": M, N, K.
std::optional<std::array<uint64_t, 3>> parse_size(const std::string& word) {
  constexpr uint64_t kLargest = 1 << 24;
  const std::vector<std::string> parts = split(word, 'x');
  if (parts.size() != 1 && parts.size() != 3)
    return std::nullopt;
  std::array<uint64_t, 3> size{};
  for (size_t i = 0; i < 3; ++i) {
    const auto extent = parse_unsigned(parts[parts.size() == 1 ? 0 : i]);
    if (!extent || *extent == 0 || *extent > kLargest)
      return std::nullopt;
    size[i] = *extent;
  }
  return size;
}

// From %v to %y.
constexpr const char* kRelu = "    %y = arith.maximumf %v, %zero : f32\n";
// v / 2 * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 v^3))), in as few operations as that takes.
constexpr const char* kGelu = R"(    %half = arith.constant 0.5 : f32
    %root = arith.constant 0.797884583 : f32
    %root_cubic = arith.constant 0.0356774069 : f32
    %v2 = arith.mulf %v, %v : f32
    %s = math.fma %v2, %root_cubic, %root : f32
    %t = arith.mulf %v, %s : f32
    %tanh = math.tanh %t : f32
    %h = arith.mulf %v, %half : f32
    %y = math.fma %h, %tanh, %h : f32
)";

std::string yield_of(const std::string& result) {
  if (result == "f32")
    return "    linalg.yield %y : f32\n";
  return fmt::format("    %narrow = arith.truncf %y : f32 to {0}\n    linalg.yield %narrow : {0}\n", result);
}

} // namespace

void add_product_options(CLI::App& app, ProductWords& words) {
  app.add_option("--matmul", words.types,
                 "in the place of a file: products of these types - bf16, f16, tf32, e4m3, e5m2, s8, f64, "
                 "f32 -, each in "
                 "every size")
      ->type_name("TYPE,...");
  app.add_option("--sizes", words.sizes,
                 "of --matmul: N stands for NxNxN (default: 2048,4096,8192,16384; on cpu: 256)")
      ->type_name("MxNxK,...");
  app.add_option("--order", words.order,
                 "of --matmul, as cuBLAS calls it. NN: A lies as M x K and B as K x N; TN: B as N x K; NT: A "
                 "as K x M; TT: "
                 "both (default: NN; TN for tf32 and what has 8 bits)")
      ->check(CLI::IsMember({"NN", "TN", "NT", "TT"}));
  app.add_option("--epilogue", words.epilogue,
                 "of --matmul, what follows in the same kernel: a row of biases is added, and relu, or gelu "
                 "in its tanh "
                 "form, computed; cuBLAS's product is without")
      ->check(CLI::IsMember({"none", "bias_relu", "bias_gelu"}))
      ->capture_default_str();
  app.add_option("--result", words.result,
                 "of --matmul: C's type (default: A's; bf16 for e4m3 and e5m2, s32 for s8)")
      ->type_name("TYPE");
}

Result<std::vector<ProductShape>, Stop> products_of(const ProductWords& words) {
  std::vector<ProductShape> shapes;
  for (const std::string& type : split(words.types, ',')) {
    const TypeRow* row = find_type(type);
    if (!row) {
      std::vector<std::string> names;
      for (const TypeRow& known : kTypes)
        names.emplace_back(known.name);
      return usage(fmt::format("--matmul {}: there is no type '{}'; there are {}", words.types, type,
                               fmt::join(names, ", ")));
    }
    const std::vector<std::string> results = results_of(*row);
    const std::string result = words.result.empty() ? results.front() : words.result;
    if (std::find(results.begin(), results.end(), result) == results.end())
      return usage(
          fmt::format("--result {}: products of {} are of {}", result, type, fmt::join(results, ", ")));
    if (words.epilogue != "none" && (result == "s32" || result == "f64"))
      return usage(fmt::format("--epilogue {}: products of {} are left without", words.epilogue, type));
    const std::string order = !words.order.empty() ? words.order : row->along_k ? "TN" : "NN";
    for (const std::string& word : split(words.sizes, ',')) {
      const auto size = parse_size(word);
      if (!size)
        return usage(fmt::format("--sizes {}: '{}' is neither N nor MxNxK", words.sizes, word));
      shapes.push_back({.type = type,
                        .result = result,
                        .m = (*size)[0],
                        .n = (*size)[1],
                        .k = (*size)[2],
                        .a_transposed = order[1] == 'T',
                        .b_transposed = order[0] == 'T'});
    }
  }
  return shapes;
}

std::string order_of(const ProductShape& shape) {
  return fmt::format("{}{}", shape.b_transposed ? 'T' : 'N', shape.a_transposed ? 'T' : 'N');
}

std::string label_of(const ProductShape& shape) {
  return fmt::format("{} {} {}x{}x{} to {}", shape.type, order_of(shape), shape.m, shape.n, shape.k,
                     shape.result);
}

uint64_t element_bytes(const std::string& type) {
  const TypeRow* row = find_type(type);
  return row ? row->bytes : 4; // s32
}

std::string mlir_type(const std::string& type) {
  const TypeRow* row = find_type(type);
  return row ? row->mlir : type == "s32" ? "i32" : type;
}

std::string shape_type(const std::string& element) {
  if (element == "i32")
    return "s32";
  for (const TypeRow& row : kTypes)
    if (element == row.mlir && row.name != std::string_view("tf32"))
      return row.name;
  return {};
}

std::string program_of(const ProductShape& shape, const std::string& epilogue) {
  const std::string element = mlir_type(shape.type), result = mlir_type(shape.result);
  const bool is_fused = epilogue != "none";
  const std::string sum = is_fused ? "f32" : result;
  const auto memref = [](uint64_t rows, uint64_t columns, bool transposed, const std::string& type) {
    return fmt::format("memref<{}x{}x{}, 1>", transposed ? columns : rows, transposed ? rows : columns, type);
  };
  const std::string a = memref(shape.m, shape.k, shape.a_transposed, element),
                    b = memref(shape.k, shape.n, shape.b_transposed, element),
                    c = memref(shape.m, shape.n, false, result);
  const std::string sums = is_fused ? fmt::format("memref<{}x{}xf32>", shape.m, shape.n) : c;
  std::string text = fmt::format("func.func @main(%a: {}, %b: {}, %c: {}", a, b, c);
  if (is_fused)
    text += fmt::format(", %bias: memref<{}xf32, 1>) {{\n  %sums = memref.alloc() : {}\n", shape.n, sums);
  else
    text += ") {\n";
  text += fmt::format(R"(  %zero = arith.constant {zero} : {sum}
  linalg.fill ins(%zero : {sum}) outs({sums} : {sums_type})
  linalg.matmul indexing_maps = [affine_map<(m, n, k) -> ({a_map})>, affine_map<(m, n, k) -> ({b_map})>,
                                 affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : {a}, {b}) outs({sums} : {sums_type})
)",
                      fmt::arg("zero", sum == "i32" ? "0" : "0.0"), fmt::arg("sum", sum),
                      fmt::arg("sums", is_fused ? "%sums" : "%c"), fmt::arg("sums_type", sums),
                      fmt::arg("a_map", shape.a_transposed ? "k, m" : "m, k"),
                      fmt::arg("b_map", shape.b_transposed ? "n, k" : "k, n"), fmt::arg("a", a),
                      fmt::arg("b", b));
  if (is_fused)
    text += fmt::format(
        R"(  linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                   affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%sums, %bias : {}, memref<{}xf32, 1>) outs(%c : {}) {{
  ^bb0(%x: f32, %b_j: f32, %old: {}):
    %v = arith.addf %x, %b_j : f32
{}{}  }}
  memref.dealloc %sums : {}
)",
        sums, shape.n, c, result, epilogue == "bias_gelu" ? kGelu : kRelu, yield_of(result), sums);
  return text + "  return\n}\n";
}

} // namespace lemma::cli
