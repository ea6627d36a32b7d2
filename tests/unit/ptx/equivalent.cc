// Field by field, so that a new field of module.h is compared only once it is named here.
#include "equivalent.h"

namespace lemma::ptx {
namespace {

// Compares field by field; the first difference is reported by its path.
class Comparison {
public:
  Comparison(const Module& a, const Module& b) : a_(a), b_(b) {}

  std::string run() {
    check("version", a_.version, b_.version);
    check("targets", a_.targets, b_.targets);
    check("address_size", a_.address_size_bits, b_.address_size_bits);
    check("pragmas", a_.pragmas, b_.pragmas);
    check("aliases", a_.aliases, b_.aliases);
    list("variables", a_.variables, b_.variables, &Comparison::variable);
    list("functions", a_.functions, b_.functions, &Comparison::function);
    list("sections", a_.sections, b_.sections, &Comparison::section);
    list("intermediate_sources", a_.intermediate_sources, b_.intermediate_sources,
         &Comparison::intermediate_source);
    check("files", a_.files.size(), b_.files.size());
    for (const auto& [index, file] : a_.files) {
      const auto it = b_.files.find(index);
      check("file", it != b_.files.end(), true);
      if (it != b_.files.end()) {
        check("file.name", file.name, it->second.name);
        check("file.timestamp", file.timestamp, it->second.timestamp);
        check("file.size", file.size_bytes, it->second.size_bytes);
      }
    }
    return found_;
  }

private:
  template <class T>
  void check(const char* what, const T& a, const T& b) {
    if (found_.empty() && !(a == b))
      found_ = path_ + what;
  }

  template <class List, class T>
  void list(const std::string& what, const List& a, const List& b,
            void (Comparison::*compare)(const T&, const T&)) {
    check((what + ".size()").c_str(), a.size(), b.size());
    for (size_t i = 0; found_.empty() && i < a.size(); ++i) {
      const size_t length = path_.size();
      path_ += what + "[" + std::to_string(i) + "].";
      (this->*compare)(a[i], b[i]);
      path_.resize(length);
    }
  }

  void section(const DebugSection& a, const DebugSection& b) {
    check("name", a.name, b.name);
    check("text", a.text, b.text);
  }

  void intermediate_source(const IntermediateSource& a, const IntermediateSource& b) {
    check("language", a.language, b.language);
    check("file", a.file, b.file);
    check("text", a.text, b.text);
  }

  void init(const InitValue& a, const InitValue& b) {
    check("bits", a.bits, b.bits);
    check("symbol", a.symbol, b.symbol);
    check("generic", a.generic, b.generic);
    check("addend", a.addend, b.addend);
    check("mask_shift", a.mask_shift, b.mask_shift);
  }

  void variable(const Variable& a, const Variable& b) {
    check("name", a.name, b.name);
    check("space", a.space, b.space);
    check("type", a.type, b.type);
    check("vector_elems", a.vector_elems, b.vector_elems);
    check("dims", a.dims, b.dims);
    check("is_array", a.is_array, b.is_array);
    check("align", a.align, b.align);
    check("size_bytes", a.size_bytes, b.size_bytes);
    check("linkage", a.linkage, b.linkage);
    check("is_pointer", a.is_pointer, b.is_pointer);
    check("pointee_space", a.pointee_space, b.pointee_space);
    check("pointee_align", a.pointee_align, b.pointee_align);
    check("attributes", a.attributes, b.attributes);
    check("opaque_init", a.opaque_init, b.opaque_init);
    check("scope", a.scope, b.scope);
    check("position", a.position, b.position);
    check("reg", a.reg, b.reg);
    list("init", a.init, b.init, &Comparison::init);
  }

  void reg(const Register& a, const Register& b) {
    check("type", a.type, b.type);
    check("vector_elems", a.vector_elems, b.vector_elems);
    check("scope", a.scope, b.scope);
    check("position", a.position, b.position);
  }

  void scope(const Scope& a, const Scope& b) {
    check("parent", a.parent, b.parent);
    check("begin", a.begin, b.begin);
    check("end", a.end, b.end);
  }

  void label(const Label& a, const Label& b) {
    check("name", a.name, b.name);
    check("scope", a.scope, b.scope);
    check("target", a.target, b.target);
  }

  void pragma(const BodyPragma& a, const BodyPragma& b) {
    check("text", a.text, b.text);
    check("scope", a.scope, b.scope);
    check("position", a.position, b.position);
    check("label", a.label, b.label);
  }

  void prototype(const Prototype& a, const Prototype& b) {
    check("name", a.name, b.name);
    check("noreturn", a.noreturn, b.noreturn);
    check("abi_preserve", a.abi_preserve, b.abi_preserve);
    check("abi_preserve_control", a.abi_preserve_control, b.abi_preserve_control);
    check("scope", a.scope, b.scope);
    check("position", a.position, b.position);
    list("returns", a.returns, b.returns, &Comparison::variable);
    list("params", a.params, b.params, &Comparison::variable);
  }

