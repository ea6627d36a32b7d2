# Flags that every target shares, and `lemma_library`, the one way a folder under src/ becomes a target.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(LEMMA_CCACHE ccache)
if(LEMMA_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LEMMA_CCACHE})
endif()
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

add_library(lemma_flags INTERFACE)
# Bits are the contract: no contraction of a*b+c into fma, no reassociation.
target_compile_options(lemma_flags INTERFACE -Wall -Wextra -ffp-contract=off)
option(LEMMA_WERROR "End the build at a warning, as the presets do that look for them" OFF)
if(LEMMA_WERROR)
  target_compile_options(lemma_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns falsely about std::string concatenation (GCC bug 105651).
  target_compile_options(lemma_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's own std::stable_sort uses a function that it deprecates. Loops that are to be vectorized are not
  # below -O2.
  target_compile_options(lemma_flags INTERFACE -Wno-deprecated-declarations -Wno-pass-failed)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    # Where only a function has cx16 (src/vgpu/handlers/memory/atomic.cc), clang calls libatomic for its instruction.
    target_compile_options(lemma_flags INTERFACE -mcx16)
  endif()
endif()
if(LEMMA_SANITIZE)
  target_compile_options(lemma_flags INTERFACE -fsanitize=${LEMMA_SANITIZE} -fno-omit-frame-pointer
                                               -fno-sanitize-recover=all)
  target_link_options(lemma_flags INTERFACE -fsanitize=${LEMMA_SANITIZE})
endif()
# lemma_arithmetic(<source>...): files that compute on lanes of a known number and nothing else. Under sanitizers they
# take longer to compile than all others together, so only builds that say LEMMA_SANITIZE_ARITHMETIC instrument them.
function(lemma_arithmetic)
  set_property(SOURCE ${ARGN} PROPERTY LEMMA_ARITHMETIC ON)
  if(LEMMA_SANITIZE AND NOT LEMMA_SANITIZE_ARITHMETIC)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
  endif()
endfunction()
if(LEMMA_PORTABLE)
  # Unused parts of libstdc++ would ask for a glibc newer than need be (arc4random, 2.36).
  target_link_options(lemma_flags INTERFACE -static-libgcc -static-libstdc++ LINKER:--gc-sections)
endif()
if(LEMMA_FUZZ AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(lemma_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# fmt's headers only: its code is compiled once, in src/support, so that no shared library is needed.
add_library(lemma_fmt INTERFACE)
target_include_directories(lemma_fmt SYSTEM INTERFACE
                           $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)

include(lemma_quick_build)

# lemma_library(<folder> SOURCES <file>... [DEPS <folder>...] [SEES <folder>...] [PRECOMPILED <headers>] [TOGETHER] [COLD])
# Defines lemma_<folder>, alias lemma::<folder>. Headers are included as "folder/file.h". DEPS: what it includes and links. SEES: what
# it includes alone, since it meets the code only when it runs. tests/tree/counts_test.py finds what it includes besides. TOGETHER:
# lemma_all_together(). COLD: what its calls take is what they call elsewhere, so that it is optimized less.
function(lemma_library folder)
  cmake_parse_arguments(ARG "TOGETHER;COLD" "PRECOMPILED" "SOURCES;DEPS;SEES" ${ARGN})
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED core)
    if(ARG_COLD)
      set(ARG_PRECOMPILED cold)
    endif()
  endif()
  set(target lemma_${folder})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(lemma::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:lemma_flags> $<BUILD_INTERFACE:lemma_fmt>)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${target} PUBLIC lemma::${dep})
  endforeach()
  lemma_use_precompiled(${target} ${ARG_PRECOMPILED})
  if(ARG_TOGETHER)
    lemma_all_together(${target})
  endif()
  if(ARG_COLD)
    target_compile_options(${target} PRIVATE ${LEMMA_LESS_OPTIMIZED})
  endif()
  set_property(GLOBAL APPEND PROPERTY LEMMA_LIBRARIES ${target})
endfunction()
