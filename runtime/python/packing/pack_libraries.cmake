# Copies the shared libraries that `python_library` needs and a bare Linux lacks beside it, with their licences. Each
# copy gets a name of its own, so that a process that has loaded another libtbb.so.12 still gets this one, and the other
# way round. CoinUtils calls two functions of LAPACK: `dense_factors` has these, and LAPACK stays outside with the Fortran
# libraries that it needs.
set(folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/shardwright")
get_filename_component(main "${python_library}" NAME)

file(GET_RUNTIME_DEPENDENCIES
  LIBRARIES "${python_library}"
  RESOLVED_DEPENDENCIES_VAR needed
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|z|lapack)\\.so")
if(missing)
  message(FATAL_ERROR "${python_library} needs libraries that are not here: ${missing}")
endif()

# own_name(<variable> <name of a library>): libtbb.so.12 becomes libtbb-shardwright.so.12.
function(own_name variable name)
  string(REGEX REPLACE "^([^.]+)\\.so" "\\1-shardwright.so" name "${name}")
  set(${variable} "${name}" PARENT_SCOPE)
endfunction()

function(patch)
  execute_process(COMMAND "${patchelf}" ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# copy_licence(<library>): the licence of the Debian package that the library comes from.
function(copy_licence library)
  # A package may have been made when /lib was no link to /usr/lib.
  string(REGEX REPLACE "^/usr" "*" pattern "${library}")
  execute_process(
    COMMAND dpkg-query --search "${pattern}"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
  string(REGEX REPLACE ":.*" "" package "${found}")
  set(text "/usr/share/doc/${package}/copyright")
  if(NOT result EQUAL 0 OR NOT EXISTS "${text}")
    message(WARNING "No licence of ${library} is known; add it before you give this wheel away")
    return()
  endif()
  file(COPY_FILE "${text}" "${licences}/${package}.txt" ONLY_IF_DIFFERENT)
endfunction()

set(replacements --replace-needed liblapack.so.3 "${dense_factors_name}")
set(copies "${folder}/${main}" "${folder}/${dense_factors_name}")
foreach(library IN LISTS needed)
  get_filename_component(name "${library}" NAME)
  own_name(own "${name}")
  file(REAL_PATH "${library}" real)
  file(COPY_FILE "${real}" "${folder}/${own}" ONLY_IF_DIFFERENT)
  patch(--set-soname "${own}" "${folder}/${own}")
  list(APPEND replacements --replace-needed "${name}" "${own}")
  list(APPEND copies "${folder}/${own}")
  if(licences)
    file(MAKE_DIRECTORY "${licences}")
    copy_licence("${real}")
  endif()
endforeach()
foreach(copy IN LISTS copies)
  patch(${replacements} --set-rpath "$ORIGIN" "${copy}")
endforeach()
