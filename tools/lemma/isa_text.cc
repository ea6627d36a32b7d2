// A MatrixName as the lines of `lemma isa NAME`: facts of its form, operands, layout formulas, arithmetic. A
// formula is read off the fragment's modes (add_terms), never written by hand. The JSON at the end has the
// same facts.
#include "isa_text.h"

#include "matrix_model.h"
#include "recorded.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>

namespace lemma::cli {
namespace {

using isa::MatrixRow;
using layout::Fragment;
using layout::Matrix;
using layout::Mode;
using layout::Modes;
using nlohmann::json;

// "8 * (lane / 4 % 2)" for each mode that moves the coordinate.
void add_terms(const Modes& modes, std::string_view index, int layout::Coord::* axis, std::string& text) {
  int before = 1;
  for (size_t i = 0; i < modes.size(); ++i) {
    const Mode& mode = modes[i];
    const int stride = mode.stride.*axis;
    bool last = true;
    for (size_t j = i + 1; j < modes.size(); ++j)
      last = last && modes[j].size == 1;
    if (mode.size > 1 && stride != 0) {
      std::string term(index);
      if (before > 1)
        term += fmt::format(" / {}", before);
      if (!last)
        term += fmt::format(" % {}", mode.size);
      if (stride != 1)
        term = term == index ? fmt::format("{} * {}", stride, term) : fmt::format("{} * ({})", stride, term);
      text += text.empty() ? "" : " + ";
      text += term;
    }
    before *= mode.size;
  }
}

std::string formula(const Fragment& fragment, int layout::Coord::* axis) {
  std::string text;
  add_terms(fragment.lane, "lane", axis, text);
  add_terms(fragment.reg, "r", axis, text);
  add_terms(fragment.elem, "e", axis, text);
  return text.empty() ? "0" : text;
}

std::string_view title_of(const MatrixRow& row) {
  using isa::Opcode;
  switch (row.opcode) {
  case Opcode::wmma_load:
    return "A warp loads a matrix into its fragments.";
  case Opcode::wmma_store:
    return "A warp stores its fragments as a matrix.";
  case Opcode::ldmatrix:
    return "A warp loads matrices from shared memory; each lane gives the address of a row.";
  case Opcode::stmatrix:
    return "A warp stores matrices to shared memory; each lane gives the address of a row.";
  case Opcode::movmatrix:
    return "A warp transposes a matrix across its registers.";
  default:
    break;
  }
  if (row.fragments == isa::FragmentRule::wgmma)
    return "A warpgroup multiplies, asynchronously: D = A * B + D, or A * B. B, and A if it is not in "
           "registers, are "
           "in\nshared memory, where matrix descriptors find them.";
  if (row.fragments == isa::FragmentRule::mma_m8n8k4)
    return "A warp multiplies four times over: D = A * B + C in each group of eight lanes (4i..4i+3 and "
           "16+4i..).";
  if (row.sparse != isa::Qual::none)
    return "A warp multiplies a sparse A: D = A * B + C. Half of A's columns are stored; the metadata says "
           "which.";
  return "A warp multiplies: D = A * B + C.";
}

std::string dims_of(const MatrixOperand& operand, const MatrixRow& row) {
  if (!operand.in_memory)
    return fmt::format("{} x {}", operand.fragment.rows, operand.fragment.cols);
  return fmt::format("{} x {}", row.shape.k, row.shape.n);
}

std::string held(const MatrixOperand& operand) {
  if (operand.in_memory)
    return "shared memory, by matrix descriptor";
  std::string text = fmt::format("{} x .{}", operand.registers.count, isa::to_string(operand.registers.type));
  if (operand.or_in_memory)
    text += ", or shared memory, by matrix descriptor";
  return text;
}

// Of one output: the columns of A that are stored.
int products_of(const MatrixRow& row) {
  return row.sparse == isa::Qual::none ? row.shape.k : row.shape.k / 2;
}

void add_operands(const MatrixName& name, std::string& out) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:<11}{:<12}{:<8}registers of a thread\n", "operand", "elements", "type");
  for (const MatrixOperand& operand : operands_of(name))
    fmt::format_to(to, "  {:<9}{:<12}{:<8}{}\n", operand.name, dims_of(operand, name.exact),
                   isa::to_string(operand.type), held(operand));
}

