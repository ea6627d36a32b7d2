// `lemma descriptor VALUE`: the fields of a matrix descriptor of wgmma or tcgen05, of an instruction
// descriptor of tcgen05.mma, or of a zero-column mask, and what is wrong with it (lemma/descriptor.h).
//
// Tests: tests/cli/tensor_cli_test.py.
#include "command.h"
#include "json_output.h"

#include "lemma/descriptor.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

namespace lemma::cli {
namespace {

constexpr const char* kDescriptorFooter =
    R"(WHOSE is wgmma, tcgen05 (a matrix in shared memory), a kind of tcgen05.mma, kind::f16, or its spelling with all that
says how the descriptor is read; it may go on with shape and types, as lemma isa has them. Without it the value is a
matrix descriptor, of tcgen05 where its version says so, else of wgmma.
  lemma descriptor 0x4000404000010040
  lemma descriptor 0x08100490 --of kind::f16
  lemma descriptor 0x08100490 --of tcgen05.mma.cta_group::2.kind::f16
  lemma descriptor 0x2000402000010000 --of kind::tf32 --operand b-desc --major mn
  lemma descriptor 0x0003028100000000 --operand zero-column-mask-desc
Exit status: 0 nothing is wrong with it; 1 something is; 2 wrong command line.)";

const std::map<std::string, DescriptorOperand> kOperands = {
    {"idesc", DescriptorOperand::idesc},
    {"a-desc", DescriptorOperand::a_desc},
    {"b-desc", DescriptorOperand::b_desc},
    {"s-desc", DescriptorOperand::s_desc},
    {"zero-column-mask-desc", DescriptorOperand::zero_column_mask}};

struct DescriptorOptions {
  std::string value, of, operand, major = "k";
  bool a_in_tensor_memory = false, json = false;
};

// In decimal, or in hexadecimal after 0x.
std::optional<uint64_t> number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex)
    text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::string hex(uint64_t bits, int width) {
  return fmt::format("0x{:0{}x}", bits, width / 4);
}

void print_text(uint64_t bits, const DescriptorExplanation& explained) {
  size_t name_width = 0, bits_width = 0, value_width = 0;
  for (const DescriptorField& field : explained.fields) {
    name_width = std::max(name_width, field.name.size());
    bits_width = std::max(bits_width, field.bits.size());
    value_width = std::max(value_width, fmt::formatted_size("{:#x}", field.value));
  }
  fmt::print("{}  {}\n\n", hex(bits, explained.width), explained.what);
  for (const DescriptorField& field : explained.fields) {
    std::string line = fmt::format("  {:>{}}  {:<{}}  {:>#{}x}  {}", field.bits, bits_width, field.name,
                                   name_width, field.value, value_width, field.meaning);
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
  if (!explained.problem.empty())
    fmt::print("\nwrong: {}\n", explained.problem);
  if (!explained.product.empty())
    fmt::print("\nproduct: {0}\n  explained: lemma isa {0}\n  drawn:     lemma layout {0}\n",
               explained.product);
}

nlohmann::json to_json(uint64_t bits, const DescriptorExplanation& explained) {
  nlohmann::json fields = nlohmann::json::array();
  for (const DescriptorField& field : explained.fields)
    fields.push_back(
        {{"name", field.name}, {"bits", field.bits}, {"value", field.value}, {"meaning", field.meaning}});
  nlohmann::json object = {{"descriptor", hex(bits, explained.width)},
                           {"what", explained.what},
                           {"fields", std::move(fields)},
                           {"wrong", nullptr},
                           {"product", nullptr}};
  if (!explained.problem.empty())
    object["wrong"] = explained.problem;
  if (!explained.product.empty())
    object["product"] = explained.product;
  return object;
}

int run_descriptor(const DescriptorOptions& options) {
  const auto bits = number(options.value);
  if (!bits)
    return refuse(options.json, fmt::format("{} is no descriptor; legal: a number below 2^64, in hexadecimal "
                                            "after 0x or in decimal",
                                            options.value));
  DescriptorQuery query{.bits = *bits,
                        .of = options.of,
                        .mn_major = options.major == "mn",
                        .a_in_tensor_memory = options.a_in_tensor_memory};
  if (!options.operand.empty())
    query.operand = kOperands.at(options.operand);
  const auto explained = explain_descriptor(query);
  if (!explained)
    return refuse(options.json,
                  explained.error().text + (options.of.empty() ? "\n  lemma descriptor --help" : ""));
  if (options.json)
    JsonOutput().print(to_json(*bits, *explained));
  else
    print_text(*bits, *explained);
  return explained->problem.empty() ? kSuccess : kFailed;
}

} // namespace

Command add_descriptor(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "descriptor", "explain a descriptor of wgmma or tcgen05 field by field, and what is wrong with it");
  const auto o = std::make_shared<DescriptorOptions>();
  app->add_option("VALUE", o->value, "its bits, 0x08100490")->required();
  app->add_option("--of", o->of, "of which instruction (default: a matrix descriptor, by its version)")
      ->type_name("WHOSE");
  app->add_option("--operand", o->operand,
                  "tcgen05: idesc, a-desc, b-desc, s-desc or zero-column-mask-desc (default: idesc if it "
                  "fits 32 bits)")
      ->check(CLI::IsMember({"idesc", "a-desc", "b-desc", "s-desc", "zero-column-mask-desc"}).description(""))
      ->type_name("OPERAND");
  app->add_option("--major", o->major, "a matrix: the dimension that is contiguous, k (default) or mn")
      ->check(CLI::IsMember({"k", "mn"}).description(""))
      ->type_name("MAJOR");
  app->add_flag("--a-in-tensor-memory", o->a_in_tensor_memory, "idesc: A is in tensor memory");
  app->add_flag("--json", o->json, "print one JSON object instead");
  app->footer(kDescriptorFooter);
  return {app, [o] { return run_descriptor(*o); }};
}

} // namespace lemma::cli
