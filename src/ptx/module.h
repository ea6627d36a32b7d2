// The typed PTX module: what the parser makes, the printer prints, the verifier checks and the virtual GPU
// decodes.
//
// Everything a name can mean is resolved here: a register operand is an index into its function's register
// table, a label is an instruction index, an instruction is an opcode with qualifiers that its form allows.
// Block scopes
// `{ ... }` are kept as a tree so that the text can be printed again, but the instructions lie flat.
// Nothing here knows how an instruction executes.
//
// PTX ISA: "PTX Source Module", "State Spaces, Types, and Variables", "Instruction Operands", "Directives".
// Tests: tests/unit/ptx/.
#pragma once

#include "isa/binding.h"
#include "ptx/operand.h"
#include "support/source.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lemma::isa {
struct Directive;
class MatchCache;
} // namespace lemma::isa

namespace lemma::ptx {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;

struct PtxVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const PtxVersion&, const PtxVersion&) = default;
};

enum class Linkage : uint8_t { none, extern_, visible, weak, common };

// A value in an initializer: bits, or the (possibly generic) address of a symbol plus an offset, or a byte of
// such an address (`mask(symbol)` as nvcc emits for packed structs).
struct InitValue {
  uint64_t bits = 0; // little-endian value of the element when `symbol` is empty
  std::string symbol;
  bool generic = false;    // generic(symbol)
  int64_t addend = 0;      // bytes
  uint8_t mask_shift = 64; // 0xFF00(symbol): the byte at bit 8, 0 .. 56; 64: the whole address
  SourceRange range;
};

// A module-scope or function-scope variable, a kernel or function parameter.
struct Variable {
  std::string name;
  StateSpace space = StateSpace::global;
  Type type = Type::b8; // element type
  int vector_elems = 1; // .v2, .v4
  std::vector<uint64_t>
      dims; // empty: a scalar. A first dimension of 0 is `[]` (extern shared, or sized by its initializer)
  bool is_array = false;
  uint32_t align = 0; // bytes; 0 never occurs after parsing (natural alignment is filled in)
  uint64_t size_bytes = 0;
  Linkage linkage = Linkage::none;
  std::vector<InitValue> init; // element by element, in memory order; shorter than the array: zeros follow
  // Kernel parameters: .ptr .space .align N
  bool is_pointer = false;
  StateSpace pointee_space = StateSpace::generic;
  Type pointee_type = Type::none; // .ptr .texref
  uint32_t pointee_align = 0;
  std::vector<std::string> attributes; // .attribute(.managed, .unified(1, 2)): ".managed", ".unified(1, 2)"
  std::string opaque_init; // .texref, .samplerref, .surfref: the initializer's text with its braces
  // Function scope only. `reg`: a parameter in the .reg space is this register of its function.
  uint32_t scope = 0;    // index into Function::scopes
  uint32_t position = 0; // index of the instruction that follows the declaration
  uint32_t reg = kNone;
  SourceRange range;
};

// A register of a function, after `<N>` ranges are expanded: there may be a million.
struct Register {
  uint32_t stem = 0;       // of the name: index into Function::register_stems
  uint32_t number = kNone; // what follows it: %r<100> has %r0 to %r99; kNone: nothing
  Type type = Type::b32;
  uint8_t vector_elems = 1; // .reg .v4 .f32
  uint32_t scope = 0;
  uint32_t position = 0; // index of the instruction that follows the declaration
};

// @p or @!p
struct Guard {
  uint32_t reg = kNone;
  bool negated = false;
};

// What .loc says: file, line, column, and for inlined code the function and the place it was inlined at.
struct LineLocation {
  uint32_t file = 0; // key of Module::files
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t inlined_at = kNone;  // index into Module::locations
  std::string inlined_function; // "label" or "label+n" of .debug_str: debug_strings.h
  // .loc_intermediate: the same place in a language between; file 0: it is not given.
  uint32_t intermediate_file = 0;
  uint32_t intermediate_line = 0;
  uint32_t intermediate_column = 0;
};

