# The front door. Each target installs what is missing (Debian packages), configures and builds as needed.
#
#   make build    the command line tool, build/bin/lemma; with MLIR build/bin/lemma-opt; the runtime library for upstream's
#                 MLIR tools, build/src/mgpu/liblemma_cuda_runtime.so; and CUDA's libraries for `lemma exec`, build/lib/lemma
#   make demo     the main job: a tensor-core GEMM on the virtual GPU, its bits compared with an H200's
#   make test     every test, after everything in the tree is built; the last line counts them
#   make test-quick      of these, what takes two minutes: for each commit
#   make test-sanitized  of these, what runs under AddressSanitizer and UndefinedBehaviorSanitizer
#   make test-long       what takes longer: approximate functions on all inputs, hostile programs and texts by the million,
#                 programs with threads under ThreadSanitizer
#   make coverage        line coverage of src/vgpu by the tests
#   make bench    the benchmarks, one table
#   make format   clang-format over the C++ files
#   make tidy     clang-tidy over the C++ files
#   make wheel    the Python package: dist/lemma_gpu-VERSION-py3-none-linux_x86_64.whl
#   make install  to PREFIX (default /usr/local)
#   make deps     only install what is missing
#
# LEMMA_NVGPU=OFF before make leaves the nvgpu dialect out, and does not ask for MLIR; LEMMA_COMPILED=OFF the compiled engine,
# and does not ask for asmjit.
# JOBS sets how many compilers run at a time (default: all cores), TEST_JOBS how many tests (default: all cores, as far as memory
# allows).

JOBS ?= $(shell nproc)
TEST_JOBS ?= auto
PREFIX ?= /usr/local
LEMMA_NVGPU ?= AUTO
export LEMMA_NVGPU
LEMMA_COMPILED ?= AUTO
export LEMMA_COMPILED
BUILD := build

.PHONY: build demo test test-quick test-sanitized test-long coverage bench format tidy wheel install deps configure clean
.DEFAULT_GOAL := build

deps:
	@scripts/install_deps.sh

configure: deps
	@mkdir -p $(BUILD)
	@cmake --preset default -DLEMMA_NVGPU=$(LEMMA_NVGPU) -DLEMMA_COMPILED=$(LEMMA_COMPILED) >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

build: configure
	@cmake --build $(BUILD) --target lemma_build -j $(JOBS)

demo: configure
	@cmake --build $(BUILD) --target lemma_tools -j $(JOBS)
	@scripts/demo.sh

test: configure
	@cmake --build $(BUILD) -j $(JOBS)
	@scripts/test.py $(BUILD) $(TEST_JOBS)

# What looks at the same things once more, in other ways or for longer.
THOROUGH := ^(sanitized|fuzz|package|python|examples|bench)\.|^golden\.(checked|levels|model|layout|mma_sp|schedule_6)|^check\.(triton|programs|mlir|examples|corpus|docs)|^mlir\.(matmul|matrix|program)|^programs\.(mutants|attention|exact)|^cli\.files|^hostile|^demo

test-quick: configure
	@cmake --build $(BUILD) -j $(JOBS)
	@scripts/test.py $(BUILD) $(TEST_JOBS) -E '$(THOROUGH)'

test-sanitized: configure
	@cmake --build $(BUILD) -j $(JOBS) --target sanitized
	@scripts/test.py $(BUILD) $(TEST_JOBS) -R '^sanitized\.'

test-long: deps
	@scripts/test_long.sh $(JOBS)

coverage: deps
	@scripts/coverage.sh $(JOBS)

bench: deps
	@cmake --preset default >/dev/null
	@cmake --build $(BUILD) --target lemma_bench -j $(JOBS)
	@$(BUILD)/bin/lemma_bench

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format-22 -i

tidy: deps
	@cmake --preset tidy -DLEMMA_NVGPU=$(LEMMA_NVGPU) -DLEMMA_COMPILED=$(LEMMA_COMPILED) >/dev/null
	@cmake --build --preset tidy -j $(JOBS)

wheel: deps
	@JOBS=$(JOBS) python3 python/lemma_build.py dist

install: build
	@cmake --build $(BUILD) -j $(JOBS)
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@rm -rf $(BUILD)
