// include/lemma/mlir.h as a program uses it: the stages, kernels and their parameters, errors with their
// place, host functions with arguments, memrefs as words.
//
// Not here: what each operation becomes (tests/mlir/lower), command lines (tests/mlir/run).
#include "lemma/mlir.h"

#include "lemma/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <tuple>

namespace lemma {
namespace {

// The text has the part.
testing::AssertionResult has(const std::string& text, std::string_view part) {
  if (text.find(part) != text.npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in: " << text;
}

using Numbers = std::vector<int64_t>;
using Words = std::vector<uint64_t>;

constexpr const char* kAdd = R"(
module attributes {gpu.container_module} {
  gpu.module @first {
    gpu.func @add(%data: memref<4x8xf32>, %part: memref<?x8xf16, strided<[16, 1], offset: ?>>, %more: f32) kernel {
      %i = gpu.block_id x
      %j = gpu.thread_id x
      %x = memref.load %data[%i, %j] : memref<4x8xf32>
      %y = arith.addf %x, %more : f32
      memref.store %y, %data[%i, %j] : memref<4x8xf32>
      gpu.return
    }
    gpu.func @nothing() kernel {
      gpu.return
    }
  }
})";

constexpr const char* kTwoModules = R"(
module attributes {gpu.container_module} {
  gpu.module @first {
    gpu.func @one() kernel {
      gpu.return
    }
  }
  gpu.module @second {
    gpu.func @two() kernel {
      gpu.return
    }
  }
})";

constexpr const char* kHost = R"(
func.func @main() -> i32 {
  %c = arith.constant 42 : i32
  return %c : i32
}
func.func @quiet() {
  return
}
func.func @sum(%numbers: memref<?xi32>, %twice: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %numbers, %c0 : memref<?xi32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%partial = %zero) -> i32 {
    %number = memref.load %numbers[%i] : memref<?xi32>
    %next = arith.addi %partial, %number : i32
    memref.store %zero, %numbers[%i] : memref<?xi32>
    scf.yield %next : i32
  }
  %result = arith.muli %sum, %twice : i32
  return %result : i32
}
func.func @float() -> f32 {
  %c = arith.constant 1.0 : f32
  return %c : f32
})";

CompiledMlir must_compile(const std::string& text, const MlirOptions& options) {
  auto compiled = compile_mlir(text, options);
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text);
  return compiled ? *std::move(compiled) : CompiledMlir{};
}

Error must_fail(const std::string& text, const MlirOptions& options = {}) {
  auto compiled = compile_mlir(text, options);
  EXPECT_FALSE(compiled) << compiled->text;
  return compiled ? Error{} : std::move(compiled).error();
}

TEST(CompileMlir, TakesAProgramToEachStage) {
  EXPECT_TRUE(has(must_compile(kAdd, {.stage = MlirStage::nvgpu}).text, "memref.load"));
  EXPECT_TRUE(has(must_compile(kAdd, {.stage = MlirStage::nvvm}).text, "llvm.func @add"));
  EXPECT_TRUE(has(must_compile(kAdd, {.stage = MlirStage::llvm}).text, "define ptx_kernel void @add("));
  EXPECT_TRUE(has(must_compile(kAdd, {}).text, ".visible .entry add("));
  EXPECT_TRUE(has(must_compile(kAdd, {.arch = "sm_80"}).text, ".target sm_80"));
}

TEST(CompileMlir, DescribesTheKernels) {
  const CompiledMlir compiled = must_compile(kAdd, {});
  ASSERT_EQ(compiled.kernels.size(), 2u);
  const MlirKernel& add = compiled.kernels[0];
  EXPECT_EQ(add.name, "add");
  ASSERT_EQ(add.parameters.size(), 3u);
  EXPECT_TRUE(add.parameters[0].is_memref);
  EXPECT_EQ(add.parameters[0].type, "memref<4x8xf32>");
  EXPECT_EQ(add.parameters[0].element_bits, 32u);
  EXPECT_EQ(add.parameters[0].shape, (Numbers{4, 8}));
  EXPECT_EQ(add.parameters[0].strides, (Numbers{8, 1}));
  EXPECT_EQ(add.parameters[0].offset, 0);
  EXPECT_EQ(add.parameters[1].element_bits, 16u);
  EXPECT_EQ(add.parameters[1].shape, (Numbers{-1, 8}));
  EXPECT_EQ(add.parameters[1].strides, (Numbers{16, 1}));
  EXPECT_EQ(add.parameters[1].offset, -1);
  EXPECT_FALSE(add.parameters[2].is_memref);
  EXPECT_EQ(add.parameters[2].type, "f32");
  EXPECT_EQ(compiled.kernels[1].name, "nothing");
  EXPECT_TRUE(compiled.kernels[1].parameters.empty());
}

