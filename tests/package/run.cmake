# The steps of package.find_package; see CMakeLists.txt.
function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
set(flags "")
if(FLAGS)
  set(flags -DCMAKE_C_FLAGS=-fsanitize=${FLAGS} -DCMAKE_CXX_FLAGS=-fsanitize=${FLAGS})
endif()
step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CONSUMER} -B ${SCRATCH}/build -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
     -DCMAKE_CXX_COMPILER=${CXX} ${flags})
step(${CMAKE_COMMAND} --build ${SCRATCH}/build)
step(${SCRATCH}/build/consumer)
step(${SCRATCH}/build/c_api)
step(${SCRATCH}/build/mlir_api)

# The tool was installed too, and says the same version.
execute_process(COMMAND ${SCRATCH}/prefix/bin/lemma --version OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said STREQUAL "lemma ${VERSION}\n")
  message(FATAL_ERROR "lemma --version says '${said}', not '${VERSION}'")
endif()
