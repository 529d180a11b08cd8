# Puts the parts of the page into one, as C++ source: cmake -D PAGE_DIR=... -D OUTPUT=... -P make_page.cmake
# report.html says where they go: a line "@name@" stands for the file of that name, "@data@" for the data.

set(delimiter shardwright_page)
file(READ ${PAGE_DIR}/report.html page)
string(REGEX MATCHALL "@[a-z_]+\\.(css|js)@" parts "${page}")
foreach(part IN LISTS parts)
  string(REPLACE "@" "" name "${part}")
  file(READ ${PAGE_DIR}/${name} content)
  string(REPLACE "${part}" "${content}" page "${page}")
endforeach()
string(FIND "${page}" "@data@" at)
string(FIND "${page}" ")${delimiter}" clash)
if(at EQUAL -1 OR NOT clash EQUAL -1)
  message(FATAL_ERROR "report.html needs one @data@, and no part may contain )${delimiter}")
endif()
string(SUBSTRING "${page}" 0 ${at} before)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 after)

# One literal for each half: the compilers that we build with take them at any length.
file(WRITE ${OUTPUT} "#include \"runtime/report/html/page.h\"

namespace shardwright {

std::string_view page_before_data() {
  return R\"${delimiter}(${before})${delimiter}\";
}

std::string_view page_after_data() {
  return R\"${delimiter}(${after})${delimiter}\";
}

}  // namespace shardwright
")
