// Directives, attributes and pragmas: each use against its row (isa/directive.h), and what rows cannot say -
// which of them need or exclude each other, and what an alias stands for. PTX ISA: "Directives",
// "Descriptions of pragma Strings".
#include "verify/verifier.h"

#include "isa/directive.h"
#include "ptx/parameters.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::verify {
namespace {

using isa::Directive;
using ptx::Linkage;

class DirectiveCheck {
public:
  explicit DirectiveCheck(Context& context) : context_(context), module_(context.module) {}

  void run() {
    for (const ptx::DirectiveUse& use : module_.directives)
      check_use(use);
    for (const Function& f : module_.functions) {
      check_bounds(f);
      check_defined(f);
    }
    for (const ptx::Alias& alias : module_.aliases)
      check_alias(alias);
  }

private:
  Diagnostic& error(std::string_view id, SourceRange range, std::string message) {
    return context_.error(id, range, std::move(message));
  }

  static std::string name_of(const Directive& directive) {
    return directive.kind == Directive::Kind::pragma ? fmt::format("pragma \"{}\"", directive.name)
                                                     : std::string(directive.name);
  }

  void check_use(const ptx::DirectiveUse& use) {
    const Directive& row = *use.directive;
    const std::string name = name_of(row);
    const Note see = {"see", fmt::format("PTX ISA, #{}", row.section)};
    const auto told = [&](std::string_view id, std::string message, std::string legal) {
      Diagnostic& d = error(id, use.range, std::move(message));
      d.notes.push_back({"legal", std::move(legal)});
      d.notes.push_back(see);
    };
    if (!(row.places & use.place))
      told("directive-place", fmt::format("{} stands at {}", name, isa::names_of_places(use.place)),
           isa::names_of_places(row.places));
    else if (Diagnostic* d = context_.refuse({row.since, row.targets}, name, use.range))
      d->notes.push_back(see);
    else if (row.until.major && context_.version > row.until)
      told("ptx-version", fmt::format("{} is gone since PTX {}.{}", name, row.until.major, row.until.minor),
           fmt::format(".version {}.{} at most", row.until.major, row.until.minor));
    else if (row.kind == Directive::Kind::pragma)
      check_pragma(row, use.range);
  }

  // What stands behind the words of those that take a number.
  void check_pragma(const Directive& row, SourceRange range) {
    const bool counts = row.name == "frequency";
    if (!counts && row.name != "used_bytes_mask")
      return;
    std::string_view text = module_.source->slice(range); // with its quotes
    const size_t blank = text.find_first_of(" \t");
    const size_t begin = text.find_first_not_of(" \t", blank);
    text = blank == text.npos ? "" : text.substr(begin, text.size() - 1 - begin);
    const bool is_negative = text.starts_with('-');
    if (is_negative || text.starts_with('+'))
      text.remove_prefix(1);
    const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
    const std::string_view digits = is_hex                  ? "0123456789abcdefABCDEF"
                                    : text.starts_with('0') ? "01234567"
                                                            : "0123456789";
    text.remove_prefix(is_hex ? 2 : 0);
    const bool is_number = !text.empty() && text.find_first_not_of(digits) == text.npos;
    if (is_number && !(counts && (is_negative || text.find_first_not_of('0') == text.npos)))
      return;
    error("pragma", range, fmt::format("{} wants a number{}", name_of(row), counts ? " above 0" : ""))
        .notes.push_back({"legal", fmt::format("\"{} {}\"", row.name, counts ? "100" : "0xff")});
  }

  void check_bounds(const Function& f) {
    const ptx::LaunchBounds& b = f.bounds;
    const bool maxntid = b.maxntid[0] != 0;
    const bool reqntid = b.reqntid[0] != 0;
    const bool cluster = b.reqnctapercluster[0] != 0;
    if (maxntid && reqntid)
      error("launch-bounds", f.range, fmt::format("{} has both .maxntid and .reqntid", f.name));
    if (cluster && b.maxclusterrank)
      error("launch-bounds", f.range,
            fmt::format("{} has both .reqnctapercluster and .maxclusterrank", f.name));
    if (b.blocks_are_clusters && !(reqntid && cluster))
      error("launch-bounds", f.range,
            fmt::format("{} has .blocksareclusters without {}", f.name,
                        reqntid   ? ".reqnctapercluster"
                        : cluster ? ".reqntid"
                                  : ".reqntid and .reqnctapercluster"))
          .notes.push_back({"legal", ".blocksareclusters .reqntid 128 .reqnctapercluster 2"});
  }

  // What is declared here and not .extern is defined here, by a body or by an alias.
  void check_defined(const Function& f) {
    const auto is_it = [&](const ptx::Alias& alias) { return alias.name == f.name; };
    if (f.is_entry || f.has_body || f.linkage == Linkage::extern_ ||
        std::any_of(module_.aliases.begin(), module_.aliases.end(), is_it))
      return;
    error("undefined", f.range, fmt::format("{} is declared, and has no body", f.name))
        .notes.push_back({"legal", "a body, or .extern before .func where another module has it"});
  }

  void check_alias(const ptx::Alias& alias) {
    const Function* name = context_.find_function(alias.name);
    const Function* function = context_.find_function(alias.function);
    if (!name || !function)
      return; // the parser has said so
    const auto told = [&](std::string message, std::string legal) {
      Diagnostic& d = error("alias", alias.range, std::move(message));
      d.notes.push_back({"legal", std::move(legal)});
      d.notes.push_back({"see", "PTX ISA, .alias"});
    };
    if (function->is_entry || name->is_entry)
      told(fmt::format("{} is an entry", function->is_entry ? alias.function : alias.name),
           "an alias of a .func for a .func");
    else if (!function->has_body)
      told(fmt::format("{} has no body in this module", alias.function), "a function that is defined here");
    else if (name->has_body)
      told(fmt::format("{} has a body of its own", alias.name), "a declaration without a body");
    else if (!ptx::same_parameters(*name, *function))
      told(fmt::format("{} has other parameters than {}", alias.name, alias.function),
           "the same parameters and results, in spaces, types, sizes and alignments");
  }

  Context& context_;
  const Module& module_;
};

} // namespace

void check_directives(Context& context) {
  DirectiveCheck(context).run();
}

} // namespace lemma::verify
