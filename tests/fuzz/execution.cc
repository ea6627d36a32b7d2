// To know what was executed, every handler of a loaded program is replaced by run_counted(), which finds the
// true one by the instruction's place. The names of handlers come from decoding instances of every form once
// (make_handler_table). check() is the run: refused instructions are taken out and the rest is tried again,
// then each launch goes in both modes of asynchronous work.
#include "execution.h"

#include "lemma/engine.h"
#include "ptx/parser.h"
#include "verify/verify.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/exec.h"
#include "vgpu/engine/launch_check.h"
#include "vgpu/engine/scheduler.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <unordered_map>

namespace lemma::fuzz {
namespace {

using generate::HostileProgram;
using generate::Rng;

constexpr uint32_t kBufferBytes = 8192;
constexpr uint64_t kMaxInstructions = 2000; // of a warp
constexpr int kMostTries = 3;               // to parse a program less what was refused

enum Ending : size_t {
  refused_by_parser,
  refused_by_verifier,
  not_loaded,
  not_launched,
  finished,
  first_fault
};

// --- What is executed ----------------------------------------------------------------------------

// Handlers by index, in the order in which the form tables first decode to them.
struct HandlerTable {
  std::vector<HandlerInfo> infos;
  std::unordered_map<vgpu::Handler, size_t> index;
};

// Every handler of a program is replaced by one that counts. The decoded instruction itself has no room for
// what was there: it is found by the instruction's place.
struct CountedCode {
  const vgpu::Code* code = nullptr;
  std::vector<vgpu::Handler> handlers;
};
thread_local std::vector<CountedCode> counted;
thread_local ExecutionCounts* counting = nullptr;
const HandlerTable& handler_table();

vgpu::Step run_counted(vgpu::Exec& x, const vgpu::DecodedInst& in) {
  for (const CountedCode& c : counted) {
    const auto index = static_cast<size_t>(&in - c.code->insts.data());
    if (c.code != x.code || index >= c.handlers.size())
      continue;
    const vgpu::Handler handler = c.handlers[index];
    const auto known = handler_table().index.find(handler);
    if (known != handler_table().index.end())
      ++counting->handlers[known->second];
    static const isa::Form* const forms = isa::forms().data();
    if (in.source != ptx::kNone)
      ++counting->forms[static_cast<size_t>(c.code->function->instructions[in.source].form() - forms)];
    return handler(x, in);
  }
  std::terminate(); // code that count_handlers() did not see
}

void count_handlers(const vgpu::Program& program, ExecutionCounts& counts) {
  counted.clear();
  counting = &counts;
  for (const ptx::Function& function : program.module().functions)
    if (const vgpu::Code* found = program.find(function.name)) {
      auto& code = const_cast<vgpu::Code&>(*found); // made by this program, and not const there
      CountedCode c{.code = found, .handlers = {}};
      for (vgpu::DecodedInst& in : code.insts)
        c.handlers.push_back(std::exchange(in.handler, run_counted));
      counted.push_back(std::move(c));
    }
}

// Instances of every form, decoded.
HandlerTable make_handler_table() {
  HandlerTable table;
  const auto add = [&](const std::string& text) {
    vgpu::GlobalMemory memory;
    auto outcome = ptx::parse(std::make_shared<SourceText>("form.ptx", text));
    if (has_errors(outcome.diagnostics) || has_errors(verify::verify(*outcome.module)))
      return;
    const auto program = vgpu::Program::load(std::move(outcome.module), memory, vgpu::Arch{90});
    if (!program)
      return;
    const ptx::Function& function = (*program)->module().functions.front();
    for (const vgpu::DecodedInst& in : (*program)->find(function.name)->insts)
      if (table.index.emplace(in.handler, table.infos.size()).second)
        table.infos.push_back({in.source == ptx::kNone
                                   ? "(made by the decoder)"
                                   : std::string((*program)->module().source->text().substr(
                                         function.instructions[in.source].range.begin,
                                         function.instructions[in.source].range.end -
                                             function.instructions[in.source].range.begin))});
  };
  Rng rng(1);
  for (const isa::Form& form : isa::forms()) {
    const std::string target = isa::is_available(form, {9, 0}, {90, 'a'})    ? "sm_90a"
                               : isa::is_available(form, {9, 0}, {120, 'a'}) ? "sm_120a"
                                                                             : "sm_100a";
    for (const generate::Text& text : generate::plain_instances(form))
      add(generate::module_of(text.str(), target));
    for (int i = 0; i < 4; ++i)
      if (const auto text = generate::sample(form, rng))
        add(generate::module_of(text->str(), target));
  }
  return table;
}

const HandlerTable& handler_table() {
  static const HandlerTable table = make_handler_table();
  return table;
}

// --- The run ---------------------------------------------------------------------------------------

generate::HostileMachine make_machine() {
  generate::HostileMachine machine{.buffer = vgpu::kGlobalBase, .buffer_bytes = kBufferBytes, .edges = {}};
  for (const uint64_t edge : {uint64_t{0},
                              uint64_t{1} << 31,
                              uint64_t{1} << 32,
                              uint64_t{1} << 40,
                              uint64_t{1} << 48,
                              uint64_t{1} << 63,
                              UINT64_MAX,
                              vgpu::kSharedWindow,
                              vgpu::kSharedWindow + vgpu::kWindowBytes,
                              vgpu::kSharedWindow + vgpu::kSharedWindowBytes,
                              vgpu::kLocalWindow,
                              vgpu::kLocalWindow + vgpu::kWindowBytes,
                              vgpu::kParamWindow,
                              vgpu::kParamWindow + vgpu::kWindowBytes,
                              vgpu::kGlobalBase,
                              vgpu::kGlobalBase + kBufferBytes,
                              vgpu::kGlobalEnd,
                              vgpu::kFunctionBase,
                              vgpu::kFunctionBase + 32,
                              vgpu::kWindowBytes,
                              uint64_t{vgpu::kSharedReservedBytes},
                              uint64_t{vgpu::kSharedReservedBytes + 16384},
                              vgpu::kSharedWindow + vgpu::kSharedReservedBytes + 16384,
                              uint64_t{512 * 1024}})
    machine.edges.push_back(edge);
  return machine;
}

std::string fault_of(const Diagnostics& diagnostics, const SourceText& source) {
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::internal)
      return "an internal error is reported:\n" + render(diagnostics, source);
  return {};
}

// The module, without the instructions that the verifier refuses; null: refused all the same.
std::shared_ptr<const ptx::Module> parse_and_verify(std::string& text, ExecutionCounts& counts,
                                                    std::string& failure) {
  for (int i = 0; i < kMostTries; ++i) {
    const auto source = std::make_shared<SourceText>("program.ptx", text);
    ptx::ParseOutcome outcome = ptx::parse(source);
    Diagnostics diagnostics = std::move(outcome.diagnostics);
    if (!has_errors(diagnostics))
      diagnostics = verify::verify(*outcome.module);
    failure = fault_of(diagnostics, *source);
    if (!failure.empty())
      return nullptr;
    if (!has_errors(diagnostics))
      return std::move(outcome.module);
    std::vector<uint32_t> lines;
    for (const Diagnostic& diagnostic : diagnostics)
      if (diagnostic.severity != Severity::warning)
        lines.push_back(source->line_column(diagnostic.range.begin).line);
    text = generate::without_lines(text, lines);
    if (i + 1 == kMostTries)
      ++counts.outcomes[outcome.diagnostics.empty() ? refused_by_verifier : refused_by_parser];
  }
  return nullptr;
}

std::string run(const vgpu::Program& program, vgpu::GlobalMemory& memory, const generate::HostileLaunch& made,
                const std::string& kernel, AsyncMode async, ExecutionCounts& counts) {
  const vgpu::Code* entry = program.find(kernel);
  const LaunchConfig config{.grid = made.grid,
                            .block = made.block,
                            .cluster = made.cluster[0] > 1 ? made.cluster : Dim3{},
                            .shared_bytes = made.dynamic_shared_bytes,
                            .seed = made.seed,
                            .deterministic = true,
                            .async = async,
                            .max_instructions = kMaxInstructions,
                            .engine = *engine_of_environment(), // LEMMA_ENGINE
                            .workers = 1,
                            .print = [](std::string_view) {}};
  const vgpu::MachineLimits limits = vgpu::limits_of(program.arch());
  if (!vgpu::check_launch(program, *entry, config, made.params.size(), limits).empty()) {
    ++counts.outcomes[not_launched];
    return {};
  }
  const Report report = vgpu::run_launch(program, *entry, memory, config, made.params, {.limits = limits});
  ++counts.launches;
  counts.warp_instructions += report.stats.warp_instructions.value_or(0);
  counts.compiled_instructions += report.stats.compiled_instructions.value_or(0);
  ++counts.outcomes[report.ok() ? finished : first_fault + static_cast<size_t>(report.fault->kind)];
  return report.fault && report.fault->kind == FaultKind::internal
             ? "an internal error is reported: " + report.fault->message
             : std::string();
}

std::string check(HostileProgram& made, ExecutionCounts& counts) {
  std::string failure;
  auto module = parse_and_verify(made.text, counts, failure);
  if (!module)
    return failure;
  const std::optional<isa::Target> target = isa::parse_target(module->targets.front());
  vgpu::GlobalMemory memory;
  const vgpu::Allocation* buffer = memory.allocate(kBufferBytes, "buf", made.text.size() % 2 == 1);
  if (!buffer || buffer->base != vgpu::kGlobalBase)
    return "the buffer does not lie where the program expects it";
  const auto program = vgpu::Program::load(std::move(module), memory, vgpu::Arch{target->sm});
  if (!program) {
    ++counts.outcomes[not_loaded];
    return {};
  }
  count_handlers(**program, counts);
  for (const generate::HostileLaunch& launch : made.launches)
    for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late})
      if (failure = run(**program, memory, launch, made.kernel, async, counts); !failure.empty())
        return failure;
  return {};
}

} // namespace

const std::vector<HandlerInfo>& known_handlers() {
  return handler_table().infos;
}

std::string outcome_name(size_t outcome) {
  static constexpr const char* kNames[] = {"refused by the parser", "refused by the verifier", "not loaded",
                                           "not launched", "finished"};
  if (outcome < std::size(kNames))
    return kNames[outcome];
  return fmt::format("fault: {}", to_string(static_cast<FaultKind>(outcome - first_fault)));
}

generate::HostileProgram program_of(Rng& rng, std::string_view target) {
  static const generate::HostileMachine machine = make_machine();
  return make_hostile_program(rng, machine, target);
}

std::string check_execution(Rng& rng, ExecutionCounts& counts, std::string_view target) {
  HostileProgram made = program_of(rng, target);
  ++counts.programs;
  try {
    return check(made, counts);
  } catch (const std::exception& e) {
    return fmt::format("an exception: {}", e.what());
  }
}

} // namespace lemma::fuzz
