// Errors, sizes of structs, names: include/lemma/c/base.h.
#include "c_test.h"

namespace lemma {
namespace {

TEST(CBase, AnErrorSaysAllThatThereIs) {
  lemma_device* device = nullptr;
  const lemma_error* error = lemma_device_open("tpu", nullptr, &device);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error->text, "no device 'tpu'; there are cpu and cuda");
  EXPECT_STREQ(error->rendered, "no device 'tpu'; there are cpu and cuda\n");
  EXPECT_STREQ(error->operand, "");
  EXPECT_EQ(error->message_count, 0u);
  lemma_error_release(error);
  EXPECT_EQ(device, nullptr);
}

TEST(CBase, MessagesAreData) {
  lemma_device* device = nullptr;
  ASSERT_OK(lemma_device_open("cpu", nullptr, &device));
  lemma_module* module = nullptr;
  constexpr char kText[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry k() { .reg .f32 %f<3>; ad.f32 %f0, %f1, %f2; ret; }\n";
  lemma_load_options options = LEMMA_SIZED(lemma_load_options);
  options.name = "bad.ptx";
  const lemma_error* error = lemma_module_load(device, kText, sizeof kText - 1, &options, &module);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, LEMMA_ERROR_REJECTED);
  ASSERT_EQ(error->message_count, 1u);
  const lemma_message& message = *error->messages[0];
  EXPECT_EQ(message.severity, LEMMA_SEVERITY_ERROR);
  EXPECT_STREQ(message.file, "bad.ptx");
  EXPECT_EQ(message.line, 4u);
  EXPECT_EQ(message.column, 40u);
  EXPECT_GT(message.length, 0u);
  EXPECT_STREQ(message.text, error->text);
  EXPECT_STREQ(message.rendered, error->rendered);
  EXPECT_EQ(std::string(message.rendered).find("bad.ptx:4:40: error["), 0u) << message.rendered;
  lemma_error_release(error);
  EXPECT_EQ(module, nullptr);
  lemma_device_close(device);
}

// A struct of another version of the header: with bytes before the end missing, or beyond it.
TEST(CBase, StructsHaveTheSizeThatTheCallerSays) {
  lemma_device* device = nullptr;
  struct {
    lemma_device_options options;
    uint64_t later[2];
  } options{LEMMA_SIZED(lemma_device_options), {0, 0}};
  options.options.size = sizeof options;
  options.options.arch = "sm_80";
  ASSERT_OK(lemma_device_open("cpu", &options.options, &device));
  EXPECT_STREQ(lemma_device_describe(device)->target, "sm_80");
  lemma_device_close(device);
  options.later[1] = 1;
  EXPECT_EQ(
      said(lemma_device_open("cpu", &options.options, &device)),
      "lemma_device_open: options: it has 64 bytes, this library knows 48, and some beyond are not zero");
  options.options.size = sizeof(size_t); // arch is not known yet
  ASSERT_OK(lemma_device_open("cpu", &options.options, &device));
  EXPECT_STREQ(lemma_device_describe(device)->target, "sm_90");
  lemma_device_close(device);
  options.options.size = 0;
  EXPECT_EQ(said(lemma_device_open("cpu", &options.options, &device)),
            "lemma_device_open: options: its size is 0; set it to sizeof (LEMMA_SIZED)");
}

TEST(CBase, NullIsAnErrorOfTheCall) {
  EXPECT_EQ(said(lemma_device_open(nullptr, nullptr, nullptr)), "lemma_device_open: device is null");
  EXPECT_EQ(kind_of(lemma_allocate(nullptr, 4, nullptr, nullptr)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(lemma_free(nullptr, 0)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(lemma_module_load(nullptr, nullptr, 0, nullptr, nullptr)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(lemma_launch(nullptr, nullptr, nullptr, nullptr, 0, nullptr)),
            LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(lemma_verify(nullptr, 1, nullptr, nullptr)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(lemma_explore(nullptr, nullptr)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(lemma_device_describe(nullptr), nullptr);
  EXPECT_EQ(lemma_module_describe(nullptr), nullptr);
  lemma_error_release(nullptr);
  lemma_report_release(nullptr);
  lemma_device_close(nullptr);
  lemma_module_unload(nullptr);
  lemma_stop_request(nullptr);
}

TEST(CBase, EnumeratorsHaveNames) {
  EXPECT_STREQ(lemma_outcome_name(LEMMA_OUTCOME_STOPPED), "stopped");
  EXPECT_STREQ(lemma_outcome_name(static_cast<lemma_outcome>(99)), "");
  EXPECT_STREQ(lemma_fault_kind_name(LEMMA_FAULT_INTERNAL), "internal error");
  EXPECT_STREQ(lemma_severity_name(LEMMA_SEVERITY_WARNING), "warning");
  EXPECT_STREQ(lemma_error_kind_name(LEMMA_ERROR_DEVICE_LOST), "device lost");
  EXPECT_STREQ(lemma_repair_where_name(LEMMA_REPAIR_INSTEAD), "instead");
  EXPECT_STREQ(lemma_fidelity_name(LEMMA_FIDELITY_RECORDED), "recorded");
}

TEST(CBase, NamesWhatIsNear) {
  const char* candidates[] = {"sm_80", "sm_90", nullptr};
  const lemma_text* text = lemma_did_you_mean("sm90", candidates, 2);
  ASSERT_TRUE(text);
  EXPECT_STREQ(text->text, " (did you mean sm_90?)");
  lemma_text_release(text);
  EXPECT_EQ(lemma_did_you_mean("sm90", candidates, 3), nullptr);
  EXPECT_EQ(lemma_did_you_mean(nullptr, nullptr, 0), nullptr);
}

TEST(CBase, ErrorsAndTextsAreTheCallers) {
  const lemma_error* error = lemma_error_create(LEMMA_ERROR_UNSUPPORTED, "not here");
  EXPECT_STREQ(error->text, "not here");
  EXPECT_EQ(kind_of(error), LEMMA_ERROR_UNSUPPORTED);
  const lemma_text* text = lemma_printable("a\x1b[1mb", 6, false);
  EXPECT_STREQ(text->text, "a\\x1b[1mb");
  EXPECT_EQ(text->size, 9u);
  lemma_text_release(text);
  EXPECT_EQ(std::string(lemma_version()).find("0."), 0u);
}

} // namespace
} // namespace lemma