TEST(CompileMlir, MakesPtxThatRuns) {
  const CompiledMlir compiled = must_compile(kAdd, {.name = "add.mlir"});
  const auto device = Device::open("cpu");
  ASSERT_TRUE(device);
  const auto module = device->load_ptx(compiled.text, {.name = "add.ptx"});
  ASSERT_TRUE(module) << module.error().text;
  std::array<float, 32> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i);
  auto buffer = device->allocate(sizeof numbers);
  ASSERT_TRUE(buffer && buffer->copy_from(std::as_bytes(std::span(numbers))));
  std::vector<Argument> arguments;
  for (size_t i = 0; i < 2; ++i) {
    const auto words = expand_memref(compiled.kernels[0].parameters[i], buffer->address(),
                                     buffer->size_bytes(), std::array<uint64_t, 2>{1, 8});
    ASSERT_TRUE(words) << words.error().text;
    arguments.insert(arguments.end(), words->begin(), words->end());
  }
  arguments.emplace_back(0.5f);
  const auto kernel = module->kernel("add");
  ASSERT_TRUE(kernel);
  const auto report = kernel->launch({.grid = {4, 1, 1}, .block = {8, 1, 1}}, arguments);
  ASSERT_TRUE(report && report->ok());
  ASSERT_TRUE(buffer->copy_to(std::as_writable_bytes(std::span(numbers))));
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(numbers[i], static_cast<float>(i) + 0.5f);
}

TEST(CompileMlir, WantsAModuleNamedWhereThereAreSeveral) {
  const Error which = must_fail(kTwoModules);
  EXPECT_EQ(which.kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(has(which.text, "first, second"));
  EXPECT_EQ(must_fail(kTwoModules, {.module = "third"}).kind, ErrorKind::invalid_argument);
  EXPECT_EQ(must_fail("func.func private @f()").kind, ErrorKind::invalid_argument);
  const CompiledMlir second = must_compile(kTwoModules, {.module = "second"});
  ASSERT_EQ(second.kernels.size(), 1u);
  EXPECT_EQ(second.kernels[0].name, "two");
}

TEST(CompileMlir, SaysWhereAProgramIsWrong) {
  const Error syntax = must_fail("gpu.module @m {\n  gpu.fuc @k()\n}\n", {.name = "wrong.mlir"});
  EXPECT_EQ(syntax.kind, ErrorKind::rejected);
  ASSERT_FALSE(syntax.messages.empty());
  const Message& message = syntax.messages.front();
  EXPECT_EQ(message.severity, Severity::error);
  EXPECT_EQ(message.file, "wrong.mlir");
  EXPECT_EQ(message.line, 2u);
  EXPECT_EQ(message.column, 3u);
  EXPECT_TRUE(has(message.rendered, "wrong.mlir:2:3: error: "));
  EXPECT_TRUE(has(message.rendered, "gpu.fuc @k()"));

  EXPECT_EQ(must_fail(kAdd, {.arch = "sm_91"}).kind, ErrorKind::rejected);
}

TEST(HasHostCode, IsAFunctionWithABodyOutsideModules) {
  EXPECT_TRUE(has_host_code(kHost));
  EXPECT_FALSE(has_host_code(kAdd));
  EXPECT_FALSE(has_host_code("func.func private @declared()"));
  EXPECT_FALSE(has_host_code("no program"));
}

TEST(RunMlir, ReturnsWhatTheEntryReturns) {
  const auto main = run_mlir(kHost);
  ASSERT_TRUE(main) << main.error().text;
  EXPECT_EQ(main->returned, 42);
  const auto quiet = run_mlir(kHost, {.entry = "quiet"});
  ASSERT_TRUE(quiet) << quiet.error().text;
  EXPECT_EQ(quiet->returned, 0);
}

TEST(RunMlir, GivesTheEntryItsArguments) {
  std::array<int32_t, 3> numbers{1, 2, 4};
  std::array<int32_t, 1> twice{2};
  const auto sum = run_mlir(kHost, {.entry = "sum",
                                    .arguments = {{true, std::as_writable_bytes(std::span(numbers)), {3}},
                                                  {false, std::as_writable_bytes(std::span(twice)), {}}}});
  ASSERT_TRUE(sum) << sum.error().text;
  EXPECT_EQ(sum->returned, 14);
  EXPECT_EQ(numbers, (std::array<int32_t, 3>{0, 0, 0}));
}

TEST(RunMlir, RefusesAnEntryThatItCannotCall) {
  const auto absent = run_mlir(kHost, {.entry = "mian"});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(has(absent.error().text, "main, quiet, sum, float"));
  const auto result = run_mlir(kHost, {.entry = "float"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::invalid_argument);
  const auto arguments = run_mlir(kHost, {.entry = "sum"});
  ASSERT_FALSE(arguments);
  EXPECT_EQ(arguments.error().kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(has(arguments.error().text, "takes 2 arguments"));
}

// Every launch adds 1 to device[CTA] for `size` CTAs, of which there is room for one: two fault.
constexpr const char* kLaunches = R"(
func.func @main(%launches: index, %size: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %host = memref.alloc() : memref<1xi32>
  memref.store %zero, %host[%c0] : memref<1xi32>
  %device = gpu.alloc() : memref<1xi32>
  gpu.memcpy %device, %host : memref<1xi32>, memref<1xi32>
  scf.for %i = %c0 to %launches step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %size, %gy = %c1, %gz = %c1)
               threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %before = memref.load %device[%bx] : memref<1xi32>
      %after = arith.addi %before, %one : i32
      memref.store %after, %device[%bx] : memref<1xi32>
      gpu.terminator
    }
  }
  gpu.memcpy %host, %device : memref<1xi32>, memref<1xi32>
  %value = memref.load %host[%c0] : memref<1xi32>
  memref.dealloc %host : memref<1xi32>
  return %value : i32
}
)";

