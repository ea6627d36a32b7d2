// Instruction forms: one row states what the assembler accepts for one spelling pattern, and every reader
// (parser, verifier, virtual GPU, docs) takes its facts from the row.
//
// A row is written in the notation of the PTX ISA's own syntax blocks (src/isa/forms/*.inc; notation:
// forms/README.md):
//     FORM("add{.rnd}{.ftz}{.sat}.f32  d, a, b", where("rnd = .rn .rz .rm .rp"), since(1, 0), target(any),
//     ...)
// and read at start-up into slots and operands. The assembler treats qualifiers nearly as a set: types keep
// their order, other classes come in any order. match() accepts that and says so.
//
// What a form does not state: how an instruction executes, and rules that need the module around it
// (src/verify).
//
// Tests: tests/unit/isa/.
#pragma once

#include "isa/binding.h"
#include "isa/target.h"
#include "isa/vocabulary.h"
#include "support/diagnostic.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lemma::isa {

// A dotted word of a form: a literal, or a class of alternatives. Exactly one of `quals` and `types` is
// filled.
struct Slot {
  std::string name; // of the class: "rnd"; a literal's own spelling: ".rn"
  std::vector<Qual> quals;
  std::vector<Type> types;
  bool optional = false;
  // Index into Form::group_parents of the { } the slot is in, -1 for none: a group is written whole or not at
  // all.
  int8_t group = -1;
  bool fixed = false; // the assembler takes the word only at this place, right after the opcode
  // The assembler does without it: always, or up to a PTX version.
  bool may_lack = false;
  IsaVersion lack_until = {};

  bool is_type() const { return !types.empty(); }
  bool has(Qual qual) const;
  bool has(Type type) const;
  friend bool operator==(const Slot&, const Slot&) = default;
};

// Which parts of a register an operand of a video instruction may name.
enum class Selects : uint8_t {
  none,
  part,   // %r1.b0 .. .b3, .h0, .h1
  mask2,  // .h0 .h1 .h10: what is written
  mask4,  // .b0 .. .b3210, from the highest down
  halves, // .hxy: any two of the four halves of two registers
  bytes,  // .bxyzw: any four of their eight bytes
};
// What ptx::Operand::component says: .x to .w are 0 to 3, .b0 to .b3 follow, then .h0 and .h1, then lists of
// halves and of bytes.
inline constexpr int8_t kFirstByte = 4;
inline constexpr int8_t kFirstHalf = 8;
inline constexpr int8_t kHalfList = 10;
inline constexpr int8_t kByteList = 11;

// What may stand at an operand's place.
struct OperandSpec {
  enum class Kind : uint8_t {
    data,     // a register of `type`, unless forbidden an immediate; a vector of them when `elems` or
              // `elems_slot` says so
    address,  // [a], [a, b...]
    label,    // a branch target
    function, // the callee
    list,     // arguments of a call
    proto,    // a .callprototype, .calltargets or .branchtargets name
  };

  std::string name; // as in the row
  Kind kind = Kind::data;
  bool written = false;    // a destination
  int8_t group = -1;       // optional operands: those of one { } are written whole or not at all
  bool has_second = false; // p|q: a second destination, a predicate
  bool second_optional = false;

