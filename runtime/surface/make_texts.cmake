# Writes the schema and the template of every kind of file as C++ source: cmake -D FOLDER=... -D KINDS=problem,plan
# -D TEMPLATES=problem -D OUTPUT=... -P make_texts.cmake.

set(delimiter shardwright_text)
string(REPLACE "," ";" KINDS "${KINDS}")
string(REPLACE "," ";" TEMPLATES "${TEMPLATES}")
foreach(kind IN LISTS KINDS)
  file(READ ${FOLDER}/schemas/${kind}.json schema)
  set(template "")
  if(kind IN_LIST TEMPLATES)
    file(READ ${FOLDER}/templates/${kind}.json template)
  endif()
  string(FIND "${schema}${template}" ")${delimiter}" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "the texts of ${kind} contain )${delimiter}")
  endif()
  string(APPEND rows "    {\"${kind}\",
     R\"${delimiter}(${schema})${delimiter}\",
     R\"${delimiter}(${template})${delimiter}\"},
")
endforeach()
file(WRITE ${OUTPUT} "#include \"runtime/surface/file_kinds.h\"

#include <array>

namespace shardwright::commands {
namespace {

constexpr FileKind kKinds[] = {
${rows}};

}  // namespace

std::span<const FileKind> file_kinds() { return kKinds; }

}  // namespace shardwright::commands
")
