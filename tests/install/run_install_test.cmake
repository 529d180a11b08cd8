# Installs a build, moves what was installed, and builds and runs the project of samples/embed against it. Where SHARED is
# set, the build is made here first, with shared libraries.
cmake_minimum_required(VERSION 3.25)

set(prefix ${WORK_DIR}/moved)
set(embed ${SOURCE_DIR}/samples/embed)

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

# Compiles one file with the flags that pkg-config gives, and runs it.
function(expect_pkg_config compiler standard source package)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} ${ARGN} --cflags --libs ${package}
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(program ${WORK_DIR}/${package}_by_pkg_config)
  run(${compiler} -std=${standard} ${embed}/${source} ${flags} -Wl,-rpath,${prefix}/${LIBDIR} -o ${program})
  expect_version(${program})
endfunction()

file(REMOVE_RECURSE ${WORK_DIR}/moved ${WORK_DIR}/installed ${WORK_DIR}/embed)
file(MAKE_DIRECTORY ${WORK_DIR})

if(SHARED)
  # Next to the build that runs the test: relative paths to the sources are the same, so a compiler cache serves both.
  string(APPEND BUILD_DIR -shared)
  run(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${BUILD_DIR} -G ${GENERATOR} -D CMAKE_BUILD_TYPE=${CONFIG}
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D BUILD_SHARED_LIBS=ON
    -D SHARDWRIGHT_BUILD_TESTS=OFF -D SHARDWRIGHT_BUILD_SAMPLES=OFF)
  run(${CMAKE_COMMAND} --build ${BUILD_DIR} --config ${CONFIG})
endif()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${WORK_DIR}/installed)
# After this move, a package with absolute paths of its installation fails.
file(RENAME ${WORK_DIR}/installed ${prefix})

expect_version(${prefix}/bin/shardwright --version)
if(NOT EXISTS ${prefix}/share/doc/shardwright/LICENSE)
  message(FATAL_ERROR "no licence is installed")
endif()

run(${CMAKE_COMMAND} -S ${embed} -B ${WORK_DIR}/embed -G ${GENERATOR} -D CMAKE_BUILD_TYPE=${CONFIG}
  -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${prefix}
  -D REQUIRED_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/embed --config ${CONFIG})
foreach(program plan_cpp plan_c plan_c_static)
  expect_version(${WORK_DIR}/embed/${program})
endforeach()

if(PKG_CONFIG)
  if(SHARED)
    expect_pkg_config(${CXX} c++20 plan.cc shardwright)
  else()
    expect_pkg_config(${CXX} c++20 plan.cc shardwright)
    expect_pkg_config(${CXX} c++20 plan.cc shardwright --static)
  endif()
  expect_pkg_config(${CC} c11 plan.c shardwright-c)
endif()

if(SHARED)
  # A library exports only its own symbols, and each of them has a version.
  foreach(module core search runtime)
    execute_process(COMMAND ${NM} -D --defined-only --with-symbol-versions ${prefix}/${LIBDIR}/libshardwright_${module}.so
      OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
    list(FILTER lines EXCLUDE REGEX "shardwright.*@@?SHARDWRIGHT_[0-9.]+$")
    list(FILTER lines EXCLUDE REGEX " A SHARDWRIGHT_[0-9.]+")
    if(NOT symbols MATCHES "shardwright" OR lines)
      message(FATAL_ERROR "lib${module} exports what is not its own or has no version: ${lines}")
    endif()
  endforeach()
else()
  run(${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/check_headers.py --cc ${CC} --cxx ${CXX} ${prefix}/include/shardwright)
endif()

# A Debian package, installed into a folder and removed again, which leaves nothing.
if(DPKG AND NOT SHARED)
  set(root ${WORK_DIR}/root)
  set(database ${root}/var/lib/dpkg)
  file(REMOVE_RECURSE ${root} ${WORK_DIR}/deb)
  file(MAKE_DIRECTORY ${database}/info ${database}/updates ${database}/triggers)
  file(TOUCH ${database}/status)
  run(${CPACK} -G DEB -C ${CONFIG} -B ${WORK_DIR}/deb --config ${BUILD_DIR}/CPackConfig.cmake)
  file(GLOB package ${WORK_DIR}/deb/*.deb)
  set(dpkg ${DPKG} --root=${root} --force-not-root --force-depends)
  run(${dpkg} --install ${package})
  expect_version(${root}/usr/bin/shardwright --version)
  execute_process(COMMAND ${DPKG}-deb --field ${package} Depends
    OUTPUT_VARIABLE depends COMMAND_ERROR_IS_FATAL ANY)
  if(NOT depends MATCHES "libtbb12" OR NOT depends MATCHES "coinor-libclp1")
    message(FATAL_ERROR "the package depends on too little: ${depends}")
  endif()
  run(${dpkg} --purge shardwright)
  file(GLOB_RECURSE left LIST_DIRECTORIES false ${root}/usr/*)
  if(left)
    message(FATAL_ERROR "removing the package leaves ${left}")
  endif()
endif()
