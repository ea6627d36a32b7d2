// Bounds of what a program may ask of MLIR and LLVM, which have none of their own: their parsers recurse for
// every nested thing until the stack is used up, aliases multiply, and a vector becomes so many instructions.
//
// Tests: tests/unit/nvgpu/bounds_test.cc.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lemma::nvgpu {

inline constexpr size_t kMaxNesting = 256;                   // ( [ { < in one another; minus signs in a row
inline constexpr size_t kMaxNumber = 1024;                   // digits and "x" in a row: a number, a shape
inline constexpr uint64_t kMaxAliasText = uint64_t{1} << 24; // bytes of an alias, others put in
inline constexpr uint64_t kMaxAliasGrowth = 64;              // times the program, all aliases put in
inline constexpr int64_t kMaxVectorElements = int64_t{1} << 16; // of a vector, an accumulator, a fragment
inline constexpr int64_t kMaxRank = 32;                         // of a vector, memref or tensor
inline constexpr unsigned kMaxIntegerBits = 1024;
inline constexpr int64_t kMaxMemrefBytes = int64_t{1} << 47; // what a process can address
inline constexpr int64_t kMaxGlobalBytes = int64_t{1} << 30; // of a memref.global

struct TextProblem {
  uint32_t line = 0, column = 0; // 1-based
  std::string text;
};

// What in a text is too much for the parser, before it is parsed.
std::optional<TextProblem> check_text(std::string_view text);

// Types of a parsed program; says what is too large where it is used.
mlir::LogicalResult check_sizes(mlir::ModuleOp program);

// Runs f where recursion has much room, and where a crash or a fatal error of MLIR or LLVM ends f and not the
// process. Then what it had is left as it is, and the error says so.
Result<void, Error> run_guarded(const std::string& program, const std::function<void()>& f);

// Within run_guarded(): the same of a part of it, which can be tried again. None if f came to its end; else
// what LLVM said about the fatal error, or which signal it was.
std::optional<std::string> run_recovered(const std::function<void()>& f);

} // namespace lemma::nvgpu
