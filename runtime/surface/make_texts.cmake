# Writes texts as C++ source: cmake -D FOLDER=... -D SAMPLES=problem,graph -D OUTPUT=... -P
# make_texts.cmake.

set(delimiter shardwright_text)
set(samples "")
string(REPLACE "," ";" SAMPLES "${SAMPLES}")
foreach(kind IN LISTS SAMPLES)
  file(READ ${FOLDER}/templates/${kind}.json text)
  string(FIND "${text}" ")${delimiter}" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "the text of ${kind} contains )${delimiter}")
  endif()
  string(SUBSTRING ${kind} 0 1 initial)
  string(TOUPPER ${initial} initial)
  string(SUBSTRING ${kind} 1 -1 rest)
  string(APPEND samples "inline constexpr std::string_view k${initial}${rest}Sample =
    R\"${delimiter}(${text})${delimiter}\";
")
endforeach()
file(WRITE ${OUTPUT} "#pragma once

#include <string_view>

namespace shardwright::commands {

${samples}
}  // namespace shardwright::commands
")
