# lemma_on_own_driver(<test>...): these tests' programs get Lemma's libcuda.so.1 also where LD_LIBRARY_PATH names the folder of a
# GPU's driver, which goes before the path that a program was linked with.
function(lemma_on_own_driver)
  set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:$<TARGET_FILE_DIR:lemma_cuda>")
endfunction()
