# Copies the shared libraries that `python_library` needs and a bare Linux lacks beside it, under the
# names by which they are looked up: a wheel knows no symbolic links.
file(GET_RUNTIME_DEPENDENCIES
  LIBRARIES "${python_library}"
  RESOLVED_DEPENDENCIES_VAR needed
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|z)\\.so")
if(missing)
  message(FATAL_ERROR "${python_library} needs libraries that are not here: ${missing}")
endif()
foreach(library IN LISTS needed)
  get_filename_component(name "${library}" NAME)
  file(COPY_FILE "${library}" "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/shardwright/${name}" ONLY_IF_DIFFERENT)
endforeach()
