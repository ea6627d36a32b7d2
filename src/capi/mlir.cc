// include/lemma/c/mlir.h.
#include "lemma/mlir.h"

#include "capi/handles.h"
#include "capi/messages.h"

namespace lemma::capi {

static const lemma_mlir_parameter* to_c(Arena& arena, const MlirParameter& parameter) {
  return arena.make<lemma_mlir_parameter>({.type = arena.text(parameter.type),
                                           .is_memref = parameter.is_memref,
                                           .element_bits = parameter.element_bits,
                                           .rank = parameter.shape.size(),
                                           .shape = arena.copy(parameter.shape),
                                           .strides = arena.copy(parameter.strides),
                                           .offset = parameter.offset});
}

static const lemma_mlir_kernel* to_c(Arena& arena, const MlirKernel& kernel) {
  auto* made = arena.make<lemma_mlir_kernel>();
  made->name = arena.text(kernel.name);
  list(arena, kernel.parameters, made->parameter_count, made->parameters);
  return made;
}

static MlirParameter to_cpp(const lemma_mlir_parameter& parameter) {
  return {.type = parameter.type,
          .is_memref = parameter.is_memref,
          .element_bits = parameter.element_bits,
          .shape = {parameter.shape, parameter.shape + parameter.rank},
          .strides = {parameter.strides, parameter.strides + parameter.rank},
          .offset = parameter.offset};
}

static std::vector<MlirArgument> arguments_of(const lemma_mlir_run_options& options) {
  std::vector<MlirArgument> made;
  const auto take_one = [&](const lemma_mlir_argument& each) {
    if ((!each.data && each.data_bytes > 0) || (!each.shape && each.rank > 0))
      invalid("lemma_mlir_run: argument " + std::to_string(made.size()) + " is null");
    made.push_back({.is_memory = each.is_memory != 0,
                    .bytes = {static_cast<std::byte*>(each.data), each.data_bytes},
                    .shape = {each.shape, each.shape + each.rank}});
  };
  for_each_taken(options.arguments, options.argument_count, "lemma_mlir_run: an argument", take_one);
  return made;
}

namespace {

// What its parts are trees of their own.
struct HeldRan : Tree<lemma_mlir_ran> {
  HeldRan() = default;
  HeldRan(const HeldRan&) = delete;
  ~HeldRan() { lemma_error_release(error); }
  std::optional<HeldReport> report;
  const lemma_error* error = nullptr;
};

} // namespace
} // namespace lemma::capi

using namespace lemma::capi;

void lemma_mlir_compiled_release(const lemma_mlir_compiled* compiled) {
  release(compiled);
}

const lemma_error* lemma_mlir_compile(const char* text, size_t text_bytes, const lemma_mlir_options* options,
                                      const lemma_mlir_compiled** compiled) {
  return guarded([&] {
    const lemma_mlir_compiled*& out = given(compiled, "lemma_mlir_compile: compiled");
    const lemma_mlir_options wanted = taken(options, "lemma_mlir_compile: options");
    const lemma::CompiledMlir from = unwrap(
        lemma::compile_mlir(std::string(text_of(text, text_bytes)), {.name = text_or(wanted.name, "<mlir>"),
                                                                     .arch = text_or(wanted.arch, ""),
                                                                     .module = text_or(wanted.module, ""),
                                                                     .stage = to_cpp(wanted.stage)}));
    auto tree = std::make_unique<Tree<lemma_mlir_compiled>>();
    tree->text = to_c(tree->arena, from.text);
    list(tree->arena, from.kernels, tree->kernel_count, tree->kernels);
    list(tree->arena, from.messages, tree->message_count, tree->messages);
    out = tree.release();
  });
}

bool lemma_mlir_has_host_code(const char* text, size_t text_bytes) {
  try {
    return lemma::has_host_code(std::string(text_of(text, text_bytes)));
  } catch (...) {
    return false;
  }
}

size_t lemma_mlir_memref_words(const lemma_mlir_parameter* parameter) {
  return parameter && parameter->is_memref ? 3 + 2 * parameter->rank : 0;
}

const lemma_error* lemma_mlir_expand_memref(const lemma_mlir_parameter* parameter, uint64_t address,
                                            uint64_t size_bytes, const uint64_t* shape, size_t rank,
                                            uint64_t* words) {
  return guarded([&] {
    given(words, "lemma_mlir_expand_memref: words");
    if (rank > 0)
      given(shape, "lemma_mlir_expand_memref: shape");
    const std::vector<uint64_t> made = unwrap(lemma::expand_memref(
        to_cpp(given(parameter, "lemma_mlir_expand_memref: parameter")), address, size_bytes, {shape, rank}));
    std::copy(made.begin(), made.end(), words);
  });
}

void lemma_mlir_ran_release(const lemma_mlir_ran* ran) {
  delete static_cast<const HeldRan*>(ran);
}

const lemma_error* lemma_mlir_run(const char* text, size_t text_bytes, const lemma_mlir_run_options* options,
                                  const lemma_mlir_ran** ran) {
  return guarded([&] {
    const lemma_mlir_ran*& out = given(ran, "lemma_mlir_run: ran");
    const lemma_mlir_run_options wanted = taken(options, "lemma_mlir_run: options");
    const HeldConfig launch = launch_config(wanted.launch);
    lemma::MlirRunOptions how{.name = text_or(wanted.name, "<mlir>"),
                              .device = text_or(wanted.device, "cpu"),
                              .arch = text_or(wanted.arch, ""),
                              .entry = text_or(wanted.entry, "main"),
                              .max_memory_bytes = wanted.max_memory_bytes,
                              .arguments = arguments_of(wanted),
                              .launch = launch.config};
    if (wanted.print)
      how.print = [&](std::string_view text) { wanted.print(wanted.user, text.data(), text.size()); };
    if (wanted.said)
      how.said = [&](std::string_view lines) { wanted.said(wanted.user, std::string(lines).c_str()); };
    if (wanted.launched)
      how.launched = [&](const lemma::MlirLaunch& launch) {
        const HeldReport held(launch.report);
        wanted.launched(wanted.user, launch.kernel.name().c_str(), &held);
      };
    if (wanted.crashed)
      how.crashed = [&](const std::string& said) { wanted.crashed(wanted.user, said.c_str()); };
    const lemma::MlirRun from = unwrap(lemma::run_mlir(std::string(text_of(text, text_bytes)), how));
    auto tree = std::make_unique<HeldRan>();
    tree->returned = from.returned;
    if (const auto& stop = from.stopped) {
      if (stop->report)
        tree->report.emplace(*stop->report);
      if (stop->error)
        tree->error = error_of(*stop->error);
      tree->stopped = tree->arena.make<lemma_mlir_stop>({.text = tree->arena.text(stop->text),
                                                         .exit_status = stop->exit_status,
                                                         .kernel = tree->arena.text(stop->kernel),
                                                         .report = tree->report ? &*tree->report : nullptr,
                                                         .error = tree->error});
    }
    out = tree.release();
  });
}