struct Instruction {
  // What its words mean and which form its operands chose: never null. Instructions of one spelling share it;
  // it is the module's (Module::spellings).
  const isa::Binding* binding = &isa::kUnbound;
  Operands operands; // destinations first, as written. call: see CallOperands below
  Guard guard;
  uint32_t location = kNone; // index into Module::locations: the .loc in force
  uint32_t scope = 0;
  SourceRange range; // opcode to semicolon
  Opcode opcode = Opcode::none;
  bool fits = false; // the operands are the form's; else src/verify says which is not

  // Null: the parser did not understand the instruction, which may be of a later PTX version. It has neither
  // opcode nor operands, and Lemma does not execute it.
  const isa::Form* form() const { return binding->form; }
  const std::vector<Qual>& quals() const { return binding->quals; } // in the ISA's order, types not included
  const std::vector<Type>& types() const { return binding->types; } // in the order written
  Type type(size_t index = 0) const { return index < types().size() ? types()[index] : Type::none; }
  bool has(Qual qual) const {
    for (const Qual q : quals())
      if (q == qual)
        return true;
    return false;
  }
  // The first of `choices` that this instruction has, else `otherwise`.
  Qual one_of(std::initializer_list<Qual> choices, Qual otherwise = Qual::none) const {
    for (const Qual c : choices)
      if (has(c))
        return c;
    return otherwise;
  }
};

static_assert(sizeof(Instruction) <= 48, "a kernel may have millions");

// Operands of `call`: [0] the callee (function, or reg for an indirect call), [1] a vector of return
// arguments, [2] a vector of arguments, [3] the prototype or target list of an indirect call, if there is
// one. An argument is reg, imm or a .param symbol.

struct Label {
  std::string name;
  uint32_t scope = 0;
  uint32_t target = 0; // index of the instruction that follows; == instructions.size() at the end of the body
  SourceRange range;
};

// { ... } in a body. Scope 0 is the body itself.
struct Scope {
  uint32_t parent = kNone;
  uint32_t begin = 0; // instruction indices, half open
  uint32_t end = 0;
};

// name: .callprototype (ret) _ (params) .noreturn ;
struct Prototype {
  std::string name;
  std::vector<Variable> returns;
  std::vector<Variable> params;
  bool noreturn = false;
  uint32_t abi_preserve = 0; // .abi_preserve N, .abi_preserve_control N; 0: not given
  uint32_t abi_preserve_control = 0;
  uint32_t scope = 0;
  uint32_t position = 0; // index of the instruction that follows
};

// name: .branchtargets a, b; (labels) or name: .calltargets f, g; (functions)
struct TargetList {
  std::string name;
  bool is_call = false;
  std::vector<uint32_t> labels;   // instruction indices
  std::vector<std::string> names; // as written
  uint32_t scope = 0;
  uint32_t position = 0; // index of the instruction that follows
};

// .maxntid and friends. 0: not given.
struct LaunchBounds {
  std::array<uint32_t, 3> maxntid{};
  std::array<uint32_t, 3> reqntid{};
  std::array<uint32_t, 3> reqnctapercluster{};
  bool explicit_cluster = false;
  uint32_t maxclusterrank = 0;
  uint32_t minnctapersm = 0;
  uint32_t maxnctapersm = 0;
  uint32_t maxnreg = 0;
  uint32_t abi_preserve = 0;
  uint32_t abi_preserve_control = 0;
  bool blocks_are_clusters = false;
  bool noreturn = false;
  std::optional<uint32_t> min_per_cta_memory_bytes; // .minperctamemory, of which 0 is something
};

