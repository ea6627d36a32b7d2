// include/lemma/c/isa.h, layout.h and descriptor.h.
#include "capi/messages.h"
#include "lemma/descriptor.h"
#include "lemma/isa.h"

namespace lemma::capi {

static const lemma_target_range* to_c(Arena& arena, const TargetRange& range) {
  return arena.make<lemma_target_range>({.target = arena.text(range.target), .covers = to_c(range.covers)});
}

static const lemma_availability* to_c(Arena& arena, const Availability& availability) {
  auto* made = arena.make<lemma_availability>();
  list(arena, availability.targets, made->target_count, made->targets);
  made->targets_text = arena.text(availability.targets_text);
  made->since_major = availability.since.major;
  made->since_minor = availability.since.minor;
  made->section = arena.text(availability.section);
  return made;
}

static const lemma_hardware_check* to_c(Arena& arena, const HardwareCheck& check) {
  return arena.make<lemma_hardware_check>({.gpu = arena.text(check.gpu),
                                           .cases = check.cases,
                                           .outputs = check.outputs,
                                           .records = arena.strings(check.records)});
}

static const lemma_matrix_instruction* to_c(Arena& arena, const MatrixInstruction& instruction) {
  return arena.make<lemma_matrix_instruction>({.pattern = arena.text(instruction.pattern),
                                               .opcode = arena.text(instruction.opcode),
                                               .title = arena.text(instruction.title),
                                               .m = instruction.m,
                                               .n = instruction.n,
                                               .k = instruction.k,
                                               .d = arena.strings(instruction.d),
                                               .a = arena.strings(instruction.a),
                                               .b = arena.strings(instruction.b),
                                               .c = arena.strings(instruction.c),
                                               .spellings = arena.strings(instruction.spellings),
                                               .availability = to_c(arena, instruction.availability),
                                               .checked = to_c(arena, instruction.checked)});
}

static const lemma_arithmetic_rule* to_c(Arena& arena, const ArithmeticRule& rule) {
  return arena.make<lemma_arithmetic_rule>(
      {.arch = arena.text(rule.arch), .rule = arena.text(rule.rule), .evidence = arena.text(rule.evidence)});
}

static const lemma_matrix_operand* to_c(Arena& arena, const MatrixOperand& operand) {
  auto* elements = arena.array<lemma_fragment_element>(operand.elements.size());
  for (size_t i = 0; i < operand.elements.size(); ++i) {
    const FragmentElement& e = operand.elements[i];
    elements[i] = {.row = e.row, .col = e.col, .lane = e.lane, .reg = e.reg, .elem = e.elem};
  }
  return arena.make<lemma_matrix_operand>({.name = arena.text(operand.name),
                                           .kind = to_c(operand.kind),
                                           .matrix = arena.text({&operand.matrix, 1}),
                                           .type = arena.text(operand.type),
                                           .rows = operand.rows,
                                           .cols = operand.cols,
                                           .in_memory = operand.in_memory,
                                           .or_in_memory = operand.or_in_memory,
                                           .registers = operand.registers,
                                           .register_type = arena.text(operand.register_type),
                                           .lanes = operand.lanes,
                                           .held_registers = operand.held_registers,
                                           .distinct_registers = operand.distinct_registers,
                                           .register_bits = operand.register_bits,
                                           .element_bits = operand.element_bits,
                                           .elems_per_register = operand.elems_per_register,
                                           .copies = operand.copies,
                                           .adjacent_rows = operand.adjacent_rows,
                                           .adjacent_cols = operand.adjacent_cols,
                                           .row_formula = arena.text(operand.row_formula),
                                           .col_formula = arena.text(operand.col_formula),
                                           .element_count = operand.elements.size(),
                                           .elements = elements,
                                           .notes = arena.strings(operand.notes),
                                           .in_tensor_memory = operand.in_tensor_memory,
                                           .lane_formula = arena.text(operand.lane_formula),
                                           .column_formula = arena.text(operand.column_formula)});
}

static const lemma_approximate_function* to_c(Arena& arena, const ApproximateFunction& function) {
  return arena.make<lemma_approximate_function>(
      {.name = arena.text(function.name), .checked_inputs = arena.text(function.checked_inputs)});
}

static const lemma_instruction_form* to_c(Arena& arena, const InstructionForm& form) {
  auto* made = arena.make<lemma_instruction_form>();
  made->syntax = arena.text(form.syntax);
  made->where = arena.text(form.where);
  made->availability = to_c(arena, form.availability);
  made->checked = to_c(arena, form.checked);
  list(arena, form.approximate, made->approximate_count, made->approximate);
  return made;
}

static const lemma_nvgpu_support* to_c(Arena& arena, const NvgpuSupport& support) {
  return arena.make<lemma_nvgpu_support>({.operation = arena.text(support.operation),
                                          .types = arena.text(support.types),
                                          .shape = arena.text(support.shape),
                                          .variant = arena.text(support.variant),
                                          .instruction = arena.text(support.instruction),
                                          .targets = arena.text(support.targets),
                                          .forms = support.forms,
                                          .lower = support.lower,
                                          .pass_ptxas = support.pass_ptxas,
                                          .run = support.run,
                                          .equal = support.equal,
                                          .refused = support.refused});
}

static const lemma_bank_conflicts* to_c(Arena& arena, const BankConflicts& conflicts) {
  return arena.make<lemma_bank_conflicts>({.access = arena.text(conflicts.access),
                                           .phases = conflicts.phases,
                                           .turns = conflicts.turns,
                                           .worst = conflicts.worst});
}

static const lemma_tile_descriptor* to_c(Arena& arena, const TileDescriptor& descriptor) {
  return arena.make<lemma_tile_descriptor>({.k = descriptor.k,
                                            .start = descriptor.start,
                                            .leading = descriptor.leading,
                                            .stride = descriptor.stride,
                                            .swizzle = to_c(descriptor.swizzle),
                                            .bits = descriptor.bits});
}

static const lemma_descriptor_field* to_c(Arena& arena, const DescriptorField& field) {
  return arena.make<lemma_descriptor_field>({.name = arena.text(field.name),
                                             .bits = arena.text(field.bits),
                                             .value = field.value,
                                             .meaning = arena.text(field.meaning)});
}

static std::vector<std::string> words_of(const char* const* words, size_t count) {
  if (count > 0)
    given(words, "words");
  std::vector<std::string> made;
  for (size_t i = 0; i < count; ++i)
    made.emplace_back(&given(words[i], "a word"));
  return made;
}

// A tree that is a list.
template <class C, class From>
static const C* list_tree(const From& from) {
  auto tree = std::make_unique<Tree<C>>();
  list(tree->arena, from, tree->count, tree->items);
  return tree.release();
}

} // namespace lemma::capi

