# Installs the build tree, moves what was installed, and builds and runs an outside project against it.
cmake_minimum_required(VERSION 3.25)

set(prefix ${WORK_DIR}/moved)
set(outside ${CMAKE_CURRENT_LIST_DIR}/outside)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(expect_version)
  execute_process(COMMAND ${ARGN}
    COMMAND_ECHO STDOUT OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(FIND "${output}" "${VERSION}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "expected the version ${VERSION} in the output, got: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${WORK_DIR}/installed)
# A package that remembers where it was installed finds nothing there any more.
file(RENAME ${WORK_DIR}/installed ${prefix})

expect_version(${prefix}/bin/shardwright --version)

run(${CMAKE_COMMAND} -S ${outside} -B ${WORK_DIR}/outside -G ${GENERATOR}
  -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${prefix}
  -D REQUIRED_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/outside --config ${CONFIG})
expect_version(${WORK_DIR}/outside/outside)

if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --static --cflags --libs shardwright
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CXX} -std=c++20 ${outside}/main.cc ${flags} -o ${WORK_DIR}/outside_pkg_config)
  expect_version(${WORK_DIR}/outside_pkg_config)
endif()