// .pragma "nounroll"; between the instructions of a body.
struct BodyPragma {
  std::string text;
  uint32_t scope = 0;
  uint32_t position = 0; // index of the instruction that follows
  uint32_t label =
      0; // index of the label that follows: it matters on which side of a loop's label "nounroll" stands
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool has_body = false;
  Linkage linkage = Linkage::none;
  std::vector<Variable> returns; // .func (.reg/.param ...) name
  std::vector<Variable> params;
  LaunchBounds bounds;
  std::vector<std::string> attributes; // as Variable::attributes
  std::vector<std::string> pragmas;    // those between the parameters and the body
  std::vector<std::string> languages;  // .language, as written: "\"cuda c++\"", "10"
  std::vector<BodyPragma> body_pragmas;
  // All tables below are in the order of the text; scopes in the order in which they open.
  std::vector<Scope> scopes;               // [0] is the body
  std::vector<std::string> register_stems; // one a declaration
  std::vector<Register> registers;
  std::vector<Variable> variables; // .local, .shared, .param, .const, .global declared inside
  std::vector<Label> labels;
  std::vector<Prototype> prototypes;
  std::vector<TargetList> target_lists;
  std::vector<Instruction> instructions;
  // Of a text for a later PTX version what is not understood, as written: instructions by their index, and
  // what stands between the parameters and the body.
  std::map<uint32_t, std::string> unknown_instructions;
  std::vector<std::string> unknown_directives;
  uint32_t alias_of = kNone; // of an .alias: the function, in Module::functions, that it stands for
  // The first so many of the registers and variables are Module::thread_variables.
  uint32_t thread_registers = 0;
  uint32_t thread_variables = 0;
  SourceRange range;

  // As spelled: "%r12".
  std::string register_name(uint32_t index) const {
    const Register& reg = registers[index];
    return reg.number == kNone ? register_stems[reg.stem]
                               : register_stems[reg.stem] + std::to_string(reg.number);
  }
};

struct FileEntry {
  std::string name;
  uint64_t timestamp = 0;
  uint64_t size_bytes = 0;
};

// A directive, attribute or pragma of which isa::directives() knows since when, on which targets and where it
// may stand.
struct DirectiveUse {
  const isa::Directive* directive = nullptr;
  uint8_t place = 0; // of isa::DirectivePlace
  SourceRange range;
};

// .alias name, function;
struct Alias {
  std::string name;
  std::string function;
  SourceRange range = {};
  friend bool operator==(const Alias& a, const Alias& b) {
    return a.name == b.name && a.function == b.function;
  }
};

// .section name { ... }: debug information, kept as text. Of .debug_str, which has the names of inlined
// functions, what the text says: debug_strings.h.
struct DebugSection {
  std::string name;
  std::string text;
  std::string bytes = {};
  std::map<std::string, size_t, std::less<>> labels = {}; // each label's place in `bytes`
};

// A .code_block of .nv_intermediate_source_section: a text that is neither the source nor PTX, but what a
// compiler made of the one on the way to the other.
struct IntermediateSource {
  std::string language; // of .ir_name
  uint32_t file = 0;    // key of Module::files
  std::string text;     // whole lines
};

struct Module {
  std::shared_ptr<const SourceText> source;
  std::shared_ptr<const isa::MatchCache> spellings; // has the instructions' bindings
  PtxVersion version;
  SourceRange version_range;
  std::vector<std::string> targets; // "sm_90a", then options such as "debug", "texmode_independent"
  SourceRange target_range;         // of the first
  int address_size_bits = 64;
  std::vector<Variable> variables;
  // .reg and .local at module scope, in PTX 2.3 and older: each thread has its own, and the functions that
  // follow name them. A function with a body has them at the head of its own tables.
  Function thread_variables;
  // A declaration and the definition that follows are one function, in the place of the declaration: indices
  // hold.
  std::vector<Function> functions;
  std::map<uint32_t, FileEntry> files;
  std::vector<LineLocation> locations;
  std::vector<DebugSection> sections;
  std::vector<IntermediateSource> intermediate_sources;
  std::vector<std::string> pragmas; // at module scope
  std::vector<Alias> aliases;
  std::vector<DirectiveUse> directives; // in the order of the text
  bool lost_declaration = false;        // one of a later PTX version was not understood, and is not here

  // Where the body of a function is: its own place, or that of what it is an alias of.
  uint32_t body_of(uint32_t function) const {
    const uint32_t other = functions[function].alias_of;
    return other == kNone ? function : other;
  }

  const Function* find_function(std::string_view name) const {
    for (const Function& f : functions)
      if (f.name == name)
        return &f;
    return nullptr;
  }
};

} // namespace lemma::ptx