  // Data: the type is `type`, or that of slot `type_slot`, with twice its width when `widened`.
  Type type = Type::none;
  int8_t type_slot = -1;
  bool widened = false;
  bool wider = false;     // a register wider than the type will do (ld, st, cvt)
  bool same_bits = false; // any register of the type's size will do, floating or not
  bool only = false;      // a register of just this type
  bool fixed = false;     // not as lenient about .f16x2 registers as with the instruction\'s own type
  // Vector length: `elems`, or the number in the qualifier of slot `elems_slot` (.v4, .x2, .2d; with
  // `elems_n` the N of a shape .m64n128k16), times, over (rounded up) and less the rest; 0 and -1: a scalar.
  uint8_t elems = 0;
  int8_t elems_slot = -1;
  bool elems_n = false;
  uint8_t elems_or[2] = {}; // further lengths that will do, of coordinates, of a scalar in braces; 0: none
  uint8_t elems_times = 1;
  uint8_t elems_over = 1;
  uint8_t elems_less = 0;
  uint16_t most_bits = 0; // of the whole vector, 0: any; exactly as many with `exact_bits`
  bool exact_bits = false;
  bool negatable = false; // {!}c
  bool immediate = true;  // an immediate will do
  bool reg = true;        // a register will do; false: an immediate only
  bool special = false;   // a special register will do
  bool symbol = false;    // the address of a variable or function will do
  bool sink = false;      // _ will do
  bool no_sinks = false;  // not even for an element of a written vector
  bool holes = false;     // _ will do for some elements of a source: these bytes stay as they are
  bool plain = false;     // no special register, not even as an element of a vector
  bool offset = false;    // address: [a+4]
  Selects selects = Selects::none;
  bool ranged = false; // an immediate must lie in [min, max], in steps of `step`
  int64_t min = 0;
  int64_t max = 0;
  int64_t step = 1;            // from `min` on when min < 0, else from 0
  std::vector<int64_t> one_of; // an immediate must be one of these; empty: any

  // Address: the space of slot `space_slot`, else `space`.
  int8_t space_slot = -1;
  StateSpace space = StateSpace::generic;
  bool tensor_memory = false;     // [taddr]: a 32-bit register
  bool bare = false;              // no offset
  std::vector<OperandSpec> parts; // after the base: [map, {coords}]

  // An optional operand is there just when the slot is filled, with `if_qual` unless that is none; -1: no
  // such tie.
  int8_t if_slot = -1;
  Qual if_qual = Qual::none;

  friend bool operator==(const OperandSpec&, const OperandSpec&) = default;
};

struct MatrixRow;

// Since when and where something is there, beyond what a form says.
struct Need {
  IsaVersion since;
  TargetSet targets;
};
// That of a word of one form, or of two together.
struct WordNeed {
  Qual qual = Qual::none; // one of these, or both
  Type type = Type::none;
  Need need;
};

struct Form {
  Opcode opcode = Opcode::none;
  const MatrixRow* matrix = nullptr; // the row of the catalogue that it is made of; null: of a scalar row
  // As in the scalar row, which is of the program; empty of a matrix instruction. For people there are
  // syntax_of() and where_of().
  std::string_view syntax;
  std::string_view where;
  std::vector<Slot> slots;           // in the ISA's order
  std::vector<int8_t> group_parents; // of nested { { } }; -1: outermost
  std::vector<OperandSpec> operands;
  TargetSet targets;
  IsaVersion since;
  IsaVersion until; // the last version that has the form on `until_targets`; 0.0: all have it
  TargetSet until_targets;
  std::vector<WordNeed> needs; // of its words, beyond need_of()
  std::string_view section;    // anchor in the PTX ISA document, without #
};

// The form in the notation of src/isa/forms/README.md: "add{.rnd}.f32  d, a, b", and what its classes may be:
// "rnd = .rn .rz".
std::string syntax_of(const Form& form);
std::string where_of(const Form& form);

// Null: nothing beyond the form.
const Need* need_of(Qual qual);
const Need* need_of(Type type);
const Need& need_of(SpecialRegister sreg);

// Whether a module of this version for this target may use the form.
bool is_available(const Form& form, IsaVersion version, Target target);

// "PTX ISA, redux.sync (since PTX 7.0, sm_80 and up)".
std::string citation(const Form& form);

// All forms, in table order; and those of one opcode. An opcode's are made on the first call that needs them.
std::span<const Form> forms();
std::span<const Form* const> forms_of(Opcode opcode);

// What a row of the tables says wrongly; empty when all rows are well, which the build checks
// (check_rows.cc).
std::span<const std::string> row_errors();

// Of an operand: its type (none: it is no data), the elements of its vector (0: a scalar), and the state
// space of an address.
Type type_of(const OperandSpec& spec, const Binding& binding);
int elems_of(const OperandSpec& spec, const Binding& binding);
StateSpace space_of(const OperandSpec& spec, const Binding& binding);
// Data's type as its registers have it: type_of(), with twice the width where the operand is `widened`.
Type value_type(const OperandSpec& spec, const Binding& binding);

