// Numbers are taken as text and parsed here, so that 0x hex and suffixes are the same everywhere and a wrong
// one is told with its option. See run_options.h.
#include "run_options.h"

#include "files.h"

#include "lemma/engine.h"
#include "lemma/result.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace lemma::cli {
namespace {

constexpr const char* kRunFooter =
    R"(FILE.mlir (nvgpu dialect): with host code it runs whole, from --entry (main), with one --arg for each of that function's
arguments; else, or with --grid, one gpu.func is launched, likewise. A memref takes memory (in, out, inout, buf).

An argument SPEC, in the order of the kernel's parameters:
  u8|s8|u16|s16|u32|s32|u64|s64|f32|f64=VALUE
                        a value of the parameter's kind (i32 is s32): decimal, 0x hex, float text; 0f3F800000 gives a
                        float's bits. A parameter declared .b32 or .b64 takes any of that size
  tmap=@FILE.json       a tensor map (CUtensorMap) of the memory of another --arg, by value: {"arg": "a.npy",
                        "type": "bf16", "dims": [K, M], "strides_bytes": [2*K], "box": [64, 128], "swizzle": "128B"};
                        "arg" is its number from 0, as in faults (expect is none), its file or its label;
                        memory that is no parameter of the kernel comes after the last one
  bytes=@FILE           the file's bytes by value (a struct); the size must be the parameter's
  buf=BYTES             scratch memory; a read before the first write is reported
  in=FILE               memory that holds FILE
  out=FILE:BYTES        zeroed memory, written to FILE afterwards; FILE.npy may name its type: out=d.npy:f32[64,64]
  inout=FILE:OUTFILE    memory that holds FILE, written to OUTFILE afterwards
  expect=FILE[:TOLERANCE]
                        no argument: the out or inout before it must hold FILE, bit for bit or within TOLERANCE
  set=NAME=FILE         no argument: the module's variable NAME (.global or .const) holds FILE before the launch
  get=NAME=FILE[:BYTES] no argument: the variable is written to FILE afterwards, as out is; an expect may follow
  LABEL:in=FILE         a label for an argument, of any kind: tensor maps and messages call it so
A FILE that is - is standard input, for the program too; @FILE stands for the words in FILE.
Files that end in .npy are read and written as such; all others are raw bytes. Outputs are written after a run that ended
well, all or none, each in one piece: a fault, a full disk and Ctrl-C leave the old ones. --keep-outputs writes them all the same.

A .mlir with host code is a program that you run: that part is compiled to machine code, with your rights.
Ctrl-C stops the virtual GPU and says where the warps are; a second one ends at once.

Examples:
  lemma run vector_add.ptx --grid 16 --block 256 --arg in=a.npy --arg in=b.npy --arg out=c.npy:16384 \
      --arg expect=expected.npy --arg u32=4096
  lemma run gemm.mlir
  lemma run gemm.ptx --entry gemm --grid 8,8 --block 128 --smem 49152 --stats --arg buf=0x10000 --arg u32=1
Exit status: 0 success; 1 fault, failed comparison or rejected file; 2 wrong command line; 3 unsupported; 130 Ctrl-C.)";

// "X[,Y[,Z]]", each from 1 to 2^32 - 1.
Result<Dim3, Stop> parse_dim3(const char* option, const std::string& text) {
  Dim3 dim{1, 1, 1};
  size_t begin = 0;
  for (size_t i = 0;; ++i) {
    const size_t comma = text.find(',', begin);
    const std::optional<uint64_t> value = parse_unsigned(std::string_view(text).substr(begin, comma - begin));
    if (i > 2 || !value || *value == 0 || *value > UINT32_MAX)
      return usage(fmt::format("{} {}: a size is X[,Y[,Z]], each from 1 up", option, text));
    dim[i] = static_cast<uint32_t>(*value);
    if (comma == text.npos)
      return dim;
    begin = comma + 1;
  }
}

Result<uint64_t, Stop> parse_number(const char* option, const std::string& text,
                                    uint64_t highest = UINT64_MAX) {
  const std::optional<uint64_t> value = parse_unsigned(text);
  if (!value || *value > highest)
    return usage(fmt::format("{} {}: a number from 0 to {}, decimal or 0x hex", option, text, highest));
  return *value;
}

// "4G": bytes, or with a suffix so many times 1024 of them.
Result<uint64_t, Stop> parse_bytes(const char* option, const std::string& text) {
  constexpr std::string_view kSuffixes = "KMGT";
  std::string_view digits = text;
  const size_t suffix = text.empty() ? kSuffixes.npos : kSuffixes.find(text.back());
  if (suffix != kSuffixes.npos)
    digits.remove_suffix(1);
  const std::optional<uint64_t> value = parse_unsigned(digits);
  const size_t shift = suffix == kSuffixes.npos ? 0 : 10 * (suffix + 1);
  if (!value || *value > UINT64_MAX >> shift)
    return usage(fmt::format("{} {}: a number of bytes, decimal or 0x hex, or with K, M, G or T behind it",
                             option, text));
  return *value << shift;
}

} // namespace