void add_layout(const MatrixName& name, std::string& out) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "\nlayout: element e (0: lowest bits) of register r of a lane is at\n");
  for (const MatrixOperand& operand : operands_of(name)) {
    if (operand.in_memory)
      continue;
    const Fragment& f = operand.fragment;
    std::string copies;
    if (f.copies() > 1)
      copies = f.registers() == 1 // metadata, scales
                   ? fmt::format("; of the {} copies the selector picks one", f.copies())
                   : fmt::format("; r < {}, the others are copies", f.distinct_registers());
    fmt::format_to(to, "  {:<9} row = {}\n            col = {}{}\n", operand.name, row_formula(f),
                   col_formula(f), copies);
  }
  fmt::format_to(to, "  drawn: lemma layout {}\n", name.spelling);
}

void add_arithmetic(const MatrixName& name, std::string& out) {
  const auto to = std::back_inserter(out);
  bool head = false;
  for (const numeric::Arch arch : numeric::kArchs) {
    const auto model = model_of(name, arch);
    if (!model)
      continue;
    if (!head)
      fmt::format_to(to, "\narithmetic of each machine\n");
    head = true;
    fmt::format_to(to, "  {:<8}{} ({})\n", numeric::to_string(arch),
                   describe(*model, products_of(name.exact)), numeric::to_string(model->evidence));
  }
}

// Other shapes of the same types, dense or sparse as it is, and of its kind.
void add_related(const MatrixName& name, std::string& out) {
  std::vector<std::string> shapes;
  for (const MatrixRow& row : isa::matrix_rows()) {
    const auto same = [&](const isa::TypeSet& a, const isa::TypeSet& b) {
      return a.count == b.count && std::equal(a.begin(), a.end(), b.begin());
    };
    const bool alike_sparse = (row.sparse != isa::Qual::none) == (name.row->sparse != isa::Qual::none);
    if (row.shape == name.row->shape || row.opcode != name.row->opcode || row.matrix != name.row->matrix ||
        !alike_sparse || row.kind != name.row->kind || !same(row.types.d, name.row->types.d) ||
        !same(row.types.a, name.row->types.a) || !same(row.types.b, name.row->types.b) ||
        !same(row.types.c, name.row->types.c))
      continue;
    std::string shape = fmt::format("m{}n{}", row.shape.m, row.shape.n);
    if (row.shape.k != 0) // nothing that only moves has one
      shape += fmt::format("k{}", row.shape.k);
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end())
      shapes.push_back(shape);
  }
  if (!shapes.empty())
    fmt::format_to(std::back_inserter(out), "other shapes    {}\n", fmt::join(shapes, ", "));
}

json target_list(const isa::TargetSet& targets) {
  json list = json::array();
  for (const isa::Target target : targets.any_of)
    list.push_back({{"target", isa::to_string(target)},
                    {"covers", target.suffix == 'f'   ? "family"
                               : target.suffix == 'a' ? "this alone"
                                                      : "this and up"}});
  return list;
}

json to_json(const Checked& checked) {
  if (!checked.any())
    return nullptr;
  return {{"gpu", checked.gpu},
          {"cases", checked.cases},
          {"outputs", checked.outputs},
          {"records", checked.records}};
}

json type_list(const isa::TypeSet& types) {
  json list = json::array();
  for (const isa::Type type : types)
    list.push_back(isa::to_string(type));
  return list;
}

json form_facts(const isa::Form& form) {
  return {{"targets", target_list(form.targets)},
          {"ptx", fmt::format("{}.{}", form.since.major, form.since.minor)},
          {"section", form.section}};
}

// "327,680"
std::string outputs_text(uint64_t outputs) {
  std::string digits = fmt::format("{}", outputs);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

} // namespace

std::string row_formula(const Fragment& fragment) {
  return formula(fragment, &layout::Coord::row);
}

std::string col_formula(const Fragment& fragment) {
  return formula(fragment, &layout::Coord::col);
}

