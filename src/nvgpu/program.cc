// Parsing, passes and messages of a program.
//
// Tests: tests/unit/nvgpu/.
#include "nvgpu/program.h"

#include "nvgpu/bounds.h"
#include "nvgpu/context.h"
#include "support/printable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::nvgpu {
namespace {

mlir::FileLineColLoc place_of(mlir::Location location) {
  mlir::FileLineColLoc place;
  location->walk([&](mlir::Location at) {
    if (const auto found = mlir::dyn_cast<mlir::FileLineColLoc>(at)) {
      place = found;
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return place;
}

// The source line and a caret under its column; empty without one.
std::string caret(const std::string& text, const Message& message) {
  size_t begin = 0;
  for (uint32_t line = 1; line < message.line && begin != text.npos; ++line) {
    begin = text.find('\n', begin);
    begin += begin != text.npos;
  }
  if (message.line == 0 || begin == text.npos)
    return {};
  const std::string_view line = std::string_view(text).substr(begin, text.find('\n', begin) - begin);
  const Excerpt shown = excerpt(line, message.column ? message.column - 1 : 0, 1);
  const std::string number = fmt::format("{:>4}", message.line);
  return fmt::format("{} | {}\n{} | {}\n", number, shown.line, std::string(number.size(), ' '), shown.marks);
}

} // namespace

Program::Program(const std::string& text, const std::string& name)
    : text_(text), name_(name), context_(mlir::MLIRContext::Threading::DISABLED) {
  mlir::DialectRegistry registry;
  register_dialects(registry);
  context_.appendDialectRegistry(registry);
  context_.getDiagEngine().registerHandler([this](mlir::Diagnostic& diagnostic) { note(diagnostic); });
  context_.printOpOnDiagnostic(
      false); // whole operations are no help to the reader of the source, and may be long
  if (const auto problem = check_text(text)) {
    const auto place = mlir::FileLineColLoc::get(&context_, name, problem->line, problem->column);
    mlir::emitError(place) << problem->text;
    return;
  }
  const mlir::ParserConfig config(&context_, /*verifyAfterParse=*/false);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, config, name);
  if (module && mlir::succeeded(check_sizes(*module)) && mlir::succeeded(mlir::verify(*module)))
    module_ = std::move(module);
}

Program::~Program() = default;

void Program::note(mlir::Diagnostic& diagnostic) {
  const bool is_remark = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark;
  Message message;
  message.severity =
      diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error ? Severity::error : Severity::warning;
  message.id = "mlir";
  message.text = diagnostic.str();
  message.file = name_;
  if (const auto place = place_of(diagnostic.getLocation())) {
    message.file = place.getFilename().str();
    message.line = place.getLine();
    message.column = place.getColumn();
    message.length = 1;
  }
  message.rendered = printable(message.file);
  if (message.line)
    message.rendered += fmt::format(":{}:{}", message.line, message.column);
  message.rendered += fmt::format(": {}: {}\n", is_remark ? "note" : to_string(message.severity),
                                  printable_lines(message.text));
  if (message.file == name_)
    message.rendered += caret(text_, message);
  for (mlir::Diagnostic& further : diagnostic.getNotes()) {
    const auto place = place_of(further.getLocation());
    const std::string at = place ? fmt::format("{}:{}: ", place.getFilename().str(), place.getLine()) : "";
    message.notes.push_back({"note", at + further.str()});
    message.rendered += printable_lines(fmt::format("  note: {}{}\n", at, further.str()));
  }
  if (message.text.find("`transform'") != message.text.npos ||
      message.text.find("dialect `transform`") != message.text.npos) {
    const std::string note = "a transform script is for mlir-opt, which carries it out and takes it away: "
                             "mlir-opt --transform-interpreter --test-transform-dialect-erase-schedule";
    message.notes.push_back({"note", note});
    message.rendered += fmt::format("  note: {}\n", note);
  }
  messages_.push_back(std::move(message));
}

Result<std::unique_ptr<Program>, Error> Program::parse(const std::string& text, const std::string& name) {
  std::unique_ptr<Program> program(new Program(text, name));
  if (!program->module_)
    return program->fail();
  return program;
}

bool Program::run(mlir::PassManager& manager) {
  return mlir::succeeded(manager.run(*module_));
}

Unexpected<Error> Program::fail() {
  Error error{ErrorKind::rejected, fmt::format("{} is rejected", name_), std::move(messages_)};
  return Unexpected<Error>{std::move(error)};
}

} // namespace lemma::nvgpu