RunCommandLine::RunCommandLine(CLI::App& app) {
  Words& w = words_;
  app.add_option("FILE", w.file,
                 "PTX text, or MLIR (FILE.mlir); or a fatbin, cubin, object file, library or executable of "
                 "nvcc, of which the PTX is taken");
  app.add_option("--device", w.device, "cpu: the virtual GPU; cuda: a real one")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--arch", w.arch, "what the virtual GPU is (default: the file's .target)")
      ->type_name("sm_90a");
  app.add_option("--entry", w.entry,
                 "the kernel, by its name in the PTX, demangled or in part; may be left out if there is "
                 "one; of a whole "
                 "program the host function (main)")
      ->type_name("NAME");
  app.add_option("--matmul-schedule", w.matmul_schedule,
                 "of a whole program: how kernels of linalg.matmul are cut (docs/matmul.md)")
      ->type_name("NAME");
  app.add_flag("--allow-tf32", w.allow_tf32,
               "of a whole program: multiply matrices of f32 as tf32 (docs/matmul.md)");
  app.add_option("--grid", w.grid, "CTAs")->type_name("X[,Y[,Z]]");
  app.add_option("--block", w.block, "threads of a CTA")->type_name("X[,Y[,Z]]");
  app.add_option("--cluster", w.cluster, "CTAs of a cluster (default: as the kernel declares)")
      ->type_name("X[,Y[,Z]]");
  app.add_option("--smem", w.smem, "dynamic shared memory of a CTA")->type_name("BYTES");
  app.add_option(
         "--seed", w.seed,
         "moves every choice of the schedule, and changes what memory and registers hold that were never "
         "written")
      ->type_name("N");
  app.add_flag("--deterministic", w.deterministic, "CTAs in a fixed order: floating-point atomics repeat");
  app.add_option(
         "--async", w.async,
         "eager: asynchronous operations complete when issued; late: as late as the ISA allows; random: at "
         "times that --seed draws")
      ->check(CLI::IsMember({"eager", "late", "random"}))
      ->capture_default_str();
  app.add_option("--elect", w.elect,
                 "lowest: elect.sync elects the lowest lane, as a GPU does; any: the highest, which the ISA "
                 "allows as well")
      ->check(CLI::IsMember({"lowest", "any"}))
      ->capture_default_str();
  app.add_option(
         "--engine", w.engine,
         "what executes it, with the same results: interpreter: the interpreter alone; compiled: code "
         "of the host, as far as there is some for it; auto: the same for what has run often "
         "(default: LEMMA_ENGINE, else auto)")
      ->check(CLI::IsMember(std::vector<std::string>(kEngineNames.begin(), kEngineNames.end())));
  app.add_option(
         "--on-fault", w.on_fault,
         "stop: an access out of bounds ends the run; warn: one just past the end of an allocation, where a "
         "GPU has memory mapped, is told and goes on")
      ->check(CLI::IsMember({"stop", "warn"}))
      ->capture_default_str();
  app.add_option("--schedule", w.schedule,
                 "who runs when: 0 the usual order, any other number a legal and unusual one")
      ->type_name("K");
  app.add_option("--explore", w.explore,
                 "run schedules 0 to N-1, side by side: what they find, and whether the outputs differ")
      ->type_name("N");
  app.add_flag("--check", w.check,
               "find races, missing fences and missing waits: what the PTX ISA leaves undefined");
  app.add_flag("--notes", w.notes, "show what --check notes too: what the PTX ISA leaves doubtful");
  app.add_flag("--all", w.all, "show all that --check finds, and not the first ten");
  app.add_option("--baseline", w.baseline,
                 "findings of a run before, as --sarif wrote them: only others fail")
      ->type_name("FILE");
  app.add_option("--suppress", w.suppress,
                 "findings of --check that are known: lines 'ID [FILE[:LINE]] [FUNCTION]  # why'")
      ->type_name("FILE");
  app.add_flag("--no-library-suppressions", w.show_in_libraries,
               "show findings in headers of CUB, Thrust, libcu++ and cooperative groups that are known, too");
  app.add_option("--check-ctas", w.check_ctas, "check N CTAs, spread over the grid, not all")->type_name("N");
  app.add_option("--sarif", w.sarif, "write findings and the fault as SARIF 2.1.0, for code scanning")
      ->type_name("FILE");
  app.add_flag("--stats", w.stats, "print instructions, matrix FLOPs, accesses to memory, time and FLOP/s");
  app.add_flag("--coverage", w.coverage, "print which lines ran, and how often");
  app.add_flag("--dump-code{all}", w.dump_code,
               "run nothing, and print the kernel as the virtual GPU lowers it; --dump-code=PASS: as it is "
               "after that "
               "pass")
      ->type_name("");
  app.add_flag("--fidelity", w.fidelity,
               "print how well the bits of the instructions that ran are known, the least known first");
  app.add_flag("--json", w.json, "print one JSON object; device printf goes to standard error");
  app.add_flag("--keep-outputs", w.keep_outputs,
               "write the outputs after a fault or Ctrl-C too, as they are");
  app.add_option("--max-instructions", w.max_instructions, "fault when a warp has executed so many")
      ->type_name("N");
  app.add_option("--max-memory", w.max_memory,
                 "of the host's memory, what the virtual GPU may take: more is a fault (default: half of it)")
      ->type_name("BYTES[K|M|G|T]");
  app.add_option("--arg", w.args, "kernel arguments in order, see below")->type_name("SPEC")->expected(1, -1);
  app.footer(kRunFooter);
}

Result<void, Stop> RunCommandLine::read(RunOptions& options, RunArguments& arguments) const {
  options.file = words_.file;
  for (const std::string& text : words_.args) {
    // `--arg a=b FILE.ptx`: --arg takes several, so the file may have been taken for one more.
    if (options.file.empty() && (text == kStandardInput || text.find('=') == text.npos))
      options.file = text;
    else if (auto added = arguments.add(text); !added)
      return added;
  }
  if (options.file.empty())
    return usage("FILE is missing");
  options.device = words_.device;
  options.arch = words_.arch;
  options.entry = words_.entry;
  options.matmul_schedule = words_.matmul_schedule;
  options.allow_tf32 = words_.allow_tf32;
  options.suppress = words_.suppress;
  options.baseline = words_.baseline;
  options.show_in_libraries = words_.show_in_libraries;
  options.sarif = words_.sarif;
  options.stats = words_.stats;
  options.coverage = words_.coverage;
  options.dump_code = words_.dump_code;
  options.fidelity = words_.fidelity;
  options.notes = words_.notes;
  options.all = words_.all;
  options.keep_outputs = words_.keep_outputs;
  LaunchConfig& config = options.config;
  config.deterministic = words_.deterministic;
  config.check = words_.check;
  config.fidelity = words_.fidelity;
  config.async = words_.async == "late"     ? AsyncMode::late
                 : words_.async == "random" ? AsyncMode::random
                                            : AsyncMode::eager;
  config.elect = words_.elect == "any" ? Elect::any : Elect::lowest;
  config.on_fault = words_.on_fault == "warn" ? OnFault::warn : OnFault::stop;
  const std::optional<Engine> engine = engine_named(words_.engine);
  const Result<Engine, Error> wanted = engine ? *engine : engine_of_environment();
  if (!wanted)
    return usage(wanted.error().text);
  config.engine = *wanted;
  config.count_accesses = words_.stats && config.engine != Engine::compiled; // by the interpreter alone
  if (auto read = read_numbers(options); !read)
    return read;
  return check_together(options);
}

Result<void, Stop> RunCommandLine::read_numbers(RunOptions& options) const {
  const auto grid = parse_dim3("--grid", words_.grid.empty() ? "1" : words_.grid);
  const auto block = parse_dim3("--block", words_.block.empty() ? "1" : words_.block);
  const auto cluster = parse_dim3("--cluster", words_.cluster.empty() ? "1" : words_.cluster);
  for (const auto* size : {&grid, &block, &cluster})
    if (!*size)
      return Unexpected<Stop>{size->error()};
  const auto smem = parse_number("--smem", words_.smem, UINT32_MAX);
  const auto seed = parse_number("--seed", words_.seed);
  const auto max_instructions = parse_number("--max-instructions", words_.max_instructions);
  const auto schedule = parse_number("--schedule", words_.schedule);
  const auto schedules = parse_number("--explore", words_.explore, 1'000'000);
  const auto check_ctas = parse_number("--check-ctas", words_.check_ctas);
  const auto max_memory = parse_bytes("--max-memory", words_.max_memory);
  for (const auto* number :
       {&smem, &seed, &max_instructions, &max_memory, &schedule, &schedules, &check_ctas})
    if (!*number)
      return Unexpected<Stop>{number->error()};
  options.has_grid = !words_.grid.empty();
  options.has_block = !words_.block.empty();
  LaunchConfig& config = options.config;
  config.grid = *grid;
  config.block = *block;
  if (!words_.cluster.empty())
    config.cluster = *cluster;
  config.shared_bytes = static_cast<uint32_t>(*smem);
  config.seed = *seed;
  config.schedule = *schedule;
  config.check_ctas = *check_ctas;
  config.max_instructions = *max_instructions;
  options.schedules = *schedules;
  if (options.schedules != 0)
    config.workers = 1; // as all schedules
  options.max_memory_bytes = *max_memory;
  return {};
}

// What does not go together.
Result<void, Stop> RunCommandLine::check_together(const RunOptions& options) const {
  const LaunchConfig& config = options.config;
  if (options.schedules != 0 && config.schedule != 0)
    return usage("--explore runs the usual schedule and others; --schedule runs one of them");
  if ((options.schedules != 0 || config.schedule != 0) && options.device != "cpu")
    return usage("--explore and --schedule are for the virtual GPU: a real one does as it likes");
  if (config.check_ctas != 0 && !config.check)
    return usage("--check-ctas is about findings: it needs --check");
  if ((options.coverage || options.fidelity) && options.device != "cpu")
    return usage(
        "--coverage and --fidelity are for the virtual GPU: a real one does not say what it executes");
  return {};
}

} // namespace lemma::cli