Result<MlirRun, Error> run_launches(uint64_t launches, uint64_t size, uint64_t* counted = nullptr) {
  std::array<uint64_t, 2> arguments{launches, size};
  const auto bytes = std::as_writable_bytes(std::span(arguments));
  return run_mlir(kLaunches, {.name = "launches.mlir",
                              .arguments = {{false, bytes.first(8), {}}, {false, bytes.last(8), {}}},
                              .launched = [&](const MlirLaunch&) {
                                if (counted)
                                  ++*counted;
                              }});
}

TEST(RunMlir, AFaultEndsTheProgramAndNothingElse) {
  const auto faulted = run_launches(3, 2);
  ASSERT_TRUE(faulted) << faulted.error().text;
  ASSERT_TRUE(faulted->stopped);
  EXPECT_EQ(faulted->stopped->exit_status, 1);
  EXPECT_TRUE(has(faulted->stopped->text, "fault[out of bounds]")) << faulted->stopped->text;
  EXPECT_TRUE(has(faulted->stopped->text, "launches.mlir.ptx:")) << faulted->stopped->text;
  const auto again = run_launches(3, 1);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_FALSE(again->stopped);
  EXPECT_EQ(again->returned, 3);
}

TEST(RunMlir, AFaultComesWithItsReport) {
  const auto faulted = run_launches(1, 2);
  ASSERT_TRUE(faulted && faulted->stopped && faulted->stopped->report);
  EXPECT_EQ(faulted->stopped->kernel, "main_kernel");
  ASSERT_TRUE(faulted->stopped->report->fault);
  EXPECT_EQ(faulted->stopped->report->fault->kind, FaultKind::out_of_bounds);
  EXPECT_FALSE(faulted->stopped->error);
}

TEST(RunMlir, WhatItPrintsGoesWhereItIsTold) {
  constexpr const char* kPrints = R"(
func.func private @printI64(i64)
func.func private @printMemrefI32(memref<*xi32>)
llvm.func @puts(!llvm.ptr) -> i32
llvm.func @putchar(i32) -> i32
llvm.func @printf(!llvm.ptr, ...) -> i32
llvm.mlir.global internal constant @text("%d apples\00")
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7 : i64
  %a = arith.constant 97 : i32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.printf "kernel\n"
    gpu.terminator
  }
  func.call @printI64(%seven) : (i64) -> ()
  %text = llvm.mlir.addressof @text : !llvm.ptr
  %0 = llvm.call @puts(%text) : (!llvm.ptr) -> i32
  %1 = llvm.call @putchar(%a) : (i32) -> i32
  %2 = llvm.call @printf(%text, %a) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32) -> i32
  %memref = memref.alloc() : memref<1xi32>
  memref.store %a, %memref[%c0] : memref<1xi32>
  %any = memref.cast %memref : memref<1xi32> to memref<*xi32>
  func.call @printMemrefI32(%any) : (memref<*xi32>) -> ()
  memref.dealloc %memref : memref<1xi32>
  return
})";
  std::string printed;
  testing::internal::CaptureStdout();
  const auto ran = run_mlir(kPrints, {.print = [&](std::string_view text) { printed += text; }});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_TRUE(ran) << ran.error().text;
  EXPECT_TRUE(printed.starts_with("kernel\n7%d apples\na97 applesUnranked Memref base@ = 0x")) << printed;
  EXPECT_TRUE(printed.ends_with("data = \n[97]\n")) << printed;
}

