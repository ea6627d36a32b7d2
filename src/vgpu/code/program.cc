// Loading a module: where its variables lie, their initial values, and the code of every function.
//
// Shared memory is laid out for each kernel by itself: only what the kernel can reach counts, and variables
// of kernels that share nothing may lie at the same offset.
#include "vgpu/code/program.h"

#include "ptx/attributes.h"
#include "support/align.h"
#include "vgpu/code/decode.h"
#include "vgpu/code/machine.h"
#include "vgpu/engine/spare_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace lemma::vgpu {

using isa::StateSpace;

namespace {

constexpr uint64_t kMostSharedSteps = uint64_t{1} << 24; // of kernels through functions to shared variables
constexpr uint64_t kPoolEntryBytes = 80;                 // of an entry of Program::pool_index_

using Scope = ptx::Operand::SymbolScope;

// Calls f(operand) for an operand and everything inside it.
template <class F>
void for_each_operand(const ptx::Operand& operand, const F& f) {
  f(operand);
  for (const ptx::Operand& elem : operand.elems)
    for_each_operand(elem, f);
}

const ptx::Variable& variable_named(const ptx::Module& module, const ptx::Function& function,
                                    const ptx::Operand& symbol) {
  return symbol.symbol_scope == Scope::function ? function.variables[symbol.symbol]
                                                : module.variables[symbol.symbol];
}

bool is_dynamic_shared(const ptx::Variable& variable) {
  return variable.space == StateSpace::shared && variable.linkage == ptx::Linkage::extern_;
}

} // namespace

uint64_t Code::bytes() const {
  constexpr uint64_t kPlanBytes = 128; // of one, about
  return insts.capacity() * sizeof(DecodedInst) + slots.capacity() * sizeof(Slot) +
         plans.size() * kPlanBytes + inst_to_pc.capacity() * sizeof(uint32_t) +
         registers.capacity() * sizeof(Slot);
}

class ProgramLoader {
public:
  ProgramLoader(Program& program) : program_(program), module_(*program.module_) {}

  std::optional<Diagnostic> run() {
    for (uint32_t i = 0; i < module_.functions.size(); ++i)
      program_.function_index_.emplace(module_.functions[i].name, i);
    for (const ptx::Variable& variable : module_.variables)
      if (auto problem = allocate(variable))
        return problem;
    for (const ptx::Function& function : module_.functions)
      for (const ptx::Variable& variable : function.variables)
        if (auto problem = allocate(variable))
          return problem;
    if (auto problem = lay_out_shared())
      return problem;
    if (auto problem = initialize())
      return problem;
    for (size_t i = 0; i < module_.functions.size(); ++i) {
      Code& code = *program_.codes_[i];
      code.shared_bytes = shared_bytes_[i];
      if (module_.functions[i].has_body) {
        if (auto problem = decode_function(program_, code))
          return problem;
        program_.taken_.take(code.bytes(), "the code of " + module_.functions[i].name);
      }
    }
    finish_constants();
    return std::nullopt;
  }

private:
  using NamedAllocations = std::unordered_map<std::string_view, const Allocation*>;

  static bool in_device_memory(const ptx::Variable& variable) {
    return variable.space == StateSpace::global || variable.space == StateSpace::const_;
  }

  std::optional<Diagnostic> allocate(const ptx::Variable& variable) {
    if (is_dynamic_shared(variable))
      program_.dynamic_shared_align_ = std::max(program_.dynamic_shared_align_, variable.align);
    if (!in_device_memory(variable))
      return std::nullopt;
    const uint64_t bytes = std::max<uint64_t>(variable.size_bytes, 1);
    std::string name = fmt::format(".{} {}", isa::to_string(variable.space), variable.name);
    GlobalMemory& memory = *program_.memory_;
    Allocation* allocation = ptx::is_managed(variable) ? memory.allocate_host_shared(bytes, std::move(name))
                                                       : memory.allocate(bytes, std::move(name));
    if (!allocation)
      return Diagnostic{Severity::error,
                        "memory",
                        fmt::format("no memory for {} ({} bytes)", variable.name, variable.size_bytes),
                        variable.range,
                        {}};
    allocation->read_only = variable.space == StateSpace::const_;
    program_.allocations_[&variable] = allocation;
    return std::nullopt;
  }