std::string explanation(const MatrixName& name) {
  const isa::Form& form = isa::form_of(*name.row);
  std::string out = fmt::format("{}\n{}\n\n", name.spelling, title_of(*name.row));
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "form            {}\n", pattern_of(*name.row));
  if (!form.operands.empty()) {
    std::string operands;
    for (const isa::OperandSpec& operand : form.operands)
      operands += (operands.empty() ? "" : ", ") + operand.name;
    fmt::format_to(to, "operands        {}\n", operands);
  }
  fmt::format_to(to, "since           PTX ISA {}.{}, {}\n", form.since.major, form.since.minor,
                 isa::to_string(form.targets));
  fmt::format_to(to, "section         https://docs.nvidia.com/cuda/parallel-thread-execution/#{}\n",
                 form.section);
  const Checked& checked = checked_on_hardware(*name.row);
  fmt::format_to(to, "checked         {}{}\n", to_string(checked),
                 checked.any() ? fmt::format(" of all its spellings, {} outputs (tests/golden/{})",
                                             outputs_text(checked.outputs), fmt::join(checked.records, ", "))
                               : "");
  add_related(name, out);
  if (name.row->kind == isa::Qual::kind_f8f6f4 || name.row->kind == isa::Qual::kind_mxf8f6f4)
    out += "containers      elements take 8 bits: e2m1 in bits 2 to 5, e2m3 and e3m2 in bits 0 to 5\n";
  if (name.row->numeric != isa::Numeric::none)
    fmt::format_to(to, "operations      {} a {}\n", isa::flops_of(name.exact),
                   name.row->fragments == isa::FragmentRule::wgmma ? "warpgroup" : "warp");
  add_operands(name, out);
  add_layout(name, out);
  add_arithmetic(name, out);
  return out;
}

std::vector<numeric::Mufu> approximate_functions(const isa::Form& form) {
  static const std::multimap<const isa::Form*, numeric::Mufu> functions_of = [] {
    std::multimap<const isa::Form*, numeric::Mufu> all;
    for (int f = 0; f < numeric::kMufuForms; ++f) {
      const auto function = static_cast<numeric::Mufu>(f);
      std::vector<isa::Word> words;
      for (const auto word : std::views::split(numeric::to_string(function), '.'))
        words.push_back({std::string_view(word.begin(), word.end()), {}});
      if (const auto match = isa::match(words))
        for (const isa::Binding& fits : match->bindings)
          all.emplace(fits.form, function);
    }
    return all;
  }();
  std::vector<numeric::Mufu> functions;
  for (auto [it, end] = functions_of.equal_range(&form); it != end; ++it)
    functions.push_back(it->second);
  return functions;
}

json summary(const MatrixRow& row) {
  json out = form_facts(isa::form_of(row));
  out["name"] = pattern_of(row);
  out["opcode"] = isa::to_string(row.opcode);
  out["shape"] = {{"m", row.shape.m}, {"n", row.shape.n}, {"k", row.shape.k}};
  out["types"] = {{"d", type_list(row.types.d)},
                  {"a", type_list(row.types.a)},
                  {"b", type_list(row.types.b)},
                  {"c", type_list(row.types.c)}};
  out["spellings"] = isa::spellings_of(row).size();
  out["first_spelling"] = isa::spellings_of(row).front();
  out["checked"] = to_json(checked_on_hardware(row));
  return out;
}

json summary(const isa::Form& form) {
  json out = form_facts(form);
  out["syntax"] = isa::syntax_of(form);
  out["where"] = isa::where_of(form);
  out["checked"] = to_json(checked_on_hardware(form));
  for (const numeric::Mufu function : approximate_functions(form))
    out["approximate"].push_back({{"name", numeric::to_string(function)},
                                  {"checked_inputs", numeric::checked_inputs(function)},
                                  {"checked_on", "sm_90"},
                                  {"other_machines", "assumed"}});
  return out;
}

json explained(const MatrixName& name) {
  json out = summary(*name.row);
  out["spelling"] = name.spelling;
  out["shape"]["n"] = name.exact.shape.n;
  out["flops"] = name.row->numeric == isa::Numeric::none ? 0 : isa::flops_of(name.exact);
  json operands = json::array();
  for (const MatrixOperand& operand : operands_of(name)) {
    json entry = {{"name", operand.name}, {"type", isa::to_string(operand.type)}};
    entry["in_memory"] = operand.in_memory      ? json(true)
                         : operand.or_in_memory ? json("or registers")
                                                : json(false);
    if (!operand.in_memory) {
      entry["registers"] = operand.registers.count;
      entry["register_type"] = isa::to_string(operand.registers.type);
      entry["rows"] = operand.fragment.rows;
      entry["cols"] = operand.fragment.cols;
      entry["lanes"] = operand.fragment.lanes();
      entry["row"] = row_formula(operand.fragment);
      entry["col"] = col_formula(operand.fragment);
    }
    operands.push_back(std::move(entry));
  }
  out["operands"] = std::move(operands);
  json machines = json::array();
  for (const numeric::Arch arch : numeric::kArchs)
    if (const auto model = model_of(name, arch))
      machines.push_back({{"arch", numeric::to_string(arch)},
                          {"rule", describe(*model, products_of(name.exact))},
                          {"evidence", numeric::to_string(model->evidence)}});
  out["arithmetic"] = std::move(machines);
  return out;
}

} // namespace lemma::cli
