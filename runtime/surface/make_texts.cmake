# Writes texts as C++ source: cmake -D FOLDER=... -D SAMPLES=problem,graph -D SCHEMAS=plan -D OUTPUT=... -P
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
string(REPLACE "," ";" SCHEMAS "${SCHEMAS}")
set(schemas "")
foreach(kind IN LISTS SCHEMAS)
  file(READ ${FOLDER}/schemas/${kind}.json text)
  string(APPEND schemas "  if (kind == \"${kind}\")
    return R\"${delimiter}(${text})${delimiter}\";
")
endforeach()
file(WRITE ${OUTPUT} "#pragma once

#include <string_view>

namespace shardwright::commands {

${samples}
inline std::string_view schema_text(std::string_view kind) {
${schemas}  return \"\";
}

}  // namespace shardwright::commands
")
