// An MLIR program in a context of its own, with what MLIR says about it collected as messages.
//
// Tests: tests/unit/nvgpu/.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class PassManager;
}

namespace lemma::nvgpu {

class Program {
public:
  // Errors: rejected.
  static Result<std::unique_ptr<Program>, Error> parse(const std::string& text, const std::string& name);
  ~Program();

  mlir::MLIRContext& context() { return context_; }
  mlir::ModuleOp module() { return *module_; }
  std::vector<Message> take_messages() { return std::move(messages_); }

  // False: messages say why. `fail` makes the error of them.
  bool run(mlir::PassManager& manager);
  Unexpected<Error> fail();

private:
  Program(const std::string& text, const std::string& name);
  void note(mlir::Diagnostic& diagnostic);

  std::string text_, name_;
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<Message> messages_;
};

} // namespace lemma::nvgpu
