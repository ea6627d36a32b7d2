# Finds MLIR 22, for src/nvgpu alone. Sets LEMMA_NVGPU_FOUND.
#
# LLVM's own package files define targets with plain names (opt, not, count, FileCheck) and set variables freely, so
# only what is needed here is taken from them: include directories and the two shared libraries.
set(LEMMA_NVGPU_FOUND OFF)
if(NOT LEMMA_NVGPU)
  return()
endif()

set(hints /usr/lib/llvm-22)
if(DEFINED LLVM_ROOT)
  list(PREPEND hints ${LLVM_ROOT})
endif()
find_path(LEMMA_MLIR_INCLUDE mlir/IR/MLIRContext.h HINTS ${hints} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(LEMMA_MLIR_LIBRARY NAMES MLIR HINTS ${hints} PATH_SUFFIXES lib NO_DEFAULT_PATH)
find_library(LEMMA_LLVM_LIBRARY NAMES LLVM LLVM-22 HINTS ${hints} PATH_SUFFIXES lib NO_DEFAULT_PATH)
find_program(LEMMA_MLIR_TBLGEN NAMES mlir-tblgen HINTS ${hints} PATH_SUFFIXES bin NO_DEFAULT_PATH)
if(LEMMA_MLIR_INCLUDE AND LEMMA_MLIR_LIBRARY AND LEMMA_LLVM_LIBRARY AND LEMMA_MLIR_TBLGEN)
  set(LEMMA_NVGPU_FOUND ON)
  get_filename_component(LEMMA_MLIR_LIBDIR ${LEMMA_MLIR_LIBRARY} DIRECTORY)
  message(STATUS "nvgpu dialect: MLIR in ${LEMMA_MLIR_LIBRARY}")
elseif(LEMMA_NVGPU STREQUAL "AUTO")
  message(STATUS "nvgpu dialect: left out, no MLIR 22 (Debian: libmlir-22-dev mlir-22-tools llvm-22-dev)")
  return()
else()
  message(FATAL_ERROR "LEMMA_NVGPU=ON, but there is no MLIR 22 under ${hints}. "
                      "Install libmlir-22-dev mlir-22-tools llvm-22-dev, or set LLVM_ROOT.")
endif()

# What code that sees MLIR links. Its headers are the system's: their warnings are not ours.
#
# The archives rather than the two shared libraries, where they are there: resolving the shared ones' symbols takes 20 ms
# each time a process starts. Targets of LLVM other than NVPTX and the host's are left out.
file(GLOB archives ${LEMMA_MLIR_LIBDIR}/libMLIR*.a ${LEMMA_MLIR_LIBDIR}/libLLVM*.a)
set(other_targets AMDGPU ARM AVR BPF Hexagon Lanai LoongArch M68k MSP430 Mips PowerPC RISCV Sparc SystemZ VE
                  WebAssembly XCore)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND other_targets AArch64)
else()
  list(APPEND other_targets X86)
endif()
list(JOIN other_targets "|" other_targets)
list(FILTER archives EXCLUDE REGEX "libLLVM(${other_targets})|MLIRTest|CAPI|Python")

# -Wno-maybe-uninitialized: g++ warns falsely about generated parsers below -O3.
add_library(lemma_mlir INTERFACE)
target_include_directories(lemma_mlir SYSTEM INTERFACE ${LEMMA_MLIR_INCLUDE})
target_compile_options(lemma_mlir INTERFACE -Wno-unused-parameter -Wno-maybe-uninitialized)
if(archives MATCHES libMLIRIR.a AND archives MATCHES libLLVMCore.a)
  target_link_libraries(lemma_mlir INTERFACE -Wl,--gc-sections -Wl,--start-group ${archives} -Wl,--end-group
                                             $<IF:$<BOOL:${LEMMA_PORTABLE}>,-l:libz.a;-l:libzstd.a,-lz;-lzstd>
                                             ${CMAKE_DL_LIBS} Threads::Threads m)
else()
  target_link_libraries(lemma_mlir INTERFACE ${LEMMA_MLIR_LIBRARY} ${LEMMA_LLVM_LIBRARY})
endif()

# lemma_start_without_mlir(<target>): the initializers of the archives run when MLIR is first used, not when the process
# starts: src/nvgpu/late_init.h. Where the linker does not take the script, nothing changes.
set(LEMMA_LATE_INIT_SCRIPT ${PROJECT_SOURCE_DIR}/src/nvgpu/late_init.ld)
if(archives AND NOT LEMMA_SANITIZE)
  include(CheckCXXSourceRuns)
  set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:-T,${LEMMA_LATE_INIT_SCRIPT})
  check_cxx_source_runs("extern \"C\" { [[gnu::weak]] extern const char lemma_late_init_begin[]; }
                         static int one = [] { static int count; return ++count; }();
                         int main() { return lemma_late_init_begin && one == 1 ? 0 : 1; }" LEMMA_LATE_INIT)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
endif()
function(lemma_start_without_mlir target)
  if(LEMMA_LATE_INIT)
    target_link_options(${target} PRIVATE LINKER:-T,${LEMMA_LATE_INIT_SCRIPT})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${LEMMA_LATE_INIT_SCRIPT})
  endif()
endfunction()

# lemma_tablegen(<output> <input.td> <mlir-tblgen option>...): adds the generated file's path to LEMMA_TABLEGEN_OUTPUTS.
function(lemma_tablegen output input)
  file(GLOB tds CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.td)
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/nvgpu/${output}
    COMMAND ${LEMMA_MLIR_TBLGEN} ${ARGN} -I ${LEMMA_MLIR_INCLUDE} -I ${CMAKE_CURRENT_SOURCE_DIR}
            ${CMAKE_CURRENT_SOURCE_DIR}/${input} -o ${CMAKE_CURRENT_BINARY_DIR}/nvgpu/${output}
    DEPENDS ${tds}
    COMMENT "mlir-tblgen ${output}")
  set(LEMMA_TABLEGEN_OUTPUTS ${LEMMA_TABLEGEN_OUTPUTS} ${CMAKE_CURRENT_BINARY_DIR}/nvgpu/${output} PARENT_SCOPE)
endfunction()