TEST(RunMlir, AModuleThatIsRefusedEndsTheProgram) {
  const auto refused = run_mlir(kLaunches, {.device = "tpu"});
  ASSERT_FALSE(refused) << "it takes two arguments";
  std::array<uint64_t, 2> arguments{1, 1};
  const auto bytes = std::as_writable_bytes(std::span(arguments));
  const auto ran = run_mlir(
      kLaunches, {.device = "tpu", .arguments = {{false, bytes.first(8), {}}, {false, bytes.last(8), {}}}});
  ASSERT_TRUE(ran) << ran.error().text;
  ASSERT_TRUE(ran->stopped);
  EXPECT_TRUE(has(ran->stopped->text, "no device 'tpu'")) << ran->stopped->text;
}

TEST(RunMlir, ProgramsRunAtTheSameTime) {
  std::vector<std::thread> threads;
  std::array<std::string, 4> ends;
  for (size_t t = 0; t < ends.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint64_t round = 1; round <= 3; ++round) {
        uint64_t counted = 0;
        const uint64_t launches = 10 * t + round;
        const auto ran = run_launches(launches, t % 2 + 1, &counted); // every other one faults
        ends[t] += !ran           ? ran.error().text
                   : ran->stopped ? "fault " + std::to_string(counted)
                                  : std::to_string(ran->returned == static_cast<int64_t>(launches)) +
                                        std::to_string(counted == launches);
        ends[t] += ";";
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  for (size_t t = 0; t < ends.size(); ++t)
    EXPECT_EQ(ends[t], t % 2 ? "fault 0;fault 0;fault 0;" : "11;11;11;");
}

// A signal on one thread while another is in its host code.
TEST(RunMlirDeathTest, ASignalOfOneProgramNamesIt) {
  constexpr const char* kCrash = R"(
func.func @main() {
  %null = arith.constant 0 : i64
  %pointer = llvm.inttoptr %null : i64 to !llvm.ptr
  %value = llvm.load volatile %pointer : !llvm.ptr -> i32
  return
})";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto crash = [&] {
    std::atomic<bool> begun{false};
    std::thread other([&] {
      while (run_launches(50, 1))
        begun = true;
    });
    while (!begun)
      std::this_thread::yield();
    const auto ran = run_mlir(kCrash, {.name = "crash.mlir"});
    other.detach();
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(1), "crash.mlir: fault\\[SIGSEGV\\]: host function main");
}

TEST(ExpandMemref, IsPointersOffsetSizesAndStrides) {
  const MlirParameter dense{
      .type = "memref<2x3xf32>", .is_memref = true, .element_bits = 32, .shape = {2, 3}, .strides = {3, 1}};
  const auto words = expand_memref(dense, 0x1000, 24, {});
  ASSERT_TRUE(words) << words.error().text;
  EXPECT_EQ(*words, (Words{0x1000, 0x1000, 0, 2, 3, 3, 1}));
  EXPECT_FALSE(expand_memref(dense, 0x1000, 23, {}));

  const MlirParameter open{
      .type = "memref<?x3xi8>", .is_memref = true, .element_bits = 8, .shape = {-1, 3}, .strides = {3, 1}};
  const auto sized = expand_memref(open, 0x2000, 12, std::array<uint64_t, 2>{4, 3});
  ASSERT_TRUE(sized) << sized.error().text;
  EXPECT_EQ(*sized, (Words{0x2000, 0x2000, 0, 4, 3, 3, 1}));
  EXPECT_FALSE(expand_memref(open, 0x2000, 12, {}));

  // Products that wrap are not small.
  const MlirParameter huge{.type = "memref<4294967296x4294967296xf32>",
                           .is_memref = true,
                           .element_bits = 32,
                           .shape = {int64_t{1} << 32, int64_t{1} << 32},
                           .strides = {int64_t{1} << 32, 1}};
  EXPECT_FALSE(expand_memref(huge, 0x1000, 24, {}));
  for (const uint64_t extent : {uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX})
    EXPECT_FALSE(expand_memref(open, 0x2000, 12, std::array<uint64_t, 2>{extent, 3})) << extent;

  // Rows lie 16 elements apart, the last of them short.
  const MlirParameter rows{.type = "memref<3x8xf16, strided<[16, 1]>>",
                           .is_memref = true,
                           .element_bits = 16,
                           .shape = {3, 8},
                           .strides = {16, 1}};
  EXPECT_TRUE(expand_memref(rows, 0, 2 * (2 * 16 + 8), {}));
  EXPECT_FALSE(expand_memref(rows, 0, 2 * (2 * 16 + 8) - 1, {}));
}

