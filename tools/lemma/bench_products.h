// The words of `lemma bench --matmul` and `lemma tune --matmul`: types, sizes, orders; and the program of
// each product that they name.
//
//   --matmul bf16,e4m3 --sizes 2048,4096x8192x1024 --order TN --result f32
//
// Tests: tests/cli/bench_cli_test.py.
#pragma once

#include "stop.h"

#include "lemma/timing.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace lemma::cli {

struct ProductWords {
  std::string types, sizes, order, result; // as given; empty: left out
  std::string epilogue = "none";
};

// Adds the options to a command.
void add_product_options(CLI::App& app, ProductWords& words);

// Every type with every size. Error: a wrong command line.
Result<std::vector<ProductShape>, Stop> products_of(const ProductWords& words);

// "bf16 TN 2048x2048x2048 to f32"
std::string label_of(const ProductShape& shape);
// "TN": as cuBLAS, whose matrices lie column by column, calls it.
std::string order_of(const ProductShape& shape);

// A host function `main` of A, B and C in device memory, which multiplies them; with an epilogue, of a row of
// biases, too.
std::string program_of(const ProductShape& shape, const std::string& epilogue);

uint64_t element_bytes(const std::string& type);
// How MLIR calls the type: "f8E4M3FN" for "e4m3".
std::string mlir_type(const std::string& type);
// How ProductShape calls MLIR's; empty: it has none.
std::string shape_type(const std::string& element);

} // namespace lemma::cli