  std::optional<Diagnostic> initialize() {
    for (const ptx::Variable& variable : module_.variables)
      if (const auto found = program_.allocations_.find(&variable); found != program_.allocations_.end())
        globals_.emplace(variable.name, found->second);
    for (const ptx::Variable& variable : module_.variables)
      if (auto problem = initialize(variable, {}))
        return problem;
    for (const ptx::Function& function : module_.functions) {
      NamedAllocations locals; // those of an inner scope come later, and hide the ones before
      for (const ptx::Variable& variable : function.variables) {
        if (const auto found = program_.allocations_.find(&variable); found != program_.allocations_.end())
          locals[variable.name] = found->second;
        if (auto problem = initialize(variable, locals))
          return problem;
      }
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> initialize(const ptx::Variable& variable, const NamedAllocations& locals) {
    const auto it = program_.allocations_.find(&variable);
    if (it == program_.allocations_.end())
      return std::nullopt;
    const int bytes = isa::bytes_of(variable.type);
    uint64_t offset = 0;
    for (const ptx::InitValue& value : variable.init) {
      uint64_t bits = value.bits;
      if (!value.symbol.empty()) {
        const std::optional<uint64_t> address = address_of(value.symbol, locals);
        if (!address)
          return Diagnostic{Severity::error,
                            "initializer",
                            fmt::format("initializer of {} takes the address of {}, which has none",
                                        variable.name, value.symbol),
                            value.range,
                            {}};
        bits = *address + value.addend;
        if (value.mask_shift < 64)
          bits = bits >> value.mask_shift & 0xff;
      }
      if (offset + bytes > it->second->size_bytes)
        break; // the verifier has reported it
      std::memcpy(it->second->host + offset, &bits, std::min(bytes, 8));
      offset += bytes;
    }
    return std::nullopt;
  }

  // `locals`: the variables of the function that the initializer stands in.
  std::optional<uint64_t> address_of(const std::string& name, const NamedAllocations& locals) const {
    for (const NamedAllocations* scope : {&locals, &globals_})
      if (const auto found = scope->find(name); found != scope->end())
        return found->second->base;
    if (const auto found = program_.function_index_.find(name); found != program_.function_index_.end())
      return program_.function_address(module_.body_of(found->second));
    return std::nullopt;
  }

  // Which static shared variables each function uses itself, and which functions it may call.
  struct Uses {
    std::set<const ptx::Variable*> shared;
    std::set<uint32_t> callees;
    bool calls_anything = false; // an indirect call
  };

  Uses uses_of(const ptx::Function& function) const {
    Uses uses;
    for (const ptx::Instruction& instruction : function.instructions) {
      for (const ptx::Operand& operand : instruction.operands)
        for_each_operand(operand, [&](const ptx::Operand& o) {
          if (o.kind == ptx::OperandKind::symbol &&
              (o.symbol_scope == Scope::function || o.symbol_scope == Scope::module)) {
            const ptx::Variable& variable = variable_named(module_, function, o);
            if (variable.space == StateSpace::shared && !is_dynamic_shared(variable))
              uses.shared.insert(&variable);
          }
          if (o.kind == ptx::OperandKind::function)
            uses.callees.insert(module_.body_of(o.symbol));
        });
      uses.calls_anything |= instruction.opcode == isa::Opcode::call &&
                             instruction.operands[0].kind != ptx::OperandKind::function;
    }
    return uses;
  }

  // Functions that use static shared memory, or lead to one that does: the others need not be walked.
  std::vector<bool> leading_to_shared(const std::vector<Uses>& uses) const {
    const size_t count = uses.size();
    std::vector<std::vector<uint32_t>> callers(count);
    std::vector<uint32_t> stack, indirect_callers;
    std::vector<bool> leads(count, false);
    const auto add = [&](uint32_t f) {
      if (!leads[f])
        stack.push_back(f);
      leads[f] = true;
    };
    for (uint32_t f = 0; f < count; ++f) {
      for (const uint32_t callee : uses[f].callees)
        callers[callee].push_back(f);
      if (uses[f].calls_anything)
        indirect_callers.push_back(f);
      if (!uses[f].shared.empty())
        add(f);
    }
    bool any_callable = false;
    while (!stack.empty()) {
      const uint32_t f = stack.back();
      stack.pop_back();
      for (const uint32_t caller : callers[f])
        add(caller);
      if (!module_.functions[f].is_entry && !std::exchange(any_callable, true))
        for (const uint32_t caller : indirect_callers)
          add(caller);
    }
    return leads;
  }

  // Kernels that reach each variable. False: there is too much to walk.
  bool find_users(const std::vector<Uses>& uses) {
    const auto count = static_cast<uint32_t>(module_.functions.size());
    const std::vector<bool> leads = leading_to_shared(uses);
    std::vector<uint32_t> seen_by(count, ptx::kNone); // the last kernel that came there
    uint64_t steps = 0;
    for (uint32_t entry = 0; entry < count; ++entry) {
      if (!module_.functions[entry].is_entry || !leads[entry])
        continue;
      std::vector<uint32_t> stack{entry};
      bool calls_anything = false;
      const auto visit = [&](uint32_t f) {
        if (leads[f] && seen_by[f] != entry)
          stack.push_back(f);
      };
      while (!stack.empty()) {
        const uint32_t f = stack.back();
        stack.pop_back();
        if (std::exchange(seen_by[f], entry) == entry)
          continue;
        steps += uses[f].shared.size() + uses[f].callees.size() + 1;
        if (steps > kMostSharedSteps)
          return false;
        for (const ptx::Variable* variable : uses[f].shared)
          users_[variable].push_back(entry);
        std::for_each(uses[f].callees.begin(), uses[f].callees.end(), visit);
        if (uses[f].calls_anything && !std::exchange(calls_anything, true)) {
          steps += count;
          for (uint32_t g = 0; g < count; ++g) // any function that is no kernel may be called
            if (!module_.functions[g].is_entry)
              visit(g);
        }
      }
    }
    return true;
  }

  std::optional<Diagnostic> lay_out_shared() {
    const auto count = static_cast<uint32_t>(module_.functions.size());
    std::vector<Uses> uses;
    for (const ptx::Function& function : module_.functions)
      uses.push_back(uses_of(function));
    if (!find_users(uses))
      return Diagnostic{Severity::unsupported,
                        "limit",
                        fmt::format("too many kernels of this module ({} functions) share too many functions "
                                    "with shared memory",
                                    count),
                        {},
                        {{"fix", "load the kernels in several modules"}}};
    shared_bytes_.assign(count, kSharedReservedBytes);
    program_.shared_variables_.resize(count);
    const uint64_t most = kSharedReservedBytes + limits_of(program_.arch_).max_shared_bytes_per_cta;
    const auto place = [&](const ptx::Variable& variable) -> std::optional<Diagnostic> {
      if (variable.space != StateSpace::shared || is_dynamic_shared(variable) || users_[&variable].empty())
        return std::nullopt;
      uint64_t offset = kSharedReservedBytes;
      const std::vector<uint32_t>& users = users_[&variable];
      for (const uint32_t entry : users)
        offset = std::max<uint64_t>(offset, shared_bytes_[entry]);
      offset = align_up(offset, std::max<uint32_t>(variable.align, 1));
      if (offset > most || variable.size_bytes > most - offset)
        return too_much_shared(variable, offset, most);
      program_.shared_offsets_[&variable] = static_cast<uint32_t>(offset);
      for (const uint32_t entry : users) {
        shared_bytes_[entry] = static_cast<uint32_t>(offset + variable.size_bytes);
        program_.shared_variables_[entry].push_back(&variable);
      }
      return std::nullopt;
    };
    for (const ptx::Variable& variable : module_.variables)
      if (auto problem = place(variable))
        return problem;
    for (const ptx::Function& function : module_.functions)
      for (const ptx::Variable& variable : function.variables)
        if (auto problem = place(variable))
          return problem;
    return std::nullopt;
  }

  static Diagnostic too_much_shared(const ptx::Variable& variable, uint64_t offset, uint64_t most) {
    return {
        Severity::error,
        "shared-size",
        fmt::format("{} ({} bytes) does not fit: the .shared variables before it take {} bytes of the CTA",
                    variable.name, variable.size_bytes, offset - kSharedReservedBytes),
        variable.range,
        {{"legal", fmt::format("{} bytes of shared memory a CTA", most - kSharedReservedBytes)}}};
  }

  void finish_constants() {
    constexpr size_t kAlign = 64;
    program_.taken_.take(program_.pool_.size() + kAlign, "constants");
    program_.constants_storage_ = std::make_unique<std::byte[]>(program_.pool_.size() + kAlign);
    const auto raw = reinterpret_cast<uintptr_t>(program_.constants_storage_.get());
    program_.constants_ = program_.constants_storage_.get() + (kAlign - raw % kAlign) % kAlign;
    std::copy(program_.pool_.begin(), program_.pool_.end(), program_.constants_);
    program_.taken_.give_back(program_.pool_.size() + program_.pool_index_.size() * kPoolEntryBytes);
    program_.pool_ = {};
    program_.pool_index_ = {};
  }

  Program& program_;
  const ptx::Module& module_;
  NamedAllocations globals_;
  std::unordered_map<const ptx::Variable*, std::vector<uint32_t>> users_; // of .shared ones: kernels
  std::vector<uint32_t> shared_bytes_;                                    // by function; of kernels
};

Result<std::unique_ptr<Program>, Diagnostic> Program::load(std::shared_ptr<const ptx::Module> module,
                                                           GlobalMemory& memory, Arch arch) {
  std::unique_ptr<Program> program(new Program(memory.budget()));
  program->module_ = std::move(module);
  program->memory_ = &memory;
  program->arch_ = arch;
  for (const ptx::Function& function : program->module_->functions) {
    auto code = std::make_unique<Code>();
    code->function = &function;
    code->module = program->module_.get();
    code->number = static_cast<uint32_t>(program->codes_.size());
    program->codes_.push_back(std::move(code));
  }
  if (auto problem = ProgramLoader(*program).run())
    return fail(std::move(*problem));
  return program;
}

Program::~Program() {
  if (memory_)
    memory_->spare_clusters().forget(*this);
  for (const auto& [variable, allocation] : allocations_)
    memory_->free(allocation->base);
}

const Code* Program::find(std::string_view function) const {
  const auto found = function_index_.find(function);
  return found == function_index_.end() ? nullptr : codes_[found->second].get();
}

const Code* Program::code_at(uint64_t address) const {
  const uint64_t index = (address - kFunctionBase) / 16;
  if (address < kFunctionBase || address % 16 != 0 || index >= codes_.size())
    return nullptr;
  return codes_[index].get();
}

const Allocation* Program::allocation_of(const ptx::Variable& variable) const {
  const auto it = allocations_.find(&variable);
  return it == allocations_.end() ? nullptr : it->second;
}

uint32_t Program::shared_offset_of(const ptx::Variable& variable) const {
  const auto it = shared_offsets_.find(&variable);
  return it == shared_offsets_.end() ? kDynamicShared : it->second;
}

std::string Program::describe(const MemoryPlace& place, const Code& entry) const {
  const auto named = [](std::string_view name, uint64_t offset) {
    return offset ? fmt::format("{} + {:#x}", name, offset) : std::string(name);
  };
  if (place.space == StateSpace::global)
    return named(place.allocation->name, place.offset);
  if (place.is_shared()) {
    const auto kernel = static_cast<size_t>(entry.function - module_->functions.data());
    for (const ptx::Variable* variable : shared_variables_[kernel])
      if (const uint32_t offset = shared_offsets_.at(variable);
          place.offset >= offset && place.offset - offset < variable->size_bytes)
        return named(variable->name, place.offset - offset);
    if (place.offset >= entry.shared_bytes)
      return named("dynamic shared memory", place.offset - entry.shared_bytes);
  }
  return name_of(place, place.cta);
}

Slot Program::intern_constant(uint64_t low, uint64_t high, int bytes) {
  const auto [it, added] = pool_index_.try_emplace({low, high, bytes}, 0u);
  if (added) {
    const size_t size = bytes == 0 ? 4 : static_cast<size_t>(bytes) * kWarpSize;
    const size_t offset = (pool_.size() + 63) / 64 * 64;
    if (offset + size > UINT32_MAX)
      throw OverBudget(fmt::format("no memory for constants: a module's may take {} bytes", UINT32_MAX));
    taken_.take(offset + size - pool_.size() + kPoolEntryBytes, "constants");
    pool_.resize(offset + size);
    const uint64_t value[2] = {low, high};
    if (bytes == 0)
      std::memcpy(pool_.data() + offset, &low, 4);
    else
      for (int lane = 0; lane < kWarpSize; ++lane)
        std::memcpy(pool_.data() + offset + static_cast<size_t>(lane) * bytes, value, bytes);
    it->second = static_cast<uint32_t>(offset);
  }
  Slot slot;
  slot.offset = it->second;
  slot.base = 1;
  slot.bytes = static_cast<uint8_t>(bytes);
  return slot;
}

} // namespace lemma::vgpu
