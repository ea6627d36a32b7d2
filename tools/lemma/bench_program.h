// A program whose launches are timed: it runs once, in memory that stays, and what it has launched is then
// launched again and again; its matrix products beside cuBLAS's.
//
// Tests: tests/cli/bench_cli_test.py.
#pragma once

#include "bench_products.h"
#include "run_arguments.h"
#include "stop.h"

#include "lemma/mlir.h"
#include "lemma/timing.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lemma::cli {

struct BenchProgram {
  std::string text = {};
  std::string name = {}; // for messages
  std::string entry = "main";
  std::string arch = {}, schedule = {};
  bool allow_tf32 = false;
  std::string epilogue = "none";          // of --matmul
  std::optional<ProductShape> shape = {}; // of --matmul: the one product, of the arguments
};

// Of the command line: a file's, or one for each product. `common` has what all share. Error: neither or both
// are named, or with --arg what takes none.
Result<std::vector<BenchProgram>, Stop> programs_of(const BenchProgram& common, const std::string& file,
                                                    const ProductWords& products, const std::string& device,
                                                    bool has_args);

// The arguments of an entry, in memory of their own: random, or as --arg has them.
class BenchMemory {
public:
  // `given`: empty, or one for each argument.
  static Result<std::unique_ptr<BenchMemory>, Stop> make(const Device& device, const BenchProgram& program,
                                                         RunArguments& given);

  const std::vector<MlirArgument>& arguments() const { return arguments_; }
  // Of an argument in device memory.
  uint64_t address(size_t argument) const { return buffers_[argument].address(); }

private:
  std::vector<MlirArgument> arguments_;
  std::vector<std::vector<std::byte>> host_;
  std::vector<Buffer> buffers_; // by argument; empty: the host's
};

// A kernel, or the kernels of a product, and how often the program launches them.
struct BenchGroup {
  std::string label; // the kernel's name; of a product what it is: label_of()
  uint64_t launches = 0;
  std::optional<ProductShape> shape = {}; // of a product whose sizes are known
  std::string schedule = {};              // of a product
  Work work = {};
  size_t copies = 0; // steps that come first: copies of operands
};

// A program that has run.
struct BenchRun {
  std::vector<BenchGroup> groups;
  std::shared_ptr<const void> kept; // memory that the launches use
};

Result<BenchRun, Stop> run_once(const Device& device, const BenchProgram& program, const BenchMemory& memory);

} // namespace lemma::cli
