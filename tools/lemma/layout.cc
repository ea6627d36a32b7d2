// `lemma layout NAME`: which lane and register hold which element of a matrix instruction's operands, or
// which cell of tensor memory. `lemma layout smem ...`: where the elements of a swizzled tile lie in shared
// memory.
//
// Tests: tests/cli/.
#include "command.h"
#include "files.h"
#include "json_output.h"
#include "layout_picture.h"
#include "terminal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

namespace lemma::cli {
namespace {

constexpr const char* kLayoutFooter =
    R"(NAME is a spelling, or enough of its start (lemma isa lists them), or smem.
  lemma layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --operand a
  lemma layout wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 --operand d --format svg -o d.svg
  lemma layout tcgen05.mma.cta_group::1.kind::f16.m128n16k16.f32.f16.f16 --operand d
  lemma layout tcgen05.ld.sync.aligned.16x256b.x1.b32
  lemma layout smem --type bf16 --swizzle 128B --major k --rows 64 --cols 64
Exit status: 0 success; 2 no such instruction, operand or tile.)";

struct LayoutOptions {
  std::string name, operand, format = "text", output, color = "auto", type = "bf16", swizzle = "128B",
                             major = "k";
  uint32_t rows = 64, cols = 64;
  bool json = false;
  std::vector<const CLI::Option*> of_fragments, of_tiles; // that say nothing of the other
};

const std::map<std::string, TensorSwizzle> kSwizzles = {{"none", TensorSwizzle::none},
                                                        {"32B", TensorSwizzle::b32},
                                                        {"64B", TensorSwizzle::b64},
                                                        {"128B", TensorSwizzle::b128},
                                                        {"128B_ATOM_32B", TensorSwizzle::b128}};

int write_text(const LayoutOptions& options, const std::string& text) {
  const auto written = cli::write_text(options.output, text);
  return written ? kSuccess : refuse(options.json, written.error());
}

int show(const LayoutOptions& options, const Picture& picture) {
  const bool to_terminal = options.output.empty() && takes_color(stdout);
  const bool colors = options.color == "always" || (options.color == "auto" && to_terminal);
  return write_text(options, options.format == "svg"    ? to_svg(picture)
                             : options.format == "html" ? to_html(picture)
                                                        : to_text(picture, colors));
}

int show_json(const LayoutOptions& options, const nlohmann::json& object) {
  if (!options.output.empty())
    return write_text(options, object.dump(2) + "\n");
  JsonOutput().print(object);
  return kSuccess;
}

// Refuses an option that does not go with what is drawn.
std::optional<int> refuse_given(const LayoutOptions& options, const std::vector<const CLI::Option*>& others,
                                const char* what) {
  for (const CLI::Option* option : others)
    if (option->count() != 0)
      return refuse(options.json, fmt::format("{} says nothing of {}", option->get_name(), what));
  return std::nullopt;
}

int run_smem(const LayoutOptions& options) {
  if (const auto status = refuse_given(options, options.of_fragments, "a tile in shared memory"))
    return *status;
  const SmemTile tile{.type = options.type,
                      .swizzle = kSwizzles.at(options.swizzle),
                      .atoms_of_32_bytes = options.swizzle == "128B_ATOM_32B",
                      .k_major = options.major == "k",
                      .rows = options.rows,
                      .cols = options.cols};
  const auto layout = lay_out(tile);
  if (!layout) // the field that is wrong is an option here
    return refuse(options.json,
                  (layout.error().text.starts_with("a tile") ? "" : "--") + layout.error().text);
  return options.json ? show_json(options, facts_of(tile, *layout))
                      : show(options, picture_of(tile, *layout));
}

int run_layout(const LayoutOptions& options) {
  if (options.name == "smem")
    return run_smem(options);
  const auto description = describe_matrix(options.name);
  if (!description)
    return refuse(options.json, description.error().text);
  if (const auto status = refuse_given(options, options.of_tiles, "registers; it goes with smem"))
    return *status;
  const std::vector<MatrixOperand>& all = description->operands;
  std::vector<MatrixOperand> operands;
  std::string there;
  for (const MatrixOperand& operand : all) {
    there += (there.empty() ? "" : ", ") + operand.name;
    // C lies as D does: drawn only when it is asked for.
    const bool wanted = options.operand.empty()
                            ? !operand.in_memory && (operand.name != "c" || all.size() == 1)
                            : operand.name == options.operand;
    if (wanted)
      operands.push_back(operand);
  }
  if (operands.empty())
    return refuse(options.json, fmt::format("{} has no operand {}; it has {}", description->spelling,
                                            options.operand, there));
  if (operands[0].in_memory)
    return refuse(
        options.json,
        fmt::format(
            "{} of {} is in shared memory, not in registers:\n  lemma layout smem --type {} --rows {} "
            "--cols {} --swizzle 128B",
            operands[0].name, description->spelling, operands[0].type, operands[0].cols,
            4 * operands[0].rows));
  if (!options.json)
    return show(options, picture_of(*description, operands));
  nlohmann::json list = nlohmann::json::array();
  for (const MatrixOperand& operand : operands)
    list.push_back(elements_of(operand));
  return show_json(options, {{"name", description->spelling}, {"operands", std::move(list)}});
}

} // namespace

Command add_layout(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "layout",
      "draw who holds what: fragments in registers, operands in tensor memory, tiles in shared memory");
  const auto o = std::make_shared<LayoutOptions>();
  app->add_option("NAME", o->name, "a matrix instruction, or smem")->required();
  o->of_fragments = {app->add_option("--operand", o->operand,
                                     "a, b, c, d, metadata, scale-a or scale-b (default: all, c as d)")
                         ->type_name("OPERAND")};
  CLI::Option* format = app->add_option("--format", o->format, "text (default), svg or html")
                            ->check(CLI::IsMember({"text", "svg", "html"}).description(""))
                            ->type_name("FORMAT");
  app->add_option("-o,--output", o->output, "where it goes (default: standard output)")->type_name("FILE");
  app->add_option("--color", o->color, "text in colour: auto (default: to a terminal), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("WHEN");
  app->add_flag("--json", o->json, "print one JSON object instead: every element's lane, register and bits")
      ->excludes(format);
  o->of_tiles = {
      app->add_option("--type", o->type, "smem: type of the elements (default: bf16)")->type_name("TYPE"),
      app->add_option("--swizzle", o->swizzle, "smem: none, 32B, 64B, 128B (default) or 128B_ATOM_32B")
          ->check(CLI::IsMember({"none", "32B", "64B", "128B", "128B_ATOM_32B"}).description(""))
          ->type_name("SWIZZLE"),
      app->add_option("--major", o->major, "smem: the dimension that is contiguous, k (default) or mn")
          ->check(CLI::IsMember({"k", "mn"}).description(""))
          ->type_name("MAJOR"),
      app->add_option("--rows", o->rows, "smem: rows of the tile, M or N (default: 64)")->type_name("R"),
      app->add_option("--cols", o->cols, "smem: columns of the tile, K (default: 64)")->type_name("C")};
  app->footer(kLayoutFooter);
  return {app, [o] { return run_layout(*o); }};
}

} // namespace lemma::cli