  void target_list(const TargetList& a, const TargetList& b) {
    check("name", a.name, b.name);
    check("is_call", a.is_call, b.is_call);
    check("labels", a.labels, b.labels);
    check("names", a.names, b.names);
    check("scope", a.scope, b.scope);
    check("position", a.position, b.position);
  }

  void operand(const Operand& a, const Operand& b) {
    check("kind", a.kind, b.kind);
    check("negated", a.negated, b.negated);
    check("component", a.component, b.component);
    check("imm_kind", a.imm_kind, b.imm_kind);
    check("sreg", a.sreg, b.sreg);
    check("reg", a.reg, b.reg);
    check("bits", a.bits, b.bits);
    check("symbol_scope", a.symbol_scope, b.symbol_scope);
    check("symbol", a.symbol, b.symbol);
    check("offset", a.offset, b.offset);
    list("elems", a.elems, b.elems, &Comparison::operand);
  }

  void location(uint32_t a, uint32_t b) {
    while (a != kNone && b != kNone && found_.empty()) {
      const LineLocation& in_a = a_.locations[a];
      const LineLocation& in_b = b_.locations[b];
      check("location.file", in_a.file, in_b.file);
      check("location.line", in_a.line, in_b.line);
      check("location.column", in_a.column, in_b.column);
      check("location.inlined_function", in_a.inlined_function, in_b.inlined_function);
      a = in_a.inlined_at;
      b = in_b.inlined_at;
    }
    check("location.depth", a == kNone, b == kNone);
  }

  void instruction(const Instruction& a, const Instruction& b) {
    check("opcode", a.opcode, b.opcode);
    check("form", a.form(), b.form());
    check("quals", a.quals(), b.quals());
    check("types", a.types(), b.types());
    check("guard", a.guard.reg, b.guard.reg);
    check("guard.negated", a.guard.negated, b.guard.negated);
    check("scope", a.scope, b.scope);
    list("operands", a.operands, b.operands, &Comparison::operand);
    location(a.location, b.location);
  }

  void bounds(const LaunchBounds& a, const LaunchBounds& b) {
    check("maxntid", a.maxntid, b.maxntid);
    check("reqntid", a.reqntid, b.reqntid);
    check("reqnctapercluster", a.reqnctapercluster, b.reqnctapercluster);
    check("explicit_cluster", a.explicit_cluster, b.explicit_cluster);
    check("maxclusterrank", a.maxclusterrank, b.maxclusterrank);
    check("minnctapersm", a.minnctapersm, b.minnctapersm);
    check("maxnctapersm", a.maxnctapersm, b.maxnctapersm);
    check("maxnreg", a.maxnreg, b.maxnreg);
    check("abi_preserve", a.abi_preserve, b.abi_preserve);
    check("abi_preserve_control", a.abi_preserve_control, b.abi_preserve_control);
    check("blocks_are_clusters", a.blocks_are_clusters, b.blocks_are_clusters);
    check("noreturn", a.noreturn, b.noreturn);
    check("min_per_cta_memory_bytes", a.min_per_cta_memory_bytes, b.min_per_cta_memory_bytes);
  }

  void function(const Function& a, const Function& b) {
    check("name", a.name, b.name);
    check("is_entry", a.is_entry, b.is_entry);
    check("has_body", a.has_body, b.has_body);
    check("linkage", a.linkage, b.linkage);
    check("attributes", a.attributes, b.attributes);
    check("pragmas", a.pragmas, b.pragmas);
    check("languages", a.languages, b.languages);
    bounds(a.bounds, b.bounds);
    list("returns", a.returns, b.returns, &Comparison::variable);
    list("params", a.params, b.params, &Comparison::variable);
    list("body_pragmas", a.body_pragmas, b.body_pragmas, &Comparison::pragma);
    list("scopes", a.scopes, b.scopes, &Comparison::scope);
    list("registers", a.registers, b.registers, &Comparison::reg);
    for (uint32_t i = 0; found_.empty() && i < a.registers.size(); ++i)
      check("register_name", a.register_name(i), b.register_name(i));
    list("variables", a.variables, b.variables, &Comparison::variable);
    list("labels", a.labels, b.labels, &Comparison::label);
    list("prototypes", a.prototypes, b.prototypes, &Comparison::prototype);
    list("target_lists", a.target_lists, b.target_lists, &Comparison::target_list);
    list("instructions", a.instructions, b.instructions, &Comparison::instruction);
  }

  const Module& a_;
  const Module& b_;
  std::string path_;
  std::string found_;
};

} // namespace

std::string difference(const Module& a, const Module& b) {
  return Comparison(a, b).run();
}

} // namespace lemma::ptx
