// `lemma compile FILE.mlir`: a program in the nvgpu dialect to PTX, or to a stage before it.
//
// Exit status 0 if it compiles, 1 if it is rejected, 2 if the command line is wrong or a file cannot be read
// or written.
//
// Tests: tests/mlir/.
#include "command.h"
#include "files.h"
#include "say.h"
#include "terminal.h"

#include "lemma/mlir.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>

namespace lemma::cli {
namespace {

constexpr const char* kCompileFooter = R"(Stages (--emit):
  nvgpu  parsed, verified, and printed in the newer spelling
  nvvm   device and host code in MLIR's LLVM and NVVM dialects
  llvm   LLVM IR of the device code
  ptx    PTX, for `lemma run`, `lemma verify`, ptxas or the CUDA driver
Examples:
  lemma compile gemm.mlir -o gemm.ptx
  lemma compile gemm.mlir --arch sm_90a | ptxas -arch=sm_90a -o gemm.cubin -
Exit status: 0 success; 1 the program is rejected; 2 wrong command line or unreadable file; 3 built without MLIR.)";

std::map<std::string, MlirStage> stages() {
  return {{"nvgpu", MlirStage::nvgpu},
          {"nvvm", MlirStage::nvvm},
          {"llvm", MlirStage::llvm},
          {"ptx", MlirStage::ptx}};
}

// What is wrong with the word after --emit; empty if nothing is.
std::string check_stage(const std::string& word) {
  return stages().contains(word) ? ""
                                 : fmt::format("there is no stage {}; legal: nvgpu, nvvm, llvm, ptx", word);
}

struct CompileOptions {
  std::string file, output, arch, module, schedule;
  MlirStage stage = MlirStage::ptx;
  bool allow_tf32 = false;
};

int run_compile(const CompileOptions& options) {
  if (const auto writable = check_text_output(options.output); !writable) {
    say(writable.error());
    return kUsage;
  }
  auto text = read_text(options.file);
  if (!text) {
    say(text.error());
    return kUsage;
  }
  const auto compiled = compile_mlir(*std::move(text), {.name = shown_path(options.file),
                                                        .arch = options.arch,
                                                        .module = options.module,
                                                        .stage = options.stage,
                                                        .schedule = options.schedule,
                                                        .allow_tf32 = options.allow_tf32});
  for (const Message& message : compiled ? compiled->messages : compiled.error().messages)
    print_messages(stderr, message.rendered);
  if (!compiled) {
    if (compiled.error().messages.empty())
      say(compiled.error().text);
    return compiled.error().kind == ErrorKind::unavailable        ? kUnsupported
           : compiled.error().kind == ErrorKind::invalid_argument ? kUsage
                                                                  : kFailed;
  }
  if (const auto written = write_text(options.output, compiled->text); !written) {
    say(written.error());
    return kUsage;
  }
  return kSuccess;
}

} // namespace

Command add_compile(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("compile", "compile an MLIR program in the nvgpu dialect to PTX");
  const auto o = std::make_shared<CompileOptions>();
  app->add_option("FILE.mlir", o->file, "MLIR text")->required();
  app->add_option("-o,--output", o->output, "where the text goes (default: standard output)")
      ->type_name("FILE");
  app->add_option("--emit", o->stage, "how far to go: nvgpu, nvvm, llvm or ptx (default)")
      ->transform(CLI::Transformer(stages()).description(""))
      ->transform(CLI::Validator(check_stage, "")) // runs before the one above
      ->type_name("STAGE");
  app->add_option("--arch", o->arch, "target (default: the gpu.module's #nvvm.target, else sm_90a)")
      ->type_name("sm_90a");
  app->add_option("--module", o->module, "which gpu.module; may be left out if there is one")
      ->type_name("NAME");
  app->add_option("--matmul-schedule,--schedule", o->schedule,
                  "how kernels of linalg.matmul are cut (docs/matmul.md)")
      ->type_name("NAME");
  app->add_flag("--allow-tf32", o->allow_tf32, "multiply matrices of f32 as tf32 (docs/matmul.md)");
  app->footer(kCompileFooter);
  return {app, [o] { return run_compile(*o); }};
}

} // namespace lemma::cli
