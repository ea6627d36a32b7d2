// include/lemma/c/image.h; what an image is, tests/unit/image says.
#include "c_test.h"

#include <fstream>
#include <iterator>

namespace lemma {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(IMAGES "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(CImage, ModulesOfAFile) {
  const std::string bytes = file("modules.elf");
  EXPECT_TRUE(lemma_is_image(bytes.data(), bytes.size()));
  EXPECT_FALSE(lemma_is_image(nullptr, 0));
  lemma_image_options options = LEMMA_SIZED(lemma_image_options);
  options.name = "a.out";
  const lemma_image_modules* modules = nullptr;
  ASSERT_OK(lemma_ptx_of_image(bytes.data(), bytes.size(), &options, &modules));
  ASSERT_EQ(modules->count, 2u);
  EXPECT_STREQ(modules->items[1]->name, "a.out(2)");
  EXPECT_NE(std::string(modules->items[1]->text->text).find(".entry second"), std::string::npos);
  lemma_image_modules_release(modules);

  options.arch = "sm_80";
  const lemma_error* error = lemma_ptx_of_image(bytes.data(), bytes.size(), &options, &modules);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, LEMMA_ERROR_UNSUPPORTED);
  EXPECT_EQ(std::string(error->text).find("a.out: there is no PTX that sm_80 runs"), 0u) << error->text;
  lemma_error_release(error);
  EXPECT_EQ(said(lemma_ptx_of_image(nullptr, 1, &options, &modules)), "lemma_ptx_of_image: bytes is null");
}

TEST(CImage, ModuleData) {
  const std::string bytes = file("zstd.fatbin");
  const lemma_image_ptx* ptx = nullptr;
  ASSERT_OK(lemma_ptx_of_module_data(bytes.data(), nullptr, &ptx));
  EXPECT_STREQ(ptx->name, "<image>");
  EXPECT_NE(std::string(ptx->text->text).find(".entry scale"), std::string::npos);
  EXPECT_EQ(ptx->message_count, 0u);
  lemma_image_ptx_release(ptx);
  EXPECT_EQ(kind_of(lemma_ptx_of_module_data(nullptr, nullptr, &ptx)), LEMMA_ERROR_INVALID_ARGUMENT);
}

} // namespace
} // namespace lemma