// What the operands are of an instruction that has `count` of them: those of the form without the optional
// ones that it goes without. Where several would do, the first ones are left out. Empty: it has another
// number.
std::vector<const OperandSpec*> specs_of(const Binding& binding, size_t count);

// One dotted word of an instruction as written: "add", "rn", "f32".
struct Word {
  std::string_view text;
  SourceRange range;
};

struct Match {
  // To every form whose qualifiers fit, most specific first; never empty. Operands decide among them:
  // choose().
  std::vector<Binding> bindings;
  Opcode opcode = Opcode::none;
  Diagnostics warnings; // qualifiers out of the ISA's order, or that the assembler passes over
  // A last word that no form has any more, and the last PTX version that took it; none: there is none.
  Qual gone = Qual::none;
  IsaVersion gone_after;
};

// Resolves opcode and qualifiers; the diagnostic names the word that fits no form and what would.
Result<Match, Diagnostic> match(std::span<const Word> words);

// Whether words that match() has refused may be legal in a PTX version that is not known yet. Not so a word
// that is one of those known misspelt, a shape or a type that no version has there, and known words in the
// wrong place or too few.
bool may_come_later(std::span<const Word> words, const Diagnostic& refusal);

// match() for the words of one text, remembered by spelling: a kernel repeats a few hundred spellings many
// times. Not for several threads at once.
class MatchCache {
public:
  // `dotted` is the whole spelling, "add.rn.f32", that stands at byte `begin` of the source. Null: `error`
  // says why. The result lives as long as the cache; its warnings are placed relative to byte 0: shift them
  // by `begin`. `later`: may_come_later() of it.
  const Match* find(std::string_view dotted, uint32_t begin, Diagnostic& error, bool* later = nullptr);
  size_t size() const { return known_.size(); } // spellings known so far

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::unordered_map<std::string, std::unique_ptr<const Match>, Hash, std::equal_to<>> known_;
};

// An operand as the forms see it: what kind of thing stands there and its type, not which.
struct OperandShape {
  enum class Kind : uint8_t {
    reg,
    imm_int,
    imm_f32, // 0f3f800000
    imm_f64, // 1.0, 0d...
    sreg,
    symbol, // the address of a variable
    function,
    label,
    vector,  // children: the elements
    pair,    // children: d and p of d|p
    address, // children: the base, then the further parts of [a, b]
    sink,
    proto,
  };
  Kind kind = Kind::reg;
  bool negated = false;
  bool offset = false;      // address: [a+4]; reg: %r1+4
  int8_t selector = -1;     // as ptx::Operand::component, from .b0 on; of several, `value` is which
  Type type = Type::none;   // reg, sreg
  uint8_t vector_elems = 1; // of a register declared .v2, .v4
  StateSpace space = StateSpace::generic; // symbol: where the variable lives
  int64_t value = 0;                      // imm_int; selector; sreg: 1 if fewer bits of it can be read too;
                                          // vector: 1 if it is %tid, whole
  uint16_t first_child = 0;               // index into OperandShapes::nodes
  uint16_t children = 0;
};

// Operands of one instruction: the first `count` nodes, then their children.
struct OperandShapes {
  std::vector<OperandShape> nodes;
  size_t count = 0;
};

// Why operands do not fit a form.
struct OperandFault {
  enum class Kind : uint8_t {
    none,
    count,
    kind,
    type,
    length,
    size,
    range,
    negation,
    written,
    special,
    symbol,
    space,
    expression
  };
  Kind kind = Kind::none;
  int operand = -1;                  // index of the operand at fault; -1: their number
  int child = -1;                    // element of a vector, pair or address
  const OperandSpec* spec = nullptr; // what should stand there
};

// Whether the operands fit; `fault`, if given, says where they do not.
bool operands_fit(const Form& form, const Binding& binding, const OperandShapes& shapes,
                  OperandFault* fault = nullptr);

// Of the forms of a match the one that the operands select: the first that they fit, else the one that they
// come nearest to, so that src/verify can say what is wrong.
struct Choice {
  const Binding* binding = nullptr; // never null; of the match
  bool fits = false;
};
Choice choose(const Match& match, const OperandShapes& shapes);

} // namespace lemma::isa