using namespace lemma::capi;

const lemma_strings* lemma_targets(void) {
  return or_null([]() -> const lemma_strings* {
    static const auto targets = [] {
      auto made = std::make_unique<Tree<lemma_strings>>();
      static_cast<lemma_strings&>(*made) = made->arena.strings(lemma::targets());
      return made;
    }();
    return targets.get();
  });
}

void lemma_matrix_instructions_release(const lemma_matrix_instructions* list) {
  release(list);
}

const lemma_error* lemma_list_matrix_instructions(const char* const* words, size_t word_count,
                                                  const lemma_matrix_instructions** list) {
  return guarded([&] {
    given(list, "lemma_list_matrix_instructions: list") =
        list_tree<lemma_matrix_instructions>(unwrap(lemma::matrix_instructions(words_of(words, word_count))));
  });
}

void lemma_matrix_description_release(const lemma_matrix_description* description) {
  release(description);
}

const lemma_error* lemma_describe_matrix(const char* name, const lemma_matrix_description** description) {
  return guarded([&] {
    const lemma_matrix_description*& out = given(description, "lemma_describe_matrix: description");
    const lemma::MatrixDescription from =
        unwrap(lemma::describe_matrix(&given(name, "lemma_describe_matrix: name")));
    auto tree = std::make_unique<Tree<lemma_matrix_description>>();
    Arena& arena = tree->arena;
    tree->instruction = to_c(arena, from.instruction);
    tree->spelling = arena.text(from.spelling);
    tree->summary = arena.text(from.summary);
    tree->operand_names = arena.strings(from.operand_names);
    tree->other_shapes = arena.strings(from.other_shapes);
    tree->computes = from.computes;
    tree->by_warpgroup = from.by_warpgroup;
    tree->byte_containers = from.byte_containers;
    tree->flops = from.flops;
    list(arena, from.operands, tree->operand_count, tree->operands);
    list(arena, from.arithmetic, tree->arithmetic_count, tree->arithmetic);
    tree->by_thread = from.by_thread;
    tree->instruction_descriptor = from.instruction_descriptor;
    tree->readings = arena.strings(from.readings);
    out = tree.release();
  });
}