TEST(CheckArray, NumpysArraysAreWhatTheMemrefSays) {
  const auto parameter = [](const std::string& element, uint32_t bits, std::vector<int64_t> shape) {
    MlirParameter made{.type = "memref<...x" + element + ">",
                       .is_memref = true,
                       .element_bits = bits,
                       .shape = shape,
                       .strides = std::vector<int64_t>(shape.size(), 1),
                       .element = element};
    for (size_t i = shape.size(); i-- > 1;)
      made.strides[i - 1] = shape[i] < 0 || made.strides[i] < 0 ? -1 : made.strides[i] * shape[i];
    return made;
  };
  const std::vector<uint64_t> shape{8, 16};
  const auto fits = [&](const std::string& element, uint32_t bits, std::string_view dtype) {
    return check_array(parameter(element, bits, {8, 16}), dtype, shape).ok();
  };
  for (const auto& [element, bits, dtype] :
       std::initializer_list<std::tuple<const char*, uint32_t, const char*>>{{"f16", 16, "<f2"},
                                                                             {"f64", 64, "<f8"},
                                                                             {"bf16", 16, "<u2"},
                                                                             {"bf16", 16, "|V2"},
                                                                             {"f8E4M3FN", 8, "|u1"},
                                                                             {"i8", 8, "|i1"},
                                                                             {"i8", 8, "|u1"},
                                                                             {"ui8", 8, "|u1"},
                                                                             {"i1", 1, "|b1"},
                                                                             {"index", 0, "<i8"},
                                                                             {"i32", 32, "<u4"},
                                                                             {"i4", 4, "|u1"},
                                                                             {"vector<4xf32>", 0, "<f4"}})
    EXPECT_TRUE(fits(element, bits, dtype)) << element << " " << dtype;
  for (const auto& [element, bits, dtype] :
       std::initializer_list<std::tuple<const char*, uint32_t, const char*>>{{"f16", 16, "<f4"},
                                                                             {"f16", 16, "<u2"},
                                                                             {"f32", 32, "<i4"},
                                                                             {"bf16", 16, "<f2"},
                                                                             {"bf16", 16, "<u4"},
                                                                             {"i8", 8, "<i2"},
                                                                             {"i32", 32, "<f4"},
                                                                             {"index", 0, "<i4"},
                                                                             {"f8E5M2", 8, "|V2"},
                                                                             {"i16", 16, "|b1"}})
    EXPECT_FALSE(fits(element, bits, dtype)) << element << " " << dtype;

  const MlirParameter f16 = parameter("f16", 16, {8, 16});
  EXPECT_EQ(check_array(f16, "<f4", std::vector<uint64_t>{16, 8}).error().text,
            "it is f32[16,8], and the argument a memref<...xf16>; legal: elements of f16, extents [8,16]");
  EXPECT_EQ(check_array(f16, "<f2", std::vector<uint64_t>{128}).error().text,
            "it is f16[128], and the argument a memref<...xf16>; legal: extents [8,16]");
  EXPECT_TRUE(check_array(parameter("f16", 16, {-1, 16}), "<f2", std::vector<uint64_t>{99, 16}));
  EXPECT_FALSE(check_array(parameter("f16", 16, {-1, 16}), "<f2", std::vector<uint64_t>{99, 17}));
  EXPECT_TRUE(check_array(parameter("f32", 32, {}), "<f4", {}));
  MlirParameter apart = f16; // rows 32 elements apart: the array has what lies between
  apart.strides = {32, 1};
  EXPECT_TRUE(check_array(apart, "<f2", std::vector<uint64_t>{8 * 32}));
  EXPECT_FALSE(check_array(apart, "<f4", std::vector<uint64_t>{8 * 32}));
}

