// Parsing, passes and messages of a program.
//
// Tests: tests/unit/nvgpu/.
#include "nvgpu/program.h"

#include "nvgpu/context.h"

#include "mlir/IR/Diagnostics.h"
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
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  std::string pad = line.substr(0, std::min<size_t>(line.size(), message.column ? message.column - 1 : 0));
  std::replace_if(pad.begin(), pad.end(), [](char c) { return c != '\t'; }, ' ');
  const std::string number = fmt::format("{:>4}", message.line);
  return fmt::format("{} | {}\n{} | {}^\n", number, line, std::string(number.size(), ' '), pad);
}

} // namespace

Program::Program(const std::string& text, const std::string& name)
    : text_(text), name_(name), context_(mlir::MLIRContext::Threading::DISABLED) {
  mlir::DialectRegistry registry;
  register_dialects(registry);
  context_.appendDialectRegistry(registry);
  context_.getDiagEngine().registerHandler([this](mlir::Diagnostic& diagnostic) { note(diagnostic); });
  module_ = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context_), name);
}

Program::~Program() = default;

void Program::note(mlir::Diagnostic& diagnostic) {
  if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark)
    return;
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
  message.rendered = message.line ? fmt::format("{}:{}:{}: ", message.file, message.line, message.column)
                                  : message.file + ": ";
  message.rendered += fmt::format("{}: {}\n", to_string(message.severity), message.text);
  if (message.file == name_)
    message.rendered += caret(text_, message);
  for (mlir::Diagnostic& further : diagnostic.getNotes()) {
    const auto place = place_of(further.getLocation());
    const std::string at = place ? fmt::format("{}:{}: ", place.getFilename().str(), place.getLine()) : "";
    message.notes.push_back({"note", at + further.str()});
    // Whole operations as MLIR prints them are no help to the reader of the source.
    if (const std::string text = further.str(); !text.starts_with("see current operation"))
      message.rendered += fmt::format("  note: {}{}\n", at, text);
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
