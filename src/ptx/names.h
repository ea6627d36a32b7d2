// What the names of one function body mean: registers (single, and `%r<100>` ranges without one entry a
// register), variables, parameters, labels, prototypes and target lists, in nested scopes. The innermost
// declaration wins; a lookup takes constant time however deep the scopes are.
//
// PTX ISA: "Identifiers", "Parameterized Variable Names".
// Tests: tests/unit/ptx/names_test.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::ptx {

struct Binding {
  enum class Kind : uint8_t { reg, variable, param, return_param, label, prototype, target_list };
  Kind kind = Kind::reg;
  uint32_t index = 0; // into the function's table of that kind
  uint32_t scope = 0;
};

class ScopedNames {
public:
  // Scopes are numbered by the caller; the one opened last is the current one.
  void open_scope(uint32_t scope);
  void close_scope();

  // False if the current scope has the name already. `name` must outlive the scope.
  bool declare(std::string_view name, Binding::Kind kind, uint32_t index);
  // prefix0 .. prefix<count - 1> as registers first .. first + count - 1; false if a name is taken.
  bool declare_range(std::string_view prefix, uint32_t count, uint32_t first);

  // The innermost binding; false if there is none.
  bool find(std::string_view name, Binding& out) const;
  // The binding of exactly this name in the current scope, ranges not included.
  const Binding* find_here(std::string_view name) const;

  // Names for a message: every exact name, newest first, and at most `at_most` of them.
  std::vector<std::string_view> some_names(size_t at_most) const;
  // "%r0 .. %r99" if `name` is a range's prefix and a number, else empty.
  std::string range_like(std::string_view name) const;

private:
  struct Entry {
    Binding binding;
    std::string_view name;
    uint32_t count = 0; // ranges only
    uint32_t outer = 0; // 1 + index of the entry that this one hides; 0: none
  };
  // From a name to its innermost entry: a table with open addressing, which looks at a name only if the hash
  // is its own; half a million labels are looked up as often as they are declared.
  class Index {
  public:
    // 1 + the index of the entry; 0: there is none.
    uint32_t find(std::string_view name, const std::vector<Entry>& entries) const;
    // Sets what find() says; 0 takes the name out. `entries` has it, at `entry` or where it was until now.
    void set(std::string_view name, uint32_t entry, const std::vector<Entry>& entries);

  private:
    struct Slot {
      uint32_t hash = 0;
      uint32_t entry = 0; // 0: free; kRemoved: was one, and what it pushed away lies behind it
    };
    static constexpr uint32_t kRemoved = UINT32_MAX;
    static uint32_t hash_of(std::string_view name);
    // Where the name is, or the free slot where it belongs.
    size_t place_of(std::string_view name, uint32_t hash, const std::vector<Entry>& entries) const;
    void grow();

    std::vector<Slot> slots_;        // a power of two of them, or none
    size_t used_ = 0;                // not free
    std::array<bool, 256> begins_{}; // by the second character: there is or was a name with that
  };

  void push(Index& index, Entry entry);
  bool range_clashes(std::string_view prefix, uint32_t count, bool digits) const;
  // The innermost range that holds `name`, with the register that it is.
  bool find_in_ranges(std::string_view name, Binding& out) const;

  std::vector<Entry> entries_;
  std::vector<uint8_t> entry_is_range_;
  Index exact_;
  Index ranges_;
  struct Mark {
    uint32_t scope;
    uint32_t first_entry;
  };
  std::vector<Mark> marks_;
  bool digit_prefixes_ = false; // a range such as %r1<10>, whose names need a longer search
};

} // namespace lemma::ptx