constexpr const char* kProduct = R"(
func.func @main(%a: memref<16x16xi8, 1>, %b: memref<16x24xi8, 1>, %c: memref<16x24xi32, 1>, %n: index) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<16x24xi32, 1>)
  linalg.matmul ins(%a, %b : memref<16x16xi8, 1>, memref<16x24xi8, 1>) outs(%c : memref<16x24xi32, 1>)
  return
}
)";

TEST(RunMlir, UsesMemoryOfAnOpenDeviceAndSaysWhatItLaunched) {
  const auto parameters = host_parameters(kProduct, "main");
  ASSERT_TRUE(parameters) << parameters.error().text;
  ASSERT_EQ(parameters->size(), 4u);
  EXPECT_EQ((*parameters)[1].element, "i8");
  EXPECT_TRUE((*parameters)[1].on_device);
  EXPECT_FALSE((*parameters)[3].on_device);
  EXPECT_EQ(host_parameters(kProduct, "other").error().kind, ErrorKind::invalid_argument);

  const auto device = Device::open("cpu");
  auto a = device->allocate(16 * 16), b = device->allocate(16 * 24), c = device->allocate(16 * 24 * 4);
  ASSERT_TRUE(a->fill(2));
  ASSERT_TRUE(b->fill(3));
  uint64_t n = 0;
  std::vector<MlirLaunch> launches;
  const auto ran =
      run_mlir(kProduct, {.opened = *device,
                          .arguments = {{.is_memory = true, .buffer = &*a},
                                        {.is_memory = true, .buffer = &*b},
                                        {.is_memory = true, .buffer = &*c},
                                        {.bytes = std::as_writable_bytes(std::span(&n, 1))}},
                          .launched = [&](const MlirLaunch& launch) { launches.push_back(launch); },
                          .keeps_memory = true});
  ASSERT_TRUE(ran) << ran.error().text;
  ASSERT_FALSE(ran->stopped) << ran->stopped->text;
  std::vector<int32_t> sums(16 * 24);
  const auto read = [&] { return c->copy_to(std::as_writable_bytes(std::span(sums))).ok(); };
  ASSERT_TRUE(read());
  EXPECT_EQ(sums, std::vector<int32_t>(16 * 24, 16 * 2 * 3));

  // B is copied so that it lies along K; the copy is the program's, and still there.
  ASSERT_EQ(ran->products.size(), 2u);
  EXPECT_TRUE(ran->products[0].is_copy);
  const MlirProduct& product = ran->products[1];
  EXPECT_FALSE(product.is_copy);
  EXPECT_EQ(product.a, "i8");
  EXPECT_EQ(product.c, "i32");
  EXPECT_FALSE(product.a_transposed);
  EXPECT_TRUE(product.b_transposed);
  EXPECT_EQ((std::array{product.m, product.n, product.k}), (std::array<int64_t, 3>{16, 24, 16}));
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_TRUE(launches[0].kernel.name().starts_with(ran->products[0].function + "_kernel"));
  EXPECT_TRUE(launches[1].kernel.name().starts_with(product.function + "_kernel"));
  const auto schedules = matmul_schedules();
  EXPECT_TRUE(std::any_of(schedules.begin(), schedules.end(),
                          [&](const MlirSchedule& schedule) { return schedule.name == product.schedule; }));

  const auto not_run =
      run_mlir(kProduct, {.opened = *device,
                          .arguments = {{.is_memory = true, .buffer = &*a},
                                        {.is_memory = true, .buffer = &*b},
                                        {.is_memory = true, .buffer = &*c},
                                        {.bytes = std::as_writable_bytes(std::span(&n, 1))}},
                          .compiled = [](const auto& products) { return products.size() != 2; },
                          .launched = [](const MlirLaunch&) { FAIL() << "it ran"; }});
  ASSERT_TRUE(not_run) << not_run.error().text;
  EXPECT_EQ(not_run->products.size(), 2u);

  ASSERT_TRUE(a->fill(1));
  for (const MlirLaunch& launch : launches) {
    const auto again = launch.kernel.launch(launch.config, launch.arguments);
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_TRUE(again->ok()) << again->rendered;
  }
  ASSERT_TRUE(read());
  EXPECT_EQ(sums, std::vector<int32_t>(16 * 24, 16 * 1 * 3));
}

} // namespace
} // namespace lemma
