// Instructions, layouts, products, .npy files, occupancy, verifying, linking: include/lemma/c/isa.h,
// layout.h, link.h, mma.h, npy.h, occupancy.h, verify.h.
#include "c_test.h"

#include <array>

namespace lemma {
namespace {

constexpr const char* kMma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

TEST(CIsa, ListsAndDescribesMatrixInstructions) {
  const lemma_strings* targets = lemma_targets();
  ASSERT_TRUE(targets);
  EXPECT_GT(targets->count, 10u);
  const char* words[] = {kMma};
  const lemma_matrix_instructions* found = nullptr;
  ASSERT_OK(lemma_list_matrix_instructions(words, 1, &found));
  ASSERT_EQ(found->count, 1u);
  EXPECT_EQ(found->items[0]->k, 16);
  EXPECT_STREQ(found->items[0]->availability->targets_text, "sm_80 and up");
  EXPECT_EQ(found->items[0]->availability->since_major, 7);
  lemma_matrix_instructions_release(found);

  const lemma_matrix_description* mma = nullptr;
  ASSERT_OK(lemma_describe_matrix(kMma, &mma));
  EXPECT_STREQ(mma->spelling, kMma);
  EXPECT_EQ(mma->flops, 2u * 16 * 8 * 16);
  ASSERT_EQ(mma->operand_count, 4u);
  const lemma_matrix_operand& a = *mma->operands[1];
  EXPECT_STREQ(a.name, "a");
  EXPECT_STREQ(a.type, "f16");
  EXPECT_EQ(a.registers, 4);
  ASSERT_EQ(a.element_count, 256u);
  EXPECT_EQ(a.elements[1].elem, 1);
  EXPECT_GT(mma->arithmetic_count, 0u);
  lemma_matrix_description_release(mma);
  EXPECT_EQ(kind_of(lemma_describe_matrix("mma.none", &mma)), LEMMA_ERROR_INVALID_ARGUMENT);
}

TEST(CIsa, ListsOtherInstructions) {
  const char* words[] = {"ex2.approx"};
  const lemma_instruction_forms* forms = nullptr;
  ASSERT_OK(lemma_list_instruction_forms(words, 1, &forms));
  ASSERT_GT(forms->count, 0u);
  EXPECT_GT(forms->items[0]->approximate_count, 0u);
  lemma_instruction_forms_release(forms);
  EXPECT_GT(lemma_list_approximate_functions()->count, 5u);
  const char* types[] = {"nvgpu.mma.sync"};
  const lemma_nvgpu_supports* support = nullptr;
  ASSERT_OK(lemma_list_nvgpu_support(types, 1, &support));
  EXPECT_GT(support->count, 0u);
  lemma_nvgpu_supports_release(support);
}

TEST(CLayout, OfTensorMemoryAndItsDescriptors) {
  const lemma_matrix_description* mma = nullptr;
  ASSERT_OK(lemma_describe_matrix("tcgen05.mma.cta_group::1.kind::f16.m64n16k16.f32.f16.f16", &mma));
  EXPECT_TRUE(mma->by_thread);
  EXPECT_GT(mma->readings.count, 0u);
  const lemma_matrix_operand& a = *mma->operands[1];
  EXPECT_TRUE(a.in_tensor_memory);
  EXPECT_STREQ(a.lane_formula, "row % 16 + 32 * (row / 16)");
  EXPECT_STREQ(a.column_formula, "col / 2");
  lemma_descriptor_query query = LEMMA_SIZED(lemma_descriptor_query);
  query.bits = mma->instruction_descriptor;
  query.of = "kind::f16";
  const lemma_descriptor* descriptor = nullptr;
  ASSERT_OK(lemma_explain_descriptor(&query, &descriptor));
  EXPECT_EQ(descriptor->width, 32);
  EXPECT_STREQ(descriptor->product, mma->spelling);
  EXPECT_STREQ(descriptor->problem, "");
  ASSERT_EQ(descriptor->field_count, 16u);
  EXPECT_STREQ(descriptor->fields[11]->name, "N");
  EXPECT_STREQ(descriptor->fields[11]->meaning, "16");
  lemma_descriptor_release(descriptor);
  lemma_matrix_description_release(mma);
  query.operand = LEMMA_DESCRIPTOR_B_DESC;
  ASSERT_OK(lemma_explain_descriptor(&query, &descriptor));
  EXPECT_STRNE(descriptor->problem, "") << "it has no version";
  lemma_descriptor_release(descriptor);
  query.of = "nobody";
  EXPECT_EQ(kind_of(lemma_explain_descriptor(&query, &descriptor)), LEMMA_ERROR_INVALID_ARGUMENT);
}

TEST(CLayout, LaysATileOut) {
  lemma_smem_tile tile = LEMMA_SIZED(lemma_smem_tile);
  tile.swizzle = LEMMA_SWIZZLE_B128;
  const lemma_smem_layout* layout = nullptr;
  ASSERT_OK(lemma_lay_out(&tile, &layout));
  EXPECT_EQ(layout->element_bytes, 2u);
  ASSERT_EQ(layout->address_count, size_t{layout->lines} * layout->chunks);
  EXPECT_EQ(layout->addresses[layout->chunks], 128u + 16); // line 1, chunk 0
  EXPECT_EQ(layout->descriptor_count, 4u);
  lemma_smem_layout_release(layout);
  tile.cols = 63;
  EXPECT_EQ(said(lemma_lay_out(&tile, &layout)).find("cols 63"), 0u);
}

TEST(CMma, MultipliesBytes) {
  const lemma_mma_form* form = nullptr;
  ASSERT_OK(lemma_mma_form_of(kMma, "sm_80", &form));
  EXPECT_STREQ(form->arch, "sm_80");
  EXPECT_EQ(form->a->cols, 16u);
  EXPECT_EQ(form->metadata, nullptr);
  EXPECT_EQ(form->d_element_bytes, 4u);
  std::array<uint16_t, 256> a{};
  std::array<uint16_t, 128> b{};
  std::array<float, 128> c{}, d{};
  for (size_t i = 0; i < 16; ++i)
    a[i * 16 + i] = 0x3c00; // 1
  for (size_t i = 0; i < 128; ++i) {
    b[i] = 0x4000; // 2
    c[i] = static_cast<float>(i);
  }
  lemma_mma_operands operands = LEMMA_SIZED(lemma_mma_operands);
  operands.a = {a.data(), 16, 16, 2};
  operands.b = {b.data(), 16, 8, 2};
  operands.c = {c.data(), 16, 8, 4};
  ASSERT_OK(lemma_mma(form, &operands, d.data(), sizeof d));
  for (size_t i = 0; i < 128; ++i)
    EXPECT_EQ(d[i], static_cast<float>(i) + 2);
  EXPECT_NE(said(lemma_mma(form, &operands, d.data(), 4)).find("d has 4 bytes"), std::string::npos);
  operands.b.rows = 8;
  const lemma_error* error = lemma_mma(form, &operands, d.data(), sizeof d);
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->operand, "b");
  lemma_error_release(error);
  lemma_mma_form_release(form);
}

TEST(CMma, ConvertsElements) {
  EXPECT_EQ(lemma_type_bits("e4m3"), 8);
  EXPECT_EQ(lemma_type_bits("none"), 0);
  const float values[] = {1.0f, -2.0f};
  uint64_t bits[2] = {};
  ASSERT_OK(lemma_bits_of(values, sizeof values, "<f4", 2, "bf16", bits));
  EXPECT_EQ(bits[0], 0x3f80u);
  EXPECT_EQ(bits[1], 0xc000u);
  EXPECT_EQ(kind_of(lemma_bits_of(values, 7, "<f4", 2, "bf16", bits)), LEMMA_ERROR_INVALID_ARGUMENT);
  const lemma_text* text = lemma_element_text(0xc000, "bf16");
  EXPECT_STREQ(text->text, "-2");
  lemma_text_release(text);
}

TEST(CNpy, WritesAndReads) {
  const uint64_t shape[] = {2, 3};
  const float values[] = {1, 2, 3, 4, 5, 6};
  const lemma_text* file = nullptr;
  ASSERT_OK(lemma_npy_serialize("<f4", shape, 2, values, sizeof values, &file));
  const lemma_npy* array = nullptr;
  ASSERT_OK(lemma_npy_parse(file->text, file->size, &array));
  EXPECT_STREQ(array->dtype, "<f4");
  ASSERT_EQ(array->rank, 2u);
  EXPECT_EQ(array->shape[1], 3u);
  EXPECT_EQ(std::memcmp(array->data, values, sizeof values), 0);
  lemma_npy_release(array);
  EXPECT_EQ(kind_of(lemma_npy_parse(file->text, 20, &array)), LEMMA_ERROR_REJECTED);
  EXPECT_EQ(kind_of(lemma_npy_serialize("<f4", shape, 2, values, 20, &file)), LEMMA_ERROR_INVALID_ARGUMENT);
  lemma_text_release(file);
  EXPECT_EQ(lemma_npy_element_bytes("|V2"), 2u);
  EXPECT_EQ(lemma_npy_element_bytes("|O"), 0u);
  EXPECT_EQ(lemma_npy_element_bytes(nullptr), 0u);
}

TEST(CVerify, ChecksAndRepairs) {
  constexpr char kText[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry k() { .reg .f32 %f<3>; ad.f32 %f0, %f1, %f2; ret; }\n";
  const lemma_verification* found = nullptr;
  ASSERT_OK(lemma_verify(kText, sizeof kText - 1, nullptr, &found));
  EXPECT_FALSE(found->accepted);
  ASSERT_EQ(found->message_count, 1u);
  EXPECT_EQ(found->repaired, nullptr);
  lemma_verification_release(found);
  lemma_verify_options options = LEMMA_SIZED(lemma_verify_options);
  options.repair = true;
  options.lint = true;
  ASSERT_OK(lemma_verify(kText, sizeof kText - 1, &options, &found));
  ASSERT_TRUE(found->repaired);
  EXPECT_EQ(found->accepted, found->repairs == 1) << found->repaired->text;
  lemma_verification_release(found);
  constexpr char kLater[] =
      ".version 9.9\n.target sm_90\n.address_size 64\n.visible .entry k() { frobnicate; ret; }\n";
  ASSERT_OK(lemma_verify(kLater, sizeof kLater - 1, nullptr, &found));
  EXPECT_FALSE(found->accepted);
  EXPECT_TRUE(found->undecided);
  lemma_verification_release(found);
}

TEST(COccupancy, CountsCtas) {
  lemma_cta_demand cta = LEMMA_SIZED(lemma_cta_demand);
  cta.threads = 384;
  cta.shared_bytes = 196672;
  cta.registers = 168;
  const lemma_occupancy* found = nullptr;
  ASSERT_OK(lemma_occupancy_of(&cta, "sm_90a", &found));
  EXPECT_EQ(found->ctas_per_sm, 1u);
  EXPECT_EQ(found->warps_per_sm, 12u);
  EXPECT_EQ(found->most_warps_per_sm, 64u);
  EXPECT_EQ(found->sm_count, 132u);
  EXPECT_EQ(found->by_warps, 5u);
  EXPECT_EQ(found->by_ctas, 32u);
  EXPECT_EQ(found->by_shared, 1u);
  EXPECT_EQ(found->by_registers, 1u);
  EXPECT_STREQ(found->limited_by, "shared memory, registers");
  lemma_occupancy_release(found);
  uint32_t number = 0;
  ASSERT_OK(lemma_active_clusters(&cta, 2, "sm_90a", &number));
  EXPECT_EQ(number, 66u);
  lemma_block_size_options options = LEMMA_SIZED(lemma_block_size_options);
  options.arch = "sm_89";
  ASSERT_OK(lemma_best_block_size(&options, &number));
  EXPECT_EQ(number, 768u);
  options.demand = [](void* user, uint32_t threads, lemma_cta_demand* of) {
    of->shared_bytes = uint64_t{threads} * *static_cast<uint32_t*>(user);
  };
  uint32_t bytes_of_a_thread = 1024;
  options.user = &bytes_of_a_thread;
  ASSERT_OK(lemma_best_block_size(&options, &number));
  EXPECT_EQ(number, 96u);
  uint64_t bytes = 0;
  cta.shared_bytes = 1024;
  ASSERT_OK(lemma_available_dynamic_shared_bytes(&cta, 1, "sm_90a", &bytes));
  EXPECT_EQ(bytes, 226u * 1024);
  EXPECT_EQ(kind_of(lemma_occupancy_of(&cta, "sm_91", &found)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(said(lemma_occupancy_of(nullptr, "sm_90", &found)), "lemma_occupancy_of: cta is null");
  EXPECT_EQ(kind_of(lemma_best_block_size(nullptr, &number)), LEMMA_ERROR_INVALID_ARGUMENT); // no arch
}

TEST(CLink, LinksAndSaysWhatDoesNotFit) {
  const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
  const std::string main_text = head + ".extern .func f();\n.visible .entry k() { call f; ret; }\n";
  const std::string helper = head + ".visible .func f() { ret; }\n";
  lemma_ptx_text texts[2] = {LEMMA_SIZED(lemma_ptx_text), LEMMA_SIZED(lemma_ptx_text)};
  texts[0].text = main_text.data();
  texts[0].text_bytes = main_text.size();
  texts[0].name = "main.ptx";
  texts[1].text = helper.data();
  texts[1].text_bytes = helper.size();
  const lemma_linked_ptx* linked = nullptr;
  ASSERT_OK(lemma_link_ptx(texts, 2, &linked));
  const std::string_view made(linked->text->text, linked->text->size);
  EXPECT_EQ(made.find(".extern"), std::string_view::npos) << made;
  EXPECT_NE(made.find(".entry k"), std::string_view::npos) << made;
  EXPECT_EQ(linked->message_count, 0u);
  const lemma_verification* found = nullptr;
  ASSERT_OK(lemma_verify(made.data(), made.size(), nullptr, &found));
  EXPECT_TRUE(found->accepted);
  lemma_verification_release(found);
  lemma_linked_ptx_release(linked);

  const lemma_error* error = lemma_link_ptx(texts, 1, &linked);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, LEMMA_ERROR_REJECTED);
  EXPECT_STREQ(error->text, "main.ptx:4:9: no module defines the function 'f'");
  EXPECT_EQ(error->message_count, 1u);
  lemma_error_release(error);
  EXPECT_EQ(kind_of(lemma_link_ptx(nullptr, 0, &linked)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(said(lemma_link_ptx(nullptr, 1, &linked)), "lemma_link_ptx: a text is null");
  texts[1].text = nullptr;
  EXPECT_EQ(said(lemma_link_ptx(texts, 2, &linked)), "the text is null");
}

// Every fifth text is no text, and one has its name alone.
const lemma_error* read_text(void*, size_t index, lemma_verify_source* source) {
  if (index % 5 == 3)
    return lemma_error_create(LEMMA_ERROR_UNAVAILABLE, "nothing there");
  if (index == 4)
    return nullptr;
  const std::string text = index % 2 ? ".version 8.0\n.target sm_90\n.address_size 64\n" : "nothing";
  EXPECT_OK(lemma_verify_source_set(source, text.data(), text.size(), std::to_string(index).c_str(), false));
  return nullptr;
}

TEST(CVerify, ChecksManyTextsInOrder) {
  for (const uint32_t threads : {1u, 4u}) {
    std::string seen;
    lemma_verify_each_options options = LEMMA_SIZED(lemma_verify_each_options);
    options.count = 10;
    options.threads = threads;
    options.read = read_text;
    options.take = [](void* user, size_t index, const lemma_verification* found, const lemma_error* error) {
      auto& to = *static_cast<std::string*>(user);
      EXPECT_NE(found == nullptr, error == nullptr);
      if (error)
        to += std::to_string(index) + ": " + lemma_error_kind_name(error->kind) + " " + error->text + "\n";
      else
        to += (found->message_count ? found->messages[0]->file : std::to_string(index)) +
              (found->accepted ? "+\n" : "-\n");
    };
    options.user = &seen;
    ASSERT_OK(lemma_verify_each(&options));
    EXPECT_EQ(seen, "0-\n1+\n2-\n3: unavailable nothing there\n"
                    "4: invalid argument lemma_verify_each: read() has set no text 4\n"
                    "5+\n6-\n7+\n8: unavailable nothing there\n9+\n");
  }
  lemma_verify_each_options options = LEMMA_SIZED(lemma_verify_each_options);
  EXPECT_EQ(said(lemma_verify_each(&options)), "lemma_verify_each: options->read is null");
  EXPECT_EQ(said(lemma_verify_source_set(nullptr, "", 0, nullptr, false)),
            "lemma_verify_source_set: source is null");
}

} // namespace
} // namespace lemma