const lemma_approximate_functions* lemma_list_approximate_functions(void) {
  return or_null([] {
    static const std::unique_ptr<const lemma_approximate_functions,
                                 decltype(&release<lemma_approximate_functions>)>
        functions(list_tree<lemma_approximate_functions>(lemma::approximate_functions()),
                  &release<lemma_approximate_functions>);
    return functions.get();
  });
}

void lemma_instruction_forms_release(const lemma_instruction_forms* list) {
  release(list);
}

const lemma_error* lemma_list_instruction_forms(const char* const* words, size_t word_count,
                                                const lemma_instruction_forms** list) {
  return guarded([&] {
    given(list, "lemma_list_instruction_forms: list") =
        list_tree<lemma_instruction_forms>(unwrap(lemma::instruction_forms(words_of(words, word_count))));
  });
}

void lemma_nvgpu_supports_release(const lemma_nvgpu_supports* list) {
  release(list);
}

const lemma_error* lemma_list_nvgpu_support(const char* const* words, size_t word_count,
                                            const lemma_nvgpu_supports** list) {
  return guarded([&] {
    given(list, "lemma_list_nvgpu_support: list") =
        list_tree<lemma_nvgpu_supports>(lemma::nvgpu_support(words_of(words, word_count)));
  });
}

void lemma_smem_layout_release(const lemma_smem_layout* layout) {
  release(layout);
}

const lemma_error* lemma_lay_out(const lemma_smem_tile* tile, const lemma_smem_layout** layout) {
  return guarded([&] {
    const lemma_smem_layout*& out = given(layout, "lemma_lay_out: layout");
    const lemma_smem_tile wanted = taken(tile, "lemma_lay_out: tile");
    const lemma::SmemLayout from = unwrap(lemma::lay_out({.type = text_or(wanted.type, "bf16"),
                                                          .swizzle = to_cpp(wanted.swizzle),
                                                          .atoms_of_32_bytes = wanted.atoms_of_32_bytes != 0,
                                                          .k_major = wanted.mn_major == 0,
                                                          .rows = wanted.rows ? wanted.rows : 64,
                                                          .cols = wanted.cols ? wanted.cols : 64}));
    auto tree = std::make_unique<Tree<lemma_smem_layout>>();
    tree->element_bytes = from.element_bytes;
    tree->chunk_elems = from.chunk_elems;
    tree->lines = from.lines;
    tree->chunks = from.chunks;
    tree->chunks_per_line = from.chunks_per_line;
    tree->address_count = from.addresses.size();
    tree->addresses = tree->arena.copy(from.addresses);
    list(tree->arena, from.conflicts, tree->conflict_count, tree->conflicts);
    list(tree->arena, from.descriptors, tree->descriptor_count, tree->descriptors);
    list(tree->arena, from.tensor_descriptors, tree->tensor_descriptor_count, tree->tensor_descriptors);
    out = tree.release();
  });
}

void lemma_descriptor_release(const lemma_descriptor* descriptor) {
  release(descriptor);
}

const lemma_error* lemma_explain_descriptor(const lemma_descriptor_query* query,
                                            const lemma_descriptor** descriptor) {
  return guarded([&] {
    const lemma_descriptor*& out = given(descriptor, "lemma_explain_descriptor: descriptor");
    const lemma_descriptor_query wanted =
        taken(&given(query, "lemma_explain_descriptor: query"), "lemma_explain_descriptor: query");
    const lemma::DescriptorExplanation from =
        unwrap(lemma::explain_descriptor({.bits = wanted.bits,
                                          .of = text_or(wanted.of, ""),
                                          .operand = to_cpp(wanted.operand),
                                          .mn_major = wanted.mn_major != 0,
                                          .a_in_tensor_memory = wanted.a_in_tensor_memory != 0}));
    auto tree = std::make_unique<Tree<lemma_descriptor>>();
    tree->what = tree->arena.text(from.what);
    tree->width = from.width;
    list(tree->arena, from.fields, tree->field_count, tree->fields);
    tree->problem = tree->arena.text(from.problem);
    tree->product = tree->arena.text(from.product);
    out = tree.release();
  });
}
